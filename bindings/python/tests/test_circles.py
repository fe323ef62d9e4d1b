# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Waits in a circle: the main thread waits for a thread that waits for it. One of the two is refused, as in C."""

from __future__ import annotations

import ctypes
import os
import threading
import unittest
from functools import partial
from typing import Any, Callable, List, Tuple
from unittest import mock

import treadle
from treadle import DEFAULT, DeadlockError, RunLoop, Scope, Thread
from treadle._host import host
from treadle._library import native

from plugin_support import PluginCase
from support import WATCHDOG, LoopThread, TestCase

_Function = Callable[[], object]
_getpid = ctypes.CDLL(None).getpid


class Circle:
    """A thread that asks the main one, by a call of `back`, while that waits for it."""

    def __init__(self, ask: _Function) -> None:
        self._ask = ask
        self._has_begun = threading.Event()
        self.asks_again = False
        #: What became of the question.
        self.ends: List[str] = []
        self.thread = Thread(name="asks the main thread")
        self.loop = self.thread.loop

    def back(self, *_arguments: object) -> None:
        if self._has_begun.is_set() and not self.asks_again:  # a port's later messages
            return
        self._has_begun.set()
        try:
            self._ask()
            self.ends.append("answered")
        except DeadlockError:
            self.ends.append("refused")
        except Exception as error:
            self.ends.append(repr(error))

    def await_callback(self) -> None:
        assert self._has_begun.wait(WATCHDOG)


# How the main thread waits.


def close_timer(circle: Circle) -> None:
    timer = treadle.Timer(circle.back, delay=0)
    circle.loop.add(timer)
    circle.await_callback()
    timer.close()


def close_source(circle: Circle) -> None:
    source = treadle.Source(perform=circle.back)
    circle.loop.add(source)
    source.signal()
    circle.await_callback()
    source.close()


def close_descriptor(circle: Circle) -> None:
    readable, writable = os.pipe()
    os.write(writable, b"x")
    descriptor = treadle.FileDescriptor(readable, circle.back, oneshot=True)
    circle.loop.add(descriptor)
    circle.await_callback()
    try:
        descriptor.close()
    finally:
        os.close(readable)
        os.close(writable)


def close_closure(circle: Circle) -> None:
    closure = treadle.closure("v", circle.back, loop=circle.loop, delivery="async")
    closure()
    circle.await_callback()
    closure.close()


def close_scope(circle: Circle) -> None:
    scope = Scope("of a timer")
    with scope.entered():
        circle.loop.add(treadle.Timer(circle.back, delay=0))
    circle.await_callback()
    scope.close()


def leave_scope(circle: Circle) -> None:
    with Scope("of a post"):
        circle.loop.post(circle.back)
        circle.await_callback()


def take_result(circle: Circle) -> None:
    circle.loop.perform(circle.back).result()


def take_result_in_time(circle: Circle) -> None:
    circle.loop.perform(circle.back).result(WATCHDOG)


def take_exception(circle: Circle) -> None:
    circle.thread.perform(circle.back).exception()


def perform(circle: Circle) -> None:
    circle.thread.perform(circle.back, wait=True)


def perform_in_mode(circle: Circle) -> None:
    circle.thread.perform(circle.back, wait=True, modes=[DEFAULT])


def invoke(circle: Circle) -> None:
    circle.loop.invoke(treadle.closure("v", circle.back).pointer)


def take_result_of_invocation(circle: Circle) -> None:
    circle.loop.invoke(treadle.closure("v", circle.back).pointer, wait=False).result()


def join(circle: Circle) -> None:
    thread = Thread(circle.back)
    thread.start()
    circle.await_callback()
    try:
        thread.join()
    except DeadlockError:
        serve_until(lambda: bool(circle.ends))
        thread.join()
        raise


def stop_and_join(circle: Circle) -> None:
    thread = Thread(circle.back)
    thread.start()
    circle.await_callback()
    try:
        thread.stop_and_join()
    except DeadlockError:
        serve_until(lambda: bool(circle.ends))
        thread.join()
        raise


def call_closure(circle: Circle) -> None:
    treadle.closure("v", circle.back, loop=circle.loop, delivery="sync")()


