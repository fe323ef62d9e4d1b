/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * callee_test.c: a source lives as long as its callback runs, whoever takes it away meanwhile. */
#include "probe.h"
#include "host_items.h"

#define MODE TREADLE_DEFAULT_MODE
#define OTHER "other"
static sem_t inside, gone;

/* Takes a probe away altogether: afterwards its loop alone keeps it. */
static void take_away(struct probe *probe) {
    CHECK_INT(probe->kind->invalidate(probe->item), TREADLE_OK);
    CHECK_INT(probe->kind->release(probe->item), TREADLE_OK);
}
static void *take_away_when_inside(void *probe) {
    await(&inside);
    take_away(probe);
    sem_post(&gone);
    return NULL;
}
static void lose_to_another_thread(struct probe *probe) {
    sem_post(&inside);
    await(&gone);
    CHECK_INT(atomic_load(&probe->ended), 0);
}
static void lose_to_myself(struct probe *probe) {
    take_away(probe);
    CHECK_INT(atomic_load(&probe->ended), 0);
}

static void run_once(struct probe *probe) {
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(atomic_load(&probe->calls), 1);
    CHECK_INT(atomic_load(&probe->ended), 1);
    probe_end(probe);
}

TEST(a_callback_may_lose_its_item, "OBJ-3 OBJ-9 SRC0-2") {
    keep_mode(MODE);
    for (int i = 0; i < KINDS; i++) {
        struct probe probe = {.on_call = lose_to_myself};
        probe_make(&probe, kinds[i]);
        CHECK_INT(probe.kind->add(treadle_loop_current(), probe.item, MODE), TREADLE_OK);
        run_once(&probe);
    }
}

TEST(another_thread_may_take_the_item_of_a_running_callback, "OBJ-3 OBJ-9 SRC0-2") {
    sem_init(&inside, 0, 0);
    sem_init(&gone, 0, 0);
    keep_mode(MODE);
    for (int i = 0; i < KINDS; i++) {
        struct probe probe = {.on_call = lose_to_another_thread};
        pthread_t thread;
        probe_make(&probe, kinds[i]);
        CHECK_INT(probe.kind->add(treadle_loop_current(), probe.item, MODE), TREADLE_OK);
        CHECK_INT(pthread_create(&thread, NULL, take_away_when_inside, &probe), 0);
        run_once(&probe);
        CHECK_INT(pthread_join(thread, NULL), 0);
    }
}

/* In several modes each of them lets go of it. */
TEST(a_source_of_several_modes_may_be_taken_from_all, "OBJ-3 OBJ-9 SRC0-3") {
    treadle_loop loop = treadle_loop_current();
    sem_init(&inside, 0, 0);
    sem_init(&gone, 0, 0);
    keep_mode(MODE);
    for (int i = 0; i < 2; i++) {
        struct probe probe = {.on_call = i ? lose_to_another_thread : lose_to_myself};
        pthread_t thread;
        probe_make(&probe, &source_kind);
        CHECK_INT(treadle_loop_add_source(loop, probe.item, OTHER), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(loop, probe.item, MODE), TREADLE_OK);
        if (i) CHECK_INT(pthread_create(&thread, NULL, take_away_when_inside, &probe), 0);
        run_once(&probe);
        if (i) CHECK_INT(pthread_join(thread, NULL), 0);
        CHECK_INT(atomic_load(&probe.cancels), 2);
    }
}

/* Sources performed by runs inside the callback do not take the place of its own. */
static struct probe inner;
static void run_inside_and_lose(struct probe *probe) {
    CHECK_INT(treadle_source_signal(inner.item), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(atomic_load(&inner.calls), 1);
    CHECK_INT(atomic_load(&probe->ended), 0);
    sem_post(&inside);
    await(&gone);
    CHECK_INT(treadle_source_signal(inner.item), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(atomic_load(&inner.calls), 2);
    CHECK_INT(atomic_load(&probe->ended), 0);
}
TEST(runs_inside_do_not_end_the_protection, "OBJ-3 RUN-12 SRC0-12") {
    struct probe outer = {.on_call = run_inside_and_lose, .order = -1};
    pthread_t thread;
    sem_init(&inside, 0, 0);
    sem_init(&gone, 0, 0);
    probe_make(&inner, &source_kind);
    probe_make(&outer, &source_kind);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), inner.item, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), outer.item, MODE), TREADLE_OK);
    CHECK_INT(pthread_create(&thread, NULL, take_away_when_inside, &outer), 0);
    run_once(&outer);
    CHECK_INT(pthread_join(thread, NULL), 0);
    probe_end(&inner);
}

/* What the end of one source calls may take away the next one of the pass, or run the loop. */
static struct probe second;
static void take_the_second(struct probe *probe) {
    (void)probe;
    take_away(&second);
}
static void run_the_loop(struct probe *probe) {
    (void)probe;
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
}
static void play_two(void (*on_release)(struct probe *), int calls_of_second) {
    struct probe first = {.on_call = lose_to_myself, .on_release = on_release};
    memset(&second, 0, sizeof second);
    probe_make(&first, &source_kind);
    probe_make(&second, &source_kind);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), first.item, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), second.item, MODE), TREADLE_OK);
    run_once(&first);
    CHECK_INT(atomic_load(&second.calls), calls_of_second);
    probe_end(&second);
}
TEST(the_end_of_one_source_may_take_the_next, "OBJ-3 OBJ-7 OBJ-9") {
    keep_mode(MODE);
    play_two(take_the_second, 0);
    play_two(run_the_loop, 1);
}

