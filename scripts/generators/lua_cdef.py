# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""bindings/lua/treadle/cdef.lua, the C interface as LuaJIT's FFI reads it. The file is checked in, so that the module needs no headers."""

from __future__ import annotations

from pathlib import Path

import treadle_headers

MODULE = treadle_headers.ROOT / "bindings/lua/treadle/cdef.lua"
HEAD = """\
-- SPDX-License-Identifier: Apache-2.0
-- Copyright the Treadle authors
--
-- The C interface: generated from the headers by make generate. Do not edit.
local ffi = require("ffi")
local constants = {
%s}
ffi.cdef[[
%s]]
return constants
"""


def texts() -> dict[Path, str]:
    """The file with its text."""
    values = {"INT64_MAX": "0x7fffffffffffffffLL"}
    constants = [f"  {name} = {values.get(value, value)},\n" for name, value in treadle_headers.constants()]
    lines = []
    for declaration in treadle_headers.in_order():
        if declaration.kind in ("handle", "type", "callback", "struct"):
            lines.append(declaration.text + "\n")
        elif declaration.kind == "function":
            lines.append(declaration.text + ";\n")
    return {MODULE: HEAD % ("".join(constants), "".join(lines))}
