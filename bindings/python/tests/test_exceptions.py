# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Exceptions in callbacks never cross the library; they come out of the call that led to them."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
import unittest
from typing import Any, Callable, List

from treadle import (
    COMMON,
    Activity,
    Events,
    ExceptHookArgs,
    FileDescriptor,
    Item,
    Observer,
    RunLoop,
    RunResult,
    Source,
    Timer,
    excepthook,
)

from support import LoopThread, TestCase, in_thread, run_python


class Mistake(Exception):
    pass


def mistaken(*_arguments: object) -> None:
    raise Mistake("made here")


class ExceptionTestCase(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.loop = RunLoop.current()
        self.mode = self.id()
        self.reports: List[ExceptHookArgs] = []
        self.loop.excepthook = self.reports.append
        self.addCleanup(self.reset)

    def reset(self) -> None:
        self.loop.error_policy = "raise"
        self.loop.excepthook = excepthook

    def added(self, item: Item) -> Any:
        self.loop.add(item, self.mode)
        self.addCleanup(item.invalidate)
        return item

    def signalled(self, **keywords: Any) -> Source:
        source: Source = self.added(Source(**keywords))
        source.signal()
        return source


class Raising(ExceptionTestCase):
    def test_every_kind_of_callback(self) -> None:
        """ABI-3, PERF-11: run() raises the original object, from perform, timer, observer and descriptor."""
        read_end, write_end = os.pipe()
        os.close(write_end)
        self.addCleanup(os.close, read_end)
        makers: List[Callable[[], Item]] = [
            lambda: self.signalled(perform=mistaken),
            lambda: Timer(mistaken),
            lambda: Observer(mistaken, Activity.BEFORE_SOURCES),
            lambda: FileDescriptor(read_end, mistaken, Events.READ),
        ]
        self.added(Source())
        for make in makers:
            with make() as item:
                self.loop.add(item, self.mode)
                try:
                    self.loop.run(self.mode)
                except Mistake as error:
                    text = "".join(traceback.format_exception(Mistake, error, error.__traceback__))
                    notes = getattr(error, "__notes__", [])
                else:
                    self.fail("nothing was raised")
            self.assertIn("in mistaken", text)
            self.assertIn("in _dispatch", text)
            if sys.version_info >= (3, 11):
                self.assertIn(type(item).__name__, notes[0])
                self.assertIn(self.mode, notes[0])
        self.assertEqual(self.reports, [])
        self.assertIs(self.loop.run(self.mode, 0), RunResult.TIMED_OUT)

    def test_the_first_exception_wins_and_nothing_is_lost(self) -> None:
        """ABI-3: what was signalled besides is performed by the next run."""
        seen: List[str] = []
        self.signalled(perform=mistaken)
        self.signalled(perform=lambda source: seen.append("second"))
        with self.assertRaises(Mistake):
            self.loop.run(self.mode)
        self.assertEqual(seen, [])
        self.loop.run(self.mode, 0)
        self.assertEqual(seen, ["second"])

    def test_a_due_timer_is_not_lost(self) -> None:
        """ABI-3, TMR-15: a one-shot that was due behind the exception fires in the next run."""
        seen: List[str] = []
        self.added(Timer(mistaken, fire_at=1.0))
        self.added(Timer(lambda timer: seen.append("second"), fire_at=2.0))
        with self.assertRaises(Mistake):
            self.loop.run(self.mode)
        self.loop.run(self.mode, 0)
        self.assertEqual(seen, ["second"])

    def test_a_performed_function_is_not_lost(self) -> None:
        """ABI-3, BLK-1: a function queued behind the exception runs, then or in the next run."""
        self.signalled(perform=mistaken)
        with self.assertRaises(Mistake):
            self.loop.run(self.mode)
        self.signalled(perform=mistaken)
        future = self.loop.perform(lambda: "done", modes=[self.mode])
        with self.assertRaises(Mistake):
            self.loop.run(self.mode)
        self.loop.run(self.mode, 0)
        self.assertEqual(future.result(), "done")

    def test_exit_is_told_and_its_exception_is_reported(self) -> None:
        """OBS-9, ABI-3: Exit observers are called while unwinding; a second exception has the first as context."""
        seen: List[Activity] = []

        def tell(observer: Observer, activity: Activity) -> None:
            seen.append(activity)
            if activity == Activity.EXIT:
                raise KeyError("second")

        self.added(Observer(tell, Activity.ENTRY | Activity.EXIT))
        self.signalled(perform=mistaken)
        with self.assertRaises(Mistake) as caught:
            self.loop.run(self.mode)
        self.assertEqual(seen, [Activity.ENTRY, Activity.EXIT])
        self.assertEqual([report.exc_type for report in self.reports], [KeyError])
        self.assertIs(self.reports[0].exc_value.__context__, caught.exception)

    def test_nested_runs_have_frames_of_their_own(self) -> None:
        """RUN-12, ABI-3: the inner run raises in the callback that made it, which may catch."""
        seen: List[object] = []

        def outer(source: Source) -> None:
            with Timer(mistaken) as timer:
                self.loop.add(timer, self.mode + " inner")
                try:
                    self.loop.run(self.mode + " inner")
                except Mistake:
                    seen.append("caught")

        self.signalled(perform=outer)
        self.assertIs(self.loop.run(self.mode, 0), RunResult.TIMED_OUT)
        self.assertEqual(seen, ["caught"])

        def through(source: Source) -> None:
            self.loop.add(Timer(mistaken), self.mode + " inner")
            self.loop.run(self.mode + " inner")

        self.signalled(perform=through)
        with self.assertRaises(Mistake):
            self.loop.run(self.mode)

    def test_threads_do_not_mix(self) -> None:
        """OBJ-8, ABI-3, ABI-4: each thread's run raises its own, SystemExit too."""
        for fail, kind in ((mistaken, Mistake), (lambda source: sys.exit(3), SystemExit)):
            with LoopThread() as worker:
                source = Source(perform=fail)
                worker.loop.add(source)
                source.signal()
                worker.join()
            self.assertIsInstance(worker.error, kind)

    def test_outside_of_a_run(self) -> None:
        """SRC0-3, OBJ-8: schedule and cancel raise from add, remove, invalidate and add_common_mode, which are done."""

        def check() -> None:
            loop = RunLoop.current()
            source = Source(schedule=mistaken, cancel=mistaken)
            with self.assertRaises(Mistake):
                loop.add(source, COMMON)
            self.assertIn(source, loop)
            with self.assertRaises(Mistake):
                loop.add_common_mode("another")
            self.assertIn((source, "another"), loop)
            with self.assertRaises(Mistake):
                loop.remove(source, "another")
            self.assertNotIn((source, "another"), loop)
            with self.assertRaises(Mistake):
                source.invalidate()
            self.assertFalse(source.is_valid)

        in_thread(check)

    def test_cancel_in_a_run_raises_where_it_was_caused(self) -> None:
        """SRC0-3, OBJ-9: from the remove() in the callback; caught there, the run goes on."""
        seen: List[str] = []
        other = self.added(Source(cancel=mistaken))

        def remove(source: Source) -> None:
            try:
                self.loop.remove(other, self.mode)
            except Mistake:
                seen.append("caught")

        self.signalled(perform=remove)
        self.assertIs(self.loop.run(self.mode, 0), RunResult.TIMED_OUT)
        self.assertEqual(seen, ["caught"])


class Reporting(ExceptionTestCase):
    def test_the_run_goes_on(self) -> None:
        """ABI-3: with the policy "report" the excepthook is told, and the callback counts as completed."""
        self.loop.error_policy = "report"
        source = self.signalled(perform=mistaken)
        self.assertIs(self.loop.run(self.mode, return_after_source_handled=True), RunResult.HANDLED_SOURCE)
        (report,) = self.reports
        self.assertIs(report.exc_type, Mistake)
        self.assertIsInstance(report.exc_value, Mistake)
        self.assertIsNotNone(report.exc_traceback)
        self.assertEqual((report.loop, report.item, report.mode), (self.loop, source, self.mode))

    def test_exit_is_never_reported(self) -> None:
        """ABI-4: KeyboardInterrupt, SystemExit and their like end the run whatever the policy."""
        self.loop.error_policy = "report"
        for kind in (KeyboardInterrupt, SystemExit, GeneratorExit):

            def end(source: Source) -> None:
                raise kind

            with self.signalled(perform=end), self.assertRaises(kind):
                self.loop.run(self.mode)
        self.assertEqual(self.reports, [])

    def test_the_default_hook_prints(self) -> None:
        """ABI-3: to the standard error stream, with the item and the traceback."""
        self.loop.error_policy = "report"
        self.loop.excepthook = excepthook
        self.signalled(perform=mistaken, label="the culprit")
        output = io.StringIO()
        with contextlib.redirect_stderr(output):
            self.loop.run(self.mode, 0)
        for words in ("the culprit", "in mistaken", "Mistake: made here"):
            self.assertIn(words, output.getvalue())

    def test_each_is_printed_once(self) -> None:
        """THR-19: the library's line does not come besides the traceback, which tells more."""
        script = """if True:
            import time, treadle
            def fail(*arguments):
                raise LookupError("told once")
            thread = treadle.Thread(fail)
            thread.start()
            try:
                thread.join()
            except LookupError:
                pass
            loop = treadle.RunLoop.current()
            loop.error_policy = "report"
            source = treadle.Source(perform=fail)
            loop.add(source)
            source.signal()
            loop.run(seconds=0)
            closure = treadle.closure("v", fail)
            closure()
            thread = treadle.perform_in_background(fail)
            while not thread.is_finished:
                time.sleep(0.01)
        """
        result = run_python(script)
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        for text in ("Traceback", "LookupError: told once"):
            self.assertEqual(result.stderr.count(text), 4, result.stderr)
        self.assertNotIn("treadle: uncaught", result.stderr)

    def test_a_hook_that_raises(self) -> None:
        """ABI-3: goes to sys.unraisablehook, and no further."""
        self.loop.error_policy = "report"
        self.loop.excepthook = mistaken
        self.signalled(perform=mistaken)
        seen: List[Any] = []
        previous = sys.unraisablehook
        sys.unraisablehook = seen.append
        try:
            self.loop.run(self.mode, 0)
        finally:
            sys.unraisablehook = previous
        self.assertEqual([arguments.exc_type for arguments in seen], [Mistake])

    def test_a_hook_that_raises_with_the_interpreters_own(self) -> None:
        """ABI-3: the interpreter's hook takes nothing from us; the text is printed all the same."""
        script = """if True:
            import treadle
            loop = treadle.RunLoop.current()
            loop.error_policy = "report"
            loop.excepthook = lambda arguments: 1 / 0
            source = treadle.Source(perform=lambda source: {}["key"])
            loop.add(source)
            source.signal()
            print(loop.run(seconds=0).name)
        """
        self.assertEqual(self.assertRuns(script), "TIMED_OUT\n")


class Lost(TestCase):
    def test_a_callback_that_fails_before_its_first_line(self) -> None:
        """ABI-3: what ctypes returns then is no answer to the ticket; the exception is found by sys.unraisablehook. When somebody
        replaced that, the run still ends, and says so."""
        script = """if True:
            import sys, treadle
            from treadle import _dispatch
            loop, is_replaced = treadle.RunLoop.current(), sys.argv[1] == "replaced"
            source = treadle.Source(perform=lambda source: None)
            def replace(observer, activity):
                sys.unraisablehook = lambda arguments: None
            loop.add(source)
            if is_replaced:
                observer = treadle.Observer(replace, treadle.Activity.ENTRY)
                loop.add(observer)
            source.signal()
            def tracer(frame, event, argument):
                if frame.f_code is _dispatch._dispatch.__code__ and (sys.unraisablehook.__name__ == "<lambda>") == is_replaced:
                    sys.settrace(None)
                    raise LookupError("before the first line")
            sys.settrace(tracer)
            try:
                loop.run()
            except LookupError as error:
                print(error)
            except treadle.Error as error:
                print(error.code)
        """
        self.assertEqual(self.assertRuns(script, "kept"), "before the first line\n")
        self.assertEqual(self.assertRuns(script, "replaced"), "-14\n")


if __name__ == "__main__":
    unittest.main()
