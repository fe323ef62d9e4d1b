// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// process.hpp: what concerns the whole process: its end, a fork, and exceptions that nobody caught.
#ifndef TREADLE_CPP_PROCESS_HPP
#define TREADLE_CPP_PROCESS_HPP

#include <chrono>
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

#ifndef TREADLE_PLUGIN // what is the program's
/// Makes Treadle usable in the child of a fork, from nothing; handles of the parent are stale there, and may be
/// destroyed. False in a process that is not such a child (RL-11).
/// [any] Errors: none. Since 1.0.
inline bool after_fork_child() { return detail::effect(treadle_after_fork_child()); }

/// Ends all run loops of the process, for good, and waits until no callback runs on other threads: their runs return
/// RunResult::closed. False if the timeout passed before; everything is closed all the same (THR-21).
/// [any] Errors: Error of Status::forked. Since 1.0.
template <class Rep, class Period> bool shutdown(std::chrono::duration<Rep, Period> timeout) {
    return detail::in_time(treadle_shutdown(detail::nanoseconds_of(timeout)));
}

/// Sets the process's last-resort handler: f(const Thread &thread, std::string_view kind, std::string_view message)
/// is called, on the thread where it happened, for an exception that escaped a callback or a thread's function;
/// it may take the last ones of these arguments only. It returns whether it dealt with it: true lets the program
/// go on, false ends it by std::terminate. f must not throw. kind is "C++ exception" for those of this language;
/// both texts live until f returns. f is destroyed when it was replaced and no call of it runs (THR-19).
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
    call.taken(); // whatever happens, destroy is called
    detail::check(treadle_set_last_resort(handler, info, Call::release()));
}

/// Sets the default again: one line to standard error, then std::terminate (THR-19).
/// [any] Errors: Error of Status::no_memory. Since 1.0.
inline void reset_last_resort() { detail::check(treadle_set_last_resort(nullptr, nullptr, nullptr)); }
#endif

} // inline namespace
} // namespace treadle

#endif
