# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What the tests of plugins need."""

from __future__ import annotations

import tempfile
import textwrap
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

from treadle import Error, Plugin, _plugin_calls, _plugin_owner

from support import WATCHDOG, TestCase


class PluginCase(TestCase):
    """A test with files of its own, which closes what it has loaded."""

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.trace: List[Any] = []
        self.logged: List[Tuple[str, int, str]] = []
        self.addCleanup(self.check_nothing_is_left)

    def check_nothing_is_left(self) -> None:
        for plugin in reversed(Plugin.all()):
            plugin.close(WATCHDOG)
        self.assertEqual(Plugin.all(), [])
        _plugin_calls.prune()
        self.assertEqual((_plugin_calls.records, _plugin_calls.by_description, _plugin_owner._owners), ({}, {}, {}))

    def write(self, source: str, name: str = "plugin.py") -> Path:
        """A new file, in place of the one that has the name."""
        path, new = self.folder / name, self.folder / "new"
        new.write_text(textwrap.dedent(source), encoding="utf-8")
        new.chmod(0o600)
        new.rename(path)
        return path

    def load(self, source: str, settings: Optional[Dict[str, Any]] = None, **options: Any) -> Plugin:
        options.setdefault("extensions", {"example.trace/1": self.trace})
        return Plugin.load(self.write(source), settings, log=self.log, **options)

    def log(self, id: str, level: int, text: str) -> None:
        self.logged.append((id, level, text))

    def assertCode(self, code: int, function: Callable[[], object]) -> Error:
        with self.assertRaises(Error) as caught:
            function()
        self.assertEqual(caught.exception.code, code)
        return caught.exception
