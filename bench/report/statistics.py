# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Medians and ratios of a run. Its results are what bench/run writes as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any, Iterable

OWN = "treadle"


@dataclass(frozen=True)
class Figure:
    """One figure's medians, by library."""

    name: str
    unit: str
    medians: dict[str, float]

    @property
    def more_is_better(self) -> bool:
        return self.unit.endswith("/s")

    def best(self, libraries: Iterable[str]) -> str | None:
        """The best of the libraries; None if none of them has a figure."""
        there = [name for name in libraries if self.medians.get(name, 0) > 0]
        choose = max if self.more_is_better else min
        return choose(there, key=lambda name: self.medians[name]) if there else None

    def ratio(self, other: str | None) -> float | None:
        """Treadle's median over the other's; None without one of them, or where one is not above 0."""
        own, theirs = self.medians.get(OWN, 0), self.medians.get(other or "", 0)
        return own / theirs if own > 0 and theirs > 0 else None

    def advantage(self, other: str | None) -> float | None:
        """How many times better than the other Treadle is."""
        ratio = self.ratio(other)
        if ratio is None:
            return None
        return ratio if self.more_is_better else 1 / ratio


def figures_of(results: dict[str, Any]) -> dict[str, Figure]:
    return {
        name: Figure(name, results["units"][name], {library: median(values) for library, values in by.items()})
        for name, by in results["figures"].items()
    }


def with_role(results: dict[str, Any], role: str) -> list[str]:
    """The libraries of a role, in their order."""
    return [library for library, its in results["roles"].items() if its == role]


def shown(value: float | None) -> str:
    """A number with three digits or so."""
    if value is None:
        return ""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:.{digits}f}"
