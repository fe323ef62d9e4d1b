/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_ring_test.c: the memory that the two sides of message ports share: how they come to it, what goes by it, in
 * which order; and that they go on by their socket where there is none. */
#include "message_port_raw.h"

#include "refuse.h"

#include <poll.h>
#include <sys/resource.h>

/* --- By hand ------------------------------------------------------------------------------------------------------ */

static bool is_readable(int fd) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return poll(&one, 1, 0) > 0;
}

TEST(a_sender_gets_a_ring_and_is_answered_by_it, "MSG-5 MSG-9") {
    struct received received = {0};
    struct raw_ring ring;
    struct head head;
    int passed[3];
    const char *name = new_name();
    treadle_message_port local = serve_here(name, receive_and_keep, &received);
    int with_port = count_descriptors(), fd = connect_here(name, &ring);
    CHECK_INT(fcntl(ring.file, F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW);
    CHECK_INT(atomic_load(&ring.memory->to_server.taken), 2); /* the greeting and the question */
    /* As long as the sender has not said that it has the ring, replies come by the socket. */
    put_frame(&ring.memory->to_server, ring.memory->bytes_to_server, ring.other_bell, head_of(MESSAGE, WANTS_REPLY, 3, 7), "one", 3);
    poll_mode(M);
    CHECK_INT(received.count, 1);
    CHECK_TEXT(received.data, "one");
    CHECK_INT(received.process, getpid());
    CHECK_INT(raw_receive(fd, &head, passed), 0);
    CHECK_INT(head.serial, 7);
    CHECK_INT(atomic_load(&ring.memory->to_server.received), 64);
    atomic_store(&ring.memory->is_ready, 1);
    put_frame(&ring.memory->to_server, ring.memory->bytes_to_server, ring.other_bell, head_of(MESSAGE, WANTS_REPLY, 3, 8), "two", 3);
    poll_mode(M);
    CHECK_INT(received.count, 2);
    CHECK_INT(atomic_load(&ring.memory->to_sender.sent), 64);
    memcpy(&head, ring.memory->bytes_to_sender, sizeof head);
    CHECK(head.kind == REPLY && head.serial == 8 && head.length == 6);
    CHECK(memcmp(ring.memory->bytes_to_sender + sizeof head, "answer", 6) == 0);
    CHECK(!is_readable(fd));
    /* One edge of the bell for several frames: each is received, one a pass. */
    for (unsigned i = 0; i < 3; i++)
        put_frame(&ring.memory->to_server, ring.memory->bytes_to_server, ring.other_bell, head_of(MESSAGE, 0, 5, 0), "three", 5);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(received.count, 2 + i);
        poll_mode(M);
    }
    CHECK_INT(received.count, 5);
    CHECK_INT(atomic_load(&ring.memory->to_server.is_asleep), 1);
    /* Asked for once. */
    ask_for_ring(fd);
    poll_mode(M);
    CHECK_INT(recv(fd, &head, sizeof head, 0), 0);
    drop_ring(&ring), close(fd);
    CHECK_INT(count_descriptors(), with_port);
    CHECK_INT(discard(local), TREADLE_OK);
}

/* --- The end ------------------------------------------------------------------------------------------------------ */

/* No loop of the sender's runs meanwhile: the next call says so. */
TEST(a_message_to_a_server_that_has_ended_is_refused, "MSG-7 MSG-8 MSG-9") {
    const char *name = new_name();
    struct received received = {0};
    treadle_message_port local = serve_here(name, receive_and_keep, &received), remote = make_remote(name);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(treadle_message_port_request(remote, 1, "one", 3, 0, TREADLE_FOREVER, M, NULL, NULL), TREADLE_OK);
        CHECK_INT(treadle_message_port_send(remote, 1, "one", 3, 0), TREADLE_OK);
    }
    CHECK_INT(discard(local), TREADLE_OK);
    CHECK_INT(treadle_message_port_send(remote, 1, "one", 3, 0), TREADLE_E_CLOSED);
    CHECK(!treadle_is_valid(remote));
    treadle_release(remote);

    name = new_name();
    pid_t server = start_process(name);
    remote = make_remote(name);
    for (int i = 0; i < 3; i++)
        CHECK_INT(treadle_message_port_request(remote, 1, "one", 3, 0, TREADLE_FOREVER, M, NULL, NULL), TREADLE_OK);
    CHECK_INT(kill(server, SIGKILL), 0);
    CHECK_INT(waitpid(server, NULL, 0), server);
    CHECK_INT(treadle_message_port_send(remote, 1, "one", 3, 0), TREADLE_E_CLOSED);
    CHECK(!treadle_is_valid(remote));
    treadle_release(remote);
}

