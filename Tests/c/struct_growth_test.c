/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * struct_growth_test.c: structs that end where memory ends. scripts/check-growth runs this against libraries whose structs are
 * larger and smaller than those it was compiled with. */
#include "struct_takers.h"

#include <sys/mman.h>

#define M TREADLE_DEFAULT_MODE

/* Memory of so many bytes that ends where a page begins that nobody may touch. */
static void *at_the_end(const void *bytes, size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    memset(pages, 0xA5, page);
    return memcpy(pages + page - size, bytes, size);
}

TEST(a_struct_may_end_where_memory_ends, "ABI-7") {
    make_takers();
    for (size_t i = 0; i < TAKERS; i++) {
        size_t size = takers[i].size;
        size_t *last = at_the_end(takers[i].good, size);
        treadle_status status = takers[i].take(last);
        if (status != TREADLE_OK) check_failed(__FILE__, __LINE__, "struct %zu of %zu bytes: %s", i, size, treadle_status_name(status));
        CHECK_INT(*last, size);
    }
    end_takers();
}

TEST(an_error_ends_where_memory_ends, "ABI-7") {
    treadle_error_info *last = at_the_end(&TREADLE_INIT(treadle_error_info), sizeof *last);
    CHECK_INT(treadle_loop_stop(NULL), TREADLE_E_ARG);
    CHECK_INT(treadle_last_error(last), TREADLE_OK);
    CHECK_INT(last->struct_size, sizeof *last);
    CHECK_INT(last->code, TREADLE_E_ARG);
    CHECK_TEXT(last->function, "treadle_loop_stop");
}

static void look_at(treadle_port port, treadle_message message, void *info) {
    (void)port;
    treadle_message_info *last = at_the_end(&TREADLE_INIT(treadle_message_info), sizeof *last);
    CHECK_INT(treadle_message_get_info(message, last), TREADLE_OK);
    CHECK_INT(last->struct_size, sizeof *last);
    CHECK_INT(last->id, 7);
    ++*(int *)info;
}
TEST(a_message_s_info_ends_where_memory_ends, "ABI-7") {
    int seen = 0;
    treadle_port port;
    treadle_port_context context = {.struct_size = sizeof context, .receive = look_at, .info = &seen};
    CHECK_INT(treadle_port_create(&context, &port), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, M), TREADLE_OK);
    CHECK_INT(treadle_port_send_bytes(port, 7, "text", 4, 0), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(seen, 1);
    CHECK_INT(discard(port), TREADLE_OK);
}

/* A host that fetches its events: its pull and its room for two of them end where memory ends. */
TEST(a_pull_ends_where_memory_ends, "ABI-7 ABI-10") {
    treadle_host host;
    CHECK_INT(treadle_host_register(&TREADLE_INIT(treadle_host_config), &host), TREADLE_OK);
    for (uint64_t token = 1; token <= 3; token++) CHECK_INT(treadle_host_post(host, token, treadle_loop_current()), TREADLE_OK);
    treadle_event none[2] = {0}, *events = at_the_end(none, sizeof none);
    treadle_pull pull = {.struct_size = sizeof pull, .host = host, .mode = M, .events = events, .event_size = sizeof *events, .capacity = 2};
    treadle_pull *last = at_the_end(&pull, sizeof pull);
    CHECK_INT(treadle_loop_next(treadle_loop_current(), last), TREADLE_OK);
    CHECK_INT(last->count, 2);
    for (uint64_t i = 0; i < 2; i++) {
        CHECK_INT(events[i].token, i + 1);
        CHECK_INT(events[i].kind, TREADLE_EVENT_POST);
        CHECK(events[i].struct_size <= sizeof *events);
    }
    CHECK_INT(treadle_loop_next(treadle_loop_current(), last), TREADLE_OK);
    CHECK_INT(last->count, 1);
    CHECK_INT(events[0].token, 3);
    CHECK_INT(treadle_loop_next(treadle_loop_current(), last), TREADLE_RUN_TIMED_OUT);
    CHECK(last->run == 0 && last->count == 0);
    CHECK_INT(last->struct_size, sizeof pull);
}

