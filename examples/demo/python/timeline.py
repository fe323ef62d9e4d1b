# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""How one thread passed its time, counted, with marks for the trace of the run (TREADLE_TRACE)."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import contextmanager
from typing import Callable, Iterator

import treadle
from treadle import COMMON, Activity, Observer, RunLoop, Source

CALLBACKS = ("read", "commands", "results", "heartbeat", "posted", "schedule", "cancel")


class Span:
    """Something that takes time; whoever measures it may say how much was done in it."""

    def __init__(self) -> None:
        self.number = 0


class Timeline:
    """A thread's timeline. Each thread has one of its own, so that counting needs no lock."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.passes = self.observed = self.wakes = self.pauses = self.in_callbacks = 0
        self.given: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self.spent: Counter[str] = Counter()
        self._depth = 0
        self._asleep_since = 0
        self._observer: Observer | None = None

    @contextmanager
    def span(self, name: str) -> Iterator[Span]:
        """Measures what is done in a with statement."""
        span, callback = Span(), name in CALLBACKS
        began = time.monotonic_ns()
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
            if name not in ("run", "posted"):  # these are in the trace anyway
                treadle.trace_mark(name, span.number)

    def signal(self, name: str, source: Source) -> None:
        """Signals a source, and counts that."""
        self.given[name] += 1
        source.signal(wake=False)

    def wake(self, loop: RunLoop) -> None:
        """Wakes the other thread's loop, and counts that."""
        self.wakes += 1
        loop.wake_up()

    def post(self, loop: RunLoop, function: Callable[[], object]) -> None:
        """Has the other thread's loop call a function, and counts that."""
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
        elif activity == Activity.BEFORE_WAITING:
            self._asleep_since = time.monotonic_ns()
        elif activity == Activity.AFTER_WAITING:
            self.calls["sleep"] += 1
            self.spent["sleep"] += time.monotonic_ns() - self._asleep_since
