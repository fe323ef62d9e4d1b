# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Pools: what is put off until the pass, the thread or a with-statement ends."""

from __future__ import annotations

import contextlib
import io
import unittest
from typing import Any, List

import treadle
from treadle import Error, InvalidArgument, RunLoop, Thread, Timer, pool

from support import TestCase, WATCHDOG, eventually, in_thread


class Pools(TestCase):
    def test_order(self) -> None:
        """POOL-2: released at the end of the with-statement, the latest first; inner ones on their own."""
        seen: List[Any] = []
        with pool() as outer:
            outer.add(seen.append, 1)
            pool.add(seen.append, 2)
            with pool():
                pool.add(seen.extend, [3])
                pool.add(seen.append, 4)
                self.assertEqual(seen, [])
            self.assertEqual(seen, [4, 3])
        self.assertEqual(seen, [4, 3, 2, 1])
        with outer:
            outer.add(seen.append, "again")
        self.assertEqual(seen[4:], ["again"])

    def test_what_is_left_open(self) -> None:
        """POOL-2: is closed with the outer one; closing it later is an error."""
        seen: List[int] = []
        inner = pool()
        with pool():
            inner.__enter__()
            inner.add(seen.append, 1)
        self.assertEqual(seen, [1])
        with self.assertRaises(InvalidArgument):
            inner.__exit__(None, None, None)
        with self.assertRaises(Error), pool() as twice:
            twice.__enter__()
        with self.assertRaises(TypeError):
            pool.add(3)  # type: ignore[arg-type]

    def test_on_another_thread(self) -> None:
        """POOL-2: a pool belongs to the thread that opened it."""
        mine = pool()
        with pool():
            mine.__enter__()
            with self.assertRaises(InvalidArgument):
                in_thread(lambda: mine.__exit__(None, None, None))

    def test_threads(self) -> None:
        """POOL-4, POOL-2: a Treadle thread has a pool around its function; others release at their end."""
        seen: List[str] = []

        def body() -> None:
            pool.add(seen.append, "released")
            seen.append("body")

        thread = Thread(body)
        thread.start()
        thread.join(WATCHDOG)
        self.assertEqual(seen, ["body", "released"])
        in_thread(body)
        self.assertTrue(eventually(lambda: seen == ["body", "released"] * 2))

    def test_exceptions(self) -> None:
        """POOL-5, ABI-3: raised by the with-statement; the rest is released; reported where a run closes the pool."""
        seen: List[int] = []
        with self.assertRaises(ZeroDivisionError):
            with pool():
                pool.add(seen.append, 1)
                pool.add(divmod, 1, 0)
                pool.add(seen.append, 2)
        self.assertEqual(seen, [2, 1])
        timer = Timer(lambda timer: pool.add(divmod, 1, 0), delay=0)
        RunLoop.current().add(timer, "exceptions")
        with contextlib.redirect_stderr(io.StringIO()) as output:
            self.assertIs(RunLoop.current().run("exceptions", WATCHDOG), treadle.RunResult.FINISHED)
        self.assertIn("ZeroDivisionError", output.getvalue())


if __name__ == "__main__":
    unittest.main()
