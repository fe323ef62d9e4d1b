# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""asyncio in a run loop: both are served, each in its turn (treadle.aio)."""

from __future__ import annotations

import asyncio
import gc
import linecache
import os
import signal
import sys
import threading
import traceback
import unittest
import weakref
from typing import Any, Callable, Dict, List

import treadle
import treadle.aio
from treadle import DEFAULT, Activity, RunLoop, RunResult

from support import WATCHDOG, LoopThread, TestCase, eventually, in_thread, run_python


class Running(TestCase):
    def test_ways_to_run(self) -> None:
        """The function, a loop factory and a runner give loops of the package, one after another."""

        async def main() -> asyncio.AbstractEventLoop:
            await asyncio.sleep(0)
            return asyncio.get_running_loop()

        self.assertIsInstance(treadle.aio.run(main()), treadle.aio.EventLoop)
        if sys.version_info >= (3, 12):
            first, second = (asyncio.run(main(), loop_factory=treadle.aio.EventLoop) for _ in range(2))
            self.assertIsInstance(first, treadle.aio.EventLoop)
            self.assertIsNot(first, second)
        if sys.version_info >= (3, 11):
            with asyncio.Runner(loop_factory=treadle.aio.EventLoop) as runner:
                self.assertIs(runner.run(main()), runner.run(main()))
        self.assertIsInstance(in_thread(lambda: treadle.aio.run(main())), treadle.aio.EventLoop)

    def test_twice(self) -> None:
        """One after another on a thread; each leaves nothing behind in the run loop."""

        async def main(number: int) -> int:
            await asyncio.sleep(0.001)
            return number

        for number in range(20):
            self.assertEqual(treadle.aio.run(main(number)), number)
        self.assertEqual(RunLoop.current().items(), [])
        self.assertIs(RunLoop.current().run(), RunResult.FINISHED)

    def test_debug_mode_records_few_frames_more(self) -> None:
        """asyncio records a stack for each handle and task; for none of our files in it the system is asked for changes."""

        async def main() -> traceback.StackSummary:
            await asyncio.sleep(0)
            return traceback.extract_stack()

        def recorded(loop: asyncio.AbstractEventLoop) -> traceback.StackSummary:
            loop.set_debug(True)
            try:
                return loop.run_until_complete(main())
            finally:
                loop.close()

        stock, ours = recorded(asyncio.new_event_loop()), recorded(treadle.aio.EventLoop())
        self.assertLessEqual(len(ours), len(stock) + 4)
        package = os.path.dirname(treadle.__file__)
        own = {frame.filename for frame in ours if frame.filename.startswith(package)}
        cached = dict(linecache.cache)  # type: Dict[str, Any]
        self.assertEqual({cached[name][1] for name in own}, {None})
        self.assertTrue(all(frame.line for frame in ours if frame.filename in own))

    def test_a_closed_loop_goes_with_its_last_reference(self) -> None:
        """Without a look of the cycle collector, whatever it was used for."""

        def sleep(loop: asyncio.AbstractEventLoop) -> None:
            loop.run_until_complete(asyncio.sleep(0.001))

        def be_called(loop: asyncio.AbstractEventLoop) -> None:
            loop.call_later(0.001, loop.stop)
            loop.call_soon_threadsafe(int)
            loop.run_forever()

        def read(loop: asyncio.AbstractEventLoop) -> None:
            readable, writable = os.pipe()
            loop.add_reader(readable, loop.stop)
            os.write(writable, b"x")
            loop.run_forever()
            loop.remove_reader(readable)
            os.close(readable)
            os.close(writable)

        def handle_signals(loop: asyncio.AbstractEventLoop) -> None:
            loop.add_signal_handler(signal.SIGUSR1, loop.stop)
            loop.call_soon(os.kill, os.getpid(), signal.SIGUSR1)
            loop.run_forever()
            loop.remove_signal_handler(signal.SIGUSR1)

        def do_nothing(loop: asyncio.AbstractEventLoop) -> None:
            pass

        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        for use in (do_nothing, sleep, be_called, read, handle_signals):
            with self.subTest(use.__name__):
                loop = treadle.aio.EventLoop()
                use(loop)
                loop.close()
                reference = weakref.ref(loop)
                del loop
                self.assertIsNone(reference())
        attached = treadle.aio.attach()
        attached.detach()
        reference = weakref.ref(attached.loop)
        del attached
        self.assertIsNone(reference())

    def test_a_closed_loop_that_somebody_keeps(self) -> None:
        """One that goes after everything else, at the end of the interpreter, goes quietly."""
        script = """if True:
            import asyncio, treadle.aio
            loop = treadle.aio.EventLoop()
            asyncio.set_event_loop(loop)
            loop.run_until_complete(asyncio.sleep(0))
            loop.close()
        """
        result = run_python(script)
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_installed(self) -> None:
        """asyncio.run() of a program that knows nothing of Treadle has our loop, until the policy is set back."""
        script = """if True:
            import asyncio, threading, warnings
            warnings.simplefilter("error")
            import treadle.aio

            async def main():
                return type(asyncio.get_running_loop()).__module__.split(".")[0]

            print(asyncio.run(main()))
            treadle.aio.install()
            print(asyncio.run(main()))
            thread = threading.Thread(target=lambda: print(asyncio.run(main())))
            thread.start()
            thread.join()
            loop = asyncio.new_event_loop()
            print(loop.run_until_complete(main()))
            loop.close()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                asyncio.set_event_loop_policy(None)
            print(asyncio.run(main()))
        """
        self.assertEqual(self.assertRuns(script).split(), ["asyncio", *["treadle"] * 3, "asyncio"])

    def test_two_loops_take_turns(self) -> None:
        """Two loops of asyncio for one thread may run one after the other, also each of them again."""
        loops = [treadle.aio.EventLoop() for _ in range(2)]

        async def main() -> asyncio.AbstractEventLoop:
            await asyncio.sleep(0.001)
            return asyncio.get_running_loop()

        for _ in range(3):
            for loop in loops:
                self.assertIs(loop.run_until_complete(main()), loop)
        self.assertIs(in_thread(lambda: loops[0].run_until_complete(main())), loops[0])  # on another thread
        for loop in loops:
            loop.close()

    def test_what_is_left_at_the_end(self) -> None:
        """Tasks and asynchronous generators end with the run, as with asyncio's own."""
        ended: List[str] = []

        async def wait_for_ever() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("task")

        async def numbers() -> Any:
            try:
                yield 1
            finally:
                await asyncio.sleep(0)
                ended.append("generator")

        kept: List[Any] = []

        async def main() -> int:
            kept.append(asyncio.ensure_future(wait_for_ever()))
            generator = numbers()
            kept.append(generator)
            async for number in generator:
                await asyncio.sleep(0)
                return int(number)
            return 0

        self.assertEqual(treadle.aio.run(main(), debug=True), 1)
        self.assertEqual(sorted(ended), ["generator", "task"])

    def test_modes(self) -> None:
        """MODE-8: asyncio is served in the modes that its loop was made with; run_forever() runs the first."""
        seen: List[object] = []

        async def main() -> None:
            seen.append(RunLoop.current().current_mode)
            await asyncio.sleep(0.001)

        loop = treadle.aio.EventLoop(["first", "second"])
        loop.run_until_complete(main())
        loop.close()
        self.assertEqual(seen, ["first"])
        loop = treadle.aio.EventLoop("only")
        loop.run_until_complete(main())
        loop.close()
        self.assertEqual(seen, ["first", "only"])


