/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * no_memory_test.c: the n-th allocation fails, for every n, through every function of the interface and through every kind of
 * call into the client. Nothing ends the program, and with memory again everything is as it was. */
#include "all_calls.h"
#include "faults.h"

#ifndef SANITIZED
enum { MOST = 200 };

/* Calls it with the first allocation failing, then the second, until none is left to fail. */
static void fail_each_allocation(void (*call)(void *), void *info) {
    for (int n = 1; n < MOST; n++) {
        arm(FAULT_MEMORY, ENOMEM, n, false);
        call(info);
        if (disarm() == 0) return;
    }
    check_failed(__FILE__, __LINE__, "%d allocations in one call", MOST);
}
/* In a process of its own, so that one that ends is named. */
static void in_child(const char *name, void (*run)(void *), void *info) {
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        run(info);
        _exit(0);
    }
    int status;
    CHECK_INT(waitpid(child, &status, 0), child);
    if (status != 0) check_failed(__FILE__, __LINE__, "%s without memory: the process ended with %#x", name, status);
}

static struct handles handles;
static void call_once(void *info) {
    int64_t result = ((const struct call *)info)->call(&handles);
    if (result < 0 && ((const struct call *)info)->result == 's') CHECK(result >= -64);
}
static void call_without_memory(void *info) {
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    handles_make(&handles, treadle_loop_current(), TREADLE_DEFAULT_MODE);
    CHECK_INT(treadle_host_register(&(treadle_host_config){.struct_size = sizeof(treadle_host_config), .dispatch = call_dispatch},
                                    (treadle_host *)&handles.of[HOST]), TREADLE_OK);
    fail_each_allocation(call_once, info);
}
TEST(every_function_without_memory, "ABI-7 OBJ-2") {
    if (!have_memory_faults()) return;
    CHECK(treadle_loop_current());
    for (int i = 0; i < CALL_COUNT; i++) {
        const char *name = calls[i].name;
        /* Its query allocates in the test itself; a plugin is loaded below. */
        if (strcmp(name, "treadle_plugin_load") == 0 || strcmp(name, "treadle_plugin_reload") == 0) continue;
        in_child(name, call_without_memory, (void *)&calls[i]);
    }
}

/* --- Calls into the client ------------------------------------------------------------------------ */

