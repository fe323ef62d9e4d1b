// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// thread.hpp: threads: create, configure, start, stop and join a thread; its values, its calls and its
// sleep.
#ifndef TREADLE_CPP_THREAD_HPP
#define TREADLE_CPP_THREAD_HPP

#include <pthread.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../perform.h"
#include "../thread.h"
#include "callback.hpp"
#include "loop.hpp"
#include "object.hpp"
#include "time.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {

/// A thread's state (THR-1). Since 1.0.
enum class ThreadState : std::uint32_t {
    created = TREADLE_THREAD_CREATED,     ///< not started yet
    starting = TREADLE_THREAD_STARTING,   ///< started, but not running its function yet
    executing = TREADLE_THREAD_EXECUTING, ///< foreign threads and the main thread are always in it until they end
    finished = TREADLE_THREAD_FINISHED    ///< after its will-exit notification (THR-14)
};

/// How the kernel schedules a thread (THR-13). Since 1.0.
enum class ThreadPolicy : std::uint32_t {
    normal = TREADLE_POLICY_DEFAULT,         ///< time sharing; the priority sets the nice value
    fifo = TREADLE_POLICY_FIFO,              ///< real time, SCHED_FIFO
    round_robin = TREADLE_POLICY_ROUND_ROBIN ///< real time, SCHED_RR
};

namespace detail {

struct ThreadApi {
    using native_type = treadle_thread;
    static constexpr auto retain = &treadle_thread_retain;
    static constexpr auto release = &treadle_thread_release;
};

/// Thrown by Thread::exit and caught by run_thread, so that the objects of the thread's function are
/// destroyed.
struct Ending {
    void *result;
};
/// Whether run_thread is on the stack, to catch it.
inline thread_local bool may_end = false;

/// Calls a thread's function, whose pointer, if it returns one, is the result (THR-17).
template <class Call> void *call_thread(void *info) {
    if constexpr (std::is_pointer_v<decltype(Call::call(info))>) {
        return const_cast<void *>(static_cast<const volatile void *>(Call::call(info)));
    } else {
        Call::call(info);
        return nullptr;
    }
}

/// A thread's entry function. Not noexcept, since pthread_exit unwinds through it.
template <class Call> void *run_thread(void *info) {
#ifdef __cpp_exceptions
    may_end = true;
    try {
        return call_thread<Call>(info);
    } catch (const Ending &ending) {
        return ending.result;
    } catch (const Error &error) {
        // After a shutdown this ends a function that runs its loop again and again.
        if (error.status() != Status::closed || !knows_end) escaped();
#ifdef __GLIBCXX__
    } catch (const abi::__forced_unwind &) {
        throw;
#endif
    } catch (...) { escaped(); }
    return nullptr;
#else
    return call_thread<Call>(info);
#endif
}

} // namespace detail

/// A thread. Copies refer to the same thread. If the last reference to a joinable thread is released
/// without a join, the thread is detached (THR-17). A default-constructed handle is empty. Since 1.0.
class Thread : public Handle<Thread, detail::ThreadApi> {
  public:
    /// An empty handle.
    /// [any] Errors: none. Since 1.0.
    Thread() noexcept = default;

