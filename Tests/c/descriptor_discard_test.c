/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * descriptor_discard_test.c: a descriptor source that is made and added in one call, and one that is invalidated and
 * released, by whomever; and what becomes of the descriptor then. In whatever state it is: item_states_test.c. */
#include "helpers.h"
#include <sys/resource.h>

static const char *const M = TREADLE_DEFAULT_MODE;

static atomic_int performed, released;
static void on_ready(treadle_descriptor source, uint32_t events, void *info) {
    (void)source, (void)info;
    CHECK(events & TREADLE_READABLE);
    atomic_fetch_add(&performed, 1);
}
static void count_release(void *info) { (void)info, atomic_fetch_add(&released, 1); }
static int take(atomic_int *counter) { return atomic_exchange(counter, 0); }
static int make_fd(unsigned value) {
    int fd = eventfd(value, EFD_NONBLOCK | EFD_CLOEXEC);
    CHECK(fd >= 0);
    return fd;
}
static treadle_descriptor watch(int fd) {
    treadle_descriptor source = NULL;
    CHECK_INT(treadle_descriptor_start(fd, TREADLE_READABLE, on_ready, NULL, &source), TREADLE_OK);
    return source;
}
static void add(treadle_descriptor source, const char *mode) {
    CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), source, mode), TREADLE_OK);
}
/* Keeps the mode from being empty. */
static void keep_mode(void) {
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), keeper, M), TREADLE_OK);
}
static void count_ready(treadle_descriptor source, uint32_t events, void *info) { (void)source, (void)events, ++*(int *)info; }
static void count_wait(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, ++*(int *)info; }
/* How often a run that nothing ends before its time wakes up. */
static int wakes_of_an_idle_run(void) {
    int wakes = 0;
    treadle_observer observer = make_observer(count_wait, &wakes, TREADLE_AFTER_WAITING);
    CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, M), TREADLE_OK);
    while (wakes == 0) /* again if the time was over before its sleep */
        CHECK_INT(treadle_loop_run(treadle_loop_current(), M, MILLISECONDS(20), 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
    return wakes;
}

static treadle_descriptor make(bool has_release, int fd) {
    treadle_descriptor_context context = {.struct_size = sizeof context, .ready = on_ready, .fd = fd, .events = TREADLE_READABLE,
                                          .release = has_release ? count_release : NULL};
    treadle_descriptor source = NULL;
    CHECK_INT(treadle_descriptor_create(&context, &source), TREADLE_OK);
    return source;
}

/* --- Watched in one call --------------------------------------------------------------------------- */

TEST(a_source_is_made_and_added_in_one_call, "SRC1-1 SRC1-10 OBJ-3") {
    for (uint32_t events = 1; events <= 3; events++) {
        int fd = make_fd(7), number = -1;
        uint32_t watched = 0;
        void *info = NULL;
        treadle_descriptor source = NULL;
        CHECK_INT(treadle_descriptor_start(fd, events, on_ready, &fd, &source), TREADLE_OK);
        CHECK(treadle_descriptor_is_valid(source) && treadle_loop_contains_descriptor(treadle_loop_current(), source, M));
        CHECK_INT(treadle_descriptor_get_fd(source, &number), TREADLE_OK);
        CHECK_INT(treadle_descriptor_get_events(source, &watched), TREADLE_OK);
        CHECK_INT(treadle_descriptor_get_context_info(source, &info), TREADLE_OK);
        CHECK(number == fd && watched == events && info == &fd);
        if (events & TREADLE_READABLE) {
            CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
            CHECK_INT(take(&performed), 1);
        }
        CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), source, "another"), TREADLE_OK); /* as any other */
        CHECK_INT(treadle_descriptor_set_events(source, TREADLE_READABLE), TREADLE_OK);
        CHECK_INT(treadle_loop_run(treadle_loop_current(), "another", 0, 0), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(take(&performed), 1);
        CHECK_INT(discard(source), TREADLE_OK);
        CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
        close(fd);
    }
}
TEST(without_a_handle_it_is_the_loop_s, "OBJ-3 OBJ-4") {
    int fd = make_fd(1);
    treadle_descriptor first = watch(make_fd(0)); /* so that the mode has a set already */
    CHECK_INT(treadle_descriptor_start(fd, TREADLE_READABLE, on_ready, NULL, NULL), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(take(&performed), 1);
    CHECK_INT(discard(first), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(take(&performed), 1);
}
TEST(what_cannot_be_watched, "SRC1-7 SRC1-8") {
    int fd = make_fd(0), closed = closed_number();
    for (int has_set = 0; has_set < 2; has_set++) {
        treadle_descriptor source = NULL;
#define REFUSED(expected, subject, ...)                                                \
    source = (treadle_descriptor)&source;                                              \
    CHECK_ERROR(treadle_descriptor_start(__VA_ARGS__, NULL, &source), expected, subject); \
    CHECK_ERROR(treadle_descriptor_start(__VA_ARGS__, NULL, NULL), expected, subject);    \
    CHECK(!source)
        REFUSED(TREADLE_E_ARG, "ready", fd, TREADLE_READABLE, NULL);
        REFUSED(TREADLE_E_ARG, "events", fd, 0, on_ready);
        REFUSED(TREADLE_E_ARG, "events", fd, TREADLE_HANGUP | TREADLE_READABLE, on_ready);
        REFUSED(TREADLE_E_ARG, "fd", -1, TREADLE_READABLE, on_ready);
        REFUSED(TREADLE_E_ARG, "fd", INT32_MIN, TREADLE_READABLE, on_ready);
        REFUSED(TREADLE_E_ARG, "fd", closed, TREADLE_READABLE, on_ready);
        REFUSED(TREADLE_E_ARG, "fd", INT32_MAX, TREADLE_READABLE, on_ready);
        CHECK_INT(poll_mode(M), has_set ? TREADLE_RUN_TIMED_OUT : TREADLE_RUN_FINISHED);
        if (has_set) {
            REFUSED(TREADLE_E_EXISTS, "fd", fd, TREADLE_READABLE, on_ready);
            REFUSED(TREADLE_E_EXISTS, "fd", fd, TREADLE_WRITABLE, on_ready);
        } else {
            watch(fd);
        }
    }
}

/* --- The descriptor afterwards --------------------------------------------------------------------- */

/* In the callback of a batch: reports that were taken already are passed over. */
static treadle_descriptor batch[16];
static int batch_fds[16];
static bool batch_closes;
static void discard_all_but_one(treadle_descriptor source, uint32_t events, void *info) {
    (void)source, (void)info;
    atomic_fetch_add(&performed, 1);
    CHECK(events & TREADLE_READABLE);
    for (int i = 0; i < 15; i++) {
        if (!batch[i]) continue;
        CHECK_INT(discard(batch[i]), TREADLE_OK);
        CHECK(!treadle_descriptor_is_valid(batch[i]));
        if (batch_closes) close(batch_fds[i]);
        batch[i] = NULL;
    }
    CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
}
TEST(a_callback_discards_itself_and_others_that_are_ready, "OBJ-9 SRC1-5 SRC1-8") {
    keep_mode();
    for (int round = 0; round < 20; round++) {
        batch_closes = round % 2;
        for (int i = 0; i < 16; i++) {
            batch_fds[i] = make_fd(1);
            CHECK_INT(treadle_descriptor_start(batch_fds[i], TREADLE_READABLE, discard_all_but_one, NULL, &batch[i]), TREADLE_OK);
        }
        CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_STOPPED);
        CHECK_INT(take(&performed), 1);
        CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_STOPPED); /* the one that is left */
        CHECK_INT(take(&performed), 1);
        CHECK_INT(discard(batch[15]), TREADLE_OK);
        CHECK_INT(wakes_of_an_idle_run(), 1);
        for (int i = 0; i < (batch_closes ? 1 : 16); i++) close(batch_fds[batch_closes ? 15 : i]);
    }
}
/* The loop's interrupt has the number of one that was given up, or is one. */
TEST(a_descriptor_that_was_given_up_interrupts, "SRC1-8 RUN-14") {
    treadle_loop loop = treadle_loop_current();
    keep_mode();
    int fd = make_fd(0);
    for (int i = 0; i < 4; i++) {
        CHECK_INT(discard(watch(fd)), TREADLE_OK);
        if (i % 2) {
            close(fd);
            CHECK_INT(make_fd(0), fd);
        }
        CHECK_INT(eventfd_write(fd, 1), 0);
        CHECK_INT(treadle_loop_set_interrupt_descriptor(loop, fd), TREADLE_OK);
        CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, TREADLE_RUN_RETURN_ON_INTERRUPT), TREADLE_RUN_INTERRUPTED);
        CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, TREADLE_RUN_RETURN_ON_INTERRUPT), TREADLE_RUN_INTERRUPTED);
        CHECK_INT(treadle_loop_set_interrupt_descriptor(loop, -1), TREADLE_OK);
        CHECK_INT(wakes_of_an_idle_run(), 1);
    }
    CHECK_INT(take(&performed), 0);
}
/* A source whose number another one has taken over, while a copy keeps its file alive and reporting: it neither takes
 * that one's registration nor stays in the way for long. */
