/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_stranger_test.c: nothing that another user, or another process, does with what it has sent keeps a message port's lock, or
 * its loop. And senders to a port that has yet to accept their connection: its queue is full, or it does not take files from them yet. */
#include "message_port_raw.h"

#include "faults.h"

#include <poll.h>
#include <sys/resource.h>

#ifndef SANITIZED

enum { LARGE = 2 << 20 };
static unsigned char bytes[LARGE];
static void fill(void) {
    for (size_t i = 0; i < LARGE; i++) bytes[i] = (unsigned char)(i * 31 + i / 251);
}

/* --- Looks at files -------------------------------------------------------------------------------------------- */

static atomic_int looks;
static atomic_bool holds_looks;
static sem_t is_looking, go_on;
off_t lseek(int fd, off_t offset, int whence) {
    if (whence == SEEK_HOLE) {
        atomic_fetch_add(&looks, 1);
        if (atomic_load(&holds_looks)) sem_post(&is_looking), await(&go_on);
    }
    return REAL(lseek)(fd, offset, whence);
}

/* As if another process had begun a fallocate of the file. */
TEST(a_look_for_holes_holds_no_lock, "MSG-9 OBJ-7") {
    struct server server;
    char name[64];
    size_t length;
    fill();
    sem_init(&is_looking, 0, 0), sem_init(&go_on, 0, 0);
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    CHECK_SERVED(remote);
    atomic_store(&holds_looks, true);
    CHECK_INT(treadle_message_port_send(remote, SILENT, bytes, LARGE, LONG), TREADLE_OK);
    await(&is_looking);
    CHECK_INT(treadle_message_port_get_name(server.port, name, sizeof name, &length), TREADLE_OK);
    treadle_message_port other = make_local(new_name(), NULL, NULL);
    CHECK_INT(discard(other), TREADLE_OK);
    atomic_store(&holds_looks, false);
    sem_post(&go_on);
    CHECK_SERVED(remote);
    CHECK_INT(server.messages, 3);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_server(&server);
}

/* --- Another user's files -------------------------------------------------------------------------------------- */

struct taken {
    int count, whole;
};
static void take(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    struct taken *taken = info;
    (void)port;
    CHECK_INT(message->sender_user, NOBODY);
    taken->count++;
    if (message->size == LARGE && memcmp(message->data, bytes, LARGE) == 0) taken->whole++;
    if (message->flags & TREADLE_MESSAGE_PORT_WANTS_REPLY) treadle_message_port_reply(message->call, NULL, 0);
}
/* Whether the connection of a process of another user is ended that sends a file of the size of all the bytes. */
static bool is_refused_from_nobody(const char *name, size_t written, struct taken *taken) {
    struct sockaddr_un address;
    socklen_t size = address_of(name, &address);
    int told[2];
    CHECK_INT(pipe(told), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        int file = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        CHECK_INT(pwrite(file, bytes, written, 0), written);
        CHECK_INT(ftruncate(file, LARGE), 0);
        CHECK_INT(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
        become_nobody();
        int fd = raw_socket();
        CHECK_INT(connect(fd, (struct sockaddr *)&address, size), 0);
        greet(fd, name);
        struct head head = head_of(MESSAGE, IN_FILE, LARGE, 0);
        CHECK_INT(raw_send(fd, &head, sizeof head, &file, 1, 0), sizeof head);
        bool ended = is_ended(fd);
        CHECK_INT(write(told[1], &ended, 1), 1);
        _exit(0);
    }
    close(told[1]);
    struct pollfd one = {.fd = told[0], .events = POLLIN};
    bool ended = false;
    *taken = (struct taken){0};
    while (poll(&one, 1, 0) == 0) {
        CHECK(treadle_loop_run(treadle_loop_current(), M, MILLISECONDS(1), 0) >= 0);
        progress();
    }
    CHECK_INT(read(told[0], &ended, 1), 1);
    close(told[0]);
    CHECK_INT(await_process(child), 0);
    return ended;
}
TEST(large_files_of_another_user_are_copied_without_a_look_for_holes, "MSG-9") {
    if (geteuid() != 0) return; /* only root can be several users */
    struct taken taken = {0};
    const char *name = new_name();
    treadle_message_port local = serve_nobody(name, take, &taken);
    fill();
    atomic_store(&looks, 0);
    CHECK(!is_refused_from_nobody(name, LARGE, &taken));
    CHECK_INT(taken.count, 2);
    CHECK_INT(taken.whole, 1);
    /* A file that takes less memory than its copy would. */
    CHECK(is_refused_from_nobody(name, 4096, &taken));
    CHECK_INT(taken.count, 0);
    CHECK_INT(looks, 0);
    CHECK_INT(discard(local), TREADLE_OK);
}

#endif

/* --- Connections that are yet to be accepted ------------------------------------------------------------------- */

enum { FILE_SIZE = 100000 };
static char large[FILE_SIZE];

/* Connections that are closed again stay in the queue, which is full when this returns. */
static void fill_the_queue(const char *name) {
    struct sockaddr_un address;
    socklen_t size = address_of(name, &address);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (geteuid() == 0) become_nobody();
        for (;;) {
            int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
            CHECK(fd >= 0);
            if (connect(fd, (struct sockaddr *)&address, size)) break;
            close(fd);
        }
        CHECK_INT(errno, EAGAIN);
        _exit(0);
    }
    CHECK_INT(await_process(child), 0);
}

