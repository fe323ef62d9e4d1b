/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_flood_test.c: message ports whose other side is another user, floods, stays silent, or stops. */
#include "message_port_raw.h"

#include <sys/resource.h>

/* --- Other users ---------------------------------------------------------------------------------------------- */

enum { OTHER = 65533 };
/* What a process of another user comes to. */
static int as_user(uid_t user, int (*body)(const char *), const char *name) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        if (setresuid(user, user, user) != 0) _exit(99);
        _exit(body(name));
    }
    int status = await_process(child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}
static int ask_root(const char *name) {
    treadle_message_port_context context = {.struct_size = sizeof context, .has_owner = 1, .owner = 0};
    treadle_message_port port = NULL;
    struct reply reply = {0};
    /* Its own user's name is another one. */
    if (treadle_message_port_create_remote(name, NULL, &port) != TREADLE_E_NOT_FOUND) return 10;
    /* Refused at once, or when it has something to say. */
    treadle_status status = treadle_message_port_create_remote(name, &context, &port);
    if (status != TREADLE_OK) return status == TREADLE_E_NOT_FOUND ? 2 : 11;
    switch (request_text(port, ECHO, "other", LONG, &reply)) {
    case TREADLE_OK: return reply.size == 5 && memcmp(reply.data, "other", 5) == 0 ? 1 : 12;
    case TREADLE_E_CLOSED:
    case TREADLE_E_STATE: return 2;
    default: return 13;
    }
}
static int squat(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "treadle/0/%s", name), fd = raw_socket();
    if (bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) || listen(fd, 8)) return 20;
    sleep(300); /* until it is killed */
    return 21;
}
TEST(other_users_are_refused_unless_they_are_listed, "MSG-9") {
    if (geteuid() != 0) return; /* only root can be several users */
    struct server server;
    const uint32_t users[] = {12345, NOBODY};
    const char *open_name = new_name();
    pid_t open_server = fork();
    if (open_server == 0) {
        struct server open = {.name = open_name};
        treadle_message_port_context context = {.struct_size = sizeof context, .receive = server_receive, .info = &open, .users = users, .user_count = 2};
        treadle_message_port port = NULL;
        CHECK_INT(treadle_message_port_create_local(open_name, &context, &port), TREADLE_OK);
        CHECK_INT(treadle_loop_add(treadle_loop_current(), port, M), TREADLE_OK);
        treadle_loop_run(treadle_loop_current(), M, TREADLE_FOREVER, 0);
        _exit(0);
    }
    const char *squatted = new_name(), *closed_name = new_name();
    pid_t closed = start_process(closed_name), squatter = fork();
    if (squatter == 0) {
        if (setresuid(NOBODY, NOBODY, NOBODY) != 0) _exit(99);
        _exit(squat(squatted));
    }
    CHECK_INT(as_user(NOBODY, ask_root, closed_name), 2);
    struct sockaddr_un address;
    for (socklen_t size = address_of(open_name, &address), is_there = 0; !is_there;) {
        int fd = raw_socket();
        is_there = connect(fd, (struct sockaddr *)&address, size) == 0;
        close(fd);
        sched_yield();
    }
    CHECK_INT(as_user(NOBODY, ask_root, open_name), 1);
    CHECK_INT(as_user(OTHER, ask_root, open_name), 2);
    /* Somebody else has a name of this user's: he gets no messages. */
    treadle_message_port port = NULL;
    treadle_status status;
    for (bool is_there = false; !is_there; sched_yield()) {
        int fd = raw_socket();
        socklen_t size = address_of(squatted, &address);
        is_there = connect(fd, (struct sockaddr *)&address, size) == 0;
        close(fd);
    }
    CHECK_ERROR(treadle_message_port_create_remote(squatted, NULL, &port), TREADLE_E_NOT_FOUND, "another user");
    treadle_message_port_context context = {.struct_size = sizeof context};
    status = treadle_message_port_create_local(squatted, &context, &port);
    CHECK_INT(status, TREADLE_E_EXISTS);
    kill(squatter, SIGKILL), kill(open_server, SIGKILL), kill(closed, SIGKILL);
    await_process(squatter), await_process(open_server), await_process(closed);
    start_server(&server, squatted);
    end_server(&server);
}

