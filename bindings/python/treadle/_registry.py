# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What the package knows of its living objects.

The library names an object by a token, a number that is never used twice. Behind a token stands a weak
reference: an item that nobody holds and that is in no loop goes away. What is in a loop is held by that
loop (`RunLoop._held`), and so is a loop by its thread (`alive`). Functions that are called once, and the
callbacks of notifications, are held by their tables until they were called, or their tokens are retired.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from contextvars import Context
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Protocol, Set, Tuple

if TYPE_CHECKING:
    from ._closure import Closure
    from ._invocation import Invocation
    from ._item import Item
    from ._lock import NativeLock
    from ._loop import RunLoop
    from ._message_port import MessagePort
    from ._port import Port
    from ._scope import Scope
    from ._thread import Thread
    from .notifications import Registration


class Call(Protocol):
    """Something that the library calls once: a function for a loop or a thread, a thread's entry, a release."""

    def run(self) -> None:
        """The event has come."""

    def discard(self) -> None:
        """The event will never come."""


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
#: Those that a loop holds, which are nearly all that events name.
held: Dict[int, Item] = {}
#: What is called once and was not called yet, by token.
calls: Dict[int, Call] = {}
#: Functions that were posted and were not called yet, with their arguments and contexts, by token.
posts: Dict[int, Tuple[Callable[..., object], Tuple[Any, ...], Context]] = {}
#: The closures, by token, until no call of them can come.
closures: Dict[int, weakref.ref[Closure]] = {}
#: The closures that nobody holds any more, but whose calls may still come, by token.
draining: Dict[int, Closure] = {}
#: The invocations that were not collected.
invocations: weakref.WeakSet[Invocation] = weakref.WeakSet()
#: Those that nobody waits for any more, but whose functions may still run and use what they were given.
lingering: Set[Invocation] = set()
#: The registrations for notifications, by token.
registrations: Dict[int, Registration] = {}
#: Every thread that somebody knows, by handle.
threads: weakref.WeakValueDictionary[int, Thread] = weakref.WeakValueDictionary()
#: The living threads that are known by their object, by identity: a thread keeps its dictionary while it lives.
running: Dict[int, Thread] = {}
#: Every loop that somebody knows, by handle.
loops: weakref.WeakValueDictionary[int, RunLoop] = weakref.WeakValueDictionary()
#: The loops of living threads, by handle: a loop keeps its settings while its thread lives.
alive: Dict[int, RunLoop] = {}
#: The loops of threads that Python did not make, by the thread's identity.
foreign: Dict[int, RunLoop] = {}
#: Every port that somebody knows, by handle, also those that Python did not make.
ports: weakref.WeakValueDictionary[int, Port] = weakref.WeakValueDictionary()
#: The message ports that Python has made, by handle.
message_ports: weakref.WeakValueDictionary[int, MessagePort] = weakref.WeakValueDictionary()
#: Further objects for message ports.
other_message_ports: weakref.WeakSet[MessagePort] = weakref.WeakSet()
#: The locks and conditions.
locks: weakref.WeakSet[NativeLock] = weakref.WeakSet()
#: The scopes.
scopes: weakref.WeakSet[Scope] = weakref.WeakSet()
#: Guards `alive`, `foreign`, `ports`, `message_ports` and what the loops hold. Re-entrant, since a collection may run anywhere.
lock = threading.RLock()


def items_of(handles: Iterable[int]) -> Dict[int, Item]:
    """Those of some handles that are Python's."""
    wanted = set(handles)
    found = ((reference.handle, reference()) for reference in list(items.values()) if reference.handle in wanted)
    return {handle: item for handle, item in found if item is not None}


def _collected(reference: ItemReference, items: Dict[int, ItemReference] = items) -> None:
    # At the end of the interpreter the module's own names may be gone.
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
    for thread in list(threads.values()):
        thread._handle = forked_handle
        thread._held.loop = None
    for port in list(ports.values()):
        port._handle = forked_handle
    for message_port in list(other_message_ports):
        message_port._handle = forked_handle
    other_message_ports.clear()
    for registration in registrations.values():
        registration._native_token = 0
    for native_lock in list(locks):
        native_lock._handle = forked_handle
    locks.clear()
    for scope in list(scopes):
        scope._handle = forked_handle
    scopes.clear()
    for closure_reference in closures.values():
        closure = closure_reference()
        if closure is not None:
            closure._handle = forked_handle
    for closure in draining.values():
        closure._handle = forked_handle
    for invocation in list(invocations):
        invocation._handle = forked_handle
    invocations.clear()
    lingering.clear()
    for table in (items, held, calls, posts, registrations, threads, running, loops, alive, foreign, ports, message_ports, closures, draining):
        table.clear()
    lock = threading.RLock()
