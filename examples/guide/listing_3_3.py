# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Listings 3-3 to 3-9: a custom input source with a buffer of commands, and the two sides that use it.

The worker adds the source to its loop. That calls the source's schedule routine, by which the main side learns how
to reach it. The main side fills the buffer, signals the source and wakes the worker's loop, whose next pass performs
the source. The last command invalidates it; its cancel routine has the main side forget it. Nothing is left then
that either loop could wait for, so both runs end by themselves."""

from typing import List, NamedTuple, Optional

import treadle
from treadle import Lock, Mode, RunLoop, Source, Thread

QUIT = 0  # a command; every other number is to be squared


# --- 3-3: the source with its commands, and what the main side knows of it


class CommandSource:
    def __init__(self, registry: "Registry") -> None:
        self.registry = registry
        self.lock = Lock()  # guards the commands
        self.commands: List[int] = []
        self.source = Source(schedule=self.schedule, perform=self.perform, cancel=self.cancel)

    # --- 3-4: the source is scheduled, on the worker's thread

    def schedule(self, source: Source, loop: RunLoop, mode: Mode) -> None:
        treadle.perform_on_main(self.registry.register, Registration(self, loop))

    # --- 3-5: the source does its work, on the worker's thread

    def perform(self, source: Source) -> None:
        with self.lock:
            commands, self.commands = self.commands, []
        for command in commands:
            if command == QUIT:
                source.invalidate()
            else:
                print(f"worker: {command} squared is {command * command}")

    # --- 3-6: the source was invalidated, here on the worker's thread

    def cancel(self, source: Source, loop: RunLoop, mode: Mode) -> None:
        print("worker: the source is cancelled")
        treadle.perform_on_main(self.registry.forget, Registration(self, loop))

    # --- 3-9: giving commands, on any thread

    def add_command(self, command: int) -> None:
        with self.lock:
            self.commands.append(command)


class Registration(NamedTuple):
    """A command source, and the loop to which it was added."""

    source: CommandSource
    loop: RunLoop

    def fire_commands(self) -> None:
        """Signal and wake: without the second, a loop that sleeps would not look. A plain signal() does both."""
        self.source.source.signal(wake=False)
        self.loop.wake_up()


# --- 3-7: adding the source to the worker's loop


def worker_main(commands: CommandSource) -> None:
    loop = RunLoop.current()
    loop.add(commands.source)
    loop.run()  # ends when the source has left the mode


# --- 3-8: the main side registers and forgets the source


class Registry:
    """What the main thread knows. It alone calls these, in its run loop, so they need no lock."""

    def __init__(self) -> None:
        self.registered: Optional[Registration] = None
        # Without this source the main loop has nothing to wait for, so its run ends.
        self.keeper = Source()

    def register(self, registration: Registration) -> None:
        self.registered = registration
        print("main: a source is registered")
        for command in (1, 2, 3, QUIT):
            registration.source.add_command(command)
        registration.fire_commands()

    def forget(self, registration: Registration) -> None:
        if self.registered == registration:
            self.registered = None
            print("main: the source is forgotten")
            self.keeper.invalidate()


def main() -> None:
    registry = Registry()
    main_loop = RunLoop.main()
    main_loop.add(registry.keeper)
    worker = Thread(worker_main, [CommandSource(registry)])
    worker.start()
    main_loop.run()
    worker.join()
    print("main: a source is left" if registry.registered else "main: no source is left")


main()
