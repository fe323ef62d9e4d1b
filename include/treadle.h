/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle.h: run loops and the objects that feed them, for any program and any language.
 *
 * This header includes the parts; each part may also be included alone.
 *
 * How to read a declaration
 *   [any]               callable from any thread at any time, also from inside every callback.
 *   [any, signal-safe]  also callable from a signal handler: takes no lock, allocates nothing, writes no message. A failure
 *                       is reported by the status alone and does not set treadle_last_error() (OBJ-10).
 *   [any, quick]        callable from any thread; neither waits for another thread nor calls client code, so that a language may
 *                       call it with the lock of its interpreter held. A create function is quick if its context names a host in
 *                       place of callbacks; one that calls an object's release functions is not quick.
 *   [owner]             only the thread that owns the loop; any other gets TREADLE_E_WRONG_THREAD.
 *   [callback]          called by Treadle, on the thread that the text names, with no lock of Treadle's held.
 *   Since 1.0           the first version that has it.
 *   RL-1, SRC0-7, ...   the rule in docs/rules.md that it follows.
 *
 * For every function, unless its text says otherwise
 *   - It returns a treadle_status: 0 is success, a negative value an error, a positive value
 *     success with information. A failed call changes nothing and sets treadle_last_error().
 *   - NULL for a required object or out-parameter returns TREADLE_E_ARG; a handle that was
 *     released, or was never a handle, TREADLE_E_STALE; a handle of the wrong kind, TREADLE_E_KIND. In
 *     the child of a fork every function returns TREADLE_E_FORKED (see treadle_after_fork_child). A function
 *     that returns bool returns false in these cases, and sets the last error too.
 *   - Out-parameters come last, are written on success and zeroed on failure.
 *   - A buffer is passed with its capacity, in elements; NULL with 0 asks for the length alone. A capacity above PTRDIFF_MAX
 *     returns an error that names the parameter, and nothing is written (ABI-14).
 *   - Text is UTF-8 and ends with NUL; a mode's name that is not UTF-8 returns TREADLE_E_ARG. A member called
 *     reserved must be 0, or the call returns TREADLE_E_ARG. Durations and deadlines are int64_t nanoseconds on the
 *     monotonic clock (which stands still while the system is suspended, RUN-15).
 *   - A callback must return normally: no exception, no longjmp through Treadle's frames.
 */
#ifndef TREADLE_H
#define TREADLE_H

#include "treadle/version.h"
#include "treadle/types.h"
#include "treadle/object.h"
#include "treadle/error.h"
#include "treadle/time.h"
#include "treadle/event.h"
#include "treadle/loop.h"
#include "treadle/source.h"
#include "treadle/descriptor.h"
#include "treadle/port.h"
#include "treadle/message_port.h"
#include "treadle/timer.h"
#include "treadle/observer.h"
#include "treadle/post.h"
#include "treadle/routine.h"
#include "treadle/thread.h"
#include "treadle/perform.h"
#include "treadle/invocation.h"
#include "treadle/closure.h"
#include "treadle/lock.h"
#include "treadle/pool.h"
#include "treadle/notification.h"
#include "treadle/process.h"
#include "treadle/scope.h"
#include "treadle/host.h"
#include "treadle/plugin.h"
#ifdef TREADLE_PLUGIN
#include "treadle/plugin_table.h"
#endif

#endif
