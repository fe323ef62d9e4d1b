# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Run loops."""

from __future__ import annotations

import ctypes
import time
import weakref
from contextlib import nullcontext
from contextvars import Context
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    List,
    NoReturn,
    Optional,
    Set,
    Tuple,
    TypeVar,
    overload,
)

from . import _capi, _lifetime, _plugin_owner, _registry
from ._arguments import context_of
from ._decorating import Decorating
from ._errors import LoopClosed, check, failure
from ._frames import ExceptHookArgs, Frame, excepthook, guarded, is_running, leave, own_stack
from ._future import Future
from ._host import host
from ._invoking import Invoking
from ._item import Item, OtherItem, encoded, handle_of, text_of
from ._library import native
from ._performing import enqueue
from ._signals import MainRun, run_handlers, was_interrupted
from ._threads import is_main, thread
from ._types import (
    COMMON,
    DEFAULT,
    NANOSECONDS,
    Counters,
    Finish,
    Mode,
    RunResult,
    modes_of,
    timeout_of,
)

if TYPE_CHECKING:
    from typing_extensions import Literal, ParamSpec

    from ._registry import Call

    P = ParamSpec("P")

_posts = _registry.posts
_tokens = _registry.tokens
_post = native.treadle_host_post
_plugin_owner.followers.append(lambda: globals().update(_post=native.treadle_host_post))

T = TypeVar("T")


