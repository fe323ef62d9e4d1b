/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * trace_test.c: a trace of one's own run: what is recorded, what it is refused for, whose it is. */
#include "trace_file.h"

#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <sys/resource.h>

static void nothing(void *info) { (void)info; }
static void no_request(void *target, void *argument) { (void)target, (void)argument; }
static void mark_it(treadle_source source, void *info) {
    (void)source;
    CHECK_INT(treadle_trace_mark("half way", *(int *)info), TREADLE_OK);
}

static void *stop_the_sleep(void *info) {
    struct sleep_watch *watch = info;
    while (!is_asleep(watch)) sched_yield();
    CHECK_INT(treadle_loop_stop(watch->loop), TREADLE_OK);
    return NULL;
}
TEST(runs_passes_sleeps_and_callbacks_are_slices, "RL-16") {
    int value = 42;
    struct sleep_watch watch;
    pthread_t stopper;
    treadle_loop loop = treadle_loop_current();
    treadle_source source;
    treadle_source_context context = {.struct_size = sizeof context, .perform = mark_it, .info = &value, .label = "bell"};
    treadle_timer timer = make_timer(NULL, NULL, treadle_time_now(), 0);
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, source, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, timer, MODE), TREADLE_OK);
    watch_sleep(&watch, loop, MODE);
    start();
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    treadle_post post = {.struct_size = sizeof post, .fn = nothing, .label = "redraw"};
    CHECK_INT(treadle_loop_post_in(loop, &post), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, nothing, NULL), TREADLE_OK);
    treadle_request request = {.struct_size = sizeof request, .fn = no_request, .label = "save"};
    CHECK_INT(treadle_perform(loop, &request), TREADLE_OK);
    /* Sleeps when it has called all of them, until it is stopped. */
    CHECK_INT(pthread_create(&stopper, NULL, stop_the_sleep, &watch), 0);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(pthread_join(stopper, NULL), 0);
    stop();
    uint64_t track = track_of(thread_id());
    CHECK(track != 0 && count(BEGIN, "run") == 1 && count(BEGIN, "pass") >= 2 && count(BEGIN, "sleep") >= 1);
    const struct event *call = find(BEGIN, "source", "bell"), *signal = find(INSTANT, "signal", "bell");
    CHECK(call->track == track && signal->flow != 0 && signal->flow == call->last_flow && signal->time <= call->time);
    CHECK_INT(call->number, (int64_t)(uintptr_t)source);
    const struct event *mark = find(INSTANT, "mark", "half way");
    CHECK(mark->number == 42 && mark->track == track && mark->time >= call->time);
    CHECK(find(BEGIN, "post", "redraw")->last_flow == find(INSTANT, "post", "redraw")->flow);
    CHECK(find(BEGIN, "post", "post")->last_flow == find(INSTANT, "post", "post")->flow);
    CHECK(find(BEGIN, "post", "redraw")->last_flow != find(BEGIN, "post", "post")->last_flow);
    CHECK(find(BEGIN, "request", "save")->last_flow == find(INSTANT, "request", "save")->flow);
    CHECK_INT(count(BEGIN, "timer"), 1);
    CHECK_INT(discard(source), TREADLE_OK);
    CHECK_INT(discard(timer), TREADLE_OK);
    CHECK_INT(discard(watch.observer), TREADLE_OK);
}

/* Each slice ends where its callback did, however deep it lies in others. */
enum { LEVELS = 40 };
static void go_down(void *info) {
    int *level = info, own = ++*level;
    CHECK_INT(treadle_trace_mark("down", own), TREADLE_OK);
    if (own < LEVELS) {
        CHECK_INT(treadle_loop_post(treadle_loop_current(), go_down, info), TREADLE_OK);
        CHECK(treadle_loop_run(treadle_loop_current(), MODE, 0, 0) >= 0);
    }
    CHECK_INT(treadle_trace_mark("up", own), TREADLE_OK);
}
TEST(slices_lie_in_others_to_any_depth, "RL-16 RUN-12") {
    int level = 0, depth = 0, depths[LEVELS + 1] = {0};
    start();
    CHECK_INT(treadle_loop_post(treadle_loop_current(), go_down, &level), TREADLE_OK);
    CHECK(treadle_loop_run(treadle_loop_current(), MODE, 0, 0) >= 0);
    stop();
    CHECK_INT(count(INSTANT, "up"), LEVELS);
    for (int i = 0; i < event_count; i++) {
        const struct event *event = &events[i];
        depth += event->type == BEGIN ? 1 : event->type == END ? -1 : 0;
        if (event->type == INSTANT && !strcmp(event->name, "down")) depths[event->number] = depth;
        if (event->type == INSTANT && !strcmp(event->name, "up")) CHECK_INT(depth, depths[event->number]);
    }
    CHECK(depths[LEVELS] > 64);
}

