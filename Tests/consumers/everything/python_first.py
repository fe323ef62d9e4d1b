# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Python is first, and runs the loop; a library in Swift, which is loaded later, has the same one."""

import ctypes
import os
import sys

import treadle

loop = treadle.RunLoop.current()


@ctypes.CFUNCTYPE(None)
def say() -> None:
    print("Python", flush=True)
    loop.stop()


loop.add(treadle.Timer(lambda timer: None, delay=3600))
part = ctypes.CDLL(os.path.abspath(sys.argv[1]))
# Swift's timer calls `say`: so the order does not depend on how long anything takes.
items = part.swift_part_start(say)
result = loop.run(seconds=60)
sys.stdout.flush()
print(f"{items} items, {result.name.lower()}")
