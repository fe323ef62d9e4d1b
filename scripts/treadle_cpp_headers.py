# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Reads the C++ headers, as far as the checks need it: what they declare for programs, with which comment."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
HEADERS = [INCLUDE / "treadle.hpp", *sorted((INCLUDE / "treadle/cpp").glob("*.hpp"))]


@dataclass
class Declaration:
    """A declaration that programs may use, with its comment; `scope` is what it stands in."""

    where: str
    scope: str  # namespace, class or struct
    comment: str
    text: str  # without "template <...>"
    defined: bool  # and not only announced
    within: tuple[str, ...] = ()  # the names of the classes that it stands in


@dataclass
class Scope:
    kind: str  # namespace, class, struct or enum
    reachable: bool  # not in a private part, nor in `detail`
    visible: bool  # reachable, and in a public part of its own
    name: str = ""  # of a class, struct or enum


BLANKED = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|^[ \t]*#(?:[^\n\\]|\\.)*|= \{\}', re.M | re.S)
TOKEN = re.compile(r"[{};]|\b(?:public|private|protected):(?!:)")
SCOPE = re.compile(r"(?:inline )?(namespace|class|struct|enum)\b(?!.*[()])")


def public_declarations(path: Path, with_values: bool = False) -> list[Declaration]:
    """What a header declares outside of `detail` and of private parts, values of enumerations left out unless asked for. An empty
    default argument reads as 00."""
    text = path.read_text(encoding="utf-8")
    # Without comments, directives, texts and empty default arguments it can be read brace by brace.
    code = BLANKED.sub(lambda match: "= 00" if match[0] == "= {}" else re.sub(r"[^\n]", " ", match[0]), text)
    found: list[Declaration] = []
    scopes = [Scope("namespace", True, True)]
    start = 0
    while match := TOKEN.search(code, start):
        token, end = match[0], match.end()
        statement = without_template(" ".join(code[start : match.start()].split()))
        scope = scopes[-1]
        if token in "{;" and statement and scope.visible and scope.kind != "enum":
            begin = re.compile(r"\s*").match(code, start).end()
            found.append(
                Declaration(
                    f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, begin) + 1}",
                    scope.kind,
                    comment_of(text, begin, end),
                    statement,
                    token == "{",
                    tuple(one.name for one in scopes if one.name),
                )
            )
        if token == "}" and with_values and scope.kind == "enum" and scope.visible:
            within = tuple(one.name for one in scopes if one.name)
            found += [Declaration("", "enum", "", value.strip(), True, within) for value in statement.split(",") if value.strip()]
        if token == "}":
            scopes.pop()
        elif token == "{":
            # Of a specialization for function types, `class Name<R(P...)>`, the parentheses are no function's.
            if opens := SCOPE.match(re.sub(r"<[^<>]*>", "<>", statement)):
                reachable = scope.visible and not re.search(r"\bnamespace detail\b", statement)
                name = re.match(r"(?:class |TREADLE_TYPE |\[\[nodiscard\]\] )*(\w+)", statement[opens.end() :].strip())
                name = name[1] if name and opens[1] != "namespace" else ""
                scopes.append(Scope(opens[1], reachable, reachable and opens[1] != "class", name))
            else:
                end = end_of_body(code, end)
        elif token != ";":
            scope.visible = token == "public:" and scope.reachable
        start = end
    return found


def comment_of(text: str, begin: int, end: int) -> str:
    """The /// lines above a declaration, or the ///< behind it."""
    line = text.rfind("\n", 0, begin) + 1
    above = re.search(r"(?:^[ \t]*///[^\n]*\n)+\Z", text[:line], flags=re.M)
    behind = re.match(r"[^\n]*?///<([^\n]*)", text[end:])
    return re.sub(r"\s*///\s*", " ", above[0]) if above else behind[1] if behind else ""


def without_template(statement: str) -> str:
    while statement.startswith("template <"):
        depth = 0
        for position, character in enumerate(statement):
            depth += {"<": 1, ">": -1}.get(character, 0)
            if character == ">" and depth == 0:
                break
        statement = statement[position + 1 :].strip()
    return statement


def end_of_body(code: str, position: int) -> int:
    """Where a function's body, or a value in braces, ends, whose first brace is open."""
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(code[position], 0)
        position += 1
        # A constructor goes on after `a{1}`, with `, b{2}` or its body; a value ends with `;`.
        if depth == 0 and (more := re.compile(r"\s*(?:,[^;{}]*)?\{|\s*;").match(code, position)):
            position = more.end()
            depth = more[0].count("{")
    return position
