/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * waits_test.c: each way to wait for another thread by each other way. Calls inside of calls, threads that wait at the same time, and threads
 * inside of callbacks, each of which ends what the other one is inside of. Who would wait for itself through others is refused at once, and
 * everybody else goes on. */
#include "waits.h"

/* --- Calls inside of calls -------------------------------------------------------------------------- */

/* Each call waits on another thread in each way, as far as WIDE calls; from there on in one, by chance. A thread that is in a call already
 * does another one if its innermost wait runs its loop, and the call mode admits it. */
enum { SERVERS = 4, WIDE = 4, DEEP = 10 };
static struct target targets[SERVERS];
static struct frame { int server; const struct way *way; } frames[DEEP];
static int depth;
static long calls, refused;
static uint64_t chance;

static int innermost_call_of(int server) {
    int frame = depth - 1;
    while (frame >= 0 && frames[frame].server != server) frame--;
    return frame;
}
static void take_step(const struct way *way, int server) {
    int frame = innermost_call_of(server);
    long before = calls;
    if (frame == depth - 1 || (frame < 0 && !way->is_called)) return;
    bool goes_on = frame < 0 || (way->is_admitted && frames[frame].way->runs);
    frames[depth - 1].way = way;
    frames[depth++].server = server;
    treadle_status status = way->wait(way, &targets[server]);
    depth--;
    refused += !goes_on;
    if (status != (goes_on ? TREADLE_OK : TREADLE_E_DEADLOCK) || (way->is_called && (calls > before) != goes_on)) {
        for (int i = 0; i < depth; i++) fprintf(stderr, "thread %d waits by %s, and ", frames[i].server, frames[i].way->name);
        check_failed(__FILE__, __LINE__, "is thread %d: %s", server, treadle_status_name(status));
    }
    if (status == TREADLE_E_DEADLOCK) {
        treadle_error_info error = {.struct_size = sizeof error};
        treadle_last_error(&error);
        CHECK(error.code == TREADLE_E_DEADLOCK && strstr(error.message, "waits for the calling one"));
    }
}
static void step(void) {
    int unused = 0;
    calls++;
    while (unused < SERVERS - 1 && innermost_call_of(unused) >= 0) unused++; /* the others are like it */
    if (depth == DEEP) return;
    if (depth >= WIDE) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        take_step(&ways[(chance >> 33) % WAYS], (int)((chance >> 40) % (unsigned)(unused + 1)));
        return;
    }
    for (int way = 0; way < WAYS; way++)
        for (int server = 0; server <= unused; server++) take_step(&ways[way], server);
}
TEST(a_call_waits_unless_it_would_wait_for_itself, "PERF-7 PERF-8 PERF-6 PERF-4 PERF-3 THR-17 MPORT-2 ABI-1") {
    struct server servers[SERVERS];
    called = step;
    for (int i = 0; i < SERVERS; i++) {
        server_start(&servers[i]);
        targets[i].thread = servers[i].thread, targets[i].loop = servers[i].loop;
        target_make(&targets[i], "never");
    }
    depth = 1;
    CHECK_INT(perform_there(ways, &targets[0]), TREADLE_OK);
    CHECK(calls > 1000 && refused > 1000);
    CHECK_INT(atomic_load(&releases_counted), atomic_load(&requests_made));
    for (int i = 0; i < SERVERS; i++) {
        target_end(&targets[i]);
        server_end(&servers[i]);
    }
}

/* --- Waits at the same time ------------------------------------------------------------------------- */

