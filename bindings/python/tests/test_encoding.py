# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Types of ctypes as signatures, and back."""

from __future__ import annotations

import ctypes
import unittest
from typing import Any, List, Tuple

import treadle
from treadle._encoding import decode, encode

from support import Nest, Pair, TestCase

SCALARS: List[Tuple[Any, str, List[Any]]] = [
    (ctypes.c_bool, "B", [True, False]),
    (ctypes.c_char, "c", [b"x", b"\xff"]),
    (ctypes.c_wchar, "i", ["\u00e9", "\U0001f600"]),
    (ctypes.c_byte, "c", [-128, 127]),
    (ctypes.c_ubyte, "C", [0, 255]),
    (ctypes.c_short, "s", [-(2**15), 2**15 - 1]),
    (ctypes.c_ushort, "S", [0, 2**16 - 1]),
    (ctypes.c_int, "i", [-(2**31), 2**31 - 1]),
    (ctypes.c_uint, "I", [0, 2**32 - 1]),
    (ctypes.c_longlong, "q", [-(2**63), 2**63 - 1]),
    (ctypes.c_ulonglong, "Q", [0, 2**64 - 1]),
    (ctypes.c_size_t, "Q", [2**64 - 1]),
    (ctypes.c_ssize_t, "q", [-1]),
    (ctypes.c_float, "f", [1.5, -0.25]),
    (ctypes.c_double, "d", [1e300, -0.1]),
    (ctypes.c_char_p, "*", [b"text", b"", None]),
    (ctypes.c_wchar_p, "^i", ["text", None]),
    (ctypes.c_void_p, "^v", [0x1234, None]),
]


class Bits(ctypes.Structure):
    _fields_ = [("bits", ctypes.c_int, 3)]


class Packed(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("a", ctypes.c_char), ("b", ctypes.c_int)]


class Swapped(ctypes.BigEndianStructure):
    _fields_ = [("a", ctypes.c_int)]


class Either(ctypes.Union):
    _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_float)]


class HasEither(ctypes.Structure):
    _fields_ = [("either", Either)]


class Empty(ctypes.Structure):
    pass


class Derived(Pair):
    _fields_ = [("more", ctypes.c_short * 3)]


class Own(ctypes.c_int):
    """ctypes leaves such a value as it is."""


class Encoding(TestCase):
    def test_scalars(self) -> None:
        """OBJ-8: each type has its letter, and its values go in and come out, as argument and as result."""
        for ctype, letter, values in SCALARS:
            self.assertEqual(encode(ctype), letter, ctype)
            seen: List[Any] = []

            def handler(value: Any) -> Any:
                seen.append(value)
                return value

            closure = treadle.closure(ctypes.CFUNCTYPE(ctype, ctype), handler)
            self.assertEqual([closure(value) for value in values], values, ctype)
            self.assertEqual(seen, values, ctype)

    def test_structs(self) -> None:
        """OBJ-8: nested, with arrays, derived from another."""
        self.assertEqual(encode(Pair), "{Pair=cd}")
        self.assertEqual(encode(Nest), "{Nest=[2{Pair=cd}]*}")
        self.assertEqual(encode(Derived), "{Derived=cd[3s]}")
        self.assertEqual(encode(ctypes.POINTER(Nest)), "^{Nest}")
        self.assertEqual(encode(ctypes.POINTER(Either)), "^v")
        self.assertEqual(encode(ctypes.POINTER(ctypes.POINTER(ctypes.c_double))), "^^d")
        self.assertEqual(encode(ctypes.CFUNCTYPE(None)), "^?")
        closure = treadle.closure(ctypes.CFUNCTYPE(Derived, Derived), lambda value: value)
        made = Derived(-3, 0.5, (1, 2, 3))
        self.assertEqual(bytes(closure(made)), bytes(made))

    def test_own_classes(self) -> None:
        """OBJ-8: what is derived from a simple type stays an object, as ctypes has it."""
        seen: List[Own] = []

        def handler(value: Own) -> int:
            seen.append(value)
            return value.value

        closure = treadle.closure(ctypes.CFUNCTYPE(ctypes.c_int, Own), handler)
        self.assertEqual(closure(Own(7)), 7)
        self.assertIs(type(seen[0]), Own)

    def test_notation(self) -> None:
        """OBJ-8: a text stands for types of ctypes, whatever it says of pointers."""
        for text, arguments in [
            ("v", []),
            ("icCsSiIqQfdB*", [entry for entry in "cCsSiIqQfdB*"]),
            ("Vvr*16Ni20", ["*", "i"]),
            ('v{point="x"d"y"d}^{point=dd}', ["{point=dd}", "^v"]),
            ("v^?^v^^i^*^(u=i{n=f})^[4{s}]^@\"Name\"^b3^ji^{s}^^{s}i", None),
        ]:
            types = decode(text).arguments
            if arguments is not None:
                self.assertEqual([encode(ctype) for ctype in types], arguments, text)
            else:
                self.assertEqual(len(types), 12, text)
            treadle.closure(text, lambda *_values: None)
        self.assertEqual(decode("i*...id").fixed, 1)
        point = decode("v{point=d[2c]}").arguments[0]
        self.assertEqual([name for name, *_ in point._fields_], ["a", "b"])
        self.assertEqual(ctypes.sizeof(point), 16)

    def test_what_is_refused(self) -> None:
        """OBJ-6: with the reason."""
        cases: Any = [
            (ctypes.py_object, "a Python object"),
            (ctypes.c_longdouble, "long double"),
            (Either, "union"),
            (HasEither, "either"),
            (Bits, "bit-field"),
            (Packed, "_pack_"),
            (Swapped, "byte order"),
            (ctypes.c_int.__ctype_be__, "byte order"),
            (Empty, "no members"),
        ]
        for ctype, word in cases:
            for types in ((None, ctype), (ctype,)):
                with self.assertRaisesRegex(TypeError, word):
                    treadle.closure(ctypes.CFUNCTYPE(*types), print)
        for bad, word in [("l", "l or L"), ("", "empty"), ("i(u=i)", "union"), ("v" + "i" * 33, "32"), ("v{}", "struct")]:
            with self.assertRaisesRegex(treadle.InvalidArgument, word) as caught:
                treadle.closure(bad, print)
            self.assertEqual(caught.exception.code, -17)
        with self.assertRaises(ValueError):
            treadle.closure("v\0i", print)
        for wrong in (3, None, ctypes.c_int, b"v"):
            with self.assertRaises(TypeError):
                treadle.closure(wrong, print)
        with self.assertRaisesRegex(TypeError, "lock"):
            treadle.closure(ctypes.PYFUNCTYPE(None), print)


if __name__ == "__main__":
    unittest.main()
