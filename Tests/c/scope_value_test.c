/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scope_value_test.c: values in dictionaries of threads belong to the scope that has stored them, and end with it. */
#include "scope_kinds.h"
#include "forked.h"
#include "thread_jobs.h"

#include <sys/wait.h>

static treadle_status set(treadle_thread thread, const char *key, atomic_int *released) {
    return treadle_thread_set_value(thread, key, released, count_up);
}
static treadle_status set_in(treadle_scope scope, treadle_thread thread, const char *key, atomic_int *released) {
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    treadle_status status = set(thread, key, released);
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    return status;
}
static bool has(treadle_thread thread, const char *key) { return treadle_thread_get_value(thread, key, &(void *){NULL}) == TREADLE_OK; }
static void close_it(treadle_scope scope) {
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
}

TEST(a_value_leaves_the_dictionary_with_its_scope, "SCOPE-1 SCOPE-2 THR-12") {
    treadle_thread self = treadle_thread_current(), other = thread_make(nothing, NULL);
    atomic_int mine = 0, others = 0, replaced = 0, removed = 0, outside = 0;
    treadle_scope scope = make_scope(NULL);
    CHECK_INT(set_in(scope, self, "mine", &mine), TREADLE_OK);
    CHECK_INT(set_in(scope, other, "others", &others), TREADLE_OK);
    CHECK_INT(set_in(scope, self, "key", &replaced), TREADLE_OK);
    CHECK_INT(set_in(scope, self, "removed", &removed), TREADLE_OK);
    CHECK_INT(treadle_thread_set_value(self, "outside", &outside, count_up), TREADLE_OK);
    CHECK_INT(holders_of(scope, NULL, 0), 4);
    CHECK_INT(treadle_thread_remove_value(self, "removed"), TREADLE_OK);
    CHECK_INT(set(self, "key", &outside), TREADLE_OK);
    CHECK_INT(removed, 1);
    CHECK_INT(replaced, 1);
    CHECK_INT(holders_of(scope, NULL, 0), 2);
    close_it(scope);
    CHECK(mine == 1 && others == 1 && replaced == 1 && removed == 1 && outside == 0);
    CHECK(!has(self, "mine") && !has(other, "others") && has(self, "key") && has(self, "outside"));
    CHECK_INT(treadle_thread_remove_value(self, "key"), TREADLE_OK);
    CHECK_INT(treadle_thread_remove_value(self, "outside"), TREADLE_OK);
    CHECK_INT(treadle_release(other), TREADLE_OK);
    CHECK_INT(others, 1);
}

/* The thread ends first, then the scope; or a thread that has ended refuses the value. */
static atomic_int of_thread;
static treadle_scope scope_of_thread;
static void *store_and_end(void *info) {
    CHECK_INT(set_in(scope_of_thread, treadle_thread_current(), "key", &of_thread), TREADLE_OK);
    return info;
}
TEST(a_value_whose_thread_has_ended_is_in_no_scope, "SCOPE-1 THR-12") {
    scope_of_thread = make_scope(NULL);
    treadle_thread thread = thread_make(store_and_end, NULL);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_retain(thread), TREADLE_OK);
    thread_end(thread);
    CHECK_INT(of_thread, 1);
    CHECK_INT(holders_of(scope_of_thread, NULL, 0), 0);
    CHECK_ERROR(set_in(scope_of_thread, thread, "key", &of_thread), TREADLE_E_STATE, "thread");
    CHECK_INT(of_thread, 2);
    CHECK_INT(holders_of(scope_of_thread, NULL, 0), 0);
    CHECK_INT(treadle_release(thread), TREADLE_OK);
    close_it(scope_of_thread);
    CHECK_INT(of_thread, 2);
}

/* --- In use ------------------------------------------------------------------------------------- */

