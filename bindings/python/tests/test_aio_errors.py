# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What a program does wrong with treadle.aio: a clear error, and the loops go on."""

from __future__ import annotations

import asyncio
import os
import threading
import unittest
from typing import Any, Callable, Coroutine, Dict, List

import treadle
import treadle.aio
from treadle import Activity, RunLoop

from support import LoopThread, TestCase


def new_loop() -> treadle.aio.EventLoop:
    return treadle.aio.EventLoop()


class Misuse(TestCase):
    def test_running_inside(self) -> None:
        """A second run on the thread, of this loop, of another one, of asyncio's own, by a task or a callback of the run loop."""

        async def nothing() -> None:
            pass

        errors: List[str] = []

        def attempt(run: Callable[[Coroutine[Any, Any, None]], object]) -> None:
            coroutine = nothing()
            try:
                run(coroutine)
            except RuntimeError as error:
                errors.append(str(error))
            finally:
                coroutine.close()

        async def main() -> None:
            loop = asyncio.get_running_loop()
            other, stock = new_loop(), asyncio.SelectorEventLoop()

            def attempts() -> None:
                attempt(loop.run_until_complete)
                attempt(other.run_until_complete)
                attempt(stock.run_until_complete)
                attempt(treadle.aio.run)
                attempt(asyncio.run)

            attempts()
            await RunLoop.current().perform(attempts)
            other.close()
            stock.close()
            await asyncio.sleep(0.001)

        loop = new_loop()
        loop.run_until_complete(main())
        self.assertEqual(len(errors), 10)
        for error in errors:
            self.assertRegex(error, "running|runs")
        loop.run_until_complete(nothing())
        loop.close()

    def test_running_elsewhere(self) -> None:
        """From a thread that is not the one which runs it."""
        errors: List[BaseException] = []

        def attempt(loop: asyncio.AbstractEventLoop) -> None:
            try:
                loop.run_forever()
            except RuntimeError as error:
                errors.append(error)

        async def main() -> None:
            await asyncio.get_running_loop().run_in_executor(None, attempt, asyncio.get_running_loop())

        treadle.aio.run(main())
        self.assertRegex(str(errors[0]), "already running")

    def test_the_wrong_thread_in_debug_mode(self) -> None:
        """call_soon() from another thread is refused there, as asyncio does, and what is right is not."""
        errors: List[str] = []

        async def main() -> None:
            loop = asyncio.get_running_loop()
            over = asyncio.Event()

            def call() -> None:
                for function in (loop.call_soon, lambda *a: loop.call_later(0, *a)):
                    try:
                        function(int)
                    except RuntimeError as error:
                        errors.append(str(error))
                loop.call_soon_threadsafe(over.set)

            thread = threading.Thread(target=call)
            thread.start()
            await over.wait()
            thread.join()

        treadle.aio.run(main(), debug=True)
        self.assertEqual(len(errors), 2)
        self.assertIn("Non-thread-safe", errors[0])

    def test_closing(self) -> None:
        """A running loop is not closed; a closed one does nothing any more, and may be closed again."""

        async def main() -> None:
            loop = asyncio.get_running_loop()
            with self.assertRaisesRegex(RuntimeError, "running"):
                loop.close()
            await asyncio.sleep(0.001)

        loop = new_loop()
        loop.run_until_complete(main())
        loop.close()
        loop.close()
        calls: "list[Callable[[], object]]" = [
            loop.run_forever,
            lambda: loop.call_soon(int),
            lambda: loop.call_soon_threadsafe(int),
            lambda: loop.call_later(1, int),
        ]
        for call in calls:
            with self.assertRaisesRegex(RuntimeError, "closed"):
                call()
        loop.stop()
        self.assertEqual(RunLoop.current().items(), [])

    def test_arguments(self) -> None:
        """Modes that are none."""
        for modes in (5, [5], ["a\0b"]):
            with self.subTest(modes=modes), self.assertRaises((TypeError, ValueError)):
                treadle.aio.EventLoop(modes)  # type: ignore[arg-type]
        with self.assertRaisesRegex(ValueError, "mode"):
            treadle.aio.EventLoop([])
        for bad in (None, 5):
            with self.assertRaises((TypeError, ValueError)):
                treadle.aio.run(bad)  # type: ignore[arg-type]

    def test_the_end_of_a_scope(self) -> None:
        """SCO-1: a loop that was made in a scope ends with it: LoopClosed, not a hang."""
        scope = treadle.Scope("of a loop")
        with scope.entered():
            loop = new_loop()

        async def main() -> None:
            threading.Thread(target=scope.close).start()
            await asyncio.Event().wait()

        task = loop.create_task(main())
        with self.assertRaises((treadle.LoopClosed, treadle.StaleHandle)):
            loop.run_until_complete(task)
        with self.assertRaises((treadle.LoopClosed, treadle.StaleHandle)):
            loop.run_until_complete(task)
        loop.close()
        setattr(task, "_log_destroy_pending", False)


