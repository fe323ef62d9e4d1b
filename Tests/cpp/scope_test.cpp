// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// scope_test.cpp: scopes: what was made inside of one ends with it, and handles of that do no harm.
#include "check.hpp"

#include <algorithm>

#include <sys/eventfd.h>

using namespace treadle;

static_assert(std::is_nothrow_move_constructible_v<Scope> && std::is_nothrow_move_assignable_v<Scope>);
static_assert(std::is_nothrow_destructible_v<Scope> && !std::is_copy_constructible_v<Scope> && !std::is_copy_assignable_v<Scope>);
static_assert(!std::is_copy_constructible_v<Scope::Entry> && !std::is_convertible_v<const char *, Scope>);
static_assert(sizeof(Scope) == sizeof(treadle_scope));
static_assert(static_cast<int>(Status::deferred) == TREADLE_DEFERRED);

static const Mode never("a mode that nobody runs");

// What no function of C++ makes, or what is a plugin's.
static_assert(static_cast<int>(HolderKind::plugin) == TREADLE_HOLDER_PLUGIN && static_cast<int>(HolderKind::routine) == TREADLE_KIND_ROUTINE);

// Everything that a scope takes, each with one callable; the handles are for the caller to keep, or to forget.
struct Made {
    Source source;
    Timer timer;
    Observer observer;
    Descriptor descriptor;
    Thread thread, unstarted;
    Notification notification;
    Scope inner{Empty()};
    static constexpr int callables = 11;

    explicit Made(int fd, std::atomic<int> &calls) {
        const Loop loop = Loop::current();
        const auto call = [&calls, counted = Counted()] { (void)counted, calls++; };
        source = Source(call);
        loop.add(source, never);
        source.signal();
        timer = Timer(Clock::now(), call);
        loop.add(timer, never);
        observer = Observer(Activity::entry, call);
        loop.add(observer, never);
        descriptor = Descriptor(fd, Readiness::readable, call);
        loop.add(descriptor, never);
        loop.post(call, {never});
        Thread::current().perform(call, {never});
        perform_after(0s, call, nullptr, {never});
        thread = Thread([counted = Counted()] { (void)counted; });
        thread.start();
        unstarted = Thread(call);
        notification = Notification::thread_will_exit(unstarted, call);
        Pool::keep(Counted());
        inner = Scope("inner");
    }
};

TEST(everything_that_was_forgotten_ends_with_its_scope, "SCOPE-1 SCOPE-2") {
    std::atomic<int> calls{0};
    const int fd = eventfd(1, EFD_CLOEXEC);
    {
        const Scope scope("everything");
        const Scope::Entry inside(scope);
        const Made forgotten(fd, calls);
        CHECK(Counted::alive >= Made::callables - 1 && scope.is_valid());
    }
    CHECK_EQUAL(Counted::alive, 0);
    CHECK_EQUAL(calls, 0);
    // What was queued has left its place only.
    Loop::current().poll(never);
    CHECK_EQUAL(Loop::current().poll(never), RunResult::finished);
    CHECK_EQUAL(calls, 0);
    close(fd);
}

TEST(handles_of_what_a_scope_has_ended_do_no_harm, "SCOPE-2") {
    std::atomic<int> calls{0};
    const int fd = eventfd(1, EFD_CLOEXEC);
    const Loop loop = Loop::current();
    Scope scope("kept");
    {
        std::optional<Made> made;
        {
            const Scope::Entry inside(scope);
            made.emplace(fd, calls);
        }
        const Scoped<Timer> scoped = [&] {
            const Scope::Entry inside(scope);
            return Scoped<Timer>(Clock::after(1h), [&] { calls++; });
        }();
        CHECK(made->source.is_valid() && made->inner.is_valid() && scoped.is_valid());
        CHECK_EQUAL(scope.close(), Closing::closed);
        CHECK_EQUAL(Counted::alive, 0);
        CHECK(!scope.is_valid() && !made->source.is_valid() && !made->timer.is_valid() && !made->inner.is_valid());
        CHECK(!made->thread.is_executing() && !made->thread.is_finished());
        CHECK_ERROR(made->source.signal(), stale, "source");
        CHECK_ERROR(loop.add(made->timer, never), stale, "item");
        CHECK_ERROR(made->observer.describe(), stale, "");
        CHECK_ERROR(made->descriptor.invalidate(), stale, "item");
        CHECK_ERROR(made->thread.join(), stale, "thread");
        CHECK_ERROR(made->unstarted.start(), stale, "thread");
        CHECK_ERROR(made->inner.enter(), stale, "scope");
        CHECK_ERROR(made->inner.close(), stale, "object");
        CHECK_ERROR(Timer(made->timer), stale, "object");
        CHECK_EQUAL(made->timer.invalidate(std::nothrow), Status::stale);
        CHECK_EQUAL(made->thread.close(std::nothrow), Status::stale);
        CHECK_EQUAL(made->inner.close(std::nothrow), Status::stale);
        // Here all of them go.
    }
    CHECK_EQUAL(scope.close(0s), Closing::closed);
    CHECK_EQUAL(scope.close(std::nothrow), Status::ok);
    CHECK(scope.holders().empty());
    CHECK_EQUAL(calls, 0);
    close(fd);
}