static void store_value(uint32_t value, void *info) { *(uint32_t *)info = value; }
TEST(an_event_ends_where_memory_ends, "ABI-7") {
    uint32_t value = 0, *place = &value;
    treadle_routine routine;
    treadle_argument arguments[] = {{.kind = TREADLE_ARGUMENT_VALUE}, {.kind = TREADLE_ARGUMENT_BOUND, .value = &place, .size = sizeof place}};
    treadle_routine_config config = {.struct_size = sizeof config, .code = (void (*)(void))store_value, .signature = "vI^v",
                                     .arguments = arguments, .argument_count = 2};
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    treadle_event event = {.struct_size = sizeof event, .kind = TREADLE_EVENT_POST, .value = 5};
    CHECK_INT(treadle_routine_call(routine, at_the_end(&event, sizeof event), NULL, 0), TREADLE_OK);
    CHECK_INT(value, 5);
    CHECK_INT(treadle_release(routine), TREADLE_OK);
}

/* A plugin's description and its settings are read by the sizes that they state. */
static treadle_plugin_description *described;
static treadle_plugin_setting *settings;
enum { SETTINGS = 3 };
static const treadle_plugin_description *query_described(uint32_t host_abi) { return (void)host_abi, described; }
static void describe_settings(void) {
    treadle_plugin_setting all[SETTINGS] = {{.struct_size = sizeof *all, .key = "one", .default_value = "first"},
                                            {.struct_size = sizeof *all, .key = "two", .default_value = "17", .type = TREADLE_SETTING_INTEGER},
                                            {.struct_size = sizeof *all, .key = "three", .default_value = "third"}};
    settings = at_the_end(all, sizeof all);
    treadle_plugin_description description = {TREADLE_PLUGIN_COMMON, .id = "example.growth", .name = "a plugin", .version = "1", .init = plugin_init,
                                              .deinit = plugin_deinit, .settings = settings, .setting_count = SETTINGS};
    described = at_the_end(&description, sizeof description);
}
static treadle_status load_described(treadle_plugin *out) {
    return treadle_plugin_load(&(treadle_plugin_config){.struct_size = sizeof(treadle_plugin_config), .query = query_described}, out);
}
TEST(settings_are_read_by_the_size_that_they_state, "ABI-7 PLUG-1") {
    treadle_plugin plugin;
    char text[32];
    size_t length;
    describe_settings();
    CHECK_INT(load_described(&plugin), TREADLE_OK);
    static const char *const keys[] = {"one", "two", "three"}, *const values[] = {"first", "17", "third"};
    for (int i = 0; i < SETTINGS; i++) {
        CHECK_INT(treadle_plugin_copy_setting(plugin, keys[i], text, sizeof text, &length), TREADLE_OK);
        CHECK_TEXT(text, values[i]);
    }
    CHECK_INT(treadle_plugin_set(plugin, "three", "other"), TREADLE_OK);
    CHECK_INT(treadle_plugin_close(plugin, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
}
/* A size that no setting had: nothing behind it is read. */
TEST(a_small_setting_is_not_read_whole, "ABI-7 PLUG-1") {
    treadle_plugin plugin;
    describe_settings();
    treadle_plugin_setting *small = (treadle_plugin_setting *)(void *)((char *)(settings + SETTINGS) - sizeof(size_t));
    described->settings = small;
    described->setting_count = 1;
    static const size_t sizes[] = {0, 1, 8, 16};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        small->struct_size = sizes[i];
        CHECK_ERROR(load_described(&plugin), TREADLE_E_PLUGIN, "struct_size");
    }
}
/* Elements of one array are equally large, and what this version does not know of them is zero. */
TEST(settings_that_are_too_new, "ABI-7 PLUG-1") {
    struct newer { treadle_plugin_setting setting; uint64_t more; };
    treadle_plugin plugin;
    struct newer all[2] = {{{.struct_size = sizeof *all, .key = "one"}, 0}, {{.struct_size = sizeof *all, .key = "two"}, 0}};
    describe_settings();
    described->settings = &all[0].setting;
    described->setting_count = 2;
    CHECK_INT(load_described(&plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_close(plugin, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    if (!getenv("TREADLE_TEST_GROWTH")) { /* there the library knows one more member */
        all[1].more = 1;
        CHECK_ERROR(load_described(&plugin), TREADLE_E_TOO_NEW, "settings");
    }
    all[1].setting.struct_size = sizeof(treadle_plugin_setting);
    CHECK_ERROR(load_described(&plugin), TREADLE_E_PLUGIN, "struct_size");
}

TEST_MAIN()
