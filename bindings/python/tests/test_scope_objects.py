# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Scopes: what belongs to one, and the objects themselves."""

from __future__ import annotations

import ctypes
import gc
import pickle
import threading
import unittest
import weakref
from typing import Any, Dict, List, Optional, Tuple

import treadle
from treadle import (
    Error,
    LoopClosed,
    RunLoop,
    Scope,
    StaleHandle,
    Thread,
    Timeout,
    Timer,
    _registry,
)

from support import WATCHDOG, LoopThread, TestCase, eventually, in_thread
from test_scope import NEVER, makers

libc = ctypes.CDLL(None)


class Belonging(TestCase):
    def test_a_closed_scope_takes_nothing_more(self) -> None:
        """SCOPE-2: LoopClosed for all of it, and nothing is kept."""
        tables = (_registry.calls, _registry.posts, _registry.closures, _registry.registrations, _registry.items)
        loop = RunLoop.current()
        gc.collect()
        before = [len(table) for table in tables]
        scope = Scope()
        scope.enter()
        try:
            self.assertTrue(scope.close())
            for name, make in makers(loop, self.fail).items():
                with self.assertRaises(LoopClosed, msg=name):
                    made = make()
                    if isinstance(made, treadle.Future):
                        made.result()
            with self.assertRaises(LoopClosed):
                loop.perform(self.fail).result()
            with self.assertRaises(LoopClosed):
                loop.post(self.fail)
            with self.assertRaises(LoopClosed):
                scope.enter()
            self.assertIs(RunLoop.current(), loop)
            self.assertIs(Thread.current(), Thread.main())
        finally:
            scope.leave()
        gc.collect()
        self.assertEqual([len(table) for table in tables], before)
        self.assertTrue(Timer(print, interval=1).is_valid)

    def test_a_thread_that_was_met_in_a_closed_scope(self) -> None:
        """SCOPE-1, THR-9: its object goes with it, and is nobody else's."""

        def body() -> "weakref.ref[Thread]":
            scope = Scope()
            with scope.entered():
                scope.close()
                thread = Thread.current()
                self.assertIs(Thread.current(), thread)
            self.assertIs(Thread.current(), thread)
            self.assertTrue(thread._tells_its_end)
            return weakref.ref(thread)

        running = len(_registry.running)
        for _ in range(20):
            reference = in_thread(body)
            self.assertTrue(eventually(lambda: len(_registry.running) == running))
            gc.collect()
            self.assertIsNone(reference())

    def test_scopes_nest_and_are_left_in_order(self) -> None:
        """SCOPE-5: the one that was entered last counts; leaving another one is an error."""
        outer, inner = Scope("outer"), Scope("inner")
        with self.assertRaises(Error) as raised:
            outer.leave()
        self.assertEqual(raised.exception.code, treadle._capi.E_STATE)
        with outer.entered():
            with inner.entered():
                with self.assertRaises(Error):
                    outer.leave()
                first = Timer(print, interval=1)
            second = Timer(print, interval=1)
            with inner.entered() as same:
                self.assertIs(same, inner)
        third = Timer(print, interval=1)
        self.assertTrue(inner.close())
        self.assertEqual([timer.is_valid for timer in (first, second, third)], [False, True, True])
        with Scope() as new:
            in_thread(lambda: self.assertRaises(Error, new.leave))
            nested = Scope()
            with nested.entered():
                fourth = Timer(print, interval=1)
        self.assertEqual([timer.is_valid for timer in (second, third, fourth)], [True, True, False])
        self.assertTrue(nested.is_closed)

    def test_a_scope_that_is_closed_with_another_while_entered(self) -> None:
        """SCOPE-5: it is left all the same."""
        with Scope("outer") as outer:
            with Scope("inner") as inner:
                self.assertTrue(outer.close(1))
                self.assertFalse(inner.is_valid)
                with self.assertRaises(LoopClosed):
                    Timer(print, interval=1)
            self.assertTrue(inner.is_closed)
        self.assertTrue(Timer(print, interval=1).is_valid)

    def test_the_last_reference_closes(self) -> None:
        """SCOPE-5: nobody waits; what is entered is kept."""
        scope: Optional[Scope] = Scope()
        assert scope is not None
        reference = weakref.ref(scope)
        scope.enter()
        scope = None
        gc.collect()
        timer = Timer(print, interval=1)
        again = reference()
        assert again is not None and again.is_valid
        again.leave()
        del again
        gc.collect()
        self.assertIsNone(reference())
        self.assertFalse(timer.is_valid)

    def test_a_thread_that_ends_leaves_its_scopes(self) -> None:
        """SCOPE-5: and does not keep them."""
        scope = Scope()

        def enter() -> None:
            scope.enter()
            scope.enter()

        in_thread(enter)
        reference = weakref.ref(scope)
        self.assertTrue(scope.close())
        del scope, enter
        self.assertTrue(eventually(lambda: gc.collect() >= 0 and reference() is None))

    def test_loops_and_locks_belong_to_nobody(self) -> None:
        """SCOPE-1: nor does what the package needs for itself."""

        def body() -> None:
            with Scope():
                loop, lock, condition = RunLoop.current(), treadle.Lock(), treadle.Condition()
                thread = Thread.current()
            with lock, condition:
                seen: List[int] = []
                loop.post(seen.append, 1)
                loop.run(seconds=0)
                self.assertEqual(seen, [1])
            self.assertIs(Thread.current(), thread)
            self.assertTrue(thread.is_executing)

        in_thread(body)

    def test_the_host_belongs_to_nobody(self) -> None:
        """SCOPE-1: where the package is imported while C has entered a scope."""
        script = """if True:
            import ctypes, os, threading
            c = ctypes.CDLL(os.environ["TREADLE_LIBRARY"])
            for name in ("enter", "leave"):
                getattr(c, f"treadle_scope_{name}").argtypes = [ctypes.c_void_p]
            c.treadle_close.argtypes = [ctypes.c_void_p, ctypes.c_int64]
            class Config(ctypes.Structure):
                _fields_ = [("size", ctypes.c_size_t), ("rest", ctypes.c_void_p * 3)]
            scope = ctypes.c_void_p()
            assert c.treadle_scope_create(ctypes.byref(Config(32)), ctypes.byref(scope)) == 0
            assert c.treadle_scope_enter(scope) == 0
            import treadle
            timer = treadle.Timer(print, interval=1)
            assert c.treadle_scope_leave(scope) == 0
            assert c.treadle_close(scope, 2**63 - 1) == 0
            loop = treadle.RunLoop.current()
            future = loop.perform(lambda: "performed")
            loop.run(seconds=0)
            print(timer.is_valid, future.result(), treadle.closure("i", lambda: 3)(), threading.active_count())
        """
        self.assertEqual(self.assertRuns(script), "False performed 3 1\n")


