# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What loops of asyncio are measured by, whoever made them: callbacks, round trips of echo, calls from another thread.

Where one thread does all of the work its processor's time is measured, and not that of others which have the processor
meanwhile. By itself this compares the loops in one process, by turns of some milliseconds each, so that the ratios hold on a
busy machine too."""

import asyncio
import statistics
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Dict

from common import amount, demand, live_in, rate

CALLS, ROUNDS, POSTS = 100_000, 10_000, 50_000
BYTES = b"x" * 100
UNITS = {"aio_call_soon": "ns", "aio_echo": "us", "aio_serve": "us", "aio_post": "k/s"}

#: A client with a blocking socket, told the port and how often.
CLIENT = """
import socket, sys
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for _ in range(int(sys.argv[2])):
    server.sendall(b"x" * 100)
    left = 100
    while left:
        left -= len(server.recv(left))
"""


class Echo(asyncio.Protocol):
    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(data)


async def call_soon() -> float:
    """Callbacks each of which queues the next one."""
    loop, count = asyncio.get_running_loop(), amount(CALLS)
    over, left = loop.create_future(), count

    def call() -> None:
        nonlocal left
        left -= 1
        if left:
            loop.call_soon(call)
        else:
            over.set_result(None)

    started = time.thread_time_ns()
    loop.call_soon(call)
    await over
    return (time.thread_time_ns() - started) / count


async def echo() -> float:
    """Round trips between two streams of one loop."""
    count = amount(ROUNDS)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(len(BYTES)):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    started = time.thread_time_ns()
    for _ in range(count):
        writer.write(BYTES)
        demand(await reader.readexactly(len(BYTES)) == BYTES, "what was sent comes back")
    took = time.thread_time_ns() - started
    writer.close()
    server.close()
    await asyncio.sleep(0.01)
    return took / count / 1000


async def serve() -> float:
    """Round trips for a client in another process; the time of the serving thread's processor."""
    count = amount(ROUNDS)
    server = await asyncio.get_running_loop().create_server(Echo, "127.0.0.1", 0)
    port = str(server.sockets[0].getsockname()[1])
    client = await asyncio.create_subprocess_exec(sys.executable, "-S", "-c", CLIENT, port, str(count))
    started = time.thread_time_ns()
    demand(await client.wait() == 0, "the client gets all that it has sent")
    took = time.thread_time_ns() - started
    server.close()
    return took / count / 1000


async def post() -> float:
    """Calls from another thread."""
    loop, count = asyncio.get_running_loop(), amount(POSTS)
    over, seen = loop.create_future(), []

    def task(number: int) -> None:
        seen.append(number)
        if number == count - 1:
            over.set_result(None)

    def produce() -> None:
        for number in range(count):
            loop.call_soon_threadsafe(task, number)

    started = time.perf_counter_ns()
    thread = threading.Thread(target=produce)
    thread.start()
    await over
    result = rate(count, started)
    thread.join()
    demand(seen == list(range(count)), "each task runs once, in its order")
    return result


def workloads(make: Callable[[], asyncio.AbstractEventLoop]) -> Dict[str, Callable[[], float]]:
    """The workloads with loops that a function makes."""

    def measured(main: Callable[[], Any]) -> Callable[[], float]:
        def run() -> float:
            loop = make()

            def add(idle: Any, never: Callable[..., None]) -> None:
                loop.add_reader(idle.fileno(), never)
                loop.call_later(3600, never)

            live_in(add)
            try:
                return float(loop.run_until_complete(main()))
            finally:
                loop.close()

        return run

    mains = {"aio_call_soon": call_soon, "aio_echo": echo, "aio_serve": serve, "aio_post": post}
    return {name: measured(main) for name, main in mains.items()}


def compare() -> None:
    """Prints the medians of each, and of the ratios to asyncio's own of the same moment."""
    global CALLS, ROUNDS, POSTS
    import treadle.aio

    makers: Dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
        "treadle": treadle.aio.EventLoop,
        "asyncio": asyncio.SelectorEventLoop,
    }
    try:
        import uvloop

        makers["uvloop"] = uvloop.new_event_loop
    except ImportError:
        pass
    CALLS, ROUNDS, POSTS = 3_000, 150, 5_000
    for workload, turns in (("aio_call_soon", 150), ("aio_echo", 150), ("aio_post", 60)):
        values: Dict[str, list[float]] = {name: [] for name in makers}
        for turn in range(turns):
            for name in list(makers) if turn % 2 else reversed(list(makers)):
                values[name].append(workloads(makers[name])[workload]())
        told = []
        for name, own in values.items():
            ratio = statistics.median(mine / peer for mine, peer in zip(own, values["asyncio"]))
            told.append(f"{name} {statistics.median(own):.1f} {UNITS[workload]} ({ratio:.2f})")
        print(f"{workload}: {', '.join(told)}", flush=True)


if __name__ == "__main__":
    compare()
