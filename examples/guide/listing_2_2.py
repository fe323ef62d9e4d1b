# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Listing 2-2: an entry routine with a pool, and a second one around each piece of its work.

What is put into a pool is called when the pool is closed, the latest first. The pool of a whole thread keeps
everything until the thread ends; one that lives long closes a pool more often. (A run loop does that by itself,
in every pass, and threads of Treadle's have a pool around their function in any case.)"""

import treadle


def pooled_text(kind: str, of: str) -> str:
    """A text, with a word about it when the innermost pool is closed: a file would be closed then, for example."""
    text = f"{kind} of {of}"
    treadle.pool.add(print, f"  released: {text}")
    return text


def weave(cloth: str) -> None:
    with treadle.pool():
        print(f"made the {pooled_text('warp', cloth)}")
        print(f"made the {pooled_text('weft', cloth)}")


def thread_main(*cloths: str) -> None:
    with treadle.pool():
        print(f"drew the {pooled_text('pattern', 'everything')}")
        for cloth in cloths:
            weave(cloth)
        print("all is woven")


thread = treadle.Thread(thread_main, ["a scarf", "a blanket"])
thread.start()
thread.join()
print("the thread is gone")
