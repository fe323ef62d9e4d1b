/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * store.h: an extension with a function for each way in which a value travels, and its descriptor: for tests of isolated plugins. The
 * plugin "store" provides it, and so does its host under another name. */
#ifndef TREADLE_TEST_STORE_H
#define TREADLE_TEST_STORE_H

#include <treadle.h>
#include <treadle/plugin.h>

#define STORE_ID "example.store/1"
#define HOST_STORE_ID "example.host-store/1"

struct point {
    char name;
    double x;
    int32_t y[2];
};
struct thing; /* a token */
typedef int32_t (*visit_fn)(void *info, const char *key, const void *bytes, size_t size);
typedef void (*changed_fn)(void *info, int32_t number);

struct store {
    int32_t (*add)(int32_t a, int32_t b);
    struct point (*move)(struct point point, double by);
    const char *(*name)(int32_t number);
    treadle_status (*put)(const char *key, const void *bytes, size_t size);
    treadle_status (*get)(const char *key, void *bytes, size_t capacity, size_t *out_size);
    int64_t (*sum)(const int32_t *numbers, uint32_t count);
    void (*sort)(int32_t *numbers, int64_t count);
    void (*note)(const char *text);
    int32_t (*each)(visit_fn visit, void *info);
    treadle_status (*watch)(void *info, changed_fn changed);
    struct thing *(*first)(void);
    treadle_status (*open)(const char *key, struct thing **out_thing);
    treadle_status (*weigh)(struct thing *thing, double *out_weight);
    treadle_status (*act)(const char *deed);
    treadle_status (*missing)(void);
};

