# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What belongs to plugins in Python, and how they end; plugins in C and whole processes."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sysconfig
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, Dict, List

import treadle
from treadle import (
    Error,
    LoopClosed,
    Plugin,
    PluginError,
    PluginState,
    RunLoop,
    SystemFailure,
    Timeout,
    _plugin_calls,
    _plugin_owner,
)

from plugin_support import PluginCase
from support import INCLUDE, REPOSITORY, WATCHDOG, LoopThread, eventually, needs_checkout, run_python

#: struct lines of the example's plugins.
LISTENER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
CHANGE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, LISTENER, ctypes.c_void_p)


class Lines(ctypes.Structure):
    """struct example_texts."""

    _fields_ = [("struct_size", ctypes.c_size_t), ("instance", ctypes.c_void_p), ("add", CHANGE), ("remove", CHANGE)]


class Ownership(PluginCase):
    """All that a plugin makes ends with it."""

    def test_what_is_made_anywhere_belongs_to_it(self) -> None:
        """PLUG-3: in its functions, in callbacks, on threads of both kinds, by a function that others call."""
        source = """
            import threading, treadle
            ID, VERSION, PROVIDED = "org.example.making", "1", ["example.making/1"]
            timers = []
            def make(kind):
                timer = treadle.Timer(print, delay=1000, label=kind)
                timers.append(timer)
                treadle.RunLoop.current().add(timer)
            def start(_):
                loop = treadle.RunLoop.current()
                make("start")
                loop.after(0)(lambda timer: make("callback"))
                treadle.Thread(lambda: (make("thread"), treadle.RunLoop.current().run())).start_and_wait()
                thread = threading.Thread(target=lambda: make("other"))
                thread.start()
                thread.join()
                loop.post(lambda: loop.post(make, "post"))
                loop.add(treadle.Port(label="port"))
            def get_extension(_, name): return make
        """
        loop = RunLoop.current()
        with self.load(source) as plugin:
            mine = loop.every(1000)(lambda timer: None)
            plugin.extension("example.making/1")("extension")
            wanted = {"start", "callback", "thread", "other", "post", "port", "extension"}
            while not wanted <= {holder.label for holder in plugin.holders() if holder.kind in ("timer", "port")}:
                loop.run(seconds=0.001)
        self.assertTrue(mine.is_valid)
        self.assertEqual(loop.items(), [mine])
        mine.invalidate()

    def test_it_is_closed_at_its_busiest(self) -> None:
        """PLUG-3, PLUG-4: threads that make, post and wait are told, and end; the program's run goes on."""
        source = """
            import threading, treadle
            ID, VERSION = "org.example.busy", "1"
            ended = []
            def init(host): return host
            def start(host):
                loop = treadle.RunLoop.current()
                def tick(timer):
                    host.log("tick")
                    loop.every(0.001)(lambda timer: None)
                    loop.post(int)
                loop.every(0.0002)(tick)
                def body():
                    treadle.RunLoop.current().every(0.0002)(lambda timer: loop.post(int))
                    treadle.RunLoop.current().run()
                for _ in range(2): treadle.Thread(body).start()
                def other():
                    try:
                        while True: loop.perform(int).result()
                    except treadle.LoopClosed:
                        ended.append(True)
                host.thread = threading.Thread(target=other)
                host.thread.start()
            def deinit(host):
                host.thread.join()
                assert ended
        """
        heard = threading.Event()

        def hear(id: str, level: int, text: str) -> None:
            self.log(id, level, text)
            heard.set()

        for _ in range(3):
            heard.clear()
            with LoopThread() as worker:
                plugin = Plugin.load(self.write(source), log=hear)
                worker.loop.perform(plugin.start).result()
                self.wait(heard)
                self.assertTrue(plugin.close())
                self.assertEqual(worker.loop.perform(str, 1).result(), "1")
            self.assertIsNone(worker.error)
        self.assertEqual({text for _, _, text in self.logged}, {"tick"})

    def test_those_who_wait_for_its_posts_are_told(self) -> None:
        """PLUG-4, PERF-7: before its deinit, which may wait for them; and by whomever it is closed."""
        source = """
            import threading, treadle
            ID, VERSION, OPTIONAL = "org.example.waiting", "1", ["example.trace/1"]
            def init(host): return host
            def start(host):
                trace, loop = host.extension("example.trace/1"), treadle.RunLoop.current()
                def wait():
                    try: loop.perform(int, modes="never run").result()
                    except treadle.LoopClosed: trace.append("told")
                host.thread = threading.Thread(target=wait)
                host.thread.start()
                treadle.Thread(wait).start()
            def deinit(host):
                host.thread.join()
                host.extension("example.trace/1").append("deinit")
        """
        for is_closed_by_c in (False, True):
            self.trace.clear()
            with LoopThread() as worker, self.load(source) as plugin:
                worker.loop.perform(plugin.start).result()
                self.assertTrue(eventually(lambda: [holder.kind for holder in plugin.holders()].count("post") == 2))
                if is_closed_by_c:
                    self.assertEqual(treadle._library.native.treadle_close(plugin._handle, treadle._capi.FOREVER), 0)
                else:
                    self.assertTrue(plugin.close())
            self.assertEqual(self.trace, ["told", "told", "deinit"])

    def test_it_closes_itself(self) -> None:
        """PLUG-4: from inside of a callback it is put off."""
        source = """
            import treadle
            ID, VERSION, OPTIONAL = "org.example.ending", "1", ["example.trace/1"]
            def init(host): return host
            def start(host):
                trace = host.extension("example.trace/1")
                def tick(timer):
                    trace.append(host.plugin.close())
                    try:
                        treadle.Timer(print, delay=1)
                    except treadle.LoopClosed:
                        trace.append("refused")
                treadle.RunLoop.current().every(0.001)(tick)
            def deinit(host): host.extension("example.trace/1").append("deinit")
        """
        plugin = self.load(source)
        plugin.start()
        loop = RunLoop.current()
        with loop.every(1000)(lambda timer: None):
            while not plugin.is_closed:
                loop.run(seconds=0.005)
        self.assertEqual(self.trace, [False, "refused", "deinit"])

    def test_a_stop_gets_the_time_that_is_left(self) -> None:
        """PLUG-4: all of it, though the wait is cut in slices; what does not end is named."""
        source = """
            import threading, treadle
            ID, VERSION, OPTIONAL = "org.example.slow", "1", ["example.trace/1"]
            def init(host): return host.extension("example.trace/1")
            def start(trace):
                treadle.Thread(trace[0].wait).start()
            def stop(trace, timeout): trace.append(timeout)
        """
        event = threading.Event()
        self.trace.append(event)
        plugin = self.load(source)
        plugin.start()
        with self.assertRaises(Timeout) as caught:
            plugin.close(0.2)
        self.assertIn(": thread ", str(caught.exception))
        self.assertTrue(0.1 < self.trace[1] <= 0.2, self.trace)
        event.set()
        plugin.close()
        self.assertEqual(len(self.trace), 2)


