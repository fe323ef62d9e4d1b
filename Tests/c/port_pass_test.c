/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * port_pass_test.c: a port with messages is a ready version 1 source: it wakes its loop, skips the sleep, and takes turns with
 * timers, descriptors and other ports. */
#include "ports.h"

#include <poll.h>

#define MODE TREADLE_DEFAULT_MODE

static bool is_ready(int fd) { return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 1; }

static const char *const activity_names[] = {"entry", "timers", "sources", "", "", "before", "after", "exit"};
static void trace_activity(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)info;
    trace("%s", activity_names[__builtin_ctz(activity)]);
}
TEST(a_ready_port_is_served_without_the_steps_of_a_sleep, "PASS-8 PORT-5 RUN-8") {
    treadle_port port = make_port_of(trace_message, "", 0);
    treadle_observer observer = make_observer(trace_activity, NULL, TREADLE_ALL_ACTIVITIES);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), observer, MODE), TREADLE_OK);
    add_port(port, MODE);
    CHECK_INT(send_id(port, 1), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_TRACE("entry timers sources 1 exit");
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, 1, 0), TREADLE_RUN_TIMED_OUT);
    trace_clear();
    treadle_observer_invalidate(observer);
    treadle_observer_release(observer);
    end_port(port);
}

/* Sends from an observer of BeforeWaiting: what comes then is not slept through. */
static void send_before_sleep(treadle_observer observer, uint32_t activity, void *info) {
    (void)activity;
    CHECK_INT(send_id(info, 1), TREADLE_OK);
    treadle_observer_invalidate(observer);
}
static void stop_at_message(treadle_port port, treadle_message message, void *info) {
    trace_message(port, message, info);
    treadle_loop_stop(treadle_loop_current());
}
TEST(a_message_from_an_observer_before_the_sleep_is_received, "PORT-5 PASS-10") {
    treadle_port port = make_port_of(stop_at_message, "", 0);
    treadle_observer observer = make_observer(send_before_sleep, port, TREADLE_BEFORE_WAITING);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), observer, MODE), TREADLE_OK);
    add_port(port, MODE);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_TRACE("1");
    treadle_observer_release(observer);
    end_port(port);
}

TEST(a_message_wakes_a_sleeping_loop_with_and_without_descriptors, "PORT-5 PORT-4") {
    for (int with_descriptor = 0; with_descriptor < 2; with_descriptor++) {
        struct worker worker;
        atomic_int received = 0;
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), scaled_rounds = scaled(200) + 10;
        treadle_descriptor descriptor = make_descriptor(NULL, NULL, fd, TREADLE_READABLE);
        treadle_port port = make_port_of(count_message, &received, 0);
        worker_start(&worker);
        if (with_descriptor) CHECK_INT(treadle_loop_add(worker.loop, descriptor, MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_add_port(worker.loop, port, MODE), TREADLE_OK);
        for (int i = 1; i <= scaled_rounds; i++) {
            if (i % 4 == 0) worker_await_sleep(&worker);
            CHECK_INT(send_id(port, 1), TREADLE_OK);
            while (atomic_load(&received) != i) sched_yield();
        }
        worker_stop(&worker);
        end_port(port);
        discard(descriptor);
        close(fd);
    }
}

