# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The parts of docs/performance.md that a run writes: each stands between two markers, and all else stays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Iterable

from . import targets
from .statistics import OWN, Figure, figures_of, shown, with_role

BEGIN, END = "<!-- begin: {} (written by make bench) -->", "<!-- end: {} -->"


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in [head, ["---"] * len(head), *rows]]
    return "\n".join(re.sub(r" +\|", " |", line) for line in lines)


def _is_shown(name: str) -> bool:
    """The plot shows the rest."""
    return not name.startswith("scale_")


def machine(results: dict[str, Any]) -> str:
    about = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items() if version)
    lines = [
        f"- processor: {about['processor']}, {about['processors']} to run on",
        f"- system: {about['system']}, {about['kernel']}, {about['c_library']}",
        f"- compiled by: {about['compiler']}",
        f"- libraries: {versions}; Python {about['python']}",
        f"- {results['rounds']} rounds (fewer of the workloads that take seconds), medians; load when it began: {about['load']}",
    ]
    lines += [f"- not here: {name} ({reason})" for name, reason in results["missing"].items()]
    return "\n".join(lines)


def _by_pairs(results: dict[str, Any]) -> dict[str, list[targets.Outcome]]:
    by_figure: dict[str, list[targets.Outcome]] = {}
    for outcome in targets.outcomes(results):
        by_figure.setdefault(outcome.target.figure, []).append(outcome)
    return by_figure


def _cell(outcome: targets.Outcome, unit: str) -> str:
    who = outcome.other or outcome.target.against
    if outcome.value is None:
        return f"{who}: not measured"
    if who:
        text = f"{shown(outcome.value)} of {who} ({outcome.target})"
    else:
        text = f"{shown(outcome.value)} {unit} ({outcome.target})"
    return f"**{text}**" if outcome.verdict == "missed" else text


def target_table(results: dict[str, Any]) -> str:
    """A row for each figure with a target."""
    figures, floors = figures_of(results), set(with_role(results, "floor"))
    rows = []
    for name, told in _by_pairs(results).items():
        unit = figures[name].unit
        peers = [outcome for outcome in told if outcome.other not in floors and outcome.target.against]
        rest = [outcome for outcome in told if outcome not in peers]
        verdicts = [outcome.verdict for outcome in told]
        verdict = next((word for word in ("missed", "not measured", "close") if word in verdicts), "met")
        cells = ["<br>".join(_cell(outcome, unit) for outcome in part) for part in (peers, rest)]
        rows.append([name, f"{shown(figures[name].medians.get(OWN))} {unit}", *cells, verdict])
    return table(["workload", "Treadle", "to a peer (target)", "to the floor, or itself (target)", ""], rows)


def missed(shapes: dict[str, dict[str, Any]]) -> str:
    """The targets that are missed by more than what chance may do, of each shape."""
    lines = []
    for shape, results in shapes.items():
        figures = figures_of(results)
        told = [outcome for outcome in targets.outcomes(results) if outcome.verdict == "missed"]
        cells = [f"{outcome.target.figure}: {_cell(outcome, figures[outcome.target.figure].unit)}" for outcome in told]
        lines.append(f"- {shape}: " + ("; ".join(cells).replace("**", "") or "none"))
    return "\n".join(lines)


def _value_cell(figure: Figure, library: str, results: dict[str, Any], best: str | None) -> str:
    if library in figure.medians:
        text = shown(figure.medians[library])
        return f"**{text}**" if library in (best, OWN) else text
    if library in results["none"].get(figure.name, {}):
        return "none"
    workload = results["workloads"].get(figure.name)
    is_failed = any(f["library"] == library and f["workload"] == workload for f in results["failures"])
    return "failed" if is_failed else ""


def _ratio_cell(figure: Figure, other: str | None) -> str:
    ratio = figure.ratio(other)
    return "" if ratio is None else f"{shown(ratio)} ({other})"


def all_table(results: dict[str, Any]) -> str:
    """Every median, and Treadle's ratios to the best peer and the best floor. Bold: the best peer and Treadle."""
    figures = {name: figure for name, figure in figures_of(results).items() if _is_shown(name)}
    peers, floors = with_role(results, "peer"), with_role(results, "floor")
    columns = [name for name in results["roles"] if any(name in figure.medians for figure in figures.values())]
    columns.sort(key=lambda name: ("own", "peer", "floor").index(results["roles"][name]))
    rows = []
    for name, figure in figures.items():
        best, floor = figure.best(peers), figure.best(floors)
        values = [_value_cell(figure, column, results, best) for column in columns]
        rows.append([name, figure.unit, _ratio_cell(figure, best), _ratio_cell(figure, floor), *values])
    return table(["workload", "unit", "to the best peer", "to the floor", *columns], rows)


def notes(*shapes: dict[str, Any]) -> str:
    """Why figures are lacking; what is so in both shapes is told once."""
    lines = []
    for results in shapes:
        for name, by in results["none"].items():
            if _is_shown(name):
                lines += [f"- {name}, {library}: none, since {reason}" for library, reason in by.items()]
        for failure in results["failures"]:
            lines.append(f"- {failure['workload']}, {failure['library']}: failed: {failure['trouble'].splitlines()[-1]}")
    return "\n".join(dict.fromkeys(lines)) or "Nothing failed."


def write(path: Path, parts: dict[str, str]) -> None:
    """Puts the parts between their markers, which must be there."""
    text = path.read_text(encoding="utf-8")
    for name, content in parts.items():
        begin, end = BEGIN.format(name), END.format(name)
        if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
            raise SystemExit(f"bench: {path.name} needs the lines\n{begin}\n{end}\nonce each")
        before, rest = text.split(begin)
        text = f"{before}{begin}\n\n{content}\n\n{end}{rest.split(end)[1]}"
    path.write_text(text, encoding="utf-8")
