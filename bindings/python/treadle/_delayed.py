# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Functions that the calling thread's loop performs after a delay, and that can be cancelled by their target."""

from __future__ import annotations

from contextvars import Context
from types import ModuleType
from typing import Any, Callable, Iterable, Optional, Tuple

from ._arguments import context_of
from ._loop import RunLoop
from ._thread import Thread
from ._timer import Timer
from ._types import nanoseconds

_Any = Callable[..., object]


class DelayedPerform(Timer):
    """A one-shot timer that knows what it performs; made by perform_after. Since 1.0."""

    def __init__(
        self, delay: float, target: object, fn: _Any, arguments: Tuple[Any, ...], context: Optional[Context] = None
    ) -> None:
        """Use perform_after. Since 1.0."""
        wait = delay if nanoseconds(delay, "delay") > 0 else 0.0
        super().__init__(lambda timer: fn(*arguments), delay=wait, ends_after_firing=True, context=context)
        self._target = target
        self._performed = (fn, arguments)


def perform_after(
    delay: float,
    fn: _Any,
    /,
    *args: Any,
    modes: Optional[Iterable[str]] = None,
    target: object = None,
    context: Optional[Context] = None,
) -> DelayedPerform:
    """Has the calling thread's loop call fn(*args) once, after so many seconds, but never before its next pass.

    Those of one date are called in their order. Calls that remain when the thread ends are dropped.
    modes: None is COMMON; a text is one mode, a list several; with an empty list nothing is called.
    target: what cancel_performs() finds it by; without it the object of a bound method, or else fn itself.
    context: that of contextvars in which fn runs; None: a copy of the caller's, as it is now.
    Returns the timer, which may be invalidated. Raises ValueError for NaN. Any thread. Since 1.0.
    """
    if not callable(fn):
        raise TypeError(f"{fn!r} cannot be called")
    loop = RunLoop.current()
    timer = DelayedPerform(delay, _target_of(fn) if target is None else target, fn, args, context)
    if not loop.add(timer, modes):
        timer.invalidate()
    return timer


def cancel_performs(target: object, fn: Optional[_Any] = None, /, *args: Any) -> int:
    """Cancels what perform_after() was asked for on this thread, for this very target; how many there were.

    With fn, only those of this function with equal arguments. Functions of Thread.perform are not touched.
    Any thread. Since 1.0.
    """
    found = [
        item
        for item in list(RunLoop.current()._held)
        if isinstance(item, DelayedPerform)
        and item._target is target
        and item.is_valid
        and (fn is None or item._performed == (fn, args))
    ]
    for item in found:
        item.invalidate()
    return len(found)


def perform_in_background(fn: _Any, /, *args: Any, context: Optional[Context] = None, **kwargs: Any) -> Thread:
    """Calls fn(*args, **kwargs) on a new detached thread. Raises what Thread.start() raises. Any thread.

    context: that of contextvars in which fn runs; None: a copy of the caller's, as it is now. Since 1.0.
    """
    thread = Thread(fn, args, kwargs, detached=True, context=context_of(context))
    thread.start()
    return thread


def _target_of(fn: _Any) -> object:
    """The object of a bound method; functions of built-in modules are bound to their module, which is none."""
    owner = getattr(fn, "__self__", None)
    return fn if owner is None or isinstance(owner, ModuleType) else owner
