/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * owned_fence_test.c: whoever takes away a source that its owner signals without exchanges has the kernel put a fence into
 * the owner's instructions, and then waits until the owner has left it alone. Here the fence is refused, and the owner is
 * held where it happens to be. The test program stands between the library and the C library's functions that enter the
 * kernel. Where the system has no such fence, nobody owns a source, and the same is true. */
#include "owned_sources.h"

#include <dlfcn.h>

#if !THREAD_SANITIZER && !ADDRESS_SANITIZER /* which stand there themselves */

enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

/* Looked up before there is a second thread: to look up takes a lock, which the owner must not have while it is held. */
static __typeof__(&syscall) real_syscall;
static __typeof__(&clock_nanosleep) real_clock_nanosleep;
static __typeof__(&sched_yield) real_sched_yield;
__attribute__((constructor)) static void find_real_ones(void) {
    *(void **)&real_syscall = dlsym(RTLD_NEXT, "syscall");
    *(void **)&real_clock_nanosleep = dlsym(RTLD_NEXT, "clock_nanosleep");
    *(void **)&real_sched_yield = dlsym(RTLD_NEXT, "sched_yield");
}

static atomic_int asked, slept;
static atomic_bool has_fence, is_refused, holds_owner;
static _Thread_local bool is_taker; /* the thread that takes sources away */
static void hold_owner(void);
static void let_owner_go(void);

long syscall(long number, ...) {
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (is_taker && number == SYS_futex) let_owner_go(); /* who might have what is waited for */
    bool is_fence = number == SYS_membarrier && a[0] == PRIVATE_EXPEDITED;
    if (is_fence) atomic_fetch_add(&asked, 1);
    if (is_fence && is_refused) {
        errno = EPERM;
        return -1;
    }
    long result = real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_membarrier && a[0] == REGISTER_PRIVATE_EXPEDITED && result == 0) has_fence = true;
    if (is_fence && is_taker && atomic_exchange(&holds_owner, false)) hold_owner();
    return result;
}
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left) {
    atomic_fetch_add(&slept, 1);
    return real_clock_nanosleep(clock, flags, time, left);
}
int sched_yield(void) {
    if (is_taker) let_owner_go(); /* it is waited for */
    return real_sched_yield();
}

static void note(treadle_source source, void *info) {
    (void)source;
    trace("%d", (int)(intptr_t)info);
}
TEST(a_fence_that_is_refused_is_not_asked_for_again, "SRC0-6 SRC0-7 SRC0-10") {
    add_sources(3, note);
    signal_long_enough(3);
    on_thread(signal_there, sources[0]);
    CHECK_INT(asked, has_fence ? 1 : 0);
    CHECK_INT(slept, 0);
    poll(MODE, "0");
    signal_long_enough(3);

    is_refused = true;
    for (int i = 0; i < 3; i++) signal_own(i);
    for (int i = 0; i < 2; i++) {
        on_thread(i == 0 ? leave_there : signal_there, sources[i]);
        CHECK_INT(asked, has_fence ? 2 : 0);
        CHECK_INT(slept, has_fence ? i + 1 : 0); /* so long that the owner's stores have come out */
        CHECK(treadle_source_is_signalled(sources[i]));
    }
    poll(MODE, "1 2");
    CHECK_INT(treadle_loop_add_source(loop, sources[0], MODE), TREADLE_OK);
    poll(MODE, "0");
    on_thread(signal_there, sources[2]);
    CHECK_INT(slept, has_fence ? 3 : 0);
    poll(MODE, "2");

    /* From here on no source is its owner's. */
    signal_long_enough(3);
    for (int i = 2; i >= 0; i--) {
        signal_own(i);
        on_thread(signal_there, sources[i]);
    }
    poll(MODE, "2 1 0");
    CHECK_INT(asked, has_fence ? 2 : 0);
    CHECK_INT(slept, has_fence ? 3 : 0);
}