/* --- The order ---------------------------------------------------------------------------------------------------- */

enum { HUGE_SIZE = 100000, LARGE_SIZE = 20000 };
struct sequence {
    unsigned next, by_size[4];
    size_t sizes[4];
};
static void receive_in_order(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    struct sequence *sequence = info;
    unsigned number;
    (void)port;
    memcpy(&number, message->data, sizeof number);
    if (number != sequence->next) check_failed(__FILE__, __LINE__, "message %u in place of %u, %zu bytes", number, sequence->next, message->size);
    for (int i = 0; i < 4; i++) sequence->by_size[i] += message->size == sequence->sizes[i];
    sequence->next++;
    if (message->flags) treadle_message_port_reply(message->call, message->data, message->size);
}
static const size_t mixed_sizes[4] = {4, 4096, LARGE_SIZE, HUGE_SIZE};
static unsigned sequence_length(void) { return (unsigned)scaled(20000); }
static void *send_in_order(void *info) {
    static char bytes[HUGE_SIZE];
    treadle_message_port remote = make_remote(info);
    struct reply reply = {0};
    for (unsigned i = 0; i < sequence_length(); i++) {
        /* Long runs of small messages, now and then others, now and then a wait for all of them. */
        size_t size = mixed_sizes[i % 97 == 0 ? 3 : i % 31 == 0 ? 2 : i % 7 == 0];
        memcpy(bytes, &i, sizeof i);
        if (i % 501 == 500) {
            CHECK_INT(treadle_message_port_request(remote, 1, bytes, size, LONG, LONG, REPLIES, keep_reply, &reply), TREADLE_OK);
            CHECK(reply.size == size && memcmp(reply.data, &i, sizeof i) == 0);
        } else {
            CHECK_INT(treadle_message_port_send(remote, 1, bytes, size, LONG), TREADLE_OK);
        }
        progress();
    }
    drop_reply(&reply);
    CHECK_INT(discard(remote), TREADLE_OK);
    return NULL;
}
TEST(messages_of_all_sizes_come_in_the_order_in_which_they_were_sent, "MSG-6 MSG-9") {
    struct sequence sequence = {.sizes = {4, 4096, LARGE_SIZE, HUGE_SIZE}};
    const char *name = new_name();
    pthread_t thread;
    treadle_message_port local = make_local(name, receive_in_order, &sequence);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), local, M), TREADLE_OK);
    CHECK_INT(pthread_create(&thread, NULL, send_in_order, (void *)name), 0);
    while (sequence.next < sequence_length()) treadle_loop_run(treadle_loop_current(), M, LONG, TREADLE_RUN_RETURN_AFTER_SOURCE);
    CHECK_INT(treadle_invalidate(local), TREADLE_OK);
    CHECK_INT(pthread_join(thread, NULL), 0);
    for (int i = 0; i < 4; i++) CHECK(sequence.by_size[i] > 0);
    CHECK_INT(treadle_release(local), TREADLE_OK);
}

/* --- Without a ring ------------------------------------------------------------------------------------------------- */

