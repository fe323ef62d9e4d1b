/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * waking.c: how quickly one thread gets another to do something and hears of it. Both sides are bound to one
 * processor, or (names that end with _2) to one each: there, waking a processor that sleeps costs most. */
#include "../harness/support.h"

enum { MOST_ROUNDS = 10000, WARM_UP = 500 };

/* pingpong: two loops post a task to each other in turn. pingsig: they signal each other's source. */
static struct host near_host, far_host;
static int64_t returns[WARM_UP + MOST_ROUNDS + 1];
static size_t returned, last_return;
static sem_t rounds_done;

static bool note_return(void) {
    returns[returned] = (int64_t)clock_ns();
    if (returned++ < last_return) return true;
    sem_post(&rounds_done);
    return false;
}
static void pong(void *info);
static void ping(void *info) {
    (void)info;
    library.post(near_host.loop, pong, NULL);
}
static void pong(void *info) {
    (void)info;
    if (note_return()) library.post(far_host.loop, ping, NULL);
}
CALLBACK(signal_back);
static void signal_back(void *info) {
    (void)info;
    library.source_signal(near_host.loop, near_host.source);
}
CALLBACK(signal_forth);
static void signal_forth(void *info) {
    (void)info;
    if (note_return()) library.source_signal(far_host.loop, far_host.source);
}

static void bounce(bool by_signal, int far_processor, const char *rate, const char *slow) {
    size_t rounds = amount(MOST_ROUNDS);
    last_return = WARM_UP + rounds;
    sem_init(&rounds_done, 0, 0);
    /* On one processor also a library's own threads stay on it. */
    if (far_processor == loop_processor) bind_thread(loop_processor);
    host_start(&near_host, loop_processor, by_signal ? &signal_forth_callback : NULL);
    host_start(&far_host, far_processor, by_signal ? &signal_back_callback : NULL);
    if (by_signal) library.source_signal(near_host.loop, near_host.source);
    else library.post(near_host.loop, pong, NULL);
    wait_for(&rounds_done);
    /* This one first: it may still be in the call that reached the other. */
    host_stop(&far_host);
    host_stop(&near_host);
    demand(returned == last_return + 1, "each ping has one pong");
    int64_t *taken = returns + WARM_UP, whole = taken[rounds] - taken[0];
    for (size_t i = 0; i < rounds; i++) taken[i] = taken[i + 1] - taken[i];
    tell(rate, (double)rounds * 1e6 / (double)whole, "k/s");
    tell(slow, quantile(taken, rounds, 0.99) / 1e3, "us");
}
static void pingpong(void) { bounce(false, loop_processor, "pingpong", "pingpong_p99"); }
static void pingpong_2(void) { bounce(false, other_processor, "pingpong_2", "pingpong_2_p99"); }
static void pingsig(void) { bounce(true, loop_processor, "pingsig", "pingsig_p99"); }
static void pingsig_2(void) { bounce(true, other_processor, "pingsig_2", "pingsig_2_p99"); }

/* sync: a thread without a loop has a function performed on a loop, and waits for it. Where the library has no such
 * call, its users post a task that raises a semaphore. */
struct call {
    task_fn fn;
    void *info;
    sem_t is_done;
};
static void make_call(void *info) {
    struct call *call = info;
    call->fn(call->info);
    sem_post(&call->is_done);
}
static void perform_and_wait(void *loop, task_fn fn, void *info) {
    if (library.perform_and_wait) {
        library.perform_and_wait(loop, fn, info);
        return;
    }
    struct call call = {.fn = fn, .info = info};
    sem_init(&call.is_done, 0, 0);
    library.post(loop, make_call, &call);
    wait_for(&call.is_done);
}

static void synchronize(int caller_processor, const char *rate, const char *slow) {
    static int64_t taken[MOST_ROUNDS];
    size_t rounds = amount(MOST_ROUNDS), performed = 0;
    struct host host;
    if (caller_processor == loop_processor) bind_thread(loop_processor);
    host_start(&host, loop_processor, NULL);
    bind_for_library(caller_processor);
    for (size_t i = 0; i < WARM_UP; i++) perform_and_wait(host.loop, add_one, &performed);
    uint64_t begun = clock_ns(), before = begun;
    for (size_t i = 0; i < rounds; i++) {
        perform_and_wait(host.loop, add_one, &performed);
        demand(performed == WARM_UP + i + 1, "the function has run once when the wait is over");
        uint64_t now = clock_ns();
        taken[i] = (int64_t)(now - before);
        before = now;
    }
    host_stop(&host);
    tell(rate, (double)rounds * 1e6 / (double)(before - begun), "k/s");
    tell(slow, quantile(taken, rounds, 0.99) / 1e3, "us");
}
static void sync_1(void) { synchronize(loop_processor, "sync", "sync_p99"); }
static void sync_2(void) { synchronize(other_processor, "sync_2", "sync_2_p99"); }

const struct workload waking_workloads[] = {
    {"pingpong", pingpong, NEEDS_POST},
    {"pingpong_2", pingpong_2, NEEDS_POST | NEEDS_TWO_PROCESSORS},
    {"pingsig", pingsig, NEEDS_POST | NEEDS_SOURCE},
    {"pingsig_2", pingsig_2, NEEDS_POST | NEEDS_SOURCE | NEEDS_TWO_PROCESSORS},
    {"sync", sync_1, NEEDS_POST},
    {"sync_2", sync_2, NEEDS_POST | NEEDS_TWO_PROCESSORS},
    {NULL, NULL, 0},
};
