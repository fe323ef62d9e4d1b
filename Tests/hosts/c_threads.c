/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * c_threads.c: the list of host tests, in C: threads, what ends while it is used, ports, scopes and closures. */
#define _GNU_SOURCE
#include <semaphore.h>
#include <stdatomic.h>

#include "c.h"

#define MODE case_name
static treadle_request request_of(treadle_request_fn fn, void *target, uint32_t flags) {
    return (treadle_request){.struct_size = sizeof(treadle_request), .fn = fn, .target = target, .flags = flags};
}
static void stop_worker(treadle_thread worker) {
    OK(treadle_thread_stop_and_join(worker, TREADLE_FOREVER, NULL)), OK(treadle_release(worker));
}

/* --- Threads ----------------------------------------------------------------------------------------------------- */

static int calls;
static void nothing(void *target, void *argument) { (void)target, (void)argument; }
static void come_in_turn(void *target, void *argument) {
    REQUIRE(treadle_thread_current() == target && calls == (int)(intptr_t)argument);
    calls++;
}
static void thread_order(void) {
    treadle_thread worker = start_worker();
    treadle_request last = request_of(nothing, NULL, TREADLE_PERFORM_WAIT);
    for (int i = 0; i < 100; i++) {
        treadle_request request = request_of(come_in_turn, worker, 0);
        request.argument = (void *)(intptr_t)i;
        OK(treadle_perform(worker, &request));
    }
    OK(treadle_perform(worker, &last));
    REQUIRE(calls == 100);
    stop_worker(worker);
}

static void thread_closed(void) {
    treadle_thread worker = start_worker();
    treadle_request request = request_of(nothing, NULL, 0);
    OK(treadle_thread_stop_and_join(worker, TREADLE_FOREVER, NULL));
    REFUSED(treadle_perform(worker, &request), TREADLE_E_CLOSED, "thread");
    request.flags = TREADLE_PERFORM_WAIT;
    REFUSED(treadle_perform(worker, &request), TREADLE_E_CLOSED, "thread");
    OK(treadle_release(worker));
}

static sem_t inside, go_on;
static atomic_int posts;
static void post_and_stay(void *info) { (void)info, atomic_fetch_add(&posts, 1), sem_post(&inside), sem_wait(&go_on); }
static void count_post(void *info) { (void)info, atomic_fetch_add(&posts, 1); }
static void thread_at_once(void) {
    treadle_thread worker = start_worker();
    treadle_loop of_worker;
    sem_init(&inside, 0, 0), sem_init(&go_on, 0, 0);
    OK(treadle_thread_copy_loop(worker, &of_worker));
    OK(treadle_loop_post(of_worker, post_and_stay, NULL));
    for (int i = 0; i < 3; i++) OK(treadle_loop_post(of_worker, count_post, NULL));
    sem_wait(&inside);
    OK(treadle_thread_request_stop(worker, TREADLE_STOP_AT_ONCE));
    sem_post(&go_on);
    OK(treadle_thread_join(worker, TREADLE_FOREVER, NULL));
    REQUIRE(atomic_load(&posts) == 1);
    REQUIRE(treadle_loop_post(of_worker, count_post, NULL) < 0 && treadle_loop_wake(of_worker) == TREADLE_OK);
    OK(treadle_release(of_worker)), OK(treadle_release(worker));
}

static void wait_back(void *target, void *argument) {
    treadle_request request = request_of(nothing, NULL, TREADLE_PERFORM_WAIT);
    (void)argument;
    REFUSED(treadle_perform((treadle_thread)target, &request), TREADLE_E_DEADLOCK, "thread");
    note("refused");
}
static void deadlock(void) {
    treadle_thread worker = start_worker();
    treadle_request request = request_of(wait_back, treadle_thread_current(), TREADLE_PERFORM_WAIT);
    OK(treadle_perform(worker, &request));
    REQUIRE(strcmp(seen, "refused") == 0);
    stop_worker(worker);
}

static void thread_of_loop(void) {
    treadle_thread worker = start_worker(), thread;
    treadle_loop of_worker;
    OK(treadle_thread_copy_loop(worker, &of_worker));
    OK(treadle_loop_copy_thread(of_worker, &thread));
    REQUIRE(thread == worker);
    OK(treadle_release(thread));
    OK(treadle_loop_copy_thread(loop, &thread));
    REQUIRE(thread == treadle_thread_current());
    OK(treadle_release(thread));
    OK(treadle_thread_stop_and_join(worker, TREADLE_FOREVER, NULL));
    REFUSED(treadle_loop_copy_thread(of_worker, &thread), TREADLE_E_NOT_FOUND, "finished");
    OK(treadle_release(of_worker)), OK(treadle_release(worker));
}

