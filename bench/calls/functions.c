/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * functions.c: calls on one thread, of functions whose type is known only at run time, and of pointers that are made
 * at run time; by Treadle, by libffi, and, as the floor, directly. */
#include "calls.h"

#include <ffi.h>

enum { CALLS = 800000, SAMPLES = 5 };

typedef void canonical_fn(void *info);
__attribute__((noinline)) static void canonical(void *info) {
    called++;
    checked += *(uint64_t *)info;
}

/* The compiler must not know what is called. */
static canonical_fn *volatile canonical_pointer = canonical;
static five_fn *volatile five_pointer = five;

static ffi_type *five_types[] = {&ffi_type_pointer, &ffi_type_sint64, &ffi_type_double, &ffi_type_sint32,
                                 &ffi_type_pointer};
static void *five_values[] = {&arguments.object, &arguments.count, &arguments.weight, &arguments.index,
                              &arguments.info};
static const size_t five_sizes[] = {sizeof arguments.object, sizeof arguments.count, sizeof arguments.weight,
                                    sizeof arguments.index, sizeof arguments.info};
enum { FIVE = 5 };

static ffi_cif prepared(unsigned count, ffi_type *result, ffi_type **types) {
    ffi_cif cif;
    demand(ffi_prep_cif(&cif, FFI_DEFAULT_ABI, count, result, types) == FFI_OK, "libffi knows the type");
    return cif;
}

/* What one call takes, in the shortest of some samples: what disturbs a loop of calls only adds to it. `make` makes
 * so many calls and returns the time for all of them. */
static void measure(const char *name, uint64_t (*make)(enum way way, size_t count), enum way way) {
    uint64_t least = UINT64_MAX;
    size_t count = amount(CALLS);
    for (int sample = 0; sample < SAMPLES; sample++) {
        called = checked = 0;
        uint64_t took = make(way, count);
        demand(called == count && checked == count, "each call arrives, with its arguments");
        if (took < least) least = took;
    }
    tell(name, (double)least / (double)count, "ns");
}

static treadle_routine make_routine(void (*code)(void), const char *signature, const treadle_argument *list, size_t n) {
    treadle_routine routine;
    treadle_routine_config config = TREADLE_INIT(treadle_routine_config);
    config.code = code;
    config.signature = signature;
    config.arguments = list;
    config.argument_count = n;
    check(treadle_routine_create(&config, &routine));
    return routine;
}

/* A routine of the type void (void *). */
static uint64_t make_canonical(enum way way, size_t count) {
    ffi_type *types[] = {&ffi_type_pointer};
    void *values[] = {&arguments.info};
    treadle_argument list[] = {{TREADLE_ARGUMENT_BOUND, 0, &arguments.info, sizeof arguments.info}};
    ffi_cif cif = prepared(1, &ffi_type_void, types);
    treadle_routine routine = make_routine((void (*)(void))canonical, "v^v", list, 1);
    uint64_t begun = clock_ns();
    if (way == BY_TREADLE) {
        for (size_t i = 0; i < count; i++) treadle_routine_call(routine, NULL, NULL, 0);
    } else if (way == BY_LIBFFI) {
        for (size_t i = 0; i < count; i++) ffi_call(&cif, FFI_FN(canonical_pointer), NULL, values);
    } else {
        for (size_t i = 0; i < count; i++) canonical_pointer(arguments.info);
    }
    uint64_t took = clock_ns() - begun;
    check(treadle_routine_release(routine));
    return took;
}
static void call_canonical(const char *name, enum way way) { measure(name, make_canonical, way); }

/* The other ways to call `five`; the sum of the results. */
static int64_t call_five_otherwise(enum way way, size_t count) {
    int64_t result = 0, sum = 0;
    ffi_cif cif = prepared(FIVE, &ffi_type_sint64, five_types);
    for (size_t i = 0; i < count && way == BY_LIBFFI; i++) {
        ffi_call(&cif, FFI_FN(five_pointer), &result, five_values);
        sum += result;
    }
    for (size_t i = 0; i < count && way == DIRECTLY; i++) {
        sum += five_pointer(arguments.object, arguments.count, arguments.weight, arguments.index, arguments.info);
    }
    return sum;
}

