// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// item_test.cpp: sources, timers, observers and descriptors.
#include "check.hpp"

#include <sys/eventfd.h>

using namespace treadle;

TEST(a_source_is_performed_after_a_signal_of_any_thread, "SRC0-6 SRC0-7 SRC0-14") {
    const Loop loop = Loop::current();
    std::string trace;
    const Source first([&](const Source &self) { CHECK(!self.is_signalled()), trace += '1'; }, -5);
    const Source second([&] { trace += '2', loop.stop(); }, 7);
    CHECK_EQUAL(first.order(), -5);
    CHECK(loop.add(second) && loop.add(first));
    CHECK(first.signal() && first.signal() && first.is_signalled());
    std::thread thread([&] { CHECK(second.signal_and_wake()); });
    CHECK_EQUAL(loop.run(), RunResult::stopped);
    thread.join();
    CHECK_EQUAL(trace, "12");
    first.invalidate();
    CHECK(!first.signal() && !first.is_valid());
    first.invalidate();
    CHECK_EQUAL(first.order(), -5);
    CHECK_EQUAL(first.invalidate(std::nothrow), Status::ok);
}

TEST(a_source_is_told_of_its_modes, "SRC0-3 SRC0-4 MODE-8") {
    const Loop loop = Loop::current();
    std::vector<std::string> trace;
    SourceCallbacks callbacks;
    callbacks.schedule = [&](const Source &source, const Loop &where, std::string_view mode) {
        CHECK(source.is_valid() && where == loop);
        trace.push_back("+" + std::string(mode));
    };
    callbacks.cancel = [&](const Source &, const Loop &where, std::string_view mode) {
        CHECK(where == loop);
        trace.push_back("-" + std::string(mode));
    };
    callbacks.perform = [&](const Source &) { trace.push_back("!"); };
    const Source source(callbacks, 3);
    loop.add(source, "a");
    loop.add(source, Mode::common());
    source.signal();
    loop.poll("a");
    loop.remove(source, "a");
    source.invalidate();
    CHECK((trace == std::vector<std::string>{"+a", "+" TREADLE_DEFAULT_MODE, "!", "-a", "-" TREADLE_DEFAULT_MODE}));
    const Source nothing{SourceCallbacks()};
    loop.add(nothing);
    nothing.signal();
    CHECK_EQUAL(loop.run({}, RunOptions::return_after_source), RunResult::handled_source);
}

TEST(one_shots_and_repeating_timers, "TMR-1 TMR-4 TMR-8 TMR-22") {
    const Loop loop = Loop::current();
    const auto began = Clock::now();
    Clock::time_point at;
    int repeats = 0;
    const Timer once = Timer::after(2ms, [&](const Timer &timer) {
        CHECK(!timer.repeats());
        at = Clock::now();
    });
    const Timer many = Timer::every(1ms, [&](const Timer &timer) {
        if (++repeats == 3) timer.invalidate();
    });
    CHECK(loop.add(once) && loop.add(many));
    CHECK(many.repeats() && many.interval() == 1ms && once.interval() == 0s);
    CHECK(once.next_fire() >= began + 2ms);
    CHECK_EQUAL(loop.run(), RunResult::finished);
    CHECK(at >= began + 2ms);
    CHECK_EQUAL(repeats, 3);
    CHECK(once.is_valid() && !once.next_fire() && !many.is_valid() && !many.next_fire());
    CHECK(!many.set_next_fire(Clock::now()) && !many.arm(1ms));
}

TEST(one_shots_are_armed_again, "TMR-15 TMR-24 NST-3") {
    const Loop loop = Loop::current();
    const auto alive = std::make_shared<int>(0);
    {
        const Timer timer = Timer::after(forever, [alive](const Timer &self) {
            if (++*alive % 3 != 0) CHECK(self.arm(1us));
        });
        CHECK(loop.add(timer) && !timer.next_fire());
        for (int round = 1; round <= 3; round++) {
            CHECK_EQUAL(loop.run(), RunResult::finished);
            CHECK(timer.arm(0ns) && timer.next_fire());
            CHECK_EQUAL(loop.run(), RunResult::finished);
            CHECK_EQUAL(*alive, 3 * round);
            CHECK(loop.contains(timer) && timer.is_valid() && !timer.next_fire());
        }
        CHECK(timer.arm(1h) && timer.disarm() && !timer.next_fire());
        CHECK_EQUAL(alive.use_count(), 2);
    }
    CHECK_EQUAL(alive.use_count(), 1); /* nobody could arm it any more */
    TimerOptions options;
    options.ends_after_firing = true;
    const Timer timer(Clock::now(), [](const Timer &self) { CHECK(self.arm(0ns)); }, options);
    loop.add(timer);
    CHECK_EQUAL(loop.run(), RunResult::finished);
    CHECK(!timer.is_valid() && !timer.next_fire() && !timer.arm(0ns));
}

