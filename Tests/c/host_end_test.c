/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host_end_test.c: a host of a scope or a plugin ends with that, and its place is another host's: as many may come and go as like. */
#include "plugins.h"
#include "host_items.h"

#include "../plugins/settling.h"

enum { MOST = 63 };
static atomic_int events, entered, exited;
static treadle_host expected; /* whose event is due */

static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    (void)event;
    events++;
    return ~ticket;
}
static void enter(void *user) { (void)user, entered++; }
static void leave(void *user) { (void)user, exited++; }
static treadle_status try_to_register(treadle_host *out_host) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch, .thread_enter = enter, .thread_exit = leave};
    return treadle_host_register(&config, out_host);
}
static treadle_host make_host_in(treadle_scope scope) {
    treadle_host host = NULL;
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    CHECK_INT(try_to_register(&host), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    return host;
}
static void end(treadle_scope scope) {
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
}
static void get_one_event(treadle_host host) {
    events = 0;
    CHECK_INT(treadle_host_post(host, 1, treadle_loop_current()), TREADLE_OK);
    poll_mode(TREADLE_DEFAULT_MODE);
    CHECK_INT(events, 1);
}

TEST(a_host_ends_with_its_scope_and_leaves_its_place, "SCOPE-2 ABI-2") {
    for (int i = 1; i <= 4 * MOST; i++) {
        size_t count;
        treadle_scope scope = make_scope(NULL);
        treadle_host host = make_host_in(scope);
        get_one_event(host);
        /* Each tells of the thread anew. */
        CHECK_INT(entered, i);
        end(scope);
        CHECK_INT(treadle_host_post(host, 1, treadle_loop_current()), TREADLE_E_STALE);
        CHECK_INT(treadle_host_quiesce(host, 0), TREADLE_E_STALE);
        CHECK_INT(treadle_host_take_retired(host, NULL, 0, &count), TREADLE_E_STALE);
    }
    CHECK_INT(exited, 0);
}

TEST(a_plugin_that_has_a_host_can_be_loaded_again_and_again, "PLUG-4 SCOPE-2") {
    const void *extension;
    events = 0;
    for (int i = 1; i <= 3 * MOST; i++) {
        treadle_host host = NULL;
        treadle_plugin plugin = load("settler");
        CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
        CHECK_INT(treadle_plugin_get_extension(plugin, SETTLING, &extension), TREADLE_OK);
        CHECK_INT(((const struct settling *)extension)->make_host(dispatch, &host), TREADLE_OK);
        poll_mode(TREADLE_DEFAULT_MODE);
        CHECK_INT(events, i);
        unload(plugin);
    }
}

/* A dispatch function has ended its post, whose memory another one gets, before it returns: what it returns is not about that. */
static treadle_scope scope_of_posts;
static void post_in_scope(treadle_host host, uint64_t token, const char *mode) {
    CHECK_INT(treadle_scope_enter(scope_of_posts), TREADLE_OK);
    CHECK_INT(host_post_block(host, token, treadle_loop_current(), &mode, 1), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(scope_of_posts), TREADLE_OK);
}
static uint64_t end_and_post(uint64_t ticket, const treadle_event *event) {
    treadle_event next = *event;
    CHECK_INT(host_next(expected, &next, 1, 0), 1);
    events += 2;
    post_in_scope(expected, 3, "never run");
    return ~ticket;
}
TEST(a_post_that_a_scope_cancels_is_retired_wherever_its_memory_was_before, "SCOPE-2 ABI-2 ABI-11") {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = end_and_post};
    uint64_t token = 0;
    size_t count = 1;
    CHECK_INT(treadle_host_register(&config, &expected), TREADLE_OK);
    scope_of_posts = make_scope(NULL);
    events = 0;
    post_in_scope(expected, 1, TREADLE_DEFAULT_MODE);
    post_in_scope(expected, 2, TREADLE_DEFAULT_MODE);
    poll_mode(TREADLE_DEFAULT_MODE);
    CHECK_INT(events, 2);
    CHECK_INT(*treadle_host_get_retired_count(expected), 0);
    end(scope_of_posts);
    CHECK_INT(treadle_host_take_retired(expected, &token, 1, &count), TREADLE_OK);
    CHECK(count == 1 && token == 3);
}

