#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Draws a run of the demo: draw.py TRACE SVG

The picture has an overview of the whole run, in which every column shows how its time was shared out,
and windows of a few callbacks, in which each pass, sleep, callback and signal can be seen.
"""

import sys
from bisect import bisect_left
from collections import defaultdict
from itertools import chain

from picture import (
    BETWEEN, CALLBACK_LOOKS, COLOURS, FAINT, FRAME, INK, LEFT, PASSES, RIGHT, ROW, STATE_LOOKS, STRIP, Picture, duration, scale_of,
)
from run_trace import CALLBACKS, LANES, Trace
from windows import choose_windows


def draw_heading(picture, trace, title):
    """The title, what was run, and the legend."""
    picture.text(24, 36, title, 20, weight="bold")
    notes = [f"{trace.about.get('input', '')}, {duration(trace.length)}"]
    if trace.missing:
        notes.append(f"{trace.missing:,} events in the middle were counted, but not recorded")
    picture.text(24, 58, "; ".join(notes), 13, FAINT)
    x, y = 24, 84
    used = {name for lane in LANES for _, _, name, _ in trace.segments[lane]}
    for name, (colour, label) in chain(STATE_LOOKS.items(), CALLBACK_LOOKS.items()):
        if name not in used:
            continue
        if name == "run" and trace.about.get("host") == "Python":
            label += ", or waiting for the interpreter"
        width = 28 + 6.5 * len(label)
        if x + width > RIGHT:
            x, y = 24, y + 22
        picture.box(x, y - 10, 13, 13, colour, f'stroke="{FRAME}" stroke-width="0.7"')
        picture.text(x + 19, y + 1, label, 12)
        x += width + 8
    label = "a signal, or a post, and the callback that it leads to"
    if x + 46 + 6.5 * len(label) > RIGHT:
        x, y = 24, y + 22
    picture.line(x, y - 3, x + 34, y - 3, COLOURS["commands"], 1.6, 'marker-end="url(#head-commands)"')
    picture.text(x + 42, y + 1, label, 12)
    picture.y = y + 30


def draw_overview(picture, trace, windows):
    """One strip a lane; in each column the callbacks from below, the loop itself, then the sleep."""
    scale, column = scale_of(0, trace.length), 2.0
    columns = int((RIGHT - LEFT) / column)
    order = [*CALLBACKS, "join", "run", "gap", "sleep", "thread"]
    picture.text(24, picture.y + 12, f"The whole run: {duration(trace.length)}", 14, weight="bold")
    top = picture.y + 44
    for index, lane in enumerate(LANES):
        y = top + index * (STRIP + 14)
        shares = [defaultdict(float) for _ in range(columns)]
        for start, end, name, _ in trace.segments[lane]:
            first, last = start * columns / trace.length, end * columns / trace.length
            for i in range(int(first), min(int(last), columns - 1) + 1):
                shares[i][name] += max(0.0, min(last, i + 1) - max(first, i))
        for i, share in enumerate(shares):
            bottom = y + STRIP
            for name in order:
                height = share.get(name, 0) * STRIP
                if name in CALLBACKS and height > 0:
                    height = max(height, 2.5)  # a callback is seen, however short it was
                height = min(height, bottom - y)
                if height > 0.05 and name != "thread":
                    bottom -= height
                    picture.box(LEFT + i * column, bottom, column, height, COLOURS[name], 'shape-rendering="crispEdges"')
        picture.frame(y, STRIP)
        counts = trace.counts[lane]
        picture.text(24, y + 13, LANES[lane], 13, weight="bold")
        picture.text(24, y + 28, f"{counts.get('passes', 0):,} passes", 11, FAINT)
        picture.text(24, y + 42, f"{counts.get('sleep', 0):,} sleeps", 11, FAINT)
        picture.text(24, y + 56, f"{duration(counts.get('asleep_ns', 0))} asleep", 11, FAINT)
    bottom = top + 2 * STRIP + 14
    label_end = 0
    for letter, (_, start, end) in zip("ABC", windows):
        x, width = scale(start), max(scale(end) - scale(start), 3)
        x = min(x, RIGHT - width)
        picture.box(x, top - 6, width, bottom - top + 12, "none", f'stroke="{INK}" stroke-width="1.6" rx="2"')
        label_end = max(label_end + 14, x + width / 2)
        picture.text(label_end, top - 11, letter, 13, anchor="middle", weight="bold")
    picture.axis(bottom + 6, bottom, scale, 0, trace.length)
    picture.y = bottom + 50


def draw_row(picture, trace, lane, scale, start, end, y):
    """What the lane did: boxes, labelled where there is room."""
    for begin, until, name, number in trace.segments[lane]:
        if until < start or begin > end or name == "thread":
            continue
        x, right = max(scale(begin), LEFT), min(scale(until), RIGHT)
        width = max(right - x, 1.2 if name in CALLBACKS else 0)
        inset = 6 if name in STATE_LOOKS else 0
        picture.box(x, y + inset, width, ROW - 2 * inset, COLOURS[name])
        name_shown = {"sleep": "asleep", "run": "", "gap": "not recorded"}.get(name, name)
        labels = [f"{name} {number:,}"] * (name in CALLBACKS and number > 0) + [name_shown]
        label = next((text for text in labels if text and width > 7.0 * len(text) + 6), None)
        if label:
            picture.text(x + width / 2, y + ROW / 2 + 4, label, 11, FAINT if name in STATE_LOOKS else "#ffffff", "middle")


def draw_passes(picture, trace, lane, scale, start, end, y):
    """Where each pass begins, and its number where there is room."""
    passes = trace.passes[lane]
    if not passes:
        return
    gaps = trace.gaps(lane)
    left = max(bisect_left(passes, (start, 0)) - 1, 0)
    for i in range(left, len(passes)):
        time, number = passes[i]
        until = passes[i + 1][0] if i + 1 < len(passes) else trace.run_ends[lane] or trace.ends[lane]
        until = min([until] + [since for since, _ in gaps if since > time])
        if time > end or until < start:
            continue
        x, right = max(scale(time), LEFT), min(scale(until), RIGHT)
        picture.box(x, y, right - x, PASSES, "#dfe5ee" if number % 2 else "#f3f5f9", f'stroke="{FRAME}" stroke-width="0.5"')
        label = next((t for t in (f"pass {number}", f"{number}") if right - x > 6.4 * len(t) + 4), None)
        if label:
            picture.text((x + right) / 2, y + 12, label, 10, FAINT, "middle")


def draw_window(picture, trace, letter, title, start, end):
    """Both lanes between two moments, and the arrows between them."""
    scale = scale_of(start, end)
    picture.text(24, picture.y + 12, f"{letter}  {title}", 14, weight="bold")
    picture.text(RIGHT, picture.y + 12, duration(end - start), 13, FAINT, "end")
    top = picture.y + 24
    rows = {"main": top + PASSES + 4, "worker": top + PASSES + 4 + ROW + BETWEEN}
    bottom = rows["worker"] + ROW + 4 + PASSES
    picture.axis(bottom, top, scale, start, end)
    draw_passes(picture, trace, "main", scale, start, end, top)
    draw_passes(picture, trace, "worker", scale, start, end, bottom - PASSES)
    for lane, y in rows.items():
        picture.text(24, y + ROW / 2 + 5, LANES[lane], 13, weight="bold")
        alive = max(scale(trace.segments[lane][0][0] if trace.segments[lane] else start), LEFT)
        picture.line(alive, y + ROW / 2, max(alive, min(scale(trace.ends[lane]), RIGHT)), y + ROW / 2, FRAME, 2)
        draw_row(picture, trace, lane, scale, start, end, y)
    picture.clips += 1
    picture.parts.append(f'<clipPath id="c{picture.clips}"><rect x="{LEFT}" y="{top}" width="{RIGHT - LEFT}" height="{bottom - top}"/></clipPath>')
    picture.parts.append(f'<g clip-path="url(#c{picture.clips})">')
    for time, lane, name, served in trace.arrows():
        if served < start or time > end:
            continue
        y1, y2 = (rows["main"] + ROW, rows["worker"]) if lane == "main" else (rows["worker"], rows["main"] + ROW)
        picture.line(scale(time), y1, scale(served), y2, COLOURS[name], 1.6, f'marker-end="url(#head-{name})"')
        picture.parts.append(f'<circle cx="{scale(time):.1f}" cy="{y1:.1f}" r="2.6" fill="{COLOURS[name]}"/>')
    picture.parts.append("</g>")
    picture.y = bottom + 48


def main():
    """Draws the trace that the command line names."""
    if len(sys.argv) != 3:
        sys.exit("usage: draw.py TRACE SVG")
    trace, picture = Trace(sys.argv[1]), Picture()
    title = f"Treadle's demo, run by a {trace.about.get('host', '')} program"
    windows = choose_windows(trace)
    draw_heading(picture, trace, title)
    draw_overview(picture, trace, windows)
    for letter, window in zip("ABC", windows):
        draw_window(picture, trace, letter, *window)
    picture.save(sys.argv[2], title)


if __name__ == "__main__":
    main()
