/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * atomics.c: atomic operations as C's memory model has them. The compiler calls these functions in place of the operations
 * (-fsanitize=thread), so that the library is explored as it is.
 *
 * Each word keeps its last stores, in their order. A load may return an older one, and a store may be placed before
 * a newer one, unless the thread must know of that: because it has seen it, because that happened before, or by
 * sequential consistency. An update may be placed so as well, behind the store that it reads; no store is ever
 * between the two. So loads that come too early and stores that come too late on weakly ordered processors are seen
 * here, but not stores that are visible before an earlier load of the same thread was made. On x86 stores are in
 * their order, and an update has the newest value. */
#include "memory.h"

static uint64_t cut(uint64_t value, int size) { return size == 8 ? value : value & ((1ull << (8 * size)) - 1); }

/* --- Operations ----------------------------------------------------------------------------------- */

/* What is asked for at a site, and what a mutant leaves of it. */
struct order {
    int asked, left;
    bool looks_again; /* a mutant: the load finds what the thread knew before */
};
static bool is_weakened(uint32_t address) {
    for (int i = 0; shared->weakened_marks[address % MARKS] && i < shared->weakened_count; i++)
        if (shared->weakened[i] == address) return true;
    return false;
}
static int record_site(uint32_t address, int order) {
    int i = 0;
    while (i < shared->site_count && shared->sites[i] != address) i++;
    if (i == SITES) fail("the explorer has no room for more sites");
    if (i == shared->site_count) shared->are_looks[shared->site_count++] = false;
    shared->sites[i] = address;
    shared->orders[i] = (int8_t)order;
    return i;
}
/* On x86 each load acquires and each store releases. */
static int at_least(int order) { return shared->is_x86 && order == RELAXED ? BOTH : order; }
static struct order order_at(int order, const void *site) {
    uint32_t address = (uint32_t)(uintptr_t)site;
    if (reached) note_reached(site);
    if (is_weakened(address)) {
        bool looks_again = shared->weakened_to == LOOK_AGAIN;
        return (struct order){order, at_least(looks_again ? order : shared->weakened_to), looks_again};
    }
    if (shared->records_sites && order != RELAXED) record_site(address, order);
    return (struct order){order, at_least(order), false};
}
/* The newest value that the thread has seen of a word; NULL: none. */
static struct store *last_seen(struct location *l, const struct vthread *thread) {
    int self = (int)(thread - world.threads);
    for (uint32_t age = 0; age < kept(l); age++)
        if (aged(l, age)->seen.at[self]) return aged(l, age);
    return NULL;
}

/* Whether a mutant has made a difference: an operation ordered less than it would have. */
static bool is_in(const vector *a, const vector *b) {
    for (int i = 0; i < THREADS; i++)
        if (a->at[i] > b->at[i]) return false;
    return true;
}
static void acquire_by(struct vthread *thread, const struct store *s, struct order order) {
    bool is_lost = acquires(order.asked) && !acquires(order.left) && !(is_in(&s->before, &thread->before) && is_in(&s->view, &thread->view));
    if (is_lost || (acquires(order.left) && s->is_poor && !is_in(&s->whole, &thread->before))) shared->differences++;
    acquire(thread, s, order.left);
}

/* Whether a thread only waits for a word to change: a place of the program finds the same there again and again. A function that
 * many call does so a few times in a row without a wait. */
static bool waits_awake(struct vthread *thread, const volatile void *address, uint64_t value, const void *site) {
    bool is_same = thread->last_address == address && thread->last_value == value && thread->last_site == site;
    thread->last_site = site;
    thread->same_loads = is_same ? thread->same_loads + 1 : 0;
    thread->last_address = (const void *)address;
    thread->last_value = value;
    return thread->same_loads >= 4 || ++thread->loads >= 40;
}
static void goes_on(struct vthread *thread) {
    thread->last_address = NULL;
    thread->same_loads = thread->loads = 0;
}

/* Whether a store may be directly behind one, whose `age` newer ones the thread may miss. */
static bool has_place(struct location *l, uint32_t age) {
    return age == 0 || (!shared->is_x86 && !aged(l, age - 1)->is_update);
}

