# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Threads that Python did not create, as the module threading shows them: their hooks and names."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import Dict, Optional

from ._arguments import encoded_text
from ._library import native

_active = threading._active  # type: ignore[attr-defined]


class ThreadView(threading._DummyThread):
    """What threading.current_thread() returns on such a thread: its name is that of the Treadle thread.

    The handle is borrowed: once the thread has ended it is stale, and the last name stays.
    """

    def __init__(self, handle: Optional[int]) -> None:
        self._treadle_handle = handle
        super().__init__()

    @property
    def name(self) -> str:
        """The thread's name; one of threading's own if it has none."""
        text = name_of(self._treadle_handle)
        if text:
            self._treadle_name = text
        elif text is None:
            return self.__dict__.get("_treadle_name") or self._name
        return text or self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = self._treadle_name = str(name)
        if self._treadle_handle is not None:
            native.treadle_thread_set_name(self._treadle_handle, encoded_text(self._name, "the name of a thread"))


def name_of(handle: Optional[int]) -> Optional[str]:
    """The name of a thread; None if there is no such thread any more."""
    length = ctypes.c_size_t(60)
    while handle is not None:
        buffer = ctypes.create_string_buffer(length.value + 1)
        if native.treadle_thread_get_name(handle, buffer, len(buffer), length) < 0:
            break
        if length.value < len(buffer):
            return buffer.raw[: length.value].decode(errors="replace")
    return None


def introduce() -> None:
    """Makes the calling thread known to threading, and has the hooks of settrace() and setprofile() see it.

    threading does the same for its own threads, before their first line.
    """
    if threading.get_ident() not in _active:
        ThreadView(native.treadle_thread_current())
    if threading._trace_hook is not None:  # type: ignore[attr-defined]
        sys.settrace(threading._trace_hook)  # type: ignore[attr-defined]
    if threading._profile_hook is not None:
        sys.setprofile(threading._profile_hook)


def _hide() -> None:
    """Before a fork: before Python 3.13 the child cannot end when its only thread is one that threading did not create."""
    if isinstance(_active.get(threading.get_ident()), ThreadView):
        _hidden[threading.get_ident()] = _active.pop(threading.get_ident())


def _show() -> None:
    view = _hidden.pop(threading.get_ident(), None)
    if view is not None:
        _active[threading.get_ident()] = view


#: The views of threads that fork right now.
_hidden: Dict[int, threading.Thread] = {}
os.register_at_fork(before=_hide, after_in_parent=_show, after_in_child=_hidden.clear)
