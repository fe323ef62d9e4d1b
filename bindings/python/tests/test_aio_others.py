# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Programs of others in treadle.aio: aiohttp as it is, trio as a guest."""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
import threading
import unittest
from typing import TYPE_CHECKING, Any, List

import treadle
import treadle.aio
from treadle import RunLoop

from support import SLOW, WATCHDOG, TestCase

if TYPE_CHECKING:
    import aiohttp
    import aiohttp.web

has_aiohttp = importlib.util.find_spec("aiohttp") is not None
has_trio = importlib.util.find_spec("trio") is not None


#: A client with the standard library's blocking HTTP: its port, its connections, and the requests of each.
CLIENT = """if True:
    import http.client, sys, threading

    def ask(first):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        for number in range(first, first + count):
            connection.request("GET", f"/?number={number}")
            answer = connection.getresponse()
            assert (answer.status, answer.read()) == (200, str(number).encode())
        connection.close()
        answered.append(count)

    port, connections, count = map(int, sys.argv[1:])
    answered = []
    threads = [threading.Thread(target=ask, args=(index * count,)) for index in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(answered))
"""


@unittest.skipUnless(has_aiohttp, "needs aiohttp")
class Aiohttp(TestCase):
    def setUp(self) -> None:
        super().setUp()
        self.served = 0

    async def serve(self) -> "tuple[aiohttp.web.AppRunner, int]":
        """A server of aiohttp in the running loop, which answers with what it is asked; its port."""
        import aiohttp.web

        async def answer(request: "aiohttp.web.Request") -> "aiohttp.web.Response":
            self.served += 1
            if self.served % 500 == 0:
                self.watch()
            return aiohttp.web.Response(text=request.query["number"])

        application = aiohttp.web.Application()
        application.router.add_get("/", answer)
        runner = aiohttp.web.AppRunner(application)
        await runner.setup()
        await aiohttp.web.TCPSite(runner, "127.0.0.1", 0).start()
        return runner, int(runner.addresses[0][1])

    def test_a_client_of_its_own(self) -> None:
        """10,000 requests of another process over four connections, beside a timer of the run loop."""
        each = 2500 if SLOW else 100
        ticks: List[int] = []

        async def main() -> bytes:
            timer = RunLoop.current().every(0.001)(lambda timer: ticks.append(1))
            runner, port = await self.serve()
            arguments = ["-c", CLIENT, str(port), "4", str(each)]
            client = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=subprocess.PIPE)
            output, _ = await client.communicate()
            await runner.cleanup()
            timer.invalidate()
            return output

        self.assertEqual(treadle.aio.run(main()), b"%d\n" % (4 * each))
        self.assertEqual(self.served, 4 * each)
        self.assertTrue(ticks)

    def test_a_client_in_the_same_loop(self) -> None:
        """aiohttp's own client, over 16 connections at a time."""
        import aiohttp

        count = 1000 if SLOW else 200

        async def ask(session: "aiohttp.ClientSession", address: str, number: int) -> None:
            async with session.get(f"{address}/?number={number}") as response:
                self.assertEqual((response.status, await response.text()), (200, str(number)))

        async def main() -> None:
            runner, port = await self.serve()
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=16)) as session:
                await asyncio.gather(*(ask(session, f"http://127.0.0.1:{port}", number) for number in range(count)))
            await runner.cleanup()

        treadle.aio.run(main())
        self.assertEqual(self.served, count)


