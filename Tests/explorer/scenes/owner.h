/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * owner.h: a thread that runs its loop until the loop is stopped, and what most scenes give it to do. */
#ifndef OWNER_H
#define OWNER_H

#include "../scene.h"

static treadle_loop loop;
static treadle_source source;
static treadle_status result; /* of the run */
static counter called, freed;
static struct event is_there;

static inline treadle_source make_source(treadle_perform_fn perform, treadle_release_fn release, void *info) {
    treadle_source made;
    treadle_source_context context = {.struct_size = sizeof context, .info = info, .release = release, .perform = perform};
    REQUIRE_OK(treadle_source_create(&context, &made));
    return made;
}
static inline void add(treadle_object item) { REQUIRE_OK(treadle_loop_add(loop, item, TREADLE_DEFAULT_MODE)); }

/* A descriptor that is never ready: the loop sleeps in epoll from here on. */
static inline void do_nothing_with(treadle_descriptor self, uint32_t events, void *info) { (void)self, (void)events, (void)info; }
int __wrap_eventfd(unsigned initial, int flags);
static inline void watch_a_descriptor(void) {
    REQUIRE_OK(treadle_descriptor_start(__wrap_eventfd(0, 0), TREADLE_READABLE, do_nothing_with, NULL, NULL));
}

/* Plain memory that may be written before a stop, and is read behind the run that it ends. */
static int before_stop;
static inline void use_before_stop(void) { (void)*(volatile int *)&before_stop; }

static bool differs_later; /* schedules do, from when the loop sleeps */
/* `prepare` is called on the owner's thread, before schedules differ. */
static void *own_loop(void *prepare) {
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_retain(loop));
    if (prepare) ((void (*)(void))prepare)();
    if (!differs_later) explore_from_here();
    set(&is_there);
    result = treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY);
    if (result == TREADLE_RUN_STOPPED) use_before_stop();
    return NULL;
}
static inline pthread_t start_owner(void (*prepare)(void)) {
    pthread_t owner = start(own_loop, (void *)prepare);
    await(&is_there);
    return owner;
}
static inline pthread_t start_sleeping_owner(void (*prepare)(void)) {
    differs_later = true;
    pthread_t owner = start_owner(prepare);
    while (!treadle_loop_is_waiting(loop)) treadle_thread_sleep_for(1000);
    explore_from_here();
    return owner;
}
static inline void join_owner(pthread_t owner) {
    join(owner);
    REQUIRE(result == TREADLE_RUN_STOPPED);
    REQUIRE_OK(treadle_release(loop));
}

/* A signal that came while the source was added leads to a perform, which stops the loop. */
static inline void end_by_the_signal(pthread_t owner) {
    REQUIRE_OK(treadle_loop_wake(loop));
    join_owner(owner);
    REQUIRE_OK(treadle_release(source));
    REQUIRE(counted(&called) == 1 && counted(&freed) == 1);
}

static inline void stop_loop(void *info) {
    (void)info;
    count(&called);
    REQUIRE_OK(treadle_loop_stop(loop));
}
/* What is released with an item, plain memory: a callback that is not ordered before the release races with it. */
static int released_with_it;
static inline void use_released(void) { (void)*(volatile int *)&released_with_it; }
static inline void count_release(void *info) {
    (void)info;
    released_with_it = 1;
    count(&freed);
}

static inline bool say_nothing(treadle_thread thread, const char *kind, const char *message, void *info) {
    (void)thread, (void)kind, (void)message, (void)info;
    return true;
}
/* The function of a new closure. Calls of it that come too late are not reported. */
static inline int (*make_function(const treadle_closure_config *config, treadle_closure *closure))(int) {
    REQUIRE_OK(treadle_closure_create(config, closure));
    void (*code)(void);
    REQUIRE_OK(treadle_closure_get_code(*closure, &code));
    REQUIRE_OK(treadle_set_last_resort(say_nothing, NULL, NULL));
    return (int (*)(int))code;
}

#endif
