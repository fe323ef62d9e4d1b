/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * calls.c: what it costs to call a function whose type is known only at run time: by a routine of Treadle's, by libffi,
 * and, as the floor, directly through a pointer. call_canonical: void (void *); call_five: five arguments of four
 * kinds, with a result.
 *
 *   calls treadle|libffi|direct list
 *   calls treadle|libffi|direct run WORKLOAD [quick] */
#include <ffi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <treadle.h>

enum { CALLS = 4000000, SAMPLES = 5 };
enum way { BY_TREADLE, BY_LIBFFI, DIRECTLY, WAYS };
static const char *const way_names[WAYS] = {"treadle", "libffi", "direct"};
static const char *const way_roles[WAYS] = {"own", "peer", "floor"};

typedef void canonical_fn(void *info);
typedef int64_t five_fn(void *object, int64_t count, double weight, int32_t index, void *info);

static uint64_t called, checked;
__attribute__((noinline)) static void canonical(void *info) {
    called++;
    checked += *(uint64_t *)info;
}
__attribute__((noinline)) static int64_t five(void *object, int64_t count, double weight, int32_t index, void *info) {
    called++;
    checked += *(uint64_t *)info;
    return *(int64_t *)object + count + (int64_t)weight + index;
}

static void demand(bool holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "calls: this does not hold: %s\n", what);
    exit(1);
}
static uint64_t clock_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* The arguments; the compiler must not know the functions or the values. */
static uint64_t one = 1;
static int64_t object = 40;
static struct {
    void *object, *info;
    int64_t count;
    double weight;
    int32_t index;
} arguments = {&object, &one, -7, 8.0, 1};
static const int64_t five_result = 42;
static canonical_fn *volatile canonical_pointer = canonical;
static five_fn *volatile five_pointer = five;

static treadle_argument bound(const void *value, size_t size) {
    return (treadle_argument){TREADLE_ARGUMENT_BOUND, 0, value, size};
}
static treadle_routine make_routine(void (*code)(void), const char *signature, const treadle_argument *list, size_t n) {
    treadle_routine routine;
    treadle_routine_config config = TREADLE_INIT(treadle_routine_config);
    config.code = code;
    config.signature = signature;
    config.arguments = list;
    config.argument_count = n;
    demand(treadle_routine_create(&config, &routine) == TREADLE_OK, "a routine can be made");
    return routine;
}

/* Makes `count` calls; the time for all of them. */
static uint64_t call_canonical(enum way way, size_t count) {
    ffi_type *types[] = {&ffi_type_pointer};
    void *values[] = {&arguments.info};
    treadle_argument list[] = {bound(&arguments.info, sizeof arguments.info)};
    ffi_cif cif;
    demand(ffi_prep_cif(&cif, FFI_DEFAULT_ABI, 1, &ffi_type_void, types) == FFI_OK, "libffi knows the type");
    treadle_routine routine = make_routine((void (*)(void))canonical, "v^v", list, 1);
    uint64_t begun = clock_ns();
    switch (way) {
    case BY_TREADLE:
        for (size_t i = 0; i < count; i++) treadle_routine_call(routine, NULL, NULL, 0);
        break;
    case BY_LIBFFI:
        for (size_t i = 0; i < count; i++) ffi_call(&cif, FFI_FN(canonical_pointer), NULL, values);
        break;
    default:
        for (size_t i = 0; i < count; i++) canonical_pointer(arguments.info);
    }
    uint64_t took = clock_ns() - begun;
    treadle_routine_release(routine);
    return took;
}

static uint64_t call_five(enum way way, size_t count) {
    ffi_type *types[] = {&ffi_type_pointer, &ffi_type_sint64, &ffi_type_double, &ffi_type_sint32, &ffi_type_pointer};
    void *values[] = {&arguments.object, &arguments.count, &arguments.weight, &arguments.index, &arguments.info};
    treadle_argument list[] = {
        bound(&arguments.object, sizeof arguments.object), bound(&arguments.count, sizeof arguments.count),
        bound(&arguments.weight, sizeof arguments.weight), bound(&arguments.index, sizeof arguments.index),
        bound(&arguments.info, sizeof arguments.info),
    };
    ffi_cif cif;
    demand(ffi_prep_cif(&cif, FFI_DEFAULT_ABI, 5, &ffi_type_sint64, types) == FFI_OK, "libffi knows the type");
    treadle_routine routine = make_routine((void (*)(void))five, "q^vqdi^v", list, 5);
    int64_t result = 0, sum = 0;
    uint64_t begun = clock_ns();
    switch (way) {
    case BY_TREADLE:
        for (size_t i = 0; i < count; i++) {
            treadle_routine_call(routine, NULL, &result, sizeof result);
            sum += result;
        }
        break;
    case BY_LIBFFI:
        for (size_t i = 0; i < count; i++) {
            ffi_call(&cif, FFI_FN(five_pointer), &result, values);
            sum += result;
        }
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            sum += five_pointer(arguments.object, arguments.count, arguments.weight, arguments.index, arguments.info);
        }
    }
    uint64_t took = clock_ns() - begun;
    demand(sum == five_result * (int64_t)count, "each call has the right result");
    treadle_routine_release(routine);
    return took;
}

static const struct {
    const char *name;
    uint64_t (*run)(enum way way, size_t count);
} workloads[] = {{"call_canonical", call_canonical}, {"call_five", call_five}};
enum { WORKLOADS = sizeof workloads / sizeof *workloads };

/* The shortest of some samples: what disturbs a loop of calls only adds to it. */
static void measure(size_t workload, enum way way, size_t count) {
    uint64_t least = UINT64_MAX;
    for (int sample = 0; sample < SAMPLES; sample++) {
        called = checked = 0;
        uint64_t took = workloads[workload].run(way, count);
        demand(called == count && checked == count, "each call arrives, with its arguments");
        if (took < least) least = took;
    }
    double each = (double)least / (double)count;
    printf("{\"figure\": \"%s\", \"value\": %.4g, \"unit\": \"ns\"}\n", workloads[workload].name, each);
}

int main(int count, char **words) {
    int way = 0;
    while (count > 2 && way < WAYS && strcmp(words[1], way_names[way]) != 0) way++;
    if (count == 3 && way < WAYS && strcmp(words[2], "list") == 0) {
        printf("%s %s\n", way_names[way], way_roles[way]);
        for (size_t i = 0; i < WORKLOADS; i++) puts(workloads[i].name);
        return 0;
    }
    bool is_quick = count == 5 && strcmp(words[4], "quick") == 0;
    for (size_t i = 0; i < WORKLOADS && count > 3 && way < WAYS; i++) {
        if (strcmp(words[3], workloads[i].name) != 0) continue;
        measure(i, (enum way)way, is_quick ? 10000 : CALLS / SAMPLES);
        return 0;
    }
    fprintf(stderr, "usage: calls treadle|libffi|direct list, or: run WORKLOAD [quick]\n");
    return 2;
}
