/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * port_wait_test.c: threads that wait for room in a port: when they get it, when they are refused, and who may not wait; and what many of them
 * have sent comes once, whoever receives. What ends or moves a port at the same moment the explorer plays (ports.c, ends.c). */
#include "ports.h"

#define MODE TREADLE_DEFAULT_MODE

/* A thread that sends into a port that is full. */
struct sender {
    pthread_t thread;
    treadle_port port;
    uint32_t id;
    int64_t timeout;
    treadle_component carried; /* a port; none where it is NULL */
    atomic_int tid, done;
    treadle_status status;
};
static void *send_waiting(void *info) {
    struct sender *sender = info;
    atomic_store(&sender->tid, thread_id());
    treadle_component components[] = {{.kind = TREADLE_COMPONENT_BYTES, .bytes = "text", .length = 4}, sender->carried,
                                      {.kind = TREADLE_COMPONENT_DESCRIPTOR, .descriptor = 2}};
    treadle_message_content content = {.struct_size = sizeof content, .id = sender->id, .components = components,
                                       .component_count = sender->carried.port ? 3 : 1, .reply_port = sender->carried.port};
    sender->status = treadle_port_send(sender->port, &content, sender->timeout);
    atomic_store(&sender->done, 1);
    return NULL;
}
static void start_carrying(struct sender *sender, treadle_port port, uint32_t id, int64_t timeout, treadle_port carried) {
    *sender = (struct sender){.port = port, .id = id, .timeout = timeout, .carried = {.kind = TREADLE_COMPONENT_PORT, .port = carried}};
    CHECK_INT(pthread_create(&sender->thread, NULL, send_waiting, sender), 0);
}
static void start_sending(struct sender *sender, treadle_port port, uint32_t id, int64_t timeout) {
    start_carrying(sender, port, id, timeout, NULL);
}
static void await_waiting(struct sender *sender) {
    while (!atomic_load(&sender->tid) || !is_in_kernel_wait(atomic_load(&sender->tid))) sched_yield();
    CHECK(!atomic_load(&sender->done));
}
static treadle_status end_sending(struct sender *sender) {
    CHECK_INT(pthread_join(sender->thread, NULL), 0);
    return sender->status;
}

TEST(threads_that_wait_for_room_get_it_in_their_order, "MPORT-2 PORT-6") {
    struct sender sender[5];
    treadle_port port = make_port_of(trace_message, "", 2);
    CHECK_INT(send_id(port, 100), TREADLE_OK);
    CHECK_INT(send_id(port, 101), TREADLE_OK);
    for (uint32_t i = 0; i < 5; i++) {
        start_sending(&sender[i], port, i, TREADLE_FOREVER);
        await_waiting(&sender[i]);
    }
    add_port(port, MODE);
    for (int i = 0; i < 5; i++) {
        CHECK_INT(queued_in(port), 2);
        CHECK_INT(send_id(port, 7), TREADLE_E_TIMEOUT); /* who only tries is not served before them */
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(end_sending(&sender[i]), TREADLE_OK);
    }
    while (queued_in(port)) poll_mode(MODE);
    CHECK_TRACE("100 101 0 1 2 3 4");
    end_port(port);
}

TEST(a_thread_that_waits_in_vain_sends_nothing, "MPORT-2") {
    struct sender sender[3];
    treadle_port port = make_port_of(trace_message, "", 1), carried = make_port_of(NULL, NULL, 0);
    treadle_component component = {.kind = TREADLE_COMPONENT_PORT, .port = carried};
    treadle_message_content content = {.struct_size = sizeof content, .components = &component, .component_count = 1};
    CHECK_INT(send_id(port, 1), TREADLE_OK);
    for (uint32_t i = 0; i < 3; i++) {
        start_sending(&sender[i], port, i, i == 1 ? MILLISECONDS(20) : TREADLE_FOREVER);
        if (i != 1) await_waiting(&sender[i]);
        else CHECK_INT(end_sending(&sender[1]), TREADLE_E_TIMEOUT);
    }
    int64_t before = treadle_time_now();
    CHECK_INT(treadle_port_send(port, &content, MILLISECONDS(5)), TREADLE_E_TIMEOUT);
    CHECK(treadle_time_now() - before >= MILLISECONDS(5));
    CHECK_INT(treadle_port_release(carried), TREADLE_OK);
    CHECK_INT(treadle_port_retain(carried), TREADLE_E_STALE);
    add_port(port, MODE);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        if (i < 2) CHECK_INT(end_sending(&sender[2 * i]), TREADLE_OK);
    }
    CHECK_TRACE("1 0 2");
    end_port(port);
}

