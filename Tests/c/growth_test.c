/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * growth_test.c: what a call costs does not grow with the number of items, modes, requests and keys, for every function of the
 * headers: counted in instructions, with a thousand and with a hundred thousand of each. Whatever looks at all of them
 * takes a hundred thousand steps more with the most than with the fewest; a table or a tree takes some tens or hundreds more.
 * Left out are the calls that are about all of them (is_about_all); the number of threads with loops stays what it is. */
#include "all_calls.h"
#include "steps.h"

#include <sys/resource.h>

#define MODE TREADLE_DEFAULT_MODE

enum { SIZES = 2, ROUNDS = 2, MOST_PROBES = 64, MORE = 8000 };
static int size_of(int size) { return scaled((const int[]){1000, 100000}[size]); }

/* The steps of each call with each number of items, 0 where they decide nothing: the fewest of some rounds, since now and then a call
 * has more to do for all that come after it, as when an array grows. Shared with the children that are counted, of which
 * the one with the most items is the first. */
static struct result {
    const char *name;
    long steps[SIZES];
} *results;

static bool has_grown(const struct result *result) {
    long most = result->steps[SIZES - 1]; /* the limit: nobody knows how many they are */
    return most > result->steps[0] + MORE || most >= 4 * MORE;
}
/* Makes the call, and counts it if it may have grown. */
static void measure(int probe, int size, const char *name, void (*call)(void *info), void *info) {
    struct result *result = &results[probe];
    bool is_first = size == SIZES - 1 && !result->name;
    result->name = name;
    if (!is_first && !has_grown(result)) return call(info);
    long steps = steps_of(call, info);
    if (result->steps[size] == 0 || steps < result->steps[size]) result->steps[size] = steps;
}

static void must_not_grow(void (*program)(void *size), int probes) {
    size_t room = sizeof *results * (size_t)probes;
    results = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(results != MAP_FAILED);
    for (int size = SIZES - 1; size >= 0; size--) {
        if (run_counted(program, &size, 4 * MORE)) continue;
        fprintf(stderr, "growth: this machine does not permit to count steps\n");
        return;
    }
    int failures = 0;
    for (int i = 0; i < probes; i++) {
        const struct result *result = &results[i];
        if (!result->name || !has_grown(result)) continue;
        fprintf(stderr, "%s: %ld steps with the fewest, %ld with the most, and at most %d are counted\n", result->name, result->steps[0],
                result->steps[SIZES - 1], 4 * MORE);
        failures++;
    }
    CHECK_INT(failures, 0);
}

