// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// qt_test.cpp: run loops and Qt's event loops, either inside of the other: timers, sockets, posted and queued events, nested event loops.
#include <QCoreApplication>
#include <QEventLoop>
#include <QThread>
#include <QTimer>
#include <atomic>
#include <cstdio>
#include <functional>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <treadle-qt.hpp>

#include <treadle-foreign.h>
#include <utility>
#include <vector>

#define CHECK(condition) \
    do { if (!(condition)) { std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); std::fflush(nullptr); _exit(1); } } while (0)

static constexpr int THREADS = 4, POSTS = 5000, CALLS = 1000;

static std::uint64_t passes() {
    treadle_loop_counters counters = TREADLE_INIT(treadle_loop_counters);
    CHECK(treadle_loop_get_counters(treadle_loop_current(), &counters) == TREADLE_OK);
    return counters.passes;
}

// The parts of one program, which ends with the last of them.
struct Program {
    int parts = 0, posted = 0, called = 0, ticks = 40, letters = 100, beats = 40;
    std::function<void()> quit;
    treadle_loop loop = treadle_loop_current();
    QObject receiver;
    std::vector<std::thread> threads;
    int ends[2];
    QTimer timer;
    QSocketNotifier *reader = nullptr, *echo = nullptr;

    void part_ends() {
        CHECK(parts > 0);
        if (--parts == 0) quit();
    }
    static void post(void *info) {
        auto *self = static_cast<Program *>(info);
        if (++self->posted == THREADS * POSTS) self->part_ends();
    }
    static void tick(treadle_timer timer, void *info) {
        auto *self = static_cast<Program *>(info);
        if (self->ticks % 10 == 0) CHECK(treadle_loop_run(self->loop, "nested", 1000000, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_TIMED_OUT);
        if (self->ticks % 10 == 5) {
            // A dialog: an event loop of Qt's inside of a callback of ours.
            QEventLoop nested;
            QTimer::singleShot(1, &nested, &QEventLoop::quit);
            nested.exec();
        }
        if (--self->ticks == 0) treadle_invalidate(timer), self->part_ends();
    }
    void begin() {
        parts = 5;
        CHECK(treadle_timer_start(0, 1000000, tick, this, nullptr) == TREADLE_OK);
        QObject::connect(&timer, &QTimer::timeout, [this] {
            if (beats % 8 == 0) {
                QEventLoop nested;
                QTimer::singleShot(1, &nested, &QEventLoop::quit);
                nested.exec();
            }
            if (beats > 0 && --beats == 0) timer.stop(), part_ends();
        });
        timer.setTimerType(Qt::PreciseTimer);
        timer.start(1);
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        reader = new QSocketNotifier(ends[0], QSocketNotifier::Read, &receiver);
        echo = new QSocketNotifier(ends[1], QSocketNotifier::Read, &receiver);
        QObject::connect(echo, &QSocketNotifier::activated, [this] {
            move(ends[1]);
            CHECK(write(ends[1], "x", 1) == 1);
        });
        QObject::connect(reader, &QSocketNotifier::activated, [this] {
            move(ends[0]);
            if (--letters == 0) part_ends();
            else CHECK(treadle_loop_post(loop, [](void *info) { CHECK(write(static_cast<Program *>(info)->ends[0], "x", 1) == 1); }, this) == TREADLE_OK);
        });
        CHECK(write(ends[0], "x", 1) == 1);
        for (int i = 0; i < THREADS; i++) {
            threads.emplace_back([this] {
                for (int i = 0; i < POSTS; i++) {
                    CHECK(treadle_loop_post(loop, post, this) == TREADLE_OK);
                    if (i % (POSTS / CALLS) == 0)
                        QMetaObject::invokeMethod(&receiver, [this] { if (++called == THREADS * CALLS) part_ends(); }, Qt::QueuedConnection);
                }
            });
        }
    }
    static void move(int fd) {
        char letter;
        CHECK(read(fd, &letter, 1) == 1);
    }
    void end() {
        CHECK(parts == 0 && posted == THREADS * POSTS && called == THREADS * CALLS);
        for (std::thread &thread : threads) thread.join();
        delete reader, delete echo;
        close(ends[0]), close(ends[1]);
    }
};

static void ours_inside() {
    int count = 0;
    char *arguments[] = {nullptr};
    QCoreApplication application(count, arguments);
    Program program;
    TreadleNotifier *notifier = TreadleNotifier::create(program.loop);
    CHECK(notifier);
    program.quit = [] { QCoreApplication::quit(); };
    program.begin();
    CHECK(QCoreApplication::exec() == 0);
    program.end();
    // Idle: ours is not asked.
    const std::uint64_t before = passes();
    QTimer::singleShot(200, &application, &QCoreApplication::quit);
    QCoreApplication::exec();
    CHECK(passes() - before <= 20);
    delete notifier;
    CHECK(!TreadleNotifier::create(program.loop, TREADLE_COMMON_MODES));
}

// While a callback runs an event loop, as a dialog does, what comes for ours waits, and nothing spins. A callback may delete the notifier.
static void ours_pauses_in_a_dialog() {
    int count = 0;
    char *arguments[] = {nullptr};
    QCoreApplication application(count, arguments);
    static TreadleNotifier *notifier = TreadleNotifier::create(treadle_loop_current());
    CHECK(notifier);
    const auto dialog = [](void *) {
        QEventLoop nested;
        int turns = 0;
        QObject::connect(QAbstractEventDispatcher::instance(), &QAbstractEventDispatcher::awake, &nested, [&] { turns++; });
        QTimer::singleShot(200, &nested, &QEventLoop::quit);
        CHECK(treadle_loop_post(treadle_loop_current(), [](void *) { delete notifier, notifier = nullptr; }, nullptr) == TREADLE_OK);
        CHECK(nested.exec() == 0 && notifier && turns <= 20);
    };
    CHECK(treadle_loop_post(treadle_loop_current(), dialog, nullptr) == TREADLE_OK);
    while (notifier) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
}

// ABI-13: a third loop inside of ours, of which Qt's callbacks start something. It has a date alone, and ends the program at the third.
static void a_third_loop_is_served() {
    int count = 0;
    char *arguments[] = {nullptr};
    QCoreApplication application(count, arguments);
    static std::int64_t next = TREADLE_FOREVER;
    static int turns = 0;
    treadle_foreign_config config = {};
    config.fd = eventfd(0, EFD_CLOEXEC);
    config.prepare = [](void *) { return next == TREADLE_FOREVER ? next : next - treadle_time_now(); };
    config.turn = [](void *) {
        if (next > treadle_time_now()) return true;
        next = TREADLE_FOREVER;
        if (++turns == 3) QCoreApplication::quit();
        else QTimer::singleShot(1, [] { next = treadle_time_now() + 1000000; });
        return true;
    };
    treadle_foreign *foreign = nullptr;
    CHECK(treadle_foreign_add(treadle_loop_current(), TREADLE_DEFAULT_MODE, &config, &foreign) == TREADLE_OK);
    TreadleNotifier *notifier = TreadleNotifier::create(treadle_loop_current());
    next = 0;
    CHECK(QCoreApplication::exec() == 0 && turns == 3);
    const std::uint64_t before = passes();
    QTimer::singleShot(200, &application, &QCoreApplication::quit);
    QCoreApplication::exec();
    CHECK(passes() - before <= 20);
    delete notifier;
    treadle_foreign_remove(foreign);
    close(config.fd);
}

static void ended_is_told() {
    int count = 0, told = 0;
    char *arguments[] = {nullptr};
    QCoreApplication application(count, arguments);
    const treadle_loop loop = treadle_loop_current();
    const auto note = [](treadle_status status, void *info) { return *static_cast<int *>(info) = status, false; };
    TreadleNotifier *notifier = TreadleNotifier::create(loop, TREADLE_DEFAULT_MODE, note, &told);
    treadle_loop_post(loop, [](void *info) { treadle_loop_stop(static_cast<treadle_loop>(info)); }, loop);
    while (!told) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    CHECK(told == TREADLE_RUN_STOPPED && !notifier->isEnabled());
    delete notifier;
}

// exec() runs our loop; then a run of ours serves Qt.
static void theirs_inside(bool by_exec) {
    int count = 0;
    char *arguments[] = {nullptr};
    auto *dispatcher = new TreadleEventDispatcher;
    QCoreApplication::setEventDispatcher(dispatcher);
    QCoreApplication application(count, arguments);
    CHECK(QAbstractEventDispatcher::instance() == dispatcher);
    Program program;
    program.quit = by_exec ? std::function<void()>([] { QCoreApplication::quit(); })
                           : [&program] { treadle_loop_request_stop(program.loop, TREADLE_STOP_ALL_LEVELS); };
    program.begin();
    if (by_exec) CHECK(QCoreApplication::exec() == 0);
    else CHECK(treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED);
    program.end();
    const std::uint64_t before = passes();
    if (by_exec) {
        QTimer::singleShot(200, &application, &QCoreApplication::quit);
        QCoreApplication::exec();
    } else {
        treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, 200000000, TREADLE_RUN_WHEN_EMPTY);
    }
    CHECK(passes() - before <= 20);
    // A thread of Qt's, with a loop of its own, which ends and is waited for.
    QThread thread;
    std::atomic<int> seen{0};
    thread.start();
    QObject there;
    there.moveToThread(&thread);
    for (int i = 0; i < 100; i++) QMetaObject::invokeMethod(&there, [&] { seen++; }, Qt::QueuedConnection);
    QMetaObject::invokeMethod(&there, [&] { thread.quit(); }, Qt::QueuedConnection);
    CHECK(thread.wait(60000) && seen == 100);
    // Timers are told of, and end with their object.
    auto *object = new QObject;
    const int id = object->startTimer(60000, Qt::PreciseTimer);
    CHECK(dispatcher->registeredTimers(object).size() == 1 && dispatcher->remainingTime(id) > 50000);
    delete object;
    CHECK(dispatcher->remainingTime(id) == -1);
}

