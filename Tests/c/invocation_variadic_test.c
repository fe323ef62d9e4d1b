/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * invocation_variadic_test.c: calls of variadic functions: the same as those that the C compiler makes, with its
 * promotions. Also through routines. */
#include "invocations.h"

#include <math.h>

/* --- Against the C compiler's own calls ------------------------------------------------------------- */

static char text[512];
static treadle_invocation printer(const char *variadic, const char *format) {
    char signature[64] = "i^vQO*...";
    void *out = text;
    treadle_invocation i = invocation_make(CODE(snprintf), strcat(signature, variadic));
    memset(text, '#', sizeof text - 1);
    INVOCATION_SET(i, 0, void *, out);
    INVOCATION_SET(i, 1, uint64_t, sizeof text);
    INVOCATION_SET(i, 2, const char *, format);
    return i;
}
static struct server server;
/* Compares with what the compiler makes of the same list: here, and on another thread. */
static void check_printed(treadle_invocation i, const char *expected) {
    for (int where = 0; where < 2; where++) {
        CHECK_INT(invoke(i, where ? server.loop : NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
        CHECK_TEXT(text, expected);
        CHECK_INT(INVOCATION_RESULT(i, int32_t), strlen(expected));
        memset(text, '#', sizeof text - 1);
    }
    invocation_end(i);
}
#define PRINTED(...) (snprintf(expected, sizeof expected, __VA_ARGS__), expected)

TEST(printed_lists, "") {
    char expected[512];
    server_start(&server);
    check_printed(printer("", "nothing"), PRINTED("%s", "nothing"));
    treadle_invocation i = printer("i", "%d");
    INVOCATION_SET(i, 3, int32_t, -77);
    check_printed(i, PRINTED("%d", -77));
    i = printer("cCsSB", "%hhd %hhu %hd %hu %d");
    INVOCATION_SET(i, 3, int8_t, -128);
    INVOCATION_SET(i, 4, uint8_t, 255);
    INVOCATION_SET(i, 5, int16_t, -32768);
    INVOCATION_SET(i, 6, uint16_t, 65535);
    INVOCATION_SET(i, 7, bool, true);
    check_printed(i, PRINTED("%hhd %hhu %hd %hu %d", (int8_t)-128, (uint8_t)255, (int16_t)-32768, (uint16_t)65535, true));
    i = printer("cCsSB", "%d %d %d %d %d"); /* as ints they keep their sign and value */
    INVOCATION_SET(i, 3, int8_t, -128);
    INVOCATION_SET(i, 4, uint8_t, 255);
    INVOCATION_SET(i, 5, int16_t, -32768);
    INVOCATION_SET(i, 6, uint16_t, 65535);
    INVOCATION_SET(i, 7, bool, true);
    check_printed(i, PRINTED("%d %d %d %d %d", (int8_t)-128, (uint8_t)255, (int16_t)-32768, (uint16_t)65535, true));
    i = printer("fd", "%a %.17g");
    INVOCATION_SET(i, 3, float, -1.7014118e38f);
    INVOCATION_SET(i, 4, double, 0.1);
    check_printed(i, PRINTED("%a %.17g", -1.7014118e38f, 0.1));
    i = printer("IqQ*^v", "%u %lld %llu %s %p");
    INVOCATION_SET(i, 3, uint32_t, 4000000000u);
    INVOCATION_SET(i, 4, int64_t, INT64_MIN);
    INVOCATION_SET(i, 5, uint64_t, UINT64_MAX);
    INVOCATION_SET(i, 6, const char *, "a word");
    INVOCATION_SET(i, 7, void *, &server);
    check_printed(i, PRINTED("%u %lld %llu %s %p", 4000000000u, (long long)INT64_MIN, (unsigned long long)UINT64_MAX, "a word", (void *)&server));
    /* More of each kind than there are registers. */
    i = printer("fififififififififififififid", "%g %d %g %d %g %d %g %d %g %d %g %d %g %d %g %d %g %d %g %d %g %d %g %d %g %d %g");
    for (int n = 0; n < 13; n++) {
        INVOCATION_SET(i, 3 + 2 * (size_t)n, float, 0.5f * (float)n);
        INVOCATION_SET(i, 4 + 2 * (size_t)n, int32_t, -n);
    }
    INVOCATION_SET(i, 29, double, 1e300);
    check_printed(i, PRINTED("%g %d %g %d %g %d %g %d %g %d %g %d %g %d %g %d %g %d %g %d %g %d %g %d %g %d %g", 0.0, 0, 0.5, -1, 1.0, -2,
                             1.5, -3, 2.0, -4, 2.5, -5, 3.0, -6, 3.5, -7, 4.0, -8, 4.5, -9, 5.0, -10, 5.5, -11, 6.0, -12, 1e300));
    server_end(&server);
}

/* A seeded generator of lists: the format is made along with the list, and a va_list of the compiler's own
 * is replaced by printing each piece by itself. */
static uint64_t state;
static uint32_t chance(uint32_t bound) { /* splitmix64 */
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return (uint32_t)((z ^ z >> 31) >> 32) % bound;
}
static void print_at_random(void) {
    static const char codes[] = "cCsSiIqQfdB*";
    static const char *const formats[] = {"%hhd", "%hhu", "%hd", "%hu", "%d", "%u", "%lld", "%llu", "%.9g", "%.17g", "%d", "%s"};
    static const char *const words[] = {"", "x", "two words", "%d"};
    char list[32] = "", format[300] = "", expected[512] = "";
    uint8_t values[24][8];
    int count = (int)chance(24);
    for (int n = 0; n < count; n++) {
        uint32_t kind = chance(sizeof codes - 1);
        char piece[64];
        uint64_t bits = ((uint64_t)chance(UINT32_MAX) << 32) | chance(UINT32_MAX);
        list[n] = codes[kind];
        strcat(strcat(format, formats[kind]), ",");
        memcpy(values[n], &bits, 8);
#define PIECE(type, ...)                                                                     \
    do {                                                                                     \
        type value = __VA_ARGS__;                                                            \
        memcpy(values[n], &value, sizeof value);                                             \
        snprintf(piece, sizeof piece, formats[kind], value);                                 \
    } while (0)
        switch (codes[kind]) {
        case 'c': PIECE(int8_t, (int8_t)bits); break;
        case 'C': PIECE(uint8_t, (uint8_t)bits); break;
        case 's': PIECE(int16_t, (int16_t)bits); break;
        case 'S': PIECE(uint16_t, (uint16_t)bits); break;
        case 'i': PIECE(int32_t, (int32_t)bits); break;
        case 'I': PIECE(uint32_t, (uint32_t)bits); break;
        case 'q': PIECE(long long, (long long)bits); break;
        case 'Q': PIECE(unsigned long long, bits); break;
        case 'f': PIECE(float, (float)(int64_t)bits / 7); break;
        case 'd': PIECE(double, (double)(int64_t)bits / 7); break;
        case 'B': PIECE(bool, bits & 1); break;
        default: PIECE(const char *, words[bits % 4]); break;
        }
        strcat(strcat(expected, piece), ",");
    }
    list[count] = 0;
    treadle_invocation i = printer(list, format);
    for (int n = 0; n < count; n++) {
        size_t size = 0, alignment = 0;
        treadle_signature signature = NULL;
        char encoding[64] = "i^vQO*...";
        uint8_t back[8];
        CHECK_INT(treadle_signature_parse(strcat(encoding, list), &signature), TREADLE_OK);
        CHECK_INT(treadle_signature_get_layout(signature, 3 + n, &size, &alignment), TREADLE_OK);
        CHECK_INT(treadle_invocation_set_argument(i, 3 + (size_t)n, values[n], size), TREADLE_OK);
        CHECK_INT(treadle_invocation_get_argument(i, 3 + (size_t)n, back, size), TREADLE_OK);
        CHECK(memcmp(back, values[n], size) == 0); /* what was promoted comes back as it was given */
    }
    CHECK_INT(invoke(i, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    if (strlen(expected) < sizeof text) CHECK_TEXT(text, expected);
    invocation_end(i);
}
TEST(printed_lists_at_random, "") {
    state = 20;
    for (int n = scaled(2000); n; n--) print_at_random();
}

/* --- Functions of our own --------------------------------------------------------------------------- */

struct shape { int8_t a; double b; };
struct large { int64_t words[5]; };
static double total(int count, ...) {
    va_list list;
    double sum = 0;
    va_start(list, count);
    for (int n = 0; n < count; n++) {
        struct shape shape = va_arg(list, struct shape);
        struct large large = va_arg(list, struct large);
        sum += shape.a + shape.b + (double)large.words[4] + va_arg(list, double);
    }
    va_end(list);
    return sum;
}
TEST(structs_in_a_variadic_list, "") {
    treadle_invocation i = INVOCATION(total, "di...{s=cd}{l=[5q]}f{s=cd}{l=[5q]}d");
    INVOCATION_SET(i, 0, int32_t, 2);
    for (size_t n = 0; n < 2; n++) {
        INVOCATION_SET(i, 1 + 3 * n, struct shape, {(int8_t)(-5), 0.25});
        INVOCATION_SET(i, 2 + 3 * n, struct large, {{0, 0, 0, 0, 1000}});
    }
    INVOCATION_SET(i, 3, float, 0.5f);
    INVOCATION_SET(i, 6, double, 0.125);
    CHECK_INT(invoke(i, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK(INVOCATION_RESULT(i, double) == 1991.125);
    invocation_end(i);
}

/* Where the variadic part begins makes a difference. */
static float fixed_float(float a, float b, int32_t count, ...) {
    va_list list;
    va_start(list, count);
    double c = va_arg(list, double);
    va_end(list);
    return a * b + (float)c * (float)count;
}
TEST(floats_before_the_dots_stay_floats, "") {
    treadle_invocation i = INVOCATION(fixed_float, "fffi...f");
    INVOCATION_SET(i, 0, float, 3.0f);
    INVOCATION_SET(i, 1, float, 0.5f);
    INVOCATION_SET(i, 2, int32_t, 1);
    INVOCATION_SET(i, 3, float, 0.25f);
    CHECK_INT(invoke(i, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK(INVOCATION_RESULT(i, float) == 1.75f);
    invocation_end(i);
}

static void collect(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
}
TEST(pointers_in_a_variadic_list, "") {
    /* Only pointers and no result: without the dots it would be called without libffi. */
    treadle_invocation i = INVOCATION(collect, "v*...**");
    INVOCATION_SET(i, 0, const char *, "%s+%s");
    INVOCATION_SET(i, 1, const char *, "one");
    INVOCATION_SET(i, 2, const char *, "two");
    CHECK_INT(invoke(i, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_TEXT(text, "one+two");
    invocation_end(i);
}

/* Bound arguments of routines, and what an event supplies. */
TEST(routines_of_variadic_functions, "") {
    const char *format = "%d %d %.2f %d %s";
    int8_t narrow = -3;
    uint16_t wide = 60000;
    float real = 2.5f;
    const treadle_argument arguments[] = {
        {TREADLE_ARGUMENT_BOUND, 0, &format, sizeof format}, {TREADLE_ARGUMENT_BOUND, 0, &narrow, sizeof narrow},
        {TREADLE_ARGUMENT_BOUND, 0, &wide, sizeof wide},     {TREADLE_ARGUMENT_BOUND, 0, &real, sizeof real},
        {TREADLE_ARGUMENT_VALUE, 0, NULL, 0},                {TREADLE_ARGUMENT_MODE, 0, NULL, 0}};
    treadle_routine_config config = {.struct_size = sizeof config, .code = CODE(collect), .signature = "v*...cSfi*",
                                     .arguments = arguments, .argument_count = 6};
    treadle_event event = {.struct_size = sizeof event, .value = 77, .mode = "a mode"};
    treadle_routine routine = NULL;
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    CHECK_INT(treadle_routine_call(routine, &event, NULL, 0), TREADLE_OK);
    CHECK_TEXT(text, "-3 60000 2.50 77 a mode");
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
}

TEST_MAIN()
