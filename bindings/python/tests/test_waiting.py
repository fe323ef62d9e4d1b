# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Threads that wait inside the library for what others perform."""

from __future__ import annotations

import signal
import threading
import unittest
from typing import List

import treadle
from treadle import DeadlockError, LoopClosed, RunLoop, RunResult, Source, Thread, _registry

from support import WATCHDOG, TestCase, eventually, in_thread


def leave() -> None:
    raise SystemExit(3)


class Waiting(TestCase):
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

        server = Thread(self.serve)
        server.start_and_wait(WATCHDOG)
        threads = [threading.Thread(target=call, args=(server, caller)) for caller in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        server.stop_and_join(WATCHDOG)
        self.assertEqual(failures, [])
        self.assertEqual(len(_registry.calls), before)

    def test_on_the_main_thread(self) -> None:
        """PERF-7, ABI-4: results and exceptions come back; Ctrl-C ends the wait, and other signals do not."""
        server = Thread(self.serve)
        server.start_and_wait(WATCHDOG)
        main = threading.main_thread().ident
        assert main is not None
        for number in range(200):
            self.assertEqual(server.perform(abs, -number, wait=True), number)
        with self.assertRaises(KeyError):
            server.perform({}.__getitem__, "x", wait=True)
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
        reports: List[treadle.ExceptHookArgs] = []
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
        with self.assertRaises(LoopClosed):
            server.perform(int, wait=True)

    def test_two_that_wait_for_each_other(self) -> None:
        """PERF-7, ABI-1: whoever comes last is refused, however close they come; the other one is served."""
        rounds = 300
        pair: List[Thread] = []
        barrier = threading.Barrier(2)
        refusals = [0, 0]

        def play(own: int) -> None:
            loop, other = RunLoop.current(), pair[1 - own]
            for _ in range(rounds):
                barrier.wait(WATCHDOG)
                try:
                    other.perform(other.loop.stop, wait=True)
                except DeadlockError:
                    refusals[own] += 1
                    loop.run()  # until it has served the other one

        for own in range(2):
            pair.append(Thread(play, (own,)))
        for thread in pair:
            thread.loop.add(Source(label="keeps the mode from being empty"))
            thread.start()
        for thread in pair:
            thread.join(WATCHDOG)
        self.assertEqual(sum(refusals), rounds)

    def test_what_ends_the_run_comes_back_too(self) -> None:
        """ABI-4: SystemExit in the function ends the run there, and is raised here."""
        server = Thread(self.serve)
        server.start_and_wait(WATCHDOG)

        def wait() -> None:
            with self.assertRaises(SystemExit):
                server.perform(leave, wait=True)

        in_thread(wait)
        self.assertIsNone(server.join(WATCHDOG))
        with self.assertRaises(LoopClosed):
            in_thread(lambda: server.perform(int, wait=True))

    def test_the_thread_ends_meanwhile(self) -> None:
        """PERF-9: who waits for a function that is never run gets LoopClosed."""
        go = threading.Event()
        server = Thread(go.wait, (WATCHDOG,))
        server.start()
        errors: List[BaseException] = []

        def wait() -> None:
            try:
                server.perform(self.fail, wait=True)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=wait) for _ in range(3)]
        for thread in threads:
            thread.start()
        go.set()
        for thread in threads:
            thread.join()
        server.join(WATCHDOG)
        self.assertEqual([type(error) for error in errors], [LoopClosed] * 3)

    @staticmethod
    def serve() -> RunResult:
        RunLoop.current().add(Source(label="keeps the mode from being empty"))
        return RunLoop.current().run()

if __name__ == "__main__":
    unittest.main()
