# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The sources that the explorer compiles: those of the library, with each fault of Tests/explorer/faults.txt as a switch.
Lines stay where they are, so that places are those of the sources."""

import dataclasses
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAULTS = ROOT / "Tests/explorer/faults.txt"
LINKED = ("include", "Tests", "cmake")
# Parts of the library that have no name outside of it, for scenes of their own.
ENTRIES = {f"TreadleBase/{path.name}": path for path in sorted(FAULTS.parent.glob("*.swift"))}


@dataclasses.dataclass
class Edit:
    """What lines that follow each other have, once in the file, and what they have with the fault."""

    file: str
    number: int
    old: list = dataclasses.field(default_factory=list)
    new: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Fault:
    scene: str
    about: str
    edits: list = dataclasses.field(default_factory=list)


def read_faults() -> list:
    faults, file, last = [], "", ""
    for number, line in enumerate(FAULTS.read_text(encoding="utf-8").split("\n"), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if line == text:
            scene, _, about = text.partition(": ")
            faults.append(Fault(scene, about))
        elif text[:2] in ("- ", "+ "):
            if text[0] == "-" != last:
                faults[-1].edits.append(Edit(file, number))
            (faults[-1].edits[-1].old if text[0] == "-" else faults[-1].edits[-1].new).append(text[2:])
        else:
            file = text
        last = text[0]
    return faults


def with_switches(name: str, text: str, faults: list) -> str:
    lines = text.split("\n")
    for switch, fault in enumerate(faults, 1):
        for edit in fault.edits:
            if edit.file != name:
                continue
            places = [n for n in range(len(lines)) if all(part in line for part, line in zip(edit.old, lines[n:]))]
            if len(places) != 1 or len(edit.old) != len(edit.new):
                raise SystemExit(f"{FAULTS.relative_to(ROOT)}:{edit.number}: {name} has {len(places)} such places, not one")
            for n, (old, new) in enumerate(zip(edit.old, edit.new), places[0]):
                lines[n] = lines[n].replace(old, re.sub(r"\bFAULT\b", f"treadle_system_explored_fault({switch})", new))
    if name.endswith(".swift") and not any("import CTreadleSystem" in line for line in lines):
        lines = [*lines[:2], f"import CTreadleSystem; {lines[2]}", *lines[3:]]
    return "\n".join(lines)


def put(path: Path, text: bytes) -> None:
    """A file that is the same keeps its date: what needs it is not compiled again."""
    if path.exists() and path.read_bytes() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)


def write_package(target: Path) -> None:
    """The package with the switches."""
    faults = read_faults()
    wanted = {edit.file for fault in faults for edit in fault.edits}
    missing = sorted(name for name in wanted if not (ROOT / "Sources" / name).is_file())
    if missing:
        raise SystemExit(f"{FAULTS.relative_to(ROOT)}: there is no {', '.join(missing)}")
    write_changed(target, wanted, lambda name, text: with_switches(name, text, faults))


def write_changed(target: Path, wanted: "set[str]", change) -> None:
    """The package with some of its sources as change(name, text) returns them."""
    target.mkdir(parents=True, exist_ok=True)
    for name in LINKED:
        if not (target / name).is_symlink():
            (target / name).symlink_to(ROOT / name)
    put(target / "Package.swift", (ROOT / "Package.swift").read_bytes())
    sources = ROOT / "Sources"
    names = {str(path.relative_to(sources)) for path in sources.rglob("*") if path.is_file()}
    for name, path in ENTRIES.items():
        put(target / "Sources" / name, path.read_bytes())
    for name in sorted(names):
        text = (sources / name).read_bytes()
        put(target / "Sources" / name, change(name, text.decode()).encode() if name in wanted else text)
    for path in list((target / "Sources").rglob("*")):
        name = str(path.relative_to(target / "Sources"))
        if path.is_file() and name not in names and name not in ENTRIES:
            path.unlink()
        elif path.is_dir() and not (sources / name).is_dir():
            shutil.rmtree(path, ignore_errors=True)


def write_table(path: Path, faults: list) -> None:
    """The faults, for the explorer."""
    def quoted(text: str) -> str:
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = [f"    {{{quoted(fault.scene)}, {quoted(fault.about)}}}," for fault in faults]
    text = "\n".join(['#include "search.h"', "const struct known_fault known_faults[] = {", *lines, "    {0, 0},", "};", ""])
    put(path, text.encode())
