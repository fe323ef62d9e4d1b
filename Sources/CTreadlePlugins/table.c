/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * table.c: the table of functions that plugins are given. Made by make generate. */
#include "CTreadlePlugins.h"

#define TREADLE_OWN_NAMES
#include "own_names.h"
#include "CTreadleNames.h"

#include <pthread.h>
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

static treadle_status in_routine_create(const treadle_plugin_host *plugin, const treadle_routine_config *config, treadle_routine *out_routine) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_routine_create(config, out_routine);
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

static treadle_status in_thread_set_value(const treadle_plugin_host *plugin, treadle_thread thread, const char *key, void *value, treadle_release_fn release) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_thread_set_value(thread, key, value, release);
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

static treadle_status in_port_create(const treadle_plugin_host *plugin, const treadle_port_context *context, treadle_port *out_port) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_port_create(context, out_port);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_message_port_create_local(const treadle_plugin_host *plugin, const char *name, const treadle_message_port_context *context, treadle_message_port *out_port) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_message_port_create_local(name, context, out_port);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_message_port_create_remote(const treadle_plugin_host *plugin, const char *name, const treadle_message_port_context *context, treadle_message_port *out_port) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_message_port_create_remote(name, context, out_port);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_message_port_set_invalidated(const treadle_plugin_host *plugin, treadle_message_port port, treadle_message_port_invalidated_fn invalidated) {
    void *entry;
    treadle_status status = libtreadle_plugin_enter(plugin, &entry);
    if (status == TREADLE_OK) status = treadle_message_port_set_invalidated(port, invalidated);
    libtreadle_plugin_leave(entry);
    return status;
}

static treadle_status in_close(treadle_object object, int64_t timeout_ns) {
    libtreadle_plugin_asks_for_end(object);
    return treadle_close(object, timeout_ns);
}

