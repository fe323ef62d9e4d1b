/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated_table_test.c: each way in which a plugin's process ends or hangs, in each function of the plugin, as a table: the call of
 * the host's returns its status, the close comes to an end, and nothing else is disturbed. */
#include "../plugins/isolated.h"
#include "plugin_lines.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* --- What the host does, by the function of the plugin that it reaches ---------------------------------------- */

/* Functions in the order of a plugin's life. EARLY: while it is loaded. A host does not call tick, which is a timer's callback. */
enum step { CONSTRUCTOR, QUERY, INIT, RESTORE, START, EXTENSION, SET, CALL, EACH, TICK, STOP, SAVE, DEINIT, STEPS };
static const char *const names[STEPS] = {"constructor", "query", "init", "restore", "start", "extension", "set", "call", "each", "tick",
                                         "stop", "save", "deinit"};

static const struct deed {
    const char *name, *reason;
} deaths[] = {
    {"segv", "SIGSEGV"}, {"abort", "SIGABRT"}, {"overflow", "SIGSEGV"}, {"exit", "exit status 7"},
    {"_exit", "exit status 8"}, {"kill", "SIGKILL"}, {"thread", "SIGSEGV"},
}, hang = {"hang", "SIGKILL"}, memory = {"memory", NULL};

static int64_t most_time; /* of a load and a start; 0: any */
static treadle_plugin_config config_for(const char *const *settings) {
    treadle_plugin_config config = isolated_config("isolated");
    config.settings = settings;
    config.timeout_ns = most_time;
    return config;
}
static void demand_end(treadle_status status, const char *reason) {
    CHECK_INT(status, TREADLE_E_PLUGIN);
    CHECK_ERROR_SAYS(reason);
}

/* A life of a plugin that does the deed at a step; judge gets the status of the call that reaches it. */
typedef void (*judge_fn)(treadle_status status, const char *reason);
struct life {
    enum step step;
    struct deed deed;
    judge_fn judge;
    char what[64];
    _Atomic(treadle_plugin) plugin;
};
static int32_t visited;
static void visit(void *info, int32_t process) { *(int32_t *)info = process; }

