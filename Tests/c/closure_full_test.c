/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * closure_full_test.c: what becomes of calls when as many wait for the loop as may. The contract is closure.h. */
#include "closures.h"

typedef int32_t (*one_fn)(int32_t);
static const int32_t minus = -5;
#define MINUS .default_result = &minus, .default_result_size = sizeof minus

/* What was handled, in its order. */
static int32_t handled[100000];
static atomic_int count;
static treadle_status note(treadle_call *call, void *info) {
    int32_t value = *(const int32_t *)call->arguments[0], result = value * 10;
    (void)info;
    handled[atomic_fetch_add(&count, 1)] = value;
    return treadle_call_set_result(call, &result, sizeof result);
}
#define CHECK_HANDLED(...)                                                     \
    do {                                                                       \
        const int32_t wanted_[] = {__VA_ARGS__};                             \
        CHECK_INT(count, COUNT(wanted_));                                    \
        for (size_t i = 0; i < COUNT(wanted_); i++) CHECK_INT(handled[i], wanted_[i]); \
    } while (0)

/* A closure for the calling thread's loop, which does not run yet. */
#define HERE(...) MADE(.signature = "ii", .handler = note, .loop = treadle_loop_current(), MINUS, __VA_ARGS__)

/* A caller that waits, on a thread of its own. */
struct caller {
    one_fn code;
    int32_t value, result;
    treadle_status error;
    pthread_t thread;
    atomic_int id;
};
static void *call_one(void *info) {
    struct caller *caller = info;
    treadle_error_info error = {.struct_size = sizeof error};
    atomic_store(&caller->id, thread_id());
    caller->result = caller->code(caller->value);
    treadle_last_error(&error);
    caller->error = error.code;
    return NULL;
}
static void start_caller(struct caller *caller, treadle_closure closure, int32_t value) {
    *caller = (struct caller){.code = CODE_OF(one_fn, closure), .value = value};
    CHECK_INT(pthread_create(&caller->thread, NULL, call_one, caller), 0);
}
static void await_blocked(struct caller *caller) {
    while (!atomic_load(&caller->id) || !is_in_kernel_wait(atomic_load(&caller->id))) sched_yield();
}

TEST(the_newest_call_is_dropped, "PERF-4") {
    treadle_closure closure = HERE(.delivery = TREADLE_DELIVERY_ASYNC, .queue_limit = 3, .on_full = TREADLE_FULL_DROP_NEWEST);
    for (int32_t i = 1; i <= 5; i++) CHECK_INT(CODE_OF(one_fn, closure)(i), -5);
    CHECK_INT(info_of(closure).waiting, 3);
    CHECK_INT(info_of(closure).dropped, 2);
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_HANDLED(1, 2, 3);
    CHECK_INT(info_of(closure).waiting, 0);
    end_closure(closure);
}
TEST(the_oldest_call_is_dropped, "PERF-4") {
    treadle_closure closure = HERE(.delivery = TREADLE_DELIVERY_ASYNC, .queue_limit = 3, .on_full = TREADLE_FULL_DROP_OLDEST);
    for (int32_t i = 1; i <= 8; i++) CHECK_INT(CODE_OF(one_fn, closure)(i), -5);
    CHECK_INT(info_of(closure).waiting, 3);
    CHECK_INT(info_of(closure).dropped, 5);
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_HANDLED(6, 7, 8);
    end_closure(closure);
}
TEST(a_refused_call_is_reported_once, "THR-19") {
    treadle_error_info error = {.struct_size = sizeof error};
    watch_reports();
    treadle_closure closure = HERE(.delivery = TREADLE_DELIVERY_ASYNC, .queue_limit = 1, .on_full = TREADLE_FULL_FAIL);
    for (int32_t i = 1; i <= 5; i++) CHECK_INT(CODE_OF(one_fn, closure)(i), -5);
    treadle_last_error(&error);
    CHECK_INT(error.code, TREADLE_E_NOMEM);
    CHECK_INT(reports, 1);
    CHECK(strstr(report_text, "refused"));
    CHECK_INT(info_of(closure).dropped, 4);
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_HANDLED(1);
    CHECK_INT(CODE_OF(one_fn, closure)(6), -5); /* there is room again */
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_HANDLED(1, 6);
    end_closure(closure);
}

