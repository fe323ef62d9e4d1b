# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What the demo says at its end: the summary, the time, and the trace for draw.py."""

from __future__ import annotations

import sys
from typing import TextIO

from summary import Summary
from timeline import SPANS, Timeline


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


def _trace_counts(timeline: Timeline, other: Timeline, out: TextIO) -> None:
    counts = {
        "passes": timeline.passes,
        "asleep_ns": timeline.spent["sleep"],
        "coalesced": coalesced(timeline, other),
        **{span: timeline.calls[span] for span in SPANS},
    }
    for name, count in counts.items():
        out.write(f"count\t{timeline.name}\t{name}\t{count}\n")


def _trace_events(timeline: Timeline, out: TextIO) -> None:
    def write(events: object) -> None:
        for moment, what, subject, number in events:  # type: ignore[attr-defined]
            out.write(f"event\t{timeline.name}\t{moment - timeline.origin}\t{what}\t{subject}\t{number}\n")

    write(timeline.head)
    missing = timeline.events - len(timeline.head) - len(timeline.tail)
    if missing:
        out.write(f"gap\t{timeline.name}\t{missing}\n")
    write(timeline.tail)


def report_trace(main: Timeline, worker: Timeline, name: str, path: str) -> None:
    """Writes the trace that draw.py makes a picture of; draw.py describes its format."""
    # A tab or a newline in a file's name would end the field.
    name = "standard input" if name == "-" else "".join(c if c >= " " else "?" for c in name)
    try:
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as out:
            out.write(f"treadle-demo-trace\t1\nhost\tPython\ninput\t{name}\n")
            _trace_counts(main, worker, out)
            _trace_counts(worker, main, out)
            _trace_events(main, out)
            _trace_events(worker, out)
    except OSError as error:
        sys.exit(f"demo: cannot write {path}: {error.strerror}")
