# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The lines of a descriptor, read whenever a loop finds it readable."""

from __future__ import annotations

import os
from typing import Callable

from timeline import Timeline
from treadle import Events, FileDescriptor, RunLoop

# The first reads are small, so that even a short text takes many passes; a long one is soon read in large
# pieces.
SMALL_READ, SMALL_READS, LARGE_READ = 256, 64, 65536


class Lines:
    """Watches a descriptor until its end, and gives its lines to a client."""

    def __init__(self, fd: int, *, line: Callable[[bytes], None], read: Callable[[], None], end: Callable[[], None],
                 timeline: Timeline) -> None:
        self.bytes = 0
        self._fd, self._line, self._read, self._end = fd, line, read, end
        self._timeline = timeline
        self._reads = 0
        self._partial: list[bytes] = []  # pieces of a line that has no end yet
        self._descriptor: FileDescriptor | None = None
        self._paused = False

    def start(self, loop: RunLoop) -> None:
        """Watches the descriptor in the loop's default mode."""
        self._descriptor = FileDescriptor(self._fd, self._ready, Events.READ, oneshot=False, label="read")
        loop.add(self._descriptor)

    def pause(self, paused: bool) -> None:
        """Stops watching for a while, or goes on. Nothing if that is so already, or after the end."""
        if self._descriptor and self._paused != paused:
            self._paused = paused
            self._timeline.pauses += paused
            self._descriptor.events = Events.NONE if paused else Events.READ

    def _ready(self, descriptor: FileDescriptor, events: Events) -> None:
        """Whatever was seen (readable, the other end closed, an error): read tells which. One read a call:
        level-triggered, so more input means another call. This program alone reads the descriptor, so a
        readable one does not block; standard input is left in the mode it came in, since others may share it."""
        with self._timeline.span("read") as span:
            data = os.read(self._fd, SMALL_READ if self._reads < SMALL_READS else LARGE_READ)
            if data:
                self._reads += 1
                self.bytes += len(data)
                span.number = self._split(data)
                self._read()
            else:
                self._finish()

    def _split(self, data: bytes) -> int:
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._give(line)
        if rest:
            self._partial.append(rest)
        return len(lines)

    def _give(self, line: bytes) -> None:
        if self._partial:
            line = b"".join((*self._partial, line))
            self._partial.clear()
        self._line(line)

    def _finish(self) -> None:
        if self._partial:
            self._give(b"")
        assert self._descriptor
        self._descriptor.invalidate()
        self._descriptor = None
        self._end()
