/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * priority_test.c: real-time threads beside ordinary ones on one processor. A thread that loses its processor inside the
 * library keeps nobody of a higher priority waiting, whatever wants the processor in between. The thread sanitizer has locks
 * of its own around each atomic access, which know no priorities: there the same calls are made, and nobody wants the
 * processor in between nor looks at the clock. */
#include "thread_jobs.h"

#include <dirent.h>

enum { LOW = 0, MIDDLE = 10, HIGH = 20 }; /* 0: an ordinary thread; else levels of SCHED_FIFO */
/* A call that waits for a thread which has lost its processor to the hog would take as long as the kernel lets that have it, most
 * of a second; a virtual machine may lose its processor for some tens of milliseconds. */
static const int64_t limit = MILLISECONDS(200);

static treadle_loop loop;
static atomic_bool is_over, is_done;
static sem_t hog_wanted;

static bool be(int level) {
    cpu_set_t first;
    struct sched_param parameters = {.sched_priority = level};
    CHECK_INT(sched_getaffinity(0, sizeof first, &first), 0);
    for (int i = 0, found = 0; i < CPU_SETSIZE; i++) {
        if (CPU_ISSET(i, &first) && found++) CPU_CLR(i, &first);
    }
    CHECK_INT(sched_setaffinity(0, sizeof first, &first), 0);
    return level == LOW || pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters) == 0;
}
static void *try_fifo(void *info) {
    *(bool *)info = be(HIGH);
    return NULL;
}
static bool are_priorities_permitted(void) {
    bool permitted = false;
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, try_fifo, &permitted), 0);
    CHECK_INT(pthread_join(thread, NULL), 0);
    if (!permitted) fprintf(stderr, "skipped: this process may not use SCHED_FIFO\n");
    return permitted;
}

static void nothing_posted(void *info) { (void)info; }
static void nothing_fired(treadle_timer self, void *info) { (void)self, (void)info; }
static void post(void) { CHECK_INT(treadle_loop_post(loop, nothing_posted, NULL), TREADLE_OK); }
static void configure(void) {
    treadle_timer timer = make_timer(nothing_fired, NULL, FAR_AWAY, 0);
    CHECK_INT(treadle_loop_add_timer(loop, timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_timer(loop, timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
}

/* Calls without a pause, so that whoever takes the processor away finds it anywhere in the library. */
static void *call_all_the_time(void *call) {
    be(LOW);
    while (!atomic_load(&is_over)) ((void (*)(void))call)();
    return NULL;
}
/* Writes what each thread of this process does in the kernel, where that can be read: its call, and the function in which it waits. */
static void tell_of_threads(void) {
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        static const char *const files[] = {"comm", "wchan", "syscall"};
        if (entry->d_name[0] == '.') continue;
        fprintf(stderr, "thread %s:", entry->d_name);
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
            char path[300], text[200] = "";
            snprintf(path, sizeof path, "/proc/self/task/%s/%s", entry->d_name, files[i]);
            FILE *file = fopen(path, "r");
            if (file && fgets(text, sizeof text, file)) fprintf(stderr, " %.*s", (int)strcspn(text, "\n"), text);
            if (file) fclose(file);
        }
        fprintf(stderr, "\n");
    }
    if (threads) closedir(threads);
}
/* Wants the processor from just before the call until its end. */
static void *hog(void *info) {
    CHECK(be(MIDDLE));
    for (;;) {
        await(&hog_wanted);
        if (atomic_load(&is_over)) return info;
        int64_t start = treadle_time_now();
        bool was_told = false;
        while (!THREAD_SANITIZER && !atomic_load(&is_done)) {
            if (was_told || treadle_time_now() - start < limit) continue;
            tell_of_threads();
            was_told = true;
        }
    }
}
/* The same of a thread for its own loop, which takes no lock for that as long as no other thread has. */
static sem_t owns;
static void *call_for_own_loop(void *call) {
    loop = treadle_loop_current();
    CHECK_INT(treadle_retain(loop), TREADLE_OK);
    CHECK_INT(sem_post(&owns), 0);
    return call_all_the_time(call);
}
struct timing {
    void (*call)(void);
    uint32_t times;
    long pause; /* at least, in nanoseconds */
    int64_t worst;
};
static void *call_now_and_then(void *info) {
    struct timing *timing = info;
    CHECK(be(HIGH));
    /* The C library makes memory for this thread under locks of its own. */
    void *volatile first = malloc(1);
    free(first);
    timing->call();
    for (uint32_t i = 0; i < timing->times; i++) {
        /* Each call meets the others at another point of theirs; what is shown depends on no length of the pause. */
        struct timespec pause = {.tv_nsec = timing->pause + i * 7919 % 50000};
        nanosleep(&pause, NULL);
        atomic_store(&is_done, false);
        CHECK_INT(sem_post(&hog_wanted), 0);
        int64_t start = treadle_time_now();
        timing->call();
        int64_t duration = treadle_time_now() - start;
        atomic_store(&is_done, true);
        if (duration > timing->worst) timing->worst = duration;
    }
    return NULL;
}
static void check_calls(void (*call)(void), bool by_owner) {
    /* Longer than some ticks of the kernel's, behind which the owner has its bias back. */
    struct timing timing = {call, by_owner ? 50 : 400, by_owner ? 30000000 : 20000, 0};
    struct server server;
    pthread_t low, middle, high;
    if (!are_priorities_permitted()) return;
    server_start(&server);
    loop = server.loop;
    call(); /* what is met for the first time takes locks of others: the loader's, the Swift runtime's */
    CHECK_INT(sem_init(&hog_wanted, 0, 0), 0);
    CHECK_INT(sem_init(&owns, 0, 0), 0);
    CHECK_INT(pthread_create(&low, NULL, by_owner ? call_for_own_loop : call_all_the_time, (void *)call), 0);
    if (by_owner) await(&owns);
    CHECK_INT(pthread_create(&middle, NULL, hog, NULL), 0);
    CHECK_INT(pthread_create(&high, NULL, call_now_and_then, &timing), 0);
    CHECK_INT(pthread_join(high, NULL), 0);
    atomic_store(&is_over, true);
    CHECK_INT(sem_post(&hog_wanted), 0);
    CHECK_INT(pthread_join(middle, NULL), 0);
    CHECK_INT(pthread_join(low, NULL), 0);
    if (by_owner) CHECK_INT(treadle_release(loop), TREADLE_OK);
    server_end(&server);
    if (THREAD_SANITIZER) return;
    if (timing.worst > limit) fprintf(stderr, "the longest call took %" PRId64 " us\n", timing.worst / 1000);
    CHECK(timing.worst <= limit);
}

TEST(an_ordinary_thread_in_a_post_keeps_no_real_time_post_waiting, "OBJ-6 THR-13") { check_calls(post, false); }
TEST(an_ordinary_thread_that_configures_a_loop_keeps_no_other_waiting, "OBJ-6 MODE-10") { check_calls(configure, false); }
TEST(an_ordinary_thread_that_configures_its_own_loop_keeps_no_other_waiting, "OBJ-6 MODE-10") { check_calls(configure, true); }

TEST_MAIN()
