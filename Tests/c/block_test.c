/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * block_test.c: blocks: their modes, their order, when they run, and the end of their info. */
#include "scene.h"

static int destroyed;
static void count_destroyed(void *info) {
    (void)info;
    destroyed++;
}
static void write_word(void *info) { trace("%s", (const char *)info); }
static treadle_status queue_word(const char *word, const char *const *modes, size_t mode_count) {
    treadle_post block = {.struct_size = sizeof block, .modes = modes, .mode_count = mode_count, .fn = write_word,
        .info = (void *)word, .destroy = count_destroyed};
    return post_block(the_stage(), &block);
}

TEST(a_block_names_one_mode_or_several, "BLK-1 BLK-4") {
    const char *none[] = {NULL}, *one[] = {MODE_B}, *two[] = {MODE_B, MODE_A}, *with_common[] = {MODE_B, COMMON};
    keep_mode(MODE_A);
    keep_mode(MODE_B);
    CHECK_INT(queue_word("common", none, 0), TREADLE_OK);
    CHECK_INT(queue_word("b", one, 1), TREADLE_OK);
    CHECK_INT(queue_word("b,a", two, 2), TREADLE_OK);
    CHECK_INT(queue_word("b,common", with_common, 2), TREADLE_OK);
    play(MODE_A, 0, 0);
    CHECK_TRACE("common b,a b,common timed-out");
    play(MODE_B, 0, 0); /* those that ran are gone from their other modes */
    CHECK_TRACE("b timed-out");
    CHECK_INT(destroyed, 4);
}

TEST(a_block_is_copied, "BLK-1") {
    char first[] = MODE_A, second[] = MODE_B;
    const char *modes[] = {second, first};
    treadle_post block = {.struct_size = sizeof block, .modes = modes, .mode_count = 2, .fn = write_word,
        .info = "block"};
    CHECK_INT(post_block(the_stage(), &block), TREADLE_OK);
    memset(&block, 0, sizeof block);
    memset(modes, 0, sizeof modes);
    memset(first, 'x', sizeof first - 1);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("block finished");
}

TEST(a_refused_block_is_destroyed, "BLK-1 MODE-3") {
    const char *modes[] = {MODE_A, NULL};
    CHECK_ERROR(queue_word("null", modes, 2), TREADLE_E_ARG, "mode");
    CHECK_INT(destroyed, 1);
    treadle_post block = {.struct_size = sizeof block, .destroy = count_destroyed};
    CHECK_ERROR(post_block(the_stage(), &block), TREADLE_E_ARG, "fn");
    CHECK_INT(destroyed, 2);
    CHECK_ERROR(post_block(the_stage(), NULL), TREADLE_E_ARG, "post");
    block.fn = write_word, block.flags = 2;
    CHECK_ERROR(treadle_loop_post_in(the_stage(), &block), TREADLE_E_ARG, "flags");
    block.flags = 0, block.reserved = 1;
    CHECK_ERROR(treadle_loop_post_in(the_stage(), &block), TREADLE_E_ARG, "reserved");
    block.reserved = 0, block.token = 1;
    CHECK_ERROR(treadle_loop_post_in(the_stage(), &block), TREADLE_E_ARG, "token");
    block.token = 0, block.routine = (treadle_routine)&block;
    CHECK(treadle_loop_post_in(the_stage(), &block) < 0);
    CHECK_INT(destroyed, 6);
    CHECK_ERROR(treadle_loop_post(the_stage(), NULL, NULL), TREADLE_E_ARG, "fn");
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("finished");
}

static void *leave_blocks_behind(void *out_loop) {
    treadle_loop loop = treadle_loop_current();
    stage = loop;
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    for (int i = 0; i < 10; i++) CHECK_INT(queue_word("left", (const char *[]){MODE_B}, 1), TREADLE_OK);
    *(treadle_loop *)out_loop = loop;
    return NULL;
}

