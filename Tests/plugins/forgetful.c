/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * forgetful.c: makes one of everything when it starts, again in its callbacks, and ends nothing of it but its
 * descriptor. */
#include "script.h"

#include <sys/eventfd.h>
#include <unistd.h>

static const struct script *script;
static int descriptor = -1;

static void told(const char *what) { script->step(treadle_plugin_self, what); }
static void receive(treadle_port port, treadle_message message, void *info) {
    (void)message;
    told(info);
    treadle_port_send_bytes(port, 1, NULL, 0, 0);
}
static void again(treadle_timer timer, void *info) {
    treadle_port port;
    treadle_port_context context = {.struct_size = sizeof context, .receive = receive, .info = "a port"};
    (void)timer;
    told(info);
    if (treadle_port_create(&context, &port) == TREADLE_OK && treadle_loop_add(treadle_loop_current(), port, TREADLE_DEFAULT_MODE) == TREADLE_OK)
        treadle_port_send_bytes(port, 1, NULL, 0, 0);
    /* What callbacks make belongs to the plugin as well. */
    treadle_timer_start(1000000, 1000000, again, "a timer of a timer", NULL);
    treadle_loop_post(treadle_loop_current(), (treadle_post_fn)told, "a post of a timer");
}
static void once(treadle_timer timer, void *info) {
    treadle_timer_invalidate(timer);
    again(timer, info);
}
static void perform(treadle_source source, void *info) { treadle_source_signal(source), told(info); }
static void notify(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, told(info); }
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, told(info); }
static void released(void *info) { told(info); }
static void request(void *target, void *argument) { (void)argument, told(target); }
static void exited(uint32_t name, void *object, void *info) { (void)name, (void)object, told(info); }
static treadle_status handle(treadle_call *call, void *info) {
    told(info);
    return treadle_call_set_result(call, &(int){7}, sizeof(int));
}
static void *work(void *info) {
    treadle_timer_start(0, 1000000, again, info, NULL);
    treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
    return NULL;
}
static void call_nothing(void) { told("an invocation"); }

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    *out_instance = NULL;
    script = host->get_extension(host, SCRIPT);
    return script ? TREADLE_OK : TREADLE_E_NOT_FOUND;
}
static treadle_status start(void *instance) {
    (void)instance;
    treadle_loop home = treadle_loop_current();
    const char *modes[] = {"a mode that nobody runs"};
    treadle_source source;
    treadle_source_start(perform, "a source", &source);
    treadle_source_signal(source);
    treadle_timer_start(0, 0, once, "a timer", NULL);
    treadle_observer_start(TREADLE_BEFORE_TIMERS, notify, "an observer", NULL);
    treadle_descriptor_start(descriptor = eventfd(1, EFD_CLOEXEC), TREADLE_READABLE, ready, "a descriptor", NULL);
    treadle_post post = {.struct_size = sizeof post, .fn = (treadle_post_fn)told, .info = "a post", .destroy = released, .modes = modes, .mode_count = 1};
    treadle_loop_post_in(home, &post);
    treadle_request later = {.struct_size = sizeof later, .fn = request, .target = "a request", .modes = modes, .mode_count = 1};
    treadle_perform(home, &later);
    treadle_notification_config notification = {.struct_size = sizeof notification, .name = TREADLE_NOTIFY_THREAD_WILL_EXIT, .fn = exited,
                                                .info = "a notification"};
    uint64_t token;
    treadle_notification_add(&notification, &token);
    treadle_pool_add("a pooled release", released);
    treadle_thread_set_value(treadle_thread_current(), "org.example.forgetful", "a value", released);
    treadle_thread thread;
    treadle_thread_config config = {.struct_size = sizeof config, .fn = work, .info = "a timer of a thread"};
    if (treadle_thread_create(&config, &thread) == TREADLE_OK) treadle_thread_start(thread);
    treadle_invocation invocation;
    treadle_invocation_config call = {.struct_size = sizeof call, .code = call_nothing, .signature = "v"};
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = home, .modes = modes, .mode_count = 1};
    if (treadle_invocation_create(&call, &invocation) == TREADLE_OK) treadle_invocation_perform(invocation, &options);
    treadle_closure closure;
    int none = -1;
    void (*code)(void);
    treadle_closure_config made = {.struct_size = sizeof made, .signature = "i", .handler = handle, .info = "a closure",
                                   .default_result = &none, .default_result_size = sizeof none, .flags = TREADLE_CLOSURE_KEEP_CODE};
    if (treadle_closure_create(&made, &closure) == TREADLE_OK && treadle_closure_get_code(closure, &code) == TREADLE_OK) script->code(code);
    return TREADLE_OK;
}
static void deinit(void *instance) {
    (void)instance;
    if (descriptor >= 0) close(descriptor);
}

static const char *const required[] = {SCRIPT, NULL};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON, .id = "org.example.forgetful", .name = "forgetful", .version = "1", .flags = TREADLE_PLUGIN_MAY_UNMAP,
    .required = required, .init = init, .start = start, .deinit = deinit,
};
TREADLE_PLUGIN_EXPORT(description)
