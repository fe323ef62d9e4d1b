/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_lie_test.c: message ports whose other side writes into the memory that both share what no port writes, or sends
 * memory that is no ring. */
#include "message_port_raw.h"

#include <sys/mman.h>

/* --- Senders that are none -------------------------------------------------------------------------------------------- */

/* Whether a port goes on with a connection: it is asked by the socket, behind what is in the ring. */
static void check_lie(treadle_message_port remote, const char *name, void (*lie)(struct raw_ring *), const char *what) {
    struct raw_ring ring;
    int fd = raw_greeted(name);
    CHECK(raw_ring(fd, &ring));
    atomic_store(&ring.memory->is_ready, 1);
    lie(&ring);
    ring_bell(ring.other_bell);
    if (!is_ended(fd)) check_failed(__FILE__, __LINE__, "%s is taken", what);
    drop_ring(&ring), close(fd);
    CHECK_SERVED(remote);
}
static void put(struct raw_ring *ring, struct head head) {
    put_frame(&ring->memory->to_server, ring->memory->bytes_to_server, ring->other_bell, head, "data", 4);
}
/* Every place in the ring has a frame, but no ring has one more. */
static void jump(struct raw_ring *ring) {
    struct head head = head_of(MESSAGE, 0, 0, 0);
    for (unsigned at = 0; at < RING_BYTES; at += sizeof head) memcpy(ring->memory->bytes_to_server + at, &head, sizeof head);
    atomic_store(&ring->memory->to_server.sent, RING_BYTES + sizeof head);
}
static void jump_back(struct raw_ring *ring) { atomic_store(&ring->memory->to_server.sent, (unsigned)-32); }
static void stop_between(struct raw_ring *ring) { atomic_store(&ring->memory->to_server.sent, 33); }
static void put_nothing(struct raw_ring *ring) { atomic_store(&ring->memory->to_server.sent, 32); }
static void put_more_than_there_is(struct raw_ring *ring) {
    put(ring, head_of(MESSAGE, 0, 1000, 0));
    atomic_store(&ring->memory->to_server.sent, 64);
}
static void put_too_much(struct raw_ring *ring) {
    put(ring, head_of(MESSAGE, 0, MOST_IN_RING + 1, 0));
    atomic_store(&ring->memory->to_server.sent, RING_BYTES);
}
static void put_end_of_numbers(struct raw_ring *ring) { put(ring, head_of(MESSAGE, 0, UINT64_MAX - 30, 0)); }
static void put_file(struct raw_ring *ring) { put(ring, head_of(MESSAGE, IN_FILE, 4, 0)); }
static void put_lent(struct raw_ring *ring) { put(ring, head_of(MESSAGE, LENT, 4, 0)); }
static void put_lent_file(struct raw_ring *ring) { put(ring, head_of(MESSAGE, IN_FILE | LENT, 4, 0)); }
static void put_greeting(struct raw_ring *ring) { put(ring, head_of(HELLO, 0, 4, 0)); }
static void put_reply(struct raw_ring *ring) { put(ring, head_of(REPLY, 0, 4, 1)); }
static void put_ring(struct raw_ring *ring) { put(ring, head_of(RING, 0, 0, 0)); }
static void put_kind(struct raw_ring *ring) { put(ring, head_of(99, 0, 4, 0)); }
static void say_received(struct raw_ring *ring) { atomic_store(&ring->memory->to_sender.received, 32); }
TEST(a_ring_whose_other_end_lies_ends_its_connection_alone, "MSG-9") {
    struct server server;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    CHECK_SERVED(remote);
    struct { void (*lie)(struct raw_ring *); const char *what; } lies[] = {
        {jump, "more than a ring has"}, {jump_back, "less than nothing"}, {stop_between, "a part of a unit"},
        {put_nothing, "a head of zeroes"}, {put_more_than_there_is, "data that is not there"}, {put_too_much, "too much data"},
        {put_end_of_numbers, "a length that overflows"}, {put_file, "a file that cannot come"}, {put_lent, "a lent file that is none"},
        {put_lent_file, "a lent file that cannot come"}, {put_greeting, "a greeting"},
        {put_reply, "a reply"}, {put_ring, "a ring"}, {put_kind, "an unknown kind"}, {say_received, "more received than sent"},
    };
    int before = 0;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) check_lie(remote, server.name, lies[i].lie, lies[i].what);
        if (round == 0) before = count_descriptors();
    }
    CHECK_INT(count_descriptors(), before);
    CHECK_INT(server.ends, 0);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_server(&server);
}

