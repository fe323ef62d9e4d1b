/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_kill.h: a plugin is told to end at a point that it has reached for certain, by somebody; and what must be true then. */
#ifndef TREADLE_TEST_PLUGIN_KILL_H
#define TREADLE_TEST_PLUGIN_KILL_H

#include "plugins.h"

/* Who ends the plugin, and when. */
enum who {
    BY_ITSELF,  /* the callback that is the point */
    BY_ANOTHER, /* a thread that only looks, while the callback is in the middle; again when that has returned */
    BY_WAITER,  /* a thread that waits while the callback is in the middle */
    BEFORE,     /* a thread, when the callback is queued and has not begun */
    WAYS
};
static const char *const who_names[WAYS] = {"by itself", "by another", "by a waiter", "before"};

/* The point: its plugin, its step, and what has come of it. */
static treadle_plugin victim;
static const char *victim_name, *point;
static enum who who_ends;
static atomic_int reached, steps, deinits;
static atomic_bool has_begun; /* whoever begins the point has left the plugin */
static sem_t at_point, go_from_point, is_made;
static _Atomic int32_t waiter_status; /* of a call of the plugin's that waits */
static treadle_status own_status;     /* of the point's own close */

static treadle_status pass_point(const treadle_plugin_host *host, const char *who, const char *what) {
    int status;
    (void)who;
    atomic_fetch_add(&steps, 1);
    if (sscanf(what, "waiter %d", &status) == 1) waiter_status = status;
    if (strcmp(what, "made") == 0) sem_post(&is_made);
    if (strcmp(what, "deinit") == 0) atomic_fetch_add(&deinits, 1);
    if (strcmp(what, point) == 0 && atomic_fetch_add(&reached, 1) == 0) {
        victim = host->plugin;
        CHECK_INT(treadle_retain(victim), TREADLE_OK);
        while (!has_begun) sched_yield();
        if (who_ends == BY_ITSELF) own_status = treadle_plugin_close(victim, TREADLE_FOREVER);
        sem_post(&at_point);
        if (who_ends == BY_ANOTHER || who_ends == BY_WAITER) await(&go_from_point);
    }
    return TREADLE_OK;
}
HELPER void begin_point(const char *plugin, const char *name, enum who who) {
    victim_name = plugin, point = name, who_ends = who;
    reached = steps = deinits = 0;
    has_begun = false;
    waiter_status = 99;
    own_status = 99;
    given_code = NULL;
    sem_init(&at_point, 0, 0), sem_init(&go_from_point, 0, 0), sem_init(&is_made, 0, 0);
    on_step = pass_point;
    said[0] = 0;
}
#define POINT_CHECK(condition)                                                                                            \
    do {                                                                                                                  \
        if (!(condition)) check_failed(__FILE__, __LINE__, "%s, %s: not true: %s", point, who_names[who_ends], #condition); \
    } while (0)

/* While the loop sleeps it is woken: some points are at its passes. */
HELPER void await_point(treadle_loop loop) {
    while (sem_trywait(&at_point) != 0) {
        if (loop) treadle_loop_wake(loop);
        sched_yield();
    }
}
HELPER bool has_holder(uint32_t kind) {
    treadle_scope_holder holders[16];
    size_t count;
    bool is_found = false;
    CHECK_INT(treadle_scope_copy_holders(victim, holders, sizeof(treadle_scope_holder), 16, &count), TREADLE_OK);
    for (size_t i = 0; i < count && i < 16; i++) is_found = is_found || (holders[i].kind == kind && holders[i].held_ns > 0);
    for (size_t i = 0; !is_found && i < count && i < 16; i++) fprintf(stderr, "a holder of kind %u in %d\n", holders[i].kind, holders[i].thread_id);
    return is_found;
}
HELPER void *close_and_wait(void *out_status) {
    *(treadle_status *)out_status = treadle_plugin_close(victim, TREADLE_FOREVER);
    return NULL;
}
/* The point was reached, and the plugin is ended as `who_ends` says; what is in the middle holds it, and is told. */
HELPER void end_at_point(uint32_t holder) {
    pthread_t thread;
    treadle_status status = 99;
    if (who_ends == BY_ITSELF) {
        POINT_CHECK(own_status == TREADLE_DEFERRED);
    } else if (who_ends == BY_ANOTHER) {
        POINT_CHECK(treadle_plugin_close(victim, 0) == TREADLE_E_TIMEOUT);
        POINT_CHECK(has_holder(holder));
        POINT_CHECK(is_mapped(victim_name));
        sem_post(&go_from_point);
    } else if (who_ends == BY_WAITER) {
        CHECK_INT(pthread_create(&thread, NULL, close_and_wait, &status), 0);
        while (treadle_is_valid(victim)) sched_yield();
        sem_post(&go_from_point);
        CHECK_INT(pthread_join(thread, NULL), 0);
        POINT_CHECK(status == TREADLE_OK);
    }
    POINT_CHECK(treadle_plugin_close(victim, TREADLE_FOREVER) == TREADLE_OK);
}
HELPER void be_performed(void *target, void *argument) { (void)target, (void)argument; }
/* Nothing of it is left, nor called any more. */
HELPER void check_end(treadle_loop loop) {
    int before = steps;
    POINT_CHECK(deinits == 1);
    POINT_CHECK((reached > 0) == (who_ends != BEFORE));
    POINT_CHECK(!is_mapped(victim_name));
    POINT_CHECK(!treadle_is_valid(victim));
    if (loop) {
        treadle_request request = {.struct_size = sizeof request, .fn = be_performed, .target = &steps};
        for (int i = 0; i < 3; i++) CHECK_INT(perform_on(loop, &request, NULL, 0, TREADLE_PERFORM_WAIT), TREADLE_OK);
    }
    POINT_CHECK(steps == before);
    if (reached > 0) CHECK_INT(treadle_release(victim), TREADLE_OK);
    sem_destroy(&at_point), sem_destroy(&go_from_point), sem_destroy(&is_made);
}

#endif
