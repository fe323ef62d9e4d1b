# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""docs/languages.md: what each concept is called in each language, from the table in scripts/languages.txt, and by a rule.

Each name of the table must exist in its language, each exported function must be in the table, and each cell without a name must
have a note. See the comment at the beginning of the table for its form. A function that reads something, such as
treadle_thread_copy_loop, needs no row if C++, Python and Swift have it under a name that follows from its own: as the member `loop` of
their thread, or as the function `of_thread` of their loop. It is then the last of its class's section."""

import dataclasses
import re
from pathlib import Path

import treadle_languages
from treadle_headers import ROOT

TABLE, PAGE = ROOT / "scripts/languages.txt", ROOT / "docs/languages.md"
LANGUAGES = list(treadle_languages.READERS)
#: Packages with a part of the interface, in the last columns: a row may lack their cells, and a cell its name.
PARTS = LANGUAGES[-2:]
#: What the defaults of different languages mean, where their texts differ.
SAME = dict.fromkeys(("false", "False", "0", "0.0", "zero", "none", "nil", "None", "plain"), "off") | {"true": "on", "True": "on"}
INTRODUCTION = """# One interface in every language

The names of each concept in C, C++, Python and Swift, under CoreFoundation's names, and in the packages for Node.js and LuaJIT. All
languages share the loops: what one creates, another can stop, wake and describe. `make generate` writes this page and checks that each
name exists.

In C++ the names are in the namespace `treadle`, in Python in the package `treadle`, in Swift in the module `Treadle` (those of
Foundation's dates in `TreadleFoundation`). `name(parameter)` stands for a function, an initializer or a class that takes this
parameter. A number in parentheses leads to a note. The packages for [Node.js](../bindings/node/README.md) and
[LuaJIT](../bindings/lua/README.md) have a part of the interface: an empty cell means that the C interface has to be called.
"""
DEFAULTS = "Defaults"

#: How each language writes a member, and the classes of the C interface that have another name than in C.
BY_RULE = {
    "C++": ("::", {}),
    "Python": (".", {"loop": "RunLoop"}),
    "Swift": (".", {"loop": "RunLoop", "thread": "RunLoopThread"}),
    "Node.js": (".", {"loop": "RunLoop"}),
    "LuaJIT": (":", {}),
}
IN_CAMEL_CASE = ("Swift", "Node.js")


@dataclasses.dataclass
class Cell:
    names: list[str]
    notes: list[str]


@dataclasses.dataclass
class Row:
    concept: str
    cells: list[Cell]


@dataclasses.dataclass
class Table:
    sections: dict[str, list[Row]] = dataclasses.field(default_factory=dict)
    notes: dict[str, str] = dataclasses.field(default_factory=dict)
    bindings: dict[str, str] = dataclasses.field(default_factory=dict)  # functions that only bindings need, with the reason
    complaints: list[str] = dataclasses.field(default_factory=list)


def read(text: str) -> Table:
    table = Table()
    rows: list[Row] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if found := re.fullmatch(r"note ([\w-]+): (.+)", line):
            table.notes[found[1]] = found[2]
        elif found := re.fullmatch(r"bindings (.+?): (.+)", line):
            table.bindings |= dict.fromkeys(re.split(r", *", found[1]), found[2])
        elif found := re.fullmatch(r"== (.+)", line):
            rows = table.sections.setdefault(found[1], [])
        elif line.count("|") in (len(LANGUAGES), len(LANGUAGES) - len(PARTS)):
            concept, *cells = (part.strip() for part in line.split("|"))
            rows.append(Row(concept, [cell_of(one) for one in (*cells, *[""] * (len(LANGUAGES) - len(cells)))]))
        else:
            table.complaints.append(f"line {number} is no row of {len(LANGUAGES) + 1} cells, note, section or list of bindings")
    return table


def cell_of(text: str) -> Cell:
    parts = [part for part in treadle_languages.split(text) if part]
    return Cell([part for part in parts if part[0] != "-"], [part[1:] for part in parts if part[0] == "-"])


def named_in(table: Table) -> set[str]:
    """The names of the C interface that the table has."""
    return {re.split(r"[( ]", name)[0] for rows in table.sections.values() for row in rows for name in row.cells[0].names}


def with_rule(table: Table, known: dict[str, treadle_languages.Names], exported: set[str]) -> Table:
    """The table with the rows that follow from the names of the functions that it lacks."""
    for function in sorted(exported - named_in(table) - set(table.bindings)):
        if row := row_by_rule(function, known):
            own = function.split("_")[1]
            for rows in table.sections.values():
                if any(name.startswith(f"treadle_{own}_") for one in rows for name in one.cells[0].names):
                    rows.append(row)
                    break
    return table


