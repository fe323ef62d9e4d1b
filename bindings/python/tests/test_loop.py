# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Run loops: identity, running, stopping, modes."""

from __future__ import annotations

import ctypes
import inspect
import math
import os
import time
import unittest
from typing import Any, Callable, List

import treadle
from treadle import (
    COMMON,
    DEFAULT,
    Activity,
    Error,
    InvalidArgument,
    Item,
    RunLoop,
    RunResult,
    Source,
    Thread,
    Timer,
    WrongThread,
    perform_after,
)

from support import WATCHDOG, TestCase, in_thread


class Identity(TestCase):
    def test_a_thread_has_one_loop_and_one_object(self) -> None:
        """RL-1, RL-2: the same object on every call, another one on another thread."""
        self.assertIs(RunLoop.current(), RunLoop.current())
        self.assertIsNot(in_thread(RunLoop.current), RunLoop.current())
        self.assertTrue(RunLoop.current().is_current)

    def test_main_is_the_loop_of_the_initial_thread(self) -> None:
        """RL-3: from any thread."""
        self.assertIs(RunLoop.main(), in_thread(RunLoop.main))
        self.assertEqual(RunLoop.main().thread_id, os.getpid())

    def test_a_loop_is_not_constructed(self) -> None:
        """RL-1: there is no public constructor."""
        with self.assertRaises(TypeError):
            RunLoop()

    def test_a_loop_keeps_its_settings(self) -> None:
        """RL-1: attributes stay while the thread lives, whoever holds the object."""

        def check() -> str:
            RunLoop.current().error_policy = "report"
            return RunLoop.current().error_policy

        self.assertEqual(in_thread(check), "report")

    def test_repr(self) -> None:
        """RL-12: a description in every state."""
        self.assertIn(str(os.getpid()), repr(RunLoop.main()))
        self.assertIn("gone", repr(in_thread(RunLoop.current)))


