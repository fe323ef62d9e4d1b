# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The jobs of make check, make test and make soak, and how they are run: each a command whose last line is its sum."""

import concurrent.futures
import dataclasses
import os
import re
import subprocess
import time
from pathlib import Path

import treadle_requirements
from treadle_programs import sum_of

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build/tests"
BUILDS = {
    "library": ["scripts/build-library", "--output", "build/lib"],
    "cf": ["scripts/build-cf", "--output", "build/lib"],
}

#: Jobs that use none of these builds, and begin before they are there.
EARLY = set("c-thread swift-thread c-debug explore headers imports layers files abi rules generated internals".split())

#: What make test runs. The long ones first, so that the short ones fill the end; those that use a build of another after it.
TEST = {
    "c-thread": ["scripts/test-c", "thread"],
    "swift-thread": ["scripts/test-swift", "thread"],
    "c-shared": ["scripts/test-c", "shared"],
    "python": ["env", "TREADLE_SLOW=", "scripts/test-python"],
    "c-address": ["scripts/test-c", "address"],
    "consumers": ["scripts/check-consumers"],
    "explore": ["scripts/test-explore", "--seconds", "0.15"],
    "host": ["scripts/test-host"],
    "cpp": ["scripts/test-cpp", "shared"],
    "plugins": ["scripts/test-plugins"],
    "hosts": ["scripts/test-hosts"],
    "asyncio": ["scripts/test-asyncio"],
    "c-valgrind": ["scripts/test-c", "valgrind"],
    "bench": ["bench/run", "--quick", "--rounds", "1", "--peers", "pthread,raw,rawspin,treadle-short"],
    "book": ["scripts/check-book"],
    "cpp-address": ["scripts/test-cpp", "address"],
    "shapes": ["scripts/test-shapes", "--cheap"],
    "cf-thread": ["scripts/test-cf", "thread"],
    "cf-address": ["scripts/test-cf", "address"],
    "cf-shared": ["scripts/test-cf", "shared"],
    "cf-differential": ["scripts/test-cf-differential"],
    "c-refused": ["scripts/test-c", "refused"],
    "swift-examples": ["scripts/check-swift-examples"],
    "swift-docs": ["scripts/make-swift-docs"],
    "node": ["scripts/test-node"],
    "qt": ["scripts/test-qt"],
    "demo": ["scripts/check-demo"],
    "guide": ["scripts/check-guide"],
    "allocations": ["scripts/check-allocations"],
    "headers": ["scripts/check-headers"],
    "newcomers": ["scripts/check-newcomers"],
    "reference": ["scripts/make-docs"],
    "lua": ["scripts/test-lua"],
    "generated": ["scripts/generate", "--check"],
    "internals": ["scripts/check-internals"],
    "loop-lock": ["scripts/check-loop-lock"],
    "rooms": ["scripts/check-rooms"],
    "exports": ["scripts/check-exports"],
    "gdb": ["scripts/check-gdb"],
    "requirements": ["scripts/check-requirements"],
    "stale": ["scripts/check-stale"],
    "probes": ["scripts/check-probes"],
    "trace-format": ["scripts/check-trace"],
    "release": ["scripts/make-release", "--dry-run"],
    "files": ["scripts/check-files"],
    "imports": ["scripts/check-imports"],
    "layers": ["scripts/check-layers"],
    "layers-self-test": ["scripts/check-layers", "--self-test"],
    "abi": ["scripts/check-abi"],
    "swift-interface": ["scripts/check-swift-interface"],
    "rules": ["scripts/rules", "--check"],
}

#: Packages without which a job has nothing to test. Others leave out some of their tests, and say so by lines of "skipped: ".
NEEDS = {
    "c-valgrind": ["valgrind"],
    "cf-valgrind": ["valgrind"],
    "cf-scaling": ["valgrind"],
    "cpp-valgrind": ["valgrind"],
    "gdb": ["gdb"],
    "node": ["nodejs", "npm", "libnode-dev"],
    "lua": ["luajit"],
    "qt": ["qtbase5-dev"],
    "python": ["python3-venv"],
    "asyncio": ["libpython*-testsuite"],
    "reference": ["doxygen"],
}

#: The contract: make check runs these beside the tests of what has changed.
CONTRACT = "headers exports imports layers files abi rules generated internals".split()

