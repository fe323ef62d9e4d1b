# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Functions that a thread is asked to perform: now, later, with and without waiting."""

from __future__ import annotations

import signal
import threading
import unittest
from typing import Any, List

from treadle import (
    COMMON,
    ExceptHookArgs,
    LoopClosed,
    RunLoop,
    RunResult,
    Source,
    Thread,
    perform_in_background,
    perform_on_main,
    _registry,
)

from support import TestCase, WATCHDOG, eventually, in_thread


def serve() -> RunResult:
    """Runs the calling thread's loop until it is stopped."""
    RunLoop.current().add(Source(label="keeps the mode from being empty"), COMMON)
    return RunLoop.current().run()


class Served:
    """A Treadle thread that runs its loop for the length of a with-statement."""

    def __enter__(self) -> Thread:
        self.thread = Thread(serve)
        self.thread.start_and_wait(WATCHDOG)
        return self.thread

    def __exit__(self, *_exception: object) -> None:
        self.thread.stop_and_join(WATCHDOG)


class OnAThread(TestCase):
    def test_with_and_without_waiting(self) -> None:
        """PERF-3, PERF-7: on the thread; the result or the exception comes back."""
        with Served() as thread:
            ident = thread.perform(threading.get_ident, wait=True)
            self.assertNotEqual(ident, threading.get_ident())
            self.assertEqual(thread.perform(threading.get_ident).result(WATCHDOG), ident)
            self.assertEqual(thread.perform(divmod, 7, 2, wait=True), (3, 1))
            with self.assertRaises(ZeroDivisionError):
                thread.perform(divmod, 1, 0, wait=True)
            with self.assertRaises(ZeroDivisionError):
                thread.perform(divmod, 1, 0).result()
            # Also when a thread other than the main one waits, which does it in another way.
            self.assertEqual(in_thread(lambda: thread.perform(threading.get_ident, wait=True)), ident)
            with self.assertRaises(ZeroDivisionError):
                in_thread(lambda: thread.perform(divmod, 1, 0, wait=True))
            with self.assertRaises(TypeError):
                thread.perform(3)  # type: ignore[call-overload]

    def test_modes(self) -> None:
        """PERF-1, PERF-4: none: nothing is performed."""
        loop, current = RunLoop.current(), Thread.current()
        self.assertTrue(current.perform(self.fail, modes=[]).cancelled())
        self.assertIsNone(current.perform(self.fail, modes=[], wait=True))
        loop.run(seconds=0)

    def test_on_the_calling_thread(self) -> None:
        """PERF-2: with wait it is called directly, whatever the loop does; an exception is raised."""
        current = Thread.current()
        self.assertEqual(current.perform(threading.get_ident, wait=True), threading.get_ident())
        for kind in (ValueError, KeyboardInterrupt, SystemExit):

            def fail() -> None:
                raise kind("here")

            with self.assertRaises(kind):
                current.perform(fail, wait=True)
        with Served() as thread:
            nested = thread.perform(lambda: Thread.current().perform(threading.get_ident, wait=True), wait=True)
            self.assertEqual(nested, thread.perform(threading.get_ident, wait=True))

    def test_before_the_start(self) -> None:
        """PERF-3: waits for the thread, and for its loop to run."""
        thread = Thread(serve)
        futures = [thread.perform(int, str(number)) for number in range(3)]
        self.assertFalse(futures[0].done())
        thread.start()
        self.assertEqual([future.result(WATCHDOG) for future in futures], [0, 1, 2])
        thread.stop_and_join(WATCHDOG)

    def test_the_main_thread(self) -> None:
        """PERF-10: perform_on_main, with and without wait; from the main thread with wait, directly."""
        loop = RunLoop.current()
        keeper = Source()
        loop.add(keeper)
        self.assertEqual(perform_on_main(threading.get_ident, wait=True), threading.get_ident())

        def work() -> List[int]:
            results = [perform_on_main(threading.get_ident, wait=True), perform_on_main(threading.get_ident).result(WATCHDOG)]
            perform_on_main(keeper.invalidate, wait=True)
            return results

        worker = Thread(work)
        worker.start()
        loop.run(seconds=WATCHDOG)
        self.assertEqual(worker.join(WATCHDOG), [threading.get_ident()] * 2)

    def test_the_end_of_the_thread(self) -> None:
        """PERF-8, PERF-9: waiters get LoopClosed, as do later callers; what was held is let go."""
        entered, go_on = threading.Event(), threading.Event()

        def body() -> None:
            entered.set()
            self.wait(go_on)

        thread = Thread(body)
        thread.start()
        self.wait(entered)
        asked = threading.Semaphore(0)
        errors: List[BaseException] = []

        def wait() -> None:
            asked.release()
            try:
                thread.perform(self.fail, wait=True)
            except LoopClosed as error:
                errors.append(error)

        waiters = [Thread(wait) for _ in range(3)]
        for waiter in waiters:
            waiter.start()
            asked.acquire()
        future = thread.perform(self.fail)
        future.add_done_callback(lambda done: errors.append(done.exception() or ValueError()))
        go_on.set()
        with self.assertRaises(LoopClosed):
            future.result(WATCHDOG)
        for waiter in waiters:
            waiter.join(WATCHDOG)
        thread.join(WATCHDOG)
        self.assertEqual([type(error) for error in errors], [LoopClosed] * 4)
        for wait_too in (False, True):
            with self.assertRaises(LoopClosed):
                if wait_too:
                    thread.perform(int, wait=True)
                else:
                    thread.perform(int)

    def test_the_main_thread_waits_for_a_thread_that_ends(self) -> None:
        """PERF-9: it waits in another way than the others do, and is told too."""
        for _ in range(20):
            thread = Thread(lambda: RunLoop.current().run(seconds=0))
            thread.start()
            try:
                self.assertEqual(thread.perform(int, wait=True), 0)
            except LoopClosed:
                pass
            thread.join(WATCHDOG)

    def test_the_lock_of_the_interpreter_is_free_meanwhile(self) -> None:
        """ABI-1: a waiter holds nobody up, on whichever thread it is."""
        with Served() as thread:
            go_on = threading.Event()
            counted: List[int] = []
            waiter = Thread(lambda: thread.perform(go_on.wait, WATCHDOG, wait=True))
            waiter.start()
            for number in range(1000):
                counted.append(number)
            go_on.set()
            self.assertTrue(waiter.join(WATCHDOG))
            self.assertEqual(len(counted), 1000)

    def test_exceptions_of_the_kind_that_ends_runs(self) -> None:
        """PERF-11, ABI-4: SystemExit ends the thread's run, and the waiter sees it as well, on whichever thread it is."""

        def leave() -> None:
            raise SystemExit(2)

        for waiter in (lambda function: function(), in_thread):
            thread = Thread(serve)
            thread.start_and_wait(WATCHDOG)
            with self.assertRaises(SystemExit):
                waiter(lambda: thread.perform(leave, wait=True))
            self.assertIsNone(thread.join(WATCHDOG))

    def test_many_at_once(self) -> None:
        """PERF-4, PERF-7: each gets its own result or exception, and nothing stays behind."""
        count, callers = 300, 6

        def answer(caller: int, number: int) -> int:
            if number % 7 == 3:
                raise KeyError(caller, number)
            return caller * count + number

        failures: List[object] = []
        before = len(_registry.calls)

        def call(thread: Thread, caller: int) -> None:
            for number in range(count):
                try:
                    if thread.perform(answer, caller, number, wait=True) != caller * count + number:
                        failures.append((caller, number))
                except KeyError as error:
                    if error.args != (caller, number) or number % 7 != 3:
                        failures.append(error)

        server = Thread(serve)
        server.start_and_wait(WATCHDOG)
        threads = [threading.Thread(target=call, args=(server, caller)) for caller in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        server.stop_and_join(WATCHDOG)
        self.assertEqual(failures, [])
        self.assertEqual(len(_registry.calls), before)

    def test_signals_during_a_wait_of_the_main_thread(self) -> None:
        """PERF-7, ABI-4: Ctrl-C ends the wait, and other signals do not."""
        server = Thread(serve)
        server.start_and_wait(WATCHDOG)
        main = threading.main_thread().ident
        assert main is not None
        handled: List[int] = []
        previous = signal.signal(signal.SIGUSR1, lambda number, frame: handled.append(number))
        try:

            def disturb() -> int:
                signal.pthread_kill(main, signal.SIGUSR1)
                return 7

            for number in range(20):
                self.assertEqual(server.perform(disturb, wait=True), 7)
                self.assertTrue(eventually(lambda: len(handled) == number + 1))
        finally:
            signal.signal(signal.SIGUSR1, previous)
        go = threading.Event()
        reports: List[ExceptHookArgs] = []
        server.loop.excepthook = reports.append
        before = len(_registry.calls)

        def interrupt() -> None:
            signal.pthread_kill(main, signal.SIGINT)
            go.wait(WATCHDOG)
            raise ZeroDivisionError

        with self.assertRaises(KeyboardInterrupt):
            server.perform(interrupt, wait=True)
        go.set()
        self.assertEqual(server.perform(abs, -1, wait=True), 1)
        self.assertEqual([report.exc_type for report in reports], [ZeroDivisionError])  # nobody asks for it any more
        self.assertEqual(len(_registry.calls), before)
        server.stop_and_join(WATCHDOG)

    def test_in_the_background(self) -> None:
        """PERF-17: a new detached thread with the default attributes."""
        done = threading.Event()
        seen: List[Any] = []

        def work(*arguments: int, **keywords: int) -> None:
            seen.append((arguments, keywords, Thread.current()))
            done.set()

        thread = perform_in_background(work, 1, 2, a=3)
        self.wait(done)
        self.assertEqual(seen, [((1, 2), {"a": 3}, thread)])
        self.assertTrue(thread.detached)


if __name__ == "__main__":
    unittest.main()