#define STORE_NUMBER {.pass = TREADLE_PASS_VALUE}
#define STORE_TEXT {.pass = TREADLE_PASS_TEXT}
#define STORE_BYTES(way, count) {.pass = TREADLE_PASS_##way, .other = (count) + 1, .size = 1}
#define STORE_ARGUMENTS(name, ...) static const treadle_extension_argument store_##name##_arguments[] = {__VA_ARGS__}
#define STORE_FUNCTION(name_, signature_, result_) \
    {.name = "store." #name_, .signature = signature_, .result = TREADLE_PASS_##result_, .arguments = store_##name_##_arguments, \
     .argument_count = sizeof store_##name_##_arguments / sizeof *store_##name_##_arguments}

STORE_ARGUMENTS(visit, {.pass = TREADLE_PASS_INFO}, STORE_TEXT, STORE_BYTES(IN, 3), STORE_NUMBER);
static const treadle_extension_function store_visit = STORE_FUNCTION(visit, "i^v*^vQ", VALUE);
STORE_ARGUMENTS(changed, {.pass = TREADLE_PASS_INFO}, STORE_NUMBER);
static const treadle_extension_function store_changed = STORE_FUNCTION(changed, "v^vi", VALUE);

STORE_ARGUMENTS(put, STORE_TEXT, STORE_BYTES(IN, 2), STORE_NUMBER);
STORE_ARGUMENTS(get, STORE_TEXT, STORE_BYTES(OUT, 2), STORE_NUMBER, {.pass = TREADLE_PASS_OUT, .size = sizeof(size_t)});
STORE_ARGUMENTS(sum, {.pass = TREADLE_PASS_IN, .other = 2, .size = sizeof(int32_t)}, STORE_NUMBER);
STORE_ARGUMENTS(sort, {.pass = TREADLE_PASS_IN_OUT, .other = 2, .size = sizeof(int32_t)}, STORE_NUMBER);
STORE_ARGUMENTS(note, STORE_TEXT);
STORE_ARGUMENTS(each, {.pass = TREADLE_PASS_CALLBACK, .other = 2, .callback = &store_visit}, {.pass = TREADLE_PASS_INFO});
STORE_ARGUMENTS(watch, {.pass = TREADLE_PASS_INFO}, {.pass = TREADLE_PASS_KEPT_CALLBACK, .other = 1, .callback = &store_changed});
STORE_ARGUMENTS(open, STORE_TEXT, {.pass = TREADLE_PASS_OUT_TOKEN});
STORE_ARGUMENTS(weigh, {.pass = TREADLE_PASS_TOKEN}, {.pass = TREADLE_PASS_OUT, .size = sizeof(double)});
STORE_ARGUMENTS(act, STORE_TEXT);

static const treadle_extension_function store_functions[] = {
    {.name = "store.add", .signature = "iii", .argument_count = 2},
    {.name = "store.move", .signature = "{point=cd[2i]}{point=cd[2i]}d", .argument_count = 2},
    {.name = "store.name", .signature = "*i", .argument_count = 1, .result = TREADLE_PASS_TEXT},
    STORE_FUNCTION(put, "i*^vQ", STATUS),
    STORE_FUNCTION(get, "i*^vQ^Q", STATUS),
    STORE_FUNCTION(sum, "q^iI", VALUE),
    STORE_FUNCTION(sort, "v^iq", VALUE),
    {.name = "store.note", .signature = "v*", .arguments = store_note_arguments, .argument_count = 1, .flags = TREADLE_EXTENSION_ONE_WAY},
    STORE_FUNCTION(each, "i^?^v", VALUE),
    STORE_FUNCTION(watch, "i^v^?", STATUS),
    {.name = "store.first", .signature = "^v", .result = TREADLE_PASS_TOKEN},
    STORE_FUNCTION(open, "i*^^v", STATUS),
    STORE_FUNCTION(weigh, "i^v^d", STATUS),
    STORE_FUNCTION(act, "i*", STATUS),
    {.name = "store.missing", .signature = "i", .result = TREADLE_PASS_STATUS},
};
#define STORE_DESCRIPTOR(id) \
    {.struct_size = sizeof(treadle_extension_descriptor), .name = id, .functions = store_functions, \
     .function_count = sizeof store_functions / sizeof *store_functions}

/* The extension itself, of a host or a plugin. NULL may come wherever a pointer does, from a process that lies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char store_key[64], store_bytes[1 << 20], store_noted[64];
static size_t store_size;
static changed_fn store_watcher;
static void *store_watcher_info;
static treadle_status store_do(const char *deed);

static int32_t store_add_(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
static struct point store_move_(struct point point, double by) {
    point.x += by;
    point.y[1] = -point.y[1];
    return point;
}
static const char *store_name_(int32_t number) {
    static char room[64];
    if (number < 0) return NULL;
    snprintf(room, sizeof room, "number %d", (int)number);
    return room;
}
static treadle_status store_put_(const char *key, const void *bytes, size_t size) {
    if (!key || size > sizeof store_bytes) return TREADLE_E_RANGE;
    snprintf(store_key, sizeof store_key, "%s", key);
    if (bytes) memcpy(store_bytes, bytes, size);
    store_size = bytes ? size : 0;
    if (store_watcher) store_watcher(store_watcher_info, (int32_t)store_size);
    return TREADLE_OK;
}
static treadle_status store_get_(const char *key, void *bytes, size_t capacity, size_t *out_size) {
    if (!key || strcmp(key, store_key) != 0) return TREADLE_E_NOT_FOUND;
    if (bytes) memcpy(bytes, store_bytes, capacity < store_size ? capacity : store_size);
    if (out_size) *out_size = store_size;
    return TREADLE_OK;
}
static int64_t store_sum_(const int32_t *numbers, uint32_t count) {
    int64_t sum = 0;
    for (uint32_t i = 0; numbers && i < count; i++) sum += numbers[i];
    return sum;
}
static int store_compare(const void *a, const void *b) { return *(const int32_t *)a < *(const int32_t *)b ? -1 : *(const int32_t *)a > *(const int32_t *)b; }
static void store_sort_(int32_t *numbers, int64_t count) {
    if (numbers) qsort(numbers, (size_t)count, sizeof *numbers, store_compare);
}
static void store_note_(const char *text) {
    snprintf(store_noted, sizeof store_noted, "%s", text ? text : "NULL");
    treadle_loop_stop(treadle_loop_main());
}
static int32_t store_each_(visit_fn visit, void *info) { return visit ? visit(info, store_key, store_bytes, store_size) + 1 : -1; }
static treadle_status store_watch_(void *info, changed_fn changed) {
    store_watcher = changed;
    store_watcher_info = info;
    return TREADLE_OK;
}
static struct thing *store_first_(void) { return store_size ? (struct thing *)(void *)store_bytes : NULL; }
#define STORE_STRAY "a token that nobody has given out"
static treadle_status store_open_(const char *key, struct thing **out_thing) {
    if (key && out_thing && strcmp(key, STORE_STRAY) == 0) {
        *out_thing = (struct thing *)((uintptr_t)1 << 63); /* as one of a process that has ended */
        return TREADLE_OK;
    }
    if (!key || !out_thing || strcmp(key, store_key) != 0) return TREADLE_E_NOT_FOUND;
    *out_thing = store_first_();
    return TREADLE_OK;
}
static treadle_status store_weigh_(struct thing *thing, double *out_weight) {
    if (!out_weight || thing != store_first_()) return TREADLE_E_ARG;
    *out_weight = (double)store_size / 2;
    return TREADLE_OK;
}
static treadle_status store_act_(const char *deed) { return deed ? store_do(deed) : TREADLE_E_ARG; }

static const struct store the_store = {
    store_add_, store_move_, store_name_, store_put_, store_get_, store_sum_, store_sort_, store_note_, store_each_, store_watch_,
    store_first_, store_open_, store_weigh_, store_act_, NULL,
};

#endif
