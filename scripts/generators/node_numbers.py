# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""bindings/node/numbers.js, the numbers and texts of the C interface. The file is checked in, so that the package needs no headers
to be read."""

from pathlib import Path

import treadle_headers

MODULE = treadle_headers.ROOT / "bindings/node/numbers.js"
HEAD = """\
// SPDX-License-Identifier: Apache-2.0
// Copyright the Treadle authors
//
// The numbers and texts of the C interface: generated from the headers by make generate. Do not edit.
'use strict';

module.exports = Object.freeze({
%s});
"""


def texts() -> dict[Path, str]:
    """The file with its text."""
    values = {"INT64_MAX": "2n ** 63n - 1n"}
    return {MODULE: HEAD % "".join(f"  {name}: {values.get(value, value)},\n" for name, value in treadle_headers.constants())}
