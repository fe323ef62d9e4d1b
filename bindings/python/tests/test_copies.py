# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The process has a copy of the library already, as a host in C brings it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from treadle import _library

from support import TestCase

SCRIPT = """
import ctypes, sys

first = ctypes.CDLL(sys.argv[1], ctypes.RTLD_LOCAL)
first.treadle_loop_current.restype = ctypes.c_void_p
first.treadle_loop_post.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
first.treadle_loop_run.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64, ctypes.c_uint32]
handle = first.treadle_loop_current()

import treadle

loop = treadle.RunLoop.current()
assert loop._handle == handle, (loop._handle, handle)
called = []
told = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda info: called.append(info))
assert first.treadle_loop_post(handle, ctypes.cast(told, ctypes.c_void_p), 7) == 0
loop.run(seconds=0)
assert called == [7], called
loop.post(lambda: called.append("Python's"))
first.treadle_loop_run(handle, b"kCFRunLoopDefaultMode", 0, 0)
assert called == [7, "Python's"], called
print("one")
"""


class Copies(TestCase):
    def test_a_host_brings_another(self) -> None:
        """ABI-8, RL-1: one loop on a thread; what one posts is called in a run of the other."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "host.so"
            shutil.copyfile(_library.locate(), copy)
            self.assertEqual(self.assertRuns(SCRIPT, str(copy)), "one\n")
