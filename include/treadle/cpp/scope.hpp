// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// scope.hpp: scopes: objects created inside of a scope belong to it, and end with it, even those that
// were forgotten.
#ifndef TREADLE_CPP_SCOPE_HPP
#define TREADLE_CPP_SCOPE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "../plugin.h"
#include "../scope.h"
#include "object.hpp"
#include "status.hpp"
#include "time.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// Kinds of a scope's members; later versions may add more. Since 1.0.
enum class HolderKind : std::uint32_t {
    source = TREADLE_KIND_SOURCE,
    timer = TREADLE_KIND_TIMER,
    observer = TREADLE_KIND_OBSERVER,
    descriptor = TREADLE_KIND_DESCRIPTOR,
    port = TREADLE_KIND_PORT,
    host = TREADLE_KIND_HOST,
    thread = TREADLE_KIND_THREAD,
    invocation = TREADLE_KIND_INVOCATION,
    closure = TREADLE_KIND_CLOSURE,
    routine = TREADLE_KIND_ROUTINE,
    scope = TREADLE_KIND_SCOPE,
    post = TREADLE_HOLDER_POST,
    request = TREADLE_HOLDER_REQUEST,
    notification = TREADLE_HOLDER_NOTIFICATION,
    pooled = TREADLE_HOLDER_POOLED, ///< deferred by Pool::defer and Pool::keep
    plugin = TREADLE_HOLDER_PLUGIN, ///< a plugin that uses this one
    call = TREADLE_HOLDER_CALL,     ///< a thread that creates an object in it, or calls its destroy
    value = TREADLE_HOLDER_VALUE    ///< a value in a thread's dictionary
};

/// A member of a scope that keeps it from being closed (SCOPE-3). Since 1.0.
struct ScopeHolder {
    HolderKind kind;               ///< Its kind. Since 1.0.
    std::int32_t thread_id;        ///< The kernel id of the thread inside of it; 0 if none, or unknown. Since 1.0.
    treadle_object object;         ///< Borrowed; null for holders without a handle. Since 1.0.
    std::chrono::nanoseconds held; ///< The time since the closing began; 0 before. Since 1.0.
    std::string label;             ///< Its label, at most 63 bytes of it; empty if it has none. Since 1.0.
    std::string thread_name;       ///< The name of that thread, at most 31 bytes of it. Since 1.0.
    std::string callback;          ///< The label of the item whose callback that thread runs just now, at most 63 bytes of it. Since 1.0.
};

/// Results of closing a scope. Since 1.0.
enum class Closing {
    closed,   ///< all members have ended
    deferred, ///< from inside of one of its own callbacks: it is closed when the thread's callbacks return (SCOPE-4)
    timed_out ///< a member still runs: close it again (SCOPE-3)
};

namespace detail {
struct ScopeApi {
    using native_type = treadle_scope;
    static constexpr auto retain = &treadle_scope_retain;
    static constexpr auto release = &treadle_scope_release;
};
} // namespace detail

/// A scope, which the destructor closes. Objects that a thread creates while it has entered the scope belong to it: items,
/// threads, routines, scopes; posts and performed calls, notifications, values in thread dictionaries, deferred releases
/// (SCOPE-1). Objects that callbacks create later do not, unless the callback enters the scope. A routine of a closed scope calls
/// nothing. Loops, locks, conditions, signatures and messages belong to no scope.
///
///     treadle::Scope scope("a request");
///     const treadle::Scope::Entry inside(scope);
///
/// Handles of members of a closed scope are stale: their functions throw an Error of Status::stale, those that do not throw have
/// no effect, and destructors do not report it. A callable is destroyed once, at the latest when the scope is closed; a waiter
/// for a call that was not performed gets an Error of Status::closed. Movable, not copyable. Since 1.0.
class [[nodiscard]] Scope : public Handle<Scope, detail::ScopeApi> {
  public:
    /// A new scope, not entered yet. It belongs to the scope that the calling thread has entered. label: for reports, at
    /// most 255 bytes; copied.
    /// [any] Errors: Error of Status::range for a longer label, Status::argument for one that is not UTF-8, Status::closed if the
    /// scope that it would belong to is closed, Status::no_memory. Since 1.0.
    [[nodiscard]] explicit Scope(const char *label = nullptr) {
        auto config = TREADLE_INIT(treadle_scope_config);
        config.label = label;
        detail::check(treadle_scope_create(&config, &native_));
    }
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    explicit Scope(Empty) noexcept {}
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
    /// Takes the scope over; the other one is empty then.
    /// [any] Errors: none. Since 1.0.
    Scope(Scope &&other) noexcept = default;
    /// Closes this scope as the destructor does, and takes the other one over.
    /// [any] Errors: none. Since 1.0.
    Scope &operator=(Scope &&other) noexcept {
        Scope taken(std::move(other));
        std::swap(native_, taken.native_);
        return *this;
    }
    /// Closes the scope, even if there are references to it, and waits without a limit until all members have ended; from
    /// inside of one of its own callbacks it does not wait (SCOPE-4). No effect if it is empty.
    /// [any] Errors: none. Since 1.0.
    ~Scope() { reset(); }
    /// Closes the scope like the destructor; the handle becomes empty.
    /// [any] Errors: none. Since 1.0.
    void reset() noexcept {
        if (native_) treadle_scope_close(native_, TREADLE_FOREVER);
        Handle::reset();
    }

