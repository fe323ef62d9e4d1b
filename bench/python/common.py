# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What the measurements in Python share: they answer to `list` and `run WORKLOAD [quick] [host]`, as the programs in C do.

py_post: tasks from another thread to a loop. py_wait: a thread has a function performed on a loop, and waits for what
it returns. py_callback: one call of a Python function by the library."""

import concurrent.futures
import json
import socket
import sys
import threading
import time
from typing import Callable, Dict

POSTS, WAITS, CALLBACKS = 50_000, 3_000, 20_000
_is_quick = False
_is_lived_in = False
_idle = []  # kept to the end


def amount(full: int) -> int:
    return full // 50 if _is_quick else full


def demand(holds: bool, what: str) -> None:
    """Something that must hold, such as a count. If it does not, the process ends without a figure."""
    if not holds:
        raise SystemExit(f"this does not hold: {what}")


def rate(count: int, started: int) -> float:
    """Thousands in a second."""
    return count * 1e6 / (time.perf_counter_ns() - started)


def live_in(add: Callable[[socket.socket, Callable[..., None]], None]) -> None:
    """Gives a loop what it has in a lived-in host: `add` adds an idle descriptor, a timer an hour away, and an idle source
    if there is such a thing. Nothing in a bare one."""
    if _is_lived_in:
        pair = socket.socketpair()
        _idle.append(pair)
        add(pair[0], _never)


def _never(*_: object) -> None:
    demand(False, "what is idle is never called")


def on_thread(function: Callable[[], float]) -> float:
    """What the function returns, called on a new thread: a main thread has to look for Ctrl-C while it waits."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def serve(name: str, role: str, workloads: Dict[str, Callable[[], float]], units: Dict[str, str]) -> None:
    global _is_quick, _is_lived_in
    words = sys.argv[1:]
    if words == ["list"]:
        print("\n".join([f"{name} {role}", *workloads]))
    elif words[:1] == ["run"] and words[1:2] and words[1] in workloads and {*words[2:]} <= {"quick", "host"}:
        _is_quick, _is_lived_in = "quick" in words[2:], "host" in words[2:]
        if _is_lived_in:
            threading.Thread(target=threading.Event().wait, daemon=True).start()
        value = workloads[words[1]]()
        print(json.dumps({"figure": words[1], "value": value, "unit": units[words[1]]}))
    else:
        raise SystemExit("usage: list, or: run WORKLOAD [quick] [host]")


UNITS = {"py_post": "k/s", "py_wait": "k/s", "py_callback": "ns"}
