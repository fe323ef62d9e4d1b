# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Plugins that a program in Python hosts: files and modules of Python, and shared libraries."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import logging
import sys
import types
import unittest
from typing import Any, List

import treadle
from treadle import (
    DeadlockError,
    Error,
    InvalidArgument,
    LoopClosed,
    Plugin,
    PluginError,
    PluginHost,
    PluginSetting,
    PluginState,
    Scope,
    SystemFailure,
    Timeout,
    _capi,
)

from plugin_support import PluginCase
from support import WATCHDOG

#: A file that writes down what is called, in the list that the host has as an extension.
TRACING = """
    import treadle
    ID, NAME, VERSION = "org.example.tracing", "Tracing", "1.5"
    OPTIONAL, PROVIDED = ["example.trace/1"], ["example.tracing/1"]
    SETTINGS = {
        "text": "some", "flag": False, "real": 0.5,
        "count": treadle.PluginSetting(3, "how many", 0, 9),
    }
    trace = None
    def init(host):
        global trace
        trace = host.extension("example.trace/1")
        trace.append("init")
        return host
    def start(host): trace.append("start")
    def stop(host, timeout): trace.append("stop" if timeout is None else "stop in time")
    def deinit(host): trace.append("deinit")
    def get_extension(host, name): return trace
    def set(host, key, value):
        if value == "refused": raise LookupError(value)
        trace.append((key, value))
    def save(host): return b"state"
    def restore(host, state): trace.append(state)
"""


