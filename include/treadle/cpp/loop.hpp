// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// loop.hpp: run loops: get, run, wake and stop a loop; its modes, items and posts.
#ifndef TREADLE_CPP_LOOP_HPP
#define TREADLE_CPP_LOOP_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../post.h"
#include "../loop.h"
#include "callback.hpp"
#include "mode.hpp"
#include "object.hpp"
#include "time.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

class Routine;
#ifdef __cpp_impl_coroutine
namespace detail {
template <class F> class PerformAwaiter;
}
#endif

/// Options of a run. Since 1.0.
enum class RunOptions : std::uint32_t {
    none = 0,
    return_after_source = TREADLE_RUN_RETURN_AFTER_SOURCE, ///< return after a source was handled (RUN-6, RUN-7)
    return_on_interrupt = TREADLE_RUN_RETURN_ON_INTERRUPT, ///< return when a signal ends the sleep
    when_empty = TREADLE_RUN_WHEN_EMPTY                    ///< sleep while the mode is empty (RUN-16)
};

/// The runs that a stop request ends. Since 1.0.
enum class StopOptions : std::uint32_t {
    none = 0,
    all_levels = TREADLE_STOP_ALL_LEVELS, ///< every nested run, not only the innermost
    at_once = TREADLE_STOP_AT_ONCE        ///< without the rest of the pass that runs
};

namespace detail {
template <> struct is_flags<RunOptions> : std::true_type {};
template <> struct is_flags<StopOptions> : std::true_type {};

struct LoopApi {
    using native_type = treadle_loop;
    static constexpr auto retain = &treadle_loop_retain;
    static constexpr auto release = &treadle_loop_release;
};

/// Whether a run on this thread has reported a shutdown.
inline thread_local bool knows_end = false;
/// Whether the next run of the thread throws after a shutdown. Without exceptions each reports it.
inline bool throws_end() noexcept {
#ifdef __cpp_exceptions
    return knows_end;
#else
    return false;
#endif
}

/// Names of modes for a function of C.
class ModeList {
  public:
    explicit ModeList(const std::vector<Mode> &modes) {
        names_.reserve(modes.size() + 1);
        for (const Mode &mode : modes) names_.push_back(mode.c_str());
        count_ = names_.size();
        names_.push_back(nullptr); // so that an empty list is not a null pointer
    }
    const char *const *names() const noexcept { return names_.data(); }
    std::size_t count() const noexcept { return count_; }

  private:
    std::vector<const char *> names_;
    std::size_t count_;
};
} // namespace detail

/// A run loop. Every thread has one (RL-1). A default-constructed handle is empty. Since 1.0.
class Loop : public Handle<Loop, detail::LoopApi> {
  public:
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    Loop() noexcept = default;

    /// The calling thread's loop, created on first use (RL-1, RL-2). The reference keeps the handle valid
    /// after the thread's end (RL-9).
    /// [any] Errors: Error of Status::no_memory, Status::system or Status::forked. Since 1.0.
    [[nodiscard]] static Loop current() { return known(treadle_loop_current()); }
    /// The loop of the process's initial thread, from any thread (RL-3).
    /// [any] Errors: as current(). Since 1.0.
    [[nodiscard]] static Loop main() { return known(treadle_loop_main()); }
    /// The loop of the thread with this kernel id (gettid), if it has one (RL-9).
    /// [any] Errors: Error of Status::not_found. Since 1.0.
    [[nodiscard]] static Loop of_thread(std::int32_t thread_id) {
        treadle_loop loop = nullptr;
        detail::check(treadle_loop_copy_of_thread(thread_id, &loop));
        return adopt(loop);
    }

    /// Runs the calling thread's loop in one mode until it is stopped or finished, or an option ends it
    /// (RUN-1). May be called from every callback, to any depth (RUN-12). shutdown() ends the run with
    /// RunResult::closed. The thread's first run after a shutdown returns it too; later runs throw (THR-21), or without
    /// exceptions return it.
    /// [owner] Errors: Error of Status::wrong_thread, Status::argument for unknown options,
    /// Status::callback when a host's callback failed, Status::closed, Status::system, Status::no_memory.
    /// Since 1.0.
    RunResult run(const Mode &mode = {}, RunOptions options = RunOptions::none) const {
        return run_for(forever, mode, options);
    }
    /// run() with a timeout: 0 or less makes one pass without blocking, forever sets no timeout (RUN-2).
    /// [owner] Errors: as run(), and Status::argument for a duration that is not a number. Since 1.0.
    template <class Rep, class Period>
    RunResult run_for(std::chrono::duration<Rep, Period> timeout, const Mode &mode = {},
                      RunOptions options = RunOptions::none) const {
        const bool knew_end = detail::throws_end();
        const treadle_status status =
            treadle_loop_run(native_, mode.c_str(), detail::nanoseconds_of(timeout), detail::bits(options));
        if (status != TREADLE_E_CLOSED || knew_end) return static_cast<RunResult>(detail::check(status));
        detail::knows_end = true;
        return RunResult::closed;
    }
    /// run() until a date of any clock, converted as of now.
    /// [owner] Errors: as run(). Since 1.0.
    template <class AnyClock, class Duration>
    RunResult run_until(std::chrono::time_point<AnyClock, Duration> date, const Mode &mode = {},
                        RunOptions options = RunOptions::none) const {
        return run_for(detail::remaining(date), mode, options);
    }
    /// One pass that does not block (RUN-2).
    /// [owner] Errors: as run(). Since 1.0.
    RunResult poll(const Mode &mode = {}) const { return run_for(std::chrono::nanoseconds(0), mode); }

