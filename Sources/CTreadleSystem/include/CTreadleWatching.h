/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadleWatching.h: what is there for who debugs. A part of CTreadleSystem.h, which includes it. */
#ifndef CTREADLE_WATCHING_H
#define CTREADLE_WATCHING_H

/* For who debugs: messages are written; callouts are timed; there is a watchdog; a trace is recorded. */
enum { TREADLE_SYSTEM_TELLS = 1, TREADLE_SYSTEM_TIMES = 2, TREADLE_SYSTEM_GUARDS = 4, TREADLE_SYSTEM_TRACES = 8 };
static inline uint32_t treadle_system_watched(void) {
    return __atomic_load_n(&treadle_system_present_life.watched, __ATOMIC_RELAXED);
}
static inline void treadle_system_watch(uint32_t bits) {
    __atomic_store_n(&treadle_system_present_life.watched, bits, __ATOMIC_RELAXED);
}
/* Relaxed, as all looks at the bits: a thread may find them late. What belongs to them is under a lock. */
static inline void treadle_system_watch_change(uint32_t clear, uint32_t set) {
    uint32_t now = treadle_system_watched();
    while (!__atomic_compare_exchange_n(&treadle_system_present_life.watched, &now, (now & ~clear) | set, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {}
}
uint32_t treadle_system_ask_environment(void); /* for TREADLE_DEBUG, TREADLE_SLOW_MS and TREADLE_WATCHDOG_MS, as a life begins */
uint32_t treadle_system_asked_for(void); /* what that was */
int64_t treadle_system_slow_limit(void); /* nanoseconds; INT64_MAX: none */
int64_t treadle_system_watchdog_limit(void); /* the same, of TREADLE_WATCHDOG_MS */
static inline void *TREADLE_SYSTEM_NONNULL treadle_system_watchdog_word(void) { return &treadle_system_present_life.watchdog; }
/* Where the reports are linked (TreadleReport): an item, or with tag 0 a block or job, is about to be called (ns -1), or was
 * for so long. kind: as in events; code: of a block. */
void libtreadle_tell(void *loop, uint32_t kind, uint32_t tag, const void *code, int64_t ns) __attribute__((weak));
static inline void treadle_system_tell(void *loop, uint32_t kind, uint32_t tag, const void *code, int64_t ns) {
    if (libtreadle_tell) libtreadle_tell(loop, kind, tag, code, ns);
}
/* There too, while messages are written: a signal of a source found its loop asleep, and has not woken it; and a run that may sleep begins a
 * pass, `is_called`: of what other threads have queued. */
void libtreadle_note_signal(void *loop, uint64_t source) __attribute__((weak));
void libtreadle_note_pass(void *loop, bool is_called) __attribute__((weak));
static inline void treadle_system_note_signal(void *loop, uint64_t source) {
    if (libtreadle_note_signal) libtreadle_note_signal(loop, source);
}
static inline void treadle_system_note_pass(void *loop, bool is_called) {
    if (libtreadle_note_pass) libtreadle_note_pass(loop, is_called);
}
/* Traces: their number, the rings of all threads, the number of an arrow, and the file that TREADLE_TRACE names. */
extern uint32_t treadle_system_trace_sessions;
extern uint64_t treadle_system_flows;
extern void *treadle_system_trace_ring_list;
extern uint32_t treadle_system_trace_ring_count;
static inline uint32_t treadle_system_trace_session(void) { return __atomic_load_n(&treadle_system_trace_sessions, __ATOMIC_RELAXED); }
/* When an event is: by the processor's counter where that is what the kernel's clock is made of, for half of what the clock costs;
 * else by the clock. An anchor is a moment by both, from which times of the clock are computed as the file is written. */
struct treadle_system_trace_anchor {
    int64_t moment, time;
};
extern bool treadle_system_trace_counts; /* by the counter */
extern struct treadle_system_trace_anchor treadle_system_trace_began;
static inline int64_t treadle_system_trace_moment(void) {
#if defined(__x86_64__)
    if (__atomic_load_n(&treadle_system_trace_counts, __ATOMIC_RELAXED)) return (int64_t)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    if (__atomic_load_n(&treadle_system_trace_counts, __ATOMIC_RELAXED)) {
        int64_t moment;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(moment));
        return moment;
    }
#endif
    return treadle_system_now();
}
struct treadle_system_trace_anchor treadle_system_trace_anchor_now(void);
/* As the trace that goes on began; the lock is held. */
static inline struct treadle_system_trace_anchor treadle_system_trace_anchor_begun(void) { return treadle_system_trace_began; }
void treadle_system_prepare_trace(void); /* before one begins */
static inline void treadle_system_begin_trace(void) {
    treadle_system_prepare_trace();
    __atomic_add_fetch(&treadle_system_trace_sessions, 1, __ATOMIC_RELAXED);
    treadle_system_watch_change(0, TREADLE_SYSTEM_TRACES);
}
static inline uint64_t treadle_system_next_flow(void) { return __atomic_add_fetch(&treadle_system_flows, 1, __ATOMIC_RELAXED); }
static inline void *TREADLE_SYSTEM_NONNULL treadle_system_trace_rings(void) { return &treadle_system_trace_ring_list; }
static inline uint32_t *TREADLE_SYSTEM_NONNULL treadle_system_trace_rings_made(void) { return &treadle_system_trace_ring_count; }
static inline struct treadle_system_mutex *TREADLE_SYSTEM_NONNULL treadle_system_trace_lock(void) { return &treadle_system_present_life.trace.mutex; }
static inline void *TREADLE_SYSTEM_NONNULL treadle_system_trace_words(void) { return treadle_system_present_life.trace.words; }
const char *TREADLE_SYSTEM_NONNULL treadle_system_trace_path(void);
/* There too: the process ends. */
void libtreadle_trace_ends(void) __attribute__((weak));
/* A file that is written as a whole: beside its place, to which it is moved at the end; its old content stays until then. What is there and is
 * no regular file, or lies where nothing can be created, is written to in its place; a FIFO without a reader is refused at once, with
 * ENXIO. %p in the path is the process's id. */
struct treadle_system_output {
    int32_t fd;    /* or -errno: then there is nothing to end */
    char *place;   /* NULL: it is written in its place */
    char *beside;
};
struct treadle_system_output treadle_system_begin_output(const char *path);
/* result: 0, or -errno of what has failed meanwhile, which drops what was written beside. Returns that, or -errno. */
int32_t treadle_system_end_output(struct treadle_system_output output, int32_t result);
/* Writing without a signal for the program (writing.c). */
int32_t treadle_system_write_all(int32_t fd, const void *bytes, size_t size);
/* There too: a callout that is timed has begun, and there is to be a watchdog. */
void libtreadle_guard(void) __attribute__((weak));
static inline void treadle_system_guard(void) {
    if (libtreadle_guard) libtreadle_guard();
}

/* A detached thread of the library's own, on which no signal is handled. 0, or -errno. */
int32_t treadle_system_helper_start(void *(*run)(void *), void *argument, size_t stack_size);
/* The stack of another thread (stacks.c), which is told if it is in the call during which a word of 8 bytes has this value: where
 * its return addresses are, the innermost first, until the next call of this; how many. 0 if the thread does not answer in time.
 * One thread at a time, which has called the first function before. */
enum { TREADLE_SYSTEM_FRAMES = 48 };
void treadle_system_prepare_stacks(void);
int32_t treadle_system_stack_of(int32_t thread, const void *word, int64_t expected, int64_t until, const void **out);

/* For which of these events (1: to read, 2: to write) a descriptor is ready, and if so how many bytes there are to read, or for 2
 * alone to be sent, as far as it tells. errno is kept. */
struct treadle_system_left {
    uint32_t events;
    int32_t bytes;
};
struct treadle_system_left treadle_system_left_ready(int32_t fd, uint32_t events);

#include "CTreadleProbes.h"

#endif
