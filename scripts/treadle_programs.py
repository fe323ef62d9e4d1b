# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Test programs: compiled once for each kind of compiler and library, kept by content; their sums.

An object or program is made anew if its command, its compiler or the content of any file that it was made from has changed, the
machine's headers too, whatever the times of the files say. Commands that run at the same time share what is made: a lock guards each file."""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

SUM = re.compile(r"^(\d+) passed, (\d+) failed$")


def sum_of(text: str, status: int) -> "tuple[int, int]":
    """How many tests passed and failed by a program's last line; a program that ends otherwise has failed as a whole."""
    last = SUM.match(text.rstrip("\n").rpartition("\n")[2])
    passed, failed = map(int, last.groups()) if last else (0, 1)
    return passed, max(failed, 1) if status else failed


def end_of(status: int) -> str:
    """How a program ended."""
    return f"ended with {status}" if status >= 0 else f"ended by signal {-status}"


def end_of_test(text: str, status: int) -> str:
    """How a program of tests ended, with its last line if that is not its sum."""
    how = end_of(status)
    last = text.rstrip("\n").rpartition("\n")[2]
    return how if SUM.match(last) else f"{how}, and its last line is not its sum: {last[:100]!r}"


class BuildError(Exception):
    """A compiler's complaints."""


class Builder:
    """Makes files by commands. One object serves several threads."""

    def __init__(self) -> None:
        self._digests: "dict[tuple[str, int, int], str]" = {}

    def _digest(self, path: str) -> str:
        status = os.stat(path)
        key = (path, status.st_mtime_ns, status.st_size)
        if key not in self._digests:
            self._digests[key] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        return self._digests[key]

    @staticmethod
    def _tool(command: "list[str]") -> "list[object]":
        """The program of a command, which an update of the machine replaces."""
        path = os.path.realpath(shutil.which(command[0]) or command[0])
        status = os.stat(path)
        return [path, status.st_mtime_ns, status.st_size]

    def _is_current(self, output: Path, command: "list[str]") -> bool:
        try:
            record = json.loads(output.with_name(output.name + ".made").read_text())
            return (
                output.exists()
                and record["command"] == command
                and record["tool"] == self._tool(command)
                and all(self._digest(path) == digest for path, digest in record["inputs"].items())
            )
        except (OSError, ValueError, KeyError):
            return False

    def make(self, output: Path, command: "list[str]", inputs: "list[str]", depends: "Path | None" = None) -> str:
        """Runs a command that writes an output from inputs, unless it is current; depends is a file in which the compiler
        names further inputs, in the syntax of make. Returns what the compiler printed."""
        output.parent.mkdir(parents=True, exist_ok=True)
        with lock(output.with_name(output.name + ".lock")):
            if self._is_current(output, command):
                return ""
            output.unlink(missing_ok=True)
            ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
            if ran.returncode != 0:
                raise BuildError(f"{ran.stdout}{command[0]}: error: {end_of(ran.returncode)}")
            found = list(inputs)
            if depends:
                _, _, names = depends.read_text().replace("\\\n", " ").partition(": ")
                found += [os.path.abspath(name) for name in re.split(r"(?<!\\)\s+", names.strip()) if name]
                found = [name.replace("\\ ", " ") for name in found]
            record = {"command": command, "tool": self._tool(command), "inputs": {path: self._digest(path) for path in found}}
            output.with_name(output.name + ".made").write_text(json.dumps(record))
            return ran.stdout


@contextlib.contextmanager
def lock(path: Path):
    """Holds a file's lock, against other commands and other threads."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
