# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Scopes: objects created inside of one end with it, even those that were forgotten."""

from __future__ import annotations

import ctypes
import time
import weakref
from contextlib import contextmanager
from typing import Iterator, List, NamedTuple, NoReturn, Optional

from . import _capi, _registry
from ._arguments import encoded_text
from ._errors import FORKED_HANDLE, Error, check, failure
from ._frames import Frame, LastingFrame, call
from ._host import host
from ._library import native
from ._threads import thread
from ._types import NANOSECONDS, timeout_of
from ._waiting import SLICE_NS

_KINDS = {
    _capi.KIND_SOURCE: "source",
    _capi.KIND_TIMER: "timer",
    _capi.KIND_OBSERVER: "observer",
    _capi.KIND_DESCRIPTOR: "descriptor",
    _capi.KIND_PORT: "port",
    _capi.KIND_HOST: "host",
    _capi.KIND_THREAD: "thread",
    _capi.KIND_INVOCATION: "invocation",
    _capi.KIND_CLOSURE: "closure",
    _capi.KIND_ROUTINE: "routine",
    _capi.KIND_SCOPE: "scope",
    _capi.HOLDER_POST: "post",
    _capi.HOLDER_REQUEST: "request",
    _capi.HOLDER_NOTIFICATION: "notification",
    _capi.HOLDER_POOLED: "pooled",
    _capi.HOLDER_PLUGIN: "plugin",
    _capi.HOLDER_CALL: "call",
    _capi.HOLDER_VALUE: "value",
}
#: How many holders the message of a Timeout names.
_NAMED = 4


class ScopeHolder(NamedTuple):
    """A member of a scope that keeps it from being closed. Since 1.0."""

    #: Its kind: "source", "timer", "observer", "descriptor", "thread", "invocation", "closure", "routine", "scope" or "host". Kinds
    #: without an object: "post" (of RunLoop.post and RunLoop.perform), "request" (of Thread.perform), "notification",
    #: "pooled" (of pool.add), "plugin" (that uses this one), "call" (a thread that creates an object in it).
    #: Later versions may have more.
    kind: str
    #: Its label, at most 63 bytes of it; empty if it has none.
    label: str
    #: The kernel id of the thread inside of it; None if none, or unknown.
    thread_id: Optional[int]
    #: The seconds since the closing began; 0.0 before.
    held: float
    #: The name of that thread, at most 31 bytes of it; empty if none.
    thread_name: str = ""
    #: The label of the item whose callback that thread runs; empty if none.
    callback: str = ""