class Reloading(PluginCase):
    """A new file in the place of the old one."""

    SOURCE = """
        ID, VERSION, PROVIDED = "org.example.state", "{0}", ["example.state/1"]
        SETTINGS = {"step": 1}
        class State: value = 0
        def init(host):
            state = State()
            state.step = host.setting("step")
            return state
        def get_extension(state, name): return state
        def save(state): return b"%d" % (state.value + state.step)
        def restore(state, saved): state.value = int(saved)
    """

    def version(self, number: int) -> str:
        return self.SOURCE.replace("{0}", str(number))

    def test_a_changed_file_takes_over_the_state(self) -> None:
        """PLUG-7: state, settings and log; the old one is closed."""
        plugin = self.load(self.version(1), {"step": 10})
        plugin.start()
        for number in range(2, 6):
            self.write(self.version(number))
            if number == 4:
                plugin.set("step", 20)
            self.assertIs(plugin.reload(timeout=WATCHDOG), plugin)
            self.assertEqual((plugin.version, plugin.state), (str(number), PluginState.STARTED))
            self.assertEqual(Plugin.all(), [plugin])
        self.assertEqual(plugin.extension("example.state/1").value, 50)
        self.assertEqual(plugin.reload(settings={}).settings, {"step": 1})

    def test_the_object_follows(self) -> None:
        """PLUG-4, PLUG-7: the object is for the successor: the end of its block closes that, also after a failed reload."""
        with self.load(self.version(1)) as plugin:
            plugin.reload()
            self.write(self.version(2))
            plugin.reload()
            self.assertEqual(plugin.version, "2")
            self.assertEqual(plugin.extension("example.state/1").value, 2)
            self.write("1 / 0")
            self.assertRaises(ZeroDivisionError, plugin.reload)
            self.assertEqual(plugin.state, PluginState.STARTED)
        self.assertEqual((Plugin.all(), plugin.state), ([], PluginState.CLOSED))
        with self.load(self.version(3)) as plugin:
            self.write(self.version(4) + "\n        def start(state): 1 / 0\n")
            self.assertRaises(PluginError, plugin.reload)
            self.assertEqual((Plugin.all(), plugin.state), ([], PluginState.CLOSED))

    def test_another_object_for_the_successor(self) -> None:
        """PLUG-7: one that somebody gets while the successor starts stays usable beside the one that follows."""
        seen: List[Plugin] = []
        source = self.SOURCE + """
        def start(state):
            import treadle
            state.plugins = treadle.Plugin.all()
        """
        with self.load(source) as plugin:
            plugin.reload()
            seen += plugin.extension("example.state/1").plugins
            self.assertEqual([other.state for other in seen], [PluginState.STARTED])
            self.assertEqual(Plugin.all(), [plugin])
        self.assertEqual([other.state for other in seen], [PluginState.CLOSED])

    def test_a_file_that_is_no_plugin_changes_nothing(self) -> None:
        """PLUG-7: until the old one has ended."""
        plugin = self.load(self.version(1))
        plugin.start()
        for source in ("1 / 0", "VERSION = '1'", "ID, VERSION = 'org.example.other', '1'"):
            self.write(source)
            with self.subTest(source), self.assertRaises((ZeroDivisionError, PluginError)):
                plugin.reload()
            self.assertEqual(plugin.state, PluginState.STARTED)
        plugin.close()
        self.assertRaises(PluginError, plugin.reload)


