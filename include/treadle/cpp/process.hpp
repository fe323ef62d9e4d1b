// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// process.hpp: the whole process: its end, a fork, uncaught exceptions, the debug log and traces.
#ifndef TREADLE_CPP_PROCESS_HPP
#define TREADLE_CPP_PROCESS_HPP

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../error.h"
#include "../process.h"
#include "../version.h"
#include "callback.hpp"
#include "thread.hpp"
#include "time.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// The version of the library that is loaded, such as "1.0.0". Never freed.
/// [any] Errors: none. Since 1.0.
inline std::string_view version() noexcept { return treadle_version_string(); }

/// Passes an error to the last-resort handler, for code that catches an error and cannot deal with it (THR-19). kind: such as
/// "C++ exception"; message: its text; a null pointer is an empty text. True if the handler dealt with it.
/// [any] Errors: none. Since 1.0.
inline bool report_error(const char *kind, const char *message) noexcept {
    return treadle_report_error(kind, message) == TREADLE_OK;
}

/// Adds a mark to the trace that is being recorded, on the calling thread's track: a label and a number. label: UTF-8, at most 255
/// bytes. False, without an effect, if there is no trace (RL-16).
/// [any] Errors: Error of Status::argument for a null pointer or a label that is not UTF-8, Status::range for a longer one. Since 1.0.
inline bool trace_mark(const char *label, std::int64_t value = 0) { return detail::effect(treadle_trace_mark(label, value)); }

#ifndef TREADLE_PLUGIN // for programs alone
/// Makes Treadle usable in the child of a fork. The parent's handles are stale there, and may be destroyed. False
/// in any other process (RL-11).
/// [any] Errors: none. Since 1.0.
inline bool after_fork_child() { return detail::effect(treadle_after_fork_child()); }

/// Ends all run loops of the process, for ever, and waits until no callback runs on other threads. The ended runs
/// return RunResult::closed. False if the timeout passed first; everything is closed in any case (THR-21).
/// [any] Errors: Error of Status::forked. Since 1.0.
template <class Rep, class Period> bool shutdown(std::chrono::duration<Rep, Period> timeout) {
    return detail::in_time(treadle_shutdown(detail::nanoseconds_of(timeout)));
}

/// Sets the process's last-resort handler: f(const Thread &thread, std::string_view kind, std::string_view message)
/// is called for an exception that escaped a callback or a thread's function, on the thread where it escaped. f may
/// accept only the last ones of these arguments. It returns true if the exception was handled, and the program
/// continues; after false the program ends by std::terminate. f must not throw. kind is "C++ exception" for
/// exceptions of C++; both texts live until f returns. f is destroyed after it was replaced and its calls have
/// returned (THR-19).
/// [any] Errors: Error of Status::argument for an empty callback, Status::no_memory; f is destroyed then. Since 1.0.
template <class F>
detail::if_callback<F, void, const Thread &, std::string_view, std::string_view> set_last_resort(F &&f) {
    using Call = detail::Callback<std::decay_t<F>, const Thread &, std::string_view, std::string_view>;
    Call call(std::forward<F>(f), "treadle::set_last_resort");
    constexpr auto handler = [](treadle_thread thread, const char *kind, const char *message, void *info) noexcept {
        const bool handled = Call::call(info, *detail::Lent<Thread>(thread), kind, message);
        return handled;
    };
    void *const info = call.info();
    call.taken(); // in every case the library calls destroy
    detail::check(treadle_set_last_resort(handler, info, Call::release()));
}

/// Restores the default: one line to standard error, then std::terminate (THR-19).
/// [any] Errors: Error of Status::no_memory. Since 1.0.
inline void reset_last_resort() { detail::check(treadle_set_last_resort(nullptr, nullptr, nullptr)); }

/// Sets the process's log function and switches messages about mistakes on (see treadle_set_log): f(std::string_view message), or
/// f(), is called on the thread that the message is about. The text lives until f returns. f is destroyed when it was replaced and
/// no call of it runs.
/// [any] Errors: Error of Status::argument for an empty callback, Status::no_memory; f is destroyed then. Since 1.0.
template <class F> detail::if_callback<F, void, std::string_view> set_log(F &&f) {
    using Call = detail::Callback<std::decay_t<F>, std::string_view>;
    Call call(std::forward<F>(f), "treadle::set_log");
    constexpr auto log = [](const char *message, void *info) noexcept { detail::guarded([&] { Call::call(info, message); }); };
    void *const info = call.info();
    call.taken(); // destroy is called in any case
    detail::check(treadle_set_log(log, info, Call::release()));
}

/// Sets the default again: messages with TREADLE_DEBUG=1 in the environment, to standard error.
/// [any] Errors: Error of Status::no_memory. Since 1.0.
inline void reset_log() { detail::check(treadle_set_log(nullptr, nullptr, nullptr)); }

/// Starts to record what the loops of the process do; trace_stop() writes the file, in Perfetto's format. `%p` in the path stands
/// for the process's id. TREADLE_TRACE=file in the environment records a whole run (RL-16).
/// [any] Errors: Error of Status::argument for a path with NUL, Status::state while there is a trace, Status::no_memory. Since 1.0.
inline void trace_start(const std::string &path) {
    detail::check(treadle_trace_start(detail::c_text(path, "treadle::trace_start")));
}

/// Ends the trace and writes its file. A trace that is not stopped is written when the process exits (RL-16).
/// [any] Errors: Error of Status::state if there is no trace; with the trace ended, Status::system if the file cannot be written.
/// Since 1.0.
inline void trace_stop() { detail::check(treadle_trace_stop()); }
#endif

} // inline namespace
} // namespace treadle

#endif
