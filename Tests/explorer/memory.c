/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * memory.c: memory as C's memory model has it. Each word keeps its last stores, and each thread what happened before. */
#include "memory.h"

#include <string.h>

enum { LOCATIONS = 1 << 12, PLACES = 4 * LOCATIONS };
/* The first is unused. Side by side, so that few pages are written in a run. */
static struct location locations[LOCATIONS];
static int location_count;
static uint16_t places[PLACES]; /* where they are, by their address */

/* --- Words ---------------------------------------------------------------------------------------- */

static uint32_t hash_of(uintptr_t address) { return (uint32_t)((address * 0x9E3779B97F4A7C15ull) >> 40); }
static uint16_t *place_of(uintptr_t address) {
    for (uint32_t i = hash_of(address) & (PLACES - 1);; i = (i + 1) & (PLACES - 1))
        if (places[i] == 0 || locations[places[i]].address == address) return &places[i];
}
/* The first, with the address 0, if there is none. */
static struct location *find(uintptr_t address) { return &locations[*place_of(address)]; }
struct location *location_at(const volatile void *address, int size) {
    uint16_t *place = place_of((uintptr_t)address);
    struct location *l = &locations[*place];
    if (*place == 0) {
        if (location_count == LOCATIONS - 1) fail("the explorer has no room for more words");
        *place = (uint16_t)++location_count;
        l = &locations[*place];
        l->address = (uintptr_t)address;
        l->is_stale = true;
    }
    uint64_t now = memory_read(address, size);
    if (!l->is_stale && l->size == size && l->ring[(l->count - 1) % HISTORY].value == now) return l;
    l->is_stale = false;
    l->size = (uint8_t)size;
    l->count = 1;
    l->ring[0] = (struct store){.value = now, .writer = -1};
    return l;
}

void touch_plainly(const void *address, size_t size) {
    for (uintptr_t at = (uintptr_t)address & ~(uintptr_t)3; at < (uintptr_t)address + size; at += 4) {
        struct location *l = find(at);
        if (l->address) l->is_stale = true;
    }
}
void forget_words(const void *address, size_t size) {
    if (size > 4096) {
        for (int i = 1; i <= location_count; i++)
            if (locations[i].address - (uintptr_t)address < size) locations[i].is_stale = true;
        return;
    }
    for (uintptr_t at = (uintptr_t)address; at < (uintptr_t)address + size; at++) {
        struct location *l = find(at);
        if (l->address) l->is_stale = true;
    }
}

/* --- Views ---------------------------------------------------------------------------------------- */

uint32_t tick(struct vthread *thread) {
    int self = (int)(thread - world.threads);
    thread->view.at[self] = ++thread->before.at[self];
    return thread->before.at[self];
}
void acquire(struct vthread *thread, const struct store *s, int order) {
    bool is_acquired = acquires(order);
    join_vector(is_acquired ? &thread->before : &thread->pending, &s->before);
    join_vector(is_acquired ? &thread->view : &thread->pending_view, &s->view);
}
void tell(struct told *told) {
    tick(me());
    join_vector(&told->before, &me()->before);
    join_vector(&told->view, &me()->view);
}
void be_told(struct vthread *thread, const struct told *told) {
    join_vector(&thread->before, &told->before);
    join_vector(&thread->view, &told->view);
}
void fence(struct vthread *thread, int order) {
    tick(thread);
    if (acquires(order)) {
        join_vector(&thread->before, &thread->pending);
        join_vector(&thread->view, &thread->pending_view);
        join_vector(&thread->view, &thread->before);
    }
    if (order == STRICT) {
        join_vector(&world.fence_view, &thread->view);
        thread->view = world.fence_view;
        thread->fence_order = ++world.order;
    }
    if (releases(order)) {
        thread->released = thread->before;
        thread->released_view = thread->view;
    }
}
void fence_all(struct vthread *thread) { fence(thread, STRICT); }
void barrier(void) {
    /* Twice, so that each sees what any of the others had before. A thread that has ended has left its processor, and no store in it. */
    for (int i = 0; i < 2 * world.count; i++) fence(&world.threads[i % world.count], STRICT);
}

static bool has_seen(const struct store *s, const vector *view) {
    for (int i = 0; i < THREADS; i++)
        if (s->seen.at[i] && s->seen.at[i] <= view->at[i]) return true;
    return false;
}
bool may_miss(const struct vthread *thread, const struct store *s, int order) {
    if (has_seen(s, &thread->view)) return false;
    if (s->order && s->order <= thread->fence_order) return false;
    bool is_missed = order != STRICT || (s->order == 0 && !has_seen(s, &world.fence_view));
    if (s->strict_order && (order == STRICT ? is_missed : s->strict_order <= thread->fence_order)) shared->differences++;
    return is_missed;
}
