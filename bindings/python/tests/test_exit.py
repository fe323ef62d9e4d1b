# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The end of the interpreter while threads still call back, each in a process of its own."""

from __future__ import annotations

import os
import tempfile
import unittest

from support import SLOW, TestCase, compile_foreign, needs_checkout, run_python

#: How often one with threads of C and of Python that call back ends.
TIMES = int(os.environ.get("TREADLE_EXITS", "100" if SLOW else "10"))
#: How often a process with threads of Treadle ends: 200 times with TREADLE_EXITS=200.
EXITS = int(os.environ.get("TREADLE_EXITS", "40" if SLOW else "12"))
#: How often one with threads of C that call closures ends.
CALL_EXITS = int(os.environ.get("TREADLE_EXITS", "100" if SLOW else "20"))

# Threads of C and of Python call back into Python as fast as they can when the main thread leaves.
BUSY = """if True:
    import sys, threading, treadle
    from support import load_foreign
    helper = load_foreign(sys.argv[2])
    seen = threading.Semaphore(0)
    ready = threading.Semaphore(0)
    def perform(source):
        seen.release()
        sum(range(50))
    for _ in range(2):
        thread = helper.foreign_start()
        source = treadle.Source(perform=perform)
        treadle.RunLoop._of(helper.foreign_loop(thread)).add(source)
        helper.foreign_signal_for_ever(source._handle)
    def body():
        loop = treadle.RunLoop.current()
        def fire(timer):
            seen.release()
            if int(sys.argv[1]) % 2:
                loop.run("inner", 0)
        timer = treadle.Timer(fire, interval=1e-6)
        loop.add(timer)
        ready.release()
        loop.run()
    for _ in range(2):
        threading.Thread(target=body, daemon=True).start()
    for _ in range(2):
        ready.acquire() # to make a timer while the interpreter leaves is an error, and is told
    for _ in range(200):
        seen.acquire()
    print("leaving", flush=True)
"""


class Exit(TestCase):
    @needs_checkout
    def test_busy_threads(self) -> None:
        """ABI-5: neither a hang nor a crash, nor anything printed."""
        with tempfile.TemporaryDirectory() as folder:
            helper = compile_foreign(folder)
            for number in range(TIMES):
                self.watch()
                result = run_python(BUSY, str(number), helper)
                self.assertEqual(
                    (result.returncode, result.stdout, result.stderr), (0, "leaving\n", ""), f"run {number}"
                )

    def test_blocked_threads(self) -> None:
        """ABI-5: daemon threads that sleep in a run, and a main loop that still has everything."""
        script = """if True:
            import threading, treadle
            ready = threading.Semaphore(0)
            def body():
                loop = treadle.RunLoop.current()
                loop.add(treadle.Source(cancel=print, perform=print))
                loop.add(treadle.Observer(lambda o, a: ready.release(), treadle.Activity.BEFORE_WAITING))
                loop.run()
            for _ in range(3):
                threading.Thread(target=body, daemon=True).start()
                ready.acquire()
            loop = treadle.RunLoop.current()
            for item in (treadle.Source(cancel=print), treadle.Timer(print), treadle.Observer(print)):
                loop.add(item, treadle.COMMON)
            held = treadle.Source()
            future = loop.perform(print)
            print("leaving")
        """
        for _ in range(2):
            self.assertEqual(self.assertRuns(script), "leaving\n")

    def test_atexit_functions_of_earlier_imports(self) -> None:
        """ABI-5: after the gate is closed nothing calls back, and creation says why."""
        script = """if True:
            import atexit
            def late():
                loop = treadle.RunLoop.current()
                loop.add(timer)
                print(loop.run(seconds=0).name)
                try:
                    treadle.Source()
                except treadle.LoopClosed as error:
                    print(error.code)
                try:
                    loop.perform(print)
                except treadle.LoopClosed as error:
                    print(error.code)
                try:
                    treadle.closure("ii", abs)
                except treadle.LoopClosed as error:
                    print(error.code)
                try:
                    loop.invoke(closure.pointer, 7, wait=False)
                except treadle.LoopClosed as error:
                    print(error.code)
                print(closure(5), loop.invoke(closure, 6))
            atexit.register(late)
            import treadle
            timer = treadle.Timer(lambda timer: print("called"), fire_at=1)
            closure = treadle.closure("ii", abs, default=-1)
        """
        self.assertEqual(self.assertRuns(script).splitlines()[-5:], ["-15"] * 4 + ["-1 -1"])

    def test_exit_from_a_callback(self) -> None:
        """ABI-4, ABI-5: sys.exit() in a callback ends the process with its status."""
        script = """if True:
            import sys, treadle
            loop = treadle.RunLoop.current()
            loop.add(treadle.Timer(lambda timer: sys.exit(7)))
            loop.run()
        """
        self.assertEqual(run_python(script).returncode, 7)

    def test_objects_that_outlive_the_package(self) -> None:
        """ABI-5, OBJ-4: what is collected while the interpreter tears its modules down."""
        script = """if True:
            import treadle, builtins
            class Holder:
                def __del__(self):
                    self.item.invalidate()
            for number in range(5):
                holder = Holder()
                holder.item = treadle.Timer(print, interval=1)
                treadle.RunLoop.current().add(holder.item)
                setattr(builtins, f"kept{number}", holder)
            cycle = treadle.Source(perform=lambda source: cycle)
        """
        self.assertRuns(script)


