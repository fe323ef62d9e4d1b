# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""The child of a fork starts from nothing, and can run a loop of its own."""

from __future__ import annotations

import unittest

from support import TestCase

# What a child does: the parent's objects are refused, its own work.
CHECK = """
import os, sys, threading, treadle

def refused(function):
    try:
        function()
    except treadle.Forked as error:
        return error.code == -11
    return False

def check_child():
    assert refused(loop.stop) and refused(source.signal) and refused(lambda: treadle.RunLoop.current().add(source))
    assert future.done() or refused(future.result)
    assert not source.is_valid
    assert refused(lambda: port.send(b"text")) and refused(lambda: carried[0].send()) and not port.is_valid
    mine = treadle.RunLoop.current()
    assert mine is not loop and mine is treadle.RunLoop.main() and mine.thread_id == os.getpid()
    seen = []
    mine.add(treadle.Timer(lambda timer: seen.append("timer"), delay=0.001))
    assert mine.run() is treadle.RunResult.FINISHED
    assert mine.perform(lambda: seen.append("block")) and mine.run(seconds=0)
    thread = threading.Thread(target=lambda: seen.append(treadle.RunLoop.current() is not mine))
    thread.start()
    thread.join()
    assert seen == ["timer", "block", True], seen
    own = treadle.Port(lambda message: seen.append(message.reply_port is own))
    mine.add(own)
    own.send(reply_port=own)
    assert mine.run(seconds=0) and seen[3:] == [True], seen
    own.invalidate()

loop = treadle.RunLoop.current()
def perform(source):
    print("performed by", "parent" if os.getpid() == parent else "child", flush=True)

source = treadle.Source(perform=perform)
loop.add(source)
port = treadle.Port(lambda message: carried.extend(message.components))
carried = []
loop.add(port)
port.send(treadle.Port())
while not carried:
    loop.run(seconds=0)
future = loop.perform(int)
parent = os.getpid()
source.signal()
"""


class Fork(TestCase):
    def test_a_fork_with_other_threads_and_from_a_callback(self) -> None:
        """RL-11: other threads run their loops; the fork happens inside a callback; a child forks again."""
        script = CHECK + """if True:
            import warnings
            warnings.simplefilter("ignore")
            ready = threading.Event()
            def body():
                other = treadle.RunLoop.current()
                other.add(treadle.Timer(lambda timer: ready.set(), interval=1e-4))
                other.run()
            threading.Thread(target=body, daemon=True).start()
            ready.wait()
            def fork(source):
                pid = os.fork()
                if pid == 0:
                    check_child()
                    second = os.fork()
                    if second == 0:
                        check_child_again()
                        os._exit(0)
                    os._exit(os.waitstatus_to_exitcode(os.waitpid(second, 0)[1]))
                print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
            def check_child_again():
                mine = treadle.RunLoop.current()
                mine.add(treadle.Timer(lambda timer: None))
                assert mine.run() is treadle.RunResult.FINISHED
                assert refused(loop.stop)
            forking = treadle.Source(perform=fork, order=-1)
            loop.add(forking)
            forking.signal()
            loop.run(seconds=0)
        """
        self.assertEqual(self.assertRuns(script), "0\nperformed by parent\n")


# A process with threads of Treadle in every situation.
THREADS = CHECK + """if True:
    import multiprocessing
    context = multiprocessing.get_context("fork")
    seen = []
    def serve():
        treadle.Thread.current().dictionary["key"] = "value"
        treadle.RunLoop.current().add(treadle.Source(), treadle.COMMON)
        treadle.RunLoop.current().add(treadle.Timer(lambda timer: None, interval=1e-4))
        treadle.RunLoop.current().run()
        return "served"
    threads = [treadle.Thread(serve, name=f"server {number}") for number in range(3)]
    for thread in threads:
        thread.start_and_wait()
    unstarted = treadle.Thread(print)
    registration = treadle.notifications.add(treadle.Notification.THREAD_WILL_EXIT, lambda *_: seen.append("parent"))
    treadle.set_last_resort(lambda arguments: seen.append(arguments.message) or True)
    lock = treadle.Lock()
    waiting = unstarted.perform(print)

    def check_threads():
        seen.clear()
        check_child()
        for thread in [*threads, unstarted]:
            assert refused(thread.start) and refused(thread.stop) and refused(thread.join) and refused(lambda: thread.loop)
            assert refused(lambda: thread.perform(print)) and refused(lambda: thread.name)
            assert not thread.is_executing and "parent" in repr(thread)
        assert refused(lock.acquire)
        assert refused(waiting.result)
        assert registration.remove() is False
        current = treadle.Thread.current()
        assert current is treadle.Thread.main() and current.is_main and current.id == os.getpid()
        assert "key" not in current.dictionary
        own = treadle.Thread(serve)
        own.start_and_wait()
        assert own.perform(int, "5", wait=True) == 5
        assert own.perform(lambda: treadle.perform_on_main(len, "ab"), wait=True)
        assert own.stop_and_join() == "served"
        with treadle.pool():
            treadle.pool.add(seen.append, "released")
        assert seen == ["released"], seen
        failing = treadle.Thread(divmod, (1, 0))
        failing.start()
        try:
            failing.join()
        except ZeroDivisionError:
            seen.append("raised")
        assert len(seen) == 3 and "ZeroDivisionError" in seen[1] and seen[2] == "raised", seen
        with treadle.Lock():
            pass

    def work(queue):
        check_threads()
        queue.put("well")

    def check_parent():
        loop.run(seconds=0)
        assert future.result() == 0
        assert all(thread.perform(int, "7", wait=True) == 7 for thread in threads)
        assert [thread.stop_and_join() for thread in threads] == ["served"] * 3
        assert unstarted.state is treadle.ThreadState.CREATED
        with lock:
            pass
"""


