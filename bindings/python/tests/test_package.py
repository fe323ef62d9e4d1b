# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""How the package finds its library, and what it promises besides."""

from __future__ import annotations

import faulthandler
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import venv
import zipfile
from pathlib import Path
from typing import Dict, Optional

import treadle
from treadle import _capi, _library

from support import REPOSITORY, TESTS, TestCase, needs_checkout, run_python, slow

IMPORT = "import treadle; print('loaded', treadle.RunLoop.current().run(seconds=0).name)"
LIBRARY = _library.locate()
VERSION = f"{_capi.VERSION_MAJOR}.{_capi.VERSION_MINOR}.{_capi.VERSION_PATCH}"


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
        self.assertFails(
            None, f"`make library` in {self.folder}", str(self.folder / "build" / "lib"), str(self.folder / "build" / "dev")
        )

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
        """The package, its tests and the README's example pass mypy --strict."""
        with tempfile.TemporaryDirectory() as folder:
            example = Path(folder) / "readme_example.py"
            example.write_text(readme_block("python"), encoding="utf-8")
            for files in ([], [str(example)]):
                command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", folder, *files]
                result = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    @slow
    @unittest.skipUnless(importlib.util.find_spec("pyright"), "needs pyright")
    def test_types_are_complete(self) -> None:
        """At least 95 % of what is public has a type that every type checker sees the same."""
        command = [sys.executable, "-m", "pyright", "--outputjson", "--verifytypes", "treadle", "--ignoreexternal"]
        # It looks where the first python of the path looks, whatever is asked of it.
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        result = subprocess.run(command, capture_output=True, text=True, env=environment)
        found = json.loads(result.stdout)["typeCompleteness"]
        self.assertGreater(found["exportedSymbolCounts"]["withKnownType"], 50)
        lacking = [symbol["name"] for symbol in found["symbols"] if not symbol["isTypeKnown"] or symbol["isTypeAmbiguous"]]
        self.assertGreaterEqual(found["completenessScore"], 0.95, lacking)

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
            self.assertRegex(wheel.name, rf"^treadle-{VERSION}-py3-none-linux_\w+\.whl$")
            with zipfile.ZipFile(wheel) as archive:
                names = archive.namelist()
                metadata = archive.read(f"treadle-{VERSION}.dist-info/METADATA").decode()
                self.assertEqual(archive.read(f"treadle/{_library._NAME}"), LIBRARY.read_bytes())
                license_text = archive.read(f"treadle-{VERSION}.dist-info/licenses/LICENSE")
            self.assertEqual(license_text, (REPOSITORY / "LICENSE").read_bytes())
            self.assertIn("treadle/py.typed", names)
            self.assertRegex(metadata, r"License(-Expression)?: Apache-2\.0")
            target = Path(folder) / "installed"
            subprocess.run([*pip, "install", "--no-deps", "--target", str(target), str(wheel)], check=True)
            clean = {"PYTHONPATH": str(target), "PATH": "/usr/bin:/bin"}
            result = subprocess.run(
                [sys.executable, "-c", IMPORT], capture_output=True, text=True, env=clean, cwd=folder
            )
            self.assertEqual((result.stdout, result.stderr), ("loaded FINISHED\n", ""))


    @needs_checkout
    def test_the_least_glibc(self) -> None:
        """What the README and the metadata say is what the library asks for, where the README says that it was built."""
        if platform.libc_ver() != ("glibc", "2.36") or shutil.which("objdump") is None:
            self.skipTest("a library that was built on Debian 12")
        symbols = subprocess.run(["objdump", "-T", str(LIBRARY)], capture_output=True, text=True, check=True).stdout
        least = max((int(major), int(minor)) for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols))
        text = (REPOSITORY / "bindings" / "python" / "README.md").read_text(encoding="utf-8")
        if least > (2, 28):  # not of a wheel of `make wheels`
            self.assertIn(f"needs {least[0]}.{least[1]}.", text)
        self.assertIn("glibc 2.28 or later", text)


PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


