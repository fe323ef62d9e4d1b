/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * standard_streams_test.c: a program that runs without standard input, output and error: no descriptor of the library takes their
 * numbers, where the program's own output would go to it. */
#include "message_ports.h"

#include <fcntl.h>

/* The thread sanitizer otherwise ends a child that makes threads. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }

static void reply_here(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    (void)port, (void)info;
    treadle_message_port_reply(message->call, message->data, message->size);
}
static atomic_bool is_connected;
static sem_t may_leave;
static void *ask_for_a_port(void *name) {
    static char large[100000];
    treadle_message_port remote = make_remote(name);
    for (int i = 0; i < 3; i++) CHECK_INT(treadle_message_port_send(remote, 1, large, i * sizeof large / 2, LONG), TREADLE_OK);
    /* By now there is a ring. */
    CHECK_INT(request_text(remote, 1, "ask", LONG, NULL), TREADLE_OK);
    CHECK_INT(request_text(remote, 1, "again", LONG, NULL), TREADLE_OK);
    is_connected = true;
    await(&may_leave);
    CHECK_INT(discard(remote), TREADLE_OK);
    return NULL;
}
static void stop_here(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    treadle_loop_stop(treadle_loop_current());
}
/* Exit codes, since there is nowhere to print to. */
static void check_closed(int place) {
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) != -1) _exit(place + fd);
}
static void run_without_streams(void) {
    const char *name = new_name();
    int32_t pollable = -1;
    pthread_t sender;
    for (int fd = 0; fd <= 2; fd++) close(fd);
    treadle_after_fork_child();
    treadle_loop loop = treadle_loop_current();
    treadle_timer timer = make_timer(stop_here, NULL, treadle_time_now() + MILLISECONDS(1), 0);
    if (treadle_loop_add(loop, timer, M) != TREADLE_OK || treadle_loop_run(loop, M, TREADLE_FOREVER, 0) != TREADLE_RUN_STOPPED) _exit(10);
    check_closed(20);
    if (treadle_loop_open_pollable(loop, M, &pollable) != TREADLE_OK || pollable <= 2) _exit(11);
    treadle_message_port local = serve_here(name, reply_here, NULL);
    check_closed(30);
    if (sem_init(&may_leave, 0, 0) != 0 || pthread_create(&sender, NULL, ask_for_a_port, (void *)name) != 0) _exit(12);
    treadle_timer ticks = make_timer(stop_here, NULL, treadle_time_now(), MILLISECONDS(1));
    if (treadle_loop_add(loop, ticks, M) != TREADLE_OK) _exit(13);
    /* A descriptor that the kernel has just made has a low number until it is moved: neither thread is in a call when it is looked. */
    while (!is_connected)
        if (treadle_loop_run(loop, M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE) < 0) _exit(15);
    check_closed(40);
    sem_post(&may_leave);
    while (pthread_tryjoin_np(sender, NULL) != 0)
        if (treadle_loop_run(loop, M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE) < 0) _exit(15);
    check_closed(50);
    if (discard(local) != TREADLE_OK || discard(ticks) != TREADLE_OK || discard(timer) != TREADLE_OK) _exit(14);
    _exit(0);
}
TEST(no_descriptor_of_the_library_is_a_standard_stream, "RL-1 ABI-9 MSG-9") {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) run_without_streams();
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
}

TEST_MAIN()
