/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * reentrancy.h: a callback that calls every function, and does not return before another thread, which
 * started meanwhile, has called them all too: a lock that is held anywhere ends in the watchdog. */
#ifndef TREADLE_TEST_REENTRANCY_H
#define TREADLE_TEST_REENTRANCY_H

#include "all_calls.h"

#define SUBJECT "subject mode" /* of the items whose callbacks are looked at */

static struct {
    treadle_loop loop;
    treadle_host quiet_host, open_host;
    sem_t ask, answer;
    pthread_t thread;
    atomic_int quit;
} other;

/* In a host's thread_exit: nothing more is made for the thread, which has been torn down. */
static _Thread_local bool is_torn_down;

/* Is this an answer that a correct call may get here? */
static bool acceptable(const struct call *call, int64_t result) {
    if (!returns_status(call) || result >= 0) return true;
    switch (result) {
    case TREADLE_E_WRONG_THREAD:
        return strncmp(call->name, "treadle_loop_run", 16) == 0 || strcmp(call->name, "treadle_host_run") == 0 || strcmp(call->name, "treadle_loop_next") == 0 ||
               strcmp(call->name, "treadle_loop_open_pollable") == 0 || strcmp(call->name, "treadle_loop_prepare") == 0 ||
               strcmp(call->name, "treadle_loop_dispatch") == 0;
    case TREADLE_E_NOT_FOUND: return strncmp(call->name, "treadle_loop_copy_", 18) == 0 || strcmp(call->name, "treadle_loop_get_current_mode") == 0;
    case TREADLE_E_CLOSED: /* in a teardown */
        return strstr(call->name, "_post") || strncmp(call->name, "treadle_perform__", 17) == 0 ||
               strcmp(call->name, "treadle_invocation_perform") == 0;
    case TREADLE_E_NOMEM: return strcmp(call->name, "treadle_host_register") == 0;
    case TREADLE_E_ARG: return is_torn_down; /* of what was not made */
    case TREADLE_E_STATE: /* the table starts a thread in its middle, and ends it */
        if (is_torn_down) return true;
        if (strncmp(call->name, "treadle_trace_st", 16) == 0) return true; /* another thread starts and stops the trace */
        if (strcmp(call->name, "treadle_timer_start") == 0) return true; /* in a teardown it has no loop to start in */
        return strcmp(call->name, "treadle_descriptor_set_events") == 0 || strcmp(call->name, "treadle_get_pthread__thread") == 0 ||
               strncmp(call->name, "treadle_thread_", 15) == 0;
    case TREADLE_E_TIMEOUT: /* one only looks whether what it waits for is over */
        if (strcmp(call->name, "treadle_host_wait") == 0) return true;
        return strstr(call->name, "_close") || strstr(call->name, "_quiesce");
    case TREADLE_E_DEADLOCK: return strstr(call->name, "_close") || strstr(call->name, "_quiesce");
    default: return false;
    }
}

/* Calls everything once, with items of its own in a mode of its own. */
static void call_everything(void) {
    struct handles handles = {0};
    char mode[32];
    snprintf(mode, sizeof mode, "mode of %d", thread_id());
    handles_make(&handles, other.loop, mode);
    for (int i = 0; i < CALL_COUNT; i++) {
        if (strcmp(calls[i].name, "treadle_plugin_serve") == 0) continue; /* runs until its host has gone: isolated_test.c */
        if (strcmp(calls[i].name, "treadle_shutdown") == 0) continue; /* for good: shutdown_test.c has it */
        handles.of[HOST] = strstr(calls[i].name, "_quiesce") ? other.quiet_host : other.open_host;
        int64_t result = calls[i].call(&handles);
        if (!acceptable(&calls[i], result)) check_failed(__FILE__, __LINE__, "%s gave %d", calls[i].name, (int)result);
    }
    handles_end(&handles);
}

HELPER void *call_on_demand(void *unused) {
    for (await(&other.ask); !atomic_load(&other.quit); await(&other.ask)) {
        call_everything();
        sem_post(&other.answer);
    }
    return unused;
}

/* The body of every callback: once for each, lest nested runs go on for ever. */
struct spot {
    const char *name;
    atomic_int seen;
};
HELPER void meet(struct spot *spot) {
    if (atomic_fetch_add(&spot->seen, 1) >= 1) return;
    sem_post(&other.ask);
    call_everything();
    await(&other.answer);
}

HELPER void begin(void) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = call_dispatch};
    other.loop = treadle_loop_current();
    sem_init(&other.ask, 0, 0);
    sem_init(&other.answer, 0, 0);
    CHECK_INT(treadle_host_register(&config, &other.open_host), TREADLE_OK);
    CHECK_INT(treadle_host_register(&config, &other.quiet_host), TREADLE_OK);
    CHECK_INT(pthread_create(&other.thread, NULL, call_on_demand, NULL), 0);
}
HELPER void end(void) {
    atomic_store(&other.quit, 1);
    sem_post(&other.ask);
    pthread_join(other.thread, NULL);
}
/* Runs until every spot was seen: the calls stop runs on their way. */
HELPER void run_until_seen(struct spot *spots, int count) {
    for (int i = 0; i < count; i++)
        while (!atomic_load(&spots[i].seen)) treadle_loop_run(other.loop, SUBJECT, MILLISECONDS(1), 0);
}

#endif
