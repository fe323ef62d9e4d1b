# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Messages of a port that tasks of asyncio receive (treadle.aio)."""

from __future__ import annotations

import asyncio
import threading
import unittest
from typing import Any, Callable, List

import treadle
import treadle.aio
from treadle import Port, RunLoop

from support import WATCHDOG, TestCase


class Receiving(TestCase):
    def test_many(self) -> None:
        """PORT-6: each message once, in its order, from a thread that waits for room in a port of four; then the port's end."""
        count = 500

        async def main() -> List[int]:
            got: List[int] = []
            port = Port(capacity=4, pickle=True)

            def send() -> None:
                for number in range(count):
                    port.send(number, timeout=WATCHDOG)

            thread = threading.Thread(target=send)
            thread.start()
            async for message in port:
                self.assertIs(message.port, port)
                got.append(message.components[0])
                if len(got) == count:
                    port.invalidate()
            thread.join()
            return got

        self.assertEqual(treadle.aio.run(main()), list(range(count)))
        self.assertEqual(RunLoop.current().items(), [])

    def test_what_nobody_waits_for_stays(self) -> None:
        """PORT-1: in the port, between two waits and after them, also while a nested run serves its mode."""

        async def main() -> None:
            port = Port()
            for number in range(5):
                port.send(id=number)
            async for message in port:
                self.assertNotIn(port, RunLoop.current())
                self.assertEqual((message.id, port.count), (0, 4))
                RunLoop.current().run(seconds=0)
                await asyncio.sleep(0.001)
                self.assertEqual(port.count, 4)
                break
            task = asyncio.ensure_future(take(port))
            await asyncio.sleep(0)
            RunLoop.current().run(seconds=0)  # asyncio pauses
            RunLoop.current().run(seconds=0)
            self.assertEqual(port.count, 3)
            self.assertEqual((await task).id, 1)
            port.invalidate()

        treadle.aio.run(main())

    def test_several_tasks(self) -> None:
        """PORT-4: each message goes to one of them, and a task that is cancelled takes none along."""

        async def main() -> None:
            port = Port()
            tasks = [asyncio.ensure_future(take(port)) for _ in range(5)]
            await asyncio.sleep(0)
            tasks[0].cancel()
            for number in range(4):
                port.send(id=number)
            messages = await asyncio.gather(*tasks[1:])
            self.assertEqual(sorted(message.id for message in messages), [0, 1, 2, 3])
            for _ in range(20):  # a message that comes at the very moment of the cancelling
                task = asyncio.ensure_future(take(port))
                await asyncio.sleep(0)
                RunLoop.current().post(task.cancel)
                port.send(id=7)
                try:
                    message = await task
                except asyncio.CancelledError:
                    message = await take(port)
                self.assertEqual(message.id, 7)
            port.invalidate()

        treadle.aio.run(main())

    def test_replies(self) -> None:
        """PORT-4: tasks that send, and wait for the answers of another one."""

        async def main() -> None:
            port = Port(pickle=True)
            task = asyncio.ensure_future(serve(port))

            async def ask(number: int) -> Any:
                answers = Port(pickle=True)
                port.send(number, reply_port=answers)
                async for message in answers:
                    answers.invalidate()
                    return message.components[0]

            self.assertEqual(await asyncio.gather(*map(ask, range(10))), [number * 2 for number in range(10)])
            port.invalidate()
            await task

        async def serve(port: Port) -> None:
            async for message in port:
                assert message.reply_port is not None
                answer: Port = message.reply_port
                answer.send(message.components[0] * 2)

        treadle.aio.run(main())

    def test_modes(self) -> None:
        """MODE-8: received in those of asyncio."""

        async def main() -> int:
            port = Port()
            port.send(id=7)
            return (await take(port)).id

        loop = treadle.aio.EventLoop("network")
        self.assertEqual(loop.run_until_complete(main()), 7)
        loop.close()


class Misuse(TestCase):
    def refused(self, run: Callable[[Any], object], port: Port) -> None:
        with self.assertRaises(RuntimeError):
            run(take(port))

    def test_ports_that_cannot_be_received_from(self) -> None:
        """With a function, in a loop already, without a run loop under asyncio: RuntimeError. Invalid: the end at once."""
        self.refused(treadle.aio.run, Port(lambda message: None))
        self.refused(asyncio.run, Port())
        with Port() as port:
            RunLoop.current().add(port)
            self.refused(treadle.aio.run, port)

        async def main() -> List[object]:
            with Port() as port:
                pass
            return [message async for message in port]

        self.assertEqual(treadle.aio.run(main()), [])

    def test_two_threads(self) -> None:
        """The second is refused while the first waits."""

        async def main() -> None:
            port = Port()
            task = asyncio.ensure_future(take(port))
            await asyncio.sleep(0)
            errors = await asyncio.get_running_loop().run_in_executor(None, attempt, port)
            self.assertIn("run loop", str(errors))
            port.send(id=1)
            await task
            port.invalidate()

        def attempt(port: Port) -> object:
            try:
                treadle.aio.run(take(port))
            except RuntimeError as error:
                return error
            return None

        treadle.aio.run(main())


async def take(port: Port) -> treadle.Message:
    return await port.__anext__()


if __name__ == "__main__":
    unittest.main()
