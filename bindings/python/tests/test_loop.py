# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Run loops: identity, running, stopping, modes."""

from __future__ import annotations

import ctypes
import inspect
import math
import os
import threading
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
    Observer,
    RunLoop,
    RunResult,
    Source,
    Thread,
    Timer,
    WrongThread,
    perform_after,
)

from support import WATCHDOG, LoopThread, TestCase, in_thread


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

    def test_an_empty_mode_is_finished(self) -> None:
        """RUN-1, MODE-7, MODE-9: unknown, empty and common modes return at once."""
        self.assertIs(self.loop.run("nobody knows this mode"), RunResult.FINISHED)
        self.assertIs(self.loop.run(COMMON), RunResult.FINISHED)
        with Observer(lambda observer, activity: None) as observer:
            self.loop.add(observer, "observed only")
            self.assertIs(self.loop.run("observed only"), RunResult.FINISHED)

    def test_an_empty_mode_is_waited_in(self) -> None:
        """RUN-16, RUN-10: a run that says so lasts until its time, or a stop."""
        self.assertIs(self.loop.run("nobody knows this mode", 0.001, when_empty=True), RunResult.TIMED_OUT)
        self.loop.post(self.loop.stop)
        self.assertIs(self.loop.run(when_empty=True), RunResult.STOPPED)

    def test_timeout(self) -> None:
        """RUN-2, RUN-11: not before the time is over; 0 and less make one pass."""
        with Source() as source:
            self.loop.add(source, "m")
            start = time.monotonic()
            self.assertIs(self.loop.run("m", 0.02), RunResult.TIMED_OUT)
            self.assertGreaterEqual(time.monotonic() - start, 0.02)
            for seconds in (0, -1, -math.inf):
                self.assertIs(self.loop.run("m", seconds), RunResult.TIMED_OUT)

    def test_infinite_time(self) -> None:
        """RUN-2: infinity and huge numbers mean for ever."""
        for seconds in (None, math.inf, 1e300):
            timer = Timer(lambda timer: self.loop.stop(), delay=0.001)
            self.loop.add(timer, "m")
            self.assertIs(self.loop.run("m", seconds), RunResult.STOPPED)

    def test_not_a_number(self) -> None:
        """RUN-2: NaN is refused before anything happens."""
        with self.assertRaises(ValueError):
            self.loop.run(DEFAULT, math.nan)

    def test_handled_source(self) -> None:
        """RUN-6, RUN-7: returns once a source was handled."""
        with Source() as source:
            self.loop.add(source, "m")
            source.signal()
            self.assertIs(self.loop.run("m", return_after_source_handled=True), RunResult.HANDLED_SOURCE)

    def test_finished_when_emptied(self) -> None:
        """RUN-8: a one-shot timer is the last content."""
        self.loop.add(Timer(lambda timer: None), "m")
        self.assertIs(self.loop.run("m"), RunResult.FINISHED)

    def test_only_its_own_thread_runs_a_loop(self) -> None:
        """OBJ-6: another thread is refused, and told so."""
        with self.assertRaises(WrongThread) as caught:
            in_thread(lambda: self.loop.run(DEFAULT, 0))
        self.assertEqual(caught.exception.function, "treadle_loop_run")
        self.assertLess(caught.exception.code, 0)
        self.assertIn("TREADLE_E_WRONG_THREAD", str(caught.exception))

    def test_nested_runs(self) -> None:
        """RUN-12, RL-6: a run from a callback, in another mode."""
        seen: List[object] = []

        def inner(timer: Timer) -> None:
            seen.append(self.loop.current_mode)

        def outer(timer: Timer) -> None:
            self.loop.add(Timer(inner), "inner")
            seen.append(self.loop.run("inner"))
            seen.append(self.loop.current_mode)

        self.loop.add(Timer(outer), "outer")
        self.assertIs(self.loop.run("outer"), RunResult.FINISHED)
        self.assertEqual(seen, ["inner", RunResult.FINISHED, "outer"])
        self.assertIsNone(self.loop.current_mode)

    def test_activities_of_a_run(self) -> None:
        """OBS-1, RUN-1, PASS-2, PASS-3: each activity, in CFRunLoop's order."""
        seen: List[Activity] = []
        timer = Timer(lambda timer: None, delay=10_000)

        def note(_observer: Observer, activity: Activity) -> None:
            seen.append(activity)
            if activity == Activity.BEFORE_WAITING:  # not before, or the first pass could fire it
                timer.next_fire = time.monotonic()

        with Observer(note) as observer:
            self.loop.add(observer, "m")
            self.loop.add(timer, "m")
            self.loop.run("m")
        names = "ENTRY BEFORE_TIMERS BEFORE_SOURCES BEFORE_WAITING AFTER_WAITING EXIT".split()
        self.assertEqual(seen, [Activity[name] for name in names])


