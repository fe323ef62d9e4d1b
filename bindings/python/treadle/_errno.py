# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""errno, as ctypes shows it, travels with what is called on another thread.

ctypes keeps a copy of errno for each thread: get_errno() and set_errno(). Functions and prototypes with use_errno exchange
it with the thread's own around each call.
"""

from __future__ import annotations

import ctypes
from ctypes import get_errno, set_errno
from typing import Any, Callable

from ._library import native, path

_USE_ERRNO = 8  # FUNCFLAG_USE_ERRNO

_location = ctypes.PyDLL(None)["__errno_location"]
_location.argtypes, _location.restype = [], ctypes.c_void_p


def _bound(name: str) -> Any:
    function = ctypes.CDLL(str(path), use_errno=True)[name]
    known = getattr(native, name)
    function.argtypes, function.restype = known.argtypes, known.restype
    return function


#: treadle_invocation_perform, which gives the copy to the function that is called, and after a wait has that function's.
invocation_perform: Callable[[int, Any], int] = _bound("treadle_invocation_perform")


def uses_errno(function: Any) -> bool:
    """Whether a function of ctypes, or a prototype, was made with use_errno."""
    return bool(getattr(function, "_flags_", 0) & _USE_ERRNO)


def with_errno_of_caller(function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls the handler of a call that came from C: it sees the caller's errno in ctypes' copy, and the caller sees what it
    leaves there. The interpreter does not change errno when it takes and gives back its lock."""
    errno = ctypes.c_int.from_address(_location())
    own = set_errno(errno.value)
    try:
        return function(*arguments)
    finally:
        left = set_errno(own)
        ctypes.c_int.from_address(_location()).value = left


class Errno:
    """The copy of who hands a function to another thread, which travels with it."""

    __slots__ = ("_before", "_after")

    def __init__(self) -> None:
        self._before = self._after = get_errno()

    def begin(self) -> int:
        """The function is about to be called on this thread; what end() restores."""
        return set_errno(self._before)

    def end(self, own: int) -> None:
        """The function has returned."""
        self._after = set_errno(own)

    def give(self) -> None:
        """The calling thread takes the result: if the function has changed errno, it takes that too."""
        if self._after != self._before:
            set_errno(self._after)
