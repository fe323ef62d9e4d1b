# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The end of everything, before the end of the interpreter."""

from __future__ import annotations

from contextvars import Context
from typing import Any, Callable, Iterable, Optional, TypeVar, Union, overload, TYPE_CHECKING

from . import _registry
from ._errors import check
from ._future import Answer, Block, Future
from ._host import host
from ._library import native
from ._thread import Thread
from ._types import timeout_of
from ._waiting import wait as wait_in_slices

if TYPE_CHECKING:
    from typing_extensions import Literal

T = TypeVar("T")


def shutdown(timeout: Optional[float] = None) -> None:
    """Ends all run loops of the process, for good, and waits until no callback runs on another thread.

    Every run returns CLOSED; a loop that is run again later says so once, and then raises LoopClosed, as does who
    waits for a performed function. Functions of threads go on; their starts are refused. timeout: in seconds; then Timeout, with everything closed. May be
    called again. Any thread, also in a callback, which does not wait for itself. Since 1.0.
    """
    limit = timeout_of(timeout, "timeout")
    host.is_shut_down = True
    status = wait_in_slices(lambda nanoseconds: int(native.treadle_shutdown(nanoseconds)), limit)
    for token, call in list(_registry.calls.items()):
        if isinstance(call, (Answer, Block)) and _registry.calls.pop(token, None) is not None:
            call.discard()
    _registry.posts.clear()
    host.drain()
    check(status)


@overload
def perform_on_main(
    fn: Callable[..., T],
    /,
    *args: Any,
    wait: Literal[True],
    modes: Optional[Iterable[str]] = None,
    context: Optional[Context] = None,
) -> T: ...


@overload
def perform_on_main(
    fn: Callable[..., T],
    /,
    *args: Any,
    wait: Literal[False] = False,
    modes: Optional[Iterable[str]] = None,
    context: Optional[Context] = None,
) -> Future[T]: ...


def perform_on_main(
    fn: Callable[..., T],
    /,
    *args: Any,
    wait: bool = False,
    modes: Optional[Iterable[str]] = None,
    context: Optional[Context] = None,
) -> Union[T, Future[T]]:
    """Thread.main().perform(): has the process's initial thread call fn(*args). Any thread. Since 1.0."""
    if wait:
        return Thread.main().perform(fn, *args, wait=True, modes=modes, context=context)
    return Thread.main().perform(fn, *args, modes=modes, context=context)
