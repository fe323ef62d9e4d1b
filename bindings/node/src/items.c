/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * items.c: timers, sources, observers and descriptor sources. Each has a binding, which the item retains. */
#include "treadle_node.h"

static void fire(treadle_timer timer, void *info) { (void)timer, binding_call(info, "fire", 0, NULL); }
static void perform(treadle_source source, void *info) { (void)source, binding_call(info, "perform", 0, NULL); }
static void notify(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer;
    binding_call(info, "notify", 1, (const uint64_t[]){activity});
}
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)descriptor;
    binding_call(info, "ready", 1, (const uint64_t[]){events});
}
static void schedule(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop;
    binding_call_with_mode(info, "schedule", mode);
}
static void cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop;
    binding_call_with_mode(info, "cancel", mode);
}

/* The item, or an exception. What the context's retain took is given back by the item; the caller's reference becomes JavaScript's. */
static napi_value made(struct binding *binding, treadle_status status) {
    napi_env env = binding->environment->env;
    if (status >= 0) return binding_value(binding);
    binding_release(binding);
    return fail(env, status);
}

/* (functions, label, delay, interval, tolerance, flags) */
static napi_value make_timer(napi_env env, napi_callback_info info) {
    struct arguments arguments = arguments_of(env, info);
    treadle_timer_context context = TREADLE_INIT(treadle_timer_context);
    char label[256];
    struct binding *binding = binding_create(arguments.environment, arguments.values[0]);
    if (!binding) return NULL;
    text_of(env, arguments.values[1], label, sizeof label);
    context.info = binding, context.retain = binding_retain, context.release = binding_release, context.fire = fire;
    context.label = label[0] ? label : NULL;
    int64_t delay = integer_of(env, arguments.values[2]), now = treadle_time_now();
    context.fire_at = delay < TREADLE_FOREVER - now ? now + delay : TREADLE_FOREVER;
    context.interval_ns = integer_of(env, arguments.values[3]), context.tolerance_ns = integer_of(env, arguments.values[4]);
    context.flags = context.interval_ns == 0 ? (uint32_t)integer_of(env, arguments.values[5]) : 0;
    return made(binding, treadle_timer_create(&context, (treadle_timer *)&binding->item));
}
/* (functions, label, order) */
static napi_value make_source(napi_env env, napi_callback_info info) {
    struct arguments arguments = arguments_of(env, info);
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    char label[256];
    struct binding *binding = binding_create(arguments.environment, arguments.values[0]);
    if (!binding) return NULL;
    text_of(env, arguments.values[1], label, sizeof label);
    context.info = binding, context.retain = binding_retain, context.release = binding_release;
    context.perform = perform, context.schedule = schedule, context.cancel = cancel;
    context.label = label[0] ? label : NULL, context.order = integer_of(env, arguments.values[2]);
    return made(binding, treadle_source_create(&context, (treadle_source *)&binding->item));
}
/* (functions, label, order, activities, once) */
static napi_value make_observer(napi_env env, napi_callback_info info) {
    struct arguments arguments = arguments_of(env, info);
    treadle_observer_context context = TREADLE_INIT(treadle_observer_context);
    char label[256];
    struct binding *binding = binding_create(arguments.environment, arguments.values[0]);
    if (!binding) return NULL;
    text_of(env, arguments.values[1], label, sizeof label);
    context.info = binding, context.retain = binding_retain, context.release = binding_release, context.notify = notify;
    context.label = label[0] ? label : NULL, context.order = integer_of(env, arguments.values[2]);
    context.activities = (uint32_t)integer_of(env, arguments.values[3]), context.once = (uint32_t)integer_of(env, arguments.values[4]);
    return made(binding, treadle_observer_create(&context, (treadle_observer *)&binding->item));
}
/* (functions, label, fd, events) */
static napi_value make_descriptor(napi_env env, napi_callback_info info) {
    struct arguments arguments = arguments_of(env, info);
    treadle_descriptor_context context = TREADLE_INIT(treadle_descriptor_context);
    char label[256];
    struct binding *binding = binding_create(arguments.environment, arguments.values[0]);
    if (!binding) return NULL;
    text_of(env, arguments.values[1], label, sizeof label);
    context.info = binding, context.retain = binding_retain, context.release = binding_release, context.ready = ready;
    context.label = label[0] ? label : NULL;
    context.fd = (int32_t)integer_of(env, arguments.values[2]), context.events = (uint32_t)integer_of(env, arguments.values[3]);
    return made(binding, treadle_descriptor_create(&context, (treadle_descriptor *)&binding->item));
}