TEST(an_arrow_leads_from_thread_to_thread, "RL-16") {
    struct worker worker;
    treadle_source source;
    treadle_source_context context = {.struct_size = sizeof context, .label = "bell"};
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    worker_start(&worker);
    CHECK_INT(treadle_loop_add(worker.loop, source, MODE), TREADLE_OK);
    start();
    int32_t id = worker.thread_id;
    for (int i = 0; i < 10; i++) {
        worker_await_sleep(&worker);
        CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
        while (treadle_source_is_signalled(source)) sched_yield();
    }
    CHECK_INT(treadle_invalidate(source), TREADLE_OK);
    /* Its thread has ended when the trace is written. */
    worker_stop(&worker);
    stop();
    CHECK_INT(treadle_release(source), TREADLE_OK);
    CHECK(track_of(id) != 0 && track_of(thread_id()) != 0);
    CHECK_INT(count(INSTANT, "bell"), 10);
    int arrows = 0;
    for (int i = 0; i < event_count; i++) {
        if (events[i].type != INSTANT || events[i].track != track_of(thread_id())) continue;
        for (int j = 0; j < event_count; j++)
            arrows += events[j].type == BEGIN && events[j].track == track_of(id) && events[j].last_flow == events[i].flow;
    }
    CHECK_INT(arrows, 10);
}

TEST(a_ring_keeps_the_latest_events, "RL-16") {
    start();
    for (int i = 0; i < 20000; i++) CHECK_INT(treadle_trace_mark("tick", i), TREADLE_OK);
    stop();
    CHECK_INT(count(INSTANT, "tick"), 8176);
    CHECK_INT(events[event_count - 1].number, 19999);
    CHECK_INT(find(INSTANT, "treadle", "events before this were not kept")->number, 20000 - 8176);
}

TEST(what_a_trace_is_refused_for, "RL-16 OBJ-6") {
    CHECK_INT(treadle_trace_mark("nobody listens", 0), TREADLE_IGNORED);
    CHECK_ERROR(treadle_trace_stop(), TREADLE_E_STATE, "was not started");
    CHECK_ERROR(treadle_trace_start(NULL), TREADLE_E_ARG, "path is NULL");
    CHECK_ERROR(treadle_trace_mark(NULL, 0), TREADLE_E_ARG, "label is NULL");
    CHECK_ERROR(treadle_trace_mark("\xff", 0), TREADLE_E_ARG, "label is not UTF-8");
    start();
    CHECK_ERROR(treadle_trace_start("elsewhere"), TREADLE_E_STATE, "goes on already");
    stop();
    CHECK_INT(treadle_trace_start("/nowhere at all/trace"), TREADLE_OK);
    CHECK_ERROR(treadle_trace_stop(), TREADLE_E_SYSTEM, "file of the trace");
    /* That ended it. */
    start();
    stop();
}

