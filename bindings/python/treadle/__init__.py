# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Run loops for Python: sources, timers, observers and descriptors, with CFRunLoop's semantics.

    import treadle

    loop = treadle.RunLoop.current()

    @loop.every(0.5)
    def tick(timer):
        print("tick")

    loop.run(seconds=2)

Times are seconds, as float; dates are those of time.monotonic(). Every method may be called on any thread
and from inside every callback, unless its text says otherwise.
"""

from . import _capi, _dispatch
from ._descriptor import FileDescriptor, HasFileno
from ._errors import (
    DeadlockError,
    Error,
    Forked,
    InvalidArgument,
    LoopClosed,
    StaleHandle,
    SystemFailure,
    Timeout,
    Unsupported,
    WrongThread,
)
from ._frames import ExceptHookArgs, excepthook
from ._future import Future
from ._item import Item
from ._loop import RunLoop
from ._observer import Observer
from ._source import Source
from ._timer import Timer
from ._types import COMMON, DEFAULT, Activity, Events, Mode, RunResult

__version__ = f"{_capi.VERSION_MAJOR}.{_capi.VERSION_MINOR}.{_capi.VERSION_PATCH}"

__all__ = [
    "COMMON",
    "DEFAULT",
    "Activity",
    "DeadlockError",
    "Error",
    "Events",
    "ExceptHookArgs",
    "FileDescriptor",
    "Forked",
    "Future",
    "HasFileno",
    "InvalidArgument",
    "Item",
    "LoopClosed",
    "Mode",
    "Observer",
    "RunLoop",
    "RunResult",
    "Source",
    "StaleHandle",
    "SystemFailure",
    "Timeout",
    "Timer",
    "Unsupported",
    "WrongThread",
    "excepthook",
]

del _dispatch
