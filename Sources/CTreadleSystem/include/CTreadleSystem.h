/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadleSystem.h: what Swift cannot reach by itself. The Swift importer drops macros such as errno,
 * cannot declare thread-local or zero-filled static storage, and Embedded Swift has no module for the
 * C library; each function here is the shortest way past one of these. No logic. */
#ifndef CTREADLE_SYSTEM_H
#define CTREADLE_SYSTEM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* For the importer: this pointer is never NULL. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wnullability-completeness"
#define TREADLE_SYSTEM_NONNULL _Nonnull
#else
#define TREADLE_SYSTEM_NONNULL
#endif

/* Nothing here is for the library's clients. */
#pragma GCC visibility push(hidden)

/* --- Thread-local storage ------------------------------------------------------------------------ */

/* A C library whose dlopen refuses storage of that model asks the loader's table each time, which allocates nothing in musl. */
#ifdef TREADLE_DYNAMIC_TLS
#define TREADLE_SYSTEM_OF_THREAD __attribute__((visibility("hidden")))
#else
#define TREADLE_SYSTEM_OF_THREAD __attribute__((tls_model("initial-exec"), visibility("hidden")))
#endif

/* One thread's state. Initial-exec storage: one load to reach, also in a signal handler. The loader has little room for it,
 * which all libraries that are loaded later share; so it stays small. */
struct treadle_system_thread {
    void *loop;         /* the thread's LoopState, or NULL */
    uint64_t hosts;     /* bit n: host n has been told of this thread, as of hosts_era */
    uint64_t tickets;   /* the last ticket given out on this thread */
    void *client_frame; /* the innermost guarded call of a client, or NULL (clients.c) */
    void *host_call;    /* the innermost call into a host on this thread, or NULL (Host.Call) */
    void *object_call;  /* the innermost call for an object outside of runs, or NULL (ObjectCall) */
    void *closure_call; /* the innermost call of a closure's handler, or NULL */
    void *thread;       /* the thread's own ThreadState, or NULL */
    void *pools;        /* the thread's PoolStack, or NULL */
    void (*first_pass)(void); /* called when the thread's loop makes its first pass, or NULL */
    void (*leave_hosts)(void); /* tells those hosts that the thread ends, or NULL */
    void *scope;        /* the scope that the thread has entered last, or NULL (Scope.Entry) */
    void *invocation_call; /* the innermost call of an invocation's function, or NULL (InvocationFrame) */
    void *scope_call;   /* the innermost call of a work of a scope's, or NULL (ScopeWork.Call) */
    void *trace;        /* the thread's TraceRing, or NULL */
    void *message_call; /* the innermost call of a client's with a message, or NULL (MessageCall) */
    uintptr_t left;     /* its teardown is over: the handle of the object that it had, or 1 */
    uint64_t last_wait; /* the number of the thread's last wait (WaitGraph); 0: none yet */
    uint32_t calls;     /* of clients that are on this thread's stack, outside of runs */
    uint32_t hosts_era; /* what treadle_system_host_era was when hosts was looked at last */
    uint32_t number;    /* of the thread among those that call hosts, from 1; 0: none yet */
    uint32_t held_locks; /* bit n: a lock of LockRank n (debug builds); the last is a gate */
    uint32_t id;        /* the kernel's; 0: not asked for yet */
    uint32_t ending_message; /* the slot of the first message that ends on this thread; 0: none (Message) */
    uint32_t fired_timer; /* the slot of the innermost timer that the thread fires by hand; 0: none */
    uint8_t announcing; /* not 0: inside the notification of the first thread (MultiThreading) */
    bool is_ending;     /* its thread-specific destructors run */
    bool is_ending_scopes; /* inside a look for scopes that end */
    uint8_t finishing;  /* how many scopes' destroy functions are on its stack */
    bool is_logging;    /* inside a message to who debugs */
    bool is_ending_messages; /* it is inside of their ends */
    bool is_seen;       /* its id was compared with the main thread's */
};
extern __thread struct treadle_system_thread treadle_system_thread_state
    TREADLE_SYSTEM_OF_THREAD;