class Life(PluginCase):
    """From the load to the end."""

    def test_a_file_lives_as_a_plugin(self) -> None:
        """PLUG-1, PLUG-2, PLUG-4: nothing is called before the start, then each function once, in their order."""
        plugin = self.load(TRACING)
        self.assertEqual((plugin.id, plugin.name, plugin.version), ("org.example.tracing", "Tracing", "1.5"))
        self.assertEqual((plugin.required, plugin.optional, plugin.provided), ((), ("example.trace/1",), ("example.tracing/1",)))
        self.assertEqual(plugin.path, str(self.folder / "plugin.py"))
        self.assertEqual((plugin.state, self.trace), (PluginState.LOADED, []))
        self.assertIs(Plugin.all()[0], plugin)
        self.assertTrue(plugin.start())
        self.assertFalse(plugin.start())
        self.assertEqual(plugin.state, PluginState.STARTED)
        self.assertIs(plugin.extension("example.tracing/1"), self.trace)
        self.assertIn("started", repr(plugin))
        self.assertTrue(plugin.close())
        self.assertTrue(plugin.close())
        self.assertEqual(self.trace, ["init", "start", "stop", "deinit"])
        self.assertEqual((plugin.state, plugin.is_closed, Plugin.all()), (PluginState.CLOSED, True, []))
        self.assertRaises(LoopClosed, plugin.start)
        self.assertRaises(Error, lambda: plugin.settings)

    def test_with_starts_and_closes(self) -> None:
        """PLUG-4: what the program makes meanwhile is the program's."""
        with self.load(TRACING, timeout=WATCHDOG) as plugin:
            timer = treadle.Timer(print, delay=100)
            self.assertEqual(plugin.holders(), [])
        self.assertEqual(self.trace, ["init", "start", "stop in time", "deinit"])
        self.assertTrue(timer.is_valid)
        timer.invalidate()

    def test_one_that_is_dropped_goes_on(self) -> None:
        """PLUG-4: a plugin lives until it is closed, and is found again."""
        self.load(TRACING).start()
        gc.collect()
        (plugin,) = Plugin.all()
        self.assertEqual(plugin.state, PluginState.STARTED)
        plugin.close()

    def test_a_scope_closes_its_plugins(self) -> None:
        """PLUG-4: a plugin belongs to the scope in which it was loaded."""
        with Scope():
            self.load(TRACING).start()
        self.assertEqual(self.trace[-1], "deinit")

    def test_a_module_is_a_plugin(self) -> None:
        """PLUG-1: also one that has no file, and one that was loaded already is refused."""
        module = types.ModuleType("a module")
        vars(module).update(ID="org.example.module", VERSION="2", init=lambda host: host.name)
        with Plugin.load(module, host_name="a test") as plugin:
            self.assertIsNone(plugin.path)
            self.assertEqual(plugin.name, "org.example.module")
            self.assertCode(_capi.E_EXISTS, lambda: Plugin.load(module))
            with plugin.reload() as new:
                self.assertEqual(new.version, "2")

    def test_modules_are_private(self) -> None:
        """PLUG-7: a load makes a module of its own, which is forgotten with its end, and reads what is in the file now."""
        source = """
            import sys, dataclasses
            ID, VERSION = "org.example.private", "{0}"
            @dataclasses.dataclass
            class Instance:
                name: "str"
            def init(host): return Instance(__name__)
            PROVIDED = ["example.private/1"]
            def get_extension(instance, name): return instance
        """
        names = set(sys.modules)
        for version in "123":
            with self.load(source.replace("{0}", version)) as plugin:
                self.assertEqual(plugin.version, version)
                self.assertIn(plugin.extension("example.private/1").name, set(sys.modules) - names)
        self.assertEqual({name for name in set(sys.modules) - names if "plugin_" in name}, set())

    def test_plugins_need_each_other(self) -> None:
        """PLUG-2, PLUG-4: who provides is started before, and not closed while it is used; circles are refused."""
        provider = """
            ID, VERSION, PROVIDED = "org.example.provider", "1", ["example.provided/1"]
            def get_extension(instance, name): return {"a": "dict"}
        """
        user = """
            ID, VERSION, REQUIRED = "org.example.user", "1", ["example.provided/1"]
            def init(host): host.log(str(host.extension("example.provided/1")))
        """
        path = self.write(user, "user.py")
        one = Plugin.load(path, log=self.log)
        self.assertCode(_capi.E_NOT_FOUND, one.start)
        other = self.load(provider)
        one.start()
        self.assertEqual((other.state, self.logged[-1][2]), (PluginState.STARTED, "{'a': 'dict'}"))
        with self.assertRaises(Timeout) as caught:
            other.close(0)
        self.assertIn("plugin 'org.example.user'", str(caught.exception))
        self.assertEqual([holder.kind for holder in other.holders()], ["plugin"])
        one.close()
        other.close()
        circle = """
            ID, VERSION, PROVIDED, REQUIRED = "org.example.{0}", "1", ["example.{0}/1"], ["example.{1}/1"]
            def get_extension(instance, name): return 1
        """
        first = self.load(circle.replace("{0}", "first").replace("{1}", "second"))
        second = self.load(circle.replace("{0}", "second").replace("{1}", "first"))
        self.assertRaises(DeadlockError, first.start)
        first.close(), second.close()


