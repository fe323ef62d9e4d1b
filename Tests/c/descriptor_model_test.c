/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * descriptor_model_test.c: random programs of descriptor sources beside a plain model: numbers are opened, closed, copied and
 * used again while sources watch them, are paused, changed, removed and ended, by callbacks, nested runs and a second thread;
 * every status, and every call of a callback, must be one that is owed, and what is owed must come.
 * TREADLE_TEST_SEED plays one program and shows it; TREADLE_TEST_SEEDS, or TREADLE_TEST_SCALE, sets how many there are. */
#include "descriptor_model.h"

enum { STEPS = 24, DEPTH = 3 };
static int running, depth, times_told, told_in_pass; /* running: the mode, -1 for none */
static bool is_quiet, has_keeper, has_helper, is_debugged;

/* --- The second thread ------------------------------------------------------------------------------------------ */

static struct helper {
    pthread_t thread;
    sem_t asked, done;
    void (*what)(void *);
    void *info;
} helper;
static void *help(void *info) {
    for (;;) {
        await(&helper.asked);
        if (!helper.what) return info;
        helper.what(helper.info);
        sem_post(&helper.done);
    }
}
static void ask_helper(void (*what)(void *), void *info) {
    helper.what = what, helper.info = info;
    sem_post(&helper.asked);
}
static void by_helper(void (*what)(void *), void *info) {
    SHOW("<");
    ask_helper(what, info);
    await(&helper.done);
    SHOW(">");
}

/* --- Actions ---------------------------------------------------------------------------------------------------- */

static void told(treadle_descriptor handle, uint32_t events, void *info);
static void act(void *caller) {
    struct source *source = caller && any(2) ? caller : &sources[any(SOURCES)];
    int n = any(2) ? source->number : (int)any(NUMBERS), mode = (int)any(MODES);
    switch (any(22)) {
    case 0: case 1: make(source, n, told); break;
    case 2: case 3: case 4: add(source, mode); break;
    case 5: remove_from(source, mode); break;
    case 6: case 7: case 8: set_events(source, 1 + any(3)); break;
    case 9: case 10: set_events(source, 0); break;
    case 11: if (any(2)) end(source, any(2)); break;
    case 12: open_file(n); break;
    case 13: close_number(n); break;
    case 14: copy_number(n, (int)any(NUMBERS)); break;
    case 15: copy_number((int)any(NUMBERS), n); break;
    case 16: case 17: feed(n); break;
    case 18: drain(n, any(2)); break;
    case 19: fill(n); break;
    case 20: if (any(3) == 0) hang_up(n, any(2)); break;
    case 21: if (any(4) == 0) close_number(n), open_file(n); break;
    }
}
static void act_somewhere(void *caller) {
    if (has_helper && any(3) == 0) by_helper(act, caller);
    else act(caller);
}

/* --- Passes ------------------------------------------------------------------------------------------------------ */