class Exceptions(TestCase):
    def test_of_asyncio(self) -> None:
        """What asyncio's callbacks raise goes to the exception handler of its loop, and both loops go on."""
        seen: List[Dict[str, Any]] = []

        async def main() -> None:
            running = asyncio.get_running_loop()
            running.set_exception_handler(lambda loop, context: seen.append(context))
            readable, writable = os.pipe()
            os.write(writable, b"x")

            def fail(kind: str) -> None:
                if kind == "reader":
                    running.remove_reader(readable)
                raise LookupError(kind)

            running.call_soon(fail, "call_soon")
            running.call_later(0.001, fail, "call_later")
            running.add_reader(readable, fail, "reader")
            await asyncio.get_running_loop().run_in_executor(None, running.call_soon_threadsafe, fail, "threadsafe")
            while len(seen) < 4:
                await asyncio.sleep(0.001)
            os.close(readable)
            os.close(writable)

        treadle.aio.run(main())
        kinds = {str(context["exception"]) for context in seen}
        self.assertEqual(kinds, {"call_soon", "call_later", "reader", "threadsafe"})

    def begin(self, kind: str) -> None:
        """Has a callback of the run loop raise."""
        loop = RunLoop.current()
        readable, writable = os.pipe()
        os.write(writable, b"x")

        def fail(*_: object) -> None:
            for item in items:
                item.invalidate()
            os.close(readable)
            os.close(writable)
            raise LookupError(kind)

        items: List[treadle.Item] = []
        if kind == "post":
            loop.post(fail)
        else:
            make: Dict[str, Callable[[], treadle.Item]] = {
                "source": lambda: treadle.Source(perform=fail),
                "timer": lambda: treadle.Timer(fail, delay=0.001),
                "descriptor": lambda: treadle.FileDescriptor(readable, fail),
                "observer": lambda: treadle.Observer(fail, Activity.BEFORE_WAITING),
            }
            items.append(make[kind]())
            loop.add(items[0])
            if isinstance(items[0], treadle.Source):
                items[0].signal()

    def test_of_the_run_loop(self) -> None:
        """By its error policy: "raise" ends asyncio's run with the exception, after the tasks were cancelled."""
        for kind in "post", "source", "timer", "descriptor", "observer":
            ended: List[str] = []

            async def main() -> None:
                self.begin(kind)
                try:
                    await asyncio.Event().wait()
                finally:
                    await asyncio.sleep(0.001)
                    ended.append(kind)

            with self.subTest(kind=kind), self.assertRaisesRegex(LookupError, kind):
                treadle.aio.run(main())
            self.assertEqual(ended, [kind])

    def test_of_the_run_loop_reported(self) -> None:
        """By its error policy: "report" calls the hook, and asyncio goes on."""
        loop = RunLoop.current()
        self.addCleanup(setattr, loop, "excepthook", loop.excepthook)
        self.addCleanup(setattr, loop, "error_policy", "raise")
        loop.error_policy = "report"
        reported: List[str] = []

        def hook(arguments: treadle.ExceptHookArgs) -> None:
            reported.append(str(arguments.exc_value))

        loop.excepthook = hook

        async def main() -> None:
            for number, kind in enumerate(("post", "source", "timer", "descriptor", "observer"), 1):
                self.begin(kind)
                while len(reported) < number:
                    await asyncio.sleep(0.001)

        treadle.aio.run(main())
        self.assertEqual(reported, ["post", "source", "timer", "descriptor", "observer"])

    def test_what_ends_a_program(self) -> None:
        """SystemExit and KeyboardInterrupt of a task or a callback end the run, and the loop can run again."""
        loop = new_loop()
        for error in SystemExit, KeyboardInterrupt:

            async def main() -> None:
                raise error("of a task")

            def fail() -> None:
                raise error("of a callback")

            with self.assertRaisesRegex(error, "of a task"):
                loop.run_until_complete(main())
            loop.call_soon(fail)
            with self.assertRaisesRegex(error, "of a callback"):
                loop.run_forever()
            loop.run_until_complete(asyncio.sleep(0.001))
        loop.close()


