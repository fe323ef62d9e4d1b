/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_table.h: the functions that a plugin is given, and, where TREADLE_PLUGIN is defined, what calls them. Made by
 * make generate from the other headers. */
#ifndef TREADLE_PLUGIN_TABLE_H
#define TREADLE_PLUGIN_TABLE_H

#include "../treadle.h"

TREADLE_BEGIN_DECLS

struct treadle_plugin_table {
    size_t struct_size; /* what the host has: what comes behind it is not there */
    treadle_status (*closure_create)(const treadle_plugin_host *plugin, const treadle_closure_config *config, treadle_closure *out_closure);
    treadle_status (*closure_get_code)(treadle_closure closure, void (**out_code)(void));
    treadle_status (*closure_get_info)(treadle_closure closure, treadle_closure_info *out_info);
    treadle_status (*call_get_argument)(const treadle_call *call, size_t index, void *value, size_t size);
    treadle_status (*call_set_result)(treadle_call *call, const void *value, size_t size);
    treadle_status (*closure_pool_get_info)(treadle_closure_pool_info *out_info);
    treadle_status (*descriptor_create)(const treadle_plugin_host *plugin, const treadle_descriptor_context *context, treadle_descriptor *out_descriptor);
    treadle_status (*descriptor_start)(const treadle_plugin_host *plugin, int32_t fd, uint32_t events, treadle_ready_fn ready, void *info, treadle_descriptor *out_descriptor);
    treadle_status (*descriptor_set_events)(treadle_descriptor descriptor, uint32_t events);
    treadle_status (*descriptor_get_events)(treadle_descriptor descriptor, uint32_t *out_events);
    treadle_status (*descriptor_get_fd)(treadle_descriptor descriptor, int32_t *out_fd);
    treadle_status (*last_error)(treadle_error_info *info);
    const char *(*status_name)(treadle_status status);
    const char *(*status_message)(treadle_status status);
    treadle_status (*host_register)(const treadle_plugin_host *plugin, const treadle_host_config *config, treadle_host *out_host);
    treadle_status (*host_quiesce)(treadle_host host, int64_t timeout_ns);
    treadle_status (*host_get_dropped)(treadle_host host, uint64_t *out_count);
    treadle_status (*host_take_retired)(treadle_host host, uint64_t *tokens, size_t capacity, size_t *out_count);
    const uint64_t *(*host_get_retired_count)(treadle_host host);
    treadle_status (*host_post)(const treadle_plugin_host *plugin, treadle_host host, uint64_t token, treadle_loop loop);
    treadle_status (*host_run)(treadle_host host, treadle_loop loop, const char *mode, int64_t timeout_ns, uint32_t flags);
    treadle_status (*host_wait)(treadle_loop loop, uint32_t *word, int64_t timeout_ns);
    treadle_status (*host_end_wait)(uint32_t *word);
    treadle_status (*host_pool_add)(const treadle_plugin_host *plugin, treadle_host host, uint64_t token);
    treadle_status (*invocation_create)(const treadle_plugin_host *plugin, const treadle_invocation_config *config, treadle_invocation *out_invocation);
    treadle_status (*invocation_set_argument)(treadle_invocation invocation, size_t index, const void *value, size_t size);
    treadle_status (*invocation_set_buffer)(treadle_invocation invocation, size_t index, void *bytes, size_t size);
    treadle_status (*invocation_get_argument)(treadle_invocation invocation, size_t index, void *value, size_t size);
    treadle_status (*invocation_get_buffer)(treadle_invocation invocation, size_t index, void *bytes, size_t size);
    treadle_status (*invocation_perform)(const treadle_plugin_host *plugin, treadle_invocation invocation, const treadle_invocation_options *options);
    treadle_status (*invocation_cancel)(treadle_invocation invocation);
    treadle_status (*invocation_get_state)(treadle_invocation invocation, uint32_t *out_state);
    treadle_status (*invocation_get_result)(treadle_invocation invocation, void *result, size_t size);
    treadle_status (*lock_create)(uint32_t flags, treadle_lock *out_lock);
    treadle_status (*lock_lock)(treadle_lock lock, int64_t timeout_ns);
    treadle_status (*lock_unlock)(treadle_lock lock);
    treadle_status (*condition_create)(treadle_condition *out_condition);
    treadle_status (*condition_wait)(treadle_condition condition, treadle_lock lock, int64_t timeout_ns);
    treadle_status (*condition_signal)(treadle_condition condition);
    treadle_status (*condition_broadcast)(treadle_condition condition);
    treadle_loop (*loop_current)(void);
    treadle_loop (*loop_main)(void);
    treadle_status (*loop_copy_of_thread)(int32_t thread_id, treadle_loop *out_loop);
    treadle_status (*loop_run)(treadle_loop loop, const char *mode, int64_t timeout_ns, uint32_t flags);
    treadle_status (*loop_set_interrupt_descriptor)(treadle_loop loop, int32_t fd);
    treadle_status (*loop_stop)(treadle_loop loop);
    treadle_status (*loop_request_stop)(treadle_loop loop, uint32_t flags);
    treadle_status (*loop_wake)(treadle_loop loop);
    bool (*loop_is_waiting)(treadle_loop loop);
    bool (*loop_is_current)(treadle_loop loop);
    treadle_status (*loop_get_thread_id)(treadle_loop loop, int32_t *out_thread_id);
    treadle_status (*loop_get_current_mode)(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length);
    treadle_status (*loop_get_modes)(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length);
    treadle_status (*loop_copy_items)(treadle_loop loop, const char *mode, treadle_object *items, size_t capacity, size_t *out_count);
    treadle_status (*loop_get_counters)(treadle_loop loop, treadle_loop_counters *out_counters);
    treadle_status (*loop_add_common_mode)(treadle_loop loop, const char *mode);
    bool (*loop_is_common_mode)(treadle_loop loop, const char *mode);
    treadle_status (*loop_get_next_fire)(treadle_loop loop, const char *mode, int64_t *out_time);
    treadle_status (*notification_add)(const treadle_plugin_host *plugin, const treadle_notification_config *config, uint64_t *out_token);
    treadle_status (*notification_remove)(uint64_t token);
    treadle_status (*retain)(treadle_object object);
    treadle_status (*release)(treadle_object object);
    treadle_status (*invalidate)(treadle_object item);
    treadle_status (*close)(treadle_object object, int64_t timeout_ns);
    bool (*is_valid)(treadle_object item);
    treadle_status (*get_context_info)(treadle_object item, void **out_info);
    treadle_status (*get_order)(treadle_object item, int64_t *out_order);
    treadle_status (*get_kind)(treadle_object object, uint32_t *out_kind);
    treadle_status (*describe)(treadle_object object, char *buffer, size_t capacity, size_t *out_length);
    treadle_status (*loop_add)(treadle_loop loop, treadle_object item, const char *mode);
    treadle_status (*loop_remove)(treadle_loop loop, treadle_object item, const char *mode);
    bool (*loop_contains)(treadle_loop loop, treadle_object item, const char *mode);
    treadle_status (*observer_create)(const treadle_plugin_host *plugin, const treadle_observer_context *context, treadle_observer *out_observer);
    treadle_status (*observer_start)(const treadle_plugin_host *plugin, uint32_t activities, treadle_observer_fn notify, void *info, treadle_observer *out_observer);
    treadle_status (*observer_get_activities)(treadle_observer observer, uint32_t *out_activities);
    bool (*observer_repeats)(treadle_observer observer);
    treadle_status (*perform)(const treadle_plugin_host *plugin, treadle_object on, const treadle_request *request);
    treadle_status (*perform_cancel)(const treadle_request *like);
    treadle_status (*pool_push)(uint64_t *out_token);
    treadle_status (*pool_pop)(uint64_t token);
    treadle_status (*pool_add)(const treadle_plugin_host *plugin, void *object, treadle_release_fn release);
    treadle_status (*loop_post)(const treadle_plugin_host *plugin, treadle_loop loop, treadle_post_fn fn, void *info);
    treadle_status (*loop_post_in)(const treadle_plugin_host *plugin, treadle_loop loop, const treadle_post *post);
    treadle_status (*report_error)(const char *kind, const char *message);
    treadle_status (*signature_parse)(const char *encoding, treadle_signature *out_signature);
    treadle_status (*signature_get_argument_count)(treadle_signature signature, size_t *out_count);
    treadle_status (*signature_get_layout)(treadle_signature signature, int32_t index, size_t *out_size, size_t *out_alignment);
    treadle_status (*signature_describe)(treadle_signature signature, char *buffer, size_t capacity, size_t *out_length);
    treadle_status (*routine_create)(const treadle_plugin_host *plugin, const treadle_routine_config *config, treadle_routine *out_routine);
    treadle_status (*routine_call)(treadle_routine routine, const treadle_event *event, void *result, size_t result_size);
    treadle_status (*scope_create)(const treadle_plugin_host *plugin, const treadle_scope_config *config, treadle_scope *out_scope);
    treadle_status (*scope_enter)(treadle_scope scope);
    treadle_status (*scope_leave)(treadle_scope scope);
    treadle_status (*scope_copy_holders)(treadle_scope scope, treadle_scope_holder *buffer, size_t holder_size, size_t capacity, size_t *out_count);
    treadle_status (*source_create)(const treadle_plugin_host *plugin, const treadle_source_context *context, treadle_source *out_source);
    treadle_status (*source_start)(const treadle_plugin_host *plugin, treadle_perform_fn perform, void *info, treadle_source *out_source);
    treadle_status (*source_signal)(treadle_source source);
    treadle_status (*source_signal_and_wake)(treadle_source source);
    bool (*source_is_signalled)(treadle_source source);
    treadle_status (*thread_create)(const treadle_plugin_host *plugin, const treadle_thread_config *config, treadle_thread *out_thread);
    treadle_status (*thread_start)(treadle_thread thread);
    treadle_status (*thread_start_and_wait)(treadle_thread thread, int64_t timeout_ns);
    treadle_status (*thread_declare_ready)(void);
    treadle_thread (*thread_current)(void);
    treadle_thread (*thread_main)(void);
    bool (*thread_is_main)(treadle_thread thread);
    bool (*is_multithreaded)(void);
    treadle_status (*thread_get_id)(treadle_thread thread, int32_t *out_thread_id);
    treadle_status (*thread_copy_loop)(treadle_thread thread, treadle_loop *out_loop);
    treadle_status (*thread_get_state)(treadle_thread thread, uint32_t *out_state);
    treadle_status (*thread_cancel)(treadle_thread thread);
    bool (*thread_is_cancelled)(treadle_thread thread);
    treadle_status (*thread_stop)(treadle_thread thread);
    treadle_status (*thread_join)(treadle_thread thread, int64_t timeout_ns, void **out_result);
    treadle_status (*thread_detach)(treadle_thread thread);
    bool (*thread_is_detached)(treadle_thread thread);
    treadle_status (*thread_exit)(void *result);
    treadle_status (*thread_set_stack_size)(treadle_thread thread, size_t size);
    treadle_status (*thread_get_stack_size)(treadle_thread thread, size_t *out_size);
    treadle_status (*thread_set_name)(treadle_thread thread, const char *name);
    treadle_status (*thread_get_name)(treadle_thread thread, char *buffer, size_t capacity, size_t *out_length);
    treadle_status (*thread_set_priority)(treadle_thread thread, double priority);
    treadle_status (*thread_get_priority)(treadle_thread thread, double *out_priority, int32_t *out_applied);
    treadle_status (*thread_set_policy)(treadle_thread thread, uint32_t policy);
    treadle_status (*thread_get_policy)(treadle_thread thread, uint32_t *out_policy);
    treadle_status (*thread_set_value)(const treadle_plugin_host *plugin, treadle_thread thread, const char *key, void *value, treadle_release_fn release);
    treadle_status (*thread_get_value)(treadle_thread thread, const char *key, void **out_value);
    treadle_status (*thread_use_value)(treadle_thread thread, const char *key, void (*use)(void *value, void *info), void *info);
    treadle_status (*thread_remove_value)(treadle_thread thread, const char *key);
    treadle_status (*thread_sleep_until)(int64_t time);
    int64_t (*time_now)(void);
    int64_t (*time_recent)(void);
    treadle_status (*time_from_seconds)(double seconds, int64_t *out_ns);
    treadle_status (*time_from_absolute)(double date, int64_t *out_time);
    double (*time_to_absolute)(int64_t time);
    treadle_status (*timer_create)(const treadle_plugin_host *plugin, const treadle_timer_context *context, treadle_timer *out_timer);
    treadle_status (*timer_start)(const treadle_plugin_host *plugin, int64_t delay_ns, int64_t interval_ns, treadle_timer_fn fire, void *info, treadle_timer *out_timer);
    treadle_status (*timer_fire)(treadle_timer timer);
    treadle_status (*timer_get_next_fire)(treadle_timer timer, int64_t *out_time);
    treadle_status (*timer_set_time)(treadle_timer timer, int64_t time_ns, uint32_t flags);
    treadle_status (*timer_get_interval)(treadle_timer timer, int64_t *out_interval_ns);
    treadle_status (*timer_set_tolerance)(treadle_timer timer, int64_t tolerance_ns);
    treadle_status (*timer_get_tolerance)(treadle_timer timer, int64_t *out_tolerance_ns);
    uint32_t (*version)(void);
    const char *(*version_string)(void);
    treadle_status (*loop_open_pollable)(treadle_loop loop, const char *mode, int32_t *out_fd);
    treadle_status (*port_create)(const treadle_plugin_host *plugin, const treadle_port_context *context, treadle_port *out_port);
    treadle_status (*port_send)(treadle_port port, const treadle_message_content *content, int64_t timeout_ns);
    treadle_status (*port_send_bytes)(treadle_port port, uint32_t id, const void *bytes, size_t length, int64_t timeout_ns);
    treadle_status (*port_get_count)(treadle_port port, size_t *out_count, size_t *out_capacity);
    treadle_status (*message_get_info)(treadle_message message, treadle_message_info *out_info);
    treadle_status (*message_get_component)(treadle_message message, size_t index, treadle_component *out_component);
    treadle_status (*message_take_descriptor)(treadle_message message, size_t index, int32_t *out_descriptor);
    treadle_status (*loop_next)(treadle_loop loop, treadle_pull *pull);
    treadle_status (*loop_prepare)(treadle_loop loop, const char *mode, int64_t *out_date);
    treadle_status (*loop_dispatch)(treadle_loop loop, const char *mode, int64_t budget_ns, size_t budget_items);
    treadle_status (*message_port_create_local)(const treadle_plugin_host *plugin, const char *name, const treadle_message_port_context *context, treadle_message_port *out_port);
    treadle_status (*message_port_create_remote)(const treadle_plugin_host *plugin, const char *name, const treadle_message_port_context *context, treadle_message_port *out_port);
    bool (*message_port_is_remote)(treadle_message_port port);
    treadle_status (*message_port_get_name)(treadle_message_port port, char *buffer, size_t capacity, size_t *out_length);
    treadle_status (*message_port_set_name)(treadle_message_port port, const char *name);
    treadle_status (*message_port_set_invalidated)(const treadle_plugin_host *plugin, treadle_message_port port, treadle_message_port_invalidated_fn invalidated);
    treadle_status (*message_port_check)(treadle_message_port port);
    treadle_status (*message_port_send)(treadle_message_port port, int32_t id, const void *data, size_t size, int64_t timeout_ns);
    treadle_status (*message_port_request)(treadle_message_port port, int32_t id, const void *data, size_t size, int64_t send_timeout_ns, int64_t reply_timeout_ns, const char *mode, treadle_message_port_reply_fn reply, void *info);
    treadle_status (*message_port_reply)(uint64_t call, const void *data, size_t size);
    treadle_status (*invocation_get_errno)(treadle_invocation invocation, int32_t *out_errno);
    bool (*has_last_resort)(void);
    treadle_status (*port_call)(treadle_message_port port, const char *name, const char *signature, const treadle_port_value *arguments, size_t argument_count, void *result, size_t result_size, int64_t timeout_ns, const char *mode);
    treadle_status (*thread_request_stop)(treadle_thread thread, uint32_t flags);
    treadle_status (*trace_mark)(const char *label, int64_t value);
    treadle_status (*get_pthread)(treadle_object object, uintptr_t *out_pthread);
    treadle_status (*loop_copy_thread)(treadle_loop loop, treadle_thread *out_thread);
};

