/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadleProcess.h: the state of the whole process: its lives, its shutdown, what all threads know. A part of CTreadleSystem.h, which
 * includes it. */
#ifndef CTREADLE_PROCESS_H
#define CTREADLE_PROCESS_H

/* The process's state. */
struct treadle_system_process {
    uint32_t last_tag; /* of the life that was begun last; 0 before the first use */
    uint32_t hooks;
    void *main_loop;
    void *main_thread;      /* stays when the thread has ended */
    uint32_t main_is_known; /* 1: the initial thread has called the library, and its end is told */
    uint32_t threaded;  /* MultiThreading.State */
    uint32_t closed;    /* 1 after a shutdown */
    uint32_t calls;     /* of clients, outside of runs, on all threads (ClientCall) */
    uint32_t notified;  /* 1 once anybody has registered for a notification */
    void (*scopes_end)(void); /* looks for scopes whose end nobody waits for, or NULL: there was none */
    uint32_t deferred_scopes; /* how many such scopes there are */
};
extern struct treadle_system_process treadle_system_process_state __attribute__((visibility("hidden")));
static inline struct treadle_system_process *TREADLE_SYSTEM_NONNULL treadle_system_process(void) { return &treadle_system_process_state; }

static inline uint32_t treadle_system_tag(void) {
    return __atomic_load_n(&treadle_system_present_life.tag, __ATOMIC_ACQUIRE);
}
static inline uint32_t treadle_system_open_tag(void) {
    return __atomic_load_n(&treadle_system_present_life.open, __ATOMIC_RELAXED);
}
/* In the child of a fork, until it begins a life of its own. */
static inline bool treadle_system_is_forked(void) {
    return __atomic_load_n(&treadle_system_process_state.last_tag, __ATOMIC_ACQUIRE) != 0 && treadle_system_tag() == 0;
}
static inline bool treadle_system_is_closed(void) {
    return __atomic_load_n(&treadle_system_process_state.closed, __ATOMIC_RELAXED) != 0;
}
/* Under the start lock, as treadle_system_close_process, or alone in the child of a fork: a life that begins closed stays so. */
static inline void treadle_system_begin_life(uint32_t tag) {
    treadle_system_watch(treadle_system_ask_environment());
    __atomic_store_n(&treadle_system_present_life.open, treadle_system_is_closed() ? 0 : tag, __ATOMIC_RELAXED);
    __atomic_store_n(&treadle_system_present_life.tag, tag, __ATOMIC_RELEASE);
    __atomic_store_n(&treadle_system_process_state.last_tag, tag, __ATOMIC_RELEASE);
}
/* In the child of a fork, where the kernel has not. */
static inline void treadle_system_end_life(void) {
    if (treadle_system_tag() != 0) memset(&treadle_system_present_life, 0, sizeof treadle_system_present_life);
}

/* A tag that no other copy of the library in this process has, or had in the processes that it was forked from; 0 if there
 * is none left. */
uint32_t treadle_system_new_tag(void);

/* Under the start lock. The caller looks for what has to end behind treadle_system_barrier: what begins on another thread finds the
 * process closed, or is found. */
static inline bool treadle_system_close_process(void) {
    bool is_first = !treadle_system_is_closed();
    __atomic_store_n(&treadle_system_process_state.closed, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&treadle_system_present_life.open, 0, __ATOMIC_RELAXED);
    return is_first;
}
/* Stored before the first such scope is counted, and read behind the count. */
static inline void treadle_system_set_scopes_end(void (*end)(void)) {
    __atomic_store_n(&treadle_system_process_state.scopes_end, end, __ATOMIC_RELAXED);
}
static inline void (*treadle_system_scopes_end(void))(void) {
    return __atomic_load_n(&treadle_system_process_state.scopes_end, __ATOMIC_RELAXED);
}
/* Sequentially consistent: a scope is counted, then looked at; whatever is in it comes to rest, then the count is read. */
static inline uint32_t treadle_system_count_deferred_scopes(uint32_t change) {
    return __atomic_add_fetch(&treadle_system_process_state.deferred_scopes, change, __ATOMIC_SEQ_CST);
}
static inline uint32_t treadle_system_deferred_scopes(void) {
    return __atomic_load_n(&treadle_system_process_state.deferred_scopes, __ATOMIC_SEQ_CST);
}
/* A shutdown, too, changes the count, by 0, behind its store: so it finds a call, or the call finds the process closed. */
static inline uint32_t treadle_system_count_call(uint32_t change) {
    return __atomic_add_fetch(&treadle_system_process_state.calls, change, __ATOMIC_ACQ_REL);
}
/* Behind what the caller has just written for a shutdown to find. */
static inline bool treadle_system_is_closed_now(void) {
    return __atomic_load_n(&treadle_system_process_state.closed, __ATOMIC_SEQ_CST) != 0;
}
/* Relaxed: a thread that knows of a registration reads what was stored before it. The lock orders the registrations. */
static inline bool treadle_system_is_notified(void) {
    return __atomic_load_n(&treadle_system_process_state.notified, __ATOMIC_RELAXED) != 0;
}
static inline void treadle_system_set_notified(void) {
    __atomic_store_n(&treadle_system_process_state.notified, 1, __ATOMIC_RELAXED);
}
static inline bool treadle_system_main_is_known(void) {
    return __atomic_load_n(&treadle_system_process_state.main_is_known, __ATOMIC_RELAXED) != 0;
}
static inline void treadle_system_know_main(void) {
    __atomic_store_n(&treadle_system_process_state.main_is_known, 1, __ATOMIC_RELAXED);
}
/* One word decides all; it also orders the handlers of the notification before the starts that have waited for them. */
static inline uint32_t treadle_system_threaded(void) {
    return __atomic_load_n(&treadle_system_process_state.threaded, __ATOMIC_ACQUIRE);
}
static inline bool treadle_system_advance_threaded(uint32_t from, uint32_t to) {
    return __atomic_compare_exchange_n(&treadle_system_process_state.threaded, &from, to, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

#endif