    /// Ends the innermost run at the end of its pass. False, without a later effect, if the loop is
    /// not being run; see request_stop (STOP-1 to STOP-7).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    bool stop() const { return detail::effect(treadle_loop_stop(native_)); }
    /// A stop that cannot be lost: it ends the innermost run, or the next one that starts (STOP-9).
    /// [any, signal-safe] Errors: the status; it never throws. Since 1.0.
    Status request_stop(StopOptions options = StopOptions::none) const noexcept {
        return static_cast<Status>(treadle_loop_request_stop(native_, detail::bits(options)));
    }
    /// Ends the current sleep, or the sleep at the end of the current pass (WAKE-1 to WAKE-5).
    /// [any, signal-safe] Errors: the status; it never throws. Since 1.0.
    Status wake() const noexcept { return static_cast<Status>(treadle_loop_wake(native_)); }
    /// Sets a descriptor that interrupts runs with RunOptions::return_on_interrupt when it is readable; -1: none. Treadle neither
    /// reads nor owns it: it must stay open while it is set (ABI-4).
    /// [any] Errors: Error of Status::argument for a descriptor that is not open. Since 1.0.
    void set_interrupt_descriptor(int fd) const { detail::check(treadle_loop_set_interrupt_descriptor(native_, fd)); }
    /// Opens a descriptor by which another loop waits for this one in a mode: readable when a run would have something to do. The
    /// caller closes it; the other loop dispatches by run_for(0) with RunOptions::when_empty (ABI-9).
    /// [owner] Errors: Error of Status::wrong_thread, Status::argument for the common modes, Status::system, Status::no_memory.
    /// Since 1.0.
    [[nodiscard]] int open_pollable(const Mode &mode = {}) const {
        std::int32_t fd = -1;
        detail::check(treadle_loop_open_pollable(native_, mode.c_str(), &fd));
        return fd;
    }
    /// When a dispatch of the mode will have something to do: a past date if something is ready now, the date of the first timer,
    /// or nothing. Valid until the descriptor of open_pollable becomes readable, or this thread changes the loop. Does not
    /// block; calls observers of Activity::prepare first, unless something is ready (ABI-13).
    /// [owner] Errors: Error of Status::wrong_thread, Status::argument for the common modes, Status::closed, Status::system. Since 1.0.
    [[nodiscard]] std::optional<Clock::time_point> prepare(const Mode &mode = {}) const {
        std::int64_t time = 0;
        detail::check(treadle_loop_prepare(native_, mode.c_str(), &time));
        return time == TREADLE_FOREVER ? std::nullopt : std::optional(Clock::time_point(Clock::duration(time)));
    }
    /// Runs this loop for another loop on its thread, without waiting: until there is nothing to do, or the budget of time, or of
    /// callbacks, is used up, which is checked after each callback (ABI-13).
    /// Returns nothing if the budget was used up: the next dispatch of the mode continues after the last callback.
    /// Otherwise RunResult::timed_out if there was nothing more to do, or another result of run().
    /// [owner] Errors: as run(), and Error of Status::argument for the common modes. Since 1.0.
    template <class Rep = std::int64_t, class Period = std::nano>
    std::optional<RunResult> dispatch(const Mode &mode = {}, std::chrono::duration<Rep, Period> budget = forever,
                                      std::size_t callbacks = SIZE_MAX) const {
        const bool knew_end = detail::throws_end();
        const treadle_status status = treadle_loop_dispatch(native_, mode.c_str(), detail::nanoseconds_of(budget), callbacks);
        if (status == TREADLE_E_CLOSED && !knew_end) {
            detail::knows_end = true;
            return RunResult::closed;
        }
        return detail::check(status) == TREADLE_OK ? std::nullopt : std::optional(static_cast<RunResult>(status));
    }

