/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * observer_end_test.c: observers that end while one of their mode is being called, by whoever: the info of the one that is
 * called stays until it has returned, that of any other goes at once, and nobody waits for a callback that is not its own. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;

struct watched {
    treadle_observer observer;
    void (*during)(struct watched *self);
    atomic_int calls, running, released, released_early;
};
static struct watched all[3];

static void notify(treadle_observer observer, uint32_t activity, void *info) {
    struct watched *self = info;
    (void)observer, (void)activity;
    atomic_fetch_add(&self->calls, 1);
    atomic_fetch_add(&self->running, 1);
    CHECK_INT(self->released, 0);
    if (self->during) self->during(self);
    CHECK_INT(self->released, 0);
    atomic_fetch_sub(&self->running, 1);
}
static void release(void *info) {
    struct watched *self = info;
    if (self->running) atomic_fetch_add(&self->released_early, 1);
    atomic_fetch_add(&self->released, 1);
}
static void watch(struct watched *self, void (*during)(struct watched *), bool once) {
    treadle_observer_context context = {.struct_size = sizeof context, .notify = notify, .info = self, .release = release,
        .activities = TREADLE_BEFORE_SOURCES, .once = once};
    self->during = during;
    CHECK_INT(treadle_observer_create(&context, &self->observer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), self->observer, M), TREADLE_OK);
}
static void keep(void) { CHECK_INT(treadle_loop_add_source(treadle_loop_current(), make_source(NULL, NULL), M), TREADLE_OK); }

static treadle_loop loop;
static void *remove_there(void *info) {
    CHECK_INT(treadle_loop_remove_observer(loop, ((struct watched *)info)->observer, M), TREADLE_OK);
    return NULL;
}
static void *invalidate_there(void *info) {
    CHECK_INT(treadle_observer_invalidate(((struct watched *)info)->observer), TREADLE_OK);
    return NULL;
}
static void *close_there(void *info) {
    CHECK_INT(treadle_observer_close(((struct watched *)info)->observer, TREADLE_FOREVER), TREADLE_OK);
    return NULL;
}

static void remove_and_end_here(struct watched *self) {
    remove_there(self);
    invalidate_there(self);
}
static void remove_here_end_there(struct watched *self) {
    remove_there(self);
    on_thread(invalidate_there, self);
}
static void remove_there_end_here(struct watched *self) {
    on_thread(remove_there, self);
    invalidate_there(self);
}
static void remove_and_end_there(struct watched *self) {
    on_thread(remove_there, self);
    on_thread(invalidate_there, self);
}
static void end_there(struct watched *self) { on_thread(invalidate_there, self); }
static void end_and_nest(struct watched *self) {
    on_thread(invalidate_there, self);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(self->released, 0);
}
static void nest_and_end(struct watched *self) {
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    on_thread(remove_there, self);
    on_thread(invalidate_there, self);
}

TEST(the_info_stays_while_the_callback_runs, "OBS-8 OBJ-9") {
    static void (*const ways[])(struct watched *) = {remove_and_end_here, remove_here_end_there, remove_there_end_here,
        remove_and_end_there, end_there, end_and_nest, nest_and_end};
    loop = treadle_loop_current();
    keep();
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        for (int place = 0; place < 3; place++) {
            memset(all, 0, sizeof all);
            /* Also one that would end by itself. */
            for (int i = 0; i < 3; i++) watch(&all[i], i == place ? ways[way] : NULL, i == place && way % 2);
            CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
            CHECK_INT(all[place].calls, 1);
            CHECK_INT(all[place].released, 1);
            CHECK_INT(all[place].released_early, 0);
            for (int i = 0; i < 3; i++) {
                if (i != place) invalidate_there(&all[i]);
                CHECK_INT(all[i].released, 1);
                CHECK_INT(treadle_observer_release(all[i].observer), TREADLE_OK);
                CHECK_INT(all[i].released, 1);
            }
        }
    }
}

