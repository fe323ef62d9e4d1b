# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The Swift interface, compiled by itself over the headers, for the checks."""

import os
from pathlib import Path

from treadle_programs import BuildError, Builder, lock

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "Sources"
HEADER = ROOT / "include/treadle.h"
# The modules of the Swift interface, each after those that it imports.
MODULES = ["Treadle", "TreadleFoundation"]
SWIFT = os.environ.get("SWIFT", "swift") + "c"
FEATURES = ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"]


def modules() -> "tuple[Path, list[str], str]":
    """The folder of the modules, with a map of the headers; their objects, which a program links; and what is wrong. They are compiled
    by whichever check comes first, each as a whole, and anew when a source, a header or the compiler has changed."""
    folder, builder, objects = ROOT / "build/tests/swift-modules", Builder(), []
    headers = folder / "module.modulemap"
    text = f'module CTreadle {{ header "{HEADER}" export * }}\n'
    with lock(folder / "module.modulemap.lock"):
        if not headers.exists() or headers.read_text(encoding="utf-8") != text:
            headers.write_text(text, encoding="utf-8")
    features = [word for name in FEATURES for word in ("-enable-upcoming-feature", name)]
    how = ["-swift-version", "6", "-warnings-as-errors", "-package-name", "treadle", "-parse-as-library", f"-I{folder}", *features]
    for module in MODULES:
        sources, output = sorted(map(str, (SOURCES / module).rglob("*.swift"))), folder / f"{module}.o"
        made = ["-wmo", "-emit-module", "-emit-module-path", str(folder / f"{module}.swiftmodule"), "-emit-dependencies"]
        command = [SWIFT, "-module-name", module, *how, *made, "-c", *sources, "-o", str(output)]
        try:
            builder.make(output, command, [*sources, *objects], output.with_suffix(".d"))
        except BuildError as error:
            return folder, objects, f"the module {module} does not build\n{error}"
        objects.append(str(output))
    return folder, objects, ""