static const char *make_pipe(void) {
    static char path[64];
    snprintf(path, sizeof path, "%s.pipe", trace_file());
    CHECK_INT(mkfifo(path, 0600), 0);
    return path;
}
/* Begins a trace that the pipe has no room for; the end to read from. */
static int fill_pipe(const char *path) {
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    CHECK(fd >= 0 && fcntl(fd, F_SETPIPE_SZ, 4096) >= 4096);
    CHECK_INT(treadle_trace_start(path), TREADLE_OK);
    for (int i = 0; i < 8000; i++) CHECK_INT(treadle_trace_mark("more than a pipe has room for", i), TREADLE_OK);
    return fd;
}
/* A signal of the file's would end a program that does not know it. */
static void *stop_reading(void *info) {
    struct pollfd reader = {.fd = *(int *)info, .events = POLLIN};
    CHECK_INT(poll(&reader, 1, -1), 1); /* a part of it is there */
    close(reader.fd);
    return NULL;
}
TEST(a_trace_that_cannot_be_written_ends_no_program, "RL-16 OBJ-6") {
    const struct rlimit limit = {50000, 50000};
    treadle_error_info error = {.struct_size = sizeof error};
    pthread_t reader;
    const char *path = make_pipe();
    int fd = fill_pipe(path);
    CHECK_INT(pthread_create(&reader, NULL, stop_reading, &fd), 0);
    CHECK_ERROR(treadle_trace_stop(), TREADLE_E_SYSTEM, "file of the trace");
    treadle_last_error(&error);
    CHECK_INT(error.os_errno, EPIPE);
    CHECK_INT(pthread_join(reader, NULL), 0);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    start();
    for (int i = 0; i < 8000; i++) CHECK_INT(treadle_trace_mark("more than a small file has room for", i), TREADLE_OK);
    CHECK_ERROR(treadle_trace_stop(), TREADLE_E_SYSTEM, "file of the trace");
    treadle_last_error(&error);
    CHECK_INT(error.os_errno, EFBIG);
    CHECK_INT(unlink(trace_file()), -1); /* nothing of it is there */
    start();
    CHECK_INT(treadle_trace_mark("goes on", 1), TREADLE_OK);
    stop();
}

static int files_beside(void) {
    glob_t found = {0};
    char pattern[80];
    snprintf(pattern, sizeof pattern, "%s*", trace_file());
    int count = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
    globfree(&found);
    return count;
}
/* What was there stays until the trace is whole, and its place is that of the file that a link leads to. */
TEST(a_trace_is_whole_or_not_there, "RL-16") {
    const struct rlimit limit = {50000, RLIM_INFINITY}, none = {RLIM_INFINITY, RLIM_INFINITY};
    char link[80], text[8] = "";
    FILE *file = fopen(trace_file(), "w");
    CHECK(file && fputs("before", file) >= 0 && fclose(file) == 0);
    start();
    for (int i = 0; i < 8000; i++) CHECK_INT(treadle_trace_mark("more than a small file has room for", i), TREADLE_OK);
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
    CHECK_ERROR(treadle_trace_stop(), TREADLE_E_SYSTEM, trace_file());
    CHECK_INT(setrlimit(RLIMIT_FSIZE, &none), 0);
    CHECK(files_beside() == 1 && (file = fopen(trace_file(), "r")) && fgets(text, sizeof text, file) && fclose(file) == 0);
    CHECK_TEXT(text, "before");
    snprintf(link, sizeof link, "%s.link", trace_file());
    CHECK_INT(symlink(trace_file(), link), 0);
    traced = getpid();
    CHECK_INT(treadle_trace_start(link), TREADLE_OK);
    CHECK_INT(treadle_trace_mark("by a link", 1), TREADLE_OK);
    CHECK_INT(treadle_trace_stop(), TREADLE_OK);
    read_trace(trace_file());
    CHECK(count(INSTANT, "by a link") == 1 && files_beside() == 2);
    /* Also one that is not there yet. */
    CHECK_INT(unlink(trace_file()), 0);
    CHECK_INT(treadle_trace_start(link), TREADLE_OK);
    CHECK_INT(treadle_trace_mark("by a link to nothing", 1), TREADLE_OK);
    CHECK_INT(treadle_trace_stop(), TREADLE_OK);
    read_trace(trace_file());
    CHECK(count(INSTANT, "by a link to nothing") == 1 && readlink(link, text, sizeof text) > 0);
    CHECK(unlink(link) == 0 && unlink(trace_file()) == 0);
}

