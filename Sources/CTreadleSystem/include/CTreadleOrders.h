/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CTreadleOrders.h: what the explorer (Tests/explorer) has otherwise than the library. Included by CTreadleSystem.h. */
#ifndef CTREADLE_ORDERS_H
#define CTREADLE_ORDERS_H

/* Between an atomic exchange, or a sequentially consistent store, and a load of another word: what was written before the exchange is
 * seen by others before the load. On x86 the exchange itself is enough, where the compiler makes one: of one that changes nothing, whose
 * result is not used, only if it is sequentially consistent. The explorer (Tests/explorer) has both ways. */
#ifdef TREADLE_EXPLORED
void treadle_system_explored_fence(void);
#endif
#if defined(TREADLE_EXPLORED) || defined(TREADLE_SWITCHED)
/* Whether one of Tests/explorer/faults.txt is put back, or a mutant of scripts/test-mutants --logic is on. */
_Bool treadle_system_explored_fault(int number);
#endif
static inline void treadle_system_fence_after_exchange(void) {
#if defined(TREADLE_EXPLORED)
    treadle_system_explored_fence();
#elif defined(__x86_64__) || defined(__i386__)
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* Whether this is the explorer's build, which plays each step. */
static inline _Bool treadle_system_is_explored(void) {
#ifdef TREADLE_EXPLORED
    return 1;
#else
    return 0;
#endif
}

/* How often a waiter for a gate yields its processor before it lends its priority, and how often it looks at the gate before each
 * yield. In the explorer the holder of a gate may lose its processor for as long as it takes. */
#ifdef TREADLE_EXPLORED
enum { TREADLE_SYSTEM_GATE_YIELDS = 0, TREADLE_SYSTEM_GATE_LOOKS = 1 };
#else
enum { TREADLE_SYSTEM_GATE_YIELDS = 16, TREADLE_SYSTEM_GATE_LOOKS = 128 };
#endif

#endif
