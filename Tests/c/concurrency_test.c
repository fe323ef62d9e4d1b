/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * concurrency_test.c: what must hold whatever the threads do. TREADLE_TEST_SCALE multiplies how often. */
#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE
enum { THREADS = 4 };

static void start_all(pthread_t *threads, void *(*body)(void *)) {
    for (intptr_t i = 0; i < THREADS; i++) CHECK_INT(pthread_create(&threads[i], NULL, body, (void *)i), 0);
}
static void join_all(pthread_t *threads) {
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
}

/* Nobody has used the library before: the threads start it at the same moment. */
static pthread_barrier_t barrier;
static _Atomic(treadle_loop) first_main;
static void *use_first(void *number) {
    treadle_loop none = NULL;
    treadle_loop loop;
    pthread_barrier_wait(&barrier);
    if ((intptr_t)number % 2) {
        loop = treadle_loop_main();
        CHECK(atomic_compare_exchange_strong(&first_main, &none, loop) || none == loop);
    }
    treadle_source source = make_source(NULL, NULL);
    loop = treadle_loop_current();
    CHECK(loop && loop == treadle_loop_current());
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    return NULL;
}
TEST(the_first_use_by_many_threads_at_once, "OBJ-6 RL-1 RL-3") {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    start_all(threads, use_first);
    join_all(threads);
    CHECK(first_main == treadle_loop_main() && first_main == treadle_loop_current());
}

/* Posts: each runs once, in the order of its sender, on the loop's thread. */
static struct worker worker;
static struct {
    intptr_t next; /* written by the loop's thread alone */
} senders[THREADS];
enum { SENDER_BITS = 4 };
static void receive(void *info) {
    intptr_t message = (intptr_t)info, sender = message & ((1 << SENDER_BITS) - 1);
    CHECK_INT(thread_id(), worker.thread_id);
    CHECK_INT(message >> SENDER_BITS, senders[sender].next);
    senders[sender].next++;
}
static void *send_posts(void *sender) {
    for (intptr_t i = 0, count = scaled(20000); i < count; i++)
        CHECK_INT(treadle_loop_post(worker.loop, receive, (void *)(i << SENDER_BITS | (intptr_t)sender)), TREADLE_OK);
    return NULL;
}
static void tell(void *info) { sem_post(info); }
TEST(posts_arrive_once_and_in_order, "BLK-3 BLK-5 OBJ-6 OBJ-8 WAKE-3") {
    pthread_t threads[THREADS];
    sem_t done;
    sem_init(&done, 0, 0);
    worker_start(&worker);
    start_all(threads, send_posts);
    join_all(threads);
    CHECK_INT(treadle_loop_post(worker.loop, tell, &done), TREADLE_OK);
    await(&done);
    for (int i = 0; i < THREADS; i++) CHECK_INT(senders[i].next, scaled(20000));
    worker_stop(&worker);
}

/* Blocks and posts share one order; the destroy of each block runs once. */
static atomic_int destroys;
static void count_destroy(void *info) { (void)info, atomic_fetch_add(&destroys, 1); }
static void *send_blocks_and_posts(void *sender) {
    for (intptr_t i = 0, count = scaled(5000); i < count; i++) {
        void *message = (void *)(i << SENDER_BITS | (intptr_t)sender);
        treadle_post block = {.struct_size = sizeof block, .fn = receive, .info = message, .destroy = count_destroy};
        if (i % 2) CHECK_INT(post_block(worker.loop, &block), TREADLE_OK);
        else CHECK_INT(treadle_loop_post(worker.loop, receive, message), TREADLE_OK);
    }
    return NULL;
}
TEST(blocks_and_posts_keep_one_order, "BLK-1 BLK-2 BLK-3 ABI-2") {
    pthread_t threads[THREADS];
    sem_t done;
    sem_init(&done, 0, 0);
    worker_start(&worker);
    start_all(threads, send_blocks_and_posts);
    join_all(threads);
    CHECK_INT(treadle_loop_post(worker.loop, tell, &done), TREADLE_OK);
    await(&done);
    worker_await_sleep(&worker);
    for (int i = 0; i < THREADS; i++) CHECK_INT(senders[i].next, scaled(5000));
    CHECK_INT(destroys, THREADS * (scaled(5000) / 2));
    worker_stop(&worker);
}

/* Property (i): no signal is lost. A producer puts an item in, then signals; the consumer takes out all
 * that there is. A lost signal or wake leaves an item, and the loop asleep: the watchdog tells. */
