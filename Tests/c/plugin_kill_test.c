/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_kill_test.c: a plugin is ended at each point where a callback, post, invocation, hop, timer or thread of it is under way:
 * by that itself, by another thread, and before it has begun. Every point of the table is reached, or the test fails. */
#include "plugin_kill.h"

#include "../plugins/busy.h"

/* What comes to a point besides the loop. */
enum needs {
    NOTHING = 0,
    A_CALLER = 1,   /* a thread that calls the closure's pointer, as a C library does */
    AN_EXIT = 2,    /* the end of a thread */
    AT_END = 4,     /* the closing itself: it is begun by a thread of its own */
    HERE = 8,       /* it is made without a loop */
    WAITS = 16,     /* a thread of the plugin's waits for it */
    CAN_WAIT = 32,  /* it can be queued and not begin */
    ONLY_WAITS = 64, /* it never begins */
    WHEN_MADE = 128  /* it may begin while it is being made, which is not meant */
};
static const struct row {
    const char *point, *maker;
    uint32_t holder; /* the kind that goes on then */
    int needs;
} rows[] = {
    {"perform of a source", "a source", TREADLE_KIND_SOURCE, CAN_WAIT},
    {"schedule of a source", "a source", TREADLE_KIND_SOURCE, 0},
    {"cancel of a source", "an ended source", TREADLE_KIND_SOURCE, 0},
    {"cancel of a source", "a source", TREADLE_KIND_SOURCE, AT_END},
    {"retain of a source", "a source", TREADLE_HOLDER_CALL, 0},
    {"release of a source", "an ended source", TREADLE_HOLDER_POST, 0},
    {"release of a source", "a source", TREADLE_KIND_SOURCE, AT_END},
    {"equal of a source", "two sources", TREADLE_KIND_SOURCE, 0},
    {"hash of a source", "a source", TREADLE_HOLDER_CALL, 0},
    {"fire of a timer", "a timer", TREADLE_KIND_TIMER, CAN_WAIT},
    {"fire of a routine", "a timer of a routine", TREADLE_KIND_TIMER, CAN_WAIT},
    {"release of a routine", "a timer of a routine", TREADLE_KIND_TIMER, AT_END},
    {"retain of a timer", "a timer", TREADLE_HOLDER_CALL, 0},
    {"release of a timer", "an ended timer", TREADLE_HOLDER_POST, 0},
    {"release of a timer", "a timer", TREADLE_KIND_TIMER, AT_END},
    {"entry", "a run", TREADLE_KIND_OBSERVER, 0},
    {"before timers", "an observer", TREADLE_KIND_OBSERVER, CAN_WAIT},
    {"before sources", "an observer", TREADLE_KIND_OBSERVER, CAN_WAIT},
    {"before waiting", "an observer", TREADLE_KIND_OBSERVER, CAN_WAIT},
    {"after waiting", "an observer", TREADLE_KIND_OBSERVER, CAN_WAIT},
    {"exit", "a run", TREADLE_KIND_OBSERVER, 0},
    {"before waiting", "a run", TREADLE_KIND_OBSERVER, 0},
    {"retain of an observer", "an observer", TREADLE_HOLDER_CALL, 0},
    {"release of an observer", "an ended observer", TREADLE_HOLDER_POST, 0},
    {"release of an observer", "an observer", TREADLE_KIND_OBSERVER, AT_END},
    {"ready of a descriptor", "a descriptor", TREADLE_KIND_DESCRIPTOR, CAN_WAIT},
    {"get_fd of a descriptor", "a descriptor", TREADLE_KIND_DESCRIPTOR, 0},
    {"retain of a descriptor", "a descriptor", TREADLE_HOLDER_CALL, 0},
    {"release of a descriptor", "an ended descriptor", TREADLE_HOLDER_POST, 0},
    {"release of a descriptor", "a descriptor", TREADLE_KIND_DESCRIPTOR, AT_END},
    {"call of a post", "a post", TREADLE_HOLDER_POST, CAN_WAIT},
    {"release of a post", "a post", TREADLE_HOLDER_POST, 0},
    {"call of a request", "a request", TREADLE_HOLDER_REQUEST, CAN_WAIT},
    {"release of a request", "a request", TREADLE_HOLDER_REQUEST, 0},
    {"release of an argument", "a request", TREADLE_HOLDER_REQUEST, 0},
    {"call of a request", "a request of a thread that waits", TREADLE_HOLDER_REQUEST, WAITS | CAN_WAIT},
    {"call of a request", "a delayed request", TREADLE_HOLDER_REQUEST, CAN_WAIT},
    {"release of a request", "a delayed request", TREADLE_HOLDER_REQUEST, 0},
    {"call of a request", "a request in the background", TREADLE_KIND_THREAD, WHEN_MADE},
    {"call of an invocation", "an invocation", TREADLE_KIND_INVOCATION, CAN_WAIT},
    {"call of a completion", "an invocation", TREADLE_HOLDER_REQUEST, CAN_WAIT},
    {"release of an invocation", "an invocation", TREADLE_KIND_INVOCATION, 0},
    {"call of an invocation", "an invocation of a thread that waits", TREADLE_KIND_INVOCATION, WAITS | CAN_WAIT},
    {"call of a closure", "an inline closure", TREADLE_KIND_CLOSURE, A_CALLER},
    {"call of a closure", "a carried closure", TREADLE_KIND_CLOSURE, A_CALLER | CAN_WAIT},
    {"call of a closure", "a carried closure whose caller waits", TREADLE_KIND_CLOSURE, A_CALLER | CAN_WAIT},
    {"release of a closure", "an ended closure", TREADLE_HOLDER_POST, 0},
    {"release of a closure", "an inline closure", TREADLE_KIND_CLOSURE, AT_END},
    {"main of a thread", "a thread", TREADLE_KIND_THREAD, 0},
    {"main of a thread", "a thread that has not started", TREADLE_KIND_THREAD, ONLY_WAITS | CAN_WAIT},
    {"release of a thread", "a thread", TREADLE_KIND_THREAD, 0},
    {"release of a thread", "a thread that has not started", TREADLE_KIND_THREAD, AT_END},
    {"call of a hop", "a worker with a post", TREADLE_HOLDER_POST, 0},
    {"use of a value", "a value of a dictionary", TREADLE_HOLDER_POST, 0},
    {"release of a value", "a value of a dictionary", TREADLE_HOLDER_POST, 0},
    {"release of a value", "a value that is left", TREADLE_HOLDER_VALUE, AT_END},
    {"release of a pool", "a release that is put off", TREADLE_HOLDER_POOLED, 0},
    {"release of a pool", "a release that is put off", TREADLE_HOLDER_POOLED, AT_END | HERE},
    {"call of a notification", "a notification", TREADLE_HOLDER_NOTIFICATION, AN_EXIT},
    {"release of a notification", "an ended notification", TREADLE_HOLDER_POST, 0},
    {"release of a notification", "a notification", TREADLE_HOLDER_NOTIFICATION, AT_END},
    {"release of a scope", "an ended scope", TREADLE_HOLDER_POST, 0},
    {"release of a scope", "a scope", TREADLE_KIND_SCOPE, AT_END},
    {"event of a host", "a host", TREADLE_KIND_HOST, CAN_WAIT},
    {"enter of a host", "a host", TREADLE_KIND_HOST, 0},
    {"stop", "a post", TREADLE_HOLDER_CALL, AT_END},
    {"deinit", "a post", TREADLE_HOLDER_CALL, AT_END},
};

