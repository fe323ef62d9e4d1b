# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Modes, results, activities and readiness: the package's plain values, with CFRunLoop's numbers."""

from __future__ import annotations

import enum
import math
from typing import Iterable, List, NamedTuple, NewType, Optional, Tuple

from . import _capi
from ._arguments import iterated, wrong_type

#: The name of a mode. Any text may be used where a mode is wanted. Since 1.0.
Mode = NewType("Mode", str)

#: The mode that every loop has from the beginning. Since 1.0.
DEFAULT = Mode(_capi.DEFAULT_MODE)

#: The mode in which a loop runs while its thread waits for a call as "running". Since 1.0.
CALL_MODE = Mode(_capi.CALL_MODE)

#: The mode in which the caller's loop runs during a request to a message port that names no other. Since 1.0.
REPLIES = Mode(_capi.REPLIES_MODE)

#: Stands for all modes of a loop's common set, where an item is added. It is never run. Since 1.0.
COMMON = Mode(_capi.COMMON_MODES)


_NUMBER_FORMATS = frozenset("bcdoxXneEfFgG%")


def _format(value: enum.Enum, number: int, spec: str) -> str:
    """A format for numbers gets the number, any other one the name."""
    return format(number, spec) if spec[-1:] in _NUMBER_FORMATS or spec.isdigit() else format(str(value), spec)


class NamedNumber(enum.IntEnum):
    """A number that str(), print() and f-strings show by its name, on every version of Python."""

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __format__(self, format_spec: str) -> str:
        return _format(self, int(self), format_spec)


class NamedFlags(enum.IntFlag):
    """Flags that are shown by the names of the members that they consist of."""

    def __str__(self) -> str:
        kind, value = type(self), int(self)
        names: List[str] = []
        whole = next((name for name, member in kind.__members__.items() if int(member) == value), None)
        if whole is not None:
            return f"{kind.__name__}.{whole}"
        for name, member in kind.__members__.items():
            bit = int(member)
            if value & bit and not bit & (bit - 1):
                names.append(name)
                value &= ~bit
        if value:
            names.append(hex(value))
        return f"{kind.__name__}.{'|'.join(names)}" if int(self) else f"{kind.__name__}(0)"

    def __repr__(self) -> str:
        return f"<{self}: {int(self)}>"

    def __format__(self, format_spec: str) -> str:
        return _format(self, int(self), format_spec)


class Finish(NamedNumber):
    """Why a run was FINISHED. Since 1.0."""

    NONE = _capi.FINISH_NONE
    UNKNOWN_MODE = _capi.FINISH_UNKNOWN_MODE
    EMPTY_AT_ONCE = _capi.FINISH_EMPTY_AT_ONCE
    BECAME_EMPTY = _capi.FINISH_BECAME_EMPTY


class Counters(NamedTuple):
    """A loop's counters since its creation. Since 1.0."""

    passes: int
    #: In the kernel.
    sleeps: int
    #: Sleeps that a wake-up ended, or kept from beginning.
    wakes: int
    #: What was called: functions, sources, timers, descriptor sources, requests.
    posts: int
    signals: int
    timers: int
    descriptors: int
    requests: int
    #: Of ports.
    messages: int
    #: Posts and requests that were destroyed uncalled when the loop's thread ended.
    discarded: int
    #: How long the longest callback took, in seconds; 0.0 unless TREADLE_DEBUG or TREADLE_SLOW_MS is set.
    longest: float
    #: Why the last run that was FINISHED was.
    last_finish: Finish


class RunResult(NamedNumber):
    """Why a run ended. Since 1.0."""

    #: The mode has nothing to wait for.
    FINISHED = _capi.RUN_FINISHED
    #: Somebody stopped the run.
    STOPPED = _capi.RUN_STOPPED
    #: The time is over.
    TIMED_OUT = _capi.RUN_TIMED_OUT
    #: A source was handled, and the caller asked to return then.
    HANDLED_SOURCE = _capi.RUN_HANDLED_SOURCE
    #: Everything was shut down.
    CLOSED = _capi.E_CLOSED


class Activity(NamedFlags):
    """The activities of a loop, for observers. Since 1.0."""

    #: A run begins.
    ENTRY = _capi.ENTRY
    #: A pass begins.
    BEFORE_TIMERS = _capi.BEFORE_TIMERS
    #: Sources are about to be performed.
    BEFORE_SOURCES = _capi.BEFORE_SOURCES
    #: The loop is about to sleep.
    BEFORE_WAITING = _capi.BEFORE_WAITING
    #: The loop woke, and has not handled yet what woke it.
    AFTER_WAITING = _capi.AFTER_WAITING
    #: A run ends.
    EXIT = _capi.EXIT
    #: Every activity of a run, also those of later versions.
    ALL = _capi.ALL_ACTIVITIES
    #: treadle_loop_prepare is called: another loop is about to wait for this one.
    PREPARE = _capi.PREPARE