    /// A thread that is not started yet: joinable, with the default attributes. f() is called on it; the pointer
    /// that it returns, or null, is the thread's result. f is destroyed on the thread after it has returned, or when it
    /// can never run (THR-1, THR-4). An exception that leaves f is passed to the last-resort handler, except an Error of
    /// Status::closed after a run on this thread has reported a shutdown.
    /// [any] Errors: Error of Status::argument for an empty callback, Status::no_memory; f is destroyed then.
    /// Since 1.0.
    template <class F, class = detail::if_callback<F, void>> [[nodiscard]] explicit Thread(F &&f) {
        make<&Thread::create>(std::forward<F>(f), &native_);
    }
    /// Creates a detached thread with the default attributes and starts it (THR-3); f as for the constructor.
    /// [any] Errors: as the constructor and start(). Since 1.0.
    template <class F> static detail::if_callback<F, Thread> detached(F &&f) {
        treadle_thread thread = nullptr;
        make<&Thread::create_detached>(std::forward<F>(f), &thread);
        return adopt(thread);
    }
    /// A worker that is not started yet: it runs its loop in the default mode, also while the mode is empty, until the
    /// thread or its loop is stopped (THR-18, RUN-16).
    /// [any] Errors: Error of Status::no_memory. Since 1.0.
    [[nodiscard]] static Thread worker() {
        treadle_thread thread = nullptr;
        detail::check(create(nullptr, nullptr, nullptr, &thread));
        return adopt(thread);
    }
    /// The calling thread, the same object until it ends, also for threads that Treadle did not
    /// create (THR-9, THR-20).
    /// [any] Errors: Error of Status::no_memory, Status::system or Status::forked. Since 1.0.
    [[nodiscard]] static Thread current() { return known(treadle_thread_current()); }
    /// The process's initial thread, from every thread (THR-10).
    /// [any] Errors: as current(). Since 1.0.
    [[nodiscard]] static Thread main() { return known(treadle_thread_main()); }
    /// The thread of a loop, also before its start: the one whose loop() it is (RL-9).
    /// [any] Errors: Error of Status::not_found when the thread has finished, and for another thread that Treadle did not start
    /// and that has not asked for current() yet; Status::no_memory. Since 1.0.
    [[nodiscard]] static Thread of_loop(const Loop &loop) {
        treadle_thread thread = nullptr;
        detail::check(treadle_loop_copy_thread(loop.native(), &thread));
        return adopt(thread);
    }
    /// Whether the calling thread is the process's initial one (THR-10).
    /// [any] Errors: none. Since 1.0.
    static bool current_is_main() noexcept { return treadle_thread_is_main(nullptr); }
    /// Whether a thread was ever started through Treadle in this process (THR-11).
    /// [any] Errors: none. Since 1.0.
    static bool is_multithreaded() noexcept { return treadle_is_multithreaded(); }

    /// Starts the thread, once. A thread that was cancelled before its start never runs its function (THR-2, THR-5).
    /// [any] Errors: Error of Status::state when started before, Status::system when the system cannot create
    /// another thread, Status::closed after shutdown(). Since 1.0.
    void start() const { detail::check(treadle_thread_start(native_)); }
    /// Starts the thread and waits until it has called declare_ready, or has entered the first pass of its loop
    /// (THR-18). False if the timeout passed first; the thread continues.
    /// [any] Errors: those of start(); Error of Status::state when the thread ended, or was cancelled, before it was
    /// ready. Since 1.0.
    template <class Rep = std::int64_t, class Period = std::nano>
    bool start_and_wait(std::chrono::duration<Rep, Period> timeout = forever) const {
        return detail::in_time(treadle_thread_start_and_wait(native_, detail::nanoseconds_of(timeout)));
    }
    /// Declares the calling thread ready: start_and_wait returns to its caller (THR-18).
    /// [any] Errors: Error of Status::no_memory or Status::forked. Since 1.0.
    static void declare_ready() { detail::check(treadle_thread_declare_ready()); }