class Together(TestCase):
    """What is served in one loop."""

    def test_everything_in_one_loop(self) -> None:
        """Sources, timers, descriptors, observers, posts and performs beside tasks, streams and timers of asyncio."""
        seen: "set[str]" = set()

        async def main() -> None:
            loop = RunLoop.current()
            self.assertEqual(loop.current_mode, DEFAULT)
            source = treadle.Source(perform=lambda source: seen.add("source"))
            readable, writable = os.pipe()
            descriptor = treadle.FileDescriptor(readable, lambda descriptor, events: seen.add("descriptor"), oneshot=True)
            repeating = loop.every(0.001)(lambda timer: seen.add("timer"))
            observer = loop.on(Activity.BEFORE_WAITING)(lambda observer, activity: seen.add("observer"))
            loop.add(source)
            loop.add(descriptor)

            def give() -> None:
                loop.post(seen.add, "post")
                source.signal()
                os.write(writable, b"x")

            thread = threading.Thread(target=give)
            thread.start()

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                writer.write(await reader.readexactly(4))
                writer.close()

            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"weft")
            self.assertEqual(await reader.readexactly(4), b"weft")
            writer.close()
            server.close()
            self.assertEqual(await asyncio.get_running_loop().run_in_executor(None, pow, 2, 5), 32)
            self.assertEqual(await loop.perform(pow, 2, 6), 64)
            while len(seen) < 5:
                await asyncio.sleep(0.001)
            thread.join()
            items: List[treadle.Item] = [source, descriptor, repeating, observer]
            for item in items:
                item.invalidate()
            os.close(readable)
            os.close(writable)

        treadle.aio.run(main())
        self.assertEqual(seen, {"source", "descriptor", "timer", "observer", "post"})

    def test_callbacks_use_asyncio(self) -> None:
        """Each kind of callback of the run loop may queue for asyncio while that has nothing else to wake for."""

        def wake(loop: RunLoop) -> None:
            self.assertTrue(eventually(lambda: loop.is_waiting))
            loop.wake_up()

        def begin(kind: str, fire: Callable[[], object]) -> None:
            loop = RunLoop.current()
            readable, writable = os.pipe()

            def close(*_: object) -> None:
                item.invalidate()
                os.close(readable)
                os.close(writable)
                fire()

            def close_at_end(*_: object) -> None:
                item.invalidate()
                fire()

            item: treadle.Item
            if kind == "source":
                item = treadle.Source(perform=close)
                item.signal()
            elif kind == "timer":
                item = treadle.Timer(close, delay=0.001)
            elif kind == "descriptor":
                item = treadle.FileDescriptor(readable, close)
                os.write(writable, b"x")
            elif kind in ("BEFORE_WAITING", "BEFORE_TIMERS", "AFTER_WAITING"):
                item = treadle.Observer(close, Activity[kind])
                if kind == "AFTER_WAITING":
                    threading.Thread(target=wake, args=(loop,)).start()
            else:
                item = treadle.Source()
                threading.Thread(target=loop.post, args=(close,)).start()
            loop.add(item)

        async def wait(way: str, kind: str) -> None:
            running = asyncio.get_running_loop()
            over = running.create_future()
            fires: "dict[str, Callable[[], object]]" = {
                "call_soon": lambda: running.call_soon(over.set_result, None),
                "call_later": lambda: running.call_later(0.001, over.set_result, None),
                "create_task": lambda: running.create_task(end()),
                "future": lambda: over.set_result(None),
            }

            async def end() -> None:
                over.set_result(None)

            begin(kind, fires[way])
            await over

        for way in "call_soon", "call_later", "create_task", "future":
            for kind in "source", "timer", "descriptor", "post", "BEFORE_WAITING", "BEFORE_TIMERS", "AFTER_WAITING":
                with self.subTest(way=way, kind=kind):
                    self.watch()
                    treadle.aio.run(wait(way, kind))

    def test_many_threads_call(self) -> None:
        """Nothing that other threads queue is lost, and each thread's calls keep their order."""
        count, producers = 5000, 4
        seen: List[List[int]] = [[] for _ in range(producers)]

        async def main() -> None:
            running, loop = asyncio.get_running_loop(), RunLoop.current()
            over = asyncio.Event()
            left = producers

            def end() -> None:
                nonlocal left
                left -= 1
                if not left:
                    over.set()

            def produce(index: int) -> None:
                for number in range(count):
                    running.call_soon_threadsafe(seen[index].append, number)
                if index % 2:
                    loop.post(end)
                else:
                    running.call_soon_threadsafe(end)

            threads = [threading.Thread(target=produce, args=(index,)) for index in range(producers)]
            for thread in threads:
                thread.start()
            await over.wait()
            for thread in threads:
                thread.join()
            # What a thread has posted to the run loop may come before what it has called in asyncio.
            while any(len(numbers) < count for numbers in seen):
                await asyncio.sleep(0)

        treadle.aio.run(main())
        self.assertEqual(seen, [list(range(count))] * producers)

    def test_the_last_call_of_another_thread_wakes(self) -> None:
        """One call at a time, each of which finds the loop asleep, turning, or in between."""

        async def main() -> None:
            running = asyncio.get_running_loop()
            for _ in range(2000):
                over = running.create_future()
                worker.loop.post(running.call_soon_threadsafe, over.set_result, None)
                await over

        with LoopThread() as worker:
            treadle.aio.run(main())

    def test_neither_starves_the_other(self) -> None:
        """A task that is always ready, and a source that always signals itself."""
        seen: List[str] = []

        async def main() -> None:
            loop = RunLoop.current()

            def perform(source: treadle.Source) -> None:
                seen.append("source")
                source.signal()

            with treadle.Source(perform=perform) as source:
                loop.add(source)
                source.signal()
                tasks = 0
                while seen.count("source") < 20 or tasks < 20:
                    tasks += 1
                    await asyncio.sleep(0)

        treadle.aio.run(main())

    def test_timers_keep_their_order(self) -> None:
        """TMR-1: a timer that is set earlier than the one that asyncio sleeps for fires first, and no timer is early."""

        async def main() -> List[int]:
            running = asyncio.get_running_loop()
            fired: List[int] = []
            over = running.create_future()
            late = running.call_later(WATCHDOG, fired.append, 0)
            for number, delay in enumerate((0.03, 0.02, 0.01), 1):

                def fire(number: int = number, due: float = running.time() + delay) -> None:
                    self.assertGreaterEqual(running.time(), due)
                    fired.append(number)
                    if len(fired) == 3:
                        over.set_result(None)

                running.call_later(delay, fire)
            await over
            late.cancel()
            return fired

        self.assertEqual(treadle.aio.run(main()), [3, 2, 1])


if __name__ == "__main__":
    unittest.main()
