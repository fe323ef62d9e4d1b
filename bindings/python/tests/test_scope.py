# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Scopes: what is made inside of one ends with it."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import sys
import threading
import unittest
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

import treadle
from treadle import (
    Activity,
    FileDescriptor,
    LoopClosed,
    Notification,
    Observer,
    RunLoop,
    RunResult,
    Scope,
    Source,
    StaleHandle,
    Thread,
    Timeout,
    Timer,
    _registry,
)

from support import WATCHDOG, LoopThread, TestCase, eventually, in_thread

libc = ctypes.CDLL(None)
#: A mode that nobody runs.
NEVER = "a mode that nobody runs"


def makers(loop: RunLoop, called: Callable[..., Any]) -> Dict[str, Callable[[], Any]]:
    """How to make one of each kind, which calls `called` as soon as the loop runs NEVER, or at once."""

    def added(item: Any) -> Any:
        loop.add(item, NEVER)
        return item

    def signalled() -> Source:
        source = Source(perform=called, label="a source")
        loop.add(source, NEVER)
        source.signal()
        return source

    def started() -> Thread:
        thread = Thread(called)
        thread.start()
        return thread

    def told(_name: Notification, _thread: Optional[Thread]) -> None:
        called()

    return {
        "source": signalled,
        "timer": lambda: added(Timer(called, delay=0, label="a timer")),
        "observer": lambda: added(Observer(lambda observer, activity: called(), Activity.ENTRY, label="an observer")),
        "descriptor": lambda: added(FileDescriptor(os.dup(0), called, close_fd=True, label="a descriptor")),
        "post": lambda: loop.perform(called, modes=NEVER),
        "request": lambda: Thread.current().perform(called, modes=NEVER),
        "delayed": lambda: treadle.perform_after(0, called, modes=NEVER),
        "invocation": lambda: loop.invoke(libc.abs, -1, wait=False, modes=NEVER),
        "closure": lambda: treadle.closure("v", called, loop=loop, delivery="async", modes=NEVER),
        "thread": started,
        "notification": lambda: treadle.notifications.add(Notification.THREAD_WILL_EXIT, told),
        "pooled": lambda: treadle.pool.add(called),
        "scope": lambda: Scope("an inner one"),
    }


class Silence:
    """What Python could not raise, while this is open."""

    def __init__(self, test: unittest.TestCase) -> None:
        self.told: List[Any] = []
        previous = sys.unraisablehook
        sys.unraisablehook = self.told.append
        test.addCleanup(setattr, sys, "unraisablehook", previous)


