# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The libraries that are measured: how a program is compiled with each, and which are there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(os.environ.get("TREADLE_BUILD", ROOT / "build/lib")).resolve()


class Missing(Exception):
    """Why a library cannot be measured here."""


@dataclass
class Library:
    """One file of peers/, and what the compiler must be told for it."""

    name: str
    version: str = ""
    options: list[str] = field(default_factory=list)
    is_installed: bool = True  # else the program must be told where it is


def output_of(*command: str) -> str:
    """What a command prints; empty if it fails or is not there."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    except OSError:
        return ""


def toolchain() -> Path | None:
    """The folder usr of Swift's toolchain."""
    swift = shutil.which("swiftc")
    return Path(swift).resolve().parent.parent if swift else None


def compiler() -> str:
    """One compiler for all programs: the toolchain's clang, which CoreFoundation needs, or else CC."""
    usr = toolchain()
    if usr and (usr / "bin/clang").exists():
        return str(usr / "bin/clang")
    return os.environ.get("CC", "cc")


def alone(name: str) -> Library:
    return Library(name)


def treadle(name: str) -> Library:
    if not (LIBRARY / "libtreadle.so").exists():
        raise SystemExit(f"bench: {LIBRARY} has no libtreadle.so: run make library, or set TREADLE_BUILD")
    text = (ROOT / "include/treadle/version.h").read_text(encoding="utf-8")
    numbers = re.findall(r"^#define TREADLE_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", text, re.M)
    options = [f"-I{ROOT / 'include'}", f"-L{LIBRARY}", "-ltreadle"]
    return Library(name, ".".join(numbers), options, is_installed=False)


def packaged(package: str, *modules: str):
    """A library that pkg-config knows, from Debian's package."""

    def find(name: str) -> Library:
        version = output_of("pkg-config", "--modversion", modules[0])
        options = output_of("pkg-config", "--cflags", "--libs", *modules).split()
        if not version or not options:
            raise Missing(f"install {package}")
        return Library(name, version, options)

    return find


def libev(name: str) -> Library:
    header = next((path for path in map(Path, ("/usr/include/ev.h", "/usr/local/include/ev.h")) if path.exists()), None)
    if header is None:
        raise Missing("install libev-dev")
    numbers = re.findall(r"EV_VERSION_(?:MAJOR|MINOR)\s*=?\s*(\d+)", header.read_text(encoding="utf-8"))
    return Library(name, ".".join(numbers[:2]), [f"-I{header.parent}", "-lev"])


def of_toolchain(header: str, *libraries: str):
    """A library that comes with Swift for Linux; it needs blocks, and so clang."""

    def find(name: str) -> Library:
        usr = toolchain()
        if usr is None or not (usr / "bin/clang").exists():
            raise Missing("needs the clang of a Swift toolchain")
        headers, binaries = usr / "lib/swift", usr / "lib/swift/linux"
        if not (headers / header).exists() or not (binaries / f"lib{libraries[0]}.so").exists():
            raise Missing(f"this Swift toolchain has no {header}")
        version = re.search(r"Swift version (\S+)", output_of(str(usr / "bin/swiftc"), "--version"))
        options = ["-fblocks", "-isystem", str(headers), f"-L{binaries}", f"-Wl,-rpath,{binaries}"]
        options += [f"-l{library}" for library in libraries]
        return Library(name, f"of Swift {version[1] if version else '?'}", options)

    return find


# In the order in which tables show them.
KNOWN = {
    "treadle": treadle,
    "treadle-short": treadle,
    "libuv": packaged("libuv1-dev", "libuv"),
    "libev": libev,
    "libevent": packaged("libevent-dev", "libevent", "libevent_pthreads"),
    "glib": packaged("libglib2.0-dev", "glib-2.0"),
    "sd-event": packaged("libsystemd-dev", "libsystemd"),
    "libdispatch": of_toolchain("dispatch/dispatch.h", "dispatch", "BlocksRuntime"),
    "corefoundation": of_toolchain("CoreFoundation/CoreFoundation.h", "Foundation", "dispatch", "BlocksRuntime"),
    "pthread": alone,
    "raw": alone,
    "rawspin": alone,
}
libffi = packaged("libffi-dev", "libffi")


def find(wanted: set[str]) -> tuple[list[Library], dict[str, str]]:
    """The libraries that are there, and why the others are not."""
    found, missing = [], {}
    for name, seek in KNOWN.items():
        if wanted and name not in wanted:
            continue
        try:
            found.append(seek(name))
        except Missing as reason:
            missing[name] = str(reason)
    return found, missing
