# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Functions that a loop is asked to perform, and what becomes of them."""

from __future__ import annotations

import concurrent.futures
import ctypes
import time
import weakref
from contextvars import Context
from typing import TYPE_CHECKING, Any, Callable, Dict, Generator, List, Optional, Tuple, TypeVar

from . import _capi, _registry
from ._errno import Errno
from ._errors import FORKED_HANDLE, DeadlockError, Forked, LoopClosed, check
from ._frames import Outcome, report, without_frame
from ._host import host
from ._library import native
from ._plugin_owner import may_own
from ._threads import is_main, thread
from ._types import NANOSECONDS, timeout_of

if TYPE_CHECKING:
    from ._loop import RunLoop

T = TypeVar("T")

#: How often a waiter looks whether a thread that Python did not make has ended without a word; and the main thread,
#: whether a signal has come just before it began to wait, which the interpreter does not tell.
LOOK_NS = 100_000_000
_NEVER = "the loop's thread ended, or the function's scope, before it ran"


class Future(concurrent.futures.Future[T]):
    """The result of RunLoop.perform and Thread.perform. As in concurrent.futures, but made for loops, and `await`
    waits for it in asyncio. Since 1.0.

    When the loop's thread ends, or the function's scope, before it ran, the exception is LoopClosed, which is also raised in who waits
    for the main thread's loop when that has come to the end of the program. An exception that was never retrieved is
    reported to the loop's excepthook when the Future goes away.
    """

    #: Whether a waiter has to look by itself, whatever the loop.
    _needs_looks = False
    #: By which waiters inside the library are told of the end, once there was one.
    _word: Optional[ctypes.c_uint32] = None

    def __init__(self, loop: RunLoop) -> None:
        super().__init__()
        self._treadle_loop = loop
        self._errno = Errno()
        if thread.scopes or may_own():  # their end may be somebody's who does not tell
            self._needs_looks = True
        self._unseen: List[BaseException] = []
        self.add_done_callback(_tell)  # the first of all, since one of a client's may wait for a waiter

    def result(self, timeout: Optional[float] = None) -> T:
        """Waits for the function and returns what it returned, or raises what it raised.

        timeout: in seconds; then TimeoutError. Raises DeadlockError on the loop's own thread while the
        function has not ended: run the loop instead. Any thread. Since 1.0.
        """
        self._wait(timeout)
        self._unseen.clear()
        if self.done():
            self._errno.give()
        return super().result(0)

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """Waits for the function and returns what it raised, or None. As result() otherwise. Since 1.0."""
        self._wait(timeout)
        self._unseen.clear()
        return super().exception(0)

    def __await__(self) -> Generator[Any, None, T]:
        """`await future` on a thread of asyncio, whose loop goes on meanwhile; what the function returned or raised.

        To cancel the task cancels the function if it has not begun. Any thread with a loop of asyncio. Since 1.0.
        """
        import asyncio  # not before somebody wants it

        self._refuse_forked()
        wrapped = asyncio.wrap_future(self, loop=asyncio.get_running_loop())
        loop = self._treadle_loop
        # Nobody tells of the end of some threads; and that the main thread has left, only who waits in the library.
        tells = loop._tells_its_end and not self._needs_looks and loop._handle != native.treadle_loop_main()
        while not tells and not wrapped.done():
            try:
                host.drain()
                self._look()
                refuse_left(loop)
                yield from asyncio.wait((wrapped,), timeout=LOOK_NS / NANOSECONDS).__await__()
            except (asyncio.CancelledError, LoopClosed):
                wrapped.cancel()
                raise
        return (yield from wrapped)

    def _refuse_forked(self) -> None:
        if not self.done() and self._treadle_loop._handle == FORKED_HANDLE:
            raise Forked("the function was to run in the parent of this process", _capi.E_FORKED)

    def _wait(self, timeout: Optional[float]) -> None:
        if self.done():
            return
        self._refuse_forked()
        loop = self._treadle_loop
        self._look()
        if loop.is_current and not self.done():
            raise DeadlockError("the loop's own thread waits for what it must run itself", _capi.E_DEADLOCK)
        limit = timeout_of(timeout, "timeout")
        longest = _capi.FOREVER if is_told(loop) and not self._needs_looks else LOOK_NS
        end = _capi.FOREVER if limit == _capi.FOREVER else time.monotonic_ns() + limit
        # One word for all waiters. Order: _word before the future's state and host.left, each of which is written
        # before a look at _word (_tell, leave): so either the waiter sees the end, or the end sees the word.
        word = self.__dict__.setdefault("_word", ctypes.c_uint32())
        while not self.done():
            refuse_left(loop)
            left = _capi.FOREVER if end == _capi.FOREVER else end - time.monotonic_ns()
            if left <= 0:
                raise concurrent.futures.TimeoutError()
            status = native.treadle_host_wait(loop._handle, word, min(left, longest))
            host.drain()
            self._look()
            # Refused by a scope's end, which drops what is waited for before it waits itself: then that was seen now.
            if status != _capi.E_TIMEOUT and not self.done():
                check(status, loop._handle)

    def _look(self) -> None:
        """Looks whether it is over, where nobody tells."""

    def _fail(self, error: BaseException) -> None:
        """Stores an exception, and sees to it that it does not go unseen."""
        self._unseen = [error]
        weakref.finalize(self, _report_unseen, self._unseen, self._treadle_loop).atexit = False
        self.set_exception(error)


