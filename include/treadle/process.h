/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * process.h: what concerns the whole process: its end, and errors that nobody caught. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* with what calls the functions */
#endif
#ifndef TREADLE_PROCESS_H
#define TREADLE_PROCESS_H

#include "types.h"

TREADLE_BEGIN_DECLS

/** Ends all run loops of the process, for good: every loop is stopped at all levels, no callback starts any more
 *  on any thread, and callbacks that run on other threads are waited for, up to timeout_ns (THR-21). Runs that end
 *  so return TREADLE_E_CLOSED, as does every later run, start and perform; who waits for a perform gets
 *  TREADLE_E_CLOSED. Entry functions of threads, destroy and release functions are not callbacks in this sense: they
 *  go on, and still run. For the owner of a process that is about to end, or an interpreter that owns it.
 *  [any] Also from a callback, which does not wait for itself. TREADLE_IGNORED when it was done before and nothing
 *  runs. Errors: TREADLE_E_TIMEOUT, with everything closed. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_shutdown(int64_t timeout_ns);

/** The last resort for an error that escaped a callback or a thread's entry function: an exception of C++, of Python
 *  (THR-19). thread: where; NULL behind the teardown of a thread that never had an object (a host's thread_exit).
 *  kind: what it was, such as "C++ exception"; message: its text. True: it was dealt with, and the program
 *  goes on; false: the language does what it demands, for C++ to terminate.
 *  [callback] on the thread where it happened. Since 1.0. */
typedef bool (*treadle_last_resort_fn)(treadle_thread thread, const char *kind, const char *message, void *info);

/** Sets the process's last-resort handler in place of the one before; NULL: the default, which prints one line
 *  to standard error and answers false (THR-19). destroy (may be NULL) gets info back once: when the handler was
 *  replaced and no call of it runs.
 *  [any] Errors, with destroy called: TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_set_last_resort(treadle_last_resort_fn handler, void *info,
                                                   treadle_release_fn destroy);

/** Whether a last-resort handler is set, and not the default: a language that prints more than one line for an error that nobody
 *  caught need not have the default print its own (THR-19).
 *  [any] Since 1.0. */
TREADLE_API bool treadle_has_last_resort(void);

/** Hands an error to the last-resort handler; for the bindings of languages with exceptions (THR-19). NULL stands for
 *  an empty text.
 *  [any] TREADLE_OK when it was dealt with, TREADLE_IGNORED when not. Since 1.0. */
TREADLE_API treadle_status treadle_report_error(const char *kind, const char *message);

/** Gets a message for who debugs: one line, without a line's end. It may call everything; what is told inside of it is
 *  dropped. [callback] on the thread that it is about, with no lock held. Since 1.0. */
typedef void (*treadle_log_fn)(const char *message, void *info);

/** Sets the process's log function in place of the one before, and switches messages on; NULL: the default, where messages
 *  are on with TREADLE_DEBUG=1 in the environment, as of the library's first use, and are written to standard error, one
 *  line each behind "treadle: ". destroy (may be NULL) gets info back once: when the function was replaced and no call of it
 *  runs. In the child of a fork there is the default.
 *  There is a message, once each, for: the first refused call of each function, with the last error (but no timeout); a run
 *  that finished at once, with its mode and the modes that have something; a descriptor that was closed while it was
 *  watched, for which a loop looks before each sleep (see treadle_descriptor_create); an addition to a loop whose thread is
 *  gone; a callback of a run that took longer than TREADLE_SLOW_MS milliseconds of the environment, which need not be whole.
 *  TREADLE_SLOW_MS alone switches the last one on. At most 4,096 messages.
 *  While messages are on, or TREADLE_SLOW_MS is set, callbacks of runs are timed, two readings of the clock each:
 *  treadle_describe tells how often each item was called and for how long in all, treadle_loop_get_counters the longest.
 *  Without that, one test of a flag for each batch of callbacks is all that it costs.
 *  [any] Errors, with destroy called: TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_set_log(treadle_log_fn log, void *info, treadle_release_fn destroy);

TREADLE_END_DECLS
#endif
