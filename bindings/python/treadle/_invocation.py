# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""C functions that are called on another thread."""

from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes
import weakref
from typing import TYPE_CHECKING, Any, List, Optional, Tuple

from . import _capi, _registry
from ._errno import uses_errno
from ._encoding import CType, is_function_pointer
from ._errors import FORKED_HANDLE, LoopClosed, StaleHandle, check
from ._future import Block, Future
from ._library import native
from ._prototype import Prototype, converted, guessed, of_anything, of_types, refuse_python_api
from ._types import InvocationState

if TYPE_CHECKING:
    from ._loop import RunLoop

_CODE = ctypes.CFUNCTYPE(None)
_SCOPE_ENDED = "the function's scope ended before its end was told"


def check_call(status: int, *handles: int) -> None:
    """check() for a call that only its scope can have ended, or cancelled."""
    if status in (_capi.E_STALE, _capi.E_CANCELLED) and FORKED_HANDLE not in handles:
        raise LoopClosed(_SCOPE_ENDED, _capi.E_CLOSED)
    check(status, *handles)


class Function:
    """A C function, as somebody named it: its address, its type, and what else ctypes was told of it."""

    __slots__ = ("address", "prototype", "arguments", "uses_errno", "_function", "_check", "_given")

    def __init__(self, function: Any, arguments: Tuple[Any, ...], signature: Any) -> None:
        function = getattr(function, "_as_parameter_", function)  # such as a closure's pointer
        self._function = function
        self._given = arguments
        self._check: Any = None
        #: Whether ctypes' errno goes along.
        self.uses_errno: bool = uses_errno(function)
        if is_function_pointer(type(function)):
            refuse_python_api(function._flags_)
            self.address: int = ctypes.cast(function, ctypes.c_void_p).value or 0
            self._check = getattr(function, "errcheck", None)
        elif isinstance(function, int) and not isinstance(function, bool):
            self.address = function
            if signature is None:
                raise TypeError("an address alone does not tell the function's type: give a signature")
        else:
            raise TypeError(f"a function of ctypes or an address is wanted, not {function!r}")
        if not self.address:
            raise ValueError("the function's address is NULL")
        self.prototype: Prototype = self._declared() if signature is None else of_anything(signature)
        #: The arguments in memory, and what must live as long as C may look at it.
        self.arguments: Tuple[List[Any], List[object]] = converted(self.prototype, arguments)

    def _declared(self) -> Prototype:
        """By the function's argtypes and restype, and by the values of what is not declared."""
        function, given = self._function, self._given
        result: CType = function.restype
        if function.argtypes is None:
            return of_types(result, tuple(guessed(value, index) for index, value in enumerate(given)), None)
        types: Tuple[CType, ...] = tuple(function.argtypes)
        count = len(types)
        if len(given) <= count or not count:
            return of_types(result, types, None)
        types += tuple(guessed(value, index) for index, value in enumerate(given[count:], count))
        return of_types(result, types, count)

    def taken(self, memory: Any) -> Any:
        """What the function returned, once it lies in memory, as the caller gets it."""
        result = None if memory is None else memory.value
        return result if self._check is None else self._check(result, self._function, self._given)


