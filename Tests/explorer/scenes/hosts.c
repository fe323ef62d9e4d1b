/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * hosts.c: a host's events on one thread, while another makes the host quiet, takes its tokens, or registers one in its place. */
#include "owner.h"

static treadle_host hosts[2], other_host;
static int used_by_events;
static uint64_t use(uint64_t ticket, const treadle_event *event) {
    REQUIRE(event->token == 1);
    used_by_events++;
    return ~ticket;
}
static treadle_host register_host(treadle_dispatch_fn dispatch, void (*enter)(void *), void (*leave)(void *)) {
    treadle_host_config config = {
        .struct_size = sizeof config, .dispatch = dispatch, .thread_enter = enter, .thread_exit = leave, .user = &used_by_events};
    treadle_host made;
    REQUIRE_OK(treadle_host_register(&config, &made));
    return made;
}

/* Behind the quiesce no event begins, and it has what the events wrote. */
static void have_an_event(treadle_host host) {
    REQUIRE_OK(treadle_host_post(host, 1, loop));
    REQUIRE(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY) == TREADLE_RUN_TIMED_OUT);
    REQUIRE(used_by_events == 1);
}
static void post_an_event(void) {
    hosts[0] = register_host(use, NULL, NULL);
    have_an_event(hosts[0]); /* the host is told of the thread now, which takes long */
    used_by_events = 0;
    REQUIRE_OK(treadle_host_post(hosts[0], 1, loop));
}
SCENE(a_host_becomes_quiet_against_its_event, "ABI-3, ABI-5") {
    pthread_t owner = start_owner(post_an_event);
    REQUIRE_OK(treadle_host_quiesce(hosts[0], TREADLE_FOREVER));
    uint64_t dropped;
    REQUIRE_OK(treadle_host_get_dropped(hosts[0], &dropped));
    REQUIRE(used_by_events + (int)dropped <= 1);
    used_by_events = 2;
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(used_by_events == 2);
}

/* The token of a post that its loop discards is retired, and then taken once; what the count tells is there. */
static void *end_a_loop(void *info) {
    loop = treadle_loop_current();
    REQUIRE_OK(treadle_host_post(hosts[0], 1, loop));
    return info;
}
SCENE(a_token_is_retired_while_it_is_asked_for, "ABI-2") {
    hosts[0] = register_host(use, NULL, NULL);
    const uint64_t *count = treadle_host_get_retired_count(hosts[0]);
    explore_from_here();
    pthread_t other = start(end_a_loop, NULL);
    uint64_t token = 0;
    size_t taken = 0;
    bool was_there = atomic_load_explicit((const _Atomic uint64_t *)count, memory_order_relaxed) != 0;
    REQUIRE_OK(treadle_host_take_retired(hosts[0], &token, 1, &taken));
    if (was_there) REQUIRE(taken == 1);
    join(other);
    if (taken == 0) REQUIRE_OK(treadle_host_take_retired(hosts[0], &token, 1, &taken));
    REQUIRE(taken == 1 && token == 1 && used_by_events == 0);
}

/* A host gets the slot of one that has ended, while a thread that knew that one gets an event of a third: the thread enters it. */
static counter entered;
static void note_entry(void *user) {
    (void)user;
    count(&entered);
}
static void require_entry(void *user) {
    (void)user;
    REQUIRE(counted(&entered) == 1);
}
static uint64_t use_and_stop(uint64_t ticket, const treadle_event *event) {
    REQUIRE(counted(&entered) == 1);
    REQUIRE_OK(treadle_loop_stop(loop));
    return use(ticket, event);
}
static void know_a_host_that_ends(void) {
    treadle_scope scope;
    treadle_scope_config config = {.struct_size = sizeof config};
    uint64_t token;
    size_t taken;
    REQUIRE_OK(treadle_scope_create(&config, &scope));
    REQUIRE_OK(treadle_scope_enter(scope));
    hosts[0] = register_host(use, NULL, NULL);
    REQUIRE_OK(treadle_scope_leave(scope));
    other_host = register_host(use, NULL, NULL);
    have_an_event(hosts[0]);
    REQUIRE_OK(treadle_host_take_retired(hosts[0], &token, 1, &taken));
    REQUIRE_OK(treadle_close(scope, TREADLE_FOREVER));
    REQUIRE_OK(treadle_release(scope));
    REQUIRE_OK(treadle_host_post(other_host, 1, loop));
}
SCENE(a_host_gets_the_slot_of_one_that_a_thread_knew, "ABI-3, SCOPE-2") {
    pthread_t owner = start_owner(know_a_host_that_ends);
    hosts[1] = register_host(use_and_stop, note_entry, require_entry);
    REQUIRE_OK(treadle_host_post(hosts[1], 1, loop));
    join_owner(owner);
    REQUIRE(used_by_events == 3);
}

