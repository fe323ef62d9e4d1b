/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * busy_work.h: of busy.c, what is called once, by a loop or without one: posts, requests, invocations, closures, threads,
 * releases, notifications, scopes, hosts. */
#ifndef TREADLE_TEST_BUSY_WORK_H
#define TREADLE_TEST_BUSY_WORK_H

#include "busy_items.h"

#include <stdio.h>

/* A thread of the plugin runs it. */
static treadle_thread on_thread(treadle_thread_fn fn, void *info) {
    treadle_thread thread = NULL;
    treadle_thread_config config = {.struct_size = sizeof config, .fn = fn, .info = info, .destroy = release};
    treadle_thread_create(&config, &thread);
    treadle_thread_start(thread);
    return thread;
}
static void tell_waiter(treadle_status status) {
    char text[32];
    snprintf(text, sizeof text, "waiter %d", status);
    script->step(treadle_plugin_self, text);
}

/* --- Posts and requests -------------------------------------------------------------------------- */

static void post(void *kind) { reach_of("call of ", kind); }
static void request(void *target, void *argument) { (void)argument, reach_of("call of ", target); }

static void make_post(void) {
    treadle_post config = {.struct_size = sizeof config, .fn = post, .info = "a post", .destroy = release, .modes = &mode, .mode_count = 1};
    treadle_loop_post_in(home, &config);
}
static treadle_request new_request(uint32_t flags) {
    return (treadle_request){.struct_size = sizeof(treadle_request), .fn = request, .target = "a request", .release_target = release,
                             .argument = "an argument", .release_argument = release, .modes = &mode, .mode_count = 1, .flags = flags};
}
static void make_request(void) {
    treadle_request config = new_request(0);
    treadle_perform(home, &config);
}
static void *wait_for_request(void *info) {
    treadle_request config = new_request(TREADLE_PERFORM_WAIT);
    tell_waiter(treadle_perform(home, &config));
    return info;
}
static void make_waiting_request(void) { on_thread(wait_for_request, "a waiter"); }
static void make_delayed_request(void) {
    treadle_request config = new_request(TREADLE_PERFORM_AFTER);
    config.delay_ns = 1;
    treadle_perform(NULL, &config);
}
static void make_background_request(void) {
    treadle_request config = new_request(TREADLE_PERFORM_IN_BACKGROUND);
    config.modes = NULL, config.mode_count = 0;
    treadle_perform(NULL, &config);
}

/* --- Invocations and closures -------------------------------------------------------------------- */

static int invoked(void) { return reach("call of an invocation"), 5; }
static treadle_status invoke(uint32_t wait) {
    treadle_invocation invocation = NULL;
    treadle_invocation_config config = {.struct_size = sizeof config, .code = (void (*)(void))invoked, .signature = "i",
                                        .info = "an invocation", .destroy = release};
    treadle_request completion = {.struct_size = sizeof completion, .fn = request, .target = "a completion", .release_target = release};
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = home, .modes = &mode, .mode_count = 1, .wait = wait,
                                          .completion = wait ? NULL : &completion, .completion_loop = wait ? NULL : home};
    treadle_status status = treadle_invocation_create(&config, &invocation);
    if (status == TREADLE_OK) status = treadle_invocation_perform(invocation, &options);
    treadle_invocation_release(invocation);
    return status;
}
static void make_invocation(void) { invoke(TREADLE_WAIT_NONE); }
static void *wait_for_invocation(void *info) { return tell_waiter(invoke(TREADLE_WAIT_BLOCK)), info; }
static void make_waiting_invocation(void) { on_thread(wait_for_invocation, "a waiter"); }