/* Functions of an item: (item, ...). */
#define OF_ITEM(name, body)                                                      \
    static napi_value name(napi_env env, napi_callback_info info) {              \
        struct arguments arguments = arguments_of(env, info);                    \
        struct binding *binding = binding_of(env, arguments.values[0]);          \
        if (!binding) return NULL;                                               \
        treadle_object item = binding->item;                                     \
        body                                                                     \
    }
/* Its cancel function has been called, and it is over: its functions may be collected, also where they know their item. */
OF_ITEM(invalidate, {
    treadle_status status = treadle_invalidate(item);
    if (arguments.environment->is_open) binding_let_go(binding);
    return result_of(env, status);
})
OF_ITEM(is_valid, {
    napi_value result;
    napi_get_boolean(env, treadle_is_valid(item), &result);
    return result;
})
OF_ITEM(describe, {
    char text[4096];
    size_t length;
    napi_value result;
    treadle_status status = treadle_describe(item, text, sizeof text, &length);
    if (status < 0) return fail(env, status);
    napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &result);
    return result;
})
OF_ITEM(handle_of, {
    napi_value result;
    napi_create_bigint_uint64(env, (uint64_t)(uintptr_t)item, &result);
    return result;
})
OF_ITEM(arm, { return result_of(env, treadle_timer_arm((treadle_timer)item, integer_of(env, arguments.values[1]))); })
OF_ITEM(next_fire, {
    int64_t time = 0;
    napi_value result;
    treadle_status status = treadle_timer_get_next_fire((treadle_timer)item, &time);
    if (status < 0) return fail(env, status);
    napi_create_bigint_int64(env, time, &result);
    return result;
})
OF_ITEM(set_events, { return result_of(env, treadle_descriptor_set_events((treadle_descriptor)item, (uint32_t)integer_of(env, arguments.values[1]))); })
OF_ITEM(is_signalled, {
    napi_value result;
    napi_get_boolean(env, treadle_source_is_signalled((treadle_source)item), &result);
    return result;
})
/* (handle, wakes): of any thread's source, by its handle. */
static napi_value signal_source(napi_env env, napi_callback_info info) {
    struct arguments arguments = arguments_of(env, info);
    treadle_source source = (treadle_source)(uintptr_t)integer_of(env, arguments.values[0]);
    bool wakes = true;
    napi_get_value_bool(env, arguments.values[1], &wakes);
    return result_of(env, wakes ? treadle_source_signal_and_wake(source) : treadle_source_signal(source));
}
/* (item, mode), to the thread's own loop */
OF_ITEM(add, {
    char mode[1024];
    text_of(env, arguments.values[1], mode, sizeof mode);
    return result_of(env, treadle_loop_add(arguments.environment->loop, item, mode));
})
OF_ITEM(remove_item, {
    char mode[1024];
    text_of(env, arguments.values[1], mode, sizeof mode);
    return result_of(env, treadle_loop_remove(arguments.environment->loop, item, mode));
})
OF_ITEM(contains, {
    char mode[1024];
    napi_value result;
    text_of(env, arguments.values[1], mode, sizeof mode);
    napi_get_boolean(env, treadle_loop_contains(arguments.environment->loop, item, mode), &result);
    return result;
})

void export_items(napi_env env, napi_value exports) {
    export_function(env, exports, "makeTimer", make_timer), export_function(env, exports, "makeSource", make_source);
    export_function(env, exports, "makeObserver", make_observer), export_function(env, exports, "makeDescriptor", make_descriptor);
    export_function(env, exports, "invalidate", invalidate), export_function(env, exports, "isValid", is_valid);
    export_function(env, exports, "describe", describe), export_function(env, exports, "handleOf", handle_of);
    export_function(env, exports, "arm", arm), export_function(env, exports, "nextFire", next_fire);
    export_function(env, exports, "setEvents", set_events), export_function(env, exports, "isSignalled", is_signalled);
    export_function(env, exports, "signal", signal_source), export_function(env, exports, "add", add);
    export_function(env, exports, "remove", remove_item), export_function(env, exports, "contains", contains);
}
