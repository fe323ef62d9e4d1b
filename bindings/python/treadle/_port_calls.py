# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""C functions that a message port exports, and the values of a call of one."""

from __future__ import annotations

import ctypes
import re
from typing import Any, List, Mapping, Tuple

from . import _capi
from ._arguments import encoded_text, wrong_type
from ._closure import Closure
from ._encoding import CType, decode, encode, is_function_pointer, is_pointer
from ._errors import check
from ._frames import Frame, call, is_running
from ._host import host
from ._library import native
from ._prototype import Prototype, Value, of_anything, parameter_of, pass_value, refuse_python_api
from ._signals import MainRun, was_interrupted
from ._threads import is_main

_CODE = ctypes.CFUNCTYPE(None)


class Portable:
    """A function's type for calls from other processes. The library refuses what does not travel."""

    __slots__ = ("encoding", "result", "arguments", "writes")

    def __init__(self, signature: Any) -> None:
        prototype = of_anything(signature)
        #: In the library's notation.
        self.encoding: bytes = prototype.encoding if isinstance(signature, str) else _with_texts(prototype)
        self.result = prototype.result
        self.arguments = prototype.arguments
        #: Whether each argument is memory that the function writes to.
        self.writes: List[bool] = [bool({"N", "o"} & set(each)) for each in decode(self.encoding.decode()).qualifiers]

    def values_of(self, arguments: Tuple[Any, ...]) -> Tuple[Any, object]:
        """The arguments in memory, and what must live during the call. Raises TypeError that tells which does not fit."""
        count = len(self.arguments)
        if len(arguments) != count:
            raise TypeError(f"the function takes {count} arguments, not {len(arguments)}")
        values = (_capi.treadle_port_value * count)()
        kept: List[object] = []
        for index, (value, argument) in enumerate(zip(self.arguments, arguments)):
            try:
                kept.append(self._set(values[index], value, parameter_of(argument), self.writes[index]))
            except (TypeError, ValueError, ctypes.ArgumentError) as error:
                raise TypeError(f"argument {index} ({value.ctype.__name__}): {error}") from None
        return values, kept

    def _set(self, place: Any, value: Value, argument: Any, writes: bool) -> object:
        """One argument; returns what must live during the call."""
        if not is_pointer(value.ctype):
            if isinstance(argument, ctypes.Structure) and _shape(type(argument)) == _shape(value.ctype):
                argument = value.ctype.from_buffer_copy(argument)
            memory, kept = pass_value(value.ctype, argument)
            place.bytes, place.size = ctypes.addressof(memory), value.size
            return memory, kept
        if argument is None:
            return None
        if value.ctype is ctypes.c_char_p and not writes:
            return _set_memory(place, _text(argument))
        view = memoryview(argument)
        if writes and view.readonly:
            raise TypeError(f"the function writes to it, and {type(argument).__name__} cannot be written to")
        if not view.c_contiguous:
            raise TypeError("its bytes do not lie in a row")
        return _set_memory(place, bytes(view) if view.readonly else view)


def _shape(ctype: CType) -> str:
    """A type's notation without the names of structs."""
    return re.sub(r"\{[^=]*=", "{", encode(ctype))


def _text(argument: Any) -> bytes:
    """A C string with its NUL."""
    text = argument.encode() if isinstance(argument, str) else argument
    if not isinstance(text, bytes):
        raise wrong_type("a text", "a str or bytes", argument)
    if b"\0" in text:
        raise ValueError("a text contains NUL")
    return text + b"\0"


def _set_memory(place: Any, source: Any) -> object:
    """The memory of bytes, or of a buffer that can be written to."""
    if isinstance(source, bytes):
        size, memory = len(source), ctypes.create_string_buffer(source, max(len(source), 1))
    else:
        size = source.nbytes
        memory = (ctypes.c_char * size).from_buffer(source) if size else ctypes.create_string_buffer(1)
    place.bytes, place.size = ctypes.addressof(memory), size
    return memory, source


def _with_texts(prototype: Prototype) -> bytes:
    """The signature of a prototype of ctypes: C strings travel, and the library refuses other pointers."""
    if prototype.fixed is not None:
        return prototype.encoding
    types = ["v" if prototype.result is None else encode(prototype.result.ctype)]
    for argument in prototype.arguments:
        types.append("O*" if argument.ctype is ctypes.c_char_p else encode(argument.ctype))
    return "".join(types).encode()


def call_exported(port: int, name: str, function: Portable, arguments: Tuple[Any, ...], mode: bytes, timeout: int) -> Any:
    """Calls a function that the other side of a port has exported; what it returns."""
    text = encoded_text(name, "a function's name")
    values, kept = function.values_of(arguments)
    result = None if function.result is None else function.result.made()
    place = (None, 0) if result is None else (ctypes.addressof(result), ctypes.sizeof(result))
    frame = Frame(runs=True)

    def attempt() -> int:
        sent = (values, len(values)) if len(values) else (None, 0)
        return call(frame, native.treadle_port_call, port, text, function.encoding, *sent, *place, timeout, mode)

    host.drain()
    try:
        if is_main() and not is_running():
            with MainRun():
                status = attempt()
        else:
            status = attempt()
        if status == _capi.E_CALLBACK and was_interrupted():
            raise KeyboardInterrupt
        check(status, port)
    finally:
        del kept
        host.drain()
    return None if result is None else result.value


def exported(functions: Mapping[str, Any]) -> Tuple[Any, object]:
    """The functions of a port, by their names, for its context; and what must live as long as the port.

    Each is a closure, a function of ctypes that declares its types, or a signature and one of these, or an address.
    """
    if not isinstance(functions, Mapping):
        raise wrong_type("functions", "a mapping of names to functions", functions)
    entries = (_capi.treadle_port_function * len(functions))()
    for entry, (name, given) in zip(entries, functions.items()):
        signature, function = given if isinstance(given, tuple) and len(given) == 2 else (None, given)
        encoding, address = _function(name, signature, function)
        entry.name = encoded_text(name, "a function's name")
        entry.signature, entry.code = encoding, ctypes.cast(address, _CODE)
    return entries, list(functions.values())


def _function(name: str, signature: Any, function: Any) -> Tuple[bytes, int]:
    """A function's signature and address."""
    if isinstance(function, Closure):
        if signature is None:
            signature = function._signature
        function = function.pointer
    elif signature is None:
        if not is_function_pointer(type(function)):
            raise TypeError(f"the function {name!r} is a closure or a function of ctypes, or a signature and one, not {function!r}")
        if function.argtypes is None:
            raise TypeError(f"the function {name!r} does not declare its argtypes: give a signature")
        signature = _prototype_of(function.restype, tuple(function.argtypes))
    if is_function_pointer(type(function)):
        refuse_python_api(function._flags_)
        return Portable(signature).encoding, ctypes.cast(function, ctypes.c_void_p).value or 0
    if isinstance(function, int) and not isinstance(function, bool):
        return Portable(signature).encoding, function
    raise TypeError(f"the function {name!r} is a closure, a function of ctypes or an address, not {function!r}")


def _prototype_of(result: CType, arguments: Tuple[CType, ...]) -> Any:
    return ctypes.CFUNCTYPE(result, *arguments)
