// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// closure_test.cpp: function pointers of C with callables behind them.
#include "check.hpp"

#include <cstdlib>

using namespace treadle;

enum class Colour : std::uint8_t { red = 3, green };

static_assert(std::is_nothrow_move_constructible_v<Closure<void()>> && std::is_nothrow_default_constructible_v<Closure<void()>>);
static_assert(!std::is_constructible_v<Closure<int(int)>, void (*)(int)>, "no result");
static_assert(!std::is_constructible_v<Closure<int(int)>, int (*)(std::string)>, "another argument");
static_assert(!std::is_convertible_v<int (*)(int), Closure<int(int)>>);
static_assert(std::is_same_v<decltype(Closure<int(char)>().code()), int (*)(char)>);

static Thread started() {
    const Thread worker = Thread::worker();
    worker.start_and_wait();
    return worker;
}

TEST(a_lambda_with_captures_is_a_callback_of_qsort, "") {
    int numbers[] = {3, 1, 2}, sign = -1, calls = 0;
    const Closure<int(const void *, const void *)> compare([&](const void *a, const void *b) {
        calls++;
        const int left = *static_cast<const int *>(a), right = *static_cast<const int *>(b);
        return sign * ((left > right) - (left < right));
    });
    std::qsort(numbers, 3, sizeof *numbers, compare.code());
    CHECK(numbers[0] == 3 && numbers[1] == 2 && numbers[2] == 1);
    CHECK(calls > 0);
    CHECK_EQUAL(compare.info().handled, static_cast<std::uint64_t>(calls));
    CHECK(compare.is_valid() && !compare.info().is_drained);
}

TEST(values_of_each_type_arrive, "") {
    char buffer[2] = "";
    const Closure<double(bool, Colour, float, double, const char *, char *, std::int64_t, std::uint16_t, void (*)())> mixed(
        [](bool yes, Colour colour, float f, double d, const char *text, char *out, std::int64_t l, std::uint16_t s, void (*call)()) {
            out[0] = 'c';
            if (call) call();
            return (yes ? 1 : 0) + static_cast<int>(colour) + double(f) + d + double(std::strlen(text)) + double(l) + s;
        });
    CHECK_EQUAL(mixed.code()(true, Colour::green, 0.5f, 0.25, "four", buffer, -100, 65535, nullptr), 1 + 4 + 0.75 + 4 - 100 + 65535);
    CHECK_EQUAL(buffer, std::string("c"));
    const Closure<Colour()> colour([] { return Colour::red; });
    CHECK(colour.code()() == Colour::red);
    const Closure<const char *(const char *)> same([](const char *text) { return text; });
    const char *const text = "text";
    CHECK(same.code()(text) == text);
    int seen = 0;
    const Closure<void(int)> nothing([&](int number) { seen = number; });
    nothing.code()(-7);
    CHECK_EQUAL(seen, -7);
}

TEST(the_end_of_a_closure_destroys_its_callable_and_leaves_the_default, "OBJ-5") {
    const auto kept = std::make_shared<int>(1);
    Closure<int()> closure([kept] { return *kept; }, -1);
    int (*const code)() = closure.code();
    CHECK_EQUAL(code(), 1);
    const Closure<int()> copy = closure;
    CHECK(copy == closure && kept.use_count() == 2);
    closure.invalidate();
    CHECK(!copy.is_valid() && copy.info().is_drained && kept.use_count() == 1);
    CHECK_EQUAL(code(), -1);
    CHECK_EQUAL(copy.info().after_invalidated, 1u);
    copy.close();
    CHECK(copy.close_for(0s) && copy.close(std::nothrow) == Status::ok);
    closure = Closure<int()>([] { return 2; });
    CHECK_EQUAL(closure.code()(), 2);
    int (*zero)() = nullptr;
    {
        const Closure<int()> last([kept] { return *kept; });
        zero = last.code();
    }
    CHECK(kept.use_count() == 1 && zero() == 0);
    CHECK_ERROR(Closure<int()>().code(), argument, "closure");
    CHECK(!Closure<int()>().is_valid());
}

#ifdef __cpp_exceptions
TEST(an_exception_goes_to_the_last_resort_and_the_caller_gets_the_default, "THR-19") {
    std::string told;
    set_last_resort([&](const Thread &, std::string_view kind, std::string_view message) {
        told = std::string(kind) + ": " + std::string(message);
        return true;
    });
    const Closure<int(int)> closure([](int number) { return number > 0 ? number : throw std::runtime_error("too small"); }, -1);
    CHECK_EQUAL(closure.code()(5), 5);
    CHECK_EQUAL(closure.code()(0), -1);
    CHECK_EQUAL(told, std::string("C++ exception: std::runtime_error: too small"));
    CHECK(closure.info().handled == 1 && closure.info().failed == 1);
    reset_last_resort();
}
#endif

