/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * visits.c: what another thread pays to add, move, remove and end a timer of a loop, one at a time and many in a row, and
 * what each visit costs the loop's own thread. That thread takes no locked instruction as long as nobody visits (bias);
 * `plain` is a loop without bias: in a process that refuses membarrier, which a visitor needs against a biased lock. */
#include "calls.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

enum { SINGLES = 41, BURST = 100000, ROUNDS = 9, VISITS = 100, HOUR = 3600 };
/* More than twice the longest tick of a kernel (10 ms): behind it the loop's thread has its bias back when it next runs. */
static const long untouched_ns = 30000000, between_visits_ns = 1000000;
static const int64_t far_away = (int64_t)HOUR * 1000000000;

static void pause_for(long ns) {
    struct timespec time = {.tv_nsec = ns};
    while (nanosleep(&time, &time) != 0) {}
}
static void refuse_membarrier(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    demand(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0,
           "a process may refuse its own calls");
}

/* --- The loop that is visited ---------------------------------------------------------------------------- */

static treadle_loop loop;
static sem_t is_ready;
static bool is_to_stay_awake;
static _Atomic uint64_t passes;
static atomic_bool is_over;

static void count_pass(treadle_source source, void *info) {
    (void)info;
    atomic_fetch_add_explicit(&passes, 1, memory_order_relaxed);
    if (is_to_stay_awake) check(treadle_source_signal(source));
    if (atomic_load_explicit(&is_over, memory_order_relaxed)) treadle_loop_stop(loop);
}
static void *be_visited(void *info) {
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    bind_thread(first_processor);
    loop = treadle_loop_current();
    live_in(loop);
    context.perform = count_pass;
    check(treadle_source_create(&context, info));
    check(treadle_loop_add_source(loop, *(treadle_source *)info, TREADLE_DEFAULT_MODE));
    if (is_to_stay_awake) check(treadle_source_signal(*(treadle_source *)info));
    check(treadle_retain(loop));
    sem_post(&is_ready);
    check(treadle_loop_run_default(loop));
    return NULL;
}
static treadle_source source;
static pthread_t owner;
static void start(enum way way, bool stays_awake) {
    if (way == PLAINLY) refuse_membarrier();
    is_to_stay_awake = stays_awake;
    sem_init(&is_ready, 0, 0);
    demand(pthread_create(&owner, NULL, be_visited, &source) == 0, "a thread can be made");
    while (sem_wait(&is_ready) != 0) {}
    bind_thread(second_processor);
}
static void have_pass(void) {
    check(treadle_source_signal(source));
    check(treadle_loop_wake(loop));
}
static void end(void) {
    atomic_store(&is_over, true);
    have_pass();
    demand(pthread_join(owner, NULL) == 0, "the loop ends");
    check(treadle_source_release(source));
    check(treadle_release(loop));
}

/* --- The visits -------------------------------------------------------------------------------------------- */

static treadle_timer timer;
static void never(treadle_timer self, void *info) {
    (void)self, (void)info;
    demand(false, "a timer an hour away does not fire");
}
static void make(void) {
    treadle_timer_context context = TREADLE_INIT(treadle_timer_context);
    context.fire = never;
    context.fire_at = treadle_time_now() + far_away;
    check(treadle_timer_create(&context, &timer));
}
static void add(void) { check(treadle_loop_add_timer(loop, timer, TREADLE_DEFAULT_MODE)); }
static void move(void) { check(treadle_timer_set_time(timer, 2 * far_away, 0)); }
static void take_out(void) { check(treadle_loop_remove_timer(loop, timer, TREADLE_DEFAULT_MODE)); }
static void finish(void) {
    check(treadle_invalidate(timer));
    check(treadle_timer_release(timer));
}
static const struct visit {
    const char *suffix;
    void (*visit)(void);
} visits[] = {{"_add", add}, {"_move", move}, {"_remove", take_out}, {"_add_again", add}, {"_end", finish}};
enum { KINDS = sizeof visits / sizeof *visits };

static int compare(const void *a, const void *b) { return (*(double *)a > *(double *)b) - (*(double *)a < *(double *)b); }
static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}
/* The loop's thread passes once without a visitor in its way, and has its bias back, if it has one. */
static void leave_alone(void) {
    uint64_t before = atomic_load(&passes);
    pause_for(untouched_ns);
    if (is_to_stay_awake) return;
    have_pass();
    while (atomic_load(&passes) == before) pause_for(100000);
    pause_for(between_visits_ns);
}
static void one_at_a_time(const char *name, enum way way, bool stays_awake) {
    static double took[KINDS][SINGLES];
    size_t count = is_quick ? 3 : SINGLES;
    start(way, stays_awake);
    for (size_t i = 0; i < count; i++) {
        make();
        for (int kind = 0; kind < KINDS; kind++) {
            leave_alone();
            uint64_t begun = clock_ns();
            visits[kind].visit();
            took[kind][i] = (double)(clock_ns() - begun);
        }
    }
    end();
    for (int kind = 0; kind < KINDS; kind++) {
        if (visits[kind].visit == add && kind > 0) continue;
        tell_part(name, visits[kind].suffix, median(took[kind], count), "ns");
    }
}
static void visit_asleep(const char *name, enum way way) { one_at_a_time(name, way, false); }
static void visit_awake(const char *name, enum way way) { one_at_a_time(name, way, true); }

/* Added, moved and removed, again and again. */
static void visit_burst(const char *name, enum way way) {
    double took[ROUNDS];
    size_t count = amount(BURST) / 3;
    start(way, false);
    make();
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t begun = clock_ns();
        for (size_t i = 0; i < count; i++) add(), move(), take_out();
        took[round] = (double)(clock_ns() - begun) / (double)count / 3;
    }
    finish();
    end();
    tell(name, median(took, ROUNDS), "ns");
}

/* How much less the loop's thread gets done in the time of a visit each millisecond. */
static void visit_owner(const char *name, enum way way) {
    double lost[ROUNDS];
    size_t count = is_quick ? 5 : VISITS;
    start(way, true);
    make();
    add();
    for (int round = 0; round < ROUNDS; round++) {
        double ns_a_pass[2];
        uint64_t took = 0;
        for (int visited = 0; visited < 2; visited++) {
            leave_alone();
            uint64_t begun = clock_ns(), before = atomic_load(&passes);
            for (size_t i = 0; i < count; i++) {
                pause_for(between_visits_ns);
                if (visited) move();
            }
            took = clock_ns() - begun;
            ns_a_pass[visited] = (double)took / (double)(atomic_load(&passes) - before);
        }
        lost[round] = (double)took * (1 - ns_a_pass[0] / ns_a_pass[1]) / (double)count;
    }
    finish();
    end();
    tell(name, median(lost, ROUNDS), "ns");
}

enum { BOTH = WAY(BY_TREADLE) | WAY(PLAINLY) };
const struct workload visit_workloads[] = {{"visit_asleep", visit_asleep, BOTH, true},
                                           {"visit_awake", visit_awake, BOTH, true},
                                           {"visit_burst", visit_burst, BOTH, true},
                                           {"visit_owner", visit_owner, BOTH, true},
                                           {NULL, NULL, 0, false}};
