# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""A trace of one's own run, for Perfetto."""

from __future__ import annotations

import os
from typing import Union

from ._arguments import encoded_text, integer, wrong_type
from ._errors import check
from ._library import native


def trace_start(path: Union[str, "os.PathLike[str]"]) -> None:
    """Starts to record what the loops of the process do; trace_stop writes the file.

    There is one trace at a time: Error if one goes on. TREADLE_TRACE=file in the environment traces a whole run.
    Any thread. Since 1.0.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise wrong_type("path", "a str or an os.PathLike", path)
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        raise ValueError(f"path is not valid Unicode: {path!r}") from None
    if b"\0" in encoded:
        raise ValueError("path contains NUL")
    check(native.treadle_trace_start(encoded))


def trace_stop() -> None:
    """Ends the trace, and writes its file, in Perfetto's format. Error if there is no trace; SystemFailure if the file cannot be
    written. Any thread. Since 1.0."""
    check(native.treadle_trace_stop())


def trace_mark(label: str, value: int = 0) -> bool:
    """Notes a label and a number at this moment, on the calling thread, in the trace that goes on. False, without an effect, if there
    is none. Any thread. Since 1.0."""
    number = integer(value, "value")
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError("value is no number of 64 bits")
    return check(native.treadle_trace_mark(encoded_text(label, "label"), number)) == 0
