# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Ctrl-C ends every wait of the main thread, each in a process of its own; and no sleep misses it."""

from __future__ import annotations

import unittest

from support import TestCase

# A worker's loop, a function that blocks there until `go` is set, and Ctrl-C for the main thread as soon as it sleeps.
BEGIN = """if True:
    import os, signal, socket, sys, threading, time, treadle
    go, entered = threading.Event(), threading.Event()
    main = threading.main_thread().native_id
    def block(*arguments):
        entered.set()
        assert go.wait(100)
    def sleeps():
        with open(f"/proc/self/task/{main}/syscall") as file:
            return file.read().split()[0] in ("7", "22", "73", "98", "202", "232", "271", "281", "441")
    def interrupt_its_sleep():
        # Twice asleep in a row is a wait, and not the end of what came before it.
        count = 0
        while count < 3:
            count = count + 1 if sleeps() else 0
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
    def interrupted(wait):
        thread = threading.Thread(target=interrupt_its_sleep, daemon=True)
        thread.start()
        try:
            wait()
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        else:
            print("the wait was over before", flush=True)
        thread.join()
    def serve():
        treadle.RunLoop.current().add(treadle.Source())
        treadle.RunLoop.current().run()
"""


class Waits(TestCase):
    def test_closing_every_kind_of_item(self) -> None:
        """ABI-4, OBJ-4: close() while a callback runs on another thread; the item is invalid, and may be closed again."""
        script = BEGIN + """
    worker = treadle.Thread(serve)
    worker.start_and_wait()
    ours, theirs = socket.socketpair()
    theirs.send(b"x")
    port = treadle.Port(block)
    items = {
        treadle.Source(perform=block): lambda item: item.signal(),
        treadle.Timer(block, delay=0): lambda item: None,
        treadle.Observer(block, treadle.Activity.BEFORE_TIMERS): lambda item: worker.loop.wake_up(),
        treadle.FileDescriptor(ours, block): lambda item: None,
        port: lambda item: item.send(),
    }
    for item, begin in items.items():
        go.clear()
        entered.clear()
        worker.loop.add(item)
        begin(item)
        assert entered.wait(100)
        interrupted(item.close)
        assert not item.is_valid
        go.set()
        item.close()
    worker.stop_and_join()
"""
        self.assertEqual(self.assertRuns(script), "interrupted\n" * 5)

    def test_threads_locks_and_scopes(self) -> None:
        """ABI-4, THR-17, THR-20, SCOPE-3: what was waited for can be waited for again; a function is not called later."""
        script = BEGIN + """
    called, lock, condition, scope = [], treadle.Lock(), treadle.Condition(), treadle.Scope()
    with scope.entered():
        thread = treadle.Thread(block)
    def hold():
        with lock:
            treadle.Thread.declare_ready()
            block()
    holder = treadle.Thread(hold)
    thread.start()
    holder.start_and_wait()
    interrupted(lambda: thread.perform(called.append, 1, wait=True))
    interrupted(thread.join)
    interrupted(lock.acquire)
    with condition:
        interrupted(lambda: condition.wait_for(lambda: False))
    with condition:
        pass
    interrupted(scope.close)
    def handler(number, frame):
        raise RuntimeError("by a handler")
    previous = signal.signal(signal.SIGINT, handler)
    try:
        interrupted(scope.close)
    except RuntimeError as error:
        print(error, scope.is_closed)
    signal.signal(signal.SIGINT, previous)
    go.set()
    with lock:
        holder.join()
    print(scope.close(), scope.is_closed, called)
"""
        self.assertEqual(self.assertRuns(script), "interrupted\n" * 5 + "by a handler False\nTrue True []\n")

    def test_what_a_cancel_callback_raises(self) -> None:
        """ABI-3: close() waits all the same, and raises it at last; with a timeout too."""
        script = BEGIN + """
    worker = treadle.Thread(serve)
    worker.start_and_wait()
    def fail(*arguments):
        raise LookupError("in cancel")
    for timeout in (None, 100):
        go.clear()
        entered.clear()
        source = treadle.Source(perform=block, cancel=fail)
        worker.loop.add(source)
        source.signal()
        assert entered.wait(100)
        def release():
            while not sleeps():
                time.sleep(0.01)
            time.sleep(0.2)
            go.set()
        threading.Thread(target=release).start()
        try:
            source.close(timeout)
        except LookupError as error:
            print(error, go.is_set())
    source = treadle.Source(perform=block)
    worker.loop.add(source)
    go.clear()
    entered.clear()
    source.signal()
    assert entered.wait(100)
    try:
        source.close(0.12)
    except treadle.Timeout:
        print("timeout")
    go.set()
    worker.stop_and_join()
"""
        self.assertEqual(self.assertRuns(script), "in cancel True\n" * 2 + "timeout\n")

    def test_sending_to_a_full_port(self) -> None:
        """ABI-4, PORT-3: send() while there is no room."""
        script = BEGIN + """
    worker = treadle.Thread(serve)
    worker.start_and_wait()
    port = treadle.Port(block, capacity=1)
    worker.loop.add(port)
    port.send()
    assert entered.wait(100)
    port.send()
    interrupted(port.send)
    go.set()
    port.send(timeout=100)
    worker.stop_and_join()
"""
        self.assertEqual(self.assertRuns(script), "interrupted\n")

    def test_starting_and_waiting(self) -> None:
        """ABI-4, THR-18: start_and_wait() of a thread that is not ready; it goes on, and can be joined."""
        script = BEGIN + """
    thread = treadle.Thread(block)
    interrupted(thread.start_and_wait)
    assert entered.wait(100) and thread.is_executing
    go.set()
    assert thread.join() is None
    for timeout in (None, 100):
        def slowly():
            time.sleep(0.2)
            treadle.Thread.declare_ready()
            return "ready"
        thread = treadle.Thread(slowly)
        thread.start_and_wait(timeout)
        print(thread.join())
    try:
        treadle.Thread(lambda: time.sleep(0.2)).start_and_wait()
    except treadle.Error as error:
        print(error.message)
    go.clear()
    try:
        treadle.Thread(block).start_and_wait(0.12)
    except treadle.Timeout:
        print("timeout")
"""
        expected = "interrupted\nready\nready\nthread ended before it was ready\ntimeout\n"
        self.assertEqual(self.assertRuns(script), expected)


