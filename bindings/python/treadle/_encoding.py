# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""ctypes' types and the library's notation of signatures, each translated into the other.

The notation is that of treadle_signature_parse: the result first, then the arguments, one letter for a scalar.
"""

from __future__ import annotations

import ctypes
import re
import sys
from functools import lru_cache
from typing import Any, Dict, List, NoReturn, Optional, Tuple

#: A class of ctypes; None stands for void.
CType = Any

#: How deep pointers are described; what lies behind them makes no difference for a call.
_DEPTH = 4

_SIGNED = {1: "c", 2: "s", 4: "i", 8: "q"}
_UNSIGNED = {1: "C", 2: "S", 4: "I", 8: "Q"}
_OTHERS = {"?": "B", "f": "f", "d": "d", "z": "*", "Z": "^i", "P": "^v"}
_REFUSED = {"O": "C cannot use a Python object", "g": "a long double cannot be carried"}

_DECODED: Dict[str, CType] = {
    "c": ctypes.c_int8,
    "C": ctypes.c_uint8,
    "s": ctypes.c_int16,
    "S": ctypes.c_uint16,
    "i": ctypes.c_int32,
    "I": ctypes.c_uint32,
    "q": ctypes.c_int64,
    "Q": ctypes.c_uint64,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
    "B": ctypes.c_bool,
    "*": ctypes.c_char_p,
}


class Decoded:
    """What a signature in the library's notation says."""

    __slots__ = ("result", "arguments", "qualifiers", "fixed")

    def __init__(self, result: CType, arguments: List[CType], qualifiers: List[str], fixed: Optional[int]) -> None:
        self.result = result
        self.arguments = arguments
        #: Those of each argument.
        self.qualifiers = qualifiers
        #: How many arguments are not variadic; None when the function is not.
        self.fixed = fixed


def _is(ctype: CType, mother: Any) -> bool:
    return isinstance(ctype, type) and issubclass(ctype, mother)


def is_function_pointer(ctype: CType) -> bool:
    """Whether this is a prototype of ctypes, the class of function pointers."""
    return _is(ctype, ctypes._CFuncPtr)  # type: ignore[attr-defined]


def is_pointer(ctype: CType) -> bool:
    """Whether this is a class of pointers, of whatever kind."""
    if _is(ctype, ctypes._SimpleCData):
        return ctype._type_ in ("z", "Z", "P")
    return _is(ctype, ctypes._Pointer) or is_function_pointer(ctype)


def decayed(ctype: CType) -> CType:
    """The type of an argument that is declared so: an array is passed as a pointer."""
    if _is(ctype, ctypes.Array):
        return ctypes.POINTER(ctype._type_)
    return ctype


def encode(ctype: CType) -> str:
    """The notation of a type that is passed by value, void among them. Raises TypeError for one that cannot be."""
    if ctype is None:
        return "v"
    if _is(ctype, ctypes._SimpleCData):
        return _encode_simple(ctype)
    if _is(ctype, ctypes._Pointer):
        return "^" + _encode_pointee(getattr(ctype, "_type_", None), 1)
    if is_function_pointer(ctype):
        return "^?"
    if _is(ctype, ctypes.Structure):
        return _encode_struct(ctype)
    if _is(ctype, ctypes.Array):
        if not ctype._length_:
            _refuse(ctype, "an array of no length has no place in a struct")
        return f"[{ctype._length_}{encode(ctype._type_)}]"
    if _is(ctype, ctypes.Union):
        _refuse(ctype, "a union cannot be passed by value; a pointer to it can")
    raise TypeError(f"{ctype!r} is no type of ctypes")


def _refuse(ctype: CType, reason: str) -> NoReturn:
    raise TypeError(f"{ctype.__name__} has no place in a signature: {reason}")


def _encode_simple(ctype: CType) -> str:
    code = ctype._type_
    # A type of the other byte order is no subclass of the one of the machine's.
    native: Any = getattr(ctype, "__ctype_le__" if sys.byteorder == "little" else "__ctype_be__", ctype)
    if not issubclass(ctype, native):
        _refuse(ctype, "its byte order is not the machine's")
    if code in _OTHERS:
        return _OTHERS[code]
    if code in "bhilqcu":
        return _SIGNED[ctypes.sizeof(ctype)]
    if code in "BHILQ":
        return _UNSIGNED[ctypes.sizeof(ctype)]
    _refuse(ctype, _REFUSED.get(code, "the library knows no such type"))


def _encode_pointee(ctype: CType, depth: int) -> str:
    """What a pointer points to: for people only, and so no reason to refuse anything."""
    if ctype is None or depth > _DEPTH:
        return "v"
    if _is(ctype, ctypes._Pointer):
        return "^" + _encode_pointee(getattr(ctype, "_type_", None), depth + 1)
    if _is(ctype, ctypes.Structure):
        return f"{{{_name(ctype)}}}"
    try:
        return encode(ctype) if not _is(ctype, ctypes.Array) else "v"
    except TypeError:
        return "v"


