# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The part of treadle-python-plugin that is Python: files of Python as plugins of a host in another language.

The plugin in C (bindings/python/plugin) calls begin, start, stop and end, with a number each, as its own life goes on.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from typing import Any, Callable, Dict, List, Optional

from . import _capi, _frames, _library
from ._closure import Closure
from ._errors import PluginError, Timeout, check
from ._host import outside_of_scopes
from ._library import native
from ._plugin import Plugin
from ._plugin_calls import HostStruct, status_of, text_of
from ._plugin_origin import LEVELS
from ._plugin_owner import owner_of
from ._types import NANOSECONDS

_EXTENSION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p), ctypes.POINTER(ctypes.c_void_p))
_RELOAD = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_void_p))


class _Functions(ctypes.Structure):
    """struct treadle_python."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("load", _EXTENSION), ("reload", _RELOAD)]


class _Embedding:
    """The host, and what was loaded for it."""

    def __init__(self, address: int) -> None:
        self.address = address
        self.host = HostStruct.from_address(address)
        self.plugins: List[Plugin] = []

    def setting(self, key: str) -> str:
        length = ctypes.c_size_t(120)
        while True:
            buffer = ctypes.create_string_buffer(length.value + 1)
            self.host.copy_setting(self.address, key.encode(), buffer, len(buffer), length)
            if length.value < len(buffer):
                return os.fsdecode(buffer.value)

    def find(self, name: str) -> Optional[int]:
        found: Optional[int] = self.host.get_extension(self.address, name.encode())
        return found

    def tell(self, text: str, level: int = 0) -> None:
        self.host.log(self.address, level, text.replace("\0", "").encode(errors="replace"))

    def log(self, id: str, level: int, text: str) -> None:
        self.tell(f"{id}: {text}", LEVELS.index(level))

    def load(self, path: str, settings: Dict[str, Any]) -> Plugin:
        name, version = (text.decode(errors="replace") for text in (self.host.name, self.host.version))
        # It belongs to this plugin, whose code calls the library directly.
        check(native.treadle_scope_enter(self.host.plugin))
        try:
            plugin = Plugin.load(path, settings, host_name=name, host_version=version, extensions=self.find, log=self.log)
        finally:
            native.treadle_scope_leave(self.host.plugin)
        self.plugins.append(plugin)
        return plugin

    def apply_settings(self) -> None:
        """Each line goes to the plugin of the longest id that it begins with."""
        for line in filter(None, map(str.strip, self.setting("settings").splitlines())):
            name, equal, value = line.partition("=")
            fitting = [plugin for plugin in self.plugins if name.startswith(plugin.id + ".")]
            if not equal or not fitting:
                raise ValueError(f"the line {line!r} of settings names no plugin of these files, or no key")
            plugin = max(fitting, key=lambda found: len(found.id))
            plugin.set(name[len(plugin.id) + 1 :], value)

    def start(self) -> None:
        for path in filter(None, self.setting("files").split(":")):
            self.load(path if path.endswith(".py") else f"{path}.py", {})
        self.apply_settings()
        for plugin in self.plugins:
            plugin.start()

    def take_fault(self, error: BaseException) -> bool:
        """A callback of a plugin has raised: that plugin is closed, and the others go on. False if it is none of these."""
        handle = owner_of(error)
        plugin = next((plugin for plugin in self.plugins if plugin._handle == handle), None)
        if plugin is None:
            return False
        self.tell(f"{plugin.id}: a callback has raised {text_of(error)}: the plugin is closed")
        try:
            plugin.close(0)  # from inside: it ends when the callback has returned
            self.plugins.remove(plugin)
        except Timeout as late:
            self.tell(f"{plugin.id}: {late}", 1)
        return True

    def stop(self, timeout: int) -> None:
        """Closes all, users before those that they use. Raises Timeout if one does not end in time."""
        until = None if timeout >= _capi.FOREVER // 2 else time.monotonic() + timeout / NANOSECONDS
        while self.plugins:
            unused = [plugin for plugin in self.plugins if not _is_used(plugin)]
            plugin = (unused or self.plugins)[-1]
            plugin.close(None if until is None else max(until - time.monotonic(), 0))
            self.plugins.remove(plugin)


_embedding: Optional[_Embedding] = None
#: Made once; they live for ever.
_closures: List[Closure] = []
_functions = _Functions(ctypes.sizeof(_Functions))


def begin(address: int) -> int:
    """The init of the plugin, whose treadle_plugin_host lies there."""
    global _embedding
    wanted: str = getattr(sys, "_treadle_library")
    if not os.path.samefile(wanted, _library.path):
        raise ImportError(f"the package treadle uses {_library.path} already, and the host {wanted}")
    _embedding = _Embedding(address)
    _frames.take_fault = _embedding.take_fault
    if not _closures:
        outside_of_scopes(_make_functions)
    return 0


def start(_none: int) -> int:
    """Its start. The address of its extension."""
    _current().start()
    return ctypes.addressof(_functions)


def stop(timeout: int) -> int:
    """Its stop, with nanoseconds. What is late is ended with the plugin's scope."""
    try:
        _current().stop(timeout)
        return _capi.OK
    except Timeout as error:
        _current().tell(str(error), 1)
        return _capi.E_TIMEOUT


def end(_none: int) -> int:
    """Its deinit."""
    global _embedding
    _embedding = None
    _frames.take_fault = None
    return 0


def _current() -> _Embedding:
    if _embedding is None:
        raise PluginError("the plugin has ended", _capi.E_CLOSED)
    return _embedding


def _is_used(plugin: Plugin) -> bool:
    return any(holder.kind == "plugin" for holder in plugin.holders())


def _answered(out: Any, make: Callable[[], Plugin]) -> int:
    """Stores the handle of a plugin that is made, with a reference for C. The status."""
    try:
        plugin = make()
        check(native.treadle_retain(plugin._handle))
        out[0] = plugin._handle
        return _capi.OK
    except BaseException as error:
        if _embedding is not None:
            _embedding.tell(text_of(error))
        return status_of(error)


def _load(path: bytes, settings: Any, out: Any) -> int:
    def make() -> Plugin:
        texts: List[str] = []
        while settings and settings[len(texts)] is not None:
            texts.append(settings[len(texts)].decode())
        return _current().load(os.fsdecode(path), dict(zip(texts[::2], texts[1::2])))

    return _answered(out, make)


def _reload(handle: int, timeout: int, out: Any) -> int:
    def make() -> Plugin:
        embedding = _current()
        old = Plugin._lent(handle)
        if old not in embedding.plugins:
            raise PluginError("it was not loaded by this plugin", _capi.E_PLUGIN)
        seconds = None if timeout >= _capi.FOREVER // 2 else timeout / NANOSECONDS
        return old.reload(timeout=seconds)

    return _answered(out, make)


def _make_functions() -> None:
    for name, kind, function in (("load", _EXTENSION, _load), ("reload", _RELOAD, _reload)):
        closure = Closure(kind, function, default=_capi.E_CLOSED)
        _closures.append(closure)
        setattr(_functions, name, closure.pointer)
