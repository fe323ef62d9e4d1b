# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The table of functions that plugins are given: include/treadle/plugin_table.h and Sources/CTreadlePlugins/table.c.
From 1.0 on the order of the table is for ever: what the header has already stays where it is, what is new comes at the end. Before
1.0 a function may go, by hand, from the header."""

import re
import sys
from pathlib import Path

import treadle_headers

HEADER = treadle_headers.INCLUDE / "treadle/plugin_table.h"
SOURCE = treadle_headers.ROOT / "Sources/CTreadlePlugins/table.c"
# What they make belongs to the plugin, wherever they are called.
MAKERS = set(
    """closure_create descriptor_create descriptor_start host_pool_add host_post host_register invocation_create
    invocation_perform loop_post loop_post_in message_port_create_local message_port_create_remote message_port_set_invalidated
    notification_add observer_create observer_start perform pool_add port_create routine_create scope_create source_create
    source_start thread_create thread_set_value timer_create timer_start""".split()
)
# What is the host's: the handlers of the whole process and its end, forks, plugins.
WITHHELD = re.compile(r"treadle_(?:set_last_resort|set_log|trace_start|trace_stop|shutdown|after_fork_child|plugin_\w+)$")
# What a function returns that is not there, by its type; a pointer or a handle is NULL.
LACKS = {"treadle_status": "treadle_plugin_lacks()", "bool": "false", "void": "", "int64_t": "0", "uint32_t": "0", "double": "0", "const char *": '""'}
LEGAL = "/* SPDX-License-Identifier: Apache-2.0\n * Copyright the Treadle authors\n *\n"


class Function:
    """A function, and its member of the table."""

    def __init__(self, prototype: str) -> None:
        match = re.fullmatch(r"(.*?)\btreadle_(\w+)\((.*)\)", prototype)
        assert match, prototype
        self.result, self.name = match[1].strip(), match[2]
        self.parameters = [] if match[3] == "void" else split(match[3])
        self.arguments = [name_of(one) for one in self.parameters]
        self.is_maker = self.name in MAKERS

    def member(self) -> str:
        parameters = (["const treadle_plugin_host *plugin"] if self.is_maker else []) + self.parameters
        return f"    {space(self.result)}(*{self.name})({', '.join(parameters) or 'void'});\n"

    def forward(self) -> str:
        """What a plugin calls. Before its init there is no host; and that may be older than this header: then its table ends before."""
        arguments = (["treadle_plugin_self"] if self.is_maker else []) + self.arguments
        result = "" if self.result == "void" else "return "
        older = LACKS.get(self.result, "NULL")
        look = f"if (!TREADLE_HAS({self.name})) {f'return {older}'.rstrip()};"
        call = f"{result}treadle_plugin_self->table->{self.name}({', '.join(arguments)});"
        return f"TREADLE_FORWARD {space(self.result)}treadle_{self.name}({', '.join(self.parameters) or 'void'}) {{ {look} {call} }}\n"

    def inside(self) -> str:
        return (
            f"static treadle_status in_{self.name}(const treadle_plugin_host *plugin, {', '.join(self.parameters)}) {{\n"
            f"    void *entry;\n"
            f"    treadle_status status = libtreadle_plugin_enter(plugin, &entry);\n"
            f"    if (status == TREADLE_OK) status = treadle_{self.name}({', '.join(self.arguments)});\n"
            f"    libtreadle_plugin_leave(entry);\n"
            f"    return status;\n}}\n"
        )

    def is_wrapped(self) -> bool:
        return self.is_maker or self.name == "close"


def name_of(parameter: str) -> str:
    match = re.search(r"\(\*+(\w+)\)\(", parameter) or re.search(r"(\w+)(?:\[\d*\])?$", parameter)
    return match[1] if match else ""


def split(parameters: str) -> list[str]:
    parts, depth = [""], 0
    for character in parameters:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def space(result: str) -> str:
    return result if result.endswith("*") else result + " "


def functions() -> list[Function]:
    found = {}
    declarations = treadle_headers.declarations()
    # What names a scope in its context is made by a maker.
    scoped = {one.name for one in declarations if one.kind == "struct" and re.search(r"\btreadle_scope scope;", one.text)}
    for declaration in declarations:
        if declaration.kind == "function" and not WITHHELD.match(declaration.name):
            function = Function(declaration.text)
            if not function.is_maker and any(set(re.findall(r"\w+", one)) & scoped for one in function.parameters):
                sys.exit(f"{function.name} makes something that a scope takes, and is not among MAKERS")
            found[function.name] = function
    text = HEADER.read_text(encoding="utf-8") if HEADER.exists() else ""
    known = re.findall(r"^    [^(]*\(\*(\w+)\)\(", text, re.M)
    missing = [name for name in known if name not in found]
    if missing:
        sys.exit(f"the table has functions that the headers have not: {missing}")
    return [found[name] for name in known] + [function for name, function in found.items() if name not in known]


def header(table: list[Function]) -> str:
    return (
        LEGAL + " * plugin_table.h: the functions that a plugin is given, and, where TREADLE_PLUGIN is defined, what calls them. Made by\n"
        " * make generate from the other headers. */\n"
        "#ifndef TREADLE_PLUGIN_TABLE_H\n#define TREADLE_PLUGIN_TABLE_H\n\n"
        '#include "../treadle.h"\n\nTREADLE_BEGIN_DECLS\n\n'
        "struct treadle_plugin_table {\n    size_t struct_size; /* what the host has: what comes behind it is not there */\n"
        + "".join(one.member() for one in table)
        + "};\n\n#ifdef TREADLE_PLUGIN\n"
        "/* Whether the host has a function: before init there is none, and an older one has less than this header. */\n"
        "static inline bool treadle_plugin_has(size_t offset) { return treadle_plugin_self && offset < treadle_plugin_self->table->struct_size; }\n"
        "static inline treadle_status treadle_plugin_lacks(void) { return treadle_plugin_self ? TREADLE_E_NOT_SUPPORTED : TREADLE_E_STATE; }\n"
        "#define TREADLE_HAS(member) treadle_plugin_has(offsetof(treadle_plugin_table, member))\n"
        "#define TREADLE_FORWARD TREADLE_API\n"
        + "".join(one.forward() for one in table)
        + "#undef TREADLE_HAS\n#undef TREADLE_FORWARD\n#endif\n\nTREADLE_END_DECLS\n#endif\n"
    )


def source(table: list[Function]) -> str:
    text = (treadle_headers.ROOT / "Sources/CTreadleNames/list.h").read_text(encoding="utf-8")
    listed = {name: index for index, name in re.findall(r"NAME\((\d+), (\w+),", text)}
    return (
        LEGAL + " * table.c: the table of functions that plugins are given. Made by make generate. */\n"
        '#include "CTreadlePlugins.h"\n\n#define TREADLE_OWN_NAMES\n#include "own_names.h"\n#include "CTreadleNames.h"\n\n'
        "#include <pthread.h>\n#include <treadle.h>\n#include <treadle/plugin_table.h>\n\n"
        "/* Swift's (PluginHost): what is made in between belongs to the plugin. */\n"
        "treadle_status libtreadle_plugin_enter(const treadle_plugin_host *plugin, void **out_entry);\n"
        "void libtreadle_plugin_leave(void *entry);\n"
        "void libtreadle_plugin_asks_for_end(treadle_object object);\n\n"
        + "\n".join(one.inside() for one in table if one.is_maker)
        + "\nstatic treadle_status in_close(treadle_object object, int64_t timeout_ns) {\n"
        "    libtreadle_plugin_asks_for_end(object);\n    return treadle_close(object, timeout_ns);\n}\n\n"
        "/* The places in the table of those that are given as they are, and in CTreadleNames' list. */\n"
        "static const uint8_t plain[][2] = {\n"
        + "".join(f"    {{{place}, {listed[one.name]}}}, /* {one.name} */\n" for place, one in enumerate(table, 1) if not one.is_wrapped())
        + "};\n\nstatic treadle_plugin_table table;\nstatic void fill(void) {\n"
        "    void **members = (void **)&table;\n"
        "    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) members[plain[i][0]] = libtreadle_own_function(plain[i][1]);\n"
        + "".join(f"    table.{one.name} = in_{one.name};\n" for one in table if one.is_wrapped())
        + "    table.struct_size = sizeof table;\n}\n"
        "const void *libtreadle_plugin_table(void) {\n    static pthread_once_t once = PTHREAD_ONCE_INIT;\n"
        "    return pthread_once(&once, fill) == 0 ? &table : NULL;\n}\n"
    )


def texts() -> dict[Path, str]:
    """Each file with its text."""
    table = functions()
    return {HEADER: header(table), SOURCE: source(table)}
