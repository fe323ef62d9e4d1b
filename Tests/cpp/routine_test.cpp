// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// routine_test.cpp: signatures, and C functions of any signature as callbacks.
#include "check.hpp"

#include <unistd.h>

using namespace treadle;

enum class Colour : std::uint8_t { red = 3, green };
struct Point {
    double x, y;
};

// Each type of an argument, as the compiler names it.
extern "C" {
static std::int64_t sum(std::int8_t a, std::uint8_t b, std::int16_t c, std::uint16_t d, std::int32_t e, std::uint32_t f,
                        std::int64_t g, std::uint64_t h) {
    std::int64_t total = 0;
    for (const std::int64_t each : {std::int64_t(a), std::int64_t(b), std::int64_t(c), std::int64_t(d), std::int64_t(e),
                                    std::int64_t(f), g, std::int64_t(h)})
        total += each;
    return total;
}
static double mixed(bool yes, Colour colour, float f, double d, const char *text, char *buffer, void (*call)(), long l,
                    char c) {
    buffer[0] = c;
    if (call) call();
    return (yes ? 1 : 0) + static_cast<int>(colour) + double(f) + d + double(std::strlen(text)) + double(l);
}
static Point mirrored(Point point) { return {point.y, point.x}; }
static int answer() { return 42; }
static int events;
static treadle_event seen;
static void tell(int bound, treadle_loop loop, const char *mode, void *subject, std::uint32_t value, int descriptor,
                 std::int64_t late, const treadle_event *event) {
    CHECK_EQUAL(bound, 17);
    CHECK(loop == Loop::current().native() && subject == event->subject && mode == event->mode);
    CHECK(value == event->value && descriptor == event->descriptor && late == event->late_ns);
    seen = *event;
    events++;
}
}
static int called;

TEST(the_compiler_finds_the_signature, "") {
    CHECK_EQUAL(Routine(sum, -1, 255, -300, 65535, -5, 4000000000u, -(1LL << 40), 1ULL << 41).call<std::int64_t>(),
                -1 + 255 - 300 + 65535 - 5 + 4000000000LL - (1LL << 40) + (1LL << 41));
    char buffer[2] = "";
    const Routine routine(mixed, true, Colour::green, 0.5f, 0.25, "four", buffer, +[] { called++; }, 100L, 'c');
    CHECK_EQUAL(routine.call<double>(), 1 + 4 + 0.75 + 4 + 100);
    CHECK_EQUAL(buffer, std::string("c"));
    CHECK_EQUAL(called, 1);
    routine.call();
    CHECK_EQUAL(called, 2);
    CHECK_EQUAL(Routine(answer).call<int>(), 42);
    CHECK_EQUAL(Routine(getpid).call<pid_t>(), getpid());
    CHECK_ERROR(Routine(answer).call<double>(), range, "result");
    CHECK_ERROR(Routine(static_cast<int (*)()>(nullptr)), argument, "code");
    CHECK_ERROR(Routine(+[](float) {}, From::loop), argument, "argument");
    static_assert(!std::is_constructible_v<Routine, int (*)(), int>, "too many arguments");
    static_assert(!std::is_constructible_v<Routine, void (*)(char *), int>, "an int is no pointer");
}

TEST(structures_go_with_an_encoding, "") {
    const Point point{1, 2};
    const Routine routine = Routine::encoded(reinterpret_cast<void (*)()>(mirrored), "{p=dd}{p=dd}",
                                             {{TREADLE_ARGUMENT_BOUND, 0, &point, sizeof point}});
    const Point result = routine.call<Point>();
    CHECK(result.x == 2 && result.y == 1);
    CHECK_ERROR(Routine::encoded(reinterpret_cast<void (*)()>(mirrored), "l", {}), signature, "l");
    CHECK_ERROR(Routine::encoded(reinterpret_cast<void (*)()>(mirrored), std::string("v\0v", 3), {}), argument, "NUL");
}

TEST(signatures, "") {
    const Signature signature("i^vq{p=dd}");
    CHECK_EQUAL(signature.argument_count(), 3u);
    CHECK(signature.layout(-1).size == 4 && signature.layout(2).size == 16 && signature.layout(2).alignment == 8);
    CHECK(!signature.describe().empty());
    CHECK(signature.native() == Signature("i^vq{p=dd}").native());
    CHECK_ERROR(signature.layout(3), range, "index");
    CHECK_ERROR(Signature("?"), signature, "");
}

TEST(routines_in_place_of_callbacks, "SRC0-1 TMR-8 OBS-1 SRC1-5 BLK-3") {
    const Loop loop = Loop::current();
    const Routine routine(tell, 17, From::loop, From::mode, From::subject, From::value, From::descriptor, From::late,
                          From::event);
    const auto expect = [&](std::uint32_t kind, const void *subject) {
        CHECK_EQUAL(loop.poll() == RunResult::finished, false);
        CHECK_EQUAL(events, 1);
        CHECK_EQUAL(seen.kind, kind);
        CHECK(seen.subject == subject);
        events = 0;
    };
    const Source source(routine, 5), keeper([] {});
    CHECK(source.order() == 5 && loop.add(source) && loop.add(keeper) && source.signal());
    expect(TREADLE_EVENT_PERFORM, source.native());
    const Timer timer(Clock::now(), routine);
    loop.add(timer);
    expect(TREADLE_EVENT_TIMER, timer.native());
    const Observer observer(Activity::before_timers, routine, {0, true});
    loop.add(observer);
    expect(TREADLE_EVENT_OBSERVER, observer.native());
    CHECK_EQUAL(seen.value, static_cast<std::uint32_t>(TREADLE_BEFORE_TIMERS));
    int ends[2];
    CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1);
    const Descriptor descriptor(ends[0], Readiness::readable, routine);
    loop.add(descriptor);
    expect(TREADLE_EVENT_DESCRIPTOR, descriptor.native());
    CHECK_EQUAL(seen.descriptor, ends[0]);
    descriptor.invalidate();
    CHECK(loop.post(routine));
    expect(TREADLE_EVENT_POST, nullptr);
    CHECK(loop.post(routine, {"elsewhere"}));
    loop.poll();
    CHECK_EQUAL(events, 0);
    const Routine empty;
    CHECK_ERROR(Source{empty}, argument, "empty");
    CHECK_ERROR(Timer(Clock::now(), empty), argument, "empty");
    CHECK_ERROR(Observer(Activity::all, empty), argument, "empty");
    CHECK_ERROR(Descriptor(0, Readiness::readable, empty), argument, "empty");
    CHECK_ERROR(loop.post(empty), argument, "empty");
}
