# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""How the package finds its library, and what it promises besides."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from typing import Dict, Optional

import treadle
from treadle import _library

from support import REPOSITORY, TESTS, TestCase, needs_checkout, run_python, slow

IMPORT = "import treadle; print('loaded', treadle.RunLoop.current().run(seconds=0).name)"
LIBRARY = _library.locate()


class Loading(TestCase):
    """The bundled library, TREADLE_LIBRARY, a development build, in this order."""

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        self.package = self.folder / "bindings" / "python" / "treadle"
        ignored = shutil.ignore_patterns("libtreadle*", "__pycache__")
        shutil.copytree(Path(treadle.__file__).parent, self.package, ignore=ignored)

    def import_it(self, library: Optional[Path] = None) -> "subprocess.CompletedProcess[str]":
        environment: Dict[str, str] = {key: value for key, value in os.environ.items() if key != "TREADLE_LIBRARY"}
        environment["PYTHONPATH"] = str(self.package.parent)
        if library is not None:
            environment["TREADLE_LIBRARY"] = str(library)
        return subprocess.run(
            [sys.executable, "-c", IMPORT], capture_output=True, text=True, env=environment, cwd=self.folder, timeout=60
        )

    def assertLoads(self, library: Optional[Path] = None) -> None:
        result = self.import_it(library)
        self.assertEqual((result.stdout, result.stderr), ("loaded FINISHED\n", ""))

    def assertFails(self, library: Optional[Path], *words: str) -> None:
        result = self.import_it(library)
        self.assertNotEqual(result.returncode, 0)
        message = result.stderr.strip().splitlines()[-1]
        self.assertTrue(message.startswith("ImportError: "), message)
        for word in words:
            self.assertIn(word, message)

    def compiled(self, source: str) -> Path:
        target = self.folder / "other.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-x", "c", "-o", str(target), "-"], input=source, text=True, check=True
        )
        return target

    def test_nothing_is_there(self) -> None:
        """One sentence that names all three places."""
        self.assertFails(None, "bundled", "TREADLE_LIBRARY", "development build", str(self.package / _library._NAME))

    def test_the_variable(self) -> None:
        """TREADLE_LIBRARY names the file; one that is not there is an error, not a reason to look further."""
        self.assertLoads(LIBRARY)
        self.make_checkout()
        self.assertFails(self.folder / "nowhere.so", "TREADLE_LIBRARY", "nowhere.so")

    def test_the_bundled_library_comes_first(self) -> None:
        """Whatever the variable says."""
        shutil.copy(LIBRARY, self.package / _library._NAME)
        self.assertLoads()
        self.assertLoads(self.folder / "nowhere.so")

    def make_checkout(self) -> None:
        (self.folder / "include").mkdir()
        (self.folder / "include" / "treadle.h").touch()
        (self.folder / "build" / "dev").mkdir(parents=True)
        shutil.copy(LIBRARY, self.folder / "build" / "dev" / _library._NAME)

    def test_a_development_build(self) -> None:
        """Of the checkout that the package lies in."""
        self.make_checkout()
        self.assertLoads()
        shutil.rmtree(self.folder / "build")
        self.assertFails(None, str(self.folder / "build" / "lib"), str(self.folder / "build" / "dev"))

    def test_files_that_are_no_such_library(self) -> None:
        """Another version, an incomplete library, no library at all."""
        self.assertFails(self.compiled("unsigned treadle_version(void) { return 2 << 16; }"), "2.0", "1.0")
        self.assertFails(self.compiled("unsigned treadle_version(void) { return 1 << 16; }"), "treadle_")
        self.assertFails(Path(__file__), "test_package.py")

    def test_sub_interpreters_are_refused(self) -> None:
        """ctypes would call back in the main interpreter."""
        script = """if True:
            try:
                import _interpreters as interpreters
            except ImportError:
                import _xxsubinterpreters as interpreters
            interpreters.run_string(interpreters.create(), '''if True:
                try:
                    import treadle
                except ImportError as error:
                    print("refused", flush=True)
            ''')
        """
        self.assertEqual(self.assertRuns(script), "refused\n")


class Promises(TestCase):
    @unittest.skipUnless(importlib.util.find_spec("mypy"), "needs mypy")
    @needs_checkout
    def test_types(self) -> None:
        """The package, its tools, its tests and the README's example pass mypy --strict."""
        with tempfile.TemporaryDirectory() as folder:
            example = Path(folder) / "readme_example.py"
            example.write_text(readme_block("python"), encoding="utf-8")
            for files in ([], [str(example)]):
                command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, *files]
                result = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    @needs_checkout
    def test_the_readme_tells_the_truth(self) -> None:
        """Its example prints what it says."""
        result = run_python(readme_block("python"))
        self.assertEqual((result.stdout, result.stderr), (readme_block("text"), ""))

    @slow
    @needs_checkout
    def test_the_wheel(self) -> None:
        """It is for every Python of the platform, brings the library and works without anything else."""
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "TREADLE_LIBRARY": str(LIBRARY)}
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
            subprocess.run([*pip, "wheel", "--no-deps", "-w", folder, str(TESTS.parent)], env=environment, check=True)
            (wheel,) = Path(folder).glob("*.whl")
            self.assertRegex(wheel.name, r"^treadle-1\.0\.0-py3-none-linux_\w+\.whl$")
            with zipfile.ZipFile(wheel) as archive:
                names = archive.namelist()
                metadata = archive.read("treadle-1.0.0.dist-info/METADATA").decode()
                self.assertEqual(archive.read(f"treadle/{_library._NAME}"), LIBRARY.read_bytes())
            self.assertIn("treadle/py.typed", names)
            self.assertRegex(metadata, r"License(-Expression)?: Apache-2\.0")
            target = Path(folder) / "installed"
            subprocess.run([*pip, "install", "--no-deps", "--target", str(target), str(wheel)], check=True)
            clean = {"PYTHONPATH": str(target), "PATH": "/usr/bin:/bin"}
            result = subprocess.run(
                [sys.executable, "-c", IMPORT], capture_output=True, text=True, env=clean, cwd=folder
            )
            self.assertEqual((result.stdout, result.stderr), ("loaded FINISHED\n", ""))


def readme_block(language: str) -> str:
    """The README's first block in a language."""
    text = (REPOSITORY / "bindings" / "python" / "README.md").read_text(encoding="utf-8")
    match = re.search(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    assert match is not None
    return match[1]


if __name__ == "__main__":
    unittest.main()
