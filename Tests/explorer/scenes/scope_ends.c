/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scope_ends.c: scopes that are closed from inside of each other, and by threads that end. A plugin's unload is the close of
 * its scope. */
#include "owner.h"

static treadle_scope scopes[2];
static treadle_source sources[2];
static counter closed;
static void note_close(void *info) {
    (void)info;
    count(&closed);
}
static void make_scope(int index, treadle_perform_fn perform) {
    treadle_scope_config config = {.struct_size = sizeof config, .destroy = note_close};
    REQUIRE_OK(treadle_scope_create(&config, &scopes[index]));
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform, .release = count_release, .scope = scopes[index],
                                      .info = (void *)(intptr_t)index};
    REQUIRE_OK(treadle_source_create(&context, &sources[index]));
    REQUIRE_OK(treadle_loop_add(treadle_loop_current(), sources[index], TREADLE_DEFAULT_MODE));
    REQUIRE_OK(treadle_source_signal_and_wake(sources[index]));
}

/* Of two that close each other from callbacks at least one returns: with a deadlock, if both would wait. */
static void close_the_other(treadle_source self, void *info) {
    (void)self;
    treadle_status status = treadle_close(scopes[1 - (intptr_t)info], TREADLE_FOREVER);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_DEADLOCK);
    count(&called);
}
static struct event is_made[2], go;
static void *run_once(void *info) {
    int index = (int)(intptr_t)info;
    make_scope(index, close_the_other);
    set(&is_made[index]);
    await(&go);
    treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
    return NULL;
}
SCENE(two_scopes_close_each_other_from_callbacks, "SCOPE-2, SCOPE-3") {
    pthread_t first = start(run_once, (void *)0), second = start(run_once, (void *)1);
    await(&is_made[0]);
    await(&is_made[1]);
    explore_from_here();
    set(&go);
    join(first);
    join(second);
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(treadle_close(scopes[i], TREADLE_FOREVER));
        REQUIRE_OK(treadle_release(scopes[i]));
    }
    REQUIRE(counted(&closed) == 2 && counted(&freed) == 2 && counted(&called) >= 1);
}

/* A thread that ends inside of a callback leaves nothing behind that a close waits for. */
static void end_the_thread(treadle_source self, void *info) {
    (void)self, (void)info;
    pthread_exit(NULL);
}
static void make_one_that_ends(void) { make_scope(0, end_the_thread); }
SCENE(a_scope_is_closed_against_a_thread_that_ends_in_its_callback, "SCOPE-3") {
    pthread_t owner = start_owner(make_one_that_ends);
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    REQUIRE_OK(treadle_close(scopes[0], TREADLE_FOREVER));
    REQUIRE(counted(&closed) == 1 && counted(&freed) == 1);
    join(owner);
    REQUIRE_OK(treadle_release(scopes[0]));
    REQUIRE_OK(treadle_release(loop));
}

/* An item that is made while its scope is closed belongs to it or is refused: none is left behind. */
static void run_in_it(treadle_source self, void *info) {
    (void)self, (void)info;
    REQUIRE(counted(&closed) == 0);
}
static void make_an_empty_one(void) {
    treadle_scope_config config = {.struct_size = sizeof config, .destroy = note_close};
    REQUIRE_OK(treadle_scope_create(&config, &scopes[0]));
}
static void *make_an_item(void *info) {
    treadle_source_context context = {.struct_size = sizeof context, .perform = run_in_it, .release = count_release, .scope = scopes[0]};
    treadle_source made;
    treadle_status status = treadle_source_create(&context, &made);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED);
    if (status != TREADLE_OK) return info;
    count(&called);
    status = treadle_loop_add(loop, made, TREADLE_DEFAULT_MODE);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED || status == TREADLE_E_STALE);
    status = treadle_source_signal_and_wake(made);
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED || status == TREADLE_E_STALE);
    status = treadle_release(made);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_STALE);
    return info;
}
SCENE(an_item_is_made_while_its_scope_is_closed, "SCOPE-2, SCOPE-3") {
    pthread_t owner = start_owner(make_an_empty_one), other = start(make_an_item, NULL);
    REQUIRE_OK(treadle_close(scopes[0], TREADLE_FOREVER));
    join(other);
    REQUIRE(counted(&closed) == 1 && counted(&freed) == counted(&called));
    REQUIRE_OK(treadle_release(scopes[0]));
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
}

