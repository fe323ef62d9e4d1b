# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What the compiler's index says of the sources: who defines a name, and who uses it. Read by libIndexStore, which is a part of the
Swift toolchain."""

import ctypes
from pathlib import Path
from typing import Callable, Iterator, NamedTuple, Optional

from treadle_debug import tools

DEFINITION, REFERENCE = 1 << 1, 1 << 2
RECORD = 2  # a kind of what a unit depends on


class Text(ctypes.Structure):
    _fields_ = [("data", ctypes.POINTER(ctypes.c_char)), ("length", ctypes.c_size_t)]

    def __str__(self) -> str:
        return ctypes.string_at(self.data, self.length).decode("utf-8") if self.length else ""


class Occurrence(NamedTuple):
    symbol: str  # the compiler's identity of it, one in all files
    name: str
    roles: int
    line: int


class Index:
    """A folder that a compiler has written by -index-store-path."""

    EACH = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)
    EACH_TEXT = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, Text)

    def __init__(self, folder: Path) -> None:
        self._library = ctypes.CDLL(str(tools().parent / "lib/libIndexStore.so"))
        self._store = self._call("store_create", ctypes.c_void_p, str(folder).encode(), None)
        if not self._store:
            raise OSError(f"{folder} is no index")

    def _call(self, name: str, result: object, *arguments: object) -> "Optional[int]":
        function = getattr(self._library, f"indexstore_{name}")
        function.restype = result
        return function(*(ctypes.c_void_p(each) if isinstance(each, int) else each for each in arguments))

    def _text(self, name: str, of: int) -> str:
        return str(self._call(name, Text, of))

    def _each(self, name: str, of: int, then: "Callable[[int], None]") -> None:
        self._call(name, ctypes.c_bool, of, None, self.EACH(lambda _, each: then(each) or True))

    def records(self) -> "dict[str, Path]":
        """The records of files, by their names."""
        units: "list[str]" = []
        append = self.EACH_TEXT(lambda _, text: units.append(str(text)) or True)
        self._call("store_units_apply_f", ctypes.c_bool, self._store, ctypes.c_uint(0), None, append)
        found: "dict[str, Path]" = {}

        def add(dependency: int) -> None:
            if self._call("unit_dependency_get_kind", ctypes.c_int, dependency) == RECORD:
                found[self._text("unit_dependency_get_name", dependency)] = Path(self._text("unit_dependency_get_filepath", dependency))

        for unit in units:
            reader = self._call("unit_reader_create", ctypes.c_void_p, self._store, unit.encode(), None)
            if reader:
                self._each("unit_reader_dependencies_apply_f", reader, add)
                self._call("unit_reader_dispose", None, reader)
        return found

    def occurrences(self, record: str) -> "Iterator[Occurrence]":
        reader = self._call("record_reader_create", ctypes.c_void_p, self._store, record.encode(), None)
        if not reader:
            raise OSError(f"the index has no record {record}")
        found: "list[Occurrence]" = []
        line, column = ctypes.c_uint(), ctypes.c_uint()

        def add(occurrence: int) -> None:
            symbol = self._call("occurrence_get_symbol", ctypes.c_void_p, occurrence)
            self._call("occurrence_get_line_col", None, occurrence, ctypes.byref(line), ctypes.byref(column))
            roles = self._call("occurrence_get_roles", ctypes.c_uint64, occurrence)
            found.append(Occurrence(self._text("symbol_get_usr", symbol), self._text("symbol_get_name", symbol), roles, line.value))

        self._each("record_reader_occurrences_apply_f", reader, add)
        self._call("record_reader_dispose", None, reader)
        return iter(found)
