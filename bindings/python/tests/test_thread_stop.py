# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Threads that are started and stopped in step (THR-18)."""

from __future__ import annotations

import threading
import unittest
from typing import List

from treadle import DeadlockError, Error, RunLoop, RunResult, Source, Thread, Timeout, Timer

from support import TestCase, WATCHDOG, eventually


class StartAndStop(TestCase):
    def test_ready(self) -> None:
        """THR-18: by declaring it, or by entering the first pass."""
        ready, go_on = threading.Event(), threading.Event()

        def declare() -> None:
            ready.set()
            Thread.declare_ready()
            Thread.declare_ready()
            self.wait(go_on)

        thread = Thread(declare)
        thread.start_and_wait(WATCHDOG)
        self.assertTrue(ready.is_set() and thread.is_executing)
        go_on.set()
        thread.join(WATCHDOG)

        def run() -> RunResult:
            RunLoop.current().add(Source())
            return RunLoop.current().run()

        thread = Thread(run)
        thread.start_and_wait()
        self.assertEqual(thread.perform(int, wait=True), 0)
        self.assertIs(thread.stop_and_join(WATCHDOG), RunResult.STOPPED)
        self.assertTrue(thread.is_cancelled and thread.is_finished)
        Thread.declare_ready()

    def test_never_ready(self) -> None:
        """THR-18: one that ended before is an error; one that takes too long goes on."""
        with self.assertRaises(Error) as raised:
            Thread(int).start_and_wait(WATCHDOG)
        self.assertEqual(raised.exception.code, -5)
        cancelled = Thread(self.fail)
        cancelled.cancel()
        with self.assertRaises(Error):
            cancelled.start_and_wait(WATCHDOG)
        go_on = threading.Event()
        thread = Thread(lambda: go_on.wait(WATCHDOG) and 5)
        with self.assertRaises(Timeout):
            thread.start_and_wait(0.001)
        go_on.set()
        self.assertEqual(thread.join(WATCHDOG), 5)

    def test_no_stop_is_lost(self) -> None:
        """THR-18, STOP-9: whenever it comes: before the start, before the run, inside nested runs."""

        def run() -> List[RunResult]:
            loop = RunLoop.current()
            results: List[RunResult] = []
            loop.add(Source())
            loop.add(Source(), "inner")
            loop.add(Timer(lambda timer: results.append(loop.run("inner")), delay=0))
            results.append(loop.run())
            return results

        for number in range(60):
            thread = Thread(run)
            if number % 3 == 0:
                thread.start()
            elif number % 3 == 1:
                thread.start_and_wait(WATCHDOG)
            else:
                thread.loop
                thread.start()
            self.assertLessEqual(set(thread.stop_and_join(WATCHDOG)), {RunResult.STOPPED})

    def test_joins_in_a_circle(self) -> None:
        """THR-17: two threads that join each other: one of them is told, and both end."""
        threads: List[Thread] = []
        both = threading.Barrier(2)

        def join(index: int) -> str:
            both.wait(WATCHDOG)
            try:
                threads[1 - index].join()
            except DeadlockError:
                return "told"
            return "joined"

        threads += [Thread(join, (index,)) for index in range(2)]
        for thread in threads:
            thread.start()
        self.assertTrue(eventually(lambda: all(thread.is_finished for thread in threads)))
        results = {thread._result for thread in threads}
        self.assertEqual(results, {"told", "joined"})

    def test_ctrl_c_ends_a_join(self) -> None:
        """ABI-4: on the main thread; the thread can be joined later."""
        script = """if True:
            import os, signal, threading, treadle
            main = threading.main_thread().ident
            joining, go_on = threading.Event(), threading.Event()
            def body():
                joining.wait()
                signal.pthread_kill(main, signal.SIGINT)
                go_on.wait()
                return "done"
            thread = treadle.Thread(body)
            thread.start()
            try:
                joining.set()
                thread.join()
            except KeyboardInterrupt:
                print("interrupted")
            go_on.set()
            print(thread.join())
        """
        self.assertEqual(self.assertRuns(script), "interrupted\ndone\n")


if __name__ == "__main__":
    unittest.main()