/* What the end of one source calls may also end everything: the next one is not performed any more. */
static void shut_down(struct probe *probe) {
    (void)probe;
    CHECK_INT(treadle_shutdown(0), TREADLE_OK);
}
static treadle_source failing;
static void let_a_host_fail(struct probe *probe) {
    (void)probe;
    CHECK_INT(treadle_source_invalidate(failing), TREADLE_OK);
}
static uint64_t fail(uint64_t ticket, const treadle_event *event) { return event->kind == TREADLE_EVENT_CANCEL ? 0 : ~ticket; }
static void play_the_end(void (*on_release)(struct probe *), treadle_status result) {
    struct probe first = {.on_call = lose_to_myself, .on_release = on_release};
    probe_make(&first, &source_kind);
    probe_make(&second, &source_kind);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), first.item, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), second.item, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), result);
    CHECK_INT(atomic_load(&first.ended), 1);
    CHECK_INT(atomic_load(&second.calls), 0);
    CHECK(treadle_source_is_signalled(second.item));
}
TEST(the_end_of_one_source_may_be_the_end_of_all, "THR-21 OBJ-9") { play_the_end(shut_down, TREADLE_E_CLOSED); }
TEST(the_end_of_one_source_may_fail_the_run, "ABI-3 OBJ-9 SRC0-7") {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = fail};
    treadle_host host;
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    CHECK_INT(host_source(host, 1, TREADLE_HOST_WANTS_CANCEL, 0, &failing), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), failing, MODE), TREADLE_OK);
    play_the_end(let_a_host_fail, TREADLE_E_CALLBACK);
}

/* Many at once, with the memory of each given back by its release; by a loop that is told of nothing else, so
 * that it goes from one to the next by the shortest way. */
enum { MAKERS = 3, ALIVE = 0x51ab1e };
struct body {
    int state;
    treadle_source source;
};
static treadle_loop loop;
static sem_t loop_is_ready;
static void *run_the_makers_loop(void *keeper) {
    loop = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, keeper, MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(keeper), TREADLE_OK);
    CHECK_INT(sem_post(&loop_is_ready), 0);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    return keeper;
}
static void signal_again(treadle_source source, void *info) {
    (void)info;
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
}
static void wait_a_moment(int length) {
    for (atomic_int i = 0; i < length; i++) {}
}
static void perform_body(treadle_source source, void *info) {
    (void)source;
    CHECK_INT(((struct body *)info)->state, ALIVE);
    wait_a_moment(100);
    CHECK_INT(((struct body *)info)->state, ALIVE);
}
static void release_body(void *info) {
    CHECK_INT(((struct body *)info)->state, ALIVE);
    ((struct body *)info)->state = 0;
    free(info);
}
static void *make_and_take(void *number) {
    for (int i = 0, count = scaled(10000); i < count; i++) {
        struct body *body = calloc(1, sizeof *body);
        treadle_source source;
        treadle_source_context context = {.struct_size = sizeof context, .info = body, .release = release_body,
                                          .perform = perform_body, .order = i % 5 - 2};
        body->state = ALIVE;
        CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
        CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
        for (intptr_t turns = i % 7 * (intptr_t)number; turns > 0; turns--) CHECK(treadle_source_signal(source) >= 0);
        if (i % 3 == 0) CHECK_INT(treadle_loop_remove_source(loop, source, MODE), TREADLE_OK);
        if (i % 3 == 1) CHECK_INT(treadle_source_close(source, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
        CHECK_INT(treadle_source_release(source), TREADLE_OK);
    }
    return NULL;
}
/* The same in a hurry: taken away at the very moment in which the loop, which never sleeps, is about to call it. */
static void *make_and_drop(void *number) {
    for (int i = 0, count = scaled(30000); i < count; i++) {
        struct body *body = calloc(1, sizeof *body);
        treadle_source source;
        treadle_source_context context = {.struct_size = sizeof context, .info = body, .release = release_body,
                                          .perform = perform_body, .order = i % 3 - 1};
        body->state = ALIVE;
        CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        wait_a_moment((int)((i * 7 + (intptr_t)number) % 97));
        CHECK_INT(treadle_loop_remove_source(loop, source, MODE), TREADLE_OK);
        CHECK_INT(treadle_source_release(source), TREADLE_OK);
    }
    return NULL;
}
static void play_makers(void *(*maker)(void *), treadle_perform_fn keep_going) {
    pthread_t threads[MAKERS], runner;
    treadle_source keeper = make_source(keep_going, NULL);
    CHECK_INT(sem_init(&loop_is_ready, 0, 0), 0);
    CHECK_INT(pthread_create(&runner, NULL, run_the_makers_loop, keeper), 0);
    await(&loop_is_ready);
    for (intptr_t i = 0; i < MAKERS; i++) CHECK_INT(pthread_create(&threads[i], NULL, maker, (void *)(i + 1)), 0);
    for (int i = 0; i < MAKERS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(treadle_loop_request_stop(loop, 0), TREADLE_OK);
    CHECK_INT(pthread_join(runner, NULL), 0);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(treadle_source_invalidate(keeper), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}
TEST(sources_come_and_go_while_they_are_performed, "OBJ-3 OBJ-6 OBJ-9 SRC0-2") { play_makers(make_and_take, NULL); }
TEST(sources_are_taken_just_when_they_are_performed, "OBJ-3 OBJ-6 OBJ-9 SRC0-2") { play_makers(make_and_drop, signal_again); }

TEST_MAIN()
