// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// callback_test.cpp: how callables are kept, called and destroyed, and what becomes of exceptions.
#include "check.hpp"

#include <fcntl.h>

#include <stdexcept>

using namespace treadle;

static int calls;
static void count_call() { calls++; }

// Runs a loop until the source was performed once.
static void perform_once(const Source &source) {
    const Loop loop = Loop::current();
    loop.add(source);
    source.signal();
    CHECK_EQUAL(loop.run({}, RunOptions::return_after_source), RunResult::handled_source);
    loop.remove(source);
}

// Whether a callable is kept in a box on the heap; it is called three times in any case.
template <class F> static bool is_boxed(F &&f) {
    const Source source(std::forward<F>(f));
    const int before = calls;
    for (int i = 1; i <= 3; i++) {
        perform_once(source);
        CHECK_EQUAL(calls, before + i);
    }
    using Call = detail::Callback<std::decay_t<F>, const Source &>;
    CHECK_EQUAL(Call::release() == nullptr, Call::in_pointer);
    return !Call::in_pointer;
}

struct Functor {
    void operator()() const { calls++; }
};
struct Keeping { // a class with a state that its calls change, although they are const
    mutable int count = 0;
    void operator()() const { calls += ++count; }
};
struct Method {
    void add() { calls++; }
};

TEST(small_callables_cost_no_memory, "SRC0-1") {
    int local = 0;
    CHECK(!is_boxed([] { calls++; }));
    CHECK(!is_boxed(&count_call));
    CHECK(!is_boxed(count_call));
    CHECK(!is_boxed([&local] { calls++, local++; }));
    CHECK(!is_boxed([&local](const Source &source) { CHECK(source.is_valid()), calls++, local++; }));
    CHECK(!is_boxed([](auto &&...all) { calls += sizeof...(all); }));
    CHECK(!is_boxed(Functor()));
    CHECK_EQUAL(local, 6);
}

TEST(callables_with_a_state_keep_it, "SRC0-1") {
    int local = 0;
    const auto sum_up = [count = 0]() mutable { calls += ++count; }; // 1, 3, 6, ... if it keeps its count
    static_assert(!detail::Callback<std::decay_t<decltype(sum_up)>>::in_pointer);
    const Source summing(sum_up);
    for (int expected : {1, 3, 6}) {
        perform_once(summing);
        CHECK_EQUAL(calls, expected);
    }
    static_assert(!detail::Callback<Keeping>::in_pointer);
    calls = 0;
    const Source keeping{Keeping()};
    for (int expected : {1, 3, 6}) {
        perform_once(keeping);
        CHECK_EQUAL(calls, expected);
    }
    calls = 0;
    CHECK(is_boxed([&local, more = 3] { calls++, local += more; }));
    CHECK(is_boxed(std::function<void()>(count_call)));
    CHECK(is_boxed([owned = std::make_unique<int>(1)] { calls += *owned; }));
    CHECK_EQUAL(local, 9);
    Method object;
    const Source bound(std::bind(&Method::add, &object));
    const int before = calls;
    perform_once(bound);
    CHECK_EQUAL(calls, before + 1);
}

TEST(a_callback_is_destroyed_once, "SRC0-2 OBJ-3 OBJ-4 TMR-7 OBS-8") {
    const Loop loop = Loop::current();
    int fd = dup(2);
    {
        const auto counted = [held = Counted()] { (void)held; };
        const int others = Counted::alive;
        Source source(counted);
        Timer timer(Clock::after(1h), counted, {1h, 1s});
        Observer observer(Activity::all, counted);
        Descriptor descriptor(fd, Readiness::readable, counted);
        CHECK_EQUAL(Counted::alive, others + 4);
        CHECK(loop.add(source) && loop.add(timer) && loop.add(observer) && loop.add(descriptor));
        timer.invalidate();
        observer.invalidate();
        CHECK_EQUAL(Counted::alive, others + 2);
        source.invalidate();
        descriptor.invalidate();
        CHECK_EQUAL(Counted::alive, others + 2);
        source.reset();
        descriptor.reset();
        CHECK_EQUAL(Counted::alive, others);
    }
    CHECK_EQUAL(Counted::alive, 0);
    // A block is destroyed when it has run, and when it is discarded.
    loop.add(Source([] {}));
    loop.post([held = Counted()] { CHECK_EQUAL(Counted::alive, 1), (void)held; });
    loop.poll();
    CHECK_EQUAL(Counted::alive, 0);
    close(fd);
}

