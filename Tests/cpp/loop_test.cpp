// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// loop_test.cpp: running, stopping and waking loops, modes, blocks.
#include "check.hpp"

#include <algorithm>

using namespace treadle;

TEST(loops_of_threads, "RL-1 RL-2 RL-3 RL-9") {
    const Loop loop = Loop::current();
    CHECK(loop == Loop::current() && loop == Loop::main() && loop.is_current());
    CHECK(loop == Loop::of_thread(loop.thread_id()));
    Loop other;
    std::thread([&] {
        other = Loop::current();
        CHECK(other.is_current() && !loop.is_current() && loop == Loop::main() && other != loop);
        CHECK_ERROR(loop.run(), wrong_thread, "loop");
    }).join();
    CHECK_EQUAL(other.thread_id(), 0);
    CHECK_EQUAL(other.wake(), Status::ok);
    CHECK(!other.add(Source([] {})));
    CHECK_ERROR(Loop::of_thread(-1), not_found, "thread");
    CHECK(!loop.describe().empty());
}

TEST(results_of_runs, "RUN-1 RUN-4 RUN-6 RUN-2") {
    const Loop loop = Loop::current();
    CHECK_EQUAL(loop.run(), RunResult::finished);
    CHECK_EQUAL(loop.run(Mode::common()), RunResult::finished);
    const Source source([&] {});
    CHECK(loop.add(source, "m"));
    CHECK(!loop.add(source, "m"));
    CHECK(loop.contains(source, "m") && !loop.contains(source));
    CHECK_EQUAL(loop.poll("m"), RunResult::timed_out);
    CHECK_EQUAL(loop.run_for(-1s, "m"), RunResult::timed_out);
    CHECK_EQUAL(loop.run_until(Clock::now() + 1ms, "m"), RunResult::timed_out);
    CHECK_EQUAL(loop.run_until(std::chrono::system_clock::now(), "m"), RunResult::timed_out);
    CHECK(source.signal());
    CHECK_EQUAL(loop.run("m", RunOptions::return_after_source), RunResult::handled_source);
    CHECK_ERROR(loop.run("m", static_cast<RunOptions>(64)), argument, "flags");
    CHECK_ERROR(loop.run_for(std::chrono::duration<double>(std::nan("")), "m"), argument, "not a number");
    CHECK(loop.remove(source, "m"));
    CHECK(!loop.remove(source, "m"));
    CHECK_EQUAL(loop.run("m"), RunResult::finished);
}

TEST(stops_and_nested_runs, "STOP-1 STOP-9 RUN-12 RL-6") {
    const Loop loop = Loop::current();
    CHECK(!loop.stop());
    const Source keeper([] {});
    loop.add(keeper, "outer");
    loop.add(keeper, "inner");
    CHECK(!loop.current_mode());
    std::string trace;
    loop.post(
        [&] {
            trace += loop.current_mode()->name();
            loop.post([&] { loop.stop(); }, {"inner"});
            CHECK_EQUAL(loop.run("inner"), RunResult::stopped);
            trace += loop.current_mode()->name();
            CHECK_EQUAL(loop.request_stop(StopOptions::all_levels), Status::ok);
        },
        {"outer"});
    CHECK_EQUAL(loop.run("outer"), RunResult::stopped);
    CHECK_EQUAL(trace, "outerouter");
    CHECK_EQUAL(loop.request_stop(), Status::ok);
    CHECK_EQUAL(loop.run("outer"), RunResult::stopped);
    CHECK_EQUAL(loop.request_stop(static_cast<StopOptions>(4)), Status::argument);
}

TEST(an_interrupt_descriptor_ends_a_run, "ABI-4") {
    const Loop loop = Loop::current();
    const Source keeper([] {});
    loop.add(keeper);
    int ends[2];
    CHECK(pipe(ends) == 0);
    loop.set_interrupt_descriptor(ends[0]);
    CHECK(write(ends[1], "x", 1) == 1);
    const RunOptions options = RunOptions::return_on_interrupt | RunOptions::return_after_source;
    CHECK_EQUAL(loop.run({}, options), RunResult::interrupted);
    loop.set_interrupt_descriptor(-1);
    CHECK_ERROR(loop.set_interrupt_descriptor(100000), argument, "fd");
}

