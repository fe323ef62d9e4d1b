/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * signal.c: the one exported function that does not begin in Swift. A signal more of a flooded source is a fence and a
 * look, of which what Swift puts around an exported function would be a fifth. */
#include "CTreadleSignal.h"
#include "CTreadleSystem.h"

/* Whether the calling thread floods the source that a client's handle means: it is signalled by that. Flooding.swift
 * says why this look is enough. */
static inline bool floods(uint64_t handle) {
    const struct treadle_system_thread *thread = treadle_system_thread();
    if (thread->flood != handle || !thread->flooded_cell) return false;
    uint32_t *word = (uint32_t *)((char *)thread->flooded_cell + TREADLE_SYSTEM_FLAGS_OFFSET), flags;
#if TREADLE_SYSTEM_FENCES_ARE_KNOWN
    treadle_system_full_fence();
    flags = __atomic_load_n(word, __ATOMIC_RELAXED);
#else
    flags = __atomic_fetch_or(word, 0, __ATOMIC_SEQ_CST); /* a sanitizer understands an exchange */
#endif
    if ((flags & TREADLE_SYSTEM_FLOOD_MASK) != TREADLE_SYSTEM_FLOODED) return false;
    /* It may be gone, and another one in its place. */
    uint64_t reference = __atomic_load_n((const uint64_t *)thread->flooded_cell, __ATOMIC_RELAXED);
    return (uint32_t)(reference >> TREADLE_SYSTEM_GENERATION_SHIFT) == thread->flood_generation;
}

__attribute__((visibility("default"))) int32_t treadle_source_signal_and_wake(void *source) {
    return floods((uint64_t)(uintptr_t)source) ? 0 : libtreadle_signal_and_wake(source);
}