def row_by_rule(function: str, known: dict[str, treadle_languages.Names]) -> Row | None:
    """The row of a function that reads a part of an object, if C++, Python and Swift have it under the names by the rule."""
    found = re.fullmatch(r"treadle_([a-z]+)_(?:copy|get)_(\w+)", function)
    if not found:
        return None
    cells = []
    for language in LANGUAGES:
        if language not in BY_RULE:
            cells.append(Cell([function], []) if language == "C" else Cell([], ["cf"]))
            continue
        mark, classes = BY_RULE[language]
        own, part = (classes.get(one, one.title().replace("_", "")) for one in found.groups())
        members = [f"{own}{mark}{found[2]}", f"{part}{mark}of_{found[1]}"]
        if language in IN_CAMEL_CASE:
            members = [re.sub(r"_(\w)", lambda letter: letter[1].upper(), one) for one in members]
        names = [one for one in members if one in known[language]][:1]
        if not names and language not in PARTS:
            return None
        cells.append(Cell(names, []))
    return Row(f"{found[2].replace('_', ' ')} of the {found[1]}", cells)


def complaint_about(name: str, known: treadle_languages.Names) -> str:
    """What is wrong with a name, a name with parameters, or one with the default that a parameter, or it itself, has."""
    function, _, inside = name.partition("(")
    function, _, own = function.partition(" = ")
    if function not in known:
        return "does not exist"
    wanted = dict(one.partition(" = ")[::2] for one in treadle_languages.split(inside.removesuffix(")"))) if inside else {}
    if own:
        wanted["="] = own
    if not any(set(wanted) <= set(overload) for overload in known[function]):
        return "has no such parameters"
    for parameter, default in wanted.items():
        if default and default not in [overload.get(parameter) for overload in known[function] if set(wanted) <= set(overload)]:
            return f"has another default than {default}"
    return ""


def default_of(name: str) -> str:
    value = re.split(r"::|(?<!\d)\.", name.rpartition(" = ")[2].rstrip(")"))[-1]
    return SAME.get(value, value.lower())


def complaints_about(table: Table, known: dict[str, treadle_languages.Names], exported: set[str]) -> list[str]:
    found = list(table.complaints)
    used = set()
    named = set(table.bindings) | named_in(table)
    for section, rows in table.sections.items():
        for row in rows:
            for language, cell in zip(LANGUAGES, row.cells):
                where = f"{section}: {row.concept}: {language}"
                found += [f"{where}: {name} {why}" for name in cell.names if (why := complaint_about(name, known[language]))]
                found += [f"{where}: there is no note {note}" for note in cell.notes if note not in table.notes]
                if not cell.names and not cell.notes and language not in PARTS:
                    found.append(f"{where}: there is neither a name nor a note")
                used |= set(cell.notes)
            if section == DEFAULTS:
                values = {default_of(name) for cell in row.cells if not cell.notes for name in cell.names if " = " in name}
                if len(values) > 1:
                    found.append(f"{section}: {row.concept}: the defaults differ without a note: {', '.join(sorted(values))}")
    found += [f"{name} is in no row, and not in a list of functions for bindings" for name in sorted(exported - named)]
    found += [f"{name}, for bindings, is not exported" for name in sorted(set(table.bindings) - exported)]
    found += [f"no cell has the note {note}" for note in table.notes if note not in used]
    return found


def page(table: Table) -> str:
    order: list[str] = []

    def shown(cell: Cell) -> str:
        for note in cell.notes:
            if note not in order:
                order.append(note)
        marks = " ".join(f"[({order.index(note) + 1})](#note-{order.index(note) + 1})" for note in cell.notes)
        names = ", ".join(f"`{name}`" for name in cell.names)
        return f"{names or ('–' if marks else '')} {marks}".strip()

    text = INTRODUCTION
    for section, rows in table.sections.items():
        text += f"\n## {section}\n\n| | {' | '.join(LANGUAGES)} |\n| --- |{' --- |' * len(LANGUAGES)}\n"
        text += "".join(f"| {' | '.join((row.concept, *map(shown, row.cells)))} |\n" for row in rows).replace("|  ", "| ")
    text += "\n## Functions for bindings\n\nThe libraries of the languages call these, programs do not.\n\n| | why |\n| --- | --- |\n"
    for reason in dict.fromkeys(table.bindings.values()):
        text += f"| {', '.join(f'`{name}`' for name, why in table.bindings.items() if why == reason)} | {reason} |\n"
    return text + "\n## Notes\n\n" + "".join(f'{number}. <a id="note-{number}"></a>{table.notes[note]}\n' for number, note in enumerate(order, 1))