    /// True exactly while the loop's thread blocks, or is about to (WAKE-6).
    /// [any] Errors: none; false if empty or stale. Since 1.0.
    bool is_waiting() const noexcept { return treadle_loop_is_waiting(native_); }
    /// True if this is the calling thread's loop.
    /// [any] Errors: none; false if empty or stale. Since 1.0.
    bool is_current() const noexcept { return treadle_loop_is_current(native_); }
    /// The kernel id of the loop's thread; 0 after the thread has ended.
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    std::int32_t thread_id() const {
        std::int32_t id = 0;
        detail::check(treadle_loop_get_thread_id(native_, &id));
        return id;
    }
    /// A description of the loop, its modes and their items, for debugging: see treadle_describe
    /// (RL-12).
    /// [any] Errors: Error of Status::stale or Status::forked; std::bad_alloc. Since 1.0.
    std::string describe() const {
        return detail::text_from([this](char *buffer, std::size_t capacity, std::size_t *length) {
            return treadle_loop_describe(native_, buffer, capacity, length);
        });
    }

    /// The mode of the innermost run; nothing when the loop is not being run (RL-6).
    /// [any] Errors: Error of Status::stale or Status::forked; std::bad_alloc. Since 1.0.
    std::optional<Mode> current_mode() const {
        bool running = true;
        std::string name = detail::text_from([&](char *buffer, std::size_t capacity, std::size_t *length) {
            const treadle_status status = treadle_loop_get_current_mode(native_, buffer, capacity, length);
            running = status != TREADLE_E_NOT_FOUND;
            return running ? status : TREADLE_OK;
        });
        return running ? std::optional<Mode>(std::move(name)) : std::nullopt;
    }
    /// All modes that exist, each once, in unspecified order (RL-7).
    /// [any] Errors: Error of Status::stale or Status::forked; std::bad_alloc. Since 1.0.
    std::vector<Mode> modes() const {
        std::string names(256, '\0');
        std::size_t length = 0;
        // There may be more modes at the second call.
        while (detail::check(treadle_loop_get_modes(native_, &names[0], names.size(), &length)),
               length > names.size())
            names.resize(length);
        std::vector<Mode> modes;
        for (std::size_t at = 0; at < length; at += modes.back().name().size() + 1) modes.emplace_back(&names[at]);
        return modes;
    }
    /// The loop's counters: see treadle_loop_counters.
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    treadle_loop_counters counters() const {
        auto counters = TREADLE_INIT(treadle_loop_counters);
        detail::check(treadle_loop_get_counters(native_, &counters));
        return counters;
    }
    /// The items of all modes, each once: see treadle_loop_copy_items.
    /// [any] Errors: Error of Status::stale, Status::forked or Status::no_memory; std::bad_alloc. Since 1.0.
    std::vector<AnyItem> items() const { return items_of(nullptr); }
    /// The items of a mode; for the common modes, the items recorded there: see treadle_loop_copy_items.
    /// [any] Errors: as above. Since 1.0.
    std::vector<AnyItem> items(const Mode &mode) const { return items_of(mode.c_str()); }
    /// Adds a mode to the common set (MODE-8). False if it was there already.
    /// [any] Errors: Error of Status::argument for the common modes themselves. Since 1.0.
    bool add_common_mode(const Mode &mode) const {
        return detail::effect(treadle_loop_add_common_mode(native_, mode.c_str()));
    }
    /// True if the mode is in the common set.
    /// [any] Errors: none; false if empty or stale. Since 1.0.
    bool is_common_mode(const Mode &mode) const noexcept { return treadle_loop_is_common_mode(native_, mode.c_str()); }
    /// The date of the mode's next timer; nothing if there is none (TMR-9).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    std::optional<Clock::time_point> next_fire(const Mode &mode = {}) const {
        std::int64_t time = 0;
        detail::check(treadle_loop_get_next_fire(native_, mode.c_str(), &time));
        return time == 0 ? std::nullopt : std::optional(Clock::time_point(Clock::duration(time)));
    }

    /// Adds a source, descriptor, timer or observer to a mode, which keeps a reference, or to all common
    /// modes (MODE-8). False, with no effect, if it is there already or invalid, if the loop's thread has
    /// ended, or if a timer or observer is in another loop (MODE-5, MODE-6, RL-9).
    /// [any] Errors: Error of Status::no_memory; for descriptors also of Status::exists and Status::system.
    /// Since 1.0.
    template <class T> bool add(const T &item, const Mode &mode = {}) const {
        return detail::effect(T::item_api::add(native_, item.native(), mode.c_str()));
    }
    /// Removes an item from a mode, or from the common set and all its modes (MODE-8). False if it was not
    /// there. Its callback does not start in the rest of the current pass either (OBJ-9).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    template <class T> bool remove(const T &item, const Mode &mode = {}) const {
        return detail::effect(T::item_api::remove(native_, item.native(), mode.c_str()));
    }
    /// True if the item is in the mode; for the common modes, if it is recorded there (MODE-8).
    /// [any] Errors: none; false if empty or stale. Since 1.0.
    template <class T> bool contains(const T &item, const Mode &mode = {}) const noexcept {
        return T::item_api::contains(native_, item.native(), mode.c_str());
    }

    /// Queues a call for the common modes and wakes the loop: the fastest way to run code on another
    /// thread's loop. f is called once on the loop's thread, without arguments, or discarded when that
    /// thread ends; then it is destroyed (BLK-2 to BLK-5). False if the loop's thread has ended.
    /// [any] Errors: Error of Status::argument for an empty callback; Status::closed if the entered scope is closed;
    /// Status::no_memory. Since 1.0.
    template <class F> detail::if_callback<F, bool> post(F &&f) const {
        using Call = detail::Callback<std::decay_t<F>>;
        if constexpr (Call::in_pointer) {
            Call call(std::forward<F>(f), "treadle::Loop::post");
            const treadle_status status = treadle_loop_post(native_, &run_post<Call>, call.info());
            if (status != TREADLE_E_CLOSED) return detail::check(status) >= 0;
            // The loop's thread has ended, or the entered scope is closed: the call with a struct tells which.
            auto post = TREADLE_INIT(treadle_post);
            post.fn = &run_post<Call>;
            post.info = call.info();
            return detail::effect(treadle_loop_post_in(native_, &post));
        } else {
            return queue(std::forward<F>(f), nullptr, 0);
        }
    }
    /// Queues a call for some modes and wakes the loop; the common modes are allowed among them, and an empty list
    /// means the common modes (BLK-4). False, with f destroyed, if the loop's thread has ended.
    /// [any] Errors: Error of Status::argument for an empty callback; Status::closed if the entered scope is closed;
    /// Status::no_memory; f is destroyed then. Since 1.0.
    template <class F> detail::if_callback<F, bool> post(F &&f, const std::vector<Mode> &modes) const {
        const detail::ModeList list(modes);
        return queue(std::forward<F>(f), list.names(), list.count());
    }
    /// Queues a routine for some modes, the common modes if the list is empty, and wakes the loop. False if the loop's
    /// thread has ended.
    /// [any] Errors: Error of Status::stale or Status::no_memory. Since 1.0.
    inline bool post(const Routine &routine, const std::vector<Mode> &modes = {}) const;

