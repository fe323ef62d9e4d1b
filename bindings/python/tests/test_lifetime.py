# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Who keeps whom alive, and that nothing stays behind."""

from __future__ import annotations

import gc
import os
import socket
import threading
import tracemalloc
import unittest
import weakref
from typing import Any, Callable, List

from treadle import (
    COMMON,
    DEFAULT,
    Activity,
    FileDescriptor,
    Item,
    Observer,
    RunLoop,
    RunResult,
    Source,
    Timer,
    _registry,
)
from treadle._host import host
from treadle._library import native

from support import SLOW, LoopThread, TestCase, in_thread


def nothing(*_arguments: object) -> None:
    pass


def resident_kilobytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


class References(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.loop = RunLoop.current()
        self.mode = self.id()
        end, other = socket.socketpair()
        self.addCleanup(end.close)
        self.addCleanup(other.close)
        self.makers: List[Callable[[], Item]] = [
            lambda: Source(perform=nothing, schedule=nothing, cancel=nothing),
            lambda: Timer(nothing, interval=1000),
            lambda: Observer(nothing),
            lambda: FileDescriptor(end, nothing),
        ]

    def test_what_is_in_no_loop_goes_with_its_last_reference(self) -> None:
        """OBJ-4, ABI-2: the native object is gone too, and the token is forgotten."""
        for make in self.makers:
            item = make()
            handle = item._handle
            reference = weakref.ref(item)
            self.assertTrue(native.treadle_is_valid(handle))
            del item
            self.assertIsNone(reference())
            self.assertFalse(native.treadle_is_valid(handle))
        host.drain()

    def test_cycles_through_the_callback_are_collected(self) -> None:
        """OBJ-4: an object that holds its source, whose callback is a method of the object."""

        class Owner:
            def __init__(self) -> None:
                self.source = Source(perform=self.perform)

            def perform(self, source: Source) -> None:
                pass

        reference = weakref.ref(Owner())
        gc.collect()
        self.assertIsNone(reference())

    def test_a_loop_holds_its_items(self) -> None:
        """OBJ-3: attributes and all, without a variable in Python; until it is removed or invalidated."""
        for make in self.makers:
            ends: List[Callable[[Item], object]] = [
                lambda item: self.loop.remove(item, self.mode),
                lambda item: item.invalidate(),
            ]
            for end in ends:
                item = make()
                item.label = "mine"
                self.loop.add(item, self.mode)
                reference = weakref.ref(item)
                del item
                gc.collect()
                again = reference()
                assert again is not None
                self.assertEqual(again.label, "mine")
                end(again)
                del again
                self.assertIsNone(reference())

    def test_common_items_are_held_once_for_all(self) -> None:
        """OBJ-3, MODE-8: leaving the common set lets go, leaving one of its modes does not."""
        source = Source()
        reference = weakref.ref(source)
        self.loop.add(source, COMMON)
        self.loop.add(source, self.mode)
        self.loop.remove(source, DEFAULT)
        del source
        for mode in (COMMON, self.mode):
            held = reference()
            assert held is not None
            self.loop.remove(held, mode)
            del held
        self.assertIsNone(reference())

    def test_the_same_object_comes_back(self) -> None:
        """OBJ-3: also when Python has forgotten it meanwhile."""
        seen: List[Any] = []
        timer = Timer(lambda timer: seen.append(timer))
        identity = id(timer)
        timer.label = "marked"
        self.loop.add(timer, self.mode)
        del timer
        gc.collect()
        self.loop.run(self.mode)
        self.assertEqual((id(seen[0]), seen[0].label), (identity, "marked"))

    def test_a_one_shot_is_let_go_after_it_fired(self) -> None:
        """ABI-2, TMR-7, OBS-6: its token is retired, and taken at the next entry."""
        timer = Timer(nothing)
        observer = Observer(nothing, Activity.ENTRY, repeats=False)
        references: List[weakref.ref[Any]] = [weakref.ref(timer), weakref.ref(observer)]
        self.loop.add(timer, self.mode)
        self.loop.add(observer, self.mode)
        del timer, observer
        self.assertIs(self.loop.run(self.mode), RunResult.FINISHED)
        self.assertEqual([reference() for reference in references], [None, None])

    def test_a_callback_may_drop_and_invalidate_itself(self) -> None:
        """OBJ-3: the object lives until its callback returns."""
        held: List[Any] = []

        def perform(source: Source) -> None:
            held.clear()
            source.invalidate()
            del source
            gc.collect()

        held.append(Source(perform=perform))
        reference = weakref.ref(held[0])
        self.loop.add(held[0], self.mode)
        held[0].signal()
        self.loop.run(self.mode, 0)
        self.assertIsNone(reference())

    def test_the_end_of_a_thread(self) -> None:
        """RL-8, OBJ-3: cancel on the ending thread; items stay valid and can be used elsewhere."""
        cancelled: List[int] = []
        source = Source(cancel=lambda source, loop, mode: cancelled.append(threading.get_ident()))
        timer = Timer(nothing, interval=1000)
        reference = weakref.ref(Source(label="in another thread's loop only"))

        def body() -> int:
            nonlocal reference
            loop = RunLoop.current()
            loop.add(source, COMMON)
            loop.add(timer)
            dropped = Source()
            loop.add(dropped)
            reference = weakref.ref(dropped)
            return threading.get_ident()

        self.assertEqual([in_thread(body)], cancelled)
        self.assertTrue(source.is_valid and timer.is_valid)
        self.assertIsNone(reference())
        for item in (source, timer):
            self.assertTrue(self.loop.add(item, self.mode))
            item.invalidate()

    def test_a_loop_goes_with_its_thread(self) -> None:
        """RL-8, RL-9: and no object of the package stays behind."""
        reference = weakref.ref(in_thread(RunLoop.current))
        gc.collect()
        self.assertIsNone(reference())


class Leaks(TestCase):
    COUNT = 100_000 if SLOW else 5_000

    def sizes(self) -> List[int]:
        host.drain()
        gc.collect()
        tables: Any = (_registry.items, _registry.held, _registry.posts, _registry.calls, _registry.alive, RunLoop.current()._held)
        return [*map(len, tables), len(os.listdir("/proc/self/fd"))]

    def check(self, once: Callable[[], object]) -> None:
        for _ in range(2000):
            once()
        before, resident = self.sizes(), resident_kilobytes()
        tracemalloc.start()
        try:
            traced = tracemalloc.get_traced_memory()[0]
            for _ in range(500):
                once()
            gc.collect()
            self.assertLess(tracemalloc.get_traced_memory()[0] - traced, 20_000)
        finally:
            tracemalloc.stop()
        for _ in range(self.COUNT):
            once()
        self.assertEqual(self.sizes(), before)
        self.assertLess(resident_kilobytes() - resident, 4096)

    def test_nothing_stays_behind(self) -> None:
        """ABI-2, ABI-3, BLK-1, OBJ-4, OBS-8, SRC1-10, TMR-7: of what is created and dropped, added and removed, fired, performed,
        refused or raised."""
        loop, gone = RunLoop.current(), in_thread(RunLoop.current)
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, read_end)
        self.addCleanup(os.close, write_end)

        def schedule_source() -> None:
            with Source(perform=nothing) as source:
                loop.add(source, COMMON)

        def fire_timer() -> None:
            loop.add(Timer(nothing), "leaks")
            loop.run("leaks", 0)

        def observe_and_watch() -> None:
            observer = Observer(nothing)
            loop.add(observer, "leaks")
            loop.remove(observer, "leaks")
            descriptor = FileDescriptor(read_end, nothing)
            loop.add(descriptor, "leaks")
            descriptor.close()

        def perform() -> None:
            future = loop.perform(int, "1", modes=["leaks"])
            loop.run("leaks", 0)
            assert future.result() == 1
            assert gone.perform(int).exception() is not None

        def raise_and_catch() -> None:
            failing.signal(wake=False)
            try:
                loop.run("failing", 0)
            except ZeroDivisionError:
                pass

        with Source(perform=lambda source: 1 / 0) as failing:
            loop.add(failing, "failing")
            for once in (lambda: Source(perform=nothing), schedule_source, fire_timer, observe_and_watch, perform, raise_and_catch):
                with self.subTest(once.__name__):
                    self.watch()
                    self.check(once)


class Threads(TestCase):
    def test_threads_leave_nothing(self) -> None:
        """RL-8: 500 threads that run their loop and end."""

        def body() -> None:
            loop = RunLoop.current()
            loop.add(Timer(nothing))
            loop.run()

        for _ in range(20):
            in_thread(body)
        gc.collect()
        before = (
            len(_registry.alive),
            len(_registry.loops),
            len(os.listdir("/proc/self/fd")),
            threading.active_count(),
        )
        for _ in range(500):
            in_thread(body)
        gc.collect()
        after = (len(_registry.alive), len(_registry.loops), len(os.listdir("/proc/self/fd")), threading.active_count())
        self.assertEqual(after, before)

    def test_a_loop_thread_ends(self) -> None:
        """RL-9: a loop whose thread is gone stays safe to use."""
        with LoopThread() as worker:
            pass
        loop = worker.loop
        loop.wake_up()
        loop.stop()
        self.assertFalse(loop.is_waiting)
        self.assertFalse(loop.add(Source()))
        self.assertIsNone(loop.thread_id)


if __name__ == "__main__":
    unittest.main()
