// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// closure.hpp: C function pointers, created at run time, with a callable of C++ behind each: for libraries whose
// callbacks have no info parameter.
#ifndef TREADLE_CPP_CLOSURE_HPP
#define TREADLE_CPP_CLOSURE_HPP

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../closure.h"
#include "callback.hpp"
#include "loop.hpp"
#include "object.hpp"
#include "routine.hpp"
#include "time.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// Whether the caller of a closure whose calls are handled on a loop waits. Since 1.0.
enum class Delivery : std::uint32_t {
    async = TREADLE_DELIVERY_ASYNC,    ///< no: it gets the default result at once
    sync = TREADLE_DELIVERY_SYNC,      ///< until the callable has returned
    running = TREADLE_DELIVERY_RUNNING ///< the same, and its own loop runs in TREADLE_CALL_MODE meanwhile
};

/// The effect of a call when as many calls are queued for the loop as may be. Since 1.0.
enum class OnFull : std::uint32_t {
    block = TREADLE_FULL_BLOCK,             ///< the caller waits for room; on the loop's own thread it gets the default result
    fail = TREADLE_FULL_FAIL,               ///< it gets the default result, which is reported once
    drop_newest = TREADLE_FULL_DROP_NEWEST, ///< it gets the default result
    drop_oldest = TREADLE_FULL_DROP_OLDEST, ///< the oldest queued call gets the default result
    coalesce = TREADLE_FULL_COALESCE        ///< with Delivery::async: its arguments replace those of the newest queued call
};

/// Options of a closure. Those from delivery to on_full are for closures with a loop. Since 1.0.
struct ClosureOptions {
    Delivery delivery = Delivery::sync;                     ///< whether a caller waits. Since 1.0.
    std::vector<Mode> modes = {};                           ///< empty: the common modes and TREADLE_CALL_MODE. Since 1.0.
    std::optional<std::chrono::nanoseconds> timeout = {};   ///< limits a caller's wait for room and result. Since 1.0.
    std::uint32_t queue_limit = 0;                          ///< calls that may be queued for the loop; 0: 1,024. Since 1.0.
    OnFull on_full = OnFull::block;                         ///< the effect of one more. Since 1.0.
    bool may_allocate = false; ///< if the pool of function pointers is exhausted, map executable memory. Since 1.0.
    bool keep_code = false;    ///< the function pointer is never reused for another closure. Since 1.0.
};

/// A closure's state and counts. Since 1.0.
struct ClosureInfo {
    bool is_drained;                 ///< It is invalid, no call is in flight, and the callable is destroyed. Since 1.0.
    std::uint32_t waiting;           ///< Calls queued for the loop now. Since 1.0.
    std::uint64_t handled;           ///< Calls whose callable has returned. Since 1.0.
    std::uint64_t failed;            ///< Calls whose callable has thrown. Since 1.0.
    std::uint64_t dropped;           ///< Calls that did not reach it: full, coalesced, no memory, deadlock, the thread ended. Since 1.0.
    std::uint64_t timed_out;         ///< Callers whose wait timed out. Since 1.0.
    std::uint64_t after_invalidated; ///< Calls on the pointer of the invalid closure. Since 1.0.
};

namespace detail {
struct ClosureApi {
    using native_type = treadle_closure;
    static constexpr auto retain = &treadle_closure_retain;
    static constexpr auto release = &treadle_closure_release;
};
} // namespace detail

/// A closure of a function's type: Closure<int(const void *, const void *)>. Since 1.0.
template <class Function> class Closure {
    static_assert(detail::never<Function>, "the type of a function is wanted, as in Closure<int(int, int)>");
};

/// A C function pointer that a callable stands behind. Any thread may call code(), but no signal handler may. An exception that
/// leaves the callable is passed to the last-resort handler, and the caller gets the default result (THR-19). When its last
/// reference is released the closure is invalidated: its pointer returns the default result then, until, much later, a new closure
/// reuses it (with ClosureOptions::keep_code: never). Types: integers, enumerations, bool, float, double and pointers; for others use
/// treadle_closure_create. A default-constructed handle is empty.
///
///     const treadle::Closure<int(const void *, const void *)> compare([&](const void *a, const void *b) { ... });
///     qsort(numbers, count, sizeof *numbers, compare.code());
///
/// Since 1.0.
template <class Result, class... P>
class [[nodiscard]] Closure<Result(P...)> : public Handle<Closure<Result(P...)>, detail::ClosureApi> {
  public:
    using function_type = Result(P...); ///< The function that C calls. Since 1.0.

    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    Closure() noexcept = default;

