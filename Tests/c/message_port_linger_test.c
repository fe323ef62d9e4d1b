/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_linger_test.c: other users send descriptors whose close waits, TCP sockets with unsent data that linger for longer than
 * any test: they hold up nobody. By a kernel that refuses such descriptors (SO_PASSRIGHTS), and as by an older one, which does not. */
#include "message_port_raw.h"

#include "faults.h"
#include "refuse.h"

#include <netinet/in.h>
#include <poll.h>

enum { MOST_OF_USER = 64 };

#ifndef SANITIZED

/* --- The attacker ------------------------------------------------------------------------------------------------ */

/* The end of a connection whose last close waits for an hour, unless its other end goes. -1 where there is no loopback. */
static int lingering(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct linger hour = {.l_onoff = 1, .l_linger = 3600};
    socklen_t size = sizeof address;
    static char much[65536];
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1)) return -1;
    if (getsockname(listener, (struct sockaddr *)&address, &size)) return -1;
    if (connect(fd, (struct sockaddr *)&address, size) && errno != EINPROGRESS) return -1;
    CHECK(accept(listener, NULL, NULL) >= 0); /* is never read */
    while (send(fd, much, sizeof much, MSG_NOSIGNAL) > 0) {}
    CHECK_INT(setsockopt(fd, SOL_SOCKET, SO_LINGER, &hour, sizeof hour), 0);
    CHECK_INT(close(listener), 0);
    return fd;
}
static bool have_loopback(void) {
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(lingering() < 0);
    status = await_process(child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
/* Only root can be several users. */
static bool can_attack(const char *test) {
    const char *reason = geteuid() != 0 ? "only root can be several users" : !have_loopback() ? "there is no loopback" : NULL;
    if (reason) printf("%s: skipped, since %s\n", test, reason);
    return !reason;
}
static void send_lingering(int fd, struct head head, int flags) {
    int passed = lingering();
    if (raw_send(fd, &head, sizeof head, &passed, 1, flags) > 0) close(passed); /* it is the receiver's now */
}

enum attack { CONNECTS, GREETS, SQUATS, CONNECTS_AS_OWN };
struct attacker {
    pid_t process;
    int told;
};
static void attack(const struct sockaddr_un *address, socklen_t size, const char *name, enum attack kind, int count, int tell) {
    if (kind != CONNECTS_AS_OWN) become_nobody();
    CHECK_INT(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
    if (kind == SQUATS) {
        int listener = raw_socket();
        CHECK_INT(bind(listener, (const struct sockaddr *)address, size), 0);
        CHECK_INT(listen(listener, 16), 0);
        CHECK_INT(write(tell, "l", 1), 1);
        for (;;) {
            int fd = accept(listener, NULL, NULL);
            send_lingering(fd, head_of(REPLY, IN_FILE, 100000, 1), MSG_DONTWAIT);
            CHECK_INT(write(tell, "s", 1), 1);
        }
    }
    for (int i = 0; i < count; i++) {
        int fd = raw_socket();
        CHECK_INT(connect(fd, (const struct sockaddr *)address, size), 0);
        if (kind == GREETS) greet(fd, name);
        send_lingering(fd, head_of(MESSAGE, IN_FILE, 100000, 0), kind == GREETS ? 0 : MSG_DONTWAIT);
    }
    CHECK_INT(write(tell, "s", 1), 1);
    for (;;) pause();
}
/* It tells when it has sent what it sends, or listens. */
static struct attacker begin_attack(const char *name, enum attack kind, int count) {
    struct sockaddr_un address;
    socklen_t size = address_of(name, &address);
    int told[2];
    CHECK_INT(pipe(told), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(told[0]);
        attack(&address, size, name, kind, count, told[1]);
    }
    close(told[1]);
    return (struct attacker){child, told[0]};
}
static struct attacker start_attack(const char *name, enum attack kind, int count) {
    struct attacker attacker = begin_attack(name, kind, count);
    char byte;
    CHECK_INT(read(attacker.told, &byte, 1), 1);
    return attacker;
}
static void end_attack(struct attacker *attacker) {
    kill(attacker->process, SIGKILL);
    await_process(attacker->process);
    close(attacker->told);
}

/* In a child, also as on a kernel that passes all descriptors. */
static void on_kernel(bool is_old, void (*body)(void)) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_INT(prctl(PR_SET_PDEATHSIG, SIGKILL), 0);
        CHECK(treadle_after_fork_child() >= 0);
        if (is_old) CHECK(refuse_by_name("setsockopt_passrights", strlen("setsockopt_passrights"), ENOPROTOOPT));
        body();
        _exit(0);
    }
    CHECK_INT(await_process(child), 0);
}
static void on_each_kernel(void (*body)(void)) { on_kernel(false, body), on_kernel(true, body); }

/* --- What it attacks ---------------------------------------------------------------------------------------------- */

/* It has accepted all that came before. */
static void check_accepts(const char *name) {
    int fd = raw_greeted(name);
    CHECK(!is_ended(fd));
    close(fd);
}

/* While the server is in a callback, so that it accepts nobody before what is sent is there. */
static struct attacker attack_while_held(struct server *server, treadle_message_port remote, int count) {
    CHECK_INT(treadle_message_port_send(remote, HOLD, NULL, 0, LONG), TREADLE_OK);
    await(&server->is_holding);
    struct attacker attacker = start_attack(server->name, CONNECTS, count);
    sem_post(&server->go_on);
    return attacker;
}

static void refuse_a_stranger(void) {
    struct server server;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    CHECK_SERVED(remote);
    struct attacker attacker = attack_while_held(&server, remote, 3);
    check_accepts(server.name);
    CHECK_SERVED(remote);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_server(&server);
    end_attack(&attacker);
}
TEST(a_stranger_whose_descriptors_linger_holds_nobody_up, "MSG-9") {
    if (can_attack("a_stranger_whose_descriptors_linger_holds_nobody_up")) on_each_kernel(refuse_a_stranger);
}

static void end_without_accepting_from(enum attack kind) {
    const char *name = new_name();
    treadle_message_port local = make_local(name, NULL, NULL);
    struct attacker attacker = start_attack(name, kind, 3);
    CHECK_INT(discard(local), TREADLE_OK);
    local = make_local(name, NULL, NULL);
    CHECK_INT(treadle_message_port_set_name(local, new_name()), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
    end_attack(&attacker);
}
static void end_without_accepting(void) { end_without_accepting_from(CONNECTS); }
/* A user that the process's user namespace does not map may look like this. */
static void end_without_accepting_own(void) { end_without_accepting_from(CONNECTS_AS_OWN); }
TEST(descriptors_in_connections_of_the_own_user_that_were_never_accepted_hold_nobody_up, "MSG-7 MSG-9") {
    if (have_loopback()) on_each_kernel(end_without_accepting_own);
    else printf("descriptors_in_connections_of_the_own_user_that_were_never_accepted_hold_nobody_up: skipped, since there is no loopback\n");
}
TEST(descriptors_in_connections_that_were_never_accepted_hold_nobody_up, "MSG-7 MSG-9") {
    if (can_attack("descriptors_in_connections_that_were_never_accepted_hold_nobody_up")) on_each_kernel(end_without_accepting);
}

static void disconnect_a_listed_user(void) {
    struct server server = {.name = new_name()};
    server.port = serve_nobody(server.name, server_receive, &server);
    treadle_message_port remote = make_remote(server.name);
    struct attacker attacker = begin_attack(server.name, GREETS, 3);
    struct pollfd told = {.fd = attacker.told, .events = POLLIN};
    /* Its frames are taken while this thread runs the loop. */
    while (poll(&told, 1, 0) == 0) CHECK_SERVED(remote);
    for (int i = 0; i < 20; i++) CHECK_SERVED(remote);
    end_attack(&attacker);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(server.port), TREADLE_OK);
}
TEST(a_listed_user_whose_descriptors_linger_holds_nobody_up, "MSG-9") {
    if (can_attack("a_listed_user_whose_descriptors_linger_holds_nobody_up")) on_each_kernel(disconnect_a_listed_user);
}

/* The connection to a squatter is shut when the squatter has sent what it sends. */
static int squatter_tells;
static void await_the_squatter(long number) {
    char byte;
    if (number != SYS_shutdown || squatter_tells < 0) return;
    int fd = squatter_tells;
    squatter_tells = -1;
    CHECK_INT(read(fd, &byte, 1), 1);
}
static void connect_to_a_squatter(void) {
    const char *name = new_name();
    treadle_message_port port = NULL;
    struct attacker attacker = start_attack(name, SQUATS, 0);
    for (int i = 0; i < 3; i++) {
        squatter_tells = attacker.told;
        atomic_store(&before_call, await_the_squatter);
        CHECK_ERROR(treadle_message_port_create_remote(name, NULL, &port), TREADLE_E_NOT_FOUND, "another user");
        atomic_store(&before_call, NULL);
    }
    end_attack(&attacker);
}
TEST(a_squatter_whose_descriptors_linger_holds_nobody_up, "MSG-3 MSG-9") {
    if (can_attack("a_squatter_whose_descriptors_linger_holds_nobody_up")) on_each_kernel(connect_to_a_squatter);
}

/* As by an older kernel alone: a newer one does not let it come to that. */
static void attack_by_many(void) {
    struct server server;
    treadle_message_port other = NULL;
    treadle_error_info error = {.struct_size = sizeof error};
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name), local = make_local(new_name(), NULL, NULL);
    CHECK_SERVED(remote);
    int descriptors = count_descriptors(), threads = count_entries("/proc/self/task");
    struct attacker attacker = attack_while_held(&server, remote, MOST_OF_USER + 6);
    /* The bound is reached: the port accepts nobody, and serves those whom it has accepted. */
    while (treadle_message_port_create_remote("nobody's", NULL, &other) == TREADLE_E_NOT_FOUND) progress(), sched_yield();
    treadle_last_error(&error);
    CHECK_INT(error.code, TREADLE_E_SYSTEM);
    CHECK_INT(error.os_errno, EAGAIN);
    for (int i = 0; i < 20; i++) CHECK_SERVED(remote);
    CHECK_INT(count_entries("/proc/self/task"), threads + 1);
    CHECK(count_descriptors() <= descriptors + MOST_OF_USER + 1); /* and the pipe */
    /* When they are closed it goes on. */
    int fd = raw_greeted(server.name);
    end_attack(&attacker);
    CHECK(!is_ended(fd));
    close(fd);
    CHECK_SERVED(remote);
    CHECK_INT(discard(local), TREADLE_OK);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_server(&server);
}
TEST(what_a_user_has_to_be_closed_is_bounded, "MSG-9") {
    if (can_attack("what_a_user_has_to_be_closed_is_bounded")) on_kernel(true, attack_by_many);
}

#endif

TEST_MAIN()
