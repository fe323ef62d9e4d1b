// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// plugin.hpp: a plugin as a class: its methods are the plugin's life, and an exception that leaves one is a failure of
// the plugin, with its text. For the library of a plugin, which is compiled with TREADLE_PLUGIN defined.
#ifndef TREADLE_CPP_PLUGIN_HPP
#define TREADLE_CPP_PLUGIN_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string>
#include <type_traits>

#include "../plugin.h"
#include "status.hpp"
#include "time.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// How grave a message of a plugin is. Since 1.0.
enum class PluginLevel : std::uint32_t { error = 0, warning = 1, information = 2 };

/// A plugin's host, as the plugin sees it. Copies are the same host; valid until the plugin's object is gone. Since 1.0.
class PluginHost {
  public:
    /// The host that init was given.
    /// [any] Errors: none. Since 1.0.
    explicit PluginHost(const treadle_plugin_host *native) noexcept : native_(native) {}
    /// The same in C.
    /// [any] Errors: none. Since 1.0.
    const treadle_plugin_host *native() const noexcept { return native_; }
    /// The program's name; empty if it has none.
    /// [any] Errors: none. Since 1.0.
    const char *name() const noexcept { return native_->name; }
    /// The program's version; empty if it has none.
    /// [any] Errors: none. Since 1.0.
    const char *version() const noexcept { return native_->version; }
    /// The path that the plugin was loaded from; null for one that is part of the program.
    /// [any] Errors: none. Since 1.0.
    const char *path() const noexcept { return native_->struct_size > offsetof(treadle_plugin_host, path) ? native_->path : nullptr; }
    /// The plugin itself, borrowed: a scope.
    /// [any] Errors: none. Since 1.0.
    treadle_plugin plugin() const noexcept { return native_->plugin; }

    /// The value of one of the plugin's settings.
    /// [any] Errors: Error of Status::not_found for a key that is not in PluginAbout, Status::closed; std::bad_alloc. Since 1.0.
    std::string setting(const char *key) const {
        std::string value;
        std::size_t length = 63;
        // It may be changed, and be longer, between two calls.
        do {
            value.resize(length);
            const treadle_status status = native_->copy_setting(native_, key, &value[0], value.size() + 1, &length);
            if (status < 0) detail::raise(static_cast<Status>(status), "the setting cannot be read", "treadle::PluginHost::setting");
        } while (length > value.size());
        value.resize(length);
        return value;
    }
    /// An extension that PluginAbout lists, of the host or of another plugin, as the struct or function that its name stands for;
    /// null if it is not there. Valid until the plugin has stopped.
    /// [any] Errors: none. Since 1.0.
    template <class Extension> const Extension *extension(const char *id) const noexcept {
        return static_cast<const Extension *>(native_->get_extension(native_, id));
    }
    /// Tells the program something.
    /// [any] Errors: none. Since 1.0.
    void log(PluginLevel level, const char *text) const noexcept { native_->log(native_, static_cast<std::uint32_t>(level), text); }
    /// The same.
    /// [any] Errors: none. Since 1.0.
    void log(PluginLevel level, const std::string &text) const noexcept { log(level, text.c_str()); }
    /// Says why the plugin's function that runs on this thread is about to fail; an exception that leaves it says that by itself.
    /// [callback] Errors: none. Since 1.0.
    void fail(const char *text) const noexcept {
        if (native_->struct_size > offsetof(treadle_plugin_host, fail)) native_->fail(native_, text);
    }
    /// Says that the plugin's stop, which returned Status::deferred or is about to, is over.
    /// [any] Errors: none. Since 1.0.
    void stopped() const noexcept {
        if (native_->struct_size > offsetof(treadle_plugin_host, stopped)) native_->stopped(native_);
    }

  private:
    const treadle_plugin_host *native_;
};

/// A setting of a plugin: plugin.h explains its parts. default_value and description are not copied.
/// [any] Errors: none. Since 1.0.
constexpr treadle_plugin_setting plugin_setting(const char *key, const char *default_value, const char *description,
                                                std::uint32_t type = TREADLE_SETTING_TEXT, std::int64_t minimum = 0,
                                                std::int64_t maximum = 0) noexcept {
    return {sizeof(treadle_plugin_setting), key, default_value, description, type, 0, minimum, maximum};
}

