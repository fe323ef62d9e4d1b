# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Descriptor sources."""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Any, Callable, Optional, Protocol, Union

from . import _capi
from ._arguments import integer, wrong_type
from ._errors import check
from ._item import Item, callback
from ._library import native
from ._types import Events

_EVENTS = {value: Events(value) for value in range(16)}
_SIZE = ctypes.sizeof(_capi.treadle_descriptor_context)


class HasFileno(Protocol):
    """An object with a descriptor, such as a socket. Since 1.0."""

    def fileno(self) -> int:
        """The descriptor."""


class FileDescriptor(Item):
    """A source that is performed while a descriptor is ready. Since 1.0."""

    def __init__(
        self,
        fd: Union[int, HasFileno],
        fn: Callable[[FileDescriptor, Events], object],
        events: Events = Events.READ,
        *,
        close_fd: bool = False,
        oneshot: bool = False,
        label: str = "",
    ) -> None:
        """Makes a descriptor source, in no mode yet. Any thread.

        fd: a descriptor, or an object that has one and is kept. Treadle does not read from it.
        fn: called with the source and what was seen, on the loop's thread.
        events: what to watch for: READ, WRITE or both.
        close_fd: close the descriptor when the source is invalidated or goes away.
        oneshot: pause before each callback, until enable() is called, as CFFileDescriptor does. Without
        it, as in C, the callback comes again in every pass while the descriptor is ready: read what there is.
        Raises InvalidArgument for a descriptor that is negative or closed, and for other events.
        Since 1.0.
        """
        self._file = fd
        self._fd = _in_range(fd if isinstance(fd, int) else _fileno(fd), 2**31 - 1, "fd")
        self._fn = callback(fn)
        self._wanted = _in_range(events, 2**32 - 1, "events")
        self._oneshot = oneshot
        self._closer: Optional[Any] = None
        context = _capi.treadle_descriptor_context(_SIZE)
        context.fd, context.events = self._fd, self._wanted
        self._create(native.treadle_descriptor_create, context, label)
        if close_fd:
            self._closer = weakref.finalize(self, _close, fd)
            self._closer.atexit = False

    @property
    def fd(self) -> int:
        """The descriptor; -1 once this has closed it. Any thread. Since 1.0."""
        return -1 if self._closer is not None and not self._closer.alive else self._fd

    @property
    def events(self) -> Events:
        """The events that are watched for; NONE while paused. Setting it takes effect at once, also in a sleeping loop.

        Raises InvalidArgument for other events than READ and WRITE; Error if invalid, if the kernel refuses, and with the code
        E_EXISTS if the descriptor was closed and another source of a mode watches its number now (SRC1-7). Any thread. Since 1.0.
        """
        out = ctypes.c_uint32()
        check(native.treadle_descriptor_get_events(self._handle, out), self._handle)
        return Events(out.value)

    @events.setter
    def events(self, events: Events) -> None:
        mask = _in_range(events, 2**32 - 1, "events")
        check(native.treadle_descriptor_set_events(self._handle, mask), self._handle)
        if events:
            self._wanted = mask

    def enable(self) -> None:
        """Watches again for what was last asked for. Raises Error as setting events does. Any thread. Since 1.0."""
        self.events = Events(self._wanted)

    def disable(self) -> None:
        """Pauses: the source stays in its modes, and keeps them from being empty. Any thread. Since 1.0."""
        self.events = Events.NONE

    def _fire(self, kind: int, event: Any) -> None:
        if self._oneshot:
            native.treadle_descriptor_set_events(self._handle, 0)
        self._fn(self, _EVENTS[event.value & 15])

    def _ended(self) -> None:
        if self._closer is not None:
            self._closer()

    def _state(self) -> str:
        return f"fd={self.fd}"


def _fileno(file: HasFileno) -> int:
    if not callable(getattr(file, "fileno", None)):
        raise wrong_type("fd", "an int or has fileno()", file)
    return file.fileno()


def _in_range(value: int, highest: int, name: str) -> int:
    """A number that C takes as it is: one that it would cut becomes one that it refuses."""
    number = integer(value, name)
    return number if 0 <= number < highest else highest


def _close(file: Union[int, HasFileno]) -> None:
    if isinstance(file, int):
        os.close(file)
    else:
        getattr(file, "close")()
