# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""trio as a guest of a run loop."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, List, Optional, TypeVar

from .. import _capi
from .._errors import LoopClosed
from .._loop import RunLoop
from .._types import DEFAULT, RunResult

T = TypeVar("T")


def run_trio(async_fn: Callable[..., Awaitable[T]], /, *args: Any, **options: Any) -> T:
    """trio.run(), with trio as a guest of the calling thread's run loop, which this runs in DEFAULT until trio is done.

    options: of trio.lowlevel.start_guest_run, such as clock and strict_exception_groups. Returns the function's result, or
    raises its exception. A stop of the run loop cancels it: then, if it ends by that, raises LoopClosed. An exception of a
    callback of the run loop cancels it as well, and is raised when trio is done. Raises ImportError without trio, and
    RuntimeError in a run of trio. Any thread. Since 1.0.
    """
    import trio

    loop = RunLoop.current()
    scope = trio.CancelScope()
    outcomes: List[Any] = []
    results: List[T] = []
    failure: Optional[BaseException] = None

    async def guest() -> None:
        with scope:
            results.append(await async_fn(*args))

    def end(outcome: Any) -> None:
        outcomes.append(outcome)
        loop.request_stop()

    trio.lowlevel.start_guest_run(
        guest,
        run_sync_soon_threadsafe=loop.post,
        done_callback=end,
        host_uses_signal_set_wakeup_fd=True,
        **options,
    )
    while not outcomes:
        try:
            result = loop.run(DEFAULT, when_empty=True)
        except BaseException as error:  # trio cannot be left where it is: it goes on until it has ended
            failure = failure or error
        else:
            if result == RunResult.CLOSED and not outcomes:
                raise LoopClosed("treadle.shutdown() was called: no loop runs any more", _capi.E_CLOSED) from failure
        if not outcomes:
            scope.cancel()
    if failure is not None:
        raise failure
    outcomes[0].unwrap()
    if not results:
        raise LoopClosed("the run loop was stopped before the function of trio was done", _capi.E_CLOSED)
    return results[0]
