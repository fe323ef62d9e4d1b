# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Places of the package that look at one word after they have written another, in each order of their bytecodes."""

from __future__ import annotations

import asyncio
import ctypes
import unittest
from typing import Any, Callable, List
from unittest import mock

import treadle
import treadle.aio
from treadle import LoopClosed, RunLoop, Source, _capi, _future, _host, _last_resort, _library, _registry
from treadle._future import Future
from treadle._invocation import Function, Invocation
from treadle._types import InvocationState
from treadle.aio import _turns

from support import LoopThread, TestCase
from switches import Overlay, Scene, Switches, explore


class TheChooser(TestCase):
    """The tests' own means finds what it is for."""

    def test_a_wait_that_nobody_ends(self) -> None:
        """Of two that wait for each other the schedules fail, with the places of both."""
        words = [0, 0]

        def scene(switches: Switches) -> Scene:
            def wait_and_write(own: int) -> None:
                switches.wait(lambda: words[1 - own])
                words[own] = 1

            return [lambda: wait_and_write(0), lambda: wait_and_write(1)], lambda: None

        with self.assertRaisesRegex(AssertionError, "all threads wait"):
            explore(scene)

    def test_a_lost_value(self) -> None:
        """What is read, and written later, is lost with one preemption, and not without."""
        future: "Future[int]" = Future(RunLoop.current())

        def scene(switches: Switches) -> Scene:
            lock = switches.lock()
            counts = [0]

            def add() -> None:
                count = counts[0]
                future._refuse_forked()  # some bytecodes of the package
                counts[0] = count + 1

            def add_locked() -> None:
                with lock:
                    add()

            def check() -> None:
                self.assertEqual(counts[0], 2)

            return [add_locked if is_locked else add] * 2, check

        is_locked = False
        explore(scene, 0)
        with self.assertRaisesRegex(AssertionError, "1 != 2"):
            explore(scene, 1)
        is_locked = True
        self.assertGreater(explore(scene, 2), 3)


class Switching(TestCase):
    """What scenes need."""

    def replace(self, owner: Any, name: str, value: Any) -> None:
        patch = mock.patch.object(owner, name, value)
        patch.start()
        self.addCleanup(patch.stop)

    def lend(self, switches: Switches) -> None:
        """The registry's lock is one of the schedule's."""
        self.replace(_registry, "lock", switches.lock())


class Loops(Switching):
    def play(self, producers: int, turns: int, preemptions: int) -> None:
        self.replace(_turns, "_LONGEST", float("inf"))
        event_loop = treadle.aio.EventLoop()
        self.addCleanup(event_loop.close)
        source = event_loop._turns.source
        RunLoop.current().add(source)
        called: List[int] = []

        def scene(switches: Switches) -> Scene:
            RunLoop.current().run(seconds=0)
            event_loop._turns._selector._pause = 0
            called.clear()
            if turns:
                event_loop._ready.append(asyncio.Handle(called.append, (0,), event_loop))

            def check() -> None:
                is_asleep = not source.is_signalled
                self.assertFalse(event_loop._ready and is_asleep, "the loop sleeps, with something in its queue")
                RunLoop.current().run(seconds=0)
                self.assertEqual(len(called), producers + turns)

            produce = [lambda: event_loop.call_soon_threadsafe(called.append, 1)] * producers
            return produce + [event_loop._turns._perform] * turns, check

        self.assertGreater(explore(scene, preemptions), 1)

    def test_two_that_call_soon(self) -> None:
        """Of several threads that call call_soon_threadsafe one wakes the loop."""
        self.play(2, 0, 2)
        self.play(3, 0, 1)

    def test_calling_soon_at_the_end_of_a_turn(self) -> None:
        """Either a turn of asyncio takes what comes at its end, or the loop is woken."""
        self.play(1, 1, 2)
        self.play(2, 1, 1)

    def test_performing_at_the_end_of_a_loop(self) -> None:
        """PERF-7: a function that is given to a loop whose thread ends is discarded, whoever comes first."""

        def scene(switches: Switches) -> Scene:
            self.lend(switches)
            thread = treadle.Thread(int)
            loop = thread.loop
            futures: List[Any] = []

            def check() -> None:
                self.assertIsInstance(futures[0].exception(0), LoopClosed)

            return [lambda: futures.append(loop.perform(int)), thread._held.drop], check

        self.assertGreater(explore(scene), 10)

    def test_asking_for_the_loop_of_a_thread_that_ends(self) -> None:
        """The loop that a thread's object gives while the thread ends has ended, too: nobody waits for it for ever."""

        def scene(switches: Switches) -> Scene:
            self.lend(switches)
            thread = treadle.Thread(int)
            loops: List[RunLoop] = []

            def check() -> None:
                self.assertTrue(loops[0]._has_ended)
                self.assertNotIn(loops[0]._handle, _registry.alive)

            return [lambda: loops.append(thread.loop), thread._held.drop], check

        self.assertGreater(explore(scene), 10)