// STOP-9, NSR-3: the next run cannot begin, so neither can an event loop inside of a callback go on; stops of one level end a pass.
static void stops_of_all_levels_end_nested_event_loops() {
    int count = 0;
    char *arguments[] = {nullptr};
    QCoreApplication::setEventDispatcher(new TreadleEventDispatcher);
    QCoreApplication application(count, arguments);
    static int results = 0;
    const auto dialog = [](void *) {
        const treadle_loop loop = treadle_loop_current();
        CHECK(treadle_loop_request_stop(loop, 0) == TREADLE_OK);
        QEventLoop nested;
        QTimer::singleShot(0, [loop] { CHECK(treadle_loop_request_stop(loop, 0) == TREADLE_OK); });
        QTimer::singleShot(1, [loop] {
            results++;
            CHECK(treadle_loop_request_stop(loop, TREADLE_STOP_ALL_LEVELS) == TREADLE_OK);
        });
        CHECK(nested.exec() == 0);
        results++;
    };
    const treadle_loop loop = treadle_loop_current();
    CHECK(treadle_loop_post(loop, dialog, nullptr) == TREADLE_OK);
    CHECK(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_STOPPED);
    CHECK(results == 2);
    // The same inside of exec(), which such a stop ends as well, and one of one level does not.
    CHECK(treadle_loop_post(loop, dialog, nullptr) == TREADLE_OK);
    CHECK(QCoreApplication::exec() == 0 && results == 4);
    CHECK(treadle_loop_post(loop, [](void *info) { treadle_loop_stop(static_cast<treadle_loop>(info)); }, loop) == TREADLE_OK);
    QTimer::singleShot(1, [] { QCoreApplication::exit(7); });
    CHECK(QCoreApplication::exec() == 7);
}

