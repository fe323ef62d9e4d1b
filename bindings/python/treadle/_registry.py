# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What the package knows of its living objects.

The library names an object by a token, a number that is never used twice. Behind a token stands a weak
reference: an item that nobody holds and that is in no loop goes away. What is in a loop is held by that
loop (`RunLoop._held`), and so is a loop by its thread (`alive`).
"""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import TYPE_CHECKING, Callable, Dict

if TYPE_CHECKING:
    from ._future import Block
    from ._item import Item
    from ._loop import RunLoop

#: Where tokens come from.
tokens = itertools.count(1)


class ItemReference(weakref.ref):  # type: ignore[type-arg]
    """The weak reference behind an item's token; gives the native object back when the item is collected."""

    __slots__ = ("token", "handle", "release")

    token: int
    handle: int
    release: Callable[[int], int]

    def __new__(cls, item: Item, token: int, handle: int, release: Callable[[int], int]) -> ItemReference:
        return super().__new__(cls, item, _collected)

    def __init__(self, item: Item, token: int, handle: int, release: Callable[[int], int]) -> None:
        super().__init__(item, _collected)  # type: ignore[call-arg]
        self.token = token
        self.handle = handle
        self.release = release


#: The items by token.
items: Dict[int, ItemReference] = {}
#: The blocks that wait for their loop, by token.
blocks: Dict[int, Block] = {}
#: Every loop that somebody knows, by handle.
loops: weakref.WeakValueDictionary[int, RunLoop] = weakref.WeakValueDictionary()
#: The loops of living threads, by handle: a loop keeps its settings while its thread lives.
alive: Dict[int, RunLoop] = {}
#: The loops of threads that Python did not make, by the thread's identity.
foreign: Dict[int, RunLoop] = {}
#: Guards `alive`, `foreign` and what the loops hold. Re-entrant, since a collection may run anywhere.
lock = threading.RLock()


def _collected(reference: ItemReference) -> None:
    items.pop(reference.token, None)
    reference.release(reference.handle)


def forget_everything(forked_handle: int) -> None:
    """In the child of a fork: the parent's objects do not exist here."""
    global lock
    for reference in items.values():
        item = reference()
        if item is not None:
            item._handle = forked_handle
    for loop in list(loops.values()):
        loop._handle = forked_handle
        loop._held.clear()
        loop._pending.clear()
    for table in (items, blocks, loops, alive, foreign):
        table.clear()
    lock = threading.RLock()
