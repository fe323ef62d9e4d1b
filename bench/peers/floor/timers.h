/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * timers.h: the floor's timers: a wheel of lists for what is far, and a small heap for what is near, which puts it
 * into the exact order. The place in the wheel follows from the highest digit (of 6 bits) in which a date and the
 * present differ. */
#ifndef TREADLE_BENCH_FLOOR_TIMERS_H
#define TREADLE_BENCH_FLOOR_TIMERS_H

#include "../../bench.h"

enum { DIGIT = 6, SLOTS = 1 << DIGIT, DIGITS = 8, GRAIN = 16 }; /* the finest slots are 65 us wide */
enum { IN_NOTHING = -1, IN_HEAP = -2 };                           /* else the number of a list */

struct timer {
    struct timer *next, **link; /* in a list: the next one, and what points to this one */
    uint64_t date, interval;
    int32_t place;
    uint32_t position; /* in the heap */
    task_fn fn;
    void *info;
};
struct near_timer {
    uint64_t date;
    struct timer *timer;
};
struct timers {
    struct near_timer *heap; /* all up to the end of the present slot */
    size_t near, room, far;
    uint64_t present;        /* the number of the finest slot that is being served */
    uint64_t filled[DIGITS]; /* a bit for each list that is not empty */
    struct timer *lists[DIGITS * SLOTS];
};

static inline void heap_set(struct timers *timers, size_t position, struct near_timer item) {
    timers->heap[position] = item;
    item.timer->position = (uint32_t)position;
}
static inline void heap_rise(struct timers *timers, size_t position, struct near_timer item) {
    while (position > 0) {
        size_t parent = (position - 1) / 4;
        if (timers->heap[parent].date <= item.date) break;
        heap_set(timers, position, timers->heap[parent]);
        position = parent;
    }
    heap_set(timers, position, item);
}
static inline void heap_sink(struct timers *timers, size_t position, struct near_timer item) {
    for (size_t child = 4 * position + 1; child < timers->near; child = 4 * position + 1) {
        size_t least = child, end = child + 4 < timers->near ? child + 4 : timers->near;
        while (++child < end) {
            if (timers->heap[child].date < timers->heap[least].date) least = child;
        }
        if (timers->heap[least].date >= item.date) break;
        heap_set(timers, position, timers->heap[least]);
        position = least;
    }
    heap_set(timers, position, item);
}

static inline void timers_insert(struct timers *timers, struct timer *timer) {
    uint64_t slot = timer->date >> GRAIN;
    if (slot <= timers->present) {
        if (timers->near == timers->room) {
            timers->room = timers->room ? 2 * timers->room : 64;
            timers->heap = realloc(timers->heap, timers->room * sizeof *timers->heap);
            if (!timers->heap) abort();
        }
        timer->place = IN_HEAP;
        heap_rise(timers, timers->near++, (struct near_timer){timer->date, timer});
        return;
    }
    unsigned digit = (63u - (unsigned)__builtin_clzll(slot ^ timers->present)) / DIGIT;
    unsigned index = (unsigned)(slot >> digit * DIGIT) % SLOTS;
    struct timer **list = &timers->lists[digit * SLOTS + index];
    timers->filled[digit] |= 1ull << index;
    timers->far++;
    timer->place = (int32_t)(digit * SLOTS + index);
    timer->next = *list;
    timer->link = list;
    if (timer->next) timer->next->link = &timer->next;
    *list = timer;
}

static inline void timers_remove(struct timers *timers, struct timer *timer) {
    if (timer->place >= 0) {
        *timer->link = timer->next;
        if (timer->next) timer->next->link = timer->link;
        else if (timer->link == &timers->lists[timer->place]) {
            timers->filled[timer->place / SLOTS] &= ~(1ull << timer->place % SLOTS);
        }
        timers->far--;
    } else if (timer->place == IN_HEAP) {
        struct near_timer last = timers->heap[--timers->near];
        size_t position = timer->position;
        if (position < timers->near) {
            if (position > 0 && timers->heap[(position - 1) / 4].date > last.date) heap_rise(timers, position, last);
            else heap_sink(timers, position, last);
        }
    }
    timer->place = IN_NOTHING;
}

/* The heap is empty: the next list is served. A list of the finest digit becomes the heap, a coarser one is dealt
 * out to finer ones. */
static inline void timers_advance(struct timers *timers) {
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        unsigned shift = digit * DIGIT, index = (unsigned)(timers->present >> shift) % SLOTS;
        uint64_t later = timers->filled[digit] & (index == SLOTS - 1 ? 0 : ~0ull << (index + 1));
        if (!later) continue;
        index = (unsigned)__builtin_ctzll(later);
        timers->filled[digit] &= ~(1ull << index);
        timers->present = ((timers->present >> shift & ~(uint64_t)(SLOTS - 1)) | index) << shift;
        struct timer **list = &timers->lists[digit * SLOTS + index], *timer = *list;
        *list = NULL;
        while (timer) {
            struct timer *next = timer->next;
            if (next) __builtin_prefetch(next->next);
            timers->far--;
            timers_insert(timers, timer);
            timer = next;
        }
        return;
    }
}

static inline struct timer *timers_first(struct timers *timers) {
    while (timers->near == 0 && timers->far > 0) timers_advance(timers);
    return timers->near ? timers->heap[0].timer : NULL;
}

#endif
