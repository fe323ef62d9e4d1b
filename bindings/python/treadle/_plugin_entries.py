# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What the library calls of plugins in Python.

All such plugins share one set of function pointers, which are closures: at the end of the interpreter they answer
without it. Which plugin is meant is told by the address of its description, or by its number.
"""

from __future__ import annotations

import ctypes
import threading
import time
from typing import Any, Dict, List, Optional, Tuple

from . import _capi, _plugin_owner
from ._closure import Closure
from ._host import outside_of_scopes
from ._library import native
from ._plugin_calls import ERROR, WARNING, HostStruct, by_description, records, shared, text_of
from ._plugin_description import value_of
from ._plugin_host import PluginHost
from ._types import NANOSECONDS

_functions: Dict[str, Closure] = {}
_making = threading.Lock()


def functions() -> Dict[str, Closure]:
    """The function pointers, which belong to no scope."""
    with _making:
        if not _functions:
            outside_of_scopes(_make)
        return _functions


def forget_parent() -> None:
    """In the child of a fork no plugin is loaded."""
    global _making
    _making = threading.Lock()
    _functions.clear()
    _plugin_owner.forget_parent()
    for record in list(records.values()):
        record.forget()


def _init(address: int, out: int) -> int:
    struct = HostStruct.from_address(address)
    info = _capi.treadle_plugin_info(struct_size=ctypes.sizeof(_capi.treadle_plugin_info))
    status: int = native.treadle_plugin_get_info(struct.plugin, info)
    if status < 0:
        return status
    record = by_description[ctypes.cast(info.description, ctypes.c_void_p).value or 0]
    assert record.module is not None
    record.handle = struct.plugin
    _plugin_owner.add(record.module.__dict__, struct.plugin)
    record.host = PluginHost._made(record, struct)
    status, record.instance = record.call("init", record.host)
    if status < 0:
        record.forget_module()
    ctypes.c_void_p.from_address(out).value = record.number
    return status


def _start(number: int) -> int:
    record = records[number]
    return record.call("start", record.instance)[0]


def _stop(number: int, timeout: int) -> int:
    record = records[number]
    if record.until is not None:  # Python waits in slices
        timeout = max(record.until - time.monotonic_ns(), 0)
    seconds = None if timeout >= _capi.FOREVER // 2 else timeout / NANOSECONDS
    return record.call("stop", record.instance, seconds)[0]


def _deinit(number: int) -> None:
    record = records[number]
    record.call("deinit", record.instance)
    record.forget_module()


def _extension(number: int, name: bytes) -> int:
    record = records[number]
    given = shared(record.call("get_extension", record.instance, name.decode())[1])
    if given is None:
        return 0
    record.given[name.decode()] = given
    return given.address


def _set(number: int, key: bytes, text: bytes) -> int:
    record = records[number]
    assert record.description is not None
    kind = next(setting.type for setting in record.description.settings if setting.key == key)
    return record.call("set", record.instance, key.decode(), value_of(kind, text.decode()), level=WARNING)[0]


def _save(number: int, write: Any, sink: int) -> int:
    record = records[number]
    status, state = record.call("save", record.instance)
    if status < 0:
        return status
    try:
        state = bytes(memoryview(state))
    except TypeError:
        record.tell(ERROR, f"save has returned {type(state).__name__}, and no bytes")
        return _capi.E_ARG
    write(sink, state, len(state))
    return _capi.OK


def _restore(number: int, address: Optional[int], size: int) -> int:
    record = records[number]
    return record.call("restore", record.instance, ctypes.string_at(address, size) if address else b"")[0]


def _host_log(number: int, _plugin: int, level: int, text: bytes) -> None:
    record = records.get(number)
    if record is not None:
        record.tell(level, text.decode(errors="replace"))


def _host_extension(number: int, name: bytes) -> int:
    record = records.get(number)
    if record is None or record.find is None:
        return 0
    key = name.decode(errors="replace")
    try:
        given = shared(record.find(key))
    except Exception as error:
        record.tell(ERROR, f"the extension {key} of the host has raised {text_of(error)}")
        return 0
    if given is None:
        return 0
    record.given[key] = given
    return given.address


def _make() -> None:
    number, text, status = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32
    made: List[Tuple[str, Any, Any, Tuple[Any, ...]]] = [
        ("init", _init, status, (number, number)),
        ("start", _start, status, (number,)),
        ("stop", _stop, status, (number, ctypes.c_int64)),
        ("deinit", _deinit, None, (number,)),
        ("get_extension", _extension, number, (number, text)),
        ("set", _set, status, (number, text, text)),
        ("save", _save, status, (number, _capi.treadle_plugin_write_fn, number)),
        ("restore", _restore, status, (number, number, ctypes.c_size_t)),
        ("log", _host_log, None, (number, number, ctypes.c_uint32, text)),
        ("extension", _host_extension, number, (number, text)),
    ]
    for name, function, result, arguments in made:
        default = _capi.E_CLOSED if result is status else None
        _functions[name] = Closure(ctypes.CFUNCTYPE(result, *arguments), function, default=default)