TEST(a_number_taken_over_is_not_given_back, "SRC1-7 SRC1-8") {
    int fd = make_fd(1), copy, late = 0;
    treadle_descriptor old = NULL, new = NULL;
    CHECK_INT(treadle_descriptor_start(fd, TREADLE_READABLE, on_ready, NULL, &old), TREADLE_OK);
    copy = fcntl(fd, F_DUPFD_CLOEXEC, 100);
    close(fd);
    CHECK_INT(make_fd(0), fd);
    CHECK_INT(treadle_descriptor_start(fd, TREADLE_WRITABLE, count_ready, &late, &new), TREADLE_OK);
    CHECK_INT(treadle_descriptor_set_events(new, TREADLE_READABLE), TREADLE_OK);
    for (int i = 0; i < 300; i++) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    take(&performed);
    CHECK_INT(late, 0);
    CHECK_INT(eventfd_write(fd, 1), 0);
    for (int i = 0; i < 10; i++) CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(late, 10);
    CHECK_INT(take(&performed), 0);
    CHECK_INT(discard(old), TREADLE_OK);
    CHECK_INT(discard(new), TREADLE_OK);
    close(copy);
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
}

/* --- Many, and other threads ----------------------------------------------------------------------- */

TEST(many_come_and_go_in_any_order, "SRC1-5 SRC1-8 OBJ-4") {
    enum { MANY = 400 };
    static treadle_descriptor sources[MANY];
    static int fds[MANY];
    unsigned seed = 5;
    for (int life = 0; life < scaled(10000); life++) {
        int i = rand_r(&seed) % MANY;
        if (sources[i]) {
            CHECK_INT(discard(sources[i]), TREADLE_OK);
            sources[i] = NULL;
            if (rand_r(&seed) % 8) close(fds[i]), fds[i] = 0;
        } else {
            if (!fds[i]) fds[i] = make_fd(0);
            sources[i] = watch(fds[i]);
            if (rand_r(&seed) % 8 == 0) CHECK_INT(eventfd_write(fds[i], 1), 0);
        }
        if (life % 100 == 0) CHECK(poll_mode(M) >= 0);
    }
    /* Each that is ready has its turn, and no other. */
    int ready = 0;
    for (int i = 0; i < MANY; i++) {
        eventfd_t value;
        if (!sources[i]) continue;
        if (eventfd_read(fds[i], &value) != 0) continue;
        CHECK_INT(eventfd_write(fds[i], value), 0);
        ready++;
    }
    take(&performed);
    for (int i = 0; i < ready; i++) CHECK(poll_mode(M) >= 0);
    CHECK_INT(take(&performed), ready);
    for (int i = 0; i < MANY; i++) if (sources[i]) CHECK_INT(discard(sources[i]), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_FINISHED);
}

