# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""For scripts that run C test programs themselves: the programs, and a busy machine."""

import contextlib
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: How a test program reports each test that fails.
FAILED = re.compile(r"^(\w+): (?:failed|no progress|ended by)", re.M)
#: Ends with the process that started it.
SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n for _ in range(1000000): pass"


def load_test_c():
    """scripts/test-c as a module: its ways, and the compiler of their programs."""
    path = str(ROOT / "scripts/test-c")
    loader = importlib.machinery.SourceFileLoader("treadle_test_c", path)
    spec = importlib.util.spec_from_loader("treadle_test_c", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = written
    return module


def c_tests() -> "list[str]":
    return sorted(path.name[: -len("_test.c")] for path in (ROOT / "Tests/c").glob("*_test.c"))


def made_programs(test_c, way, names: "list[str]") -> "dict[str, Path]":
    """The programs of these tests, built where they are not current, with the plugins and copies that some of them load."""
    compiler = test_c.Compiler(way, test_c.Builder())
    if any(name.startswith("plugin") for name in names):
        compiler.plugins()
    if "copies_odd" in names:
        compiler.copies()
    skipped = {name: reason for name in names if (reason := compiler.why_skipped(name))}
    for name, reason in skipped.items():
        print(f"skipped: {name}: {reason}", flush=True)
    return {name: compiler.program(name)[0] for name in names if name not in skipped}


def _lower_niceness() -> None:
    with contextlib.suppress(OSError):  # not permitted to an ordinary user who is nice already
        os.setpriority(os.PRIO_PROCESS, 0, 0)


@contextlib.contextmanager
def spinning(count: "int | None" = None):
    """As many spinning processes as the process may use processors, of niceness 0 if that is permitted."""
    count = len(os.sched_getaffinity(0)) if count is None else count
    spinners = [subprocess.Popen([sys.executable, "-c", SPIN], preexec_fn=_lower_niceness) for _ in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.terminate()
        for spinner in spinners:
            spinner.wait()