static int passes, waits;
static void count(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)info;
    if (activity == TREADLE_BEFORE_TIMERS) passes++, told_in_pass = 0;
    else waits++;
}
static bool is_empty(int mode) {
    for (int i = 0; i < SOURCES; i++)
        if (sources[i].in[mode].is_in) return false;
    return !has_keeper;
}
static bool is_anything_owed(int mode) {
    for (int i = 0; i < SOURCES; i++)
        if (owed(&sources[i], mode)) return true;
    return false;
}
static void kernel_sees(int mode) {
    for (int i = 0; i < SOURCES; i++) sources[i].in[mode].seen |= may_report(&sources[i], mode);
}
static int run(int mode, int64_t timeout) {
    int outer = running, outer_told = told_in_pass;
    kernel_sees(mode);
    running = mode, told_in_pass = 0, depth++;
    SHOW("%s%d(", timeout ? "run" : "", mode);
    int result = treadle_loop_run(loop, mode_names[mode], timeout, TREADLE_RUN_RETURN_AFTER_SOURCE);
    SHOW(")%d", result);
    running = outer, told_in_pass = outer_told, depth--;
    return result;
}
/* A pass takes one of those that are ready, and says so. */
static void pass(int mode) {
    int before = times_told;
    bool owes = is_anything_owed(mode), was_empty = is_empty(mode);
    int result = run(mode, 0);
    if (times_told == before) {
        EXPECT(!owes);
        for (int i = 0; i < SOURCES; i++) sources[i].in[mode].seen = 0; /* it has looked at everything */
    }
    EXPECT_INT(result, was_empty ? TREADLE_RUN_FINISHED : times_told > before ? TREADLE_RUN_HANDLED_SOURCE : TREADLE_RUN_TIMED_OUT);
}
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER; /* the second thread changes something while the loop sleeps */
static void told(treadle_descriptor handle, uint32_t events, void *info) {
    struct source *source = info;
    EXPECT(handle != atomic_load(&source->closed));
    EXPECT(events && !(events & ~15u));
    if (atomic_load(&is_racing)) return;
    pthread_mutex_lock(&changing), pthread_mutex_unlock(&changing);
    struct entry *entry = running < 0 ? NULL : &source->in[running];
    SHOW("told%d:%u", source->index, events);
    EXPECT(entry && source->handle == handle && source->is_valid && source->events && entry->is_in);
    EXPECT_INT(told_in_pass++, 0);
    uint32_t possible = may_be_told(source, running);
    bool is_lost = entry->file < 0 && events & TREADLE_FAILED & ~possible;
    /* One that was closed may be noticed: at every 64th report, or because the loop looks before it sleeps. */
    if (is_lost) {
        bool is_looked_at = is_debugged && events == TREADLE_FAILED && owners[running][source->number] == source;
        EXPECT(entry->doubts || entry->seen || is_looked_at);
        forget(source, running);
        possible |= TREADLE_FAILED;
    }
    EXPECT(!(events & ~possible));
    times_told++;
    entry->told |= events, entry->times++;
    if (!entry->doubts) entry->seen = 0; /* else there may be a report of each file */
    if (is_quiet) return;
    for (int i = (int)any(4); i > 0 && source->left > 0; i--, source->left--) {
        if (any(5) == 0 && depth < DEPTH) pass((int)any(MODES));
        else act_somewhere(source);
        if (source->handle != handle) break;
    }
}

/* --- What is owed ------------------------------------------------------------------------------------------------ */

/* Nothing is owed: until nobody is told any more. False if one may be told for ever. */
static bool let_doubts_end(int mode) {
    for (const struct source *s = sources; s < sources + SOURCES; s++)
        if (table[s->number] >= 0 && s->in[mode].doubts >> table[s->number] & 1 && may_report(s, mode)) return false;
    for (int turn = 0, before = -1; before != times_told; turn++) {
        EXPECT(turn < 70 * SOURCES);
        before = times_told;
        pass(mode);
    }
    return true;
}
/* Level-triggered, and each in its turn. */
static void check_all_are_told(int mode) {
    bool has_doubts[SOURCES];
    is_quiet = true;
    for (int i = 0; i < SOURCES; i++) {
        sources[i].in[mode].told = 0, sources[i].in[mode].times = 0;
        has_doubts[i] = sources[i].in[mode].doubts != 0;
    }
    for (int turn = 0; turn < 3 * SOURCES; turn++) pass(mode);
    for (int i = 0; i < SOURCES; i++) {
        const struct entry *entry = &sources[i].in[mode];
        uint32_t due = owed(&sources[i], mode);
        EXPECT((entry->told & due) == due);
        EXPECT(due || has_doubts[i] || entry->times <= 2);
    }
    is_quiet = false;
}
/* With nothing to tell the loop sleeps until its time is over. */
static void check_sleeps(int mode) {
    if (is_anything_owed(mode)) return;
    is_quiet = true;
    if (let_doubts_end(mode)) {
        int before = times_told;
        bool was_empty = is_empty(mode);
        passes = waits = 0;
        int result = run(mode, 200000);
        int told_then = times_told - before;
        EXPECT(told_then == 0 || is_debugged);
        EXPECT(passes <= 2 + told_then && waits <= 2 * passes);
        EXPECT_INT(result, was_empty ? TREADLE_RUN_FINISHED : told_then ? TREADLE_RUN_HANDLED_SOURCE : TREADLE_RUN_TIMED_OUT);
    }
    is_quiet = false;
}

