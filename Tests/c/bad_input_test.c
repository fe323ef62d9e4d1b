/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * bad_input_test.c: bad handles and bad arguments: each has its status and its message, and changes
 * nothing. bad_struct_test.c has the bad structs. */
#include "all_calls.h"

#include <math.h>

#define MODE TREADLE_DEFAULT_MODE

/* The kinds that a verb takes besides the one that its line names. */
static uint32_t kinds_besides(const struct call *call, int kind) {
    const uint32_t items = U(SOURCE) | U(DESCRIPTOR) | U(TIMER) | U(OBSERVER) | U(PORT) | U(MESSAGE_PORT);
    const char *function = function_of(call);
    if (kind == SCOPE && !strstr(call->name, "__")) return U(PLUGIN);
    if (kind == DESCRIPTOR && !strstr(call->name, "__")) return U(MESSAGE_PORT); /* a port is one */
    if (!strstr(call->name, "__")) return 0;
    if (strcmp(function, "treadle_retain") == 0 || strcmp(function, "treadle_release") == 0) return ~(U(SIGNATURE) | U(HOST));
    if (strcmp(function, "treadle_describe") == 0) return items | U(LOOP) | U(THREAD);
    if (strcmp(function, "treadle_get_kind") == 0) return ~0u;
    if (strcmp(function, "treadle_get_pthread") == 0) return U(THREAD) | U(LOCK) | U(CONDITION);
    if (strcmp(function, "treadle_invalidate") == 0) return items | U(CLOSURE);
    if (strcmp(function, "treadle_close") == 0 || strcmp(function, "treadle_is_valid") == 0) return items | U(CLOSURE) | U(SCOPE) | U(PLUGIN);
    if (strcmp(function, "treadle_perform") == 0) return U(LOOP) | U(THREAD);
    return kind == LOOP || kind == HOST ? 0 : items;
}

/* One call with one bad handle. */
static void must_refuse(const struct call *call, const struct handles *good, int kind, void *bad, treadle_status status) {
    struct handles h = *good;
    treadle_error_info info = {.struct_size = sizeof info};
    h.of[kind] = bad;
    memset(&h.out, 0xa5, sizeof h.out);
    treadle_error_info before = info;
    treadle_last_error(&before);
    int64_t result = call->call(&h);
    if (call->result != 's' && call->result != 'q') {
        if (result) check_failed(__FILE__, __LINE__, "%s is true for the bad %s %p", call->name, handle_names[kind], bad);
        return;
    }
    treadle_last_error(&info);
    if (result != status)
        check_failed(__FILE__, __LINE__, "%s gave %s, not %s, for the bad %s %p", call->name,
                     treadle_status_name((treadle_status)result), treadle_status_name(status), handle_names[kind], bad);
    if (call->result == 'q') {
        CHECK(info.sequence == before.sequence);
        return;
    }
    CHECK_INT(info.code, status);
    CHECK_TEXT(info.function, function_of(call));
    bool is_named = strstr(info.message, handle_names[kind]) || (kind == MESSAGE_PORT && strstr(info.message, "descriptor"));
    if (!is_named && !(kinds_besides(call, kind) && (strstr(info.message, "object") || strstr(info.message, "item") || strstr(info.message, "on "))))
        check_failed(__FILE__, __LINE__, "%s: \"%s\" does not name the %s", call->name, info.message, handle_names[kind]);
    for (size_t i = 0; i < call->stores; i++)
        if (((unsigned char *)&h.out)[i]) check_failed(__FILE__, __LINE__, "%s leaves its result as it was", call->name);
}

/* What was made for the test is whole: nothing has come into a mode, no reference has gone. */
static void must_be_untouched(struct handles *h, treadle_loop loop) {
    char names[256];
    size_t length = 0;
    CHECK_INT(treadle_loop_get_modes(loop, names, sizeof names, &length), TREADLE_OK);
    CHECK_INT(length, sizeof MODE);
    CHECK(!treadle_loop_is_common_mode(loop, h->mode) && !treadle_source_is_signalled(h->of[SOURCE]));
    CHECK(treadle_source_is_valid(h->of[SOURCE]) && treadle_descriptor_is_valid(h->of[DESCRIPTOR]));
    CHECK(treadle_timer_is_valid(h->of[TIMER]) && treadle_observer_is_valid(h->of[OBSERVER]));
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED); /* no stop was kept */
    CHECK_ERROR(treadle_loop_release(loop), TREADLE_E_STALE, "object");
}

