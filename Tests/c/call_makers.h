/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * call_makers.h: what the calls of all_calls.h are made with: arguments, callbacks, and short names for the handles. */
#ifndef TREADLE_TEST_CALL_MAKERS_H
#define TREADLE_TEST_CALL_MAKERS_H

#include "host_items.h"

static void call_nothing(void *info) { (void)info; }
static void call_stop(void *info) { treadle_loop_stop(info); }
static uint64_t call_dispatch(uint64_t ticket, const treadle_event *event) { return (void)event, ~ticket; }

/* Who waits for another thread here would wait for ever: nobody serves that one. A bad handle stays. */
static treadle_thread caller_or(treadle_thread thread) {
    uint32_t state;
    return treadle_thread_get_state(thread, &state) >= 0 ? treadle_thread_current() : thread;
}

#define U(kind) (1u << (kind))
#define L ((treadle_loop)h->of[LOOP])
#define S ((treadle_source)h->of[SOURCE])
#define D ((treadle_descriptor)h->of[DESCRIPTOR])
#define T ((treadle_timer)h->of[TIMER])
#define O ((treadle_observer)h->of[OBSERVER])
#define G ((treadle_signature)h->of[SIGNATURE])
#define R ((treadle_routine)h->of[ROUTINE])
#define H ((treadle_host)h->of[HOST])
#define K ((treadle_lock)h->of[LOCK])
#define C ((treadle_condition)h->of[CONDITION])
#define N ((treadle_thread)h->of[THREAD])
#define I ((treadle_invocation)h->of[INVOCATION])
#define F ((treadle_closure)h->of[CLOSURE])
#define Z ((treadle_scope)h->of[SCOPE])
#define Q ((treadle_plugin)h->of[PLUGIN])
#define P ((treadle_port)h->of[PORT])
#define M ((treadle_message)h->of[MESSAGE])
#define W ((treadle_message_port)h->of[MESSAGE_PORT])
#define TEXT h->text, sizeof h->text, &h->out.size

/* What it copies is given back. */
static treadle_status copy_items(treadle_loop loop, struct handles *h) {
    treadle_object items[64];
    treadle_status status = treadle_loop_copy_items(loop, NULL, items, 64, &h->out.size);
    for (size_t i = 0; status == TREADLE_OK && i < h->out.size && i < 64; i++) treadle_release(items[i]);
    return status;
}

/* Those that make an object give it back. */
HELPER treadle_status give_back(struct handles *h, treadle_status status) {
    if (status == TREADLE_OK) CHECK_INT(treadle_release(h->out.pointer), TREADLE_OK);
    return status;
}
#define MAKES(name, type, call, release)             \
    static treadle_status name(struct handles *h) {  \
        type object = NULL;                          \
        (void)h;                                     \
        treadle_status status = call;                \
        h->out.pointer = object;                     \
        if (status == TREADLE_OK) release(object);   \
        return status;                               \
    }
MAKES(make_r, treadle_routine,
      treadle_routine_create(&(treadle_routine_config){.struct_size = sizeof(treadle_routine_config),
                                                       .code = (void (*)(void))call_stop, .signature = "v^v",
                                                       .arguments = &(treadle_argument){.kind = TREADLE_ARGUMENT_LOOP},
                                                       .argument_count = 1}, &object),
      treadle_routine_release)
static treadle_status call_next(treadle_host host, treadle_loop loop) {
    treadle_event event;
    treadle_pull pull = {.struct_size = sizeof pull, .host = host, .mode = "of no use", .events = &event, .event_size = sizeof event, .capacity = 1};
    return treadle_loop_next(loop, &pull);
}
MAKES(make_hs, treadle_source, host_source(H, 1, 0, 0, &object), treadle_source_release)
MAKES(make_hd, treadle_descriptor, host_descriptor(H, 1, h->fd, TREADLE_READABLE, 0, &object), treadle_descriptor_release)
MAKES(make_ht, treadle_timer, host_timer(H, 1, 1, 0, &object), treadle_timer_release)
MAKES(make_ho, treadle_observer, host_observer(H, 1, TREADLE_EXIT, 0, &object), treadle_observer_release)

MAKES(make_hp, treadle_port, host_port(H, 1, &object), treadle_port_release)

