/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_fault_test.c: the n-th system call, or the n-th piece of memory, is refused, for every n, in an exchange between
 * message ports of one thread: each call then fails with a message, or succeeds; afterwards everything works, and no descriptor
 * is left. */
#include "message_ports.h"

#include "faults.h"

#ifndef SANITIZED

/* A call that succeeds, or fails for want of something, with a message. */
#define SANE(call) sane((call), #call)
static bool may_wait_in_vain;
static treadle_status sane(treadle_status status, const char *call) {
    treadle_error_info error = {.struct_size = sizeof error};
    if (status >= 0) return status;
    treadle_last_error(&error);
    if (error.code != status || !error.message[0] || !error.function[0])
        check_failed(__FILE__, __LINE__, "%s returned %d without a message of its own", call, status);
    switch (status) {
    case TREADLE_E_NOMEM:
    case TREADLE_E_SYSTEM:
    case TREADLE_E_CLOSED:
    case TREADLE_E_NOT_FOUND:
    case TREADLE_E_STATE: return status;
    case TREADLE_E_NO_REPLY:
        if (may_wait_in_vain) return status;
        check_failed(__FILE__, __LINE__, "%s waited for a reply that was lost", call);
    default: check_failed(__FILE__, __LINE__, "%s returned %s", call, treadle_status_name(status));
    }
}

enum { LARGE = 100000 };
static char large[LARGE];
static int received, replied;
static void receive(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    (void)port, (void)info;
    received++;
    SANE(treadle_message_port_reply(message->call, message->data, message->size));
}
static void count_reply(const void *data, size_t size, void *info) { (void)data, (void)info, replied += size == LARGE || size == 5; }

/* Everything that ports do, once. A reply that cannot be sent ends its connection: patience is for faults that stay, of which the
 * sender cannot learn, either. */
static void use(const char *name, const char *other_name, int64_t patience) {
    treadle_message_port_context context = {.struct_size = sizeof context, .receive = receive, .users = (const uint32_t[]){1, 2}, .user_count = 2};
    treadle_message_port local = NULL, remote = NULL;
    treadle_loop loop = treadle_loop_current();
    if (SANE(treadle_message_port_create_local(name, &context, &local)) == TREADLE_OK) {
        SANE(treadle_loop_add(loop, local, M));
        if (SANE(treadle_loop_add(loop, local, REPLIES)) < 0) may_wait_in_vain = true, patience = MILLISECONDS(20); /* it is not served */
        if (SANE(treadle_message_port_create_remote(name, NULL, &remote)) == TREADLE_OK) {
            SANE(treadle_message_port_request(remote, 1, "small", 5, LONG, patience, REPLIES, count_reply, NULL));
            SANE(treadle_message_port_request(remote, 1, large, LARGE, LONG, patience, REPLIES, count_reply, NULL));
            SANE(treadle_message_port_send(remote, 1, "one", 3, LONG));
            SANE(treadle_message_port_check(remote));
            SANE(treadle_loop_run(loop, M, 0, 0));
            treadle_invalidate(remote);
            CHECK_INT(treadle_release(remote), TREADLE_OK);
        }
        SANE(treadle_message_port_set_name(local, other_name));
        SANE(treadle_loop_run(loop, M, 0, 0));
        treadle_invalidate(local);
        CHECK_INT(treadle_release(local), TREADLE_OK);
    }
}

static void check_all(unsigned kind, int error) {
    char name[64], other[64];
    bool has_hit = true;
    snprintf(name, sizeof name, "%s", new_name()), snprintf(other, sizeof other, "%s", new_name());
    treadle_loop_current();
    replied = 0;
    use(name, other, LONG);
    CHECK_INT(replied, 2);
    int descriptors = count_descriptors(), rounds = 0;
    for (int n = 1; has_hit; n++) {
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            may_wait_in_vain = for_ever;
            arm(kind, error, n, for_ever);
            use(name, other, for_ever ? MILLISECONDS(20) : LONG);
            has_hit = disarm() > 0;
            CHECK_INT(count_descriptors(), descriptors);
            replied = received = 0;
            use(name, other, LONG);
            CHECK_INT(replied, 2);
            CHECK_INT(received, 3);
            CHECK_INT(count_descriptors(), descriptors);
        }
        rounds = n;
    }
    CHECK(rounds > 3);
}