TEST(timers_on_the_wall_clock, "TMR-24") {
    using Wall = std::chrono::system_clock;
    const Loop loop = Loop::current();
    int fired = 0;
    const auto first = Wall::now() + 1ms;
    const Timer timer(first, [&](const Timer &self) {
        CHECK(Wall::now() >= *self.wall_next_fire());
        fired++;
    });
    CHECK(*timer.wall_next_fire() == first);
    CHECK(loop.add(timer));
    CHECK_EQUAL(loop.run(), RunResult::finished);
    CHECK(!timer.wall_next_fire());
    CHECK(timer.set_next_fire(Wall::now() + 1ms));
    CHECK_EQUAL(loop.run(), RunResult::finished);
    CHECK_EQUAL(fired, 2);
    timer.invalidate();
    CHECK(!timer.set_next_fire(Wall::now()) && !timer.wall_next_fire());
}

TEST(attributes_of_timers, "TMR-3 TMR-5 TMR-17") {
    const Loop loop = Loop::current();
    bool fired = false;
    TimerOptions options;
    options.interval = 10s;
    options.tolerance = 20s;
    const Timer timer(Clock::after(forever), [&](const Timer &self) { fired = true, self.invalidate(); }, options);
    CHECK(timer.tolerance() == 5s);
    timer.set_tolerance(-1ms);
    CHECK(timer.tolerance() == 0s);
    timer.set_tolerance(std::chrono::duration<double>(0.5));
    CHECK(timer.tolerance() == 500ms);
    loop.add(timer);
    CHECK(timer.set_next_fire(Clock::now()));
    CHECK_EQUAL(loop.run(), RunResult::finished);
    CHECK(fired && !timer.describe().empty());
}

TEST(a_timer_is_discarded, "OBJ-4 OBJ-5 RUN-14") {
    const Loop loop = Loop::current();
    const auto began = Clock::now();
    bool is_told = false;
    Timer timer(began, [&](const Timer &self) { is_told = Clock::recent() >= *self.next_fire(); });
    loop.add(timer);
    CHECK_EQUAL(loop.run(), RunResult::finished);
    const auto recent = Clock::recent(); /* first: which side of a comparison is, the compiler chooses */
    CHECK(is_told && recent >= began && recent <= Clock::now());
    timer = Timer::after(1h, [] {});
    const Timer other = timer;
    loop.add(timer);
    timer.invalidate();
    timer = Timer();
    CHECK(!timer && !other.is_valid() && !loop.contains(other));
    CHECK_EQUAL(loop.run(), RunResult::finished);
}

TEST(observers_are_told_activities, "OBS-1 OBS-2 OBS-6 OBS-9") {
    const Loop loop = Loop::current();
    std::vector<std::uint32_t> seen;
    const Source keeper([] {});
    loop.add(keeper);
    const Observer observer(Activity::all, [&](const Observer &self, Activity activity) {
        CHECK(self.is_valid());
        seen.push_back(detail::bits(activity));
    });
    int entries = 0, last = 0;
    const auto enter = [&](Activity activity) { CHECK(activity == Activity::entry), entries++; };
    const Observer once(Activity::entry, enter, {-3, true});
    const Observer later(Activity::exit | Activity::entry, [&] { last = static_cast<int>(seen.size()); }, {3, false});
    CHECK(loop.add(observer) && loop.add(once) && loop.add(later));
    loop.poll();
    loop.poll();
    CHECK((seen == std::vector<std::uint32_t>{1, 2, 4, 0x80, 1, 2, 4, 0x80}));
    CHECK_EQUAL(entries, 1);
    CHECK_EQUAL(last, 8);
    CHECK(!once.is_valid() && !once.repeats() && once.order() == -3 && later.repeats());
    CHECK(observer.activities() == Activity::all);
    CHECK(later.activities() == (Activity::entry | Activity::exit));
}