# Threads of Treadle in every situation when the main thread leaves; one number selects what they all do besides.
THREADS = """if True:
    import random, sys, threading, time, treadle
    number = int(sys.argv[1])
    seen = threading.Semaphore(0)
    treadle.set_last_resort(lambda arguments: False)
    treadle.notifications.add(treadle.Notification.THREAD_WILL_EXIT, lambda name, thread: None)
    lock = treadle.Lock()
    lock.acquire()
    class Value:
        def __del__(self):
            str(self)
    def quiet(*_arguments):
        sum(range(50))
    def serve():
        loop = treadle.RunLoop.current()
        treadle.Thread.current().dictionary["value"] = Value()
        loop.add(treadle.Source(cancel=quiet), treadle.COMMON)
        loop.add(treadle.Timer(lambda timer: seen.release(), interval=1e-5))
        treadle.pool.add(quiet)
        loop.run()
    def compute():
        while True:
            seen.release()
            sum(range(50))
    def sleep():
        seen.release()
        time.sleep(random.random() / 100 if number % 2 else 1000)
    def spin_on_others():
        while True:
            try:
                servers[0].perform(seen.release, wait=True)
                treadle.Thread.main().perform(quiet)
            except treadle.LoopClosed:
                pass
    def wait_for_a_lock():
        seen.release()
        lock.acquire()
    def wait_for_main():
        seen.release()
        treadle.perform_on_main(print, "never", wait=True)
    def breed():
        while True:
            try:
                child = treadle.Thread(int, detached=number % 3 == 0)
                child.start()
                seen.release()
                if not child.detached:
                    child.join()
            except treadle.LoopClosed:
                return
            except treadle.SystemFailure:
                pass
    servers = [treadle.Thread(serve) for _ in range(2)]
    for thread in servers:
        thread.start_and_wait()
    kinds = [compute, sleep, spin_on_others, wait_for_a_lock, wait_for_main, breed]
    others = [treadle.Thread(kinds[(number + index) % len(kinds)], detached=index == 0) for index in range(3)]
    for thread in others:
        thread.start()
    unstarted = treadle.Thread(print)
    unstarted.perform(print, "never")
    for _ in range(100):
        seen.acquire()
    print("leaving", flush=True)
    if number % 4 == 1:
        servers[0].stop()
    elif number % 4 == 2:
        sys.exit()
"""


