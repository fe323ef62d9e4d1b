# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Checks the C++ headers: all of them together compile with each compiler as each standard, with and without exceptions and
run-time type information, and each one alone and twice
with the compilers by turns, each as one of them; all of them make one program of two units; and every public declaration says since when
it exists, every function also on which thread it may be called and how it fails.

    python3 Tests/cpp/check_headers.py COMPILER..."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "scripts"))
from treadle_cpp_headers import HEADERS, INCLUDE, Declaration, public_declarations  # noqa: E402

STANDARDS = ["c++17", "c++20"]
WARNINGS = "-Wall -Wextra -pedantic -Wconversion -Wshadow -Werror".split()
TAG = re.compile(r"\[(?:any|any, signal-safe|owner|callback)\]")


def run(command: list[str], source: str) -> str:
    """The complaint of a command, or nothing."""
    result = subprocess.run(command, input=source, capture_output=True, text=True)
    return "" if result.returncode == 0 else f"{' '.join(command)}\n{result.stderr}"


def compile_alone(compiler: str, standard: str, header: Path, *flags: str) -> str:
    name = header.relative_to(INCLUDE)
    command = [compiler, "-x", "c++", f"-std={standard}", *flags, *WARNINGS, f"-I{INCLUDE}", "-fsyntax-only", "-"]
    return run(command, f"#include <{name}>\n#include <{name}>\nint in_use = 1;\n")


def link_two_units(compiler: str) -> str:
    """Two units that include everything make one program: nothing is defined twice."""
    with tempfile.TemporaryDirectory() as directory:
        objects = []
        for unit in ("int main() { return 0; }", "int other = 2;"):
            objects.append(f"{directory}/{len(objects)}.o")
            command = [compiler, "-x", "c++", "-std=c++17", f"-I{INCLUDE}", "-c", "-o", objects[-1], "-"]
            if complaint := run(command, f"#include <treadle.hpp>\n{unit}\n"):
                return complaint
        # Calls into the library are not looked at here.
        return run([compiler, *objects, "-o", f"{directory}/program", "-Wl,--unresolved-symbols=ignore-all"], "")


# Statements whose result does nothing, or does harm, unless it is kept: an item that is in no loop, a guard that ends at once, a
# descriptor that nobody closes, a message that was not sent.
DROPPED = """treadle::Source([] {});
treadle::Descriptor(0, treadle::Readiness::readable, [] {});
treadle::Timer(treadle::Clock::now(), [] {});
treadle::Timer::after(std::chrono::seconds(1), [] {});
treadle::Timer::every(std::chrono::seconds(1), [] {});
treadle::Observer(treadle::Activity::all, [] {});
treadle::Port([] {});
treadle::Routine{&start};
treadle::Thread([] {});
treadle::Thread::worker();
treadle::Thread::current();
treadle::Loop::current();
treadle::Loop::main();
treadle::Loop::of_thread(1);
treadle::Loop::adopt(nullptr);
treadle::Scope("scope");
treadle::Scope::Entry{scope};
treadle::Pool();
treadle::Notification::will_become_multithreaded([] {});
loop.open_pollable();
loop.perform([] { return 1; });
operator co_await(loop);
loop.prepare();
lock.try_lock();
lock.try_lock_for(std::chrono::seconds(1));
port.send_for(std::chrono::seconds(1), 1, {});
port.send_bytes_for(std::chrono::seconds(1), 1, "text");
treadle::Error::last();""".splitlines()
# What works without its result.
USED = """loop.add(treadle::Source([] {}));
loop.run();
loop.poll();
loop.stop();
loop.post([] {});
treadle::Thread::detached([] {});
thread.join();
thread.perform_and_wait([] { return 1; });
treadle::set_log([] {});
treadle::report_error("kind", "message");""".splitlines()


