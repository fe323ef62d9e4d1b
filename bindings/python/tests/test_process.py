# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What concerns the whole process: notifications, the last resort, the shutdown."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
import unittest
from typing import Any, List, Optional

import treadle
from treadle import (
    InvalidArgument,
    LastResortArgs,
    Notification,
    RunLoop,
    Thread,
    Timer,
    notifications,
    set_last_resort,
)

from support import TestCase, WATCHDOG, eventually, in_thread, run_python


class Notifications(TestCase):
    def add(self, *arguments: Any, **keywords: Any) -> notifications.Registration:
        registration = notifications.add(*arguments, **keywords)
        self.addCleanup(registration.remove)
        return registration

    def test_will_exit(self) -> None:
        """THR-14, NOTE-1, THR-12: on the thread, once, in order; it executes still, and has its dictionary."""
        seen: List[Any] = []

        def told(name: Notification, thread: Optional[Thread]) -> None:
            assert thread is not None
            current = Thread.current()
            seen.append((name, thread is current, thread.is_executing, thread.is_finished, thread.dictionary["key"]))

        def body() -> None:
            Thread.current().dictionary["key"] = "value"

        self.add(Notification.THREAD_WILL_EXIT, told)
        second = self.add(Notification.THREAD_WILL_EXIT, lambda name, thread: seen.append("second"))
        thread = Thread(body)
        thread.start()
        thread.join(WATCHDOG)
        expected = [(Notification.THREAD_WILL_EXIT, True, True, False, "value"), "second"]
        self.assertEqual(seen, expected)
        del seen[:]
        in_thread(body)
        self.assertTrue(eventually(lambda: len(seen) == 2))
        self.assertEqual(seen, expected)
        self.assertTrue(second.remove())
        self.assertFalse(second.remove())
        thread = Thread(body)
        thread.start()
        thread.join(WATCHDOG)
        self.assertEqual(seen, expected + expected[:1])

    def test_of_one_thread(self) -> None:
        """NOTE-1: with an object, only of that one; with-statements remove."""
        seen: List[Any] = []
        threads = [Thread(int) for _ in range(3)]
        with notifications.add(Notification.THREAD_WILL_EXIT, lambda name, thread: seen.append(thread), threads[1]):
            for thread in threads:
                thread.start()
                thread.join(WATCHDOG)
        thread = Thread(int)
        thread.start()
        thread.join(WATCHDOG)
        self.assertEqual(seen, [threads[1]])

    def test_multithreaded(self) -> None:
        """THR-11: once, on the thread that starts the first one, before it runs; threads of Python do not count."""
        script = """if True:
            import threading, treadle
            def told(name, thread):
                print(name.name, thread, treadle.Thread.is_multithreaded(), treadle.Thread.is_main_thread(), flush=True)
            treadle.notifications.add(treadle.Notification.WILL_BECOME_MULTITHREADED, told)
            thread = threading.Thread(target=treadle.Thread.current)
            thread.start()
            thread.join()
            treadle.Thread(int)
            assert not treadle.Thread.is_multithreaded()
            for number in range(2):
                thread = treadle.Thread(print, ("runs",), {"flush": True})
                thread.start()
                thread.join()
        """
        self.assertEqual(self.assertRuns(script), "WILL_BECOME_MULTITHREADED None True True\nruns\nruns\n")

    def test_exceptions(self) -> None:
        """ABI-3: are reported; the rest is told; nothing is raised by who posts."""
        seen: List[str] = []
        self.add(Notification.THREAD_WILL_EXIT, lambda *_: divmod(1, 0))
        self.add(Notification.THREAD_WILL_EXIT, lambda *_: seen.append("told"))
        with contextlib.redirect_stderr(io.StringIO()) as output:
            thread = Thread(int)
            thread.start()
            thread.join(WATCHDOG)
        self.assertEqual(seen, ["told"])
        self.assertIn("ZeroDivisionError", output.getvalue())

    def test_bad_input(self) -> None:
        """NOTE-1: unknown names, and what cannot be called."""
        for name in (0, 77, -1, 2**40):
            with self.assertRaises(InvalidArgument):
                notifications.add(name, print)  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            notifications.add(Notification.THREAD_WILL_EXIT, None)  # type: ignore[arg-type]