# Threads of C call closures as fast as they can when the main thread leaves; one number selects how they are delivered.
CALLS = """if True:
    import sys, threading, treadle
    from support import NUMBER, load_foreign
    helper = load_foreign(sys.argv[2])
    number = int(sys.argv[1])
    seen = threading.Semaphore(0)
    def serve():
        loop = treadle.RunLoop.current()
        loop.add(treadle.Source())
        loop.run()
    server = treadle.Thread(serve)
    server.start_and_wait()
    def handler(value):
        seen.release()
        return value + 1
    ways = [dict(), dict(thread=server), dict(thread=server, delivery="async", on_full="drop_oldest", queue_limit=8),
            dict(thread=server, delivery="running"), dict(loop=treadle.RunLoop.main(), timeout=0.001)]
    closures = [treadle.closure(NUMBER, handler, default=-1, **ways[(number + index) % 5]) for index in range(3)]
    for closure in closures:
        helper.foreign_call_for_ever(closure.pointer)
    last = treadle.closure(NUMBER, handler, default=-1)
    helper.foreign_call_at_the_end(last.pointer)
    for _ in range(60):
        seen.acquire()
    if number % 3 == 1:
        server.invoke(helper.foreign_call, closures[0], 3, wait=False)
    print("leaving", flush=True)
    if number % 4 == 1:
        sys.exit()
    elif number % 4 == 2:
        del closures, closure
"""


class CallExit(TestCase):
    @needs_checkout
    def test_threads_of_c_call(self) -> None:
        """ABI-5, PERF-8: neither a hang nor a crash; who calls after the end of Python gets the default."""
        with tempfile.TemporaryDirectory() as folder:
            helper = compile_foreign(folder)
            for number in range(CALL_EXITS):
                self.watch()
                result = run_python(CALLS, str(number), helper)
                told = [line for line in result.stderr.splitlines() if "whose closure is retired" not in line]
                self.assertEqual((result.returncode, result.stdout, told), (0, "leaving\n", []), f"run {number}")


class ThreadExit(TestCase):
    def test_threads_and_loops_alive(self) -> None:
        """THR-21, ABI-5: neither a hang nor a crash, nor anything printed, whatever the threads do."""
        for number in range(EXITS):
            self.watch()
            result = run_python(THREADS, str(number))
            self.assertEqual(
                (result.returncode, result.stdout, result.stderr), (0, "leaving\n", ""), f"run {number}"
            )

    def test_it_does_not_wait(self) -> None:
        """THR-21: a thread that is left behind costs no time, a function that goes on either: 5 exits in a watchdog."""
        script = """if True:
            import threading, treadle
            def body():
                treadle.Thread.declare_ready()
                threading.Event().wait()
            for _ in range(3):
                treadle.Thread(body).start_and_wait()
        """
        for _ in range(5):
            self.assertRuns(script)

    def test_nobody_waits_for_the_main_loop(self) -> None:
        """ABI-5, PERF-9: whom the end of the program waits for, but who waits for what the main thread would have to
        run: LoopClosed, whether the wait has begun before or begins later; what they wait for is not run."""
        script = """if True:
            import ctypes, threading, treadle
            loop, main = treadle.RunLoop.current(), treadle.Thread.main()
            getpid = ctypes.CDLL(None).getpid
            def body(wait):
                for when in ("before", "later"):
                    try:
                        waiting.release()
                        wait()
                    except treadle.LoopClosed:
                        print("closed\\n", end="", flush=True)
            waits = [
                lambda: loop.perform(print, "never").result(),
                lambda: main.perform(print, "never").result(),
                lambda: main.perform(print, "never", wait=True),
                lambda: main.perform(print, "never", modes="mode", wait=True),
                lambda: loop.invoke(getpid, wait=False).result(),
                lambda: main.invoke(getpid),
            ]
            waiting = threading.Semaphore(0)
            for wait in waits:
                threading.Thread(target=body, args=[wait]).start()
                waiting.acquire()
            print("leaving", flush=True)
        """
        for _ in range(3):
            result = run_python(script)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "leaving\n" + "closed\n" * 12, ""))

    def test_a_shutdown_before(self) -> None:
        """THR-21: the orderly end: functions and their finally clauses run."""
        script = """if True:
            import treadle
            def body():
                try:
                    treadle.RunLoop.current().add(treadle.Source())
                    treadle.RunLoop.current().run()
                finally:
                    print("finally", flush=True)
            thread = treadle.Thread(body)
            thread.start_and_wait()
            treadle.shutdown()
            thread.join()
        """
        for _ in range(2):
            self.assertEqual(self.assertRuns(script), "finally\n")


if __name__ == "__main__":
    unittest.main()