static atomic_int boxes[THREADS], taken;
static treadle_source box_source;
static sem_t emptied;
static int produced_in_all;
static void empty_boxes(treadle_source source, void *info) {
    (void)source, (void)info;
    int count = 0;
    CHECK_INT(thread_id(), worker.thread_id);
    for (int i = 0; i < THREADS; i++) count += atomic_exchange(&boxes[i], 0);
    if (count && atomic_fetch_add(&taken, count) + count == produced_in_all) sem_post(&emptied);
}
static void *produce(void *number) {
    intptr_t box = (intptr_t)number;
    for (int i = scaled(10000); i > 0; i--) {
        atomic_fetch_add(&boxes[box], 1);
        if (box % 2) {
            CHECK_INT(treadle_source_signal_and_wake(box_source), TREADLE_OK);
        } else {
            CHECK_INT(treadle_source_signal(box_source), TREADLE_OK);
            CHECK_INT(treadle_loop_wake(worker.loop), TREADLE_OK);
        }
        /* Now and then the loop gets to sleep, so that the wake is what matters. */
        if (i % 64 == 0) sched_yield();
        if (i % 512 == 0) worker_await_sleep(&worker);
    }
    return NULL;
}
TEST(no_signal_and_no_wake_is_lost, "WAKE-1 WAKE-3 SRC0-6 SRC0-8 OBJ-6") {
    pthread_t threads[THREADS];
    sem_init(&emptied, 0, 0);
    produced_in_all = THREADS * scaled(10000);
    box_source = make_source(empty_boxes, NULL);
    worker_start(&worker);
    CHECK_INT(treadle_loop_add_source(worker.loop, box_source, MODE), TREADLE_OK);
    start_all(threads, produce);
    join_all(threads);
    await(&emptied);
    CHECK_INT(taken, produced_in_all);
    treadle_source_invalidate(box_source);
    treadle_source_release(box_source);
    worker_stop(&worker);
}

/* One signal at a time: the next is given when the last was served, from a loop that sleeps or is just
 * about to. */
static atomic_int served_turns;
static void serve_turn(treadle_source source, void *info) {
    (void)source, (void)info;
    atomic_fetch_add(&served_turns, 1);
}
TEST(a_wake_reaches_a_loop_that_falls_asleep, "WAKE-1 WAKE-3 STOP-7") {
    treadle_source source = make_source(serve_turn, NULL);
    worker_start(&worker);
    CHECK_INT(treadle_loop_add_source(worker.loop, source, MODE), TREADLE_OK);
    int turns = 0;
    while (turns < scaled(20000) && rounds_go_on()) {
        turns++;
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        CHECK_INT(treadle_loop_wake(worker.loop), TREADLE_OK);
        while (atomic_load(&served_turns) < turns) sched_yield();
    }
    CHECK_INT(served_turns, turns);
    treadle_source_release(source);
    worker_stop(&worker);
}

/* A wake alone, with nothing to find: the loop goes through a pass and falls asleep once more. */
TEST(a_wake_alone_is_not_lost, "WAKE-1 WAKE-3 WAKE-5") {
    worker_start(&worker);
    for (int i = scaled(20000); i > 0 && rounds_go_on(); i--) {
        int sleeps = worker.watch.sleeps;
        CHECK_INT(treadle_loop_wake(worker.loop), TREADLE_OK);
        while (worker.watch.sleeps == sleeps) sched_yield();
    }
    worker_stop(&worker);
}

