/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * types.h: handles, statuses and what every other header needs. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
#endif
#ifndef TREADLE_TYPES_H
#define TREADLE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TREADLE_BEGIN_DECLS extern "C" {
#define TREADLE_END_DECLS }
#else
#define TREADLE_BEGIN_DECLS
#define TREADLE_END_DECLS
#endif

#if defined(TREADLE_PLUGIN)
/* A plugin has each function itself, once, and shows it to nobody (plugin_table.h). */
#define TREADLE_API __attribute__((weak, visibility("hidden")))
/* What is its host's: a plugin that calls it does not compile. */
#if defined(__clang__) || __GNUC__ >= 12
#define TREADLE_HOST_ONLY __attribute__((unavailable("it is for the program that hosts plugins")))
#else
#define TREADLE_HOST_ONLY __attribute__((error("it is for the program that hosts plugins")))
#endif
#elif defined(__GNUC__)
#define TREADLE_API __attribute__((visibility("default")))
#else
#define TREADLE_API
#endif
/* Inline functions of treadle.hpp in a plugin call its table, those of a program the library: the loader must not take the ones
 * for the others. */
#ifdef TREADLE_PLUGIN
#define TREADLE_CPP_NAMESPACE v1_plugin
#else
#define TREADLE_CPP_NAMESPACE v1
#endif
#ifndef TREADLE_HOST_ONLY
#define TREADLE_HOST_ONLY
#endif
/* A class of treadle.hpp that crosses libraries: an exception. */
#if defined(TREADLE_PLUGIN)
#define TREADLE_TYPE
#else
#define TREADLE_TYPE TREADLE_API
#endif

/* Handles. The pointer type keeps the kinds apart in C; the value is an encoded id that Treadle
 * never dereferences, so a stale, foreign or garbage handle gives a status, not a crash. A handle
 * value is not used again for another object in any time that matters (24-bit generations).
 * Each object is reference counted: create and copy give one reference, which the caller returns
 * with the kind's release function; get borrows. (OBJ-1, OBJ-2) Since 1.0. */

/** A run loop. Every thread has one (RL-1). Since 1.0. */
typedef struct treadle_loop_s *treadle_loop;
/** A custom input source, version 0 in CFRunLoop's words. Since 1.0. */
typedef struct treadle_source_s *treadle_source;
/** A descriptor (port-based, version 1) input source. Since 1.0. */
typedef struct treadle_descriptor_s *treadle_descriptor;
/** A timer. Since 1.0. */
typedef struct treadle_timer_s *treadle_timer;
/** An observer of a loop's activities. Since 1.0. */
typedef struct treadle_observer_s *treadle_observer;
/** A function signature, parsed once and kept for ever. Since 1.0. */
typedef struct treadle_signature_s *treadle_signature;
/** A C function of any signature with its arguments, callable by a loop. Since 1.0. */
typedef struct treadle_routine_s *treadle_routine;
/** A C function of any signature with its arguments, whose result can be had from another thread. Since 1.0. */
typedef struct treadle_invocation_s *treadle_invocation;
/** A C function pointer of any signature, bound to a handler. Since 1.0. */
typedef struct treadle_closure_s *treadle_closure;
/** A host language that has registered itself. Since 1.0. */
typedef struct treadle_host_s *treadle_host;
/** A thread. Since 1.0. */
typedef struct treadle_thread_s *treadle_thread;
/** A lock. Since 1.0. */
typedef struct treadle_lock_s *treadle_lock;
/** A condition, to wait for with a lock. Since 1.0. */
typedef struct treadle_condition_s *treadle_condition;

/** A port, to which any thread sends messages, and from which a loop receives them. Since 1.0. */
typedef struct treadle_port_s *treadle_port;
/** A message that a port has received. Since 1.0. */
typedef struct treadle_message_s *treadle_message;

/** A scope, to which what is made inside of it belongs. Since 1.0. */
typedef struct treadle_scope_s *treadle_scope;

/** What functions return: 0, a negative TREADLE_E_..., or a positive result. Since 1.0. */
typedef int32_t treadle_status;

/** Statuses. New ones may be added; a program must treat any negative value as failure. Since 1.0. */
enum {
    TREADLE_OK = 0,
    /* Results of treadle_loop_run; the first four have CFRunLoop's values (RUN-4, ABI-6). */
    TREADLE_RUN_FINISHED = 1,       /* the mode has nothing to wait for */
    TREADLE_RUN_STOPPED = 2,        /* somebody stopped this run */
    TREADLE_RUN_TIMED_OUT = 3,      /* the timeout passed */
    TREADLE_RUN_HANDLED_SOURCE = 4, /* a source was handled, and the caller asked to return then */
    TREADLE_RUN_INTERRUPTED = 5,    /* a signal arrived during the sleep, and the caller asked */
    /* The call was understood, and the rules say that it has no effect (an item added twice, an
     * absent one removed, an addition to the loop of a thread that is gone). */
    TREADLE_IGNORED = 16,
    /* A scope was closed from inside of itself: it ends when the callbacks return that the calling thread is in. */
    TREADLE_DEFERRED = 17,