/* Each of a ring waits for the next one, whose part is queued. One of them is refused, unless one runs its loop and so does its part. */
enum { MOST = 5 };
struct member {
    struct target target;
    const struct way *way;
    struct member *next, *previous;
    treadle_status status;
};
static pthread_barrier_t all_are_there;
static struct gate wait_is_over; /* opened by each */
static void stop_running(void *loop) { CHECK_INT(treadle_loop_stop(loop), TREADLE_OK); }
static void *wait_in_ring(void *info) {
    struct member *member = info;
    member->target.loop = treadle_loop_current();
    target_make(&member->target, TREADLE_DEFAULT_MODE);
    if (member->previous->way != &start) pthread_barrier_wait(&all_are_there);
    member->status = member->way->wait(member->way, &member->next->target);
    if (!member->way->joins) CHECK_INT(treadle_loop_post(member->next->target.loop, stop_running, member->next->target.loop), TREADLE_OK);
    gate_open(&wait_is_over);
    if (member->previous->way == &start) CHECK_INT(treadle_thread_declare_ready(), TREADLE_OK);
    if (!member->previous->way->joins) /* until that does not wait any more */
        CHECK_INT(treadle_loop_run(member->target.loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_STOPPED);
    target_end(&member->target);
    return &member->target;
}
static void count_call(void) {}
static void form_ring(int size, const struct way *const its_ways[]) {
    struct member members[MOST] = {0};
    bool goes_on = false;
    int refusals = 0;
    called = count_call;
    gate_make(&wait_is_over);
    CHECK_INT(pthread_barrier_init(&all_are_there, NULL, (unsigned)size - (its_ways[0] == &start)), 0);
    for (int i = 0; i < size; i++) {
        members[i].way = its_ways[i];
        members[i].next = &members[(i + 1) % size], members[i].previous = &members[(i + size - 1) % size];
        goes_on = goes_on || (its_ways[i]->is_admitted && its_ways[(i + 1) % size]->runs);
        members[i].target.thread = thread_make(wait_in_ring, &members[i]);
    }
    for (int i = 0; i < size; i++)
        if (members[i].previous->way != &start) CHECK_INT(treadle_thread_start(members[i].target.thread), TREADLE_OK);
    for (int i = 0; i < size; i++) gate_pass(&wait_is_over);
    for (int i = 0; i < size; i++) {
        struct member *previous = members[i].previous;
        if (!previous->way->joins || previous->status != TREADLE_OK) CHECK_INT(treadle_thread_join(members[i].target.thread, TREADLE_FOREVER, NULL), TREADLE_OK);
        CHECK_INT(treadle_thread_release(members[i].target.thread), TREADLE_OK);
        refusals += previous->status == TREADLE_E_DEADLOCK;
        if ((previous->status != TREADLE_OK && previous->status != TREADLE_E_DEADLOCK) || (i == size - 1 && refusals != !goes_on)) {
            for (int j = 0; j < size; j++) fprintf(stderr, "%s: %s, ", its_ways[j]->name, treadle_status_name(members[j].status));
            check_failed(__FILE__, __LINE__, "%d of %d refused", refusals, size);
        }
    }
    pthread_barrier_destroy(&all_are_there);
}
TEST(of_a_ring_one_is_refused, "PERF-7 PERF-8 THR-17 THR-18 MPORT-2 ABI-1 OBJ-6") {
    const struct way *all[WAYS + 2] = {&start, &stop};
    for (int i = 0; i < WAYS; i++) all[i + 2] = &ways[i];
    for (int first = 0; first < WAYS + 2; first++)
        for (int second = 1; second < WAYS + 2; second++) form_ring(2, (const struct way *[]){all[first], all[second]});
    /* One of each sort: whether the part is admitted, who runs, what is waited for. */
    static const int sorts[] = {0, 2, 4, 5, 11, 12, 14};
    for (size_t i = 0; i < COUNT(sorts) * COUNT(sorts) * COUNT(sorts); i++) {
        int first = sorts[i % COUNT(sorts)], second = sorts[i / COUNT(sorts) % COUNT(sorts)], third = sorts[i / COUNT(sorts) / COUNT(sorts)];
        form_ring(3, (const struct way *[]){&ways[first], &ways[second], &ways[third]});
    }
    for (int size = 4; size <= MOST; size++)
        for (size_t i = 0; i < COUNT(sorts); i++) form_ring(size, (const struct way *[]){ways, &ways[sorts[i]], ways, &ways[sorts[i]], ways});
    CHECK_INT(atomic_load(&releases_counted), atomic_load(&requests_made));
}

/* --- Inside of callbacks ---------------------------------------------------------------------------- */

/* What a thread is inside of, and another one closes. */
struct side {
    const struct kind *kind;
    treadle_object object; /* of the callback */
    treadle_scope scope;   /* NULL: none */
    treadle_thread thread;
    any_code code;
    struct side *other;
    treadle_status (*wait)(struct side *other);
    treadle_status result;
    sem_t inside;
};
struct kind {
    const char *name;
    void (*enter)(struct side *); /* on the side's thread: calls be_inside in a callback */
    treadle_status (*close)(struct side *, int64_t timeout_ns);
};

static void be_inside(struct side *side) {
    sem_post(&side->inside);
    await(&side->other->inside);
    side->result = side->wait(side->other);
}
static void run_once(void) { treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, SECONDS(100), TREADLE_RUN_RETURN_AFTER_SOURCE); }
static treadle_status close_object(struct side *side, int64_t timeout_ns) { return treadle_close(side->object, timeout_ns); }
static treadle_status close_scope(struct side *side, int64_t timeout_ns) { return treadle_scope_close(side->scope, timeout_ns); }

