/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * port_test.c: ports in a process: what is sent, what is received, and that a port is an item like every other. */
#include "ports.h"

#include <fcntl.h>
#include <sys/stat.h>

#define MODE TREADLE_DEFAULT_MODE

TEST(a_port_performs_one_message_a_pass_in_their_order, "PORT-5 PORT-6") {
    treadle_port port = make_port_of(trace_message, "", 0);
    for (uint32_t id = 1; id <= 3; id++) CHECK_INT(send_id(port, id), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
    add_port(port, MODE);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_TRACE("1");
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("2");
    CHECK_INT(queued_in(port), 1);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("3");
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_TIMED_OUT);
    treadle_loop_counters counters = {.struct_size = sizeof counters};
    CHECK_INT(treadle_loop_get_counters(treadle_loop_current(), &counters), TREADLE_OK);
    CHECK_INT(counters.messages, 3);
    end_port(port);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
}

static void check_bytes(treadle_port port, treadle_message message, void *info) {
    treadle_message_info got = info_of(message);
    const unsigned char *bytes = got.bytes;
    (void)port;
    CHECK_INT(got.component_count, got.length != 0);
    CHECK_INT(got.length, got.id);
    CHECK((uintptr_t)bytes % 16 == 0);
    for (size_t i = 0; i < got.length; i++) CHECK_INT(bytes[i], (unsigned char)(i * 7));
    ++*(int *)info;
}
TEST(bytes_of_any_length_arrive_as_they_were_when_they_were_sent, "MPORT-2 MPORT-3") {
    static unsigned char bytes[70000];
    static const size_t lengths[] = {0, 1, 15, 16, 63, 64, 79, 80, 81, 96, 255, 4096, 69999};
    int received = 0;
    treadle_port port = make_port_of(check_bytes, &received, 0);
    add_port(port, MODE);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (size_t k = 0; k < sizeof bytes; k++) bytes[k] = (unsigned char)(k * 7);
        CHECK_INT(treadle_port_send_bytes(port, (uint32_t)lengths[i], bytes, lengths[i], 0), TREADLE_OK);
        memset(bytes, 0xEE, sizeof bytes);
    }
    while (queued_in(port)) CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(received, sizeof lengths / sizeof *lengths);
    end_port(port);
}

