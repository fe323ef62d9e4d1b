# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Hands functions to a loop."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Optional, Tuple, TypeVar

from . import _capi, _registry
from ._errors import check
from ._future import Block, Future
from ._host import host
from ._item import encoded
from ._library import native

if TYPE_CHECKING:
    from ._loop import RunLoop

T = TypeVar("T")


def enqueue(
    loop: RunLoop,
    fn: Callable[..., T],
    modes: Optional[Iterable[str]],
    arguments: Tuple[Any, ...],
    keywords: Dict[str, Any],
) -> Future[T]:
    """Queues fn for a loop and wakes it."""
    if not callable(fn):
        raise TypeError(f"{fn!r} cannot be called")
    host.drain()
    if modes is None:
        names, count = None, 0
    else:
        names = _names(tuple(modes))
        count = len(names)
        if not count:
            raise ValueError("a function for no mode would never run")
    block = Block(next(_registry.tokens), loop, fn, arguments, keywords)
    future = block.future
    # Recorded before the loop can run it, and before a look whether the thread is gone, which discards
    # what is recorded.
    _registry.blocks[block.token] = loop._pending[block.token] = block
    if loop._has_ended:
        _discard(block)
        return future
    status = native.treadle_host_perform_block(host.handle, block.token, loop._handle, names, count)
    if status == _capi.IGNORED:
        _discard(block)
    elif status < 0:
        _registry.blocks.pop(block.token, None)
        loop._pending.pop(block.token, None)
        check(status, loop._handle)
    else:
        native.treadle_loop_wake(loop._handle)
    return future


def _discard(block: Block) -> None:
    if _registry.blocks.pop(block.token, None) is not None:
        block.discard()


@lru_cache(maxsize=64)
def _names(modes: Tuple[str, ...]) -> Any:
    return (ctypes.c_char_p * len(modes))(*map(encoded, modes))
