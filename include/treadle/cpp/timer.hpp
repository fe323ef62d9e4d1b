// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// timer.hpp: timers: one-shot or repeating, on an exact grid, with an optional tolerance.
#ifndef TREADLE_CPP_TIMER_HPP
#define TREADLE_CPP_TIMER_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "../timer.h"
#include "callback.hpp"
#include "object.hpp"
#include "routine.hpp"
#include "time.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

namespace detail {
struct TimerApi {
    using native_type = treadle_timer;
    static constexpr auto retain = &treadle_timer_retain;
    static constexpr auto release = &treadle_timer_release;
    static constexpr auto invalidate = &treadle_timer_invalidate;
    static constexpr auto close = &treadle_timer_close;
    static constexpr auto is_valid = &treadle_timer_is_valid;
    static constexpr auto describe = &treadle_timer_describe;
    static constexpr auto add = &treadle_loop_add_timer;
    static constexpr auto remove = &treadle_loop_remove_timer;
    static constexpr auto contains = &treadle_loop_contains_timer;
};
} // namespace detail

/// Options of a timer. Since 1.0.
struct TimerOptions {
    /// 0: one-shot; below 1,000 nanoseconds: 1,000; at most about 16 years (TMR-1). Since 1.0.
    std::chrono::nanoseconds interval{0};
    std::chrono::nanoseconds tolerance{0}; ///< how late it may fire so that wake-ups are shared (TMR-5). Since 1.0.
    const char *label = nullptr;           ///< its name in reports; copied. Since 1.0.
    bool ends_after_firing = false;        ///< a one-shot is invalid after its callback (TMR-15). Since 1.0.
};

/// A timer. It never fires early (TMR-22), fires once for all missed dates (TMR-16), and not while its callback runs
/// (TMR-19). A one-shot that has fired is idle, and can be armed again while a handle exists (TMR-24). A
/// default-constructed handle is empty. Since 1.0.
class [[nodiscard]] Timer : public Item<Timer, detail::TimerApi> {
  public:
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    Timer() noexcept = default;

    /// A timer, in no mode yet, that fires by calling f(const Timer &), or f() if it takes nothing: on the
    /// loop's thread. With a date in the past it fires in the next pass (TMR-8). f is destroyed when the
    /// timer is invalid and its callback has returned (TMR-7).
    /// [any] Errors: Error of Status::argument for an empty callback, Status::range for a negative interval,
    /// Status::no_memory; f is destroyed then. Since 1.0.
    template <class F, class = detail::if_callback<F, void, const Timer &>>
    [[nodiscard]] Timer(Clock::time_point first, F &&f, const TimerOptions &options = {}) {
        using Call = detail::Callback<std::decay_t<F>, const Timer &>;
        Call call(std::forward<F>(f), "treadle::Timer");
        auto context = context_of(first, options);
        context.info = call.info();
        context.release = Call::release();
        context.fire = &fire_callable<Call>;
        detail::check(treadle_timer_create(&context, &native_));
        call.taken();
    }
    /// A timer on the wall clock: its dates follow that clock when it is set (TMR-24). Read them with wall_next_fire,
    /// and move them with set_next_fire and a date of the wall clock. Otherwise as above.
    /// [any] Errors: as above, and Status::argument for a date that is not a number. Since 1.0.
    template <class Duration, class F, class = detail::if_callback<F, void, const Timer &>>
    [[nodiscard]] Timer(std::chrono::time_point<std::chrono::system_clock, Duration> first, F &&f, const TimerOptions &options = {}) {
        using Call = detail::Callback<std::decay_t<F>, const Timer &>;
        Call call(std::forward<F>(f), "treadle::Timer");
        auto context = context_of(Clock::time_point(std::chrono::nanoseconds(detail::nanoseconds_of(first.time_since_epoch()))), options);
        context.flags |= TREADLE_TIMER_WALL_CLOCK;
        context.info = call.info();
        context.release = Call::release();
        context.fire = &fire_callable<Call>;
        detail::check(treadle_timer_create(&context, &native_));
        call.taken();
    }
    /// A timer that fires by a routine, to which it keeps a reference.
    /// [any] Errors: as above, and Error of Status::stale. Since 1.0.
    [[nodiscard]] Timer(Clock::time_point first, const Routine &fire, const TimerOptions &options = {}) {
        auto context = context_of(first, options);
        context.fire_routine = detail::need(fire, "treadle::Timer");
        detail::check(treadle_timer_create(&context, &native_));
    }
    /// A timer that fires once, after a delay; f as for the constructor.
    /// [any] Errors: as the constructor; Status::argument for a delay that is not a number. Since 1.0.
    template <class Rep, class Period, class F>
    static Timer after(std::chrono::duration<Rep, Period> delay, F &&f) {
        return Timer(Clock::after(delay), std::forward<F>(f));
    }
    /// A timer that fires after an interval, and then on the grid of that interval; f as for the constructor.
    /// [any] Errors: as the constructor; Status::range for an interval of 0 or less. Since 1.0.
    template <class Rep, class Period, class F>
    static Timer every(std::chrono::duration<Rep, Period> interval, F &&f) {
        const std::chrono::nanoseconds step(detail::nanoseconds_of(interval));
        if (step.count() <= 0) detail::raise(Status::range, "the interval is not above 0", "treadle::Timer::every");
        TimerOptions options;
        options.interval = step;
        return Timer(Clock::after(step), std::forward<F>(f), options);
    }

