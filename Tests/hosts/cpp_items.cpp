// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// cpp_items.cpp: the list of host tests, in C++: runs, modes, items and posts. Each case has a mode of its own name.
#include <unistd.h>

#include "cpp.hpp"

#define MODE Mode(case_name)
constexpr auto all_the_same = RunOptions::when_empty;
static auto notes(const char *word) {
    return [word] { seen += word; };
}
// An item in the mode of the case until the end of its block.
template <class Item> class In : public Item {
public:
    In(Item item) : Item(std::move(item)) { here().add(*this, MODE); }
    ~In() { this->invalidate(); }
};
template <class Item> In(Item) -> In<Item>;

// --- Runs ---------------------------------------------------------------------------------------------------------

static void empty() {
    const auto began = Clock::now();
    REQUIRE(here().run(MODE) == RunResult::finished);
    REQUIRE(here().run_for(1ms, MODE, all_the_same) == RunResult::timed_out);
    REQUIRE(Clock::now() >= began + 1ms);
}

static void time_limit() {
    const In source(Source(notes("s")));
    const auto began = Clock::now();
    REQUIRE(source.signal());
    REQUIRE(here().poll(MODE) == RunResult::timed_out && seen == "s");
    REQUIRE(here().run_for(5ms, MODE) == RunResult::timed_out && Clock::now() >= began + 5ms);
}

static void handled() {
    const In source(Source(notes("s")));
    REQUIRE(source.signal());
    REQUIRE(here().run(MODE, RunOptions::return_after_source) == RunResult::handled_source && seen == "s");
}

static void stop_nothing() {
    REQUIRE(!here().stop());
    REQUIRE(here().run_for(0ns, MODE, all_the_same) == RunResult::timed_out);
}

static void stop_all() {
    const In timer(Timer(Clock::now(), [] {
        here().request_stop(StopOptions::all_levels);
        REQUIRE(here().run("inner", all_the_same) == RunResult::stopped);
        seen += "inner";
    }));
    REQUIRE(here().run(MODE, all_the_same) == RunResult::stopped && seen == "inner");
}

static void wake() {
    const In observer(Observer(Activity::before_waiting, [](const Observer &, Activity) {
        seen += 'w';
        if (seen.size() < 3) here().wake();
        else here().stop();
    }));
    REQUIRE(here().run(MODE, all_the_same) == RunResult::stopped && seen == "www");
}

// --- Modes --------------------------------------------------------------------------------------------------------

static void modes() {
    const In source(Source(notes("s")));
    REQUIRE(!here().add(source, MODE) && here().contains(source, MODE) && !here().contains(source, "other"));
    source.signal();
    here().run_for(0ns, "other", all_the_same);
    REQUIRE(seen.empty());
    REQUIRE(here().poll(MODE) == RunResult::timed_out && seen == "s");
    REQUIRE(here().remove(source, MODE) && !here().remove(source, MODE) && !here().contains(source, MODE));
}

static void common() {
    const Source source(notes("s"));
    here().add(source, Mode::common());
    REQUIRE(!here().contains(source, MODE) && here().add_common_mode(MODE));
    REQUIRE(here().contains(source, MODE) && here().contains(source));
    source.signal();
    REQUIRE(here().poll(MODE) == RunResult::timed_out && seen == "s");
    REQUIRE(here().remove(source, Mode::common()) && !here().contains(source, MODE));
}

static void two_loops() {
    const Thread worker = start_worker();
    const In timer(Timer::after(forever, notes("t")));
    const Loop other = worker.loop();
    REQUIRE(!other.add(timer, MODE) && here().contains(timer, MODE) && !other.contains(timer, MODE));
    worker.stop_and_join();
}

static void invalid() {
    const In source(Source(notes("s")));
    source.signal();
    REQUIRE(source.is_valid());
    source.invalidate();
    REQUIRE(!source.is_valid() && !here().contains(source, MODE) && !source.is_signalled());
    REQUIRE(!source.signal() && !here().add(source, MODE));
    REQUIRE(here().poll(MODE) == RunResult::finished && seen.empty());
}

static void end_other() {
    Timer both[2];
    for (Timer &timer : both) {
        timer = Timer(Clock::now(), [&both] {
            seen += 't';
            for (const Timer &one : both) one.invalidate();
        });
        here().add(timer, MODE);
    }
    REQUIRE(here().run(MODE) == RunResult::finished && seen == "t");
}

