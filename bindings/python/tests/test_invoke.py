# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Functions of C that are called on other threads."""

from __future__ import annotations

import array
import asyncio
import concurrent.futures
import ctypes
import gc
import os
import select
import signal
import threading
import unittest
import weakref
from ctypes import CFUNCTYPE, c_char_p, c_double, c_int, c_int64, c_size_t, c_ssize_t, c_void_p
from typing import Any, Callable, List, Tuple

import treadle
from treadle import InvocationState, RunLoop, Thread

from support import NEST, NUMBER, LoopThread, Nest, Pair, TestCase, eventually, foreign, in_thread, needs_checkout

libc = ctypes.CDLL(None)
gettid = ctypes.CDLL(None).gettid
gettid.argtypes = []
strlen = ctypes.CDLL(None).strlen
strlen.argtypes, strlen.restype = [c_char_p], c_size_t
snprintf = ctypes.CDLL(None).snprintf
snprintf.argtypes = [c_char_p, c_size_t, c_char_p]
read = ctypes.CDLL(None).read
read.argtypes, read.restype = [c_int, c_void_p, c_size_t], c_ssize_t


class Pipe:
    """What a function of C waits for."""

    def __init__(self, test: unittest.TestCase) -> None:
        self.output, self.input = os.pipe()
        test.addCleanup(os.close, self.output)
        test.addCleanup(os.close, self.input)

    def write(self, text: bytes) -> None:
        os.write(self.input, text)

    def empty(self) -> None:
        """Takes what a call that was given up before it began has not read."""
        while select.select([self.output], [], [], 0)[0]:
            os.read(self.output, 4096)


