/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * close_test.c: closing an item: it is invalid at once, and when close returns, no callback of it runs
 * or will run on another thread. The same tests for each kind of item. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;

/* An item of any kind, whose callback is called over and over while it is in a running loop. */
struct item {
    const struct kind *kind;
    void *handle;
    treadle_loop loop;
    int pipe[2];
    bool holds; /* the callback waits for `go` */
    bool nests; /* the callback runs the loop once, in another mode */
    void (*queues)(struct item *); /* the callback, the first time, gives its loop something else to do */
    atomic_int running, calls;
    atomic_bool gone; /* nobody may call any more */
    sem_t entered, go;
    treadle_status own_close; /* what a close from inside the callback returned */
    bool closes_itself;
};
struct kind {
    const char *name;
    void (*make)(struct item *);
    treadle_status (*add)(treadle_loop, struct item *);
    treadle_status (*close)(void *handle, int64_t timeout_ns);
    bool (*is_valid)(void *handle);
    treadle_status (*release)(void *handle);
};

static void called(struct item *item) {
    CHECK(!atomic_load(&item->gone));
    atomic_fetch_add(&item->running, 1);
    atomic_fetch_add(&item->calls, 1);
    if (item->closes_itself) item->own_close = item->kind->close(item->handle, TREADLE_FOREVER);
    if (item->nests) CHECK_INT(poll_mode("nested"), TREADLE_RUN_TIMED_OUT);
    if (item->queues && item->calls == 1) item->queues(item);
    if (item->holds) {
        sem_post(&item->entered);
        await(&item->go);
    }
    atomic_fetch_sub(&item->running, 1);
}

static void perform(treadle_source source, void *info) {
    treadle_source_signal(source); /* again and again; ignored once it is invalid */
    called(info);
}
static void make_source_item(struct item *item) {
    item->handle = make_source(perform, item);
    treadle_source_signal(item->handle);
}
static treadle_status add_source_item(treadle_loop loop, struct item *item) {
    return treadle_loop_add_source(loop, item->handle, M);
}
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)descriptor, (void)events;
    called(info);
}
static void make_descriptor_item(struct item *item) {
    CHECK_INT(pipe(item->pipe), 0);
    item->handle = make_descriptor(ready, item, item->pipe[1], TREADLE_WRITABLE);
}
static treadle_status add_descriptor_item(treadle_loop loop, struct item *item) {
    return treadle_loop_add_descriptor(loop, item->handle, M);
}
static void fire(treadle_timer timer, void *info) {
    (void)timer;
    called(info);
}
static void make_timer_item(struct item *item) { item->handle = make_timer(fire, item, 1, 1000); }
static treadle_status add_timer_item(treadle_loop loop, struct item *item) { return treadle_loop_add_timer(loop, item->handle, M); }
static void notify(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity;
    treadle_loop_wake(treadle_loop_current()); /* the next pass follows */
    called(info);
}
static void make_observer_item(struct item *item) { item->handle = make_observer(notify, item, TREADLE_BEFORE_TIMERS); }
static treadle_status add_observer_item(treadle_loop loop, struct item *item) {
    return treadle_loop_add_observer(loop, item->handle, M);
}

#define CALLS(kind)                                                                                              \
    static treadle_status close_##kind(void *handle, int64_t timeout_ns) { return treadle_##kind##_close(handle, timeout_ns); } \
    static bool is_valid_##kind(void *handle) { return treadle_##kind##_is_valid(handle); }                       \
    static treadle_status release_##kind(void *handle) { return treadle_##kind##_release(handle); }
CALLS(source) CALLS(descriptor) CALLS(timer) CALLS(observer)
#define KIND(kind) {#kind, make_##kind##_item, add_##kind##_item, close_##kind, is_valid_##kind, release_##kind}
static const struct kind kinds[] = {KIND(source), KIND(descriptor), KIND(timer), KIND(observer)};

static void make(struct item *item, const struct kind *kind) {
    memset(item, 0, sizeof *item);
    item->kind = kind;
    sem_init(&item->entered, 0, 0);
    sem_init(&item->go, 0, 0);
    kind->make(item);
}
static void make_in(struct item *item, const struct kind *kind, treadle_loop loop) {
    make(item, kind);
    CHECK_INT(kind->add(loop, item), TREADLE_OK);
    treadle_loop_wake(loop);
}

