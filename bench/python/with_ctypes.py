#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The floor of a callback: a Python function that the C library calls through ctypes, and nothing else."""

import ctypes
import time

from common import CALLBACKS, UNITS, amount, demand, serve


def callback() -> float:
    """qsort calls a function that finds all equal."""
    calls = 0

    def compare(left: int, right: int) -> int:
        nonlocal calls
        calls += 1
        return 0

    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(compare)
    items = (ctypes.c_int * amount(CALLBACKS))()
    qsort = ctypes.CDLL(None).qsort
    started = time.perf_counter_ns()
    qsort(items, ctypes.c_size_t(len(items)), ctypes.c_size_t(4), function)
    took = time.perf_counter_ns() - started
    demand(calls >= len(items) - 1, "sorting compares each item")
    return took / calls


serve("ctypes", "floor", {"py_callback": callback}, UNITS)
