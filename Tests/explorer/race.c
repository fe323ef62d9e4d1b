/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * race.c: data races. Two accesses race if they touch the same byte, one of them writes, one of them is plain, and neither
 * happens before the other. A run executes plain accesses without a switch between them; vector clocks show the race
 * nevertheless, in every schedule in which nothing orders the two accesses (Flanagan and Freund's FastTrack, 2009).
 *
 * Each 8 bytes of memory keep the accesses that a later one may race with. Freed memory races with every access until it is
 * allocated again. Thread-local storage is not checked: each fiber's copy is moved to the same place (threads.c). */
#include "world.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { GRANULE = 8, RECORDS = 6, REGIONS = 3, BLOCK = 4096, BEGINNING = 1024 };
struct record {
    uint32_t at : 24, thread : 5, is_atomic : 1, is_write : 1; /* the thread's clock */
    uint32_t site;                                             /* the address behind the call; the program lies below 4 GB */
};
struct granule {
    uint32_t run; /* the records are of this run */
    uint8_t count;
    bool has_atomics, is_freed;
    uint8_t bytes[RECORDS]; /* a bit for each byte of the granule */
    alignas(4) struct record records[RECORDS];
};
/* Outside of what is restored: a run's number says that records are old. */
struct region {
    uintptr_t begin;
    size_t size;
    struct granule *granules;
};
static struct region regions[REGIONS];
static int region_count;

void watch_for_races(const void *memory, size_t size) {
    size_t length = size / GRANULE * sizeof(struct granule);
    void *granules = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (granules == MAP_FAILED || region_count == REGIONS) abort();
    regions[region_count++] = (struct region){(uintptr_t)memory, size, granules};
}
static struct granule *granule_of(uintptr_t address) {
    for (int i = 0; i < region_count; i++)
        if (address - regions[i].begin < regions[i].size) {
            struct granule *g = &regions[i].granules[(address - regions[i].begin) / GRANULE];
            if (g->run != shared->run) {
                g->run = shared->run;
                g->count = 0;
                g->has_atomics = g->is_freed = false;
            }
            return g;
        }
    return NULL;
}

static const char *kind_of(bool is_write, bool is_atomic) {
    return is_write ? (is_atomic ? "an atomic write" : "a write") : is_atomic ? "an atomic read" : "a read";
}
static _Noreturn void fail_by_race(uintptr_t address, struct record old, struct record new, bool is_freed) {
    if (is_freed)
        fail("freed memory is used: %s of %#lx at @%#x, which thread %d has freed at @%#x", kind_of(new.is_write, new.is_atomic),
             (unsigned long)address, new.site, old.thread, old.site);
    fail("a data race at %#lx: %s at @%#x of thread %d, and %s at @%#x of thread %d", (unsigned long)address,
         kind_of(new.is_write, new.is_atomic), new.site, new.thread, kind_of(old.is_write, old.is_atomic), old.site, old.thread);
}

/* Whether each access that races with `a` also races with `b`, as far as what they do goes. */
static bool is_covered(struct record a, struct record b) { return (b.is_write || !a.is_write) && (!b.is_atomic || a.is_atomic); }

static void check(struct granule *g, uintptr_t address, uint8_t bytes, struct record new) {
    for (int i = 0; i < g->count; i++) {
        struct record old = g->records[i];
        if (old.thread == new.thread && old.at == new.at && !(bytes & ~g->bytes[i]) && is_covered(new, old) && !g->is_freed) return;
    }
    const vector *before = &me()->before;
    int kept = 0;
    for (int i = 0; i < g->count; i++) {
        struct record old = g->records[i];
        bool is_before = old.thread == new.thread || old.at <= before->at[old.thread];
        bool conflicts = (old.is_write || new.is_write) && !(old.is_atomic && new.is_atomic) && (g->bytes[i] & bytes);
        if (conflicts && (!is_before || g->is_freed)) fail_by_race(address, old, new, g->is_freed);
        if (is_before && !(g->bytes[i] & ~bytes) && is_covered(old, new)) continue;
        g->records[kept] = old;
        g->bytes[kept++] = g->bytes[i];
    }
    if (kept == RECORDS) { /* the oldest is the likeliest to be before all that comes */
        memmove(&g->records[0], &g->records[1], --kept * sizeof g->records[0]);
        memmove(&g->bytes[0], &g->bytes[1], (size_t)kept);
    }
    g->records[kept] = new;
    g->bytes[kept] = bytes;
    g->count = (uint8_t)(kept + 1);
}

static struct record record_of(bool is_write, bool is_atomic, const void *site) {
    /* A plain access belongs to the thread's next operation: what the last one has released does not contain it. */
    uint32_t at = me()->before.at[world.current] + !is_atomic;
    return (struct record){
        .at = at, .thread = (uint32_t)world.current, .is_atomic = is_atomic, .is_write = is_write, .site = (uint32_t)(uintptr_t)site};
}
static bool is_running(void) { return world.count > 0 && !world.is_over; }
static uint8_t bytes_of(uintptr_t from, uintptr_t to) {
    uintptr_t granule = from & ~(uintptr_t)(GRANULE - 1);
    return (uint8_t)((0xFFu << (from - granule)) & (to - granule >= GRANULE ? 0xFFu : (1u << (to - granule)) - 1));
}

void access_plainly(const void *address, size_t size, bool is_write, const void *site) {
    if (!is_running()) {
        if (is_write) touch_plainly(address, size);
        return;
    }
    if (reached) note_reached(site);
    struct record new = record_of(is_write, false, site);
    for (uintptr_t at = (uintptr_t)address, end = at + size, next; at < end; at = next) {
        next = (at & ~(uintptr_t)(GRANULE - 1)) + GRANULE;
        if (next > end) next = end;
        struct granule *g = granule_of(at);
        if (g) check(g, at, bytes_of(at, next), new);
        if (is_write && (!g || g->has_atomics)) touch_plainly((const void *)at, next - at);
    }
}
void access_atomically(const void *address, size_t size, bool is_write, const void *site) {
    if (!is_running()) return;
    struct granule *g = granule_of((uintptr_t)address);
    if (!g) return;
    g->has_atomics = true;
    check(g, (uintptr_t)address, bytes_of((uintptr_t)address, (uintptr_t)address + size), record_of(is_write, true, site));
}

/* --- The heap ---------------------------------------------------------------------------------------
 * That a longer block is freed is not noted, and that it is filled only of its beginning: all costs more than it shows. */

void memory_is_freed(const void *address, size_t size, const void *site) {
    if (!is_running() || size > BLOCK) return;
    access_plainly(address, size, true, site);
    for (uintptr_t at = (uintptr_t)address; at < (uintptr_t)address + size; at += GRANULE) {
        struct granule *g = granule_of(at);
        if (g) g->is_freed = true;
    }
}
void memory_is_filled(const void *address, size_t size, const void *site) {
    access_plainly(address, size <= BLOCK ? size : BEGINNING, true, site);
}
void memory_is_allocated(const void *address, size_t size) {
    for (uintptr_t at = (uintptr_t)address; at < (uintptr_t)address + size; at += GRANULE) {
        struct granule *g = granule_of(at);
        if (g) g->run = 0;
    }
}
