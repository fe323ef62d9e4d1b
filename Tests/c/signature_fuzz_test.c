/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * signature_fuzz_test.c: the parser of type encodings: what it accepts, what it refuses and why, and that
 * no input of more than a million does harm. The contract is routine.h; no numbered rule speaks of it. */
#include "helpers.h"

#include <sys/mman.h>

enum { LONGEST = 1024, MOST = 65536 };

/* --- What is accepted ----------------------------------------------------------------------------- */

static treadle_signature parsed(const char *encoding) {
    treadle_signature signature = NULL;
    treadle_status status = treadle_signature_parse(encoding, &signature);
    if (status) check_failed(__FILE__, __LINE__, "\"%s\" is refused with %d", encoding, status);
    return signature;
}

static const char *prototype(const char *encoding) {
    static char text[4096];
    size_t length = 0;
    CHECK_INT(treadle_signature_describe(parsed(encoding), text, sizeof text, &length), TREADLE_OK);
    CHECK_INT(length, strlen(text));
    return text;
}

TEST(prototypes_name_the_types, "") {
    CHECK_TEXT(prototype("v"), "void f(void)");
    CHECK_TEXT(prototype("i^vq"), "int32_t f(void *, int64_t)");
    CHECK_TEXT(prototype("BcCsSiIqQfdB*"), "bool f(int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, "
                                           "uint64_t, float, double, bool, char *)");
    CHECK_TEXT(prototype("^?^?^v"), "void (*f(void (*)(void), void *))(void)");
    CHECK_TEXT(prototype("*{point=dd}"), "char *f(struct { double; double; })");
    CHECK_TEXT(prototype("{a=[2[3i]][4^?]{b=*}}C"),
               "struct { int32_t[2][3]; void (*[4])(void); struct { char *; }; } f(uint8_t)");
}

TEST(prototypes_tell_what_else_there_is, "") {
    CHECK_TEXT(prototype("i*..."), "int32_t f(char *, ...)");
    CHECK_TEXT(prototype("i^v*...fcd{=ii}"), "int32_t f(void *, char *, ... /* float, int8_t, double, struct { int32_t; int32_t; } */)");
    CHECK_TEXT(prototype("VvO*iN^vo^q"),
               "/* oneway */ void f(/* by copy */ char *, int32_t, /* in and out */ void *, /* out */ void *)");
    CHECK_TEXT(prototype("iON^v...O*"), "int32_t f(/* by copy */ /* in and out */ void *, ... /* char * */)");
}

TEST(what_makes_no_difference_to_a_call_gives_the_same_signature, "") {
    CHECK(parsed("v^v") == parsed("v^v"));
    CHECK(parsed("vr^v") == parsed("v^v"));
    CHECK(parsed("v16^v0") == parsed("v^v"));
    CHECK(parsed("rnNoORv^v") == parsed("v^v"));
    CHECK(parsed("v^{node=^{node}i}") == parsed("v^v"));
    CHECK(parsed("v^^^i") == parsed("v^v"));
    CHECK(parsed("{point=\"x\"d\"y\"d}") == parsed("{_?=dd}"));
    CHECK(parsed("v{a=[007i]}") == parsed("v{b=[7i]}"));
    CHECK(parsed("v*") != parsed("v^v"));
    CHECK(parsed("v^?") != parsed("v^v"));
    CHECK(parsed("i") != parsed("I"));
    CHECK(parsed("v{=ii}") != parsed("vii"));
    CHECK(parsed("v{=[2i]}") != parsed("v{=ii}")); /* one layout, but two C types */
    /* Qualifiers that somebody heeds make a difference, where he does; in whatever order they come. */
    CHECK(parsed("vO^v") != parsed("v^v") && parsed("vN^v") != parsed("v^v") && parsed("vo^v") != parsed("v^v"));
    CHECK(parsed("Vv^v") != parsed("v^v") && parsed("Vv^v") == parsed("VrVvR^v"));
    CHECK(parsed("vONr^v") == parsed("vNOnN^v") && parsed("vNo^v") == parsed("vN^v"));
    CHECK(parsed("OiNioqo^?O{=^v}") == parsed("iiq^?{=^v}") && parsed("v^O^v") == parsed("v^v"));
    /* So does what is variadic, and where that begins. */
    CHECK(parsed("i*...i") != parsed("i*i") && parsed("i*...ii") != parsed("i*i...i") && parsed("i*...") != parsed("i*"));
    CHECK(parsed("i*8...i24") == parsed("i*...i"));
}