static void perform(treadle_source source, void *info) { (void)source, be_inside(info); }
static void enter_source(struct side *side) {
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform, .info = side, .scope = side->scope};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    side->object = source;
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    run_once();
}
static void fire(treadle_timer timer, void *info) { (void)timer, be_inside(info); }
static void enter_timer(struct side *side) {
    treadle_timer_context context = {.struct_size = sizeof context, .fire = fire, .info = side, .fire_at = FAR_AWAY};
    treadle_timer timer = NULL;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    side->object = timer;
    CHECK_INT(treadle_timer_fire(timer), TREADLE_OK);
}
static treadle_status handle(treadle_call *call, void *info) { return (void)call, be_inside(info), TREADLE_OK; }
static void enter_closure(struct side *side) {
    treadle_closure_config config = {.struct_size = sizeof config, .signature = "v", .handler = handle, .info = side, .scope = side->scope};
    treadle_closure closure = NULL;
    any_code code = NULL;
    CHECK_INT(treadle_closure_create(&config, &closure), TREADLE_OK);
    side->object = closure;
    CHECK_INT(treadle_closure_get_code(closure, &code), TREADLE_OK);
    code();
}
static _Thread_local struct side *own_side;
static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    if (event->kind == TREADLE_EVENT_PERFORM) be_inside(own_side);
    return ~ticket;
}
static void enter_host(struct side *side) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    treadle_source source = NULL;
    treadle_host host = NULL;
    own_side = side;
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    treadle_source_context context = {.struct_size = sizeof context, .host = host, .token = 1};
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    side->object = host;
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    run_once();
    CHECK_INT(discard(source), TREADLE_OK);
}
static treadle_status quiesce(struct side *side, int64_t timeout_ns) { return treadle_host_quiesce(side->object, timeout_ns); }

