/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * storm_test.c: seven threads do everything to everything, three of them loops that come and go, by return or inside of a
 * callback. They find the items, loops and threads in tables that the others write meanwhile, and so use handles all the
 * time whose objects are gone, and release more than they own. At the end all that was made has been given back, once;
 * nothing was called after that; and items that nobody was told of were harmed by nobody.
 *
 * TREADLE_STORM_SECONDS sets how long it lasts, TREADLE_TEST_SEED what each thread does, though not when. */
#include "storm.h"

enum { LOOPS = 3, ACTORS = 4, SLOTS = 12, DEEPEST = 3 };
static _Atomic(void *) items[KINDS][SLOTS];
static _Atomic(treadle_loop) loops[LOOPS];
static _Atomic(treadle_thread) threads[LOOPS];
static atomic_bool is_over;
static atomic_long jobs_made, jobs_ended, loops_lived;
static _Thread_local int depth;
static _Thread_local bool is_actor;
static _Thread_local bool may_end; /* a callback may end the thread: nothing of the test's is on its stack */
static atomic_long loops_left; /* those that have ended in a callback */

/* Statuses that a call may have besides success and those of a handle that is stale. */
#define ALSO(status) (1u << -(status))
static void expect(treadle_status status, unsigned others) {
    if (status == TREADLE_OK || status == TREADLE_IGNORED || status == TREADLE_E_STALE) return;
    if (status > 0 || status < -31 || !(others & ALSO(status))) check_failed(__FILE__, __LINE__, "status %d is none of those allowed", status);
}

static void act(void);
static void act_inside(unsigned times) {
    if (depth >= DEEPEST) return;
    depth++;
    while (times--) act();
    depth--;
}
static void run_inside(void) {
    if (depth >= DEEPEST || is_actor) return;
    depth++;
    CHECK(treadle_loop_run(treadle_loop_current(), modes[chance(3)], chance(100000), chance(2)) > 0);
    depth--;
}

/* --- Items ---------------------------------------------------------------------------------------- */

