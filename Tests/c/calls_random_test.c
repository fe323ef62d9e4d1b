/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * calls_random_test.c: thousands of random signatures, in both directions: closures that compiled code calls, and compiled
 * code that routines and invocations call, agree with the C compiler. calls_random.py writes the functions. The contract
 * is routine.h, invocation.h and closure.h. */
#include "call_cases.h"

typedef char *char_pointer;
typedef void *void_pointer;
#define TYPE_OF(function) __typeof__(function)
static void give(unsigned char *result, const void *value, size_t size) { memcpy(result, value, size); }
#define GIVE(value) give(result_, &(value), sizeof(value));
#define CALLER(name) static void name(any_code code_, const unsigned char *values_, unsigned char *result_)
#ifdef __clang__
#pragma clang diagnostic ignored "-Wunused-parameter"
#pragma clang optimize off
#else
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC optimize 0
#endif
#include "calls_random_cases.h"

static void check_cases(size_t begin, size_t end, treadle_loop loop) {
    for (size_t i = begin; i < end && i < COUNT(cases); i++) check_case(&cases[i], i % 8 == 0 ? loop : NULL);
}
TEST(random_signatures_agree_with_the_compiler, "OBJ-8 PERF-7") {
    struct worker worker;
    size_t count = (size_t)scaled((int)COUNT(cases));
    CHECK(COUNT(cases) >= 1000); /* as many as the generator was told to write */
    treadle_set_last_resort(count_report, NULL, NULL);
    worker_start(&worker);
    check_cases(0, count, worker.loop);
    worker_stop(&worker);
    CHECK_INT(reports, count + (count + 7) / 8); /* of each closure that was retired and called */
}

TEST_MAIN()