class Ending(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.loop = RunLoop.current()
        self.silence = Silence(self)

    def tearDown(self) -> None:
        gc.collect()
        self.assertEqual(self.silence.told, [])
        # What was queued has left its place only.
        self.loop.run(NEVER, 0)
        self.assertEqual(self.loop.run(NEVER, 0), RunResult.FINISHED)

    def test_everything_that_was_forgotten_ends_with_its_scope(self) -> None:
        """SCOPE-1, SCOPE-2: of every kind; nothing is called but what ends so, and nothing keeps its function."""
        tables = (_registry.calls, _registry.posts, _registry.closures, _registry.registrations, _registry.held)
        before = [len(table) for table in tables]
        functions: List["weakref.ref[Any]"] = []
        calls: List[str] = []

        def forget(name: str, times: int) -> None:
            def called(*_arguments: object) -> None:
                calls.append(name)

            functions.append(weakref.ref(called))
            for _ in range(times):
                makers(self.loop, called)[name]()

        with Scope("everything") as scope:
            for name in makers(self.loop, print):
                forget(name, 3)
            self.assertTrue(scope.is_valid)
            self.assertTrue(eventually(lambda: calls.count("thread") == 3))
            kinds = {holder.kind for holder in scope.holders()}
            # Items in no loop, threads that have ended: what nobody holds has ended before.
            self.assertLessEqual({"source", "timer", "observer", "descriptor", "post", "request", "pooled"}, kinds)
        self.assertEqual((scope.is_valid, scope.is_closed, scope.holders()), (False, True, []))
        # The notification is one of the ends of these very threads.
        self.assertEqual([name for name in calls if name not in ("thread", "notification")], ["pooled"] * 3)
        # The end of an invocation is told by the loop.
        self.loop.run(seconds=0)
        gc.collect()
        self.assertEqual([reference() for reference in functions], [None] * len(functions))
        self.assertEqual([len(table) for table in tables], before)
        self.assertEqual(self.loop._held, {})

    def test_what_somebody_keeps_is_ended_too(self) -> None:
        """SCOPE-2: it says so, refuses to be used, may be ended again, and goes away in silence."""
        kept: Dict[str, Any] = {}
        with Scope() as scope:
            for name, make in makers(self.loop, lambda *_arguments: None).items():
                kept[name] = make()
        descriptor = kept["descriptor"]
        self.assertEqual(descriptor.fd, -1)
        for name in ("source", "timer", "observer", "descriptor", "delayed"):
            item = kept[name]
            self.assertFalse(item.is_valid)
            self.assertIn("invalid", repr(item))
            for use in (lambda: self.loop.add(item, NEVER), item.describe, lambda: self.loop.remove(item, NEVER)):
                with self.assertRaises(StaleHandle):
                    use()
            self.assertFalse(self.loop.contains(item, NEVER))
            item.invalidate()
            item.close()
        uses: List[Callable[[], object]] = [
            kept["source"].signal,
            lambda: kept["timer"].next_fire,
            lambda: kept["timer"].arm(1),
            lambda: kept["observer"].activities,
            descriptor.enable,
            lambda: kept["closure"].info,
            lambda: kept["invocation"].state,
            lambda: kept["thread"].state,
            kept["thread"].cancel,
            kept["thread"].start,
            kept["scope"].enter,
            kept["scope"].leave,
        ]
        for use in uses:
            with self.assertRaises(StaleHandle):
                use()
        thread = kept["thread"]
        self.assertIn("scope has ended", repr(thread))
        self.assertEqual((thread.is_finished, thread.is_executing, thread.id), (True, False, None))
        self.assertIsNone(thread.stop_and_join())
        with self.assertRaises(LoopClosed):
            thread.perform(int)
        closure = kept["closure"]
        self.assertIn("drained", repr(closure))
        closure.invalidate()
        closure.close()
        self.assertFalse(kept["invocation"].running())
        self.assertFalse(kept["invocation"].cancel())
        self.assertFalse(kept["notification"].remove())
        inner = kept["scope"]
        self.assertEqual((inner.close(), inner.is_closed, inner.is_valid, inner.holders()), (True, True, False, []))
        self.assertIn("closed", repr(inner))
        self.assertIn("closed", repr(scope))
        while kept:
            kept.popitem()

    def test_closures_that_are_collected_later(self) -> None:
        """SCOPE-2, OBJ-8: by another language's end, of which Python was not told yet."""
        for _ in range(10):
            scope = Scope()
            with scope.entered():
                closure: Optional[treadle.Closure] = treadle.closure("ii", lambda number: number + 1)
                assert closure is not None
                self.assertEqual(closure(1), 2)
            # As C would.
            self.assertEqual(treadle._library.native.treadle_close(scope._handle, treadle._capi.FOREVER), 0)
            closure = None
            gc.collect()
            self.assertEqual(_registry.draining, {})

    def test_threads_give_their_results(self) -> None:
        """SCOPE-2, THR-17: of a thread that its scope has joined, also what it raised."""
        told: List[Any] = []

        def handler(arguments: treadle.LastResortArgs) -> bool:
            told.append(arguments.exception)
            return True

        def fail() -> None:
            raise ValueError("by the thread")

        treadle.set_last_resort(handler)
        self.addCleanup(treadle.set_last_resort, None)
        with Scope():
            stopped = Thread(RunLoop.current)
            runner = Thread(lambda: (RunLoop.current().add(Source()), RunLoop.current().run())[1])
            failed = Thread(fail)
            for thread in (runner, failed):
                thread.start()
            self.assertTrue(eventually(lambda: failed.is_finished))
        self.assertEqual(runner.join(), RunResult.STOPPED)
        self.assertIsNone(stopped.join())
        with self.assertRaisesRegex(ValueError, "by the thread"):
            failed.join()
        self.assertEqual([str(error) for error in told], ["by the thread"])

    def test_exceptions_of_callbacks(self) -> None:
        """SCOPE-2, ABI-3: the first is raised when all has ended, the others are reported."""
        told: List[Any] = []
        self.loop.excepthook = lambda arguments: told.append(str(arguments.exc_value))
        self.addCleanup(setattr, self.loop, "excepthook", treadle.excepthook)

        def fail(source: Source, loop: RunLoop, mode: str) -> None:
            raise ValueError(source.label)

        ended: List[str] = []
        scope = Scope()
        with self.assertRaises(ValueError) as raised:
            with scope:
                for label in ("first", "second"):
                    self.loop.add(Source(cancel=fail, label=label), NEVER)
                self.loop.add(Source(cancel=lambda *_arguments: ended.append("third")), NEVER)
        self.assertEqual({str(raised.exception), *told}, {"first", "second"})
        self.assertEqual((ended, len(told), scope.is_closed), (["third"], 1, True))

        def divide() -> None:
            1 / 0

        with self.assertRaises(ZeroDivisionError), Scope():
            treadle.pool.add(divide)

    def test_an_exception_inside(self) -> None:
        """SCOPE-5: leaves and closes as well, and goes on."""
        scope = Scope()
        with self.assertRaisesRegex(KeyError, "mine"):
            with scope:
                raise KeyError("mine")
        self.assertTrue(scope.is_closed)
        self.assertTrue(Timer(print, interval=1).is_valid)


class Waiting(TestCase):
    def test_what_goes_on_is_waited_for_and_told(self) -> None:
        """SCOPE-3: Timeout names it; then it is closed by another try."""
        entered, go = threading.Event(), threading.Event()

        def stay(*_arguments: object) -> None:
            entered.set()
            go.wait(WATCHDOG)

        def arm(loop: RunLoop) -> None:
            loop.add(Timer(stay, delay=0, label="a slow one"))

        def run(loop: RunLoop) -> Any:
            loop.perform(stay)

        def start(loop: RunLoop) -> None:
            Thread(stay, name="slow").start()

        expected: List[Tuple[Callable[[RunLoop], None], str, str]] = [
            (arm, "timer", "timer 'a slow one' on thread {id}"),
            (run, "post", "post on thread {id}"),
            (start, "thread", "thread "),
        ]
        for make, kind, text in expected:
            entered.clear()
            go.clear()
            scope = Scope("busy", timeout=0.01)
            with LoopThread() as worker:
                with self.assertRaises(Timeout) as raised, scope:
                    make(worker.loop)
                    self.wait(entered)
                identity = worker.loop.thread_id
                self.assertIsInstance(raised.exception, TimeoutError)
                self.assertEqual(raised.exception.function, "treadle_close")
                self.assertIn(text.format(id=identity), str(raised.exception))
                self.assertFalse(scope.is_valid or scope.is_closed)
                self.assertIn("closing", repr(scope))
                with self.assertRaises(Timeout):
                    scope.close(0)
                (holder,) = scope.holders()
                self.assertEqual(holder.kind, kind)
                self.assertGreater(holder.held, 0)
                if kind != "thread":
                    self.assertEqual(holder.thread_id, identity)
                    self.assertNotEqual(holder.thread_name, "")
                    self.assertEqual(holder.callback, holder.label)
                with self.assertRaises(LoopClosed):
                    scope.enter()
                threading.Timer(0.02, go.set).start()
                self.assertTrue(scope.close())
            self.assertTrue(scope.is_closed)

    def test_from_inside(self) -> None:
        """SCOPE-4: one of its own callbacks is not waited for: False, and it ends when that returns."""
        with LoopThread() as worker:
            scope = Scope("own")
            seen: List[Any] = []

            def close(*_arguments: object) -> None:
                seen.append(scope.close())
                with self.assertRaises(LoopClosed):
                    scope.enter()
                seen.append(scope.is_closed)

            def make() -> None:
                with scope.entered():
                    timer = Timer(close, interval=0.0001)
                    RunLoop.current().add(timer)

            worker.loop.perform(make).result()
            self.assertTrue(eventually(lambda: scope.is_closed))
            self.assertEqual(seen, [False, False])
            self.assertTrue(scope.close())

            def within() -> None:
                with Scope("of a callback") as inner:
                    RunLoop.current().post(seen.append, 3)
                seen.append(inner.is_closed)

            worker.loop.perform(within).result()
            self.assertEqual(seen, [False, False, True])

    def test_a_thread_closes_its_own_scope(self) -> None:
        """SCOPE-4: it ends with the thread."""
        scope = Scope()
        seen: List[Any] = []
        with scope.entered():
            thread = Thread(lambda: seen.append(scope.close()))
        thread.start()
        self.assertTrue(eventually(lambda: scope.is_closed))
        self.assertEqual(seen, [False])

    def test_futures_fail(self) -> None:
        """SCOPE-2, PERF-7: whoever waits for what was not performed is told, in each way of waiting."""
        with LoopThread() as worker:
            pairs: List[Tuple[str, Callable[[], Any]]] = [
                ("perform", lambda: worker.loop.perform(int, modes=NEVER).result()),
                ("thread", lambda: owner.perform(int, modes=NEVER, wait=True)),
                ("request", lambda: owner.perform(int, modes=NEVER).result()),
                ("invoke", lambda: worker.loop.invoke(libc.abs, -1, modes=NEVER)),
                ("invocation", lambda: worker.loop.invoke(libc.abs, -1, modes=NEVER, wait=False).result()),
                ("exception", lambda: self.again(worker.loop.perform(int, modes=NEVER).exception())),
                ("await", lambda: asyncio.run(self.awaited(worker.loop))),
                ("main", lambda: treadle.perform_on_main(int, modes=NEVER, wait=True)),
            ]
            owner: Thread = worker.loop.perform(Thread.current).result()
            for is_closed_by_c in (False, True):
                for name, wait in pairs:
                    self.try_to_wait(name, wait, is_closed_by_c)
                    if name != "main":
                        self.try_to_wait_here(name, wait)

    @staticmethod
    def again(error: Optional[BaseException]) -> None:
        assert error is not None
        raise error

    @staticmethod
    async def awaited(loop: RunLoop) -> Any:
        return await loop.perform(int, modes=NEVER)

    def try_to_wait(self, name: str, wait: Callable[[], Any], is_closed_by_c: bool) -> None:
        """On a thread of its own."""
        scope = Scope(name)
        errors: List[BaseException] = []

        def body() -> None:
            with scope.entered():
                try:
                    wait()
                except BaseException as error:
                    errors.append(error)

        thread = threading.Thread(target=body)
        thread.start()
        self.assertTrue(eventually(lambda: bool(scope.holders())), name)
        if is_closed_by_c:
            # Nobody tells Python.
            self.assertEqual(treadle._library.native.treadle_close(scope._handle, treadle._capi.FOREVER), 0)
        else:
            self.assertTrue(scope.close(WATCHDOG))
        thread.join(WATCHDOG)
        self.assertEqual([type(error) for error in errors], [LoopClosed], (name, errors))

    def try_to_wait_here(self, name: str, wait: Callable[[], Any]) -> None:
        """On the main thread, while another one closes."""
        scope = Scope(name)

        def end() -> None:
            eventually(lambda: bool(scope.holders()))
            scope.close()

        thread = threading.Thread(target=end)
        thread.start()
        with scope.entered(), self.assertRaises(LoopClosed, msg=name):
            wait()
        thread.join(WATCHDOG)

    def test_a_thread_of_the_scope_that_waits(self) -> None:
        """SCOPE-2, SCOPE-3: for what the closing itself cancels, on any thread that closes."""

        def close() -> List[BaseException]:
            errors: List[BaseException] = []
            scope = Scope("waits", timeout=WATCHDOG)
            loop = RunLoop.main()

            def wait() -> None:
                with scope.entered():
                    try:
                        loop.perform(int, modes=NEVER).result()
                    except BaseException as error:
                        errors.append(error)

            with scope:
                Thread(wait).start()
                self.assertTrue(eventually(lambda: "post" in [holder.kind for holder in scope.holders()]))
            return errors

        for errors in (close(), in_thread(close)):
            self.assertEqual([type(error) for error in errors], [LoopClosed])


if __name__ == "__main__":
    unittest.main()
