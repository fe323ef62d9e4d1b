// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// object.hpp: functions of all handles, and of all items.
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

/// Constructs an empty handle of a type whose default constructor creates an object: treadle::Lock
/// lock(treadle::Empty()). Since 1.0.
struct Empty {};

/// A reference to an object of Treadle: copying adds a reference, the destructor releases it (OBJ-2). Like
/// a std::shared_ptr it may be empty, its copies refer to the same object, and its functions are const,
/// since they change the object and not the handle. Several threads may use different copies at the same
/// time. Functions of an empty handle throw an Error of Status::argument. Since 1.0.
template <class Self, class Api> class Handle {
  public:
    using native_type = typename Api::native_type; ///< The handle of C. Since 1.0.

    /// Another reference to the same object.
    /// [any] Errors: Error of Status::stale, Status::range or Status::forked. Since 1.0.
    Handle(const Handle &other) : native_(other.native_) {
        if (native_) detail::check(Api::retain(native_));
    }
    /// Moves the reference here; the other handle becomes empty.
    /// [any] Errors: none. Since 1.0.
    Handle(Handle &&other) noexcept : native_(std::exchange(other.native_, nullptr)) {}
    /// Refers to the other's object.
    /// [any] Errors: as copying; after an error the handle keeps its object. Since 1.0.
    Handle &operator=(const Handle &other) {
        Handle copy(other);
        std::swap(native_, copy.native_);
        return *this;
    }
    /// Moves the other's reference here.
    /// [any] Errors: none. Since 1.0.
    Handle &operator=(Handle &&other) noexcept {
        Handle taken(std::move(other));
        std::swap(native_, taken.native_);
        return *this;
    }
    /// Releases the reference; the object lives on while other references to it exist (OBJ-3).
    /// [any] Errors: none. Since 1.0.
    ~Handle() { reset(); }

    /// Adopts a reference from a create or copy function of C. The handle is not checked: a bad one fails
    /// when it is used.
    /// [any] Errors: none. Since 1.0.
    [[nodiscard]] static Self adopt(native_type native) noexcept {
        Self self = none();
        self.native_ = native;
        return self;
    }
    /// Adds a reference to an object that the caller borrows.
    /// [any] Errors: Error of Status::stale, Status::kind, Status::range or Status::forked. Since 1.0.
    [[nodiscard]] static Self retaining(native_type native) {
        if (native) detail::check(Api::retain(native));
        return adopt(native);
    }
    /// Transfers the reference to the caller, who releases it; the handle becomes empty.
    /// [any] Errors: none. Since 1.0.
    [[nodiscard]] native_type detach() noexcept { return std::exchange(native_, nullptr); }
    /// Releases the reference; the handle becomes empty.
    /// [any] Errors: none. Since 1.0.
    void reset() noexcept {
        if (native_) Api::release(std::exchange(native_, nullptr));
    }

    /// The handle of C, borrowed; null if empty.
    /// [any] Errors: none. Since 1.0.
    native_type native() const noexcept { return native_; }
    /// Whether the handle is not empty. The object may be invalid.
    /// [any] Errors: none. Since 1.0.
    explicit operator bool() const noexcept { return native_ != nullptr; }
    /// Whether both refer to the same object, or are both empty.
    /// [any] Errors: none. Since 1.0.
    friend bool operator==(const Self &a, const Self &b) noexcept { return a.native() == b.native(); }
    /// Whether they refer to different objects.
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

/// The common base of sources, descriptors, ports, timers and observers. Since 1.0.
template <class Self, class Api> class Item : public Handle<Self, Api> {
  public:
    using item_api = Api; ///< Its functions of C, for Loop::add and similar functions. Since 1.0.

    /// Invalidates the item: it leaves its modes. If this is called on the loop's own thread, no callback
    /// starts after it has returned; from another thread, a callback may still be running or about to
    /// start (OBJ-5, OBJ-9).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    void invalidate() const { detail::check(Api::invalidate(this->native_)); }
    /// invalidate() without exceptions.
    /// [any] Errors: the status. Since 1.0.
    Status invalidate(std::nothrow_t) const noexcept { return static_cast<Status>(Api::invalidate(this->native_)); }

    /// Invalidates, then waits until no callback of the item runs on another thread.
    /// [any] Errors: Error of Status::deadlock from inside a callback of this item, which is invalid then.
    /// Since 1.0.
    void close() const { detail::check(Api::close(this->native_, TREADLE_FOREVER)); }
    /// close() with a timeout; 0 or less does not wait. False if a callback was still running at its end;
    /// the item is invalid in any case.
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

    /// A description of the item, for debugging: see treadle_describe (RL-12).
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

/// An item of any kind, as Loop::items returns it. A default-constructed handle is empty.
/// Since 1.0.
class AnyItem : public Item<AnyItem, detail::AnyItemApi> {
  public:
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    AnyItem() noexcept = default;
    /// The item's kind. For a typed handle, pass native() to Source::retaining, Timer::retaining and
    /// so on.
    /// [any] Errors: Error of Status::argument if empty, Status::stale or Status::forked. Since 1.0.
    ItemKind kind() const {
        std::uint32_t kind = 0;
        detail::check(treadle_get_kind(native_, &kind));
        return static_cast<ItemKind>(kind);
    }
};

/// Owns an item, or another object that can be closed, and closes it at the end of the C++ scope, so that
/// objects that its callback refers to may be destroyed afterwards. Inside its own callback the item is
/// invalidated, without a wait. Since 1.0.
template <class Object> class [[nodiscard]] Scoped : public Object {
  public:
    /// Moves the object here.
    /// [any] Errors: none. Since 1.0.
    explicit Scoped(Object object) noexcept : Object(std::move(object)) {}
    /// Constructs the object from its own arguments.
    /// [any] Errors: those of the object's constructor. Since 1.0.
    template <class... A, class = std::enable_if_t<(sizeof...(A) > 1) && std::is_constructible_v<Object, A...>>>
    explicit Scoped(A &&...arguments) : Object(std::forward<A>(arguments)...) {}
    Scoped(const Scoped &) = delete;
    Scoped &operator=(const Scoped &) = delete;
    /// Closes the object; waits for its callbacks that run on other threads.
    /// [any] Errors: none. Since 1.0.
    ~Scoped() {
        if (*this) this->close(std::nothrow);
    }
};

/// For the standard's unordered containers. Since 1.0.
struct Hash {
    /// The hash of a handle, the same for all handles of one object.
    /// [any] Errors: none. Since 1.0.
    template <class Self, class Api> std::size_t operator()(const Handle<Self, Api> &handle) const noexcept {
        return std::hash<typename Api::native_type>()(handle.native());
    }
};

} // inline namespace
} // namespace treadle

#endif
