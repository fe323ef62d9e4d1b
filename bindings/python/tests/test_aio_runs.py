# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Runs inside of runs, their ends, and what asyncio's tasks wait for (treadle.aio)."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import os
import threading
import unittest
import weakref
from typing import Callable, List

import treadle
import treadle.aio
from treadle import DEFAULT, RunLoop, RunResult

from support import WATCHDOG, LoopThread, TestCase


async def wait(source: treadle.Source) -> None:
    await source


class Nesting(TestCase):
    """Runs of the run loop inside of asyncio's callbacks: asyncio pauses, the run loop's items go on."""

    def run_nested(self, mode: str) -> List[str]:
        seen: List[str] = []

        async def other() -> None:
            while True:
                seen.append("task")
                await asyncio.sleep(0)

        async def main() -> None:
            loop = RunLoop.current()
            task = asyncio.ensure_future(other())
            await asyncio.sleep(0)
            # asyncio has what it would do: a descriptor that is readable, a timer that is due, a call of a thread.
            readable, writable = os.pipe()
            os.write(writable, b"x")
            running = asyncio.get_running_loop()
            running.add_reader(readable, seen.append, "reader")
            running.call_later(0.0001, seen.append, "timer")
            threading.Thread(target=running.call_soon_threadsafe, args=(seen.append, "call")).start()
            ticks = 0

            def tick(timer: treadle.Timer) -> None:
                nonlocal ticks
                ticks += 1
                if ticks == 5:
                    timer.invalidate()
                    loop.stop()

            loop.add(treadle.Timer(tick, interval=0.001), mode)
            seen.clear()
            self.assertIs(loop.run(mode, math.inf), RunResult.STOPPED)
            self.assertEqual(seen, [])
            while not {"task", "reader", "timer", "call"} <= set(seen):
                await asyncio.sleep(0.0005)
            running.remove_reader(readable)
            os.close(readable)
            os.close(writable)
            task.cancel()

        treadle.aio.run(main())
        return seen

    def test_in_a_mode_of_its_own(self) -> None:
        """RUN-12: the items of the other mode are served while asyncio pauses."""
        self.run_nested("modal")

    def test_in_the_same_mode(self) -> None:
        """RUN-12: asyncio is not entered again, and does not keep the nested run busy."""
        self.run_nested(DEFAULT)

        async def main() -> int:
            loop = RunLoop.current()
            readable, writable = os.pipe()
            os.write(writable, b"x")
            asyncio.get_running_loop().add_reader(readable, asyncio.get_running_loop().remove_reader, readable)
            before = loop.counters().passes
            loop.run(DEFAULT, 0.05)
            passes = loop.counters().passes - before
            await asyncio.sleep(0)
            os.close(readable)
            os.close(writable)
            return passes

        self.assertLess(treadle.aio.run(main()), 10)

    def test_without_an_end(self) -> None:
        """RUN-12: a run of asyncio's mode in a task or a call of asyncio, which only asyncio could end, is refused."""
        run_loop = RunLoop.current()

        async def main(modes: List[str]) -> None:
            for mode in modes:
                with self.assertRaisesRegex(RuntimeError, f"asyncio runs in the mode '{mode}' already"):
                    run_loop.run(mode)
                with self.assertRaisesRegex(RuntimeError, "asyncio runs in the mode"):
                    run_loop.run(mode, when_empty=True)
                self.assertIs(run_loop.run(mode, 0), RunResult.TIMED_OUT)
            self.assertIs(run_loop.run("another"), RunResult.FINISHED)
            running = asyncio.get_running_loop()
            refused = running.create_future()
            running.set_exception_handler(lambda loop, context: refused.set_result(context["exception"]))
            running.call_soon(run_loop.run, modes[0])
            self.assertIsInstance(await refused, RuntimeError)

        treadle.aio.run(main([DEFAULT]))
        with contextlib.closing(treadle.aio.EventLoop(modes=["network", "more"])) as loop:
            loop.run_until_complete(main(["network", "more"]))
        with treadle.aio.attach() as attached:
            task = attached.create_task(main([DEFAULT]))
            task.add_done_callback(lambda task: run_loop.stop())
            self.assertIs(run_loop.run(), RunResult.STOPPED)
            task.result()
        self.assertIs(run_loop.run(), RunResult.FINISHED)

    def test_in_a_callback_of_the_run_loop(self) -> None:
        """RUN-12: there asyncio goes on, since none of its callbacks waits."""

        async def main() -> None:
            loop = RunLoop.current()
            over = asyncio.Event()

            def fire(timer: treadle.Timer) -> None:
                loop.run(seconds=WATCHDOG)

            async def end() -> None:
                await asyncio.sleep(0.001)
                loop.stop()  # the nested run
                over.set()

            loop.add(treadle.Timer(fire, delay=0.001))
            asyncio.ensure_future(end())
            await over.wait()
            await asyncio.sleep(0.001)

        treadle.aio.run(main())


