# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Observers."""

from __future__ import annotations

import ctypes
from typing import Any, Callable

from . import _capi
from ._arguments import integer
from ._errors import check
from ._item import Item, callback, order_of, out_int64
from ._library import native
from ._types import Activity

# Looked up for each callback: quicker than asking the class.
_ACTIVITIES = {int(activity): activity for activity in Activity}
_SIZE = ctypes.sizeof(_capi.treadle_observer_context)


class Observer(Item):
    """Called at fixed points of a run. An observer alone does not keep a mode from being empty. Since 1.0."""

    def __init__(
        self,
        fn: Callable[[Observer, Activity], object],
        activities: Activity = Activity.ALL,
        *,
        repeats: bool = True,
        order: int = 0,
        label: str = "",
    ) -> None:
        """Makes an observer, in no mode yet. Any thread.

        fn: called with the observer and one activity, on the loop's thread. activities: what to be told.
        repeats: if false, it is invalidated after its first call. order: smaller is called first; equal
        ones are called in the order of adding. Since 1.0.
        """
        self._fn = callback(fn)
        number = integer(activities, "activities")
        if not -(2**32) <= number < 2**32:
            raise ValueError(f"activities {number} do not fit into 32 bits")
        mask = number & 0xFFFFFFFF  # ~activities is negative before Python 3.11
        context = _capi.treadle_observer_context(_SIZE)
        context.activities, context.once, context.order = mask, not repeats, order_of(order)
        self._create(native.treadle_observer_create, context, label)

    @property
    def activities(self) -> Activity:
        """The activities that the observer is called for. Any thread. Since 1.0."""
        out = ctypes.c_uint32()
        check(native.treadle_observer_get_activities(self._handle, out), self._handle)
        return Activity(out.value)

    @property
    def repeats(self) -> bool:
        """Whether the observer is called more than once. Any thread. Since 1.0."""
        return bool(native.treadle_observer_repeats(self._handle))

    @property
    def order(self) -> int:
        """The order that the observer was made with. Any thread. Since 1.0."""
        return out_int64(native.treadle_get_order, self._handle)

    def _fire(self, kind: int, event: Any) -> None:
        value = event.value
        self._fn(self, _ACTIVITIES.get(value) or Activity(value))

    def _state(self) -> str:
        return _names(self.activities)


def _names(activities: Activity) -> str:
    if activities == _capi.ALL_ACTIVITIES:
        return "ALL"
    return "|".join(name for name, member in Activity.__members__.items() if name != "ALL" and member & activities)
