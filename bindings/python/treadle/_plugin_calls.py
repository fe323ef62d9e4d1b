# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Plugins in Python that are loaded, and who has loaded a plugin from Python."""

from __future__ import annotations

import ctypes
import itertools
import os
import traceback
from types import ModuleType
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from . import _capi, _plugin_file, _plugin_owner, _registry
from ._closure import Closure
from ._errors import Error
from ._frames import innermost
from ._library import native
from ._plugin_description import Description

_get_extension = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_copy_setting = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t)
)
_log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p)

ERROR, WARNING, INFORMATION = range(3)
#: What a status stands for an exception; the first that fits.
_STATUSES: Tuple[Tuple[Any, int], ...] = (
    (MemoryError, _capi.E_NOMEM),
    (NotImplementedError, _capi.E_NOT_SUPPORTED),
    (TimeoutError, _capi.E_TIMEOUT),
    (OSError, _capi.E_SYSTEM),
    (LookupError, _capi.E_NOT_FOUND),
    ((TypeError, ValueError), _capi.E_ARG),
)


class HostStruct(ctypes.Structure):
    """struct treadle_plugin_host."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("abi", ctypes.c_uint32),
        ("behaviour", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("plugin", ctypes.c_void_p),
        ("table", ctypes.c_void_p),
        ("get_extension", _get_extension),
        ("copy_setting", _copy_setting),
        ("log", _log),
    ]


def status_of(error: BaseException) -> int:
    """What the library is told of an exception."""
    if isinstance(error, Error) and error.code < 0:
        return error.code
    return next((status for kinds, status in _STATUSES if isinstance(error, kinds)), _capi.E_CALLBACK)


def text_of(error: BaseException) -> str:
    """An exception in one line, with the place where it was raised."""
    text = "".join(traceback.format_exception_only(type(error), error)).strip().replace("\n", " ")
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else text


class Shared(NamedTuple):
    """An extension that Python has for others."""

    #: What C gets.
    address: int
    #: What Python gets.
    value: Any


def shared(value: Any) -> Optional[Shared]:
    """An object as an extension: data of ctypes by its address, a pointer of ctypes by what it points to, a number as the
    address that it is, and any other object by that of its PyObject. None for none."""
    if value is None:
        return None
    if isinstance(value, Closure):
        return Shared(ctypes.cast(value.pointer, ctypes.c_void_p).value or 0, value)
    if isinstance(value, int) and not isinstance(value, bool):
        return Shared(value, value) if value else None
    if isinstance(value, (ctypes._Pointer, ctypes._CFuncPtr, ctypes.c_void_p)):  # type: ignore[attr-defined]
        address = ctypes.cast(value, ctypes.c_void_p).value
        return Shared(address, value) if address else None
    if isinstance(value, (ctypes.Structure, ctypes.Union, ctypes.Array)):
        return Shared(ctypes.addressof(value), value)
    return Shared(id(value), value)


class Record:
    """Somebody who has loaded a plugin, and for a module of Python also the plugin. It lives until the plugin has ended."""

    def __init__(self, log: Callable[[str, int, str], object], find: Optional[Callable[[str], Any]]) -> None:
        self.number = next(_numbers)
        self.log = log
        self.find = find
        #: The plugin's handle, once it has one.
        self.handle = 0
        #: What others were given as extensions, by name.
        self.given: Dict[str, Shared] = {}
        #: The first exception of a function of the plugin, since Python has last called the library for it.
        self.error: Optional[BaseException] = None
        #: When its end is to be over, in monotonic nanoseconds, if Python has asked for it.
        self.until: Optional[int] = None
        self.id = ""
        self.path: Optional[str] = None
        self.module: Optional[ModuleType] = None
        self._is_own = False
        self.description: Optional[Description] = None
        self.host: Any = None
        self.instance: Any = None

    def become(self, module: ModuleType, functions: Dict[str, Closure], is_own: bool) -> None:
        """It is for this module, which the library calls by these functions. is_own: the module was made for it."""
        self.module = module
        self._is_own = is_own
        self.path = getattr(module, "__file__", None)
        self.description = Description(module, functions)
        self.id = self.description.id
        by_description[self.description.address] = self

    def forget(self) -> None:
        """The library names it no more."""
        records.pop(self.number, None)
        if self.description is not None:
            by_description.pop(self.description.address, None)
        self.forget_module()

    def forget_module(self) -> None:
        """No code of the plugin is called any more."""
        module, self.module, self.instance, self.host = self.module, None, None, None
        if module is not None:
            _plugin_owner.remove(module.__dict__)
            if self._is_own:
                _plugin_file.forget(module)

    def tell(self, level: int, text: str) -> None:
        """Tells who has loaded it."""
        try:
            self.log(self.id, level, text)
        except Exception as error:
            traceback.print_exception(type(error), error, error.__traceback__)

    def call(self, name: str, *arguments: Any, level: int = ERROR) -> Tuple[int, Any]:
        """Calls a function of the module, if it has it: a status, and what it has returned."""
        function = getattr(self.module, name, None)
        if function is None:
            return _capi.OK, None
        try:
            return _capi.OK, function(*arguments)
        except BaseException as error:
            self.error = self.error or error
            frame = None if isinstance(error, Exception) else innermost()
            if frame is not None and frame.error is None:  # such as Ctrl-C: whoever has called the library gets it
                frame.fail(error)
            self.tell(level, f"{name} has raised {text_of(error)}")
            return status_of(error), None


#: All that are living, by number and by the address of their description.
records: Dict[int, Record] = {}
by_description: Dict[int, Record] = {}
_numbers = itertools.count(1)


def prune() -> None:
    """Forgets those whose plugins have ended."""
    if not any(record.handle for record in list(records.values())):
        return
    with _registry.lock:  # nobody reads a description meanwhile
        loaded = set(handles())
        for handle in loaded:
            native.treadle_release(handle)
        for record in list(records.values()):
            if record.handle and record.handle not in loaded:
                record.forget()


def handles() -> List[int]:
    """Those of all plugins that are loaded, each with a reference."""
    count = ctypes.c_size_t(16)
    while True:
        capacity = count.value
        buffer = (ctypes.c_void_p * capacity)()
        if native.treadle_plugin_copy_all(buffer, capacity, count) < 0:
            return []
        found = [handle for handle in buffer[: min(count.value, capacity)] if handle]
        if count.value <= capacity:
            return found
        for handle in found:
            native.treadle_release(handle)
