#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Writes treadle/cdef.lua, the C interface as LuaJIT's FFI reads it, from the public headers.

    tools/generate_cdef.py            writes treadle/cdef.lua
    tools/generate_cdef.py --check    compares, and says whether it differs

The result is checked in, so that the module needs no headers.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

MODULE = Path(__file__).resolve().parent.parent / "treadle/cdef.lua"
sys.path.insert(0, str(MODULE.parents[3] / "scripts"))

import treadle_headers  # noqa: E402

HEAD = """\
-- SPDX-License-Identifier: Apache-2.0
-- Copyright the Treadle authors
--
-- The C interface: generated from the headers by tools/generate_cdef.py. Do not edit.
local ffi = require("ffi")
local constants = {
%s}
ffi.cdef[[
%s]]
return constants
"""


def value_of(text: str) -> str | None:
    """A macro that is a number or a text, as Lua writes it; None for every other one."""
    match = re.fullmatch(r'#define TREADLE_\w+ +("[^"]*"|0x[0-9A-F]+|\d+|INT64_MAX)u?', text.strip())
    if match is None:
        return None
    return "0x7fffffffffffffffLL" if match[1] == "INT64_MAX" else match[1]


def generate() -> str:
    include = treadle_headers.INCLUDE
    names = re.findall(r'^#include "(.*)"', (include / "treadle.h").read_text(encoding="utf-8"), re.M)
    constants: list[str] = []
    lines: list[str] = []
    for declaration in (found for name in names for found in treadle_headers.declarations_of(include / name)):
        kind, name, text = declaration.kind, declaration.name, declaration.text
        if kind == "macro":
            if value := value_of(text):
                constants.append(f"  {name.removeprefix('TREADLE_')} = {value},\n")
        elif kind == "enum":
            constants += [f"  {key.removeprefix('TREADLE_')} = {value},\n" for key, value in re.findall(r"(TREADLE_\w+) = (-?\w+)", text)]
        elif kind in ("handle", "type", "callback", "struct"):
            lines.append(text + "\n")
        elif kind == "function":
            lines.append(text + ";\n")
    return HEAD % ("".join(constants), "".join(lines))


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        if MODULE.read_text(encoding="utf-8") == generate():
            return 0
        print(f"{MODULE} differs from the headers: run {Path(__file__).name}")
        return 1
    if sys.argv[1:]:
        raise SystemExit(__doc__)
    MODULE.write_text(generate(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