TEST(a_callback_is_destroyed_when_its_object_cannot_be_made, "SRC0-2") {
    const auto counted = [held = Counted()] { (void)held; };
    CHECK_ERROR(Timer(Clock::now(), counted, {-1s}), range, "interval");
    CHECK_ERROR(Timer::every(0s, counted), range, "interval");
    CHECK_ERROR(Timer::after(std::chrono::duration<float>(std::nanf("")), counted), argument, "not a number");
    CHECK_ERROR(Descriptor(-7, Readiness::readable, counted), argument, "fd");
    CHECK_ERROR(Descriptor(0, Readiness::none, counted), argument, "events");
    CHECK_ERROR(Loop().post(counted), argument, "loop");
    CHECK_ERROR(Loop().post(counted), argument, "loop");
    CHECK_ERROR(Loop().post(counted, {"m"}), argument, "loop");
    CHECK_ERROR(Loop().post([] {}), argument, "loop");
    CHECK_EQUAL(Counted::alive, 1);
    CHECK_EQUAL(Counted::made, 7); // the six that got as far as being kept, and the first
}

TEST(empty_callbacks_are_refused, "") {
    void (*no_function)() = nullptr;
    CHECK_ERROR(Source(no_function), argument, "empty");
    CHECK_ERROR(Source(std::function<void()>()), argument, "empty");
    CHECK_ERROR(Timer(Clock::now(), std::function<void(const Timer &)>()), argument, "empty");
    CHECK_ERROR(Observer(Activity::all, no_function), argument, "empty");
    CHECK_ERROR(Descriptor(0, Readiness::readable, no_function), argument, "empty");
    CHECK_ERROR(Loop::current().post(no_function), argument, "empty");
    CHECK_ERROR(Loop::current().post(std::function<int()>()), argument, "empty");
}

TEST(callbacks_destroy_their_objects_and_themselves, "OBJ-5 OBJ-7 TMR-7") {
    const Loop loop = Loop::current();
    Timer timer;
    int fired = 0;
    timer = Timer::every(1us, [&, held = Counted()] {
        timer.invalidate();
        timer.reset();
        CHECK_EQUAL(Counted::alive, 1); // still there while it runs
        (void)held;
        fired++;
    });
    loop.add(timer);
    CHECK_EQUAL(loop.run(), RunResult::finished);
    CHECK_EQUAL(fired, 1);
    CHECK_EQUAL(Counted::alive, 0);
    Source kept;
    Source source([&](const Source &self) { kept = self; });
    const treadle_source native = source.native();
    perform_once(source);
    source.reset();
    CHECK(kept.native() == native && kept.is_valid());
}

TEST(text_of_a_callback_is_cut_to_fit, "RL-12") {
    SourceCallbacks callbacks;
    callbacks.describe = [] { return std::string(1000, 'x'); };
    const std::string text = Source(std::move(callbacks)).describe();
    CHECK(text.find("valid") != text.npos && text.find("xxxx") != text.npos && text.size() < 1000);
    callbacks = {};
    callbacks.describe = [] { return "a short one"; };
    CHECK(Source(std::move(callbacks)).describe().find("a short one") != text.npos);
}

struct Unusual {};