static void nothing(int signal) { (void)signal; }
TEST(a_signal_does_not_end_a_wait_for_room, "MPORT-2 RUN-14") {
    struct sender sender;
    treadle_port port = make_port_of(trace_message, "", 1);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = nothing}, NULL);
    CHECK_INT(send_id(port, 1), TREADLE_OK);
    start_sending(&sender, port, 2, TREADLE_FOREVER);
    for (int i = 0; i < 10; i++) {
        await_waiting(&sender);
        pthread_kill(sender.thread, SIGUSR1);
    }
    add_port(port, MODE);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(end_sending(&sender), TREADLE_OK);
    end_port(port);
}

TEST(the_end_of_a_port_refuses_those_that_wait, "PORT-2 MPORT-2 SCOPE-1") {
    for (int way = 0, before = 0; way < 4; way++) {
        struct sender sender[3];
        treadle_scope scope = NULL;
        treadle_port port = NULL, carried = make_port_of(NULL, NULL, 0);
        CHECK_INT(treadle_scope_create(&TREADLE_INIT(treadle_scope_config), &scope), TREADLE_OK);
        treadle_port_context context = {.struct_size = sizeof context, .capacity = 1, .scope = scope};
        CHECK_INT(treadle_port_create(&context, &port), TREADLE_OK);
        CHECK_INT(send_id(port, 1), TREADLE_OK);
        if (way == 0) before = count_descriptors();
        for (uint32_t i = 0; i < 3; i++) start_carrying(&sender[i], port, i, i ? TREADLE_FOREVER : SECONDS(1000), carried), await_waiting(&sender[i]);
        CHECK_INT(treadle_port_release(carried), TREADLE_OK);
        switch (way) {
        case 0: CHECK_INT(treadle_port_invalidate(port), TREADLE_OK); break;
        case 1: CHECK_INT(treadle_port_close(port, TREADLE_FOREVER), TREADLE_OK); break;
        case 2: CHECK_INT(treadle_port_release(port), TREADLE_OK); break;
        default: CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
        }
        for (int i = 0; i < 3; i++) CHECK_INT(end_sending(&sender[i]), TREADLE_E_CLOSED);
        CHECK_INT(treadle_port_retain(carried), TREADLE_E_STALE);
        CHECK_INT(count_descriptors(), before);
        if (way < 2) {
            CHECK_ERROR(treadle_port_send_bytes(port, 1, NULL, 0, TREADLE_FOREVER), TREADLE_E_CLOSED, "port");
            CHECK_INT(queued_in(port), 0);
            CHECK_INT(treadle_port_release(port), TREADLE_OK);
        }
        CHECK_INT(treadle_scope_release(scope), TREADLE_OK);
    }
}

TEST(a_shutdown_refuses_those_that_wait, "THR-21 PORT-2") {
    struct sender sender[3];
    treadle_port port = make_port_of(NULL, NULL, 1);
    struct worker worker;
    worker_start(&worker);
    CHECK_INT(send_id(port, 1), TREADLE_OK);
    for (uint32_t i = 0; i < 3; i++) {
        start_sending(&sender[i], port, i, TREADLE_FOREVER);
        await_waiting(&sender[i]);
    }
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
    for (int i = 0; i < 3; i++) CHECK_INT(end_sending(&sender[i]), TREADLE_E_CLOSED);
    CHECK_INT(send_id(port, 1), TREADLE_E_CLOSED);
    CHECK_INT(pthread_join(worker.thread, NULL), 0);
}

