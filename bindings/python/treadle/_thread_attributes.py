# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What is set and asked of a thread."""

from __future__ import annotations

import ctypes
from typing import Optional, Tuple

from . import _capi
from ._arguments import encoded_text, integer, wrong_type
from ._errors import FORKED_HANDLE, check, check_end
from ._library import native
from ._types import ThreadState


class ThreadAttributes:
    """The properties of a thread that the library keeps. The mother of Thread."""

    _handle: int

    @property
    def state(self) -> ThreadState:
        """Where the thread stands. Any thread. Since 1.0."""
        out = ctypes.c_uint32()
        check(native.treadle_thread_get_state(self._handle, out), self._handle)
        return ThreadState(out.value)

    @property
    def is_executing(self) -> bool:
        """Whether it executes: until its will-exit notification is over. Any thread. Since 1.0."""
        return self._state()[1] == _capi.THREAD_EXECUTING

    @property
    def is_finished(self) -> bool:
        """Whether it has finished; joined or not. Any thread. Since 1.0."""
        return self._state()[1] == _capi.THREAD_FINISHED or self._is_gone()

    def _is_gone(self) -> bool:
        """Whether its scope has ended it: the library knows nothing of it any more."""
        return self._state()[0] == _capi.E_STALE and self._handle != FORKED_HANDLE

    def _state(self) -> tuple[int, int]:
        """The status of asking for the state, and the state; THREAD_CREATED after an error."""
        out = ctypes.c_uint32(_capi.THREAD_CREATED)
        return int(native.treadle_thread_get_state(self._handle, out)), out.value

    @property
    def is_main(self) -> bool:
        """Whether this is the process's initial thread. Any thread. Since 1.0."""
        return bool(native.treadle_thread_is_main(self._handle))

    @property
    def id(self) -> Optional[int]:
        """The kernel's id of the thread; None before it executes and after it ended. Any thread. Since 1.0."""
        out = ctypes.c_int32()
        check_end(native.treadle_thread_get_id(self._handle, out), self._handle)
        return out.value or None

    @property
    def name(self) -> str:
        """The name; empty if it has none. Of a long one the kernel shows the first 15 bytes.

        May be set at any time. Raises ValueError for NUL inside, InvalidArgument for more than 65,535 bytes of
        UTF-8. Any thread. Since 1.0.
        """
        length = ctypes.c_size_t(60)
        while True:
            buffer = ctypes.create_string_buffer(length.value + 1)
            capacity = len(buffer)
            check(native.treadle_thread_get_name(self._handle, buffer, capacity, length), self._handle)
            if length.value < capacity:
                return buffer.raw[: length.value].decode()

    @name.setter
    def name(self, name: str) -> None:
        check(native.treadle_thread_set_name(self._handle, encoded_text(name, "the name of a thread")), self._handle)

    @property
    def stack_size(self) -> int:
        """The stack's size in bytes: 16 KiB to 1 GiB, whole pages of 4 KiB; 8 MiB unless it was set.

        Set before the start: Error later, InvalidArgument for another size. 0 for threads that Treadle did not
        make. Any thread. Since 1.0.
        """
        out = ctypes.c_size_t()
        check(native.treadle_thread_get_stack_size(self._handle, out), self._handle)
        return out.value

    @stack_size.setter
    def stack_size(self, size: int) -> None:
        number = integer(size, "a stack_size")
        # One that C would cut becomes one that it refuses.
        number = number if 0 <= number < 2**63 else 0
        check(native.treadle_thread_set_stack_size(self._handle, number), self._handle)

    @property
    def detached(self) -> bool:
        """Whether the thread is detached: it is not joined. It may be set to True, once, before the start or later.

        Raises Error when it is detached already, joined or being joined, ValueError for False. Any thread.
        Since 1.0.
        """
        return bool(native.treadle_thread_is_detached(self._handle))

    @detached.setter
    def detached(self, detached: bool) -> None:
        if not detached:
            raise ValueError("a thread cannot be made joinable again")
        check(native.treadle_thread_detach(self._handle), self._handle)

    @property
    def priority(self) -> float:
        """From 0.0 to 1.0, where 0.5 is the ordinary one: it sets the kernel's nice value.

        Set before the start, or on the thread itself: Error otherwise, InvalidArgument for NaN. It is kept
        even if the kernel refuses it: see priority_applied. Any thread. Since 1.0.
        """
        return self._priority()[0]

    @priority.setter
    def priority(self, priority: float) -> None:
        if not isinstance(priority, (int, float)):
            raise wrong_type("a priority", "a float", priority)
        try:
            value = float(priority)
        except OverflowError:
            raise ValueError("a priority is from 0.0 to 1.0") from None
        check(native.treadle_thread_set_priority(self._handle, value), self._handle)

    @property
    def priority_applied(self) -> bool:
        """Whether the kernel has the priority; False when it refused, or was not asked yet. Any thread. Since 1.0."""
        return self._priority()[1]

    def _priority(self) -> Tuple[float, bool]:
        priority, applied = ctypes.c_double(), ctypes.c_int32()
        check(native.treadle_thread_get_priority(self._handle, priority, applied), self._handle)
        return priority.value, applied.value != 0