static bool is_same_file(int one, int other) {
    struct stat a, b;
    return fstat(one, &a) == 0 && fstat(other, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}
static struct {
    treadle_port reply, carried;
    int read_end, taken;
} parts;
static void check_parts(treadle_port port, treadle_message message, void *info) {
    treadle_message_info got = info_of(message);
    int32_t fd = 77;
    (void)info;
    CHECK_INT(got.id, UINT32_MAX);
    CHECK_INT(got.component_count, 5);
    CHECK(got.port == port && got.reply_port == parts.reply);
    CHECK(got.length == 3 && memcmp(got.bytes, "abc", 3) == 0);
    CHECK(component_of(message, 1).kind == TREADLE_COMPONENT_PORT && component_of(message, 1).port == parts.carried);
    CHECK_INT(component_of(message, 1).descriptor, -1);
    treadle_component descriptor = component_of(message, 2);
    CHECK_INT(descriptor.kind, TREADLE_COMPONENT_DESCRIPTOR);
    CHECK(descriptor.descriptor != parts.read_end && is_same_file(descriptor.descriptor, parts.read_end));
    CHECK(fcntl(descriptor.descriptor, F_GETFD) & FD_CLOEXEC);
    CHECK(component_of(message, 3).length == 0 && component_of(message, 3).bytes == NULL);
    CHECK(component_of(message, 4).length == 100 && ((const char *)component_of(message, 4).bytes)[99] == 'x');
    CHECK_INT(treadle_message_take_descriptor(message, 2, &parts.taken), TREADLE_OK);
    CHECK_INT(parts.taken, descriptor.descriptor);
    CHECK_INT(component_of(message, 2).descriptor, -1);
    CHECK_ERROR(treadle_message_take_descriptor(message, 2, &fd), TREADLE_E_NOT_FOUND, "index");
    CHECK_INT(fd, 0);
    CHECK_ERROR(treadle_message_take_descriptor(message, 0, &fd), TREADLE_E_NOT_FOUND, "index");
    CHECK_ERROR(treadle_message_take_descriptor(message, 5, &fd), TREADLE_E_RANGE, "index");
    trace("received");
}
TEST(a_message_carries_bytes_ports_and_descriptors, "MPORT-2 MPORT-3") {
    int pipes[2], before = count_descriptors();
    char text[100];
    memset(text, 'x', sizeof text);
    CHECK_INT(pipe(pipes), 0);
    treadle_port port = make_port_of(check_parts, NULL, 0);
    parts.reply = make_port_of(NULL, NULL, 0);
    parts.carried = make_port_of(NULL, NULL, 0);
    parts.read_end = pipes[0];
    treadle_component sent[] = {{.kind = TREADLE_COMPONENT_BYTES, .bytes = "abc", .length = 3},
                                {.kind = TREADLE_COMPONENT_PORT, .port = parts.carried},
                                {.kind = TREADLE_COMPONENT_DESCRIPTOR, .descriptor = pipes[0]},
                                {.kind = TREADLE_COMPONENT_BYTES},
                                {.kind = TREADLE_COMPONENT_BYTES, .bytes = text, .length = sizeof text}};
    add_port(port, MODE);
    CHECK_INT(send_parts(port, UINT32_MAX, sent, 5, parts.reply), TREADLE_OK);
    /* They are the message's alone from here on. */
    CHECK_INT(treadle_port_release(parts.reply), TREADLE_OK);
    CHECK_INT(treadle_port_release(parts.carried), TREADLE_OK);
    CHECK(treadle_is_valid(parts.reply) && treadle_is_valid(parts.carried));
    memset(text, 'y', sizeof text);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_TRACE("received");
    CHECK(!treadle_is_valid(parts.reply) && !treadle_is_valid(parts.carried));
    CHECK_INT(treadle_port_retain(parts.reply), TREADLE_E_STALE);
    close(pipes[0]), close(pipes[1]), close(parts.taken);
    CHECK_INT(count_descriptors(), before);
    end_port(port);
}

/* A worker's port, and the answer to where the question says. */
static void answer(treadle_port port, treadle_message message, void *info) {
    treadle_message_info got = info_of(message);
    (void)port, (void)info;
    CHECK_INT(treadle_port_send_bytes(got.reply_port, got.id + 1, got.bytes, got.length, TREADLE_FOREVER), TREADLE_OK);
}
static void stop_at_answer(treadle_port port, treadle_message message, void *info) {
    (void)port, (void)info;
    trace("%u %.*s", info_of(message).id, (int)info_of(message).length, (const char *)info_of(message).bytes);
    treadle_loop_stop(treadle_loop_current());
}
TEST(a_thread_answers_to_the_reply_port, "MPORT-1 MPORT-3 PORT-4") {
    struct worker worker;
    treadle_port question = make_port_of(answer, NULL, 0), reply = make_port_of(stop_at_answer, NULL, 0);
    treadle_component text = {.kind = TREADLE_COMPONENT_BYTES, .bytes = "hello", .length = 5};
    worker_start(&worker);
    CHECK_INT(treadle_loop_add_port(worker.loop, question, MODE), TREADLE_OK);
    add_port(reply, MODE);
    for (int i = 0; i < 100; i++) {
        if (i % 2) worker_await_sleep(&worker);
        CHECK_INT(send_parts(question, 41, &text, 1, reply), TREADLE_OK);
        CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
        CHECK_TRACE("42 hello");
    }
    worker_stop(&worker);
    end_port(question);
    end_port(reply);
}

static treadle_message kept;
static void keep(treadle_port port, treadle_message message, void *info) {
    (void)port, (void)info;
    kept = message;
    CHECK_INT(treadle_message_retain(message), TREADLE_OK);
}
TEST(a_message_can_be_kept_longer_than_its_port, "MPORT-3 OBJ-2") {
    treadle_port port = make_port_of(keep, NULL, 0);
    uint32_t kind = 0;
    add_port(port, MODE);
    CHECK_INT(treadle_port_send_bytes(port, 5, "abcd", 4, 0), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    end_port(port);
    CHECK_INT(info_of(kept).id, 5);
    CHECK(memcmp(info_of(kept).bytes, "abcd", 4) == 0);
    CHECK(info_of(kept).port == port && !treadle_is_valid(port));
    CHECK_INT(treadle_get_kind(kept, &kind), TREADLE_OK);
    CHECK_INT(kind, TREADLE_KIND_MESSAGE);
    CHECK_INT(treadle_message_release(kept), TREADLE_OK);
    CHECK_INT(treadle_message_get_info(kept, &TREADLE_INIT(treadle_message_info)), TREADLE_E_STALE);
    CHECK_INT(treadle_message_release(kept), TREADLE_E_STALE);
}

static void forget(treadle_port port, treadle_message message, void *info) {
    (void)port, (void)info;
    kept = message;
    CHECK_ERROR(treadle_message_release(message), TREADLE_E_STALE, "more often");
    CHECK_INT(info_of(message).id, 9);
}
TEST(a_message_is_gone_when_its_callback_has_returned, "MPORT-3 OBJ-11") {
    treadle_port port = make_port_of(forget, NULL, 0);
    treadle_component component;
    add_port(port, MODE);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(send_id(port, 9), TREADLE_OK);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(treadle_message_get_component(kept, 0, &component), TREADLE_E_STALE);
        CHECK_INT(treadle_message_retain(kept), TREADLE_E_STALE);
    }
    end_port(port);
}

/* Their slots are used again: the others would be some megabytes. */
TEST(messages_that_come_and_go_take_no_memory, "MPORT-3 OBJ-4") {
    enum { SENT = 30000 };
    static const char bytes[100];
    atomic_int received = 0;
    long before = 0;
    treadle_port port = make_port_of(count_message, &received, 0);
    add_port(port, MODE);
    for (int i = 0; i < SENT; i++) {
        CHECK_INT(treadle_port_send_bytes(port, 1, bytes, sizeof bytes, 0), TREADLE_OK);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        if (i == SENT / 10) before = resident_kilobytes();
    }
    CHECK_INT(received, SENT);
    if (bytes_in_use() != 0) CHECK(resident_kilobytes() < before + 2000); /* the memory is the program's alone */
    end_port(port);
}

TEST(a_port_without_a_callback_takes_and_drops, "PORT-3") {
    int before = count_descriptors();
    treadle_port port = make_port_of(NULL, NULL, 0);
    treadle_component descriptor = {.kind = TREADLE_COMPONENT_DESCRIPTOR, .descriptor = 2};
    add_port(port, MODE);
    CHECK_INT(send_parts(port, 1, &descriptor, 1, NULL), TREADLE_OK);
    CHECK_INT(count_descriptors(), before + 1);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(queued_in(port), 0);
    CHECK_INT(count_descriptors(), before);
    end_port(port);
}

static int retains, releases;
static void *count_retain(void *info) { return retains++, info; }
static void count_release(void *info) { (void)info, releases++; }
static void describe(void *info, char *buffer, size_t capacity) { snprintf(buffer, capacity, "described %d", *(int *)info); }
TEST(a_port_is_an_item_like_every_other, "PORT-1 OBJ-3 OBJ-5 MODE-8 RL-12") {
    int number = 7;
    treadle_loop loop = treadle_loop_current();
    treadle_port_context context = {.struct_size = sizeof context, .receive = trace_message, .info = &number, .retain = count_retain,
                                    .release = count_release, .describe = describe, .label = "mail", .capacity = 3};
    treadle_port port = NULL;
    treadle_object items[4];
    void *info = NULL;
    int64_t order = 5;
    char text[300];
    size_t length = 0;
    CHECK_INT(treadle_port_create(&context, &port), TREADLE_OK);
    CHECK_INT(retains, 1);
    CHECK_INT(treadle_loop_add_port(loop, port, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_port(loop, port, MODE), TREADLE_IGNORED);
    CHECK_INT(treadle_loop_remove_port(loop, port, "other"), TREADLE_IGNORED);
    CHECK_INT(treadle_loop_add_port(loop, port, "other"), TREADLE_OK);
    CHECK_INT(treadle_loop_add_common_mode(loop, "third"), TREADLE_OK);
    CHECK_INT(treadle_loop_add_port(loop, port, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK(treadle_loop_contains_port(loop, port, MODE) && treadle_loop_contains_port(loop, port, "third") && treadle_loop_contains_port(loop, port, TREADLE_COMMON_MODES));
    CHECK_INT(treadle_loop_copy_items(loop, NULL, items, 4, &length), TREADLE_OK);
    CHECK(length == 1 && items[0] == (treadle_object)port);
    CHECK_INT(treadle_release(items[0]), TREADLE_OK);
    CHECK_INT(treadle_port_get_context_info(port, &info), TREADLE_OK);
    CHECK(info == &number);
    CHECK_INT(treadle_port_get_order(port, &order), TREADLE_OK);
    CHECK_INT(order, 0);
    CHECK_INT(send_id(port, 1), TREADLE_OK);
    CHECK_INT(treadle_port_describe(port, text, sizeof text, &length), TREADLE_OK);
    CHECK(strncmp(text, "port \"mail\" 0x", 14) == 0 && strstr(text, "1 of 3 messages") && strstr(text, "described 7") && strstr(text, "\"third\""));
    CHECK_INT(treadle_describe(loop, text, sizeof text, &length), TREADLE_OK);
    CHECK(strstr(text, "port \"mail\""));
    CHECK_INT(treadle_port_release(port), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_port(loop, port, TREADLE_COMMON_MODES), TREADLE_OK);
    CHECK(!treadle_loop_contains_port(loop, port, MODE) && treadle_loop_contains_port(loop, port, "other"));
    CHECK_INT(releases, 0);
    CHECK_INT(treadle_loop_remove_port(loop, port, "other"), TREADLE_OK);
    CHECK_INT(releases, 1);
    CHECK_INT(treadle_port_get_context_info(port, &info), TREADLE_E_STALE);
}

TEST(the_queue_is_bounded_and_a_try_without_time_says_so, "MPORT-1 MPORT-2") {
    treadle_port small = make_port_of(trace_message, "", 2), normal = make_port_of(NULL, NULL, 0);
    size_t count = 0, capacity = 0;
    CHECK_INT(treadle_port_get_count(normal, &count, &capacity), TREADLE_OK);
    CHECK(count == 0 && capacity == 1024);
    for (int i = 0; i < 1024; i++) CHECK_INT(send_id(normal, 1), TREADLE_OK);
    CHECK_ERROR(send_id(normal, 1), TREADLE_E_TIMEOUT, "room");
    CHECK_INT(send_id(small, 1), TREADLE_OK);
    CHECK_INT(send_id(small, 2), TREADLE_OK);
    CHECK_ERROR(treadle_port_send_bytes(small, 3, "x", 1, INT64_MIN), TREADLE_E_TIMEOUT, "room");
    CHECK_ERROR(treadle_port_send_bytes(small, 3, "x", 1, MILLISECONDS(1)), TREADLE_E_TIMEOUT, "room");
    add_port(small, MODE);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(send_id(small, 4), TREADLE_OK);
    while (queued_in(small)) poll_mode(MODE);
    CHECK_TRACE("1 2 4");
    end_port(small);
    end_port(normal);
}

TEST(what_cannot_be_sent_is_refused_and_leaves_nothing_behind, "MPORT-2") {
    int before = count_descriptors();
    treadle_port port = make_port_of(NULL, NULL, 0), gone = make_port_of(NULL, NULL, 0);
    treadle_source source = make_source(NULL, NULL);
    treadle_component good[] = {{.kind = TREADLE_COMPONENT_PORT, .port = port}, {.kind = TREADLE_COMPONENT_DESCRIPTOR, .descriptor = 2}, {.kind = 9}};
    end_port(gone);
    CHECK_ERROR(send_parts(port, 1, good, 3, port), TREADLE_E_ARG, "components[].kind");
    good[2] = (treadle_component){.kind = TREADLE_COMPONENT_BYTES, .length = 1};
    CHECK_ERROR(send_parts(port, 1, good, 3, port), TREADLE_E_ARG, "components[].bytes");
    good[2].bytes = good, good[2].length = SIZE_MAX;
    CHECK_ERROR(send_parts(port, 1, good, 3, port), TREADLE_E_NOMEM, "components[].length");
    good[2].length = SIZE_MAX / 2 - 64;
    CHECK_ERROR(send_parts(port, 1, good, 3, port), TREADLE_E_NOMEM, "message");
    good[2] = (treadle_component){.kind = TREADLE_COMPONENT_PORT};
    CHECK_ERROR(send_parts(port, 1, good, 3, port), TREADLE_E_ARG, "components[].port");
    good[2].port = gone;
    CHECK_ERROR(send_parts(port, 1, good, 3, port), TREADLE_E_STALE, "components[].port");
    good[2].port = (treadle_port)source;
    CHECK_ERROR(send_parts(port, 1, good, 3, port), TREADLE_E_KIND, "components[].port");
    good[2] = (treadle_component){.kind = TREADLE_COMPONENT_DESCRIPTOR, .descriptor = 99999};
    CHECK_ERROR(send_parts(port, 1, good, 3, port), TREADLE_E_ARG, "components[].descriptor");
    good[2].descriptor = -1;
    CHECK_ERROR(send_parts(port, 1, good, 3, port), TREADLE_E_ARG, "components[].descriptor");
    CHECK_ERROR(send_parts(port, 1, NULL, 1, NULL), TREADLE_E_ARG, "components");
    CHECK_ERROR(send_parts(port, 1, good, 65536, NULL), TREADLE_E_RANGE, "component_count");
    CHECK_ERROR(send_parts(port, 1, good, SIZE_MAX, NULL), TREADLE_E_RANGE, "component_count");
    CHECK_ERROR(send_parts(port, 1, NULL, 0, gone), TREADLE_E_STALE, "reply_port");
    CHECK_ERROR(send_parts(port, 1, NULL, 0, (treadle_port)source), TREADLE_E_KIND, "reply_port");
    CHECK_ERROR(send_id(gone, 1), TREADLE_E_STALE, "port");
    CHECK_ERROR(send_id((treadle_port)source, 1), TREADLE_E_KIND, "port");
    CHECK_ERROR(treadle_port_send_bytes(port, 1, NULL, 1, 0), TREADLE_E_ARG, "bytes");
    CHECK_ERROR(treadle_port_send_bytes(port, 1, good, SIZE_MAX, 0), TREADLE_E_NOMEM, "length");
    CHECK_ERROR(treadle_port_send(port, NULL, 0), TREADLE_E_ARG, "content");
    treadle_message_content content = {.struct_size = sizeof content, .reserved = 1};
    CHECK_ERROR(treadle_port_send(port, &content, 0), TREADLE_E_ARG, "reserved");
    treadle_port_context context = {.struct_size = sizeof context, .capacity = 1u << 24};
    CHECK_ERROR(treadle_port_create(&context, &gone), TREADLE_E_RANGE, "capacity");
    CHECK_INT(queued_in(port), 0);
    CHECK_INT(count_descriptors(), before);
    /* The last reference is gone: none is lost in a message that was not sent. */
    CHECK_INT(treadle_port_release(port), TREADLE_OK);
    CHECK_INT(treadle_port_retain(port), TREADLE_E_STALE);
    treadle_source_release(source);
}

TEST_MAIN()
