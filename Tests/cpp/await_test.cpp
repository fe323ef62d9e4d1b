// flags: -std=c++20
// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// await_test.cpp: coroutines that wait for loops, and for calls on them.
#include "check.hpp"

#include <coroutine>
#include <stdexcept>

using namespace treadle;

// Lambdas with captures that have destructors are named before they are given to perform: g++ 12 destroys such captures twice if
// the lambda stands in the co_await expression.

// A coroutine that runs until its first wait at once, and is freed at its end.
struct Started {
    struct promise_type {
        Started get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() { throw; }
    };
};

static Thread worker() {
    const Thread thread = Thread::worker();
    thread.start_and_wait();
    return thread;
}

// Runs the calling thread's loop until stop() is called for it.
static void serve() { CHECK_EQUAL(Loop::current().run({}, RunOptions::when_empty), RunResult::stopped); }

TEST(a_call_returns_to_the_loop_that_awaits_it, "RL-1 BLK-2 BLK-3") {
    const Scoped<Thread> thread(worker());
    const Loop here = Loop::current(), there = thread.loop();
    int local = 4, steps = 0;
    const auto work = [&](Counted) -> Started {
        const int number = co_await there.perform([&] {
            CHECK(there.is_current());
            return ++local;
        });
        CHECK(here.is_current());
        CHECK_EQUAL(number, 5);
        auto increase = [&local, counted = Counted()] { local++; };
        co_await there.perform(std::move(increase));
        CHECK_EQUAL(local, 6);
        int &reference = co_await there.perform([&]() -> int & { return local; });
        CHECK(&reference == &local);
        auto give = [owned = std::make_unique<int>(7)]() mutable { return std::move(owned); };
        const std::unique_ptr<int> given = co_await there.perform(std::move(give)); // what can only be moved
        CHECK_EQUAL(*given, 7);
        bool caught = false;
        try {
            co_await there.perform([]() -> int { throw std::runtime_error("over there"); });
        } catch (const std::runtime_error &error) { caught = error.what() == std::string("over there"); }
        CHECK(caught && here.is_current());
        // Also on the loop itself: in a later pass.
        CHECK_EQUAL(co_await here.perform([&] { return steps; }), 1);
        here.stop();
    };
    work(Counted());
    steps++;
    serve();
    CHECK_EQUAL(Counted::alive, 0);
    CHECK_ERROR(there.perform(std::function<void()>()), argument, "empty");
}

TEST(a_coroutine_goes_to_the_loop_that_it_awaits, "BLK-2") {
    const Scoped<Thread> thread(worker());
    const Loop here = Loop::current(), there = thread.loop();
    int passes = 0;
    const auto work = [&](Counted) -> Started {
        co_await there;
        CHECK(there.is_current());
        co_await there;
        CHECK(there.is_current());
        co_await here;
        CHECK(here.is_current());
        const int before = passes;
        co_await here; // not before the posts that are queued
        CHECK_EQUAL(passes, before);
        here.post([&] { passes++; });
        co_await here;
        CHECK_EQUAL(passes, before + 1);
        here.stop();
    };
    work(Counted());
    serve();
    CHECK_EQUAL(Counted::alive, 0);
}

TEST(a_thread_without_a_loop_leaves_its_coroutine_to_the_loop_that_called, "RL-1 RL-9") {
    const Scoped<Thread> thread(worker());
    const Loop there = thread.loop();
    Semaphore done;
    std::thread without([&] {
        [](const Loop called, Semaphore &end, Counted) -> Started {
            CHECK_EQUAL(co_await called.perform([] { return 3; }), 3);
            CHECK(called.is_current());
            end.post();
        }(there, done, Counted());
    });
    without.join();
    done.wait();
    there.post([&] { done.post(); }); // the coroutine has ended before
    done.wait();
    CHECK_EQUAL(Counted::alive, 0);
}

// A coroutine that makes a call and expects its refusal or end.
static Started expect_closed(const Loop there, const Loop back, bool *called, Counted) {
    auto call = [called, counted = Counted()] { *called = true; };
    try {
        co_await there.perform(std::move(call));
        CHECK(false);
    } catch (const Error &error) {
        CHECK_EQUAL(error.status(), Status::closed);
        CHECK(std::strstr(error.message(), "thread"));
    }
    if (back) back.stop();
}