/* --- A loop that sleeps ------------------------------------------------------------------------------------------ */

struct change {
    struct source *source;
    int mode, kind, number;
    struct sleep_watch watch;
};
/* The second thread makes a source ready, or has a ready one watched. */
static void make_ready(void *info) {
    struct change *change = info;
    await_sleep(&change->watch);
    pthread_mutex_lock(&changing);
    switch (change->kind) {
    case 0: feed(change->number); break;
    case 1: set_events(change->source, READ); break;
    case 2: add(change->source, change->mode); break;
    }
    kernel_sees(change->mode);
    pthread_mutex_unlock(&changing);
}
static void check_wakes(void) {
    struct change change = {.source = &sources[any(SOURCES)], .mode = (int)any(MODES), .kind = (int)any(3)};
    struct source *source = change.source;
    int n = change.number = source->number, mode = change.mode;
    if (!has_helper || is_debugged || !source->is_valid || table[n] < 0 || files[table[n]].kind != COUNTER || is_anything_owed(mode)) return;
    for (int i = 0; i < SOURCES; i++)
        if (sources[i].in[mode].doubts) return; /* it may be told before the loop sleeps */
    is_quiet = true;
    if (may_take(source, mode) == TREADLE_OK && let_doubts_end(mode) && !is_anything_owed(mode)) {
        remove_from(source, mode);
        set_events(source, READ);
        bool is_one = !source->in[!mode].is_in && source->events == READ && may_take(source, mode) == TREADLE_OK;
        drain(n, false);
        if (change.kind != 2 && is_one) add(source, mode);
        if (change.kind == 1) set_events(source, 0);
        if (change.kind != 0) feed(n);
        treadle_source keeper = make_source(NULL, NULL);
        CHECK_INT(treadle_loop_add_source(loop, keeper, mode_names[mode]), TREADLE_OK);
        watch_sleep(&change.watch, loop, mode_names[mode]);
        while (is_one && !is_anything_owed(mode)) { /* other sources of the counter may be ready, too */
            ask_helper(make_ready, &change);
            int before = times_told, result = run(mode, SECONDS(60));
            await(&helper.done);
            EXPECT_INT(result, TREADLE_RUN_HANDLED_SOURCE);
            EXPECT_INT(times_told, before + 1);
        }
        unwatch_sleep(&change.watch);
        CHECK_INT(treadle_source_invalidate(keeper) + treadle_source_release(keeper), TREADLE_OK);
    }
    is_quiet = false;
}

/* --- Changes while the loop runs --------------------------------------------------------------------------------- */

/* One whose last callback has returned is told nothing any more. */
static void change_at_once(void *is_done) {
    for (int i = 0; i < 40; i++) {
        struct source *source = &sources[any(SOURCES)];
        act(NULL);
        if (any(10) || !source->handle) continue;
        SHOW("close%d", source->index);
        EXPECT_INT(treadle_descriptor_close(source->handle, TREADLE_FOREVER), TREADLE_OK);
        atomic_store(&source->closed, source->handle);
        end(source, true);
    }
    atomic_store((atomic_bool *)is_done, true);
}
static void race(void) {
    atomic_bool is_done = false;
    SHOW("race");
    atomic_store(&is_racing, true);
    ask_helper(change_at_once, &is_done);
    for (int mode = 0; !atomic_load(&is_done); mode = !mode) {
        int result = treadle_loop_run(loop, mode_names[mode], 50000, 0);
        EXPECT(result == TREADLE_RUN_TIMED_OUT || result == TREADLE_RUN_FINISHED);
    }
    await(&helper.done);
    atomic_store(&is_racing, false);
    for (struct source *s = sources; s < sources + SOURCES; s++) {
        bool is_lost = false;
        for (int mode = 0; mode < MODES; mode++) {
            s->in[mode].seen = 15;
            is_lost |= s->in[mode].is_in && s->events && s->in[mode].file < 0;
        }
        if (is_lost) end(s, any(2)); /* its number may have changed at any moment of the loop's look at it */
    }
}

/* --- Programs ---------------------------------------------------------------------------------------------------- */

static void tell_nobody(const char *message, void *info) { (void)message, (void)info; }

