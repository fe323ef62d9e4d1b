/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * dates.c: how late a timer fires, and whether a repeating one keeps its grid. */
#include "../harness/support.h"

enum { PERIOD = 1000000, MOST_SHOTS = 400, MOST_TICKS = 500 };

/* oneshot_late: a one-shot of 1 ms that is armed again by its own callback. */
struct shots {
    void *loop, *timer;
    uint64_t date;
    size_t count, wanted;
    int64_t late[MOST_SHOTS];
};
CALLBACK(shot);
static void shot(void *info) {
    struct shots *shots = info;
    shots->late[shots->count++] = (int64_t)(clock_ns() - shots->date);
    if (shots->count == shots->wanted) {
        library.loop_stop(shots->loop);
        return;
    }
    shots->date = clock_ns() + PERIOD;
    library.timer_move(shots->loop, shots->timer, PERIOD);
}
static void oneshot_late(void) {
    static struct shots shots;
    shots.wanted = is_quick ? 20 : MOST_SHOTS;
    shots.loop = new_loop();
    shots.date = clock_ns() + PERIOD;
    shots.timer = library.timer_make(shots.loop, PERIOD, TIMER_MOVED, &shot_callback, &shots);
    library.loop_run(shots.loop);
    library.timer_free(shots.loop, shots.timer);
    library.loop_free(shots.loop);
    demand(shots.count == shots.wanted, "a one-shot fires once each time that it is armed");
    double median = quantile(shots.late, shots.count, 0.5);
    if (median < 0) {
        tell_none("oneshot_late", "most shots come early");
        return;
    }
    tell("oneshot_late", median / 1e3, "us");
    tell("oneshot_late_p99", quantile(shots.late, shots.count, 0.99) / 1e3, "us");
}

/* tick_late: a timer that repeats every 1 ms, against the grid that begins when it is armed. tick_drift: how much
 * later against the grid the last tenth of the ticks was than the first tenth. A date that was missed altogether, as
 * on a busy machine, is not made up for by every library: from one tick to the next only what is not a whole number
 * of periods counts. */
struct ticks {
    void *loop;
    uint64_t last;
    int64_t offset;
    size_t count, wanted;
    int64_t late[MOST_TICKS];
};
CALLBACK(tick);
static void tick(void *info) {
    struct ticks *ticks = info;
    if (ticks->count == ticks->wanted) return; /* a library may fire again before it stops */
    uint64_t now = clock_ns();
    int64_t part = (int64_t)((now - ticks->last) % PERIOD);
    ticks->offset += part > PERIOD / 2 ? part - PERIOD : part;
    ticks->last = now;
    ticks->late[ticks->count] = ticks->offset;
    if (++ticks->count == ticks->wanted) library.loop_stop(ticks->loop);
}
static void tick_late(void) {
    static struct ticks ticks;
    ticks.wanted = is_quick ? 30 : MOST_TICKS;
    ticks.loop = new_loop();
    ticks.last = clock_ns();
    void *timer = library.timer_make(ticks.loop, PERIOD, PERIOD, &tick_callback, &ticks);
    library.loop_run(ticks.loop);
    library.timer_free(ticks.loop, timer);
    library.loop_free(ticks.loop);
    demand(ticks.count == ticks.wanted, "a repeating timer repeats");
    size_t tenth = ticks.wanted / 10;
    double first = quantile(ticks.late, tenth, 0.5);
    double last = quantile(ticks.late + ticks.wanted - tenth, tenth, 0.5);
    tell("tick_drift", (last - first) / 1e3, "us");
    tell("tick_late", quantile(ticks.late, ticks.wanted, 0.5) / 1e3, "us");
    tell("tick_late_p99", quantile(ticks.late, ticks.wanted, 0.99) / 1e3, "us");
}

const struct workload date_workloads[] = {
    {"oneshot_late", oneshot_late, NEEDS_LOOP | NEEDS_TIMER | NEEDS_MOVE},
    {"tick_late", tick_late, NEEDS_LOOP | NEEDS_TIMER},
    {NULL, NULL, 0},
};