    /// The requested date, until the timer is rescheduled; during its callback, the date for which the
    /// callback was called (TMR-2, TMR-16). Nothing when idle (TMR-24) or invalid (TMR-4).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    std::optional<Clock::time_point> next_fire() const {
        std::int64_t time = 0;
        detail::check(treadle_timer_get_next_fire(native_, &time));
        if (time == 0) return std::nullopt;
        return Clock::time_point(Clock::duration(time));
    }
    /// Moves the timer, and the grid of a repeating timer, to a date; takes effect at once, also in a
    /// sleeping loop (TMR-15, TMR-17). False if invalid.
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    bool set_next_fire(Clock::time_point date) const {
        return detail::effect(treadle_timer_set_next_fire(native_, date.time_since_epoch().count()));
    }
    /// next_fire of a timer on the wall clock (TMR-24).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    std::optional<std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>> wall_next_fire() const {
        const auto date = next_fire();
        if (!date) return std::nullopt;
        return std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>(date->time_since_epoch());
    }
    /// set_next_fire of a timer on the wall clock (TMR-24).
    /// [any] Errors: Error of Status::stale or Status::forked, Status::argument for a date that is not a number. Since 1.0.
    template <class Duration> bool set_next_fire(std::chrono::time_point<std::chrono::system_clock, Duration> date) const {
        return detail::effect(treadle_timer_set_next_fire(native_, detail::nanoseconds_of(date.time_since_epoch())));
    }
    /// Arms the timer to fire after a delay. In a callback the delay counts from Clock::recent(), elsewhere, and for a
    /// timer on the wall clock, from now (TMR-24). False if invalid.
    /// [any] Errors: Error of Status::stale or Status::forked, Status::argument for a delay that is not a number.
    /// Since 1.0.
    template <class Rep, class Period> bool arm(std::chrono::duration<Rep, Period> delay) const {
        return detail::effect(treadle_timer_arm(native_, detail::nanoseconds_of(delay)));
    }
    /// Makes the timer idle: it has no date until it is armed (TMR-24). False if invalid.
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    bool disarm() const { return detail::effect(treadle_timer_arm(native_, TREADLE_FOREVER)); }
    /// Calls the timer's callback immediately, on the calling thread. A one-shot is idle or invalid afterwards; the
    /// dates of a repeating timer do not change (NST-3). False if invalid, or if the callback is running already.
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    bool fire() const { return detail::effect(treadle_timer_fire(native_)); }
    /// The interval; 0 for a one-shot (OBJ-5).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    std::chrono::nanoseconds interval() const { return number(treadle_timer_get_interval); }
    /// True if the timer repeats (OBJ-5).
    /// [any] Errors: none; false if empty or stale. Since 1.0.
    bool repeats() const noexcept { return treadle_timer_repeats(native_); }
    /// Sets how late the timer may fire. A value below 0 counts as 0, one above half the interval as half
    /// the interval (TMR-5).
    /// [any] Errors: Error of Status::stale or Status::forked, Status::argument for a duration that is not a
    /// number. Since 1.0.
    template <class Rep, class Period> void set_tolerance(std::chrono::duration<Rep, Period> tolerance) const {
        detail::check(treadle_timer_set_tolerance(native_, detail::nanoseconds_of(tolerance)));
    }
    /// The tolerance in force.
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    std::chrono::nanoseconds tolerance() const { return number(treadle_timer_get_tolerance); }

  private:
    static treadle_timer_context context_of(Clock::time_point first, const TimerOptions &options) noexcept {
        auto context = TREADLE_INIT(treadle_timer_context);
        context.fire_at = first.time_since_epoch().count();
        context.interval_ns = options.interval.count();
        context.tolerance_ns = options.tolerance.count();
        context.label = options.label;
        context.flags = options.ends_after_firing ? TREADLE_TIMER_ENDS_AFTER_FIRING : 0;
        return context;
    }
    std::chrono::nanoseconds number(treadle_status (*get)(treadle_timer, std::int64_t *)) const {
        std::int64_t value = 0;
        detail::check(get(native_, &value));
        return std::chrono::nanoseconds(value);
    }
    template <class Call> static void fire_callable(treadle_timer timer, void *info) noexcept {
        detail::guarded([&] { Call::call(info, *detail::Lent<Timer>(timer)); });
    }
};

} // inline namespace
} // namespace treadle

#endif
