/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * glue_uv_test.c: run loops and libuv's loops, either inside of the other: a program with libuv's timers, an echo by TCP, asyncs from
 * threads, and its thread pool.
 * pkg-config: libuv */
#include "glue.h"

#include <sys/eventfd.h>
#include <treadle-uv.h>

static uv_loop_t uv;
static uv_async_t async, waiting; /* asyncs coalesce, so threads count besides */
static atomic_int wanted;
static void quit_theirs(void) { uv_stop(&uv); }
static void call_theirs(void) {
    atomic_fetch_add(&wanted, 1);
    CHECK_INT(uv_async_send(&async), 0);
}
static void sent(uv_async_t *handle) {
    (void)handle;
    for (int count = atomic_exchange(&wanted, 0); count > 0; count--) theirs_called();
}

/* libuv's timer, which runs ours inside of its callback: uv pauses there, and nothing spins. */
static int beats_left;
static void beat(uv_timer_t *timer) {
    if (beats_left % 8 == 0) {
        uint64_t passes = count_passes(), posts_before = (uint64_t)atomic_load(&program.posted);
        uv_async_send(&waiting); /* which makes uv's descriptor readable */
        treadle_status status = treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, MILLISECONDS(1), TREADLE_RUN_WHEN_EMPTY);
        CHECK(status == TREADLE_RUN_TIMED_OUT || status == TREADLE_RUN_STOPPED);
        /* A pass for what came, and no more. */
        CHECK(count_passes() - passes <= IDLE_TURNS + 2 * ((uint64_t)atomic_load(&program.posted) - posts_before));
    }
    if (--beats_left == 0) {
        uv_timer_stop(timer);
        part_ends();
    }
}
static bool stops_then;
static void waited(uv_async_t *handle) {
    (void)handle;
    if (stops_then) stop_ours();
}

/* Work of the thread pool, asked for by a callback of ours. */
static int works_left;
static uv_work_t work;
static void do_work(uv_work_t *request) {
    (void)request;
    CHECK(thread_id() != program.thread);
}
static void ask_for_work(void *info);
static void worked(uv_work_t *request, int status) {
    (void)request;
    CHECK_INT(status, 0);
    if (--works_left == 0) part_ends();
    else CHECK_INT(treadle_loop_post(program.loop, ask_for_work, NULL), TREADLE_OK);
}
static void ask_for_work(void *info) {
    (void)info;
    CHECK_INT(uv_queue_work(&uv, &work, do_work, worked), 0);
}

/* An echo: the client writes the next line when the one before came back. */
enum { LINES = 100 };
static uv_tcp_t server, served, client;
static int lines;
static char buffers[2][64];
static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer) {
    (void)size;
    *buffer = uv_buf_init(buffers[handle == (uv_handle_t *)&client], sizeof buffers[0]);
}
static void written(uv_write_t *request, int status) {
    CHECK_INT(status, 0);
    free(request);
}
static void write_text(uv_tcp_t *tcp, const char *text, size_t length) {
    uv_write_t *request = malloc(sizeof *request);
    uv_buf_t buffer = uv_buf_init((char *)text, (unsigned)length);
    CHECK_INT(uv_write(request, (uv_stream_t *)tcp, &buffer, 1, written), 0);
}
static void write_line(void *info) { (void)info, write_text(&client, "line\n", 5); }
static void echo(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer) {
    (void)stream;
    if (length > 0) write_text(&served, buffer->base, (size_t)length);
    else uv_read_stop(stream);
}
static void came_back(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer) {
    (void)stream, (void)buffer;
    CHECK_INT(length, 5);
    if (++lines == LINES) part_ends();
    else if (lines % 2) write_line(NULL);
    else CHECK_INT(treadle_loop_post(program.loop, write_line, NULL), TREADLE_OK); /* ours starts what libuv does */
}
static void accepted(uv_stream_t *stream, int status) {
    CHECK_INT(status, 0);
    CHECK_INT(uv_tcp_init(&uv, &served), 0);
    CHECK_INT(uv_accept(stream, (uv_stream_t *)&served), 0);
    CHECK_INT(uv_read_start((uv_stream_t *)&served, give_buffer, echo), 0);
}
static void connected(uv_connect_t *request, int status) {
    (void)request;
    CHECK_INT(status, 0);
    CHECK_INT(uv_read_start((uv_stream_t *)&client, give_buffer, came_back), 0);
    write_line(NULL);
}

