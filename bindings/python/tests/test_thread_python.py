# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Treadle's threads are threads of Python: debuggers, profilers and threading see them."""

from __future__ import annotations

import sys
import threading
import unittest
from types import FrameType
from typing import Any, List, Optional, Set, Tuple

import treadle
from treadle import RunLoop, Source, Thread, Timer

from support import WATCHDOG, TestCase, eventually, foreign

Seen = Set[Tuple[Optional[int], str]]


class Hooks(TestCase):
    """threading.settrace() and setprofile() concern every thread that begins later."""

    def setUp(self) -> None:
        super().setUp()
        self.seen: Seen = set()

    def note(self, frame: FrameType, event: str, _argument: object) -> Any:
        if event == "call":
            self.seen.add((threading.get_ident(), frame.f_code.co_name))
        return self.note

    def trace(self) -> None:
        threading.settrace(self.note)
        self.addCleanup(threading.settrace, None)

    def run_on_thread(self) -> Optional[int]:
        def called() -> None:
            pass

        def body() -> int:
            called()
            loop = RunLoop.current()

            def fired(_timer: Timer) -> None:
                loop.stop()

            loop.add(Timer(fired, delay=0))
            loop.run()
            return threading.get_ident()

        thread = Thread(body)
        thread.start()
        identity: int = thread.join(WATCHDOG)
        return identity

    def test_tracing_and_profiling(self) -> None:
        """THR-20: a trace function, and a profile function, sees what a thread's function, and its callbacks, call."""
        for install in (threading.settrace, threading.setprofile):
            self.seen.clear()
            install(self.note)
            self.addCleanup(install, None)
            identity = self.run_on_thread()
            install(None)
            self.assertLessEqual({(identity, name) for name in ("body", "called", "fired")}, self.seen)
            self.assertNotIn((threading.get_ident(), "run_on_thread"), self.seen)

    def test_without_hooks(self) -> None:
        """THR-20: without them a thread has none."""

        def body() -> Tuple[object, object]:
            return sys.gettrace(), sys.getprofile()

        thread = Thread(body)
        thread.start()
        self.assertEqual(thread.join(WATCHDOG), (None, None))

    def test_in_the_background(self) -> None:
        """THR-20, PERF-17: and perform_in_background()."""
        self.trace()
        over = threading.Event()

        def work() -> None:
            over.set()

        treadle.perform_in_background(work)
        self.wait(over)
        self.assertIn("work", {name for _, name in self.seen})

    def test_threads_of_c(self) -> None:
        """THR-20: callbacks on a thread that C has made are traced as well."""
        self.trace()
        helper = foreign()
        handle = helper.foreign_start()
        over = threading.Event()

        def performed(_source: Source) -> None:
            over.set()

        source = Source(perform=performed)
        loop = RunLoop._of(helper.foreign_loop(handle))
        loop.add(source)
        source.signal()
        self.wait(over)
        helper.foreign_stop(handle)
        self.assertIn("performed", {name for _, name in self.seen})


class Names(TestCase):
    def test_the_current_threads_name(self) -> None:
        """THR-13, THR-20: threading, and so logging, know a thread by its name; a rename follows, both ways."""

        def body() -> List[str]:
            names = [threading.current_thread().name]
            Thread.current().name = "second"
            names.append(threading.current_thread().name)
            threading.current_thread().name = "third"
            names += [Thread.current().name, threading.current_thread().name]
            return names

        thread = Thread(body, name="first")
        thread.start()
        self.assertEqual(thread.join(WATCHDOG), ["first", "second", "third", "third"])

    def test_a_name_from_outside(self) -> None:
        """THR-13: another thread renames it."""
        go = threading.Event()

        def body() -> str:
            current = threading.current_thread()
            self.wait(go)
            self.assertIs(current, threading.current_thread())
            return current.name

        thread = Thread(body, name="before")
        thread.start()
        thread.name = "after"
        go.set()
        self.assertEqual(thread.join(WATCHDOG), "after")

    def test_threads_are_listed_while_they_live(self) -> None:
        """THR-20: threading.enumerate() has them, with their identities, and no longer than they live."""
        ready, go = threading.Event(), threading.Event()

        def body() -> int:
            ready.set()
            self.wait(go)
            return threading.get_ident()

        before = threading.active_count()
        thread = Thread(body, name="listed")
        thread.start()
        self.wait(ready)
        (listed,) = (other for other in threading.enumerate() if other.name == "listed")
        self.assertTrue(listed.is_alive())
        self.assertTrue(listed.daemon)
        go.set()
        self.assertEqual(thread.join(WATCHDOG), listed.ident)
        self.assertTrue(eventually(lambda: threading.active_count() == before))
        self.assertNotIn("listed", [other.name for other in threading.enumerate()])

    def test_without_a_name(self) -> None:
        """THR-13: one without a name has one of threading's, as every thread there."""
        thread = Thread(lambda: threading.current_thread().name)
        thread.start()
        self.assertRegex(thread.join(WATCHDOG), r"^Dummy-\d+$")
        self.assertEqual(thread.name, "")


if __name__ == "__main__":
    unittest.main()
