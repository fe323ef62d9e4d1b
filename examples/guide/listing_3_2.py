# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Listing 3-2: the skeleton of a thread that runs its loop again and again, and looks at the result each time.

A run tells why it ended. The thread goes on as long as a source was handled or the time was over; when the loop was
stopped, or there is nothing left that it could wait for, the thread tidies up and ends."""

from treadle import RunLoop, RunResult, Source, Thread

STEPS = 3
LONGEST = 60  # seconds of one run

NAMES = {
    RunResult.FINISHED: "finished",
    RunResult.STOPPED: "stopped",
    RunResult.TIMED_OUT: "timed out",
    RunResult.HANDLED_SOURCE: "handled a source",
}


class Job:
    def __init__(self, steps: int) -> None:
        self.left = steps

    def perform(self, source: Source) -> None:
        """Does one step, and asks for the next; the last one stops the loop."""
        self.left -= 1
        print(f"step, {self.left} left")
        if self.left > 0:
            source.signal()
        else:
            RunLoop.current().stop()


def skeleton_main(job: Job) -> None:
    # The sources and timers of the thread, and everything else that it needs.
    loop = RunLoop.current()
    source = Source(perform=job.perform)
    loop.add(source)
    source.signal()

    done = False
    while not done:
        # Returns after each source that it handled.
        result = loop.run(seconds=LONGEST, return_after_source_handled=True)
        print(f"the run: {NAMES[result]}")
        # Somebody stopped the loop, or there is no source or timer any more: go.
        if result in (RunResult.STOPPED, RunResult.FINISHED):
            done = True
        # Other conditions to leave would be looked at here.

    # Tidy up.
    source.invalidate()


thread = Thread(skeleton_main, [Job(STEPS)])
thread.start()
thread.join()
print("the thread is gone")
