# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""A custom input source: a command buffer that any thread fills and one loop drains.

The three routines of such a source:
    schedule  the source joined a loop: its client is told how to reach it
    perform   the source was signalled: the buffer is drained, each command is handled
    cancel    the source left the loop: its client is told to forget it
A client gives work in three steps: add a command, signal the source, wake the loop.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import Callable

from messages import Command
from timeline import Timeline
from treadle import Mode, RunLoop, Source

# A perform that goes on for long would keep the loop's timers waiting. It handles so many commands, and signals
# its own source for the rest of them: the next pass follows at once.
COMMANDS_A_PASS = 16


class CommandBuffer:
    """Commands between two threads, in order, under a lock. It wakes nobody: sources do that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._commands: deque[Command] = deque()

    def put(self, command: Command) -> None:
        """Adds one command."""
        with self._lock:
            self._commands.append(command)

    def take(self, most: int) -> tuple[list[Command], bool]:
        """The oldest commands, at most so many of them, and whether there are more. One lock for many is what
        makes coalesced signals worth having."""
        with self._lock:
            commands = [self._commands.popleft() for _ in range(min(most, len(self._commands)))]
            return commands, bool(self._commands)


@dataclass
class Registration:
    """What a client needs to reach a source."""

    buffer: CommandBuffer
    source: Source
    loop: RunLoop

    def add_command(self, command: Command, timeline: Timeline) -> None:
        """On the client's thread: adds a command and signals the source. The loop may sleep on."""
        self.buffer.put(command)
        timeline.signal("commands", self.source)

    def fire(self, timeline: Timeline) -> None:
        """On the client's thread: wakes the loop, for all the commands added before."""
        timeline.wake(self.loop)


@dataclass
class CommandClient:
    """Who gives the commands: functions that are called on its own loop."""

    loop: RunLoop
    registered: Callable[[Registration], None]
    withdrawn: Callable[[Registration], None]


class CommandSource:
    """The custom input source; handle is called on its loop's thread, for each command."""

    def __init__(self, client: CommandClient, handle: Callable[[Command], None], timeline: Timeline) -> None:
        self._client, self._handle, self._timeline = client, handle, timeline
        self._buffer = CommandBuffer()
        self.source = Source(perform=self._perform, schedule=self._schedule, cancel=self._cancel, label="commands")

    def _schedule(self, source: Source, loop: RunLoop, mode: Mode) -> None:
        with self._timeline.span("schedule"):
            registration = Registration(self._buffer, source, loop)
            self._timeline.post(self._client.loop, partial(self._client.registered, registration))

    def _cancel(self, source: Source, loop: RunLoop, mode: Mode) -> None:
        with self._timeline.span("cancel"):
            registration = Registration(self._buffer, source, loop)
            self._timeline.post(self._client.loop, partial(self._client.withdrawn, registration))

    def _perform(self, source: Source) -> None:
        with self._timeline.span("commands") as span:
            commands, more = self._buffer.take(COMMANDS_A_PASS)
            # Before the commands are handled: the last of them makes the source invalid.
            if more:
                self._timeline.signal("commands", source)
            for command in commands:
                self._handle(command)
                span.number += 1
