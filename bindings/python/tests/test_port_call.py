# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Calls of functions that the other side of a message port has exported."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import unittest
from typing import Any, List, Tuple

from treadle import COMMON, Error, InvalidArgument, LoopClosed, MessagePort, NoReply, _capi

from support import environment, in_thread
from test_message_port import PortTestCase, new_name


class Point(ctypes.Structure):
    """What exported functions take and return."""

    _fields_ = [("x", ctypes.c_double), ("y", ctypes.c_double)]


POINT = "{Point=dd}"
CHILD = """
import ctypes, sys, treadle

loop = treadle.RunLoop.current()
libc = ctypes.CDLL(None)
libc.labs.argtypes, libc.labs.restype = [ctypes.c_long], ctypes.c_long

def fail():
    raise ValueError("not for the caller")

def reverse(data, size):
    for index, value in enumerate(data[:size][::-1]):
        data[index] = value

functions = {
    "add": treadle.closure("iii", lambda a, b: a + b),
    "labs": libc.labs,
    "strlen": ("QO*", libc.strlen),
    "is text": treadle.closure(ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_char_p), lambda text: text is not None),
    "mirrored": treadle.closure("{Point=dd}{Point=dd}", lambda point: (point.b, point.a)),
    "reverse": treadle.closure("vN^CQ", reverse),
    "fill": ("vo^CIQ", ctypes.cast(libc.memset, ctypes.c_void_p).value),
    "fail": treadle.closure("i", fail, default=-1),
    "stop": treadle.closure("v", loop.stop),
}
port = treadle.MessagePort.local(sys.argv[1], functions=functions)
del functions
loop.add(port)
print("ready", flush=True)
loop.run()
"""


class Calls(PortTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.child = subprocess.Popen(
            [sys.executable, "-c", CHILD, self.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        )
        self.addCleanup(self.child.communicate)
        self.addCleanup(self.child.kill)
        assert self.child.stdout is not None
        self.assertEqual(self.child.stdout.readline(), "ready\n")
        self.port = MessagePort.remote(self.name)

    def test_functions_of_the_other_side_are_called(self) -> None:
        """MSG-11"""
        port = self.port
        self.assertEqual(port.call("add", "iii", 40, 2), 42)
        self.assertEqual(port.call("labs", "qq", -5_000_000_000, mode="own", timeout=100.0), 5_000_000_000)
        long = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)
        self.assertEqual(port.call("labs", long, -1), 1)
        for text in ("banana", b"banana"):
            self.assertEqual(port.call("strlen", "QO*", text), 6)
        is_text = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_char_p)
        self.assertIs(port.call("is text", is_text, ""), True)
        self.assertIs(port.call("is text", is_text, None), False)
        mirrored = port.call("mirrored", POINT + POINT, Point(1.5, -2))
        self.assertEqual((mirrored.a, mirrored.b), (-2, 1.5))
        in_thread(lambda: self.assertEqual(port.call("add", "iii", -1, 1), 0))

    def test_buffers_are_written_to_where_they_are(self) -> None:
        """MSG-11"""
        data, whole = bytearray(b"stressed"), bytearray(b"....")
        self.assertIsNone(self.port.call("reverse", "vN^CQ", data, 8))
        self.assertEqual(data, b"desserts")
        data.append(0)  # and are free again
        array = (ctypes.c_int * 2)(7, 9)
        self.port.call("reverse", "vN^CQ", array, 8)
        self.assertEqual(bytes(array), bytes([0, 0, 0, 9, 0, 0, 0, 7]))
        self.port.call("fill", "vo^CIQ", memoryview(whole)[:2], ord("x"), 2)
        self.assertEqual(whole, b"xx..")
        self.port.call("reverse", "vN^CQ", bytearray(), 0)
        for bad, word in ((b"read-only", "writes"), ("text", "bytes-like"), (memoryview(data)[::2], "row")):
            with self.assertRaisesRegex(TypeError, f"argument 0 .*{word}"):
                self.port.call("reverse", "vN^CQ", bad, 1)
        self.assertEqual(whole, b"xx..")

    def test_what_does_not_fit_is_refused(self) -> None:
        """MSG-11"""
        port = self.port
        self.assertIn("name", self.assertCode(_capi.E_NOT_FOUND, port.call, "subtract", "iii", 1, 2))
        for signature, arguments in (("qqq", (1, 2)), ("v^v", (None,)), ("v*", (b"",)), ("v^?", (None,)), ("vi...i", (1, 2))):
            message = self.assertCode(_capi.E_SIGNATURE, port.call, "add", signature, *arguments)
            self.assertIn("signature", message)
        self.assertCode(_capi.E_RANGE, port.call, "", "iii", 1, 2)
        self.assertCode(_capi.E_ARG, port.call, "stop", "v", mode=COMMON)
        for bad in ("vQ", "Q*", 7):
            with self.assertRaises((TypeError, InvalidArgument)):
                port.call("strlen", bad)
        wrong: List[Tuple[str, Tuple[Any, ...], str]] = [
            ("iii", (1,), "2 arguments, not 1"),
            ("iii", (1, "two"), "argument 1"),
            ("QO*", (7,), "argument 0"),
            ("QO*", ("a\0b",), "NUL"),
        ]
        for signature, given, word in wrong:
            with self.assertRaisesRegex(TypeError, word):
                port.call("add", signature, *given)
        with self.assertRaises(ValueError):
            port.call("a\0b", "v")
        with self.assertRaises(TypeError):
            port.call(7, "v")  # type: ignore[arg-type]

    def test_a_function_that_raises_returns_its_default(self) -> None:
        """MSG-11 THR-19"""
        self.assertEqual(self.port.call("fail", "i"), -1)
        self.assertIsNone(self.port.call("stop", "v"))
        _, printed = self.child.communicate()
        self.assertEqual(self.child.returncode, 0)
        self.assertIn("not for the caller", printed)
        with self.assertRaises((LoopClosed, Error)):
            self.port.call("add", "iii", 1, 2)

    def test_nothing_that_does_not_travel_is_exported(self) -> None:
        """MSG-11"""
        libc = ctypes.CDLL(None)
        own = new_name()
        for bad in (libc.labs, print, 7, ("v", print), ("v", True), (7, 7), ("v", ctypes.pythonapi.PyErr_Clear)):
            with self.assertRaises(TypeError):
                self.local(name=own, functions={"bad": bad})
        for signature in ("v^v", "v*", "v^?"):
            self.assertCode(_capi.E_SIGNATURE, self.local, name=own, functions={"bad": (signature, libc.labs)})
        self.assertCode(_capi.E_RANGE, self.local, name=own, functions={"": ("v", libc.labs)})
        with self.assertRaises(TypeError):
            self.local(name=own, functions=["bad"])
        with self.assertRaises(TypeError):
            self.local(name=own, functions={7: ("v", libc.labs)})

    def test_time_passes(self) -> None:
        """MSG-11 MSG-8"""
        name = new_name()
        local = self.local(name=name, functions={"abs": ("ii", ctypes.CDLL(None).abs)})
        remote = MessagePort.remote(name)
        self.assertRaises(NoReply, remote.call, "abs", "ii", -1, timeout=0)
        self.loop.add(local, "own")
        self.assertEqual(remote.call("abs", "ii", -3, mode="own"), 3)
        self.assertCode(_capi.E_STATE, local.call, "abs", "ii", -1)


if __name__ == "__main__":
    unittest.main()