static void *const garbage[] = {
    (void *)1, (void *)2, (void *)3, (void *)7, (void *)8, (void *)16, (void *)0x1000, (void *)0x1001, (void *)0xdeadbeef,
    (void *)0x7fffffff, (void *)0x80000000, (void *)0xffffffff, (void *)0x100000000, (void *)0x7fffdeadbee8,
    (void *)0x0101010101010101, (void *)0x5555555555555555, (void *)0xaaaaaaaaaaaaaaaa, (void *)0x7fffffffffffffff,
    (void *)0x8000000000000000, (void *)0xfffffffffffffff8, (void *)0xfffffffffffffffe, (void *)0xffffffffffffffff};

/* NULL in place of a scope: none is entered (SCOPE-7). */
static bool takes_null(const struct call *call) {
    return strcmp(call->name, "treadle_scope_enter") == 0 || strcmp(call->name, "treadle_scope_leave") == 0;
}
static void test_handles(struct handles *good, treadle_loop loop) {
    int on_stack = 0;
    for (int i = 0; i < CALL_COUNT; i++) {
        for (int kind = 0; kind < HANDLE_KINDS; kind++) {
            if (!(calls[i].uses & U(kind))) continue;
            if (!takes_null(&calls[i])) must_refuse(&calls[i], good, kind, NULL, TREADLE_E_ARG);
            for (size_t g = 0; g < sizeof garbage / sizeof garbage[0]; g++)
                must_refuse(&calls[i], good, kind, garbage[g], TREADLE_E_STALE);
            must_refuse(&calls[i], good, kind, &on_stack, TREADLE_E_STALE);
            must_refuse(&calls[i], good, kind, (char *)&on_stack + 1, TREADLE_E_STALE);
            must_refuse(&calls[i], good, kind, good, TREADLE_E_STALE);
        }
    }
    must_be_untouched(good, loop);
}

static void begin(struct handles *h) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = call_dispatch};
    memset(h, 0, sizeof *h);
    handles_make(h, treadle_loop_current(), "mode of the test");
    CHECK_INT(treadle_host_register(&config, (treadle_host *)&h->of[HOST]), TREADLE_OK);
}

TEST(null_and_garbage_as_handles, "OBJ-1 RL-9") {
    struct handles good;
    begin(&good);
    test_handles(&good, treadle_loop_current());
    handles_end(&good);
}

TEST(handles_of_another_kind, "OBJ-1") {
    struct handles good;
    begin(&good);
    for (int i = 0; i < CALL_COUNT; i++)
        for (int kind = 0; kind < HANDLE_KINDS; kind++)
            for (int another = 0; another < HANDLE_KINDS; another++)
                if ((calls[i].uses & U(kind)) && another != kind && !(kinds_besides(&calls[i], kind) & U(another)))
                    must_refuse(&calls[i], &good, kind, good.of[another], TREADLE_E_KIND);
    must_be_untouched(&good, treadle_loop_current());
    handles_end(&good);
}

static void *make_and_leave_a_loop(void *unused) { return (void)unused, treadle_loop_current(); }
TEST(released_handles, "OBJ-2 OBJ-4 RL-9") {
    enum { ROUNDS = 30 }; /* slots are used again, handles are not */
    static struct handles released[ROUNDS];
    struct handles good;
    for (int round = 0; round < ROUNDS; round++) {
        handles_make(&released[round], on_thread(make_and_leave_a_loop, NULL), "");
        handles_end(&released[round]);
    }
    begin(&good);
    for (int i = 0; i < CALL_COUNT; i++)
        for (int kind = 0; kind < HANDLE_KINDS; kind++)
            for (int round = 0; round < ROUNDS; round++)
                if ((calls[i].uses & U(kind)) && kind != SIGNATURE && kind != HOST) /* never freed */
                    must_refuse(&calls[i], &good, kind, released[round].of[kind], TREADLE_E_STALE);
    must_be_untouched(&good, treadle_loop_current());
    handles_end(&good);
}

