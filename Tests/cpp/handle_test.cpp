// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// handle_test.cpp: what all handles have in common, errors, names of modes, and times.
#include "check.hpp"

#include <limits>
#include <unordered_set>

using namespace treadle;

static_assert(std::is_nothrow_move_constructible_v<Source> && std::is_nothrow_move_assignable_v<Source>);
static_assert(std::is_nothrow_destructible_v<Scoped<Timer>> && !std::is_copy_constructible_v<Scoped<Timer>>);
static_assert(std::is_nothrow_copy_constructible_v<Error> && std::is_base_of_v<std::exception, Error>);
static_assert(!std::is_convertible_v<Source, Timer> && !std::is_constructible_v<Source, Timer>);
static_assert(sizeof(Source) == sizeof(treadle_source));
static_assert(!std::is_constructible_v<Timer, Clock::time_point, int>, "an int is no callback");
static_assert(static_cast<int>(Status::not_supported) == TREADLE_E_NOT_SUPPORTED);
static_assert(static_cast<int>(Status::cancelled) == TREADLE_E_CANCELLED);
static_assert(static_cast<int>(Status::plugin) == TREADLE_E_PLUGIN);
static_assert((Readiness::readable | Readiness::hangup) == static_cast<Readiness>(5));
static_assert(any_of(Activity::all, Activity::exit) && !any_of(Activity::entry, Activity::exit));

TEST(a_copy_adds_a_reference_and_the_end_returns_it, "OBJ-2 OBJ-4") {
    Source source([counted = Counted()] { (void)counted; });
    const treadle_source native = source.native();
    CHECK_EQUAL(Counted::alive, 1);
    {
        const Source copy(source);
        CHECK(copy == source && copy.native() == native);
        Source assigned([] {});
        assigned = copy;
        CHECK(assigned == source);
        const Source &self = assigned;
        assigned = self;
        CHECK(assigned == source);
    }
    CHECK(source.is_valid());
    Source moved(std::move(source));
    CHECK(!source && moved && source != moved && source == Source());
    source = std::move(moved);
    CHECK(source.native() == native && !moved);
    std::swap(source, moved);
    CHECK_EQUAL(treadle_source_retain(native), TREADLE_OK);
    moved.reset();
    CHECK_EQUAL(Counted::alive, 1);
    Source adopted = Source::adopt(native);
    const Source retaining = Source::retaining(native);
    adopted = Source();
    CHECK_EQUAL(Counted::alive, 1);
    CHECK(retaining.is_valid());
    treadle_source detached = Source(retaining).detach();
    CHECK_EQUAL(treadle_source_release(detached), TREADLE_OK);
    CHECK(retaining.is_valid());
    source = std::move(const_cast<Source &>(retaining));
    CHECK_EQUAL(Counted::alive, 1);
    source.reset();
    CHECK_EQUAL(Counted::alive, 0);
    CHECK_EQUAL(treadle_source_release(native), TREADLE_E_STALE);
}

TEST(handles_go_into_containers, "OBJ-2") {
    std::vector<Timer> timers;
    std::unordered_set<Timer, Hash> set;
    for (int i = 0; i < 100; i++) timers.emplace_back(Clock::after(1h), [counted = Counted()] { (void)counted; });
    for (const Timer &timer : timers) CHECK(set.insert(timer).second && !set.insert(timer).second);
    timers.clear();
    CHECK_EQUAL(Counted::alive, 100);
    set.clear();
    CHECK_EQUAL(Counted::alive, 0);
}

TEST(empty_and_stale_handles_throw, "OBJ-5") {
    const Source source;
    const Loop loop;
    CHECK_ERROR(source.signal(), argument, "source");
    CHECK_ERROR(loop.run(), argument, "loop");
    CHECK_ERROR(loop.describe(), argument, "object");
    CHECK_ERROR(loop.current_mode(), argument, "loop");
    CHECK_ERROR(loop.modes(), argument, "loop");
    CHECK_ERROR(Loop::current().add(source), argument, "item");
    CHECK_EQUAL(loop.wake(), Status::argument);
    CHECK_EQUAL(loop.request_stop(), Status::argument);
    CHECK_EQUAL(source.invalidate(std::nothrow), Status::argument);
    CHECK_EQUAL(source.close(std::nothrow), Status::argument);
    CHECK(!source.is_valid() && !source.is_signalled() && !loop.is_waiting() && !loop.is_current());
    Source real([] {});
    const treadle_source native = real.native();
    real.reset();
    CHECK_ERROR(Source::retaining(native), stale, "object");
    Source stale = Source::adopt(native);
    CHECK_ERROR(Source(stale), stale, "object");
    Source kept([] {});
    const treadle_source before = kept.native();
    CHECK_ERROR(kept = stale, stale, "object");
    CHECK(kept.native() == before);
}

