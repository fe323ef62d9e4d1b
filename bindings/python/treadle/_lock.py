# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Locks and conditions, over those of POSIX threads: for code that shares them with other languages."""

from __future__ import annotations

import ctypes
import time
import weakref
from typing import Callable, NoReturn, Optional, TypeVar

from . import _capi, _registry
from ._arguments import object_of
from ._errors import check
from ._library import native
from ._threads import is_main
from ._types import NANOSECONDS, timeout_of
from ._waiting import SLICE_NS, wait

T = TypeVar("T")


class NativeLock:
    """A lock or a condition of the library, which is released with its last reference."""

    _handle: int

    def _own(self, handle: int, release: Callable[[int], int]) -> None:
        self._handle = handle
        weakref.finalize(self, release, handle).atexit = False
        _registry.locks.add(self)

    def _pthread(self) -> int:
        """The address of the POSIX object."""
        out = ctypes.c_size_t()
        check(native.treadle_get_pthread(self._handle, out), self._handle)
        return out.value

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled")


class Lock(NativeLock):
    """A lock, which its owner alone can unlock: a pthread_mutex_t that checks for errors. Since 1.0.

    `with lock:` holds it. Other threads of Python run while one waits.
    """

    def __init__(self, *, recursive: bool = False) -> None:
        """Makes a lock. recursive: its owner may lock it again, and unlocks it as often. Any thread. Since 1.0."""
        out = ctypes.c_void_p()
        check(native.treadle_lock_create(_capi.LOCK_RECURSIVE if recursive else 0, out))
        self._own(out.value or 0, native.treadle_release)

    def acquire(self, timeout: Optional[float] = None) -> bool:
        """Locks; whether that came about in time.

        timeout: in seconds; None waits for ever, 0 tries. Raises DeadlockError when the calling thread owns the
        lock and it is not recursive. Any thread. Since 1.0.
        """
        handle = self._handle
        status = wait(lambda nanoseconds: int(native.treadle_lock_lock(handle, nanoseconds)), timeout_of(timeout, "timeout"))
        if status == _capi.E_TIMEOUT:
            return False
        check(status, handle)
        return True

    def release(self) -> None:
        """Unlocks. Raises WrongThread when the calling thread does not own the lock. Any thread. Since 1.0."""
        check(native.treadle_lock_unlock(self._handle), self._handle)

    @property
    def pthread_mutex(self) -> int:
        """The address of the pthread_mutex_t, valid while the lock lives. Any thread. Since 1.0.

        Use a lock through one interface only, this one or that of POSIX.
        """
        return self._pthread()

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.release()


class Condition(NativeLock):
    """A condition to wait for, with a lock: a pthread_cond_t on the monotonic clock. Since 1.0.

    `with condition:` holds its lock.
    """

    def __init__(self, lock: Optional[Lock] = None) -> None:
        """Makes a condition of this lock, or of a lock of its own. Any thread. Since 1.0."""
        #: The lock.
        self.lock: Lock = Lock() if lock is None else object_of(lock, Lock, "lock")
        out = ctypes.c_void_p()
        check(native.treadle_condition_create(out))
        self._own(out.value or 0, native.treadle_release)

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Unlocks, waits for notify(), and locks again; False when the time was over before.

        It may return for no reason: look at what you wait for in a loop, or use wait_for(). A recursive lock
        must be locked once. Raises WrongThread when the calling thread does not own the lock. Any thread.
        Since 1.0.
        """
        limit = timeout_of(timeout, "timeout")
        # The main thread goes back to its caller's loop now and then, so that Ctrl-C works.
        is_slice = limit > SLICE_NS and is_main()
        status = native.treadle_condition_wait(self._handle, self.lock._handle, SLICE_NS if is_slice else limit)
        if status == _capi.E_TIMEOUT:
            return is_slice
        check(status, self._handle, self.lock._handle)
        return True

    def wait_for(self, predicate: Callable[[], T], timeout: Optional[float] = None) -> T:
        """Waits until the predicate, called with the lock held, is true, or the time is over; its last value.

        Any thread. Since 1.0.
        """
        limit = timeout_of(timeout, "timeout")
        if not callable(predicate):
            raise TypeError(f"{predicate!r} cannot be called")
        end = _capi.FOREVER if limit == _capi.FOREVER else time.monotonic_ns() + limit
        while not (result := predicate()):
            left = None if end == _capi.FOREVER else (end - time.monotonic_ns()) / NANOSECONDS
            if left is not None and left <= 0:
                break
            self.wait(left)
        return result

    def notify(self) -> None:
        """Wakes one waiter, if there is one. Any thread. Since 1.0."""
        check(native.treadle_condition_signal(self._handle), self._handle)

    def notify_all(self) -> None:
        """Wakes all waiters. Any thread. Since 1.0."""
        check(native.treadle_condition_broadcast(self._handle), self._handle)

    @property
    def pthread_cond(self) -> int:
        """The address of the pthread_cond_t, valid while the condition lives. Any thread. Since 1.0."""
        return self._pthread()

    def __enter__(self) -> Condition:
        self.lock.acquire()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.lock.release()