// A thread that runs its loop until this ends.
struct Runner {
    Thread thread = Thread::worker();
    Runner() { thread.start_and_wait(); }
    ~Runner() { thread.stop_and_join(); }
};

TEST(what_goes_on_is_waited_for_and_told, "SCOPE-3") {
    const Runner runner;
    Semaphore entered, go;
    const auto stay = [&] {
        entered.post();
        go.wait();
    };
    const Scope scope("busy");
    std::int32_t id = 0;
    runner.thread.perform_and_wait([&] {
        id = Thread::current().id();
        Thread::current().set_name("a runner");
        const Scope::Entry inside(scope);
        TimerOptions options;
        options.label = "a slow one";
        Loop::current().add(Timer(Clock::now(), stay, options));
    });
    entered.wait();
    const auto before = scope.holders();
    CHECK(before.size() == 1 && before[0].held == 0s);
    CHECK_EQUAL(scope.close(0s), Closing::timed_out);
    CHECK_EQUAL(scope.close(1ms), Closing::timed_out);
    CHECK(!scope.is_valid());
    const auto holders = scope.holders();
    CHECK_EQUAL(holders.size(), std::size_t(1));
    CHECK(holders[0].kind == HolderKind::timer && holders[0].label == "a slow one" && holders[0].object);
    CHECK_EQUAL(holders[0].thread_id, id);
    CHECK_EQUAL(holders[0].thread_name, std::string("a runner"));
    CHECK_EQUAL(holders[0].callback, std::string("a slow one"));
    CHECK(holders[0].held >= 1ms);
    CHECK_ERROR(scope.enter(), closed, "scope");
    CHECK_ERROR(Scope::Entry(scope), closed, "scope");
    go.post();
    CHECK_EQUAL(scope.close(), Closing::closed);
    CHECK(scope.holders().empty());
}

TEST(many_holders_are_told, "SCOPE-3") {
    const Scope scope;
    const Scope::Entry inside(scope);
    std::vector<Timer> timers;
    for (int i = 0; i < 100; i++) timers.emplace_back(Clock::after(1h), [] {});
    const Scope inner("a label of an inner scope that is longer than there is room for in what is told");
    const auto holders = scope.holders();
    CHECK_EQUAL(holders.size(), std::size_t(101));
    const auto found = std::find_if(holders.begin(), holders.end(), [](const ScopeHolder &one) { return one.kind == HolderKind::scope; });
    CHECK(found != holders.end() && found->label.size() == 63 && found->label.find("a label of an inner") == 0);
}

TEST(from_inside_a_close_is_deferred, "SCOPE-4") {
    const Runner runner;
    Semaphore ended;
    struct Witness {
        Semaphore *semaphore;
        explicit Witness(Semaphore &told) : semaphore(&told) {}
        Witness(Witness &&other) noexcept : semaphore(std::exchange(other.semaphore, nullptr)) {}
        ~Witness() {
            if (semaphore) semaphore->post();
        }
    };
    for (const bool by_destructor : {false, true}) {
        auto scope = std::make_unique<Scope>("own");
        {
            const Scope::Entry inside(*scope);
            Pool::keep(Witness(ended)); // called by the closing, on whatever thread that comes about
            runner.thread.perform([&] {
                if (by_destructor) {
                    scope.reset();
                } else {
                    CHECK_EQUAL(scope->close(), Closing::deferred);
                    CHECK_EQUAL(scope->close(0s), Closing::deferred);
                    CHECK_EQUAL(scope->close(std::nothrow), Status::deferred);
                }
            });
        }
        ended.wait();
        runner.thread.perform_and_wait([] {});
        CHECK(by_destructor == !scope);
        if (scope) CHECK_EQUAL(scope->close(), Closing::closed);
    }
}

