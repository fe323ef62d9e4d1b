# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Lets a library be linked here that loads with an older glibc: writes libraries to link with, which have the names of the C library
in the versions that the older one has.

    python3 scripts/treadle_glibc.py VERSION FOLDER    prints the options for the compiler that links, CC

VERSION is the oldest glibc, such as 2.28. A name that is newer is in none of the libraries, so a program that uses it is not linked.
cmake/older_glibc.c has the few that an older glibc has by other means."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

#: What was libraries of its own before glibc 2.34. Without versions: any library that loads these has all of their functions.
SPLIT = ("libpthread.so.0", "libdl.so.2")
#: What cmake/older_glibc.c has.
OWN = ("fstat", "fstatat", "stat")
NOT_EXECUTABLE = '.section .note.GNU-stack, "", %progbits\n'


def order(version: str) -> "tuple[int, ...]":
    return tuple(int(part) for part in version.removeprefix("GLIBC_").split("."))


def names_of(library: str, oldest: str) -> "dict[str, tuple[str, str, int]]":
    """The names of a C library as those that link with the oldest see them: version, type and size of each."""
    text = subprocess.run(["readelf", "--dyn-syms", "-W", library], capture_output=True, text=True, check=True).stdout
    found: "dict[str, tuple[str, str, int]]" = {}
    for size, kind, name, version in re.findall(
        r"^ *\d+: \w+ +(\w+) (\w+) +(?:GLOBAL|WEAK) +DEFAULT .* +(?:\d+|ABS) (\w+)@@?(GLIBC_[\d.]+)$", text, re.M
    ):
        if order(version) <= order(oldest) and (name not in found or order(version) > order(found[name][0])):
            found[name] = (version, kind, int(size, 0))
    return found


def source_of(names: "dict[str, tuple[str, str, int]]") -> str:
    lines = [NOT_EXECUTABLE, ".data"]
    for number, (name, (version, kind, size)) in enumerate(sorted(names.items())):
        own = f"stub_{number}"
        # Whole cache lines, in which an object is as aligned as in the library.
        if kind == "OBJECT":
            lines += [".balign 64", f".globl {own}", f".type {own}, %object", f".size {own}, {size}", f"{own}: .zero {size}"]
        elif kind == "TLS":
            continue
        else:
            lines += [f".globl {own}", f".type {own}, %function", f"{own}: .byte 0"]
        lines += [f".symver {own}, {name}@@{version}"]
    return "\n".join(lines) + "\n"


def script_of(names: "dict[str, tuple[str, str, int]]") -> str:
    versions = sorted({version for version, _, _ in names.values()}, key=order)
    nodes = [f"{version} {{ }}{' ' + before if before else ''};" for before, version in zip(["", *versions], versions)]
    return "\n".join(nodes + ["LOCAL { local: stub_*; };"]) + "\n"


def compiler() -> "list[str]":
    return shlex.split(os.environ.get("CC") or "cc")


def file_of_compiler(name: str) -> str:
    command = [*compiler(), f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def write(oldest: str, folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    names = names_of(file_of_compiler("libc.so.6"), oldest)
    (folder / "stubs.s").write_text(source_of(names), encoding="ascii")
    (folder / "stubs.map").write_text(script_of(names), encoding="ascii")
    (folder / "empty.s").write_text(NOT_EXECUTABLE, encoding="ascii")

    def link(name: str, source: str, *options: str) -> None:
        command = [*compiler(), "-shared", "-nostdlib", f"-Wl,-soname,{name}", *options, "-o", str(folder / name), str(folder / source)]
        subprocess.run(command, check=True)

    link("libc.so.6", "stubs.s", f"-Wl,--version-script={folder / 'stubs.map'}")
    for name in SPLIT:
        link(name, "empty.s")
    # The compiler's own file, a text that names the libraries, with ours in place of the shared one.
    text = Path(file_of_compiler("libc.so")).read_text(encoding="ascii")
    (folder / "libc.so").write_text(re.sub(r"\S*/libc\.so\.6\b", str(folder / "libc.so.6"), text), encoding="ascii")
    libraries = " ".join(str(folder / name) for name in SPLIT)
    return f"-L{folder} -Wl,--no-as-needed {libraries} -Wl,--as-needed"


if __name__ == "__main__":
    if len(sys.argv) != 3 or not re.fullmatch(r"2\.\d+", sys.argv[1]):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    print(write(sys.argv[1], Path(sys.argv[2]).resolve()))
