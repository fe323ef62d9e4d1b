# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Files of Python as plugins: who may write them, and modules that are made anew with each load."""

from __future__ import annotations

import importlib.util
import itertools
import os
import stat
import sys
from pathlib import Path
from types import ModuleType
from typing import List

from . import _capi
from ._errors import PluginError, SystemFailure
from ._scope import Scope

_numbers = itertools.count(1)


def load(path: Path, takes_writable: bool) -> ModuleType:
    """A new module of a file, under a name that no other one has. Its body may make nothing that would go on.

    Raises PluginError for a file that is refused, and what the body raises.
    """
    source = _source_of(path, takes_writable)
    # The private name is known to the interpreter, which dataclasses and pickle ask for it.
    name = f"treadle_plugin_{next(_numbers)}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None:
        raise PluginError(f"{path} is not a Python file", _capi.E_PLUGIN)
    module = importlib.util.module_from_spec(spec)
    # Not by its loader, which may take what an older file was compiled to.
    code = compile(source, str(path), "exec", dont_inherit=True)
    sys.modules[name] = module
    try:
        with Scope(f"the body of {path.name}"[:80]) as body:
            exec(code, module.__dict__)
            made = body.holders()
    except BaseException:
        forget(module)
        raise
    if made:
        forget(module)
        kinds = ", ".join(sorted({holder.kind for holder in made}))
        raise PluginError(f"{path} creates objects while it is loaded: {kinds}. A plugin does so in init or start", _capi.E_PLUGIN)
    return module


def forget(module: ModuleType) -> None:
    """The interpreter does not know the module any more; who holds it or functions of it may still use them."""
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]


def _source_of(path: Path, takes_writable: bool) -> bytes:
    try:
        # What is looked at is what is read, wherever a link on the way leads meanwhile.
        real = os.path.realpath(path)
        descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise PluginError(f"{path} is not a regular file", _capi.E_PLUGIN)
            if not takes_writable and _is_others(found):
                raise PluginError(f"{path} is a file that another user may write", _capi.E_PLUGIN)
            if not takes_writable and _is_open(os.stat(os.path.dirname(real))):
                raise PluginError(f"{path} is in a directory that another user may write", _capi.E_PLUGIN)
            with open(descriptor, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(descriptor)
    except OSError as error:
        failure = SystemFailure(f"{path} cannot be read: {os.strerror(error.errno or 0)}", _capi.E_SYSTEM)
        failure.errno = error.errno
        raise failure from None


def _read_numbers(path: str) -> List[int]:
    try:
        with open(path, "rb") as file:
            return [int(word) for word in file.read(64).split()]
    except (OSError, ValueError):
        return []


def _is_trusted(user: int) -> bool:
    """Whether it is root or the process's user. In a user namespace that does not map all users, the others look like one."""
    if user not in (0, os.geteuid()):
        return False
    unmapped = _read_numbers("/proc/sys/kernel/overflowuid") or [65534]
    mapped = _read_numbers("/proc/self/uid_map")[:3]
    return user != unmapped[0] or len(mapped) == 3 and mapped[0] == 0 and mapped[2] >= 2**32 - 1


def _is_others(found: os.stat_result) -> bool:
    """Whether somebody else than root and the process's user may write it, as the library decides it for its own."""
    user = os.geteuid()
    if not _is_trusted(found.st_uid) or found.st_mode & stat.S_IWOTH:
        return True
    # A user's own group has the user's number and nobody else in it.
    is_own_group = found.st_gid == 0 or found.st_gid == user == os.getegid()
    return bool(found.st_mode & stat.S_IWGRP) and not is_own_group


def _is_open(directory: os.stat_result) -> bool:
    """Whether somebody else may put another file in the place of one: with the sticky bit only its owner may."""
    if directory.st_mode & stat.S_ISVTX:
        return not _is_trusted(directory.st_uid)
    return _is_others(directory)
