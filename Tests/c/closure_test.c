/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * closure_test.c: closures that are handled by the calling thread: arguments and results, what is counted, how they
 * end. The contract is closure.h. */
#include "closures.h"

typedef int32_t (*sum_fn)(int32_t, int32_t);
typedef struct { double x, y, z; } point;
typedef point (*point_fn)(point, double);

/* Adds two integers, by the functions that check. info: how often. */
static treadle_status add(treadle_call *call, void *info) {
    int32_t a, b;
    CHECK_INT(treadle_call_get_argument(call, 0, &a, sizeof a), TREADLE_OK);
    CHECK_INT(treadle_call_get_argument(call, 1, &b, sizeof b), TREADLE_OK);
    int32_t sum = a + b;
    CHECK_INT(treadle_call_set_result(call, &sum, sizeof sum), TREADLE_OK);
    if (info) atomic_fetch_add((atomic_int *)info, 1);
    return TREADLE_OK;
}

TEST(a_call_is_handled_inline, "OBJ-2 OBJ-8") {
    atomic_int calls = 0;
    treadle_closure closure = MADE(.signature = "iii", .handler = add, .info = &calls);
    CHECK_INT(CODE_OF(sum_fn, closure)(2, 40), 42);
    CHECK_INT(CODE_OF(sum_fn, closure)(-2, 1), -1);
    CHECK_INT(calls, 2);
    treadle_closure_info info = info_of(closure);
    CHECK_INT(info.state, TREADLE_CLOSURE_ACTIVE);
    CHECK_INT(info.handled, 2);
    CHECK(info.failed == 0 && info.dropped == 0 && info.timed_out == 0 && info.after_invalidated == 0 && info.waiting == 0);
    end_closure(closure);
}

/* What a handler is told. */
static treadle_status look(treadle_call *call, void *info) {
    treadle_signature signature = NULL;
    CHECK(is_size(call->struct_size, sizeof *call) && call->reserved == 0 && call->loop == NULL);
    CHECK(call->closure == *(treadle_closure *)info && call->argument_count == 3);
    CHECK_INT(treadle_signature_parse("d{point=ddd}cd", &signature), TREADLE_OK);
    CHECK(call->signature == signature);
    const point *value = call->arguments[0];
    CHECK(value->x == 1.5 && value->y == -2 && value->z == 1e300);
    CHECK(*(const int8_t *)call->arguments[1] == -7 && *(const double *)call->arguments[2] == 0.25);
    CHECK(*(double *)call->result == 9.5); /* the default */
    *(double *)call->result = value->x;
    return TREADLE_OK;
}
TEST(a_handler_may_read_and_write_directly, "") {
    double otherwise = 9.5;
    treadle_closure closure;
    closure = MADE(.signature = "d{point=ddd}cd", .handler = look, .info = &closure, .default_result = &otherwise,
                   .default_result_size = sizeof otherwise);
    CHECK(CODE_OF(double (*)(point, int8_t, double), closure)((point){1.5, -2, 1e300}, -7, 0.25) == 1.5);
    end_closure(closure);
}

/* Sets a result and says that it has failed. */
static treadle_status spoil(treadle_call *call, void *info) {
    memset(call->result, 0x5A, *(size_t *)info);
    return TREADLE_E_STATE;
}
static treadle_status spoil_kindly(treadle_call *call, void *info) { return spoil(call, info), TREADLE_IGNORED; }
TEST(a_failed_call_gets_the_default_result, "") {
    size_t size = 4;
    int32_t minus = -5;
    treadle_closure closure = MADE(.signature = "iii", .handler = spoil, .info = &size, .default_result = &minus, .default_result_size = 4);
    CHECK_INT(CODE_OF(sum_fn, closure)(1, 2), -5);
    CHECK_INT(info_of(closure).failed, 1);
    end_closure(closure);
    closure = MADE(.signature = "iii", .handler = spoil_kindly, .info = &size);
    CHECK_INT(CODE_OF(sum_fn, closure)(1, 2), 0);
    CHECK_INT(info_of(closure).failed, 1);
    CHECK_INT(info_of(closure).handled, 0);
    end_closure(closure);
    size = sizeof(point);
    point otherwise = {1, 2, 3};
    closure = MADE(.signature = "{p=ddd}{p=ddd}d", .handler = spoil, .info = &size, .default_result = &otherwise,
                   .default_result_size = sizeof otherwise);
    point result = CODE_OF(point_fn, closure)((point){7, 8, 9}, 1);
    CHECK(result.x == 1 && result.y == 2 && result.z == 3);
    end_closure(closure);
}