TEST(a_sender_that_spoils_bells_and_flags_loses_only_its_own_messages, "MSG-9") {
    struct server server;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    CHECK_SERVED(remote);
    struct raw_ring ring;
    uint64_t most = UINT64_MAX - 2, value;
    int fd = raw_greeted(server.name);
    CHECK(raw_ring(fd, &ring));
    atomic_store(&ring.memory->is_ready, 1);
    /* Bells that would hold up an ordinary write, and that are not at rest any more. */
    for (int i = 0; i < 2; i++) {
        int bell = i ? ring.own_bell : ring.other_bell;
        CHECK_INT(fcntl(bell, F_SETFL, 0), 0);
        CHECK_INT(write(bell, &most, sizeof most), sizeof most);
    }
    for (unsigned i = 0; i < 100; i++) {
        atomic_store(&ring.memory->to_sender.is_asleep, 1);
        put_frame(&ring.memory->to_server, ring.memory->bytes_to_server, ring.other_bell, head_of(MESSAGE, WANTS_REPLY, 0, i + 1), NULL, 0);
        CHECK_SERVED(remote);
    }
    while (atomic_load(&ring.memory->to_server.received) < 3200) CHECK_SERVED(remote);
    /* Bells without a count are not heard. */
    for (int i = 0; i < 2; i++) CHECK_INT(read(i ? ring.own_bell : ring.other_bell, &value, sizeof value), sizeof value);
    for (int i = 0; i < 20; i++) CHECK_SERVED(remote);
    /* The file cannot become shorter. */
    CHECK_INT(ftruncate(ring.file, 4096), -1);
    CHECK_INT(errno, EPERM);
    drop_ring(&ring), close(fd);
    CHECK_SERVED(remote);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_server(&server);
}

/* --- Servers that are none --------------------------------------------------------------------------------------------- */

