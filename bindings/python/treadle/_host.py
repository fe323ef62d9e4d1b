# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""This interpreter as a host of the library: its registration, its retired tokens and its end."""

from __future__ import annotations

import _thread
import ctypes
from typing import Callable, List

from . import _capi, _registry, _starting
from ._errors import check
from ._frames import report
from ._library import native

_BATCH = 256
#: How long the end of the interpreter waits for callbacks on other threads.
_PATIENCE_NS = 5_000_000_000


def outside_of_scopes(function: Callable[[], None]) -> None:
    """Calls a function on a thread of its own, which has entered no scope: what it makes belongs to none.

    At the end of the interpreter no thread is started any more: then it is called here.
    """
    errors: List[BaseException] = []
    over = _thread.allocate_lock()
    over.acquire()

    def body() -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)
        finally:
            over.release()

    try:
        _thread.start_new_thread(body, ())
    except RuntimeError:
        body()
    over.acquire()
    if errors:
        raise errors[0]


class Host:
    """The registration. There is one, and in the child of a fork a new one."""

    def __init__(self) -> None:
        self.handle = 0
        #: How many tokens wait for drain().
        self.retired = ctypes.c_uint64(0)
        self.is_closing = False
        #: Whether treadle.shutdown() was called.
        self.is_shut_down = False
        #: The loop of the main thread, once that has left the program.
        self.left = 0

    def register(self, config: _capi.treadle_host_config) -> None:
        """Makes this interpreter known to the library. The functions of `config` must live for ever."""
        out = ctypes.c_void_p()
        check(native.treadle_host_register(config, out))
        self.handle = out.value or 0
        # The library keeps the count at a fixed address, to be read instead of calling.
        self.retired = native.treadle_host_get_retired_count(self.handle).contents

    def drain(self) -> bool:
        """Forgets what the library will not name any more: whether there was something. Called wherever the package is
        entered."""
        if not self.retired.value:
            return False
        self._take_retired()
        return True

    def _take_retired(self) -> None:
        tokens = (ctypes.c_uint64 * _BATCH)()
        count = ctypes.c_size_t(_BATCH)
        while count.value == _BATCH:
            check(native.treadle_host_take_retired(self.handle, tokens, _BATCH, count))
            for token in tokens[: count.value]:
                call = _registry.calls.pop(token, None)
                if call is not None:
                    call.discard()
                    continue
                if _registry.posts.pop(token, None) is not None:
                    continue
                _registry.registrations.pop(token, None)
                closure_reference = _registry.closures.pop(token, None)
                if closure_reference is not None:
                    closure = _registry.draining.pop(token, None) or closure_reference()
                    if closure is not None:
                        closure._drained()
                    continue
                reference = _registry.items.get(token)
                item = reference() if reference is not None else None
                if item is not None:
                    item._let_go()
                    try:
                        item._ended()
                    except OSError as error:  # somebody else has closed its descriptor
                        report(error, None, item, None)

    def quiesce(self) -> None:
        """At the end of the interpreter: no callback starts any more, and those that run may finish.

        A thread of the package is left behind where it is, as a daemon thread of the interpreter's is; but it
        must have reached Python before: the interpreter could not take it in later.
        """
        self.is_closing = True
        self.drain()  # some of those that were started may never begin
        _starting.close(_PATIENCE_NS / 1_000_000_000)
        native.treadle_host_quiesce(self.handle, _PATIENCE_NS)


host = Host()
