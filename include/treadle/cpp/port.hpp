// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// port.hpp: ports in a process: messages from any thread, which a loop receives one by one.
#ifndef TREADLE_CPP_PORT_HPP
#define TREADLE_CPP_PORT_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../port.h"
#include "callback.hpp"
#include "object.hpp"
#include "routine.hpp"
#include "status.hpp"
#include "time.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// Kinds of a message's components; later versions may add more. Since 1.0.
enum class ComponentKind : std::uint32_t {
    bytes = TREADLE_COMPONENT_BYTES,
    port = TREADLE_COMPONENT_PORT,
    descriptor = TREADLE_COMPONENT_DESCRIPTOR
};

namespace detail {
struct PortApi {
    using native_type = treadle_port;
    static constexpr auto retain = &treadle_port_retain;
    static constexpr auto release = &treadle_port_release;
    static constexpr auto invalidate = &treadle_port_invalidate;
    static constexpr auto close = &treadle_port_close;
    static constexpr auto is_valid = &treadle_port_is_valid;
    static constexpr auto describe = &treadle_port_describe;
    static constexpr auto add = &treadle_loop_add_port;
    static constexpr auto remove = &treadle_loop_remove_port;
    static constexpr auto contains = &treadle_loop_contains_port;
};
struct MessageApi {
    using native_type = treadle_message;
    static constexpr auto retain = &treadle_message_retain;
    static constexpr auto release = &treadle_message_release;
};
} // namespace detail

class Message;
class Port;

/// A component of a message to be sent. It refers to the sender's data, which the sending call copies, retains
/// or duplicates (MPORT-2). Since 1.0.
class Component {
  public:
    /// Bytes: everything that converts to a std::string_view.
    /// [any] Errors: none. Since 1.0.
    template <class Text, class = std::enable_if_t<std::is_convertible_v<const Text &, std::string_view>>>
    Component(const Text &text) noexcept(std::is_nothrow_constructible_v<std::string_view, const Text &>)
        : Component(std::string_view(text).data(), std::string_view(text).size()) {}
    /// Bytes of any object or array.
    /// [any] Errors: none. Since 1.0.
    Component(const void *bytes, std::size_t length) noexcept {
        native_.kind = TREADLE_COMPONENT_BYTES;
        native_.bytes = bytes;
        native_.length = length;
    }
    /// A port, of which the message keeps a reference.
    /// [any] Errors: none. Since 1.0.
    template <class One, class = std::enable_if_t<std::is_same_v<One, Port>>, class = void>
    Component(const One &port) noexcept : Component(nullptr, 0) {
        native_.kind = TREADLE_COMPONENT_PORT;
        native_.port = port.native();
    }
    /// A descriptor, of which the message gets a copy.
    /// [any] Errors: none. Since 1.0.
    static Component descriptor(int fd) noexcept {
        Component component(nullptr, 0);
        component.native_.kind = TREADLE_COMPONENT_DESCRIPTOR;
        component.native_.descriptor = fd;
        return component;
    }

  private:
    treadle_component native_{0, -1, nullptr, 0, nullptr};
};
static_assert(std::is_standard_layout_v<Component> && sizeof(Component) == sizeof(treadle_component),
              "an array of components is one of C's");

/// A port: any thread sends to it, and the loops that contain it receive (PORT-4). The object itself is the
/// address. A callback must not hold its own port, which would keep it alive for ever: use the callback's
/// argument. A default-made handle is empty. Since 1.0.
class [[nodiscard]] Port : public Item<Port, detail::PortApi> {
  public:
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    Port() noexcept = default;

    /// A port whose messages are received by f(const Port &, const Message &), f(const Message &) or f(): one in a
    /// pass, on the loop's thread (PORT-6). The message lives until f returns; a copy of the handle keeps it longer.
    /// f is destroyed when the port is freed. capacity: of the queue, in messages, at most 16,777,215; 0: 1,024 (MPORT-1).
    /// label: its name in reports; copied.
    /// [any] Errors: Error of Status::argument for an empty callback, Status::range for a larger capacity,
    /// Status::no_memory; f is destroyed then. Since 1.0.
    template <class F, class = detail::if_callback<F, void, const Port &, const Message &>>
    [[nodiscard]] explicit Port(F &&f, std::uint32_t capacity = 0, const char *label = nullptr) {
        using Call = detail::Callback<std::decay_t<F>, const Port &, const Message &>;
        Call call(std::forward<F>(f), "treadle::Port");
        auto context = TREADLE_INIT(treadle_port_context);
        context.info = call.info();
        context.release = Call::release();
        context.receive = &receive_callable<Call>;
        context.capacity = capacity;
        context.label = label;
        detail::check(treadle_port_create(&context, &native_));
        call.taken();
    }
    /// A port whose messages are received by a routine, to which it keeps a reference.
    /// [any] Errors: as above, and Error of Status::stale. Since 1.0.
    [[nodiscard]] explicit Port(const Routine &receive, std::uint32_t capacity = 0, const char *label = nullptr) {
        auto context = TREADLE_INIT(treadle_port_context);
        context.receive_routine = detail::need(receive, "treadle::Port");
        context.capacity = capacity;
        context.label = label;
        detail::check(treadle_port_create(&context, &native_));
    }

