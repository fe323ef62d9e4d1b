#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Writes the cases of calls_random_test.c: C functions of random types, and calls of such functions.

    calls_random.py [COUNT [SEED]]    10,000 cases; the same seed gives the same cases"""

import random
import sys

SCALARS = {
    "c": "int8_t", "C": "uint8_t", "s": "int16_t", "S": "uint16_t", "i": "int32_t", "I": "uint32_t", "q": "int64_t",
    "Q": "uint64_t", "f": "float", "d": "double", "B": "bool", "*": "char *", "^v": "void *", "^?": "any_code",
}  # fmt: skip
SIZES = {"c": 1, "C": 1, "s": 2, "S": 2, "i": 4, "I": 4, "q": 8, "Q": 8, "f": 4, "d": 8, "B": 1, "*": 8, "^v": 8, "^?": 8}
STRUCTS = 400
LARGEST = 64
MOST_ARGUMENTS = 32


class Struct:
    """A struct type of at most 64 bytes: its encoding, C name, members, size and alignment."""

    def __init__(self, number, picks, known):
        self.name = f"S{number}"
        self.members = []
        self.encoding = ""
        self.size, self.alignment = 0, 1
        # Few kinds of members in one struct, as calling conventions look at their mixture.
        kinds = picks.sample(list(SCALARS), picks.choice((1, 1, 2, 3)))
        for _ in range(picks.choice((1, 1, 2, 2, 3, 4, 6, 10, 20))):
            nested = picks.random() < 0.15 and known
            inner = picks.choice(known) if nested else None
            code = inner.encoding if inner else picks.choice(kinds)
            size, alignment = (inner.size, inner.alignment) if inner else (SIZES[code], SIZES[code])
            count = picks.choice((2, 3, 4, 7)) if picks.random() < 0.15 else 0
            offset = (self.size + alignment - 1) // alignment * alignment
            end = offset + size * max(count, 1)
            larger = max(self.alignment, alignment)
            if (end + larger - 1) // larger * larger > LARGEST:
                continue
            self.members.append((inner.name if inner else SCALARS[code], count))
            self.encoding += f"[{count}{code}]" if count else code
            self.size, self.alignment = end, larger
        if not self.members:
            self.members.append(("int8_t", 0))
            self.encoding, self.size = "c", 1
        self.size = (self.size + self.alignment - 1) // self.alignment * self.alignment
        self.encoding = f"{{{self.name}={self.encoding}}}"

    def declaration(self):
        members = " ".join(
            f"{kind} m{index}{f'[{count}]' if count else ''};" for index, (kind, count) in enumerate(self.members)
        )
        return f"typedef struct {{ {members} }} {self.name};"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    picks = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    structs = []
    for number in range(STRUCTS):
        structs.append(Struct(number, picks, structs[-40:]))

    def pick():
        if picks.random() < 0.2:
            struct = picks.choice(structs)
            return struct.encoding, struct.name
        return picks.choice(list(SCALARS.items()))

    print("/* Written by calls_random.py. */")
    for struct in structs:
        print(struct.declaration())
        print(f"_Static_assert(sizeof({struct.name}) == {struct.size}, \"{struct.name}\");")
    table, seen = [], set()
    while len(table) < count:
        most = picks.choice((1, 1, 2, 2, 3, 3, 4, 5, 8, MOST_ARGUMENTS))
        result = ("v", "void") if picks.random() < 0.1 else pick()
        arguments = [pick() for _ in range(picks.randint(0, most))]
        encoding = result[0] + "".join(code for code, _ in arguments)
        if encoding in seen or len(encoding) > 1000:
            continue
        seen.add(encoding)
        number = len(table)
        parameters = ", ".join(f"{kind} a{index}" for index, (_, kind) in enumerate(arguments)) or "void"
        keeps = " ".join(f"KEEP(a{index})" for index in range(len(arguments)))
        actual = ", ".join(f"VALUE({kind.replace(' *', '_pointer')}, {index})" for index, (_, kind) in enumerate(arguments))
        call = f"((TYPE_OF(f{number}) *)code_)({actual})"
        is_void = result[0] == "v"
        print(f"static {result[1]} f{number}({parameters}) {{ {keeps} {'' if is_void else f'RETURN({result[1]})'} }}")
        use = f"{call};" if is_void else f"{result[1]} r_ = {call}; GIVE(r_)"
        print(f"CALLER(c{number}) {{ {use} }}")
        table.append(f'{{"{encoding}", (any_code)f{number}, c{number}}},')
    print("static const struct call_case cases[] = {", *table, "};", sep="\n")


if __name__ == "__main__":
    main()
