/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * posting.c: how many tasks, or signals, other threads can give to one loop in a second. */
#include "../harness/support.h"

enum { MOST_PRODUCERS = 4 };

/* Each producer numbers its tasks; the loop checks that it gets them one after the other. What the loop writes and
 * what the producers read shares no cache line: that would be a cost of the benchmark's own. */
struct producer {
    _Alignas(128) uint64_t number;
    uint64_t share, begun;
    pthread_t thread;
};
static struct producer producers[MOST_PRODUCERS];
static _Alignas(128) uint64_t expected[MOST_PRODUCERS];
static struct host post_host;
static pthread_barrier_t post_start;
static sem_t posts_done;
static uint64_t posts_left, posts_misplaced, last_post_run; /* the loop's */

/* The task's argument holds the producer above, and its own number below. */
static void posted(void *info) {
    uint64_t value = (uintptr_t)info;
    if (expected[value >> 32]++ != (value & UINT32_MAX)) posts_misplaced++;
    if (--posts_left > 0) return;
    last_post_run = clock_ns();
    sem_post(&posts_done);
}

static void *produce(void *info) {
    struct producer *producer = info;
    void *loop = post_host.loop;
    uint64_t base = producer->number << 32, share = producer->share;
    /* The first on the other processor, the second on the loop's, and so on. */
    bind_for_library(producer->number % 2 ? loop_processor : other_processor);
    pthread_barrier_wait(&post_start);
    producer->begun = clock_ns();
    for (uint64_t i = 0; i < share; i++) library.post(loop, posted, (void *)(uintptr_t)(base | i));
    return NULL;
}

static void post_from(unsigned count, const char *rate, const char *cost) {
    uint64_t share = amount(1000000) / count, total = share * count;
    posts_left = total;
    sem_init(&posts_done, 0, 0);
    pthread_barrier_init(&post_start, NULL, count + 1);
    host_start(&post_host, loop_processor, NULL);
    for (unsigned i = 0; i < count; i++) {
        producers[i] = (struct producer){.number = i, .share = share};
        expected[i] = 0;
        demand(pthread_create(&producers[i].thread, NULL, produce, &producers[i]) == 0, "a thread can be made");
    }
    uint64_t cpu = processor_ns(), begun = UINT64_MAX;
    pthread_barrier_wait(&post_start);
    wait_for(&posts_done);
    cpu = processor_ns() - cpu;
    for (unsigned i = 0; i < count; i++) {
        pthread_join(producers[i].thread, NULL);
        if (producers[i].begun < begun) begun = producers[i].begun;
    }
    host_stop(&post_host);
    uint64_t took = last_post_run - begun;
    demand(posts_left == 0 && posts_misplaced == 0, "each producer's tasks run once, in their order");
    tell(rate, (double)total * 1e3 / (double)took, "M/s");
    tell(cost, (double)cpu / (double)total, "ns");
}
static void post1(void) { post_from(1, "post1", "post1_cpu"); }
static void post4(void) { post_from(4, "post4", "post4_cpu"); }

/* signal: one thread signals one source without a pause; the loop may see several at once, but must see the last. */
static uint64_t signals_wanted;
static _Alignas(128) uint64_t signals_sent;
static _Alignas(128) uint64_t signals_seen;
static sem_t last_signal_seen;
CALLBACK(signalled);
static void signalled(void *info) {
    (void)info;
    signals_seen++;
    if (__atomic_load_n(&signals_sent, __ATOMIC_ACQUIRE) == signals_wanted) sem_post(&last_signal_seen);
}

static void signal_often(void) {
    struct host host;
    const uint64_t wanted = signals_wanted = amount(400000);
    sem_init(&last_signal_seen, 0, 0);
    host_start(&host, loop_processor, &signalled_callback);
    bind_for_library(other_processor);
    uint64_t begun = clock_ns();
    for (uint64_t i = 1; i <= wanted; i++) {
        __atomic_store_n(&signals_sent, i, __ATOMIC_RELEASE);
        library.source_signal(host.loop, host.source);
    }
    wait_for(&last_signal_seen);
    uint64_t took = clock_ns() - begun;
    host_stop(&host);
    demand(signals_seen > 0 && signals_seen <= signals_wanted, "a source is performed once a signal at most");
    tell("signal", (double)signals_wanted * 1e3 / (double)took, "M/s");
}

const struct workload posting_workloads[] = {
    {"post1", post1, NEEDS_POST},
    {"post4", post4, NEEDS_POST},
    {"signal", signal_often, NEEDS_POST | NEEDS_SOURCE},
    {NULL, NULL, 0},
};
