# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Listing 3-1: a thread attaches an observer to its run loop, and a timer that gives the loop something to do.

An observer hears of everything that the loop is about to do, but it does not keep the loop running: without the
timer every run would be over at once. Here the thread runs its loop four times, and the timer ends each run after
three more fires."""

from collections import Counter
from typing import List

from treadle import Activity, Observer, RunLoop, Thread, Timer

RUNS = 4
FIRES_A_RUN = 3
INTERVAL = 0.01
LONGEST = 60  # seconds; every run is stopped long before

heard: "Counter[Activity]" = Counter()  # how often the observer was told of each activity
fires: List[Timer] = []  # the timer, once for each time that it fired


def observe(observer: Observer, activity: Activity) -> None:
    """Called on the thread of the loop, with one activity at a time."""
    heard[activity] += 1


def fire(timer: Timer) -> None:
    fires.append(timer)
    if len(fires) % FIRES_A_RUN == 0:
        RunLoop.current().stop()


def thread_main() -> None:
    loop = RunLoop.current()
    observer = Observer(observe, Activity.ALL)
    timer = Timer(fire, interval=INTERVAL)
    loop.add(observer)
    loop.add(timer)
    for _ in range(RUNS):
        loop.run(seconds=LONGEST)
    timer.invalidate()
    observer.invalidate()


def yes_or_no(is_so: bool) -> str:
    return "yes" if is_so else "no"


thread = Thread(thread_main)
thread.start()
thread.join()

sleeps = heard[Activity.BEFORE_WAITING]
print(f"entered {heard[Activity.ENTRY]} times, left {heard[Activity.EXIT]} times")
print(f"the timer fired {len(fires)} times")
print(f"every sleep ended: {yes_or_no(sleeps == heard[Activity.AFTER_WAITING] and sleeps > 0)}")
print(f"a pass for every sleep: {yes_or_no(heard[Activity.BEFORE_TIMERS] >= sleeps)}")
