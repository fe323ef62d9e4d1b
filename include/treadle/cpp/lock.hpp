// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// lock.hpp: locks and conditions, for std::unique_lock and similar classes.
#ifndef TREADLE_CPP_LOCK_HPP
#define TREADLE_CPP_LOCK_HPP

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

#include "../lock.h"
#include "object.hpp"
#include "time.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// Kinds of locks. Since 1.0.
enum class LockKind : std::uint32_t {
    plain = 0,
    recursive = TREADLE_LOCK_RECURSIVE ///< its owner may lock it several times, and unlocks it as many times
};

namespace detail {
struct LockApi {
    using native_type = treadle_lock;
    static constexpr auto retain = &treadle_lock_retain;
    static constexpr auto release = &treadle_lock_release;
};
struct ConditionApi {
    using native_type = treadle_condition;
    static constexpr auto retain = &treadle_condition_retain;
    static constexpr auto release = &treadle_condition_release;
};
} // namespace detail

/// A lock that checks for errors, over a pthread_mutex_t (THR-20). Meets the standard's requirements of a timed
/// mutex, except that it can be copied: copies are the same lock. Unlock it before the last copy is destroyed.
/// Since 1.0.
class Lock : public Handle<Lock, detail::LockApi> {
  public:
    /// A new lock.
    /// [any] Errors: Error of Status::argument for an unknown kind, Status::no_memory. Since 1.0.
    explicit Lock(LockKind kind = LockKind::plain) {
        detail::check(treadle_lock_create(static_cast<std::uint32_t>(kind), &native_));
    }
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    explicit Lock(Empty) noexcept {}

    /// Locks.
    /// [any] Errors: Error of Status::deadlock when the calling thread owns it and it is not recursive, Status::range
    /// when a recursive lock is locked too many times. Since 1.0.
    void lock() const { detail::check(treadle_lock_lock(native_, TREADLE_FOREVER)); }
    /// Locks if that needs no wait. Returns whether it locked.
    /// [any] Errors: Error of Status::stale, Status::forked, Status::range; of Status::deadlock as lock(). Since 1.0.
    [[nodiscard]] bool try_lock() const { return detail::in_time(treadle_lock_lock(native_, 0)); }
    /// Locks, but waits no longer than the timeout. Returns whether it locked.
    /// [any] Errors: as lock(). Since 1.0.
    template <class Rep, class Period> [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> timeout) const {
        return detail::in_time(treadle_lock_lock(native_, detail::nanoseconds_of(timeout)));
    }
    /// Locks, but waits no longer than until a date of any clock, converted as of now. Returns
    /// whether it locked.
    /// [any] Errors: as lock(). Since 1.0.
    template <class AnyClock, class Duration>
    [[nodiscard]] bool try_lock_until(std::chrono::time_point<AnyClock, Duration> date) const {
        return try_lock_for(detail::remaining(date));
    }
    /// Unlocks.
    /// [any] Errors: Error of Status::wrong_thread when the calling thread does not own it. Since 1.0.
    void unlock() const { detail::check(treadle_lock_unlock(native_)); }
    /// The pthread_mutex_t, valid while the lock lives; null if empty. Use a lock through one interface only
    /// (THR-20).
    /// [any] Errors: none. Since 1.0.
    pthread_mutex_t *native_handle() const noexcept {
        return static_cast<pthread_mutex_t *>(treadle_lock_get_pthread_mutex(native_));
    }
};

/// A condition on the monotonic clock, over a pthread_cond_t (THR-20). All waiters of a condition use the same
/// lock. Since 1.0.
class Condition : public Handle<Condition, detail::ConditionApi> {
  public:
    /// A new condition.
    /// [any] Errors: Error of Status::no_memory. Since 1.0.
    Condition() { detail::check(treadle_condition_create(&native_)); }
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    explicit Condition(Empty) noexcept {}

    /// Unlocks the lock, waits for a notification, and locks it again. Spurious returns are possible.
    /// [any] Errors: Error of Status::wrong_thread when the calling thread does not own the lock. Since 1.0.
    void wait(std::unique_lock<Lock> &lock) const {
        detail::check(treadle_condition_wait(native_, handle_of(lock), TREADLE_FOREVER));
    }
    /// Waits until pred() is true; it is called with the lock locked.
    /// [any] Errors: as above, and exceptions of pred. Since 1.0.
    template <class Predicate> void wait(std::unique_lock<Lock> &lock, Predicate pred) const {
        while (!pred()) wait(lock);
    }
    /// As wait, but no longer than the timeout; std::cv_status::timeout if that passed.
    /// [any] Errors: as wait. Since 1.0.
    template <class Rep, class Period>
    std::cv_status wait_for(std::unique_lock<Lock> &lock, std::chrono::duration<Rep, Period> timeout) const {
        const treadle_status status = treadle_condition_wait(native_, handle_of(lock), detail::nanoseconds_of(timeout));
        return detail::in_time(status) ? std::cv_status::no_timeout : std::cv_status::timeout;
    }
    /// Waits until pred() is true, but no longer than the timeout. Returns the last value of
    /// pred().
    /// [any] Errors: as wait. Since 1.0.
    template <class Rep, class Period, class Predicate>
    bool wait_for(std::unique_lock<Lock> &lock, std::chrono::duration<Rep, Period> timeout, Predicate pred) const {
        return wait_until(lock, Clock::after(timeout), std::move(pred));
    }
    /// As wait, but no longer than until a date of any clock, converted as of now.
    /// [any] Errors: as wait. Since 1.0.
    template <class AnyClock, class Duration>
    std::cv_status wait_until(std::unique_lock<Lock> &lock, std::chrono::time_point<AnyClock, Duration> date) const {
        return wait_for(lock, detail::remaining(date));
    }
    /// Waits until pred() is true, but no longer than until a date. Returns the last value of
    /// pred().
    /// [any] Errors: as wait. Since 1.0.
    template <class AnyClock, class Duration, class Predicate>
    bool wait_until(std::unique_lock<Lock> &lock, std::chrono::time_point<AnyClock, Duration> date,
                    Predicate pred) const {
        while (!pred())
            if (wait_until(lock, date) == std::cv_status::timeout) return pred();
        return true;
    }
    /// Wakes one waiter, if there is one.
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    void notify_one() const { detail::check(treadle_condition_signal(native_)); }
    /// Wakes all waiters.
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    void notify_all() const { detail::check(treadle_condition_broadcast(native_)); }
    /// The pthread_cond_t, valid while the condition lives; null if empty. Its clock is CLOCK_MONOTONIC (THR-20).
    /// [any] Errors: none. Since 1.0.
    pthread_cond_t *native_handle() const noexcept {
        return static_cast<pthread_cond_t *>(treadle_condition_get_pthread_cond(native_));
    }

  private:
    static treadle_lock handle_of(const std::unique_lock<Lock> &lock) {
        if (!lock.owns_lock()) detail::raise(Status::wrong_thread, "the lock is not locked", "treadle::Condition::wait");
        return lock.mutex()->native();
    }
};

} // inline namespace
} // namespace treadle

#endif