def _tell(future: Any) -> None:
    """Tells the waiters of the end."""
    word = future._word
    if word is not None:
        native.treadle_host_end_wait(word)


def _report_unseen(unseen: List[BaseException], loop: RunLoop) -> None:
    if unseen:
        report(unseen[0], loop, "a performed function whose Future was dropped", None)


def is_told(loop: RunLoop) -> bool:
    """Whether the calling thread is told of all that may end a wait for the loop, without a look."""
    return loop._tells_its_end and not is_main() and not thread.scopes and not may_own()


def refuse_left(loop: RunLoop) -> None:
    """Raises LoopClosed for a wait for the loop of the main thread, once that has left the program."""
    if loop._handle == host.left:
        raise LoopClosed("the program ends: the loop is not run any more", _capi.E_CLOSED)


def leave() -> None:
    """The main thread has left the program, which now waits for other threads: none of these may wait for its loop."""
    host.left = native.treadle_loop_current() or 0
    loop = _registry.loops.get(host.left)
    for call in [] if loop is None else list(loop._pending.values()):
        if isinstance(call, (Block, Answer)):
            call.leave()


class Block:
    """A function on its way to a loop."""

    __slots__ = ("token", "loop", "future", "fn", "arguments", "keywords", "context")

    def __init__(
        self,
        token: int,
        loop: RunLoop,
        fn: Callable[..., Any],
        arguments: Tuple[Any, ...],
        keywords: Dict[str, Any],
        context: Context,
    ) -> None:
        self.token = token
        self.loop = loop
        self.future: Future[Any] = Future(loop)
        self.fn = fn
        self.arguments = arguments
        self.keywords = keywords
        self.context = context

    def run(self) -> None:
        """Runs the function on the loop's thread. Raises only what must end the run."""
        self.loop._pending.pop(self.token, None)
        future = self.future
        if not future.set_running_or_notify_cancel():
            return
        own = future._errno.begin()
        try:
            try:
                result = self.context.run(self.fn, *self.arguments, **self.keywords)
            finally:
                future._errno.end(own)
        except BaseException as error:
            # This frame would keep the future alive through its own exception.
            without_frame(error)
            if isinstance(error, Exception):
                future._fail(error)
            else:
                future.set_exception(error)
                raise
            del self.future, future
        else:
            future.set_result(result)

    def leave(self) -> None:
        """The loop is not run any more: whoever waits looks again."""
        _tell(self.future)

    def discard(self) -> None:
        """The loop will not run the function."""
        self.loop._pending.pop(self.token, None)
        if self.future.set_running_or_notify_cancel():
            self.future.set_exception(LoopClosed(_NEVER, _capi.E_CLOSED))


class Answer:
    """A function that another thread performs while its caller waits inside the library."""

    __slots__ = ("_fn", "_arguments", "_context", "_errno", "_result", "_outcome", "_is_over", "word", "_deserted")

    def __init__(self, fn: Callable[..., Any], arguments: Tuple[Any, ...], context: Context) -> None:
        self._fn = fn
        self._context = context
        self._errno = Errno()
        self._arguments = arguments
        self._result: Any = None
        self._outcome = Outcome()
        self._is_over = False
        #: By which the caller is told of the end.
        self.word = ctypes.c_uint32()
        #: The loop of a caller's target, once the caller does not wait any more, until somebody reports the exception.
        self._deserted: List[RunLoop] = []

    def run(self) -> None:
        """Runs the function on the other thread. Raises only what must end the run there."""
        own = self._errno.begin()
        try:
            try:
                self._result = self._context.run(self._fn, *self._arguments)
            finally:
                self._errno.end(own)
            self._end()
        except BaseException as error:
            self._outcome.keep(error)
            self._end()
            if not isinstance(error, Exception):
                raise

    def leave(self) -> None:
        """The loop is not run any more: the caller looks again."""
        native.treadle_host_end_wait(self.word)

    def discard(self) -> None:
        """The thread will not run the function."""
        self._outcome.error = LoopClosed(_NEVER, _capi.E_CLOSED)
        self._end()

    def _end(self) -> None:
        # Order: _is_over before _deserted; desert() writes _deserted, and then looks at _is_over. One of the two
        # reports.
        self._is_over = True
        self.leave()
        self._report()

    def desert(self, loop: RunLoop) -> None:
        """The caller has stopped waiting: an exception is reported, since nobody asks for it."""
        self._deserted.append(loop)
        if self._is_over:
            self._report()

    def _report(self) -> None:
        try:
            loop = self._deserted.pop()
        except IndexError:  # the caller waits, or another thread reports
            return
        error, self._outcome.error = self._outcome.error, None
        if isinstance(error, Exception):
            report(error, loop, "a performed function without a waiter", None)

    def is_over(self) -> bool:
        """Whether there is an end, whatever it is."""
        return self._is_over

    def take(self) -> Any:
        """What the function returned, once it is over; raises what it raised."""
        self._errno.give()
        self._outcome.raise_kept()
        return self._result