/* Observers are taken out with the same fence. */
static treadle_observer observers[2];
static int told[2];
static void count_told(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity;
    told[(intptr_t)info]++;
}
static void *take_out_there(void *observer) {
    CHECK_INT(treadle_loop_remove_observer(loop, observer, MODE), TREADLE_OK);
    return NULL;
}
static void take_out_both(treadle_source source, void *info) {
    (void)source, (void)info;
    int before = slept;
    on_thread(take_out_there, observers[0]);
    CHECK_INT(asked, has_fence ? 1 : 0);
    CHECK_INT(slept - before, has_fence ? 1 : 0);
    on_thread(take_out_there, observers[1]);
    CHECK_INT(asked, has_fence ? 1 : 0);
}
TEST(an_observer_is_taken_out_though_the_fence_is_refused, "OBS-4 OBJ-9") {
    loop = treadle_loop_current();
    sources[0] = make_source(take_out_both, NULL);
    CHECK_INT(treadle_loop_add_source(loop, sources[0], MODE), TREADLE_OK);
    for (intptr_t i = 0; i < 2; i++) {
        observers[i] = make_observer(count_told, (void *)i, TREADLE_BEFORE_SOURCES);
        CHECK_INT(treadle_loop_add_observer(loop, observers[i], MODE), TREADLE_OK);
    }
    is_refused = true;
    signal_own(0);
    poll(MODE, "");
    poll(MODE, "");
    for (int i = 0; i < 2; i++) CHECK_INT(told[i], 1);
}

/* The owner of a source that signals itself is held in the middle of whatever it does when the source is taken away, until
 * the taker waits for it, or is done. */
static pthread_t owner;
static treadle_thread owner_thread;
static sem_t is_ready;
static atomic_long performed;
static atomic_bool is_held, may_go;
static void stay(int number) {
    (void)number;
    is_held = true;
    while (!may_go) {}
    is_held = false;
}
static void hold_owner(void) {
    may_go = false;
    CHECK_INT(pthread_kill(owner, SIGUSR1), 0);
    while (!is_held) {}
}
static void let_owner_go(void) { may_go = true; }

static void go_on(treadle_source source, void *info) {
    (void)info;
    CHECK(!treadle_source_is_signalled(source)); /* its one signal is used up */
    atomic_fetch_add(&performed, 1);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
}
static void *own_it(void *info) {
    struct sigaction action = {.sa_handler = stay};
    CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
    loop = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    owner_thread = treadle_thread_current();
    CHECK_INT(treadle_thread_retain(owner_thread), TREADLE_OK);
    sources[0] = make_source(go_on, NULL), sources[1] = make_source(note, NULL); /* of which one keeps the mode */
    for (int i = 0; i < 2; i++) CHECK_INT(treadle_loop_add_source(loop, sources[i], MODE), TREADLE_OK);
    signal_own(0);
    CHECK_INT(sem_post(&is_ready), 0);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    return info;
}
static void do_nothing(void *target, void *argument) { (void)target, (void)argument; }
TEST(a_source_is_not_taken_away_in_the_middle_of_its_signal, "SRC0-6 SRC0-8 SRC0-10 OBJ-6") {
    CHECK_INT(sem_init(&is_ready, 0, 0), 0);
    CHECK_INT(treadle_source_release(make_source(NULL, NULL)), TREADLE_OK); /* before there is a second thread */
    CHECK_INT(pthread_create(&owner, NULL, own_it, NULL), 0);
    await(&is_ready);
    treadle_request request = {.struct_size = sizeof request, .fn = do_nothing};
    for (int round = scaled(300); round > 0; round--) {
        for (long goal = performed + LONG_ENOUGH; performed < goal;) sched_yield();
        int before = asked;
        holds_owner = is_taker = true;
        CHECK_INT(treadle_loop_remove_source(loop, sources[0], MODE), TREADLE_OK);
        is_taker = false;
        CHECK(!has_fence || asked > before); /* it was the owner's */
        let_owner_go();
        while (is_held) {}
        /* Behind its callback, which has signalled it again. */
        CHECK_INT(treadle_thread_perform(owner_thread, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
        CHECK(treadle_source_is_signalled(sources[0]));
        CHECK_INT(treadle_loop_add_source(loop, sources[0], MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_wake(loop), TREADLE_OK);
        holds_owner = false;
    }
    CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
    CHECK_INT(pthread_join(owner, NULL), 0);
    for (int i = 0; i < 2; i++) CHECK_INT(treadle_source_release(sources[i]), TREADLE_OK);
    CHECK_INT(treadle_thread_release(owner_thread), TREADLE_OK);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
}
#endif
TEST_MAIN()