/* A registration that is added while its scope is closed is removed, or refused: its destroy is called once, before the close ends. */
static void never(uint32_t name, void *object, void *info) { (void)name, (void)object, (void)info; }
static void *register_in_scope(void *info) {
    treadle_notification_config config = {.struct_size = sizeof config, .name = TREADLE_NOTIFY_THREAD_WILL_EXIT, .fn = never, .destroy = count_release,
                                          .info = &closed, .scope = scopes[0]};
    uint64_t token;
    treadle_status status = treadle_notification_add(&config, &token);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED || status == TREADLE_E_STALE);
    if (status != TREADLE_OK) REQUIRE(counted(&freed) == 1);
    return info;
}
SCENE(a_registration_against_the_close_of_its_scope, "SCOPE-2, NOTE-1") {
    make_an_empty_one();
    explore_from_here();
    pthread_t other = start(register_in_scope, NULL);
    REQUIRE_OK(treadle_close(scopes[0], TREADLE_FOREVER));
    int released = counted(&freed);
    join(other);
    REQUIRE(counted(&closed) == 1 && counted(&freed) == 1 && released <= 1);
    REQUIRE_OK(treadle_release(scopes[0]));
}

/* The same of a value that another thread stores in the dictionary of this one, which does not end. */
static void *set_value_in_scope(void *thread) {
    if (treadle_scope_enter(scopes[0]) != TREADLE_OK) return NULL;
    treadle_status status = treadle_thread_set_value(thread, "key", &closed, count_release);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED);
    REQUIRE_OK(treadle_scope_leave(scopes[0]));
    REQUIRE(status == TREADLE_OK || counted(&freed) == 1);
    count(&called);
    return NULL;
}
SCENE(a_value_against_the_close_of_its_scope, "SCOPE-2, THR-12") {
    make_an_empty_one();
    treadle_thread thread = treadle_thread_current();
    explore_from_here();
    pthread_t other = start(set_value_in_scope, thread);
    REQUIRE_OK(treadle_close(scopes[0], TREADLE_FOREVER));
    join(other);
    REQUIRE(counted(&closed) == 1 && counted(&freed) == counted(&called));
    void *value;
    REQUIRE(treadle_thread_get_value(thread, "key", &value) == TREADLE_E_NOT_FOUND);
    REQUIRE_OK(treadle_release(scopes[0]));
}
/* Of one that is stored already: it is given back once, whoever takes it out, a removal, a value in its place or the close. */
static void *take_the_value_out(void *thread) {
    treadle_status status = treadle_thread_remove_value(thread, "key");
    REQUIRE(status == TREADLE_OK || status == TREADLE_IGNORED);
    return NULL;
}
static void *put_another_value_there(void *thread) {
    REQUIRE_OK(treadle_thread_set_value(thread, "key", &closed, count_release));
    count(&called);
    return NULL;
}
static void close_against_the_value(void *(*take)(void *)) {
    make_an_empty_one();
    treadle_thread thread = treadle_thread_current();
    set_value_in_scope(thread);
    explore_from_here();
    pthread_t other = start(take, thread);
    REQUIRE_OK(treadle_close(scopes[0], TREADLE_FOREVER));
    join(other);
    REQUIRE(counted(&closed) == 1 && counted(&freed) == 1);
    REQUIRE(treadle_thread_remove_value(thread, "key") == (counted(&called) > 1 ? TREADLE_OK : TREADLE_IGNORED));
    REQUIRE(counted(&freed) == counted(&called));
    REQUIRE_OK(treadle_release(scopes[0]));
}
SCENE(a_value_is_removed_while_its_scope_is_closed, "SCOPE-2, THR-12") { close_against_the_value(take_the_value_out); }
SCENE(a_value_is_replaced_while_its_scope_is_closed, "SCOPE-2, THR-12") { close_against_the_value(put_another_value_there); }
/* Of a loop that is created while the scope is closed the posts of the scope are found as well. */
static void *own_a_new_loop(void *info) {
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_retain(loop));
    if (treadle_scope_enter(scopes[0]) == TREADLE_OK) {
        treadle_status status = treadle_loop_post(loop, count_release, NULL);
        REQUIRE(status == TREADLE_OK || status == TREADLE_E_CLOSED);
        REQUIRE_OK(treadle_scope_leave(scopes[0]));
    }
    treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
    REQUIRE_OK(treadle_release(loop));
    return info;
}
SCENE(a_scope_is_closed_while_a_thread_creates_its_loop, "SCOPE-2, RL-2") {
    make_an_empty_one();
    explore_from_here();
    pthread_t other = start(own_a_new_loop, NULL);
    REQUIRE_OK(treadle_close(scopes[0], TREADLE_FOREVER));
    int calls = counted(&freed);
    join(other);
    REQUIRE(counted(&freed) == calls && counted(&closed) == 1);
    REQUIRE_OK(treadle_release(scopes[0]));
}
