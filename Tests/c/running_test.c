/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * running_test.c: what treadle_describe tells of a loop while a callback of it is stuck: the callback, since when, the thread, and
 * what waits in the queues. */
#include "described.h"

#define MODE TREADLE_DEFAULT_MODE

static bool has(const char *words) {
    if (!strstr(text, words)) fprintf(stderr, "no \"%s\" in:\n%s\n", words, text);
    return strstr(text, words) != NULL;
}
/* A callback that says that it runs, and then waits to be let go. */
static sem_t inside, go_on;
static void stick(void) {
    sem_post(&inside);
    await(&go_on);
}
static void perform_stuck(treadle_source source, void *info) { (void)source, (void)info, stick(); }
static void fire_stuck(treadle_timer timer, void *info) { (void)timer, (void)info, stick(); }
static void ready_stuck(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info, stick(); }
static void post_stuck(void *info) { (void)info, stick(); }
static void request_stuck(void *target, void *argument) { (void)target, (void)argument, stick(); }
static void nothing(void *info) { (void)info; }
static void no_request(void *target, void *argument) { (void)target, (void)argument; }

static struct worker worker;
static void begin(void) {
    CHECK_INT(sem_init(&inside, 0, 0), 0);
    CHECK_INT(sem_init(&go_on, 0, 0), 0);
    worker_start(&worker);
    worker_await_sleep(&worker);
    CHECK(!strstr(describe(worker.loop), "\n  runs ") && !strstr(text, "\n  queued "));
}
static void end(void) {
    sem_post(&go_on);
    worker_stop(&worker);
}

/* The seconds that the text gives behind some words, as nanoseconds. */
static int64_t time_behind(const char *words) {
    int64_t seconds = 0, microseconds = 0;
    const char *at = strstr(text, words);
    CHECK(at);
    CHECK_INT(sscanf(at + strlen(words), "%" SCNd64 ".%6" SCNd64 " s", &seconds, &microseconds), 2);
    return seconds * 1000000000 + microseconds * 1000;
}

TEST(the_source_that_runs_is_named, "RL-12 RL-13") {
    char words[128];
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform_stuck, .label = "bell"};
    treadle_source source;
    begin();
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add(worker.loop, source, MODE), TREADLE_OK);
    int64_t before = treadle_time_now();
    CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
    await(&inside);
    describe(worker.loop);
    snprintf(words, sizeof words, "run loop of thread %d ", worker.thread_id);
    CHECK(has(words) && has(", not waiting, in mode " MODE));
    snprintf(words, sizeof words, "\n  runs source \"bell\" 0x%016" PRIxPTR " for at most ", (uintptr_t)source);
    CHECK(has(words) && has(" s, in pass "));
    /* It began behind the last sleep: that is known to a tick of the kernel's clock, of 10 ms at most. */
    CHECK(time_behind(" for at most ") <= treadle_time_now() - before + 20000000);
    sem_post(&go_on);
    worker_await_sleep(&worker);
    CHECK(!strstr(describe(worker.loop), "\n  runs "));
    end();
    CHECK_INT(discard(source), TREADLE_OK);
}

static void forget_line(const char *message, void *info) { (void)message, (void)info; }
TEST(where_callbacks_are_timed_the_begin_is_exact, "RL-13") {
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform_stuck, .label = "bell"};
    treadle_source source;
    CHECK_INT(treadle_set_log(forget_line, NULL, NULL), TREADLE_OK);
    begin();
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add(worker.loop, source, MODE), TREADLE_OK);
    int64_t before = treadle_time_now();
    CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
    await(&inside);
    int64_t begun = treadle_time_now(), asked = treadle_time_now();
    describe(worker.loop);
    int64_t after = treadle_time_now();
    CHECK(has("\n  runs source \"bell\" 0x") && !strstr(text, "at most"));
    char from[64];
    snprintf(from, sizeof from, "0x%016" PRIxPTR " for ", (uintptr_t)source);
    /* To the microsecond. */
    int64_t told = time_behind(from);
    CHECK(told <= after - before && told + 1000 >= asked - begun);
    end();
    CHECK_INT(discard(source), TREADLE_OK);
    CHECK_INT(treadle_set_log(NULL, NULL, NULL), TREADLE_OK);
}