@slow
@needs_checkout
class Building(TestCase):
    """What pip is told to build."""

    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()

    def pip(self, *arguments: str, **variables: Optional[str]) -> "subprocess.CompletedProcess[str]":
        faulthandler.cancel_dump_traceback_later()  # the network and the compiler take their time
        values = {**os.environ, **variables}
        environment = {key: value for key, value in values.items() if value is not None}
        return subprocess.run([*PIP, *arguments], capture_output=True, text=True, env=environment, cwd=self.folder)

    def assertIsFirst(self, text: str, result: "subprocess.CompletedProcess[str]") -> None:
        """The first line of what the build says, in what pip says."""
        self.assertNotEqual(result.returncode, 0)
        output = re.search(r"lines? of output\]\n\s*(.*)", result.stderr)
        self.assertIsNotNone(output, result.stderr)
        assert output is not None
        self.assertIn(text, output[1])

    def test_what_is_missing(self) -> None:
        """The first line says it: Swift, or the file that TREADLE_LIBRARY names."""
        wheel = ("wheel", "--no-deps", "-w", str(self.folder), str(TESTS.parent))
        result = self.pip(*wheel, TREADLE_LIBRARY=None, SWIFT="no-swift-here")
        self.assertIsFirst("missing: Swift 6.3 or later: https://", result)
        result = self.pip(*wheel, TREADLE_LIBRARY=str(self.folder / "nowhere.so"))
        self.assertIsFirst("missing: the file " + str(self.folder / "nowhere.so"), result)

    def test_an_editable_install(self) -> None:
        """It finds the checkout's library, and says how to make it."""
        package = self.folder / "bindings" / "python"
        ignored = shutil.ignore_patterns("libtreadle*", "__pycache__", "build", "*.egg-info", "tests", "LICENSE")
        shutil.copytree(TESTS.parent, package, ignore=ignored)
        shutil.copy(REPOSITORY / "LICENSE", package)
        (self.folder / "include").mkdir()
        (self.folder / "include" / "treadle.h").touch()
        venv.create(self.folder / "venv", with_pip=True)
        python = str(self.folder / "venv" / "bin" / "python")
        environment = {"PATH": "/usr/bin:/bin"}
        subprocess.run([python, *PIP[1:], "install", "--no-deps", "-e", str(package)], check=True)

        def import_it() -> "subprocess.CompletedProcess[str]":
            return subprocess.run([python, "-c", IMPORT], capture_output=True, text=True, env=environment, cwd="/")

        self.assertIn(f"run `make library` in {self.folder}", import_it().stderr.splitlines()[-1])
        (self.folder / "build" / "lib").mkdir(parents=True)
        shutil.copy(LIBRARY, self.folder / "build" / "lib" / _library._NAME)
        self.assertEqual(import_it().stdout, "loaded FINISHED\n")

    @unittest.skipUnless(importlib.util.find_spec("build"), "needs build")
    @unittest.skipUnless(shutil.which("swift"), "needs Swift")
    def test_a_source_distribution(self) -> None:
        """It brings what the library is built from, and that is enough; a wheel is made of it."""
        faulthandler.cancel_dump_traceback_later()
        command = [sys.executable, "-m", "build", "--sdist", "--outdir", str(self.folder), str(TESTS.parent)]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder)
        (source,) = self.folder.glob(f"treadle-{VERSION}.tar.gz")
        with tarfile.open(source) as archive:
            archive.extractall(self.folder)
        root = self.folder / f"treadle-{VERSION}"
        self.assertEqual((root / "LICENSE").read_bytes(), (REPOSITORY / "LICENSE").read_bytes())
        self.assertFalse((root / "LICENSE").is_symlink())
        # The debug configuration, which is quicker to compile.
        script = root / "library" / "scripts" / "build-library"
        command = [str(script), "--configuration", "debug", "--output", str(self.folder / "lib")]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(result.returncode, 0, result.stdout)
        library = str(self.folder / "lib" / _library._NAME)
        target = self.folder / "installed"
        installed = self.pip("install", "--no-deps", "--target", str(target), str(source), TREADLE_LIBRARY=library)
        self.assertEqual(installed.returncode, 0, installed.stderr)
        clean = {"PYTHONPATH": str(target), "PATH": "/usr/bin:/bin"}
        imported = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, env=clean, cwd="/")
        self.assertEqual((imported.stdout, imported.stderr), ("loaded FINISHED\n", ""))


def readme_block(language: str) -> str:
    """The README's first block in a language."""
    text = (REPOSITORY / "bindings" / "python" / "README.md").read_text(encoding="utf-8")
    match = re.search(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    assert match is not None
    return match[1]


if __name__ == "__main__":
    unittest.main()
