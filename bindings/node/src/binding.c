/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * binding.c: functions of JavaScript: kept, called, and let go. */
#include "treadle_node.h"

/* On the environment's thread. NULL with an exception. */
struct binding *binding_create(struct environment *environment, napi_value functions) {
    struct binding *binding = calloc(1, sizeof *binding);
    if (!binding || napi_create_reference(environment->env, functions, 1, &binding->functions) != napi_ok) {
        free(binding);
        napi_throw_error(environment->env, NULL, "treadle: no memory");
        return NULL;
    }
    __atomic_add_fetch(&environment->references, 1, __ATOMIC_RELAXED);
    binding->environment = environment;
    binding->references = 1;
    binding->next = environment->bindings;
    binding->link = &environment->bindings;
    if (binding->next) binding->next->link = &binding->next;
    environment->bindings = binding;
    return binding;
}

/* The functions are called no more. On the environment's thread. */
void binding_let_go(struct binding *binding) {
    if (!binding->functions) return;
    napi_delete_reference(binding->environment->env, binding->functions);
    __atomic_store_n(&binding->functions, NULL, __ATOMIC_RELEASE);
    *binding->link = binding->next;
    if (binding->next) binding->next->link = binding->link;
}

void *binding_retain(void *binding) {
    __atomic_add_fetch(&((struct binding *)binding)->references, 1, __ATOMIC_RELAXED);
    return binding;
}

static void nothing(void *info) { (void)info; }

/* Where another thread has the last one, it goes to the environment's thread, which alone may let the functions go. After the
 * end of the environment there is nothing to let go, and any thread will do. */
void binding_release(void *info) {
    struct binding *binding = info;
    struct environment *environment = binding->environment;
    if (__atomic_load_n(&binding->references, __ATOMIC_ACQUIRE) == 1 && __atomic_load_n(&binding->functions, __ATOMIC_ACQUIRE) &&
        !treadle_loop_is_current(environment->loop)) {
        treadle_post post = TREADLE_INIT(treadle_post);
        post.fn = nothing, post.info = binding, post.destroy = binding_release;
        treadle_loop_post_in(environment->loop, &post);
        return;
    }
    if (__atomic_sub_fetch(&binding->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    binding_let_go(binding);
    environment_release(environment);
    free(binding);
}

/* C may have added an item to a loop of another thread: JavaScript is not called there. */
static bool may_call(const struct binding *binding) {
    const struct environment *environment = binding->environment;
    return treadle_loop_is_current(environment->loop) && environment->is_open && binding->functions;
}

static void call(struct binding *binding, const char *name, size_t count, napi_value *arguments) {
    napi_env env = binding->environment->env;
    napi_value functions, function, receiver, result, error;
    bool is_pending = false, has_failed = true;
    napi_get_reference_value(env, binding->functions, &functions);
    napi_get_reference_value(env, binding->environment->receiver, &receiver);
    if (napi_get_named_property(env, functions, name, &function) == napi_ok)
        has_failed = napi_make_callback(env, NULL, receiver, function, count, arguments, &result) != napi_ok;
    /* Nobody is there to catch it: as with all of Node's callbacks. */
    if (napi_is_exception_pending(env, &is_pending) == napi_ok && is_pending && napi_get_and_clear_last_exception(env, &error) == napi_ok)
        napi_fatal_exception(env, error);
    /* A nested run that calls no more would go on for ever. */
    if (has_failed && environment_is_ending(binding->environment)) treadle_loop_stop(binding->environment->loop);
}

/* Calls one of the functions. After it the microtasks run, unless JavaScript is beneath us. */
void binding_call(struct binding *binding, const char *name, size_t count, const uint64_t *numbers) {
    napi_handle_scope scope;
    napi_value values[4];
    if (!may_call(binding)) return;
    if (napi_open_handle_scope(binding->environment->env, &scope) != napi_ok) return;
    for (size_t i = 0; i < count && i < 4; i++) napi_create_double(binding->environment->env, (double)numbers[i], &values[i]);
    binding_retain(binding);
    call(binding, name, count, values);
    napi_close_handle_scope(binding->environment->env, scope);
    binding_release(binding);
}
void binding_call_with_mode(struct binding *binding, const char *name, const char *mode) {
    napi_handle_scope scope;
    napi_value value;
    if (!may_call(binding)) return;
    if (napi_open_handle_scope(binding->environment->env, &scope) != napi_ok) return;
    napi_create_string_utf8(binding->environment->env, mode, NAPI_AUTO_LENGTH, &value);
    binding_retain(binding);
    call(binding, name, 1, &value);
    napi_close_handle_scope(binding->environment->env, scope);
    binding_release(binding);
}

/* JavaScript's own reference to the item ends with the external value. */
static void collected(napi_env env, void *data, void *hint) {
    struct binding *binding = data;
    (void)env, (void)hint;
    treadle_release(binding->item);
    binding_release(binding);
}
static const napi_type_tag tag = {0x7472656164006c65, 0x6e6f64655f697465};
napi_value binding_value(struct binding *binding) {
    napi_env env = binding->environment->env;
    napi_value value;
    if (napi_create_external(env, binding, collected, NULL, &value) != napi_ok) {
        collected(env, binding, NULL);
        return NULL;
    }
    napi_type_tag_object(env, value, &tag);
    return value;
}

/* NULL with an exception for what is no item of ours. */
struct binding *binding_of(napi_env env, napi_value value) {
    napi_valuetype type = napi_undefined;
    void *binding = NULL;
    bool is_ours = false;
    napi_typeof(env, value, &type);
    if (type == napi_external) napi_check_object_type_tag(env, value, &tag, &is_ours);
    if (is_ours) napi_get_value_external(env, value, &binding);
    if (!binding) napi_throw_type_error(env, NULL, "treadle: not an item");
    return binding;
}
