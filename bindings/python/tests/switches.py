# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Chooses between which bytecodes threads of Python take turns, and so finds what depends on that.

A scene makes functions, each for a thread of its own, and a check for afterwards. One of its threads runs at a time: before each
bytecode of the package that may read or write what others see (sys.settrace with opcodes, or sys.monitoring) another may go on
instead. explore() plays all schedules with up to so many preemptions. Code of the standard library runs without a switch inside.

A thread waits for another one by what is known here alone: Switches.wait() and Switches.lock().
"""

from __future__ import annotations

import dis
import gc
import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

import treadle

_PACKAGE = str(Path(treadle.__file__).parent) + os.sep
#: Parts of the names of bytecodes that read or write what other threads may see.
_VISIBLE = (
    "ATTR", "CALL", "CONTAINS", "FOR_ITER", "LOAD_METHOD", "SLICE", "STORE_DEREF", "STORE_GLOBAL", "SUBSCR", "UNPACK",
)  # fmt: skip
_visible_opcodes = {
    number for name, number in dis.opmap.items() if any(part in name for part in _VISIBLE) and "PRECALL" not in name
}
_LOAD_GLOBAL = dis.opmap["LOAD_GLOBAL"]
#: Since Python 3.12, where the opcodes of a function that is traced are told from its second call on only.
_monitoring: Any = getattr(sys, "monitoring", None)
_TOOL = 4

#: What a scene gives: the functions of its threads, and a check for afterwards, which raises AssertionError.
Scene = Tuple[Sequence[Callable[[], object]], Callable[[], object]]
#: The preemptions of a schedule: at which step which thread goes on.
Schedule = Tuple[Tuple[int, int], ...]


class Stuck(BaseException):
    """All threads wait."""


class _Thread:
    def __init__(self, function: Callable[[], object]) -> None:
        self.function = function
        self.go = threading.Lock()
        self.go.acquire()
        self.is_over = False
        #: What it waits for, unless it can go on.
        self.condition: Optional[Callable[[], object]] = None
        self.place = "its begin"

    def can_run(self) -> bool:
        return not self.is_over and (self.condition is None or bool(self.condition()))


class Switches:
    """One schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self._chosen = dict(schedule)
        self._threads: List[_Thread] = []
        self._identities: Set[Optional[int]] = set()
        self._current = 0
        self._over = threading.Event()
        self._is_stuck = False
        #: For each step the thread that ran, whether it could go on, and the others that could.
        self.steps: List[Tuple[int, bool, List[int]]] = []
        self.errors: List[BaseException] = []
        self.report: List[str] = []

    # For scenes

    def wait(self, condition: Callable[[], object]) -> None:
        """Waits until a condition holds, which other threads make true."""
        current = self._threads[self._current]
        if not condition():
            current.condition = condition
            self._step()
            current.condition = None

    def lock(self) -> "ModelLock":
        """A re-entrant lock for the threads of this schedule."""
        return ModelLock(self)

    # The schedule

    def run(self, functions: Sequence[Callable[[], object]]) -> None:
        self._threads = [_Thread(function) for function in functions]
        threads = [threading.Thread(target=self._body, args=(index,)) for index in range(len(functions))]
        for thread in threads:
            thread.start()
        self._identities = {thread.ident for thread in threads}
        if _monitoring is not None:
            _monitoring.register_callback(_TOOL, _monitoring.events.INSTRUCTION, self._monitor)
        self._threads[0].go.release()
        self._over.wait()
        for thread in threads:
            thread.join()

    def _body(self, index: int) -> None:
        own = self._threads[index]
        own.go.acquire()
        try:
            if not self._is_stuck:
                if _monitoring is None:
                    sys.settrace(self._trace)
                try:
                    own.function()
                finally:
                    sys.settrace(None)
        except Stuck:
            pass
        except BaseException as error:
            self.errors.append(error)
        own.is_over, own.place = True, "its end"
        self._step()

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._trace_opcodes

    def _trace_opcodes(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "opcode":
            self._opcode(frame, frame.f_lasti)
        return self._trace_opcodes

    def _monitor(self, _code: CodeType, offset: int) -> None:
        if threading.get_ident() in self._identities:
            self._opcode(sys._getframe(1), offset)

    def _opcode(self, frame: FrameType, offset: int) -> None:
        if _is_visible(frame, offset):
            self._threads[self._current].place = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
            self._step()

    def _step(self) -> None:
        """The running thread may go on, or another one does."""
        own = self._current
        if self._is_stuck:
            self._leave(own)
            return
        can_go_on = self._threads[own].can_run()
        others = [index for index, thread in enumerate(self._threads) if index != own and thread.can_run()]
        step = len(self.steps)
        self.steps.append((own, can_go_on, others))
        if not can_go_on and not others:
            if all(thread.is_over for thread in self._threads):
                self._over.set()
                return
            self._is_stuck = True
            self._leave(own)
            return
        following = self._chosen.get(step, own if can_go_on else others[0] if others else own)
        if following != own and following not in others:  # the scene depends on something else: the check will tell
            self.errors.append(AssertionError(f"step {step} of the schedule came otherwise than before"))
            following = own if can_go_on else others[0]
        if following == own:
            return
        self.report.append(f"thread {own} at {self._threads[own].place}, then thread {following}")
        self._current = following
        self._threads[following].go.release()
        if not self._threads[own].is_over:
            self._threads[own].go.acquire()
            if self._is_stuck:
                self._leave(own)

    def _leave(self, own: int) -> None:
        """All threads end, one after the other: nothing can go on."""
        waiting = [index for index, thread in enumerate(self._threads) if not thread.is_over and index != own]
        if self._threads[own].is_over:
            if waiting:
                self._current = waiting[0]
                self._threads[waiting[0]].go.release()
            else:
                self._over.set()
            return
        living = [(index, thread) for index, thread in enumerate(self._threads) if not thread.is_over]
        places = [f"thread {index} at {thread.place}" for index, thread in living]
        self.report.append("then all wait: " + ", ".join(places))
        raise Stuck


class ModelLock:
    """Stands for an RLock while a schedule runs."""

    def __init__(self, switches: Switches) -> None:
        self._switches = switches
        self._owner: Optional[int] = None
        self._depth = 0

    def __enter__(self) -> bool:
        own = threading.get_ident()
        if self._owner != own:
            while self._owner is not None:
                self._switches.wait(lambda: self._owner is None)
            self._owner = own
        self._depth += 1
        return True

    def __exit__(self, *_exception: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None


class Overlay:
    """A module, or what else has attributes, with some of its own."""

    def __init__(self, original: Any, **own: Any) -> None:
        self._original = original
        self.__dict__.update(own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


_code: Dict[CodeType, bytes] = {}


def _is_visible(frame: FrameType, offset: int) -> bool:
    code = frame.f_code
    text = _code.get(code)
    if text is None:
        text = _code[code] = code.co_code
    opcode = text[offset]
    if opcode == _LOAD_GLOBAL:
        argument = text[offset + 1] >> (1 if sys.version_info >= (3, 11) else 0)
        value = frame.f_globals.get(code.co_names[argument], len)
        return not callable(value) and not isinstance(value, ModuleType)
    return opcode in _visible_opcodes


def explore(scene: Callable[[Switches], Scene], preemptions: int = 1) -> int:
    """Plays all schedules of a scene. Raises AssertionError with the first that fails; returns how many there are."""
    if _monitoring is None:
        return _explore(scene, preemptions)
    _monitoring.use_tool_id(_TOOL, "switches")
    try:
        for code in _codes():
            _monitoring.set_local_events(_TOOL, code, _monitoring.events.INSTRUCTION)
        return _explore(scene, preemptions)
    finally:
        for code in _codes():
            _monitoring.set_local_events(_TOOL, code, 0)
        _monitoring.register_callback(_TOOL, _monitoring.events.INSTRUCTION, None)
        _monitoring.free_tool_id(_TOOL)


def _codes() -> List[CodeType]:
    """That of all functions of the package."""
    functions = [found for found in gc.get_objects() if isinstance(found, FunctionType)]
    codes = [function.__code__ for function in functions if function.__code__.co_filename.startswith(_PACKAGE)]
    for code in codes:  # which grows
        codes.extend(inner for inner in code.co_consts if isinstance(inner, CodeType))
    return codes


def _explore(scene: Callable[[Switches], Scene], preemptions: int) -> int:
    _play(scene, ())  # what is made at the first time alone is there then
    count = 0
    left: List[Tuple[Schedule, int]] = [((), preemptions)]
    while left:
        schedule, more = left.pop()
        switches = _play(scene, schedule)
        count += 1
        begin = schedule[-1][0] + 1 if schedule else 0
        for step in range(begin, len(switches.steps)):
            own, can_go_on, others = switches.steps[step]
            chosen = own if can_go_on else others[0] if others else own
            for other in others:
                if other != chosen and (more or not can_go_on):
                    left.append(((*schedule, (step, other)), more - 1 if can_go_on else more))
    return count


def _play(scene: Callable[[Switches], Scene], schedule: Schedule) -> Switches:
    switches = Switches(schedule)
    functions, check = scene(switches)
    gc.disable()  # a collection calls functions of the package between any two bytecodes
    try:
        switches.run(functions)
    finally:
        gc.enable()
    try:
        if switches.errors:
            raise switches.errors[0]
        assert not switches._is_stuck, "all threads wait"
        check()
    except BaseException as error:
        text = "; ".join(switches.report) or "one thread after the other"
        raise AssertionError(f"{error!r} in the schedule: {text}") from error
    return switches
