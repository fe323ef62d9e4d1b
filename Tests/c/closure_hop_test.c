/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * closure_hop_test.c: closures whose calls are carried to a loop's thread: at once and later, with the result and
 * without, and what becomes of a call that nobody handles. The contract is closure.h. */
#include "closures.h"

typedef int32_t (*sum_fn)(int32_t, int32_t);
static const int32_t minus = -5;
#define MINUS .default_result = &minus, .default_result_size = sizeof minus

/* Adds, on the worker's thread. */
static treadle_status add_there(treadle_call *call, void *info) {
    struct worker *worker = info;
    int32_t sum = *(const int32_t *)call->arguments[0] + *(const int32_t *)call->arguments[1];
    CHECK_INT(thread_id(), worker->thread_id);
    CHECK(call->loop == worker->loop);
    return treadle_call_set_result(call, &sum, sizeof sum);
}

TEST(a_call_hops_and_brings_its_result_back, "PERF-3 PERF-7 OBJ-8") {
    struct worker worker;
    worker_start(&worker);
    for (uint32_t delivery = TREADLE_DELIVERY_SYNC; delivery <= TREADLE_DELIVERY_RUNNING; delivery++) {
        treadle_closure closure = MADE(.signature = "iii", .handler = add_there, .info = &worker, .delivery = delivery,
                                       .loop = worker.loop, MINUS);
        for (int i = 0; i < 1000; i++) CHECK_INT(CODE_OF(sum_fn, closure)(i, 1), i + 1);
        treadle_closure_info info = info_of(closure);
        CHECK_INT(info.handled, 1000);
        CHECK_INT(info.waiting + info.dropped + info.failed + info.timed_out, 0);
        end_closure(closure);
    }
    worker_stop(&worker);
}

/* A handler that fails ends no run. */
static treadle_status fail_there(treadle_call *call, void *info) {
    memset(call->result, 0x5A, 4);
    return (void)info, TREADLE_E_STATE;
}
TEST(a_failed_call_brings_the_default_back, "PERF-11") {
    struct worker worker;
    worker_start(&worker);
    treadle_closure closure = MADE(.signature = "iii", .handler = fail_there, .delivery = TREADLE_DELIVERY_SYNC, .loop = worker.loop, MINUS);
    CHECK_INT(CODE_OF(sum_fn, closure)(1, 2), -5);
    CHECK_INT(CODE_OF(sum_fn, closure)(1, 2), -5);
    CHECK_INT(info_of(closure).failed, 2);
    end_closure(closure);
    worker_stop(&worker);
}

/* Arguments of all sizes, carried by value. */
typedef struct { char text[40]; double real; } large;
static sem_t seen;
static treadle_status see_all(treadle_call *call, void *info) {
    const large *value = call->arguments[1];
    (void)info;
    CHECK(*(const int8_t *)call->arguments[0] == -3 && strcmp(value->text, "carried by value") == 0 && value->real == 0.5);
    CHECK(*(const float *)call->arguments[2] == 1.5f && *(const uint16_t *)call->arguments[3] == 65535);
    CHECK_TEXT(*(const char *const *)call->arguments[4], "copied");
    CHECK(*(const char *const *)call->arguments[5] == NULL);
    CHECK_TEXT(*(const char *const *)call->arguments[6], "");
    CHECK_TEXT(*(const char *const *)call->arguments[7], "kept by the caller");
    sem_post(&seen);
    return TREADLE_OK;
}
static const char kept[] = "kept by the caller";
TEST(arguments_are_carried_by_value, "PERF-8") {
    struct worker worker;
    typedef void (*all_fn)(int8_t, large, float, uint16_t, const char *, const char *, const char *, const char *);
    sem_init(&seen, 0, 0);
    worker_start(&worker);
    treadle_closure closure = MADE(.signature = "vc{large=[40c]d}fSO*rO*O**", .handler = see_all,
                                   .delivery = TREADLE_DELIVERY_ASYNC, .thread = NULL, .loop = worker.loop);
    for (int i = 0; i < 100; i++) {
        large value = {"carried by value", 0.5};
        char text[16] = "copied", empty[1] = "";
        CODE_OF(all_fn, closure)(-3, value, 1.5f, 65535, text, NULL, empty, kept);
        memset(&value, 0x5A, sizeof value), memset(text, 0x5A, sizeof text), empty[0] = 'x';
    }
    for (int i = 0; i < 100; i++) await(&seen);
    end_closure(closure);
    worker_stop(&worker);
}

