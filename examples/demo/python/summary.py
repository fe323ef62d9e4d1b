# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What was found in the input, put together from the results for its lines."""

from __future__ import annotations

import struct
import zlib
from collections import Counter

from messages import Result

FREQUENT_WORDS, FREQUENT_SHORTEST, WORD_SHOWN = 5, 4, 32


def shown(word: bytes) -> str:
    """A word as it is printed: cut, and made printable."""
    cut = word[:WORD_SHOWN]
    more = "..." if len(word) > WORD_SHOWN else ""
    try:
        text = cut.decode("utf-8")
        # Control characters, which UTF-8 has from U+0080 to U+009F too, are not for a terminal.
        if not any(0x80 <= ord(character) < 0xA0 for character in text):
            return text + more
    except UnicodeDecodeError:
        pass
    return "".join(chr(byte) if byte < 0x80 else f"\\x{byte:02x}" for byte in cut) + more


class Summary:
    """Totals, the longest line, a checksum and the frequent words."""

    def __init__(self) -> None:
        self.lines = self.bytes = self.words = self.distinct = 0
        self.longest_number = self.longest_length = 0
        self.checksum = 0  # of the lines' checksums, in the order of the lines
        self.frequent: list[tuple[str, int]] = []

    def add(self, result: Result) -> None:
        """Adds what one result says."""
        if result.words is not None:
            self._add_words(result.words)
            return
        self.lines += 1
        self.words += result.word_count
        self.checksum = zlib.crc32(struct.pack("<I", result.checksum), self.checksum)
        if result.length > self.longest_length:
            self.longest_number, self.longest_length = result.number, result.length

    def _add_words(self, words: Counter[bytes]) -> None:
        self.distinct = len(words)
        long_enough = [(word, count) for word, count in words.items() if len(word) >= FREQUENT_SHORTEST]
        long_enough.sort(key=lambda item: (-item[1], item[0]))
        self.frequent = [(shown(word), count) for word, count in long_enough[:FREQUENT_WORDS]]
