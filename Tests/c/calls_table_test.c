/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * calls_table_test.c: every scalar type, arguments around the number of registers, structs of every size up to 64 bytes in
 * shapes that calling conventions tell apart, up to 32 arguments: as arguments and as results, in closures that compiled code calls and in compiled code that routines
 * and invocations call. The contract is routine.h, invocation.h and closure.h. */
#include "call_cases.h"

#define CALLER(name, function, result, ...)                                                             \
    static void name(any_code code_, const unsigned char *values_, unsigned char *result_) {            \
        (void)values_;                                                                                  \
        result r_ = ((__typeof__(function) *)code_)(__VA_ARGS__);                                       \
        memcpy(result_, &r_, sizeof r_);                                                                \
    }
static struct worker worker;
static void check_all(const struct call_case *cases, size_t count) {
    treadle_set_last_resort(count_report, NULL, NULL);
    worker_start(&worker);
    for (size_t i = 0; i < count; i++) {
        for (int round = 0; round < 3; round++) check_case(&cases[i], worker.loop);
    }
    worker_stop(&worker);
}

/* --- Scalars ------------------------------------------------------------------------------------------- */

typedef char *text;
typedef void *address;
#define SCALARS(X)                                                                                               \
    X(int8, int8_t, "c") X(uint8, uint8_t, "C") X(int16, int16_t, "s") X(uint16, uint16_t, "S")                  \
    X(int32, int32_t, "i") X(uint32, uint32_t, "I") X(int64, int64_t, "q") X(uint64, uint64_t, "Q")              \
    X(single, float, "f") X(real, double, "d") X(truth, bool, "B") X(text, text, "*") X(address, address, "^v")  \
    X(code, any_code, "^?")

/* Between others, and 32 of them: the last ones are in memory. */
#define A8(type, n) type a##n##0, type a##n##1, type a##n##2, type a##n##3, type a##n##4, type a##n##5, type a##n##6, type a##n##7
#define K8(n) KEEP(a##n##0) KEEP(a##n##1) KEEP(a##n##2) KEEP(a##n##3) KEEP(a##n##4) KEEP(a##n##5) KEEP(a##n##6) KEEP(a##n##7)
#define V8(type, n)                                                                                         \
    VALUE(type, 8 * n), VALUE(type, 8 * n + 1), VALUE(type, 8 * n + 2), VALUE(type, 8 * n + 3),             \
        VALUE(type, 8 * n + 4), VALUE(type, 8 * n + 5), VALUE(type, 8 * n + 6), VALUE(type, 8 * n + 7)