static void *stop_here(void *unused) {
    CHECK_INT(treadle_trace_stop(), TREADLE_OK);
    return unused;
}
TEST(a_pipe_makes_nobody_wait_but_its_writer, "RL-16 OBJ-7") {
    treadle_error_info error = {.struct_size = sizeof error};
    pthread_t writer;
    char bytes[4096];
    const char *path = make_pipe();
    CHECK_INT(treadle_trace_start(path), TREADLE_OK);
    CHECK_ERROR(treadle_trace_stop(), TREADLE_E_SYSTEM, "file of the trace"); /* without a reader */
    treadle_last_error(&error);
    CHECK_INT(error.os_errno, ENXIO);
    /* With one that does not read yet. */
    int fd = fill_pipe(path);
    CHECK_INT(pthread_create(&writer, NULL, stop_here, NULL), 0);
    struct pollfd reader = {.fd = fd, .events = POLLIN};
    CHECK_INT(poll(&reader, 1, -1), 1); /* it is being written */
    CHECK_ERROR(treadle_trace_start(path), TREADLE_E_STATE, "is being written");
    CHECK_ERROR(treadle_trace_stop(), TREADLE_E_STATE, "was not started");
    CHECK_INT(treadle_trace_mark("of none", 1), TREADLE_IGNORED);
    while (poll(&reader, 1, -1) == 1 && (reader.revents & POLLIN) && read(fd, bytes, sizeof bytes) > 0) {}
    CHECK_INT(pthread_join(writer, NULL), 0);
    CHECK(close(fd) == 0 && unlink(path) == 0);
    start();
    stop();
}

/* They begin to record at the same moment, in a process that has no rings yet. */
enum { CROWD = 300 };
static pthread_barrier_t crowd;
static void *mark_with_others(void *unused) {
    pthread_barrier_wait(&crowd);
    treadle_trace_mark("all at once", 1);
    pthread_barrier_wait(&crowd);
    return unused;
}
static int tracks_of_a_crowd(void) {
    pthread_t all[CROWD];
    pthread_barrier_init(&crowd, NULL, CROWD);
    start();
    for (int i = 0; i < CROWD; i++) CHECK_INT(pthread_create(&all[i], NULL, mark_with_others, NULL), 0);
    for (int i = 0; i < CROWD; i++) CHECK_INT(pthread_join(all[i], NULL), 0);
    stop();
    return count(INSTANT, "all at once");
}
TEST(there_are_as_many_tracks_as_are_promised, "RL-16") {
    int status = 0;
    for (int i = 0; i < scaled(20); i++) {
        fflush(NULL);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) _exit(tracks_of_a_crowd() == 128 ? 0 : 1);
        CHECK_INT(waitpid(child, &status, 0), child);
        CHECK_INT(status, 0);
        progress();
    }
}

/* The environment's is written as the program exits; the child of a fork has none of its parent's. */
TEST(the_environment_asks_for_a_trace, "RL-16 RL-11") {
    int status = 0;
    CHECK_INT(setenv("TREADLE_TRACE", trace_file(), 1), 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_INT(treadle_trace_mark("hello", 1), TREADLE_OK); /* the library is used for the first time by that */
        pid_t grandchild = fork();
        if (grandchild == 0) {
            CHECK_INT(treadle_trace_mark("not here", 3), TREADLE_E_FORKED);
            exit(0);
        }
        CHECK_INT(waitpid(grandchild, &status, 0), grandchild);
        exit(status);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    traced = child;
    read_trace(trace_file());
    CHECK(count(INSTANT, "hello") == 1 && count(INSTANT, "not here") == 0);
    CHECK_INT(unlink(trace_file()), 0);
}

/* They are recorded by the processor's counter where that may be; a moment by both is taken at the beginning and the end. */
TEST(times_are_those_of_the_clock, "RL-16") {
    enum { MARKS = 20, ERROR_NS = 1000 * 1000 };
    int64_t before[MARKS], after[MARKS];
    start();
    for (int i = 0; i < MARKS; i++) {
        before[i] = treadle_time_now();
        CHECK_INT(treadle_trace_mark("now", i), TREADLE_OK);
        after[i] = treadle_time_now();
        CHECK_INT(treadle_thread_sleep_until(treadle_time_now() + 100 * 1000), TREADLE_OK); /* so that the marks are at times of their own */
    }
    CHECK_INT(treadle_trace_stop(), TREADLE_OK);
    read_trace(trace_file());
    int found = 0;
    for (int i = 0; i < event_count; i++) {
        if (strcmp(events[i].name, "now") != 0) continue;
        int64_t time = (int64_t)events[i].time;
        CHECK(time >= before[events[i].number] - ERROR_NS && time <= after[events[i].number] + ERROR_NS);
        found++;
    }
    CHECK_INT(found, MARKS);
    CHECK_INT(unlink(trace_file()), 0);
}

/* scripts/treadle-trace draws the trace; the picture. */
static const char *drawn(void) {
    static char command[1024], picture[1 << 20];
    const char *slash = strstr(__FILE__, "Tests/c/");
    snprintf(command, sizeof command, "python3 '%.*sscripts/treadle-trace' %s %s.svg --from 0", slash ? (int)(slash - __FILE__) : 0, __FILE__,
             trace_file(), trace_file());
    CHECK_INT(system(command), 0);
    snprintf(command, sizeof command, "%s.svg", trace_file());
    FILE *file = fopen(command, "r");
    CHECK(file && fread(picture, 1, sizeof picture - 1, file) > 1000);
    CHECK(fclose(file) == 0 && unlink(command) == 0);
    return picture;
}
TEST(a_trace_is_drawn, "RL-16") {
    int value = 7;
    treadle_source source;
    treadle_source_context context = {.struct_size = sizeof context, .perform = mark_it, .info = &value, .label = "bell"};
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, MODE), TREADLE_OK);
    start();
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK(poll_mode(MODE) >= 0);
    CHECK_INT(treadle_trace_stop(), TREADLE_OK);
    CHECK_INT(discard(source), TREADLE_OK);
    const char *picture = drawn();
    CHECK(strstr(picture, "<svg ") && strstr(picture, "</svg>") && strstr(picture, "half way") && strstr(picture, "marker-end") &&
          strstr(picture, "1 passes"));
    CHECK_INT(unlink(trace_file()), 0);
}

