/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * reentrancy_process_test.c: no lock is held while client code runs, as in reentrancy_test.c: releases of
 * pools, notifications, the last-resort handler. */
#include "reentrancy.h"
#include "host_items.h"

#define MODE TREADLE_DEFAULT_MODE
#define WILL_EXIT TREADLE_NOTIFY_THREAD_WILL_EXIT

static void at_spot(void *spot) { meet(spot); }

static struct spot pool_spots[3];
static void add_at_spot(void *spot) { CHECK_INT(treadle_pool_add(spot, at_spot), TREADLE_OK); }
static void *end_with_a_pool(void *spot) {
    add_at_spot(spot);
    return NULL;
}
TEST(every_call_from_a_release, "OBJ-6 OBJ-7 POOL-5") {
    uint64_t token;
    begin();
    CHECK_INT(treadle_pool_push(&token), TREADLE_OK);
    add_at_spot(&pool_spots[0]);
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK); /* by a pop */
    CHECK(pool_spots[0].seen);
    on_thread(end_with_a_pool, &pool_spots[1]); /* by the end of a thread */
    CHECK(pool_spots[1].seen);
    CHECK_INT(treadle_loop_post(other.loop, add_at_spot, &pool_spots[2]), TREADLE_OK); /* by a pass */
    while (!pool_spots[2].seen) treadle_loop_run(other.loop, MODE, MILLISECONDS(1), 0);
    end();
}

static struct spot notification_spots[2];
static void at_notification(uint32_t name, void *object, void *info) {
    (void)name, (void)object, (void)info;
    meet(&notification_spots[0]);
}
static void at_destroy(void *info) { (void)info, meet(&notification_spots[1]); }
static void *have_an_object(void *unused) { return (void)unused, treadle_thread_current(); }
TEST(every_call_from_a_notification, "OBJ-6 OBJ-7 NOTE-1") {
    uint64_t token;
    begin();
    CHECK_INT(add_notification(WILL_EXIT, NULL, at_notification, NULL, at_destroy, &token), TREADLE_OK);
    on_thread(have_an_object, NULL);
    CHECK(notification_spots[0].seen && !notification_spots[1].seen);
    CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
    /* A thread that one of the calls has made may be telling its own end. */
    while (!notification_spots[1].seen) treadle_thread_sleep_for(MILLISECONDS(1));
    end();
}

static struct spot last_resort_spots[2];
static bool at_last_resort(treadle_thread thread, const char *kind, const char *message, void *info) {
    (void)thread, (void)kind, (void)message;
    return meet(info), true;
}
TEST(every_call_from_the_last_resort, "OBJ-6 OBJ-7 THR-19") {
    begin();
    CHECK_INT(treadle_set_last_resort(at_last_resort, &last_resort_spots[0], NULL), TREADLE_OK);
    CHECK_INT(treadle_report_error("kind", "message"), TREADLE_OK);
    CHECK(last_resort_spots[0].seen);
    CHECK_INT(treadle_set_last_resort(NULL, &last_resort_spots[1], at_spot), TREADLE_OK);
    CHECK_INT(treadle_set_last_resort(NULL, NULL, NULL), TREADLE_OK);
    CHECK(last_resort_spots[1].seen);
    end();
}

static struct spot host_spots[TREADLE_EVENT_RELEASE + 1];
static uint64_t at_dispatch(uint64_t ticket, const treadle_event *event) { return meet(&host_spots[event->kind]), ~ticket; }
TEST(every_call_from_a_host_s_releases_and_notifications, "OBJ-6 OBJ-7 POOL-5 NOTE-1") {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = at_dispatch};
    treadle_host host;
    uint64_t token, pool;
    begin();
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    CHECK_INT(host_notification(host, 1, WILL_EXIT, NULL, &token), TREADLE_OK);
    on_thread(have_an_object, NULL);
    CHECK(host_spots[TREADLE_EVENT_NOTIFICATION].seen);
    CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
    CHECK_INT(treadle_pool_push(&pool), TREADLE_OK);
    CHECK_INT(treadle_host_pool_add(host, 2), TREADLE_OK);
    CHECK_INT(treadle_pool_pop(pool), TREADLE_OK);
    CHECK(host_spots[TREADLE_EVENT_RELEASE].seen);
    end();
}

TEST_MAIN()