#ifndef SANITIZED
static pid_t stopped;
static int connects;
/* The first two find no place, before and after a port of this process would have made room; the third waits. */
static void go_on_at_the_third_connect(long number) {
    if (number == SYS_connect && ++connects == 3) CHECK_INT(kill(stopped, SIGCONT), 0);
}
TEST(a_sender_waits_for_a_place_in_a_full_queue, "MSG-3 MSG-9") {
    const char *name = new_name();
    stopped = start_process(name);
    CHECK_INT(kill(stopped, SIGSTOP), 0);
    fill_the_queue(name);
    connects = 0;
    atomic_store(&before_call, go_on_at_the_third_connect);
    treadle_message_port remote = make_remote(name);
    atomic_store(&before_call, NULL);
    CHECK(connects >= 3); /* more, if a signal comes */
    CHECK_SERVED(remote);
    end_process(stopped);
    CHECK_INT(discard(remote), TREADLE_OK);
}
#endif

TEST(a_port_of_this_process_makes_room_itself, "MSG-3 MSG-6 MSG-9") {
    struct received got = {0};
    const char *name = new_name();
    treadle_message_port local = serve_here(name, receive_and_keep, &got);
    fill_the_queue(name);
    treadle_message_port remote = make_remote(name);
    /* A file as well, before the loop has run. */
    CHECK_INT(treadle_message_port_send(remote, SILENT, large, FILE_SIZE, LONG), TREADLE_OK);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

/* Clients that connect while the process has no descriptor left are refused one after the other, each by the reserved descriptor. */
TEST(each_is_turned_away_while_no_descriptor_is_left, "MSG-9") {
    struct received got = {0};
    const char *name = new_name();
    treadle_message_port local = serve_here(name, receive_and_keep, &got);
    int senders[] = {raw_connect(name), raw_connect(name), raw_connect(name)};
    struct rlimit limit, none;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int next = dup(0);
    CHECK(next > 0);
    close(next);
    none = (struct rlimit){(rlim_t)next, limit.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 20; i++) treadle_loop_run(treadle_loop_current(), M, 0, 0);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < 3; i++) {
        char byte;
        CHECK_INT(recv(senders[i], &byte, 1, MSG_DONTWAIT), 0);
        close(senders[i]);
    }
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(a_file_waits_until_the_connection_is_accepted, "MSG-6 MSG-9") {
    int takes = 0, fd = raw_socket();
    bool passes_all = setsockopt(fd, SOL_SOCKET, 83 /* SO_PASSRIGHTS */, &takes, sizeof takes) != 0; /* an older kernel */
    struct reply reply = {0};
    const char *name = new_name();
    pid_t server = start_process(name);
    close(fd);
    CHECK_INT(kill(server, SIGSTOP), 0);
    treadle_message_port remote = make_remote(name);
    treadle_status status = treadle_message_port_send(remote, SILENT, large, FILE_SIZE, MILLISECONDS(1));
    CHECK_INT(status, passes_all ? TREADLE_OK : TREADLE_E_TIMEOUT);
    CHECK_INT(kill(server, SIGCONT), 0);
    CHECK_INT(treadle_message_port_send(remote, SILENT, large, FILE_SIZE, LONG), TREADLE_OK);
    CHECK_INT(request_text(remote, COUNT, "", LONG, &reply), TREADLE_OK);
    CHECK_REPLY(reply, passes_all ? "3" : "2");
    end_process(server);
    CHECK_INT(discard(remote), TREADLE_OK);
}

TEST_MAIN()
