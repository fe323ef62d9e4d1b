# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What a plugin in Python gets from its host."""

from __future__ import annotations

import ctypes
import logging
from typing import TYPE_CHECKING, Any, Callable

from . import _capi
from ._arguments import encoded_text, integer
from ._errors import failure
from ._plugin_calls import ERROR, INFORMATION, WARNING, HostStruct, Record, records
from ._plugin_description import Value, value_of

if TYPE_CHECKING:
    from ._plugin import Plugin


#: The object for a plugin's handle, which the caller does not own; `_plugin` says how.
lend: Callable[[int], Plugin]

_KINDS: Any = (
    ctypes.Structure,
    ctypes.Union,
    ctypes.Array,
    ctypes._SimpleCData,
    ctypes._Pointer,
    ctypes._CFuncPtr,  # type: ignore[attr-defined]
)


class PluginHost:
    """The argument of a Python plugin's init: the program, as the plugin sees it. It may be used until the plugin's
    deinit has returned, on any thread; later it refuses with LoopClosed. Since 1.0."""

    #: The program's name; empty if it has not told.
    name: str
    #: The program's version.
    version: str

    _record: Record
    _struct: HostStruct
    _address: int
    _handle: int

    def __init__(self) -> None:
        """Not to be called: the init of a plugin is given one. Raises TypeError. Since 1.0."""
        raise TypeError("it is given to the init of a plugin")

    @classmethod
    def _made(cls, record: Record, struct: HostStruct) -> PluginHost:
        self = cls.__new__(cls)
        self.name = struct.name.decode(errors="replace")
        self.version = struct.version.decode(errors="replace")
        self._record = record
        self._struct = struct
        self._address = ctypes.addressof(struct)
        self._handle = struct.plugin
        return self

    @property
    def plugin(self) -> Plugin:
        """The plugin itself, the scope of all that it makes. Any thread. Since 1.0."""
        return lend(self._handle)

    def setting(self, key: str) -> Value:
        """The value of a setting of the plugin, of its type. Raises Error with the code TREADLE_E_NOT_FOUND for one that it
        does not have, LoopClosed when it has ended. Any thread (PLUG-6). Since 1.0."""
        name = encoded_text(key, "key")
        description = self._record.description
        settings = () if description is None else description.settings
        kind = next((setting.type for setting in settings if setting.key == name), _capi.SETTING_TEXT)
        length = ctypes.c_size_t(120)
        while True:
            buffer = ctypes.create_string_buffer(length.value + 1)
            status = self._living().copy_setting(self._address, name, buffer, len(buffer), length)
            if status < 0:
                raise failure(status)
            if length.value < len(buffer):
                return value_of(kind, buffer.value.decode())

    def extension(self, name: str, kind: Any = None) -> Any:
        """An extension of the program's, or of a plugin that has started, among those that the module has in REQUIRED or
        OPTIONAL; None if there is none. It is valid until stop has returned, and whom it comes from is not closed before.

        name: such as "org.example.store/1". Of C it is the address, or with a kind, a struct or function type of ctypes, what
        lies there; of Python it is the object. Any thread (PLUG-2). Since 1.0.
        """
        check_kind(kind)
        address = self._living().get_extension(self._address, encoded_text(name, "name"))
        return found_at(name, address, kind)

    def log(self, text: str, level: int = logging.INFO) -> None:
        """Tells the program. level: as of the module logging; what is below a warning goes as information. Any thread.
        Since 1.0."""
        number = integer(level, "level")
        degree = ERROR if number >= logging.ERROR else WARNING if number >= logging.WARNING else INFORMATION
        message = encoded_text(text, "text")
        if self._record.host is self:
            self._struct.log(self._address, degree, message)

    def _living(self) -> HostStruct:
        if self._record.host is not self and self._record.module is None:
            raise failure(_capi.E_CLOSED)
        return self._struct

    def __repr__(self) -> str:
        return f"<PluginHost {self.name!r} of the plugin {self._record.id!r}>"


def check_kind(kind: Any) -> None:
    """Refuses what is no type of ctypes that could lie somewhere."""
    if kind is not None and not (isinstance(kind, type) and issubclass(kind, _KINDS)):
        raise TypeError(f"kind is a type of ctypes, not {kind!r}")


def found_at(name: str, address: Any, kind: Any) -> Any:
    """What an extension is to Python that lies there: the object, if it is one of Python's."""
    if not address:
        return None
    for record in list(records.values()):
        given = record.given.get(name)
        if given is not None and given.address == address:
            return given.value if kind is None or isinstance(given.value, kind) else _of_kind(address, kind)
    return int(address) if kind is None else _of_kind(address, kind)


def _of_kind(address: int, kind: Any) -> Any:
    if issubclass(kind, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        return kind(address)
    return kind.from_address(address)
