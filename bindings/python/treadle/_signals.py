# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Ctrl-C while the main thread runs a loop.

The interpreter's C handler of a signal writes to the wakeup descriptor, a pipe of ours whose other end
ends every sleep of the main thread's loop, so that no signal is lost between a look and a sleep. The library
then tells of it inside of the run, where the handlers run: so a stop that comes meanwhile meets the run.
If other code, such as asyncio, had set a wakeup descriptor before the run, ours takes its place meanwhile,
and what is read from the pipe is written to theirs: both are told.

When a signal arrives during a callback its exception is an ordinary one of that callback; but it can be
raised before the callback's first line, where nobody can catch it. The interpreter then drops it, and the
library sees that the callback did not complete. Two witnesses tell what it was: sys.unraisablehook, which
other code may replace, and the wakeup descriptor, which only knows the signal. The first also sees Ctrl-C where
Python drops it in a callback of a weak reference or in __del__, and ends the run with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from typing import Any, Callable, Optional, Tuple

from ._errors import check
from ._frames import innermost
from ._library import native
from ._threads import is_main

#: The read end and the write end; never closed, since the library watches the first.
_pipe: Optional[Tuple[int, int]] = None
_trampolines: Tuple[object, ...] = ()
#: The outermost run of the main thread.
_outermost: Optional[MainRun] = None
#: What the pipe had seen when the outermost run ended.
_left = b""
_previous_hook: Callable[[Any], object] = sys.unraisablehook

_check = ctypes.PyDLL(None).PyErr_CheckSignals


def run_handlers() -> None:
    """Runs the handlers of signals that have arrived; raises what they raise."""
    was_interrupted()  # first: a signal that arrives from now on ends the next sleep
    _check()


def serve() -> bool:
    """A signal has ended a sleep: runs its handler, inside of the run. False: the run ends with what that raised."""
    frame = innermost()
    try:
        run_handlers()
    except BaseException as error:
        if frame is None:
            raise
        if frame.error is None:
            frame.fail(error)
    return frame is None or frame.error is None


class MainRun:
    """Held while the main thread is in its outermost run."""

    __slots__ = ("others",)

    def __init__(self) -> None:
        #: The wakeup descriptor of other code, which is set again after the run; -1 without one.
        self.others = -1

    def __enter__(self) -> MainRun:
        global _pipe, _previous_hook, _outermost, _left
        _left = b""
        if _pipe is None:
            pipe = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
            check(native.treadle_loop_set_interrupt_descriptor(native.treadle_loop_current(), pipe[0]))
            _pipe = pipe
        self.install(_pipe[1])
        _outermost = self
        if sys.unraisablehook is not _hook:
            _previous_hook = sys.unraisablehook
            sys.unraisablehook = _hook
        return self

    def install(self, own: int) -> None:
        """Has signals write to our pipe."""
        previous = signal.set_wakeup_fd(own, warn_on_full_buffer=False)
        if previous not in (-1, own):
            self.others = previous

    def __exit__(self, *exception: object) -> None:
        global _outermost, _left
        self.others = _take_back(self.others)
        if exception[0] is not None:
            was_interrupted()  # what ended this run is not to interrupt the next one
        elif self.others != -1:
            _left = _read()  # others are told now
        _outermost = None
        if sys.unraisablehook is _hook:
            sys.unraisablehook = _previous_hook


def watch_again() -> None:
    """Somebody else's wakeup descriptor is gone: on the main thread a run needs ours."""
    if _outermost is not None and _pipe is not None and is_main():
        _outermost.install(_pipe[1])


def _take_back(others: int = -1) -> int:
    """No signal writes to our pipe any more, but to that of others; a descriptor that a callback has set stays. Meanwhile a signal
    writes to ours: there is no moment in which it writes to none. The descriptor that is set now."""
    if _pipe is None:
        return -1
    current = signal.set_wakeup_fd(_pipe[1], warn_on_full_buffer=False)
    if current == _pipe[1]:
        current = others
    try:
        signal.set_wakeup_fd(current)
    except (OSError, ValueError):  # it was closed meanwhile
        signal.set_wakeup_fd(-1)
        return -1
    return current


def _hook(arguments: Any) -> None:
    """Stores an exception of one of our trampolines, or a Ctrl-C, in the innermost frame of this thread."""
    # Since Python 3.13 the function is only named in the message.
    text = arguments.err_msg or ""
    ours = any(arguments.object is trampoline or repr(trampoline) in text for trampoline in _trampolines)
    is_ours = ours or is_main() and isinstance(arguments.exc_value, KeyboardInterrupt)
    frame = innermost() if is_ours else None
    if frame is not None and frame.error is None:
        frame.fail(arguments.exc_value)
        if frame.runs:  # no event may have failed for it
            native.treadle_loop_stop(native.treadle_loop_current())
    else:
        _previous_hook(arguments)


def watch(*trampolines: object) -> None:
    """Names the functions whose lost exceptions are to be recovered."""
    global _trampolines
    _trampolines = trampolines


def was_interrupted() -> bool:
    """Whether the wakeup descriptor has seen SIGINT since the last time."""
    global _left
    if _pipe is None or not is_main():
        return False
    seen, _left = _left + _read(), b""
    return bytes([signal.SIGINT]) in seen


def _read() -> bytes:
    """The signals that our pipe has seen since the last time; others whose place it has taken are told."""
    seen = b""
    assert _pipe is not None
    try:
        while data := os.read(_pipe[0], 4096):
            seen += data
    except BlockingIOError:
        pass
    if seen and _outermost is not None and _outermost.others != -1:
        with contextlib.suppress(OSError):  # full, so that they wake in any case, or closed
            os.write(_outermost.others, seen)
    return seen


def forget_parent() -> None:
    """In the child of a fork: a pipe shared with the parent would mix the signals of both."""
    global _pipe
    if _pipe is not None:
        _take_back()
        for end in _pipe:
            os.close(end)
        _pipe = None
