/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * A thread that is ready when start returns, and gone when stop returns: stop joins it.
 *
 * Of the four ways this one promises most and needs least: no lock, no condition. Treadle waits for the start
 * until the thread has entered its loop, and treadle_thread_stop_and_join ends the loop in a way that cannot be
 * lost. Afterwards even the destructors of the thread's own data have run. */
#include <pthread.h>
#include <string.h>

#include "require.h"

struct service {
    treadle_thread thread;
    int asked; /* written by the thread, which is gone when others read it */
    bool is_destroyed;
};

static pthread_key_t own_data;

static void destroy_own_data(void *data) {
    struct service *service = data;
    service->is_destroyed = true;
}

static void check(int error, const char *what) {
    if (!error) return;
    fprintf(stderr, "cannot %s: %s\n", what, strerror(error));
    exit(1);
}

/* --- On the thread -------------------------------------------------------------------------------- */

static void *thread_main(void *info) {
    struct service *service = info;
    check(pthread_setspecific(own_data, service), "set the thread's own data");
    treadle_loop loop = treadle_loop_current();
    /* A loop without a source or a timer ends at once; this source does nothing but keep it. */
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    treadle_source keeper;
    require(treadle_source_create(&context, &keeper), "make a source");
    require(treadle_loop_add_source(loop, keeper, TREADLE_DEFAULT_MODE), "add it");

    require(treadle_loop_run_default(loop), "run the loop"); /* its first pass tells that the thread is ready */

    require(treadle_source_invalidate(keeper), "take the source away");
    require(treadle_source_release(keeper), "release it");
    return service;
}

static void square(void *target, void *argument) {
    struct service *service = target;
    int *number = argument;
    *number *= *number;
    service->asked++;
}

/* --- On any other thread -------------------------------------------------------------------------- */

static int squared(struct service *service, int number) {
    treadle_request request = TREADLE_INIT(treadle_request);
    request.fn = square;
    request.target = service;
    request.argument = &number;
    request.flags = TREADLE_PERFORM_WAIT;
    require(treadle_perform(service->thread, &request), "ask the thread");
    return number;
}

static void start(struct service *service) {
    *service = (struct service){0};
    treadle_thread_config config = TREADLE_INIT(treadle_thread_config);
    config.fn = thread_main;
    config.info = service;
    require(treadle_thread_create(&config, &service->thread), "make a thread");
    require(treadle_thread_start_and_wait(service->thread, TREADLE_FOREVER), "start it");
}

static void stop(struct service *service) {
    void *result;
    require(treadle_thread_stop_and_join(service->thread, TREADLE_FOREVER, &result), "stop the thread");
    printf("stopped: the thread has finished: %s, its own data are destroyed: %s, its result is there: %s\n",
           treadle_thread_is_finished(service->thread) ? "yes" : "no", service->is_destroyed ? "yes" : "no",
           result == service ? "yes" : "no");
    require(treadle_thread_release(service->thread), "release the thread");
}

int main(void) {
    struct service service;
    check(pthread_key_create(&own_data, destroy_own_data), "make a key");
    for (int number = 5; number <= 7; number++) {
        start(&service);
        printf("started, and executing: %s\n", treadle_thread_is_executing(service.thread) ? "yes" : "no");
        printf("  %d squared is %d, ", number, squared(&service, number));
        printf("%d squared is %d\n", number + 10, squared(&service, number + 10));
        stop(&service);
        printf("  it was asked %d times\n", service.asked);
    }
    check(pthread_key_delete(own_data), "delete the key");
    return 0;
}