class Forks(TestCase):
    def test_the_child_makes_its_own(self) -> None:
        """RL-11: in a task; the child runs asyncio anew, leaves the parent's loop, and the parent's descriptors stay."""
        script = """if True:
            import asyncio, os, sys, threading, treadle, treadle.aio

            async def other():
                await asyncio.sleep(0.001)
                return 7

            async def main():
                running = asyncio.get_running_loop()
                readable, writable = os.pipe()
                over = running.create_future()
                running.add_reader(readable, over.set_result, None)
                child = os.fork()
                if child == 0:
                    asyncio._set_running_loop(None)  # as newer versions of Python do by themselves
                    assert treadle.aio.run(other()) == 7
                    try:
                        running.call_soon_threadsafe(int)
                    except treadle.Forked:
                        pass
                    running.remove_reader(readable)
                    os._exit(3)
                assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
                os.write(writable, b"x")
                await over
                running.remove_reader(readable)
                print("parent", flush=True)

            treadle.aio.run(main())
        """
        self.assertEqual(self.assertRuns(script), "parent\n")

    def test_the_child_goes_on(self) -> None:
        """RL-11: the parent's loop does not run in the child: Forked, and nothing hangs."""
        script = """if True:
            import asyncio, os, treadle, treadle.aio

            async def main():
                children.append(os.fork())
                await asyncio.sleep(0.001)

            children = []
            try:
                treadle.aio.run(main())
            except treadle.Forked:
                print("forked", flush=True)
                os._exit(0)
            assert os.waitpid(children[0], 0)[1] == 0
            print("parent", flush=True)
        """
        self.assertEqual(self.assertRuns(script), "forked\nparent\n")

    def test_a_loop_that_did_not_run(self) -> None:
        """RL-11: the child cannot run it, and can close it without harm to the parent's."""
        script = """if True:
            import asyncio, os, treadle, treadle.aio

            loop = treadle.aio.EventLoop()
            loop.run_until_complete(asyncio.sleep(0))
            child = os.fork()
            if child == 0:
                coroutine = asyncio.sleep(0)
                try:
                    loop.run_until_complete(coroutine)
                except treadle.Forked:
                    coroutine.close()
                    loop.close()
                    os._exit(5)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
            readable, writable = os.pipe()
            os.write(writable, b"x")
            loop.add_reader(readable, loop.stop)
            loop.run_forever()
            loop.close()
            print("parent", flush=True)
        """
        self.assertEqual(self.assertRuns(script), "parent\n")


class Growth(TestCase):
    def test_many_loops(self) -> None:
        """Loops that come and go leave neither items nor descriptors."""

        async def main() -> None:
            await asyncio.sleep(0)

        treadle.aio.run(main())
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(100):
            treadle.aio.run(main())
        self.assertLessEqual(len(os.listdir("/proc/self/fd")), before)

    def test_posts_to_a_loop_that_ends(self) -> None:
        """Threads that call while the loop is closed get RuntimeError, never a hang or a crash."""

        def call(loop: asyncio.AbstractEventLoop) -> None:
            try:
                while True:
                    loop.call_soon_threadsafe(int)
            except RuntimeError:
                ended.append(1)

        ended: List[int] = []
        threads = []
        for _ in range(5):
            loop = new_loop()
            thread = threading.Thread(target=call, args=(loop,))
            thread.start()
            threads.append(thread)
            loop.run_until_complete(asyncio.sleep(0.002))
            loop.close()
        for thread in threads:
            thread.join()
        self.assertEqual(len(ended), 5)

    def test_a_loop_on_a_worker(self) -> None:
        """In a callback of a thread that runs its run loop."""

        async def main() -> int:
            await asyncio.sleep(0.001)
            return 7

        with LoopThread() as worker:
            self.assertEqual(worker.loop.perform(lambda: treadle.aio.run(main())).result(), 7)
            self.assertEqual(worker.loop.perform(lambda: treadle.aio.run(main())).result(), 7)


if __name__ == "__main__":
    unittest.main()
