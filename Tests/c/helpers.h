/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * helpers.h: what many C tests share: items with defaults, a worker thread with a loop, knowing that
 * a loop sleeps, counting what the process holds. Include it first, in place of check.h. */
#ifndef TREADLE_HELPERS_H
#define TREADLE_HELPERS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "asking.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

/* Which sanitizer the test is built with: gcc and clang tell it in ways of their own. */
#ifdef __has_feature
#define CLANG_HAS(feature) __has_feature(feature)
#else
#define CLANG_HAS(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || CLANG_HAS(thread_sanitizer)
#define THREAD_SANITIZER 1
#else
#define THREAD_SANITIZER 0
#endif
#if defined(__SANITIZE_ADDRESS__) || CLANG_HAS(address_sanitizer)
#define ADDRESS_SANITIZER 1
#else
#define ADDRESS_SANITIZER 0
#endif

/* Whether the test runs in a way of scripts/test-c. */
HELPER bool is_way(const char *name) {
    const char *way = getenv("TREADLE_TEST_WAY");
    return way && strcmp(way, name) == 0;
}

/* The ordinary Swift runtime takes locks of its own when a type is used for the first time, and the child of a fork inherits
 * them as they are: held, if another thread just held one, for good. The shipped library has no such lock. So a test that
 * forks while other threads make calls, and has its child make calls, is skipped where the library is ordinary Swift. */
HELPER bool skips_fork_among_calls(const char *test) {
    static const char *const ways[] = {"debug", "static", "thread", "address"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (!is_way(ways[i])) continue;
        printf("%s: skipped, since the ordinary Swift runtime's locks do not survive a fork\n", test);
        return true;
    }
    return false;
}

/* A thread with a function, and a registration of one for a notification. */
HELPER treadle_status create_thread(treadle_thread_fn fn, void *info, treadle_release_fn destroy, treadle_thread *out) {
    treadle_thread_config config = {.struct_size = sizeof config, .fn = fn, .info = info, .destroy = destroy};
    return treadle_thread_create(&config, out);
}
HELPER treadle_status add_notification(uint32_t name, void *object, treadle_notification_fn fn, void *info,
                                       treadle_release_fn destroy, uint64_t *out_token) {
    treadle_notification_config config = {
        .struct_size = sizeof config, .name = name, .object = object, .fn = fn, .info = info, .destroy = destroy};
    return treadle_notification_add(&config, out_token);
}

/* Ends an item that the caller owns, and returns the reference. */
HELPER treadle_status discard(treadle_object item) {
    treadle_status status = treadle_invalidate(item);
    return status < 0 ? status : treadle_release(item);
}

/* Items. Each is owned by the caller; a NULL callback is allowed. A descriptor source needs one (SRC1-2), and gets one that
 * does nothing. */
HELPER treadle_source make_source(treadle_perform_fn perform, void *info) {
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform, .info = info};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    return source;
}
HELPER treadle_timer make_timer_with(uint32_t flags, treadle_timer_fn fire, void *info, treadle_release_fn release, int64_t fire_at,
                                     int64_t interval_ns) {
    treadle_timer_context context = {.struct_size = sizeof context, .fire = fire, .info = info, .release = release,
                                     .fire_at = fire_at, .interval_ns = interval_ns, .flags = flags};
    treadle_timer timer = NULL;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    return timer;
}
HELPER treadle_timer make_timer(treadle_timer_fn fire, void *info, int64_t fire_at, int64_t interval_ns) {
    return make_timer_with(0, fire, info, NULL, fire_at, interval_ns);
}
/* A one-shot that ends as CFRunLoop's does (TMR-4, TMR-15). */
HELPER treadle_timer make_ending_timer(treadle_timer_fn fire, void *info, int64_t fire_at) {
    return make_timer_with(TREADLE_TIMER_ENDS_AFTER_FIRING, fire, info, NULL, fire_at, 0);
}
/* In the default mode of the calling thread's loop, armed at a date. */
HELPER treadle_timer armed_timer(treadle_timer_fn fire, void *info, treadle_release_fn release, int64_t fire_at, int64_t interval_ns) {
    treadle_timer timer = make_timer_with(0, fire, info, release, fire_at, interval_ns);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    return timer;
}
HELPER treadle_observer make_observer(treadle_observer_fn notify, void *info, uint32_t activities) {
    treadle_observer_context context = {
        .struct_size = sizeof context, .notify = notify, .info = info, .activities = activities};
    treadle_observer observer = NULL;
    CHECK_INT(treadle_observer_create(&context, &observer), TREADLE_OK);
    return observer;
}
HELPER void ready_for_nothing(treadle_descriptor descriptor, uint32_t ready, void *info) { (void)descriptor, (void)ready, (void)info; }
HELPER treadle_descriptor make_descriptor(treadle_ready_fn ready, void *info, int fd, uint32_t events) {
    treadle_descriptor_context context = {
        .struct_size = sizeof context, .ready = ready ? ready : ready_for_nothing, .info = info, .fd = fd, .events = events};
    treadle_descriptor descriptor = NULL;
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    return descriptor;
}

