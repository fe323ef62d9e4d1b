# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Arguments of the wrong type: every public function refuses them in the package's words."""

from __future__ import annotations

import ctypes
import inspect
import itertools
import linecache
import os
import random
import types
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import treadle
from treadle import Activity, FileDescriptor, MessagePort, Observer, Port, RunLoop, Source, Thread, Timer

from support import TestCase, in_thread

_numbers = itertools.count()
PACKAGE = str(Path(treadle.__file__).parent)
ABS = ctypes.CDLL(None).abs


class Stranger:
    """An object that is nothing of what anybody wants."""

    def __repr__(self) -> str:
        return "<a stranger>"


STRANGERS: List[Any] = [None, Stranger(), Stranger, "text", "", "a\0b", "\ud800", b"bytes", 1j, [], [[]], {}, {1: 2}, [b"x"], [None]]
#: Of the right type or not, for what does not wait.
NUMBERS: List[Any] = [0, -1, 2**31, 2**70, -(2**70), 10**400, 1.5, float("nan"), float("inf"), True]


def nothing(*_arguments: object) -> None:
    """A callback."""


def plugin_module(name: str, given: List[treadle.PluginHost]) -> types.ModuleType:
    """A plugin with a setting."""
    module = types.ModuleType(name)
    vars(module).update(ID=f"org.example.{name}", VERSION="1", SETTINGS={"n": 1}, init=given.append)
    return module


def close_plugins() -> None:
    """What the calls have loaded."""
    for plugin in treadle.Plugin.all():
        plugin.close()


class Call(NamedTuple):
    """A function, and how to make arguments that it takes."""

    name: str
    function: Callable[..., Any]
    arguments: Tuple[Any, ...] = ()
    keywords: Dict[str, Any] = {}
    #: Whether it waits for as long as a number says.
    waits: bool = False


