/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated_extension_test.c: extensions between a host and plugins in processes of their own. */
#include "../plugins/counter.h"
#include "../plugins/store.h"
#include "plugin_lines.h"

/* What the host's own store does when a plugin asks it for a deed. */
static treadle_plugin acting;
static const struct store *acting_store;
static pthread_t acted_on;
static treadle_status store_do(const char *deed) {
    acted_on = pthread_self();
    if (strcmp(deed, "close") == 0) return treadle_plugin_close(acting, TREADLE_FOREVER);
    if (strcmp(deed, "back") == 0) return acting_store->add(20, 22) == 42 ? TREADLE_OK : TREADLE_E_STATE;
    if (strcmp(deed, "forth") == 0) return acting_store->act("host:back");
    return TREADLE_E_ARG;
}
static const treadle_extension_descriptor host_descriptor = STORE_DESCRIPTOR(HOST_STORE_ID), *const host_descriptors[] = {&host_descriptor, NULL};
static const void *get_host_store(void *info, const char *id) {
    return (void)info, strcmp(id, HOST_STORE_ID) == 0 || strcmp(id, SCRIPT) == 0 ? &the_store : NULL;
}
static treadle_plugin_config store_config(const char *name) {
    treadle_plugin_config config = isolated_config(name);
    config.get_extension = get_host_store;
    config.extensions = host_descriptors;
    store_watcher = NULL;
    return config;
}
static treadle_plugin load_store(const char *name, uint32_t flags) {
    treadle_plugin plugin = NULL;
    treadle_plugin_config config = store_config(name);
    config.flags = flags;
    CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
    return plugin;
}
static const struct store *store_of(treadle_plugin plugin, const char *id) {
    const void *found = NULL;
    CHECK_INT(treadle_plugin_get_extension(plugin, id, &found), TREADLE_OK);
    return found;
}
static treadle_plugin start_store(const struct store **out_store) {
    treadle_plugin plugin = load_store("store", TREADLE_PLUGIN_LOAD_ISOLATED);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    *out_store = store_of(plugin, STORE_ID);
    return plugin;
}