// --- Sources ------------------------------------------------------------------------------------------------------

static void signal_kept() {
    const Source source(notes("s"));
    source.signal();
    REQUIRE(source.is_signalled());
    const In added(source);
    REQUIRE(here().poll(MODE) == RunResult::timed_out && seen == "s");
}

static void coalesce() {
    const In source(Source(notes("s")));
    for (int i = 0; i < 3; i++) source.signal();
    REQUIRE(source.is_signalled());
    for (int i = 0; i < 2; i++) here().poll(MODE);
    REQUIRE(!source.is_signalled() && seen == "s");
}

static void self_signal() {
    const In first(Source([](const Source &self) { seen += 'a', self.signal(); }));
    const In second(Source([](const Source &self) { seen += 'b', self.signal(); }));
    first.signal(), second.signal();
    for (int i = 0; i < 3; i++) here().poll(MODE);
    REQUIRE(seen == "ababab");
}

// --- Timers -------------------------------------------------------------------------------------------------------

static void timer_again() {
    const In timer(Timer(Clock::now(), [](const Timer &self) {
        seen += 't';
        if (seen.size() == 1) self.arm(1us);
    }));
    REQUIRE(here().run(MODE) == RunResult::finished && seen == "tt" && timer.is_valid() && !timer.next_fire());
    REQUIRE(timer.arm(1us) && here().run(MODE) == RunResult::finished && seen == "ttt");
}

static void timer_none() {
    const In timer(Timer::after(1000s, notes("t")));
    REQUIRE(here().poll(MODE) == RunResult::timed_out);
    REQUIRE(timer.disarm() && !timer.next_fire());
    REQUIRE(here().run(MODE) == RunResult::finished && seen.empty());
}

static void timer_ends() {
    TimerOptions options;
    options.ends_after_firing = true;
    const In timer(Timer(Clock::now(), [](const Timer &self) { seen += self.is_valid() ? 't' : '?'; }, options));
    REQUIRE(here().run(MODE) == RunResult::finished && seen == "t" && !timer.is_valid() && !timer.arm(0ns));
}

static void timer_moved() {
    const In timer(Timer::after(1000s, notes("t")));
    std::thread thread([&timer, loop = here()] {
        while (!loop.is_waiting()) std::this_thread::yield();
        timer.set_next_fire(Clock::now());
    });
    REQUIRE(here().run(MODE) == RunResult::finished && seen == "t");
    thread.join();
}

static void timer_by_hand() {
    const Timer timer = Timer::every(1000s, notes("t"));
    const auto date = timer.next_fire();
    timer.fire();
    REQUIRE(timer.next_fire() == date && seen == "t");
    timer.invalidate(), timer.fire();
    REQUIRE(seen == "t");
}

// --- Observers ----------------------------------------------------------------------------------------------------

static void observer_once() {
    const In observer(Observer(Activity::all, notes("o"), {0, true}));
    for (int i = 0; i < 2; i++) here().run_for(0ns, MODE, all_the_same);
    REQUIRE(seen == "o" && !observer.is_valid() && !observer.repeats());
}

static void observer_order() {
    const In a(Observer(Activity::entry | Activity::exit, notes("a"), {1, false}));
    const In b(Observer(Activity::entry | Activity::exit, notes("b")));
    const In c(Observer(Activity::entry, notes("c")));
    here().run_for(0ns, MODE, all_the_same);
    REQUIRE(seen == "bcaba" && a.order() == 1);
}

// --- Descriptors --------------------------------------------------------------------------------------------------

static void note_readiness(Readiness events) { seen += any_of(events, Readiness::readable) ? 'r' : 'h'; }
struct Pipe {
    int ends[2];
    Pipe() { REQUIRE(pipe(ends) == 0); }
    ~Pipe() { close(ends[0]), close(ends[1]); }
    void fill() const { REQUIRE(write(ends[1], "x", 1) == 1); }
};

