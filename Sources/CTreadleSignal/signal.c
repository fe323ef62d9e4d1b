/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * signal.c: the exported functions that do not begin in Swift. A signal more of a flooded source, and a signal that a source
 * gives itself, are a few instructions, of which what Swift puts around an exported function would be a fifth. */
#include "CTreadleSignal.h"
#include "CTreadleSystem.h"

/* Whether the calling thread floods the source that a client's handle means: it is signalled by that. Flooding.swift
 * says why this look is enough. */
static inline bool floods(const struct treadle_system_thread *thread, uint64_t handle) {
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

/* Whether the owned source that a client's handle means is signalled by this, since the calling thread performs it: then it
 * was the owner's as of a reading that the loop's clock still shows, and goes behind the others (OwnedSignal.swift). */
static inline bool signals_in_hand(const struct treadle_system_thread *thread, uint64_t handle, bool wakes) {
    if (thread->in_hand != handle || handle == 0) return false;
    char *loop = thread->loop;
    struct treadle_system_hand *hand = (struct treadle_system_hand *)(loop + TREADLE_SYSTEM_HAND_OFFSET);
    uint64_t *due = (uint64_t *)((char *)hand->cell + TREADLE_SYSTEM_SIGNAL_TIME_OFFSET);
    struct treadle_system_signals *queue = hand->queue;
    bool is_signalled = false;
    treadle_system_open_window(hand, (uint32_t)handle);
    if (__atomic_load_n((uint64_t *)(loop + TREADLE_SYSTEM_CLOCK_OFFSET), __ATOMIC_ACQUIRE) == hand->as_of) {
        uint64_t time = hand->own_time + 1;
        if (__atomic_load_n(due, __ATOMIC_RELAXED) != 0) {
            is_signalled = true;
        } else if (time >> 32 == treadle_system_era() && (time & (TREADLE_SYSTEM_TIME_STEP - 1)) != 0 && queue->count < queue->capacity) {
            /* Neither an era nor a step has ended, and the queue need not grow, which is nothing for a window. */
            queue->base[queue->count++] = (struct treadle_system_signal){handle, hand->place};
            hand->own_time = time;
            __atomic_store_n(due, time, __ATOMIC_RELAXED);
            is_signalled = true;
        }
    }
    treadle_system_close_window(hand);
    if (is_signalled && wakes) hand->is_woken = true;
    return is_signalled;
}

__attribute__((visibility("default"))) int32_t treadle_source_signal_and_wake(void *source) {
    const struct treadle_system_thread *thread = treadle_system_thread();
    uint64_t handle = (uint64_t)(uintptr_t)source;
    return signals_in_hand(thread, handle, true) || floods(thread, handle) ? 0 : libtreadle_signal_and_wake(source);
}

__attribute__((visibility("default"))) int32_t treadle_source_signal(void *source) {
    return signals_in_hand(treadle_system_thread(), (uint64_t)(uintptr_t)source, false) ? 0 : libtreadle_signal(source);
}