TEST(a_closed_scope_takes_nothing_more, "SCOPE-2") {
    const Scope scope;
    const Loop loop = Loop::current();
    {
        const Scope::Entry inside(scope);
        CHECK_EQUAL(scope.close(), Closing::closed);
        const auto call = [counted = Counted()] { (void)counted, CHECK(false); };
        CHECK_ERROR(Source(call), closed, "scope");
        CHECK_ERROR(Timer(Clock::now(), call), closed, "scope");
        CHECK_ERROR(Observer(Activity::all, call), closed, "scope");
        CHECK_ERROR(Thread{call}, closed, "scope");
        CHECK_ERROR(Thread::detached(call), closed, "scope");
        CHECK_ERROR(loop.post(call), closed, "scope");
        CHECK_ERROR(Thread::current().perform(call), closed, "scope");
        CHECK_ERROR(perform_after(0s, call), closed, "scope");
        CHECK_ERROR(Pool::defer(call), closed, "scope");
        CHECK_ERROR(Pool::keep(Counted()), closed, "scope");
        CHECK_ERROR(Notification::thread_will_exit(call), closed, "scope");
        CHECK_ERROR(Scope("inner"), closed, "scope");
    }
    CHECK_EQUAL(Counted::alive, 0);
    CHECK(Timer(Clock::now(), [] {}).is_valid());
}

TEST(who_waits_for_a_call_of_a_closed_scope_is_told, "SCOPE-2") {
    const Thread target = Thread::current();
    for (int i = 0; i < scaled(100); i++) {
        Scope scope;
        Semaphore entered;
        std::thread waiter([&] {
            const Scope::Entry inside(scope);
            entered.post();
            CHECK_ERROR(target.perform_and_wait([counted = Counted()] { (void)counted, CHECK(false); }, {never}), closed, "");
        });
        entered.wait();
        if (i % 2)
            while (scope.holders().empty()) std::this_thread::yield();
        scope.reset();
        waiter.join();
        CHECK_EQUAL(Counted::alive, 0);
    }
}

TEST(scopes_nest_and_are_left_in_order, "SCOPE-5") {
    Scope outer("outer"), inner("inner");
    CHECK_ERROR(outer.leave(), state, "scope");
    Timer first, second, third;
    {
        const Scope::Entry entry(outer);
        {
            const Scope::Entry nested(inner);
            CHECK_ERROR(outer.leave(), state, "scope");
            first = Timer(Clock::after(1h), [] {});
        }
        second = Timer(Clock::after(1h), [] {});
    }
    third = Timer(Clock::after(1h), [] {});
    inner = Scope(Empty());
    CHECK(!first.is_valid() && second.is_valid() && third.is_valid());
    {
        // The object goes before its entry.
        const Scope::Entry entry(outer);
        outer.reset();
        CHECK(!outer && !second.is_valid() && third.is_valid());
        CHECK_ERROR(Timer(Clock::now(), [] {}), closed, "scope");
    }
    CHECK(Timer(Clock::now(), [] {}).is_valid());
}

TEST(scopes_are_moved_adopted_and_given_away, "OBJ-2 SCOPE-5") {
    Scope scope("moved");
    const treadle_scope native = scope.native();
    Scope other(std::move(scope));
    CHECK(!scope && other && other.native() == native && other.is_valid());
    CHECK(!scope.is_valid() && scope != other);
    CHECK_ERROR(scope.enter(), argument, "scope");
    CHECK_ERROR(scope.close(), argument, "object");
    CHECK_ERROR(scope.holders(), argument, "scope");
    Timer timer;
    {
        const Scope::Entry inside(other);
        timer = Timer(Clock::after(1h), [] {});
    }
    Scope target("replaced");
    const Scope watched = Scope::retaining(target.native());
    target = std::move(other);
    CHECK(!watched.is_valid() && target.native() == native && timer.is_valid());
    const Scope &self = target;
    target = std::move(const_cast<Scope &>(self));
    CHECK(target.native() == native && target.is_valid());
    {
        const treadle_scope detached = target.detach();
        CHECK(!target && timer.is_valid());
        const Scope adopted = Scope::adopt(detached);
    }
    CHECK(!timer.is_valid());
    CHECK_ERROR(Scope::retaining(native), stale, "object");
    CHECK_ERROR(Scope(std::string(256, 'x').c_str()), range, "label");
    CHECK_ERROR(Scope("\xff"), argument, "label");
    CHECK_ERROR(target.close(std::chrono::duration<double>(std::nan(""))), argument, "not a number");
}

TEST(a_child_of_a_fork_may_destroy_its_scopes, "RL-11") {
    Scope parent("parent's");
    const auto ended = in_child([&] {
        CHECK(after_fork_child());
        {
            const Scope scope = std::move(parent);
            CHECK(!scope.is_valid());
            CHECK_ERROR(scope.enter(), stale, "scope");
        }
        const Scope own("child's");
        const Scope::Entry entry(own);
        const Timer timer(Clock::after(1h), [] {});
        CHECK_EQUAL(own.close(), Closing::closed);
        CHECK(!timer.is_valid());
    });
    CHECK(WIFEXITED(ended.status) && WEXITSTATUS(ended.status) == 0);
    CHECK_EQUAL(ended.errors, "");
    CHECK(parent.is_valid());
}