static void descriptor_ready() {
    const Pipe pipe;
    const In descriptor(Descriptor(pipe.ends[0], Readiness::readable, note_readiness));
    char letter;
    here().poll(MODE);
    REQUIRE(seen.empty());
    pipe.fill();
    for (int i = 0; i < 2; i++) here().poll(MODE);
    REQUIRE(seen == "rr" && read(pipe.ends[0], &letter, 1) == 1);
    here().poll(MODE);
    REQUIRE(seen == "rr");
}

static void descriptor_paused() {
    const Pipe pipe;
    pipe.fill();
    const In descriptor(Descriptor(pipe.ends[0], Readiness::readable, note_readiness));
    descriptor.set_events(Readiness::none);
    REQUIRE(here().poll(MODE) == RunResult::timed_out && seen.empty());
    descriptor.set_events(Readiness::readable);
    here().poll(MODE);
    REQUIRE(seen == "r");
}

static void descriptor_end() {
    const Pipe pipe;
    const In descriptor(Descriptor(pipe.ends[0], Readiness::readable, note_readiness));
    close(pipe.ends[1]);
    here().poll(MODE);
    REQUIRE(seen.size() == 1);
}

static void descriptor_twice() {
    const In first(Descriptor(0, Readiness::readable, note_readiness));
    const Descriptor second(0, Readiness::readable, note_readiness);
    REQUIRE(refuses(Status::exists, "fd", [&] { here().add(second, MODE); }));
}

static void descriptor_closed() {
    REQUIRE(refuses(Status::argument, "fd", [] { return Descriptor(123456, Readiness::readable, note_readiness); }));
}

// --- Posts and what is told ---------------------------------------------------------------------------------------

static void post_modes() {
    here().post(notes("a"), {MODE}), here().post(notes("b"), {"other"}), here().post(notes("c"), {MODE});
    here().run_for(0ns, MODE, all_the_same);
    REQUIRE(seen == "ac");
    here().run_for(0ns, "other", all_the_same);
    REQUIRE(seen == "acb");
}

static void post_inside() {
    here().post([] { seen += 'a', here().post(notes("c")); });
    here().post(notes("b"));
    for (int i = 0; i < 2; i++) here().run_for(0ns, {}, all_the_same);
    REQUIRE(seen == "abc");
}

static void describe() {
    const Source source([] {}, 0, "bell");
    REQUIRE(source.describe().find("source \"bell\"") == 0 && source.describe().find("invalid") == std::string::npos);
    source.invalidate();
    REQUIRE(source.describe().find("bell") != std::string::npos && source.describe().find("invalid") != std::string::npos);
}

static void label() {
    REQUIRE(refuses(Status::range, "label", [] { return Source([] {}, 0, std::string(256, 'x').c_str()); }));
}

static void refused() {
    TimerOptions options;
    options.interval = -1ns;
    REQUIRE(refuses(Status::range, "interval", [&] { return Timer(Clock::now(), [] {}, options); }));
}

const host_case item_cases[] = {
    {"empty", empty, nullptr}, {"time-limit", time_limit, nullptr}, {"handled", handled, nullptr}, {"stop-nothing", stop_nothing, nullptr},
    {"stop-all", stop_all, nullptr}, {"wake", wake, nullptr}, {"modes", modes, nullptr}, {"common", common, nullptr},
    {"two-loops", two_loops, nullptr}, {"invalid", invalid, nullptr}, {"end-other", end_other, nullptr},
    {"signal-kept", signal_kept, nullptr}, {"coalesce", coalesce, nullptr}, {"self-signal", self_signal, nullptr},
    {"timer-again", timer_again, nullptr}, {"timer-none", timer_none, nullptr}, {"timer-ends", timer_ends, nullptr},
    {"timer-moved", timer_moved, nullptr}, {"timer-by-hand", timer_by_hand, nullptr}, {"observer-once", observer_once, nullptr},
    {"observer-order", observer_order, nullptr}, {"descriptor-ready", descriptor_ready, nullptr},
    {"descriptor-paused", descriptor_paused, nullptr}, {"descriptor-end", descriptor_end, nullptr},
    {"descriptor-twice", descriptor_twice, nullptr}, {"descriptor-closed", descriptor_closed, nullptr},
    {"post-modes", post_modes, nullptr}, {"post-inside", post_inside, nullptr}, {"describe", describe, nullptr},
    {"label", label, nullptr}, {"refused", refused, nullptr}, {nullptr, nullptr, nullptr}};
