// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// status.hpp: statuses and results as enumerations, failures as exceptions.
#ifndef TREADLE_CPP_STATUS_HPP
#define TREADLE_CPP_STATUS_HPP

#include <cstdint>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "../error.h"
#include "../loop.h"
#include "../process.h"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// The status of a call: ok, a negative error, or a positive result. The values are those of types.h,
/// where each is explained. Later versions may add values, so treat any negative one as a failure.
/// Since 1.0.
enum class Status : treadle_status {
    ok = TREADLE_OK,
    ignored = TREADLE_IGNORED,
    deferred = TREADLE_DEFERRED,
    argument = TREADLE_E_ARG,
    stale = TREADLE_E_STALE,
    kind = TREADLE_E_KIND,
    no_memory = TREADLE_E_NOMEM,
    state = TREADLE_E_STATE,
    exists = TREADLE_E_EXISTS,
    not_found = TREADLE_E_NOT_FOUND,
    wrong_thread = TREADLE_E_WRONG_THREAD,
    deadlock = TREADLE_E_DEADLOCK,
    timeout = TREADLE_E_TIMEOUT,
    forked = TREADLE_E_FORKED,
    too_new = TREADLE_E_TOO_NEW,
    system = TREADLE_E_SYSTEM,
    callback = TREADLE_E_CALLBACK,
    closed = TREADLE_E_CLOSED,
    range = TREADLE_E_RANGE,
    signature = TREADLE_E_SIGNATURE,
    not_supported = TREADLE_E_NOT_SUPPORTED,
    cancelled = TREADLE_E_CANCELLED,
    plugin = TREADLE_E_PLUGIN,
    no_reply = TREADLE_E_NO_REPLY
};

/// Why a run of a loop ended (RUN-4). Since 1.0.
enum class RunResult : treadle_status {
    finished = TREADLE_RUN_FINISHED,             ///< the mode has nothing to wait for
    stopped = TREADLE_RUN_STOPPED,               ///< this run was stopped
    timed_out = TREADLE_RUN_TIMED_OUT,           ///< the timeout passed
    handled_source = TREADLE_RUN_HANDLED_SOURCE, ///< a source was handled, and the caller asked to return then
    interrupted = TREADLE_RUN_INTERRUPTED,       ///< a signal arrived during the sleep, and the caller asked
    closed = TREADLE_E_CLOSED                    ///< treadle_shutdown was called (THR-21)
};

/// A status's name, such as "TREADLE_E_STALE"; "unknown" for a value without one. Never freed.
/// [any] Errors: none. Since 1.0.
inline const char *name_of(Status status) noexcept { return treadle_status_name(static_cast<treadle_status>(status)); }

/// A result's name, such as "TREADLE_RUN_STOPPED". Never freed.
/// [any] Errors: none. Since 1.0.
inline const char *name_of(RunResult result) noexcept {
    return treadle_status_name(static_cast<treadle_status>(result));
}

/// A failed call, thrown by every function here that does not say otherwise. Copying it never throws. Without exceptions
/// (-fno-exceptions) a failed call passes the error's text to the last-resort handler, then ends the program by
/// std::terminate. Since 1.0.
class TREADLE_TYPE Error : public std::runtime_error {
  public:
    /// Constructs an error. function: the function that failed; message: one sentence;
    /// system_error: the errno of the system call that failed, else 0. The texts are copied.
    /// [any] Errors: std::bad_alloc. Since 1.0.
    Error(Status status, const char *message, const char *function, int system_error = 0)
        : std::runtime_error(std::string(function) + ": " + message), status_(status), system_error_(system_error),
          function_length_(std::string::traits_type::length(function)), function_(function) {}

    /// The status of the failed call: negative, unless the program constructed the Error itself.
    /// [any] Errors: none. Since 1.0.
    Status status() const noexcept { return status_; }

    /// One sentence that names the argument or the cause. Lives as long as the error. what() contains it
    /// after the function's name.
    /// [any] Errors: none. Since 1.0.
    const char *message() const noexcept { return what() + function_length_ + 2; }

    /// The function that failed, such as "treadle_loop_run". Lives as long as the error.
    /// [any] Errors: none. Since 1.0.
    const char *function() const noexcept { return function_.what(); }

    /// The errno of the system call that failed; 0 when none did.
    /// [any] Errors: none. Since 1.0.
    int system_error() const noexcept { return system_error_; }

    /// The calling thread's last failure, as an error.
    /// [any] Errors: std::bad_alloc. Since 1.0.
    [[nodiscard]] static Error last() {
        auto info = TREADLE_INIT(treadle_error_info);
        treadle_last_error(&info);
        return Error(static_cast<Status>(info.code), info.message, info.function, info.os_errno);
    }

  private:
    Status status_;
    int system_error_;
    std::size_t function_length_;
    std::runtime_error function_; // a text that is shared by copies, so that copying cannot throw
};

namespace detail {

/// Throws the error. Without exceptions: reports it, and ends the program whatever the last-resort handler returns.
[[noreturn, gnu::cold]] inline void raise(const Error &error) {
#ifdef __cpp_exceptions
    throw error;
#else
    treadle_report_error("C++ error", error.what());
    std::terminate();
#endif
}
[[noreturn, gnu::cold]] inline void raise(Status status, const char *message, const char *function) {
    raise(Error(status, message, function));
}

/// Calls body(); an exception that leaves it is stored.
template <class Body> void keeping(std::exception_ptr &thrown, Body &&body) noexcept {
#ifdef __cpp_exceptions
    try {
        body();
    } catch (...) { thrown = std::current_exception(); }
#else
    (void)thrown;
    body();
#endif
}

/// Throws if the status is a failure; otherwise returns it.
inline treadle_status check(treadle_status status) {
    if (status < 0) raise(Error::last()); // every failure has set it
    return status;
}

/// Whether a call had an effect: false for TREADLE_IGNORED.
inline bool effect(treadle_status status) { return check(status) != TREADLE_IGNORED; }

/// Whether a wait ended before its timeout.
inline bool in_time(treadle_status status) { return status != TREADLE_E_TIMEOUT && check(status) >= 0; }

/// For enumerations whose values combine with | and &.
template <class E> struct is_flags : std::false_type {};
template <class E> using if_flags = std::enable_if_t<is_flags<E>::value, E>;
template <class E> constexpr std::uint32_t bits(E flags) noexcept { return static_cast<std::uint32_t>(flags); }

} // namespace detail

/// Flags that are in one of the two sets.
/// [any] Errors: none. Since 1.0.
template <class E> constexpr detail::if_flags<E> operator|(E a, E b) noexcept {
    return static_cast<E>(detail::bits(a) | detail::bits(b));
}
/// Flags that are in both sets.
/// [any] Errors: none. Since 1.0.
template <class E> constexpr detail::if_flags<E> operator&(E a, E b) noexcept {
    return static_cast<E>(detail::bits(a) & detail::bits(b));
}
/// Whether the sets have a flag in common.
/// [any] Errors: none. Since 1.0.
template <class E> constexpr std::enable_if_t<detail::is_flags<E>::value, bool> any_of(E set, E flags) noexcept {
    return (set & flags) != E(0);
}

} // inline namespace
} // namespace treadle

#endif