/* The place in the loop's queue is the first call's, the arguments are the last one's. */
static treadle_status see_text(treadle_call *call, void *info) {
    trace("%s", *(const char *const *)call->arguments[0]);
    return (void)info, TREADLE_OK;
}
static void other_request(void *target, void *argument) { (void)target, trace("%s", (const char *)argument); }
TEST(calls_take_each_others_place, "PERF-4") {
    treadle_closure closure = MADE(.signature = "vO*", .handler = see_text, .loop = treadle_loop_current(),
                                   .delivery = TREADLE_DELIVERY_ASYNC, .queue_limit = 2, .on_full = TREADLE_FULL_COALESCE);
    treadle_request request = {.struct_size = sizeof request, .fn = other_request, .argument = (void *)"request"};
    char text[200];
    for (int i = 0; i < 10; i++) {
        snprintf(text, sizeof text, "%.*s%d", i % 3 * 40, "a text that is sometimes longer and sometimes shorter...................", i);
        CODE_OF(void (*)(const char *), closure)(text);
        if (i == 1) CHECK_INT(perform_on_main(&request, NULL, 0, 0), TREADLE_OK);
    }
    CHECK_INT(info_of(closure).waiting, 2);
    CHECK_INT(info_of(closure).dropped, 8);
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_TRACE("0 9 request");
    CHECK_INT(info_of(closure).handled, 2);
    CODE_OF(void (*)(const char *), closure)("a new one");
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_TRACE("a new one");
    for (int i = 0; i < 5; i++) CODE_OF(void (*)(const char *), closure)("never seen"); /* left in the queue: no leak */
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
}

/* --- Callers that wait for the result ----------------------------------------------------------------- */

TEST(a_waiting_caller_is_dropped_for_a_later_one, "PERF-7 PERF-9") {
    struct caller first, second;
    treadle_closure closure = HERE(.delivery = TREADLE_DELIVERY_SYNC, .queue_limit = 1, .on_full = TREADLE_FULL_DROP_OLDEST);
    start_caller(&first, closure, 1);
    await_blocked(&first);
    CHECK_INT(info_of(closure).waiting, 1);
    start_caller(&second, closure, 2);
    CHECK_INT(pthread_join(first.thread, NULL), 0);
    CHECK_INT(first.result, -5);
    await_blocked(&second);
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(pthread_join(second.thread, NULL), 0);
    CHECK_INT(second.result, 20);
    CHECK_HANDLED(2);
    CHECK_INT(info_of(closure).dropped, 1);
    end_closure(closure);
}
TEST(more_callers_than_room_all_get_their_results, "PERF-4 PERF-7") {
    struct caller callers[6];
    for (uint32_t delivery = TREADLE_DELIVERY_SYNC; delivery <= TREADLE_DELIVERY_RUNNING; delivery++) {
        treadle_closure closure = HERE(.delivery = delivery, .queue_limit = 2);
        for (int32_t i = 0; i < 6; i++) {
            start_caller(&callers[i], closure, i);
            await_blocked(&callers[i]);
        }
        CHECK_INT(info_of(closure).waiting, 2);
        atomic_store(&count, 0);
        while (atomic_load(&count) < 6) CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
        for (int32_t i = 0; i < 6; i++) {
            CHECK_INT(pthread_join(callers[i].thread, NULL), 0);
            CHECK_INT(callers[i].result, i * 10);
        }
        CHECK_INT(info_of(closure).handled, 6);
        CHECK_INT(info_of(closure).waiting, 0);
        end_closure(closure);
    }
}

/* --- Callers that wait for room alone ----------------------------------------------------------------- */