class Refusals(PluginCase):
    """What is no plugin."""

    def test_files_that_are_refused(self) -> None:
        """PLUG-1: what others may write, what is no file, what does not say who it is."""
        path = self.write(TRACING)
        path.chmod(0o606)
        self.assertRaisesRegex(PluginError, "another user may write", Plugin.load, path)
        Plugin.load(path, writable=True).close()
        path.chmod(0o600)
        self.folder.chmod(0o777)
        self.assertRaisesRegex(PluginError, "directory that another user may write", Plugin.load, path)
        self.folder.chmod(0o1777)
        Plugin.load(path).close()
        self.folder.chmod(0o700)
        folder = self.folder / "folder.py"
        folder.mkdir()
        self.assertRaisesRegex(PluginError, "not a regular file", Plugin.load, folder)
        self.assertRaisesRegex(SystemFailure, "nothing.py", Plugin.load, self.folder / "nothing.py")
        for body, text in (
            ("VERSION = '1'", "it has no ID"),
            ("ID = 'org.example.x'", "it has no VERSION"),
            ("ID, VERSION = 1, '1'", "ID is a str, not int"),
            ("ID, VERSION = 'No id', '1'", "invalid id"),
            ("ID, VERSION = 'noid', '1'", "invalid id"),
            ("ID, VERSION, start = 'org.example.x', '1', 1", "its start is int"),
            ("ID, VERSION, PROVIDED = 'org.example.x', '1', ['a.b/1']", "no get_extension"),
            ("ID, VERSION, REQUIRED = 'org.example.x', '1', 'a.b/1'", "REQUIRED is a list"),
            ("ID, VERSION, REQUIRED = 'org.example.x', '1', ['a']", "extension whose name is invalid"),
            ("ID, VERSION, SETTINGS = 'org.example.x', '1', 1", "SETTINGS is a dict"),
            ("ID, VERSION, SETTINGS = 'org.example.x', '1', {'A': 1}", "an invalid key"),
            ("ID, VERSION, SETTINGS = 'org.example.x', '1', {'a': None}", "'a' is a str, a bool, an int or a float"),
            ("ID, VERSION, SETTINGS = 'org.example.x', '1', {'a': float('inf')}", "'a' is inf"),
            ("import treadle; timer = treadle.Timer(print, delay=1)", "while it is loaded: timer"),
        ):
            with self.subTest(body), self.assertRaisesRegex(PluginError, text):
                self.load(body)
        self.assertRaises(ZeroDivisionError, self.load, "1 / 0")
        self.assertRaises(SyntaxError, self.load, "1 /")

    def test_arguments_that_are_refused(self) -> None:
        """PLUG-1, PLUG-6: by the argument's name."""
        path = self.write(TRACING)
        self.assertRaises(TypeError, Plugin)
        self.assertRaisesRegex(TypeError, "source", Plugin.load, 1)
        self.assertRaisesRegex(TypeError, "settings", Plugin.load, path, ["count", 1])
        self.assertRaisesRegex(TypeError, "log", Plugin.load, path, log=1)
        self.assertRaisesRegex(TypeError, "extensions", Plugin.load, path, extensions=1)
        self.assertRaisesRegex(TypeError, "host_name", Plugin.load, path, host_name=1)
        self.assertRaisesRegex(TypeError, "timeout", Plugin.load, path, timeout="1")
        self.assertCode(_capi.E_NOT_FOUND, lambda: Plugin.load(path, {"none": 1}))
        self.assertRaises(InvalidArgument, Plugin.load, path, {"count": 10})
        self.assertRaises(InvalidArgument, Plugin.load, path, {"count": "many"})


class Settings(PluginCase):
    """Values that a plugin is given."""

    def test_settings_have_types(self) -> None:
        """PLUG-6: only what a setting's type allows reaches the plugin, and what it refuses stays as it was."""
        plugin = self.load(TRACING, {"count": 4, "real": 1e-7})
        self.assertEqual(plugin.settings, {"text": "some", "flag": False, "real": 1e-7, "count": 4})
        self.assertEqual(plugin.described_settings["count"], PluginSetting(3, "how many", 0, 9))
        plugin.set("text", "before it starts")
        self.assertEqual(self.trace, [])
        plugin.start()
        for key, value in (("count", 9), ("flag", True), ("real", 2.5), ("text", "Wörter")):
            plugin.set(key, value)
            self.assertEqual((plugin.setting(key), self.trace[-1]), (value, (key, value)))
        self.assertRaises(InvalidArgument, plugin.set, "count", 10)
        self.assertCode(_capi.E_NOT_FOUND, lambda: plugin.set("none", 1))
        self.assertCode(_capi.E_NOT_FOUND, lambda: plugin.setting("none"))
        error = self.assertCode(_capi.E_NOT_FOUND, lambda: plugin.set("text", "refused"))
        self.assertIsInstance(error.__cause__, LookupError)
        self.assertEqual((plugin.setting("text"), self.logged[-1][1]), ("Wörter", logging.WARNING))

    def test_the_host_tells_who_it_is(self) -> None:
        """PLUG-2: names, settings, extensions and the log of the program; nothing of it after the end."""
        hosts: List[PluginHost] = []
        module = types.ModuleType("asking")
        vars(module).update(
            ID="org.example.asking", VERSION="1", OPTIONAL=["example.number/1", "example.pair/1", "example.none/1"],
            SETTINGS={"count": 3}, init=hosts.append,
        )

        class Pair(ctypes.Structure):
            _fields_ = [("one", ctypes.c_int), ("other", ctypes.c_int)]

        pair = Pair(1, 2)
        with self.assertLogs("treadle.plugins", logging.INFO) as logs:
            with Plugin.load(
                module,
                host_name="the program",
                host_version="7",
                extensions={"example.number/1": ctypes.addressof(pair), "example.pair/1": pair}.get,
            ) as plugin:
                host = hosts[0]
                self.assertEqual((host.name, host.version, host.setting("count")), ("the program", "7", 3))
                self.assertIs(host.plugin, plugin)
                self.assertIs(host.extension("example.pair/1"), pair)
                self.assertEqual(host.extension("example.number/1", Pair).other, 2)
                self.assertIsNone(host.extension("example.none/1"))
                self.assertIsNone(host.extension("example.nobody/1"))
                self.assertCode(_capi.E_NOT_FOUND, lambda: host.setting("none"))
                host.log("an error", logging.ERROR)
                host.log("a word")
        self.assertEqual([record.levelno for record in logs.records], [logging.ERROR, logging.INFO])
        self.assertIn("org.example.asking: an error", logs.output[0])
        self.assertRaises(LoopClosed, host.setting, "count")
        self.assertRaises(LoopClosed, host.extension, "example.pair/1")
        host.log("nobody hears it")


