# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Child processes: their ends are told by descriptors (pidfd), as any other event of the loop."""

from __future__ import annotations

import asyncio
import os
import sys
import warnings
from asyncio import unix_events
from typing import Any, Dict


class ProcessLoop(asyncio.SelectorEventLoop):
    """A loop of asyncio that waits for child processes by descriptors also before Python 3.12, which does so itself."""

    if sys.version_info < (3, 12):

        async def _make_subprocess_transport(
            self, protocol: Any, args: Any, shell: bool, stdin: Any, stdout: Any, stderr: Any, bufsize: int,
            extra: Any = None, **keywords: Any,
        ) -> Any:  # fmt: skip
            """Starts a process, and returns its transport once the protocol knows it."""
            if not _has_descriptors() or _is_watched_otherwise():
                make = getattr(super(), "_make_subprocess_transport")
                return await make(protocol, args, shell, stdin, stdout, stderr, bufsize, extra, **keywords)
            waiter = self.create_future()
            streams: Dict[str, Any] = {"stdin": stdin, "stdout": stdout, "stderr": stderr}
            transport = getattr(unix_events, "_UnixSubprocessTransport")(
                self, protocol, args, shell, bufsize=bufsize, waiter=waiter, extra=extra, **streams, **keywords
            )
            self._watch(transport)
            try:
                await waiter
            except Exception:
                transport.close()
                await transport._wait()
                raise
            except asyncio.CancelledError:
                transport.close()
                await transport._wait()
                raise
            return transport

        def _watch(self, transport: Any) -> None:
            """Has the transport told of its process's end."""
            process = transport.get_pid()
            try:
                descriptor = os.pidfd_open(process)
            except ProcessLookupError:  # somebody else has reaped it
                self.call_soon(transport._process_exited, 255)
                return
            self.add_reader(descriptor, self._reap, descriptor, process, transport)

        def _reap(self, descriptor: int, process: int, transport: Any) -> None:
            self.remove_reader(descriptor)
            os.close(descriptor)
            try:
                _, status = os.waitpid(process, 0)
            except ChildProcessError:
                code = 255
                warnings.warn(f"other code has waited for process {process}: its result is unknown", RuntimeWarning)
            else:
                code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
            transport._process_exited(code)


def _has_descriptors() -> bool:
    """Whether the kernel has descriptors of processes, and lets this one have them."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def _is_watched_otherwise() -> bool:
    """Whether the program has chosen a child watcher of asyncio's."""
    policy = asyncio.get_event_loop_policy()
    watcher = getattr(policy, "_watcher", None)
    return watcher is not None and type(watcher) is not getattr(asyncio, "ThreadedChildWatcher", None)