/* The places in the table of those that are given as they are, and in CTreadleNames' list. */
static const uint8_t plain[][2] = {
    {2, 1}, /* closure_get_code */
    {3, 2}, /* closure_get_info */
    {4, 3}, /* call_get_argument */
    {5, 4}, /* call_set_result */
    {6, 5}, /* closure_pool_get_info */
    {9, 8}, /* descriptor_set_events */
    {10, 9}, /* descriptor_get_events */
    {11, 10}, /* descriptor_get_fd */
    {12, 11}, /* last_error */
    {13, 12}, /* status_name */
    {14, 13}, /* status_message */
    {16, 16}, /* host_quiesce */
    {17, 17}, /* host_get_dropped */
    {18, 18}, /* host_take_retired */
    {19, 19}, /* host_get_retired_count */
    {21, 21}, /* host_run */
    {22, 22}, /* host_wait */
    {23, 23}, /* host_end_wait */
    {26, 26}, /* invocation_set_argument */
    {27, 27}, /* invocation_set_buffer */
    {28, 28}, /* invocation_get_argument */
    {29, 29}, /* invocation_get_buffer */
    {31, 31}, /* invocation_cancel */
    {32, 32}, /* invocation_get_state */
    {33, 33}, /* invocation_get_result */
    {34, 34}, /* lock_create */
    {35, 35}, /* lock_lock */
    {36, 36}, /* lock_unlock */
    {37, 37}, /* condition_create */
    {38, 38}, /* condition_wait */
    {39, 39}, /* condition_signal */
    {40, 40}, /* condition_broadcast */
    {41, 41}, /* loop_current */
    {42, 42}, /* loop_main */
    {43, 43}, /* loop_copy_of_thread */
    {44, 44}, /* loop_run */
    {45, 45}, /* loop_set_interrupt_descriptor */
    {46, 46}, /* loop_stop */
    {47, 47}, /* loop_request_stop */
    {48, 48}, /* loop_wake */
    {49, 49}, /* loop_is_waiting */
    {50, 50}, /* loop_is_current */
    {51, 51}, /* loop_get_thread_id */
    {52, 52}, /* loop_get_current_mode */
    {53, 53}, /* loop_get_modes */
    {54, 54}, /* loop_copy_items */
    {55, 55}, /* loop_get_counters */
    {56, 56}, /* loop_add_common_mode */
    {57, 57}, /* loop_is_common_mode */
    {58, 58}, /* loop_get_next_fire */
    {60, 60}, /* notification_remove */
    {61, 61}, /* retain */
    {62, 62}, /* release */
    {63, 63}, /* invalidate */
    {65, 65}, /* is_valid */
    {66, 66}, /* get_context_info */
    {67, 67}, /* get_order */
    {68, 68}, /* get_kind */
    {69, 69}, /* describe */
    {70, 70}, /* loop_add */
    {71, 71}, /* loop_remove */
    {72, 72}, /* loop_contains */
    {75, 75}, /* observer_get_activities */
    {76, 76}, /* observer_repeats */
    {78, 78}, /* perform_cancel */
    {79, 87}, /* pool_push */
    {80, 88}, /* pool_pop */
    {84, 94}, /* report_error */
    {85, 96}, /* signature_parse */
    {86, 97}, /* signature_get_argument_count */
    {87, 98}, /* signature_get_layout */
    {88, 99}, /* signature_describe */
    {90, 101}, /* routine_call */
    {92, 103}, /* scope_enter */
    {93, 104}, /* scope_leave */
    {94, 105}, /* scope_copy_holders */
    {97, 108}, /* source_signal */
    {98, 109}, /* source_signal_and_wake */
    {99, 110}, /* source_is_signalled */
    {101, 112}, /* thread_start */
    {102, 113}, /* thread_start_and_wait */
    {103, 114}, /* thread_declare_ready */
    {104, 115}, /* thread_current */
    {105, 116}, /* thread_main */
    {106, 117}, /* thread_is_main */
    {107, 118}, /* is_multithreaded */
    {108, 119}, /* thread_get_id */
    {109, 120}, /* thread_copy_loop */
    {110, 121}, /* thread_get_state */
    {111, 122}, /* thread_cancel */
    {112, 123}, /* thread_is_cancelled */
    {113, 124}, /* thread_stop */
    {114, 125}, /* thread_join */
    {115, 126}, /* thread_detach */
    {116, 127}, /* thread_is_detached */
    {117, 128}, /* thread_exit */
    {118, 129}, /* thread_set_stack_size */
    {119, 130}, /* thread_get_stack_size */
    {120, 131}, /* thread_set_name */
    {121, 132}, /* thread_get_name */
    {122, 133}, /* thread_set_priority */
    {123, 134}, /* thread_get_priority */
    {124, 135}, /* thread_set_policy */
    {125, 136}, /* thread_get_policy */
    {127, 138}, /* thread_get_value */
    {128, 139}, /* thread_use_value */
    {129, 140}, /* thread_remove_value */
    {130, 141}, /* thread_sleep_until */
    {131, 142}, /* time_now */
    {132, 143}, /* time_recent */
    {133, 144}, /* time_from_seconds */
    {134, 145}, /* time_from_absolute */
    {135, 146}, /* time_to_absolute */
    {138, 149}, /* timer_fire */
    {139, 150}, /* timer_get_next_fire */
    {140, 151}, /* timer_set_time */
    {141, 152}, /* timer_get_interval */
    {142, 153}, /* timer_set_tolerance */
    {143, 154}, /* timer_get_tolerance */
    {144, 155}, /* version */
    {145, 156}, /* version_string */
    {146, 157}, /* loop_open_pollable */
    {148, 159}, /* port_send */
    {149, 160}, /* port_send_bytes */
    {150, 161}, /* port_get_count */
    {151, 162}, /* message_get_info */
    {152, 163}, /* message_get_component */
    {153, 164}, /* message_take_descriptor */
    {154, 165}, /* loop_next */
    {155, 166}, /* loop_prepare */
    {156, 167}, /* loop_dispatch */
    {159, 170}, /* message_port_is_remote */
    {160, 171}, /* message_port_get_name */
    {161, 172}, /* message_port_set_name */
    {163, 174}, /* message_port_check */
    {164, 175}, /* message_port_send */
    {165, 176}, /* message_port_request */
    {166, 177}, /* message_port_reply */
    {167, 178}, /* invocation_get_errno */
    {168, 179}, /* has_last_resort */
    {169, 180}, /* port_call */
    {170, 181}, /* thread_request_stop */
    {171, 184}, /* trace_mark */
    {172, 185}, /* get_pthread */
    {173, 187}, /* loop_copy_thread */
};

static treadle_plugin_table table;
static void fill(void) {
    void **members = (void **)&table;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) members[plain[i][0]] = libtreadle_own_function(plain[i][1]);
    table.closure_create = in_closure_create;
    table.descriptor_create = in_descriptor_create;
    table.descriptor_start = in_descriptor_start;
    table.host_register = in_host_register;
    table.host_post = in_host_post;
    table.host_pool_add = in_host_pool_add;
    table.invocation_create = in_invocation_create;
    table.invocation_perform = in_invocation_perform;
    table.notification_add = in_notification_add;
    table.close = in_close;
    table.observer_create = in_observer_create;
    table.observer_start = in_observer_start;
    table.perform = in_perform;
    table.pool_add = in_pool_add;
    table.loop_post = in_loop_post;
    table.loop_post_in = in_loop_post_in;
    table.routine_create = in_routine_create;
    table.scope_create = in_scope_create;
    table.source_create = in_source_create;
    table.source_start = in_source_start;
    table.thread_create = in_thread_create;
    table.thread_set_value = in_thread_set_value;
    table.timer_create = in_timer_create;
    table.timer_start = in_timer_start;
    table.port_create = in_port_create;
    table.message_port_create_local = in_message_port_create_local;
    table.message_port_create_remote = in_message_port_create_remote;
    table.message_port_set_invalidated = in_message_port_set_invalidated;
    table.struct_size = sizeof table;
}
const void *libtreadle_plugin_table(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    return pthread_once(&once, fill) == 0 ? &table : NULL;
}
