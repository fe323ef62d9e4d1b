/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_name_test.c: names of message ports. */
#include "message_ports.h"

static void count_release(void *info) { ++*(int *)info; }
TEST(a_name_of_this_process_is_the_same_port, "MSG-1 MSG-3") {
    const char *name = new_name();
    int released = 0;
    treadle_message_port local = make_local(name, NULL, NULL), again = NULL, remote, other = NULL;
    treadle_message_port_context context = {.struct_size = sizeof context, .info = &released, .release = count_release};
    CHECK_INT(treadle_message_port_create_local(name, &context, &again), TREADLE_IGNORED);
    CHECK(again == local);
    CHECK_INT(released, 0);
    CHECK_INT(treadle_release(again), TREADLE_OK);
    remote = make_remote(name);
    CHECK_INT(treadle_message_port_create_remote(name, NULL, &other), TREADLE_IGNORED);
    CHECK(other == remote);
    CHECK_INT(treadle_release(other), TREADLE_OK);
    /* One that has become invalid counts no more. */
    CHECK_INT(discard(local), TREADLE_OK);
    local = make_local(name, NULL, NULL);
    CHECK_INT(treadle_message_port_create_remote(name, NULL, &other), TREADLE_OK);
    CHECK(other != remote);
    CHECK(!treadle_is_valid(remote));
    CHECK_INT(treadle_release(remote), TREADLE_OK);
    CHECK_INT(discard(other), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

/* A port is made in one step for other threads: one that wants it meanwhile waits, and gets it. The first is held up in its retain. */
struct making {
    const char *name;
    bool is_remote;
    treadle_message_port port;
    pthread_t other;
    atomic_int other_id, retained, released;
};
static treadle_status make_any(const struct making *making, const treadle_message_port_context *context, treadle_message_port *port) {
    return (making->is_remote ? treadle_message_port_create_remote : treadle_message_port_create_local)(making->name, context, port);
}
static void count_end(void *info) { atomic_fetch_add(&((struct making *)info)->released, 1); }
static void *want_too(void *info) {
    struct making *making = info;
    treadle_message_port_context context = {.struct_size = sizeof context, .info = info, .release = count_end};
    treadle_message_port port = NULL;
    atomic_store(&making->other_id, gettid());
    CHECK_INT(make_any(making, &context, &port), TREADLE_IGNORED);
    return port;
}
static void *start_other(void *info) {
    struct making *making = info;
    const treadle_message_port_context context = {.struct_size = sizeof context};
    treadle_message_port port = NULL;
    atomic_fetch_add(&making->retained, 1);
    CHECK_ERROR(make_any(making, &context, &port), TREADLE_E_DEADLOCK, "creation");
    CHECK_INT(pthread_create(&making->other, NULL, want_too, making), 0);
    while (atomic_load(&making->other_id) == 0 || !is_in_kernel_wait(atomic_load(&making->other_id))) sched_yield();
    return info;
}
static void make_twice(bool is_remote) {
    struct making making = {.name = new_name(), .is_remote = is_remote};
    treadle_message_port served = is_remote ? make_local(making.name, NULL, NULL) : NULL;
    treadle_message_port_context context = {.struct_size = sizeof context, .info = &making, .retain = start_other, .release = count_end};
    void *other = NULL;
    CHECK_INT(make_any(&making, &context, &making.port), TREADLE_OK);
    CHECK_INT(pthread_join(making.other, &other), 0);
    CHECK(other == making.port);
    CHECK_INT(treadle_release(other), TREADLE_OK);
    CHECK_INT(atomic_load(&making.released), 0);
    CHECK_INT(discard(making.port), TREADLE_OK);
    CHECK(atomic_load(&making.retained) == 1 && atomic_load(&making.released) == 1);
    if (served) CHECK_INT(discard(served), TREADLE_OK);
}
TEST(threads_that_want_one_name_at_once_get_one_port, "MSG-1 MSG-3") {
    make_twice(false);
    make_twice(true);
}
/* Each of two threads makes a port, and wants the other's in the retain of its own. */
struct crossing {
    const char *own, *others;
    bool is_remote;
    treadle_status status;
    treadle_message_port port, other;
};
static pthread_barrier_t both_make;
static void *want_the_others(void *info) {
    struct crossing *self = info;
    struct making wanted = {.name = self->others, .is_remote = self->is_remote};
    const treadle_message_port_context context = {.struct_size = sizeof context};
    pthread_barrier_wait(&both_make);
    self->status = make_any(&wanted, &context, &self->other);
    treadle_error_info error = TREADLE_INIT(treadle_error_info);
    treadle_last_error(&error);
    if (self->status == TREADLE_E_DEADLOCK) CHECK(strstr(error.message, "maker"));
    return info;
}
static void *make_crossing(void *info) {
    struct crossing *self = info;
    struct making made = {.name = self->own, .is_remote = self->is_remote};
    treadle_message_port_context context = {.struct_size = sizeof context, .info = info, .retain = want_the_others};
    CHECK_INT(make_any(&made, &context, &self->port), TREADLE_OK);
    return info;
}
static void cross(bool is_remote) {
    const char *first = new_name(), *second = new_name();
    treadle_message_port served[2] = {NULL, NULL};
    struct crossing both[] = {{.own = first, .others = second, .is_remote = is_remote}, {.own = second, .others = first, .is_remote = is_remote}};
    pthread_t threads[2];
    if (is_remote) served[0] = make_local(first, NULL, NULL), served[1] = make_local(second, NULL, NULL);
    CHECK_INT(pthread_barrier_init(&both_make, NULL, 2), 0);
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&threads[i], NULL, make_crossing, &both[i]), 0);
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    /* The second to want the other's is refused, and so the first gets it. */
    int refused = both[0].status == TREADLE_E_DEADLOCK ? 0 : 1, given = 1 - refused;
    CHECK_INT(both[refused].status, TREADLE_E_DEADLOCK);
    CHECK_INT(both[given].status, TREADLE_IGNORED);
    CHECK(both[given].other == both[refused].port && !both[refused].other);
    CHECK_INT(treadle_release(both[given].other), TREADLE_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(discard(both[i].port), TREADLE_OK);
        if (served[i]) CHECK_INT(discard(served[i]), TREADLE_OK);
    }
}
TEST(threads_that_want_each_others_ports_do_not_wait_for_ever, "MSG-1 MSG-3") {
    cross(false);
    cross(true);
}
/* The retain waits for a thread, which wants the port. */
static treadle_thread worker;
static void make_the_same(void *name, void *argument) {
    const treadle_message_port_context context = {.struct_size = sizeof context};
    treadle_message_port same = NULL;
    CHECK_ERROR(treadle_message_port_create_local(name, &context, &same), TREADLE_E_DEADLOCK, "maker waits for the calling thread");
    CHECK(same == NULL);
    ++*(int *)argument;
}
static int asked;
static void *ask_for_the_same(void *name) {
    treadle_request request = {.struct_size = sizeof request, .fn = make_the_same, .target = name, .argument = &asked, .flags = TREADLE_PERFORM_WAIT};
    CHECK_INT(treadle_perform(worker, &request), TREADLE_OK);
    return name;
}
TEST(a_thread_that_a_maker_waits_for_does_not_wait_for_the_port, "MSG-1 PERF-7") {
    const char *name = new_name();
    treadle_thread_config config = {.struct_size = sizeof config};
    CHECK_INT(treadle_thread_create(&config, &worker), TREADLE_OK);
    CHECK_INT(treadle_thread_start(worker), TREADLE_OK);
    treadle_message_port_context context = {.struct_size = sizeof context, .info = (void *)name, .retain = ask_for_the_same};
    treadle_message_port port;
    CHECK_INT(treadle_message_port_create_local(name, &context, &port), TREADLE_OK);
    CHECK_INT(asked, 1);
    CHECK_INT(discard(port), TREADLE_OK);
    CHECK_INT(treadle_thread_stop(worker), TREADLE_OK);
    CHECK_INT(treadle_thread_join(worker, TREADLE_FOREVER, NULL), TREADLE_OK);
    CHECK_INT(treadle_release(worker), TREADLE_OK);
}
static void *exit_in_retain(void *info) { (void)info, pthread_exit(NULL); }
static void *make_and_exit(void *info) {
    treadle_message_port_context context = {.struct_size = sizeof context, .retain = exit_in_retain};
    treadle_message_port port = NULL;
    make_any(info, &context, &port);
    return info;
}
TEST(a_thread_that_ends_while_it_makes_a_port_leaves_the_name_free, "MSG-1 MSG-3 THR-19") {
    struct making making = {.name = new_name()};
    CHECK(on_thread(make_and_exit, &making) == NULL);
    treadle_message_port local = make_local(making.name, NULL, NULL);
    making.is_remote = true;
    CHECK(on_thread(make_and_exit, &making) == NULL);
    treadle_message_port remote = make_remote(making.name);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(a_name_of_another_process_is_taken, "MSG-1") {
    const char *name = new_name();
    pid_t child = start_process(name);
    treadle_message_port port = (void *)1;
    treadle_message_port_context context = {.struct_size = sizeof context};
    CHECK_ERROR(treadle_message_port_create_local(name, &context, &port), TREADLE_E_EXISTS, "name");
    CHECK(port == NULL);
    treadle_message_port local = make_local(new_name(), NULL, NULL);
    CHECK_ERROR(treadle_message_port_set_name(local, name), TREADLE_E_EXISTS, "name");
    CHECK_INT(discard(local), TREADLE_OK);
    end_process(child);
    /* Nothing stays behind. */
    local = make_local(name, NULL, NULL);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(nobody_serves_the_name, "MSG-3 MSG-8") {
    treadle_message_port port = (void *)1;
    CHECK_ERROR(treadle_message_port_create_remote(new_name(), NULL, &port), TREADLE_E_NOT_FOUND, "name");
    CHECK(port == NULL);
    CHECK_ERROR(treadle_message_port_create_remote(NULL, NULL, &port), TREADLE_E_ARG, "name");
    CHECK_ERROR(treadle_message_port_create_remote("", NULL, &port), TREADLE_E_ARG, "name");
    CHECK_ERROR(treadle_message_port_create_remote("\xff", NULL, &port), TREADLE_E_ARG, "UTF-8");
}

static void fill_name(char *name, size_t size, const char *end) {
    memset(name, 'n', size);
    snprintf(name + size - strlen(end), strlen(end) + 1, "%s", end);
    memcpy(name, new_name(), strlen(new_name()));
}
TEST(long_names_are_told_apart_and_cut, "MSG-1 MSG-9") {
    static char one[256], other[256], longer[400], found[400];
    size_t length;
    fill_name(one, 255, "1"), memcpy(other, one, sizeof one), other[254] = '2';
    memcpy(longer, one, 255), memset(longer + 255, 'x', 100);
    treadle_message_port first = make_local(one, NULL, NULL), second = make_local(other, NULL, NULL), third = NULL;
    CHECK(first != second);
    treadle_message_port_context context = {.struct_size = sizeof context};
    CHECK_INT(treadle_message_port_create_local(longer, &context, &third), TREADLE_IGNORED);
    CHECK(third == first);
    CHECK_INT(treadle_release(third), TREADLE_OK);
    CHECK_INT(treadle_message_port_get_name(first, found, sizeof found, &length), TREADLE_OK);
    CHECK_INT(length, 255);
    CHECK_TEXT(found, one);
    treadle_message_port remote = make_remote(longer);
    CHECK_INT(treadle_message_port_get_name(remote, NULL, 0, &length), TREADLE_OK);
    CHECK_INT(length, 255);
    CHECK_INT(discard(remote), TREADLE_OK);
    /* Not in the middle of a character. */
    memset(longer, 0, sizeof longer), memcpy(longer, one, 254), strcat(longer, "\xc3\xa9\xc3\xa9");
    third = make_local(longer, NULL, NULL);
    CHECK_INT(treadle_message_port_get_name(third, NULL, 0, &length), TREADLE_OK);
    CHECK_INT(length, 254);
    CHECK_INT(discard(third), TREADLE_OK);
    CHECK_INT(discard(second), TREADLE_OK);
    CHECK_INT(discard(first), TREADLE_OK);
}

TEST(a_port_is_renamed_and_stays_in_its_loop, "MSG-2") {
    const char *old = new_name(), *new = new_name();
    char found[64];
    size_t length;
    struct received received = {0};
    struct reply reply = {0};
    treadle_message_port local = serve_here(old, receive_and_keep, &received), remote = make_remote(old), port = NULL;
    CHECK_INT(treadle_message_port_set_name(local, old), TREADLE_IGNORED);
    CHECK_INT(treadle_message_port_check(remote), TREADLE_OK);
    CHECK_INT(treadle_message_port_set_name(local, new), TREADLE_OK);
    CHECK_INT(treadle_message_port_get_name(local, found, sizeof found, &length), TREADLE_OK);
    CHECK_TEXT(found, new);
    CHECK_ERROR(treadle_message_port_check(remote), TREADLE_E_STATE, "port");
    CHECK(!treadle_is_valid(remote));
    CHECK_INT(treadle_message_port_create_remote(old, NULL, &port), TREADLE_E_NOT_FOUND);
    CHECK_INT(treadle_release(remote), TREADLE_OK);
    remote = make_remote(new);
    CHECK_INT(request_text(remote, 1, "question", LONG, &reply), TREADLE_OK);
    CHECK_REPLY(reply, "answer");
    CHECK_ERROR(treadle_message_port_set_name(remote, old), TREADLE_E_STATE, "port");
    CHECK_ERROR(treadle_message_port_set_name(local, NULL), TREADLE_E_ARG, "name");
    CHECK_ERROR(treadle_message_port_set_name(local, ""), TREADLE_E_ARG, "name");
    treadle_message_port other = make_local(old, NULL, NULL); /* it is free */
    CHECK_ERROR(treadle_message_port_set_name(local, old), TREADLE_E_EXISTS, "name");
    CHECK_INT(discard(other), TREADLE_OK);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(treadle_invalidate(local), TREADLE_OK);
    CHECK_ERROR(treadle_message_port_set_name(local, old), TREADLE_E_STATE, "port");
    CHECK_INT(treadle_release(local), TREADLE_OK);
}

TEST(a_port_may_get_its_name_later, "MSG-1 MSG-4") {
    const char *name = new_name();
    size_t length = 7;
    struct received received = {0};
    struct reply reply = {0};
    treadle_message_port local = serve_here(NULL, receive_and_keep, &received), other = make_local(NULL, NULL, NULL);
    CHECK(local != other);
    CHECK_INT(treadle_message_port_get_name(local, NULL, 0, &length), TREADLE_OK);
    CHECK_INT(length, 0);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_message_port_set_name(local, name), TREADLE_OK);
    treadle_message_port remote = make_remote(name);
    CHECK_INT(request_text(remote, 1, "question", LONG, &reply), TREADLE_OK);
    CHECK_REPLY(reply, "answer");
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(other), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST_MAIN()
