# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Which C tests run in which way: scripts/test-c reads it. A way runs every test but those named here, each with its reason."""

import fnmatch

#: What a way cannot run at all: (ways, tests, reason).
CANNOT = (
    ("debug", "footprint unwind", "they look at the shared library's pages, and for its name on the stack"),
    ("thread address debug", "growth", "it counts the steps of the shipped library; a checked build takes ten times as many"),
    ("thread address debug static valgrind", "locked", "it counts the shipped library's locked instructions"),
    ("thread address static valgrind", "isolated*", "a plugin's process is a program of the shipped library, which these ways do not build"),
    ("thread address valgrind static", "lock_wall_clock", "its program finds no function by its name, and their runtimes look for theirs"),
    ("thread", "refusals", "it calls the library in the last destructors of a thread, behind the sanitizer's own"),
    ("valgrind", "priority seccomp", "real-time threads wait for valgrind's own lock; a filter meets valgrind's own calls"),
    ("valgrind", "copies_odd", "it runs its own program again, which is valgrind there"),
    ("valgrind", "debug_log", "memcheck takes what the page of the parent's life led to, empty in a fork's child, for lost"),
    ("valgrind", "glue_*", "the leaks that memcheck finds are those of other libraries"),
    ("valgrind", "kernel_calls growth abi", "they count the shipped library's own calls and steps, and valgrind makes its own"),
)

#: Tests that take seconds each, mostly of races and of many rounds.
SLOW = (
    "closure_retire deadlock descriptor_model fault fork_random host_random libraries_* mixed_race notification perform_busy "
    "perform_end plugin_race plugin_storm port_race priority random removal_race scale scope scope_race shutdown signal_burst "
    "signal_threads spin stale_close storm thread_fork thread_join thread_stop unwind"
)

#: Tests that mean something only in full, by their way: they count to a limit, or read what a fuzzer writes; or, with callbacks that an
#: optimiser has made as short as the moment that they are to meet, they meet it in full alone.
FULL = {"shared": "handle_life message_port_flood perform_scale pool scale signature_fuzz", "static": "callee"}

#: Tests of races that repeat longest, whose protocols have scenes of the explorer. `make test` has a fifth of a way's rounds of them.
RACES = "port_race signal_burst stale_close"

#: Tests that start no thread, or one that does little.
ALONE = (
    "allocation closure_input closure_pool delays descriptor descriptor_debug footprint handle_life host label message_port_fault "
    "message_port_fuzz message_port_kill message_port_name mutation pass_lists plugin_circle plugin_clash plugin_kept plugin_refused "
    "plugin_versions routine_direct routine_fault routine_loop signature_fuzz"
)

#: What a way leaves to `make soak`: (ways, tests, reason).
SOAK = (
    ("debug", SLOW, "make check has two minutes; the other ways run them, and what asserts in them asserts in the short ones"),
    ("thread", ALONE, "a single thread races with no other; the address sanitizer's way runs them, with the same assertions"),
)

#: The only tests of a way in `make test`, if they are few.
ONLY = {
    # Leaks and undefined values, which the sanitizers' ways do not look for: one test for each kind of object, its end, and the
    # failures in the middle of a call.
    "valgrind": (
        "block closure closure_fault closure_hop closure_pool descriptor discard host host_next invocation invocation_end "
        "invocation_fault last_resort lock loop message_port message_port_fault mode notification object observer perform "
        "perform_end plugin pool port port_fault process_fault pull routine routine_fault scope scope_value source thread "
        "thread_dictionary timer"
    ),
    # The sanitizers' builds are ordinary Swift as well: here, what meets its runtime most, and callee (see FULL).
    "static": (
        "block callee closure descriptor fault fork host invocation last_resort lock loop mode object observer pass perform pool "
        "process_fork routine run shutdown source stop thread thread_fork timer wake"
    ),
    # The core, without what the kernel may refuse.
    "refused": "loop run timer source descriptor perform thread wake concurrency",
}


def is_full(way: str, name: str) -> bool:
    """Whether a way repeats a test in full, whatever its scale."""
    return name in FULL.get(way, "").split()


def rounds(way: str, name: str, soak: bool, scale: float) -> float:
    """How often a way repeats a test (1: in full), of which the scale is what the way's tests have."""
    if is_full(way, name):
        return 1
    return scale / 5 if name in RACES.split() and not soak else scale


def runs(way: str, name: str, soak: bool) -> bool:
    """Whether a way runs a test."""

    def is_named(names: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in names.split())

    if any(way in ways.split() and is_named(names) for ways, names, _ in CANNOT):
        return False
    if soak and way != "refused":
        return True
    if way in ONLY:
        return is_named(ONLY[way])
    return not any(way in ways.split() and is_named(names) for ways, names, _ in SOAK)

