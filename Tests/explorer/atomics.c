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
#include "memory.h"

static uint64_t cut(uint64_t value, int size) { return size == 8 ? value : value & ((1ull << (8 * size)) - 1); }

/* --- Operations ----------------------------------------------------------------------------------- */

/* What is asked for at a site; a mutant asks for less. */
static int order_at(int order, const void *site) {
    uint32_t address = (uint32_t)(uintptr_t)site;
    for (int i = 0; shared->weakened_marks[address % MARKS] && i < shared->weakened_count; i++)
        if (shared->weakened[i] == address) return shared->weakened_to;
    if (!shared->records_sites || order == RELAXED) return order;
    int i = 0;
    while (i < shared->site_count && shared->sites[i] != address) i++;
    if (i == SITES) fail("the explorer has no room for more sites");
    if (i == shared->site_count) shared->site_count++;
    shared->sites[i] = address;
    shared->orders[i] = (int8_t)order;
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
    access_atomically((const void *)address, (size_t)size, false, site);
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
static void add(struct location *l, struct vthread *thread, uint64_t value, int order, const struct store *before, const void *site) {
    access_atomically((const void *)l->address, l->size, true, site);
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
    add(l, thread, cut(value, size), order, NULL, site);
    if (shared->is_x86 && order == STRICT) fence(thread, STRICT);
    note("  store%d %p = %#lx", order, (const void *)address, (unsigned long)value);
}

static void modify(struct location *l, struct vthread *thread, uint64_t value, int order, const void *site) {
    struct store before = *newest(l);
    see(thread, newest(l));
    acquire(thread, &before, order);
    add(l, thread, value, order, &before, site);
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
    modify(l, thread, cut(new, size), order, site);
    note("  update%d %p: %#lx, then %#lx", order, (const void *)address, (unsigned long)old, (unsigned long)cut(new, size));
    return old;
}

static bool differs(uint64_t a, uint64_t b) { return a != b; }
static uint64_t compare(volatile void *address, int size, uint64_t expected, uint64_t desired, int order, int failing, const void *site) {
    int asked = order;
    order = order_at(order, site);
    if (order != asked) failing = order == RELAXED ? RELAXED : failing == STRICT ? ACQUIRE : failing;
    point((const void *)address, true, site, "compare");
    struct vthread *thread = me();
    if (shared->is_x86 && failing == RELAXED) failing = ACQUIRE;
    struct location *l = location_at(address, size);
    tick(thread);
    expected = cut(expected, size);
    if (newest(l)->value == expected) {
        modify(l, thread, cut(desired, size), order, site);
        note("  compare%d %p: %#lx, then %#lx", order, (const void *)address, (unsigned long)expected, (unsigned long)desired);
        return expected;
    }
    if (waits_awake(thread, address, newest(l)->value)) {
        thread->loads = 0;
        yield_point();
        l = location_at(address, size);
    }
    if (newest(l)->value == expected) {
        modify(l, thread, cut(desired, size), order, site);
        return expected;
    }
    struct store *s = pick(l, thread, failing, differs, expected);
    access_atomically((const void *)address, (size_t)size, false, site);
    see(thread, s);
    acquire(thread, s, failing);
    note("  compare%d %p: %#lx is not %#lx", order, (const void *)address, (unsigned long)s->value, (unsigned long)expected);
    return s->value;
}

uint64_t kernel_read(const void *address) { return memory_read(address, 4); }
void kernel_write(void *address, uint32_t value) {
    struct location *l = location_at(address, 4);
    tick(me());
    modify(l, me(), value, STRICT, __builtin_return_address(0));
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