@unittest.skipUnless(has_trio, "needs trio")
class Trio(TestCase):
    def test_together(self) -> None:
        """Tasks, timers, sockets and threads of trio, beside sources and timers of the run loop."""
        import trio

        seen: "set[str]" = set()

        async def main(number: int) -> int:
            loop = RunLoop.current()
            repeating = loop.every(0.001)(lambda timer: seen.add("timer"))
            source = treadle.Source(perform=lambda source: seen.add("source"))
            loop.add(source)
            await trio.to_thread.run_sync(source.signal)
            listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")

            async def echo(stream: Any) -> None:
                async for data in stream:
                    await stream.send_all(data)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.serve_listeners, echo, listeners)
                stream = await trio.open_tcp_stream(*listeners[0].socket.getsockname())
                await stream.send_all(b"weft")
                self.assertEqual(await stream.receive_some(4), b"weft")
                await stream.aclose()
                nursery.cancel_scope.cancel()
            while len(seen) < 2:
                await trio.sleep(0.001)
            repeating.invalidate()
            source.invalidate()
            return number + 1

        for number in range(3):
            self.assertEqual(treadle.aio.run_trio(main, number), number + 1)

    def test_ends(self) -> None:
        """Exceptions come out of it; a stop of the run loop, from wherever, cancels it, and is LoopClosed."""
        import trio

        async def fail() -> None:
            await trio.sleep(0)
            raise LookupError("of trio")

        with self.assertRaisesRegex(LookupError, "of trio"):
            treadle.aio.run_trio(fail)
        cancelled: List[int] = []

        async def wait() -> None:
            loop = RunLoop.current()
            threading.Thread(target=loop.stop).start()
            try:
                await trio.sleep(WATCHDOG)
            except trio.Cancelled:
                cancelled.append(1)
                raise

        with self.assertRaises(treadle.LoopClosed):
            treadle.aio.run_trio(wait)
        self.assertEqual(cancelled, [1])

        async def nested() -> None:
            treadle.aio.run_trio(fail)

        with self.assertRaises(RuntimeError):
            treadle.aio.run_trio(nested)

    def test_ends_that_are_not_trios(self) -> None:
        """An exception of a callback of the run loop, and a stop that came ahead, end trio first: it can run again."""
        import trio

        async def wait() -> None:
            loop.post(fail)
            await trio.sleep(WATCHDOG)

        def fail() -> None:
            raise LookupError("of the run loop")

        async def answer() -> int:
            await trio.sleep(0)
            return 7

        loop = RunLoop.current()
        with self.assertRaisesRegex(LookupError, "of the run loop"):
            treadle.aio.run_trio(wait)
        self.assertEqual(treadle.aio.run_trio(answer), 7)
        loop.request_stop()
        with self.assertRaises(treadle.LoopClosed):
            treadle.aio.run_trio(trio.sleep, WATCHDOG)
        self.assertEqual(treadle.aio.run_trio(answer), 7)

    def test_a_stop_of_all_levels(self) -> None:
        """STOP-9: such a stop lets no run in a run's callback make a pass; trio ends all the same."""
        import trio

        seen: List[str] = []

        async def wait() -> None:
            loop.request_stop(all_levels=True)
            try:
                await trio.sleep(WATCHDOG)
            finally:
                with trio.CancelScope(shield=True):
                    await trio.sleep(0.001)
                    seen.append(await trio.to_thread.run_sync(str, "cleaned up"))

        def call() -> None:
            with self.assertRaises(treadle.LoopClosed):
                treadle.aio.run_trio(wait)
            seen.append("ended")

        async def answer() -> int:
            await trio.sleep(0)
            return 7

        loop = RunLoop.current()
        loop.post(call)
        self.assertIs(loop.run(seconds=WATCHDOG, when_empty=True), treadle.RunResult.STOPPED)
        self.assertEqual(seen, ["cleaned up", "ended"])
        self.assertEqual(treadle.aio.run_trio(answer), 7)
        self.assertIs(loop.run(seconds=0, when_empty=True), treadle.RunResult.TIMED_OUT)

    def test_shutdown(self) -> None:
        """THR-21: trio ends without the run loop, and can run again, by itself."""
        script = """if True:
            import trio, treadle, treadle.aio

            async def wait(shut_down):
                try:
                    if shut_down:
                        await trio.to_thread.run_sync(treadle.shutdown)
                    await trio.sleep_forever()
                finally:
                    with trio.CancelScope(shield=True):
                        await trio.sleep(0.001)
                    print("cleaned up")

            for shut_down in True, False:
                try:
                    treadle.aio.run_trio(wait, shut_down)
                except treadle.LoopClosed:
                    print("closed")
            trio.run(trio.sleep, 0)
            print("ended", flush=True)
        """
        self.assertEqual(self.assertRuns(script), "cleaned up\nclosed\n" * 2 + "ended\n")

    def test_a_run_that_goes_on(self) -> None:
        """trio.lowlevel.start_guest_run() with a run loop that this program runs: posts are all that trio needs."""
        import trio

        outcomes: List[Any] = []

        async def main() -> int:
            await trio.sleep(0.001)
            return await trio.to_thread.run_sync(pow, 2, 5)

        def end(outcome: Any) -> None:
            outcomes.append(outcome.unwrap())
            loop.stop()

        loop = RunLoop.current()
        trio.lowlevel.start_guest_run(
            main, run_sync_soon_threadsafe=loop.post, done_callback=end, host_uses_signal_set_wakeup_fd=True
        )
        self.assertIs(loop.run(seconds=WATCHDOG, when_empty=True), treadle.RunResult.STOPPED)
        self.assertEqual(outcomes, [32])

    def test_ctrl_c(self) -> None:
        """ABI-4: as with trio.run()."""
        script = """if True:
            import os, signal, threading, trio, treadle, treadle.aio

            async def main():
                threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGINT)).start()
                await trio.sleep_forever()

            try:
                treadle.aio.run_trio(main)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        """
        self.assertEqual(self.assertRuns(script), "interrupted\n")


if __name__ == "__main__":
    unittest.main()
