# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Ctrl-C, other signals and child processes in treadle.aio."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import unittest
from typing import List

import treadle
import treadle.aio
from treadle import RunLoop

from support import WATCHDOG, TestCase, eventually
from test_signals import Child

# Each says when it is ready to be interrupted, and at the end what it was ended by.
INTERRUPTED = """if True:
    import asyncio, logging, signal, sys, threading, treadle, treadle.aio

    logging.getLogger("asyncio").setLevel(logging.ERROR)  # which warns of slow machines

    async def sleeping():
        treadle.RunLoop.current().add(treadle.Source())
        await wait()

    async def wait():
        try:
            print("ready", flush=True)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            print("cancelled", flush=True)
            raise

    async def busy():
        print("ready", flush=True)
        try:
            while True:
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            print("cancelled", flush=True)
            raise

    # Where the first Ctrl-C cancels the task, these say that it has.
    def is_cancelled(task):
        return sys.version_info >= (3, 11) and task.cancelling()

    async def native():
        # A callback of the run loop that never ends by itself.
        def compute(timer):
            print("ready", flush=True)
            while not is_cancelled(task):
                pass
            print("noted", flush=True)
            while True:
                pass

        task = asyncio.current_task()
        treadle.RunLoop.current().add(treadle.Timer(compute, delay=0.001))
        await asyncio.Event().wait()

    async def nested():
        # Inside of a task: asyncio pauses.
        def look(timer):
            if is_cancelled(task):
                timer.invalidate()
                print("noted", flush=True)

        task, loop = asyncio.current_task(), treadle.RunLoop.current()
        loop.add(treadle.Source(), "modal")
        loop.add(treadle.Timer(look, interval=0.001), "modal")
        print("ready", flush=True)
        loop.run("modal")

    async def unwatched():
        # asyncio's own watching has come and gone.
        running = asyncio.get_running_loop()
        running.add_signal_handler(signal.SIGUSR1, int)
        running.remove_signal_handler(signal.SIGUSR1)
        await wait()

    try:
        treadle.aio.run(globals()[sys.argv[1]]())
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    # And the thread is as it was before.
    assert treadle.aio.run(asyncio.sleep(0.001, 7)) == 7
    print(signal.set_wakeup_fd(-1), flush=True)
"""


class Interrupts(TestCase):
    def interrupt(self, what: str, sleeps: bool) -> List[str]:
        child = Child(INTERRUPTED, what)
        self.assertEqual(child.line(), "ready")
        if sleeps:
            self.assertTrue(eventually(child.sleeps))
        child.interrupt()
        output, errors, code = child.finish()
        self.assertEqual((errors, code), ("", 0), output)
        lines = output.split()
        self.assertEqual(lines[-1], "-1")  # no descriptor of ours is left behind
        return lines[:-1]

    def test_ctrl_c(self) -> None:
        """ABI-4: as in asyncio, which cancels the main task from Python 3.11 on."""
        # Before, the exception came wherever the program was, and the tasks were cancelled by the end of the run. Between
        # two steps of a busy task, asyncio of those versions loses the next one, with its own loop too.
        for what in ("sleeping", "unwatched", *(["busy"] if sys.version_info >= (3, 11) else [])):
            for _ in range(3):
                with self.subTest(what=what):
                    self.assertEqual(self.interrupt(what, what != "busy"), ["cancelled", "interrupted"])

    def test_ctrl_c_twice(self) -> None:
        """ABI-4: what does not await is interrupted by a second one in newer versions, as in asyncio."""
        for what in "native", "nested":
            child = Child(INTERRUPTED, what)
            self.assertEqual(child.line(), "ready")
            child.interrupt()
            if sys.version_info >= (3, 11):
                self.assertEqual(child.line(), "noted")
                child.interrupt()
            output, errors, code = child.finish()
            self.assertEqual((output.split(), errors, code), (["interrupted", "-1"], "", 0))

    def test_handlers(self) -> None:
        """ABI-4: signal handlers of asyncio are called in its loop, also when nothing else happens; and those of Python."""
        seen: List[str] = []

        async def main() -> None:
            running = asyncio.get_running_loop()
            for _ in range(20):
                over = asyncio.Event()

                def note() -> None:
                    seen.append("asyncio")
                    over.set()

                running.add_signal_handler(signal.SIGUSR1, note)
                threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR1)).start()
                await over.wait()
                self.assertTrue(running.remove_signal_handler(signal.SIGUSR1))
                self.assertFalse(running.remove_signal_handler(signal.SIGUSR1))
                over.clear()

                def handle(*_: object) -> None:
                    seen.append("python")
                    running.call_soon_threadsafe(over.set)

                previous = signal.signal(signal.SIGUSR1, handle)
                threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR1)).start()
                await over.wait()
                signal.signal(signal.SIGUSR1, previous)

        treadle.aio.run(main())
        self.assertEqual(seen, ["asyncio", "python"] * 20)

    def test_handlers_on_other_threads(self) -> None:
        """As in asyncio: refused."""
        errors: List[BaseException] = []

        async def main() -> None:
            try:
                asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, int)
            except (ValueError, RuntimeError) as error:
                errors.append(error)

        thread = threading.Thread(target=lambda: treadle.aio.run(main()))
        thread.start()
        thread.join()
        self.assertEqual(len(errors), 1)


