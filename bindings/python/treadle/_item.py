# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What sources, descriptors, ports, message ports, timers and observers have in common."""

from __future__ import annotations

import ctypes
import weakref
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable, NoReturn, Optional, Set, TypeVar

from . import _registry
from ._arguments import encoded_text, integer, wrong_type
from ._errors import StaleHandle, check, check_end
from ._frames import guarded
from ._host import host
from ._library import native
from ._types import timeout_of
from ._waiting import wait_with_callbacks

if TYPE_CHECKING:
    from ._loop import RunLoop

_Self = TypeVar("_Self", bound="Item")
_Function = TypeVar("_Function")


@lru_cache(maxsize=256)
def _encoded(mode: str) -> bytes:
    return encoded_text(mode, "the name of a mode")


def encoded(mode: str) -> bytes:
    """A mode's name as the library takes it."""
    if not isinstance(mode, str):  # before the cache, which wants what can be hashed
        raise wrong_type("a mode", "a str", mode)
    return _encoded(mode)


def handle_of(item: Item) -> int:
    """The handle of something that a loop looks after."""
    if not isinstance(item, Item):
        raise TypeError(f"an item is a Source, FileDescriptor, Port, MessagePort, Timer or Observer, not {type(item).__name__}")
    return item._handle


class Item:
    """Something that a loop looks after. The mother of Source, FileDescriptor, Port, MessagePort, Timer
    and Observer.

    A loop holds its items. An item in no loop is freed with its last reference in Python.
    All methods may be called on any thread. Since 1.0.
    """

    #: A name for people, shown by repr().
    label: str

    _handle: int = 0
    _token: int = 0
    #: The loops that hold it.
    _loops: Set[RunLoop]
    #: Whether the tasks that await it hold it, and not the loop that it is in for that.
    _is_held_by_waiters = False
    #: Whether adding and removing calls Python.
    _calls_back = False

    def __init__(self) -> None:
        raise TypeError("use Source, FileDescriptor, Port, MessagePort, Timer or Observer")

    def _create(self, function: Callable[..., int], context: Any, label: str) -> None:
        host.drain()
        self.label = label
        if label:
            context.label = encoded_text(label, "label")
        self._loops = set()
        token = self._token = next(_registry.tokens)
        context.host, context.token = host.handle, token
        out = ctypes.c_void_p()
        check(function(context, out))
        self._handle = out.value or 0
        _registry.items[token] = _registry.ItemReference(self, token, self._handle, native.treadle_release)

    def _fire(self, kind: int, event: Any) -> None:
        """Calls the client's function for an event of the library."""
        raise NotImplementedError

    def _let_go(self) -> None:
        """No loop needs to hold this any more."""
        with _registry.lock:
            for loop in self._loops:
                loop._held.pop(self, None)
            self._loops.clear()
            _registry.held.pop(self._token, None)

    def _is_held_by(self, loop: RunLoop) -> None:
        """A loop has begun to hold this. The registry's lock is held."""
        self._loops.add(loop)
        _registry.held[self._token] = self

    def _is_left_by(self, loop: RunLoop) -> None:
        """A loop holds this no more. The registry's lock is held."""
        self._loops.discard(loop)
        if not self._loops:
            _registry.held.pop(self._token, None)

    @property
    def is_valid(self) -> bool:
        """Whether it was not invalidated yet. Once invalid, it is never valid again. Any thread. Since 1.0."""
        return bool(native.treadle_is_valid(self._handle))

    def invalidate(self) -> None:
        """Ends it: it becomes invalid and leaves every mode of every loop. May be called again.

        On the loop's own thread no callback starts any more once this has returned; from another thread
        one may still be running. Raises what a cancel callback raises. Any thread. Since 1.0.
        """
        try:
            check_end(guarded(native.treadle_invalidate, self._handle), self._handle)
        finally:
            self._let_go()
            self._ended()

    def describe(self) -> str:
        """A description of the item and its modes, for debugging. Any thread. Since 1.0."""
        return text_of(native.treadle_describe, self._handle)

    def close(self, timeout: Optional[float] = None) -> None:
        """Invalidates, then waits until no callback of it runs on another thread.

        timeout: in seconds; None waits for ever. Raises Timeout, and DeadlockError from inside one of
        its own callbacks. On the main thread Ctrl-C ends the wait. Any thread. Since 1.0.
        """
        try:
            limit = timeout_of(timeout, "timeout")
            check_end(wait_with_callbacks(native.treadle_close, limit, self._handle), self._handle)
        finally:
            self._let_go()
            self._ended()

    def _ended(self) -> None:
        """Called when it was invalidated."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled")

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.invalidate()

    def _state(self) -> str:
        """What repr() tells besides the label and the validity."""
        return ""

    def __repr__(self) -> str:
        if self._handle == 0:
            return f"<{type(self).__name__} that was not made>"
        validity = "valid" if self.is_valid else "invalid"
        try:
            state = self._state()
        except StaleHandle:
            state = "that its scope has ended"
        words = [type(self).__name__, repr(self.label) if self.label else "", validity, state]
        return f"<{' '.join(filter(None, words))} at {id(self):#x}>"


class OtherItem(Item):
    """An item that Python did not make, as RunLoop.items() gives it. Since 1.0."""

    def __init__(self) -> None:
        raise TypeError("RunLoop.items() returns it")

    @classmethod
    def _of(cls, handle: int) -> OtherItem:
        """Takes over a reference that the library gave."""
        self = cls.__new__(cls)
        self.label = ""
        self._handle = handle
        self._loops = set()
        weakref.finalize(self, native.treadle_release, handle).atexit = False
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OtherItem) and other._handle == self._handle

    def __hash__(self) -> int:
        return hash(self._handle)

    def __repr__(self) -> str:
        try:
            return f"<{self.describe().splitlines()[0]}>"
        except StaleHandle:
            return f"<OtherItem that its scope has ended at {id(self):#x}>"


def text_of(function: Callable[..., int], handle: int) -> str:
    """Text that a function of the library writes."""
    length = ctypes.c_size_t(120)
    while True:
        buffer = ctypes.create_string_buffer(length.value + 1)
        check(function(handle, buffer, len(buffer), length), handle)
        if length.value < len(buffer):
            return buffer.value.decode(errors="replace")


def callback(fn: _Function, *, optional: bool = False) -> _Function:
    """A function that the library may call."""
    if not (callable(fn) or optional and fn is None):
        raise TypeError(f"a callback must be callable, not {fn!r}")
    return fn


def order_of(order: int) -> int:
    """An order as the library takes it."""
    number = integer(order, "an order")
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"the order {number} does not fit into 64 bits")
    return number


def out_int64(function: Callable[..., int], handle: int) -> int:
    """The number that a getter of the library stores."""
    out = ctypes.c_int64()
    check(function(handle, out), handle)
    return out.value