enum { RACERS = 2, SHARED = 16 };
static treadle_descriptor shared[SHARED];
static pthread_barrier_t barrier;
static void *discard_all(void *number) {
    for (int round = scaled(300); round > 0; round--) {
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < SHARED; i++) CHECK_INT(discard(shared[number ? i : SHARED - 1 - i]), TREADLE_OK);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}
/* Two threads, or one and the loop's own, have a reference each to sources that are performed about now. */
TEST(threads_discard_what_is_ready, "OBJ-4 OBJ-5 SRC1-8") {
    pthread_t threads[RACERS];
    int fds[SHARED];
    keep_mode();
    CHECK_INT(pthread_barrier_init(&barrier, NULL, RACERS + 1), 0);
    for (int i = 0; i < SHARED; i++) fds[i] = make_fd(1);
    for (intptr_t i = 0; i < RACERS; i++) CHECK_INT(pthread_create(&threads[i], NULL, discard_all, (void *)i), 0);
    for (int round = scaled(300); round > 0; round--) {
        for (int i = 0; i < SHARED; i++) {
            shared[i] = make(i % 2, fds[i]);
            add(shared[i], M);
            CHECK_INT(treadle_descriptor_retain(shared[i]), TREADLE_OK);
            if (round % 2) CHECK_INT(treadle_descriptor_retain(shared[i]), TREADLE_OK);
        }
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < 10; i++) CHECK(poll_mode(M) >= 0);
        if (round % 2) for (int i = 0; i < SHARED; i++) CHECK_INT(discard(shared[i]), TREADLE_OK);
        pthread_barrier_wait(&barrier);
        take(&performed);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(take(&performed), 0);
        CHECK_INT(take(&released), SHARED / 2);
        for (int i = 0; i < SHARED; i++) CHECK_INT(treadle_descriptor_retain(shared[i]), TREADLE_E_STALE);
    }
    for (int i = 0; i < RACERS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&barrier);
}
/* Another thread gives up what a sleeping loop watches, and the descriptor is ready then. */
TEST(a_sleeping_loop_s_source_is_discarded, "OBJ-5 MODE-10 SRC1-8") {
    struct worker worker;
    int fd = make_fd(0);
    worker_start(&worker);
    for (int i = 0; i < 20; i++) {
        treadle_descriptor source = make(i % 2, fd);
        CHECK_INT(treadle_loop_add_descriptor(worker.loop, source, M), TREADLE_OK);
        worker_await_sleep(&worker);
        CHECK_INT(discard(source), TREADLE_OK);
        CHECK_INT(eventfd_write(fd, 1), 0);
        CHECK_INT(eventfd_read(fd, &(eventfd_t){0}), 0);
    }
    worker_stop(&worker);
    CHECK_INT(take(&performed), 0);
    CHECK_INT(take(&released), 10);
}