__attribute__((always_inline)) static inline struct treadle_system_thread *TREADLE_SYSTEM_NONNULL treadle_system_thread(void) { return &treadle_system_thread_state; }

struct treadle_system_detail;
/* The calling thread's last failure, which becomes text when somebody asks. Initial-exec too: the loader lays all of a
 * library's storage where the part that asks for it must lie. */
struct treadle_system_failure {
    uint64_t sequence;
    int32_t code, os_errno;
    const char *function, *subject, *text; /* static; NULL before the first failure */
    const char *place; /* static; NULL: the text says all */
    int64_t number;    /* of the place */
    struct treadle_system_detail *detail; /* allocated when the thread first needs it; goes with the thread */
};
/* What only the moment knows of a failure: a name, what the loader says. */
struct treadle_system_detail {
    uint8_t is_new; /* the next failure's; else the last one's */
    char text[119]; /* empty: none */
};
extern __thread struct treadle_system_failure treadle_system_failure_state
    TREADLE_SYSTEM_OF_THREAD;
static inline struct treadle_system_failure *TREADLE_SYSTEM_NONNULL treadle_system_failure(void) {
    return &treadle_system_failure_state;
}

/* --- Static storage ------------------------------------------------------------------------------ */

enum { TREADLE_SYSTEM_GATE_RANK = 12 }; /* LockRank.gate */
#ifdef TREADLE_CHECKED
bool treadle_system_holds_gate(void); /* or waits for one */
#endif
enum { TREADLE_SYSTEM_KINDS = 32, TREADLE_SYSTEM_CHUNKS = 4096 };

/* The room of a Mutex. All-zero bytes are an unlocked one. */
struct treadle_system_mutex {
    _Alignas(8) uint32_t word;
};
/* What each slab knows of itself; Swift lays its own struct over these bytes. */
struct treadle_system_slab {
    _Alignas(16) uint32_t words[4];
};
/* How threads that wait for a kind of lock lend their priority (Inheritance). `named` is a futex. */
struct treadle_system_inheritance {
    _Alignas(64) struct treadle_system_mutex turn;
    uint32_t named;
};
enum { TREADLE_SYSTEM_INHERITANCES = 2 };
/* The locks of items' memberships: an item has the one of its slot's number (ItemLocks). */
enum { TREADLE_SYSTEM_ITEM_LOCKS = 32 };
struct treadle_system_item_mutex {
    _Alignas(64) struct treadle_system_mutex mutex;
};

/* The registrations of the whole process, each with its lock; Swift lays its own structs over these bytes. */
struct treadle_system_registry {
    struct treadle_system_mutex mutex;
    uint64_t words[10];
};

/* Descriptors of other users that wait to be closed (MessageClosing). */
struct treadle_system_closings {
    struct treadle_system_mutex mutex;
    uint32_t is_full;
    uint64_t closers[64][4];
};

/* What the child of a fork finds as it was before the first use: the kernel empties these pages there, whoever forks, and by
 * whatever call. `tag` is the top byte of every living handle, so that one comparison refuses handles before the first use and
 * in the child; `open` is the same while callbacks may begin, and 0 after a shutdown. */
