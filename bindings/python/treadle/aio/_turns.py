# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""When asyncio has its turns in a run loop.

A *turn* is what asyncio's own loop does between two waits. The run loop does the waiting, and begins a turn when the
descriptors of asyncio have something, when the earliest of its timers is due, and when somebody has queued a callback
outside of a turn.
"""

from __future__ import annotations

import contextlib
import math
from asyncio import base_events
from time import monotonic
from typing import TYPE_CHECKING, Any, Callable, Iterable, Optional

from .. import _capi
from .._descriptor import FileDescriptor
from .._errors import Forked, LoopClosed
from .._host import outside_of_scopes
from .._item import encoded
from .._loop import RunLoop
from .._source import Source
from .._threads import thread
from .._timer import Timer
from .._types import COMMON, DEFAULT, RunResult, modes_of
from ._selector import Selector

if TYPE_CHECKING:
    from ._loop import EventLoop

#: For how many seconds turns may follow each other before the run loop serves its other items.
_LONGEST = 0.0005

_run_turn: Callable[[Any], None] = getattr(base_events.BaseEventLoop, "_run_once")


def _end_no_turn(*_arguments: object) -> None:
    """What the items do of an event loop that is closed."""


class _Readiness(FileDescriptor):
    """The descriptor source of the selector: the shortest way from an event to a turn."""

    _begin: Callable[[], object]

    def _fire(self, kind: int, event: Any) -> None:
        self._begin()


class Turns:
    """The items by which a run loop gives turns to an event loop of asyncio."""

    # The event loop's own attributes are few: with more than thirty, Python reads all of them in a slower way.
    __slots__ = (
        "modes", "is_attached", "run_loop", "source", "_event_loop", "_selector", "mode", "_readiness", "_alarm",
        "_alarm_date", "_is_masked", "_has_stopped",
    )  # fmt: skip

    def __init__(self, event_loop: EventLoop, selector: Selector, modes: Optional[Iterable[str]]) -> None:
        names = [COMMON] if modes is None else list(modes_of(modes))
        for name in names:
            encoded(name)
        if not names:
            raise ValueError("an event loop needs a mode")
        #: Those in which asyncio has turns.
        self.modes = names
        #: That in which run_forever() runs the run loop.
        self.mode = encoded(DEFAULT if names[0] == COMMON else names[0])
        #: None once it is closed.
        self._event_loop: Any = event_loop
        self._selector = selector
        #: Whether somebody else runs the run loop.
        self.is_attached = False
        #: Where the items are now.
        self.run_loop: Optional[RunLoop] = None
        #: Whether the descriptors are not watched until the turn ends.
        self._is_masked = False
        #: Whether asyncio has stopped, so that it has no turn until its run has ended.
        self._has_stopped = False
        #: The timer, which belongs to one run loop, and what it is set to.
        self._alarm: Optional[Timer] = None
        self._alarm_date = math.inf
        self.source = Source(perform=self._perform, cancel=self._left_mode, label="asyncio")
        self._readiness = _Readiness(selector, self._perform, oneshot=False, label="asyncio's descriptors")
        self._readiness._begin = self._begin_ready

    def check(self, result: RunResult) -> None:
        """Raises LoopClosed if the run did not end by a stop of asyncio, or of the run loop."""
        if result == RunResult.CLOSED:
            raise LoopClosed("treadle.shutdown() was called: no loop runs any more", _capi.E_CLOSED)
        if result == RunResult.FINISHED or not self.source.is_valid:
            raise LoopClosed("the scope in which the event loop was made has ended", _capi.E_CLOSED)

    def enter(self, loop: RunLoop) -> None:
        """Puts the items into the run loop of the calling thread, with a turn to begin with."""
        self.run_loop = loop
        thread.turns = self
        # An exception may have come anywhere.
        self._event_loop._is_turning = self._is_masked = self._has_stopped = False
        self._alarm_date = math.inf
        loop.add(self.source, self.modes)
        self._readiness.enable()
        loop.add(self._readiness, self.modes)
        self.source.signal()

    def leave(self) -> None:
        """Takes the items out of the run loop."""
        loop, self.run_loop = self.run_loop, None
        if loop is None:
            return
        thread.turns = None
        with contextlib.suppress(Forked):
            if self._alarm is not None:
                self._alarm.invalidate()
                self._alarm = None
            for item in (self.source, self._readiness):
                if item.is_valid:
                    loop.remove(item, self.modes)

    def refuse_run(self, loop: RunLoop, mode: str) -> None:
        """Raises RuntimeError for a run without a limit that would wait for asyncio, which waits for the run."""
        if self._event_loop._is_turning and loop.contains(self.source, mode):
            raise RuntimeError(
                f"asyncio runs in the mode {str(mode)!r} already, and pauses while one of its tasks runs the run loop: "
                "await instead, or run another mode, or give a limit (math.inf if a callback of the run loop will stop it)"
            )

    def end(self) -> None:
        """There are no more turns."""
        with contextlib.suppress(Forked):
            self._readiness.invalidate()
            self.source.invalidate()
        # A closed event loop goes with its last reference: nothing refers back to it, or to this.
        self._event_loop = None
        self._readiness._begin = self._readiness._fn = self.source._perform = _end_no_turn
        self.source._cancel = None

    def _left_mode(self, source: Source, loop: RunLoop, _mode: str) -> None:
        """The source has left a mode. If that is because its scope has ended, on whatever thread, the run ends too."""
        if not source.is_valid and not self.is_attached:
            self._end_run(loop)

    def _end_run(self, loop: RunLoop) -> None:
        """Stops the innermost run of the loop, and again, until asyncio's has ended."""
        if self.run_loop is loop:
            loop.stop()
            loop.perform(self._end_run, loop, modes=self.modes)

    # The turns

    def _perform(self, _item: object = None, _events: object = None) -> None:
        """Turns, until asyncio has nothing to do, or the others have waited long enough."""
        event_loop = self._event_loop
        if event_loop._is_turning:  # in a nested run: asyncio pauses until that is over
            return
        if self._has_stopped:  # a run inside of its own has ended, or something else came before its end
            self._stop_run()
            return
        try:
            event_loop._is_turning = True
            end = monotonic() + _LONGEST
            while True:
                _run_turn(event_loop)
                if event_loop._stopping:
                    self._stop_run()
                    break
                now = monotonic()
                if now >= end:
                    break
                if not event_loop._ready:
                    scheduled = event_loop._scheduled
                    if not (scheduled and scheduled[0]._when <= now or self._selector.has_more()):
                        break
        finally:
            # Order: _is_turning before _ready, at which _go_on() looks; call_soon_threadsafe() and signal handlers
            # write _ready, and then look at _is_turning.
            event_loop._is_turning = False
            self._go_on()

    def _go_on(self) -> None:
        """Sees to it that the next turn comes."""
        if self._is_masked:
            self._is_masked = False
            self._readiness.enable()
        if self._event_loop._ready:
            self.source.signal()
        elif self._event_loop._scheduled:
            date = self._event_loop._scheduled[0]._when
            # One that is set to an earlier date, of what was cancelled since, fires for nothing and is set again.
            if date < self._alarm_date:
                self._set_alarm(date)

    def _set_alarm(self, date: float) -> None:
        alarm = self._alarm
        if alarm is None:
            # A task may have entered a scope, which is not to end the timer of all.
            if thread.scopes:
                outside_of_scopes(self._add_alarm)
            else:
                self._add_alarm()
            alarm = self._alarm
        if alarm is not None:
            alarm.next_fire = date
            self._alarm_date = date

    def _add_alarm(self) -> None:
        if self.run_loop is not None:
            alarm = Timer(self._fire_alarm, fire_at=math.inf, ends_after_firing=False, label="asyncio's timers")
            self.run_loop.add(alarm, self.modes)
            self._alarm = alarm

    def _fire_alarm(self, _timer: Timer) -> None:
        self._alarm_date = math.inf
        self._perform()

    def _begin_ready(self) -> None:
        if self._event_loop._is_turning:
            # It stays readable, and would be told of in each pass of the nested run.
            self._is_masked = True
            self._readiness.disable()
        else:
            self._perform()

    def _stop_run(self) -> None:
        """asyncio was asked to stop. The runs inside of its own end first, each in its turn."""
        if self.is_attached:
            self._event_loop._stopping = False
        else:
            self._has_stopped = True
            self.source.signal()
        if self.run_loop is not None:
            self.run_loop.stop()