class Processes(TestCase):
    def test_many(self) -> None:
        """Child processes, their streams and results, many at a time, beside the run loop's timers."""
        ticks: List[int] = []

        async def child(number: int) -> int:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-S", "-c", f"import sys; print(sys.stdin.read()); sys.exit({number})",
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
            output, _ = await process.communicate(b"weft")
            self.assertEqual(output, b"weft\n")
            assert process.returncode is not None
            return process.returncode

        async def main() -> None:
            timer = RunLoop.current().every(0.001)(lambda timer: ticks.append(1))
            self.assertEqual(await asyncio.gather(*map(child, range(8))), list(range(8)))
            while not ticks:
                await asyncio.sleep(0.001)
            timer.invalidate()

        treadle.aio.run(main())

    def test_threads(self) -> None:
        """On another thread than the main one, without a thread for each process; killed, and cancelled ones."""

        async def main() -> None:
            process = await asyncio.create_subprocess_exec("sleep", str(WATCHDOG))
            if sys.version_info < (3, 14):
                names = [thread.name for thread in threading.enumerate()]
                self.assertFalse([name for name in names if name.startswith("waitpid")])
            process.kill()
            self.assertEqual(await process.wait(), -signal.SIGKILL)
            task = asyncio.ensure_future(asyncio.create_subprocess_exec("sleep", str(WATCHDOG)))
            await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            with self.assertRaises(FileNotFoundError):
                await asyncio.create_subprocess_exec("/nowhere/to/be/found")

        errors: List[BaseException] = []

        def body() -> None:
            try:
                treadle.aio.run(main())
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        self.assertEqual(errors, [])

    def test_reaped_by_others(self) -> None:
        """A child that somebody else has waited for: 255, with a warning, as in asyncio."""

        async def main() -> None:
            loop = asyncio.get_running_loop()
            transport, _ = await loop.subprocess_exec(
                asyncio.SubprocessProtocol, "sleep", str(WATCHDOG), stdin=None, stdout=None, stderr=None
            )
            transport.kill()
            os.waitpid(transport.get_pid(), 0)
            while transport.get_returncode() is None:
                await asyncio.sleep(0.001)
            self.assertEqual(transport.get_returncode(), 255)
            transport.close()

        if sys.version_info < (3, 12):
            with self.assertWarns(RuntimeWarning):
                treadle.aio.run(main())
        else:
            treadle.aio.run(main())


if __name__ == "__main__":
    unittest.main()