/* A message that waits makes the port ready when it is added, by another thread too. */
TEST(a_port_with_messages_that_is_added_wakes_the_loop, "PORT-5 PORT-1 MODE-10") {
    struct worker worker;
    worker_start(&worker);
    for (int i = 0; i < 20; i++) {
        atomic_int received = 0;
        treadle_port port = make_port_of(count_message, &received, 0);
        CHECK_INT(send_id(port, 1), TREADLE_OK);
        CHECK_INT(send_id(port, 2), TREADLE_OK);
        worker_await_sleep(&worker);
        CHECK_INT(treadle_loop_add_port(worker.loop, port, i % 2 ? MODE : TREADLE_COMMON_MODES), TREADLE_OK);
        while (atomic_load(&received) != 2) sched_yield();
        CHECK_INT(treadle_port_close(port, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_port_release(port), TREADLE_OK);
    }
    worker_stop(&worker);
}

TEST(messages_wait_while_no_mode_that_runs_has_the_port, "PORT-4 MODE-7") {
    treadle_port port = make_port_of(trace_message, "", 0), other = make_port_of(trace_message, "other ", 0);
    add_port(port, "mode");
    add_port(other, MODE);
    CHECK_INT(send_id(port, 1), TREADLE_OK);
    CHECK_INT(send_id(other, 2), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, MILLISECONDS(1), 0), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("other 2");
    CHECK_INT(poll_mode("mode"), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1");
    end_port(port);
    end_port(other);
}

/* Which of several things that are ready all the time comes when: a letter for each. */
static char order_of[4096];
static void note(char what) {
    size_t length = strlen(order_of);
    if (length + 1 < sizeof order_of) order_of[length] = what;
}
static void note_message(treadle_port port, treadle_message message, void *info) {
    (void)message;
    note(*(const char *)info);
    CHECK_INT(send_id(port, 1), TREADLE_OK);
}
static void note_ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, note(*(const char *)info); }
static void note_timer(treadle_timer timer, void *info) {
    (void)info;
    note('t');
    CHECK_INT(treadle_timer_set_next_fire(timer, 1), TREADLE_OK);
}
/* Between two calls of any, no other one is called twice. */
static void check_fair(const char *letters) {
    int counts[256] = {0};
    for (const char *one = letters; *one; one++) {
        for (const char *other = letters; *other; other++) {
            if (one == other) continue;
            int between = 0;
            for (const char *at = order_of; *at; at++) {
                if (*at == *one) between = 0;
                if (*at == *other && ++between > 1) check_failed(__FILE__, __LINE__, "%c is passed over twice for %c in %s", *one, *other, order_of);
            }
        }
    }
    for (const char *at = order_of; *at; at++) counts[(unsigned char)*at]++;
    for (const char *one = letters; *one; one++) CHECK(counts[(unsigned char)*one] > 10);
}
static void be_fair(int ports, int descriptors, bool with_timer) {
    static const char *const port_names[] = {"A", "B", "C"}, *const descriptor_names[] = {"x", "y", "z"};
    treadle_port port[3];
    treadle_descriptor descriptor[3];
    treadle_timer timer = NULL;
    int fds[3];
    char letters[16] = "";
    memset(order_of, 0, sizeof order_of);
    for (int i = 0; i < ports; i++) {
        port[i] = make_port_of(note_message, (void *)port_names[i], 0);
        add_port(port[i], "fair");
        CHECK_INT(send_id(port[i], 1), TREADLE_OK);
        strcat(letters, port_names[i]);
    }
    for (int i = 0; i < descriptors; i++) {
        fds[i] = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
        descriptor[i] = make_descriptor(note_ready, (void *)descriptor_names[i], fds[i], TREADLE_READABLE);
        CHECK_INT(treadle_loop_add(treadle_loop_current(), descriptor[i], "fair"), TREADLE_OK);
        strcat(letters, descriptor_names[i]);
    }
    if (with_timer) {
        timer = make_timer(note_timer, NULL, 1, SECONDS(1000));
        CHECK_INT(treadle_loop_add(treadle_loop_current(), timer, "fair"), TREADLE_OK);
    }
    for (int i = 0; i < 400; i++) CHECK_INT(poll_mode("fair"), TREADLE_RUN_TIMED_OUT);
    if (with_timer) {
        /* Timers are a class of their own: each second pass is theirs. */
        char *to = order_of;
        for (size_t i = 0; order_of[i] && order_of[i + 1]; i++) CHECK((order_of[i] == 't') != (order_of[i + 1] == 't'));
        for (char *from = order_of; *from; from++) if (*from != 't') *to++ = *from;
        *to = 0;
    }
    check_fair(letters);
    for (int i = 0; i < ports; i++) end_port(port[i]);
    for (int i = 0; i < descriptors; i++) discard(descriptor[i]), close(fds[i]);
    if (timer) discard(timer);
}
TEST(ports_descriptors_and_timers_take_turns, "PASS-12 SRC1-5") {
    for (int ports = 1; ports <= 3; ports++)
        for (int descriptors = 0; descriptors <= 3; descriptors++)
            for (int with_timer = 0; with_timer < 2; with_timer++) be_fair(ports, descriptors, with_timer);
}

/* Several ports in several modes, sent to at random: none is lost, each comes in its order. */
static uint32_t next_of[8];
static int expected;
static void expect_next(treadle_port port, treadle_message message, void *info) {
    (void)port;
    CHECK_INT(info_of(message).id, next_of[(intptr_t)info]++);
    expected--;
}
TEST(many_ports_keep_their_order, "PORT-6 PORT-1") {
    treadle_port port[8];
    uint32_t sent[8] = {0};
    unsigned seed = 1;
    for (intptr_t i = 0; i < 8; i++) {
        port[i] = make_port_of(expect_next, (void *)i, 10);
        add_port(port[i], MODE);
        if (i % 2) add_port(port[i], "second");
    }
    for (int i = 0; i < scaled(20000); i++) {
        int at = rand_r(&seed) % 8;
        switch (rand_r(&seed) % 6) {
        case 0: poll_mode("second"); break;
        case 1: poll_mode(MODE); break;
        case 2:
            if (treadle_loop_remove_port(treadle_loop_current(), port[at], MODE) == TREADLE_IGNORED) add_port(port[at], MODE);
            break;
        default:
            if (send_id(port[at], sent[at]) == TREADLE_OK) sent[at]++, expected++;
        }
    }
    for (int i = 0; i < 8; i++) treadle_loop_add_port(treadle_loop_current(), port[i], MODE);
    while (expected) CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    for (int i = 0; i < 8; i++) {
        CHECK_INT(next_of[i], sent[i]);
        end_port(port[i]);
    }
}

static void run_inside(treadle_port port, treadle_message message, void *info) {
    trace_message(port, message, info);
    if (info_of(message).id < 3) CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    trace("(%u)", info_of(message).id);
}
TEST(a_run_inside_of_a_callback_takes_the_next_message, "RUN-12 PORT-6") {
    treadle_port port = make_port_of(run_inside, "", 0);
    add_port(port, MODE);
    for (uint32_t id = 1; id <= 3; id++) CHECK_INT(send_id(port, id), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1 2 3 (3) (2) (1)");
    end_port(port);
}

/* A message may come right behind another one only where nobody could see a pass between them: whatever the callback of the
 * first does has the effect that it has with an observer, for whom each pass is made. */
enum act {
    NOTHING,
    POST,
    POST_LATER,
    SIGNAL,
    STOP,
    DUE_TIMER,
    OBSERVE,
    POOLED,
    SEND_OTHER,
    ADD_OTHER,
    REMOVE,
    END,
    REQUEST,
    RUN_INSIDE,
    REPEAT,
    READY_DESCRIPTOR,
    ACTS
};
static struct {
    enum act act;
    treadle_port port, other, waiting;
    treadle_source source;
    treadle_timer timer;
    treadle_observer observer;
    treadle_descriptor descriptor;
} between;
static void trace_word(void *word) { trace("%s", (const char *)word); }
static void trace_request(void *target, void *argument) { (void)target, (void)argument, trace("request"); }
static void trace_perform(treadle_source source, void *info) { (void)source, (void)info, trace("source"); }
static void trace_fire(treadle_timer timer, void *info) { (void)timer, (void)info, trace("timer"); }
static void trace_once(treadle_observer observer, uint32_t activity, void *info) {
    (void)activity, (void)info, trace("observer");
    treadle_observer_invalidate(observer);
}
static void trace_ready_once(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)events, (void)info, trace("descriptor");
    treadle_descriptor_invalidate(descriptor);
}
static void count_pass(treadle_observer observer, uint32_t activity, void *info) {
    (void)observer, (void)activity;
    ++*(uint64_t *)info;
}
static void act_between(treadle_port port, treadle_message message, void *info) {
    treadle_loop loop = treadle_loop_current();
    static const char *const second[] = {"second"};
    treadle_post later = {.struct_size = sizeof later, .fn = trace_word, .info = "later", .modes = second, .mode_count = 1};
    treadle_request request = {.struct_size = sizeof request, .fn = trace_request};
    uint32_t id = info_of(message).id;
    (void)info;
    trace("%u", id);
    if (id == 4) treadle_loop_stop(loop);
    if (id != 2) return;
    switch (between.act) {
    case POST: CHECK_INT(treadle_loop_post(loop, trace_word, "post"), TREADLE_OK); break;
    case POST_LATER: CHECK_INT(treadle_loop_post_in(loop, &later), TREADLE_OK); break;
    case SIGNAL: CHECK_INT(treadle_source_signal(between.source), TREADLE_OK); break;
    case STOP: treadle_loop_stop(loop); break;
    case DUE_TIMER: CHECK_INT(treadle_loop_add(loop, between.timer, MODE), TREADLE_OK); break;
    case OBSERVE: CHECK_INT(treadle_loop_add(loop, between.observer, MODE), TREADLE_OK); break;
    case POOLED: CHECK_INT(treadle_pool_add("pooled", trace_word), TREADLE_OK); break;
    case SEND_OTHER: CHECK_INT(send_id(between.other, 7), TREADLE_OK); break;
    case ADD_OTHER: add_port(between.waiting, MODE); break;
    case REMOVE:
        CHECK_INT(treadle_loop_remove_port(loop, port, MODE), TREADLE_OK);
        treadle_loop_stop(loop);
        break;
    case END:
        CHECK_INT(treadle_port_invalidate(port), TREADLE_OK);
        treadle_loop_stop(loop);
        break;
    case REQUEST: CHECK_INT(treadle_perform(loop, &request), TREADLE_OK); break;
    case RUN_INSIDE:
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        trace("inside");
        break;
    case REPEAT: CHECK_INT(treadle_port_send_bytes(port, 9, "behind", 6, 0), TREADLE_OK); break;
    case READY_DESCRIPTOR: CHECK_INT(treadle_loop_add(loop, between.descriptor, MODE), TREADLE_OK); break;
    default: break;
    }
}
static void run_with(enum act act, bool is_seen, char *out, size_t room) {
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    treadle_loop loop = treadle_loop_current();
    uint64_t seen = 0;
    treadle_observer watcher = make_observer(count_pass, &seen, TREADLE_BEFORE_TIMERS);
    treadle_loop_counters counters = {.struct_size = sizeof counters};
    between.act = act;
    between.port = make_port_of(act_between, NULL, 0), between.other = make_port_of(trace_message, "other ", 0);
    between.waiting = make_port_of(trace_message, "waiting ", 0);
    CHECK_INT(send_id(between.waiting, 8), TREADLE_OK);
    between.source = make_source(trace_perform, NULL);
    between.timer = make_timer(trace_fire, NULL, 1, 0);
    between.observer = make_observer(trace_once, NULL, TREADLE_BEFORE_SOURCES);
    between.descriptor = make_descriptor(trace_ready_once, NULL, fd, TREADLE_READABLE);
    CHECK_INT(treadle_loop_add(loop, between.source, MODE), TREADLE_OK);
    if (is_seen) CHECK_INT(treadle_loop_add(loop, watcher, MODE), TREADLE_OK);
    add_port(between.port, MODE);
    add_port(between.other, MODE);
    for (uint32_t id = 1; id <= 4; id++) CHECK_INT(treadle_port_send_bytes(between.port, id, "text", 4, 0), TREADLE_OK);
    CHECK_INT(treadle_loop_get_counters(loop, &counters), TREADLE_OK);
    uint64_t before = counters.passes;
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(treadle_loop_get_counters(loop, &counters), TREADLE_OK);
    if (is_seen && act != RUN_INSIDE) CHECK_INT(seen, counters.passes - before);
    trace("%d passes", (int)(counters.passes - before));
    snprintf(out, room, "%s", trace_text);
    trace_clear();
    end_port(between.port), end_port(between.other), end_port(between.waiting);
    treadle_observer_invalidate(watcher), treadle_observer_release(watcher);
    treadle_observer_invalidate(between.observer), treadle_observer_release(between.observer);
    treadle_source_invalidate(between.source), treadle_source_release(between.source);
    discard(between.timer), discard(between.descriptor);
    close(fd);
}
static void *compare(void *info) {
    enum act act = *(enum act *)info;
    char seen[512], unseen[512];
    run_with(act, true, seen, sizeof seen);
    run_with(act, false, unseen, sizeof unseen);
    CHECK_TEXT(unseen, seen);
    return NULL;
}
TEST(whatever_comes_between_two_messages_has_its_effect_there, "PORT-6 PASS-4 PASS-5 PASS-12 STOP-2 POOL-3") {
    for (enum act act = NOTHING; act < ACTS; act++) on_thread(compare, &act);
}

TEST(a_run_that_returns_after_a_source_leaves_the_next_message, "RUN-7 PORT-5 PORT-6") {
    treadle_port port = make_port_of(trace_message, "", 0);
    add_port(port, MODE);
    for (uint32_t id = 1; id <= 3; id++) CHECK_INT(send_id(port, id), TREADLE_OK);
    for (size_t left = 2; left < 3; left--) {
        CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE),
                  TREADLE_RUN_HANDLED_SOURCE);
        size_t count, capacity;
        CHECK_INT(treadle_port_get_count(port, &count, &capacity), TREADLE_OK);
        CHECK_INT(count, left);
    }
    end_port(port);
}

