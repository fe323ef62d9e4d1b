# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""What becomes of an exception in a callback.

No exception crosses the library. Each call into the library that can call back leaves a frame on its
thread's stack. The first exception of a callback is stored in the innermost frame, and raised again by the
call that made the frame; a run is ended for it. Where there is no frame, or by the loop's policy, the
exception is reported instead.
"""

from __future__ import annotations

import sys
import threading
import traceback
from types import SimpleNamespace, TracebackType
from threading import get_ident
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Set, Type

from . import _capi
from ._library import native
from ._plugin_owner import is_late

if TYPE_CHECKING:
    from ._loop import RunLoop
    from ._thread import Thread
    from ._types import Mode


def without_frame(error: BaseException) -> BaseException:
    """The exception without its outermost frame: that of who caught it, which would live as long as the exception."""
    return error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)


class Outcome:
    """Where the exception of a function is kept until somebody raises it."""

    __slots__ = ("error",)

    def __init__(self) -> None:
        self.error: Optional[BaseException] = None

    def keep(self, error: BaseException) -> None:
        """Keeps an exception without its outermost frame: that of who caught it, and refers to the outcome."""
        self.error = without_frame(error)

    def raise_kept(self) -> None:
        """Raises what is kept, and forgets it."""
        error, self.error = self.error, None
        if error is not None:
            try:
                raise error
            finally:
                del error  # its traceback refers to this frame


class Frame(Outcome):
    """A call into the library that can call back; keeps the first exception of a callback."""

    __slots__ = ("runs",)

    def __init__(self, runs: bool) -> None:
        super().__init__()
        #: It runs a loop; otherwise it only adds, removes or invalidates.
        self.runs = runs

    def fail(self, error: BaseException) -> None:
        """Stores the first exception of a callback."""
        self.error = error
        failed.add(self)

    def unwinds(self) -> bool:
        """Whether this is a run that ends for an exception."""
        return self.runs and self.error is not None


class LastingFrame(Frame):
    """That of a call that is made again and again: an exception of a callback is raised when the last one has returned."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(runs=False)

    def raise_kept(self) -> None:
        """Raises only what nothing may put off, such as KeyboardInterrupt."""
        if not isinstance(self.error, Exception):
            self.raise_at_last()

    def raise_at_last(self) -> None:
        """Raises what is kept, and forgets it."""
        super().raise_kept()


#: The frames with an exception: nearly always none, so that a callback need not look for its own.
failed: Set[Frame] = set()

# The frames by thread, the innermost last. Not in a threading.local: that is empty in the last callbacks of a
# thread, and would be made anew, for ever. An entry lives as long as its outermost frame.
_stacks: Dict[int, List[Frame]] = {}


def innermost() -> Optional[Frame]:
    """The calling thread's innermost frame."""
    stack = _stacks.get(get_ident())
    return stack[-1] if stack else None


def is_running() -> bool:
    """Whether the calling thread is in a run that was started from Python."""
    return any(frame.runs for frame in _stacks.get(get_ident(), ()))


def call(frame: Frame, function: Callable[..., int], *arguments: Any) -> int:
    """Calls a function that can call back, under a frame. Raises what a callback raised."""
    stack = own_stack()
    depth = len(stack)
    try:
        stack.append(frame)
        status = function(*arguments)
    finally:
        leave(stack, depth, frame)
    if frame.error is not None:
        frame.raise_kept()
    return status


def own_stack() -> List[Frame]:
    """The calling thread's frames."""
    return _stacks.setdefault(get_ident(), [])


def leave(stack: List[Frame], depth: int, frame: Frame) -> None:
    """Removes a frame that was put upon so many: by depth, since Ctrl-C may come between any two steps."""
    del stack[depth:]
    if not depth:
        _stacks.pop(get_ident(), None)
    if frame.error is not None:
        failed.discard(frame)


def forget_others() -> None:
    """In the child of a fork only the calling thread lives."""
    own = _stacks.get(get_ident())
    _stacks.clear()
    resorting.clear()
    if own:
        _stacks[get_ident()] = own