#: What make soak runs besides the random programs: whatever make test leaves out, each whole.
SOAK = {
    "shapes": ["scripts/test-shapes"],
    "explore": ["scripts/test-explore", "--seconds", "60", "--schedules", "1000000"],
    "c-thread": ["scripts/test-c", "--soak", "thread"],
    "c-address": ["scripts/test-c", "--soak", "address"],
    "c-shared": ["scripts/test-c", "--soak", "shared"],
    "c-debug": ["scripts/test-c", "--soak", "debug"],
    "coverage": ["scripts/test-coverage"],
    "swift": ["scripts/test-swift", "plain"],
    "c-static": ["scripts/test-c", "--soak", "static"],
    "c-valgrind": ["scripts/test-c", "--soak", "valgrind"],
    "python": ["scripts/test-python"],
    "python-dev": ["env", "TREADLE_PYTHONS=all", "scripts/test-python", "dev"],
    "asyncio": ["scripts/test-asyncio", "--all"],
    "swift-address": ["scripts/test-swift", "address"],
    "cf-valgrind": ["scripts/test-cf", "valgrind"],
    "cf-scaling": ["scripts/test-cf-scaling"],
    "cpp": ["scripts/test-cpp", "both"],
    "cpp-thread": ["scripts/test-cpp", "thread"],
    "cpp-valgrind": ["scripts/test-cpp", "valgrind"],
    "plugins-address": ["scripts/test-plugins", "address"],
    "wheels": ["scripts/make-wheels", "--full"],
    "release": ["scripts/make-release", "--rehearse"],
    "debian": ["scripts/make-debian"],
    "recipes": ["scripts/check-recipes"],
    "clean-machine": ["scripts/check-clean-machine"],
    "c-musl": ["scripts/test-c", "musl"],
    "c-musl-static": ["scripts/test-c", "musl-static"],
    # No short form of these is in make test: the library for Arm alone takes 120 s of a processor to compile, before any test.
    "c-aarch64": ["scripts/test-c", "aarch64"],
    "c-aarch64-16k": ["scripts/test-c", "aarch64-16k"],
    "c-aarch64-64k": ["scripts/test-c", "aarch64-64k"],
    "c-aarch64-guarded": ["scripts/test-c", "aarch64-guarded"],
    "counts-aarch64": ["bench/run-counts", "aarch64-linux-gnu"],
    "growth": ["scripts/check-growth"],
    "consumers": ["scripts/check-consumers", "--all"],
    "bench": ["bench/run", "--quick", "--rounds", "1"],
    "kept-pointers": ["env", "TREADLE_TEST_LOADS=100000", "scripts/test-c", "shared", "plugin_kept"],
    "plugin-crashes": ["env", "TREADLE_TEST_SCALE=25", "scripts/test-c", "shared", "isolated_restart", "isolated_steps_fault"],
    "example-loads": ["env", "EXAMPLE_LOADS=10000", "scripts/test-plugins", "the_examples_come_and_go_under_load"],
}


@dataclasses.dataclass
class Result:
    name: str
    passed: int
    failed: int
    seconds: float
    processor_seconds: float
    text: str

    def __str__(self) -> str:
        used = f"{self.seconds:.0f} s, {self.processor_seconds:.0f} s of processors"
        skipped = "".join(f"{self.name}: {line}\n" for line in self.text.splitlines() if line.startswith("skipped: "))
        report = f"{skipped}{self.name}: {self.passed} passed, {self.failed} failed, {used}"
        return f"===== {self.name} (build/tests/{self.name}.log)\n{self.text[-20000:]}\n===== {report}" if self.failed else report


#: Lines that name what failed, in the reports of the runners: those of C and C++, their checks, unittest, Swift, sanitizers, and make.
NAMES_A_FAILURE = re.compile(
    r"^--- |^\S+\.(?:c|h|cpp|hpp):\d+: |^(?:FAIL|ERROR): |: failed$|: check failed|recorded an issue|^[✘✗]|^not ok|ended with -?\d|ended by signal"
    r"|: no progress for "
    r"|^[A-Z]\w*(?:Error|Exception): |(?:WARNING|ERROR|SUMMARY): \w+Sanitizer|\b(?:error|Fatal error): "
)

#: Lines of programs that passed.
SAYS_NOTHING_FAILED = re.compile(r"\b\d+ passed, 0 failed|^skipped: ")


def digest(results: "list[Result]", most: int = 8) -> str:
    """What failed, a few lines for each job: for a reader who sees only the end of the report."""
    lines = []
    for result in results:
        if result.failed:
            found = [line.strip() for line in result.text.splitlines() if NAMES_A_FAILURE.search(line)]
            said = [line.strip() for line in result.text.splitlines() if line.strip() and not SAYS_NOTHING_FAILED.search(line)]
            found = found or said[-most:] or [f"{result.failed} failed, and nothing names them"]
            lines += [f"failed: {result.name}: {line[:240]}" for line in dict.fromkeys(found[:most])]
    return "\n".join(lines)


def run(name: str, command: "list[str]", environment: "dict[str, str] | None" = None) -> Result:
    """Runs a job. One that ends without its sum counts as one failure."""
    LOGS.mkdir(parents=True, exist_ok=True)
    started, log = time.monotonic(), LOGS / f"{name}.log"
    with log.open("w") as output:
        child = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = status = os.waitstatus_to_exitcode(status)
    text = log.read_text(errors="replace")
    passed, failed = sum_of(text, status)
    return Result(name, passed, failed, time.monotonic() - started, used.ru_utime + used.ru_stime, text)


def build() -> bool:
    """Builds the shipped libraries, which most jobs use; false if that fails."""
    return all(subprocess.run(command, cwd=ROOT).returncode == 0 for command in BUILDS.values())


def run_all(jobs: "dict[str, list[str]]", at_a_time: int, until: float = float("inf")) -> "tuple[list[Result], list[str]]":
    """Builds the shipped libraries, runs jobs, so many at a time, and prints each result. Returns the results, and the names of
    the jobs that had not begun when the clock (time.monotonic) passed until. A failed build is a failed job, and those that
    use it do not run."""
    results: "list[Result]" = []
    left: "list[str]" = []

    def one(name: str, command: "list[str]") -> None:
        if (name not in EARLY and not built.result()) or time.monotonic() > until:
            left.append(name)
            return
        reason = treadle_requirements.why(*NEEDS.get(name, []))
        if reason:
            print(f"{name}: skipped: {reason}", flush=True)
            return
        # Programs of one job run one at a time: it is the jobs that run side by side.
        result = run(name, command, {**os.environ, "TREADLE_TEST_JOBS": os.environ.get("TREADLE_TEST_JOBS", "1")})
        results.append(result)
        print(result, flush=True)

    with concurrent.futures.ThreadPoolExecutor(1) as builder, concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        built = builder.submit(build)
        for done in [pool.submit(one, name, command) for name, command in jobs.items()]:
            done.result()
    if not built.result():
        results.append(Result("build", 0, 1, 0, 0, "the shipped libraries were not built"))
    return results, left
