# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Building the explorer (Tests/explorer) with the library, and reading what it prints: for scripts/test-explore and scripts/test-mutants.

The library is compiled as ordinary Swift for the thread sanitizer, with assertions and with the switches of treadle_faults, and linked to
the explorer in place of the sanitizer's runtime."""

import os
import re
import subprocess
import sys
from pathlib import Path

from treadle_faults import read_faults, write_package, write_table
from treadle_programs import Builder

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "Tests/explorer"
OUTPUT = ROOT / "build/tests/explorer"
PACKAGE = OUTPUT / "package"
SCRATCH = ROOT / ".build/explored"
# What the explorer does in the library's and in Swift's place.
WRAPPED = """syscall clock_gettime getrlimit eventfd epoll_create1 epoll_ctl timerfd_create timerfd_settime fcntl socket bind listen getsockopt setsockopt madvise fstat fstatfs pthread_key_create
pthread_key_delete pthread_setspecific pthread_getspecific pthread_create pthread_join pthread_detach pthread_self pthread_exit
pthread_setname_np pthread_sigmask pthread_setschedprio pthread_atfork setpriority sched_yield sched_getcpu getpid swift_once malloc calloc free
strcmp realloc malloc_usable_size posix_memalign aligned_alloc _Znwm _Znam _ZdlPv _ZdaPv _ZdlPvm
treadle_system_allocate treadle_system_reallocate treadle_system_zeroed""".split()
PLACE = re.compile(r"@0x([0-9a-f]+)")


def tools() -> Path:
    swift = subprocess.run(["sh", "-c", 'command -v "$0"', os.environ.get("SWIFT", "swift")], capture_output=True, text=True, check=True)
    return Path(swift.stdout.strip()).resolve().parent


def call(command: list) -> None:
    subprocess.run([str(part) for part in command], cwd=ROOT, check=True, stdout=sys.stderr)


def build(swift: Path) -> Path:
    """The library with the faults that there were as switches, and the program that explores it."""
    write_package(PACKAGE)
    return build_package(swift, PACKAGE, SCRATCH, OUTPUT, read_faults())


def build_package(swift: Path, package: Path, scratch: Path, output: Path, faults: list) -> Path:
    """A package of the library, and the program that explores it and knows of such faults."""
    archive = scratch / "release/libTreadleABI.a"
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX", "TREADLE_EMBEDDED")}
    subprocess.run([str(ROOT / "scripts/clean-stale"), str(scratch)], check=True)
    archive.unlink(missing_ok=True)  # its objects are replaced, never removed
    subprocess.run(
        [str(swift / "swift"), "build", "--package-path", str(package), "--scratch-path", str(scratch), "--configuration", "release",
         "--disable-index-store", "--product", "TreadleABI", "--sanitize=thread", "-Xcc", "-DTREADLE_EXPLORED",
         "-Xcc", "-DTREADLE_CHECKED", "-Xcc",
         "-fsanitize=thread", "-Xswiftc", "-assert-config", "-Xswiftc", "Debug", "-Xswiftc", "-g"],
        env={**environment, "TREADLE_LIBRARY": "source"}, cwd=ROOT, check=True, stdout=sys.stderr)
    output.mkdir(parents=True, exist_ok=True)
    table = output / "faults.c"
    write_table(table, faults)
    clang = [swift / "clang", "-g", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fno-omit-frame-pointer", f"-I{ROOT}/include",
             f"-I{SOURCES}"]
    objects, builder = [], Builder()
    for source in sorted(SOURCES.glob("*.c")) + sorted(SOURCES.glob("scenes/*.c")) + [table]:
        is_scene = source.parent == SOURCES / "scenes"
        target = output / f"{'scene-' if is_scene else ''}{source.stem}.o"
        objects.append(target)
        depends, how = target.with_suffix(".d"), ["-O1", "-fsanitize=thread"] if is_scene else ["-O2"]
        command = [*clang, *how, "-MD", "-MF", depends, "-c", source, "-o", target]
        builder.make(target, [str(part) for part in command], [str(source)], depends)
    runtime = swift.parent / "lib/swift_static/linux"
    machine = os.uname().machine
    ffi = subprocess.run(["pkg-config", "--libs", "libffi"], capture_output=True, text=True, check=True).stdout.split()
    program = output / "explorer"
    call([swift / "clang", "-fuse-ld=lld", "-no-pie", "-g", *objects, ROOT / "cmake/swift_fork.c", runtime / machine / "swiftrt.o",
          "-Wl,--whole-archive", archive, "-Wl,--no-whole-archive", f"-L{runtime}", "-lswiftCore", "-lswiftSynchronization",
          "-lswiftSwiftOnoneSupport", "-lstdc++", "-ldl", "-lpthread", "-lm", *ffi, *(f"-Wl,--wrap={name}" for name in WRAPPED),
          "-o", program])
    return program


def short(place: str) -> str:
    """A file's name and the line. Files of the explorer have their directory too: some of the library's have the same names."""
    path, _, rest = place.partition(":")
    return f"{'/'.join(path.split('/')[-2:])}:{rest}" if f"{SOURCES}/" in path else f"{path.rpartition('/')[2]}:{rest}"


def named(lines: list, swift: Path, program: Path) -> list:
    """The lines with the sources' names in place of addresses: the innermost function's place, then those that it is inlined in."""
    addresses = sorted({address for line in lines for address in PLACE.findall(line)})
    if not addresses:
        return lines
    asked = "\n".join(f"0x{int(address, 16) - 1:x}" for address in addresses)
    answer = subprocess.run([str(swift / "llvm-symbolizer"), "-e", str(program), "--inlines"], input=asked, capture_output=True, text=True)
    names = {}
    for address, block in zip(addresses, answer.stdout.strip().split("\n\n")):
        places = [short(place.rpartition(":")[0]) for place in block.split("\n")[1::2]]
        names[address] = " < ".join([place for place in places if not place.startswith("<compiler")][:4]) or "?"
    return [PLACE.sub(lambda match: names.get(match[1], match[0]), line) for line in lines]
