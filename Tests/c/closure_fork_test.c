/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * closure_fork_test.c: closures in the child of a fork: the parent's pointers return their default results, new closures can
 * be made, and the parent notices nothing. The contract is closure.h. */
#include "closures.h"

typedef int32_t (*sum_fn)(int32_t, int32_t);
static const int32_t minus = -5;
#define MINUS .default_result = &minus, .default_result_size = sizeof minus

static treadle_status add(treadle_call *call, void *info) {
    int32_t sum = *(const int32_t *)call->arguments[0] + *(const int32_t *)call->arguments[1];
    if (info) atomic_fetch_add((atomic_int *)info, 1);
    return treadle_call_set_result(call, &sum, sizeof sum);
}

/* Runs `child` in a child, which must end well. */
static void in_child(void (*child)(void *), void *info) {
    int status = 0;
    pid_t id = fork();
    CHECK(id >= 0);
    if (id == 0) {
        alarm(60);
        child(info);
        exit(0);
    }
    while (waitpid(id, &status, 0) < 0 && errno == EINTR) {}
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

struct inherited {
    treadle_closure closure;
    sum_fn inline_code, sync_code, retired_code;
    atomic_int destroyed;
};
/* Before and after the child has begun its own life. */
static void call_inherited(void *memory) {
    struct inherited *inherited = memory;
    treadle_closure_config config = CLOSURE_CONFIG(.signature = "iii", .handler = add);
    treadle_closure closure;
    any_code code;
    CHECK_INT(inherited->inline_code(1, 2), -5);
    CHECK_INT(inherited->sync_code(1, 2), -5);
    CHECK_INT(inherited->retired_code(1, 2), -5);
    CHECK_ERROR(treadle_closure_create(&config, &closure), TREADLE_E_FORKED, "process");
    CHECK_ERROR(treadle_closure_get_code(inherited->closure, &code), TREADLE_E_FORKED, "process");
    CHECK_ERROR(treadle_closure_invalidate(inherited->closure), TREADLE_E_FORKED, "process");
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    CHECK_INT(inherited->inline_code(1, 2), -5);
    CHECK_INT(inherited->sync_code(1, 2), -5);
    CHECK_INT(inherited->retired_code(1, 2), -5);
    CHECK_ERROR(treadle_closure_release(inherited->closure), TREADLE_E_STALE, "object");
    treadle_closure own = made_of(config);
    CHECK_INT(CODE_OF(sum_fn, own)(1, 2), 3);
    CHECK(CODE_OF(sum_fn, own) != inherited->inline_code);
    CHECK_INT(inherited->inline_code(1, 2), -5);
    end_closure(own);
    CHECK_INT(inherited->destroyed, 0);
}
TEST(inherited_pointers_return_the_default, "RL-11") {
    struct worker worker;
    struct inherited inherited = {0};
    worker_start(&worker);
    inherited.closure = MADE(.signature = "iii", .handler = add, .info = &inherited.destroyed, .destroy = NULL, MINUS);
    treadle_closure sync = MADE(.signature = "iii", .handler = add, .delivery = TREADLE_DELIVERY_SYNC, .loop = worker.loop, MINUS);
    treadle_closure retired = MADE(.signature = "iii", .handler = add, MINUS);
    inherited.inline_code = CODE_OF(sum_fn, inherited.closure);
    inherited.sync_code = CODE_OF(sum_fn, sync);
    inherited.retired_code = CODE_OF(sum_fn, retired);
    CHECK_INT(treadle_closure_release(retired), TREADLE_OK);
    in_child(call_inherited, &inherited);
    CHECK_INT(inherited.inline_code(1, 2), 3);
    CHECK_INT(inherited.sync_code(1, 2), 3);
    CHECK_INT(info_of(inherited.closure).after_invalidated, 0);
    end_closure(inherited.closure);
    end_closure(sync);
    worker_stop(&worker);
}

/* The child uses up the whole pool, over the parent's pointers. */
static treadle_closure parents[64];
static void use_all(void *unused) {
    (void)unused;
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    uint32_t capacity = pool_info().capacity;
    CHECK_INT(pool_info().used, 0);
    CHECK_INT(pool_info().drained, 64);
    treadle_closure *own = calloc(capacity, sizeof *own);
    for (uint32_t i = 0; i < capacity; i++) {
        own[i] = MADE(.signature = "iii", .handler = add);
        CHECK_INT(CODE_OF(sum_fn, own[i])((int32_t)i, 1), (int32_t)i + 1);
    }
    CHECK_INT(pool_info().used, capacity);
    CHECK_INT(pool_info().drained, 0);
    for (uint32_t i = 0; i < capacity; i++) end_closure(own[i]);
    free(own);
}
TEST(the_child_has_the_whole_pool, "RL-11") {
    for (int i = 0; i < 64; i++) parents[i] = MADE(.signature = "iii", .handler = add, MINUS);
    in_child(use_all, NULL);
    for (int i = 0; i < 64; i++) {
        CHECK_INT(CODE_OF(sum_fn, parents[i])(i, 1), i + 1);
        end_closure(parents[i]);
    }
}

/* Allocated pointers, where libffi shares them with the parent (PR_SET_MDWE) and where it does not. */
static treadle_closure *filled, allocated;
static void use_allocated(void *shared) {
    treadle_closure_config config = CLOSURE_CONFIG(.signature = "iii", .handler = add, .flags = TREADLE_CLOSURE_MAY_ALLOCATE);
    treadle_closure closure;
    sum_fn code = *(sum_fn *)shared;
    CHECK_INT(code(1, 2), -5);
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    CHECK_INT(code(1, 2), -5);
    uint32_t capacity = pool_info().capacity, more = 0;
    for (uint32_t i = 0; i < capacity; i++) MADE(.signature = "iii", .handler = add);
    for (int i = 0; i < 20; i++) {
        treadle_status status = treadle_closure_create(&config, &closure);
        CHECK(status == TREADLE_OK || status == TREADLE_E_NOMEM);
        if (status != TREADLE_OK) continue;
        CHECK(CODE_OF(sum_fn, closure) != code);
        CHECK_INT(CODE_OF(sum_fn, closure)(i, 1), i + 1);
        CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
        more++;
    }
    CHECK(more == 0 || more == 20);
    CHECK_INT(pool_info().allocated, more > 0);
    CHECK_INT(code(1, 2), -5);
}
static void check_allocated(void) {
    uint32_t capacity = pool_info().capacity;
    filled = calloc(capacity, sizeof *filled);
    for (uint32_t i = 0; i < capacity; i++) filled[i] = MADE(.signature = "iii", .handler = add);
    treadle_closure_config config = CLOSURE_CONFIG(.signature = "iii", .handler = add, .flags = TREADLE_CLOSURE_MAY_ALLOCATE, MINUS);
    treadle_status status = treadle_closure_create(&config, &allocated);
    if (status == TREADLE_OK) {
        sum_fn code = CODE_OF(sum_fn, allocated);
        CHECK_INT(code(1, 2), 3);
        in_child(use_allocated, &code);
        CHECK_INT(code(1, 2), 3);
        end_closure(allocated);
        CHECK_INT(code(1, 2), -5);
    } else {
        CHECK_INT(status, TREADLE_E_NOMEM); /* the system permits no executable memory at all */
    }
    for (uint32_t i = 0; i < capacity; i++) end_closure(filled[i]);
    free(filled);
}
TEST(allocated_pointers_are_left_to_the_parent, "RL-11") { check_allocated(); }
TEST(shared_pointers_are_left_to_the_parent, "RL-11") {
    forbid_executable_memory();
    check_allocated();
}

/* A handler forks: in the child it returns through the parent's closure. */
static pid_t child;
static treadle_status fork_here(treadle_call *call, void *info) {
    int32_t result = 1;
    child = fork();
    CHECK(child >= 0);
    if (child == 0 && *(bool *)info) CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    if (child == 0) result = 2;
    *(int32_t *)call->result = result; /* the functions refuse in a child that has not begun its own life */
    return TREADLE_OK;
}
static void check_both(treadle_closure closure, bool is_own_life) {
    sum_fn code = CODE_OF(sum_fn, closure);
    int32_t result = code(0, 0);
    int status = 0;
    if (child == 0) {
        CHECK_INT(result, 2);
        CHECK_INT(code(0, 0), -5);
        if (is_own_life) {
            treadle_closure own = MADE(.signature = "iii", .handler = add);
            CHECK_INT(CODE_OF(sum_fn, own)(1, 2), 3);
            end_closure(own);
        }
        CHECK_INT(code(0, 0), -5);
        exit(0);
    }
    CHECK_INT(result, 1);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
TEST(a_handler_may_fork, "RL-11 OBJ-7") {
    for (int i = 0; i < 2; i++) {
        bool is_own_life = i == 1;
        treadle_closure closure = MADE(.signature = "iii", .handler = fork_here, .info = &is_own_life, MINUS);
        check_both(closure, is_own_life);
        CHECK_INT(info_of(closure).handled, 1);
        end_closure(closure);
    }
}
static treadle_status quit(treadle_call *call, void *info) {
    (void)call, (void)info;
    child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(7);
    return TREADLE_OK;
}
TEST(a_handler_that_hopped_may_fork, "RL-11 PERF-9") {
    struct worker worker;
    int status = 0;
    worker_start(&worker);
    treadle_closure closure = MADE(.signature = "iii", .handler = quit, .delivery = TREADLE_DELIVERY_SYNC, .loop = worker.loop, MINUS);
    CHECK_INT(CODE_OF(sum_fn, closure)(0, 0), -5);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    CHECK_INT(info_of(closure).handled, 1);
    end_closure(closure);
    worker_stop(&worker);
}

/* Forks while other threads make, call and end closures: the child finds no lock taken. */
static atomic_int enough;
static void *be_busy(void *info) {
    while (!atomic_load(&enough)) {
        treadle_closure closure = MADE(.signature = "iii", .handler = add, .info = info);
        CHECK_INT(CODE_OF(sum_fn, closure)(1, 2), 3);
        CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    }
    return NULL;
}
static void live_anew(void *code) {
    CHECK_INT((*(sum_fn *)code)(1, 2), -5);
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    for (int i = 0; i < 2000; i++) {
        treadle_closure closure = MADE(.signature = "iii", .handler = add);
        CHECK_INT(CODE_OF(sum_fn, closure)(1, i), 1 + i);
        end_closure(closure);
    }
    CHECK_INT((*(sum_fn *)code)(1, 2), -5);
    /* What other threads were just making when the process forked is nobody's here: it is no leak, and a child that
     * becomes another program is not searched for any. */
    execl("/bin/true", "true", (char *)NULL);
    CHECK(!"the child becomes another program");
}
TEST(a_fork_at_any_moment_leaves_the_child_whole, "RL-11 OBJ-6") {
    if (skips_fork_among_calls("a_fork_at_any_moment_leaves_the_child_whole")) return;
    pthread_t threads[2];
    atomic_int calls = 0;
    treadle_closure closure = MADE(.signature = "iii", .handler = add, .flags = TREADLE_CLOSURE_KEEP_CODE, MINUS);
    sum_fn code = CODE_OF(sum_fn, closure);
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&threads[i], NULL, be_busy, &calls), 0);
    for (int i = 0; i < scaled(40); i++) in_child(live_anew, &code);
    atomic_store(&enough, 1);
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(code(1, 2), 3);
    end_closure(closure);
}

TEST_MAIN()
