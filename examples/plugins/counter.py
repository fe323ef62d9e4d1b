# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""counter.py: a plugin in Python that counts the lines of the log pipeline; extension: counts(), in Python and in C.

It shows a plugin in Python between others in C: it requires one of them, listens by the function pointer of a closure, and
has a function for others. Its timer and its closure are never ended by it: they belong to the plugin. Where it is reloaded
it hands over what it has counted.

  interval    how often the counts are logged, in seconds; 10 by default, and may be changed while it runs
  words       what is counted, separated by commas; "error,warning" by default
"""

import ctypes
import json

import treadle

ID = "org.example.log-counter"
NAME = "Log counter"
VERSION = "1.0"
REQUIRED = ["example.lines/1"]
PROVIDED = ["example.counts/1"]
SETTINGS = {
    "interval": treadle.PluginSetting(10.0, "how often the counts are logged, in seconds"),
    "words": treadle.PluginSetting("error,warning", "what is counted, separated by commas"),
}

LISTENER = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
CHANGE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, LISTENER, ctypes.c_void_p)
COUNT = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_char_p)


class Lines(ctypes.Structure):
    """struct example_texts of texts.h."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("instance", ctypes.c_void_p),
        ("add_listener", CHANGE),
        ("remove_listener", CHANGE),
    ]


class Counter:
    """The plugin at work."""

    def __init__(self, host):
        self.host = host
        self.lines = host.extension("example.lines/1", Lines)
        self.counts = dict.fromkeys(host.setting("words").split(","), 0)

    def take(self, _info, line):
        text = line.decode(errors="replace")
        for word in self.counts:
            self.counts[word] += word in text

    def tell(self, _timer=None):
        self.host.log(", ".join(f"{word}: {count}" for word, count in self.counts.items()))

    def count(self, word):
        return self.counts.get(word.decode(errors="replace"), 0)


def init(host):
    return Counter(host)


def start(counter):
    counter.loop = treadle.RunLoop.current()
    counter.timer = counter.loop.every(counter.host.setting("interval"))(counter.tell)
    counter.listener = treadle.closure(LISTENER, counter.take)
    counter.code = treadle.closure(COUNT, counter.count)
    if counter.lines.add_listener(counter.lines.instance, counter.listener.pointer, None) < 0:
        raise RuntimeError("the lines take no listener")


def stop(counter, timeout):
    counter.lines.remove_listener(counter.lines.instance, counter.listener.pointer, None)
    counter.tell()


def get_extension(counter, name):
    return counter.code


def set(counter, key, value):
    if key == "words":
        raise NotImplementedError("the words are read at the start")
    counter.timer.invalidate()
    counter.timer = counter.loop.every(value)(counter.tell)


def save(counter):
    return json.dumps(counter.counts).encode()


def restore(counter, state):
    counter.counts.update(json.loads(state))
