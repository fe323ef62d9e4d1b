# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Listing 3-11: a repeating timer whose callback has something of its own to work with.

A context with an info pointer, as in C, is not needed: the method of an object brings its object along. The timer is
added to the common modes, and the default mode is one of them."""

from treadle import COMMON, DEFAULT, RunLoop, Timer


class Countdown:
    def __init__(self, left: int) -> None:
        self.left = left

    def fire(self, timer: Timer) -> None:
        self.left -= 1
        print(f"fired, {self.left} left")
        if self.left == 0:
            timer.invalidate()


def yes_or_no(is_so: bool) -> str:
    return "yes" if is_so else "no"


loop = RunLoop.current()
timer = Timer(Countdown(3).fire, delay=0.1, interval=0.03)
loop.add(timer, COMMON)
print(f"added: {yes_or_no(loop.contains(timer, DEFAULT))}")
loop.run()  # until no timer is left
print(f"valid: {yes_or_no(timer.is_valid)}")
