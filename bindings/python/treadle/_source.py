# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Custom input sources."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Optional

from . import _capi
from ._errors import check
from ._item import Item, callback, order_of, out_int64
from ._library import native
from ._types import Mode

if TYPE_CHECKING:
    from ._loop import RunLoop

_SIZE = ctypes.sizeof(_capi.treadle_source_context)


class Source(Item):
    """An input source that anybody can signal and a loop performs. Since 1.0."""

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

    @property
    def is_signalled(self) -> bool:
        """True between a signal and the perform that it leads to. Any thread. Since 1.0."""
        return bool(native.treadle_source_is_signalled(self._handle))

    @property
    def order(self) -> int:
        """The order that the source was made with. Any thread. Since 1.0."""
        return out_int64(native.treadle_get_order, self._handle)

    def _fire(self, kind: int, event: Any) -> None:
        from ._loop import RunLoop

        function = self._schedule if kind == _capi.EVENT_SCHEDULE else self._cancel
        if function is not None:
            function(self, RunLoop._of(event.loop), Mode(event.mode.decode()))


def _nothing(_source: Source) -> None:
    """What a source performs that was given no function."""
