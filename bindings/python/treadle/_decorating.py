# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The short forms: decorators that create an item, add it to a loop and return it."""

from __future__ import annotations

from contextvars import Context
from typing import Callable, Iterable, Optional, TypeVar, Union

from ._descriptor import FileDescriptor, HasFileno
from ._item import Item
from ._observer import Observer
from ._timer import Timer
from ._types import Activity, Events

I = TypeVar("I", bound=Item)  # noqa: E741


class Decorating:
    """The decorators of a loop. The mother of RunLoop."""

    def add(self, item: Item, modes: Optional[Iterable[str]] = None) -> bool:
        """Adds an item to modes: RunLoop.add()."""
        raise NotImplementedError

    def every(
        self,
        seconds: float,
        *,
        tolerance: float = 0.0,
        modes: Optional[Iterable[str]] = None,
        context: Optional[Context] = None,
    ) -> Callable[[Callable[[Timer], object]], Timer]:
        """`@loop.every(0.5)`: a repeating timer, first after one interval. Any thread. Since 1.0."""
        return lambda fn: self._added(Timer(fn, interval=seconds, tolerance=tolerance, context=context), modes)

    def after(
        self, seconds: float, *, modes: Optional[Iterable[str]] = None, context: Optional[Context] = None
    ) -> Callable[[Callable[[Timer], object]], Timer]:
        """`@loop.after(2)`: a one-shot timer, counted from the decoration. Any thread. Since 1.0."""
        return lambda fn: self._added(Timer(fn, delay=seconds, context=context), modes)

    def on(
        self, activities: Activity, *, order: int = 0, repeats: bool = True, modes: Optional[Iterable[str]] = None
    ) -> Callable[[Callable[[Observer, Activity], object]], Observer]:
        """`@loop.on(Activity.EXIT)`: an observer. Any thread. Since 1.0."""
        return lambda fn: self._added(Observer(fn, activities, repeats=repeats, order=order), modes)

    def reader(
        self, fd: Union[int, HasFileno], *, modes: Optional[Iterable[str]] = None
    ) -> Callable[[Callable[[FileDescriptor, Events], object]], FileDescriptor]:
        """`@loop.reader(sock)`: a descriptor source, called in each pass while there is something to read.

        Any thread. Since 1.0.
        """
        return lambda fn: self._added(FileDescriptor(fd, fn, oneshot=False), modes)

    def _added(self, item: I, modes: Optional[Iterable[str]]) -> I:
        self.add(item, modes)
        return item