class Objects(TestCase):
    def test_bad_input(self) -> None:
        """OBJ-6: is refused in words."""
        cases: List[Tuple[type, Dict[str, Any]]] = [
            (TypeError, {"label": 3}),
            (TypeError, {"label": b"bytes"}),
            (ValueError, {"label": "a\0b"}),
            (ValueError, {"label": "\ud800"}),
            (treadle.InvalidArgument, {"label": "\u00e9" * 128}),
            (TypeError, {"timeout": "long"}),
            (ValueError, {"timeout": float("nan")}),
        ]
        for error, options in cases:
            with self.assertRaises(error, msg=str(options)):
                Scope(**options)
        scope = Scope("\u00e9" * 127)
        self.assertIn("\u00e9" * 127, repr(scope))
        with self.assertRaises(ValueError):
            scope.close(float("nan"))
        with self.assertRaises(TypeError):
            pickle.dumps(scope)
        self.assertIn("open", repr(scope))
        outer = Scope("around it")
        with outer.entered():
            inner = Scope("\u00e9" * 127)
        (holder,) = outer.holders()
        self.assertEqual(holder, ("scope", "\u00e9" * 31, None, 0.0, "", ""))
        self.assertEqual(outer.close(0), True)
        self.assertTrue(inner.is_closed)

    def test_many_holders(self) -> None:
        """SCOPE-3: all of them are told, and the message names a few."""
        go = threading.Event()
        scope = Scope()
        with scope.entered():
            timers = [Timer(print, interval=1, label=str(number)) for number in range(100)]
            threads = [Thread(go.wait) for _ in range(6)]
            for thread in threads:
                thread.start()
        known = lambda: all(holder.thread_id for holder in scope.holders() if holder.kind == "thread")  # noqa: E731
        self.assertTrue(eventually(known))
        self.assertEqual(len(scope.holders()), 106)
        self.assertEqual({holder.label for holder in scope.holders()}, {"", *map(str, range(100))})
        with self.assertRaisesRegex(Timeout, r"(thread \d+ '[^']+', ){4}2 more"):
            scope.close(0)
        go.set()
        self.assertTrue(scope.close())
        self.assertFalse(any(timer.is_valid for timer in timers))

    def test_a_fork(self) -> None:
        """RL-11, SCOPE-5: the child has entered no scope, and the parent's are refused."""
        script = """if True:
            import os, treadle
            scope = treadle.Scope("parent's")
            scope.enter()
            timer = treadle.Timer(print, interval=1)
            pid = os.fork()
            if pid == 0:
                for use in (scope.enter, scope.leave, scope.close, scope.holders):
                    try:
                        use()
                        os._exit(1)
                    except treadle.Forked:
                        pass
                assert "parent" in repr(scope) and not scope.is_valid
                mine = treadle.Timer(print, interval=1)
                with treadle.Scope("child's"):
                    other = treadle.Timer(print, interval=1)
                assert mine.is_valid and not other.is_valid
                loop = treadle.RunLoop.current()
                future = loop.perform(int)
                loop.run(seconds=0)
                assert future.result() == 0
                del scope, timer
                os._exit(5)
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), scope.is_valid, timer.is_valid)
            scope.leave()
            print(scope.close(), timer.is_valid)
        """
        self.assertEqual(self.assertRuns(script), "5 True True\nTrue False\n")

    def test_the_end_of_the_program(self) -> None:
        """ABI-5: with open scopes, entered ones, and one that could not be closed; quick, and silent."""
        script = """if True:
            import threading, time, treadle
            scope, other = treadle.Scope("entered"), treadle.Scope("left")
            with other.entered():
                treadle.Thread(time.sleep, (1000,)).start()
                kept = treadle.closure("v", print)
            try:
                other.close(0.01)
            except treadle.Timeout:
                print("timeout")
            scope.enter()
            loop = treadle.RunLoop.current()
            timer = treadle.Timer(print, interval=1)
            loop.add(timer)
            loop.perform(int)
            treadle.pool.add(print, "never")
            never = treadle.Thread(print)
        """
        self.assertEqual(self.assertRuns(script), "timeout\n")

    def test_many_threads(self) -> None:
        """SCOPE-1, SCOPE-2: that make all kinds while another one closes: each ends, none is left."""
        with LoopThread() as worker:
            for _ in range(15):
                scope = Scope("shared")
                made: List[Any] = []
                ready = threading.Barrier(4)

                def make() -> None:
                    with scope.entered():
                        ready.wait()
                        try:
                            for number in range(1000):
                                timer = Timer(print, interval=1000)
                                made.append(timer)
                                worker.loop.add(timer)
                                worker.loop.perform(int, modes=NEVER)
                                made.append(treadle.closure("i", int))
                                made.append(worker.loop.invoke(libc.abs, -1, wait=False, modes=NEVER))
                        except (LoopClosed, StaleHandle):
                            pass

                threads = [threading.Thread(target=make) for _ in range(3)]
                for thread in threads:
                    thread.start()
                ready.wait()
                self.assertTrue(scope.close(WATCHDOG))
                for thread in threads:
                    thread.join(WATCHDOG)
                self.assertTrue(scope.is_closed)
                for item in made:
                    if isinstance(item, Timer):
                        self.assertFalse(item.is_valid)
                    elif isinstance(item, treadle.Invocation):
                        self.assertIsInstance(item.exception(WATCHDOG), LoopClosed)
                made.clear()
            worker.loop.perform(int).result()
            worker.loop.perform(int).result()
            self.assertEqual(len(worker.loop._held), 1)
            self.assertTrue(eventually(lambda: not worker.loop._pending))


if __name__ == "__main__":
    unittest.main()
