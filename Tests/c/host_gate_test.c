/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host_gate_test.c: host languages: which threads they meet, when a token is theirs again, and the
 * gate that closes for ever. */
#include "helpers.h"
#include "host_items.h"

static const char *const M = TREADLE_DEFAULT_MODE;

/* The host of a test. A token's low byte says what its callback does. */
enum { PLAIN = 0, HOLDS = 1, QUIESCES = 2, ENDS_ITSELF = 3, STOPS = 4 };
static treadle_host host;
static atomic_int events, entered, exited, cancels_after_exit;
static atomic_int last_entered, last_exited;
static sem_t holding, go;
static treadle_status quiesced;
static _Thread_local bool inside, left;
static atomic_bool seen[4096]; /* tokens named by an event, by number >> 8 */
static atomic_bool retired[4096];

static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    CHECK(inside); /* the thread was announced before its first event */
    if (left) atomic_fetch_add(&cancels_after_exit, 1);
    atomic_fetch_add(&events, 1);
    CHECK(!atomic_load(&retired[event->token >> 8 & 4095]));
    atomic_store(&seen[event->token >> 8 & 4095], true);
    switch (event->token & 255) {
    case HOLDS:
        sem_post(&holding);
        await(&go);
        break;
    case QUIESCES:
        quiesced = treadle_host_quiesce(host, TREADLE_FOREVER);
        break;
    case ENDS_ITSELF: /* its own token is not retired before it has returned */
        if (event->kind == TREADLE_EVENT_TIMER) CHECK_INT(treadle_timer_invalidate(event->subject), TREADLE_OK);
        if (event->kind == TREADLE_EVENT_PERFORM) CHECK_INT(treadle_source_release(event->subject), TREADLE_OK);
        if (event->kind == TREADLE_EVENT_PERFORM) CHECK_INT(treadle_source_invalidate(event->subject), TREADLE_OK);
        CHECK_INT(*treadle_host_get_retired_count(host), 0);
        break;
    case STOPS:
        CHECK_INT(treadle_loop_stop(event->loop), TREADLE_OK);
        break;
    }
    return ~ticket;
}
static void thread_enter(void *user) {
    CHECK(user == &host && !inside);
    inside = true;
    atomic_fetch_add(&entered, 1);
    atomic_store(&last_entered, thread_id());
}
static void thread_exit(void *user) {
    CHECK(user == &host && inside && !left);
    left = true;
    atomic_fetch_add(&exited, 1);
    atomic_store(&last_exited, thread_id());
}
static treadle_loop start_host(void) {
    treadle_host_config config = {
        .struct_size = sizeof config, .dispatch = dispatch, .thread_enter = thread_enter, .thread_exit = thread_exit, .user = &host};
    sem_init(&holding, 0, 0);
    sem_init(&go, 0, 0);
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    return treadle_loop_current();
}
static uint64_t token(int number, int action) { return (uint64_t)number << 8 | (uint64_t)action; }
static treadle_source make_host_source(uint64_t token, uint32_t wants) {
    treadle_source source;
    CHECK_INT(host_source(host, token, wants, 0, &source), TREADLE_OK);
    return source;
}
/* Takes all retired tokens, a few at a time; each may come once only. */
static int take_retired(void) {
    uint64_t tokens[3];
    size_t count = 0;
    int total = 0;
    do {
        CHECK_INT(treadle_host_take_retired(host, tokens, 3, &count), TREADLE_OK);
        CHECK(count <= 3);
        for (size_t i = 0; i < count; i++) CHECK(!atomic_exchange(&retired[tokens[i] >> 8 & 4095], true));
        total += (int)count;
    } while (count == 3);
    CHECK_INT(*treadle_host_get_retired_count(host), 0);
    return total;
}

