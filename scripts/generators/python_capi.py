# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""bindings/python/treadle/_capi.py, the C interface as ctypes sees it. The file is checked in, so that the package needs no headers."""

from __future__ import annotations

import re
from pathlib import Path

import treadle_headers

CAPI = treadle_headers.ROOT / "bindings/python/treadle/_capi.py"

SCALARS = {
    "bool": "c_bool",
    "char": "c_char",
    "double": "c_double",
    "int32_t": "c_int32",
    "int64_t": "c_int64",
    "uint32_t": "c_uint32",
    "uint64_t": "c_uint64",
    "size_t": "c_size_t",
    "uintptr_t": "c_size_t",
}
NUMBERS = {"INT64_MAX": str(2**63 - 1)}

HEAD = '''\
# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The C interface: generated from the headers by make generate. Do not edit."""

from __future__ import annotations

from ctypes import CFUNCTYPE, POINTER, Structure
from ctypes import c_bool, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Callable, NamedTuple
'''

TAIL = '''

class Prototype(NamedTuple):
    """How a function is called."""

    #: The result's ctypes type; None for void.
    result: Any
    #: The arguments' ctypes types.
    arguments: list[Any]
    #: It neither blocks nor calls back, so that it may be called with the interpreter's lock held.
    quick: bool

'''


class Types:
    """What the typedefs seen so far stand for, as ctypes expressions."""

    def __init__(self) -> None:
        self.names = dict(SCALARS)
        self.structs: set[str] = set()

    def of(self, text: str) -> str:
        """The ctypes expression of a C type, without a declared name."""
        words = re.sub(r"\bconst\b", " ", text).replace("*", " * ").split()
        base, depth = words[0], len(words) - 1
        if base in self.names:
            expression = self.names[base]
        elif base in self.structs or base == "void":
            expression = base
        else:
            raise SystemExit(f"no ctypes type for '{text}'")
        if depth and base == "void":
            expression, depth = "c_void_p", depth - 1
        elif depth and base == "char":
            expression, depth = "c_char_p", depth - 1
        for _ in range(depth):
            expression = f"POINTER({expression})"
        return "None" if expression == "void" else expression

    def function(self, result: str, parameters: str) -> str:
        return f"CFUNCTYPE({', '.join([self.of(result), *self.parameters(parameters)])})"

    def parameters(self, text: str) -> list[str]:
        # Not at the commas of a function pointer's own parameters.
        parts = re.split(r",(?![^()]*\))", text)
        return [] if text.strip() == "void" else [self.parameter(part) for part in parts]

    def parameter(self, text: str) -> str:
        """A parameter's type; its name is the last word, and is always given."""
        if pointer := re.fullmatch(r"\s*(.+?)\(\*(\*?)\w+\)\((.*)\)\s*", text):
            function = self.function(pointer[1], pointer[3])
            return f"POINTER({function})" if pointer[2] else function
        match = re.fullmatch(r"\s*(.*[\s*])\w+\s*", text)
        if not match:
            raise SystemExit(f"cannot read the parameter '{text}'")
        return self.of(match[1])


def members(types: Types, text: str) -> list[tuple[str, str]]:
    """The members of a struct, with their types."""
    body = text[text.index("{") + 1 : text.rindex("}")]
    found = []
    for member in filter(None, (part.strip() for part in body.split(";"))):
        if match := re.fullmatch(r"(.+?)\(\*(\w+)\)\((.*)\)", member):
            found.append((match[2], types.function(match[1], match[3])))
        elif match := re.fullmatch(r"(\w+) (\w+)\[(\d+)\]", member):
            found.append((match[2], f"{types.of(match[1])} * {match[3]}"))
        else:
            first, *others = member.split(",")
            match = re.fullmatch(r"(.*[\s*])(\w+)", first)
            if not match:
                raise SystemExit(f"cannot read the member '{member}'")
            found += [(name.strip(), types.of(match[1])) for name in [match[2], *others]]
    return found


def texts() -> dict[Path, str]:
    """The file with its text."""
    types = Types()
    constants = [f"{name} = {NUMBERS.get(value, value)}" for name, value in treadle_headers.constants()]
    definitions: list[str] = []
    prototypes: list[str] = []
    functions: list[str] = []
    for declaration in treadle_headers.in_order():
        kind, name, text = declaration.kind, declaration.name, declaration.text
        if kind == "handle":
            types.names[name] = "c_void_p"
        elif kind == "type":
            match = re.fullmatch(r"typedef (\w+) \w+;", text)
            types.names[name] = types.of(match[1]) if match else "c_void_p"
        elif kind == "callback":
            match = re.fullmatch(r"typedef (.*)\(\*\w+\)\((.*)\);", text)
            assert match, text
            types.names[name] = name
            definitions.append(f"{name} = {types.function(match[1], match[2])}")
        elif kind == "struct":
            types.structs.add(name)
            fields = "".join(f'        ("{key}", {value}),\n' for key, value in members(types, text))
            definitions.append(f"\n\nclass {name}(Structure):\n    _fields_ = [\n{fields}    ]\n\n")
        elif kind == "function":
            match = re.fullmatch(r"(.*?)(treadle_\w+)\((.*)\)", text)
            assert match, text
            arguments = ", ".join(types.parameters(match[3]))
            prototypes.append(f'    "{name}": Prototype({types.of(match[1])}, [{arguments}], {declaration.is_quick}),')
            functions.append(f"    {name}: Callable[..., Any]")
    lines = [HEAD, *constants, "", *definitions, TAIL, "PROTOTYPES = {", *prototypes, "}", ""]
    lines += ["", "class Functions:", '    """The functions of the library, once it is loaded."""', "", *functions]
    return {CAPI: re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)) + "\n"}