/* A message, which a thread of its own receives. */
static treadle_port make_a_port(void) {
    treadle_port port = NULL;
    CHECK_INT(treadle_port_create(&TREADLE_INIT(treadle_port_context), &port), TREADLE_OK);
    return port;
}
static void keep_message(treadle_port port, treadle_message message, void *info) {
    (void)port;
    CHECK_INT(treadle_message_retain(message), TREADLE_OK);
    *(treadle_message *)info = message;
}
static void *receive_one(void *info) {
    treadle_message message = NULL;
    treadle_port port = NULL;
    treadle_port_context context = {.struct_size = sizeof context, .receive = keep_message, .info = &message};
    treadle_component components[] = {{.kind = TREADLE_COMPONENT_BYTES, .bytes = "text", .length = 4}, {.kind = TREADLE_COMPONENT_DESCRIPTOR}};
    treadle_message_content content = {.struct_size = sizeof content, .components = components, .component_count = 2};
    (void)info;
    CHECK_INT(treadle_port_create(&context, &port), TREADLE_OK);
    CHECK_INT(treadle_loop_add_port(treadle_loop_current(), port, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_port_send(port, &content, 0), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(discard(port), TREADLE_OK);
    return message;
}
static treadle_message receive_message(void) { return on_thread(receive_one, NULL); }
/* A descriptor can be taken once. */
static treadle_status call_take(treadle_message message, int32_t *out) {
    treadle_status status = treadle_message_take_descriptor(message, 1, out);
    if (status == TREADLE_OK) close(*out);
    return status == TREADLE_E_NOT_FOUND ? TREADLE_OK : status;
}

/* A wait that must time out, with the lock locked around it where it can be. */
static treadle_status call_wait(treadle_condition condition, treadle_lock lock) {
    bool locked = treadle_lock_lock(lock, TREADLE_FOREVER) == TREADLE_OK;
    treadle_status status = treadle_condition_wait(condition, lock, 0);
    if (locked) treadle_lock_unlock(lock);
    return status == TREADLE_E_TIMEOUT ? TREADLE_OK : status;
}
static treadle_status call_lock(treadle_lock lock) {
    treadle_status status = treadle_lock_lock(lock, TREADLE_FOREVER);
    if (status == TREADLE_OK) treadle_lock_unlock(lock);
    return status;
}
static treadle_status call_unlock(treadle_lock lock) {
    treadle_lock_lock(lock, TREADLE_FOREVER);
    return treadle_lock_unlock(lock);
}
static treadle_status make_pool(struct handles *h) {
    treadle_status status = treadle_pool_push(&h->out.u64);
    if (status == TREADLE_OK) treadle_pool_pop(h->out.u64);
    return status;
}
static treadle_status call_pop(void) {
    uint64_t token = 0;
    treadle_pool_push(&token);
    return treadle_pool_pop(token);
}
static void call_notified(uint32_t name, void *object, void *info) { (void)name, (void)object, (void)info; }
static treadle_status make_n(struct handles *h, treadle_status status) {
    if (status == TREADLE_OK) treadle_notification_remove(h->out.u64);
    return status;
}
static treadle_status call_remove(void) {
    uint64_t token = 0;
    add_notification(TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL, call_notified, NULL, NULL, &token);
    return treadle_notification_remove(token);
}
static bool call_last_resort(treadle_thread thread, const char *kind, const char *message, void *info) {
    return (void)thread, (void)kind, (void)message, (void)info, true;
}
static treadle_status call_report(void) {
    treadle_set_last_resort(call_last_resort, NULL, NULL);
    return treadle_report_error("an error", "of a test");
}

/* Threads and performs. */
static void *call_entry(void *info) { return info; }
static void call_request(void *target, void *argument) { (void)target, (void)argument; }
static void call_use(void *value, void *info) { (void)value, (void)info; }
static void call_schedule(treadle_timer timer, void *info) { (void)timer, (void)info; }
#define REQUEST (&(treadle_request){.struct_size = sizeof(treadle_request), .fn = call_request})
MAKES(make_ts, treadle_timer, treadle_timer_start(SECONDS(100000), 1, call_schedule, NULL, &object), discard)
static void call_ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info; }
static void perform_nothing(treadle_source source, void *info) { (void)source, (void)info; }
static void notify_nothing(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, (void)info; }
MAKES(start_d, treadle_descriptor, treadle_descriptor_start(h->copy, TREADLE_READABLE, call_ready, NULL, &object), discard)
MAKES(start_s, treadle_source, treadle_source_start(perform_nothing, NULL, &object), discard)
MAKES(start_o, treadle_observer, treadle_observer_start(TREADLE_EXIT, notify_nothing, NULL, &object), discard)
MAKES(make_hth, treadle_thread, host_thread(H, 1, &object), treadle_thread_release)
static treadle_status call_cancel(void) {
    perform_after(SECONDS(100000), REQUEST, NULL, 0);
    return treadle_perform_cancel(REQUEST);
}

/* Invocations: i^vO^v. A call that is queued is taken out again, for the ones that follow. */
static int32_t call_invoked(void *plain, void *copied) { return (void)plain, (void)copied, 5; }
static treadle_status make_invocation(treadle_invocation *out) {
    return treadle_invocation_create(&(treadle_invocation_config){.struct_size = sizeof(treadle_invocation_config),
                                                                  .code = (void (*)(void))call_invoked, .signature = "i^vO^v"}, out);
}
#define INVOKE(...) (&(treadle_invocation_options){.struct_size = sizeof(treadle_invocation_options), __VA_ARGS__})
static treadle_status call_result(struct handles *h, treadle_invocation invocation) {
    treadle_invocation_perform(invocation, INVOKE(.wait = TREADLE_WAIT_BLOCK));
    return treadle_invocation_get_result(invocation, &h->out.i32, 4);
}
static treadle_status call_errno(struct handles *h, treadle_invocation invocation) {
    treadle_invocation_perform(invocation, INVOKE(.wait = TREADLE_WAIT_BLOCK));
    return treadle_invocation_get_errno(invocation, &h->out.i32);
}
static treadle_status call_perform(treadle_invocation invocation, treadle_loop loop) {
    treadle_status status = treadle_invocation_perform(invocation, INVOKE(.loop = loop));
    if (status == TREADLE_OK) treadle_invocation_cancel(invocation);
    return status;
}
/* Closures: i^v. */
static treadle_status call_handler(treadle_call *call, void *info) { return (void)call, (void)info, TREADLE_OK; }
#define CLOSURE_OF(...) (&(treadle_closure_config){.struct_size = sizeof(treadle_closure_config), .signature = "i^v", __VA_ARGS__})
MAKES(make_f, treadle_closure, treadle_closure_create(CLOSURE_OF(.handler = call_handler), &object), treadle_closure_release)
MAKES(make_hf, treadle_closure, host_closure(H, 1, CLOSURE_OF(.handler = NULL), &object), treadle_closure_release)
/* A plugin of the program's own: each time one of a new id, or of the wanted one. Its description lives for ever. */
static treadle_status call_plugin_init(const treadle_plugin_host *host, void **out_instance) { return (void)host, *out_instance = NULL, TREADLE_OK; }
static void call_plugin_deinit(void *instance) { (void)instance; }
static const void *call_plugin_extension(void *instance, const char *id) { return (void)instance, id; }
static const char *const call_provided[] = {"example.call/1", NULL};
static const treadle_plugin_setting call_setting = {.struct_size = sizeof call_setting, .key = "key"};
struct call_plugin {
    treadle_plugin_description description;
    char id[32];
    struct call_plugin *next;
};
static struct call_plugin *_Atomic call_plugins;
static _Thread_local char call_wanted[32];
static const treadle_plugin_description *call_query(uint32_t host_abi) {
    static _Atomic uint32_t number;
    struct call_plugin *made = malloc(sizeof *made);
    *made = (struct call_plugin){
        .description = {TREADLE_PLUGIN_COMMON, .name = "a plugin", .version = "1", .provided = call_provided, .settings = &call_setting,
                        .setting_count = 1, .init = call_plugin_init, .deinit = call_plugin_deinit, .get_extension = call_plugin_extension},
        .next = call_plugins};
    if (*call_wanted) memcpy(made->id, call_wanted, sizeof made->id);
    else snprintf(made->id, sizeof made->id, "example.call-%u", number++);
    made->description.id = made->id;
    while (!__atomic_compare_exchange_n((struct call_plugin **)&call_plugins, &made->next, made, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    return (void)host_abi, &made->description;
}
static void call_unload(treadle_plugin plugin) { treadle_close(plugin, TREADLE_FOREVER), treadle_release(plugin); }
#define PLUGIN_CONFIG(its_query) (&(treadle_plugin_config){.struct_size = sizeof(treadle_plugin_config), .query = its_query})
MAKES(make_q, treadle_plugin, treadle_plugin_load(PLUGIN_CONFIG(call_query), &object), call_unload)
/* One with the id of a handle's plugin. */
static treadle_plugin call_same(treadle_plugin plugin) {
    treadle_plugin_info info = {.struct_size = sizeof info};
    if (treadle_plugin_get_info(plugin, &info) == TREADLE_OK) snprintf(call_wanted, sizeof call_wanted, "%s", info.description->id);
    return plugin;
}
static treadle_status call_made(treadle_status status) { return *call_wanted = 0, status; }
MAKES(remake_q, treadle_plugin, call_made(treadle_plugin_reload(call_same(Q), PLUGIN_CONFIG(call_query), TREADLE_FOREVER, &object)), call_unload)
static treadle_status call_enter(treadle_scope scope) {
    treadle_status status = treadle_scope_enter(scope);
    if (status == TREADLE_OK) treadle_scope_leave(scope);
    return status;
}
static treadle_status call_leave(treadle_scope scope) {
    treadle_scope_enter(scope);
    return treadle_scope_leave(scope);
}
static treadle_call call_of(treadle_signature signature) {
    static void *argument;
    static const void *const arguments[] = {&argument};
    return (treadle_call){.struct_size = sizeof(treadle_call), .signature = signature, .argument_count = 1, .arguments = arguments};
}
static treadle_status call_argument(struct handles *h, treadle_signature signature) {
    treadle_call call = call_of(signature);
    return treadle_call_get_argument(&call, 0, &h->out.pointer, sizeof(void *));
}
static treadle_status call_set(treadle_signature signature) {
    treadle_call call = call_of(signature);
    return treadle_call_set_result(&call, NULL, 0);
}

/* Message ports: each local one has a name of its own. */
static const char *call_name(void) {
    static _Thread_local char name[64];
    static atomic_uint used;
    snprintf(name, sizeof name, "treadle.calls.%d.%u", (int)getpid(), atomic_fetch_add(&used, 1));
    return name;
}
#define MESSAGE_PORT_OF(its_host, its_token) (&(treadle_message_port_context){.struct_size = sizeof(treadle_message_port_context), .host = its_host, .token = its_token})
MAKES(make_w, treadle_message_port, treadle_message_port_create_local(call_name(), MESSAGE_PORT_OF(NULL, 0), &object), discard)
MAKES(make_hw, treadle_message_port, treadle_message_port_create_local(call_name(), MESSAGE_PORT_OF(H, 1), &object), discard)
static treadle_status call_connect(treadle_message_port *out) {
    const char *name = call_name();
    treadle_message_port own = NULL;
    treadle_message_port_create_local(name, MESSAGE_PORT_OF(NULL, 0), &own);
    treadle_status status = treadle_message_port_create_remote(name, NULL, out);
    if (own) discard(own);
    return status;
}
MAKES(make_rw, treadle_message_port, call_connect(&object), discard)
static treadle_status call_rename(treadle_message_port port) {
    treadle_message_port own = NULL;
    treadle_status status = treadle_message_port_get_name(port, NULL, 0, &(size_t){0});
    if (status == TREADLE_OK) status = treadle_message_port_create_local(NULL, MESSAGE_PORT_OF(NULL, 0), &own);
    if (status == TREADLE_OK) status = treadle_message_port_set_name(own, call_name());
    if (own) discard(own);
    return own ? status : treadle_message_port_set_name(port, "name");
}
/* Nobody answers. */
static treadle_status call_ask(treadle_message_port port, const char *mode) {
    treadle_status status = treadle_message_port_request(port, 1, "data", 4, SECONDS(10), 0, mode, NULL, NULL);
    return status == TREADLE_E_NO_REPLY ? TREADLE_OK : status;
}
static treadle_status call_far(treadle_message_port port, const char *mode) {
    treadle_status status = treadle_port_call(port, "function", "v", NULL, 0, NULL, 0, 0, mode);
    return status == TREADLE_E_NO_REPLY ? TREADLE_OK : status;
}
static treadle_status call_reply(void) {
    treadle_status status = treadle_message_port_reply(0, NULL, 0);
    return status == TREADLE_E_NOT_FOUND ? TREADLE_OK : status;
}

static treadle_status open_and_close_pollable(treadle_loop loop, int32_t *out) {
    treadle_status status = treadle_loop_open_pollable(loop, "pollable", out);
    if (status == TREADLE_OK) close(*out);
    return status;
}
#endif
