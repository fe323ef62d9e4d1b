# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Pieces of SVG, and the looks that all parts of the picture share."""

import math
from html import escape

from run_trace import CALLBACKS

CALLBACK_LOOKS = {
    "read": ("#2f6fde", "input read (descriptor)"),
    "commands": ("#e8830c", "commands (source)"),
    "results": ("#2e9e5b", "results (source)"),
    "heartbeat": ("#d6336c", "heartbeat (timer)"),
    "posted": ("#7c4dcc", "posted function"),
    "schedule": ("#0b8fa3", "schedule"),
    "cancel": ("#5b4636", "cancel"),
}
STATE_LOOKS = {
    "run": ("#a3aebd", "the loop itself"),
    "sleep": ("#e4e9f1", "asleep"),
    "thread": ("#ffffff", "outside of the run"),
    "join": ("#c9b8e8", "joining the worker"),
    "gap": ("#f7d9d9", "not recorded"),
}
COLOURS = {name: colour for name, (colour, _) in (CALLBACK_LOOKS | STATE_LOOKS).items()}
INK, FAINT, FRAME = "#1c2530", "#5d6b7c", "#8b97a7"
LEFT, RIGHT, WIDTH = 150, 1370, 1400
STRIP, PASSES, ROW, BETWEEN = 58, 16, 38, 92  # heights: an overview lane, a row of passes, of callbacks, the arrows' room


def time_scale(start, end):
    """The ticks of an axis: (time, label)."""
    unit, name = next(((u, n) for u, n in ((1e3, "µs"), (1e6, "ms"), (1e9, "s")) if end < 2000 * u), (1e9, "s"))
    rough = (end - start) / 9
    step = 10 ** math.floor(math.log10(rough))
    step *= next(m for m in (1, 2, 5, 10) if m * step >= rough)
    digits = max(0, -math.floor(math.log10(step / unit) + 1e-9))
    tick = math.ceil(start / step)
    while tick * step <= end:
        yield tick * step, f"{tick * step / unit:.{digits}f} {name}"
        tick += 1


def duration(ns):
    """A length of time, for people."""
    unit, name = next(((u, n) for u, n in ((1e3, "µs"), (1e6, "ms")) if ns < 1000 * u), (1e9, "s"))
    return f"{ns / unit:.3g} {name}"


def scale_of(start, end):
    """Where a moment is, if the picture shows what is between these two."""
    return lambda time: LEFT + (time - start) * (RIGHT - LEFT) / (end - start)


class Picture:
    """Pieces of SVG, from top to bottom."""

    def __init__(self):
        self.parts, self.y, self.clips = [], 0, 0

    def text(self, x, y, text, size=12, colour=INK, anchor="start", weight="normal"):
        """Words; anchor says which end of them is at x."""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(text)}</text>'
        )

    def box(self, x, y, width, height, colour, extra=""):
        """A rectangle."""
        self.parts.append(f'<rect x="{x:.2f}" y="{y:.1f}" width="{width:.2f}" height="{height:.1f}" fill="{colour}" {extra}/>')

    def line(self, x1, y1, x2, y2, colour=FRAME, width=1.0, extra=""):
        """A straight line."""
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}" {extra}/>'
        )

    def frame(self, y, height):
        """A border as wide as the time axis."""
        self.box(LEFT, y, RIGHT - LEFT, height, "none", f'stroke="{FRAME}"')

    def axis(self, y, top, scale, start, end):
        """The ticks of the time axis, with lines up to the top."""
        for time, label in time_scale(start, end):
            self.line(scale(time), top, scale(time), y + 5, "#c3ccd8", 1, 'stroke-dasharray="2 3"')
            self.text(min(scale(time), RIGHT - 4), y + 18, label, 11, FAINT, "middle")

    def save(self, path, title):
        """Writes the file."""
        markers = "".join(
            f'<marker id="head-{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="9" markerHeight="9" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 1 L10 5 L0 9 Z" fill="{COLOURS[name]}"/></marker>'
            for name in CALLBACKS
        )
        with open(path, "w", encoding="utf-8") as file:
            file.write(
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.y:.0f}" viewBox="0 0 {WIDTH} {self.y:.0f}" '
                f'font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif">\n<title>{escape(title)}</title>\n'
                f'<defs>{markers}</defs>\n<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(self.parts) + "\n</svg>\n"
            )
