# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""A thread that is ready when start returns and has done its work when stop returns: with a condition.

The thread sleeps in its run loop as long as nobody wants anything of it: nothing polls. Both start and stop wait for
the thread to say that it is so far. What stop cannot tell is that the thread is gone: it has yet to drain its pool
and to end. See exit_by_pool.py, exit_by_notification.py and exit_by_join.py for that."""

from treadle import Condition, RunLoop, RunResult, Source, Thread


class Service:
    def __init__(self) -> None:
        self.changed = Condition()  # its lock guards all below
        self.is_ready = self.is_done = False
        self.how_run_ended = RunResult.TIMED_OUT

    def tell(self, what: str) -> None:
        with self.changed:
            setattr(self, what, True)
            self.changed.notify()

    # On the thread

    def thread_main(self) -> None:
        loop = RunLoop.current()
        # A loop without a source or a timer ends at once; this source does nothing but keep it.
        keeper = Source()
        loop.add(keeper)
        self.tell("is_ready")
        self.how_run_ended = loop.run()  # until it is stopped
        keeper.invalidate()
        self.tell("is_done")

    # On any other thread

    def start(self) -> None:
        self.thread = Thread(self.thread_main, detached=True)
        with self.changed:
            self.thread.start()
            self.changed.wait_for(lambda: self.is_ready)

    def stop(self) -> None:
        with self.changed:
            self.thread.perform(lambda: RunLoop.current().stop())
            self.changed.wait_for(lambda: self.is_done)


for number in range(5, 8):
    service = Service()
    service.start()
    print("started, and ready:", "yes" if service.is_ready else "no")
    print(f"  {number} squared is {service.thread.perform(pow, number, 2, wait=True)}")
    service.stop()
    ended = "stopped" if service.how_run_ended is RunResult.STOPPED else "finished"
    print(f"stopped: the loop was {ended}, and the thread has tidied up: {'yes' if service.is_done else 'no'}")
