// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// message_port.hpp: message ports: messages and their replies, under a name, between threads and processes of one user.
#ifndef TREADLE_CPP_MESSAGE_PORT_HPP
#define TREADLE_CPP_MESSAGE_PORT_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../message_port.h"
#include "callback.hpp"
#include "mode.hpp"
#include "object.hpp"
#include "port_call.hpp"
#include "status.hpp"
#include "time.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

namespace detail {
struct MessagePortApi {
    using native_type = treadle_message_port;
    static constexpr auto retain = &treadle_message_port_retain;
    static constexpr auto release = &treadle_message_port_release;
    static constexpr auto invalidate = &treadle_message_port_invalidate;
    static constexpr auto close = &treadle_message_port_close;
    static constexpr auto is_valid = &treadle_message_port_is_valid;
    static constexpr auto describe = &treadle_message_port_describe;
    static constexpr auto add = &treadle_loop_add_message_port;
    static constexpr auto remove = &treadle_loop_remove_message_port;
    static constexpr auto contains = &treadle_loop_contains_message_port;
};
} // namespace detail

class MessagePort;

/// Options of a message port. Since 1.0.
struct MessagePortOptions {
    /// Called once when the port has become invalid. Empty: no function is called (MSG-7).
    /// [callback] on the thread that made it so or found out. Errors: none. Since 1.0.
    std::function<void(const MessagePort &)> invalidated = {};
    /// Of a local port: other users who may send to it; at most 1,024 (MSG-9). Since 1.0.
    std::vector<std::uint32_t> users = {};
    /// Of a remote port: the user whose name is meant; nothing: the process's own. Since 1.0.
    std::optional<std::uint32_t> owner = {};
    /// Its label in reports; copied. Null: its name. Since 1.0.
    const char *label = nullptr;
    /// Of a local port: functions that senders may call; at most 1,024 (MSG-11). Since 1.0.
    std::vector<ExportedFunction> functions = {};
};

/// A message that has come in. A callback gets it as a reference that is valid until it returns, as the message's bytes
/// are. Since 1.0.
class IncomingMessage {
  public:
    /// Made for the callbacks of a port, from C's message.
    /// [any] Errors: none. Since 1.0.
    explicit IncomingMessage(const treadle_message_port_message &native) noexcept : native_(native) {}
    IncomingMessage(const IncomingMessage &) = delete;
    IncomingMessage &operator=(const IncomingMessage &) = delete;

    /// The number that the sender gave.
    /// [callback] Errors: none. Since 1.0.
    std::int32_t id() const noexcept { return native_.id; }
    /// Its bytes.
    /// [callback] Errors: none. Since 1.0.
    std::string_view bytes() const noexcept { return {static_cast<const char *>(native_.data), native_.size}; }
    /// Whether the sender waits for a reply.
    /// [callback] Errors: none. Since 1.0.
    bool wants_reply() const noexcept { return native_.flags & TREADLE_MESSAGE_PORT_WANTS_REPLY; }
    /// The kernel's id of the process that made the remote port.
    /// [callback] Errors: none. Since 1.0.
    std::int32_t sender_process() const noexcept { return native_.sender_process; }
    /// The user of that process, as the kernel says (MSG-9).
    /// [callback] Errors: none. Since 1.0.
    std::uint32_t sender_user() const noexcept { return native_.sender_user; }

    /// Replies, once; the bytes are copied. A sender who waits gets an empty reply when the callback returns without. False if
    /// the sender wants no reply, or has gone (MSG-5).
    /// [callback] Errors: Error of Status::state if it has its reply; Status::range for too many bytes; Status::no_memory,
    /// Status::system. Since 1.0.
    bool reply(std::string_view bytes) const {
        return detail::effect(treadle_message_port_reply(native_.call, bytes.data(), bytes.size()));
    }

  private:
    const treadle_message_port_message &native_;
};

/// A message port: it serves a name, or sends to one. A callback that holds its own port keeps it alive for ever: let it use the
/// argument that it is given. Loop::items tells it as a descriptor. A default-made handle is empty. Since 1.0.
class [[nodiscard]] MessagePort : public Item<MessagePort, detail::MessagePortApi> {
  public:
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    MessagePort() noexcept = default;

