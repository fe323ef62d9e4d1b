# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The reference of the Python package, as pages for Doxygen: what its modules export, with the texts of its sources.
Nothing is imported: the sources are read, so that no library need be built."""

import ast
import inspect
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "bindings/python/treadle"
MODULES = {
    "treadle": PACKAGE / "__init__.py",
    "treadle.aio": PACKAGE / "aio/__init__.py",
    "treadle.notifications": PACKAGE / "notifications.py",
}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
# What Doxygen or Markdown would take for its own.
SPECIAL = re.compile(r"[\\@<>#%&*_~\[\]|$]")
ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
# Methods that users do not call by their names.
CALLED = {f"__{name}__" for name in "init enter exit await call iter aiter aenter aexit".split()}


def anchor(*names: str) -> str:
    return "-".join(["python", *names]).replace(".", "-").lower()


def title(name: str) -> str:
    """What something public is called; what users look for comes first, since the search compares beginnings."""
    module = PUBLIC[name].partition(".")[2]
    return f"{name} (Python{f', {module}' if module else ''})".replace("_", "\\_")


def assigned(node: ast.stmt) -> str:
    """The name that a statement gives a value or a type."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return node.target.id if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else ""


@dataclass
class Definition:
    """A class, a value, or the variants of a function; where it is, to read the comment "#:" before it."""

    nodes: "list[ast.stmt]"
    lines: "list[str]"

    @property
    def text(self) -> str:
        """What its docstring says, or the comment before it."""
        for node in self.nodes:
            if isinstance(node, (ast.ClassDef, *FUNCTION)) and (text := ast.get_docstring(node)):
                return text
        words, above = [], self.nodes[0].lineno - 2
        while above >= 0 and (said := re.match(r"\s*#: ?(.*)", self.lines[above])):
            words.insert(0, said[1])
            above -= 1
        return "\n".join(words)


def definitions(body: "list[ast.stmt]", lines: "list[str]") -> "dict[str, Definition]":
    found: "dict[str, Definition]" = {}
    for node in body:
        name = node.name if isinstance(node, (ast.ClassDef, *FUNCTION)) else assigned(node)
        is_setter = isinstance(node, FUNCTION) and any(".setter" in ast.unparse(each) for each in node.decorator_list)
        if isinstance(node, FUNCTION) and name in found and not is_setter:
            found[name].nodes.append(node)
        elif name:
            found.setdefault(name, Definition([node], lines))
    return found


def read_package() -> "dict[str, Definition]":
    """All classes, functions and values of the package by their names. None is used twice for something public."""
    found: "dict[str, Definition]" = {}
    for path in sorted(set(PACKAGE.rglob("*.py")) - {PACKAGE / "_capi.py"}):
        text = path.read_text(encoding="utf-8")
        for name, definition in definitions(ast.parse(text).body, text.splitlines()).items():
            found.setdefault(name, definition)
    return found


ALL = read_package()


