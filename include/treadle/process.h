/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * process.h: what concerns the whole process: its end, and errors that nobody caught. */
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
TREADLE_API treadle_status treadle_shutdown(int64_t timeout_ns);

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
TREADLE_API treadle_status treadle_set_last_resort(treadle_last_resort_fn handler, void *info,
                                                   treadle_release_fn destroy);

/** Hands an error to the last-resort handler; for the bindings of languages with exceptions (THR-19). NULL stands for
 *  an empty text.
 *  [any] TREADLE_OK when it was dealt with, TREADLE_IGNORED when not. Since 1.0. */
TREADLE_API treadle_status treadle_report_error(const char *kind, const char *message);

TREADLE_END_DECLS
#endif
