# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What begins and ends with a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from . import _lifetime, _starting
from ._library import native

if TYPE_CHECKING:
    from ._loop import RunLoop
    from ._thread import Thread


class Held:
    """What a thread's object holds that must be ended with it."""

    __slots__ = ("loop", "is_over")

    def __init__(self) -> None:
        #: The thread's loop, once somebody asked for it.
        self.loop: Optional[RunLoop] = None
        self.is_over = False

    def keep(self, loop: RunLoop) -> None:
        """The thread has this loop. Any thread."""
        self.loop = loop
        # Order: loop before is_over. drop() writes is_over, and then looks at loop: one of the two ends it.
        if self.is_over:
            self.drop()

    def drop(self) -> None:
        """The thread is over, or will never run."""
        self.is_over = True
        loop, self.loop = self.loop, None
        if loop is not None and not loop._has_ended:
            _lifetime.end(loop)


def collected(handle: int, held: Held) -> None:
    """A thread's object is gone. One that runs is held, so this one is over, was never started, or is not ours."""
    native.treadle_release(handle)
    held.drop()


class Entry:
    """What the library calls on a thread that was started."""

    __slots__ = ("_thread", "_is_settled")

    def __init__(self, thread: Thread) -> None:
        self._thread = thread
        self._is_settled = False

    def settle(self) -> None:
        """The start is over, one way or the other."""
        if not self._is_settled:
            self._is_settled = True
            _starting.end()

    def run(self) -> None:
        """The thread has begun: its life."""
        self.settle()
        self._thread._main()

    def discard(self) -> None:
        """The thread will never run."""
        self.settle()
        self._thread._ended()
