# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Chooses what parts of a run are worth a closer look."""

from bisect import bisect_left

from picture import LEFT, RIGHT
from run_trace import LANES, Trace


def choose_windows(trace):
    """The (title, from, to) that are worth a closer look: the beginning, the end, and a lively part between."""

    def reach(needed, wanted):
        """A distance that includes all that is needed, and what is wanted if that can still be seen well."""
        end = max(needed, default=0)
        for distance in sorted(wanted):
            if not end or distance <= 4 * end:
                end = max(end, distance)
        return (end or total) * 1.04

    callbacks, total = trace.callbacks(), trace.length
    first, last = {}, {}
    for span in callbacks:
        first.setdefault(span[2], span)
        last[span[2]] = span
    # The setting up before the worker begins may take long, and has nothing to show.
    base = trace.segments["worker"][0][0] if trace.segments["worker"] else 0
    head = reach(
        [first[n][1] - base for n in ("schedule", "posted") if n in first],
        [first[n][1] - base for n in ("read", "results") if n in first] + [first[n][0] - base for n in ("commands",) if n in first],
    )
    start, head = max(base - head * 0.2, 0), base + head
    joined = max((s[1] for s in trace.spans["main"] if s[2] == "join"), default=total)
    tail = reach(
        [joined - last[n][0] for n in ("posted", "cancel") if n in last],
        [joined - last[n][0] for n in ("commands", "results", "read") if n in last],
    )
    end, tail = min(joined + tail * 0.04, total), joined - tail
    if tail <= head:
        return [("All of it", start, end)]
    windows = [
        ("The beginning: the command source joins the worker's loop (schedule), and the main side, told so, begins to read", start, head),
        ("The end: the last command invalidates the source (cancel), both loops have nothing left to wait for, the thread is joined", tail, end),
    ]
    middle = [s for s in callbacks if s[0] > head and s[1] < tail]
    gaps = [gap for lane in LANES for gap in trace.gaps(lane)]
    arrows = sorted(trace.arrows())
    best, best_score = None, 0
    for size in {min(len(middle), most) for most in (6, 10, 18)}:
        for i in range(0, len(middle) - size + 1, max(1, len(middle) // 2000)) if size else ():
            part = middle[i : i + size]
            start, end = part[0][0], max(s[1] for s in part)
            if any(start < until and end > since for since, until in gaps):
                continue
            pixel = (end - start) / (RIGHT - LEFT) or 1
            inside = [a for a in arrows[bisect_left(arrows, (start,)) : bisect_left(arrows, (end,))] if a[3] <= end]
            # Wide boxes can be read; callbacks and arrows of every kind have more to tell.
            score = sum(min((s[1] - s[0]) / pixel, 60) for s in part)
            score += 120 * len({s[2] for s in part}) + 200 * len({a[2] for a in inside}) + 20 * min(len(inside), 15)
            if score > best_score:
                margin = (end - start) * 0.02
                best, best_score = (start - margin, end + margin), score
    if best:
        windows.insert(1, ("In between: lines go to the worker as commands, and come back as results (the number in a box: how many)", *best))
    return windows
