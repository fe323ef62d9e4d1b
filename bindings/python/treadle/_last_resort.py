# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The process's last resort for errors that nobody caught."""

from __future__ import annotations

import threading
from ctypes import CFUNCTYPE, c_bool, c_char_p, c_void_p
from typing import Callable, Dict, NamedTuple, Optional

from . import _capi, _frames
from ._errors import check
from ._library import native
from ._thread import Thread

#: How long the end of the interpreter waits for a handler that runs on another thread.
_PATIENCE = 5.0


class LastResortArgs(NamedTuple):
    """The argument of a last-resort handler. Since 1.0."""

    #: Where it happened.
    thread: Thread
    #: What it was, such as "Python exception" or "C++ exception".
    kind: str
    #: Its text.
    message: str
    #: The exception itself, if it is one of Python.
    exception: Optional[BaseException]


Handler = Callable[[LastResortArgs], object]

#: The handlers that the library may still call, by the numbers of their settings. The library alone knows which is the
#: latest.
_installed: Dict[int, Handler] = {}
_latest = 0
_changed = threading.Condition()


def set_last_resort(handler: Optional[Handler]) -> None:
    """Sets the handler of errors that escaped a callback, or a thread's function, of any language.

    It replaces the process's handler; None brings the default back. handler is called on the thread where it
    happened, and returns True if it dealt with the error. Otherwise the language does what it demands: an
    exception of Python goes to the interpreter's own hook, and is printed once. Not for exceptions
    that a call raises to its caller, or that a loop's own excepthook gets. Any thread. Since 1.0.
    """
    if handler is not None and not callable(handler):
        raise TypeError(f"a handler must be callable, not {handler!r}")
    if handler is None:
        check(native.treadle_set_last_resort(_capi.treadle_last_resort_fn(), None, _capi.treadle_release_fn()))
    else:
        _install(handler)


def _install(handler: Handler) -> None:
    global _latest
    with _changed:
        _latest += 1
        number = _latest
        _installed[number] = handler
    check(native.treadle_set_last_resort(_trampoline, number, _destroy))


def _called(_thread: object, kind: Optional[bytes], message: Optional[bytes], number: int) -> bool:
    error = _frames.resorting.get(threading.get_ident())
    handler = _installed.get(number)
    if handler is None:
        return False
    try:
        texts = [(text or b"").decode(errors="replace") for text in (kind, message)]
        return bool(handler(LastResortArgs(Thread.current(), texts[0], texts[1], error)))
    except BaseException as second:
        _frames.report_hook(handler, second)
        return False


def _replaced(number: int) -> None:
    with _changed:
        _installed.pop(number, None)
        _changed.notify_all()


def give_back() -> None:
    """At the end of the interpreter: the library calls no handler of Python any more."""
    if _installed:
        native.treadle_set_last_resort(_capi.treadle_last_resort_fn(), None, _capi.treadle_release_fn())
        with _changed:
            _changed.wait_for(lambda: not _installed, _PATIENCE)


def install_again() -> None:
    """In the child of a fork, which has the default handler."""
    global _changed
    _changed = threading.Condition()
    handlers = list(_installed.values())
    _installed.clear()
    if handlers:
        _install(handlers[-1])


_trampoline = CFUNCTYPE(c_bool, c_void_p, c_char_p, c_char_p, c_void_p)(_called)
_destroy = CFUNCTYPE(None, c_void_p)(_replaced)
