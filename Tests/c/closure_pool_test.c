/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * closure_pool_test.c: where function pointers come from: the library's own code, without executable memory; in which
 * order they are used again; and what happens when there are no more. The contract is closure.h. */
#include "closures.h"

typedef int32_t (*one_fn)(int32_t);

/* Adds what the info points to. */
static treadle_status add_info(treadle_call *call, void *info) {
    int32_t result = *(const int32_t *)call->arguments[0] + *(int32_t *)info;
    return treadle_call_set_result(call, &result, sizeof result);
}

/* Fills the pool, and checks each pointer. */
static treadle_closure *all_of_them;
static int32_t *numbers;
static uint32_t fill_pool(uint32_t flags) {
    uint32_t capacity = pool_info().capacity;
    all_of_them = calloc(capacity, sizeof *all_of_them);
    numbers = calloc(capacity, sizeof *numbers);
    for (uint32_t i = 0; i < capacity; i++) {
        numbers[i] = (int32_t)i;
        all_of_them[i] = MADE(.signature = "ii", .handler = add_info, .info = &numbers[i], .flags = flags);
    }
    for (uint32_t i = 0; i < capacity; i++) CHECK_INT(CODE_OF(one_fn, all_of_them[i])(1000), 1000 + (int32_t)i);
    CHECK_INT(pool_info().used, capacity);
    return capacity;
}
static void empty_pool(void) {
    uint32_t capacity = pool_info().capacity;
    for (uint32_t i = 0; i < capacity; i++) CHECK_INT(treadle_closure_release(all_of_them[i]), TREADLE_OK);
    CHECK_INT(pool_info().used, 0);
    free(all_of_them), free(numbers);
}

/* Pages that are executable, and writable, shared, or of no file of the system's: /proc/self/maps. */
static int count_odd_pages(void) {
    char line[4096], rights[8], name[4096];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while (fgets(line, sizeof line, maps)) {
        name[0] = 0;
        CHECK(sscanf(line, "%*s %7s %*s %*s %*s %4095[^\n]", rights, name) >= 1);
        if (rights[2] != 'x') continue;
        if (rights[1] == 'w' || rights[3] == 's' || strstr(name, "memfd") || strstr(name, "(deleted)")) count++;
    }
    fclose(maps);
    return count;
}

TEST(closures_need_no_executable_memory, "") {
    /* A tool such as memcheck maps executable pages of its own whenever it translates more code. */
    bool counts = !is_instrumented();
    if (counts) CHECK_INT(count_odd_pages(), 0);
    CHECK(fill_pool(0) >= 1024);
    if (counts) CHECK_INT(count_odd_pages(), 0);
    CHECK_INT(pool_info().allocated, 0);
    empty_pool();
    if (counts) CHECK_INT(count_odd_pages(), 0);
}
TEST(closures_work_where_memory_must_not_become_executable, "") {
    forbid_executable_memory();
    fill_pool(0);
    empty_pool();
}
TEST(the_code_is_the_librarys_own, "") {
    treadle_closure closure = MADE(.signature = "ii", .handler = add_info, .info = &(int32_t){0});
    unsigned long code = (unsigned long)(uintptr_t)code_of(closure), begin, end;
    char line[4096], rights[8];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, rights) == 3 && begin <= code && code < end) {
            CHECK(strncmp(rights, "r-xp", 4) == 0);
            CHECK(strstr(line, "/"));
            found = true;
        }
    fclose(maps);
    CHECK(found);
    end_closure(closure);
}

TEST(a_full_pool_is_told, "") {
    int32_t number = 5;
    atomic_int destroyed = 0;
    uint32_t capacity = fill_pool(0);
    treadle_closure_config config = CLOSURE_CONFIG(.signature = "ii", .handler = add_info, .info = &destroyed, .destroy = count_up);
    treadle_closure closure = (treadle_closure)&number;
    CHECK_ERROR(treadle_closure_create(&config, &closure), TREADLE_E_NOMEM, "pool");
    CHECK(closure == NULL);
    CHECK_INT(destroyed, 1);
    CHECK_INT(treadle_closure_release(all_of_them[17]), TREADLE_OK);
    CHECK_INT(pool_info().drained, 1);
    all_of_them[17] = MADE(.signature = "ii", .handler = add_info, .info = &number);
    CHECK_INT(pool_info().drained, 0);
    CHECK_INT(CODE_OF(one_fn, all_of_them[17])(1), 6);
    CHECK_INT(treadle_closure_create(&config, &closure), TREADLE_E_NOMEM);
    CHECK_INT(pool_info().used, capacity);
    empty_pool();
}

