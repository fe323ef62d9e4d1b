# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Threads: how they are made, started, stopped and joined, and what they carry."""

from __future__ import annotations

import gc
import io
import contextlib
import os
import pickle
import threading
import unittest
import weakref
from typing import Any, List, Optional

from treadle import (
    DeadlockError,
    Error,
    LoopClosed,
    Notification,
    RunLoop,
    RunResult,
    Source,
    Thread,
    ThreadState,
    Timeout,
    Timer,
    _registry,
    notifications,
)
from treadle._host import host

from support import TestCase, WATCHDOG, eventually, foreign, in_thread, needs_checkout


class Life(TestCase):
    def test_states(self) -> None:
        """THR-1, THR-5, THR-14: created, executing, finished; the cancelled flag is apart from them."""
        entered, leave = threading.Event(), threading.Event()

        def body() -> None:
            entered.set()
            self.wait(leave)

        thread = Thread(body)
        seen = [(thread.state, thread.is_executing, thread.is_finished, thread.is_cancelled, thread.id)]
        thread.start()
        self.wait(entered)
        self.assertIsInstance(thread.id, int)
        seen.append((thread.state, thread.is_executing, thread.is_finished, thread.is_cancelled, None))
        thread.cancel()
        thread.cancel()
        self.assertTrue(thread.is_cancelled)
        leave.set()
        self.assertIsNone(thread.join(WATCHDOG))
        seen.append((thread.state, thread.is_executing, thread.is_finished, thread.is_cancelled, thread.id))
        self.assertEqual(
            seen,
            [
                (ThreadState.CREATED, False, False, False, None),
                (ThreadState.EXECUTING, True, False, False, None),
                (ThreadState.FINISHED, False, True, True, None),
            ],
        )

    def test_results(self) -> None:
        """THR-17: join gives what the function returned, or raises the very exception that it raised."""
        thread = Thread(divmod, (7, 2))
        thread.start()
        self.assertEqual(thread.join(WATCHDOG), (3, 1))
        thread = Thread(target=dict, args=[[("a", 1)]], kwargs={"b": 2}, name="with keywords")
        thread.start()
        self.assertEqual(thread.join(), {"a": 1, "b": 2})
        mistake = LookupError("made on the thread")

        def fail() -> None:
            raise mistake

        thread = Thread(fail)
        with contextlib.redirect_stderr(io.StringIO()) as output:
            thread.start()
            with self.assertRaises(LookupError) as raised:
                thread.join(WATCHDOG)
        self.assertIs(raised.exception, mistake)
        self.assertIn("made on the thread", output.getvalue())

    def test_a_worker(self) -> None:
        """THR-18, RUN-16: a thread without a target runs its loop, also while nothing is in it, until it is stopped."""
        worker = Thread(name="worker")
        worker.start_and_wait()
        self.assertEqual(worker.perform(divmod, 7, 2, wait=True), (3, 1))
        self.assertEqual(worker.loop.perform(threading.current_thread).result(WATCHDOG).name, "worker")
        self.assertIs(worker.stop_and_join(WATCHDOG), RunResult.STOPPED)
        stopped = Thread()
        stopped.start()
        stopped.loop.request_stop()
        self.assertIs(stopped.join(WATCHDOG), RunResult.STOPPED)

    def test_system_exit_ends_the_thread_only(self) -> None:
        """THR-7, THR-8: sys.exit() is how a thread of Python ends early; Thread.exit() is not offered."""

        def leave() -> None:
            raise SystemExit(3)

        thread = Thread(leave)
        with contextlib.redirect_stderr(io.StringIO()) as output:
            thread.start()
            self.assertIsNone(thread.join(WATCHDOG))
        self.assertEqual(output.getvalue(), "")
        self.assertFalse(hasattr(Thread, "exit"))

    def test_starting_twice(self) -> None:
        """THR-2: an error, in every later state, without an effect."""
        leave = threading.Event()
        thread = Thread(lambda: self.wait(leave))
        thread.start()
        for _ in range(2):
            with self.assertRaises(Error) as raised:
                thread.start()
            self.assertEqual(raised.exception.code, -5)
            with self.assertRaises(Error):
                thread.start_and_wait(WATCHDOG)
        leave.set()
        thread.join(WATCHDOG)
        with self.assertRaises(Error):
            thread.start()
        with self.assertRaises(Error):
            Thread.main().start()

    def test_cancelled_before_the_start(self) -> None:
        """THR-5: goes straight to finished; the function is never called, and what it held is let go."""
        called: List[int] = []

        class Held:
            pass

        held = Held()
        reference = weakref.ref(held)
        thread = Thread(called.append, (held,))
        thread.dictionary["key"] = held
        del held
        thread.cancel()
        thread.start()
        self.assertIs(thread.state, ThreadState.FINISHED)
        self.assertIsNone(thread.join(WATCHDOG))
        self.assertEqual((called, len(thread.dictionary)), ([], 0))
        del thread
        gc.collect()
        self.assertIsNone(reference())

    def test_joining(self) -> None:
        """THR-17: twice, oneself, a detached, a foreign and an unstarted thread: an error each; a timeout is none."""
        leave = threading.Event()
        thread = Thread(lambda: self.wait(leave))
        with self.assertRaises(Error) as raised:
            thread.join(0)
        self.assertEqual(raised.exception.code, -5)
        thread.start()
        for timeout in (0, -1, 0.001):
            with self.assertRaises(Timeout):
                thread.join(timeout)
        with self.assertRaises(ValueError):
            thread.join(float("nan"))
        leave.set()
        thread.join(WATCHDOG)
        with self.assertRaises(Error):
            thread.join(WATCHDOG)

        def join_oneself() -> None:
            Thread.current().join(WATCHDOG)

        for other in (Thread.detach(leave.wait), Thread.main()):
            with self.assertRaises(Error):
                other.join(0)
        oneself = Thread(join_oneself)
        with contextlib.redirect_stderr(io.StringIO()):
            oneself.start()
            with self.assertRaises(DeadlockError):
                oneself.join(WATCHDOG)

    def test_detaching(self) -> None:
        """THR-3, THR-17: before the start or later, once; and never back."""
        done = threading.Event()
        seen: List[Any] = []

        def body(*arguments: int, **keywords: int) -> None:
            seen.append((arguments, keywords))
            done.set()

        thread = Thread.detach(body, 1, a=2)
        self.wait(done)
        self.assertEqual(seen, [((1,), {"a": 2})])
        self.assertTrue(thread.detached)
        for other in (Thread(int, detached=True), Thread(int)):
            if not other.detached:
                other.detached = True
            with self.assertRaises(Error):
                other.detached = True
            with self.assertRaises(ValueError):
                other.detached = False
            other.start()
            with self.assertRaises(Error):
                other.join(0)
        self.assertTrue(eventually(lambda: thread.is_finished))

    def test_nothing_keeps_an_unstarted_thread(self) -> None:
        """THR-4, OBJ-4: nor what waits in its loop; who waits for that is told."""
        thread = Thread(self.fail)
        future = thread.perform(int)
        block = thread.loop.perform(int)
        timer = Timer(print, interval=1)
        thread.loop.add(timer)
        references: List[weakref.ref[Any]] = [weakref.ref(thread), weakref.ref(timer), weakref.ref(thread.loop)]
        del thread, timer
        gc.collect()
        host.drain()
        self.assertEqual([reference() for reference in references[:2]], [None, None])
        for waiting in (future, block):
            self.assertIsInstance(waiting.exception(timeout=0), LoopClosed)
        del waiting, future, block
        gc.collect()
        self.assertIsNone(references[2]())

    def test_a_running_thread_keeps_itself(self) -> None:
        """THR-4: object, arguments and dictionary, though the client drops them; nothing of it stays later."""
        go_on, results = threading.Event(), []

        def body(argument: List[int]) -> None:
            self.wait(go_on)
            results.append((argument, Thread.current().dictionary["mine"], Thread.current().name))

        thread = Thread(body, ([1, 2],), name="kept")
        thread.dictionary["mine"] = 3
        reference = weakref.ref(thread)
        thread.start()
        del thread
        gc.collect()
        self.assertIsNotNone(reference())
        go_on.set()
        self.assertTrue(eventually(lambda: reference() is None))
        self.assertEqual(results, [([1, 2], 3, "kept")])

    def test_many_leave_nothing_behind(self) -> None:
        """THR-4, RL-8: tables, descriptors, the interpreter's own list of threads."""

        def body() -> None:
            RunLoop.current().run(seconds=0)
            threading.current_thread()

        def measure() -> List[int]:
            gc.collect()
            host.drain()
            tables: Any = (_registry.calls, _registry.running, _registry.threads, _registry.loops, _registry.alive)
            return [*map(len, tables), len(os.listdir("/proc/self/fd")), threading.active_count()]

        def run_some(count: int) -> None:
            threads = [Thread(body) for _ in range(count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(WATCHDOG)

        run_some(5)
        before = measure()
        for _ in range(20):
            run_some(10)
        after = measure()
        # A detached thread of another test may have ended meanwhile.
        self.assertTrue(all(now <= earlier for now, earlier in zip(after, before)), f"{after} after {before}")

    def test_pickling(self) -> None:
        """ABI-3: refused."""
        with self.assertRaises(TypeError):
            pickle.dumps(Thread())
        with self.assertRaises(TypeError):
            Thread(3)  # type: ignore[arg-type]


class Identity(TestCase):
    def test_the_current_thread(self) -> None:
        """THR-9: one object a thread, on Treadle's and on Python's; the latter executes until it is over."""
        thread = Thread(lambda: (Thread.current(), Thread.current(), Thread.current().is_executing))
        thread.start()
        self.assertEqual(thread.join(WATCHDOG), (thread, thread, True))

        def foreign() -> Thread:
            current = Thread.current()
            self.assertIs(Thread.current(), current)
            self.assertIs(current.state, ThreadState.EXECUTING)
            self.assertEqual(current.id, threading.get_native_id())
            return current

        found = in_thread(foreign)
        self.assertTrue(eventually(lambda: found.is_finished))
        self.assertFalse(found.is_executing)
        self.assertIsNot(found, Thread.current())

    @needs_checkout
    def test_threads_of_other_languages(self) -> None:
        """THR-9, THR-12, THR-14: one object from callback to callback, also in the notification of its end."""
        seen: List[Thread] = []
        performed = threading.Semaphore(0)

        def perform(source: Source) -> None:
            Thread.current().dictionary["key"] = "kept"
            seen.append(Thread.current())
            gc.collect()
            performed.release()

        def told(name: Notification, thread: Optional[Thread]) -> None:
            if thread in seen:
                seen.append(thread)
                keys.extend(thread.dictionary)

        keys: List[str] = []
        helper = foreign()
        pointer = helper.foreign_start()
        source = Source(perform=perform)
        RunLoop._of(helper.foreign_loop(pointer)).add(source)
        with notifications.add(Notification.THREAD_WILL_EXIT, told):
            for _ in range(2):
                source.signal()
                self.assertTrue(performed.acquire(timeout=WATCHDOG))
            self.assertEqual(seen[0].perform(threading.get_ident, wait=True), seen[0].perform(threading.get_ident).result())
            self.assertTrue(seen[0].is_executing and seen[0].detached)
            helper.foreign_stop(pointer)
        self.assertEqual((seen, keys), ([seen[0]] * 3, ["key"]))
        self.assertTrue(seen[0].is_finished)
        self.assertEqual(len(seen[0].dictionary), 0)
        with self.assertRaises(LoopClosed):
            seen[0].perform(int)

    def test_the_main_thread(self) -> None:
        """THR-10: the same from every thread; it executes."""
        main = Thread.main()
        self.assertIs(main, Thread.current())
        self.assertIs(in_thread(Thread.main), main)
        self.assertTrue(main.is_main and main.is_executing and Thread.is_main_thread())
        self.assertFalse(in_thread(Thread.is_main_thread) or in_thread(lambda: Thread.current().is_main))
        self.assertIs(main.loop, RunLoop.main())
        self.assertEqual(main.id, os.getpid())
        self.assertIn("main", repr(main))

    def test_loops(self) -> None:
        """RL-9: the thread's loop, before its start too: what was added meanwhile is served."""
        seen: List[Any] = []

        def body() -> RunResult:
            seen.append(RunLoop.current())
            return RunLoop.current().run()

        thread = Thread(body)
        loop = thread.loop
        self.assertIs(thread.loop, loop)
        loop.add(Timer(lambda timer: seen.append(Thread.current()), delay=0))
        future = loop.perform(threading.get_ident)
        thread.start()
        self.assertIs(thread.join(WATCHDOG), RunResult.FINISHED)
        self.assertEqual(seen, [loop, thread])
        self.assertNotEqual(future.result(0), threading.get_ident())
        with self.assertRaises(Error):
            thread.loop
        self.assertFalse(loop.add(Source()))

    def test_python_sees_the_thread(self) -> None:
        """THR-20: threading.local and current_thread() work from callback to callback."""
        local = threading.local()

        def body() -> List[int]:
            seen: List[int] = []

            def fire(timer: Timer) -> None:
                local.count = getattr(local, "count", 0) + 1
                seen.append(local.count)
                if local.count == 3:
                    timer.invalidate()

            RunLoop.current().add(Timer(fire, interval=1e-5))
            RunLoop.current().run()
            return seen

        thread = Thread(body)
        thread.start()
        self.assertEqual(thread.join(WATCHDOG), [1, 2, 3])


if __name__ == "__main__":
    unittest.main()
