# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The public names of each language, read from the sources: with their parameters and those parameters' defaults.

Each reader returns {name: [parameters of one overload, ...]}; parameters are {name: default}, None where there is no default. A
variable, or a member that is not a function, has one overload: its own value under the name "="."""

import ast
import re

import treadle_cpp_headers
import treadle_headers
from treadle_headers import ROOT

Names = dict[str, list[dict[str, str | None]]]
CF_HEADERS = ROOT / "include/compat"
PYTHON = ROOT / "bindings/python/treadle"
SWIFT_RECORD = ROOT / "Tests/abi/treadle.swift.txt"
NODE_TYPES = ROOT / "bindings/node/index.d.ts"
LUA = ROOT / "bindings/lua/treadle"
LUA_ITEMS = ("Source", "Timer", "Observer", "Descriptor", "Port")
C_RECORD = ROOT / "Tests/abi/symbols.tsv"


def exported() -> set[str]:
    """The functions of the C interface that other languages bind."""
    lines = [line.split("\t") for line in C_RECORD.read_text(encoding="utf-8").splitlines()]
    return {line[1] for line in lines if line[0] == "function"}


def c() -> Names:
    """Exported and inline functions, types, members of structs as `struct.member`, constants with their values."""
    found: Names = {name: [{}] for name in exported()}
    for line in C_RECORD.read_text(encoding="utf-8").splitlines():
        kind, name, _, *value = line.split("\t")
        if kind == "constant":
            found[name] = [{"=": value[0]}]
    typed = {}
    for path in treadle_headers.headers():
        text = path.read_text(encoding="utf-8")
        typed |= dict.fromkeys(re.findall(r"^(TREADLE_TYPED_\w+\(\w+\))$", text, flags=re.M))
        for name in re.findall(r"^static inline [^;{(]*\b(treadle_\w+)\(", text, flags=re.M):
            found.setdefault(name, [{}])
    for macro, kind in (re.fullmatch(r"(\w+)\((\w+)\)", one).groups() for one in typed):
        for name in inline_of(macro):
            found.setdefault(name.replace("##kind##", kind).replace("##kind", kind), [{}])
    for one in treadle_headers.declarations():
        if one.kind != "function":
            found.setdefault(one.name, [{}])
        if one.kind == "struct":
            found |= {f"{one.name}.{member}": [{}] for member in one.members}
    return found


def inline_of(macro: str) -> list[str]:
    """The functions that TREADLE_TYPED_REFERENCES or TREADLE_TYPED_ITEM defines, with ##kind in their names."""
    text = (treadle_headers.INCLUDE / "treadle/object.h").read_text(encoding="utf-8")
    body = re.search(rf"#define {macro}\(kind\)(?:.*\\\n)*.*", text)[0]
    nested = [name for name in re.findall(r"\bTREADLE_TYPED_\w+(?=\(kind\) )", body) if name != macro]
    own = re.findall(r"static inline \w+ (treadle_[\w#]+)\(", body)
    return own + [name for one in nested for name in inline_of(one)]


def cpp() -> Names:
    """Classes with their constructors, `Class::member`, functions and enumerators, without the namespace. What a class inherits
    is its own as well."""
    found: Names = {}
    bases: dict[str, list[str]] = {}
    for path in treadle_cpp_headers.HEADERS:
        for one in treadle_cpp_headers.public_declarations(path, with_values=True):
            text = re.sub(r"\[\[\w+\]\] ", "", one.text)
            if re.match(r"(?:inline )?namespace|static_assert|friend |using namespace", text) or text.endswith("= delete"):
                continue
            if re.search(r"\b(?:Thread|Loop)::\w+\(", text):
                continue  # the body of what its class declares
            name, parameters = cpp_declaration(text)
            full = "::".join(one.within if one.within[-1:] == (name,) else (*one.within, name))
            found.setdefault(full, []).append(parameters)
            if inherits := re.match(r"(?:class|struct) \w+ : public (\w+)", text):
                bases.setdefault(full, []).append(inherits[1])
    for name in list(bases):
        for base in ancestors(name, bases):
            for member in [one for one in found if one.startswith(f"{base}::")]:
                found.setdefault(f"{name}::{member[len(base) + 2 :]}", found[member])
    return found