class Waits(Switching):
    def play(self, end: "Callable[[Future[int]], Callable[[], object]]", preemptions: int) -> None:
        """Two wait for a Future while a third thread ends the wait."""
        with LoopThread() as worker:
            worker.loop.perform(RunLoop.current).result()  # which tells its end

            def scene(switches: Switches) -> Scene:
                def wait(_loop: int, word: Any, timeout: int) -> int:
                    self.assertEqual(timeout, _capi.FOREVER)
                    switches.wait(lambda: word.value)
                    return _capi.OK

                loop = worker.loop._handle
                native = Overlay(_library.native, treadle_host_wait=wait, treadle_loop_current=lambda: loop)
                self.replace(_future, "native", native)
                self.replace(_host.host, "left", 0)
                future: "Future[int]" = Future(worker.loop)
                worker.loop._pending[0] = _future.Block(0, worker.loop, int, (), {}, mock.Mock())
                worker.loop._pending[0].future = future  # type: ignore[attr-defined]
                ends: List[object] = []

                def ask() -> None:
                    try:
                        ends.append(future.result())
                    except LoopClosed:
                        ends.append(None)

                def check() -> None:
                    self.assertEqual(len(ends), 2)

                return [ask, ask, end(future)], check

            try:
                self.assertGreater(explore(scene, preemptions), 10)
            finally:
                worker.loop._pending.pop(0, None)

    def test_the_end_of_a_function(self) -> None:
        """PERF-7: no waiter of a Future misses its end."""
        self.play(lambda future: lambda: future.set_result(1), 1)

    def test_the_main_thread_leaves(self) -> None:
        """A waiter for the main thread's loop is told that the program ends."""
        self.play(lambda future: _future.leave, 1)

    def test_awaiting_what_ends(self) -> None:
        """A task that begins to await a source while that is invalidated is told."""
        event_loop = asyncio.new_event_loop()
        self.addCleanup(event_loop.close)

        def scene(switches: Switches) -> Scene:
            self.lend(switches)
            source = Source()
            RunLoop.current().add(source)
            event_loop._ready.clear()  # type: ignore[attr-defined]
            told: List[object] = []
            waiting = source._wait()

            def begin() -> None:
                asyncio._set_running_loop(event_loop)
                try:
                    waiting.send(None)
                except LoopClosed:
                    told.append(None)
                finally:
                    asyncio._set_running_loop(None)

            def check() -> None:
                waiting.close()
                self.assertTrue(told or event_loop._ready)  # type: ignore[attr-defined]

            return [begin, source.invalidate], check

        self.assertGreater(explore(scene, 2), 10)


class Tables(Switching):
    def test_arguments_of_calls(self) -> None:
        """What a C function was given is let go by who waits no more, or by the end of the function."""
        function = ctypes.CDLL(None).getpid

        def scene(switches: Switches) -> Scene:
            invocation = Invocation(RunLoop.current(), Function(function, (), None))
            state = InvocationState.RUNNING
            invocation._reached = lambda: state  # type: ignore[method-assign]

            def end() -> None:
                nonlocal state
                state = InvocationState.DONE
                invocation._let_go()

            def check() -> None:
                self.assertNotIn(invocation, _registry.lingering)

            return [invocation._let_go, invocation._let_go, end], check

        self.assertGreater(explore(scene), 10)

    def test_values_of_a_thread_that_ends(self) -> None:
        """THR-9: the dictionary of a thread that has finished is empty, and refuses to be changed."""

        def scene(switches: Switches) -> Scene:
            values = treadle.Thread(int).dictionary
            values["first"] = values["second"] = 1

            def write() -> None:
                try:
                    values["late"] = 1
                except treadle.Error:
                    pass

            def check() -> None:
                self.assertEqual(len(values), 0)

            return [write, values._close, lambda: values.pop("first", None)], check

        self.assertGreater(explore(scene), 10)

    def test_two_that_set_the_last_resort(self) -> None:
        """THR-19: the handler that the library has is the one that is called, whoever else takes his back."""
        self.addCleanup(treadle.set_last_resort, None)

        def scene(switches: Switches) -> Scene:
            changed = Overlay(switches.lock(), notify_all=lambda: None)
            Overlay.__enter__, Overlay.__exit__ = (  # type: ignore[attr-defined]
                lambda self: self._original.__enter__(),
                lambda self, *error: self._original.__exit__(*error),
            )
            self.replace(_last_resort, "_changed", changed)
            treadle.set_last_resort(lambda arguments: True)

            def check() -> None:
                if _library.native.treadle_has_last_resort():
                    self.assertEqual(_library.native.treadle_report_error(b"an error", b"of nobody"), _capi.OK)

            own: Callable[[Any], bool] = lambda arguments: True
            return [lambda: treadle.set_last_resort(None), lambda: treadle.set_last_resort(own)], check

        self.assertGreater(explore(scene), 10)


if __name__ == "__main__":
    unittest.main()
