// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// descriptor.hpp: descriptor sources (port-based, version 1): performed while a descriptor is ready.
#ifndef TREADLE_CPP_DESCRIPTOR_HPP
#define TREADLE_CPP_DESCRIPTOR_HPP

#include <cstdint>
#include <utility>

#include "../descriptor.h"
#include "callback.hpp"
#include "object.hpp"
#include "routine.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// The events to watch for, and those that occurred; combine them with |. Since 1.0.
enum class Readiness : std::uint32_t {
    none = 0,
    readable = TREADLE_READABLE,
    writable = TREADLE_WRITABLE,
    hangup = TREADLE_HANGUP, ///< reported only: the other end closed
    failed = TREADLE_FAILED  ///< reported only: an error is pending; for closed descriptors see treadle_descriptor_create
};

/// How a descriptor is watched. Since 1.0.
enum class DescriptorOptions : std::uint32_t {
    none = 0,
    /// For eventfd and timerfd: Treadle reads the 8-byte counter before the callback, so that several
    /// notifications coalesce.
    acknowledged = TREADLE_DESCRIPTOR_ACKNOWLEDGED
};

namespace detail {
template <> struct is_flags<Readiness> : std::true_type {};
template <> struct is_flags<DescriptorOptions> : std::true_type {};

struct DescriptorApi {
    using native_type = treadle_descriptor;
    static constexpr auto retain = &treadle_descriptor_retain;
    static constexpr auto release = &treadle_descriptor_release;
    static constexpr auto invalidate = &treadle_descriptor_invalidate;
    static constexpr auto close = &treadle_descriptor_close;
    static constexpr auto is_valid = &treadle_descriptor_is_valid;
    static constexpr auto describe = &treadle_descriptor_describe;
    static constexpr auto add = &treadle_loop_add_descriptor;
    static constexpr auto remove = &treadle_loop_remove_descriptor;
    static constexpr auto contains = &treadle_loop_contains_descriptor;
};
} // namespace detail

/// A descriptor source: it watches a descriptor that the client owns, and neither closes nor copies
/// it. A default-constructed handle is empty. Since 1.0.
class [[nodiscard]] Descriptor : public Item<Descriptor, detail::DescriptorApi> {
  public:
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    Descriptor() noexcept = default;

    /// A source that is performed while fd is ready, by f(const Descriptor &, Readiness), f(Readiness) or f():
    /// on the loop's thread, level-triggered, once a pass. Use a non-blocking descriptor: another callback may have drained it
    /// meanwhile (SRC1-5). f is destroyed when the source is freed. label: its name in reports; copied.
    /// [any] Errors: Error of Status::argument for an empty callback, no or unknown events, a descriptor
    /// that is not open; Status::no_memory; f is destroyed then. Since 1.0.
    template <class F, class = detail::if_callback<F, void, const Descriptor &, Readiness>>
    [[nodiscard]] Descriptor(int fd, Readiness events, F &&f, DescriptorOptions options = DescriptorOptions::none,
               const char *label = nullptr) {
        using Call = detail::Callback<std::decay_t<F>, const Descriptor &, Readiness>;
        Call call(std::forward<F>(f), "treadle::Descriptor");
        auto context = context_of(fd, events, options, label);
        context.info = call.info();
        context.release = Call::release();
        context.ready = &ready_callable<Call>;
        detail::check(treadle_descriptor_create(&context, &native_));
        call.taken();
    }
    /// A source that is performed by a routine, to which it keeps a reference.
    /// [any] Errors: as above, and Error of Status::stale. Since 1.0.
    [[nodiscard]] Descriptor(int fd, Readiness events, const Routine &ready, DescriptorOptions options = DescriptorOptions::none,
               const char *label = nullptr) {
        auto context = context_of(fd, events, options, label);
        context.ready_routine = detail::need(ready, "treadle::Descriptor");
        detail::check(treadle_descriptor_create(&context, &native_));
    }

    /// Changes the events that are watched for; takes effect at once, also in a sleeping loop.
    /// Readiness::none pauses the source: it stays in its modes, which therefore do not count as empty.
    /// [any] Errors: nothing changes then. Error of Status::argument for unknown events; Status::state if invalid;
    /// Status::exists if the descriptor was closed, and another source of a mode watches its number now (SRC1-7);
    /// Status::no_memory; Status::system if the kernel refuses. Since 1.0.
    void set_events(Readiness events) const {
        detail::check(treadle_descriptor_set_events(native_, detail::bits(events)));
    }
    /// The events that are watched for.
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    Readiness events() const {
        std::uint32_t events = 0;
        detail::check(treadle_descriptor_get_events(native_, &events));
        return static_cast<Readiness>(events);
    }
    /// The watched descriptor.
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    int fd() const {
        std::int32_t fd = -1;
        detail::check(treadle_descriptor_get_fd(native_, &fd));
        return fd;
    }


  private:
    static treadle_descriptor_context context_of(int fd, Readiness events, DescriptorOptions options,
                                                 const char *label) noexcept {
        auto context = TREADLE_INIT(treadle_descriptor_context);
        context.fd = fd;
        context.events = detail::bits(events);
        context.flags = detail::bits(options);
        context.label = label;
        return context;
    }
    template <class Call>
    static void ready_callable(treadle_descriptor descriptor, std::uint32_t events, void *info) noexcept {
        detail::guarded(
            [&] { Call::call(info, *detail::Lent<Descriptor>(descriptor), static_cast<Readiness>(events)); });
    }
};

} // inline namespace
} // namespace treadle

#endif