TEST(a_discarded_block_is_destroyed, "BLK-1 RL-8 RL-9") {
    treadle_loop loop;
    on_thread(leave_blocks_behind, &loop);
    CHECK_INT(destroyed, 10);
    CHECK_INT(queue_word("late", NULL, 0), TREADLE_IGNORED); /* stage is the gone thread's loop */
    CHECK_INT(destroyed, 11);
    CHECK_ERROR(treadle_loop_post(loop, write_word, "late"), TREADLE_E_CLOSED, "");
    CHECK_TRACE("");
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
}

static void check_not_destroyed(void *info) {
    trace("%s", (const char *)info);
    CHECK_INT(destroyed, 0);
}

TEST(a_block_is_destroyed_after_it_ran, "BLK-1 OBJ-3") {
    treadle_post block = {.struct_size = sizeof block, .fn = check_not_destroyed, .info = "block",
        .destroy = count_destroyed};
    CHECK_INT(post_block(the_stage(), &block), TREADLE_OK);
    for (int i = 0; i < 3; i++) play(MODE_A, 0, 0);
    CHECK_TRACE("block timed-out finished finished"); /* once, and then nothing is left */
    CHECK_INT(destroyed, 1);
}

static void *queue_from_outside(void *words) {
    for (const char **word = words; *word; word++) CHECK_INT(queue_word(*word, NULL, 0), TREADLE_OK);
    return NULL;
}

TEST(any_thread_may_queue_blocks, "BLK-2") {
    const char *words[] = {"1", "2", "3", NULL};
    the_stage();
    on_thread(queue_from_outside, words);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("1 2 3 finished");
}

