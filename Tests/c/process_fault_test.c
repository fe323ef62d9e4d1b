/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * process_fault_test.c: pools, notifications, the last-resort handler and locks where memory or the system's
 * room is used up. */
#include "faults.h"
#include "host_items.h"

#define WILL_EXIT TREADLE_NOTIFY_THREAD_WILL_EXIT

static int destroyed;
static void count_destroyed(void *info) { (void)info, destroyed++; }
static void told(uint32_t name, void *object, void *info) { (void)name, (void)object, (void)info; }
static bool asked(treadle_thread thread, const char *kind, const char *message, void *info) {
    (void)thread, (void)kind, (void)message, (void)info;
    return true;
}
static void call_nothing_posted(void *info) { (void)info; }
static uint64_t ticket_back(uint64_t ticket, const treadle_event *event) { return (void)event, ~ticket; }

#ifndef SANITIZED
static int released;
static void count_released(void *info) { (void)info, released++; }
/* Fails each allocation of a call in turn, until the call succeeds; how often it failed. Anything but success and the
 * want of memory is wrong. */
#define EACH_FAULT(failures, call)                                    \
    do {                                                              \
        treadle_status status_ = TREADLE_E_NOMEM;                     \
        for (int at_ = 1; status_ == TREADLE_E_NOMEM; at_++) {        \
            CHECK(at_ < 100);                                         \
            arm(FAULT_MEMORY, ENOMEM, at_, false);                    \
            status_ = call;                                           \
            int hits_ = disarm();                                     \
            CHECK_INT(status_, hits_ ? TREADLE_E_NOMEM : TREADLE_OK); \
            failures += hits_;                                        \
        }                                                             \
    } while (0)

/* Does all of it once with memory, on a thread and with a host of its own: the ordinary Swift runtime needs some of
 * its own for a type that it meets for the first time, and ends the process without. */
static void *do_all_once(void *unused) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = ticket_back};
    treadle_host host;
    uint64_t pool, tokens[2];
    CHECK_INT(treadle_pool_push(&pool), TREADLE_OK);
    CHECK_INT(treadle_pool_add(NULL, call_nothing_posted), TREADLE_OK);
    CHECK_INT(add_notification(WILL_EXIT, NULL, told, NULL, NULL, &tokens[0]), TREADLE_OK);
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    CHECK_INT(host_notification(host, 1, WILL_EXIT, NULL, &tokens[1]), TREADLE_OK);
    CHECK_INT(treadle_host_pool_add(host, 2), TREADLE_OK);
    CHECK_INT(treadle_pool_pop(pool), TREADLE_OK);
    for (int i = 0; i < 2; i++) CHECK_INT(treadle_notification_remove(tokens[i]), TREADLE_OK);
    return unused;
}

static void *use_pools_without_memory(void *unused) {
    int failures = 0;
    uint64_t tokens[100], outer = 0;
    EACH_FAULT(failures, treadle_pool_push(&outer));
    CHECK(failures >= 2); /* the stack itself, and its entries */
    for (int i = 0; i < 100; i++) {
        EACH_FAULT(failures, treadle_pool_push(&tokens[i]));
        EACH_FAULT(failures, treadle_pool_add(NULL, count_released));
    }
    CHECK_INT(released, 0);
    for (int i = 99; i >= 50; i--) CHECK_INT(treadle_pool_pop(tokens[i]), TREADLE_OK);
    CHECK_INT(released, 50);
    CHECK_INT(treadle_pool_pop(outer), TREADLE_OK);
    CHECK_INT(released, 100); /* what was refused is not released, what was taken is */
    return unused;
}
TEST(pools_without_memory, "POOL-2") {
    if (!have_memory_faults()) return;
    on_thread(do_all_once, NULL);
    on_thread(use_pools_without_memory, NULL);
}