def warn_of_dropped(compiler: str) -> str:
    """Each statement of DROPPED has a warning, none of USED."""
    before = ["#include <treadle.hpp>", "void start() {}",
              "void use(treadle::Loop loop, treadle::Lock lock, treadle::Port port, treadle::Thread thread, treadle::Scope scope) {"]
    source = "\n".join([*before, *DROPPED, *USED, "}", ""])
    command = [compiler, "-x", "c++", "-std=c++20", "-Wall", "-Wextra", f"-I{INCLUDE}", "-fsyntax-only", "-"]
    said = subprocess.run(command, input=source, capture_output=True, text=True).stderr
    warned = {int(line) for line in re.findall(r"^<stdin>:(\d+):\d+: warning: ", said, flags=re.M)}
    wanted = set(range(len(before) + 1, len(before) + len(DROPPED) + 1))
    lines = source.splitlines()
    wrong = [f"{compiler} {'warns' if line in warned else 'does not warn'} of: {lines[line - 1]}" for line in sorted(warned ^ wanted)]
    return "\n".join(wrong + ([said] if "error: " in said else []))


def complaints_about(declaration: Declaration) -> list[str]:
    text = declaration.text
    if re.search(r"^(?:inline )?namespace\b|= delete$|^static_assert\b|^friend class\b", text):
        return []
    if re.match(r"(?:class|struct) \w+$", text) and not declaration.defined:
        return []
    if declaration.scope == "namespace" and re.search(r"\b(?:Thread|Loop)::\w+\(", text):
        return []  # the body of what its class declares
    complaints = []
    if declaration.comment.count("Since 1.0.") != 1:
        complaints.append(f"{declaration.where}: needs one 'Since 1.0.': {text}")
    is_type = re.match(r"(?:class|struct|enum|using)\b", text)
    is_value = "(" not in text or re.match(r"(?:inline|static) constexpr \S+ \w+(?:$| =)", text)
    is_callback = text.startswith("std::function<") and "[callback]" in declaration.comment
    if not (is_type or is_value or is_callback):
        if len(TAG.findall(declaration.comment)) != 1 or "Errors: " not in declaration.comment:
            complaints.append(f"{declaration.where}: needs one thread tag and 'Errors:': {text}")
    return complaints


def kinds_without_name() -> str:
    """What may be in a scope, and is not in HolderKind: all but what belongs to nobody."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted((INCLUDE / "treadle").glob("*.h")))
    kinds = set(re.findall(r"^(?:enum \{)? *(TREADLE_(?:KIND|HOLDER)_\w+) = \d", text, re.M))
    kinds -= {f"TREADLE_KIND_{name}" for name in ("LOOP", "SIGNATURE", "LOCK", "CONDITION", "MESSAGE")}
    named = set(re.findall(r"= (TREADLE_\w+)", (INCLUDE / "treadle/cpp/scope.hpp").read_text(encoding="utf-8")))
    missing = sorted(kinds - named)
    return f"HolderKind lacks {', '.join(missing)}" if missing or len(kinds) < 18 else ""


def main() -> int:
    compilers = sys.argv[1:]
    complaints = [link_two_units(compiler) for compiler in compilers]
    complaints += [warn_of_dropped(compiler) for compiler in compilers]
    complaints += [compile_alone(compiler, standard, HEADERS[0]) for compiler in compilers for standard in STANDARDS]
    without = ["-fno-exceptions", "-fno-rtti"]
    complaints += [
        compile_alone(compiler, standard, HEADERS[0], *flags)
        for compiler in compilers
        for standard, flags in zip(STANDARDS, [without, [*without, "-DTREADLE_PLUGIN"]], strict=True)
    ]
    # What a header lacks of the others, it lacks with every compiler: they share the standard library.
    ways = [(compiler, STANDARDS[number % len(STANDARDS)]) for number, compiler in enumerate(compilers)]
    complaints += [compile_alone(*ways[number % len(ways)], header) for number, header in enumerate(HEADERS[1:])]
    complaints.append(kinds_without_name())
    found = [declaration for header in HEADERS for declaration in public_declarations(header)]
    complaints += ["\n".join(complaints_about(declaration)) for declaration in found]
    if len(found) < 150:
        complaints.append(f"only {len(found)} declarations were found")
    failures = [complaint for complaint in complaints if complaint]
    print(*failures, sep="\n", end="\n" if failures else "")
    print(f"{len(complaints) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