static void refuse_files(void) {
    const struct refusable call = {"memfd_create", SYS_memfd_create, -1, 0, 0};
    CHECK(refuse_call(&call, EPERM));
}
static void refuse_bells(void) {
    const struct refusable call = {"eventfd2", SYS_eventfd2, -1, 0, 0};
    poll_mode(M); /* the loop has its own */
    CHECK(refuse_call(&call, ENOSYS));
}
static void limit_descriptors(int most) {
    struct rlimit limit = {(rlim_t)most, (rlim_t)most};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
}
static int next_descriptor(void) {
    int next = fcntl(2, F_DUPFD, 3); /* the library's have no lower ones */
    CHECK(next >= 0 && close(next) == 0);
    return next;
}
/* The process may open so many descriptors more, with low numbers: those above are used. */
static void leave_descriptors(int count) {
    int most = 3 * (next_descriptor() + count);
    for (int i = 0; i < most; i++)
        if (fcntl(i, F_GETFD) < 0 && --count < 0) CHECK_INT(dup2(2, i), i);
    limit_descriptors(most);
}
static void refuse_descriptors(void) {
    poll_mode(M);
    leave_descriptors(2); /* one more connection has room, and a file, but no bells */
}
static void use_poor(void (*become_poor)(void)) {
    const char *name = new_name();
    pid_t child = start_process_that(name, become_poor);
    struct raw_ring ring;
    int fd = raw_greeted(name);
    CHECK(!raw_ring(fd, &ring));
    CHECK(!is_ended(fd));
    close(fd);
    treadle_message_port remote = make_remote(name);
    for (int i = 0; i < 10; i++) CHECK_SERVED(remote);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_process(child);
}
TEST(a_server_that_can_make_no_ring_serves_by_the_socket, "MSG-9") {
    use_poor(refuse_files);
    use_poor(refuse_bells);
    if (!is_way("valgrind")) use_poor(refuse_descriptors); /* its limit of descriptors is one of its own */
}

/* Enough for all rings. */
static void allow_descriptors(void) {
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur < 512) limit_descriptors(512);
}
TEST(a_port_has_so_many_rings_and_serves_all_others_too, "MSG-9") {
    enum { RINGS = 64, SENDERS = 70 };
    const char *name = new_name();
    pid_t server = start_process_that(name, allow_descriptors);
    int fds[SENDERS], count = 0;
    struct raw_ring ring;
    for (int i = 0; i < SENDERS; i++) {
        fds[i] = raw_greeted(name);
        bool has_ring = raw_ring(fds[i], &ring);
        CHECK_INT(has_ring, i < RINGS);
        if (has_ring) drop_ring(&ring);
        count += has_ring;
    }
    CHECK_INT(count, RINGS);
    for (int i = 0; i < SENDERS; i++) CHECK(!is_ended(fds[i]));
    treadle_message_port remote = make_remote(name);
    CHECK_SERVED(remote);
    /* A ring that is given back is another one's. */
    close(fds[0]);
    for (bool has_ring = false; !has_ring;) {
        int fd = raw_greeted(name);
        has_ring = raw_ring(fd, &ring);
        if (has_ring) drop_ring(&ring);
        close(fd);
    }
    for (int i = 1; i < SENDERS; i++) close(fds[i]);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_process(server);
}

/* A sender in such a process. */
static void send_poorly(void (*become_poor)(void)) {
    const char *name = new_name();
    pid_t server = start_process(name), child = fork();
    if (child == 0) {
        CHECK(treadle_after_fork_child() >= 0);
        treadle_message_port first = make_remote(name);
        for (int i = 0; i < 5; i++) CHECK_SERVED(first);
        discard(first);
        become_poor();
        treadle_message_port remote = make_remote(name);
        for (int i = 0; i < 10; i++) CHECK_SERVED(remote);
        discard(remote);
        _exit(0);
    }
    CHECK_INT(await_process(child), 0);
    end_process(server);
}
static void leave_four(void) { leave_descriptors(4); /* the socket, the set, and two of three */ }
TEST(a_sender_that_can_use_no_ring_sends_by_the_socket, "MSG-9") {
    send_poorly(refuse_files);
    if (is_way("valgrind")) return; /* its limit of descriptors is one of its own */
    send_poorly(refuse_descriptors);
    send_poorly(leave_four);
}

