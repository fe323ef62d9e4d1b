# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Reads a trace of Treadle's, which is one of Perfetto's: threads, their slices and instants, and what led to what."""

from dataclasses import dataclass, field
from typing import Iterator

# The categories of callbacks.
CALLS = ("source", "descriptor", "timer", "observer", "post", "request", "port")


def fields(message: bytes) -> "Iterator[tuple[int, int | bytes]]":
    """The fields of a message of Protocol Buffers."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        tag = varint()
        wire = tag & 7
        if wire == 0:
            yield tag >> 3, varint()
        elif wire == 1:
            yield tag >> 3, int.from_bytes(message[at : at + 8], "little")
            at += 8
        elif wire == 2:
            length = varint()
            yield tag >> 3, message[at : at + length]
            at += length
        else:
            raise ValueError(f"wire type {wire}")


def number(message: bytes, wanted: int) -> int:
    return next((value for found, value in fields(message) if found == wanted and isinstance(value, int)), 0)


def text(message: bytes, wanted: int) -> str:
    return next((value.decode(errors="replace") for found, value in fields(message) if found == wanted and isinstance(value, bytes)), "")


def part(message: bytes, wanted: int) -> bytes:
    return next((value for found, value in fields(message) if found == wanted and isinstance(value, bytes)), b"")


# What is a number for people; a callback's handle, or its function's address, is none.
NUMBERS = ("number", "value", "events")


def annotated(event: bytes) -> int:
    """The number of a pass, the value of a mark, how many events were not kept; 0 if there is none."""
    annotation = part(event, 4)
    return number(annotation, 4) if text(annotation, 10) in NUMBERS else 0


def is_quiet(event: bytes) -> bool:
    """Whether it is a signal that found its loop asleep, and did not wake it."""
    return any(text(value, 10) == "woke nothing" for found, value in fields(event) if found == 4 and isinstance(value, bytes))


@dataclass
class Slice:
    start: int
    end: int
    name: str
    category: str
    depth: int
    flow: int
    number: int  # of a pass, or the value of a mark
    is_quiet: bool = False

    @property
    def is_call(self) -> bool:
        return self.category in CALLS


@dataclass
class Lane:
    """What one thread did."""

    name: str
    thread: int  # the kernel's id
    slices: "list[Slice]" = field(default_factory=list)
    instants: "list[Slice]" = field(default_factory=list)
    open: "list[Slice]" = field(default_factory=list)
    lost: int = 0

    @property
    def all(self) -> "list[Slice]":
        return self.slices + self.instants

    def named(self, name: str) -> "list[Slice]":
        return [one for one in self.slices if one.category == "loop" and one.name == name]


class Trace:
    """A trace as it lies in its file."""

    def __init__(self, data: bytes) -> None:
        self.lanes: dict[int, Lane] = {}
        self.process = ""
        for found, packet in fields(data):
            if found == 1 and isinstance(packet, bytes):
                self._read(packet)
        times = [moment for lane in self.lanes.values() for one in lane.all for moment in (one.start, one.end)]
        self.start, self.end = (min(times), max(times)) if times else (0, 1)
        self.end = max(self.end, self.start + 1)
        self.lanes = dict(sorted(self.lanes.items(), key=lambda item: item[1].thread))

    def _read(self, packet: bytes) -> None:
        track, event = part(packet, 60), part(packet, 11)
        if track:
            process, thread = part(track, 3), part(track, 4)
            if process:
                self.process = text(process, 6) or str(number(process, 1))
            if thread:
                self.lanes[number(track, 1)] = Lane(f"{text(thread, 5)} {number(thread, 2)}".strip(), number(thread, 2))
        if not event or number(event, 11) not in self.lanes:
            return
        lane, time, kind = self.lanes[number(event, 11)], number(packet, 8), number(event, 9)
        if kind == 2:
            if lane.open:
                ended = lane.open.pop()
                ended.end = time
            return
        one = Slice(
            time, time, text(event, 23), text(event, 22), len(lane.open), number(event, 47) or number(event, 48), annotated(event),
            is_quiet(event),
        )
        if one.number >> 63:
            one.number -= 1 << 64
        called = next((begun for begun in reversed(lane.open) if begun.is_call), None)
        if one.category == "treadle":
            lane.lost += one.number
        elif one.category == "mark" and called and called.name == one.name:
            called.number = one.number
        elif kind == 1:
            lane.slices.append(one)
            lane.open.append(one)
        else:
            lane.instants.append(one)

    def arrows(self) -> "Iterator[tuple[Lane, Slice, Lane, Slice]]":
        """What led to what: the instants and the callbacks with the same number."""
        given = {one.flow: (lane, one) for lane in self.lanes.values() for one in lane.instants if one.flow}
        for lane in self.lanes.values():
            for one in lane.slices:
                if one.flow in given:
                    yield (*given[one.flow], lane, one)

    def calls(self) -> "list[Slice]":
        """The callbacks of all threads, in order; observers tell of the loop itself."""
        found = [one for lane in self.lanes.values() for one in lane.slices if one.is_call and one.category != "observer"]
        return sorted(found, key=lambda one: one.start)