TEST(a_pointer_may_point_to_anything, "") {
    const char *pointers[] = {"^v", "^^v", "^l", "^L", "^D", "^t", "^T", "^#", "^:", "^@", "^@?", "^@\"Name\"", "^jd", "^Ai",
                              "^(u=id)", "^(u)", "^{a}", "^{a=}", "^{a=b3b29}", "^{a={b}}", "^[12^v]", "^[i]", "^[0c]",
                              "^[99999999999999999999q]", "^{a=[1000000000q]}", "^rv", "^{a=\"n\"@\"N\"\"m\"l}", "^{?=(?=lL)}"};
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
        char encoding[64] = "v";
        if (parsed(strcat(encoding, pointers[i])) != parsed("v^v")) check_failed(__FILE__, __LINE__, "%s is no pointer", encoding);
    }
}

TEST(describe_fits_the_buffer_and_tells_the_whole_length, "") {
    const char *whole = "int32_t f(void *, int64_t)";
    for (size_t capacity = 0; capacity < 40; capacity++) {
        char buffer[64];
        size_t length = 0, kept = strlen(whole) < capacity ? strlen(whole) : capacity - 1;
        memset(buffer, '#', sizeof buffer);
        CHECK_INT(treadle_signature_describe(parsed("i^vq"), capacity ? buffer : NULL, capacity, &length), TREADLE_OK);
        CHECK_INT(length, strlen(whole));
        if (capacity) CHECK(memcmp(buffer, whole, kept) == 0 && buffer[kept] == 0);
        CHECK(buffer[capacity] == '#');
    }
}

TEST(layouts_are_those_of_the_c_compiler, "") {
    struct mixed { int8_t a; double b; int16_t c[3]; struct { int8_t d; float e; } f[2]; void *g; };
    treadle_signature signature = parsed("{mixed=cd[3s][2{=cf}]^v}cSiQfd*B{=[5C]}");
    const size_t layouts[][2] = {{sizeof(struct mixed), _Alignof(struct mixed)}, {1, 1}, {2, 2}, {4, 4}, {8, _Alignof(uint64_t)},
                                 {4, 4}, {8, _Alignof(double)}, {sizeof(char *), _Alignof(char *)}, {sizeof(bool), _Alignof(bool)},
                                 {5, 1}};
    size_t count = 0, size = 1, alignment = 0;
    CHECK_INT(treadle_signature_get_argument_count(signature, &count), TREADLE_OK);
    CHECK_INT(count, 9);
    for (int32_t i = -1; i < 9; i++) {
        CHECK_INT(treadle_signature_get_layout(signature, i, &size, &alignment), TREADLE_OK);
        CHECK_INT(size, layouts[i + 1][0]);
        CHECK_INT(alignment, layouts[i + 1][1]);
    }
    CHECK_INT(treadle_signature_get_layout(parsed("v"), -1, &size, &alignment), TREADLE_OK);
    CHECK(size == 0 && alignment == 1);
    const int32_t wrong[] = {9, -2, INT32_MAX, INT32_MIN};
    for (int i = 0; i < 4; i++)
        CHECK_ERROR(treadle_signature_get_layout(signature, wrong[i], &size, &alignment), TREADLE_E_RANGE, "index");
}

/* --- What is refused ------------------------------------------------------------------------------ */

static void check_refused(const char *encoding, const char *reason, int offset) {
    treadle_signature signature = (treadle_signature)&offset;
    treadle_error_info info = {.struct_size = sizeof info};
    char where[32];
    CHECK_ERROR(treadle_signature_parse(encoding, &signature), TREADLE_E_SIGNATURE, reason);
    CHECK(signature == NULL);
    treadle_last_error(&info);
    CHECK_TEXT(info.function, "treadle_signature_parse");
    snprintf(where, sizeof where, "(at offset %d)", offset);
    if (!strstr(info.message, where)) check_failed(__FILE__, __LINE__, "\"%s\": not %s", encoding, where);
}

