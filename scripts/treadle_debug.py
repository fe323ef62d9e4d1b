# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The library as the package's debug build makes it, which compiles little after an edit: a shared library, so that no test
is linked anew."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def tools() -> Path:
    """The directory of Swift's compiler."""
    return Path(os.path.realpath(shutil.which(os.environ.get("SWIFT", "swift")) or "swift")).parent


def build_debug(
    output: Path, scratch: Path, package: Path = ROOT, compiling: "tuple[str, ...]" = (), linking: "tuple[str, ...]" = ()
) -> None:
    """Builds a package with these options of swift build, and puts libtreadle.so into a folder. Raises CalledProcessError."""
    archive = scratch / "debug/libTreadleABI.a"
    archive.unlink(missing_ok=True)  # its objects are replaced, never removed
    subprocess.run([str(ROOT / "scripts/clean-stale"), str(scratch)], check=True)
    environment = {key: value for key, value in os.environ.items() if key not in ("CC", "CXX", "TREADLE_EMBEDDED")}
    command = [os.environ.get("SWIFT", "swift"), "build", "--package-path", str(package), "--scratch-path", str(scratch)]
    command += [*"--configuration debug --disable-index-store --product TreadleABI".split(), *compiling]
    subprocess.run(command, env={**environment, "TREADLE_LIBRARY": "source"}, stdout=sys.stderr, check=True)
    swift = tools()
    runtime = swift.parent / "lib/swift_static/linux"
    major = re.search(r"TREADLE_VERSION_MAJOR (\d+)$", (ROOT / "include/treadle/version.h").read_text(), re.M)[1]
    ffi = subprocess.run(["pkg-config", "--libs", "libffi"], capture_output=True, text=True, check=True).stdout
    output.mkdir(parents=True, exist_ok=True)
    made, library, link = output / "made.so", output / f"libtreadle.so.{major}", output / "libtreadle.so"
    command = [str(swift / "clang"), "-shared", "-fPIC", "-fuse-ld=lld", "-o", str(made)]
    command += [f"-Wl,-soname,{library.name}", "-Wl,-z,nodelete"]
    command += [f"-Wl,--version-script={ROOT / 'cmake/treadle.map'}", str(ROOT / "cmake/swift_fork.c")]
    command += [str(runtime / os.uname().machine / "swiftrt.o"), "-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive"]
    command += [f"-L{runtime}", *"-lswiftCore -lswiftSynchronization -lswiftSwiftOnoneSupport -lstdc++ -ldl -lpthread -lm".split()]
    subprocess.run([*command, *shlex.split(ffi), *linking], check=True)
    made.replace(library)  # a test that runs with the old one keeps it
    link.unlink(missing_ok=True)
    link.symlink_to(library.name)
    # Isolated plugins run in this program, which the library finds beside itself.
    process = output / "treadle-plugin-process"
    sources = [str(source) for source in sorted((ROOT / "host/process").glob("*.c"))]
    command = [str(swift / "clang"), "-std=gnu11", "-g", f"-I{ROOT / 'include'}", *sources, "-o", str(made)]
    subprocess.run([*command, str(library), "-Wl,-rpath,$ORIGIN"], check=True)
    made.replace(process)