static void end_item(int kind, void *item) {
    if (!item) return;
    /* Ports that lie in each other's queues keep each other until one of them is invalid. */
    if (kind == PORT || chance(32)) expect(kinds[kind].invalidate(item), 0);
    expect(kinds[kind].release(item), 0); /* stale if somebody has returned our reference */
}
static void renew(int kind, int slot) {
    struct life *life = malloc(sizeof *life);
    CHECK(life);
    end_item(kind, atomic_exchange(&items[kind][slot], create(kind, life, false)));
}
/* An item that nobody else is told of, where others have lived. */
static void live_unharmed(int kind) {
    struct life life;
    void *item = create(kind, &life, true);
    if (chance(4) == 0 && depth < DEEPEST) act_inside(2);
    for (int i = 0; i < 4; i++) CHECK(kinds[kind].is_valid(item));
    must_live(&life);
    CHECK_INT(life.references, 1);
    if (chance(2)) CHECK_INT(kinds[kind].invalidate(item), TREADLE_OK);
    else CHECK_INT(kinds[kind].close(item, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(kinds[kind].release(item), TREADLE_OK);
    CHECK_INT(life.magic, ENDED);
}
/* With ports that others have made and end in it, and with a port of its own that ends with it. */
static void send_to(treadle_port port) {
    static const char bytes[200];
    treadle_component components[4] = {{.kind = TREADLE_COMPONENT_BYTES, .bytes = bytes}, {.kind = TREADLE_COMPONENT_DESCRIPTOR, .descriptor = fds[0]}};
    treadle_message_content content = {.struct_size = sizeof content, .id = chance(100000), .components = components, .component_count = 1 + chance(4)};
    const unsigned others = ALSO(TREADLE_E_CLOSED) | ALSO(TREADLE_E_TIMEOUT) | ALSO(TREADLE_E_DEADLOCK);
    components[0].length = content.id % 200;
    for (int i = 2; i < 4; i++) {
        components[i].kind = TREADLE_COMPONENT_PORT;
        components[i].port = atomic_load(&items[PORT][chance(SLOTS)]);
        if (!components[i].port) components[i].port = port;
    }
    if (chance(2)) content.reply_port = atomic_load(&items[PORT][chance(SLOTS)]);
    if (chance(3) == 0) expect(treadle_port_send_bytes(port, content.id, bytes, content.id % 200, chance(2) ? 0 : chance(200000)), others);
    else expect(treadle_port_send(port, &content, chance(2) ? 0 : chance(200000)), others);
}
static void do_what_its_kind_can(int kind, void *item) {
    int64_t number;
    uint32_t events;
    uint64_t one = 1;
    size_t count, capacity;
    switch (kind * 4 + (int)chance(4)) {
    case SOURCE * 4: (void)treadle_source_is_signalled(item); break;
    case SOURCE * 4 + 1: expect(treadle_source_signal(item), 0); break;
    case SOURCE * 4 + 2:
    case SOURCE * 4 + 3: expect(treadle_source_signal_and_wake(item), 0); break;
    case TIMER * 4: expect(treadle_timer_set_next_fire(item, any_date()), 0); break;
    case TIMER * 4 + 1: expect(treadle_timer_set_tolerance(item, chance(300000)), 0); break;
    case TIMER * 4 + 2: expect(treadle_timer_get_next_fire(item, &number), 0); break;
    case TIMER * 4 + 3: expect(depth < DEEPEST ? treadle_timer_fire(item) : treadle_timer_get_tolerance(item, &number), 0); break;
    case DESCRIPTOR * 4:
    case DESCRIPTOR * 4 + 1: expect(treadle_descriptor_set_events(item, chance(4)), ALSO(TREADLE_E_STATE)); break;
    case DESCRIPTOR * 4 + 2: expect(treadle_descriptor_get_events(item, &events), 0); break;
    case DESCRIPTOR * 4 + 3: CHECK(write(fds[chance(FDS)], &one, sizeof one) > 0 || errno == EAGAIN); break;
    case PORT * 4:
    case PORT * 4 + 1:
    case PORT * 4 + 2: send_to(item); break;
    case PORT * 4 + 3: expect(treadle_port_get_count(item, &count, &capacity), 0); break;
    default: expect(treadle_observer_get_activities(item, &events), 0);
    }
}
static int64_t any_timeout(void) {
    if (is_actor && depth == 0 && chance(4) == 0) return TREADLE_FOREVER; /* nobody waits for an actor */
    return chance(2) ? 0 : chance(200000);
}
static void act_on_item(int number, void *item) {
    const struct kind *kind = &kinds[number];
    treadle_loop loop = atomic_load(&loops[chance(LOOPS)]);
    const char *mode = modes[chance(4)];
    char text[160];
    size_t length;
    void *info;
    int64_t order;
    unsigned what = chance(100);
    if (what < 24) expect(kind->add(loop, item, mode), ALSO(TREADLE_E_EXISTS));
    else if (what < 34) expect(kind->remove(loop, item, mode), 0);
    else if (what < 36) (void)kind->contains(loop, item, mode);
    else if (what < 40) expect(kind->invalidate(item), 0);
    else if (what < 44) expect(kind->release(item), 0); /* that was not ours */
    else if (what < 48) expect(kind->close(item, any_timeout()), ALSO(TREADLE_E_TIMEOUT) | ALSO(TREADLE_E_DEADLOCK));
    else if (what < 52) (void)kind->is_valid(item);
    else if (what < 54) expect(kind->get_context_info(item, &info), 0);
    else if (what < 56) expect(kind->get_order(item, &order), 0);
    else if (what < 58) expect(kind->describe(item, text, sizeof text, &length), 0);
    else do_what_its_kind_can(number, item);
}
static void act_on_any_item(void) {
    int kind = chance(KINDS), slot = chance(SLOTS);
    void *item = atomic_load(&items[kind][slot]);
    unsigned what = chance(100);
    if (!item || what < 12) renew(kind, slot);
    else if (what < 18) live_unharmed(kind);
    else if (what < 30) {
        treadle_status retained = kinds[kind].retain(item);
        expect(retained, 0);
        act_on_item(kind, item);
        if (retained == TREADLE_OK) expect(kinds[kind].release(item), 0);
    } else act_on_item(kind, item);
}
static void on_call(void *handle, int kind) {
    unsigned what = chance(400);
    if (may_end && depth == 0 && chance(1000) == 0) {
        atomic_fetch_add(&loops_left, 1);
        pthread_exit(NULL);
    }
    if (what < 4) act_inside(1 + chance(3));
    else if (what == 4) expect(kinds[kind].close(handle, TREADLE_FOREVER), ALSO(TREADLE_E_DEADLOCK));
    else if (what == 5) expect(kinds[kind].release(handle), 0);
    else if (what < 30 && kind == SOURCE) expect(treadle_source_signal(handle), 0);
    else if (what == 30) run_inside();
}
static void on_other_call(void) {
    unsigned what = chance(400);
    if (what < 2) act_inside(1);
    else if (what == 2) run_inside();
}

/* --- Loops and threads ---------------------------------------------------------------------------- */

static void do_job(void *info) { (void)info, act_inside(chance(3)); }
static void do_request(void *target, void *argument) { (void)target, (void)argument, act_inside(chance(3)); }
static void end_job(void *info) { (void)info, atomic_fetch_add(&jobs_ended, 1); }
static const char *const job_modes[] = {"second", TREADLE_COMMON_MODES};

static int64_t do_call(int64_t *out) { return act_inside(chance(3)), *out = depth; }
static void invoke(treadle_loop loop) {
    treadle_invocation_config config = {.struct_size = sizeof config, .code = (void (*)(void))do_call, .signature = "qo^q"};
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = loop, .wait = chance(3)};
    treadle_invocation invocation;
    int64_t out = -1;
    if (options.wait && chance(2)) options.timeout_ns = 1 + chance(200000);
    CHECK_INT(treadle_invocation_create(&config, &invocation), TREADLE_OK);
    CHECK_INT(treadle_invocation_set_buffer(invocation, 0, &out, sizeof out), TREADLE_OK);
    treadle_status status = treadle_invocation_perform(invocation, &options);
    expect(status, ALSO(TREADLE_E_TIMEOUT) | ALSO(TREADLE_E_CLOSED) | ALSO(TREADLE_E_DEADLOCK));
    CHECK((out >= 0) == (options.wait && status == TREADLE_OK));
    CHECK_INT(treadle_invocation_release(invocation), TREADLE_OK);
}
static void act_on_loop(treadle_loop loop) {
    treadle_post block = {.struct_size = sizeof block, .modes = job_modes, .mode_count = chance(3), .fn = do_job, .destroy = end_job};
    char text[160];
    size_t length;
    int64_t time;
    int32_t number;
    switch (chance(16)) {
    case 0: expect(treadle_loop_stop(loop), 0); break;
    case 1: expect(treadle_loop_request_stop(loop, chance(2)), 0); break;
    case 2: expect(treadle_loop_wake(loop), 0); break;
    case 3: (void)(treadle_loop_is_common_mode(loop, modes[chance(3)]) || treadle_loop_is_waiting(loop)); break;
    case 4: expect(treadle_loop_get_modes(loop, text, sizeof text, &length), 0); break;
    case 5: expect(treadle_loop_get_current_mode(loop, text, sizeof text, &length), ALSO(TREADLE_E_NOT_FOUND)); break;
    case 6: expect(treadle_loop_describe(loop, text, sizeof text, &length), 0); break;
    case 7: expect(treadle_loop_get_next_fire(loop, modes[chance(3)], &time), 0); break;
    case 8: expect(treadle_loop_add_common_mode(loop, modes[1 + chance(2)]), ALSO(TREADLE_E_EXISTS)); break;
    case 9: expect(treadle_loop_get_thread_id(loop, &number), 0); break;
    case 10: expect(treadle_loop_post(loop, do_job, NULL), ALSO(TREADLE_E_CLOSED)); break;
    case 11:
        if (treadle_loop_retain(loop) == TREADLE_OK) {
            act_on_any_item();
            CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
        }
        break;
    case 12:
    case 13: invoke(loop); break;
    default:
        atomic_fetch_add(&jobs_made, 1);
        treadle_status status = post_block(loop, &block);
        if (status == TREADLE_OK) expect(treadle_loop_wake(loop), 0);
        expect(status, 0);
    }
}
static void act_on_thread(treadle_thread thread) {
    treadle_request request = {.struct_size = sizeof request, .fn = do_request, .release_target = end_job, .release_argument = end_job};
    treadle_loop loop;
    uint32_t state;
    switch (chance(6)) {
    case 0:
        if (treadle_thread_copy_loop(thread, &loop) != TREADLE_OK) break;
        expect(treadle_loop_wake(loop), 0);
        CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
        break;
    case 1: expect(treadle_thread_get_state(thread, &state), 0); break;
    case 2:
        if (treadle_thread_retain(thread) != TREADLE_OK) break;
        (void)treadle_thread_is_finished(thread);
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
        break;
    default:
        atomic_fetch_add(&jobs_made, 2);
        expect(perform_on(thread, &request, job_modes, 2, chance(3) ? 0 : TREADLE_PERFORM_WAIT),
               ALSO(TREADLE_E_CLOSED) | ALSO(TREADLE_E_DEADLOCK));
    }
}
static void act(void) {
    unsigned what = chance(16), place = chance(LOOPS);
    treadle_loop loop = atomic_load(&loops[place]);
    treadle_thread thread = atomic_load(&threads[place]);
    if (what == 0 && loop) act_on_loop(loop);
    else if (what == 1 && thread) act_on_thread(thread);
    else act_on_any_item();
}

/* One life of a loop, which the tables name until the next one begins in its place. */
static void *live_as_loop(void *info) {
    int place = (int)(intptr_t)info;
    treadle_source keeper = make_source(NULL, NULL);
    treadle_loop loop = treadle_loop_current();
    treadle_thread thread = treadle_thread_current();
    begin_chance((uint64_t)atomic_fetch_add(&loops_lived, 1) * 16 + (uint64_t)place);
    CHECK(loop && thread);
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    CHECK_INT(treadle_thread_retain(thread), TREADLE_OK);
    for (int i = 0; i < 3; i++) CHECK_INT(treadle_loop_add_source(loop, keeper, modes[i]), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    treadle_loop before = atomic_exchange(&loops[place], loop);
    treadle_thread thread_before = atomic_exchange(&threads[place], thread); /* last: the others wait for it */
    for (int i = 0; i < LOOPS; i++)
        while (!atomic_load(&threads[i])) sched_yield();
    if (before) CHECK_INT(treadle_loop_release(before), TREADLE_OK);
    if (thread_before) CHECK_INT(treadle_thread_release(thread_before), TREADLE_OK);
    for (int runs = 100; runs > 0 && !is_over; runs--) {
        may_end = true;
        CHECK(treadle_loop_run(loop, modes[chance(3)], chance(400000), chance(2)) > 0);
        if (chance(4) == 0) expect(treadle_timer_fire(atomic_load(&items[TIMER][chance(SLOTS)])), ALSO(TREADLE_E_ARG));
        may_end = false;
        act();
    }
    return NULL;
}
static void *keep_a_loop_alive(void *place) {
    while (!is_over) on_thread(live_as_loop, place);
    return NULL;
}
static int64_t deadline;
static void *act_until_the_end(void *number) {
    begin_chance((uint64_t)(intptr_t)number * 16 + LOOPS);
    is_actor = true;
    do {
        for (int i = 0; i < 64; i++) act();
        progress();
    } while (treadle_time_now() < deadline);
    return NULL;
}

TEST(everything_is_done_to_everything,
     "OBJ-2 OBJ-3 OBJ-4 OBJ-6 OBJ-7 OBJ-9 OBJ-11 MODE-8 NST-3 RL-8 RL-9 PERF-7 PERF-8 BLK-4") {
    const char *wanted = getenv("TREADLE_STORM_SECONDS");
    choose_seed();
    int64_t length = wanted ? SECONDS(atoi(wanted)) : MILLISECONDS(scaled(2000));
    pthread_t keepers[LOOPS], actors[ACTORS];
    watchdog_end += length / SECONDS(1);
    deadline = treadle_time_now() + length;
    for (int i = 0; i < FDS; i++) CHECK((fds[i] = eventfd(0, EFD_NONBLOCK)) >= 0);
    for (intptr_t i = 0; i < LOOPS; i++) CHECK_INT(pthread_create(&keepers[i], NULL, keep_a_loop_alive, (void *)i), 0);
    for (int i = 0; i < LOOPS; i++)
        while (!atomic_load(&threads[i])) sched_yield();
    for (intptr_t i = 0; i < ACTORS; i++) CHECK_INT(pthread_create(&actors[i], NULL, act_until_the_end, (void *)i), 0);
    for (int i = 0; i < ACTORS; i++) CHECK_INT(pthread_join(actors[i], NULL), 0);
    is_over = true;
    for (int i = 0; i < LOOPS; i++) CHECK_INT(pthread_join(keepers[i], NULL), 0);
    depth = DEEPEST; /* what is called from here on makes nothing new */
    for (int kind = 0; kind < KINDS; kind++)
        for (int slot = 0; slot < SLOTS; slot++) end_item(kind, items[kind][slot]);
    for (int i = 0; i < LOOPS; i++) {
        CHECK_INT(treadle_loop_release(loops[i]), TREADLE_OK);
        CHECK_INT(treadle_thread_release(threads[i]), TREADLE_OK);
    }
    CHECK(calls > 0 && loops_lived > 0);
    CHECK_INT(lives, 0);
    CHECK_INT(jobs_ended, jobs_made);
    if (wanted) printf("%ld callbacks, %ld jobs, %ld loops, %ld of them left\n", calls, jobs_made, loops_lived, loops_left);
}

TEST_MAIN()
