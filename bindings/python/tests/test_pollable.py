# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Another loop, asyncio's, waits for a loop of this thread (ABI-9)."""

from __future__ import annotations

import asyncio
import os
import threading

import treadle

from support import TestCase


class PollableTest(TestCase):
    def test_asyncio_waits_for_the_loop(self) -> None:
        """ABI-9: posts of other threads and timers are served while asyncio's loop runs."""
        loop = treadle.RunLoop.current()
        called: list[int] = []

        async def main() -> None:
            over = asyncio.Event()
            mine = asyncio.get_running_loop()
            fd = loop.open_pollable()
            mine.add_reader(fd, lambda: loop.run(seconds=0, when_empty=True))
            timer = treadle.Timer(lambda timer: called.append(-1), delay=0.001)
            loop.add(timer)

            def post() -> None:
                for number in range(100):
                    loop.post(called.append, number)
                loop.post(over.set)

            thread = threading.Thread(target=post)
            thread.start()
            await asyncio.wait_for(over.wait(), 60)
            while timer.next_fire is not None:
                await asyncio.sleep(0.001)
            thread.join()
            mine.remove_reader(fd)
            os.close(fd)

        asyncio.run(main())
        self.assertEqual([number for number in called if number >= 0], list(range(100)))
        self.assertIn(-1, called)

    def test_errors(self) -> None:
        """ABI-9: the owner alone, and one mode."""
        loop = treadle.RunLoop.current()
        with self.assertRaises(ValueError):
            loop.open_pollable(treadle.COMMON)
        raised: list[BaseException] = []

        def elsewhere() -> None:
            try:
                loop.open_pollable()
            except treadle.WrongThread as error:
                raised.append(error)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        self.assertEqual(len(raised), 1)