class Stopping(TestCase):
    """STOP-1: a stop of either loop ends the run of both."""

    def ends(self, stop: Callable[[asyncio.AbstractEventLoop], object]) -> None:
        async def main() -> None:
            stop(asyncio.get_running_loop())
            await asyncio.Event().wait()

        loop = treadle.aio.EventLoop()
        task = loop.create_task(main())
        with self.assertRaisesRegex(RuntimeError, "stopped before Future completed"):
            loop.run_until_complete(task)
        self.assertFalse(loop.is_running())
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.close()

    def test_from_everywhere(self) -> None:
        """From a task, from callbacks, before the run and from another thread."""
        run_loop = RunLoop.current()

        def later(stop: Callable[[], object]) -> None:
            run_loop.add(treadle.Timer(lambda timer: stop(), delay=0.001))

        def elsewhere(stop: Callable[[], object]) -> None:
            threading.Thread(target=stop).start()

        self.ends(lambda loop: loop.stop())
        self.ends(lambda loop: run_loop.stop())
        self.ends(lambda loop: run_loop.request_stop(all_levels=True))
        self.ends(lambda loop: later(loop.stop))
        self.ends(lambda loop: later(run_loop.stop))
        self.ends(lambda loop: run_loop.post(loop.stop))
        self.ends(lambda loop: elsewhere(run_loop.stop))
        self.ends(lambda loop: elsewhere(lambda: loop.call_soon_threadsafe(loop.stop)))
        self.ends(lambda loop: loop.call_later(0.001, run_loop.stop))

    def test_ahead(self) -> None:
        """STOP-9: a requested stop ends the next run, and only that."""
        loop = treadle.aio.EventLoop()
        RunLoop.current().request_stop()
        with self.assertRaisesRegex(RuntimeError, "stopped before Future completed"):
            loop.run_until_complete(asyncio.sleep(0.001))
        loop.run_until_complete(asyncio.sleep(0.001))
        loop.close()

    def test_stop_of_asyncio_in_a_nested_run(self) -> None:
        """STOP-1: the nested run ends as well, and then asyncio's."""
        results: List[RunResult] = []
        run_loop = RunLoop.current()
        loop = treadle.aio.EventLoop()

        def nest(timer: treadle.Timer) -> None:
            loop.call_soon(loop.stop)
            results.append(run_loop.run(seconds=WATCHDOG))

        run_loop.add(treadle.Timer(nest, delay=0.001))
        loop.run_forever()
        loop.close()
        self.assertEqual(results, [RunResult.STOPPED])

    def test_shutdown(self) -> None:
        """treadle.shutdown() ends the run with LoopClosed."""
        script = """if True:
            import asyncio, treadle, treadle.aio

            async def main():
                treadle.RunLoop.current().perform(treadle.shutdown)
                await asyncio.Event().wait()

            try:
                treadle.aio.run(main())
            except treadle.LoopClosed as error:
                print("closed", flush=True)
        """
        self.assertEqual(self.assertRuns(script), "closed\n")


