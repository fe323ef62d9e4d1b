// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// port_call.hpp: functions that a message port exports, and the values of a call of one: what their C++ types are called
// in a signature.
#ifndef TREADLE_CPP_PORT_CALL_HPP
#define TREADLE_CPP_PORT_CALL_HPP

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../message_port.h"
#include "routine.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

namespace detail {

/// The type encoding of an argument, or a result, that travels to another process.
template <class T> const char *portable_encoding_of() {
    if constexpr (std::is_same_v<T, const char *>) {
        return "O*";
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_void_v<T>) {
        return encoding_of<T>();
    } else {
        static_assert(never<T>, "a compiler cannot find how this type travels: give the encoding yourself");
    }
}

/// A function's type, as both sides of a call state it.
template <class Function> struct PortableFunction {
    static_assert(never<Function>, "the type of a function is wanted, as in call<int(int, int)>");
};
template <class R, class... P> struct PortableFunction<R(P...)> {
    using Result = R;
    static_assert(!std::is_pointer_v<R>, "a pointer means nothing in another process");

    static std::string encoding() {
        std::string text = portable_encoding_of<R>();
        static_cast<void>((text += ... += portable_encoding_of<P>()));
        return text;
    }
    /// Calls body(values, count) with the arguments, each converted to its parameter's type.
    template <class Body, class... A> static void with_values(const Body &body, A &&...arguments) {
        static_assert(sizeof...(A) == sizeof...(P), "the function has another number of arguments");
        std::tuple<P...> kept{static_cast<P>(std::forward<A>(arguments))...};
        auto values = std::apply([](auto &...each) { return std::array<treadle_port_value, sizeof...(P)>{value_of(each)...}; }, kept);
        body(values.data(), values.size());
    }

  private:
    template <class T> static treadle_port_value value_of(T &value) noexcept { return {&value, sizeof value}; }
    static treadle_port_value value_of(const char *&text) noexcept {
        return {const_cast<char *>(text), text ? std::strlen(text) + 1 : 0}; // only read
    }
};
template <class R, class... P> struct PortableFunction<R(P...) noexcept> : PortableFunction<R(P...)> {};

} // namespace detail

/// A C function that the senders to a local port may call by its name: see MessagePort::call. It must not throw. Its
/// arguments come from another process. Since 1.0.
class ExportedFunction {
  public:
    /// A function whose signature the compiler finds: of numbers, enumerations, bool, and const char * for texts.
    /// [any] Errors: std::bad_alloc. Since 1.0.
    template <class Result, class... P>
    ExportedFunction(std::string name, Result (*code)(P...))
        : name_(std::move(name)), encoding_(detail::PortableFunction<Result(P...)>::encoding()),
          code_(reinterpret_cast<void (*)()>(code)) {}
    /// A function with an explicit signature, for structs and for memory that pointers point to: see treadle_port_call.
    /// [any] Errors: std::bad_alloc. Since 1.0.
    ExportedFunction(std::string name, std::string encoding, void (*code)())
        : name_(std::move(name)), encoding_(std::move(encoding)), code_(code) {}

    /// Its name for callers.
    /// [any] Errors: none. Since 1.0.
    const std::string &name() const noexcept { return name_; }
    /// Its signature.
    /// [any] Errors: none. Since 1.0.
    const std::string &encoding() const noexcept { return encoding_; }
    /// The function for C, valid as long as this object. function: whose failure a text with NUL is.
    /// [any] Errors: Error of Status::argument for a name or signature with NUL. Since 1.0.
    treadle_port_function native(const char *function) const {
        return {detail::c_text(name_, function), detail::c_text(encoding_, function), code_};
    }

  private:
    std::string name_, encoding_;
    void (*code_)();
};

namespace detail {
/// The functions for a context, valid as long as the list.
inline std::vector<treadle_port_function> native_functions(const std::vector<ExportedFunction> &functions, const char *function) {
    std::vector<treadle_port_function> list;
    list.reserve(functions.size());
    for (const ExportedFunction &each : functions) list.push_back(each.native(function));
    return list;
}
} // namespace detail

} // inline namespace
} // namespace treadle

#endif
