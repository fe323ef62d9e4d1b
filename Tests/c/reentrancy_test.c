/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * reentrancy_test.c: no lock is held while client code runs. From every kind of callback every
 * function is called on the same loop, and the callback does not return before another thread, which
 * started meanwhile, has called them all too: a lock that is held anywhere ends in the watchdog. */
#include "reentrancy.h"
#include "host_items.h"

#define MODE TREADLE_DEFAULT_MODE
enum { PERFORM, SCHEDULE, CANCEL, RETAIN, RELEASE, EQUAL, HASH, DESCRIBE, SOURCE_SPOTS };
static struct spot source_spots[SOURCE_SPOTS];
static void at_perform(treadle_source source, void *info) { (void)source, (void)info, meet(&source_spots[PERFORM]); }
static void at_schedule(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop, (void)mode, (void)info, meet(&source_spots[SCHEDULE]);
}
static void at_cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop, (void)mode, (void)info, meet(&source_spots[CANCEL]);
}
static void *at_retain(void *info) { return meet(&source_spots[RETAIN]), info; }
static void at_release(void *info) { (void)info, meet(&source_spots[RELEASE]); }
static int32_t at_equal(void *one, void *two) { return meet(&source_spots[EQUAL]), one == two; }
static uint64_t at_hash(void *info) { return (void)info, meet(&source_spots[HASH]), 1; }
static void at_describe(void *info, char *buffer, size_t capacity) {
    (void)info, meet(&source_spots[DESCRIBE]);
    snprintf(buffer, capacity, "described");
}

TEST(every_call_from_a_source_s_callbacks, "OBJ-6 OBJ-7 ABI-1") {
    treadle_source_context context = {
        .struct_size = sizeof context, .retain = at_retain, .release = at_release, .describe = at_describe, .equal = at_equal,
        .hash = at_hash, .schedule = at_schedule, .cancel = at_cancel, .perform = at_perform};
    treadle_source one, two;
    char text[256];
    size_t length;
    begin();
    CHECK_INT(treadle_source_create(&context, &one), TREADLE_OK);
    CHECK_INT(treadle_source_create(&context, &two), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(other.loop, one, SUBJECT), TREADLE_OK);
    treadle_loop_add_source(other.loop, two, SUBJECT); /* asks whether they are equal */
    treadle_source_describe(one, text, sizeof text, &length);
    treadle_source_signal(one);
    run_until_seen(source_spots, 1);
    CHECK_INT(treadle_source_invalidate(one), TREADLE_OK);
    CHECK_INT(treadle_source_invalidate(two), TREADLE_OK);
    CHECK_INT(treadle_source_release(one), TREADLE_OK);
    CHECK_INT(treadle_source_release(two), TREADLE_OK);
    for (int i = 0; i < SOURCE_SPOTS; i++) CHECK(source_spots[i].seen);
    end();
}