#ifdef __aarch64__
enum { TREADLE_SYSTEM_PAGE = 65536 }; /* the largest there is */
#else
enum { TREADLE_SYSTEM_PAGE = 4096 };
#endif
struct treadle_system_life {
    _Alignas(TREADLE_SYSTEM_PAGE) uint32_t tag;
    uint32_t open;
    uint32_t watched; /* TREADLE_SYSTEM_... bits: somebody debugs */
    uint32_t watchdog; /* whether there is one (Watchdog) */
    _Alignas(64) uint32_t wait_gate[16];
    _Alignas(64) struct treadle_system_mutex start_mutex;
    _Alignas(64) struct treadle_system_slab slabs[TREADLE_SYSTEM_KINDS];
    struct treadle_system_item_mutex item_mutexes[TREADLE_SYSTEM_ITEM_LOCKS];
    struct treadle_system_registry reports; /* for who debugs (Log) */
    struct treadle_system_registry plugins; /* that are loaded (PluginRegistry) */
    struct treadle_system_registry trace; /* that goes on (TraceSession) */
    struct treadle_system_registry message_ports; /* that have a name (MessagePortRegistry) */
    struct treadle_system_inheritance inheritances[TREADLE_SYSTEM_INHERITANCES];
    struct treadle_system_closings closings; /* last: in a page that only message ports write */
};
extern struct treadle_system_life treadle_system_present_life __attribute__((visibility("hidden")));

static inline void *TREADLE_SYSTEM_NONNULL treadle_system_slab(uint32_t kind) { return &treadle_system_present_life.slabs[kind & 31]; }

/* The chunks of all slabs, the first of each kind beside one another. Zero-filled: what is not touched costs no memory. */
extern void *treadle_system_chunks[TREADLE_SYSTEM_CHUNKS][TREADLE_SYSTEM_KINDS];
static inline void *treadle_system_chunk(uint32_t kind, uint32_t index) {
    return __atomic_load_n(&treadle_system_chunks[index & 4095][kind & 31], __ATOMIC_ACQUIRE);
}
static inline void treadle_system_set_chunk(uint32_t kind, uint32_t index, void *chunk) {
    __atomic_store_n(&treadle_system_chunks[index & 4095][kind & 31], chunk, __ATOMIC_RELEASE);
}

/* The labels of posts and requests (Labels), each a pointer that is written once. */
enum { TREADLE_SYSTEM_LABELS = 1024 };
extern void *treadle_system_label_table[TREADLE_SYSTEM_LABELS];
static inline void *TREADLE_SYSTEM_NONNULL treadle_system_labels(void) { return treadle_system_label_table; }

/* The names of the modes that the library itself knows. */
static inline const char *TREADLE_SYSTEM_NONNULL treadle_system_default_mode_name(void) { return "kCFRunLoopDefaultMode"; }
static inline const char *TREADLE_SYSTEM_NONNULL treadle_system_common_modes_name(void) { return "kCFRunLoopCommonModes"; }
static inline const char *TREADLE_SYSTEM_NONNULL treadle_system_call_mode_name(void) { return "TreadleCallMode"; }

/* Keeps memory that is left as it is, in the child of a fork, reachable for leak checkers: its first
 * bytes lead to the memory that was left before. */
void treadle_system_forget(void *memory);

/* Keeps the log's handler reachable for leak checkers in the child of a fork, where the page that leads to it is empty. Under
 * the lock of reports. */
void treadle_system_keep_log_handler(void *memory);

int64_t treadle_system_now(void);      /* CLOCK_MONOTONIC, nanoseconds */
#include "CTreadleWatching.h"
#include "CTreadleOrders.h"
#include "CTreadleProcess.h"

/* Numbers the threads that call hosts; not used again, unlike the kernel's ids. */
extern uint32_t treadle_system_thread_numbers;
static inline uint32_t treadle_system_next_thread_number(void) {
    return __atomic_add_fetch(&treadle_system_thread_numbers, 1, __ATOMIC_RELAXED);
}

/* Numbers the hosts in the order of their registration. A host stores its number before it publishes it here: a thread that reads a
 * number finds all hosts up to it. */
