# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Threads that are started and stopped in step (THR-18)."""

from __future__ import annotations

import threading
import unittest

from treadle import Error, RunLoop, RunResult, Source, Thread, Timeout

from support import TestCase, WATCHDOG


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


if __name__ == "__main__":
    unittest.main()
