#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Writes the cases of refusals_test.c: each parameter of each function, and each member of each struct that a function reads, with each
bad value that it can have, the others being good.

A new parameter or member without a bad value must be listed under FINE, else this ends with an error."""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import treadle_headers  # noqa: E402
from treadle_calls import FILLED, HANDLES, STRUCTS, good, name_of, split, struct_of, type_of  # noqa: E402

NOT_UTF8 = r'"a\xff"'
# The kinds of objects that a verb is for; any other is for items.
ITEMS = ["SOURCE", "DESCRIPTOR", "TIMER", "OBSERVER", "PORT", "MESSAGE_PORT"]
COUNTED = [*ITEMS, "LOOP", "ROUTINE", "LOCK", "CONDITION", "THREAD", "INVOCATION", "CLOSURE", "SCOPE", "PLUGIN", "MESSAGE"]
VERBS = {
    "treadle_retain": COUNTED,
    "treadle_release": COUNTED,
    "treadle_get_kind": COUNTED,
    "treadle_invalidate": [*ITEMS, "CLOSURE"],
    "treadle_close": [*ITEMS, "CLOSURE", "SCOPE", "PLUGIN"],
    "treadle_is_valid": [*ITEMS, "CLOSURE", "SCOPE", "PLUGIN"],
    "treadle_get_pthread": ["THREAD", "LOCK", "CONDITION"],
    "treadle_describe": [*ITEMS, "LOOP", "THREAD"],
    "treadle_perform": ["LOOP", "THREAD"],
}
BAD_HANDLE = "(void *)0x1001"
UNKNOWN = "0x80000000u"

# Its bad values, besides those that its type has.
BAD = {
    "const char *mode": ["NULL", NOT_UTF8],
    "const char *key": ["NULL"],
    "const char *name": ["NULL", NOT_UTF8],
    "const char *label": ["NULL"],
    "const char *signature": ["NULL", '"?"'],
    "const char *encoding": ["NULL", '"?"'],
    "const char *id": ["NULL", '"example.other/1"'],
    "const char *value": ["NULL"],
    "const char *path": ["NULL"],
    "const treadle_call *call": ["NULL"],
    "treadle_call *call": ["NULL"],
    "int64_t interval_ns": ["-1"],
    "double seconds": ["NAN"],
    "double date": ["NAN"],
    "double priority": ["NAN"],
    "int32_t fd": ["99999"],
    "int32_t serving_fd": ["-1", "99999"],
    "int32_t asking_fd": ["-1", "99999"],
    "uint32_t flags": [UNKNOWN],
    "uint32_t events": [UNKNOWN],
    "uint32_t policy": ["77"],
    "int32_t index": ["-2", "99"],
    "size_t index": ["99"],
    "int32_t thread_id": ["-1"],
    "uint32_t *word": ["NULL", "(void *)1"],
    "uint64_t call": ["1"],
    "size_t holder_size": ["1"],
    "void (*use)(void *value, void *info)": ["NULL"],
}
BAD_OF = {
    ("treadle_plugin_set", "key"): ["NULL", '"other"', NOT_UTF8],
    ("treadle_plugin_copy_setting", "key"): ["NULL", '"other"', NOT_UTF8],
    ("treadle_pool_pop", "token"): ["1"],
    ("treadle_notification_remove", "token"): ["1"],
}
# Parameters of which every value is a good one, or those that sizes_test.c has.
FINE = {
    "int64_t timeout_ns", "int64_t send_timeout_ns", "int64_t reply_timeout_ns", "int64_t budget_ns", "size_t budget_items",
    "int64_t delay_ns", "int64_t time_ns", "int64_t tolerance_ns", "int64_t value", "int32_t id", "uint32_t id", "void *info",
    "void *object", "uint32_t activities", "size_t capacity", "size_t size", "size_t length", "size_t result_size", "size_t argument_count",
    "uint64_t token", "treadle_message_port_reply_fn reply", "treadle_message_port_invalidated_fn invalidated", "const treadle_event *event",
}
# NULL is good here, or means something.
OPTIONAL = {
    ("treadle_loop_copy_items", "mode"), ("treadle_loop_run", "mode"), ("treadle_host_run", "mode"),
    ("treadle_message_port_create_local", "name"), ("treadle_message_port_create_remote", "context"),
    ("treadle_thread_get_priority", "out_applied"), ("treadle_thread_join", "out_result"), ("treadle_thread_set_value", "release"),
    ("treadle_plugin_serve", "filter"), ("treadle_source_start", "out_source"), ("treadle_descriptor_start", "out_descriptor"), ("treadle_timer_start", "out_timer"),
    ("treadle_observer_start", "out_observer"), ("treadle_scope_enter", "scope"), ("treadle_scope_leave", "scope"),
    ("treadle_thread_is_main", "thread"), ("treadle_thread_set_value", "value"), ("treadle_call_set_result", "value"),
    ("treadle_port_call", "arguments"), ("treadle_port_call", "result"), ("treadle_message_port_reply", "data"),
    ("treadle_invocation_get_result", "result"), ("treadle_routine_call", "result"),
}  # fmt: skip
# Functions that refuse nothing, or not by the last error.
WITHOUT = {
    "treadle_last_error", "treadle_status_name", "treadle_status_message", "treadle_time_to_absolute", "treadle_thread_sleep_until",
    "treadle_thread_exit", "treadle_loop_wake", "treadle_loop_request_stop", "treadle_set_last_resort", "treadle_set_log",
    "treadle_report_error",
}  # fmt: skip

# The bad values of a member, by its name, or by its struct's and its own; and what else must be changed for it.
MODES = ["no_name, s.mode_count = 1", "bad_name, s.mode_count = 1", "NULL, s.mode_count = 1"]
MEMBERS = {
    "label": [NOT_UTF8, "long_label"],
    "host": [BAD_HANDLE],
    "request.host": [f"{BAD_HANDLE}, s.fn = NULL"],
    "token": ["1"],
    "scope": [BAD_HANDLE],
    "routine": [f"{BAD_HANDLE}, s.fn = NULL"],
    "reserved": ["1"],
    "flags": [UNKNOWN],
    "modes": MODES,
    "mode_count": ["70000, s.modes = good_name"],
    "signature": ["NULL", '"?"'],
    "code": ["NULL"],
    "fn": ["NULL"],
    "events": [UNKNOWN],
    "closure_config.handler": ["NULL"],
    "closure_config.delivery": ["9"],
    "closure_config.loop": [BAD_HANDLE, "NULL"],
    "closure_config.thread": [f"{BAD_HANDLE}, s.loop = NULL"],
    "closure_config.timeout_ns": ["-1"],
    "closure_config.queue_limit": [UNKNOWN],
    "closure_config.on_full": ["9"],
    "closure_config.default_result_size": ["9, s.default_result = outs"],
    "descriptor_context.fd": ["-1", "99999"],
    "host_config.thread_enter": ["call_nothing, s.dispatch = NULL"],
    "host_config.thread_exit": ["call_nothing, s.dispatch = NULL"],
    "pull.run": ["99"],
    "pull.flags": [UNKNOWN],
    "pull.failed": ["1"],
    "pull.events": ["NULL", "(void *)((char *)&good_event + 1)"],
    "pull.event_size": ["1"],
    "pull.capacity": ["0"],
    "invocation_options.loop": [BAD_HANDLE],
    "invocation_options.thread": [f"{BAD_HANDLE}, s.loop = NULL"],
    "invocation_options.wait": ["9"],
    "invocation_options.timeout_ns": ["-1"],
    "invocation_options.completion": ["&small_request"],
    "invocation_options.completion_loop": [f"{BAD_HANDLE}, s.completion = &good_request", "h->of[LOOP]"],
    "message_content.components": ["NULL, s.component_count = 1", "&bad_component, s.component_count = 1"],
    "message_content.component_count": ["70000, s.components = &bad_component"],
    "message_content.reply_port": [BAD_HANDLE],
    "message_port_context.users": ["NULL, s.user_count = 1"],
    "message_port_context.user_count": ["2000, s.users = &word"],
    "message_port_context.owner": ["1"],
    "message_port_context.has_owner": ["2"],
    "message_port_context.functions": ["NULL, s.function_count = 1", "&bad_function, s.function_count = 1"],
    "message_port_context.function_count": ["2000, s.functions = &bad_function"],
    "notification_config.name": ["99"],
    "plugin_config.path": ['"/dev/null/none.so", s.query = NULL', '"/dev/null"'],
    "plugin_config.host_name": [NOT_UTF8],
    "plugin_config.host_version": [NOT_UTF8],
    "plugin_config.timeout_ns": ["1", "-1"],
    "plugin_config.id": ['"org.example.other"'],
    "plugin_config.settings": ['(const char *[]){"other", "1", NULL}', '(const char *[]){"key", NULL}', '(const char *[]){"a\\xff", "1", NULL}',
                               '(const char *[]){"key", "a\\xff", NULL}'],
    "port_context.capacity": [UNKNOWN],
    "request.delay_ns": ["1"],
    "routine_config.arguments": ["NULL", "&bad_argument"],
    "routine_config.argument_count": ["2, s.arguments = (treadle_argument[]){good_argument, good_argument}"],
    "source_context.host_wants": ["1", "99, s.host = h->of[HOST], s.token = 1"],
    "timer_context.interval_ns": ["-1"],
}  # fmt: skip
# Members of which every value is a good one, or that are for the library.
FINE_MEMBERS = set(
    "struct_size info retain release describe equal hash destroy schedule cancel perform order fire fire_at tolerance_ns notify activities "
    "once get_fd ready receive invalidated target argument release_target release_argument user dispatch id object fn_info get_extension log"
    .split()
) | {
    "closure_config.default_result", "plugin_config.query", "plugin_config.extensions", "plugin_config.loop", "plugin_config.limits",
    "plugin_config.rights", "plugin_config.ended", "plugin_config.restart", "thread_config.fn", "pull.mode", "pull.timeout_ns", "pull.count",
}  # fmt: skip
# What a function does not look at, or has no use for.
NOT_READ = {("treadle_perform_cancel", member) for member in "fn modes mode_count delay_ns flags".split()} | {
    ("treadle_message_port_create_remote", "user_count"),
    ("treadle_message_port_create_remote", "function_count"),
    ("treadle_plugin_reload", "settings"),
}


class Cases:
    def __init__(self, members: dict[str, list[str]]) -> None:
        self.members = members
        self.count = 0

    def good(self, function: str, parameters: list[str], index: int) -> str:
        is_for_result = name_of(parameters[index]).startswith("out_") and not struct_of(parameters[index])
        return f"(void *)outs[{index}]" if is_for_result else good(function, parameters, index)

    def bad(self, function: str, parameter: str) -> list[str]:
        name, kind = name_of(parameter), type_of(parameter)
        if (function, name) in OPTIONAL:
            return [each for each in [*BAD.get(parameter, []), *([BAD_HANDLE] if kind in HANDLES else [])] if each != "NULL"]
        if (function, name) in BAD_OF:
            return BAD_OF[function, name]
        if parameter in FINE:
            return []
        if parameter in BAD:
            return BAD[parameter]
        if kind in HANDLES:
            # An object that has ended, for a verb one of each kind; and one of another kind.
            kinds = VERBS.get(function, ITEMS) if kind == "treadle_object" else [HANDLES[kind]]
            gone = [f"gone.of[{each}]" for each in kinds if each not in ("HOST", "SIGNATURE")]
            other = [] if function == "treadle_get_kind" else ["h->of[LOOP]" if name == "signature" else "h->of[SIGNATURE]"]
            return ["NULL", BAD_HANDLE, *gone, *other]
        if struct := struct_of(parameter):
            return ["NULL", f"&(treadle_{struct}){{.struct_size = 1}}"]
        if "*" in parameter or kind.endswith("_fn"):
            return ["NULL"]
        sys.exit(f"refusals.py: {function}: which value of {parameter} is bad?")

    def case(self, function: str, parameters: list[str], named: str, value: str, given: list[str], before: str = "") -> None:
        print(f"static void case_{self.count}(struct handles *h) {{\n    (void)h;{before}")
        shown = re.sub(r'["\\]', "'", f"{named} = {value}")
        zeroed = ", ".join(
            f"sizeof({type_of(p)[:-1].strip()})" if name_of(p).startswith("out_") and p[-1] != ")" and not struct_of(p)
            and p != "treadle_component *out_component" and given[i].startswith("(void *)outs") else "0"
            for i, p in enumerate(parameters)
        )
        print(f'    begin_case();\n    (void){function}({", ".join(given)});')
        print(f'    must_be_refused("{function}", "{named}", "{shown}", (const size_t[]){{{zeroed}}}, {len(parameters)});\n}}')
        self.count += 1

    def function(self, function: str, parameters: list[str]) -> None:
        given = [self.good(function, parameters, i) for i in range(len(parameters))]
        for index, parameter in enumerate(parameters):
            values = self.bad(function, parameter)
            for value in values:
                self.case(function, parameters, name_of(parameter), value, [*given[:index], value, *given[index + 1 :]])
            struct = struct_of(parameter)
            if struct in STRUCTS:
                for member in self.members[struct]:
                    self.member(function, parameters, index, struct, member, given)

    def member(self, function: str, parameters: list[str], index: int, struct: str, member: str, given: list[str]) -> None:
        if (function, member) in NOT_READ or member in FINE_MEMBERS or f"{struct}.{member}" in FINE_MEMBERS:
            return
        own = member.removesuffix("_routine") + "_routine" == member
        values = MEMBERS.get(f"{struct}.{member}") or ([BAD_HANDLE] if own else MEMBERS.get(member))
        if not values:
            sys.exit(f"refusals.py: which value of {struct}.{member} is bad?")
        for value in values:
            before = f"\n    treadle_{struct} s = {{.struct_size = sizeof s, {STRUCTS[struct]}}};\n    s.{member} = {value};"
            self.case(function, parameters, member, value, [*given[:index], "&s", *given[index + 1 :]], before)


def listed(functions: dict[str, str], name: str, seen: tuple[str, ...] = ()) -> set[str]:
    """The errors that the header lists for a function, itself or by the functions whose errors it has."""
    comment = " ".join(re.sub(r"\n \*", " ", functions[name]).split())
    found = set(re.findall(r"TREADLE_E_\w+", comment))
    for other in re.findall(r"(?:\bas|\bof|\band) (treadle_\w+)", comment.partition("Errors")[2]):
        if other in functions and other not in (name, *seen):
            found |= listed(functions, other, (name, *seen))
    return found


def main() -> None:
    declarations = treadle_headers.declarations()
    cases = Cases({d.name.removeprefix("treadle_"): d.members for d in declarations if d.kind == "struct"})
    for found in declarations:
        if found.kind == "function" and found.name not in WITHOUT:
            cases.function(found.name, split(found.text))
    functions = {d.name: d.comment for d in declarations if d.kind == "function"}
    print("static const struct {\n    const char *name;\n    uint32_t errors; /* a bit for each, by its number */\n} listed[] = {")
    for name in functions:
        bits = " | ".join(f"1u << -{status}" for status in sorted(listed(functions, name)))
        print(f'    {{"{name}", {bits or 0}}},')
    print("};")
    print("static void (*const cases[])(struct handles *) = {", ", ".join(f"case_{i}" for i in range(cases.count)), "};")


main()