class LastResort(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.told: List[LastResortArgs] = []
        self.addCleanup(set_last_resort, None)

    def take(self, arguments: LastResortArgs) -> bool:
        self.told.append(arguments)
        return True

    def fail_on_a_thread(self) -> Thread:
        def fail() -> None:
            raise LookupError("lost")

        thread = Thread(fail)
        thread.start()
        with self.assertRaises(LookupError):
            thread.join(WATCHDOG)
        return thread

    def test_a_threads_function(self) -> None:
        """THR-19: the handler is told on the thread; what it deals with is told to nobody else."""
        set_last_resort(self.take)
        with contextlib.redirect_stderr(io.StringIO()) as output:
            thread = self.fail_on_a_thread()
        (arguments,) = self.told
        self.assertIs(arguments.thread, thread)
        self.assertEqual((arguments.kind, arguments.message), ("Python exception", "LookupError: lost"))
        self.assertIsInstance(arguments.exception, LookupError)
        self.assertEqual(output.getvalue(), "")

    def test_what_it_does_not_deal_with(self) -> None:
        """THR-19: goes to the interpreter's own hook, as without a handler; so it does when the handler raises."""
        hooked: List[Any] = []
        previous, threading.excepthook = threading.excepthook, hooked.append
        unraisable: List[Any] = []
        previous_unraisable, sys.unraisablehook = sys.unraisablehook, unraisable.append
        try:
            for handler in (lambda arguments: False, lambda arguments: None, lambda arguments: 1 / 0, None):
                set_last_resort(handler)
                self.fail_on_a_thread()
        finally:
            threading.excepthook = previous
            sys.unraisablehook = previous_unraisable
        self.assertEqual([arguments.exc_type for arguments in hooked], [LookupError] * 4)
        self.assertEqual([arguments.exc_type for arguments in unraisable], [ZeroDivisionError])
        self.assertEqual(self.told, [])

    def test_a_callback(self) -> None:
        """THR-19: an exception that no call can raise; a loop's own excepthook comes first."""
        loop = RunLoop.current()
        for name in ("error_policy", "excepthook"):
            self.addCleanup(setattr, loop, name, getattr(loop, name))
        loop.error_policy = "report"
        set_last_resort(self.take)

        def run_one() -> None:
            loop.add(Timer(lambda timer: divmod(1, 0), delay=0), "resort")
            loop.run("resort", WATCHDOG)

        run_one()
        self.assertEqual([type(arguments.exception) for arguments in self.told], [ZeroDivisionError])
        hooked: List[Any] = []
        loop.excepthook = hooked.append
        run_one()
        self.assertEqual((len(self.told), len(hooked)), (1, 1))

    def test_errors_of_other_languages(self) -> None:
        """THR-19: they come without an exception; on threads that Python did not make, too."""
        set_last_resort(self.take)
        report = treadle._library.native.treadle_report_error
        self.assertEqual(report(b"C++ exception", b"std::bad_alloc \xff"), 0)
        self.assertEqual(report(None, None), 0)
        self.assertEqual(
            [(told.kind, told.message, told.exception) for told in self.told],
            [("C++ exception", "std::bad_alloc \ufffd", None), ("", "", None)],
        )
        set_last_resort(lambda arguments: False)
        self.assertEqual(report(b"C++ exception", b"text"), 16)

    def test_the_default(self) -> None:
        """THR-19: one line of the library's, then what the interpreter says; the thread is named."""
        script = """if True:
            import treadle
            def work():
                raise LookupError("lost")
            thread = treadle.Thread(work, name="worker")
            thread.start()
            while not thread.is_finished:
                pass
        """
        result = run_python(script)
        self.assertEqual((result.returncode, result.stdout), (0, ""))
        self.assertIn("Exception in thread worker:\nTraceback", result.stderr)
        self.assertIn("LookupError: lost", result.stderr)

    def test_handlers_are_let_go(self) -> None:
        """THR-19: a hundred, one after the other, from two threads; the library has none of them in the end."""

        def change() -> None:
            for _ in range(50):
                set_last_resort(lambda arguments: True)
                set_last_resort(None)

        threads = [Thread(change) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WATCHDOG)
        self.assertEqual(treadle._last_resort._installed, {})
        with self.assertRaises(TypeError):
            set_last_resort(3)  # type: ignore[arg-type]


class Shutdown(TestCase):
    def test_everything_ends(self) -> None:
        """THR-21: runs, waits, starts; callbacks that run may finish; calling it again has no effect."""
        script = """if True:
            import threading, treadle
            in_callback, go_on = threading.Event(), threading.Event()
            def callback():
                in_callback.set()
                go_on.wait()
                print("the callback finished", flush=True)
            def serve():
                treadle.RunLoop.current().add(treadle.Source())
                return treadle.RunLoop.current().run().name
            threads = [treadle.Thread(serve) for _ in range(3)]
            for thread in threads:
                thread.start_and_wait()
            threads[0].perform(callback)
            in_callback.wait()
            waiting = threads[0].perform(print, "never")
            block = threads[0].loop.perform(print, "never")
            try:
                treadle.shutdown(0.01)
            except treadle.Timeout:
                print("timed out", flush=True)
            go_on.set()
            treadle.shutdown()
            print([thread.join() for thread in threads])
            print(treadle.RunLoop.current().run(seconds=0).name) # the first run that comes later
            for function in (waiting.result, block.result, lambda: treadle.RunLoop.current().run(seconds=0),
                             treadle.Thread(print).start, lambda: treadle.perform_on_main(print)):
                try:
                    print("wrong", function())
                except treadle.LoopClosed as error:
                    print(error.code)
            treadle.shutdown(0)
        """
        output = self.assertRuns(script).splitlines()
        self.assertEqual(output[:3], ["timed out", "the callback finished", "['CLOSED', 'CLOSED', 'CLOSED']"])
        self.assertEqual(output[3:], ["CLOSED"] + ["-15"] * 5)

    def test_whatever_a_thread_does(self) -> None:
        """THR-21, THR-17: it ends without a traceback, and join() does not raise: a function that runs its loop once,
        nested, again and again, or that waits for what nobody performs any more."""
        script = """if True:
            import threading, treadle
            def serve():
                treadle.RunLoop.current().add(treadle.Source())
                treadle.RunLoop.current().run()
            def serve_nested():
                loop = treadle.RunLoop.current()
                loop.add(treadle.Source(), "inner")
                loop.perform(loop.run, "inner")
                serve()
            def serve_for_ever():
                treadle.RunLoop.current().add(treadle.Source())
                while True:
                    treadle.RunLoop.current().run(seconds=0.001)
            def wait():
                treadle.Thread.declare_ready()
                late.perform(print, "never", wait=True)
            def wait_for_future():
                treadle.Thread.declare_ready()
                late.perform(print, "never").result()
            go = threading.Event()
            late = treadle.Thread(lambda: (go.wait(), treadle.RunLoop.current().run().name)[1])
            late.start()
            threads = [treadle.Thread(target) for target in (serve, serve_nested, serve_for_ever, wait, wait_for_future)]
            for thread in threads:
                thread.start_and_wait()
            treadle.shutdown()
            go.set()
            print([thread.join() for thread in threads], late.join())
        """
        for _ in range(2):
            result = run_python(script)
            self.assertEqual((result.stdout, result.stderr), ("[None, None, None, None, None] CLOSED\n", ""))

    def test_from_a_callback(self) -> None:
        """THR-21: does not wait for itself; what was posted is dropped, and no run calls it."""
        script = """if True:
            import treadle
            loop = treadle.RunLoop.current()
            loop.add(treadle.Source())
            def shut():
                treadle.shutdown()
                print(len(treadle._registry.posts))
            loop.post(shut)
            loop.post(print, "never")
            print(loop.run().name)
        """
        self.assertEqual(self.assertRuns(script), "0\nCLOSED\n")


if __name__ == "__main__":
    unittest.main()
