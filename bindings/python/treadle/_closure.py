# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Function pointers for C, handled by functions of Python."""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any, Callable, Iterable, NamedTuple, NoReturn, Optional, overload

from . import _capi, _registry
from ._arguments import integer, object_of
from ._encoding import encode
from ._errno import uses_errno, with_errno_of_caller
from ._errors import FORKED_HANDLE, StaleHandle, check, check_end
from ._host import host
from ._item import callback
from ._library import native
from ._loop import RunLoop
from ._performing import names_of
from ._prototype import KeptTexts, Prototype, of_anything
from ._thread import Thread
from ._types import ClosureState, modes_of, timeout_of, wait_timeout
from ._waiting import wait as wait_in_slices

if TYPE_CHECKING:
    from typing_extensions import Literal, TypedDict, Unpack

    Delivery = Literal["inline", "async", "sync", "running"]
    OnFull = Literal["block", "fail", "drop_newest", "drop_oldest", "coalesce"]

    class Options(TypedDict, total=False):
        """What closure() takes besides."""

        loop: Optional[RunLoop]
        thread: Optional[Thread]
        delivery: Optional[Delivery]
        modes: Optional[Iterable[str]]
        queue_limit: int
        on_full: OnFull
        timeout: Optional[float]
        default: Any
        may_allocate: bool
        keep_code: bool

_DELIVERIES = {
    "inline": _capi.DELIVERY_INLINE,
    "async": _capi.DELIVERY_ASYNC,
    "sync": _capi.DELIVERY_SYNC,
    "running": _capi.DELIVERY_RUNNING,
}
_ON_FULL = {
    "block": _capi.FULL_BLOCK,
    "fail": _capi.FULL_FAIL,
    "drop_newest": _capi.FULL_DROP_NEWEST,
    "drop_oldest": _capi.FULL_DROP_OLDEST,
    "coalesce": _capi.FULL_COALESCE,
}
_LARGEST_LIMIT = 2**32 - 1


class ClosureInfo(NamedTuple):
    """A closure's state and counts. Since 1.0."""

    #: What its life has come to.
    state: ClosureState
    #: Calls that wait for the loop now.
    waiting: int
    #: Calls that the function has handled.
    handled: int
    #: Calls for which it raised an exception, or returned what the result's type does not take.
    failed: int
    #: Calls that did not reach it: no room, coalesced, a deadlock, the thread ended.
    dropped: int
    #: Callers that did not wait any longer.
    timed_out: int
    #: Calls of the pointer after it was invalidated.
    after_invalidated: int


