/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated.c: does at each of its functions what the setting "what" says of that function, as "start:segv" or, of two, "start:pid
 * set:checkpoint": for tests of plugins in processes of their own. It tells of its steps by the log, and uses its process's main loop. */
#include "isolated.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static treadle_timer ticker;
static char kept[64] = "nothing";

static void overflow(volatile char *outer) {
    char room[65536];
    room[0] = outer[0];
    if (outer[0] != 1) overflow(room);
    outer[1] = room[0];
}
static void *die_on_a_thread(void *info) { return *(volatile int *)(uintptr_t)8 = 1, info; }
/* Leaves a process that has its connection, until the host closes that. */
static void fork_and_die(void) {
    struct pollfd host = {.fd = 3, .events = 0};
    if (fork() != 0) *(volatile int *)(uintptr_t)8 = 1;
    poll(&host, 1, -1);
    _exit(0);
}
/* Takes all memory that the process may have, and keeps it. */
static void take_all_memory(void) {
    struct rlimit none = {.rlim_cur = 1, .rlim_max = 1};
    void **last = NULL;
    setrlimit(RLIMIT_AS, &none);
    for (size_t size = 1 << 20; size >= sizeof last; size /= 2)
        for (void **next; (next = malloc(size)); last = next) *next = last;
}
/* Uses a gigabyte, unless something ends that. */
static void use_memory(void) {
    for (int i = 0; i < 1024; i++) {
        volatile char *piece = malloc(1 << 20);
        for (size_t at = 0; piece && at < 1 << 20; at += 4096) piece[at] = 1;
    }
}
/* Until it gets a signal. */
static void block(void) {
    int number;
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &wanted, NULL);
    printf("blocks in %d\n", (int)getpid());
    sigwait(&wanted, &number);
    treadle_plugin_self->log(treadle_plugin_self, 2, "goes on");
}
static void hang(void) {
    printf("hangs in %d\n", (int)getpid());
    fflush(stdout);
    for (;;) pause();
}
/* False for a deed that is not one of these. */
static bool end_by(const char *deed) {
    if (strcmp(deed, "segv") == 0) *(volatile int *)(uintptr_t)8 = 1;
    else if (strcmp(deed, "abort") == 0) abort();
    else if (strcmp(deed, "overflow") == 0) overflow((char[2]){0});
    else if (strcmp(deed, "exit") == 0) exit(7);
    else if (strcmp(deed, "_exit") == 0) _exit(8);
    else if (strcmp(deed, "kill") == 0) raise(SIGKILL);
    else if (strcmp(deed, "fork") == 0) fork_and_die();
    else if (strcmp(deed, "hang") == 0) hang();
    else if (strcmp(deed, "block") == 0) block();
    else if (strcmp(deed, "use") == 0) use_memory();
    else if (strcmp(deed, "memory") == 0) take_all_memory();
    else if (strcmp(deed, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, die_on_a_thread, NULL);
        for (;;) pause();
    } else return false;
    return true;
}
/* The host's environment says how, since nothing else can be asked that early. */
static void act_early(const char *step) {
    const char *what = getenv("TREADLE_TEST_EARLY");
    size_t size = strlen(step);
    if (what && strncmp(what, step, size) == 0 && what[size] == ':') end_by(what + size + 1);
}
__attribute__((constructor)) static void construct(void) { act_early("constructor"); }
static treadle_status act(const char *step) {
    static const struct treadle_plugin_host *host;
    char what[64], line[96];
    size_t length;
    host = treadle_plugin_self;
    snprintf(line, sizeof line, "at %s", step);
    host->log(host, 2, line);
    if (host->copy_setting(host, "what", what, sizeof what, &length) != TREADLE_OK) return TREADLE_E_PLUGIN;
    size_t size = strlen(step);
    char *rest = what, *word;
    while ((word = strsep(&rest, " ")) && (strncmp(word, step, size) != 0 || word[size] != ':')) {}
    if (!word) return TREADLE_OK;
    const char *deed = word + size + 1;
    if (end_by(deed)) return TREADLE_OK;
    if (strcmp(deed, "checkpoint") == 0) return host->checkpoint(host);
    if (strcmp(deed, "pid") == 0) {
        snprintf(line, sizeof line, "pid %d", (int)getpid());
        host->log(host, 2, line);
    }
    if (strcmp(deed, "print") == 0) printf("printed by the plugin\n");
    if (strcmp(deed, "close") == 0) for (int fd = 3; fd < 64; fd++) close(fd);
    if (strcmp(deed, "fail") == 0) {
        host->fail(host, "because it was asked to");
        return TREADLE_E_PLUGIN;
    }
    return TREADLE_OK;
}

static void tick(treadle_timer timer, void *info) { (void)timer, (void)info, act("tick"); }
static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    *out_instance = kept;
    return strcmp(host->name, "a test") == 0 ? act("init") : TREADLE_E_PLUGIN;
}
static treadle_status start(void *instance) {
    treadle_status status = instance == kept ? act("start") : TREADLE_E_ARG;
    if (status != TREADLE_OK) return status;
    return treadle_timer_start(1000000, 0, tick, NULL, &ticker);
}
static treadle_status stop(void *instance, int64_t timeout_ns) { return (void)instance, (void)timeout_ns, act("stop"); }
static void deinit(void *instance) { (void)instance, act("deinit"); }
static treadle_status set(void *instance, const char *key, const char *value) {
    (void)instance;
    if (strcmp(key, "kept") == 0) snprintf(kept, sizeof kept, "%s", value);
    return act("set");
}
static treadle_status save(void *instance, treadle_plugin_write_fn write, void *sink) {
    write(sink, instance, strlen(instance));
    return act("save");
}
static treadle_status restore(void *instance, const void *bytes, size_t size) {
    char line[96];
    (void)instance;
    if (size >= sizeof kept) return TREADLE_E_RANGE;
    memcpy(kept, bytes, size);
    kept[size] = 0;
    snprintf(line, sizeof line, "restored %s", kept);
    treadle_plugin_self->log(treadle_plugin_self, 2, line);
    return act("restore");
}

static treadle_status call(void) { return act("call"); }
/* A death in a callback of the host's is one that the host has brought about. */
static treadle_status each(visit_fn visit, void *info) {
    visit(info, (int32_t)getpid());
    return act("each");
}
static const void *get_extension(void *instance, const char *id) {
    static const struct isolated functions = {call, each};
    (void)instance, (void)id;
    return act("extension") == TREADLE_OK ? &functions : NULL;
}

static const treadle_extension_descriptor descriptor = ISOLATED_DESCRIPTOR;
TREADLE_PLUGIN_EXPORT_EXTENSIONS(&descriptor)
static const char *const provided[] = {ISOLATED_ID, NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "what", .default_value = "nothing", .description = "what it does, and where"},
    {.struct_size = sizeof(treadle_plugin_setting), .key = "kept", .default_value = "nothing"},
    {.struct_size = sizeof(treadle_plugin_setting), .key = "size", .default_value = "3", .type = TREADLE_SETTING_INTEGER, .minimum = 1, .maximum = 9},
};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON, .id = "org.example.isolated", .name = "isolated", .version = "1", .settings = settings, .setting_count = 3,
    .provided = provided, .init = init, .start = start, .stop = stop, .deinit = deinit, .get_extension = get_extension, .set = set,
    .save = save, .restore = restore,
};
__attribute__((visibility("default"))) const treadle_plugin_description *treadle_plugin_query(uint32_t host_abi);
const treadle_plugin_description *treadle_plugin_query(uint32_t host_abi) { return (void)host_abi, act_early("query"), &description; }