class Threads(TestCase):
    def test_multiprocessing(self) -> None:
        """RL-11: its fork method, from the main thread, with Treadle's threads alive, or closures and calls of the parent on their
        way; again, and by a pool."""
        more = """if True:
            for number in range(2):
                queue = context.SimpleQueue()
                process = context.Process(target=work, args=(queue,))
                process.start()
                process.join()
                assert process.exitcode == 0, process.exitcode
                assert queue.get() == "well"
            with context.Pool(2) as pool:
                print(pool.map(abs, range(-3, 0)))
            check_parent()
        """
        for script, output in ((THREADS, "[3, 2, 1]\nperformed by parent\n"), (CALLS, "[3, 2, 1]\n")):
            self.assertEqual(self.assertRuns(script + more), output)

    def test_on_a_thread_of_treadles(self) -> None:
        """RL-11: a fork on a thread that Treadle made; in the child it is the main thread."""
        script = THREADS + """if True:
            def fork():
                queue = context.SimpleQueue()
                process = context.Process(target=work, args=(queue,))
                process.start()
                process.join()
                return process.exitcode, queue.empty() or queue.get()
            forking = treadle.Thread(fork)
            forking.start()
            print(forking.join())
            print(threads[0].perform(fork, wait=True))
            seen.clear()
            check_parent()
        """
        self.assertEqual(self.assertRuns(script), "(0, 'well')\n(0, 'well')\nperformed by parent\n")

    def test_a_child_that_ends_by_itself(self) -> None:
        """RL-11: through atexit, with threads of its own alive; the parent's do not exist there."""
        script = THREADS + """if True:
            pid = os.fork()
            if pid == 0:
                check_threads()
                child = treadle.Thread(serve)
                child.start_and_wait()
                sys.exit(6)
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            check_parent()
        """
        self.assertEqual(self.assertRuns(script), "6\nperformed by parent\n")


CALLS = """
import ctypes, gc, multiprocessing, os, sys, threading, treadle
context = multiprocessing.get_context("fork")
NUMBER = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)
libc = ctypes.CDLL(None)

def refused(function):
    try:
        function()
    except treadle.Forked as error:
        return error.code == -11
    return False

def serve():
    loop = treadle.RunLoop.current()
    loop.add(treadle.Source())
    loop.run()

thread = treadle.Thread(serve)
thread.start_and_wait()
loop = treadle.RunLoop.current()
inline = treadle.closure(NUMBER, lambda number: number + 1, default=-1)
sync = treadle.closure(NUMBER, lambda number: number + 2, thread=thread, default=-2)
later = treadle.closure(NUMBER, lambda number: number + 3, loop=loop, delivery="async", default=-3)
pointers = [inline.pointer, sync.pointer, later.pointer]
later(1)
queued = loop.invoke(libc.abs, -5, wait=False)
collected = treadle.closure(NUMBER, lambda number: number, loop=loop, delivery="async")
collected(1)
del collected

def check_child():
    # The parent's closures are the parent's: the pointers may be called, and return the default.
    assert [pointer(5) for pointer in pointers] == [-1, -2, -3], [pointer(5) for pointer in pointers]
    for closure in (inline, sync, later):
        assert refused(closure.invalidate) and refused(closure.close) and refused(lambda: closure.info)
        assert "parent" in repr(closure)
    assert refused(lambda: queued.state) and refused(queued.result) and not queued.cancel() and not queued.running()
    assert refused(lambda: thread.invoke(libc.abs, -1)) and refused(lambda: loop.invoke(libc.abs, -1))
    assert refused(lambda: treadle.closure(NUMBER, int, thread=thread))
    # Its own work as in any other process.
    own = treadle.Thread(serve)
    own.start_and_wait()
    assert own.invoke(libc.abs, -7) == 7
    mine = treadle.closure(NUMBER, lambda number: number + 4, thread=own)
    assert [mine(number) for number in range(3)] == [4, 5, 6]
    assert treadle.RunLoop.current().invoke(mine, 3) == 7
    assert own.invoke(mine, 4, wait=False).result() == 8
    own.stop_and_join()
    gc.collect()

def work(queue):
    check_child()
    queue.put("well")

def check_parent():
    assert [inline(5), sync(5), later(5)] == [6, 7, -3]
    assert thread.invoke(libc.abs, -9) == 9
    assert later.info.waiting == 2
    loop.run(seconds=0)
    assert later.info.handled == 2 and queued.result() == 5
    thread.stop_and_join()
"""


class Calls(TestCase):
    def test_inside_of_a_call(self) -> None:
        """RL-11: a closure's handler forks, on this thread and on another; the child ends by itself."""
        script = CALLS + """if True:
            def fork(number):
                pid = os.fork()
                if pid == 0:
                    check_child()
                    os._exit(number)
                return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            for options in (dict(), dict(thread=thread)):
                print(treadle.closure(NUMBER, fork, **options)(6))
            pid = os.fork()
            if pid == 0:
                check_child()
                sys.exit(5)
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            check_parent()
        """
        self.assertEqual(self.assertRuns(script), "6\n6\n5\n")


if __name__ == "__main__":
    unittest.main()
