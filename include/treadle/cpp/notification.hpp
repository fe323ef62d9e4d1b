// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// notification.hpp: notifications of process-wide events.
#ifndef TREADLE_CPP_NOTIFICATION_HPP
#define TREADLE_CPP_NOTIFICATION_HPP

#include <cstdint>
#include <type_traits>
#include <utility>

#include "../notification.h"
#include "callback.hpp"
#include "object.hpp"
#include "port.hpp"
#include "thread.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// A registration for a notification; the destructor removes it. Empty when default-constructed or moved from.
/// Since 1.0.
class [[nodiscard]] Notification {
  public:
    /// No registration.
    /// [any] Errors: none. Since 1.0.
    Notification() noexcept = default;

    /// f() is called when the first thread is about to be started through Treadle: once in a process, on the thread
    /// that starts it (THR-11). f is destroyed when the registration is removed and no call of it runs.
    /// [any] Errors: Error of Status::argument for an empty callback, Status::no_memory; f is destroyed then.
    /// Since 1.0.
    template <class F> [[nodiscard]] static detail::if_callback<F, Notification> will_become_multithreaded(F &&f) {
        using Call = detail::Callback<std::decay_t<F>>;
        return added<Call>(TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED, nullptr, std::forward<F>(f),
                           [](std::uint32_t, void *, void *info) noexcept {
                               detail::guarded([&] { Call::call(info); });
                           });
    }
    /// f(const Thread &), or f(), is called on every thread that ends, before its loop is torn down (THR-14).
    /// [any] Errors: as above. Since 1.0.
    template <class F>
    [[nodiscard]] static detail::if_callback<F, Notification, const Thread &> thread_will_exit(F &&f) {
        return exits(nullptr, std::forward<F>(f));
    }
    /// The same for one thread.
    /// [any] Errors: as above. Since 1.0.
    template <class F>
    [[nodiscard]] static detail::if_callback<F, Notification, const Thread &> thread_will_exit(const Thread &thread,
                                                                                               F &&f) {
        if (!thread) detail::raise(Status::argument, "the thread is empty", "treadle::Notification");
        return exits(thread.native(), std::forward<F>(f));
    }
    /// f(const Port &), or f(), is called when a port has become invalid, on the thread that invalidated it (PORT-2). If the
    /// port's last reference was released, its handle is stale: only compare it.
    /// [any] Errors: as above. Since 1.0.
    template <class F> [[nodiscard]] static detail::if_callback<F, Notification, const Port &> port_invalid(F &&f) {
        return ends(nullptr, std::forward<F>(f));
    }
    /// The same for one port.
    /// [any] Errors: as above. Since 1.0.
    template <class F>
    [[nodiscard]] static detail::if_callback<F, Notification, const Port &> port_invalid(const Port &port, F &&f) {
        if (!port) detail::raise(Status::argument, "the port is empty", "treadle::Notification");
        return ends(port.native(), std::forward<F>(f));
    }

    /// Moves a registration here; the other object becomes empty.
    /// [any] Errors: none. Since 1.0.
    Notification(Notification &&other) noexcept : token_(std::exchange(other.token_, 0)) {}
    /// Removes this registration and moves another here.
    /// [any] Errors: none. Since 1.0.
    Notification &operator=(Notification &&other) noexcept {
        Notification taken(std::move(other));
        std::swap(token_, taken.token_);
        return *this;
    }
    /// Removes the registration: no call of it starts; a call that runs on another thread continues (NOTE-1).
    /// [any] Errors: none. Since 1.0.
    ~Notification() { remove(); }
    /// Removes the registration before the destructor does.
    /// [any] Errors: none. Since 1.0.
    void remove() noexcept {
        if (token_) treadle_notification_remove(std::exchange(token_, 0));
    }
    /// Whether the object is not empty.
    /// [any] Errors: none. Since 1.0.
    explicit operator bool() const noexcept { return token_ != 0; }

  private:
    template <class F> static Notification exits(treadle_thread thread, F &&f) {
        return of<Thread>(TREADLE_NOTIFY_THREAD_WILL_EXIT, thread, std::forward<F>(f));
    }
    template <class F> static Notification ends(treadle_port port, F &&f) {
        return of<Port>(TREADLE_NOTIFY_PORT_INVALID, port, std::forward<F>(f));
    }
    template <class Object, class F> static Notification of(std::uint32_t name, typename Object::native_type object, F &&f) {
        using Call = detail::Callback<std::decay_t<F>, const Object &>;
        return added<Call>(name, object, std::forward<F>(f), [](std::uint32_t, void *ending, void *info) noexcept {
            const detail::Lent<Object> lent(static_cast<typename Object::native_type>(ending));
            detail::guarded([&] { Call::call(info, *lent); });
        });
    }
    template <class Call, class F>
    static Notification added(std::uint32_t name, void *object, F &&f, treadle_notification_fn fn) {
        Call call(std::forward<F>(f), "treadle::Notification");
        auto config = TREADLE_INIT(treadle_notification_config);
        config.name = name;
        config.object = object;
        config.fn = fn;
        config.info = call.info();
        config.destroy = Call::release();
        call.taken(); // in every case the library calls destroy
        Notification notification;
        detail::check(treadle_notification_add(&config, &notification.token_));
        return notification;
    }

    std::uint64_t token_ = 0;
};

} // inline namespace
} // namespace treadle

#endif