static int32_t count_visit(void *info, const char *key, const void *bytes, size_t size) {
    CHECK(pthread_equal(pthread_self(), *(pthread_t *)info));
    CHECK_TEXT(key, "key");
    return (int32_t)size * 100 + ((const char *)bytes)[1];
}
static void *use_store(void *info) {
    const struct store *store = info;
    pthread_t self = pthread_self();
    struct point point = {.name = 'p', .x = 1, .y = {2, 3}};
    int32_t numbers[] = {3, 1, 2};
    static char large[300000], back[300000];
    char bytes[8] = {0};
    size_t size = 0;
    double weight = 0;
    struct thing *thing = NULL, *stray = NULL;
    CHECK_INT(store->add(2, 3), 5);
    point = store->move(point, 0.5);
    CHECK(point.name == 'p' && point.x == 1.5 && point.y[0] == 2 && point.y[1] == -3);
    CHECK_TEXT(store->name(4), "number 4");
    CHECK(store->name(-1) == NULL && store->name(4) == store->name(4));
    CHECK_INT(store->put("key", "value", 5), TREADLE_OK);
    CHECK_INT(store->put(NULL, NULL, 0), TREADLE_E_RANGE);
    CHECK_INT(store->get("key", bytes, 3, &size), TREADLE_OK);
    CHECK(size == 5 && strcmp(bytes, "val") == 0);
    CHECK_INT(store->get("key", NULL, 0, NULL), TREADLE_OK);
    CHECK_INT(store->get("other", bytes, 3, &size), TREADLE_E_NOT_FOUND);
    CHECK_INT(store->sum(numbers, 3), 6);
    CHECK_INT(store->sum(NULL, 3), 0);
    store->sort(numbers, 3);
    CHECK(numbers[0] == 1 && numbers[1] == 2 && numbers[2] == 3);
    CHECK_INT(store->each(count_visit, &self), 500 + 'a' + 1);
    CHECK_INT(store->each(NULL, NULL), -1);
    CHECK_INT(store->open("key", &thing), TREADLE_OK);
    CHECK(thing != NULL && thing == store->first());
    /* A callee's token that cannot be passed on is refused by its process, whose link goes on. */
    CHECK_INT(store->open(STORE_STRAY, &stray), TREADLE_E_ARG);
    CHECK(stray == NULL);
    CHECK_INT(store->weigh(thing, &weight), TREADLE_OK);
    CHECK(weight == 2.5);
    CHECK_INT(store->weigh(NULL, &weight), TREADLE_E_ARG);
    CHECK_INT(store->missing(), TREADLE_E_NOT_SUPPORTED);
    memset(large, 'x', sizeof large);
    CHECK_INT(store->put("large", large, sizeof large), TREADLE_OK);
    CHECK_INT(store->get("large", back, sizeof back, &size), TREADLE_OK);
    CHECK(size == sizeof large && memcmp(large, back, size) == 0);
    return NULL;
}
TEST(a_host_calls_the_functions_of_an_isolated_plugin, "PLUG-9 PLUG-6") {
    const struct store *store;
    const void *again = NULL;
    treadle_plugin plugin = start_store(&store);
    CHECK_INT(treadle_plugin_get_extension(plugin, STORE_ID, &again), TREADLE_OK);
    CHECK(again == store);
    use_store((void *)(uintptr_t)store);
    store->note("from the host");
    CHECK_INT(store->act("noted"), TREADLE_OK);
    CHECK(!is_mapped("store"));
    unload(plugin);
}
TEST(threads_of_a_host_call_an_isolated_plugin, "PLUG-9 THR-19") {
    const struct store *store;
    pthread_t thread;
    treadle_plugin plugin = start_store(&store);
    CHECK_INT(pthread_create(&thread, NULL, use_store, (void *)(uintptr_t)store), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    unload(plugin);
}
TEST(an_isolated_plugin_calls_the_functions_of_its_host, "PLUG-9") {
    const struct store *store;
    treadle_plugin plugin = start_store(&store);
    CHECK_INT(store->act("use"), TREADLE_OK);
    CHECK(has_line("visited key value"));
    CHECK_INT(store->act("note"), TREADLE_OK);
    while (strcmp(store_noted, "from the plugin") != 0) run_briefly();
    CHECK_INT(store->act("thread"), TREADLE_OK);
    await_line("on a thread: 42");
    unload(plugin);
}
static void *act_back(void *info) {
    CHECK_INT(acting_store->act(info), TREADLE_OK);
    CHECK(pthread_equal(acted_on, pthread_self()));
    return NULL;
}
TEST(a_call_inside_of_a_call_comes_to_the_thread_that_waits, "PLUG-9") {
    pthread_t thread;
    acting = start_store(&acting_store);
    act_back("host:back");
    act_back("host:forth");
    CHECK_INT(pthread_create(&thread, NULL, act_back, "host:forth"), 0);
    /* Its main loop may receive the plugin's frames as well. */
    while (pthread_tryjoin_np(thread, NULL) != 0) run_briefly();
    unload(acting);
}
TEST(a_plugin_that_is_closed_in_a_call_of_its_own_ends_behind_it, "PLUG-9 PLUG-5") {
    acting = start_store(&acting_store);
    CHECK_INT(acting_store->act("host:close"), TREADLE_DEFERRED);
    unload(acting);
}
static _Atomic int32_t changed_to;
static void changed(void *info, int32_t number) {
    CHECK(info == (void *)&changed_to);
    changed_to = number;
}
TEST(a_kept_callback_lives_as_long_as_the_plugin, "PLUG-9") {
    const struct store *store;
    treadle_plugin plugin = start_store(&store);
    CHECK_INT(store->watch((void *)&changed_to, changed), TREADLE_OK);
    CHECK_INT(store->put("key", "four", 4), TREADLE_OK);
    CHECK_INT(changed_to, 4);
    CHECK_INT(store->watch((void *)&changed_to, changed), TREADLE_OK);
    CHECK_INT(store->put("key", "one", 1), TREADLE_OK);
    CHECK_INT(changed_to, 1);
    CHECK_INT(store->watch(NULL, NULL), TREADLE_OK);
    CHECK_INT(store->put("key", "two", 2), TREADLE_OK);
    CHECK_INT(changed_to, 1);
    unload(plugin);
}
TEST(the_end_of_the_process_ends_a_call_with_its_reason, "PLUG-9 PLUG-5") {
    static const char *const ends[][2] = {{"segv", "SIGSEGV"}, {"exit", "exit status 7"}, {"kill", "SIGKILL"}};
    for (size_t i = 0; i < COUNT(ends); i++) {
        const struct store *store;
        treadle_plugin plugin = start_store(&store);
        CHECK_INT(store->act(ends[i][0]), TREADLE_E_PLUGIN);
        CHECK_ERROR_SAYS(ends[i][1]);
        CHECK_ERROR_SAYS("store.act");
        CHECK_ERROR_SAYS("org.example.store");
        CHECK_INT(store->add(1, 1), 0);
        CHECK_ERROR_SAYS("store.add");
        CHECK_INT(store->put("key", "", 0), TREADLE_E_PLUGIN);
        store->note("nothing");
        unload(plugin);
    }
}
TEST(plugins_use_each_other_in_the_process_and_isolated, "PLUG-9 PLUG-5") {
    for (uint32_t way = 0; way < 4; way++) {
        treadle_plugin store = load_store("store", way & 1 ? TREADLE_PLUGIN_LOAD_ISOLATED : 0);
        treadle_plugin user = load_store("store_user", way & 2 ? TREADLE_PLUGIN_LOAD_ISOLATED : 0);
        CHECK_INT(treadle_plugin_start(user), TREADLE_OK);
        const struct store *used = store_of(user, "example.user-store/1");
        CHECK_INT(used->act("use"), TREADLE_OK);
        CHECK(has_line("visited key value"));
        CHECK_INT(used->act("host:use"), TREADLE_OK);
        if (way & 1) {
            CHECK_INT(used->act("host:segv"), TREADLE_E_PLUGIN);
            CHECK_INT(used->put("key", "four", 4), TREADLE_OK);
        }
        CHECK_ERROR(treadle_plugin_close(store, 0), TREADLE_E_TIMEOUT, "");
        unload(user);
        unload(store);
    }
}
static void *hang(void *store) {
    CHECK_INT(((const struct store *)store)->act("hang"), TREADLE_E_PLUGIN);
    return NULL;
}
TEST(a_close_ends_a_call_that_hangs, "PLUG-9 PLUG-5 SCOPE-5") {
    const struct store *store;
    pthread_t thread;
    treadle_plugin plugin = start_store(&store);
    treadle_status (*put)(const char *, const void *, size_t) = store->put;
    CHECK_INT(pthread_create(&thread, NULL, hang, (void *)(uintptr_t)store), 0);
    await_line("it hangs");
    CHECK_INT(treadle_plugin_close(plugin, MILLISECONDS(20)), TREADLE_OK);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(put("key", NULL, 0), TREADLE_E_CLOSED);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
}
TEST(what_cannot_cross_the_process_is_refused_by_name, "PLUG-9") {
    const struct store *store;
    const void *found;
    treadle_plugin user, plugin = start_store(&store);
    CHECK_ERROR(treadle_plugin_get_extension(plugin, "example.undescribed/1", &found), TREADLE_E_NOT_SUPPORTED, "example.undescribed/1");
    CHECK_ERROR(treadle_plugin_get_extension(plugin, "example.other/1", &found), TREADLE_E_NOT_FOUND, "example.other/1");
    CHECK_INT(store->sum(NULL, 0), 0);
    CHECK_INT(store->put("key", "", SIZE_MAX), TREADLE_E_RANGE);
    unload(plugin);
    /* Another one than the program expects. */
    treadle_extension_descriptor shorter = STORE_DESCRIPTOR(STORE_ID);
    const treadle_extension_descriptor same = STORE_DESCRIPTOR(STORE_ID), *expected[] = {&shorter, NULL};
    treadle_plugin_config config = store_config("store");
    config.extensions = expected;
    for (shorter.function_count--; expected[0]; expected[0] = expected[0] == &shorter ? &same : NULL) {
        CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
        CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
        if (expected[0] == &shorter) CHECK_ERROR(treadle_plugin_get_extension(plugin, STORE_ID, &found), TREADLE_E_PLUGIN, "described otherwise");
        else CHECK_INT(treadle_plugin_get_extension(plugin, STORE_ID, &found), TREADLE_OK);
        unload(plugin);
    }
    /* The host has it, but no descriptor of it. */
    config = store_config("user");
    CHECK_INT(treadle_plugin_load(&config, &user), TREADLE_OK);
    CHECK_ERROR(treadle_plugin_start(user), TREADLE_E_NOT_SUPPORTED, SCRIPT);
    unload(user);
}
/* The instance is the provider's own on its side, and on the other one a value that means it. */
TEST(an_extension_may_begin_with_its_size_and_an_instance, "PLUG-9") {
    for (uint32_t flags = 0; flags <= TREADLE_PLUGIN_LOAD_ISOLATED; flags += TREADLE_PLUGIN_LOAD_ISOLATED) {
        const void *found = NULL;
        treadle_plugin plugin = load_store("store", flags);
        CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
        CHECK_INT(treadle_plugin_get_extension(plugin, COUNTER_ID, &found), TREADLE_OK);
        const struct counter *counter = found;
        CHECK(counter->struct_size >= offsetof(struct counter, later));
        CHECK_INT(counter->add(counter->instance, 2), 2);
        CHECK_INT(counter->add(counter->instance, 3), 5);
        CHECK_INT(counter->reset(counter->instance), TREADLE_OK);
        CHECK_INT(counter->add(counter->instance, 1), 1);
        if (flags != 0) {
            CHECK_ERROR(counter->reset(NULL), TREADLE_E_ARG, "instance");
            CHECK_ERROR(counter->reset((char *)counter->instance + 8), TREADLE_E_ARG, "instance");
            CHECK_INT(counter->add(&plugin, 1), 0);
            CHECK_ERROR_SAYS("instance");
            /* It is behind the size of the plugin's struct. */
            CHECK_ERROR(counter->later(counter->instance), TREADLE_E_NOT_SUPPORTED, "counter.later");
            CHECK_INT(counter->add(counter->instance, 1), 2);
        }
        unload(plugin);
    }
}
/* The program's own are read when the plugin asks for one, and refused with a line in its log. */
TEST(a_descriptor_that_contradicts_itself_is_refused, "PLUG-9") {
    static const treadle_extension_argument instance[] = {{.pass = TREADLE_PASS_INSTANCE}}, unknown[] = {{.pass = 12}},
        status[] = {{.pass = TREADLE_PASS_STATUS}};
    static const struct {
        treadle_extension_function function;
        uint32_t flags;
        const char *reason;
    } wrong[] = {
        {{"f", "i", NULL, 0, TREADLE_PASS_STATUS, 0, 0}, 4, "unknown flags"},
        {{"f", "i^v", instance, 1, TREADLE_PASS_STATUS, 0, 0}, TREADLE_EXTENSION_HAS_SIZE, "has an instance"},
        {{"f", "i^v", unknown, 1, TREADLE_PASS_STATUS, 0, 0}, 0, "unknown pass"},
        {{"f", "ii", status, 1, TREADLE_PASS_STATUS, 0, 0}, 0, "unknown pass"},
        {{"f", "ii", instance, 1, TREADLE_PASS_STATUS, 0, 0}, TREADLE_EXTENSION_HAS_INSTANCE, ""},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        const treadle_extension_descriptor descriptor = {
            .struct_size = sizeof descriptor, .name = HOST_STORE_ID, .functions = &wrong[i].function, .function_count = 1, .flags = wrong[i].flags};
        const treadle_extension_descriptor *const descriptors[] = {&descriptor, NULL};
        const struct store *store;
        treadle_plugin plugin = NULL;
        treadle_plugin_config config = store_config("store");
        config.extensions = descriptors;
        CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
        CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
        store = store_of(plugin, STORE_ID);
        CHECK_INT(store->act("use"), TREADLE_E_NOT_FOUND);
        await_line("1 ");
        CHECK(has_line(wrong[i].reason));
        unload(plugin);
    }
}

/* The host has the extension, but a description that does not describe it. */
TEST(an_extension_with_a_wrong_description_does_not_cross, "PLUG-9") {
    static const treadle_extension_argument unknown[] = {{.pass = 77}}, without_size[] = {{.pass = TREADLE_PASS_IN, .other = 1}},
                                            without_info[] = {{.pass = TREADLE_PASS_CALLBACK, .callback = &store_visit}};
    static const treadle_extension_function wrong[] = {
        {.name = "store.add", .signature = "iii", .argument_count = 2, .flags = 2},
        {.name = "store.add", .signature = "no signature", .argument_count = 2},
        {.name = "store.note", .signature = "v*", .arguments = unknown, .argument_count = 1},
        {.name = "store.note", .signature = "v*", .arguments = without_size, .argument_count = 1},
        {.name = "store.each", .signature = "v^?", .arguments = without_info, .argument_count = 1},
    };
    treadle_extension_descriptor descriptor = {.struct_size = sizeof descriptor, .name = HOST_STORE_ID};
    const treadle_extension_descriptor *given[] = {&descriptor, NULL};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        treadle_plugin plugin = NULL;
        treadle_plugin_config config = store_config("store");
        descriptor.functions = &wrong[i];
        descriptor.function_count = 1;
        config.extensions = given;
        CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
        CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
        CHECK_INT(store_of(plugin, STORE_ID)->act("use"), TREADLE_E_NOT_FOUND);
        unload(plugin);
    }
}

TEST_MAIN()
