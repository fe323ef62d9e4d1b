# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Plugins: shared libraries and files of Python that come and go without harm to the program."""

from __future__ import annotations

import ctypes
import os
import threading
import time
import weakref
from contextlib import contextmanager
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from . import _capi, _plugin_host, _registry
from ._arguments import encoded_text
from ._errors import PluginError, check, failure
from ._frames import Frame, call, guarded
from ._host import host
from ._item import text_of as native_text
from ._library import native
from ._plugin_calls import Record, by_description, handles, prune, records
from ._plugin_description import PluginSetting, Value, settings_of, value_of
from ._plugin_description import text_of as setting_text
from ._plugin_host import check_kind, found_at
from ._plugin_origin import Origin, PluginLog, PluginSource, pending
from ._scope import Scope
from ._types import NamedNumber, timeout_of
from ._waiting import SLICE_NS

#: The plugins that somebody knows, by handle.
_plugins: weakref.WeakValueDictionary[int, Plugin] = weakref.WeakValueDictionary()


class PluginState(NamedNumber):
    """How far a plugin has come. Since 1.0."""

    #: Not started.
    LOADED = _capi.PLUGIN_LOADED
    #: Its init or start runs.
    STARTING = _capi.PLUGIN_STARTING
    #: It works.
    STARTED = _capi.PLUGIN_STARTED
    #: It has ended or is ending.
    CLOSED = 3


