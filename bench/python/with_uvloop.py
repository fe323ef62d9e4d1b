#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""uvloop, a loop of asyncio in C over libuv. Where it is not installed there is no workload."""

import event_loops
from common import serve

try:
    import uvloop
except ImportError:
    serve("uvloop", "peer", {}, {})
else:
    serve("uvloop", "peer", event_loops.workloads(uvloop.new_event_loop), event_loops.UNITS)
