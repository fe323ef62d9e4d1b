# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The list of host tests, in Python: runs, modes, items and posts. Each case has a mode of its own."""

from __future__ import annotations

import math
import os
import threading
import time

from python_host import Case, await_sleep, refuses, require, started_worker
from treadle import COMMON, DEFAULT, Activity, Error, Events, FileDescriptor, Observer, RunResult, Source, Timer


class Items(Case):
    # --- Runs ---

    def empty(self) -> None:
        began = time.monotonic()
        require(self.loop.run(self.mode) == RunResult.FINISHED, "run")
        require(self.loop.run(self.mode, 0.001, when_empty=True) == RunResult.TIMED_OUT, "run that waits")
        require(time.monotonic() >= began + 0.001, "early")

    def time_limit(self) -> None:
        source, began = self.source("s"), time.monotonic()
        source.signal()
        require(self.loop.run(self.mode, 0) == RunResult.TIMED_OUT and self.seen == ["s"], "one pass")
        require(self.loop.run(self.mode, 0.005) == RunResult.TIMED_OUT, "run")
        require(time.monotonic() >= began + 0.005, "early")

    def handled(self) -> None:
        self.source("s").signal()
        require(self.loop.run(self.mode, return_after_source_handled=True) == RunResult.HANDLED_SOURCE, "run")
        require(self.seen == ["s"], "performed")

    def stop_nothing(self) -> None:
        self.loop.stop()
        require(self.loop.run(self.mode, 0, when_empty=True) == RunResult.TIMED_OUT, "run")

    def stop_all(self) -> None:
        def stop(_: Timer) -> None:
            self.loop.request_stop(all_levels=True)
            require(self.loop.run("inner", when_empty=True) == RunResult.STOPPED, "inner run")
            self.seen.append("inner")

        self.added(Timer(stop))
        require(self.loop.run(self.mode, when_empty=True) == RunResult.STOPPED and self.seen == ["inner"], "outer run")

    def wake(self) -> None:
        def wait(_: Observer, activity: Activity) -> None:
            self.seen.append("w")
            (self.loop.wake_up if len(self.seen) < 3 else self.loop.stop)()

        self.added(Observer(wait, Activity.BEFORE_WAITING))
        require(self.loop.run(self.mode, when_empty=True) == RunResult.STOPPED and self.seen == ["w"] * 3, f"{self.seen}")

    # --- Modes ---

    def modes(self) -> None:
        source = self.source("s")
        require(not self.loop.add(source, self.mode) and self.loop.contains(source, self.mode), "added twice")
        require(not self.loop.contains(source, "other"), "contained")
        source.signal()
        self.loop.run("other", 0, when_empty=True)
        require(self.seen == [], "performed elsewhere")
        require(self.loop.run(self.mode, 0) == RunResult.TIMED_OUT and self.seen == ["s"], "performed")
        require(self.loop.remove(source, self.mode) and not self.loop.remove(source, self.mode), "removed twice")
        require(not self.loop.contains(source, self.mode), "removed")

    def common(self) -> None:
        source = Source(perform=self.note("s"))
        self.loop.add(source, COMMON)
        require(not self.loop.contains(source, self.mode), "before")
        self.loop.add_common_mode(self.mode)
        require(self.loop.contains(source, self.mode) and self.loop.contains(source, DEFAULT), "joined")
        source.signal()
        require(self.loop.run(self.mode, 0) == RunResult.TIMED_OUT and self.seen == ["s"], "performed")
        require(self.loop.remove(source, COMMON) and not self.loop.contains(source, self.mode), "removed")

    def two_loops(self) -> None:
        worker, timer = started_worker(), self.added(Timer(self.note("t"), delay=math.inf))
        require(not worker.loop.add(timer, self.mode) and self.loop.contains(timer, self.mode), "added")
        require(not worker.loop.contains(timer, self.mode), "contained")
        worker.stop_and_join()

    def invalid(self) -> None:
        source = self.source("s")
        source.signal()
        source.invalidate()
        source.invalidate()
        require(not source.is_valid and not source.is_signalled and not self.loop.contains(source, self.mode), "ended")
        source.signal()
        require(not self.loop.add(source, self.mode), "added")
        require(self.loop.run(self.mode, 0) == RunResult.FINISHED and self.seen == [], "performed")

    def end_other(self) -> None:
        def end(_: Timer) -> None:
            self.seen.append("t")
            for timer in both:
                timer.invalidate()

        both = [self.added(Timer(end)) for _ in range(2)]
        require(self.loop.run(self.mode) == RunResult.FINISHED and self.seen == ["t"], f"{self.seen}")

    # --- Sources ---

    def signal_kept(self) -> None:
        source = Source(perform=self.note("s"))
        source.signal()
        require(source.is_signalled, "signalled")
        self.added(source)
        require(self.loop.run(self.mode, 0) == RunResult.TIMED_OUT and self.seen == ["s"], "performed")

    def coalesce(self) -> None:
        source = self.source("s")
        for _ in range(3):
            source.signal()
        require(source.is_signalled, "signalled")
        for _ in range(2):
            self.loop.run(self.mode, 0)
        require(not source.is_signalled and self.seen == ["s"], f"{self.seen}")

    def self_signal(self) -> None:
        def perform(source: Source) -> None:
            self.seen.append(source.label)
            source.signal()

        for word in "ab":
            self.added(Source(perform=perform, label=word)).signal()
        for _ in range(3):
            self.loop.run(self.mode, 0)
        require(self.seen == list("ababab"), f"{self.seen}")

    # --- Timers ---

    def timer_again(self) -> None:
        def fire(timer: Timer) -> None:
            self.seen.append("t")
            if len(self.seen) == 1:
                timer.arm(1e-6)

        timer = self.added(Timer(fire))
        require(self.loop.run(self.mode) == RunResult.FINISHED and self.seen == ["t"] * 2, "armed in its callback")
        require(timer.is_valid and timer.next_fire is None, "idle")
        timer.arm(1e-6)
        require(self.loop.run(self.mode) == RunResult.FINISHED and self.seen == ["t"] * 3, "armed again")

    def timer_none(self) -> None:
        timer = self.added(Timer(self.note("t"), delay=1000))
        require(self.loop.run(self.mode, 0) == RunResult.TIMED_OUT, "with a date")
        timer.arm(math.inf)
        require(timer.next_fire is None and self.loop.run(self.mode) == RunResult.FINISHED and self.seen == [], "without")

    def timer_ends(self) -> None:
        timer = self.added(Timer(lambda timer: self.seen.append(str(timer.is_valid)), ends_after_firing=True))
        require(self.loop.run(self.mode) == RunResult.FINISHED and self.seen == ["True"] and not timer.is_valid, "ended")
        timer.arm(0)
        require(self.loop.run(self.mode) == RunResult.FINISHED and self.seen == ["True"], "armed")

    def timer_moved(self) -> None:
        def move() -> None:
            await_sleep(self.loop)
            timer.next_fire = time.monotonic()

        timer = self.added(Timer(self.note("t"), delay=1000))
        thread = threading.Thread(target=move)
        thread.start()
        require(self.loop.run(self.mode) == RunResult.FINISHED and self.seen == ["t"], "fired")
        thread.join()

    def timer_by_hand(self) -> None:
        timer = Timer(self.note("t"), interval=1000)
        date = timer.next_fire
        require(timer.fire() and timer.next_fire == date and self.seen == ["t"], "fired")
        timer.invalidate()
        require(not timer.fire() and self.seen == ["t"], "fired at its end")

    # --- Observers ---

    def observer_once(self) -> None:
        observer = self.added(Observer(self.note("o"), repeats=False))
        for _ in range(2):
            self.loop.run(self.mode, 0, when_empty=True)
        require(self.seen == ["o"] and not observer.is_valid and not observer.repeats, f"{self.seen}")

    def observer_order(self) -> None:
        both = Activity.ENTRY | Activity.EXIT
        for word, activities, order in (("a", both, 1), ("b", both, 0), ("c", Activity.ENTRY, 0)):
            self.added(Observer(self.note(word), activities, order=order))
        self.loop.run(self.mode, 0, when_empty=True)
        require(self.seen == list("bcaba"), f"{self.seen}")

    # --- Descriptors ---

    def watched(self, fd: int) -> FileDescriptor:
        return FileDescriptor(fd, lambda _, events: self.seen.append("r" if events & Events.READ else "h"))

    def piped(self) -> "tuple[int, int]":
        ends = os.pipe()
        self.at_end(lambda: [os.close(end) for end in ends])
        return ends

    def descriptor_ready(self) -> None:
        reads, writes = self.piped()
        self.added(self.watched(reads))
        self.loop.run(self.mode, 0)
        require(self.seen == [], "before")
        os.write(writes, b"x")
        for _ in range(2):
            self.loop.run(self.mode, 0)
        require(self.seen == ["r"] * 2, "in each pass")
        os.read(reads, 1)
        self.loop.run(self.mode, 0)
        require(self.seen == ["r"] * 2, "afterwards")

    def descriptor_paused(self) -> None:
        reads, writes = self.piped()
        os.write(writes, b"x")
        descriptor = self.added(self.watched(reads))
        descriptor.disable()
        require(self.loop.run(self.mode, 0) == RunResult.TIMED_OUT and self.seen == [], "paused")
        descriptor.enable()
        self.loop.run(self.mode, 0)
        require(self.seen == ["r"], "enabled")

    def descriptor_end(self) -> None:
        reads, writes = os.pipe()
        self.added(self.watched(reads))
        os.close(writes)
        self.loop.run(self.mode, 0)
        require(len(self.seen) == 1, f"{self.seen}")
        self.at_end(lambda: os.close(reads))

    def descriptor_twice(self) -> None:
        second, _ = self.watched(0), self.added(self.watched(0))
        refuses(Error, "TREADLE_E_EXISTS", lambda: self.loop.add(second, self.mode))

    def descriptor_closed(self) -> None:
        refuses(ValueError, "fd", lambda: self.watched(123456))

    # --- Posts and what is told ---

    def post_modes(self) -> None:
        for word, mode in (("a", self.mode), ("b", "other"), ("c", self.mode)):
            self.loop.perform(self.seen.append, word, modes=mode)
        self.loop.run(self.mode, 0, when_empty=True)
        require(self.seen == ["a", "c"], f"{self.seen}")
        self.loop.run("other", 0, when_empty=True)
        require(self.seen == ["a", "c", "b"], f"{self.seen}")

    def post_inside(self) -> None:
        self.loop.post(lambda: (self.seen.append("a"), self.loop.post(self.seen.append, "c")))
        self.loop.post(self.seen.append, "b")
        for _ in range(2):
            self.loop.run(seconds=0, when_empty=True)
        require(self.seen == ["a", "b", "c"], f"{self.seen}")

    def describe(self) -> None:
        source = Source(label="bell")
        require(source.describe().startswith('source "bell"') and "invalid" not in source.describe(), source.describe())
        source.invalidate()
        require("bell" in source.describe() and "invalid" in source.describe(), source.describe())

    def label(self) -> None:
        refuses(ValueError, "label", lambda: Source(label="x" * 256))

    def refused(self) -> None:
        refuses(ValueError, "interval", lambda: Timer(print, interval=-1))
