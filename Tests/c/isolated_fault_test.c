/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated_fault_test.c: the n-th piece of memory, or the n-th system call of ports and loops, is refused to a host, for every n, from the
 * load of an isolated plugin to its end: each call then fails with a message or succeeds, the close comes to an end, and nothing is left. */
#include "../plugins/store.h"
#include "plugins.h"

#include "faults.h"

#ifndef SANITIZED

static treadle_status store_do(const char *deed) { return (void)deed, TREADLE_OK; }
static const treadle_extension_descriptor host_descriptor = STORE_DESCRIPTOR(HOST_STORE_ID), *const host_descriptors[] = {&host_descriptor, NULL};
static const void *get_host_store(void *info, const char *id) { return (void)info, strcmp(id, HOST_STORE_ID) == 0 ? &the_store : NULL; }

static int32_t visit(void *info, const char *key, const void *bytes, size_t size) { return (void)key, (void)bytes, *(int32_t *)info + (int32_t)size; }

static void use(void) {
    treadle_plugin plugin = NULL;
    const void *found;
    treadle_plugin_config config = config_of(path_of("store"));
    config.flags = TREADLE_PLUGIN_LOAD_ISOLATED;
    config.get_extension = get_host_store;
    config.extensions = host_descriptors;
    if (SANE(treadle_plugin_load(&config, &plugin)) != TREADLE_OK) return;
    if (SANE(treadle_plugin_start(plugin)) == TREADLE_OK && SANE(treadle_plugin_get_extension(plugin, STORE_ID, &found)) == TREADLE_OK) {
        const struct store *store = found;
        int32_t seven = 7;
        struct thing *thing;
        store->put("key", "value", 5);
        store->name(4);
        store->each(visit, &seven);
        store->open("key", &thing);
        store->act("use");
    }
    SANE(treadle_plugin_close(plugin, SECONDS(60)));
    fault.kinds = 0;
    unload(plugin);
}
static void refuse_each(unsigned kinds, int error) {
    use();
    int before = count_descriptors(), hits = 1, at = 1;
    /* In a quick run some, and other ones each time. */
    int step = scaled(8) >= 8 ? 1 : 8;
    for (at = 1 + (int)(treadle_time_now() % step); hits > 0; at += step) {
        arm(kinds, error, at, false);
        use();
        hits = disarm() > 0 || fault.hits > 0;
        progress();
    }
    CHECK(at > 20);
    use();
    CHECK_INT(count_descriptors(), before);
    have_no_children();
}
TEST(a_host_without_memory_at_any_point_goes_on, "PLUG-5 PLUG-9") {
    if (have_memory_faults()) refuse_each(FAULT_MEMORY, ENOMEM);
}
TEST(a_host_without_descriptors_at_any_point_goes_on, "PLUG-5 PLUG-9") {
    refuse_each(FAULT_EPOLL_CREATE | FAULT_EVENTFD | FAULT_EPOLL_CONTROL | FAULT_TIMER_CREATE, ENOSPC);
}
TEST_MAIN()
#else
int main(void) { return puts("0 passed, 0 failed"), 0; }
#endif
