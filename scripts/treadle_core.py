# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Modules of the core, each compiled by itself as the shipped library is, for the checks."""

import subprocess
from pathlib import Path
from typing import Iterable

from treadle_debug import ROOT, tools

HEADERS = ROOT / "Sources/CTreadleSystem/include"
OPTIONS = "-O -parse-as-library -package-name treadle -swift-version 6 -enable-experimental-feature Embedded".split()
OPTIONS += "-enable-upcoming-feature InternalImportsByDefault".split()


def compile_core(module: str, files: "Iterable[Path]", folder: Path, *options: "str | Path", as_one: bool = True) -> None:
    """Compiles files as a module, with the modules that lie in the folder. as_one: all at once; else one after the other, which the
    index needs. Raises CalledProcessError."""
    modules = f'module CTreadleSystem {{ umbrella header "{HEADERS}/CTreadleSystem.h" export * }}\n'
    (folder / "module.modulemap").write_text(modules, encoding="utf-8")
    first = "-wmo" if as_one else "-frontend"
    paths = ["-I", folder, "-Xcc", f"-I{HEADERS}"]
    subprocess.run([tools() / "swiftc", first, *OPTIONS, "-module-name", module, *paths, *options, *files], check=True)
