/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * A thread that is ready when start returns and has done its work when stop returns: with a condition.
 *
 * The thread sleeps in its run loop as long as nobody wants anything of it: nothing polls. Both start and stop
 * wait for the thread to say that it is so far. What stop cannot tell is that the thread is gone: it has yet to
 * drain its pool and to end. See exit-by-pool.c, exit-by-notification.c and exit-by-join.c for that. */
#include "require.h"

struct service {
    treadle_thread thread;
    treadle_lock lock; /* guards all below */
    treadle_condition changed;
    bool is_ready;
    bool is_done;
    treadle_status how_run_ended;
};

static void tell(struct service *service, bool *what) {
    require(treadle_lock_lock(service->lock, TREADLE_FOREVER), "lock");
    *what = true;
    require(treadle_condition_signal(service->changed), "signal");
    require(treadle_lock_unlock(service->lock), "unlock");
}

/* The caller has locked the lock. */
static void wait_for(struct service *service, const bool *what) {
    while (!*what) require(treadle_condition_wait(service->changed, service->lock, TREADLE_FOREVER), "wait");
}

/* --- On the thread -------------------------------------------------------------------------------- */

static void *thread_main(void *info) {
    struct service *service = info;
    treadle_loop loop = treadle_loop_current();
    /* A loop without a source or a timer ends at once; this source does nothing but keep it. */
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    treadle_source keeper;
    require(treadle_source_create(&context, &keeper), "make a source");
    require(treadle_loop_add_source(loop, keeper, TREADLE_DEFAULT_MODE), "add it");
    tell(service, &service->is_ready);

    service->how_run_ended = require(treadle_loop_run_default(loop), "run the loop"); /* until it is stopped */

    require(treadle_source_invalidate(keeper), "take the source away");
    require(treadle_source_release(keeper), "release it");
    tell(service, &service->is_done);
    return NULL;
}

static void square(void *target, void *argument) {
    int *number = argument;
    (void)target;
    *number *= *number;
}

static void stop_own_loop(void *target, void *argument) {
    (void)target, (void)argument;
    require(treadle_loop_stop(treadle_loop_current()), "stop the loop");
}

/* --- On any other thread -------------------------------------------------------------------------- */

static void perform(struct service *service, treadle_request_fn fn, void *argument, uint32_t flags) {
    treadle_request request = TREADLE_INIT(treadle_request);
    request.fn = fn;
    request.target = service;
    request.argument = argument;
    request.flags = flags;
    require(treadle_perform(service->thread, &request), "perform a function on the thread");
}

static void start(struct service *service) {
    *service = (struct service){0};
    require(treadle_lock_create(0, &service->lock), "make a lock");
    require(treadle_condition_create(&service->changed), "make a condition");
    treadle_thread_config config = TREADLE_INIT(treadle_thread_config);
    config.fn = thread_main;
    config.info = service;
    config.flags = TREADLE_THREAD_DETACHED;
    require(treadle_thread_create(&config, &service->thread), "make a thread");

    require(treadle_lock_lock(service->lock, TREADLE_FOREVER), "lock");
    require(treadle_thread_start(service->thread), "start the thread");
    wait_for(service, &service->is_ready);
    require(treadle_lock_unlock(service->lock), "unlock");
}

static void stop(struct service *service) {
    require(treadle_lock_lock(service->lock, TREADLE_FOREVER), "lock");
    perform(service, stop_own_loop, NULL, 0);
    wait_for(service, &service->is_done);
    require(treadle_lock_unlock(service->lock), "unlock");

    require(treadle_thread_release(service->thread), "release the thread");
    require(treadle_condition_release(service->changed), "release the condition");
    require(treadle_lock_release(service->lock), "release the lock");
}

int main(void) {
    struct service service;
    for (int number = 5; number <= 7; number++) {
        start(&service);
        printf("started, and ready: %s\n", service.is_ready ? "yes" : "no");
        int result = number;
        perform(&service, square, &result, TREADLE_PERFORM_WAIT);
        printf("  %d squared is %d\n", number, result);
        stop(&service);
        printf("stopped: the loop was %s, and the thread has tidied up: %s\n",
               service.how_run_ended == TREADLE_RUN_STOPPED ? "stopped" : "finished", service.is_done ? "yes" : "no");
    }
    return 0;
}