/* --- Floods ------------------------------------------------------------------------------------------------------ */

TEST(who_floods_does_not_keep_others_waiting, "MSG-6 PORT-6") {
    enum { FLOODERS = 10 };
    struct server server = {.name = new_name()};
    int flooders[FLOODERS];
    struct head head = head_of(MESSAGE, 0, 0, 0);
    head.id = SILENT;
    server_open(&server);
    CHECK_INT(treadle_loop_add(server.loop, server.port, REPLIES), TREADLE_OK);
    treadle_message_port remote = make_remote(server.name);
    long queued = 0;
    for (int i = 0; i < FLOODERS; i++) {
        flooders[i] = raw_greeted(server.name);
        while (raw_send(flooders[i], &head, sizeof head, NULL, 0, MSG_DONTWAIT) > 0) queued++;
        CHECK_INT(errno, EAGAIN); /* the kernel bounds it */
    }
    CHECK(queued > 10 * FLOODERS);
    /* In turn: before a message of the remote port come few of the others. */
    for (int i = 0; i < 20; i++) {
        int before = server.messages;
        CHECK_SERVED(remote);
        CHECK(server.messages - before <= 2 * FLOODERS + 2);
    }
    for (int i = 0; i < FLOODERS; i++) close(flooders[i]);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(treadle_release(server.loop), TREADLE_OK);
    CHECK_INT(discard(server.port), TREADLE_OK);
}

TEST(who_reads_no_replies_is_not_received_from_and_holds_nobody_up, "MSG-5 MSG-6") {
    struct server server;
    struct reply reply = {0};
    char text[] = "60000";
    int fd, sent = 0;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    fd = raw_greeted(server.name);
    struct { struct head head; char text[5]; } ask = {.head = head_of(MESSAGE, WANTS_REPLY, 5, 1)};
    ask.head.id = SIZE, memcpy(ask.text, text, 5);
    while (sent < 3000 && raw_send(fd, &ask, sizeof ask.head + 5, NULL, 0, MSG_DONTWAIT) > 0) {
        sent++;
        ask.head.serial++;
        if (sent % 10 == 0) CHECK_SERVED(remote);
    }
    /* The queue is full, since the server waits with the next message until the reply is taken. */
    CHECK_INT(errno, EAGAIN);
    long resident = resident_kilobytes();
    for (int i = 0; i < 200; i++) CHECK_SERVED(remote);
    CHECK(resident_kilobytes() - resident < 20000);
    /* As soon as it reads it gets all of them. */
    static char room[70000];
    for (int i = 1; i <= sent; i++) {
        ssize_t size = recv(fd, room, sizeof room, 0);
        struct head head;
        CHECK_INT(size, sizeof head + 60000);
        memcpy(&head, room, sizeof head);
        CHECK_INT(head.serial, i);
    }
    /* And who goes without a look at them leaves nothing. */
    for (int i = 0; i < 8; i++) raw_send(fd, &ask, sizeof ask.head + 5, NULL, 0, MSG_DONTWAIT);
    CHECK_SERVED(remote);
    close(fd);
    CHECK_SERVED(remote);
    CHECK_INT(request_text(remote, ECHO, "x", LONG, &reply), TREADLE_OK);
    end_server(&server);
    CHECK_INT(discard(remote), TREADLE_OK);
}

/* Processes that open many connections, which greet or not, say so, and wait for their end. No process has more of them than the limit
 * of a small machine allows. */
