# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The Swift interface, compiled by itself over the headers, for the checks."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "Sources"
# The modules of the Swift interface, each after those that it imports.
MODULES = ["Treadle", "TreadleFoundation"]
SWIFT = os.environ.get("SWIFT", "swift") + "c"
FEATURES = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"]


def compile_module(folder: Path, *options: str, module: str = "Treadle") -> str:
    """Makes a module in a folder, with a map of the headers beside it; what is wrong."""
    header = ROOT / "include/treadle.h"
    (folder / "module.modulemap").write_text(f'module CTreadle {{ header "{header}" export * }}\n', encoding="utf-8")
    features = [word for name in FEATURES for word in ("-enable-upcoming-feature", name)]
    how = ["-swift-version", "6", "-warnings-as-errors", "-module-name", module, "-package-name", "treadle", "-parse-as-library", "-I."]
    command = [SWIFT, *how, *features, *options, "-emit-module", *sorted(map(str, (SOURCES / module).rglob("*.swift")))]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return "" if result.returncode == 0 else f"{' '.join(command[:8])}... ended with {result.returncode}\n{result.stderr}"
