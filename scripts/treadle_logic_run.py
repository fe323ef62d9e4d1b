# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""scripts/test-mutants --logic: builds all mutants of logic at once, each behind a number, and tries one after the other: by
the scenes that reach its place, then by the C tests that do, until one fails."""

import contextlib
import dataclasses
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import treadle_c_ways
from treadle_debug import build_debug
from treadle_explorer import build_package, tools
from treadle_faults import write_changed
from treadle_logic import ROOT, Mutant, shuffled, with_mutants
from treadle_programs import sum_of

OUTPUT = ROOT / "build/tests/logic"
PACKAGE, LIBRARY = OUTPUT / "package", OUTPUT / "lib"
EXPLAINED = ROOT / "Tests/logic/explained.txt"
DEBUG = ("-Xcc", "-DTREADLE_SWITCHED", "-Xswiftc", "-continue-building-after-errors")
ERROR = re.compile(r"/package/Sources/([^:\n]+):(\d+):\d+: error:(?P<vague> failed to produce diagnostic)?")
#: Seconds of a processor for the scenes of a mutant and for its C tests; a scene's schedules in the first round, and its
#: seconds in the second.
SCENES, TESTS, FIRST, EACH = 8.0, 20.0, 60, 0.25
#: A hang: a scene without a word for so long; a test without progress, and one that goes on and on.
SILENT, IDLE, LONGEST = 60, 20, 90
#: Tests that begin by chance, or that take too long for each of many mutants.
LEFT = (
    "random storm host_random mixed_race fork_random descriptor_model calls_random message_port_fuzz signature_fuzz "
    "scale plugin_storm perform_scale"
).split()


# --- Building ----------------------------------------------------------------------------------------------------


def debug_build() -> str:
    """The compiler's complaints, if it has some."""
    with tempfile.TemporaryFile("w+", errors="replace") as output, redirected(output):
        try:
            build_debug(LIBRARY, ROOT / ".build/logic-debug", PACKAGE, DEBUG, (str(ROOT / "Tests/logic/switch.c"),))
        except subprocess.CalledProcessError:
            output.seek(0)
            return output.read() or "it fails without a word"
    return ""


def refused_in(text: str, mutants: "list[Mutant]") -> "set[str]":
    """The mutants that the compiler complains of: on their lines; behind them, as of a value that is never given; or before them, of a
    closure in which it cannot say what is wrong."""
    bad = set()
    for match in ERROR.finditer(text):
        own = [mutant for mutant in mutants if mutant.file == match[1]]
        before = [mutant for mutant in own if mutant.line <= int(match[2])]
        behind = [mutant for mutant in own if mutant.line > int(match[2])]
        if match["vague"] and behind:
            bad.add(min(behind, key=lambda mutant: mutant.line).new)
        elif before:
            bad.add(max(before, key=lambda mutant: mutant.line).new)
    return bad


def build(seed: int, count: int, names: "list[str]", tell) -> "tuple[Path, list[Mutant]]":
    """The explorer and the debug library with the first mutants of the seed's order that the compiler takes: 1, 2 and so on."""
    order = shuffled(seed, names)
    memory = OUTPUT / "refused.json"
    refused = set(json.loads(memory.read_text())) if memory.exists() else set()
    while True:
        mutants = [mutant for mutant in order if mutant.new not in refused][:count]
        numbered = list(enumerate(mutants, 1))
        wanted = {mutant.file for mutant in mutants}
        write_changed(PACKAGE, wanted, lambda name, text: with_mutants(name, text, numbered))
        text = debug_build()
        if not text:
            break
        bad = refused_in(text, mutants)
        if not bad:
            raise SystemExit(f"test-mutants: the library does not build\n{text[-4000:]}")
        refused |= bad
        memory.write_text(json.dumps(sorted(refused)))
        tell(f"the compiler refuses {len(bad)} of {len(mutants)}")
    program = build_package(tools(), PACKAGE, ROOT / ".build/logic-explored", OUTPUT, [])
    return program, mutants


@contextlib.contextmanager
def redirected(output):
    """What the commands of this process print goes to a file."""
    kept = [os.dup(1), os.dup(2)]
    os.dup2(output.fileno(), 1), os.dup2(output.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept[0], 1), os.dup2(kept[1], 2)
        os.close(kept[0]), os.close(kept[1])


# --- What reaches a mutant ---------------------------------------------------------------------------------------


def missing_modules(name: str) -> "list[str]":
    """The modules of pkg-config that a C test needs and this machine lacks: its program cannot be made here."""
    named = re.search(r"^ \* pkg-config: ([^*\n]*)", (ROOT / f"Tests/c/{name}_test.c").read_text(encoding="utf-8"), re.M)
    modules = named[1].split() if named else []
    return [module for module in modules if subprocess.run(["pkg-config", "--exists", module], check=False).returncode]


