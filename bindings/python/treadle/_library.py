# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Finds the shared library, checks its version and binds its functions."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Optional

from . import _capi

_NAME = f"libtreadle.so.{_capi.VERSION_MAJOR}"
_VARIABLE = "TREADLE_LIBRARY"


def _refuse_subinterpreters() -> None:
    # ctypes attaches the callbacks of foreign threads to the main interpreter, whichever made them.
    python = ctypes.pythonapi
    python.PyInterpreterState_Get.restype = python.PyInterpreterState_Main.restype = ctypes.c_void_p
    if python.PyInterpreterState_Get() != python.PyInterpreterState_Main():
        raise ImportError("treadle cannot be imported in a sub-interpreter")


def _development_builds() -> list[Path]:
    """Where a checkout of the repository has its builds; nothing for an installed package."""
    root = Path(__file__).resolve().parents[3]
    if not (root / "include" / "treadle.h").is_file():
        return []
    return [root / "build" / kind / _NAME for kind in ("lib", "dev")]


def locate() -> Path:
    """The library's path: that of a host which brings the interpreter, the bundled one, what TREADLE_LIBRARY names, or a
    development build."""
    hosts: Optional[str] = getattr(sys, "_treadle_library", None)  # set by treadle-python-plugin
    if hosts is not None:
        return Path(hosts)
    bundled = Path(__file__).resolve().parent / _NAME
    if bundled.is_file():
        return bundled
    named = os.environ.get(_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise ImportError(f"{_VARIABLE} names {named}, which is not a file")
        return Path(named)
    developed = _development_builds()
    for path in developed:
        if path.is_file():
            return path
    builds = ", ".join(map(str, developed)) or "none, since this is not a source checkout"
    advice = f": run `make library` in {developed[0].parents[2]}" if developed else ""
    raise ImportError(
        f"the Treadle library was not found{advice}. Looked for, in this order: "
        f"the library bundled with the package ({bundled}); "
        f"the file named by the environment variable {_VARIABLE} (not set); "
        f"a development build ({builds})"
    )


def _check_version(library: ctypes.CDLL, path: Path) -> None:
    version = library.treadle_version()
    major, minor = version >> 16, version >> 8 & 0xFF
    if major != _capi.VERSION_MAJOR or minor < _capi.VERSION_MINOR:
        raise ImportError(
            f"{path} is version {major}.{minor} of Treadle, but this package needs "
            f"{_capi.VERSION_MAJOR}.{_capi.VERSION_MINOR} or a later minor version"
        )


def _is_loaded(path: Path) -> bool:
    """Whether the process has the library already, by other code."""
    try:
        ctypes.CDLL(str(path), os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return False
    return True


def load() -> _capi.Functions:
    """Loads the library and binds every function of the interface."""
    global was_loaded, path
    _refuse_subinterpreters()
    path = locate()
    was_loaded = _is_loaded(path)
    mode = os.RTLD_LOCAL | os.RTLD_NOW
    try:
        releasing = ctypes.CDLL(str(path), mode)  # drops the interpreter's lock around each call
        holding = ctypes.PyDLL(str(path), mode)  # keeps it: quicker, for what neither blocks nor calls back
        _check_version(releasing, path)
        functions = _capi.Functions()
        for name, prototype in _capi.PROTOTYPES.items():
            function = getattr(holding if prototype.quick else releasing, name)
            function.restype = prototype.result
            function.argtypes = prototype.arguments
            setattr(functions, name, function)
    except (OSError, AttributeError) as error:
        raise ImportError(f"cannot use the Treadle library {path}: {error}") from error
    return functions


#: Whether other code had used the library before, which may have entered a scope.
was_loaded = False
#: The library's file.
path: Path
#: The library's functions.
native = load()