static sem_t entered, go;
static atomic_int used;
static void stay(void *value, void *info) {
    (void)value, (void)info;
    sem_post(&entered);
    await(&go);
}
static void *use_it(void *thread) {
    CHECK_INT(treadle_thread_use_value(thread, "key", stay, NULL), TREADLE_OK);
    return NULL;
}
/* Cut in the middle of a character. */
#define LONG_NAME "the thread that reads weather \xc3\xa4nd more"
static void use_in_timer(treadle_timer timer, void *thread) { (void)timer, use_it(thread); }
static void *use_it_in_a_timer(void *thread) {
    treadle_timer_context context = {.struct_size = sizeof context, .fire = use_in_timer, .info = thread, .fire_at = 1, .label = "a timer that uses it"};
    treadle_timer timer = NULL;
    CHECK_INT(treadle_thread_set_name(treadle_thread_current(), LONG_NAME), TREADLE_OK);
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_release(timer), TREADLE_OK);
    return NULL;
}
/* The last of several users is told of, with the callback that it runs. */
TEST(a_value_that_several_use_is_waited_for_and_told, "SCOPE-3 THR-12") {
    void *(*const uses[])(void *) = {use_it, use_it_in_a_timer};
    pthread_t users[2];
    treadle_scope_holder holder;
    struct { treadle_scope_holder known; } older;
    size_t count;
    treadle_scope scope = make_scope(NULL);
    sem_init(&entered, 0, 0), sem_init(&go, 0, 0);
    used = 0;
    CHECK_INT(set_in(scope, treadle_thread_current(), "key", &used), TREADLE_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(pthread_create(&users[i], NULL, uses[i], treadle_thread_current()), 0);
        await(&entered);
    }
    CHECK_INT(treadle_scope_close(scope, 1), TREADLE_E_TIMEOUT);
    CHECK_INT(holders_of(scope, &holder, 1), 1);
    CHECK(holder.kind == TREADLE_HOLDER_VALUE && holder.thread_id != 0 && holder.thread_id != thread_id() && holder.held_ns > 0);
    CHECK_TEXT(holder.thread_name, "the thread that reads weather ");
    CHECK_TEXT(holder.callback, "a timer that uses it");
    /* As much as there is room for in the struct of an older client. */
    memset(&older, 7, sizeof older);
    CHECK_INT(treadle_scope_copy_holders(scope, &older.known, offsetof(treadle_scope_holder, thread_name), 1, &count), TREADLE_OK);
    CHECK(older.known.kind == TREADLE_HOLDER_VALUE && older.known.thread_name[0] == 7 && older.known.callback[63] == 7);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(treadle_scope_close(scope, 1), TREADLE_E_TIMEOUT);
        CHECK(!has(treadle_thread_current(), "key"));
        CHECK_INT(holders_of(scope, &holder, 1), 1);
        CHECK_INT(used, 0);
        if (i == 0) sem_post(&go);
    }
    sem_post(&go);
    close_it(scope);
    CHECK_INT(used, 1);
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_join(users[i], NULL), 0);
}

/* The child of a fork in a use has a life of its own, and returns to the parent's call. */
static treadle_scope forked_scope;
static void must_be_refused(treadle_status status) { CHECK_INT(treadle_scope_close(forked_scope, 0), status); }
static pid_t child;
static void fork_in_use(void *value, void *is_new) {
    (void)value;
    child = fork();
    if (child) return;
    must_be_refused(TREADLE_E_FORKED);
    if (is_new) live_anew();
}
TEST(a_fork_in_the_use_of_a_value, "RL-11 THR-12") {
    for (int is_new = 0; is_new < 2; is_new++) {
        int status = -1;
        used = 0;
        forked_scope = make_scope(NULL);
        CHECK_INT(set_in(forked_scope, treadle_thread_current(), "key", &used), TREADLE_OK);
        treadle_thread_use_value(treadle_thread_current(), "key", fork_in_use, is_new ? &is_new : NULL);
        if (child == 0) _exit(used);
        CHECK_INT(waitpid(child, &status, 0), child);
        CHECK_INT(status, 0);
        close_it(forked_scope);
        CHECK_INT(used, 1);
    }
}

TEST_MAIN()
