/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * routine_fault_test.c: memory is refused at each place where a signature or a routine asks for it. The
 * contract is routine.h; no numbered rule speaks of it. */
#include "faults.h"

#ifndef SANITIZED
static int calls, destroyed;
static void count_call(void) { calls++; }
static void count_destroy(void *info) {
    CHECK(info == &destroyed);
    destroyed++;
}

/* A new signature for each attempt: the ones that are known need no memory of their own. */
static const char *numbered(int i) {
    static char text[32];
    snprintf(text, sizeof text, "{=[%di]}^v", i);
    return text;
}

TEST(signatures_without_memory, "") {
    if (!have_memory_faults()) return;
    for (int n = 1;; n++) {
        treadle_signature signature = (treadle_signature)&calls, again = NULL;
        arm(FAULT_MEMORY | FAULT_PAGES, ENOMEM, n, false);
        treadle_status status = treadle_signature_parse(numbered(n), &signature);
        if (disarm() == 0) {
            CHECK_INT(status, TREADLE_OK);
            CHECK(n > 3); /* the types, their text, the signature */
            break;
        }
        CHECK_INT(status, TREADLE_E_NOMEM);
        CHECK(signature == NULL);
        CHECK_INT(treadle_signature_parse(numbered(n), &signature), TREADLE_OK);
        CHECK_INT(treadle_signature_parse(numbered(n), &again), TREADLE_OK);
        CHECK(signature && signature == again);
    }
}

TEST(routines_without_memory, "") {
    if (!have_memory_faults()) return;
    for (int n = 1;; n++) {
        void *pointer = NULL;
        const treadle_argument argument = {TREADLE_ARGUMENT_BOUND, 0, &pointer, sizeof pointer};
        treadle_routine_config config = {sizeof config, count_call, numbered(n), &argument, 1, &destroyed, count_destroy};
        treadle_routine routine = (treadle_routine)&calls;
        destroyed = 0;
        arm(FAULT_MEMORY | FAULT_PAGES, ENOMEM, n, false);
        treadle_status status = treadle_routine_create(&config, &routine);
        if (disarm() == 0) {
            CHECK_INT(status, TREADLE_OK);
            CHECK_INT(destroyed, 0);
            CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
            CHECK_INT(destroyed, 1);
            CHECK(n > 5); /* as a signature, the routine, its handle */
            break;
        }
        CHECK_INT(status, TREADLE_E_NOMEM);
        CHECK(routine == NULL);
        CHECK_INT(destroyed, 1);
    }
}

/* A call needs no memory, however large it is: an event is not lost for want of any. */
typedef struct { uint64_t words[256]; } large;
static large pass(large value) {
    CHECK(value.words[0] == 7 && value.words[255] == 9);
    calls++;
    return value;
}
TEST(calls_need_no_memory, "") {
    if (!have_memory_faults()) return;
    static large value = {.words = {[0] = 7, [255] = 9}}, result;
    const treadle_argument argument = {TREADLE_ARGUMENT_BOUND, 0, &value, sizeof value};
    treadle_routine_config config = {.struct_size = sizeof config, .code = (void (*)(void))pass, .signature = "{=[256Q]}{=[256Q]}",
                                     .arguments = &argument, .argument_count = 1};
    treadle_routine routine = NULL;
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    arm(FAULT_MEMORY | FAULT_PAGES, ENOMEM, 1, true);
    treadle_status status = treadle_routine_call(routine, NULL, &result, sizeof result);
    CHECK_INT(disarm(), 0);
    CHECK_INT(status, TREADLE_OK);
    CHECK(calls == 1 && memcmp(&value, &result, sizeof value) == 0);
}
#endif

TEST_MAIN()