static treadle_status do_nothing(treadle_call *call, void *info) { return (void)call, (void)info, TREADLE_OK; }
TEST(a_result_that_is_not_set_is_the_default, "") {
    int8_t minus = -1;
    treadle_closure closure = MADE(.signature = "c", .handler = do_nothing, .default_result = &minus, .default_result_size = 1);
    CHECK_INT(CODE_OF(int8_t (*)(void), closure)(), -1);
    CHECK_INT(CODE_OF(int32_t (*)(void), closure)(), -1); /* as C's callers may read the register */
    end_closure(closure);
}
static treadle_status see_no_result(treadle_call *call, void *info) {
    CHECK(call->result == NULL && call->argument_count == 0);
    CHECK_INT(treadle_call_set_result(call, NULL, 0), TREADLE_OK);
    atomic_fetch_add((atomic_int *)info, 1);
    return TREADLE_OK;
}
TEST(a_closure_may_return_nothing, "") {
    atomic_int calls = 0;
    treadle_closure closure = MADE(.signature = "v", .handler = see_no_result, .info = &calls);
    code_of(closure)();
    CHECK_INT(calls, 1);
    end_closure(closure);
    code_of(MADE(.signature = "v", .handler = do_nothing))(); /* never released: no leak, the pool knows it */
}

/* A library without a pointer for its user. */
static treadle_status compare(treadle_call *call, void *info) {
    const int *a = *(const int *const *)call->arguments[0], *b = *(const int *const *)call->arguments[1];
    int direction = *(int *)info, result = direction * ((*a > *b) - (*a < *b));
    return treadle_call_set_result(call, &result, sizeof result);
}
TEST(qsort_sorts_by_closures, "") {
    int up = 1, down = -1, values[1000];
    treadle_closure rising = MADE(.signature = "ir^ir^i", .handler = compare, .info = &up);
    treadle_closure falling = MADE(.signature = "i^i^i", .handler = compare, .info = &down);
    CHECK(code_of(rising) != code_of(falling));
    for (int i = 0; i < 1000; i++) values[i] = i * 7919 % 1000;
    qsort(values, 1000, sizeof *values, CODE_OF(int (*)(const void *, const void *), rising));
    for (int i = 0; i < 1000; i++) CHECK_INT(values[i], i);
    qsort(values, 1000, sizeof *values, CODE_OF(int (*)(const void *, const void *), falling));
    for (int i = 0; i < 1000; i++) CHECK_INT(values[i], 999 - i);
    int wanted = 417, *found = bsearch(&wanted, values, 1000, sizeof *values, CODE_OF(int (*)(const void *, const void *), falling));
    CHECK(found == &values[999 - 417]);
    end_closure(rising);
    end_closure(falling);
}

/* --- Ends ------------------------------------------------------------------------------------------- */

TEST(a_retired_pointer_returns_the_default, "OBJ-5 THR-19") {
    atomic_int destroyed = 0;
    point otherwise = {1, 2, 3};
    watch_reports();
    treadle_closure closure = MADE(.signature = "{p=ddd}{p=ddd}d", .handler = do_nothing, .info = &destroyed, .destroy = count_up,
                                   .default_result = &otherwise, .default_result_size = sizeof otherwise);
    point_fn code = CODE_OF(point_fn, closure);
    memset(&otherwise, 0, sizeof otherwise); /* it was copied */
    CHECK(treadle_closure_is_valid(closure));
    CHECK_INT(treadle_closure_invalidate(closure), TREADLE_OK);
    CHECK_INT(destroyed, 1);
    CHECK_INT(treadle_closure_invalidate(closure), TREADLE_OK);
    CHECK(!treadle_closure_is_valid(closure));
    CHECK_INT(destroyed, 1);
    uint64_t before = pool_info().after_invalidated;
    for (int i = 0; i < 5; i++) {
        point result = code((point){9, 9, 9}, 9);
        CHECK(result.x == 1 && result.y == 2 && result.z == 3);
    }
    CHECK_INT(reports, 1);
    CHECK(strstr(report_text, "retired"));
    CHECK(code_of(closure) == (any_code)code);
    treadle_closure_info info = info_of(closure);
    CHECK_INT(info.state, TREADLE_CLOSURE_DRAINED);
    CHECK_INT(info.after_invalidated, 5);
    CHECK_INT(pool_info().after_invalidated - before, 5);
    CHECK_INT(info.handled, 0);
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    CHECK_ERROR(treadle_closure_release(closure), TREADLE_E_STALE, "object");
    CHECK(code((point){9, 9, 9}, 9).z == 3); /* for ever */
    CHECK_INT(reports, 1);
    CHECK_INT(destroyed, 1);
}

