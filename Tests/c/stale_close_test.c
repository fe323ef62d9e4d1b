/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * stale_close_test.c: a close reaches the item of its handle or nothing: never an item that has come to live in the
 * same place since. The same tests for each kind of item. */
#include "helpers.h"

static const char *const M = TREADLE_DEFAULT_MODE;

/* What belongs to an item. */
struct life {
    atomic_int released;
    atomic_int calls;
    bool holds; /* the callback waits for `go` */
    sem_t entered, go;
};
struct kind {
    const char *name;
    void *(*make)(struct life *);
    treadle_status (*add)(treadle_loop, void *handle);
    treadle_status (*close)(void *handle, int64_t timeout_ns);
    treadle_status (*invalidate)(void *handle);
    treadle_status (*release)(void *handle);
    bool (*is_valid)(void *handle);
};

static void released(void *info) {
    struct life *life = info;
    atomic_fetch_add(&life->released, 1);
}
static void called(struct life *life) {
    if (atomic_fetch_add(&life->calls, 1) || !life->holds) return;
    sem_post(&life->entered);
    await(&life->go);
}

static void perform(treadle_source source, void *info) { (void)source, called(info); }
static void *make_source_of(struct life *life) {
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform, .info = life, .release = released};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    return source;
}
static treadle_status add_source(treadle_loop loop, void *handle) {
    treadle_status status = treadle_loop_add_source(loop, handle, M);
    CHECK_INT(treadle_source_signal_and_wake(handle), TREADLE_OK);
    return status;
}
static void fire(treadle_timer timer, void *info) { (void)timer, called(info); }
static void *make_timer_of(struct life *life) {
    treadle_timer_context context = {
        .struct_size = sizeof context, .fire = fire, .info = life, .release = released, .fire_at = 1, .interval_ns = SECONDS(1000)};
    treadle_timer timer = NULL;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    return timer;
}
static treadle_status add_timer(treadle_loop loop, void *handle) { return treadle_loop_add_timer(loop, handle, M); }
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, called(info); }
static int watched = -1;
static void *make_descriptor_of(struct life *life) {
    if (watched < 0) watched = eventfd(1, EFD_NONBLOCK);
    treadle_descriptor_context context = {.struct_size = sizeof context, .ready = ready, .info = life, .release = released,
                                          .fd = watched, .events = TREADLE_READABLE};
    treadle_descriptor descriptor = NULL;
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    return descriptor;
}
static treadle_status add_descriptor(treadle_loop loop, void *handle) { return treadle_loop_add_descriptor(loop, handle, M); }
static void notify(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, called(info); }
static void *make_observer_of(struct life *life) {
    treadle_observer_context context = {
        .struct_size = sizeof context, .notify = notify, .info = life, .release = released, .activities = TREADLE_BEFORE_TIMERS};
    treadle_observer observer = NULL;
    CHECK_INT(treadle_observer_create(&context, &observer), TREADLE_OK);
    return observer;
}
static treadle_status add_observer(treadle_loop loop, void *handle) {
    treadle_status status = treadle_loop_add_observer(loop, handle, M);
    CHECK_INT(treadle_loop_wake(loop), TREADLE_OK);
    return status;
}

#define CALLS(kind)                                                                                                             \
    static treadle_status close_##kind(void *handle, int64_t timeout_ns) { return treadle_##kind##_close(handle, timeout_ns); } \
    static treadle_status invalidate_##kind(void *handle) { return treadle_##kind##_invalidate(handle); }                       \
    static treadle_status release_##kind(void *handle) { return treadle_##kind##_release(handle); }                             \
    static bool is_valid_##kind(void *handle) { return treadle_##kind##_is_valid(handle); }
CALLS(source) CALLS(timer) CALLS(descriptor) CALLS(observer)
#define KIND(one) \
    static const struct kind one##s = {#one, make_##one##_of, add_##one, close_##one, invalidate_##one, release_##one, is_valid_##one};
KIND(source) KIND(timer) KIND(descriptor) KIND(observer)
static const struct kind *const kinds[] = {&sources, &timers, &descriptors, &observers};

/* --- A close that comes late --------------------------------------------------------------------- */