@dataclasses.dataclass
class Test:
    name: str
    program: Path
    reached: "set[int]"
    seconds: float  # of a processor


FAILURE = re.compile(r"^\S+\.[ch]:\d+: |Fatal error|Assertion failed|no progress for|: failed$")
HANGS = re.compile(r"no progress for|ended with -9")


def run_test(program: Path, number: int, reached: str, longest: float) -> "tuple[str, float]":
    """How a C test first fails with a mutant, or nothing; and the seconds of a processor that it took."""
    way = ROOT / "build/tests/c-debug"
    environment = {
        **os.environ, "LD_LIBRARY_PATH": str(LIBRARY), "TREADLE_TEST_WAY": "debug", "TREADLE_TEST_SCALE": "0.02",
        "TREADLE_TEST_SECONDS": str(IDLE), "TREADLE_TEST_MUTANT": str(number), "TREADLE_TEST_REACHED": reached,
        "TREADLE_TEST_PLUGINS": str(way / "plugins"), "TREADLE_TEST_COPIES": str(way / "copies"),
    }  # fmt: skip
    child = subprocess.Popen(
        [str(program)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
        start_new_session=True, cwd=OUTPUT, text=True, errors="replace",
    )  # fmt: skip

    def end() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # and what it has started

    timer = threading.Timer(longest, end)
    timer.start()
    complaint, last = "", ""
    for line in child.stdout:
        last = line
        if number and FAILURE.search(line):
            complaint = line.strip().replace(f"{ROOT}/", "")[:160]
            end()
            break
    _, status, used = os.wait4(child.pid, 0)
    timer.cancel()
    end()
    child.stdout.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    passed, failed = sum_of(last, child.returncode)
    if not complaint and (failed or not passed):
        complaint = f"ended with {child.returncode}"
    return complaint, used.ru_utime + used.ru_stime


def tests_of(names: "list[str]", tell) -> "list[Test]":
    found = []
    for name in names:
        program = ROOT / f"build/tests/c-debug/{name}_test"
        with tempfile.NamedTemporaryFile() as file:
            file.write(bytes(4096)), file.flush()
            how, seconds = run_test(program, 0, file.name, LONGEST)
            reached = {number for number, byte in enumerate(Path(file.name).read_bytes()) if byte}
        if how:
            tell(f"left out: {name} fails without a mutant: {how}")
        elif reached:
            found.append(Test(name, program, reached, seconds))
    return found


def scenes_of(program: Path) -> "dict[str, set[int]]":
    answer = subprocess.run([str(program), "--reach", "yes"], capture_output=True, text=True, check=True)
    lines = (line.split() for line in answer.stdout.splitlines())
    return {words[0]: {int(word[1:]) for word in words[1:] if word[0] == "s"} for words in lines}


# --- Trying ------------------------------------------------------------------------------------------------------


def play(program: Path, number: int, scenes: "list[str]", options: "list[str]") -> "tuple[str, str] | None":
    """The first of the scenes that fails with a mutant, and how."""
    command = [str(program), "--fault", str(number), "--scene", ",".join(scenes), *options]
    played, found, is_silent = 0, None, False
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True, errors="replace") as process:
        timer = None

        def fall_silent() -> None:
            nonlocal is_silent
            is_silent = True
            process.kill()

        for line in process.stdout:
            if timer:
                timer.cancel()
            timer = threading.Timer(SILENT, fall_silent)
            timer.start()
            failure = re.match(r"FAILED (\S+?): (.*)", line)
            if failure:
                found = failure[1], failure[2]
                break
            played += " schedules " in line
        if timer:
            timer.cancel()
        process.kill()
        process.wait()
    if found or played == len(scenes):
        return found
    return scenes[min(played, len(scenes) - 1)], "it hangs" if is_silent else "the explorer ends"


def words(text: str) -> "set[str]":
    """The words of a file's or a test's name, without an s at their ends."""
    parts = re.findall(r"[A-Z]?[a-z]+", re.sub(r"([A-Z]+)", r" \1", text)) + re.findall(r"[a-z]+", text.lower())
    return {part.lower().rstrip("s") for part in parts}