class Libraries(PluginCase):
    """Plugins in C."""

    built: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.built = Path(folder.name)

    def build(self, name: str) -> Path:
        target = self.built / f"{name}.so"
        if not target.exists():
            flags = ["-std=c11", "-D_GNU_SOURCE", "-DTREADLE_PLUGIN", f"-I{INCLUDE}", "-fPIC", "-shared"]
            subprocess.run(["cc", *flags, str(REPOSITORY / "examples/plugins" / f"{name}.c"), "-o", str(target)], check=True)
            target.chmod(0o700)
        return target

    @needs_checkout
    def test_a_library_is_hosted(self) -> None:
        """PLUG-1 to PLUG-6: settings, an extension as a struct, a listener of Python, the end."""
        told: List[bytes] = []
        with Plugin.load(self.build("watcher"), {"path": str(self.folder)}, log=self.log) as plugin:
            self.assertEqual((plugin.id, plugin.provided), ("org.example.watcher", ("example.watcher/1",)))
            self.assertEqual(plugin.path, str(self.build("watcher")))
            watcher = plugin.extension("example.watcher/1", Lines)
            self.assertEqual(plugin.extension("example.watcher/1"), ctypes.addressof(watcher))
            loop = RunLoop.current()

            def be_told(_info: Any, text: bytes) -> None:
                told.append(text)
                loop.stop()

            listener = treadle.closure(LISTENER, be_told)
            self.assertEqual(watcher.add(watcher.instance, listener.pointer, None), 0)
            (self.folder / "a file").write_text("text")
            loop.run(seconds=WATCHDOG)
            self.assertEqual(told, [b"a file"])
            self.assertRaises(Error, plugin.set, "path", str(self.folder / "nothing"))
            self.assertEqual(plugin.settings, {"path": str(self.folder)})
            plugin = plugin.reload()
            self.assertEqual(plugin.state, PluginState.STARTED)
            plugin.close()
        self.assertRaises(PluginError, Plugin.load, self.write("no library", "none.so"))
        self.assertRaises(SystemFailure, Plugin.load, self.folder / "nothing.so")

    @needs_checkout
    def test_the_counter_counts_lines(self) -> None:
        """PLUG-2, PLUG-6, PLUG-7: the example between plugins in C, and with its state after a reload."""
        log = self.folder / "log"
        log.write_text("")
        plugins = [
            Plugin.load(self.build("watcher"), {"path": str(self.folder)}),
            Plugin.load(self.build("source_log"), {"file": str(log)}),
            Plugin.load(self.build("filter"), {"word": "error"}),
        ]
        loop = RunLoop.current()

        def heard(id: str, level: int, text: str) -> None:
            self.log(id, level, text)
            if text == wanted:
                loop.stop()

        wanted = "error: 2, disk: 1"
        settings: Dict[str, Any] = {"words": "error,disk", "interval": 0.005}
        counter = Plugin.load(REPOSITORY / "examples/plugins/counter.py", settings, log=heard)
        counter.start()
        with log.open("a") as file:
            file.write("an error of the disk\nall is well\nan error\n")
        loop.run(seconds=WATCHDOG)
        self.assertEqual(counter.extension("example.counts/1")(b"error"), 2)
        self.assertRaises(Error, counter.set, "words", "other")
        counter.set("interval", 0.001)
        counter = counter.reload()
        self.assertEqual(counter.extension("example.counts/1")(b"disk"), 1)
        wanted = "error: 3, disk: 1"
        with log.open("a") as file:
            file.write("one more error\n")
        loop.run(seconds=WATCHDOG)
        self.assertIn(wanted, {text for _, _, text in self.logged})
        for plugin in (counter, *reversed(plugins)):
            plugin.close(WATCHDOG)

    @unittest.skipUnless((Path(sysconfig.get_path("include")) / "Python.h").is_file(), "needs the headers of this Python")
    @needs_checkout
    def test_the_plugin_that_brings_python_takes_the_one_that_is_there(self) -> None:
        """PLUG-2, PLUG-4: files that it loads are plugins of this process; its end is theirs."""
        target, folder = self.folder / "python.so", REPOSITORY / "bindings/python/plugin"
        flags = ["-std=c11", "-D_GNU_SOURCE", "-DTREADLE_PLUGIN", '-DTREADLE_PYTHON_PROGRAM=""', "-fPIC", "-shared"]
        folders = [f"-I{INCLUDE}", f"-I{sysconfig.get_path('include')}"]
        subprocess.run(["cc", *flags, *folders, str(folder / "treadle_python_plugin.c"), "-o", str(target)], check=True)
        target.chmod(0o700)
        self.write("ID, VERSION, SETTINGS, init = 'org.example.inner', '1', {'n': 1}, lambda host: host.log(host.name)")
        settings = {"files": str(self.folder / "plugin.py"), "settings": "org.example.inner.n=2"}
        with Plugin.load(target, settings, host_name="the program", log=self.log) as python:
            (inner,) = [plugin for plugin in Plugin.all() if plugin is not python]
            self.assertEqual((inner.id, inner.settings), ("org.example.inner", {"n": 2}))
            self.assertEqual(self.logged[-1][::2], ("org.treadle.python", "org.example.inner: the program"))
        self.assertEqual((inner.state, Plugin.all()), (PluginState.CLOSED, []))
        python = Plugin.load(target, {"settings": "org.example.nobody.n=2"}, log=self.log)
        self.assertRaises(PluginError, python.start)
        said, stays = (entry[2] for entry in self.logged[-2:])
        self.assertIn("org.example.nobody", said)
        self.assertIn("stays mapped", stays)

    @needs_checkout
    def test_structs_are_those_of_the_c_compiler(self) -> None:
        """ABI-7: what the package has written by hand."""
        names = [field[0] for field in _plugin_calls.HostStruct._fields_]
        lines = "".join(f'printf("%zu\\n", offsetof(struct treadle_plugin_host, {name}));' for name in names)
        program = self.folder / "probe"
        source = f"#include <stdio.h>\n#include <treadle.h>\nint main(void) {{ {lines} }}"
        subprocess.run(["cc", "-x", "c", f"-I{INCLUDE}", "-o", str(program), "-"], input=source, text=True, check=True)
        output = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
        offsets = [getattr(_plugin_calls.HostStruct, name).offset for name in names]
        self.assertEqual([int(number) for number in output.split()], offsets)

    @needs_checkout
    def test_the_makers_are_those_of_the_table(self) -> None:
        """PLUG-3: what a plugin in C hands itself over to is looked at for one in Python, as far as the package calls it."""
        table = (INCLUDE / "treadle/plugin_table.h").read_text(encoding="utf-8")
        files = (path for path in Path(treadle.__file__).parent.glob("*.py") if path.name != "_capi.py")
        package = "".join(path.read_text(encoding="utf-8") for path in files)
        names = {f"treadle_{name}" for name in re.findall(r"\(\*(\w+)\)\(const treadle_plugin_host \*plugin", table)}
        called = {name for name in names if re.search(rf"native\.{name}\b", package)}
        # The registration of the package belongs to nobody.
        self.assertEqual(called - {"treadle_host_register"}, set(_plugin_owner.MAKERS))