/* Somebody waits for the end of a callback; the source is discarded meanwhile. */
static sem_t in_callback, may_return;
static void stay(treadle_descriptor source, uint32_t events, void *info) {
    (void)source, (void)events;
    CHECK_INT(eventfd_read(*(int *)info, &(eventfd_t){0}), 0);
    sem_post(&in_callback);
    await(&may_return);
}
static void *discard_it(void *source) {
    CHECK_INT(discard(source), TREADLE_OK);
    sem_post(&may_return);
    return NULL;
}
TEST(who_waits_for_a_callback_is_told, "OBJ-5 ABI-5") {
    struct worker worker;
    int fd = make_fd(0);
    CHECK_INT(sem_init(&in_callback, 0, 0), 0);
    CHECK_INT(sem_init(&may_return, 0, 0), 0);
    worker_start(&worker);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        treadle_descriptor source = make_descriptor(stay, &fd, fd, TREADLE_READABLE);
        CHECK_INT(treadle_descriptor_retain(source), TREADLE_OK);
        CHECK_INT(treadle_loop_add_descriptor(worker.loop, source, M), TREADLE_OK);
        CHECK_INT(eventfd_write(fd, 1), 0);
        await(&in_callback);
        CHECK_INT(pthread_create(&thread, NULL, discard_it, source), 0);
        CHECK_INT(treadle_descriptor_close(source, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK_INT(discard(source), TREADLE_OK);
        CHECK_INT(treadle_descriptor_retain(source), TREADLE_E_STALE);
    }
    worker_stop(&worker);
}

TEST_MAIN()
