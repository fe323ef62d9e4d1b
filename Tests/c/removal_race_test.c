/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * removal_race_test.c: removing, invalidating and closing against callbacks; the calls for signal handlers. */
#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE

static void invalidate_other(struct probe *probe) {
    struct probe *other = probe->user;
    probe->on_call = NULL;
    CHECK_INT(other->kind->invalidate(other->item), TREADLE_OK);
}
static void remove_other(struct probe *probe) {
    struct probe *other = probe->user;
    probe->on_call = NULL;
    CHECK_INT(other->kind->remove(treadle_loop_current(), other->item, MODE), TREADLE_OK);
}
static void close_other(struct probe *probe) {
    struct probe *other = probe->user;
    probe->on_call = NULL;
    CHECK_INT(other->kind->close(other->item, TREADLE_FOREVER), TREADLE_OK);
}
/* Both are ready in the same pass; what is done to the second is done in the first one's callback. */
TEST(a_removed_item_does_not_start_on_its_own_thread, "OBJ-9 D-08 OBS-4 TMR-13") {
    static void (*const ends[])(struct probe *) = {invalidate_other, remove_other, close_other};
    treadle_source keeper = keep_mode(MODE);
    for (int k = 0; k < KINDS; k++) {
        for (int e = 0; e < 3; e++) {
            for (int elsewhere = 0; elsewhere < 2; elsewhere++) { /* is it in another mode too? */
                struct probe first = {.order = 1, .on_call = ends[e]}, second = {.order = 2, .on_call = ends[e]};
                first.user = &second;
                second.user = &first;
                probe_make(&first, kinds[k]);
                probe_make(&second, kinds[k]);
                CHECK_INT(kinds[k]->add(treadle_loop_current(), first.item, MODE), TREADLE_OK);
                CHECK_INT(kinds[k]->add(treadle_loop_current(), second.item, MODE), TREADLE_OK);
                if (elsewhere) CHECK_INT(kinds[k]->add(treadle_loop_current(), second.item, "elsewhere"), TREADLE_OK);
                if (elsewhere) CHECK_INT(kinds[k]->add(treadle_loop_current(), first.item, "elsewhere"), TREADLE_OK);
                for (int i = 0; i < 3; i++) poll_mode(MODE);
                /* Two descriptors are served in the kernel's order: whichever came first ended the other. */
                CHECK((first.calls == 0) != (second.calls == 0));
                if (k != 3) CHECK(first.calls > 0);
                probe_end(&first);
                probe_end(&second);
            }
        }
    }
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

struct gate {
    sem_t entered, leave;
};
static void pass_gate(struct probe *probe) {
    struct gate *gate = probe->user;
    probe->on_call = NULL;
    sem_post(&gate->entered);
    await(&gate->leave);
}
/* A probe whose callback is running on the worker, until `leave` is posted. */
static void probe_enter(struct probe *probe, struct gate *gate, const struct kind *kind, struct worker *worker) {
    memset(probe, 0, sizeof *probe);
    sem_init(&gate->entered, 0, 0);
    sem_init(&gate->leave, 0, 0);
    probe->on_call = pass_gate;
    probe->user = gate;
    probe_make(probe, kind);
    CHECK_INT(kind->add(worker->loop, probe->item, MODE), TREADLE_OK);
    treadle_loop_wake(worker->loop);
    await(&gate->entered);
}

TEST(invalidate_and_remove_do_not_wait_for_another_thread, "OBJ-9 OBJ-3 ABI-2") {
    struct worker worker;
    worker_start(&worker);
    for (int k = 0; k < KINDS; k++) {
        for (int removed = 0; removed < 2; removed++) {
            struct probe probe;
            struct gate gate;
            probe_enter(&probe, &gate, kinds[k], &worker);
            if (removed) CHECK_INT(kinds[k]->remove(worker.loop, probe.item, MODE), TREADLE_OK);
            else CHECK_INT(kinds[k]->invalidate(probe.item), TREADLE_OK);
            CHECK_INT(kinds[k]->release(probe.item), TREADLE_OK);
            /* It still runs: its info is held. */
            CHECK_INT(probe.ended, 0);
            CHECK(probe.held >= 1);
            sem_post(&gate.leave);
            worker_await_sleep(&worker);
            CHECK_INT(probe.calls, 1);
            CHECK_INT(probe.ended, 1);
            CHECK_INT(probe.release_thread, worker.thread_id);
            probe_end(&probe);
        }
    }
    worker_stop(&worker);
}

struct closing {
    struct probe *probe;
    atomic_int begun, done;
};
static void *close_forever(void *info) {
    struct closing *closing = info;
    atomic_store(&closing->begun, 1);
    CHECK(closing->probe->kind->close(closing->probe->item, TREADLE_FOREVER) >= 0); /* invalid already */
    atomic_store(&closing->done, 1);
    return NULL;
}
TEST(close_waits_for_a_running_callback, "OBJ-9") {
    struct worker worker;
    worker_start(&worker);
    for (int k = 0; k < KINDS; k++) {
        struct probe probe;
        struct gate gate;
        struct closing closing = {.probe = &probe};
        pthread_t thread;
        probe_enter(&probe, &gate, kinds[k], &worker);
        CHECK_ERROR(kinds[k]->close(probe.item, 0), TREADLE_E_TIMEOUT, "timeout");
        CHECK_ERROR(kinds[k]->close(probe.item, MILLISECONDS(1)), TREADLE_E_TIMEOUT, "timeout");
        CHECK(!kinds[k]->is_valid(probe.item));
        CHECK_INT(pthread_create(&thread, NULL, close_forever, &closing), 0);
        while (!atomic_load(&closing.begun)) sched_yield();
        linger(MICROSECONDS(100)); /* lets it get into the wait; correct without */
        CHECK_INT(closing.done, 0);
        sem_post(&gate.leave);
        pthread_join(thread, NULL);
        CHECK_INT(closing.done, 1);
        worker_await_sleep(&worker);
        CHECK_INT(probe.calls, 1);
        CHECK_INT(kinds[k]->release(probe.item), TREADLE_OK);
        probe_end(&probe);
    }
    worker_stop(&worker);
}

static void close_itself(struct probe *probe) {
    CHECK_ERROR(probe->kind->close(probe->item, TREADLE_FOREVER), TREADLE_E_DEADLOCK, "callback");
    CHECK(!probe->kind->is_valid(probe->item));
}
TEST(close_from_its_own_callback_does_not_hang, "OBJ-9") {
    treadle_source keeper = keep_mode(MODE);
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {.on_call = close_itself};
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->add(treadle_loop_current(), probe.item, MODE), TREADLE_OK);
        poll_mode(MODE);
        CHECK_INT(probe.calls, 1);
        CHECK_INT(kinds[k]->release(probe.item), TREADLE_OK);
        probe_end(&probe);
    }
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

