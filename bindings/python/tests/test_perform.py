# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Functions that a loop is asked to perform."""

from __future__ import annotations

import concurrent.futures
import ctypes
import gc
import os
import tempfile
import threading
import unittest
from typing import List

from treadle import (
    DeadlockError,
    ExceptHookArgs,
    LoopClosed,
    Mode,
    RunLoop,
    RunResult,
    Source,
    Thread,
    closure,
    excepthook,
    perform_after,
    perform_on_main,
)

from support import (
    LoopThread,
    TestCase,
    compile_foreign,
    foreign,
    in_thread,
    needs_checkout,
    run_python,
)


class Perform(TestCase):
    def test_on_another_thread(self) -> None:
        """BLK-2, OBJ-8, WAKE-1: runs there, wakes the loop, gives the result or the exception back."""
        with LoopThread() as worker:
            self.assertEqual(worker.loop.perform(threading.get_ident).result(), worker.identity)
            self.assertEqual(worker.loop.perform(divmod, 7, 2).result(), (3, 1))
            self.assertEqual(worker.loop.perform(dict, a=1).result(timeout=60), {"a": 1})
            with self.assertRaises(ZeroDivisionError):
                worker.loop.perform(divmod, 1, 0).result()
            self.assertIsInstance(worker.loop.perform(int, "x").exception(), ValueError)
            self.assertIsNone(worker.loop.perform(int).exception())
        self.assertIs(worker.result, RunResult.STOPPED)

    def test_a_text_is_one_mode(self) -> None:
        """BLK-4, PERF-1: where a list of modes is taken, and not one mode for each of its letters."""
        loop, main = RunLoop.current(), Thread.main()
        with self.assertRaises(ValueError):
            loop.perform(int, modes=[])
        with self.assertRaises(TypeError):
            loop.perform(3)  # type: ignore[call-overload]
        seen: List[str] = []
        loop.perform(seen.append, "loop", modes="text")
        main.perform(seen.append, "thread", modes="text")
        perform_on_main(seen.append, "main", modes="text")
        perform_after(0, seen.append, "delayed", modes="text")
        invocation = loop.invoke(ctypes.CDLL(None).getpid, wait=False, modes="text")
        handler = closure("vi", lambda number: seen.append("closure"), loop=loop, delivery="async", modes="text")
        in_thread(lambda: handler(1))
        for letter in "text":
            loop.run(Mode(letter), 0)
        self.assertEqual((seen, invocation.done()), ([], False))
        while len(seen) < 5:
            loop.run("text", 0)
        self.assertEqual(sorted(seen), ["closure", "delayed", "loop", "main", "thread"])
        self.assertEqual(invocation.result(), os.getpid())
        loop.run(seconds=0)  # which is told of the invocation's end, in the common modes

    def test_cancelling(self) -> None:
        """BLK-1: a cancelled function is not called."""
        loop = RunLoop.current()
        future = loop.perform(self.fail, "called", modes=["m"])
        self.assertTrue(future.cancel())
        loop.run("m", 0)
        self.assertTrue(future.cancelled())
        with self.assertRaises(concurrent.futures.CancelledError):
            future.result()

    def test_waiting_for_oneself(self) -> None:
        """ABI-1: is refused, instead of hanging."""
        loop = RunLoop.current()
        future = loop.perform(int, modes=["m"])
        with self.assertRaises(DeadlockError):
            future.result()
        loop.run("m", 0)
        self.assertEqual(future.result(), 0)

    def test_a_timeout(self) -> None:
        """ABI-1: the wait ends, the function still runs."""
        with LoopThread() as worker:
            go_on = threading.Event()
            worker.loop.perform(go_on.wait)
            future = worker.loop.perform(int)
            with self.assertRaises(concurrent.futures.TimeoutError):
                future.result(timeout=0.001)
            go_on.set()
            self.assertEqual(future.result(), 0)

    def test_the_end_of_the_thread(self) -> None:
        """RL-8, RL-9: LoopClosed for what has not run, whoever waits already, and for what comes later."""
        entered, leave = threading.Event(), threading.Event()
        futures: List[object] = []

        def body() -> RunLoop:
            loop = RunLoop.current()
            futures.append(loop)
            entered.set()
            self.wait(leave)
            return loop

        waiter_errors: List[BaseException] = []

        def wait() -> None:
            self.wait(entered)
            loop = futures[0]
            assert isinstance(loop, RunLoop)
            future = loop.perform(int)
            leave.set()
            error = future.exception(timeout=60)
            assert error is not None
            waiter_errors.append(error)

        waiter = threading.Thread(target=wait)
        waiter.start()
        loop = in_thread(body)
        waiter.join()
        self.assertIsInstance(waiter_errors[0], LoopClosed)
        with self.assertRaises(LoopClosed):
            loop.perform(int).result()

    @needs_checkout
    def test_the_end_of_a_foreign_thread(self) -> None:
        """RL-8: also of one that never called back, so that nobody tells of its end."""
        helper = foreign()
        handle = helper.foreign_start()
        loop = RunLoop._of(helper.foreign_loop(handle))
        future = loop.perform(int, modes=["never run"])
        errors: List[object] = []
        waiting = threading.Thread(target=lambda: errors.append(future.exception(timeout=60)))
        waiting.start()
        helper.foreign_stop(handle)
        waiting.join()
        self.assertIsInstance(errors[0], LoopClosed)

    def test_an_exception_that_nobody_asks_for(self) -> None:
        """ABI-3: is reported once, when the Future goes away; one that was asked for is not."""
        loop = RunLoop.current()
        reports: List[ExceptHookArgs] = []
        loop.excepthook = reports.append
        try:
            future = loop.perform(int, "x", modes=["m"])
            loop.run("m", 0)
            self.assertEqual(reports, [])
            del future
            gc.collect()
            self.assertEqual([report.exc_type for report in reports], [ValueError])
            future = loop.perform(int, "x", modes=["m"])
            loop.run("m", 0)
            self.assertIsInstance(future.exception(), ValueError)
            del future
            gc.collect()
            self.assertEqual(len(reports), 1)
        finally:
            loop.excepthook = excepthook

    def test_exit_ends_the_run_too(self) -> None:
        """ABI-4: SystemExit in a performed function ends the run, and is in the Future."""

        def leave() -> None:
            raise SystemExit(4)

        with LoopThread() as worker:
            future = worker.loop.perform(leave)
            worker.join()
            self.assertIsInstance(future.exception(), SystemExit)
        self.assertIsInstance(worker.error, SystemExit)

    def test_blocks_are_not_handled_sources(self) -> None:
        """BLK-7: a run that waits for a source goes on."""
        loop = RunLoop.current()
        with Source() as source:
            loop.add(source, "m")
            loop.perform(int, modes=["m"])
            self.assertIs(loop.run("m", 0, return_after_source_handled=True), RunResult.TIMED_OUT)