TEST(refusals_name_the_reason_and_the_place, "") {
    static const struct { const char *encoding, *reason; int offset; } refusals[] = {
        {"", "is empty", 0},
        {"vl", "l or L", 1},
        {"Lv", "l or L", 0},
        {"v{a=il}", "l or L", 5},
        {"i(u=id)", "union", 1},
        {"v{a=(u=id)}", "union", 4},
        {"vb3", "bit-field", 1},
        {"v{a=b3}", "bit-field", 4},
        {"v@", "object", 1},
        {"@", "object", 0},
        {"v@?", "object", 1},
        {"v#", "class", 1},
        {"v@:", "object", 1},
        {"v:", "selector", 1},
        {"vD", "long double", 1},
        {"vt", "128-bit", 1},
        {"T", "128-bit", 0},
        {"vjd", "complex", 1},
        {"vAi", "atomic", 1},
        {"v[3i]", "array as argument or result", 1},
        {"[3i]", "array as argument or result", 0},
        {"v{a=}", "empty struct", 1},
        {"v{a=i{b=}}", "empty struct", 5},
        {"v{a}", "incomplete struct", 1},
        {"{a}", "incomplete struct", 0},
        {"v{a=[0i]}", "length above 0", 4},
        {"v{a=[i]}", "length above 0", 4},
        {"v{a=[3i}", "lacks the ]", 7},
        {"v{a=i", "closing bracket", 5},
        {"v{a", "closing bracket", 3},
        {"v{", "closing bracket", 2},
        {"v^{a=i", "closing bracket", 6},
        {"v^(u=i", "closing bracket", 6},
        {"v{a=\"xi}", "closing quote", 4},
        {"v}", "bracket too many", 1},
        {"v]", "bracket too many", 1},
        {"v{a=i)}", "bracket too many", 5},
        {"vv", "void", 1},
        {"iiv", "void", 2},
        {"v{a=v}", "void", 4},
        {"v{a=[2v]}", "void", 6},
        {"vVi", "oneway", 1},
        {"v{a=Vi}", "oneway", 4},
        {"v^Vi", "oneway", 2},
        {"v...", "no argument before", 1},
        {"v...i", "no argument before", 1},
        {"vi...i...", "... twice", 6},
        {"vi......", "... twice", 5},
        {"vi..", "not three", 2},
        {"vi.i", "not three", 2},
        {"vi....", "not three", 5},
        {"...", "does not begin a type", 0},
        {"vi{a=...}", "does not begin a type", 5},
        {"vi...v", "void", 5},
        {"vir...", "does not begin a type", 3},
        {"r", "ends where", 1},
        {"v^", "ends where", 2},
        {"vr", "ends where", 2},
        {"v{a=[2", "ends where", 6},
        {"v?", "unknown type", 1},
        {"vz", "does not begin a type", 1},
        {"v^z", "does not begin a type", 2},
        {"v i", "does not begin a type", 1},
        {"v\xC3\xA9", "does not begin a type", 1},
        {"8v", "does not begin a type", 0},
        {"v{a=[4097c]}", "4,096 bytes", 4},
        {"v{a=[513q]}", "4,096 bytes", 4},
        {"v{a=[4096c]c}", "4,096 bytes", 1},
        {"{a=[4096c]c}", "4,096 bytes", 0},
        {"v{a=[4096c]}c", "4,096 bytes", 12}, /* the arguments together */
        {"v{a=[1000000000q]}", "4,096 bytes", 4},
        {"v{a=[18446744073709551617c]}", "4,096 bytes", 4},
        {"v{a=[64[64[64[64[64q]]]]]}", "4,096 bytes", 13},
        {"v{a=[4096{b=[4096{c=[4096q]}]}]}", "4,096 bytes", 20},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        check_refused(refusals[i].encoding, refusals[i].reason, refusals[i].offset);
}

static char *build(char *text, const char *begin, const char *middle, int times, const char *end) {
    strcpy(text, begin);
    for (int i = 0; i < times; i++) strcat(text, middle);
    return strcat(text, end);
}

TEST(limits_are_exact, "") {
    char text[2 * LONGEST];
    size_t count = 0;
    CHECK_INT(treadle_signature_get_argument_count(parsed(build(text, "v", "i", 32, "")), &count), TREADLE_OK);
    CHECK_INT(count, 32);
    check_refused(build(text, "v", "i", 33, ""), "more than 32 arguments", 33);

    parsed(build(text, "v", "^", 32, "v"));
    check_refused(build(text, "v", "^", 33, "v"), "nesting", 33);
    char closed[LONGEST];
    parsed(build(text, "v", "{=", 32, build(closed, "c", "}", 32, "")));
    check_refused(build(text, "v", "{=", 33, "c"), "nesting", 65);

    CHECK_INT(strlen(build(text, "v^{", "n", LONGEST - 4, "}")), LONGEST);
    parsed(text);
    check_refused(build(text, "v^{", "n", LONGEST - 3, "}"), "more than 1,024 characters", LONGEST);
    parsed("{=[4096c]}{=[512q]}");
}

TEST(bad_calls_are_refused, "") {
    treadle_signature signature = NULL, garbage = (treadle_signature)(uintptr_t)0x1234567;
    size_t size, alignment;
    char text[8];
    CHECK_ERROR(treadle_signature_parse(NULL, &signature), TREADLE_E_ARG, "encoding");
    CHECK_ERROR(treadle_signature_parse("v", NULL), TREADLE_E_ARG, "out_signature");
    signature = parsed("v");
    CHECK_ERROR(treadle_signature_get_argument_count(NULL, &size), TREADLE_E_ARG, "signature");
    CHECK_ERROR(treadle_signature_get_argument_count(garbage, &size), TREADLE_E_STALE, "signature");
    CHECK_ERROR(treadle_signature_get_argument_count((treadle_signature)&size, &size), TREADLE_E_STALE, "signature");
    CHECK_ERROR(treadle_signature_get_argument_count(signature, NULL), TREADLE_E_ARG, "out_count");
    CHECK_ERROR(treadle_signature_get_layout(signature, -1, NULL, &alignment), TREADLE_E_ARG, "out_size");
    CHECK_ERROR(treadle_signature_get_layout(signature, -1, &size, NULL), TREADLE_E_ARG, "out_alignment");
    CHECK_ERROR(treadle_signature_describe(signature, NULL, 8, &size), TREADLE_E_ARG, "buffer");
    CHECK_ERROR(treadle_signature_describe(signature, text, 8, NULL), TREADLE_E_ARG, "out_length");
    CHECK_ERROR(treadle_signature_describe(garbage, text, 8, &size), TREADLE_E_STALE, "signature");
}

/* --- Whatever anybody may pass --------------------------------------------------------------------- */

static uint64_t state;
static uint32_t chance(uint32_t bound) { /* splitmix64 */
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return (uint32_t)((z ^ z >> 31) >> 32) % bound;
}

/* A valid type and, by arithmetic of its own, its layout. */
struct layout { size_t size, alignment; };
static struct layout any_type(char *text, int depth) {
    static const struct { char text[3]; uint8_t size; } scalars[] = {{"c", 1}, {"C", 1}, {"s", 2}, {"S", 2}, {"i", 4}, {"I", 4},
        {"q", 8}, {"Q", 8}, {"f", 4}, {"d", 8}, {"B", 1}, {"*", sizeof(char *)}, {"^v", sizeof(void *)}, {"^?", sizeof(void *)}};
    struct layout whole = {0, 1};
    if (depth == 0 || chance(4)) {
        uint32_t i = chance(sizeof scalars / sizeof *scalars);
        strcat(text, scalars[i].text);
        return (struct layout){scalars[i].size, scalars[i].size};
    }
    strcat(text, chance(2) ? "{=" : "{name=");
    for (uint32_t members = 1 + chance(3); members; members--) {
        size_t times = chance(3) ? 1 : 1 + chance(5);
        if (times > 1) sprintf(text + strlen(text), "[%zu", times);
        struct layout member = any_type(text, depth - 1);
        if (times > 1) strcat(text, "]");
        if (member.alignment > whole.alignment) whole.alignment = member.alignment;
        whole.size = (whole.size + member.alignment - 1) / member.alignment * member.alignment + member.size * times;
    }
    strcat(text, "}");
    whole.size = (whole.size + whole.alignment - 1) / whole.alignment * whole.alignment;
    return whole;
}

static void check_generated(char *text) {
    struct layout layouts[5];
    uint32_t count = chance(5);
    for (text[0] = 0; ; text[0] = 0) {
        size_t sum = 0;
        uint32_t fixed = chance(8); /* what follows so many arguments is variadic */
        for (uint32_t i = 0; i <= count; i++) {
            sum += (layouts[i] = any_type(text, 3)).size;
            if (i && i == fixed) strcat(text, "...");
        }
        if (sum < 2048 && strlen(text) <= LONGEST) break;
    }
    treadle_signature signature = parsed(text);
    for (uint32_t i = 0; i <= count; i++) {
        size_t size = 0, alignment = 0;
        CHECK_INT(treadle_signature_get_layout(signature, (int32_t)i - 1, &size, &alignment), TREADLE_OK);
        if (size != layouts[i].size || alignment != layouts[i].alignment)
            check_failed(__FILE__, __LINE__, "%s: type %u has %zu bytes, not %zu", text, i, size, layouts[i].size);
    }
}

static void check_accepted(treadle_signature signature, const char *text) {
    static char buffer[65536];
    treadle_signature again = NULL;
    size_t count = 99, length = 0, size = 0, alignment = 0, sum = 0;
    CHECK_INT(treadle_signature_parse(text, &again), TREADLE_OK);
    CHECK(again == signature);
    CHECK_INT(treadle_signature_get_argument_count(signature, &count), TREADLE_OK);
    CHECK(count <= 32);
    for (int32_t i = -1; i < (int32_t)count; i++) {
        CHECK_INT(treadle_signature_get_layout(signature, i, &size, &alignment), TREADLE_OK);
        CHECK(alignment == 1 || alignment == 2 || alignment == 4 || alignment == 8);
        CHECK(size <= 4096 && size % alignment == 0 && (size || i < 0));
        if (i >= 0) sum += size;
    }
    CHECK(sum <= 4096);
    CHECK_INT(treadle_signature_get_layout(signature, (int32_t)count, &size, &alignment), TREADLE_E_RANGE);
    CHECK_INT(treadle_signature_describe(signature, buffer, sizeof buffer, &length), TREADLE_OK);
    CHECK(length >= strlen("void f(void)") - 1 && length == strlen(buffer));
}

/* Whether the input is accepted. */
static bool check_input(const char *text) {
    treadle_error_info info = {.struct_size = sizeof info};
    treadle_signature signature = NULL;
    treadle_last_error(&info);
    uint64_t failures = info.sequence;
    treadle_status status = treadle_signature_parse(text, &signature);
    if (status == TREADLE_OK) {
        check_accepted(signature, text);
        return true;
    }
    if (status != TREADLE_E_SIGNATURE) check_failed(__FILE__, __LINE__, "\"%s\" gives %d", text, status);
    treadle_last_error(&info);
    CHECK(signature == NULL && info.code == status && info.sequence == failures + 1);
    char *where = strstr(info.message, " (at offset ");
    CHECK(where && where - info.message > 12);
    size_t offset = strtoul(where + 12, &where, 10), length = strlen(text);
    CHECK_TEXT(where, ")");
    CHECK(offset <= (length < LONGEST ? length : LONGEST));
    return false;
}

static size_t mutated(char *text, size_t length) {
    static const char alphabet[] = "cCsSiIqQfdBv*^?{}=[]0123456789rnNoORV...lLDtT@#:()bjA\"xyz \xFF";
    for (uint32_t times = 1 + chance(4); times; times--) {
        size_t at = length ? chance((uint32_t)length) : 0, span = length ? 1 + chance((uint32_t)(length - at)) : 0;
        char byte = chance(16) ? alphabet[chance(sizeof alphabet - 1)] : (char)(1 + chance(255));
        switch (chance(5)) {
        case 0: /* replace */
            if (length) text[at] = byte;
            break;
        case 1: /* insert */
            memmove(text + at + 1, text + at, length - at);
            text[at] = byte;
            length++;
            break;
        case 2: /* delete */
            memmove(text + at, text + at + span, length - at - span);
            length -= span;
            break;
        case 3: /* cut */
            length = at;
            break;
        default: /* repeat a span */
            for (uint32_t copies = 1 + chance(12); copies && length + span < LONGEST + 64; copies--) {
                memmove(text + at + span, text + at, length - at);
                length += span;
            }
        }
    }
    return length;
}

static void fuzz(uint64_t seed) {
    static const char *const valid[] = {"v^v", "i^vq", "v^vI^v", "BcCsSiIqQfdB*^v^?", "{point=dd}{rect={point=dd}{size=dd}}",
        "v{a=[3[2{b=cS}]]^?q}", "Vvr^i8n*16N^{node=^{node}\"next\"^v}", "^?^(u=i[4c]b3)@", "{=[64{=[8q]}]}", "v{=cd}{=fi}{=[9C]}",
        "i*...id", "VvO*N^vo^qiO^v...fcs{=ff}"};
    /* The text ends where the memory does, so that reading behind it is noticed. */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && mprotect(memory + 2 * page, page, PROT_NONE) == 0);
    static char text[4 * LONGEST];
    int accepted = 0, inputs = scaled(MOST);
    state = seed;
    for (int i = 0; i < inputs; i++) {
        size_t length = 0;
        text[0] = 0;
        switch (chance(4)) {
        case 0: /* no form at all */
            for (length = chance(chance(64) ? 12 : LONGEST + 8); length && strlen(text) < length;) {
                size_t at = strlen(text);
                text[at + mutated(text + at, 0)] = 0;
                if (text[at] == 0) strcpy(text + at, "i");
            }
            length = strlen(text);
            break;
        case 1:
            check_generated(text);
            length = mutated(text, strlen(text));
            break;
        default: {
            const char *start = valid[chance(sizeof valid / sizeof *valid)];
            strcpy(text, start);
            length = mutated(text, strlen(text));
        }
        }
        char *at = memory + 2 * page - length - 1;
        memcpy(at, text, length);
        at[length] = 0;
        accepted += check_input(at);
    }
    CHECK(accepted > inputs / 16 && accepted < inputs / 2); /* neither side is left out */
    FILE *status = fopen("/proc/self/status", "r");
    long kilobytes = 0;
    while (status && fgets(text, sizeof text, status)) sscanf(text, "VmHWM: %ld", &kilobytes);
    if (status) fclose(status);
    printf("seed %" PRIu64 ": %d inputs, %d accepted, %ld KB of memory at most\n", seed, inputs, accepted, kilobytes);
}

