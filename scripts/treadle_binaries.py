# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What the checks of both shared libraries ask of their files."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import treadle_glibc

# Between two functions lies padding only; the C compiler's own few, at the beginning of the code, have no tables.
LONGEST_GAP = 256


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def sections(library: str) -> dict[str, tuple[int, int]]:
    """The address and the size of each section."""
    found = re.findall(
        r"^ *\[ *\d+\] (\.\S+) +\S+ +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) ",
        output_of("readelf", "--wide", "--sections", library),
        re.M,
    )
    return {name: (int(address, 16), int(size, 16)) for name, address, size in found}


#: The oldest glibc for which the library can be linked (scripts/build-library --glibc).
OLDEST_GLIBC = "2.28"


def newer_needs(shared: str) -> list[str]:
    """The functions of a shared library's needs that the oldest C library does not have in any version."""
    needs = re.findall(r"\sU (\w+)@+(GLIBC_[\d.]+)", output_of("nm", "--dynamic", "--undefined-only", shared))
    libc = treadle_glibc.file_of_compiler("libc.so.6")
    there = {*treadle_glibc.names_of(libc, OLDEST_GLIBC), *treadle_glibc.OWN}
    oldest = treadle_glibc.order(OLDEST_GLIBC)
    return [f"{name} of {version}" for name, version in needs if name not in there and treadle_glibc.order(version) > oldest]


def newer_needs_of_static(archive: str, *libraries: str) -> list[str]:
    """The same of a static library: of a library that has all of it."""
    with tempfile.TemporaryDirectory() as folder:
        shared = f"{folder}/all.so"
        compiler = os.environ.get("CC", "cc")
        output_of(compiler, "-shared", "-o", shared, "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", *libraries)
        return newer_needs(shared)


def code_without_unwinding(library: str) -> list[str]:
    """Where the code is not in the unwind tables, so that no stack unwinds through it."""
    frames = output_of("readelf", "--wide", "--debug-dump=frames", library)
    begin, size = sections(library)[".text"]
    position, gaps = begin, []
    known = sorted((int(start, 16), int(end, 16)) for start, end in re.findall(r" FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)", frames))
    for start, end in [*known, (begin + size, begin + size)]:
        start = min(start, begin + size)
        if start - position > LONGEST_GAP:
            gaps.append(f"{position:#x} to {start:#x}")
        position = max(position, end)
    return gaps


def content(library: Path, section: str) -> bytes:
    command = ["objcopy", "-O", "binary", f"--only-section={section}", str(library), "/dev/stdout"]
    return subprocess.run(command, capture_output=True, check=True).stdout


def folders_of_machine() -> list[str]:
    """Where the user's files and the compiler are: nothing that is shipped may name these."""
    swift = Path(shutil.which(os.environ.get("SWIFT", "swift")) or "/usr/bin/swift").resolve()
    return [str(folder) for folder in (Path.home(), swift.parent.parent) if folder not in (Path("/"), Path("/usr"))]


def debug_sections(library: str) -> list[str]:
    return [name for name in sections(library) if name.startswith((".debug", ".symtab", ".gdb"))]
