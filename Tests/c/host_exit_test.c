/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host_exit_test.c: a thread that ends in a call into a host is in flight no longer as soon as that has been left, with its
 * clean-up, and not before. */
#include "closures.h"

static bool is_cancelled;
static treadle_host outer_host, inner_host;
static atomic_int cleaned, outer_cleaned;

static void end_here(void) {
    if (!is_cancelled) pthread_exit(NULL);
    pthread_cancel(pthread_self());
    pthread_testcancel();
}
static void overwrite(void) {
    char room[2048];
    memset(room, 0xA5, sizeof room); /* where the frames were that have been left */
    __asm__ volatile("" : : "r"(room) : "memory");
}
static void *quiesce(void *host) { return (void *)(intptr_t)treadle_host_quiesce(host, 0); }
/* Whether a call into a host is in flight, seen by a thread that is not inside. */
static bool is_in_flight(treadle_host host) {
    treadle_status status = (treadle_status)(intptr_t)on_thread(quiesce, host);
    CHECK(status == TREADLE_OK || status == TREADLE_E_TIMEOUT);
    return status != TREADLE_OK;
}

static void clean(void *info) {
    overwrite();
    if (info) CHECK(is_in_flight(info));
    cleaned++;
}
static uint64_t end_in_dispatch(uint64_t ticket, const treadle_event *event) {
    if (event->kind == TREADLE_EVENT_CANCEL) return ~ticket;
    pthread_cleanup_push(clean, inner_host);
    overwrite();
    end_here();
    pthread_cleanup_pop(0);
    return ~ticket;
}
static treadle_host register_host(treadle_host_config config) {
    treadle_host host = NULL;
    config.struct_size = sizeof config;
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    return host;
}

/* --- The ways into a host -------------------------------------------------------------------------- */

static treadle_source signalled(treadle_host host) {
    treadle_source source = NULL;
    treadle_source_context context = {.struct_size = sizeof context, .host = host, .token = 1};
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_release(source), TREADLE_OK);
    return source;
}
static void *perform(void *host) {
    signalled(host);
    return (void *)(intptr_t)poll_mode(TREADLE_DEFAULT_MODE);
}
static void *post(void *host) {
    CHECK_INT(treadle_host_post(host, 1, treadle_loop_current()), TREADLE_OK);
    return (void *)(intptr_t)poll_mode(TREADLE_DEFAULT_MODE);
}
static void *run_by_host(void *host) {
    signalled(host);
    return (void *)(intptr_t)treadle_host_run(host, treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, 0);
}
static void *fire(void *host) {
    treadle_timer timer = NULL;
    treadle_timer_context context = {.struct_size = sizeof context, .host = host, .token = 1, .fire_at = FAR_AWAY};
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    treadle_timer_fire(timer);
    return NULL;
}
static void *call_directly(void *host) {
    treadle_request request = {.struct_size = sizeof request, .host = host, .token = 1, .flags = TREADLE_PERFORM_WAIT};
    treadle_perform(treadle_thread_current(), &request);
    return NULL;
}
static void *close_pool(void *host) {
    uint64_t pool;
    CHECK_INT(treadle_pool_push(&pool), TREADLE_OK);
    CHECK_INT(treadle_host_pool_add(host, 1), TREADLE_OK);
    treadle_pool_pop(pool);
    return NULL;
}
static void *notify(void *host) {
    uint64_t token;
    treadle_notification_config config = {.struct_size = sizeof config, .name = TREADLE_NOTIFY_PORT_INVALID, .host = host, .token = 1};
    treadle_port_context context = {.struct_size = sizeof context};
    treadle_port port;
    CHECK_INT(treadle_notification_add(&config, &token), TREADLE_OK);
    CHECK_INT(treadle_port_create(&context, &port), TREADLE_OK);
    treadle_invalidate(port);
    return NULL;
}

static void *(*const ways[])(void *) = {perform, post, run_by_host, fire, call_directly, close_pool, notify};
TEST(a_thread_that_ends_in_a_call_of_a_host_is_in_flight_until_that_is_left, "SCOPE-3 ABI-3") {
    for (int round = 0; round < 2 * (int)(sizeof ways / sizeof *ways); round++) {
        is_cancelled = round % 2;
        cleaned = 0;
        inner_host = register_host((treadle_host_config){.dispatch = end_in_dispatch});
        on_thread(ways[round / 2], inner_host);
        CHECK_INT(cleaned, 1);
        CHECK_INT(treadle_host_quiesce(inner_host, 0), TREADLE_OK);
    }
}

/* --- Calls inside of calls --------------------------------------------------------------------------- */

static void clean_outer(void *info) {
    overwrite();
    CHECK_INT(cleaned, 1);
    CHECK(!is_in_flight(inner_host));
    CHECK(is_in_flight(info));
    outer_cleaned++;
}
static uint64_t run_in_dispatch(uint64_t ticket, const treadle_event *event) {
    (void)event;
    pthread_cleanup_push(clean_outer, outer_host);
    signalled(inner_host);
    poll_mode(TREADLE_DEFAULT_MODE);
    pthread_cleanup_pop(0);
    return ~ticket;
}
TEST(a_call_of_a_host_around_the_one_that_ends_is_in_flight_until_it_is_left, "SCOPE-3 ABI-3") {
    for (int way = 0; way < 2; way++) {
        is_cancelled = way;
        cleaned = outer_cleaned = 0;
        inner_host = register_host((treadle_host_config){.dispatch = end_in_dispatch});
        outer_host = register_host((treadle_host_config){.dispatch = run_in_dispatch});
        on_thread(perform, outer_host);
        CHECK_INT(outer_cleaned, 1);
        CHECK_INT(treadle_host_quiesce(inner_host, 0), TREADLE_OK);
        CHECK_INT(treadle_host_quiesce(outer_host, 0), TREADLE_OK);
    }
}

/* A host that is told of the thread for the first time. */
static void end_in_hook(void *user) {
    pthread_cleanup_push(clean, *(treadle_host *)user);
    end_here();
    pthread_cleanup_pop(0);
}
TEST(a_thread_that_ends_as_its_host_is_told_of_it_is_not_in_flight, "SCOPE-3") {
    for (int way = 0; way < 2; way++) {
        is_cancelled = way;
        cleaned = 0;
        inner_host = register_host((treadle_host_config){.dispatch = end_in_dispatch, .thread_enter = end_in_hook, .user = &inner_host});
        on_thread(perform, inner_host);
        CHECK_INT(cleaned, 1);
        CHECK_INT(treadle_host_quiesce(inner_host, 0), TREADLE_OK);
    }
}

TEST_MAIN()
