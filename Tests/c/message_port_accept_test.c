/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_accept_test.c: senders to a port that has yet to accept their connection: its queue is full, or it does not take files
 * from them yet. */
#include "message_port_raw.h"

#include "faults.h"

enum { LARGE = 100000 };
static char large[LARGE];

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
    kill(stopped, SIGKILL), await_process(stopped);
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
    CHECK_INT(treadle_message_port_send(remote, SILENT, large, LARGE, LONG), TREADLE_OK);
    CHECK_INT(discard(remote), TREADLE_OK);
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
    treadle_status status = treadle_message_port_send(remote, SILENT, large, LARGE, MILLISECONDS(1));
    CHECK_INT(status, passes_all ? TREADLE_OK : TREADLE_E_TIMEOUT);
    CHECK_INT(kill(server, SIGCONT), 0);
    CHECK_INT(treadle_message_port_send(remote, SILENT, large, LARGE, LONG), TREADLE_OK);
    CHECK_INT(request_text(remote, COUNT, "", LONG, &reply), TREADLE_OK);
    CHECK_REPLY(reply, passes_all ? "3" : "2");
    kill(server, SIGKILL), await_process(server);
    CHECK_INT(discard(remote), TREADLE_OK);
}

TEST_MAIN()
