# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""More events for the dispatch function: those that come next, fetched in one call (treadle_loop_next).

A loop has one block of memory for it, which its thread alone uses, and what is fetched is looked at at once: so a dispatch
inside of another one is in nobody's way. Such a call neither blocks nor calls back: what the package makes has no destroy
function.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any, Callable, Dict, List

from . import _capi
from ._host import host
from ._library import path

_WORD = ctypes.sizeof(ctypes.c_uint64)
_CAPACITY = 64
_STRIDE = ctypes.sizeof(_capi.treadle_event) // _WORD


class _Block(ctypes.Structure):
    _fields_ = [("pull", _capi.treadle_pull), ("events", _capi.treadle_event * _CAPACITY)]


#: Where the number of events is, and the token of the first, in words.
COUNT = _capi.treadle_pull.count.offset // _WORD
TOKEN = (_Block.events.offset + _capi.treadle_event.token.offset) // _WORD


class Pull:
    """What a loop's dispatch fetches by."""

    __slots__ = ("advance", "words", "_block")

    def __init__(self, loop: int) -> None:
        self._block = block = _Block()
        pull = block.pull
        pull.struct_size = ctypes.sizeof(_capi.treadle_pull)
        pull.host = host.handle
        pull.flags = _capi.NEXT_IN_DISPATCH
        pull.events = ctypes.cast(block.events, ctypes.POINTER(_capi.treadle_event))
        pull.event_size = ctypes.sizeof(_capi.treadle_event)
        pull.capacity = _CAPACITY
        #: Ends what was fetched before, and fetches what comes next. Not 0: there is nothing. What byref() makes is passed
        #: quickest, and never looked at: so is the loop's handle.
        handle = ctypes.byref(ctypes.c_char.from_address(loop))
        self.advance: Callable[[], int] = partial(_next, handle, ctypes.byref(pull))
        self.words = memoryview(block).cast("B").cast("Q")

    def tokens(self) -> List[int]:
        """Of what was fetched last."""
        end = TOKEN + self.words[COUNT] * _STRIDE
        tokens: List[int] = self.words[TOKEN:end:_STRIDE].tolist()
        return tokens

    def fail(self, number: int) -> None:
        """Of what was fetched last, the event of this number, from 1, was not completed, and those behind it have not begun."""
        self._block.pull.failed = number
        self.advance()


def _quick_next() -> Any:
    """The function, with the interpreter's lock held, and for arguments that need no conversion."""
    function = ctypes.PyDLL(str(path))["treadle_loop_next"]  # an object of its own
    function.restype = ctypes.c_int32
    return function


_next = _quick_next()
#: By loop.
pulls: Dict[int, Pull] = {}
_MOST_PULLS = 256


def pull_of(loop: int) -> Pull:
    """That of the calling thread's loop."""
    pull = pulls.get(loop)
    if pull is None:
        if len(pulls) >= _MOST_PULLS:
            pulls.clear()
        pull = pulls[loop] = Pull(loop)
    return pull


def forget_parent() -> None:
    """In the child of a fork: the host is another one."""
    pulls.clear()
