# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Listing 2-1: a detached thread, made with Python's lowest call, and then with one of Treadle's.

Nobody joins a detached thread: the system takes its resources back when it ends. So it must tell in another way
what it found out; here it does so with a condition and its lock."""

import _thread

import treadle


class Work:
    """What a thread is to do, and what it tells about it."""

    def __init__(self, last: int) -> None:
        self.last = last
        self.done = treadle.Condition()  # its lock guards all below
        self.is_done = False
        self.total = 0
        self.facts: "dict[str, bool]" = {}

    def add_up(self) -> None:
        """The entry function of both threads."""
        total = sum(range(1, self.last + 1))
        # A thread that Treadle did not start has an object too, from the first time that somebody asks.
        thread = treadle.Thread.current()
        with self.done:
            self.total = total
            self.facts = {
                "executing": thread.is_executing,
                "detached": thread.detached,
                "Treadle has started threads": treadle.Thread.is_multithreaded(),
            }
            self.is_done = True
            self.done.notify()

    def wait_and_report(self, how: str) -> None:
        with self.done:
            self.done.wait_for(lambda: self.is_done)
        print(f"{how}: the sum of 1 to {self.last} is {self.total}")
        print("  " + ", ".join(f"{fact}: {'yes' if is_so else 'no'}" for fact, is_so in self.facts.items()))


def main() -> None:
    work = Work(100)
    _thread.start_new_thread(work.add_up, ())  # a detached thread of POSIX
    work.wait_and_report("a thread of POSIX")

    work = Work(1000)
    treadle.Thread.detach(work.add_up)
    work.wait_and_report("a thread of Treadle")


main()