TEST(the_end_of_the_called_thread_ends_the_wait, "RL-8 RL-9 BLK-5") {
    const Loop here = Loop::current();
    bool called = false;
    const Thread thread([] {}); // it never runs its loop
    const Loop there = thread.loop();
    expect_closed(there, here, &called, Counted()); // queued, then discarded with the thread
    CHECK_EQUAL(Counted::alive, 3); // the coroutine's, and those of the function and of what is left of it
    thread.start();
    serve();
    thread.join();
    CHECK_EQUAL(Counted::alive, 0);
    expect_closed(there, Loop(), &called, Counted()); // refused at once
    CHECK_EQUAL(Counted::alive, 0);
    // The same for the loop itself.
    int closed = 0;
    const auto go = [&](Loop loop, Counted) -> Started {
        try {
            co_await loop;
        } catch (const Error &error) { closed += error.status() == Status::closed; }
    };
    go(there, Counted());
    CHECK_EQUAL(closed, 1);
    const Thread another([] {});
    go(another.loop(), Counted());
    CHECK_EQUAL(closed, 1);
    another.start();
    another.join();
    CHECK_EQUAL(closed, 2);
    CHECK_EQUAL(Counted::alive, 0);
    CHECK(!called);
}

TEST(the_end_of_the_awaiting_thread_ends_the_wait, "RL-8 RL-9 BLK-5") {
    const Scoped<Thread> thread(worker());
    const Loop there = thread.loop();
    for (const bool before : {true, false}) {
        Semaphore may_call, called, ended;
        int closed = 0;
        const Thread waiting([&] {
            const Loop own = Loop::current();
            [](const Loop target, Semaphore &start, int &ends, Counted) -> Started {
                try {
                    co_await target.perform([&] { start.wait(); });
                    CHECK(false);
                } catch (const Error &error) { ends += error.status() == Status::closed; }
            }(there, may_call, closed, Counted());
            if (before) return; // the call returns to a loop that is gone
            may_call.post();    // it returns to a loop that is not run any more
            there.post([&] { called.post(); });
            called.wait();
        });
        waiting.start();
        waiting.join();
        if (before) may_call.post();
        there.post([&] { ended.post(); });
        ended.wait();
        CHECK_EQUAL(closed, 1);
        CHECK_EQUAL(Counted::alive, 0);
    }
}

TEST(each_wait_ends_once_whoever_ends_first, "RL-8 STOP-9 BLK-5") {
    const int rounds = scaled(300);
    std::atomic<int> ended{0};
    int begun = 0;
    for (int round = 0; round < rounds; round++) {
        const Thread one = worker(), other = worker();
        const Loop first = one.loop(), second = other.loop();
        const auto work = [&ended](const Loop from, const Loop to, Counted) -> Started {
            try {
                co_await from;
                for (int i = 0; i < 5; i++) {
                    auto call = [counted = Counted()] {};
                    co_await to.perform(std::move(call));
                }
            } catch (const Error &error) { CHECK_EQUAL(error.status(), Status::closed); }
            ended++;
        };
        for (int i = 0; i < 4; i++, begun += 2) work(first, second, Counted()), work(second, first, Counted());
        one.stop();
        if (round % 2) std::this_thread::yield();
        other.stop();
        one.join();
        other.join();
    }
    CHECK_EQUAL(ended, begun);
    CHECK_EQUAL(Counted::alive, 0);
}

TEST(a_coroutine_may_run_its_loop_while_it_continues, "RUN-12") {
    const Scoped<Thread> thread(worker());
    const Loop here = Loop::current(), there = thread.loop();
    int inner = 0;
    const auto nested = [&](Counted) -> Started {
        co_await there.perform([] {});
        inner++;
        here.stop();
    };
    const auto work = [&](Counted) -> Started {
        co_await there.perform([] {});
        nested(Counted());
        serve();
        CHECK_EQUAL(inner, 1);
        here.stop();
    };
    work(Counted());
    serve();
    CHECK_EQUAL(inner, 1);
    CHECK_EQUAL(Counted::alive, 0);
}
