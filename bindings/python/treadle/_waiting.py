# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Waiting inside the library, and who waits for whom.

The main thread waits in slices: between two of them its signal handlers run, so that Ctrl-C ends the wait. A
function that it has another thread perform cannot be waited for in slices; it waits for the Future then, which
the library knows nothing of. So the package keeps its own record of who waits, to find cycles.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Callable, Dict, Iterator, Optional, Tuple, Union

from . import _capi
from ._errors import DeadlockError
from ._frames import LastingFrame, call
from ._threads import is_main

if TYPE_CHECKING:
    from ._loop import RunLoop
    from ._thread import Thread

    # Of a loop the thread need not be known.
    Target = Union[Thread, RunLoop]

#: The longest that Ctrl-C waits.
SLICE_NS = 50_000_000

_lock = threading.Lock()
#: What each thread waits for without an end, and how to tell that it need not any more.
_waits: Dict[Thread, Tuple[Target, Callable[[], bool]]] = {}


def _wait_of(target: Target) -> Optional[Tuple[Target, Callable[[], bool]]]:
    """What a thread waits for. The caller holds the lock."""
    found = _waits.get(target)  # type: ignore[arg-type]
    if found is None and not hasattr(target, "id"):
        identity = target.thread_id
        found = next((wait for thread, wait in list(_waits.items()) if identity and thread.id == identity), None)
    return found


@contextmanager
def waiting_for(target: Target, current: Thread, is_over: Callable[[], bool], is_endless: bool) -> Iterator[None]:
    """Held while the calling thread waits for another one. Raises DeadlockError if that could only fail.

    A wait that is over counts no more, though its thread may not know yet; one with a timeout stands in nobody's way.
    """
    with _lock:
        _refuse_circle(target, current)
        if is_endless:
            _waits[current] = target, is_over
    try:
        yield
    finally:
        with _lock:
            _waits.pop(current, None)


def begin_wait(target: Target, current: Thread, is_over: Callable[[], bool]) -> None:
    """The same for a wait without an end, until end_wait(): quicker when nobody else waits."""
    # Told before it looks: of two that wait for each other at least one sees the other.
    _waits[current] = target, is_over
    if len(_waits) > 1:
        with _lock:
            try:
                _refuse_circle(target, current)
            except DeadlockError:
                _waits.pop(current, None)
                raise


def end_wait(current: Thread) -> None:
    """What begin_wait() began is over."""
    _waits.pop(current, None)


def _refuse_circle(target: Target, current: Thread) -> None:
    """Raises DeadlockError if the target waits for the calling thread. The caller holds the lock."""
    thread: Optional[Target] = target
    while thread is not None:
        if thread is current or getattr(thread, "is_current", False):
            raise DeadlockError("the thread waits, directly or through others, for the caller", _capi.E_DEADLOCK)
        wait = _wait_of(thread)
        thread = None if wait is None or wait[1]() else wait[0]


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


def forget_others() -> None:
    """In the child of a fork nobody waits but the calling thread, and it does not either."""
    global _lock
    _lock = threading.Lock()
    _waits.clear()
