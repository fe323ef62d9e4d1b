/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * call_cases.h: calls of functions that the C compiler has compiled, and calls by such functions, for one signature
 * after the other. A case is a signature, a function of that type that keeps its arguments, and one that calls any
 * function of that type. All values are random, from the signature's text alone. */
#ifndef TREADLE_TEST_CALL_CASES_H
#define TREADLE_TEST_CALL_CASES_H

#include "closures.h"

enum { SLOT = 64, ARGUMENTS = 32 };

struct call_case {
    const char *signature;
    void (*callee)(void); /* keeps its arguments in `kept`, returns `result_value` */
    void (*caller)(void (*code)(void), const unsigned char *values, unsigned char *result);
};

/* One value for each argument, each in its slot, and one for the result: their bytes, and which of them count (padding
 * does not). */
struct values {
    _Alignas(SLOT) unsigned char bytes[ARGUMENTS * SLOT];
    unsigned char masks[ARGUMENTS * SLOT];
    size_t sizes[ARGUMENTS], count;
    _Alignas(SLOT) unsigned char result[SLOT];
    unsigned char result_mask[SLOT];
    size_t result_size;
};
static struct values values;
static unsigned char kept[ARGUMENTS * SLOT];
static size_t kept_count;

/* For the functions of cases. Calls, since they compile faster than copies in place. */
HELPER void keep(const void *argument, size_t size) { memcpy(kept + SLOT * kept_count++, argument, size); }
#define KEEP(argument) keep(&(argument), sizeof(argument));
#define RETURN(type) return *(type *)(void *)values.result;
#define VALUE(type, index) (*(const type *)(const void *)(values_ + SLOT * (index)))

/* --- Random values --------------------------------------------------------------------------------- */

static uint64_t random_state = 1;
HELPER uint64_t next_random(void) { /* splitmix64 */
    uint64_t z = random_state += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
}

struct layout { size_t size, alignment; };
HELPER void place(struct layout *layout, struct layout member, size_t *offset) {
    *offset = (layout->size + member.alignment - 1) / member.alignment * member.alignment;
    layout->size = *offset + member.size;
    if (member.alignment > layout->alignment) layout->alignment = member.alignment;
}
/* Only measures without bytes. Returns what follows the type. */
static const char *make_value(const char *type, unsigned char *bytes, unsigned char *mask, struct layout *layout) {
    static const char scalars[] = "cCsSiIqQfdB*v";
    static const size_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 1, sizeof(void *), 0};
    uint64_t random = next_random();
    float real = (float)(int32_t)random / 1024;
    double precise = (double)(int64_t)random / 1048576;
    if (*type == '{') {
        *layout = (struct layout){0, 1};
        for (type = strchr(type, '=') + 1; *type != '}';) {
            struct layout member;
            size_t offset;
            const char *next = make_value(type, NULL, NULL, &member);
            place(layout, member, &offset);
            if (bytes) make_value(type, bytes + offset, mask + offset, &member);
            type = next;
        }
        layout->size = (layout->size + layout->alignment - 1) / layout->alignment * layout->alignment;
        return type + 1;
    }
    if (*type == '[') {
        char *element;
        size_t count = strtoul(type + 1, &element, 10);
        const char *next = make_value(element, NULL, NULL, layout);
        for (size_t i = 0; bytes && i < count; i++) make_value(element, bytes + i * layout->size, mask + i * layout->size, layout);
        layout->size *= count;
        return next + 1;
    }
    if (*type == '^') {
        *layout = (struct layout){sizeof(void *), sizeof(void *)};
        if (bytes) memcpy(bytes, &random, sizeof(void *)), memset(mask, 0xFF, sizeof(void *));
        return type + 2;
    }
    const char *scalar = strchr(scalars, *type);
    CHECK(scalar && *type);
    *layout = (struct layout){sizes[scalar - scalars], sizes[scalar - scalars] ? sizes[scalar - scalars] : 1};
    if (bytes) {
        if (*type == 'B') random &= 1;
        if (*type == 'f') memcpy(&random, &real, sizeof real);
        if (*type == 'd') memcpy(&random, &precise, sizeof precise);
        memcpy(bytes, &random, layout->size); /* little-endian machines: the low bytes */
        memset(mask, 0xFF, layout->size);
    }
    return type + 1;
}
HELPER void make_values(const char *signature) {
    struct layout layout;
    memset(&values, 0, sizeof values);
    const char *type = make_value(signature, values.result, values.result_mask, &layout);
    values.result_size = layout.size;
    while (*type) {
        size_t offset = SLOT * values.count;
        CHECK(values.count < ARGUMENTS);
        type = make_value(type, values.bytes + offset, values.masks + offset, &layout);
        CHECK(layout.size <= SLOT);
        values.sizes[values.count++] = layout.size;
    }
}
HELPER void check_value(const char *signature, const char *what, size_t index, const unsigned char *got, const unsigned char *expected,
                        const unsigned char *mask, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (((got[i] ^ expected[i]) & mask[i]) == 0) continue;
        check_failed(__FILE__, __LINE__, "%s: %s %zu: byte %zu is %02x, not %02x", signature, what, index, i, got[i], expected[i]);
    }
}

/* --- Both directions --------------------------------------------------------------------------------- */