/* Async calls arrive in their order, and the caller has the default result at once. */
static int32_t order[1000], arrived;
static treadle_status note(treadle_call *call, void *info) {
    order[arrived++] = *(const int32_t *)call->arguments[0];
    if (info && arrived == 1000) sem_post(info);
    return TREADLE_OK;
}
TEST(async_calls_keep_their_order, "PERF-4") {
    struct worker worker;
    sem_init(&seen, 0, 0);
    worker_start(&worker);
    treadle_closure closure = MADE(.signature = "ii", .handler = note, .info = &seen, .delivery = TREADLE_DELIVERY_ASYNC,
                                   .loop = worker.loop, MINUS);
    for (int32_t i = 0; i < 1000; i++) CHECK_INT(CODE_OF(int32_t (*)(int32_t), closure)(i), -5);
    await(&seen);
    for (int32_t i = 0; i < 1000; i++) CHECK_INT(order[i], i);
    end_closure(closure);
    CHECK_INT(arrived, 1000);
    worker_stop(&worker);
}
TEST(oneway_does_not_wait, "PERF-2 PERF-4") {
    treadle_closure closure = MADE(.signature = "Vii", .handler = note, .delivery = TREADLE_DELIVERY_SYNC,
                                   .loop = treadle_loop_current(), MINUS);
    CHECK_INT(CODE_OF(int32_t (*)(int32_t), closure)(7), -5);
    CHECK_INT(arrived, 0); /* queued, though it is this thread's loop */
    CHECK_INT(info_of(closure).waiting, 1);
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(arrived, 1);
    CHECK_INT(order[0], 7);
    end_closure(closure);
}

/* On the loop's own thread there is nobody to wait for. */
static treadle_status see_inline(treadle_call *call, void *info) {
    int32_t result = 11;
    CHECK(call->loop == NULL && thread_id() == *(int32_t *)info);
    return treadle_call_set_result(call, &result, sizeof result);
}
TEST(on_the_own_thread_it_is_handled_inline, "PERF-2") {
    int32_t id = thread_id();
    for (uint32_t delivery = TREADLE_DELIVERY_SYNC; delivery <= TREADLE_DELIVERY_RUNNING; delivery++) {
        treadle_closure closure = MADE(.signature = "i", .handler = see_inline, .info = &id, .delivery = delivery,
                                       .loop = treadle_loop_current(), MINUS);
        CHECK_INT(CODE_OF(int32_t (*)(void), closure)(), 11);
        end_closure(closure);
        closure = MADE(.signature = "i", .handler = see_inline, .info = &id, .delivery = delivery,
                       .thread = treadle_thread_current(), MINUS);
        CHECK_INT(CODE_OF(int32_t (*)(void), closure)(), 11);
        end_closure(closure);
    }
}
TEST(async_on_the_own_thread_waits_for_a_pass, "PERF-2 PERF-6") {
    treadle_closure closure = MADE(.signature = "ii", .handler = note, .delivery = TREADLE_DELIVERY_ASYNC, .loop = treadle_loop_current());
    CHECK_INT(CODE_OF(int32_t (*)(int32_t), closure)(1), 0);
    CHECK_INT(arrived, 0);
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(arrived, 1);
    CHECK_INT(poll_mode(TREADLE_DEFAULT_MODE), TREADLE_RUN_FINISHED);
    end_closure(closure);
}

/* --- Modes ------------------------------------------------------------------------------------------ */