static void count_end(void *info) { (*(int *)info)++; }
static void keep_value(void *target, void *argument) {
    (void)argument;
    OK(treadle_thread_set_value(treadle_thread_current(), "key", target, count_end));
}
static void values(void) {
    int ended = 0;
    void *value = NULL;
    treadle_thread worker = start_worker();
    treadle_request request = request_of(keep_value, &ended, TREADLE_PERFORM_WAIT);
    OK(treadle_perform(worker, &request));
    OK(treadle_thread_get_value(worker, "key", &value));
    REQUIRE(value == &ended && ended == 0);
    OK(treadle_thread_stop_and_join(worker, TREADLE_FOREVER, NULL));
    REQUIRE(ended == 1 && treadle_thread_set_value(worker, "key", &ended, NULL) == TREADLE_E_STATE);
    OK(treadle_release(worker));
}

/* --- What ends --------------------------------------------------------------------------------------------------- */

static void close_own(treadle_source source, void *info) {
    (void)info;
    REQUIRE(treadle_close(source, TREADLE_FOREVER) == TREADLE_E_DEADLOCK);
    sem_post(&inside), sem_wait(&go_on);
}
static void closes(void) {
    treadle_thread worker = start_worker();
    treadle_source_context context = {.struct_size = sizeof context, .perform = close_own};
    treadle_source source;
    treadle_loop of_worker;
    sem_init(&inside, 0, 0), sem_init(&go_on, 0, 0);
    OK(treadle_thread_copy_loop(worker, &of_worker)), OK(treadle_source_create(&context, &source));
    OK(treadle_loop_add(of_worker, source, TREADLE_DEFAULT_MODE)), OK(treadle_source_signal_and_wake(source));
    sem_wait(&inside);
    REQUIRE(treadle_close(source, 1) == TREADLE_E_TIMEOUT && !treadle_is_valid(source));
    sem_post(&go_on);
    REQUIRE(treadle_close(source, TREADLE_FOREVER) == TREADLE_OK);
    OK(treadle_release(source)), OK(treadle_release(of_worker));
    stop_worker(worker);
}

/* --- Ports ------------------------------------------------------------------------------------------------------- */

static treadle_port port_in(const char *mode, treadle_message_fn receive, uint32_t capacity) {
    treadle_port_context context = {.struct_size = sizeof context, .receive = receive, .capacity = capacity};
    treadle_port port;
    OK(treadle_port_create(&context, &port));
    if (mode) OK(treadle_loop_add(loop, port, mode));
    return port;
}
static void note_parts(treadle_port port, treadle_message message, void *info) {
    treadle_message_info about = {.struct_size = sizeof about};
    treadle_component part;
    (void)port, (void)info;
    OK(treadle_message_get_info(message, &about));
    note(about.id == 1 ? "1" : "2");
    for (uint32_t i = 0; i < about.component_count; i++) {
        OK(treadle_message_get_component(message, i, &part));
        strncat(seen, part.kind == TREADLE_COMPONENT_PORT ? "port" : part.bytes, part.kind == TREADLE_COMPONENT_PORT ? 4 : part.length);
    }
    if (about.reply_port) OK(treadle_port_send_bytes(about.reply_port, 2, "yes", 3, TREADLE_FOREVER));
}
static void message(void) {
    treadle_port port = port_in(MODE, note_parts, 0);
    treadle_component parts[] = {{.kind = TREADLE_COMPONENT_BYTES, .bytes = "ab", .length = 2, .descriptor = -1},
                                 {.kind = TREADLE_COMPONENT_PORT, .port = port, .descriptor = -1}};
    treadle_message_content content = {.struct_size = sizeof content, .id = 1, .components = parts, .component_count = 2};
    OK(treadle_port_send(port, &content, TREADLE_FOREVER)), OK(treadle_port_send_bytes(port, 2, "c", 1, TREADLE_FOREVER));
    OK(run(MODE, 0, 0));
    REQUIRE(strcmp(seen, "1abport") == 0);
    OK(run(MODE, 0, 0));
    REQUIRE(strcmp(seen, "1abport2c") == 0);
    end(port);
}

static void reply(void) {
    treadle_port port = port_in(MODE, note_parts, 0), answers = port_in(MODE, note_parts, 0);
    treadle_message_content content = {.struct_size = sizeof content, .id = 1, .reply_port = answers};
    OK(treadle_port_send(port, &content, TREADLE_FOREVER));
    for (int i = 0; i < 2; i++) OK(run(MODE, 0, 0));
    REQUIRE(strcmp(seen, "12yes") == 0);
    end(port), end(answers);
}