# An observer of C raises SIGINT just before the loop sleeps, where no code of Python can see it.
BETWEEN = """if True:
    import ctypes, os, signal, socket, sys, treadle
    from treadle import _capi
    from treadle._library import native
    from treadle._errors import check
    loop = treadle.RunLoop.current()
    loop.add(treadle.Source())
    code = ctypes.cast(ctypes.CDLL(None)["raise"], ctypes.c_void_p).value
    number = ctypes.c_int(signal.SIGINT)
    arguments = (_capi.treadle_argument * 1)()
    arguments[0].kind, arguments[0].value, arguments[0].size = _capi.ARGUMENT_BOUND, ctypes.addressof(number), 4
    config = _capi.treadle_routine_config(struct_size=ctypes.sizeof(_capi.treadle_routine_config))
    config.code, config.signature = ctypes.cast(code, ctypes.CFUNCTYPE(None)), b"ii"
    config.arguments, config.argument_count = arguments, 1
    routine, observer = ctypes.c_void_p(), ctypes.c_void_p()
    check(native.treadle_routine_create(config, routine))
    context = _capi.treadle_observer_context(struct_size=ctypes.sizeof(_capi.treadle_observer_context))
    context.notify_routine, context.activities = routine.value, treadle.Activity.BEFORE_WAITING
    check(native.treadle_observer_create(context, observer))
    check(native.treadle_loop_add(loop._handle, observer.value, treadle.DEFAULT.encode()))
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
"""


class Sleeps(TestCase):
    def test_a_signal_just_before_the_sleep(self) -> None:
        """ABI-4, WAKE-1: Ctrl-C ends the run, also while somebody else's wakeup descriptor is set, who is told as well, and then
        while other code has replaced sys.unraisablehook."""
        script = BETWEEN + """
    def replace(observer, activity):
        sys.unraisablehook = lambda arguments: None
    for fd, is_replaced in (-1, False), (ours.fileno(), False), (ours.fileno(), True):
        signal.set_wakeup_fd(fd)
        if is_replaced:
            loop.add(treadle.Observer(replace, treadle.Activity.ENTRY))
        for _ in range(20):
            try:
                print(loop.run())
            except KeyboardInterrupt:
                pass
            if fd != -1:
                assert theirs.recv(10) == bytes([signal.SIGINT])
        assert signal.set_wakeup_fd(-1) == fd
    print("well")
"""
        self.assertEqual(self.assertRuns(script), "well\n")

    def test_the_descriptor_of_others_that_was_closed(self) -> None:
        """ABI-4: one that a callback closes is not set again, and the run ends well."""
        script = BETWEEN + """
    try:
        loop.run()  # has made all descriptors that it needs: none gets the number of the one that is closed
    except KeyboardInterrupt:
        signal.set_wakeup_fd(ours.fileno())
    loop.perform(ours.close)
    try:
        print(loop.run())
    except KeyboardInterrupt:
        print("interrupted", signal.set_wakeup_fd(-1))
"""
        self.assertEqual(self.assertRuns(script), "interrupted -1\n")


if __name__ == "__main__":
    unittest.main()
