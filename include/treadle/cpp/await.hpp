// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// await.hpp: coroutines of C++20: co_await of a loop, and of a call on a loop. Without coroutines it declares nothing.
#ifndef TREADLE_CPP_AWAIT_HPP
#define TREADLE_CPP_AWAIT_HPP

#include "loop.hpp"

#ifdef __cpp_impl_coroutine
#include <unistd.h>

#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

#include "perform.hpp"

namespace treadle {
inline namespace TREADLE_CPP_NAMESPACE {
namespace detail {

/// The step whose function has just returned on this thread. It has resumed its coroutine, so the step may be gone, and the
/// post's destroy function, which follows, must not touch it.
inline thread_local const void *finished_step = nullptr;
/// The step that this thread is queueing. The post's destroy function is called meanwhile if the post is refused.
inline thread_local const void *queueing_step = nullptr;

/// Posts a step of a suspended coroutine, which is part of the coroutine's frame: calls self.*run on the loop, or self.*drop if
/// the loop's thread ends first. After TREADLE_OK self may be gone already; after an error neither is called.
template <auto run, auto drop, class Step> treadle_status queue_step(treadle_loop loop, Step *self) noexcept {
    auto post = TREADLE_INIT(treadle_post);
    post.info = self;
    post.fn = [](void *info) noexcept {
        guarded([info] { (static_cast<Step *>(info)->*run)(); });
        finished_step = info;
    };
    post.destroy = [](void *info) noexcept {
        if (info == queueing_step) return;
        if (std::exchange(finished_step, nullptr) == info) return;
        guarded([info] { (static_cast<Step *>(info)->*drop)(); });
    };
    const void *const outer = std::exchange(queueing_step, self);
    const treadle_status status = treadle_loop_post_in(loop, &post);
    queueing_step = outer;
    return status == TREADLE_IGNORED ? TREADLE_E_CLOSED : status;
}

/// Throws what queue_step returned, or what became of a queued step.
inline void require_step(treadle_status status, const char *function) {
    if (status == TREADLE_E_CLOSED) raise(Status::closed, "the loop's thread has ended", function);
    if (status < 0) raise(Error::last());
}

/// The awaiter of a loop.
class [[nodiscard]] LoopAwaiter {
  public:
    explicit LoopAwaiter(const Loop &loop) : loop_(loop) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) {
        coroutine_ = coroutine;
        require_step(queue_step<&LoopAwaiter::run, &LoopAwaiter::drop>(loop_.native(), this), function);
    }
    void await_resume() const { require_step(status_, function); }

  private:
    static constexpr const char *function = "co_await treadle::Loop";
    void run() { coroutine_.resume(); }
    void drop() {
        status_ = TREADLE_E_CLOSED;
        coroutine_.resume();
    }

    Loop loop_;
    std::coroutine_handle<> coroutine_;
    treadle_status status_ = TREADLE_OK;
};

/// The awaiter of Loop::perform: waits for the call on the loop, then the return to the loop of the thread that waits.
template <class F> class [[nodiscard]] PerformAwaiter {
    using Result = std::invoke_result_t<F &>;
    static_assert(!std::is_rvalue_reference_v<Result>, "a function that is waited for returns no rvalue reference");

  public:
    template <class G> PerformAwaiter(const Loop &loop, G &&f) : loop_(loop), f_(std::forward<G>(f)) {
        if constexpr (may_be_null<F>::value)
            if (f_ == nullptr) raise(Status::argument, "the callback is empty", function);
    }
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) {
        coroutine_ = coroutine;
        treadle_loop own = nullptr;
        if (treadle_loop_copy_of_thread(gettid(), &own) == TREADLE_OK) own_ = Loop::adopt(own);
        require_step(queue_step<&PerformAwaiter::call, &PerformAwaiter::drop_call>(loop_.native(), this), function);
    }
    Result await_resume() {
        require_step(status_, function);
        if (thrown_) std::rethrow_exception(thrown_);
        return returned_.take();
    }

  private:
    static constexpr const char *function = "treadle::Loop::perform";
    void call() {
        keeping(thrown_, [&] { returned_.from(f_); });
        go_back();
    }
    void drop_call() {
        status_ = TREADLE_E_CLOSED;
        go_back();
    }
    void go_back() {
        const Loop own = std::move(own_); // the coroutine may end, and this with it, before queue_step has returned
        if (!own || own.is_current()) return coroutine_.resume();
        const treadle_status status = queue_step<&PerformAwaiter::resume, &PerformAwaiter::drop_return>(own.native(), this);
        if (status == TREADLE_OK) return;
        status_ = status;
        coroutine_.resume();
    }
    void resume() { coroutine_.resume(); }
    void drop_return() {
        status_ = TREADLE_E_CLOSED;
        coroutine_.resume();
    }

    Loop loop_, own_;
    F f_;
    Returned<Result> returned_{};
    std::exception_ptr thrown_{};
    std::coroutine_handle<> coroutine_;
    treadle_status status_ = TREADLE_OK;
};

} // namespace detail

template <class F> detail::PerformAwaiter<std::decay_t<F>> Loop::perform(F &&f) const {
    return detail::PerformAwaiter<std::decay_t<F>>(*this, std::forward<F>(f));
}

/// For coroutines of C++20: after `co_await loop` the coroutine continues on the loop's thread, in a later pass, like a post. If
/// the thread ends before, it continues there, with an Error of Status::closed.
/// [any] Errors: when it is awaited, Error of Status::closed, Status::stale, Status::forked or Status::no_memory. Since 1.0.
[[nodiscard]] inline detail::LoopAwaiter operator co_await(const Loop &loop) { return detail::LoopAwaiter(loop); }

} // inline namespace
} // namespace treadle

#endif
#endif
