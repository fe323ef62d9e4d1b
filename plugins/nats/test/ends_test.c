/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * ends_test.c: ports that end while messages wait for their replies, and while other threads use them: no sender waits for ever. */
#include "server.h"

#include <semaphore.h>

/* --- In the callback ------------------------------------------------------------------------------------ */

static treadle_nats_port end_from_inside(treadle_nats_port port, const treadle_nats_message *message, bool replies) {
    if (replies) CHECK_INT(nats->reply(message->call, "last", 4), TREADLE_OK);
    CHECK_INT(nats->invalidate(port), TREADLE_OK);
    CHECK(!treadle_is_valid(port));
    atomic_fetch_add(&messages, 1);
    return port;
}
static void end_first(treadle_nats_port port, const treadle_nats_message *message, void *info) {
    (void)info;
    end_from_inside(port, message, false);
    CHECK_INT(nats->reply(message->call, "late", 4), TREADLE_IGNORED);
}
static void reply_and_end(treadle_nats_port port, const treadle_nats_message *message, void *info) {
    (void)info;
    end_from_inside(port, message, true);
    CHECK_REFUSED(nats->reply(message->call, "late", 4), TREADLE_E_STATE, "call");
}
static void release_inside(treadle_nats_port port, const treadle_nats_message *message, void *info) {
    (void)info, (void)message;
    CHECK_INT(treadle_invalidate(port), TREADLE_OK);
    CHECK_INT(treadle_release(port), TREADLE_OK);
    atomic_fetch_add(&messages, 1);
}
static treadle_status ask_port_that_ends(const char *subject, treadle_nats_receive_fn receive, struct answer *answer) {
    treadle_nats_port local = make_local_in(name_of(subject), receive, MODE), remote = make_remote(name_of(subject));
    messages = 0;
    treadle_status status = ask(remote, 1, "x", TREADLE_FOREVER, answer);
    CHECK_INT(messages, 1);
    if (receive != release_inside) CHECK_INT(treadle_release(local), TREADLE_OK);
    return end(remote), status;
}
TEST(a_port_that_ends_in_its_callback_tells_the_sender, "") {
    start_nats(-1, NULL);
    treadle_plugin plugin = start_plugin(NULL);
    struct answer answer;
    CHECK_REFUSED(ask_port_that_ends("a", end_first, &answer), TREADLE_E_CLOSED, "did not reply");
    CHECK_INT(answer.count, 0);
    CHECK_INT(ask_port_that_ends("b", reply_and_end, &answer), TREADLE_OK);
    CHECK_TEXT(answer.text, "last");
    /* By the functions of all objects it is connected until the callback returns. */
    CHECK_INT(ask_port_that_ends("c", release_inside, &answer), TREADLE_OK);
    CHECK_TEXT(answer.text, "");
    unload(plugin, PLUGIN);
    stop_nats();
}

/* --- By another thread ----------------------------------------------------------------------------------- */

static sem_t is_held, go_on;
static void hold(treadle_nats_port port, const treadle_nats_message *message, void *info) {
    (void)port, (void)info;
    sem_post(&is_held);
    while (sem_wait(&go_on) != 0) {}
    CHECK_INT(nats->reply(message->call, "late", 4), TREADLE_IGNORED);
}
static atomic_int asking;
static void *ask_one_that_ends(void *argument) {
    struct answer answer;
    treadle_nats_port remote = make_remote(argument);
    atomic_fetch_add(&asking, 1);
    treadle_status status = ask(remote, 1, "x", TREADLE_FOREVER, &answer);
    /* If the server gets the message after the port's end, it knows of no port. */
    CHECK(status == TREADLE_E_CLOSED || status == TREADLE_E_NOT_FOUND);
    CHECK_INT(answer.count, 0);
    end(remote);
    return (void *)(intptr_t)status;
}
static void *end_held_port(void *port) {
    CHECK_INT(nats->invalidate(port), TREADLE_OK);
    sem_post(&go_on);
    return NULL;
}
TEST(a_port_that_ends_tells_all_who_wait_for_it, "") {
    enum { ASKERS = 4 };
    pthread_t askers[ASKERS], ender;
    char name[300];
    int told = 0;
    start_nats(-1, NULL);
    treadle_plugin plugin = start_plugin(NULL);
    CHECK(sem_init(&is_held, 0, 0) == 0 && sem_init(&go_on, 0, 0) == 0);
    snprintf(name, sizeof name, "%s", name_of("a"));
    treadle_nats_port local = make_local_in(name, hold, MODE);
    for (int i = 0; i < ASKERS; i++) CHECK_INT(pthread_create(&askers[i], NULL, ask_one_that_ends, name), 0);
    /* One message is in the callback; the others are on their way, or wait. */
    while (asking < ASKERS) sched_yield();
    treadle_nats_info info = {.struct_size = sizeof info};
    CHECK_INT(pthread_create(&ender, NULL, end_held_port, local), 0);
    while (treadle_loop_run(treadle_loop_current(), MODE, LONG, TREADLE_RUN_RETURN_AFTER_SOURCE) >= 0 && treadle_is_valid(local)) {}
    CHECK_INT(nats->get_info(local, &info), TREADLE_OK);
    CHECK_INT(pthread_join(ender, NULL), 0);
    for (int i = 0; i < ASKERS; i++) {
        void *status;
        CHECK_INT(pthread_join(askers[i], &status), 0);
        told += (intptr_t)status == TREADLE_E_CLOSED;
    }
    CHECK(told >= (sem_trywait(&is_held) == 0));
    CHECK_INT(treadle_release(local), TREADLE_OK);
    unload(plugin, PLUGIN);
    stop_nats();
}