    /// Waits until the thread has ended, including its loop's teardown, and returns its result (THR-17).
    /// [any] Errors: Error of Status::deadlock when the thread is the calling one, or waits for the calling one;
    /// Status::state when it is detached, foreign, not started, joined or being joined. Since 1.0.
    void *join() const {
        void *result = nullptr;
        detail::check(treadle_thread_join(native_, TREADLE_FOREVER, &result));
        return result;
    }
    /// join() with a timeout. Returns nothing if it passed; the thread is then still joinable.
    /// [any] Errors: as join(). Since 1.0.
    template <class Rep, class Period>
    std::optional<void *> join_for(std::chrono::duration<Rep, Period> timeout) const {
        void *result = nullptr;
        const treadle_status status = treadle_thread_join(native_, detail::nanoseconds_of(timeout), &result);
        return detail::in_time(status) ? std::optional<void *>(result) : std::nullopt;
    }
    /// Cancels the thread and requests a stop of its loop at all levels, which cannot be lost (THR-18, STOP-9). The current
    /// pass still calls everything that it has collected, such as all posts queued until then; later posts are destroyed
    /// (STOP-3).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    void stop() const { detail::check(treadle_thread_stop(native_)); }
    /// stop() with flags: with StopOptions::at_once the run ends after the current callback, and the rest of its pass is destroyed
    /// with the loop.
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    void request_stop(StopOptions options) const { detail::check(treadle_thread_request_stop(native_, detail::bits(options))); }
    /// stop(), then join() (THR-18).
    /// [any] Errors: as join(). Since 1.0.
    void *stop_and_join() const {
        void *result = nullptr;
        detail::check(treadle_thread_stop_and_join(native_, TREADLE_FOREVER, &result));
        return result;
    }
    /// stop_and_join() without exceptions, for Scoped<Thread>.
    /// [any] Errors: the status. Since 1.0.
    Status close(std::nothrow_t) const noexcept {
        return static_cast<Status>(treadle_thread_stop_and_join(native_, TREADLE_FOREVER, nullptr));
    }
    /// Sets the cancelled flag, with no other effect: the thread tests the flag with is_cancelled (THR-5).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    void cancel() const { detail::check(treadle_thread_cancel(native_)); }
    /// Detaches the thread, once (THR-17).
    /// [any] Errors: Error of Status::state when it is detached, foreign, joined or being joined. Since 1.0.
    void set_detached() const { detail::check(treadle_thread_detach(native_)); }
    /// Ends the calling thread with a result, by an exception that destroys the objects of its function; a catch (...)
    /// must rethrow it. Not from callbacks of a loop, where it is passed to the last-resort handler (THR-7, THR-19).
    /// On threads created through C, and without exceptions, it is treadle_thread_exit. Discouraged.
    /// [any] Errors: Error of Status::state on the initial thread, and on threads that Treadle did not start.
    /// Since 1.0.
    [[noreturn]] static void exit(void *result = nullptr) {
#ifdef __cpp_exceptions
        if (detail::may_end) throw detail::Ending{result};
#endif
        detail::check(treadle_thread_exit(result));
        detail::raise(Error::last()); // treadle_thread_exit returns only on failure
    }

    /// The thread's state (THR-1).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    ThreadState state() const { return static_cast<ThreadState>(number<std::uint32_t>(treadle_thread_get_state)); }
    /// Whether the thread is executing (THR-1, THR-14).
    /// [any] Errors: none; false if empty or stale. Since 1.0.
    bool is_executing() const noexcept { return treadle_thread_is_executing(native_); }
    /// Whether the thread has finished (THR-1, THR-14).
    /// [any] Errors: none; false if empty or stale. Since 1.0.
    bool is_finished() const noexcept { return treadle_thread_is_finished(native_); }
    /// Whether the thread was cancelled (THR-6).
    /// [any] Errors: none; false if empty or stale. Since 1.0.
    bool is_cancelled() const noexcept { return treadle_thread_is_cancelled(native_); }
    /// Whether the thread is detached. Foreign threads count as detached.
    /// [any] Errors: none; false if empty or stale. Since 1.0.
    bool is_detached() const noexcept { return treadle_thread_is_detached(native_); }
    /// Whether it is the process's initial thread (THR-10).
    /// [any] Errors: none; false if empty or stale. Since 1.0.
    bool is_main() const noexcept { return treadle_thread_is_main(native_); }
    /// The kernel id (gettid); 0 before the thread executes and after it ended.
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    std::int32_t id() const { return number<std::int32_t>(treadle_thread_get_id); }
    /// The pthread_t (THR-20), valid until the thread is joined; for a detached thread, until it ends.
    /// [any] Errors: Error of Status::state when the thread does not execute. Since 1.0.
    pthread_t pthread() const { return static_cast<pthread_t>(number<std::uintptr_t>(treadle_thread_get_pthread)); }
    /// The thread's loop, created if it has none yet, also before the start (RL-9).
    /// [any] Errors: Error of Status::state when the thread has finished, Status::no_memory. Since 1.0.
    Loop loop() const {
        treadle_loop loop = nullptr;
        detail::check(treadle_thread_copy_loop(native_, &loop));
        return Loop::adopt(loop);
    }

