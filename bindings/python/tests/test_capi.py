# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The generated description of the C interface."""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import treadle
from treadle import _capi, _library

from support import INCLUDE, PACKAGE_ROOT, TestCase, needs_checkout

STRUCTS = {
    name: value
    for name, value in vars(_capi).items()
    if isinstance(value, type) and issubclass(value, ctypes.Structure) and value is not ctypes.Structure
}


class Generated(TestCase):
    @needs_checkout
    def test_layouts_are_those_of_the_c_compiler(self) -> None:
        """ABI-7: sizes and offsets of every struct agree with C."""
        lines = []
        expected = []
        for name, struct in STRUCTS.items():
            lines.append(f'printf("%zu\\n", sizeof({name}));')
            expected.append(ctypes.sizeof(struct))
            for member in struct._fields_:
                lines.append(f'printf("%zu %zu\\n", offsetof({name}, {member[0]}), sizeof((({name} *)0)->{member[0]}));')
                field = getattr(struct, member[0])
                expected += [field.offset, field.size]
        self.assertGreater(len(expected), 100)
        source = "#include <stdio.h>\n#include <treadle.h>\nint main(void) {" + "\n".join(lines) + "return 0; }"
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "probe"
            command = ["cc", "-x", "c", f"-I{INCLUDE}", "-o", str(program), "-"]
            subprocess.run(command, input=source, text=True, check=True)
            output = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
        self.assertEqual([int(number) for number in output.split()], expected)

    @needs_checkout
    def test_constants_are_those_of_the_c_compiler(self) -> None:
        """ABI-6: every number and name has the value that C sees."""
        numbers = {name: value for name, value in vars(_capi).items() if name.isupper() and isinstance(value, int)}
        self.assertGreater(len(numbers), 40)
        lines = [f'printf("{name} %lld\\n", (long long)TREADLE_{name});' for name in numbers]
        lines.append('printf("%s %s\\n", TREADLE_DEFAULT_MODE, TREADLE_COMMON_MODES);')
        source = "#include <stdio.h>\n#include <treadle.h>\nint main(void) {" + "\n".join(lines) + "return 0; }"
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "probe"
            command = ["cc", "-x", "c", f"-I{INCLUDE}", "-o", str(program), "-"]
            subprocess.run(command, input=source, text=True, check=True)
            output = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertEqual(output, [f"{name} {value}" for name, value in numbers.items()] + [f"{treadle.DEFAULT} {treadle.COMMON}"])


class Quick(TestCase):
    """ABI-1: what may block or call back is called without the interpreter's lock."""

    #: Verbs of which some object calls back (schedule, cancel, retain, release, equal, describe, destroy)
    #: or which wait. Creation calls back only for contexts of C's making, never for a host's.
    DANGEROUS = re.compile(
        r"run|run_default|close|release|invalidate|add(_\w+)?|remove(_\w+)?|describe|post|call|quiesce|register"
        r"|contains_source|post_in|create\w*|start\w*|detach_new|join|stop_and_join|exit|sleep_\w+"
        r"|(set|get|use)_value|wait|lock|pop|shutdown|set_last_resort|report_error|perform|perform_\w+"
        r"|perform_cancel|retire"
    )

    #: These only queue or register for a host, which is called later.
    FOR_HOSTS = {
        "treadle_source_create",
        "treadle_descriptor_create",
        "treadle_timer_create",
        "treadle_observer_create",
        "treadle_thread_create",
        "treadle_notification_add",
        "treadle_host_post",
        "treadle_host_pool_add",
    }
    KINDS = "invocation|closure|call|loop|source|descriptor|timer|observer|host|routine|signature|thread|lock|condition|notification|pool|perform"

    def test_nothing_that_blocks_or_calls_back_holds_the_lock(self) -> None:
        """ABI-1: by the names of the functions, apart from the table that the generator uses."""
        for name, prototype in _capi.PROTOTYPES.items():
            if name in self.FOR_HOSTS:
                names = {member[0] for argument in prototype.arguments for member in getattr(argument._type_, "_fields_", ())}
                self.assertTrue(name.startswith("treadle_host_") or {"host", "token"} <= names, name)
                continue
            verb = re.sub(f"^treadle_({self.KINDS})_", "", name)
            if self.DANGEROUS.fullmatch(verb):
                self.assertFalse(prototype.quick, name)

    def test_callback_arguments_mean_that_the_lock_is_dropped(self) -> None:
        """ABI-1: a function that is given a callback may call it."""
        carriers = {struct for struct in STRUCTS.values() if any("fn" in str(member[1]) or "CFunc" in str(member[1]) for member in struct._fields_)}
        self.assertIn(_capi.treadle_source_context, carriers)
        for name, prototype in _capi.PROTOTYPES.items():
            if name in self.FOR_HOSTS:
                continue
            for argument in prototype.arguments:
                if getattr(argument, "_type_", None) in carriers or issubclass(argument, ctypes._CFuncPtr):  # type: ignore[attr-defined]
                    self.assertFalse(prototype.quick, name)

    def test_the_binding_follows_the_table(self) -> None:
        """ABI-1: each function is bound to the loader that its mark asks for."""
        holds = ctypes.PyDLL(None).getpid._flags_
        drops = ctypes.CDLL(None).getpid._flags_
        self.assertNotEqual(holds, drops)
        for name, prototype in _capi.PROTOTYPES.items():
            self.assertEqual(getattr(_library.native, name)._flags_, holds if prototype.quick else drops, name)

    def test_the_package_is_complete(self) -> None:
        """Everything public is documented."""
        for name in treadle.__all__:
            value = getattr(treadle, name)
            if isinstance(value, type) and not isinstance(value, str):
                self.assertTrue(value.__doc__, name)
                for key, member in vars(value).items():
                    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
                    if not key.startswith("_") and callable(function):
                        self.assertRegex(function.__doc__ or "", r"Since 1\.0|The descriptor\.", f"{name}.{key}")
        self.assertTrue((PACKAGE_ROOT / "treadle" / "py.typed").is_file())


if __name__ == "__main__":
    unittest.main()
