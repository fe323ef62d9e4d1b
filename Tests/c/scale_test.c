/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scale_test.c: many items in one loop, many threads, an idle loop, and memory: none is taken in
 * steady state. This program counts allocations by standing before the C library's functions. */
#include "helpers.h"

#include <sys/resource.h>

#define MODE TREADLE_DEFAULT_MODE

/* Allocations. Where something else replaces these functions, nothing is counted: see can_count. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);
static atomic_long allocations;
#if THREAD_SANITIZER || ADDRESS_SANITIZER
static const bool interposed = false; /* a sanitizer has an allocator of its own */
#else
static const bool interposed = true;
void *malloc(size_t size) { return atomic_fetch_add(&allocations, 1), __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return atomic_fetch_add(&allocations, 1), __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return atomic_fetch_add(&allocations, 1), __libc_realloc(memory, size); }
void *memalign(size_t alignment, size_t size) { return atomic_fetch_add(&allocations, 1), __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return atomic_fetch_add(&allocations, 1), __libc_memalign(alignment, size); }
int posix_memalign(void **memory, size_t alignment, size_t size) {
    atomic_fetch_add(&allocations, 1);
    return (*memory = __libc_memalign(alignment, size)) ? 0 : ENOMEM;
}
void free(void *memory) { __libc_free(memory); }
#endif
static bool can_count(void) {
    long before = allocations;
    void *volatile memory = malloc(1);
    free(memory);
    return interposed && allocations > before;
}

/* Is the process's memory the program's alone, and not that of a sanitizer or of valgrind? */
static bool can_measure_memory(void) {
    const char *preload = getenv("LD_PRELOAD");
    return interposed && !(preload && strstr(preload, "vgpreload"));
}

static atomic_long served;
static void count_perform(treadle_source source, void *info) {
    (void)source;
    ++*(unsigned char *)info;
    served++;
}
static void count_fire(treadle_timer timer, void *info) {
    (void)timer;
    ++*(unsigned char *)info;
    served++;
}
static void count_ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    int32_t fd;
    uint64_t value;
    (void)events;
    CHECK(treadle_descriptor_get_fd(descriptor, &fd) == TREADLE_OK && read(fd, &value, sizeof value) == sizeof value);
    ++*(unsigned char *)info;
    served++;
}
/* Runs until so many callbacks were called, then expects that each was called once. */
static void must_serve_each_once(unsigned char *counts, int count) {
    for (served = 0; served < count;) CHECK(treadle_loop_run(treadle_loop_current(), MODE, SECONDS(1), 0) > 0);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(served, count);
    for (int i = 0; i < count; i++) CHECK_INT(counts[i], 1);
    memset(counts, 0, (size_t)count);
}
static unsigned char counts[100000];
static void *items[100000];

TEST(a_hundred_thousand_sources, "SRC0-7 RL-5") {
    int count = scaled(100000) < 100000 ? scaled(100000) : 100000;
    for (int i = 0; i < count; i++) {
        items[i] = make_source(count_perform, &counts[i]);
        CHECK_INT(treadle_loop_add_source(treadle_loop_current(), items[i], MODE), TREADLE_OK);
    }
    for (int i = 0; i < count; i++) CHECK_INT(treadle_source_signal(items[i]), TREADLE_OK);
    must_serve_each_once(counts, count);
    for (int i = 0; i < count; i += 7) CHECK_INT(treadle_source_signal(items[i]), TREADLE_OK);
    for (served = 0; served < (count + 6) / 7;) poll_mode(MODE);
    for (int i = 0; i < count; i++) CHECK_INT(counts[i], i % 7 == 0);
    for (int i = 0; i < count; i++) {
        CHECK_INT(treadle_source_invalidate(items[i]), TREADLE_OK);
        CHECK_INT(treadle_source_release(items[i]), TREADLE_OK);
    }
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
}

