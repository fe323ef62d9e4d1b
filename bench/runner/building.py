# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Compiles the programs: the workloads once, and a program with them for each library. What is up to date stays."""

from __future__ import annotations

import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import libraries
from .libraries import ROOT, Library

BENCH = ROOT / "bench"
BUILD = ROOT / "build/bench"
OPTIONS = ["-std=gnu11", "-O2", "-g", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-pthread"]


def newest_header() -> float:
    headers = [*BENCH.rglob("*.h"), *(ROOT / "include").rglob("*.h")]
    return max(path.stat().st_mtime for path in headers)


def make(output: Path, command: list[str], inputs: list[Path], least: float, version: str = "") -> None:
    """Runs the command unless it has made the output before, from what the inputs are now, by the same compiler, for the same
    version of a library."""
    stamp = output.with_name(output.name + ".command")
    compiler = Path(shutil.which(command[0]) or command[0])
    text = "\n".join([*command, version, str(compiler.stat().st_mtime_ns) if compiler.exists() else ""])
    if output.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == text:
        if output.stat().st_mtime > max([least, *(path.stat().st_mtime for path in inputs)]):
            return
    output.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"bench: cannot build {output.name}\n{' '.join(command)}\n{done.stdout}")
    if done.stdout:
        print(done.stdout, end="")
    stamp.write_text(text, encoding="utf-8")


def program(library: Library) -> Path:
    return BUILD / "programs" / library.name


def build(found: list[Library]) -> None:
    compile_ = [libraries.compiler(), *OPTIONS]
    least = newest_header()
    sources = sorted([*(BENCH / "harness").glob("*.c"), *(BENCH / "workloads").glob("*.c")])
    objects = [BUILD / "objects" / path.parent.name / f"{path.stem}.o" for path in sources]

    def make_object(pair: tuple[Path, Path]) -> None:
        source, output = pair
        make(output, [*compile_, "-c", str(source), "-o", str(output)], [source], least)

    def make_program(library: Library) -> None:
        source = BENCH / "peers" / f"{library.name}.c"
        inputs = [source, *objects]
        command = [*compile_, *map(str, inputs), "-o", str(program(library)), *library.options]
        make(program(library), command, inputs, least, library.version)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(make_object, zip(sources, objects)))
        list(pool.map(make_program, found))


def build_calls(found: list[Library]) -> Path | None:
    """The program that calls functions of known types; None without libffi or without Treadle."""
    own = next((library for library in found if library.name == "treadle"), None)
    try:
        ffi = libraries.libffi("libffi")
    except libraries.Missing:
        return None
    if own is None:
        return None
    sources, output = sorted((BENCH / "calls").glob("*.c")), BUILD / "programs/calls"
    command = [libraries.compiler(), *OPTIONS, *map(str, sources), "-o", str(output), *own.options, *ffi.options]
    command += [f"-Wl,-rpath,{libraries.LIBRARY}", "-ldl"]
    make(output, command, sources, newest_header())
    build_plugin()
    return output


def build_plugin() -> None:
    """What `calls` loads, from beside itself. A plugin is refused that others may write."""
    source, output = BENCH / "calls/plugin/measured.c", BUILD / "programs/measured_plugin.so"
    options = ["-DTREADLE_PLUGIN", "-fPIC", "-shared", f"-I{ROOT / 'include'}"]
    make(output, [libraries.compiler(), *OPTIONS, *options, str(source), "-o", str(output)], [source], newest_header())
    output.chmod(0o755)
