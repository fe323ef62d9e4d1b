# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Function pointers that functions of Python stand behind."""

from __future__ import annotations

import ctypes
import gc
import threading
import unittest
import weakref
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int32, c_size_t, c_void_p, c_wchar, c_wchar_p
from typing import Any, List, Optional

import treadle
from treadle import ClosureState, ExceptHookArgs, RunLoop, RunResult, Source, Thread

from support import NEST, NUMBER, LoopThread, Nest, Pair, TestCase, eventually, foreign, needs_checkout

COMPARE = CFUNCTYPE(c_int, POINTER(c_int), POINTER(c_int))
libc = ctypes.CDLL(None)


def address_of(closure: treadle.Closure) -> int:
    return ctypes.cast(closure.pointer, c_void_p).value or 0


def quiet(test: unittest.TestCase) -> List[Any]:
    """What the last resort is told, which deals with it."""
    told: List[treadle.LastResortArgs] = []

    def handler(arguments: treadle.LastResortArgs) -> bool:
        told.append(arguments)
        return True

    treadle.set_last_resort(handler)
    test.addCleanup(treadle.set_last_resort, None)
    return told


class Pointers(TestCase):
    def test_qsort_and_bsearch(self) -> None:
        """PERF-2: libc calls a function of Python, as an argument of its own prototype and of none."""
        numbers = (c_int * 7)(5, -3, 9, 1, -4, 7, 0)

        @treadle.closure(COMPARE)
        def compare(left: Any, right: Any) -> int:
            return int(left[0] - right[0])

        libc.qsort(numbers, c_size_t(7), c_size_t(4), compare)
        self.assertEqual(list(numbers), [-4, -3, 0, 1, 5, 7, 9])
        search = ctypes.CDLL(None).bsearch
        search.argtypes, search.restype = [c_void_p, c_void_p, c_size_t, c_size_t, COMPARE], POINTER(c_int)
        found = search(ctypes.byref(c_int(5)), numbers, 7, 4, compare)
        self.assertEqual(ctypes.addressof(found.contents), ctypes.addressof(numbers) + 16)
        self.assertFalse(search(ctypes.byref(c_int(6)), numbers, 7, 4, compare))
        self.assertGreater(compare.info.handled, 10)
        self.assertEqual(compare.info.failed, 0)

    def test_as_an_argument(self) -> None:
        """OBJ-8: as a pointer of any kind, which keeps the closure."""
        closure = treadle.closure("ii", lambda number: number + 1)
        reference = weakref.ref(closure)
        self.assertEqual(closure(1), 2)
        pointer, other = closure.pointer, ctypes.cast(closure.pointer, NUMBER)
        self.assertEqual((pointer(2), other(3), NUMBER(address_of(closure))(4)), (3, 4, 5))
        self.assertIn("'ii'", repr(closure))
        del closure, pointer
        gc.collect()
        self.assertEqual(other(5), 6)
        del other
        gc.collect()
        self.assertIsNone(reference())

    @needs_checkout
    def test_structs(self) -> None:
        """OBJ-8: by value, as copies, in both directions."""
        seen: List[Any] = []

        @treadle.closure(NEST)
        def swap(value: Nest, add: int) -> Nest:
            seen.extend([value, value.text])
            # The text that a struct points to is the function's to keep.
            return Nest((Pair(value.pairs[1].small + add, value.pairs[1].large), value.pairs[0]), seen[1])

        given = Nest((Pair(1, 0.5), Pair(2, 0.25)), b"text")
        result = foreign().foreign_call_nest(swap, given)
        self.assertEqual([(pair.small, pair.large) for pair in result.pairs], [(7, 0.25), (1, 0.5)])
        self.assertEqual(result.text, b"text")
        self.assertEqual(seen[0].pairs[1].large, 0.25)

    def test_results(self) -> None:
        """OBJ-8: texts are kept; NULL; functions; void."""
        texts = treadle.closure(CFUNCTYPE(c_char_p, c_int), lambda number: b"%d" % number if number else None)
        raw = ctypes.cast(texts.pointer, CFUNCTYPE(c_void_p, c_int))
        addresses = [raw(number) for number in (17, 18, 17)]
        gc.collect()
        self.assertEqual([ctypes.string_at(address) for address in addresses], [b"17", b"18", b"17"])
        self.assertEqual(addresses[0], addresses[2])
        self.assertIsNone(texts(0))
        wide = treadle.closure(CFUNCTYPE(c_wchar_p), lambda: "\u00e9l")
        self.assertEqual([wide(), wide()], ["\u00e9l", "\u00e9l"])
        inner = treadle.closure(NUMBER, lambda number: number * 2)
        outer = treadle.closure(CFUNCTYPE(c_void_p), lambda: address_of(inner))
        self.assertEqual(NUMBER(outer())(4), 8)
        self.assertIsNone(treadle.closure("v", lambda: 3)())

    def test_bad_input(self) -> None:
        """OBJ-6: is refused in words."""
        loop = RunLoop.current()
        cases: List[Any] = [
            (TypeError, dict(fn=3)),
            (ValueError, dict(delivery="later")),
            (ValueError, dict(on_full="explode")),
            (ValueError, dict(queue_limit=-1)),
            (ValueError, dict(queue_limit=2**32)),
            (treadle.InvalidArgument, dict(queue_limit=2**20 + 1, loop=loop)),
            (TypeError, dict(queue_limit=1.5)),
            (TypeError, dict(default="text")),
            (ValueError, dict(timeout=float("nan"), loop=loop)),
            (treadle.InvalidArgument, dict(delivery="inline", loop=loop)),
            (treadle.InvalidArgument, dict(delivery="sync")),
            (treadle.InvalidArgument, dict(loop=loop, thread=Thread.main())),
            (treadle.InvalidArgument, dict(loop=loop, modes=[])),
            (treadle.InvalidArgument, dict(loop=loop, on_full="coalesce")),
            (TypeError, dict(loop=loop, modes=[3])),
            (TypeError, dict(signature="v", default=1)),
            (treadle.InvalidArgument, dict(signature="i*...i")),
            (TypeError, dict(signature=CFUNCTYPE(None, c_wchar_p), loop=loop)),
        ]
        for error, options in cases:
            arguments = {"signature": "ii", "fn": print, **options}
            with self.assertRaises(error, msg=str(options)):
                treadle.closure(**arguments)
        treadle.closure(CFUNCTYPE(None, POINTER(c_wchar)), print, loop=loop)
        over = Thread(int)
        over.start()
        over.join()
        with self.assertRaises(treadle.LoopClosed):
            treadle.closure("ii", print, thread=over)
        with self.assertRaises(TypeError):
            treadle.closure("ii", print).__reduce__()