// A dispatcher that is made on one thread for another one, before that starts, has that one's run loop.
static void a_thread_of_qt_has_the_dispatcher_that_it_was_given() {
    int count = 0;
    char *arguments[] = {nullptr};
    QCoreApplication application(count, arguments);
    for (int round = 0; round < 10; round++) {
        QThread thread, never_started;
        QObject there;
        static std::atomic<int> fired, sent;
        static treadle_loop loop;
        static int bell;
        fired = 0, sent = 0, loop = nullptr;
        never_started.setEventDispatcher(new TreadleEventDispatcher);
        auto *dispatcher = new TreadleEventDispatcher;
        thread.setEventDispatcher(dispatcher);
        CHECK(thread.eventDispatcher() == dispatcher && dispatcher->thread() == &thread);
        there.moveToThread(&thread);
        // Before there is a loop, and while it begins.
        for (int i = 0; i < 100; i++) {
            QMetaObject::invokeMethod(&there, [] { sent++; }, Qt::QueuedConnection);
            if (i == 50 - round) thread.start();
            if (i == 20) dispatcher->interrupt();
        }
        QMetaObject::invokeMethod(&there, [&] {
            CHECK(QThread::currentThread() == &thread && QAbstractEventDispatcher::instance() == dispatcher);
            auto *timer = new QTimer(&there);
            int ends[2];
            CHECK(pipe(ends) == 0);
            auto *notifier = new QSocketNotifier(ends[0], QSocketNotifier::Read, &there);
            QObject::connect(notifier, &QSocketNotifier::activated, [=, &thread] {
                delete notifier;
                close(ends[0]), close(ends[1]);
                thread.quit();
            });
            QObject::connect(timer, &QTimer::timeout, [=] {
                if (++fired < 3) return;
                delete timer;
                // Something of ours on the same loop.
                loop = treadle_loop_current();
                bell = ends[1];
                CHECK(treadle_loop_post(loop, [](void *) { CHECK(write(bell, "x", 1) == 1); }, nullptr) == TREADLE_OK);
            });
            timer->start(1);
        }, Qt::QueuedConnection);
        CHECK(thread.wait(60000) && sent == 100 && fired == 3 && loop && loop != treadle_loop_current());
        // It starts again, with a dispatcher of Qt's own, since the first went with its thread, and then with another one of ours.
        for (int again = 0; again < 2; again++) {
            if (again) thread.setEventDispatcher(new TreadleEventDispatcher);
            thread.start();
            thread.quit();
            CHECK(thread.wait(60000));
        }
    }
}

