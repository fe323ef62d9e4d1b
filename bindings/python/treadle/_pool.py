# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Pools: functions that are put off until the pass, the thread or a with-statement ends."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Dict, Optional, Tuple

from . import _capi, _registry
from ._errors import Error, check
from ._frames import guarded, innermost, report
from ._host import host
from ._library import native


class pool:
    """`with treadle.pool():` opens a pool on the calling thread and closes it at the end. Since 1.0.

    treadle.pool.add(fn) puts a call off until the innermost pool of the calling thread is closed. A run opens a
    pool around every pass, and a Treadle thread has one around its function. Without an open pool, a function is called
    when the thread ends.
    """

    __slots__ = ("_token",)

    def __init__(self) -> None:
        """Makes a pool, which `with` opens, once at a time. Any thread. Since 1.0."""
        self._token: Optional[int] = None

    @staticmethod
    def add(fn: Callable[..., object], /, *args: Any, **kwargs: Any) -> None:
        """Has fn(*args, **kwargs) called when the calling thread's innermost pool is closed. Any thread.

        The latest is called first. An exception is raised by the end of the with-statement; where a run or the
        end of the thread closes the pool it is reported. Since 1.0.
        """
        if not callable(fn):
            raise TypeError(f"{fn!r} cannot be called")
        host.drain()
        token = next(_registry.tokens)
        _registry.calls[token] = _Release(fn, args, kwargs)
        status = native.treadle_host_pool_add(host.handle, token)
        if status < 0:
            _registry.calls.pop(token, None)
            check(status)

    def __enter__(self) -> pool:
        if self._token is not None:
            raise Error("the pool is open already", _capi.E_STATE)
        out = ctypes.c_uint64()
        check(native.treadle_pool_push(out))
        self._token = out.value
        return self

    def __exit__(self, *_exception: object) -> None:
        token, self._token = self._token, None
        if token is not None:
            check(guarded(native.treadle_pool_pop, token))


class _Release:
    """A call that was put off."""

    __slots__ = ("_fn", "_args", "_kwargs")

    def __init__(self, fn: Callable[..., object], args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        self._fn = fn
        self._args = args
        self._kwargs = kwargs

    def run(self) -> None:
        try:
            self._fn(*self._args, **self._kwargs)
        except Exception as error:
            frame = innermost()
            if frame is not None and not frame.runs:
                raise
            report(error, None, self._fn, None)

    def discard(self) -> None:
        """At the end of the interpreter it is not called any more."""