static void *play(void *info) {
    loop = treadle_loop_current();
    random_state = seed_now;
    has_helper = any(100) < 60, is_debugged = any(100) < 15, has_keeper = any(2);
    bool has_race = has_helper && any(4) == 0;
    /* As TREADLE_DEBUG in the environment, which is looked at once in a process. */
    CHECK_INT(treadle_set_log(is_debugged ? tell_nobody : NULL, NULL, NULL), TREADLE_OK);
    SHOW("helper%d debug%d keeper%d race%d:", has_helper, is_debugged, has_keeper, has_race);
    running = -1, depth = 0;
    memset(stale, 0, sizeof stale), memset(owners, 0, sizeof owners), memset(files, 0, sizeof files);
    for (int n = 0; n < NUMBERS; n++) table[n] = -1;
    for (int i = 0; i < SOURCES; i++) {
        sources[i] = (struct source){.index = i};
        leave(&sources[i], 0), leave(&sources[i], 1);
    }
    treadle_observer observer = make_observer(count, NULL,
        TREADLE_BEFORE_TIMERS | (any(2) ? TREADLE_BEFORE_WAITING | TREADLE_AFTER_WAITING : 0));
    treadle_source keeper = make_source(NULL, NULL);
    for (int mode = 0; mode < MODES; mode++) {
        CHECK_INT(treadle_loop_add_observer(loop, observer, mode_names[mode]), TREADLE_OK);
        if (has_keeper) CHECK_INT(treadle_loop_add_source(loop, keeper, mode_names[mode]), TREADLE_OK);
    }
    if (has_helper) CHECK_INT(pthread_create(&helper.thread, NULL, help, NULL), 0);
    for (int n = 0; n < NUMBERS - 2; n++) open_file(n);
    for (int i = 0; i < SOURCES; i++) make(&sources[i], (int)any(NUMBERS - 2), told), add(&sources[i], (int)any(MODES));
    for (int step = 0; step < STEPS; step++) {
        int mode = (int)any(MODES);
        for (int i = 0; i < 4; i++) act_somewhere(NULL);
        switch (any(12)) {
        case 0: case 1: check_all_are_told(mode); break;
        case 2: case 3: check_sleeps(mode); break;
        case 4: check_wakes(); break;
        case 5: if (has_race) race(); break;
        default: for (int i = (int)any(4); i >= 0; i--) pass(mode); break;
        }
    }
    for (int mode = 0; mode < MODES; mode++) check_all_are_told(mode), check_sleeps(mode);
    for (int i = 0; i < SOURCES; i++) end(&sources[i], any(2));
    for (int mode = 0; mode < MODES; mode++) check_sleeps(mode); /* what was left behind keeps nobody awake */
    if (has_helper) {
        ask_helper(NULL, NULL);
        CHECK_INT(pthread_join(helper.thread, NULL), 0);
    }
    for (int n = 0; n < NUMBERS; n++) close_number(n);
    CHECK_INT(treadle_observer_release(observer) + treadle_source_release(keeper), TREADLE_OK);
    return info;
}

TEST(random_descriptor_programs_match_the_model,
    "SRC1-2 SRC1-5 SRC1-7 SRC1-8 SRC1-9 SRC1-11 PASS-10 PASS-12 MODE-6 MODE-10 RUN-7 RUN-10 RUN-12 OBJ-5 OBJ-9") {
    unsetenv("TREADLE_DEBUG");
    const char *only = getenv("TREADLE_TEST_SEED"), *number = getenv("TREADLE_TEST_SEEDS");
    uint64_t first = only ? strtoull(only, NULL, 10) : (uint64_t)treadle_time_now();
    int count = only ? 1 : number ? atoi(number) : scaled(1000);
    is_shown = only != NULL;
    if (is_shown) setvbuf(stdout, NULL, _IONBF, 0);
    signal(SIGPIPE, SIG_IGN);
    sem_init(&helper.asked, 0, 0), sem_init(&helper.done, 0, 0);
    if (!only) printf("seeds from %" PRIu64 ", %d of them\n", first, count);
    for (seed_now = first; seed_now < first + (uint64_t)count; seed_now++) on_thread(play, NULL);
    if (is_shown) putchar('\n');
    CHECK(only || times_told > count);
}

TEST_MAIN()
