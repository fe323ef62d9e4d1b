/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * routine_test.c: routines: any C function, called with bound arguments and what an event supplies. The
 * other side of every call was compiled by the C compiler. The contract is routine.h; no numbered rule
 * speaks of it. */
#include "check.h"

#include <float.h>

#define CODE(function) ((void (*)(void))(function))
#define BOUND(variable) {TREADLE_ARGUMENT_BOUND, 0, &(variable), sizeof(variable)}
#define SUPPLIED(kind) {TREADLE_ARGUMENT_##kind, 0, NULL, 0}
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define ROUTINE(function, signature, ...)                                                       \
    made(CODE(function), signature, (treadle_argument[]){__VA_ARGS__},                          \
         sizeof(treadle_argument[]){__VA_ARGS__} / sizeof(treadle_argument))

static int destroyed;
static void destroy(void *info) {
    destroyed++;
    CHECK(info == &destroyed);
}
static treadle_routine_config config_of(void (*code)(void), const char *signature, const treadle_argument *arguments, size_t count) {
    return (treadle_routine_config){sizeof(treadle_routine_config), code, signature, arguments, count, &destroyed, destroy};
}
static treadle_routine made(void (*code)(void), const char *signature, const treadle_argument *arguments, size_t count) {
    treadle_routine_config config = config_of(code, signature, arguments, count);
    treadle_routine routine = NULL;
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    CHECK(routine != NULL);
    return routine;
}
/* Calls once, and checks that exactly the result's bytes are written. Frees the routine. */
static void call_into(treadle_routine routine, void *result, size_t size) {
    unsigned char room[8192];
    memset(room, 0xA5, sizeof room);
    CHECK_INT(treadle_routine_call(routine, NULL, room + 1, size), TREADLE_OK); /* 1: not aligned */
    CHECK(room[0] == 0xA5 && room[1 + size] == 0xA5 && room[9 + size] == 0xA5);
    if (size) memcpy(result, room + 1, size);
    CHECK_INT(treadle_routine_call(routine, NULL, NULL, 0), TREADLE_OK);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
}

/* --- Scalars --------------------------------------------------------------------------------------- */

