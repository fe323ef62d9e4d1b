# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Functions that are handed to a loop or a thread run in the context of contextvars that they were handed over in."""

from __future__ import annotations

import asyncio
import threading
import unittest
from contextvars import Context, ContextVar, copy_context
from typing import Any, Callable, List, Tuple

import treadle
import treadle.aio
from treadle import RunLoop, Thread, Timer

from support import WATCHDOG, LoopThread, TestCase

request: ContextVar[str] = ContextVar("request", default="none")


class Contexts(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.seen: List[str] = []
        token = request.set("before")
        self.addCleanup(request.reset, token)

    def note(self, *_arguments: object) -> None:
        """Notes what the variable is, and changes it, which concerns nobody else."""
        self.seen.append(request.get())
        request.set("changed")

    def ways(self, loop: RunLoop, thread: Thread) -> "List[Tuple[str, Callable[..., Any]]]":
        """Every way in which a function is handed over; each takes `context`."""
        return [
            ("post", lambda **context: loop.post(self.note, **context)),
            ("perform", lambda **context: loop.perform(self.note, **context)),
            ("perform in modes", lambda **context: loop.perform(self.note, modes=treadle.DEFAULT, **context)),
            ("Thread.perform", lambda **context: thread.perform(self.note, **context)),
            ("Thread.perform in modes", lambda **context: thread.perform(self.note, modes=[treadle.DEFAULT], **context)),
            ("after", lambda **context: loop.after(0, **context)(self.note)),
            ("every", lambda **context: loop.every(1e-9, **context)(self.note)),
            ("Timer", lambda **context: loop.add(Timer(self.note, delay=0, **context))),
        ]

    def test_the_callers_context(self) -> None:
        """ABI-3: a copy of the caller's context, as it was when the function was handed over, as in asyncio."""
        with LoopThread() as worker:
            thread = worker.loop.perform(Thread.current).result()
            for name, hand in self.ways(worker.loop, thread):
                with self.subTest(name):
                    self.seen.clear()
                    request.set(name)
                    made = hand()
                    request.set("after")
                    while not self.seen:
                        worker.loop.perform(int).result(WATCHDOG)
                    if isinstance(made, Timer):
                        made.close()
                    self.assertEqual(self.seen[0], name)
                    self.assertEqual(request.get(), "after")
            self.assertEqual(worker.loop.perform(request.get, context=Context()).result(), "none")

    def test_a_context_of_ones_own(self) -> None:
        """ABI-3: context= names one, in which the function runs itself: what it sets stays there."""
        with LoopThread() as worker:
            thread = worker.loop.perform(Thread.current).result()
            for name, hand in self.ways(worker.loop, thread):
                with self.subTest(name):
                    self.seen.clear()
                    context = copy_context()
                    context.run(request.set, "its own")
                    made = hand(context=context)
                    while not self.seen:
                        worker.loop.perform(int).result(WATCHDOG)
                    if isinstance(made, Timer):
                        made.close()
                    worker.loop.perform(int).result(WATCHDOG)
                    self.assertEqual((self.seen[0], context[request]), ("its own", "changed"))

    def test_with_a_wait(self) -> None:
        """PERF-2, PERF-7: also where the caller waits, on another thread and on its own."""
        with LoopThread() as worker:
            other = worker.loop.perform(Thread.current).result()
            for thread in (other, Thread.current()):
                self.note()
                request.set("waits")
                self.assertEqual(thread.perform(request.get, wait=True), "waits")
                self.assertEqual(thread.perform(request.get, wait=True, modes=treadle.DEFAULT), "waits")
                thread.perform(self.note, wait=True)
                self.assertEqual(request.get(), "waits")
                self.assertEqual(thread.perform(request.get, wait=True, context=Context()), "none")

    def test_after_a_delay(self) -> None:
        """PERF-12: perform_after(), and perform_on_main()."""
        request.set("delayed")
        treadle.perform_after(0, self.note)
        treadle.perform_after(0, self.note, context=Context())
        treadle.perform_on_main(self.note)
        treadle.perform_on_main(self.note, context=Context())
        request.set("later")
        RunLoop.current().run(seconds=0)
        RunLoop.current().run(seconds=WATCHDOG)
        self.assertEqual(sorted(self.seen), ["delayed", "delayed", "none", "none"])

    def test_threads(self) -> None:
        """PERF-17: perform_in_background() takes the context along; a Thread begins with an empty one, as in threading."""
        over = threading.Event()

        def work(text: str) -> None:
            self.seen.append(f"{text} {request.get()}")
            over.set()

        treadle.perform_in_background(work, "in")
        self.wait(over)
        over.clear()
        treadle.perform_in_background(work, "its own", context=Context())
        self.wait(over)
        for context in (None, copy_context()):
            thread = Thread(work, ("a thread",), context=context)
            thread.start()
            thread.join(WATCHDOG)
        self.assertEqual(self.seen, ["in before", "its own none", "a thread none", "a thread before"])

    def test_tasks(self) -> None:
        """ABI-3: a task's functions see the task's values."""

        async def task(value: str) -> str:
            request.set(value)
            with LoopThread() as worker:
                return await worker.loop.perform(request.get)

        async def main() -> List[str]:
            return await asyncio.gather(*(task(str(number)) for number in range(3)))

        self.assertEqual(asyncio.run(main()), ["0", "1", "2"])
        self.assertEqual(treadle.aio.run(main()), ["0", "1", "2"])

    def test_what_is_refused(self) -> None:
        """ABI-3: a context is a Context."""
        loop, thread = RunLoop.current(), Thread.current()
        for name, hand in self.ways(loop, thread):
            with self.subTest(name), self.assertRaisesRegex(TypeError, "a context is a contextvars.Context"):
                hand(context={})
        self.assertEqual(self.seen, [])


if __name__ == "__main__":
    unittest.main()
