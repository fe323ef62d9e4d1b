# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Tests/c/good_calls.h: the rows of the table of good calls that follow from the declarations.

A function has such a row if it can be called at any time, on any thread, with values that are good whatever was called before. It
has none, and needs one by hand in Tests/c/all_calls.h, if it begins, ends or waits for something (LASTING), if only a loop's thread
may call it, if it is a verb for objects of several kinds, or if it has a parameter without such a value. A row by hand goes before
the rule; a function with neither is reported with the reason."""

import re
from pathlib import Path

import treadle_headers
from treadle_calls import HANDLES, good, name_of, split, type_of
from treadle_headers import Declaration

from generators import names

TABLE, ROWS = (treadle_headers.ROOT / "Tests/c" / name for name in ("all_calls.h", "good_calls.h"))
HEAD = """\
/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * good_calls.h: the rows of all_calls.h that follow from the declarations. Written by make generate. */
#define GOOD_CALLS(X)"""

# What changes which calls are good after it, or may not return at once: by the last word of the name.
LASTING = "start stop run next dispatch cancel join detach exit close invalidate release load reload serve quiesce shutdown enter leave add remove push pop wait".split()
# What is stored, by its type: the member of `out` that it fits into, and its size.
STORED = {
    "int64_t": ("i64", 8), "uint64_t": ("u64", 8), "int32_t": ("i32", 4), "uint32_t": ("u32", 4),
    "size_t": ("size", 8), "double": ("real", 8), "void *": ("pointer", 8), "uintptr_t": ("u64", 8),
}  # fmt: skip
# Handles of what lives as long as the process.
KEPT = {"treadle_signature", "treadle_host"}


class NoRule(Exception):
    """Why a function has no row by rule."""


def stored(kind: str) -> tuple[str, int]:
    """Where a result of this type goes, and its size."""
    if kind in STORED:
        member, size = STORED[kind]
        return (f"(uintptr_t *)&h->out.{member}" if kind == "uintptr_t" else f"&h->out.{member}"), size
    if kind in HANDLES or kind == "const void *":
        return f"({kind}{'' if kind.endswith('*') else ' '}*)&h->out.pointer", 8
    raise NoRule(f"there is no rule for a result of the type {kind}")


def values(one: Declaration, parameters: list[str], sized: dict[str, bool]) -> tuple[list[str], int]:
    """The arguments of the call, and how many bytes of `out` it writes."""
    given: list[str] = []
    size = 0
    is_text = parameters[-3:-1] == ["char *buffer", "size_t capacity"] and parameters[-1].startswith("size_t *out_")
    for index, parameter in enumerate(parameters[:-3] if is_text else parameters):
        name, kind = name_of(parameter), type_of(parameter)
        target = kind.removesuffix("*").strip()
        if kind == "treadle_object":
            raise NoRule("it is for objects of several kinds")
        if name == "out_token":
            raise NoRule("what it makes has to be taken back by its token")
        if name == "buffer":
            raise NoRule("it fills an array")
        if "(*" in parameter and name.startswith("out_"):
            raise NoRule("there is no rule for a result that is a function")
        if kind.endswith("*") and not kind.startswith("const ") and target in sized:
            given.append(f"&TREADLE_INIT({target})" if sized[target] else f"&({target}){{0}}")
        elif name.startswith("out_"):
            where, bytes_stored = stored(target)
            given.append(f"&({target}){{0}}" if size else where)
            size = size or bytes_stored
        elif kind.endswith("*") and (target in HANDLES or target.removeprefix("const ") in HANDLES):
            raise NoRule("it fills an array of objects, which have to be released")
        else:
            given.append(good(one.name, parameters, index))
    if any(re.search(r"\bgood_|->served", value) for value in given):
        raise NoRule("one of its arguments has to be made first")
    return (given + ["TEXT"], 8) if is_text else (given, size)


def row(one: Declaration, sized: dict[str, bool]) -> str:
    """The row of a function."""
    if one.name.rpartition("_")[2] in LASTING:
        raise NoRule("what it does lasts: its place in the order has to be chosen")
    if not any(tag.startswith("[any") for tag in one.tags):
        raise NoRule("only some threads may call it")
    parameters = split(one.text)
    given, size = values(one, parameters, sized)
    uses = [HANDLES[type_of(each)] for each in parameters if type_of(each) in HANDLES]
    call = f"{one.name}({', '.join(given)})"
    result = one.text.partition(one.name)[0].strip()
    is_always = names.ALWAYS.match(one.name.removeprefix("treadle_"))
    if result.endswith("*") or result in HANDLES:
        letter, call = "p", f"{call} != NULL"
    elif result == "treadle_status":
        letter = "q" if "[any, signal-safe]" in one.tags else "s"
    else:
        letter = "b" if uses and result == "bool" else "-"
    if is_always:
        letter, size = "-", 0
    if made := [type_of(each)[:-1].strip() for each in parameters if name_of(each).startswith("out_")]:
        if made[0] in HANDLES and made[0] not in KEPT:
            call = f"give_back(h, {call})"
    return f"X({one.name}, {' | '.join(f'U({kind})' for kind in uses) or '0'}, '{letter}', {size}, {call})"


def rows(table: str) -> tuple[list[str], list[str]]:
    """The rows by rule; and what has neither such a row nor one in the table by hand."""
    by_hand = set(re.findall(r"\bX\((treadle_\w+),", table))
    verbs = set(re.findall(r"\bX\((treadle_\w+?)__", table))
    sized = {one.name: one.members[0] == "struct_size" for one in treadle_headers.declarations() if one.kind == "struct"}
    found, missing = [], []
    for one in treadle_headers.in_order():
        if one.kind != "function" or one.name in by_hand:
            continue
        try:
            found.append(row(one, sized))
        except NoRule as why:
            if one.name not in verbs:
                missing.append(f"{TABLE.relative_to(treadle_headers.ROOT)} needs a row for {one.name}: {why}")
    return found, missing


def texts() -> dict[Path, str]:
    """The file with its text."""
    return {ROWS: HEAD + "".join(f" \\\n    {each}" for each in rows(TABLE.read_text(encoding="utf-8"))[0]) + "\n"}


def complaints() -> list[str]:
    """The functions without a row; if there are none, what is not found if a table lacks rows."""
    table = TABLE.read_text(encoding="utf-8")
    if missing := rows(table)[1]:
        return missing
    without = re.sub(r"X\((treadle_thread_join|treadle_loop_prepare|treadle_plugin_copy_all),", "X(", table)
    return [] if len(rows(without)[1]) == 3 else ["good_calls.py does not find the functions that the table lacks"]