def close_observer(circle: Circle) -> None:
    observer = treadle.Observer(circle.back, treadle.Activity.BEFORE_TIMERS, repeats=False)
    circle.loop.add(observer)
    circle.loop.wake_up()
    circle.await_callback()
    observer.close()


def close_port(circle: Circle) -> None:
    port = treadle.Port(circle.back)
    circle.loop.add(port)
    port.send(b"received")
    circle.await_callback()
    port.close()


def close_message_port(circle: Circle) -> None:
    name = f"treadle.circles.{os.getpid()}.{id(circle)}"
    port = treadle.MessagePort.local(name, circle.back)
    circle.loop.add(port)
    treadle.MessagePort.remote(name).send(b"received")
    circle.await_callback()
    port.close()


def start_and_wait(circle: Circle) -> None:
    thread = Thread(circle.back)
    try:
        thread.start_and_wait()
    except DeadlockError:
        raise
    except treadle.Error:  # it was refused, and has ended without being ready
        pass
    finally:
        serve_until(lambda: bool(circle.ends))
        thread.join()


def send(circle: Circle) -> None:
    port = treadle.Port(circle.back, capacity=1)
    circle.loop.add(port)
    port.send(b"received")
    circle.await_callback()
    try:
        port.send(b"waits")
        port.send(b"waits for room")
    finally:
        port.invalidate()


#: How the other thread waits for the main one.
ASKING: List[_Function] = [
    lambda: Thread.main().perform(int, wait=True),
    lambda: Thread.main().perform(int, wait=True, modes=[DEFAULT]),
    lambda: RunLoop.main().invoke(_getpid),
    lambda: RunLoop.main().invoke(_getpid, wait=False).result(),
    lambda: RunLoop.main().perform(int).result(),
    lambda: Thread.main().invoke(_getpid, timeout=WATCHDOG),
]
WAITING: List[Callable[[Circle], None]] = [
    close_timer, close_source, close_descriptor, close_closure, close_scope, leave_scope, take_result,
    take_result_in_time, take_exception, perform, perform_in_mode, invoke, take_result_of_invocation, join,
    start_and_wait, send, stop_and_join, call_closure, close_observer, close_port, close_message_port,
]  # fmt: skip


def serve_until(is_over: Callable[[], bool]) -> None:
    """The main thread runs its loop."""
    while not is_over():
        RunLoop.main().run(seconds=0.001, when_empty=True)


def play(wait: Callable[[Circle], None], ask: _Function) -> Tuple[bool, List[str]]:
    """Whether the wait was refused, and what became of the question."""
    circle = Circle(ask)
    circle.thread.start()
    was_refused = False
    try:
        wait(circle)
    except DeadlockError:
        was_refused = True
    serve_until(lambda: bool(circle.ends))
    circle.thread.stop_and_join(WATCHDOG)
    return was_refused, circle.ends


class Circles(TestCase):
    def test_of_the_main_thread(self) -> None:
        """PERF-7, OBJ-6: whatever the two wait for, exactly one is refused, and the other one's wait ends."""
        self.assertIs(Thread.current(), Thread.main())
        for wait in WAITING:
            for number, ask in enumerate(ASKING):
                with self.subTest(wait.__name__, ask=number):
                    self.watch()
                    was_refused, ends = play(wait, ask)
                    self.assertEqual(ends, ["answered" if was_refused else "refused"])

    def test_a_refused_request_is_refused_whoever_drains(self) -> None:
        """PERF-7: the library gives the token of a refused request back; another thread may see that before the caller knows."""
        perform = native.treadle_perform

        def perform_and_drain(*arguments: Any) -> int:
            status: int = perform(*arguments)
            host.drain()
            return status

        with mock.patch.object(native, "treadle_perform", perform_and_drain):
            was_refused, ends = play(take_result, ASKING[0])
        self.assertEqual((was_refused, ends), (False, ["refused"]))

    def test_of_three(self) -> None:
        """PERF-7: a circle of the main thread and two others."""
        second = Circle(lambda: Thread.main().perform(int, wait=True))
        second.asks_again = True
        second.thread.start()
        asks: List[_Function] = [
            lambda: second.loop.perform(second.back).result(),
            lambda: second.thread.perform(second.back, wait=True),
        ]
        for ask in asks:
            second.ends.clear()
            first = Circle(ask)
            first.thread.start()
            was_refused = False
            try:
                first.loop.perform(first.back).result()
            except DeadlockError:
                was_refused = True
            serve_until(lambda: bool(first.ends and second.ends))
            first.thread.stop_and_join(WATCHDOG)
            refusals = (first.ends + second.ends).count("refused") + was_refused
            self.assertEqual(refusals, 1)
        second.thread.stop_and_join(WATCHDOG)

    def test_no_circle(self) -> None:
        """PERF-7: a thread that has ended a wait may wait for its waiter at once."""
        circle = Circle(lambda: None)
        circle.thread.start()
        answers: List[Any] = []

        def ask_main() -> None:
            answers.append(Thread.main().perform(int, wait=True))

        def answer(number: int) -> int:
            circle.loop.post(ask_main)  # in the next pass
            return number

        for number in range(300):
            if number % 2:
                self.assertEqual(circle.loop.perform(answer, number).result(), number)
            else:
                self.assertEqual(circle.thread.perform(answer, number, wait=True), number)
            serve_until(lambda: bool(answers))
            answers.clear()
        circle.thread.stop_and_join(WATCHDOG)


