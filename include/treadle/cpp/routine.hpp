// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// routine.hpp: signatures and routines: C functions of any signature as callbacks. The signature is
// deduced from the function's type.
#ifndef TREADLE_CPP_ROUTINE_HPP
#define TREADLE_CPP_ROUTINE_HPP

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../routine.h"
#include "callback.hpp"
#include "loop.hpp"
#include "object.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// Arguments of a routine that the event supplies; if a routine is called without an event they are 0.
/// Since 1.0.
enum class From : std::uint32_t {
    loop = TREADLE_ARGUMENT_LOOP,             ///< the event's loop: a treadle_loop or another pointer
    mode = TREADLE_ARGUMENT_MODE,             ///< the event's mode: a const char *
    subject = TREADLE_ARGUMENT_SUBJECT,       ///< the source, timer, observer, descriptor source or target: a pointer
    value = TREADLE_ARGUMENT_VALUE,           ///< the activity or the readiness: an integer of 32 bits or more
    descriptor = TREADLE_ARGUMENT_DESCRIPTOR, ///< the watched number: an integer of 32 bits or more
    late = TREADLE_ARGUMENT_LATE,             ///< how late the timer is: an integer of 64 bits
    event = TREADLE_ARGUMENT_EVENT,           ///< the event itself: a const treadle_event *
    argument = TREADLE_ARGUMENT_ARGUMENT      ///< a perform request's argument: a pointer
};

namespace detail {

template <class T> inline constexpr bool never = false;

/// The type encoding of a function's arguments and result (see treadle_signature_parse).
template <class T> const char *encoding_of() {
    using Plain = std::remove_cv_t<T>;
    if constexpr (std::is_void_v<Plain>) {
        return "v";
    } else if constexpr (std::is_same_v<Plain, bool>) {
        return "B";
    } else if constexpr (std::is_enum_v<Plain>) {
        return encoding_of<std::underlying_type_t<Plain>>();
    } else if constexpr (std::is_integral_v<Plain> && sizeof(Plain) <= 8) {
        constexpr const char *of_size[2][4] = {{"C", "S", "I", "Q"}, {"c", "s", "i", "q"}};
        constexpr int size = sizeof(Plain) == 1 ? 0 : sizeof(Plain) == 2 ? 1 : sizeof(Plain) == 4 ? 2 : 3;
        return of_size[std::is_signed_v<Plain>][size];
    } else if constexpr (std::is_same_v<Plain, float>) {
        return "f";
    } else if constexpr (std::is_same_v<Plain, double>) {
        return "d";
    } else if constexpr (std::is_pointer_v<Plain>) {
        using Target = std::remove_pointer_t<Plain>;
        if constexpr (std::is_function_v<Target>)
            return "^?";
        else if constexpr (std::is_same_v<std::remove_const_t<Target>, char>)
            return std::is_const_v<Target> ? "r*" : "*";
        else
            return "^v";
    } else {
        static_assert(never<T>, "this type has no encoding that a compiler can find: use Routine::encoded");
    }
}

struct RoutineApi {
    using native_type = treadle_routine;
    static constexpr auto retain = &treadle_routine_retain;
    static constexpr auto release = &treadle_routine_release;
};

} // namespace detail

/// A function signature, parsed once and never freed (see treadle_signature_parse for the notation). Since 1.0.
class Signature {
  public:
    /// The size and alignment of a type. Since 1.0.
    struct Layout {
        std::size_t size;      ///< in bytes; 0 for void. Since 1.0.
        std::size_t alignment; ///< in bytes; 1 for void. Since 1.0.
    };

    /// Parses a type encoding, such as "i^vq" for int32_t f(void *, int64_t).
    /// [any] Errors: Error of Status::signature, which names position and reason; Status::argument for a text
    /// with NUL; Status::no_memory. Since 1.0.
    explicit Signature(const std::string &encoding) {
        detail::check(treadle_signature_parse(detail::c_text(encoding, "treadle::Signature"), &native_));
    }

    /// The number of arguments of a function of this signature.
    /// [any] Errors: Error of Status::forked. Since 1.0.
    std::size_t argument_count() const {
        std::size_t count = 0;
        detail::check(treadle_signature_get_argument_count(native_, &count));
        return count;
    }
    /// The layout of an argument, counted from 0, or with -1 of the result.
    /// [any] Errors: Error of Status::range for an index that does not exist. Since 1.0.
    Layout layout(int index) const {
        Layout layout = {0, 1};
        detail::check(treadle_signature_get_layout(native_, index, &layout.size, &layout.alignment));
        return layout;
    }
    /// The signature as a C prototype, for messages.
    /// [any] Errors: Error of Status::forked; std::bad_alloc. Since 1.0.
    std::string describe() const {
        return detail::text_from([this](char *buffer, std::size_t capacity, std::size_t *length) {
            return treadle_signature_describe(native_, buffer, capacity, length);
        });
    }
    /// The handle of C, valid for ever.
    /// [any] Errors: none. Since 1.0.
    treadle_signature native() const noexcept { return native_; }