class Failures(PluginCase):
    """Exceptions in the functions of a plugin."""

    FAILING = """
        import treadle
        ID, VERSION, PROVIDED, SETTINGS = "org.example.failing", "1", ["example.failing/1"], {"where": ""}
        def fail(where, host):
            if host.setting("where") == where: raise RuntimeError("as wanted")
        def init(host):
            treadle.RunLoop.current().every(100)(print)
            fail("init", host)
            return host
        def start(host): fail("start", host)
        def stop(host, timeout): fail("stop", host)
        def deinit(host): fail("deinit", host)
        def get_extension(host, name): fail("get_extension", host)
        def set(host, key, value): fail("set", host)
        def save(host):
            fail("save", host)
            return b""
        def restore(host, state): fail("restore", host)
    """

    def test_an_exception_is_a_status_and_a_message(self) -> None:
        """PLUG-2, PLUG-4: of every function; whatever fails, the plugin ends, with all that it has made."""
        for where in ("init", "start", "restore"):
            with self.subTest(where):
                plugin = self.load(self.FAILING, {"where": where})
                if where == "restore":
                    plugin.start()
                with self.assertRaises(PluginError) as caught:
                    (plugin.reload if where == "restore" else plugin.start)()
                self.assertIsInstance(caught.exception.__cause__, RuntimeError)
                self.check_message(where)
        for where in ("stop", "deinit", "get_extension", "save", "set"):
            with self.subTest(where):
                plugin = self.load(self.FAILING, {"where": where})
                plugin.start()
                self.assertCode(_capi.E_NOT_FOUND, lambda: plugin.extension("example.failing/1"))
                if where == "set":
                    self.assertCode(_capi.E_CALLBACK, lambda: plugin.set("where", "set"))
                if where == "save":
                    plugin = plugin.reload()
                self.assertTrue(plugin.close())
                self.check_message(where)

    def check_message(self, where: str) -> None:
        texts = [text for _, _, text in self.logged if text.startswith(f"{where} has raised RuntimeError: as wanted (plugin.py")]
        self.assertTrue(texts, self.logged)
        self.assertEqual(Plugin.all(), [])
        self.logged.clear()

    def test_a_log_that_fails_harms_nobody(self) -> None:
        """PLUG-2."""

        def log(*_arguments: object) -> None:
            raise RuntimeError("no log")

        path = self.write("ID, VERSION, init = 'org.example.x', '1', lambda host: host.log('a')")
        written = io.StringIO()
        with contextlib.redirect_stderr(written), Plugin.load(path, log=log):
            pass
        self.assertIn("no log", written.getvalue())


if __name__ == "__main__":
    unittest.main()
