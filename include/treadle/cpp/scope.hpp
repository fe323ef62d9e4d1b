// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// scope.hpp: scopes: what is made inside of one belongs to it, and ends with it, whatever was forgotten.
#ifndef TREADLE_CPP_SCOPE_HPP
#define TREADLE_CPP_SCOPE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "../scope.h"
#include "object.hpp"
#include "status.hpp"
#include "time.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// What can be in a scope; later versions may have more. Since 1.0.
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
    scope = TREADLE_KIND_SCOPE,
    post = TREADLE_HOLDER_POST,
    request = TREADLE_HOLDER_REQUEST,
    notification = TREADLE_HOLDER_NOTIFICATION,
    pooled = TREADLE_HOLDER_POOLED, ///< what Pool::defer and Pool::keep have put off
    call = TREADLE_HOLDER_CALL,     ///< a thread that makes something in it, or calls its end
    value = TREADLE_HOLDER_VALUE    ///< a value in a thread's dictionary
};

/// Something that is in a scope, and keeps it from being closed while it goes on (SCOPE-3). Since 1.0.
struct ScopeHolder {
    HolderKind kind;               ///< What it is. Since 1.0.
    std::int32_t thread_id;        ///< The kernel's id of the thread that is inside of it; 0 if none is, or that is not known. Since 1.0.
    treadle_object object;         ///< Borrowed; null for what has no handle. Since 1.0.
    std::chrono::nanoseconds held; ///< For how long, since the closing began; 0 before. Since 1.0.
    std::string label;             ///< Its label, at most 63 bytes of it; empty if it has none. Since 1.0.
};

/// What a try to close a scope came to. Since 1.0.
enum class Closing {
    closed,   ///< all has ended
    deferred, ///< from inside of one of its own callbacks: it is closed when those return that the thread is in (SCOPE-4)
    timed_out ///< something goes on, though it was told to end: close it again (SCOPE-3)
};

namespace detail {
struct ScopeApi {
    using native_type = treadle_scope;
    static constexpr auto retain = &treadle_scope_retain;
    static constexpr auto release = &treadle_scope_release;
};
} // namespace detail

/// A scope, which is closed at the end of this object. To it belongs what a thread makes while it has entered it: items,
/// threads, scopes; posts and calls that are performed, notifications, what a pool was given (SCOPE-1). Not what callbacks make
/// later, unless they enter it themselves. Loops, locks, conditions and routines belong to nobody.
///
///     treadle::Scope scope("a request");
///     const treadle::Scope::Entry inside(scope);
///
/// Handles of what a closed scope has ended are stale: their functions throw an Error of Status::stale, those that do not throw
/// have no effect, and destructors are quiet. A callable is destroyed once, at the latest when the scope is closed; who waits for
/// a call that was not performed gets an Error of Status::closed. Can be moved, and not copied. Since 1.0.
class Scope : public Handle<Scope, detail::ScopeApi> {
  public:
    /// A new scope, which nobody has entered. It belongs to the one that the calling thread has entered. label: for reports, at
    /// most 255 bytes; copied.
    /// [any] Errors: Error of Status::range for a longer label, Status::argument for one that is not UTF-8, Status::closed if the
    /// scope is closed that it would belong to, Status::no_memory. Since 1.0.
    explicit Scope(const char *label = nullptr) {
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
    /// Closes the scope, whoever has references to it, and waits for ever until all of it has ended: but not from inside of one
    /// of its own callbacks, which ends first (SCOPE-4). Nothing if it is empty; one that was closed needs no wait.
    /// [any] Errors: none. Since 1.0.
    ~Scope() { reset(); }
    /// The same before; the handle is empty then.
    /// [any] Errors: none. Since 1.0.
    void reset() noexcept {
        if (native_) treadle_scope_close(native_, TREADLE_FOREVER);
        Handle::reset();
    }

    /// From now on, what the calling thread makes belongs to the scope, until it leaves it. Scopes nest: the one that was
    /// entered last counts (SCOPE-5). An Entry does both.
    /// [any] Errors: Error of Status::argument if it is empty; Status::closed if it is closed, or is being closed;
    /// Status::no_memory. Since 1.0.
    void enter() const {
        if (!native_) throw Error(Status::argument, "the scope is empty", "treadle::Scope::enter");
        detail::check(treadle_scope_enter(native_));
    }
    /// Ends the last enter() of the calling thread, also of a scope that was closed since.
    /// [any] Errors: Error of Status::argument if it is empty; Status::state if it is not the one that the thread has entered
    /// last. Since 1.0.
    void leave() const {
        if (!native_) throw Error(Status::argument, "the scope is empty", "treadle::Scope::leave");
        detail::check(treadle_scope_leave(native_));
    }

    /// Enters a scope, and leaves it at its own end: on the same thread, the latest first. The scope may be closed, and its
    /// object be gone, before. Since 1.0.
    class Entry {
      public:
        /// Enters the scope.
        /// [any] Errors: as Scope::enter. Since 1.0.
        explicit Entry(const Scope &scope) : native_(scope.native_) { scope.enter(); }
        Entry(const Entry &) = delete;
        Entry &operator=(const Entry &) = delete;
        /// Leaves the scope.
        /// [any] Errors: none. Since 1.0.
        ~Entry() { treadle_scope_leave(native_); }

      private:
        treadle_scope native_;
    };

    /// Ends the scope and all that belongs to it: items are invalidated, threads stopped and joined, what is queued is dropped,
    /// what was put off is called here (SCOPE-2). Waits until none of it runs, for no longer than the timeout: 0 or less only
    /// looks. May be called again, and by several threads.
    /// [any] Errors: Error of Status::stale if it was closed together with the one that it belongs to, Status::argument for a
    /// timeout that is not a number. Since 1.0.
    template <class Rep = std::int64_t, class Period = std::nano>
    Closing close(std::chrono::duration<Rep, Period> timeout = forever) const {
        const treadle_status status = treadle_scope_close(native_, detail::nanoseconds_of(timeout));
        if (!detail::in_time(status)) return Closing::timed_out;
        return status == TREADLE_DEFERRED ? Closing::deferred : Closing::closed;
    }
    /// The same without a timeout and without exceptions.
    /// [any] Errors: the status; Status::deferred is none. Since 1.0.
    Status close(std::nothrow_t) const noexcept {
        return static_cast<Status>(treadle_scope_close(native_, TREADLE_FOREVER));
    }

    /// True until its closing begins; never true again. False if empty.
    /// [any] Errors: none. Since 1.0.
    bool is_valid() const noexcept { return native_ && treadle_scope_is_valid(native_); }

    /// What is in the scope now: of one that could not be closed in time, what still goes on (SCOPE-3).
    /// [any] Errors: Error of Status::stale or Status::forked; std::bad_alloc. Since 1.0.
    std::vector<ScopeHolder> holders() const {
        std::vector<treadle_scope_holder> room(16);
        std::size_t count = 0;
        // More may come between two calls.
        while (true) {
            detail::check(treadle_scope_copy_holders(native_, room.data(), room.size(), &count));
            const bool whole = count <= room.size();
            room.resize(count);
            if (whole) break;
        }
        std::vector<ScopeHolder> found;
        found.reserve(count);
        for (const treadle_scope_holder &one : room)
            found.push_back({static_cast<HolderKind>(one.kind), one.thread_id, one.object,
                             std::chrono::nanoseconds(one.held_ns), one.label});
        return found;
    }
};

} // inline namespace
} // namespace treadle

#endif
