/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * errno_test.c: errno travels with what is called on another thread, both ways, and disturbs nobody there. The contract is
 * perform.h, invocation.h and closure.h. */
#include "closures.h"
#include "invocations.h"

enum { CALLERS = 1001, FUNCTIONS = 2002, THREADS = 3003 };

/* What the function found, and what its thread finds before and after it. */
static atomic_int found;
static void exchange(void) {
    atomic_store(&found, errno);
    errno = FUNCTIONS;
}
static void perform_exchange(void *target, void *argument) {
    (void)target, (void)argument;
    exchange();
}
static int32_t call_exchange(int32_t value) {
    exchange();
    return value;
}
static treadle_status handle_exchange(treadle_call *call, void *info) {
    (void)info;
    exchange();
    return treadle_call_set_result(call, call->arguments[0], sizeof(int32_t));
}
static void set_threads(void *target, void *argument) { (void)target, (void)argument, errno = THREADS; }
static void check_threads(void *target, void *argument) {
    (void)target, (void)argument;
    CHECK(errno != CALLERS && errno != FUNCTIONS); /* the loop's own calls of the kernel may have changed it since */
}
static treadle_status perform_there(treadle_loop loop, treadle_request_fn fn, uint32_t flags) {
    treadle_request request = {.struct_size = sizeof request, .fn = fn, .flags = flags};
    return treadle_perform(loop, &request);
}

/* The thread has a value of its own, and has it still when it has called for others. */
static struct worker worker;
static void begin(void) {
    worker_start(&worker);
    CHECK_INT(perform_there(worker.loop, set_threads, 0), TREADLE_OK);
}
static void end(void) {
    CHECK_INT(perform_there(worker.loop, check_threads, 0), TREADLE_OK);
    worker_stop(&worker);
}
/* One call, between two looks at errno. */
#define CHECK_EXCHANGE(call, expected, after) \
    do {                                      \
        atomic_store(&found, 0);              \
        errno = CALLERS;                      \
        int64_t result__ = (call);            \
        int left__ = errno;                   \
        CHECK_INT(result__, expected);        \
        CHECK_INT(atomic_load(&found), CALLERS); \
        CHECK_INT(left__, after);             \
    } while (0)

TEST(errno_travels_with_a_request, "PERF-7") {
    begin();
    treadle_loop own = treadle_loop_current();
    for (int i = 0; i < 100; i++) {
        CHECK_EXCHANGE(perform_there(worker.loop, perform_exchange, TREADLE_PERFORM_WAIT), TREADLE_OK, FUNCTIONS);
        CHECK_EXCHANGE(perform_there(own, perform_exchange, TREADLE_PERFORM_WAIT), TREADLE_OK, FUNCTIONS);
    }
    end();
}

TEST(errno_travels_with_an_invocation, "PERF-7") {
    begin();
    treadle_invocation invocation = INVOCATION(call_exchange, "ii");
    treadle_loop loops[] = {worker.loop, treadle_loop_current(), NULL};
    INVOCATION_SET(invocation, 0, int32_t, 7);
    int32_t error = -1;
    CHECK_ERROR(treadle_invocation_get_errno(invocation, &error), TREADLE_E_STATE, "invocation");
    CHECK_INT(error, 0);
    for (uint32_t wait = TREADLE_WAIT_BLOCK; wait <= TREADLE_WAIT_RUNNING; wait++) {
        for (size_t i = 0; i < COUNT(loops); i++) {
            CHECK_EXCHANGE(invoke(invocation, loops[i], wait), TREADLE_OK, FUNCTIONS);
            CHECK_INT(treadle_invocation_get_errno(invocation, &error), TREADLE_OK);
            CHECK_INT(error, FUNCTIONS);
            CHECK_INT(INVOCATION_RESULT(invocation, int32_t), 7);
        }
    }
    CHECK_ERROR(treadle_invocation_get_errno(invocation, NULL), TREADLE_E_ARG, "out_errno");
    CHECK_ERROR(treadle_invocation_get_errno(NULL, &error), TREADLE_E_ARG, "invocation");
    invocation_end(invocation);
    end();
}

TEST(errno_is_kept_for_who_asks_later, "PERF-7") {
    begin();
    treadle_invocation invocation = INVOCATION(call_exchange, "ii");
    struct completion completion;
    completion_make(&completion, invocation);
    treadle_request request = completion_request(&completion);
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = worker.loop, .completion = &request,
                                          .completion_loop = worker.loop};
    errno = CALLERS;
    CHECK_INT(treadle_invocation_perform(invocation, &options), TREADLE_OK);
    await(&completion.done);
    int32_t error = -1;
    CHECK_INT(treadle_invocation_get_errno(invocation, &error), TREADLE_OK);
    CHECK_INT(error, FUNCTIONS);
    CHECK_INT(atomic_load(&found), CALLERS);
    invocation_end(invocation);
    end();
}

typedef int32_t (*same_fn)(int32_t);
TEST(errno_travels_with_a_closures_call, "PERF-7") {
    begin();
    treadle_loop loops[] = {worker.loop, treadle_loop_current()};
    for (uint32_t delivery = TREADLE_DELIVERY_SYNC; delivery <= TREADLE_DELIVERY_RUNNING; delivery++) {
        for (size_t i = 0; i < COUNT(loops); i++) {
            treadle_closure closure = MADE(.signature = "ii", .handler = handle_exchange, .delivery = delivery, .loop = loops[i]);
            for (int32_t value = 0; value < 100; value++) {
                CHECK_EXCHANGE(CODE_OF(same_fn, closure)(value), value, FUNCTIONS);
            }
            end_closure(closure);
        }
    }
    treadle_closure closure = MADE(.signature = "ii", .handler = handle_exchange, .delivery = TREADLE_DELIVERY_INLINE);
    CHECK_EXCHANGE(CODE_OF(same_fn, closure)(5), 5, FUNCTIONS);
    end_closure(closure);
    closure = MADE(.signature = "ii", .handler = handle_exchange, .delivery = TREADLE_DELIVERY_ASYNC, .loop = worker.loop);
    same_fn code = CODE_OF(same_fn, closure);
    atomic_store(&found, 0);
    errno = CALLERS;
    code(5);
    CHECK_INT(errno, CALLERS);
    end_closure(closure);
    CHECK_INT(atomic_load(&found), CALLERS);
    end();
}

TEST_MAIN()
