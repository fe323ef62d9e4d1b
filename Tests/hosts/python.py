# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The list of host tests, in Python."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time

import treadle
from python_host import await_sleep, require, started_worker
from python_items import Items
from python_threads import Threads
from treadle import Activity, Observer, RunResult, Source, Timer

MILLISECOND = 1_000_000
loop = treadle.RunLoop.current()
seen: list[str] = []


def note(word: str):
    return lambda *_: seen.append(word)


def after(delay: float, fn, modes=None) -> Timer:
    timer = Timer(fn, delay=delay)
    loop.add(timer, modes)
    return timer


def timers() -> None:
    now, dates = time.monotonic(), []

    def beat(timer: Timer) -> None:
        dates.append(timer.next_fire)
        require(time.monotonic() >= dates[-1], "early")
        if len(dates) == 10:
            timer.invalidate()

    for delay, word in ((3, "c"), (1, "a"), (3, "d"), (2, "b")):
        loop.add(Timer(note(word), fire_at=now + delay / 1000))
    loop.add(Timer(beat, fire_at=now + 0.001, interval=0.001))
    require(loop.run() == RunResult.FINISHED, "run")
    require(seen == ["a", "b", "c", "d"], f"order {seen}")
    steps = [(date - dates[0]) * 1000 for date in dates]
    require(all(abs(step - round(step)) < 0.001 for step in steps) and steps == sorted(set(steps)), f"grid {steps}")


def source() -> None:
    def make(word: str, order: int) -> Source:
        made = Source(perform=note(word), schedule=note("+"), cancel=note("-"), order=order)
        loop.add(made, treadle.DEFAULT)
        return made

    first, second, third = make("a", 1), make("b", 0), make("c", 0)
    require(loop.add(first, "other") and not loop.add(first, "other"), "added twice")
    for which in (first, first, third, second):
        which.signal()
    for _ in range(2):
        loop.run(seconds=0)
    for which in (first, second, third):
        which.invalidate()
    require("".join(seen) == "++++cba----", f"order {seen}")


def observer() -> None:
    names = {Activity.ENTRY: "E", Activity.BEFORE_TIMERS: "t", Activity.BEFORE_SOURCES: "s", Activity.BEFORE_WAITING: "w",
             Activity.AFTER_WAITING: "a", Activity.EXIT: "X"}
    timer = after(100, note("!"))

    def observe(_: Observer, activity: Activity) -> None:
        seen.append(names[activity])
        if activity == Activity.BEFORE_WAITING:  # not before, or the first pass could fire it
            timer.next_fire = time.monotonic()

    loop.add(Observer(observe))
    require(loop.run() == RunResult.FINISHED and "".join(seen) == "Etswa!X", f"sequence {seen}")


def nested() -> None:
    def inner(timer: Timer) -> None:
        seen.append("(")
        require(loop.run("other") == RunResult.FINISHED, "inner run")
        seen.append(")")

    after(0.005, note("n"), "other")
    after(0, inner)
    after(0.001, note("o"))
    require(loop.run() == RunResult.FINISHED and "".join(seen) == "(n)o", f"order {seen}")


def stop_inside() -> None:
    def inner(timer: Timer) -> None:
        after(0, lambda _: loop.stop(), "inner")
        require(loop.run("inner", when_empty=True) == RunResult.STOPPED, "inner run")
        seen.append("inner")

    after(0, inner)
    require(loop.run() == RunResult.FINISHED and seen == ["inner"], f"outer run {seen}")
    after(0, lambda _: loop.stop())
    require(loop.run(when_empty=True) == RunResult.STOPPED, "run")


def stop_outside() -> None:
    def stop() -> None:
        await_sleep(loop)
        loop.stop()

    thread = threading.Thread(target=stop)
    thread.start()
    require(loop.run(when_empty=True) == RunResult.STOPPED, "sleeping run")
    thread.join()
    loop.request_stop()
    require(loop.run(when_empty=True) == RunResult.STOPPED, "run that has not begun")


def perform() -> None:
    threads, each = 8, 12500
    counts = [0] * threads
    owner = threading.get_ident()

    def arrive(number: int, i: int) -> None:
        require(threading.get_ident() == owner and counts[number] == i, "order")
        counts[number] += 1
        if sum(counts) == threads * each:
            loop.stop()

    def post(number: int) -> None:
        for i in range(each):
            loop.post(arrive, number, i)

    all_threads = [threading.Thread(target=post, args=[number]) for number in range(threads)]
    for thread in all_threads:
        thread.start()
    require(loop.run(when_empty=True) == RunResult.STOPPED, "run")
    for thread in all_threads:
        thread.join()
    require(counts == [each] * threads, f"lost {counts}")


