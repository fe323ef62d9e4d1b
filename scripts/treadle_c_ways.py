# SPDX-License-Identifier: Apache-2.0
# Copyright the Treadle authors
"""Which C tests run in which way: scripts/test-c reads it. A way runs every test but those named here, each with its reason."""

import fnmatch

import treadle_c_targets

#: What a way cannot run at all: (ways, tests, reason).
CANNOT = (
    ("debug", "footprint unwind", "they look at the shared library's pages, and for its name on the stack"),
    ("thread address debug", "growth", "it counts the steps of the shipped library; a checked build takes ten times as many"),
    ("thread address debug static valgrind", "locked", "it counts the shipped library's locked instructions"),
    ("thread address static valgrind", "isolated*", "a plugin's process is a program of the shipped library, which these ways do not build"),
    ("thread address debug valgrind static", "lock_wall_clock", "its program finds no function by its name, and their runtimes look for theirs"),
    ("thread", "refusals", "it calls the library in the last destructors of a thread, behind the sanitizer's own"),
    ("valgrind", "priority seccomp", "real-time threads wait for valgrind's own lock; a filter meets valgrind's own calls"),
    ("aarch64", "glue_* libraries_*", "they need other libraries of that processor"),
    ("aarch64", "isolated* copies_odd debug_log", "they start programs of that processor, which the kernel cannot"),
    ("aarch64", "fork_random", "qemu takes MADV_WIPEONFORK and does nothing"),
    ("aarch64", "message_port_fault message_port_file message_port_hostile message_port_kill", "qemu drops MSG_CTRUNC and limits"),
    ("aarch64", "kernel_calls closure_kept footprint growth locked pool thread_cost", "they count calls, memory or instructions, which are also qemu's"),
    ("aarch64", "seccomp", "a filter meets qemu's own calls"),
    ("aarch64-64k", "fork", "qemu maps the last page of the loader in part"),
    ("musl musl-static", "glue_* libraries_*", "they need other libraries of that C library"),
    (
        "musl musl-static",
        "*fault message_port_linger message_port_stranger message_port_want no_memory queue_growth signal_safe "
        "allocation lock_wall_clock",
        "they put functions in the place of the C library's by names or fields that glibc alone has",
    ),
    ("musl musl-static", "closure_kept plugin_kept scale scope_post growth", "they ask glibc's heap how much is in use, or its names for steps"),
    ("musl musl-static", "copies loop_teardown unwind", "they need dlmopen, __cxa_thread_atexit_impl or backtrace, which musl has not"),
    (
        "musl musl-static",
        "*_exit main_end message_port_end message_port_inside message_port_name port_call",
        "pthread_exit of musl does not unwind, so no callback can end its thread",
    ),
    (
        "musl musl-static",
        "plugin plugin_clash plugin_hostile plugin_kill plugin_kill_life plugin_race plugin_refused plugin_scope plugin_storm plugin_versions",
        "dlclose of musl unmaps nothing, and they look for what they have unloaded",
    ),
    ("musl musl-static", "locked", "it counts the locked instructions of the allocator as well, of which glibc's has none there"),
    ("musl musl-static", "plugin_file run_interrupt thread_cost", "they need names of glibc's, or know what its threads cost"),
    ("musl musl-static", "watchdog", "it looks for callers, which a C library without backtrace does not tell"),
    ("valgrind", "copies_odd", "it runs its own program again, which is valgrind there"),
    ("valgrind", "debug_log", "memcheck takes what the page of the parent's life led to, empty in a fork's child, for lost"),
    ("valgrind", "glue_*", "the leaks that memcheck finds are those of other libraries"),
    ("valgrind", "kernel_calls growth abi", "they count the shipped library's own calls and steps, and valgrind makes its own"),
)

#: Tests that take seconds each, mostly of races and of many rounds.
SLOW = (
    "descriptor_model fault fork_random host_random libraries_* mixed_race notification perform_busy "
    "perform_end plugin_race plugin_storm priority random removal_race scale scope shutdown signal_safe "
    "signal_threads spin stale_close storm thread_fork thread_join unwind"
)

#: Tests that mean something only in full, by their way: they count to a limit, or read what a fuzzer writes.
FULL = {"shared": "callee handle_life message_port_flood perform_scale pool scale signature_fuzz"}

#: Tests that are compiled by an optimiser: it has made their callbacks as short as the moment that they are to meet.
OPTIMISED = ("callee",)

#: Tests of races, with the scenes of the explorer that name the same steps and choose each interleaving of them, which the tests
#: hope for. `make test` has a fifth of the rounds of the shipped library's way, and no other way: what the sanitizers look for the
#: explorer sees as well, of all its schedules. scripts/rules --check knows whether there are such scenes.
RACES = {
    "spin": "a_post_ends_the_sleep_on_a_futex a_wait_for_a_perform a_wait_for_a_call_against_its_time_limit a_stop_against_a_post",
    "stale_close": "a_handle_is_passed_to_be_closed a_signal_against_the_next_life_of_its_slot "
    "a_retain_against_the_next_life_of_its_slot",
}

