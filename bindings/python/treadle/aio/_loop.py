# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The event loop of asyncio that a run loop drives.

asyncio keeps its own queues, transports and tasks; the run loop has the thread, and does all the waiting.
"""

from __future__ import annotations

import asyncio
import sysconfig
from asyncio import events
from contextvars import Context
from typing import TYPE_CHECKING, Any, Callable, Iterable, List, Optional

from .. import _capi, _signals
from .._loop import RunLoop
from ._debugging import keep_lines
from ._processes import ProcessLoop
from ._selector import Selector
from ._turns import Turns

if TYPE_CHECKING:
    from typing_extensions import TypeVarTuple, Unpack

    Ts = TypeVarTuple("Ts")

#: Of the kind that may be cancelled on any thread, where there is one.
_ThreadSafeHandle: Any = getattr(events, "_ThreadSafeHandle", events.Handle)
#: Whether threads of Python may see each other's writes in another order.
_IS_FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


class EventLoop(ProcessLoop):
    """A loop of asyncio that runs inside of the run loop of the thread which runs it.

    `asyncio.run(main(), loop_factory=treadle.aio.EventLoop)`, or treadle.aio.run(main()). While it runs, sources, timers,
    descriptors, ports, posts and observers of RunLoop.current() are served as well, and their callbacks may use asyncio as
    any callback of asyncio may. Since 1.0.
    """

    # Of the standard library's classes, which do not declare them.
    _closed: bool
    _debug: bool
    _ready: Any
    _scheduled: List[Any]
    _stopping: bool
    _signal_handlers: Any

    def __init__(self, modes: Optional[Iterable[str]] = None) -> None:
        """Makes a loop, which is not running yet. Any thread.

        modes: those in which asyncio is served, a text for one; run_forever() runs the first. Without any it is served in the
        common modes, and run_forever() runs DEFAULT. Raises SystemFailure, InvalidArgument, OSError. Since 1.0.
        """
        self._closed = True  # until there is something to close
        selector = Selector()
        self._turns = Turns(self, selector, modes)
        self._wake = self._turns.source.signal
        #: Whether asyncio's callbacks are being called: a nested run of the run loop begins no other turn.
        self._is_turning = False
        super().__init__(selector)

    def _run_once(self) -> None:
        """What run_forever() of the standard library repeats: here a run of the run loop, until asyncio stops."""
        if self._debug:
            keep_lines()
        loop, turns = RunLoop.current(), self._turns
        try:
            turns.enter(loop)
            # Not run(): each frame below a task is one more in the stacks that asyncio records in debug mode.
            result = loop._run(turns.mode, _capi.FOREVER, 0)
        finally:
            turns.leave()
        turns.check(result)
        self._stopping = True  # by stop() of either loop

    # What the standard library calls to end a wait, and what queues something; outside of a turn the run loop may sleep

    def _write_to_self(self) -> None:
        if not self._closed:
            self._wake()

    def stop(self) -> None:
        """Ends run_forever() after what is ready now has been called; of an attached loop, the innermost run of the run loop.

        On the loop's thread. Since 1.0.
        """
        super().stop()
        if not self._is_turning:
            self._wake()

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: Unpack[Ts], context: Optional[Context] = None
    ) -> asyncio.Handle:
        """As in asyncio; also in a callback of the run loop. On the loop's thread. Since 1.0."""
        if self._debug or self._closed or not self._is_turning:
            handle = super().call_soon(callback, *args, context=context)
            _forget_caller(handle)
            if not self._is_turning:
                self._wake()
        else:
            handle = events.Handle(callback, args, self, context)
            self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: Unpack[Ts], context: Optional[Context] = None
    ) -> asyncio.Handle:
        """As in asyncio. Any thread. Since 1.0."""
        if self._debug or self._closed:
            slow = super().call_soon_threadsafe(callback, *args, context=context)
            _forget_caller(slow)
            return slow
        handle: asyncio.Handle = _ThreadSafeHandle(callback, args, self, context)
        self._ready.append(handle)
        # Order: _ready before _is_turning. A turn writes _is_turning at its end, and then looks at _ready
        # (Turns._perform): so either it finds the handle, or this finds the turn over. Whether others are in the queue
        # tells nothing: each of them may look after this one has come.
        if not self._is_turning or _IS_FREE_THREADED:
            self._wake()
        return handle

    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: Unpack[Ts], context: Optional[Context] = None
    ) -> asyncio.TimerHandle:
        """As in asyncio; also in a callback of the run loop. On the loop's thread. Since 1.0."""
        timer = super().call_at(when, callback, *args, context=context)
        if self._debug:
            _forget_caller(timer)
        if not self._is_turning:
            self._wake()
        return timer

    def remove_signal_handler(self, sig: int) -> bool:
        """As in asyncio. On the main thread. Since 1.0."""
        was_there = super().remove_signal_handler(sig)
        if not self._signal_handlers:
            _signals.watch_again()  # asyncio has let go of the descriptor by which signals are told
        return was_there

    def close(self) -> None:
        """As in asyncio: raises RuntimeError while it runs, or is attached. Since 1.0."""
        if not self.is_running():
            self._turns.end()
        super().close()


def _forget_caller(handle: asyncio.Handle) -> None:
    """In debug mode a handle remembers where it was made: not here."""
    trace = getattr(handle, "_source_traceback", None)
    if trace:
        del trace[-1]
