# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Message ports: messages and their replies, under a name, between threads and processes of one user."""

from __future__ import annotations

import ctypes
import pickle as pickles
import weakref
from typing import Any, Callable, Dict, Iterable, Mapping, NoReturn, Optional

from . import _capi, _registry
from ._arguments import encoded_text, integer, iterated, wrong_type
from ._errors import Error, check
from ._frames import Frame, call, is_running
from ._host import host
from ._item import Item, callback, encoded, text_of
from ._library import native
from ._port_calls import Portable, call_exported, exported
from ._signals import MainRun, was_interrupted
from ._threads import is_main
from ._types import REPLIES, timeout_of
from ._waiting import wait, wait_with_callbacks

_CONTEXT = ctypes.sizeof(_capi.treadle_message_port_context)
_MESSAGE = _capi.treadle_message_port_message

#: The replies that have come, by the tokens of their requests.
_replies: Dict[int, bytes] = {}


def _keep_reply(data: Optional[int], size: int, token: int) -> None:
    _replies[token] = ctypes.string_at(data, size) if data else b""


#: Lives for ever, as all trampolines.
keep_reply = _capi.treadle_message_port_reply_fn(_keep_reply)


class IncomingMessage:
    """A message that a message port has received. Since 1.0."""

    __slots__ = ("id", "port", "data", "wants_reply", "sender_process", "sender_user")

    def __init__(self, port: MessagePort, view: Any, data: Any) -> None:
        """Made for the function of a port. Since 1.0."""
        #: The number that the sender gave, of 32 bits with a sign.
        self.id: int = view.id
        #: The port that it arrived on.
        self.port: MessagePort = port
        #: Its bytes; of a port that pickles what was sent.
        self.data: Any = data
        #: Whether the sender waits for a reply.
        self.wants_reply: bool = bool(view.flags & _capi.MESSAGE_PORT_WANTS_REPLY)
        #: The kernel's ids of the process that made the remote port, and of its user.
        self.sender_process: int = view.sender_process
        self.sender_user: int = view.sender_user

    def __repr__(self) -> str:
        return f"<IncomingMessage {self.id} from process {self.sender_process}>"