static treadle_status handle(treadle_call *call, void *kind) {
    reach_of("call of ", kind);
    return treadle_call_set_result(call, &(int){7}, sizeof(int));
}
static treadle_closure new_closure(uint32_t delivery) {
    treadle_closure closure = NULL;
    int none = -1;
    void (*code)(void);
    bool is_carried = delivery != TREADLE_DELIVERY_INLINE;
    treadle_closure_config config = {.struct_size = sizeof config, .signature = "i", .handler = handle, .info = "a closure", .destroy = release,
                                     .delivery = delivery, .loop = is_carried ? home : NULL, .modes = is_carried ? &mode : NULL,
                                     .mode_count = is_carried, .default_result = &none, .default_result_size = sizeof none};
    if (treadle_closure_create(&config, &closure) == TREADLE_OK && treadle_closure_get_code(closure, &code) == TREADLE_OK) script->code(code);
    return closure;
}
static void make_inline_closure(void) { new_closure(TREADLE_DELIVERY_INLINE); }
static void make_carried_closure(void) { new_closure(TREADLE_DELIVERY_ASYNC); }
static void make_waiting_closure(void) { new_closure(TREADLE_DELIVERY_SYNC); }
static void end_closure(void) { treadle_invalidate(new_closure(TREADLE_DELIVERY_INLINE)); }

/* --- Threads ------------------------------------------------------------------------------------- */

static void *work(void *kind) { return reach_of("main of ", kind), NULL; }
static void make_thread(void) { on_thread(work, "a thread"); }
static void make_waiting_thread(void) {
    treadle_thread thread = NULL;
    treadle_thread_config config = {.struct_size = sizeof config, .fn = work, .info = "a thread", .destroy = release};
    treadle_thread_create(&config, &thread);
}
/* A call of one thread's loop by another, both the plugin's. */
static void *hop(void *worker) {
    treadle_loop to = NULL;
    treadle_thread_copy_loop(worker, &to);
    treadle_loop_post(to, post, "a hop");
    treadle_loop_release(to);
    return NULL;
}
static void make_hop(void) {
    treadle_thread worker = NULL, caller = NULL;
    treadle_thread_config config = {.struct_size = sizeof config};
    treadle_thread_create(&config, &worker);
    treadle_thread_start(worker);
    config.fn = hop, config.info = worker;
    treadle_thread_create(&config, &caller);
    treadle_thread_start(caller);
}
static void use(void *value, void *info) { (void)info, reach_of("use of ", value); }
static void make_value(void) {
    treadle_thread thread = treadle_thread_current();
    treadle_thread_set_value(thread, "a key", "a value", release);
    treadle_thread_use_value(thread, "a key", use, NULL);
    treadle_thread_remove_value(thread, "a key");
}
static void make_left_value(void) { treadle_thread_set_value(treadle_thread_current(), "another key", "a value", release); }

/* --- The rest ------------------------------------------------------------------------------------ */

static void make_pooled(void) { treadle_pool_add("a pool", release); }

static void told(uint32_t name, void *object, void *kind) { (void)name, (void)object, reach_of("call of ", kind); }
static uint64_t new_notification(void) {
    uint64_t token = 0;
    treadle_notification_config config = {.struct_size = sizeof config, .name = TREADLE_NOTIFY_THREAD_WILL_EXIT, .fn = told,
                                          .info = "a notification", .destroy = release};
    treadle_notification_add(&config, &token);
    return token;
}
static void make_notification(void) { new_notification(); }
static void end_notification(void) { treadle_notification_remove(new_notification()); }

static treadle_scope new_scope(void) {
    treadle_scope scope = NULL;
    treadle_scope_config config = {.struct_size = sizeof config, .info = "a scope", .destroy = release};
    treadle_scope_create(&config, &scope);
    return scope;
}
static void make_scope(void) { new_scope(); }
static void end_scope(void) { treadle_scope_close(new_scope(), TREADLE_FOREVER); }

static uint64_t dispatch(uint64_t ticket, const treadle_event *event) { return (void)event, reach("event of a host"), ~ticket; }
static void enter(void *user) { reach_of("enter of ", user); }
static void leave(void *user) { reach_of("leave of ", user); }
static void make_host(void) {
    treadle_host host = NULL;
    treadle_source source = NULL;
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch, .thread_enter = enter, .thread_exit = leave, .user = "a host"};
    treadle_source_context context = {.struct_size = sizeof context, .token = 1};
    treadle_host_register(&config, &host);
    context.host = host;
    treadle_source_create(&context, &source);
    treadle_loop_add_source(home, source, mode);
    treadle_source_signal_and_wake(source);
}

#endif
