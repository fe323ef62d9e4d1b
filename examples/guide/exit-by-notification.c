/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * A thread whose function has returned when stop returns: stop waits for the notification that the thread will
 * exit.
 *
 * The notification comes on the ending thread itself, when its function has returned and the pool around that
 * function is drained: neither has to be done by hand, as exit-by-pool.c does. The thread is still not quite
 * gone then; for that see exit-by-join.c. */
#include "require.h"

struct service {
    treadle_thread thread;
    treadle_lock lock; /* guards all below */
    treadle_condition changed;
    bool is_ready;
    bool is_done;
    int in_pool; /* how many objects the thread has in its pool */
    bool executed_at_the_end;
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

static void count(struct service *service, int change) {
    require(treadle_lock_lock(service->lock, TREADLE_FOREVER), "lock");
    service->in_pool += change;
    require(treadle_lock_unlock(service->lock), "unlock");
}

static void release_from_pool(void *object) { count(object, -1); }

/* No pool is opened here, so it is the one that Treadle keeps around the function of a thread. */
static void put_into_pool(struct service *service) {
    count(service, 1);
    require(treadle_pool_add(service, release_from_pool), "put an object into the pool");
}

static void *thread_main(void *info) {
    struct service *service = info;
    treadle_loop loop = treadle_loop_current();
    /* A loop without a source or a timer ends at once; this source does nothing but keep it. */
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    treadle_source keeper;
    require(treadle_source_create(&context, &keeper), "make a source");
    require(treadle_loop_add_source(loop, keeper, TREADLE_DEFAULT_MODE), "add it");
    put_into_pool(service);
    put_into_pool(service);
    tell(service, &service->is_ready);

    require(treadle_loop_run_default(loop), "run the loop"); /* until it is stopped */

    require(treadle_source_invalidate(keeper), "take the source away");
    require(treadle_source_release(keeper), "release it");
    put_into_pool(service);
    return NULL;
}

static void will_exit(uint32_t name, void *object, void *info) {
    struct service *service = info;
    (void)name;
    service->executed_at_the_end = treadle_thread_is_executing(object);
    tell(service, &service->is_done);
}

static void stop_own_loop(void *target, void *argument) {
    (void)target, (void)argument;
    require(treadle_loop_stop(treadle_loop_current()), "stop the loop");
}

/* --- On any other thread -------------------------------------------------------------------------- */

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
    printf("started: %d objects in the thread's pool\n", service->in_pool);
    require(treadle_lock_unlock(service->lock), "unlock");
}

static void stop(struct service *service) {
    uint64_t token; /* of this thread's notification only */
    treadle_notification_config config = TREADLE_INIT(treadle_notification_config);
    config.name = TREADLE_NOTIFY_THREAD_WILL_EXIT;
    config.object = service->thread;
    config.fn = will_exit;
    config.info = service;
    require(treadle_notification_add(&config, &token), "ask for the notification");
    treadle_request request = TREADLE_INIT(treadle_request);
    request.fn = stop_own_loop;

    require(treadle_lock_lock(service->lock, TREADLE_FOREVER), "lock");
    require(treadle_perform(service->thread, &request), "perform a function on the thread");
    wait_for(service, &service->is_done);
    printf("stopped: %d objects in the thread's pool; it was still executing when it told so: %s\n", service->in_pool,
           service->executed_at_the_end ? "yes" : "no");
    require(treadle_lock_unlock(service->lock), "unlock");

    require(treadle_notification_remove(token), "ask for it no more");
    require(treadle_thread_release(service->thread), "release the thread");
    require(treadle_condition_release(service->changed), "release the condition");
    require(treadle_lock_release(service->lock), "release the lock");
}

int main(void) {
    struct service service;
    for (int round = 0; round < 3; round++) {
        start(&service);
        stop(&service);
    }
    return 0;
}
