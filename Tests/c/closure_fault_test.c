/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * closure_fault_test.c: memory is refused at each place where a closure or a call of one asks for it: nothing is lost,
 * callers get the default result, and the next attempt succeeds. */
#include "faults.h"

#ifndef SANITIZED
#include "closures.h"

typedef int32_t (*text_fn)(const char *);
static const int32_t minus = -5;
static atomic_int destroyed, calls;
static treadle_status measure(treadle_call *call, void *info) {
    int32_t length = (int32_t)strlen(*(const char *const *)call->arguments[0]);
    (void)info;
    atomic_fetch_add(&calls, 1);
    return treadle_call_set_result(call, &length, sizeof length);
}
static treadle_closure_config plan_of(uint32_t delivery, treadle_loop loop) {
    return CLOSURE_CONFIG(.signature = "iO*", .handler = measure, .info = &destroyed, .destroy = count_up, .delivery = delivery,
                          .loop = loop, .default_result = &minus, .default_result_size = sizeof minus);
}

TEST(closures_without_memory, "OBJ-3") {
    static const char *const modes[] = {"one", "another"};
    treadle_loop loop = treadle_loop_current();
    if (!have_memory_faults()) return;
    for (uint32_t delivery = TREADLE_DELIVERY_INLINE; delivery <= TREADLE_DELIVERY_ASYNC; delivery++) {
        treadle_closure_config plan = plan_of(delivery, delivery ? loop : NULL);
        if (delivery) plan.modes = modes, plan.mode_count = 2;
        for (int n = 1;; n++) {
            char signature[32];
            treadle_closure closure = (treadle_closure)&plan;
            int before = destroyed;
            snprintf(signature, sizeof signature, "iO*{=[%d%c]}", n, delivery ? 'i' : 'c'); /* a new one each time */
            plan.signature = signature;
            arm(FAULT_MEMORY | FAULT_PAGES, ENOMEM, n, false);
            treadle_status status = treadle_closure_create(&plan, &closure);
            bool is_over = disarm() == 0;
            if (status == TREADLE_OK) CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
            else CHECK(closure == NULL);
            CHECK_INT(destroyed, before + 1);
            CHECK_INT(pool_info().used, 0);
            CHECK_INT(status, is_over ? TREADLE_OK : TREADLE_E_NOMEM);
            if (!is_over) continue;
            CHECK(n > (delivery ? 4 : 2));
            break;
        }
    }
}

TEST(calls_without_memory, "OBJ-3 PERF-8") {
    treadle_loop loop = treadle_loop_current();
    if (!have_memory_faults()) return;
    for (int coalesces = 0; coalesces < 2; coalesces++) {
        treadle_closure_config plan = plan_of(TREADLE_DELIVERY_ASYNC, loop);
        plan.queue_limit = 1;
        plan.on_full = coalesces ? TREADLE_FULL_COALESCE : TREADLE_FULL_DROP_NEWEST;
        treadle_closure closure = made_of(plan);
        text_fn code = CODE_OF(text_fn, closure);
        if (coalesces) CHECK_INT(code("the first"), -5);
        for (int n = 1;; n++) {
            uint64_t before = info_of(closure).dropped;
            arm(FAULT_MEMORY | FAULT_PAGES, ENOMEM, n, false);
            CHECK_INT(code("a text"), -5);
            if (disarm() == 0) {
                CHECK(n > 1);
                break;
            }
            CHECK_INT(info_of(closure).dropped, before + 1);
            CHECK_INT(info_of(closure).waiting, coalesces);
        }
        CHECK_INT(info_of(closure).waiting, 1);
        CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
        CHECK_INT(info_of(closure).handled, 1);
        end_closure(closure);
    }
    CHECK_INT(calls, 2);
}

/* A caller that waits: on a new thread each time, whose own objects are refused too. */
static text_fn waiting_code;
static int failing, refused;
static void *call_and_wait(void *info) {
    treadle_error_info error = {.struct_size = sizeof error};
    arm(FAULT_MEMORY | FAULT_PAGES, ENOMEM, failing, false);
    int32_t result = waiting_code("a text");
    refused = disarm();
    CHECK_INT(result, refused ? -5 : 6);
    treadle_last_error(&error);
    if (refused) CHECK_INT(error.code, TREADLE_E_NOMEM);
    return info;
}
TEST(waiting_calls_without_memory, "OBJ-3 PERF-7") {
    struct worker worker;
    if (!have_memory_faults()) return;
    worker_start(&worker);
    for (uint32_t delivery = TREADLE_DELIVERY_SYNC; delivery <= TREADLE_DELIVERY_RUNNING; delivery++) {
        treadle_closure closure = made_of(plan_of(delivery, worker.loop));
        waiting_code = CODE_OF(text_fn, closure);
        for (failing = 1, refused = 1; refused; failing++) on_thread(call_and_wait, NULL);
        CHECK(failing > 2);
        CHECK_INT(info_of(closure).waiting, 0);
        end_closure(closure);
    }
    worker_stop(&worker);
}
#endif

TEST_MAIN()
