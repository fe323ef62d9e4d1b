/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * memory.h: words with their last stores, and what a thread must know of them: for the operations on them (atomics.c). */
#ifndef MEMORY_H
#define MEMORY_H

#include "world.h"

enum { HISTORY = 8 };
/* In the order of the compiler's constants. */
enum { RELAXED, CONSUME, ACQUIRE, RELEASE, BOTH, STRICT, LOOK_AGAIN };

struct store {
    uint64_t value;
    vector before, view; /* what an acquiring load of it adds; zero for a relaxed store */
    vector seen;         /* for each thread: when it had seen it; 0: not yet */
    uint32_t order;      /* of the first sequentially consistent operation that wrote or read it; 0: none has */
    uint32_t at;         /* the writer's clock */
    int8_t writer;       /* -1: it was there before */
    bool is_update;      /* of the store before it, between which and this one there is none */
    /* Of a mutant: the store releases less than `whole`, or is not sequentially consistent, as it would be with this order. */
    bool is_poor;
    vector whole;
    uint32_t strict_order;
};
struct location {
    uintptr_t address; /* 0: unused */
    uint8_t size;
    bool is_stale; /* written plainly since */
    uint32_t count;
    struct store ring[HISTORY];
};

static inline uint64_t memory_read(const volatile void *address, int size) {
    switch (size) {
    case 1: return *(const volatile uint8_t *)address;
    case 2: return *(const volatile uint16_t *)address;
    case 4: return *(const volatile uint32_t *)address;
    default: return *(const volatile uint64_t *)address;
    }
}
static inline void memory_write(volatile void *address, int size, uint64_t value) {
    switch (size) {
    case 1: *(volatile uint8_t *)address = (uint8_t)value; break;
    case 2: *(volatile uint16_t *)address = (uint16_t)value; break;
    case 4: *(volatile uint32_t *)address = (uint32_t)value; break;
    default: *(volatile uint64_t *)address = value;
    }
}
static inline bool acquires(int order) { return order == CONSUME || order == ACQUIRE || order == BOTH || order == STRICT; }
static inline bool releases(int order) { return order == RELEASE || order == BOTH || order == STRICT; }

struct location *location_at(const volatile void *address, int size);
/* The store that `age` newer ones are behind. */
static inline struct store *aged(struct location *l, uint32_t age) { return &l->ring[(l->count - 1 - age) % HISTORY]; }
static inline struct store *newest(struct location *l) { return aged(l, 0); }
static inline uint32_t kept(const struct location *l) { return l->count < HISTORY ? l->count : HISTORY; }

uint32_t tick(struct vthread *thread);
void acquire(struct vthread *thread, const struct store *s, int order);
void fence(struct vthread *thread, int order);
/* Whether an operation of the thread may be before this store in the word's order: a load of an older one, a store. */
bool may_miss(const struct vthread *thread, const struct store *s, int order);
static inline void see(struct vthread *thread, struct store *s) {
    int self = (int)(thread - world.threads);
    if (s->seen.at[self] == 0) s->seen.at[self] = thread->before.at[self];
}

#endif
