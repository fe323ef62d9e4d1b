/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * release_exit_test.c: functions outside of callbacks that end the thread which calls them: releases, destroys and notifications.
 * Whoever waits for what they belong to goes on, and what follows them happens all the same. */
#include "helpers.h"

#ifdef __GLIBC__ /* where pthread_exit unwinds */
static atomic_int given, calls;
static void give(void *info) { (void)info, given++; }
static void give_and_end_thread(void *info) {
    (void)info, given++;
    pthread_exit(NULL);
}
static void do_nothing(void) {}
static void *return_it(void *info) { return info; }

/* --- Starting ---------------------------------------------------------------------------------------- */

static void end_thread_told(uint32_t name, void *object, void *info) {
    (void)name, (void)object, (void)info, calls++;
    pthread_exit(NULL);
}
static void *start(void *thread) {
    treadle_thread_start(thread);
    CHECK(!"it returned");
    return NULL;
}
/* The first of all starts in this process. */
TEST(a_thread_is_started_though_the_first_start_has_ended_its_thread, "THR-2 NOTE-1") {
    treadle_notification_config config = {.struct_size = sizeof config, .name = TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED, .fn = end_thread_told};
    uint64_t token = 0;
    treadle_thread thread = NULL;
    uint32_t state = 77;
    calls = 0;
    CHECK_INT(treadle_notification_add(&config, &token), TREADLE_OK);
    CHECK_INT(create_thread(return_it, NULL, NULL, &thread), TREADLE_OK);
    on_thread(start, thread);
    CHECK_INT(calls, 1);
    CHECK_INT(treadle_thread_get_state(thread, &state), TREADLE_OK);
    CHECK_INT(state, TREADLE_THREAD_CREATED);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
    CHECK_INT(calls, 1);
    CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
    CHECK_INT(treadle_release(thread), TREADLE_OK);
    CHECK_INT(treadle_get_kind(thread, &(uint32_t){0}), TREADLE_E_STALE);
}
static void *start_and_wait(void *thread) {
    treadle_thread_start_and_wait(thread, TREADLE_FOREVER);
    CHECK(!"it returned");
    return NULL;
}
TEST(the_start_of_a_cancelled_thread_may_end_the_caller_s, "THR-5 THR-4 OBJ-4") {
    void *(*const starts[])(void *) = {start, start_and_wait};
    for (int i = 0; i < 2; i++) {
        treadle_thread thread = NULL;
        given = 0;
        CHECK_INT(create_thread(return_it, NULL, give_and_end_thread, &thread), TREADLE_OK);
        CHECK_INT(treadle_thread_cancel(thread), TREADLE_OK);
        on_thread(starts[i], thread);
        CHECK_INT(given, 1);
        CHECK_INT(treadle_thread_start_and_wait(thread, TREADLE_FOREVER), TREADLE_E_STATE);
        CHECK_INT(treadle_release(thread), TREADLE_OK);
        CHECK_INT(treadle_get_kind(thread, &(uint32_t){0}), TREADLE_E_STALE);
    }
}

/* --- The last reference ------------------------------------------------------------------------------ */

static void *release_it(void *object) {
    treadle_release(object);
    CHECK(!"it returned");
    return NULL;
}
/* Its destroy, and the releases of its values. */
TEST(a_thread_that_never_starts_gives_all_back_whatever_ends_its_releaser, "THR-4 THR-12 OBJ-4") {
    treadle_thread thread = NULL;
    given = 0;
    CHECK_INT(create_thread(return_it, NULL, give_and_end_thread, &thread), TREADLE_OK);
    CHECK_INT(treadle_thread_set_value(thread, "one", &given, give_and_end_thread), TREADLE_OK);
    CHECK_INT(treadle_thread_set_value(thread, "two", &given, give), TREADLE_OK);
    on_thread(release_it, thread);
    CHECK_INT(given, 3);
    CHECK_INT(treadle_get_kind(thread, &(uint32_t){0}), TREADLE_E_STALE);
}
TEST(an_item_gives_its_routine_up_though_its_release_has_ended_the_thread, "OBJ-4") {
    treadle_routine_config config = {.struct_size = sizeof config, .code = do_nothing, .signature = "v", .destroy = give_and_end_thread};
    treadle_routine routine = NULL;
    treadle_source source = NULL;
    given = 0;
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    treadle_source_context context = {.struct_size = sizeof context, .perform_routine = routine, .release = give_and_end_thread};
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_release(routine), TREADLE_OK);
    on_thread(release_it, source);
    CHECK_INT(given, 2);
    CHECK_INT(treadle_get_kind(source, &(uint32_t){0}), TREADLE_E_STALE);
    CHECK_INT(treadle_get_kind(routine, &(uint32_t){0}), TREADLE_E_STALE);
}
#endif

TEST_MAIN()