enum { CLOSERS = 3 }; /* more than there are processors, often: one that is stopped anywhere goes on much later */
static const struct kind *closed_kind;
static _Atomic(void *) told; /* of an item that may be gone */
static atomic_bool is_over;
static atomic_long closes;
static void *close_what_was_told(void *unused) {
    while (!atomic_load(&is_over)) {
        void *handle = atomic_load_explicit(&told, memory_order_relaxed);
        if (!handle) continue;
        treadle_status status = closed_kind->close(handle, 0);
        CHECK(status == TREADLE_OK || status == TREADLE_E_STALE || status == TREADLE_E_TIMEOUT);
        atomic_fetch_add_explicit(&closes, 1, memory_order_relaxed);
    }
    return unused;
}
/* An item that nobody else was told of lives for a while, mostly where the last one lived. */
static void live_unharmed(const struct kind *kind) {
    struct life life = {0};
    void *handle = kind->make(&life);
    for (int i = 0; i < 8; i++) {
        CHECK(kind->is_valid(handle));
        CHECK_INT(life.released, 0);
    }
    CHECK_INT(kind->invalidate(handle), TREADLE_OK);
    CHECK_INT(kind->release(handle), TREADLE_OK);
    CHECK_INT(life.released, 1);
}
static void close_late(const struct kind *kind) {
    static struct life shared; /* of all that others were told of */
    pthread_t closers[CLOSERS];
    int rounds = scaled(300000);
    closed_kind = kind;
    for (int i = 0; i < CLOSERS; i++) CHECK_INT(pthread_create(&closers[i], NULL, close_what_was_told, NULL), 0);
    for (int i = 0; i < rounds; i++) {
        void *handle = kind->make(&shared);
        atomic_store(&told, handle);
        for (int looks = i % 64; looks > 0; looks--) (void)kind->is_valid(handle);
        CHECK_INT(kind->invalidate(handle), TREADLE_OK);
        CHECK_INT(kind->release(handle), TREADLE_OK);
        for (int lives = 1 + i % 3; lives > 0; lives--) live_unharmed(kind);
    }
    while (atomic_load(&closes) == 0) sched_yield();
    atomic_store(&is_over, true);
    for (int i = 0; i < CLOSERS; i++) CHECK_INT(pthread_join(closers[i], NULL), 0);
    CHECK_INT(shared.released, rounds);
}

TEST(a_late_close_of_a_source_harms_no_other, "OBJ-11 OBJ-5") { close_late(&sources); }
TEST(a_late_close_of_a_timer_harms_no_other, "OBJ-11 OBJ-5") { close_late(&timers); }
TEST(a_late_close_of_a_descriptor_source_harms_no_other, "OBJ-11 OBJ-5") { close_late(&descriptors); }
TEST(a_late_close_of_an_observer_harms_no_other, "OBJ-11 OBJ-5") { close_late(&observers); }

/* --- Items that end while they are being closed -------------------------------------------------- */

struct closing {
    const struct kind *kind;
    void *handle;
};
static void *close_for_ever(void *info) {
    struct closing *closing = info;
    CHECK_INT(closing->kind->close(closing->handle, TREADLE_FOREVER), TREADLE_OK);
    return NULL;
}
/* The item is in the worker's loop, its callback waits for `go`, and another thread waits in close for its end. */
static void begin_close(struct closing *closing, struct worker *worker, struct life *life, pthread_t *closer) {
    memset(life, 0, sizeof *life);
    life->holds = true;
    CHECK_INT(sem_init(&life->entered, 0, 0) | sem_init(&life->go, 0, 0), 0);
    closing->handle = closing->kind->make(life);
    CHECK_INT(closing->kind->add(worker->loop, closing->handle), TREADLE_OK);
    await(&life->entered);
    CHECK_INT(pthread_create(closer, NULL, close_for_ever, closing), 0);
    while (closing->kind->is_valid(closing->handle)) sched_yield();
}

TEST(a_close_gives_clients_no_reference_to_return, "OBJ-2 OBJ-11") {
    struct worker worker;
    worker_start(&worker);
    for (int i = 0; i < 4; i++) {
        const struct kind *kind = kinds[i];
        struct closing closing = {kind, NULL};
        struct life life, other = {0};
        pthread_t closer;
        begin_close(&closing, &worker, &life, &closer);
        CHECK_ERROR(kind->close(closing.handle, MILLISECONDS(1)), TREADLE_E_TIMEOUT, "");
        CHECK_INT(kind->release(closing.handle), TREADLE_OK);
        CHECK_ERROR(kind->release(closing.handle), TREADLE_E_STALE, "object");
        CHECK_INT(life.released, 0);
        sem_post(&life.go);
        CHECK_INT(pthread_join(closer, NULL), 0);
        CHECK_INT(life.released, 1);
        /* Where the item lived there is room for the next, which is nobody's but ours. */
        void *next = kind->make(&other);
        CHECK_ERROR(kind->close(closing.handle, 0), TREADLE_E_STALE, "object");
        CHECK(kind->is_valid(next));
        CHECK_INT(kind->release(next), TREADLE_OK);
        CHECK_INT(other.released, 1);
    }
    worker_stop(&worker);
}

TEST(a_close_ends_when_the_item_does, "OBJ-4 OBJ-9 OBJ-11") {
    struct worker worker;
    worker_start(&worker);
    for (int i = 0; i < scaled(400); i++) {
        const struct kind *kind = kinds[i % 4];
        struct closing closing = {kind, NULL};
        struct life life;
        pthread_t closer;
        begin_close(&closing, &worker, &life, &closer);
        /* The callback has the last reference but for that of the close, if it has one. */
        CHECK_INT(kind->release(closing.handle), TREADLE_OK);
        sem_post(&life.go);
        for (int lives = i % 5; lives > 0; lives--) live_unharmed(kind);
        CHECK_INT(pthread_join(closer, NULL), 0);
        CHECK_INT(life.released, 1);
        CHECK_INT(life.calls, 1);
    }
    worker_stop(&worker);
}

TEST_MAIN()
