# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Run loops and threads for Python: sources, timers, observers and descriptors, with CFRunLoop's semantics.

    import treadle

    loop = treadle.RunLoop.current()

    @loop.every(0.5)
    def tick(timer):
        print("tick")

    loop.run(seconds=2)

Times are seconds, as float; dates are those of time.monotonic(). Every method may be called on any thread
and from inside every callback, unless its text says otherwise.
"""

from types import FunctionType

from . import _capi, _dispatch, notifications
from ._delayed import DelayedPerform, cancel_performs, perform_after, perform_in_background
from ._descriptor import FileDescriptor, HasFileno
from ._closure import Closure, ClosureInfo, closure
from ._errors import (
    DeadlockError,
    Error,
    Forked,
    InvalidArgument,
    LoopClosed,
    NoReply,
    PluginError,
    StaleHandle,
    SystemFailure,
    Timeout,
    Unsupported,
    WrongThread,
)
from ._dictionary import ThreadDictionary
from ._frames import ExceptHookArgs, excepthook
from ._future import Future
from ._invocation import Invocation
from ._item import Item, OtherItem
from ._last_resort import LastResortArgs, set_last_resort
from ._lock import Condition, Lock
from ._loop import RunLoop
from ._message_port import IncomingMessage, MessagePort
from ._observer import Observer
from ._plugin import Plugin, PluginState
from ._plugin_description import PluginSetting
from ._plugin_host import PluginHost
from ._pool import pool
from ._port import Message, Port, ReceivedDescriptor
from ._process import perform_on_main, shutdown
from ._scope import Scope, ScopeHolder
from ._source import Source
from ._thread import Thread
from ._timer import Timer
from ._trace import trace_mark, trace_start, trace_stop
from ._types import (
    CALL_MODE,
    COMMON,
    DEFAULT,
    REPLIES,
    Activity,
    ClosureState,
    Counters,
    Events,
    Finish,
    InvocationState,
    Mode,
    Notification,
    RunResult,
    ThreadState,
)
from .notifications import Registration

__version__ = f"{_capi.VERSION_MAJOR}.{_capi.VERSION_MINOR}.{_capi.VERSION_PATCH}"

__all__ = [
    "CALL_MODE",
    "COMMON",
    "DEFAULT",
    "REPLIES",
    "Activity",
    "Closure",
    "ClosureInfo",
    "ClosureState",
    "Condition",
    "Counters",
    "DeadlockError",
    "DelayedPerform",
    "Error",
    "Events",
    "ExceptHookArgs",
    "FileDescriptor",
    "Finish",
    "Forked",
    "Future",
    "HasFileno",
    "IncomingMessage",
    "InvalidArgument",
    "Invocation",
    "InvocationState",
    "Item",
    "LastResortArgs",
    "Lock",
    "LoopClosed",
    "Message",
    "MessagePort",
    "Mode",
    "NoReply",
    "Notification",
    "Observer",
    "OtherItem",
    "Plugin",
    "PluginError",
    "PluginHost",
    "PluginSetting",
    "PluginState",
    "Port",
    "ReceivedDescriptor",
    "Registration",
    "RunLoop",
    "RunResult",
    "Scope",
    "ScopeHolder",
    "Source",
    "StaleHandle",
    "SystemFailure",
    "Thread",
    "ThreadDictionary",
    "ThreadState",
    "Timeout",
    "Timer",
    "Unsupported",
    "WrongThread",
    "cancel_performs",
    "closure",
    "excepthook",
    "notifications",
    "perform_after",
    "perform_in_background",
    "perform_on_main",
    "pool",
    "set_last_resort",
    "shutdown",
    "trace_mark",
    "trace_start",
    "trace_stop",
]

for _name in __all__:
    # Messages, tracebacks, help() and pickles name what is public by the name that one imports it by.
    if isinstance(globals()[_name], (type, FunctionType, type(Mode))):
        globals()[_name].__module__ = __name__

del _dispatch, _name, FunctionType
