# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What a plugin in Python makes belongs to it, wherever its code runs: PLUG-3.

A plugin in C hands itself over with each call, by the table that it was given. A plugin in Python is known by its code:
the innermost frame of the stack that runs in the globals of a plugin's module tells who makes something. While no such
plugin is loaded nobody looks.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any, Callable, Dict, List, Optional

from ._errors import LoopClosed, StaleHandle
from ._library import native

#: The functions of the library that make something, as far as the package calls them.
MAKERS = (
    "treadle_closure_create",
    "treadle_descriptor_create",
    "treadle_host_pool_add",
    "treadle_host_post",
    "treadle_invocation_create",
    "treadle_invocation_perform",
    "treadle_loop_post_in",
    "treadle_message_port_create_local",
    "treadle_message_port_create_remote",
    "treadle_notification_add",
    "treadle_observer_create",
    "treadle_perform",
    "treadle_port_create",
    "treadle_scope_create",
    "treadle_source_create",
    "treadle_thread_create",
    "treadle_timer_create",
)

#: What code of a plugin waits by: inside of its scope, whose end then waits for a look of the waiter instead of being refused.
WAITS = ("treadle_host_wait",)

#: Called when one of the functions was replaced: for modules that keep one under a name of their own.
followers: List[Callable[[], None]] = []
#: The handles of the plugins' scopes, by the identity of their modules' globals.
_owners: Dict[int, int] = {}
_lock = threading.Lock()
#: What looks is in the place of these, by their names, while there are owners.
_originals: Dict[str, Callable[..., int]] = {}


def add(module_globals: Dict[str, Any], scope: int) -> None:
    """From now on what this module's code makes belongs to the scope."""
    with _lock:
        _owners[id(module_globals)] = scope
        if not _originals:
            _originals.update((name, getattr(native, name)) for name in MAKERS + WAITS)
            _install({name: _owned(function, name in WAITS) for name, function in _originals.items()})


def remove(module_globals: Dict[str, Any]) -> None:
    """The module's plugin has ended, and its code is forgotten."""
    with _lock:
        _owners.pop(id(module_globals), None)
        if not _owners and _originals:
            _install(_originals)
            _originals.clear()


def forget_parent() -> None:
    """In the child of a fork another thread may have held the lock."""
    global _lock
    _lock = threading.Lock()


def _install(functions: Dict[str, Callable[..., int]]) -> None:
    for name, function in functions.items():
        setattr(native, name, function)
    for follow in followers:
        follow()


def may_own() -> bool:
    """Whether what the calling thread makes may belong to a plugin."""
    return bool(_owners)


def owner_of(error: BaseException) -> int:
    """The handle of the plugin in whose code an exception was raised, or that called the code; 0 if there is none."""
    owner = 0
    trace = error.__traceback__
    while trace is not None:
        owner = _owners.get(id(trace.tb_frame.f_globals), owner)
        trace = trace.tb_next
    return owner


def is_late(error: BaseException) -> bool:
    """Whether this only tells code of a plugin that runs still that the plugin ends: nobody else needs to know."""
    if not _owners or not isinstance(error, (LoopClosed, StaleHandle)):
        return False
    trace = error.__traceback__
    while trace is not None:
        owner = _owners.get(id(trace.tb_frame.f_globals))
        if owner is not None and not native.treadle_is_valid(owner):
            return True
        trace = trace.tb_next
    return False


def _owner(frame: Optional[FrameType]) -> int:
    while frame is not None:
        owner = _owners.get(id(frame.f_globals))
        if owner is not None:
            return owner
        frame = frame.f_back
    return 0


def _owned(function: Callable[..., int], is_wait: bool) -> Callable[..., int]:
    """The function, called inside of the scope of the plugin whose code calls. A wait may begin while that ends."""

    def call(*arguments: Any) -> int:
        owner = _owner(sys._getframe(1)) if _owners else 0
        if not owner:
            return function(*arguments)
        status: int = native.treadle_scope_enter(owner)
        if status < 0:
            return function(*arguments) if is_wait else status
        try:
            return function(*arguments)
        finally:
            native.treadle_scope_leave(owner)

    return call