class Calling(TestCase):
    def test_on_another_thread(self) -> None:
        """PERF-3, PERF-7, OBJ-8: by a loop and by a thread, whatever the way of waiting."""
        with LoopThread() as worker:
            expected = worker.loop.thread_id
            self.assertNotEqual(expected, gettid())
            self.assertEqual(worker.loop.invoke(gettid), expected)
            self.assertEqual(worker.loop.invoke(gettid, wait="running"), expected)
            self.assertEqual(worker.loop.invoke(gettid, wait=False).result(), expected)
            self.assertEqual(in_thread(lambda: worker.loop.invoke(gettid)), expected)
            thread: Thread = worker.loop.perform(Thread.current).result()
            self.assertEqual(thread.invoke(gettid), expected)
            self.assertEqual(thread.invoke(gettid, wait=False).result(), expected)

    def test_on_this_thread(self) -> None:
        """PERF-2: a waited call is made directly; another one in its turn."""
        loop = RunLoop.current()
        for wait in (True, "running"):
            self.assertEqual(loop.invoke(gettid, wait=wait), gettid())
        invocation = loop.invoke(gettid, wait=False)
        self.assertIs(invocation.state, InvocationState.QUEUED)
        self.assertFalse(invocation.done() or invocation.running())
        with self.assertRaises(treadle.DeadlockError):
            invocation.result()
        loop.run(seconds=0)
        self.assertEqual(invocation.result(), gettid())
        self.assertIs(invocation.state, InvocationState.DONE)

    @needs_checkout
    def test_types(self) -> None:
        """OBJ-8: scalars, structs, function pointers, addresses with a signature."""
        with LoopThread() as worker:
            invoke: Callable[..., Any] = worker.loop.invoke
            self.assertEqual(invoke(libc.abs, -5), 5)
            power = ctypes.CDLL("libm.so.6").pow
            power.argtypes, power.restype = [c_double, c_double], c_double
            self.assertEqual(invoke(power, 2, 0.5), 2**0.5)
            self.assertEqual(invoke(ctypes.cast(power, c_void_p).value, 2, 3, signature="ddd"), 8)
            prototype = CFUNCTYPE(c_double, c_double, c_double)
            self.assertEqual(invoke(ctypes.cast(power, c_void_p).value, 2, 4, signature=prototype), 16)
            text = ctypes.CDLL(None).strchr
            text.argtypes, text.restype = [c_char_p, c_int], c_char_p
            self.assertEqual(invoke(text, b"a=b", ord("=")), b"=b")
            self.assertIsNone(invoke(text, b"a=b", ord("x")))
            swapped = invoke(foreign().foreign_swap, Nest((Pair(1, 0.5), Pair(2, 0.25)), b"x"), 3)
            self.assertEqual([(pair.small, pair.large) for pair in swapped.pairs], [(5, 0.25), (1, 0.5)])
            closure = treadle.closure(NEST, lambda value, add: value)
            called = invoke(foreign().foreign_call_nest, closure, Nest((Pair(1, 0.5), Pair(2, 0.25)), b"x"))
            self.assertEqual(called.pairs[1].large, 0.25)
            number = treadle.closure(NUMBER, lambda value: value + threading.get_ident() * 0 + 1)
            self.assertEqual(invoke(number, 4), 5)
            exits = ctypes.CDLL(None).free
            exits.argtypes, exits.restype = [c_void_p], None
            self.assertIsNone(invoke(exits, None))

    def test_variadic(self) -> None:
        """OBJ-8: beyond the argtypes, with C's promotions."""
        buffer = ctypes.create_string_buffer(200)
        with LoopThread() as worker:

            def printed(text: bytes, *values: Any) -> bytes:
                count = worker.loop.invoke(snprintf, buffer, 200, text, *values)
                self.assertEqual(count, len(buffer.value))
                return buffer.value

            self.assertEqual(printed(b"none"), b"none")
            self.assertEqual(printed(b"%d %s %.3f", 5, b"text", 2.5), b"5 text 2.500")
            small: List[Any] = [ctypes.c_int8(-3), ctypes.c_ushort(65535), ctypes.c_float(1.5), ctypes.c_bool(True), b"end"]
            self.assertEqual(printed(b"%d %d %g %d %s", *small), b"-3 65535 1.5 1 end")
            self.assertEqual(printed(b"%lld %p", c_int64(2**40), None), b"1099511627776 (nil)")
            many = range(20)
            self.assertEqual(printed(b" ".join([b"%d"] * 20), *many), b" ".join(b"%d" % value for value in many))

    def test_memory(self) -> None:
        """OBJ-8: what is passed as a pointer is the caller's own memory, and lives until the call is over."""
        pipe = Pipe(self)
        numbers = array.array("i", [0] * 4)
        places: List[Any] = [
            ctypes.create_string_buffer(4),
            bytearray(4),
            memoryview(bytearray(4)),
            numbers,
            (ctypes.c_ubyte * 4)(),
            ctypes.byref(c_int()),
            ctypes.pointer(c_int()),
        ]
        with LoopThread() as worker:
            for place in places:
                pipe.write(b"abcd")
                self.assertEqual(worker.loop.invoke(read, pipe.output, place, 4), 4)
            self.assertEqual((places[0].raw, bytes(places[1]), bytes(places[2])), (b"abcd",) * 3)
            self.assertEqual((numbers.tobytes()[:4], bytes(places[4])), (b"abcd",) * 2)
            self.assertEqual(places[6].contents.value.to_bytes(4, "little"), b"abcd")
            # Nobody but the call has it.
            buffer = (ctypes.c_char * 4)()
            reference = weakref.ref(buffer)
            invocation = worker.loop.invoke(read, pipe.output, buffer, 4, wait=False)
            self.assertTrue(eventually(invocation.running))
            del buffer
            gc.collect()
            self.assertIsNotNone(reference())
            pipe.write(b"efgh")
            self.assertEqual(invocation.result(), 4)
            gc.collect()
            self.assertIsNone(reference())
            # Nor after a caller that went on.
            for waiter in (lambda function: function(), in_thread):
                buffer = (ctypes.c_char * 4)()
                reference = weakref.ref(buffer)
                with self.assertRaises(treadle.Timeout):
                    waiter(lambda: worker.loop.invoke(read, pipe.output, buffer, 4, timeout=0.05))
                del buffer
                gc.collect()
                pipe.write(b"ijkl")
                worker.loop.invoke(gettid)
                worker.loop.invoke(gettid)
                pipe.empty()
                gc.collect()
                self.assertIsNone(reference())

    def test_what_ctypes_was_told(self) -> None:
        """OBJ-8: errcheck is heeded; its exception is the caller's."""
        function = ctypes.CDLL(None).abs
        function.argtypes = [c_int]

        def check(result: int, _function: object, arguments: Any) -> Any:
            if result == 3:
                raise TimeoutError("three")
            return result, arguments

        function.errcheck = check  # type: ignore[assignment]
        with LoopThread() as worker:
            self.assertEqual(worker.loop.invoke(function, -2), (2, (-2,)))
            with self.assertRaisesRegex(TimeoutError, "three"):
                worker.loop.invoke(function, -3)
            with self.assertRaisesRegex(TimeoutError, "three"):
                in_thread(lambda: worker.loop.invoke(function, -3))
            self.assertIsInstance(worker.loop.invoke(function, -3, wait=False).exception(), TimeoutError)

    def test_bad_input(self) -> None:
        """OBJ-6: is refused in words, before anything is queued."""
        loop = RunLoop.current()
        python = ctypes.PyDLL(None).Py_IsInitialized
        null = CFUNCTYPE(None)()
        cases: List[Any] = [
            (TypeError, (print,), {}),
            (TypeError, (12345,), {}),
            (TypeError, (True,), dict(signature="v")),
            (ValueError, (0,), dict(signature="v")),
            (ValueError, (null,), {}),
            (TypeError, (python,), {}),
            (TypeError, (strlen,), {}),
            (TypeError, (strlen, "text"), {}),
            (TypeError, (strlen, 3), {}),
            (TypeError, (gettid, 3), {}),
            (TypeError, (read, 1.5, None, 0), {}),
            (TypeError, (read, 1, object(), 0), {}),
            (TypeError, (read, 1, memoryview(b"constant"), 0), {}),
            (TypeError, (libc.abs, 2**31), {}),
            (TypeError, (libc.abs, object()), {}),
            (TypeError, (libc.abs, 1), dict(signature=3)),
            (TypeError, (libc.qsort, None, 0, 0, max), dict(signature=CFUNCTYPE(None, c_void_p, c_size_t, c_size_t, NUMBER))),
            (treadle.InvalidArgument, (libc.abs, 1), dict(signature="il")),
            (ValueError, (gettid,), dict(wait="never")),
            (ValueError, (gettid,), dict(wait=False, timeout=1)),
            (ValueError, (gettid,), dict(modes=[])),
            (TypeError, (gettid,), dict(modes=[1], wait=False)),
            (ValueError, (gettid,), dict(timeout=float("nan"))),
        ]
        for error, arguments, options in cases:
            with self.assertRaises(error, msg=str((arguments, options))):
                loop.invoke(*arguments, **options)
        circle = type("Circle", (), {"_as_parameter_": property(lambda self: self)})()
        for function in (strlen, libc.abs):
            with self.assertRaisesRegex(TypeError, "_as_parameter_"):
                loop.invoke(function, circle)
        with self.assertRaisesRegex(TypeError, r"argument 1 \(c_void_p\)"):
            loop.invoke(read, 1, object(), 0)
        with self.assertRaisesRegex(TypeError, "treadle.closure"):
            loop.invoke(libc.qsort, None, 0, 0, max, signature=CFUNCTYPE(None, c_void_p, c_size_t, c_size_t, NUMBER))
        odd = ctypes.CDLL(None).abs
        odd.argtypes = [type("Odd", (), {"from_param": staticmethod(lambda value: c_int(value))})]
        with self.assertRaisesRegex(TypeError, "no type of ctypes"):
            loop.invoke(odd, 1)


