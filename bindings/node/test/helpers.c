/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * helpers.c: threads of C that signal sources and wake loops of JavaScript, by Treadle's C interface. */
#define NAPI_VERSION 8
#include <node_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <treadle.h>

struct work {
    treadle_source source;
    int64_t count; /* -1: for ever */
    atomic_int *seen;
};
static atomic_int signalled;

static void *signal_many(void *info) {
    struct work *work = info;
    for (int64_t i = 0; work->count < 0 || i < work->count; i++) {
        atomic_fetch_add(&signalled, 1); /* before: whoever is performed finds it */
        treadle_source_signal_and_wake(work->source);
    }
    free(work);
    return NULL;
}
/* (handle, count): a thread, left to itself */
static napi_value signal_from_thread(napi_env env, napi_callback_info info) {
    napi_value values[2];
    size_t count = 2;
    bool is_lossless;
    uint64_t handle = 0;
    pthread_t thread;
    struct work *work = calloc(1, sizeof *work);
    napi_get_cb_info(env, info, &count, values, NULL, NULL);
    napi_get_value_bigint_uint64(env, values[0], &handle, &is_lossless);
    napi_get_value_int64(env, values[1], &work->count);
    work->source = (treadle_source)(uintptr_t)handle;
    if (pthread_create(&thread, NULL, signal_many, work) == 0) pthread_detach(thread);
    return NULL;
}
/* How many signals there have been since the last call. */
static napi_value take(napi_env env, napi_callback_info info) {
    napi_value result;
    (void)info;
    napi_create_int32(env, atomic_exchange(&signalled, 0), &result);
    return result;
}
static void *add_elsewhere(void *info) {
    treadle_loop loop = treadle_loop_current();
    treadle_loop_add(loop, info, TREADLE_DEFAULT_MODE);
    treadle_source_signal(info);
    treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0);
    treadle_release(info);
    return NULL;
}
/* (handle): a thread of C runs a source of JavaScript in its own loop, and has its last reference; waits for it */
static napi_value run_elsewhere(napi_env env, napi_callback_info info) {
    napi_value value;
    size_t count = 1;
    bool is_lossless;
    uint64_t handle = 0;
    pthread_t thread;
    napi_get_cb_info(env, info, &count, &value, NULL, NULL);
    napi_get_value_bigint_uint64(env, value, &handle, &is_lossless);
    treadle_retain((void *)(uintptr_t)handle);
    if (pthread_create(&thread, NULL, add_elsewhere, (void *)(uintptr_t)handle) == 0) pthread_join(thread, NULL);
    return NULL;
}
/* (handle): whether a loop of any thread sleeps */
static napi_value is_waiting(napi_env env, napi_callback_info info) {
    napi_value value, result;
    size_t count = 1;
    bool is_lossless;
    uint64_t handle = 0;
    napi_get_cb_info(env, info, &count, &value, NULL, NULL);
    napi_get_value_bigint_uint64(env, value, &handle, &is_lossless);
    napi_get_boolean(env, treadle_loop_is_waiting((treadle_loop)(uintptr_t)handle), &result);
    return result;
}

/* Threads of C that post, each in its order: the post calls JavaScript, on the loop's thread. */
enum { THREADS = 8, EACH = 12500 };
static struct {
    napi_env env;
    napi_ref function;
    treadle_loop loop;
} posting;
static void call_back(void *info) {
    napi_handle_scope scope;
    napi_value function, values[2], global;
    uint32_t number = (uint32_t)(uintptr_t)info;
    napi_open_handle_scope(posting.env, &scope);
    napi_get_reference_value(posting.env, posting.function, &function);
    napi_get_global(posting.env, &global);
    napi_create_uint32(posting.env, number / EACH, &values[0]);
    napi_create_uint32(posting.env, number % EACH, &values[1]);
    napi_make_callback(posting.env, NULL, global, function, 2, values, NULL);
    napi_close_handle_scope(posting.env, scope);
}
static void *post_many(void *info) {
    for (uintptr_t i = 0; i < EACH; i++) treadle_loop_post(posting.loop, call_back, (void *)((uintptr_t)info * EACH + i));
    return NULL;
}
/* (handle, function): eight threads post 12,500 calls of function(thread, i) each */
static napi_value post_from_threads(napi_env env, napi_callback_info info) {
    napi_value values[2];
    size_t count = 2;
    bool is_lossless;
    uint64_t handle = 0;
    pthread_t thread;
    napi_get_cb_info(env, info, &count, values, NULL, NULL);
    napi_get_value_bigint_uint64(env, values[0], &handle, &is_lossless);
    posting.env = env, posting.loop = (treadle_loop)(uintptr_t)handle;
    napi_create_reference(env, values[1], 1, &posting.function);
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread, NULL, post_many, (void *)i) == 0) pthread_detach(thread);
    return NULL;
}

/* (mode): C code that runs the loop itself until the worker is terminated. */
static napi_value run_in_c(napi_env env, napi_callback_info info) {
    napi_value value, global;
    size_t count = 1, length;
    char mode[64] = "";
    bool is_there;
    napi_get_cb_info(env, info, &count, &value, NULL, NULL);
    napi_get_value_string_utf8(env, value, mode, sizeof mode, &length);
    napi_get_global(env, &global);
    while (napi_has_named_property(env, global, "", &is_there) == napi_ok)
        if (treadle_loop_run(treadle_loop_current(), mode, 1000 * 1000, TREADLE_RUN_WHEN_EMPTY) != TREADLE_RUN_TIMED_OUT) break;
    return NULL;
}

NAPI_MODULE_INIT() {
    napi_value function;
    napi_create_function(env, NULL, 0, run_in_c, NULL, &function);
    napi_set_named_property(env, exports, "runInC", function);
    napi_create_function(env, NULL, 0, post_from_threads, NULL, &function);
    napi_set_named_property(env, exports, "postFromThreads", function);
    napi_create_function(env, NULL, 0, signal_from_thread, NULL, &function);
    napi_set_named_property(env, exports, "signalFromThread", function);
    napi_create_function(env, NULL, 0, take, NULL, &function);
    napi_set_named_property(env, exports, "take", function);
    napi_create_function(env, NULL, 0, is_waiting, NULL, &function);
    napi_set_named_property(env, exports, "isWaiting", function);
    napi_create_function(env, NULL, 0, run_elsewhere, NULL, &function);
    napi_set_named_property(env, exports, "runElsewhere", function);
    return exports;
}
