# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Threads between their start and their first line of Python.

At its end the interpreter may leave threads behind, but not one that is still to take its lock for the first
time: there is nothing left then to take. So the end waits for those few, and no more of them come.
"""

from __future__ import annotations

import threading

from . import _capi
from ._errors import LoopClosed

_changed = threading.Condition()
_count = 0
_is_closed = False


def begin() -> None:
    """A thread is about to be started. Raises LoopClosed at the end of the interpreter."""
    global _count
    with _changed:
        if _is_closed:
            raise LoopClosed("the interpreter ends: no thread is started any more", _capi.E_CLOSED)
        _count += 1


def end() -> None:
    """It has reached Python, or never will."""
    global _count
    with _changed:
        _count -= 1
        _changed.notify_all()


def close(seconds: float) -> None:
    """At the end of the interpreter: no thread begins any more; waits for those that have begun."""
    global _is_closed
    with _changed:
        _is_closed = True
        _changed.wait_for(lambda: _count == 0, seconds)


def forget_parent() -> None:
    """In the child of a fork nobody is starting."""
    global _changed, _count
    _changed = threading.Condition()
    _count = 0
