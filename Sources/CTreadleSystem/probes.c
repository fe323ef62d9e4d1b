/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * probes.c: the static probes that are functions. */
#include "CTreadleSystem.h"

/* Probes are told apart by their names; all of them share one semaphore, so that one look tells whether there is a listener. */
__attribute__((section(".probes"), used)) unsigned short treadle_system_listeners;
#define SEMAPHORE(name) \
    extern __attribute__((alias("treadle_system_listeners"), visibility("hidden"))) unsigned short treadle_##name##_semaphore
SEMAPHORE(post);
/* What the notes count their addresses from. The linker gold drops the section of it, to which notes alone refer, and then refuses the
 * notes; so each function names it. */
extern __attribute__((visibility("hidden"))) const char base_of_notes __asm__("_.stapsdt.base");
#define PROBE(name, function, parameters, count, ...) \
    SEMAPHORE(name); \
    void treadle_system_probe_##function parameters { \
        __asm__ volatile("" : : "r"(&base_of_notes)); \
        TREADLE_PROBE##count(name, __VA_ARGS__); \
    }

PROBE(pass__begin, pass_begins, (uintptr_t loop, uint64_t number), 2, loop, number)
PROBE(pass__end, pass_ends, (uintptr_t loop), 1, loop)
PROBE(sleep__begin, sleep_begins, (uintptr_t loop), 1, loop)
PROBE(sleep__end, sleep_ends, (uintptr_t loop), 1, loop)
PROBE(callback__begin, call_begins, (uintptr_t loop, const char *kind, const char *label, uintptr_t subject), 4, loop, kind, label, subject)
PROBE(callback__end, call_ends, (uintptr_t loop), 1, loop)
PROBE(request, request, (uintptr_t loop, const char *label, uintptr_t function), 3, loop, label, function)
PROBE(signal, signal, (uintptr_t source), 1, source)
