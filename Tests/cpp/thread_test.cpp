// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// thread_test.cpp: threads, their states, attributes and dictionaries, and the last-resort handler.
#include "check.hpp"

#include <fstream>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <unistd.h>

using namespace treadle;

static_assert(!std::is_constructible_v<Thread, int>, "an int is no function");

TEST(a_thread_runs_once_and_gives_its_result, "THR-1 THR-2 THR-8 THR-17") {
    static int value = 5;
    std::atomic<bool> inside{false};
    const Thread thread([&, counted = Counted()]() -> int * {
        CHECK(Thread::current().is_executing() && !Thread::current_is_main());
        inside = true;
        return &value;
    });
    CHECK(thread.state() == ThreadState::created && !thread.is_executing() && !thread.is_finished());
    CHECK_ERROR(thread.join(), state, "thread");
    thread.start();
    CHECK_ERROR(thread.start(), state, "thread");
    CHECK(thread.join() == &value && inside);
    CHECK(thread.state() == ThreadState::finished && thread.is_finished());
    CHECK_EQUAL(Counted::alive, 0);
    CHECK_ERROR(thread.join(), state, "thread");
    const Thread nothing([] {});
    nothing.start();
    CHECK(nothing.join() == nullptr);
    const Thread constant([]() -> const char * { return "text"; });
    constant.start();
    CHECK_EQUAL(std::string(static_cast<const char *>(constant.join())), "text");
}

TEST(detached_threads_and_moved_functions, "THR-3 THR-4 PERF-17") {
    Semaphore done;
    auto box = std::make_unique<int>(3);
    const Thread detached = Thread::detached([&done, box = std::move(box)] {
        CHECK_EQUAL(*box, 3);
        done.post();
    });
    CHECK(detached.is_detached());
    CHECK_ERROR(detached.join(), state, "thread");
    done.wait();
    perform_in_background([&] { done.post(); });
    done.wait();
    CHECK(Thread::is_multithreaded());
    Thread later([&] { done.post(); });
    later.set_detached();
    CHECK_ERROR(later.set_detached(), state, "thread");
    later.start();
    later.reset();
    done.wait();
}

TEST(a_function_that_never_runs_is_destroyed, "THR-4 THR-5") {
    {
        const Thread never([counted = Counted()] {});
        CHECK_EQUAL(Counted::alive, 1);
    }
    CHECK_EQUAL(Counted::alive, 0);
    const Thread cancelled([counted = Counted()] { CHECK(false); });
    cancelled.cancel();
    CHECK(cancelled.is_cancelled());
    cancelled.start();
    CHECK(cancelled.join() == nullptr);
    CHECK_EQUAL(Counted::alive, 0);
    CHECK_ERROR(Thread(std::function<void()>()), argument, "empty");
}

TEST(a_worker_serves_its_loop_until_it_is_stopped, "THR-18 RUN-16") {
    const Thread worker = Thread::worker();
    CHECK(worker.start_and_wait());
    for (int i = 0; i < 10; i++) { // nothing is in its mode before and after
        bool was_there = false;
        worker.perform_and_wait([&] { was_there = worker == Thread::current(); });
        CHECK(was_there);
    }
    CHECK_EQUAL(reinterpret_cast<std::intptr_t>(worker.stop_and_join()), TREADLE_RUN_STOPPED);
    CHECK_EQUAL(Loop::current().run_for(1ms, Mode("none"), RunOptions::when_empty), RunResult::timed_out);
}

TEST(synchronous_start_and_stop, "THR-18 STOP-9") {
    const int rounds = scaled(300);
    for (int i = 0; i < rounds; i++) {
        const Thread thread([&] {
            const Loop loop = Loop::current();
            loop.add(Source([] {}));
            CHECK_EQUAL(loop.run(), RunResult::stopped);
        });
        CHECK(thread.start_and_wait());
        CHECK(thread.stop_and_join() == nullptr);
    }
    const Thread ready([] { Thread::declare_ready(); });
    CHECK(ready.start_and_wait(1h));
    ready.join();
    CHECK_ERROR(Thread([] {}).start_and_wait(1h), state, "thread");
    Semaphore leave;
    const Thread slow([&] { leave.wait(); });
    CHECK(!slow.start_and_wait(1us));
    CHECK(!slow.join_for(0s) && !slow.join_for(1us));
    leave.post();
    CHECK(slow.join_for(1h) == std::optional<void *>(nullptr));
}

