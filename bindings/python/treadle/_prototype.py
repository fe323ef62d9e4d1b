# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What a C function takes and returns, and its values on their way between C and Python."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any, Dict, List, Optional, Tuple

from ._encoding import CType, decayed, decode, encode, is_function_pointer, is_pointer
from ._arguments import encoded_text
from ._errors import check
from ._library import native

_PYTHON_API = 4  # FUNCFLAG_PYTHONAPI: called with the interpreter's lock held
_MOST_PARAMETERS = 100  # of objects that stand for each other
_BYTES = (ctypes.c_char, ctypes.c_byte, ctypes.c_ubyte)


class Value:
    """A type of ctypes as a place in memory that Python values are put into and read from.

    Both are done by the member of a struct, which converts as ctypes does everywhere.
    """

    __slots__ = ("ctype", "size", "_box", "_is_plain")

    def __init__(self, ctype: CType) -> None:
        self.ctype: CType = ctype
        self.size: int = ctypes.sizeof(ctype)
        self._box: Any = type("Box", (ctypes.Structure,), {"_fields_": [("value", ctype)]})
        # ctypes converts only its own simple types, and leaves classes that are derived from them alone.
        self._is_plain = ctype.__bases__ == (ctypes._SimpleCData,)

    def read(self, address: int) -> Any:
        """The value that lies there: a copy."""
        if self._is_plain:
            return self.ctype.from_address(address).value
        return self._box.from_buffer_copy(ctypes.string_at(address, self.size)).value

    def made(self) -> Any:
        """Memory of Python's own for one value, with the attribute `value`."""
        return self._box()

    def write(self, address: int, value: Any) -> None:
        """Puts a value there. Raises TypeError for what does not fit, and changes nothing then."""
        self._box.from_address(address).value = value


@lru_cache(maxsize=256)
def value_of(ctype: CType) -> Value:
    """The one object for a type."""
    return Value(ctype)


class Prototype:
    """A function's type."""

    __slots__ = ("encoding", "result", "arguments", "fixed")

    def __init__(self, result: CType, arguments: Tuple[CType, ...], fixed: Optional[int], encoding: str = "") -> None:
        if not encoding:
            encoding = encode(result)
            for index, argument in enumerate(arguments):
                encoding += ("..." if index == fixed else "") + encode(argument)
        self.encoding: bytes = encoding.encode()
        #: None for void.
        self.result: Optional[Value] = None if result is None else value_of(result)
        self.arguments: Tuple[Value, ...] = tuple(value_of(argument) for argument in arguments)
        #: How many arguments are not variadic; None when the function is not.
        self.fixed: Optional[int] = fixed
        self._compare()

    def _compare(self) -> None:
        """Makes sure that the library and ctypes see the same types. Raises what the library says of the signature."""
        signature = ctypes.c_void_p()
        check(native.treadle_signature_parse(self.encoding, signature))
        size, alignment = ctypes.c_size_t(), ctypes.c_size_t()
        for index, value in enumerate((self.result, *self.arguments), -1):
            check(native.treadle_signature_get_layout(signature, index, size, alignment))
            if value is not None and (size.value, alignment.value) != (value.size, ctypes.alignment(value.ctype)):
                raise TypeError(f"{value.ctype.__name__} is not laid out as the compiler would do it")

    def function_type(self) -> Any:
        """The class of ctypes for pointers to such functions."""
        result = None if self.result is None else self.result.ctype
        return ctypes.CFUNCTYPE(result, *(argument.ctype for argument in self.arguments))


def of_text(text: str) -> Prototype:
    """The function's type in the library's notation."""
    check(native.treadle_signature_parse(encoded_text(text, "a signature"), ctypes.c_void_p()))
    decoded = decode(text)
    return Prototype(decoded.result, tuple(decoded.arguments), decoded.fixed, text)


@lru_cache(maxsize=256)
def of_types(result: CType, arguments: Tuple[CType, ...], fixed: Optional[int]) -> Prototype:
    """The function's type by those of ctypes."""
    return Prototype(result, tuple(decayed(argument) for argument in arguments), fixed)


def of_class(prototype: Any) -> Prototype:
    """The function's type by a prototype of ctypes, such as CFUNCTYPE makes."""
    refuse_python_api(prototype._flags_)
    return of_types(prototype._restype_, tuple(prototype._argtypes_), None)


def refuse_python_api(flags: int) -> None:
    """A function that wants the interpreter's lock cannot be called by a thread that has not got it."""
    if flags & _PYTHON_API:
        raise TypeError("functions of PyDLL and PYFUNCTYPE keep the interpreter's lock: use CDLL and CFUNCTYPE")


def of_anything(signature: Any) -> Prototype:
    """The function's type by a text, or by a prototype of ctypes."""
    if isinstance(signature, str):
        return of_text(signature)
    if is_function_pointer(signature):
        return of_class(signature)
    raise TypeError(f"a signature is a text or a prototype such as CFUNCTYPE makes, not {signature!r}")


