// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// perform.hpp: performs a call on a thread, now or later, with or without a wait for its end.
#ifndef TREADLE_CPP_PERFORM_HPP
#define TREADLE_CPP_PERFORM_HPP

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "../perform.h"
#include "callback.hpp"
#include "loop.hpp"
#include "thread.hpp"
#include "time.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {
namespace detail {

/// A call as a request: the callable is the argument, the target only names the request.
template <class Call> treadle_request request_of(Call &call, const void *target = nullptr) noexcept {
    auto request = TREADLE_INIT(treadle_request);
    request.fn = [](void *, void *argument) noexcept { guarded([&] { Call::call(argument); }); };
    request.target = const_cast<void *>(target);
    request.argument = call.info();
    request.release_argument = Call::release();
    call.taken(); // in every case the library releases it
    return request;
}

/// The result of a call: a value, a reference, or nothing.
template <class Result> struct Returned {
    std::optional<Result> value;
    template <class F> void from(F &f) { value.emplace(std::invoke(f)); }
    Result take() { return std::move(*value); }
};
template <class Result> struct Returned<Result &> {
    Result *value = nullptr;
    template <class F> void from(F &f) { value = std::addressof(std::invoke(f)); }
    Result &take() { return *value; }
};
template <> struct Returned<void> {
    template <class F> void from(F &f) { std::invoke(f); }
    void take() {}
};

/// A call that its caller waits for: it lives on the caller's stack, and its result or exception is stored
/// there.
template <class F> struct Awaited {
    using Result = std::invoke_result_t<F &>;
    static_assert(!std::is_rvalue_reference_v<Result>, "a function that is waited for returns no rvalue reference");

    F &f;
    Returned<Result> returned{};
    std::exception_ptr thrown{};

    static void perform(void *, void *argument) noexcept {
        auto &self = *static_cast<Awaited *>(argument);
        keeping(self.thrown, [&] { self.returned.from(self.f); });
    }
    Result on(treadle_thread thread, const char *const *modes, std::size_t mode_count) {
        auto request = TREADLE_INIT(treadle_request);
        request.fn = &perform;
        request.argument = this;
        request.modes = modes;
        request.mode_count = mode_count;
        request.flags = TREADLE_PERFORM_WAIT;
        if (!effect(treadle_perform(thread, &request)))
            detail::raise(Status::argument, "the list of modes is empty", "treadle::Thread::perform_and_wait");
        if (thrown) std::rethrow_exception(thrown);
        return returned.take();
    }
};

} // namespace detail

template <class F> detail::if_callback<F, void> Thread::perform(F &&f) const {
    detail::Callback<std::decay_t<F>> call(std::forward<F>(f), "treadle::Thread::perform");
    const treadle_request request = detail::request_of(call);
    detail::check(treadle_perform(native_, &request));
}

template <class F> detail::if_callback<F, bool> Thread::perform(F &&f, const std::vector<Mode> &modes) const {
    const detail::ModeList list(modes);
    detail::Callback<std::decay_t<F>> call(std::forward<F>(f), "treadle::Thread::perform");
    treadle_request request = detail::request_of(call);
    request.modes = list.names();
    request.mode_count = list.count();
    return detail::effect(treadle_perform(native_, &request));
}

template <class F> std::invoke_result_t<F &> Thread::perform_and_wait(F &&f) const {
    return detail::Awaited<std::remove_reference_t<F>>{f}.on(native_, nullptr, 0);
}

template <class F>
std::invoke_result_t<F &> Thread::perform_and_wait(F &&f, const std::vector<Mode> &modes) const {
    const detail::ModeList list(modes);
    return detail::Awaited<std::remove_reference_t<F>>{f}.on(native_, list.names(), list.count());
}

/// Calls f() once on the calling thread's loop, after a delay, in the default mode: not before the next pass; calls
/// with the same date are made in the order in which they were queued (PERF-12 to PERF-14). target: identifies the
/// request for cancel_performs; it is not dereferenced. f is destroyed afterwards, or when the request is cancelled,
/// or when the thread ends (PERF-16).
/// [any] Errors: Error of Status::argument for an empty callback or a delay that is not a number, Status::no_memory,
/// Status::system; f is destroyed then. Since 1.0.
template <class Rep, class Period, class F>
detail::if_callback<F, void> perform_after(std::chrono::duration<Rep, Period> delay, F &&f,
                                           const void *target = nullptr) {
    const auto wait = detail::nanoseconds_of(delay);
    detail::Callback<std::decay_t<F>> call(std::forward<F>(f), "treadle::perform_after");
    treadle_request request = detail::request_of(call, target);
    request.flags = TREADLE_PERFORM_AFTER;
    request.delay_ns = wait;
    detail::check(treadle_perform(nullptr, &request));
}

/// perform_after in some modes. False, with f destroyed, if the list is empty (PERF-12).
/// [any] Errors: as above. Since 1.0.
template <class Rep, class Period, class F>
detail::if_callback<F, bool> perform_after(std::chrono::duration<Rep, Period> delay, F &&f, const void *target,
                                           const std::vector<Mode> &modes) {
    const auto wait = detail::nanoseconds_of(delay);
    const detail::ModeList list(modes);
    detail::Callback<std::decay_t<F>> call(std::forward<F>(f), "treadle::perform_after");
    treadle_request request = detail::request_of(call, target);
    request.modes = list.names();
    request.mode_count = list.count();
    request.flags = TREADLE_PERFORM_AFTER;
    request.delay_ns = wait;
    return detail::effect(treadle_perform(nullptr, &request));
}

/// Cancels all delayed calls of the calling thread for this target (PERF-15). False if there was none.
/// [any] Errors: Error of Status::forked. Since 1.0.
inline bool cancel_performs(const void *target) {
    auto like = TREADLE_INIT(treadle_request);
    like.target = const_cast<void *>(target);
    return detail::effect(treadle_perform_cancel(&like));
}

/// Calls f() on a new detached thread with the default attributes (PERF-17). f is destroyed afterwards. Thread::detached gives
/// a handle of such a thread.
/// [any] Errors: Error of Status::argument for an empty callback; those of Thread::detached; f is destroyed then.
/// Since 1.0.
template <class F> detail::if_callback<F, void> perform_in_background(F &&f) {
    detail::Callback<std::decay_t<F>> call(std::forward<F>(f), "treadle::perform_in_background");
    treadle_request request = detail::request_of(call);
    request.flags = TREADLE_PERFORM_IN_BACKGROUND;
    detail::check(treadle_perform(nullptr, &request));
}

} // inline namespace
} // namespace treadle

#endif