class CirclesOfPlugins(PluginCase):
    """The code of a plugin waits: its end ends what it waits for, and it is refused like any other code."""

    SOURCE = """
        import treadle
        ID, VERSION, OPTIONAL = "org.example.waiting", "1", ["example.trace/1"]
        def through(function): return function()
        def init(host): return host
        def start(host):
            trace = host.extension("example.trace/1")
            trace.append(through)
            def tick(timer):
                if len(trace) == 2: trace[1]()
            treadle.RunLoop.current().every(0.001)(tick)
    """

    def test_of_the_main_thread(self) -> None:
        """PERF-7, PLUG-4: whatever the main thread waits for, its wait or that of the plugin's code is refused."""
        with self.load(self.SOURCE) as plugin:
            plugin.start()
            through = self.trace[0]
            for wait in WAITING:
                for number, ask in enumerate(ASKING):
                    with self.subTest(wait.__name__, ask=number):
                        self.watch()
                        was_refused, ends = play(wait, partial(through, ask))
                        self.assertEqual(ends, ["answered" if was_refused else "refused"])

    def test_of_two_plugins(self) -> None:
        """PERF-7: two threads wait for each other, both in a plugin's code."""
        with self.load(self.SOURCE) as plugin:
            plugin.start()
            through = self.trace[0]
            with LoopThread() as first, LoopThread() as second:
                meeting = threading.Barrier(2)

                def ask(other: RunLoop) -> object:
                    meeting.wait(WATCHDOG)
                    try:
                        return through(other.perform(int).result)
                    except DeadlockError:
                        return "refused"

                for _ in range(20):
                    asked = [first.loop.perform(ask, second.loop), second.loop.perform(ask, first.loop)]
                    answers = [future.result(WATCHDOG) for future in asked]
                    self.assertEqual(answers.count("refused"), 1)

    def test_of_its_close(self) -> None:
        """PERF-7, PLUG-4: its code waits for something of the program's on the thread that closes it: it is refused, and the
        close goes on."""
        for is_closed_by_c in (False, True):
            self.trace.clear()
            plugin = self.load(self.SOURCE)
            with LoopThread() as worker:
                worker.loop.perform(plugin.start).result()
                future = RunLoop.main().perform(int)
                ends: List[str] = []
                has_begun = threading.Event()

                def wait() -> None:
                    if has_begun.is_set():
                        return
                    has_begun.set()
                    try:
                        future.result()
                    except DeadlockError:
                        ends.append("refused")

                self.trace.append(wait)
                self.assertTrue(has_begun.wait(WATCHDOG))
                if is_closed_by_c:
                    self.assertEqual(native.treadle_close(plugin._handle, treadle._capi.FOREVER), 0)
                else:
                    self.assertTrue(plugin.close())
                self.assertEqual(ends, ["refused"])
                serve_until(future.done)


if __name__ == "__main__":
    unittest.main()
