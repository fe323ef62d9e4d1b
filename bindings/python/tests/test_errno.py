# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""ctypes' errno travels with what is called on another thread, both ways."""

from __future__ import annotations

import ctypes
import errno
import threading
import unittest
from ctypes import CFUNCTYPE, c_char_p, c_int
from typing import Any, Callable, List, Tuple

import treadle
from treadle import Thread

from support import WATCHDOG, LoopThread, TestCase

libc = ctypes.CDLL(None, use_errno=True)
plain = ctypes.CDLL(None)
for library in (libc, plain):
    library.rmdir.argtypes = [c_char_p]
MISSING = b"/nowhere/at/all"
SAME = CFUNCTYPE(c_int, c_int, use_errno=True)


def refused(result: int, _function: object, arguments: Tuple[Any, ...]) -> int:
    """An errcheck, as programs write it."""
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused", arguments[0])
    return result


class ErrnoTestCase(TestCase):
    def setUp(self) -> None:
        super().setUp()
        worker = LoopThread()
        worker.__enter__()
        self.addCleanup(worker.__exit__, None, None, None)
        self.loop = worker.loop
        self.thread = self.loop.perform(Thread.current).result()
        ctypes.set_errno(0)

    def on_both(self, function: Any) -> None:
        """On the main thread, whose waits are another way, and on one more."""
        function()
        errors: List[BaseException] = []

        def body() -> None:
            try:
                function()
            except BaseException as error:
                errors.append(error)

        other = threading.Thread(target=body)
        other.start()
        other.join(WATCHDOG)
        if errors:
            raise errors[0]


class Invocations(ErrnoTestCase):
    def test_the_functions_errno(self) -> None:
        """PERF-7: a function of use_errno that is called elsewhere leaves its errno in ctypes.get_errno() here."""

        def check() -> None:
            for wait in (True, "running"):
                ctypes.set_errno(0)
                self.assertEqual(self.thread.invoke(libc.rmdir, MISSING, wait=wait), -1)
                self.assertEqual(ctypes.get_errno(), errno.ENOENT)
            ctypes.set_errno(0)
            self.assertEqual(Thread.current().invoke(libc.rmdir, MISSING), -1)
            self.assertEqual(ctypes.get_errno(), errno.ENOENT)

        self.on_both(check)

    def test_a_later_result(self) -> None:
        """PERF-7: without a wait, when the result is asked for."""

        def check() -> None:
            invocation = self.loop.invoke(libc.rmdir, MISSING, wait=False)
            ctypes.set_errno(0)
            self.assertEqual(invocation.result(WATCHDOG), -1)
            self.assertEqual(ctypes.get_errno(), errno.ENOENT)

        self.on_both(check)

    def test_the_callers_errno(self) -> None:
        """PERF-7: and the function begins with the caller's."""
        seen: List[int] = []

        def note(value: int) -> int:
            seen.append(ctypes.get_errno())
            ctypes.set_errno(value)
            return value

        function = SAME(note)

        def check() -> None:
            for wait in (True, "running", False):
                ctypes.set_errno(1001)
                result = self.loop.invoke(function, 2002, wait=wait)
                self.assertEqual(result.result(WATCHDOG) if wait is False else result, 2002)
                self.assertEqual(ctypes.get_errno(), 2002)

        self.on_both(check)
        self.assertEqual(seen, [1001] * 6)

    def test_errcheck_sees_it(self) -> None:
        """PERF-7: the usual errcheck works, with a wait and without."""
        function: Any = ctypes.CDLL(None, use_errno=True).rmdir
        function.argtypes, function.errcheck = [c_char_p], refused
        calls: List[Callable[[], Any]] = [
            lambda: self.loop.invoke(function, MISSING),
            lambda: self.loop.invoke(function, MISSING, wait="running"),
            lambda: self.loop.invoke(function, MISSING, wait=False).result(WATCHDOG),
        ]
        for call in calls:
            with self.assertRaises(FileNotFoundError):
                call()

    def test_without_use_errno(self) -> None:
        """PERF-7: functions that do not ask for it leave ctypes' errno alone, as in ctypes."""
        ctypes.set_errno(1001)
        for wait in (True, "running"):
            self.assertEqual(self.loop.invoke(plain.rmdir, MISSING, wait=wait), -1)
        self.assertEqual(self.loop.invoke(plain.rmdir, MISSING, wait=False).result(WATCHDOG), -1)
        self.assertEqual(ctypes.get_errno(), 1001)


