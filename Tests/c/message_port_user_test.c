/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_user_test.c: users whom a user namespace does not map: the kernel shows all of them as one number. */
#include "message_port_raw.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

enum { CANNOT = 99 };
#define NAMED_RANGE "cannot be distinguished from users that the process's user namespace does not map"

static bool write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0) close(fd);
    return is_written;
}
static void become(uid_t user) {
    if (setresuid(user, user, user) != 0) _exit(CANNOT);
}
/* A user namespace with this map, which is written from outside; NULL: none. */
static void enter_namespace(const char *map) {
    int ready[2], done[2];
    char byte, path[64];
    CHECK(pipe(ready) == 0 && pipe(done) == 0);
    pid_t parent = getpid(), writer = fork();
    if (writer == 0) {
        /* Without a word the process above has ended. */
        close(ready[1]);
        if (read(ready[0], &byte, 1) != 1) _exit(1);
        snprintf(path, sizeof path, "/proc/%d/uid_map", (int)parent);
        _exit(map == NULL || write_file(path, map) ? 0 : 1);
    }
    if (unshare(CLONE_NEWUSER) != 0) _exit(CANNOT);
    CHECK_INT(write(ready[1], "r", 1), 1);
    if (await_process(writer) != 0) _exit(CANNOT);
    close(ready[0]), close(ready[1]), close(done[0]), close(done[1]);
}
/* Whether a process did what it was to do; false, and says so, if this machine does not permit what it needs. */
static bool in_process(const char *what, void (*body)(void *info), void *info) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(treadle_after_fork_child() >= 0);
        body(info);
        _exit(0);
    }
    int status = await_process(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT) {
        fprintf(stderr, "message_port_user: skipped: %s: this machine does not permit it\n", what);
        return false;
    }
    CHECK_INT(status, 0);
    return true;
}

static void must_be_refused(void *name) {
    treadle_message_port_context context = {.struct_size = sizeof context};
    treadle_message_port port = (void *)1;
    CHECK_ERROR(treadle_message_port_create_local(name, &context, &port), TREADLE_E_NOT_SUPPORTED, "user " NAMED_RANGE);
    CHECK(port == NULL);
    CHECK_ERROR(treadle_message_port_create_local(NULL, &context, &port), TREADLE_E_NOT_SUPPORTED, "user " NAMED_RANGE);
    CHECK_ERROR(treadle_message_port_create_remote(name, NULL, &port), TREADLE_E_NOT_SUPPORTED, "user " NAMED_RANGE);
    CHECK(port == NULL);
}
static void be_unmapped(void *name) {
    enter_namespace(NULL);
    CHECK_INT(geteuid(), NOBODY);
    must_be_refused(name);
}
static void be_nobody_of_a_container(void *name) {
    enter_namespace("0 100000 65536");
    become(NOBODY);
    must_be_refused(name);
}
TEST(a_user_that_may_be_any_has_no_ports, "MSG-9") {
    in_process("a user namespace without a map", be_unmapped, (void *)new_name());
    in_process("a user namespace with a map", be_nobody_of_a_container, (void *)new_name());
}

/* The other users of such a namespace have ports; the number of all others is nobody's. */
static void be_root_of_a_container(void *name) {
    enter_namespace("0 0 1");
    const uint32_t users[] = {1, NOBODY};
    treadle_message_port_context context = {.struct_size = sizeof context, .users = users, .user_count = 2};
    treadle_message_port local = NULL, remote = NULL;
    CHECK_ERROR(treadle_message_port_create_local(name, &context, &local), TREADLE_E_NOT_SUPPORTED, "users " NAMED_RANGE);
    context.user_count = 1;
    CHECK_INT(treadle_message_port_create_local(name, &context, &local), TREADLE_OK);
    CHECK_INT(treadle_message_port_create_remote(name, NULL, &remote), TREADLE_OK);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
    context = (treadle_message_port_context){.struct_size = sizeof context, .has_owner = 1, .owner = NOBODY};
    CHECK_ERROR(treadle_message_port_create_remote(name, &context, &remote), TREADLE_E_NOT_SUPPORTED, "owner " NAMED_RANGE);
}
TEST(the_users_that_a_namespace_maps_have_ports, "MSG-1 MSG-3 MSG-9") {
    in_process("a user namespace with a map", be_root_of_a_container, (void *)new_name());
}

