# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Mutants of logic: lines of Swift sources with one fault each, which scripts/test-mutants --logic switches on by a number.

They are found in the text, one line at a time, with strings and comments masked. A line has several; a seed says which one
is taken. One that the compiler refuses is replaced by the next (scripts/treadle_logic_run.py)."""

import dataclasses
import hashlib
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "Sources"
MODULES = ("TreadleCore", "TreadlePorts", "TreadleScopes", "TreadlePlugins")
#: A comparison turned; a bound moved by one; a condition left out; what follows an if never done; a failure ignored; a
#: statement gone.
KINDS = ("turned", "by one", "dropped", "never", "ignored", "gone")
TURNED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
BY_ONE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
COMPARISON = re.compile(r" (==|!=|<=|>=|<|>) ")
#: Where an operand of a comparison, or of && and ||, begins and ends, besides brackets and commas.
BEFORE = re.compile(r"(?:&&|\|\||(?<![=!<>&+*/-])=|\?|\?\?|:|;|\b(?:return|if|guard|while|where|in|case|else)) $")
BEHIND = re.compile(r"(?: (?:&&|\|\||\?|:|\?\?|\{)| else\b|;)")
KEYWORDS = set(
    "let var if guard while for switch case default return func init deinit struct enum extension import package public "
    "private internal fileprivate static final class protocol typealias defer do repeat break continue throw fallthrough "
    "else indirect mutating".split()
)
#: Assertions are no logic, and lines around these belong to a longer expression.
ASSERTS = re.compile(r"\b(?:assert\w*|precondition\w*|fatalError)\(")
GOES_ON = re.compile(r"(?:[,(\[=?:+\-*&|]|->|\breturn)$")
CONTINUES = re.compile(r"^(?:[.?:+\-*&|{)\]]|else\b)")
NUMBER = "treadle_system_explored_fault(FAULT)"


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str  # from Sources on
    line: int  # from 1
    kind: str
    part: str  # of the line, that is changed
    old: str
    new: str  # with NUMBER

    @property
    def place(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line}"

    def __str__(self) -> str:
        return f"{self.place}: {self.title}"

    @property
    def title(self) -> str:
        return f"{self.kind} `{self.part}`: {self.old.strip()}" if self.part else f"{self.kind}: {self.old.strip()}"

    def with_number(self, number: int) -> str:
        return self.new.replace("FAULT", str(number))


def masked(line: str) -> str:
    """The line with strings and comments as underscores, and no space of them."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"', lambda match: "_" * len(match[0]), line)
    code, slashes, _ = line.partition("//")
    return code + "_" * (len(line) - len(code)) if slashes else line


def begins(text: str, at: int) -> int:
    """Where the operand begins that ends before a place."""
    depth = 0
    while at > 0:
        before = text[at - 1]
        if before in ")]}":
            depth += 1
        elif before in "([{":
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and (before == "," or BEFORE.search(text[:at])):
            break
        at -= 1
    return at + len(text[at:]) - len(text[at:].lstrip())


def ends(text: str, at: int) -> int:
    """Where the operand ends that begins at a place."""
    depth = 0
    while at < len(text):
        if depth == 0 and (text[at] in ",)]}" or BEHIND.match(text, at)):
            break
        depth += (text[at] in "([{") - (text[at] in ")]}")
        at += 1
    return len(text[:at].rstrip())


def comparisons(line: str, text: str):
    for match in COMPARISON.finditer(text):
        begin, end = begins(text, match.start()), ends(text, match.end())
        left, right = line[begin : match.start()], line[match.end() : end]
        if not left or not right or "try" in left:
            continue
        for kind, table in (("turned", TURNED), ("by one", BY_ONE)):
            if match[1] in table:
                new = f"({NUMBER} ? ({left} {table[match[1]]} {right}) : ({left} {match[1]} {right}))"
                yield kind, line[begin:end], f"{line[:begin]}{new}{line[end:]}"
    for match in re.finditer(r"(?<= )(?:&?[+-]=?) (1)\b(?![.\d])", text):
        new = f"({NUMBER} ? {0 if '-' in match[0] else 2} : 1)"
        yield "by one", match[0].strip(), f"{line[:match.start(1)]}{new}{line[match.end(1):]}"


