# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Threads."""

from __future__ import annotations

import ctypes
import weakref
from collections import abc
from contextvars import Context
from threading import get_ident
from typing import TYPE_CHECKING, Any, Callable, Iterable, List, Mapping, NoReturn, Optional, TypeVar, Union, overload

from . import _capi, _registry, _starting
from ._arguments import context_of, iterated, object_of
from ._dictionary import ThreadDictionary
from ._errors import FORKED_HANDLE, LoopClosed, StaleHandle, check, check_end, failure
from ._frames import Outcome, guarded, report_of_thread
from ._future import Future
from ._host import host
from ._invoking import Invoking
from ._library import native
from ._loop import RunLoop
from ._performing import ask, loop_of, request, request_of
from ._thread_attributes import ThreadAttributes
from ._thread_life import Entry, Held, collected
from ._threads import is_main
from ._types import ThreadState, timeout_of
from ._waiting import wait, wait_with_callbacks

if TYPE_CHECKING:
    from typing_extensions import Literal

T = TypeVar("T")

#: What Python needs for its frames, more than the library's default.
_STACK_SIZE = 8 * 1024 * 1024


class Thread(ThreadAttributes, Invoking):
    """A thread, with a run loop, a name, a dictionary and an end that can be waited for. Since 1.0.

    Thread.current() is the calling thread, also if Treadle did not create it; there is one object for each thread while it lives.
    A joinable thread is its owner's to join. One that still runs at the end of the program is left behind, as
    a daemon thread of threading is: call stop_and_join(), or treadle.shutdown(), for an orderly end.
    """

    #: The process's initial thread, once somebody asked for it.
    _main_thread: Optional[Thread] = None

    def __init__(
        self,
        target: Optional[Callable[..., object]] = None,
        args: Iterable[Any] = (),
        kwargs: Optional[Mapping[str, Any]] = None,
        *,
        name: str = "",
        stack_size: int = _STACK_SIZE,
        detached: bool = False,
        priority: Optional[float] = None,
        context: Optional[Context] = None,
    ) -> None:
        """Makes a thread that is not started yet. Any thread.

        target: called on the thread with args and kwargs. Without it the thread is a worker, as in C: it runs its loop in
        DEFAULT, also while nothing is in it, until it or its loop is stopped; its result is the RunResult.
        name, stack_size, priority: see the properties. detached: nobody is to join it.
        context: that of contextvars in which target runs; None: an empty one, as in threading.
        Raises InvalidArgument for what the properties refuse. Since 1.0.
        """
        if target is not None and not callable(target):
            raise TypeError(f"the target must be callable, not {target!r}")
        self._target = target
        self._args = tuple(iterated(args, "args", "a tuple"))
        self._kwargs = {} if kwargs is None else dict(object_of(kwargs, abc.Mapping, "kwargs"))
        self._context = None if context is None else context_of(context)
        host.drain()
        token = next(_registry.tokens)
        config = _capi.treadle_thread_config(ctypes.sizeof(_capi.treadle_thread_config))
        config.host, config.token = host.handle, token
        out = ctypes.c_void_p()
        check(native.treadle_thread_create(config, out))
        self._set_up(out.value or 0, token)
        self.stack_size = stack_size
        if name != "":
            self.name = name
        if priority is not None:
            self.priority = priority
        if detached:
            self.detached = True

    def _set_up(self, handle: int, token: int) -> None:
        self._handle = handle
        self._token = token
        self._dictionary = ThreadDictionary()
        self._held = Held()
        self._result: Any = None
        self._outcome = Outcome()
        #: Whether the package learns of the thread's end at once.
        self._tells_its_end = token != 0
        finalizer = weakref.finalize(self, collected, handle, self._held if token else Held())
        finalizer.atexit = False
        _registry.threads[handle] = self

    @classmethod
    def _of(cls, handle: int) -> Thread:
        """The object for a living handle that the library lent."""
        with _registry.lock:
            thread = _registry.threads.get(handle)
            if thread is None:
                thread = cls.__new__(cls)
                check(native.treadle_retain(handle))
                thread._target, thread._args, thread._kwargs, thread._context = None, (), {}, None
                thread._set_up(handle, 0)
        return thread

    # Which thread

    @classmethod
    def current(cls) -> Thread:
        """The calling thread's object, the same until the thread ends. Any thread. Since 1.0."""
        thread = _registry.running.get(get_ident())
        if thread is None:
            handle = native.treadle_thread_current()
            if handle is None:
                raise failure(0)
            thread = _registry.running[get_ident()] = cls._of(handle)
            if not is_main():
                # An empty request makes sure that the library tells of this thread's end. It cannot be refused
                # but at the end of the interpreter, when nobody needs to be told.
                native.treadle_perform(handle, request_of(next(_registry.tokens), _capi.PERFORM_WAIT))
            thread._tells_its_end = True
        return thread

    @classmethod
    def main(cls) -> Thread:
        """The object of the process's initial thread, the same from every thread. Any thread. Since 1.0."""
        thread = Thread._main_thread
        if thread is None or thread._handle == FORKED_HANDLE:
            handle = native.treadle_thread_main()
            if handle is None:
                raise failure(0)
            thread = Thread._main_thread = cls._of(handle)
            thread._tells_its_end = True  # it ends with the process
        return thread

    @classmethod
    def of_loop(cls, loop: RunLoop) -> Thread:
        """The thread of a loop, also before its start: the one whose loop it is.

        Raises Error when the thread has finished, and for another thread that Treadle did not start and that has not asked for
        current() yet. Any thread. Since 1.0.
        """
        if object_of(loop, RunLoop, "loop").is_current:
            return cls.current()
        out = ctypes.c_void_p()
        check(native.treadle_loop_copy_thread(loop._handle, out), loop._handle)
        handle = out.value or 0
        try:
            return cls._of(handle)
        finally:
            native.treadle_release(handle)

    @staticmethod
    def is_main_thread() -> bool:
        """Whether the calling thread is the process's initial one. Any thread. Since 1.0."""
        return bool(native.treadle_thread_is_main(None))

    @staticmethod
    def is_multithreaded() -> bool:
        """Whether a thread was ever started through Treadle; those of threading do not count. Any thread. Since 1.0."""
        return bool(native.treadle_is_multithreaded())

    # Starting

    @classmethod
    def detach(cls, fn: Callable[..., object], /, *args: Any, **kwargs: Any) -> Thread:
        """Makes a detached thread that calls fn(*args, **kwargs), and starts it. Any thread. Since 1.0."""
        thread = cls(fn, args, kwargs, detached=True)
        thread.start()
        return thread

    def start(self) -> None:
        """Starts the thread, once. One that was cancelled before is finished at once, and calls nothing.

        Raises Error when it was started before, SystemFailure when the system has no room for another thread
        (it may be started again then), LoopClosed at the end. Any thread. Since 1.0.
        """
        self._start(lambda: guarded(native.treadle_thread_start, self._handle))

    def start_and_wait(self, timeout: Optional[float] = None) -> None:
        """Starts the thread and waits until it called declare_ready() or entered the first pass of its loop.

        timeout: in seconds; then Timeout, and the thread goes on. Raises Error when the thread ended before it
        was ready, and what start() raises. On the main thread Ctrl-C ends the wait, and the thread goes on. Any thread. Since 1.0.
        """
        limit = timeout_of(timeout, "timeout")
        self._start(lambda: wait_with_callbacks(native.treadle_thread_start_and_wait, limit, self._handle))

    def _start(self, function: Callable[[], int]) -> None:
        entry = Entry(self)
        _starting.begin()
        _registry.calls.setdefault(self._token, entry)
        try:
            status = function()
        except BaseException:
            if self.state is ThreadState.CREATED:
                self._forget(entry)
            raise
        host.drain()
        if status < 0 and status != _capi.E_TIMEOUT:
            self._forget(entry)
        check(status, self._handle)

    def _forget(self, entry: Entry) -> None:
        """Takes the entry back that will not be called; another start's one stays."""
        if _registry.calls.get(self._token) is entry:
            del _registry.calls[self._token]
        entry.settle()

    @staticmethod
    def declare_ready() -> None:
        """The calling thread is ready: start_and_wait() returns. Any thread. Since 1.0."""
        check(native.treadle_thread_declare_ready())

    def _main(self) -> None:
        """The thread's life, on the thread."""
        _registry.running[get_ident()] = self
        target, args, kwargs, context = self._target, self._args, self._kwargs, self._context
        self._target, self._args, self._kwargs, self._context = None, (), {}, None
        try:
            if target is None:
                self._result = RunLoop.current().run(when_empty=True)
            else:
                self._result = target(*args, **kwargs) if context is None else context.run(target, *args, **kwargs)
        except SystemExit:
            pass
        except BaseException as error:
            # To learn of the end of everything by an exception is an end as good as any.
            if not (isinstance(error, LoopClosed) and (host.is_closing or host.is_shut_down or host.left)):
                self._outcome.keep(error)
                report_of_thread(error, self)

    def _ended(self) -> None:
        """The thread is over, or will never run: its loop is gone, its values go."""
        self._held.drop()
        self._dictionary._close()
        host.drain()

    # Stopping

    def join(self, timeout: Optional[float] = None) -> Any:
        """Waits until the thread is gone; what its function returned, or raises what it raised.

        SystemExit only ends the thread: the result is None then, as it is when the function never ran. So does
        LoopClosed after a shutdown. One that its scope has ended was joined by that, and may be asked still.
        timeout: in seconds; then Timeout, and the thread can still be joined. Raises DeadlockError when the
        thread is the calling one or waits for it, Error when it is detached, not started or joined already.
        Any thread. Since 1.0.
        """
        limit = timeout_of(timeout, "timeout")
        handle = self._handle
        status = wait(lambda nanoseconds: int(native.treadle_thread_join(handle, nanoseconds, None)), limit)
        host.drain()
        check_end(status, handle)
        self._outcome.raise_kept()
        return self._result

    def cancel(self) -> None:
        """Sets the thread's cancelled flag, and nothing else: the thread looks at it. Any thread. Since 1.0."""
        check(native.treadle_thread_cancel(self._handle), self._handle)

    @property
    def is_cancelled(self) -> bool:
        """Whether the thread was cancelled. Any thread. Since 1.0."""
        return bool(native.treadle_thread_is_cancelled(self._handle))

    def stop(self, *, at_once: bool = False) -> None:
        """Cancels the thread and ends the runs of its loop at all levels, also of one that comes later.

        Everything that the running pass has taken is still called, such as all posts queued then; what comes later is not called.
        at_once: the run ends after the callback that runs, and the rest of its pass is not called either.
        Any thread. Since 1.0.
        """
        flags = _capi.STOP_AT_ONCE if at_once else 0
        check_end(native.treadle_thread_request_stop(self._handle, flags), self._handle)

    def stop_and_join(self, timeout: Optional[float] = None, *, at_once: bool = False) -> Any:
        """stop(), then join(). Any thread. Since 1.0."""
        self.stop(at_once=at_once)
        return self.join(timeout)

    # What it has

    @property
    def loop(self) -> RunLoop:
        """The thread's loop, made if need be, also before the start: what is added or queued waits for the thread.

        Raises Error when the thread has finished. Any thread. Since 1.0.
        """
        loop = self._held.loop
        if loop is None or loop._has_ended:
            host.drain()
            out = ctypes.c_void_p()
            check(native.treadle_thread_copy_loop(self._handle, out), self._handle)
            handle = out.value or 0
            try:
                loop = RunLoop._of(handle)
            finally:
                native.treadle_release(handle)
            loop._tells_its_end = loop._tells_its_end or self._tells_its_end
            self._held.keep(loop)
        return loop

    @property
    def dictionary(self) -> ThreadDictionary:
        """The thread's own values; other threads may read and change them too. Any thread. Since 1.0."""
        return self._dictionary

    @overload
    def perform(
        self,
        fn: Callable[..., T],
        /,
        *args: Any,
        wait: Literal[True],
        modes: Optional[Iterable[str]] = None,
        context: Optional[Context] = None,
    ) -> T: ...

    @overload
    def perform(
        self,
        fn: Callable[..., T],
        /,
        *args: Any,
        wait: Literal[False] = False,
        modes: Optional[Iterable[str]] = None,
        context: Optional[Context] = None,
    ) -> Future[T]: ...

    def perform(
        self,
        fn: Callable[..., T],
        /,
        *args: Any,
        wait: bool = False,
        modes: Optional[Iterable[str]] = None,
        context: Optional[Context] = None,
    ) -> Union[T, Future[T]]:
        """Has the thread call fn(*args) in a pass of its loop in one of the modes, and wakes it. Any thread.

        Functions are called in the order in which they were given; those that a called one asks for wait
        for the next pass. A thread that does not run its loop yet calls them when it does.
        wait: return what fn returned, or raise what it raised; the caller's own loop is not run meanwhile. On
        the calling thread fn is called directly. Without it a Future is returned.
        modes: None is COMMON; a text is one mode, a list several; with an empty list nothing is called: None, or a cancelled Future.
        context: that of contextvars in which fn runs; None: a copy of the caller's, as it is now.
        Raises LoopClosed when the thread has finished, or ends before it called fn; DeadlockError when the
        thread waits, directly or through others, for the caller. Since 1.0.
        """
        if wait and (_registry.running.get(get_ident()) or Thread.current()) is not self:
            return ask(self, fn, modes, args, context)
        future = request(self, fn, modes, wait, args, context)
        if not wait:
            return future
        return None if future.cancelled() else future.result()  # type: ignore[return-value]

    def _loop_for_calls(self) -> RunLoop:
        return loop_of(self)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Thread cannot be copied or pickled")

    def __repr__(self) -> str:
        words: List[str] = ["Thread"]
        if self._handle == FORKED_HANDLE:
            words.append("of this process's parent")
        else:
            try:
                words += [repr(self.name)] if self.name else []
                words += ["main"] if self.is_main else []
                words.append(self.state.name.lower())
            except StaleHandle:
                words.append("that its scope has ended")
        return f"<{' '.join(words)} at {id(self):#x}>"
