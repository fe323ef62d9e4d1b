# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The shapes that a user's machine may have, and how a program is run in each: scripts/test-shapes reads them."""

import contextlib
import dataclasses
import os
import pwd
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable, ContextManager, Dict, List, Optional

import treadle_machine

ROOT = treadle_machine.ROOT
OUTPUT = ROOT / "build/shapes"
LOOPBACK_UP = """import fcntl, os, socket, struct, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any:
    fcntl.ioctl(any, 0x8914, struct.pack("16sH14x", b"lo", 1))
os.execv(sys.argv[1], sys.argv[1:])"""
DAY = 86400


class Unfit(Exception):
    """This machine cannot have the shape: why."""


@dataclasses.dataclass
class Shape:
    """A program's command is preceded by before(); its environment has these changes, of which None removes one; prepare() runs
    in its process before it. around() is entered once for all programs, and may move them."""

    what: str
    before: Callable[[], List[str]] = list
    environment: Dict[str, Optional[str]] = dataclasses.field(default_factory=dict)
    prepare: Optional[Callable[[], None]] = None
    around: Callable[[], ContextManager[object]] = contextlib.nullcontext
    is_cheap: bool = True
    moves: bool = False  # programs and what they load, to MOVED
    # Why a program cannot be run in the shape, by a text that it has, or by its name.
    texts: Dict[bytes, str] = dataclasses.field(default_factory=dict)
    names: Dict[str, str] = dataclasses.field(default_factory=dict)


MOVED = OUTPUT / "a path with späces, Ünïcode and 路"


def _unshare(*what: str) -> "list[str]":
    """An ordinary user needs a user namespace around the others."""
    return ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), *what]


def _up_for(seconds: int) -> "list[str]":
    offsets = []
    for clock, option in ((time.CLOCK_BOOTTIME, "--boottime"), (time.CLOCK_MONOTONIC, "--monotonic")):
        offsets += [option, str(seconds - int(time.clock_gettime(clock)))]
    return _unshare("--time", *offsets)


def _seconds_in(year: int) -> float:
    return time.mktime((year, 6, 15, 12, 0, 0, 0, 0, -1))


CLOCK = OUTPUT / "programs/clock.so"


def _compile(source: str, output: Path, *options: str) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    command = ["cc", "-O1", "-std=c11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", *options, "-o", str(output)]
    subprocess.run([*command, str(ROOT / "Tests/shapes" / source)], check=True)


@contextlib.contextmanager
def _clock_in(year: int):
    """Programs see the clock of another year, by a library before the C library; or, with TREADLE_TEST_SET_CLOCK, the machine's own
    clock is set meanwhile, which no other program on it may mind."""
    if not os.environ.get("TREADLE_TEST_SET_CLOCK"):
        _compile("clock.c", CLOCK, "-fPIC", "-shared")
        yield
        return
    ahead = time.time() - time.monotonic()
    try:
        time.clock_settime(time.CLOCK_REALTIME, _seconds_in(year))
    except OSError as error:
        raise Unfit(f"the clock may not be set: {error.strerror}") from None
    try:
        yield
    finally:
        time.clock_settime(time.CLOCK_REALTIME, ahead + time.monotonic())


def _become_ordinary() -> None:
    nobody = pwd.getpwnam("nobody")
    os.setgroups([])
    os.setgid(nobody.pw_gid)
    os.setuid(nobody.pw_uid)


@contextlib.contextmanager
def _as_ordinary():
    if os.geteuid() != 0:
        raise Unfit("this is an ordinary user already")
    yield


@contextlib.contextmanager
def _turkish():
    """A decimal comma, and an i whose upper case is none of ASCII."""
    path = OUTPUT / "locales/tr_TR.UTF-8"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not shutil.which("localedef") or subprocess.run(["localedef", "-i", "tr_TR", "-f", "UTF-8", str(path)]).returncode > 1:
            raise Unfit("localedef cannot make the locale tr_TR.UTF-8")
    yield