def conditions(line: str, text: str):
    """What && and || join, and what stands between the commas of an if, guard or while."""
    for match in re.finditer(r" (&&|\|\|) ", text):
        for begin, end in ((begins(text, match.start()), match.start()), (match.end(), ends(text, match.end()))):
            operand = line[begin:end]
            if operand and "try " not in operand:
                new = f"({NUMBER} || {operand})" if match[1] == "&&" else f"(!{NUMBER} && {operand})"
                yield "dropped", operand, f"{line[:begin]}{new}{line[end:]}"
    match = re.match(r"\s*(?:\} )?(?:else )?(if|guard|while) ", text)
    if not match:
        return
    begin = match.end()
    while begin < len(text):
        end, depth = begin, 0
        while end < len(text):
            if depth == 0 and (text[end] == "," or text.startswith((" {", " else"), end)):
                break
            depth += (text[end] in "([{") - (text[end] in ")]}")
            end += 1
        condition = line[begin:end]
        if condition.strip() and match[1] != "while" and not re.match(r"(?:let|var|case|try|#)", condition):
            yield "dropped", condition, f"{line[:begin]}{NUMBER} || ({condition}){line[end:]}"
        if not text.startswith(", ", end):
            break
        begin = end + 2
    if match[1] != "guard":
        yield "never", "", f"{line[:match.end()]}!{NUMBER}, {line[match.end():]}"


def statements(line: str, text: str, before: str, behind: str):
    code = text.rstrip("_ ")
    indent, statement = line[: len(line) - len(line.lstrip())], line.strip()
    if code.rstrip() != text.rstrip() or GOES_ON.search(before) or CONTINUES.match(behind):
        return
    if deferred := re.match(r"\s*defer \{ (.*) \}$", line):
        yield "gone", "", f"{indent}defer {{ if !{NUMBER} {{ {deferred[1]} }} }}"
    word = re.match(r"(?:try )?(?:_ = (?:try )?)?([A-Za-z_]\w*)", statement)
    if not word or word[1] in KEYWORDS or any(code.count(a) != code.count(b) for a, b in ("()", "[]", "{}")):
        return
    if not (code.endswith((")", "}")) or re.search(r" (?:[-+&|]+)?= ", code)) or GOES_ON.search(code):
        return
    yield "gone", "", f"{indent}if !{NUMBER} {{ {statement} }}"
    if statement.startswith("try "):
        yield "ignored", "", f"{indent}if {NUMBER} {{ _ = try? {statement[4:]} }} else {{ {statement} }}"


def mutants_of(file: str, text: str) -> "list[list[Mutant]]":
    """For each line that has some: its mutants."""
    lines = text.split("\n")
    bare = [masked(line) for line in lines]
    found = []
    for number, (line, code) in enumerate(zip(lines, bare)):
        if ASSERTS.search(code) or code.lstrip().startswith(("_", "@", "#", "import ")):
            continue
        before = bare[number - 1].rstrip("_ ") if number else ""
        behind = bare[number + 1].strip() if number + 1 < len(lines) else ""
        made = [*comparisons(line, code), *conditions(line, code), *statements(line, code, before, behind)]
        if made:
            found.append([Mutant(file, number + 1, kind, part, line, new) for kind, part, new in made])
    return found


def shuffled(seed: int, names: "list[str]") -> "list[Mutant]":
    """Mutants of the files whose paths have one of the names, one for each line, in the seed's order; the kinds take turns."""
    lines = []
    for module in MODULES:
        for path in sorted((SOURCES / module).rglob("*.swift")):
            file = str(path.relative_to(SOURCES))
            if not names or any(name in file for name in names):
                lines += mutants_of(file, path.read_text(encoding="utf-8"))
    # By a digest, so that an edit elsewhere leaves the others where they are.
    lines.sort(key=lambda line: hashlib.sha256(f"{seed} {line[0].file} {line[0].old.strip()}".encode()).digest())
    by_kind = {kind: [mutant for line in lines for mutant in line if mutant.kind == kind] for kind in KINDS}
    order, taken = [], set()
    while any(by_kind.values()):
        for kind in KINDS:
            while by_kind[kind]:
                mutant = by_kind[kind].pop(0)
                if (mutant.file, mutant.line) not in taken:
                    taken.add((mutant.file, mutant.line))
                    order.append(mutant)
                    break
    return order


def with_mutants(file: str, text: str, mutants: "list[tuple[int, Mutant]]") -> str:
    """A source with those of its mutants, each behind its number. Lines stay where they are."""
    lines = text.split("\n")
    for number, mutant in mutants:
        if mutant.file == file:
            lines[mutant.line - 1] = mutant.with_number(number)
    if not any("import CTreadleSystem" in line for line in lines):
        lines[2] = f"import CTreadleSystem; {lines[2]}"
    return "\n".join(lines)