    TREADLE_E_ARG = -1,           /* an argument is NULL, out of its domain or badly formed */
    TREADLE_E_STALE = -2,         /* a stale handle: its object no longer exists, or it never was a handle */
    TREADLE_E_KIND = -3,          /* the wrong kind of handle */
    TREADLE_E_NOMEM = -4,         /* out of memory, or of a table's room */
    TREADLE_E_STATE = -5,         /* the object's state does not allow it */
    TREADLE_E_EXISTS = -6,        /* already exists */
    TREADLE_E_NOT_FOUND = -7,     /* not found */
    TREADLE_E_WRONG_THREAD = -8,  /* only the loop's own thread may */
    TREADLE_E_DEADLOCK = -9,      /* the call would wait for its own caller */
    TREADLE_E_TIMEOUT = -10,      /* the wait took longer than allowed */
    TREADLE_E_FORKED = -11,       /* this process is the child of a fork */
    TREADLE_E_TOO_NEW = -12,      /* a struct has non-zero members that this library does not know */
    TREADLE_E_SYSTEM = -13,       /* a system call failed; os_errno tells how */
    TREADLE_E_CALLBACK = -14,     /* a host's callback did not complete */
    TREADLE_E_CLOSED = -15,       /* the host, or the loop, takes no more work */
    TREADLE_E_RANGE = -16,        /* a number is out of range */
    TREADLE_E_SIGNATURE = -17,    /* a type encoding is malformed or cannot be called */
    TREADLE_E_NOT_SUPPORTED = -18, /* this build or machine cannot; or not the version of Treadle that the process has (ABI-8) */
    TREADLE_E_CANCELLED = -19,    /* cancelled */
    TREADLE_E_PLUGIN = -20,       /* a plugin is refused, or breaks its contract; the last error says how */
    TREADLE_E_NO_REPLY = -21      /* a message was sent, and its reply did not come in time */
};

/** Waits for ever, as a timeout or a date. 0 polls. Since 1.0. */
#define TREADLE_FOREVER INT64_MAX

/** The mode that a loop has from the beginning (MODE-2). Since 1.0. */
#define TREADLE_DEFAULT_MODE "kCFRunLoopDefaultMode"
/** Stands for all modes of the common set, where an item or a block is added (MODE-2, MODE-8).
 *  It is never run (MODE-9). Since 1.0. */
#define TREADLE_COMMON_MODES "kCFRunLoopCommonModes"

/** Initialises a struct that starts with struct_size: every other member is zero, the default.
 *  For languages without C's initialisers: zero the memory, then store its size. Since 1.0. */
#ifdef __cplusplus
#define TREADLE_INIT(type) (treadle_init_<type>())
template <class T> inline T treadle_init_() {
    T value = T();
    value.struct_size = sizeof(T);
    return value;
}
#else
#define TREADLE_INIT(type) ((type){.struct_size = sizeof(type)})
#endif

/** What an item's context may carry besides its callbacks, with CFRunLoop's meaning.
 *  Copied at creation (SRC0-1). retain(info) is called once at creation, and what it returns is
 *  what the callbacks receive (SRC0-2); release(info) is called exactly once: for sources and
 *  descriptors when the object is freed, for timers and observers when they become invalid, in
 *  both cases after a callback that is still running, with no lock held. describe writes at most
 *  `capacity` bytes of text, NUL included. Every member may be NULL.
 *  A label names the item to people, in treadle_describe and in messages (process.h). It is copied; one that is longer
 *  than 255 bytes is refused with TREADLE_E_RANGE, and one that is not UTF-8 with TREADLE_E_ARG.
 *  [callback] on whichever thread causes it (OBJ-8). Since 1.0. */
typedef void *(*treadle_retain_fn)(void *info);
/** See treadle_retain_fn. [callback] Since 1.0. */
typedef void (*treadle_release_fn)(void *info);
/** See treadle_retain_fn. [callback] Since 1.0. */
typedef void (*treadle_describe_fn)(void *info, char *buffer, size_t capacity);
/** Whether two contexts mean the same thing (SRC0-5). Non-zero: they do. [callback] Since 1.0. */
typedef int32_t (*treadle_equal_fn)(void *info1, void *info2);
/** Equal contexts have equal hashes. Asked once, when the object is made. [callback] Since 1.0. */
typedef uint64_t (*treadle_hash_fn)(void *info);

#endif
