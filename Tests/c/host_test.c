/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host_test.c: host languages: what their one callback receives, what a failed one does to a run, and
 * that nothing is lost then. */
#include "helpers.h"
#include "host_items.h"

static const char *const M = TREADLE_DEFAULT_MODE;

/* The host of a test: keeps copies of the events, and fails those whose token is `failing`. */
static treadle_host host;
static treadle_event events[256];
static char modes[256][32];
static uint64_t tickets[4096];
static int event_count, ticket_count;
static uint64_t failing;
static enum { RETURN_ZERO, RETURN_OTHER, RETURN_PREVIOUS } failure;
static void (*during)(const treadle_event *event);

static uint64_t dispatch(uint64_t ticket, const treadle_event *event) {
    CHECK(is_size(event->struct_size, sizeof *event));
    CHECK_INT(event->reserved, 0);
    if (event_count < 256) {
        events[event_count] = *event;
        snprintf(modes[event_count], sizeof modes[0], "%s", event->mode ? event->mode : "(null)");
    }
    event_count++;
    trace("%" PRIu64, event->token);
    uint64_t previous = ticket_count ? tickets[ticket_count - 1] : 0;
    if (ticket_count < 4096) tickets[ticket_count++] = ticket;
    if (during) during(event);
    if (event->token != failing) return ~ticket;
    return failure == RETURN_ZERO ? 0 : failure == RETURN_OTHER ? ticket : ~previous;
}
static treadle_loop start_host(void) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    failing = UINT64_MAX;
    return treadle_loop_current();
}
static treadle_source add_source(uint64_t token, uint32_t wants, int64_t order) {
    treadle_source source;
    CHECK_INT(host_source(host, token, wants, order, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, M), TREADLE_OK);
    return source;
}
static treadle_timer add_timer(uint64_t token, int64_t fire_at, int64_t interval_ns) {
    treadle_timer timer;
    CHECK_INT(host_timer(host, token, fire_at, interval_ns, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, M), TREADLE_OK);
    return timer;
}
static treadle_observer add_observer(uint64_t token, uint32_t activities, uint32_t once) {
    treadle_observer observer;
    CHECK_INT(host_observer(host, token, activities, once, &observer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(treadle_loop_current(), observer, M), TREADLE_OK);
    return observer;
}
static void queue_block(uint64_t token) {
    CHECK_INT(host_post_block(host, token, treadle_loop_current(), NULL, 0), TREADLE_OK);
}
static void check_event(int index, uint32_t kind, uint64_t token, void *subject, uint32_t value, const char *mode) {
    CHECK(index < event_count);
    CHECK_INT(events[index].kind, kind);
    CHECK_INT(events[index].token, token);
    CHECK(events[index].loop == treadle_loop_current());
    CHECK(events[index].subject == subject);
    CHECK_INT(events[index].value, value);
    CHECK_TEXT(modes[index], mode);
    if (kind != TREADLE_EVENT_TIMER) CHECK_INT(events[index].late_ns, 0);
    if (kind != TREADLE_EVENT_DESCRIPTOR) CHECK_INT(events[index].descriptor, -1);
}

TEST(every_kind_of_event, "SRC0-3 OBJ-8") {
    treadle_loop loop = start_host();
    treadle_descriptor descriptor;
    int fd = eventfd(1, EFD_NONBLOCK);
    int64_t date = treadle_time_now() - MILLISECONDS(5);
    treadle_source source = add_source(11, TREADLE_HOST_WANTS_SCHEDULE | TREADLE_HOST_WANTS_CANCEL, 0);
    check_event(0, TREADLE_EVENT_SCHEDULE, 11, source, 0, M);
    treadle_source quiet = add_source(12, 0, 7);
    CHECK_INT(event_count, 1); /* wants nothing but to be performed */
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_source_signal(quiet), TREADLE_OK);
    queue_block(13);
    treadle_timer timer = add_timer(14, date, SECONDS(1000));
    treadle_observer observer = add_observer(15, TREADLE_EXIT, 0);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    check_event(1, TREADLE_EVENT_POST, 13, NULL, 0, M);
    check_event(2, TREADLE_EVENT_PERFORM, 11, source, 0, M);
    check_event(3, TREADLE_EVENT_PERFORM, 12, quiet, 0, M);
    check_event(4, TREADLE_EVENT_TIMER, 14, timer, 0, M);
    CHECK(events[4].late_ns >= MILLISECONDS(5));
    check_event(5, TREADLE_EVENT_OBSERVER, 15, observer, TREADLE_EXIT, M);
    CHECK_INT(event_count, 6);
    CHECK_INT(host_descriptor(host, 16, fd, TREADLE_READABLE, TREADLE_DESCRIPTOR_ACKNOWLEDGED, &descriptor), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, "x"), TREADLE_OK);
    CHECK_INT(poll_mode("x"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(poll_mode("x"), TREADLE_RUN_TIMED_OUT); /* acknowledged: once */
    check_event(6, TREADLE_EVENT_DESCRIPTOR, 16, descriptor, TREADLE_READABLE, "x");
    CHECK_INT(events[6].descriptor, fd);
    CHECK_INT(treadle_loop_add_source(loop, source, "y"), TREADLE_OK);
    check_event(7, TREADLE_EVENT_SCHEDULE, 11, source, 0, "y");
    CHECK_INT(treadle_loop_remove_source(loop, source, M), TREADLE_OK);
    check_event(8, TREADLE_EVENT_CANCEL, 11, source, 0, M);
    CHECK_INT(treadle_source_invalidate(source), TREADLE_OK);
    check_event(9, TREADLE_EVENT_CANCEL, 11, source, 0, "y");
    CHECK_INT(treadle_source_invalidate(quiet), TREADLE_OK);
    CHECK_INT(event_count, 10);
    for (int i = 0; i < 10; i++) /* a ticket is never used twice */
        for (int j = 0; j < i; j++) CHECK(tickets[i] != tickets[j]);
}

static int by_value(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}
TEST(tickets_are_never_used_twice, "ABI-3") {
    start_host();
    treadle_source source = add_source(1, 0, 0);
    failing = 1; /* failed events use theirs up, too */
    for (int i = 0; i < 4096; i++) {
        if (i == 2000) failing = UINT64_MAX;
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        CHECK_INT(poll_mode(M), i < 2000 ? TREADLE_E_CALLBACK : TREADLE_RUN_TIMED_OUT);
        trace_clear();
    }
    CHECK_INT(ticket_count, 4096);
    qsort(tickets, 4096, sizeof *tickets, by_value);
    for (int i = 1; i < 4096; i++) CHECK(tickets[i] != tickets[i - 1]);
    CHECK(tickets[0] != 0);
}

static void *receive_one(void *unused) {
    (void)unused;
    treadle_source source = add_source(1, 0, 0);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(discard(source), TREADLE_OK);
    return NULL;
}
TEST(tickets_of_two_threads_are_never_the_same, "ABI-3") {
    start_host();
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        CHECK_INT(pthread_create(&thread, NULL, receive_one, NULL), 0);
        CHECK_INT(pthread_join(thread, NULL), 0);
    }
    CHECK_INT(ticket_count, 2);
    CHECK(tickets[0] != tickets[1]);
    trace_clear();
}

