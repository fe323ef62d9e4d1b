// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// object.hpp: what all handles have in common, and what all items of a loop have.
#ifndef TREADLE_CPP_OBJECT_HPP
#define TREADLE_CPP_OBJECT_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "../object.h"
#include "callback.hpp"
#include "status.hpp"
#include "time.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// Asks for an empty handle where a default-made one is a new object: treadle::Lock lock(treadle::Empty()). Since 1.0.
struct Empty {};

/// A reference to an object of Treadle: copying it adds a reference, its end returns one (OBJ-2). Like a
/// std::shared_ptr it may be empty, its copies refer to the same object, and its functions are const, since
/// they change the object and not the handle. Different copies may be used by different threads at a time.
/// Functions of an empty handle throw an Error of Status::argument. Since 1.0.
template <class Self, class Api> class Handle {
  public:
    using native_type = typename Api::native_type; ///< The handle of C. Since 1.0.

    /// Another reference to the same object.
    /// [any] Errors: Error of Status::stale, Status::range or Status::forked. Since 1.0.
    Handle(const Handle &other) : native_(other.native_) {
        if (native_) detail::check(Api::retain(native_));
    }
    /// Takes the reference over; the other handle is empty then.
    /// [any] Errors: none. Since 1.0.
    Handle(Handle &&other) noexcept : native_(std::exchange(other.native_, nullptr)) {}
    /// Refers to the other's object from now on.
    /// [any] Errors: as copying; the handle keeps its object then. Since 1.0.
    Handle &operator=(const Handle &other) {
        Handle copy(other);
        std::swap(native_, copy.native_);
        return *this;
    }
    /// Takes the other's reference over.
    /// [any] Errors: none. Since 1.0.
    Handle &operator=(Handle &&other) noexcept {
        Handle taken(std::move(other));
        std::swap(native_, taken.native_);
        return *this;
    }
    /// Returns the reference; the object lives on while others have one (OBJ-3).
    /// [any] Errors: none. Since 1.0.
    ~Handle() { reset(); }

    /// Takes over a reference that the caller has got from a create or copy function of C. The handle is not
    /// looked at: a bad one fails when it is used.
    /// [any] Errors: none. Since 1.0.
    static Self adopt(native_type native) noexcept {
        Self self = none();
        self.native_ = native;
        return self;
    }
    /// Adds a reference to an object that the caller has borrowed.
    /// [any] Errors: Error of Status::stale, Status::kind, Status::range or Status::forked. Since 1.0.
    static Self retaining(native_type native) {
        if (native) detail::check(Api::retain(native));
        return adopt(native);
    }
    /// Gives the reference to the caller, who releases it; the handle is empty then.
    /// [any] Errors: none. Since 1.0.
    [[nodiscard]] native_type detach() noexcept { return std::exchange(native_, nullptr); }
    /// Returns the reference; the handle is empty then.
    /// [any] Errors: none. Since 1.0.
    void reset() noexcept {
        if (native_) Api::release(std::exchange(native_, nullptr));
    }

    /// The handle of C, borrowed; null if empty.
    /// [any] Errors: none. Since 1.0.
    native_type native() const noexcept { return native_; }
    /// Whether it refers to anything. Says nothing about the object's validity.
    /// [any] Errors: none. Since 1.0.
    explicit operator bool() const noexcept { return native_ != nullptr; }
    /// Whether both refer to the same object, or to none.
    /// [any] Errors: none. Since 1.0.
    friend bool operator==(const Self &a, const Self &b) noexcept { return a.native() == b.native(); }
    /// Whether they refer to two objects.
    /// [any] Errors: none. Since 1.0.
    friend bool operator!=(const Self &a, const Self &b) noexcept { return a.native() != b.native(); }

  protected:
    Handle() noexcept = default;

    static Self none() noexcept {
        if constexpr (std::is_constructible_v<Self, Empty>)
            return Self(Empty());
        else
            return Self();
    }

    native_type native_ = nullptr;
};

namespace detail {

/// A handle that a callback borrows: no reference is counted, unless the callback copies it.
template <class Self> class Lent {
  public:
    explicit Lent(typename Self::native_type native) noexcept : self_(Self::adopt(native)) {}
    Lent(const Lent &) = delete;
    Lent &operator=(const Lent &) = delete;
    ~Lent() { (void)self_.detach(); }
    const Self &operator*() const noexcept { return self_; }

  private:
    Self self_;
};

} // namespace detail