    /// Enters the scope: objects that the calling thread creates belong to it, until the thread leaves it. Scopes nest:
    /// the last entered scope counts (SCOPE-5). An Entry enters and leaves.
    /// [any] Errors: Error of Status::argument if it is empty; Status::closed if it is closed, or is being closed;
    /// Status::no_memory. Since 1.0.
    void enter() const {
        if (!native_) detail::raise(Status::argument, "the scope is empty", "treadle::Scope::enter");
        detail::check(treadle_scope_enter(native_));
    }
    /// Ends the last enter() of the calling thread, also of a scope that was closed since.
    /// [any] Errors: Error of Status::argument if it is empty; Status::state if it is not the one that the thread has entered
    /// last. Since 1.0.
    void leave() const {
        if (!native_) detail::raise(Status::argument, "the scope is empty", "treadle::Scope::leave");
        detail::check(treadle_scope_leave(native_));
    }

    /// Enters a scope in its constructor, and leaves it in its destructor: on the same thread, the latest first. The scope
    /// may be closed, and the Scope object destroyed, before. Since 1.0.
    class [[nodiscard]] Entry {
      public:
        /// Enters the scope.
        /// [any] Errors: as Scope::enter. Since 1.0.
        [[nodiscard]] explicit Entry(const Scope &scope) : native_(scope.native_) { scope.enter(); }
        Entry(const Entry &) = delete;
        Entry &operator=(const Entry &) = delete;
        /// Leaves the scope.
        /// [any] Errors: none. Since 1.0.
        ~Entry() { treadle_scope_leave(native_); }

      private:
        treadle_scope native_;
    };

    /// Closes the scope and ends all its members: items are invalidated, threads stopped and joined, queued calls dropped,
    /// deferred releases called here (SCOPE-2). Waits until no member runs, up to the timeout: 0 or less does not wait. May be
    /// called again, and by several threads.
    /// [any] Errors: Error of Status::stale if it was closed together with the one that it belongs to, Status::argument for a
    /// timeout that is not a number. Since 1.0.
    template <class Rep = std::int64_t, class Period = std::nano>
    Closing close(std::chrono::duration<Rep, Period> timeout = forever) const {
        const treadle_status status = treadle_scope_close(native_, detail::nanoseconds_of(timeout));
        if (!detail::in_time(status)) return Closing::timed_out;
        return status == TREADLE_DEFERRED ? Closing::deferred : Closing::closed;
    }
    /// close() without a timeout and without exceptions.
    /// [any] Errors: the status; Status::deferred is not an error. Since 1.0.
    Status close(std::nothrow_t) const noexcept {
        return static_cast<Status>(treadle_scope_close(native_, TREADLE_FOREVER));
    }

    /// True until its closing begins; never true again. False if empty.
    /// [any] Errors: none. Since 1.0.
    bool is_valid() const noexcept { return native_ && treadle_scope_is_valid(native_); }

    /// The scope's holders; if it could not be closed in time, these hold up the closing (SCOPE-3).
    /// [any] Errors: Error of Status::stale or Status::forked; std::bad_alloc. Since 1.0.
    std::vector<ScopeHolder> holders() const {
        std::vector<treadle_scope_holder> room(16);
        std::size_t count = 0;
        // More may come between two calls.
        while (true) {
            detail::check(treadle_scope_copy_holders(native_, room.data(), sizeof room[0], room.size(), &count));
            const bool whole = count <= room.size();
            room.resize(count);
            if (whole) break;
        }
        std::vector<ScopeHolder> found;
        found.reserve(count);
        for (const treadle_scope_holder &one : room)
            found.push_back({static_cast<HolderKind>(one.kind), one.thread_id, one.object,
                             std::chrono::nanoseconds(one.held_ns), one.label, one.thread_name, one.callback});
        return found;
    }
};

} // inline namespace
} // namespace treadle

#endif
