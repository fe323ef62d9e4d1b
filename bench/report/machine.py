# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What machine a run was made on."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path


def _found(path: str, pattern: str) -> str:
    try:
        match = re.search(pattern, Path(path).read_text(encoding="utf-8"), re.M)
    except OSError:
        return ""
    return match[1].strip() if match else ""


def about(compiler: str) -> dict[str, str]:
    version = subprocess.run([compiler, "--version"], stdout=subprocess.PIPE, text=True).stdout.split("\n")[0]
    load = os.getloadavg()[0]
    return {
        "processor": _found("/proc/cpuinfo", r"^model name\s*:(.*)$") or platform.machine(),
        "processors": str(len(os.sched_getaffinity(0))),
        "system": _found("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)') or platform.system(),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "c_library": " ".join(platform.libc_ver()),
        "compiler": re.sub(r"\s*\([^)]*://[^)]*\)", "", version),
        "python": platform.python_version(),
        "load": f"{load:.2f}",
    }
