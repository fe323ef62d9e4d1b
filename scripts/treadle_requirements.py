# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Packages that scripts/install-requirements has left out, since they would upgrade what is installed: what needs them is skipped, by
name and with the reason.

    python3 scripts/treadle_requirements.py PACKAGE...    prints why and succeeds if one of these is left out

TREADLE_LEFT_OUT names the record in place of build/left-out.txt. Whatever is missing otherwise is a failure."""

import fnmatch
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def left_out() -> "dict[str, str]":
    """The packages, each with the reason."""
    record = Path(os.environ.get("TREADLE_LEFT_OUT") or ROOT / "build/left-out.txt")
    lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
    return {package: reason for package, _, reason in (line.partition(": ") for line in lines)}


def why(*packages: str) -> str:
    """Why what needs all of these is skipped; empty if they are there. A package may be a pattern."""
    for package, reason in left_out().items():
        if any(fnmatch.fnmatchcase(package, each) for each in packages):
            return f"{package} is left out: {reason}"
    return ""


def packages_of(*modules: str) -> "list[str]":
    """The packages that bring modules of pkg-config, as scripts/install-requirements has them."""
    text = (ROOT / "scripts/install-requirements").read_text(encoding="utf-8")
    found = re.findall(r"^ *(?:need|want) (\S+) pkg-config --exists (.*)$", text, re.M)
    return [package for package, brought in found if set(modules) & set(brought.split())]


def why_not_modules(*modules: str) -> str:
    return why(*packages_of(*modules))


if __name__ == "__main__":
    reason = why(*sys.argv[1:])
    if reason:
        print(reason)
    sys.exit(0 if reason else 1)
