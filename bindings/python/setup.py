# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Builds a wheel that brings the shared library: the library that TREADLE_LIBRARY names, or else one
that is built from the repository around this folder."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

HERE = Path(__file__).resolve().parent
CONSTANTS = (HERE / "treadle" / "_capi.py").read_text(encoding="utf-8")


def version_part(name: str) -> str:
    match = re.search(rf"^VERSION_{name} = (\d+)$", CONSTANTS, re.M)
    if match is None:
        raise SystemExit(f"treadle/_capi.py has no VERSION_{name}")
    return match[1]


LIBRARY = f"libtreadle.so.{version_part('MAJOR')}"


def provide_library(target: Path) -> None:
    """Puts the library where the package looks for it first."""
    named = os.environ.get("TREADLE_LIBRARY")
    if named:
        shutil.copyfile(named, target)
        return
    script = HERE.parents[1] / "scripts" / "build-library"
    if not script.is_file():
        raise SystemExit(
            "The Treadle library is not here and cannot be built: set TREADLE_LIBRARY to a libtreadle.so, "
            "or build from a checkout of the repository."
        )
    with tempfile.TemporaryDirectory() as output:
        subprocess.run([str(script), "--output", output], check=True)
        shutil.copyfile(Path(output) / LIBRARY, target)


class BuildWithLibrary(build_py):
    """Adds the library to the package, but for editable installs: these find a development build."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "treadle" / LIBRARY
            target.parent.mkdir(parents=True, exist_ok=True)
            provide_library(target)
            target.chmod(0o755)


class WheelForAnyPython(bdist_wheel):
    """One wheel for every Python 3 of this platform: the package is Python, the library is not."""

    def get_tag(self) -> "tuple[str, str, str]":
        return ("py3", "none", super().get_tag()[2])


class DistributionWithLibrary(Distribution):
    """Tells that the package depends on the platform."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    version=".".join(version_part(name) for name in ("MAJOR", "MINOR", "PATCH")),
    distclass=DistributionWithLibrary,
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelForAnyPython},
)
