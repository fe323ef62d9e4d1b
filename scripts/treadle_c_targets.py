# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The ways of scripts/test-c whose library is for another processor or C library: how their programs are compiled, linked and run."""

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ARM, MUSL = "aarch64-linux-gnu", "x86_64-linux-musl"
#: The ways, each with the one whose programs it shares.
WAYS = {"aarch64": "aarch64", "aarch64-16k": "aarch64", "aarch64-64k": "aarch64", "aarch64-guarded": "aarch64", "musl": "musl", "musl-static": "musl-static"}
#: The size of pages that qemu has for a program.
PAGES = {"aarch64-16k": "16384", "aarch64-64k": "65536"}

#: In place of the objects of a C library's and a compiler's that Debian compiles without marks of where jumps may land.
GUARDED = """
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;
__attribute__((visibility("hidden"))) _Bool __aarch64_have_lse_atomics;
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);
__attribute__((visibility("hidden"))) int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    return __register_atfork(prepare, parent, child, __dso_handle);
}
"""


def base(way: str) -> str:
    """The way whose library and programs a way shares: itself, but for variants of another."""
    return WAYS.get(way, way)


def library(way: str) -> str:
    """The way whose library a way shares."""
    return "musl" if way == "musl-static" else base(way)


def lacking(way: str) -> str:
    """What Debian's packages must bring before a way can run; empty if nothing, or it is no way for a target."""
    tools = {f"{ARM}-gcc": f"gcc-{ARM} libc6-dev-arm64-cross", "qemu-aarch64-static": "qemu-user-static"}
    if library(way) == "musl":
        tools = {"musl-gcc": "musl-tools"}
    return " ".join(packages for tool, packages in tools.items() if way in WAYS and not shutil.which(tool))


def make(way: str, library: Path) -> "Target | None":
    """What a way of these is compiled and run by; None for another."""
    if way not in WAYS:
        return None
    return (Musl if way.startswith("musl") else Target)(way, library)


class Target:
    """Where a way finds its tools and libraries."""

    def __init__(self, way: str, library: Path) -> None:
        self.way, self.library = way, library
        self.there, self.root = Path("/usr") / ARM, Path(os.environ.get("TREADLE_SYSROOT") or ROOT / "build/aarch64-root")

    @property
    def foreign(self) -> Path:
        return self.root / "usr/lib" / ARM

    def compiles(self) -> "list[str]":
        """Options of clang."""
        return ["--target=aarch64-unknown-linux-gnu", "-nostdlibinc", f"-isystem{self.there / 'include'}"]

    def links(self) -> "tuple[list[str], list[str]]":
        """The linker, and its options behind the library's."""
        # The loader and the libraries are named by their places, so that qemu need not pretend that these are elsewhere.
        options = [f"-Wl,--dynamic-linker={self.there / 'lib/ld-linux-aarch64.so.1'}", "-Wl,--disable-new-dtags"]
        return [f"{ARM}-gcc"], [*options, f"-Wl,-rpath,{self.there / 'lib'}:{self.foreign}", f"-L{self.foreign}", "-lffi"]

    def runs(self) -> "list[str]":
        """What a program is run by."""
        if self.way == "aarch64-guarded":
            return ["qemu-aarch64-static", "-E", f"LD_PRELOAD={self.library}-guarded/libtreadle.so.1"]
        return ["qemu-aarch64-static", *(["-p", PAGES[self.way]] if self.way in PAGES else [])]

    def builds(self) -> "list[str]":
        """Options of scripts/build-library."""
        subprocess.run([str(ROOT / "scripts/cross-root"), ARM, str(self.root)], check=True)
        return ["--target", ARM, "--sysroot", str(self.root)]

    def finishes(self) -> None:
        """Makes what a way needs besides the library."""
        if self.way != "aarch64-guarded":
            return
        # The object of the static library, linked so that the loader asks for pages in which jumps land at marks only.
        folder = Path(f"{self.library}-guarded")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "guarded.c").write_text(GUARDED, encoding="ascii")
        options = [f"-Wl,{each}" for each in ("-soname,libtreadle.so.1", "-z,force-bti", f"--version-script={ROOT / 'cmake/treadle.map'}")]
        library = ["-Wl,--whole-archive", str(self.library / "libtreadle.a"), "-Wl,--no-whole-archive", f"-L{self.foreign}", "-lffi"]
        command = [f"{ARM}-gcc", "-shared", "-nostartfiles", "-fPIC", "-mbranch-protection=standard", *options, str(folder / "guarded.c"), *library]
        output = folder / "libtreadle.so.1"
        made = subprocess.run([*command, "-o", str(output)], stderr=subprocess.PIPE, text=True)
        # The linker warns of each object that has no marks. Ours has.
        if made.returncode != 0 or "libtreadle.a" in made.stderr:
            raise SystemExit(f"test-c: the library has code without marks of where jumps may land:\n{made.stderr}")


class Musl(Target):
    """The same processor, with the C library musl: its programs run here."""

    def __init__(self, way: str, library: Path) -> None:
        super().__init__(way, library)
        self.root = Path(os.environ.get("TREADLE_MUSL_ROOT") or ROOT / "build/musl-root")

    @property
    def foreign(self) -> Path:
        return self.root / "usr/lib" / MUSL

    #: The kernel's headers, where scripts/cross-tools has put them for the library.
    KERNEL = f"-isystem{ROOT / '.build' / f'embedded-{MUSL}' / 'kernel'}"

    def compiles(self) -> "list[str]":
        return [f"--target={MUSL}", "-nostdlibinc", f"-isystem/usr/include/{MUSL}", self.KERNEL]

    def links(self) -> "tuple[list[str], list[str]]":
        if self.way == "musl-static":
            return ["musl-gcc", "-static"], [str(self.foreign / "libffi_pic.a")]
        return ["musl-gcc", self.KERNEL], []

    def runs(self) -> "list[str]":
        return []

    def builds(self) -> "list[str]":
        subprocess.run([str(ROOT / "scripts/cross-root"), MUSL, str(self.root)], check=True)
        # With libffi inside, as the wheel has it: the processes of isolated plugins are programs of their own, which look for all they need.
        return ["--target", MUSL, "--sysroot", str(self.root), "--libffi", "static"]