TEST(another_loop_runs_this_one_within_a_budget, "ABI-9 ABI-13") {
    const Loop loop = Loop::current();
    int called = 0;
    CHECK(!loop.prepare());
    CHECK_EQUAL(*loop.dispatch(), RunResult::timed_out);
    const auto date = Clock::after(1h);
    loop.add(Timer(date, [] {}));
    CHECK(loop.prepare() == date);
    const auto earlier = Clock::after(30min);
    const Observer observer(Activity::prepare, [&](const Observer &, Activity) { loop.add(Timer(earlier, [] {})); });
    loop.add(observer);
    CHECK(loop.prepare() == earlier);
    observer.invalidate();
    for (int i = 0; i < 5; i++) loop.post([&] { called++; });
    CHECK(*loop.prepare() <= Clock::now());
    CHECK(!loop.dispatch({}, forever, 2));
    CHECK(called == 2);
    CHECK(!loop.dispatch({}, 0ns)); /* at least one */
    CHECK(called == 3);
    CHECK_EQUAL(*loop.dispatch({}, 10min), RunResult::timed_out);
    CHECK(called == 5);
    loop.post([&] { loop.stop(); });
    CHECK_EQUAL(*loop.dispatch(), RunResult::stopped);
    CHECK_ERROR(loop.prepare(Mode::common()), argument, "mode");
    CHECK_ERROR(loop.dispatch(Mode::common()), argument, "mode");
    CHECK_ERROR(loop.open_pollable(Mode::common()), argument, "mode");
}

TEST(modes_of_a_loop, "RL-4 RL-7 MODE-8 TMR-9") {
    const Loop loop = Loop::current();
    const Source source([] {});
    std::vector<std::string> expected{TREADLE_DEFAULT_MODE};
    for (int i = 0; i < 40; i++) {
        expected.push_back("mode number " + std::to_string(i));
        loop.add(source, expected.back());
    }
    std::vector<std::string> names;
    for (const Mode &mode : loop.modes()) names.emplace_back(mode.name());
    std::sort(names.begin(), names.end());
    std::sort(expected.begin(), expected.end());
    CHECK(names == expected);
    CHECK(loop.is_common_mode({}) && !loop.is_common_mode("own"));
    CHECK(loop.add_common_mode("own"));
    CHECK(!loop.add_common_mode("own"));
    CHECK(loop.is_common_mode("own"));
    CHECK_ERROR(loop.add_common_mode(Mode::common()), argument, "mode");
    CHECK(!loop.next_fire() && !loop.next_fire("unknown"));
    const auto date = Clock::after(1h);
    const Timer timer(date, [] {});
    loop.add(timer, Mode::common());
    CHECK(loop.next_fire() == date && loop.next_fire("own") == date);
}

TEST(blocks_run_in_their_order_and_modes, "BLK-1 BLK-3 BLK-4 BLK-5") {
    const Loop loop = Loop::current();
    const Source keeper([] {});
    std::string trace;
    for (const char *mode : {"a", "b"}) loop.add(keeper, mode);
    loop.post([&] { trace += '1'; }, {"a", "b"});
    loop.post([&] { trace += '2'; }, {"b"});
    loop.post([&, last = std::make_unique<char>('3')] { trace += *last; }, {"a"});
    loop.post([&] { trace += '4'; }, std::vector<Mode>{});
    loop.post([&] { trace += '5'; });
    loop.poll("a");
    CHECK_EQUAL(trace, "13");
    loop.poll("b");
    CHECK_EQUAL(trace, "132");
    loop.add(keeper);
    loop.poll();
    CHECK_EQUAL(trace, "13245");
}

TEST(a_posted_call_runs_once_on_the_loops_thread_or_is_given_up, "BLK-2 RL-8 RL-9") {
    Loop loop;
    Semaphore ready, go;
    std::atomic<int> ran{0};
    const auto here = std::this_thread::get_id();
    std::thread thread([&] {
        loop = Loop::current();
        const Source keeper([] {});
        loop.add(keeper);
        ready.post();
        CHECK_EQUAL(loop.run(), RunResult::stopped);
        keeper.invalidate();
        ready.post();
        go.wait();
    });
    ready.wait();
    const auto call = [&] { CHECK(std::this_thread::get_id() != here), ran++; };
    for (int i = 0; i < 100; i++) {
        CHECK(loop.post([&call] { call(); }));                                                  // in the pointer
        CHECK(loop.post([&call, counted = Counted(), box = std::make_unique<int>(1)] { call(); })); // in a box
        CHECK(loop.post(std::function<void()>(call)));
    }
    CHECK(loop.post([&] { loop.stop(); }));
    ready.wait();
    CHECK_EQUAL(ran, 300);
    CHECK_EQUAL(Counted::alive, 0);
    CHECK(loop.post([&call, counted = Counted()] { call(); })); // nobody runs the loop any more
    CHECK_EQUAL(Counted::alive, 1);
    go.post();
    thread.join();
    CHECK_EQUAL(Counted::alive, 0);
    CHECK(!loop.post([&call] { call(); }));
    CHECK(!loop.post([&call, counted = Counted()] { call(); }));
    CHECK(!loop.post([&call, counted = Counted()] { call(); }));
    CHECK_EQUAL(Counted::alive, 0);
    CHECK_EQUAL(ran, 300);
}