/* Without /proc nothing says what is mapped: the number may be anyone's, and root's is root's. */
static void hide_proc(void) {
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) _exit(CANNOT);
    if (mount("none", "/proc", "tmpfs", 0, NULL) != 0) _exit(CANNOT);
}
static void be_nobody_without_proc(void *name) {
    hide_proc();
    become(NOBODY);
    must_be_refused(name);
}
static void be_root_without_proc(void *name) {
    hide_proc();
    CHECK_INT(discard(make_local(name, NULL, NULL)), TREADLE_OK);
}
/* Of the first namespace, which maps all users. */
static void be_nobody(void *name) {
    become(NOBODY);
    treadle_message_port local = make_local(name, NULL, NULL), remote = make_remote(name);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}
static bool maps_all_users(void) {
    unsigned long count = 0;
    FILE *file = fopen("/proc/self/uid_map", "r");
    bool is_known = file && fscanf(file, "%*u %*u %lu", &count) == 1;
    if (file) fclose(file);
    return is_known && count == UINT32_MAX;
}
TEST(the_user_of_that_number_has_ports_where_all_are_mapped, "MSG-1 MSG-3 MSG-9") {
    if (!maps_all_users()) {
        fprintf(stderr, "message_port_user: skipped: this user namespace does not map all users\n");
        return;
    }
    in_process("to become another user", be_nobody, (void *)new_name());
    in_process("to hide /proc", be_nobody_without_proc, (void *)new_name());
    in_process("to hide /proc", be_root_without_proc, (void *)new_name());
}

/* A process that goes into another namespace with its port: from there its own user looks like any stranger. */
struct moved {
    const char *name;
    int ready[2];
};
static void serve_and_move(const struct moved *moved) {
    CHECK_INT(prctl(PR_SET_PDEATHSIG, SIGKILL), 0); /* it lives as long as the test, under whose watchdog it is */
    CHECK(treadle_after_fork_child() >= 0);
    struct received received = {0};
    become(NOBODY);
    treadle_message_port port = make_local(moved->name, receive_and_keep, &received);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, M), TREADLE_OK);
    if (unshare(CLONE_NEWUSER) != 0) _exit(CANNOT);
    CHECK_INT(write(moved->ready[1], "r", 1), 1);
    treadle_loop_run(treadle_loop_current(), M, TREADLE_FOREVER, 0);
    _exit(1);
}
static bool is_served(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "treadle/%d/%s", NOBODY, name), fd = raw_socket();
    CHECK_INT(connect(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) + (socklen_t)length), 0);
    /* It may have ended already. */
    send_frame(fd, head_of(HELLO, 0, strlen(name), 0), name, strlen(name));
    bool is_served = !is_ended(fd);
    close(fd);
    return is_served;
}
TEST(a_process_that_leaves_its_namespace_serves_no_stranger, "MSG-9") {
    struct moved moved = {.name = new_name()};
    char byte;
    CHECK_INT(pipe(moved.ready), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) serve_and_move(&moved);
    close(moved.ready[1]);
    if (read(moved.ready[0], &byte, 1) == 1) {
        CHECK(!is_served(moved.name));
        end_process(child);
    } else {
        int status = await_process(child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == CANNOT);
        fprintf(stderr, "message_port_user: skipped: to become another user, or to enter a user namespace: not permitted here\n");
    }
    close(moved.ready[0]);
}

TEST_MAIN()