TEST(a_scope_ends_its_thread, "THR-18") {
    std::vector<int> local(100, 1);
    {
        const Scoped<Thread> thread(Thread([&] {
            const Loop loop = Loop::current();
            loop.add(Source([] {}));
            loop.run();
            local[99] = 2;
        }));
        thread.start();
    }
    CHECK_EQUAL(local[99], 2);
}

TEST(which_thread, "THR-9 THR-10 THR-20") {
    const Thread here = Thread::current();
    CHECK(here == Thread::main() && here.is_main() && Thread::current_is_main() && here.is_executing());
    CHECK_EQUAL(here.id(), getpid());
    CHECK(pthread_equal(here.pthread(), pthread_self()));
    CHECK(here.loop() == Loop::current());
    Thread foreign;
    std::thread([&] {
        foreign = Thread::current();
        CHECK(foreign == Thread::current() && foreign != here && !foreign.is_main() && foreign.is_detached());
        CHECK(Thread::main() == here);
    }).join();
    CHECK(foreign.is_finished());
    CHECK_ERROR(foreign.loop(), state, "thread");
    Thread self;
    Semaphore tried;
    self = Thread([&] {
        CHECK_ERROR(self.join(), deadlock, "thread");
        tried.post();
    });
    self.start();
    tried.wait();
    self.join();
    CHECK_ERROR(here.join(), state, "thread");
    CHECK_ERROR(Thread::exit(), state, "thread");
}

struct Noted {
    std::atomic<int> &destroyed;
    ~Noted() { destroyed++; }
};
TEST(exit_destroys_the_functions_objects, "THR-7 THR-17") {
    static int value;
    std::atomic<int> destroyed{0};
    const Thread thread([&, counted = Counted()] {
        const Noted noted{destroyed};
        Thread::exit(&value);
    });
    thread.start();
    CHECK(thread.join() == &value);
    CHECK_EQUAL(destroyed, 1);
    CHECK_EQUAL(Counted::alive, 0);
}

TEST(attributes, "THR-13") {
    Semaphore leave;
    const Thread thread([&] { leave.wait(); });
    CHECK_EQUAL(thread.stack_size(), 524288u);
    thread.set_stack_size(1 << 20);
    CHECK_EQUAL(thread.stack_size(), 1u << 20);
    for (std::size_t bad : {std::size_t(0), std::size_t(16383), std::size_t(16385), std::size_t(1) << 31})
        CHECK_ERROR(thread.set_stack_size(bad), range, "size");
    CHECK_EQUAL(thread.name(), "");
    const std::string long_name(300, 'n');
    thread.set_name(long_name);
    CHECK_EQUAL(thread.name(), long_name);
    CHECK_ERROR(thread.set_name("\xff"), argument, "name");
    CHECK_ERROR(thread.set_name(std::string("a\0b", 3)), argument, "NUL");
    CHECK(thread.priority() == 0.5 && thread.priority_is_applied());
    thread.set_priority(2);
    CHECK(thread.priority() == 1.0);
    thread.set_priority(0.5);
    CHECK_ERROR(thread.set_priority(std::numeric_limits<double>::quiet_NaN()), argument, "priority");
    CHECK(thread.policy() == ThreadPolicy::normal);
    thread.set_policy(ThreadPolicy::round_robin);
    CHECK(thread.policy() == ThreadPolicy::round_robin);
    CHECK_ERROR(thread.set_policy(static_cast<ThreadPolicy>(9)), argument, "policy");
    thread.set_policy(ThreadPolicy::normal);
    thread.start();
    CHECK_ERROR(thread.set_stack_size(1 << 20), state, "thread");
    leave.post();
    thread.join();
}

