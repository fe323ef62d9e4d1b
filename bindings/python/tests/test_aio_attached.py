# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""asyncio in a run loop that somebody else runs: this program, or a host in C (treadle.aio.attach)."""

from __future__ import annotations

import asyncio
import threading
import unittest
from typing import Any, Callable, List

import treadle
import treadle.aio
from treadle import DEFAULT, RunLoop, RunResult

from support import WATCHDOG, TestCase, foreign


class Attaching(TestCase):
    def test_a_run_of_the_program(self) -> None:
        """Tasks are served by RunLoop.run(), whose callbacks may make others, also between its runs."""
        loop = RunLoop.current()
        seen: List[str] = []

        async def work(name: str) -> None:
            await asyncio.sleep(0.001)
            seen.append(name)
            if name == "last":
                loop.stop()

        with treadle.aio.attach() as attached:
            self.assertIs(asyncio.get_running_loop(), attached.loop)
            attached.create_task(work("first"))
            loop.add(treadle.Timer(lambda timer: asyncio.create_task(work("last")), delay=0.01))
            self.assertIs(loop.run(), RunResult.STOPPED)
            self.assertEqual(seen, ["first", "last"])
            attached.create_task(work("last"), name="again")
            self.assertIs(loop.run(), RunResult.STOPPED)
            self.assertIs(loop.run(seconds=0), RunResult.TIMED_OUT)
        self.assertIsNone(asyncio._get_running_loop())
        self.assertIs(loop.run(), RunResult.FINISHED)
        self.assertIn("closed", repr(attached))

    def test_a_host_in_c(self) -> None:
        """A thread that Python did not make runs its run loop in C; asyncio comes to it, works there, and leaves."""
        helper = foreign()
        thread = helper.foreign_start()
        loop = RunLoop._of(helper.foreign_loop(thread))
        over = threading.Event()
        seen: List[Any] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readexactly(4))
            writer.close()

        async def work(attached: treadle.aio.Attached) -> None:
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"weft")
            seen.append(await reader.readexactly(4))
            writer.close()
            server.close()
            seen.append(await asyncio.get_running_loop().run_in_executor(None, pow, 2, 5))
            await asyncio.sleep(0.001)
            RunLoop.current().post(leave, attached)

        def leave(attached: treadle.aio.Attached) -> None:
            attached.detach()
            over.set()

        def come() -> None:
            attached = treadle.aio.attach()
            attached.create_task(work(attached))

        loop.post(come)
        self.wait(over)
        self.assertEqual(seen, [b"weft", 32])
        over.clear()
        loop.post(come)  # and again
        self.wait(over)
        self.assertEqual(helper.foreign_stop(thread), RunResult.STOPPED)

    def test_stopping(self) -> None:
        """STOP-1: stop() of the attached loop ends the innermost run of the host's, and asyncio goes on in the next."""
        loop = RunLoop.current()
        with treadle.aio.attach() as attached:
            attached.loop.call_soon(attached.loop.stop)
            self.assertIs(loop.run(seconds=WATCHDOG), RunResult.STOPPED)
            loop.post(attached.loop.stop)
            self.assertIs(loop.run(seconds=WATCHDOG), RunResult.STOPPED)

            async def work() -> int:
                await asyncio.sleep(0.001)
                loop.stop()
                return 7

            task = attached.create_task(work())
            self.assertIs(loop.run(seconds=WATCHDOG), RunResult.STOPPED)
            self.assertEqual(task.result(), 7)

    def test_modes(self) -> None:
        """MODE-8: served in the modes that it was given, in others not."""
        loop = RunLoop.current()
        seen: List[object] = []

        async def work() -> None:
            seen.append(loop.current_mode)
            await asyncio.sleep(0)
            seen.append(loop.current_mode)
            loop.stop()

        keeper = treadle.Source()
        loop.add(keeper, [DEFAULT, "other"])
        with treadle.aio.attach(["other"]) as attached:
            attached.create_task(work())
            self.assertIs(loop.run(seconds=0.01), RunResult.TIMED_OUT)
            self.assertEqual(seen, [])
            self.assertIs(loop.run("other", seconds=WATCHDOG), RunResult.STOPPED)
        self.assertEqual(seen, ["other", "other"])
        keeper.invalidate()

    def test_detaching(self) -> None:
        """What is left is cancelled and waited for, the generators too; detaching again does nothing."""
        ended: List[str] = []

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.001)
                ended.append("work")

        attached = treadle.aio.attach()
        attached.create_task(work())
        RunLoop.current().run(seconds=0.001)
        attached.detach()
        attached.detach()
        self.assertEqual(ended, ["work"])
        coroutine = work()
        with self.assertRaisesRegex(RuntimeError, "closed"):
            attached.create_task(coroutine)
        coroutine.close()

    def test_misuse(self) -> None:
        """Twice, inside of a run of asyncio, detached by one of its callbacks or another thread, run or closed while attached."""
        errors: List[str] = []

        def attempt(function: Callable[[], object]) -> None:
            try:
                function()
            except RuntimeError as error:
                errors.append(str(error))

        async def main() -> None:
            attempt(treadle.aio.attach)

        treadle.aio.run(main())
        asyncio.run(main())
        loop = RunLoop.current()
        with treadle.aio.attach() as attached:
            attempt(treadle.aio.attach)
            attempt(attached.loop.close)
            attempt(attached.loop.run_forever)
            attached.loop.call_soon(attempt, attached.detach)
            attached.loop.call_soon(loop.stop)
            loop.run(seconds=WATCHDOG)
            thread = threading.Thread(target=attempt, args=(attached.detach,))
            thread.start()
            thread.join()
        self.assertEqual(len(errors), 7)

    def test_exceptions(self) -> None:
        """SystemExit of a task ends the host's run, as of any callback; others are asyncio's to report."""
        loop = RunLoop.current()

        async def leave() -> None:
            raise SystemExit(3)

        with treadle.aio.attach() as attached:
            contexts: List[object] = []
            attached.loop.set_exception_handler(lambda loop, context: contexts.append(context))
            attached.loop.call_soon(lambda: 1 // 0)
            task = attached.create_task(leave())
            with self.assertRaises(SystemExit):
                loop.run(seconds=WATCHDOG)
            self.assertIsInstance(task.exception(), SystemExit)
            self.assertEqual(len(contexts), 1)
            attached.loop.call_soon(loop.stop)
            self.assertIs(loop.run(seconds=WATCHDOG), RunResult.STOPPED)

    def test_the_end_of_the_thread(self) -> None:
        """RL-8: a thread that ends without detaching leaves nothing that would hang or crash; nobody serves its tasks."""
        script = """if True:
            import asyncio, threading, treadle, treadle.aio

            async def work():
                seen.append("served")
                await asyncio.Event().wait()

            def body():
                attached.append(treadle.aio.attach())
                tasks.append(attached[0].create_task(work()))
                treadle.RunLoop.current().run(seconds=0.01)
                attached[0].loop.call_soon(seen.append, "never")

            seen, attached, tasks = [], [], []
            thread = threading.Thread(target=body)
            thread.start()
            thread.join()
            attached[0].loop.call_soon_threadsafe(seen.append, "never")
            try:
                attached[0].detach()
            except RuntimeError:
                seen.append("refused")
            treadle.aio.run(asyncio.sleep(0.001))
            print(*seen, flush=True)
        """
        self.assertEqual(self.assertRuns(script), "served refused\n")


if __name__ == "__main__":
    unittest.main()
