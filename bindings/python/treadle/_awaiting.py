# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Items that tasks of asyncio await."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Tuple

from . import _capi
from ._errors import LoopClosed
from ._library import native
from ._loop import RunLoop

if TYPE_CHECKING:
    import asyncio

    from ._item import Item


class Waiters:
    """The tasks that await an item, and the run loops that have it only for as long.

    Tasks of any thread; each step here is one that the interpreter does at once.
    """

    __slots__ = ("_futures", "_lent")

    def __init__(self) -> None:
        #: In the order in which they came.
        self._futures: Dict[asyncio.Future[None], None] = {}
        #: For how many of its tasks a run loop has the item, and in which modes. Each thread writes only what its own loop has.
        self._lent: Dict[RunLoop, Tuple[int, List[str]]] = {}

    async def wait(self, item: Item) -> None:
        """Waits until somebody tells. An item that is in no loop is in the calling thread's meanwhile."""
        import asyncio  # not before somebody wants it

        running = asyncio.get_running_loop()
        future = running.create_future()
        # Order: _futures, then _loops, then the item's validity. Its end makes it invalid, then takes it out of its
        # loops, then looks at _futures: so either it is seen to be over here, or its end tells this future.
        self._futures[future] = None
        try:
            is_elsewhere = self.is_elsewhere(item)
            if not item.is_valid:
                raise _end_of(item)
            if is_elsewhere:
                await future
            else:
                with self._lending(item, running):
                    await future
        finally:
            del self._futures[future]

    def is_elsewhere(self, item: Item, *, on_other_threads: bool = False) -> bool:
        """Whether somebody has added the item to a loop; or tasks of other threads await it."""
        own = self._lent
        if on_other_threads:
            own = {loop: lent for loop, lent in own.items() if loop is RunLoop.current()}
        return bool(item._loops.difference(own))

    @contextlib.contextmanager
    def _lending(self, item: Item, running: Any) -> Iterator[None]:
        turns = getattr(running, "_turns", None)  # of a treadle.aio.EventLoop
        if turns is None:
            raise RuntimeError(f"{_named(item)} is in no run loop, and no treadle.aio.EventLoop runs here: no loop would serve it")
        loop, modes = RunLoop.current(), turns.modes
        handle = item._handle
        native.treadle_retain(handle)  # until the loop does not have it: the object may go before
        count, _ = self._lent.get(loop, (0, modes))
        self._lent[loop] = count + 1, modes
        try:
            loop._lend(item, modes)
            yield
        finally:
            count, _ = self._lent[loop]
            if count > 1:
                self._lent[loop] = count - 1, modes
            else:
                if item.is_valid:
                    loop.remove(item, modes)
                del self._lent[loop]
            native.treadle_release(handle)

    def take_back(self, item: Item) -> None:
        """The run loop of the calling thread has the item no more, until somebody waits again."""
        loop = RunLoop.current()
        if loop in self._lent:
            loop.remove(item, self._lent[loop][1])

    def tell(self) -> None:
        """Lets all go on that wait now. Any thread."""
        for future in list(self._futures):
            with contextlib.suppress(RuntimeError):  # its loop is closed
                future.get_loop().call_soon_threadsafe(_go_on, future)

    def end(self, item: Item) -> None:
        """The item is invalid. Any thread."""
        for future in list(self._futures):
            with contextlib.suppress(RuntimeError):
                future.get_loop().call_soon_threadsafe(_fail, future, item)


def _go_on(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _fail(future: asyncio.Future[None], item: Item) -> None:
    if not future.done():
        future.set_exception(_end_of(item))


def _end_of(item: Item) -> LoopClosed:
    return LoopClosed(f"{_named(item)} is invalid", _capi.E_CLOSED)


def _named(item: Item) -> str:
    return f"the {type(item).__name__.lower()} {item.label!r}" if item.label else f"the {type(item).__name__.lower()}"
