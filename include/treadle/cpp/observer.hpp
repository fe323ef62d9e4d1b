// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// observer.hpp: observers: called at fixed points of a run, before and after the loop acts.
#ifndef TREADLE_CPP_OBSERVER_HPP
#define TREADLE_CPP_OBSERVER_HPP

#include <cstdint>

#include "../observer.h"
#include "callback.hpp"
#include "object.hpp"
#include "routine.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// Activities of a loop, with CFRunLoop's values; combine them with | (OBS-1). Since 1.0.
enum class Activity : std::uint32_t {
    entry = TREADLE_ENTRY,                   ///< a run begins: once a run (OBS-9)
    before_timers = TREADLE_BEFORE_TIMERS,   ///< a pass begins
    before_sources = TREADLE_BEFORE_SOURCES, ///< sources are about to be performed
    before_waiting = TREADLE_BEFORE_WAITING, ///< the loop is about to sleep
    after_waiting = TREADLE_AFTER_WAITING,   ///< the loop woke, and has not yet handled the cause
    exit = TREADLE_EXIT,                     ///< a run ends: once a run
    all = TREADLE_ALL_ACTIVITIES,            ///< every activity of a run
    prepare = TREADLE_PREPARE                ///< Loop::prepare is called: another loop is about to wait for this one
};

namespace detail {
template <> struct is_flags<Activity> : std::true_type {};

struct ObserverApi {
    using native_type = treadle_observer;
    static constexpr auto retain = &treadle_observer_retain;
    static constexpr auto release = &treadle_observer_release;
    static constexpr auto invalidate = &treadle_observer_invalidate;
    static constexpr auto close = &treadle_observer_close;
    static constexpr auto is_valid = &treadle_observer_is_valid;
    static constexpr auto describe = &treadle_observer_describe;
    static constexpr auto add = &treadle_loop_add_observer;
    static constexpr auto remove = &treadle_loop_remove_observer;
    static constexpr auto contains = &treadle_loop_contains_observer;
};
} // namespace detail

/// Options of an observer. Since 1.0.
struct ObserverOptions {
    std::int64_t order = 0; ///< called in ascending order; equal: in the order of adding (OBS-2). Since 1.0.
    bool once = false;      ///< invalidated after its first call (OBS-6). Since 1.0.
    const char *label = nullptr; ///< its name in reports; copied. Since 1.0.
};

/// An observer. A default-constructed handle is empty. Since 1.0.
class [[nodiscard]] Observer : public Item<Observer, detail::ObserverApi> {
  public:
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    Observer() noexcept = default;

    /// An observer, in no mode yet, that calls f(const Observer &, Activity), f(Activity) or f() with one
    /// activity at a time: on the loop's thread, not re-entered while it runs (OBS-5). f is destroyed when
    /// the observer is invalid and its callback has returned (OBS-8).
    /// [any] Errors: Error of Status::argument for an empty callback, Status::no_memory; f is destroyed then.
    /// Since 1.0.
    template <class F, class = detail::if_callback<F, void, const Observer &, Activity>>
    [[nodiscard]] Observer(Activity activities, F &&f, const ObserverOptions &options = {}) {
        using Call = detail::Callback<std::decay_t<F>, const Observer &, Activity>;
        Call call(std::forward<F>(f), "treadle::Observer");
        auto context = context_of(activities, options);
        context.info = call.info();
        context.release = Call::release();
        context.notify = &notify_callable<Call>;
        detail::check(treadle_observer_create(&context, &native_));
        call.taken();
    }
    /// An observer that calls a routine, to which it keeps a reference.
    /// [any] Errors: Error of Status::stale, Status::no_memory. Since 1.0.
    [[nodiscard]] Observer(Activity activities, const Routine &notify, const ObserverOptions &options = {}) {
        auto context = context_of(activities, options);
        context.notify_routine = detail::need(notify, "treadle::Observer");
        detail::check(treadle_observer_create(&context, &native_));
    }

    /// The activities that it was created with (OBJ-5).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    Activity activities() const {
        std::uint32_t activities = 0;
        detail::check(treadle_observer_get_activities(native_, &activities));
        return static_cast<Activity>(activities);
    }
    /// True unless it was created with once (OBJ-5).
    /// [any] Errors: none; false if empty or stale. Since 1.0.
    bool repeats() const noexcept { return treadle_observer_repeats(native_); }
    /// The order that it was created with (OBS-2).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    std::int64_t order() const {
        std::int64_t order = 0;
        detail::check(treadle_observer_get_order(native_, &order));
        return order;
    }

  private:
    static treadle_observer_context context_of(Activity activities, const ObserverOptions &options) noexcept {
        auto context = TREADLE_INIT(treadle_observer_context);
        context.activities = detail::bits(activities);
        context.once = options.once;
        context.order = options.order;
        context.label = options.label;
        return context;
    }
    template <class Call>
    static void notify_callable(treadle_observer observer, std::uint32_t activity, void *info) noexcept {
        detail::guarded(
            [&] { Call::call(info, *detail::Lent<Observer>(observer), static_cast<Activity>(activity)); });
    }
};

} // inline namespace
} // namespace treadle

#endif