static treadle_status reach(struct life *life, treadle_plugin plugin) {
    const void *found = NULL;
    const struct isolated *functions;
    switch (life->step) {
    case SET: return treadle_plugin_set(plugin, "size", "5");
    case EXTENSION: return treadle_plugin_get_extension(plugin, ISOLATED_ID, &found);
    case CALL:
    case EACH:
        CHECK_INT(treadle_plugin_get_extension(plugin, ISOLATED_ID, &found), TREADLE_OK);
        functions = found;
        return life->step == CALL ? functions->call() : functions->each(visit, &visited);
    default: return TREADLE_OK;
    }
}
/* Its predecessor has a state, without which nothing is restored. */
static void restore(struct life *life) {
    const char *settings[] = {"what", life->what, NULL};
    treadle_plugin successor = NULL, plugin = NULL;
    treadle_plugin_config config = config_for(NULL);
    config.timeout_ns = 0;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    config.timeout_ns = most_time;
    config.settings = settings;
    treadle_status status = treadle_plugin_reload(plugin, &config, TREADLE_FOREVER, &successor);
    life->judge(status, life->deed.reason);
    if (status == TREADLE_E_TIMEOUT) CHECK_INT(treadle_plugin_close(plugin, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    if (status == TREADLE_OK) unload(successor);
}
static void live(struct life *life) {
    const char *settings[] = {"what", life->what, NULL};
    treadle_plugin plugin = NULL;
    treadle_plugin_config config = config_for(settings);
    snprintf(life->what, sizeof life->what, "%s:%s", names[life->step], life->deed.name);
    if (life->step == RESTORE) return restore(life);
    if (life->step <= QUERY) setenv("TREADLE_TEST_EARLY", life->what, 1);
    treadle_status status = treadle_plugin_load(&config, &plugin);
    unsetenv("TREADLE_TEST_EARLY");
    if (life->step <= QUERY || status == TREADLE_E_TIMEOUT) life->judge(status, life->deed.reason);
    else CHECK_INT(status, TREADLE_OK);
    if (status != TREADLE_OK) return;
    life->plugin = plugin;
    status = treadle_plugin_start(plugin);
    if (life->step <= START) life->judge(status, life->deed.reason);
    else CHECK_INT(status, TREADLE_OK);
    if (status == TREADLE_OK && life->step > START && life->step < TICK) life->judge(reach(life, plugin), life->deed.reason);
    if (life->judge == demand_end && life->step == TICK) {
        await_line("its process has ended: ");
        demand_end(treadle_plugin_set(plugin, "size", "5"), life->deed.reason);
    }
}
static void end(struct life *life) {
    if (!life->plugin) return;
    CHECK_INT(treadle_plugin_close(life->plugin, SECONDS(60)), TREADLE_OK);
    CHECK_INT(treadle_release(life->plugin), TREADLE_OK);
    if (life->judge == demand_end && life->step >= TICK) CHECK(has_line(life->deed.reason));
}

/* --- The table ------------------------------------------------------------------------------------------------- */

TEST(a_death_in_any_function_is_a_status, "PLUG-4 PLUG-5 PLUG-8") {
    for (size_t d = 0; d < COUNT(deaths); d++) {
        for (int step = 0; step < STEPS; step++) {
            struct life life = {.step = (enum step)step, .deed = deaths[d], .judge = demand_end};
            live(&life);
            end(&life);
            progress();
        }
    }
    have_no_children();
}
static void allow_any(treadle_status status, const char *reason) {
    CHECK(!reason && (status == TREADLE_OK || status == TREADLE_E_PLUGIN || status == TREADLE_E_NOMEM));
}
/* The function itself returns as always: what comes behind it has no memory. */
TEST(a_process_without_memory_from_any_function_on_is_a_status, "PLUG-4 PLUG-5") {
    for (int step = 0; step < STEPS; step++) {
        struct life life = {.step = (enum step)step, .deed = memory, .judge = allow_any};
        live(&life);
        if (step == TICK) await_line("at tick");
        end(&life);
        progress();
    }
    have_no_children();
}
static void kill_visitor(void *info, int32_t process) { *(int32_t *)info = kill((pid_t)process, SIGKILL); }
TEST(a_death_while_the_host_serves_a_call_of_the_plugins_is_a_status, "PLUG-5 PLUG-9") {
    const char *settings[] = {"what", "nothing", NULL};
    const void *found = NULL;
    treadle_plugin plugin = NULL;
    treadle_plugin_config config = config_for(settings);
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_get_extension(plugin, ISOLATED_ID, &found), TREADLE_OK);
    visited = -1;
    demand_end(((const struct isolated *)found)->each(kill_visitor, &visited), "SIGKILL");
    CHECK_INT(visited, 0);
    unload(plugin);
    have_no_children();
}

/* A thread of the host's is in the function that hangs, and another one closes the plugin. */
static void *live_and_hang(void *life) { return live(life), NULL; }
static treadle_plugin hanging_plugin(struct life *life) {
    treadle_plugin all[4];
    size_t count = 0;
    if (life->step != RESTORE) return life->plugin;
    CHECK_INT(treadle_plugin_copy_all(all, COUNT(all), &count), TREADLE_OK);
    CHECK_INT(count, 1);
    return all[0];
}
TEST(a_close_ends_a_plugin_that_hangs_in_any_function, "PLUG-5 SCOPE-5") {
    for (int step = INIT; step < STEPS; step++) {
        struct life life = {.step = (enum step)step, .deed = hang, .judge = demand_end};
        char line[32];
        pthread_t thread;
        forget_lines();
        if (step < TICK) {
            CHECK_INT(pthread_create(&thread, NULL, live_and_hang, &life), 0);
        } else {
            life.judge = allow_any;
            live(&life);
            life.judge = demand_end;
        }
        snprintf(line, sizeof line, "at %s", names[step]);
        if (step <= TICK) await_line(line);
        /* The call has failed by then, but its thread may be on its way out. */
        treadle_plugin plugin = hanging_plugin(&life);
        treadle_status status = treadle_plugin_close(plugin, MILLISECONDS(20));
        CHECK(status == TREADLE_OK || (status == TREADLE_E_TIMEOUT && step < TICK));
        CHECK_INT(treadle_plugin_close(plugin, TREADLE_FOREVER), TREADLE_OK);
        if (step < TICK) CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK(has_line(line));
        if (step != RESTORE) CHECK_INT(treadle_release(plugin), TREADLE_OK);
        progress();
    }
    have_no_children();
}

static treadle_status timed_status;
static void note_status(treadle_status status, const char *reason) {
    (void)reason;
    timed_status = status;
}
/* A process that is not reaped yet has ended, too. */
static void await_end_of(pid_t process) {
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, process, 0), .events = POLLIN};
    CHECK(end.fd >= 0 || errno == ESRCH);
    if (end.fd < 0) return;
    CHECK_INT(poll(&end, 1, -1), 1);
    close(end.fd);
}
/* No other thread helps. A time in which a busy machine does not reach the function is doubled. */
TEST(a_load_and_a_start_that_hang_end_in_their_time, "PLUG-5 PLUG-8") {
    for (int step = CONSTRUCTOR; step <= START; step++) {
        bool has_hung = false;
        for (most_time = MILLISECONDS(25); !has_hung; most_time *= 2) {
            struct life life = {.step = (enum step)step, .deed = hang, .judge = note_status};
            live(&life);
            has_hung = has_line("hangs in ");
            CHECK_ERROR_SAYS("killed, since its time had passed");
            CHECK_ERROR_SAYS(step <= QUERY || timed_status == TREADLE_E_TIMEOUT ? "in its load" : "in its start");
            if (has_hung) CHECK_INT(timed_status, step <= QUERY ? TREADLE_E_TIMEOUT : TREADLE_E_PLUGIN);
            if (has_hung) await_end_of((pid_t)atoi(strstr(lines, "hangs in ") + strlen("hangs in ")));
            end(&life);
            progress();
        }
    }
    most_time = 0;
    have_no_children();
}
TEST(a_time_of_a_load_is_not_negative_and_of_an_isolated_plugin, "PLUG-5 ABI-7") {
    treadle_plugin plugin;
    treadle_plugin_config config = config_for(NULL);
    config.timeout_ns = -1;
    CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG, "timeout_ns");
    config.timeout_ns = 1;
    config.flags = 0;
    CHECK_ERROR(treadle_plugin_load(&config, &plugin), TREADLE_E_ARG, "timeout_ns");
    config.flags = TREADLE_PLUGIN_LOAD_ISOLATED;
    config.timeout_ns = TREADLE_FOREVER;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    unload(plugin);
}