static uv_timer_t timer;
static void begin_theirs(void) {
    static uv_connect_t connection;
    struct sockaddr_in address;
    int length = sizeof address;
    uv_ip4_addr("127.0.0.1", 0, &address);
    CHECK_INT(uv_tcp_init(&uv, &server), 0);
    CHECK_INT(uv_tcp_bind(&server, (struct sockaddr *)&address, 0), 0);
    CHECK_INT(uv_listen((uv_stream_t *)&server, 8, accepted), 0);
    CHECK_INT(uv_tcp_getsockname(&server, (struct sockaddr *)&address, &length), 0);
    CHECK_INT(uv_tcp_init(&uv, &client), 0);
    CHECK_INT(uv_tcp_connect(&connection, &client, (struct sockaddr *)&address, connected), 0);
    CHECK_INT(uv_timer_init(&uv, &timer), 0);
    beats_left = 40, works_left = 20;
    part_begins(), part_begins(), part_begins();
    CHECK_INT(uv_timer_start(&timer, beat, 1, 1), 0);
    CHECK_INT(treadle_loop_post(program.loop, ask_for_work, NULL), TREADLE_OK);
}
static void begin(void) {
    program.loop = treadle_loop_current();
    CHECK_INT(uv_loop_init(&uv), 0);
    CHECK_INT(uv_async_init(&uv, &async, sent), 0);
    CHECK_INT(uv_async_init(&uv, &waiting, waited), 0);
}
static void close_handle(uv_handle_t *handle, void *info) {
    (void)info;
    if (!uv_is_closing(handle)) uv_close(handle, NULL);
}
static void end_theirs(void) {
    uv_walk(&uv, close_handle, NULL);
    CHECK_INT(uv_run(&uv, UV_RUN_DEFAULT), 0);
    CHECK_INT(uv_loop_close(&uv), 0);
}

static int prepared;
static void count_prepare(uv_prepare_t *prepare) { (void)prepare, prepared++; }
static void stop_uv(uv_timer_t *which) { uv_stop(which->loop); }