class Awaiting(TestCase):
    """Sources, and what other threads do."""

    def test_a_source(self) -> None:
        """SRC0-7: the next signal, by whoever; several tasks are told; the source's own function is called before."""
        seen: List[str] = []

        async def wait(source: treadle.Source, name: str) -> None:
            self.assertIs(await source, source)
            seen.append(name)

        async def main() -> None:
            source = treadle.Source(perform=lambda source: seen.append("perform"))
            RunLoop.current().add(source)
            tasks = [asyncio.ensure_future(wait(source, name)) for name in ("first", "second")]
            await asyncio.sleep(0)
            threading.Thread(target=source.signal).start()
            await asyncio.gather(*tasks)
            self.assertEqual(seen, ["perform", "first", "second"])
            source.signal()
            await source
            self.assertEqual(seen.count("perform"), 2)
            self.assertIn(source, RunLoop.current())
            source.invalidate()

        treadle.aio.run(main())

    def test_a_source_in_no_loop(self) -> None:
        """It is in the loop while it is awaited: no signal in between is lost."""

        async def main() -> None:
            source = treadle.Source()
            for _ in range(100):
                worker.loop.post(source.signal)
                await source
                self.assertNotIn(source, RunLoop.current())
            source.signal()
            await asyncio.wait_for(source, WATCHDOG)

        with LoopThread() as worker:
            treadle.aio.run(main())
        self.assertEqual(RunLoop.current().items(), [])

    def test_a_source_that_nobody_else_holds(self) -> None:
        """OBJ-3: it can never be signalled, and is collected with the tasks that await it; one that is held is not."""
        messages: List[str] = []

        async def main() -> None:
            running = asyncio.get_running_loop()
            running.set_exception_handler(lambda loop, context: messages.append(context["message"]))
            before = RunLoop.current().items()
            held = treadle.Source()
            # What is created from here on is collected where this test says.
            gc.disable()
            self.addCleanup(gc.enable)
            tasks = [weakref.ref(asyncio.ensure_future(wait(source))) for source in (held, treadle.Source(), held)]
            more = treadle.Source(schedule=lambda *arguments: None, cancel=lambda *arguments: None)
            tasks += [weakref.ref(asyncio.ensure_future(wait(more))) for _ in range(2)]
            del more
            await asyncio.sleep(0)
            self.assertEqual(len(RunLoop.current().items()), len(before) + 3)
            gc.collect()
            self.assertEqual([task() is None for task in tasks], [False, True, False, True, True])
            self.assertEqual(len(RunLoop.current().items()), len(before) + 1)
            self.assertEqual(messages, ["Task was destroyed but it is pending!"] * 3)
            held.signal()
            await asyncio.gather(*filter(None, (task() for task in tasks)))

        treadle.aio.run(main())
        self.assertEqual(RunLoop.current().items(), [])

    def test_a_source_of_another_thread(self) -> None:
        """It is performed there; also in a loop of asyncio's own."""

        async def main() -> None:
            source = treadle.Source()
            worker.loop.add(source)
            task = asyncio.ensure_future(wait(source))
            await asyncio.sleep(0)
            source.signal()
            await task
            source.invalidate()

        with LoopThread() as worker:
            treadle.aio.run(main())
            asyncio.run(main())

    def test_sources_that_are_never_performed(self) -> None:
        """Invalid ones, those that become so, those that nobody would perform; to cancel the wait leaves nothing."""

        async def main() -> None:
            source = treadle.Source()
            task = asyncio.ensure_future(wait(source))
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertNotIn(source, RunLoop.current())
            task = asyncio.ensure_future(wait(source))
            await asyncio.sleep(0)
            source.invalidate()
            with self.assertRaisesRegex(treadle.LoopClosed, "invalid"):
                await task
            with self.assertRaisesRegex(treadle.LoopClosed, "invalid"):
                await source

        treadle.aio.run(main())

        async def other() -> None:
            with self.assertRaisesRegex(RuntimeError, "no loop would serve it"):
                await treadle.Source()

        asyncio.run(other())

    def test_a_source_in_modes(self) -> None:
        """MODE-8: in those of asyncio, whatever they are."""

        async def main() -> None:
            source = treadle.Source()
            source.signal()
            await source
            self.assertEqual(RunLoop.current().current_mode, "network")

        loop = treadle.aio.EventLoop(["network"])
        loop.run_until_complete(main())
        loop.close()

    def test_a_source_awaited_by_many_threads(self) -> None:
        """One source, awaited and signalled without a pause: no wait is forgotten."""
        rounds, count = 50, 4
        awaited = threading.Semaphore(0)

        async def wait(source: treadle.Source) -> None:
            for _ in range(rounds):
                await source
                awaited.release()

        def signal(source: treadle.Source) -> None:
            while any(thread.is_alive() for thread in threads):
                source.signal()
                awaited.acquire(timeout=0.001)

        with LoopThread() as worker, treadle.Source() as source:
            worker.loop.add(source)
            threads = [threading.Thread(target=treadle.aio.run, args=(wait(source),)) for _ in range(count)]
            for thread in threads:
                thread.start()
            signal(source)

    def test_a_source_whose_scope_ends(self) -> None:
        """SCO-1: LoopClosed for who awaits it."""

        async def main() -> None:
            scope = treadle.Scope("of a source")
            with scope.entered():
                source = treadle.Source()
            task = asyncio.ensure_future(wait(source))
            await asyncio.sleep(0)
            scope.close()
            with self.assertRaises(treadle.LoopClosed):
                await task

        treadle.aio.run(main())

    def test_a_scope_in_a_task(self) -> None:
        """SCO-1: timers of asyncio do not end with a scope that a task has entered."""

        async def main() -> None:
            with treadle.Scope("of a task"):
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.001)

        treadle.aio.run(main())


if __name__ == "__main__":
    unittest.main()
