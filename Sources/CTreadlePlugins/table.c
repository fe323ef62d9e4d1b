/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * table.c: the table of functions that plugins are given. Made by scripts/make-plugin-table. */
#include "CTreadlePlugins.h"

#include <treadle.h>
#include <treadle/plugin_table.h>

/* Swift's (PluginHost): what is made in between belongs to the plugin. */
treadle_status libtreadle_plugin_enter(const treadle_plugin_host *plugin, void **out_entry);
void libtreadle_plugin_leave(void *entry);
void libtreadle_plugin_asks_for_end(treadle_object object);

static treadle_status in_closure_create(const treadle_plugin_host *plugin, const treadle_closure_config *config, treadle_closure *out_closure) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_closure_create(config, out_closure);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_descriptor_create(const treadle_plugin_host *plugin, const treadle_descriptor_context *context, treadle_descriptor *out_descriptor) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_descriptor_create(context, out_descriptor);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_descriptor_start(const treadle_plugin_host *plugin, int32_t fd, uint32_t events, treadle_ready_fn ready, void *info, treadle_descriptor *out_descriptor) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_descriptor_start(fd, events, ready, info, out_descriptor);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_host_register(const treadle_plugin_host *plugin, const treadle_host_config *config, treadle_host *out_host) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_host_register(config, out_host);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_host_post(const treadle_plugin_host *plugin, treadle_host host, uint64_t token, treadle_loop loop) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_host_post(host, token, loop);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_host_pool_add(const treadle_plugin_host *plugin, treadle_host host, uint64_t token) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_host_pool_add(host, token);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_invocation_create(const treadle_plugin_host *plugin, const treadle_invocation_config *config, treadle_invocation *out_invocation) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_invocation_create(config, out_invocation);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_invocation_perform(const treadle_plugin_host *plugin, treadle_invocation invocation, const treadle_invocation_options *options) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_invocation_perform(invocation, options);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_notification_add(const treadle_plugin_host *plugin, const treadle_notification_config *config, uint64_t *out_token) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_notification_add(config, out_token);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_observer_create(const treadle_plugin_host *plugin, const treadle_observer_context *context, treadle_observer *out_observer) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_observer_create(context, out_observer);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_observer_start(const treadle_plugin_host *plugin, uint32_t activities, treadle_observer_fn notify, void *info, treadle_observer *out_observer) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_observer_start(activities, notify, info, out_observer);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_perform(const treadle_plugin_host *plugin, treadle_object on, const treadle_request *request) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_perform(on, request);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_pool_add(const treadle_plugin_host *plugin, void *object, treadle_release_fn release) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_pool_add(object, release);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_loop_post(const treadle_plugin_host *plugin, treadle_loop loop, treadle_post_fn fn, void *info) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_loop_post(loop, fn, info);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_loop_post_in(const treadle_plugin_host *plugin, treadle_loop loop, const treadle_post *post) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_loop_post_in(loop, post);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_scope_create(const treadle_plugin_host *plugin, const treadle_scope_config *config, treadle_scope *out_scope) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_scope_create(config, out_scope);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_source_create(const treadle_plugin_host *plugin, const treadle_source_context *context, treadle_source *out_source) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_source_create(context, out_source);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_source_start(const treadle_plugin_host *plugin, treadle_perform_fn perform, void *info, treadle_source *out_source) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_source_start(perform, info, out_source);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_thread_create(const treadle_plugin_host *plugin, const treadle_thread_config *config, treadle_thread *out_thread) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_thread_create(config, out_thread);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_thread_detach_new(const treadle_plugin_host *plugin, treadle_thread_fn fn, void *info, treadle_release_fn destroy, treadle_thread *out_thread) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_thread_detach_new(fn, info, destroy, out_thread);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_timer_create(const treadle_plugin_host *plugin, const treadle_timer_context *context, treadle_timer *out_timer) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_timer_create(context, out_timer);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_timer_start(const treadle_plugin_host *plugin, int64_t delay_ns, int64_t interval_ns, treadle_timer_fn fire, void *info, treadle_timer *out_timer) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_timer_start(delay_ns, interval_ns, fire, info, out_timer);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_close(treadle_object object, int64_t timeout_ns) {
    libtreadle_plugin_asks_for_end(object);
    return treadle_close(object, timeout_ns);
}

