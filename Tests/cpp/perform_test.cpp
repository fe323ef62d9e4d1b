// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// perform_test.cpp: calls on threads, now or later, with or without waiting.
#include "check.hpp"

#include <stdexcept>

using namespace treadle;

// A thread that runs its loop in the default mode until it is stopped.
static Thread worker() {
    const Thread thread([] {
        const Loop loop = Loop::current();
        loop.add(Source([] {}));
        loop.run();
    });
    thread.start_and_wait();
    return thread;
}

TEST(calls_are_performed_on_the_thread_in_order, "PERF-1 PERF-3 PERF-4 PERF-8") {
    Semaphore done;
    std::vector<int> seen;
    {
        const Scoped<Thread> thread(worker());
        const auto here = std::this_thread::get_id();
        for (int i = 0; i < 100; i++) {
            thread.perform([&, i, counted = Counted()] {
                CHECK(std::this_thread::get_id() != here && Thread::current() == thread);
                seen.push_back(i);
            });
        }
        CHECK(thread.perform([&] { done.post(); }, {TREADLE_DEFAULT_MODE, "another"}));
        CHECK(!thread.perform([counted = Counted()] { CHECK(false); }, std::vector<Mode>{}));
        done.wait();
        CHECK_EQUAL(seen.size(), 100u);
        for (int i = 0; i < 100; i++) CHECK_EQUAL(seen[static_cast<std::size_t>(i)], i);
        thread.perform([counted = Counted()] { CHECK(false); }, {"never run"});
    }
    CHECK_EQUAL(Counted::alive, 0);
}

TEST(a_call_that_is_waited_for_brings_its_result, "PERF-2 PERF-7 PERF-11") {
    const Scoped<Thread> thread(worker());
    int local = 0;
    CHECK_EQUAL(thread.perform_and_wait([&] { return ++local; }), 1);
    thread.perform_and_wait([&] { local++; }, {TREADLE_DEFAULT_MODE});
    CHECK_EQUAL(local, 2);
    CHECK_EQUAL(*thread.perform_and_wait([] { return std::make_unique<int>(5); }), 5);
    int &reference = thread.perform_and_wait([&]() -> int & { return local; });
    CHECK(&reference == &local);
    bool caught = false;
    try {
        thread.perform_and_wait([]() -> int { throw std::runtime_error("over there"); });
    } catch (const std::runtime_error &error) { caught = error.what() == std::string("over there"); }
    CHECK(caught);
    CHECK_EQUAL(Thread::current().perform_and_wait([] { return Thread::current() == Thread::main(); }), true);
    CHECK_ERROR(thread.perform_and_wait([] {}, std::vector<Mode>{}), argument, "empty");
    CHECK_ERROR(thread.perform_and_wait([] { Thread::main().perform_and_wait([] {}); }), deadlock, "");
}

TEST(the_end_of_a_thread_ends_its_calls, "PERF-9") {
    const Thread finished([] {});
    finished.start();
    finished.join();
    CHECK_ERROR(finished.perform([counted = Counted()] {}), closed, "thread");
    CHECK_ERROR(finished.perform_and_wait([] { return 1; }), closed, "thread");
    CHECK_EQUAL(Counted::alive, 0);
    const int rounds = scaled(200);
    for (int i = 0; i < rounds; i++) {
        const Scoped<Thread> thread(worker());
        std::thread stopper([&] { thread.stop(); });
        try {
            CHECK_EQUAL(thread.perform_and_wait([] { return 7; }), 7);
        } catch (const Error &error) { CHECK_EQUAL(error.status(), Status::closed); }
        stopper.join();
    }
}

TEST(delayed_calls, "PERF-12 PERF-13 PERF-15") {
    const Loop loop = Loop::current();
    std::string trace;
    int target = 0;
    perform_after(0s, [&] { trace += '1'; });
    perform_after(-1h, [&, counted = Counted()] { trace += '0'; });
    perform_after(0s, [&] { trace += '2'; });
    perform_after(0s, [&, counted = Counted()] { trace += 'x'; }, &target);
    perform_after(1h, [&, counted = Counted()] { trace += 'y'; }, &target);
    CHECK(!perform_after(0s, [&] { trace += 'z'; }, &target, {}));
    CHECK(perform_after(0s, [&] { trace += 'm'; }, nullptr, {"m"}));
    perform_after(1ms, [&] { trace += '3'; });
    CHECK_EQUAL(trace, "");
    CHECK(cancel_performs(&target) && !cancel_performs(&target));
    CHECK_EQUAL(Counted::alive, 1);
    CHECK_EQUAL(loop.run(), RunResult::finished);
    CHECK_EQUAL(trace, "0123");
    CHECK_EQUAL(Counted::alive, 0);
    CHECK_EQUAL(loop.run("m"), RunResult::finished);
    CHECK_EQUAL(trace, "0123m");
    const std::chrono::duration<double> no_number(std::nan(""));
    CHECK_ERROR(perform_after(no_number, [counted = Counted()] {}), argument, "number");
    CHECK_ERROR(perform_after(0s, std::function<void()>()), argument, "empty");
}
