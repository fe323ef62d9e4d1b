# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Calls of closures, as the library delivers them."""

from __future__ import annotations

from typing import Any, Optional

from . import _registry
from ._errors import Error
from ._frames import is_completed, report
from ._library import native
from ._loop import RunLoop

_closures = _registry.closures
_draining = _registry.draining


def handle_call(event: Any) -> bool:
    """Has a closure handle a call. False: the caller gets the default result."""
    token = event.token
    reference = _closures.get(token)
    closure = _draining.get(token) or (None if reference is None else reference())
    if closure is None:
        return False  # it is being collected
    try:
        closure._handle_call(event.argument)
        return True
    except Exception as error:
        # The caller is C, and has nothing to do with the loop's runs: they go on.
        report(error, _loop_of(event), closure, None)
    except BaseException as error:
        loop = _loop_of(event)
        if loop is None:
            report(error, None, closure, None)
        elif not is_completed(error, loop, None, None):
            native.treadle_loop_stop(loop._handle)
    return False


def _loop_of(event: Any) -> Optional[RunLoop]:
    try:
        return RunLoop._of(event.loop) if event.loop else None
    except Error:  # in the child of a fork that was made in a callback
        return None