// What a program does that lets an exception out of a callback, without a handler.
template <class F> static Ended end_by(F &&f) {
    return in_child([&] {
        after_fork_child();
        std::set_terminate([] {
            std::fprintf(stderr, "terminated with %s\n", std::current_exception() ? "an exception" : "none");
            std::_Exit(42);
        });
        f(Loop::current());
    });
}
template <class F> static void check_ended(const char *line, F &&f) {
    const Ended ended = end_by([&](const Loop &loop) {
        loop.add(Source([] {}));
        f(loop);
    });
    if (!WIFEXITED(ended.status) || WEXITSTATUS(ended.status) != 42) CHECK_EQUAL(ended.errors, "an end by 42");
    const std::size_t end = ended.errors.find('\n');
    CHECK(end != ended.errors.npos);
    const std::string first = ended.errors.substr(0, end);
    if (first.find("C++ exception") == first.npos || first.find(line) == first.npos) CHECK_EQUAL(first, line);
    CHECK_EQUAL(ended.errors.substr(end + 1), "terminated with an exception\n");
}

TEST(an_exception_that_escapes_is_reported_and_terminates, "THR-19 PERF-11") {
    check_ended("std::runtime_error: out of luck", [](const Loop &) { perform_once(Source([] { throw std::runtime_error("out of luck"); })); });
    check_ended("Unusual", [](const Loop &loop) {
        loop.add(Timer::after(0s, [held = std::string("x")] { throw Unusual(); }));
        loop.run();
    });
    check_ended("int", [](const Loop &loop) {
        loop.add(Observer(Activity::entry, [] { throw 3; }));
        loop.poll();
    });
    check_ended("char const*", [](const Loop &loop) {
        loop.add(Descriptor(open("/dev/null", O_RDONLY), Readiness::readable, [] { throw "text"; }));
        loop.poll();
    });
    check_ended("treadle::v1::Error: nowhere: by hand", [](const Loop &loop) {
        loop.post([held = std::string("x")] { throw Error(Status::state, "by hand", "nowhere"); });
        loop.poll();
    });
    check_ended("std::logic_error: posted", [](const Loop &loop) {
        loop.post([] { throw std::logic_error("posted"); });
        loop.poll();
    });
    check_ended("std::runtime_error: requested", [](const Loop &loop) {
        Thread::current().perform([] { throw std::runtime_error("requested"); });
        loop.poll();
    });
    check_ended("std::runtime_error: received", [](const Loop &loop) {
        const Port port([] { throw std::runtime_error("received"); });
        loop.add(port);
        port.send_bytes(1, "x");
        loop.poll();
    });
    SourceCallbacks failing;
    failing.schedule = [](auto &&...) { throw std::out_of_range("scheduled"); };
    check_ended("std::out_of_range: scheduled", [&](const Loop &loop) { loop.add(Source(std::move(failing))); });
    failing = {};
    failing.cancel = [](auto &&...) { throw std::out_of_range("cancelled"); };
    check_ended("std::out_of_range: cancelled", [&](const Loop &loop) {
        const Source source(std::move(failing));
        loop.add(source);
        source.invalidate();
    });
    failing = {};
    failing.describe = []() -> std::string { throw std::out_of_range("described"); };
    check_ended("std::out_of_range: described", [&](const Loop &) { Source(std::move(failing)).describe(); });
    check_ended("std::runtime_error: told", [](const Loop &) {
        const Port port([] {});
        const auto told = Notification::port_invalid(port, [] { throw std::runtime_error("told"); });
        port.invalidate();
    });
    check_ended("std::runtime_error: put off", [](const Loop &) {
        const Pool pool;
        Pool::defer([] { throw std::runtime_error("put off"); });
    });
}