static int64_t last_date;
static void in_date_order(treadle_timer timer, void *info) {
    int64_t date = 0;
    CHECK_INT(treadle_timer_get_next_fire(timer, &date), TREADLE_OK);
    CHECK(date >= last_date && treadle_time_now() >= date);
    last_date = date;
    count_fire(timer, info);
}
TEST(a_hundred_thousand_timers, "TMR-11 TMR-23") {
    int count = scaled(100000) < 100000 ? scaled(100000) : 100000;
    unsigned seed = 5;
    int64_t now = treadle_time_now();
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), keeper, MODE), TREADLE_OK);
    for (int i = 0; i < count; i++) {
        items[i] = make_ending_timer(in_date_order, &counts[i], now + MILLISECONDS(rand_r(&seed) % 2000));
        CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), items[i], MODE), TREADLE_OK);
    }
    must_serve_each_once(counts, count);
    for (int i = 0; i < count; i++) {
        CHECK(!treadle_timer_is_valid(items[i]));
        CHECK_INT(treadle_timer_release(items[i]), TREADLE_OK);
    }
    /* And as many that are taken out before they fire. */
    for (int i = 0; i < count; i++) {
        items[i] = make_timer(in_date_order, &counts[i], FAR_AWAY + rand_r(&seed), SECONDS(1));
        CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), items[i], MODE), TREADLE_OK);
    }
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    for (int i = 0; i < count; i++) {
        CHECK_INT(treadle_timer_invalidate(items[(i * 7919) % count]), TREADLE_OK);
        CHECK_INT(treadle_timer_release(items[(i * 7919) % count]), TREADLE_OK);
    }
    CHECK_INT(treadle_loop_remove_source(treadle_loop_current(), keeper, MODE), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

TEST(ten_thousand_descriptors, "SRC1-5 SRC1-2") {
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    static int fds[10000];
    int count = 0, wanted = scaled(10000) < 10000 ? scaled(10000) : 10000;
    uint64_t one = 1;
    for (; count < wanted && (fds[count] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) >= 0; count++) {
        items[count] = make_descriptor(count_ready, &counts[count], fds[count], TREADLE_READABLE);
        CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), items[count], MODE), TREADLE_OK);
    }
    CHECK(count == wanted || (limit.rlim_cur < 10100 && count + 100 > (int)limit.rlim_cur)); /* as many as the system allows */
    for (int i = 0; i < count; i++) CHECK_INT(write(fds[i], &one, sizeof one), sizeof one);
    must_serve_each_once(counts, count);
    for (int i = 0; i < count; i++) {
        CHECK_INT(treadle_descriptor_invalidate(items[i]), TREADLE_OK);
        CHECK_INT(treadle_descriptor_release(items[i]), TREADLE_OK);
        close(fds[i]);
    }
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
}

/* Property (vi). The loop has one of everything, and nothing to do. */
static struct rusage usage[2];
static atomic_int wakes;
static sem_t noted;
static void note_usage(void *info) {
    CHECK_INT(getrusage(RUSAGE_THREAD, info), 0);
    sem_post(&noted);
}
static void count_wakes(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity, (void)info;
    wakes++;
}
TEST(an_idle_loop_does_not_wake, "TMR-10 WAKE-1 RUN-14") {
    struct worker worker;
    struct timespec pause = {.tv_sec = 5};
    treadle_timer timer = make_timer(NULL, NULL, FAR_AWAY, SECONDS(1));
    treadle_timer removed = make_timer(NULL, NULL, treadle_time_now() + SECONDS(2), 0);
    int fd = eventfd(0, EFD_CLOEXEC), writable = eventfd(0, EFD_CLOEXEC);
    treadle_descriptor descriptor = make_descriptor(NULL, NULL, fd, TREADLE_READABLE);
    treadle_descriptor paused = make_descriptor(NULL, NULL, writable, TREADLE_WRITABLE);
    treadle_observer observer = make_observer(count_wakes, NULL, TREADLE_AFTER_WAITING);
    sem_init(&noted, 0, 0);
    worker_start(&worker);
    CHECK_INT(treadle_loop_add_timer(worker.loop, timer, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(worker.loop, removed, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(worker.loop, descriptor, MODE), TREADLE_OK);
    CHECK_INT(treadle_descriptor_set_events(paused, 0), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(worker.loop, paused, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(worker.loop, observer, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_timer(worker.loop, removed, MODE), TREADLE_OK);
    worker_await_sleep(&worker);
    CHECK_INT(treadle_loop_post(worker.loop, note_usage, &usage[0]), TREADLE_OK);
    await(&noted);
    worker_await_sleep(&worker);
    int before = wakes;
    nanosleep(&pause, NULL); /* the very thing that is tested: five seconds of nothing */
    CHECK_INT(wakes, before);
    CHECK(is_asleep(&worker.watch));
    CHECK_INT(treadle_loop_post(worker.loop, note_usage, &usage[1]), TREADLE_OK);
    worker_stop(&worker);
    /* One switch when it fell asleep. Others are the machine's: a contended lock of the post, a page fault that waits for a change
     * of the process's memory. A loop that wakes once a second has five more. */
    CHECK(usage[1].ru_nvcsw - usage[0].ru_nvcsw < 5);
    treadle_timer_release(timer);
    treadle_timer_release(removed);
    treadle_descriptor_release(descriptor);
    treadle_descriptor_release(paused);
    treadle_observer_release(observer);
    close(fd);
    close(writable);
}

/* Property (vii). */
static void post_nothing(void *info) { (void)info; }
static void *touch_and_exit(void *unused) {
    treadle_loop loop = treadle_loop_current();
    treadle_source source = make_source(NULL, NULL);
    treadle_timer timer = make_timer(NULL, NULL, FAR_AWAY, 0);
    int fd = eventfd(1, EFD_CLOEXEC);
    treadle_descriptor descriptor = make_descriptor(NULL, NULL, fd, TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, "another"), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, post_nothing, NULL), TREADLE_OK);
    CHECK_INT(poll_mode("another"), TREADLE_RUN_TIMED_OUT);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(treadle_loop_post(loop, post_nothing, NULL), TREADLE_OK);
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    }
    if (thread_id() % 2) CHECK_INT(treadle_loop_post(loop, post_nothing, NULL), TREADLE_OK); /* discarded */
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
    treadle_loop_stop(NULL); /* a last error, too */
    close(fd);
    return unused;
}
static void come_and_go(int count) {
    pthread_t threads[8];
    for (int i = 0; i < count; i += 8) {
        for (int t = 0; t < 8; t++) CHECK_INT(pthread_create(&threads[t], NULL, touch_and_exit, NULL), 0);
        for (int t = 0; t < 8; t++) CHECK_INT(pthread_join(threads[t], NULL), 0);
    }
}
TEST(ten_thousand_threads_come_and_go, "RL-8 RL-1 OBJ-2") {
    int threads = count_threads();
    come_and_go(scaled(1000));
    int descriptors = count_descriptors();
    long resident = resident_kilobytes();
    come_and_go(scaled(10000));
    CHECK_INT(count_descriptors(), descriptors);
    /* A joined thread is listed a moment longer; the thread sanitizer has one of its own. */
    while (!THREAD_SANITIZER && count_threads() > threads) sched_yield();
    /* A hundred bytes lost by each thread would be seen. */
    if (can_measure_memory() && resident_kilobytes() > resident + 900)
        check_failed(__FILE__, __LINE__, "%ld KB were lost", resident_kilobytes() - resident);
}

TEST(objects_that_come_and_go_take_no_memory, "OBJ-4 RL-8 RL-9") {
    long resident = 0;
    int fd = eventfd(0, EFD_CLOEXEC);
    for (int i = scaled(100000); i > 0; i--) {
        treadle_source source = make_source(NULL, NULL);
        treadle_timer timer = make_timer(NULL, NULL, FAR_AWAY, 0);
        treadle_observer observer = make_observer(NULL, NULL, TREADLE_EXIT);
        treadle_descriptor descriptor = make_descriptor(NULL, NULL, fd, TREADLE_READABLE);
        CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), descriptor, MODE), TREADLE_OK);
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        treadle_source_invalidate(source), treadle_timer_invalidate(timer);
        treadle_observer_invalidate(observer), treadle_descriptor_invalidate(descriptor);
        treadle_source_release(source), treadle_timer_release(timer);
        treadle_observer_release(observer), treadle_descriptor_release(descriptor);
        if (i == scaled(100000) / 2 + 1) resident = resident_kilobytes();
    }
    if (can_measure_memory() && resident_kilobytes() > resident + 900)
        check_failed(__FILE__, __LINE__, "%ld KB were lost", resident_kilobytes() - resident);
}