static void *use_loop(void *number) {
    treadle_loop loop = treadle_loop_current();
    treadle_source source = make_host_source(token((int)(intptr_t)number, PLAIN), TREADLE_HOST_WANTS_CANCEL);
    CHECK_INT(treadle_loop_add_source(loop, source, M), TREADLE_OK);
    CHECK_INT(entered, (int)(intptr_t)number - 1); /* nobody was called on this thread yet */
    for (int i = 0; i < 3; i++) {
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    }
    CHECK_INT(treadle_source_release(source), TREADLE_OK); /* the teardown cancels and frees it */
    return (void *)(intptr_t)thread_id();
}
static void *touch_loop(void *info) {
    CHECK(treadle_loop_current());
    return info;
}
TEST(threads_enter_and_exit_once, "RL-8 OBJ-8") {
    start_host();
    for (int i = 1; i <= 5; i++) {
        int thread = (int)(intptr_t)on_thread(use_loop, (void *)(intptr_t)i);
        CHECK_INT(entered, i);
        CHECK_INT(exited, i);
        CHECK_INT(last_entered, thread);
        CHECK_INT(last_exited, thread);
        CHECK_INT(events, i * 4); /* three performs, one cancel */
        CHECK_INT(take_retired(), 1);
    }
    CHECK_INT(cancels_after_exit, 0); /* exit comes after the loop's teardown */
    on_thread(touch_loop, NULL);
    CHECK_INT(entered, 5); /* a thread without an event is never announced */
    CHECK_INT(exited, 5);
}

