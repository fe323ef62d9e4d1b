# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What a thread costs, with bare POSIX calls and with Treadle, by the program threads.c."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from pathlib import Path
from statistics import median

from . import building, libraries

WAYS = ("pthread", "treadle")
LIMIT = 15  # percent over a bare thread

# What each figure of the program is called, and whether the limit holds for it. The kernel counts its stacks for
# all processes together, so that other ones disturb the figure.
ROWS = {
    "kernel_stack": ("kernel structures: stack in the kernel", False),
    "page_tables": ("kernel structures: page tables", True),
    "object": ("thread object", False),
    "resident": ("memory of an idle thread, with its object", True),
    "stack": ("stack space, of which 512 KB are the thread's", True),
    "start_ns": ("creation time, to the first instruction", True),
    "whole_ns": ("creation, start and join", True),
    "cpu_ns": ("creation, start and join: processor time", True),
}
Figures = dict[str, dict[str, list[float]]]


def build() -> Path:
    program, source = building.BUILD / "threads", building.BENCH / "threads.c"
    options = libraries.treadle("treadle").options
    command = [libraries.compiler(), *building.OPTIONS, str(source), "-o", str(program), *options]
    command.append(f"-Wl,-rpath,{libraries.LIBRARY}")
    building.make(program, command, [source], building.newest_header())
    return program


def measure(program: Path, rounds: int, threads: int) -> Figures:
    """Each figure's values of all rounds, for each way."""
    figures: Figures = defaultdict(lambda: defaultdict(list))

    def run(*arguments: object) -> None:
        command = [str(program), *map(str, arguments)]
        for line in subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines():
            figure, way, number = line.split()
            figures[figure][way].append(float(number))

    for turn in range(rounds):
        for way in WAYS[:: 1 if turn % 2 else -1]:
            run("memory", way, threads)
            run("stack", way)
        run("object", 10 * threads)
        run("time", 2 * threads)
    return figures


def over(values: dict[str, list[float]]) -> float:
    """What Treadle costs more, in percent."""
    return 100 * (median(ours / bare for bare, ours in zip(values["pthread"], values["treadle"])) - 1)


def shown(figure: str, numbers: list[float]) -> str:
    if not numbers:
        return "-"
    number = median(numbers)
    if figure.endswith("_ns"):
        return f"{number / 1000:.1f} us"
    return f"{number / 1024:.0f} KB" if number >= 102_400 else f"{number:,.0f} B"


def tell(figures: Figures) -> str:
    """A table in Markdown, and what is over the limit."""
    lines, too_dear = ["| | pthread | Treadle | over |", "| --- | --- | --- | --- |"], []
    for figure, (name, is_limited) in ROWS.items():
        values = figures[figure]
        more = f"{over(values):+.0f} %" if values["pthread"] and min(values["pthread"]) > 0 else ""
        lines.append(f"| {name} | {shown(figure, values['pthread'])} | {shown(figure, values['treadle'])} | {more} |")
        if is_limited and over(values) >= LIMIT:
            too_dear.append(name)
    lines.append("")
    lines += [f"{LIMIT} % or more over a bare thread: {name}." for name in too_dear]
    if not too_dear:
        lines.append(f"All that is under a limit is less than {LIMIT} % over a bare thread.")
    return "\n".join(lines)


def measure_and_tell(rounds: int, threads: int) -> str:
    return tell(measure(build(), rounds, threads))
