/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * store.c: provides the extension of store.h, and uses its host's: for tests of isolated plugins. store_user.c has other names. */
#include "counter.h"
#include "store.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#ifndef STORE_PLUGIN
#define STORE_PLUGIN "org.example.store"
#define STORE_PROVIDED STORE_ID
#define STORE_USED HOST_STORE_ID
#define COUNTER_PROVIDED COUNTER_ID,
#endif

static const treadle_plugin_host *host;
static const struct store *host_store;

static void say(const char *text) { host->log(host, 2, text); }
static int32_t visit(void *info, const char *key, const void *bytes, size_t size) {
    char line[96];
    snprintf(line, sizeof line, "visited %s %.*s", key, (int)size, (const char *)bytes);
    say(line);
    return (int32_t)size + *(int32_t *)info;
}
static void *use_on_a_thread(void *info) {
    char line[64];
    (void)info;
    snprintf(line, sizeof line, "on a thread: %d", (int)host_store->add(40, 2));
    say(line);
    return NULL;
}

/* Uses each function of the host's. */
static treadle_status use(void) {
    struct point point = {.name = 'p', .x = 1, .y = {2, 3}};
    int32_t numbers[] = {3, 1, 2}, seven = 7;
    char bytes[8] = {0}, line[96];
    size_t size = 0;
    double weight = 0;
    struct thing *thing = NULL;
    treadle_error_info error = {.struct_size = sizeof error};
    if (host_store->add(2, 3) != 5) return 101;
    point = host_store->move(point, 0.5);
    if (point.name != 'p' || point.x != 1.5 || point.y[0] != 2 || point.y[1] != -3) return 102;
    if (strcmp(host_store->name(4), "number 4") != 0 || host_store->name(-1)) return 103;
    if (host_store->put("key", "value", 5) != TREADLE_OK) return 104;
    if (host_store->get("key", bytes, 3, &size) != TREADLE_OK || size != 5 || strcmp(bytes, "val") != 0) return 105;
    if (host_store->sum(numbers, 3) != 6) return 106;
    host_store->sort(numbers, 3);
    if (numbers[0] != 1 || numbers[2] != 3) return 107;
    if (host_store->each(visit, &seven) != 13) return 108;
    if (host_store->open("key", &thing) != TREADLE_OK || !thing || thing != host_store->first()) return 109;
    if (host_store->weigh(thing, &weight) != TREADLE_OK || weight != 2.5) return 110;
    if (host_store->weigh((struct thing *)line, &weight) != TREADLE_E_ARG) return 111;
    /* A number that its host has not given out; in the process it is another pointer. */
    if (host_store->weigh((struct thing *)((uintptr_t)thing + 1000), &weight) != TREADLE_E_ARG) return 113;
    treadle_last_error(&error);
    if ((uintptr_t)thing >> 63 && !strstr(error.message, "token that was not given out")) return 114;
    if (host_store->missing && host_store->missing() != TREADLE_E_NOT_SUPPORTED) return 112; /* NULL in the process */
    return TREADLE_OK;
}
static treadle_status store_do(const char *deed) {
    treadle_status status;
    pthread_t thread;
    if (strcmp(deed, "segv") == 0) *(volatile int *)(uintptr_t)8 = 1;
    if (strcmp(deed, "exit") == 0) exit(7);
    if (strcmp(deed, "hang") == 0) for (say("it hangs");;) pause();
    if (strcmp(deed, "kill") == 0) raise(SIGKILL);
    if (strcmp(deed, "use") == 0) return host_store ? use() : TREADLE_E_NOT_FOUND;
    if (strcmp(deed, "note") == 0) return host_store->note("from the plugin"), TREADLE_OK;
    if (strncmp(deed, "host:", 5) == 0) return host_store->act(deed + 5);
    if (strcmp(deed, "thread") == 0) {
        status = pthread_create(&thread, NULL, use_on_a_thread, NULL) == 0 ? TREADLE_OK : TREADLE_E_SYSTEM;
        if (status == TREADLE_OK) pthread_detach(thread);
        return status;
    }
    if (strcmp(deed, "noted") == 0) return strcmp(store_noted, "from the host") == 0 ? TREADLE_OK : TREADLE_E_STATE;
    return TREADLE_E_ARG;
}

static treadle_status init(const treadle_plugin_host *given, void **out_instance) {
    host = given;
    *out_instance = store_key;
    host_store = host->get_extension(host, STORE_USED);
    return TREADLE_OK;
}
static void deinit(void *instance) { (void)instance; }

static int32_t counted;
static int32_t add(void *instance, int32_t by) { return *(int32_t *)instance += by; }
static treadle_status reset(void *instance) { return *(int32_t *)instance = 0, TREADLE_OK; }
static treadle_status later(void *instance) { return (void)instance, TREADLE_E_STATE; }
static const void *get_extension(void *instance, const char *id) {
    static const struct counter counter = {offsetof(struct counter, later), &counted, add, reset, later};
    (void)instance;
    if (strcmp(id, COUNTER_ID) == 0) return &counter;
    return strcmp(id, STORE_PROVIDED) == 0 ? &the_store : (const void *)use;
}

static const char *const provided[] = {STORE_PROVIDED, "example.undescribed/1", COUNTER_PROVIDED NULL}, *const optional[] = {STORE_USED, NULL};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON, .id = STORE_PLUGIN, .name = "store", .version = "1", .provided = provided, .optional = optional,
    .init = init, .deinit = deinit, .get_extension = get_extension,
};
TREADLE_PLUGIN_EXPORT(description)
static const treadle_extension_descriptor descriptor = STORE_DESCRIPTOR(STORE_PROVIDED);
static const treadle_extension_descriptor counter_descriptor = COUNTER_DESCRIPTOR;
TREADLE_PLUGIN_EXPORT_EXTENSIONS(&descriptor, &counter_descriptor)