TEST(each_token_is_retired_once, "ABI-2 SRC0-2 TMR-7 OBS-8 BLK-1") {
    treadle_loop loop = start_host();
    treadle_source source = make_host_source(token(1, PLAIN), 0);
    treadle_timer timer;
    treadle_observer observer;
    treadle_descriptor descriptor;
    const uint64_t *waiting = treadle_host_get_retired_count(host);
    CHECK(waiting && *waiting == 0);
    CHECK_INT(treadle_loop_add_source(loop, source, M), TREADLE_OK);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(*waiting, 0); /* not at invalidation, but when it is freed */
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(*waiting, 1);
    CHECK_INT(host_timer(host, token(2, PLAIN), 1, 0, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, M), TREADLE_OK);
    CHECK_INT(host_observer(host, token(3, PLAIN), TREADLE_EXIT, 1, &observer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(loop, observer, M), TREADLE_OK);
    CHECK_INT(host_post_block(host, token(4, PLAIN), loop, NULL, 0), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(*waiting, 3); /* each invalid; the post has used its token up; the handles are still owned */
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
    CHECK_INT(host_timer(host, token(5, PLAIN), FAR_AWAY, 0, &timer), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(host_descriptor(host, token(6, PLAIN), eventfd(0, 0), TREADLE_READABLE, 0, &descriptor), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, M), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
    CHECK_INT(*waiting, 4); /* the mode holds the descriptor source */
    CHECK_INT(treadle_loop_remove_descriptor(loop, descriptor, M), TREADLE_OK);
    CHECK_INT(*waiting, 5);
    CHECK_INT(take_retired(), 5);
    CHECK_INT(take_retired(), 0);
    for (int i = 1; i <= 6; i++) CHECK(retired[i] == (i != 4));
}

static void *queue_and_exit(void *info) {
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(host_post_block(host, token(1, PLAIN), loop, NULL, 0), TREADLE_OK);
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    *(treadle_loop *)info = loop;
    return NULL;
}
TEST(tokens_of_discarded_blocks_are_retired, "ABI-2 RL-8 RL-9 D-19") {
    treadle_loop gone;
    start_host();
    on_thread(queue_and_exit, &gone);
    CHECK_INT(take_retired(), 1);
    CHECK_INT(host_post_block(host, token(2, PLAIN), gone, NULL, 0), TREADLE_IGNORED);
    CHECK_INT(take_retired(), 1);
    CHECK(retired[1] && retired[2]);
    CHECK_INT(events, 0);
    CHECK_INT(treadle_loop_release(gone), TREADLE_OK);
}

TEST(a_token_is_not_retired_during_its_own_event, "ABI-2 TMR-7 OBJ-3") {
    treadle_loop loop = start_host();
    treadle_timer timer;
    treadle_source source = make_host_source(token(1, ENDS_ITSELF), 0);
    CHECK_INT(treadle_loop_add_source(loop, make_source(NULL, NULL), M), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(take_retired(), 1);
    CHECK(!treadle_source_is_valid(source));
    CHECK_INT(host_timer(host, token(2, ENDS_ITSELF), 1, 1000, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, M), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(take_retired(), 1);
    CHECK_INT(events, 2);
}

static uint64_t dropped(void) {
    uint64_t count = UINT64_MAX;
    CHECK_INT(treadle_host_get_dropped(host, &count), TREADLE_OK);
    return count;
}
static void *quiesce_for_ever(void *info) {
    CHECK_INT(treadle_host_quiesce(host, TREADLE_FOREVER), TREADLE_OK);
    return info;
}
TEST(quiesce_waits_for_events_in_flight, "THR-21 ABI-5") {
    struct worker worker;
    pthread_t quiescer;
    treadle_loop loop = start_host();
    treadle_source held = make_host_source(token(1, HOLDS), 0), own = make_host_source(token(2, PLAIN), 0), refused;
    worker_start(&worker);
    CHECK_INT(treadle_loop_add_source(worker.loop, held, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal_and_wake(held), TREADLE_OK);
    await(&holding);
    CHECK_INT(dropped(), 0);
    CHECK_ERROR(treadle_host_quiesce(host, 0), TREADLE_E_TIMEOUT, "");
    CHECK_ERROR(treadle_host_quiesce(host, MILLISECONDS(5)), TREADLE_E_TIMEOUT, "");
    /* The gate is closed although the wait failed: events are dropped, and runs go on. */
    CHECK_INT(treadle_loop_add_source(loop, own, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal(own), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(events, 1);
    CHECK_INT(dropped(), 1);
    refused = held;
    CHECK_ERROR(host_source(host, token(3, PLAIN), 0, 0, &refused), TREADLE_E_CLOSED, "");
    CHECK(refused == NULL);
    CHECK_ERROR(host_post_block(host, token(3, PLAIN), loop, NULL, 0), TREADLE_E_CLOSED, "");
    CHECK_INT(pthread_create(&quiescer, NULL, quiesce_for_ever, NULL), 0);
    sem_post(&go);
    CHECK_INT(pthread_join(quiescer, NULL), 0);
    CHECK_INT(treadle_host_quiesce(host, 0), TREADLE_OK);
    worker_stop(&worker);
    CHECK_INT(exited, 0); /* a quiet host is not called for the thread's exit either */
    CHECK_INT(take_retired(), 0);
    CHECK_INT(treadle_source_invalidate(held), TREADLE_OK);
    CHECK_INT(treadle_source_release(held), TREADLE_OK);
    CHECK_INT(take_retired(), 1); /* tokens are retired as before */
    CHECK_INT(entered, 1);
}

TEST(quiesce_inside_an_event_does_not_wait_for_itself, "THR-21 ABI-5") {
    treadle_loop loop = start_host();
    treadle_source source = make_host_source(token(1, QUIESCES), TREADLE_HOST_WANTS_CANCEL);
    treadle_timer timer;
    CHECK_INT(treadle_loop_add_source(loop, source, M), TREADLE_OK);
    CHECK_INT(host_timer(host, token(2, PLAIN), 1, 0, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(quiesced, TREADLE_OK);
    CHECK_INT(events, 1);
    CHECK_INT(dropped(), 1); /* the timer of the same pass */
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(dropped(), 2); /* the cancel */
}

/* Many threads with events all the time; once quiesce has returned, none comes any more. */
struct busy {
    struct worker worker;
    treadle_timer timer;
};
TEST(no_event_starts_once_quiesce_has_returned, "THR-21 ABI-5") {
    enum { THREADS = 4 };
    static struct busy busy[THREADS];
    start_host();
    for (int i = 0; i < THREADS; i++) {
        worker_start(&busy[i].worker);
        CHECK_INT(host_timer(host, token(i + 1, PLAIN), 1, 1000, &busy[i].timer), TREADLE_OK);
        CHECK_INT(treadle_loop_add_timer(busy[i].worker.loop, busy[i].timer, M), TREADLE_OK);
    }
    while (atomic_load(&events) < scaled(5000)) sched_yield();
    CHECK_INT(treadle_host_quiesce(host, TREADLE_FOREVER), TREADLE_OK);
    int last = atomic_load(&events);
    uint64_t before = dropped();
    while (dropped() < before + 100) sched_yield(); /* the timers go on */
    CHECK_INT(events, last);
    for (int i = 0; i < THREADS; i++) {
        CHECK_INT(treadle_timer_invalidate(busy[i].timer), TREADLE_OK);
        worker_stop(&busy[i].worker);
    }
    CHECK_INT(take_retired(), THREADS);
    CHECK(entered <= THREADS);
    CHECK_INT(exited, 0);
}

TEST_MAIN()
