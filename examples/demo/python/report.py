# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What the demo says at its end: the summary, and the time."""

from __future__ import annotations

from typing import TextIO

from summary import Summary
from timeline import Timeline


def report_summary(summary: Summary, out: TextIO) -> None:
    """Prints what was found in the input: the same text from every host."""
    frequent = ", ".join(f"{word} ({count})" for word, count in summary.frequent) or "none"
    out.write("Summary\n")
    for title, value in (
        ("lines", summary.lines),
        ("bytes", summary.bytes),
        ("words", summary.words),
        ("distinct words", summary.distinct),
        ("longest line", f"line {summary.longest_number}, {summary.longest_length} bytes"),
        ("checksum", f"0x{summary.checksum:08x}"),
        ("frequent words", frequent),
    ):
        out.write(f"  {title:<16}{value}\n")
    out.write("\n")


def coalesced(performer: Timeline, other: Timeline) -> int:
    """Signals that did not lead to a callback of their own: they joined one that was on its way."""
    return sum(
        performer.given[name] + other.given[name] - performer.calls[name]
        for name in ("commands", "results")
        if performer.calls[name]
    )


def report_time(main: Timeline, worker: Timeline, out: TextIO) -> None:
    """Prints how the two loops passed their time."""
    m, w = main, worker
    out.write(f"How the loops passed their time\n  {'':<30}{m.name:>15}{w.name:>15}\n")
    for title, *nanoseconds in (
        ("in the run", m.spent["run"], w.spent["run"]),
        ("  asleep", m.spent["sleep"], w.spent["sleep"]),
        ("  in callbacks", m.in_callbacks, w.in_callbacks),
    ):
        out.write(f"  {title:<30}{nanoseconds[0] / 1e6:>12.3f} ms{nanoseconds[1] / 1e6:>12.3f} ms\n")
    for title, *numbers in (
        ("passes", m.passes, w.passes),
        ("sleeps", m.calls["sleep"], w.calls["sleep"]),
        ("descriptor: input read", m.calls["read"], w.calls["read"]),
        ("descriptor: input paused", m.pauses, w.pauses),
        ("source: commands signalled", m.given["commands"], w.given["commands"]),
        ("source: commands performed", m.calls["commands"], w.calls["commands"]),
        ("source: results signalled", m.given["results"], w.given["results"]),
        ("source: results performed", m.calls["results"], w.calls["results"]),
        ("signals coalesced in these", coalesced(m, w), coalesced(w, m)),
        ("source: schedule", m.calls["schedule"], w.calls["schedule"]),
        ("source: cancel", m.calls["cancel"], w.calls["cancel"]),
        ("timer: heartbeats", m.calls["heartbeat"], w.calls["heartbeat"]),
        ("posted functions", m.calls["posted"], w.calls["posted"]),
        ("observer notifications", m.observed, w.observed),
        ("wakes given to the other", m.wakes, w.wakes),
    ):
        out.write(f"  {title:<30}{numbers[0]:>12}   {numbers[1]:>12}\n")
