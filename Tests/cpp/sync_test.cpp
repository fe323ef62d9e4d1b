// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// sync_test.cpp: locks, conditions, pools and notifications.
#include "check.hpp"

#include <mutex>

using namespace treadle;

TEST(locks_work_with_the_standards_guards, "THR-20") {
    const Lock lock;
    Lock same = lock;
    int count = 0;
    const int each = scaled(20000);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&, copy = lock]() mutable {
            for (int i = 0; i < each; i++) {
                const std::lock_guard<Lock> guard(copy);
                count++;
            }
        });
    for (std::thread &thread : threads) thread.join();
    CHECK_EQUAL(count, 4 * each);
    std::unique_lock<Lock> guard(same);
    CHECK_ERROR(lock.lock(), deadlock, "lock");
    std::thread([&] {
        CHECK(!lock.try_lock() && !lock.try_lock_for(1us));
        CHECK(!lock.try_lock_until(std::chrono::system_clock::now() + 1us));
        CHECK_ERROR(lock.unlock(), wrong_thread, "lock");
    }).join();
    guard.unlock();
    CHECK(lock.try_lock_for(1h));
    lock.unlock();
    CHECK(pthread_mutex_trylock(lock.native_handle()) == 0 && pthread_mutex_unlock(lock.native_handle()) == 0);
    const Lock again(LockKind::recursive);
    again.lock();
    CHECK(again.try_lock());
    again.unlock();
    again.unlock();
    CHECK_ERROR(again.unlock(), wrong_thread, "lock");
    CHECK_ERROR(Lock(static_cast<LockKind>(8)), argument, "flags");
    const Lock empty{Empty()};
    CHECK(!empty && empty.native_handle() == nullptr);
    CHECK_ERROR(empty.lock(), argument, "lock");
}

TEST(conditions_pass_a_token_on, "THR-20") {
    Lock lock;
    const Condition condition;
    const int rounds = scaled(5000);
    int turn = 0;
    const auto play = [&](int own) {
        for (int i = 0; i < rounds; i++) {
            std::unique_lock<Lock> guard(lock);
            condition.wait(guard, [&] { return turn == own; });
            turn = 1 - own;
            i % 2 ? condition.notify_one() : condition.notify_all();
        }
    };
    std::thread other([&] { play(1); });
    play(0);
    other.join();
    CHECK_EQUAL(turn, 0);
    std::unique_lock<Lock> guard(lock);
    CHECK(condition.wait_for(guard, 1us) == std::cv_status::timeout);
    CHECK(condition.wait_until(guard, std::chrono::system_clock::now()) == std::cv_status::timeout);
    CHECK(!condition.wait_for(guard, 1us, [] { return false; }));
    CHECK(condition.wait_for(guard, forever, [] { return true; }));
    CHECK(guard.owns_lock() && condition.native_handle() != nullptr);
    guard.unlock();
    CHECK_ERROR(condition.wait(guard), wrong_thread, "lock");
    CHECK_ERROR(Condition(Empty()).notify_one(), argument, "condition");
}

TEST(pools_put_off_what_they_are_given, "POOL-2 POOL-3 POOL-5") {
    std::string trace;
    {
        const Pool outer;
        Pool::defer([&] { trace += 'a'; });
        Pool::defer([&, counted = Counted()] {
            trace += 'b';
            Pool::defer([&] { trace += 'c'; });
        });
        CHECK_EQUAL(Pool::keep(std::string("kept")), "kept");
        Counted &kept = Pool::keep(Counted());
        (void)kept;
        CHECK_EQUAL(Counted::alive, 2);
        {
            const Pool inner;
            Pool::defer([&] { trace += 'i'; });
        }
        CHECK_EQUAL(trace, "i");
    }
    CHECK_EQUAL(trace, "ibca");
    CHECK_EQUAL(Counted::alive, 0);
    const Loop loop = Loop::current();
    loop.add(Source([] {}));
    loop.post([&] { Pool::defer([&] { trace = "after the pass"; }); });
    loop.poll();
    CHECK_EQUAL(trace, "after the pass");
    CHECK_ERROR(Pool::defer(std::function<void()>()), argument, "empty");
}

TEST(a_threads_pool_ends_with_it, "POOL-4") {
    std::atomic<int> released{0};
    const Thread thread([&] {
        Pool::defer([&] { released++; });
        Pool::keep(Counted());
        CHECK_EQUAL(released, 0);
    });
    thread.start();
    thread.join();
    CHECK_EQUAL(released, 1);
    CHECK_EQUAL(Counted::alive, 0);
}

TEST(notifications_are_registrations, "NOTE-1 THR-11 THR-14") {
    int started = 0;
    std::atomic<int> all{0}, mine{0};
    const Notification first = Notification::will_become_multithreaded([&] {
        CHECK(Thread::is_multithreaded());
        started++;
    });
    Notification any = Notification::thread_will_exit([&, counted = Counted()](const Thread &thread) {
        CHECK(thread == Thread::current() && thread.is_executing());
        all++;
    });
    CHECK(!Thread::is_multithreaded());
    const Thread watched([] {}), other([] {});
    const Notification one = Notification::thread_will_exit(watched, [&] { mine++; });
    for (const Thread &thread : {watched, other}) {
        thread.start();
        thread.join();
    }
    CHECK_EQUAL(started, 1);
    CHECK_EQUAL(all, 2);
    CHECK_EQUAL(mine, 1);
    Notification moved = std::move(any);
    CHECK(moved && !any);
    any = std::move(moved);
    CHECK(any && !moved);
    any.remove();
    any.remove();
    CHECK(!any);
    CHECK_EQUAL(Counted::alive, 0);
    const Thread late([] {});
    late.start();
    late.join();
    CHECK_EQUAL(all, 2);
    CHECK_ERROR(Notification::thread_will_exit(Thread(), [] {}), argument, "empty");
    CHECK_ERROR(Notification::thread_will_exit(std::function<void()>()), argument, "empty");
}
