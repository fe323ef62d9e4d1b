/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * main.c: treadle-host: loads plugins, starts them, and runs the main loop until a signal or a plugin ends it. */
#include "host.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

bool is_silent;
treadle_loop main_loop;

/* A plugin may stop the loop for a purpose of its own: only what sets this ends the program. */
static atomic_bool is_ending;
static atomic_int wanted_status;

/* --- The extension ------------------------------------------------------------------------------- */

static void print(const char *text) {
    if (!is_silent) say("%s", text ? text : "");
}

static void finish(int status) {
    int none = STATUS_OK;
    atomic_compare_exchange_strong(&wanted_status, &none, status & 0xFF);
    atomic_store(&is_ending, true);
    treadle_loop_request_stop(main_loop, TREADLE_STOP_ALL_LEVELS);
}

const void *extension_of_host(void *info, const char *id) {
    static const struct treadle_host_extension extension = {sizeof extension, print, finish};
    (void)info;
    return strcmp(id, TREADLE_HOST_EXTENSION) == 0 ? &extension : NULL;
}

/* By which plugins in processes of their own reach it. */
static const treadle_extension_argument print_arguments[] = {{.pass = TREADLE_PASS_TEXT}};
static const treadle_extension_function extension_functions[] = {
    {.name = "treadle.host.print", .signature = "v*", .arguments = print_arguments, .argument_count = 1},
    {.name = "treadle.host.finish", .signature = "vi", .argument_count = 1},
};
static const treadle_extension_descriptor extension_descriptor = {
    .struct_size = sizeof extension_descriptor, .name = TREADLE_HOST_EXTENSION, .functions = extension_functions, .function_count = 2,
    .flags = TREADLE_EXTENSION_HAS_SIZE};
const treadle_extension_descriptor *const host_descriptors[] = {&extension_descriptor, NULL};

/* --- Signals ------------------------------------------------------------------------------------- */

/* They are taken by a thread of its own, so that one for the end is seen whatever the main loop is in. */
enum { SIGNAL_GRACE_S = 5 };
static int signals = -1;
static atomic_bool has_left; /* the main loop will not be run any more */

static void report_here(void *info) { (void)info, report_plugins(); }
static void reload_here(void *info) { (void)info, reload_changed(); }

/* Nothing that is the main thread's can be closed or looked at. */
static void report_and_exit(int status, const char *why) {
    treadle_plugin all[64];
    size_t count = 0, most = sizeof all / sizeof *all;
    complain("%s; in the plugins is", why);
    treadle_plugin_copy_all(all, most, &count);
    for (size_t i = 0; i < count && i < most; i++) {
        treadle_plugin_info about = {.struct_size = sizeof about};
        bool is_known = treadle_plugin_get_info(all[i], &about) == TREADLE_OK;
        fprintf(stderr, "%s\n", is_known ? about.description->id : "one that ends");
        report_holders(stderr, all[i]);
    }
    _exit(status);
}

static void give_up(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    if (!atomic_load(&has_left)) report_and_exit(STATUS_FAILED, "the main loop did not come back in time");
}

/* Whoever asks a second time does not want to wait. */
static void end_soon(void) {
    static bool is_watched;
    if (is_watched) report_and_exit(STATUS_GIVEN_UP, "received a second signal, and ends at once");
    is_watched = true;
    finish(STATUS_OK);
    tell("ends; a second signal ends it at once");
    treadle_timer_start(options.timeout_ns + (int64_t)SIGNAL_GRACE_S * 1000000000, 0, give_up, NULL, NULL);
}

static void ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    struct signalfd_siginfo signal;
    (void)descriptor, (void)events, (void)info;
    while (read(signals, &signal, sizeof signal) == sizeof signal) {
        switch (signal.ssi_signo) {
        case SIGUSR1: treadle_loop_post(main_loop, report_here, NULL); break;
        case SIGHUP: treadle_loop_post(main_loop, reload_here, NULL); break;
        default: end_soon(); break;
        }
    }
}

static void *watch_signals(void *info) {
    if (treadle_descriptor_start(signals, TREADLE_READABLE, ready, NULL, NULL) != TREADLE_OK) complain_of("the signals");
    treadle_loop_run_default(treadle_loop_current());
    return info;
}

static sigset_t taken;

/* In a child that a plugin forks: it gets signals again. */
static void reset_child(void) { pthread_sigmask(SIG_UNBLOCK, &taken, NULL); }

/* Before there is any other thread: all inherit that the signals are blocked. */
static bool take_signals(void) {
    sigemptyset(&taken);
    sigaddset(&taken, SIGTERM), sigaddset(&taken, SIGINT), sigaddset(&taken, SIGUSR1), sigaddset(&taken, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &taken, NULL);
    pthread_atfork(NULL, NULL, reset_child);
    signals = signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signals < 0) {
        complain("no signals can be taken: %s", strerror(errno));
        return false;
    }
    if (treadle_thread_detach_new(watch_signals, NULL, NULL, NULL) == TREADLE_OK) return true;
    complain_of("the signals");
    return false;
}

static bool find_loop(void) {
    main_loop = treadle_loop_main();
    if (!main_loop) complain_of("the main loop");
    return main_loop != NULL;
}

/* --- The run ------------------------------------------------------------------------------------- */

static bool run(void) {
    while (!atomic_load(&is_ending)) {
        treadle_status status = treadle_loop_run(main_loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY);
        if (status < 0) complain_of("the main loop");
        /* A callback of a plugin in another language has failed: the others go on. */
        if (status < 0 && status != TREADLE_E_CALLBACK) return false;
    }
    return true;
}

/* A plugin that did not end has code that runs still: nothing is taken away from under it. */
static int end(int status) {
    atomic_store(&has_left, true);
    bool is_whole = close_all();
    fflush(NULL);
    if (!is_whole) _exit(STATUS_FAILED);
    return status;
}

static int run_plugins(void) {
    bool is_good = true;
    for (size_t i = 0; i < options.path_count && is_good; i++) is_good = load_path(options.paths[i]) || options.keeps_going;
    if (!is_good) return end(STATUS_FAILED);
    if (!apply_settings(NULL)) return end(STATUS_USAGE);
    if (options.lists) {
        list_plugins();
        return end(STATUS_OK);
    }
    if (!start_all() && !options.keeps_going) return end(STATUS_FAILED);
    tell("the main loop runs");
    if (!run()) return end(STATUS_FAILED);
    tell("all plugins end");
    return end(atomic_load(&wanted_status));
}

/* In a process of its own, which begins without threads. */
static int check_here(void) { return find_loop() ? check_plugin() : STATUS_FAILED; }

int main(int count, char **words) {
    int status = read_options(count, words);
    if (status >= 0) return status;
    watch_crashes();
    watch_threads();
    if (options.checks) return run_guarded(check_here);
    if (!find_loop()) return STATUS_FAILED;
    watch_exit();
    int result = take_signals() ? run_plugins() : STATUS_FAILED;
    expect_exit();
    return result;
}