class Trial:
    def __init__(self, program: Path, scenes: "dict[str, set[int]]", tests: "list[Test]") -> None:
        self.program, self.scenes, self.tests = program, scenes, tests
        self.killers: "dict[str, list[str]]" = {}

    def ordered(self, mutant: Mutant, number: int) -> "list[Test]":
        """The likeliest killers first: what has killed in this file, what has a word of its name; of each the quick ones first."""
        own, killers = words(mutant.file.replace("/", " ").replace("Treadle", "")), self.killers.get(mutant.file, [])
        own -= {"core", "loop", "swift", "item"}
        tests = [test for test in self.tests if number in test.reached]
        return sorted(tests, key=lambda test: (test.name not in killers, not own & words(test.name), test.seconds))

    def killer(self, mutant: Mutant, number: int) -> "tuple[str, str] | None":
        """What kills a mutant and how; None: nothing. A few schedules of each scene, the C tests, then the scenes' time."""
        killers = self.killers.get(mutant.file, [])
        scenes = [scene for scene, reached in self.scenes.items() if number in reached]
        scenes.sort(key=lambda scene: scene not in killers)
        found = play(self.program, number, scenes, ["--schedules", str(FIRST)]) if scenes else None
        if found:
            return self.note(mutant, f"scene {found[0]}", found[0], found[1])
        used, tests = 0.0, self.ordered(mutant, number)
        for test in tests:
            how, seconds = run_test(test.program, number, "", LONGEST)
            used += seconds
            # On a busy machine a test may hang by itself.
            if how and not (HANGS.search(how) and run_test(test.program, 0, "", LONGEST)[0]):
                return self.note(mutant, f"test {test.name}", test.name, how)
            if used > TESTS:
                break
        seconds = min(EACH, SCENES / len(scenes)) if scenes else 0
        found = play(self.program, number, scenes, ["--seconds", f"{seconds:.3f}"]) if scenes else None
        return self.note(mutant, f"scene {found[0]}", found[0], found[1]) if found else None

    def note(self, mutant: Mutant, what: str, name: str, how: str) -> "tuple[str, str]":
        names = self.killers.setdefault(mutant.file, [])
        if name not in names:
            names.insert(0, name)
        return what, how


def read_explained() -> "dict[str, str]":
    """By FILE: TITLE of a mutant the reason why no test can tell it from the original."""
    reasons, last = {}, None
    for line in EXPLAINED.read_text(encoding="utf-8").split("\n"):
        if line.startswith("    ") and last:
            reasons[last] = f"{reasons[last]} {line.strip()}".strip()
        elif line and not line.startswith("#"):
            last, reasons[line] = line, ""
    return reasons


def key_of(mutant: Mutant) -> str:
    return f"{mutant.file.rpartition('/')[2]}: {mutant.title}"


def run(options: dict, names: "list[str]") -> int:
    def tell(text: str) -> None:
        print(text, flush=True)

    OUTPUT.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    program, mutants = build(int(options["--seed"]), int(options["--count"]), names, tell)
    there = sorted(path.name[: -len("_test.c")] for path in (ROOT / "Tests/c").glob("*_test.c"))
    tested = [name for name in there if treadle_c_ways.runs("debug", name, True) and name not in LEFT]
    for name, missing in [(name, missing_modules(name)) for name in tested]:
        if missing:
            tell(f"left out: {name} cannot be built without {', '.join(missing)}")
            tested.remove(name)
    subprocess.run([str(ROOT / "scripts/test-c"), "--build", "debug", *tested], check=True)
    scenes, tests = scenes_of(program), tests_of(tested, tell)
    tell(f"{len(mutants)} mutants, {len(scenes)} scenes, {len(tests)} tests; built in {time.monotonic() - began:.0f} s")
    trial, reasons = Trial(program, scenes, tests), read_explained()
    until = time.monotonic() + 60 * float(options["--minutes"])
    results: "dict[int, str]" = {}
    lock, left = threading.Lock(), list(enumerate(mutants, 1))

    def work() -> None:
        while True:
            with lock:
                if not left or time.monotonic() > until:
                    return
                number, mutant = left.pop(0)
            killer = trial.killer(mutant, number)
            reason = reasons.get(key_of(mutant))
            kind = "wrong" if killer and reason else "killed" if killer else "explained" if reason else "survived"
            count = sum(number in reached for reached in scenes.values()), sum(number in test.reached for test in tests)
            about = f"{killer[0]} ({killer[1]})" if killer else reason or f"{count[0]} scenes and {count[1]} tests reach it"
            with lock:
                results[number] = kind
                tell(f"{kind}: {number} {mutant}: {about}")

    threads = [threading.Thread(target=work) for _ in range(int(options["--jobs"]))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, mutant in left:
        tell(f"not tried: {number} {mutant}")
    kinds = list(results.values())
    tell(f"killed {kinds.count('killed') + kinds.count('wrong')} of {len(kinds)}, explained {kinds.count('explained')}, "
         f"survived {kinds.count('survived')}, explained but killed {kinds.count('wrong')}, not tried {len(left)}")
    return 1 if kinds.count("survived") or kinds.count("wrong") or not kinds else 0