  private:
    treadle_signature native_ = nullptr;
};

/// A C function of any signature with its arguments, callable by a loop. It must not throw. A default-made
/// handle is empty. Since 1.0.
class [[nodiscard]] Routine : public Handle<Routine, detail::RoutineApi> {
  public:
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    Routine() noexcept = default;

    /// A function and all its arguments: values, which are copied now, and members of From, which the event
    /// supplies. Types: integers, enumerations, bool, float, double and pointers; for others use encoded().
    /// [any] Errors: Error of Status::argument for a null pointer, or if a From does not fit the argument's
    /// type; Status::no_memory. Since 1.0.
    template <class Result, class... P, class... A,
              class = std::enable_if_t<sizeof...(P) == sizeof...(A) &&
                                       (... && (std::is_same_v<std::decay_t<A>, From> || std::is_convertible_v<A, P>))>>
    [[nodiscard]] explicit Routine(Result (*code)(P...), A &&...arguments) {
        std::string encoding = detail::encoding_of<Result>();
        static_cast<void>((encoding += ... += detail::encoding_of<P>()));
        const std::tuple<Bound<P>...> bound{Bound<P>(std::forward<A>(arguments))...};
        const auto list = std::apply(
            [](const auto &...each) { return std::array<treadle_argument, sizeof...(P)>{each.argument()...}; }, bound);
        create(reinterpret_cast<void (*)()>(code), encoding.c_str(), list.data(), list.size());
    }
    /// A function with an explicit signature, and arguments as in the C interface: for structs by
    /// value.
    /// [any] Errors: Error of Status::argument, Status::signature, Status::no_memory, as
    /// treadle_routine_create. Since 1.0.
    static Routine encoded(void (*code)(), const std::string &encoding,
                           const std::vector<treadle_argument> &arguments) {
        Routine routine;
        routine.create(code, detail::c_text(encoding, "treadle::Routine::encoded"), arguments.data(), arguments.size());
        return routine;
    }

    /// Calls the routine on the calling thread and returns the function's result, of type Result: its
    /// size is checked. void drops the result. event: supplies the arguments of From; null: they are 0.
    /// [any] Errors: Error of Status::range for a Result of another size, Status::stale. Since 1.0.
    template <class Result = void> Result call(const treadle_event *event = nullptr) const {
        if constexpr (std::is_void_v<Result>) {
            detail::check(treadle_routine_call(native_, event, nullptr, 0));
        } else {
            static_assert(std::is_trivially_copyable_v<Result> && std::is_default_constructible_v<Result>);
            Result result{};
            detail::check(treadle_routine_call(native_, event, &result, sizeof result));
            return result;
        }
    }

  private:
    /// One argument: a value of the parameter's type, or a From.
    template <class P> class Bound {
      public:
        template <class A> explicit Bound(A &&argument) {
            if constexpr (std::is_same_v<std::decay_t<A>, From>)
                kind_ = static_cast<std::uint32_t>(argument);
            else
                value_ = static_cast<std::decay_t<P>>(std::forward<A>(argument));
        }
        treadle_argument argument() const noexcept {
            if (kind_ != TREADLE_ARGUMENT_BOUND) return {kind_, 0, nullptr, 0};
            return {kind_, 0, &value_, sizeof value_};
        }

      private:
        std::uint32_t kind_ = TREADLE_ARGUMENT_BOUND;
        std::decay_t<P> value_{};
    };

    void create(void (*code)(), const char *encoding, const treadle_argument *arguments, std::size_t count) {
        auto config = TREADLE_INIT(treadle_routine_config);
        config.code = code;
        config.signature = encoding;
        config.arguments = arguments;
        config.argument_count = count;
        detail::check(treadle_routine_create(&config, &native_));
    }
};

namespace detail {
/// The routine for a context; throws if it is null.
inline treadle_routine need(const Routine &routine, const char *function) {
    if (!routine) detail::raise(Status::argument, "the routine is empty", function);
    return routine.native();
}
} // namespace detail

inline bool Loop::post(const Routine &routine, const std::vector<Mode> &modes) const {
    const detail::ModeList list(modes);
    auto post = TREADLE_INIT(treadle_post);
    post.modes = list.names();
    post.mode_count = list.count();
    post.routine = detail::need(routine, "treadle::Loop::post");
    return detail::effect(treadle_loop_post_in(native_, &post));
}

} // inline namespace
} // namespace treadle

#endif