TEST(descriptors_tell_when_they_are_ready, "SRC1-2 SRC1-5 SRC1-7") {
    const Loop loop = Loop::current();
    int ends[2], performs = 0;
    Readiness seen = Readiness::none;
    CHECK(pipe(ends) == 0);
    const Descriptor descriptor(ends[0], Readiness::readable, [&](const Descriptor &self, Readiness events) {
        CHECK_EQUAL(self.fd(), ends[0]);
        performs++;
        seen = events;
    });
    CHECK(loop.add(descriptor));
    CHECK_ERROR(loop.add(Descriptor(ends[0], Readiness::readable, [] {})), exists, "fd");
    loop.poll();
    CHECK_EQUAL(performs, 0);
    CHECK(write(ends[1], "x", 1) == 1);
    loop.poll();
    CHECK_EQUAL(seen, Readiness::readable);
    CHECK(descriptor.events() == Readiness::readable);
    descriptor.set_events(Readiness::none);
    loop.poll();
    CHECK_EQUAL(performs, 1);
    CHECK_ERROR(descriptor.set_events(static_cast<Readiness>(64)), argument, "events");
    descriptor.set_events(Readiness::readable);
    close(ends[1]);
    loop.poll();
    CHECK(any_of(seen, Readiness::hangup) && any_of(seen, Readiness::readable));
    descriptor.invalidate();
    CHECK_ERROR(descriptor.set_events(Readiness::readable), state, "descriptor");
}

TEST(acknowledged_counters_coalesce, "SRC1-2") {
    const Loop loop = Loop::current();
    const int counter = eventfd(0, EFD_NONBLOCK);
    int performs = 0;
    const Descriptor descriptor(counter, Readiness::readable, [&](Readiness) { performs++; },
                                DescriptorOptions::acknowledged);
    loop.add(descriptor);
    for (int i = 0; i < 5; i++) CHECK(eventfd_write(counter, 1) == 0);
    loop.poll();
    loop.poll();
    CHECK_EQUAL(performs, 1);
}

TEST(what_is_closed_may_be_closed_again, "OBJ-5 OBJ-9") {
    const Source source([] {});
    source.close();
    CHECK(!source.is_valid() && source.close_for(0s));
    CHECK_EQUAL(source.close(std::nothrow), Status::ok);
}

TEST(a_scope_ends_its_item_after_the_callback, "OBJ-9") {
    const int rounds = scaled(200);
    Semaphore started;
    Loop loop;
    std::thread thread([&] {
        loop = Loop::current();
        loop.add(Source([] {}));
        started.post();
        loop.run();
    });
    started.wait();
    for (int i = 0; i < rounds; i++) {
        std::vector<int> local(1000, i); // gone after the scope: a callback that came later would read freed memory
        Semaphore once;
        const auto look = [&] { CHECK_EQUAL(local[999], i), once.post(); };
        const Scoped<Timer> timer(Clock::now(), look, TimerOptions{1us, 0s, 0});
        loop.add(timer);
        once.wait();
    }
    CHECK(loop.request_stop() == Status::ok);
    thread.join();
    Scoped<Source> moved_from(Source([] {}));
    const Source taken = std::move(moved_from);
    CHECK(!moved_from && taken.is_valid());
}

TEST(a_loop_gives_its_items_and_tells_of_them, "OBJ-2 OBJ-3 RL-12") {
    const Loop loop = Loop::current();
    const Source source([] {}, 3, "bell");
    TimerOptions options;
    options.label = "tick";
    const Timer timer(Clock::now() + 1h, [] {}, options);
    CHECK(loop.items().empty());
    CHECK(loop.add(source, "one") && loop.add(source, "two") && loop.add(timer, "two"));
    CHECK_EQUAL(loop.items().size(), 2u);
    CHECK_EQUAL(loop.items("one").size(), 1u);
    const std::vector<AnyItem> items = loop.items("two");
    CHECK_EQUAL(items.size(), 2u);
    CHECK(items[0].kind() == ItemKind::source && items[1].kind() == ItemKind::timer);
    CHECK(items[0].native() == source.native() && items[0].is_valid());
    CHECK(items[0].describe().find("\"bell\"") != std::string::npos);
    const std::string text = loop.describe();
    CHECK(text.find("mode \"one\"") != std::string::npos && text.find("\"tick\"") != std::string::npos);
    CHECK_ERROR(Source([] {}, 0, std::string(256, 'x').c_str()), range, "label");
    CHECK_EQUAL(loop.run("nowhere"), RunResult::finished);
    CHECK_EQUAL(loop.counters().last_finish, std::uint32_t(TREADLE_FINISH_UNKNOWN_MODE));
    CHECK(source.signal() && loop.poll("one") == RunResult::timed_out);
    CHECK(loop.counters().signals == 1 && loop.counters().passes == 1);
    items[0].invalidate();
    CHECK(!source.is_valid());
    timer.invalidate();
    CHECK(loop.items().empty());
    CHECK_ERROR(AnyItem().kind(), argument, "object");
}
