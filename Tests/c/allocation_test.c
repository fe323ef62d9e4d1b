/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * allocation_test.c: what a busy loop does all the time costs no memory: a post, a signal, a timer that is moved, a
 * perform that is waited for, a pass. Once the queues have grown to what they had to hold, nothing is allocated and nothing is freed. */
#include "thread_jobs.h"

#define MODE TREADLE_DEFAULT_MODE
enum { WARM_UP = 200, COUNTED = 2000, MANY = 64 };

/* The program's own definitions take the place of the C library's, for Treadle too. A sanitizer has its own. */
static _Thread_local bool is_counting;
static _Thread_local long allocations;
#if !THREAD_SANITIZER && !ADDRESS_SANITIZER
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);
void *malloc(size_t size) { return allocations += is_counting, __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return allocations += is_counting, __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return allocations += is_counting, __libc_realloc(memory, size); }
void *memalign(size_t alignment, size_t size) { return allocations += is_counting, __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return allocations += is_counting, __libc_memalign(alignment, size); }
int posix_memalign(void **memory, size_t alignment, size_t size) {
    return allocations += is_counting, (*memory = __libc_memalign(alignment, size)) ? 0 : ENOMEM;
}
void free(void *memory) {
    if (memory) allocations += is_counting;
    __libc_free(memory);
}
#endif

static void start_counting(void) { allocations = 0, is_counting = true; }
static long stop_counting(void) { return is_counting = false, allocations; }

/* Does a thing often enough for every queue to grow, then counts what it costs. */
static void warm_up(void (*thing)(void)) {
    for (int i = 0; i < WARM_UP; i++) thing();
}
static void check_cost(void (*thing)(void)) {
    start_counting();
    for (int i = 0; i < COUNTED; i++) thing();
    CHECK_INT(stop_counting(), 0);
}
static void check_free_of_charge(void (*thing)(void)) {
    warm_up(thing);
    check_cost(thing);
}
static treadle_loop loop;
static void poll_once(void) { CHECK_INT(treadle_loop_run(loop, MODE, 0, 0), TREADLE_RUN_TIMED_OUT); }

static int calls;
static void count_post(void *info) { (void)info, calls++; }
static void count_perform(treadle_source source, void *info) { (void)source, (void)info, calls++; }
static void count_fire(treadle_timer timer, void *info) { (void)timer, (void)info, calls++; }
static void count_activity(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, (void)info, calls++; }

/* valgrind, too, has a malloc of its own. */
static bool allocations_are_counted(void) {
    const char *preloaded = getenv("LD_PRELOAD");
    return !THREAD_SANITIZER && !ADDRESS_SANITIZER && !(preloaded && strstr(preloaded, "vgpreload"));
}
TEST(the_counter_counts, "") {
    if (!allocations_are_counted()) return;
    start_counting();
    treadle_source source = make_source(count_perform, NULL);
    void *volatile memory = malloc(1);
    memory = realloc(memory, 100);
    free(memory);
    CHECK(stop_counting() >= 3);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

/* --- On the loop's own thread --------------------------------------------------------------------- */

static treadle_source sources[MANY];
static treadle_timer timers[MANY];
static void add_sources(int64_t order_of(int), const char *second_mode) {
    loop = treadle_loop_current();
    for (int i = 0; i < MANY; i++) {
        treadle_source_context context = {.struct_size = sizeof context, .perform = count_perform, .order = order_of(i)};
        CHECK_INT(treadle_source_create(&context, &sources[i]), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(loop, sources[i], MODE), TREADLE_OK);
        if (second_mode) CHECK_INT(treadle_loop_add_source(loop, sources[i], second_mode), TREADLE_OK);
    }
}
static void add_timers(int64_t interval_ns, int64_t tolerance_ns) {
    loop = treadle_loop_current();
    for (int i = 0; i < MANY; i++) {
        timers[i] = make_timer(count_fire, NULL, FAR_AWAY, interval_ns);
        if (tolerance_ns) CHECK_INT(treadle_timer_set_tolerance(timers[i], tolerance_ns), TREADLE_OK);
        CHECK_INT(treadle_loop_add_timer(loop, timers[i], MODE), TREADLE_OK);
    }
}
static int64_t none(int i) { return (void)i, 0; }
static int64_t descending(int i) { return MANY - i; }

static void post_many(void) {
    for (int i = 0; i < MANY; i++) CHECK_INT(treadle_loop_post(loop, count_post, NULL), TREADLE_OK);
    poll_once();
}
TEST(a_post_and_its_pass, "BLK-1 PASS-4") {
    loop = treadle_loop_current();
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(loop, keeper, MODE), TREADLE_OK);
    check_free_of_charge(post_many);
    CHECK_INT(calls, (WARM_UP + COUNTED) * MANY);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

/* Calls that a closure carries: the memory of those that are over serves the next ones. */
typedef void (*hop_fn)(int64_t, double, void *);
static treadle_status count_hop(treadle_call *call, void *info) { return (void)call, (void)info, calls++, TREADLE_OK; }
static treadle_closure make_hop(treadle_closure_fn handler, treadle_loop target, hop_fn *out_code) {
    treadle_closure_config config = {.struct_size = sizeof config, .signature = "vqd^v", .handler = handler,
                                     .delivery = TREADLE_DELIVERY_ASYNC, .loop = target};
    treadle_closure closure = NULL;
    CHECK_INT(treadle_closure_create(&config, &closure), TREADLE_OK);
    CHECK_INT(treadle_closure_get_code(closure, (void (**)(void))out_code), TREADLE_OK);
    return closure;
}
static hop_fn hop;
static void hop_many(void) {
    for (int i = 0; i < MANY; i++) hop(i, i, &calls);
    poll_once();
}
TEST(a_carried_call_and_its_pass, "PERF-4 PASS-5") {
    loop = treadle_loop_current();
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(loop, keeper, MODE), TREADLE_OK);
    treadle_closure closure = make_hop(count_hop, loop, &hop);
    check_free_of_charge(hop_many);
    CHECK_INT(calls, (WARM_UP + COUNTED) * MANY);
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

static void signal_many(void) {
    for (int i = 0; i < MANY; i++) CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK);
    poll_once();
}
static void check_signals(int64_t order_of(int), const char *second_mode) {
    add_sources(order_of, second_mode);
    check_free_of_charge(signal_many);
    CHECK_INT(calls, (WARM_UP + COUNTED) * MANY);
}
TEST(a_signal_and_its_pass, "SRC0-6 PASS-5") { check_signals(none, NULL); }
TEST(a_signal_of_a_source_that_has_an_order, "SRC0-7 PASS-5") { check_signals(descending, NULL); }
TEST(a_signal_of_a_source_in_two_modes, "SRC0-6 SRC0-7 PASS-5") {
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), keeper, "other"), TREADLE_OK);
    check_signals(none, "other");
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

