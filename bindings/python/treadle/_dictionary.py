# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What a thread carries with it."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, MutableMapping, Tuple

from . import _capi
from ._errors import Error

_NOTHING: Any = object()


class ThreadDictionary(MutableMapping[str, Any]):
    """A thread's own values by name, which other threads may read and change too. Since 1.0.

    It lives until the thread's will-exit notification is over; it is empty then, and refuses to be changed.
    """

    __slots__ = ("_values", "_is_over")

    def __init__(self) -> None:
        """Made with the thread: use Thread.dictionary. Since 1.0."""
        self._values: Dict[str, Any] = {}
        self._is_over = False

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"a key is a str, not {type(key).__name__}")
        self._values[key] = value
        # Order: the value before _is_over. _close() writes _is_over, and then takes what it finds.
        if self._is_over:
            self._values.pop(key, None)
            raise Error("the thread has finished", _capi.E_STATE)

    def __delitem__(self, key: str) -> None:
        del self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._values))

    def __len__(self) -> int:
        return len(self._values)

    # Each of these is one step for other threads; those of MutableMapping are several.

    def pop(self, key: str, default: Any = _NOTHING) -> Any:
        """As in dict. Any thread. Since 1.0."""
        return self._values.pop(key) if default is _NOTHING else self._values.pop(key, default)

    def popitem(self) -> Tuple[str, Any]:
        """As in dict: the latest. Any thread. Since 1.0."""
        return self._values.popitem()

    def clear(self) -> None:
        """As in dict. Any thread. Since 1.0."""
        self._values.clear()

    def __repr__(self) -> str:
        return f"<ThreadDictionary {dict(self._values)!r}>"

    def _close(self) -> None:
        """The thread is over: drops the values, the latest first."""
        self._is_over = True
        with contextlib.suppress(KeyError):  # empty; others may delete meanwhile
            while True:
                self._values.popitem()