TEST(a_failed_source_ends_the_run_and_the_others_wait, "ABI-3 SRC0-7") {
    treadle_loop loop = start_host();
    treadle_source sources[4];
    for (int i = 0; i < 4; i++) sources[i] = add_source((uint64_t)i + 1, 0, i);
    for (failure = RETURN_ZERO; failure <= RETURN_PREVIOUS; failure++) {
        for (int i = 0; i < 4; i++) CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK);
        failing = 2;
        CHECK_ERROR(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK, "");
        CHECK_TRACE("1 2");
        CHECK(!treadle_source_is_signalled(sources[1])); /* it was performed, though not to its end */
        CHECK(treadle_source_is_signalled(sources[2]) && treadle_source_is_signalled(sources[3]));
        failing = UINT64_MAX;
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK_TRACE("3 4");
    }
}

TEST(a_failed_block_leaves_the_others_queued, "ABI-3 BLK-3") {
    treadle_loop loop = start_host();
    add_source(9, 0, 0);
    for (uint64_t token = 1; token <= 4; token++) queue_block(token);
    failing = 2;
    CHECK_ERROR(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK, "");
    CHECK_TRACE("1 2");
    queue_block(5);
    failing = 4;
    CHECK_ERROR(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK, "");
    CHECK_TRACE("3 4");
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("5"); /* the new ones after the old */
}

TEST(a_failed_timer_leaves_the_others_due, "ABI-3 TMR-12") {
    treadle_loop loop = start_host();
    add_source(9, 0, 0);
    add_timer(1, 1, 0);
    treadle_timer repeating = add_timer(2, 2, SECONDS(1000)), once = add_timer(3, 3, 0);
    add_timer(4, 4, 0);
    failing = 2;
    CHECK_ERROR(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK, "");
    CHECK_TRACE("1 2");
    CHECK(treadle_timer_is_valid(repeating) && treadle_timer_is_valid(once));
    failing = 3;
    CHECK_ERROR(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK, "");
    CHECK_TRACE("3");
    CHECK(!treadle_timer_is_valid(once)); /* a one-shot has had its chance */
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("4");
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("");
}

