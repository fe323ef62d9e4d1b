# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
#
#   make demo [FILE=...]    a C and a Python program run their loops on a file; - reads standard input
#   make check              what an edit may have broken, in two minutes
#   make test               the tests and checks that every change passes
#   make soak [SECONDS=...] all else: random programs for that long, valgrind, every Python (3600)
#   make bench              Treadle beside other run loops; rewrites the figures of docs/performance.md
#   make library            build/lib/libtreadle.so.1 and libtreadle.a
#   make install PREFIX=... the library, its headers, the CMake package and the pkg-config file
#   make uninstall          removes what the last make install put there
#   make wheels             build/wheels: the Python package for machines without a compiler, for each target whose tools are there
#   make release VERSION=... [MODE=--dry-run|--rehearse]    build/release: archives, checksums, SBOM, notes; publishes nothing
#   make generate           all that is made from the headers, written anew
#   make docs               docs/reference, the reference of C, C++ and Python as HTML; docs/swift-reference, by DocC
#   make clean
#
# TREADLE_PYTHON=/path/to/python3 chooses the Python whose files treadle-host can load as plugins.
# With TREADLE_SYMBOLS=1, library and install put the debug information beside the library, where debuggers find it.
# Each installs what it needs through apt-get when it may, or prints the command. It upgrades nothing that is installed unless
# TREADLE_UPGRADE=1 is set; scripts/install-requirements --look test says what it would do.
PREFIX ?= /usr/local
FILE ?=
SECONDS ?= 3600
VERSION ?=
MODE ?=
TREADLE_SYMBOLS ?=
TREADLE_PYTHON ?=
symbols := $(if $(filter-out 0 OFF no,$(TREADLE_SYMBOLS)),ON,OFF)
CMAKE_BUILD := build/cmake

.PHONY: library generate demo check test soak bench install uninstall wheels release docs clean

library:
	@scripts/install-requirements library
	scripts/build-library --output build/lib $(if $(filter ON,$(symbols)),--symbols separate)

demo: library
	@scripts/install-requirements demo
	examples/demo/run $(if $(FILE),"$(FILE)")

check:
	@scripts/install-requirements test
	scripts/test-check

test:
	@scripts/install-requirements test
	scripts/test-all

soak:
	@scripts/install-requirements test
	scripts/test-soak $(SECONDS)

bench: library
	@scripts/install-requirements bench
	bench/run --docs

generate:
	@scripts/install-requirements library
	scripts/generate

install:
	@scripts/install-requirements install
	cmake -S . -B $(CMAKE_BUILD) -DCMAKE_INSTALL_PREFIX="$(PREFIX)" -DTREADLE_SCRATCH="$(CURDIR)/.build/embedded" \
	  -DTREADLE_SYMBOLS=$(symbols) $(if $(TREADLE_PYTHON),-DTREADLE_PYTHON="$(TREADLE_PYTHON)")
	cmake --build $(CMAKE_BUILD)
	cmake --install $(CMAKE_BUILD)

uninstall:
	@test -f "$(CMAKE_BUILD)/uninstall.cmake" || { echo "make install was not run here: there is nothing to uninstall" >&2; exit 1; }
	cmake -P "$(CMAKE_BUILD)/uninstall.cmake"

wheels:
	@scripts/install-requirements install
	scripts/make-wheels

release:
	@scripts/install-requirements install
	scripts/make-release $(VERSION) $(MODE)

docs:
	@scripts/install-requirements docs
	scripts/make-docs
	scripts/make-swift-docs

clean:
	rm -rf build .build docs/reference docs/swift-reference