static void make_scope(struct side *side) {
    treadle_scope_config config = {.struct_size = sizeof config};
    CHECK_INT(treadle_scope_create(&config, &side->scope), TREADLE_OK);
}
static void enter_item_in_scope(struct side *side) { make_scope(side), enter_source(side); }
static void enter_closure_in_scope(struct side *side) { make_scope(side), enter_closure(side); }
static void enter_scope_in_scope(struct side *side) {
    treadle_scope outer, inner;
    make_scope(side);
    outer = side->scope;
    CHECK_INT(treadle_scope_enter(outer), TREADLE_OK);
    make_scope(side);
    CHECK_INT(treadle_scope_leave(outer), TREADLE_OK);
    inner = side->scope;
    side->scope = outer;
    CHECK_INT(treadle_scope_enter(inner), TREADLE_OK);
    CHECK_INT(treadle_loop_post(treadle_loop_current(), (treadle_post_fn)be_inside, side), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(inner), TREADLE_OK);
    treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
}
static void enter_post(struct side *side) {
    make_scope(side);
    CHECK_INT(treadle_scope_enter(side->scope), TREADLE_OK);
    CHECK_INT(treadle_loop_post(treadle_loop_current(), (treadle_post_fn)be_inside, side), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(side->scope), TREADLE_OK);
    treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
}
static const struct kind kinds[] = {
    {"source", enter_source, close_object},
    {"timer that is fired by hand", enter_timer, close_object},
    {"closure", enter_closure, close_object},
    {"host", enter_host, quiesce},
    {"scope of a source", enter_item_in_scope, close_scope},
    {"scope of a closure", enter_closure_in_scope, close_scope},
    {"scope of a post", enter_post, close_scope},
    {"scope of a scope", enter_scope_in_scope, close_scope},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static treadle_status wait_for_end(struct side *other) { return other->kind->close(other, TREADLE_FOREVER); }
static void do_it(void *target, void *argument) { (void)target, (void)argument; }
static treadle_status wait_for_request(struct side *other) {
    treadle_request request = {.struct_size = sizeof request, .fn = do_it, .flags = TREADLE_PERFORM_WAIT};
    treadle_status status = treadle_perform(other->thread, &request);
    /* The other one was refused, and its thread has ended. */
    return status == TREADLE_E_CLOSED ? TREADLE_OK : status;
}
static treadle_status join_other(struct side *other) { return treadle_thread_join(other->thread, TREADLE_FOREVER, NULL); }
static treadle_status (*const waits[])(struct side *) = {wait_for_end, wait_for_request, join_other};

static void *live(void *info) {
    struct side *side = info;
    side->kind->enter(side);
    return NULL;
}
static void meet(const struct kind *one, const struct kind *two, treadle_status (*wait)(struct side *)) {
    struct side sides[2] = {{.kind = one, .wait = wait_for_end, .other = &sides[1], .result = 99}, {.kind = two, .wait = wait, .other = &sides[0], .result = 99}};
    for (int i = 0; i < 2; i++) sem_init(&sides[i].inside, 0, 0);
    for (int i = 0; i < 2; i++) CHECK_INT(create_thread(live, &sides[i], NULL, &sides[i].thread), TREADLE_OK);
    for (int i = 0; i < 2; i++) CHECK_INT(treadle_thread_start(sides[i].thread), TREADLE_OK);
    CHECK_INT(treadle_thread_join(sides[1].thread, TREADLE_FOREVER, NULL), TREADLE_OK);
    if (wait != join_other || sides[1].result != TREADLE_OK) CHECK_INT(treadle_thread_join(sides[0].thread, TREADLE_FOREVER, NULL), TREADLE_OK);
    if ((sides[0].result == TREADLE_E_DEADLOCK) + (sides[1].result == TREADLE_E_DEADLOCK) != 1 || sides[0].result + sides[1].result != TREADLE_E_DEADLOCK)
        check_failed(__FILE__, __LINE__, "a %s and a %s: %d and %d", one->name, two->name, sides[0].result, sides[1].result);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(sides[i].kind->close(&sides[i], TREADLE_FOREVER), TREADLE_OK);
        if (sides[i].scope) CHECK_INT(treadle_release(sides[i].scope), TREADLE_OK);
        if (!sides[i].scope && sides[i].kind->close == close_object) CHECK_INT(treadle_release(sides[i].object), TREADLE_OK);
        CHECK_INT(treadle_release(sides[i].thread), TREADLE_OK);
    }
}
TEST(two_that_wait_for_each_other_are_told, "PERF-7 SCOPE-3 OBJ-10") {
    for (int one = 0; one < KINDS; one++)
        for (int two = 0; two < KINDS; two++)
            for (size_t wait = 0; wait < sizeof waits / sizeof *waits; wait++)
                if (kinds[one].enter != enter_host || kinds[two].enter != enter_host) meet(&kinds[one], &kinds[two], waits[wait]);
}

TEST_MAIN()