extern uint32_t treadle_system_host_eras;
static inline uint32_t treadle_system_host_era(void) { return __atomic_load_n(&treadle_system_host_eras, __ATOMIC_ACQUIRE); }
static inline bool treadle_system_publish_host_era(uint32_t era) {
    uint32_t last = era - 1;
    return __atomic_compare_exchange_n(&treadle_system_host_eras, &last, era, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* Numbers the messages that ports receive. */
extern uint64_t treadle_system_message_numbers;
static inline uint64_t treadle_system_next_message(void) {
    return __atomic_add_fetch(&treadle_system_message_numbers, 1, __ATOMIC_RELAXED);
}

/* Numbers the threads' stacks of pools. */
extern uint32_t treadle_system_pool_numbers;
static inline uint32_t treadle_system_next_pool_number(void) {
    return __atomic_add_fetch(&treadle_system_pool_numbers, 1, __ATOMIC_RELAXED);
}

/* Counts the signals that belong to no one loop (SignalTime). Relaxed: a thread that knows of a signal reads no older count than
 * that had. */
extern uint32_t treadle_system_eras;
static inline uint32_t treadle_system_era(void) { return __atomic_load_n(&treadle_system_eras, __ATOMIC_RELAXED); }
static inline uint32_t treadle_system_next_era(void) { return __atomic_add_fetch(&treadle_system_eras, 1, __ATOMIC_RELAXED); }

/* The compiler moves no access across it; a processor may. */
static inline void treadle_system_compiler_fence(void) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
static inline void treadle_system_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

/* --- Processor ----------------------------------------------------------------------------------- */

static inline void treadle_system_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
static inline void treadle_system_prefetch_for_writing(void *address) {
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(char *)address)); /* no more than a hint, nothing at all where unknown */
#else
    __builtin_prefetch(address, 1);
#endif
}
void treadle_system_yield(void);
int32_t treadle_system_processor(void); /* the one that the calling thread runs on, or -1 */

/* --- Locks --------------------------------------------------------------------------------------- */

static inline struct treadle_system_mutex *TREADLE_SYSTEM_NONNULL treadle_system_item_lock(uint32_t number) {
    return &treadle_system_present_life.item_mutexes[number & (TREADLE_SYSTEM_ITEM_LOCKS - 1)].mutex;
}
static inline struct treadle_system_mutex *TREADLE_SYSTEM_NONNULL treadle_system_start_lock(void) { return &treadle_system_present_life.start_mutex; }

/* `kind`: of locks, a number less than TREADLE_SYSTEM_INHERITANCES. */
static inline struct treadle_system_inheritance *TREADLE_SYSTEM_NONNULL treadle_system_inheritance(uint32_t kind) {
    return &treadle_system_present_life.inheritances[kind & (TREADLE_SYSTEM_INHERITANCES - 1)];
}
static inline struct treadle_system_mutex *TREADLE_SYSTEM_NONNULL treadle_system_turn(uint32_t kind) { return &treadle_system_inheritance(kind)->turn; }
/* Looked at behind what the caller has just written, as far as the compiler goes (see treadle_system_barrier). */
static inline uint32_t treadle_system_named(uint32_t kind) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return __atomic_load_n(&treadle_system_inheritance(kind)->named, __ATOMIC_RELAXED);
}
static inline void *TREADLE_SYSTEM_NONNULL treadle_system_named_word(uint32_t kind) { return &treadle_system_inheritance(kind)->named; }
/* Relaxed: treadle_system_barrier orders it with the look at the lock. */
static inline void treadle_system_set_named(uint32_t kind, uint32_t holder) {
    __atomic_store_n(&treadle_system_inheritance(kind)->named, holder, __ATOMIC_RELAXED);
}

