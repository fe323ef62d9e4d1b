/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * hops.c: calls that are carried to the thread of a loop: by a closure that is called like any function, by an
 * invocation, and, as the floor, by hand. Both threads are bound to one processor, or (names that end with _2) to one
 * each. */
#include "byhand.h"

enum { WARM_UP = 500, WAITED = 20000, BATCH = 500, BATCHES = 200 };

/* The thread that the calls are carried to. */
static struct {
    pthread_t thread;
    sem_t is_ready, may_end;
    enum way way;
    int processor;
    treadle_loop loop;
    struct hand_loop by_hand;
} host;

/* What the calls do there. With a batch, its last call tells. */
static size_t batch_left;
static sem_t batch_done;
static int64_t handle_five(void *object, int64_t count, double weight, int32_t index, void *info) {
    int64_t result = five(object, count, weight, index, info);
    if (batch_left != 0 && --batch_left == 0) sem_post(&batch_done);
    return result;
}
static treadle_status handle(treadle_call *call, void *info) {
    const void *const *values = call->arguments;
    (void)info;
    *(int64_t *)call->result =
        handle_five(*(void *const *)values[0], *(const int64_t *)values[1], *(const double *)values[2],
                    *(const int32_t *)values[3], *(void *const *)values[4]);
    return TREADLE_OK;
}

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0 && errno == EINTR) {}
}

static void run_treadle(void) {
    treadle_source keeper; /* a run ends when nothing is left to wait for */
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    check(treadle_source_create(&context, &keeper));
    check(treadle_loop_add_source(host.loop, keeper, TREADLE_DEFAULT_MODE));
    live_in(host.loop);
    sem_post(&host.is_ready);
    check(treadle_loop_run_default(host.loop));
    check(treadle_source_invalidate(keeper));
    check(treadle_source_release(keeper));
}
static void *host_main(void *info) {
    bind_thread(host.processor);
    if (host.way == BY_HAND) {
        hand_make(&host.by_hand);
        sem_post(&host.is_ready);
        hand_run(&host.by_hand, handle_five);
    } else {
        host.loop = treadle_loop_current();
        run_treadle();
    }
    wait_for(&host.may_end); /* whoever stopped the loop may still be in that call */
    if (host.way == BY_HAND) hand_free(&host.by_hand);
    return info;
}

static void host_start(enum way way, int processor) {
    host.way = way;
    host.processor = processor;
    sem_init(&host.is_ready, 0, 0);
    sem_init(&host.may_end, 0, 0);
    sem_init(&batch_done, 0, 0);
    called = checked = 0;
    demand(pthread_create(&host.thread, NULL, host_main, NULL) == 0, "a thread can be made");
    wait_for(&host.is_ready);
    bind_thread(first_processor);
}
static void stop_treadle(void *loop) { check(treadle_loop_stop(loop)); }
static void host_stop(uint64_t calls) {
    if (host.way == BY_HAND) hand_stop(&host.by_hand);
    else check(treadle_loop_post(host.loop, stop_treadle, host.loop));
    sem_post(&host.may_end);
    pthread_join(host.thread, NULL);
    demand(called == calls && checked == calls, "each call arrives once, with its arguments");
}

static treadle_closure make_closure(uint32_t delivery, five_fn **code) {
    treadle_closure_config config = TREADLE_INIT(treadle_closure_config);
    treadle_closure closure;
    void (*any)(void);
    config.signature = FIVE_SIGNATURE;
    config.handler = handle;
    config.delivery = delivery;
    config.loop = host.loop;
    check(treadle_closure_create(&config, &closure));
    check(treadle_closure_get_code(closure, &any));
    *code = (five_fn *)any;
    return closure;
}
static int64_t call(five_fn *code) {
    return code(arguments.object, arguments.count, arguments.weight, arguments.index, arguments.info);
}

/* Waited calls, one after the other; their rate. */
static void make_waited(const char *name, int64_t (*make)(void *info), void *info) {
    size_t count = amount(WAITED);
    for (size_t i = 0; i < WARM_UP; i++) demand(make(info) == FIVE_RESULT, "each call has the right result");
    uint64_t begun = clock_ns();
    for (size_t i = 0; i < count; i++) demand(make(info) == FIVE_RESULT, "each call has the right result");
    uint64_t took = clock_ns() - begun;
    tell(name, (double)count * 1e6 / (double)took, "k/s");
}
static int64_t make_by_hand(void *loop) { return hand_call(loop, &arguments); }
static int64_t make_by_closure(void *code) { return call(*(five_fn **)code); }
static int64_t make_by_invocation(void *info) {
    int64_t result = 0;
    treadle_invocation_options options = TREADLE_INIT(treadle_invocation_options);
    options.loop = host.loop;
    options.wait = TREADLE_WAIT_BLOCK;
    check(treadle_invocation_perform(info, &options));
    check(treadle_invocation_get_result(info, &result, sizeof result));
    return result;
}