    /// Sends a message with an id, components and an optional reply port. All of it is copied before this returns; if the
    /// port's queue is full, this waits for room (MPORT-2).
    /// [any] Errors: nothing is sent then. Error of Status::deadlock if only the calling thread could make room, itself or
    /// through threads that wait for it; Status::closed for a port that is invalid, or becomes so; Status::argument for
    /// an invalid component, such as a descriptor that is not open; Status::range for more than 65,535 components;
    /// Status::stale, Status::forked, Status::system, Status::no_memory; std::bad_alloc. Since 1.0.
    void send(std::uint32_t id, const std::vector<Component> &components, const Port &reply = Port()) const {
        detail::check(send(id, components, reply, TREADLE_FOREVER));
    }
    /// send() with a timeout; 0 or less does not wait. False if there was no room in time.
    /// [any] Errors: as send(). Since 1.0.
    template <class Rep, class Period>
    [[nodiscard]] bool send_for(std::chrono::duration<Rep, Period> timeout, std::uint32_t id, const std::vector<Component> &components,
                  const Port &reply = Port()) const {
        return detail::in_time(send(id, components, reply, detail::nanoseconds_of(timeout)));
    }
    /// send() of one component of bytes, or, without bytes, of no component: the fastest way.
    /// [any] Errors: as send(). Since 1.0.
    void send_bytes(std::uint32_t id, std::string_view bytes) const {
        detail::check(treadle_port_send_bytes(native_, id, bytes.data(), bytes.size(), TREADLE_FOREVER));
    }
    /// The same, but waits no longer than the timeout; 0 or less only tries. False if there was no room in time.
    /// [any] Errors: as send(). Since 1.0.
    template <class Rep, class Period>
    [[nodiscard]] bool send_bytes_for(std::chrono::duration<Rep, Period> timeout, std::uint32_t id, std::string_view bytes) const {
        return detail::in_time(
            treadle_port_send_bytes(native_, id, bytes.data(), bytes.size(), detail::nanoseconds_of(timeout)));
    }

    /// The number of queued messages (MPORT-1).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    std::size_t count() const { return counts().first; }
    /// The queue's capacity, in messages (MPORT-1).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    std::size_t capacity() const { return counts().second; }

  private:
    std::pair<std::size_t, std::size_t> counts() const {
        std::pair<std::size_t, std::size_t> counts;
        detail::check(treadle_port_get_count(native_, &counts.first, &counts.second));
        return counts;
    }
    treadle_status send(std::uint32_t id, const std::vector<Component> &components, const Port &reply,
                        std::int64_t timeout) const noexcept {
        auto content = TREADLE_INIT(treadle_message_content);
        content.id = id;
        content.components = reinterpret_cast<const treadle_component *>(components.data());
        content.component_count = components.size();
        content.reply_port = reply.native();
        return treadle_port_send(native_, &content, timeout);
    }
    template <class Call, class Received = Message>
    static void receive_callable(treadle_port port, treadle_message message, void *info) noexcept {
        detail::guarded([&] { Call::call(info, *detail::Lent<Port>(port), *detail::Lent<Received>(message)); });
    }
};

/// A component of a message that was received. Since 1.0.
struct ReceivedComponent {
    ComponentKind kind;     ///< Its kind. Since 1.0.
    std::string_view bytes; ///< Aligned to 16; valid as long as the message. Since 1.0.
    Port port;              ///< Empty for another kind. Since 1.0.
    int descriptor;         ///< Owned by the message until it is taken; -1 for another kind. Since 1.0.
};

/// A message that a port has received. A callback gets it as a reference that lives until it returns; a copy keeps it
/// longer. A default-made handle is empty. Since 1.0.
class Message : public Handle<Message, detail::MessageApi> {
  public:
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    Message() noexcept = default;

    /// The id that the sender set (MPORT-3).
    /// [any] Errors: Error of Status::argument if empty; Status::stale or Status::forked. Since 1.0.
    std::uint32_t id() const { return info().id; }
    /// The bytes of its first component, if that has any; they stay as long as the message.
    /// [any] Errors: as id(). Since 1.0.
    std::string_view bytes() const {
        const treadle_message_info all = info();
        return {static_cast<const char *>(all.bytes), all.length};
    }
    /// The port that it arrived on (MPORT-3).
    /// [any] Errors: as id(); Error of Status::stale also if that port no longer exists. Since 1.0.
    Port port() const { return Port::retaining(info().port); }
    /// The reply port (MPORT-3), or an empty handle.
    /// [any] Errors: as id(). Since 1.0.
    Port reply_port() const { return Port::retaining(info().reply_port); }

    /// The number of its components.
    /// [any] Errors: as id(). Since 1.0.
    std::size_t size() const { return info().component_count; }
    /// A component, by its index.
    /// [any] Errors: as id(), and Error of Status::range for an index that no component has. Since 1.0.
    ReceivedComponent component(std::size_t index) const {
        treadle_component component{0, -1, nullptr, 0, nullptr};
        detail::check(treadle_message_get_component(native_, index, &component));
        return {static_cast<ComponentKind>(component.kind), {static_cast<const char *>(component.bytes), component.length},
                Port::retaining(component.port), component.descriptor};
    }
    /// Takes a descriptor out: the caller owns and closes it. A descriptor that is not taken is closed when the message is
    /// freed.
    /// [any] Errors: as component(), and Error of Status::not_found for one that is no descriptor, or was taken. Since 1.0.
    [[nodiscard]] int take_descriptor(std::size_t index) const {
        std::int32_t descriptor = -1;
        detail::check(treadle_message_take_descriptor(native_, index, &descriptor));
        return descriptor;
    }

  private:
    treadle_message_info info() const {
        auto info = TREADLE_INIT(treadle_message_info);
        detail::check(treadle_message_get_info(native_, &info));
        return info;
    }
};

} // inline namespace
} // namespace treadle

#endif