static sem_t is_known, may_end;
static void *know_it(void *host) {
    get_one_event(host);
    sem_post(&is_known);
    await(&may_end);
    return host;
}
TEST(a_thread_tells_no_host_that_has_come_in_the_place_of_one_it_knew, "RL-8 SCOPE-2") {
    pthread_t thread;
    treadle_host second = NULL;
    treadle_scope scope = make_scope(NULL);
    treadle_host first = make_host_in(scope);
    sem_init(&is_known, 0, 0), sem_init(&may_end, 0, 0);
    CHECK_INT(pthread_create(&thread, NULL, know_it, first), 0);
    await(&is_known);
    end(scope);
    CHECK_INT(try_to_register(&second), TREADLE_OK);
    CHECK((uintptr_t)second != (uintptr_t)first);
    sem_post(&may_end);
    CHECK_INT(pthread_join(thread, NULL), 0);
    CHECK_INT(entered, 1);
    CHECK_INT(exited, 0);
    get_one_event(second);
    CHECK_INT(entered, 2);
}

/* How many may be registered now. */
static int count_room(void) {
    treadle_host host;
    treadle_scope scope = make_scope(NULL);
    int count = 0;
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    while (try_to_register(&host) == TREADLE_OK) count++;
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    end(scope);
    return count;
}
TEST(the_place_of_a_host_is_kept_while_there_is_a_token_of_it, "ABI-2 SCOPE-2") {
    treadle_source source = NULL;
    treadle_scope scope = make_scope(NULL);
    treadle_source_context context = {.struct_size = sizeof context, .host = make_host_in(scope), .token = 1};
    CHECK_INT(count_room(), MOST - 1);
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    end(scope);
    events = 0;
    CHECK_INT(count_room(), MOST - 1);
    poll_mode(TREADLE_DEFAULT_MODE);
    CHECK_INT(events, 0); /* it is quiet */
    CHECK_INT(discard(source), TREADLE_OK);
    CHECK_INT(count_room(), MOST);
}

/* --- Others that use its handle meanwhile ------------------------------------------------------------- */

static treadle_host _Atomic current;
static atomic_bool is_over;
static uint64_t count_token(uint64_t ticket, const treadle_event *event) {
    /* Each host's tokens are its own number. */
    CHECK(event->token == (uintptr_t)expected);
    events++;
    return ~ticket;
}
static void *post_to_it(void *loop) {
    while (!is_over) {
        treadle_host host = current;
        treadle_status status = host ? treadle_host_post(host, (uintptr_t)host, loop) : TREADLE_OK;
        CHECK(status == TREADLE_OK || status == TREADLE_E_STALE || status == TREADLE_E_CLOSED);
        sched_yield();
    }
    return NULL;
}
TEST(a_post_to_a_host_that_ends_never_reaches_another_one, "OBJ-11 SCOPE-2") {
    pthread_t threads[2];
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = count_token};
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&threads[i], NULL, post_to_it, treadle_loop_current()), 0);
    events = 0;
    for (int i = 0; i < scaled(300) || events < 30; i++) {
        treadle_host host = NULL;
        treadle_scope scope = make_scope(NULL);
        CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
        CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
        CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
        expected = host;
        current = host;
        sched_yield();
        poll_mode(TREADLE_DEFAULT_MODE);
        end(scope);
        poll_mode(TREADLE_DEFAULT_MODE);
        progress();
    }
    is_over = true;
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    poll_mode(TREADLE_DEFAULT_MODE);
}

TEST_MAIN()