@needs_checkout
class ForeignThreads(TestCase):
    """Threads that Python did not make (RL-2)."""

    def setUp(self) -> None:
        super().setUp()
        self.helper = foreign()

    def test_the_thread_state_is_pinned(self) -> None:
        """RL-2, ABI-1: threading.local keeps its values between callbacks."""
        local = threading.local()
        seen: List[int] = []
        performed = threading.Semaphore(0)

        def perform(source: Source) -> None:
            local.count = getattr(local, "count", 0) + 1
            seen.append(local.count)
            performed.release()

        thread = self.helper.foreign_start()
        source = Source(perform=perform)
        RunLoop._of(self.helper.foreign_loop(thread)).add(source)
        for _ in range(5):
            source.signal()
            performed.acquire()
        source.invalidate()
        self.assertEqual(self.helper.foreign_stop(thread), RunResult.STOPPED)
        self.assertEqual(seen, [1, 2, 3, 4, 5])

    def test_the_end_of_the_thread_unpins_it(self) -> None:
        """RL-8: values of threading.local go, cancel is called, and neither thread states nor threads stay."""
        local = threading.local()
        python = ctypes.PyDLL(None)
        python.PyInterpreterState_Get.restype = ctypes.c_void_p
        python.PyInterpreterState_ThreadHead.restype = ctypes.c_void_p
        python.PyInterpreterState_ThreadHead.argtypes = [ctypes.c_void_p]
        python.PyThreadState_Next.restype = ctypes.c_void_p
        python.PyThreadState_Next.argtypes = [ctypes.c_void_p]

        def states() -> int:
            count, state = 0, python.PyInterpreterState_ThreadHead(python.PyInterpreterState_Get())
            while state:
                count, state = count + 1, python.PyThreadState_Next(state)
            return count

        class Dropped:
            def __del__(self) -> None:
                events.append("dropped")

        events: List[str] = []

        def perform(source: Source) -> None:
            local.value = Dropped()
            threading.current_thread()
            events.append("performed")
            performed.release()

        performed = threading.Semaphore(0)

        def once() -> None:
            thread = self.helper.foreign_start()
            loop = RunLoop._of(self.helper.foreign_loop(thread))
            source = Source(perform=perform, cancel=lambda source, loop, mode: events.append("cancelled"))
            loop.add(source)
            source.signal()
            performed.acquire()
            self.helper.foreign_stop(thread)

        once()
        self.assertEqual(sorted(events), ["cancelled", "dropped", "performed"])
        gc.collect()
        before = (states(), threading.active_count())
        for _ in range(200):
            once()
        gc.collect()
        self.assertEqual((states(), threading.active_count()), before)
        self.assertEqual(len(events), 3 * 201)

    def test_the_interpreter_checks_its_memory(self) -> None:
        """ABI-2, ABI-3: with PYTHONMALLOC=debug, which finds who uses memory without the interpreter's lock: threads of
        Treadle, and threads of C with a loop, that call closures, or both, and that end."""
        script = """if True:
            import sys, threading, treadle
            from support import NUMBER, load_foreign
            helper = load_foreign(sys.argv[1])
            values = threading.local()
            for number in range(50):
                def body(number):
                    values.number = number
                    treadle.RunLoop.current().add(treadle.Source(cancel=print))
                    return number
                thread = treadle.Thread(body, [number])
                thread.start()
                assert thread.join() == number
                foreign = helper.foreign_start()
                loop = treadle.RunLoop._of(helper.foreign_loop(foreign))
                loop.perform(setattr, values, "number", number).result()
                assert loop.perform(getattr, values, "number").result() == number
                helper.foreign_stop(foreign)
                closure = treadle.closure(NUMBER, lambda number: number + 1)
                callers = helper.foreign_callers_start(closure.pointer, 2)
                while not helper.foreign_callers_calls(callers):
                    pass
                helper.foreign_callers_stop(callers)
        """
        with tempfile.TemporaryDirectory() as folder:
            result = run_python(script, compile_foreign(folder), PYTHONMALLOC="debug")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_an_exception_has_nobody_to_raise_it(self) -> None:
        """ABI-3: it is reported, and C's run returns that a callback did not complete."""
        reports: List[ExceptHookArgs] = []
        reported = threading.Event()

        def hook(report: ExceptHookArgs) -> None:
            reports.append(report)
            reported.set()

        thread = self.helper.foreign_start()
        loop = RunLoop._of(self.helper.foreign_loop(thread))
        loop.excepthook = hook
        source = Source(perform=lambda source: 1 / 0)
        loop.add(source)
        source.signal()
        self.wait(reported)
        self.assertEqual(self.helper.foreign_stop(thread), -14)
        self.assertIs(reports[0].exc_type, ZeroDivisionError)
        self.assertIs(reports[0].item, source)


if __name__ == "__main__":
    unittest.main()
