// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// time.hpp: Treadle's clock for std::chrono, and durations of every unit.
#ifndef TREADLE_CPP_TIME_HPP
#define TREADLE_CPP_TIME_HPP

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

#include "../time.h"
#include "status.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// Waits for ever, as a timeout. Since 1.0.
inline constexpr std::chrono::nanoseconds forever{TREADLE_FOREVER};

namespace detail {

inline constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();

/// A duration in nanoseconds, rounded up, and limited to +-forever: none overflows. A duration that is not a
/// number is refused.
template <class Rep, class Period> constexpr std::int64_t nanoseconds_of(std::chrono::duration<Rep, Period> time) {
    using Factor = std::ratio_divide<Period, std::nano>;
    if constexpr (std::is_integral_v<Rep> && Factor::den == 1) {
        constexpr auto limit = static_cast<std::uint64_t>(longest / Factor::num);
        if constexpr (std::is_signed_v<Rep>) {
            if (time.count() < 0) {
                const auto size = 0 - static_cast<std::uint64_t>(static_cast<std::int64_t>(time.count()));
                return size > limit ? -longest : -static_cast<std::int64_t>(size * Factor::num);
            }
        }
        const auto size = static_cast<std::uint64_t>(time.count());
        return size > limit ? longest : static_cast<std::int64_t>(size * Factor::num);
    } else {
        const long double exact = static_cast<long double>(time.count()) * Factor::num / Factor::den;
        if (exact != exact) detail::raise(Status::argument, "the duration is not a number", "treadle::nanoseconds");
        if (exact >= static_cast<long double>(longest)) return longest;
        if (exact <= -static_cast<long double>(longest)) return -longest;
        const auto whole = static_cast<std::int64_t>(exact);
        return exact > static_cast<long double>(whole) ? whole + 1 : whole;
    }
}

constexpr std::int64_t sum(std::int64_t a, std::int64_t b) noexcept {
    std::int64_t result = 0;
    if (!__builtin_add_overflow(a, b, &result)) return result;
    return a < 0 ? -longest : longest;
}

/// The time until a date of any clock, as of now; time_point::max() means for ever.
template <class AnyClock, class Duration>
std::chrono::nanoseconds remaining(std::chrono::time_point<AnyClock, Duration> date) {
    const std::int64_t until = nanoseconds_of(date.time_since_epoch());
    if (until == longest) return std::chrono::nanoseconds(longest);
    return std::chrono::nanoseconds(sum(until, -nanoseconds_of(AnyClock::now().time_since_epoch())));
}

} // namespace detail

/// The clock of every date and deadline in Treadle: monotonic, and standing still while the system is
/// suspended (RUN-14). Meets the standard's requirements of a clock. Since 1.0.
struct Clock {
    using duration = std::chrono::nanoseconds;         ///< Its unit. Since 1.0.
    using rep = duration::rep;                         ///< Required by the standard. Since 1.0.
    using period = duration::period;                   ///< Required by the standard. Since 1.0.
    using time_point = std::chrono::time_point<Clock>; ///< A date. Since 1.0.
    static constexpr bool is_steady = true;            ///< It never goes back. Since 1.0.

    /// The current date.
    /// [any, signal-safe] Errors: none. Since 1.0.
    static time_point now() noexcept { return time_point(duration(treadle_time_now())); }

    /// A recent time, at a lower cost than now(): the clock is read once in a callback, or in a tick of the
    /// system's clock (see treadle_time_recent).
    /// [any] Errors: none. Since 1.0.
    static time_point recent() noexcept { return time_point(duration(treadle_time_recent())); }

    /// The current date plus a duration; for ever gives for ever.
    /// [any] Errors: Error of Status::argument for a duration that is not a number. Since 1.0.
    template <class Rep, class Period> static time_point after(std::chrono::duration<Rep, Period> delay) {
        return time_point(duration(detail::sum(treadle_time_now(), detail::nanoseconds_of(delay))));
    }

    /// Converts a date of another clock to this one, as of now: later steps of that clock do not move it
    /// (TMR-2).
    /// [any] Errors: Error of Status::argument for a date that is not a number. Since 1.0.
    template <class Other, class Duration> static time_point from(std::chrono::time_point<Other, Duration> date) {
        return after(detail::remaining(date));
    }

    /// Converts a calendar date, in seconds since 2001-01-01 00:00 UTC as CFRunLoop counts them, to this clock
    /// (TMR-2).
    /// [any] Errors: Error of Status::argument for NaN. Since 1.0.
    static time_point from_absolute(double date) {
        std::int64_t time = 0;
        detail::check(treadle_time_from_absolute(date, &time));
        return time_point(duration(time));
    }

    /// The reverse: the calendar date of a date of this clock, as of now.
    /// [any] Errors: none. Since 1.0.
    static double to_absolute(time_point date) noexcept {
        return treadle_time_to_absolute(date.time_since_epoch().count());
    }
};

} // inline namespace
} // namespace treadle

#endif
