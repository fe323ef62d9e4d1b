# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What a good call of a function is made with: a value for each parameter, from its type and name. Tests/c/refusals.py puts a bad value
in the place of one of them, generators/good_calls.py writes the calls of Tests/c/good_calls.h."""

import re

KINDS = (
    "loop source descriptor timer observer signature routine host lock condition thread invocation closure scope plugin port message"
).split()
HANDLES = {f"treadle_{kind}": kind.upper() for kind in [*KINDS, "message_port"]} | {"treadle_object": "SOURCE"}
# The object that a verb is called with.
OBJECTS = {"treadle_perform": "LOOP", "treadle_get_pthread": "LOCK"}

# The good value of a parameter, by type and name.
GOOD = {
    "const char *mode": "h->mode",
    "const char *signature": '"v"',
    "const char *encoding": '"i"',
    "const char *id": '"example.call/1"',
    "const char *path": '"/dev/null"',
    "const treadle_call *call": "&good_call",
    "treadle_call *call": "&good_call",
    "const treadle_event *event": "NULL",
    "const treadle_port_value *arguments": "NULL",
    "size_t argument_count": "0",
    "size_t result_size": "0",
    "size_t holder_size": "sizeof(treadle_scope_holder)",
    "double seconds": "1",
    "double date": "1",
    "double priority": "0.5",
    "int32_t fd": "h->copy",
    "int32_t serving_fd": "h->copy",
    "int32_t asking_fd": "h->copy",
    "uint32_t events": "TREADLE_READABLE",
    "uint32_t activities": "TREADLE_EXIT",
    "int32_t index": "0",
    "size_t index": "0",
    "int32_t thread_id": "thread_id()",
    "uint32_t *word": "&(uint32_t){0}",
    "void (*use)(void *value, void *info)": "call_use",
    "treadle_post_fn fn": "call_nothing",
    "treadle_release_fn release": "call_nothing",
    "treadle_timer_fn fire": "call_schedule",
    "treadle_ready_fn ready": "call_ready",
    "treadle_perform_fn perform": "perform_nothing",
    "treadle_observer_fn notify": "notify_nothing",
}
# Those of one function.
GOOD_OF = {
    ("treadle_invocation_set_buffer", "index"): "1",
    ("treadle_invocation_get_buffer", "index"): "1",
    ("treadle_message_port_set_name", "port"): "h->served",
    ("treadle_thread_set_stack_size", "size"): "65536",
}

ROUTINE = ".code = (void (*)(void))call_stop, .signature = \"v^v\", .arguments = &good_argument, .argument_count = 1"
# For each struct that a function reads: good members.
STRUCTS = {
    "closure_config": '.signature = "i^v", .handler = call_handler, .delivery = TREADLE_DELIVERY_ASYNC, .loop = h->of[LOOP]',
    "descriptor_context": ".fd = h->copy, .events = TREADLE_READABLE, .ready = call_ready",
    "host_config": ".dispatch = call_dispatch",
    "pull": '.host = h->of[HOST], .mode = "of no use", .events = &good_event, .event_size = sizeof(treadle_event), .capacity = 1',
    "invocation_config": '.code = (void (*)(void))call_invoked, .signature = "i^vO^v"',
    "invocation_options": ".loop = h->of[LOOP]",
    "message_content": "",
    "message_port_context": "",
    "notification_config": ".name = TREADLE_NOTIFY_THREAD_WILL_EXIT, .fn = call_notified",
    "observer_context": "",
    "plugin_config": ".query = call_query",
    "port_context": "",
    "post": ".fn = call_nothing",
    "request": ".fn = call_request",
    "routine_config": ROUTINE,
    "scope_config": "",
    "source_context": "",
    "thread_config": ".fn = call_entry",
    "timer_context": "",
}
# Structs that functions only fill in.
FILLED = {"closure_info", "closure_pool_info", "loop_counters", "message_info", "plugin_info"}


def split(text: str) -> list[str]:
    """The parameters of a function."""
    parts, depth = [""], 0
    for character in text[text.index("(") + 1 : text.rindex(")")]:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [" ".join(part.split()) for part in parts if part.strip() != "void"]


def name_of(parameter: str) -> str:
    found = re.search(r"\(\*+(\w+)\)", parameter) or re.search(r"(\w+)$", parameter)
    return found[1]


def type_of(parameter: str) -> str:
    return parameter[: parameter.rindex(name_of(parameter))].strip()


def struct_of(parameter: str) -> str:
    """The struct with struct_size that it points to, without treadle_."""
    found = re.fullmatch(r"(?:const )?treadle_(\w+) \*\w+", parameter)
    return found[1] if found and found[1] in STRUCTS.keys() | FILLED else ""


def good(function: str, parameters: list[str], index: int) -> str:
    """A good value, in C, of a parameter that is not for a result: h is a struct handles of Tests/c/all_calls.h."""
    parameter, name = parameters[index], name_of(parameters[index])
    if (function, name) in GOOD_OF:
        return GOOD_OF[function, name]
    if parameter in GOOD:
        return GOOD[parameter]
    if type_of(parameter) in HANDLES:
        kind = OBJECTS.get(function, HANDLES[type_of(parameter)])
        return f"h->of[{kind}]"
    if struct := struct_of(parameter):
        members = STRUCTS.get(struct)
        return f"&(treadle_{struct}){{.struct_size = sizeof(treadle_{struct}), {members}}}" if members else f"&TREADLE_INIT(treadle_{struct})"
    if "*" in parameter and parameter.startswith("const char"):
        return '"key"'
    if "*" in parameter:
        return "(void *)h->text"
    if parameter.startswith("size_t"):
        return "8"
    return "NULL" if type_of(parameter).endswith("_fn") else "0"
