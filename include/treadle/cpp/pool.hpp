// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// pool.hpp: pools: deferred calls and destructions, done at the end of a pass, a thread or a C++
// scope.
#ifndef TREADLE_CPP_POOL_HPP
#define TREADLE_CPP_POOL_HPP

#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "../pool.h"
#include "callback.hpp"
#include "status.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// A pool of the calling thread; the destructor closes it, on the thread that opened it. A run loop opens one
/// around every pass; a thread that Treadle started has one around its function (POOL-2 to POOL-4). Since 1.0.
class [[nodiscard]] Pool {
  public:
    /// Opens a pool.
    /// [any] Errors: Error of Status::no_memory or Status::forked. Since 1.0.
    [[nodiscard]] Pool() { detail::check(treadle_pool_push(&token_)); }
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;
    /// Closes the pool, and those that were opened since and are still open; the latest addition is called first
    /// (POOL-2).
    /// [any] Errors: none. Since 1.0.
    ~Pool() { treadle_pool_pop(token_); }

    /// Calls f() when the calling thread's innermost pool is closed; without a pool, when the thread ends, after its
    /// will-exit notification (POOL-2). An exception that leaves f is passed to the last-resort handler.
    /// [any] Errors: Error of Status::argument for an empty callback, Status::no_memory; f is destroyed then, and not
    /// called. Since 1.0.
    template <class F> static detail::if_callback<F, void> defer(F &&f) {
        using Call = detail::Callback<std::decay_t<F>>;
        Call call(std::forward<F>(f), "treadle::Pool::defer");
        detail::check(treadle_pool_add(call.info(), [](void *info) noexcept {
            detail::guarded([&] { Call::call(info); });
            if constexpr (!Call::in_pointer) Call::release()(info);
        }));
        call.taken();
    }
    /// Stores a value until the calling thread's innermost pool is closed, and returns a reference that is
    /// valid until then.
    /// [any] Errors: Error of Status::no_memory; the value is destroyed then. Since 1.0.
    template <class T> static std::decay_t<T> &keep(T &&value) {
        using Value = std::decay_t<T>;
        auto kept = std::make_unique<Value>(std::forward<T>(value));
        detail::check(treadle_pool_add(kept.get(), [](void *object) noexcept { delete static_cast<Value *>(object); }));
        return *kept.release();
    }

  private:
    std::uint64_t token_ = 0;
};

} // inline namespace
} // namespace treadle

#endif
