/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * struct_takers.h: every struct that begins with struct_size and is a client's, with a function that takes it. */
#ifndef TREADLE_TEST_STRUCT_TAKERS_H
#define TREADLE_TEST_STRUCT_TAKERS_H

#include "probe.h"

static void nothing(void *info) { (void)info; }
static void on_ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info; }
static uint64_t dispatch(uint64_t ticket, const treadle_event *event) { return (void)event, ~ticket; }

/* Each struct that starts with struct_size: one call that takes it. Undone at once. */
static treadle_status take_source(void *context) {
    treadle_source source;
    treadle_status status = treadle_source_create(context, &source);
    return status == TREADLE_OK ? treadle_source_release(source) : status;
}
static treadle_status take_descriptor(void *context) {
    treadle_descriptor descriptor;
    treadle_status status = treadle_descriptor_create(context, &descriptor);
    return status == TREADLE_OK ? treadle_descriptor_release(descriptor) : status;
}
static treadle_status take_timer(void *context) {
    treadle_timer timer;
    treadle_status status = treadle_timer_create(context, &timer);
    return status == TREADLE_OK ? treadle_timer_release(timer) : status;
}
static treadle_status take_observer(void *context) {
    treadle_observer observer;
    treadle_status status = treadle_observer_create(context, &observer);
    return status == TREADLE_OK ? treadle_observer_release(observer) : status;
}
static treadle_status take_port(void *context) {
    treadle_port port;
    treadle_status status = treadle_port_create(context, &port);
    return status == TREADLE_OK ? treadle_port_release(port) : status;
}
static treadle_port sent_to;
static treadle_status take_content(void *content) { return treadle_port_send(sent_to, content, 0); }
static treadle_status take_counters(void *counters) { return treadle_loop_get_counters(treadle_loop_current(), counters); }
static treadle_status take_block(void *block) { return post_block(treadle_loop_current(), block); }
static treadle_status take_routine(void *config) {
    treadle_routine routine;
    treadle_status status = treadle_routine_create(config, &routine);
    return status == TREADLE_OK ? treadle_routine_release(routine) : status;
}
static treadle_status take_invocation(void *config) {
    treadle_invocation invocation;
    treadle_status status = treadle_invocation_create(config, &invocation);
    return status == TREADLE_OK ? treadle_invocation_release(invocation) : status;
}
static treadle_status take_closure(void *config) {
    treadle_closure closure;
    treadle_status status = treadle_closure_create(config, &closure);
    return status == TREADLE_OK ? treadle_closure_release(closure) : status;
}
static treadle_status take_scope(void *config) {
    treadle_scope scope;
    treadle_status status = treadle_scope_create(config, &scope);
    return status == TREADLE_OK ? treadle_scope_release(scope) : status;
}
static treadle_status plugin_init(const treadle_plugin_host *host, void **out_instance) { return (void)host, *out_instance = NULL, TREADLE_OK; }
static void plugin_deinit(void *instance) { (void)instance; }
static const treadle_plugin_description *query(uint32_t host_abi) {
    static const treadle_plugin_description description = {TREADLE_PLUGIN_COMMON, .id = "example.struct", .name = "a plugin", .version = "1",
                                                           .init = plugin_init, .deinit = plugin_deinit};
    return (void)host_abi, &description;
}
static treadle_status take_plugin(void *config) {
    treadle_plugin plugin;
    treadle_status status = treadle_plugin_load(config, &plugin);
    if (status != TREADLE_OK) return status;
    CHECK_INT(treadle_plugin_close(plugin, TREADLE_FOREVER), TREADLE_OK);
    return treadle_release(plugin);
}
static treadle_status take_plugin_info(void *info) {
    treadle_plugin plugin = NULL;
    CHECK_INT(treadle_plugin_load(&(treadle_plugin_config){.struct_size = sizeof(treadle_plugin_config), .query = query}, &plugin), TREADLE_OK);
    treadle_status status = treadle_plugin_get_info(plugin, info);
    treadle_plugin_close(plugin, TREADLE_FOREVER), treadle_release(plugin);
    return status;
}
static void *end_at_once(void *info) { return info; }
static treadle_status take_thread(void *config) {
    treadle_thread thread;
    treadle_status status = treadle_thread_create(config, &thread);
    return status == TREADLE_OK ? treadle_thread_release(thread) : status;
}
static treadle_status take_notification(void *config) {
    uint64_t token;
    treadle_status status = treadle_notification_add(config, &token);
    return status == TREADLE_OK ? treadle_notification_remove(token) : status;
}
static void be_told(uint32_t name, void *object, void *info) { (void)name, (void)object, (void)info; }
static treadle_closure asked;
static treadle_status take_closure_info(void *info) { return treadle_closure_get_info(asked, info); }
static treadle_status take_pool_info(void *info) { return treadle_closure_pool_get_info(info); }
static treadle_status handle(treadle_call *call, void *info) { return (void)call, (void)info, TREADLE_OK; }
static treadle_invocation taken;
static treadle_status take_options(void *options) { return treadle_invocation_perform(taken, options); }
static treadle_status take_host(void *config) {
    treadle_host host;
    return treadle_host_register(config, &host);
}
static treadle_status take_request(void *request) {
    treadle_status status = treadle_perform_cancel(request);
    return status == TREADLE_IGNORED ? TREADLE_OK : status;
}
static void call_request(void *target, void *argument) { (void)target, (void)argument; }
static treadle_status take_message_port(void *context) {
    treadle_message_port port;
    treadle_status status = treadle_message_port_create_local(NULL, context, &port);
    return status == TREADLE_OK ? discard(port) : status;
}
static int destroyed;
static void count_destroyed(void *info) { (void)info, destroyed++; }