/* A run that sleeps before its time is up: on a slow machine the first one may not come to that. */
static treadle_status signal_and_run(treadle_loop loop, treadle_source source) {
    treadle_status status = TREADLE_RUN_TIMED_OUT;
    for (int64_t limit = MILLISECONDS(5); status == TREADLE_RUN_TIMED_OUT && limit < MILLISECONDS(60000); limit *= 2) {
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
        status = treadle_loop_run(loop, M, limit, 0);
    }
    return status;
}
TEST(failed_descriptors_and_observers_end_the_run, "ABI-3 SRC1-2") {
    treadle_loop loop = start_host();
    treadle_descriptor descriptor;
    int fd = eventfd(1, EFD_NONBLOCK);
    CHECK_INT(host_descriptor(host, 1, fd, TREADLE_READABLE, 0, &descriptor), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, M), TREADLE_OK);
    failing = 1;
    for (int i = 0; i < 2; i++) {
        CHECK_ERROR(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK, "");
        CHECK_TRACE("1"); /* it is still ready */
    }
    CHECK_INT(treadle_descriptor_set_events(descriptor, 0), TREADLE_OK);
    treadle_source source = add_source(2, 0, 0);
    failing = 3;
    for (uint32_t activity = TREADLE_ENTRY; activity <= TREADLE_EXIT; activity <<= 1) {
        if (activity == 8 || activity == 16) continue; /* no activities */
        treadle_observer observer = add_observer(3, activity, 0);
        CHECK_ERROR(signal_and_run(loop, source), TREADLE_E_CALLBACK, "");
        CHECK(strstr(trace_text, "3"));
        CHECK(activity > TREADLE_BEFORE_SOURCES || treadle_source_is_signalled(source)); /* not reached, not lost */
        CHECK_INT(treadle_observer_invalidate(observer), TREADLE_OK);
        CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
        CHECK(!treadle_source_is_signalled(source));
        trace_clear();
    }
}

static treadle_status inner;
static void run_inner(const treadle_event *event) {
    if (event->token == 1) inner = treadle_loop_run(event->loop, "inner", TREADLE_FOREVER, 0);
}
TEST(only_the_innermost_run_ends, "RUN-12 ABI-3") {
    treadle_loop loop = start_host();
    treadle_source failed, outer = add_source(1, 0, 0);
    CHECK_INT(host_source(host, 2, 0, 0, &failed), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, failed, "inner"), TREADLE_OK);
    CHECK_INT(treadle_source_signal(outer), TREADLE_OK);
    CHECK_INT(treadle_source_signal(failed), TREADLE_OK);
    add_timer(3, 1, 0);
    during = run_inner, failing = 2;
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(inner, TREADLE_E_CALLBACK);
    CHECK_TRACE("1 2 3");
}