@contextlib.contextmanager
def _temporary_elsewhere():
    path = OUTPUT / "temporary files"
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o1777)
    yield


@contextlib.contextmanager
def _in_container():
    _compile("container.c", OUTPUT / "programs/container")
    yield


def _shape_of_clock(what: str, year: int) -> Shape:
    if os.environ.get("TREADLE_TEST_SET_CLOCK"):
        return Shape(f"{what} (the machine's own)", around=lambda: _clock_in(year))
    shift = int(_seconds_in(year) - time.time())
    return Shape(
        f"{what} (a library before the C library)", around=lambda: _clock_in(year),
        environment={"LD_PRELOAD": str(CLOCK), "SHAPE_CLOCK_SHIFT": str(shift)},
        names={name: "the test itself stands before the clock" for name in ("recent_time", "timer", "timer_start", "timer_wall")},
    )


SHAPES = {
    "up-10-seconds": Shape("a machine that came up ten seconds ago (time namespace)", before=lambda: _up_for(10)),
    "up-400-days": Shape("a machine that has been up for 400 days (time namespace)", before=lambda: _up_for(400 * DAY)),
    "clock-1979": _shape_of_clock("a clock before 1980", 1979),
    "clock-2040": _shape_of_clock("a clock after 2038", 2040),
    "one-processor": Shape("one processor", prepare=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})),
    "busy": Shape("as many spinning processes as processors", around=treadle_machine.spinning, is_cheap=False),
    "loopback-only": Shape(
        "no network but loopback (network namespace)",
        before=lambda: _unshare("--net", sys.executable, "-c", LOOPBACK_UP),
    ),
    "no-loopback": Shape(
        "no network at all (network namespace)",
        before=lambda: _unshare("--net"),
        names={name: "the test itself connects by TCP" for name in ("glue_uv", "libraries_curl")},
    ),
    "umask-077": Shape("files that only their owner may read", prepare=lambda: os.umask(0o077) and None),
    "ordinary-user": Shape("an ordinary user (nobody)", prepare=_become_ordinary, around=_as_ordinary),
    "256-descriptors": Shape(
        "at most 256 open descriptors", prepare=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    ),
    "no-standard-input": Shape(
        "standard input closed", before=lambda: ["sh", "-c", 'exec "$0" "$@" <&-'],
        names={name: "libuv closes no descriptor below 3" for name in ("glue_uv", "libraries_uv")},
    ),
    "odd-path": Shape("a path with spaces and text beyond ASCII", moves=True),
    "temporary-elsewhere": Shape(
        "TMPDIR elsewhere, with a space", around=_temporary_elsewhere, environment={"TMPDIR": str(OUTPUT / "temporary files")}
    ),
    "no-home": Shape("HOME unset, as in a service", environment={"HOME": None, "USER": None, "LOGNAME": None}),
    "turkish": Shape(
        "a locale with a decimal comma and another i (tr_TR.UTF-8)", around=_turkish,
        environment={"LOCPATH": str(OUTPUT / "locales"), "LC_ALL": "tr_TR.UTF-8"},
    ),
    "unknown-locale": Shape("a locale that is not installed", environment={"LC_ALL": "xx_YY.UTF-8"}),
    "bind-now": Shape("all symbols bound at the start (LD_BIND_NOW)", environment={"LD_BIND_NOW": "1"}),
    "no-proc": Shape(
        "no /proc (mount namespace)",
        before=lambda: [*_unshare("--mount"), "sh", "-c", 'mount -t tmpfs none /proc && exec "$0" "$@"'],
        texts={b"/proc/": "the test itself reads /proc"},
    ),
    "container": Shape(
        "the default system call filter of container engines",
        before=lambda: [str(OUTPUT / "programs/container")], around=_in_container,
    ),
}  # fmt: skip