TEST(close_of_an_idle_item, "OBJ-5 OBJ-9") {
    treadle_loop loop = treadle_loop_current();
    struct item item;
    for (const struct kind *kind = kinds; kind < kinds + 4; kind++) {
        CHECK_INT(treadle_loop_add_source(loop, make_source(NULL, NULL), M), TREADLE_OK);
        make_in(&item, kind, loop);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(item.calls, 1);
        CHECK(kind->is_valid(item.handle));
        CHECK_INT(kind->close(item.handle, 0), TREADLE_OK);
        CHECK(!kind->is_valid(item.handle));
        CHECK_INT(kind->close(item.handle, TREADLE_FOREVER), TREADLE_OK); /* nothing left to do */
        CHECK_INT(kind->close(item.handle, -1), TREADLE_OK);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(item.calls, 1);
        CHECK_INT(kind->release(item.handle), TREADLE_OK);
        CHECK_ERROR(kind->close(item.handle, 0), TREADLE_E_STALE, "object");
        CHECK_ERROR(kind->close(NULL, 0), TREADLE_E_ARG, "object");
        CHECK_ERROR(kind->close(loop, 0), TREADLE_E_KIND, "object");
    }
}

TEST(close_in_the_callback_would_deadlock, "OBJ-9") {
    for (const struct kind *kind = kinds; kind < kinds + 4; kind++) {
        struct item item;
        make_in(&item, kind, treadle_loop_current());
        CHECK_INT(treadle_loop_add_source(treadle_loop_current(), make_source(NULL, NULL), M), TREADLE_OK);
        item.closes_itself = true;
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(item.own_close, TREADLE_E_DEADLOCK);
        CHECK(!kind->is_valid(item.handle)); /* ended all the same */
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(item.calls, 1);
        CHECK_INT(kind->close(item.handle, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(kind->release(item.handle), TREADLE_OK);
    }
}

static void close_outer(treadle_timer timer, void *info) {
    struct item *item = info;
    (void)timer;
    item->own_close = item->kind->close(item->handle, TREADLE_FOREVER);
}
TEST(close_in_a_run_nested_in_the_callback_would_deadlock, "OBJ-9") {
    for (const struct kind *kind = kinds; kind < kinds + 4; kind++) {
        struct item item;
        make_in(&item, kind, treadle_loop_current());
        CHECK_INT(treadle_loop_add_source(treadle_loop_current(), make_source(NULL, NULL), M), TREADLE_OK);
        item.nests = true;
        treadle_timer timer = make_timer(close_outer, &item, 1, 0);
        CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, "nested"), TREADLE_OK);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(item.own_close, TREADLE_E_DEADLOCK);
        CHECK(!kind->is_valid(item.handle));
        CHECK_INT(kind->release(item.handle), TREADLE_OK);
    }
}

