# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The programs in Swift: packages of their own, which Swift builds. What cannot be built here is left out."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from . import building, libraries
from .libraries import LIBRARY, ROOT

SECONDS = 900


def describe_library(folder: Path) -> None:
    """Tells pkg-config of the library that is measured, and of the headers of the checkout. Written where it is not so already, since
    packages are built anew when it changes."""
    version = libraries.treadle("treadle").version
    quoted = {name: str(path).replace(" ", "\\ ") for name, path in (("include", ROOT / "include"), ("library", LIBRARY))}
    text = f"""Name: treadle
Description: the library that is measured
Version: {version}
Cflags: -I{quoted["include"]}
Libs: -L{quoted["library"]} -ltreadle
"""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "treadle.pc"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def build(package: str, program: str, environment: dict[str, str]) -> Path | str:
    """The program of a package in bench, or why there is none."""
    usr = libraries.toolchain()
    if usr is None:
        return "needs Swift"
    scratch = building.BUILD / package
    command = [str(usr / "bin/swift"), "build", "-c", "release", "--package-path", str(building.BENCH / package)]
    command += ["--scratch-path", str(scratch), "-Xlinker", "-rpath", "-Xlinker", str(LIBRARY)]
    try:
        subprocess.run([str(ROOT / "scripts/clean-stale"), str(scratch)], check=True)
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS, env=os.environ | environment
        )
    except subprocess.TimeoutExpired:
        return f"was not built within {SECONDS} s"
    if done.returncode != 0:
        reasons = [line for line in done.stdout.splitlines() if "error:" in line] or ["cannot be built"]
        return reasons[0][-300:]
    return scratch / "release" / program


def own() -> Path:
    """The program that measures the Swift interface, which must be there."""
    folder = building.BUILD / "pkgconfig"
    describe_library(folder)
    paths = [str(folder), *filter(None, [os.environ.get("PKG_CONFIG_PATH")])]
    built = build("swift-interface", "swift-bench", {"TREADLE_LIBRARY": "installed", "PKG_CONFIG_PATH": ":".join(paths)})
    if isinstance(built, str):
        raise SystemExit(f"bench: cannot build swift-bench: {built}")
    return built


def nio() -> Path | str:
    """SwiftNIO's program, or why there is none."""
    return build("nio-peer", "nio-bench", {})
