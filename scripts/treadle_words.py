# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Public text, and the words that it does not use: each with the words to use instead.

Public text is what users read: Markdown without its programs, comments of the public headers, docstrings of the Python package,
and documentation comments of the Swift modules, both of public names. Tests and other code are not."""

import ast
import re
from pathlib import Path

PUBLIC = re.compile(
    r"(?:README|CONTRIBUTING|CHANGELOG)\.md|docs/.*\.(?:md|tutorial)|(?:examples|host)/(?:.*/)?\w+\.md|bindings/\w+/README\.md"
    r"|include/.*\.(?:h|hpp)|bindings/glue/.*\.(?:h|hpp)|bindings/python/treadle/.*\.py|bindings/node/index\.d\.ts"
    r"|Sources/Treadle(?:Foundation)?/.*\.swift"
)

# What is refused, what to use instead, and a text that is refused because of it.
SENTENCE = r"(?:^|[.:;]\s+|\*\*\s+|^- )"
WORDS = [
    (r"\bwhoever\b", "a noun: a thread that, a client that, any thread", "whoever waits is woken"),
    (r"\b(?:some|any|no)body\b|\bsomeone\b", "a noun: another thread, a client, no thread", "nobody waits"),
    (SENTENCE + r"Who\s", "a noun: a waiter, a caller, a thread that", "Who waits is woken."),
    (SENTENCE + r"What\s(?!to\b|you\b)[^?\n]*(?:\n[^?\n]+)*?[.:]", "a noun: items that, the result of", "It ends. What is in it is freed."),
    (SENTENCE + r"Whatever\s", "a noun, or: every", "Whatever waits is woken."),
    (r"\b(?:for|those|one)\s+who\b", "a noun: clients that, callers that", "messages for who debugs"),
    (r"\b(?:give[sn]?|gave|giving)\s+(?:\w+\s+){0,2}back\b", "release, destroy, return", "the info is given back"),
    (r"\blet(?:s|ting)?\s+go\b", "release, remove", "it lets go of its items"),
    (r"\bput(?:s|ting)?\s+(?:\w+\s+)?off\b", "defer, delay, restart", "a release that is put off"),
    (r"\bswallow", "coalesce, drop", "two signals swallow each other"),
    (r"\b(?:is|are|was|were|be|been|being)\s+told\b", "is called, is notified, is reported", "the loop is told at once"),
    (r"\b(?:is|are)\s+made\s+of\b", "configuration, consists of", "what a timer is made of"),
    (r"\bat\s+hand\b", "available", "the lock that is at hand"),
    (r"\bhere\s+and\s+now\b", "immediately, on the calling thread", "calls it here and now"),
    (r"(?<!for )\bever\s+after\b", "from then on", "the same ever after"),
    (r"\bin\s+haste\b", "spin", "no loop turns in haste"),
    (r"\bbits\s+that\s+mean\s+nothing\b", "unknown flags", "flags has bits that mean nothing"),
    (r"\ban\s+id\s+that\s+is\s+none\b", "invalid id", "it has an id that is none"),
    (r"\bforgets\b", "removes, drops", "a loop forgets its modes"),
    (r"\banswers\b", "returns, replies", "it answers false"),
    (r"\b(?:comes?|came)\s+to\s+its\s+end\b", "ends, completes", "the call comes to its end"),
]
PATTERNS = [(re.compile(pattern, re.M), instead) for pattern, instead, _ in WORDS]


def blank(text: str) -> str:
    """Keeps the line ends alone, so that places stay what they are."""
    return re.sub(r"[^\n]", " ", text)


def only(found: re.Pattern[str], text: str) -> str:
    """What matches, in its place."""
    kept, end = [], 0
    for match in found.finditer(text):
        kept += [blank(text[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*kept, blank(text[end:])])


def docstrings(text: str) -> str:
    """Those of public names, which say since when they exist: classes, their methods, functions."""
    lines = text.split("\n")
    kept = [""] * len(lines)

    def visit(body: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                if "Since " in (ast.get_docstring(node) or ""):
                    first, last = node.body[0].lineno, node.body[0].end_lineno
                    kept[first - 1 : last] = [line.replace('"""', "").strip() for line in lines[first - 1 : last]]
                if isinstance(node, ast.ClassDef):
                    visit(node.body)

    visit(ast.parse(text).body)
    return "\n".join(kept)


# Documentation comments of public declarations, and of cases, which are public if their enumeration is.
SWIFT = re.compile(r"(?:^[ \t]*///.*\n)+(?=(?:[ \t]*@.*\n)*[ \t]*(?:@\w+(?:\(.*?\))? )*(?:public|open|case)\b)", re.M)


def public_text(name: str, text: str) -> str:
    """The text of a file that users read, each part on its line."""
    if name.endswith((".md", ".tutorial")):
        text = re.sub(r"^```.*?^```$|`[^`\n]*`|^ {4}[^\n]*$", lambda code: blank(code[0]), text, flags=re.S | re.M) if name.endswith(".md") else text
        return re.sub(r"^#+ ", "", text, flags=re.M)
    if name.endswith(".py"):
        text = docstrings(text)
    elif name.endswith(".swift"):
        text = only(SWIFT, text)
    else:
        text = only(re.compile(r"/\*.*?\*/|//.*?$", re.S | re.M), text)
    return re.sub(r"^[ \t]*(?:///?<?|/\*\*?<?|\*(?!/))[ \t]?", "", text, flags=re.M)


def complaints(name: str, text: str):
    """The words of a public text that are out of use, each with its line."""
    if not PUBLIC.fullmatch(name):
        return
    text = public_text(name, text)
    for pattern, instead in PATTERNS:
        for match in pattern.finditer(text):
            start = match.start() + re.search(r"[A-Za-z]", match[0]).start()
            word = " ".join(match[0].split())[:40]
            yield f"{text.count(chr(10), 0, start) + 1}: \"{word}\": use {instead}"


def self_test() -> list[str]:
    """What is wrong with this check itself: each word is refused in each kind of public text, and nowhere else."""
    wrong = []
    for _, _, example in WORDS:
        shown = {
            "README.md": f"# Title\n\n    code\n\n{example}\n",
            "include/treadle/x.h": f"int f(void); /* {example} */\n",
            "include/treadle/cpp/x.hpp": f"/// {example}\nint f();\n",
            "bindings/python/treadle/x.py": f'def f():\n    """{example} Since 1.0."""\n',
            "Sources/Treadle/X.swift": f"/// {example}\n@inlinable\npublic func f() {{}}\n",
        }
        wrong += [f"{name}: does not refuse: {example}" for name, text in shown.items() if not list(complaints(name, text))]
        hidden = {
            "README.md": f"```c\n{example}\n```\n",
            "Tests/c/x.c": f"/* {example} */\n",
            "include/treadle/x.h": f'const char *x = "{example}";\n',
            "bindings/python/treadle/x.py": f'def _f():\n    """{example} Since 1.0."""\n',
            "Sources/Treadle/X.swift": f"/// {example}\nfunc f() {{}}\n",
        }
        wrong += [f"{name}: refuses what is no public text: {example}" for name, text in hidden.items() if list(complaints(name, text))]
    place = list(complaints("README.md", "One.\n\nTwo, for\nwho debugs.\n"))
    if [one.split(":")[0] for one in place] != ["3"]:
        wrong.append(f"README.md: a word of two lines is at {place}, and not in line 3")
    return wrong