/* Sixteen processes, so that each keeps fewer signatures than a process can have: 1,048,576 inputs, and a
 * quarter as many valid signatures with known layouts besides. */
#define FUZZ(n) TEST(no_input_does_harm_##n, "") { fuzz(n); }
FUZZ(1) FUZZ(2) FUZZ(3) FUZZ(4) FUZZ(5) FUZZ(6) FUZZ(7) FUZZ(8)
FUZZ(9) FUZZ(10) FUZZ(11) FUZZ(12) FUZZ(13) FUZZ(14) FUZZ(15) FUZZ(16)

/* The i-th of many signatures that differ. */
static const char *numbered(int i, char *text) {
    static const char digits[] = "cCsSiIqQfdB*";
    char *end = text;
    *end++ = 'v';
    for (int rest = i + 1; rest; rest /= 12) *end++ = digits[rest % 12];
    *end = 0;
    return text;
}

TEST(the_table_is_bounded_and_keeps_what_it_has, "") {
    static treadle_signature all[MOST];
    treadle_signature signature = NULL;
    char text[16];
    for (int i = 0; i < MOST + 1000; i++) {
        if (i >= MOST) CHECK_ERROR(treadle_signature_parse(numbered(i, text), &signature), TREADLE_E_NOMEM, "65,536");
        else CHECK_INT(treadle_signature_parse(numbered(i, text), &all[i]), TREADLE_OK);
    }
    for (int i = 0; i < MOST; i++) CHECK(parsed(numbered(i, text)) == all[i]);
}

TEST_MAIN()
