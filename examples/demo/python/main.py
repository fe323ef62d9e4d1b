# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The main thread: reads the input, gives its lines to the worker as commands, and puts the results together.

Usage: main.py FILE     FILE may be -, standard input. With TREADLE_TRACE=file it writes a trace for the picture.

There is no flag that says "stop" and no sleep in this program. Each loop ends by itself when there is nothing
left that it could wait for.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from typing import Iterator

from command_source import CommandClient, Registration
from lines import Lines
from messages import Command, Result
from report import report_summary, report_time
from summary import Summary
from timeline import Timeline
from treadle import RunLoop, Source
from worker import Worker

# How much the worker may be behind before the reading pauses, so that an input of any size needs little memory.
# Half of it is when reading goes on.
MOST_LINES_BEHIND, MOST_BYTES_BEHIND = 64, 4 << 20

# The interpreter lets one thread run at a time. Seconds after which it has the other take its turn; by default
# it is 0.005, in which nearly all of a short text is done.
TURN = 0.0002


class Demo:
    """The main side of the demo."""

    def __init__(self, fd: int) -> None:
        self.timeline = Timeline("main")
        self.summary = Summary()
        self._loop = RunLoop.current()
        self._lock = threading.Lock()
        self._results: list[Result] = []
        self._results_source = Source(perform=self._take_results, label="results")
        self._commands: Registration | None = None  # how to reach the command source, while it is registered
        self._lines_sent = self._lines_behind = self._bytes_behind = 0
        self._failure: Exception | None = None
        self._complete = False  # the last result is here
        self._input = Lines(fd, line=self._line, read=self._fire, end=self._last, timeline=self.timeline)
        client = CommandClient(self._loop, self._registered, self._withdrawn)
        self.worker = Worker(client, self._send_result, Timeline("worker"))

    def run(self) -> None:
        """Runs the loop until everything is done, beside the worker, and waits for that one's end."""
        self.timeline.observe(self._loop)
        self._loop.add(self._results_source)
        self.worker.start()
        with self.timeline.span("run"):
            self._loop.run()
        for failure in (self._failure, self.worker.failure):
            if failure:
                raise failure
        with self.timeline.span("join"):
            self.worker.join()
        self.timeline.stop_observing()
        self.summary.bytes = self._input.bytes

    def _line(self, line: bytes) -> None:
        self._lines_sent += 1
        self._lines_behind += 1
        self._bytes_behind += len(line)
        assert self._commands
        self._commands.add_command(Command(self._lines_sent, line), self.timeline)

    def _fire(self) -> None:
        assert self._commands
        self._commands.fire(self.timeline)
        if self._lines_behind > MOST_LINES_BEHIND or self._bytes_behind > MOST_BYTES_BEHIND:
            self._input.pause(True)

    def _last(self) -> None:
        assert self._commands
        self._commands.add_command(Command(), self.timeline)
        self._commands.fire(self.timeline)

    def _send_result(self, result: Result, timeline: Timeline) -> None:
        """On the worker's thread."""
        with self._lock:
            self._results.append(result)
        timeline.signal("results", self._results_source)

    def _take_results(self, source: Source) -> None:
        with self.timeline.span("results") as span:
            with self._lock:
                results, self._results = self._results, []
            for result in results:
                self.summary.add(result)
                if result.words is not None:
                    self._complete = True
                else:
                    self._lines_behind -= 1
                    self._bytes_behind -= result.length
            if self._lines_behind < MOST_LINES_BEHIND // 2 and self._bytes_behind < MOST_BYTES_BEHIND // 2:
                self._input.pause(False)
            self._end_if_done()
            span.number = len(results)

    def _end_if_done(self) -> None:
        """Once the command source is withdrawn and the last result is here, nothing more can come. Without the
        source of the results the main loop has nothing left to wait for. Both have to be seen, since a pass
        runs what was posted before it performs what was signalled."""
        if not self._commands and self._complete:
            self._results_source.invalidate()

    @contextmanager
    def _posted(self) -> Iterator[None]:
        """What a posted function raises waits in a Future for somebody who asks. Here it ends the run."""
        try:
            with self.timeline.span("posted"):
                yield
        except Exception as error:
            self._failure = error
            self._loop.request_stop()

    def _registered(self, registration: Registration) -> None:
        """The worker's command source joined its loop: commands have somewhere to go, so the reading begins."""
        with self._posted():
            self._commands = registration
            self._input.start(self._loop)

    def _withdrawn(self, registration: Registration) -> None:
        """It left its loop."""
        with self._posted():
            assert self._commands and self._commands.source is registration.source
            self._commands = None
            self._end_if_done()


def main() -> None:
    """Runs the demo, and reports."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FILE")
    file = sys.argv[1]
    sys.setswitchinterval(TURN)
    try:
        fd = 0 if file == "-" else os.open(file, os.O_RDONLY | os.O_CLOEXEC)
        demo = Demo(fd)
        demo.run()
    except OSError as error:
        sys.exit(f"demo: cannot read {file}: {error.strerror}")
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    report_summary(demo.summary, sys.stdout)
    report_time(demo.timeline, demo.worker.timeline, sys.stdout)


if __name__ == "__main__":
    main()