static uint64_t complete_no_message(uint64_t ticket, const treadle_event *event) {
    if (event->kind != TREADLE_EVENT_MESSAGE) return ~ticket;
    trace("%u", event->value);
    return 0;
}
TEST(a_callback_that_did_not_complete_leaves_the_next_message, "PORT-6") {
    treadle_host host;
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = complete_no_message};
    treadle_port port;
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    treadle_port_context context = {.struct_size = sizeof context, .host = host, .token = 5};
    CHECK_INT(treadle_port_create(&context, &port), TREADLE_OK);
    add_port(port, MODE);
    for (uint32_t id = 1; id <= 2; id++) CHECK_INT(send_id(port, id), TREADLE_OK);
    for (int run = 0; run < 2; run++) {
        CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK);
        CHECK_TEXT(trace_text, run == 0 ? "1" : "1 2");
    }
    end_port(port);
}

TEST(a_loop_that_another_loop_waits_for_is_ready_by_a_message, "PORT-5") {
    int32_t fd = -1;
    treadle_port port = make_port_of(trace_message, "", 0);
    add_port(port, MODE);
    CHECK_INT(treadle_loop_open_pollable(treadle_loop_current(), MODE, &fd), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(is_ready(fd), 0);
    CHECK_INT(send_id(port, 1), TREADLE_OK);
    CHECK_INT(send_id(port, 2), TREADLE_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(is_ready(fd), 1);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    }
    CHECK_INT(is_ready(fd), 0);
    CHECK_TRACE("1 2");
    close(fd);
    end_port(port);
}

TEST_MAIN()