static struct spot schedule_common, cancel_common;
static void at_schedule_common(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop, (void)mode, (void)info, meet(&schedule_common);
}
static void at_cancel_common(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop, (void)mode, (void)info, meet(&cancel_common);
}
/* schedule and cancel for every common mode, for a mode that joins, and at removal from the common set. */
TEST(every_call_from_schedule_and_cancel_of_common_modes, "OBJ-7 MODE-8") {
    treadle_source_context context = {.struct_size = sizeof context, .schedule = at_schedule_common, .cancel = at_cancel_common};
    treadle_source source;
    begin();
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(other.loop, source, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK(schedule_common.seen);
    atomic_store(&schedule_common.seen, 0);
    CHECK_INT(treadle_loop_add_common_mode(other.loop, "joins"), TREADLE_OK);
    CHECK(schedule_common.seen && treadle_loop_contains_source(other.loop, source, "joins"));
    CHECK_INT(treadle_loop_remove_source(other.loop, source, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK(cancel_common.seen && !treadle_loop_contains_source(other.loop, source, "joins"));
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    end();
}

static struct spot timer_spots[4];
static void at_fire(treadle_timer timer, void *info) { (void)timer, (void)info, meet(&timer_spots[0]); }
static void *at_timer_retain(void *info) { return meet(&timer_spots[1]), info; }
static void at_timer_release(void *info) { (void)info, meet(&timer_spots[2]); }
static void at_timer_describe(void *info, char *buffer, size_t capacity) {
    (void)info, meet(&timer_spots[3]);
    snprintf(buffer, capacity, "described");
}
TEST(every_call_from_a_timer_s_callbacks, "OBJ-6 OBJ-7 TMR-7") {
    treadle_timer_context context = {.struct_size = sizeof context, .retain = at_timer_retain, .release = at_timer_release,
                                     .describe = at_timer_describe, .fire = at_fire, .fire_at = 1, .interval_ns = 1000};
    treadle_timer timer;
    char text[256];
    size_t length;
    begin();
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    CHECK(timer_spots[1].seen);
    atomic_store(&timer_spots[1].seen, 0); /* again, around the callback */
    treadle_timer_describe(timer, text, sizeof text, &length);
    CHECK_INT(treadle_loop_add_timer(other.loop, timer, SUBJECT), TREADLE_OK);
    run_until_seen(timer_spots, 3);
    CHECK(timer_spots[3].seen);
    atomic_store(&timer_spots[2].seen, 0); /* again, at the end */
    CHECK_INT(treadle_timer_invalidate(timer), TREADLE_OK);
    CHECK(timer_spots[2].seen);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    end();
}

static struct spot activity_spots[6], observer_release;
static void at_activity(treadle_observer observer, uint32_t activity, void *info) {
    static const uint32_t bits[6] = {TREADLE_ENTRY, TREADLE_BEFORE_TIMERS, TREADLE_BEFORE_SOURCES,
                                     TREADLE_BEFORE_WAITING, TREADLE_AFTER_WAITING, TREADLE_EXIT};
    (void)observer, (void)info;
    for (int i = 0; i < 6; i++)
        if (activity == bits[i]) meet(&activity_spots[i]);
}
static void at_observer_release(void *info) { (void)info, meet(&observer_release); }
TEST(every_call_from_an_observer_at_each_activity, "OBJ-6 OBJ-7 OBS-1") {
    treadle_observer_context context = {.struct_size = sizeof context, .release = at_observer_release, .notify = at_activity,
                                        .activities = TREADLE_ALL_ACTIVITIES};
    treadle_observer observer;
    treadle_source keeper = make_source(NULL, NULL);
    begin();
    CHECK_INT(treadle_observer_create(&context, &observer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(other.loop, observer, SUBJECT), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(other.loop, keeper, SUBJECT), TREADLE_OK);
    run_until_seen(activity_spots, 6);
    CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
    CHECK(observer_release.seen);
    CHECK_INT(treadle_observer_release(observer), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    end();
}

static struct spot descriptor_spots[3];
static void at_ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)descriptor, (void)events, (void)info, meet(&descriptor_spots[0]);
}
static int32_t at_get_fd(void *info) { return meet(&descriptor_spots[1]), *(int *)info; }
static void at_descriptor_release(void *info) { (void)info, meet(&descriptor_spots[2]); }
TEST(every_call_from_a_descriptor_s_callbacks, "OBJ-6 OBJ-7 SRC1-3") {
    int fd = eventfd(1, EFD_CLOEXEC);
    treadle_descriptor_context context = {.struct_size = sizeof context, .info = &fd, .release = at_descriptor_release,
                                          .get_fd = at_get_fd, .ready = at_ready, .events = TREADLE_READABLE};
    treadle_descriptor descriptor;
    begin();
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(other.loop, descriptor, SUBJECT), TREADLE_OK);
    CHECK(descriptor_spots[1].seen);
    run_until_seen(descriptor_spots, 1);
    CHECK_INT(treadle_descriptor_invalidate(descriptor), TREADLE_OK);
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
    CHECK(descriptor_spots[2].seen);
    end();
}

static struct spot block_spots[3];
static void at_spot(void *info) { meet(info); }
TEST(every_call_from_blocks_and_posts, "OBJ-6 OBJ-7 BLK-1") {
    const char *mode = SUBJECT;
    treadle_post block = {.struct_size = sizeof block, .modes = &mode, .mode_count = 1, .fn = at_spot,
                           .info = &block_spots[0], .destroy = at_spot};
    treadle_source keeper = make_source(NULL, NULL);
    begin();
    CHECK_INT(treadle_loop_add_source(other.loop, keeper, SUBJECT), TREADLE_OK);
    CHECK_INT(post_block(other.loop, &block), TREADLE_OK);
    run_until_seen(block_spots, 1);
    /* fn and destroy share the spot's info: once more, for destroy alone. */
    block.fn = call_nothing;
    block.info = &block_spots[1];
    CHECK_INT(post_block(other.loop, &block), TREADLE_OK);
    run_until_seen(block_spots, 2);
    CHECK_INT(treadle_loop_add_common_mode(other.loop, SUBJECT), TREADLE_OK);
    CHECK_INT(treadle_loop_post(other.loop, at_spot, &block_spots[2]), TREADLE_OK);
    run_until_seen(block_spots, 3);
    CHECK_INT(treadle_source_invalidate(keeper), TREADLE_OK);
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
    end();
}

static struct spot routine_spots[2];
static void routine_code(struct spot *spot) { meet(spot); }
TEST(every_call_from_a_routine_and_its_destroy, "OBJ-6 OBJ-7") {
    struct spot *spot = &routine_spots[0];
    treadle_argument argument = {.kind = TREADLE_ARGUMENT_BOUND, .value = &spot, .size = sizeof spot};
    treadle_routine_config config = {.struct_size = sizeof config, .code = (void (*)(void))routine_code, .signature = "v^v",
                                     .arguments = &argument, .argument_count = 1, .info = &routine_spots[1], .destroy = at_spot};
    treadle_source_context context = {.struct_size = sizeof context};
    treadle_source source;
    begin();
    CHECK_INT(treadle_routine_create(&config, &context.perform_routine), TREADLE_OK);
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_routine_release(context.perform_routine), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(other.loop, source, SUBJECT), TREADLE_OK);
    treadle_source_signal(source);
    run_until_seen(routine_spots, 1);
    CHECK(!routine_spots[1].seen);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK(routine_spots[1].seen);
    end();
}

static struct spot port_spots[4];
static void at_message(treadle_port port, treadle_message message, void *info) {
    treadle_message_info got = {.struct_size = sizeof got};
    (void)port, (void)info, meet(&port_spots[0]);
    CHECK_INT(treadle_message_get_info(message, &got), TREADLE_OK);
}
static void at_port_release(void *info) { meet(info); }
static void at_invalid_port(uint32_t name, void *object, void *info) { (void)name, (void)object, meet(info); }
TEST(every_call_from_a_port_s_callbacks, "OBJ-6 OBJ-7 PORT-2 NOTE-1") {
    treadle_port_context context = {.struct_size = sizeof context, .info = &port_spots[1], .release = at_port_release, .receive = at_message};
    treadle_notification_config config = {.struct_size = sizeof config, .name = TREADLE_NOTIFY_PORT_INVALID, .fn = at_invalid_port, .info = &port_spots[2]};
    treadle_port port, carried;
    treadle_component component = {.kind = TREADLE_COMPONENT_PORT};
    treadle_message_content content = {.struct_size = sizeof content, .components = &component, .component_count = 1};
    uint64_t token = 0;
    begin();
    CHECK_INT(treadle_port_create(&context, &port), TREADLE_OK);
    context.info = &port_spots[3];
    CHECK_INT(treadle_port_create(&context, &carried), TREADLE_OK);
    component.port = carried;
    CHECK_INT(treadle_loop_add_port(other.loop, port, SUBJECT), TREADLE_OK);
    CHECK_INT(treadle_port_send(port, &content, 0), TREADLE_OK);
    CHECK_INT(treadle_port_release(carried), TREADLE_OK);
    run_until_seen(port_spots, 1);
    CHECK(port_spots[3].seen); /* the message has gone, and its port */
    config.object = port;
    CHECK_INT(treadle_notification_add(&config, &token), TREADLE_OK);
    CHECK_INT(treadle_port_invalidate(port), TREADLE_OK);
    CHECK(port_spots[2].seen);
    CHECK_INT(treadle_port_release(port), TREADLE_OK);
    CHECK(port_spots[1].seen);
    CHECK_INT(treadle_notification_remove(token), TREADLE_OK);
    end();
}

static struct spot host_spots[TREADLE_EVENT_POST + 1], thread_spots[2];
static uint64_t at_dispatch(uint64_t ticket, const treadle_event *event) { return meet(&host_spots[event->kind]), ~ticket; }
static void at_thread_enter(void *user) { (void)user, meet(&thread_spots[0]); }
static void at_thread_exit(void *user) { (void)user, is_torn_down = true, meet(&thread_spots[1]); }
static void *thread_of_host(void *host) {
    treadle_source source;
    CHECK_INT(host_source(host, 2, TREADLE_HOST_WANTS_SCHEDULE, 0, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, MODE), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    return NULL;
}
TEST(every_call_from_a_host_s_callbacks, "OBJ-6 OBJ-7") {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = at_dispatch, .thread_enter = at_thread_enter,
                                  .thread_exit = at_thread_exit};
    int fd = eventfd(1, EFD_CLOEXEC);
    const char *mode = SUBJECT;
    treadle_host host;
    treadle_source source;
    treadle_timer timer;
    treadle_observer observer;
    treadle_descriptor descriptor;
    begin();
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    CHECK_INT(host_source(host, 1, TREADLE_HOST_WANTS_SCHEDULE | TREADLE_HOST_WANTS_CANCEL, 0, &source), TREADLE_OK);
    CHECK_INT(host_timer(host, 1, 1, 1000, &timer), TREADLE_OK);
    CHECK_INT(host_observer(host, 1, TREADLE_EXIT, 0, &observer), TREADLE_OK);
    CHECK_INT(host_descriptor(host, 1, fd, TREADLE_READABLE, 0, &descriptor), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(other.loop, source, SUBJECT), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(other.loop, timer, SUBJECT), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(other.loop, observer, SUBJECT), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(other.loop, descriptor, SUBJECT), TREADLE_OK);
    CHECK_INT(host_post_block(host, 1, other.loop, &mode, 1), TREADLE_OK);
    treadle_source_signal(source);
    atomic_store(&host_spots[0].seen, 1);                    /* no such event */
    atomic_store(&host_spots[TREADLE_EVENT_CANCEL].seen, 1); /* comes last */
    run_until_seen(host_spots, TREADLE_EVENT_POST + 1);
    atomic_store(&host_spots[TREADLE_EVENT_CANCEL].seen, 0);
    treadle_source_invalidate(source);
    treadle_timer_invalidate(timer);
    treadle_observer_invalidate(observer);
    treadle_descriptor_invalidate(descriptor);
    CHECK(host_spots[TREADLE_EVENT_CANCEL].seen && thread_spots[0].seen);
    on_thread(thread_of_host, host);
    CHECK(thread_spots[1].seen);
    end();
    treadle_source_release(source);
    treadle_timer_release(timer);
    treadle_observer_release(observer);
    treadle_descriptor_release(descriptor);
    close(fd);
}

static struct spot exit_spots[3];
static void at_exit_cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop, (void)mode, meet(info);
}
static void *exiting_thread(void *unused) {
    treadle_source_context source_context = {.struct_size = sizeof source_context, .info = &exit_spots[0], .cancel = at_exit_cancel};
    treadle_timer_context timer_context = {.struct_size = sizeof timer_context, .info = &exit_spots[1], .release = at_spot};
    treadle_post block = {.struct_size = sizeof block, .fn = call_nothing, .info = &exit_spots[2], .destroy = at_spot};
    treadle_source source;
    treadle_timer timer;
    begin();
    CHECK_INT(treadle_loop_retain(other.loop), TREADLE_OK);
    CHECK_INT(treadle_source_create(&source_context, &source), TREADLE_OK);
    CHECK_INT(treadle_timer_create(&timer_context, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(other.loop, source, SUBJECT), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(other.loop, timer, SUBJECT), TREADLE_OK);
    CHECK_INT(post_block(other.loop, &block), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    return unused;
}
TEST(every_call_from_the_teardown_of_a_thread, "OBJ-6 OBJ-7 RL-8 RL-9") {
    on_thread(exiting_thread, NULL);
    for (int i = 0; i < 3; i++) CHECK(exit_spots[i].seen);
    end();
    CHECK_INT(treadle_loop_release(other.loop), TREADLE_OK);
}

TEST_MAIN()