/// What sources, descriptors, ports, timers and observers have in common. Since 1.0.
template <class Self, class Api> class Item : public Handle<Self, Api> {
  public:
    using item_api = Api; ///< Its functions of C, for Loop::add and its like. Since 1.0.

    /// Ends the item: it becomes invalid and leaves its modes. On the loop's own thread no callback starts
    /// any more once this returned; on another one may run still, or be about to (OBJ-5, OBJ-9).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    void invalidate() const { detail::check(Api::invalidate(this->native_)); }
    /// The same without exceptions.
    /// [any] Errors: the status. Since 1.0.
    Status invalidate(std::nothrow_t) const noexcept { return static_cast<Status>(Api::invalidate(this->native_)); }

    /// Invalidates, then waits until no callback of the item runs on another thread.
    /// [any] Errors: Error of Status::deadlock from inside a callback of this item, which is invalid then.
    /// Since 1.0.
    void close() const { detail::check(Api::close(this->native_, TREADLE_FOREVER)); }
    /// The same, but waits no longer than the timeout; 0 or less only looks. False if a callback still ran
    /// then; the item is invalid in any case.
    /// [any] Errors: as close(). Since 1.0.
    template <class Rep, class Period> bool close_for(std::chrono::duration<Rep, Period> timeout) const {
        return detail::in_time(Api::close(this->native_, detail::nanoseconds_of(timeout)));
    }
    /// close() without exceptions.
    /// [any] Errors: the status. Since 1.0.
    Status close(std::nothrow_t) const noexcept {
        return static_cast<Status>(Api::close(this->native_, TREADLE_FOREVER));
    }

    /// True until the item is invalidated; never true again (OBJ-5). False if empty.
    /// [any] Errors: none. Since 1.0.
    bool is_valid() const noexcept { return this->native_ && Api::is_valid(this->native_); }

    /// What there is to say about the item, for people who debug: see treadle_describe (RL-12).
    /// [any] Errors: Error of Status::stale or Status::forked; std::bad_alloc. Since 1.0.
    std::string describe() const {
        return detail::text_from([this](char *buffer, std::size_t capacity, std::size_t *length) {
            return Api::describe(this->native_, buffer, capacity, length);
        });
    }

  protected:
    Item() noexcept = default;
};

/// Kinds of items. Since 1.0.
enum class ItemKind : std::uint32_t {
    source = TREADLE_KIND_SOURCE,
    descriptor = TREADLE_KIND_DESCRIPTOR,
    timer = TREADLE_KIND_TIMER,
    observer = TREADLE_KIND_OBSERVER,
    port = TREADLE_KIND_PORT
};

namespace detail {
struct AnyItemApi {
    using native_type = treadle_object;
    static constexpr auto retain = &treadle_retain;
    static constexpr auto release = &treadle_release;
    static constexpr auto invalidate = &treadle_invalidate;
    static constexpr auto close = &treadle_close;
    static constexpr auto is_valid = &treadle_is_valid;
    static constexpr auto describe = &treadle_describe;
    static constexpr auto add = &treadle_loop_add;
    static constexpr auto remove = &treadle_loop_remove;
    static constexpr auto contains = &treadle_loop_contains;
};
} // namespace detail

/// An item of any kind, as Loop::items gives it. A default-made handle is empty. Since 1.0.
class AnyItem : public Item<AnyItem, detail::AnyItemApi> {
  public:
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    AnyItem() noexcept = default;
    /// Of which kind it is. With that, Source::retaining and its like make the handle of one kind.
    /// [any] Errors: Error of Status::argument if empty, Status::stale or Status::forked. Since 1.0.
    ItemKind kind() const {
        std::uint32_t kind = 0;
        detail::check(treadle_get_kind(native_, &kind));
        return static_cast<ItemKind>(kind);
    }
};

/// An item, or another object that can be closed, whose end is that of a scope: then it is closed, so that
/// what its callback refers to may end after it. Inside its own callback it is only invalidated. Since 1.0.
template <class Object> class Scoped : public Object {
  public:
    /// Takes the object over.
    /// [any] Errors: none. Since 1.0.
    explicit Scoped(Object object) noexcept : Object(std::move(object)) {}
    /// Makes the object from its own arguments.
    /// [any] Errors: those of the object's constructor. Since 1.0.
    template <class... A, class = std::enable_if_t<(sizeof...(A) > 1) && std::is_constructible_v<Object, A...>>>
    explicit Scoped(A &&...arguments) : Object(std::forward<A>(arguments)...) {}
    Scoped(const Scoped &) = delete;
    Scoped &operator=(const Scoped &) = delete;
    /// Closes the object; waits for callbacks of it that run on other threads.
    /// [any] Errors: none. Since 1.0.
    ~Scoped() {
        if (*this) this->close(std::nothrow);
    }
};

/// Works together with the standard's unordered containers. Since 1.0.
struct Hash {
    /// The same for all handles of one object.
    /// [any] Errors: none. Since 1.0.
    template <class Self, class Api> std::size_t operator()(const Handle<Self, Api> &handle) const noexcept {
        return std::hash<typename Api::native_type>()(handle.native());
    }
};

} // inline namespace
} // namespace treadle

#endif
