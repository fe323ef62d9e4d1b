/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * closure_input_test.c: what closures refuse, with what status and words; and closures of hosts. The contract is
 * closure.h and host.h. */
#include "closures.h"
#include "host_items.h"

static atomic_int destroyed;
static treadle_status nothing(treadle_call *call, void *info) { return (void)call, (void)info, TREADLE_OK; }

/* Refused, and the info given back once. */
static void refuse(treadle_closure_config config, treadle_status status, const char *word) {
    treadle_closure closure = (treadle_closure)&destroyed;
    int before = destroyed;
    config.info = &destroyed;
    config.destroy = count_up;
    CHECK_ERROR(treadle_closure_create(&config, &closure), status, word);
    CHECK(closure == NULL);
    CHECK_INT(destroyed, before + 1);
}
#define GOOD(...) CLOSURE_CONFIG(.signature = "ii", .handler = nothing, __VA_ARGS__)

TEST(bad_configs_are_refused, "OBJ-6 ABI-2") {
    treadle_loop loop = treadle_loop_current();
    treadle_thread thread = treadle_thread_current();
    const char *modes[] = {"mode", NULL}, *one[] = {"mode"}, *malformed[] = {"mode", "\xff"};
    int32_t result = 0;
    refuse(CLOSURE_CONFIG(.signature = "ii"), TREADLE_E_ARG, "handler");
    refuse(CLOSURE_CONFIG(.handler = nothing), TREADLE_E_ARG, "signature");
    refuse(GOOD(.delivery = 4), TREADLE_E_ARG, "delivery");
    refuse(GOOD(.on_full = 5), TREADLE_E_ARG, "on_full");
    refuse(GOOD(.flags = 4), TREADLE_E_ARG, "flags");
    refuse(GOOD(.timeout_ns = -1), TREADLE_E_ARG, "timeout_ns");
    refuse(GOOD(.queue_limit = 1048577), TREADLE_E_RANGE, "queue_limit");
    refuse(GOOD(.loop = loop), TREADLE_E_ARG, "loop");
    refuse(GOOD(.thread = thread), TREADLE_E_ARG, "thread");
    refuse(GOOD(.modes = one, .mode_count = 1), TREADLE_E_ARG, "modes");
    refuse(GOOD(.mode_count = 1), TREADLE_E_ARG, "modes");
    for (uint32_t delivery = TREADLE_DELIVERY_ASYNC; delivery <= TREADLE_DELIVERY_RUNNING; delivery++) {
        refuse(GOOD(.delivery = delivery), TREADLE_E_ARG, "loop");
        refuse(GOOD(.delivery = delivery, .loop = loop, .thread = thread), TREADLE_E_ARG, "loop");
        refuse(GOOD(.delivery = delivery, .loop = (treadle_loop)thread), TREADLE_E_KIND, "loop");
        refuse(GOOD(.delivery = delivery, .thread = (treadle_thread)&result), TREADLE_E_STALE, "thread");
        refuse(GOOD(.delivery = delivery, .loop = loop, .modes = modes, .mode_count = 2), TREADLE_E_ARG, "modes");
        refuse(GOOD(.delivery = delivery, .loop = loop, .modes = malformed, .mode_count = 2), TREADLE_E_ARG, "not UTF-8");
        refuse(GOOD(.delivery = delivery, .loop = loop, .modes = modes), TREADLE_E_ARG, "modes");
        refuse(GOOD(.delivery = delivery, .loop = loop, .mode_count = 1), TREADLE_E_ARG, "modes");
        refuse(GOOD(.delivery = delivery, .loop = loop, .modes = one, .mode_count = 65536), TREADLE_E_ARG, "mode_count");
        if (delivery != TREADLE_DELIVERY_ASYNC)
            refuse(GOOD(.delivery = delivery, .loop = loop, .on_full = TREADLE_FULL_COALESCE), TREADLE_E_ARG, "on_full");
    }
    refuse(GOOD(.default_result = &result, .default_result_size = 0), TREADLE_E_RANGE, "default_result_size");
    refuse(GOOD(.default_result = &result, .default_result_size = 3), TREADLE_E_RANGE, "default_result_size");
    refuse(GOOD(.default_result = NULL, .default_result_size = 4), TREADLE_E_RANGE, "default_result_size");
    refuse(CLOSURE_CONFIG(.signature = "v", .handler = nothing, .default_result = &result, .default_result_size = 4), TREADLE_E_RANGE, "default_result_size");
    refuse(CLOSURE_CONFIG(.signature = "il", .handler = nothing), TREADLE_E_SIGNATURE, "offset 1");
    refuse(CLOSURE_CONFIG(.signature = "i(u=iq)", .handler = nothing), TREADLE_E_SIGNATURE, "offset 1");
    refuse(CLOSURE_CONFIG(.signature = "i*...", .handler = nothing), TREADLE_E_SIGNATURE, "variadic");
    refuse(CLOSURE_CONFIG(.signature = "i*O^v", .handler = nothing), TREADLE_E_SIGNATURE, "argument 1");
    CHECK_INT(pool_info().used, 0);
    CHECK_INT(pool_info().drained, 0); /* no stub was touched */
}

