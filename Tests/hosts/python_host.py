# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What the files of the runner in Python share."""

from __future__ import annotations

import time
from typing import Any, Callable

import treadle


def require(condition: object, text: str) -> None:
    if not condition:
        raise AssertionError(text)


def refuses(kind: type, word: str, call: Callable[[], object]) -> None:
    """A call raises an error of this kind, whose text has a word."""
    try:
        call()
    except kind as error:
        require(word in str(error), f"{error} lacks {word}")
        return
    raise AssertionError("was not refused")


def started_worker() -> treadle.Thread:
    worker = treadle.Thread(target=lambda: treadle.RunLoop.current().run(when_empty=True), name="worker")
    worker.start_and_wait()
    return worker


def await_sleep(loop: treadle.RunLoop) -> None:
    """Until a loop sleeps, seldom enough that its thread gets the processor and the interpreter's lock meanwhile."""
    while not loop.is_waiting:
        time.sleep(0.001)


class Case:
    """A case of the list: a method of its name."""

    def __init__(self, name: str) -> None:
        self.mode, self.loop, self.seen = name, treadle.RunLoop.current(), []
        self.ends: "list[Callable[[], object]]" = []

    def play(self) -> None:
        try:
            getattr(self, self.mode.replace("-", "_"))()
        finally:
            for end in reversed(self.ends):
                end()

    def at_end(self, end: Callable[[], object]) -> None:
        self.ends.append(end)

    def added(self, item: Any) -> Any:
        """An item, in the mode of the case until its end."""
        self.loop.add(item, self.mode)
        self.at_end(item.invalidate)
        return item

    def note(self, word: str) -> Callable[..., None]:
        return lambda *_: self.seen.append(word)

    def source(self, word: str) -> treadle.Source:
        return self.added(treadle.Source(perform=self.note(word)))
