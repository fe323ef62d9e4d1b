// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// source.hpp: custom input sources (version 0): signalled by any thread, performed by a loop.
#ifndef TREADLE_CPP_SOURCE_HPP
#define TREADLE_CPP_SOURCE_HPP

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "../source.h"
#include "callback.hpp"
#include "loop.hpp"
#include "object.hpp"
#include "routine.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

namespace detail {
struct SourceApi {
    using native_type = treadle_source;
    static constexpr auto retain = &treadle_source_retain;
    static constexpr auto release = &treadle_source_release;
    static constexpr auto invalidate = &treadle_source_invalidate;
    static constexpr auto close = &treadle_source_close;
    static constexpr auto is_valid = &treadle_source_is_valid;
    static constexpr auto describe = &treadle_source_describe;
    static constexpr auto add = &treadle_loop_add_source;
    static constexpr auto remove = &treadle_loop_remove_source;
    static constexpr auto contains = &treadle_loop_contains_source;
};
} // namespace detail

class Source;

/// The callbacks of a source; each may be empty (SRC0-1). They are destroyed when the source is freed.
/// Since 1.0.
struct SourceCallbacks {
    /// Called when a loop performs the source after it was signalled.
    /// [callback] on the loop's thread (SRC0-7). Since 1.0.
    std::function<void(const Source &)> perform;
    /// Called after the source was added to a mode, once for each; the mode's name lives until it returns.
    /// [callback] on the thread that adds (SRC0-3). Since 1.0.
    std::function<void(const Source &, const Loop &, std::string_view mode)> schedule;
    /// Called after the source left a mode, once for each; the mode's name lives until it returns.
    /// [callback] on the thread that removes or invalidates, or on the exiting thread (SRC0-3). Since 1.0.
    std::function<void(const Source &, const Loop &, std::string_view mode)> cancel;
    /// Adds text to describe().
    /// [callback] on the thread that calls describe(). Since 1.0.
    std::function<std::string()> describe;
};

/// A custom input source. A callback must not hold its own source, which would keep it alive for ever:
/// use the callback's argument. A default-constructed handle is empty. Since 1.0.
class [[nodiscard]] Source : public Item<Source, detail::SourceApi> {
  public:
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    Source() noexcept = default;

    /// A source that a loop performs by calling f(const Source &), or f() if it takes nothing: on the loop's
    /// thread (SRC0-7). f is destroyed when the source is freed. order: the smaller is performed first. label:
    /// its name in reports (treadle_source_context); copied.
    /// [any] Errors: Error of Status::argument for an empty callback, Status::no_memory; f is destroyed then.
    /// Since 1.0.
    template <class F, class = detail::if_callback<F, void, const Source &>>
    [[nodiscard]] explicit Source(F &&f, std::int64_t order = 0, const char *label = nullptr) {
        using Call = detail::Callback<std::decay_t<F>, const Source &>;
        Call call(std::forward<F>(f), "treadle::Source");
        auto context = TREADLE_INIT(treadle_source_context);
        context.info = call.info();
        context.release = Call::release();
        context.perform = &perform_callable<Call>;
        context.order = order;
        context.label = label;
        detail::check(treadle_source_create(&context, &native_));
        call.taken();
    }
    /// A source with several callbacks.
    /// [any] Errors: Error of Status::no_memory; std::bad_alloc. Since 1.0.
    [[nodiscard]] explicit Source(SourceCallbacks callbacks, std::int64_t order = 0, const char *label = nullptr) {
        auto box = std::make_unique<SourceCallbacks>(std::move(callbacks));
        auto context = TREADLE_INIT(treadle_source_context);
        context.info = box.get();
        context.release = [](void *info) noexcept { delete static_cast<SourceCallbacks *>(info); };
        if (box->perform) context.perform = &perform_boxed;
        if (box->schedule) context.schedule = &schedule_boxed;
        if (box->cancel) context.cancel = &cancel_boxed;
        if (box->describe) context.describe = &describe_boxed;
        context.order = order;
        context.label = label;
        detail::check(treadle_source_create(&context, &native_));
        (void)box.release();
    }
    /// A source that is performed by a routine, to which it keeps a reference.
    /// [any] Errors: Error of Status::stale, Status::no_memory. Since 1.0.
    [[nodiscard]] explicit Source(const Routine &perform, std::int64_t order = 0, const char *label = nullptr) {
        auto context = TREADLE_INIT(treadle_source_context);
        context.perform_routine = detail::need(perform, "treadle::Source");
        context.order = order;
        context.label = label;
        detail::check(treadle_source_create(&context, &native_));
    }

    /// Marks the source as signalled; signals before the perform coalesce. Wakes no loop (SRC0-6). False if
    /// it is invalid.
    /// [any] Errors: Error of Status::no_memory, Status::stale or Status::forked. Since 1.0.
    bool signal() const { return detail::effect(treadle_source_signal(native_)); }
    /// signal(), then wakes every loop that has the source: the usual way to signal from another thread.
    /// [any] Errors: as signal(). Since 1.0.
    bool signal_and_wake() const { return detail::effect(treadle_source_signal_and_wake(native_)); }
    /// True between a signal and the perform that it leads to (SRC0-14).
    /// [any] Errors: none; false if empty or stale. Since 1.0.
    bool is_signalled() const noexcept { return treadle_source_is_signalled(native_); }
    /// The order that it was created with (SRC0-14).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    std::int64_t order() const {
        std::int64_t order = 0;
        detail::check(treadle_source_get_order(native_, &order));
        return order;
    }

  private:
    template <class Call> static void perform_callable(treadle_source source, void *info) noexcept {
        detail::guarded([&] { Call::call(info, *detail::Lent<Source>(source)); });
    }
    static SourceCallbacks &boxed(void *info) noexcept { return *static_cast<SourceCallbacks *>(info); }
    static void perform_boxed(treadle_source source, void *info) noexcept {
        detail::guarded([&] { boxed(info).perform(*detail::Lent<Source>(source)); });
    }
    static void schedule_boxed(treadle_source source, treadle_loop loop, const char *mode, void *info) noexcept {
        detail::guarded([&] { boxed(info).schedule(*detail::Lent<Source>(source), *detail::Lent<Loop>(loop), mode); });
    }
    static void cancel_boxed(treadle_source source, treadle_loop loop, const char *mode, void *info) noexcept {
        detail::guarded([&] { boxed(info).cancel(*detail::Lent<Source>(source), *detail::Lent<Loop>(loop), mode); });
    }
    static void describe_boxed(void *info, char *buffer, std::size_t capacity) noexcept {
        detail::guarded([&] { detail::write_text(boxed(info).describe(), buffer, capacity); });
    }
};

} // inline namespace
} // namespace treadle

#endif
