// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// callback.hpp: passes C++ callables through the C interface, and keeps exceptions out of it. Internal:
// not for programs.
#ifndef TREADLE_CPP_CALLBACK_HPP
#define TREADLE_CPP_CALLBACK_HPP

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "../process.h"
#include "status.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {
namespace detail {

#ifdef __cpp_exceptions
/// "type: text" of an exception; the type's own name if it cannot be read.
inline std::string description_of(const std::type_info *type, const char *text) {
    std::string description = "of unknown type";
    if (type) {
        int status = 0;
        const std::unique_ptr<char, void (*)(void *)> name(
            abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), std::free);
        description = name ? name.get() : type->name();
    }
    if (text) description.append(": ").append(text);
    return description;
}

/// Reports the exception that left a callback to the last-resort handler; if that returns false, ends the
/// program, as C++ demands (THR-19). Call it in a catch clause.
[[gnu::cold, gnu::noinline]] inline void escaped() noexcept {
    const std::type_info *type = abi::__cxa_current_exception_type();
    treadle_status status = TREADLE_IGNORED;
    try {
        throw;
    } catch (const std::exception &exception) {
        status = treadle_report_error("C++ exception", description_of(type, exception.what()).c_str());
    } catch (...) {
        status = treadle_report_error("C++ exception", description_of(type, nullptr).c_str());
    }
    if (status != TREADLE_OK) std::terminate();
}
#endif

/// Calls the C++ part of a C callback; no exception leaves it (THR-19).
template <class Body> void guarded(Body &&body) noexcept {
#ifdef __cpp_exceptions
    try {
        body();
    } catch (...) { escaped(); }
#else
    body();
#endif
}

/// Whether F accepts all the arguments, or the last n of them, or none.
template <class F, class... A> struct takes : std::is_invocable<F> {};
template <class F, class A, class... Rest>
struct takes<F, A, Rest...> : std::disjunction<std::is_invocable<F, A, Rest...>, takes<F, Rest...>> {};

template <class F, class Result, class... A>
using if_callback = std::enable_if_t<takes<std::decay_t<F> &, A...>::value, Result>;

/// Calls f with as many of the last arguments as it accepts.
template <class F> decltype(auto) call_with(F &f) { return std::invoke(f); }
template <class F, class A, class... Rest> decltype(auto) call_with(F &f, A &&first, Rest &&...rest) {
    if constexpr (std::is_invocable_v<F &, A, Rest...>)
        return std::invoke(f, std::forward<A>(first), std::forward<Rest>(rest)...);
    else
        return call_with(f, std::forward<Rest>(rest)...);
}

template <class F, class = void> struct may_be_null : std::false_type {};
template <class F>
struct may_be_null<F, std::void_t<decltype(std::declval<const F &>() == nullptr)>>
    : std::bool_constant<!std::is_empty_v<F>> {};

/// A callable in an info pointer. The library calls `release` on it once.
///
/// Functions, and lambdas that capture nothing or one pointer or reference, are stored in the pointer
/// itself: no memory, no release. This requires that a copy of the callable cannot differ from it later: it
/// is called as const, and is not a named class, which could have mutable members (lambdas can neither be
/// assigned nor default-constructed). All other callables are stored on the heap.
template <class F, class... A> class Callback {
    static_assert(std::is_same_v<F, std::decay_t<F>>);

  public:
    static constexpr bool in_pointer =
        sizeof(F) <= sizeof(void *) && alignof(F) <= alignof(void *) && std::is_trivially_copyable_v<F> &&
        std::is_trivially_destructible_v<F> && takes<const F &, A...>::value &&
        (std::is_empty_v<F> || std::is_pointer_v<F> ||
         (!std::is_copy_assignable_v<F> && !std::is_default_constructible_v<F>));

    template <class G> explicit Callback(G &&callable, const char *function) {
        if constexpr (in_pointer) {
            const F copy(std::forward<G>(callable));
            refuse_empty(copy, function);
            std::memcpy(&info_, &copy, sizeof copy);
        } else {
            auto box = std::make_unique<F>(std::forward<G>(callable));
            refuse_empty(*box, function);
            info_ = box.release();
        }
    }
    Callback(const Callback &) = delete;
    Callback &operator=(const Callback &) = delete;
    ~Callback() {
        if constexpr (!in_pointer)
            if (info_) drop(info_);
    }

    void *info() const noexcept { return info_; }
    /// The library owns it now.
    void taken() noexcept {
        if constexpr (!in_pointer) info_ = nullptr;
    }

    /// The function that destroys the callable; null if it needs none.
    static constexpr treadle_release_fn release() noexcept { return in_pointer ? nullptr : &drop; }

    /// Calls it with as many of the last arguments as it accepts.
    static decltype(auto) call(void *info, A... arguments) {
        if constexpr (in_pointer) {
            alignas(void *) unsigned char bytes[sizeof info];
            std::memcpy(bytes, &info, sizeof info);
            return call_with(*std::launder(reinterpret_cast<const F *>(bytes)), std::forward<A>(arguments)...);
        } else {
            return call_with(*static_cast<F *>(info), std::forward<A>(arguments)...);
        }
    }

  private:
    static void refuse_empty(const F &callable, const char *function) {
        if constexpr (may_be_null<F>::value)
            if (callable == nullptr) detail::raise(Status::argument, "the callback is empty", function);
        (void)callable, (void)function;
    }
    static void drop(void *info) noexcept { delete static_cast<F *>(info); }

    void *info_ = nullptr;
};

/// A text of unknown length that a function of C writes: call(buffer, capacity, &length).
template <class Call> std::string text_from(Call &&call) {
    std::string text(120, '\0');
    std::size_t length = 0;
    // The text may grow between two calls.
    while (true) {
        check(call(&text[0], text.size() + 1, &length));
        const bool whole = length <= text.size();
        text.resize(length);
        if (whole) return text;
    }
}

/// Writes a text for a function of C, cut to fit.
inline void write_text(const std::string &text, char *buffer, std::size_t capacity) noexcept {
    if (!buffer || capacity == 0) return;
    const std::size_t length = text.size() < capacity ? text.size() : capacity - 1;
    std::memcpy(buffer, text.data(), length);
    buffer[length] = '\0';
}

/// A text for a function of C, which must not contain NUL.
inline const char *c_text(const std::string &text, const char *function) {
    if (text.find('\0') != text.npos) detail::raise(Status::argument, "the text contains NUL", function);
    return text.c_str();
}

} // namespace detail
} // inline namespace
} // namespace treadle

#endif