    /// A closure whose calls are handled at once, by f(arguments...) on the calling thread. f is destroyed once: when the closure is
    /// invalid and no call is in flight.
    /// [any] Errors: f is destroyed then. Error of Status::argument for an empty callback, or options that need a loop;
    /// Status::no_memory, also if the pool of function pointers is exhausted; Status::not_supported if this machine has none.
    /// Since 1.0.
    template <class F, class = std::enable_if_t<std::is_invocable_r_v<Result, std::decay_t<F> &, P...>>>
    [[nodiscard]] explicit Closure(F &&f, const ClosureOptions &options = {}) {
        create(nullptr, std::forward<F>(f), std::nullopt, options);
    }
    /// The same with a default result: callers get it if f has thrown, or after the closure's end. Without one they get zeros.
    /// [any] Errors: as above. Since 1.0.
    template <class F, class Default,
              class = std::enable_if_t<std::is_invocable_r_v<Result, std::decay_t<F> &, P...> && std::is_convertible_v<Default, Result>>>
    [[nodiscard]] Closure(F &&f, Default default_result, const ClosureOptions &options = {}) {
        create(nullptr, std::forward<F>(f), static_cast<Result>(default_result), options);
    }
    /// A closure whose calls are handled on the loop's thread, in a pass, in the queue of its perform requests (PERF-1 to PERF-6); by
    /// default the caller waits. A caller that waits on that thread itself has f called directly (PERF-2). const char * arguments are
    /// copied; other pointers are passed unchanged. errno travels with a call that is waited for (PERF-7). If the loop's thread has
    /// ended, callers get the default result.
    /// [any] Errors: as above; Error of Status::argument if the loop is empty, or OnFull::coalesce with a delivery that waits;
    /// Status::range for a queue_limit above 1,048,576. Since 1.0.
    template <class F, class = std::enable_if_t<std::is_invocable_r_v<Result, std::decay_t<F> &, P...>>>
    [[nodiscard]] Closure(const Loop &loop, F &&f, const ClosureOptions &options = {}) {
        create(&loop, std::forward<F>(f), std::nullopt, options);
    }
    /// The same with a default result, which a caller gets also if it does not wait, or its call is not handled.
    /// [any] Errors: as above. Since 1.0.
    template <class F, class Default,
              class = std::enable_if_t<std::is_invocable_r_v<Result, std::decay_t<F> &, P...> && std::is_convertible_v<Default, Result>>>
    [[nodiscard]] Closure(const Loop &loop, F &&f, Default default_result, const ClosureOptions &options = {}) {
        create(&loop, std::forward<F>(f), static_cast<Result>(default_result), options);
    }

    /// The function pointer. Keep the closure as long as C may call it.
    /// [any] Errors: Error of Status::argument if empty, Status::stale. Since 1.0.
    function_type *code() const {
        void (*pointer)() = nullptr;
        detail::check(treadle_closure_get_code(this->native_, &pointer));
        return reinterpret_cast<function_type *>(pointer);
    }

    /// True until the closure is invalidated. False if empty.
    /// [any] Errors: none. Since 1.0.
    bool is_valid() const noexcept { return this->native_ && treadle_closure_is_valid(this->native_); }
    /// Invalidates it: calls that begin later get the default result. They are counted, and the first is reported to the
    /// last-resort handler. Calls that have begun are handled (OBJ-5).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    void invalidate() const { detail::check(treadle_closure_invalidate(this->native_)); }
    /// Invalidates it, then waits until no call is in flight; from its own callable it does not wait.
    /// [any] Errors: Error of Status::deadlock if a call waits for the calling thread's loop. Since 1.0.
    void close() const { detail::check(treadle_closure_close(this->native_, TREADLE_FOREVER)); }
    /// close() with a timeout; 0 or less does not wait. False if a call was still in flight at its end.
    /// [any] Errors: as close(). Since 1.0.
    template <class Rep, class Period> bool close_for(std::chrono::duration<Rep, Period> timeout) const {
        return detail::in_time(treadle_closure_close(this->native_, detail::nanoseconds_of(timeout)));
    }
    /// close() without exceptions.
    /// [any] Errors: the status. Since 1.0.
    Status close(std::nothrow_t) const noexcept {
        return static_cast<Status>(treadle_closure_close(this->native_, TREADLE_FOREVER));
    }