/* A number of everything. None of it has anything to do. */
#define NEVER 0x100 /* no activity of a loop */
static void *numbered(int i) { return (void *)(intptr_t)(i + 1); }
static void key_of(char *key, int i) { snprintf(key, 32, "number %d", i); }
static int32_t same(void *one, void *other) { return one == other; }
static uint64_t hash_of(void *info) { return (uint64_t)(uintptr_t)info; }
static treadle_source comparable(int i) {
    treadle_source_context context = {.struct_size = sizeof context, .info = numbered(i), .equal = same, .hash = hash_of};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    return source;
}
static treadle_observer ordered(int i) {
    treadle_observer_context context = {.struct_size = sizeof context, .activities = NEVER, .order = -i};
    treadle_observer observer = NULL;
    CHECK_INT(treadle_observer_create(&context, &observer), TREADLE_OK);
    return observer;
}
static treadle_timer tolerant(int i) {
    treadle_timer timer = make_timer(NULL, NULL, FAR_AWAY + i, 0);
    CHECK_INT(treadle_timer_set_tolerance(timer, 1000), TREADLE_OK);
    return timer;
}
static treadle_request request_for(void *target) {
    return (treadle_request){.struct_size = sizeof(treadle_request), .fn = call_request, .target = target};
}
static treadle_request request_among_many(int i) {
    static int target;
    treadle_request request = request_for(&target);
    request.argument = numbered(i);
    return request;
}
static void populate(int count) {
    treadle_loop loop = treadle_loop_current();
    char key[32];
    for (int i = 0; i < count; i++) {
        treadle_source plain = make_source(NULL, NULL), private = make_source(NULL, NULL), equal = comparable(i);
        treadle_timer exact = make_timer(NULL, NULL, FAR_AWAY + i * MILLISECONDS(7), 0), loose = tolerant(i);
        treadle_observer observer = ordered(i);
        key_of(key, i);
        CHECK_INT(treadle_loop_add_source(loop, plain, MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(loop, equal, MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(loop, private, key), TREADLE_OK);
        CHECK_INT(treadle_loop_add_timer(loop, exact, MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_add_timer(loop, loose, MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_add_observer(loop, observer, MODE), TREADLE_OK);
        CHECK_INT(treadle_thread_set_value(treadle_thread_current(), key, numbered(i), NULL), TREADLE_OK);
        treadle_request many = request_for(numbered(i)), one = request_for(&one), among = request_among_many(i);
        CHECK_INT(perform_after(SECONDS(100000), &many, NULL, 0), TREADLE_OK);
        CHECK_INT(perform_after(SECONDS(100000), &one, NULL, 0), TREADLE_OK);
        CHECK_INT(perform_after(SECONDS(100000), &among, NULL, 0), TREADLE_OK);
        treadle_source_release(plain), treadle_source_release(private), treadle_source_release(equal);
        treadle_timer_release(exact), treadle_timer_release(loose), treadle_observer_release(observer);
    }
}

/* Every function of the headers. */
static struct handles handles;
static treadle_status status;
static void make_call(void *info) { status = (treadle_status)((const struct call *)info)->call(&handles); }
/* What tells of all modes or items, a run, which tells all observers of its mode, calls that wait in one, what writes all that was
 * recorded, and what ends everything. */
static bool is_about_all(const char *name) {
    static const char *const names[] = {"treadle_loop_get_modes", "treadle_loop_copy_items", "treadle_describe__loop", "treadle_describe__thread",
                                        "treadle_loop_run", "treadle_message_port_request", "treadle_port_call", "treadle_trace_stop",
                                        "treadle_shutdown"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}
static void make_all_calls(void *info) {
    int size = *(int *)info;
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = call_dispatch};
    populate(size_of(size));
    for (int round = 0; round < ROUNDS; round++) {
        handles_make(&handles, treadle_loop_current(), MODE);
        CHECK_INT(treadle_host_register(&config, (treadle_host *)&handles.of[HOST]), TREADLE_OK);
        for (int i = 0; i < CALL_COUNT; i++)
            if (!is_about_all(calls[i].name)) measure(i, size, calls[i].name, make_call, (void *)&calls[i]);
        handles_end(&handles);
    }
}
TEST(no_call_of_the_interface_grows_with_the_number_of_items, "RL-5 RL-7 OBS-2 TMR-9 PERF-15") {
    must_not_grow(make_all_calls, CALL_COUNT);
}

/* Calls for what is among many of its kind. */

static char key[32];
static void *item;
static treadle_loop here(void) { return treadle_loop_current(); }
static void add_first_observer(void *info) { (void)info, treadle_loop_add_observer(here(), item, MODE); }
static void remove_observer(void *info) { (void)info, treadle_loop_remove_observer(here(), item, MODE); }
static void add_equal(void *info) { (void)info, treadle_loop_add_source(here(), item, MODE); }
static void contains_equal(void *info) { (void)info; CHECK(treadle_loop_contains_source(here(), item, MODE)); }
static void add_private(void *info) { (void)info, treadle_loop_add_source(here(), item, key); }
static void contains_private(void *info) { (void)info; CHECK(treadle_loop_contains_source(here(), item, key)); }
static void run_private(void *info) { (void)info; CHECK_INT(treadle_loop_run(here(), key, 0, 0), TREADLE_RUN_TIMED_OUT); }
static void remove_private(void *info) { (void)info, treadle_loop_remove_source(here(), item, key); }
static void next_fire_of_mode(void *info) { treadle_loop_get_next_fire(here(), info ? MODE : key, &(int64_t){0}); }
static void is_common(void *info) { (void)info; CHECK(!treadle_loop_is_common_mode(here(), key)); }
static void cancel_all(void *info) { CHECK_INT(cancel_target(info), TREADLE_OK); }
static void cancel_request(void *info) {
    treadle_request request = request_for(info);
    CHECK_INT(treadle_perform_cancel(&request), TREADLE_OK);
}
static void cancel_request_among_many(void *info) {
    treadle_request request = request_among_many(*(int *)info);
    CHECK_INT(treadle_perform_cancel(&request), TREADLE_OK);
}
static void use_values(void *info) {
    (void)info;
    CHECK_INT(treadle_thread_use_value(treadle_thread_current(), key, call_use, NULL), TREADLE_OK);
    CHECK_INT(treadle_thread_get_value(treadle_thread_current(), key, &item), TREADLE_OK);
}
static void take_value(void *info) {
    (void)info; CHECK_INT(treadle_thread_remove_value(treadle_thread_current(), key), TREADLE_OK);
}
static void move_timer(void *info) { CHECK_INT(treadle_timer_set_next_fire(item, *(int64_t *)info), TREADLE_OK); }
static void cancel_call(void *info) { CHECK_INT(treadle_invocation_cancel(info), TREADLE_OK); }
static void pop_nothing(void *info) { (void)info; CHECK_INT(treadle_pool_pop(UINT64_MAX / 2), TREADLE_E_ARG); }
static void unwatch(void *info) { CHECK_INT(treadle_loop_remove_descriptor(here(), info, "files"), TREADLE_OK); }

/* An item that is in many modes, and is common in as many. */
static void make_member_of_many(treadle_source source, int count) {
    char name[32];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "number %d", i);
        CHECK_INT(treadle_loop_add_source(here(), source, name), TREADLE_OK);
    }
}
/* Calls that are queued for a mode that is not run. */
static void queue_calls(treadle_invocation *queued, int count) {
    const char *modes[] = {"not run"};
    for (int i = 0; i < count; i++) {
        CHECK_INT(make_invocation(&queued[i]), TREADLE_OK);
        CHECK_INT(treadle_invocation_perform(queued[i], INVOKE(.loop = here(), .modes = modes, .mode_count = 1)), TREADLE_OK);
    }
}
static treadle_descriptor files[1000];
static void watch_files(int count) {
    for (int i = 0; i < count; i++) {
        int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        CHECK(fd >= 0);
        files[i] = make_descriptor(NULL, NULL, fd, TREADLE_READABLE);
        CHECK_INT(treadle_loop_add_descriptor(here(), files[i], "files"), TREADLE_OK);
    }
}
#define PROBE(call, info) measure(probe++, size, #call, call, info)
static void make_calls_among_many(void *info) {
    int size = *(int *)info, count = size_of(size);
    treadle_source everywhere = make_source(NULL, NULL);
    treadle_invocation *queued = calloc((size_t)count, sizeof *queued);
    uint64_t pool;
    populate(count);
    make_member_of_many(everywhere, count);
    watch_files(count / 1000 + 100); /* as many as may be open */
    for (int i = 0; i < count; i++) CHECK_INT(treadle_pool_push(&pool), TREADLE_OK);
    for (int round = 0; round < ROUNDS; round++) {
        int probe = 0, middle = count / 2 + round;
        int64_t date = FAR_AWAY / 2;
        item = ordered(count + round);
        PROBE(add_first_observer, NULL);
        PROBE(remove_observer, NULL);
        item = comparable(count + round);
        PROBE(add_equal, NULL);
        item = comparable(middle);
        PROBE(contains_equal, NULL);
        key_of(key, middle);
        item = make_source(NULL, NULL);
        PROBE(add_private, NULL);
        PROBE(contains_private, NULL);
        PROBE(run_private, NULL);
        PROBE(remove_private, NULL);
        PROBE(is_common, NULL);
        PROBE(next_fire_of_mode, NULL);
        PROBE(next_fire_of_mode, MODE);
        item = everywhere;
        PROBE(contains_private, NULL);
        PROBE(remove_private, NULL);
        PROBE(add_private, NULL);
        item = make_timer(NULL, NULL, FAR_AWAY, 0);
        CHECK_INT(treadle_loop_add_timer(here(), item, MODE), TREADLE_OK);
        PROBE(move_timer, &date);
        PROBE(next_fire_of_mode, MODE);
        PROBE(cancel_all, numbered(middle));
        PROBE(cancel_request_among_many, &middle);
        PROBE(cancel_request, numbered(middle + ROUNDS));
        PROBE(use_values, NULL);
        PROBE(take_value, NULL);
        /* Not before the run, which looks at all that is queued. */
        if (round == 0) queue_calls(queued, count);
        PROBE(cancel_call, queued[middle]);
        PROBE(pop_nothing, NULL);
        PROBE(unwatch, files[50 + round]);
        CHECK(probe < MOST_PROBES);
    }
}
TEST(no_call_for_one_of_many_grows_with_their_number, "MODE-1 MODE-5 OBS-2 SRC0-5 TMR-9 PERF-15 THR-12") {
    must_not_grow(make_calls_among_many, MOST_PROBES);
}

/* Message ports, of which each has three descriptors. */
enum { FEW_PORTS = 200, MANY_PORTS = 4000, SPARE_DESCRIPTORS = 200 };
static treadle_message_port port;
static void create_local(void *name) {
    treadle_message_port_context context = {.struct_size = sizeof context};
    CHECK_INT(treadle_message_port_create_local(name, &context, &port), TREADLE_OK);
}
static void create_remote(void *name) { CHECK_INT(treadle_message_port_create_remote(name, NULL, &port), TREADLE_OK); }
static void find_local(void *name) {
    treadle_message_port_context context = {.struct_size = sizeof context};
    CHECK_INT(treadle_message_port_create_local(name, &context, &port), TREADLE_IGNORED);
}
static void rename_port(void *name) { CHECK_INT(treadle_message_port_set_name(port, name), TREADLE_OK); }
static void end_port(void *info) {
    (void)info;
    CHECK(treadle_invalidate(port) == TREADLE_OK && treadle_release(port) == TREADLE_OK);
}
static void make_ports(void *info) {
    int size = *(int *)info, count = size == 0 ? FEW_PORTS : MANY_PORTS;
    char first[64] = "", name[64], other[64];
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_cur < 3 * MANY_PORTS + SPARE_DESCRIPTORS) {
        fprintf(stderr, "growth: skipped: 12,000 descriptors for message ports are not permitted here\n");
        return;
    }
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "treadle.growth.%d.%d", (int)getpid(), i);
        if (i == 0) strcpy(first, name);
        create_local(name);
    }
    for (int round = 0; round < ROUNDS; round++) {
        int probe = 0;
        snprintf(name, sizeof name, "treadle.growth.%d.new", (int)getpid());
        snprintf(other, sizeof other, "treadle.growth.%d.renamed", (int)getpid());
        PROBE(create_local, name);
        PROBE(rename_port, other);
        PROBE(end_port, NULL);
        PROBE(find_local, first);
        CHECK_INT(treadle_release(port), TREADLE_OK);
        PROBE(create_remote, first);
        PROBE(end_port, NULL);
    }
}
TEST(no_call_for_a_message_port_grows_with_their_number, "MSG-1 MSG-2 MSG-3 MSG-7") { must_not_grow(make_ports, MOST_PROBES); }

TEST_MAIN()