class MessagePort(Item):
    """A port with a name: one side serves it, others send to it, from threads or other processes of the same user. Since 1.0.

    Made by local() and remote(). Every process of the user can serve a name that is free, and send to every name.
    """

    _receive: Optional[Callable[[IncomingMessage], object]]
    _invalidated: Optional[Callable[[MessagePort], object]]
    _pickle: bool
    #: What the exported functions are kept by.
    _functions: object

    def __init__(self) -> None:
        raise TypeError("use MessagePort.local() or MessagePort.remote()")

    @classmethod
    def local(
        cls,
        name: Optional[str],
        receive: Optional[Callable[[IncomingMessage], object]] = None,
        *,
        invalidated: Optional[Callable[[MessagePort], object]] = None,
        users: Iterable[int] = (),
        pickle: bool = False,
        functions: Optional[Mapping[str, Any]] = None,
        label: str = "",
    ) -> MessagePort:
        """Makes a port that serves a name, in no mode yet. Any thread.

        name: of at most 255 bytes of UTF-8, what is longer is cut; None: none yet.
        receive: called with each message, one in a pass, on the thread of a loop that the port was added to. A sender that
        waits gets its result, bytes or None, as the reply. Without it messages are dropped, with empty replies.
        invalidated: called once with the port when it has become invalid, on the thread that made it so or found out; not
        when it was collected.
        users: the ids of other users who may send to it.
        pickle: messages are unpickled, and replies pickled. Unpickling runs code of the sender's: only for ports whose senders
        you have written, which pickle too; not together with users.
        functions: C functions that senders may call by call(), by their names. Each is a treadle.closure(), a function of ctypes
        that declares its argtypes and restype, or a tuple of a signature and one of these or an address. They are called on the
        thread of a loop that the port was added to, one in a pass, in their turn among the messages.
        label: a name for people. Raises Error with the code E_EXISTS if the name is served already, by this process or another;
        InvalidArgument for an empty name, or a function that cannot be called in another process; SystemFailure. Since 1.0.
        """
        context = _capi.treadle_message_port_context(_CONTEXT)
        numbers = [_user(user, "a user") for user in iterated(users, "users", "a list of user ids")]
        if pickle and numbers:
            raise ValueError("a port that other users may send to does not unpickle")
        context.users, context.user_count = (ctypes.c_uint32 * len(numbers))(*numbers), len(numbers)
        port = cls._of(receive, invalidated, pickle, label)
        if functions:
            context.functions, port._functions = exported(functions)
            context.function_count = len(functions)
        if not port._connect(native.treadle_message_port_create_local, name, context):
            port._release()
            raise Error("the name is served by another port of this process", _capi.E_EXISTS)
        return port

    @classmethod
    def remote(
        cls,
        name: str,
        *,
        invalidated: Optional[Callable[[MessagePort], object]] = None,
        owner: Optional[int] = None,
        pickle: bool = False,
        label: str = "",
    ) -> MessagePort:
        """Makes a port that sends to a name, and connects it to the server of that name. Any thread.

        As long as this process has such a port that is valid, it is connected once, however many objects there are.
        invalidated: as in local(); in a loop the port finds out by itself that the other side has gone.
        owner: the id of the user whose name is meant; None: the own one's.
        pickle: messages are pickled, and replies unpickled; the other side pickles too.
        label: a name for people. Raises Error with the code E_NOT_FOUND if the name has no server, and with E_EXISTS if this
        process is connected already and there is a function for the end; InvalidArgument for an empty name; SystemFailure.
        Since 1.0.
        """
        context = _capi.treadle_message_port_context(_CONTEXT)
        if owner is not None:
            context.owner, context.has_owner = _user(owner, "owner"), 1
        port = cls._of(None, invalidated, pickle, label)
        if name is None:
            raise wrong_type("a name", "a str", name)
        if port._connect(native.treadle_message_port_create_remote, name, context):
            return port
        if invalidated is not None:
            port._release()
            raise Error("this process is connected to the name already, and its end is told to others", _capi.E_EXISTS)
        with _registry.lock:
            known = _registry.message_ports.get(port._handle)
        if known is not None and known._pickle == port._pickle:
            port._release()
            return known
        weakref.finalize(port, native.treadle_release, port._handle).atexit = False
        _registry.other_message_ports.add(port)
        return port

    @classmethod
    def _of(
        cls,
        receive: Optional[Callable[[IncomingMessage], object]],
        invalidated: Optional[Callable[[MessagePort], object]],
        pickle: bool,
        label: str,
    ) -> MessagePort:
        """An object without a port."""
        port = cls.__new__(cls)
        port.label = label
        port._loops = set()
        port._receive = callback(receive, optional=True)
        port._invalidated = callback(invalidated, optional=True)
        port._pickle = bool(pickle)
        port._functions = None
        return port

    def _connect(self, function: Callable[..., int], name: Optional[str], context: Any) -> bool:
        """Makes the port. False if this process has it already: then the object has a reference that belongs to nobody yet."""
        text = None if name is None else encoded_text(name, "a name")
        is_made = True

        def create(context: Any, out: Any) -> int:
            nonlocal is_made
            status: int = function(text, context, out)
            is_made = status != _capi.IGNORED
            return status

        self._create(create, context, self.label)
        if is_made:
            with _registry.lock:
                _registry.message_ports[self._handle] = self
        else:
            _registry.items.pop(self._token, None)
            self._token = 0
        return is_made

    def _release(self) -> None:
        handle, self._handle = self._handle, 0
        native.treadle_release(handle)

    @property
    def is_remote(self) -> bool:
        """Whether it sends to a name. Any thread. Since 1.0."""
        return bool(native.treadle_message_port_is_remote(self._handle))

    @property
    def name(self) -> str:
        """The name; empty for none. Setting it gives a local port another name: it stays in its loops, and remote ports by
        the old name become invalid. Raises Error with the code E_EXISTS if the name is taken, with E_STATE for a remote or an
        invalid port; InvalidArgument for an empty name. Any thread. Since 1.0."""
        return text_of(native.treadle_message_port_get_name, self._handle)

    @name.setter
    def name(self, name: str) -> None:
        check(native.treadle_message_port_set_name(self._handle, encoded_text(name, "a name")), self._handle)

    def check(self) -> bool:
        """Whether the port can be used now: of a remote one, whether the other side is still there, without waiting for a loop
        to find out. It becomes invalid here if not. Any thread. Since 1.0."""
        frame = Frame(runs=False)
        status = call(frame, native.treadle_message_port_check, self._handle)
        return status != _capi.E_STATE and check(status, self._handle) == _capi.OK

    def pause(self) -> None:
        """Receives nothing until resume(); the port stays in its modes. Raises Error if invalid. Any thread. Since 1.0."""
        check(native.treadle_descriptor_set_events(self._handle, 0), self._handle)

    def resume(self) -> None:
        """Receives messages again. Raises Error if invalid. Any thread. Since 1.0."""
        check(native.treadle_descriptor_set_events(self._handle, _capi.READABLE), self._handle)

    def send(self, data: Any = b"", *, id: int = 0, timeout: Optional[float] = None) -> None:
        """Sends a message that wants no reply: it is over when the other side's queue has it. Any thread.

        data: bytes, at most 0x60000000; if the port pickles, anything. id: a number of 32 bits with a sign, for the receiver.
        timeout: how long to wait for room, in seconds; None waits for ever, 0 only tries.
        Raises Timeout; LoopClosed if the other side has gone by now; Error for a local or an invalid port. On the main thread
        Ctrl-C ends the wait. Since 1.0.
        """
        number, text = _id(id), self._encoded(data)
        nanoseconds = timeout_of(timeout, "timeout")
        status = wait_with_callbacks(native.treadle_message_port_send, nanoseconds, self._handle, number, text, len(text))
        check(status, self._handle)

    def request(
        self,
        data: Any = b"",
        *,
        id: int = 0,
        mode: str = REPLIES,
        timeout: Optional[float] = None,
    ) -> Any:
        """Sends a message and returns its reply: bytes, which are empty where there was none; if the port pickles, what the
        other side has returned. Any thread.

        The calling thread's loop is run in the mode meanwhile, and serves what else is in it; without a mode, one in which
        nothing is. A port that this loop serves itself replies only if it is in the mode.
        data, id: as in send(). timeout: limits the wait for room, which does not run the loop, and the wait for the reply, each, in
        seconds; None waits for ever. A reply that comes later is dropped.
        Raises Timeout, with nothing sent; NoReply; LoopClosed if the other side has gone, or has ended its thread in place of
        an answer; Error for a local or an invalid port; what a callback has raised meanwhile, which ends an outer run as well.
        On the main thread Ctrl-C ends both waits. Since 1.0.
        """
        number, text, name = _id(id), self._encoded(data), encoded(mode)
        limit = timeout_of(timeout, "timeout")
        token = next(_registry.tokens)
        frame, function = Frame(runs=True), native.treadle_message_port_request

        def attempt(nanoseconds: int) -> int:
            size, limits = len(text), (nanoseconds, limit)
            return call(frame, function, self._handle, number, text, size, *limits, name, keep_reply, token)

        host.drain()
        try:
            if is_main() and not is_running():
                with MainRun():
                    status = wait(attempt, limit)
            else:
                status = wait(attempt, limit)
            if status == _capi.E_CALLBACK and was_interrupted():
                raise KeyboardInterrupt
            check(status, self._handle)
            return self._decoded(_replies[token], None)
        finally:
            _replies.pop(token, None)
            host.drain()

    def call(self, name: str, signature: Any, *args: Any, mode: str = REPLIES, timeout: Optional[float] = None) -> Any:
        """Calls a C function that the other side has exported by name, and returns its result. Any thread.

        signature: the exporter's: a text in the notation of treadle_signature_parse, such as "iii", or a prototype of ctypes, such
        as CFUNCTYPE(c_int, c_int, c_int), of numbers, bool, structs and c_char_p. In a text a pointer is qualified: "O*" is a C
        string, from a str or bytes; "O^..." copies a buffer to the function, "N^..." also back, "o^..." only back: from bytes, or
        a bytearray, an array or a struct of ctypes, which are written to where they are. None passes NULL.
        mode: as in request(). timeout: limits the wait for room, and the wait for the result, each, in seconds; None waits for
        ever. Then the function may have been called all the same, or still be running. On the main thread Ctrl-C ends
        the wait for the result.
        Raises Error with the code E_NOT_FOUND for a name that is not exported; InvalidArgument for another signature than
        the exporter's, or a value that does not fit; TypeError; LoopClosed also if the function has ended its thread; the others
        of request(). Since 1.0.
        """
        return call_exported(self._handle, name, Portable(signature), args, encoded(mode), timeout_of(timeout, "timeout"))

    def _encoded(self, data: Any) -> bytes:
        if self._pickle:
            return pickles.dumps(data)
        try:
            return data if type(data) is bytes else bytes(memoryview(data))
        except TypeError:
            raise wrong_type("data", "bytes", data) from None

    def _decoded(self, text: bytes, nothing: Any) -> Any:
        if not self._pickle:
            return text
        return pickles.loads(text) if text else nothing

    def _fire(self, kind: int, event: Any) -> None:
        if not event.argument:
            self._let_go()
            told, self._invalidated = self._invalidated, None
            if told is not None:
                told(self)
        elif self._receive is not None:
            view = _MESSAGE.from_address(event.argument)
            number = view.call
            text = ctypes.string_at(view.data, view.size) if view.size else b""
            reply = self._receive(IncomingMessage(self, view, self._decoded(text, None)))
            if reply is not None:
                encoded_reply = self._encoded(reply)
                check(native.treadle_message_port_reply(number, encoded_reply, len(encoded_reply)))

    def _state(self) -> str:
        return f"{'remote' if self.is_remote else 'local'} {self.name!r}"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a MessagePort cannot be copied or pickled: send its name")


def _id(id: int) -> int:
    number = integer(id, "id")
    if not -(2**31) <= number < 2**31:
        raise ValueError(f"the id {number} does not fit into 32 bits")
    return number


def _user(user: int, name: str) -> int:
    number = integer(user, name)
    if not 0 <= number < 2**32:
        raise ValueError(f"{name} is no user's id: {number}")
    return number