TEST(values_of_a_thread, "THR-12") {
    const Thread here = Thread::current();
    here.set_value("text", std::string("abc"));
    here.set_value("counted", Counted());
    here.set_value("moved", std::make_unique<int>(4));
    CHECK_EQUAL(*here.value<std::string>("text"), "abc");
    CHECK(here.value<int>("absent") == nullptr);
    CHECK(here.use_value<std::unique_ptr<int>>("moved", [](auto &value) { CHECK_EQUAL(*value, 4); }));
    CHECK(!here.use_value<int>("absent", [](int &) { CHECK(false); }));
    CHECK_EQUAL(Counted::alive, 1);
    CHECK(here.use_value<Counted>("counted", [&](Counted &) {
        here.set_value("counted", 1); // replaced while it is used
        CHECK_EQUAL(Counted::alive, 1);
    }));
    CHECK_EQUAL(Counted::alive, 0);
    bool thrown = false;
    try {
        here.use_value<std::string>("text", [](std::string &) { throw std::runtime_error("through"); });
    } catch (const std::runtime_error &error) { thrown = error.what() == std::string("through"); }
    CHECK(thrown);
    CHECK(here.remove_value("text") && !here.remove_value("text"));
    CHECK_ERROR(here.set_value(std::string("a\0b", 3), Counted()), argument, "NUL");
    CHECK_ERROR(here.value<int>(std::string("a\0b", 3)), argument, "NUL");
    const Thread thread([] { Thread::current().set_value("counted", Counted()); });
    thread.start();
    thread.join();
    CHECK_ERROR(thread.set_value("late", Counted()), state, "thread");
    CHECK_EQUAL(Counted::alive, 0);
}

TEST(sleeps, "THR-15") {
    const auto began = Clock::now();
    Thread::sleep_for(2ms);
    CHECK(Clock::now() >= began + 2ms);
    Thread::sleep_until(began + 3ms);
    CHECK(Clock::now() >= began + 3ms);
    Thread::sleep_for(-1h);
    Thread::sleep_for(std::chrono::duration<double>(std::nan("")));
    Thread::sleep_until(began);
}

TEST(the_last_resort_handler_lets_the_program_go_on, "THR-19 PERF-11") {
    std::vector<std::string> reports;
    Thread reported;
    set_last_resort([&, counted = Counted()](const Thread &thread, std::string_view kind, std::string_view message) {
        reports.push_back(std::string(kind) + "/" + std::string(message));
        reported = thread;
        return true;
    });
    const Loop loop = Loop::current();
    const Source source([] { throw std::runtime_error("performed"); });
    loop.add(source);
    source.signal();
    CHECK_EQUAL(loop.run({}, RunOptions::return_after_source), RunResult::handled_source);
    CHECK(reported == Thread::main());
    loop.post([] { throw 7; });
    loop.poll();
    const Thread thread([counted = Counted()]() -> void * { throw std::logic_error("on a thread"); });
    thread.start();
    CHECK(thread.join() == nullptr);
    CHECK(reported == thread);
    Thread::main().perform([] { throw std::logic_error("requested"); });
    loop.poll();
    CHECK((reports == std::vector<std::string>{"C++ exception/std::runtime_error: performed", "C++ exception/int",
                                               "C++ exception/std::logic_error: on a thread",
                                               "C++ exception/std::logic_error: requested"}));
    CHECK_EQUAL(Counted::alive, 1);
    set_last_resort([] { return false; });
    CHECK_EQUAL(Counted::alive, 0);
    CHECK_ERROR(set_last_resort(std::function<bool()>()), argument, "empty");
    reset_last_resort();
}

TEST(an_error_is_handed_to_the_last_resort_handler, "THR-19") {
    CHECK(!report_error("test", "nobody deals with it"));
    std::string got;
    set_last_resort([&](std::string_view kind, std::string_view message) {
        got = std::string(kind) + "/" + std::string(message);
        return true;
    });
    CHECK(report_error("test", "by hand"));
    CHECK_EQUAL(got, "test/by hand");
    CHECK(report_error(nullptr, nullptr));
    CHECK_EQUAL(got, "/");
    reset_last_resort();
}

TEST(a_log_function_is_told_what_is_often_a_mistake, "OBJ-7") {
    std::vector<std::string> messages;
    set_log([&, counted = Counted()](std::string_view message) { messages.emplace_back(message); });
    CHECK_ERROR(Timer(Clock::now(), [] {}, {-1s}), range, "");
    CHECK_EQUAL(messages.size(), 1u);
    CHECK(messages[0].find("treadle_timer_create") != messages[0].npos);
    CHECK_EQUAL(Counted::alive, 1);
    reset_log();
    CHECK_EQUAL(Counted::alive, 0);
    CHECK_ERROR(Loop::current().run({}, static_cast<RunOptions>(1u << 31)), argument, "");
    CHECK_EQUAL(messages.size(), 1u);
    CHECK_ERROR(set_log(std::function<void()>()), argument, "empty");
    // An exception does not leave the function.
    bool reported = false;
    set_last_resort([&] { return reported = true; });
    set_log([] { throw 7; });
    CHECK_ERROR(Loop::current().add_common_mode(Mode::common()), argument, "");
    CHECK(reported);
    reset_log();
    reset_last_resort();
}