#ifdef TREADLE_PLUGIN
/* Whether the host has a function: before init there is none, and an older one has less than this header. */
static inline bool treadle_plugin_has(size_t offset) { return treadle_plugin_self && offset < treadle_plugin_self->table->struct_size; }
static inline treadle_status treadle_plugin_lacks(void) { return treadle_plugin_self ? TREADLE_E_NOT_SUPPORTED : TREADLE_E_STATE; }
#define TREADLE_HAS(member) treadle_plugin_has(offsetof(treadle_plugin_table, member))
#define TREADLE_FORWARD TREADLE_API
TREADLE_FORWARD treadle_status treadle_closure_create(const treadle_closure_config *config, treadle_closure *out_closure) { if (!TREADLE_HAS(closure_create)) return treadle_plugin_lacks(); return treadle_plugin_self->table->closure_create(treadle_plugin_self, config, out_closure); }
TREADLE_FORWARD treadle_status treadle_closure_get_code(treadle_closure closure, void (**out_code)(void)) { if (!TREADLE_HAS(closure_get_code)) return treadle_plugin_lacks(); return treadle_plugin_self->table->closure_get_code(closure, out_code); }
TREADLE_FORWARD treadle_status treadle_closure_get_info(treadle_closure closure, treadle_closure_info *out_info) { if (!TREADLE_HAS(closure_get_info)) return treadle_plugin_lacks(); return treadle_plugin_self->table->closure_get_info(closure, out_info); }
TREADLE_FORWARD treadle_status treadle_call_get_argument(const treadle_call *call, size_t index, void *value, size_t size) { if (!TREADLE_HAS(call_get_argument)) return treadle_plugin_lacks(); return treadle_plugin_self->table->call_get_argument(call, index, value, size); }
TREADLE_FORWARD treadle_status treadle_call_set_result(treadle_call *call, const void *value, size_t size) { if (!TREADLE_HAS(call_set_result)) return treadle_plugin_lacks(); return treadle_plugin_self->table->call_set_result(call, value, size); }
TREADLE_FORWARD treadle_status treadle_closure_pool_get_info(treadle_closure_pool_info *out_info) { if (!TREADLE_HAS(closure_pool_get_info)) return treadle_plugin_lacks(); return treadle_plugin_self->table->closure_pool_get_info(out_info); }
TREADLE_FORWARD treadle_status treadle_descriptor_create(const treadle_descriptor_context *context, treadle_descriptor *out_descriptor) { if (!TREADLE_HAS(descriptor_create)) return treadle_plugin_lacks(); return treadle_plugin_self->table->descriptor_create(treadle_plugin_self, context, out_descriptor); }
TREADLE_FORWARD treadle_status treadle_descriptor_start(int32_t fd, uint32_t events, treadle_ready_fn ready, void *info, treadle_descriptor *out_descriptor) { if (!TREADLE_HAS(descriptor_start)) return treadle_plugin_lacks(); return treadle_plugin_self->table->descriptor_start(treadle_plugin_self, fd, events, ready, info, out_descriptor); }
TREADLE_FORWARD treadle_status treadle_descriptor_set_events(treadle_descriptor descriptor, uint32_t events) { if (!TREADLE_HAS(descriptor_set_events)) return treadle_plugin_lacks(); return treadle_plugin_self->table->descriptor_set_events(descriptor, events); }
TREADLE_FORWARD treadle_status treadle_descriptor_get_events(treadle_descriptor descriptor, uint32_t *out_events) { if (!TREADLE_HAS(descriptor_get_events)) return treadle_plugin_lacks(); return treadle_plugin_self->table->descriptor_get_events(descriptor, out_events); }
TREADLE_FORWARD treadle_status treadle_descriptor_get_fd(treadle_descriptor descriptor, int32_t *out_fd) { if (!TREADLE_HAS(descriptor_get_fd)) return treadle_plugin_lacks(); return treadle_plugin_self->table->descriptor_get_fd(descriptor, out_fd); }
TREADLE_FORWARD treadle_status treadle_last_error(treadle_error_info *info) { if (!TREADLE_HAS(last_error)) return treadle_plugin_lacks(); return treadle_plugin_self->table->last_error(info); }
TREADLE_FORWARD const char *treadle_status_name(treadle_status status) { if (!TREADLE_HAS(status_name)) return ""; return treadle_plugin_self->table->status_name(status); }
TREADLE_FORWARD const char *treadle_status_message(treadle_status status) { if (!TREADLE_HAS(status_message)) return ""; return treadle_plugin_self->table->status_message(status); }
TREADLE_FORWARD treadle_status treadle_host_register(const treadle_host_config *config, treadle_host *out_host) { if (!TREADLE_HAS(host_register)) return treadle_plugin_lacks(); return treadle_plugin_self->table->host_register(treadle_plugin_self, config, out_host); }
TREADLE_FORWARD treadle_status treadle_host_quiesce(treadle_host host, int64_t timeout_ns) { if (!TREADLE_HAS(host_quiesce)) return treadle_plugin_lacks(); return treadle_plugin_self->table->host_quiesce(host, timeout_ns); }
TREADLE_FORWARD treadle_status treadle_host_get_dropped(treadle_host host, uint64_t *out_count) { if (!TREADLE_HAS(host_get_dropped)) return treadle_plugin_lacks(); return treadle_plugin_self->table->host_get_dropped(host, out_count); }
TREADLE_FORWARD treadle_status treadle_host_take_retired(treadle_host host, uint64_t *tokens, size_t capacity, size_t *out_count) { if (!TREADLE_HAS(host_take_retired)) return treadle_plugin_lacks(); return treadle_plugin_self->table->host_take_retired(host, tokens, capacity, out_count); }
TREADLE_FORWARD const uint64_t *treadle_host_get_retired_count(treadle_host host) { if (!TREADLE_HAS(host_get_retired_count)) return NULL; return treadle_plugin_self->table->host_get_retired_count(host); }
TREADLE_FORWARD treadle_status treadle_host_post(treadle_host host, uint64_t token, treadle_loop loop) { if (!TREADLE_HAS(host_post)) return treadle_plugin_lacks(); return treadle_plugin_self->table->host_post(treadle_plugin_self, host, token, loop); }
TREADLE_FORWARD treadle_status treadle_host_run(treadle_host host, treadle_loop loop, const char *mode, int64_t timeout_ns, uint32_t flags) { if (!TREADLE_HAS(host_run)) return treadle_plugin_lacks(); return treadle_plugin_self->table->host_run(host, loop, mode, timeout_ns, flags); }
TREADLE_FORWARD treadle_status treadle_host_wait(treadle_loop loop, uint32_t *word, int64_t timeout_ns) { if (!TREADLE_HAS(host_wait)) return treadle_plugin_lacks(); return treadle_plugin_self->table->host_wait(loop, word, timeout_ns); }
TREADLE_FORWARD treadle_status treadle_host_end_wait(uint32_t *word) { if (!TREADLE_HAS(host_end_wait)) return treadle_plugin_lacks(); return treadle_plugin_self->table->host_end_wait(word); }
TREADLE_FORWARD treadle_status treadle_host_pool_add(treadle_host host, uint64_t token) { if (!TREADLE_HAS(host_pool_add)) return treadle_plugin_lacks(); return treadle_plugin_self->table->host_pool_add(treadle_plugin_self, host, token); }
TREADLE_FORWARD treadle_status treadle_invocation_create(const treadle_invocation_config *config, treadle_invocation *out_invocation) { if (!TREADLE_HAS(invocation_create)) return treadle_plugin_lacks(); return treadle_plugin_self->table->invocation_create(treadle_plugin_self, config, out_invocation); }
TREADLE_FORWARD treadle_status treadle_invocation_set_argument(treadle_invocation invocation, size_t index, const void *value, size_t size) { if (!TREADLE_HAS(invocation_set_argument)) return treadle_plugin_lacks(); return treadle_plugin_self->table->invocation_set_argument(invocation, index, value, size); }
TREADLE_FORWARD treadle_status treadle_invocation_set_buffer(treadle_invocation invocation, size_t index, void *bytes, size_t size) { if (!TREADLE_HAS(invocation_set_buffer)) return treadle_plugin_lacks(); return treadle_plugin_self->table->invocation_set_buffer(invocation, index, bytes, size); }
TREADLE_FORWARD treadle_status treadle_invocation_get_argument(treadle_invocation invocation, size_t index, void *value, size_t size) { if (!TREADLE_HAS(invocation_get_argument)) return treadle_plugin_lacks(); return treadle_plugin_self->table->invocation_get_argument(invocation, index, value, size); }
TREADLE_FORWARD treadle_status treadle_invocation_get_buffer(treadle_invocation invocation, size_t index, void *bytes, size_t size) { if (!TREADLE_HAS(invocation_get_buffer)) return treadle_plugin_lacks(); return treadle_plugin_self->table->invocation_get_buffer(invocation, index, bytes, size); }
TREADLE_FORWARD treadle_status treadle_invocation_perform(treadle_invocation invocation, const treadle_invocation_options *options) { if (!TREADLE_HAS(invocation_perform)) return treadle_plugin_lacks(); return treadle_plugin_self->table->invocation_perform(treadle_plugin_self, invocation, options); }
TREADLE_FORWARD treadle_status treadle_invocation_cancel(treadle_invocation invocation) { if (!TREADLE_HAS(invocation_cancel)) return treadle_plugin_lacks(); return treadle_plugin_self->table->invocation_cancel(invocation); }
TREADLE_FORWARD treadle_status treadle_invocation_get_state(treadle_invocation invocation, uint32_t *out_state) { if (!TREADLE_HAS(invocation_get_state)) return treadle_plugin_lacks(); return treadle_plugin_self->table->invocation_get_state(invocation, out_state); }
TREADLE_FORWARD treadle_status treadle_invocation_get_result(treadle_invocation invocation, void *result, size_t size) { if (!TREADLE_HAS(invocation_get_result)) return treadle_plugin_lacks(); return treadle_plugin_self->table->invocation_get_result(invocation, result, size); }
TREADLE_FORWARD treadle_status treadle_lock_create(uint32_t flags, treadle_lock *out_lock) { if (!TREADLE_HAS(lock_create)) return treadle_plugin_lacks(); return treadle_plugin_self->table->lock_create(flags, out_lock); }
TREADLE_FORWARD treadle_status treadle_lock_lock(treadle_lock lock, int64_t timeout_ns) { if (!TREADLE_HAS(lock_lock)) return treadle_plugin_lacks(); return treadle_plugin_self->table->lock_lock(lock, timeout_ns); }
TREADLE_FORWARD treadle_status treadle_lock_unlock(treadle_lock lock) { if (!TREADLE_HAS(lock_unlock)) return treadle_plugin_lacks(); return treadle_plugin_self->table->lock_unlock(lock); }
TREADLE_FORWARD treadle_status treadle_condition_create(treadle_condition *out_condition) { if (!TREADLE_HAS(condition_create)) return treadle_plugin_lacks(); return treadle_plugin_self->table->condition_create(out_condition); }
TREADLE_FORWARD treadle_status treadle_condition_wait(treadle_condition condition, treadle_lock lock, int64_t timeout_ns) { if (!TREADLE_HAS(condition_wait)) return treadle_plugin_lacks(); return treadle_plugin_self->table->condition_wait(condition, lock, timeout_ns); }
TREADLE_FORWARD treadle_status treadle_condition_signal(treadle_condition condition) { if (!TREADLE_HAS(condition_signal)) return treadle_plugin_lacks(); return treadle_plugin_self->table->condition_signal(condition); }
TREADLE_FORWARD treadle_status treadle_condition_broadcast(treadle_condition condition) { if (!TREADLE_HAS(condition_broadcast)) return treadle_plugin_lacks(); return treadle_plugin_self->table->condition_broadcast(condition); }
TREADLE_FORWARD treadle_loop treadle_loop_current(void) { if (!TREADLE_HAS(loop_current)) return NULL; return treadle_plugin_self->table->loop_current(); }
TREADLE_FORWARD treadle_loop treadle_loop_main(void) { if (!TREADLE_HAS(loop_main)) return NULL; return treadle_plugin_self->table->loop_main(); }
TREADLE_FORWARD treadle_status treadle_loop_copy_of_thread(int32_t thread_id, treadle_loop *out_loop) { if (!TREADLE_HAS(loop_copy_of_thread)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_copy_of_thread(thread_id, out_loop); }
TREADLE_FORWARD treadle_status treadle_loop_run(treadle_loop loop, const char *mode, int64_t timeout_ns, uint32_t flags) { if (!TREADLE_HAS(loop_run)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_run(loop, mode, timeout_ns, flags); }
TREADLE_FORWARD treadle_status treadle_loop_set_interrupt_descriptor(treadle_loop loop, int32_t fd) { if (!TREADLE_HAS(loop_set_interrupt_descriptor)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_set_interrupt_descriptor(loop, fd); }
TREADLE_FORWARD treadle_status treadle_loop_stop(treadle_loop loop) { if (!TREADLE_HAS(loop_stop)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_stop(loop); }
TREADLE_FORWARD treadle_status treadle_loop_request_stop(treadle_loop loop, uint32_t flags) { if (!TREADLE_HAS(loop_request_stop)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_request_stop(loop, flags); }
TREADLE_FORWARD treadle_status treadle_loop_wake(treadle_loop loop) { if (!TREADLE_HAS(loop_wake)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_wake(loop); }
TREADLE_FORWARD bool treadle_loop_is_waiting(treadle_loop loop) { if (!TREADLE_HAS(loop_is_waiting)) return false; return treadle_plugin_self->table->loop_is_waiting(loop); }
TREADLE_FORWARD bool treadle_loop_is_current(treadle_loop loop) { if (!TREADLE_HAS(loop_is_current)) return false; return treadle_plugin_self->table->loop_is_current(loop); }
TREADLE_FORWARD treadle_status treadle_loop_get_thread_id(treadle_loop loop, int32_t *out_thread_id) { if (!TREADLE_HAS(loop_get_thread_id)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_get_thread_id(loop, out_thread_id); }
TREADLE_FORWARD treadle_status treadle_loop_get_current_mode(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length) { if (!TREADLE_HAS(loop_get_current_mode)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_get_current_mode(loop, buffer, capacity, out_length); }
TREADLE_FORWARD treadle_status treadle_loop_get_modes(treadle_loop loop, char *buffer, size_t capacity, size_t *out_length) { if (!TREADLE_HAS(loop_get_modes)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_get_modes(loop, buffer, capacity, out_length); }
TREADLE_FORWARD treadle_status treadle_loop_copy_items(treadle_loop loop, const char *mode, treadle_object *items, size_t capacity, size_t *out_count) { if (!TREADLE_HAS(loop_copy_items)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_copy_items(loop, mode, items, capacity, out_count); }
TREADLE_FORWARD treadle_status treadle_loop_get_counters(treadle_loop loop, treadle_loop_counters *out_counters) { if (!TREADLE_HAS(loop_get_counters)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_get_counters(loop, out_counters); }
TREADLE_FORWARD treadle_status treadle_loop_add_common_mode(treadle_loop loop, const char *mode) { if (!TREADLE_HAS(loop_add_common_mode)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_add_common_mode(loop, mode); }
TREADLE_FORWARD bool treadle_loop_is_common_mode(treadle_loop loop, const char *mode) { if (!TREADLE_HAS(loop_is_common_mode)) return false; return treadle_plugin_self->table->loop_is_common_mode(loop, mode); }
TREADLE_FORWARD treadle_status treadle_loop_get_next_fire(treadle_loop loop, const char *mode, int64_t *out_time) { if (!TREADLE_HAS(loop_get_next_fire)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_get_next_fire(loop, mode, out_time); }
TREADLE_FORWARD treadle_status treadle_notification_add(const treadle_notification_config *config, uint64_t *out_token) { if (!TREADLE_HAS(notification_add)) return treadle_plugin_lacks(); return treadle_plugin_self->table->notification_add(treadle_plugin_self, config, out_token); }
TREADLE_FORWARD treadle_status treadle_notification_remove(uint64_t token) { if (!TREADLE_HAS(notification_remove)) return treadle_plugin_lacks(); return treadle_plugin_self->table->notification_remove(token); }
TREADLE_FORWARD treadle_status treadle_retain(treadle_object object) { if (!TREADLE_HAS(retain)) return treadle_plugin_lacks(); return treadle_plugin_self->table->retain(object); }
TREADLE_FORWARD treadle_status treadle_release(treadle_object object) { if (!TREADLE_HAS(release)) return treadle_plugin_lacks(); return treadle_plugin_self->table->release(object); }
TREADLE_FORWARD treadle_status treadle_invalidate(treadle_object item) { if (!TREADLE_HAS(invalidate)) return treadle_plugin_lacks(); return treadle_plugin_self->table->invalidate(item); }
TREADLE_FORWARD treadle_status treadle_close(treadle_object object, int64_t timeout_ns) { if (!TREADLE_HAS(close)) return treadle_plugin_lacks(); return treadle_plugin_self->table->close(object, timeout_ns); }
TREADLE_FORWARD bool treadle_is_valid(treadle_object item) { if (!TREADLE_HAS(is_valid)) return false; return treadle_plugin_self->table->is_valid(item); }
TREADLE_FORWARD treadle_status treadle_get_context_info(treadle_object item, void **out_info) { if (!TREADLE_HAS(get_context_info)) return treadle_plugin_lacks(); return treadle_plugin_self->table->get_context_info(item, out_info); }
TREADLE_FORWARD treadle_status treadle_get_order(treadle_object item, int64_t *out_order) { if (!TREADLE_HAS(get_order)) return treadle_plugin_lacks(); return treadle_plugin_self->table->get_order(item, out_order); }
TREADLE_FORWARD treadle_status treadle_get_kind(treadle_object object, uint32_t *out_kind) { if (!TREADLE_HAS(get_kind)) return treadle_plugin_lacks(); return treadle_plugin_self->table->get_kind(object, out_kind); }
TREADLE_FORWARD treadle_status treadle_describe(treadle_object object, char *buffer, size_t capacity, size_t *out_length) { if (!TREADLE_HAS(describe)) return treadle_plugin_lacks(); return treadle_plugin_self->table->describe(object, buffer, capacity, out_length); }
TREADLE_FORWARD treadle_status treadle_loop_add(treadle_loop loop, treadle_object item, const char *mode) { if (!TREADLE_HAS(loop_add)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_add(loop, item, mode); }
TREADLE_FORWARD treadle_status treadle_loop_remove(treadle_loop loop, treadle_object item, const char *mode) { if (!TREADLE_HAS(loop_remove)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_remove(loop, item, mode); }
TREADLE_FORWARD bool treadle_loop_contains(treadle_loop loop, treadle_object item, const char *mode) { if (!TREADLE_HAS(loop_contains)) return false; return treadle_plugin_self->table->loop_contains(loop, item, mode); }
TREADLE_FORWARD treadle_status treadle_observer_create(const treadle_observer_context *context, treadle_observer *out_observer) { if (!TREADLE_HAS(observer_create)) return treadle_plugin_lacks(); return treadle_plugin_self->table->observer_create(treadle_plugin_self, context, out_observer); }
TREADLE_FORWARD treadle_status treadle_observer_start(uint32_t activities, treadle_observer_fn notify, void *info, treadle_observer *out_observer) { if (!TREADLE_HAS(observer_start)) return treadle_plugin_lacks(); return treadle_plugin_self->table->observer_start(treadle_plugin_self, activities, notify, info, out_observer); }
TREADLE_FORWARD treadle_status treadle_observer_get_activities(treadle_observer observer, uint32_t *out_activities) { if (!TREADLE_HAS(observer_get_activities)) return treadle_plugin_lacks(); return treadle_plugin_self->table->observer_get_activities(observer, out_activities); }
TREADLE_FORWARD bool treadle_observer_repeats(treadle_observer observer) { if (!TREADLE_HAS(observer_repeats)) return false; return treadle_plugin_self->table->observer_repeats(observer); }
TREADLE_FORWARD treadle_status treadle_perform(treadle_object on, const treadle_request *request) { if (!TREADLE_HAS(perform)) return treadle_plugin_lacks(); return treadle_plugin_self->table->perform(treadle_plugin_self, on, request); }
TREADLE_FORWARD treadle_status treadle_perform_cancel(const treadle_request *like) { if (!TREADLE_HAS(perform_cancel)) return treadle_plugin_lacks(); return treadle_plugin_self->table->perform_cancel(like); }
TREADLE_FORWARD treadle_status treadle_pool_push(uint64_t *out_token) { if (!TREADLE_HAS(pool_push)) return treadle_plugin_lacks(); return treadle_plugin_self->table->pool_push(out_token); }
TREADLE_FORWARD treadle_status treadle_pool_pop(uint64_t token) { if (!TREADLE_HAS(pool_pop)) return treadle_plugin_lacks(); return treadle_plugin_self->table->pool_pop(token); }
TREADLE_FORWARD treadle_status treadle_pool_add(void *object, treadle_release_fn release) { if (!TREADLE_HAS(pool_add)) return treadle_plugin_lacks(); return treadle_plugin_self->table->pool_add(treadle_plugin_self, object, release); }
TREADLE_FORWARD treadle_status treadle_loop_post(treadle_loop loop, treadle_post_fn fn, void *info) { if (!TREADLE_HAS(loop_post)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_post(treadle_plugin_self, loop, fn, info); }
TREADLE_FORWARD treadle_status treadle_loop_post_in(treadle_loop loop, const treadle_post *post) { if (!TREADLE_HAS(loop_post_in)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_post_in(treadle_plugin_self, loop, post); }
TREADLE_FORWARD treadle_status treadle_report_error(const char *kind, const char *message) { if (!TREADLE_HAS(report_error)) return treadle_plugin_lacks(); return treadle_plugin_self->table->report_error(kind, message); }
TREADLE_FORWARD treadle_status treadle_signature_parse(const char *encoding, treadle_signature *out_signature) { if (!TREADLE_HAS(signature_parse)) return treadle_plugin_lacks(); return treadle_plugin_self->table->signature_parse(encoding, out_signature); }
TREADLE_FORWARD treadle_status treadle_signature_get_argument_count(treadle_signature signature, size_t *out_count) { if (!TREADLE_HAS(signature_get_argument_count)) return treadle_plugin_lacks(); return treadle_plugin_self->table->signature_get_argument_count(signature, out_count); }
TREADLE_FORWARD treadle_status treadle_signature_get_layout(treadle_signature signature, int32_t index, size_t *out_size, size_t *out_alignment) { if (!TREADLE_HAS(signature_get_layout)) return treadle_plugin_lacks(); return treadle_plugin_self->table->signature_get_layout(signature, index, out_size, out_alignment); }
TREADLE_FORWARD treadle_status treadle_signature_describe(treadle_signature signature, char *buffer, size_t capacity, size_t *out_length) { if (!TREADLE_HAS(signature_describe)) return treadle_plugin_lacks(); return treadle_plugin_self->table->signature_describe(signature, buffer, capacity, out_length); }
TREADLE_FORWARD treadle_status treadle_routine_create(const treadle_routine_config *config, treadle_routine *out_routine) { if (!TREADLE_HAS(routine_create)) return treadle_plugin_lacks(); return treadle_plugin_self->table->routine_create(treadle_plugin_self, config, out_routine); }
TREADLE_FORWARD treadle_status treadle_routine_call(treadle_routine routine, const treadle_event *event, void *result, size_t result_size) { if (!TREADLE_HAS(routine_call)) return treadle_plugin_lacks(); return treadle_plugin_self->table->routine_call(routine, event, result, result_size); }
TREADLE_FORWARD treadle_status treadle_scope_create(const treadle_scope_config *config, treadle_scope *out_scope) { if (!TREADLE_HAS(scope_create)) return treadle_plugin_lacks(); return treadle_plugin_self->table->scope_create(treadle_plugin_self, config, out_scope); }
TREADLE_FORWARD treadle_status treadle_scope_enter(treadle_scope scope) { if (!TREADLE_HAS(scope_enter)) return treadle_plugin_lacks(); return treadle_plugin_self->table->scope_enter(scope); }
TREADLE_FORWARD treadle_status treadle_scope_leave(treadle_scope scope) { if (!TREADLE_HAS(scope_leave)) return treadle_plugin_lacks(); return treadle_plugin_self->table->scope_leave(scope); }
TREADLE_FORWARD treadle_status treadle_scope_copy_holders(treadle_scope scope, treadle_scope_holder *buffer, size_t holder_size, size_t capacity, size_t *out_count) { if (!TREADLE_HAS(scope_copy_holders)) return treadle_plugin_lacks(); return treadle_plugin_self->table->scope_copy_holders(scope, buffer, holder_size, capacity, out_count); }
TREADLE_FORWARD treadle_status treadle_source_create(const treadle_source_context *context, treadle_source *out_source) { if (!TREADLE_HAS(source_create)) return treadle_plugin_lacks(); return treadle_plugin_self->table->source_create(treadle_plugin_self, context, out_source); }
TREADLE_FORWARD treadle_status treadle_source_start(treadle_perform_fn perform, void *info, treadle_source *out_source) { if (!TREADLE_HAS(source_start)) return treadle_plugin_lacks(); return treadle_plugin_self->table->source_start(treadle_plugin_self, perform, info, out_source); }
TREADLE_FORWARD treadle_status treadle_source_signal(treadle_source source) { if (!TREADLE_HAS(source_signal)) return treadle_plugin_lacks(); return treadle_plugin_self->table->source_signal(source); }
TREADLE_FORWARD treadle_status treadle_source_signal_and_wake(treadle_source source) { if (!TREADLE_HAS(source_signal_and_wake)) return treadle_plugin_lacks(); return treadle_plugin_self->table->source_signal_and_wake(source); }
TREADLE_FORWARD bool treadle_source_is_signalled(treadle_source source) { if (!TREADLE_HAS(source_is_signalled)) return false; return treadle_plugin_self->table->source_is_signalled(source); }
TREADLE_FORWARD treadle_status treadle_thread_create(const treadle_thread_config *config, treadle_thread *out_thread) { if (!TREADLE_HAS(thread_create)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_create(treadle_plugin_self, config, out_thread); }
TREADLE_FORWARD treadle_status treadle_thread_start(treadle_thread thread) { if (!TREADLE_HAS(thread_start)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_start(thread); }
TREADLE_FORWARD treadle_status treadle_thread_start_and_wait(treadle_thread thread, int64_t timeout_ns) { if (!TREADLE_HAS(thread_start_and_wait)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_start_and_wait(thread, timeout_ns); }
TREADLE_FORWARD treadle_status treadle_thread_declare_ready(void) { if (!TREADLE_HAS(thread_declare_ready)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_declare_ready(); }
TREADLE_FORWARD treadle_thread treadle_thread_current(void) { if (!TREADLE_HAS(thread_current)) return NULL; return treadle_plugin_self->table->thread_current(); }
TREADLE_FORWARD treadle_thread treadle_thread_main(void) { if (!TREADLE_HAS(thread_main)) return NULL; return treadle_plugin_self->table->thread_main(); }
TREADLE_FORWARD bool treadle_thread_is_main(treadle_thread thread) { if (!TREADLE_HAS(thread_is_main)) return false; return treadle_plugin_self->table->thread_is_main(thread); }
TREADLE_FORWARD bool treadle_is_multithreaded(void) { if (!TREADLE_HAS(is_multithreaded)) return false; return treadle_plugin_self->table->is_multithreaded(); }
TREADLE_FORWARD treadle_status treadle_thread_get_id(treadle_thread thread, int32_t *out_thread_id) { if (!TREADLE_HAS(thread_get_id)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_get_id(thread, out_thread_id); }
TREADLE_FORWARD treadle_status treadle_thread_copy_loop(treadle_thread thread, treadle_loop *out_loop) { if (!TREADLE_HAS(thread_copy_loop)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_copy_loop(thread, out_loop); }
TREADLE_FORWARD treadle_status treadle_thread_get_state(treadle_thread thread, uint32_t *out_state) { if (!TREADLE_HAS(thread_get_state)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_get_state(thread, out_state); }
TREADLE_FORWARD treadle_status treadle_thread_cancel(treadle_thread thread) { if (!TREADLE_HAS(thread_cancel)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_cancel(thread); }
TREADLE_FORWARD bool treadle_thread_is_cancelled(treadle_thread thread) { if (!TREADLE_HAS(thread_is_cancelled)) return false; return treadle_plugin_self->table->thread_is_cancelled(thread); }
TREADLE_FORWARD treadle_status treadle_thread_stop(treadle_thread thread) { if (!TREADLE_HAS(thread_stop)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_stop(thread); }
TREADLE_FORWARD treadle_status treadle_thread_join(treadle_thread thread, int64_t timeout_ns, void **out_result) { if (!TREADLE_HAS(thread_join)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_join(thread, timeout_ns, out_result); }
TREADLE_FORWARD treadle_status treadle_thread_detach(treadle_thread thread) { if (!TREADLE_HAS(thread_detach)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_detach(thread); }
TREADLE_FORWARD bool treadle_thread_is_detached(treadle_thread thread) { if (!TREADLE_HAS(thread_is_detached)) return false; return treadle_plugin_self->table->thread_is_detached(thread); }
TREADLE_FORWARD treadle_status treadle_thread_exit(void *result) { if (!TREADLE_HAS(thread_exit)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_exit(result); }
TREADLE_FORWARD treadle_status treadle_thread_set_stack_size(treadle_thread thread, size_t size) { if (!TREADLE_HAS(thread_set_stack_size)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_set_stack_size(thread, size); }
TREADLE_FORWARD treadle_status treadle_thread_get_stack_size(treadle_thread thread, size_t *out_size) { if (!TREADLE_HAS(thread_get_stack_size)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_get_stack_size(thread, out_size); }
TREADLE_FORWARD treadle_status treadle_thread_set_name(treadle_thread thread, const char *name) { if (!TREADLE_HAS(thread_set_name)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_set_name(thread, name); }
TREADLE_FORWARD treadle_status treadle_thread_get_name(treadle_thread thread, char *buffer, size_t capacity, size_t *out_length) { if (!TREADLE_HAS(thread_get_name)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_get_name(thread, buffer, capacity, out_length); }
TREADLE_FORWARD treadle_status treadle_thread_set_priority(treadle_thread thread, double priority) { if (!TREADLE_HAS(thread_set_priority)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_set_priority(thread, priority); }
TREADLE_FORWARD treadle_status treadle_thread_get_priority(treadle_thread thread, double *out_priority, int32_t *out_applied) { if (!TREADLE_HAS(thread_get_priority)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_get_priority(thread, out_priority, out_applied); }
TREADLE_FORWARD treadle_status treadle_thread_set_policy(treadle_thread thread, uint32_t policy) { if (!TREADLE_HAS(thread_set_policy)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_set_policy(thread, policy); }
TREADLE_FORWARD treadle_status treadle_thread_get_policy(treadle_thread thread, uint32_t *out_policy) { if (!TREADLE_HAS(thread_get_policy)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_get_policy(thread, out_policy); }
TREADLE_FORWARD treadle_status treadle_thread_set_value(treadle_thread thread, const char *key, void *value, treadle_release_fn release) { if (!TREADLE_HAS(thread_set_value)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_set_value(treadle_plugin_self, thread, key, value, release); }
TREADLE_FORWARD treadle_status treadle_thread_get_value(treadle_thread thread, const char *key, void **out_value) { if (!TREADLE_HAS(thread_get_value)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_get_value(thread, key, out_value); }
TREADLE_FORWARD treadle_status treadle_thread_use_value(treadle_thread thread, const char *key, void (*use)(void *value, void *info), void *info) { if (!TREADLE_HAS(thread_use_value)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_use_value(thread, key, use, info); }
TREADLE_FORWARD treadle_status treadle_thread_remove_value(treadle_thread thread, const char *key) { if (!TREADLE_HAS(thread_remove_value)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_remove_value(thread, key); }
TREADLE_FORWARD treadle_status treadle_thread_sleep_until(int64_t time) { if (!TREADLE_HAS(thread_sleep_until)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_sleep_until(time); }
TREADLE_FORWARD int64_t treadle_time_now(void) { if (!TREADLE_HAS(time_now)) return 0; return treadle_plugin_self->table->time_now(); }
TREADLE_FORWARD int64_t treadle_time_recent(void) { if (!TREADLE_HAS(time_recent)) return 0; return treadle_plugin_self->table->time_recent(); }
TREADLE_FORWARD treadle_status treadle_time_from_seconds(double seconds, int64_t *out_ns) { if (!TREADLE_HAS(time_from_seconds)) return treadle_plugin_lacks(); return treadle_plugin_self->table->time_from_seconds(seconds, out_ns); }
TREADLE_FORWARD treadle_status treadle_time_from_absolute(double date, int64_t *out_time) { if (!TREADLE_HAS(time_from_absolute)) return treadle_plugin_lacks(); return treadle_plugin_self->table->time_from_absolute(date, out_time); }
TREADLE_FORWARD double treadle_time_to_absolute(int64_t time) { if (!TREADLE_HAS(time_to_absolute)) return 0; return treadle_plugin_self->table->time_to_absolute(time); }
TREADLE_FORWARD treadle_status treadle_timer_create(const treadle_timer_context *context, treadle_timer *out_timer) { if (!TREADLE_HAS(timer_create)) return treadle_plugin_lacks(); return treadle_plugin_self->table->timer_create(treadle_plugin_self, context, out_timer); }
TREADLE_FORWARD treadle_status treadle_timer_start(int64_t delay_ns, int64_t interval_ns, treadle_timer_fn fire, void *info, treadle_timer *out_timer) { if (!TREADLE_HAS(timer_start)) return treadle_plugin_lacks(); return treadle_plugin_self->table->timer_start(treadle_plugin_self, delay_ns, interval_ns, fire, info, out_timer); }
TREADLE_FORWARD treadle_status treadle_timer_fire(treadle_timer timer) { if (!TREADLE_HAS(timer_fire)) return treadle_plugin_lacks(); return treadle_plugin_self->table->timer_fire(timer); }
TREADLE_FORWARD treadle_status treadle_timer_get_next_fire(treadle_timer timer, int64_t *out_time) { if (!TREADLE_HAS(timer_get_next_fire)) return treadle_plugin_lacks(); return treadle_plugin_self->table->timer_get_next_fire(timer, out_time); }
TREADLE_FORWARD treadle_status treadle_timer_set_time(treadle_timer timer, int64_t time_ns, uint32_t flags) { if (!TREADLE_HAS(timer_set_time)) return treadle_plugin_lacks(); return treadle_plugin_self->table->timer_set_time(timer, time_ns, flags); }
TREADLE_FORWARD treadle_status treadle_timer_get_interval(treadle_timer timer, int64_t *out_interval_ns) { if (!TREADLE_HAS(timer_get_interval)) return treadle_plugin_lacks(); return treadle_plugin_self->table->timer_get_interval(timer, out_interval_ns); }
TREADLE_FORWARD treadle_status treadle_timer_set_tolerance(treadle_timer timer, int64_t tolerance_ns) { if (!TREADLE_HAS(timer_set_tolerance)) return treadle_plugin_lacks(); return treadle_plugin_self->table->timer_set_tolerance(timer, tolerance_ns); }
TREADLE_FORWARD treadle_status treadle_timer_get_tolerance(treadle_timer timer, int64_t *out_tolerance_ns) { if (!TREADLE_HAS(timer_get_tolerance)) return treadle_plugin_lacks(); return treadle_plugin_self->table->timer_get_tolerance(timer, out_tolerance_ns); }
TREADLE_FORWARD uint32_t treadle_version(void) { if (!TREADLE_HAS(version)) return 0; return treadle_plugin_self->table->version(); }
TREADLE_FORWARD const char *treadle_version_string(void) { if (!TREADLE_HAS(version_string)) return ""; return treadle_plugin_self->table->version_string(); }
TREADLE_FORWARD treadle_status treadle_loop_open_pollable(treadle_loop loop, const char *mode, int32_t *out_fd) { if (!TREADLE_HAS(loop_open_pollable)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_open_pollable(loop, mode, out_fd); }
TREADLE_FORWARD treadle_status treadle_port_create(const treadle_port_context *context, treadle_port *out_port) { if (!TREADLE_HAS(port_create)) return treadle_plugin_lacks(); return treadle_plugin_self->table->port_create(treadle_plugin_self, context, out_port); }
TREADLE_FORWARD treadle_status treadle_port_send(treadle_port port, const treadle_message_content *content, int64_t timeout_ns) { if (!TREADLE_HAS(port_send)) return treadle_plugin_lacks(); return treadle_plugin_self->table->port_send(port, content, timeout_ns); }
TREADLE_FORWARD treadle_status treadle_port_send_bytes(treadle_port port, uint32_t id, const void *bytes, size_t length, int64_t timeout_ns) { if (!TREADLE_HAS(port_send_bytes)) return treadle_plugin_lacks(); return treadle_plugin_self->table->port_send_bytes(port, id, bytes, length, timeout_ns); }
TREADLE_FORWARD treadle_status treadle_port_get_count(treadle_port port, size_t *out_count, size_t *out_capacity) { if (!TREADLE_HAS(port_get_count)) return treadle_plugin_lacks(); return treadle_plugin_self->table->port_get_count(port, out_count, out_capacity); }
TREADLE_FORWARD treadle_status treadle_message_get_info(treadle_message message, treadle_message_info *out_info) { if (!TREADLE_HAS(message_get_info)) return treadle_plugin_lacks(); return treadle_plugin_self->table->message_get_info(message, out_info); }
TREADLE_FORWARD treadle_status treadle_message_get_component(treadle_message message, size_t index, treadle_component *out_component) { if (!TREADLE_HAS(message_get_component)) return treadle_plugin_lacks(); return treadle_plugin_self->table->message_get_component(message, index, out_component); }
TREADLE_FORWARD treadle_status treadle_message_take_descriptor(treadle_message message, size_t index, int32_t *out_descriptor) { if (!TREADLE_HAS(message_take_descriptor)) return treadle_plugin_lacks(); return treadle_plugin_self->table->message_take_descriptor(message, index, out_descriptor); }
TREADLE_FORWARD treadle_status treadle_loop_next(treadle_loop loop, treadle_pull *pull) { if (!TREADLE_HAS(loop_next)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_next(loop, pull); }
TREADLE_FORWARD treadle_status treadle_loop_prepare(treadle_loop loop, const char *mode, int64_t *out_date) { if (!TREADLE_HAS(loop_prepare)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_prepare(loop, mode, out_date); }
TREADLE_FORWARD treadle_status treadle_loop_dispatch(treadle_loop loop, const char *mode, int64_t budget_ns, size_t budget_items) { if (!TREADLE_HAS(loop_dispatch)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_dispatch(loop, mode, budget_ns, budget_items); }
TREADLE_FORWARD treadle_status treadle_message_port_create_local(const char *name, const treadle_message_port_context *context, treadle_message_port *out_port) { if (!TREADLE_HAS(message_port_create_local)) return treadle_plugin_lacks(); return treadle_plugin_self->table->message_port_create_local(treadle_plugin_self, name, context, out_port); }
TREADLE_FORWARD treadle_status treadle_message_port_create_remote(const char *name, const treadle_message_port_context *context, treadle_message_port *out_port) { if (!TREADLE_HAS(message_port_create_remote)) return treadle_plugin_lacks(); return treadle_plugin_self->table->message_port_create_remote(treadle_plugin_self, name, context, out_port); }
TREADLE_FORWARD bool treadle_message_port_is_remote(treadle_message_port port) { if (!TREADLE_HAS(message_port_is_remote)) return false; return treadle_plugin_self->table->message_port_is_remote(port); }
TREADLE_FORWARD treadle_status treadle_message_port_get_name(treadle_message_port port, char *buffer, size_t capacity, size_t *out_length) { if (!TREADLE_HAS(message_port_get_name)) return treadle_plugin_lacks(); return treadle_plugin_self->table->message_port_get_name(port, buffer, capacity, out_length); }
TREADLE_FORWARD treadle_status treadle_message_port_set_name(treadle_message_port port, const char *name) { if (!TREADLE_HAS(message_port_set_name)) return treadle_plugin_lacks(); return treadle_plugin_self->table->message_port_set_name(port, name); }
TREADLE_FORWARD treadle_status treadle_message_port_set_invalidated(treadle_message_port port, treadle_message_port_invalidated_fn invalidated) { if (!TREADLE_HAS(message_port_set_invalidated)) return treadle_plugin_lacks(); return treadle_plugin_self->table->message_port_set_invalidated(treadle_plugin_self, port, invalidated); }
TREADLE_FORWARD treadle_status treadle_message_port_check(treadle_message_port port) { if (!TREADLE_HAS(message_port_check)) return treadle_plugin_lacks(); return treadle_plugin_self->table->message_port_check(port); }
TREADLE_FORWARD treadle_status treadle_message_port_send(treadle_message_port port, int32_t id, const void *data, size_t size, int64_t timeout_ns) { if (!TREADLE_HAS(message_port_send)) return treadle_plugin_lacks(); return treadle_plugin_self->table->message_port_send(port, id, data, size, timeout_ns); }
TREADLE_FORWARD treadle_status treadle_message_port_request(treadle_message_port port, int32_t id, const void *data, size_t size, int64_t send_timeout_ns, int64_t reply_timeout_ns, const char *mode, treadle_message_port_reply_fn reply, void *info) { if (!TREADLE_HAS(message_port_request)) return treadle_plugin_lacks(); return treadle_plugin_self->table->message_port_request(port, id, data, size, send_timeout_ns, reply_timeout_ns, mode, reply, info); }
TREADLE_FORWARD treadle_status treadle_message_port_reply(uint64_t call, const void *data, size_t size) { if (!TREADLE_HAS(message_port_reply)) return treadle_plugin_lacks(); return treadle_plugin_self->table->message_port_reply(call, data, size); }
TREADLE_FORWARD treadle_status treadle_invocation_get_errno(treadle_invocation invocation, int32_t *out_errno) { if (!TREADLE_HAS(invocation_get_errno)) return treadle_plugin_lacks(); return treadle_plugin_self->table->invocation_get_errno(invocation, out_errno); }
TREADLE_FORWARD bool treadle_has_last_resort(void) { if (!TREADLE_HAS(has_last_resort)) return false; return treadle_plugin_self->table->has_last_resort(); }
TREADLE_FORWARD treadle_status treadle_port_call(treadle_message_port port, const char *name, const char *signature, const treadle_port_value *arguments, size_t argument_count, void *result, size_t result_size, int64_t timeout_ns, const char *mode) { if (!TREADLE_HAS(port_call)) return treadle_plugin_lacks(); return treadle_plugin_self->table->port_call(port, name, signature, arguments, argument_count, result, result_size, timeout_ns, mode); }
TREADLE_FORWARD treadle_status treadle_thread_request_stop(treadle_thread thread, uint32_t flags) { if (!TREADLE_HAS(thread_request_stop)) return treadle_plugin_lacks(); return treadle_plugin_self->table->thread_request_stop(thread, flags); }
TREADLE_FORWARD treadle_status treadle_trace_mark(const char *label, int64_t value) { if (!TREADLE_HAS(trace_mark)) return treadle_plugin_lacks(); return treadle_plugin_self->table->trace_mark(label, value); }
TREADLE_FORWARD treadle_status treadle_get_pthread(treadle_object object, uintptr_t *out_pthread) { if (!TREADLE_HAS(get_pthread)) return treadle_plugin_lacks(); return treadle_plugin_self->table->get_pthread(object, out_pthread); }
TREADLE_FORWARD treadle_status treadle_loop_copy_thread(treadle_loop loop, treadle_thread *out_thread) { if (!TREADLE_HAS(loop_copy_thread)) return treadle_plugin_lacks(); return treadle_plugin_self->table->loop_copy_thread(loop, out_thread); }
#undef TREADLE_HAS
#undef TREADLE_FORWARD
#endif

TREADLE_END_DECLS
#endif