HELPER void check_kept(const struct call_case *one, const char *what) {
    CHECK_INT(kept_count, values.count);
    for (size_t i = 0; i < values.count; i++)
        check_value(one->signature, what, i, kept + SLOT * i, values.bytes + SLOT * i, values.masks + SLOT * i, values.sizes[i]);
    memset(kept, 0x5A, sizeof kept);
    kept_count = 0;
}
HELPER void check_result(const struct call_case *one, const char *what, const unsigned char *result) {
    check_value(one->signature, what, 0, result, values.result, values.result_mask, values.result_size);
}

/* The handler of closures: the arguments are what the compiled caller has given. */
HELPER treadle_status handle_case(treadle_call *call, void *info) {
    const struct call_case *one = info;
    CHECK_INT(call->argument_count, values.count);
    for (size_t i = 0; i < values.count; i++) {
        unsigned char copy[SLOT];
        check_value(one->signature, "closure, argument", i, call->arguments[i], values.bytes + SLOT * i, values.masks + SLOT * i, values.sizes[i]);
        CHECK_INT(treadle_call_get_argument(call, i, copy, values.sizes[i]), TREADLE_OK);
        check_value(one->signature, "closure, argument", i, copy, values.bytes + SLOT * i, values.masks + SLOT * i, values.sizes[i]);
    }
    return treadle_call_set_result(call, values.result, values.result_size);
}
/* A closure that compiled code calls. loop: NULL: handled inline. */
HELPER void check_closure(const struct call_case *one, treadle_loop loop) {
    unsigned char result[SLOT];
    treadle_closure closure = MADE(.signature = one->signature, .handler = handle_case, .info = (void *)one, .loop = loop,
                                   .delivery = loop ? TREADLE_DELIVERY_SYNC : TREADLE_DELIVERY_INLINE,
                                   .default_result = values.result_size ? values.result : NULL, .default_result_size = values.result_size);
    void (*code)(void) = code_of(closure);
    one->caller(code, values.bytes, result);
    check_result(one, loop ? "closure that hops, result" : "closure, result", result);
    CHECK_INT(info_of(closure).handled, 1);
    end_closure(closure);
    one->caller(code, values.bytes, result);
    check_result(one, "retired closure, result", result);
}
/* Compiled code that a routine calls. */
HELPER void check_routine(const struct call_case *one) {
    unsigned char result[SLOT + 2];
    treadle_argument arguments[ARGUMENTS];
    treadle_routine routine = NULL;
    for (size_t i = 0; i < values.count; i++)
        arguments[i] = (treadle_argument){TREADLE_ARGUMENT_BOUND, 0, values.bytes + SLOT * i, values.sizes[i]};
    treadle_routine_config config = {.struct_size = sizeof config, .code = one->callee, .signature = one->signature,
                                     .arguments = arguments, .argument_count = values.count};
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    memset(result, 0xA5, sizeof result);
    CHECK_INT(treadle_routine_call(routine, NULL, result + 1, values.result_size), TREADLE_OK); /* 1: not aligned */
    check_kept(one, "routine, argument");
    check_result(one, "routine, result", result + 1);
    CHECK(result[0] == 0xA5 && (values.result_size == 0 || result[1 + values.result_size] == 0xA5));
    CHECK_INT(treadle_routine_call(routine, NULL, NULL, 0), TREADLE_OK);
    check_kept(one, "routine without result, argument");
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
}
/* The same by an invocation. loop: NULL: on this thread. */
HELPER void check_invocation(const struct call_case *one, treadle_loop loop) {
    unsigned char result[SLOT], copy[SLOT];
    treadle_invocation invocation = NULL;
    treadle_invocation_config config = {.struct_size = sizeof config, .code = one->callee, .signature = one->signature};
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = loop, .wait = TREADLE_WAIT_BLOCK};
    CHECK_INT(treadle_invocation_create(&config, &invocation), TREADLE_OK);
    for (size_t i = 0; i < values.count; i++) {
        CHECK_INT(treadle_invocation_set_argument(invocation, i, values.bytes + SLOT * i, values.sizes[i]), TREADLE_OK);
        CHECK_INT(treadle_invocation_get_argument(invocation, i, copy, values.sizes[i]), TREADLE_OK);
        check_value(one->signature, "invocation, set argument", i, copy, values.bytes + SLOT * i, values.masks + SLOT * i, values.sizes[i]);
    }
    CHECK_INT(treadle_invocation_perform(invocation, &options), TREADLE_OK);
    check_kept(one, "invocation, argument");
    CHECK_INT(treadle_invocation_get_result(invocation, values.result_size ? result : NULL, values.result_size), TREADLE_OK);
    check_result(one, "invocation, result", result);
    CHECK_INT(treadle_invocation_release(invocation), TREADLE_OK);
}

/* One case; by a loop on another thread as well where it is given. */
HELPER void check_case(const struct call_case *one, treadle_loop loop) {
    unsigned char result[SLOT];
    make_values(one->signature);
    one->caller(one->callee, values.bytes, result); /* as the compiler does it */
    check_kept(one, "compiled, argument");
    check_result(one, "compiled, result", result);
    check_closure(one, NULL);
    check_routine(one);
    check_invocation(one, NULL);
    if (!loop) return;
    check_closure(one, loop);
    check_invocation(one, loop);
}

#endif