class RunLoop(Invoking, Decorating):
    """The run loop of a thread. Every thread has exactly one; RunLoop.current() gives it.

    While its thread lives there is one RunLoop object for it, always the same. Since 1.0.
    """

    #: What happens to an exception in a callback: "raise" ends the innermost run, which raises it
    #: again; "report" calls excepthook and goes on. KeyboardInterrupt, SystemExit and their like always
    #: end the run. Since 1.0.
    error_policy: Literal["raise", "report"]
    #: Called with an ExceptHookArgs for an exception that no call can raise. Since 1.0.
    excepthook: Callable[[ExceptHookArgs], None]

    _handle: int
    #: What was added, with the names of its modes.
    _held: Dict[Item, Set[bytes]]
    #: The functions that have not run yet, by token.
    _pending: Dict[int, Call]
    _has_ended: bool
    #: Whether the package learns of the thread's end at once.
    _tells_its_end: bool
    #: Whether a run has said that everything was shut down.
    _is_told_of_end: bool
    #: The identity of a thread that Python did not make.
    _thread: int

    def __init__(self) -> None:
        raise TypeError("a thread has its loop: use RunLoop.current() or RunLoop.main()")

    @classmethod
    def _of(cls, handle: int) -> RunLoop:
        """The object for a living handle."""
        return _lifetime.loop_of(handle, cls._make)

    @classmethod
    def _make(cls, handle: int) -> RunLoop:
        self = cls.__new__(cls)
        check(native.treadle_retain(handle))
        weakref.finalize(self, native.treadle_release, handle).atexit = False
        self._handle = handle
        self._held = {}
        self._pending = {}
        self._has_ended = False
        self._tells_its_end = False
        self._is_told_of_end = False
        self._thread = 0
        self.error_policy = "raise"
        self.excepthook = excepthook
        return self

    @classmethod
    def current(cls) -> RunLoop:
        """The calling thread's loop, made on first use; it goes away with the thread. Any thread. Since 1.0."""
        loop = thread.loop
        if loop is None:
            host.drain()
            handle = native.treadle_loop_current()
            if handle is None:
                raise failure(0)
            loop = thread.loop = cls._of(handle)
            _lifetime.adopt(loop)
        return loop

    @classmethod
    def main(cls) -> RunLoop:
        """The loop of the process's initial thread, made if need be. Any thread. Since 1.0."""
        handle = native.treadle_loop_main()
        if handle is None:
            raise failure(0)
        loop = cls._of(handle)
        loop._tells_its_end = True  # it ends with the process
        return loop

    # Running

    def run(
        self,
        mode: str = DEFAULT,
        seconds: Optional[float] = None,
        *,
        return_after_source_handled: bool = False,
        when_empty: bool = False,
    ) -> RunResult:
        """Runs the loop in one mode until there is a result. Only on the loop's own thread.

        seconds: how long; None for ever; 0 or less makes one pass without waiting.
        return_after_source_handled: return once a source was handled.
        when_empty: sleep while nothing is in the mode. Without it, and with the common one, a mode that is
        unknown or empty is FINISHED at once. May be called from every
        callback. Raises the exception of a callback (see error_policy), WrongThread, ValueError for NaN.
        On the main thread a signal that has a Python handler ends the sleep, and the handler runs inside of the run,
        which goes on if it returns. A run that treadle.shutdown() ends is CLOSED, as is the first that comes
        later; those after that raise LoopClosed.
        Inside of a task or another callback of a treadle.aio.EventLoop asyncio pauses until the run has ended. There a
        run of a mode of asyncio's needs a limit, or raises RuntimeError: math.inf for one that a callback of the run loop
        will stop. Since 1.0.
        """
        name = encoded(mode)
        timeout = timeout_of(seconds, "seconds")
        flags = _capi.RUN_RETURN_AFTER_SOURCE if return_after_source_handled else 0
        flags |= _capi.RUN_WHEN_EMPTY if when_empty else 0
        if seconds is None and thread.turns is not None:
            thread.turns.refuse_run(self, mode)
        return self._run(name, timeout, flags)

    def _run(self, name: bytes, timeout: int, flags: int) -> RunResult:
        """Runs; on the main thread it serves signals, here only at the end of the interpreter, when the library calls back no more.

        One function, since each frame below a callback is one more in the stacks that asyncio records in debug mode.
        """
        host.drain()
        frame, stack = Frame(runs=True), own_stack()
        depth, was_told = len(stack), self._is_told_of_end
        on_main = is_main()
        try:
            with nullcontext() if not on_main or is_running() else MainRun():
                try:
                    stack.append(frame)
                    if not on_main:
                        status = native.treadle_loop_run(self._handle, name, timeout, flags)
                    else:
                        started = time.monotonic_ns()
                        left = timeout
                        while True:
                            status = native.treadle_host_run(host.handle, self._handle, name, left, flags)
                            if status != _capi.RUN_INTERRUPTED or frame.error is not None:
                                break
                            run_handlers()
                            if timeout != _capi.FOREVER:
                                left = max(0, timeout - (time.monotonic_ns() - started))
                finally:
                    leave(stack, depth, frame)
                if frame.error is not None:
                    frame.raise_kept()
        finally:
            host.drain()
        if status == _capi.E_CALLBACK and was_interrupted():
            raise KeyboardInterrupt
        if status == _capi.E_CLOSED and not was_told:
            self._is_told_of_end = host.is_shut_down = True
            return RunResult.CLOSED
        return RunResult(check(status, self._handle))

    def stop(self) -> None:
        """Ends the innermost run at the end of its pass, also out of its sleep.

        Without a run it is not remembered: see request_stop. Any thread. Since 1.0.
        """
        check(native.treadle_loop_stop(self._handle), self._handle)

    def request_stop(self, *, all_levels: bool = False, at_once: bool = False) -> None:
        """A stop that cannot be lost: without a run, the next one returns STOPPED at once.

        all_levels: end every nested run, not only the innermost. at_once: end the run after the callback that runs; the rest of
        its pass is queued as before. Any thread. Since 1.0.
        """
        flags = (_capi.STOP_ALL_LEVELS if all_levels else 0) | (_capi.STOP_AT_ONCE if at_once else 0)
        check(native.treadle_loop_request_stop(self._handle, flags), self._handle)

    def wake_up(self) -> None:
        """Ends the current or the next sleep of the innermost run. Any thread. Since 1.0."""
        check(native.treadle_loop_wake(self._handle), self._handle)

    def open_pollable(self, mode: str = DEFAULT) -> int:
        """Opens a descriptor by which another loop, asyncio's say, waits for this one: readable when a run of the mode would have
        something to do. The other loop then calls run(mode, 0, when_empty=True) on this thread.

        The descriptor is the caller's, for os.close, and is never read. Only on the loop's own thread. Raises WrongThread,
        SystemFailure. Since 1.0.
        """
        out = ctypes.c_int32()
        check(native.treadle_loop_open_pollable(self._handle, encoded(mode), out), self._handle)
        return out.value

    @property
    def is_waiting(self) -> bool:
        """True exactly while the loop's thread sleeps in a run, or is about to. Any thread. Since 1.0."""
        return bool(native.treadle_loop_is_waiting(self._handle))

    @property
    def is_current(self) -> bool:
        """Whether this is the calling thread's loop. Any thread. Since 1.0."""
        return bool(native.treadle_loop_is_current(self._handle))

    @property
    def thread_id(self) -> Optional[int]:
        """The kernel's id of the loop's thread; None once the thread is gone. Any thread. Since 1.0."""
        out = ctypes.c_int32()
        check(native.treadle_loop_get_thread_id(self._handle, out), self._handle)
        return None if self._has_ended else out.value or None

    # Modes

    @property
    def current_mode(self) -> Optional[Mode]:
        """The mode of the innermost run; None when the loop is not being run. Any thread. Since 1.0."""
        text = self._text(native.treadle_loop_get_current_mode)
        return None if text is None else Mode(text.decode())

    @property
    def modes(self) -> FrozenSet[Mode]:
        """The modes that exist: to which something was added. Any thread. Since 1.0."""
        text = self._text(native.treadle_loop_get_modes) or b""
        return frozenset(Mode(name.decode()) for name in text.split(b"\0") if name)

    def _text(self, function: Callable[..., int]) -> Optional[bytes]:
        """What a function of the library copies out; None when there is none."""
        length = ctypes.c_size_t(120)
        while True:
            buffer = ctypes.create_string_buffer(length.value + 1)
            capacity = len(buffer)
            status = function(self._handle, buffer, capacity, length)
            if status == _capi.E_NOT_FOUND:
                return None
            check(status, self._handle)
            if length.value < capacity:
                return buffer.raw[: length.value]

    def add_common_mode(self, mode: str) -> None:
        """Puts a mode into the common set: it receives every item that was added to COMMON, now and later.

        Raises InvalidArgument for COMMON itself, and what a schedule callback raises. Any thread. Since 1.0.
        """
        check(guarded(native.treadle_loop_add_common_mode, self._handle, encoded(mode)), self._handle)

    def is_common_mode(self, mode: str) -> bool:
        """Whether the mode is in the common set. Any thread. Since 1.0."""
        return bool(native.treadle_loop_is_common_mode(self._handle, encoded(mode)))

    # Items

    def add(self, item: Item, modes: Optional[Iterable[str]] = None) -> bool:
        """Adds an item to modes, one after the other. Takes effect also in a sleeping loop.

        modes: None is COMMON, all common modes; a text is one mode, a list several.
        The loop holds the item. False if that has no effect: it is there already, it is invalid, the
        loop's thread is gone, or it is a timer or observer of another loop. Raises Error if another
        source watches the same descriptor in that mode, SystemFailure if the system refuses, and what a
        schedule callback raises. Any thread. Since 1.0.
        """
        handle, names = handle_of(item), _names(modes)
        if self._has_ended:
            return False
        return any([self._add(item, handle, name) for name in names])

    def _add(self, item: Item, handle: int, name: bytes, is_lent: bool = False) -> bool:
        try:
            if item._calls_back:
                status = guarded(native.treadle_loop_add, self._handle, handle, name)
            else:
                status = native.treadle_loop_add(self._handle, handle, name)
        finally:
            if not is_lent:
                _lifetime.settle(self, item, name)
        return check(status, self._handle, handle) == _capi.OK

    def _lend(self, item: Item, modes: Iterable[str]) -> None:
        """Adds an item for tasks that await it. They hold it: a source that nobody else holds is never signalled, and
        goes with its tasks. A port is held by the loop, since messages name ports."""
        handle = handle_of(item)
        for name in _names(modes):
            self._add(item, handle, name, is_lent=item._is_held_by_waiters)

    def remove(self, item: Item, modes: Optional[Iterable[str]] = None) -> bool:
        """Removes an item from modes; from COMMON is from the common set and all its modes.

        modes: None is COMMON; a text is one mode, a list several.
        On the loop's own thread its callback does not start any more. False if it was not there. Raises
        what a cancel callback raises. Any thread. Since 1.0.
        """
        handle = handle_of(item)
        return any([self._remove(item, handle, name) for name in _names(modes)])

    def _remove(self, item: Item, handle: int, name: bytes) -> bool:
        try:
            if item._calls_back:
                status = guarded(native.treadle_loop_remove, self._handle, handle, name)
            else:
                status = native.treadle_loop_remove(self._handle, handle, name)
        finally:
            _lifetime.settle_all(self, item)
        return check(status, self._handle, handle) == _capi.OK

    def contains(self, item: Item, modes: Optional[Iterable[str]] = None) -> bool:
        """Whether the item is in all of the modes; in COMMON is what was added to COMMON.

        modes: None is COMMON; a text is one mode, a list several. Any thread. Since 1.0.
        """
        handle = handle_of(item)
        return all(native.treadle_loop_contains(self._handle, handle, name) for name in _names(modes))

    def __contains__(self, item: object) -> bool:
        """`item in loop`: in any mode; `(item, mode) in loop`: as contains(). Any thread. Since 1.0."""
        if isinstance(item, tuple) and len(item) == 2:
            return self.contains(*item)
        return isinstance(item, Item) and any(self.contains(item, mode) for mode in (COMMON, *self.modes))

    def items(self, mode: Optional[str] = None) -> List[Item]:
        """The items of a mode, with COMMON those that were added to COMMON, and with None those of all modes, each once:
        sources, then descriptor sources, timers and observers.

        Those that Python has made are the very objects; others, of code in another language, are an OtherItem. For who
        debugs: it looks at all items of the process. Any thread. Since 1.0.
        """
        name = None if mode is None else encoded(mode)
        count = ctypes.c_size_t(16)
        while True:
            capacity = count.value
            handles = (ctypes.c_void_p * capacity)()
            check(native.treadle_loop_copy_items(self._handle, name, handles, capacity, count), self._handle)
            given = [handle for handle in handles[: min(capacity, count.value)] if handle is not None]
            known = _registry.items_of(given)
            items = [known[handle] if handle in known else OtherItem._of(handle) for handle in given]
            for handle in known:
                native.treadle_release(handle)
            if count.value <= capacity:
                return items

    def counters(self) -> Counters:
        """The loop's counters. Posts, signals and timers count when their batch is over. Any thread. Since 1.0."""
        raw = _capi.treadle_loop_counters()
        raw.struct_size = ctypes.sizeof(raw)
        check(native.treadle_loop_get_counters(self._handle, raw), self._handle)
        return Counters(
            passes=raw.passes,
            sleeps=raw.sleeps,
            wakes=raw.wakes,
            posts=raw.posts,
            signals=raw.signals,
            timers=raw.timers,
            descriptors=raw.descriptors,
            requests=raw.requests,
            messages=raw.messages,
            discarded=raw.discarded,
            longest=raw.longest_ns / NANOSECONDS,
            last_finish=Finish(raw.last_finish),
        )

    def describe(self) -> str:
        """A description of the loop, its modes and their items, for debugging. Any thread. Since 1.0."""
        return text_of(native.treadle_describe, self._handle)

    def next_fire(self, mode: str = DEFAULT) -> Optional[float]:
        """The date of the timer that is next in the mode, in monotonic seconds, or None. Any thread. Since 1.0."""
        out = ctypes.c_int64()
        check(native.treadle_loop_get_next_fire(self._handle, encoded(mode), out), self._handle)
        return out.value / NANOSECONDS if out.value else None

    # Functions

    @overload
    def perform(
        self, fn: Callable[..., T], /, *args: Any, modes: Iterable[str], context: Optional[Context] = None, **kwargs: Any
    ) -> Future[T]: ...

    @overload
    def perform(self, fn: Callable[..., T], /, *args: Any, context: Context, **kwargs: Any) -> Future[T]: ...

    @overload
    def perform(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]: ...

    def perform(  # type: ignore[misc]
        self,
        fn: Callable[..., T],
        /,
        *args: Any,
        modes: Optional[Iterable[str]] = None,
        context: Optional[Context] = None,
        **kwargs: Any,
    ) -> Future[T]:
        """Has the loop call fn(*args, **kwargs) once, in a pass of one of the modes, and wakes it. Any thread.

        Functions run in the order in which they were given. The Future gets the result or the exception;
        with LoopClosed if the thread ends before. Raises LoopClosed at the end of the interpreter.
        modes: None is COMMON; a text is one mode, a list several.
        context: that of contextvars in which fn runs; None: a copy of the caller's, as it is now. Since 1.0.
        """
        return enqueue(self, fn, modes, args, kwargs, context)

    def post(self, fn: Callable[..., object], /, *args: Any, context: Optional[Context] = None) -> None:
        """Has the loop call fn(*args) once, in a pass of a common mode, and wakes it. Any thread, in a few
        microseconds less than perform().

        The result is dropped: an exception is one of a callback (see error_policy), and functions that remain when
        the thread ends are dropped. Functions run in the order in which they were posted, and given to perform();
        those that one of them posts wait for the next pass. Raises LoopClosed when the thread is gone, and at
        the end of the interpreter.
        context: that of contextvars in which fn runs; None: a copy of the caller's, as it is now. Since 1.0.
        """
        if not callable(fn):
            raise TypeError(f"{fn!r} cannot be called")
        if self._has_ended:
            raise LoopClosed("the loop's thread is gone", _capi.E_CLOSED)
        context = context_of(context)
        if host.retired.value:
            host.drain()
        token = next(_tokens)
        _posts[token] = fn, args, context
        status = _post(host.handle, token, self._handle)
        if status < 0:
            _posts.pop(token, None)
            check(status, self._handle)

    def _loop_for_calls(self) -> RunLoop:
        if self._has_ended:
            raise LoopClosed("the loop's thread is gone", _capi.E_CLOSED)
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a RunLoop cannot be copied or pickled")

    def _thread_ended(self) -> None:
        _lifetime.end(self)

    def __repr__(self) -> str:
        if self._has_ended:
            return f"<RunLoop of a thread that is gone at {id(self):#x}>"
        try:
            return f"<RunLoop of thread {self.thread_id} at {id(self):#x}>"
        except RuntimeError as error:
            return f"<RunLoop at {id(self):#x}: {error}>"


_COMMON = (encoded(COMMON),)


def _names(modes: Optional[Iterable[str]]) -> Tuple[bytes, ...]:
    """Modes as the library takes them."""
    return _COMMON if modes is None else tuple(map(encoded, modes_of(modes)))
