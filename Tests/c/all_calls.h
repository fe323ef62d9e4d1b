/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * all_calls.h: every function of the headers once, in a table: with it a test calls them all. Handles come from a struct, so
 * that one can be replaced by a bad one. Good ones can be called from top to bottom: what ends an object comes last. The rows that
 * follow from the declarations are in good_calls.h, which make generate writes; a row here goes before the one by rule. */
#ifndef TREADLE_TEST_ALL_CALLS_H
#define TREADLE_TEST_ALL_CALLS_H

#include "helpers.h"

enum { LOOP, SOURCE, DESCRIPTOR, TIMER, OBSERVER, SIGNATURE, ROUTINE, HOST, LOCK, CONDITION, THREAD, INVOCATION, CLOSURE, SCOPE, PLUGIN, PORT, MESSAGE, MESSAGE_PORT, HANDLE_KINDS };
static const char *const handle_names[] = {"loop", "source", "descriptor", "timer", "observer", "signature", "routine", "host", "lock", "condition", "thread", "invocation", "closure", "scope", "plugin", "port", "message", "port"};

struct handles {
    void *of[HANDLE_KINDS];
    const char *mode;
    int fd, copy; /* copy: of fd, which no other source watches */
    void *served; /* the local port that the handle's port sends to */
    char text[512];
    union {
        int64_t i64; uint64_t u64;
        int32_t i32; uint32_t u32;
        size_t size;
        double real;
        void *pointer;
    } out; /* where the functions store their result */
};

struct call {
    const char *name;     /* of the function; of a verb for all kinds, followed by two underscores and a kind */
    uint32_t uses;        /* bit n: needs a handle of kind n */
    char result;          /* 's' a status, 'q' one that leaves the last error alone, 'b' a bool, 'p' a pointer, '-' other: cannot fail */
    unsigned char stores; /* bytes of out that it writes */
    int64_t (*call)(struct handles *h);
};

HELPER bool returns_status(const struct call *call) { return call->result == 's' || call->result == 'q'; }

#include "call_makers.h"
#include "good_calls.h"

