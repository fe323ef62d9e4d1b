# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Arguments of the wrong type are refused in the package's words, before ctypes sees them."""

from __future__ import annotations

import operator
from contextvars import Context, copy_context
from typing import Any, Iterable, Iterator, Optional


def wrong_type(name: str, wanted: str, value: object) -> TypeError:
    """The exception for an argument of another type than the wanted one."""
    return TypeError(f"{name} is {wanted}, not {type(value).__name__}")


def integer(value: int, name: str) -> int:
    """A whole number."""
    try:
        return operator.index(value)
    except TypeError:
        raise wrong_type(name, "an int", value) from None


def encoded_text(text: str, name: str) -> bytes:
    """A text as the library takes it."""
    if not isinstance(text, str):
        raise wrong_type(name, "a str", text)
    if "\0" in text:
        raise ValueError(f"{name} contains NUL")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} is not valid Unicode: {text!r}") from None


def iterated(values: Iterable[Any], name: str, wanted: str) -> Iterator[Any]:
    """What a list, or anything like it, consists of; bytes are no list."""
    if not isinstance(values, (bytes, bytearray)):
        try:
            return iter(values)
        except TypeError:
            pass
    raise wrong_type(name, wanted, values)


def object_of(value: Any, kind: type, name: str) -> Any:
    """An object of a class of the package."""
    if not isinstance(value, kind):
        raise wrong_type(name, f"a {kind.__name__}", value)
    return value


def context_of(context: Optional[Context]) -> Context:
    """The context that a function runs in: the one given, or a copy of the caller's, as it is now."""
    if context is None:
        return copy_context()
    if not isinstance(context, Context):
        raise wrong_type("a context", "a contextvars.Context", context)
    return context
