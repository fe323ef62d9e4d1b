# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Sources, timers, observers and descriptors."""

from __future__ import annotations

import copy
import ctypes
import errno
import os
import pickle
import socket
import unittest
from typing import Any, Callable, Dict, List, Tuple

from treadle import (
    COMMON,
    DEFAULT,
    Activity,
    Events,
    FileDescriptor,
    Finish,
    InvalidArgument,
    Item,
    Observer,
    OtherItem,
    RunLoop,
    RunResult,
    Source,
    SystemFailure,
    Timer,
)

from treadle import _capi
from treadle._errors import check
from treadle._library import native

from support import TestCase


class ItemTestCase(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.loop = RunLoop.current()
        self.mode = self.id()

    def added(self, item: Item) -> None:
        """Adds an item to the test's mode, until the test ends."""
        self.loop.add(item, self.mode)
        self.addCleanup(item.invalidate)


class Sources(ItemTestCase):
    def test_the_callback_gets_the_very_object(self) -> None:
        """RL-1, SRC0-3, OBJ-8: source and loop are the objects that the client has."""
        seen: List[Tuple[object, ...]] = []
        source = Source(
            perform=lambda *arguments: seen.append(arguments),
            schedule=lambda *arguments: seen.append(arguments),
            cancel=lambda *arguments: seen.append(arguments),
        )
        self.loop.add(source, COMMON)
        source.signal()
        self.loop.run(DEFAULT, 0)
        source.invalidate()
        self.assertEqual(len(seen), 3)
        self.assertIs(seen[0][0], source)
        self.assertIs(seen[0][1], self.loop)
        self.assertEqual(seen[0][2], DEFAULT)
        self.assertEqual(seen[1], (source,))
        self.assertEqual(seen[2], (source, self.loop, DEFAULT))

    def test_a_signal_without_a_wake(self) -> None:
        """SRC0-6: it is remembered, also before the source is in a mode."""
        performed: List[Source] = []
        source = Source(perform=performed.append)
        source.signal(wake=False)
        self.assertTrue(source.is_signalled)
        self.added(source)
        self.loop.run(self.mode, 0)
        self.assertEqual(performed, [source])


class Observers(ItemTestCase):
    def test_activities_that_do_not_fit(self) -> None:
        """OBS-1: beyond 32 bits they are refused, not cut."""
        numbers: List[Any] = [2**32, 2**32 + 1, 2**40, -(2**32) - 1]
        for activities in numbers:
            with self.assertRaisesRegex(ValueError, f"activities {activities} do not fit"):
                Observer(print, activities=activities)
        self.assertEqual(Observer(print, activities=~Activity.EXIT).activities & Activity.EXIT, Activity(0))


class Descriptors(ItemTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.ours, self.theirs = socket.socketpair()
        for end in (self.ours, self.theirs):
            self.addCleanup(end.close)

    def test_one_shots_and_the_default(self) -> None:
        """SRC1-5, SRC1-9: called in every pass while the descriptor is ready; with oneshot once, until it is enabled again."""
        self.theirs.send(b"a")
        rows: List[Tuple[Dict[str, Any], Events, int]] = [({}, Events.READ, 3), ({"oneshot": False}, Events.READ, 3), ({"oneshot": True}, Events.NONE, 1)]
        for options, left, calls in rows:
            seen: List[Tuple[Events, Events]] = []
            source = FileDescriptor(self.ours, lambda source, events: seen.append((events, source.events)), **options)
            self.added(source)
            for _ in range(3):
                self.loop.run(self.mode, 0)
            self.assertEqual(seen, [(Events.READ, left)] * calls)
            source.enable()
            self.loop.run(self.mode, 0)
            self.assertEqual(len(seen), calls + 1)
            source.invalidate()

    def test_writing_and_pausing(self) -> None:
        """SRC1-2, MODE-7: a paused source stays, and keeps its mode from being empty."""
        seen: List[Events] = []
        source = FileDescriptor(
            self.ours.fileno(), lambda source, events: seen.append(events), Events.WRITE, oneshot=False
        )
        self.added(source)
        self.assertIs(self.loop.run(self.mode, 0, return_after_source_handled=True), RunResult.HANDLED_SOURCE)
        source.disable()
        self.assertIs(self.loop.run(self.mode, 0), RunResult.TIMED_OUT)
        self.assertEqual(seen, [Events.WRITE])
        source.events = Events.READ
        self.assertEqual(source.events, Events.READ)

    def test_bad_descriptors(self) -> None:
        """SRC1-7: negative, closed; other events."""
        for bad in (-1, 100_000):
            with self.assertRaises(InvalidArgument):
                FileDescriptor(bad, lambda source, events: None)
        for events in (Events.NONE, Events.HANGUP, 64):
            with self.assertRaises(InvalidArgument):
                FileDescriptor(self.ours, lambda source, events: None, events)  # type: ignore[arg-type]

    def test_a_descriptor_closed_before_it_is_added(self) -> None:
        """SRC1-8: the system refuses, and its errno is told."""
        self.added(FileDescriptor(self.ours, lambda source, events: None))  # so that the loop needs no new descriptor
        read_end, write_end = os.pipe()
        os.close(write_end)
        source = FileDescriptor(read_end, lambda source, events: None)
        os.close(read_end)
        with self.assertRaises(SystemFailure) as caught:
            self.loop.add(source, self.mode)
        self.assertIsInstance(caught.exception, OSError)
        self.assertEqual(caught.exception.errno, errno.EBADF)

    def test_closing_the_descriptor(self) -> None:
        """OBJ-5: with close_fd, at invalidation or with the last reference; once."""
        for drop in (False, True):
            read_end, write_end = os.pipe()
            os.close(write_end)
            source = FileDescriptor(read_end, lambda source, events: None, close_fd=True)
            self.assertEqual(source.fd, read_end)
            if not drop:
                source.invalidate()
                self.assertEqual(source.fd, -1)
            del source
            with self.assertRaises(OSError):
                os.fstat(read_end)


class BadInput(ItemTestCase):
    def test_callbacks_that_cannot_be_called(self) -> None:
        """ABI-1: refused when the item is made, not when it is called."""
        makers: List[Callable[[], object]] = [
            lambda: Source(perform=1),  # type: ignore[arg-type]
            lambda: Source(schedule="x"),  # type: ignore[arg-type]
            lambda: Source(cancel=[]),  # type: ignore[arg-type]
            lambda: Timer(None),  # type: ignore[arg-type]
            lambda: Observer(None),  # type: ignore[arg-type]
            lambda: FileDescriptor(0, None),  # type: ignore[arg-type]
            Item,
        ]
        for make in makers:
            with self.assertRaises(TypeError):
                make()

    def test_numbers_that_c_would_cut(self) -> None:
        """ABI-7: refused, instead of meaning something else."""
        with self.assertRaises(ValueError):
            Source(order=2**64 + 1)
        with self.assertRaises(TypeError):
            Source(order=1.5)  # type: ignore[arg-type]
        for number in (2**32, 2**31, -(2**32)):
            with self.assertRaises(InvalidArgument):
                FileDescriptor(number, lambda source, events: None)
            with self.assertRaises(InvalidArgument):
                FileDescriptor(0, lambda source, events: None, number + 1)  # type: ignore[arg-type]
        self.assertEqual(Source(order=-(2**63)).order, -(2**63))

    def test_copies(self) -> None:
        """OBJ-1: an object stands for one native object, so it is not copied or pickled."""
        for value in (Source(), Timer(lambda timer: None), self.loop):
            for function in (copy.copy, pickle.dumps):
                with self.assertRaises(TypeError):
                    function(value)


class Listing(ItemTestCase):
    def test_the_items_of_a_loop(self) -> None:
        """OBJ-3, MODE-8: those that Python made are the very objects."""
        source = Source(label="bell")
        timer = Timer(lambda _: None, delay=3600)
        other = ctypes.c_void_p()
        context = _capi.treadle_source_context(label=b"of C")
        context.struct_size = ctypes.sizeof(context)
        check(native.treadle_source_create(context, other))
        self.loop.add(source, self.mode)
        self.loop.add(timer, self.mode)
        self.loop.add(source, "another")
        check(native.treadle_loop_add(self.loop._handle, other, self.mode.encode()))
        self.assertEqual(len(self.loop.items()), 3)
        items = self.loop.items(self.mode)
        self.assertIs(items[2], timer)
        of_c = next(item for item in items if isinstance(item, OtherItem))
        self.assertTrue(any(item is source for item in items))
        self.assertIn('"of C"', repr(of_c))
        self.assertIn(of_c, self.loop.items(self.mode))
        self.assertEqual(self.loop.items("another"), [source])
        self.assertEqual(self.loop.items("unknown"), [])
        self.assertIn(self.mode, self.loop.describe())
        self.assertIn("order 0", source.describe())
        for item in items:
            item.invalidate()
        self.assertEqual(self.loop.items(), [])
        check(native.treadle_release(other))

    def test_counters(self) -> None:
        """RUN-1, RUN-10, SRC0-7: what a loop has done, and why its last run finished."""
        before = self.loop.counters()
        self.assertIs(self.loop.run("nowhere"), RunResult.FINISHED)
        self.assertIs(self.loop.counters().last_finish, Finish.UNKNOWN_MODE)
        source = Source(perform=lambda _: source.invalidate())
        self.loop.add(source, self.mode)
        source.signal()
        self.assertIs(self.loop.run(self.mode), RunResult.FINISHED)
        after = self.loop.counters()
        self.assertIs(after.last_finish, Finish.BECAME_EMPTY)
        self.assertEqual((after.passes - before.passes, after.signals - before.signals), (1, 1))
        self.assertIs(self.loop.run(self.mode), RunResult.FINISHED)
        self.assertIs(self.loop.counters().last_finish, Finish.EMPTY_AT_ONCE)

    def test_many_items(self) -> None:
        """OBJ-2: as many as there are."""
        sources = [Source() for _ in range(100)]
        for source in sources:
            self.loop.add(source, self.mode)
        self.assertEqual(len(self.loop.items(self.mode)), 100)
        for source in sources:
            source.invalidate()


class Conveniences(ItemTestCase):
    def test_decorators(self) -> None:
        """TMR-16, OBS-6, OBJ-3: each makes an item, adds it and gives it back."""
        seen: List[str] = []

        @self.loop.every(0.001, modes=self.mode)
        def ticks(timer: Timer) -> None:
            seen.append("tick")
            if seen.count("tick") == 3:
                timer.invalidate()

        @self.loop.after(0.001, modes=self.mode)
        def once(timer: Timer) -> None:
            seen.append("once")

        @self.loop.on(Activity.ENTRY, repeats=False, modes=self.mode)
        def entry(observer: Observer, activity: Activity) -> None:
            seen.append("entry")

        self.assertIs(self.loop.run(self.mode), RunResult.FINISHED)
        self.assertEqual(sorted(seen), ["entry", "once", "tick", "tick", "tick"])
        self.assertIsInstance(ticks, Timer)
        self.assertFalse(entry.is_valid)
        self.assertIsNone(once.next_fire)


if __name__ == "__main__":
    unittest.main()