TEST(a_loop_does_not_wait_for_itself, "MPORT-2 PERF-7") {
    treadle_port port = make_port_of(NULL, NULL, 1);
    CHECK_INT(send_id(port, 1), TREADLE_OK);
    add_port(port, MODE);
    CHECK_ERROR(treadle_port_send_bytes(port, 2, NULL, 0, TREADLE_FOREVER), TREADLE_E_DEADLOCK, "port");
    CHECK_ERROR(treadle_port_send_bytes(port, 2, NULL, 0, SECONDS(1000)), TREADLE_E_DEADLOCK, "port");
    CHECK_INT(send_id(port, 2), TREADLE_E_TIMEOUT);
    /* Two loops receive: the other one may. */
    struct worker worker;
    worker_start_in_mode(&worker, "other");
    CHECK_INT(treadle_loop_add_port(worker.loop, port, "other"), TREADLE_OK);
    for (int i = 0; i < 10; i++) CHECK_INT(treadle_port_send_bytes(port, 2, NULL, 0, TREADLE_FOREVER), TREADLE_OK);
    worker_stop(&worker);
    end_port(port);
}

/* Who waits is refused when the other loop lets the port go: from then on only his own receives. */
TEST(who_waits_looks_again_when_the_receivers_change, "MPORT-2 PERF-7") {
    for (int gone = 0; gone < 2; gone++) {
        struct sender sender;
        treadle_port port = make_port_of(trace_message, "", 1);
        CHECK_INT(send_id(port, 1), TREADLE_OK);
        start_sending(&sender, port, 2, TREADLE_FOREVER); /* in no loop: anybody may receive */
        await_waiting(&sender);
        add_port(port, "first");
        await_waiting(&sender);
        add_port(port, MODE);
        CHECK_INT(treadle_loop_remove_port(treadle_loop_current(), port, "first"), TREADLE_OK);
        await_waiting(&sender);
        if (gone) {
            CHECK_INT(treadle_loop_remove_port(treadle_loop_current(), port, MODE), TREADLE_OK);
            add_port(port, "second");
        }
        CHECK_INT(poll_mode(gone ? "second" : MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(end_sending(&sender), TREADLE_OK);
        end_port(port);
        trace_clear();
    }
}

/* A thread whose message has just been queued waits for nobody any more, though it may not run for long: who made the room may
 * wait for it. */
static atomic_int performed;
static void count_request(void *target, void *argument) { (void)target, (void)argument, atomic_fetch_add(&performed, 1); }
static void call_back(treadle_port port, treadle_message message, void *info) {
    treadle_request request = {.struct_size = sizeof request, .fn = count_request, .flags = TREADLE_PERFORM_WAIT};
    (void)port, (void)message;
    CHECK_INT(treadle_perform(((struct worker *)info)->loop, &request), TREADLE_OK);
}
static atomic_int is_sending;
static void send_one(void *info) {
    atomic_store(&is_sending, 1);
    CHECK_INT(treadle_port_send_bytes(info, 1, NULL, 0, TREADLE_FOREVER), TREADLE_OK);
    atomic_store(&is_sending, 0);
}
TEST(who_has_got_room_is_not_taken_for_waiting, "MPORT-2 PERF-7") {
    struct worker worker;
    treadle_port port = make_port_of(call_back, &worker, 1);
    worker_start(&worker);
    add_port(port, MODE);
    for (int i = 1; i <= scaled(300); i++) {
        CHECK_INT(send_id(port, 0), TREADLE_OK);
        CHECK_INT(treadle_loop_post(worker.loop, send_one, port), TREADLE_OK);
        while (!atomic_load(&is_sending) || !is_in_kernel_wait(worker.thread_id)) sched_yield();
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(atomic_load(&performed), 2 * i);
    }
    worker_stop(&worker);
    end_port(port);
}

/* --- Many threads -------------------------------------------------------------------------------------- */

enum { SENDERS = 8 };
/* id: the sender's number and what it counts. */
static atomic_uint next_of[SENDERS];
static atomic_int received;
static int wanted;
static void expect_in_order(treadle_port port, treadle_message message, void *info) {
    treadle_message_info got = info_of(message);
    (void)port, (void)info;
    CHECK_INT(got.length, 64);
    CHECK_INT(memcmp((const char *)got.bytes + 60, &got.id, 4), 0);
    CHECK_INT(got.id & 0xFFFFFF, atomic_fetch_add(&next_of[got.id >> 24], 1));
    if (atomic_fetch_add(&received, 1) + 1 == wanted) treadle_loop_stop(treadle_loop_current());
}
struct producer {
    pthread_t thread;
    treadle_port port;
    uint32_t number;
    int count;
};
static void *send_all(void *info) {
    struct producer *sender = info;
    char bytes[64] = {0};
    for (int i = 0; i < sender->count; i++) {
        uint32_t id = sender->number << 24 | (uint32_t)i;
        memcpy(bytes + 60, &id, 4);
        CHECK_INT(treadle_port_send_bytes(sender->port, id, bytes, sizeof bytes, TREADLE_FOREVER), TREADLE_OK);
    }
    return NULL;
}
TEST(eight_threads_send_and_every_message_comes_once_in_its_sender_s_order, "PORT-4 PORT-6 MPORT-2") {
    for (uint32_t capacity = 1; capacity <= 1024; capacity *= 32) {
        struct producer sender[SENDERS];
        treadle_port port = make_port_of(expect_in_order, NULL, capacity);
        int each = scaled(20000) / (capacity == 1 ? 10 : 1) + 1;
        atomic_store(&received, 0);
        wanted = each * SENDERS;
        add_port(port, MODE);
        for (uint32_t i = 0; i < SENDERS; i++) {
            atomic_store(&next_of[i], 0);
            sender[i] = (struct producer){.port = port, .number = i, .count = each};
            CHECK_INT(pthread_create(&sender[i].thread, NULL, send_all, &sender[i]), 0);
        }
        CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
        for (int i = 0; i < SENDERS; i++) CHECK_INT(pthread_join(sender[i].thread, NULL), 0);
        CHECK_INT(atomic_load(&received), wanted);
        CHECK_INT(queued_in(port), 0);
        end_port(port);
    }
}

/* Three loops receive from one port, which leaves them and comes back all the time: each message goes to one of them. */
static void count_received(treadle_port port, treadle_message message, void *info) {
    (void)port, (void)info;
    CHECK_INT(info_of(message).length, 64);
    atomic_fetch_add(&received, 1);
}
TEST(each_message_goes_to_one_of_several_loops, "PORT-4 PORT-1") {
    struct worker worker[3];
    struct producer sender[4];
    treadle_port port = make_port_of(count_received, NULL, 64);
    int each = scaled(4000) + 1;
    for (int i = 0; i < 3; i++) {
        worker_start(&worker[i]);
        CHECK_INT(treadle_loop_add_port(worker[i].loop, port, MODE), TREADLE_OK);
    }
    for (uint32_t i = 0; i < 4; i++) {
        sender[i] = (struct producer){.port = port, .number = i, .count = each};
        CHECK_INT(pthread_create(&sender[i].thread, NULL, send_all, &sender[i]), 0);
    }
    for (int i = 0; atomic_load(&received) < 4 * each; i++) {
        treadle_loop_remove_port(worker[i % 3].loop, port, MODE);
        sched_yield();
        treadle_loop_add_port(worker[i % 3].loop, port, i % 2 ? MODE : TREADLE_COMMON_MODES);
        if (i % 2 == 0) treadle_loop_remove_port(worker[(i + 1) % 3].loop, port, TREADLE_COMMON_MODES);
        CHECK_INT(treadle_loop_add_port(worker[(i + 1) % 3].loop, port, MODE) >= 0, 1);
    }
    for (int i = 0; i < 4; i++) CHECK_INT(pthread_join(sender[i].thread, NULL), 0);
    CHECK_INT(treadle_port_close(port, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(atomic_load(&received), 4 * each);
    for (int i = 0; i < 3; i++) worker_stop(&worker[i]);
    CHECK_INT(treadle_port_release(port), TREADLE_OK);
}

TEST_MAIN()
