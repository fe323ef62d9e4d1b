# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Functions that a loop performs after a delay."""

from __future__ import annotations

import unittest
from typing import Any, List

import treadle
from treadle import RunLoop, RunResult, Thread, cancel_performs, perform_after

from support import TestCase, WATCHDOG, eventually, in_thread


class AfterADelay(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.seen: List[Any] = []

    def run_loop(self, mode: str = treadle.DEFAULT) -> RunResult:
        """Until everything in the mode is done."""
        return RunLoop.current().run(mode, WATCHDOG)

    def test_order(self) -> None:
        """PERF-12, PERF-13, PERF-14: in the order of the dates, never at once; not as a handled source."""
        for number in range(5):
            perform_after(0, self.seen.append, number)
        perform_after(-1, self.seen.append, "in the past counts as now")
        perform_after(0.01, self.seen.append, "late")
        perform_after(0.001, self.seen.append, "early")
        self.assertEqual(self.seen, [])
        result = RunLoop.current().run(seconds=WATCHDOG, return_after_source_handled=True)
        self.assertIs(result, RunResult.FINISHED)
        self.assertEqual(self.seen, [0, 1, 2, 3, 4, "in the past counts as now", "early", "late"])
        with self.assertRaises(ValueError):
            perform_after(float("nan"), int)
        with self.assertRaises(TypeError):
            perform_after(0, 3)  # type: ignore[arg-type]

    def test_modes(self) -> None:
        """PERF-12: also in the default mode unless told; an empty list performs nothing."""
        perform_after(0, self.seen.append, "other", modes=["one", "two"])
        never = perform_after(0, self.seen.append, "never", modes=[])
        self.assertFalse(never.is_valid)
        perform_after(0, self.seen.append, "default")
        self.run_loop()
        self.assertEqual(self.seen, ["default"])
        self.run_loop("two")
        self.assertEqual(self.run_loop("one"), RunResult.FINISHED)
        self.assertEqual(self.seen, ["default", "other"])

    def test_cancelling(self) -> None:
        """PERF-15: by the target, or by target, function and equal arguments; this thread's delayed ones only."""

        class Target:
            def __eq__(self, other: object) -> bool:
                return True  # targets are compared by identity all the same

            def __hash__(self) -> int:
                return 1

            def method(self, *arguments: object) -> None:
                seen.append(arguments)

            def other(self) -> None:
                seen.append("other")

        seen = self.seen
        one, two = Target(), Target()
        for target in (one, two):
            perform_after(0, target.method, [1])
            perform_after(0, target.method, [2])
            perform_after(0, target.other)
        Thread.current().perform(one.method, "not a delayed one")
        self.assertEqual(cancel_performs(one, one.method, [1]), 1)
        self.assertEqual(cancel_performs(one, one.method, [1]), 0)
        self.assertEqual(cancel_performs(two, two.other), 1)
        self.assertEqual(in_thread(lambda: cancel_performs(two)), 0)
        self.assertEqual(cancel_performs(one), 2)
        self.run_loop()
        self.assertEqual(seen, [("not a delayed one",), ([1],), ([2],)])

    def test_targets(self) -> None:
        """PERF-15: the object of a bound method, a function itself, or what was given."""
        mine = object()
        perform_after(9999, print, "a function", target=mine)
        perform_after(9999, print, "a function")
        perform_after(9999, self.seen.append, 1)
        self.assertEqual(cancel_performs(mine), 1)
        self.assertEqual(cancel_performs(print, print, "a function"), 1)
        self.assertEqual(cancel_performs(self.seen, self.seen.append, 1), 1)
        self.assertIs(self.run_loop(), RunResult.FINISHED)

    def test_cancelling_inside(self) -> None:
        """PERF-15: a performed function cancels those that have not started, in the same pass too."""
        target = object()
        perform_after(0, lambda: self.seen.append(cancel_performs(target)))
        for _ in range(3):
            perform_after(0, self.fail, target=target)
        self.run_loop()
        self.assertEqual(self.seen, [3])

    def test_the_timer(self) -> None:
        """PERF-14, PERF-15: what comes back is the timer, which may be invalidated, and tells its date."""
        timer = perform_after(9999, self.fail)
        self.assertGreater(timer.next_fire or 0, 9999)
        timer.invalidate()
        self.assertIs(self.run_loop(), RunResult.FINISHED)

    def test_the_end_of_the_thread(self) -> None:
        """PERF-16: what is left is dropped, with what it holds."""

        class Held:
            def __del__(self) -> None:
                seen.append("let go")

        seen = self.seen

        def body() -> None:
            perform_after(0, self.fail, Held())
            perform_after(9999, self.fail, Held())

        thread = Thread(body)
        thread.start()
        thread.join(WATCHDOG)
        self.assertTrue(eventually(lambda: seen == ["let go"] * 2))

    def test_exceptions(self) -> None:
        """PERF-11: end the run, as those of every timer do."""
        perform_after(0, divmod, 1, 0)
        with self.assertRaises(ZeroDivisionError):
            self.run_loop()


if __name__ == "__main__":
    unittest.main()
