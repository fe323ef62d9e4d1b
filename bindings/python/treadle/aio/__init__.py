# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""asyncio, and trio, in a run loop.

    import asyncio, treadle.aio

    asyncio.run(main(), loop_factory=treadle.aio.EventLoop)   # Python 3.12; treadle.aio.run(main()) with any
    treadle.aio.install()                                     # for a program that calls asyncio.run(main()) itself

The run loop of the thread does the waiting, so sources, timers, descriptors, ports and posts of RunLoop.current(), also
those of plugins in other languages, live in one loop with the tasks of asyncio.
"""

from ._attached import Attached, attach
from ._loop import EventLoop
from ._running import install, run
from ._trio import run_trio

__all__ = ["Attached", "EventLoop", "attach", "install", "run", "run_trio"]

for _public in (Attached, EventLoop, attach, install, run, run_trio):
    _public.__module__ = __name__

del _public