#define C8(code) code code code code code code code code
#define MANY(name, type)                                                                                     \
    static type many_##name(A8(type, 0), A8(type, 1), A8(type, 2), A8(type, 3)) {                            \
        K8(0) K8(1) K8(2) K8(3)                                                                              \
        RETURN(type)                                                                                         \
    }                                                                                                        \
    CALLER(call_many_##name, many_##name, type, V8(type, 0), V8(type, 1), V8(type, 2), V8(type, 3))
#define SCALAR(name, type, code)                                                                             \
    static type some_##name(int8_t a, type b, double c, type d) { KEEP(a) KEEP(b) KEEP(c) KEEP(d) RETURN(type) } \
    CALLER(call_some_##name, some_##name, type, VALUE(int8_t, 0), VALUE(type, 1), VALUE(double, 2), VALUE(type, 3)) \
    static type none_##name(void) { RETURN(type) }                                                               \
    CALLER(call_none_##name, none_##name, type)                                                              \
    MANY(name, type)
SCALARS(SCALAR)
#define SCALAR_CASES(name, type, code)                                                                       \
    {code "c" code "d" code, (any_code)some_##name, call_some_##name}, {code, (any_code)none_##name, call_none_##name}, \
        {code C8(code) C8(code) C8(code) C8(code), (any_code)many_##name, call_many_##name},
TEST(every_scalar_travels_both_ways, "OBJ-8 PERF-7") {
    static const struct call_case cases[] = {SCALARS(SCALAR_CASES)};
    CHECK_INT(COUNT(cases), 3 * 14);
    check_all(cases, COUNT(cases));
}

/* Nothing at all, and results of nothing. */
static void no_values(void) {}
static void some_values(int32_t a, float b) { KEEP(a) KEEP(b) }
static void call_no_values(any_code code, const unsigned char *values_, unsigned char *result) { (void)values_, (void)result, code(); }
static void call_some_values(any_code code, const unsigned char *values_, unsigned char *result) {
    (void)result;
    ((void (*)(int32_t, float))code)(VALUE(int32_t, 0), VALUE(float, 1));
}
TEST(nothing_travels_both_ways, "OBJ-8") {
    static const struct call_case cases[] = {{"v", (any_code)no_values, call_no_values}, {"vif", (any_code)some_values, call_some_values}};
    check_all(cases, COUNT(cases));
}

/* --- Registers ------------------------------------------------------------------------------------------ */

/* As many of one kind as there are registers, on any processor, and some more: the next one is in memory. */
#define N4(M) M(0), M(1), M(2), M(3)
#define N5(M) N4(M), M(4)
#define N6(M) N5(M), M(5)
#define N7(M) N6(M), M(6)
#define N8(M) N7(M), M(7)
#define N9(M) N8(M), M(8)
#define N10(M) N9(M), M(9)
#define PARAMETER_long(n) int64_t a##n
#define PARAMETER_real(n) double a##n
#define VALUE_long(n) VALUE(int64_t, n)
#define VALUE_real(n) VALUE(double, n)
#define KEEP_NTH(n) keep(&a##n, sizeof a##n)
#define IN_A_ROW(kind, type, count)                                     \
    static type kind##count(N##count(PARAMETER_##kind)) {               \
        N##count(KEEP_NTH);                                             \
        RETURN(type)                                                    \
    }                                                                   \
    CALLER(call_##kind##count, kind##count, type, N##count(VALUE_##kind))
#define ROWS(kind, type)                                                                       \
    IN_A_ROW(kind, type, 5) IN_A_ROW(kind, type, 6) IN_A_ROW(kind, type, 7) IN_A_ROW(kind, type, 8) \
    IN_A_ROW(kind, type, 9) IN_A_ROW(kind, type, 10)
ROWS(long, int64_t)
ROWS(real, double)
#define ROW_CASE(kind, code, count, signature) {code signature, (any_code)kind##count, call_##kind##count},
#define ROW_CASES(kind, code)                                                                                         \
    ROW_CASE(kind, code, 5, code code code code code) ROW_CASE(kind, code, 6, code code code code code code)          \
    ROW_CASE(kind, code, 7, code code code code code code code) ROW_CASE(kind, code, 8, C8(code))                     \
    ROW_CASE(kind, code, 9, C8(code) code) ROW_CASE(kind, code, 10, C8(code) code code)
TEST(registers_run_out_one_by_one, "OBJ-8 PERF-7") {
    static const struct call_case cases[] = {ROW_CASES(long, "q") ROW_CASES(real, "d")};
    CHECK_INT(COUNT(cases), 2 * 6);
    check_all(cases, COUNT(cases));
}

/* --- Structs -------------------------------------------------------------------------------------------- */

/* Among few others; behind five integers and one real number, so that it gets the last integer register or none; and
 * 32 of them. */
#define SHAPE(name, members)                                                                                  \
    typedef struct members name;                                                                              \
    static name few_##name(float a, name b, int16_t c, name d) { KEEP(a) KEEP(b) KEEP(c) KEEP(d) RETURN(name) } \
    CALLER(call_few_##name, few_##name, name, VALUE(float, 0), VALUE(name, 1), VALUE(int16_t, 2), VALUE(name, 3)) \
    static double late_##name(double a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f, name g, name h, name i, double j) { \
        KEEP(a) KEEP(b) KEEP(c) KEEP(d) KEEP(e) KEEP(f) KEEP(g) KEEP(h) KEEP(i) KEEP(j)                       \
        RETURN(double)                                                                                        \
    }                                                                                                         \
    CALLER(call_late_##name, late_##name, double, VALUE(double, 0), VALUE(int64_t, 1), VALUE(int64_t, 2),     \
           VALUE(int64_t, 3), VALUE(int64_t, 4), VALUE(int64_t, 5), VALUE(name, 6), VALUE(name, 7), VALUE(name, 8), VALUE(double, 9))
#define SHAPE_CASES(name, code)                                                                               \
    {code "f" code "s" code, (any_code)few_##name, call_few_##name},                                          \
        {"ddqqqqq" code code code "d", (any_code)late_##name, call_late_##name},

#define EIGHT(M, a, b, c, d, e, f, g, h) M(a) M(b) M(c) M(d) M(e) M(f) M(g) M(h)
#define TO8(M) EIGHT(M, 1, 2, 3, 4, 5, 6, 7, 8)
#define TO16(M) TO8(M) EIGHT(M, 9, 10, 11, 12, 13, 14, 15, 16)
#define TO32(M) TO16(M) EIGHT(M, 17, 18, 19, 20, 21, 22, 23, 24) EIGHT(M, 25, 26, 27, 28, 29, 30, 31, 32)
#define TO56(M) TO32(M) EIGHT(M, 33, 34, 35, 36, 37, 38, 39, 40) EIGHT(M, 41, 42, 43, 44, 45, 46, 47, 48) \
    EIGHT(M, 49, 50, 51, 52, 53, 54, 55, 56)
#define TO64(M) TO56(M) EIGHT(M, 57, 58, 59, 60, 61, 62, 63, 64)

#define BYTES(n) SHAPE(bytes##n, { uint8_t m[n]; })
#define BYTES_CASES(n) SHAPE_CASES(bytes##n, "{=[" #n "C]}")
#define SHORTS(n) SHAPE(shorts##n, { int16_t m[n]; })
#define SHORTS_CASES(n) SHAPE_CASES(shorts##n, "{=[" #n "s]}")
#define INTS(n) SHAPE(ints##n, { int32_t m[n]; })
#define INTS_CASES(n) SHAPE_CASES(ints##n, "{=[" #n "i]}")
#define LONGS(n) SHAPE(longs##n, { int64_t m[n]; })
#define LONGS_CASES(n) SHAPE_CASES(longs##n, "{=[" #n "q]}")
#define FLOATS(n) SHAPE(floats##n, { float m[n]; })
#define FLOATS_CASES(n) SHAPE_CASES(floats##n, "{=[" #n "f]}")
#define DOUBLES(n) SHAPE(doubles##n, { double m[n]; })
#define DOUBLES_CASES(n) SHAPE_CASES(doubles##n, "{=[" #n "d]}")
TO64(BYTES) TO32(SHORTS) TO16(INTS) TO8(LONGS) TO16(FLOATS) TO8(DOUBLES)
TEST(structs_of_one_kind_travel_both_ways, "OBJ-8 PERF-7") {
    static const struct call_case cases[] = {TO64(BYTES_CASES) TO32(SHORTS_CASES) TO16(INTS_CASES) TO8(LONGS_CASES)
                                                 TO16(FLOATS_CASES) TO8(DOUBLES_CASES)};
    CHECK_INT(COUNT(cases), 2 * (64 + 32 + 16 + 8 + 16 + 8));
    check_all(cases, COUNT(cases));
}

/* Integers and real numbers in both orders, with every distance between them. */
#define LED(n) SHAPE(led##n, { double d; uint8_t m[n]; })
#define LED_CASES(n) SHAPE_CASES(led##n, "{=d[" #n "C]}")
#define TAILED(n) SHAPE(tailed##n, { uint8_t m[n]; float f; })
#define TAILED_CASES(n) SHAPE_CASES(tailed##n, "{=[" #n "C]f}")
#define CROSSED(n) SHAPE(crossed##n, { float f[n]; int32_t i; double d; })
#define CROSSED_CASES(n) SHAPE_CASES(crossed##n, "{=[" #n "f]id}")
TO56(LED) TO56(TAILED) TO8(CROSSED)
typedef struct { int8_t c; float f; } inner;
typedef struct { float x, y; } pair;
#define INNER(n) SHAPE(inner##n, { inner a; uint8_t m[n]; pair b; })
#define INNER_CASES(n) SHAPE_CASES(inner##n, "{={inner=cf}[" #n "C]{pair=ff}}")
TO32(INNER)
SHAPE(outer, { struct { struct { struct { double d; } a; } b; } c; int8_t z; })
SHAPE(offset_pair, { int8_t c; pair p; })
SHAPE(long_and_real, { int64_t q; double d; })
SHAPE(real_and_long, { double d; int64_t q; })
SHAPE(mixed_all, { int8_t c; int16_t s; int32_t i; int64_t q; float f; double d; bool t; void *p; any_code code; })
SHAPE(pointers, { char *a; void *b; any_code c; })
TEST(mixed_structs_travel_both_ways, "OBJ-8 PERF-7") {
    static const struct call_case cases[] = {
        TO56(LED_CASES) TO56(TAILED_CASES) TO8(CROSSED_CASES) TO32(INNER_CASES)
        SHAPE_CASES(outer, "{={a={b={c=d}}}c}") SHAPE_CASES(offset_pair, "{=c{pair=ff}}")
        SHAPE_CASES(long_and_real, "{=qd}") SHAPE_CASES(real_and_long, "{=dq}")
        SHAPE_CASES(mixed_all, "{=csiqfdB^v^?}") SHAPE_CASES(pointers, "{=*^v^?}")};
    CHECK_INT(COUNT(cases), 2 * (56 + 56 + 8 + 32 + 6));
    check_all(cases, COUNT(cases));
}

/* --- 32 arguments ------------------------------------------------------------------------------------------ */

MANY(bytes3, bytes3) MANY(bytes64, bytes64) MANY(floats2, floats2) MANY(floats3, floats3) MANY(doubles2, doubles2)
MANY(doubles4, doubles4) MANY(longs2, longs2) MANY(long_and_real, long_and_real) MANY(real_and_long, real_and_long) MANY(led1, led1)
#define TWO(n) int32_t i##n, double d##n
#define FOUR(n) TWO(n##0), TWO(n##1), TWO(n##2), TWO(n##3)
#define KEEP_TWO(n) KEEP(i##n) KEEP(d##n)
#define KEEP_FOUR(n) KEEP_TWO(n##0) KEEP_TWO(n##1) KEEP_TWO(n##2) KEEP_TWO(n##3)
#define VALUE_TWO(n) VALUE(int32_t, 2 * (n)), VALUE(double, 2 * (n) + 1)
#define VALUE_FOUR(n) VALUE_TWO(n), VALUE_TWO(n + 1), VALUE_TWO(n + 2), VALUE_TWO(n + 3)
static pair alternating(FOUR(0), FOUR(1), FOUR(2), FOUR(3)) { KEEP_FOUR(0) KEEP_FOUR(1) KEEP_FOUR(2) KEEP_FOUR(3) RETURN(pair) }
CALLER(call_alternating, alternating, pair, VALUE_FOUR(0), VALUE_FOUR(4), VALUE_FOUR(8), VALUE_FOUR(12))
#define MANY_CASE(name, code) {code C8(code) C8(code) C8(code) C8(code), (any_code)many_##name, call_many_##name},
TEST(thirty_two_arguments_travel_both_ways, "OBJ-8 PERF-7") {
    static const struct call_case cases[] = {
        MANY_CASE(bytes3, "{=[3C]}") MANY_CASE(bytes64, "{=[64C]}") MANY_CASE(floats2, "{=[2f]}") MANY_CASE(floats3, "{=[3f]}")
        MANY_CASE(doubles2, "{=[2d]}") MANY_CASE(doubles4, "{=[4d]}") MANY_CASE(longs2, "{=[2q]}") MANY_CASE(long_and_real, "{=qd}")
        MANY_CASE(real_and_long, "{=dq}") MANY_CASE(led1, "{=d[1C]}")
        {"{pair=ff}" C8("id") C8("id"), (any_code)alternating, call_alternating}};
    check_all(cases, COUNT(cases));
}

TEST_MAIN()
