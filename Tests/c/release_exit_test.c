/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * release_exit_test.c: functions outside of callbacks that end the thread which calls them: releases, destroys, notifications, and
 * comparisons of requests. Waiters for the object go on, and the rest of the object's end happens all the same. */
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

/* --- Requests ---------------------------------------------------------------------------------------- */

static void be_performed(void *target, void *argument) { (void)target, (void)argument, calls++; }
static sem_t is_there;
static treadle_loop loop;
static void *run_until_it_ends(void *unused) {
    loop = treadle_loop_current();
    treadle_source keeper = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add(loop, keeper, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_release(keeper), TREADLE_OK);
    sem_post(&is_there);
    treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0);
    CHECK(!"it returned");
    return unused;
}
TEST(who_waits_for_a_request_goes_on_though_its_release_has_ended_the_thread, "PERF-2") {
    pthread_t runner;
    given = calls = 0;
    CHECK_INT(sem_init(&is_there, 0, 0), 0);
    CHECK_INT(pthread_create(&runner, NULL, run_until_it_ends, NULL), 0);
    await(&is_there);
    treadle_request request = {.struct_size = sizeof request, .fn = be_performed, .target = &given, .release_target = give_and_end_thread,
                               .argument = &given, .release_argument = give, .flags = TREADLE_PERFORM_WAIT};
    CHECK_INT(treadle_perform(loop, &request), TREADLE_OK);
    CHECK_INT(pthread_join(runner, NULL), 0);
    CHECK(calls == 1 && given == 2);
}

static void *cancel_delayed(void *scope) {
    treadle_request request = {.struct_size = sizeof request, .fn = be_performed, .target = &given};
    treadle_release_fn releases[] = {give, give_and_end_thread, give};
    if (scope) CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    for (int i = 0; i < 3; i++) {
        request.release_target = releases[i];
        CHECK_INT(perform_after(SECONDS(1000), &request, NULL, 0), TREADLE_OK);
    }
    if (scope) CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    treadle_perform_cancel(&(treadle_request){.struct_size = sizeof request, .target = &given});
    CHECK(!"it returned");
    return NULL;
}
static int32_t end_thread_compared(void *one, void *other) {
    (void)one, (void)other, calls++;
    pthread_exit(NULL);
}
static void *cancel_compared(void *scope) {
    treadle_request request = {.struct_size = sizeof request, .fn = be_performed, .target = &given, .release_target = give};
    treadle_request like = {.struct_size = sizeof like, .fn = be_performed, .target = &given, .argument = &calls};
    if (scope) CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    request.argument = &calls;
    CHECK_INT(perform_after(SECONDS(1000), &request, NULL, 0), TREADLE_OK);
    request.argument = NULL;
    request.equal = end_thread_compared;
    CHECK_INT(perform_after(SECONDS(1000), &request, NULL, 0), TREADLE_OK);
    if (scope) CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    treadle_perform_cancel(&like);
    CHECK(!"it returned");
    return NULL;
}
TEST(a_cancelled_request_is_released_whatever_ends_the_thread, "PERF-15 SCOPE-2") {
    void *(*const cancels[])(void *) = {cancel_delayed, cancel_compared};
    const int counts[] = {3, 2};
    for (int i = 0; i < 4; i++) {
        treadle_scope scope = NULL;
        treadle_scope_config config = {.struct_size = sizeof config};
        if (i % 2) CHECK_INT(treadle_scope_create(&config, &scope), TREADLE_OK);
        given = calls = 0;
        on_thread(cancels[i / 2], scope);
        CHECK_INT(given, counts[i / 2]);
        CHECK_INT(calls, i / 2);
        if (!scope) continue;
        CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_release(scope), TREADLE_OK);
        CHECK_INT(treadle_get_kind(scope, &(uint32_t){0}), TREADLE_E_STALE);
    }
}

/* --- Completions ------------------------------------------------------------------------------------- */

/* The completion of a call is dropped with its loop: its release is called by the thread that cancels the call. */
static void *remember_loop(void *out) {
    CHECK_INT(treadle_loop_retain(treadle_loop_current()), TREADLE_OK);
    *(treadle_loop *)out = treadle_loop_current();
    return NULL;
}
static void *cancel_it(void *invocation) {
    treadle_invocation_cancel(invocation);
    CHECK(!"it returned");
    return NULL;
}
TEST(an_invocation_ends_though_the_release_of_its_completion_has_ended_the_thread, "OBJ-4") {
    treadle_invocation_config config = {.struct_size = sizeof config, .code = do_nothing, .signature = "v", .destroy = give};
    treadle_invocation invocation = NULL;
    treadle_loop ended = NULL;
    given = 0;
    on_thread(remember_loop, &ended);
    CHECK_INT(treadle_invocation_create(&config, &invocation), TREADLE_OK);
    treadle_request completion = {.struct_size = sizeof completion, .fn = be_performed, .release_target = give_and_end_thread};
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = treadle_loop_current(), .completion = &completion,
                                          .completion_loop = ended};
    CHECK_INT(treadle_invocation_perform(invocation, &options), TREADLE_OK);
    on_thread(cancel_it, invocation);
    CHECK_INT(given, 1);
    CHECK_INT(treadle_release(invocation), TREADLE_OK);
    CHECK_INT(given, 2);
    CHECK_INT(treadle_get_kind(invocation, &(uint32_t){0}), TREADLE_E_STALE);
    CHECK_INT(treadle_release(ended), TREADLE_OK);
}
#endif

TEST_MAIN()