static struct worker worker;

static atomic_int library_result;
static void *call_as_library(void *code) {
    library_result = ((int (*)(void))code)();
    return NULL;
}
static void *end_at_once(void *info) { return info; }

/* What is queued is there, and does not begin: nobody runs its mode. */
static void await_queued(const struct row *row) {
    treadle_scope_holder holders[16];
    size_t count;
    uint32_t state;
    for (bool is_queued = false; !is_queued; sched_yield()) {
        CHECK_INT(treadle_scope_copy_holders(victim, holders, sizeof(treadle_scope_holder), 16, &count), TREADLE_OK);
        for (size_t i = 0; i < count && i < 16; i++) {
            if (holders[i].kind != row->holder) continue;
            is_queued = true;
            if (row->holder == TREADLE_KIND_INVOCATION)
                is_queued = treadle_invocation_get_state(holders[i].object, &state) == TREADLE_OK && state == TREADLE_INVOCATION_QUEUED;
            if (row->holder == TREADLE_KIND_CLOSURE) is_queued = info_of(holders[i].object).waiting == 1;
        }
    }
}

static void end_before(const struct row *row, pthread_t caller) {
    if (row->needs & (A_CALLER | WAITS)) await_queued(row);
    POINT_CHECK(treadle_plugin_close(victim, 0) == TREADLE_OK || treadle_plugin_close(victim, TREADLE_FOREVER) == TREADLE_OK);
    if (caller) CHECK_INT(pthread_join(caller, NULL), 0);
    if (row->needs & A_CALLER) POINT_CHECK(library_result == -1);
    if (row->needs & WAITS) POINT_CHECK(waiter_status == (row->holder == TREADLE_KIND_INVOCATION ? TREADLE_E_CANCELLED : TREADLE_E_CLOSED));
}