static struct outsider outsider;
static actor unwoken = {BLOCK, "unwoken"}, ender = {TIMER, "ender", .after = FAR};
static bool names_its_mode;
static void queue_without_a_wake_up(actor *self) {
    (void)self;
    PERFORM(QUEUE, &unwoken);
    idle_until(treadle_time_now() + MILLISECONDS(30));
    CHECK_INT(unwoken.calls, 0);
    CHECK(is_asleep(&outsider.watch));
    const char *mode = MODE_A;
    treadle_post post = {.struct_size = sizeof post, .modes = &mode, .mode_count = 1, .fn = write_word, .info = "posted"};
    CHECK_INT(names_its_mode ? treadle_loop_post_in(the_stage(), &post) : treadle_loop_post(the_stage(), write_word, "posted"), TREADLE_OK);
}
static void wait_for_the_post(void) {
    outsider.does[0] = (deed){CALL, .call = queue_without_a_wake_up};
    outsider.does[1] = (deed){STOP};
    watch_mode(MODE_A);
    enter(&ender, MODE_A);
    outsider_start(&outsider, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    outsider_join(&outsider);
    CHECK_TRACE("entry timers sources sleep wake unwoken posted timers sources sleep wake exit stopped");
}
TEST(a_block_does_not_wake_but_a_post_does, "BLK-2 BLK-3") { wait_for_the_post(); }
TEST(a_post_in_a_mode_wakes_as_well, "BLK-2 BLK-4") {
    names_its_mode = true;
    wait_for_the_post();
}

static sem_t has_queued, was_posted;
static void tell_of_queueing(treadle_observer observer, uint32_t activity, void *info) {
    (void)activity, (void)info;
    CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
    CHECK_INT(queue_word("queued", NULL, 0), TREADLE_OK);
    sem_post(&has_queued);
}
static void tell_of_posting(void *info) {
    write_word(info);
    sem_post(&was_posted);
}

/* Whoever queues one on the way to the sleep has it performed behind the sleep, which it does not end. */
TEST(a_block_queued_before_the_sleep_waits_for_its_end, "BLK-2 PASS-10 PASS-13") {
    struct worker worker;
    sem_init(&has_queued, 0, 0), sem_init(&was_posted, 0, 0);
    worker_start(&worker);
    stage = worker.loop;
    for (int posts = 0; posts < 2; posts++) {
        treadle_observer observer = make_observer(tell_of_queueing, NULL, TREADLE_BEFORE_WAITING);
        worker_await_sleep(&worker);
        CHECK_INT(treadle_loop_add_observer(worker.loop, observer, MODE_A), TREADLE_OK);
        CHECK_INT(treadle_loop_wake(worker.loop), TREADLE_OK);
        await(&has_queued);
        worker_await_sleep(&worker); /* the watch is told after that observer */
        CHECK_TRACE("");
        CHECK_INT(destroyed, posts);
        if (posts == 0) CHECK_INT(treadle_loop_wake(worker.loop), TREADLE_OK); /* ends the sleep */
        CHECK_INT(treadle_loop_post(worker.loop, tell_of_posting, "posted"), TREADLE_OK); /* and so does a post */
        await(&was_posted);
        CHECK_TRACE("queued posted");
        CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
    }
    worker_stop(&worker);
}

TEST(blocks_run_in_the_order_of_queueing, "BLK-3 BLK-7") {
    char words[100][8], expected[1024] = "";
    const char *both[] = {MODE_B, MODE_A}, *a[] = {MODE_A}, *b[] = {MODE_B};
    keep_mode(MODE_A);
    for (int i = 0; i < 100; i++) {
        snprintf(words[i], sizeof words[i], "%d", i);
        if (i % 5 == 4) CHECK_INT(treadle_loop_post(the_stage(), write_word, words[i]), TREADLE_OK);
        else CHECK_INT(queue_word(words[i], i % 5 == 0 ? both : i % 5 == 1 ? b : a, 1 + (i % 5 == 0)), TREADLE_OK);
        if (i % 5 != 1) strcat(strcat(expected, words[i]), " ");
    }
    play(MODE_A, 0, AFTER_SOURCE); /* none of them counts as a source */
    CHECK_TRACE(strcat(expected, "timed-out"));
    play(MODE_B, TREADLE_FOREVER, 0);
    CHECK_TRACE("1 6 11 16 21 26 31 36 41 46 51 56 61 66 71 76 81 86 91 96 finished");
}

TEST(the_common_modes_are_those_of_the_moment, "BLK-4 MODE-8") {
    static actor block = {BLOCK, "block"};
    PERFORM(QUEUE, &block);
    play(MODE_B, TREADLE_FOREVER, 0); /* not common yet: nothing to do there */
    CHECK_TRACE("finished");
    CHECK_INT(treadle_loop_add_common_mode(the_stage(), MODE_B), TREADLE_OK);
    play(MODE_B, TREADLE_FOREVER, 0);
    CHECK_TRACE("block finished");
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("finished");
}

TEST(a_drain_runs_what_was_queued_before_it, "BLK-5 PASS-4 PASS-13") {
    static actor third = {BLOCK, "third"}, second = {BLOCK, "second", {{QUEUE, &third}}};
    static actor first = {BLOCK, "first", {{QUEUE, &second}}};
    static actor pass = {OBSERVER, "|", .activities = TREADLE_BEFORE_TIMERS};
    enter(&pass, MODE_A);
    keep_mode(MODE_A);
    PERFORM(QUEUE, &first);
    play(MODE_A, 0, 0);
    play(MODE_A, 0, 0);
    CHECK_TRACE("| first second timed-out | third timed-out");
}

TEST(a_block_of_another_mode_keeps_its_place, "BLK-5 BLK-3") {
    static actor newer = {BLOCK, "newer"}, older = {BLOCK, "older"}, a = {BLOCK, "a", {{QUEUE, &newer, MODE_B}}};
    PERFORM(QUEUE, &older, MODE_B);
    PERFORM(QUEUE, &a, MODE_A);
    play(MODE_A, 0, 0);
    play(MODE_B, 0, 0);
    CHECK_TRACE("a timed-out older newer timed-out");
}

TEST(a_nested_run_leaves_the_rest_of_the_drain_alone, "BLK-6 RUN-12") {
    /* It neither runs the rest, nor takes the mode for empty; what was queued meanwhile it does run. */
    static actor newer = {BLOCK, "newer"}, rest = {BLOCK, "rest"};
    static actor block = {BLOCK, "block", {{RUN}, {QUEUE, &newer}, {RUN}}};
    PERFORM(QUEUE, &block);
    PERFORM(QUEUE, &rest);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("block ( )timed-out ( newer )timed-out rest finished");
    /* Without a rest, the mode is empty inside. */
    static actor alone = {BLOCK, "alone", {{RUN}}};
    PERFORM(QUEUE, &alone);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("alone ( )finished finished");
}

/* What was queued with a wake-up, and the run that was woken did not call, is called by the run around it before that sleeps. */
static actor stopper = {BLOCK, "stopper", {{STOP}}};
static void post_for_the_outer_run(actor *self) {
    (void)self;
    treadle_post post = {.struct_size = sizeof post, .modes = (const char *[]){MODE_A}, .mode_count = 1, .fn = actor_block, .info = &stopper};
    CHECK_INT(treadle_loop_post_in(the_stage(), &post), TREADLE_OK);
}
static void play_with(actor *nester, const char *innermost) {
    struct outsider outsider = {.does = {{CALL, .call = post_for_the_outer_run}, {STOP}}};
    keep_mode(MODE_A);
    keep_mode(innermost);
    outsider_start(&outsider, innermost);
    PERFORM(QUEUE, nester, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    outsider_join(&outsider);
}
TEST(a_nested_run_is_woken_for_a_block_of_the_outer_one, "WAKE-3 BLK-4 RUN-12") {
    static actor nester = {BLOCK, "nester", {{RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}}};
    play_with(&nester, MODE_B);
    CHECK_TRACE("nester ( )stopped stopper stopped");
}
TEST(a_run_inside_of_two_is_woken_for_a_block_of_the_outermost_one, "WAKE-3 BLK-4 RUN-12") {
    static actor inner = {BLOCK, "inner", {{RUN, .mode = "mode c", .ns = TREADLE_FOREVER}, {STOP}}};
    static actor nester = {BLOCK, "nester", {{QUEUE, &inner, MODE_B}, {RUN, .mode = MODE_B, .ns = TREADLE_FOREVER}}};
    play_with(&nester, "mode c");
    CHECK_TRACE("nester ( inner ( )stopped )stopped stopper stopped");
}

/* A post of the nested run's last observer, and a block that nobody was woken for. */
static void post_stopper(actor *self) {
    (void)self;
    CHECK_INT(treadle_loop_post(the_stage(), actor_block, &stopper), TREADLE_OK);
}
TEST(a_post_at_the_end_of_a_nested_run_is_called_by_the_outer_one, "WAKE-3 BLK-2 BLK-8 RUN-12") {
    static actor nester = {BLOCK, "nester", {{RUN, .mode = MODE_B, .ns = 0}}};
    static actor last = {OBSERVER, "last", {{CALL, .call = post_stopper}}, .activities = TREADLE_EXIT};
    keep_mode(MODE_A);
    keep_mode(MODE_B);
    enter(&last, MODE_B);
    PERFORM(QUEUE, &nester, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("nester ( last )timed-out stopper stopped");
}
TEST(a_block_that_nobody_was_woken_for_waits_for_the_end_of_the_sleep, "WAKE-3 BLK-2 RUN-12") {
    static actor left = {BLOCK, "left", {{STOP}}};
    static actor nester = {BLOCK, "nester", {{QUEUE, &left, MODE_A}, {RUN, .mode = MODE_B, .ns = 0}}};
    keep_mode(MODE_A);
    keep_mode(MODE_B);
    watch_mode(MODE_A);
    stop_later(MODE_A);
    PERFORM(QUEUE, &nester, MODE_A);
    play(MODE_A, TREADLE_FOREVER, 0);
    CHECK_TRACE("entry timers sources nester ( )timed-out sleep wake later left exit stopped");
}

/* A row of plain functions, behind one another in one drain. */
static void run_inside(void *word) {
    trace("%s (", (const char *)word);
    CHECK_INT(treadle_loop_post(the_stage(), write_word, "newer"), TREADLE_OK);
    play(MODE_A, 0, 0);
    trace(")");
    CHECK_INT(treadle_loop_post(the_stage(), write_word, "next"), TREADLE_OK);
}
TEST(a_row_of_posts_is_one_drain, "BLK-3 BLK-5 BLK-6 RUN-12") {
    static actor pass = {OBSERVER, "|", .activities = TREADLE_BEFORE_TIMERS};
    const char *a[] = {MODE_A}, *b[] = {MODE_B};
    enter(&pass, MODE_A);
    keep_mode(MODE_A);
    CHECK_INT(treadle_loop_post(the_stage(), write_word, "1"), TREADLE_OK);
    CHECK_INT(treadle_loop_post(the_stage(), run_inside, "2"), TREADLE_OK);
    CHECK_INT(treadle_loop_post(the_stage(), write_word, "3"), TREADLE_OK);
    CHECK_INT(queue_word("other", b, 1), TREADLE_OK);
    CHECK_INT(queue_word("4", a, 1), TREADLE_OK);
    CHECK_INT(treadle_loop_post(the_stage(), run_inside, "5"), TREADLE_OK);
    CHECK_INT(treadle_loop_post(the_stage(), write_word, "6"), TREADLE_OK);
    play(MODE_A, 0, 0);
    CHECK_TRACE("| 1 2 ( | newer timed-out ) 3 4 5 ( | next newer timed-out ) 6 next timed-out");
    CHECK_INT(destroyed, 1);
    play(MODE_B, 0, 0); /* not common: there, posts are not admitted */
    CHECK_TRACE("other timed-out");
    play(MODE_A, 0, 0);
    CHECK_TRACE("| timed-out");
}

static void end_thread(void *unused) {
    trace("end");
    pthread_exit(unused);
}
static void *end_in_a_row(void *out_loop) {
    stage = *(treadle_loop *)out_loop = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(stage), TREADLE_OK);
    keep_mode(MODE_A);
    CHECK_INT(treadle_loop_post(stage, write_word, "first"), TREADLE_OK);
    CHECK_INT(treadle_loop_post(stage, end_thread, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_post(stage, write_word, "never"), TREADLE_OK);
    CHECK_INT(queue_word("never", (const char *[]){MODE_A}, 1), TREADLE_OK);
    play(MODE_A, TREADLE_FOREVER, 0);
    return NULL;
}
TEST(a_thread_may_end_within_a_row_of_posts, "RL-8 BLK-1") {
    treadle_loop loop;
    on_thread(end_in_a_row, &loop);
    CHECK_TRACE("first end");
    CHECK_INT(destroyed, 1);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
}

TEST(a_block_does_not_count_as_a_source, "BLK-7 RUN-7") {
    static actor stopper = {BLOCK, "stopper", {{STOP}}}, block = {BLOCK, "block", {{QUEUE, &stopper}, {WAKE}}};
    watch_mode(MODE_A);
    keep_mode(MODE_A);
    PERFORM(QUEUE, &block);
    play(MODE_A, TREADLE_FOREVER, AFTER_SOURCE); /* nor does it make the pass a poll */
    CHECK_TRACE("entry timers sources block sleep wake stopper exit stopped");
}

TEST(a_block_of_the_exit_observers_waits_for_the_next_run, "BLK-8") {
    static actor block = {BLOCK, "block"}, observer = {OBSERVER, "exit", {{QUEUE, &block}}, .activities = TREADLE_EXIT};
    enter(&observer, MODE_A);
    keep_mode(MODE_A);
    keep_mode(MODE_B);
    play(MODE_A, 0, 0);
    play(MODE_B, 0, 0); /* not common: not there */
    play(MODE_A, 0, 0);
    CHECK_TRACE("exit timed-out timed-out block exit timed-out");
}

TEST_MAIN()
