# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Traces of a part of a run."""

import os
import tempfile
import unittest

import treadle
from support import TestCase


class Traces(TestCase):
    def test_a_trace_has_what_ran_between_its_start_and_its_end(self) -> None:
        """RL-16"""
        loop = treadle.RunLoop.current()
        source = treadle.Source(perform=lambda source: None, label="bell of the test")
        loop.add(source)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.trace")
            self.assertFalse(treadle.trace_mark("before", 1))
            treadle.trace_start(path)
            self.assertTrue(treadle.trace_mark("in the trace", -3))
            source.signal()
            loop.run(seconds=0)
            with self.assertRaises(treadle.Error):
                treadle.trace_start(path)
            treadle.trace_stop()
            with open(path, "rb") as file:
                written = file.read()
            self.assertIn(b"bell of the test", written)
            self.assertIn(b"in the trace", written)
            self.assertNotIn(b"before", written.replace(b"events before", b""))
            self.assertFalse(treadle.trace_mark("after"))
        source.invalidate()

    def test_mistakes_are_refused(self) -> None:
        """RL-16"""
        with self.assertRaises(treadle.Error):
            treadle.trace_stop()
        with self.assertRaises(TypeError):
            treadle.trace_mark(5)  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            treadle.trace_mark("label", "value")  # type: ignore[arg-type]
        with self.assertRaises(ValueError):
            treadle.trace_mark("a\0b")
        with self.assertRaises(ValueError):
            treadle.trace_mark("label", 1 << 63)
        with self.assertRaises(TypeError):
            treadle.trace_start(5)  # type: ignore[arg-type]
        with self.assertRaises(ValueError):
            treadle.trace_start("a\0b")
        with tempfile.TemporaryDirectory() as folder:
            treadle.trace_start(os.path.join(folder, "no such folder", "run.trace"))
            with self.assertRaises(treadle.SystemFailure):
                treadle.trace_stop()


if __name__ == "__main__":
    unittest.main()
