# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Ports in a process, and the messages that they receive."""

from __future__ import annotations

import ctypes
import os
import pickle as pickles
import weakref
from collections import deque
from typing import Any, Callable, Deque, List, NoReturn, Optional, Tuple, Union

from . import _capi, _registry
from ._arguments import integer, wrong_type
from ._awaiting import Waiters
from ._errors import LoopClosed, check
from ._item import Item, callback
from ._library import native
from ._types import timeout_of
from ._waiting import wait_with_callbacks

_CONTEXT = ctypes.sizeof(_capi.treadle_port_context)
_CONTENT = ctypes.sizeof(_capi.treadle_message_content)
_INFO = ctypes.sizeof(_capi.treadle_message_info)
_COMPONENT = _capi.treadle_component


class ReceivedDescriptor:
    """A copy of a descriptor that came in a message. It is closed with this object, unless detach() took it. Since 1.0."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        """Made for the components of a message. Since 1.0."""
        self._fd = fd

    def fileno(self) -> int:
        """The number; -1 once it was closed or detached. Since 1.0."""
        return self._fd

    def detach(self) -> int:
        """The number, which is the caller's to close from now on. Since 1.0."""
        fd, self._fd = self._fd, -1
        return fd

    def close(self) -> None:
        """Closes it. May be called again. Since 1.0."""
        fd = self.detach()
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ReceivedDescriptor {self._fd}>"


class Message:
    """A message that a port has received. Since 1.0."""

    __slots__ = ("id", "port", "reply_port", "components")

    def __init__(self, id: int, port: Port, reply_port: Optional[Port], components: Tuple[Any, ...]) -> None:
        """Made for the function of a port. Since 1.0."""
        #: The number that the sender gave, of 32 bits.
        self.id = id
        #: The port that it arrived on.
        self.port = port
        #: Where an answer goes, or None.
        self.reply_port = reply_port
        #: In order: bytes, a Port, or a ReceivedDescriptor; of a port that pickles also what was sent.
        self.components = components

    def __repr__(self) -> str:
        return f"<Message {self.id} of {len(self.components)} components>"


