/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * libraries_libc_test.c: the callbacks of libc that get no pointer of the client's: qsort, bsearch, twalk and scandir
 * with closures, which have one, on the calling thread and on another. */
#include "closures.h"

#include <search.h>

typedef int (*compare_fn)(const void *, const void *);

/* What a handler finds behind its info. */
struct comparison {
    int direction; /* 1 or -1 */
    int32_t thread; /* where it must run; 0: anywhere */
    int calls;
};
static treadle_status compare(treadle_call *call, void *info) {
    struct comparison *self = info;
    int32_t left = **(const int32_t *const *)call->arguments[0], right = **(const int32_t *const *)call->arguments[1];
    int32_t result = self->direction * ((left > right) - (left < right));
    if (self->thread) CHECK_INT(thread_id(), self->thread);
    self->calls++;
    return treadle_call_set_result(call, &result, sizeof result);
}

#define ENTRIES 1000
static void fill(int32_t *numbers) {
    uint32_t state = 7;
    for (int i = 0; i < ENTRIES; i++) numbers[i] = (int32_t)((state = state * 1664525 + 1013904223) >> 8);
}
static void check_order(const int32_t *numbers, int direction) {
    for (int i = 1; i < ENTRIES; i++) CHECK((numbers[i] - numbers[i - 1]) * direction >= 0);
}

TEST(qsort_and_bsearch_with_an_info, "PERF-2 OBJ-8") {
    int32_t numbers[ENTRIES];
    for (int direction = -1; direction <= 1; direction += 2) {
        struct comparison comparison = {.direction = direction, .thread = thread_id()};
        treadle_closure closure = MADE(.signature = "ir^vr^v", .handler = compare, .info = &comparison);
        fill(numbers);
        qsort(numbers, ENTRIES, sizeof *numbers, CODE_OF(compare_fn, closure));
        check_order(numbers, direction);
        for (int i = 0; i < ENTRIES; i += 37) {
            int32_t *found = bsearch(&numbers[i], numbers, ENTRIES, sizeof *numbers, CODE_OF(compare_fn, closure));
            CHECK(found && *found == numbers[i]);
        }
        int32_t missing = -1;
        CHECK(!bsearch(&missing, numbers, ENTRIES, sizeof *numbers, CODE_OF(compare_fn, closure)));
        CHECK(comparison.calls > ENTRIES);
        CHECK_INT(info_of(closure).handled, comparison.calls);
        end_closure(closure);
    }
}

TEST(qsort_compares_on_the_thread_of_a_loop, "PERF-3 PERF-7") {
    int32_t numbers[ENTRIES];
    struct worker worker;
    worker_start(&worker);
    struct comparison comparison = {.direction = 1, .thread = worker.thread_id};
    treadle_closure closure = MADE(.signature = "ir^vr^v", .handler = compare, .info = &comparison, .loop = worker.loop,
                                   .delivery = TREADLE_DELIVERY_SYNC);
    fill(numbers);
    qsort(numbers, ENTRIES, sizeof *numbers, CODE_OF(compare_fn, closure));
    check_order(numbers, 1);
    CHECK_INT(info_of(closure).handled, comparison.calls);
    end_closure(closure);
    worker_stop(&worker);
}

/* Two sorts at the same time, each on a thread of its own, by closures of their own. */
static void *sort(void *info) {
    int32_t numbers[ENTRIES];
    struct comparison comparison = {.direction = *(int *)info, .thread = thread_id()};
    for (int i = 0; i < scaled(20); i++) {
        treadle_closure closure = MADE(.signature = "i^v^v", .handler = compare, .info = &comparison);
        fill(numbers);
        qsort(numbers, ENTRIES, sizeof *numbers, CODE_OF(compare_fn, closure));
        check_order(numbers, comparison.direction);
        end_closure(closure);
    }
    return NULL;
}
TEST(each_thread_sorts_by_its_own, "OBJ-7") {
    pthread_t threads[4];
    int directions[4] = {1, -1, 1, -1};
    for (int i = 0; i < 4; i++) CHECK_INT(pthread_create(&threads[i], NULL, sort, &directions[i]), 0);
    for (int i = 0; i < 4; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
}

/* twalk hands over a node, an enumeration and a depth. */
static treadle_status visit(treadle_call *call, void *info) {
    const int32_t *const *node = *(const int32_t *const *const *)call->arguments[0];
    VISIT visit = *(const VISIT *)call->arguments[1];
    if (visit == postorder || visit == leaf) *(int64_t *)info += **node;
    return TREADLE_OK;
}
TEST(a_tree_is_walked_with_an_info, "OBJ-8") {
    static int32_t numbers[ENTRIES];
    int64_t sum = 0, expected = 0;
    void *root = NULL;
    struct comparison comparison = {.direction = 1};
    treadle_closure order = MADE(.signature = "i^v^v", .handler = compare, .info = &comparison);
    treadle_closure walk = MADE(.signature = "v^vIi", .handler = visit, .info = &sum);
    fill(numbers);
    for (int i = 0; i < ENTRIES; i++) {
        if (*(int32_t **)tsearch(&numbers[i], &root, CODE_OF(compare_fn, order)) == &numbers[i]) expected += numbers[i];
    }
    twalk(root, CODE_OF(void (*)(const void *, VISIT, int), walk));
    CHECK_INT(sum, expected);
    while (root) CHECK(tdelete(*(int32_t **)root, &root, CODE_OF(compare_fn, order)));
    end_closure(order);
    end_closure(walk);
}

/* scandir asks which entries are wanted. */
static treadle_status want(treadle_call *call, void *info) {
    const struct dirent *entry = *(const struct dirent *const *)call->arguments[0];
    int32_t is_wanted = strncmp(entry->d_name, info, strlen(info)) == 0;
    return treadle_call_set_result(call, &is_wanted, sizeof is_wanted);
}
TEST(a_folder_is_filtered_by_an_info, "OBJ-8") {
    struct dirent **entries = NULL;
    treadle_closure closure = MADE(.signature = "i^{dirent}", .handler = want, .info = "ma");
    int count = scandir("/proc/self", &entries, CODE_OF(int (*)(const struct dirent *), closure), alphasort);
    CHECK(count >= 2); /* maps, map_files */
    for (int i = 0; i < count; i++) {
        CHECK(strncmp(entries[i]->d_name, "ma", 2) == 0);
        free(entries[i]);
    }
    free(entries);
    end_closure(closure);
}

TEST_MAIN()