class Scope:
    """Objects that a thread creates while it has entered a scope belong to the scope, and end with it. Since 1.0.

        with treadle.Scope("a request") as scope:
            ...  # items, threads, closures, posts: after this all have ended, even those that were forgotten

    Members are sources, descriptor sources, ports, timers, observers, threads, invocations, closures and scopes; posts, requests,
    calls deferred by pool.add(), registrations of notifications.add(). Objects that callbacks create later belong to the scope only if
    the callbacks enter it. Loops, locks, conditions and the package itself belong to no scope.
    Members of a closed scope are invalid. Their other methods raise StaleHandle; waits for calls that were not performed raise
    LoopClosed. A scope that is collected is closed as by close() from one of its callbacks, without a wait. Any thread.
    """

    #: A name for people, shown by repr().
    label: str = ""

    _handle = 0

    def __init__(self, label: Optional[str] = None, *, timeout: Optional[float] = None) -> None:
        """Creates a scope, not entered yet. It belongs to the scope that the calling thread has entered.

        label: a name for people, at most 255 bytes of UTF-8. timeout: how long the end of a with-statement waits, in
        seconds; None waits for ever. Raises InvalidArgument for a longer label, ValueError for NaN, LoopClosed if the scope
        that it would belong to is closed. Any thread. Since 1.0.
        """
        self._limit = timeout_of(timeout, "timeout")
        self.label = "" if label is None else label
        config = _capi.treadle_scope_config(ctypes.sizeof(_capi.treadle_scope_config))
        if self.label != "":
            config.label = encoded_text(self.label, "label")
        host.drain()
        out = ctypes.c_void_p()
        check(native.treadle_scope_create(config, out))
        self._handle = out.value or 0
        weakref.finalize(self, native.treadle_release, self._handle).atexit = False
        _registry.scopes.add(self)

    # Entering

    def enter(self) -> None:
        """Enters the scope: objects that the calling thread creates belong to it, until leave(). Scopes nest: the last
        entered scope counts. A thread that ends leaves all its scopes; until then it keeps the scope alive.

        Raises LoopClosed for a scope that is closed, or is being closed. Any thread. Since 1.0.
        """
        check(native.treadle_scope_enter(self._handle), self._handle)
        thread.scopes.append(self)

    def leave(self) -> None:
        """Ends the last enter() of the calling thread, also of a scope that was closed since.

        Raises Error if the scope is not the one that the thread has entered last. Any thread. Since 1.0.
        """
        check(native.treadle_scope_leave(self._handle), self._handle)
        scopes = thread.scopes
        while scopes and scopes.pop() is not self:
            pass

    @contextmanager
    def entered(self) -> Iterator[Scope]:
        """`with scope.entered():` enters and leaves it, and does not close it. Raises what enter() and leave() raise. Any
        thread. Since 1.0."""
        self.enter()
        try:
            yield self
        finally:
            self.leave()

    def __enter__(self) -> Scope:
        self.enter()
        return self

    def __exit__(self, *_exception: object) -> None:
        try:
            self.leave()
        finally:
            self._close(self._limit)

    # Its end

    def close(self, timeout: Optional[float] = None) -> bool:
        """Closes the scope and ends all its members, in the reverse order of their creation: items and closures are
        invalidated, queued calls dropped, threads stopped and joined, deferred releases called here. Waits until none of their
        callbacks runs. May be called again.

        Returns True. From inside one of its own callbacks it does not wait and returns False: the scope is closed when the
        calling thread's callbacks of the scope have returned.
        timeout: in seconds, None waits for ever, 0 does not wait. Raises Timeout, whose message names the holders, with the
        closing begun: call it again. When all members have ended it raises the first exception of a cancel callback or of a
        release. On the main thread Ctrl-C ends the wait. Any thread. Since 1.0.
        """
        return self._close(timeout_of(timeout, "timeout"))

    def _close(self, limit: int) -> bool:
        frame = LastingFrame()
        status = self._end(limit, frame)
        if status == _capi.E_TIMEOUT:
            error = failure(status)
            raise type(error)(f"{error.message}: {self._who()}", error.code, error.function) from frame.error
        # One that belonged to a scope which was closed is gone.
        if status != _capi.E_STALE or self._handle == FORKED_HANDLE:
            check(status, self._handle)
        frame.raise_at_last()
        return status != _capi.DEFERRED

    def _end(self, limit: int, frame: Frame) -> int:
        """What the last step of the closing came to. Waits in slices on every thread: what has ended meanwhile is told to
        those who wait for it in Python, and whom the closing may wait for."""
        started = time.monotonic_ns()
        left, was_refused = limit, False
        while True:
            try:
                status = call(frame, native.treadle_close, self._handle, min(left, SLICE_NS))
            finally:
                has_told = host.drain()
            if status == _capi.E_DEADLOCK and (has_told or not was_refused):
                # A thread of the scope may have waited for what the closing has dropped: it was told here, or by another
                # thread that drains.
                was_refused = True
                continue
            if status != _capi.E_TIMEOUT:
                return status
            if limit != _capi.FOREVER:
                left = limit - (time.monotonic_ns() - started)
                if left <= 0:
                    return status

    def _who(self) -> str:
        """What goes on, for people."""
        holders = self.holders()
        names = [_name(holder) for holder in holders[:_NAMED]]
        more = [f"{len(holders) - _NAMED} more"] if len(holders) > _NAMED else []
        return ", ".join(names + more) or "nothing any more"

    def holders(self) -> List[ScopeHolder]:
        """The holders in the scope now: of one that could not be closed in time, what still goes on. Empty when it is closed.

        Any thread. Since 1.0.
        """
        count = ctypes.c_size_t(16)
        while True:
            capacity = count.value
            buffer = (_capi.treadle_scope_holder * capacity)()
            status = native.treadle_scope_copy_holders(self._handle, buffer, ctypes.sizeof(_capi.treadle_scope_holder), capacity, count)
            if status == _capi.E_STALE and self._handle != FORKED_HANDLE:
                return []
            check(status, self._handle)
            if count.value <= capacity:
                return [_holder(raw) for raw in buffer[: count.value]]

    @property
    def is_valid(self) -> bool:
        """Whether its closing has not begun yet. Any thread. Since 1.0."""
        return bool(native.treadle_is_valid(self._handle))

    @property
    def is_closed(self) -> bool:
        """Whether its closing has begun, and all that belonged to it has ended. Any thread. Since 1.0."""
        return not self.is_valid and not self.holders()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Scope cannot be copied or pickled")

    def __repr__(self) -> str:
        words = ["Scope", repr(self.label) if self.label else "", self._state()]
        return f"<{' '.join(filter(None, words))} at {id(self):#x}>"

    def _state(self) -> str:
        if self._handle == 0:
            return "that was not made"
        if self._handle == FORKED_HANDLE:
            return "of this process's parent"
        try:
            return "open" if self.is_valid else "closing" if self.holders() else "closed"
        except Error as error:
            return str(error)


def _holder(raw: _capi.treadle_scope_holder) -> ScopeHolder:
    kind = _KINDS.get(raw.kind, f"kind {raw.kind}")
    label, name, callback = (text.decode(errors="replace") for text in (raw.label, raw.thread_name, raw.callback))
    return ScopeHolder(kind, label, raw.thread_id or None, raw.held_ns / NANOSECONDS, name, callback)


def _name(holder: ScopeHolder) -> str:
    where = "" if holder.kind == "thread" else "on thread "
    words = [holder.kind, repr(holder.label) if holder.label else ""]
    words.append(f"{where}{holder.thread_id}" if holder.thread_id else "")
    words.append(repr(holder.thread_name) if holder.thread_name else "")
    words.append(f"in {holder.callback!r}" if holder.callback and holder.callback != holder.label else "")
    return " ".join(filter(None, words))
