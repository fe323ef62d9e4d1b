# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Functions that are posted to a loop."""

from __future__ import annotations

import gc
import signal
import unittest
import weakref
from typing import Callable, List

from treadle import COMMON, ExceptHookArgs, LoopClosed, Mode, RunLoop, RunResult, Source, excepthook
from treadle import _capi, _registry
from treadle._library import native

from support import TestCase, eventually, in_thread

M = Mode("posts")


class Post(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.loop = RunLoop.current()
        self.loop.add_common_mode(M)
        self.keeper = Source(label="keeps the mode from being empty")
        self.loop.add(self.keeper, M)
        self.addCleanup(self.keeper.invalidate)
        self.seen: List[object] = []

    def poll(self) -> List[object]:
        """What one pass leads to."""
        self.assertIs(self.loop.run(M, 0), RunResult.TIMED_OUT)
        seen = self.seen[:]
        self.seen.clear()
        return seen

    def test_arguments(self) -> None:
        """BLK-1: the function is called once, with what was given; what cannot be called is refused at once."""
        self.loop.post(self.seen.append, 1)
        self.loop.post(lambda: self.seen.append(2))
        self.loop.post(lambda *args: self.seen.append(args), 3, 4)
        self.assertEqual(self.poll(), [1, 2, (3, 4)])
        self.assertEqual(self.poll(), [])
        with self.assertRaises(TypeError):
            self.loop.post(3)  # type: ignore[arg-type]
        self.assertEqual(_registry.posts, {})

    def test_order_among_the_posts_of_others(self) -> None:
        """BLK-3, PASS-4: with functions to be performed, and with what C posts, in the order of the calls."""
        of_c = _capi.treadle_post_fn(lambda number: self.seen.append(("C", number)))
        expected: List[object] = []
        for number in range(1, 60, 4):
            self.loop.post(self.seen.append, number)
            self.assertEqual(native.treadle_loop_post(self.loop._handle, of_c, number + 1), 0)
            self.loop.perform(self.seen.append, number + 2)
            self.loop.perform(self.seen.append, number + 3, modes=[COMMON])
            expected += [number, ("C", number + 1), number + 2, number + 3]
        self.assertEqual(self.poll(), expected)

    def test_a_nested_run(self) -> None:
        """BLK-6: it runs what is posted meanwhile, and leaves the rest of the drain to the outer one."""

        def nest() -> None:
            self.loop.post(self.seen.append, "new")
            self.loop.run(M, 0)
            self.seen.append("after")

        self.loop.post(nest)
        self.loop.post(self.seen.append, "old")
        self.assertEqual(self.poll(), ["new", "after", "old"])

    def test_an_exception_ends_the_run(self) -> None:
        """ABI-3, BLK-3: run() raises it; the rest waits for the next run, ahead of what is posted then."""

        def fail() -> None:
            raise ZeroDivisionError

        self.loop.post(self.seen.append, 1)
        self.loop.post(fail)
        self.loop.post(self.seen.append, 2)
        with self.assertRaises(ZeroDivisionError) as caught:
            self.loop.run(M, 0)
        notes = getattr(caught.exception, "__notes__", [repr(fail)])
        self.assertIn(repr(fail), notes[0])
        self.loop.post(self.seen.append, 3)
        self.assertEqual(self.poll(), [1, 2, 3])
        self.assertEqual(_registry.posts, {})

    def test_an_exception_is_reported(self) -> None:
        """ABI-3: with that policy the others run as if nothing had been; SystemExit ends the run all the same."""
        reports: List[ExceptHookArgs] = []
        self.loop.error_policy, self.loop.excepthook = "report", reports.append
        try:
            for text in ("1", "x", "2", "y", "3"):
                self.loop.post(lambda text: self.seen.append(int(text)), text)
            self.assertEqual(self.poll(), [1, 2, 3])
            self.assertEqual([report.exc_type for report in reports], [ValueError, ValueError])
            self.assertTrue(callable(reports[0].item))
            self.assertEqual(reports[0].mode, M)
            self.loop.post(self.leave)
            self.loop.post(self.seen.append, 4)
            with self.assertRaises(SystemExit):
                self.loop.run(M, 0)
            self.assertEqual(self.poll(), [4])
        finally:
            self.loop.error_policy, self.loop.excepthook = "raise", excepthook

    @staticmethod
    def leave() -> None:
        raise SystemExit(3)

    def test_ctrl_c(self) -> None:
        """ABI-4: it ends the run between two of them, and none of the others is lost."""
        for number in range(5):
            self.loop.post(self.seen.append, number)
            self.loop.post(signal.raise_signal, signal.SIGINT)
        for number in range(5):
            with self.assertRaises(KeyboardInterrupt):
                self.loop.run(M, 0)
        self.assertEqual(self.poll(), list(range(5)))

    def test_what_was_given_goes(self) -> None:
        """ABI-2: functions and arguments live until they were called, and not longer."""

        class Argument:
            pass

        arguments = [Argument() for _ in range(3)]
        references = [weakref.ref(argument) for argument in arguments]
        for argument in arguments:
            self.loop.post(lambda argument: self.seen.append(sum(one() is not None for one in references)), argument)
        del argument, arguments
        self.loop.run(M, 0)
        self.assertEqual(self.seen, [3, 2, 1])
        self.assertEqual([reference() for reference in references], [None] * 3)

    def test_the_end_of_the_thread(self) -> None:
        """RL-8, RL-9: what was not run is dropped, with what it was given; later ones are refused."""

        class Argument:
            pass

        references: List[Callable[[], object]] = []

        def body() -> RunLoop:
            loop = RunLoop.current()
            for _ in range(3):
                argument = Argument()
                references.append(weakref.ref(argument))
                loop.post(self.fail, argument)
            return loop

        loop = in_thread(body)
        with self.assertRaises(LoopClosed):
            loop.post(self.fail)
        # The last of a thread's end comes after its join, and is told of by nobody.
        self.assertTrue(eventually(lambda: self.poll() == [] and not _registry.posts))
        gc.collect()
        self.assertEqual([reference() for reference in references], [None] * 3)


class Processes(TestCase):
    def test_a_fork(self) -> None:
        """RL-11: the parent's posts are run by the parent alone, also those behind one that forks."""
        script = """if True:
            import os, sys, treadle
            loop = treadle.RunLoop.current()
            loop.add(treadle.Source())
            def fork():
                pid = os.fork()
                if pid == 0:
                    try:
                        loop.post(print, "never")
                    except treadle.Forked:
                        mine = treadle.RunLoop.current()
                        mine.post(print, "child", flush)
                        mine.post(mine.stop)
                        mine.add(treadle.Source())
                        mine.run()
                    return
                print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
            flush = ""
            loop.post(fork)
            loop.post(print, "behind")
            me = os.getpid()
            try:
                loop.run(seconds=0)
            except treadle.Error as error:
                assert os.getpid() != me, error
            sys.exit(0 if os.getpid() == me else 7)
        """
        self.assertEqual(self.assertRuns(script), "child \n7\nbehind\n")

    def test_the_end_of_the_interpreter(self) -> None:
        """ABI-5: neither a hang nor a crash when threads post and are posted to for ever."""
        script = """if True:
            import threading, treadle
            ready = threading.Semaphore(0)
            def serve():
                treadle.RunLoop.current().add(treadle.Source())
                ready.release()
                treadle.RunLoop.current().run()
            thread = treadle.Thread(serve)
            thread.start_and_wait()
            count = 0
            def task():
                global count
                count += 1
                if count == 1000:
                    ready.release()
            def post():
                while True:
                    thread.loop.post(task)
            threading.Thread(target=post, daemon=True).start()
            ready.acquire()
            ready.acquire()
            print("end")
        """
        for _ in range(5):
            self.watch()
            self.assertEqual(self.assertRuns(script), "end\n")


if __name__ == "__main__":
    unittest.main()