    /// A port that serves a name; every process of the user finds it by that. Its messages are received, one in a pass, by
    /// f(const MessagePort &, const IncomingMessage &), f(const IncomingMessage &) or f(), on the thread of a loop that it was
    /// added to (MSG-1, MSG-4, MSG-5). name: UTF-8; std::nullopt: none yet, see set_name(). f and the options' callback are
    /// destroyed when the port is freed.
    /// [any] Errors: f is destroyed then. Error of Status::exists if the name is served already, by this process or another;
    /// Status::argument for an empty name or callback, or one that is not UTF-8, or an owner; Status::range for too many users
    /// or functions, or too long a label; Status::signature for a function that cannot be called in another process;
    /// Status::system, Status::no_memory; std::bad_alloc. Since 1.0.
    template <class F, class = detail::if_callback<F, void, const MessagePort &, const IncomingMessage &>>
    static MessagePort local(const std::optional<std::string> &name, F &&f, const MessagePortOptions &options = {}) {
        constexpr const char *function = "treadle::MessagePort::local";
        using Bodies = LocalBody<std::decay_t<F>>;
        if constexpr (detail::may_be_null<std::decay_t<F>>::value)
            if (f == nullptr) detail::raise(Status::argument, "the callback is empty", function);
        const auto functions = detail::native_functions(options.functions, function);
        auto body = std::make_unique<Bodies>(Bodies{{options.invalidated}, std::forward<F>(f)});
        auto context = context_of(options, body->invalidated, functions);
        context.info = body.get();
        context.release = [](void *info) { delete static_cast<Bodies *>(info); };
        context.receive = &receive_callable<Bodies>;
        MessagePort port;
        const char *text = name ? detail::c_text(*name, function) : nullptr;
        if (!detail::effect(treadle_message_port_create_local(text, &context, &port.native_)))
            detail::raise(Status::exists, "the name is served by another port of this process", function);
        (void)body.release();
        return port;
    }

    /// A port that sends to a name, connected to its server. In a loop it finds out by itself that the other side has
    /// gone. A port of the same name that this process has is returned again (MSG-3).
    /// [any] Errors: Error of Status::not_found if the name has no server, or one of another user; Status::exists if this
    /// process has the port already, and there is a callback for its end, for which there is no room then; Status::argument for
    /// a name as above, or users; Status::range for too long a label; Status::not_supported for an owner that cannot be
    /// distinguished from users that the process's user namespace does not map; Status::system, Status::no_memory; std::bad_alloc.
    /// Since 1.0.
    static MessagePort remote(const std::string &name, const MessagePortOptions &options = {}) {
        constexpr const char *function = "treadle::MessagePort::remote";
        const auto functions = detail::native_functions(options.functions, function);
        auto body = options.invalidated ? std::make_unique<Body>(Body{options.invalidated}) : nullptr;
        auto context = context_of(options, options.invalidated, functions);
        context.info = body.get();
        if (body) context.release = [](void *info) { delete static_cast<Body *>(info); };
        MessagePort port;
        const char *text = detail::c_text(name, function);
        const bool made = detail::effect(treadle_message_port_create_remote(text, &context, &port.native_));
        if (!made && body)
            detail::raise(Status::exists, "this process is connected to the name already, and its end is told to others", function);
        (void)body.release();
        return port;
    }

    /// True if it sends to a name.
    /// [any] Errors: none; false if empty or stale. Since 1.0.
    bool is_remote() const noexcept { return treadle_message_port_is_remote(native_); }
    /// Its name; empty for none.
    /// [any] Errors: Error of Status::argument if empty; Status::stale or Status::forked. Since 1.0.
    std::string name() const {
        return detail::text_from([this](char *buffer, std::size_t capacity, std::size_t *length) {
            return treadle_message_port_get_name(native_, buffer, capacity, length);
        });
    }
    /// Gives a local port another name, or its first one. It stays in its loops; remote ports by the old name become invalid.
    /// False if it has the name already (MSG-2).
    /// [any] Errors: the port is as it was then. Error of Status::exists if the name is taken; Status::state for a remote or
    /// invalid port; Status::argument for a name as above; Status::system, Status::no_memory. Since 1.0.
    bool set_name(const std::string &name) const {
        const char *text = detail::c_text(name, "treadle::MessagePort::set_name");
        return detail::effect(treadle_message_port_set_name(native_, text));
    }

