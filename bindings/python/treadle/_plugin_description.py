# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What a module of Python says of itself as a plugin, and as the library reads it."""

from __future__ import annotations

import ctypes
import math
from types import ModuleType
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Union

from . import _capi
from ._arguments import encoded_text, integer, iterated, wrong_type
from ._errors import PluginError

#: What a setting's value may be.
Value = Union[str, bool, int, float]

#: By the class of the default; a bool is an int, too.
_TYPES = (
    (bool, _capi.SETTING_BOOLEAN),
    (int, _capi.SETTING_INTEGER),
    (float, _capi.SETTING_REAL),
    (str, _capi.SETTING_TEXT),
)
#: What a module may have besides.
_FUNCTIONS = ("init", "start", "stop", "deinit", "get_extension", "set", "save", "restore")


class PluginSetting(NamedTuple):
    """A setting of a plugin: its type is that of its default. In the SETTINGS of a module the default alone is enough.
    Since 1.0."""

    #: A str, bool, int or float.
    default: Value
    #: For people.
    description: str = ""
    #: The least that an int may be; None for any.
    minimum: Optional[int] = None
    #: The most that an int may be; None for any.
    maximum: Optional[int] = None


def text_of(value: Value, name: str) -> bytes:
    """A setting's value as the library takes it."""
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, int):
        return b"%d" % value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{name} is {value}, which no setting can be")
        return repr(float(value)).encode()
    if isinstance(value, str):
        return encoded_text(value, name)
    raise wrong_type(name, "a str, a bool, an int or a float", value)


def value_of(kind: int, text: str) -> Value:
    """The value of a setting of this type that a text stands for."""
    if kind == _capi.SETTING_BOOLEAN:
        return text == "true"
    if kind == _capi.SETTING_INTEGER:
        return int(text)
    if kind == _capi.SETTING_REAL:
        return float(text)
    return text


def pairs_of(settings: Optional[Mapping[str, Value]]) -> Any:
    """Keys and values by turns, as a load takes them; None for none."""
    if not settings:
        return None
    if not isinstance(settings, Mapping):
        raise wrong_type("settings", "a dict", settings)
    texts: List[Optional[bytes]] = []
    for key, value in settings.items():
        texts += [encoded_text(key, "the key of a setting"), text_of(value, f"the setting {key!r}")]
    return (ctypes.c_char_p * (len(texts) + 1))(*texts, None)


def settings_of(raw: _capi.treadle_plugin_description) -> List[_capi.treadle_plugin_setting]:
    """The settings of a description that may be of another version: as far apart as the first one states."""
    settings = []
    for index in range(raw.setting_count):
        stride = raw.settings.contents.struct_size
        setting = _capi.treadle_plugin_setting()
        start = ctypes.addressof(raw.settings.contents) + index * stride
        ctypes.memmove(ctypes.addressof(setting), start, min(stride, ctypes.sizeof(setting)))
        settings.append(setting)
    return settings


class Description:
    """A module's treadle_plugin_description, with all that it points to. Raises PluginError for what is none."""

    def __init__(self, module: ModuleType, functions: Mapping[str, Any]) -> None:
        self._module = module
        self.settings = self._settings()
        self._names = [self._list(name) for name in ("REQUIRED", "OPTIONAL", "PROVIDED")]
        self.raw = raw = _capi.treadle_plugin_description(
            struct_size=ctypes.sizeof(_capi.treadle_plugin_description),
            abi_min=_capi.PLUGIN_ABI & 0xFFFF0000,
            abi_max=_capi.PLUGIN_ABI,
            behaviour=_capi.PLUGIN_BEHAVIOUR,
            id=self._text("ID", None),
            name=self._text("NAME", "ID"),
            version=self._text("VERSION", None),
            setting_count=len(self.settings),
            settings=self.settings,
        )
        raw.required, raw.optional, raw.provided = self._names
        types: Dict[str, Any] = {field[0]: field[1] for field in _capi.treadle_plugin_description._fields_}
        for name in _FUNCTIONS:
            function = getattr(module, name, None)
            if function is not None and not callable(function):
                raise self._refusal(f"its {name} is {type(function).__name__}, and no function")
            if function is not None or name in ("init", "deinit"):
                setattr(raw, name, ctypes.cast(functions[name].pointer, types[name]))
        if raw.provided[0] and not raw.get_extension:
            raise self._refusal("it has PROVIDED, but no get_extension")

    @property
    def address(self) -> int:
        """Where it lies."""
        return ctypes.addressof(self.raw)

    @property
    def id(self) -> str:
        """The plugin's id."""
        return str(self.raw.id.decode())

    def _refusal(self, text: str) -> PluginError:
        return PluginError(f"{self._module.__file__ or self._module.__name__} is no plugin: {text}", _capi.E_PLUGIN)

    def _text(self, name: str, other: Optional[str]) -> bytes:
        value = getattr(self._module, name, getattr(self._module, other, None) if other else None)
        if value is None:
            raise self._refusal(f"it has no {name}")
        try:
            return encoded_text(value, name)
        except (TypeError, ValueError) as error:
            raise self._refusal(str(error)) from None

    def _list(self, name: str) -> Any:
        wanted = "a list of names of extensions"
        try:
            names = getattr(self._module, name, ())
            if isinstance(names, str):
                raise wrong_type(name, wanted, names)
            texts = [encoded_text(text, f"a name in {name}") for text in iterated(names, name, wanted)]
        except (TypeError, ValueError) as error:
            raise self._refusal(str(error)) from None
        return (ctypes.c_char_p * (len(texts) + 1))(*texts, None)

    def _settings(self) -> Any:
        settings: Dict[str, Any] = getattr(self._module, "SETTINGS", {})
        if not isinstance(settings, Mapping):
            raise self._refusal(str(wrong_type("SETTINGS", "a dict", settings)))
        try:
            described = [_described(key, value) for key, value in settings.items()]
        except (TypeError, ValueError) as error:
            raise self._refusal(str(error)) from None
        return (_capi.treadle_plugin_setting * len(described))(*described)


def _described(key: str, value: Union[PluginSetting, Value]) -> _capi.treadle_plugin_setting:
    setting = value if isinstance(value, PluginSetting) else PluginSetting(value)
    raw = _capi.treadle_plugin_setting(
        struct_size=ctypes.sizeof(_capi.treadle_plugin_setting),
        key=encoded_text(key, "a key of SETTINGS"),
        default_value=text_of(setting.default, f"the default of the setting {key!r}"),
        description=encoded_text(setting.description, f"the description of the setting {key!r}"),
        type=next(number for kind, number in _TYPES if isinstance(setting.default, kind)),
    )
    limits = setting.minimum, setting.maximum
    if limits != (None, None):
        if raw.type != _capi.SETTING_INTEGER:
            raise ValueError(f"the setting {key!r} has limits, and is no int")
        least, most = (_limit(limit, other, key) for limit, other in zip(limits, (-(2**63), 2**63 - 1)))
        raw.minimum, raw.maximum = least, most
    return raw


def _limit(limit: Optional[int], other: int, key: str) -> int:
    number = other if limit is None else integer(limit, f"a limit of the setting {key!r}")
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"a limit of the setting {key!r} does not fit into 64 bits")
    return number