class Performs(ErrnoTestCase):
    def test_performing(self) -> None:
        """PERF-7: what Python functions do to ctypes' errno on another thread comes back with their result."""

        calls: List[Callable[[], Any]] = [
            lambda: self.thread.perform(libc.rmdir, MISSING, wait=True),
            lambda: self.thread.perform(libc.rmdir, MISSING, wait=True, modes=treadle.DEFAULT),
            lambda: self.loop.perform(libc.rmdir, MISSING).result(WATCHDOG),
            lambda: Thread.current().perform(libc.rmdir, MISSING, wait=True),
        ]

        def check() -> None:
            for call in calls:
                ctypes.set_errno(1001)
                self.assertEqual(self.thread.perform(ctypes.get_errno, wait=True), 1001)
                self.assertEqual(call(), -1)
                self.assertEqual(ctypes.get_errno(), errno.ENOENT)

        self.on_both(check)

    def test_the_other_thread_keeps_its_own(self) -> None:
        """PERF-7: nobody's errno is disturbed, and a result whose function did not touch it changes nothing here."""
        self.loop.post(ctypes.set_errno, 3003)
        ctypes.set_errno(1001)
        future = self.loop.perform(int)
        ctypes.set_errno(1002)
        self.assertEqual(future.result(WATCHDOG), 0)
        self.assertEqual(ctypes.get_errno(), 1002)
        self.thread.perform(libc.rmdir, MISSING, wait=True)
        seen: List[int] = []
        self.loop.post(lambda: seen.append(ctypes.get_errno()))
        self.loop.perform(int).result(WATCHDOG)
        self.assertEqual(seen, [3003])


class Closures(ErrnoTestCase):
    def test_calls_that_are_carried(self) -> None:
        """PERF-7: a handler sees the errno of C's caller, who sees the handler's; use_errno of the prototype asks for it."""
        seen: List[int] = []

        def handle(value: int) -> int:
            seen.append(ctypes.get_errno())
            ctypes.set_errno(value)
            return value

        self.loop.post(ctypes.set_errno, 3003)
        carried = [
            treadle.closure(SAME, handle, loop=self.loop, delivery="sync"),
            treadle.closure(SAME, handle, loop=self.loop, delivery="running"),
        ]
        for closure in carried:
            with closure:
                ctypes.set_errno(1001)
                self.assertEqual(closure(2002), 2002)
                self.assertEqual(ctypes.get_errno(), 2002)
        with treadle.closure(SAME, handle) as inline:
            ctypes.set_errno(1001)
            self.assertEqual(inline(2002), 2002)
            self.assertEqual(ctypes.get_errno(), 2002)
        self.assertEqual(seen, [1001] * 3)
        self.assertEqual(self.loop.perform(ctypes.get_errno).result(WATCHDOG), 2002)  # the caller's

    def test_without_use_errno(self) -> None:
        """PERF-7: a prototype without it leaves ctypes' errno alone."""
        prototype = CFUNCTYPE(c_int, c_int)
        is_set = threading.Event()  # a call may come before a post that was made earlier

        def set_there() -> None:
            ctypes.set_errno(3003)
            is_set.set()

        with treadle.closure(prototype, lambda value: ctypes.get_errno(), loop=self.loop) as closure:
            self.loop.post(set_there)
            self.assertTrue(is_set.wait(WATCHDOG))
            ctypes.set_errno(1001)
            self.assertEqual(closure(5), 3003)
            self.assertEqual(ctypes.get_errno(), 1001)


if __name__ == "__main__":
    unittest.main()
