# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The version, which stands in include/treadle/version.h, where it must be a text of a file of its own: in the library, and for Node.js.
CMake, the Python package and the scripts read the header, or what is generated of it."""

import re
from pathlib import Path

from treadle_headers import INCLUDE, ROOT

#: Files, each with the text around the version.
PLACES = {
    ROOT / "Sources/TreadleABI/VersionABI.swift": r'(?<=versionText: StaticString = ")[^"]*',
    ROOT / "bindings/node/package.json": r'(?<=^  "version": ")[^"]*',
}


def version() -> str:
    text = (INCLUDE / "treadle/version.h").read_text(encoding="utf-8")
    return ".".join(re.search(rf"^#define TREADLE_VERSION_{part} (\d+)$", text, re.M)[1] for part in ("MAJOR", "MINOR", "PATCH"))  # type: ignore


def texts() -> "dict[Path, str]":
    """The files with their texts."""
    return {path: re.sub(place, version(), path.read_text(encoding="utf-8"), count=1, flags=re.M) for path, place in PLACES.items()}
