/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * environment.c: the beginning and the end of an environment; errors and arguments. */
#include "treadle_node.h"

#include <string.h>

void environment_release(struct environment *environment) {
    if (__atomic_sub_fetch(&environment->references, 1, __ATOMIC_ACQ_REL) == 0) free(environment);
}

/* Node's loop has closed our handle: the environment may go. */
static void closed(void *info) {
    struct environment *environment = (struct environment *)info;
    napi_remove_async_cleanup_hook(environment->cleanup);
    environment_release(environment);
}

/* The gate is closed first, so that whatever ends here calls no JavaScript; then all items end, whoever signals them elsewhere. */
static void close_environment(napi_async_cleanup_hook_handle handle, void *info) {
    struct environment *environment = (struct environment *)info;
    (void)handle;
    environment->is_open = false;
    environment_unwatch(environment);
    while (environment->bindings) {
        struct binding *binding = binding_retain(environment->bindings);
        if (binding->item) treadle_invalidate(binding->item);
        binding_let_go(binding);
        binding_release(binding);
    }
    napi_delete_reference(environment->env, environment->receiver);
    environment->inner->closed = closed;
    treadle_uv_stop(environment->inner);
}

/* A pass that was stopped is over; Node's loop goes on. An error is told as an exception that nobody caught. */
static bool ended(treadle_status status, void *info) {
    struct environment *environment = (struct environment *)info;
    if (status >= 0) return true;
    napi_handle_scope scope;
    napi_value error;
    if (!environment->is_open || napi_open_handle_scope(environment->env, &scope) != napi_ok) return true;
    fail(environment->env, status);
    if (napi_get_and_clear_last_exception(environment->env, &error) == napi_ok) napi_fatal_exception(environment->env, error);
    napi_close_handle_scope(environment->env, scope);
    return true;
}

struct environment *open_environment(napi_env env) {
    struct environment *environment = calloc(1, sizeof *environment);
    uv_loop_t *uv;
    napi_value receiver;
    if (!environment || napi_get_uv_event_loop(env, &uv) != napi_ok) return free(environment), NULL;
    environment->env = env;
    environment->references = 1;
    environment->loop = treadle_loop_current();
    environment->is_open = true;
    treadle_status status = environment_watch(environment, uv);
    if (status >= 0) status = treadle_uv_start(uv, environment->loop, TREADLE_DEFAULT_MODE, ended, environment, &environment->inner);
    if (status < 0) return environment_unwatch(environment), fail(env, status), free(environment), NULL;
    uv_unref((uv_handle_t *)&environment->inner->poll);
    napi_create_object(env, &receiver);
    napi_create_reference(env, receiver, 1, &environment->receiver);
    napi_add_async_cleanup_hook(env, close_environment, environment, &environment->cleanup);
    napi_set_instance_data(env, environment, NULL, NULL);
    return environment;
}

/* Throws the last error. */
napi_value fail(napi_env env, treadle_status status) {
    treadle_error_info info = TREADLE_INIT(treadle_error_info);
    napi_value code, message, error, number;
    const char *name = treadle_status_name(status);
    treadle_last_error(&info);
    const char *text = info.code == status && info.message[0] ? info.message : treadle_status_message(status);
    napi_create_string_utf8(env, name, NAPI_AUTO_LENGTH, &code);
    napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &message);
    napi_create_error(env, code, message, &error);
    napi_create_int32(env, status, &number);
    napi_set_named_property(env, error, "status", number);
    napi_throw(env, error);
    return NULL;
}

/* True, false where it had no effect, or an error. */
napi_value result_of(napi_env env, treadle_status status) {
    napi_value result;
    if (status < 0) return fail(env, status);
    napi_get_boolean(env, status != TREADLE_IGNORED, &result);
    return result;
}

struct arguments arguments_of(napi_env env, napi_callback_info info) {
    struct arguments arguments;
    size_t count = MOST_ARGUMENTS; /* what is missing is undefined */
    memset(&arguments, 0, sizeof arguments);
    napi_get_cb_info(env, info, &count, arguments.values, NULL, NULL);
    napi_get_instance_data(env, (void **)&arguments.environment);
    return arguments;
}

/* A number, or a BigInt; 0 of anything else. */
int64_t integer_of(napi_env env, napi_value value) {
    int64_t integer = 0;
    bool is_lossless;
    if (napi_get_value_int64(env, value, &integer) != napi_ok) napi_get_value_bigint_int64(env, value, &integer, &is_lossless);
    return integer;
}

void text_of(napi_env env, napi_value value, char *text, size_t size) {
    size_t length;
    text[0] = 0;
    napi_get_value_string_utf8(env, value, text, size, &length);
}

void export_function(napi_env env, napi_value exports, const char *name, napi_callback callback) {
    napi_value function;
    napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, NULL, &function);
    napi_set_named_property(env, exports, name, function);
}

NAPI_MODULE_INIT() {
    if (!open_environment(env)) {
        bool is_pending = false;
        napi_is_exception_pending(env, &is_pending);
        if (!is_pending) napi_throw_error(env, NULL, "treadle: no memory, or no loop of libuv");
        return NULL;
    }
    export_items(env, exports);
    export_loops(env, exports);
    return exports;
}
