# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The calling thread: its loop, and the interpreter's state of threads that Python did not make.

When C calls into Python on a foreign thread, the interpreter makes a thread state and destroys it when
the call returns. That takes thirty times as long as the call, and empties every threading.local. So the
first callback on such a thread pins its state, and the thread's end unpins it.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from ctypes import c_int, c_uint, c_void_p
from threading import get_ident
from typing import TYPE_CHECKING, Dict, Optional

from . import _registry

if TYPE_CHECKING:
    from ._loop import RunLoop

_python = ctypes.PyDLL(None)
_python.PyGILState_Ensure.restype = c_int
_python.PyGILState_Release.argtypes = [c_int]
_python.PyGILState_Release.restype = None
_python.PyThreadState_Get.restype = c_void_p
_python.PyThreadState_Clear.argtypes = _python.PyThreadState_Delete.argtypes = [c_void_p]
_python.PyThreadState_Clear.restype = _python.PyThreadState_Delete.restype = None
_python.pthread_getspecific.argtypes = [c_uint]
_python.pthread_getspecific.restype = c_void_p
_python.pthread_setspecific.argtypes = [c_uint, c_void_p]

_LOCKED = 0  # PyGILState_LOCKED: the interpreter's lock was held before
_MOST_KEYS = 1024  # PTHREAD_KEYS_MAX

#: The pinned thread states, by thread.
_pinned: Dict[int, int] = {}
#: The thread-specific key under which the interpreter keeps a thread's state; -1 when there is none.
_key: Optional[int] = None


class ThreadLocals(threading.local):
    """One thread's part."""

    def __init__(self) -> None:
        #: The thread's own loop, once somebody asked for it.
        self.loop: Optional[RunLoop] = None
        #: Dies with the thread.
        self.sentinel: object = None


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
    # On a thread that is inside Python there is a frame below this one. Its state must not be pinned:
    # the interpreter deletes it itself, before the thread's destructors run.
    identity = threading.get_ident()
    if sys._getframe().f_back is None and identity not in _pinned:
        _python.PyGILState_Ensure()
        state = _python.PyThreadState_Get()
        _find_key(state)
        _pinned[identity] = state


def leave(_user: object) -> None:
    """Called by the library at the end of each thread that it called `enter` on."""
    identity = threading.get_ident()
    thread_object = _registry.running.pop(identity, None)
    if thread_object is not None:
        thread_object._ended()
    loop = _registry.foreign.pop(identity, None)
    if loop is not None:
        loop._thread_ended()
    state = _pinned.pop(identity, None)
    if state is None:
        return
    _forget_dummy(identity)
    current = _python.PyThreadState_Get()
    if current == state:
        _python.PyGILState_Release(_LOCKED)
    else:
        _delete(state, current)


def _delete(state: int, current: int) -> None:
    """Deletes the pinned state of this thread while it runs on another one.

    Thread-specific values are cleared before the library's destructor runs, the interpreter's among
    them, so that this callback was given a fresh state. Deleting the pinned one clears the value
    once more, and the fresh state must be found again when this callback returns.
    """
    _python.PyThreadState_Clear(state)
    if _key is not None and _key >= 0:
        _python.pthread_setspecific(_key, state)
        _python.PyThreadState_Delete(state)
        _python.pthread_setspecific(_key, current)


def _find_key(state: int) -> None:
    global _key
    if _key is None:
        _key = next((key for key in range(_MOST_KEYS) if _python.pthread_getspecific(key) == state), -1)


def _forget_dummy(identity: int) -> None:
    """Before Python 3.13 the entry that current_thread() makes for a foreign thread was never removed."""
    with threading._active_limbo_lock:  # type: ignore[attr-defined]
        if isinstance(threading._active.get(identity), threading._DummyThread):  # type: ignore[attr-defined]
            del threading._active[identity]  # type: ignore[attr-defined]


def forget_others() -> None:
    """In the child of a fork only the calling thread lives, as the main one."""
    global _main
    identity = _main = threading.get_ident()
    for other in [key for key in _pinned if key != identity]:
        del _pinned[other]
    thread.loop = None
    thread.sentinel = None
