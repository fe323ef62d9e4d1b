# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Signalled sources, which are performed one behind the other at one call of the library."""

from __future__ import annotations

import gc
import threading
import unittest
from typing import Callable, List

from treadle import Mode, RunLoop, Source, _frames, _registry

from support import LoopThread, TestCase

M = Mode("many")


class ManyAtATime(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.loop = RunLoop.current()
        self.seen: List[object] = []
        self.sources: List[Source] = []
        self.addCleanup(self.end_all)

    def end_all(self) -> None:
        for source in self.sources:
            source.invalidate()

    def signalled(self, perform: Callable[[Source], object], order: int = 0) -> Source:
        source = Source(perform=perform, order=order)
        self.sources.append(source)
        self.loop.add(source, M)
        source.signal()
        return source

    def test_one_ends_another(self) -> None:
        """SRC0-7: a source that an earlier one invalidates, removes or collects is not performed."""
        first = self.signalled(lambda source: end(), -1)
        second = self.signalled(lambda source: self.seen.append(2))
        third = self.signalled(lambda source: self.seen.append(3))
        self.signalled(lambda source: self.seen.append(4))

        def end() -> None:
            second.invalidate()
            self.loop.remove(third, M)
            first.signal()

        self.loop.run(M, 0)
        self.assertEqual(self.seen, [4])
        self.assertTrue(first.is_signalled and third.is_signalled)

    def test_the_last_reference_goes_in_the_callback(self) -> None:
        """OBJ-4: the others are performed all the same, and nothing stays behind."""
        gc.collect()
        before = len(_registry.items), len(_registry.held)

        def perform(source: Source) -> None:
            self.seen.append(source.order)
            self.sources.remove(source)
            source.invalidate()

        for order in range(20):
            self.signalled(perform, order)
        self.loop.run(M, 0)
        self.assertEqual(self.seen, list(range(20)))
        self.assertEqual((len(_registry.items), len(_registry.held)), before)

    def test_a_failure_inside_of_a_callback(self) -> None:
        """ABI-3: when the run is to end for an exception of a deeper callback, the sources behind wait."""

        def perform(source: Source) -> None:
            frame = _frames.innermost()
            assert frame is not None
            frame.fail(ZeroDivisionError())  # as the hook does that finds an exception which nobody could catch

        self.signalled(perform)
        self.signalled(lambda source: self.seen.append(2))
        with self.assertRaises(ZeroDivisionError):
            self.loop.run(M, 0)
        self.assertEqual(self.seen, [])
        self.loop.run(M, 0)
        self.assertEqual(self.seen, [2])

    def test_removing_from_another_thread(self) -> None:
        """SRC0-10, OBJ-8: sources come and go while they are performed; each signal counts once at most."""
        count, performed = 400, [0]

        def perform(source: Source) -> None:
            performed[0] += 1

        with LoopThread() as worker:

            def churn() -> None:
                for _ in range(count):
                    sources = [Source(perform=perform) for _ in range(5)]
                    for source in sources:
                        worker.loop.add(source)
                        source.signal()
                    for source in sources[:4]:
                        worker.loop.remove(source)
                    del source, sources
                    worker.loop.perform(int).result()

            threads = [threading.Thread(target=churn) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertGreaterEqual(performed[0], 3 * count)
        self.assertLessEqual(performed[0], 3 * count * 5)

if __name__ == "__main__":
    unittest.main()