static int called;
static void *count_retain(void *info) { return called++, info; }
static void count_release(void *info) { (void)info; }
static void count_describe(void *info, char *buffer, size_t capacity) {
    (void)info;
    called++;
    snprintf(buffer, capacity, "described");
}
static int32_t count_equal(void *one, void *other) { return called++, one == other; }
static void perform_count(treadle_source source, void *info) { (void)source, (void)info; }
static treadle_source make_equal(void) {
    treadle_source source = NULL;
    treadle_source_context context = {.struct_size = sizeof context, .info = &called, .retain = count_retain, .release = count_release,
                                      .describe = count_describe, .equal = count_equal, .perform = perform_count};
    treadle_source_create(&context, &source);
    return source;
}
static treadle_source first;
static void describe_and_compare(void *info) {
    char text[256];
    size_t length;
    treadle_source second = make_equal();
    (void)info;
    treadle_describe(first, text, sizeof text, &length);
    if (!second) return;
    treadle_loop_add(treadle_loop_current(), second, TREADLE_DEFAULT_MODE);
    treadle_loop_contains(treadle_loop_current(), second, TREADLE_DEFAULT_MODE);
    treadle_invalidate(second);
    treadle_release(second);
}
static void count_request(void *target, void *argument) { (void)target, (void)argument, called++; }
static void perform_directly(void *info) {
    (void)info;
    treadle_perform(treadle_thread_current(), &(treadle_request){.struct_size = sizeof(treadle_request), .fn = count_request, .flags = TREADLE_PERFORM_WAIT});
    treadle_invocation_perform(handles.of[INVOCATION], INVOKE(.wait = TREADLE_WAIT_BLOCK, .loop = treadle_loop_current()));
}
static void count_notification(uint32_t name, void *object, void *info) { (void)name, (void)object, (void)info, called++; }
static void notify(void *info) {
    (void)info;
    uint64_t token;
    if (add_notification(TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL, count_notification, NULL, NULL, &token) == TREADLE_OK) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, (void *(*)(void *))(uintptr_t)treadle_loop_current, NULL) == 0) pthread_join(thread, NULL);
        treadle_notification_remove(token);
    }
}
static bool count_error(treadle_thread thread, const char *kind, const char *message, void *info) {
    return (void)thread, (void)kind, (void)message, (void)info, called++, true;
}
static void report(void *info) {
    (void)info;
    treadle_set_last_resort(count_error, NULL, NULL);
    treadle_report_error("an error", "of a test");
    treadle_set_last_resort(NULL, NULL, NULL);
}
static void count_log(const char *message, void *info) { (void)message, (void)info, called++; }
static void log_refusals(void *info) {
    (void)info;
    treadle_set_log(count_log, NULL, NULL);
    treadle_loop_stop(NULL);
    treadle_source_signal(NULL);
    treadle_set_log(NULL, NULL, NULL);
}
static treadle_status count_init(const treadle_plugin_host *host, void **out_instance) { return (void)host, *out_instance = &called, called++, TREADLE_OK; }
static treadle_status count_start(void *instance) { return (void)instance, called++, TREADLE_OK; }
static treadle_status count_stop(void *instance, int64_t timeout_ns) { return (void)instance, (void)timeout_ns, called++, TREADLE_OK; }
static treadle_status count_set(void *instance, const char *key, const char *value) { return (void)instance, (void)key, (void)value, called++, TREADLE_OK; }
static void count_deinit(void *instance) { (void)instance, called++; }
static void count_plugin_log(void *info, treadle_plugin plugin, uint32_t level, const char *text) { (void)info, (void)plugin, (void)level, (void)text, called++; }
static const treadle_plugin_description *count_query(uint32_t host_abi) {
    static const treadle_plugin_setting setting = {.struct_size = sizeof setting, .key = "key"};
    static const treadle_plugin_description description = {
        TREADLE_PLUGIN_COMMON, .id = "example.no-memory", .name = "a plugin", .version = "1", .settings = &setting, .setting_count = 1,
        .init = count_init, .start = count_start, .stop = count_stop, .set = count_set, .deinit = count_deinit};
    return (void)host_abi, &description;
}
static void use_plugin(void *info) {
    (void)info;
    treadle_plugin plugin = NULL;
    treadle_plugin_config config = {.struct_size = sizeof config, .query = count_query, .log = count_plugin_log};
    if (treadle_plugin_load(&config, &plugin) != TREADLE_OK) return;
    treadle_plugin_start(plugin);
    treadle_plugin_set(plugin, "key", "value");
    treadle_plugin_close(plugin, TREADLE_FOREVER);
    treadle_release(plugin);
}
static void print_an_error(void *info) { (void)info, treadle_report_error("an error", "without memory"); }

static void run_client(void *info) {
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    CHECK((first = make_equal()) != NULL);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), first, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(make_invocation((treadle_invocation *)&handles.of[INVOCATION]), TREADLE_OK);
    fail_each_allocation(*(void (**)(void *))info, NULL);
}
TEST(every_call_of_the_client_without_memory, "ABI-7 OBJ-2 THR-19") {
    static void (*const all[])(void *) = {describe_and_compare, perform_directly, notify, report, log_refusals, use_plugin, print_an_error};
    static const char *const names[] = {"describe, equal and retain", "a direct perform", "a notification", "the last resort", "the log", "a plugin", "standard error"};
    if (!have_memory_faults()) return;
    CHECK(treadle_loop_current());
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) in_child(names[i], run_client, (void *)&all[i]);
}
#endif

TEST_MAIN()