class Waiting(TestCase):
    def test_timeouts(self) -> None:
        """PERF-7: what has not begun never is; what runs goes on."""
        pipe, buffer = Pipe(self), ctypes.create_string_buffer(1)
        calls: List[int] = []
        closure = treadle.closure("vi", calls.append)
        with LoopThread() as worker:
            blocking = worker.loop.invoke(read, pipe.output, buffer, 1, wait=False)
            self.assertTrue(eventually(blocking.running))
            for timeout in (0, -1, 0.001):
                for wait in (True, "running"):
                    for waiter in (lambda function: function(), in_thread):
                        with self.assertRaises(treadle.Timeout):
                            waiter(lambda: worker.loop.invoke(closure, 1, wait=wait, timeout=timeout))
            self.assertEqual(worker.loop.is_waiting, False)
            pipe.write(b"x")
            self.assertEqual(blocking.result(), 1)
            self.assertEqual(worker.loop.invoke(gettid, timeout=60), worker.loop.thread_id)
        self.assertEqual(calls, [])

    def test_cancelling(self) -> None:
        """PERF-8: only what has not begun."""
        pipe, buffer = Pipe(self), ctypes.create_string_buffer(1)
        done: List[Any] = []
        with LoopThread() as worker:
            blocking = worker.loop.invoke(read, pipe.output, buffer, 1, wait=False)
            self.assertTrue(eventually(blocking.running))
            queued = worker.loop.invoke(gettid, wait=False)
            queued.add_done_callback(done.append)
            self.assertFalse(blocking.cancel())
            self.assertTrue(queued.cancel())
            self.assertTrue(queued.cancel())
            self.assertEqual((queued.state, done), (InvocationState.CANCELLED, [queued]))
            with self.assertRaises(concurrent.futures.CancelledError):
                queued.result()
            pipe.write(b"x")
            self.assertEqual(blocking.result(), 1)
            self.assertFalse(blocking.cancel())

    def test_futures(self) -> None:
        """PERF-7: an Invocation is a Future: callbacks, concurrent.futures.wait, asyncio."""
        with LoopThread() as worker:
            told: "concurrent.futures.Future[Any]" = concurrent.futures.Future()
            worker.loop.invoke(libc.abs, -4, wait=False).add_done_callback(told.set_result)
            self.assertEqual(told.result(60).result(), 4)
            invocations = [worker.loop.invoke(libc.abs, -number, wait=False) for number in range(100)]
            done, _ = concurrent.futures.wait(invocations, 60)
            self.assertEqual(sorted(invocation.result() for invocation in done), list(range(100)))

            async def main() -> List[Any]:
                calls = [worker.loop.invoke(libc.abs, -number, wait=False) for number in range(10)]
                return await asyncio.gather(*map(asyncio.wrap_future, calls))

            self.assertEqual(asyncio.run(main()), list(range(10)))
        self.assertFalse(treadle._registry.lingering)

    def test_waits_that_run_the_loop(self) -> None:
        """PERF-7: two threads that wait for each other so both get their results; a call of the own thread is made directly."""
        results: List[Any] = []
        with LoopThread() as worker:
            rows: List[Tuple[RunLoop, Any]] = [(worker.loop, True), (RunLoop.current(), "running")]
            for target, wait in rows:
                back = treadle.closure("v", lambda: results.append(target.invoke(libc.abs, -8)))
                worker.loop.invoke(back, wait=wait)
            through = treadle.closure("v", lambda: worker.loop.invoke(back, wait="running"))
            worker.loop.invoke(through, wait="running")
        self.assertEqual(results, [8, 8, 8])

    def test_exceptions_during_a_running_wait(self) -> None:
        """ABI-4: of a callback in CALL_MODE: the call is waited for, then it is raised."""
        loop = RunLoop.current()
        pipe, buffer = Pipe(self), ctypes.create_string_buffer(1)

        def fail(_timer: treadle.Timer) -> None:
            pipe.write(b"x")
            raise KeyError("in the wait")

        with LoopThread() as worker, treadle.Timer(fail, delay=0) as timer:
            loop.add(timer, treadle.CALL_MODE)
            with self.assertRaises(KeyError):
                worker.loop.invoke(read, pipe.output, buffer, 1, wait="running")
        self.assertEqual(buffer.raw, b"x")

    def test_interrupts(self) -> None:
        """ABI-4: Ctrl-C ends a wait of the main thread; the function goes on, and keeps what it was given."""
        pipe = Pipe(self)
        with LoopThread() as worker:
            buffer = (ctypes.c_char * 1)()
            reference = weakref.ref(buffer)

            def interrupt() -> None:
                eventually(lambda: bool(worker.loop._pending))
                os.kill(os.getpid(), signal.SIGINT)

            thread = threading.Thread(target=interrupt)
            thread.start()
            with self.assertRaises(KeyboardInterrupt):
                worker.loop.invoke(read, pipe.output, buffer, 1)
            thread.join()
            pipe.write(b"x")
            worker.loop.invoke(gettid)
            del buffer
            worker.loop.invoke(gettid)
            gc.collect()
            self.assertIsNone(reference())

    def test_the_lock(self) -> None:
        """ABI-1: other threads of Python run during every kind of wait, and let the function end."""
        pipe, buffer = Pipe(self), ctypes.create_string_buffer(1)
        with LoopThread() as worker:
            for wait in (True, "running"):
                for waiter in (lambda function: function(), in_thread):
                    go_on = threading.Event()

                    def compute() -> None:
                        go_on.wait()
                        pipe.write(b"x")

                    thread = threading.Thread(target=compute)
                    thread.start()
                    go_on.set()
                    result = waiter(lambda: worker.loop.invoke(read, pipe.output, buffer, 1, wait=wait))
                    self.assertEqual(result, 1)
                    thread.join()


