# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The pictures: bars of how many times better than the best peer Treadle is, and cost over number."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.sax.saxutils import escape

from .statistics import OWN, Figure, figures_of, shown, with_role

INK, GREY, GRID, BETTER, WORSE = "#1a1a1a", "#6b6b6b", "#dddddd", "#2a7f62", "#b5483a"
COLOURS = ("#3b6fb6", "#c77c11", "#7a4fa3", "#4c9aa8", "#a0522d", "#c2528b", "#7d8c1f", "#777777", "#111111")
FONT = 'font-family="Helvetica, Arial, sans-serif"'


def document(width: float, height: float, parts: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" {FONT} font-size="12">'
    return "\n".join([head, f'<rect width="{width:g}" height="{height:g}" fill="white"/>', *parts, "</svg>", ""])


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = INK, size: int = 12) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}" font-size="{size}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, colour: str = GRID, width: float = 1) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width:g}"/>'


class Logarithmic:
    """A logarithmic axis from low to high, between two places of the picture."""

    def __init__(self, low: float, high: float, begin: float, end: float) -> None:
        self.low, self.high = math.floor(math.log10(low)), max(math.ceil(math.log10(high)), math.floor(math.log10(low)) + 1)
        self.begin, self.end = begin, end

    def at(self, value: float) -> float:
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.begin + part * (self.end - self.begin)

    def powers(self) -> list[float]:
        return [10.0**power for power in range(self.low, self.high + 1)]


def _is_bar(figure: Figure) -> bool:
    return not figure.name.startswith("scale_") and not re.search(r"_p99$|^tick_drift$|^library_size$", figure.name)


def ratios(results: dict[str, Any]) -> str:
    """A bar for each workload; a stroke where the floor stands."""
    peers, floors = with_role(results, "peer"), with_role(results, "floor")
    bars = []
    for figure in filter(_is_bar, figures_of(results).values()):
        best, floor = figure.best(peers), figure.best(floors)
        advantage = figure.advantage(best)
        if best is None or advantage is None:
            continue
        # The floor's own advantage over the best peer, from Treadle's over both.
        over_floor = figure.advantage(floor)
        bars.append((figure.name, best, advantage, advantage / over_floor if over_floor else None))
    if not bars:
        return document(600, 40, [text(20, 25, "Nothing to compare.")])
    left, right, top, step = 150.0, 760.0, 70.0, 20.0
    values = [value for _, _, advantage, floor in bars for value in (advantage, floor) if value]
    axis = Logarithmic(min([*values, 0.5]), max([*values, 2]), left, right)
    bottom = top + step * len(bars)
    parts = [
        text(20, 26, "How many times better than the best peer", size=16),
        text(20, 46, "Bars: Treadle, over the peer named at the right. Black strokes: the floor. To the right of 1: better.", colour=GREY),
    ]
    for power in axis.powers():
        parts += [line(axis.at(power), top - 4, axis.at(power), bottom), text(axis.at(power), bottom + 16, f"{power:g}", "middle", GREY)]
    for row, (name, best, advantage, floor) in enumerate(bars):
        y = top + step * row
        begin, end = sorted((axis.at(1), axis.at(advantage)))
        colour = BETTER if advantage >= 1 else WORSE
        parts.append(f'<rect x="{begin:.1f}" y="{y + 3:.1f}" width="{max(end - begin, 1):.1f}" height="13" fill="{colour}"/>')
        if floor:
            parts.append(line(axis.at(floor), y + 1, axis.at(floor), y + 18, INK, 2.5))
        parts += [text(left - 8, y + 14, name, "end"), text(right + 12, y + 14, f"{shown(advantage)} × {best}", colour=GREY)]
    parts.append(line(axis.at(1), top - 4, axis.at(1), bottom, INK, 1.5))
    return document(940, bottom + 30, parts)


def scale(results: dict[str, Any]) -> str:
    """Three plots beside each other: cost for each event over the number that is registered."""
    kinds = ("source", "timer", "descriptor")
    curves: dict[str, dict[str, dict[int, float]]] = {kind: {} for kind in kinds}
    for name, figure in figures_of(results).items():
        match = re.fullmatch(r"scale_(source|timer|descriptor)_(\d+)", name)
        for library, value in figure.medians.items() if match else ():
            curves[match[1]].setdefault(library, {})[int(match[2])] = value
    order = [name for name in results["roles"] if any(name in curves[kind] for kind in kinds) and name != "rawspin"]
    colours = dict(zip([name for name in order if name != OWN], COLOURS)) | {OWN: BETTER}
    points = [value for kind in kinds for name in order for value in curves[kind].get(name, {}).values()]
    if not points:
        return document(600, 40, [text(20, 25, "Nothing was measured.")])
    width, top, bottom = 300.0, 80.0, 360.0
    y_axis = Logarithmic(min(points), max(points), bottom, top)
    parts = [text(20, 26, "Cost for each event over the number that is registered", size=16)]
    for column, kind in enumerate(kinds):
        left = 70 + column * (width + 40)
        x_axis = Logarithmic(100, 100000, left, left + width)
        parts.append(text(left + width / 2, top - 14, f"{kind}s", "middle"))
        for power in x_axis.powers():
            parts += [line(x_axis.at(power), top, x_axis.at(power), bottom), text(x_axis.at(power), bottom + 18, f"{power:,.0f}", "middle", GREY, 11)]
        for power in y_axis.powers():
            parts.append(line(left, y_axis.at(power), left + width, y_axis.at(power)))
            if column == 0:
                words = f"{power:g} ns" if power < 1000 else f"{power / 1000:g} us" if power < 1e6 else f"{power / 1e6:g} ms"
                parts.append(text(left - 8, y_axis.at(power) + 4, words, "end", GREY, 11))
        for name in order:
            curve = sorted(curves[kind].get(name, {}).items())
            places = " ".join(f"{x_axis.at(number):.1f},{y_axis.at(value):.1f}" for number, value in curve)
            stroke = f'stroke="{colours[name]}" stroke-width="{3 if name == OWN else 1.5}" fill="none"'
            dashes = ' stroke-dasharray="5 3"' if results["roles"][name] == "floor" else ""
            parts.append(f'<polyline points="{places}" {stroke}{dashes}/>')
    for place, name in enumerate(order):
        x, y = 70 + place % 5 * 200, bottom + 46 + place // 5 * 20
        parts += [line(x, y - 4, x + 24, y - 4, colours[name], 3), text(x + 30, y, name)]
    return document(70 + 3 * (width + 40), bottom + 90, parts)