#define SCALAR(name, type, code, ...)                                                             \
    static type name##_seen;                                                                      \
    static type same_##name(int32_t before, type value, type again) {                             \
        CHECK(before == -7 && memcmp(&value, &again, sizeof value) == 0);                         \
        name##_seen = value;                                                                      \
        return value;                                                                             \
    }                                                                                             \
    TEST(name##_arguments_and_results, "") {                                                      \
        const type values[] = {__VA_ARGS__};                                                      \
        const int32_t before = -7;                                                                \
        for (size_t i = 0; i < COUNT(values); i++) {                                              \
            type value = values[i], result;                                                       \
            memset(&result, 0x5A, sizeof result);                                                 \
            memset(&name##_seen, 0x5A, sizeof result);                                            \
            call_into(ROUTINE(same_##name, code "i" code code, BOUND(before), BOUND(value), BOUND(value)), \
                      &result, sizeof result);                                                    \
            CHECK(memcmp(&result, &value, sizeof value) == 0);                                    \
            CHECK(memcmp(&name##_seen, &value, sizeof value) == 0);                               \
        }                                                                                         \
        CHECK_INT(destroyed, COUNT(values));                                                      \
    }

static int anything;
static void nothing(void) {}
SCALAR(int8, int8_t, "c", 0, 1, -1, -2, 127, INT8_MIN)
SCALAR(uint8, uint8_t, "C", 0, 1, 127, 128, UINT8_MAX)
SCALAR(int16, int16_t, "s", 0, -1, -300, INT16_MIN, INT16_MAX)
SCALAR(uint16, uint16_t, "S", 0, 1, 32768, UINT16_MAX)
SCALAR(int32, int32_t, "i", 0, -1, -70000, INT32_MIN, INT32_MAX)
SCALAR(uint32, uint32_t, "I", 0, 1, 0x80000000, UINT32_MAX)
SCALAR(int64, int64_t, "q", 0, -1, INT64_MIN, INT64_MAX, INT32_MIN)
SCALAR(uint64, uint64_t, "Q", 0, 1, UINT64_MAX, (uint64_t)1 << 63)
SCALAR(float32, float, "f", 0.0f, -0.0f, 1.5f, -FLT_MAX, FLT_MIN, FLT_TRUE_MIN, 1.0f / 0.0f, 0.0f / 0.0f)
SCALAR(float64, double, "d", 0.0, -0.0, 1.5, -DBL_MAX, DBL_MIN, DBL_TRUE_MIN, 1.0 / 0.0, 0.0 / 0.0)
SCALAR(boolean, bool, "B", false, true)
typedef char *words;
typedef void *address;
typedef void (*function)(void);
SCALAR(text, words, "*", NULL, (char *)"words")
SCALAR(pointer, address, "^v", NULL, &anything, (void *)UINTPTR_MAX)
SCALAR(code_pointer, function, "^?", NULL, nothing)

/* A narrow result is not what happens to lie in the register above it. */
static uint64_t wide(void) { return 0xFFFFFFFFFFFFFF80; }
TEST(narrow_results_are_cut, "") {
    uint8_t u8;
    int16_t s16;
    uint32_t u32;
    call_into(ROUTINE(wide, "C"), &u8, 1);
    call_into(ROUTINE(wide, "s"), &s16, 2);
    call_into(ROUTINE(wide, "I"), &u32, 4);
    CHECK(u8 == 0x80 && s16 == -128 && u32 == 0xFFFFFF80);
}

/* --- Structs ---------------------------------------------------------------------------------------- */

/* Every size from 1 to 64 bytes. The function changes its own copy, which must not reach the routine. */
#define BYTES(n)                                                                       \
    typedef struct { uint8_t b[n]; } bytes##n;                                         \
    static bytes##n turn##n(double before, bytes##n value, int8_t by) {                \
        CHECK(before == 0.25);                                                         \
        for (int i = 0; i < n; i++) value.b[i] = (uint8_t)(value.b[i] + by * (i + 1)); \
        return value;                                                                  \
    }                                                                                  \
    static void check_bytes##n(void) {                                                 \
        const double before = 0.25;                                                    \
        const int8_t by = -3;                                                          \
        bytes##n value, result, twice;                                                 \
        for (int i = 0; i < n; i++) value.b[i] = (uint8_t)(i * 37 + n);                \
        treadle_routine routine = ROUTINE(turn##n, "{bytes=[" #n "C]}d{bytes=[" #n "C]}c", BOUND(before), BOUND(value), BOUND(by)); \
        CHECK_INT(treadle_routine_call(routine, NULL, &twice, n), TREADLE_OK);         \
        call_into(routine, &result, n);                                                \
        bytes##n expected = turn##n(before, value, by);                                \
        CHECK(memcmp(&result, &expected, n) == 0 && memcmp(&twice, &expected, n) == 0); \
    }
#define EIGHT(M, a, b, c, d, e, f, g, h) M(a) M(b) M(c) M(d) M(e) M(f) M(g) M(h)
#define ALL_SIZES(M)                                                                                   \
    EIGHT(M, 1, 2, 3, 4, 5, 6, 7, 8) EIGHT(M, 9, 10, 11, 12, 13, 14, 15, 16)                           \
    EIGHT(M, 17, 18, 19, 20, 21, 22, 23, 24) EIGHT(M, 25, 26, 27, 28, 29, 30, 31, 32)                  \
    EIGHT(M, 33, 34, 35, 36, 37, 38, 39, 40) EIGHT(M, 41, 42, 43, 44, 45, 46, 47, 48)                  \
    EIGHT(M, 49, 50, 51, 52, 53, 54, 55, 56) EIGHT(M, 57, 58, 59, 60, 61, 62, 63, 64)                  \
    EIGHT(M, 127, 128, 129, 1000, 1500, 2000, 2047, 4000)
ALL_SIZES(BYTES)
#define CHECK_BYTES(n) check_bytes##n();
TEST(structs_of_every_size, "") {
    ALL_SIZES(CHECK_BYTES)
    CHECK_INT(destroyed, 72);
}

/* Shapes that calling conventions tell apart: which registers, or memory, each part travels in. */
#define SHAPE(name, encoding, members, same, ...)                                                  \
    typedef struct name members name;                                                              \
    static const name name##_values[2] = {__VA_ARGS__};                                            \
    static bool same_##name(name a, name b) { return same; }                                       \
    static name pick_##name(name a, int32_t which, name b, float after) {                          \
        CHECK(same_##name(a, name##_values[0]) && same_##name(b, name##_values[1]) && after == 8.5f); \
        return which ? b : a;                                                                      \
    }                                                                                              \
    TEST(struct_##name, "") {                                                                      \
        const float after = 8.5f;                                                                  \
        for (int32_t which = 0; which < 2; which++) {                                              \
            name result;                                                                           \
            call_into(ROUTINE(pick_##name, encoding encoding "i" encoding "f", BOUND(name##_values[0]), BOUND(which), \
                              BOUND(name##_values[1]), BOUND(after)), &result, sizeof result);     \
            CHECK(same_##name(result, name##_values[which]));                                      \
        }                                                                                          \
    }
SHAPE(one_float, "{a=f}", { float x; }, a.x == b.x, {1.5f}, {-2})
SHAPE(one_double, "{a=d}", { double x; }, a.x == b.x, {1.5}, {-2})
SHAPE(two_floats, "{a=ff}", { float x; float y; }, a.x == b.x && a.y == b.y, {1, 2}, {3, 4})
SHAPE(three_floats, "{a=[3f]}", { float x[3]; }, !memcmp(&a, &b, sizeof a), {{1, 2, 3}}, {{4, 5, 6}})
SHAPE(four_floats, "{a=ffff}", { float x[4]; }, !memcmp(&a, &b, sizeof a), {{1, 2, 3, 4}}, {{5, 6, 7, 8}})
SHAPE(five_floats, "{a=[5f]}", { float x[5]; }, !memcmp(&a, &b, sizeof a), {{1, 2, 3, 4, 5}}, {{6, 7, 8, 9, 10}})
SHAPE(two_doubles, "{point=dd}", { double x; double y; }, a.x == b.x && a.y == b.y, {1, 2}, {3, 4})
SHAPE(four_doubles, "{rect={point=dd}{size=dd}}", { two_doubles x; two_doubles y; }, !memcmp(&a, &b, sizeof a), {{1, 2}, {3, 4}}, {{5, 6}, {7, 8}})
SHAPE(five_doubles, "{a=[5d]}", { double x[5]; }, !memcmp(&a, &b, sizeof a), {{1, 2, 3, 4, 5}}, {{6, 7, 8, 9, 10}})
SHAPE(float_then_int, "{a=fi}", { float x; int32_t y; }, a.x == b.x && a.y == b.y, {1.5f, -1}, {2.5f, INT32_MIN})
SHAPE(double_then_byte, "{a=dc}", { double x; int8_t y; }, a.x == b.x && a.y == b.y, {1.5, -1}, {2.5, 100})
SHAPE(byte_then_double, "{a=cd}", { int8_t x; double y; }, a.x == b.x && a.y == b.y, {-1, 1.5}, {100, 2.5})
SHAPE(long_then_float, "{a=qf}", { int64_t x; float y; }, a.x == b.x && a.y == b.y, {INT64_MIN, 1.5f}, {5, 2.5f})
SHAPE(float_pair_then_long, "{a=ffq}", { float x; float y; int64_t z; }, a.x == b.x && a.y == b.y && a.z == b.z, {1, 2, -3}, {4, 5, 6})
SHAPE(one_byte, "{a=c}", { int8_t x; }, a.x == b.x, {-1}, {-128})
SHAPE(bool_and_short, "{a=Bs}", { bool x; int16_t y; }, a.x == b.x && a.y == b.y, {true, -1}, {false, INT16_MIN})
SHAPE(two_longs, "{a=qQ}", { int64_t x; uint64_t y; }, a.x == b.x && a.y == b.y, {-1, 2}, {3, UINT64_MAX})
SHAPE(three_longs, "{a=[3q]}", { int64_t x[3]; }, !memcmp(&a, &b, sizeof a), {{1, -2, 3}}, {{4, -5, 6}})
SHAPE(pointers, "{a=*^v^?}", { char *x; void *y; function z; }, a.x == b.x && a.y == b.y && a.z == b.z, {0, &anything, nothing}, {"b", 0, 0})
SHAPE(nested, "{a=c{b=s{c=d}}[2{d=if}]}", { int8_t x; struct { int16_t x; one_double y; } y; float_then_int z[2]; },
      a.x == b.x && a.y.x == b.y.x && a.y.y.x == b.y.y.x && a.z[1].x == b.z[1].x && a.z[1].y == b.z[1].y,
      {1, {2, {3.5}}, {{4.5f, 5}, {6.5f, 7}}}, {-1, {-2, {-3.5}}, {{-4.5f, -5}, {-6.5f, -7}}})
SHAPE(matrix, "{a=[2[3s]]C}", { int16_t x[2][3]; uint8_t y; }, !memcmp(a.x, b.x, sizeof a.x) && a.y == b.y,
      {{{1, 2, 3}, {4, 5, 6}}, 7}, {{{-1, -2, -3}, {-4, -5, -6}}, 255})
SHAPE(every_scalar, "{a=cCsSiIqQfdB*}", { int8_t a; uint8_t b; int16_t c; uint16_t d; int32_t e; uint32_t f; int64_t g; uint64_t h; float i; double j; bool k; char *l; },
      a.a == b.a && a.b == b.b && a.c == b.c && a.d == b.d && a.e == b.e && a.f == b.f && a.g == b.g && a.h == b.h && a.i == b.i && a.j == b.j && a.k == b.k && a.l == b.l,
      {-1, 2, -3, 4, -5, 6, -7, 8, 9.5f, 10.5, true, 0}, {1, 255, 3, 65535, 5, UINT32_MAX, 7, UINT64_MAX, -9, -10, false, "x"})

/* --- Many arguments --------------------------------------------------------------------------------- */

#define FOUR(type, n) type a##n##0, type a##n##1, type a##n##2, type a##n##3
#define SUM(n, w) ((double)a##n##0 * (w) + (double)a##n##1 * (w + 1) + (double)a##n##2 * (w + 2) + (double)a##n##3 * (w + 3))
static double sum_of_ints(FOUR(int64_t, 0), FOUR(int64_t, 1), FOUR(int64_t, 2), FOUR(int64_t, 3), FOUR(int64_t, 4), FOUR(int64_t, 5), FOUR(int64_t, 6), FOUR(int64_t, 7)) {
    return SUM(0, 1) + SUM(1, 5) + SUM(2, 9) + SUM(3, 13) + SUM(4, 17) + SUM(5, 21) + SUM(6, 25) + SUM(7, 29);
}
static double sum_of_doubles(FOUR(double, 0), FOUR(double, 1), FOUR(double, 2), FOUR(double, 3), FOUR(double, 4), FOUR(double, 5), FOUR(double, 6), FOUR(double, 7)) {
    return SUM(0, 1) + SUM(1, 5) + SUM(2, 9) + SUM(3, 13) + SUM(4, 17) + SUM(5, 21) + SUM(6, 25) + SUM(7, 29);
}
static double sum_of_bytes(FOUR(int8_t, 0), FOUR(int8_t, 1), FOUR(int8_t, 2), FOUR(int8_t, 3), FOUR(int8_t, 4), FOUR(int8_t, 5), FOUR(int8_t, 6), FOUR(int8_t, 7)) {
    return SUM(0, 1) + SUM(1, 5) + SUM(2, 9) + SUM(3, 13) + SUM(4, 17) + SUM(5, 21) + SUM(6, 25) + SUM(7, 29);
}
static double sum_of_all(int8_t a, float b, int64_t c, double d, two_doubles e, uint16_t f, three_longs g, float h, float_then_int i, bool j) {
    return a + 2 * b + 3 * (double)c + 4 * d + 5 * e.x + 6 * e.y + 7 * f + 8 * (double)(g.x[0] + g.x[2]) + 9 * h + 10 * i.x + 11 * i.y + 12 * j;
}

#define CHECK_SUM(type, code, function)                                              \
    do {                                                                             \
        type values[32];                                                             \
        treadle_argument arguments[32];                                              \
        char signature[40] = "d";                                                    \
        double expected = 0, result = 0;                                             \
        for (int i = 0; i < 32; i++) {                                               \
            values[i] = (type)(i % 2 ? -i * 3 : i * 3 + 1);                          \
            arguments[i] = (treadle_argument)BOUND(values[i]);                       \
            strcat(signature, code);                                                 \
            expected += (double)values[i] * (i + 1);                                 \
        }                                                                            \
        call_into(made(CODE(function), signature, arguments, 32), &result, sizeof result); \
        CHECK(result == expected);                                                   \
    } while (0)

TEST(thirty_two_arguments, "") {
    CHECK_SUM(int64_t, "q", sum_of_ints);
    CHECK_SUM(double, "d", sum_of_doubles);
    CHECK_SUM(int8_t, "c", sum_of_bytes);
    int8_t a = -1;
    float b = 2.5f, h = -8;
    int64_t c = -3;
    double d = 4.25, result = 0;
    two_doubles e = {5, 6};
    uint16_t f = 65535;
    three_longs g = {{7, 8, 9}};
    float_then_int i = {9.5f, -10};
    bool j = true;
    call_into(ROUTINE(sum_of_all, "dcfqd{=dd}S{=[3q]}f{=fi}B", BOUND(a), BOUND(b), BOUND(c), BOUND(d), BOUND(e), BOUND(f), BOUND(g), BOUND(h), BOUND(i), BOUND(j)), &result, sizeof result);
    CHECK(result == sum_of_all(a, b, c, d, e, f, g, h, i, j));
}

/* --- What an event supplies -------------------------------------------------------------------------- */

static struct { void *loop, *subject; const char *mode; uint64_t value; int64_t descriptor, late; const treadle_event *event; void *bound; int calls; } seen;
static const treadle_event sample = {.struct_size = sizeof sample, .kind = TREADLE_EVENT_DESCRIPTOR, .value = 0x80000005, .token = 3,
                                     .loop = (treadle_loop)&seen, .subject = (void *)&sample, .mode = "a mode", .late_ns = -5, .descriptor = -1};

static void take_nothing(void) { seen.calls++; }
static void take_loop(void *loop) { seen.calls++, seen.loop = loop; }
static void take_two(const char *mode, void *bound) { seen.calls++, seen.mode = mode, seen.bound = bound; }
static void take_three(void *subject, void *loop, void *bound) { seen.calls++, seen.subject = subject, seen.loop = loop, seen.bound = bound; }
static void take_four(void *subject, void *loop, const char *mode, void *bound) { take_three(subject, loop, bound), seen.mode = mode; }
static void take_activity(void *subject, uint32_t activity, void *bound) { seen.calls++, seen.subject = subject, seen.value = activity, seen.bound = bound; }
static int32_t take_all(two_longs first, void *loop, char *mode, void *subject, uint64_t value, int64_t descriptor, int64_t late, const treadle_event *event, two_doubles last) {
    CHECK(first.x == -1 && first.y == 2 && last.x == 0.5 && last.y == 1.5);
    seen.calls++, seen.loop = loop, seen.mode = mode, seen.subject = subject, seen.value = value, seen.descriptor = descriptor;
    seen.late = late, seen.event = event;
    return -9;
}
static int take_ints(int32_t value, uint32_t descriptor, uint64_t late) {
    return seen.value = (uint32_t)value, seen.descriptor = descriptor, seen.late = (int64_t)late, 1;
}

static void call(treadle_routine routine, const treadle_event *event) {
    memset(&seen, 0x77, sizeof seen);
    seen.calls = 0;
    CHECK_INT(treadle_routine_call(routine, event, NULL, 0), TREADLE_OK);
}

TEST(common_signatures_are_called_with_bound_and_supplied_arguments, "") {
    void *info = &anything;
    treadle_routine routines[] = {
        ROUTINE(take_loop, "v^v", SUPPLIED(LOOP)),
        ROUTINE(take_two, "v*^v", SUPPLIED(MODE), BOUND(info)),
        ROUTINE(take_three, "v^v^v^v", SUPPLIED(SUBJECT), SUPPLIED(LOOP), BOUND(info)),
        ROUTINE(take_four, "v^v^v*^v", SUPPLIED(SUBJECT), SUPPLIED(LOOP), SUPPLIED(MODE), BOUND(info)),
        ROUTINE(take_activity, "v^vI^v", SUPPLIED(SUBJECT), SUPPLIED(VALUE), BOUND(info)),
    };
    for (int i = 0; i < 5; i++) {
        for (int turn = 0; turn < 3; turn++) { /* with, without, and again with an event */
            const treadle_event *event = turn == 1 ? NULL : &sample;
            call(routines[i], event);
            CHECK_INT(seen.calls, 1);
            if (i != 1 && i != 4) CHECK(seen.loop == (event ? &seen : NULL));
            if (i == 1 || i == 3) CHECK(event ? seen.mode == sample.mode : seen.mode == NULL);
            if (i >= 2) CHECK(seen.subject == (event ? (void *)&sample : NULL));
            if (i == 4) CHECK(seen.value == (event ? sample.value : 0));
            if (i > 0) CHECK(seen.bound == info);
        }
    }
    treadle_routine none = made(take_nothing, "v", NULL, 0), bound = ROUTINE(take_loop, "v^v", BOUND(info));
    call(none, &sample);
    CHECK_INT(seen.calls, 1);
    call(bound, &sample);
    CHECK(seen.loop == info);
    info = NULL; /* the bytes were copied */
    call(bound, NULL);
    CHECK(seen.loop == &anything);
}

TEST(every_argument_that_an_event_supplies, "") {
    const two_longs first = {-1, 2};
    const two_doubles last = {0.5, 1.5};
    int32_t result = 0;
    treadle_routine routine = ROUTINE(take_all, "i{=qQ}^v*^vQqq^v{=dd}", BOUND(first), SUPPLIED(LOOP), SUPPLIED(MODE), SUPPLIED(SUBJECT),
                                      SUPPLIED(VALUE), SUPPLIED(DESCRIPTOR), SUPPLIED(LATE), SUPPLIED(EVENT), BOUND(last));
    call(routine, &sample);
    CHECK(seen.loop == &seen && seen.mode == sample.mode && seen.subject == &sample && (seen.event == &sample || getenv("TREADLE_TEST_GROWTH")));
    CHECK(seen.value == 0x80000005 && seen.descriptor == -1 && seen.late == -5);
    CHECK_INT(treadle_routine_call(routine, NULL, &result, sizeof result), TREADLE_OK);
    CHECK(!seen.loop && !seen.mode && !seen.subject && !seen.event && !seen.value && !seen.descriptor && !seen.late && result == -9);
    treadle_routine ints = ROUTINE(take_ints, "iiIQ", SUPPLIED(VALUE), SUPPLIED(DESCRIPTOR), SUPPLIED(LATE));
    call(ints, &sample);
    CHECK(seen.value == 0x80000005 && seen.descriptor == UINT32_MAX && seen.late == -5);
}

/* --- Calls at the same time ---------------------------------------------------------------------------- */

static treadle_routine shared;
static int64_t total_of(bytes1000 block, int64_t late, int32_t depth) {
    int64_t total = late;
    for (int i = 0; i < 1000; i++) total += block.b[i], block.b[i] = 0xEE;
    if (depth == 0) return total;
    treadle_event inner = sample;
    int64_t result = 0;
    inner.value = (uint32_t)depth - 1;
    inner.late_ns = late + 1;
    CHECK_INT(treadle_routine_call(shared, &inner, &result, sizeof result), TREADLE_OK);
    return result;
}
static void *call_often(void *number) {
    treadle_event event = sample;
    for (int64_t i = 0; i < 2000; i++) {
        int64_t result = 0;
        event.late_ns = i * 1000 + (int64_t)(intptr_t)number * 100000000;
        event.value = (uint32_t)(i % 4); /* nested calls */
        CHECK_INT(treadle_routine_call(shared, &event, &result, sizeof result), TREADLE_OK);
        CHECK_INT(result, 3000 + event.late_ns + i % 4);
    }
    return NULL;
}
TEST(calls_of_one_routine_may_nest_and_overlap, "") {
    bytes1000 block;
    memset(&block, 3, sizeof block);
    shared = ROUTINE(total_of, "q{=[1000C]}qi", BOUND(block), SUPPLIED(LATE), SUPPLIED(VALUE));
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, call_often, (void *)i) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_INT(treadle_routine_release(shared), TREADLE_OK);
    CHECK_INT(destroyed, 1);
}

/* --- Life ------------------------------------------------------------------------------------------------ */

TEST(destroy_is_called_with_the_last_reference, "") {
    treadle_routine routine = made(take_nothing, "v", NULL, 0);
    CHECK_INT(treadle_routine_retain(routine), TREADLE_OK);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    CHECK_INT(destroyed, 0);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    CHECK_INT(destroyed, 1);
    CHECK_ERROR(treadle_routine_release(routine), TREADLE_E_STALE, "object");
    CHECK_ERROR(treadle_routine_retain(routine), TREADLE_E_STALE, "object");
    CHECK_ERROR(treadle_routine_call(routine, NULL, NULL, 0), TREADLE_E_STALE, "routine");
    treadle_routine other = made(take_nothing, "v", NULL, 0);
    CHECK(other != routine);
    CHECK_ERROR(treadle_routine_call(routine, NULL, NULL, 0), TREADLE_E_STALE, "routine");
    CHECK_INT(destroyed, 1);
}

TEST(a_routine_needs_no_destroy, "") {
    treadle_routine_config config = {.struct_size = sizeof config, .code = take_nothing, .signature = "v"};
    treadle_routine routine = NULL;
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    call(routine, NULL);
    CHECK_INT(seen.calls, 1);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
}

static treadle_routine suicidal;
static int32_t release_itself(void) {
    CHECK_INT(treadle_routine_release(suicidal), TREADLE_OK);
    CHECK_INT(destroyed, 0); /* it runs still */
    return 5;
}
TEST(a_function_may_release_its_own_routine, "") {
    int32_t result = 0;
    suicidal = made(CODE(release_itself), "i", NULL, 0);
    CHECK_INT(treadle_routine_call(suicidal, NULL, &result, sizeof result), TREADLE_OK);
    CHECK(result == 5 && destroyed == 1);
    CHECK_ERROR(treadle_routine_call(suicidal, NULL, NULL, 0), TREADLE_E_STALE, "routine");
}

TEST(bad_handles_and_results_are_refused, "") {
    treadle_routine routine = made(CODE(wide), "Q", NULL, 0);
    treadle_event old = {.struct_size = sizeof old - 9};
    treadle_signature signature = NULL;
    uint64_t result = 7;
    size_t count;
    CHECK_INT(treadle_signature_parse("v", &signature), TREADLE_OK);
    CHECK_ERROR(treadle_routine_call(NULL, NULL, NULL, 0), TREADLE_E_ARG, "routine");
    CHECK_ERROR(treadle_routine_call((treadle_routine)signature, NULL, NULL, 0), TREADLE_E_KIND, "routine");
    CHECK_ERROR(treadle_retain(&result), TREADLE_E_STALE, "object");
    CHECK_ERROR(treadle_release((treadle_object)(uintptr_t)12345), TREADLE_E_STALE, "object");
    CHECK_ERROR(treadle_signature_get_argument_count((treadle_signature)routine, &count), TREADLE_E_KIND, "signature");
    CHECK_ERROR(treadle_routine_call(routine, NULL, &result, 4), TREADLE_E_RANGE, "result_size");
    CHECK_ERROR(treadle_routine_call(routine, NULL, &result, 16), TREADLE_E_RANGE, "result_size");
    CHECK_ERROR(treadle_routine_call(routine, NULL, NULL, 8), TREADLE_E_ARG, "result");
    CHECK_ERROR(treadle_routine_call(routine, &old, &result, 8), TREADLE_E_ARG, "event");
    CHECK_INT(result, 7);
    CHECK_INT(treadle_routine_call(routine, NULL, &result, 0), TREADLE_OK);
    CHECK_INT(result, 7);
    CHECK_ERROR(treadle_routine_call(made(take_nothing, "v", NULL, 0), NULL, &result, 1), TREADLE_E_RANGE, "result_size");
}

/* Refused, with destroy called once and no routine. */
#define CHECK_REFUSED(config, status, word)                                       \
    do {                                                                          \
        treadle_routine refused_ = (treadle_routine)&destroyed;                   \
        destroyed = 0;                                                            \
        CHECK_ERROR(treadle_routine_create(&(config), &refused_), status, word);  \
        CHECK(refused_ == NULL);                                                  \
        CHECK_INT(destroyed, 1);                                                  \
    } while (0)

static void check_refused(const char *signature, treadle_argument argument, treadle_status status, const char *word) {
    treadle_argument arguments[2] = {{TREADLE_ARGUMENT_LOOP, 0, NULL, 0}, argument};
    char whole[64] = "v^v";
    treadle_routine_config config = config_of(take_nothing, strcat(whole, signature), arguments, 2);
    treadle_error_info info = {.struct_size = sizeof info};
    CHECK_REFUSED(config, status, word);
    treadle_last_error(&info);
    CHECK(strstr(info.message, "(argument 1)"));
}

TEST(refused_routines_are_destroyed, "") {
    const int32_t i = 5;
    const treadle_argument bound = BOUND(i);
    treadle_routine_config config = config_of(NULL, "vi", &bound, 1);
    CHECK_REFUSED(config, TREADLE_E_ARG, "code");
    config.code = take_nothing;
    config.signature = NULL;
    CHECK_REFUSED(config, TREADLE_E_ARG, "signature");
    config.signature = "vl";
    CHECK_REFUSED(config, TREADLE_E_SIGNATURE, "signature has l or L");
    CHECK_REFUSED(config, TREADLE_E_SIGNATURE, "(at offset 1)");
    config.signature = "vii";
    CHECK_REFUSED(config, TREADLE_E_ARG, "argument_count");
    config.signature = "v";
    CHECK_REFUSED(config, TREADLE_E_ARG, "argument_count");
    config.signature = "vi";
    config.argument_count = SIZE_MAX;
    CHECK_REFUSED(config, TREADLE_E_ARG, "argument_count");
    config.argument_count = 1;
    config.arguments = NULL;
    CHECK_REFUSED(config, TREADLE_E_ARG, "arguments");
    config.arguments = &bound;
    destroyed = 0;
    CHECK_ERROR(treadle_routine_create(&config, NULL), TREADLE_E_ARG, "out_routine");
    CHECK_INT(destroyed, 1);
    struct { treadle_routine_config known; uint64_t unknown[2]; } newer = {config, {0, 1}};
    newer.known.struct_size = sizeof newer;
    CHECK_REFUSED(newer.known, TREADLE_E_TOO_NEW, "config");
    treadle_routine routine = NULL;
    newer.unknown[1] = 0;
    CHECK_INT(treadle_routine_create(&newer.known, &routine), TREADLE_OK);
    CHECK_ERROR(treadle_routine_create(NULL, &routine), TREADLE_E_ARG, "config");
    CHECK(routine == NULL);
}

TEST(arguments_that_do_not_fit_are_refused, "") {
    const int32_t i = 5;
    check_refused("q", (treadle_argument)BOUND(i), TREADLE_E_ARG, "size");
    check_refused("c", (treadle_argument)BOUND(i), TREADLE_E_ARG, "size");
    check_refused("{=ii}", (treadle_argument)BOUND(i), TREADLE_E_ARG, "size");
    check_refused("i", (treadle_argument){TREADLE_ARGUMENT_BOUND, 0, NULL, 4}, TREADLE_E_ARG, "value");
    check_refused("i", (treadle_argument){8, 0, NULL, 0}, TREADLE_E_ARG, "kind");
    check_refused("i", (treadle_argument){UINT32_MAX, 0, &i, 4}, TREADLE_E_ARG, "kind");
    check_refused("i", (treadle_argument){TREADLE_ARGUMENT_BOUND, 1, &i, 4}, TREADLE_E_ARG, "reserved");
    check_refused("^v", (treadle_argument){TREADLE_ARGUMENT_LOOP, 0, &i, 0}, TREADLE_E_ARG, "value");
    check_refused("^v", (treadle_argument){TREADLE_ARGUMENT_LOOP, 0, NULL, 8}, TREADLE_E_ARG, "value");
    /* Which types each kind goes with: all others are refused. */
    static const char *const codes[] = {"c", "C", "s", "S", "i", "I", "q", "Q", "f", "d", "B", "*", "^v", "^?", "{=q}", "{=^v}"};
    static const char *const fitting[] = {"", "*^v", "*^v", "*^v", "iIqQ", "iIqQ", "qQ", "*^v"};
    for (uint32_t kind = TREADLE_ARGUMENT_LOOP; kind <= TREADLE_ARGUMENT_EVENT; kind++) {
        for (size_t code = 0; code < COUNT(codes); code++) {
            const treadle_argument argument = {kind, 0, NULL, 0};
            if (!strstr(fitting[kind], codes[code])) {
                check_refused(codes[code], argument, TREADLE_E_ARG, "kind");
                continue;
            }
            char signature[8] = "v";
            destroyed = 0;
            CHECK_INT(treadle_routine_release(made(take_nothing, strcat(signature, codes[code]), &argument, 1)), TREADLE_OK);
            CHECK_INT(destroyed, 1);
        }
    }
}

TEST_MAIN()