HELPER int64_t next_fire(treadle_timer timer) {
    int64_t date = -1;
    CHECK_INT(treadle_timer_get_next_fire(timer, &date), TREADLE_OK);
    return date;
}

/* A date that no test reaches: for timers that only keep a mode from being empty. */
#define FAR_AWAY (treadle_time_now() + SECONDS(100000))

HELPER int32_t thread_id(void) { return (int32_t)syscall(SYS_gettid); }

/* An open descriptor with a number that nothing else gets once it is closed, and that any system allows; and such a number. */
HELPER int open_high(void) {
    int low = eventfd(0, EFD_CLOEXEC), high = fcntl(low, F_DUPFD_CLOEXEC, 200);
    CHECK(high >= 200);
    close(low);
    return high;
}
HELPER int closed_number(void) {
    int high = open_high();
    close(high);
    return high;
}

/* Of the heap. 0 under a sanitizer, which has its own way to tell what is left, and where the C library does not tell it. */
#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 33)
#define TELLS_OF_HEAP
#endif
#endif
HELPER size_t bytes_in_use(void) {
#ifdef TELLS_OF_HEAP
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

/* A semaphore wait that a signal does not cut short. */
HELPER void await(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0 && errno == EINTR) {}
    progress();
}

/* Gives the others time, in which what must not happen could, or in which they come to another point; nothing rests on its
 * length. A sleep is as long on a busy machine, where a hundred yields are a hundred turns of everything else; what is shorter
 * than a sleep can be is spent awake. */
HELPER void linger(int64_t nanoseconds) {
    struct timespec pause = {.tv_nsec = nanoseconds};
    if (nanoseconds >= MICROSECONDS(50)) nanosleep(&pause, NULL);
    else for (int64_t end = treadle_time_now() + nanoseconds; treadle_time_now() < end;) {}
}

/* Knows from any thread whether a loop sleeps in a mode. is_waiting alone is also true in a poll. */
struct sleep_watch {
    treadle_loop loop;
    treadle_observer observer;
    atomic_int asleep;
    atomic_int sleeps; /* how many have begun */
};
HELPER void sleep_watch_notify(treadle_observer observer, uint32_t activity, void *info) {
    struct sleep_watch *watch = info;
    (void)observer;
    if (activity == TREADLE_BEFORE_WAITING) atomic_fetch_add(&watch->sleeps, 1);
    atomic_store(&watch->asleep, activity == TREADLE_BEFORE_WAITING);
}
/* To be called before the mode is run, or from a callback of the loop. */
HELPER void watch_sleep(struct sleep_watch *watch, treadle_loop loop, const char *mode) {
    treadle_observer_context context = {.struct_size = sizeof context,
                                        .notify = sleep_watch_notify,
                                        .info = watch,
                                        .activities = TREADLE_BEFORE_WAITING | TREADLE_AFTER_WAITING,
                                        .order = INT64_MAX};
    watch->loop = loop;
    atomic_init(&watch->asleep, 0);
    atomic_init(&watch->sleeps, 0);
    CHECK_INT(treadle_observer_create(&context, &watch->observer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(loop, watch->observer, mode), TREADLE_OK);
}
HELPER bool is_asleep(struct sleep_watch *watch) {
    return atomic_load(&watch->asleep) && treadle_loop_is_waiting(watch->loop);
}
/* How often a thread of this process has blocked, if the kernel says that it does now; else -1. */
HELPER long count_blocks(int32_t thread_id) {
    char name[64], line[256], state = 0;
    long count = -1;
    snprintf(name, sizeof name, "/proc/self/task/%d/status", thread_id);
    FILE *file = fopen(name, "r");
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "State: %c", &state);
        sscanf(line, "voluntary_ctxt_switches: %ld", &count);
    }
    if (file) fclose(file);
    return state == 'S' ? count : -1;
}
/* Whether it blocks for good, and not for a lock that it gets at once. */
HELPER bool is_in_kernel_wait(int32_t thread_id) {
    long before = count_blocks(thread_id);
    for (int i = 0; before >= 0 && i < 10; i++) sched_yield();
    return before >= 0 && count_blocks(thread_id) == before;
}
/* Whether the loop's last look before its sleep is over, too: what comes without a wake-up stays unseen then. */
HELPER bool is_fast_asleep(struct sleep_watch *watch) {
    int32_t thread_id = 0;
    CHECK_INT(treadle_loop_get_thread_id(watch->loop, &thread_id), TREADLE_OK);
    return is_asleep(watch) && is_in_kernel_wait(thread_id) && is_asleep(watch);
}
HELPER void await_sleep(struct sleep_watch *watch) {
    while (!is_fast_asleep(watch)) sched_yield();
    progress();
}
HELPER void unwatch_sleep(struct sleep_watch *watch) {
    treadle_observer_invalidate(watch->observer);
    CHECK_INT(treadle_observer_release(watch->observer), TREADLE_OK);
}