TEST(the_table_has_every_function, "OBJ-6") {
    static const char *const headers[] = {"closure", "descriptor", "error", "host", "invocation", "lock", "loop", "message_port", "notification", "object", "observer", "perform", "plugin", "pool", "port", "post", "process", "routine", "scope", "source", "thread", "time", "timer", "version"};
    char path[4096], line[1024];
    int functions = 0;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        const char *slash = strstr(__FILE__, "Tests/c/");
        snprintf(path, sizeof path, "%.*sinclude/treadle/%s.h", slash ? (int)(slash - __FILE__) : 0, __FILE__, headers[i]);
        FILE *file = fopen(path, "r");
        if (!file) check_failed(__FILE__, __LINE__, "cannot read %s: run this from the top of the sources", path);
        while (fgets(line, sizeof line, file)) {
            char *name = strncmp(line, "TREADLE_API", 11) == 0 ? strchr(line, '(') : NULL;
            if (!name) continue;
            *name = 0;
            for (name = line + strlen(line); name > line && name[-1] != ' ' && name[-1] != '*';) name--;
            bool found = false;
            for (int c = 0; c < CALL_COUNT; c++) found |= strcmp(function_of(&calls[c]), name) == 0;
            if (!found) check_failed(__FILE__, __LINE__, "all_calls.h lacks %s", name);
            functions++;
        }
        fclose(file);
    }
    for (int c = 0; c < CALL_COUNT; c++) {
        bool is_first = true;
        for (int before = 0; before < c; before++) {
            const struct call *other = &calls[before];
            size_t length = strlen(function_of(&calls[c]));
            is_first &= strncmp(other->name, calls[c].name, length) != 0 || (other->name[length] && strncmp(other->name + length, "__", 2) != 0);
        }
        functions -= is_first;
    }
    CHECK_INT(functions, 0);
}

