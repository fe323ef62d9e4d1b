# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Ctrl-C and other signals, each in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import unittest
from typing import Optional

import treadle

from support import SLOW, WATCHDOG, TestCase, environment, eventually

# A child that runs its loop again and again; before each run it writes a line, and after the run what ended it.
BLOCKED = """if True:
    import sys, treadle
    loop = treadle.RunLoop.current()
    loop.add(treadle.Source())
    print("imported", flush=True)
    for _ in range(int(sys.argv[1])):
        try:
            loop.run()
            print("returned", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""

BUSY = """if True:
    import sys, treadle
    loop = treadle.RunLoop.current()
    def perform(source):
        source.signal()
    source = treadle.Source(perform=perform)
    loop.add(source)
    for _ in range(int(sys.argv[1])):
        source.signal()
        try:
            print("running", flush=True)
            loop.run()
            print("returned", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
"""


class Child:
    """A child process, and whether its main thread sleeps in the kernel."""

    def __init__(self, script: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", script, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def sleeps(self) -> bool:
        """Whether the kernel has put the main thread to sleep in a wait for events."""
        number: Optional[str] = None
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/syscall", encoding="ascii") as file:
            number = file.read().split()[0]
        return number in WAITS

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def finish(self) -> "tuple[str, str, int]":
        output, errors = self.process.communicate(timeout=WATCHDOG)
        return output, errors, self.process.returncode


# epoll_wait, epoll_pwait, epoll_pwait2, ppoll, futex
WAITS = {"232", "281", "441", "271", "202"} if os.uname().machine == "x86_64" else {"22", "441", "73", "98"}


class CtrlC(TestCase):
    def test_ends_a_blocked_run(self) -> None:
        """ABI-4: 100 of 100 times, without any timer, in a loop that sleeps in the kernel."""
        times = 100
        child = Child(BLOCKED, str(times))
        self.assertEqual(child.line(), "imported")
        for _ in range(times):
            self.assertTrue(eventually(child.sleeps))
            child.interrupt()
            self.assertEqual(child.line(), "interrupted")
        output, errors, status = child.finish()
        self.assertEqual((output, errors, status), ("", "", 0))

    def test_ends_busy_callbacks(self) -> None:
        """ABI-4, ABI-3: also when it arrives where no Python code can catch it; nothing is printed."""
        self.interrupt_busy(BUSY)

    def test_ends_busy_callbacks_without_our_hook(self) -> None:
        """ABI-4, ABI-3: when other code replaces sys.unraisablehook, the wakeup descriptor is witness enough."""
        replace = """
    def replace(observer, activity):
        sys.unraisablehook = lambda arguments: None
    observer = treadle.Observer(replace, treadle.Activity.ENTRY)
    loop.add(observer)
    for _"""
        self.interrupt_busy(BUSY.replace("\n    for _", replace, 1))

    def test_ends_callbacks_that_drop_items(self) -> None:
        """ABI-4, ABI-3: also when it arrives in a callback of a weak reference, or in __del__, where Python drops it."""
        drop = """
    class Value:
        def __del__(self):
            sum(range(20))
    def perform(source):
        for _ in range(10):
            treadle.Source()
            Value()
        source.signal()
"""
        begin = BUSY.index("\n    def perform")
        self.interrupt_busy(BUSY[:begin] + drop + BUSY[BUSY.index("    source = ") :])

    def interrupt_busy(self, script: str) -> None:
        times = 1000 if SLOW else 200
        child = Child(script, str(times))
        for _ in range(times):
            self.assertEqual(child.line(), "running")
            child.interrupt()
            self.assertEqual(child.line(), "interrupted")
        output, errors, status = child.finish()
        self.assertEqual((output, errors, status), ("", "", 0))

    def test_uncaught(self) -> None:
        """ABI-4: the process ends as Python does, by the signal."""
        script = """if True:
            import treadle
            loop = treadle.RunLoop.current()
            loop.add(treadle.Source())
            print("go", flush=True)
            loop.run()
        """
        child = Child(script)
        self.assertEqual(child.line(), "go")
        self.assertTrue(eventually(child.sleeps))
        child.interrupt()
        _, errors, status = child.finish()
        self.assertEqual(status, -signal.SIGINT)
        self.assertTrue(errors.rstrip().endswith("KeyboardInterrupt"))

    def test_in_a_nested_run(self) -> None:
        """ABI-4, RUN-12: it goes through the outer callback and the outer run."""
        script = """if True:
            import treadle
            loop = treadle.RunLoop.current()
            loop.add(treadle.Source(), "inner")
            def perform(source):
                try:
                    loop.run("inner")
                finally:
                    print("inner", flush=True)
            source = treadle.Source(perform=perform)
            loop.add(source)
            source.signal()
            print("go", flush=True)
            try:
                loop.run()
            except KeyboardInterrupt:
                print("outer", flush=True)
        """
        child = Child(script)
        self.assertEqual(child.line(), "go")
        self.assertTrue(eventually(child.sleeps))
        child.interrupt()
        self.assertEqual(child.finish(), ("inner\nouter\n", "", 0))

    def test_from_another_thread(self) -> None:
        """ABI-4, WAKE-1: without any signal that the kernel would tell the sleeping thread of; 200 of 200 times."""
        script = """if True:
            import _thread, threading, treadle
            loop = treadle.RunLoop.current()
            loop.add(treadle.Source())
            go = threading.Semaphore(0)
            others = []
            thread = threading.Thread(target=lambda: others.append(treadle.RunLoop.current()))
            thread.start()
            thread.join()
            try:
                others[0].run()  # must not become the loop that signals wake
            except treadle.WrongThread:
                pass
            def body():
                for _ in range(200):
                    go.acquire()
                    _thread.interrupt_main()
            thread = threading.Thread(target=body)
            thread.start()
            count = 0
            for _ in range(200):
                try:
                    go.release()
                    loop.run()
                except KeyboardInterrupt:
                    count += 1
            thread.join()
            print(count)
        """
        self.assertEqual(self.assertRuns(script), "200\n")


# The handler of a signal stops the loop, whose sleep another thread ends with that signal.
STOPPED_BY_A_HANDLER = """if True:
    import os, signal, sys, threading, treadle
    loop = treadle.RunLoop.current()
    loop.add(treadle.Source())
    loop.add(treadle.Source(), "inner")
    signal.signal(signal.SIGUSR1, lambda number, frame: loop.stop())
    asleep = threading.Semaphore(0)
    for mode in (treadle.DEFAULT, "inner"):
        loop.add(treadle.Observer(lambda observer, activity: asleep.release(), treadle.Activity.BEFORE_WAITING), mode)
    def send():
        while True:
            asleep.acquire()
            while not loop.is_waiting:
                pass
            os.kill(os.getpid(), signal.SIGUSR1)
    threading.Thread(target=send, daemon=True).start()
"""


class Stops(TestCase):
    def test_a_handler_stops_a_sleeping_loop(self) -> None:
        """STOP-2, ABI-4: the run that sleeps, 100 of 100 times."""
        script = STOPPED_BY_A_HANDLER + """
    for _ in range(100):
        assert loop.run(seconds=60) is treadle.RunResult.STOPPED
"""
        self.assertRuns(script)

    def test_a_handler_stops_the_innermost_run(self) -> None:
        """STOP-2, RUN-12: and not the one around it, which goes on and is stopped next."""
        script = STOPPED_BY_A_HANDLER + """
    results = []
    for _ in range(20):
        loop.perform(lambda: results.append(loop.run("inner", 60).name))
        results.append(loop.run(seconds=60).name)
        assert results == ["STOPPED", "STOPPED"], results
        results.clear()
"""
        self.assertRuns(script)

    def test_another_thread_stops_while_a_handler_runs(self) -> None:
        """STOP-2, STOP-7: the run whose sleep the signal has ended, and not a later one."""
        script = STOPPED_BY_A_HANDLER + """
    asked, answered = threading.Semaphore(0), threading.Semaphore(0)
    def handle(number, frame):
        asked.release()
        answered.acquire()
    signal.signal(signal.SIGUSR1, handle)
    def stop():
        while True:
            asked.acquire()
            loop.stop()
            answered.release()
    threading.Thread(target=stop, daemon=True).start()
    for _ in range(100):
        assert loop.run(seconds=60) is treadle.RunResult.STOPPED
"""
        self.assertRuns(script)


class OtherSignals(TestCase):
    def test_a_handler_runs_and_the_run_goes_on(self) -> None:
        """ABI-4, RUN-11: with the time that is left."""
        script = """if True:
            import signal, time, treadle
            seen = []
            signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
            signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
            loop = treadle.RunLoop.current()
            loop.add(treadle.Source())
            while len(seen) < 2:
                start = time.monotonic()
                result = loop.run(seconds=0.2)
                assert 0.2 <= time.monotonic() - start
            signal.setitimer(signal.ITIMER_REAL, 0)
            print(result.name)
        """
        self.assertEqual(self.assertRuns(script), "TIMED_OUT\n")

    def test_the_run_is_not_left_for_a_handler(self) -> None:
        """ABI-4, OBS-1: nobody sees an end; handlers may run the loop themselves."""
        script = """if True:
            import os, signal, treadle
            loop = treadle.RunLoop.current()
            loop.add(treadle.Source())
            loop.add(treadle.Source(), "inner")
            def handle(number, frame):
                print(loop.current_mode, loop.run("inner", 0).name, loop.current_mode)
                if next(signals, None) is None:
                    loop.stop()
                else:
                    signal.setitimer(signal.ITIMER_REAL, 0.01)
            signals = iter(range(3))
            activities = treadle.Activity.ENTRY | treadle.Activity.EXIT
            loop.add(treadle.Observer(lambda observer, activity: print(activity.name), activities))
            signal.signal(signal.SIGALRM, handle)
            loop.perform(signal.setitimer, signal.ITIMER_REAL, 0.01)
            print(loop.run().name)
        """
        default = treadle.DEFAULT
        expected = ["ENTRY"] + [f"{default} TIMED_OUT {default}"] * 4 + ["EXIT", "STOPPED"]
        self.assertEqual(self.assertRuns(script).splitlines(), expected)

    def test_what_a_handler_raises_ends_the_run(self) -> None:
        """ABI-4, STOP-9: whatever the policy for exceptions of callbacks; a stop that it requests does, too."""
        script = """if True:
            import signal, treadle
            loop = treadle.RunLoop.current()
            loop.add(treadle.Source())
            signal.signal(signal.SIGALRM, lambda number, frame: loop.request_stop())
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            print(loop.run().name)
            def fail(number, frame):
                raise LookupError("from the handler")
            signal.signal(signal.SIGALRM, fail)
            for policy in ("raise", "report"):
                loop.error_policy = policy
                signal.setitimer(signal.ITIMER_REAL, 0.01)
                try:
                    print(loop.run())
                except LookupError as error:
                    print(error)
        """
        self.assertEqual(self.assertRuns(script), "STOPPED\n" + "from the handler\n" * 2)

    def test_what_the_process_had_is_restored(self) -> None:
        """ABI-4: the wakeup descriptor and sys.unraisablehook; somebody else's descriptor stays in use."""
        script = """if True:
            import signal, socket, sys, treadle
            loop = treadle.RunLoop.current()
            hook = sys.unraisablehook
            loop.add(treadle.Source())
            loop.run(seconds=0)
            assert signal.set_wakeup_fd(-1) == -1
            assert sys.unraisablehook is hook
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            signal.set_wakeup_fd(ours.fileno())
            signal.signal(signal.SIGALRM, lambda number, frame: loop.request_stop())
            signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01) # one may come just before a sleep
            loop.run()
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert theirs.recv(10)[:1] == bytes([signal.SIGALRM])
            assert signal.set_wakeup_fd(-1) == ours.fileno()
        """
        self.assertRuns(script)

    def test_no_signal_is_lost_where_a_run_begins_or_ends(self) -> None:
        """ABI-4: somebody else's descriptor is told of each, also of those that come while ours takes its place, or is taken back."""
        script = """if True:
            import signal, socket, treadle
            from treadle import _signals
            loop = treadle.RunLoop.current()
            loop.add(treadle.Source())
            first, second = socket.socketpair(), socket.socketpair()
            for end in (*first, *second):
                end.setblocking(False)
            signal.signal(signal.SIGUSR1, lambda number, frame: None)
            raised = 0
            class Raising:
                SIGINT = signal.SIGINT
                @staticmethod
                def set_wakeup_fd(*arguments, **keywords):
                    global raised
                    previous = signal.set_wakeup_fd(*arguments, **keywords)
                    signal.raise_signal(signal.SIGUSR1)
                    raised += 1
                    return previous
            _signals.signal = Raising
            def told(end):
                try:
                    return end.recv(100)
                except BlockingIOError:
                    return b""
            for replaced_by in (first, second): # by a callback of the run
                raised = 0
                signal.set_wakeup_fd(first[0].fileno())
                loop.perform(signal.set_wakeup_fd, replaced_by[0].fileno())
                loop.run(seconds=0)
                assert signal.set_wakeup_fd(-1) == replaced_by[0].fileno()
                seen = told(first[1]) + told(second[1])
                assert seen == bytes([signal.SIGUSR1]) * raised and raised == 3, (seen, raised)
            raised = 0
            signal.set_wakeup_fd(first[0].fileno())
            loop.run(seconds=0)
            seen = told(first[1])
            assert seen == bytes([signal.SIGUSR1]) * raised and raised == 3, (seen, raised)
        """
        self.assertRuns(script)

    def test_a_descriptor_that_a_callback_sets_stays(self) -> None:
        """ABI-4: as asyncio sets its own; one that it takes back is not set again."""
        script = """if True:
            import signal, socket, treadle
            loop = treadle.RunLoop.current()
            ours, theirs = socket.socketpair()
            ours.setblocking(False)
            theirs.setblocking(False)
            loop.perform(signal.set_wakeup_fd, ours.fileno())
            loop.run(seconds=0)
            loop.add(treadle.Source())
            loop.run(seconds=0)
            signal.signal(signal.SIGALRM, lambda number, frame: None)
            signal.raise_signal(signal.SIGALRM)
            assert theirs.recv(10) == bytes([signal.SIGALRM])
            assert signal.set_wakeup_fd(-1) == ours.fileno()
            loop.perform(signal.set_wakeup_fd, -1)
            loop.run(seconds=0)
            assert signal.set_wakeup_fd(-1) == -1
        """
        self.assertRuns(script)

    def test_another_thread_is_not_disturbed(self) -> None:
        """ABI-4: only the main thread's runs end for signals."""
        script = """if True:
            import signal, threading, treadle
            signal.signal(signal.SIGALRM, lambda number, frame: None)
            def body():
                loop = treadle.RunLoop.current()
                loop.add(treadle.Source())
                results.append(loop.run(seconds=0.1))
            results = []
            thread = threading.Thread(target=body)
            thread.start()
            while thread.is_alive():
                signal.pthread_kill(thread.ident, signal.SIGALRM)
                thread.join(0.005)
            print(results[0].name)
        """
        self.assertEqual(self.assertRuns(script), "TIMED_OUT\n")


if __name__ == "__main__":
    unittest.main()