/* The verbs that handles of several kinds understand: a line for each kind. */
#define REFERENCE_CALLS(X, x, kind, V) X(treadle_retain__##x, U(kind), 's', 0, treadle_retain(V))
#define REFERENCE_ENDS(X, x, kind, V) X(treadle_release__##x, U(kind), 's', 0, treadle_release(V))
#define REFERENCES(X, x, kind, V) REFERENCE_CALLS(X, x, kind, V) REFERENCE_ENDS(X, x, kind, V)
#define ITEM_CALLS(X, x, kind, V)                                                                  \
    X(treadle_loop_add__##x, U(LOOP) | U(kind), 's', 0, treadle_loop_add(L, V, h->mode))           \
    X(treadle_loop_contains__##x, U(LOOP) | U(kind), 'b', 0, treadle_loop_contains(L, V, h->mode)) \
    REFERENCE_CALLS(X, x, kind, V)                                                                 \
    X(treadle_is_valid__##x, U(kind), 'b', 0, treadle_is_valid(V))                                 \
    X(treadle_get_context_info__##x, U(kind), 's', 8, treadle_get_context_info(V, &h->out.pointer))                \
    X(treadle_get_order__##x, U(kind), 's', 8, treadle_get_order(V, &h->out.i64))                  \
    X(treadle_get_kind__##x, U(kind), 's', 4, treadle_get_kind(V, &h->out.u32))                    \
    X(treadle_describe__##x, U(kind), 's', 8, treadle_describe(V, TEXT))
#define ITEM_ENDS(X, x, kind, V)                                                               \
    REFERENCE_ENDS(X, x, kind, V)                                                              \
    X(treadle_loop_remove__##x, U(LOOP) | U(kind), 's', 0, treadle_loop_remove(L, V, h->mode)) \
    X(treadle_invalidate__##x, U(kind), 's', 0, treadle_invalidate(V))                         \
    X(treadle_close__##x, U(kind), 's', 0, treadle_close(V, 0))

/* What does not follow from the declarations alone: it takes objects of several kinds, needs something made first, or has its place. */
#define OTHER_CALLS(X) \
    X(treadle_after_fork_child, 0, '-', 0, treadle_after_fork_child()) \
    X(treadle_routine_create, 0, 's', 8, make_r(h)) \
    REFERENCES(X, loop, LOOP, L) \
    X(treadle_loop_set_interrupt_descriptor, U(LOOP), 's', 0, treadle_loop_set_interrupt_descriptor(L, -1)) \
    X(treadle_loop_open_pollable, U(LOOP), 's', 4, open_and_close_pollable(L, &h->out.i32)) \
    X(treadle_loop_prepare, U(LOOP), 's', 8, treadle_loop_prepare(L, "pollable", &h->out.i64)) \
    X(treadle_loop_copy_items, U(LOOP), 's', 8, copy_items(L, h)) \
    X(treadle_set_log, 0, '-', 0, treadle_set_log(NULL, NULL, NULL)) \
    X(treadle_trace_start, 0, 's', 0, treadle_trace_start("/dev/null")) \
    X(treadle_trace_mark, 0, 's', 0, treadle_trace_mark("mark", 1)) \
    X(treadle_trace_stop, 0, 's', 0, treadle_trace_stop()) \
    X(treadle_get_kind__loop, U(LOOP), 's', 4, treadle_get_kind(L, &h->out.u32)) \
    X(treadle_describe__loop, U(LOOP), 's', 8, treadle_describe(L, TEXT)) \
    X(treadle_describe__thread, U(THREAD), 's', 8, treadle_describe(N, TEXT)) \
    ITEM_CALLS(X, source, SOURCE, S) \
    ITEM_CALLS(X, descriptor, DESCRIPTOR, D) \
    ITEM_CALLS(X, timer, TIMER, T) \
    ITEM_CALLS(X, port, PORT, P) \
    ITEM_CALLS(X, observer, OBSERVER, O) \
    REFERENCE_CALLS(X, message, MESSAGE, M) \
    X(treadle_get_kind__message, U(MESSAGE), 's', 4, treadle_get_kind(M, &h->out.u32)) \
    X(treadle_message_take_descriptor, U(MESSAGE), 's', 4, call_take(M, &h->out.i32)) \
    REFERENCE_ENDS(X, message, MESSAGE, M) \
    REFERENCES(X, routine, ROUTINE, R) \
    X(treadle_source_create__host, U(HOST), 's', 8, make_hs(h)) \
    X(treadle_port_create__host, U(HOST), 's', 8, make_hp(h)) \
    X(treadle_descriptor_create__host, U(HOST), 's', 8, make_hd(h)) \
    X(treadle_timer_create__host, U(HOST), 's', 8, make_ht(h)) \
    X(treadle_observer_create__host, U(HOST), 's', 8, make_ho(h)) \
    REFERENCES(X, lock, LOCK, K) \
    X(treadle_lock_lock, U(LOCK), 's', 0, call_lock(K)) \
    X(treadle_lock_unlock, U(LOCK), 's', 0, call_unlock(K)) \
    REFERENCES(X, condition, CONDITION, C) \
    X(treadle_condition_wait, U(CONDITION) | U(LOCK), 's', 0, call_wait(C, K)) \
    X(treadle_get_pthread__lock, U(LOCK), 's', 8, treadle_get_pthread(K, (uintptr_t *)&h->out.u64)) \
    X(treadle_get_pthread__condition, U(CONDITION), 's', 8, treadle_get_pthread(C, (uintptr_t *)&h->out.u64)) \
    X(treadle_pool_push, 0, 's', 8, make_pool(h)) \
    X(treadle_pool_pop, 0, 's', 0, call_pop()) \
    X(treadle_pool_add, 0, 's', 0, treadle_pool_add(NULL, call_nothing)) \
    X(treadle_host_pool_add, U(HOST), 's', 0, treadle_host_pool_add(H, 1)) \
    X(treadle_notification_add, 0, 's', 8, \
      make_n(h, add_notification(TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL, call_notified, NULL, NULL, &h->out.u64))) \
    X(treadle_notification_remove, 0, 's', 0, call_remove()) \
    X(treadle_notification_add__host, U(HOST), 's', 8, \
      make_n(h, host_notification(H, 1, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL, &h->out.u64))) \
    X(treadle_set_last_resort, 0, 's', 0, treadle_set_last_resort(NULL, NULL, NULL)) \
    X(treadle_report_error, 0, 's', 0, call_report()) \
    X(treadle_timer_start, 0, 's', 8, make_ts(h)) \
    X(treadle_descriptor_start, 0, 's', 8, start_d(h)) \
    X(treadle_source_start, 0, 's', 8, start_s(h)) \
    X(treadle_observer_start, 0, 's', 8, start_o(h)) \
    X(treadle_thread_create__host, U(HOST), 's', 8, make_hth(h)) \
    X(treadle_thread_is_main, U(THREAD), 'b', 0, N && treadle_thread_is_main(N)) \
    REFERENCES(X, thread, THREAD, N) \
    X(treadle_get_pthread__thread, U(THREAD), 's', 8, treadle_get_pthread(N, (uintptr_t *)&h->out.u64)) \
    X(treadle_perform__thread, U(THREAD), 's', 0, treadle_perform(caller_or(N), REQUEST)) \
    X(treadle_perform__loop, U(LOOP), 's', 0, treadle_perform(L, REQUEST)) \
    X(treadle_host_run, U(HOST) | U(LOOP), 's', 0, treadle_host_run(H, L, h->mode, 0, 0)) \
    X(treadle_loop_next, U(LOOP) | U(HOST), 's', 0, call_next(H, L)) \
    X(treadle_host_wait, U(LOOP), 's', 0, treadle_host_wait(L, &(uint32_t){0}, 0)) \
    X(treadle_host_end_wait, 0, 's', 0, treadle_host_end_wait(&(uint32_t){0})) \
    X(treadle_perform_cancel, 0, 's', 0, call_cancel()) \
    REFERENCES(X, invocation, INVOCATION, I) \
    X(treadle_invocation_get_result, U(INVOCATION), 's', 0, call_result(h, I)) \
    X(treadle_invocation_get_errno, U(INVOCATION), 's', 4, call_errno(h, I)) \
    X(treadle_invocation_perform, U(INVOCATION), 's', 0, call_perform(I, L)) \
    X(treadle_invocation_cancel, U(INVOCATION), 's', 0, treadle_invocation_cancel(I)) \
    X(treadle_closure_create, 0, 's', 8, make_f(h)) \
    X(treadle_closure_create__host, U(HOST), 's', 8, make_hf(h)) \
    REFERENCE_CALLS(X, closure, CLOSURE, F) \
    X(treadle_closure_get_code, U(CLOSURE), 's', 8, treadle_closure_get_code(F, (void (**)(void))(void *)&h->out.pointer)) \
    X(treadle_call_get_argument, U(SIGNATURE), 's', 0, call_argument(h, G)) \
    X(treadle_call_set_result, U(SIGNATURE), 's', 0, call_set(G)) \
    REFERENCE_ENDS(X, closure, CLOSURE, F) \
    X(treadle_invalidate__closure, U(CLOSURE), 's', 0, treadle_closure_invalidate(F)) \
    X(treadle_is_valid__closure, U(CLOSURE), 'b', 0, treadle_closure_is_valid(F)) \
    X(treadle_close__closure, U(CLOSURE), 's', 0, treadle_close(F, 0)) \
    REFERENCE_CALLS(X, scope, SCOPE, Z) \
    X(treadle_scope_enter, U(SCOPE), 's', 0, call_enter(Z)) \
    X(treadle_scope_leave, U(SCOPE), 's', 0, call_leave(Z)) \
    X(treadle_scope_copy_holders, U(SCOPE), 's', 8, treadle_scope_copy_holders(Z, NULL, sizeof(treadle_scope_holder), 0, &h->out.size)) \
    X(treadle_is_valid__scope, U(SCOPE), 'b', 0, treadle_is_valid(Z)) \
    X(treadle_plugin_load, 0, 's', 8, make_q(h)) \
    REFERENCE_CALLS(X, plugin, PLUGIN, Q) \
    X(treadle_plugin_start, U(PLUGIN), 's', 0, treadle_plugin_start(Q)) \
    X(treadle_plugin_get_extension, U(PLUGIN), 's', 8, treadle_plugin_get_extension(Q, "example.call/1", (const void **)&h->out.pointer)) \
    X(treadle_plugin_set, U(PLUGIN), 's', 0, treadle_plugin_set(Q, "key", "value")) \
    X(treadle_plugin_copy_all, 0, 's', 8, treadle_plugin_copy_all(NULL, 0, &h->out.size)) \
    X(treadle_plugin_reload, U(PLUGIN), 's', 8, remake_q(h)) \
    REFERENCE_ENDS(X, plugin, PLUGIN, Q) \
    X(treadle_close__plugin, U(PLUGIN), 's', 0, treadle_close(Q, 0)) \
    REFERENCE_ENDS(X, scope, SCOPE, Z) \
    X(treadle_close__scope, U(SCOPE), 's', 0, treadle_close(Z, 0)) \
    X(treadle_thread_start, U(THREAD), 's', 0, treadle_thread_start(N)) \
    X(treadle_thread_start_and_wait, U(THREAD), 's', 0, treadle_thread_start_and_wait(N, TREADLE_FOREVER)) \
    X(treadle_thread_exit, 0, 's', 0, treadle_thread_exit(NULL)) \
    X(treadle_thread_cancel, U(THREAD), 's', 0, treadle_thread_cancel(N)) \
    X(treadle_thread_stop, U(THREAD), 's', 0, treadle_thread_stop(N)) \
    X(treadle_thread_request_stop, U(THREAD), 's', 0, treadle_thread_request_stop(N, 0)) \
    X(treadle_thread_join, U(THREAD), 's', 8, treadle_thread_join(N, TREADLE_FOREVER, &h->out.pointer)) \
    X(treadle_thread_detach, U(THREAD), 's', 0, treadle_thread_detach(N)) \
    X(treadle_plugin_serve, 0, 's', 0, treadle_plugin_serve(-1, -1, NULL)) \
    X(treadle_shutdown, 0, 's', 0, treadle_shutdown(0)) \
    X(treadle_loop_dispatch, U(LOOP), 's', 0, treadle_loop_dispatch(L, h->mode, 0, 1)) \
    X(treadle_loop_run, U(LOOP), 's', 0, treadle_loop_run(L, h->mode, 0, 0)) \
    X(treadle_loop_stop, U(LOOP), 's', 0, treadle_loop_stop(L)) \
    X(treadle_loop_request_stop, U(LOOP), 'q', 0, treadle_loop_request_stop(L, 0)) \
    ITEM_ENDS(X, source, SOURCE, S) \
    ITEM_ENDS(X, descriptor, DESCRIPTOR, D) \
    ITEM_ENDS(X, timer, TIMER, T) \
    ITEM_ENDS(X, port, PORT, P) \
    ITEM_ENDS(X, observer, OBSERVER, O) \
    X(treadle_message_port_create_local, 0, 's', 8, make_w(h)) \
    X(treadle_message_port_create_local__host, U(HOST), 's', 8, make_hw(h)) \
    X(treadle_message_port_create_remote, 0, 's', 8, make_rw(h)) \
    ITEM_CALLS(X, message_port, MESSAGE_PORT, W) \
    X(treadle_message_port_set_name, U(MESSAGE_PORT), 's', 0, call_rename(W)) \
    X(treadle_message_port_send, U(MESSAGE_PORT), 's', 0, treadle_message_port_send(W, 1, "data", 4, SECONDS(10))) \
    X(treadle_message_port_request, U(MESSAGE_PORT), 's', 0, call_ask(W, h->mode)) \
    X(treadle_message_port_reply, 0, 's', 0, call_reply()) \
    X(treadle_port_call, U(MESSAGE_PORT), 's', 0, call_far(W, h->mode)) \
    ITEM_ENDS(X, message_port, MESSAGE_PORT, W) \
    X(treadle_host_quiesce, U(HOST), 's', 0, treadle_host_quiesce(H, 0))

/* Those of good_calls.h end nothing. */
#define CALLS(X) GOOD_CALLS(X) OTHER_CALLS(X)
#define DEFINE_CALL(function, uses, result, stores, expression)  \
    static int64_t call_##function(struct handles *h) {          \
        (void)h;                                                 \
        return (int64_t)(expression);                            \
    }
CALLS(DEFINE_CALL)
#define LIST_CALL(function, uses, result, stores, expression) {#function, uses, result, stores, call_##function},
static const struct call calls[] = {CALLS(LIST_CALL)};
enum { CALL_COUNT = sizeof calls / sizeof calls[0] };

/* The function that a line calls. */
HELPER const char *function_of(const struct call *call) {
    static _Thread_local char name[64];
    snprintf(name, sizeof name, "%s", call->name);
    if (strstr(name, "__")) *strstr(name, "__") = 0;
    return name;
}

#undef L
#undef S
#undef D
#undef T
#undef O
#undef G
#undef R
#undef H
#undef K
#undef C
#undef N
#undef I
#undef Z
#undef Q
#undef P
#undef M
#undef W
#undef TEXT

/* One good handle of each kind but host; of[LOOP] is the loop given. */
HELPER void handles_make(struct handles *h, treadle_loop loop, const char *mode) {
    treadle_argument argument = {.kind = TREADLE_ARGUMENT_LOOP};
    treadle_routine_config config = {.struct_size = sizeof config, .code = (void (*)(void))call_nothing, .signature = "v^v",
                                     .arguments = &argument, .argument_count = 1};
    h->mode = mode;
    h->of[LOOP] = loop;
    CHECK((h->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) >= 0 && (h->copy = dup(h->fd)) >= 0);
    h->of[SOURCE] = make_source(NULL, NULL);
    h->of[DESCRIPTOR] = make_descriptor(NULL, NULL, h->fd, TREADLE_READABLE);
    h->of[PORT] = make_a_port();
    h->of[MESSAGE] = receive_message();
    h->of[TIMER] = make_timer(NULL, NULL, FAR_AWAY, SECONDS(1));
    h->of[OBSERVER] = make_observer(NULL, NULL, TREADLE_ALL_ACTIVITIES);
    CHECK_INT(treadle_signature_parse("v^v", (treadle_signature *)&h->of[SIGNATURE]), TREADLE_OK);
    CHECK_INT(treadle_routine_create(&config, (treadle_routine *)&h->of[ROUTINE]), TREADLE_OK);
    CHECK_INT(treadle_lock_create(0, (treadle_lock *)&h->of[LOCK]), TREADLE_OK);
    CHECK_INT(treadle_condition_create((treadle_condition *)&h->of[CONDITION]), TREADLE_OK);
    CHECK_INT(create_thread(call_entry, NULL, NULL, (treadle_thread *)&h->of[THREAD]), TREADLE_OK);
    CHECK_INT(make_invocation((treadle_invocation *)&h->of[INVOCATION]), TREADLE_OK);
    CHECK_INT(treadle_closure_create(CLOSURE_OF(.handler = call_handler), (treadle_closure *)&h->of[CLOSURE]), TREADLE_OK);
    CHECK_INT(treadle_scope_create(&TREADLE_INIT(treadle_scope_config), (treadle_scope *)&h->of[SCOPE]), TREADLE_OK);
    CHECK_INT(treadle_plugin_load(PLUGIN_CONFIG(call_query), (treadle_plugin *)&h->of[PLUGIN]), TREADLE_OK);
    const char *name = call_name();
    CHECK_INT(treadle_message_port_create_local(name, MESSAGE_PORT_OF(NULL, 0), (treadle_message_port *)&h->served), TREADLE_OK);
    CHECK_INT(treadle_message_port_create_remote(name, NULL, (treadle_message_port *)&h->of[MESSAGE_PORT]), TREADLE_OK);
}
HELPER void handles_end(struct handles *h) {
    treadle_source_invalidate(h->of[SOURCE]);
    treadle_observer_invalidate(h->of[OBSERVER]);
    CHECK_INT(treadle_source_release(h->of[SOURCE]), TREADLE_OK);
    CHECK_INT(discard(h->of[DESCRIPTOR]), TREADLE_OK);
    CHECK_INT(discard(h->of[TIMER]), TREADLE_OK);
    CHECK_INT(discard(h->of[PORT]), TREADLE_OK);
    CHECK_INT(treadle_message_release(h->of[MESSAGE]), TREADLE_OK);
    CHECK_INT(treadle_observer_release(h->of[OBSERVER]), TREADLE_OK);
    CHECK_INT(treadle_routine_release(h->of[ROUTINE]), TREADLE_OK);
    CHECK_INT(treadle_lock_release(h->of[LOCK]), TREADLE_OK);
    CHECK_INT(treadle_condition_release(h->of[CONDITION]), TREADLE_OK);
    CHECK_INT(treadle_thread_release(h->of[THREAD]), TREADLE_OK);
    CHECK_INT(treadle_invocation_release(h->of[INVOCATION]), TREADLE_OK);
    CHECK_INT(treadle_closure_release(h->of[CLOSURE]), TREADLE_OK);
    CHECK_INT(treadle_scope_release(h->of[SCOPE]), TREADLE_OK);
    CHECK_INT(treadle_plugin_close(h->of[PLUGIN], TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(h->of[PLUGIN]), TREADLE_OK);
    CHECK_INT(discard(h->of[MESSAGE_PORT]), TREADLE_OK);
    CHECK_INT(discard(h->served), TREADLE_OK);
    close(h->fd), close(h->copy);
}

#endif