/* The pools of a run are not clients': without memory for them the run goes on. */
static void add_release(void *unused) { CHECK_INT(treadle_pool_add(unused, count_released), TREADLE_OK); }
TEST(a_run_without_memory_for_its_pools, "POOL-3") {
    if (!have_memory_faults()) return;
    treadle_loop loop = treadle_loop_current();
    treadle_source keeper = make_source(NULL, NULL);
    uint64_t token = 0;
    CHECK_INT(treadle_loop_add_source(loop, keeper, TREADLE_DEFAULT_MODE), TREADLE_OK);
    poll_mode(TREADLE_DEFAULT_MODE); /* its own memory */
    CHECK_INT(treadle_pool_push(&token), TREADLE_OK);
    for (int i = 0; i < 15; i++) CHECK_INT(treadle_pool_add(NULL, count_released), TREADLE_OK); /* no room for a bottom */
    CHECK_INT(treadle_loop_post(loop, call_nothing_posted, NULL), TREADLE_OK);
    arm(FAULT_MEMORY, ENOMEM, 1, true);
    CHECK_INT(poll_mode(TREADLE_DEFAULT_MODE), TREADLE_RUN_TIMED_OUT);
    CHECK(disarm() > 0);
    CHECK_INT(released, 0);
    CHECK_INT(treadle_loop_post(loop, add_release, NULL), TREADLE_OK);
    CHECK_INT(poll_mode(TREADLE_DEFAULT_MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(released, 1);
    CHECK_INT(treadle_pool_pop(token), TREADLE_OK);
    CHECK_INT(released, 16);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

static void *push_without_key(void *unused) {
    uint64_t token = 1;
    arm(FAULT_THREAD_KEY, ENOMEM, 1, true);
    CHECK_ERROR(treadle_pool_push(&token), TREADLE_E_SYSTEM, "thread-specific");
    CHECK_INT(token, 0);
    CHECK_ERROR(treadle_pool_add(NULL, count_released), TREADLE_E_SYSTEM, "thread-specific");
    disarm();
    CHECK_INT(treadle_pool_push(&token), TREADLE_OK);
    CHECK_INT(treadle_pool_add(NULL, count_released), TREADLE_OK);
    return unused;
}
TEST(a_pool_that_could_not_end_with_its_thread, "POOL-2") {
    CHECK(treadle_loop_current());
    on_thread(push_without_key, NULL);
    CHECK_INT(released, 1);
}

TEST(notifications_without_memory, "NOTE-1") {
    enum { COUNT = 100 };
    uint64_t tokens[COUNT];
    int failures = 0;
    if (!have_memory_faults()) return;
    on_thread(do_all_once, NULL);
    for (int i = 0; i < COUNT; i++)
        EACH_FAULT(failures, add_notification(WILL_EXIT, NULL, told, NULL, count_destroyed, &tokens[i]));
    CHECK(failures >= COUNT);
    CHECK_INT(destroyed, failures);
    for (int i = 0; i < COUNT; i++) CHECK_INT(treadle_notification_remove(tokens[i]), TREADLE_OK);
    CHECK_INT(destroyed, failures + COUNT);
}

TEST(a_last_resort_without_memory, "THR-19") {
    int failures = 0;
    if (!have_memory_faults()) return;
    CHECK_INT(treadle_set_last_resort(asked, NULL, NULL), TREADLE_OK);
    EACH_FAULT(failures, treadle_set_last_resort(asked, NULL, count_destroyed));
    CHECK_INT(failures, 1);
    CHECK_INT(destroyed, failures);
    CHECK_INT(treadle_report_error("kind", "message"), TREADLE_OK);
    arm(FAULT_MEMORY, ENOMEM, 1, true); /* reporting an error, and returning to the default, need none */
    treadle_status reported = treadle_report_error("kind", "message"), set = treadle_set_last_resort(NULL, NULL, NULL);
    disarm();
    CHECK_INT(reported, TREADLE_OK);
    CHECK_INT(set, TREADLE_OK);
    CHECK_INT(destroyed, failures + 1);
}

TEST(a_host_s_registrations_without_memory, "ABI-2 POOL-2 NOTE-1") {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = ticket_back};
    treadle_host host;
    uint64_t token, retired[4];
    size_t count = 0;
    int failures = 0;
    if (!have_memory_faults()) return;
    on_thread(do_all_once, NULL);
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    EACH_FAULT(failures, host_notification(host, 1, WILL_EXIT, NULL, &token));
    EACH_FAULT(failures, treadle_host_pool_add(host, 2));
    CHECK(failures >= 3);
    CHECK_INT(treadle_host_take_retired(host, retired, 4, &count), TREADLE_OK);
    CHECK_INT(count, 0); /* not after an error */
    CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
    CHECK_INT(treadle_host_take_retired(host, retired, 4, &count), TREADLE_OK);
    CHECK_INT(count, 1);
}

static void *make_without_memory(void *unused) {
    treadle_lock lock = NULL;
    treadle_condition condition = NULL;
    int failures = 0;
    CHECK(treadle_loop_main()); /* started with memory: the runtime of ordinary Swift needs some there and then */
    EACH_FAULT(failures, treadle_lock_create(0, &lock));
    EACH_FAULT(failures, treadle_condition_create(&condition));
    (void)failures;
    CHECK_INT(treadle_lock_release(lock), TREADLE_OK);
    CHECK_INT(treadle_condition_release(condition), TREADLE_OK);
    return unused;
}
TEST(locks_without_memory, "THR-20") {
    if (!have_memory_faults()) return;
    on_thread(make_without_memory, NULL);
}
#endif

TEST_MAIN()
