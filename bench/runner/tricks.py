# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Builds the library without one trick at a time, and measures it beside the library as it is.

A patch of bench/tricks begins with lines of the form `Name: text`:
    Trick: what the core does
    Without: what it does without the patch's lines
    Cost: what the trick costs
    Workloads: those that show it, separated by blanks
    Figures: which of their figures do"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from . import building, libraries, measuring
from .libraries import LIBRARY, ROOT

PATCHES = ROOT / "bench/tricks"
OUTPUT = building.BUILD / "tricks"
WORDS = {"Trick", "Without", "Cost", "Workloads", "Figures"}
SOURCES = ("Package.swift", "Sources", "include", "cmake", "scripts")


@dataclass
class Trick:
    name: str
    patch: Path
    text: dict[str, str]
    # Figure -> the values of all rounds.
    with_it: dict[str, list[float]] = field(default_factory=dict)
    without: dict[str, list[float]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)

    @property
    def figures(self) -> list[str]:
        return self.text["Figures"].split()

    def medians(self, figure: str) -> tuple[float, float]:
        return median(self.with_it[figure]), median(self.without[figure])


def find() -> list[Trick]:
    tricks = []
    for patch in sorted(PATCHES.glob("*.patch")):
        head = patch.read_text(encoding="utf-8").split("\n---", 1)[0].split("\ndiff ", 1)[0]
        text = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
        if lacking := WORDS - set(text):
            raise SystemExit(f"run-tricks: {patch.name} does not say: {', '.join(sorted(lacking))}")
        tricks.append(Trick(patch.stem, patch, text))
    return tricks


def _apply(trick: Trick, folder: Path, *options: str) -> bool:
    # Else git takes the folder for a part of the repository around it.
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    command = ["git", "apply", *options, str(trick.patch)]
    return subprocess.run(command, cwd=folder, env=environment, stderr=subprocess.DEVNULL).returncode == 0


def can_be_taken_out(trick: Trick) -> bool:
    return _apply(trick, ROOT, "--check")


def build(trick: Trick) -> Path:
    """The folder of the library without the trick."""
    tree, output = OUTPUT / "tree", OUTPUT / trick.name
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, tree / name)
    if not _apply(trick, tree):
        raise SystemExit(f"run-tricks: {trick.patch.name} does not fit the sources any more")
    command = [str(tree / "scripts/build-library"), "--output", str(output), "--scratch", str(OUTPUT / "scratch")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise SystemExit(f"run-tricks: cannot build without {trick.name}\n{done.stdout}")
    return output


def _run(program: measuring.Program, workload: str, library: Path, into: dict[str, list[float]], trick: Trick) -> None:
    lines, trouble = measuring.run(program, workload, False, library)
    if trouble:
        raise SystemExit(f"run-tricks: {trick.name}: {workload}: {trouble}")
    for line in lines:
        told = json.loads(line)
        if told["figure"] in trick.figures:
            into.setdefault(told["figure"], []).append(told["value"])
            trick.units[told["figure"]] = told["unit"]


def measure(tricks: list[Trick], rounds: int) -> list[Trick]:
    own, _ = libraries.find({"treadle"})
    programs = [program for program in measuring.programs_of(own) if program.name == "treadle"]
    for trick in tricks:
        print(f"{trick.name}: built without it, then {rounds} rounds", file=sys.stderr, flush=True)
        library = build(trick)
        for number in range(rounds):
            sides = [(LIBRARY, trick.with_it), (library, trick.without)]
            for workload in trick.text["Workloads"].split():
                program = next((program for program in programs if workload in program.workloads), None)
                if program is None:
                    raise SystemExit(f"run-tricks: {trick.name}: there is no workload {workload}")
                for folder, values in sides if number % 2 == 0 else sides[::-1]:
                    _run(program, workload, folder, values, trick)
    return tricks