enum { OF_EACH = 200, MANY = 3000 };
struct crowd {
    pid_t processes[MANY / OF_EACH + 1];
    int count;
};
static void crowd_start(struct crowd *crowd, const char *name, int connections, bool greets) {
    struct sockaddr_un address;
    socklen_t size = address_of(name, &address);
    int tell[2];
    CHECK_INT(pipe(tell), 0);
    for (crowd->count = 0; connections > 0; connections -= OF_EACH) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            for (int i = 0; i < connections && i < OF_EACH; i++) {
                int fd = raw_socket();
                CHECK_INT(connect(fd, (struct sockaddr *)&address, size), 0);
                if (greets) send_frame(fd, head_of(HELLO, 0, strlen(name), 0), name, strlen(name));
            }
            CHECK_INT(write(tell[1], "o", 1), 1);
            for (;;) pause();
        }
        crowd->processes[crowd->count++] = child;
    }
    close(tell[1]);
    for (int i = 0; i < crowd->count; i++) {
        char byte;
        CHECK_INT(read(tell[0], &byte, 1), 1); /* 0 if all have ended */
    }
    close(tell[0]);
}
static void crowd_end(struct crowd *crowd) {
    for (int i = 0; i < crowd->count; i++) kill(crowd->processes[i], SIGKILL);
    for (int i = 0; i < crowd->count; i++) await_process(crowd->processes[i]);
}
static void crowds(bool greets) {
    enum { ROOM = 150 };
    const char *name = new_name();
    struct crowd many;
    /* The server has room for few descriptors. */
    int ready[2];
    char byte;
    CHECK_INT(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {ROOM, ROOM};
        struct server server = {.name = name, .is_process = true};
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
        server_open(&server);
        CHECK_INT(write(ready[1], "r", 1), 1);
        treadle_loop_run(server.loop, M, TREADLE_FOREVER, 0);
        _exit(0);
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    treadle_message_port remote = make_remote(name);
    CHECK_SERVED(remote);
    crowd_start(&many, name, scaled(MANY), greets);
    for (int i = 0; i < 20; i++) CHECK_SERVED(remote);
    if (greets) {
        crowd_end(&many); /* or there is no room */
        for (int i = 0; i < 20; i++) CHECK_SERVED(remote);
    }
    /* There is room for one who has something to say. */
    pid_t late = fork();
    if (late == 0) {
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        for (treadle_status status = -1; status != TREADLE_OK;) {
            treadle_message_port own = make_remote(name);
            status = request_text(own, ECHO, "late", LONG, NULL);
            discard(own);
        }
        _exit(0);
    }
    CHECK_INT(await_process(late), 0);
    CHECK_SERVED(remote);
    if (!greets) crowd_end(&many);
    CHECK_SERVED(remote);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_process(child);
}
TEST(thousands_of_connections_that_say_nothing_leave_room, "MSG-9") { crowds(false); }
TEST(more_senders_than_there_is_room_for_are_turned_away, "MSG-9") { crowds(true); }

TEST(a_stopped_process_holds_nobody_up, "MSG-6 MSG-7") {
    const char *name = new_name(), *silent = new_name();
    pid_t server = start_process(name), stopped = start_process(silent);
    treadle_message_port remote = make_remote(name), other = make_remote(silent);
    kill(stopped, SIGSTOP);
    CHECK_INT(request_text(other, ECHO, "anybody?", MILLISECONDS(30), NULL), TREADLE_E_NO_REPLY);
    CHECK_INT(treadle_message_port_check(other), TREADLE_OK);
    CHECK_SERVED(remote);
    end_process(stopped);
    CHECK_INT(treadle_message_port_check(other), TREADLE_E_STATE);
    end_process(server);
    CHECK_INT(treadle_message_port_check(remote), TREADLE_E_STATE);
    CHECK_INT(treadle_release(remote), TREADLE_OK);
    CHECK_INT(treadle_release(other), TREADLE_OK);
}

TEST_MAIN()
