/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * atomics.c: atomic operations as C's memory model has them. The compiler calls these functions in place of the operations
 * (-fsanitize=thread), so that the library is explored as it is.
 *
 * Each word keeps its last stores. A load may return an older one, unless the thread must know of a later one: because it
 * has seen it, because that happened before, or by sequential consistency. So all that a weakly ordered processor may do with
 * loads that come too early and stores that come too late is seen here, but for stores that are visible before an earlier load
 * of the same thread was made. Read-modify-write operations have the newest value, as on every processor. */
#include "world.h"

#include <string.h>

enum { HISTORY = 8, LOCATIONS = 1 << 12, PLACES = 4 * LOCATIONS };
/* In the order of the compiler's constants. */
enum { RELAXED, CONSUME, ACQUIRE, RELEASE, BOTH, STRICT };

struct store {
    uint64_t value;
    vector before, view; /* what an acquiring load of it adds; zero for a relaxed store */
    vector seen;         /* for each thread: when it had seen it; 0: not yet */
    uint32_t order;      /* among sequentially consistent operations; 0: it is none */
    uint32_t at;         /* the writer's clock */
    int8_t writer;       /* -1: it was there before */
};
struct location {
    uintptr_t address; /* 0: unused */
    uint8_t size;
    bool is_stale; /* written plainly since */
    uint32_t count;
    struct store ring[HISTORY];
};
/* The first is unused. Side by side, so that few pages are written in a run. */
static struct location locations[LOCATIONS];
static int location_count;
static uint16_t places[PLACES]; /* where they are, by their address */

static bool acquires(int order) { return order == CONSUME || order == ACQUIRE || order == BOTH || order == STRICT; }
static bool releases(int order) { return order == RELEASE || order == BOTH || order == STRICT; }

static uint64_t memory_read(const volatile void *address, int size) {
    switch (size) {
    case 1: return *(const volatile uint8_t *)address;
    case 2: return *(const volatile uint16_t *)address;
    case 4: return *(const volatile uint32_t *)address;
    default: return *(const volatile uint64_t *)address;
    }
}
static void memory_write(volatile void *address, int size, uint64_t value) {
    switch (size) {
    case 1: *(volatile uint8_t *)address = (uint8_t)value; break;
    case 2: *(volatile uint16_t *)address = (uint16_t)value; break;
    case 4: *(volatile uint32_t *)address = (uint32_t)value; break;
    default: *(volatile uint64_t *)address = value;
    }
}
static uint64_t cut(uint64_t value, int size) { return size == 8 ? value : value & ((1ull << (8 * size)) - 1); }

/* --- Words ---------------------------------------------------------------------------------------- */