class Deliveries(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.seen: List[Any] = []

    def note(self, number: int) -> int:
        self.seen.append((threading.get_ident(), number))
        return number + 1

    @needs_checkout
    def test_inline_on_a_foreign_thread(self) -> None:
        """PERF-2, ABI-1: a thread that nobody prepared calls, and has the result."""
        closure = treadle.closure(NUMBER, self.note)
        self.assertEqual(foreign().foreign_call(closure.pointer, 4), 5)
        ((identity, number),) = self.seen
        self.assertNotEqual(identity, threading.get_ident())
        self.assertEqual(number, 4)

    @needs_checkout
    def test_sync(self) -> None:
        """PERF-3, PERF-7, ABI-1: handled on the loop's thread, while the caller waits without the lock."""
        with LoopThread() as worker:
            for delivery in ("sync", "running"):
                closure = treadle.closure(NUMBER, self.note, loop=worker.loop, delivery=delivery)
                self.assertEqual(foreign().foreign_call(closure.pointer, 4), 5)
                self.assertEqual(closure(5), 6)  # this thread waits, and the other one needs the lock
            self.assertEqual([number for _, number in self.seen], [4, 5, 4, 5])
            self.assertEqual({identity for identity, _ in self.seen}, {worker.identity})
            closure = treadle.closure(NUMBER, self.note, loop=worker.loop)
            self.assertEqual(worker.loop.perform(closure, 7).result(), 8)  # on its own thread: inline

    @needs_checkout
    def test_async(self) -> None:
        """PERF-4: the caller has the default at once; calls are handled in their order."""
        loop = RunLoop.current()
        closure = treadle.closure(NUMBER, self.note, loop=loop, delivery="async", default=-9)
        for number in range(50):
            self.assertEqual(closure(number), -9)
        self.assertEqual(foreign().foreign_call(closure.pointer, 50), -9)
        self.assertEqual((self.seen, closure.info.waiting), ([], 51))
        loop.run(seconds=0)
        self.assertEqual([number for _, number in self.seen], list(range(51)))
        self.assertEqual((closure.info.waiting, closure.info.handled), (0, 51))

    def test_texts_are_copied_on_their_way(self) -> None:
        """PERF-8: a C string is the caller's, who goes on."""
        texts: List[Optional[bytes]] = []
        closure = treadle.closure(CFUNCTYPE(None, c_char_p), texts.append, loop=RunLoop.current(), delivery="async")
        buffer = ctypes.create_string_buffer(b"mine")
        ctypes.cast(closure.pointer, CFUNCTYPE(None, c_void_p))(ctypes.addressof(buffer))
        buffer.value = b"gone"
        closure(None)
        RunLoop.current().run(seconds=0)
        self.assertEqual(texts, [b"mine", None])

    def test_full(self) -> None:
        """PERF-4: what becomes of a call too many."""
        expected: Any = {"fail": [1, 2], "drop_newest": [1, 2], "drop_oldest": [3, 4], "coalesce": [1, 4]}
        loop = RunLoop.current()
        quiet(self)
        for on_full, numbers in expected.items():
            self.seen.clear()
            closure = treadle.closure(
                NUMBER, self.note, loop=loop, delivery="async", queue_limit=2, on_full=on_full, default=-1
            )
            self.assertEqual([closure(number) for number in range(1, 5)], [-1] * 4)
            loop.run(seconds=0)
            self.assertEqual([number for _, number in self.seen], numbers, on_full)
            self.assertEqual((closure.info.handled, closure.info.dropped), (2, 2), on_full)

    def test_timeout(self) -> None:
        """PERF-7: who waits no longer gets the default."""
        with LoopThread() as worker:
            holding, go_on = threading.Event(), threading.Event()
            worker.loop.perform(holding.set)
            worker.loop.perform(go_on.wait)
            self.wait(holding)
            closure = treadle.closure(NUMBER, self.note, loop=worker.loop, timeout=0.001, default=-4)
            self.assertEqual(closure(1), -4)
            self.assertEqual(closure.info.timed_out, 1)
            go_on.set()
            worker.loop.perform(int).result()
            self.assertEqual(self.seen, [])

    def test_a_deadlock_brings_the_default(self) -> None:
        """PERF-7: two threads that wait for each other: at once."""
        with LoopThread() as worker:
            back = treadle.closure(NUMBER, self.note, loop=RunLoop.current(), default=-6)
            there = treadle.closure(NUMBER, back, loop=worker.loop, default=-5)
            self.assertEqual(there(1), -6)
            self.assertEqual((back.info.dropped, there.info.handled), (1, 1))
            # With a wait that runs the loop they finish.
            there = treadle.closure(NUMBER, back, loop=worker.loop, delivery="running", default=-5)
            self.assertEqual(there(1), 2)

    def test_the_end_of_the_thread(self) -> None:
        """PERF-9: who waits for it has the default, and later callers too."""
        thread = Thread(lambda: None)
        closure = treadle.closure(NUMBER, self.note, thread=thread, delivery="async", default=-3)
        self.assertEqual(closure(1), -3)
        thread.start()
        thread.join()
        self.assertEqual(closure(2), -3)
        self.assertTrue(eventually(lambda: closure.info.dropped == 2))
        self.assertEqual(self.seen, [])


class Exceptions(TestCase):
    def test_they_are_reported(self) -> None:
        """PERF-11, ABI-4: to the loop's excepthook; the caller has the default, and the run goes on."""
        loop = RunLoop.current()
        told: List[ExceptHookArgs] = []
        loop.excepthook = told.append
        self.addCleanup(setattr, loop, "excepthook", treadle.excepthook)
        closure = treadle.closure("ii", lambda number: 1 // number, loop=loop, delivery="async")
        closure(0)
        closure(1)
        self.assertIsInstance(loop.run(seconds=0), RunResult)
        self.assertEqual((closure.info.handled, closure.info.failed), (1, 1))
        (arguments,) = told
        self.assertIs(arguments.exc_type, ZeroDivisionError)
        self.assertIs(arguments.item, closure)
        self.assertIs(arguments.loop, loop)

    def test_inline_they_go_to_the_last_resort(self) -> None:
        """PERF-11, ABI-4: also of a result that does not fit; nothing reaches C."""
        told = quiet(self)
        for result in (None, "text", 1.5, KeyboardInterrupt, SystemExit):

            def handler(number: int, result: Any = result) -> Any:
                if isinstance(result, type):
                    raise result()
                return result

            self.assertEqual(treadle.closure("ii", handler, default=-8)(1), -8)
        kinds = [type(arguments.exception) for arguments in told]
        self.assertEqual(kinds, [TypeError, TypeError, TypeError, KeyboardInterrupt, SystemExit])

    def test_interrupts_end_the_run(self) -> None:
        """ABI-4: KeyboardInterrupt and SystemExit come out of the loop's run; the caller has the default."""
        for error in (KeyboardInterrupt, SystemExit):

            def handler(number: int) -> int:
                raise error

            results: List[int] = []
            loop = RunLoop.current()
            closure = treadle.closure("ii", handler, loop=loop, default=-2)
            caller = threading.Thread(target=lambda: results.append(closure(1)))
            keeper = Source()
            loop.add(keeper)
            caller.start()
            with self.assertRaises(error):
                loop.run()
            caller.join()
            self.assertEqual(results, [-2])
            keeper.invalidate()


class Life(TestCase):
    def test_retiring(self) -> None:
        """OBJ-3, PERF-8: the pointer stays, its first late call is reported, and the function goes away."""
        told = quiet(self)
        closure = treadle.closure(NUMBER, lambda number: number + 1, default=-1)
        pointer = address_of(closure)
        self.assertIs(closure.info.state, ClosureState.ACTIVE)
        closure.invalidate()
        closure.invalidate()
        self.assertEqual([NUMBER(pointer)(1) for _ in range(3)], [-1] * 3)
        self.assertEqual([arguments.kind for arguments in told], ["closure"])
        self.assertEqual((closure.info.state, closure.info.after_invalidated), (ClosureState.DRAINED, 3))
        closure.close()
        with treadle.closure(NUMBER, lambda number: number) as other:
            self.assertEqual(other(3), 3)
        self.assertIs(other.info.state, ClosureState.DRAINED)
        self.assertIn("drained", repr(other))

    def test_closing(self) -> None:
        """OBJ-3: waits for calls; from inside it only invalidates; refuses to wait for itself."""
        with LoopThread() as worker:
            inside, go_on = threading.Event(), threading.Event()

            @treadle.closure(NUMBER, loop=worker.loop, delivery="async")
            def closure(number: int) -> int:
                inside.set()
                go_on.wait()
                return number

            closure(1)
            self.wait(inside)
            with self.assertRaises(treadle.Timeout):
                closure.close(0.001)
            self.assertIs(closure.info.state, ClosureState.INVALIDATED)
            go_on.set()
            closure.close()
            self.assertIs(closure.info.state, ClosureState.DRAINED)

        @treadle.closure(NUMBER)
        def own(_number: int) -> int:
            own.close()
            return 6

        self.assertEqual(own(1), 6)
        waiting = treadle.closure(NUMBER, int, loop=RunLoop.current(), delivery="async")
        waiting(1)
        with self.assertRaises(treadle.DeadlockError):
            waiting.close()
        RunLoop.current().run(seconds=0)

    def test_collected_with_calls_on_their_way(self) -> None:
        """OBJ-3: they are handled; then everything goes."""
        seen: List[int] = []

        class Handler:
            def __call__(self, number: int) -> int:
                seen.append(number)
                return 0

        for in_cycle in (False, True):
            handler = Handler()
            closure = treadle.closure(NUMBER, handler, loop=RunLoop.current(), delivery="async")
            if in_cycle:
                handler.closure = closure  # type: ignore[attr-defined]
            closure(1)
            closure(2)
            del closure, handler
            gc.collect()
            self.assertFalse(seen)
            self.assertEqual(len(treadle._registry.draining), 1)
            RunLoop.current().run(seconds=0)
            Source()  # the package is entered, and sees what was retired
            gc.collect()
            self.assertEqual(seen, [1, 2])
            self.assertFalse([thing for thing in gc.get_objects() if type(thing) is Handler])
            seen.clear()
            self.assertEqual(treadle._registry.draining, {})

    def test_many(self) -> None:
        """OBJ-2: nothing is left of closures that are gone, and the pool does not run out."""
        before = len(treadle._registry.closures)
        for _ in range(5000):
            self.assertEqual(treadle.closure(NUMBER, lambda number: number)(1), 1)
        Source()
        self.assertLessEqual(len(treadle._registry.closures), before + 1)
        kept = [treadle.closure(NUMBER, lambda number: number, may_allocate=True) for _ in range(1500)]
        self.assertEqual([closure(3) for closure in kept], [3] * 1500)

    @needs_checkout
    def test_retired_while_threads_call(self) -> None:
        """OBJ-3, OBJ-7: by 4 threads of C; inline and carried; each gets its result or the default."""
        quiet(self)
        helper = foreign()
        with LoopThread() as worker:
            for number in range(20):
                options: Any = {"loop": worker.loop} if number % 2 else {}
                closure = treadle.closure(NUMBER, lambda number: number + 1, default=-1, **options)
                callers = helper.foreign_callers_start(closure.pointer, 4)
                self.assertTrue(eventually(lambda: helper.foreign_callers_calls(callers) > 100))
                closure.close()
                handled = closure.info.handled
                self.assertTrue(eventually(lambda: helper.foreign_callers_defaults(callers) > 10))
                self.assertEqual(helper.foreign_callers_stop(callers), 0)
                self.assertEqual((closure.info.handled, closure.info.failed), (handled, 0))


class TheLock(TestCase):
    def test_threads_of_python_run(self) -> None:
        """ABI-1: a function of C that calls back for long, while other threads of Python run."""
        ran = threading.Event()
        thread = threading.Thread(target=ran.set)

        def compare(_left: int, _right: int) -> int:
            if not thread.ident:
                thread.start()
            self.wait(ran)
            return 0

        closure = treadle.closure("i^v^v", compare)
        libc.qsort((c_int32 * 3)(), c_size_t(3), c_size_t(4), closure)
        thread.join()
        self.assertGreater(closure.info.handled, 1)


if __name__ == "__main__":
    unittest.main()
