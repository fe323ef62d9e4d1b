# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What asyncio's debug mode costs: it records a stack for each handle, future and task."""

from __future__ import annotations

import linecache

from .. import _dispatch, _loop
from . import _turns

#: The files whose frames are below those of every task.
_FILES = tuple(module.__file__ for module in (_dispatch, _loop, _turns) if module.__file__) + (
    __file__.replace("_debugging", "_loop"),
)


def keep_lines() -> None:
    """For each stack the standard library asks the system whether a file of it has changed. Ours do not while they are imported:
    a line without a date is one of no file, for which nothing is asked."""
    for name in _FILES:
        lines = linecache.getlines(name)
        if lines:
            linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
