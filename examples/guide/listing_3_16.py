# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Listing 3-16: a port that is registered under a name, by which another process gets it.

The parent registers its port, adds it to its loop, and runs that. The child, a program of its own, cannot be handed the port
itself: it asks for the name, sends two numbers and waits for the reply to each, and then sends word to end, for which it does
not wait."""

import os
import subprocess
import sys
from typing import Optional

from treadle import IncomingMessage, MessagePort, RunLoop

SQUARE, END = 1, 2


def ask(name: str) -> None:
    """The process that asks."""
    port = MessagePort.remote(name)
    for number in (7, 8):
        reply = port.request(number.to_bytes(4, "little"), id=SQUARE, timeout=60)
        assert int.from_bytes(reply, "little") == number * number
    port.send(id=END, timeout=60)


def serve(name: str) -> None:
    """The process that serves the name."""

    def receive(message: IncomingMessage) -> Optional[bytes]:
        if message.id == END:
            print("that was all")
            message.port.invalidate()  # the loop has nothing to wait for then
        elif message.id == SQUARE and len(message.data) == 4:
            number = int.from_bytes(message.data, "little")
            print(number, "from", "the child" if message.sender_process == child.pid else "somebody else")
            return (number * number).to_bytes(4, "little")
        return None

    RunLoop.current().add(MessagePort.local(name, receive))
    child = subprocess.Popen([sys.executable, __file__, name])  # the name is registered by now
    result = RunLoop.current().run()
    print(f"the run is over: TREADLE_RUN_{result.name}")
    print("the child is", "content" if child.wait() == 0 else "not content")


if len(sys.argv) > 1:
    ask(sys.argv[1])
else:
    serve(f"org.example.squares.{os.getpid()}")