/* The classic mistake, for which the callback is late or never comes. */
TEST(a_signal_that_wakes_nobody_is_an_open_circle, "RL-16 SRC0-13") {
    struct worker worker;
    treadle_source_context context = {.struct_size = sizeof context, .label = "bell"};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    worker_start(&worker);
    CHECK_INT(treadle_loop_add(worker.loop, source, MODE), TREADLE_OK);
    start();
    for (int i = 0; i < 2; i++) {
        worker_await_sleep(&worker);
        CHECK_INT(i ? treadle_source_signal(source) : treadle_source_signal_and_wake(source), TREADLE_OK);
        if (i) CHECK_INT(treadle_loop_wake(worker.loop), TREADLE_OK);
        while (treadle_source_is_signalled(source)) sched_yield();
    }
    CHECK_INT(treadle_invalidate(source), TREADLE_OK);
    worker_stop(&worker);
    CHECK_INT(treadle_trace_stop(), TREADLE_OK);
    read_trace(trace_file());
    int quiet = 0;
    for (int i = 0; i < event_count; i++) quiet += events[i].type == INSTANT && !strcmp(events[i].name, "bell") && events[i].number == 1;
    CHECK(quiet == 1 && count(INSTANT, "bell") == 2);
    CHECK(strstr(drawn(), "bell: this signal woke nothing"));
    CHECK_INT(unlink(trace_file()), 0);
    CHECK_INT(treadle_release(source), TREADLE_OK);
}

/* Traces begin and end while threads do everything that is recorded. */
static atomic_bool is_over;
static void *signal_all(void *source) {
    while (!atomic_load(&is_over)) {
        CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
        treadle_trace_mark("tick", 0);
    }
    return NULL;
}
TEST(traces_begin_and_end_while_threads_are_busy, "RL-16 OBJ-7") {
    struct worker worker;
    pthread_t other;
    worker_start(&worker);
    treadle_source source = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add(worker.loop, source, MODE), TREADLE_OK);
    CHECK_INT(pthread_create(&other, NULL, signal_all, source), 0);
    for (int i = 0; i < scaled(20); i++) {
        start();
        for (int j = 0; j < 50; j++) CHECK_INT(treadle_loop_post(worker.loop, nothing, NULL), TREADLE_OK);
        CHECK_INT(treadle_trace_stop(), TREADLE_OK);
        progress();
    }
    CHECK_INT(unlink(trace_file()), 0);
    atomic_store(&is_over, true);
    CHECK_INT(pthread_join(other, NULL), 0);
    CHECK_INT(treadle_invalidate(source), TREADLE_OK);
    worker_stop(&worker);
    CHECK_INT(treadle_release(source), TREADLE_OK);
}

TEST_MAIN()