/* Steady state: nothing is allocated to post, signal, wake, re-arm a timer, serve, or go to sleep. */
static treadle_timer rearmed;
static void rearm(treadle_timer timer, void *info) {
    (void)info;
    CHECK_INT(treadle_timer_set_next_fire(timer, 1), TREADLE_OK);
    served++;
}
static void count_post(void *info) { (void)info, served++; }
static void steady(treadle_source source, treadle_source woken, struct worker *worker, int fd, int rounds) {
    treadle_loop loop = treadle_loop_current();
    uint64_t one = 1;
    for (int i = 0; i < rounds; i++) {
        CHECK_INT(treadle_loop_post(loop, count_post, NULL), TREADLE_OK);
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        CHECK_INT(treadle_timer_set_next_fire(rearmed, i % 2 ? 1 : FAR_AWAY), TREADLE_OK);
        CHECK_INT(write(fd, &one, sizeof one), sizeof one);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(treadle_loop_post(worker->loop, count_post, NULL), TREADLE_OK);
        CHECK_INT(treadle_source_signal_and_wake(woken), TREADLE_OK);
        while (treadle_source_is_signalled(woken)) sched_yield();
        CHECK(treadle_loop_run(loop, MODE, 1000, 0) > 0); /* sleeps for a microsecond */
    }
}
TEST(no_allocation_in_steady_state, "SRC0-6 TMR-16 WAKE-1") {
    struct worker worker;
    unsigned char here = 0, there = 0, ready = 0;
    treadle_loop loop = treadle_loop_current();
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    treadle_source source = make_source(count_perform, &here), woken = make_source(count_perform, &there);
    treadle_descriptor descriptor = make_descriptor(count_ready, &ready, fd, TREADLE_READABLE);
    rearmed = make_timer(rearm, NULL, FAR_AWAY, SECONDS(1));
    worker_start(&worker);
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(worker.loop, woken, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, rearmed, MODE), TREADLE_OK);
    steady(source, woken, &worker, fd, 200); /* the queues grow to what they need */
    long before = allocations;
    steady(source, woken, &worker, fd, scaled(5000));
    long during = allocations - before;
    if (can_count()) CHECK_INT(during, 0);
    CHECK(served > 0);
    worker_stop(&worker);
    treadle_source_release(source), treadle_source_release(woken);
    treadle_descriptor_release(descriptor), treadle_timer_release(rearmed);
    close(fd);
}

TEST_MAIN()
