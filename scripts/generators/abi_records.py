# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The records of the interface: Tests/abi/symbols.tsv (every function and constant, since when, and the constant's value),
Tests/abi/layout.c (the size of every struct, the offset of every member, with pointers of 64 bits), and in two modules of the library
FirstSizes.swift (the size that each struct with struct_size had in its first release)."""

import re
import subprocess
import tempfile
from pathlib import Path

import treadle_headers
from treadle_headers import Declaration

FOLDER = treadle_headers.ROOT / "Tests/abi"
LICENSE = "/* SPDX-License-Identifier: Apache-2.0\n * Copyright the Treadle authors\n *\n"


def compiled(source: str) -> str:
    """Compiles C, runs what it made, and gives back what that printed."""
    with tempfile.TemporaryDirectory() as directory:
        program = f"{directory}/program"
        command = ["gcc", "-std=c11", "-x", "c", "-", f"-I{treadle_headers.INCLUDE}", "-o", program]
        subprocess.run(command, input=source, text=True, check=True)
        return subprocess.run([program], text=True, check=True, capture_output=True).stdout


def unique(declarations: list[Declaration]) -> list[Declaration]:
    return list({(found.kind, found.name): found for found in declarations}.values())


def symbols(declarations: list[Declaration]) -> str:
    """The table of names; the compiler knows the constants' values."""
    constants = [(name, found.since[0]) for found in declarations if found.kind == "enum" for name in found.members]
    prints = "".join(f'printf("%lld\\n", (long long){name});' for name, _ in constants)
    values = compiled(f"#include <stdio.h>\n#include <treadle.h>\nint main(void) {{ {prints} }}").split()
    rows = [("kind", "name", "since", "value")]
    rows += sorted(("function", found.name, found.since[0], "") for found in declarations if found.kind == "function")
    rows += [("constant", name, since, value) for (name, since), value in zip(constants, values)]
    return "".join("\t".join(row).rstrip() + "\n" for row in rows)


def positions(declarations: list[Declaration], source: str = "#include <treadle.h>\n") -> list[str]:
    """The size of every struct and the offset of every member, as the compiler lays them out."""
    prints = []
    for struct in (found for found in declarations if found.kind == "struct"):
        prints.append(f'printf("SIZE({struct.name}, %zu);\\n", sizeof({struct.name}));')
        prints += [
            f'printf("MEMBER({struct.name}, {member}, %zu);\\n", offsetof({struct.name}, {member}));'
            for member in struct.members
        ]
    return compiled(f"#include <stdio.h>\n{source}\nint main(void) {{ {''.join(prints)} }}").splitlines()


def layout(declarations: list[Declaration]) -> str:
    return (
        LICENSE + " * Where every public member lies, on machines with 64-bit longs and pointers.\n"
        " * Written by make generate; it is compiled, never run. */\n"
        "#include <treadle.h>\n\n"
        "#define SIZE(type, size) _Static_assert(sizeof(type) == size, #type)\n"
        "#define MEMBER(type, member, offset) _Static_assert(offsetof(type, member) == offset, #type \".\" #member)\n\n"
        + "".join(line + "\n" for line in positions(declarations))
    )


# The structs that only plugins have are read by another module than the rest.
FIRST_SIZES = {
    "TreadleABI": treadle_headers.ROOT / "Sources/TreadleABI/FirstSizes.swift",
    "TreadlePlugins": treadle_headers.ROOT / "Sources/TreadlePlugins/FirstSizes.swift",
}
OF_PLUGINS = {
    "treadle_extension_descriptor", "treadle_plugin_description", "treadle_plugin_limits", "treadle_plugin_restart", "treadle_plugin_rights", "treadle_plugin_setting",
}  # fmt: skip
FIRST_SIZE = re.compile(r"extension (\w+): .*firstSize: Int \{ (\d+) \}")


def first_sizes(declarations: list[Declaration], is_first_release: bool) -> dict[str, str]:
    """The Swift files that say how large each growing struct was at first. Sizes of the past stay; new structs are added."""
    known: dict[str, str] = {}
    if not is_first_release:
        known = dict(FIRST_SIZE.findall("".join(path.read_text(encoding="utf-8") for path in FIRST_SIZES.values() if path.exists())))
    now = dict(re.findall(r"SIZE\((\w+), (\d+)\)", "\n".join(positions(declarations))))
    growing = sorted(found.name for found in declarations if found.kind == "struct" and found.members[0] == "struct_size")
    texts = {}
    for module in FIRST_SIZES:
        chosen = [name for name in growing if (name in OF_PLUGINS) == (module == "TreadlePlugins")]
        texts[module] = (
            "// SPDX-License-Identifier: Apache-2.0\n// Copyright the Treadle authors\n\npackage import CTreadle\nimport TreadleBase\n\n"
            "// How large each struct was in the first release that has it. Written by make generate.\n\n"
            + "".join(f"extension {name}: GrowingStruct {{ package static var firstSize: Int {{ {known.get(name, now[name])} }} }}\n" for name in chosen)
        )
    return texts


def texts(is_first_release: bool = False) -> dict[Path, str]:
    """Each file with its text; the first release of a major version forgets the sizes of the past."""
    declarations = unique(treadle_headers.declarations())
    sizes = first_sizes(declarations, is_first_release)
    return {
        FOLDER / "symbols.tsv": symbols(declarations),
        FOLDER / "layout.c": layout(declarations),
        **{path: sizes[module] for module, path in FIRST_SIZES.items()},
    }
