# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The list of the exported functions, for Sources/CTreadleNames: list.h and own_names.h.

From 1.0 on the order is for ever, since copies of different versions meet by it: what the list has stays where it is, what is new
comes at the end. Before 1.0 a function may go, by hand, from the list. Each name has what a copy does whose process has a runtime that cannot be called in its place: the function returns
a STATUS or a VALUE, and is refused by TREADLE_E_NOT_SUPPORTED or zero; or it needs no runtime, and works ALWAYS."""

import re
import sys
from pathlib import Path

import treadle_headers

FOLDER = treadle_headers.ROOT / "Sources/CTreadleNames"
LIST, OWN = FOLDER / "list.h", FOLDER / "own_names.h"
ALWAYS = re.compile(r"version|status_|last_error$|time_")
LEGAL = "/* SPDX-License-Identifier: Apache-2.0\n * Copyright the Treadle authors\n *\n"


def names() -> dict[str, str]:
    """The kind of each."""
    found = {}
    for one in treadle_headers.declarations():
        if one.kind != "function":
            continue
        result, name = re.fullmatch(r"(.*?)\btreadle_(\w+)\(.*\)", one.text).groups()
        found[name] = "ALWAYS" if ALWAYS.match(name) else "STATUS" if result.strip() == "treadle_status" else "VALUE"
        # What names.c keeps of a call's arguments, and what it can refuse by zero.
        assert len(re.findall(r"\b(?:double|float)\b(?! \*)", one.text)) <= 2 and (found[name] != "VALUE" or "double " not in result)
    text = LIST.read_text(encoding="utf-8") if LIST.exists() else ""
    known = re.findall(r"NAME\(\d+, (\w+),", text)
    if missing := [name for name in known if name not in found]:
        sys.exit(f"the list has functions that the headers have not: {missing}")
    return {name: found[name] for name in dict.fromkeys([*known, *found])}


def texts() -> dict[Path, str]:
    """Each file with its text."""
    every = names()
    lines = "".join(f" \\\n    NAME({index}, {name}, {kind})" for index, (name, kind) in enumerate(every.items()))
    return {
        LIST: LEGAL + " * list.h: the exported functions, in the order in which copies of the library know them, with what becomes\n"
        " * of those that the process's runtime has not: a STATUS says so, a VALUE is zero, the others work ALWAYS. Made by\n"
        f" * make generate. */\n#define LIBTREADLE_NAMES{lines}\n",
        OWN: LEGAL + " * own_names.h: the symbols of the library's own functions, which the exported names lead to. Made by\n"
        " * make generate; the module of the headers begins with it. */\n#ifdef TREADLE_OWN_NAMES\n"
        + "".join(f"#pragma redefine_extname treadle_{name} libtreadle_own_{name}\n" for name in every)
        + "#endif\n",
    }
