# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Listing 2-3: a long job that looks between its pieces whether it is to end early.

The job's thread has a custom input source. After each piece of work the thread runs its loop without waiting: if
somebody has signalled the source, its callback notes in the thread's dictionary that the job is to end; else the
run returns at once and the work goes on.

Here the main thread does the telling, when it hears that enough is done. It hears so in its own run loop: the job
performs a function there, and at last signals a source that ends that loop."""

import treadle
from treadle import RunLoop, RunResult, Source, Thread

PIECES = 10
EXIT_KEY = "the job is to end"  # in the thread's dictionary


def note_exit(source: Source) -> None:
    """The callback of the job's source, on the job's thread."""
    Thread.current().dictionary[EXIT_KEY] = True


class Job:
    def __init__(self, enough: int) -> None:
        self.enough = enough  # so many pieces are enough for the main thread
        self.exit_now = Source(perform=note_exit)  # in the loop of the job's thread
        # Without this source the main loop has nothing to wait for, so its run ends.
        self.over = Source(perform=Source.invalidate)
        self.done = 0

    def thread_main(self) -> None:
        loop, values = RunLoop.current(), Thread.current().dictionary
        values[EXIT_KEY] = False
        loop.add(self.exit_now)

        exit_now = False
        while self.done < PIECES and not exit_now:
            self.done += 1  # a piece of the work would be done here
            treadle.perform_on_main(self.progressed, wait=True)
            loop.run(seconds=0)  # looks whether the source was signalled, and does not wait
            exit_now = values[EXIT_KEY]

        self.exit_now.invalidate()
        self.over.signal()

    def progressed(self) -> None:
        """On the main thread; the job waits meanwhile."""
        if self.done == self.enough:
            print(f"  {self.done} of {PIECES} pieces are enough: the job is told to end")
            self.exit_now.signal()


def run(name: str, enough: int) -> None:
    job = Job(enough)
    main_loop = RunLoop.main()
    main_loop.add(job.over)
    print(name)
    thread = Thread(job.thread_main)
    thread.start()
    result = main_loop.run()
    thread.join()
    ended = "finished" if result is RunResult.FINISHED else "stopped"
    print(f"  it ended with {job.done} of {PIECES} pieces done; the main loop was {ended}")


run("a job that is left alone", PIECES + 1)
run("a job that is told to end", 3)
