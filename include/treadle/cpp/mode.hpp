// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// mode.hpp: the name of a mode.
#ifndef TREADLE_CPP_MODE_HPP
#define TREADLE_CPP_MODE_HPP

#include <string>
#include <string_view>

#include "../message_port.h"
#include "status.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// The name of a mode, the parameter type of every function that takes one. Text converts implicitly,
/// with a copy: keep a Mode that is used often. The names of the default mode and the common modes are
/// not copied. Since 1.0.
class Mode {
  public:
    /// The default mode (MODE-2).
    /// [any] Errors: none. Since 1.0.
    Mode() noexcept : constant_(TREADLE_DEFAULT_MODE) {}

    /// A mode with a name of the program's. The name is copied.
    /// [any] Errors: Error of Status::argument if the name contains NUL; std::bad_alloc. Since 1.0.
    Mode(std::string_view name) : text_(name) {
        if (name.find('\0') != name.npos)
            detail::raise(Status::argument, "the mode's name contains NUL", "treadle::Mode");
    }

    /// A mode, from a text that ends with NUL.
    /// [any] Errors: Error of Status::argument for a null pointer; std::bad_alloc. Since 1.0.
    Mode(const char *name) : text_(name ? name : "") {
        if (!name) detail::raise(Status::argument, "the mode's name is a null pointer", "treadle::Mode");
    }

    /// A mode, from a string.
    /// [any] Errors: as from a std::string_view. Since 1.0.
    Mode(const std::string &name) : Mode(std::string_view(name)) {}

    /// All modes of the common set, as the mode to which an item or a post is added. It cannot be run
    /// (MODE-8, MODE-9).
    /// [any] Errors: none. Since 1.0.
    static Mode common() noexcept { return Mode(Constant{TREADLE_COMMON_MODES}); }

    /// The mode in which the caller's loop runs during a request to a message port that names no other; nothing is in it but
    /// what the program adds.
    /// [any] Errors: none. Since 1.0.
    static Mode replies() noexcept { return Mode(Constant{TREADLE_REPLIES_MODE}); }

    /// The name, which ends with NUL. Lives as long as the Mode is not changed.
    /// [any] Errors: none. Since 1.0.
    const char *c_str() const noexcept { return constant_ ? constant_ : text_.c_str(); }

    /// The name. Lives as long as the Mode is not changed.
    /// [any] Errors: none. Since 1.0.
    std::string_view name() const noexcept { return constant_ ? std::string_view(constant_) : text_; }

    /// Whether both are the same mode. Names are compared byte by byte.
    /// [any] Errors: none. Since 1.0.
    friend bool operator==(const Mode &a, const Mode &b) noexcept { return a.name() == b.name(); }
    /// Whether they are different modes.
    /// [any] Errors: none. Since 1.0.
    friend bool operator!=(const Mode &a, const Mode &b) noexcept { return !(a == b); }

  private:
    struct Constant {
        const char *name;
    };
    explicit Mode(Constant constant) noexcept : constant_(constant.name) {}

    const char *constant_ = nullptr; // a name that lives for ever, or the text is the name
    std::string text_;
};

} // inline namespace
} // namespace treadle

#endif
