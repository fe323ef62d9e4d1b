# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Waiting inside the library.

The main thread waits in slices where a signal does not end the wait: between two of them its signal handlers run, so
that Ctrl-C ends it. The library knows which thread waits for which, and refuses circles; a slice is a wait like any other.

A signal ends treadle_host_wait, which futures and requests wait by. It does not end the others: locks and conditions are those of
POSIX threads, whose waits go on after a handler; closes, joins, the shutdown and waits for room in a port go on as well, since a C
program that they returned to could do nothing else with that. Slices would be needed for them in any case, only longer ones: a
signal that comes between the interpreter's last look and the wait in the kernel ends no wait, and nothing tells of it (_future.LOOK_NS).
"""

from __future__ import annotations

import time
from typing import Callable

from . import _capi
from ._frames import LastingFrame, call
from ._threads import is_main

#: The longest that Ctrl-C waits.
SLICE_NS = 50_000_000


def wait(function: Callable[[int], int], timeout: int) -> int:
    """Calls a function that waits for at most so many nanoseconds; what it returned last. On the main thread it is called
    again and again, so that handlers of signals run between two calls."""
    if not is_main():
        return function(timeout)
    started = time.monotonic_ns()
    left = timeout
    while True:
        status = function(min(left, SLICE_NS))
        if status != _capi.E_TIMEOUT:
            return status
        if timeout != _capi.FOREVER:
            left = timeout - (time.monotonic_ns() - started)
            if left <= 0:
                return status


def wait_with_callbacks(function: Callable[..., int], timeout: int, *arguments: object) -> int:
    """The same for a function of the library that may call schedule or cancel: raises what they raised, when it is over."""
    frame = LastingFrame()
    status = wait(lambda nanoseconds: call(frame, function, *arguments, nanoseconds), timeout)
    frame.raise_at_last()
    return status
