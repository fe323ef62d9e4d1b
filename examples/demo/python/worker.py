# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The worker thread: a run loop with the command source, a timer and an observer."""

from __future__ import annotations

import re
import threading
import time
import zlib
from collections import Counter
from typing import Callable

from command_source import CommandClient, CommandSource
from messages import Command, Result
from timeline import Timeline
from treadle import RunLoop, Thread, Timer

# A word is a run of ASCII letters, digits and apostrophes, and of bytes from 0x80 on (so that words of UTF-8
# text stay whole); ASCII capitals count as small.
WORD = re.compile(rb"[a-z0-9'\x80-\xff]+")

# Seconds. A heartbeat every millisecond while there is work; without any each pause is twice as long, up to
# 0.5 s, so that a worker who waits for somebody at a terminal hardly costs anything.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.001, 0.5


class Worker(threading.Thread):
    """Examines lines until the last command, then has nothing left to wait for."""

    def __init__(self, client: CommandClient, send: Callable[[Result, Timeline], None], timeline: Timeline) -> None:
        # A daemon: when the main side fails, the program ends with the reason, and does not wait for the worker.
        super().__init__(name="worker", daemon=True)
        self.timeline = timeline
        self.failure: BaseException | None = None
        self._client, self._send = client, send
        self._words: Counter[bytes] = Counter()
        self._lines = self._lines_at_heartbeat = 0
        self._pause = SHORTEST_PAUSE
        self._heartbeat: Timer
        self._commands: CommandSource

    def run(self) -> None:
        """The thread's life. What goes wrong in it is the main thread's to report."""
        try:
            self._live()
        except BaseException as error:
            self.failure = error
            self._client.loop.request_stop()

    def _live(self) -> None:
        loop = RunLoop.current()
        Thread.current().name = self.timeline.name
        self.timeline.observe(loop)
        self._heartbeat = Timer(self._beat, interval=SHORTEST_PAUSE, label="heartbeat")
        loop.add(self._heartbeat)
        self._commands = CommandSource(self._client, self._handle, self.timeline)
        loop.add(self._commands.source)
        with self.timeline.span("run"):
            loop.run()
        self.timeline.stop_observing()

    def _beat_after(self, pause: float) -> None:
        self._pause = pause
        self._heartbeat.next_fire = time.monotonic() + pause

    def _beat(self, timer: Timer) -> None:
        with self.timeline.span("heartbeat") as span:
            if self._lines == self._lines_at_heartbeat:
                self._beat_after(min(self._pause * 2, LONGEST_PAUSE))
            self._lines_at_heartbeat = span.number = self._lines

    def _handle(self, command: Command) -> None:
        if command.line is None:
            self._finish()
        else:
            if self._pause > SHORTEST_PAUSE:
                self._beat_after(SHORTEST_PAUSE)
            self._examine(command.number, command.line)
        # After every line, not once for all: the other thread can begin while this one goes on. A wake costs
        # no system call unless that thread sleeps.
        self.timeline.wake(self._client.loop)

    def _examine(self, number: int, line: bytes) -> None:
        words = WORD.findall(line.lower())
        self._words.update(words)
        self._lines += 1
        self._send(Result(number, len(line), len(words), zlib.crc32(line)), self.timeline)

    def _finish(self) -> None:
        """The last command: with the source and the timer gone the loop's mode is empty, so its run returns
        RunResult.FINISHED. Observers do not keep a loop running."""
        self._send(Result(words=self._words), self.timeline)
        self._heartbeat.invalidate()
        self._commands.source.invalidate()
