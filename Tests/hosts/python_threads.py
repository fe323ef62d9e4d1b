# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The list of host tests, in Python: threads, what ends while it is used, ports, scopes and closures."""

from __future__ import annotations

import ctypes
import threading
import weakref

import treadle
from python_host import Case, refuses, require, started_worker
from treadle import Closure, DeadlockError, LoopClosed, Message, Port, RunResult, Scope, Source, Thread


class Value:
    """What a dictionary keeps."""


class Threads(Case):
    def thread_order(self) -> None:
        worker = started_worker()
        for number in range(100):
            worker.perform(lambda number=number: self.seen.append((number, Thread.current() is worker)))
        worker.perform(int, wait=True)
        require(self.seen == [(number, True) for number in range(100)], "order")
        worker.stop_and_join()

    def thread_closed(self) -> None:
        worker = started_worker()
        worker.stop_and_join()
        for wait in (False, True):
            refuses(LoopClosed, "thread", lambda: worker.perform(int, wait=wait))

    def thread_at_once(self) -> None:
        worker, inside, go_on = started_worker(), threading.Event(), threading.Event()
        loop = worker.loop
        loop.post(lambda: (self.seen.append("first"), inside.set(), go_on.wait()))
        for _ in range(3):
            loop.post(self.seen.append, "other")
        inside.wait()
        worker.stop(at_once=True)
        go_on.set()
        worker.join()
        require(self.seen == ["first"], f"{self.seen}")
        refuses(LoopClosed, "", lambda: loop.perform(self.seen.append, "late").result())
        loop.wake_up()

    def deadlock(self) -> None:
        worker, own = started_worker(), Thread.current()
        worker.perform(lambda: refuses(DeadlockError, "thread", lambda: own.perform(int, wait=True)), wait=True)
        worker.stop_and_join()

    def thread_of_loop(self) -> None:
        worker = started_worker()
        loop = worker.loop
        require(Thread.of_loop(loop) is worker and Thread.of_loop(self.loop) is Thread.current(), "thread")
        worker.stop_and_join()
        refuses(treadle.Error, "finished", lambda: Thread.of_loop(loop))

    def values(self) -> None:
        value, worker = Value(), started_worker()
        gone = weakref.ref(value)
        worker.perform(lambda: Thread.current().dictionary.update(key=value), wait=True)
        require(worker.dictionary["key"] is value, "kept")
        del value
        worker.stop_and_join()
        require(gone() is None, "ended")
        refuses(treadle.Error, "thread", lambda: worker.dictionary.update(key=1))

    def close(self) -> None:
        def perform(source: Source) -> None:
            refuses(DeadlockError, "object", source.close)
            inside.set()
            go_on.wait()

        worker, inside, go_on, source = started_worker(), threading.Event(), threading.Event(), Source(perform=perform)
        worker.loop.add(source)
        source.signal()
        inside.wait()
        refuses(treadle.Timeout, "", lambda: source.close(1e-9))
        require(not source.is_valid, "valid")
        go_on.set()
        source.close()
        worker.stop_and_join()

    # --- Ports ---

    def port(self, capacity: "int | None" = None) -> Port:
        def receive(message: Message) -> None:
            self.seen.append(str(message.id))
            self.seen += ["port" if isinstance(part, Port) else bytes(part).decode() for part in message.components]
            if message.reply_port:
                message.reply_port.send(b"yes", id=2)

        return self.added(Port(receive, **({} if capacity is None else {"capacity": capacity})))

    def message(self) -> None:
        port = self.port()
        port.send(b"ab", port, id=1)
        port.send(b"c", id=2)
        self.loop.run(self.mode, 0)
        require(self.seen == ["1", "ab", "port"], f"{self.seen}")
        self.loop.run(self.mode, 0)
        require(self.seen[3:] == ["2", "c"], f"{self.seen}")

    def reply(self) -> None:
        port, answers = self.port(), self.port()
        port.send(id=1, reply_port=answers)
        for _ in range(2):
            self.loop.run(self.mode, 0)
        require(self.seen == ["1", "2", "yes"], f"{self.seen}")

    def port_full(self) -> None:
        port = self.port(1)
        port.send(b"a", id=1, timeout=0)
        refuses(treadle.Timeout, "", lambda: port.send(b"b", id=1, timeout=0))
        self.loop.run(self.mode, 0)
        require(self.seen == ["1", "a"], f"{self.seen}")
        port.send(b"c", id=2, timeout=0)

    def port_ended(self) -> None:
        port = self.port()
        port.send(b"a", id=1)
        port.invalidate()
        refuses(LoopClosed, "port", lambda: port.send(b"b", id=1))
        require(self.loop.run(self.mode, 0) == RunResult.FINISHED and self.seen == [], f"{self.seen}")

    # --- Scopes and closures ---

    def scope(self) -> None:
        scope = Scope()
        with scope.entered():
            source = Source(perform=self.note("s"))
            self.loop.add(source, self.mode)
            source.signal()
            self.loop.perform(self.seen.append, "p", modes=self.mode)
        require(source.is_valid, "valid")
        scope.close()
        require(not source.is_valid, "ended")
        for _ in range(2):
            self.loop.run(self.mode, 0, when_empty=True)
        require(self.seen == [], f"{self.seen}")

    def scope_closed(self) -> None:
        scope = Scope()
        with scope.entered():
            scope.close()
            refuses(LoopClosed, "scope", Source)
            refuses(LoopClosed, "scope", lambda: self.loop.post(print))
        refuses(LoopClosed, "scope", scope.enter)

    def closure(self) -> None:
        pointer = ctypes.POINTER(ctypes.c_int)
        signature = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer)

        def compare(one: "ctypes._Pointer", two: "ctypes._Pointer") -> int:
            self.seen.append("c")
            return (one[0] > two[0]) - (one[0] < two[0])

        numbers, made = (ctypes.c_int * 3)(3, 1, 2), Closure(signature, compare)
        ctypes.CDLL(None).qsort(numbers, ctypes.c_size_t(3), ctypes.c_size_t(4), made.pointer)
        require(list(numbers) == [1, 2, 3] and self.seen, f"{list(numbers)}")
        made.close()