    /// Sets the stack's size in bytes, before the start: 16,384 to 1 GiB, a multiple of 4,096 (THR-13).
    /// [any] Errors: Error of Status::range for another size, Status::state after the start. Since 1.0.
    void set_stack_size(std::size_t size) const { detail::check(treadle_thread_set_stack_size(native_, size)); }
    /// The stack's size as it was set; 524,288 by default, 0 for foreign threads (THR-13).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    std::size_t stack_size() const { return number<std::size_t>(treadle_thread_get_stack_size); }
    /// Sets the name: any UTF-8, at any time (THR-13).
    /// [any] Errors: Error of Status::argument for malformed UTF-8 or NUL, Status::range for more than 65,535 bytes,
    /// Status::no_memory. Since 1.0.
    void set_name(const std::string &name) const {
        detail::check(treadle_thread_set_name(native_, detail::c_text(name, "treadle::Thread::set_name")));
    }
    /// The name as it was set; empty if none was (THR-13).
    /// [any] Errors: Error of Status::stale or Status::forked; std::bad_alloc. Since 1.0.
    std::string name() const {
        return detail::text_from([this](char *buffer, std::size_t capacity, std::size_t *length) {
            return treadle_thread_get_name(native_, buffer, capacity, length);
        });
    }
    /// Sets the priority, clamped to 0.0 to 1.0: before the start for any thread, later for the calling thread only
    /// (THR-13).
    /// [any] Errors: Error of Status::argument for NaN, Status::state for another thread after its start.
    /// Since 1.0.
    void set_priority(double priority) const { detail::check(treadle_thread_set_priority(native_, priority)); }
    /// The priority as it was set; 0.5 by default (THR-13).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    double priority() const {
        double priority = 0;
        detail::check(treadle_thread_get_priority(native_, &priority, nullptr));
        return priority;
    }
    /// Whether the kernel has applied the priority; false if it refused it, or before the start
    /// (THR-13).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    bool priority_is_applied() const {
        double priority = 0;
        std::int32_t applied = 0;
        detail::check(treadle_thread_get_priority(native_, &priority, &applied));
        return applied != 0;
    }
    /// Sets the scheduling policy before the start (THR-13).
    /// [any] Errors: Error of Status::argument for another value, Status::state after the start. Since 1.0.
    void set_policy(ThreadPolicy policy) const {
        detail::check(treadle_thread_set_policy(native_, static_cast<std::uint32_t>(policy)));
    }
    /// The policy as it was set (THR-13).
    /// [any] Errors: Error of Status::stale or Status::forked. Since 1.0.
    ThreadPolicy policy() const { return static_cast<ThreadPolicy>(number<std::uint32_t>(treadle_thread_get_policy)); }

    /// Stores a value of any type under a key in the thread's dictionary, replacing a previous value. It is
    /// destroyed when it is replaced or removed, or after the thread's will-exit notification, but not while
    /// use_value uses it (THR-12).
    /// [any] Errors: Error of Status::argument for a key with NUL, Status::state when the thread has finished,
    /// Status::no_memory; the value is destroyed then. Since 1.0.
    template <class T> void set_value(const std::string &key, T value) const {
        const char *const text = detail::c_text(key, "treadle::Thread::set_value");
        constexpr auto destroy = [](void *object) noexcept { delete static_cast<T *>(object); };
        detail::check(treadle_thread_set_value(native_, text, new T(std::move(value)), destroy));
    }
    /// The value under a key, null if there is none. T must be the stored type. Borrowed: another
    /// thread may replace it at any time; see use_value (THR-12).
    /// [any] Errors: Error of Status::argument for a key with NUL, Status::stale or Status::forked. Since 1.0.
    template <class T> T *value(const std::string &key) const {
        void *value = nullptr;
        const char *const text = detail::c_text(key, "treadle::Thread::value");
        const treadle_status status = treadle_thread_get_value(native_, text, &value);
        if (status != TREADLE_E_NOT_FOUND) detail::check(status);
        return static_cast<T *>(value);
    }
    /// Calls f(T &) on the calling thread with the value under a key, which is not destroyed before f returns,
    /// even if another thread replaces it. False if there is none. T must be the stored type; exceptions of f are
    /// passed on (THR-12).
    /// [any] Errors: as value(). Since 1.0.
    template <class T, class F> bool use_value(const std::string &key, F &&f) const {
        struct Use {
            F &f;
            std::exception_ptr thrown;
        } use{f, nullptr};
        const treadle_status status = treadle_thread_use_value(
            native_, detail::c_text(key, "treadle::Thread::use_value"),
            [](void *value, void *info) noexcept {
                auto &asked = *static_cast<Use *>(info);
                detail::keeping(asked.thrown, [&] { asked.f(*static_cast<T *>(value)); });
            },
            &use);
        if (use.thrown) std::rethrow_exception(use.thrown);
        return status != TREADLE_E_NOT_FOUND && detail::check(status) >= 0;
    }
    /// Removes the value under a key and destroys it. False if there was none (THR-12).
    /// [any] Errors: Error of Status::argument for a key with NUL, Status::stale or Status::forked. Since 1.0.
    bool remove_value(const std::string &key) const {
        const char *const text = detail::c_text(key, "treadle::Thread::remove_value");
        return detail::effect(treadle_thread_remove_value(native_, text));
    }

    /// Queues f for the thread, which calls f() in a pass of its loop in one of the common modes, and wakes the
    /// thread. Calls are performed in the order in which they were queued. A thread that has not started, or does
    /// not run its loop yet, performs them when it first runs it (PERF-1 to PERF-6). f is destroyed afterwards, or
    /// when the request is dropped.
    /// [any] Errors: Error of Status::argument for an empty callback, Status::closed when the thread has finished,
    /// Status::no_memory; f is destroyed then.
    /// Since 1.0.
    template <class F> detail::if_callback<F, void> perform(F &&f) const;
    /// perform() in some modes. False, with f destroyed, if the list is empty (PERF-1).
    /// [any] Errors: as above. Since 1.0.
    template <class F> detail::if_callback<F, bool> perform(F &&f, const std::vector<Mode> &modes) const;
    /// Calls f() on the thread, waits for its end, and returns its result or throws its exception. If the target
    /// is the calling thread, f is called directly. The caller's own loop does not run during the wait (PERF-2,
    /// PERF-7).
    /// [any] Errors: Error of Status::closed when the thread has finished, or ends before it has called f;
    /// Status::deadlock when the thread waits for the caller, directly or through other threads;
    /// Status::no_memory. Since 1.0.
    template <class F> std::invoke_result_t<F &> perform_and_wait(F &&f) const;
    /// perform_and_wait() in some modes.
    /// [any] Errors: as above, and Error of Status::argument if the list is empty. Since 1.0.
    template <class F> std::invoke_result_t<F &> perform_and_wait(F &&f, const std::vector<Mode> &modes) const;

    /// Sleeps for at least the duration; 0 or less, or not a number, returns at once. Signals do not end the
    /// sleep early; the thread's loop does not run (THR-15).
    /// [any] Errors: Error of Status::forked. Since 1.0.
    template <class Rep, class Period> static void sleep_for(std::chrono::duration<Rep, Period> time) {
        if (time.count() == time.count()) detail::check(treadle_thread_sleep_for(detail::nanoseconds_of(time)));
    }
    /// Sleeps until a date; a past one returns at once (THR-15).
    /// [any] Errors: Error of Status::forked. Since 1.0.
    static void sleep_until(Clock::time_point date) {
        detail::check(treadle_thread_sleep_until(date.time_since_epoch().count()));
    }

  private:
    static Thread known(treadle_thread thread) {
        if (!thread) detail::raise(Error::last());
        return retaining(thread);
    }
    static treadle_status create(treadle_thread_fn fn, void *info, treadle_release_fn destroy, treadle_thread *thread) {
        auto config = TREADLE_INIT(treadle_thread_config);
        config.fn = fn;
        config.info = info;
        config.destroy = destroy;
        return treadle_thread_create(&config, thread);
    }
    static treadle_status create_detached(treadle_thread_fn fn, void *info, treadle_release_fn destroy, treadle_thread *thread) {
        return treadle_thread_detach_new(fn, info, destroy, thread);
    }
    template <auto create, class F> static void make(F &&f, treadle_thread *thread) {
        using Call = detail::Callback<std::decay_t<F>>;
        Call call(std::forward<F>(f), "treadle::Thread");
        void *const info = call.info();
        call.taken(); // in every case the library calls destroy
        detail::check(create(&detail::run_thread<Call>, info, Call::release(), thread));
    }
    template <class T> T number(treadle_status (*get)(treadle_thread, T *)) const {
        T value = 0;
        detail::check(get(native_, &value));
        return value;
    }
};

} // inline namespace
} // namespace treadle

#include "perform.hpp"

#endif