static int performs;
static void count_perform(treadle_source source, void *info) {
    (void)source, (void)info;
    performs++;
}
TEST(plain_callbacks_of_the_same_pass_are_not_lost, "ABI-3 SRC0-7") {
    treadle_loop loop = start_host();
    treadle_source plain = make_source(count_perform, NULL), failed = add_source(1, 0, -1);
    CHECK_INT(treadle_loop_add_source(loop, plain, M), TREADLE_OK);
    CHECK_INT(treadle_source_signal(plain), TREADLE_OK);
    CHECK_INT(treadle_source_signal(failed), TREADLE_OK);
    failing = 1;
    CHECK_ERROR(treadle_loop_run(loop, M, TREADLE_FOREVER, 0), TREADLE_E_CALLBACK, "");
    CHECK_INT(performs, 0);
    CHECK_INT(treadle_loop_run(loop, M, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(performs, 1);
}

/* A context with one member of each value, besides a host: refused by its name, and nothing of it is called or retired. */
static void must_not_be_called(void) { CHECK(false); }
#define ANY(type) ((type)(void *)must_not_be_called)
#define REFUSED(kind, given, name, ...)                                                                             \
    do {                                                                                                              \
        treadle_##kind##_context context_ = {.struct_size = sizeof context_, .host = host, .token = 1, __VA_ARGS__};    \
        context_.given;                                                                                               \
        CHECK_ERROR(treadle_##kind##_create(&context_, &kind), TREADLE_E_ARG, name);                                  \
        CHECK(kind == NULL);                                                                                          \
    } while (0)
#define REFUSED_OF_ALL(kind, ...)                                                          \
    REFUSED(kind, info = &host, "info", __VA_ARGS__);                                      \
    REFUSED(kind, retain = ANY(treadle_retain_fn), "retain", __VA_ARGS__);                 \
    REFUSED(kind, release = ANY(treadle_release_fn), "release", __VA_ARGS__);              \
    REFUSED(kind, describe = ANY(treadle_describe_fn), "describe", __VA_ARGS__)
#define WATCHED .fd = 0, .events = TREADLE_READABLE
TEST(a_host_takes_the_place_of_every_callback, "ABI-2 SRC0-1") {
    treadle_source source;
    treadle_timer timer;
    treadle_descriptor descriptor;
    treadle_observer observer;
    treadle_routine routine;
    treadle_routine_config config = {.struct_size = sizeof config, .code = must_not_be_called, .signature = "v"};
    start_host();
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    REFUSED_OF_ALL(source, .order = 0);
    REFUSED(source, perform = ANY(treadle_perform_fn), "perform", .order = 0);
    REFUSED(source, perform_routine = routine, "perform_routine", .order = 0);
    REFUSED(source, schedule = ANY(treadle_schedule_fn), "schedule", .order = 0);
    REFUSED(source, schedule_routine = routine, "schedule_routine", .order = 0);
    REFUSED(source, cancel = ANY(treadle_schedule_fn), "cancel", .order = 0);
    REFUSED(source, cancel_routine = routine, "cancel_routine", .order = 0);
    REFUSED(source, equal = ANY(treadle_equal_fn), "equal", .order = 0);
    REFUSED(source, hash = ANY(treadle_hash_fn), "hash", .order = 0);
    REFUSED(source, reserved = 1, "reserved", .order = 0);
    REFUSED_OF_ALL(descriptor, WATCHED);
    REFUSED(descriptor, ready = ANY(treadle_ready_fn), "ready", WATCHED);
    REFUSED(descriptor, ready_routine = routine, "ready_routine", WATCHED);
    REFUSED(descriptor, equal = ANY(treadle_equal_fn), "equal", WATCHED);
    REFUSED(descriptor, hash = ANY(treadle_hash_fn), "hash", WATCHED);
    REFUSED(descriptor, get_fd = ANY(treadle_get_fd_fn), "get_fd", WATCHED);
    REFUSED_OF_ALL(timer, .fire_at = 1);
    REFUSED(timer, fire = ANY(treadle_timer_fn), "fire", .fire_at = 1);
    REFUSED(timer, fire_routine = routine, "fire_routine", .fire_at = 1);
    REFUSED_OF_ALL(observer, .activities = TREADLE_ENTRY);
    REFUSED(observer, notify = ANY(treadle_observer_fn), "notify", .activities = TREADLE_ENTRY);
    REFUSED(observer, notify_routine = routine, "notify_routine", .activities = TREADLE_ENTRY);
    CHECK_INT(*treadle_host_get_retired_count(host), 0);
    CHECK_INT(event_count, 0);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
}
TEST(what_a_context_holds_besides_works_for_hosts, "SRC0-7 TMR-5 SRC0-2") {
    treadle_loop loop = start_host();
    treadle_timer_context context = {.struct_size = sizeof context, .fire_at = 1, .interval_ns = SECONDS(1),
                                     .tolerance_ns = MILLISECONDS(20), .host = host, .token = 5};
    treadle_timer timer;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    int64_t tolerance;
    CHECK_INT(treadle_timer_get_tolerance(timer, &tolerance), TREADLE_OK);
    CHECK_INT(tolerance, MILLISECONDS(20));
    treadle_source late = add_source(2, 0, 9), early = add_source(1, 0, -9);
    void *info = &loop;
    CHECK(treadle_source_get_context_info(late, &info) == TREADLE_OK && info == NULL);
    CHECK_INT(treadle_source_signal(late), TREADLE_OK);
    CHECK_INT(treadle_source_signal(early), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, M), TREADLE_OK);
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("1 2 5");
}

static void never_ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info; }
TEST(registration_is_checked, "ABI-7") {
    treadle_host_config config = {.struct_size = sizeof config}, good = {.struct_size = sizeof good, .dispatch = dispatch};
    treadle_source source;
    treadle_timer timer;
    treadle_descriptor descriptor;
    treadle_observer observer;
    uint64_t count = 7;
    CHECK_ERROR(treadle_host_register(NULL, &host), TREADLE_E_ARG, "config");
    config.thread_enter = free;
    CHECK_ERROR(treadle_host_register(&config, &host), TREADLE_E_ARG, "thread_enter");
    config.thread_enter = NULL, config.thread_exit = free;
    CHECK_ERROR(treadle_host_register(&config, &host), TREADLE_E_ARG, "thread_exit");
    CHECK_ERROR(treadle_host_register(&good, NULL), TREADLE_E_ARG, "host");
    config = good, config.struct_size = 4;
    CHECK_ERROR(treadle_host_register(&config, &host), TREADLE_E_ARG, "struct_size");
    struct { treadle_host_config config; uint64_t tail[2]; } longer = {good, {0, 1}};
    longer.config.struct_size = sizeof longer;
    CHECK_ERROR(treadle_host_register(&longer.config, &host), TREADLE_E_TOO_NEW, "");
    CHECK(host == NULL);
    CHECK_ERROR(host_source(NULL, 1, 0, 0, &source), TREADLE_E_ARG, "token");
    CHECK_ERROR(host_source(NULL, 0, TREADLE_HOST_WANTS_CANCEL, 0, &source), TREADLE_E_ARG, "host_wants");
    CHECK_ERROR(host_timer(NULL, 1, 0, 0, &timer), TREADLE_E_ARG, "token");
    CHECK_ERROR(host_observer(NULL, 1, TREADLE_ENTRY, 0, &observer), TREADLE_E_ARG, "token");
    treadle_descriptor_context plain = {.struct_size = sizeof plain, .fd = 0, .events = TREADLE_READABLE, .ready = never_ready, .token = 1};
    CHECK_ERROR(treadle_descriptor_create(&plain, &descriptor), TREADLE_E_ARG, "token");
    CHECK_ERROR(host_source((treadle_host)treadle_loop_current(), 1, 0, 0, &source), TREADLE_E_KIND, "host");
    CHECK_ERROR(treadle_host_get_dropped((treadle_host)&config, &count), TREADLE_E_STALE, "host");
    CHECK_INT(count, 0);
    CHECK(treadle_host_get_retired_count(NULL) == NULL);
    treadle_loop loop = start_host();
    CHECK_ERROR(host_source(host, 1, 4, 0, &source), TREADLE_E_ARG, "host_wants");
    CHECK_ERROR(host_timer(host, 1, 0, -1, &timer), TREADLE_E_RANGE, "interval");
    CHECK_ERROR(host_descriptor(host, 1, -1, TREADLE_READABLE, 0, &descriptor), TREADLE_E_ARG, "fd");
    CHECK_ERROR(host_observer(host, 1, TREADLE_ENTRY, 0, NULL), TREADLE_E_ARG, "observer");
    CHECK_ERROR(host_post_block(host, 1, NULL, NULL, 0), TREADLE_E_ARG, "loop");
    const char *none[] = {NULL};
    CHECK_ERROR(host_post_block(host, 1, loop, none, 1), TREADLE_E_ARG, "mode");
    CHECK_INT(*treadle_host_get_retired_count(host), 0); /* after an error the token is not retired */
    CHECK_INT(host_observer(host, 1, TREADLE_ENTRY, 1, &observer), TREADLE_OK);
    CHECK(!treadle_observer_repeats(observer));
}

TEST(sixty_three_hosts, "ABI-2") {
    treadle_host hosts[63], extra;
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    for (int i = 0; i < 63; i++) {
        CHECK_INT(treadle_host_register(&config, &hosts[i]), TREADLE_OK);
        for (int j = 0; j < i; j++) CHECK(hosts[i] != hosts[j]);
    }
    CHECK_ERROR(treadle_host_register(&config, &extra), TREADLE_E_NOMEM, "");
    failing = UINT64_MAX;
    for (int i = 0; i < 63; i++) { /* each has its own tokens and its own gate */
        host = hosts[i];
        treadle_source source = add_source((uint64_t)i, 0, 0);
        if (i % 2) CHECK_INT(treadle_host_quiesce(host, 0), TREADLE_OK);
        CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    }
    CHECK_INT(poll_mode(M), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(event_count, 32);
    for (int i = 0; i < 32; i++) CHECK_INT(events[i].token, 2 * i);
    for (int i = 0; i < 63; i++) {
        uint64_t dropped = 9;
        CHECK_INT(treadle_host_get_dropped(hosts[i], &dropped), TREADLE_OK);
        CHECK_INT(dropped, i % 2);
    }
}

TEST_MAIN()