TEST(timers_and_descriptors_that_run_are_named, "RL-13") {
    int fd = eventfd(1, EFD_CLOEXEC);
    treadle_timer timer;
    treadle_timer_context due = {.struct_size = sizeof due, .fire = fire_stuck, .fire_at = 1, .label = "tick"};
    treadle_descriptor descriptor;
    treadle_descriptor_context wire = {.struct_size = sizeof wire, .ready = ready_stuck, .fd = fd, .events = TREADLE_READABLE,
                                       .label = "wire"};
    begin();
    CHECK_INT(treadle_timer_create(&due, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add(worker.loop, timer, MODE), TREADLE_OK);
    await(&inside);
    CHECK(has(describe(worker.loop) ? "\n  runs timer \"tick\" 0x" : ""));
    sem_post(&go_on);
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK_INT(treadle_descriptor_create(&wire, &descriptor), TREADLE_OK);
    CHECK_INT(treadle_loop_add(worker.loop, descriptor, MODE), TREADLE_OK);
    await(&inside);
    describe(worker.loop);
    CHECK(has("\n  runs descriptor \"wire\" 0x"));
    CHECK_INT(treadle_invalidate(descriptor), TREADLE_OK);
    end();
    CHECK_INT(treadle_release(descriptor), TREADLE_OK);
    close(fd);
}

TEST(a_post_and_a_request_that_run_are_named, "RL-13") {
    char words[128];
    treadle_post post = {.struct_size = sizeof post, .fn = post_stuck, .label = "redraw"};
    treadle_request request = {.struct_size = sizeof request, .fn = request_stuck, .label = "save"};
    begin();
    CHECK_INT(treadle_loop_post(worker.loop, post_stuck, NULL), TREADLE_OK);
    await(&inside);
    describe(worker.loop);
    snprintf(words, sizeof words, "\n  runs post of function 0x%016" PRIxPTR, (uintptr_t)post_stuck);
    CHECK(has(words) && has(" for at most "));
    sem_post(&go_on);
    CHECK_INT(treadle_loop_post_in(worker.loop, &post), TREADLE_OK);
    await(&inside);
    describe(worker.loop);
    CHECK(has("\n  runs post \"redraw\" for at most "));
    sem_post(&go_on);
    CHECK_INT(treadle_perform(worker.loop, &request), TREADLE_OK);
    await(&inside);
    describe(worker.loop);
    CHECK(has("\n  runs request \"save\" for at most "));
    end();
}

TEST(what_waits_in_the_queues_is_listed_up_to_a_bound, "RL-13 BLK-3 PERF-1") {
    treadle_post post = {.struct_size = sizeof post, .fn = nothing, .label = "redraw"};
    treadle_request request = {.struct_size = sizeof request, .fn = no_request, .label = "save"};
    begin();
    CHECK_INT(treadle_loop_post(worker.loop, post_stuck, NULL), TREADLE_OK);
    await(&inside);
    int64_t before = treadle_time_now();
    CHECK_INT(treadle_loop_post_in(worker.loop, &post), TREADLE_OK);
    CHECK_INT(treadle_loop_post(worker.loop, nothing, NULL), TREADLE_OK);
    CHECK_INT(treadle_perform(worker.loop, &request), TREADLE_OK);
    request.label = NULL;
    CHECK_INT(treadle_perform(worker.loop, &request), TREADLE_OK);
    describe(worker.loop);
    CHECK(has("\n  queued post \"redraw\", for ") && has("\n  queued post of function 0x") && has("\n  queued request \"save\", for ") &&
          has("\n  queued request of function 0x"));
    CHECK_INT(count("\n  queued "), 4);
    CHECK(time_behind("post \"redraw\", for ") <= treadle_time_now() - before + 20000000);
    for (int i = 0; i < 40; i++) CHECK_INT(treadle_loop_post_in(worker.loop, &post), TREADLE_OK);
    describe(worker.loop);
    CHECK_INT(count("\n  queued post "), 16);
    CHECK(has("\n  queued 26 more\n"));
    end();
}

TEST(posts_that_no_mode_admits_are_listed, "RL-13 BLK-5") {
    static const char *const modes[] = {"elsewhere"};
    treadle_post post = {.struct_size = sizeof post, .fn = nothing, .label = "lost", .modes = modes, .mode_count = 1};
    begin();
    CHECK_INT(treadle_loop_post_in(worker.loop, &post), TREADLE_OK);
    CHECK_INT(treadle_loop_post(worker.loop, post_stuck, NULL), TREADLE_OK);
    await(&inside);
    describe(worker.loop);
    CHECK(has("\n  runs post of function ") && has(", one of 2 posts that the pass has taken"));
    sem_post(&go_on);
    worker_await_sleep(&worker);
    describe(worker.loop);
    CHECK(has("\n  queued post \"lost\", for "));
    end();
}

/* A run inside of a callback tells of its own callbacks, and of the outer one when it has ended. */
static void run_inside(void *info) {
    (void)info;
    treadle_post post = {.struct_size = sizeof post, .fn = post_stuck, .label = "inner"};
    CHECK_INT(treadle_loop_post_in(treadle_loop_current(), &post), TREADLE_OK);
    treadle_loop_run(treadle_loop_current(), MODE, 0, 0);
    stick();
}
TEST(of_runs_inside_of_callbacks_the_innermost_callback_is_named, "RL-13 RUN-3") {
    treadle_post post = {.struct_size = sizeof post, .fn = run_inside, .label = "outer"};
    begin();
    CHECK_INT(treadle_loop_post_in(worker.loop, &post), TREADLE_OK);
    await(&inside);
    describe(worker.loop);
    CHECK(has("\n  runs post \"inner\" for "));
    sem_post(&go_on);
    await(&inside);
    describe(worker.loop);
    CHECK(has("\n  runs post \"outer\" for "));
    end();
}

static treadle_source own;
static void *stick_on_thread(void *info) {
    (void)info;
    CHECK_INT(treadle_loop_add(treadle_loop_current(), own, MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(own), TREADLE_OK);
    treadle_loop_run(treadle_loop_current(), MODE, 0, 0);
    return NULL;
}
TEST(a_thread_is_described_with_its_loop, "RL-12 RL-13") {
    char words[128];
    treadle_thread thread;
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform_stuck, .label = "bell"};
    CHECK_INT(sem_init(&inside, 0, 0), 0);
    CHECK_INT(sem_init(&go_on, 0, 0), 0);
    CHECK_INT(treadle_source_create(&context, &own), TREADLE_OK);
    CHECK_INT(create_thread(stick_on_thread, NULL, NULL, &thread), TREADLE_OK);
    CHECK_INT(treadle_thread_set_name(thread, "printer, second floor"), TREADLE_OK);
    CHECK(strstr(describe(thread), "thread \"printer, second floor\" 0x") == text);
    CHECK(has(", created") && has(", without a loop"));
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    await(&inside);
    int32_t id = 0;
    CHECK_INT(treadle_thread_get_id(thread, &id), TREADLE_OK);
    describe(thread);
    snprintf(words, sizeof words, ", executing, id %d\nrun loop of thread %d \"printer, second floor\", ", id, id);
    CHECK(has(words) && has("\n  runs source \"bell\" 0x"));
    sem_post(&go_on);
    CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
    CHECK(has(describe(thread) ? ", finished" : ""));
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    CHECK_INT(discard(own), TREADLE_OK);
    /* The calling thread's own, in no callback. */
    describe(treadle_thread_current());
    CHECK(has(", executing, main, id ") && !strstr(text, "\n  runs "));
}

TEST(a_label_is_looked_at_as_one_of_an_item, "OBJ-6") {
    static char longer[300];
    treadle_post post = {.struct_size = sizeof post, .fn = nothing, .label = "\xff"};
    treadle_request request = {.struct_size = sizeof request, .fn = no_request, .label = longer};
    memset(longer, 'x', sizeof longer - 1);
    CHECK_ERROR(treadle_loop_post_in(treadle_loop_current(), &post), TREADLE_E_ARG, "label is not UTF-8");
    CHECK_ERROR(treadle_perform(treadle_loop_current(), &request), TREADLE_E_RANGE, "label is longer than 255 bytes");
}

/* More different labels than are kept: the others read alike. */
TEST(labels_may_be_many, "RL-12") {
    char label[32];
    treadle_post post = {.struct_size = sizeof post, .fn = nothing, .label = label};
    for (int i = 0; i < 1100; i++) {
        snprintf(label, sizeof label, "label %d", i);
        CHECK_INT(treadle_loop_post_in(treadle_loop_current(), &post), TREADLE_OK);
    }
    describe(treadle_loop_current());
    CHECK(has("\n  queued post \"label 0\", for ") && has("\n  queued 1084 more\n"));
    CHECK(poll_mode(MODE) >= 0);
    CHECK_INT(treadle_loop_post_in(treadle_loop_current(), &post), TREADLE_OK);
    describe(treadle_loop_current());
    CHECK(has("\n  queued post \"(one of more than 1024 labels)\", for "));
    CHECK(poll_mode(MODE) >= 0);
}

/* A description is made while callbacks of all kinds come and go. */
static void *describe_for_a_while(void *loop) {
    static _Thread_local char own_text[65536];
    size_t length;
    for (int i = 0; i < scaled(2000); i++) CHECK_INT(treadle_describe(loop, own_text, sizeof own_text, &length), TREADLE_OK);
    return NULL;
}
TEST(a_loop_is_described_while_it_runs, "RL-12 OBJ-7") {
    pthread_t reader;
    treadle_post post = {.struct_size = sizeof post, .fn = nothing, .label = "redraw"};
    treadle_request request = {.struct_size = sizeof request, .fn = no_request, .label = "save"};
    worker_start(&worker);
    CHECK_INT(pthread_create(&reader, NULL, describe_for_a_while, worker.loop), 0);
    for (int i = 0; i < scaled(5000); i++) {
        treadle_source source = make_source(NULL, NULL);
        CHECK_INT(treadle_loop_add(worker.loop, source, MODE), TREADLE_OK);
        CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
        CHECK_INT(treadle_loop_post_in(worker.loop, &post), TREADLE_OK);
        CHECK_INT(treadle_loop_post(worker.loop, nothing, NULL), TREADLE_OK);
        CHECK_INT(treadle_perform(worker.loop, &request), TREADLE_OK);
        CHECK_INT(discard(source), TREADLE_OK);
    }
    CHECK_INT(pthread_join(reader, NULL), 0);
    worker_stop(&worker);
}

TEST_MAIN()
