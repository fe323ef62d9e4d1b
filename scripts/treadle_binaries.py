# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What the checks of both shared libraries ask of their files."""

import re
import subprocess

# Between two functions lies padding only; the C compiler's own few, at the beginning of the code, have no tables.
LONGEST_GAP = 256


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def sections(library: str) -> dict[str, tuple[int, int]]:
    """The address and the size of each section."""
    found = re.findall(
        r"^ *\[ *\d+\] (\.\S+) +[A-Z_]+ +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) ",
        output_of("readelf", "--wide", "--sections", library),
        re.M,
    )
    return {name: (int(address, 16), int(size, 16)) for name, address, size in found}


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
