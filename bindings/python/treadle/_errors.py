# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The exceptions that stand for the library's statuses."""

from __future__ import annotations

import ctypes
from typing import Dict, Type

from . import _capi
from ._library import native


class Error(RuntimeError):
    """A call of the library that failed, or the mother of a more precise class. Since 1.0."""

    #: The status: the value of one of the TREADLE_E_... constants of the C interface.
    code: int
    #: The C function that failed.
    function: str
    #: What went wrong, in one sentence.
    message: str

    def __init__(self, message: str, code: int = 0, function: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.function = function

    def __str__(self) -> str:
        if not self.code:
            return self.message
        name = native.treadle_status_name(self.code).decode()
        return f"{self.function}: {self.message} ({name})" if self.function else f"{self.message} ({name})"


class InvalidArgument(Error, ValueError):
    """An argument is out of its domain or badly formed. Since 1.0."""


class StaleHandle(Error):
    """The object is gone: it belonged to a scope that was closed. Since 1.0."""


class WrongThread(Error):
    """Only the loop's own thread may do this. Since 1.0."""


class DeadlockError(Error):
    """The call would wait for its own caller. Since 1.0."""


class Timeout(Error, TimeoutError):
    """The wait took longer than allowed. Since 1.0."""


class NoReply(Timeout):
    """The message was sent, and its reply did not come in time. Since 1.0."""


class LoopClosed(Error):
    """The loop's thread is gone, the scope is closed, a port's other side has gone, or the interpreter ends: no more work is
    taken. Since 1.0."""


class Forked(Error):
    """The object belongs to the parent of this process. Since 1.0."""


class SystemFailure(Error, OSError):
    """The operating system refused; `errno` tells how. Since 1.0."""


class Unsupported(Error):
    """This build or machine cannot do it. Since 1.0."""


class PluginError(Error):
    """The file is not a plugin, or a function of it has failed. Since 1.0."""


_CLASSES: Dict[int, Type[Error]] = {
    _capi.E_ARG: InvalidArgument,
    _capi.E_RANGE: InvalidArgument,
    _capi.E_STALE: StaleHandle,
    _capi.E_WRONG_THREAD: WrongThread,
    _capi.E_DEADLOCK: DeadlockError,
    _capi.E_TIMEOUT: Timeout,
    _capi.E_NO_REPLY: NoReply,
    _capi.E_FORKED: Forked,
    _capi.E_SYSTEM: SystemFailure,
    _capi.E_CLOSED: LoopClosed,
    _capi.E_SIGNATURE: InvalidArgument,
    _capi.E_NOT_SUPPORTED: Unsupported,
    _capi.E_PLUGIN: PluginError,
}

#: What the handles of a parent's objects are replaced with in the child of a fork: never a handle.
FORKED_HANDLE = 1


def failure(code: int, *handles: int) -> Error:
    """The exception for a failed call of this thread; `handles` are those of the call's objects.

    With code 0 it is the exception for this thread's last failure.
    """
    info = _capi.treadle_error_info(struct_size=ctypes.sizeof(_capi.treadle_error_info))
    native.treadle_last_error(info)
    code = code or info.code
    if info.code == code:
        message, function = info.message.decode(), info.function.decode()
    else:  # a collected object's release has failed since, or the thread's state is gone
        message, function = native.treadle_status_message(code).decode(), ""
    if FORKED_HANDLE in handles:
        code, message = _capi.E_FORKED, "the object belongs to the parent of this process"
    error = _CLASSES.get(code, Error)(message, code, function)
    if isinstance(error, OSError) and info.code == code:
        error.errno = info.os_errno
    return error


def check(code: int, *handles: int) -> int:
    """A status that is no failure."""
    if code < 0:
        raise failure(code, *handles)
    return code


def check_end(code: int, handle: int) -> None:
    """The same for what ends an object: one that its scope has ended needs no end any more."""
    if code != _capi.E_STALE or handle == FORKED_HANDLE:
        check(code, handle)
