# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The one function that the library calls, for everything; and what the package does at the edges of a
process's life: its start, its fork and its end."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import threading
from typing import Any, Dict, Optional

from . import _capi, _frames, _future, _last_resort, _message_port, _plugin_entries, _pulling, _registry, _signals, _starting
from . import _threads
from ._calls import handle_call
from ._closure import Closure
from ._errors import FORKED_HANDLE, Error, check
from ._frames import innermost, is_completed
from ._host import host, outside_of_scopes
from ._item import Item
from ._library import native, was_loaded
from ._loop import RunLoop
from ._types import Mode

_PERFORM = _capi.EVENT_PERFORM
_POST = _capi.EVENT_POST
_REQUEST = _capi.EVENT_REQUEST
_CALL = _capi.EVENT_CALL
_NOTIFICATION = _capi.EVENT_NOTIFICATION
_INTERRUPT = _capi.EVENT_INTERRUPT
_MESSAGE = _capi.EVENT_MESSAGE
_MESSAGE_PORT = _capi.EVENT_MESSAGE_PORT
_calls = _registry.calls
_items = _registry.items
_held_item = _registry.held.get
_take_post = _registry.posts.pop
_registrations = _registry.registrations
_pulls = _pulling.pulls
_pull_of = _pulling.pull_of
_COUNT = _pulling.COUNT
_TOKEN = _pulling.TOKEN
_failed = _frames.failed
#: The event structs by address. Events lie on the stacks of threads, at few addresses; to find the view of one
#: takes a third of the time of making it.
_events: Dict[int, Any] = {}
_MOST_EVENTS = 256


def _event_at(address: int) -> Any:
    if len(_events) >= _MOST_EVENTS:
        _events.clear()
    event = _events[address] = _capi.treadle_event.from_address(address)
    return event


def _item_of(token: int) -> Optional[Item]:
    """An item, also one that is in no loop of ours."""
    reference = _items.get(token)
    return None if reference is None else reference()


def _dispatch(ticket: int, address: int) -> int:
    # Returning the ticket's complement says that the callback completed. What ctypes returns for a function that
    # raises is not defined, which is why a plain 0 or 1 would not do, nor the ticket itself, which may lie around.
    subject: Any = None
    try:
        event = _events.get(address) or _event_at(address)
        kind = event.kind
        token = event.token
        if kind == _PERFORM:
            # Sources that come one after another are performed in one go: a call into the library costs a
            # quarter of one out of it, and the interpreter's lock is not given up and taken back in between.
            pull = _pulls.get(event.loop) or _pull_of(event.loop)
            advance = pull.advance
            while True:
                source: Any = _held_item(token)
                if source is None:
                    source = _item_of(token)
                if source is not None:  # otherwise it is being collected
                    subject = source
                    if _failed and _is_unwanted(event):
                        # A signal is kept for later.
                        native.treadle_source_signal(source._handle)
                        return 0
                    perform = source._perform
                    perform(source)
                if advance():
                    break
                token = pull.words[_TOKEN]
        elif kind == _POST:
            return ~ticket if _run_posts(event, token) else 0
        elif kind == _REQUEST:
            call = _calls.pop(token, None)
            if call is not None:
                call.run()
        elif kind < _POST:
            item = _held_item(token) or _item_of(token)
            if item is not None:
                if _failed and _is_unwanted(event):
                    return 0
                item._fire(kind, event)
        elif kind in (_MESSAGE, _MESSAGE_PORT):
            item = _held_item(token) or _item_of(token)
            if item is not None:
                item._fire(kind, event)
        elif kind == _CALL:
            return ~ticket if handle_call(event) else 0
        elif kind == _NOTIFICATION:
            registration = _registrations.get(token)
            if registration is not None:
                registration.run(event.value, event.subject)
        elif kind == _INTERRUPT:
            return ~ticket if _signals.serve() else 0
        else:
            call = _calls.pop(token, None)
            if call is not None:
                call.run()
        return ~ticket
    except BaseException as error:
        return ~ticket if _take(error, _event_at(address), subject) else 0


def _run_posts(event: Any, token: int) -> bool:
    """Calls the function of a post, and those of the posts that come next: many are fetched in one call. False: the run ends with
    the exception of one, and those that have not begun are posted still."""
    pull = _pulls.get(event.loop) or _pull_of(event.loop)
    tokens = [token]
    rest = iter(tokens)
    subject: Any = None
    while True:
        try:
            for token in rest:
                post = _take_post(token, None)
                if post is not None:
                    subject, arguments, context = post
                    context.run(subject, *arguments)
                    subject = None
                else:
                    call = _calls.pop(token, None)
                    if call is not None:
                        call.run()
            if pull.advance():
                return True
            tokens = pull.tokens()
            rest = iter(tokens)
        except BaseException as error:
            if not _take(error, event, subject):
                # Ctrl-C comes between any two steps: what has begun is what is not in the tables any more.
                if pull.words[_COUNT]:
                    tokens = pull.tokens()
                begun = sum(token not in _registry.posts and token not in _calls for token in tokens)
                pull.fail(max(begun, 1))
                return False
            subject = None


def _is_unwanted(event: Any) -> bool:
    """Whether the run ends for an exception, and the event does not undo anything."""
    frame = innermost()
    if frame is None or not frame.unwinds() or event.kind == _capi.EVENT_CANCEL:
        return False
    return not (event.kind == _capi.EVENT_OBSERVER and event.value == _capi.EXIT)


def _take(error: BaseException, event: Any, subject: object) -> bool:
    item = subject if subject is not None else _item_of(event.token)
    mode = Mode(event.mode.decode()) if event.mode else None
    try:
        loop: Optional[RunLoop] = RunLoop._of(event.loop) if event.loop else None
        if event.kind == _MESSAGE_PORT:  # which tells of no loop: the calling thread's receives
            loop = _threads.thread.loop
    except Error:  # in the child of a fork that was made in a callback
        loop = None
    return is_completed(error, loop, item, mode)


def _after_fork_in_child() -> None:
    check(native.treadle_after_fork_child())
    _registry.forget_everything(FORKED_HANDLE)
    _plugin_entries.forget_parent()
    _threads.forget_others()
    _frames.forget_others()
    _starting.forget_parent()
    _signals.forget_parent()
    host.is_shut_down = False
    host.left = 0
    _pulling.forget_parent()
    _register()  # the calling thread has entered no scope here
    _last_resort.install_again()


# These live for ever: a trampoline must never be freed while the library knows it. The event comes as an address,
# since that is quicker than a pointer object.
_trampoline = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p)(_dispatch)
_config = _capi.treadle_host_config(
    struct_size=ctypes.sizeof(_capi.treadle_host_config),
    dispatch=ctypes.cast(_trampoline, _capi.treadle_dispatch_fn),
    thread_enter=ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_threads.enter),
    thread_exit=ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_threads.leave),
)


def _register() -> None:
    """Makes this interpreter a host of the library, with what it needs as long as it lives. Not inside of a scope."""
    host.register(_config)
    _threads.unpin_by(Closure("v^v", _threads.unpin))


_signals.watch(_dispatch, _threads.enter, _message_port.keep_reply)
if was_loaded:
    outside_of_scopes(_register)
else:
    _register()
with contextlib.suppress(RuntimeError):  # the program ends already
    threading._register_atexit(_future.leave)  # type: ignore[attr-defined]
atexit.register(host.quiesce)
atexit.register(_last_resort.give_back)
os.register_at_fork(after_in_child=_after_fork_in_child)
