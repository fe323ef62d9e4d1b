/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * direct_exit_test.c: functions that are called directly, outside of runs, and end the thread that calls them: what their caller
 * held goes back. */
#include "thread_jobs.h"

static struct {
    int targets, arguments, destroyed;
    treadle_invocation invocation;
    treadle_thread other; /* not started */
} scene;

static void end_thread(void) { pthread_exit(NULL); }
static void count(void *number) { ++*(int *)number; }
static bool is_gone(treadle_object object) { return treadle_retain(object) == TREADLE_E_STALE; }

/* --- Performed on one's own thread ------------------------------------------------------------------ */

static void end_in_request(void *target, void *argument) {
    (void)target, (void)argument;
    end_thread();
}
static void perform_and_end(treadle_object on) {
    treadle_request request = {.struct_size = sizeof request, .fn = end_in_request, .target = &scene.targets, .release_target = count,
                               .argument = &scene.arguments, .release_argument = count, .flags = TREADLE_PERFORM_WAIT};
    treadle_perform(on, &request);
    CHECK(!"it returned");
}
static void *perform_on_own_loop(void *kept) {
    treadle_loop loop = treadle_loop_current();
    *(treadle_object *)kept = loop;
    perform_and_end(loop);
    return NULL;
}
static void *perform_on_own_thread(void *kept) {
    treadle_thread thread = treadle_thread_current();
    *(treadle_object *)kept = thread;
    perform_and_end(thread);
    return NULL;
}
TEST(a_request_that_is_performed_directly_may_end_its_thread, "PERF-2 PERF-8 RL-9") {
    void *(*const ways[])(void *) = {perform_on_own_loop, perform_on_own_thread};
    for (int way = 0; way < 2; way++) {
        treadle_object kept = NULL;
        memset(&scene, 0, sizeof scene);
        on_thread(ways[way], &kept);
        CHECK_INT(scene.targets, 1);
        CHECK_INT(scene.arguments, 1);
        CHECK(kept && is_gone(kept));
    }
}

static void *perform_invocation(void *options) {
    treadle_invocation_perform(scene.invocation, options);
    CHECK(!"it returned");
    return NULL;
}
static void *perform_on_the_loop(void *options) {
    ((treadle_invocation_options *)options)->loop = treadle_loop_current();
    return perform_invocation(options);
}
static void *perform_on_the_thread(void *options) {
    ((treadle_invocation_options *)options)->thread = treadle_thread_current();
    return perform_invocation(options);
}
static void expect_state(uint32_t expected) {
    uint32_t state = 99;
    CHECK_INT(treadle_invocation_get_state(scene.invocation, &state), TREADLE_OK);
    CHECK_INT(state, expected);
}
TEST(an_invocation_that_is_performed_directly_may_end_its_thread, "PERF-2 OBJ-4") {
    void *(*const ways[])(void *) = {perform_invocation, perform_on_the_loop, perform_on_the_thread};
    for (int way = 0; way < 6; way++) {
        treadle_invocation_config config = {.struct_size = sizeof config, .code = end_thread, .signature = "v",
                                            .info = &scene.destroyed, .destroy = count};
        memset(&scene, 0, sizeof scene);
        CHECK_INT(treadle_invocation_create(&config, &scene.invocation), TREADLE_OK);
        for (int round = 0; round < 2; round++) { /* it may be performed again */
            treadle_invocation_options options = {.struct_size = sizeof options,
                                                  .wait = way % 2 ? TREADLE_WAIT_RUNNING : TREADLE_WAIT_BLOCK};
            on_thread(ways[way / 2], &options);
            expect_state(TREADLE_INVOCATION_DROPPED);
            CHECK(way / 2 != 1 || is_gone(options.loop));
            CHECK(way / 2 != 2 || is_gone(options.thread));
        }
        CHECK_INT(treadle_invocation_release(scene.invocation), TREADLE_OK);
        CHECK_INT(scene.destroyed, 1);
        CHECK(is_gone(scene.invocation));
    }
}

/* --- An item that is being made ---------------------------------------------------------------------- */