/* Every operation on the loop's own thread, in random order: what was ended does not start again.
 * Property (iv). */
struct shuffled {
    struct probe probe;
    bool in;
};
static void must_be_in(struct probe *probe) {
    struct shuffled *shuffled = probe->user;
    uint64_t value;
    CHECK(shuffled->in);
    if (probe->fd >= 0) CHECK_INT(read(probe->fd, &value, sizeof value), sizeof value);
}
TEST(no_callback_starts_after_its_removal, "OBJ-9 MODE-6") {
    enum { COUNT = 16 };
    static struct shuffled items[COUNT];
    treadle_source keeper = keep_mode(MODE);
    treadle_loop loop = treadle_loop_current();
    unsigned seed = 2;
    int calls = 0;
    for (int i = 0; i < COUNT; i++) {
        items[i].probe = (struct probe){.on_call = must_be_in, .user = &items[i], .order = i % 3};
        probe_make(&items[i].probe, kinds[i % KINDS]);
    }
    for (int step = scaled(20000); step > 0; step--) {
        struct shuffled *item = &items[rand_r(&seed) % COUNT];
        struct probe *probe = &item->probe;
        uint64_t one = 1;
        switch (rand_r(&seed) % 4) {
        case 0:
            CHECK_INT(probe->kind->add(loop, probe->item, MODE), item->in ? TREADLE_IGNORED : TREADLE_OK);
            item->in = true;
            break;
        case 1:
            CHECK_INT(probe->kind->remove(loop, probe->item, MODE), item->in ? TREADLE_OK : TREADLE_IGNORED);
            item->in = false;
            break;
        case 2:
            if (probe->kind == &source_kind) treadle_source_signal(probe->item);
            if (probe->kind == &timer_kind) treadle_timer_set_next_fire(probe->item, 1);
            if (probe->kind == &descriptor_kind) CHECK_INT(write(probe->fd, &one, sizeof one), sizeof one);
            break;
        default: CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        calls += items[i].probe.calls;
        probe_end(&items[i].probe);
    }
    CHECK(calls > 0);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

/* OBJ-10: the handler runs on the loop's thread while that is anywhere inside Treadle. */
static treadle_loop handler_loop;
static atomic_int handled, stop_in_handler;
static void handler(int number) {
    (void)number;
    int saved = errno;
    CHECK(treadle_loop_wake(handler_loop) >= 0);
    if (atomic_load(&stop_in_handler)) CHECK_INT(treadle_loop_request_stop(handler_loop, 0), TREADLE_OK);
    errno = saved;
    atomic_fetch_add(&handled, 1);
}
static atomic_int storm_over;
static void *storm(void *target) {
    while (!atomic_load(&storm_over)) {
        int before = atomic_load(&handled);
        if (pthread_kill(*(pthread_t *)target, SIGUSR1) != 0) break;
        /* The thread sanitizer puts a signal off that meets the thread just before its sleep: it needs another. */
        for (int i = 0; atomic_load(&handled) == before && !atomic_load(&storm_over); i++) {
            sched_yield();
            if (THREAD_SANITIZER && i == 1000) break;
        }
    }
    return NULL;
}
static void note(void *info) { ++*(int *)info; }
TEST(wake_and_request_stop_from_a_signal_handler, "OBJ-10 STOP-9 ABI-4") {
    struct sigaction action = {.sa_handler = handler};
    pthread_t self = pthread_self(), thread;
    treadle_source source = keep_mode(MODE);
    int posted = 0, run = 0;
    handler_loop = treadle_loop_current();
    sigaction(SIGUSR1, &action, NULL);
    CHECK_INT(pthread_create(&thread, NULL, storm, &self), 0);
    for (int wanted = scaled(500); atomic_load(&handled) < wanted;) {
        CHECK_INT(treadle_loop_post(handler_loop, note, &run), TREADLE_OK);
        posted++;
        treadle_source_signal_and_wake(source);
        CHECK_INT(treadle_loop_remove_source(handler_loop, source, MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(handler_loop, source, MODE), TREADLE_OK);
        treadle_loop_wake(handler_loop);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    }
    CHECK_INT(run, posted);
    /* A loop that sleeps for ever is stopped by the handler, wherever the signal meets it. */
    atomic_store(&stop_in_handler, 1);
    for (int i = scaled(200); i > 0; i--) CHECK_INT(treadle_loop_run_default(handler_loop), TREADLE_RUN_STOPPED);
    atomic_store(&storm_over, 1);
    pthread_join(thread, NULL);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

TEST_MAIN()
