/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * closure_kept_test.c: function pointers that are never used again, far more of them than the pool has: each returns its default
 * result for ever, and costs no memory once its closure is gone. The contract is closure.h. */
#include "closures.h"

#include <malloc.h>
#include <sys/wait.h>

enum { KEPT = TREADLE_CLOSURE_KEEP_CODE | TREADLE_CLOSURE_MAY_ALLOCATE };

typedef int32_t (*one_fn)(int32_t);
typedef int64_t (*two_fn)(double, int64_t);
typedef struct {
    double x, y, z;
} point;
typedef point (*three_fn)(point);

static treadle_status add_one(treadle_call *call, void *info) {
    int32_t result = *(const int32_t *)call->arguments[0] + 1;
    (void)info;
    return treadle_call_set_result(call, &result, sizeof result);
}
static treadle_status refuse(treadle_call *call, void *info) { return (void)call, (void)info, TREADLE_E_STATE; }

/* Of the three types by turns: registers and libffi, an integer and a struct. */
static treadle_closure make_kept(uint32_t number) {
    const int32_t one = -1;
    const int64_t two = -2;
    const point three = {1, 2, 3};
    switch (number % 3) {
    case 0: return MADE(.signature = "ii", .handler = add_one, .flags = KEPT, .default_result = &one, .default_result_size = sizeof one);
    case 1: return MADE(.signature = "qdq", .handler = refuse, .flags = KEPT, .default_result = &two, .default_result_size = sizeof two);
    default:
        return MADE(.signature = "{=ddd}{=ddd}", .handler = refuse, .flags = KEPT, .default_result = &three,
                    .default_result_size = sizeof three);
    }
}
static void check_default(any_code code, uint32_t number) {
    if (number % 3 == 0) CHECK_INT(((one_fn)code)(5), -1);
    if (number % 3 == 1) CHECK_INT(((two_fn)code)(5, 5), -2);
    if (number % 3 == 2) {
        point result = ((three_fn)code)((point){7, 7, 7});
        CHECK(result.x == 1 && result.y == 2 && result.z == 3);
    }
}

/* What the process has of its own, in bytes: its heap, and its pages. */
static int64_t heap(void) {
    struct mallinfo2 heap = mallinfo2();
    return (int64_t)(heap.uordblks + heap.hblkhd);
}
static int64_t pages(void) {
    char line[256];
    long long sum = 0, kilobytes;
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status);
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "RssAnon: %lld", &kilobytes) == 1 || sscanf(line, "RssShmem: %lld", &kilobytes) == 1) sum += kilobytes;
    fclose(status);
    return sum * 1024;
}

static int compare_codes(const void *left, const void *right) {
    uintptr_t a = *(const uintptr_t *)left, b = *(const uintptr_t *)right;
    return a < b ? -1 : a > b;
}
TEST(pointers_that_are_kept_cost_no_memory, "PLUG-5") {
    uint32_t count = 6000 + (uint32_t)scaled(100000), warm = 6000;
    uintptr_t *codes = calloc(count, sizeof *codes);
    int64_t heap_before = 0, pages_before = 0;
    CHECK(codes);
    memset(codes, 1, count * sizeof *codes);
    watch_reports();
    for (uint32_t i = 0; i < count; i++) {
        if (i == warm) heap_before = heap(), pages_before = pages();
        treadle_closure closure = make_kept(i);
        codes[i] = (uintptr_t)code_of(closure);
        if (i % 7 == 0 && i % 3 == 0) CHECK_INT(((one_fn)codes[i])(41), 42);
        CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
        /* A call brings pages that all blocks share into the sum, so there is none while it is taken. */
        if (i % 11 == 0 && i < warm) check_default((any_code)codes[i], i);
    }
    int64_t more_heap = heap() - heap_before, more_pages = pages() - pages_before;
    /* A page for each block of 255 pointers would be twice as much. */
    bool has_blocks = !is_instrumented() && !is_refused("mremap_again");
    if (has_blocks && pool_info().allocated > count / 2) CHECK(more_heap < 4096 && more_pages < 256 * 1024);
    for (uint32_t i = 0; i < count; i++) check_default((any_code)codes[i], i);
    qsort(codes, count, sizeof *codes, compare_codes);
    for (uint32_t i = 1; i < count; i++) CHECK(codes[i] != codes[i - 1]);
    /* They have left half of the pool to others, which ask for no memory. */
    for (uint32_t i = 0; has_blocks && i < pool_info().capacity / 4; i++) MADE(.signature = "ii", .handler = add_one);
    free(codes);
}