/* --- Hosts with children of their own --------------------------------------------------------------------------- */

static void *wait_for_any_child(void *info) {
    pid_t *ended = info;
    *ended = waitpid(-1, NULL, 0);
    return NULL;
}
/* A wait for any child meets no process of a plugin's, whatever that does. */
TEST(a_wait_for_any_child_sees_the_hosts_own_alone, "PLUG-5") {
    int end_of_child[2];
    pid_t ended = 0;
    pthread_t waiter;
    char byte;
    CHECK_INT(pipe(end_of_child), 0);
    pid_t child = fork();
    if (child == 0) {
        close(end_of_child[1]);
        _exit(read(end_of_child[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(end_of_child[0]);
    CHECK(fcntl(end_of_child[1], F_SETFD, FD_CLOEXEC) == 0);
    CHECK_INT(pthread_create(&waiter, NULL, wait_for_any_child, &ended), 0);
    for (size_t d = 0; d < COUNT(deaths); d++) {
        struct life life = {.step = CALL, .deed = deaths[d], .judge = demand_end};
        live(&life);
        end(&life);
    }
    CHECK_INT(kill(child, 0), 0);
    close(end_of_child[1]);
    CHECK_INT(pthread_join(waiter, NULL), 0);
    CHECK_INT(ended, child);
    have_no_children();
}

TEST_MAIN()