TEST(ours_inside_of_uv, "ABI-9") {
    treadle_uv_inner *inner;
    uv_prepare_t counter;
    begin();
    CHECK_INT(treadle_uv_start(&uv, program.loop, TREADLE_DEFAULT_MODE, NULL, NULL, &inner), TREADLE_OK);
    begin_program(quit_theirs, call_theirs);
    begin_theirs();
    CHECK(uv_run(&uv, UV_RUN_DEFAULT) != 0);
    end_program();
    /* Idle: libuv sleeps, and ours is not asked. */
    uint64_t passes = count_passes();
    CHECK_INT(uv_prepare_init(&uv, &counter), 0);
    CHECK_INT(uv_prepare_start(&counter, count_prepare), 0);
    CHECK_INT(uv_timer_start(&timer, stop_uv, 200, 0), 0);
    prepared = 0;
    CHECK(uv_run(&uv, UV_RUN_DEFAULT) != 0);
    CHECK(count_passes() - passes <= IDLE_TURNS);
    CHECK(prepared <= IDLE_TURNS);
    /* It has stopped: what comes waits for the next turn, or for a run of ours. */
    atomic_store(&program.posted, -1000);
    CHECK_INT(treadle_loop_post(program.loop, posted, NULL), TREADLE_OK);
    while (atomic_load(&program.posted) == -1000) uv_run(&uv, UV_RUN_ONCE);
    CHECK_INT(treadle_loop_post(program.loop, posted, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(atomic_load(&program.posted), -998);
    int before = count_descriptors();
    treadle_uv_stop(inner);
    uv_run(&uv, UV_RUN_NOWAIT);
    CHECK_INT(count_descriptors(), before - 1);
    end_theirs();
}

TEST(uv_inside_of_ours, "ABI-9") {
    treadle_foreign *foreign;
    uv_prepare_t counter;
    begin();
    CHECK_INT(treadle_uv_add(program.loop, TREADLE_DEFAULT_MODE, &uv, &foreign), TREADLE_OK);
    begin_program(stop_ours, call_theirs);
    begin_theirs();
    CHECK_INT(treadle_loop_run_default(program.loop), TREADLE_RUN_STOPPED);
    end_program();
    /* No timer of libuv's helps any more: its descriptor is watched again. */
    stops_then = true;
    CHECK_INT(uv_async_send(&waiting), 0);
    CHECK_INT(treadle_loop_run_default(program.loop), TREADLE_RUN_STOPPED);
    stops_then = false;
    CHECK_INT(uv_prepare_init(&uv, &counter), 0);
    CHECK_INT(uv_prepare_start(&counter, count_prepare), 0);
    for (int round = 0; round < 2; round++) {
        uint64_t passes = count_passes();
        prepared = 0;
        CHECK_INT(treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, MILLISECONDS(200), 0), TREADLE_RUN_TIMED_OUT);
        CHECK(count_passes() - passes <= IDLE_TURNS);
        CHECK(prepared <= IDLE_TURNS);
        uv_walk(&uv, close_handle, NULL); /* the second time nothing of uv is alive, whose time-out is 0 then */
    }
    CHECK(!uv_loop_alive(&uv));
    treadle_foreign_remove(foreign);
    CHECK_INT(treadle_loop_run_default(program.loop), TREADLE_RUN_FINISHED);
    CHECK_INT(uv_loop_close(&uv), 0);
}

/* An unreferenced handle keeps no loop alive, but serves ours while another one does. */
static void stop_later(treadle_timer ours, void *info) {
    (void)ours;
    uv_timer_stop(info);
}
TEST(an_unreferenced_loop_keeps_uv_not_alive, "ABI-9") {
    treadle_uv_inner *inner;
    begin();
    CHECK_INT(treadle_uv_start(&uv, program.loop, TREADLE_DEFAULT_MODE, NULL, NULL, &inner), TREADLE_OK);
    uv_unref((uv_handle_t *)&inner->poll), uv_unref((uv_handle_t *)&async), uv_unref((uv_handle_t *)&waiting);
    CHECK_INT(uv_run(&uv, UV_RUN_DEFAULT), 0);
    CHECK_INT(uv_timer_init(&uv, &timer), 0);
    CHECK_INT(uv_timer_start(&timer, stop_uv, 1000000, 0), 0);
    CHECK_INT(treadle_timer_start(MILLISECONDS(1), 0, stop_later, &timer, NULL), TREADLE_OK);
    CHECK_INT(uv_run(&uv, UV_RUN_DEFAULT), 0);
    treadle_uv_stop(inner);
    end_theirs();
}

/* Nor do they end the turns of uv inside of ours, which goes on: they are served, and are nothing to spin for. */
static int fired;
static void fire_unreferenced(uv_timer_t *which) { (void)which, fired++, stop_ours(); }
TEST(unreferenced_handles_of_uv_are_served_while_nothing_else_is_active, "ABI-9") {
    treadle_foreign *foreign;
    begin();
    uv_unref((uv_handle_t *)&async), uv_unref((uv_handle_t *)&waiting);
    CHECK_INT(uv_timer_init(&uv, &timer), 0);
    uv_unref((uv_handle_t *)&timer);
    CHECK(!uv_loop_alive(&uv));
    CHECK_INT(treadle_uv_add(program.loop, TREADLE_DEFAULT_MODE, &uv, &foreign), TREADLE_OK);
    for (int round = 0; round < 3; round++) {
        uint64_t passes = count_passes();
        stops_then = true;
        CHECK_INT(uv_async_send(&waiting), 0);
        CHECK_INT(treadle_loop_run_default(program.loop), TREADLE_RUN_STOPPED);
        stops_then = false;
        CHECK_INT(uv_timer_start(&timer, fire_unreferenced, 1, 0), 0);
        CHECK_INT(treadle_loop_run_default(program.loop), TREADLE_RUN_STOPPED);
        CHECK_INT(fired, round + 1);
        CHECK_INT(treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, MILLISECONDS(50), 0), TREADLE_RUN_TIMED_OUT);
        CHECK(count_passes() - passes <= IDLE_TURNS && !uv_loop_alive(&uv));
    }
    treadle_foreign_remove(foreign);
    end_theirs();
}