static void end_now(const struct row *row, pthread_t caller) {
    pthread_t closer;
    treadle_status closed = TREADLE_OK;
    if (row->needs & AN_EXIT) {
        treadle_thread thread = NULL;
        CHECK_INT(create_thread(end_at_once, NULL, NULL, &thread), TREADLE_OK);
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        CHECK_INT(treadle_release(thread), TREADLE_OK);
    }
    if (row->needs & AT_END) CHECK_INT(pthread_create(&closer, NULL, close_and_wait, &closed), 0);
    await_point(worker.loop);
    end_at_point(row->holder);
    if (row->needs & AT_END) CHECK_INT(pthread_join(closer, NULL), 0);
    POINT_CHECK(closed == TREADLE_OK || closed == TREADLE_DEFERRED);
    if (caller) CHECK_INT(pthread_join(caller, NULL), 0);
    if ((row->needs & A_CALLER) && strstr(row->maker, "a carried closure") != row->maker) POINT_CHECK(library_result == 7);
    if (row->needs & WAITS) POINT_CHECK(waiter_status == TREADLE_OK);
}

static void kill_at(const struct row *row, enum who who) {
    const void *busy = NULL;
    pthread_t caller = 0;
    library_result = 99;
    begin_point("busy", row->point, who);
    treadle_plugin plugin = victim = load("busy");
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_get_extension(plugin, BUSY, &busy), TREADLE_OK);
    const char *mode = who == BEFORE || (row->needs & AT_END) ? "a mode that nobody runs" : TREADLE_DEFAULT_MODE;
    CHECK_INT(((const struct busy *)busy)->begin(row->needs & HERE ? NULL : worker.loop, worker.loop, row->maker, row->point, mode), TREADLE_OK);
    has_begun = true;
    if (who == BEFORE || (row->needs & (A_CALLER | AN_EXIT | AT_END | WHEN_MADE))) await(&is_made);
    if (row->needs & A_CALLER) CHECK_INT(pthread_create(&caller, NULL, call_as_library, given_code), 0);
    if (who == BEFORE) end_before(row, caller);
    else end_now(row, caller);
    check_end(worker.loop);
    /* A library that has forgotten nothing. */
    if (given_code) POINT_CHECK(((int (*)(void))given_code)() == -1);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
}

static void kill_at_all(enum who who) {
    int descriptors = 0, threads = 0;
    watch_reports(); /* of calls on the pointers of closures that are over */
    worker_start(&worker);
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (who == BEFORE ? !(rows[i].needs & CAN_WAIT) : rows[i].needs & ONLY_WAITS) continue;
        kill_at(&rows[i], who);
        if (i == 0) descriptors = count_descriptors(), threads = count_threads();
    }
    /* A loop takes its own when it first needs them; a thread that was joined may be listed for a moment. */
    CHECK(count_descriptors() <= descriptors + 4);
    while (count_threads() > threads) sched_yield();
    worker_stop(&worker);
}

TEST(a_callback_ends_its_plugin_at_each_point, "PLUG-4 PLUG-5 SCOPE-4") { kill_at_all(BY_ITSELF); }
TEST(another_thread_looks_at_each_point_and_is_told_who_goes_on, "PLUG-4 PLUG-5 SCOPE-3") { kill_at_all(BY_ANOTHER); }
TEST(another_thread_waits_at_each_point, "PLUG-4 PLUG-5 SCOPE-3") { kill_at_all(BY_WAITER); }
TEST(what_is_queued_never_begins, "PLUG-4 PLUG-5 SCOPE-2") { kill_at_all(BEFORE); }

TEST_MAIN()