TEST(a_trace_has_what_ran_between_its_start_and_its_stop, "RL-16") {
    const std::string path = "/tmp/treadle-trace-test-" + std::to_string(getpid()) + ".trace";
    const auto loop = Loop::current();
    const Source bell([] { trace_mark("inside", -3); }, 0, "bell of the test");
    loop.add(bell);
    CHECK(!trace_mark("too early"));
    CHECK_ERROR(trace_stop(), state, "");
    trace_start(path);
    CHECK_ERROR(trace_start(path), state, "");
    CHECK(trace_mark("outside"));
    bell.signal();
    loop.poll();
    trace_stop();
    std::ifstream file(path, std::ios::binary);
    const std::string written{std::istreambuf_iterator<char>(file), {}};
    unlink(path.c_str());
    for (const char *text : {"bell of the test", "inside", "outside"}) CHECK(written.find(text) != written.npos);
    CHECK(written.find("too early") == written.npos);
    CHECK_ERROR(trace_start(std::string("a\0b", 3)), argument, "NUL");
    CHECK_ERROR(trace_mark(nullptr), argument, "");
    CHECK_ERROR(trace_mark(std::string(256, 'x').c_str()), range, "");
    trace_start("/no such folder/run.trace");
    CHECK_ERROR(trace_stop(), system, "");
}

TEST(an_exception_of_a_thread_terminates_without_a_handler, "THR-19") {
    for (const bool replaced : {false, true}) {
        const Ended ended = in_child([&] {
            after_fork_child();
            if (replaced) {
                set_last_resort([](const Thread &, std::string_view, std::string_view message) {
                    return message == "another";
                });
            }
            std::set_terminate([] { std::_Exit(std::current_exception() ? 42 : 43); });
            const Thread thread([] { throw std::out_of_range("too far"); });
            thread.start();
            thread.join();
        });
        CHECK(WIFEXITED(ended.status));
        CHECK_EQUAL(WEXITSTATUS(ended.status), 42);
        CHECK_EQUAL(ended.errors.find("std::out_of_range: too far") == ended.errors.npos, replaced);
    }
}

TEST(functions_that_run_their_loop_end_with_a_shutdown, "THR-21 THR-17 THR-19") {
    // Whoever made the thread, and wherever the shutdown meets it; nobody has to catch anything.
    static Semaphore running, shut;
    set_last_resort([](std::string_view, std::string_view) -> bool { check_failed(__FILE__, __LINE__, "escaped"); });
    const auto serve = [] {
        Loop::current().add(Source([] {}));
        Loop::current().post([] { running.post(); });
        CHECK_EQUAL(Loop::current().run(), RunResult::closed);
    };
    const auto serve_nested = [] {
        const Loop loop = Loop::current();
        const Mode inner("inner");
        loop.add(Source([] {}));
        loop.add(Source([] {}), inner);
        loop.post([loop, inner] {
            running.post();
            CHECK_EQUAL(loop.run(inner), RunResult::closed);
        });
        CHECK_EQUAL(loop.run(), RunResult::closed);
    };
    const auto serve_for_ever = [] {
        Loop::current().add(Source([] {}));
        Loop::current().post([] { running.post(); });
        while (true) Loop::current().run_for(1ms);
    };
    const auto serve_late = [] {
        running.post();
        shut.wait();
        CHECK_EQUAL(Loop::current().run(), RunResult::closed);
    };
    std::vector<Thread> threads{Thread(serve), Thread(serve_nested), Thread(serve_for_ever), Thread(serve_late)};
    for (const Thread &thread : threads) thread.start();
    std::thread foreign(serve), late(serve_late);
    for (int i = 0; i < 6; i++) running.wait();
    CHECK(shutdown(1h));
    shut.post();
    shut.post();
    for (const Thread &thread : threads) CHECK(thread.join() == nullptr);
    foreign.join();
    late.join();
    CHECK_EQUAL(Loop::current().run(), RunResult::closed);
    CHECK_ERROR(Loop::current().run(), closed, "");
    CHECK_ERROR(Thread([] {}).start(), closed, "");
}
