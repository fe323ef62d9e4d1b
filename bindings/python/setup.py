# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Builds a wheel that brings the shared library: the library that TREADLE_LIBRARY names, or else one that is built from
what is around this folder, or in it: a source distribution brings what the library is built from."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from setuptools.dist import Distribution

HERE = Path(__file__).resolve().parent
CONSTANTS = (HERE / "treadle" / "_capi.py").read_text(encoding="utf-8")


def version_part(name: str) -> str:
    match = re.search(rf"^VERSION_{name} = (\d+)$", CONSTANTS, re.M)
    if match is None:
        raise SystemExit(f"treadle/_capi.py has no VERSION_{name}")
    return match[1]


#: The program of isolated plugins, which the library finds beside itself.
PROGRAM = "treadle-plugin-process"
LIBRARY = f"libtreadle.so.{version_part('MAJOR')}"
#: A library that was built before.
GIVEN = os.environ.get("TREADLE_LIBRARY")
#: What the library is built from, and where that is: in a source distribution, or around this folder in a checkout.
PARTS = [
    *("LICENSE", "Package.swift", "Sources", "include", "cmake/treadle.map", "cmake/swift_fork.c", "host/process"),
    *("scripts/build-library", "scripts/build-archive", "scripts/clean-stale", "scripts/split-symbols"),
]
ROOT = HERE / "library" if (HERE / "library").is_dir() else HERE.parent.parent
#: What builds it: the command, the variable that names another one, what brings it.
TOOLS = [
    ("swift", "SWIFT", "Swift 6.3 or later: https://www.swift.org/install/linux"),
    ("cc", "CC", "a C compiler: apt-get install gcc libc6-dev"),
    ("ld", "LD", "a linker: apt-get install binutils"),
    ("objcopy", "OBJCOPY", "objcopy: apt-get install binutils"),
    ("pkg-config", "", "pkg-config: apt-get install pkg-config"),
]


def missing() -> "list[str]":
    """What a wheel cannot be built without."""
    if GIVEN:
        return [] if Path(GIVEN).is_file() else [f"the file {GIVEN}, which TREADLE_LIBRARY names"]
    if not all((ROOT / part).exists() for part in PARTS):
        return ["a checkout of Treadle's repository around it, or its source distribution"]
    needs = [needed for tool, variable, needed in TOOLS if not shutil.which(os.environ.get(variable) or tool)]
    if shutil.which("pkg-config") and subprocess.run(["pkg-config", "--exists", "libffi"]).returncode != 0:
        needs.append("libffi's headers: apt-get install libffi-dev")
    return needs


def provide_library(target: Path) -> None:
    """Puts the library where the package looks for it first."""
    if GIVEN:
        shutil.copyfile(GIVEN, target)
        for folder in ("", "treadle"):
            if (program := Path(GIVEN).parent / folder / PROGRAM).is_file():
                shutil.copy(program, target.parent / PROGRAM)
        return
    with tempfile.TemporaryDirectory() as output:
        subprocess.run([str(ROOT / "scripts" / "build-library"), "--output", output], check=True)
        shutil.copyfile(Path(output) / LIBRARY, target)
        shutil.copy(Path(output) / PROGRAM, target.parent / PROGRAM)


class BuildWithLibrary(build_py):
    """Adds the library to the package, but for editable installs: these find a development build."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "treadle" / LIBRARY
            target.parent.mkdir(parents=True, exist_ok=True)
            provide_library(target)
            target.chmod(0o755)


class SourceWithLibrary(sdist):
    """Adds what the library is built from."""

    def make_release_tree(self, base_dir: str, files: "list[str]") -> None:
        super().make_release_tree(base_dir, files)
        for part in PARTS:
            source, target = ROOT / part, Path(base_dir) / "library" / part
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy(source, target)


class WheelForAnyPython(bdist_wheel):
    """One wheel for every Python 3 of this platform: the package is Python, the library is not."""

    def get_tag(self) -> "tuple[str, str, str]":
        return ("py3", "none", super().get_tag()[2])


class DistributionWithLibrary(Distribution):
    """Tells that the package depends on the platform."""

    def has_ext_modules(self) -> bool:
        return True


if "bdist_wheel" in sys.argv:  # before anything else is printed
    needs = missing()
    if needs:
        raise SystemExit(
            f"Treadle cannot be built here, since this is missing: {'; '.join(needs)}.\n"
            "With TREADLE_LIBRARY set to a libtreadle.so that was built elsewhere, nothing is compiled."
        )
setup(
    version=".".join(version_part(name) for name in ("MAJOR", "MINOR", "PATCH")),
    distclass=DistributionWithLibrary,
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelForAnyPython, "sdist": SourceWithLibrary},
)