static void port_full(void) {
    treadle_port port = port_in(MODE, note_parts, 1);
    OK(treadle_port_send_bytes(port, 1, "a", 1, 0));
    REQUIRE(treadle_port_send_bytes(port, 1, "b", 1, 0) == TREADLE_E_TIMEOUT);
    OK(run(MODE, 0, 0));
    REQUIRE(strcmp(seen, "1a") == 0);
    OK(treadle_port_send_bytes(port, 2, "c", 1, 0));
    end(port);
}

static void port_ended(void) {
    treadle_port port = port_in(MODE, note_parts, 0);
    OK(treadle_port_send_bytes(port, 1, "a", 1, 0));
    OK(treadle_invalidate(port));
    REFUSED(treadle_port_send_bytes(port, 1, "b", 1, 0), TREADLE_E_CLOSED, "port");
    REQUIRE(run(MODE, 0, 0) == TREADLE_RUN_FINISHED && !seen[0]);
    OK(treadle_release(port));
}

/* --- Scopes and closures ------------------------------------------------------------------------------------------ */

static void post_note(void *info) { note(info); }
static treadle_scope entered(void) {
    treadle_scope_config config = {.struct_size = sizeof config};
    treadle_scope scope;
    OK(treadle_scope_create(&config, &scope)), OK(treadle_scope_enter(scope));
    return scope;
}
static void scopes(void) {
    treadle_scope scope = entered();
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform_note, .info = "s"};
    treadle_post post = {.struct_size = sizeof post, .modes = &MODE, .mode_count = 1, .fn = post_note, .info = "p"};
    treadle_source source;
    OK(treadle_source_create(&context, &source)), OK(treadle_loop_add(loop, source, MODE));
    OK(treadle_source_signal(source)), OK(treadle_loop_post_in(loop, &post));
    OK(treadle_scope_leave(scope));
    REQUIRE(treadle_is_valid(source) && treadle_close(scope, TREADLE_FOREVER) == TREADLE_OK && !treadle_is_valid(source));
    for (int i = 0; i < 2; i++) OK(run(MODE, 0, TREADLE_RUN_WHEN_EMPTY));
    REQUIRE(!seen[0]);
    OK(treadle_release(scope));
}

static void scope_closed(void) {
    treadle_scope scope = entered();
    treadle_source_context context = {.struct_size = sizeof context};
    treadle_source source;
    REQUIRE(treadle_close(scope, TREADLE_FOREVER) == TREADLE_OK);
    REFUSED(treadle_source_create(&context, &source), TREADLE_E_CLOSED, "scope");
    REFUSED(treadle_loop_post(loop, post_note, "p"), TREADLE_E_CLOSED, "scope");
    OK(treadle_scope_leave(scope));
    REFUSED(treadle_scope_enter(scope), TREADLE_E_CLOSED, "scope");
    OK(treadle_release(scope));
}

static treadle_status compare(treadle_call *call, void *info) {
    const int *one, *two;
    OK(treadle_call_get_argument(call, 0, &one, sizeof one)), OK(treadle_call_get_argument(call, 1, &two, sizeof two));
    (*(int *)info)++;
    return treadle_call_set_result(call, &(int){(*one > *two) - (*one < *two)}, sizeof(int));
}
static void closure(void) {
    int numbers[] = {3, 1, 2}, compared = 0;
    treadle_closure_config config = {.struct_size = sizeof config, .signature = "i^v^v", .handler = compare, .info = &compared};
    treadle_closure made;
    void (*code)(void);
    OK(treadle_closure_create(&config, &made)), OK(treadle_closure_get_code(made, &code));
    qsort(numbers, 3, sizeof *numbers, (int (*)(const void *, const void *))code);
    REQUIRE(numbers[0] == 1 && numbers[1] == 2 && numbers[2] == 3 && compared > 0);
    REQUIRE(treadle_close(made, TREADLE_FOREVER) == TREADLE_OK && !treadle_is_valid(made));
    OK(treadle_release(made));
}

const struct host_case thread_cases[] = {
    {"thread-order", thread_order, NULL}, {"thread-closed", thread_closed, NULL}, {"thread-at-once", thread_at_once, NULL},
    {"deadlock", deadlock, NULL}, {"thread-of-loop", thread_of_loop, NULL}, {"values", values, NULL}, {"close", closes, NULL}, {"message", message, NULL}, {"reply", reply, NULL},
    {"port-full", port_full, NULL}, {"port-ended", port_ended, NULL}, {"scope", scopes, NULL}, {"scope-closed", scope_closed, NULL},
    {"closure", closure, NULL}, {NULL, NULL, NULL}};