TEST(calls_wait_for_their_modes, "PERF-1 PERF-3 PERF-6") {
    char name[] = "a mode of mine";
    const char *modes[] = {"another", name};
    treadle_closure closure = MADE(.signature = "ii", .handler = note, .delivery = TREADLE_DELIVERY_ASYNC,
                                   .loop = treadle_loop_current(), .modes = modes, .mode_count = 2);
    treadle_closure common = MADE(.signature = "ii", .handler = note, .delivery = TREADLE_DELIVERY_ASYNC, .loop = treadle_loop_current());
    name[0] = 0, modes[0] = NULL; /* they were copied */
    CODE_OF(int32_t (*)(int32_t), closure)(1);
    CODE_OF(int32_t (*)(int32_t), common)(2);
    CHECK_INT(poll_mode("a third mode"), TREADLE_RUN_FINISHED);
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK(arrived == 1 && order[0] == 2);
    CHECK_INT(handle_one("a mode of mine"), TREADLE_RUN_HANDLED_SOURCE);
    CHECK(arrived == 2 && order[1] == 1);
    CODE_OF(int32_t (*)(int32_t), closure)(3);
    CODE_OF(int32_t (*)(int32_t), common)(4);
    CHECK_INT(handle_one("another"), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(handle_one(TREADLE_CALL_MODE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK(arrived == 4 && order[2] == 3 && order[3] == 4);
    end_closure(closure);
    end_closure(common);
}

/* --- Waits that do not get what they wait for -------------------------------------------------------- */

struct caller {
    any_code code;
    int32_t result;
    treadle_status error; /* the last one, after the call */
    pthread_t thread;
    atomic_int id;
};
static void *call_sum(void *info) {
    struct caller *caller = info;
    treadle_error_info error = {.struct_size = sizeof error};
    atomic_store(&caller->id, thread_id());
    caller->result = ((sum_fn)caller->code)(1, 2);
    treadle_last_error(&error);
    caller->error = error.code;
    return NULL;
}
static void start_caller(struct caller *caller, treadle_closure closure) {
    *caller = (struct caller){.code = code_of(closure)};
    CHECK_INT(pthread_create(&caller->thread, NULL, call_sum, caller), 0);
}

static treadle_status never(treadle_call *call, void *info) {
    (void)call, (void)info;
    CHECK(!"called");
    return TREADLE_OK;
}
TEST(a_timeout_ends_the_wait, "PERF-7") {
    struct caller caller;
    atomic_int destroyed = 0;
    for (uint32_t delivery = TREADLE_DELIVERY_SYNC; delivery <= TREADLE_DELIVERY_RUNNING; delivery++) {
        treadle_closure closure = MADE(.signature = "iii", .handler = never, .info = &destroyed, .destroy = count_up, .delivery = delivery,
                                       .loop = treadle_loop_current(), .timeout_ns = MILLISECONDS(1), MINUS);
        start_caller(&caller, closure);
        CHECK_INT(pthread_join(caller.thread, NULL), 0);
        CHECK_INT(caller.result, -5);
        CHECK_INT(caller.error, TREADLE_E_TIMEOUT);
        CHECK_INT(info_of(closure).timed_out, 1);
        CHECK_INT(info_of(closure).waiting, 0);
        CHECK_INT(info_of(closure).dropped, 0);
        CHECK_INT(poll_mode(TREADLE_DEFAULT_MODE), TREADLE_RUN_FINISHED); /* it was taken out */
        CHECK_INT(treadle_closure_invalidate(closure), TREADLE_OK);
        CHECK_INT(destroyed, (int)delivery - 1);
        end_closure(closure);
    }
}

/* The handler outlasts the caller's patience; its arguments and result are not the caller's. */
static sem_t begun, go_on;
static treadle_status slow(treadle_call *call, void *info) {
    int32_t sum = 0;
    (void)info;
    sem_post(&begun);
    await(&go_on);
    CHECK(*(const int32_t *)call->arguments[0] == 1 && *(const int32_t *)call->arguments[1] == 2);
    sum = 3;
    return treadle_call_set_result(call, &sum, sizeof sum);
}
TEST(a_running_call_goes_on_after_a_timeout, "PERF-7 PERF-8") {
    struct worker worker;
    struct caller caller;
    atomic_int destroyed = 0;
    sem_init(&begun, 0, 0), sem_init(&go_on, 0, 0);
    worker_start(&worker);
    treadle_closure closure = MADE(.signature = "iii", .handler = slow, .info = &destroyed, .destroy = count_up,
                                   .delivery = TREADLE_DELIVERY_SYNC, .loop = worker.loop, .timeout_ns = MILLISECONDS(1), MINUS);
    start_caller(&caller, closure);
    CHECK_INT(pthread_join(caller.thread, NULL), 0);
    CHECK_INT(caller.result, -5);
    if (info_of(closure).waiting == 0 && sem_trywait(&begun) == 0) { /* else the machine was too slow to begin it */
        CHECK_INT(treadle_closure_invalidate(closure), TREADLE_OK);
        CHECK_INT(destroyed, 0);
        CHECK_ERROR(treadle_closure_close(closure, 0), TREADLE_E_TIMEOUT, "timeout_ns");
        sem_post(&go_on);
        CHECK_INT(treadle_closure_close(closure, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(destroyed, 1);
        CHECK_INT(info_of(closure).handled, 1);
    }
    CHECK_INT(info_of(closure).timed_out, 1);
    end_closure(closure);
    worker_stop(&worker);
}

/* A thread that waits runs its loop meanwhile, and ends in there: its call is nobody's any more. */
static void leave(void *info) {
    atomic_store((atomic_int *)info, 1);
    pthread_exit(NULL);
}
static void *wait_and_leave(void *info) {
    struct caller *caller = info;
    ((sum_fn)caller->code)(1, 2);
    CHECK(!"it has ended");
    return NULL;
}
TEST(a_waiting_thread_may_end, "PERF-9 RL-8") {
    struct worker worker;
    struct caller caller;
    atomic_int destroyed = 0, left = 0;
    treadle_loop loop = NULL;
    sem_init(&begun, 0, 0), sem_init(&go_on, 0, 0);
    worker_start(&worker);
    treadle_closure closure = MADE(.signature = "iii", .handler = slow, .info = &destroyed, .destroy = count_up,
                                   .delivery = TREADLE_DELIVERY_RUNNING, .loop = worker.loop, MINUS);
    caller = (struct caller){.code = code_of(closure)};
    CHECK_INT(pthread_create(&caller.thread, NULL, wait_and_leave, &caller), 0);
    await(&begun); /* so its loop is there */
    while (!loop) {
        DIR *tasks = opendir("/proc/self/task");
        CHECK(tasks);
        for (struct dirent *task; (task = readdir(tasks));) {
            int32_t id = atoi(task->d_name);
            if (id > 0 && id != getpid() && id != worker.thread_id) (void)treadle_loop_copy_of_thread(id, &loop);
        }
        closedir(tasks);
    }
    treadle_post block = {.struct_size = sizeof block, .fn = leave, .info = &left};
    const char *modes[] = {TREADLE_CALL_MODE};
    block.modes = modes, block.mode_count = 1;
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    CHECK_INT(treadle_loop_wake(loop), TREADLE_OK);
    CHECK_INT(pthread_join(caller.thread, NULL), 0);
    CHECK_INT(left, 1);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(treadle_closure_invalidate(closure), TREADLE_OK);
    CHECK_INT(destroyed, 0); /* the call goes on */
    sem_post(&go_on);
    CHECK_INT(treadle_closure_close(closure, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(destroyed, 1);
    CHECK_INT(info_of(closure).handled, 1);
    end_closure(closure);
    worker_stop(&worker);
}

/* --- Cycles ------------------------------------------------------------------------------------------ */

TEST(closing_what_waits_for_the_caller_is_refused, "PERF-7 OBJ-9") {
    atomic_int destroyed = 0;
    treadle_closure closure = MADE(.signature = "ii", .handler = note, .info = NULL, .delivery = TREADLE_DELIVERY_ASYNC, .loop = treadle_loop_current());
    treadle_closure other = MADE(.signature = "i", .handler = never, .info = &destroyed, .destroy = count_up,
                                 .delivery = TREADLE_DELIVERY_ASYNC, .loop = treadle_loop_current());
    CODE_OF(int32_t (*)(int32_t), closure)(1);
    CHECK_ERROR(treadle_closure_close(closure, TREADLE_FOREVER), TREADLE_E_DEADLOCK, "closure");
    CHECK_INT(info_of(closure).state, TREADLE_CLOSURE_INVALIDATED);
    CHECK_INT(CODE_OF(int32_t (*)(int32_t), closure)(2), 0);
    CHECK_INT(handle_one(TREADLE_DEFAULT_MODE), TREADLE_RUN_HANDLED_SOURCE); /* the call that had begun is handled */
    CHECK_INT(arrived, 1);
    CHECK_INT(info_of(closure).state, TREADLE_CLOSURE_DRAINED);
    end_closure(closure);
    end_closure(other);
    CHECK_INT(destroyed, 1);
}

TEST_MAIN()