extern struct treadle_system_registry treadle_system_notifications __attribute__((visibility("hidden")));
extern struct treadle_system_registry treadle_system_last_resort __attribute__((visibility("hidden")));
static inline struct treadle_system_mutex *TREADLE_SYSTEM_NONNULL treadle_system_notification_lock(void) { return &treadle_system_notifications.mutex; }
static inline void *TREADLE_SYSTEM_NONNULL treadle_system_notification_list(void) { return treadle_system_notifications.words; }
static inline struct treadle_system_mutex *TREADLE_SYSTEM_NONNULL treadle_system_last_resort_lock(void) { return &treadle_system_last_resort.mutex; }
static inline struct treadle_system_mutex *TREADLE_SYSTEM_NONNULL treadle_system_plugin_lock(void) { return &treadle_system_present_life.plugins.mutex; }
static inline void *TREADLE_SYSTEM_NONNULL treadle_system_plugin_words(void) { return treadle_system_present_life.plugins.words; }
static inline struct treadle_system_mutex *TREADLE_SYSTEM_NONNULL treadle_system_message_port_lock(void) { return &treadle_system_present_life.message_ports.mutex; }
static inline void *TREADLE_SYSTEM_NONNULL treadle_system_message_port_words(void) { return treadle_system_present_life.message_ports.words; }
static inline struct treadle_system_mutex *TREADLE_SYSTEM_NONNULL treadle_system_closing_lock(void) { return &treadle_system_present_life.closings.mutex; }
static inline void *TREADLE_SYSTEM_NONNULL treadle_system_closing_fullness(void) { return &treadle_system_present_life.closings.is_full; }
static inline void *TREADLE_SYSTEM_NONNULL treadle_system_closers(void) { return treadle_system_present_life.closings.closers; }
static inline struct treadle_system_mutex *TREADLE_SYSTEM_NONNULL treadle_system_report_lock(void) { return &treadle_system_present_life.reports.mutex; }
static inline void *TREADLE_SYSTEM_NONNULL treadle_system_report_words(void) { return treadle_system_present_life.reports.words; }
static inline void *TREADLE_SYSTEM_NONNULL treadle_system_last_resort_handler(void) { return treadle_system_last_resort.words; }

/* Clients' locks and conditions, in room of Swift's: each returns 0, or -errno. `until`: an absolute monotonic
 * time, INT64_MAX for ever; one that has passed tries without waiting. */
enum { TREADLE_SYSTEM_NATIVE_OFFSET = 32, TREADLE_SYSTEM_NATIVE_STRIDE = 96 }; /* room, and where in a slot */
int32_t treadle_system_native_mutex_create(void *mutex, bool is_recursive);
int32_t treadle_system_native_mutex_destroy(void *mutex); /* -EBUSY: it is locked, and stays */
int32_t treadle_system_native_mutex_lock(void *mutex, int64_t until);
int32_t treadle_system_native_mutex_unlock(void *mutex);
int32_t treadle_system_native_condition_create(void *condition);
void treadle_system_native_condition_destroy(void *condition); /* wakes who waits */
int32_t treadle_system_native_condition_wait(void *condition, void *mutex, int64_t until);
void treadle_system_native_condition_signal(void *condition);
void treadle_system_native_condition_broadcast(void *condition);

/* --- System calls: the result, or -errno --------------------------------------------------------- */

/* Whether a result says that the kernel has no such call, or that a filter keeps the process from it: then an older call
 * has to do. */
bool treadle_system_is_refused(int32_t result);
int32_t treadle_system_errno(void); /* the clients', which travels with what they have called on other threads */
void treadle_system_set_errno(int32_t value);
int64_t treadle_system_tick(void);     /* the same clock at the kernel's last tick, for a quarter of what it costs */
int64_t treadle_system_wall(void);     /* CLOCK_REALTIME, nanoseconds since 1970 */
int32_t treadle_system_thread_id(void);
int32_t treadle_system_process_id(void);
int32_t treadle_system_close(int32_t fd);
int32_t treadle_system_duplicate(int32_t fd);
int32_t treadle_system_is_open(int32_t fd); /* 0, or -EBADF */
void treadle_system_call_clients(void (*body)(void *), void *context); /* no exception leaves it: that ends the program */
void treadle_system_forget_calls(void); /* those on the calling thread's stack are the parent's, of a fork */
/* Calls a client's function of at most four integers or pointers in the same way; the result of one that has none means nothing. */
uintptr_t treadle_system_call_client(void *TREADLE_SYSTEM_NONNULL code, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d);
int64_t treadle_system_write(int32_t fd, const void *bytes, size_t size); /* one write (writing.c); errno is kept */
int64_t treadle_system_read8(int32_t fd);   /* reads an 8-byte counter, never waiting for it: its size, or -errno */