// A dispatcher that ends leaves nothing in its loop.
static void a_dispatcher_that_is_gone_is_called_no_more() {
    int count = 0;
    char *arguments[] = {nullptr};
    {
        QCoreApplication::setEventDispatcher(new TreadleEventDispatcher);
        QCoreApplication application(count, arguments);
        QMetaObject::invokeMethod(&application, [] { CHECK(false); }, Qt::QueuedConnection);
        application.startTimer(0);
    }
    CHECK(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0) != TREADLE_E_STATE);
    CHECK(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0) == TREADLE_RUN_FINISHED);
}

// As Qt's own dispatchers do: a timer of 0 ms fires once in each call, and as often as may be in an event loop.
static void a_timer_of_zero_fires_in_each_call() {
    int count = 0, fired[2] = {0, 0}, slow = 0;
    char *arguments[] = {nullptr};
    auto *dispatcher = new TreadleEventDispatcher;
    QCoreApplication::setEventDispatcher(dispatcher);
    QCoreApplication application(count, arguments);
    QTimer timers[2], other;
    for (int i = 0; i < 2; i++) {
        QObject::connect(&timers[i], &QTimer::timeout, [&fired, i] { fired[i]++; });
        timers[i].start(0);
    }
    for (int i = 1; i <= 1000; i++) {
        CHECK(dispatcher->processEvents(i % 2 ? QEventLoop::AllEvents : QEventLoop::WaitForMoreEvents));
        CHECK(fired[0] == i && fired[1] == i);
    }
    CHECK(dispatcher->registeredTimers(&timers[0]).size() == 1 && timers[0].remainingTime() == 0);
    timers[1].stop();
    // Nobody else starves.
    QObject::connect(&other, &QTimer::timeout, [&] { if (++slow == 5) QCoreApplication::quit(); });
    other.start(1);
    CHECK(QCoreApplication::exec() == 0 && slow == 5 && fired[0] > 1000 && fired[1] == 1000);
    other.stop(), timers[0].stop();
    CHECK(!dispatcher->processEvents(QEventLoop::AllEvents));
    // It does not fire inside of itself, nor does a loop there spin for it; and it may end or begin anew in its own callback.
    QTimer dialog;
    int dialogs = 0;
    QObject::connect(&dialog, &QTimer::timeout, [&] {
        QEventLoop nested;
        QTimer::singleShot(50, &nested, &QEventLoop::quit);
        const std::uint64_t before = passes();
        const int outer = ++dialogs;
        CHECK(nested.exec() == 0 && dialogs == outer && passes() - before <= 20);
        if (dialogs == 1) dialog.start(0);
        else dialog.stop(), QCoreApplication::quit();
    });
    dialog.start(0);
    CHECK(QCoreApplication::exec() == 0 && dialogs == 2);
    const std::uint64_t before = passes();
    QTimer::singleShot(100, &application, &QCoreApplication::quit);
    CHECK(QCoreApplication::exec() == 0 && passes() - before <= 20);
}

