#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Writes treadle/_capi.py, the C interface as ctypes sees it, from the public headers.

    tools/generate_capi.py            writes treadle/_capi.py
    tools/generate_capi.py --print    writes to the standard output

The result is checked in, so that the package needs no headers; a test generates it again and compares.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "treadle"
ROOT = PACKAGE.parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import treadle_headers  # noqa: E402

# Functions that neither block nor call back, whatever their arguments: they may run with the
# interpreter's lock held (ctypes.PyDLL), which is quicker. One that can do either must not be here:
# its callback, or whoever ends its wait, may need that lock (ABI-1). A thing that is added, removed,
# invalidated or released calls schedule, cancel or release functions, and counts as calling back. Of
# the functions that make something of a struct, those are here that the package calls with its host in
# it, and thus without a callback.
QUICK = """
treadle_after_fork_child treadle_version treadle_version_string treadle_time_now treadle_time_recent
treadle_time_from_seconds treadle_time_from_absolute treadle_time_to_absolute
treadle_retain treadle_is_valid treadle_get_order treadle_get_pthread treadle_last_error treadle_status_name treadle_status_message
treadle_loop_current treadle_loop_main treadle_loop_copy_of_thread
treadle_loop_stop treadle_loop_request_stop treadle_loop_wake treadle_loop_is_waiting
treadle_loop_is_current treadle_loop_get_thread_id treadle_loop_get_current_mode
treadle_loop_get_modes treadle_loop_is_common_mode treadle_loop_get_next_fire
treadle_source_signal treadle_source_signal_and_wake treadle_source_is_signalled
treadle_timer_get_next_fire treadle_timer_set_time treadle_timer_get_interval
 treadle_timer_set_tolerance treadle_timer_get_tolerance
treadle_observer_get_activities treadle_observer_repeats
treadle_descriptor_get_events treadle_descriptor_get_fd treadle_descriptor_set_events
treadle_source_create treadle_timer_create treadle_observer_create
treadle_descriptor_create treadle_host_get_dropped
treadle_host_get_retired_count treadle_host_take_retired treadle_host_post
treadle_host_end_wait
treadle_thread_current treadle_thread_main treadle_thread_is_main
treadle_is_multithreaded treadle_thread_get_id treadle_thread_copy_loop
treadle_thread_get_state treadle_thread_is_detached
treadle_thread_cancel treadle_thread_is_cancelled treadle_thread_request_stop treadle_thread_detach
treadle_thread_declare_ready treadle_thread_set_stack_size treadle_thread_get_stack_size
treadle_thread_set_name treadle_thread_get_name treadle_thread_set_priority treadle_thread_get_priority
treadle_thread_set_policy treadle_thread_get_policy
 treadle_thread_create treadle_notification_add
treadle_host_pool_add treadle_pool_push treadle_lock_unlock
 treadle_condition_signal treadle_condition_broadcast
 treadle_invocation_set_argument
treadle_invocation_get_state treadle_invocation_get_result treadle_closure_get_code
treadle_closure_get_info treadle_closure_pool_get_info treadle_signature_parse treadle_signature_get_argument_count
treadle_signature_get_layout
""".split()

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
"""The C interface: generated from the headers by tools/generate_capi.py. Do not edit."""

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


def enumerators(text: str) -> list[tuple[str, str]]:
    return re.findall(r"(TREADLE_\w+) = (-?\w+)", text)


def macro(text: str) -> tuple[str, str] | None:
    """A macro that is a number or a text; None for every other one."""
    match = re.fullmatch(r'#define TREADLE_(\w+) +("[^"]*"|0x[0-9A-F]+|\d+|INT64_MAX)u?', text.strip())
    return (match[1], NUMBERS.get(match[2], match[2])) if match else None


def declarations() -> list[treadle_headers.Declaration]:
    """Every declaration, in the order in which treadle.h includes them: what is used comes first."""
    include = treadle_headers.INCLUDE
    names = re.findall(r'^#include "(.*)"', (include / "treadle.h").read_text(encoding="utf-8"), re.M)
    return [found for name in names for found in treadle_headers.declarations_of(include / name)]


def generate() -> str:
    """The text of _capi.py."""
    types = Types()
    constants: list[str] = []
    definitions: list[str] = []
    prototypes: list[str] = []
    functions: list[str] = []
    for declaration in declarations():
        kind, name, text = declaration.kind, declaration.name, declaration.text
        if kind == "macro":
            if number := macro(text):
                constants.append(f"{number[0]} = {number[1]}")
        elif kind == "enum":
            constants += [f"{key.removeprefix('TREADLE_')} = {value}" for key, value in enumerators(text)]
        elif kind == "handle":
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
            prototypes.append(f'    "{name}": Prototype({types.of(match[1])}, [{arguments}], {name in QUICK}),')
            functions.append(f"    {name}: Callable[..., Any]")
    unknown = set(QUICK) - {line.split(":")[0].strip() for line in functions}
    if unknown:
        raise SystemExit(f"marked as quick, but not in the headers: {', '.join(sorted(unknown))}")
    lines = [HEAD, *constants, "", *definitions, TAIL, "PROTOTYPES = {", *prototypes, "}", ""]
    lines += ["", "class Functions:", '    """The functions of the library, once it is loaded."""', "", *functions]
    return re.sub(r"\n{4,}", "\n\n\n", "\n".join(lines)) + "\n"


def main() -> None:
    if sys.argv[1:] == ["--print"]:
        sys.stdout.write(generate())
    elif sys.argv[1:]:
        raise SystemExit(__doc__)
    else:
        (PACKAGE / "_capi.py").write_text(generate(), encoding="utf-8")


if __name__ == "__main__":
    main()
