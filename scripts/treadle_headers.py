# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Reads the public headers, as far as the checks need it: what is declared, with which comment."""

import pathlib
import re
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
TAG = re.compile(r"\[(?:any|owner|callback)(?:, signal-safe|, quick)?\]")
SINCE = re.compile(r"Since (\d+\.\d+)\.")


@dataclass
class Declaration:
    """One declaration: its kind is function, callback, struct, handle, type, enum or macro."""

    kind: str
    name: str
    text: str
    comment: str
    where: str
    members: list[str] = field(default_factory=list)
    is_host_only: bool = False

    @property
    def tags(self) -> list[str]:
        return TAG.findall(self.comment)

    @property
    def is_quick(self) -> bool:
        """It neither waits nor calls the client's code: a language may call it with the lock of its interpreter held."""
        return bool({"[any, quick]", "[any, signal-safe]"} & set(self.tags))

    @property
    def since(self) -> list[str]:
        return SINCE.findall(self.comment)


def headers() -> list[pathlib.Path]:
    """Every installed header, the one that includes the others first."""
    return [INCLUDE / "treadle.h", *sorted((INCLUDE / "treadle").glob("*.h"))]


def glue() -> list[pathlib.Path]:
    """The installed headers for loops of other libraries."""
    return sorted((ROOT / "bindings/glue").glob("*.h"))


def declarations() -> list[Declaration]:
    return [found for path in headers() for found in declarations_of(path)]


def in_order() -> list[Declaration]:
    """Every declaration, in the order in which treadle.h includes them: a name is declared before it is used."""
    included = re.findall(r'^#include "(.*)"', (INCLUDE / "treadle.h").read_text(encoding="utf-8"), re.M)
    return [found for name in included for found in declarations_of(INCLUDE / name)]


def constants() -> list[tuple[str, str]]:
    """The name of every number and text, without its prefix, and what the header says of its value."""
    found = []
    for one in in_order():
        if one.kind == "macro" and (match := re.fullmatch(r'#define TREADLE_(\w+) +("[^"]*"|0x[0-9A-F]+|\d+|INT64_MAX)u?', one.text.strip())):
            found.append((match[1], match[2]))
        elif one.kind == "enum":
            found += re.findall(r"TREADLE_(\w+) = (-?\w+)", one.text)
    return found


def declarations_of(path: pathlib.Path) -> list[Declaration]:
    """The declarations of one header, in order."""
    found = []
    comment = ""
    text = path.read_text(encoding="utf-8")
    position = 0
    while match := _TOKEN.search(text, position):
        position = match.end()
        piece = match.group()
        if piece.startswith("/*"):
            comment = piece if piece.startswith("/**") else ""
            continue
        if piece.startswith("#"):
            declaration = _macro(piece)
        else:
            position = _end_of_statement(text, match.start())
            declaration = _statement(_without_comments(text[match.start() : position]))
        if declaration:
            line = text.count("\n", 0, match.start()) + 1
            declaration.comment = comment
            declaration.where = f"{path.relative_to(ROOT)}:{line}"
            found.append(declaration)
            comment = ""
    return found


# A comment, a directive with its continued lines, or the beginning of a statement.
_TOKEN = re.compile(r"/\*.*?\*/|#(?:[^\n\\]|\\.)*|(?:typedef|enum|TREADLE_API|template|static|extern)\b", re.S)


def _end_of_statement(text: str, start: int) -> int:
    depth = 0
    position = start
    while position < len(text):
        if text.startswith("/*", position):
            position = text.index("*/", position) + 2
            continue
        character = text[position]
        depth += (character == "{") - (character == "}")
        position += 1
        if depth == 0 and (character == ";" or character == "}" and text.startswith(("template", "static"), start)):
            break
    return position


def _without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def _macro(line: str) -> Declaration | None:
    match = re.match(r"#define (TREADLE_\w+)(\([^)]*\))?[ \t]*(.*)", line, re.S)
    return Declaration("macro", match[1], line, "", "") if match and match[3] else None


def _statement(text: str) -> Declaration | None:
    text = re.sub(r"\s+", " ", text).strip()
    if match := re.match(r"TREADLE_API .*?\b(treadle_\w+)\(", text):
        is_host_only = text.startswith("TREADLE_API TREADLE_HOST_ONLY ")
        return Declaration("function", match[1], re.sub(r"^TREADLE_API (TREADLE_HOST_ONLY )?", "", text).rstrip(";"), "", "", is_host_only=is_host_only)
    if match := re.match(r"typedef struct (\w+)? ?\{(.*)\} (\w+);", text):
        return Declaration("struct", match[3], text, "", "", _members(match[2]))
    if match := re.match(r"typedef struct \w+ \*(\w+);", text):
        return Declaration("handle", match[1], text, "", "")
    if match := re.match(r"typedef .*\(\*(\w+)\)\(", text):
        return Declaration("callback", match[1], text, "", "")
    if match := re.match(r"typedef .*\b(\w+);", text):
        return Declaration("type", match[1], text, "", "")
    if match := re.match(r"enum \{(.*)\};", text):
        names = re.findall(r"(?:^|,) *(TREADLE_\w+)", match[1])
        return Declaration("enum", names[0], text, "", "", names)
    return None


def _members(body: str) -> list[str]:
    names = []
    for member in filter(None, (part.strip() for part in body.split(";"))):
        if match := re.search(r"\(\*(\w+)\)\(", member):
            names.append(match[1])
        else:
            # `treadle_schedule_fn a, b` declares two members of one type.
            names += [re.sub(r"\[.*\]", "", part).split()[-1].lstrip("*") for part in member.split(",")]
    return names