/// The description of a plugin's class, which is its static member `about`. The members are those of treadle_plugin_description; lists
/// end with null. Since 1.0.
struct PluginAbout {
    const char *id;                                   ///< A domain name from its end. Since 1.0.
    const char *name;                                 ///< For people. Since 1.0.
    const char *version;                              ///< The plugin's own. Since 1.0.
    std::uint32_t flags = 0;                          ///< TREADLE_PLUGIN_MAY_UNMAP, or 0. Since 1.0.
    const treadle_plugin_setting *settings = nullptr; ///< Those that it has. Since 1.0.
    std::uint32_t setting_count = 0;                  ///< How many they are. Since 1.0.
    const char *const *required = nullptr;            ///< The extensions without which it cannot start. Since 1.0.
    const char *const *optional = nullptr;            ///< Those that it would use. Since 1.0.
    const char *const *provided = nullptr;            ///< Those that it has for others. Since 1.0.
};

/// The public base of a plugin's class. The class has a static member `about`, a PluginAbout, and a constructor that takes
/// a PluginHost: init. Its destructor is deinit, when nothing of the plugin runs any more. Of the methods below it has those that
/// it needs, under the same names, without further ones of that name. An exception that leaves the constructor or a method is the
/// status of its failure (that of an Error, no_memory of std::bad_alloc, else callback), and its what() the reason in the
/// program's last error. Methods that return nothing here may return a Status in place of that, which counts alike: without
/// exceptions (-fno-exceptions) a method fails by that, and says why by PluginHost::fail.
///
///     class Ticker : public treadle::PluginBase {
///       public:
///         static constexpr treadle::PluginAbout about{"org.example.ticker", "Ticker", "1.0"};
///         using PluginBase::PluginBase;
///         void start() { ... }
///     };
///     TREADLE_PLUGIN_CLASS(Ticker)
/// Since 1.0.
class PluginBase {
  public:
    /// init.
    /// [callback] Errors: none. Since 1.0.
    explicit PluginBase(PluginHost host) noexcept : host_(host) {}
    PluginBase(const PluginBase &) = delete;
    PluginBase &operator=(const PluginBase &) = delete;
    /// The plugin's host.
    /// [any] Errors: none. Since 1.0.
    const PluginHost &host() const noexcept { return host_; }

    /// Begins its work.
    /// [callback] Errors: any exception. Since 1.0.
    void start() {}
    /// Ends its work; what it has made still lives, and does until PluginHost::stopped if it returns Status::deferred.
    /// [callback] Errors: any exception, which does not keep it from ending. Since 1.0.
    void stop(std::chrono::nanoseconds) {}
    /// An extension that it provides; null for none.
    /// [callback] Errors: any exception: there is none then. Since 1.0.
    const void *extension(const char *) { return nullptr; }
    /// A setting was changed; an exception refuses it. A class without this is not asked.
    /// [callback] Errors: any exception. Since 1.0.
    void set(const char *, const char *) {}
    /// Its state, for the one that takes its place: of a class without this there is none.
    /// [callback] Errors: any exception. Since 1.0.
    std::string save() { return {}; }
    /// Takes the state of the one before it.
    /// [callback] Errors: any exception. Since 1.0.
    void restore(const std::string &) {}

  protected:
    ~PluginBase() = default;

  private:
    PluginHost host_;
};