int32_t treadle_system_eventfd(void);
int32_t treadle_system_eventfd_write(int32_t fd);

int32_t treadle_system_epoll_create(void);
/* operation: 1 add, 2 delete, 3 modify; events: the kernel's bits */
int32_t treadle_system_epoll_control(int32_t epoll, int32_t operation, int32_t fd, uint32_t events, uint64_t data);
/* Why the kernel has refused to watch a descriptor with this result; 0: for another reason. */
enum { TREADLE_SYSTEM_NOT_OPEN = 1, TREADLE_SYSTEM_PATH_ONLY, TREADLE_SYSTEM_NESTED, TREADLE_SYSTEM_TOO_MANY };
int32_t treadle_system_why_unwatchable(int32_t fd, int32_t result);
struct treadle_system_event {
    uint64_t data;
    uint32_t events;
    uint32_t reserved;
};
/* Takes at most count (256) events; waits for one so many milliseconds long, or if that is negative for ever. */
int32_t treadle_system_epoll_wait(int32_t epoll, struct treadle_system_event *events, int32_t count, int32_t limit);
/* A timer as a descriptor, on the monotonic clock. It is readable from its date on, until it is set again; INT64_MAX: none. */
int32_t treadle_system_timerfd(void);
int32_t treadle_system_timerfd_set(int32_t timer, int64_t date);
/* A descriptor that becomes readable anew each time the wall clock is set, or has gone on while the system slept. */
int32_t treadle_system_clock_watch(void);

/* Sleeps while *word == expected, until an absolute monotonic time; INT64_MAX: for ever. */
int32_t treadle_system_futex_wait(void *word, uint32_t expected, int64_t until);
/* The same, on time: the kernel delays a thread's sleeps by up to its timer slack, 50 microseconds. That is 1 ns meanwhile, unless it is
 * less than a thousandth of the sleep, by which the kernel delays poll and epoll as well. Threads and children inherit the slack, so
 * it is as it was when this returns. */
int32_t treadle_system_futex_sleep(void *word, uint32_t expected, int64_t until);
int32_t treadle_system_futex_wake(void *word, int32_t count);
/* A word that is 0 or the id of the thread that has it: sleeps until it is the caller's, and lends his priority meanwhile to
 * who has it. The word says by a bit that somebody sleeps: then it is given to him by the second function. */
int32_t treadle_system_futex_lock(void *word);
void treadle_system_futex_unlock(void *word);
/* What this thread did before and what any other of the process did before are seen by the other from here on; 0, or
 * -errno. */
int32_t treadle_system_barrier(void);
bool treadle_system_has_barriers(void); /* announces them, too, where that has not been done */

/* One counter for the whole process, and waiting for it to move. */
uint32_t treadle_system_rest_epoch(void);
void treadle_system_rest_announce(void);
void treadle_system_rest_wait(uint32_t seen, int64_t until);

/* Zero-filled memory that begins with a cache line and is never freed; NULL when there is none. A large piece
 * costs memory only where it is touched, and being from the C library's heap it is one that leak checkers look
 * into. */
