#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Treadle's Python package, with the loop on a thread of its own."""

import socket
import threading
import time
from typing import Callable

import treadle
import treadle.aio

import event_loops
from common import CALLBACKS, POSTS, UNITS, WAITS, amount, demand, live_in, on_thread, rate, serve


def make_loop() -> treadle.RunLoop:
    loop = treadle.RunLoop.current()

    def add(idle: socket.socket, never: Callable[..., None]) -> None:
        loop.add(treadle.FileDescriptor(idle, never))
        loop.add(treadle.Timer(never, delay=3600))
        loop.add(treadle.Source(perform=never))

    live_in(add)
    return loop


class Host:
    """A loop on a thread; a source that is never signalled keeps it from finishing."""

    def __init__(self) -> None:
        self.thread = treadle.Thread(self._main)
        self.thread.start_and_wait()
        self.loop = self.thread.loop

    def _main(self) -> None:
        loop = make_loop()
        loop.add(treadle.Source())
        loop.run()

    def stop(self) -> None:
        self.loop.request_stop()
        self.thread.join()


def post() -> float:
    host, count, done = Host(), amount(POSTS), threading.Event()
    seen = []

    def task(number: int) -> None:
        seen.append(number)
        if number == count - 1:
            done.set()

    started = time.perf_counter_ns()
    for number in range(count):
        host.loop.post(task, number)
    done.wait()
    result = rate(count, started)
    host.stop()
    demand(seen == list(range(count)), "each task runs once, in its order")
    return result


def wait() -> float:
    host, count = Host(), amount(WAITS)

    def measure() -> float:
        started = time.perf_counter_ns()
        for number in range(count):
            demand(host.thread.perform(int, number, wait=True) == number, "the caller gets what the function returned")
        return rate(count, started)

    result = on_thread(measure)
    host.stop()
    return result


def callback() -> float:
    """Sources that are signalled; the time of the pass that performs all of them."""
    loop, count, calls = make_loop(), amount(CALLBACKS), 0

    def perform(source: treadle.Source) -> None:
        nonlocal calls
        calls += 1

    sources = [treadle.Source(perform=perform) for _ in range(count)]
    for source in sources:
        loop.add(source)
        source.signal()
    started = time.perf_counter_ns()
    loop.run(seconds=0)
    took = time.perf_counter_ns() - started
    demand(calls == count, "each source is performed once")
    return took / count


WORKLOADS = {"py_post": post, "py_wait": wait, "py_callback": callback}
serve("treadle", "own", {**WORKLOADS, **event_loops.workloads(treadle.aio.EventLoop)}, {**UNITS, **event_loops.UNITS})
