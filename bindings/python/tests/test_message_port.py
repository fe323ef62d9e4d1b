# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Message ports: names, messages, requests and their replies, ends."""

from __future__ import annotations

import copy
import gc
import itertools
import os
import pickle
import subprocess
import sys
import unittest
import weakref
from typing import Any, Callable, List

from treadle import (
    COMMON,
    DEFAULT,
    Error,
    IncomingMessage,
    InvalidArgument,
    LoopClosed,
    MessagePort,
    NoReply,
    RunLoop,
    RunResult,
    Scope,
    Timeout,
    _capi,
)

from treadle._library import native

from support import LoopThread, TestCase, environment, in_thread
from test_signals_waits import BEGIN

_numbers = itertools.count()


def new_name() -> str:
    """A name that no other test has."""
    return f"treadle.python.{os.getpid()}.{next(_numbers)}"


class PortTestCase(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.loop = RunLoop.current()
        self.name = new_name()
        self.got: List[IncomingMessage] = []

    def local(self, receive: Any = None, name: str = "", **options: Any) -> MessagePort:
        port = MessagePort.local(name or self.name, receive or self.got.append, **options)
        self.addCleanup(port.invalidate)
        return port

    def assertCode(self, code: int, function: Callable[..., object], *arguments: Any, **options: Any) -> str:
        with self.assertRaises(Error) as caught:
            function(*arguments, **options)
        self.assertEqual(caught.exception.code, code, caught.exception)
        return str(caught.exception)


class Messages(PortTestCase):
    def test_a_message_arrives(self) -> None:
        """MSG-4 MSG-5 MSG-6 PORT-6"""
        local, remote = self.local(), MessagePort.remote(self.name)
        self.assertTrue(self.loop.add(local))
        self.assertFalse(self.loop.add(local))
        self.assertEqual(self.loop.items(), [local])
        remote.send(b"one", id=-(2**31))
        remote.send(bytearray(b"two"), id=2**31 - 1)
        remote.send()
        self.assertEqual(self.loop.run(return_after_source_handled=True), RunResult.HANDLED_SOURCE)
        self.assertEqual(len(self.got), 1)
        while len(self.got) < 3:
            self.loop.run(return_after_source_handled=True)
        self.assertEqual([(m.id, m.data) for m in self.got], [(-(2**31), b"one"), (2**31 - 1, b"two"), (0, b"")])
        message = self.got[0]
        self.assertIs(message.port, local)
        self.assertFalse(message.wants_reply)
        self.assertEqual((message.sender_process, message.sender_user), (os.getpid(), os.getuid()))

    def test_a_request_gets_what_the_function_returns(self) -> None:
        """MSG-5 MSG-6"""

        def answer(message: IncomingMessage) -> object:
            self.assertTrue(message.wants_reply)
            return None if message.id == 2 else message.data.upper()

        with LoopThread() as worker:
            local = self.local(answer)
            worker.loop.add(local)
            remote = MessagePort.remote(self.name)
            self.assertEqual(remote.request(b"hello", id=1), b"HELLO")
            self.assertEqual(remote.request(b"hello", id=2), b"")
            large = b"x" * 300_000
            self.assertEqual(remote.request(large, timeout=100), large.upper())
            self.assertEqual(in_thread(lambda: remote.request(memoryview(b"thread"))), b"THREAD")
            local.close()

    def test_the_mode_is_served_meanwhile(self) -> None:
        """MSG-6: a port of the same loop answers in the mode, and what else is in that goes on."""
        local, remote = self.local(lambda message: b"own"), MessagePort.remote(self.name)
        self.loop.add(local, "own")
        seen: List[str] = []
        self.loop.perform(seen.append, "performed", modes="own")
        self.assertEqual(remote.request(mode="own"), b"own")
        self.assertEqual(seen, ["performed"])
        with self.assertRaisesRegex(InvalidArgument, "common"):
            remote.request(mode=COMMON)

    def test_both_timeouts(self) -> None:
        """MSG-6 MSG-8: they are told apart, and a late reply is dropped."""
        local, remote = self.local(lambda message: message.data), MessagePort.remote(self.name)
        with self.assertRaises(NoReply):
            remote.request(b"late", timeout=0)
        self.loop.add(local, "own")
        self.assertEqual(remote.request(b"next", mode="own"), b"next")
        self.loop.remove(local, "own")
        with self.assertRaises(Timeout) as caught:
            while True:
                remote.send(b"m" * 50_000, timeout=0)
        self.assertNotIsInstance(caught.exception, NoReply)
        with self.assertRaises(Timeout) as caught:
            remote.request(b"m" * 50_000, timeout=0.001)
        self.assertNotIsInstance(caught.exception, NoReply)

    def test_objects_are_pickled_only_if_that_was_asked_for(self) -> None:
        """MSG-5: else data is bytes, whatever they look like."""
        with LoopThread() as worker:
            plain = self.local(lambda message: message.data)
            pickling = self.local(lambda message: message.data and [message.data], new_name(), pickle=True)
            worker.loop.add(plain)
            worker.loop.add(pickling)
            remote, other = MessagePort.remote(self.name), MessagePort.remote(pickling.name, pickle=True)
            with self.assertRaisesRegex(TypeError, "data is bytes, not dict"):
                remote.send({"a": 1})
            self.assertEqual(remote.request(pickle.dumps([1])), pickle.dumps([1]))
            self.assertEqual(other.request({"numbers": {1, 2}}), [{"numbers": {1, 2}}])
            self.assertIsNone(other.request(None))
            with self.assertRaisesRegex(ValueError, "other users"):
                self.local(name=new_name(), pickle=True, users=[1])
            plain.close()
            pickling.close()

    def test_an_exception_of_the_function(self) -> None:
        """MSG-5 MSG-6: comes out of the run, and the sender gets an empty reply; or goes to the excepthook."""
        local, remote = self.local(lambda message: 1 // message.id), MessagePort.remote(self.name)
        self.loop.add(local)
        remote.send()
        with self.assertRaises(ZeroDivisionError):
            self.loop.run()
        self.loop.add(local, "own")
        with self.assertRaises(ZeroDivisionError):
            remote.request(mode="own")
        with LoopThread() as worker:
            reports: List[Any] = []
            worker.loop.error_policy = "report"
            worker.loop.excepthook = reports.append
            other = self.local(lambda message: 1 // message.id, new_name())
            worker.loop.add(other)
            self.assertEqual(MessagePort.remote(other.name).request(), b"")
            worker.loop.perform(int).result()
            self.assertEqual([(report.exc_type, report.item) for report in reports], [(ZeroDivisionError, other)])
            other.close()

    def test_another_process_asks(self) -> None:
        """MSG-6 MSG-9"""
        script = (
            "import sys, treadle\n"
            "port = treadle.MessagePort.remote(sys.argv[1])\n"
            "assert port.request(b'hello') == b'hello, child'\n"
            "port.send(id=1)\n"
            "while port.check(): pass\n"
            "print('ended')\n"
        )

        def receive(message: IncomingMessage) -> bytes:
            self.assertEqual(message.sender_process, child.pid)
            if message.id == 1:
                self.loop.stop()
            return bytes(message.data) + b", child"

        local = self.local(receive)
        self.loop.add(local)
        child = subprocess.Popen(
            [sys.executable, "-c", script, self.name], stdout=subprocess.PIPE, text=True, env=environment()
        )
        self.assertEqual(self.loop.run(), RunResult.STOPPED)
        local.invalidate()
        self.assertEqual(child.communicate()[0], "ended\n")
        self.assertEqual(child.returncode, 0)


class Names(PortTestCase):
    def test_an_object_with_all_its_references_says_so(self) -> None:
        """OBJ-2 MSG-1 MSG-3"""
        local, remote = self.local(), MessagePort.remote(self.name)
        self.loop.add(local)
        for port in (local, remote, self.loop):
            taken = 0
            while native.treadle_retain(port._handle) == _capi.OK:
                taken += 1
            if port is remote:
                self.assertIn("references", self.assertCode(_capi.E_RANGE, MessagePort.remote, self.name))
            elif port is local:
                self.assertIn("references", self.assertCode(_capi.E_RANGE, MessagePort.local, self.name))
                self.assertIn("references", self.assertCode(_capi.E_RANGE, self.loop.items))
            else:
                self.assertIn("references", self.assertCode(_capi.E_RANGE, RunLoop._make, self.loop._handle))
            for _ in range(taken):
                self.assertEqual(native.treadle_release(port._handle), _capi.OK)
        self.assertIs(MessagePort.remote(self.name), remote)

    def test_a_name_is_served_once(self) -> None:
        """MSG-1 MSG-3"""
        local = self.local()
        self.assertIn("another port of this process", self.assertCode(_capi.E_EXISTS, MessagePort.local, self.name))
        script = "import sys, treadle; treadle.MessagePort.local(sys.argv[1])"
        result = subprocess.run(
            [sys.executable, "-c", script, self.name], capture_output=True, text=True, env=environment(), check=False
        )
        self.assertIn("TREADLE_E_EXISTS", result.stderr)
        self.assertTrue(local.check())
        self.assertCode(_capi.E_NOT_FOUND, MessagePort.remote, new_name())
        local.invalidate()
        self.local()

    def test_a_remote_port_is_one_for_its_name(self) -> None:
        """MSG-3"""
        local = self.local()
        remote = MessagePort.remote(self.name)
        self.assertIs(MessagePort.remote(self.name), remote)
        self.assertTrue(remote.is_remote)
        self.assertFalse(local.is_remote)
        pickling = MessagePort.remote(self.name, pickle=True)
        self.assertIsNot(pickling, remote)
        self.assertIs(MessagePort.remote(self.name), remote)
        pickling.send([1])
        self.assertCode(_capi.E_EXISTS, MessagePort.remote, self.name, invalidated=print)
        del remote
        gc.collect()
        self.assertTrue(pickling.check())
        del pickling
        gc.collect()
        self.assertTrue(MessagePort.remote(self.name, invalidated=print).check())

    def test_a_local_port_is_renamed(self) -> None:
        """MSG-2"""
        port, second = MessagePort.local(None), new_name()
        self.assertEqual(port.name, "")
        port.name = self.name
        remote = MessagePort.remote(self.name)
        port.name = second
        self.assertEqual(port.name, second)
        self.assertFalse(remote.check())
        remote = MessagePort.remote(second)
        self.assertCode(_capi.E_STATE, setattr, remote, "name", self.name)
        taken = self.local()
        self.assertCode(_capi.E_EXISTS, setattr, port, "name", taken.name)
        port.invalidate()

    def test_bad_arguments(self) -> None:
        """MSG-1 OBJ-2"""
        with self.assertRaisesRegex(TypeError, "local"):
            MessagePort()
        for make in (MessagePort.local, MessagePort.remote):
            with self.assertRaises(InvalidArgument):
                make("")
            with self.assertRaisesRegex(ValueError, "NUL"):
                make("a\0b")
            with self.assertRaises(TypeError):
                make(5)  # type: ignore[arg-type]
            with self.assertRaises(TypeError):
                make(self.name, invalidated=5)  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            MessagePort.remote(None)  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            MessagePort.local(self.name, 5)  # type: ignore[arg-type]
        for user in (-1, 2**32):
            with self.assertRaises(ValueError):
                self.local(users=[user])
            with self.assertRaises(ValueError):
                MessagePort.remote(self.name, owner=user)
        with self.assertRaises(TypeError):
            self.local(users=5)
        with self.assertRaises(InvalidArgument):
            self.local(users=[1] * 1025)
        local = self.local(users=[1, 2], label="inbox")
        remote = MessagePort.remote(self.name, owner=os.getuid())
        for id in (-(2**31) - 1, 2**31):
            with self.assertRaises(ValueError):
                remote.send(id=id)
            with self.assertRaises(ValueError):
                remote.request(id=id)
        with self.assertRaises(TypeError):
            remote.send("text")
        self.assertCode(_capi.E_STATE, local.send)
        self.assertCode(_capi.E_STATE, local.request)
        for broken in (copy.copy, pickle.dumps):
            with self.assertRaises(TypeError):
                broken(local)
        self.assertIn(f"<MessagePort 'inbox' valid local '{self.name}' at 0x", repr(local))


class Ends(PortTestCase):
    def test_the_end_is_told_once_to_both_sides(self) -> None:
        """MSG-7 MSG-8"""
        ends: List[MessagePort] = []

        def ended(port: MessagePort) -> None:
            self.assertFalse(port.is_valid)
            ends.append(port)
            self.loop.stop()

        local = self.local(invalidated=ends.append)
        remote = MessagePort.remote(self.name, invalidated=ended)
        self.loop.add(local)
        self.loop.add(remote)
        local.invalidate()
        local.invalidate()
        self.assertEqual(ends, [local])
        self.assertEqual(self.loop.run(), RunResult.STOPPED)
        self.assertEqual(ends, [local, remote])
        self.assertFalse(remote.is_valid)
        self.assertEqual(self.loop.items(), [])
        self.assertCode(_capi.E_STATE, remote.send)
        self.assertCode(_capi.E_STATE, remote.request)

    def test_who_waits_learns_of_the_end(self) -> None:
        """MSG-7 MSG-8"""
        with LoopThread() as worker:
            worker.loop.add(self.local(lambda message: message.port.invalidate()))
            remote = MessagePort.remote(self.name)
            with self.assertRaises(LoopClosed):
                remote.request()
            self.assertFalse(remote.check())

    def test_an_exception_at_the_end(self) -> None:
        """MSG-7: comes out of the call that has ended the port."""
        port = MessagePort.local(self.name, invalidated=lambda port: 1 // 0)
        with self.assertRaises(ZeroDivisionError):
            port.invalidate()
        self.assertFalse(port.is_valid)

    def test_a_port_is_collected_and_its_name_is_free(self) -> None:
        """OBJ-4 MSG-7"""
        ends: List[MessagePort] = []
        port = MessagePort.local(self.name, invalidated=ends.append)
        reference = weakref.ref(port)
        remote = MessagePort.remote(self.name)
        del port
        gc.collect()
        self.assertIsNone(reference())
        self.assertEqual(ends, [])
        self.assertFalse(remote.check())
        port = MessagePort.local(self.name)
        reference = weakref.ref(port)
        self.loop.add(port)
        del port
        gc.collect()
        kept = reference()
        assert kept is not None
        self.assertEqual(self.loop.items(DEFAULT), [kept])
        kept.invalidate()
        with Scope() as scope:
            inside = MessagePort.local(self.name)
            self.assertEqual([holder.kind for holder in scope.holders()], ["descriptor"])
        self.assertFalse(inside.is_valid)

    def test_a_paused_port_keeps_its_messages(self) -> None:
        """MSG-4"""
        local, remote = self.local(), MessagePort.remote(self.name)
        self.loop.add(local)
        remote.send(b"x")
        local.pause()
        self.loop.run(seconds=0)
        self.assertEqual(self.got, [])
        local.resume()
        self.loop.run(return_after_source_handled=True)
        self.assertEqual(len(self.got), 1)

    def test_the_child_of_a_fork_has_none(self) -> None:
        """RL-11 MSG-9"""
        script = """if True:
            import os, sys, treadle
            loop, name = treadle.RunLoop.current(), sys.argv[1]
            local = treadle.MessagePort.local(name, lambda message: b"parent")
            remote, other = treadle.MessagePort.remote(name), treadle.MessagePort.remote(name, pickle=True)
            loop.add(local, "own")
            assert remote.request(mode="own") == b"parent"
            if os.fork() == 0:
                for port in (local, remote, other):
                    try:
                        port.send()
                    except treadle.Forked:
                        pass
                    else:
                        os._exit(1)
                mine = treadle.MessagePort.local(name + ".child", lambda message: b"child")
                treadle.RunLoop.current().add(mine, "own")
                os._exit(treadle.MessagePort.remote(name + ".child").request(mode="own") != b"child")
            assert os.wait()[1] == 0 and remote.request(mode="own") == b"parent"
        """
        self.assertRuns(script, self.name)


class Interrupts(TestCase):
    SCRIPT = BEGIN + """
    loop, name = treadle.RunLoop.current(), sys.argv[1]
    local = treadle.MessagePort.local(name)
    remote = treadle.MessagePort.remote(name)
"""

    def test_ctrl_c_ends_every_wait(self) -> None:
        """ABI-4 MSG-6 MSG-11"""
        script = self.SCRIPT + """
    interrupted(remote.request)
    interrupted(lambda: remote.call("a function", "v"))
    def inside():
        loop.perform(remote.request)
        loop.run()
    interrupted(inside)
    try:
        while True:
            remote.send(b"x" * 50_000, timeout=0)
    except treadle.Timeout:
        pass
    interrupted(lambda: remote.send(b"x" * 50_000))
    interrupted(lambda: remote.request(b"x" * 50_000))
"""
        self.assertEqual(self.assertRuns(script, new_name()), "interrupted\n" * 5)

    def test_a_handler_that_returns_does_not_end_it(self) -> None:
        """ABI-4 MSG-6"""
        script = self.SCRIPT + """
    def handler(number, frame):
        print("handled", flush=True)
        loop.add(local, "own")
    signal.signal(signal.SIGINT, handler)
    threading.Thread(target=interrupt_its_sleep, daemon=True).start()
    print(remote.request(mode="own"))
"""
        self.assertEqual(self.assertRuns(script, new_name()), "handled\nb''\n")


if __name__ == "__main__":
    unittest.main()