/* Inside a handler. */
static treadle_status use_badly(treadle_call *call, void *info) {
    int32_t value = 0, room[2] = {0};
    treadle_call other = *call;
    (void)info;
    CHECK_ERROR(treadle_call_get_argument(NULL, 0, &value, 4), TREADLE_E_ARG, "call");
    CHECK_ERROR(treadle_call_get_argument(call, 0, NULL, 4), TREADLE_E_ARG, "value");
    CHECK_ERROR(treadle_call_get_argument(call, 0, room, 8), TREADLE_E_RANGE, "size");
    CHECK_ERROR(treadle_call_get_argument(call, 0, room, 0), TREADLE_E_RANGE, "size");
    CHECK_ERROR(treadle_call_get_argument(call, 2, &value, 4), TREADLE_E_RANGE, "index");
    CHECK_ERROR(treadle_call_get_argument(call, SIZE_MAX, &value, 4), TREADLE_E_RANGE, "index");
    CHECK_ERROR(treadle_call_set_result(NULL, &value, 4), TREADLE_E_ARG, "call");
    CHECK_ERROR(treadle_call_set_result(call, NULL, 4), TREADLE_E_ARG, "value");
    CHECK_ERROR(treadle_call_set_result(call, room, 8), TREADLE_E_RANGE, "size");
    CHECK_ERROR(treadle_call_set_result(call, NULL, 0), TREADLE_E_RANGE, "size");
    other.signature = (treadle_signature)call->closure;
    CHECK_ERROR(treadle_call_get_argument(&other, 0, &value, 4), TREADLE_E_KIND, "signature");
    CHECK_ERROR(treadle_call_set_result(&other, &value, 4), TREADLE_E_KIND, "signature");
    CHECK(room[0] == 0 && room[1] == 0 && *(int32_t *)call->result == 0);
    call->result = NULL, call->arguments = NULL; /* its own business, and no harm to anybody */
    return TREADLE_OK;
}
TEST(bad_use_in_a_handler_is_refused, "OBJ-6") {
    treadle_closure closure = MADE(.signature = "iid", .handler = use_badly);
    CHECK_INT(CODE_OF(int32_t (*)(int32_t, double), closure)(1, 2), 0);
    end_closure(closure);
}
TEST(bad_handles_are_refused, "OBJ-5 OBJ-6") {
    treadle_closure closure = MADE(.signature = "ii", .handler = nothing);
    any_code code = (any_code)nothing;
    CHECK_ERROR(treadle_closure_get_code(NULL, &code), TREADLE_E_ARG, "closure");
    CHECK(code == NULL);
    CHECK_ERROR(treadle_closure_invalidate((treadle_closure)treadle_loop_current()), TREADLE_E_KIND, "item");
    CHECK_INT(treadle_loop_wake((treadle_loop)closure), TREADLE_E_KIND);
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    CHECK_ERROR(treadle_closure_invalidate(closure), TREADLE_E_STALE, "item");
    CHECK_ERROR(treadle_closure_close(closure, 0), TREADLE_E_STALE, "object");
    treadle_closure_info info = {.struct_size = sizeof info};
    CHECK_ERROR(treadle_closure_get_info(closure, &info), TREADLE_E_STALE, "closure");
}

/* --- Hosts --------------------------------------------------------------------------------------------- */

