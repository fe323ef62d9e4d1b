# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""trio as a guest of a run loop."""

from __future__ import annotations

import contextlib
import queue
from typing import Any, Awaitable, Callable, List, Optional, TypeVar

from .. import _capi
from .._errors import LoopClosed
from .._item import encoded
from .._loop import RunLoop
from .._types import DEFAULT, RunResult

T = TypeVar("T")


def run_trio(async_fn: Callable[..., Awaitable[T]], /, *args: Any, **options: Any) -> T:
    """trio.run(), with trio as a guest of the calling thread's run loop, which this runs in DEFAULT until trio is done.

    options: of trio.lowlevel.start_guest_run, such as clock and strict_exception_groups. Returns the function's result, or
    raises its exception. A stop of the run loop cancels it: then, if it ends by that, raises LoopClosed. An exception of a
    callback of the run loop cancels it as well, and is raised when trio is done. If the run loop does not run any more,
    because of treadle.shutdown() or, in a run's callback, of a stop of all levels, trio ends without it. Raises ImportError
    without trio, and RuntimeError in a run of trio. Any thread. Since 1.0.
    """
    import trio

    loop = RunLoop.current()
    steps = _Steps(loop)
    scope = trio.CancelScope()
    outcomes: List[Any] = []
    results: List[T] = []
    failure: Optional[BaseException] = None
    passes: Optional[int] = None

    async def guest() -> None:
        with scope:
            results.append(await async_fn(*args))

    def end(outcome: Any) -> None:
        outcomes.append(outcome)
        if not has_lost_its_loop:
            loop.request_stop()

    has_lost_its_loop = False
    trio.lowlevel.start_guest_run(
        guest,
        run_sync_soon_threadsafe=steps.add,
        done_callback=end,
        host_uses_signal_set_wakeup_fd=True,
        **options,
    )
    # trio cannot be left where it is: whatever ends the run, it goes on until it has ended.
    while not outcomes:
        try:
            if has_lost_its_loop:
                steps.wait_for_one()
            elif loop._run(encoded(DEFAULT), _capi.FOREVER, _capi.RUN_WHEN_EMPTY) == RunResult.CLOSED and not outcomes:
                raise LoopClosed("treadle.shutdown() was called: no loop runs any more", _capi.E_CLOSED)
        except BaseException as error:
            failure = failure or error
        if not outcomes and not has_lost_its_loop:
            scope.cancel()
            # A stop of all levels lasts until the outermost run ends, and a shutdown for ever: no run makes a pass.
            before, passes = passes, loop.counters().passes
            has_lost_its_loop = passes == before
    if failure is not None:
        raise failure
    outcomes[0].unwrap()
    if not results:
        raise LoopClosed("the run loop was stopped before the function of trio was done", _capi.E_CLOSED)
    return results[0]


class _Steps:
    """The functions that trio has its host call, in order: the run loop calls each, or the thread that waits for it."""

    def __init__(self, loop: RunLoop) -> None:
        self._loop = loop
        self._functions: "queue.SimpleQueue[Callable[[], object]]" = queue.SimpleQueue()

    def add(self, fn: Callable[[], object]) -> None:
        """Any thread."""
        self._functions.put(fn)
        with contextlib.suppress(LoopClosed):
            self._loop.post(self._call)

    def wait_for_one(self) -> None:
        """Waits for a function, and calls it, without the run loop."""
        self._functions.get()()

    def _call(self) -> None:
        try:
            fn = self._functions.get_nowait()
        except queue.Empty:
            return  # called without the run loop
        fn()
