/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * waits.h: the ways in which a thread waits for another one, and what others have to wait for. */
#ifndef TREADLE_TEST_WAITS_H
#define TREADLE_TEST_WAITS_H

#include "invocations.h"
#include "closures.h"

/* A thread that others wait for: `full` has room for one call, and `port` for one message, which it has. */
struct target {
    treadle_thread thread;
    treadle_loop loop;
    treadle_closure carried, running, full;
    treadle_port port;
};
struct way {
    const char *name;
    treadle_status (*wait)(const struct way *, struct target *);
    bool is_called;   /* the target calls `called` meanwhile */
    bool is_admitted; /* the target does its part in a wait of its own that runs its loop in the call mode */
    bool runs;        /* the caller runs its loop so */
    bool joins;       /* for the end of the target's thread */
    int64_t timeout;
};
static void (*called)(void);
static const char *const any_mode[] = {TREADLE_DEFAULT_MODE, TREADLE_CALL_MODE};

static void be_performed(void *target, void *argument) { (void)target, (void)argument, called(); }
static int32_t be_invoked(void) { return called(), 0; }
static treadle_status be_handled(treadle_call *call, void *info) {
    const int32_t handled = 1;
    (void)info, called();
    return treadle_call_set_result(call, &handled, sizeof handled);
}
static treadle_status do_nothing(treadle_call *call, void *info) { return (void)call, (void)info, TREADLE_OK; }

static atomic_int requests_made;
static treadle_status perform_there(const struct way *way, struct target *target) {
    treadle_request request = {.struct_size = sizeof request, .fn = be_performed, .release_target = count_release};
    atomic_fetch_add(&requests_made, 1);
    return perform_on(target->thread, &request, way->is_admitted ? any_mode : NULL, way->is_admitted ? 2 : 0, TREADLE_PERFORM_WAIT);
}
static treadle_status invoke_there(const struct way *way, struct target *target) {
    treadle_invocation invocation = INVOCATION(be_invoked, "i");
    treadle_status status = treadle_invocation_perform(
        invocation, OPTIONS(.loop = target->loop, .modes = way->is_admitted ? NULL : any_mode, .mode_count = !way->is_admitted,
                            .wait = way->runs ? TREADLE_WAIT_RUNNING : TREADLE_WAIT_BLOCK, .timeout_ns = way->timeout));
    CHECK_INT(invocation_state(invocation), status == TREADLE_OK ? TREADLE_INVOCATION_DONE : TREADLE_INVOCATION_IDLE);
    invocation_end(invocation);
    return status;
}
static treadle_status call_closure(const struct way *way, struct target *target) {
    treadle_error_info error = {.struct_size = sizeof error};
    treadle_closure closure = way->runs ? target->running : target->carried;
    uint64_t before = info_of(closure).dropped;
    if (CODE_OF(int32_t (*)(void), closure)() == 1) return TREADLE_OK;
    treadle_last_error(&error);
    CHECK_INT(info_of(closure).dropped, before + 1);
    return error.code;
}
static treadle_status wait_for_room(const struct way *way, struct target *target) { /* the first call takes what room there is */
    treadle_error_info error = {.struct_size = sizeof error};
    uint64_t before = info_of(target->full).dropped;
    (void)way;
    for (int i = 0; i < 2; i++) code_of(target->full)();
    if (info_of(target->full).dropped == before) return TREADLE_OK;
    treadle_last_error(&error);
    return error.code;
}
static treadle_status send_there(const struct way *way, struct target *target) {
    return (void)way, treadle_port_send_bytes(target->port, 1, NULL, 0, TREADLE_FOREVER);
}
/* A request that is left behind by a refused wait is performed later, so its word is nobody else's. */
static uint32_t words[1 << 14];
static atomic_size_t words_used;
static void end_word(void *word, void *argument) {
    (void)argument;
    CHECK_INT(treadle_host_end_wait(word), TREADLE_OK);
}
static treadle_status wait_for_word(const struct way *way, struct target *target) {
    size_t next = atomic_fetch_add(&words_used, 1);
    CHECK(next < COUNT(words));
    treadle_request request = {.struct_size = sizeof request, .fn = end_word, .target = &words[next]};
    CHECK_INT(perform_on(target->thread, &request, any_mode, 2, 0), TREADLE_OK);
    return treadle_host_wait(target->loop, &words[next], way->timeout);
}
static treadle_status join_it(const struct way *way, struct target *target) {
    void *result = &result;
    treadle_status status = treadle_thread_join(target->thread, way->timeout, &result);
    CHECK(result == (status == TREADLE_OK ? target : NULL));
    return status;
}
static treadle_status stop_it(const struct way *way, struct target *target) { return treadle_thread_stop_and_join(target->thread, way->timeout, NULL); }
static treadle_status start_it(const struct way *way, struct target *target) { return treadle_thread_start_and_wait(target->thread, way->timeout); }