/* The first one ends the others, or itself and the others, from another thread. */
static void close_others(struct watched *self) {
    for (int i = 0; i < 3; i++) {
        if (&all[i] == self) continue;
        on_thread(close_there, &all[i]); /* returns, since it is not the one that is called */
        CHECK_INT(all[i].released, 1);
    }
}
TEST(nobody_waits_for_the_callback_of_another, "OBJ-9 OBS-3 OBS-4 OBS-8") {
    loop = treadle_loop_current();
    keep();
    for (int place = 0; place < 3; place++) {
        memset(all, 0, sizeof all);
        for (int i = 0; i < 3; i++) watch(&all[i], i == place ? close_others : NULL, false);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        for (int i = 0; i < 3; i++) {
            CHECK_INT(all[i].calls, i == place ? 2 : i < place ? 1 : 0);
            all[i].during = NULL;
            if (i == place) invalidate_there(&all[i]);
            CHECK_INT(all[i].released, 1);
            CHECK_INT(treadle_observer_release(all[i].observer), TREADLE_OK);
        }
    }
}

/* Its callback runs on one loop; it is moved to another one, where it is not called until it has returned. */
static void *poll_with_it(void *info) {
    struct watched *self = info;
    keep();
    CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), self->observer, M), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_loop_remove_observer(treadle_loop_current(), self->observer, M), TREADLE_OK);
    return NULL;
}
static void move(struct watched *self) {
    if (self->calls > 1) return;
    remove_there(self);
    on_thread(poll_with_it, self);
    CHECK_INT(self->calls, 1);
}
TEST(one_that_moves_is_called_on_one_thread_at_a_time, "OBS-3 OBS-7 MODE-5") {
    loop = treadle_loop_current();
    keep();
    watch(&all[0], NULL, false);
    watch(&all[1], move, false);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(all[1].calls, 1);
    on_thread(poll_with_it, &all[1]);
    CHECK_INT(all[1].calls, 2);
    invalidate_there(&all[1]);
    CHECK_INT(all[1].released, 1);
    CHECK_INT(all[1].released_early, 0);
}

/* Observers come and go on another thread while the loop tells them; none is called after it was closed. */
static atomic_bool is_over;
static void *come_and_go(void *info) {
    (void)info;
    for (int i = 0; i < (THREAD_SANITIZER ? 200 : 2000); i++) {
        struct watched *one = calloc(1, sizeof *one);
        treadle_observer_context context = {.struct_size = sizeof context, .notify = notify, .info = one, .release = release,
            .activities = TREADLE_BEFORE_SOURCES};
        CHECK_INT(treadle_observer_create(&context, &one->observer), TREADLE_OK);
        CHECK_INT(treadle_loop_add_observer(loop, one->observer, M), TREADLE_OK);
        if (i % 3 == 0) CHECK_INT(treadle_loop_remove_observer(loop, one->observer, M), TREADLE_OK);
        CHECK_INT(treadle_observer_close(one->observer, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(one->running, 0);
        CHECK_INT(one->released, 1);
        CHECK_INT(one->released_early, 0);
        CHECK_INT(treadle_observer_release(one->observer), TREADLE_OK);
        memset(one, 0xA5, sizeof *one); /* a call from here on would be seen */
        free(one);
    }
    atomic_store(&is_over, true);
    return NULL;
}
static void again(treadle_source source, void *info) {
    (void)info;
    if (atomic_load(&is_over)) treadle_loop_stop(treadle_loop_current());
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
}
TEST(observers_come_and_go_while_others_are_told, "OBJ-6 OBJ-9 OBS-8") {
    loop = treadle_loop_current();
    treadle_source source = make_source(again, NULL);
    CHECK_INT(treadle_loop_add_source(loop, source, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    watch(&all[0], NULL, false);
    watch(&all[1], NULL, false);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&threads[i], NULL, come_and_go, NULL), 0);
    CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    /* The other one still: its observers are told while the loop runs, or leave one that does not. */
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK(all[0].calls > 0 && all[0].calls == all[1].calls);
}

TEST_MAIN()