/* Which of a word's stores an operation reads, or is placed behind: how many newer ones there are. `expected`: of a
 * comparison, which is an update with one order if it finds that value, and a load with another if not; NULL:
 * `loads` tells. */
static uint32_t pick(struct location *l, struct vthread *thread, struct order by, bool loads, const uint64_t *expected,
                     struct order failing) {
    int order = by.left;
    bool is_weaker = order != by.asked && by.asked == STRICT;
    if (is_weaker && may_miss(thread, newest(l), order) && !may_miss(thread, newest(l), STRICT)) shared->differences++;
    uint8_t ages[HISTORY];
    int count = 0;
    bool may_succeed = true, may_fail = expected != NULL;
    for (uint32_t age = 0; age < kept(l) && (may_succeed || may_fail); age++) {
        struct store *s = aged(l, age);
        bool is_load = loads || (expected && s->value != *expected);
        bool is_open = expected && is_load ? may_fail : may_succeed && (is_load || has_place(l, age));
        if (is_open) ages[count++] = (uint8_t)age;
        may_succeed = may_succeed && may_miss(thread, s, order);
        may_fail = may_fail && may_miss(thread, s, failing.left);
    }
    return ages[count > 1 && thread->same_loads == 0 ? choose_value(count) : 0];
}

static uint64_t load(const volatile void *address, int size, int asked, const void *site) {
    if (world.is_alone) return memory_read(address, size); /* there are more words than the model has room for */
    struct vthread *thread = me();
    struct order by = order_at(asked, site);
    int order = by.left;
    point((const void *)address, false, site, "load");
    thread = me();
    if (waits_awake(thread, address, memory_read(address, size), site)) {
        thread->loads = 0;
        yield_point();
    }
    struct location *l = location_at(address, size);
    tick(thread);
    struct store *known = by.looks_again || shared->records_sites ? last_seen(l, thread) : NULL;
    if (known && shared->records_sites && order != RELAXED) shared->are_looks[record_site((uint32_t)(uintptr_t)site, order)] = true;
    if (known && by.looks_again && known != newest(l)) shared->differences++;
    struct store *s = known && by.looks_again ? known : aged(l, pick(l, thread, by, true, NULL, by));
    access_atomically((const void *)address, (size_t)size, false, site);
    see(thread, s);
    acquire_by(thread, s, by);
    if (order == STRICT && s->order == 0) s->order = ++world.order;
    if (s == newest(l)) {
        note("  load%d %p = %#lx", order, (const void *)address, (unsigned long)s->value);
    } else {
        note("  load%d %p = %#lx, which is not the newest: %#lx is", order, (const void *)address, (unsigned long)s->value,
             (unsigned long)newest(l)->value);
    }
    return s->value;
}

/* A new store, with `age` newer ones; `before`: the one that an update has read. */
static void add(struct location *l, struct vthread *thread, uint64_t value, struct order by, uint32_t age,
                const struct store *before, const void *site) {
    int order = by.left, self = (int)(thread - world.threads);
    access_atomically((const void *)l->address, l->size, true, site);
    struct store s = {.value = value, .writer = (int8_t)self, .at = thread->before.at[self]};
    s.before = releases(order) ? thread->before : thread->released;
    s.view = releases(order) ? thread->view : thread->released_view;
    if (before) {
        join_vector(&s.before, &before->before);
        join_vector(&s.view, &before->view);
        s.is_update = true;
    }
    s.is_poor = before && before->is_poor;
    if (s.is_poor) s.whole = before->whole;
    if (releases(by.asked) && !releases(order)) {
        s.is_poor = true;
        join_vector(&s.whole, &thread->before);
    }
    if (order == STRICT) s.order = ++world.order;
    else if (by.asked == STRICT) s.strict_order = world.order + 1;
    l->count++;
    for (uint32_t i = 0; i < age; i++) *aged(l, i) = *aged(l, i + 1);
    *aged(l, age) = s;
    see(thread, aged(l, age));
    if (age == 0) memory_write((volatile void *)l->address, l->size, value);
    else note("  is before %u newer ones:", age);
    goes_on(thread);
}