static void move_timers(void) {
    static unsigned turn;
    for (int i = 0; i < MANY; i++) {
        turn = turn * 1664525 + 1013904223;
        int64_t date = treadle_time_now() + SECONDS(1000) + (int64_t)(turn >> 8) * 1000;
        CHECK_INT(treadle_timer_set_next_fire(timers[i], date), TREADLE_OK);
    }
    poll_once();
}
static void move_one_to_now(void) {
    static int next;
    CHECK_INT(treadle_timer_set_next_fire(timers[next++ % MANY], 1), TREADLE_OK);
    poll_once();
}
TEST(a_timer_that_is_moved, "TMR-17") {
    add_timers(SECONDS(1000), 0);
    check_free_of_charge(move_timers);
}
TEST(a_timer_with_a_tolerance_that_is_moved, "TMR-5 TMR-17") {
    add_timers(SECONDS(1000), MILLISECONDS(10));
    check_free_of_charge(move_timers);
}
TEST(a_timer_that_fires, "TMR-15 PASS-12") {
    add_timers(SECONDS(1000), 0);
    check_free_of_charge(move_one_to_now);
    CHECK_INT(calls, WARM_UP + COUNTED);
}

static treadle_descriptor watched;
static int descriptor_in_use;
static void count_ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)descriptor, (void)events, (void)info;
    calls++;
}
static void all_in_one(void) {
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK);
        CHECK_INT(treadle_loop_post(loop, count_post, NULL), TREADLE_OK);
    }
    move_one_to_now();
    poll_once();
    CHECK_INT(treadle_loop_run(loop, MODE, 1, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
}
static void run_inside(treadle_source source, void *info) {
    (void)source, (void)info;
    poll_once();
}
TEST(a_pass_with_everything, "PASS-1 PASS-14 OBS-3 RUN-12") {
    add_sources(none, NULL);
    add_timers(SECONDS(1000), 0);
    treadle_observer observer = make_observer(count_activity, NULL, TREADLE_ALL_ACTIVITIES);
    CHECK_INT(treadle_loop_add_observer(loop, observer, MODE), TREADLE_OK);
    descriptor_in_use = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC); /* always readable */
    watched = make_descriptor(count_ready, NULL, descriptor_in_use, TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_descriptor(loop, watched, MODE), TREADLE_OK);
    treadle_source nester = make_source(run_inside, NULL);
    CHECK_INT(treadle_loop_add_source(loop, nester, MODE), TREADLE_OK);
    check_free_of_charge(all_in_one);
    CHECK_INT(treadle_source_signal(nester), TREADLE_OK);
    poll_once(); /* the inner run has its own room from now on */
    start_counting();
    CHECK_INT(treadle_source_signal(nester), TREADLE_OK);
    poll_once();
    CHECK_INT(stop_counting(), 0);
}