/* --- Few descriptors ------------------------------------------------------------------------------------------------ */

static void allow_24_more(void) {
    poll_mode(M);
    limit_descriptors(next_descriptor() + 24);
}
TEST(a_server_with_few_descriptors_serves_many_senders_by_their_sockets, "MSG-8 MSG-9") {
    enum { SENDERS = 14 };
    if (is_way("valgrind")) return; /* its limit of descriptors is one of its own */
    const char *name = new_name();
    pid_t server = start_process_that(name, allow_24_more);
    int fds[SENDERS], rings = 0;
    for (int i = 0; i < SENDERS; i++) {
        struct raw_ring ring;
        fds[i] = raw_greeted(name);
        if (raw_ring(fds[i], &ring)) drop_ring(&ring), rings++;
    }
    CHECK(rings < SENDERS / 2);
    for (int i = 0; i < SENDERS; i++) CHECK(!is_ended(fds[i]));
    treadle_message_port remote = make_remote(name);
    for (int i = 0; i < 10; i++) CHECK_SERVED(remote);
    CHECK_INT(discard(remote), TREADLE_OK);
    for (int i = 0; i < SENDERS; i++) close(fds[i]);
    end_process(server);
}

TEST(a_process_with_few_descriptors_has_a_remote_port_for_each, "MSG-8 MSG-9") {
    enum { PORTS = 8 };
    if (is_way("valgrind")) return; /* its limit of descriptors is one of its own */
    const char *names[PORTS];
    pid_t servers[PORTS];
    for (int i = 0; i < PORTS; i++) servers[i] = start_process(names[i] = new_name());
    pid_t child = fork();
    if (child == 0) {
        treadle_message_port remotes[PORTS];
        CHECK(treadle_after_fork_child() >= 0);
        poll_mode(REPLIES);
        limit_descriptors(next_descriptor() + PORTS + 6);
        for (int i = 0; i < PORTS; i++) remotes[i] = make_remote(names[i]);
        for (int i = 0; i < PORTS; i++) CHECK_SERVED(remotes[i]);
        for (int i = 0; i < PORTS; i++) discard(remotes[i]);
        _exit(0);
    }
    CHECK_INT(await_process(child), 0);
    for (int i = 0; i < PORTS; i++) end_process(servers[i]);
}

/* Files in memory count for the limit, whose signal ends a program that does not know it. */
TEST(a_limit_of_files_sizes_ends_no_program, "MSG-8 MSG-9") {
    enum { LIMIT = 50000, LARGE = 100000 };
    static char large[LARGE];
    const struct rlimit limit = {LIMIT, LIMIT};
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    struct server server;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    CHECK_SERVED(remote);
    CHECK_ERROR(treadle_message_port_send(remote, SILENT, large, sizeof large, LONG), TREADLE_E_SYSTEM, "memfd_create");
    treadle_error_info error = {.struct_size = sizeof error};
    treadle_last_error(&error);
    CHECK_INT(error.os_errno, EFBIG);
    sigset_t pending;
    CHECK_INT(sigpending(&pending), 0);
    CHECK_INT(sigismember(&pending, SIGXFSZ), 0);
    CHECK_SERVED(remote);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_server(&server);
}

/* --- Forks ----------------------------------------------------------------------------------------------------------------- */

TEST(the_child_of_a_fork_has_no_ring_of_its_parents, "MSG-7 MSG-9") {
    struct server server;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    for (int i = 0; i < 5; i++) CHECK_SERVED(remote);
    pid_t child = fork();
    if (child == 0) {
        char line[512];
        int rings = 0;
        FILE *maps = fopen("/proc/self/maps", "r");
        CHECK(maps != NULL);
        while (fgets(line, sizeof line, maps)) rings += strstr(line, "memfd:treadle") != NULL;
        _exit(rings);
    }
    CHECK_INT(await_process(child), 0);
    CHECK_SERVED(remote);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_server(&server);
}

TEST_MAIN()
