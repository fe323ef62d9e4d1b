# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What Treadle tells the whole process: treadle.notifications.add(treadle.Notification.THREAD_WILL_EXIT, function)."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Optional, Union

from . import _capi, _registry
from ._arguments import integer, object_of
from ._errors import check
from ._frames import report
from ._host import host
from ._library import native
from ._port import Port, known_port
from ._thread import Thread
from ._types import Notification

__all__ = ["Notification", "Registration", "add"]

_Callback = Callable[[Notification, Any], object]


class Registration:
    """A callback for a notification, until remove() is called; it need not be kept. Since 1.0."""

    __slots__ = ("_callback", "_native_token", "__weakref__")

    def __init__(self, callback: _Callback) -> None:
        """Made by notifications.add(). Since 1.0."""
        self._callback = callback
        self._native_token = 0

    def remove(self) -> bool:
        """Ends it: it is not called any more, though a call on another thread goes on.

        False if that was done before. Any thread. Since 1.0.
        """
        status = native.treadle_notification_remove(self._native_token)
        host.drain()
        if status in (_capi.E_NOT_FOUND, _capi.E_FORKED):
            return False
        check(status)
        return True

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.remove()

    def run(self, name: int, subject: Optional[int]) -> None:
        """Called by the library. An exception is reported: who posts a notification cannot take it. Since 1.0."""
        try:
            self._callback(Notification(name), _object_of(name, subject))
        except Exception as error:
            report(error, None, self, None)

    def __repr__(self) -> str:
        return f"<Registration of {self._callback!r}>"


def _object_of(name: int, subject: Optional[int]) -> Union[Thread, Port, None]:
    if name == Notification.PORT_INVALID:
        # One that went with its last reference is no object any more.
        return known_port(subject)
    # A thread's end is told on that thread.
    return Thread.current() if subject else None


def add(name: Notification, callback: _Callback, object: Union[Thread, Port, None] = None) -> Registration:
    """Registers callback(name, object) for a notification: of one thread or port, or of all.

    The object is the thread or the port; None for the first thread, and for a port that Python does not know any more.

    Callbacks are called on the thread that posts, those that were registered first before the others. Raises
    InvalidArgument for an unknown name. Any thread. Since 1.0.
    """
    if not callable(callback):
        raise TypeError(f"a callback must be callable, not {callback!r}")
    number = integer(name, "a notification")
    kind = Port if isinstance(object, Port) else Thread
    handle = None if object is None else object_of(object, kind, "object")._handle
    host.drain()
    registration = Registration(callback)
    token = next(_registry.tokens)
    _registry.registrations[token] = registration
    out = ctypes.c_uint64()
    config = _capi.treadle_notification_config(ctypes.sizeof(_capi.treadle_notification_config))
    config.name, config.object = number if 0 <= number < 2**32 else 0, handle
    config.host, config.token = host.handle, token
    status = native.treadle_notification_add(config, out)
    if status < 0:
        del _registry.registrations[token]
        check(status, handle or 0)
    registration._native_token = out.value
    return registration
