# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Runs the programs: one process for each workload of each library, the libraries in turn, round after round."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import building, libraries, swift_programs
from .libraries import LIBRARY, ROOT

# Long ones, whose figures hardly differ from round to round.
MOST_ROUNDS = {"timer_cpu_1m": 2, "memory": 3, "scale_source": 3, "scale_timer": 3, "scale_descriptor": 3}
LONGEST = float(os.environ.get("TREADLE_BENCH_SECONDS", "90"))  # for one workload; then it is taken for hung


def environment(names_it: bool) -> dict[str, str]:
    """So that Python finds the package, and the package the library that is measured. A program that was linked with a
    library which is not installed has it named to the loader: to search a folder, as a build's own programs do, takes
    some twenty calls of the kernel, which no user of an installed library has, and no other library here."""
    path = str(LIBRARY / "libtreadle.so.1")
    return {
        **os.environ,
        **({"LD_PRELOAD": path} if names_it else {}),
        "PYTHONPATH": str(ROOT / "bindings/python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TREADLE_LIBRARY": path,
    }


@dataclass
class Program:
    """Something that answers to `list` and `run WORKLOAD [quick] [host]` (harness/main.c)."""

    command: list[str]
    name: str = ""
    role: str = "peer"
    is_installed: bool = True
    workloads: list[str] = field(default_factory=list)

    def ask(self) -> None:
        command = [*self.command, "list"]
        own = environment(not self.is_installed)
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=LONGEST, env=own)
        first, *self.workloads = done.stdout.split("\n")[:-1]
        self.name, self.role = first.split()


@dataclass
class Results:
    """figures: figure -> library -> values of the rounds. none: the same, with reasons. failures: what ended badly."""

    units: dict[str, str] = field(default_factory=dict)
    figures: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    none: dict[str, dict[str, str]] = field(default_factory=dict)
    failures: list[dict[str, str]] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    workloads: dict[str, str] = field(default_factory=dict)  # of each figure
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)  # workload -> library -> what all rounds took

    def take(self, library: str, workload: str, line: str) -> None:
        told = json.loads(line)
        figure = told["figure"]
        self.workloads[figure] = workload
        if "none" in told:
            self.none.setdefault(figure, {})[library] = told["none"]
            return
        self.units[figure] = told["unit"]
        self.figures.setdefault(figure, {}).setdefault(library, []).append(told["value"])


def programs_of(found: list[libraries.Library], is_quick: bool, say) -> list[Program]:
    """The built programs, asked for what they can do. What has to be fetched first is for figures alone."""
    building.build(found)
    programs = [Program([str(building.program(each))], is_installed=each.is_installed) for each in found]
    calls = building.build_calls(found)
    if calls:
        programs += [Program([str(calls), way], is_installed=False) for way in ("treadle", "libffi", "direct", "plain", "byhand")]
    if any(library.name == "treadle" for library in found):
        folder = Path(ROOT, "bench/python")
        programs += [Program([sys.executable, str(path)]) for path in sorted(folder.glob("with_*.py"))]
        own = swift_programs.own()
        programs += [Program([str(own), way]) for way in ("treadle", "c", "libdispatch")]
        nio = "takes long to build" if is_quick else swift_programs.nio()
        if isinstance(nio, Path):
            programs.append(Program([str(nio)]))
        else:
            say(f"nio is left out: {nio}")
    for program in programs:
        program.ask()
    return programs


def run(program: Program, workload: str, is_quick: bool, shape: str) -> tuple[list[str], str]:
    """The lines of a run, and what went wrong, if anything did."""
    words = [word for word, is_wanted in {"quick": is_quick, "host": shape == "host"}.items() if is_wanted]
    command = [*program.command, "run", workload, *words]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=LONGEST,
            env=environment(not program.is_installed),
        )
    except subprocess.TimeoutExpired:
        return [], f"no end after {LONGEST:.0f} s"
    if done.returncode != 0:
        return [], done.stderr.strip()[-500:] or f"status {done.returncode}"
    return done.stdout.splitlines(), ""


def order(programs: list[Program], only: set[str]) -> list[str]:
    """Each workload once; those that are asked for, by their names or the beginning of those."""
    names = dict.fromkeys(workload for program in programs for workload in program.workloads)
    return [name for name in names if not only or any(name == part or name.startswith(part) for part in only)]


def measure(programs: list[Program], only: set[str], rounds: int, is_quick: bool, shapes: list[str], say) -> dict[str, Results]:
    """What each shape gave; they take turns, too."""
    results = {shape: Results(roles={program.name: program.role for program in programs}) for shape in shapes}
    jobs = [(name, [program for program in programs if name in program.workloads]) for name in order(programs, only)]
    for number in range(rounds):
        for workload, able in jobs:
            if number >= MOST_ROUNDS.get(workload, rounds):
                continue
            # Who begins changes with the rounds, so that a busy neighbour hits all alike.
            turn = number % len(able)
            for shape, program in itertools.product(shapes, able[turn:] + able[:turn]):
                begun = time.monotonic()
                lines, trouble = run(program, workload, is_quick, shape)
                taken = results[shape].seconds.setdefault(workload, {})
                taken[program.name] = round(taken.get(program.name, 0) + time.monotonic() - begun, 3)
                if trouble:
                    results[shape].failures.append({"library": program.name, "workload": workload, "trouble": trouble})
                    say(f"{program.name}: {workload}, {shape}: no figure: {trouble}")
                for line in lines:
                    results[shape].take(program.name, workload, line)
        say(f"round {number + 1} of {rounds} is done")
    for one in results.values():
        drop_spoilt(one)
    return results


def drop_spoilt(results: Results) -> None:
    """One wrong count or one broken promise spoils a figure, whatever the other rounds said."""
    for failure in results.failures:
        for figure, workload in results.workloads.items():
            if workload == failure["workload"]:
                results.figures.get(figure, {}).pop(failure["library"], None)
    for figure, by in results.none.items():
        for library in by:
            results.figures.get(figure, {}).pop(library, None)