class TheEnd(TestCase):
    def test_of_the_thread(self) -> None:
        """PERF-9: LoopClosed, whoever waits, and however: before its start, while it ends, and later."""
        go_on = threading.Event()
        thread = Thread(self.wait, (go_on,))
        loop = thread.loop
        early = thread.invoke(gettid, wait=False)
        thread.start()
        errors: List[BaseException] = []

        def wait() -> None:
            try:
                thread.invoke(gettid)
            except treadle.LoopClosed as error:
                errors.append(error)

        waiter = threading.Thread(target=wait)
        waiter.start()
        future = thread.invoke(gettid, wait=False)
        go_on.set()
        waiter.join()
        thread.join()
        self.assertEqual(len(errors), 1)
        for invocation in (early, future):
            self.assertIsInstance(invocation.exception(), treadle.LoopClosed)
        self.assertIs(early.state, InvocationState.DROPPED)
        for target in (thread, loop):
            for wait_how in (True, False, "running"):
                with self.assertRaises(treadle.LoopClosed):
                    target.invoke(gettid, wait=wait_how)

    def test_of_everything(self) -> None:
        """THR-21: a shutdown drops what is queued, and refuses what comes later."""
        script = """if True:
            import ctypes, treadle
            loop = treadle.RunLoop.current()
            function = ctypes.CDLL(None).gettid
            queued = loop.invoke(function, wait=False)
            closure = treadle.closure("ii", int, loop=loop, default=-4)
            treadle.shutdown()
            print(type(queued.exception()).__name__, closure(1))
            for wait in (True, False, "running"):
                try:
                    loop.invoke(function, wait=wait)
                except treadle.LoopClosed:
                    print("refused")
        """
        self.assertEqual(self.assertRuns(script).split(), ["LoopClosed", "-4"] + ["refused"] * 3)

    def test_many_at_once(self) -> None:
        """OBJ-7: threads that call, cancel and let go: each call comes to one end, and nothing is left."""
        ends: List[InvocationState] = []
        with LoopThread() as worker:

            def work() -> None:
                for number in range(500):
                    invocation = worker.loop.invoke(libc.abs, -number, wait=False)
                    if number % 3 == 0:
                        invocation.cancel()
                    if number % 5:
                        concurrent.futures.wait([invocation], 60)
                        ends.append(invocation.state)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(len(ends), 4 * 400)
            self.assertLessEqual(set(ends), {InvocationState.DONE, InvocationState.CANCELLED})
            worker.loop.invoke(gettid)
            gc.collect()
            self.assertFalse(treadle._registry.lingering)
            self.assertLessEqual(len(treadle._registry.invocations), 1)


if __name__ == "__main__":
    unittest.main()
