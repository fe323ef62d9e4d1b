/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * types.h: handles, statuses and what every other header needs. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
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
/* A plugin defines each function once, hidden from other libraries (plugin_table.h). */
#define TREADLE_API __attribute__((weak, visibility("hidden")))
/* Functions for the host alone: a plugin that calls one does not compile. */
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
/* Inline functions of treadle.hpp call the table in a plugin, the library in a program; without
 * exceptions they end the program where they would throw. The namespaces keep linker and loader from
 * merging them. */
#if defined(TREADLE_PLUGIN) && defined(__cpp_exceptions)
#define TREADLE_CPP_NAMESPACE v1_plugin
#elif defined(TREADLE_PLUGIN)
#define TREADLE_CPP_NAMESPACE v1_plugin_noexcept
#elif defined(__cpp_exceptions)
#define TREADLE_CPP_NAMESPACE v1
#else
#define TREADLE_CPP_NAMESPACE v1_noexcept
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
 * value is reused for another object only after 2^24 generations of its slot.
 * Each object is reference counted: create and copy functions return one reference, which the
 * caller releases with the kind's release function; get functions return a borrowed handle (OBJ-1,
 * OBJ-2). Since 1.0. */

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
/** A C function of any signature with its arguments, called on another thread, which returns its result to the
 *  caller. Since 1.0. */
typedef struct treadle_invocation_s *treadle_invocation;
/** A C function pointer of any signature, bound to a handler. Since 1.0. */
typedef struct treadle_closure_s *treadle_closure;
/** A host language that has registered itself. Since 1.0. */
typedef struct treadle_host_s *treadle_host;
/** A thread. Since 1.0. */
typedef struct treadle_thread_s *treadle_thread;
/** A lock. Since 1.0. */
typedef struct treadle_lock_s *treadle_lock;
/** A condition variable, used with a lock. Since 1.0. */
typedef struct treadle_condition_s *treadle_condition;

/** A port: any thread sends messages to it, and a loop receives them. Since 1.0. */
typedef struct treadle_port_s *treadle_port;
/** A message that a port has received. Since 1.0. */
typedef struct treadle_message_s *treadle_message;

/** A scope: it owns the objects that are created inside of it. Since 1.0. */
typedef struct treadle_scope_s *treadle_scope;

/** The result of functions: 0, a negative TREADLE_E_..., or a positive value. Since 1.0. */
typedef int32_t treadle_status;

/** Statuses. New ones may be added; a program must treat any negative value as failure. Since 1.0. */
enum {
    TREADLE_OK = 0,
    /* Results of treadle_loop_run; the first four have CFRunLoop's values (RUN-4, ABI-6). */
    TREADLE_RUN_FINISHED = 1,       /* the mode has nothing to wait for */
    TREADLE_RUN_STOPPED = 2,        /* this run was stopped */
    TREADLE_RUN_TIMED_OUT = 3,      /* the timeout passed */
    TREADLE_RUN_HANDLED_SOURCE = 4, /* a source was handled, and the caller asked to return then */
    TREADLE_RUN_INTERRUPTED = 5,    /* a signal arrived during the sleep, and the caller asked to return then */
    /* The call is valid and has no effect, by the rules: an item is added twice, an absent item is
     * removed, an item is added to the loop of a thread that has ended. */
    TREADLE_IGNORED = 16,
    /* A scope was closed from inside of itself: it ends when the calling thread's current callbacks
     * have returned. */
    TREADLE_DEFERRED = 17,

    TREADLE_E_ARG = -1,           /* an argument is NULL, out of its domain or badly formed */
    TREADLE_E_STALE = -2,         /* a stale handle: its object no longer exists, or it never was a handle */
    TREADLE_E_KIND = -3,          /* the wrong kind of handle */
    TREADLE_E_NOMEM = -4,         /* out of memory, or a table is full */
    TREADLE_E_STATE = -5,         /* the object's state does not allow it */
    TREADLE_E_EXISTS = -6,        /* already exists */
    TREADLE_E_NOT_FOUND = -7,     /* not found */
    TREADLE_E_WRONG_THREAD = -8,  /* only the loop's own thread may call this */
    TREADLE_E_DEADLOCK = -9,      /* the call would wait for its own caller */
    TREADLE_E_TIMEOUT = -10,      /* the wait took longer than allowed */
    TREADLE_E_FORKED = -11,       /* this process is the child of a fork */
    TREADLE_E_TOO_NEW = -12,      /* a struct has non-zero members that this library does not know */
    TREADLE_E_SYSTEM = -13,       /* a system call failed; os_errno says why */
    TREADLE_E_CALLBACK = -14,     /* a host's callback did not complete */
    TREADLE_E_CLOSED = -15,       /* the host, the loop or the scope accepts no more work */
    TREADLE_E_RANGE = -16,        /* a number is out of range */
    TREADLE_E_SIGNATURE = -17,    /* a type encoding is malformed or cannot be called */
    TREADLE_E_NOT_SUPPORTED = -18, /* not supported by this build, this machine, or the Treadle version that the process loaded (ABI-8) */
    TREADLE_E_CANCELLED = -19,    /* cancelled */
    TREADLE_E_PLUGIN = -20,       /* a plugin is refused, or breaks its contract; the last error says how */
    TREADLE_E_NO_REPLY = -21      /* a message was sent, and no reply arrived in time */
};

/** Waits for ever, as a timeout or a date. 0 polls. Since 1.0. */
#define TREADLE_FOREVER INT64_MAX

/** The mode that a loop has from the beginning (MODE-2). Since 1.0. */
#define TREADLE_DEFAULT_MODE "kCFRunLoopDefaultMode"
/** All modes of the common set, as the mode to which an item or a post is added (MODE-2, MODE-8).
 *  It cannot be run (MODE-9). Since 1.0. */
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

/** Optional functions of an item's context, besides its callbacks, with CFRunLoop's meaning. The context is copied at
 *  creation (SRC0-1). retain(info) is called once at creation; the callbacks receive the pointer that it returns
 *  (SRC0-2). release(info) is called exactly once, after any callback that is still running, with no lock held: for
 *  sources and descriptors when the object is freed, for timers and observers when they become invalid. describe
 *  writes at most
 *  `capacity` bytes of text, NUL included. Every member may be NULL.
 *  A label names the item in the output of treadle_describe and in the debug log (process.h). It is copied. A label
 *  longer than 255 bytes returns TREADLE_E_RANGE, one that is not UTF-8 TREADLE_E_ARG.
 *  [callback] on whichever thread causes it (OBJ-8). Since 1.0. */
typedef void *(*treadle_retain_fn)(void *info);
/** See treadle_retain_fn. [callback] Since 1.0. */
typedef void (*treadle_release_fn)(void *info);
/** See treadle_retain_fn. [callback] Since 1.0. */
typedef void (*treadle_describe_fn)(void *info, char *buffer, size_t capacity);
/** Returns non-zero if two contexts are equal (SRC0-5). [callback] Since 1.0. */
typedef int32_t (*treadle_equal_fn)(void *info1, void *info2);
/** Returns a hash of the context; equal contexts have equal hashes. Called once, when the object is
 *  created. [callback] Since 1.0. */
typedef uint64_t (*treadle_hash_fn)(void *info);

#endif