#define NULL_OUT(call, word) CHECK_ERROR(call, TREADLE_E_ARG, word)
TEST(null_where_a_result_is_stored, "OBJ-2") {
    struct handles h;
    treadle_loop loop = treadle_loop_current();
    char text[8];
    size_t size;
    begin(&h);
    NULL_OUT(treadle_loop_copy_of_thread(thread_id(), NULL), "out_loop");
    NULL_OUT(treadle_loop_get_thread_id(loop, NULL), "out_thread_id");
    NULL_OUT(treadle_loop_get_current_mode(loop, text, sizeof text, NULL), "out_length");
    NULL_OUT(treadle_loop_get_modes(loop, text, sizeof text, NULL), "out_length");
    NULL_OUT(treadle_loop_get_modes(loop, NULL, 8, &size), "buffer");
    NULL_OUT(treadle_loop_get_next_fire(loop, MODE, NULL), "out_time");
    NULL_OUT(treadle_loop_describe(loop, text, sizeof text, NULL), "out_length");
    NULL_OUT(treadle_loop_describe(loop, NULL, 8, &size), "buffer");
    NULL_OUT(treadle_source_create(&TREADLE_INIT(treadle_source_context), NULL), "out_source");
    NULL_OUT(treadle_source_get_order(h.of[SOURCE], NULL), "out_order");
    NULL_OUT(treadle_source_get_context_info(h.of[SOURCE], NULL), "out_info");
    NULL_OUT(treadle_source_describe(h.of[SOURCE], text, sizeof text, NULL), "out_length");
    NULL_OUT(treadle_source_describe(h.of[SOURCE], NULL, 8, &size), "buffer");
    NULL_OUT(treadle_descriptor_get_events(h.of[DESCRIPTOR], NULL), "out_events");
    NULL_OUT(treadle_descriptor_get_fd(h.of[DESCRIPTOR], NULL), "out_fd");
    NULL_OUT(treadle_descriptor_get_context_info(h.of[DESCRIPTOR], NULL), "out_info");
    NULL_OUT(treadle_descriptor_describe(h.of[DESCRIPTOR], text, sizeof text, NULL), "out_length");
    NULL_OUT(treadle_timer_create(&TREADLE_INIT(treadle_timer_context), NULL), "out_timer");
    NULL_OUT(treadle_timer_get_next_fire(h.of[TIMER], NULL), "out_time");
    NULL_OUT(treadle_timer_get_interval(h.of[TIMER], NULL), "out_interval_ns");
    NULL_OUT(treadle_timer_get_tolerance(h.of[TIMER], NULL), "out_tolerance_ns");
    NULL_OUT(treadle_timer_get_order(h.of[TIMER], NULL), "out_order");
    NULL_OUT(treadle_timer_get_context_info(h.of[TIMER], NULL), "out_info");
    NULL_OUT(treadle_timer_describe(h.of[TIMER], text, sizeof text, NULL), "out_length");
    NULL_OUT(treadle_observer_create(&TREADLE_INIT(treadle_observer_context), NULL), "out_observer");
    NULL_OUT(treadle_port_create(&TREADLE_INIT(treadle_port_context), NULL), "out_port");
    NULL_OUT(treadle_port_get_count(h.of[PORT], NULL, &size), "out_count");
    NULL_OUT(treadle_port_get_count(h.of[PORT], &size, NULL), "out_capacity");
    NULL_OUT(treadle_message_get_info(h.of[MESSAGE], NULL), "out_info");
    NULL_OUT(treadle_message_get_component(h.of[MESSAGE], 0, NULL), "out_component");
    NULL_OUT(treadle_message_take_descriptor(h.of[MESSAGE], 1, NULL), "out_descriptor");
    NULL_OUT(treadle_observer_get_activities(h.of[OBSERVER], NULL), "out_activities");
    NULL_OUT(treadle_observer_get_order(h.of[OBSERVER], NULL), "out_order");
    NULL_OUT(treadle_observer_get_context_info(h.of[OBSERVER], NULL), "out_info");
    NULL_OUT(treadle_observer_describe(h.of[OBSERVER], text, sizeof text, NULL), "out_length");
    NULL_OUT(treadle_signature_parse("v", NULL), "out_signature");
    NULL_OUT(treadle_signature_get_argument_count(h.of[SIGNATURE], NULL), "out_count");
    NULL_OUT(treadle_signature_get_layout(h.of[SIGNATURE], 0, NULL, &size), "out_size");
    NULL_OUT(treadle_signature_get_layout(h.of[SIGNATURE], 0, &size, NULL), "out_alignment");
    NULL_OUT(treadle_signature_describe(h.of[SIGNATURE], text, sizeof text, NULL), "out_length");
    NULL_OUT(treadle_host_get_dropped(h.of[HOST], NULL), "out_count");
    NULL_OUT(treadle_host_take_retired(h.of[HOST], &(uint64_t){0}, 1, NULL), "out_count");
    NULL_OUT(treadle_host_take_retired(h.of[HOST], NULL, 1, &size), "tokens");
    NULL_OUT(host_source(h.of[HOST], 1, 0, 0, NULL), "out_source");
    NULL_OUT(host_descriptor(h.of[HOST], 1, h.fd, TREADLE_READABLE, 0, NULL), "out_descriptor");
    NULL_OUT(host_timer(h.of[HOST], 1, 1, 0, NULL), "out_timer");
    NULL_OUT(host_observer(h.of[HOST], 1, 1, 0, NULL), "out_observer");
    NULL_OUT(create_thread(call_entry, NULL, NULL, NULL), "out_thread");
    NULL_OUT(treadle_thread_create(NULL, &(treadle_thread){NULL}), "config");
    NULL_OUT(treadle_thread_get_pthread(h.of[THREAD], NULL), "out_pthread");
    NULL_OUT(treadle_thread_get_id(h.of[THREAD], NULL), "out_thread_id");
    NULL_OUT(treadle_thread_copy_loop(h.of[THREAD], NULL), "out_loop");
    NULL_OUT(treadle_thread_get_state(h.of[THREAD], NULL), "out_state");
    NULL_OUT(treadle_thread_get_stack_size(h.of[THREAD], NULL), "out_size");
    NULL_OUT(treadle_thread_get_name(h.of[THREAD], text, sizeof text, NULL), "out_length");
    NULL_OUT(treadle_thread_get_name(h.of[THREAD], NULL, 8, &size), "buffer");
    NULL_OUT(treadle_thread_get_priority(h.of[THREAD], NULL, NULL), "out_priority");
    NULL_OUT(treadle_thread_get_policy(h.of[THREAD], NULL), "out_policy");
    NULL_OUT(treadle_thread_get_value(h.of[THREAD], "key", NULL), "out_value");
    NULL_OUT(host_thread(h.of[HOST], 1, NULL), "out_thread");
    NULL_OUT(treadle_invocation_create(&(treadle_invocation_config){.struct_size = sizeof(treadle_invocation_config)}, NULL), "out_invocation");
    NULL_OUT(treadle_invocation_get_state(h.of[INVOCATION], NULL), "out_state");
    NULL_OUT(treadle_closure_create(CLOSURE_OF(.handler = call_handler), NULL), "out_closure");
    NULL_OUT(host_closure(h.of[HOST], 1, CLOSURE_OF(.handler = NULL), NULL), "out_closure");
    NULL_OUT(treadle_closure_get_code(h.of[CLOSURE], NULL), "out_code");
    NULL_OUT(treadle_closure_get_info(h.of[CLOSURE], NULL), "out_info");
    NULL_OUT(treadle_closure_pool_get_info(NULL), "out_info");
    NULL_OUT(treadle_scope_create(&TREADLE_INIT(treadle_scope_config), NULL), "out_scope");
    NULL_OUT(treadle_scope_copy_holders(h.of[SCOPE], NULL, sizeof(treadle_scope_holder), 0, NULL), "out_count");
    NULL_OUT(treadle_scope_copy_holders(h.of[SCOPE], NULL, sizeof(treadle_scope_holder), 1, &size), "buffer");
    NULL_OUT(treadle_scope_copy_holders(h.of[SCOPE], NULL, 87, 0, &size), "holder_size");
    NULL_OUT(treadle_lock_create(0, NULL), "out_lock");
    NULL_OUT(treadle_condition_create(NULL), "out_condition");
    NULL_OUT(treadle_pool_push(NULL), "out_token");
    NULL_OUT(add_notification(TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL, call_notified, NULL, NULL, NULL), "out_token");
    NULL_OUT(treadle_notification_add(NULL, &(uint64_t){0}), "config");
    NULL_OUT(host_notification(h.of[HOST], 1, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL, NULL), "out_token");
    NULL_OUT(treadle_time_from_seconds(1, NULL), "out_ns");
    NULL_OUT(treadle_time_from_absolute(1, NULL), "out_time");
    CHECK_INT(treadle_last_error(NULL), TREADLE_E_ARG);
    uint64_t retired = 0;
    CHECK_INT(treadle_host_get_dropped(h.of[HOST], &retired), TREADLE_OK);
    CHECK_INT(*treadle_host_get_retired_count(h.of[HOST]), 0); /* what was refused is not retired */
    handles_end(&h);
}

