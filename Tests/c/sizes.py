#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Writes the cases of sizes_test.c: for each size that a function of the headers takes, a function that calls it.

A new function that takes a size is found here. If its arguments have types that are unknown below, this ends with an error."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import treadle_headers  # noqa: E402

KINDS = "loop source descriptor timer observer signature routine host lock condition thread invocation scope plugin port message".split()
HANDLES = {f"treadle_{kind}": [kind.upper()] for kind in KINDS} | {
    "treadle_message_port": ["MESSAGE_PORT"],
    "treadle_object": ["LOOP", "SOURCE", "DESCRIPTOR", "TIMER", "OBSERVER", "PORT", "MESSAGE_PORT"],
}
# What the other arguments are.
VALUES = {
    "const char *mode": "h->mode",
    "const char *key": '"key"',
    "const char *name": '"name"',
    "const char *signature": '"qcccccccc"',
    "treadle_call *call": "&made",
    "const treadle_call *call": "&made",
    "const treadle_event *event": "NULL",
    "treadle_message_port_reply_fn reply": "NULL",
    "void *info": "NULL",
    "uint64_t call": "0",
    "size_t holder_size": "sizeof(treadle_scope_holder)",
    "int32_t id": "1",
    "uint32_t id": "1",
}
# Every size is a good one, and stands for no limit.
UNLIMITED = {("treadle_loop_dispatch", "budget_items")}
# What else may be named in the refusal: there is no such call.
OTHER = {"treadle_message_port_reply": "call"}


def parameters(text: str) -> list[tuple[str, str]]:
    """The types and names of a function's parameters."""
    inside = text[text.index("(") + 1 : text.rindex(")")]
    return [re.fullmatch(r"(.*?)(\w+)", part.strip()).groups() for part in inside.split(",") if part.strip() != "void"]


def room_of(all_of: list[tuple[str, str]], size: int) -> int:
    """The index of the pointer to what has this size: before it, or before the distance of two elements."""
    before = size - 1
    while before > 0 and all_of[before][0].strip() == "size_t" and all_of[before][1].endswith("_size"):
        before -= 1
    return before


def argument(function: str, kind: str, name: str, tested: int, index: int, all_of: list[tuple[str, str]], handle: str) -> str:
    is_pointer = kind.rstrip().endswith("*")
    plain = kind.strip()
    if index == tested:
        return "size"
    if f"{kind}{name}" in VALUES:
        return VALUES[f"{kind}{name}"]
    if plain in HANDLES:
        return f"h->of[{handle if len(HANDLES[plain]) > 1 else HANDLES[plain][0]}]"
    if plain == "int64_t" and name.endswith("_ns"):
        return "0"
    if name.startswith("out_") and is_pointer:
        return "(void *)outs"
    if is_pointer and index + 1 < len(all_of) and all_of[index + 1][0].strip() == "size_t":
        return "room" if index == room_of(all_of, tested) else "(void *)h->text"
    if plain == "size_t":
        return "1" if name == "index" and function.endswith("_buffer") else "0" if name == "index" else "8"
    sys.exit(f"sizes.py: {function}: which value has the argument {kind}{name}?")


def main() -> None:
    cases = []
    for found in treadle_headers.declarations():
        if found.kind != "function" or not re.search(r"\bsize_t \w+[,)]", found.text):
            continue
        all_of = parameters(found.text)
        for tested, (kind, name) in enumerate(all_of):
            if kind.strip() != "size_t":
                continue
            before = all_of[room_of(all_of, tested)][0] if tested else ""
            has_room = before.rstrip().endswith("*")
            element = before.rstrip()[:-1].strip().removeprefix("const ").strip() if has_room else ""
            size = "1" if element in ("void", "char", "") else f"sizeof({element})"
            releases = element in ("treadle_object", "treadle_plugin")
            for handle in HANDLES.get(all_of[0][0].strip(), ["LOOP"]):
                case = f"{found.name}_{name}_{handle.lower()}"
                given = [argument(found.name, k, n, tested, i, all_of, handle) for i, (k, n) in enumerate(all_of)]
                made = "    treadle_call made = call_of(h->of[SIGNATURE]);\n" if "&made" in given else ""
                print(f"static treadle_status {case}(struct handles *h, void *room, size_t size) {{\n{made}    (void)h, (void)room;")
                print(f"    return {found.name}({', '.join(given)});\n}}")
                unlimited = str((found.name, name) in UNLIMITED).lower()
                other = OTHER.get(found.name, name)
                cases.append(
                    f'    {{"{case}", "{name}", "{other}", {case}, {size}, {str(releases).lower()}, {unlimited}}},'
                )
    print("static const struct size_case size_cases[] = {", *cases, "};", sep="\n")


main()
