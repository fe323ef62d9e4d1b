# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Shared libraries as plugins in processes of their own."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import types
from pathlib import Path
from typing import Any

from treadle import Error, InvalidArgument, Plugin, PluginError, PluginState, Timeout, _capi

from plugin_support import PluginCase
from support import INCLUDE, needs_checkout

#: A plugin that logs its process, and keeps a text as its state. With HANGS its constructor does not return.
SOURCE = r"""
#include <treadle.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static char kept[64] = "nothing";
#ifdef HANGS
__attribute__((constructor)) static void construct(void) {
    printf("process %d\n", (int)getpid());
    fflush(stdout);
    for (;;) pause();
}
#endif
static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    char line[96];
    (void)host, *out_instance = kept;
    snprintf(line, sizeof line, "process %d", (int)getpid());
    treadle_plugin_self->log(treadle_plugin_self, 2, line);
    return TREADLE_OK;
}
static void deinit(void *instance) { (void)instance; }
static treadle_status set(void *instance, const char *key, const char *value) {
    (void)instance, (void)key;
    snprintf(kept, sizeof kept, "%s", value);
    return TREADLE_OK;
}
static treadle_status save(void *instance, treadle_plugin_write_fn write, void *sink) {
    write(sink, instance, strlen(instance));
    return TREADLE_OK;
}
static treadle_status restore(void *instance, const void *bytes, size_t size) {
    char line[96];
    (void)instance;
    snprintf(line, sizeof line, "restored %.*s", (int)size, (const char *)bytes);
    treadle_plugin_self->log(treadle_plugin_self, 2, line);
    return TREADLE_OK;
}
static const treadle_plugin_setting settings[] = {{.struct_size = sizeof(treadle_plugin_setting), .key = "kept"}};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON, .id = "org.example.own", .name = "Own", .version = "1", .settings = settings, .setting_count = 1,
    .init = init, .deinit = deinit, .set = set, .save = save, .restore = restore,
};
TREADLE_PLUGIN_EXPORT(description)
"""


def wait_for_end(process: int) -> None:
    """A process that nobody has waited for yet has ended, too."""
    try:
        end = os.pidfd_open(process)
    except ProcessLookupError:
        return
    try:
        select.select([end], [], [])
    finally:
        os.close(end)


@needs_checkout
class Isolated(PluginCase):
    """Plugin.load(..., isolated=True)."""

    def compile(self, *flags: str) -> Path:
        """The plugin, as a file that others may not write."""
        source, library = self.folder / "own.c", self.folder / "own.so"
        source.write_text(SOURCE, encoding="utf-8")
        command = ["cc", "-DTREADLE_PLUGIN", "-D_GNU_SOURCE", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]
        subprocess.run([*command, *flags, "-o", str(library), str(source)], check=True)
        library.chmod(0o700)
        return library

    def isolate(self, library: Path, **options: Any) -> Plugin:
        return Plugin.load(library, isolated=True, log=self.log, **options)

    def processes(self) -> "list[int]":
        """Those that were logged."""
        return [int(found[1]) for _, _, text in self.logged if (found := re.fullmatch("process ([0-9]+)", text))]

    def test_a_plugin_lives_in_a_process_of_its_own(self) -> None:
        """PLUG-2, PLUG-5: its end is an exception of the calls that it interrupts."""
        library = self.compile()
        plugin = self.isolate(library)
        plugin.start()
        (process,) = self.processes()
        self.assertNotEqual(process, os.getpid())
        self.assertNotIn("own.so", Path("/proc/self/maps").read_text(encoding="utf-8"))
        os.kill(process, signal.SIGKILL)
        wait_for_end(process)
        with self.assertRaisesRegex(PluginError, "SIGKILL"):
            plugin.set("kept", "text")
        self.assertTrue(plugin.close())
        self.assertEqual(plugin.state, PluginState.CLOSED)

    def test_a_library_is_loaded_several_times(self) -> None:
        """PLUG-1, PLUG-7: under ids of the program, which reloads keep."""
        library = self.compile()
        one, other = (self.isolate(library, id=f"org.example.{name}") for name in ("one", "other"))
        own = self.isolate(library)
        self.assertEqual([one.id, other.id, own.id], ["org.example.one", "org.example.other", "org.example.own"])
        with self.assertRaises(Error) as caught:
            self.isolate(library, id="org.example.one")
        self.assertEqual(caught.exception.code, _capi.E_EXISTS)
        for plugin in (one, other, own):
            plugin.start()
        self.assertEqual(len(set(self.processes())), 3)
        one.set("kept", "the state of one")
        one.reload()
        self.assertEqual(one.id, "org.example.one")
        self.assertIn(("org.example.one", "restored the state of one"), [(id, text) for id, _, text in self.logged])
        self.assertRaises(InvalidArgument, self.isolate, library, id="no id")
        self.assertRaisesRegex(TypeError, "id", self.isolate, library, id=1)
        self.assertRaises(InvalidArgument, Plugin.load, library, id="org.example.other")

    def test_a_load_that_hangs_ends_in_its_time(self) -> None:
        """PLUG-5, PLUG-8: and its process, too."""
        library, timeout = self.compile("-DHANGS"), 0.05
        while not self.processes():  # a busy machine may not have come to the constructor
            self.assertRaises(Timeout, self.isolate, library, load_timeout=timeout)
            timeout *= 2
        for process in self.processes():
            wait_for_end(process)
        self.assertRaisesRegex(TypeError, "load_timeout", self.isolate, library, load_timeout="1")
        self.assertRaisesRegex(ValueError, "load_timeout", self.isolate, library, load_timeout=0)
        self.assertRaises(InvalidArgument, Plugin.load, library, load_timeout=1)

    def test_what_is_of_python_is_not_isolated(self) -> None:
        """PLUG-1: and its body does not run."""
        path = self.write("raise SystemError")
        for source in (path, types.ModuleType("module")):
            with self.assertRaisesRegex(ValueError, "treadle-python-plugin"):
                Plugin.load(source, isolated=True)
