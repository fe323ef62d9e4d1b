# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Hands functions to a loop, or to a thread."""

from __future__ import annotations

import ctypes
from contextvars import Context
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Optional, Tuple, TypeVar

from . import _capi, _registry
from ._arguments import context_of
from ._errors import Error, LoopClosed, check
from ._future import LOOK_NS, Answer, Block, Future, is_told, refuse_left
from ._host import host
from ._item import encoded
from ._library import native
from ._types import modes_of

if TYPE_CHECKING:
    from ._loop import RunLoop
    from ._thread import Thread

T = TypeVar("T")
_REQUEST_SIZE = ctypes.sizeof(_capi.treadle_request)


def enqueue(
    loop: RunLoop,
    fn: Callable[..., T],
    modes: Optional[Iterable[str]],
    arguments: Tuple[Any, ...],
    keywords: Dict[str, Any],
    context: Optional[Context],
) -> Future[T]:
    """Queues fn for a loop and wakes it."""
    if not callable(fn):
        raise TypeError(f"{fn!r} cannot be called")
    host.drain()
    if modes is None:
        names, count = None, 0
    else:
        names = names_of(modes_of(modes))
        count = len(names)
        if not count:
            raise ValueError("a function for no mode would never run")
    block = Block(next(_registry.tokens), loop, fn, arguments, keywords, context_of(context))
    future = block.future
    # Order: _pending before _has_ended. The loop's end writes _has_ended, and then discards what is pending
    # (_lifetime.end); of both the one that takes it out of the calls discards it.
    _registry.calls[block.token] = loop._pending[block.token] = block
    if loop._has_ended:
        _discard(block)
        return future
    if names is None:
        status = native.treadle_host_post(host.handle, block.token, loop._handle)
        if status == _capi.E_CLOSED and not host.is_closing:
            status = _capi.IGNORED
    else:
        post = _capi.treadle_post(ctypes.sizeof(_capi.treadle_post), names, count)
        post.host, post.token = host.handle, block.token
        status = native.treadle_loop_post_in(loop._handle, post)
    if status == _capi.IGNORED:
        _discard(block)
    elif status < 0:
        _registry.calls.pop(block.token, None)
        loop._pending.pop(block.token, None)
        check(status, loop._handle)
    return future


def request(
    thread: Thread,
    fn: Callable[..., T],
    modes: Optional[Iterable[str]],
    wait: bool,
    arguments: Tuple[Any, ...],
    context: Optional[Context],
) -> Future[T]:
    """Has a thread perform fn; the calling one with `wait` at once. After an empty list of modes the Future is done."""
    if not callable(fn):
        raise TypeError(f"{fn!r} cannot be called")
    host.drain()
    loop = loop_of(thread)
    block = Block(next(_registry.tokens), loop, fn, arguments, {}, context_of(context))
    future = block.future
    names, count = None, 0
    if modes is not None:
        names = names_of(modes_of(modes))
        count = len(names)
        if not count:
            future.cancel()
            return future
    _registry.calls[block.token] = loop._pending[block.token] = block
    asked = request_of(block.token, 0, names, count)
    try:
        if not wait:
            status = native.treadle_perform(thread._handle, asked)
        else:
            # The library would call it at once as well; but Ctrl-C may not come between it and the function.
            status = _capi.E_CLOSED if host.is_shut_down else _capi.OK
            if status == _capi.OK and _registry.calls.pop(block.token, None) is not None:
                block.run()
    except BaseException:
        future.cancel()
        _forget(block)
        raise
    if status < 0 and not future.done():
        _forget(block)
        check(status, thread._handle)
    return future


def ask(
    thread: Thread,
    fn: Callable[..., T],
    modes: Optional[Iterable[str]],
    arguments: Tuple[Any, ...],
    context: Optional[Context],
) -> T:
    """Waits for a function that another thread performs; what it returned, or raises what it raised. Something else may
    end the wait: on the main thread Ctrl-C, for the main thread the end of the program."""
    if not callable(fn):
        raise TypeError(f"{fn!r} cannot be called")
    host.drain()
    loop = loop_of(thread)
    names, count = None, 0
    if modes is not None:
        names = names_of(modes_of(modes))
        count = len(names)
        if not count:
            return None  # type: ignore[return-value]
    turn = _capi.FOREVER if is_told(loop) else LOOK_NS
    answer = Answer(fn, arguments, context_of(context))
    word = answer.word
    token = next(_registry.tokens)
    asked = request_of(token, _capi.PERFORM_UNTIL_WORD, names, count)
    asked.target, asked.delay_ns = ctypes.addressof(word), turn
    is_refused = False
    try:
        # Order: _pending before host.left (leave()). The loop's end discards it; so does a drain, when the library has
        # dropped it.
        _registry.calls[token] = loop._pending[token] = answer
        refuse_left(loop)
        status = native.treadle_perform(thread._handle, asked)
        # If it is refused, nothing is queued; but another thread may have drained its token already.
        if status < 0 and status != _capi.E_TIMEOUT:
            is_refused = True
            check(status, thread._handle)
        while not answer.is_over():
            refuse_left(loop)
            host.drain()
            if status != _capi.E_TIMEOUT and not answer.is_over():
                check(status, loop._handle)
            status = native.treadle_host_wait(loop._handle, word, turn)
    except BaseException:
        if not is_refused:
            answer.desert(loop)
        raise
    finally:  # what has not begun is not called any more
        _registry.calls.pop(token, None)
        loop._pending.pop(token, None)
    return answer.take()  # type: ignore[no-any-return]


def request_of(token: int, flags: int, names: Any = None, count: int = 0) -> Any:
    """A request whose performing is an event of ours."""
    asked = _capi.treadle_request(_REQUEST_SIZE)
    asked.host, asked.token, asked.flags = host.handle, token, flags
    if names is not None:
        asked.modes, asked.mode_count = names, count
    return asked


def loop_of(thread: Thread) -> RunLoop:
    """A thread's loop. Raises LoopClosed when the thread has finished."""
    if thread.is_finished:
        raise LoopClosed("the thread has finished", _capi.E_CLOSED)
    try:
        return thread.loop
    except Error as error:
        if error.code != _capi.E_STATE:
            raise
        raise LoopClosed("the thread has finished", _capi.E_CLOSED) from None


def _forget(block: Block) -> None:
    _registry.calls.pop(block.token, None)
    block.loop._pending.pop(block.token, None)


def _discard(block: Block) -> None:
    if _registry.calls.pop(block.token, None) is not None:
        block.discard()


@lru_cache(maxsize=64)
def names_of(modes: Tuple[str, ...]) -> Any:
    """The names of modes as the library takes them."""
    return (ctypes.c_char_p * len(modes))(*map(encoded, modes))