def self_test(text: str, known: dict[str, treadle_languages.Names], exported: set[str]) -> list[str]:
    """What the checks do not find of faults that are put into the table, one at a time."""
    lines = text.splitlines()

    def without(start: str) -> str:
        return "\n".join(line for line in lines if not line.startswith(start))

    def with_cell(language: str, cell: str) -> str:
        """The row of treadle_timer_create with another cell."""
        number = next(number for number, line in enumerate(lines) if "| treadle_timer_create |" in line)
        cells = lines[number].split("|")
        cells[LANGUAGES.index(language) + 1] = f" {cell} "
        return "\n".join([*lines[:number], "|".join(cells), *lines[number + 1 :]])

    faults = {
        "Python: Tmier does not exist": with_cell("Python", "Tmier"),
        "Python: Timer(label, fire_now) has no such parameters": with_cell("Python", "Timer(label, fire_now)"),
        "Python: Timer(label = 'x') has another default than 'x'": with_cell("Python", "Timer(label = 'x')"),
        "C++: Timer::fries does not exist": with_cell("C++", "Timer::fries"),
        "C++: Timer(delay) has no such parameters": with_cell("C++", "Timer(delay)"),
        "Swift: RunLoopTimer.fries does not exist": with_cell("Swift", "RunLoopTimer.fries"),
        "Node.js: Timer.fry does not exist": with_cell("Node.js", "Timer.fry"),
        "Node.js: Timer(until) has no such parameters": with_cell("Node.js", "Timer(until)"),
        "LuaJIT: Timer:fry does not exist": with_cell("LuaJIT", "Timer:fry"),
        "LuaJIT: treadle.timer(until) has no such parameters": with_cell("LuaJIT", "treadle.timer(until)"),
        "CoreFoundation: CFRunLoopTimerFry does not exist": with_cell("CoreFoundation", "CFRunLoopTimerFry"),
        "C++: there is neither a name nor a note": with_cell("C++", ""),
        "C++: there is no note nothing": with_cell("C++", "-nothing"),
        "treadle_timer_create is in no row": with_cell("C", "treadle_timer_start"),
        "treadle_host_register is in no row": without("bindings treadle_host_register"),
        "treadle_gone, for bindings, is not exported": f"{text}bindings treadle_gone: it is gone",
        "no cell has the note idle": f"{text}note idle: nobody needs it",
        "the defaults differ without a note": f"{text}== {DEFAULTS}\nan order | -cf | Source(order = 0) | Port(capacity = 1024) | -cf | -cf",
        f"line {len(lines) + 1} is no row": f"{text}a row | with | three cells",
    }
    found = []
    for expected, changed in faults.items():
        if not any(expected in one for one in complaints_about(with_rule(read(changed), known, exported), known, exported)):
            found.append(f"the checks do not find: {expected}")
    # Without its row this function has the names by the rule; in a Swift that lacks one, it has none.
    ruled = "treadle_thread_get_stack_size"
    table = with_rule(read(without_row(text, ruled)), known, exported)
    row = next((row for rows in table.sections.values() for row in rows if row.cells[0].names == [ruled]), None)
    if not row or [cell.names for cell in row.cells[1:4]] != [["Thread::stack_size"], ["Thread.stack_size"], ["RunLoopThread.stackSize"]]:
        found.append(f"{ruled} has no row by the rule")
    if row_by_rule(ruled, {**known, "Swift": {}}):
        found.append(f"{ruled} has a row by the rule, though Swift has no such name")
    return found


def without_row(text: str, function: str) -> str:
    """The table without the row of one function, which may be the only one that has some note."""
    return "\n".join(line for line in text.splitlines() if f"| {function}" not in line)


def texts() -> dict[Path, str]:
    """The page with its text."""
    return {PAGE: page(with_rule(read(TABLE.read_text(encoding="utf-8")), known_names(), treadle_languages.exported()))}


def known_names() -> dict[str, treadle_languages.Names]:
    """The names of each language."""
    return {language: reader() for language, reader in treadle_languages.READERS.items()}


def complaints() -> list[str]:
    """What is wrong in the table; if nothing is, the faults that its checks do not find."""
    known, exported = known_names(), treadle_languages.exported()
    text = TABLE.read_text(encoding="utf-8")
    return complaints_about(with_rule(read(text), known, exported), known, exported) or self_test(text, known, exported)