/* --- From another thread, to a loop that sleeps now and then -------------------------------------- */

static sem_t reached;
static int left;
static long cost_of_the_loop;
static void begin_count(void *info) {
    (void)info;
    CHECK_INT(sem_post(&reached), 0);
    start_counting();
}
static void end_count(void *info) {
    (void)info;
    cost_of_the_loop = stop_counting();
    CHECK_INT(sem_post(&reached), 0);
}
static void reach(void) {
    if (--left == 0) CHECK_INT(sem_post(&reached), 0);
}
static void reach_by_post(void *info) { (void)info, reach(); }
static void reach_by_signal(treadle_source source, void *info) { (void)source, (void)info, reach(); }
static void reach_by_timer(treadle_timer timer, void *info) { (void)timer, (void)info, reach(); }
static struct server server;
static treadle_source remote_source;
static treadle_timer remote_timer;
static void post_remotely(void) {
    left = MANY;
    for (int i = 0; i < MANY; i++) CHECK_INT(treadle_loop_post(server.loop, reach_by_post, NULL), TREADLE_OK);
    await(&reached);
}
static void signal_remotely(void) {
    left = 1;
    CHECK_INT(treadle_source_signal_and_wake(remote_source), TREADLE_OK);
    CHECK_INT(treadle_loop_wake(server.loop), TREADLE_OK);
    await(&reached);
}
static void move_remotely(void) {
    left = 1;
    CHECK_INT(treadle_timer_set_next_fire(remote_timer, 1), TREADLE_OK);
    await(&reached);
}
static hop_fn remote_hop;
static treadle_status reach_by_hop(treadle_call *call, void *info) { return (void)call, reach_by_post(info), TREADLE_OK; }
static void hop_remotely(void) {
    left = MANY;
    for (int i = 0; i < MANY; i++) remote_hop(i, i, NULL);
    await(&reached);
}
/* The two queues of posts, and the closure's memory for calls, grow to what they will have to hold at most. */
static sem_t may_go_on;
static void hold_the_loop(void *info) { (void)info, await(&may_go_on); }
static void fill_the_queues(void) {
    for (int i = 0; i < 4; i++) {
        left = 4 * MANY;
        CHECK_INT(treadle_loop_post(server.loop, hold_the_loop, NULL), TREADLE_OK);
        for (int j = 0; j < 2 * MANY; j++) CHECK_INT(treadle_loop_post(server.loop, reach_by_post, NULL), TREADLE_OK);
        for (int j = 0; j < 2 * MANY; j++) remote_hop(j, j, NULL);
        CHECK_INT(sem_post(&may_go_on), 0);
        await(&reached);
    }
}
static void do_nothing(void *target, void *argument) { (void)target, (void)argument; }
static void perform_remotely(void) {
    treadle_request request = {.struct_size = sizeof request, .fn = do_nothing};
    CHECK_INT(perform_on(server.thread, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
}
static void (*const remote_things[])(void) = {post_remotely, signal_remotely, move_remotely, perform_remotely, hop_remotely};

TEST(the_same_from_another_thread, "BLK-1 SRC0-6 TMR-17 PERF-7 OBJ-6") {
    CHECK_INT(sem_init(&reached, 0, 0), 0);
    CHECK_INT(sem_init(&may_go_on, 0, 0), 0);
    server_start(&server);
    remote_source = make_source(reach_by_signal, NULL);
    remote_timer = make_timer(reach_by_timer, NULL, FAR_AWAY, SECONDS(100000));
    CHECK_INT(treadle_loop_add_source(server.loop, remote_source, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(server.loop, remote_timer, MODE), TREADLE_OK);
    treadle_closure closure = make_hop(reach_by_hop, server.loop, &remote_hop);
    for (size_t i = 0; i < sizeof remote_things / sizeof *remote_things; i++) {
        fill_the_queues();
        warm_up(remote_things[i]);
        CHECK_INT(treadle_loop_post(server.loop, begin_count, NULL), TREADLE_OK);
        await(&reached);
        check_cost(remote_things[i]);
        CHECK_INT(treadle_loop_post(server.loop, end_count, NULL), TREADLE_OK);
        await(&reached);
        CHECK_INT(cost_of_the_loop, 0);
    }
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    server_end(&server);
    CHECK_INT(treadle_source_release(remote_source), TREADLE_OK);
    CHECK_INT(treadle_timer_release(remote_timer), TREADLE_OK);
}
TEST_MAIN()
