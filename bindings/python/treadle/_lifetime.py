# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""How long loops live, and what they hold.

A loop lives as long as its thread. A thread that threading.Thread made tells of its end by dropping its
threading.local values; one that called back, by the library's exit hook; the rest is found by a look
around now and then.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from typing import TYPE_CHECKING, Callable

from . import _registry
from ._errors import StaleHandle
from ._frames import report
from ._host import host
from ._library import native
from ._threads import is_made_by_python, is_main, thread
from ._types import Mode

if TYPE_CHECKING:
    from ._item import Item
    from ._loop import RunLoop

_look_at = 64


class _Sentinel:
    """Kept in a threading.local, and so collected when the thread ends."""

    __slots__ = ("__weakref__",)


def loop_of(handle: int, make: Callable[[int], RunLoop]) -> RunLoop:
    """The one object for a loop's handle."""
    with _registry.lock:
        loop = _registry.loops.get(handle)
        if loop is None:
            _look_around()
            loop = make(handle)
            _registry.loops[handle] = _registry.alive[handle] = loop
    return loop


def adopt(loop: RunLoop) -> None:
    """Makes sure that the end of the calling thread, whose loop this is, is noticed."""
    identity = threading.get_ident()
    thread_object = _registry.running.get(identity)
    if thread_object is not None:
        thread_object._held.loop = loop
    if is_main():
        loop._tells_its_end = True
    elif is_made_by_python():
        loop._tells_its_end = True
        thread.sentinel = sentinel = _Sentinel()
        weakref.finalize(sentinel, _python_thread_ended, loop, identity).atexit = False
    else:
        loop._tells_its_end = thread_object is not None
        loop._thread = identity
        _registry.foreign[identity] = loop


def _python_thread_ended(loop: RunLoop, identity: int) -> None:
    # At the end of the interpreter, and in the child of a fork, another thread clears the values.
    if threading.get_ident() == identity and not host.is_closing:
        end(loop)


def end(loop: RunLoop) -> None:
    """The loop's thread ends: its items leave, its functions are not run."""
    with _registry.lock:
        loop._has_ended = True
        _registry.alive.pop(loop._handle, None)
        if _registry.foreign.get(loop._thread) is loop:
            del _registry.foreign[loop._thread]
        held = [(item, name) for item, names in loop._held.items() for name in names]
    for item, name in held:
        try:
            loop.remove(item, name.decode())
        except StaleHandle:  # its scope has ended it
            pass
        except BaseException as error:  # of a cancel callback
            report(error, loop, item, Mode(name.decode()))
    with _registry.lock:
        for item in loop._held:
            item._is_left_by(loop)
        loop._held.clear()
    for token, block in list(loop._pending.items()):
        if _registry.calls.pop(token, None) is not None:
            block.discard()


def _look_around() -> None:
    """Ends the loops whose thread is gone without a word; seldom enough to cost nothing."""
    global _look_at
    if len(_registry.alive) < _look_at:
        return
    thread_id = ctypes.c_int32()
    for loop in list(_registry.alive.values()):
        # One that tells may be that of a thread that was not started yet.
        if loop._tells_its_end:
            continue
        if native.treadle_loop_get_thread_id(loop._handle, thread_id) == 0 and thread_id.value == 0:
            end(loop)
    _look_at = max(64, 2 * len(_registry.alive))


def settle(loop: RunLoop, item: Item, name: bytes) -> None:
    """Has the loop hold the item if, and only if, it is in the mode."""
    with _registry.lock:
        names = loop._held.get(item)
        if not loop._has_ended and native.treadle_loop_contains(loop._handle, item._handle, name):
            if names is None:
                names = loop._held[item] = set()
            names.add(name)
            item._is_held_by(loop)
        elif names is not None:
            names.discard(name)
            if not names:
                del loop._held[item]
                item._is_left_by(loop)


def settle_all(loop: RunLoop, item: Item) -> None:
    """Has the loop hold the item if, and only if, it is in a mode that it was in."""
    with _registry.lock:
        for name in list(loop._held.get(item, ())):
            settle(loop, item, name)
