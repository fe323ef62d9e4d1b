# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Timers."""

from __future__ import annotations

import gc
import math
import threading
import time
import unittest
import weakref
from typing import Any, Dict, List

from treadle import RunLoop, RunResult, Timer

from test_items import ItemTestCase


class Timers(ItemTestCase):
    def test_one_shots_that_nobody_refers_to(self) -> None:
        """TMR-24: they end when they have fired, as in C; those that are referred to stay in their modes, and rise again."""
        seen: List[str] = []
        loop = RunLoop.current()
        lost = weakref.ref(loop.after(0)(lambda timer: seen.append("lost")))
        kept = loop.after(0)(lambda timer: seen.append("kept"))
        self.assertIs(loop.run(), RunResult.FINISHED)
        gc.collect()
        self.assertIsNone(lost())
        self.assertTrue(kept.is_valid and kept in loop)
        self.assertEqual(loop.items(), [kept])
        kept.next_fire = time.monotonic()
        fallen = weakref.ref(kept)
        del kept  # armed: the loop holds it until it has fired
        gc.collect()
        self.assertIs(loop.run(), RunResult.FINISHED)
        gc.collect()
        self.assertIsNone(fallen())
        self.assertEqual(sorted(seen), ["kept", "kept", "lost"])

    def test_one_shots_that_are_armed_in_their_callback(self) -> None:
        """TMR-24: those go on, though nobody refers to them."""
        seen: List[int] = []

        def fire(timer: Timer) -> None:
            seen.append(1)
            gc.collect()
            if len(seen) < 3:
                timer.arm(0)

        RunLoop.current().after(0)(fire)
        self.assertIs(RunLoop.current().run(), RunResult.FINISHED)
        self.assertEqual(len(seen), 3)

    def test_firing_by_hand(self) -> None:
        """NST-3: on the calling thread, which is the one that gets an exception; in its callback a timer is not fired again."""
        seen: List[object] = []

        def fire(timer: Timer) -> None:
            seen.append((threading.get_ident(), timer.fire()))

        self.assertTrue(Timer(fire, interval=1000).fire())
        self.assertEqual(seen, [(threading.get_ident(), False)])

        def fail(timer: Timer) -> None:
            raise KeyError("by hand")

        with self.assertRaisesRegex(KeyError, "by hand"):
            Timer(fail, interval=1000).fire()

    def test_the_wall_clock(self) -> None:
        """TMR-24: dates of time.time(), for the first one and for those that follow; never early."""
        dates: List[float] = []

        def fire(timer: Timer) -> None:
            self.assertGreaterEqual(time.time(), timer.next_fire or math.inf)
            dates.append(timer.next_fire or 0)

        first = time.time() + 0.001
        timer = Timer(fire, fire_at=first, wall_clock=True)
        self.added(timer)
        self.assertAlmostEqual(timer.next_fire or 0, first, places=5)
        self.assertIs(self.loop.run(self.mode), RunResult.FINISHED)
        timer.next_fire = second = time.time() + 0.001
        self.assertIs(self.loop.run(self.mode), RunResult.FINISHED)
        self.assertAlmostEqual(dates[0], first, places=5)
        self.assertAlmostEqual(dates[1], second, places=5)
        after = Timer(fire, delay=1000, wall_clock=True)
        self.assertAlmostEqual((after.next_fire or 0) - time.time(), 1000, delta=100)

    def test_properties(self) -> None:
        """TMR-1, TMR-2, TMR-3, TMR-5: as they were asked for, within their limits."""
        timer = Timer(lambda timer: None, interval=2.5, delay=7, tolerance=0.5, label="some timer")
        self.added(timer)
        self.assertEqual((timer.interval, timer.repeats, timer.tolerance), (2.5, True, 0.5))
        timer.tolerance = 100
        self.assertEqual(timer.tolerance, 1.25)
        timer.tolerance = -1
        self.assertEqual(timer.tolerance, 0)
        self.assertAlmostEqual((timer.next_fire or 0) - time.monotonic(), 7, delta=5)
        for word in ("some timer", " valid", "2.5"):
            self.assertIn(word, repr(timer))

    def test_numbers_that_are_refused(self) -> None:
        """TMR-1: NaN and negative intervals; two first dates."""
        refused: List[Dict[str, Any]] = [
            {"interval": math.nan},
            {"interval": -1.0},
            {"delay": math.nan},
            {"fire_at": math.nan},
            {"tolerance": math.nan},
            {"delay": 1.0, "fire_at": 1.0},
        ]
        for keywords in refused:
            with self.assertRaises(ValueError, msg=str(keywords)):
                Timer(lambda timer: None, **keywords)
        with Timer(lambda timer: None) as timer, self.assertRaises(ValueError):
            timer.next_fire = math.nan


if __name__ == "__main__":
    unittest.main()