#ifdef __cpp_impl_coroutine
    /// For coroutines of C++20: `co_await loop.perform(f)` calls f() on the loop's thread, as post() does, and returns its result or
    /// throws its exception. The coroutine continues in a pass of the loop of the thread that awaits, which must run that loop; or
    /// where f was called, if that thread has no loop yet. If the thread of one of the two loops ends before, the coroutine
    /// continues with an Error of Status::closed, and f was not called if it was the first: on its own loop if that one is still
    /// there, otherwise on the thread that ends. A coroutine that waits must not be destroyed. Nothing is called without co_await.
    /// [any] Errors: Error of Status::argument for an empty callback; when it is awaited, Status::closed, Status::stale,
    /// Status::forked or Status::no_memory. Since 1.0.
    template <class F> [[nodiscard]] detail::PerformAwaiter<std::decay_t<F>> perform(F &&f) const;
#endif

  private:
    std::vector<AnyItem> items_of(const char *mode) const {
        std::vector<treadle_object> natives(16);
        std::size_t count = 0;
        while (true) {
            std::vector<AnyItem> items;
            items.reserve(natives.size());
            detail::check(treadle_loop_copy_items(native_, mode, natives.data(), natives.size(), &count));
            for (std::size_t i = 0; i < count && i < natives.size(); i++) items.push_back(AnyItem::adopt(natives[i]));
            if (count <= natives.size()) return items;
            natives.resize(count);
        }
    }
    static Loop known(treadle_loop loop) {
        if (!loop) detail::raise(Error::last());
        return retaining(loop);
    }
    template <class Call> static void run_post(void *info) noexcept {
        detail::guarded([&] { Call::call(info); });
    }
    template <class F> bool queue(F &&f, const char *const *modes, std::size_t mode_count) const {
        using Call = detail::Callback<std::decay_t<F>>;
        Call call(std::forward<F>(f), "treadle::Loop::post");
        auto post = TREADLE_INIT(treadle_post);
        post.modes = modes;
        post.mode_count = mode_count;
        post.fn = &run_post<Call>;
        post.info = call.info();
        post.destroy = Call::release();
        call.taken(); // in every case the library calls destroy
        return detail::effect(treadle_loop_post_in(native_, &post));
    }
};

} // inline namespace
} // namespace treadle

#endif