#define LONG SECONDS(1000000) /* until its time has passed, a wait is one like any other */
static const struct way ways[] = {
    {"request", perform_there, .is_called = true},
    {"request in any mode", perform_there, .is_called = true, .is_admitted = true},
    {"invocation", invoke_there, .is_called = true, .is_admitted = true},
    {"invocation in one mode", invoke_there, .is_called = true},
    {"invocation that runs", invoke_there, .is_called = true, .is_admitted = true, .runs = true},
    {"invocation in one mode that runs", invoke_there, .is_called = true, .runs = true},
    {"invocation in time", invoke_there, .is_called = true, .is_admitted = true, .timeout = LONG},
    {"invocation in time that runs", invoke_there, .is_called = true, .is_admitted = true, .runs = true, .timeout = LONG},
    {"closure", call_closure, .is_called = true, .is_admitted = true},
    {"closure that runs", call_closure, .is_called = true, .is_admitted = true, .runs = true},
    {"room in a closure", wait_for_room, .is_admitted = true},
    {"room in a port", send_there, .is_called = false},
    {"word", wait_for_word, .is_admitted = true, .timeout = TREADLE_FOREVER},
    {"word in time", wait_for_word, .is_admitted = true, .timeout = LONG},
    {"join", join_it, .joins = true, .timeout = TREADLE_FOREVER},
    {"join in time", join_it, .joins = true, .timeout = LONG},
};
static const struct way start = {"start", start_it, .timeout = TREADLE_FOREVER}, stop = {"stop", stop_it, .joins = true, .timeout = TREADLE_FOREVER};
enum { WAYS = COUNT(ways) };

static void target_make(struct target *target, const char *mode) { /* by its own thread */
    treadle_port_context context = {.struct_size = sizeof context, .capacity = 1};
    target->carried = MADE(.signature = "i", .handler = be_handled, .delivery = TREADLE_DELIVERY_SYNC, .loop = target->loop);
    target->running = MADE(.signature = "i", .handler = be_handled, .delivery = TREADLE_DELIVERY_RUNNING, .loop = target->loop);
    target->full = MADE(.signature = "v", .handler = do_nothing, .delivery = TREADLE_DELIVERY_ASYNC, .loop = target->loop, .queue_limit = 1);
    CHECK_INT(treadle_port_create(&context, &target->port), TREADLE_OK);
    CHECK_INT(treadle_loop_add_port(target->loop, target->port, mode), TREADLE_OK);
    CHECK_INT(treadle_port_send_bytes(target->port, 0, NULL, 0, 0), TREADLE_OK);
}
static void target_end(struct target *target) {
    treadle_closure closures[] = {target->carried, target->running, target->full};
    for (size_t i = 0; i < COUNT(closures); i++) CHECK_INT(discard(closures[i]), TREADLE_OK);
    CHECK_INT(discard(target->port), TREADLE_OK);
}
#endif