TEST(the_last_release_retires, "OBJ-2 OBJ-4") {
    atomic_int destroyed = 0;
    treadle_closure closure = MADE(.signature = "iii", .handler = add, .info = NULL, .destroy = NULL);
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    closure = MADE(.signature = "i", .handler = do_nothing, .info = &destroyed, .destroy = count_up);
    CHECK_INT(treadle_closure_retain(closure), TREADLE_OK);
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    CHECK_INT(destroyed, 0);
    CHECK_INT(info_of(closure).state, TREADLE_CLOSURE_ACTIVE);
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    CHECK_INT(destroyed, 1);
    CHECK_ERROR(treadle_closure_retain(closure), TREADLE_E_STALE, "object");
}

/* What handlers do with their own closure. */
struct own {
    treadle_closure closure;
    any_code code;
    atomic_int destroyed;
    int depth;
};
static void own_destroyed(void *info) { atomic_fetch_add(&((struct own *)info)->destroyed, 1); }
static treadle_status retire_own(treadle_call *call, void *info) {
    struct own *own = info;
    int32_t seven = 7;
    CHECK_INT(treadle_closure_invalidate(call->closure), TREADLE_OK);
    CHECK_INT(info_of(call->closure).state, TREADLE_CLOSURE_INVALIDATED);
    CHECK_INT(((sum_fn)own->code)(1, 1), 0); /* begins after it was retired */
    CHECK_INT(own->destroyed, 0);
    return treadle_call_set_result(call, &seven, sizeof seven);
}
static treadle_status close_own(treadle_call *call, void *info) {
    int32_t eight = 8;
    CHECK_INT(treadle_closure_close(call->closure, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(((struct own *)info)->destroyed, 0);
    return treadle_call_set_result(call, &eight, sizeof eight);
}
static treadle_status release_own(treadle_call *call, void *info) {
    int32_t nine = 9;
    CHECK_INT(treadle_closure_release(((struct own *)info)->closure), TREADLE_OK);
    CHECK_INT(info_of(call->closure).state, TREADLE_CLOSURE_INVALIDATED); /* held by the call */
    CHECK_INT(((struct own *)info)->destroyed, 0);
    return treadle_call_set_result(call, &nine, sizeof nine);
}
TEST(a_handler_may_end_its_own_closure, "OBJ-3 OBJ-7") {
    treadle_closure_fn const handlers[] = {retire_own, close_own, release_own};
    watch_reports();
    for (int i = 0; i < 3; i++) {
        struct own own = {0};
        own.closure = MADE(.signature = "iii", .handler = handlers[i], .info = &own, .destroy = own_destroyed);
        own.code = code_of(own.closure);
        CHECK_INT(((sum_fn)own.code)(1, 2), 7 + i);
        CHECK_INT(own.destroyed, 1);
        CHECK_INT(((sum_fn)own.code)(1, 2), 0);
        if (i == 2) CHECK_ERROR(treadle_closure_retain(own.closure), TREADLE_E_STALE, "object");
        else end_closure(own.closure);
        CHECK_INT(own.destroyed, 1);
    }
}

/* 0 + 1 + ... + n by calls of itself, retired at the bottom: all calls that have begun are handled. */
static treadle_status recurse(treadle_call *call, void *info) {
    struct own *own = info;
    int32_t n = *(const int32_t *)call->arguments[0], result = 0;
    if (n > 0) result = n + ((int32_t (*)(int32_t))own->code)(n - 1);
    else CHECK_INT(treadle_closure_invalidate(own->closure), TREADLE_OK);
    CHECK_INT(own->destroyed, 0);
    return treadle_call_set_result(call, &result, sizeof result);
}
TEST(calls_that_have_begun_are_handled, "OBJ-3") {
    struct own own = {0};
    own.closure = MADE(.signature = "ii", .handler = recurse, .info = &own, .destroy = own_destroyed);
    own.code = code_of(own.closure);
    CHECK_INT(((int32_t (*)(int32_t))own.code)(50), 50 * 51 / 2);
    CHECK_INT(own.destroyed, 1);
    CHECK_INT(info_of(own.closure).handled, 51);
    CHECK_INT(treadle_closure_release(own.closure), TREADLE_OK);
}

/* A call that lasts until it is told. */
static sem_t begun, go_on;
static atomic_int ended;
static treadle_status last(treadle_call *call, void *info) {
    (void)call, (void)info;
    sem_post(&begun);
    await(&go_on);
    atomic_store(&ended, 1);
    return TREADLE_OK;
}
static void *call_it(void *code) { return ((any_code)code)(), NULL; }
static void *close_it(void *closure) { return (void *)(intptr_t)treadle_closure_close(closure, TREADLE_FOREVER); }
TEST(close_waits_for_the_last_call, "OBJ-7 OBJ-9") {
    atomic_int destroyed = 0;
    pthread_t caller, closer;
    void *result;
    sem_init(&begun, 0, 0), sem_init(&go_on, 0, 0);
    treadle_closure closure = MADE(.signature = "v", .handler = last, .info = &destroyed, .destroy = count_up);
    CHECK_INT(pthread_create(&caller, NULL, call_it, (void *)code_of(closure)), 0);
    await(&begun);
    CHECK_ERROR(treadle_closure_close(closure, 0), TREADLE_E_TIMEOUT, "timeout_ns");
    CHECK_ERROR(treadle_closure_close(closure, MILLISECONDS(1)), TREADLE_E_TIMEOUT, "timeout_ns");
    CHECK_INT(info_of(closure).state, TREADLE_CLOSURE_INVALIDATED);
    CHECK_INT(destroyed, 0);
    CHECK_INT(treadle_closure_invalidate(closure), TREADLE_OK);
    CHECK_INT(pthread_create(&closer, NULL, close_it, closure), 0);
    sem_post(&go_on);
    CHECK_INT(pthread_join(closer, &result), 0);
    CHECK_INT((intptr_t)result, TREADLE_OK);
    CHECK_INT(destroyed, 1);
    CHECK_INT(pthread_join(caller, NULL), 0);
    CHECK_INT(info_of(closure).handled, 1);
    end_closure(closure);
}

/* A thread that Treadle has never seen, and after it a process that was shut down. */
static void *add_on_thread(void *code) { return (void *)(intptr_t)((sum_fn)code)(20, 22); }
TEST(any_thread_may_call, "OBJ-6 OBJ-8") {
    treadle_closure closure = MADE(.signature = "iii", .handler = add);
    CHECK_INT((intptr_t)on_thread(add_on_thread, (void *)code_of(closure)), 42);
    end_closure(closure);
}
TEST(after_a_shutdown_no_handler_is_called, "THR-21") {
    int32_t minus = -5;
    atomic_int calls = 0, destroyed = 0;
    treadle_closure closure = MADE(.signature = "iii", .handler = add, .info = &calls, .default_result = &minus, .default_result_size = 4);
    treadle_closure other = MADE(.signature = "iii", .handler = add, .info = &destroyed, .destroy = count_up);
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(CODE_OF(sum_fn, closure)(1, 2), -5);
    CHECK_INT(calls, 0);
    CHECK_INT(info_of(closure).dropped, 1);
    CHECK_INT(treadle_closure_invalidate(other), TREADLE_OK);
    CHECK_INT(destroyed, 1);
    end_closure(closure);
}
static void *shut_down(void *unused) {
    CHECK(treadle_shutdown(TREADLE_FOREVER) >= TREADLE_OK); /* ignored if the handler was faster */
    CHECK_INT(atomic_load(&ended), 1);
    return unused;
}
TEST(a_shutdown_waits_for_handlers, "THR-21") {
    pthread_t caller, stopper;
    sem_init(&begun, 0, 0), sem_init(&go_on, 0, 0);
    treadle_closure closure = MADE(.signature = "v", .handler = last);
    CHECK_INT(pthread_create(&caller, NULL, call_it, (void *)code_of(closure)), 0);
    await(&begun);
    CHECK_ERROR(treadle_shutdown(0), TREADLE_E_TIMEOUT, "timeout_ns");
    CHECK_INT(pthread_create(&stopper, NULL, shut_down, NULL), 0);
    sem_post(&go_on);
    CHECK_INT(pthread_join(stopper, NULL), 0);
    CHECK_INT(pthread_join(caller, NULL), 0);
    end_closure(closure);
}

TEST_MAIN()