    /// Looks whether the port can be used now; of a remote one, whether the other side is still there, without waiting for a
    /// loop to find out. It becomes invalid here if not (MSG-7).
    /// [any] Errors: Error of Status::argument if empty; Status::stale or Status::forked. Since 1.0.
    bool check() const {
        const treadle_status status = treadle_message_port_check(native_);
        return status != TREADLE_E_STATE && detail::check(status) >= 0;
    }
    /// Receives no messages until resume(); the port stays in its modes.
    /// [any] Errors: Error of Status::state if invalid; Status::argument if empty; Status::stale, Status::system. Since 1.0.
    void pause() const { set_events(0); }
    /// Receives messages again.
    /// [any] Errors: as pause(). Since 1.0.
    void resume() const { set_events(TREADLE_READABLE); }

    /// Sends a message that wants no reply; it is over when the other side's queue has it. If that has no room, this waits for
    /// some, and runs no loop meanwhile (MSG-6).
    /// [any] Errors: nothing is sent then. Error of Status::closed if the other side has gone by now; Status::state for a local
    /// or invalid port; Status::range for too many bytes; Status::stale, Status::forked, Status::system, Status::no_memory.
    /// Since 1.0.
    void send(std::int32_t id, std::string_view bytes) const { detail::check(send(id, bytes, TREADLE_FOREVER)); }
    /// The same, but waits no longer than the timeout; 0 or less only tries. False if there was no room in time.
    /// [any] Errors: as above. Since 1.0.
    template <class Rep, class Period>
    [[nodiscard]] bool send_for(std::chrono::duration<Rep, Period> timeout, std::int32_t id, std::string_view bytes) const {
        return detail::in_time(send(id, bytes, detail::nanoseconds_of(timeout)));
    }

    /// Sends a message and returns its reply, for which the calling thread's loop is run in the mode: what else is in it is served
    /// meanwhile. A port that this very loop serves replies only if it is in the mode (MSG-6).
    /// [any] Errors: Error of Status::closed if the other side has gone, or has ended its thread in place of an answer;
    /// Status::callback if a host's callback did not complete meanwhile; Status::argument for the common modes; those of send();
    /// std::bad_alloc. Since 1.0.
    std::string request(std::int32_t id, std::string_view bytes, const Mode &mode = Mode::replies()) const {
        return request(id, bytes, mode, TREADLE_FOREVER);
    }
    /// The same with a limit for the wait for room, and for that for the reply; 0 or less only looks. A reply that comes later is
    /// dropped.
    /// [any] Errors: as above, and Error of Status::timeout without room in time, with nothing sent; Status::no_reply without a
    /// reply in time (MSG-8). Since 1.0.
    template <class Rep, class Period>
    std::string request_for(std::chrono::duration<Rep, Period> timeout, std::int32_t id, std::string_view bytes,
                            const Mode &mode = Mode::replies()) const {
        return request(id, bytes, mode, detail::nanoseconds_of(timeout));
    }

    /// Calls a function that the other side has exported by name, and returns its result: call<int(int, int)>("add", mode, 1, 2).
    /// The arguments are converted to the types of Function, which must be the exporter's: numbers, enumerations, bool, and
    /// const char * for texts, which may be null. Waits as request() does, without a limit (MSG-11).
    /// [any] Errors: the function is not called then. Error of Status::not_found for a name that is not exported;
    /// Status::signature for another type than the exporter's; Status::argument for a name with NUL; Status::range for a name of 0
    /// or more than 255 bytes. The others of request(); Status::closed also if the function has ended its thread. Since 1.0.
    template <class Function, class... A>
    typename detail::PortableFunction<Function>::Result call(const std::string &name, const Mode &mode, A &&...arguments) const {
        return call_within<Function>(TREADLE_FOREVER, name, mode, std::forward<A>(arguments)...);
    }
    /// The same with a limit for the wait for room, and for that for the result; 0 or less only looks. After the timeout the
    /// function may have been called all the same, or still be running.
    /// [any] Errors: as above, and Error of Status::timeout without room in time, with nothing sent; Status::no_reply without a
    /// result in time. Since 1.0.
    template <class Function, class Rep, class Period, class... A>
    typename detail::PortableFunction<Function>::Result call_for(std::chrono::duration<Rep, Period> timeout, const std::string &name,
                                                                 const Mode &mode, A &&...arguments) const {
        return call_within<Function>(detail::nanoseconds_of(timeout), name, mode, std::forward<A>(arguments)...);
    }
    /// The same for a signature that the compiler cannot find: values as in treadle_port_call, which is where structs and the memory
    /// behind pointers travel. result: of result_size bytes, or null. Both are written only if this returns. timeout: nothing: none.
    /// [any] Errors: as above; Status::range for a size that is not the type's; Status::argument for a text without its NUL.
    /// Since 1.0.
    void call_encoded(const std::string &name, const std::string &encoding, const std::vector<treadle_port_value> &values,
                      void *result, std::size_t result_size, const Mode &mode,
                      std::optional<std::chrono::nanoseconds> timeout = std::nullopt) const {
        const std::int64_t limit = timeout ? detail::nanoseconds_of(*timeout) : TREADLE_FOREVER;
        call_native(name, encoding, values.data(), values.size(), result, result_size, limit, mode);
    }