def exported(path: Path) -> "list[str]":
    """What a module exports, but for modules."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if assigned(node) == "__all__":
            return [name for name in ast.literal_eval(node.value) if name in ALL]
    return []


EXPORTED = {module: exported(path) for module, path in MODULES.items()}
PUBLIC = {name: module for module in reversed(MODULES) for name in EXPORTED[module]}


def is_class(name: str) -> bool:
    return isinstance(ALL[name].nodes[0], ast.ClassDef)


def is_function(name: str) -> bool:
    return isinstance(ALL[name].nodes[0], FUNCTION)


def place(name: str) -> str:
    """The anchor of something public: a function may differ from a class in its first letter alone."""
    return anchor(name) if is_class(name) else anchor(PUBLIC[name], name)


def members(name: str) -> "dict[str, Definition]":
    """The public members of a class, with those of bases that are not public themselves."""
    definition = ALL[name]
    (node,) = definition.nodes
    found = {
        key: member
        for key, member in definitions(node.body, definition.lines).items()
        if (not key.startswith("_") or key in CALLED) and (member.text or not isinstance(member.nodes[0], FUNCTION))
    }
    for base in bases(name):
        if base in ALL and base not in PUBLIC:
            found = {**members(base), **found}
    return found


def bases(name: str) -> "list[str]":
    return [ast.unparse(base).partition("[")[0] for base in ALL[name].nodes[0].bases]


def block(code: str) -> str:
    return f"```{{.py}}\n{code}\n```"


LINKED = re.compile(r"\b([A-Z]\w+)(?:\.([a-z]\w*))?\b")


def prose(text: str) -> str:
    """A docstring as Markdown: what is set in is a program; names of the package lead to their places."""

    def link(found: "re.Match[str]") -> str:
        name, member = found[1], found[2]
        if name not in PUBLIC or not is_class(name) or not (member or re.search(r"[a-z][A-Z]", name)):
            return quoted(found[0])
        goal = anchor(name, member) if member and member in members(name) else anchor(name)
        return f"[{found[0]}](@ref {goal})"

    def quoted(words: str) -> str:
        return SPECIAL.sub(lambda each: ENTITIES.get(each[0], f"\\{each[0]}"), words)

    def words(line: str) -> str:
        parts, end = [], 0
        for found in LINKED.finditer(line):
            parts += [quoted(line[end : found.start()]), link(found)]
            end = found.end()
        return "".join([*parts, quoted(line[end:])])

    def paragraph(text: str) -> str:
        return "".join(part if part.startswith("`") else words(part) for part in re.split(r"(`[^`]*`)", text))

    blocks: "list[str]" = []
    for part in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if not part.startswith("    "):
            blocks.append(paragraph(part))
        elif blocks and blocks[-1].startswith("    "):
            blocks[-1] += f"\n\n{part}"
        else:
            blocks.append(part)
    return "\n\n".join(block(inspect.cleandoc(each)) if each.startswith("    ") else each for each in blocks)


def item(text: str) -> str:
    """A text on one line, for a list."""
    return " ".join(prose(text).split())


def signature(node: "ast.FunctionDef | ast.AsyncFunctionDef", name: str) -> str:
    """How a function is called, a line for each argument if they are many."""
    decorators = {ast.unparse(each) for each in node.decorator_list}
    if "property" in decorators:
        return f"{name}: {ast.unparse(node.returns)}" if node.returns else name
    arguments = ast.unparse(node.args)
    if arguments.startswith(("self", "cls")) and "staticmethod" not in decorators:
        arguments = arguments.partition(",")[2].strip()
    result = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    line = f"{'async ' if isinstance(node, ast.AsyncFunctionDef) else ''}{name}({arguments}){result}"
    if len(line) <= 100:
        return line
    call = ast.parse(f"def f({arguments}): pass").body[0].args
    whole = ast.unparse(call)
    pieces, depth, start = [], 0, 0
    for place, letter in enumerate(whole):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            pieces.append(whole[start:place].strip())
            start = place + 1
    pieces.append(whole[start:].strip())
    return line.partition("(")[0] + "(\n    " + ",\n    ".join(pieces) + f",\n){result}"


def declaration(name: str, definition: Definition) -> str:
    node = definition.nodes[0]
    if isinstance(node, FUNCTION):
        overloads = [each for each in definition.nodes if "overload" in map(ast.unparse, each.decorator_list)]
        return "\n".join(signature(each, name) for each in overloads or definition.nodes[:1])
    if isinstance(node, ast.AnnAssign):
        return f"{name}: {ast.unparse(node.annotation)}"
    return name


def class_page(name: str) -> str:
    """A class, and a part for each member."""
    definition, found = ALL[name], members(name)
    made = found.pop("__init__", None)
    parts = [f"# {title(name)} {{#{anchor(name)}}}", block(signature(made.nodes[0], name)) if made else ""]
    parts += [prose(definition.text), prose(made.text) if made else ""]
    public = [f"[{base}](@ref {anchor(base)})" for base in bases(name) if base in PUBLIC]
    if public:
        parts.append(f"It also has the members of {', '.join(public)}.")
    values = {key: member for key, member in found.items() if not isinstance(member.nodes[0], FUNCTION)}
    lines = {f"- `{declaration(key, member)}`": item(member.text) for key, member in values.items()}
    parts.append("\n".join(f"{line}: {text}" if text else line for line, text in lines.items()))
    for key, member in found.items():
        if key not in values:
            shown = f"{name}.{key}".replace("_", "\\_")
            parts += [f"## {shown} {{#{anchor(name, key)}}}", block(declaration(key, member)), prose(member.text)]
    return "\n\n".join(part for part in parts if part) + "\n"


def place_of(module: str) -> str:
    return anchor() if module == "treadle" else anchor(module)


def page(name: str) -> str:
    """A function, or a value."""
    return f"# {title(name)} {{#{place(name)}}}\n\n{block(declaration(name, ALL[name]))}\n\n{prose(ALL[name].text)}\n"


def module_page(module: str) -> str:
    """A module: its text, and what it exports."""
    text = ast.get_docstring(ast.parse(MODULES[module].read_text(encoding="utf-8"))) or ""
    names = [name for name in EXPORTED[module] if PUBLIC[name] == module]
    names.sort(key=lambda name: (not is_class(name), name.lower()))
    parts = [f"# {'Python' if module == 'treadle' else module} {{#{place_of(module)}}}", prose(text)]
    if module == "treadle":
        others = [f"[{other}](@ref {place_of(other)})" for other in MODULES if other != module]
        parts.append(f"Modules: {', '.join(others)}.")
    first = {name: item(ALL[name].text.partition("\n\n")[0]) for name in names}
    shown = {name: f"{name}()" if is_function(name) else name for name in names}
    parts.append("\n".join(f"- [{shown[name]}](@ref {place(name)}): {first[name]}" for name in names))
    return "\n\n".join(part for part in parts if part) + "\n"


def pages() -> "dict[str, str]":
    """The pages by the names of their files."""
    found = {f"{place_of(module)}.md": module_page(module) for module in MODULES}
    return {**found, **{f"{place(name)}.md": class_page(name) if is_class(name) else page(name) for name in PUBLIC}}


def undocumented() -> "list[str]":
    """What the package exports without a text."""
    return [f"{module}.{name}" for name, module in PUBLIC.items() if not ALL[name].text]