class Events(NamedFlags):
    """The events to watch for, and those that occurred. Since 1.0."""

    #: Nothing: the source is paused.
    NONE = 0
    #: It can be read, or its end was reached.
    READ = _capi.READABLE
    #: It can be written.
    WRITE = _capi.WRITABLE
    #: Reported only: the other end closed it.
    HANGUP = _capi.HANGUP
    #: Reported only: an error is pending. Of a descriptor that was closed the kernel says nothing, and its source goes
    #: silent; with TREADLE_DEBUG=1 in the environment the loop looks before it sleeps, and reports this once.
    FAILED = _capi.FAILED


class ThreadState(NamedNumber):
    """A thread's state. Since 1.0."""

    #: Not started yet.
    CREATED = _capi.THREAD_CREATED
    #: Started, but not running its function yet.
    STARTING = _capi.THREAD_STARTING
    #: Running. A thread that Treadle did not make is so from the beginning.
    EXECUTING = _capi.THREAD_EXECUTING
    #: Over, its will-exit notification too.
    FINISHED = _capi.THREAD_FINISHED


class Notification(NamedNumber):
    """Notifications of process-wide events. Since 1.0."""

    #: The first thread is about to be started through Treadle: once, on the thread that starts it.
    WILL_BECOME_MULTITHREADED = _capi.NOTIFY_WILL_BECOME_MULTITHREADED
    #: A thread ends; told on the thread itself.
    THREAD_WILL_EXIT = _capi.NOTIFY_THREAD_WILL_EXIT
    #: A port has become invalid; told on the thread that made it so.
    PORT_INVALID = _capi.NOTIFY_PORT_INVALID


class ClosureState(NamedNumber):
    """A closure's state. Since 1.0."""

    #: Its calls are handled.
    ACTIVE = _capi.CLOSURE_ACTIVE
    #: Calls that had begun are still handled.
    INVALIDATED = _capi.CLOSURE_INVALIDATED
    #: No call is left.
    DRAINED = _capi.CLOSURE_DRAINED


class InvocationState(NamedNumber):
    """An invocation's state. Since 1.0."""

    #: Not made yet.
    IDLE = _capi.INVOCATION_IDLE
    #: It waits for the loop.
    QUEUED = _capi.INVOCATION_QUEUED
    #: The function runs.
    RUNNING = _capi.INVOCATION_RUNNING
    #: The function has returned.
    DONE = _capi.INVOCATION_DONE
    #: Somebody cancelled it before it began.
    CANCELLED = _capi.INVOCATION_CANCELLED
    #: The thread ended before, or everything was shut down.
    DROPPED = _capi.INVOCATION_DROPPED


NANOSECONDS = 1_000_000_000
_LONGEST = _capi.FOREVER / NANOSECONDS / 2


def modes_of(modes: Optional[Iterable[str]]) -> Tuple[str, ...]:
    """The modes that are meant: a text is one, a list several, and None the default, COMMON."""
    if modes is None:
        return (COMMON,)
    if isinstance(modes, str):
        return (modes,)
    names = tuple(iterated(modes, "modes", "a str, a list of them or None"))
    for name in names:
        if not isinstance(name, str):
            raise wrong_type("a mode", "a str", name)
    return names


def timeout_of(seconds: Optional[float], name: str) -> int:
    """A timeout as the library takes it; None waits for ever."""
    return _capi.FOREVER if seconds is None else nanoseconds(seconds, name)


def nanoseconds(seconds: float, name: str) -> int:
    """Whole nanoseconds, rounded up, so that nothing happens early. Huge numbers mean for ever."""
    try:
        is_long = abs(seconds) >= _LONGEST
        if not is_long:
            return math.ceil(seconds * NANOSECONDS)
    except TypeError:
        raise wrong_type(name, "a number of seconds", seconds) from None
    except ValueError:
        raise ValueError(f"{name} is not a number") from None
    return _capi.FOREVER if seconds > 0 else -_capi.FOREVER


def wait_timeout(seconds: float) -> int:
    """The timeout of a wait for a call, which the library knows no zero and nothing negative of."""
    return max(1, nanoseconds(seconds, "timeout"))