static void *end_in_retain(void *info) {
    (void)info;
    end_thread();
    return NULL;
}
static void *create_source(void *routine) {
    treadle_source_context context = {.struct_size = sizeof context, .retain = end_in_retain, .perform_routine = routine};
    treadle_source source;
    treadle_source_create(&context, &source);
    CHECK(!"it returned");
    return NULL;
}
static void do_nothing(void) {}
TEST(a_retain_that_ends_its_thread_leaves_no_item, "SRC0-2 OBJ-3") {
    treadle_routine_config config = {.struct_size = sizeof config, .code = do_nothing, .signature = "v", .info = &scene.destroyed,
                                     .destroy = count};
    treadle_routine routine;
    memset(&scene, 0, sizeof scene);
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    for (int round = 0; round < 3; round++) on_thread(create_source, routine);
    CHECK_INT(scene.destroyed, 0);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    CHECK_INT(scene.destroyed, 1); /* none of the sources keeps it */
}

/* --- Values of threads ------------------------------------------------------------------------------- */

static void *do_not_start(void *info) { return info; }
static void end_with_value(void *value, void *info) {
    (void)value, (void)info;
    end_thread();
}
static void *use_value(void *unused) {
    treadle_thread_use_value(scene.other, "key", end_with_value, NULL);
    CHECK(!"it returned");
    return unused;
}
static void count_and_end_thread(void *number) {
    count(number);
    end_thread();
}
static void *remove_value(void *unused) {
    treadle_thread_remove_value(scene.other, "key");
    CHECK(!"it returned");
    return unused;
}
static void *replace_value(void *unused) {
    treadle_thread_set_value(scene.other, "key", &scene.arguments, count);
    CHECK(!"it returned");
    return unused;
}
static void set_up_value(treadle_release_fn release) {
    memset(&scene, 0, sizeof scene);
    scene.other = thread_make(do_not_start, NULL);
    CHECK_INT(treadle_thread_set_value(scene.other, "key", &scene.targets, release), TREADLE_OK);
}
static void expect_end_of_thread(void) {
    CHECK_INT(treadle_thread_release(scene.other), TREADLE_OK);
    CHECK(is_gone(scene.other));
    CHECK_INT(scene.targets, 1);
}
TEST(a_thread_may_end_while_it_uses_a_value_of_another, "THR-12") {
    set_up_value(count);
    on_thread(use_value, NULL);
    CHECK_INT(scene.targets, 0);
    CHECK_INT(treadle_thread_remove_value(scene.other, "key"), TREADLE_OK);
    CHECK_INT(scene.targets, 1);
    expect_end_of_thread();
}
TEST(the_release_of_a_value_may_end_the_thread, "THR-12") {
    set_up_value(count_and_end_thread);
    on_thread(remove_value, NULL);
    CHECK_INT(scene.targets, 1);
    expect_end_of_thread();
    set_up_value(count_and_end_thread);
    on_thread(replace_value, NULL);
    CHECK_INT(scene.arguments, 0);
    expect_end_of_thread();
    CHECK_INT(scene.arguments, 1);
}

/* --- What the process has one of ---------------------------------------------------------------------- */

/* `set` installs a function that ends its thread, or nothing again; `call` has it called. */
static void expect_given_back(treadle_status (*set)(bool is_installed), void *(*call)(void *)) {
    memset(&scene, 0, sizeof scene);
    CHECK_INT(set(true), TREADLE_OK);
    on_thread(call, NULL);
    CHECK_INT(scene.destroyed, 0);
    CHECK_INT(set(false), TREADLE_OK);
    CHECK_INT(scene.destroyed, 1);
}
static bool end_in_last_resort(treadle_thread thread, const char *kind, const char *message, void *info) {
    (void)thread, (void)kind, (void)message, (void)info;
    end_thread();
    return true;
}
static treadle_status set_last_resort(bool is_installed) {
    return is_installed ? treadle_set_last_resort(end_in_last_resort, &scene.destroyed, count) : treadle_set_last_resort(NULL, NULL, NULL);
}
static void *report_error(void *unused) {
    treadle_report_error("kind", "message");
    CHECK(!"it returned");
    return unused;
}
TEST(a_last_resort_that_ends_its_thread_goes_back, "THR-19") { expect_given_back(set_last_resort, report_error); }

static void end_in_log(const char *message, void *info) {
    (void)message, (void)info;
    end_thread();
}
static treadle_status set_log(bool is_installed) {
    return is_installed ? treadle_set_log(end_in_log, &scene.destroyed, count) : treadle_set_log(NULL, NULL, NULL);
}
static void *fail(void *unused) {
    treadle_signature_parse(NULL, NULL);
    CHECK(!"it returned");
    return unused;
}
TEST(a_log_function_that_ends_its_thread_goes_back, "THR-19") { expect_given_back(set_log, fail); }

TEST_MAIN()
