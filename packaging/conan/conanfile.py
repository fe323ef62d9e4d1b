# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Treadle for projects that use Conan 2, from a checkout:

    conan create packaging/conan

It takes the system's libffi (libffi-dev) and is compiled by Swift 6.3 or later, which must be in PATH. Projects find the installed CMake
package: find_package(Treadle), Treadle::treadle and its other targets."""

import re
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy
from conan.tools.system.package_manager import Apt


class Treadle(ConanFile):
    name = "treadle"
    description = "Run loops for any program and any language"
    license = "Apache-2.0"
    homepage = "https://github.com/treadle/treadle"
    topics = ("run-loop", "event-loop", "plugins", "swift")
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"
    generators = ()

    @property
    def _checkout(self) -> Path:
        return Path(self.recipe_folder).parent.parent

    def set_version(self) -> None:
        text = (self._checkout / "include/treadle/version.h").read_text(encoding="utf-8")
        numbers = (re.search(rf"^#define TREADLE_VERSION_{part} (\d+)$", text, re.M) for part in ("MAJOR", "MINOR", "PATCH"))
        self.version = ".".join(number[1] for number in numbers if number)

    def export_sources(self) -> None:
        # Of Tests the build needs nothing, but Package.swift names them.
        for pattern in ("CMakeLists.txt", "LICENSE", "Package.swift", "bindings/*", "cmake/*", "docs/man/*", "host/*", "include/*", "plugins/*", "scripts/*",
                        "Sources/*"):  # fmt: skip
            copy(self, pattern, str(self._checkout), self.export_sources_folder, excludes=("*/node_modules/*", "*/__pycache__/*"))

    def validate(self) -> None:
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("Treadle runs on Linux, on x86-64 and 64-bit Arm")

    def package_id(self) -> None:
        # A C library that is compiled in one way, whatever the project is compiled by.
        del self.info.settings.compiler
        del self.info.settings.build_type

    def system_requirements(self) -> None:
        Apt(self).install(["libffi-dev", "pkg-config"])

    def generate(self) -> None:
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["TREADLE_PYTHON_PLUGIN"] = "OFF"
        toolchain.generate()

    def build(self) -> None:
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self) -> None:
        CMake(self).install()

    def package_info(self) -> None:
        self.cpp_info.set_property("cmake_find_mode", "none")  # the package brings its own
        self.cpp_info.builddirs = ["lib/cmake/Treadle"]
        self.cpp_info.set_property("pkg_config_name", "treadle")
        self.cpp_info.libs = ["treadle"]
