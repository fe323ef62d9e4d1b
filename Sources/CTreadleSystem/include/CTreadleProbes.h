/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadleProbes.h: static probes (USDT), for bpftrace, perf and gdb: docs/guide/tracing.md lists them. Each is a nop, and a note of
 * where it is and in which registers its arguments are. A part of CTreadleWatching.h, which includes it.
 *
 * The notes are written here, without sys/sdt.h: a build that looks for a header does not notice when it is installed later. */
#ifndef CTREADLE_PROBES_H
#define CTREADLE_PROBES_H

/* An argument of a probe is as large as a pointer, and so are the addresses in its note. */
#if __SIZEOF_POINTER__ == 8
#define TREADLE_PROBE_ADDRESSES ".8byte "
#define TREADLE_PROBE_ARGUMENT(number) "8@%" #number
#else
#define TREADLE_PROBE_ADDRESSES ".4byte "
#define TREADLE_PROBE_ARGUMENT(number) "4@%" #number
#endif

/* A nop and its ELF note, of type 3 of the owner "stapsdt": the addresses of the nop, of a base and of the semaphore, then the names
 * and the arguments. Readers compare the base with the section of it, to learn how far the addresses were moved after linking. */
#define TREADLE_PROBE_NOTE(name, arguments, ...) \
    __asm__ volatile( \
        "990: nop\n" \
        ".pushsection .note.stapsdt, \"?\", \"note\"\n" \
        ".balign 4\n" \
        ".4byte 992f-991f, 994f-993f, 3\n" \
        "991: .asciz \"stapsdt\"\n" \
        "992: .balign 4\n" \
        "993: " TREADLE_PROBE_ADDRESSES "990b, _.stapsdt.base, treadle_" #name "_semaphore\n" \
        ".asciz \"treadle\", \"" #name "\", \"" arguments "\"\n" \
        "994: .balign 4\n" \
        ".popsection\n" \
        ".ifndef _.stapsdt.base\n" \
        ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n" \
        ".weak _.stapsdt.base\n" \
        ".hidden _.stapsdt.base\n" \
        "_.stapsdt.base: .space 1\n" \
        ".size _.stapsdt.base, 1\n" \
        ".popsection\n" \
        ".endif" \
        : : __VA_ARGS__)
/* Constants and registers alone: of the usual choice, which has memory too, Clang takes memory. */
#define TREADLE_PROBE_VALUE(value) "nr"((uintptr_t)(value))
#define TREADLE_PROBE1(name, a) TREADLE_PROBE_NOTE(name, TREADLE_PROBE_ARGUMENT(0), TREADLE_PROBE_VALUE(a))
#define TREADLE_PROBE2(name, a, b) \
    TREADLE_PROBE_NOTE(name, TREADLE_PROBE_ARGUMENT(0) " " TREADLE_PROBE_ARGUMENT(1), TREADLE_PROBE_VALUE(a), TREADLE_PROBE_VALUE(b))
#define TREADLE_PROBE3(name, a, b, c) \
    TREADLE_PROBE_NOTE(name, TREADLE_PROBE_ARGUMENT(0) " " TREADLE_PROBE_ARGUMENT(1) " " TREADLE_PROBE_ARGUMENT(2), \
                       TREADLE_PROBE_VALUE(a), TREADLE_PROBE_VALUE(b), TREADLE_PROBE_VALUE(c))
#define TREADLE_PROBE4(name, a, b, c, d) \
    TREADLE_PROBE_NOTE(name, \
                       TREADLE_PROBE_ARGUMENT(0) " " TREADLE_PROBE_ARGUMENT(1) " " TREADLE_PROBE_ARGUMENT(2) " " \
                       TREADLE_PROBE_ARGUMENT(3), \
                       TREADLE_PROBE_VALUE(a), TREADLE_PROBE_VALUE(b), TREADLE_PROBE_VALUE(c), TREADLE_PROBE_VALUE(d))

/* Behind one look at whether there is a listener: functions, since a probe that is inlined is one in each copy of what it is inlined
 * into, and keeps all of them in the library. Loops and sources are handles; a label may be NULL. */
void treadle_system_probe_pass_begins(uintptr_t loop, uint64_t number);
void treadle_system_probe_pass_ends(uintptr_t loop);
void treadle_system_probe_sleep_begins(uintptr_t loop);
void treadle_system_probe_sleep_ends(uintptr_t loop);
void treadle_system_probe_call_begins(uintptr_t loop, const char *kind, const char *label, uintptr_t subject);
void treadle_system_probe_call_ends(uintptr_t loop);
void treadle_system_probe_request(uintptr_t loop, const char *label, uintptr_t function);
void treadle_system_probe_signal(uintptr_t source);

/* The semaphore of all probes, which the kernel, or a debugger, increments for each one that it listens to. */
extern unsigned short treadle_system_listeners;
static inline uint16_t treadle_system_listener_count(void) { return __atomic_load_n(&treadle_system_listeners, __ATOMIC_RELAXED); }

/* A nop alone: the arguments are in registers anyway. */
extern __attribute__((visibility("hidden"))) unsigned short treadle_post_semaphore;
static inline __attribute__((always_inline)) void treadle_system_probe_post(uintptr_t loop, const char *label, uintptr_t function) {
    TREADLE_PROBE3(post, loop, label, function);
}

#endif