/* Several blocks of each type have living closures; they end in another order than they were made in. */
TEST(living_pointers_are_each_closures_own, "") {
    enum { LIVING = 3 * 700 };
    static treadle_closure closures[LIVING];
    static any_code codes[LIVING];
    watch_reports();
    for (uint32_t i = 0; i < 2000; i++) CHECK_INT(treadle_closure_release(make_kept(i)), TREADLE_OK);
    for (uint32_t i = 0; i < LIVING; i++) codes[i] = code_of(closures[i] = make_kept(i));
    for (uint32_t i = 0; i < LIVING; i += 3) CHECK_INT(((one_fn)codes[i])((int32_t)i), (int32_t)i + 1);
    for (uint32_t i = 0; i < LIVING; i++) {
        uint32_t next = i * 1009 % LIVING;
        CHECK_INT(treadle_closure_invalidate(closures[next]), TREADLE_OK);
        check_default(codes[next], next);
        CHECK(info_of(closures[next]).after_invalidated == 1);
        CHECK_INT(treadle_closure_release(closures[next]), TREADLE_OK);
        check_default(codes[next], next);
        uint32_t later = (i + 1) * 1009 % LIVING;
        if (later % 3 == 0 && i + 1 < LIVING) CHECK_INT(((one_fn)codes[later])(1), 2);
    }
    for (uint32_t i = 0; i < LIVING; i++) check_default(codes[i], i);
}

/* Pointers are called all the time while their closures end, and while what they lead to is exchanged. */
enum { CALLED = 30000 };
static _Atomic uintptr_t called[CALLED];
static atomic_uint called_count;
static atomic_bool is_enough;
static void *call_late(void *info) {
    uint32_t next = (uint32_t)(uintptr_t)info;
    while (!is_enough) {
        uint32_t count = called_count;
        if (count == 0) continue;
        next = next * 1664525 + 1013904223;
        /* Mostly the last ones, whose blocks are about to be exchanged. */
        uint32_t back = next >> 8 & 1023, at = back < count ? count - 1 - back : next % count;
        if (next % 2) at = next % count;
        check_default((any_code)called[at], at);
    }
    return NULL;
}
TEST(late_calls_meet_the_default_at_any_moment, "OBJ-5 OBJ-6") {
    pthread_t threads[3];
    uint32_t count = 5000 + (uint32_t)scaled(CALLED - 5000);
    watch_reports();
    for (uintptr_t i = 0; i < COUNT(threads); i++) CHECK_INT(pthread_create(&threads[i], NULL, call_late, (void *)i), 0);
    for (uint32_t i = 0; i < count; i++) {
        treadle_closure closure = make_kept(i);
        called[i] = (uintptr_t)code_of(closure);
        CHECK_INT(treadle_closure_invalidate(closure), TREADLE_OK);
        called_count = i + 1;
        CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
        if (i % 64 == 0) progress();
    }
    is_enough = true;
    for (size_t i = 0; i < COUNT(threads); i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
}

/* The child's calls of the parent's pointers, of all kinds, and pointers of its own. */
TEST(a_child_has_the_parents_tombstones, "RL-11") {
    enum { PARENTS = 4000, LIVING = 400 };
    static any_code codes[PARENTS + LIVING];
    watch_reports();
    for (uint32_t i = 0; i < PARENTS + LIVING; i++) {
        treadle_closure closure = make_kept(i);
        codes[i] = code_of(closure);
        if (i < PARENTS) CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        for (uint32_t i = 0; i < PARENTS + LIVING; i++) check_default(codes[i], i);
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        watch_reports();
        for (uint32_t i = 0; i < 2000; i++) {
            treadle_closure closure = make_kept(i);
            any_code code = code_of(closure);
            CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
            check_default(code, i);
        }
        for (uint32_t i = 0; i < PARENTS + LIVING; i++) check_default(codes[i], i);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    for (uint32_t i = 0; i < PARENTS; i++) check_default(codes[i], i);
    for (uint32_t i = PARENTS + (3 - PARENTS % 3) % 3; i < PARENTS + LIVING; i += 3) CHECK_INT(((one_fn)codes[i])(1), 2);
}

/* Each closure with a default result of its own: nothing can be shared, and nothing is mixed up. */
TEST(defaults_are_not_mixed_up, "") {
    enum { MANY = 3000 };
    static any_code codes[MANY];
    watch_reports();
    for (int32_t i = 0; i < MANY; i++) {
        int32_t own = i % 2 ? i : 7;
        treadle_closure closure = MADE(.signature = "ii", .handler = refuse, .flags = KEPT, .default_result = &own,
                                       .default_result_size = sizeof own);
        codes[i] = code_of(closure);
        CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    }
    for (int32_t i = 0; i < MANY; i++) CHECK_INT(((one_fn)codes[i])(0), i % 2 ? i : 7);
}

/* Where no memory becomes executable the pool's pointers are all there are, and the last one is told. */
TEST(without_executable_memory_the_pool_is_all, "") {
    static any_code codes[4000];
    uint32_t count = 0;
    forbid_executable_memory();
    watch_reports();
    for (; count < COUNT(codes); count++) {
        treadle_closure closure;
        treadle_closure_config config = CLOSURE_CONFIG(.signature = "ii", .handler = add_one, .flags = KEPT);
        treadle_status status = treadle_closure_create(&config, &closure);
        if (status != TREADLE_OK) {
            CHECK_INT(status, TREADLE_E_NOMEM);
            break;
        }
        codes[count] = code_of(closure);
        CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    }
    CHECK(count >= pool_info().capacity);
    for (uint32_t i = 0; i < count; i++) CHECK_INT(((one_fn)codes[i])(5), 0);
}

TEST_MAIN()