def ancestors(name: str, bases: dict[str, list[str]]) -> list[str]:
    return [one for base in bases.get(name, []) for one in (base, *ancestors(base, bases))]


def cpp_declaration(text: str) -> tuple[str, dict[str, str | None]]:
    """The name of a declaration, and its parameters."""
    if kind := re.match(r"(?:enum class|enum|class|struct) (?:TREADLE_TYPE )?(\w+)", text):
        return kind[1], {}
    if kind := re.match(r"using (\w+)|std::function<.*> (\w+)(?:$| =)", text):
        return kind[1] or kind[2], {}
    if function := re.search(r"((?:operator\s*\S+?|~?\w+))\(", text.replace("(*", "")):
        if not re.match(r"[^(]*=", text):
            inside = parenthesized(text[function.end() :])
            return function[1], dict(parameter(one) for one in split(inside) if one)
    name, _, value = text.partition("=")
    return re.search(r"(\w+)(?:\[\w*\])?(?:\{.*)?\s*$", name)[1], {"=": value.strip() or None}


def parenthesized(text: str) -> str:
    """What comes before the parenthesis that closes the one before the text."""
    depth = 1
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if not depth:
            return text[:position]
    return text


def split(text: str) -> list[str]:
    """Parts between the commas that are in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "(<[{") - (character in ")>]}")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def parameter(text: str) -> tuple[str, str | None]:
    name, _, value = text.partition("=")
    found = re.search(r"(\w+)\s*$", name)
    return found[1] if found else name, "{}" if value.strip() == "00" else value.strip() or None


def python() -> Names:
    """What `treadle`, `treadle.notifications` and `treadle.aio` give, and `Class.member`, inherited ones too."""
    found: Names = {}
    for prefix, folder, module in (("", PYTHON, "__init__"), ("notifications.", PYTHON, "notifications"), ("aio.", PYTHON / "aio", "__init__")):
        trees = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in folder.glob("*.py")}
        public = next(ast.literal_eval(one.value) for one in trees[module].body if is_assignment(one, "__all__"))
        definitions = {name: one for tree in trees.values() for one in tree.body for name in defined_by(one)}
        for name in (*public, "__version__"):
            if name in definitions:
                found.setdefault(prefix + name, []).extend(signatures(definitions[name]))
                if isinstance(definitions[name], ast.ClassDef):
                    members_of(definitions[name], prefix + name, definitions, found)
    return {name: overloads for name, overloads in found.items() if not re.search(r"(?:^|\.)_(?!_version__)", name)}


def is_assignment(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.Assign) and name in defined_by(statement)


def defined_by(statement: ast.stmt) -> list[str]:
    if isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target] if isinstance(statement, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def members_of(kind: ast.ClassDef, name: str, definitions: dict[str, ast.stmt], found: Names) -> None:
    for one in kind.body:
        for member in defined_by(one):
            if member == "__init__":
                found[name].extend(signatures(one))
            found.setdefault(f"{name}.{member}", []).extend(signatures(one))
    for base in kind.bases:
        base = base.value if isinstance(base, ast.Subscript) else base
        if isinstance(base, ast.Name) and isinstance(definitions.get(base.id), ast.ClassDef):
            members_of(definitions[base.id], name, definitions, found)


def signatures(statement: ast.stmt) -> list[dict[str, str | None]]:
    if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        value = getattr(statement, "value", None)
        return [{"=": ast.unparse(value)}] if isinstance(value, ast.expr) else [{}]
    arguments = statement.args
    named = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(named) - len(arguments.defaults)), *arguments.defaults, *arguments.kw_defaults]
    every = zip([*named, *arguments.kwonlyargs], defaults)
    return [{one.arg: ast.unparse(value) if value else None for one, value in every}]


def swift() -> Names:
    """The recorded names without their labels; an initializer is the type's own name, as it is written in a call."""
    found: Names = {}
    for line in SWIFT_RECORD.read_text(encoding="utf-8").splitlines():
        full, _, declaration = line.partition(": ")
        if re.search(r"[^\w.()_:]", full):  # an operator
            continue
        name, _, labels = full.partition("(")
        function = re.search(r"\b(?:func \S+?|init|subscript|case \w+)(?:<.*?>)?\((.*)", declaration)
        parameters = {}
        if labels and function:
            for label, one in zip(labels.rstrip(")").split(":"), split(parenthesized(function[1]))):
                before, _, value = one.partition(" = ")
                parameters[label if label != "_" else before.split(":")[0].split()[-1]] = value or None
        found.setdefault(re.sub(r"\.init$", "", name), []).append(parameters)
    return found