TEST(unknown_flags, "RUN-1 STOP-9 SRC1-1 TMR-17") {
    treadle_loop loop = treadle_loop_current();
    struct handles h;
    begin(&h);
    for (int bit = 0; bit < 32; bit++) {
        uint32_t flag = 1u << bit;
        treadle_descriptor_context context = {.struct_size = sizeof context, .ready = ready_for_nothing, .fd = h.fd, .events = TREADLE_READABLE};
        treadle_descriptor descriptor = (void *)1;
        treadle_source source = (void *)1;
        if (bit > 2) CHECK_ERROR(treadle_loop_run(loop, MODE, 0, flag), TREADLE_E_ARG, "flags");
        if (bit > 1) CHECK_INT(treadle_loop_request_stop(loop, flag), TREADLE_E_ARG);
        if (bit > 0) CHECK_ERROR(treadle_timer_set_time(h.of[TIMER], 1, flag), TREADLE_E_ARG, "flags");
        if (bit > 1) CHECK_ERROR(treadle_thread_request_stop(treadle_thread_current(), flag), TREADLE_E_ARG, "flags");
        context.flags = flag;
        if (bit > 0) CHECK_ERROR(treadle_descriptor_create(&context, &descriptor), TREADLE_E_ARG, "flags");
        if (bit > 0) CHECK_ERROR(host_descriptor(h.of[HOST], 1, h.fd, TREADLE_READABLE, flag, &descriptor), TREADLE_E_ARG, "flags");
        context.flags = 0;
        context.events = TREADLE_READABLE | flag;
        if (bit > 1) CHECK_ERROR(treadle_descriptor_create(&context, &descriptor), TREADLE_E_ARG, "events");
        if (bit > 1) CHECK_ERROR(treadle_descriptor_set_events(h.of[DESCRIPTOR], TREADLE_READABLE | flag), TREADLE_E_ARG, "events");
        if (bit > 1) CHECK_ERROR(host_source(h.of[HOST], 1, flag, 0, &source), TREADLE_E_ARG, "host_wants");
        if (bit > 1) CHECK(descriptor == NULL && source == NULL);
    }
    uint32_t events = 0;
    CHECK(treadle_descriptor_get_events(h.of[DESCRIPTOR], &events) == TREADLE_OK && events == TREADLE_READABLE);
    treadle_descriptor descriptor = NULL;
    treadle_descriptor_context none = {.struct_size = sizeof none, .fd = h.fd};
    CHECK_ERROR(treadle_descriptor_create(&none, &descriptor), TREADLE_E_ARG, "events");
    must_be_untouched(&h, loop);
    handles_end(&h);
}

