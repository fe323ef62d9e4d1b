# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What asyncio asks for ready descriptors. It never waits: the run loop does."""

from __future__ import annotations

import os
import select
import selectors
import weakref
from selectors import EVENT_READ, EVENT_WRITE, SelectorKey
from typing import Dict, List, Optional, Tuple

# As the selectors of the standard library take errors and hang-ups: for both.
_READ = ~select.EPOLLOUT
_WRITE = ~select.EPOLLIN
#: For how many ends of asyncio's turns nothing more is expected to be ready, after one at which nothing was.
_PAUSE = 7


class Selector(selectors.EpollSelector):
    """An epoll with all of an event loop's descriptors, which is itself a descriptor of the run loop.

    So however many of them are ready, the run loop has one event to handle, and asyncio has all of them at one call.
    """

    # Of the standard library's class, which does not declare them.
    _selector: select.epoll
    _fd_to_key: Dict[int, SelectorKey]

    def __init__(self) -> None:
        super().__init__()
        self._poll = self._selector.poll
        #: What a look has found, and select() gives next.
        self._found: List[Tuple[int, int]] = []
        self._pause = 0
        _selectors.add(self)

    def has_more(self) -> bool:
        """Whether more is ready already, so that asyncio goes on without a sleep in between.

        A busy server finds something nearly every time. One that waits for its clients would ask for nothing, so it asks
        at one sleep of eight.
        """
        if self._pause:
            self._pause -= 1
            return False
        self._found = self._poll(0, len(self._fd_to_key) or 1)
        if not self._found:
            self._pause = _PAUSE
        return bool(self._found)

    def select(self, timeout: Optional[float] = None) -> List[Tuple[SelectorKey, int]]:
        """What is ready now, whatever the timeout."""
        found = self._found
        if found:
            self._found = []
        else:
            found = self._poll(0, len(self._fd_to_key) or 1)
        ready: List[Tuple[SelectorKey, int]] = []
        for fd, seen in found:
            key = self._fd_to_key.get(fd)
            if key is not None:  # otherwise it was taken out since the look
                mask = (EVENT_READ if seen & _READ else 0) | (EVENT_WRITE if seen & _WRITE else 0)
                ready.append((key, mask & key.events))
        return ready

    def _forget_parent(self) -> None:
        """The child of a fork leaves the epoll to its parent: to take a descriptor out here would take it out there."""
        self._selector.close()
        self._selector = select.epoll()
        self._poll = self._selector.poll
        self._fd_to_key.clear()
        self._found = []


_selectors: weakref.WeakSet[Selector] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for selector in list(_selectors):
        if not selector._selector.closed:
            selector._forget_parent()


os.register_at_fork(after_in_child=_after_fork_in_child)
