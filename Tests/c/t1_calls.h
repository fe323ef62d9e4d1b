/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * t1_calls.h: every function of the headers once, in a table: with it a test calls them all. Handles
 * come from a struct, so that one can be replaced by a bad one. The order allows to call the table
 * from top to bottom with good handles: what ends an object comes last. */
#ifndef TREADLE_T1_CALLS_H
#define TREADLE_T1_CALLS_H

#include "helpers.h"

enum { LOOP, SOURCE, DESCRIPTOR, TIMER, OBSERVER, SIGNATURE, ROUTINE, HOST, HANDLE_KINDS };
static const char *const handle_names[] = {"loop", "source", "descriptor", "timer", "observer", "signature", "routine", "host"};

struct handles {
    void *of[HANDLE_KINDS];
    const char *mode;
    int fd;
    char text[512];
    union {
        int64_t i64;
        uint64_t u64;
        uint32_t u32;
        int32_t i32;
        size_t size;
        void *pointer;
    } out; /* where the functions store their result */
};

struct call {
    const char *function;
    uint32_t uses;        /* bit n: needs a handle of kind n */
    char result;          /* 's' a status, 'b' a bool, 'p' a pointer, '-' other: cannot fail */
    unsigned char stores; /* bytes of out that it writes */
    int64_t (*call)(struct handles *h);
};

static void call_nothing(void *info) { (void)info; }
static void call_stop(void *info) { treadle_loop_stop(info); }
static uint64_t call_dispatch(uint64_t ticket, const treadle_event *event) { return (void)event, ticket; }

#define U(kind) (1u << (kind))
#define L ((treadle_loop)h->of[LOOP])
#define S ((treadle_source)h->of[SOURCE])
#define D ((treadle_descriptor)h->of[DESCRIPTOR])
#define T ((treadle_timer)h->of[TIMER])
#define O ((treadle_observer)h->of[OBSERVER])
#define G ((treadle_signature)h->of[SIGNATURE])
#define R ((treadle_routine)h->of[ROUTINE])
#define H ((treadle_host)h->of[HOST])
#define TEXT h->text, sizeof h->text, &h->out.size

/* Those that make an object give it back. */
#define MAKES(name, type, call, release)             \
    static treadle_status name(struct handles *h) {  \
        type object = NULL;                          \
        (void)h;                                     \
        treadle_status status = call;                \
        h->out.pointer = object;                     \
        if (status == TREADLE_OK) release(object);   \
        return status;                               \
    }
static void release_nothing(void *object) { (void)object; }
MAKES(make_s, treadle_source, treadle_source_create(&TREADLE_INIT(treadle_source_context), &object), treadle_source_release)
MAKES(make_t, treadle_timer, treadle_timer_create(&TREADLE_INIT(treadle_timer_context), &object), treadle_timer_release)
MAKES(make_a, treadle_timer, treadle_timer_create_absolute(&TREADLE_INIT(treadle_timer_context), 1, 1, &object), treadle_timer_release)
MAKES(make_o, treadle_observer, treadle_observer_create(&TREADLE_INIT(treadle_observer_context), &object), treadle_observer_release)
MAKES(make_d, treadle_descriptor,
      treadle_descriptor_create(&(treadle_descriptor_context){.struct_size = sizeof(treadle_descriptor_context),
                                                              .fd = h->fd, .events = TREADLE_READABLE}, &object),
      treadle_descriptor_release)
MAKES(make_g, treadle_signature, treadle_signature_parse("v^v", &object), release_nothing)
MAKES(make_r, treadle_routine,
      treadle_routine_create(&(treadle_routine_config){.struct_size = sizeof(treadle_routine_config),
                                                       .code = (void (*)(void))call_stop, .signature = "v^v",
                                                       .arguments = &(treadle_argument){.kind = TREADLE_ARGUMENT_LOOP},
                                                       .argument_count = 1}, &object),
      treadle_routine_release)
MAKES(make_h, treadle_host,
      treadle_host_register(&(treadle_host_config){.struct_size = sizeof(treadle_host_config), .dispatch = call_dispatch}, &object),
      release_nothing)
MAKES(make_l, treadle_loop, treadle_loop_copy_of_thread(thread_id(), &object), treadle_loop_release)
MAKES(make_hs, treadle_source, treadle_host_create_source(H, 1, 0, 0, &object), treadle_source_release)
MAKES(make_hd, treadle_descriptor, treadle_host_create_descriptor(H, 1, h->fd, TREADLE_READABLE, 0, &object), treadle_descriptor_release)
MAKES(make_ht, treadle_timer, treadle_host_create_timer(H, 1, 1, 0, 0, &object), treadle_timer_release)
MAKES(make_ho, treadle_observer, treadle_host_create_observer(H, 1, TREADLE_EXIT, 0, 0, &object), treadle_observer_release)

