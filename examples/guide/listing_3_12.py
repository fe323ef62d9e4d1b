# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Listings 3-12 to 3-15: a worker thread that checks in with the main thread, by ports.

The main thread makes a port, adds it to its own loop, and hands it to the thread that it detaches (3-12). The worker
keeps that port, makes one of its own, and sends a check-in message whose reply port that is (3-15); then it runs its loop
until it is to exit (3-14). The main thread learns from the message where the worker can be reached, keeps that (3-13), and
uses it: it sends work, and at last word to exit."""

from typing import Optional

from treadle import Message, Port, RunLoop, Thread

CHECK_IN, WORK, RESULT, EXIT, BYE = range(100, 105)


class Worker:
    def __init__(self) -> None:
        self.should_exit = False

    def handle_order(self, message: Message) -> None:
        """What the main thread sends to the worker."""
        if message.id == WORK:
            number = int.from_bytes(message.components[0], "little")
            self.remote.send((number * number).to_bytes(4, "little"), id=RESULT, timeout=0)
        elif message.id == EXIT:
            self.should_exit = True

    def send_check_in(self, out: Port) -> None:
        """Listing 3-15. A limit that is over already: the message is sent now, or not at all."""
        self.remote = out
        self.local = Port(self.handle_order)
        RunLoop.current().add(self.local)
        out.send(id=CHECK_IN, reply_port=self.local, timeout=0)

    def run(self, port: Port) -> None:
        """Listing 3-14."""
        self.send_check_in(port)
        while not self.should_exit:
            # Each run returns when it has handled a message.
            RunLoop.current().run(return_after_source_handled=True)
        self.local.invalidate()
        self.remote.send(id=BYE, timeout=0)


class Main:
    distant: Optional[Port] = None

    def handle_message(self, message: Message) -> None:
        """Listing 3-13."""
        if message.id == CHECK_IN:
            self.distant = message.reply_port
            print("the worker has checked in")
            if self.distant is not None:
                for number in range(1, 4):
                    self.distant.send(number.to_bytes(4, "little"), id=WORK)
                self.distant.send(id=EXIT)
        elif message.id == RESULT:
            print("a result:", int.from_bytes(message.components[0], "little"))
        elif message.id == BYE:
            print("the worker's port is", "valid" if self.distant and self.distant.is_valid else "invalid")
            message.port.invalidate()  # the loop has nothing to wait for then

    def launch(self) -> None:
        """Listing 3-12."""
        port = Port(self.handle_message)
        RunLoop.current().add(port)
        Thread.detach(Worker().run, port)
        result = RunLoop.current().run()
        print(f"the run is over: TREADLE_RUN_{result.name}")


Main().launch()