class Plugin(Scope):
    """A plugin, in C or in Python: the scope of all that it makes. Since 1.0.

        with treadle.Plugin.load("counter.py", {"interval": 0.5}) as counter:   # starts it, and closes it at the end
            treadle.RunLoop.current().run(seconds=10)

    A plugin lives until it is closed, also without a reference to this object; Plugin.all() finds it again. A file of Python is a module
    with ID, VERSION and functions: docs/guide/plugins.md tells which.
    """

    #: Its id, such as "org.example.counter".
    id: str
    #: Its name, for people.
    name: str
    #: Its own version.
    version: str
    #: The file; None for a module, or one that is part of the program.
    path: Optional[str]
    #: The settings that it has, by key.
    described_settings: Dict[str, PluginSetting]
    #: The extensions that it needs, uses where they are there, and has for others.
    required: Tuple[str, ...]
    optional: Tuple[str, ...]
    provided: Tuple[str, ...]

    _origin: Optional[Origin]
    _limit: int
    #: Drops the reference.
    _finalizer: Optional[weakref.finalize[..., Plugin]] = None

    def __init__(self) -> None:
        """Not to be called: Plugin.load() and Plugin.all() give plugins. Raises TypeError. Since 1.0."""
        raise TypeError("use Plugin.load()")

    @classmethod
    def load(
        cls,
        source: PluginSource,
        settings: Optional[Mapping[str, Value]] = None,
        *,
        host_name: str = "",
        host_version: str = "",
        extensions: Union[Mapping[str, Any], Callable[[str], Any], None] = None,
        log: Optional[PluginLog] = None,
        writable: bool = False,
        isolated: bool = False,
        id: Optional[str] = None,
        load_timeout: Optional[float] = None,
        timeout: Optional[float] = None,
    ) -> Plugin:
        """Loads a plugin, and starts nothing (PLUG-1). It belongs to the scope that the calling thread has entered.

        source: a shared library; a file that ends with .py, whose body runs; or a module. settings: values by key, each of the
        setting's type. host_name, host_version: of the program, for the plugin. extensions: what the program has for it, by
        name, or a function that finds it by the name, on any thread, and returns None for nothing: an object of ctypes, the
        address of one, or for plugins in Python any object; kept until the plugin has ended. log: told of messages, on
        any thread, as log(id, level, text); without one they go to the logger "treadle.plugins". writable: take a file that
        other users may write or replace. isolated: run a shared library in a process of its own, whose end is a PluginError of the
        calls that it interrupts, and a message; the next two are for such a one. id: its id in this program, in the place of its own, so
        that a library can be loaded several times. load_timeout: how long its load, and then its start, may take, in seconds: then its
        process is killed; None sets no limit. timeout: how long the end of a with-statement waits, in seconds; None waits for ever.
        Raises PluginError for a file that is refused, or is no plugin; Error with TREADLE_E_EXISTS for an id that is loaded
        already, with TREADLE_E_NOT_FOUND for a setting that it does not have; Timeout behind load_timeout; ValueError for an isolated
        file or module of Python, which treadle-python-plugin isolates; InvalidArgument for a value that the setting's
        type does not allow, or an id that is invalid; SystemFailure where there is no such file; LoopClosed if the scope is closed; and what the body
        of a module raises. Any thread. Since 1.0.
        """
        limit = timeout_of(timeout, "timeout")
        origin = Origin(source, settings, host_name, host_version, extensions, log, writable, isolated, id, load_timeout)

        def load(record: Record, config: Any, out: Any) -> int:
            return guarded(native.treadle_plugin_load, config, out)

        record = cls._load(origin, load)
        plugin = cls._of(record.handle)
        if plugin is None:  # somebody has closed it already
            raise failure(_capi.E_CLOSED)
        plugin._origin, plugin._limit = origin, limit
        record.id = plugin.id
        return plugin

    @classmethod
    def all(cls) -> List[Plugin]:
        """All plugins of the process that are loaded, in the order in which they were. Any thread. Since 1.0."""
        return [plugin for plugin in map(cls._of, handles()) if plugin is not None]

    @staticmethod
    def _load(origin: Origin, load: Callable[[Record, Any, Any], int]) -> Record:
        """Loads a plugin in one of both ways. Its handle is a reference, which belongs to the caller."""
        host.drain()
        prune()
        record = origin.record()
        outer = getattr(pending, "record", None)
        try:
            config = origin.config(record)
            out = ctypes.c_void_p()
            records[record.number] = record
            pending.record = record
            check(load(record, config, out))
        except BaseException as error:
            if record.handle:  # it was initialised, and something of it may run still
                prune()
            else:
                record.forget()
            if record.error is not None and isinstance(error, PluginError):
                raise error from record.error
            raise
        finally:
            pending.record = outer
        record.handle = out.value or 0
        return record

    @classmethod
    def _of(cls, handle: int) -> Optional[Plugin]:
        """Takes over a reference that the library gave; None for one that has ended meanwhile."""
        with _registry.lock:
            known = _plugins.get(handle)
            if known is not None:
                native.treadle_release(handle)
                return known
            self = cls.__new__(cls)
            self._origin, self._limit = None, _capi.FOREVER
            if not self._become(handle):
                return None
            _registry.scopes.add(self)
            return self

    def _become(self, handle: int) -> bool:
        """The object is for this plugin, whose reference it takes over. False if that has ended already."""
        with _registry.lock:
            if _plugins.get(self._handle) is self:
                del _plugins[self._handle]
            self._handle = handle
            if self._finalizer is not None:
                self._finalizer()
            self._finalizer = weakref.finalize(self, native.treadle_release, handle)
            self._finalizer.atexit = False
            _plugins[handle] = self
            if self._describe():
                return True
            del _plugins[handle]
            return False

    @classmethod
    def _lent(cls, handle: int) -> Plugin:
        """The object for a handle that the caller does not own."""
        check(native.treadle_retain(handle))
        plugin = cls._of(handle)
        if plugin is None:
            raise failure(_capi.E_CLOSED)
        return plugin

    def _describe(self) -> bool:
        info = self._info()
        if info is None:
            return False
        raw = info.description.contents
        record = by_description.get(ctypes.addressof(raw))
        self.id = str(raw.id.decode())
        self.label = self.id
        self.name, self.version = str(raw.name.decode()), str(raw.version.decode())
        self.path = os.fsdecode(info.path) if info.path else None if record is None else record.path
        self.required, self.optional, self.provided = map(_names_of, (raw.required, raw.optional, raw.provided))
        settings = settings_of(raw)
        self._types = {setting.key.decode(): setting.type for setting in settings}
        self.described_settings = {setting.key.decode(): _described(setting) for setting in settings}
        return True

    def _info(self) -> Any:
        """What the library knows of it; None of one that has ended."""
        info = _capi.treadle_plugin_info(struct_size=ctypes.sizeof(_capi.treadle_plugin_info))
        status = native.treadle_plugin_get_info(self._handle, info)
        if status in (_capi.E_CLOSED, _capi.E_STALE):
            return None
        check(status, self._handle)
        return info

    @property
    def _record(self) -> Optional[Record]:
        return next((record for record in list(records.values()) if record.handle == self._handle), None)

    @property
    def state(self) -> PluginState:
        """How far it has come. Any thread. Since 1.0."""
        info = self._info()
        return PluginState.CLOSED if info is None else PluginState(info.state)

    # Its life

    def start(self) -> bool:
        """Initialises and starts it, and before it those that provide what it requires (PLUG-2). False if it has started
        before. Its functions are called here, on the calling thread.

        Raises PluginError for an init or start that fails, after which the plugin is closed, from what that has raised if it
        is one of Python; Error with TREADLE_E_NOT_FOUND for a required extension that is not provided, with TREADLE_E_STATE while
        another thread starts it; DeadlockError for plugins that require each other; LoopClosed if it is closed. Any thread.
        Since 1.0.
        """
        record = self._record
        if record is not None:
            record.error = None
        status = guarded(native.treadle_plugin_start, self._handle)
        if status < 0:
            error = failure(status, self._handle)
            prune()
            raise error from (None if record is None else record.error)
        return status != _capi.IGNORED

    def close(self, timeout: Optional[float] = None) -> bool:
        """Ends it (PLUG-4): nothing new is taken from it, its stop is called, all that it has made ends, then its deinit is
        called: True. While another plugin uses it, it is left as it is.

        From inside one of its own functions or callbacks it does not wait: False, and it ends when they have returned.
        timeout: in seconds, None waits for ever, 0 only looks; stop gets what is left of it. Then Timeout, whose message names
        what goes on, and close() may be called again. Of one in Python, Ctrl-C on the main thread ends the wait; of one in C
        it is served after it. Any thread. Since 1.0.
        """
        return super().close(timeout)

    def _end(self, limit: int, frame: Frame) -> int:
        record = self._record
        try:
            if record is None or record.description is None:
                # Its stop is to have all the time, so this is no wait in slices.
                with _draining():
                    return call(frame, native.treadle_close, self._handle, limit)
            record.until = _capi.FOREVER if limit == _capi.FOREVER else time.monotonic_ns() + limit
            status = super()._end(limit, frame)
            if status == _capi.E_TIMEOUT:
                record.until = None
            return status
        finally:
            host.drain()
            prune()

    def reload(
        self,
        source: Optional[PluginSource] = None,
        settings: Optional[Mapping[str, Value]] = None,
        *,
        timeout: Optional[float] = None,
    ) -> Plugin:
        """Puts a plugin of the same id in its place, and starts that: it gets the state that the old one has saved, if both
        can (PLUG-7), its log and its extensions. Returns this object, which is for the new one from now on: the end of a
        with-statement closes that.

        source: the new one; None for the same file, as it is now, or the same module. settings: values by key; None for
        those that the old one was given. timeout: for the end of the old one, in seconds; None waits for ever.
        Raises what load() and start() raise; before the old one has ended nothing is changed. Timeout if it did not end in
        time: it is being closed then, unless another plugin uses it; PluginError for another id; DeadlockError from
        inside of it. Any thread. Since 1.0.
        """
        limit = timeout_of(timeout, "timeout")
        old = self._origin
        record = self._record
        if old is None or record is None:
            raise PluginError(f"the plugin {self.id} was not loaded by this program's Python, or has ended", _capi.E_PLUGIN)
        origin = old.renewed(source, settings)

        def load(new: Record, config: Any, out: Any) -> int:
            record.until = None
            with _draining():
                return guarded(native.treadle_plugin_reload, self._handle, config, limit, out)

        try:
            new = self._load(origin, load)
        finally:
            prune()
        self._origin = origin
        if not self._become(new.handle):
            raise failure(_capi.E_CLOSED)
        new.id = self.id
        return self

    def __enter__(self) -> Plugin:
        """Starts it, if it has not started. Its scope is not entered: what the program makes is the program's."""
        self.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._close(self._limit)

    # Settings and extensions

    def setting(self, key: str) -> Value:
        """The value of a setting, of its type. Raises Error with TREADLE_E_NOT_FOUND for one that it does not have, LoopClosed
        if it is closed. Any thread. Since 1.0."""
        name = encoded_text(key, "key")
        text = native_text(lambda handle, *rest: int(native.treadle_plugin_copy_setting(handle, name, *rest)), self._handle)
        return value_of(self._types[key], text)

    def set(self, key: str, value: Value) -> None:
        """Changes a setting (PLUG-6). One that has started is asked, and may refuse.

        Raises Error with TREADLE_E_NOT_FOUND for a key that it does not have, InvalidArgument for a value that its type does
        not allow, LoopClosed if it is closed, and for what the plugin refuses the exception of its status, from what its set
        has raised if it is one of Python. Any thread. Since 1.0.
        """
        text = setting_text(value, "value")
        record = self._record
        if record is not None:
            record.error = None
        status = guarded(native.treadle_plugin_set, self._handle, encoded_text(key, "key"), text)
        if status < 0:
            raise failure(status, self._handle) from (None if record is None else record.error)
        if self._origin is not None:
            self._origin.settings[key] = value

    @property
    def settings(self) -> Dict[str, Value]:
        """The values of all settings, by key. Any thread. Since 1.0."""
        return {key: self.setting(key) for key in self.described_settings}

    def extension(self, name: str, kind: Any = None) -> Any:
        """An extension that it provides: of C the address, or with a kind, a struct or function type of ctypes, what lies
        there; of Python the object. It is valid until the plugin is closed.

        Raises Error with TREADLE_E_NOT_FOUND if it has none of that name, with TREADLE_E_STATE if it has not started;
        LoopClosed if it is closed. Any thread. Since 1.0.
        """
        check_kind(kind)
        out = ctypes.c_void_p()
        status = guarded(native.treadle_plugin_get_extension, self._handle, encoded_text(name, "name"), out)
        check(status, self._handle)
        return found_at(name, out.value, kind)

    def _state(self) -> str:
        state = super()._state()
        return self.state.name.lower() if state == "open" else state

    def __repr__(self) -> str:
        return super().__repr__().replace("<Scope", "<Plugin", 1)


@contextmanager
def _draining() -> Iterator[None]:
    """Meanwhile those who wait in Python are told what has ended: a call that waits may wait for them."""
    over = threading.Event()

    def body() -> None:
        while not over.wait(SLICE_NS / 1_000_000_000):
            host.drain()

    helper = threading.Thread(target=body, name="tells what a plugin's end has ended", daemon=True)
    try:
        helper.start()
    except RuntimeError:  # the interpreter ends
        yield
        return
    try:
        yield
    finally:
        over.set()
        helper.join()


def _names_of(raw: Any) -> Tuple[str, ...]:
    names: List[str] = []
    while raw and raw[len(names)] is not None:
        names.append(raw[len(names)].decode())
    return tuple(names)


def _described(raw: Any) -> PluginSetting:
    text = (raw.default_value or b"").decode()
    has_limits = raw.type == _capi.SETTING_INTEGER and (raw.minimum, raw.maximum) != (0, 0)
    limits = (raw.minimum, raw.maximum) if has_limits else (None, None)
    return PluginSetting(value_of(raw.type, text), (raw.description or b"").decode(errors="replace"), *limits)


_plugin_host.lend = Plugin._lent
