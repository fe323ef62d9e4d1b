# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What the threads tell each other: commands go to the worker, results come back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


@dataclass
class Command:
    """Examine this line, which has no newline; or, without a line: there are no more."""

    number: int = 0
    line: bytes | None = None


@dataclass
class Result:
    """What was found in a line; or, with words, in all of them."""

    number: int = 0
    length: int = 0
    word_count: int = 0
    checksum: int = 0
    words: Counter[bytes] | None = None
