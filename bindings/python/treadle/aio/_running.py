# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Running a coroutine from its beginning to the end of everything that it has started."""

from __future__ import annotations

import asyncio
import asyncio.unix_events
import sys
from typing import Any, Coroutine, Optional, TypeVar

from ._loop import EventLoop

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T], *, debug: Optional[bool] = None) -> T:
    """asyncio.run() with an EventLoop, in every version of Python: what the coroutine returned, or raises what it raised.

    Not inside of a running loop of asyncio: raises RuntimeError. Any thread. Since 1.0.
    """
    if asyncio._get_running_loop() is not None:
        raise RuntimeError("treadle.aio.run() cannot be called while a loop of asyncio runs on this thread")
    if not asyncio.iscoroutine(main):
        raise ValueError(f"a coroutine was expected, not {main!r}")
    if sys.version_info >= (3, 11):
        with asyncio.Runner(debug=debug, loop_factory=EventLoop) as runner:
            return runner.run(main)
    loop = EventLoop()
    try:
        asyncio.set_event_loop(loop)
        if debug is not None:
            loop.set_debug(debug)
        return loop.run_until_complete(main)
    finally:
        try:
            finish(loop)
        finally:
            asyncio.set_event_loop(None)


def install() -> None:
    """From now on asyncio makes an EventLoop wherever it makes a loop of itself: for programs that call asyncio.run().

    Sets the policy of asyncio; asyncio.set_event_loop_policy(None) brings the standard loop back. Loops that are there
    already stay as they are. Any thread. Since 1.0.
    """
    # Since Python 3.14 the functions and classes with public names warn.
    set_policy = getattr(asyncio.events, "_set_event_loop_policy", None) or asyncio.set_event_loop_policy
    set_policy(_Policy())


_Default: Any = vars(asyncio.unix_events).get("_DefaultEventLoopPolicy") or asyncio.DefaultEventLoopPolicy


class _Policy(_Default):  # type: ignore[misc]
    """The policy of asyncio with our loops."""

    _loop_factory = EventLoop


def finish(loop: EventLoop) -> None:
    """Cancels the tasks that are left, waits until they have ended, and closes the loop."""
    try:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(_wait_for(left))
        for task in left:
            if not task.cancelled() and task.exception() is not None:
                loop.call_exception_handler(
                    {
                        "message": "a task that was cancelled at the end of the loop has raised an exception",
                        "exception": task.exception(),
                        "task": task,
                    }
                )
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


async def _wait_for(tasks: "set[asyncio.Task[Any]]") -> None:
    await asyncio.wait(tasks)
