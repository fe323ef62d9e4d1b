# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""A thread that is ready when start returns, and gone when stop returns: stop joins it.

Of the four ways this one promises most and needs least: no lock, no condition. Treadle waits for the start until
the thread has entered its loop, and stop_and_join() ends the loop in a way that cannot be lost. Afterwards even the
thread's own data are destroyed."""

import threading
import weakref

from treadle import RunLoop, Source, Thread

own_data = threading.local()


def yes_or_no(is_so: bool) -> str:
    return "yes" if is_so else "no"


class Data:
    """What the thread keeps for itself."""


class Service:
    def __init__(self) -> None:
        self.asked = 0
        self.is_destroyed = False
        self.thread = Thread(self.thread_main)

    # On the thread

    def thread_main(self) -> "Service":
        own_data.value = Data()
        weakref.finalize(own_data.value, setattr, self, "is_destroyed", True)
        loop = RunLoop.current()
        # A loop without a source or a timer ends at once; this source does nothing but keep it.
        keeper = Source()
        loop.add(keeper)
        loop.run()  # its first pass tells that the thread is ready
        keeper.invalidate()
        return self

    def square(self, number: int) -> int:
        self.asked += 1
        return number * number

    # On any other thread

    def squared(self, number: int) -> int:
        return self.thread.perform(self.square, number, wait=True)

    def stop(self) -> None:
        result = self.thread.stop_and_join()
        print(
            f"stopped: the thread has finished: {yes_or_no(self.thread.is_finished)}, "
            f"its own data are destroyed: {yes_or_no(self.is_destroyed)}, its result is there: {yes_or_no(result is self)}"
        )


for number in range(5, 8):
    service = Service()
    service.thread.start_and_wait()
    print(f"started, and executing: {yes_or_no(service.thread.is_executing)}")
    print(f"  {number} squared is {service.squared(number)}, {number + 10} squared is {service.squared(number + 10)}")
    service.stop()
    print(f"  it was asked {service.asked} times")