class ExceptHookArgs(NamedTuple):
    """The argument of an excepthook. Since 1.0."""

    #: The exception's class.
    exc_type: Type[BaseException]
    #: The exception.
    exc_value: BaseException
    #: Where it was raised.
    exc_traceback: Optional[TracebackType]
    #: The loop that called back.
    loop: Optional[RunLoop]
    #: The source, timer, observer, descriptor or closure; the Future of a performed function; the function of a post.
    item: object
    #: The mode that is run, or that the source was added to or left.
    mode: Optional[Mode]


def excepthook(arguments: ExceptHookArgs) -> None:
    """Prints the exception to the standard error stream: the default of every loop. Since 1.0."""
    if sys.stderr is not None:
        lines = [f"Exception in the callback of {arguments.item!r}:\n"]
        lines += traceback.format_exception(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)
        sys.stderr.write("".join(lines))


def report(error: BaseException, loop: Optional[RunLoop], item: object, mode: Optional[Mode]) -> None:
    """Tells the loop's excepthook of an exception that nobody catches; the last resort before the default one."""
    if is_late(error):
        return
    hook: Callable[[ExceptHookArgs], None] = excepthook if loop is None else loop.excepthook
    if hook is excepthook and is_dealt_with(error):
        return
    try:
        hook(ExceptHookArgs(type(error), error, error.__traceback__, loop, item, mode))
    except BaseException as second:
        report_hook(hook, second)


#: The exception that a thread hands to the last resort, by thread.
resorting: Dict[int, BaseException] = {}


def is_dealt_with(error: BaseException) -> bool:
    """Hands an exception that nobody catches to the process's last resort, in whatever language that is. Without one the
    interpreter's own hook tells more than the line that the library would print."""
    if not native.treadle_has_last_resort():
        return False
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    identity = get_ident()
    outer = resorting.get(identity)
    resorting[identity] = error
    try:
        status: int = native.treadle_report_error(b"Python exception", text.encode(errors="replace"))
    finally:
        if outer is None:
            del resorting[identity]
        else:
            resorting[identity] = outer
    return status == _capi.OK


def report_of_thread(error: BaseException, thread: Thread) -> None:
    """Tells the last resort, or else threading.excepthook, of an exception that a thread's function raised."""
    if is_late(error) or is_dealt_with(error):
        return
    hook = threading.excepthook
    try:
        named: Any = thread if thread.name else None
        hook(threading.ExceptHookArgs((type(error), error, error.__traceback__, named)))
    except BaseException as second:
        report_hook(hook, second)


def report_hook(hook: object, error: BaseException) -> None:
    arguments: Any = SimpleNamespace(
        exc_type=type(error),
        exc_value=error,
        exc_traceback=error.__traceback__,
        err_msg="Exception ignored in the excepthook of a run loop",
        object=hook,
    )
    try:
        sys.unraisablehook(arguments)
    except Exception:  # the interpreter's own takes only what the interpreter made
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        sys.stderr.write(f"{arguments.err_msg} {hook!r}:\n{text}")


#: Takes the exception of a callback for which nobody in Python runs the loop; False if it is not a plugin's. Set by _embedded.
take_fault: Optional[Callable[[BaseException], bool]] = None


def is_completed(error: BaseException, loop: Optional[RunLoop], item: object, mode: Optional[Mode]) -> bool:
    """Takes a callback's exception. True if the library should go on as if the callback had completed."""
    if is_late(error):
        return True
    frame = innermost()
    ends_run = not isinstance(error, Exception)
    if loop is not None and loop.error_policy == "report" and not ends_run:
        report(error, loop, item, mode)
        return True
    if frame is None and not ends_run and take_fault is not None and take_fault(error):
        return True
    if frame is not None and frame.error is None:
        frame.fail(error)
        _annotate(error, item, mode)
        return not frame.runs
    if frame is not None and error.__context__ is None and error is not frame.error:
        error.__context__ = frame.error
    if not isinstance(error, SystemExit):
        report(error, loop, item, mode)
    return frame is not None and not frame.runs


def _annotate(error: BaseException, item: object, mode: Optional[Mode]) -> None:
    if item is not None and hasattr(error, "add_note"):  # Python 3.11
        error.add_note(f"raised in the callback of {item!r} in mode {mode!r}")


def guarded(function: Callable[..., int], *arguments: object) -> int:
    """Calls a function of the library that may call schedule or cancel, and raises what they raised."""
    return call(Frame(runs=False), function, *arguments)