static void store(volatile void *address, int size, uint64_t value, int asked, const void *site) {
    struct order by = order_at(asked, site);
    int order = by.left;
    point((const void *)address, true, site, "store");
    struct vthread *thread = me();
    struct location *l = location_at(address, size);
    tick(thread);
    add(l, thread, cut(value, size), by, pick(l, thread, by, false, NULL, by), NULL, site);
    if (shared->is_x86 && order == STRICT) fence(thread, STRICT);
    note("  store%d %p = %#lx", order, (const void *)address, (unsigned long)value);
}

static void modify(struct location *l, struct vthread *thread, uint64_t value, struct order by, uint32_t age,
                   const void *site) {
    struct store before = *aged(l, age);
    see(thread, aged(l, age));
    acquire_by(thread, &before, by);
    add(l, thread, value, by, age, &before, site);
    if (shared->is_x86) fence(thread, STRICT);
}

enum { EXCHANGE, ADD, SUBTRACT, AND, OR, XOR };
static uint64_t update(volatile void *address, int size, uint64_t value, int operation, int asked, const void *site) {
    struct order by = order_at(asked, site);
    point((const void *)address, true, site, "update");
    struct vthread *thread = me();
    struct location *l = location_at(address, size);
    tick(thread);
    uint32_t age = pick(l, thread, by, false, NULL, by);
    uint64_t old = aged(l, age)->value, new = value;
    switch (operation) {
    case ADD: new = old + value; break;
    case SUBTRACT: new = old - value; break;
    case AND: new = old & value; break;
    case OR: new = old | value; break;
    case XOR: new = old ^ value; break;
    }
    modify(l, thread, cut(new, size), by, age, site);
    note("  update%d %p: %#lx, then %#lx", by.left, (const void *)address, (unsigned long)old,
         (unsigned long)cut(new, size));
    return old;
}

static uint64_t compare(volatile void *address, int size, uint64_t expected, uint64_t desired, int asked, int failing,
                        const void *site) {
    struct order by = order_at(asked, site), by_failing = {failing, at_least(failing), false};
    if (by.left != asked) by_failing.left = by.left == RELAXED ? RELAXED : failing == STRICT ? ACQUIRE : failing;
    point((const void *)address, true, site, "compare");
    struct vthread *thread = me();
    if (shared->is_x86 && by_failing.left == RELAXED) by_failing.left = BOTH;
    struct location *l = location_at(address, size);
    tick(thread);
    expected = cut(expected, size);
    if (newest(l)->value != expected && waits_awake(thread, address, newest(l)->value, site)) {
        thread->loads = 0;
        yield_point();
        l = location_at(address, size);
    }
    uint32_t age = pick(l, thread, by, false, &expected, by_failing);
    struct store *s = aged(l, age);
    uint64_t found = s->value;
    if (found == expected) {
        modify(l, thread, cut(desired, size), by, age, site);
        note("  compare%d %p: %#lx, then %#lx", by.left, (const void *)address, (unsigned long)expected,
             (unsigned long)desired);
        return found;
    }
    access_atomically((const void *)address, (size_t)size, false, site);
    see(thread, s);
    acquire_by(thread, s, by_failing);
    if (by_failing.left == STRICT && s->order == 0) s->order = ++world.order;
    note("  compare%d %p: %#lx is not %#lx", by.left, (const void *)address, (unsigned long)found,
         (unsigned long)expected);
    return found;
}

uint64_t kernel_read(const void *address) { return memory_read(address, 4); }
void kernel_write(void *address, uint32_t value) {
    struct location *l = location_at(address, 4);
    tick(me());
    modify(l, me(), value, (struct order){STRICT, STRICT, false}, 0, __builtin_return_address(0));
}

bool is_left_out(int order, const void *site) { return order_at(order, site).left != order; }

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

static void pass_fence(int order, const void *site) {
    struct order by = order_at(order, site);
    point(NULL, false, site, "fence");
    if (by.left != by.asked) shared->differences++;
    fence(me(), by.left);
    note("  fence%d", by.left);
}
void __tsan_atomic_thread_fence(int order) { pass_fence(order, SITE); }
/* In the library: behind an exchange, which is a fence by itself on x86. */
void treadle_system_explored_fence(void) {
    if (!shared->is_x86) pass_fence(STRICT, SITE);
}
void __tsan_atomic_signal_fence(int order) { (void)order; }