class Closure:
    """A C function pointer that a function of Python stands behind. Any thread may call it. Since 1.0.

    Give it to a function of ctypes where a function pointer is wanted: it goes as an argument of its own prototype or
    of c_void_p, `ctypes.cast(closure.pointer, OTHER)` makes it one of another prototype, and `closure(1, 2)` calls it
    as C would. Keep it as long as C may call: when it is collected it is invalidated, as by invalidate(). That does no
    harm: the pointer of an invalid one may be called, and returns the default.
    """

    _handle = 0

    def __init__(
        self,
        signature: Any,
        fn: Callable[..., Any],
        *,
        loop: Optional[RunLoop] = None,
        thread: Optional[Thread] = None,
        delivery: Optional[Delivery] = None,
        modes: Optional[Iterable[str]] = None,
        queue_limit: int = 0,
        on_full: OnFull = "block",
        timeout: Optional[float] = None,
        default: Any = None,
        may_allocate: bool = False,
        keep_code: bool = False,
    ) -> None:
        """treadle.closure(signature, fn, ...). Any thread. Since 1.0."""
        self._fn = callback(fn)
        self._signature = signature
        self._prototype = of_anything(signature)
        self._is_drained = False
        self._texts = KeptTexts()
        self._type = signature if not isinstance(signature, str) else self._prototype.function_type()
        self._uses_errno = uses_errno(self._type)
        if delivery is None:
            delivery = "inline" if loop is None and thread is None else "sync"
        if not isinstance(delivery, str) or delivery not in _DELIVERIES:
            raise ValueError(f"a delivery is one of {', '.join(_DELIVERIES)}, not {delivery!r}")
        if not isinstance(on_full, str) or on_full not in _ON_FULL:
            raise ValueError(f"on_full is one of {', '.join(_ON_FULL)}, not {on_full!r}")
        limit = integer(queue_limit, "a queue_limit")
        if not 0 <= limit <= _LARGEST_LIMIT:
            raise ValueError(f"a queue_limit of {limit} is out of its range")
        is_text = isinstance(signature, str)
        config = _capi.treadle_closure_config(
            struct_size=ctypes.sizeof(_capi.treadle_closure_config),
            signature=self._prototype.encoding if is_text or delivery == "inline" else _by_copy(self._prototype),
            delivery=_DELIVERIES[delivery],
            flags=bool(may_allocate) * _capi.CLOSURE_MAY_ALLOCATE | bool(keep_code) * _capi.CLOSURE_KEEP_CODE,
            loop=None if loop is None else object_of(loop, RunLoop, "loop")._handle,
            thread=None if thread is None else object_of(thread, Thread, "thread")._handle,
            timeout_ns=0 if timeout is None else wait_timeout(timeout),
            queue_limit=limit,
            on_full=_ON_FULL[on_full],
        )
        if modes is not None:
            names = names_of(modes_of(modes))
            config.modes, config.mode_count = names, len(names)
        self._default = self._set_default(config, default)
        self._create(config)

    def _set_default(self, config: Any, default: Any) -> object:
        """What a caller gets whose call is not handled; the result is what must be kept for it."""
        result = self._prototype.result
        if result is None:
            if default is not None:
                raise TypeError("a function that returns void has no default result")
            return None
        memory = result.made()
        if default is not None:
            try:
                memory.value = self._texts.keep(result.ctype, default)
            except TypeError as error:
                raise TypeError(f"the default is not a result of the function: {error}") from None
        config.default_result = ctypes.addressof(memory)
        config.default_result_size = result.size
        return memory

    def _create(self, config: Any) -> None:
        host.drain()
        self._token = next(_registry.tokens)
        # Before the pointer exists: nobody can call it without its object.
        _registry.closures[self._token] = weakref.ref(self)
        config.host, config.token = host.handle, self._token
        out, code = ctypes.c_void_p(), ctypes.CFUNCTYPE(None)()
        status = native.treadle_closure_create(config, out)
        if status < 0:
            del _registry.closures[self._token]
            check(status, config.loop or 0, config.thread or 0)
        self._handle = out.value or 0
        check(native.treadle_closure_get_code(self._handle, code))
        self._address = ctypes.cast(code, ctypes.c_void_p).value

    def __del__(self) -> None:
        # The calls that wait for the loop are still handled: until then the registry holds this object.
        if self._handle in (0, FORKED_HANDLE) or host.is_closing:
            return
        if not self._is_drained:
            _registry.draining[self._token] = self
            native.treadle_invalidate(self._handle)
            if self._state() is ClosureState.DRAINED:
                _registry.draining.pop(self._token, None)
        native.treadle_release(self._handle)

    # As a function pointer

    @property
    def pointer(self) -> Any:
        """The function pointer, of the class that the signature names; it keeps the closure. Any thread. Since 1.0."""
        pointer = self._type(self._address)
        pointer._closure = self
        return pointer

    @property
    def _as_parameter_(self) -> Any:
        return self.pointer

    def __call__(self, *args: Any) -> Any:
        """Calls the function pointer, as C would. Any thread. Since 1.0."""
        return self.pointer(*args)

    # Its end

    def invalidate(self) -> None:
        """Ends it: calls that begin from now on get the default result. Those that have begun are handled.

        The pointer may still be called, for ever; the first such call is reported to the last resort. No effect if it was
        invalidated before. Any thread. Since 1.0.
        """
        check_end(native.treadle_invalidate(self._handle), self._handle)
        host.drain()

    def close(self, timeout: Optional[float] = None) -> None:
        """Invalidates it, and waits until no call of it runs or waits.

        timeout: in seconds; then Timeout, and it is invalid. From one of its own calls it is invalidated only.
        Raises DeadlockError when a waiting call is for the calling thread's loop; it is invalid then. Any
        thread. Since 1.0.
        """
        limit = timeout_of(timeout, "timeout")
        handle = self._handle
        status = wait_in_slices(lambda nanoseconds: int(native.treadle_close(handle, nanoseconds)), limit)
        host.drain()
        check_end(status, handle)

    def __enter__(self) -> Closure:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.invalidate()

    @property
    def info(self) -> ClosureInfo:
        """Its state and counts. Any thread. Since 1.0."""
        info = _capi.treadle_closure_info(struct_size=ctypes.sizeof(_capi.treadle_closure_info))
        check(native.treadle_closure_get_info(self._handle, info), self._handle)
        counts = (info.waiting, info.handled, info.failed, info.dropped, info.timed_out, info.after_invalidated)
        return ClosureInfo(ClosureState(info.state), *counts)

    def _state(self) -> ClosureState:
        """Its state, also when it is gone."""
        try:
            return self.info.state
        except StaleHandle:  # its scope has ended it
            return ClosureState.DRAINED

    # Calls

    def _handle_call(self, address: int) -> None:
        """Handles a call of the library, whose treadle_call lies there."""
        call = _capi.treadle_call.from_address(address)
        arguments = call.arguments
        values = [value.read(arguments[index]) for index, value in enumerate(self._prototype.arguments)]
        returned = with_errno_of_caller(self._fn, *values) if self._uses_errno else self._fn(*values)
        result = self._prototype.result
        if result is not None:
            result.write(call.result, self._texts.keep(result.ctype, returned))

    def _drained(self) -> None:
        """No call will come any more."""
        self._is_drained = True

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Closure cannot be copied or pickled")

    def __repr__(self) -> str:
        if self._handle == 0:
            return "<Closure that was not made>"
        if self._handle == FORKED_HANDLE:
            return f"<Closure of this process's parent at {id(self):#x}>"
        state = self._state().name.lower()
        return f"<Closure {self._prototype.encoding.decode()!r} of {self._fn!r}, {state}, at {id(self):#x}>"