static uint32_t hash_of(uintptr_t address) { return (uint32_t)((address * 0x9E3779B97F4A7C15ull) >> 40); }
static uint16_t *place_of(uintptr_t address) {
    for (uint32_t i = hash_of(address) & (PLACES - 1);; i = (i + 1) & (PLACES - 1))
        if (places[i] == 0 || locations[places[i]].address == address) return &places[i];
}
/* The first, with the address 0, if there is none. */
static struct location *find(uintptr_t address) { return &locations[*place_of(address)]; }
static struct location *location_at(const volatile void *address, int size) {
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
static struct store *newest(struct location *l) { return &l->ring[(l->count - 1) % HISTORY]; }

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

static uint32_t tick(struct vthread *thread) {
    int self = (int)(thread - world.threads);
    thread->view.at[self] = ++thread->before.at[self];
    return thread->before.at[self];
}
static void acquire(struct vthread *thread, const struct store *s, int order) {
    bool is_acquired = acquires(order);
    join_vector(is_acquired ? &thread->before : &thread->pending, &s->before);
    join_vector(is_acquired ? &thread->view : &thread->pending_view, &s->view);
}
static void fence(struct vthread *thread, int order) {
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
    /* Twice, so that each sees what any of the others had before. */
    for (int i = 0; i < 2 * THREADS; i++) {
        struct vthread *thread = &world.threads[i % THREADS];
        if (thread->state == READY || thread->state == BLOCKED) fence(thread, STRICT);
    }
}

/* Whether a load of the thread may return what was there before this store. */
static bool may_miss(const struct vthread *thread, const struct store *s, int order) {
    for (int i = 0; i < THREADS; i++)
        if (s->seen.at[i] && s->seen.at[i] <= thread->view.at[i]) return false;
    if (s->order && s->order <= thread->fence_order) return false;
    if (order != STRICT) return true;
    return s->order == 0 && (s->writer < 0 || s->at > world.fence_view.at[s->writer]);
}
static void see(struct vthread *thread, struct store *s) {
    int self = (int)(thread - world.threads);
    if (s->seen.at[self] == 0) s->seen.at[self] = thread->before.at[self];
}

/* --- Operations ----------------------------------------------------------------------------------- */

/* A mutant: the order of one site is relaxed. */
static int order_at(int order, const void *site) {
    for (int i = 0; i < shared->weakened_count; i++)
        if (shared->weakened[i] == (uint32_t)(uintptr_t)site) return RELAXED;
    return order;
}

static bool waits_awake(struct vthread *thread, const volatile void *address, uint64_t value) {
    bool is_same = thread->last_address == address && thread->last_value == value;
    thread->same_loads = is_same ? thread->same_loads + 1 : 0;
    thread->last_address = (const void *)address;
    thread->last_value = value;
    return thread->same_loads >= 2 || ++thread->loads >= 40;
}
static void goes_on(struct vthread *thread) {
    thread->last_address = NULL;
    thread->same_loads = thread->loads = 0;
}

static struct store *pick(struct location *l, struct vthread *thread, int order, bool (*fits)(uint64_t, uint64_t), uint64_t other) {
    struct store *candidates[HISTORY];
    int count = 0;
    for (uint32_t i = l->count; i > 0 && i + HISTORY > l->count; i--) {
        struct store *s = &l->ring[(i - 1) % HISTORY];
        if (i == l->count || !fits || fits(s->value, other)) candidates[count++] = s;
        if (!may_miss(thread, s, order)) break;
    }
    return candidates[count > 1 && thread->same_loads == 0 ? choose_value(count) : 0];
}

static uint64_t load(const volatile void *address, int size, int order, const void *site) {
    struct vthread *thread = me();
    order = order_at(order, site);
    point((const void *)address, false, site, "load");
    thread = me();
    if (shared->is_x86 && order == RELAXED) order = ACQUIRE;
    if (waits_awake(thread, address, memory_read(address, size))) {
        thread->loads = 0;
        yield_point();
    }
    struct location *l = location_at(address, size);
    tick(thread);
    struct store *s = pick(l, thread, order, NULL, 0);
    see(thread, s);
    acquire(thread, s, order);
    if (order == STRICT) world.order++;
    if (s == newest(l)) {
        note("  load%d %p = %#lx", order, (const void *)address, (unsigned long)s->value);
    } else {
        note("  load%d %p = %#lx, which is not the newest: %#lx is", order, (const void *)address, (unsigned long)s->value,
             (unsigned long)newest(l)->value);
    }
    return s->value;
}

/* A new store; `before`: the one that a read-modify-write operation has read. */
static void add(struct location *l, struct vthread *thread, uint64_t value, int order, const struct store *before) {
    struct store s = {.value = value, .writer = (int8_t)(thread - world.threads), .at = thread->before.at[thread - world.threads]};
    s.before = releases(order) ? thread->before : thread->released;
    s.view = releases(order) ? thread->view : thread->released_view;
    if (before) {
        join_vector(&s.before, &before->before);
        join_vector(&s.view, &before->view);
    }
    if (order == STRICT) s.order = ++world.order;
    l->ring[l->count++ % HISTORY] = s;
    see(thread, newest(l));
    memory_write((volatile void *)l->address, l->size, value);
    goes_on(thread);
}

static void store(volatile void *address, int size, uint64_t value, int order, const void *site) {
    order = order_at(order, site);
    point((const void *)address, true, site, "store");
    struct vthread *thread = me();
    if (shared->is_x86 && order == RELAXED) order = RELEASE;
    struct location *l = location_at(address, size);
    tick(thread);
    add(l, thread, cut(value, size), order, NULL);
    if (shared->is_x86 && order == STRICT) fence(thread, STRICT);
    note("  store%d %p = %#lx", order, (const void *)address, (unsigned long)value);
}

static void modify(struct location *l, struct vthread *thread, uint64_t value, int order) {
    struct store before = *newest(l);
    see(thread, newest(l));
    acquire(thread, &before, order);
    add(l, thread, value, order, &before);
    if (shared->is_x86) fence(thread, STRICT);
}

enum { EXCHANGE, ADD, SUBTRACT, AND, OR, XOR };
static uint64_t update(volatile void *address, int size, uint64_t value, int operation, int order, const void *site) {
    order = order_at(order, site);
    point((const void *)address, true, site, "update");
    struct vthread *thread = me();
    struct location *l = location_at(address, size);
    tick(thread);
    uint64_t old = newest(l)->value, new = value;
    switch (operation) {
    case ADD: new = old + value; break;
    case SUBTRACT: new = old - value; break;
    case AND: new = old & value; break;
    case OR: new = old | value; break;
    case XOR: new = old ^ value; break;
    }
    modify(l, thread, cut(new, size), order);
    note("  update%d %p: %#lx, then %#lx", order, (const void *)address, (unsigned long)old, (unsigned long)cut(new, size));
    return old;
}

static bool differs(uint64_t a, uint64_t b) { return a != b; }
static uint64_t compare(volatile void *address, int size, uint64_t expected, uint64_t desired, int order, int failing, const void *site) {
    int asked = order;
    order = order_at(order, site);
    if (order != asked) failing = RELAXED;
    point((const void *)address, true, site, "compare");
    struct vthread *thread = me();
    if (shared->is_x86 && failing == RELAXED) failing = ACQUIRE;
    struct location *l = location_at(address, size);
    tick(thread);
    expected = cut(expected, size);
    if (newest(l)->value == expected) {
        modify(l, thread, cut(desired, size), order);
        note("  compare%d %p: %#lx, then %#lx", order, (const void *)address, (unsigned long)expected, (unsigned long)desired);
        return expected;
    }
    if (waits_awake(thread, address, newest(l)->value)) {
        thread->loads = 0;
        yield_point();
        l = location_at(address, size);
    }
    if (newest(l)->value == expected) {
        modify(l, thread, cut(desired, size), order);
        return expected;
    }
    struct store *s = pick(l, thread, failing, differs, expected);
    see(thread, s);
    acquire(thread, s, failing);
    note("  compare%d %p: %#lx is not %#lx", order, (const void *)address, (unsigned long)s->value, (unsigned long)expected);
    return s->value;
}

uint64_t kernel_read(const void *address) { return memory_read(address, 4); }
void kernel_write(void *address, uint32_t value) {
    struct location *l = location_at(address, 4);
    tick(me());
    modify(l, me(), value, STRICT);
}

/* --- What the compiler calls ------------------------------------------------------------------------ */

#define SITE __builtin_return_address(0)
#define OPERATIONS(BITS, TYPE)                                                                                          \
    TYPE __tsan_atomic##BITS##_load(const volatile TYPE *a, int o) { return (TYPE)load(a, BITS / 8, o, SITE); }         \
    void __tsan_atomic##BITS##_store(volatile TYPE *a, TYPE v, int o) { store(a, BITS / 8, v, o, SITE); }               \
    TYPE __tsan_atomic##BITS##_exchange(volatile TYPE *a, TYPE v, int o) {                                              \
        return (TYPE)update(a, BITS / 8, v, EXCHANGE, o, SITE);                                                         \
    }                                                                                                                   \
    TYPE __tsan_atomic##BITS##_fetch_add(volatile TYPE *a, TYPE v, int o) {                                             \
        return (TYPE)update(a, BITS / 8, v, ADD, o, SITE);                                                              \
    }                                                                                                                   \
    TYPE __tsan_atomic##BITS##_fetch_sub(volatile TYPE *a, TYPE v, int o) {                                             \
        return (TYPE)update(a, BITS / 8, v, SUBTRACT, o, SITE);                                                         \
    }                                                                                                                   \
    TYPE __tsan_atomic##BITS##_fetch_and(volatile TYPE *a, TYPE v, int o) {                                             \
        return (TYPE)update(a, BITS / 8, v, AND, o, SITE);                                                              \
    }                                                                                                                   \
    TYPE __tsan_atomic##BITS##_fetch_or(volatile TYPE *a, TYPE v, int o) {                                              \
        return (TYPE)update(a, BITS / 8, v, OR, o, SITE);                                                               \
    }                                                                                                                   \
    TYPE __tsan_atomic##BITS##_fetch_xor(volatile TYPE *a, TYPE v, int o) {                                             \
        return (TYPE)update(a, BITS / 8, v, XOR, o, SITE);                                                              \
    }                                                                                                                   \
    TYPE __tsan_atomic##BITS##_compare_exchange_val(volatile TYPE *a, TYPE c, TYPE v, int o, int f) {                   \
        return (TYPE)compare(a, BITS / 8, c, v, o, f, SITE);                                                            \
    }
OPERATIONS(8, uint8_t)
OPERATIONS(16, uint16_t)
OPERATIONS(32, uint32_t)
OPERATIONS(64, uint64_t)

void __tsan_atomic_thread_fence(int order) {
    order = order_at(order, SITE);
    point(NULL, false, SITE, "fence");
    fence(me(), order);
    note("  fence%d", order);
}
void __tsan_atomic_signal_fence(int order) { (void)order; }