static treadle_status told;
static bool goes_on;
static bool note_end(treadle_status status, void *info) {
    CHECK(info == &told);
    told = status;
    return goes_on;
}
static void stop_at_once(void *info) {
    (void)info;
    CHECK_INT(treadle_loop_stop(program.loop), TREADLE_OK);
}
static void *turn_elsewhere(void *info) {
    while (!told) uv_run(info, UV_RUN_ONCE);
    return NULL;
}
TEST(ends_are_told, "ABI-9 STOP-2") {
    treadle_uv_inner *inner;
    pthread_t thread;
    begin();
    uv_unref((uv_handle_t *)&async), uv_unref((uv_handle_t *)&waiting);
    for (int round = 0; round < 2; round++) {
        CHECK_INT(treadle_uv_start(&uv, program.loop, TREADLE_DEFAULT_MODE, note_end, &told, &inner), TREADLE_OK);
        told = 0, goes_on = true;
        CHECK_INT(treadle_loop_post(program.loop, stop_at_once, NULL), TREADLE_OK);
        while (!told) uv_run(&uv, UV_RUN_ONCE);
        CHECK_INT(told, TREADLE_RUN_STOPPED);
        told = 0, goes_on = false;
        CHECK_INT(treadle_loop_post(program.loop, stop_at_once, NULL), TREADLE_OK);
        if (round) { /* on a thread that must not */
            CHECK_INT(pthread_create(&thread, NULL, turn_elsewhere, &uv), 0);
            CHECK_INT(pthread_join(thread, NULL), 0);
        }
        CHECK_INT(uv_run(&uv, UV_RUN_DEFAULT), 0); /* which ends, since ours has: nothing else is alive */
        CHECK_INT(told, round ? TREADLE_E_WRONG_THREAD : TREADLE_RUN_STOPPED);
    }
    /* A descriptor that somebody else has closed is silent in an epoll set. Ours is as it was. */
    CHECK_INT(treadle_uv_start(&uv, program.loop, TREADLE_DEFAULT_MODE, NULL, NULL, &inner), TREADLE_OK);
    uv_run(&uv, UV_RUN_NOWAIT);
    close(inner->fd);
    atomic_store(&program.posted, -1000);
    program.thread = thread_id();
    CHECK_INT(treadle_loop_post(program.loop, posted, NULL), TREADLE_OK);
    uv_run(&uv, UV_RUN_NOWAIT);
    while (atomic_load(&program.posted) == -1000) treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_WHEN_EMPTY);
    inner->fd = dup(2); /* the next descriptor gets its number */
    treadle_uv_stop(inner);
    end_theirs();
}

TEST(uv_refuses_what_it_must, "ABI-9") {
    treadle_uv_inner *inner = (treadle_uv_inner *)&told;
    treadle_foreign *foreign = (treadle_foreign *)&told;
    begin();
    CHECK_ERROR(treadle_uv_start(&uv, program.loop, NULL, NULL, NULL, &inner), TREADLE_E_ARG, "mode");
    CHECK(!inner);
    CHECK_ERROR(treadle_uv_add(program.loop, NULL, &uv, &foreign), TREADLE_E_ARG, "mode");
    CHECK(!foreign);
    int taken = take_all_references(program.loop);
    CHECK_ERROR(treadle_uv_start(&uv, program.loop, TREADLE_DEFAULT_MODE, NULL, NULL, &inner), TREADLE_E_RANGE, "references");
    CHECK(!inner);
    return_references(program.loop, taken);
    end_theirs();
}

/* A loop whose descriptor is closed while it pauses. */
static treadle_foreign *paused;
static int reports;
static int64_t never(void *info) { return info == &reports ? TREADLE_FOREVER : 0; }
static bool pause_and_close(void *info) {
    CHECK(info == &reports);
    while (!paused->is_paused) CHECK(treadle_loop_run(program.loop, TREADLE_DEFAULT_MODE, MILLISECONDS(1), 0) > 0);
    CHECK_INT(close(paused->config.fd), 0);
    CHECK_INT(reports, 0);
    return true;
}
static bool note_report(treadle_thread thread, const char *kind, const char *message, void *info) {
    CHECK(thread == treadle_thread_current() && info == &reports);
    CHECK_TEXT(kind, "TREADLE_E_SYSTEM");
    CHECK_TEXT(message, "a loop inside of a run loop is not watched any more");
    reports++;
    return treadle_loop_stop(program.loop) == TREADLE_OK;
}
TEST(a_descriptor_that_is_lost_in_a_pause_is_reported, "ABI-9 SRC1-8 THR-19") {
    treadle_foreign_config config = {eventfd(1, EFD_CLOEXEC), false, never, pause_and_close, NULL, &reports};
    program.loop = treadle_loop_current();
    CHECK_INT(treadle_set_last_resort(note_report, &reports, NULL), TREADLE_OK);
    CHECK_INT(treadle_foreign_add(program.loop, TREADLE_DEFAULT_MODE, &config, &paused), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(program.loop), TREADLE_RUN_STOPPED);
    CHECK_INT(reports, 1);
    treadle_foreign_remove(paused);
    CHECK_INT(treadle_set_last_resort(NULL, NULL, NULL), TREADLE_OK);
}

TEST_MAIN()