namespace detail {

/// The functions of a plugin in C, around an object of its class.
template <class Class> struct PluginFunctions {
    static const treadle_plugin_host *&host() noexcept {
        static const treadle_plugin_host *known = nullptr;
        return known;
    }
    /// Calls the plugin; its exceptions are statuses.
    template <class Body> static treadle_status guarded(const Body &body) noexcept {
#ifdef __cpp_exceptions
        try {
            return status_of(body);
        } catch (const Error &error) {
            return failed(error.status() < Status::ok ? error.status() : Status::callback, error.what());
        } catch (const std::bad_alloc &error) {
            return failed(Status::no_memory, error.what());
        } catch (const std::exception &error) {
            return failed(Status::callback, error.what());
        } catch (...) {
            return failed(Status::callback, "an exception that is no std::exception");
        }
#else
        return status_of(body);
#endif
    }
    template <class Body> static treadle_status status_of(const Body &body) {
        if constexpr (std::is_same_v<decltype(body()), Status>) {
            return static_cast<treadle_status>(body());
        } else {
            body();
            return TREADLE_OK;
        }
    }
    static treadle_status failed(Status status, const char *why) noexcept {
        PluginHost(host()).fail(why);
        return static_cast<treadle_status>(status);
    }

    static treadle_status init(const treadle_plugin_host *given, void **out_instance) {
        host() = given;
        return guarded([&] { *out_instance = new Class(PluginHost(given)); });
    }
    static treadle_status start(void *instance) {
        return guarded([&] { return static_cast<Class *>(instance)->start(); });
    }
    static treadle_status stop(void *instance, std::int64_t timeout_ns) {
        return guarded([&] { return static_cast<Class *>(instance)->stop(std::chrono::nanoseconds(timeout_ns)); });
    }
    static void deinit(void *instance) { delete static_cast<Class *>(instance); }
    static const void *get_extension(void *instance, const char *id) {
        const void *found = nullptr;
        guarded([&] { found = static_cast<Class *>(instance)->extension(id); });
        return found;
    }
    static treadle_status set(void *instance, const char *key, const char *value) {
        return guarded([&] { return static_cast<Class *>(instance)->set(key, value); });
    }
    static treadle_status save(void *instance, treadle_plugin_write_fn write, void *sink) {
        return guarded([&] {
            const std::string state = static_cast<Class *>(instance)->save();
            write(sink, state.data(), state.size());
        });
    }
    static treadle_status restore(void *instance, const void *bytes, std::size_t size) {
        return guarded([&] { return static_cast<Class *>(instance)->restore(std::string(static_cast<const char *>(bytes), size)); });
    }

    static treadle_plugin_description describe() noexcept {
        static_assert(std::is_base_of_v<PluginBase, Class>, "the class of a plugin derives from treadle::PluginBase");
        const PluginAbout &about = Class::about;
        auto made = TREADLE_INIT(treadle_plugin_description);
#ifdef TREADLE_PLUGIN
        made.abi_min = TREADLE_PLUGIN_ABI_MIN;
        made.self = &treadle_plugin_self;
#else
        made.abi_min = TREADLE_PLUGIN_ABI & 0xFFFF0000u;
#endif
        made.abi_max = TREADLE_PLUGIN_ABI;
        made.behaviour = TREADLE_PLUGIN_BEHAVIOUR;
        made.id = about.id;
        made.name = about.name;
        made.version = about.version;
        made.flags = about.flags;
        made.setting_count = about.setting_count;
        made.settings = about.settings;
        made.required = about.required;
        made.optional = about.optional;
        made.provided = about.provided;
        made.init = init;
        made.start = start;
        made.stop = stop;
        made.deinit = deinit;
        // A method that the class does not have itself is a member of the base: the host must not call it.
        if constexpr (!std::is_same_v<decltype(&Class::extension), decltype(&PluginBase::extension)>) made.get_extension = get_extension;
        if constexpr (!std::is_same_v<decltype(&Class::set), decltype(&PluginBase::set)>) made.set = set;
        if constexpr (!std::is_same_v<decltype(&Class::save), decltype(&PluginBase::save)>) made.save = save;
        if constexpr (!std::is_same_v<decltype(&Class::restore), decltype(&PluginBase::restore)>) made.restore = restore;
        return made;
    }
};

} // namespace detail

/// Exports a class as the plugin that a library is. Since 1.0.
#define TREADLE_PLUGIN_CLASS(Class)                                                                                     \
    extern "C" __attribute__((visibility("default"))) const treadle_plugin_description *treadle_plugin_query(uint32_t); \
    extern "C" const treadle_plugin_description *treadle_plugin_query(uint32_t) {                                       \
        static const treadle_plugin_description description = treadle::detail::PluginFunctions<Class>::describe();      \
        return &description;                                                                                            \
    }

} // inline namespace
} // namespace treadle

#endif