def wait_value() -> None:
    worker = started_worker()
    require(worker.perform(lambda: 42 if treadle.Thread.current() is worker else 0, wait=True) == 42, "value")
    worker.stop_and_join()


def wait_error() -> None:
    worker = started_worker()
    try:
        worker.perform(int, "weft", wait=True)
    except ValueError as error:
        seen.append(str(error))
    require(len(seen) == 1 and "weft" in seen[0], "raised")
    worker.stop_and_join()


def errors() -> None:
    def fail(_) -> None:
        raise KeyError("escaped")

    after(0, fail)
    after(0, note("on"))
    try:
        loop.run()
    except KeyError as error:
        seen.append(error.args[0])
    require(loop.run() == RunResult.FINISHED and seen == ["escaped", "on"], f"raised {seen}")


def interrupt() -> None:
    def press() -> None:
        await_sleep(loop)
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=press)
    thread.start()
    try:
        loop.run(when_empty=True)
    except KeyboardInterrupt:
        seen.append("^C")
    thread.join()
    require(seen == ["^C"], "KeyboardInterrupt")


def leave_busy() -> None:
    worker, busy = started_worker(), threading.Semaphore(0)

    def begin() -> None:
        of_worker = treadle.RunLoop.current()
        of_worker.add(Timer(lambda _: busy.release(), interval=1e-6))

    worker.loop.post(begin)
    for _ in range(10):
        busy.acquire()


def ends() -> None:
    for _ in range(20):
        result = subprocess.run([sys.executable, __file__, "-leave-busy"], capture_output=True, timeout=60)
        require(result.returncode == 0 and not result.stderr, f"{result.returncode} {result.stderr!r}")


def forks() -> None:
    made = Source(perform=note("s"))
    loop.add(made)
    pid = os.fork()
    if pid == 0:
        try:
            made.signal()
            os._exit(1)
        except treadle.Error as error:
            if not isinstance(error, treadle.Forked):
                os._exit(2)
        own = treadle.RunLoop.current()
        own.add(Timer(lambda _: own.stop(), delay=0))
        os._exit(0 if own.run() == RunResult.STOPPED else 3)
    require(os.waitpid(pid, 0)[1] == 0, "child")
    made.signal()
    require(loop.run(seconds=0) == RunResult.TIMED_OUT and seen == ["s"], f"parent {seen}")


def growth() -> None:
    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1])

    def make_and_drop(count: int) -> None:
        for _ in range(count):
            for item in (Source(perform=note("")), Timer(note(""), delay=3600)):
                loop.add(item)
                item.invalidate()

    make_and_drop(5000)
    pages, descriptors = resident(), len(os.listdir("/proc/self/fd"))
    make_and_drop(50000)
    require(resident() - pages < 512 and len(os.listdir("/proc/self/fd")) == descriptors, f"{resident() - pages} pages")


def polls() -> None:
    fd, poller = loop.open_pollable(), select.poll()
    poller.register(fd, select.POLLIN)
    after(0.005, note("timer"))
    thread = threading.Thread(target=lambda: loop.post(note("post")))
    thread.start()
    while len(seen) < 2:
        require(poller.poll(60000), "told")
        loop.run(seconds=0, when_empty=True)
    thread.join()
    os.close(fd)


def stale() -> None:
    with treadle.Scope() as scope:
        made = Timer(note("t"), delay=0)
        loop.add(made)
    try:
        made.arm(0)
    except treadle.StaleHandle:
        seen.append("stale")
    source = Source(perform=note("s"))
    source.invalidate()
    source.signal()
    require(not source.is_valid and loop.run() == RunResult.FINISHED and seen == ["stale"], f"{seen}")


CASES = {"timers": timers, "source": source, "observer": observer, "nested": nested, "stop-inside": stop_inside,
         "stop-outside": stop_outside, "perform": perform, "wait-value": wait_value, "wait-error": wait_error, "errors": errors,
         "interrupt": interrupt, "exit": ends, "fork": forks, "growth": growth, "poll": polls, "stale": stale}

if __name__ == "__main__":
    if sys.argv[1] == "-leave-busy":
        leave_busy()
        sys.exit()
    for name in sys.argv[1:]:
        method = name.replace("-", "_")
        try:
            CASES[name]() if name in CASES else (Items if hasattr(Items, method) else Threads)(name).play()
            print(f"{name}: pass")
        except AssertionError as failure:
            print(f"{name}: fail ({failure})")