class Invocation(Future[Any]):
    """A call of a C function that was given to a loop without waiting, and what becomes of it. Since 1.0.

    It is a Future: result(), exception(), done() and add_done_callback() are as in concurrent.futures, and
    `await` waits for it in asyncio. When the loop's thread ends before the function was called, the exception is
    LoopClosed, as it is when its scope ends first. The function's arguments are kept until it has returned.
    """

    _needs_looks = True
    #: errno as the function left it, if it goes along.
    _left: Optional[int] = None

    def __init__(self, loop: RunLoop, function: Function) -> None:
        super().__init__(loop)
        self._function: Optional[Function] = function
        #: Whether somebody has cancelled it, and not its scope.
        self._is_unwanted = False
        config = _capi.treadle_invocation_config(
            struct_size=ctypes.sizeof(_capi.treadle_invocation_config),
            code=ctypes.cast(function.address, _CODE),
            signature=function.prototype.encoding,
        )
        out = ctypes.c_void_p()
        check(native.treadle_invocation_create(config, out))
        self._handle = out.value or 0
        self._finalizer = weakref.finalize(self, native.treadle_release, self._handle)
        self._finalizer.atexit = False
        _registry.invocations.add(self)
        memories, _ = function.arguments
        for index, (value, memory) in enumerate(zip(function.prototype.arguments, memories)):
            check_call(native.treadle_invocation_set_argument(self._handle, index, ctypes.addressof(memory), value.size))

    @property
    def state(self) -> InvocationState:
        """The state of the call. Any thread. Since 1.0."""
        out = ctypes.c_uint32()
        check(native.treadle_invocation_get_state(self._handle, out), self._handle)
        return InvocationState(out.value)

    def running(self) -> bool:
        """Whether the function runs now. Any thread. Since 1.0."""
        return self._handle != FORKED_HANDLE and self._reached() is InvocationState.RUNNING

    def cancel(self) -> bool:
        """Takes a call that has not begun back: the function is not called. False when it runs, or is over.

        Any thread. Since 1.0.
        """
        if self._handle == FORKED_HANDLE:
            return False
        self._is_unwanted = True
        status = native.treadle_invocation_cancel(self._handle)
        if status == _capi.OK or status == _capi.E_STALE:
            self._settle()
        else:
            check(status)
        return self.cancelled()

    def _reached(self) -> Optional[InvocationState]:
        """The state; None when its scope has ended it."""
        try:
            return self.state
        except StaleHandle:
            return None

    def _is_over(self) -> bool:
        state = self._reached()
        return state is None or state >= InvocationState.DONE

    def _look(self) -> None:
        # Nothing else tells of the end in a loop that is run in other modes than the completion's.
        if self._is_over():
            self._settle()

    def _settle(self) -> None:
        """Takes what the call has come to; by whoever knows first."""
        if self.done():
            return
        state = self._reached()
        with contextlib.suppress(concurrent.futures.InvalidStateError):
            if state is InvocationState.DONE:
                try:
                    result = self._take()
                except BaseException as error:  # of the function's errcheck
                    self.set_exception(error)
                else:
                    self.set_result(result)
            elif state is InvocationState.CANCELLED and self._is_unwanted:
                super().cancel()
                # Of who cancels and who is told of it, one notifies: a second time is an error.
                own = object()
                if self.__dict__.setdefault("_notifier", own) is own:
                    self.set_running_or_notify_cancel()
            else:
                text = "the loop's thread ended before it called the function"
                is_dropped = state is InvocationState.DROPPED
                self.set_exception(LoopClosed(text if is_dropped else _SCOPE_ENDED, _capi.E_CLOSED))
        self._let_go()

    def _take(self) -> Any:
        """What the function has returned."""
        function = self._function
        assert function is not None
        if function.uses_errno:
            errno = ctypes.c_int32()
            check_call(native.treadle_invocation_get_errno(self._handle, errno), self._handle)
            ctypes.set_errno(errno.value)
            self._left = errno.value
        value = function.prototype.result
        if value is None:
            return function.taken(None)
        memory = value.made()
        check_call(native.treadle_invocation_get_result(self._handle, ctypes.addressof(memory), value.size), self._handle)
        return function.taken(memory)

    def result(self, timeout: Optional[float] = None) -> Any:
        """Waits for the function and returns what it returned: Future.result(). Of a function with use_errno
        ctypes.get_errno() is the function's then. Any thread. Since 1.0."""
        self._wait(timeout)
        if self._left is not None:
            ctypes.set_errno(self._left)
        return super().result(0)

    def _let_go(self) -> None:
        """Nobody waits any more: what was passed goes away as soon as the function cannot use it."""
        # Order: lingering before the state. Of several threads that are here each looks at the state after it has
        # added, and the one that tells of the end comes after that: so the last of them takes it out again.
        _registry.lingering.add(self)
        if self._handle == FORKED_HANDLE or self._reached() not in (InvocationState.QUEUED, InvocationState.RUNNING):
            self._function = None
            _registry.lingering.discard(self)


class Completion(Block):
    """What the library calls when an invocation is over."""

    __slots__ = ()

    def __init__(self, token: int, loop: RunLoop, invocation: Invocation) -> None:
        self.token = token
        self.loop = loop
        self.future = invocation

    def run(self) -> None:
        """The call is over."""
        self.loop._pending.pop(self.token, None)
        self._invocation._settle()

    def discard(self) -> None:
        """Nobody will tell: the loop's thread is gone."""
        self.run()

    @property
    def _invocation(self) -> Invocation:
        assert isinstance(self.future, Invocation)
        return self.future


def look_after_lingering() -> None:
    """Lets go of what functions no longer use whose callers went on without them."""
    lingering: List[Invocation] = list(_registry.lingering)
    for invocation in lingering:
        invocation._let_go()
