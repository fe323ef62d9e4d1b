# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""How the package's names, values and classes are shown to people."""

from __future__ import annotations

import enum
import inspect
import pickle
import pydoc
import unittest
from typing import List, Tuple

import treadle
import treadle.aio
from treadle import Activity, Events, RunResult, ThreadState

from support import TestCase

CLASSES = [value for name, value in vars(treadle).items() if name in treadle.__all__ and inspect.isclass(value)]
ENUMS = [kind for kind in CLASSES if issubclass(kind, enum.Enum)]


class Values(TestCase):
    def test_enums_print_by_name(self) -> None:
        """ABI-3: print(), str() and f-strings show every member by its name, on every version of Python."""
        self.assertGreater(len(ENUMS), 8)
        for kind in ENUMS:
            for member in kind:
                name = f"{kind.__name__}.{member.name}"
                shown = (str(member), f"{member}", "%s" % member, format(member, ""), f"{member:>40}".strip())
                self.assertEqual(shown, (name,) * 5)
                self.assertEqual(repr(member), f"<{name}: {member.value}>")

    def test_flags_print_by_name(self) -> None:
        """OBS-1: a combination shows its members, an unknown bit its value; none at all is a name or 0."""
        shown: List[Tuple[str, str]] = [
            (str(Events.READ | Events.WRITE), "Events.READ|WRITE"),
            (str(Events(0)), "Events.NONE"),
            (str(Activity.ENTRY | Activity.EXIT), "Activity.ENTRY|EXIT"),
            (str(Activity(0)), "Activity(0)"),
            (str(Activity.ALL), "Activity.ALL"),
            (str(Activity.ENTRY | 1 << 20), "Activity.ENTRY|0x100000"),
            (f"{Events.READ | Events.HANGUP}", "Events.READ|HANGUP"),
        ]
        for actual, expected in shown:
            self.assertEqual(actual, expected)

    def test_they_are_numbers_still(self) -> None:
        """ABI-3: formats for numbers show the number, and values compare and combine as numbers."""
        self.assertEqual(f"{RunResult.STOPPED:d} {Activity.EXIT:#x} {ThreadState.FINISHED:03}", "2 0x80 003")
        self.assertEqual(RunResult.FINISHED + 1, RunResult.STOPPED)
        self.assertIs(pickle.loads(pickle.dumps(RunResult.STOPPED)), RunResult.STOPPED)
        self.assertEqual(pickle.loads(pickle.dumps(Events.READ | Events.WRITE)), Events.READ | Events.WRITE)


class Names(TestCase):
    def test_public_names_are_those_of_the_package(self) -> None:
        """ABI-3: tracebacks, repr() and help() say treadle.Name; no module with an underscore is shown."""
        for name in treadle.__all__:
            value = getattr(treadle, name)
            if inspect.isclass(value) or inspect.isfunction(value) and not hasattr(value, "__supertype__"):
                self.assertEqual((value.__module__, value.__qualname__), ("treadle", name))
        self.assertEqual(repr(treadle.Timer), "<class 'treadle.Timer'>")
        for kind in CLASSES:
            self.assertIs(pickle.loads(pickle.dumps(kind)), kind)
        for name in treadle.aio.__all__:
            self.assertEqual(getattr(treadle.aio, name).__module__, "treadle.aio")

    def test_help_shows_what_is_public(self) -> None:
        """ABI-3: help(treadle) has every public class and function, with its text."""
        text = pydoc.plain(pydoc.render_doc(treadle))
        for name in treadle.__all__:
            value = getattr(treadle, name)
            if inspect.isclass(value):
                self.assertTrue(f"\n    class {name}" in text, name)
                self.assertTrue((value.__doc__ or "").splitlines()[0] in text, name)
            elif inspect.isfunction(value):
                self.assertTrue(f"\n    {name}(" in text, name)


if __name__ == "__main__":
    unittest.main()
