# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What several test modules need."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, List, Optional, Type

import treadle
from treadle import _library

TESTS = Path(__file__).resolve().parent
PACKAGE_ROOT = Path(treadle.__file__).resolve().parent.parent
REPOSITORY = TESTS.parents[2]
INCLUDE = REPOSITORY / "include"

#: Seconds after which something hangs. No test waits for it to pass.
WATCHDOG = 120.0

#: Set to run the long variants too.
SLOW = bool(os.environ.get("TREADLE_SLOW"))

slow = unittest.skipUnless(SLOW, "long: set TREADLE_SLOW=1")
needs_checkout = unittest.skipUnless((INCLUDE / "treadle.h").is_file(), "needs a checkout of the repository")


#: The types of foreign.c: a function pointer that is called with a number, and structs.
NUMBER = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)


class Pair(ctypes.Structure):
    """struct pair."""

    _fields_ = [("small", ctypes.c_int8), ("large", ctypes.c_double)]


class Nest(ctypes.Structure):
    """struct nest."""

    _fields_ = [("pairs", Pair * 2), ("text", ctypes.c_char_p)]


NEST = ctypes.CFUNCTYPE(Nest, Nest, ctypes.c_int32)


class TestCase(unittest.TestCase):
    """A test under a watchdog, which prints every thread's stack."""

    def setUp(self) -> None:
        self.watch()
        self.addCleanup(faulthandler.cancel_dump_traceback_later)

    def watch(self) -> None:
        """The watchdog begins anew: for tests of many parts."""
        faulthandler.dump_traceback_later(WATCHDOG, exit=True)

    def wait(self, event: threading.Event) -> None:
        """Waits for an event that must come."""
        self.assertTrue(event.wait(WATCHDOG), "the event did not come")

    def assertRuns(self, script: str, *arguments: str) -> str:
        """Runs a script in an interpreter of its own, which must end well; what it printed."""
        result = run_python(script, *arguments)
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
        return result.stdout


def environment() -> "dict[str, str]":
    """For a child that imports this very package and library."""
    path = os.pathsep.join([str(PACKAGE_ROOT), str(TESTS)])
    return {**os.environ, "PYTHONPATH": path, "TREADLE_LIBRARY": str(_library.locate()), "PYTHONFAULTHANDLER": "1"}


def run_python(script: str, *arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Runs a script in an interpreter of its own, with more variables in its environment."""
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=WATCHDOG, env={**environment(), **variables}
    )


class LoopThread:
    """A thread that runs its loop in the default mode for the length of a with-statement."""

    def __init__(self, prepare: Optional[Callable[[treadle.RunLoop], object]] = None) -> None:
        self._prepare = prepare
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.loop: treadle.RunLoop
        self.result: Optional[treadle.RunResult] = None
        self.error: Optional[BaseException] = None

    def __enter__(self) -> LoopThread:
        self._thread.start()
        assert self._ready.wait(WATCHDOG)
        return self

    def __exit__(
        self, _type: Optional[Type[BaseException]], _value: object, _traceback: Optional[TracebackType]
    ) -> None:
        self.loop.request_stop()
        self.join()

    def join(self) -> None:
        self._thread.join(WATCHDOG)
        assert not self._thread.is_alive()

    @property
    def identity(self) -> Optional[int]:
        return self._thread.ident

    def _run(self) -> None:
        self.loop = treadle.RunLoop.current()
        keeper = treadle.Source(label="keeps the mode from being empty")
        self.loop.add(keeper)
        if self._prepare is not None:
            self._prepare(self.loop)
        self._ready.set()
        try:
            self.result = self.loop.run()
        except BaseException as error:
            self.error = error


def in_thread(function: Callable[[], Any]) -> Any:
    """What a function returns, or raises, on a thread of its own."""
    results: List[Any] = []
    errors: List[BaseException] = []

    def body() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=body)
    thread.start()
    thread.join(WATCHDOG)
    if errors:
        raise errors[0]
    return results[0]


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether something that the kernel tells of nobody comes true; gives the processor away meanwhile."""
    end = time.monotonic() + WATCHDOG
    while not condition():
        if time.monotonic() > end:
            return False
        os.sched_yield()
    return True


@lru_cache(maxsize=None)
def foreign() -> Any:
    """The helper in C that makes threads which Python does not know (foreign.c)."""
    with tempfile.TemporaryDirectory(prefix="treadle-") as folder:
        return load_foreign(compile_foreign(folder))


def compile_foreign(folder: str) -> str:
    """Compiles the helper; its path."""
    target = Path(folder) / "foreign.so"
    library = _library.locate()
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", str(target)]
        + [f"-I{INCLUDE}", str(TESTS / "foreign.c"), str(library), f"-Wl,-rpath,{library.parent}"],
        check=True,
    )
    return str(target)


def load_foreign(path: str) -> Any:
    """The compiled helper."""
    helper = ctypes.CDLL(path)
    helper.foreign_start.restype = ctypes.c_void_p
    for name in ("foreign_loop", "foreign_stop", "foreign_signal_for_ever"):
        getattr(helper, name).argtypes = [ctypes.c_void_p]
    helper.foreign_loop.restype = ctypes.c_void_p
    helper.foreign_touch_many.argtypes = [ctypes.c_int]
    helper.foreign_callers_start.argtypes = [NUMBER, ctypes.c_int]
    helper.foreign_callers_start.restype = ctypes.c_void_p
    for name in ("calls", "defaults", "stop"):
        function = getattr(helper, f"foreign_callers_{name}")
        function.argtypes, function.restype = [ctypes.c_void_p], ctypes.c_int64
    helper.foreign_call_for_ever.argtypes = helper.foreign_call_at_the_end.argtypes = [NUMBER]
    helper.foreign_call.argtypes = [NUMBER, ctypes.c_int32]
    helper.foreign_swap.argtypes, helper.foreign_swap.restype = [Nest, ctypes.c_int32], Nest
    helper.foreign_call_nest.argtypes, helper.foreign_call_nest.restype = [NEST, Nest], Nest
    return helper