/* The five arguments by a routine, and its result. */
static uint64_t make_five(enum way way, size_t count) {
    treadle_argument list[FIVE];
    for (int i = 0; i < FIVE; i++) list[i] = (treadle_argument){TREADLE_ARGUMENT_BOUND, 0, five_values[i], five_sizes[i]};
    treadle_routine routine = make_routine((void (*)(void))five, FIVE_SIGNATURE, list, FIVE);
    int64_t result = 0, sum = 0;
    uint64_t begun = clock_ns();
    for (size_t i = 0; i < count && way == BY_TREADLE; i++) {
        treadle_routine_call(routine, NULL, &result, sizeof result);
        sum += result;
    }
    if (way != BY_TREADLE) sum = call_five_otherwise(way, count);
    uint64_t took = clock_ns() - begun;
    demand(sum == FIVE_RESULT * (int64_t)count, "each call has the right result");
    check(treadle_routine_release(routine));
    return took;
}
static void call_five(const char *name, enum way way) { measure(name, make_five, way); }

/* call_invoked: by an invocation, on the calling thread, with its result fetched. */
static uint64_t make_invoked(enum way way, size_t count) {
    treadle_invocation_config config = TREADLE_INIT(treadle_invocation_config);
    treadle_invocation_options options = TREADLE_INIT(treadle_invocation_options);
    treadle_invocation invocation;
    config.code = (void (*)(void))five;
    config.signature = FIVE_SIGNATURE;
    options.wait = TREADLE_WAIT_BLOCK;
    check(treadle_invocation_create(&config, &invocation));
    for (size_t i = 0; i < FIVE; i++) check(treadle_invocation_set_argument(invocation, i, five_values[i], five_sizes[i]));
    int64_t result = 0, sum = 0;
    uint64_t begun = clock_ns();
    for (size_t i = 0; i < count && way == BY_TREADLE; i++) {
        check(treadle_invocation_perform(invocation, &options));
        check(treadle_invocation_get_result(invocation, &result, sizeof result));
        sum += result;
    }
    if (way != BY_TREADLE) sum = call_five_otherwise(way, count);
    uint64_t took = clock_ns() - begun;
    demand(sum == FIVE_RESULT * (int64_t)count, "each call has the right result");
    check(treadle_invocation_release(invocation));
    return took;
}
static void call_invoked(const char *name, enum way way) { measure(name, make_invoked, way); }

/* call_closure: a pointer to a function that a handler stands behind. */
static int64_t handle(const void *const *values) {
    return five(*(void *const *)values[0], *(const int64_t *)values[1], *(const double *)values[2],
                *(const int32_t *)values[3], *(void *const *)values[4]);
}
static treadle_status handle_for_treadle(treadle_call *call, void *info) {
    (void)info;
    *(int64_t *)call->result = handle(call->arguments);
    return TREADLE_OK;
}
static void handle_for_libffi(ffi_cif *cif, void *result, void **values, void *info) {
    (void)cif, (void)info;
    *(int64_t *)result = handle((const void *const *)values);
}

static uint64_t make_closure_calls(enum way way, size_t count) {
    ffi_cif cif = prepared(FIVE, &ffi_type_sint64, five_types);
    void *libffi_code;
    ffi_closure *libffi = ffi_closure_alloc(sizeof *libffi, &libffi_code);
    demand(libffi && ffi_prep_closure_loc(libffi, &cif, handle_for_libffi, NULL, libffi_code) == FFI_OK,
           "libffi makes a closure");
    treadle_closure_config config = TREADLE_INIT(treadle_closure_config);
    treadle_closure closure;
    void (*treadle_code)(void);
    config.signature = FIVE_SIGNATURE;
    config.handler = handle_for_treadle;
    check(treadle_closure_create(&config, &closure));
    check(treadle_closure_get_code(closure, &treadle_code));

    five_fn *volatile pointer = five_pointer;
    if (way == BY_TREADLE) pointer = (five_fn *)treadle_code;
    if (way == BY_LIBFFI) pointer = (five_fn *)(uintptr_t)libffi_code;
    int64_t sum = 0;
    uint64_t begun = clock_ns();
    for (size_t i = 0; i < count; i++) {
        sum += pointer(arguments.object, arguments.count, arguments.weight, arguments.index, arguments.info);
    }
    uint64_t took = clock_ns() - begun;
    demand(sum == FIVE_RESULT * (int64_t)count, "each call has the right result");
    check(treadle_closure_release(closure));
    ffi_closure_free(libffi);
    return took;
}
static void call_closure(const char *name, enum way way) { measure(name, make_closure_calls, way); }

enum { EACH = WAY(BY_TREADLE) | WAY(BY_LIBFFI) | WAY(DIRECTLY) };
const struct workload function_workloads[] = {
    {"call_canonical", call_canonical, EACH, false},
    {"call_five", call_five, EACH, false},
    {"call_invoked", call_invoked, EACH, false},
    {"call_closure", call_closure, EACH, false},
    {NULL, NULL, 0, false},
};
