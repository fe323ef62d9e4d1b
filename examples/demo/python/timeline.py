# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""How one thread passed its time: exact counts, and the events for the picture."""

from __future__ import annotations

import time
from collections import Counter, deque
from contextlib import contextmanager
from typing import Callable, Iterator

from treadle import COMMON, Activity, Observer, RunLoop, Source

# Enough for some 100,000 events. What is more is counted, but not drawn: the first half and the last are
# kept, since a run is most interesting where it begins and ends.
HEAD = TAIL = 65536

CALLBACKS = ("read", "commands", "results", "heartbeat", "posted", "schedule", "cancel")
SPANS = ("run", "sleep", "join", *CALLBACKS)


class Span:
    """Something that takes time; whoever measures it may say how much was done in it."""

    def __init__(self) -> None:
        self.number = 0


class Timeline:
    """A thread's timeline. Each thread has one of its own, so that recording needs no lock."""

    def __init__(self, name: str, origin: int) -> None:
        self.name, self.origin = name, origin
        self.passes = self.observed = self.wakes = self.pauses = self.in_callbacks = 0
        self.given: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.spent: Counter[str] = Counter()
        self.head: list[tuple[int, str, str, int]] = []
        self.tail: deque[tuple[int, str, str, int]] = deque(maxlen=TAIL)
        self.events = 0
        self._depth = 0
        self._asleep_since = 0
        self._observer: Observer | None = None

    def _record(self, now: int, what: str, subject: str, number: int = 0) -> None:
        self.events += 1
        (self.head if self.events <= HEAD else self.tail).append((now, what, subject, number))

    @contextmanager
    def span(self, name: str) -> Iterator[Span]:
        """Measures what is done in a with statement."""
        span, callback = Span(), name in CALLBACKS
        began = time.monotonic_ns()
        self._record(began, "begin", name)
        self._depth += callback
        try:
            yield span
        finally:
            now = time.monotonic_ns()
            self._depth -= callback
            self.calls[name] += 1
            self.spent[name] += now - began
            if callback and self._depth == 0:  # a callback inside another is not counted twice
                self.in_callbacks += now - began
            self._record(now, "end", name, span.number)

    def signal(self, name: str, source: Source) -> None:
        """Signals a source, counts that, and draws it unless it coalesces."""
        # A signal that was given already and not served yet takes this one in. Looking first decides only
        # what is drawn; whether signals are lost does not depend on it.
        if not source.is_signalled:
            self._record(time.monotonic_ns(), "signal", name)
        self.given[name] += 1
        source.signal(wake=False)

    def wake(self, loop: RunLoop) -> None:
        """Wakes the other thread's loop, and counts that."""
        self.wakes += 1
        loop.wake_up()

    def post(self, loop: RunLoop, function: Callable[[], object]) -> None:
        """Has the other thread's loop call a function, and draws that."""
        self._record(time.monotonic_ns(), "signal", "posted")
        self.given["posted"] += 1
        loop.perform(function)

    def observe(self, loop: RunLoop) -> None:
        """Adds an observer of every activity to the loop's common modes."""
        self._observer = Observer(self._notice, Activity.ALL)
        loop.add(self._observer, COMMON)

    def stop_observing(self) -> None:
        """Takes it out again."""
        if self._observer:
            self._observer.invalidate()

    def _notice(self, observer: Observer, activity: Activity) -> None:
        """What the loop says about itself. Whoever runs the loop measures the run from outside."""
        self.observed += 1
        if activity == Activity.BEFORE_TIMERS:
            self.passes += 1
            self._record(time.monotonic_ns(), "pass", "-", self.passes)
        elif activity == Activity.BEFORE_WAITING:
            self._asleep_since = time.monotonic_ns()
            self._record(self._asleep_since, "begin", "sleep")
        elif activity == Activity.AFTER_WAITING:
            now = time.monotonic_ns()
            self.calls["sleep"] += 1
            self.spent["sleep"] += now - self._asleep_since
            self._record(now, "end", "sleep")