  private:
    struct Body {
        std::function<void(const MessagePort &)> invalidated;
    };
    template <class F> struct LocalBody : Body {
        F receive;
    };
    /// The reply, on the stack of the waiting thread.
    struct Reply {
        std::string bytes;
        std::exception_ptr failure;
    };

    static treadle_message_port_context context_of(const MessagePortOptions &options,
                                                   const std::function<void(const MessagePort &)> &invalidated,
                                                   const std::vector<treadle_port_function> &functions) noexcept {
        auto context = TREADLE_INIT(treadle_message_port_context);
        if (invalidated) context.invalidated = &ended;
        context.users = options.users.empty() ? nullptr : options.users.data();
        context.user_count = options.users.size();
        context.owner = options.owner.value_or(0);
        context.has_owner = options.owner.has_value();
        context.label = options.label;
        context.functions = functions.empty() ? nullptr : functions.data();
        context.function_count = functions.size();
        return context;
    }
    static void ended(treadle_message_port port, void *info) noexcept {
        detail::guarded([&] { static_cast<Body *>(info)->invalidated(*detail::Lent<MessagePort>(port)); });
    }
    template <class Bodies>
    static void receive_callable(treadle_message_port port, const treadle_message_port_message *message,
                                 void *info) noexcept {
        detail::guarded([&] {
            const IncomingMessage incoming(*message);
            detail::call_with(static_cast<Bodies *>(info)->receive, *detail::Lent<MessagePort>(port), incoming);
        });
    }
    void set_events(std::uint32_t events) const {
        detail::check(treadle_descriptor_set_events(reinterpret_cast<treadle_descriptor>(native_), events));
    }
    treadle_status send(std::int32_t id, std::string_view bytes, std::int64_t timeout) const noexcept {
        return treadle_message_port_send(native_, id, bytes.data(), bytes.size(), timeout);
    }
    std::string request(std::int32_t id, std::string_view bytes, const Mode &mode, std::int64_t timeout) const {
        Reply reply;
        detail::check(treadle_message_port_request(native_, id, bytes.data(), bytes.size(), timeout, timeout, mode.c_str(),
                                                   &replied, &reply));
        if (reply.failure) std::rethrow_exception(reply.failure);
        return std::move(reply.bytes);
    }
    template <class Function, class... A>
    typename detail::PortableFunction<Function>::Result call_within(std::int64_t timeout, const std::string &name, const Mode &mode,
                                                                    A &&...arguments) const {
        using Called = detail::PortableFunction<Function>;
        using Result = typename Called::Result;
        const auto perform = [&](void *result, std::size_t size) {
            Called::with_values(
                [&](const treadle_port_value *values, std::size_t count) {
                    call_native(name, Called::encoding(), values, count, result, size, timeout, mode);
                },
                std::forward<A>(arguments)...);
        };
        if constexpr (std::is_void_v<Result>) {
            perform(nullptr, 0);
        } else {
            Result result{};
            perform(&result, sizeof result);
            return result;
        }
    }
    void call_native(const std::string &name, const std::string &encoding, const treadle_port_value *values, std::size_t count,
                     void *result, std::size_t size, std::int64_t timeout, const Mode &mode) const {
        constexpr const char *function = "treadle::MessagePort::call";
        detail::check(treadle_port_call(native_, detail::c_text(name, function), detail::c_text(encoding, function), values, count,
                                        result, size, timeout, mode.c_str()));
    }
    static void replied(const void *data, std::size_t size, void *info) noexcept {
        Reply &reply = *static_cast<Reply *>(info);
        detail::keeping(reply.failure, [&] { reply.bytes.assign(static_cast<const char *>(data), size); }); // no memory
    }
};

} // inline namespace
} // namespace treadle

#endif
