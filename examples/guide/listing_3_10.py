# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Listing 3-10: two timers, one that is added to the loop by hand, with a date of its own, and one that is made and
added in one go.

Dates are seconds of time.monotonic(), so nobody who sets the clock of the system moves a timer."""

import math
import time

from treadle import DEFAULT, RunLoop, Timer

first_fires = second_fires = 0


def yes_or_no(is_so: bool) -> str:
    return "yes" if is_so else "no"


def first_fired(timer: Timer) -> None:
    global first_fires
    first_fires += 1
    if first_fires == 2:
        timer.invalidate()


loop = RunLoop.current()

# In 0.05 seconds first, then every 0.01.
date = time.monotonic() + 0.05
first = Timer(first_fired, fire_at=date, interval=0.01)
# A timer keeps whole nanoseconds, which is not what a float keeps; so they are compared to the microsecond.
is_same = first.next_fire is not None and math.isclose(first.next_fire, date, rel_tol=0, abs_tol=1e-6)
print(f"the first date is the one that was asked for: {yes_or_no(is_same)}")
loop.add(first)


# In 0.02 seconds first, then every 0.02. The loop keeps the timer.
@loop.every(0.02, modes=DEFAULT)
def second(timer: Timer) -> None:
    global second_fires
    second_fires += 1
    if second_fires == 3:
        timer.invalidate()


loop.run()  # until no timer is left
print(f"fired {first_fires} and {second_fires} times")
print(f"not before its date: {yes_or_no(time.monotonic() >= date)}")
