/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * port_race_test.c: many threads at the same ports: nothing is lost, nothing comes twice, each sender's order is kept, and what
 * ends in the midst of that leaves nothing behind. */
#include "chance.h"
#include "ports.h"

#define MODE TREADLE_DEFAULT_MODE
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
struct sender {
    pthread_t thread;
    treadle_port port;
    uint32_t number;
    int count;
};
static void *send_all(void *info) {
    struct sender *sender = info;
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
        struct sender sender[SENDERS];
        treadle_port port = make_port_of(expect_in_order, NULL, capacity);
        int each = scaled(100000) / (capacity == 1 ? 10 : 1) + 1;
        atomic_store(&received, 0);
        wanted = each * SENDERS;
        add_port(port, MODE);
        for (uint32_t i = 0; i < SENDERS; i++) {
            atomic_store(&next_of[i], 0);
            sender[i] = (struct sender){.port = port, .number = i, .count = each};
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
    struct sender sender[4];
    treadle_port port = make_port_of(count_received, NULL, 64);
    int each = scaled(20000) + 1;
    for (int i = 0; i < 3; i++) {
        worker_start(&worker[i]);
        CHECK_INT(treadle_loop_add_port(worker[i].loop, port, MODE), TREADLE_OK);
    }
    for (uint32_t i = 0; i < 4; i++) {
        sender[i] = (struct sender){.port = port, .number = i, .count = each};
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

/* A port leaves its only loop and comes back, while others send the first message to it over and over. */
struct only {
    treadle_port port;
    atomic_bool is_over;
};
static void *send_single_messages(void *info) {
    struct only *only = info;
    int count = 0;
    char bytes[64] = {0};
    while (!atomic_load(&only->is_over)) count += treadle_port_send_bytes(only->port, 0, bytes, sizeof bytes, 0) == TREADLE_OK;
    return (void *)(intptr_t)count;
}
TEST(a_port_that_leaves_its_loop_and_comes_back_loses_nothing, "PORT-4 PORT-1") {
    struct worker worker;
    pthread_t sender[3];
    worker_start(&worker);
    struct only only = {.port = make_port_of(count_received, NULL, 1)};
    int count = 0;
    atomic_store(&received, 0);
    for (int i = 0; i < 3; i++) CHECK_INT(pthread_create(&sender[i], NULL, send_single_messages, &only), 0);
    for (int i = 0; i < scaled(5000); i++) {
        CHECK_INT(treadle_loop_add_port(worker.loop, only.port, MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_remove_port(worker.loop, only.port, MODE), TREADLE_OK);
    }
    atomic_store(&only.is_over, true);
    for (int i = 0; i < 3; i++) {
        void *sent;
        CHECK_INT(pthread_join(sender[i], &sent), 0);
        count += (int)(intptr_t)sent;
    }
    CHECK_INT(treadle_loop_add_port(worker.loop, only.port, MODE), TREADLE_OK);
    while (atomic_load(&received) != count) sched_yield();
    worker_stop(&worker);
    CHECK_INT(queued_in(only.port), 0);
    end_port(only.port);
}

/* Senders that wait, a receiver that takes, and somebody who ends the port, at any moment: all who wait are told, no descriptor
 * and no port is left. */
struct storm {
    treadle_port port, carried;
    pthread_barrier_t *start;
};
static void *send_until_closed(void *info) {
    struct storm *storm = info;
    treadle_component components[] = {{.kind = TREADLE_COMPONENT_PORT, .port = storm->carried}, {.kind = TREADLE_COMPONENT_DESCRIPTOR, .descriptor = 2}};
    treadle_message_content content = {.struct_size = sizeof content, .components = components, .component_count = 2, .reply_port = storm->carried};
    pthread_barrier_wait(storm->start);
    for (;;) {
        treadle_status status = treadle_port_send(storm->port, &content, TREADLE_FOREVER);
        if (status == TREADLE_E_CLOSED) return NULL;
        CHECK_INT(status, TREADLE_OK);
    }
}
static void drop_it(treadle_port port, treadle_message message, void *info) { (void)port, (void)info, info_of(message); }
TEST(a_port_may_end_at_any_moment_of_its_senders, "PORT-2 MPORT-2 OBJ-9") {
    struct worker worker;
    worker_start(&worker);
    int before = count_descriptors();
    for (int round = 0; round < scaled(300); round++) {
        pthread_barrier_t start;
        pthread_t sender[4];
        atomic_int told = 0;
        struct storm storm = {make_port_of(drop_it, NULL, 1 + (uint32_t)round % 5), make_port_of(NULL, NULL, 0), &start};
        uint64_t token = tell_of_ports(NULL, count_told, &told);
        pthread_barrier_init(&start, NULL, 5);
        CHECK_INT(treadle_loop_add_port(worker.loop, storm.port, MODE), TREADLE_OK);
        for (int i = 0; i < 4; i++) CHECK_INT(pthread_create(&sender[i], NULL, send_until_closed, &storm), 0);
        pthread_barrier_wait(&start);
        linger(MICROSECONDS(round % 50));
        if (round % 2) CHECK_INT(treadle_port_invalidate(storm.port), TREADLE_OK);
        else CHECK_INT(treadle_port_close(storm.port, TREADLE_FOREVER), TREADLE_OK);
        for (int i = 0; i < 4; i++) CHECK_INT(pthread_join(sender[i], NULL), 0);
        CHECK_INT(treadle_port_close(storm.port, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_port_release(storm.port), TREADLE_OK);
        CHECK_INT(treadle_port_release(storm.carried), TREADLE_OK);
        CHECK_INT(treadle_port_retain(storm.carried), TREADLE_E_STALE);
        CHECK_INT(told, 2);
        CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
        CHECK_INT(count_descriptors(), before);
        pthread_barrier_destroy(&start);
    }
    worker_stop(&worker);
}

/* Senders with all kinds of patience, and loops that come and go. */
static treadle_port shared;
static atomic_int sent;
static atomic_bool is_over;
static void *send_with_little_patience(void *info) {
    (void)info;
    while (!atomic_load(&is_over)) {
        treadle_status status = treadle_port_send_bytes(shared, 1, "0123456789012345678901234567890123456789012345678901234567890123", 64, chance(3) ? 0 : chance(100000));
        if (status == TREADLE_OK) atomic_fetch_add(&sent, 1);
        else CHECK_INT(status, TREADLE_E_TIMEOUT);
    }
    return NULL;
}
static void *receive_some(void *info) {
    (void)info;
    add_port(shared, MODE);
    treadle_loop_run(treadle_loop_current(), MODE, chance(200000), 0);
    return NULL;
}
TEST(what_was_sent_in_time_is_received_by_threads_that_come_and_go, "MPORT-2 RL-8 PORT-4") {
    pthread_t sender[3];
    shared = make_port_of(count_received, NULL, 4);
    atomic_store(&received, 0);
    for (int i = 0; i < 3; i++) CHECK_INT(pthread_create(&sender[i], NULL, send_with_little_patience, NULL), 0);
    for (int i = 0; i < scaled(400); i++) on_thread(receive_some, NULL);
    atomic_store(&is_over, true);
    for (int i = 0; i < 3; i++) CHECK_INT(pthread_join(sender[i], NULL), 0);
    CHECK_INT(atomic_load(&sent), atomic_load(&received) + queued_in(shared));
    end_port(shared);
}

TEST_MAIN()