/* Property (ii) and (iii): random operations from several threads on the items of a running loop. */
enum { ITEMS = 32 };
static struct probe shared[ITEMS];
static void on_the_loop_s_thread(struct probe *probe) {
    uint64_t value;
    CHECK_INT(thread_id(), worker.thread_id);
    if (probe->fd >= 0 && read(probe->fd, &value, sizeof value) < 0) CHECK_INT(errno, EAGAIN);
}
static void *operate(void *number) {
    unsigned seed = (unsigned)(intptr_t)number;
    static const char *const modes[] = {MODE, TREADLE_COMMON_MODES, "another"};
    for (int i = scaled(10000); i > 0; i--) {
        struct probe *probe = &shared[rand_r(&seed) % ITEMS];
        const char *mode = modes[rand_r(&seed) % 3];
        uint64_t one = 1;
        treadle_status status = TREADLE_OK;
        switch (rand_r(&seed) % 6) {
        case 0:
        case 1: status = probe->kind->add(worker.loop, probe->item, mode); break;
        case 2: status = probe->kind->remove(worker.loop, probe->item, mode); break;
        case 3:
            CHECK_INT(probe->kind->retain(probe->item), TREADLE_OK);
            if (rand_r(&seed) % 1000 == 0) CHECK(probe->kind->invalidate(probe->item) >= 0);
            CHECK_INT(probe->kind->release(probe->item), TREADLE_OK);
            break;
        case 4: probe->kind->contains(worker.loop, probe->item, mode); break;
        default:
            if (probe->kind == &source_kind) CHECK(treadle_source_signal_and_wake(probe->item) >= 0);
            if (probe->kind == &timer_kind) CHECK(treadle_timer_set_next_fire(probe->item, 1) >= 0);
            if (probe->kind == &descriptor_kind) CHECK_INT(write(probe->fd, &one, sizeof one), sizeof one);
            if (probe->kind == &observer_kind) CHECK_INT(treadle_loop_wake(worker.loop), TREADLE_OK);
        }
        if (status != TREADLE_OK && status != TREADLE_IGNORED)
            check_failed(__FILE__, __LINE__, "%s of a %s", treadle_status_name(status), probe->kind->name);
    }
    return NULL;
}
static int count_shared_calls(void) {
    int calls = 0;
    for (int i = 0; i < ITEMS; i++) calls += atomic_load(&shared[i].calls);
    return calls;
}
TEST(random_operations_from_four_threads, "OBJ-3 OBJ-6 OBJ-8 OBJ-9 SRC0-3 MODE-6 ABI-2") {
    pthread_t threads[THREADS];
    worker_start(&worker);
    for (int i = 0; i < ITEMS; i++) {
        shared[i] = (struct probe){.on_call = on_the_loop_s_thread, .order = i % 5};
        probe_make(&shared[i], kinds[i % KINDS]);
    }
    do { /* until the loop has come to do anything meanwhile */
        start_all(threads, operate);
        join_all(threads);
    } while (count_shared_calls() == 0);
    worker_stop(&worker);
    for (int i = 0; i < ITEMS; i++) probe_end(&shared[i]); /* all that was retained is released, all that was scheduled cancelled */
}

/* Adding to the common modes and removing from them are each one step for other threads: whatever raced,
 * the item is in the modes if and only if it is recorded. One round: an addition, a removal and a mode
 * that joins, at once. */
