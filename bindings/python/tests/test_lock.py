# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Locks and conditions."""

from __future__ import annotations

import ctypes
import gc
import pickle
import threading
import unittest
from typing import List

from treadle import Condition, DeadlockError, Error, Lock, Thread, WrongThread

from support import TestCase, WATCHDOG, in_thread


class Locks(TestCase):
    def test_exclusion(self) -> None:
        """THR-20: one owner at a time; the interpreter runs others while one waits."""
        lock = Lock()
        count = 0

        def work() -> None:
            nonlocal count
            for _ in range(300):
                with lock:
                    before = count
                    threading.Event().wait(0)  # gives the interpreter's lock away
                    count = before + 1

        threads = [Thread(work) for _ in range(4)]
        for thread in threads:
            thread.start()
        work()
        for thread in threads:
            thread.join(WATCHDOG)
        self.assertEqual(count, 1500)

    def test_errors(self) -> None:
        """THR-20: locked twice, unlocked by another, unlocked twice."""
        lock = Lock()
        with lock:
            with self.assertRaises(DeadlockError):
                lock.acquire()
            with self.assertRaises(DeadlockError):
                lock.acquire(0)
            with self.assertRaises(WrongThread):
                in_thread(lock.release)
            self.assertFalse(in_thread(lambda: lock.acquire(0)))
            self.assertFalse(in_thread(lambda: lock.acquire(0.001)))
        with self.assertRaises(WrongThread):
            lock.release()
        with self.assertRaises(ValueError):
            lock.acquire(float("nan"))
        with self.assertRaises(TypeError):
            pickle.dumps(lock)

    def test_recursive(self) -> None:
        """THR-20: its owner locks it again, and unlocks it as often."""
        lock = Lock(recursive=True)
        with lock, lock:
            self.assertTrue(lock.acquire(0))
            lock.release()
            self.assertFalse(in_thread(lambda: lock.acquire(0)))

        def borrow() -> bool:
            with lock:
                return True

        self.assertTrue(in_thread(borrow))

    def test_the_native_objects(self) -> None:
        """THR-20: what POSIX sees: locked while we hold it."""
        lock, condition = Lock(), Condition()
        trylock = ctypes.CDLL(None).pthread_mutex_trylock
        trylock.argtypes = [ctypes.c_void_p]
        with lock:
            self.assertNotEqual(in_thread(lambda: trylock(lock.pthread_mutex)), 0)
        self.assertEqual(trylock(lock.pthread_mutex), 0)
        lock.release()
        self.assertNotEqual(condition.pthread_cond, condition.lock.pthread_mutex)
        handle = lock._handle
        lock._handle = 0x1234567
        with self.assertRaises(Error):
            lock.pthread_mutex
        lock._handle = handle
        gc.collect()


class Conditions(TestCase):
    def test_waiting(self) -> None:
        """THR-20: notified, all or one; and with the lock held again."""
        condition = Condition()
        queue: List[int] = []
        taken: List[int] = []

        def take() -> None:
            with condition:
                condition.wait_for(lambda: queue)
                taken.append(queue.pop())

        threads = [Thread(take) for _ in range(4)]
        for thread in threads:
            thread.start()
        with condition:
            queue.extend(range(3))
            condition.notify_all()
        with condition:
            queue.append(3)
            condition.notify()
        for thread in threads:
            thread.join(WATCHDOG)
        self.assertEqual(sorted(taken), [0, 1, 2, 3])

    def test_the_main_thread_waits(self) -> None:
        """THR-20, ABI-4: in slices that lose nothing."""
        condition = Condition(Lock(recursive=True))
        ready: List[bool] = []

        def tell() -> None:
            with condition:
                ready.append(True)
            condition.notify()

        for _ in range(50):
            thread = Thread(tell)
            thread.start()
            with condition:
                self.assertEqual(condition.wait_for(lambda: ready, WATCHDOG), [True])
            thread.join(WATCHDOG)
            ready.clear()

    def test_timeouts(self) -> None:
        """THR-20: False, with the lock held; a wait without the lock is refused."""
        condition = Condition()
        with condition:
            self.assertFalse(condition.wait(0))
            self.assertFalse(condition.wait(0.001))
            self.assertFalse(condition.wait_for(bool, 0.001))
            with self.assertRaises(WrongThread):
                in_thread(condition.lock.release)
        with self.assertRaises(WrongThread):
            condition.wait(0)


if __name__ == "__main__":
    unittest.main()
