/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * loops.c: the thread's loop: posts, nested runs, stops, what keeps Node alive. */
#include "treadle_node.h"

static void call_post(void *info) { binding_call(info, "post", 0, NULL); }

/* (functions): queued for the common modes. The binding is the post's alone. */
static napi_value post(napi_env env, napi_callback_info info) {
    struct arguments arguments = arguments_of(env, info);
    treadle_post post = TREADLE_INIT(treadle_post);
    struct binding *binding = binding_create(arguments.environment, arguments.values[0]);
    if (!binding) return NULL;
    post.fn = call_post, post.info = binding, post.destroy = binding_release;
    return result_of(env, treadle_loop_post_in(arguments.environment->loop, &post)); /* which destroys after an error, too */
}

/* (mode, nanoseconds, flags): the result's number; undefined if the worker has been terminated */
static napi_value run(napi_env env, napi_callback_info info) {
    struct arguments arguments = arguments_of(env, info);
    char mode[1024];
    napi_value result;
    text_of(env, arguments.values[0], mode, sizeof mode);
    treadle_status status = environment_run(arguments.environment, mode, integer_of(env, arguments.values[1]),
                                            (uint32_t)integer_of(env, arguments.values[2]));
    if (status < 0) return fail(env, status);
    if (environment_is_ending(arguments.environment)) return NULL;
    napi_create_int32(env, status, &result);
    return result;
}

/* (handle): of any loop */
static napi_value stop(napi_env env, napi_callback_info info) {
    struct arguments arguments = arguments_of(env, info);
    return result_of(env, treadle_loop_stop((treadle_loop)(uintptr_t)integer_of(env, arguments.values[0])));
}
/* (handle, flags): of any loop */
static napi_value request_stop(napi_env env, napi_callback_info info) {
    struct arguments arguments = arguments_of(env, info);
    return result_of(env, treadle_loop_request_stop((treadle_loop)(uintptr_t)integer_of(env, arguments.values[0]),
                                                    (uint32_t)integer_of(env, arguments.values[1])));
}
/* (handle): of any loop */
static napi_value wake(napi_env env, napi_callback_info info) {
    struct arguments arguments = arguments_of(env, info);
    return result_of(env, treadle_loop_wake((treadle_loop)(uintptr_t)integer_of(env, arguments.values[0])));
}
static napi_value handle_of_loop(napi_env env, napi_callback_info info) {
    napi_value result;
    napi_create_bigint_uint64(env, (uint64_t)(uintptr_t)arguments_of(env, info).environment->loop, &result);
    return result;
}
static napi_value describe_loop(napi_env env, napi_callback_info info) {
    char text[16384];
    size_t length;
    napi_value result;
    treadle_status status = treadle_describe(arguments_of(env, info).environment->loop, text, sizeof text, &length);
    if (status < 0) return fail(env, status);
    napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &result);
    return result;
}
static napi_value passes(napi_env env, napi_callback_info info) {
    treadle_loop_counters counters = TREADLE_INIT(treadle_loop_counters);
    napi_value result;
    treadle_status status = treadle_loop_get_counters(arguments_of(env, info).environment->loop, &counters);
    if (status < 0) return fail(env, status);
    napi_create_double(env, (double)counters.passes, &result);
    return result;
}

/* (by): Node stays alive while the sum is above 0. */
static napi_value hold(napi_env env, napi_callback_info info) {
    struct arguments arguments = arguments_of(env, info);
    struct environment *environment = arguments.environment;
    if (!environment->is_open) return NULL;
    environment->holds += (int)integer_of(env, arguments.values[0]);
    if (environment->holds > 0) uv_ref((uv_handle_t *)&environment->inner->poll);
    else uv_unref((uv_handle_t *)&environment->inner->poll);
    return NULL;
}

static napi_value version(napi_env env, napi_callback_info info) {
    napi_value result;
    (void)info;
    napi_create_string_utf8(env, treadle_version_string(), NAPI_AUTO_LENGTH, &result);
    return result;
}

void export_loops(napi_env env, napi_value exports) {
    export_function(env, exports, "post", post), export_function(env, exports, "run", run);
    export_function(env, exports, "stop", stop), export_function(env, exports, "requestStop", request_stop);
    export_function(env, exports, "wake", wake), export_function(env, exports, "handleOfLoop", handle_of_loop);
    export_function(env, exports, "describeLoop", describe_loop), export_function(env, exports, "passes", passes);
    export_function(env, exports, "hold", hold), export_function(env, exports, "version", version);
}