static struct probe contended;
static atomic_int arrived, checked;
static void race_once(intptr_t who, int round) {
    char mode[32];
    snprintf(mode, sizeof mode, "joined %d", round / 50);
    if (who == 0) CHECK(contended.kind->add(worker.loop, contended.item, TREADLE_COMMON_MODES) >= 0);
    if (who == 1) CHECK(contended.kind->remove(worker.loop, contended.item, TREADLE_COMMON_MODES) >= 0);
    if (who == 2 && round % 50 == 0) CHECK(treadle_loop_add_common_mode(worker.loop, mode) >= 0);
}
static void check_round(int round) {
    char mode[32];
    bool recorded = contended.kind->contains(worker.loop, contended.item, TREADLE_COMMON_MODES);
    CHECK_INT(contended.kind->contains(worker.loop, contended.item, MODE), recorded);
    snprintf(mode, sizeof mode, "joined %d", round / 50);
    CHECK_INT(contended.kind->contains(worker.loop, contended.item, mode), recorded);
    if (round % 2) contended.kind->remove(worker.loop, contended.item, TREADLE_COMMON_MODES);
    else contended.kind->add(worker.loop, contended.item, TREADLE_COMMON_MODES);
}
static void *race_in_rounds(void *number) {
    for (int round = 0; round < scaled(1000); round++) {
        atomic_fetch_add(&arrived, 1);
        while (atomic_load(&arrived) < (round + 1) * 3) sched_yield();
        race_once((intptr_t)number, round);
        atomic_fetch_add(&checked, 1);
        while (atomic_load(&checked) < round * 4 + 3) sched_yield();
        if (number == 0) {
            check_round(round);
            atomic_fetch_add(&checked, 1);
        }
        while (atomic_load(&checked) < (round + 1) * 4) sched_yield();
    }
    return NULL;
}
TEST(the_common_modes_agree_whatever_raced, "MODE-8 OBJ-6 SRC0-3") {
    for (int k = 0; k < KINDS; k++) {
        pthread_t threads[3];
        memset(&contended, 0, sizeof contended);
        probe_make(&contended, kinds[k]);
        worker_start_in_mode(&worker, "elsewhere");
        atomic_store(&arrived, 0);
        atomic_store(&checked, 0);
        for (intptr_t i = 0; i < 3; i++) CHECK_INT(pthread_create(&threads[i], NULL, race_in_rounds, (void *)i), 0);
        for (int i = 0; i < 3; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
        probe_end(&contended);
        worker_stop(&worker);
    }
}

/* Items that come and go: each thread makes, adds, and ends its own while the loop serves them. */
static atomic_int born, died;
static void *retain_life(void *info) { return atomic_fetch_add(&born, 1), info; }
static void release_life(void *info) { (void)info, atomic_fetch_add(&died, 1); }
static atomic_int scheduled, cancelled;
static void count_schedule(treadle_source s, treadle_loop l, const char *m, void *info) { (void)s, (void)l, (void)m, (void)info, atomic_fetch_add(&scheduled, 1); }
static void count_cancel(treadle_source s, treadle_loop l, const char *m, void *info) { (void)s, (void)l, (void)m, (void)info, atomic_fetch_add(&cancelled, 1); }
static void *live_and_die(void *number) {
    unsigned seed = (unsigned)(intptr_t)number + 77;
    for (int i = scaled(5000); i > 0; i--) {
        treadle_source_context source_context = {.struct_size = sizeof source_context, .retain = retain_life, .release = release_life,
                                                 .schedule = count_schedule, .cancel = count_cancel, .order = rand_r(&seed) % 3};
        treadle_timer_context timer_context = {.struct_size = sizeof timer_context, .retain = retain_life, .release = release_life,
                                               .fire_at = rand_r(&seed) % 2 ? 1 : FAR_AWAY, .interval_ns = rand_r(&seed) % 2};
        treadle_source source;
        treadle_timer timer;
        CHECK_INT(treadle_source_create(&source_context, &source), TREADLE_OK);
        CHECK_INT(treadle_timer_create(&timer_context, &timer), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(worker.loop, source, rand_r(&seed) % 2 ? MODE : TREADLE_COMMON_MODES), TREADLE_OK);
        CHECK(treadle_loop_add_timer(worker.loop, timer, MODE) >= 0);
        CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
        switch (rand_r(&seed) % 3) {
        case 0:
            CHECK_INT(treadle_source_close(source, TREADLE_FOREVER), TREADLE_OK);
            CHECK(treadle_timer_close(timer, TREADLE_FOREVER) >= 0); /* a one-shot may be invalid already */
            break;
        case 1:
            CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
            CHECK(treadle_timer_invalidate(timer) >= 0);
            break;
        default: /* left to the loop, which has the last reference */
            CHECK(treadle_loop_remove_timer(worker.loop, timer, MODE) >= 0);
        }
        CHECK_INT(treadle_source_release(source), TREADLE_OK);
        CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    }
    return NULL;
}
TEST(retains_and_schedules_balance, "OBJ-2 OBJ-3 OBJ-4 RL-8 SRC0-2 SRC0-3 TMR-7") {
    pthread_t threads[THREADS];
    worker_start(&worker);
    start_all(threads, live_and_die);
    join_all(threads);
    worker_stop(&worker);
    CHECK(born >= 2 * THREADS * scaled(5000));
    CHECK_INT(died, born);
    CHECK_INT(scheduled, THREADS * scaled(5000));
    CHECK_INT(cancelled, scheduled);
}

/* Property (v): never early, on the grid exactly, each date served or missed once, no drift. */
static struct {
    int64_t first, interval, next, served, missed;
    int stop_after;
} grid;
static void on_the_grid(treadle_timer timer, void *info) {
    int64_t now = treadle_time_now(), date = 0;
    (void)info;
    CHECK_INT(treadle_timer_get_next_fire(timer, &date), TREADLE_OK);
    CHECK(now >= date);
    CHECK_INT((date - grid.first) % grid.interval, 0);
    CHECK(date >= grid.next);
    grid.missed += (date - grid.next) / grid.interval;
    grid.served++;
    if (grid.served % 50 == 0) /* now and then the callback takes longer than the interval */
        while (treadle_time_now() < date + 5 * grid.interval / 2) {}
    if (grid.served == grid.stop_after) CHECK_INT(treadle_loop_stop(treadle_loop_current()), TREADLE_OK);
    grid.next = date + grid.interval;
}
TEST(a_repeating_timer_keeps_its_grid, "TMR-16 TMR-18 TMR-22") {
    grid.interval = 300000;
    grid.first = treadle_time_now() + MILLISECONDS(1);
    grid.next = grid.first;
    grid.stop_after = scaled(2000);
    treadle_timer timer = make_timer(on_the_grid, NULL, grid.first, grid.interval);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_STOPPED);
    int64_t next = 0, now = treadle_time_now();
    CHECK_INT(treadle_timer_get_next_fire(timer, &next), TREADLE_OK);
    CHECK_INT((next - grid.first) % grid.interval, 0);
    /* Every date up to the one that is next was served, or missed and covered by a later call. */
    CHECK(grid.served + grid.missed <= (now - grid.first) / grid.interval + 1);
    CHECK_INT(grid.served, grid.stop_after);
    CHECK_INT(grid.first + (grid.served + grid.missed) * grid.interval, grid.next);
    CHECK(next >= grid.next);
    treadle_timer_invalidate(timer);
    treadle_timer_release(timer);
}

TEST_MAIN()
