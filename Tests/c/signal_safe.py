#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Writes the names of the functions that the headers tag as signal-safe, for signal_safe_test.c."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import treadle_headers  # noqa: E402

found = treadle_headers.declarations()
names = [one.name for one in found if one.kind == "function" and any("signal-safe" in tag for tag in one.tags)]
print("static const char *const signal_safe_names[] = {" + ", ".join(f'"{name}"' for name in names) + "};")