/* Workers come and go under load: each request gets one reply, or its error. */
static atomic_bool is_over;
static void *work_and_go(void *argument) {
    int turns = 0;
    while (!is_over) {
        treadle_nats_port local = make_local_in(argument, echo, MODE);
        for (int i = 0; i <= turns % 7; i++) treadle_loop_run(treadle_loop_current(), MODE, MILLISECONDS(1), TREADLE_RUN_RETURN_AFTER_SOURCE);
        end(local);
        turns++;
    }
    return NULL;
}
static void *ask_and_ask(void *argument) {
    struct answer answer;
    treadle_nats_port remote = make_remote(argument);
    for (int i = 0; i < 200; i++) {
        treadle_status status = ask(remote, i, "x", TREADLE_FOREVER, &answer);
        CHECK(status == TREADLE_OK || status == TREADLE_E_NOT_FOUND || status == TREADLE_E_CLOSED);
        CHECK_INT(answer.count, status == TREADLE_OK);
        progress();
    }
    end(remote);
    return NULL;
}
TEST(workers_that_leave_lose_no_request, "") {
    enum { WORKERS = 2, ASKERS = 3 };
    pthread_t workers[WORKERS], askers[ASKERS];
    char name[300];
    start_nats(-1, NULL);
    treadle_plugin plugin = start_plugin(NULL);
    snprintf(name, sizeof name, "%s", name_of("work"));
    is_over = false;
    for (int i = 0; i < WORKERS; i++) CHECK_INT(pthread_create(&workers[i], NULL, work_and_go, name), 0);
    for (int i = 0; i < ASKERS; i++) CHECK_INT(pthread_create(&askers[i], NULL, ask_and_ask, name), 0);
    for (int i = 0; i < ASKERS; i++) CHECK_INT(pthread_join(askers[i], NULL), 0);
    is_over = true;
    for (int i = 0; i < WORKERS; i++) CHECK_INT(pthread_join(workers[i], NULL), 0);
    unload(plugin, PLUGIN);
    stop_nats();
}

/* --- Against each function -------------------------------------------------------------------------------- */

static treadle_nats_port shared;
static atomic_int users, requests;
static bool is_end(treadle_status status) {
    return status == TREADLE_E_STATE || status == TREADLE_E_CLOSED || status == TREADLE_E_STALE;
}
static void *use(void *argument) {
    int way = *(int *)argument;
    struct answer answer;
    treadle_nats_info info = {.struct_size = sizeof info};
    treadle_status status;
    atomic_fetch_add(&users, 1);
    do {
        switch (way) {
        case 0: status = ask(shared, 1, "x", TREADLE_FOREVER, &answer), atomic_fetch_add(&requests, 1); break;
        case 1: status = nats->send(shared, 1, "x", 1, LONG); break;
        case 2: status = nats->check(shared); break;
        /* It can be asked for what it has done as long as there is a reference. */
        default: status = nats->get_info(shared, &info); break;
        }
    } while (status == TREADLE_OK || (way == 0 && status == TREADLE_E_NOT_FOUND));
    if (!is_end(status)) check_failed(__FILE__, __LINE__, "%s in way %d: %s", treadle_status_name(status), way, nats_error());
    return NULL;
}
static void *end_shared(void *argument) {
    (void)argument;
    CHECK_INT(nats->invalidate(shared), TREADLE_OK);
    CHECK_INT(nats->check(shared), TREADLE_E_STATE);
    return NULL;
}
TEST(a_port_may_end_under_each_function, "") {
    enum { WAYS = 4 };
    start_nats(-1, NULL);
    treadle_plugin plugin = start_plugin(NULL);
    for (int round = 0; round < 16; round++) {
        pthread_t threads[WAYS], enders[2];
        int ways[WAYS];
        shared = make_remote(name_of("unserved"));
        users = requests = 0;
        for (int i = 0; i < WAYS; i++) {
            ways[i] = i;
            CHECK_INT(pthread_create(&threads[i], NULL, use, &ways[i]), 0);
        }
        while (users < WAYS || requests < round) sched_yield();
        if (round % 2) {
            for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&enders[i], NULL, end_shared, NULL), 0);
            for (int i = 0; i < 2; i++) CHECK_INT(pthread_join(enders[i], NULL), 0);
        } else {
            CHECK_INT(treadle_invalidate(shared), TREADLE_OK);
        }
        CHECK_INT(treadle_release(shared), TREADLE_OK);
        for (int i = 0; i < WAYS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
        progress();
    }
    unload(plugin, PLUGIN);
    stop_nats();
}

TEST_MAIN()