class Port(Item):
    """Messages from any thread, which a loop receives one by one. Since 1.0.

    The object itself is the address: add it to the loop that is to receive, and hand it to the threads that are to send. In
    asyncio, `async for message in port` receives instead.
    """

    #: The tasks of asyncio that wait for messages, once there was one.
    _waiters: Optional[Waiters] = None
    #: What has come for them and was not taken yet.
    _arrived: Deque[Message]

    def __init__(
        self,
        receive: Optional[Callable[[Message], object]] = None,
        *,
        capacity: int = 1024,
        pickle: bool = False,
        label: str = "",
    ) -> None:
        """Makes a port, in no mode yet. Any thread.

        receive: called with each message, one in a pass, on the loop's thread. Without it messages are taken and dropped.
        capacity: how many messages may wait, from 1 to 16,777,215.
        pickle: whatever is sent that is no Port and has no fileno() is pickled, and arrives as a copy. Without it components are
        bytes, ports and what has a fileno() alone.
        label: a name for people. Raises InvalidArgument for a capacity that is out of range. Since 1.0.
        """
        self._receive = callback(receive, optional=True)
        self._pickle = bool(pickle)
        context = _capi.treadle_port_context(_CONTEXT)
        number = integer(capacity, "capacity")
        context.capacity = number if 0 < number < 2**24 else 2**32 - 1
        self._create(native.treadle_port_create, context, label)
        with _registry.lock:
            _registry.ports[self._handle] = self

    @classmethod
    def _of(cls, handle: Optional[int]) -> Optional[Port]:
        """The port of a handle that stays for the time of this call; one that Python did not make, or has let go, sends only."""
        if not handle:
            return None
        with _registry.lock:
            known = _registry.ports.get(handle)
            if known is not None:
                return known
            check(native.treadle_retain(handle))
            port = cls.__new__(cls)
            port.label = ""
            port._handle = handle
            port._loops = set()
            port._receive, port._pickle = None, False
            weakref.finalize(port, native.treadle_release, handle).atexit = False
            _registry.ports[handle] = port
            return port

    def send(
        self, *components: Any, id: int = 0, reply_port: Optional[Port] = None, timeout: Optional[float] = None
    ) -> None:
        """Sends a message. Its content is copied or duplicated before this returns. Any thread.

        components: bytes, ports, and what has a fileno(); if the port pickles, anything.
        id: a number of 32 bits, for the receiver. reply_port: where an answer goes.
        timeout: how long to wait for room, in seconds; None waits for ever, 0 only tries.
        Raises Timeout; DeadlockError if only the calling thread could make room, itself or through others that wait for it;
        LoopClosed for a port that is invalid, or becomes so; InvalidArgument for other components. On the main thread Ctrl-C
        ends the wait. Since 1.0.
        """
        number = integer(id, "id")
        if not 0 <= number < 2**32:
            raise ValueError(f"the id {number} does not fit into 32 bits")
        nanoseconds = timeout_of(timeout, "timeout")
        kept: List[object] = []
        parts = (_COMPONENT * len(components))()
        for part, component in zip(parts, components):
            self._fill(part, component, kept)
        content = _capi.treadle_message_content(_CONTENT, number, 0, parts, len(components), _handle_of(reply_port))
        check(wait_with_callbacks(native.treadle_port_send, nanoseconds, self._handle, content), self._handle)

    def _fill(self, part: Any, component: Any, kept: List[object]) -> None:
        if isinstance(component, Port):
            part.kind, part.port = _capi.COMPONENT_PORT, component._handle
        elif callable(getattr(component, "fileno", None)):
            part.kind, part.descriptor = _capi.COMPONENT_DESCRIPTOR, _descriptor_of(component)
        else:
            text = pickles.dumps(component) if self._pickle else _bytes_of(component)
            kept.append(text)
            part.kind, part.length = _capi.COMPONENT_BYTES, len(text)
            part.bytes = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p)

    @property
    def count(self) -> int:
        """How many messages wait. Any thread. Since 1.0."""
        return self._counts()[0]

    @property
    def capacity(self) -> int:
        """How many messages may wait. Any thread. Since 1.0."""
        return self._counts()[1]

    def _counts(self) -> Tuple[int, int]:
        count, capacity = ctypes.c_size_t(), ctypes.c_size_t()
        check(native.treadle_port_get_count(self._handle, count, capacity), self._handle)
        return count.value, capacity.value

    def _fire(self, kind: int, event: Any) -> None:
        if self._receive is not None:
            self._receive(self._read(event.argument))
        elif self._waiters is not None:
            # One message for who waits: the others stay in the port, which is bounded.
            self._waiters.take_back(self)
            self._arrived.append(self._read(event.argument))
            self._waiters.tell()

    def _ended(self) -> None:
        if self._waiters is not None:
            self._waiters.end(self)

    def __aiter__(self) -> Port:
        """`async for message in port` in a treadle.aio.EventLoop: the messages one by one, until the port is invalid.

        For a port without a function, and in no loop: it is in RunLoop.current() while a task waits, in the modes of asyncio.
        What nobody waits for stays in the port. Of several tasks each message goes to one. Raises RuntimeError for another
        port, or without a treadle.aio.EventLoop. One thread at a time. Since 1.0.
        """
        return self

    async def __anext__(self) -> Message:
        """The next message. Raises StopAsyncIteration once the port is invalid, and as `async for` otherwise. Since 1.0."""
        if self._receive is not None:
            raise RuntimeError("the port has a function that receives its messages")
        if not self._token:
            raise RuntimeError("only the creator of a port receives its messages")
        arrived: Deque[Message] = self.__dict__.setdefault("_arrived", deque())
        waiters: Waiters = self.__dict__.setdefault("_waiters", Waiters())
        while not arrived:
            if waiters.is_elsewhere(self, on_other_threads=True):
                raise RuntimeError("the port is in a run loop, which receives its messages")
            try:
                await waiters.wait(self)
            except LoopClosed:
                break
        if not arrived:
            raise StopAsyncIteration
        return arrived.popleft()

    def _read(self, handle: int) -> Message:
        info = _capi.treadle_message_info(_INFO)
        check(native.treadle_message_get_info(handle, info))
        components = tuple(self._component(handle, index) for index in range(info.component_count))
        return Message(info.id, self, Port._of(info.reply_port), components)

    def _component(self, handle: int, index: int) -> Union[bytes, Port, ReceivedDescriptor, Any]:
        part = _COMPONENT()
        check(native.treadle_message_get_component(handle, index, part))
        if part.kind == _capi.COMPONENT_PORT:
            return Port._of(part.port)
        if part.kind == _capi.COMPONENT_DESCRIPTOR:
            fd = ctypes.c_int32()
            check(native.treadle_message_take_descriptor(handle, index, fd))
            return ReceivedDescriptor(fd.value)
        text = ctypes.string_at(part.bytes, part.length) if part.length else b""
        return pickles.loads(text) if self._pickle else text

    def _state(self) -> str:
        count, capacity = self._counts()
        return f"{count} of {capacity} messages"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Port cannot be copied or pickled: send it as a component of its own")


def known_port(handle: Optional[int]) -> Optional[Port]:
    """The port of a handle that may be gone."""
    return _registry.ports.get(handle) if handle else None


def _bytes_of(component: Any) -> bytes:
    try:
        return bytes(memoryview(component))
    except TypeError:
        raise wrong_type("a component", "bytes, a Port or has fileno()", component) from None


def _descriptor_of(file: Any) -> int:
    """The number of a descriptor; -1, which the library refuses, for one that C would cut."""
    number = integer(file.fileno(), "fileno()")
    return number if 0 <= number < 2**31 else -1


def _handle_of(port: Optional[Port]) -> Optional[int]:
    if port is not None and not isinstance(port, Port):
        raise wrong_type("reply_port", "a Port", port)
    return None if port is None else port._handle