def calls() -> List[Call]:
    """A call of each public function that takes arguments; on a thread whose loop nobody else needs."""
    loop = RunLoop.current()
    source, timer, observer = Source(), Timer(nothing, interval=1), Observer(nothing)
    reader, _ = os.pipe()
    port = Port(capacity=2**20)  # more than all calls send
    name = f"treadle.arguments.{os.getpid()}.{next(_numbers)}"
    functions = {"nothing": treadle.closure("v", nothing)}
    server, named = MessagePort.local(name, functions=functions), MessagePort.local(None)
    loop.add(server, "a mode")  # which keeps it
    remote = MessagePort.remote(name)
    local = {"users": [1], "pickle": False, "functions": functions, "label": "a label"}
    request = {"id": 1, "mode": "a mode", "timeout": 0.0}
    descriptor = FileDescriptor(os.dup(reader), nothing, close_fd=True)
    finished = Thread(nothing)
    finished.start()
    finished.join()
    thread = Thread(nothing)
    lock, condition = treadle.Lock(), treadle.Condition()
    done = loop.perform(nothing)
    loop.run(seconds=0)
    closure = treadle.closure("v", nothing)
    scope = treadle.Scope()
    close_plugins()
    given: List[treadle.PluginHost] = []
    plugin, reloaded = (treadle.Plugin.load(plugin_module(name, given), log=nothing) for name in ("asked", "reloaded"))
    plugin.start()
    host = given[0]

    def drop(item: Any) -> None:
        """What was made is not to stay."""
        if isinstance(item, (treadle.Item, treadle.Registration)):
            item.__exit__()
        elif isinstance(item, treadle.Future):
            item.cancel()
        elif isinstance(item, treadle.Closure):
            item.invalidate()
        elif isinstance(item, treadle.Plugin):
            item.close()
        elif callable(item):
            drop(item(nothing))

    def dropping(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **keywords: drop(function(*arguments, **keywords))

    def setter(item: Any, name: str) -> Callable[[Any], None]:
        return lambda value: setattr(item, name, value)

    def acquire(timeout: Any) -> None:
        if lock.acquire(timeout):
            lock.release()

    def held(function: Callable[..., Any]) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            with condition:
                function(*arguments)

        return call

    def new_thread(*arguments: Any, **keywords: Any) -> None:
        # One that is never started is nobody's to join.
        Thread(*arguments, **keywords)

    def started(timeout: Any) -> None:
        Thread(Thread.declare_ready, detached=True).start_and_wait(timeout)

    modes: Dict[str, Any] = {"modes": "some"}
    plugin_options = {"host_name": "a", "host_version": "1", "extensions": {}, "log": nothing, "writable": True, "timeout": 1.0}
    order: Dict[str, Any] = {"order": 1, "label": "a label"}
    listed = [
        Call("RunLoop.run", loop.run, ("empty", 0.0), waits=True),
        Call("RunLoop.add_common_mode", loop.add_common_mode, ("common already",)),
        Call("RunLoop.is_common_mode", loop.is_common_mode, ("some",)),
        Call("RunLoop.add", loop.add, (source, "some")),
        Call("RunLoop.add", loop.add, (source,), modes),
        Call("RunLoop.remove", loop.remove, (source, "some")),
        Call("RunLoop.contains", loop.contains, (source, "some")),
        Call("RunLoop.next_fire", loop.next_fire, ("some",)),
        Call("RunLoop.perform", dropping(loop.perform), (nothing,), modes),
        Call("RunLoop.post", loop.post, (nothing,)),
        Call("RunLoop.invoke", loop.invoke, (ABS, -1), {"wait": True, "timeout": None, "signature": None}),
        Call("RunLoop.invoke", dropping(loop.invoke), (ABS, -1), {"wait": False, "modes": "some"}),
        Call("RunLoop.every", dropping(loop.every), (10.0,), {"tolerance": 0.0, **modes}),
        Call("RunLoop.after", dropping(loop.after), (10.0,), modes),
        Call("RunLoop.on", dropping(loop.on), (Activity.EXIT,), {"order": 0, "repeats": True, **modes}),
        Call("RunLoop.reader", dropping(loop.reader), (reader,), modes),
        Call("Source", dropping(Source), (), {"perform": nothing, "schedule": nothing, "cancel": nothing, **order}),
        Call("Source.signal", source.signal, (), {"wake": False}),
        Call("Timer", dropping(Timer), (nothing,), {"interval": 1.0, "delay": 1.0, "tolerance": 0.1, "label": "a label"}),
        Call("Timer", dropping(Timer), (nothing,), {"fire_at": 1.0}),
        Call("Timer.arm", timer.arm, (1000.0,)),
        Call("Timer.next_fire", setter(timer, "next_fire"), (1.0,)),
        Call("Timer.tolerance", setter(timer, "tolerance"), (1.0,)),
        Call("Observer", dropping(Observer), (nothing, Activity.EXIT), {"repeats": True, **order}),
        Call("FileDescriptor", dropping(FileDescriptor), (reader, nothing, treadle.Events.READ), {"oneshot": True}),
        Call("FileDescriptor.events", setter(descriptor, "events"), (treadle.Events.READ,)),
        Call("MessagePort.local", dropping(MessagePort.local), (None, nothing), local),
        Call("MessagePort.remote", dropping(MessagePort.remote), (name,), {"label": "a label", "owner": os.getuid()}),
        Call("MessagePort.name", lambda text: setattr(named, "name", text), (f"{name}.named",), {}),
        Call("MessagePort.send", remote.send, (b"bytes",), {"id": 1, "timeout": 0.0}, True),
        Call("MessagePort.request", remote.request, (b"bytes",), request, True),
        Call("MessagePort.call", remote.call, ("nothing", "v"), {"mode": "a mode", "timeout": 0.0}, True),
        Call("Port", dropping(Port), (nothing,), {"capacity": 1, "pickle": False, "label": "a label"}),
        Call("Port.send", port.send, (b"bytes", port), {"id": 1, "reply_port": port, "timeout": 0.0}),
        Call("Item.close", observer.close, (1.0,)),
        Call("Thread", new_thread, (nothing, (1,), {"a": 1}), {"name": "a", "stack_size": 2**20, "priority": 0.5}),
        Call("Thread.name", setter(thread, "name"), ("a",)),
        Call("Thread.stack_size", setter(thread, "stack_size"), (2**20,)),
        Call("Thread.priority", setter(thread, "priority"), (0.5,)),
        Call("Thread.detached", setter(thread, "detached"), (True,)),
        Call("Thread.detach", Thread.detach, (nothing,)),
        Call("Thread.start_and_wait", started, (1.0,)),
        Call("Thread.join", finished.join, (1.0,)),
        Call("Thread.stop", finished.stop, (), {"at_once": True}),
        Call("Thread.stop_and_join", finished.stop_and_join, (1.0,), {"at_once": True}),
        Call("Thread.perform", dropping(Thread.current().perform), (nothing,), {"wait": False, **modes}),
        Call("Thread.perform", dropping(Thread.current().perform), (nothing,), {"wait": True, **modes}),
        Call("Thread.invoke", Thread.current().invoke, (ABS, -1), {"wait": True, "timeout": None}),
        Call("Future.result", done.result, (1.0,)),
        Call("Future.exception", done.exception, (1.0,)),
        Call("Lock", treadle.Lock, (), {"recursive": True}),
        Call("Lock.acquire", acquire, (0.0,)),
        Call("Condition", treadle.Condition, (treadle.Lock(),)),
        Call("Condition.wait", held(condition.wait), (0.0,), waits=True),
        Call("Condition.wait_for", held(condition.wait_for), (lambda: True, 0.0)),
        Call("pool.add", treadle.pool.add, (nothing,)),
        Call("closure", dropping(treadle.closure), ("iv", nothing), {"loop": loop, "delivery": "async", "default": 1}),
        Call("closure", dropping(treadle.closure), ("v", nothing), {"thread": thread, "modes": "some", "timeout": 1.0}),
        Call("closure", dropping(treadle.closure), ("v", nothing), {"queue_limit": 1, "on_full": "fail"}),
        Call("closure", dropping(treadle.closure), ("v", nothing), {"may_allocate": True, "keep_code": True}),
        Call("Closure.close", closure.close, (1.0,)),
        Call("Scope", treadle.Scope, (), {"label": "a label", "timeout": 1.0}),
        Call("Scope.close", scope.close, (1.0,)),
        Call("Plugin.load", dropping(treadle.Plugin.load), (plugin_module("loaded", given), {"n": 2}), plugin_options),
        Call("Plugin.reload", dropping(reloaded.reload), (None, None), {"timeout": 1.0}),
        Call("Plugin.setting", plugin.setting, ("n",)),
        Call("Plugin.set", plugin.set, ("n", 2)),
        Call("Plugin.extension", plugin.extension, ("example.none/1", ctypes.c_int)),
        Call("Plugin.close", reloaded.close, (1.0,)),
        Call("PluginHost.setting", host.setting, ("n",)),
        Call("PluginHost.extension", host.extension, ("example.none/1", ctypes.c_int)),
        Call("PluginHost.log", host.log, ("a text", 10)),
        Call("notifications.add", dropping(treadle.notifications.add), (1, nothing, thread)),
        Call("perform_after", dropping(treadle.perform_after), (10.0, nothing), {**modes, "target": None}),
        Call("cancel_performs", treadle.cancel_performs, (nothing, nothing)),
        Call("perform_in_background", treadle.perform_in_background, (nothing,)),
        Call("perform_on_main", dropping(treadle.perform_on_main), (nothing,), modes),
        Call("set_last_resort", treadle.set_last_resort, (None,)),
        Call("trace_mark", treadle.trace_mark, ("label", 1)),
    ]
    return listed + by_annotations(listed)


def by_annotations(listed: List[Call]) -> List[Call]:
    """A call of each public function of a class or a module that has no row, where the annotations of its parameters say all."""
    good: Dict[str, Any] = {"RunLoop": RunLoop.current(), "Thread": Thread.current(), "float": 0.0, "int": 1, "str": "some", "bool": True}
    known, found = {call.name for call in listed}, []
    for name in public():
        owner, _, attribute = name.rpartition(".")
        function = getattr(getattr(treadle, owner, None) if owner else treadle, attribute, None)
        if name not in known and inspect.isroutine(function):
            asked = [parameter.annotation for parameter in inspect.signature(function).parameters.values()]
            if all(annotation in good for annotation in asked):
                found.append(Call(name, function, tuple(good[annotation] for annotation in asked)))
    return found


#: What takes anything, as the classes of Python's library do that they are like; or is not called by clients.
FREE = {
    "DelayedPerform", "Error", "ExceptHookArgs", "LastResortArgs", "ClosureInfo", "ThreadDictionary", "Registration", "Item",
    "HasFileno", "IncomingMessage", "Message", "Mode", "ReceivedDescriptor", "excepthook", "shutdown", "trace_start", "Closure", "Invocation", "RunLoop", "Future",
    "Item.__exit__", "Closure.__call__", "Closure.__exit__", "Registration.run", "Condition.__exit__", "pool.__exit__", "Lock.__exit__",
    "Registration.__exit__", "RunLoop.__contains__",
}  # fmt: skip


def public() -> List[str]:
    """The public functions, methods and constructors that take arguments."""
    found: List[str] = []
    values = {name: getattr(treadle, name) for name in treadle.__all__}
    values["notifications.add"] = treadle.notifications.add
    for name, value in values.items():
        if name in FREE or inspect.ismodule(value) or inspect.isclass(value) and issubclass(value, (int, BaseException)):
            continue
        if not inspect.isclass(value):
            if callable(value) and inspect.signature(value).parameters:
                found.append(name)
            continue
        for attribute, member in vars(value).items():
            method = getattr(member, "__func__", member)
            own = attribute == "__init__" or not attribute.startswith("_")
            if own and isinstance(member, property) and member.fset is not None:
                found.append(f"{name}.{attribute}")
            elif own and inspect.isfunction(method):
                bound = not isinstance(member, staticmethod)
                if len(inspect.signature(method).parameters) > bound:
                    found.append(name if attribute == "__init__" else f"{name}.{attribute}")
    return [name for name in found if name not in FREE]


class Arguments(TestCase):
    """Each call ends well, or with TypeError, ValueError or one of the package's errors, raised by the package."""

    def attempt(self, call: Call, arguments: Tuple[Any, ...], keywords: Dict[str, Any]) -> Optional[str]:
        """What is wrong with the way in which a call is refused."""
        try:
            call.function(*arguments, **keywords)
        except (TypeError, ValueError, treadle.Error) as error:
            traceback = error.__traceback__
            while traceback is not None and traceback.tb_next is not None:
                traceback = traceback.tb_next
            assert traceback is not None
            code = traceback.tb_frame.f_code
            line = linecache.getline(code.co_filename, traceback.tb_lineno).strip()
            if code.co_filename.startswith(PACKAGE) and line.startswith("raise"):
                return None
            return f"{type(error).__name__}: {error} ({Path(code.co_filename).name}: {line})"
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return None

    def tried(self, call: Call, arguments: Tuple[Any, ...], keywords: Dict[str, Any]) -> None:
        problem = self.attempt(call, arguments, keywords)
        if problem is not None:
            self.problems.append(f"{call.name}{arguments!r:.120} {keywords!r:.120}: {problem}")

    def setUp(self) -> None:
        super().setUp()
        self.problems: List[str] = []
        self.addCleanup(treadle.set_last_resort, None)
        self.addCleanup(close_plugins)

    def test_each_argument(self) -> None:
        """One argument is of a wrong type, and the others are right."""
        in_thread(self.try_each_argument)
        self.assertEqual(self.problems, [], "\n" + "\n".join(self.problems))

    def try_each_argument(self) -> None:
        for call in calls():
            self.watch()
            for value in STRANGERS + NUMBERS:
                if call.waits and (value is None or value in NUMBERS):
                    continue
                for index in range(len(call.arguments)):
                    arguments = call.arguments[:index] + (value,) + call.arguments[index + 1 :]
                    self.tried(call, arguments, call.keywords)
                for name in call.keywords:
                    self.tried(call, call.arguments, {**call.keywords, name: value})

    def test_random_arguments(self) -> None:
        """Any arguments are of a wrong type. TREADLE_TEST_SEED plays a run again."""
        seed = int(os.environ.get("TREADLE_TEST_SEED", random.randrange(2**32)))
        in_thread(lambda: self.try_at_random(random.Random(seed)))
        self.assertEqual(self.problems, [], f"TREADLE_TEST_SEED={seed}\n" + "\n".join(self.problems))

    def try_at_random(self, chance: random.Random) -> None:

        def any_of(value: Any) -> Any:
            return value if chance.random() < 0.4 else chance.choice(STRANGERS)

        able = [call for call in calls() if not call.waits]
        for _ in range(3000):
            call = chance.choice(able)
            keywords = {name: any_of(value) for name, value in call.keywords.items() if chance.random() < 0.8}
            self.tried(call, tuple(map(any_of, call.arguments)), keywords)

    def test_every_function_is_tried(self) -> None:
        """What is public and takes arguments is in the table above."""
        known = {call.name for call in in_thread(calls)}
        self.assertEqual([name for name in public() if name not in known], [])


if __name__ == "__main__":
    unittest.main()
