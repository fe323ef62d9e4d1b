# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What Treadle wants to reach, as ratios of medians of one run: Treadle's to another's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .statistics import OWN, Figure, figures_of, with_role

NOISE = 0.05  # a miss by less is not told from chance


@dataclass(frozen=True)
class Target:
    """A bound for a figure. against: a library, "best" of the peers, "others": the best of the peers that no other
    target of the figure names, or "" for the figure itself."""

    figure: str
    against: str
    sense: str
    bound: float

    def __str__(self) -> str:
        return f"{self.sense} {self.bound:g}"


def _targets(sense: str, figures: str, *bounds: tuple[str, float]) -> list[Target]:
    return [Target(figure, against, sense, bound) for figure in figures.split() for against, bound in bounds]


TARGETS = [
    *_targets("≥", "post1", ("best", 5)),
    *_targets("≥", "post4", ("best", 2.5)),
    *_targets("≥", "signal", ("best", 1)),
    *_targets("≥", "pingpong pingsig", ("best", 1.2)),
    *_targets("≥", "pingpong_2 pingsig_2", ("libdispatch", 3), ("others", 70)),
    *_targets("≥", "sync", ("best", 1.1)),
    *_targets("≥", "sync_2", ("best", 40)),
    *_targets("≤", "timer_insert timer_cancel timer_reset", ("libev", 1)),
    *_targets("≤", "timer_fire timer_cpu_1m", ("best", 0.67)),
    *_targets("≤", "tick_drift", ("", 20)),
    *_targets("≤", "fd_event fd_churn", ("best", 1)),
    *_targets("≤", "pass_8h1s_fd pass_0h64s_fd", ("best", 0.83)),
    *_targets("≤", "thread_start thread_join", ("best", 1.05)),
    *_targets("≤", "thread_loop", ("best", 1)),
    # 64, 48 and 48 bytes beside the handle, which takes 8 more: a word with its number and how often it is held.
    *_targets("≤", "mem_timer", ("best", 1), ("", 72)),
    *_targets("≤", "mem_source mem_descriptor", ("best", 1), ("", 56)),
    *_targets("≤", "mem_loop", ("best", 1)),
    *_targets("≤", "hello_time hello_resident", ("best", 1.25)),
    *_targets("≤", "library_size", ("", 600)),
    *_targets("≤", "call_canonical", ("libffi", 1.0)),
    *_targets("≤", "call_five", ("libffi", 0.5)),
    *_targets("≤", "source_routine", ("plain", 1.2)),
    *_targets("≤", "event_pull", ("plain", 1.3)),
    *_targets("≤", "event_guest", ("plain", 1.5)),
    *_targets("≥", "hop_sync invoke_wait hop_sync_2 invoke_wait_2", ("byhand", 1)),
    # A member's handle takes 8 bytes, in room of which at least half is used: 16 beside the 65 of the timer.
    *_targets("≤", "scope_memory", ("plain", 1.24)),
    *_targets("≤", "scope_timer", ("plain", 2)),
    *_targets("≤", "message_64", ("plain", 3)),
    *_targets("≥", "msg_64 msg_4k", ("byhand", 0.9)),
    *_targets("≤", "plugin_call", ("direct", 2)),
    *_targets("≤", "isolated_call", ("plain", 1.2)),
    *_targets("≤", "isolated_call_2", ("", 1)),
    *_targets("≤", "isolated_load", ("", 5000)),
    *_targets("≤", "isolated_crash", ("", 100000)),
    *_targets("≤", "isolated_memory_host", ("", 200)),
    *_targets("≤", "swift_post swift_signal swift_timer swift_timer_made swift_wait", ("c", 1.15)),
    *_targets("≤", "await_perform await_actor", ("libdispatch", 1.15), ("nio", 1)),
    *_targets("≥", "py_post", ("asyncio", 2)),
    *_targets("≥", "py_wait", ("asyncio", 3)),
    *_targets("≤", "py_callback", ("ctypes", 1.2)),
    *_targets("≤", "aio_call_soon aio_echo aio_serve", ("asyncio", 1.1)),
    *_targets("≥", "aio_post", ("asyncio", 3)),
]


@dataclass(frozen=True)
class Outcome:
    """A target with what the run says. value: the ratio, or the figure itself; None: not measured."""

    target: Target
    other: str | None
    value: float | None

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not measured"
        target = self.target
        excess = target.bound / self.value if target.sense == "≥" and self.value > 0 else self.value / target.bound
        return "met" if excess <= 1 else "close" if excess <= 1 + NOISE else "missed"


def _other(target: Target, figure: Figure, peers: list[str]) -> str | None:
    if target.against == "best":
        return figure.best(peers)
    if target.against == "others":
        named = {other.against for other in TARGETS if other.figure == target.figure}
        return figure.best(peer for peer in peers if peer not in named)
    return target.against


def outcomes(results: dict[str, Any]) -> list[Outcome]:
    """Every target whose figure was measured at all, for any library."""
    figures, peers = figures_of(results), with_role(results, "peer")
    told = []
    for target in TARGETS:
        figure = figures.get(target.figure)
        if figure is None:
            continue
        if target.against:
            other = _other(target, figure, peers)
            told.append(Outcome(target, other, figure.ratio(other)))
        else:
            told.append(Outcome(target, None, figure.medians.get(OWN)))
    return told