/* libffi's own closures: the permission is asked for, and none is ever given back. */
TEST(a_full_pool_may_be_exceeded, "") {
    enum { MORE = 100 };
    int32_t number[MORE];
    treadle_closure more[MORE];
    any_code codes[MORE];
    uint32_t capacity = fill_pool(TREADLE_CLOSURE_MAY_ALLOCATE);
    CHECK_INT(pool_info().allocated, 0);
    for (int i = 0; i < MORE; i++) {
        number[i] = 100000 + i;
        more[i] = MADE(.signature = "ii", .handler = add_info, .info = &number[i], .flags = TREADLE_CLOSURE_MAY_ALLOCATE);
        codes[i] = code_of(more[i]);
    }
    CHECK_INT(pool_info().allocated, MORE);
    CHECK_INT(pool_info().used, capacity);
    for (int i = 0; i < MORE; i++) CHECK_INT(((one_fn)codes[i])(1), 100001 + i);
    for (int i = 0; i < MORE; i++) CHECK_INT(treadle_closure_release(more[i]), TREADLE_OK);
    watch_reports();
    for (int i = 0; i < MORE; i++) CHECK_INT(((one_fn)codes[i])(1), 0);
    CHECK_INT(reports, MORE);
    CHECK_INT(pool_info().allocated, MORE);
    for (int i = 0; i < MORE; i++) {
        more[i] = MADE(.signature = "ii", .handler = add_info, .info = &number[i], .flags = TREADLE_CLOSURE_MAY_ALLOCATE);
        CHECK(code_of(more[i]) == codes[i]); /* the oldest first */
        CHECK_INT(((one_fn)codes[i])(1), 100001 + i);
    }
    CHECK_INT(pool_info().allocated, MORE);
    for (int i = 0; i < MORE; i++) CHECK_INT(treadle_closure_release(more[i]), TREADLE_OK);
    empty_pool();
}

/* Pointers that were never used come first, then the one that was retired longest ago. */
TEST(the_oldest_pointer_is_used_again_last, "") {
    uint32_t capacity = pool_info().capacity;
    any_code first[8], code;
    int32_t number = 1;
    for (int i = 0; i < 8; i++) {
        treadle_closure closure = MADE(.signature = "ii", .handler = add_info, .info = &number);
        first[i] = code_of(closure);
        CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
        for (int j = 0; j < i; j++) CHECK(first[j] != first[i]);
    }
    CHECK_INT(pool_info().drained, 8);
    for (uint32_t i = 8; i < capacity; i++) {
        treadle_closure closure = MADE(.signature = "ii", .handler = add_info, .info = &number);
        code = code_of(closure);
        for (int j = 0; j < 8; j++) CHECK(first[j] != code);
        CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    }
    CHECK_INT(pool_info().drained, capacity);
    for (int i = 0; i < 8; i++) {
        treadle_closure closure = MADE(.signature = "iii", .handler = add_info, .info = &number);
        CHECK(code_of(closure) == first[i]);
        CHECK_INT(((int32_t (*)(int32_t, int32_t))first[i])(1, 9), 2);
        CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    }
}
TEST(a_kept_pointer_is_never_used_again, "") {
    uint32_t capacity = pool_info().capacity;
    int32_t number = 1, minus = -7;
    watch_reports();
    treadle_closure closure = MADE(.signature = "ii", .handler = add_info, .info = &number, .flags = TREADLE_CLOSURE_KEEP_CODE,
                                   .default_result = &minus, .default_result_size = sizeof minus);
    any_code kept = code_of(closure);
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    CHECK_INT(pool_info().drained, 0);
    for (uint32_t i = 0; i < capacity * 3; i++) {
        closure = MADE(.signature = "ii", .handler = add_info, .info = &number);
        CHECK(code_of(closure) != kept);
        CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    }
    CHECK_INT(((one_fn)kept)(1), -7);
    CHECK_INT(pool_info().drained, capacity - 1);
}

TEST(kept_pointers_go_on_behind_the_pool, "") {
    enum { MORE = 500 };
    uint32_t count = pool_info().capacity + MORE;
    int32_t number = 1;
    any_code *kept = calloc(count, sizeof *kept);
    CHECK(kept);
    watch_reports();
    for (uint32_t i = 0; i < count; i++) {
        int32_t minus = -(int32_t)i;
        treadle_closure closure = MADE(.signature = "ii", .handler = add_info, .info = &number,
                                       .flags = TREADLE_CLOSURE_KEEP_CODE | TREADLE_CLOSURE_MAY_ALLOCATE,
                                       .default_result = &minus, .default_result_size = sizeof minus);
        kept[i] = code_of(closure);
        CHECK_INT(((one_fn)kept[i])(1), 2);
        CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    }
    /* Each is what it was, and no other. */
    for (uint32_t i = 0; i < count; i++) CHECK_INT(((one_fn)kept[i])(1), -(int32_t)i);
    CHECK_INT(pool_info().allocated, MORE);
    free(kept);
}

TEST(the_pool_describes_itself, "") {
    treadle_closure_pool_info info = pool_info();
    CHECK(info.capacity >= 1024 && info.capacity % 1024 == 0);
    CHECK_INT(info.used + info.drained + info.allocated, 0);
    CHECK_INT(info.after_invalidated, 0);
    CHECK(strlen(info.libffi) < sizeof info.libffi);
}

TEST_MAIN()