TEST(calls_are_carried_to_a_loop, "PERF-2 PERF-7") {
    const Thread worker = started();
    const Loop there = worker.loop();
    const Closure<int(const char *)> length(there, [&](const char *text) {
        CHECK(there.is_current());
        const int answer = static_cast<int>(std::strlen(text)) + errno;
        errno = 7;
        return answer;
    });
    errno = 2;
    CHECK_EQUAL(length.code()("four"), 6);
    CHECK_EQUAL(errno, 7);
    CHECK_EQUAL(worker.perform_and_wait([&] { return length.code()("five.") > 0; }), true);

    // A text that a caller does not wait with is copied.
    std::string heard;
    const Closure<bool(const char *)> later(
        there, [&](const char *text) { return heard = text, false; }, true, ClosureOptions{Delivery::async});
    {
        std::string text = "gone soon";
        CHECK_EQUAL(later.code()(text.c_str()), true);
        text.assign(text.size(), 'x');
    }
    worker.perform_and_wait([] {});
    CHECK_EQUAL(heard, std::string("gone soon"));
    worker.stop_and_join();
    CHECK_EQUAL(length.code()("late"), 0);
    CHECK_EQUAL(length.info().dropped, 1u);
}

TEST(a_queue_that_is_full, "") {
    const Loop loop = Loop::current();
    int sum = 0, calls = 0;
    const auto add = [&](int number) {
        calls++;
        sum += number;
    };
    ClosureOptions options;
    options.delivery = Delivery::async;
    options.queue_limit = 2;
    options.modes = {"calls"};
    options.on_full = OnFull::drop_newest;
    const Closure<void(int)> newest(loop, add, options);
    options.on_full = OnFull::drop_oldest;
    const Closure<void(int)> oldest(loop, add, options);
    options.on_full = OnFull::coalesce;
    const Closure<void(int)> last(loop, add, options);
    for (const int number : {1, 10, 100}) newest.code()(number);
    for (const int number : {1000, 10000, 100000}) oldest.code()(number);
    for (const int number : {1, 2, 3000000}) last.code()(number);
    CHECK_EQUAL(newest.info().waiting, 2u);
    loop.poll();
    CHECK_EQUAL(calls, 0);
    loop.poll("calls");
    CHECK_EQUAL(calls, 6);
    CHECK_EQUAL(sum, 11 + 110000 + 3000001);
    CHECK(newest.info().dropped == 1 && oldest.info().dropped == 1 && last.info().dropped == 1);
}

TEST(what_is_refused, "") {
    const Loop loop = Loop::current();
    const auto kept = std::make_shared<int>(1);
    const auto f = [kept] {};
    ClosureOptions options;
    options.modes = {"calls"};
    CHECK_ERROR(Closure<void()>(f, options), argument, "");
    CHECK_ERROR(Closure<void()>(Loop(), f), argument, "loop");
    options.on_full = OnFull::coalesce;
    CHECK_ERROR(Closure<void()>(loop, f, options), argument, "on_full");
    CHECK_ERROR(Closure<void()>(loop, f, ClosureOptions{Delivery::sync, {}, {}, 1048577}), range, "queue_limit");
    CHECK_ERROR(Closure<void()>(std::function<void()>()), argument, "empty");
    CHECK_EQUAL(kept.use_count(), 2);
}

TEST(a_wait_that_times_out_returns_the_default, "") {
    const Thread worker = started();
    std::atomic<bool> inside{false}, go{false};
    worker.perform([&] {
        inside = true;
        while (!go) std::this_thread::yield();
    });
    while (!inside) std::this_thread::yield();
    ClosureOptions options;
    options.timeout = 0ns;
    const Closure<int()> closure(worker.loop(), [] { return 1; }, -1, options);
    CHECK_EQUAL(closure.code()(), -1);
    CHECK_EQUAL(closure.info().timed_out, 1u);
    go = true;
    worker.stop_and_join();
}

TEST(its_options_and_its_scope, "SCOPE-1 SCOPE-2") {
    ClosureOptions options;
    options.keep_code = options.may_allocate = true;
    int (*kept)(int) = nullptr;
    {
        const Closure<int(int)> closure([](int number) { return number + 1; }, 5, options);
        kept = closure.code();
        CHECK_EQUAL(kept(1), 2);
    }
    CHECK_EQUAL(kept(1), 5);

    Scope scope("a library's callbacks");
    Closure<int()> forgotten;
    {
        const Scope::Entry inside(scope);
        forgotten = Closure<int()>([] { return 3; });
    }
    CHECK_EQUAL(scope.holders().size(), 1u);
    int (*const code)() = forgotten.code();
    CHECK(scope.close() == Closing::closed && !forgotten.is_valid() && code() == 0);
}