TEST(an_async_caller_waits_for_room, "PERF-4 OBJ-7") {
    struct caller callers[3];
    treadle_closure closure = HERE(.delivery = TREADLE_DELIVERY_ASYNC, .queue_limit = 2);
    CHECK_INT(CODE_OF(one_fn, closure)(1), -5);
    CHECK_INT(CODE_OF(one_fn, closure)(2), -5);
    for (int32_t i = 0; i < 3; i++) {
        start_caller(&callers[i], closure, 3 + i);
        await_blocked(&callers[i]);
    }
    CHECK_INT(info_of(closure).waiting, 2);
    CHECK_INT(count, 0);
    while (atomic_load(&count) < 5) CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(pthread_join(callers[i].thread, NULL), 0);
        CHECK_INT(callers[i].result, -5);
    }
    CHECK_HANDLED(1, 2, 3, 4, 5);
    CHECK_INT(info_of(closure).dropped + info_of(closure).timed_out, 0);
    end_closure(closure);
}
TEST(waiting_for_room_ends_in_time, "PERF-7") {
    struct caller caller;
    treadle_closure closure = HERE(.delivery = TREADLE_DELIVERY_ASYNC, .queue_limit = 1, .timeout_ns = MILLISECONDS(1));
    CHECK_INT(CODE_OF(one_fn, closure)(1), -5);
    start_caller(&caller, closure, 2);
    CHECK_INT(pthread_join(caller.thread, NULL), 0);
    CHECK_INT(caller.result, -5);
    CHECK_INT(caller.error, TREADLE_E_TIMEOUT);
    CHECK_INT(info_of(closure).timed_out, 1);
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_HANDLED(1); /* the other one does not come later */
    end_closure(closure);
}
TEST(the_own_thread_does_not_wait_for_room, "PERF-7") {
    treadle_error_info error = {.struct_size = sizeof error};
    treadle_closure closure = HERE(.delivery = TREADLE_DELIVERY_ASYNC, .queue_limit = 1);
    CHECK_INT(CODE_OF(one_fn, closure)(1), -5);
    CHECK_INT(CODE_OF(one_fn, closure)(2), -5);
    treadle_last_error(&error);
    CHECK_INT(error.code, TREADLE_E_DEADLOCK);
    CHECK_INT(info_of(closure).dropped, 1);
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_HANDLED(1);
    end_closure(closure);
}
TEST(a_shutdown_ends_waiting_for_room, "THR-21") {
    struct caller caller;
    treadle_closure closure = HERE(.delivery = TREADLE_DELIVERY_ASYNC, .queue_limit = 1);
    CHECK_INT(CODE_OF(one_fn, closure)(1), -5);
    start_caller(&caller, closure, 2);
    await_blocked(&caller);
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(pthread_join(caller.thread, NULL), 0);
    CHECK_INT(caller.result, -5);
    CHECK_INT(info_of(closure).dropped, 2);
    end_closure(closure);
}

/* --- All at once ---------------------------------------------------------------------------------------- */

enum { CALLERS = 4 };
struct crowd {
    one_fn code;
    int calls, caller, results;
    bool waits;
};
static void *call_often(void *info) {
    struct crowd *crowd = info;
    for (int i = 0; i < crowd->calls; i++) {
        int32_t value = i * CALLERS + crowd->caller, result = crowd->code(value);
        CHECK(result == -5 || (crowd->waits && result == value * 10));
        crowd->results += result != -5;
    }
    return NULL;
}
TEST(every_call_is_handled_or_counted, "OBJ-6 PERF-4 PERF-8") {
    int calls = scaled(5000);
    for (uint32_t delivery = TREADLE_DELIVERY_ASYNC; delivery <= TREADLE_DELIVERY_RUNNING; delivery++) {
        for (uint32_t on_full = TREADLE_FULL_BLOCK; on_full <= TREADLE_FULL_COALESCE; on_full++) {
            struct worker worker;
            struct crowd crowds[CALLERS];
            pthread_t threads[CALLERS];
            int results = 0, last[CALLERS] = {-1, -1, -1, -1};
            if (on_full == TREADLE_FULL_COALESCE && delivery != TREADLE_DELIVERY_ASYNC) continue;
            watch_reports();
            atomic_store(&reports, 0), atomic_store(&count, 0);
            worker_start(&worker);
            treadle_closure closure = MADE(.signature = "ii", .handler = note, .loop = worker.loop, MINUS, .delivery = delivery,
                                           .queue_limit = 2, .on_full = on_full);
            for (int i = 0; i < CALLERS; i++) {
                crowds[i] = (struct crowd){CODE_OF(one_fn, closure), calls, i, 0, delivery != TREADLE_DELIVERY_ASYNC};
                CHECK_INT(pthread_create(&threads[i], NULL, call_often, &crowds[i]), 0);
            }
            for (int i = 0; i < CALLERS; i++) {
                CHECK_INT(pthread_join(threads[i], NULL), 0);
                results += crowds[i].results;
            }
            CHECK_INT(treadle_closure_close(closure, TREADLE_FOREVER), TREADLE_OK);
            treadle_closure_info info = info_of(closure);
            CHECK_INT(info.handled + info.dropped, CALLERS * calls);
            CHECK_INT(info.handled, count);
            CHECK(info.waiting == 0 && info.failed == 0 && info.timed_out == 0 && info.after_invalidated == 0);
            if (on_full == TREADLE_FULL_BLOCK) CHECK_INT(info.dropped, 0);
            if (delivery != TREADLE_DELIVERY_ASYNC) CHECK_INT(results, info.handled);
            CHECK(reports <= 1);
            for (int i = 0; i < count; i++) { /* each caller's calls in their order */
                int caller = handled[i] % CALLERS;
                CHECK(handled[i] > last[caller]);
                last[caller] = handled[i];
            }
            end_closure(closure);
            worker_stop(&worker);
        }
    }
}

TEST_MAIN()