TEST(intervals_and_dates_that_are_no_numbers, "TMR-1 RUN-2") {
    treadle_timer_context context = {.struct_size = sizeof context, .interval_ns = -1};
    treadle_timer timer = (void *)1;
    struct handles h;
    int64_t number = 1;
    begin(&h);
    CHECK_ERROR(treadle_timer_create(&context, &timer), TREADLE_E_RANGE, "interval");
    CHECK(timer == NULL);
    context.interval_ns = INT64_MIN;
    CHECK_ERROR(treadle_timer_create(&context, &timer), TREADLE_E_RANGE, "interval");
    CHECK_ERROR(host_timer(h.of[HOST], 1, 1, -5, &timer), TREADLE_E_RANGE, "interval");
    CHECK(timer == NULL);
    timer = (void *)1;
    CHECK_ERROR(treadle_timer_start(1, -1, call_schedule, NULL, &timer), TREADLE_E_RANGE, "interval");
    CHECK(timer == NULL);
    CHECK_ERROR(treadle_time_from_seconds(NAN, &number), TREADLE_E_ARG, "seconds");
    CHECK_INT(number, 0);
    CHECK_ERROR(treadle_time_from_absolute(NAN, &number), TREADLE_E_ARG, "date");
    handles_end(&h);
}

TEST(a_loop_of_another_thread_is_not_run, "OBJ-6 RUN-1") {
    struct worker worker;
    worker_start(&worker);
    worker_await_sleep(&worker);
    int sleeps = worker.watch.sleeps;
    CHECK_ERROR(treadle_loop_run(worker.loop, MODE, 0, 0), TREADLE_E_WRONG_THREAD, "thread");
    CHECK_ERROR(treadle_loop_run(worker.loop, NULL, 0, 0), TREADLE_E_WRONG_THREAD, "thread");
    CHECK_ERROR(treadle_loop_run_default(worker.loop), TREADLE_E_WRONG_THREAD, "thread");
    CHECK(is_asleep(&worker.watch));
    CHECK_INT(worker.watch.sleeps, sleeps);
    worker_stop(&worker);
}

TEST_MAIN()