#: Tests that start no thread, or one that does little.
ALONE = (
    "allocation closure_input closure_pool delays descriptor footprint handle_life host label message_port_fault "
    "message_port_fuzz message_port_kill message_port_name mutation pass_lists plugin_circle plugin_clash plugin_kept plugin_refused "
    "plugin_versions references routine_fault routine_loop signature_fuzz timer_fire trace_call unused_item"
)

#: What a way leaves to `make soak`: (ways, tests, reason).
SOAK = (
    ("debug", SLOW, "make check has two minutes; the other ways run them, and what asserts in them asserts in the short ones"),
    ("debug", "allocation", "checks of debug builds cost memory; the shipped library's way counts"),
    ("thread", ALONE, "a single thread races with no other; the address sanitizer's way runs them, with the same assertions"),
    ("thread address", " ".join(RACES), "scenes of the explorer name the same steps (RACES); the shipped library's way runs them"),
    ("shared thread", "random descriptor_model", "programs against a model find faults of logic; the address sanitizer's way plays them"),
    ("shared address", "storm host_random mixed_race", "the thread sanitizer is their judge; its way plays them"),
    ("thread address", "fork_random", "a child of a process with threads is what the shipped library's way has"),
)

#: What depends on the size of a page: stacks, pools of stubs, memory that processes share, guard pages of tests.
PAGES = (
    "bad_struct block calls_table closure closure_fork closure_full closure_pool closure_reuse concurrency condition fork invocation "
    "lock loop message_port message_port_flood message_port_inside message_port_lie message_port_look perform plugin port "
    "struct_growth thread thread_attributes thread_stop trace unwind"
)

#: The only tests of a way in `make test`, if they are few.
ONLY = {
    # Leaks and undefined values, which the sanitizers' ways do not look for: one test for each kind of object, its end, and the
    # failures in the middle of a call; item_states has all kinds of items.
    "valgrind": (
        "block carried_calls closure closure_fault closure_pool host invocation invocation_end invocation_fault item_states last_resort lock loop "
        "message_port message_port_fault mode notification object perform plugin pool port_fault process_fault pull routine "
        "routine_fault scope scope_states scope_value thread thread_dictionary"
    ),
    # Under qemu: tests of each kind of object. CANNOT names those that fail there by the emulator.
    "aarch64": (
        "abi bad_input bad_struct block busy_pass callback_exit callee calls_random calls_table cancel_race carried_calls close close_between "
        "closure closure_fault closure_fork closure_full closure_hop closure_input closure_pool closure_reuse "
        "common_modes concurrency condition copies counters deadlock delays describe descriptor descriptor_batch "
        "descriptor_closed descriptor_discard descriptor_model descriptor_past direct_exit discard errno fork "
        "guest handle_life host host_end host_exit host_gate host_next host_random host_run host_wait invocation invocation_end "
        "invocation_fault invocation_fork invocation_run invocation_state invocation_variadic invocation_wait "
        "items label last_resort lock lock_wall_clock loop loop_teardown membership_exit message_port "
        "message_port_end message_port_flood message_port_fuzz message_port_host message_port_inside message_port_lie "
        "message_port_look message_port_name message_port_stranger message_port_user mixed_race mode "
        "notification object observer perform plugin plugin_refused plugin_versions port port_call port_fault "
        "process_fork pull random routine routine_fault routine_loop run scope scope_states scope_value source stop storm thread "
        "thread_dictionary thread_join timer timer_fire trace trace_call unwind waits wake"
    ),
    # Each kind of object, in a static program: it loads no plugins, and its own functions have no names there.
    "musl-static": (
        "bad_input block busy_pass cancel_race close closure common_modes concurrency condition counters deadlock delays descriptor "
        "descriptor_batch descriptor_closed discard errno fork host host_next host_random invocation invocation_run items label last_resort "
        "lock loop message_port mixed_race mode notification object observer pass perform pool port process_fork pull random routine run "
        "scope scope_states scope_value shutdown source stop storm thread thread_fork timer trace waits wake"
    ),
    "aarch64-16k": PAGES,
    "aarch64-64k": PAGES,
    # What is called by its address.
    "aarch64-guarded": (
        "callee calls_random calls_table closure closure_fault closure_pool copies descriptor errno host invocation invocation_run "
        "lock message_port observer perform plugin port routine scope source stop thread timer trace unwind wake"
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
    return scale / 5 if name in RACES and not soak else scale


def runs(way: str, name: str, soak: bool) -> bool:
    """Whether a way runs a test."""

    def is_named(names: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in names.split())

    if any(each in ways.split() and is_named(names) for ways, names, _ in CANNOT for each in (way, treadle_c_targets.base(way))):
        return False
    if soak and way != "refused" and way not in treadle_c_targets.WAYS:
        return True
    if way in ONLY:
        return is_named(ONLY[way])
    return not any(way in ways.split() and is_named(names) for ways, names, _ in SOAK)

