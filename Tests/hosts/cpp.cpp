// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// cpp.cpp: the list of host tests, in C++.
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "cpp.hpp"

const char *case_name;
std::string seen;

static void timers() {
    const auto now = Clock::now();
    const Loop loop = here();
    loop.add(Timer(now + 3ms, [] { seen += 'c'; }));
    loop.add(Timer(now + 1ms, [] { seen += 'a'; }));
    loop.add(Timer(now + 3ms, [] { seen += 'd'; }));
    loop.add(Timer(now + 2ms, [] { seen += 'b'; }));
    std::vector<Clock::time_point> dates;
    TimerOptions options;
    options.interval = 1ms;
    loop.add(Timer(
        now + 1ms,
        [&](const Timer &timer) {
            dates.push_back(timer.next_fire().value());
            REQUIRE(Clock::now() >= dates.back());
            if (dates.size() == 10) timer.invalidate();
        },
        options));
    REQUIRE(loop.run() == RunResult::finished);
    REQUIRE(seen == "abcd");
    for (std::size_t i = 0; i < dates.size(); i++)
        REQUIRE((dates[i] - now) % 1ms == 0ns && (i == 0 || dates[i] > dates[i - 1]));
}

static Source source_of(char word, std::int64_t order) {
    SourceCallbacks callbacks;
    callbacks.perform = [word](const Source &) { seen += word; };
    callbacks.schedule = [](const Source &, const Loop &, std::string_view) { seen += '+'; };
    callbacks.cancel = [](const Source &, const Loop &, std::string_view) { seen += '-'; };
    return Source(callbacks, order);
}
static void sources() {
    const Loop loop = here();
    const Source all[] = {source_of('a', 1), source_of('b', 0), source_of('c', 0)};
    for (const Source &source : all) loop.add(source);
    REQUIRE(loop.add(all[0], "other") && !loop.add(all[0], "other"));
    for (int i : {0, 0, 2, 1}) all[i].signal();
    for (int i = 0; i < 2; i++) loop.run_for(0ns);
    for (const Source &source : all) source.invalidate();
    REQUIRE(seen == "++++cba----");
}

static void observers() {
    const Loop loop = here();
    const Timer timer = Timer::after(100s, [] { seen += '!'; });
    loop.add(timer);
    loop.add(Observer(Activity::all, [timer](const Observer &, Activity activity) {
        seen += activity == Activity::entry ? 'E' : activity == Activity::before_timers ? 't' : activity == Activity::before_sources ? 's' :
            activity == Activity::before_waiting ? 'w' : activity == Activity::after_waiting ? 'a' : 'X';
        // Not before, or the first pass could fire it.
        if (activity == Activity::before_waiting) timer.set_next_fire(Clock::now());
    }));
    REQUIRE(loop.run() == RunResult::finished);
    REQUIRE(seen == "Etswa!X");
}

static void nested() {
    const Loop loop = here();
    loop.add(Timer::after(5ms, [] { seen += 'n'; }), "other");
    loop.add(Timer::after(0ms, [loop] {
        seen += '(';
        REQUIRE(loop.run("other") == RunResult::finished);
        seen += ')';
    }));
    loop.add(Timer::after(1ms, [] { seen += 'o'; }));
    REQUIRE(loop.run() == RunResult::finished);
    REQUIRE(seen == "(n)o");
}

static void stop_inside() {
    const Loop loop = here();
    loop.add(Timer::after(0ms, [loop] {
        loop.add(Timer::after(0ms, [loop] { loop.stop(); }), "inner");
        REQUIRE(loop.run("inner", RunOptions::when_empty) == RunResult::stopped);
        seen += "inner";
    }));
    REQUIRE(loop.run() == RunResult::finished);
    REQUIRE(seen == "inner");
    loop.add(Timer::after(0ms, [loop] { loop.stop(); }));
    REQUIRE(loop.run({}, RunOptions::when_empty) == RunResult::stopped);
}

static void stop_outside() {
    const Loop loop = here();
    std::thread thread([loop] {
        while (!loop.is_waiting()) std::this_thread::yield();
        loop.stop();
    });
    REQUIRE(loop.run({}, RunOptions::when_empty) == RunResult::stopped);
    thread.join();
    loop.request_stop();
    REQUIRE(loop.run({}, RunOptions::when_empty) == RunResult::stopped);
}

static void performs() {
    constexpr int threads = 8, each = 12500;
    const Loop loop = here();
    const auto owner = std::this_thread::get_id();
    int next[threads] = {}, arrived = 0;
    std::vector<std::thread> all;
    for (int number = 0; number < threads; number++) {
        all.emplace_back([&, number] {
            for (int i = 0; i < each; i++)
                loop.post([&, number, i] {
                    REQUIRE(std::this_thread::get_id() == owner && next[number]++ == i);
                    if (++arrived == threads * each) loop.stop();
                });
        });
    }
    REQUIRE(loop.run({}, RunOptions::when_empty) == RunResult::stopped);
    for (std::thread &thread : all) thread.join();
    REQUIRE(arrived == threads * each);
}