def guessed(value: Any, index: int) -> CType:
    """The type of an argument that no prototype declares: by the value, as ctypes does it, and double for a float."""
    value = parameter_of(value)
    if value is None or isinstance(value, _BYREF):
        return ctypes.c_void_p
    if isinstance(value, (bytes, bytearray)):
        return ctypes.c_char_p
    if isinstance(value, str):
        return ctypes.c_wchar_p
    if isinstance(value, float):
        return ctypes.c_double
    if isinstance(value, int):
        if not -(2**31) <= value < 2**31:
            raise TypeError(f"argument {index} is too large for an int: wrap it in its type, such as c_long")
        return ctypes.c_int
    if isinstance(value, (ctypes._SimpleCData, ctypes._Pointer, ctypes.Structure, ctypes.Array)):
        return decayed(type(value))
    if is_function_pointer(type(value)):
        return type(value)
    raise TypeError(f"argument {index}: no C type can be guessed for {value!r}")


#: What byref() gives.
_BYREF = type(ctypes.byref(ctypes.c_int()))


def parameter_of(value: Any) -> Any:
    """What stands for an object when it is passed to C, by the convention of ctypes."""
    for _ in range(_MOST_PARAMETERS):
        if not hasattr(value, "_as_parameter_"):
            return value
        value = value._as_parameter_
    raise TypeError("an object's _as_parameter_ leads to no value of C")


def pass_value(ctype: CType, value: Any) -> Tuple[Any, object]:
    """The memory with an argument, ready to be copied, and what must live as long as C may look at it.

    Raises TypeError for a value that does not fit.
    """
    value = parameter_of(value)
    memory = value_of(ctype).made()
    if not is_pointer(ctype):
        memory.value = value
        return memory, None
    address, kept = _address(ctype, value)
    ctypes.c_void_p.from_buffer(memory).value = address
    return memory, kept


def _address(ctype: CType, value: Any) -> Tuple[Optional[int], object]:
    if value is None:
        return None, None
    takes_bytes = ctype in (ctypes.c_char_p, ctypes.c_void_p) or getattr(ctype, "_type_", None) in _BYTES
    if takes_bytes and isinstance(value, bytes):
        return _cast(ctypes.c_char_p(value)), value
    if ctype in (ctypes.c_wchar_p, ctypes.c_void_p) and isinstance(value, str):
        text = ctypes.c_wchar_p(value)
        return _cast(text), text
    if ctype is ctypes.c_void_p and isinstance(value, int):
        return value, None
    if takes_bytes and not isinstance(value, (str, int, float)) and not _is_of_ctypes(value):
        view = memoryview(value).cast("B")  # also says that it is no buffer
        if view.readonly:
            raise TypeError(f"{type(value).__name__} cannot be written to, and C might: copy it into bytes")
        buffer = (ctypes.c_char * len(view)).from_buffer(view)
        return _cast(buffer), buffer
    if callable(value) and is_function_pointer(ctype) and not _is_of_ctypes(value):
        raise TypeError("a function of Python is no function pointer: make a treadle.closure() of it")
    return _cast(ctype.from_param(value)), value


def _is_of_ctypes(value: object) -> bool:
    kinds = (ctypes._SimpleCData, ctypes._Pointer, ctypes.Structure, ctypes.Union, ctypes.Array, _BYREF)
    return isinstance(value, kinds) or is_function_pointer(type(value))


def _cast(pointer: Any) -> Optional[int]:
    return ctypes.cast(pointer, ctypes.c_void_p).value


class KeptTexts:
    """C strings that handlers returned: C may look at them at any time, so each is kept, once."""

    __slots__ = ("_texts",)

    def __init__(self) -> None:
        self._texts: Dict[object, object] = {}

    def keep(self, ctype: CType, value: Any) -> Any:
        """The same value of that type, where it stays."""
        if ctype is ctypes.c_char_p and isinstance(value, bytes):
            return self._texts.setdefault(value, value)
        if ctype is ctypes.c_wchar_p and isinstance(value, str):
            return self._texts.setdefault(value, ctypes.c_wchar_p(value))
        return value


def converted(prototype: Prototype, arguments: Tuple[Any, ...]) -> Tuple[List[Any], List[object]]:
    """All arguments of a call: their memory, and what must be kept. Raises TypeError that tells which does not fit."""
    count = len(prototype.arguments)
    if len(arguments) != count:
        raise TypeError(f"the function takes {count} arguments, not {len(arguments)}")
    memories: List[Any] = []
    kept: List[object] = []
    for index, (value, argument) in enumerate(zip(prototype.arguments, arguments)):
        try:
            memory, keep = pass_value(value.ctype, argument)
        except (TypeError, ValueError, ctypes.ArgumentError) as error:
            raise TypeError(f"argument {index} ({value.ctype.__name__}): {error}") from None
        memories.append(memory)
        kept.append(keep)
    return memories, kept
