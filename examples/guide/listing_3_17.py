# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Listings 3-17 to 3-19: a thread that checks in with the main thread by message ports.

The main thread serves a name, and starts a program whose thread it hands the name to (3-17). That thread connects to it, serves a
name of its own, and sends that as its check-in message (3-19). The main thread connects to the thread's name (3-18), asks it for
two squares, and tells it to end. The C program beside this one starts a thread of its own process in the same way: the names are
all that the two sides know of each other."""

import os
import subprocess
import sys
from typing import Optional

from treadle import IncomingMessage, MessagePort, RunLoop

CHECK_IN, SQUARE, END = 100, 101, 102


def work(main_name: str) -> None:
    """Listing 3-19."""
    main_port = MessagePort.remote(main_name)

    def process_request(message: IncomingMessage) -> Optional[bytes]:
        if message.id == SQUARE and len(message.data) == 1:
            return bytes([message.data[0] ** 2])
        if message.id == END:
            print("the thread: the main thread's port is", "valid" if main_port.check() else "invalid", flush=True)
            RunLoop.current().stop()
        return None

    with MessagePort.local(main_name.replace("MainThread", "Thread"), process_request) as my_port:
        RunLoop.current().add(my_port)
        main_port.send(my_port.name.encode(), id=CHECK_IN, timeout=60)
        RunLoop.current().run()


class Main:
    thread_port: MessagePort

    def handle_response(self, message: IncomingMessage) -> None:
        """Listing 3-18."""
        if message.id == CHECK_IN:
            print("the thread has checked in", flush=True)
            loop = RunLoop.current()
            self.thread_port = MessagePort.remote(message.data.decode(), invalidated=lambda port: loop.stop())
            loop.add(self.thread_port)
            for number in (5, 6):
                reply = self.thread_port.request(bytes([number]), id=SQUARE, timeout=60)
                print(f"{number} squared: {reply[0]}", flush=True)
            self.thread_port.send(id=END, timeout=60)

    def spawn(self) -> None:
        """Listing 3-17."""
        name = f"com.myapp.MainThread.{os.getpid()}"
        my_port = MessagePort.local(name, self.handle_response)
        RunLoop.current().add(my_port)
        process = subprocess.Popen([sys.executable, __file__, name])
        RunLoop.current().run()  # until the thread's port has ended
        process.wait()
        print("the thread's port is", "valid" if self.thread_port.check() else "invalid")


if len(sys.argv) > 1:
    work(sys.argv[1])
else:
    Main().spawn()
