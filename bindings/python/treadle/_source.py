# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Custom input sources."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Generator, Optional

from . import _capi
from ._awaiting import Waiters
from ._errors import check
from ._item import Item, callback, order_of, out_int64
from ._library import native
from ._loop import RunLoop
from ._types import Mode

_SIZE = ctypes.sizeof(_capi.treadle_source_context)


class Source(Item):
    """An input source that any thread can signal and a loop performs; `await` waits for that in asyncio. Since 1.0."""

    #: The tasks of asyncio that await it, once there was one.
    _waiters: Optional[Waiters] = None
    _is_held_by_waiters = True

    def __init__(
        self,
        *,
        perform: Optional[Callable[[Source], object]] = None,
        schedule: Optional[Callable[[Source, RunLoop, Mode], object]] = None,
        cancel: Optional[Callable[[Source, RunLoop, Mode], object]] = None,
        order: int = 0,
        label: str = "",
    ) -> None:
        """Makes a source, in no mode yet. Any thread.

        perform: called with the source, on the loop's thread, after the source was signalled.
        schedule, cancel: called with the source, the loop and the mode after the source was added to a
        mode, and after it left one: on the thread that adds, removes or invalidates, or that ends.
        order: smaller is performed first. label: a name for people.
        Since 1.0.
        """
        self._perform = callback(_nothing if perform is None else perform)
        self._schedule = callback(schedule, optional=True)
        self._cancel = callback(cancel, optional=True)
        wants = _capi.HOST_WANTS_SCHEDULE if schedule is not None else 0
        wants |= _capi.HOST_WANTS_CANCEL if cancel is not None else 0
        self._calls_back = bool(wants)
        context = _capi.treadle_source_context(_SIZE)
        context.host_wants, context.order = wants, order_of(order)
        self._create(native.treadle_source_create, context, label)

    def signal(self, *, wake: bool = True) -> None:
        """Marks the source as signalled; signals before the perform coalesce. Any thread.

        wake: wake every loop that has the source; without it a sleeping loop performs the source when
        something else wakes it. No effect on an invalid source. Since 1.0.
        """
        function = native.treadle_source_signal_and_wake if wake else native.treadle_source_signal
        status = function(self._handle)
        if status < 0:
            check(status, self._handle)

    def __await__(self) -> Generator[Any, None, Source]:
        """`await source` in asyncio: waits until the source is performed next, which is after its next signal, and gives it.

        Behind its perform function, if it has one. Of several tasks that wait each is told. A source that is in no loop is
        in RunLoop.current() until the wait is over, in the modes of asyncio, so that a signal which came before counts: that
        needs a treadle.aio.EventLoop, or raises RuntimeError. In another thread's loop it is performed there. Raises
        LoopClosed if it is, or becomes, invalid. Any thread with a loop of asyncio. Since 1.0.
        """
        return self._wait().__await__()

    async def _wait(self) -> Source:
        waiters: Waiters = self.__dict__.setdefault("_waiters", Waiters())
        if not isinstance(self._perform, _Telling):
            self._perform = _Telling(self._perform, waiters)
        await waiters.wait(self)
        return self

    def _ended(self) -> None:
        if self._waiters is not None:
            self._waiters.end(self)

    @property
    def is_signalled(self) -> bool:
        """True between a signal and the perform that it leads to. Any thread. Since 1.0."""
        return bool(native.treadle_source_is_signalled(self._handle))

    @property
    def order(self) -> int:
        """The order that the source was made with. Any thread. Since 1.0."""
        return out_int64(native.treadle_get_order, self._handle)

    def _fire(self, kind: int, event: Any) -> None:
        function = self._schedule if kind == _capi.EVENT_SCHEDULE else self._cancel
        if function is not None:
            function(self, RunLoop._of(event.loop), Mode(event.mode.decode()))


class _Telling:
    """A source's function that also tells the tasks which wait for it."""

    __slots__ = ("_perform", "_waiters")

    def __init__(self, perform: Callable[[Source], object], waiters: Waiters) -> None:
        self._perform = perform
        self._waiters = waiters

    def __call__(self, source: Source) -> None:
        try:
            self._perform(source)
        finally:
            self._waiters.tell()


def _nothing(_source: Source) -> None:
    """What a source performs that was given no function."""
