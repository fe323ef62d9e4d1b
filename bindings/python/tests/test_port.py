# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Ports in a process."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import threading
import weakref
from types import SimpleNamespace
from typing import Any, List

from treadle import (
    DEFAULT,
    DeadlockError,
    InvalidArgument,
    LoopClosed,
    Message,
    Notification,
    Port,
    ReceivedDescriptor,
    RunLoop,
    Timeout,
    notifications,
)

from support import TestCase


class PortTestCase(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.loop = RunLoop.current()
        self.got: List[Message] = []

    def receiving(self, **options: Any) -> Port:
        port = Port(self.got.append, **options)
        self.loop.add(port)
        self.addCleanup(port.invalidate)
        return port


class Receiving(PortTestCase):
    def test_bytes_of_all_kinds_are_copied(self) -> None:
        """MPORT-2"""
        port = self.receiving()
        text = bytearray(b"x" * 5000)
        port.send(text, memoryview(b"view"))
        text[:] = b"y" * 5000
        self.loop.run(seconds=0)
        self.assertEqual(self.got[0].components, (b"x" * 5000, b"view"))

    def test_ports_and_descriptors_arrive_as_themselves_and_as_copies(self) -> None:
        """MPORT-2 MPORT-3"""
        port, other = self.receiving(), Port()
        readable, writable = os.pipe()
        with open(writable, "wb", buffering=0) as file:
            port.send(other, file, reply_port=port)
            self.loop.run(seconds=0)
        carried, descriptor = self.got[0].components
        self.assertIs(carried, other)
        self.assertIs(self.got[0].reply_port, port)
        self.assertIsInstance(descriptor, ReceivedDescriptor)
        os.write(descriptor.fileno(), b"through the copy")
        self.assertEqual(os.read(readable, 100), b"through the copy")
        del descriptor
        self.got.clear()
        gc.collect()
        self.assertEqual(os.read(readable, 100), b"")
        os.close(readable)

    def test_objects_are_pickled_only_if_that_was_asked_for(self) -> None:
        """MPORT-2"""
        plain, pickling = self.receiving(), self.receiving(pickle=True)
        with self.assertRaisesRegex(TypeError, "a component is bytes, a Port or has fileno"):
            plain.send({"a": 1})
        plain.send(pickle.dumps([1]))
        value = {"numbers": [1, 2], "bytes": b"text"}
        pickling.send(value, b"bytes", plain)
        value["numbers"] = []
        while plain.count or pickling.count:
            self.loop.run(seconds=0)
        by_port = {message.port: message.components for message in self.got}
        self.assertEqual(by_port[plain], (pickle.dumps([1]),))
        self.assertEqual(by_port[pickling], ({"numbers": [1, 2], "bytes": b"text"}, b"bytes", plain))

    def test_an_exception_comes_out_of_the_run(self) -> None:
        """PORT-6"""
        port = Port(lambda message: 1 / message.id)
        self.loop.add(port)
        port.send(id=0)
        port.send(id=1)
        with self.assertRaises(ZeroDivisionError):
            self.loop.run()
        self.assertEqual(port.count, 1)
        self.loop.run(seconds=0)
        self.assertEqual(port.count, 0)
        port.invalidate()


class Ends(PortTestCase):
    def test_invalidation_is_told_once_and_refuses_senders(self) -> None:
        """PORT-2 NOTE-1"""
        port = self.receiving(capacity=1)
        told: List[Any] = []
        with notifications.add(Notification.PORT_INVALID, lambda name, port: told.append((name, port)), port):
            port.send(port)
            with self.assertRaises(Timeout):
                port.send(timeout=0)
            with self.assertRaises(DeadlockError):
                port.send()
            port.invalidate()
            port.invalidate()
        self.assertEqual(told, [(Notification.PORT_INVALID, port)])
        self.assertEqual(port.count, 0)
        self.assertNotIn(port, self.loop.items())
        with self.assertRaises(LoopClosed):
            port.send()

    def test_a_sender_that_waits_is_refused(self) -> None:
        """PORT-2"""
        port = Port(capacity=1)
        port.send()
        failures: List[Exception] = []

        def send() -> None:
            try:
                port.send()
            except LoopClosed as error:
                failures.append(error)

        thread = threading.Thread(target=send)
        thread.start()
        port.invalidate()
        thread.join()
        self.assertEqual(len(failures), 1)

    def test_what_is_in_no_loop_goes_with_its_last_reference(self) -> None:
        """OBJ-3 PORT-1"""
        port = Port()
        reference = weakref.ref(port)
        del port
        gc.collect()
        self.assertIsNone(reference())
        port = self.receiving()
        port.send(Port(), id=5)
        gc.collect()
        self.loop.run(seconds=0)
        carried = self.got[0].components[0]
        self.assertTrue(carried.is_valid)
        carried.send(b"nobody reads this")
        self.assertEqual(carried.count, 1)

    def test_bad_arguments(self) -> None:
        """OBJ-2 MPORT-1"""
        for capacity in (0, -1, 2**24, 2**40):
            with self.assertRaises((InvalidArgument, ValueError)):
                Port(capacity=capacity)
        port = Port(label="mail", capacity=7)
        for id in (-1, 2**32):
            with self.assertRaises(ValueError):
                port.send(id=id)
        for number in (-1, 2**31 - 1, 2**31, 2**32):
            file = SimpleNamespace(fileno=lambda number=number: number)
            with self.assertRaisesRegex(InvalidArgument, "descriptor"):
                port.send(file)
        with self.assertRaisesRegex(TypeError, "fileno"):
            port.send(SimpleNamespace(fileno=lambda: "text"))
        self.assertEqual(port.count, 0)
        with self.assertRaises(TypeError):
            port.send(reply_port=5)  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            copy.copy(port)
        with self.assertRaises(TypeError):
            pickle.dumps(port)
        self.assertRegex(repr(port), "<Port 'mail' valid 0 of 7 messages at 0x")
        self.assertFalse(self.loop.contains(port, DEFAULT))
