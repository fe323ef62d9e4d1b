#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""asyncio, whose loop runs on a thread of its own."""

import asyncio
import concurrent.futures
import socket
import threading
import time
from typing import Callable

import event_loops
from common import CALLBACKS, POSTS, UNITS, WAITS, amount, demand, live_in, on_thread, rate, serve


def make_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()

    def add(idle: socket.socket, never: Callable[..., None]) -> None:
        loop.add_reader(idle.fileno(), never)
        loop.call_later(3600, never)

    live_in(add)
    return loop


class Host:
    """A loop on a thread."""

    def __init__(self) -> None:
        self.loop = make_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


def post() -> float:
    host, count, done = Host(), amount(POSTS), threading.Event()
    seen = []

    def task(number: int) -> None:
        seen.append(number)
        if number == count - 1:
            done.set()

    started = time.perf_counter_ns()
    for number in range(count):
        host.loop.call_soon_threadsafe(task, number)
    done.wait()
    result = rate(count, started)
    host.stop()
    demand(seen == list(range(count)), "each task runs once, in its order")
    return result


def wait() -> float:
    host, count = Host(), amount(WAITS)

    def answer(future: "concurrent.futures.Future[int]", number: int) -> None:
        future.set_result(number)

    def measure() -> float:
        started = time.perf_counter_ns()
        for number in range(count):
            future: "concurrent.futures.Future[int]" = concurrent.futures.Future()
            host.loop.call_soon_threadsafe(answer, future, number)
            demand(future.result() == number, "the caller gets what the function returned")
        return rate(count, started)

    result = on_thread(measure)
    host.stop()
    return result


def callback() -> float:
    """Callbacks that wait in the loop; the time of the run that calls all of them."""
    loop, count, calls = make_loop(), amount(CALLBACKS), 0

    def task() -> None:
        nonlocal calls
        calls += 1

    for _ in range(count):
        loop.call_soon(task)
    loop.call_soon(loop.stop)
    started = time.perf_counter_ns()
    loop.run_forever()
    took = time.perf_counter_ns() - started
    loop.close()
    demand(calls == count, "each callback is called once")
    return took / count


WORKLOADS = {"py_post": post, "py_wait": wait, "py_callback": callback}
serve("asyncio", "peer", {**WORKLOADS, **event_loops.workloads(asyncio.SelectorEventLoop)}, {**UNITS, **event_loops.UNITS})