static treadle_status call_block(treadle_loop loop) {
    treadle_block block = {.struct_size = sizeof block, .fn = call_nothing};
    return treadle_loop_perform_block(loop, &block);
}
/* A run that ends by itself: a post stops it. */
static treadle_status call_run_default(treadle_loop loop) {
    if (treadle_loop_is_current(loop)) treadle_loop_post(loop, call_stop, loop);
    return treadle_loop_run_default(loop);
}

/* What all four kinds of items have. */
#define ITEM_CALLS(X, x, kind, V)                                                                     \
    X(treadle_loop_add_##x, U(LOOP) | U(kind), 's', 0, treadle_loop_add_##x(L, V, h->mode))           \
    X(treadle_loop_contains_##x, U(LOOP) | U(kind), 'b', 0, treadle_loop_contains_##x(L, V, h->mode)) \
    X(treadle_##x##_retain, U(kind), 's', 0, treadle_##x##_retain(V))                                 \
    X(treadle_##x##_is_valid, U(kind), 'b', 0, treadle_##x##_is_valid(V))                             \
    X(treadle_##x##_get_info, U(kind), 's', 8, treadle_##x##_get_info(V, &h->out.pointer))            \
    X(treadle_##x##_describe, U(kind), 's', 8, treadle_##x##_describe(V, TEXT))
#define ITEM_ENDS(X, x, kind, V)                                                                  \
    X(treadle_##x##_release, U(kind), 's', 0, treadle_##x##_release(V))                           \
    X(treadle_loop_remove_##x, U(LOOP) | U(kind), 's', 0, treadle_loop_remove_##x(L, V, h->mode)) \
    X(treadle_##x##_invalidate, U(kind), 's', 0, treadle_##x##_invalidate(V))                     \
    X(treadle_##x##_close, U(kind), 's', 0, treadle_##x##_close(V, 0))

#define CALLS(X)                                                                                                   \
    X(treadle_version, 0, '-', 0, treadle_version())                                                               \
    X(treadle_version_string, 0, '-', 0, treadle_version_string() != NULL)                                         \
    X(treadle_last_error, 0, '-', 0, treadle_last_error(&TREADLE_INIT(treadle_error_info)))                        \
    X(treadle_status_name, 0, '-', 0, treadle_status_name(0) != NULL)                                              \
    X(treadle_status_message, 0, '-', 0, treadle_status_message(0) != NULL)                                        \
    X(treadle_after_fork_child, 0, '-', 0, treadle_after_fork_child())                                             \
    X(treadle_time_now, 0, '-', 0, treadle_time_now())                                                             \
    X(treadle_time_from_seconds, 0, '-', 0, treadle_time_from_seconds(1, &h->out.i64))                             \
    X(treadle_time_from_absolute, 0, '-', 0, treadle_time_from_absolute(1, &h->out.i64))                           \
    X(treadle_time_to_absolute, 0, '-', 0, treadle_time_to_absolute(1) != 0)                                       \
    X(treadle_loop_current, 0, 'p', 0, treadle_loop_current() != NULL)                                             \
    X(treadle_loop_main, 0, 'p', 0, treadle_loop_main() != NULL)                                                   \
    X(treadle_loop_copy_of_thread, 0, 's', 8, make_l(h))                                                           \
    X(treadle_source_create, 0, 's', 8, make_s(h))                                                                 \
    X(treadle_descriptor_create, 0, 's', 8, make_d(h))                                                             \
    X(treadle_timer_create, 0, 's', 8, make_t(h))                                                                  \
    X(treadle_timer_create_absolute, 0, 's', 8, make_a(h))                                                         \
    X(treadle_observer_create, 0, 's', 8, make_o(h))                                                               \
    X(treadle_signature_parse, 0, 's', 8, make_g(h))                                                               \
    X(treadle_routine_create, 0, 's', 8, make_r(h))                                                                \
    X(treadle_host_register, 0, 's', 8, make_h(h))                                                                 \
    X(treadle_loop_retain, U(LOOP), 's', 0, treadle_loop_retain(L))                                                \
    X(treadle_loop_release, U(LOOP), 's', 0, treadle_loop_release(L))                                              \
    X(treadle_loop_wake, U(LOOP), 's', 0, treadle_loop_wake(L))                                                    \
    X(treadle_loop_set_interrupt_descriptor, U(LOOP), 's', 0, treadle_loop_set_interrupt_descriptor(L, -1))        \
    X(treadle_loop_is_waiting, U(LOOP), 'b', 0, treadle_loop_is_waiting(L))                                        \
    X(treadle_loop_is_current, U(LOOP), 'b', 0, treadle_loop_is_current(L))                                        \
    X(treadle_loop_get_thread_id, U(LOOP), 's', 4, treadle_loop_get_thread_id(L, &h->out.i32))                     \
    X(treadle_loop_copy_current_mode, U(LOOP), 's', 8, treadle_loop_copy_current_mode(L, TEXT))                    \
    X(treadle_loop_copy_modes, U(LOOP), 's', 8, treadle_loop_copy_modes(L, TEXT))                                  \
    X(treadle_loop_add_common_mode, U(LOOP), 's', 0, treadle_loop_add_common_mode(L, h->mode))                     \
    X(treadle_loop_is_common_mode, U(LOOP), 'b', 0, treadle_loop_is_common_mode(L, h->mode))                       \
    X(treadle_loop_describe, U(LOOP), 's', 8, treadle_loop_describe(L, TEXT))                                      \
    X(treadle_loop_perform_block, U(LOOP), 's', 0, call_block(L))                                                  \
    X(treadle_loop_post, U(LOOP), 's', 0, treadle_loop_post(L, call_nothing, h))                                   \
    ITEM_CALLS(X, source, SOURCE, S)                                                                               \
    ITEM_CALLS(X, descriptor, DESCRIPTOR, D)                                                                       \
    ITEM_CALLS(X, timer, TIMER, T)                                                                                 \
    ITEM_CALLS(X, observer, OBSERVER, O)                                                                           \
    X(treadle_source_signal, U(SOURCE), 's', 0, treadle_source_signal(S))                                          \
    X(treadle_source_signal_and_wake, U(SOURCE), 's', 0, treadle_source_signal_and_wake(S))                        \
    X(treadle_source_is_signalled, U(SOURCE), 'b', 0, treadle_source_is_signalled(S))                              \
    X(treadle_source_get_order, U(SOURCE), 's', 8, treadle_source_get_order(S, &h->out.i64))                       \
    X(treadle_descriptor_set_events, U(DESCRIPTOR), 's', 0, treadle_descriptor_set_events(D, TREADLE_READABLE))    \
    X(treadle_descriptor_get_events, U(DESCRIPTOR), 's', 4, treadle_descriptor_get_events(D, &h->out.u32))         \
    X(treadle_descriptor_get_fd, U(DESCRIPTOR), 's', 4, treadle_descriptor_get_fd(D, &h->out.i32))                 \
    X(treadle_timer_set_next_fire, U(TIMER), 's', 0, treadle_timer_set_next_fire(T, 1))                            \
    X(treadle_timer_get_next_fire, U(TIMER), 's', 8, treadle_timer_get_next_fire(T, &h->out.i64))                  \
    X(treadle_timer_get_interval, U(TIMER), 's', 8, treadle_timer_get_interval(T, &h->out.i64))                    \
    X(treadle_timer_repeats, U(TIMER), 'b', 0, treadle_timer_repeats(T))                                           \
    X(treadle_timer_set_tolerance, U(TIMER), 's', 0, treadle_timer_set_tolerance(T, 1))                            \
    X(treadle_timer_get_tolerance, U(TIMER), 's', 8, treadle_timer_get_tolerance(T, &h->out.i64))                  \
    X(treadle_timer_get_order, U(TIMER), 's', 8, treadle_timer_get_order(T, &h->out.i64))                          \
    X(treadle_loop_get_next_fire, U(LOOP), 's', 8, treadle_loop_get_next_fire(L, h->mode, &h->out.i64))            \
    X(treadle_observer_get_activities, U(OBSERVER), 's', 4, treadle_observer_get_activities(O, &h->out.u32))       \
    X(treadle_observer_repeats, U(OBSERVER), 'b', 0, treadle_observer_repeats(O))                                  \
    X(treadle_observer_get_order, U(OBSERVER), 's', 8, treadle_observer_get_order(O, &h->out.i64))                 \
    X(treadle_signature_get_argument_count, U(SIGNATURE), 's', 8, treadle_signature_get_argument_count(G, &h->out.size)) \
    X(treadle_signature_get_layout, U(SIGNATURE), 's', 8,                                                          \
      treadle_signature_get_layout(G, 0, &h->out.size, &(size_t){0}))                                              \
    X(treadle_signature_describe, U(SIGNATURE), 's', 8, treadle_signature_describe(G, TEXT))                       \
    X(treadle_routine_retain, U(ROUTINE), 's', 0, treadle_routine_retain(R))                                       \
    X(treadle_routine_call, U(ROUTINE), 's', 0, treadle_routine_call(R, NULL, NULL, 0))                            \
    X(treadle_routine_release, U(ROUTINE), 's', 0, treadle_routine_release(R))                                     \
    X(treadle_host_create_source, U(HOST), 's', 8, make_hs(h))                                                     \
    X(treadle_host_create_descriptor, U(HOST), 's', 8, make_hd(h))                                                 \
    X(treadle_host_create_timer, U(HOST), 's', 8, make_ht(h))                                                      \
    X(treadle_host_create_observer, U(HOST), 's', 8, make_ho(h))                                                   \
    X(treadle_host_perform_block, U(HOST) | U(LOOP), 's', 0, treadle_host_perform_block(H, 1, L, NULL, 0))         \
    X(treadle_host_get_dropped, U(HOST), 's', 8, treadle_host_get_dropped(H, &h->out.u64))                         \
    X(treadle_host_take_retired, U(HOST), 's', 8, treadle_host_take_retired(H, &(uint64_t){0}, 1, &h->out.size))   \
    X(treadle_host_get_retired_count, U(HOST), 'p', 0, treadle_host_get_retired_count(H) != NULL)                  \
    X(treadle_loop_run, U(LOOP), 's', 0, treadle_loop_run(L, h->mode, 0, 0))                                       \
    X(treadle_loop_run_default, U(LOOP), 's', 0, call_run_default(L))                                              \
    X(treadle_loop_stop, U(LOOP), 's', 0, treadle_loop_stop(L))                                                    \
    X(treadle_loop_request_stop, U(LOOP), 's', 0, treadle_loop_request_stop(L, 0))                                 \
    ITEM_ENDS(X, source, SOURCE, S)                                                                                \
    ITEM_ENDS(X, descriptor, DESCRIPTOR, D)                                                                        \
    ITEM_ENDS(X, timer, TIMER, T)                                                                                  \
    ITEM_ENDS(X, observer, OBSERVER, O)                                                                            \
    X(treadle_host_quiesce, U(HOST), 's', 0, treadle_host_quiesce(H, 0))

#define DEFINE_CALL(function, uses, result, stores, expression)  \
    static int64_t call_##function(struct handles *h) {          \
        (void)h;                                                 \
        return (int64_t)(expression);                            \
    }
CALLS(DEFINE_CALL)
#define LIST_CALL(function, uses, result, stores, expression) {#function, uses, result, stores, call_##function},
static const struct call calls[] = {CALLS(LIST_CALL)};
enum { CALL_COUNT = sizeof calls / sizeof calls[0] };

#undef L
#undef S
#undef D
#undef T
#undef O
#undef G
#undef R
#undef H
#undef TEXT

/* One good handle of each kind but host; of[LOOP] is the loop given. */
HELPER void handles_make(struct handles *h, treadle_loop loop, const char *mode) {
    treadle_argument argument = {.kind = TREADLE_ARGUMENT_LOOP};
    treadle_routine_config config = {.struct_size = sizeof config, .code = (void (*)(void))call_nothing, .signature = "v^v",
                                     .arguments = &argument, .argument_count = 1};
    h->mode = mode;
    h->of[LOOP] = loop;
    CHECK((h->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) >= 0);
    h->of[SOURCE] = make_source(NULL, NULL);
    h->of[DESCRIPTOR] = make_descriptor(NULL, NULL, h->fd, TREADLE_READABLE);
    h->of[TIMER] = make_timer(NULL, NULL, FAR_AWAY, SECONDS(1));
    h->of[OBSERVER] = make_observer(NULL, NULL, TREADLE_ALL_ACTIVITIES);
    CHECK_INT(treadle_signature_parse("v^v", (treadle_signature *)&h->of[SIGNATURE]), TREADLE_OK);
    CHECK_INT(treadle_routine_create(&config, (treadle_routine *)&h->of[ROUTINE]), TREADLE_OK);
}
HELPER void handles_end(struct handles *h) {
    treadle_source_invalidate(h->of[SOURCE]);
    treadle_descriptor_invalidate(h->of[DESCRIPTOR]);
    treadle_timer_invalidate(h->of[TIMER]);
    treadle_observer_invalidate(h->of[OBSERVER]);
    CHECK_INT(treadle_source_release(h->of[SOURCE]), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(h->of[DESCRIPTOR]), TREADLE_OK);
    CHECK_INT(treadle_timer_release(h->of[TIMER]), TREADLE_OK);
    CHECK_INT(treadle_observer_release(h->of[OBSERVER]), TREADLE_OK);
    CHECK_INT(treadle_routine_release(h->of[ROUTINE]), TREADLE_OK);
    close(h->fd);
}

#endif