/* The same while that thread ends: it does not leave a host that it has not entered. */
static void *know_a_host_that_ends_and_end(void *info) {
    loop = treadle_loop_current();
    know_a_host_that_ends();
    explore_from_here();
    set(&is_there);
    return info;
}
SCENE(a_host_gets_the_slot_of_one_while_a_thread_that_knew_it_ends, "ABI-3, SCOPE-2") {
    pthread_t owner = start(know_a_host_that_ends_and_end, NULL);
    await(&is_there);
    hosts[1] = register_host(use_and_stop, note_entry, require_entry);
    join(owner);
    REQUIRE(used_by_events == 1 && counted(&entered) == 0);
}

/* Waits of a host take part in the search for circles: of two that wait for each other one is refused. */
static treadle_loop loops[2];
static uint32_t words[2];
static counter refused;
static treadle_status wait_for_word(int own) {
    treadle_status status;
    do {
        status = treadle_host_wait(loops[1 - own], &words[own], TREADLE_FOREVER);
    } while (status == TREADLE_E_TIMEOUT); /* it sleeps once */
    return status;
}
static void *wait_for_the_other(void *which) {
    int own = (int)(intptr_t)which;
    treadle_status status = wait_for_word(own);
    REQUIRE(status == TREADLE_OK || status == TREADLE_E_DEADLOCK);
    if (status == TREADLE_E_DEADLOCK) {
        count(&refused);
        REQUIRE_OK(treadle_host_end_wait(&words[1 - own]));
    }
    return which;
}
static void *wait_with_a_loop(void *which) {
    loops[1] = treadle_loop_current();
    REQUIRE(treadle_thread_current() != NULL);
    explore_from_here();
    set(&is_there);
    return wait_for_the_other(which);
}
SCENE(two_waits_of_a_host_for_each_other, "PERF-7, ABI-1") {
    loops[0] = treadle_loop_current();
    REQUIRE(treadle_thread_current() != NULL);
    pthread_t other = start(wait_with_a_loop, (void *)1);
    await(&is_there);
    wait_for_the_other(NULL);
    join(other);
    REQUIRE(counted(&refused) == 1);
}

/* A wait that was ended keeps nobody from a wait for its thread, also before that knows of the end. */
static void stop_first(void *target, void *argument) {
    (void)target, (void)argument;
    REQUIRE_OK(treadle_loop_stop(loops[0]));
}
static void *end_and_ask(void *info) {
    treadle_request request = {.struct_size = sizeof request, .fn = stop_first, .flags = TREADLE_PERFORM_WAIT};
    loops[1] = treadle_loop_current();
    REQUIRE(treadle_thread_current() != NULL);
    explore_from_here();
    set(&is_there);
    REQUIRE_OK(treadle_host_end_wait(&words[0]));
    REQUIRE_OK(treadle_perform(loops[0], &request));
    return info;
}
SCENE(a_wait_of_a_host_that_was_ended, "PERF-7, ABI-1") {
    loops[0] = treadle_loop_current();
    REQUIRE(treadle_thread_current() != NULL);
    pthread_t other = start(end_and_ask, NULL);
    await(&is_there);
    REQUIRE_OK(wait_for_word(0));
    treadle_status status = treadle_loop_run(loops[0], TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY);
    REQUIRE(status == TREADLE_RUN_STOPPED);
    join(other);
}