def _by_copy(prototype: Prototype) -> bytes:
    """The signature for calls that are carried to another thread: C strings are copied, since callers may go on."""
    types = ["v" if prototype.result is None else encode(prototype.result.ctype)]
    for argument in prototype.arguments:
        if argument.ctype is ctypes.c_wchar_p:
            raise TypeError("a wide string is not copied on its way to another thread: use POINTER(c_wchar)")
        text = encode(argument.ctype)
        types.append("O*" if text == "*" else text)
    return "".join(types).encode()


@overload
def closure(signature: Any, fn: Callable[..., Any], **options: Unpack[Options]) -> Closure: ...


@overload
def closure(
    signature: Any, fn: None = None, **options: Unpack[Options]
) -> Callable[[Callable[..., Any]], Closure]: ...


def closure(signature: Any, fn: Optional[Callable[..., Any]] = None, **options: Unpack[Options]) -> Any:
    """Makes a C function pointer of a function; without fn, `@treadle.closure(...)` decorates one.

    signature: a prototype of ctypes, such as CFUNCTYPE(c_int, c_void_p) makes, or a text in the notation of
    treadle_signature_parse, such as "i^v". fn is called with the arguments as ctypes converts them, structs as
    copies, and returns the result; bytes that it returns as a C string are kept as long as the closure, each text once.
    The function must keep alive the memory that a returned struct points to.
    An exception is reported to the loop's excepthook or to the last resort, and the caller gets the default.
    loop, thread: where fn is called; one of the two, or neither for the calling thread.
    delivery: "inline": on the calling thread, the default without loop and thread; "async": there, later, and the caller
    gets the default at once; "sync": there, while the caller waits for the result, the default with one of them;
    "running": the same, and the caller's loop runs in CALL_MODE meanwhile. On the loop's own thread the last two
    are inline. C strings are copied on their way, what other pointers point to is not.
    modes: in which the loop handles calls; None: the common ones and CALL_MODE; a text is one mode, a list several.
    queue_limit, on_full: how many calls may wait for the loop, 0 for 1,024, and what becomes of one more: "block",
    "fail", "drop_newest", "drop_oldest", or with "async" "coalesce".
    timeout: of a caller's wait, in seconds; Ctrl-C does not end it, since the caller is C. default: what a caller gets whose call is not handled; None: zeros.
    may_allocate: take executable memory of libffi's when the pool is used up. keep_code: never use the pointer again.
    Calls that come after the end of the interpreter has begun get the default. Not to be called by signal handlers.
    Raises InvalidArgument for a bad signature (code TREADLE_E_SIGNATURE) or options that do not fit together, TypeError
    for types that cannot be passed, LoopClosed when the thread has finished. Any thread. Since 1.0.
    """
    if fn is not None:
        return Closure(signature, fn, **options)
    return lambda function: Closure(signature, function, **options)
