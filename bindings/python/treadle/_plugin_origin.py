# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What a plugin is loaded from, and with."""

from __future__ import annotations

import ctypes
import logging
import os
import threading
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Dict, Mapping, Optional, Union

from . import _capi, _plugin_file
from ._arguments import encoded_text, wrong_type
from ._plugin_calls import Record
from ._plugin_description import Value, pairs_of
from ._plugin_entries import functions
from ._types import nanoseconds

#: Where a plugin comes from: a shared library, a file that ends with .py, or a module.
PluginSource = Union[str, "os.PathLike[str]", ModuleType]
#: A function that is told of messages: the plugin's id, a level of the module logging, the text.
PluginLog = Callable[[str, int, str], object]

#: Those of the module logging, by those of the library.
LEVELS = (logging.ERROR, logging.WARNING, logging.INFO)
_logger = logging.getLogger("treadle.plugins")
#: The record whose plugin the thread is loading.
pending = threading.local()


class Origin:
    """What a plugin was loaded from, and with."""

    def __init__(
        self,
        source: PluginSource,
        settings: Optional[Mapping[str, Value]],
        host_name: str,
        host_version: str,
        extensions: Union[Mapping[str, Any], Callable[[str], Any], None],
        log: Optional[PluginLog],
        writable: bool,
        isolated: bool,
        id: Optional[str],
        load_timeout: Optional[float],
    ) -> None:
        if not isinstance(source, (str, os.PathLike, ModuleType)):
            raise wrong_type("source", "a path or a module", source)
        self._path = None if isinstance(source, ModuleType) else _path_of(source)
        if isolated and (self._path is None or self._path.suffix == ".py"):
            raise ValueError("source is of Python, and runs in this process: treadle-python-plugin isolates files of Python")
        pairs_of(settings)
        self.source = source
        self.settings: Dict[str, Value] = dict(settings or {})
        self._host = encoded_text(host_name, "host_name"), encoded_text(host_version, "host_version")
        self._extensions = extensions
        if log is not None and not callable(log):
            raise wrong_type("log", "a function", log)
        if extensions is not None and not callable(extensions) and not isinstance(extensions, Mapping):
            raise wrong_type("extensions", "a dict or a function", extensions)
        self._log = log
        self._id, self._load_timeout = id, load_timeout
        self._encoded_id = None if id is None else encoded_text(id, "id")
        self._limit = 0 if load_timeout is None else nanoseconds(load_timeout, "load_timeout")
        if load_timeout is not None and self._limit <= 0:
            raise ValueError("load_timeout is not above 0")
        self._flags = (_capi.PLUGIN_LOAD_WRITABLE if writable else 0) | (_capi.PLUGIN_LOAD_ISOLATED if isolated else 0)

    def renewed(self, source: Optional[PluginSource], settings: Optional[Mapping[str, Value]]) -> Origin:
        """The same from another source, or with other settings."""
        return Origin(
            self.source if source is None else source,
            self.settings if settings is None else settings,
            self._host[0].decode(),
            self._host[1].decode(),
            self._extensions,
            self._log,
            bool(self._flags & _capi.PLUGIN_LOAD_WRITABLE),
            bool(self._flags & _capi.PLUGIN_LOAD_ISOLATED),
            self._id,
            self._load_timeout,
        )

    def record(self) -> Record:
        """Who loads it."""
        find = self._extensions.get if isinstance(self._extensions, Mapping) else self._extensions
        return Record(self._tell, find)

    def _tell(self, id: str, level: int, text: str) -> None:
        degree = LEVELS[min(level, len(LEVELS) - 1)]
        if self._log is not None:
            self._log(id, degree, text)
        else:
            _logger.log(degree, "%s: %s", id, text)

    def config(self, record: Record) -> Any:
        """What the library is to load for it."""
        pointers = functions()
        config = _capi.treadle_plugin_config(
            struct_size=ctypes.sizeof(_capi.treadle_plugin_config),
            host_name=self._host[0],
            host_version=self._host[1],
            log=ctypes.cast(pointers["log"].pointer, _capi.treadle_plugin_log_fn),
            info=record.number,
            flags=self._flags,
            timeout_ns=self._limit,
            id=self._encoded_id,
        )
        if record.find is not None:
            config.get_extension = ctypes.cast(pointers["extension"].pointer, _capi.treadle_plugin_extension_fn)
        pairs = pairs_of(self.settings)
        if pairs is not None:
            config.settings = pairs
        path = self._path
        if isinstance(self.source, ModuleType):
            record.become(self.source, pointers, is_own=False)
        elif path is not None and path.suffix == ".py":
            record.become(_plugin_file.load(path, bool(self._flags & _capi.PLUGIN_LOAD_WRITABLE)), pointers, is_own=True)
        elif path is not None:
            config.path = os.fsencode(path)
            record.id = self._id or path.name
        if record.description is not None:
            config.query = _query
        return config


def _answer(_abi: int) -> int:
    record: Record = pending.record
    return record.description.address if record.description is not None else 0


# Called only inside of a load, and lives for ever.
_query_function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(_answer)
_query = ctypes.cast(_query_function, _capi.treadle_plugin_query_fn)


def _path_of(source: Union[str, os.PathLike[str]]) -> Path:
    try:
        encoded = os.fsencode(source)
    except UnicodeEncodeError:
        raise ValueError(f"source is not a path: {source!r}") from None
    if b"\0" in encoded:
        raise ValueError("source contains NUL")
    return Path(os.fsdecode(encoded)).absolute()
