/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadleProbes.h: static probes (USDT), for bpftrace, perf and gdb: docs/guide/tracing.md lists them. Each is a nop, and a note of
 * where it is and in which registers its arguments are. A part of CTreadleWatching.h, which includes it. Built without sys/sdt.h
 * (Debian: systemtap-sdt-dev), or with TREADLE_NO_PROBES, the library has none. */
#ifndef CTREADLE_PROBES_H
#define CTREADLE_PROBES_H

#if defined(__has_include) && !defined(TREADLE_NO_PROBES)
#if __has_include(<sys/sdt.h>)
#define TREADLE_SYSTEM_HAS_PROBES 1
#define _SDT_HAS_SEMAPHORES 1
/* Of the usual choice of constant, register and memory, Clang takes memory. */
#define STAP_SDT_ARG_CONSTRAINT nr
#include <sys/sdt.h>
#endif
#endif

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

#ifdef TREADLE_SYSTEM_HAS_PROBES
/* The semaphore of all probes, which the kernel, or a debugger, increments for each one that it listens to. */
extern unsigned short treadle_system_listeners;
static inline uint16_t treadle_system_listener_count(void) { return __atomic_load_n(&treadle_system_listeners, __ATOMIC_RELAXED); }

/* A nop alone: the arguments are in registers anyway. */
extern __attribute__((visibility("hidden"))) unsigned short treadle_post_semaphore;
static inline __attribute__((always_inline)) void treadle_system_probe_post(uintptr_t loop, const char *label, uintptr_t function) {
    STAP_PROBE3(treadle, post, loop, label, function);
}
#else
static inline uint16_t treadle_system_listener_count(void) { return 0; }
static inline void treadle_system_probe_post(uintptr_t loop, const char *label, uintptr_t function) {
    (void)loop, (void)label, (void)function;
}
#endif

#endif
