# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""A thread whose pool is empty when stop returns: it drains the pool itself before it says that it is done.

As exit_by_condition.py, but everything that the thread has put into its pool is released before stop returns."""

import treadle
from treadle import Condition, RunLoop, Source, Thread


class Service:
    def __init__(self) -> None:
        self.changed = Condition()  # its lock guards all below
        self.is_ready = self.is_done = False
        self.in_pool = 0  # how many objects the thread has in its pool

    def tell(self, what: str) -> None:
        with self.changed:
            setattr(self, what, True)
            self.changed.notify()

    # On the thread

    def count(self, change: int) -> None:
        with self.changed:
            self.in_pool += change

    def put_into_pool(self) -> None:
        self.count(+1)
        treadle.pool.add(self.count, -1)

    def thread_main(self) -> None:
        with treadle.pool():
            loop = RunLoop.current()
            # A loop without a source or a timer ends at once; this source does nothing but keep it.
            keeper = Source()
            loop.add(keeper)
            self.put_into_pool()
            self.put_into_pool()
            self.tell("is_ready")
            loop.run()  # until it is stopped
            keeper.invalidate()
            self.put_into_pool()
        # Outside of the pool, which is drained by now.
        self.tell("is_done")

    # On any other thread

    def start(self) -> None:
        self.thread = Thread(self.thread_main, detached=True)
        with self.changed:
            self.thread.start()
            self.changed.wait_for(lambda: self.is_ready)
            print(f"started: {self.in_pool} objects in the thread's pool")

    def stop(self) -> None:
        with self.changed:
            self.thread.perform(lambda: RunLoop.current().stop())
            self.changed.wait_for(lambda: self.is_done)
            print(f"stopped: {self.in_pool} objects in the thread's pool")


for _ in range(3):
    service = Service()
    service.start()
    service.stop()