void *treadle_system_zeroed(size_t size);
void *treadle_system_allocate(size_t size); /* malloc; NULL when out of memory */
void *treadle_system_reallocate(void *memory, size_t size);
void treadle_system_free(void *memory);
void *treadle_system_map(size_t size, bool is_shared); /* whole pages, zeroed; NULL without memory, or for another size */
void treadle_system_unmap(void *memory, size_t size);
bool treadle_system_make_code(void *memory, size_t size); /* readable and executable; false if that is not permitted */
/* Has shared pages appear elsewhere too, in place of what is there: readers see one or the other. False if it is refused. */
bool treadle_system_map_again(void *shared, size_t size, void *place);

/* Where an address lies: the name of the exported function around it, or NULL, the name of its file, or NULL, and how far it is behind
 * the beginning of the one or else of the other. Takes the loader's lock. */
struct treadle_system_place {
    const char *function, *file;
    uintptr_t offset;
};
struct treadle_system_place treadle_system_place_of(uintptr_t address);
bool treadle_system_is_unnamed_here(uintptr_t address); /* in the shared library, in a function that has no name */

/* --- Threads -------------------------------------------------------------------------------------- */

/* What a thread is started with. */
struct treadle_system_thread_plan {
    size_t stack_size;  /* what its function may use */
    double priority;    /* 0 to 1; for policies other than 0 */
    uint32_t policy;    /* 0: the default, 1: SCHED_FIFO, 2: SCHED_RR */
    uint32_t is_detached;
};
/* Stores the pthread_t; 0, or -errno. */
int32_t treadle_system_thread_start(const struct treadle_system_thread_plan *plan, void *(*run)(void *), void *argument,
                                    uintptr_t *out);
uintptr_t treadle_system_thread_self(void);
int32_t treadle_system_thread_detach(uintptr_t thread);
int32_t treadle_system_thread_join(uintptr_t thread);
bool treadle_system_main_thread_is_over(void); /* the kernel has not forgotten the process's initial thread, but it has ended */
void treadle_system_thread_exit(void); /* does not return */
void treadle_system_thread_name(int32_t id, char name[16]); /* the kernel's, empty where it does not tell; errno is kept */
int32_t treadle_system_thread_set_name(uintptr_t thread, const char *name);
/* The calling thread's nice value, or with a real-time policy its level, from a priority of 0 to 1. */
int32_t treadle_system_thread_set_priority(uint32_t policy, double priority);
void treadle_system_sleep_until(int64_t time); /* monotonic; not cut short by signals */
int32_t treadle_system_etimedout(void);

/* Guards who waits for whom (WaitGraph). */
static inline void *TREADLE_SYSTEM_NONNULL treadle_system_wait_guard(void) { return treadle_system_present_life.wait_gate; }

/* Defined nowhere: a library that calls it is not linked (checkInBuild). */
void libtreadle_does_not_hold_in_this_build(void);

/* --- Hooks ---------------------------------------------------------------------------------------- */

/* Has the library told of the ends of threads and of forks: `libtreadle_thread_exits` is called on every thread that
 * called treadle_system_watch_thread, once in each round of its thread-specific destructors while it asks for another,
 * and `child` in the child after a fork. Returns 0, or -errno. */
int32_t treadle_system_install_hooks(void (*child)(void));
void libtreadle_thread_exits(void); /* Swift's (ThreadExit.swift) */
/* Called once in a process, before anything is made. */
void libtreadle_process_starts(void); /* Swift's (ProcessStart.swift) */
int32_t treadle_system_watch_thread(void);

/* errno values that the core tells apart. */
int32_t treadle_system_eintr(void);
int32_t treadle_system_eperm(void);
int32_t treadle_system_eexist(void);
int32_t treadle_system_enoent(void);
int32_t treadle_system_ebadf(void);
int32_t treadle_system_enomem(void);
int32_t treadle_system_edeadlk(void);
int32_t treadle_system_eagain(void);
int32_t treadle_system_enosys(void);

#include "CTreadleSockets.h"
#include "CTreadleSpawn.h"
#include "CTreadleConfine.h"

#pragma GCC visibility pop

#endif