def cf() -> Names:
    """What the headers of CoreFoundation's names declare, and the mach_ names beside them."""
    texts = (re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S) for path in sorted(CF_HEADERS.rglob("*.h")))
    return {name: [{}] for text in texts for name in re.findall(r"\b(?:k?CF[A-Z]\w*|mach_\w+|MACH_\w+)\b", text)}


def node() -> Names:
    """What the declarations of the package say: functions, constants, classes with what their constructors take, `Class.member` with
    inherited ones. The members of an object of options are parameters."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", NODE_TYPES.read_text(encoding="utf-8"), flags=re.S)
    found: Names = {}
    for kind, name, base, body in re.findall(r"^export (?:abstract )?(class) (\w+)(?: extends (\w+))? \{\n(.*?)^\}", text, flags=re.M | re.S):
        found[name] = []
        for member in re.finditer(r"^  (?:static |readonly |private )*(\w+)(?:<[^(]*>)?(\(?)", body, flags=re.M):
            parameters = typescript_parameters(parenthesized(body[member.end() :])) if member[2] else {}
            found.setdefault(name if member[1] == "constructor" else f"{name}.{member[1]}", []).append(parameters)
        found |= {f"{name}.{member.split('.')[1]}": found[member] for member in list(found) if base and member.startswith(f"{base}.")}
        found[name] = found[name] or [{}]
    for name, members in re.findall(r"^export const (\w+): (?:Readonly<\{(.*?)\}>|\w+);", text, flags=re.M | re.S):
        found[name] = [{}]
        found |= {f"{name}.{member}": [{}] for member in re.findall(r"(\w+):", members)}
    for function in re.finditer(r"^export function (\w+)\(", text, flags=re.M):
        found.setdefault(function[1], []).append(typescript_parameters(parenthesized(text[function.end() :])))
    return found


def typescript_parameters(text: str) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for one in filter(None, split(text.replace("=>", ""))):
        name, _, kind = one.removeprefix("...").partition(":")
        found[name.strip(" ?")] = None
        if kind.strip().startswith("{"):
            found |= dict.fromkeys(re.findall(r"(\w+)\??:", re.sub(r"\([^()]*\)", "", kind)))
    return found


def lua() -> Names:
    """The functions of the module as `treadle.name`, with their parameters and options, and the methods as `Class:method`; those of all
    items are those of each class."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(LUA.glob("*.lua")))
    module = (LUA / "init.lua").read_text(encoding="utf-8")
    found: Names = {}
    tables = re.findall(r"\b(\w+) = \{((?:\w+ = \"\w+\"(?:, )?)+)\}", text)
    options = {name.lower(): dict.fromkeys(re.findall(r"(\w+) =", members)) for name, members in tables}
    table = re.search(r"^local treadle = \{\n(.*?)^\}", module, flags=re.M | re.S)[1]
    for name, place in re.findall(r"(\w+) = ([\w.]+)", table):
        function = re.search(rf"^function {re.escape(place)}\((.*?)\)", text, flags=re.M)
        given = dict.fromkeys(filter(None, function[1].split(", "))) if function else {}
        found[f"treadle.{name}"] = [given | options.get(name, {})]
    for name, parameters in re.findall(r"^function treadle\.(\w+)\((.*?)\)", module, flags=re.M):
        found[f"treadle.{name}"] = [dict.fromkeys(filter(None, parameters.split(", ")))]
    for kind, name, parameters in re.findall(r"^function (\w+):(\w+)\((.*?)\)", text, flags=re.M):
        known = options.get({"send": "sending"}.get(name, name), {}) if "options" in parameters else {}
        for one in LUA_ITEMS if kind == "Item" else [kind]:
            found[f"{one}:{name}"] = [dict.fromkeys(filter(None, parameters.split(", "))) | known]
    return found


READERS = {"C": c, "C++": cpp, "Python": python, "Swift": swift, "CoreFoundation": cf, "Node.js": node, "LuaJIT": lua}
