# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Reads the trace of a run of the demo.

A trace is text, its fields are separated by tabs, times are nanoseconds since the program began:

    treadle-demo-trace  1
    host    NAME                                the language of the program
    input   NAME
    count   LANE  NAME  NUMBER                  exact, also where events are missing
    event   LANE  TIME  begin|end  SPAN  NUMBER
    event   LANE  TIME  pass  -  NUMBER         a pass of the loop begins
    event   LANE  TIME  signal  SPAN  0         the other lane's next SPAN is owed to it
    gap     LANE  NUMBER                        so many events are missing here
"""

import sys
from bisect import bisect_left
from collections import defaultdict

LANES = {"main": "Main thread", "worker": "Worker thread"}
CALLBACKS = ("read", "commands", "results", "heartbeat", "posted", "schedule", "cancel")


class Trace:
    """A run: what each lane did when, and who signalled whom."""

    def __init__(self, path):
        """Reads a file; one that is no trace ends the program."""
        self.about, self.counts = {}, defaultdict(dict)
        self.segments = {lane: [] for lane in LANES}  # (from, to, innermost span, number), gapless and in order
        self.spans = {lane: [] for lane in LANES}  # (from, to, span) of the callbacks and the joining
        self.passes = {lane: [] for lane in LANES}  # (time, number)
        self.run_ends, self.ends = {lane: 0 for lane in LANES}, {lane: 0 for lane in LANES}
        self.signals, self.missing = [], 0
        self._open = {lane: [] for lane in LANES}
        self._cut = dict.fromkeys(LANES, False)
        with open(path, encoding="utf-8", errors="replace") as file:
            if file.readline().split() != ["treadle-demo-trace", "1"]:
                sys.exit(f"draw.py: {path} is no trace of the demo")
            for line in file:
                kind, *fields = line.rstrip("\n").split("\t")
                getattr(self, "_" + kind, self._other)(kind, *fields)
        self.length = max(self.ends.values()) or 1

    def _other(self, kind, value):
        self.about[kind] = value

    def _count(self, _, lane, name, number):
        self.counts[lane][name] = int(number)

    def _gap(self, _, lane, number):
        self.missing += int(number)
        self._cut[lane] = True

    def _event(self, _, lane, time, what, subject, number):
        time, number, open_spans = int(time), int(number), self._open[lane]
        innermost = open_spans[-1][1] if open_spans else None
        if self._cut[lane]:  # what was open when the gap began has ended in it, but for the run
            self._cut[lane], innermost = False, "gap"
            del open_spans[2:]
        if what in ("begin", "end") or innermost == "gap":
            if innermost and time > self.ends[lane]:
                self.segments[lane].append((self.ends[lane], time, innermost, number))
            self.ends[lane] = time
        if what == "begin":
            open_spans.append((time, subject))
        elif what == "end" and open_spans and open_spans[-1][1] == subject:
            begin, _ = open_spans.pop()
            if subject in CALLBACKS or subject == "join":
                self.spans[lane].append((begin, time, subject))
            elif subject == "run":
                self.run_ends[lane] = time
        elif what == "pass":
            self.passes[lane].append((time, number))
        elif what == "signal":
            self.signals.append((time, lane, subject))

    def callbacks(self):
        """The callbacks of both lanes, in order."""
        return sorted(s for lane in LANES for s in self.spans[lane] if s[2] in CALLBACKS)

    def gaps(self, lane):
        """Between which moments events of a lane are missing."""
        return [(start, end) for start, end, name, _ in self.segments[lane] if name == "gap"]

    def arrows(self):
        """(time, lane, span, time of the callback on the other lane) for each signal."""
        gaps = {lane: self.gaps(lane) for lane in LANES}
        begins = {(lane, name): sorted(s[0] for s in self.spans[lane] if s[2] == name) for lane in LANES for name in CALLBACKS}
        for time, lane, name in self.signals:
            other = "worker" if lane == "main" else "main"
            served = begins[other, name]
            index = bisect_left(served, time)
            if index == len(served) or any(start < served[index] and end > time for start, end in gaps[other]):
                continue  # never performed, or not known when
            yield time, lane, name, served[index]
