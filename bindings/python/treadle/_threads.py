# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The calling thread: its loop, and the interpreter's state of threads that Python did not make.

When C calls into Python on a foreign thread, the interpreter makes a thread state and destroys it when
the call returns. That takes thirty times as long as the call, and empties every threading.local. So the
first callback on such a thread pins its state. It is unpinned when the thread's own destructors run, which
is before those of thread-specific values, where the interpreter forgets which state the thread has.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from ctypes import c_int
from threading import get_ident
from typing import TYPE_CHECKING, Any, List, Optional

from . import _registry
from ._threading import introduce

if TYPE_CHECKING:
    from ._closure import Closure
    from ._loop import RunLoop
    from ._scope import Scope
    from .aio._turns import Turns

_python = ctypes.PyDLL(None)
_python.PyGILState_Ensure.restype = c_int
_python.PyGILState_Release.argtypes = [c_int]
_python.PyGILState_Release.restype = None
#: Has a function called at the end of the calling thread; None where the C library cannot.
_call_at_end: Any = getattr(_python, "__cxa_thread_atexit_impl", None)

_LOCKED = 0  # PyGILState_LOCKED: the interpreter's lock was held before

#: The closure that unpins a thread's state. One, since it is the library's: it calls nothing once the interpreter has ended.
_unpinner: Optional[Closure] = None


class ThreadLocals(threading.local):
    """One thread's part."""

    def __init__(self) -> None:
        #: The thread's own loop, once somebody asked for it.
        self.loop: Optional[RunLoop] = None
        #: Dies with the thread.
        self.sentinel: object = None
        #: How asyncio has its turns in the thread's loop, while a treadle.aio.EventLoop runs there.
        self.turns: Optional[Turns] = None
        #: The scopes that it has entered and not left, the innermost last.
        self.scopes: List[Scope] = []
        #: Whether its state is pinned. Kept here, since a later thread may have the same identity.
        self.is_pinned = False


#: The calling thread's part.
thread = ThreadLocals()


#: The identity of the thread on which Python runs signal handlers.
_main = threading.main_thread().ident


def is_main() -> bool:
    """Whether this is the thread on which Python runs signal handlers."""
    return get_ident() == _main


def is_made_by_python() -> bool:
    """Whether threading.Thread made the calling thread."""
    # threading.current_thread() would leave an entry behind for every foreign thread.
    known = threading._active.get(threading.get_ident())  # type: ignore[attr-defined]
    return known is not None and not isinstance(known, threading._DummyThread)


def enter(_user: object) -> None:
    """Called by the library on each thread before its first callback."""
    # On a thread that is inside Python there is a frame below this one. Its state must not be pinned: the
    # interpreter deletes it itself.
    if sys._getframe().f_back is None and not thread.is_pinned and _call_at_end is not None and _unpinner is not None:
        _python.PyGILState_Ensure()
        thread.is_pinned = True
        code = _unpinner.pointer
        _call_at_end(code, None, code)  # the last keeps the library loaded until then
        introduce()


def unpin(_nothing: object) -> None:
    """Called at the end of each thread whose state is pinned: the state goes when this call returns."""
    thread.is_pinned = False
    _python.PyGILState_Release(_LOCKED)


def unpin_by(closure: Closure) -> None:
    """Names the closure of unpin(); it must live for ever."""
    global _unpinner
    _unpinner = closure


def leave(_user: object) -> None:
    """Called by the library at the end of each thread that it called `enter` on."""
    identity = get_ident()
    thread_object = _registry.running.pop(identity, None)
    if thread_object is not None:
        thread_object._ended()
    loop = _registry.foreign.pop(identity, None)
    if loop is not None:
        loop._thread_ended()
    _forget_dummy(identity)


def _forget_dummy(identity: int) -> None:
    """Before Python 3.13 the entry that current_thread() makes for a foreign thread was never removed."""
    with threading._active_limbo_lock:  # type: ignore[attr-defined]
        if isinstance(threading._active.get(identity), threading._DummyThread):  # type: ignore[attr-defined]
            del threading._active[identity]  # type: ignore[attr-defined]


def forget_others() -> None:
    """In the child of a fork only the calling thread lives, as the main one."""
    global _main
    _main = threading.get_ident()
    thread.loop = None
    thread.sentinel = None
    thread.turns = None
    thread.scopes = []