static int ring_file(size_t size, size_t written, unsigned seals) {
    static char block[4096];
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(fd >= 0);
    for (size_t done = 0; done < written; done += sizeof block) CHECK_INT(write(fd, block, sizeof block), sizeof block);
    CHECK_INT(ftruncate(fd, (off_t)size), 0);
    CHECK_INT(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}
/* A remote port is sent these descriptors as a ring; whether it has taken it, or goes on by the socket. */
static bool is_adopted(const int *passed, size_t count, struct head head, bool *out_goes_on) {
    const char *name = new_name();
    int listener = raw_listen(name), descriptors;
    char bytes[512];
    struct head asked;
    treadle_message_port remote = make_remote(name);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    CHECK(recv(fd, bytes, sizeof bytes, 0) > 0);
    CHECK(recv(fd, &asked, sizeof asked, 0) > 0);
    CHECK(asked.kind == CALL_KIND && asked.serial == RING_SERIAL);
    descriptors = count_descriptors();
    CHECK_INT(raw_send(fd, &head, sizeof head, passed, count, 0), sizeof head);
    treadle_status status = treadle_message_port_send(remote, 1, "small", 5, LONG);
    *out_goes_on = status == TREADLE_OK;
    ssize_t size = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    bool by_socket = size == (ssize_t)sizeof asked + 5;
    CHECK(*out_goes_on || status == TREADLE_E_CLOSED);
    if (!*out_goes_on || by_socket) CHECK(count_descriptors() <= descriptors);
    CHECK_INT(discard(remote), TREADLE_OK);
    close(fd), close(listener);
    return *out_goes_on && !by_socket;
}
TEST(a_ring_that_could_change_or_hold_up_is_not_used, "MSG-9") {
    enum { SIZE_OF = sizeof(struct ring_memory) };
    const unsigned all = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
    int good = ring_file(SIZE_OF, SIZE_OF, all), pipes[2], bell = eventfd(1, EFD_CLOEXEC), other = eventfd(1, EFD_CLOEXEC);
    int epoll = epoll_create1(EPOLL_CLOEXEC), null = open("/dev/null", O_RDWR | O_CLOEXEC);
    bool goes_on;
    const unsigned taken = 2; /* the greeting and the question: the next message goes by the ring */
    CHECK_INT(pwrite(good, &taken, sizeof taken, offsetof(struct ring_memory, to_server.taken)), sizeof taken);
    CHECK_INT(pipe2(pipes, O_CLOEXEC), 0);
    struct { const char *what; int passed[3]; bool is_good; } rings[] = {
        {"good", {good, bell, other}, true},
        {"not sealed", {ring_file(SIZE_OF, SIZE_OF, 0), bell, other}, false},
        {"able to shrink", {ring_file(SIZE_OF, SIZE_OF, F_SEAL_SEAL | F_SEAL_GROW), bell, other}, false},
        {"able to be sealed", {ring_file(SIZE_OF, SIZE_OF, F_SEAL_SHRINK | F_SEAL_GROW), bell, other}, false},
        {"not able to be written", {ring_file(SIZE_OF, SIZE_OF, all | F_SEAL_WRITE), bell, other}, false},
        {"short", {ring_file(SIZE_OF - 4096, SIZE_OF - 4096, all), bell, other}, false},
        {"long", {ring_file(SIZE_OF + 4096, SIZE_OF + 4096, all), bell, other}, false},
        {"full of holes", {ring_file(SIZE_OF, 4096, all), bell, other}, false},
        {"a pipe", {pipes[0], bell, other}, false},
        {"with a pipe for a bell", {good, pipes[1], other}, false},
        {"with a pipe for the other bell", {good, bell, pipes[1]}, false},
        {"with an epoll set for a bell", {good, epoll, other}, false},
        {"with a device for a bell", {good, bell, null}, false},
        {"with a file for a bell", {good, good, other}, false},
    };
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
        bool is_taken = is_adopted(rings[i].passed, 3, head_of(RING, 0, 0, 0), &goes_on);
        if (!goes_on || is_taken != rings[i].is_good) check_failed(__FILE__, __LINE__, "a ring that is %s", rings[i].what);
        if (rings[i].passed[0] != good && rings[i].passed[0] != pipes[0]) close(rings[i].passed[0]);
    }
    /* What no server sends ends the port. */
    for (size_t count = 0; count < 6; count++) {
        int passed[6] = {good, bell, other, bell, bell, bell};
        is_adopted(passed, count, head_of(RING, 0, 0, 0), &goes_on);
        CHECK_INT(goes_on, count == 3);
    }
    int passed[3] = {good, bell, other};
    is_adopted(passed, 3, head_of(RING, 0, 0, 1), &goes_on);
    CHECK(!goes_on);
    is_adopted(passed, 3, head_of(REPLY, 0, 0, RING_SERIAL), &goes_on);
    CHECK(!goes_on);
    /* A server that knows of no rings. */
    CHECK(!is_adopted(NULL, 0, head_of(REPLY, 0, 0, RING_SERIAL), &goes_on));
    CHECK(goes_on);
    close(good), close(bell), close(other), close(epoll), close(null), close(pipes[0]), close(pipes[1]);
}

TEST(a_ring_comes_once_and_only_to_who_has_asked, "MSG-9") {
    const char *name = new_name();
    int listener = raw_listen(name);
    char bytes[512];
    struct head ring = head_of(RING, 0, 0, 0);
    int passed[3] = {ring_file(sizeof(struct ring_memory), sizeof(struct ring_memory), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW),
                     eventfd(1, EFD_CLOEXEC), eventfd(1, EFD_CLOEXEC)};
    treadle_message_port remote = make_remote(name);
    int fd = accept(listener, NULL, NULL);
    CHECK(recv(fd, bytes, sizeof bytes, 0) > 0 && recv(fd, bytes, sizeof bytes, 0) > 0);
    for (int i = 0; i < 2; i++) CHECK_INT(raw_send(fd, &ring, sizeof ring, passed, 3, 0), sizeof ring);
    CHECK_INT(treadle_message_port_send(remote, 1, "small", 5, LONG), TREADLE_E_CLOSED);
    CHECK(!treadle_is_valid(remote));
    CHECK_INT(treadle_release(remote), TREADLE_OK);
    close(fd), close(listener), close(passed[0]), close(passed[1]), close(passed[2]);
}

TEST_MAIN()
