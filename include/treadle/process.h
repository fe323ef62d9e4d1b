/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * process.h: the whole process: its end, uncaught errors, the debug log. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_PROCESS_H
#define TREADLE_PROCESS_H

#include "types.h"

TREADLE_BEGIN_DECLS

/** Ends all run loops of the process, for ever: every loop is stopped at all levels, no callback starts on any
 *  thread, and this waits, up to timeout_ns, for callbacks that run on other threads (THR-21). The ended runs return
 *  TREADLE_E_CLOSED, as does every later run, start and perform; a waiter of a perform gets TREADLE_E_CLOSED. Entry
 *  functions of threads, destroy and release functions are not callbacks in this sense: they continue, and are still
 *  called. For the owner of a process that is about to end, such as an interpreter.
 *  [any] Also from a callback, which is not waited for. TREADLE_IGNORED if it was called before and no callback
 *  runs. Errors, with everything closed: TREADLE_E_TIMEOUT; TREADLE_E_DEADLOCK, with TREADLE_FOREVER, if a callback waits for the
 *  calling thread: for a request that has called this, or in a shutdown of its own. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_shutdown(int64_t timeout_ns);

/** Handles an error that escaped a callback or a thread's entry function, such as an exception of C++ or Python
 *  (THR-19). thread: the thread of the error; NULL after the teardown of a thread that never had an object (a host's
 *  thread_exit). kind: the kind of error, such as "C++ exception"; message: its text. Returns true if the error was
 *  handled, and the program continues; false for the language's default, which in C++ is to terminate.
 *  [callback] on the thread where it happened. Since 1.0. */
typedef bool (*treadle_last_resort_fn)(treadle_thread thread, const char *kind, const char *message, void *info);

/** Sets the process's last-resort handler, replacing the previous one; NULL: the default, which prints one line to standard
 *  error and returns false (THR-19). destroy (may be NULL) is called once with info: after the handler was replaced and its
 *  calls have returned.
 *  [any] Errors, with destroy called: TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_set_last_resort(treadle_last_resort_fn handler, void *info,
                                                   treadle_release_fn destroy);

/** Whether a last-resort handler other than the default is set. A language that prints uncaught errors in its own format uses
 *  this to avoid the default's line (THR-19).
 *  [any] Since 1.0. */
TREADLE_API bool treadle_has_last_resort(void);

/** Passes an error to the last-resort handler; for the bindings of languages with exceptions (THR-19). NULL stands for an
 *  empty text.
 *  [any] TREADLE_OK if it was handled, TREADLE_IGNORED if not. Since 1.0. */
TREADLE_API treadle_status treadle_report_error(const char *kind, const char *message);

/** Receives a message of the debug log: one line, without a line end. It may call every function; messages that arise inside
 *  of it are dropped. [callback] on the thread that the message is about, or on the watchdog's, with
 *  no lock held. Since 1.0. */
typedef void (*treadle_log_fn)(const char *message, void *info);

/** Sets the process's log function, replacing the previous one, and switches the debug log on. NULL: the default, which
 *  writes each message to standard error, on a line that begins with "treadle: ", if the environment had TREADLE_DEBUG=1 at
 *  the library's first use. destroy (may be NULL) is called once with info: after the function was replaced and its calls
 *  have returned. The child of a fork has the default. There is a message, once each, for: the first failed call of each
 *  function, with the last error (but not for a timeout); a run that finished at once, with its mode and the modes that are
 *  not empty; a descriptor that was closed while it was watched, which a loop checks before each sleep (see
 *  treadle_descriptor_create); a descriptor source that 128 calls of its callback left as ready as before, which keeps the loop
 *  from sleeping; a source that another thread has signalled while its loop slept, and nothing has woken the loop for 200 ms; a loop
 *  that has not slept for 20,000 passes, kept awake by its own thread (RL-15); an addition to a loop whose thread has ended; a
 *  source, timer, observer or descriptor that was created and released, and never added to a loop; a callback of a run that took longer than the
 *  milliseconds, with or without decimals, in the environment's TREADLE_SLOW_MS. TREADLE_SLOW_MS alone switches on the last
 *  kind of message only. There are at most 4,096 messages.
 *  TREADLE_WATCHDOG_MS, alone or with TREADLE_DEBUG, starts a watchdog (RL-14). The watchdog is a thread. If a callback has not
 *  returned after that many milliseconds, it writes the callback's name and the stack of the callback's thread, a line for each
 *  frame, while the callback still runs. To get the stack, it sends that thread a real-time signal: the first one without a
 *  handler, from SIGRTMAX - 2 downwards. Only in this case does Treadle install a signal handler. A system call that every
 *  signal interrupts, such as poll, then returns EINTR in the callback.
 *  While the debug log is on, or one of these variables is set, callbacks of runs are timed, at the cost of two clock readings
 *  each: treadle_describe then shows how many times each item was called and for how long in total, treadle_loop_get_counters the
 *  longest callback. Otherwise the cost is one test of a flag for each batch of callbacks.
 *  [any] Errors, with destroy called: TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_set_log(treadle_log_fn log, void *info, treadle_release_fn destroy);

/** Starts a trace of the process's own run: from now on each thread that uses a loop records its runs, passes, sleeps and
 *  callbacks, and each thread its posts, requests, signals and marks, the latest 8,176 events of each of 128 threads (RL-16).
 *  TREADLE_TRACE=file in the environment starts one with the library's first use, which is written when the process exits. The
 *  child of a fork records nothing until it calls treadle_after_fork_child. After that call a trace of TREADLE_TRACE continues
 *  in file.PID. `%p` in the path stands for the process's id. The file is opened when the trace is written: a relative path counts
 *  from the working directory at that time, and a path that cannot be written is an error of treadle_trace_stop, or at the exit a
 *  message of the debug log.
 *  [any] Errors: TREADLE_E_ARG for NULL; TREADLE_E_STATE while there is one, or one is being written; TREADLE_E_NOMEM. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_trace_start(const char *path);

/** Ends the trace and writes its file, in Perfetto's format: https://ui.perfetto.dev opens it. A trace that is not stopped is written
 *  when the process exits (RL-16). The file is whole or not there: it is written beside its place and moved there at the end, so that
 *  an older one stays until then. A device, a pipe, or a file whose folder takes no new one is written in its place: a pipe makes
 *  this call wait for its reader, and a FIFO without a reader is refused at once (ENXIO). No lock is held meanwhile.
 *  [any] Errors: TREADLE_E_STATE if there is no trace; with the trace ended, TREADLE_E_SYSTEM, with os_errno, if
 *  the file cannot be written. Since 1.0. */
TREADLE_API TREADLE_HOST_ONLY treadle_status treadle_trace_stop(void);

/** Adds a mark of the client's own to the trace, on the calling thread's track, with a number. label: UTF-8, at most 255 bytes.
 *  A label is kept for ever; there may be 1,024 different ones. Without a trace it does nothing else, and returns
 *  TREADLE_IGNORED (RL-16).
 *  [any] Errors: TREADLE_E_ARG for NULL or a label that is not UTF-8; TREADLE_E_RANGE for a longer one. Since 1.0. */
TREADLE_API treadle_status treadle_trace_mark(const char *label, int64_t value);

TREADLE_END_DECLS
#endif