static const treadle_plugin_table table = {
    .struct_size = sizeof(treadle_plugin_table),
    .closure_create = in_closure_create,
    .closure_get_code = treadle_closure_get_code,
    .closure_get_info = treadle_closure_get_info,
    .call_get_argument = treadle_call_get_argument,
    .call_set_result = treadle_call_set_result,
    .closure_pool_get_info = treadle_closure_pool_get_info,
    .descriptor_create = in_descriptor_create,
    .descriptor_start = in_descriptor_start,
    .descriptor_set_events = treadle_descriptor_set_events,
    .descriptor_get_events = treadle_descriptor_get_events,
    .descriptor_get_fd = treadle_descriptor_get_fd,
    .last_error = treadle_last_error,
    .status_name = treadle_status_name,
    .status_message = treadle_status_message,
    .host_register = in_host_register,
    .host_quiesce = treadle_host_quiesce,
    .host_get_dropped = treadle_host_get_dropped,
    .host_take_retired = treadle_host_take_retired,
    .host_get_retired_count = treadle_host_get_retired_count,
    .host_post = in_host_post,
    .host_run = treadle_host_run,
    .host_next = treadle_host_next,
    .host_wait = treadle_host_wait,
    .host_end_wait = treadle_host_end_wait,
    .host_pool_add = in_host_pool_add,
    .invocation_create = in_invocation_create,
    .invocation_set_argument = treadle_invocation_set_argument,
    .invocation_set_buffer = treadle_invocation_set_buffer,
    .invocation_get_argument = treadle_invocation_get_argument,
    .invocation_get_buffer = treadle_invocation_get_buffer,
    .invocation_perform = in_invocation_perform,
    .invocation_cancel = treadle_invocation_cancel,
    .invocation_get_state = treadle_invocation_get_state,
    .invocation_get_result = treadle_invocation_get_result,
    .lock_create = treadle_lock_create,
    .lock_lock = treadle_lock_lock,
    .lock_unlock = treadle_lock_unlock,
    .lock_get_pthread_mutex = treadle_lock_get_pthread_mutex,
    .condition_create = treadle_condition_create,
    .condition_wait = treadle_condition_wait,
    .condition_signal = treadle_condition_signal,
    .condition_broadcast = treadle_condition_broadcast,
    .condition_get_pthread_cond = treadle_condition_get_pthread_cond,
    .loop_current = treadle_loop_current,
    .loop_main = treadle_loop_main,
    .loop_copy_of_thread = treadle_loop_copy_of_thread,
    .loop_run = treadle_loop_run,
    .loop_set_interrupt_descriptor = treadle_loop_set_interrupt_descriptor,
    .loop_stop = treadle_loop_stop,
    .loop_request_stop = treadle_loop_request_stop,
    .loop_wake = treadle_loop_wake,
    .loop_is_waiting = treadle_loop_is_waiting,
    .loop_is_current = treadle_loop_is_current,
    .loop_get_thread_id = treadle_loop_get_thread_id,
    .loop_get_current_mode = treadle_loop_get_current_mode,
    .loop_get_modes = treadle_loop_get_modes,
    .loop_copy_items = treadle_loop_copy_items,
    .loop_get_counters = treadle_loop_get_counters,
    .loop_add_common_mode = treadle_loop_add_common_mode,
    .loop_is_common_mode = treadle_loop_is_common_mode,
    .loop_get_next_fire = treadle_loop_get_next_fire,
    .notification_add = in_notification_add,
    .notification_remove = treadle_notification_remove,
    .retain = treadle_retain,
    .release = treadle_release,
    .invalidate = treadle_invalidate,
    .close = in_close,
    .is_valid = treadle_is_valid,
    .get_info = treadle_get_info,
    .get_order = treadle_get_order,
    .get_kind = treadle_get_kind,
    .describe = treadle_describe,
    .loop_add = treadle_loop_add,
    .loop_remove = treadle_loop_remove,
    .loop_contains = treadle_loop_contains,
    .observer_create = in_observer_create,
    .observer_start = in_observer_start,
    .observer_get_activities = treadle_observer_get_activities,
    .observer_repeats = treadle_observer_repeats,
    .perform = in_perform,
    .perform_cancel = treadle_perform_cancel,
    .pool_push = treadle_pool_push,
    .pool_pop = treadle_pool_pop,
    .pool_add = in_pool_add,
    .loop_post = in_loop_post,
    .loop_post_in = in_loop_post_in,
    .report_error = treadle_report_error,
    .signature_parse = treadle_signature_parse,
    .signature_get_argument_count = treadle_signature_get_argument_count,
    .signature_get_layout = treadle_signature_get_layout,
    .signature_describe = treadle_signature_describe,
    .routine_create = treadle_routine_create,
    .routine_call = treadle_routine_call,
    .scope_create = in_scope_create,
    .scope_enter = treadle_scope_enter,
    .scope_leave = treadle_scope_leave,
    .scope_copy_holders = treadle_scope_copy_holders,
    .source_create = in_source_create,
    .source_start = in_source_start,
    .source_signal = treadle_source_signal,
    .source_signal_and_wake = treadle_source_signal_and_wake,
    .source_is_signalled = treadle_source_is_signalled,
    .thread_create = in_thread_create,
    .thread_start = treadle_thread_start,
    .thread_start_and_wait = treadle_thread_start_and_wait,
    .thread_declare_ready = treadle_thread_declare_ready,
    .thread_detach_new = in_thread_detach_new,
    .thread_current = treadle_thread_current,
    .thread_main = treadle_thread_main,
    .thread_is_main = treadle_thread_is_main,
    .is_multithreaded = treadle_is_multithreaded,
    .thread_get_pthread = treadle_thread_get_pthread,
    .thread_get_id = treadle_thread_get_id,
    .thread_copy_loop = treadle_thread_copy_loop,
    .thread_get_state = treadle_thread_get_state,
    .thread_is_executing = treadle_thread_is_executing,
    .thread_is_finished = treadle_thread_is_finished,
    .thread_cancel = treadle_thread_cancel,
    .thread_is_cancelled = treadle_thread_is_cancelled,
    .thread_stop = treadle_thread_stop,
    .thread_join = treadle_thread_join,
    .thread_detach = treadle_thread_detach,
    .thread_is_detached = treadle_thread_is_detached,
    .thread_exit = treadle_thread_exit,
    .thread_set_stack_size = treadle_thread_set_stack_size,
    .thread_get_stack_size = treadle_thread_get_stack_size,
    .thread_set_name = treadle_thread_set_name,
    .thread_get_name = treadle_thread_get_name,
    .thread_set_priority = treadle_thread_set_priority,
    .thread_get_priority = treadle_thread_get_priority,
    .thread_set_policy = treadle_thread_set_policy,
    .thread_get_policy = treadle_thread_get_policy,
    .thread_set_value = treadle_thread_set_value,
    .thread_get_value = treadle_thread_get_value,
    .thread_use_value = treadle_thread_use_value,
    .thread_remove_value = treadle_thread_remove_value,
    .thread_sleep_for = treadle_thread_sleep_for,
    .thread_sleep_until = treadle_thread_sleep_until,
    .time_now = treadle_time_now,
    .time_recent = treadle_time_recent,
    .time_from_seconds = treadle_time_from_seconds,
    .time_from_absolute = treadle_time_from_absolute,
    .time_to_absolute = treadle_time_to_absolute,
    .timer_create = in_timer_create,
    .timer_start = in_timer_start,
    .timer_fire = treadle_timer_fire,
    .timer_get_next_fire = treadle_timer_get_next_fire,
    .timer_set_next_fire = treadle_timer_set_next_fire,
    .timer_arm = treadle_timer_arm,
    .timer_get_interval = treadle_timer_get_interval,
    .timer_repeats = treadle_timer_repeats,
    .timer_set_tolerance = treadle_timer_set_tolerance,
    .timer_get_tolerance = treadle_timer_get_tolerance,
    .version = treadle_version,
    .version_string = treadle_version_string,
};
const void *libtreadle_plugin_table(void) { return &table; }
