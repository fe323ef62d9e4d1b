# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Has a loop, or a thread, call C functions."""

from __future__ import annotations

import concurrent.futures
import ctypes
import os
from typing import TYPE_CHECKING, Any, Iterable, Optional, Union, overload

from . import _capi, _registry
from ._errno import invocation_perform
from ._errors import Timeout
from ._frames import Frame, call
from ._host import host
from ._invocation import Completion, Function, Invocation, check_call, look_after_lingering
from ._library import native
from ._performing import names_of, request_of
from ._threads import is_main
from ._types import modes_of, wait_timeout

if TYPE_CHECKING:
    from typing_extensions import Literal

    from ._loop import RunLoop


_perform = native.treadle_invocation_perform


class Invoking:
    """What calls C functions. The mother of RunLoop and Thread."""

    _handle: int

    def _loop_for_calls(self) -> RunLoop:
        """The loop that makes the calls. Raises LoopClosed when its thread has finished."""
        raise NotImplementedError

    @overload
    def invoke(
        self,
        function: Any,
        /,
        *args: Any,
        wait: Literal[True, "running"] = True,
        modes: Optional[Iterable[str]] = None,
        timeout: Optional[float] = None,
        signature: Any = None,
    ) -> Any: ...

    @overload
    def invoke(
        self,
        function: Any,
        /,
        *args: Any,
        wait: Literal[False],
        modes: Optional[Iterable[str]] = None,
        signature: Any = None,
    ) -> Invocation: ...

    def invoke(
        self,
        function: Any,
        /,
        *args: Any,
        wait: Union[bool, Literal["running"]] = True,
        modes: Optional[Iterable[str]] = None,
        timeout: Optional[float] = None,
        signature: Any = None,
    ) -> Any:
        """Has the thread call a C function in a pass of its loop in one of the modes, and wakes it. Any thread.

        function: one of ctypes, whose argtypes and restype tell its type; arguments beyond the argtypes are variadic,
        and those that nothing declares have the types of their values, with double for a float. Or an address,
        with a signature: a prototype of ctypes, or a text in the notation of treadle_signature_parse. It is called
        without the interpreter's lock. Pointers are passed as they are: bytes, arrays, buffers and what byref() gives
        live until the function has returned.
        wait: return what the function returned. Other threads of Python run meanwhile; "running" also runs the
        caller's loop, in CALL_MODE. On the calling thread the function is called directly. With False an
        Invocation is returned, a Future.
        modes: None is the common ones and CALL_MODE; a text is one mode, a list several. timeout: of the wait, in seconds; then Timeout: what has not begun is
        cancelled, and a function that runs goes on.
        Raises LoopClosed when the thread has finished, or ends before it has called, or the call's scope does; DeadlockError when the thread waits,
        directly or through others, for the caller; TypeError for arguments that do not fit; InvalidArgument for
        a bad signature. On the main thread Ctrl-C ends the wait, one that is "running" when the next callback of its
        loop begins. Since 1.0.
        """
        if wait not in (True, False, "running"):
            raise ValueError(f'wait is True, False or "running", not {wait!r}')
        if timeout is not None and not wait:
            raise ValueError("a timeout is one of a wait")
        host.drain()
        look_after_lingering()
        loop = self._loop_for_calls()
        invocation = Invocation(loop, Function(function, args, signature))
        options = _capi.treadle_invocation_options(struct_size=ctypes.sizeof(_capi.treadle_invocation_options))
        options.loop = loop._handle
        if modes is not None:
            names = names_of(modes_of(modes))
            if not len(names):
                raise ValueError("a call in no mode would never be made")
            options.modes, options.mode_count = names, len(names)
        if not wait:
            _begin(invocation, loop, options)
            return invocation
        if wait is True and not loop.is_current and (is_main() or loop.thread_id == os.getpid()):
            return _wait_for_future(invocation, loop, options, timeout)
        options.timeout_ns = 0 if timeout is None else wait_timeout(timeout)
        return _wait(invocation, loop, options, wait == "running")


def _perform_of(invocation: Invocation) -> Any:
    """The function that performs it, with ctypes' errno if that goes along."""
    function = invocation._function
    return invocation_perform if function is not None and function.uses_errno else _perform


def _begin(invocation: Invocation, loop: RunLoop, options: Any) -> None:
    """Queues the call, without waiting."""
    token = next(_registry.tokens)
    # Told on the very thread: the caller's may never run its loop again.
    options.completion_loop = loop._handle
    completion = Completion(token, loop, invocation)
    _registry.calls[token] = loop._pending[token] = completion
    options.completion = ctypes.pointer(request_of(token, 0))
    status = _perform_of(invocation)(invocation._handle, options)
    if status < 0:
        _registry.calls.pop(token, None)
        loop._pending.pop(token, None)
        check_call(status, loop._handle)


def _wait(invocation: Invocation, loop: RunLoop, options: Any, is_running: bool) -> Any:
    handle, perform = invocation._handle, _perform_of(invocation)
    try:
        if is_running:
            options.wait = _capi.WAIT_RUNNING
            status = call(Frame(runs=True), perform, handle, options)
        else:
            options.wait = _capi.WAIT_BLOCK
            status = perform(handle, options)
        check_call(status, loop._handle)
        return invocation._take()
    finally:
        invocation._let_go()


def _wait_for_future(invocation: Invocation, loop: RunLoop, options: Any, timeout: Optional[float]) -> Any:
    """Waits so that Ctrl-C ends it, or the end of the program."""
    try:
        _begin(invocation, loop, options)
        return invocation.result(timeout)
    except concurrent.futures.TimeoutError:
        if invocation.done():  # the function's errcheck raised it
            raise
        raise Timeout("the function has not returned in time", _capi.E_TIMEOUT) from None
    finally:
        if not invocation.done():
            invocation.cancel()
            invocation._let_go()
