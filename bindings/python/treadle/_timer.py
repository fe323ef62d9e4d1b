# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Timers."""

from __future__ import annotations

import ctypes
import time
from contextvars import Context
from typing import TYPE_CHECKING, Any, Callable, Dict, Optional, Set

from . import _capi, _lifetime, _registry
from ._arguments import context_of
from ._errors import check
from ._frames import guarded
from ._item import Item, callback, out_int64
from ._library import native
from ._types import NANOSECONDS, nanoseconds

if TYPE_CHECKING:
    from ._loop import RunLoop

_SIZE = ctypes.sizeof(_capi.treadle_timer_context)


class Timer(Item):
    """A timer: one-shot, or repeating on an exact grid. Never early; once for all dates that were missed.

    Dates are seconds of the monotonic clock, as time.monotonic() returns them; with wall_clock those of time.time(). Since 1.0.
    """

    def __init__(
        self,
        fn: Callable[[Timer], object],
        *,
        interval: float = 0.0,
        fire_at: Optional[float] = None,
        delay: Optional[float] = None,
        tolerance: float = 0.0,
        label: str = "",
        ends_after_firing: bool = False,
        wall_clock: bool = False,
        context: Optional[Context] = None,
    ) -> None:
        """Makes a timer, in no mode yet. Any thread.

        fn: called with the timer, on the loop's thread. interval: seconds between two dates; 0 makes a
        one-shot. The first date is fire_at, or delay seconds from now; without both, one interval from now.
        tolerance: see the property. ends_after_firing: a one-shot is invalidated after its callback. Without it, as
        in C, it is idle then: it stays in its modes while somebody refers to it, and can be armed again. wall_clock: dates,
        also next_fire, are those of time.time(), and the timer fires when that clock shows its date, also after it was set.
        context: that of contextvars in which fn runs; None: a copy of the caller's, as it is now.
        Raises ValueError for a number that is NaN, a negative interval, and both fire_at and delay. Since 1.0.
        """
        if fire_at is not None and delay is not None:
            raise ValueError("a timer takes fire_at or delay, not both")
        self._fn = callback(fn)
        self._context = context_of(context)
        self._idle_in: Dict[RunLoop, Set[bytes]] = {}
        #: Whether a one-shot was given a date since its callback began.
        self._is_armed = False
        step = nanoseconds(interval, "interval")
        self._is_oneshot = not step
        if fire_at is not None:
            first = nanoseconds(fire_at, "fire_at")
        else:
            wait = step if delay is None else nanoseconds(delay, "delay")
            first = min((time.time_ns() if wall_clock else time.monotonic_ns()) + wait, _capi.FOREVER)
        created = _capi.treadle_timer_context(_SIZE)
        created.fire_at, created.interval_ns = first, step
        created.tolerance_ns = nanoseconds(tolerance, "tolerance")
        created.flags = _capi.TIMER_ENDS_AFTER_FIRING if ends_after_firing else 0
        created.flags |= _capi.TIMER_WALL_CLOCK if wall_clock else 0
        self._create(native.treadle_timer_create, created, label)

    def arm(self, delay: float) -> None:
        """Has it fire after so many seconds, counted from the time of the running callback, in place of its date; also in its
        own callback, and when it is idle. math.inf makes it idle: it keeps no mode from being empty then.

        No effect on an invalid timer. Raises ValueError for NaN. Any thread. Since 1.0.
        """
        check(native.treadle_timer_set_time(self._handle, nanoseconds(delay, "delay"), 0), self._handle)
        if self._is_oneshot:
            self._rise()

    def fire(self) -> bool:
        """Calls the function immediately, on the calling thread. A one-shot is idle afterwards, or invalid with
        ends_after_firing; the dates of a repeating timer are not touched.

        False, without a call, if it is invalid or its function runs already. Raises what the function raises. Any thread.
        Since 1.0.
        """
        return check(guarded(native.treadle_timer_fire, self._handle), self._handle) != _capi.IGNORED

    @property
    def next_fire(self) -> Optional[float]:
        """The next date; None when idle or invalid. During the callback, the date that is being served.

        Setting it moves the timer, and the grid of a repeating one, at once also in a sleeping loop; it
        has no effect on an invalid timer. Raises ValueError for NaN. Any thread. Since 1.0.
        """
        date = out_int64(native.treadle_timer_get_next_fire, self._handle)
        return date / NANOSECONDS if date else None

    @next_fire.setter
    def next_fire(self, date: float) -> None:
        check(native.treadle_timer_set_time(self._handle, nanoseconds(date, "next_fire"), _capi.ARM_AT_DATE), self._handle)
        if self._is_oneshot:
            self._rise()

    @property
    def interval(self) -> float:
        """Seconds between two dates; 0 for a one-shot. Any thread. Since 1.0."""
        return out_int64(native.treadle_timer_get_interval, self._handle) / NANOSECONDS

    @property
    def repeats(self) -> bool:
        """Whether the timer repeats. Any thread. Since 1.0."""
        return self.interval > 0

    @property
    def tolerance(self) -> float:
        """How many seconds late the timer may fire, so that wake-ups can be shared. Never early.

        Less than 0 counts as 0, and more than half an interval as half. Raises ValueError for NaN. Any
        thread. Since 1.0.
        """
        return out_int64(native.treadle_timer_get_tolerance, self._handle) / NANOSECONDS

    @tolerance.setter
    def tolerance(self, seconds: float) -> None:
        check(native.treadle_timer_set_tolerance(self._handle, nanoseconds(seconds, "tolerance")), self._handle)

    def _fire(self, kind: int, event: Any) -> None:
        if not self._is_oneshot:
            self._context.run(self._fn, self)
            return
        self._is_armed = False
        try:
            self._context.run(self._fn, self)
        finally:
            if not self._is_armed:
                self._rest()

    def _rest(self) -> None:
        """An idle timer is held by who may arm it again, and by no loop: without such a one it ends."""
        with _registry.lock:
            if self._is_armed:  # by another thread
                return
            self._idle_in = {loop: loop._held.pop(self, set()) for loop in self._loops}
            self._loops.clear()
            _registry.held.pop(self._token, None)

    def _rise(self) -> None:
        """It may have a date again: the loops that it is in hold it."""
        with _registry.lock:
            self._is_armed = True
            idle_in, self._idle_in = self._idle_in, {}
            for loop, names in idle_in.items():
                for name in names:
                    _lifetime.settle(loop, self, name)

    def _state(self) -> str:
        return f"interval={self.interval}" if self.repeats else ""