class Stopping(TestCase):
    def test_stop_ends_the_innermost_run(self) -> None:
        """STOP-1, STOP-2, STOP-7: from another thread, and not remembered without a run."""
        loop = RunLoop.current()
        loop.stop()
        with Source() as source:
            loop.add(source, "m")
            self.assertIs(loop.run("m", 0), RunResult.TIMED_OUT)
        waiting = threading.Event()
        observer = Observer(lambda observer, activity: waiting.set(), Activity.BEFORE_WAITING)
        with LoopThread(lambda loop: loop.add(observer)) as worker:
            self.wait(waiting)
            worker.loop.stop()
            worker.join()
        self.assertIs(worker.result, RunResult.STOPPED)

    def test_a_requested_stop_is_remembered(self) -> None:
        """STOP-9: it ends the next run, also every level."""
        loop = RunLoop.current()
        seen: List[RunResult] = []
        with Source() as source:
            loop.add(source, "m")
            loop.request_stop()
            self.assertIs(loop.run("m"), RunResult.STOPPED)

            def nest(timer: Timer) -> None:
                loop.request_stop(all_levels=True)
                seen.append(loop.run("m"))

            loop.add(Timer(nest), "m")
            self.assertIs(loop.run("m"), RunResult.STOPPED)
        self.assertEqual(seen, [RunResult.STOPPED])

    def test_wake_up(self) -> None:
        """WAKE-1, WAKE-5, WAKE-6: the sleep ends, the run does not."""
        passes = threading.Semaphore(0)
        waiting = Observer(lambda observer, activity: passes.release(), Activity.BEFORE_WAITING)
        with LoopThread(lambda loop: loop.add(waiting)) as worker:
            for _ in range(3):
                self.assertTrue(passes.acquire(timeout=60))
                worker.loop.wake_up()
            self.assertTrue(passes.acquire(timeout=60))
        self.assertIs(worker.result, RunResult.STOPPED)

    def test_is_waiting_is_false_in_callbacks(self) -> None:
        """WAKE-6: also in the observers around the sleep."""
        loop = RunLoop.current()
        seen: List[bool] = []
        timer = Timer(lambda timer: seen.append(loop.is_waiting), delay=10_000)

        def note(_observer: Observer, activity: Activity) -> None:
            seen.append(loop.is_waiting)
            if activity == Activity.BEFORE_WAITING:  # not before, or the first pass could fire it
                timer.next_fire = time.monotonic()

        with Observer(note) as observer:
            loop.add(observer, "m")
            loop.add(timer, "m")
            loop.run("m")
        self.assertEqual(seen, [False] * 7)


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
        """MODE-8, RL-4: a mode that joins gets what is recorded; contains answers from the record."""

        def check() -> None:
            loop = RunLoop.current()
            seen: List[str] = []
            source = Source(
                schedule=lambda source, loop, mode: seen.append("+" + mode),
                cancel=lambda source, loop, mode: seen.append("-" + mode),
            )
            self.assertTrue(loop.add(source, COMMON))
            self.assertFalse(loop.add(source, COMMON))
            self.assertFalse(loop.is_common_mode("mine"))
            loop.add_common_mode("mine")
            self.assertTrue(loop.is_common_mode("mine"))
            for mode in (DEFAULT, "mine", COMMON):
                self.assertTrue(loop.contains(source, mode))
                self.assertIn((source, mode), loop)
            self.assertIn(source, loop)
            self.assertEqual(seen, ["+" + DEFAULT, "+mine"])
            self.assertTrue(loop.remove(source, COMMON))
            self.assertEqual(sorted(seen[2:]), ["-" + DEFAULT, "-mine"])
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

    def test_ignored_additions(self) -> None:
        """MODE-5, MODE-6, RL-9: no effect, and no error."""
        loop = RunLoop.current()
        timer = Timer(lambda timer: None, interval=1)
        with LoopThread() as worker:
            self.assertTrue(worker.loop.add(timer))
            self.assertFalse(loop.add(timer, "m"))
        self.assertTrue(timer.is_valid)
        self.assertFalse(worker.loop.add(timer))
        self.assertIsNone(worker.loop.thread_id)
        timer.invalidate()
        self.assertFalse(loop.add(timer, "m"))
        self.assertFalse(loop.remove(timer, "m"))

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