class Running(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.loop = RunLoop.current()

    def test_infinite_time(self) -> None:
        """RUN-2: infinity and huge numbers mean for ever; less than any time makes one pass."""
        for seconds in (None, math.inf, 1e300):
            timer = Timer(lambda timer: self.loop.stop(), delay=0.001)
            self.loop.add(timer, "m")
            self.assertIs(self.loop.run("m", seconds), RunResult.STOPPED)
        self.assertIs(self.loop.run("m", -math.inf, when_empty=True), RunResult.TIMED_OUT)
        self.assertIsNone(self.loop.current_mode)

    def test_not_a_number(self) -> None:
        """RUN-2: NaN is refused before anything happens."""
        with self.assertRaises(ValueError):
            self.loop.run(DEFAULT, math.nan)

    def test_only_its_own_thread_runs_a_loop(self) -> None:
        """OBJ-6: another thread is refused, and told so."""
        with self.assertRaises(WrongThread) as caught:
            in_thread(lambda: self.loop.run(DEFAULT, 0))
        self.assertEqual(caught.exception.function, "treadle_loop_run")
        self.assertLess(caught.exception.code, 0)
        self.assertIn("TREADLE_E_WRONG_THREAD", str(caught.exception))


class Modes(TestCase):
    def test_modes_exist_by_use(self) -> None:
        """RL-7: adding makes a mode; running, asking and removing do not."""

        def check() -> "frozenset[str]":
            loop = RunLoop.current()
            source = Source()
            loop.run("run")
            loop.contains(source, "asked")
            loop.remove(source, "removed")
            loop.add(source, "added " + "é" * 100)
            return loop.modes

        self.assertEqual(in_thread(check), {DEFAULT, "added " + "é" * 100})

    def test_the_common_set(self) -> None:
        """MODE-8, RL-4: `in` tells of a loop's items, and of an item and a mode."""

        def check() -> None:
            loop, source = RunLoop.current(), Source()
            loop.add(source, COMMON)
            self.assertFalse(loop.is_common_mode("mine"))
            loop.add_common_mode("mine")
            self.assertTrue(loop.is_common_mode("mine"))
            for mode in (DEFAULT, "mine", COMMON):
                self.assertIn((source, mode), loop)
            self.assertIn(source, loop)
            loop.remove(source, COMMON)
            self.assertNotIn(source, loop)

        in_thread(check)

    def test_names(self) -> None:
        """MODE-1, MODE-3: a name is text without NUL."""
        loop = RunLoop.current()
        with Source() as source:
            with self.assertRaises(ValueError):
                loop.add(source, "a\0b")
            with self.assertRaises(TypeError):
                loop.add(source, 1)  # type: ignore[arg-type]
            with self.assertRaises(InvalidArgument):
                loop.add_common_mode(COMMON)

    def test_modes_that_are_not_named(self) -> None:
        """MODE-4, PERF-1: without modes all is for the common ones; a text is one mode, a list several."""
        in_thread(self.in_modes_that_are_not_named)

    def in_modes_that_are_not_named(self) -> None:
        loop = RunLoop.current()
        seen: List[int] = []
        loop.add_common_mode("common to all")

        def see(*_arguments: Any) -> None:
            seen.append(1)
            loop.stop()

        def signalled(modes: Any) -> Source:
            source = Source(perform=see)
            loop.add(source, modes)
            source.signal()
            return source

        reader, writer = os.pipe()
        os.write(writer, b"x")
        ways: List[Callable[[Any], Any]] = [
            signalled,
            lambda modes: loop.every(0.001, modes=modes)(see),
            lambda modes: loop.after(0.001, modes=modes)(see),
            lambda modes: loop.on(Activity.ENTRY, modes=modes)(see),
            lambda modes: loop.reader(reader, modes=modes)(see),
            lambda modes: loop.perform(see, modes=modes),
            lambda modes: Thread.current().perform(see, modes=modes),
            lambda modes: perform_after(0, see, modes=modes),
            lambda modes: loop.invoke(ctypes.CFUNCTYPE(None)(see), wait=False, modes=modes),
        ]
        keeper = Timer(see, delay=3600)
        loop.add(keeper, ["one", "two"])
        loop.add(keeper)
        for way in ways:
            for modes, name in (None, "common to all"), (None, DEFAULT), ("two", "two"), (["one", "two"], "two"):
                made = way(modes)
                seen.clear()
                self.assertIsNot(loop.run("one" if modes == "two" else "nothing", 0), RunResult.STOPPED)
                self.assertEqual(seen, [])
                self.assertIs(loop.run(name, WATCHDOG), RunResult.STOPPED, (way, modes))
                self.assertEqual(seen, [1])
                if isinstance(made, Item):
                    made.invalidate()
        keeper.invalidate()
        os.close(reader)
        os.close(writer)

    def test_modes_have_one_name_and_one_default(self) -> None:
        """What takes several modes calls them `modes`, None; what takes one, `mode`."""
        functions: List[Any] = [treadle.perform_after, treadle.perform_on_main, treadle.Closure.__init__]
        for kind in treadle.RunLoop, treadle.Thread, treadle.FileDescriptor, treadle.Timer, treadle.Source:
            functions += [value for name, value in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"]
        one = {"run", "items", "next_fire", "open_pollable", "add_common_mode", "is_common_mode"}
        for function in functions:
            parameters = inspect.signature(function).parameters
            self.assertEqual("mode" in parameters, function.__name__ in one, function)
            if "modes" in parameters:
                self.assertIsNone(parameters["modes"].default, function)

    def test_next_fire(self) -> None:
        """TMR-9: the earliest date in the mode."""
        loop = RunLoop.current()
        date = time.monotonic() + 1000
        self.assertIsNone(loop.next_fire("no such mode"))
        with Timer(lambda timer: None, fire_at=date) as timer:
            loop.add(timer, "m")
            self.assertAlmostEqual(loop.next_fire("m") or 0, date, places=6)
        self.assertIsNone(loop.next_fire("m"))


class Statuses(TestCase):
    def test_an_error_tells_its_status(self) -> None:
        """ABI-6: status, function and message."""
        with self.assertRaises(Error) as caught:
            RunLoop.current().add_common_mode(COMMON)
        error = caught.exception
        self.assertIsInstance(error, ValueError)
        self.assertIsInstance(error, RuntimeError)
        self.assertEqual((error.code, error.function), (-1, "treadle_loop_add_common_mode"))
        self.assertTrue(error.message)

    def test_values_are_those_of_cfrunloop(self) -> None:
        """ABI-6, RUN-4, OBS-1, MODE-2: so that ported code works."""
        self.assertEqual([int(result) for result in RunResult], [1, 2, 3, 4, -15])  # the last is Treadle's own
        activities = [Activity.ENTRY, Activity.BEFORE_TIMERS, Activity.BEFORE_SOURCES, Activity.BEFORE_WAITING]
        self.assertEqual(activities, [1, 2, 4, 32])
        self.assertEqual([Activity.AFTER_WAITING, Activity.EXIT, Activity.ALL], [64, 128, 0x0FFFFFFF])
        self.assertEqual((DEFAULT, COMMON), ("kCFRunLoopDefaultMode", "kCFRunLoopCommonModes"))


if __name__ == "__main__":
    unittest.main()