class Processes(PluginCase):
    """The ends of processes."""

    SCRIPT = """
import os, sys, treadle
plugin = treadle.Plugin.load(sys.argv[1])
plugin.start()
treadle.RunLoop.current().run(seconds=0.02)
"""
    BUSY = """
        import treadle
        ID, VERSION = "org.example.busy", "1"
        def start(_):
            treadle.RunLoop.current().every(0.001)(lambda timer: None)
            def body():
                treadle.RunLoop.current().every(0.0001)(lambda timer: treadle.Timer(print, delay=1))
                treadle.RunLoop.current().run()
            for _ in range(2): treadle.Thread(body).start()
    """

    def test_a_program_ends_without_closing(self) -> None:
        """PLUG-4: while threads of the plugin run."""
        result = run_python(self.SCRIPT, str(self.write(self.BUSY)))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_the_child_of_a_fork_has_no_plugins(self) -> None:
        """PLUG-1: it may load the same file."""
        more = """
if os.fork() == 0:
    assert treadle.Plugin.all() == []
    try:
        plugin.close()
        os._exit(1)
    except treadle.Forked:
        pass
    with treadle.Plugin.load(sys.argv[1]):
        treadle.RunLoop.current().run(seconds=0.01)
    os._exit(0)
print(os.wait()[1])
plugin.close()
"""
        self.assertEqual(self.assertRuns(self.SCRIPT + more, str(self.write(self.BUSY))), "0\n")

    def test_ctrl_c_ends_a_close(self) -> None:
        """PLUG-4: of a plugin in Python; it can be closed again."""
        script = """
import os, signal, sys, threading, treadle
event = threading.Event()
plugin = treadle.Plugin.load(sys.argv[1], extensions={"example.trace/1": event, "example.other/1": print})
plugin.start()
try:
    plugin.close()
except KeyboardInterrupt:
    event.set()
    print(plugin.close())
"""
        source = """
            import os, signal, treadle
            ID, VERSION, OPTIONAL = "org.example.slow", "1", ["example.trace/1"]
            def init(host): return host.extension("example.trace/1")
            def start(event): treadle.Thread(event.wait).start()
            def stop(event, timeout): os.kill(os.getpid(), signal.SIGINT)
        """
        self.assertEqual(self.assertRuns(script, str(self.write(source))), "True\n")


if __name__ == "__main__":
    unittest.main()
