# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""asyncio in a run loop that somebody else runs: a host in another language, or code of this program."""

from __future__ import annotations

import asyncio
import sys
import threading
from types import TracebackType
from typing import Any, Coroutine, Iterable, Optional, Type, TypeVar

from .._loop import RunLoop
from ._loop import EventLoop
from ._running import finish

T = TypeVar("T")


class Attached:
    """asyncio in the calling thread's run loop, as attach() returns it. A context manager. Since 1.0."""

    #: The loop of asyncio, which is the thread's running one. Since 1.0.
    loop: EventLoop

    def __init__(self, modes: Optional[Iterable[str]] = None) -> None:
        """attach() is the same. Since 1.0."""
        if asyncio._get_running_loop() is not None:
            raise RuntimeError("a loop of asyncio runs, or is attached, on this thread already")
        self.loop = EventLoop(modes)
        self._thread = threading.get_ident()
        self._hooks = sys.get_asyncgen_hooks()
        try:
            self._begin(self.loop)
        except BaseException:
            self.loop.close()
            raise

    def _begin(self, loop: Any) -> None:
        """What run_forever() of the standard library does before it runs."""
        loop._turns.enter(RunLoop.current())
        loop._turns.is_attached = True
        loop._set_coroutine_origin_tracking(loop.get_debug())
        loop._thread_id = self._thread
        sys.set_asyncgen_hooks(loop._asyncgen_firstiter_hook, loop._asyncgen_finalizer_hook)
        asyncio._set_running_loop(loop)

    def _end(self, loop: Any) -> None:
        """What run_forever() does afterwards."""
        loop._turns.leave()
        loop._turns.is_attached = loop._stopping = False
        loop._thread_id = None
        asyncio._set_running_loop(None)
        loop._set_coroutine_origin_tracking(False)
        sys.set_asyncgen_hooks(*self._hooks)

    def create_task(self, coroutine: Coroutine[Any, Any, T], *, name: Optional[str] = None) -> "asyncio.Task[T]":
        """A task that the runs of the run loop serve. On the loop's thread. Raises RuntimeError once detached. Since 1.0."""
        return self.loop.create_task(coroutine, name=name)

    def detach(self) -> None:
        """Ends what attach() has begun, as asyncio.run() ends: tasks that are left are cancelled, and waited for in runs
        of the loop's mode; then the loop of asyncio is closed. May be called again.

        On the loop's thread, and not inside of a callback of asyncio: raises RuntimeError. Since 1.0.
        """
        if self.loop.is_closed():
            return
        if threading.get_ident() != self._thread:
            raise RuntimeError("detach() belongs on the thread that has attached asyncio")
        if self.loop._is_turning:
            raise RuntimeError("asyncio cannot be detached inside of one of its callbacks")
        self._end(self.loop)
        finish(self.loop)

    def __enter__(self) -> Attached:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], traceback: Optional[TracebackType]
    ) -> None:
        self.detach()

    def __repr__(self) -> str:
        return f"<Attached {'closed' if self.loop.is_closed() else 'open'} loop={self.loop!r}>"


def attach(modes: Optional[Iterable[str]] = None) -> Attached:
    """Adds asyncio to the calling thread's run loop: runs of the loop, in every language, serve its tasks from now on.

    It is the thread's running loop at once, so that callbacks of the run loop may use asyncio, asyncio.create_task() for
    example. The loop's modes are not empty while it is attached: their runs do not return FINISHED.
    modes: as for EventLoop. On the thread whose run loop it is. Raises RuntimeError where a loop of asyncio runs already.
    Since 1.0.
    """
    return Attached(modes)