// THR-18: the stop of a thread ends the event loop that it runs.
static void a_threads_stop_ends_its_event_loop() {
    int count = 0;
    char *arguments[] = {nullptr};
    QCoreApplication application(count, arguments);
    static std::atomic<int> result{-1};
    treadle_thread thread = nullptr;
    const auto run = [](void *) -> void * {
        QThread::currentThread()->setEventDispatcher(new TreadleEventDispatcher);
        QEventLoop events;
        QTimer::singleShot(0, [] { treadle_thread_declare_ready(); });
        result = events.exec();
        return nullptr;
    };
    treadle_thread_config config = TREADLE_INIT(treadle_thread_config);
    config.fn = run;
    CHECK(treadle_thread_create(&config, &thread) == TREADLE_OK);
    CHECK(treadle_thread_start_and_wait(thread, TREADLE_FOREVER) == TREADLE_OK);
    CHECK(treadle_thread_stop_and_join(thread, TREADLE_FOREVER, nullptr) == TREADLE_OK && result == 0);
    treadle_release(thread);
}

// THR-21: no run begins any more.
static void a_shutdown_ends_event_loops() {
    int count = 0;
    char *arguments[] = {nullptr};
    QCoreApplication::setEventDispatcher(new TreadleEventDispatcher);
    QCoreApplication application(count, arguments);
    std::thread other;
    QTimer::singleShot(0, [&] { other = std::thread([] { CHECK(treadle_shutdown(TREADLE_FOREVER) == TREADLE_OK); }); });
    CHECK(QCoreApplication::exec() == 1);
    other.join();
    CHECK(QCoreApplication::exec() == 1);
}

int main() {
    const std::pair<const char *, std::function<void()>> tests[] = {
        {"ours_inside", ours_inside},
        {"ours_pauses_in_a_dialog", ours_pauses_in_a_dialog},
        {"a_third_loop_is_served", a_third_loop_is_served},
        {"ended_is_told", ended_is_told},
        {"theirs_inside_by_exec", [] { theirs_inside(true); }},
        {"theirs_inside_by_a_run", [] { theirs_inside(false); }},
        {"stops_of_all_levels_end_nested_event_loops", stops_of_all_levels_end_nested_event_loops},
        {"a_thread_of_qt_has_the_dispatcher_that_it_was_given", a_thread_of_qt_has_the_dispatcher_that_it_was_given},
        {"a_dispatcher_that_is_gone_is_called_no_more", a_dispatcher_that_is_gone_is_called_no_more},
        {"a_timer_of_zero_fires_in_each_call", a_timer_of_zero_fires_in_each_call},
        {"a_threads_stop_ends_its_event_loop", a_threads_stop_ends_its_event_loop},
        {"a_shutdown_ends_event_loops", a_shutdown_ends_event_loops},
    };
    int passed = 0, failed = 0;
    for (const auto &[name, test] : tests) {
        int status = -1;
        const pid_t pid = fork();
        if (pid == 0) {
            alarm(120);
            test();
            _exit(0);
        }
        waitpid(pid, &status, 0);
        if (status == 0) passed++;
        else failed++, std::fprintf(stderr, "%s: ended with %d\n", name, status);
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