/* A thread that runs its loop in one mode until worker_stop. A source that is never signalled keeps the
 * mode from being empty. Once worker_start has returned, the loop is known and retained. */
struct worker {
    pthread_t thread;
    const char *mode;
    treadle_loop loop;
    treadle_source keeper;
    struct sleep_watch watch;
    int32_t thread_id;
    treadle_status result; /* of the run; valid after worker_stop */
    sem_t ready;
};
HELPER void *worker_main(void *info) {
    struct worker *worker = info;
    worker->loop = treadle_loop_current();
    CHECK(worker->loop);
    CHECK_INT(treadle_loop_retain(worker->loop), TREADLE_OK);
    worker->thread_id = thread_id();
    worker->keeper = make_source(NULL, worker);
    CHECK_INT(treadle_loop_add_source(worker->loop, worker->keeper, worker->mode), TREADLE_OK);
    watch_sleep(&worker->watch, worker->loop, worker->mode);
    sem_post(&worker->ready);
    worker->result = treadle_loop_run(worker->loop, worker->mode, TREADLE_FOREVER, 0);
    return NULL;
}
HELPER void worker_start_in_mode(struct worker *worker, const char *mode) {
    memset(worker, 0, sizeof *worker);
    worker->mode = mode;
    CHECK_INT(sem_init(&worker->ready, 0, 0), 0);
    CHECK_INT(pthread_create(&worker->thread, NULL, worker_main, worker), 0);
    await(&worker->ready);
}
HELPER void worker_start(struct worker *worker) { worker_start_in_mode(worker, TREADLE_DEFAULT_MODE); }
HELPER void worker_await_sleep(struct worker *worker) { await_sleep(&worker->watch); }
HELPER void worker_stop(struct worker *worker) {
    CHECK_INT(treadle_loop_request_stop(worker->loop, TREADLE_STOP_ALL_LEVELS), TREADLE_OK);
    CHECK_INT(pthread_join(worker->thread, NULL), 0);
    CHECK_INT(worker->result, TREADLE_RUN_STOPPED);
    unwatch_sleep(&worker->watch);
    CHECK_INT(treadle_source_invalidate(worker->keeper), TREADLE_OK);
    CHECK_INT(treadle_source_release(worker->keeper), TREADLE_OK);
    CHECK_INT(treadle_loop_release(worker->loop), TREADLE_OK);
    sem_destroy(&worker->ready);
}

/* Runs fn(info) on a thread of its own, to its end, its loop's teardown included. */
HELPER void *on_thread(void *(*fn)(void *), void *info) {
    pthread_t thread;
    void *result = NULL;
    CHECK_INT(pthread_create(&thread, NULL, fn, info), 0);
    CHECK_INT(pthread_join(thread, &result), 0);
    return result;
}

/* Runs a mode of the calling thread's loop without blocking. */
HELPER treadle_status poll_mode(const char *mode) { return treadle_loop_run(treadle_loop_current(), mode, 0, 0); }

/* What the process holds. A thread that was joined may still be listed for a moment. */
HELPER int count_entries(const char *directory) {
    DIR *stream = opendir(directory);
    int count = 0;
    CHECK(stream);
    for (struct dirent *entry; (entry = readdir(stream));) count += entry->d_name[0] != '.';
    closedir(stream);
    return count;
}
HELPER int count_descriptors(void) { return count_entries("/proc/self/fd") - 1; } /* its own not counted */
HELPER int count_threads(void) { return count_entries("/proc/self/task"); }
HELPER long resident_kilobytes(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%*d %ld", &pages) == 1);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Adds references until there are as many as there can be; how many that were. */
HELPER int take_all_references(treadle_object object) {
    int count = 0;
    while (treadle_retain(object) == TREADLE_OK) count++;
    CHECK_ERROR(treadle_retain(object), TREADLE_E_RANGE, "as many references as it can have");
    return count;
}
HELPER void return_references(treadle_object object, int count) {
    while (count-- > 0) CHECK_INT(treadle_release(object), TREADLE_OK);
}

/* How much a test repeats: `count`, times TREADLE_TEST_SCALE. */
HELPER int scaled(int count) {
    double product = count * test_scale;
    return product < 1 ? 1 : (int)product;
}

#endif