    /// State and counts.
    /// [any] Errors: Error of Status::argument if empty, Status::stale or Status::forked. Since 1.0.
    ClosureInfo info() const {
        auto info = TREADLE_INIT(treadle_closure_info);
        detail::check(treadle_closure_get_info(this->native_, &info));
        return {info.state == TREADLE_CLOSURE_DRAINED, info.waiting, info.handled, info.failed, info.dropped, info.timed_out,
                info.after_invalidated};
    }

  private:
    using Default = std::optional<std::conditional_t<std::is_void_v<Result>, std::nullptr_t, Result>>;

    /// The function's type, in the notation of treadle_signature_parse. A C string that goes to another thread is copied.
    static std::string encoding(bool is_carried) {
        std::string text = detail::encoding_of<Result>();
        const auto add = [&](const char *type, bool is_text) { text += is_carried && is_text ? "O*" : type; };
        (add(detail::encoding_of<P>(), std::is_same_v<std::remove_cv_t<P>, const char *>), ...);
        static_cast<void>(add); // without arguments
        return text;
    }

    template <class F> void create(const Loop *loop, F &&f, const Default &default_result, const ClosureOptions &options) {
        using Call = detail::Callback<std::decay_t<F>, P...>;
        Call call(std::forward<F>(f), "treadle::Closure");
        if (loop && !*loop) detail::raise(Status::argument, "the loop is empty", "treadle::Closure");
        const std::string signature = encoding(loop != nullptr);
        const detail::ModeList list(options.modes);
        auto config = TREADLE_INIT(treadle_closure_config);
        config.signature = signature.c_str();
        config.handler = &handle<Call>;
        config.info = call.info();
        config.destroy = Call::release();
        if (loop) {
            config.delivery = static_cast<std::uint32_t>(options.delivery);
            config.loop = loop->native();
        }
        if (!options.modes.empty()) {
            config.modes = list.names();
            config.mode_count = list.count();
        }
        if (options.timeout) config.timeout_ns = std::max<std::int64_t>(detail::nanoseconds_of(*options.timeout), 1);
        config.queue_limit = options.queue_limit;
        config.on_full = static_cast<std::uint32_t>(options.on_full);
        if (options.may_allocate) config.flags |= TREADLE_CLOSURE_MAY_ALLOCATE;
        if (options.keep_code) config.flags |= TREADLE_CLOSURE_KEEP_CODE;
        if constexpr (!std::is_void_v<Result>)
            if (default_result) {
                config.default_result = &*default_result;
                config.default_result_size = sizeof(Result);
            }
        call.taken(); // in every case the library destroys it
        detail::check(treadle_closure_create(&config, &this->native_));
    }

    template <class T> static std::decay_t<T> argument(const treadle_call *call, std::size_t index) noexcept {
        std::decay_t<T> value;
        std::memcpy(&value, call->arguments[index], sizeof value);
        return value;
    }
    template <class Call, std::size_t... I>
    static void call_back(treadle_call *call, void *info, std::index_sequence<I...>) {
        if constexpr (std::is_void_v<Result>) {
            Call::call(info, argument<P>(call, I)...);
        } else {
            const Result result = Call::call(info, argument<P>(call, I)...);
            std::memcpy(call->result, &result, sizeof result);
        }
    }
    template <class Call> static treadle_status handle(treadle_call *call, void *info) noexcept {
        treadle_status status = TREADLE_E_CALLBACK;
        detail::guarded([&] {
            call_back<Call>(call, info, std::index_sequence_for<P...>());
            status = TREADLE_OK;
        });
        return status;
    }
};

} // inline namespace
} // namespace treadle

#endif
