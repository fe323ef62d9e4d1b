/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_posix_test.c: threads of Treadle and of POSIX are the same threads. */
#include "helpers.h"

static sem_t running, may_end;
static pthread_t self;
static void *tell_and_wait(void *unused) {
    self = pthread_self();
    sem_post(&running);
    await(&may_end);
    return unused;
}
TEST(the_pthread_of_a_started_thread, "THR-20") {
    treadle_thread thread;
    uintptr_t native = 5;
    int policy;
    struct sched_param parameters;
    sem_init(&running, 0, 0);
    sem_init(&may_end, 0, 0);
    CHECK_INT(create_thread(tell_and_wait, NULL, NULL, &thread), TREADLE_OK);
    CHECK_ERROR(treadle_thread_get_pthread(thread, &native), TREADLE_E_STATE, "thread");
    CHECK_INT(native, 0);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    await(&running);
    CHECK_INT(treadle_thread_get_pthread(thread, &native), TREADLE_OK);
    CHECK(pthread_equal((pthread_t)native, self));
    CHECK_INT(pthread_getschedparam((pthread_t)native, &policy, &parameters), 0); /* POSIX takes it */
    CHECK_ERROR(treadle_thread_get_pthread(thread, NULL), TREADLE_E_ARG, "out_pthread");
    sem_post(&may_end);
    CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
    CHECK_ERROR(treadle_thread_get_pthread(thread, &native), TREADLE_E_STATE, "thread");
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}

static void *be_adopted(void *unused) {
    treadle_thread thread = treadle_thread_current();
    uintptr_t native = 0;
    CHECK(thread && thread == treadle_thread_current());
    CHECK_INT(treadle_thread_get_pthread(thread, &native), TREADLE_OK);
    CHECK(pthread_equal((pthread_t)native, pthread_self()));
    return unused;
}
TEST(a_thread_of_posix_is_adopted, "THR-20 THR-9") {
    on_thread(be_adopted, NULL);
    be_adopted(NULL); /* the main thread */
}

TEST_MAIN()