struct taker {
    treadle_status (*take)(void *);
    void *good;
    size_t size;
    int destroys; /* per refusal, where the struct could be read */
};
enum { TAKERS = 22 };
static struct taker takers[TAKERS];
static int taken_fd;

HELPER void make_takers(void) {
    static treadle_source_context source;
    source = TREADLE_INIT(treadle_source_context);
    static treadle_descriptor_context descriptor;
    descriptor = (treadle_descriptor_context){.struct_size = sizeof descriptor, .ready = on_ready, .fd = eventfd(0, EFD_CLOEXEC), .events = TREADLE_READABLE};
    static treadle_timer_context timer;
    timer = TREADLE_INIT(treadle_timer_context);
    static treadle_observer_context observer;
    observer = TREADLE_INIT(treadle_observer_context);
    static treadle_post block;
    block = (treadle_post){.struct_size = sizeof block, .fn = nothing, .destroy = count_destroyed};
    static treadle_routine_config routine;
    routine = (treadle_routine_config){.struct_size = sizeof routine, .code = (void (*)(void))nothing, .signature = "v", .destroy = count_destroyed};
    static treadle_invocation_config invocation;
    invocation = (treadle_invocation_config){.struct_size = sizeof invocation, .code = (void (*)(void))count_destroyed, .signature = "v^v", .destroy = count_destroyed};
    static treadle_invocation_options options;
    options = (treadle_invocation_options){.struct_size = sizeof options, .wait = TREADLE_WAIT_BLOCK};
    static treadle_host_config host;
    host = (treadle_host_config){.struct_size = sizeof host, .dispatch = dispatch};
    static treadle_closure_config closure;
    closure = (treadle_closure_config){.struct_size = sizeof closure, .signature = "v", .handler = handle, .destroy = count_destroyed};
    static treadle_thread_config thread;
    thread = (treadle_thread_config){.struct_size = sizeof thread, .fn = end_at_once, .destroy = count_destroyed};
    static treadle_notification_config notification;
    notification = (treadle_notification_config){
        .struct_size = sizeof notification, .name = TREADLE_NOTIFY_THREAD_WILL_EXIT, .fn = be_told, .destroy = count_destroyed};
    static treadle_scope_config scope;
    scope = (treadle_scope_config){.struct_size = sizeof scope, .destroy = count_destroyed};
    static treadle_plugin_config plugin;
    plugin = (treadle_plugin_config){.struct_size = sizeof plugin, .query = query};
    static treadle_plugin_info plugin_info;
    plugin_info = (treadle_plugin_info){.struct_size = sizeof plugin_info};
    static treadle_closure_info closure_info;
    closure_info = (treadle_closure_info){.struct_size = sizeof closure_info};
    static treadle_closure_pool_info pool_info;
    pool_info = (treadle_closure_pool_info){.struct_size = sizeof pool_info};
    static treadle_loop_counters counters;
    counters = TREADLE_INIT(treadle_loop_counters);
    static treadle_port_context port;
    port = TREADLE_INIT(treadle_port_context);
    static treadle_message_content content;
    content = TREADLE_INIT(treadle_message_content);
    CHECK_INT(treadle_port_create(&port, &sent_to), TREADLE_OK);
    CHECK_INT(treadle_invocation_create(&invocation, &taken), TREADLE_OK);
    CHECK_INT(treadle_closure_create(&closure, &asked), TREADLE_OK);
    static treadle_request request;
    request = (treadle_request){.struct_size = sizeof request, .fn = call_request};
    static treadle_message_port_context message_port;
    message_port = TREADLE_INIT(treadle_message_port_context);
    const struct taker all[] = {{take_source, &source, sizeof source, 0},       {take_descriptor, &descriptor, sizeof descriptor, 0},
                   {take_timer, &timer, sizeof timer, 0},
                   {take_observer, &observer, sizeof observer, 0}, {take_block, &block, sizeof block, 1},
                   {take_routine, &routine, sizeof routine, 1},    {take_host, &host, sizeof host, 0},
                   {take_invocation, &invocation, sizeof invocation, 1}, {take_options, &options, sizeof options, 0},
                   {take_closure, &closure, sizeof closure, 1},    {take_thread, &thread, sizeof thread, 1},        {take_notification, &notification, sizeof notification, 1},
                   {take_scope, &scope, sizeof scope, 1},
                   {take_port, &port, sizeof port, 0}, {take_content, &content, sizeof content, 0},
                   {take_plugin, &plugin, sizeof plugin, 0},
                   {take_plugin_info, &plugin_info, sizeof plugin_info, 0},
                   {take_closure_info, &closure_info, sizeof closure_info, 0},
                   {take_pool_info, &pool_info, sizeof pool_info, 0},
                   {take_counters, &counters, sizeof counters, 0},
                   {take_request, &request, sizeof request, 0}, {take_message_port, &message_port, sizeof message_port, 0}};
    _Static_assert(sizeof all / sizeof *all == TAKERS, "");
    memcpy(takers, all, sizeof all);
    taken_fd = descriptor.fd;
}
HELPER void end_takers(void) {
    close(taken_fd);
    CHECK_INT(treadle_invocation_release(taken), TREADLE_OK);
    CHECK_INT(treadle_closure_release(asked), TREADLE_OK);
    CHECK_INT(discard(sent_to), TREADLE_OK);
}
#endif
