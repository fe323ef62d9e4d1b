# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What is set and asked of a thread, and its dictionary."""

from __future__ import annotations

import os
import threading
import unittest
from pathlib import Path
from typing import List

from treadle import Error, InvalidArgument, Thread

from support import TestCase, WATCHDOG, eventually, in_thread


class Attributes(TestCase):
    def test_stack_size(self) -> None:
        """THR-13: 8 MiB here; bad sizes are refused and the old value stays; not after the start."""
        thread = Thread(int)
        self.assertEqual(thread.stack_size, 8 * 1024 * 1024)
        thread.stack_size = 65536
        for size in (0, 1, -1, 16383, 16385, 2**31, 2**64, 2**64 + 16384):
            with self.assertRaises(InvalidArgument):
                thread.stack_size = size
            with self.assertRaises(InvalidArgument):
                Thread(int, stack_size=size)
        self.assertEqual(thread.stack_size, 65536)
        with self.assertRaises(TypeError):
            thread.stack_size = 1.5  # type: ignore[assignment]
        thread.stack_size = 1024 * 1024
        thread.start()
        with self.assertRaises(Error):
            thread.stack_size = 65536
        thread.join(WATCHDOG)
        self.assertEqual(in_thread(lambda: Thread.current().stack_size), 0)

    def test_deep_recursion(self) -> None:
        """THR-13: what Python allows fits into the default stack."""

        def deep(number: int) -> int:
            return 0 if number == 0 else 1 + max([number - 1], key=lambda left: left) * 0 + deep(number - 1)

        def recurse() -> int:
            with self.assertRaises(RecursionError):
                deep(10**6)
            return deep(200)

        thread = Thread(recurse)
        thread.start()
        self.assertEqual(thread.join(WATCHDOG), 200)

    def test_names(self) -> None:
        """THR-13: any text, at any time; the kernel has as many whole characters as fit."""
        for name in ("", "x" * 15, "y" * 16, "ü" * 8, "名" * 100):
            thread = Thread(lambda: Path(f"/proc/self/task/{threading.get_native_id()}/comm").read_text(), name=name)
            self.assertEqual(thread.name, name)
            thread.start()
            shown = thread.join(WATCHDOG)
            if name:
                self.assertEqual(shown, name.encode()[:15].decode(errors="ignore") + "\n")
            self.assertEqual(thread.name, name)
        self.assertIn("'later'", repr(Thread(name="later")))
        thread = Thread(int)
        thread.name = "z" * 65535
        for bad in ("a\0b", "\ud800", "z" * 65536):
            with self.assertRaises(ValueError):
                thread.name = bad
        self.assertEqual(thread.name, "z" * 65535)
        with self.assertRaises(TypeError):
            thread.name = b"bytes"  # type: ignore[assignment]

    def test_priority(self) -> None:
        """THR-13: limited, kept, and tells whether the kernel has it."""
        thread = Thread(lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        self.assertEqual((thread.priority, thread.priority_applied), (0.5, True))
        for value, kept in ((-1, 0.0), (2, 1.0), (0.25, 0.25)):
            thread.priority = value
            self.assertEqual(thread.priority, kept)
        self.assertFalse(thread.priority_applied)
        with self.assertRaises(InvalidArgument):
            thread.priority = float("nan")
        thread.priority = 0  # which every process may take, whatever it has itself
        thread.start()
        self.assertEqual(thread.join(WATCHDOG), 19)
        self.assertTrue(thread.priority_applied)
        self.assertEqual(Thread(priority=0.75).priority, 0.75)
        with self.assertRaises(Error):
            thread.priority = 0.5


class Dictionary(TestCase):
    def test_it_is_a_mapping(self) -> None:
        """THR-12: with text for keys, and any values."""
        values = Thread.current().dictionary
        self.addCleanup(values.clear)
        values["a"], values["b"] = 1, None
        self.assertEqual((dict(values), len(values), "a" in values, values.get("c")), ({"a": 1, "b": None}, 2, True, None))
        for key in values:
            del values[key]
        self.assertEqual((len(values), repr(values)), (0, "<ThreadDictionary {}>"))
        with self.assertRaises(KeyError):
            values["a"]
        with self.assertRaises(TypeError):
            values[1] = 2  # type: ignore[index]

    def test_from_other_threads(self) -> None:
        """THR-12: one a thread, readable and changeable from others through the object."""
        entered, go_on = threading.Event(), threading.Event()

        def body() -> object:
            Thread.current().dictionary["theirs"] = "value"
            entered.set()
            self.wait(go_on)
            return Thread.current().dictionary["ours"]

        thread = Thread(body)
        thread.start()
        self.wait(entered)
        self.assertEqual(dict(thread.dictionary), {"theirs": "value"})
        thread.dictionary["ours"] = "written by another"
        self.assertNotIn("theirs", Thread.current().dictionary)
        go_on.set()
        self.assertEqual(thread.join(WATCHDOG), "written by another")

    def test_its_end(self) -> None:
        """THR-12: the values go at the end of the thread, on it, Python's own too; no new ones are taken."""

        class Value:
            def __init__(self) -> None:
                self.thread = threading.get_ident()

            def __del__(self) -> None:
                ended.append(threading.get_ident() == self.thread)

        ended: List[bool] = []

        def body() -> Thread:
            Thread.current().dictionary["value"] = Value()
            return Thread.current()

        thread = Thread(body)
        thread.start()
        self.assertIs(thread.join(WATCHDOG), thread)
        self.assertEqual(ended, [True])
        of_python = in_thread(body)
        self.assertTrue(eventually(lambda: len(ended) == 2))
        self.assertEqual(ended, [True, True])
        for over in (thread, of_python):
            self.assertEqual(len(over.dictionary), 0)
            with self.assertRaises(Error):
                over.dictionary["late"] = 1


if __name__ == "__main__":
    unittest.main()