def _name(ctype: CType) -> str:
    return ctype.__name__ if re.fullmatch("[A-Za-z0-9_]+", ctype.__name__) else "?"


def _encode_struct(ctype: CType) -> str:
    if hasattr(ctype, "_swappedbytes_"):
        _refuse(ctype, "its byte order is not the machine's")
    if getattr(ctype, "_pack_", 0) or getattr(ctype, "_align_", 0):
        _refuse(ctype, "its members are not where the compiler puts them by itself (_pack_, _align_)")
    members = ""
    for mother in reversed(ctype.__mro__):
        for name, member, *bits in vars(mother).get("_fields_", ()):
            if bits:
                _refuse(ctype, f"{name} is a bit-field")
            try:
                members += encode(member)
            except TypeError as error:
                raise TypeError(f"{ctype.__name__}.{name}: {error}") from None
    if not members:
        _refuse(ctype, "it has no members")
    return f"{{{_name(ctype)}={members}}}"


def decode(text: str) -> Decoded:
    """The types of a signature that the library has parsed, and so is well formed.

    What a pointer points to is taken over as far as ctypes has it; a struct's members are called a, b, c ...
    """
    reader = _Reader(text)
    result = reader.type()
    arguments: List[CType] = []
    qualifiers: List[str] = []
    fixed: Optional[int] = None
    while not reader.is_at_end:
        if reader.skip("..."):
            fixed = len(arguments)
        else:
            qualifiers.append(reader.qualifiers())
            arguments.append(reader.type())
    return Decoded(result, arguments, qualifiers, fixed)


@lru_cache(maxsize=256)
def _struct(name: str, members: Tuple[CType, ...]) -> CType:
    letters = "abcdefghijklmnopqrstuvwxyz"
    names = [letters[index] if index < 26 else f"m{index}" for index in range(len(members))]
    return type(name or "struct", (ctypes.Structure,), {"_fields_": list(zip(names, members))})


class _Reader:
    """Reads the notation from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    @property
    def is_at_end(self) -> bool:
        return self._position >= len(self._text)

    def skip(self, text: str) -> bool:
        found = self._text.startswith(text, self._position)
        if found:
            self._position += len(text)
        return found

    def _match(self, pattern: str) -> str:
        match = re.compile(pattern).match(self._text, self._position)
        assert match is not None
        self._position = match.end()
        return match[0]

    def qualifiers(self) -> str:
        """Steps over the qualifiers before a type."""
        return self._match("[rnNoORV]*")

    def type(self) -> CType:
        """One type, with its qualifiers before it and its frame offset behind it."""
        self.qualifiers()
        found = self._bare_type()
        self._match("[0-9]*")
        return found

    def _bare_type(self) -> CType:
        letter = self._match("(?s).")
        if letter == "v":
            return None
        if letter == "^":
            if self.skip("?"):
                return ctypes.c_void_p
            pointee = self._pointee()
            return ctypes.c_void_p if pointee is None else ctypes.POINTER(pointee)
        if letter == "[":
            count = int(self._match("[0-9]+"))
            element = self.type()
            self.skip("]")
            return element * count
        if letter == "{":
            name = self._match("[^=}]*")
            members = []
            self.skip("=")
            while not self.skip("}"):
                self._match('("[^"]*")?')
                members.append(self.type())
            return _struct(name, tuple(members))
        return _DECODED[letter]

    def _pointee(self) -> CType:
        """What a pointer points to, or None for what ctypes has no type for: that is skipped."""
        start = self._position
        self._match("[rnNoORV]*")
        letter = self._text[self._position : self._position + 1]
        if letter in _DECODED or letter == "^":
            return self.type()
        self._position = start
        self._skip_type()
        return None

    def _skip_type(self) -> None:
        """Steps over a type behind a pointer, whatever it is."""
        self._match("[rnNoORVAj]*")
        letter = self._match("(?s).")
        if letter == "^":
            self._skip_type()
        elif letter in "{(":
            self._skip_until("}" if letter == "{" else ")")
        elif letter == "[":
            self._match("[0-9]*")
            self._skip_type()
            self.skip("]")
        elif letter == "@" and not self.skip("?"):
            self._match('("[^"]*")?')
        self._match("[0-9]*")

    def _skip_until(self, bracket: str) -> None:
        self._match(f"[^={re.escape(bracket)}]*")
        self.skip("=")
        while not self.skip(bracket):
            self._match('("[^"]*")?')
            self._skip_type()