TEST(any_system_call_may_fail, "MSG-8 MSG-9 OBJ-6") {
    check_all(FAULT_SOCKET, ENOMEM);
    check_all(FAULT_SOCKET, EPERM);
    check_all(FAULT_EPOLL_CREATE | FAULT_EPOLL_CONTROL, ENOMEM);
}
TEST(any_memory_may_be_refused, "MSG-8 OBJ-6") {
    if (have_memory_faults()) check_all(FAULT_MEMORY, ENOMEM);
}
/* A sender whose reply is lost would wait for ever. The server sends by the socket, since it has no bell for a ring. */
static bool does_reply;
static void fail_to_reply(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    (void)port, (void)info;
    arm(FAULT_SENDING, ENOBUFS, 1, true);
    if (does_reply) CHECK_ERROR(treadle_message_port_reply(message->call, "reply", 5), TREADLE_E_SYSTEM, "sendmsg");
}
static sem_t is_served;
static void *serve_badly(void *info) {
    struct server *server = info;
    server->loop = treadle_loop_current();
    server->port = make_local(server->name, fail_to_reply, NULL);
    CHECK_INT(treadle_retain(server->loop), TREADLE_OK);
    CHECK_INT(treadle_loop_add(server->loop, server->port, M), TREADLE_OK);
    sem_post(&is_served);
    arm(FAULT_EVENTFD, EMFILE, 1, true);
    treadle_loop_run(server->loop, M, TREADLE_FOREVER, 0);
    disarm();
    return NULL;
}
TEST(a_reply_that_cannot_be_sent_ends_the_connection, "MSG-5 MSG-8") {
    for (int replies = 0; replies < 2; replies++) {
        struct server server = {.name = new_name()};
        does_reply = replies == 1;
        sem_init(&is_served, 0, 0);
        CHECK_INT(pthread_create(&server.thread, NULL, serve_badly, &server), 0);
        await(&is_served);
        treadle_message_port remote = make_remote(server.name);
        CHECK_INT(request_text(remote, 1, "a question", LONG, NULL), TREADLE_E_CLOSED);
        CHECK_INT(discard(remote), TREADLE_OK);
        end_server(&server);
    }
}
/* The kernel limits how many files of a user's are on their way, by whatever process: that is want of room, which passes. */
static void *end_while_sending(void *info) {
    while (!atomic_load(&((struct server *)info)->messages)) sched_yield();
    CHECK_INT(treadle_invalidate(((struct server *)info)->port), TREADLE_OK);
    return NULL;
}
TEST(too_many_files_on_their_way_are_want_of_room, "MSG-6 MSG-8") {
    struct server server = {.name = new_name()};
    pthread_t other;
    server.port = make_local(server.name, NULL, NULL);
    treadle_message_port remote = make_remote(server.name);
    arm(FAULT_SENDING, ETOOMANYREFS, 1, false);
    CHECK_INT(treadle_message_port_send(remote, SILENT, large, LARGE, LONG), TREADLE_OK);
    CHECK_INT(disarm(), 1);
    arm(FAULT_SENDING, ETOOMANYREFS, 1, true);
    CHECK_ERROR(treadle_message_port_send(remote, SILENT, large, LARGE, 0), TREADLE_E_TIMEOUT, "no room");
    CHECK_ERROR(treadle_message_port_send(remote, SILENT, large, LARGE, MILLISECONDS(1)), TREADLE_E_TIMEOUT, "no room");
    CHECK(disarm() >= 2);
    CHECK_INT(pthread_create(&other, NULL, end_while_sending, &server), 0);
    arm(FAULT_SENDING, ETOOMANYREFS, 1, true);
    atomic_store(&server.messages, 1);
    CHECK_INT(treadle_message_port_send(remote, SILENT, large, LARGE, LONG), TREADLE_E_CLOSED);
    disarm();
    CHECK_INT(pthread_join(other, NULL), 0);
    CHECK_INT(treadle_release(remote), TREADLE_OK);
    CHECK_INT(treadle_release(server.port), TREADLE_OK);
}
/* The same for replies, which wait in the port: it tries again by a timer. They get through once the loop has slept meanwhile. */
static int sleeps;
static void count_sleeps(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    if (fault.hits > 0) sleeps++;
}
static void let_pass(treadle_timer timer, void *info) {
    (void)timer;
    if (fault.hits >= 5 && sleeps > 0) *(int *)info += disarm(), sleeps = 0;
}
static void reply_into_the_crowd(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    (void)port;
    arm(FAULT_SENDING | *(unsigned *)info, ETOOMANYREFS, 1, true);
    if (*(unsigned *)info) CHECK_ERROR(treadle_message_port_reply(message->call, large, LARGE), TREADLE_E_SYSTEM, "sendmsg");
    else CHECK_INT(treadle_message_port_reply(message->call, large, LARGE), TREADLE_OK);
    if (*(unsigned *)info) disarm();
}
static void fill_in_the_crowd(char *bytes) {
    memset(bytes, 'x', LARGE);
    arm(FAULT_SENDING, ETOOMANYREFS, 1, true);
}
static treadle_message_port serve_the_crowd(const char *name, unsigned *faults) {
    static const treadle_port_function fill[] = {{"fill", "vo^c", (void (*)(void))fill_in_the_crowd}};
    treadle_message_port_context context = {
        .struct_size = sizeof context, .receive = reply_into_the_crowd, .info = faults, .functions = fill, .function_count = 1};
    treadle_message_port local = NULL;
    CHECK_INT(treadle_message_port_create_local(name, &context, &local), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), local, REPLIES), TREADLE_OK);
    return local;
}
static void reply_in_the_crowd(void) {
    const char *name = new_name();
    unsigned faults = 0;
    int passed = 0;
    treadle_message_port local = serve_the_crowd(name, &faults), remote = make_remote(name);
    treadle_timer timer = make_timer(let_pass, &passed, 1, MILLISECONDS(1));
    treadle_observer observer = make_observer(count_sleeps, NULL, TREADLE_BEFORE_WAITING);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, REPLIES), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, REPLIES), TREADLE_OK);
    replied = sleeps = 0;
    CHECK_INT(treadle_message_port_request(remote, 1, "small", 5, LONG, LONG, REPLIES, count_reply, NULL), TREADLE_OK);
    CHECK_INT(replied, 1);
    CHECK(passed >= 5);
    /* What the callee returns waits as well. */
    static char bytes[LARGE];
    treadle_port_value values[] = {{bytes, sizeof bytes}};
    passed = 0;
    CHECK_INT(treadle_port_call(remote, "fill", "vo^c", values, 1, NULL, 0, LONG, REPLIES), TREADLE_OK);
    CHECK(bytes[0] == 'x' && bytes[LARGE - 1] == 'x' && passed >= 5);
    /* A sender that goes meanwhile leaves nothing behind. */
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK_INT(discard(observer), TREADLE_OK);
    CHECK_ERROR(treadle_message_port_request(remote, 1, "small", 5, LONG, 0, REPLIES, count_reply, NULL), TREADLE_E_NO_REPLY, "reply");
    int descriptors = count_descriptors();
    CHECK_INT(discard(remote), TREADLE_OK);
    while (count_descriptors() > descriptors - 3) poll_mode(REPLIES); /* the remote port's, those of its connection, and the reply's file */
    disarm();
    CHECK_INT(discard(local), TREADLE_OK);
}
TEST(a_reply_waits_while_too_many_files_are_on_their_way, "MSG-5 MSG-8 MSG-11") {
    treadle_loop_current();
    for (int round = 0, before = 0; round < 2; round++) {
        reply_in_the_crowd();
        if (round == 0) before = count_descriptors();
        else CHECK_INT(count_descriptors(), before);
    }
}
TEST(a_reply_that_cannot_wait_fails, "MSG-5 MSG-8") {
    unsigned faults = FAULT_TIMER;
    for (int round = 0, before = 0; round < 2; round++) {
        const char *name = new_name();
        treadle_message_port local = serve_the_crowd(name, &faults), remote = make_remote(name);
        CHECK_INT(request_text(remote, 1, "small", LONG, NULL), TREADLE_OK);
        CHECK_INT(discard(remote), TREADLE_OK);
        CHECK_INT(discard(local), TREADLE_OK);
        if (round == 0) before = count_descriptors();
        else CHECK_INT(count_descriptors(), before);
    }
}
TEST(a_process_without_descriptors_goes_on, "MSG-9") {
    check_all(FAULT_SOCKET, EMFILE);
    check_all(FAULT_SOCKET | FAULT_EVENTFD | FAULT_EPOLL_CREATE, EMFILE);
}

#endif

TEST_MAIN()
