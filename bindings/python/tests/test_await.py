# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Futures that a program of asyncio awaits."""

from __future__ import annotations

import asyncio
import ctypes
import os
import threading
import unittest
from typing import List

import treadle.aio
from treadle import DEFAULT, LoopClosed, RunLoop, Source

from support import LoopThread, TestCase, in_thread


class Awaiting(TestCase):
    def test_results(self) -> None:
        """PERF-7: results and exceptions of any number of functions, while the loop of asyncio goes on."""
        held = threading.Event()

        def fail() -> None:
            raise LookupError("lost")

        async def let_go() -> str:
            held.set()
            return "meanwhile"

        async def main(loop: RunLoop) -> None:
            first = loop.perform(self.wait, held)
            futures = [loop.perform(pow, 2, number) for number in range(50)]
            meanwhile = asyncio.ensure_future(let_go())
            await first
            self.assertEqual(await meanwhile, "meanwhile")
            self.assertEqual(await asyncio.gather(*futures), [2**number for number in range(50)])
            self.assertEqual(await futures[3], 8)
            with self.assertRaisesRegex(LookupError, "lost"):
                await loop.perform(fail)

        for run in (asyncio.run, treadle.aio.run):
            held.clear()
            with LoopThread() as worker:
                run(main(worker.loop))
        with LoopThread() as worker, self.assertRaises(RuntimeError):
            next(worker.loop.perform(int).__await__())  # nobody runs a loop of asyncio here

    def test_one_thread(self) -> None:
        """PERF-7: asyncio and the loop take turns on one thread."""

        async def main() -> int:
            future = RunLoop.current().perform(pow, 2, 5)
            asyncio.get_running_loop().call_soon(RunLoop.current().run, DEFAULT, 0)
            return await future

        self.assertEqual(asyncio.run(main()), 32)
        self.assertEqual(in_thread(lambda: asyncio.run(main())), 32)

        async def perform_here() -> List[int]:
            results: List[int] = await asyncio.gather(*(RunLoop.current().perform(pow, 2, number) for number in range(50)))
            return results

        self.assertEqual(treadle.aio.run(perform_here()), [2**number for number in range(50)])

    def test_cancelling(self) -> None:
        """PERF-7: what has not begun is not called when the task is cancelled; what has begun goes on."""
        seen: List[str] = []
        began, held = threading.Event(), threading.Event()

        def begin() -> None:
            began.set()
            self.wait(held)
            seen.append("begun")

        async def wait_for(future: "asyncio.Future[None]") -> None:
            await future

        async def main(loop: RunLoop) -> None:
            futures = [loop.perform(begin), loop.perform(seen.append, "never")]
            tasks = [asyncio.ensure_future(wait_for(future)) for future in futures]  # type: ignore[arg-type]
            await asyncio.sleep(0)
            self.wait(began)
            for task in tasks:
                task.cancel()
            for task in tasks:
                with self.assertRaises(asyncio.CancelledError):
                    await task
            self.assertEqual([future.cancelled() for future in futures], [False, True])
            held.set()
            await loop.perform(seen.append, "last")
            with self.assertRaises(asyncio.CancelledError):
                await futures[1]

        with LoopThread() as worker:
            asyncio.run(main(worker.loop))
        self.assertEqual(seen, ["begun", "last"])
        seen.clear()
        # The main thread's loop, of whose end nobody tells: looked at now and then.
        began.clear()

        async def give_up() -> None:
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(RunLoop.main().perform(seen.append, "never"), 0.001)

        in_thread(lambda: asyncio.run(give_up()))
        RunLoop.main().run(seconds=0)
        self.assertEqual(seen, [])

    def test_the_end_of_a_thread(self) -> None:
        """RL-8, PERF-8: LoopClosed for what its loop did not call any more."""

        async def main() -> None:
            with LoopThread() as worker:
                future = worker.loop.perform(int, modes="never run")
            with self.assertRaises(LoopClosed):
                await future

        asyncio.run(main())

    def test_the_end_of_the_program(self) -> None:
        """RL-8: LoopClosed on a thread that waits for the main one, once that has left the program."""
        script = """if True:
            import asyncio, threading, treadle

            async def wait():
                future = treadle.RunLoop.main().perform(int)
                asked.set()
                try:
                    await future
                except treadle.LoopClosed:
                    print("closed", flush=True)

            asked = threading.Event()
            treadle.RunLoop.main()
            threading.Thread(target=lambda: asyncio.run(wait())).start()
            asked.wait()
        """
        self.assertEqual(self.assertRuns(script), "closed\n")

    def test_invocations(self) -> None:
        """PERF-7: calls of C functions, also where the loop is run in another mode than that in which it would tell."""
        absolute = ctypes.CDLL(None).abs

        async def main(loop: RunLoop) -> None:
            calls = [loop.invoke(absolute, -number, wait=False) for number in range(10)]
            self.assertEqual(await asyncio.gather(*calls), list(range(10)))

        async def other(loop: RunLoop) -> None:
            self.assertEqual(await loop.invoke(absolute, -7, wait=False, modes="other"), 7)
            loop.request_stop()

        def run_other() -> None:
            with Source() as keeper:
                RunLoop.current().add(keeper, "other")
                loops.append(RunLoop.current())
                ready.set()
                RunLoop.current().run("other")

        with LoopThread() as worker:
            asyncio.run(main(worker.loop))
        loops: List[RunLoop] = []
        ready = threading.Event()
        thread = threading.Thread(target=run_other)
        thread.start()
        self.wait(ready)
        asyncio.run(other(loops[0]))
        thread.join()

    @unittest.skipUnless(hasattr(os, "fork"), "needs fork")
    def test_fork(self) -> None:
        """RL-11: the parent's functions are nothing to wait for in the child."""
        script = """if True:
            import asyncio, os, sys, treadle

            async def wait():
                try:
                    await future
                except treadle.Forked:
                    print("forked", flush=True)

            future = treadle.RunLoop.current().perform(int)
            child = os.fork()
            if child == 0:
                asyncio.run(wait())
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        """
        self.assertEqual(self.assertRuns(script), "forked\n")


if __name__ == "__main__":
    unittest.main()