static int host_calls;
static bool is_completed = true;
static treadle_closure hosts_closure;
static treadle_loop expected_loop;
static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    treadle_call *call = event->argument;
    CHECK(event->struct_size >= sizeof *event && event->kind == TREADLE_EVENT_CALL && event->token == 77);
    CHECK(event->subject == hosts_closure && event->mode == NULL && event->loop == expected_loop && call->loop == expected_loop);
    CHECK(call->closure == hosts_closure);
    int32_t twice = *(const int32_t *)call->arguments[0] * 2;
    CHECK_INT(treadle_call_set_result(call, &twice, sizeof twice), TREADLE_OK);
    host_calls++;
    return is_completed ? ~ticket : 0;
}
static size_t take_token(treadle_host host, uint64_t *token) {
    size_t count = 0;
    CHECK_INT(treadle_host_take_retired(host, token, 1, &count), TREADLE_OK);
    return count;
}
TEST(a_host_handles_calls_as_events, "ABI-1 ABI-2") {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    treadle_host host = NULL;
    uint64_t token = 0;
    int32_t minus = -5;
    typedef int32_t (*one_fn)(int32_t);
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    treadle_closure_config plan = CLOSURE_CONFIG(.signature = "ii", .default_result = &minus, .default_result_size = sizeof minus);
    CHECK_INT(host_closure(host, 77, &plan, &hosts_closure), TREADLE_OK);
    CHECK_INT(CODE_OF(one_fn, hosts_closure)(21), 42);
    is_completed = false;
    CHECK_INT(CODE_OF(one_fn, hosts_closure)(21), -5);
    is_completed = true;
    CHECK_INT(info_of(hosts_closure).handled, 1);
    CHECK_INT(info_of(hosts_closure).failed, 1);
    CHECK_INT(take_token(host, &token), 0);
    CHECK_INT(treadle_closure_invalidate(hosts_closure), TREADLE_OK);
    CHECK_INT(take_token(host, &token), 1);
    CHECK_INT(token, 77);
    CHECK_INT(treadle_closure_release(hosts_closure), TREADLE_OK);
    CHECK_INT(take_token(host, &token), 0);
    /* One that hops: an event that is not completed ends no run. */
    plan.delivery = TREADLE_DELIVERY_ASYNC;
    plan.loop = expected_loop = treadle_loop_current();
    CHECK_INT(host_closure(host, 77, &plan, &hosts_closure), TREADLE_OK);
    is_completed = false;
    CHECK_INT(CODE_OF(one_fn, hosts_closure)(1), -5);
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(host_calls, 3);
    /* The gate is closed: nothing is called any more. */
    CHECK_INT(CODE_OF(one_fn, hosts_closure)(1), -5);
    CHECK_INT(treadle_host_quiesce(host, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(host_calls, 3);
    CHECK_INT(info_of(hosts_closure).failed, 2);
    CHECK_INT(treadle_closure_release(hosts_closure), TREADLE_OK);
    CHECK_INT(take_token(host, &token), 1);
    CHECK_ERROR(host_closure(host, 77, &plan, &hosts_closure), TREADLE_E_CLOSED, "host");
}
static void count_destroyed(void *info) {
    CHECK(!info);
    destroyed++;
}
static void *retain_loop(void *info) {
    (void)info;
    CHECK_INT(treadle_loop_retain(treadle_loop_current()), TREADLE_OK);
    return treadle_loop_current();
}
TEST(the_loop_of_a_thread_that_has_finished_takes_no_calls, "RL-9 PERF-9") {
    treadle_loop loop = on_thread(retain_loop, NULL);
    int before = destroyed;
    for (uint32_t delivery = TREADLE_DELIVERY_ASYNC; delivery <= TREADLE_DELIVERY_RUNNING; delivery++) {
        treadle_closure_config config = CLOSURE_CONFIG(
            .signature = "ii", .handler = nothing, .delivery = delivery, .loop = loop, .destroy = count_destroyed);
        treadle_closure closure = (void *)1;
        CHECK_ERROR(treadle_closure_create(&config, &closure), TREADLE_E_CLOSED, "loop");
        CHECK(closure == NULL);
    }
    CHECK_INT(destroyed, before + 3);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(treadle_retain(loop), TREADLE_E_STALE);
}
TEST(a_host_gives_no_handler, "ABI-2") {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    treadle_host host = NULL;
    treadle_closure closure;
    uint64_t token;
    int before = destroyed;
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    CHECK_ERROR(host_closure(host, 1, &GOOD(), &closure), TREADLE_E_ARG, "handler");
    CHECK_ERROR(host_closure(host, 1, &CLOSURE_CONFIG(.signature = "ii", .info = &host), &closure), TREADLE_E_ARG, "info");
    CHECK_ERROR(host_closure(host, 1, &CLOSURE_CONFIG(.signature = "ii", .destroy = count_destroyed), &closure), TREADLE_E_ARG, "destroy");
    CHECK_ERROR(host_closure(host, 1, &CLOSURE_CONFIG(.signature = "x"), &closure), TREADLE_E_SIGNATURE, "signature");
    CHECK_ERROR(treadle_closure_create(&CLOSURE_CONFIG(.signature = "ii", .token = 1), &closure), TREADLE_E_ARG, "token");
    CHECK_INT(destroyed, before + 1);
    CHECK_INT(take_token(host, &token), 0); /* none was taken */
}

TEST_MAIN()