static void wait_value() {
    const Thread worker = start_worker();
    REQUIRE(worker.perform_and_wait([&] { return Thread::current() == worker ? 42 : 0; }) == 42);
    worker.stop_and_join();
}
static void wait_error() {
    const Thread worker = start_worker();
    std::string caught;
    try {
        worker.perform_and_wait([]() -> int { throw std::runtime_error("over there"); });
    } catch (const std::runtime_error &error) { caught = error.what(); }
    REQUIRE(caught == "over there");
    worker.stop_and_join();
}

// Nobody caught it: the last resort is asked, and decides whether the program goes on.
static void errors() {
    const Loop loop = here();
    set_last_resort([](const Thread &, std::string_view, std::string_view message) {
        seen += message;
        return true;
    });
    loop.post([] { throw std::runtime_error("escaped"); });
    loop.post([] { seen += ", and on"; });
    REQUIRE(loop.run_for(0ns, {}, RunOptions::when_empty) == RunResult::timed_out);
    REQUIRE(seen.find("escaped, and on") != std::string::npos);
}

static void interrupt() {
    const Loop loop = here();
    const pthread_t owner = pthread_self();
    std::atomic<bool> is_over{false};
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    sigaction(SIGINT, &action, nullptr);
    std::thread thread([&] {
        while (!loop.is_waiting()) std::this_thread::yield();
        while (!is_over) pthread_kill(owner, SIGINT), std::this_thread::yield();
    });
    REQUIRE(loop.run({}, RunOptions::when_empty | RunOptions::return_on_interrupt) == RunResult::interrupted);
    is_over = true;
    thread.join();
}

static void leave_busy() {
    static std::atomic<int> busy{0};
    start_worker().perform([] { Loop::current().add(Timer::every(1us, [] { busy++; })); });
    while (busy < 10) std::this_thread::yield();
}
static void ends() { ends_well(leave_busy); }

static void forks() {
    const Source source([] { seen += 's'; });
    here().add(source);
    int status = -1;
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) {
        try {
            source.signal();
            _exit(1);
        } catch (const Error &error) {
            if (error.status() != Status::forked) _exit(2);
        }
        if (treadle_after_fork_child() < 0) _exit(3);
        const Loop loop = here();
        loop.add(Timer::after(0ms, [loop] { loop.stop(); }));
        _exit(loop.run() == RunResult::stopped ? 0 : 4);
    }
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    source.signal();
    REQUIRE(here().run_for(0ns) == RunResult::timed_out);
    REQUIRE(seen == "s");
}

static void make_and_drop(int count) {
    const Loop loop = here();
    for (int i = 0; i < count; i++) {
        const Source source([] {});
        const Timer timer = Timer::every(1h, [i] { seen += std::to_string(i); });
        loop.add(source), loop.add(timer);
        source.invalidate(), timer.invalidate();
    }
}
static void growth() {
    make_and_drop(10000);
    const long pages = resident_pages();
    const int descriptors = open_descriptors();
    make_and_drop(100000);
    REQUIRE(resident_pages() - pages < 256 && open_descriptors() == descriptors); // a page is 4 KiB: ten bytes an item
}

static void polls() {
    const Loop loop = here();
    int polled = 0;
    pollfd entry = {loop.open_pollable(), POLLIN, 0};
    loop.add(Timer::after(5ms, [&] { polled++; }));
    std::thread thread([&] { loop.post([&] { polled++; }); });
    while (polled < 2) {
        REQUIRE(poll(&entry, 1, 60000) == 1);
        loop.run_for(0ns, {}, RunOptions::when_empty);
    }
    thread.join();
    close(entry.fd);
}

static void stale() {
    const Source source([] { seen += 's'; });
    source.invalidate();
    REQUIRE(!source.is_valid() && !source.signal());
    Scope scope;
    scope.enter();
    here().add(Timer::after(0ms, [] { seen += 't'; }));
    scope.leave();
    scope.close();
    try {
        scope.enter();
    } catch (const Error &error) { seen += error.status() == Status::closed ? '.' : '?'; }
    REQUIRE(here().run() == RunResult::finished);
    REQUIRE(seen == ".");
}

static const host_case cases[] = {
    {"timers", timers, nullptr}, {"source", sources, nullptr}, {"observer", observers, nullptr}, {"nested", nested, nullptr},
    {"stop-inside", stop_inside, nullptr}, {"stop-outside", stop_outside, nullptr}, {"perform", performs, nullptr},
    {"wait-value", wait_value, nullptr}, {"wait-error", wait_error, nullptr}, {"errors", errors, nullptr},
    {"interrupt", interrupt, nullptr}, {"exit", ends, nullptr}, {"fork", forks, nullptr}, {"growth", growth, nullptr},
    {"poll", polls, nullptr}, {"stale", stale, nullptr}, {nullptr, nullptr, nullptr}};

int main(int count, char **arguments) {
    const host_case *const tables[] = {cases, item_cases, thread_cases, nullptr};
    int i = 1;
    while (i < count && run_case(tables, arguments[i])) seen.clear(), i++;
    return i < count;
}