static void *close_for_ever(void *info) {
    struct item *item = info;
    CHECK_INT(item->kind->close(item->handle, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(item->running, 0);
    return NULL;
}
TEST(close_waits_for_a_callback_on_another_thread, "OBJ-9") {
    for (const struct kind *kind = kinds; kind < kinds + 4; kind++) {
        struct worker worker;
        struct item item;
        pthread_t closers[3];
        worker_start(&worker);
        make(&item, kind);
        item.holds = true;
        CHECK_INT(kind->add(worker.loop, &item), TREADLE_OK);
        treadle_loop_wake(worker.loop);
        await(&item.entered);
        CHECK_ERROR(kind->close(item.handle, 0), TREADLE_E_TIMEOUT, "");
        CHECK(!kind->is_valid(item.handle));
        CHECK_ERROR(kind->close(item.handle, MILLISECONDS(5)), TREADLE_E_TIMEOUT, "");
        CHECK_INT(item.running, 1);
        for (int i = 0; i < 3; i++) CHECK_INT(pthread_create(&closers[i], NULL, close_for_ever, &item), 0);
        sched_yield();
        sem_post(&item.go);
        for (int i = 0; i < 3; i++) CHECK_INT(pthread_join(closers[i], NULL), 0);
        CHECK_INT(item.calls, 1);
        worker_stop(&worker);
        CHECK_INT(kind->release(item.handle), TREADLE_OK);
    }
}

TEST(close_waits_until_the_callback_is_over, "OBJ-9") {
    for (const struct kind *kind = kinds; kind < kinds + 4; kind++) {
        struct worker worker;
        struct item item;
        pthread_t closer;
        worker_start(&worker);
        make(&item, kind);
        item.holds = true;
        CHECK_INT(kind->add(worker.loop, &item), TREADLE_OK);
        treadle_loop_wake(worker.loop);
        await(&item.entered);
        CHECK_INT(pthread_create(&closer, NULL, close_for_ever, &item), 0);
        while (kind->is_valid(item.handle)) sched_yield(); /* the close has begun, and waits */
        sem_post(&item.go);
        CHECK_INT(pthread_join(closer, NULL), 0);
        worker_stop(&worker);
        CHECK_INT(kind->release(item.handle), TREADLE_OK);
    }
}

TEST(nothing_is_called_once_close_has_returned, "OBJ-9 OBJ-3") {
    struct worker worker;
    worker_start(&worker);
    for (int i = 0; i < scaled(2000); i++) {
        const struct kind *kind = &kinds[i % 4];
        struct item *item = calloc(1, sizeof *item);
        make_in(item, kind, worker.loop);
        for (int yields = i / 4 % 5; yields > 0 && atomic_load(&item->calls) == 0; yields--) sched_yield();
        CHECK_INT(kind->close(item->handle, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(item->running, 0);
        atomic_store(&item->gone, true);
        CHECK_INT(kind->release(item->handle), TREADLE_OK);
        if (item->pipe[1]) close(item->pipe[0]), close(item->pipe[1]);
        memset(item, 0xFF, sizeof *item); /* `gone` */
        free(item);
    }
    worker_stop(&worker);
}

static void hold_loop(void *info) {
    struct item *item = info;
    sem_post(&item->entered);
    await(&item->go);
}
static void hold_thread(void *info, void *argument) { (void)argument, hold_loop(info); }
static void post_a_hold(struct item *item) { CHECK_INT(treadle_loop_post(treadle_loop_current(), hold_loop, item), TREADLE_OK); }
static void *perform_a_hold(void *item) {
    treadle_request request = {.struct_size = sizeof request, .fn = hold_thread, .target = item};
    CHECK_INT(treadle_perform(((struct item *)item)->loop, &request), TREADLE_OK);
    return NULL;
}
static void have_a_hold_performed(struct item *item) {
    pthread_t other;
    item->loop = treadle_loop_current();
    CHECK_INT(pthread_create(&other, NULL, perform_a_hold, item), 0);
    CHECK_INT(pthread_join(other, NULL), 0);
}
TEST(close_does_not_wait_for_what_the_loop_does_next, "OBJ-9") {
    static void (*const queues[])(struct item *) = {post_a_hold, have_a_hold_performed};
    for (int i = 0; i < 2; i++) {
        for (const struct kind *kind = kinds; kind < kinds + 4; kind++) {
            struct worker worker;
            struct item item;
            worker_start(&worker);
            make(&item, kind);
            item.queues = queues[i];
            CHECK_INT(kind->add(worker.loop, &item), TREADLE_OK);
            treadle_loop_wake(worker.loop);
            await(&item.entered);
            CHECK_INT(kind->close(item.handle, 0), TREADLE_OK); /* its callback has returned */
            sem_post(&item.go);
            worker_stop(&worker);
            CHECK_INT(kind->release(item.handle), TREADLE_OK);
        }
    }
}

static void hold_worker(treadle_source source, void *info) {
    struct item *item = info;
    (void)source;
    atomic_fetch_add(&item->calls, 1);
    if (treadle_loop_is_current(treadle_loop_main())) {
        item->own_close = treadle_source_close(item->handle, TREADLE_FOREVER);
        return;
    }
    sem_post(&item->entered);
    await(&item->go);
}
TEST(close_in_one_of_two_running_callbacks_does_not_wait, "OBJ-9 SRC0-11") {
    struct worker worker;
    struct item item = {0};
    worker_start(&worker);
    sem_init(&item.entered, 0, 0);
    sem_init(&item.go, 0, 0);
    item.handle = make_source(hold_worker, &item);
    CHECK_INT(treadle_loop_add_source(worker.loop, item.handle, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal_and_wake(item.handle), TREADLE_OK);
    await(&item.entered);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), item.handle, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal(item.handle), TREADLE_OK);
    poll_mode(M);
    CHECK_INT(item.calls, 2);
    CHECK_INT(item.own_close, TREADLE_E_DEADLOCK); /* although another thread runs one too */
    CHECK_ERROR(treadle_source_close(item.handle, MILLISECONDS(2)), TREADLE_E_TIMEOUT, "");
    sem_post(&item.go);
    CHECK_INT(treadle_source_close(item.handle, TREADLE_FOREVER), TREADLE_OK);
    worker_stop(&worker);
}

static atomic_int schedules_running;
static sem_t schedule_entered, schedule_go;
static void hold_schedule(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop, (void)mode, (void)info;
    atomic_fetch_add(&schedules_running, 1);
    sem_post(&schedule_entered);
    await(&schedule_go);
    atomic_fetch_sub(&schedules_running, 1);
}
static void *add_to_own_loop(void *source) {
    treadle_loop_add_source(treadle_loop_current(), source, M);
    return NULL;
}
TEST(close_waits_for_schedule_callbacks_too, "OBJ-9 SRC0-3") {
    treadle_source_context context = {.struct_size = sizeof context, .schedule = hold_schedule};
    treadle_source source;
    pthread_t adder;
    sem_init(&schedule_entered, 0, 0);
    sem_init(&schedule_go, 0, 0);
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(pthread_create(&adder, NULL, add_to_own_loop, source), 0);
    await(&schedule_entered);
    CHECK_ERROR(treadle_source_close(source, MILLISECONDS(2)), TREADLE_E_TIMEOUT, "");
    sem_post(&schedule_go);
    CHECK_INT(treadle_source_close(source, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(schedules_running, 0);
    CHECK_INT(pthread_join(adder, NULL), 0);
}

TEST_MAIN()
