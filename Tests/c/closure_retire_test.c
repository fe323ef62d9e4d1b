/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * closure_retire_test.c: retiring a closure while several threads call it: each call is handled or gets the default
 * result, none is lost, and each info is destroyed once, after the last. The contract is closure.h. */
#include "closures.h"

typedef int64_t (*twice_fn)(int64_t, double);
enum { CALLERS = 4, ROUNDS = 50 };

struct info {
    atomic_int handled, destroyed, inside;
};
static treadle_status twice(treadle_call *call, void *memory) {
    struct info *info = memory;
    atomic_fetch_add(&info->inside, 1);
    CHECK_INT(atomic_load(&info->destroyed), 0);
    int64_t value = *(const int64_t *)call->arguments[0], result = value * 2;
    CHECK(*(const double *)call->arguments[1] == (double)value);
    atomic_fetch_add(&info->handled, 1);
    atomic_fetch_sub(&info->inside, 1);
    return treadle_call_set_result(call, &result, sizeof result);
}
static void destroy(void *memory) {
    struct info *info = memory;
    CHECK_INT(atomic_load(&info->inside), 0);
    CHECK_INT(atomic_fetch_add(&info->destroyed, 1), 0);
}

struct caller {
    twice_fn code;
    int64_t handled, late, dropped;
    pthread_t thread;
};
static atomic_int begun, enough, may_drop;
static void *call_until_enough(void *memory) {
    struct caller *caller = memory;
    for (int64_t i = 1; !atomic_load(&enough); i++) {
        int64_t result = caller->code(i, (double)i);
        if (i == 1) atomic_fetch_add(&begun, 1);
        if (result == i * 2) caller->handled++;
        else if (result == -1) caller->late++;
        else CHECK(!"a result of nobody's");
        if (!atomic_load(&may_drop)) CHECK(result != -1);
    }
    return NULL;
}

static void retire_while_called(treadle_closure_config config) {
    struct info info = {0};
    struct caller callers[CALLERS];
    int64_t minus = -1, handled = 0, late = 0;
    atomic_store(&begun, 0), atomic_store(&enough, 0), atomic_store(&may_drop, 0);
    atomic_store(&reports, 0);
    config.struct_size = sizeof config;
    config.signature = "qqd";
    config.handler = twice;
    config.info = &info;
    config.destroy = destroy;
    config.default_result = &minus;
    config.default_result_size = sizeof minus;
    treadle_closure closure = made_of(config);
    for (int i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.code = CODE_OF(twice_fn, closure)};
        CHECK_INT(pthread_create(&callers[i].thread, NULL, call_until_enough, &callers[i]), 0);
    }
    while (atomic_load(&begun) < CALLERS) sched_yield();
    atomic_store(&may_drop, 1);
    CHECK_INT(treadle_closure_close(closure, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(info.destroyed, 1);
    while (info_of(closure).after_invalidated < CALLERS) sched_yield();
    atomic_store(&enough, 1);
    for (int i = 0; i < CALLERS; i++) {
        CHECK_INT(pthread_join(callers[i].thread, NULL), 0);
        handled += callers[i].handled;
        late += callers[i].late;
    }
    CHECK_INT(info.handled, handled);
    CHECK_INT(info_of(closure).handled, handled);
    CHECK_INT(info_of(closure).after_invalidated, late);
    CHECK_INT(info.destroyed, 1);
    CHECK_INT(reports, 1);
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
}

TEST(no_call_is_lost, "OBJ-6 OBJ-7 OBJ-9") {
    watch_reports();
    for (int round = 0; round < scaled(ROUNDS); round++) retire_while_called(CLOSURE_CONFIG(0));
}
TEST(no_call_that_hops_is_lost, "OBJ-6 OBJ-7 OBJ-9 PERF-9") {
    struct worker worker;
    watch_reports();
    worker_start(&worker);
    for (int round = 0; round < scaled(ROUNDS); round++) {
        retire_while_called(CLOSURE_CONFIG(.loop = worker.loop, .delivery = TREADLE_DELIVERY_SYNC, .queue_limit = 2));
        retire_while_called(CLOSURE_CONFIG(.loop = worker.loop, .delivery = TREADLE_DELIVERY_RUNNING, .flags = TREADLE_CLOSURE_KEEP_CODE));
    }
    worker_stop(&worker);
}

/* Four threads make, call and end closures of several types, on few stubs each time. */
static treadle_status negate(treadle_call *call, void *info) {
    int32_t result = -*(const int32_t *)call->arguments[0];
    atomic_fetch_add((atomic_int *)info, 1);
    return treadle_call_set_result(call, &result, sizeof result);
}
static atomic_int made, calls, ends;
static void end_one(void *info) {
    (void)info;
    atomic_fetch_add(&ends, 1);
}
static void *make_and_end(void *times) {
    static const char *const signatures[] = {"ii", "iid", "ii{s=ddd}", "iiiiiiiii"};
    for (int i = 0; i < *(int *)times; i++) {
        treadle_closure closure = MADE(.signature = signatures[i % 4], .handler = negate, .info = &calls, .destroy = end_one);
        int32_t (*code)(int32_t, ...) = CODE_OF(int32_t (*)(int32_t, ...), closure);
        if (i % 4 == 0) CHECK_INT(((int32_t (*)(int32_t))code)(i), -i);
        if (i % 4 == 1) CHECK_INT(((int32_t (*)(int32_t, double))code)(i, 1), -i);
        atomic_fetch_add(&made, 1);
        if (i % 3 == 0) CHECK_INT(treadle_closure_close(closure, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    }
    return NULL;
}
TEST(closures_come_and_go_on_many_threads, "OBJ-2 OBJ-6") {
    pthread_t threads[CALLERS];
    int times = scaled(5000);
    for (int i = 0; i < CALLERS; i++) CHECK_INT(pthread_create(&threads[i], NULL, make_and_end, &times), 0);
    for (int i = 0; i < CALLERS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(made, CALLERS * times);
    CHECK_INT(ends, made);
    CHECK_INT(pool_info().used, 0);
    CHECK_INT(pool_info().allocated, 0);
}

/* A pointer that is called without end while its stub serves one closure after the other. */
static atomic_int over;
static void *call_stale(void *code) {
    while (!atomic_load(&over)) {
        int32_t result = ((int32_t (*)(int32_t))code)(7);
        CHECK(result == 0 || result == -7);
    }
    return NULL;
}
TEST(a_stale_pointer_does_no_harm, "OBJ-5 OBJ-6") {
    pthread_t threads[2];
    watch_reports();
    treadle_closure first = MADE(.signature = "ii", .handler = negate, .info = &calls);
    any_code code = code_of(first);
    CHECK_INT(treadle_closure_release(first), TREADLE_OK);
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&threads[i], NULL, call_stale, (void *)code), 0);
    int rounds = scaled(4), times = (int)pool_info().capacity * 4;
    for (int i = 0; i < rounds; i++) make_and_end(&times);
    atomic_store(&over, 1);
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(pool_info().used, 0);
}

TEST_MAIN()