TEST(errors_tell_status_function_message_and_errno, "") {
    try {
        (void)Descriptor(1000000, Readiness::readable, [] {});
        CHECK(false);
    } catch (const Error &error) {
        const Error copy = error;
        CHECK_EQUAL(copy.status(), Status::argument);
        CHECK_EQUAL(std::string(copy.function()), "treadle_descriptor_create");
        CHECK(std::strstr(copy.message(), "fd"));
        CHECK_EQUAL(std::string(copy.what()), std::string(copy.function()) + ": " + copy.message());
    }
    int ends[2];
    CHECK(pipe(ends) == 0);
    const Descriptor descriptor(ends[0], Readiness::readable, [] {});
    close(ends[0]);
    try {
        Loop::current().add(descriptor);
        CHECK(false);
    } catch (const Error &error) {
        CHECK_EQUAL(error.status(), Status::system);
        CHECK_EQUAL(error.system_error(), EBADF);
    }
    CHECK_EQUAL(std::string(name_of(Status::stale)), "TREADLE_E_STALE");
    CHECK_EQUAL(std::string(name_of(RunResult::timed_out)), "TREADLE_RUN_TIMED_OUT");
}

TEST(mode_names, "MODE-2") {
    const std::string long_name(300, 'm');
    CHECK_EQUAL(Mode().name(), TREADLE_DEFAULT_MODE);
    CHECK_EQUAL(Mode::common().name(), TREADLE_COMMON_MODES);
    CHECK(Mode("a") == Mode(std::string_view("abc", 1)) && Mode("a") != Mode("b") && Mode() == TREADLE_DEFAULT_MODE);
    Mode mode(long_name);
    const Mode copy = mode;
    mode = "other";
    CHECK_EQUAL(std::string(copy.c_str()), long_name);
    CHECK_EQUAL(std::string(mode.c_str()), "other");
    CHECK_ERROR(Mode(std::string_view("a\0b", 3)), argument, "NUL");
    CHECK_ERROR(Mode(static_cast<const char *>(nullptr)), argument, "null");
}

TEST(durations_of_every_unit_never_overflow, "RUN-2") {
    using namespace std::chrono;
    const auto most = std::numeric_limits<std::int64_t>::max();
    using detail::nanoseconds_of;
    CHECK_EQUAL(nanoseconds_of(3ms), 3000000);
    CHECK_EQUAL(nanoseconds_of(-2h), -7200000000000);
    CHECK_EQUAL(nanoseconds_of(hours(most / 1000)), most);
    CHECK_EQUAL(nanoseconds_of(duration<std::int64_t, std::ratio<3600>>(-most)), -most);
    CHECK_EQUAL(nanoseconds_of(duration<std::int64_t>(std::numeric_limits<std::int64_t>::min())), -most);
    CHECK_EQUAL(nanoseconds_of(duration<std::uint64_t, std::milli>(std::numeric_limits<std::uint64_t>::max())), most);
    CHECK_EQUAL(nanoseconds_of(duration<std::int8_t>(-128)), -128000000000);
    CHECK_EQUAL(nanoseconds_of(duration<int, std::pico>(1)), 1); // rounded up, as all that is waited for
    CHECK_EQUAL(nanoseconds_of(duration<int, std::pico>(-1500)), -1);
    CHECK_EQUAL(nanoseconds_of(duration<int, std::ratio<1, 60>>(3)), 50000000);
    CHECK_EQUAL(nanoseconds_of(duration<double>(0.25)), 250000000);
    CHECK_EQUAL(nanoseconds_of(duration<double>(1e300)), most);
    CHECK_EQUAL(nanoseconds_of(duration<float>(-std::numeric_limits<float>::infinity())), -most);
    CHECK_ERROR(nanoseconds_of(duration<double>(std::nan(""))), argument, "not a number");
    CHECK_EQUAL(nanoseconds_of(forever), TREADLE_FOREVER);
    CHECK_EQUAL(Clock::after(forever).time_since_epoch().count(), most);
    CHECK(Clock::after(hours(-1)) < Clock::now());
}

TEST(dates_of_other_clocks, "TMR-2 RUN-14") {
    using namespace std::chrono;
    const auto before = Clock::now();
    const auto date = Clock::from(system_clock::now() + 1h);
    CHECK(date >= before + 1h && date <= Clock::now() + 1h + 1min);
    CHECK(Clock::from(steady_clock::time_point::max()) > before + hours(24 * 365));
    const double absolute = Clock::to_absolute(before);
    CHECK(std::abs(Clock::to_absolute(Clock::from_absolute(absolute + 100)) - absolute - 100) < 10);
    CHECK_ERROR(Clock::from_absolute(std::nan("")), argument, "date");
}

TEST(a_child_of_a_fork_may_destroy_its_handles, "RL-11") {
    const Loop parent = Loop::current();
    const auto ended = in_child([&] {
        {
            const Source source = Source::adopt(nullptr);
            const Loop taken = Loop::adopt(parent.native());
            CHECK_ERROR(Loop::current(), forked, "fork");
        }
        CHECK(after_fork_child() && !after_fork_child());
        CHECK_EQUAL(Loop::current().run(), RunResult::finished);
        CHECK_ERROR(parent.describe(), stale, "object");
    });
    CHECK(WIFEXITED(ended.status));
    CHECK_EQUAL(WEXITSTATUS(ended.status), 0);
    CHECK_EQUAL(ended.errors, "");
    CHECK(!after_fork_child());
    CHECK_EQUAL(parent.poll(), RunResult::finished);
    CHECK_EQUAL(version(), treadle_version_string());
}
