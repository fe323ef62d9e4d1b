/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * world.h: the state of one explored run, and what the explorer's files call of each other. */
#ifndef WORLD_H
#define WORLD_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { THREADS = 8, FRAMES = 128, KEYS = 16 };
static const int64_t NEVER = INT64_MAX;

/* For each thread: how many of its operations are known. */
typedef struct {
    uint32_t at[THREADS];
} vector;

static inline void join_vector(vector *a, const vector *b) {
    for (int i = 0; i < THREADS; i++)
        if (b->at[i] > a->at[i]) a->at[i] = b->at[i];
}

/* What threads have done that others know of by other means than a word. */
struct told {
    vector before, view;
};

enum thread_state { UNUSED, READY, BLOCKED, ENDED };
enum wait_kind { NO_WAIT, ON_FUTEX, ON_PI_FUTEX, ON_EPOLL, ON_JOIN, ON_EVENT, ON_SLEEP, ON_MUTEX, ON_CONDITION, ON_POLL };

/* A virtual thread. */
struct vthread {
    enum thread_state state;
    enum wait_kind waits;
    const void *object; /* that it waits for */
    uint32_t events;    /* of it, in poll */
    int64_t deadline;   /* of the wait; NEVER */
    int result;         /* of the wait: 0, or -errno */
    uint32_t order;     /* of its wait among all */

    void *stack_pointer;
    char *tls; /* the program's thread-local storage while others run */
    int saved_errno;
    void *(*body)(void *);
    void *argument, *value;
    bool is_detached, is_joined;
    struct told end;
    void *keys[KEYS];

    /* The memory model. */
    vector before;         /* what happened before */
    vector view;           /* what must be seen: that, and what fences have made visible */
    vector released, released_view; /* the same at its last release fence */
    vector pending, pending_view; /* what an acquire fence would add */
    uint32_t fence_order;  /* of its last sequentially consistent fence */

    /* Waiting awake. */
    const void *last_address, *last_site;
    uint64_t last_value;
    int same_loads, loads;

    const void *frames[FRAMES];
    int depth;
};

enum { DECISIONS = 8192, PLAN = 512, SHARED_WORDS = 1 << 14, SITES = 4096, WEAKENED = 1024, MARKS = 1 << 14 };
enum strategy { EXHAUSTIVE, RANDOM };

/* One decision of a run. kind: 't' who goes on, 'r' which value is read (0: the newest), 'c' a scene's choice. */
struct decision {
    uint32_t step;
    char kind;
    uint8_t count, index;
    uint8_t options[THREADS];
};
struct planned {
    uint32_t step;
    char kind;
    uint8_t value;
};

/* What the explorer and the process of a run share. */
struct shared {
    /* To the run. */
    uint32_t run; /* its number, from 1 */
    enum strategy strategy;
    int preemptions, stale_reads; /* at most */
    uint64_t seed;
    uint32_t points; /* of an earlier run: where PCT's changes lie */
    int changes;
    bool is_tracing, is_x86;
    int fault;         /* which one is put back; 0: none */
    uint32_t may_fail; /* which calls of the kernel may fail in every scene */
    struct planned plan[PLAN];
    int plan_count;
    /* From the run. */
    bool is_over, has_failed;
    char message[512];
    char report[16384];
    struct decision decisions[DECISIONS];
    int decision_count;
    uint32_t steps, seen_points;
    /* Which threads have used a word, by a hash of its address: bit n: thread n; bit 8+n: it has written it. A word of one thread
     * alone is no place for a decision: nothing that others do is before or after it. */
    uint16_t words[SHARED_WORDS];
    uint16_t known_words[SHARED_WORDS];
    /* Where the library asks for an order, by the address behind the call. */
    bool records_sites;
    uint32_t sites[SITES];
    int8_t orders[SITES];     /* what is asked for there */
    bool are_looks[SITES];    /* a thread has looked at the same word before */
    int site_count;
    /* A mutant: those that ask for less, and for what. */
    uint32_t weakened[WEAKENED];
    int weakened_count, weakened_to;
    bool weakened_marks[MARKS]; /* by the last bits of the address: whether it may be one of them */
    long differences;           /* how often that has ordered less, or hidden something new */
};
extern struct shared *shared;

struct world {
    struct vthread threads[THREADS];
    int count, current;
    bool is_exploring, is_over;
    int held; /* no decision while this is not 0 */
    uint32_t steps, points;
    int64_t now;
    bool is_clock_stopped;
    uint32_t first_step; /* where schedules began to differ */
    uint32_t waits;
    int preemptions, stale_reads, failures;
    uint32_t may_fail; /* which calls of the kernel may fail */
    bool has_no_barriers, has_no_memory_files;
    int room_of_accepted; /* of sockets; 0: any */
    uint64_t random;
    int priority[THREADS];
    int lowest;
    uint32_t change[16];
    int planned;
    /* The memory model: sequentially consistent operations in their order, and what was visible at fences. */
    uint32_t order;
    vector fence_view;
    int forks;
    bool is_alone; /* the child of a fork, with one thread */
};
extern struct world world;
static inline struct vthread *me(void) { return &world.threads[world.current]; }

/* schedule.c */
void schedule_begin(void);
void point(const void *address, bool writes, const void *site, const char *what);
void yield_point(void);
int choose_value(int count); /* 0: the newest */
/* In which of so many ways a call of the kernel fails, where the scene lets it (scene.h); 0: it does not. A few do in a run. */
enum { MOST_FAILURES_EXHAUSTED = 1, MOST_FAILURES = 2 };
int choose_failure(uint32_t kind, int count);
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Blocks the calling thread; the result of its wait. */
int block(enum wait_kind kind, const void *object, int64_t deadline);
void make_ready(struct vthread *thread, int result);
_Noreturn void leave_thread(void); /* it has ended */
_Noreturn void run_over(void);

/* threads.c */
void threads_prepare(void);
void switch_to(int thread);
void run_scene(void (*body)(void)); /* returns when the run is over */
_Noreturn void return_from_run(void);
uint32_t id_of(int thread);
int thread_of(uint32_t id); /* -1: none */

/* memory.c */
void tell(struct told *told); /* what the calling thread has done */
void be_told(struct vthread *thread, const struct told *told);
void fence_all(struct vthread *thread);
void barrier(void); /* on all processors */
void forget_words(const void *address, size_t size);
void touch_plainly(const void *address, size_t size);

/* atomics.c */
uint64_t kernel_read(const void *address);
void kernel_write(void *address, uint32_t value);
/* Notes a site that asks for an order; the kernel's barrier is one. Whether it is left out (a mutant). */
bool is_left_out(int order, const void *site);

/* race.c. `site`: the address behind the access. */
void watch_for_races(const void *memory, size_t size);
void access_plainly(const void *address, size_t size, bool is_write, const void *site);
void access_atomically(const void *address, size_t size, bool is_write, const void *site);
void memory_is_freed(const void *address, size_t size, const void *site);
void memory_is_filled(const void *address, size_t size, const void *site);
void memory_is_allocated(const void *address, size_t size);

/* reach.c */
extern uint8_t *reached; /* for each byte of the program whether it was; NULL: that is not asked for */
void note_reached(const void *site);
void note_reached_fault(int number); /* a switch was asked for */

/* snapshot.c */
void snapshot_take(void);
void snapshot_restore(void);

/* kernel.c */
void wake_pollers(void);
int64_t next_timer_of(const void *epoll);

#endif