// Callbacks of C that a C++ program gives to the C interface itself: nothing of the wrapper is around them.
// Also where there is a handler outside of the library: nothing unwinds through its frames.
template <class F> static void check_plain(F &&f) {
    for (const bool is_caught : {false, true}) {
        const Ended ended = end_by([&](const Loop &loop) {
            if (!is_caught) return f(loop);
            try {
                f(loop);
            } catch (const Unusual &) {
            }
        });
        CHECK(WIFEXITED(ended.status));
        CHECK_EQUAL(WEXITSTATUS(ended.status), 42);
        CHECK_EQUAL(ended.errors, "terminated with an exception\n");
    }
}
TEST(an_exception_of_a_plain_callback_terminates, "THR-19") {
    check_plain([](const Loop &loop) {
        treadle_loop_post(loop.native(), [](void *) { throw Unusual(); }, nullptr);
        treadle_loop_run(loop.native(), TREADLE_DEFAULT_MODE, 0, 0);
    });
    check_plain([](const Loop &loop) {
        treadle_timer_start(0, 0, [](treadle_timer, void *) { throw Unusual(); }, nullptr, nullptr);
        treadle_loop_run(loop.native(), TREADLE_DEFAULT_MODE, 0, 0);
    });
    check_plain([](const Loop &) {
        treadle_source_context context{};
        context.struct_size = sizeof context;
        context.release = [](void *) { throw Unusual(); };
        treadle_source source = nullptr;
        treadle_source_create(&context, &source);
        treadle_source_release(source);
    });
    check_plain([](const Loop &loop) {
        treadle_source_context context{};
        context.struct_size = sizeof context;
        context.schedule = [](treadle_source, treadle_loop, const char *, void *) { throw Unusual(); };
        treadle_source source = nullptr;
        treadle_source_create(&context, &source);
        treadle_loop_add_source(loop.native(), source, TREADLE_DEFAULT_MODE);
    });
    check_plain([](const Loop &) {
        treadle_thread thread = nullptr;
        auto config = TREADLE_INIT(treadle_thread_config);
        config.fn = [](void *) -> void * { throw Unusual(); };
        treadle_thread_create(&config, &thread);
        treadle_thread_start(thread);
        treadle_thread_join(thread, TREADLE_FOREVER, nullptr);
    });
    check_plain([](const Loop &) {
        treadle_thread_set_value(treadle_thread_current(), "key", nullptr, nullptr);
        treadle_thread_use_value(treadle_thread_current(), "key", [](void *, void *) { throw Unusual(); }, nullptr);
    });
}

// What comes with a function is given back by the call that refuses, replaces or removes it.
TEST(an_exception_of_a_release_terminates, "THR-19") {
    static constexpr treadle_release_fn release = [](void *) { throw Unusual(); };
    check_plain([](const Loop &) { treadle_thread_set_value(nullptr, "key", nullptr, release); });
    check_plain([](const Loop &) {
        treadle_thread_set_value(treadle_thread_current(), "key", nullptr, release);
        treadle_thread_remove_value(treadle_thread_current(), "key");
    });
    check_plain([](const Loop &) {
        auto config = TREADLE_INIT(treadle_routine_config);
        treadle_routine routine = nullptr;
        config.destroy = release;
        treadle_routine_create(&config, &routine);
    });
    check_plain([](const Loop &) {
        treadle_set_log(nullptr, nullptr, release);
        treadle_set_log(nullptr, nullptr, nullptr);
    });
    check_plain([](const Loop &) {
        treadle_set_last_resort(nullptr, nullptr, release);
        treadle_set_last_resort(nullptr, nullptr, nullptr);
    });
    check_plain([](const Loop &) {
        auto request = TREADLE_INIT(treadle_request);
        request.fn = [](void *, void *) {};
        request.flags = TREADLE_PERFORM_AFTER;
        request.delay_ns = TREADLE_FOREVER;
        request.release_target = release;
        treadle_perform(nullptr, &request);
        treadle_perform_cancel(&request);
    });
    check_plain([](const Loop &) {
        auto request = TREADLE_INIT(treadle_request);
        request.release_argument = release;
        treadle_perform(nullptr, &request);
    });
    check_plain([](const Loop &) {
        std::uint64_t pool = 0;
        treadle_pool_push(&pool);
        treadle_pool_add(nullptr, release);
        treadle_pool_pop(pool);
    });
}
