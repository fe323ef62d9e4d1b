# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""A thread whose function has returned when stop returns: stop waits for the notification that the thread will exit.

The notification comes on the ending thread itself, when its function has returned and the pool around that function
is drained: neither has to be done by hand, as exit_by_pool.py does. The thread is still not quite gone then; for
that see exit_by_join.py."""

from typing import Optional

import treadle
from treadle import Condition, Notification, RunLoop, Source, Thread


class Service:
    def __init__(self) -> None:
        self.changed = Condition()  # its lock guards all below
        self.is_ready = self.is_done = False
        self.in_pool = 0  # how many objects the thread has in its pool
        self.executed_at_the_end = False

    # On the thread

    def count(self, change: int) -> None:
        with self.changed:
            self.in_pool += change

    def put_into_pool(self) -> None:
        """No pool is opened here, so it is the one that Treadle keeps around the function of a thread."""
        self.count(+1)
        treadle.pool.add(self.count, -1)

    def thread_main(self) -> None:
        loop = RunLoop.current()
        # A loop without a source or a timer ends at once; this source does nothing but keep it.
        keeper = Source()
        loop.add(keeper)
        self.put_into_pool()
        self.put_into_pool()
        with self.changed:
            self.is_ready = True
            self.changed.notify()
        loop.run()  # until it is stopped
        keeper.invalidate()
        self.put_into_pool()

    def will_exit(self, notification: Notification, thread: Optional[Thread]) -> None:
        with self.changed:
            self.executed_at_the_end = thread is self.thread and thread.is_executing
            self.is_done = True
            self.changed.notify()

    # On any other thread

    def start(self) -> None:
        self.thread = Thread(self.thread_main, detached=True)
        with self.changed:
            self.thread.start()
            self.changed.wait_for(lambda: self.is_ready)
            print(f"started: {self.in_pool} objects in the thread's pool")

    def stop(self) -> None:
        with treadle.notifications.add(Notification.THREAD_WILL_EXIT, self.will_exit, self.thread), self.changed:
            self.thread.perform(lambda: RunLoop.current().stop())
            self.changed.wait_for(lambda: self.is_done)
            executed = "yes" if self.executed_at_the_end else "no"
            print(
                f"stopped: {self.in_pool} objects in the thread's pool; "
                f"it was still executing when it told so: {executed}"
            )


for _ in range(3):
    service = Service()
    service.start()
    service.stop()