static void hop(const char *name, enum way way, int processor) {
    host_start(way, processor);
    if (way == BY_HAND) {
        make_waited(name, make_by_hand, &host.by_hand);
    } else {
        five_fn *code;
        treadle_closure closure = make_closure(TREADLE_DELIVERY_SYNC, &code);
        make_waited(name, make_by_closure, &code);
        check(treadle_closure_release(closure));
    }
    host_stop(WARM_UP + amount(WAITED));
}
static void hop_sync(const char *name, enum way way) { hop(name, way, first_processor); }
static void hop_sync_2(const char *name, enum way way) { hop(name, way, second_processor); }

static treadle_invocation make_invocation(void) {
    treadle_invocation_config config = TREADLE_INIT(treadle_invocation_config);
    treadle_invocation invocation;
    config.code = (void (*)(void))handle_five;
    config.signature = FIVE_SIGNATURE;
    check(treadle_invocation_create(&config, &invocation));
    check(treadle_invocation_set_argument(invocation, 0, &arguments.object, sizeof arguments.object));
    check(treadle_invocation_set_argument(invocation, 1, &arguments.count, sizeof arguments.count));
    check(treadle_invocation_set_argument(invocation, 2, &arguments.weight, sizeof arguments.weight));
    check(treadle_invocation_set_argument(invocation, 3, &arguments.index, sizeof arguments.index));
    check(treadle_invocation_set_argument(invocation, 4, &arguments.info, sizeof arguments.info));
    return invocation;
}
static void invoke(const char *name, enum way way, int processor) {
    host_start(way, processor);
    if (way == BY_HAND) {
        make_waited(name, make_by_hand, &host.by_hand);
    } else {
        treadle_invocation invocation = make_invocation();
        make_waited(name, make_by_invocation, invocation);
        check(treadle_invocation_release(invocation));
    }
    host_stop(WARM_UP + amount(WAITED));
}
static void invoke_wait(const char *name, enum way way) { invoke(name, way, first_processor); }
static void invoke_wait_2(const char *name, enum way way) { invoke(name, way, second_processor); }

/* Batches of calls that nobody waits for: what one costs the caller, and what it costs until all are handled. */
static void send(const char *name, enum way way, int processor) {
    uint64_t calling = 0, all = 0;
    size_t batches = amount(BATCHES);
    treadle_closure closure = NULL;
    five_fn *code = NULL;
    host_start(way, processor);
    if (way != BY_HAND) closure = make_closure(TREADLE_DELIVERY_ASYNC, &code);
    for (size_t i = 0; i <= batches; i++) {
        batch_left = BATCH; /* the first batch warms up */
        uint64_t begun = clock_ns();
        for (int each = 0; each < BATCH; each++) {
            if (way == BY_HAND) hand_post(&host.by_hand, &arguments);
            else demand(call(code) == 0, "the caller has the default result");
        }
        uint64_t called_all = clock_ns();
        wait_for(&batch_done);
        if (i == 0) continue;
        calling += called_all - begun;
        all += clock_ns() - begun;
    }
    if (closure) check(treadle_closure_release(closure));
    host_stop((batches + 1) * BATCH);
    tell_part(name, "", (double)calling / (double)(batches * BATCH), "ns");
    tell_part(name, "_handled", (double)all / (double)(batches * BATCH), "ns");
}
static void hop_async(const char *name, enum way way) { send(name, way, first_processor); }
static void hop_async_2(const char *name, enum way way) { send(name, way, second_processor); }

enum { BOTH = WAY(BY_TREADLE) | WAY(BY_HAND) };
const struct workload hop_workloads[] = {
    {"hop_sync", hop_sync, BOTH, false},       {"hop_sync_2", hop_sync_2, BOTH, true},
    {"invoke_wait", invoke_wait, BOTH, false}, {"invoke_wait_2", invoke_wait_2, BOTH, true},
    {"hop_async", hop_async, BOTH, false},     {"hop_async_2", hop_async_2, BOTH, true},
    {NULL, NULL, 0, false},
};
