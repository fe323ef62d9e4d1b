/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * invocation_test.c: what goes into an invocation and what comes out, on one's own thread and another's.
 * invocation_state_test.c has states and ends, invocation_wait_test.c waits that meet. */
#include "invocations.h"

#define MODE TREADLE_DEFAULT_MODE

static int32_t sum(int8_t a, uint16_t b, int64_t c) { return (int32_t)(a + b + c); }
static double scale(double factor, float value) { return factor * value; }
struct pair { int32_t first; double second; };
static struct pair swapped(struct pair pair, char kind) {
    return (struct pair){(int32_t)pair.second + kind, pair.first};
}
static int16_t last_seen;
static void note(int16_t value) { last_seen = value; }
static int32_t whose(void) { return thread_id(); }

TEST(a_function_gets_its_arguments_and_gives_its_result, "PERF-2 PERF-7") {
    struct server server;
    server_start(&server);
    for (int where = 0; where < 3; where++) {
        treadle_loop loop = where == 0 ? NULL : where == 1 ? treadle_loop_current() : server.loop;
        treadle_invocation a = INVOCATION(sum, "icSq"), b = INVOCATION(scale, "ddf"), c = INVOCATION(swapped, "{p=id}{p=id}c"),
                           d = INVOCATION(note, "vs"), e = INVOCATION(whose, "i");
        INVOCATION_SET(a, 0, int8_t, -100);
        INVOCATION_SET(a, 1, uint16_t, 65000);
        INVOCATION_SET(a, 2, int64_t, 1000000);
        CHECK_INT(invoke(a, loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
        CHECK_INT(INVOCATION_RESULT(a, int32_t), 1064900);
        INVOCATION_SET(b, 0, double, 1.5);
        INVOCATION_SET(b, 1, float, 2.5f);
        CHECK_INT(invoke(b, loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
        CHECK(INVOCATION_RESULT(b, double) == 3.75);
        INVOCATION_SET(c, 0, struct pair, {7, 40.0});
        INVOCATION_SET(c, 1, char, 2);
        CHECK_INT(invoke(c, loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
        struct pair result = INVOCATION_RESULT(c, struct pair);
        CHECK(result.first == 42 && result.second == 7.0);
        INVOCATION_SET(d, 0, int16_t, (int16_t)(300 + where));
        CHECK_INT(invoke(d, loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
        CHECK_INT(last_seen, 300 + where); /* what it wrote is there */
        CHECK_INT(treadle_invocation_get_result(d, NULL, 0), TREADLE_OK);
        CHECK_INT(invoke(e, loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
        CHECK_INT(INVOCATION_RESULT(e, int32_t), where == 2 ? server.thread_id : thread_id());
        treadle_invocation all[] = {a, b, c, d, e};
        for (int i = 0; i < 5; i++) invocation_end(all[i]);
    }
    server_end(&server);
    CHECK_INT(invocations_destroyed, 15);
}

TEST(a_thread_performs_as_its_loop_does, "PERF-2 PERF-3 PERF-10") {
    struct server server;
    treadle_invocation e = INVOCATION(whose, "i");
    server_start(&server);
    CHECK_INT(treadle_invocation_perform(e, OPTIONS(.thread = server.thread, .wait = TREADLE_WAIT_BLOCK)), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(e, int32_t), server.thread_id);
    CHECK_INT(treadle_invocation_perform(e, OPTIONS(.thread = treadle_thread_current(), .wait = TREADLE_WAIT_RUNNING)), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(e, int32_t), thread_id());
    server_end(&server);
    invocation_end(e);
}

TEST(arguments_are_zero_until_they_are_set, "") {
    treadle_invocation a = INVOCATION(sum, "icSq");
    CHECK_INT(invoke(a, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(a, int32_t), 0);
    INVOCATION_SET(a, 2, int64_t, 5);
    int64_t value = 0;
    CHECK_INT(treadle_invocation_get_argument(a, 2, &value, sizeof value), TREADLE_OK);
    CHECK_INT(value, 5);
    int8_t narrow = 1;
    CHECK_INT(treadle_invocation_get_argument(a, 0, &narrow, sizeof narrow), TREADLE_OK);
    CHECK_INT(narrow, 0);
    CHECK_INT(invoke(a, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK); /* again */
    CHECK_INT(INVOCATION_RESULT(a, int32_t), 5);
    invocation_end(a);
}

/* --- Copies ---------------------------------------------------------------------------------------- */

static const void *seen;
static size_t measure(const char *text) {
    seen = text;
    return text ? strlen(text) : 999;
}
TEST(strings_by_copy_are_the_invocation_s, "PERF-8") {
    char text[] = "twelve bytes";
    const char *pointer = text;
    treadle_invocation copy = INVOCATION(measure, "QrO*"), plain = INVOCATION(measure, "Q*");
    CHECK_INT(treadle_invocation_set_argument(copy, 0, &pointer, sizeof pointer), TREADLE_OK);
    CHECK_INT(treadle_invocation_set_argument(plain, 0, &pointer, sizeof pointer), TREADLE_OK);
    text[3] = 0;
    CHECK_INT(invoke(copy, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(copy, uint64_t), 12);
    CHECK(seen != text);
    const char *held = NULL;
    CHECK_INT(treadle_invocation_get_argument(copy, 0, &held, sizeof held), TREADLE_OK);
    CHECK(held == seen);
    CHECK_INT(invoke(plain, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(plain, uint64_t), 3);
    CHECK(seen == text);
    char back[16] = "";
    CHECK_INT(treadle_invocation_get_buffer(copy, 0, back, 13), TREADLE_OK);
    CHECK_TEXT(back, "twelve bytes");
    pointer = NULL;
    CHECK_INT(treadle_invocation_set_argument(copy, 0, &pointer, sizeof pointer), TREADLE_OK);
    CHECK_INT(invoke(copy, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(copy, uint64_t), 999);
    invocation_end(copy);
    invocation_end(plain);
}

static uint64_t mix(const uint8_t *in, uint32_t *both, uint32_t *out, uint64_t count) {
    uint64_t total = 0;
    if ((uintptr_t)in % 16 || (uintptr_t)both % 16 || (uintptr_t)out % 16) return 0;
    for (uint64_t i = 0; i < count; i++) {
        if (out && out[i]) return 1; /* zeros at first */
        total += in[i];
        if (out) out[i] = both[i] + in[i];
        both[i] *= 2;
    }
    return total;
}
static void mix_on(treadle_loop loop) {
    uint8_t in[5] = {1, 2, 3, 4, 5};
    uint32_t both[5] = {10, 20, 30, 40, 50}, out[5] = {9, 9, 9, 9, 9}, seen_out[5], seen_both[5];
    treadle_invocation i = INVOCATION(mix, "QO^CN^Io^IQ");
    CHECK_INT(treadle_invocation_set_buffer(i, 0, in, sizeof in), TREADLE_OK);
    CHECK_INT(treadle_invocation_set_buffer(i, 1, both, sizeof both), TREADLE_OK);
    CHECK_INT(treadle_invocation_set_buffer(i, 2, out, sizeof out), TREADLE_OK);
    INVOCATION_SET(i, 3, uint64_t, 5);
    in[0] = 100; /* the copy was made */
    CHECK_INT(invoke(i, loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(i, uint64_t), 15);
    for (uint32_t n = 0; n < 5; n++) {
        CHECK_INT(both[n], 20 * (n + 1));
        CHECK_INT(out[n], 11 * (n + 1));
    }
    CHECK_INT(in[0], 100); /* what is only by copy does not come back */
    CHECK_INT(treadle_invocation_get_buffer(i, 1, seen_both, sizeof seen_both), TREADLE_OK);
    CHECK_INT(treadle_invocation_get_buffer(i, 2, seen_out, sizeof seen_out), TREADLE_OK);
    CHECK(memcmp(seen_both, both, sizeof both) == 0 && memcmp(seen_out, out, sizeof out) == 0);
    CHECK_ERROR(treadle_invocation_get_buffer(i, 2, seen_out, sizeof seen_out + 1), TREADLE_E_RANGE, "size");
    CHECK_INT(treadle_invocation_get_buffer(i, 2, seen_out, 4), TREADLE_OK); /* a part */
    CHECK_INT(treadle_invocation_set_buffer(i, 2, NULL, 0), TREADLE_OK);
    CHECK_INT(treadle_invocation_set_buffer(i, 0, in, sizeof in), TREADLE_OK);
    memset(out, 7, sizeof out);
    CHECK_INT(invoke(i, loop, TREADLE_WAIT_BLOCK), TREADLE_OK); /* NULL is passed as NULL */
    CHECK_INT(INVOCATION_RESULT(i, uint64_t), 114);
    CHECK_INT(out[0], 0x07070707);
    invocation_end(i);
}
TEST(buffers_are_copied_and_written_back, "PERF-7 PERF-8") {
    struct server server;
    mix_on(NULL);
    server_start(&server);
    mix_on(server.loop);
    server_end(&server);
}

/* Nobody waits: the caller's memory may be gone by then, and is not touched. */
TEST(without_a_wait_nothing_is_written_back, "PERF-2 PERF-8") {
    uint8_t *in = malloc(5);
    uint32_t *both = malloc(20), *out = malloc(20), seen_out[5];
    treadle_invocation i = INVOCATION(mix, "QO^CN^Io^IQ");
    for (uint32_t n = 0; n < 5; n++) both[n] = in[n] = (uint8_t)n;
    CHECK_INT(treadle_invocation_set_buffer(i, 0, in, 5), TREADLE_OK);
    CHECK_INT(treadle_invocation_set_buffer(i, 1, both, 20), TREADLE_OK);
    CHECK_INT(treadle_invocation_set_buffer(i, 2, out, 20), TREADLE_OK);
    INVOCATION_SET(i, 3, uint64_t, 5);
    CHECK_INT(invoke(i, NULL, TREADLE_WAIT_NONE), TREADLE_OK);
    free(in), free(both), free(out);
    CHECK_INT(invocation_state(i), TREADLE_INVOCATION_QUEUED);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(INVOCATION_RESULT(i, uint64_t), 10);
    CHECK_INT(treadle_invocation_get_buffer(i, 2, seen_out, sizeof seen_out), TREADLE_OK);
    CHECK_INT(seen_out[4], 8);
    invocation_end(i);
}

TEST(a_buffer_may_be_empty_or_large, "") {
    char byte = 5;
    treadle_invocation i = INVOCATION(measure, "QO*");
    CHECK_INT(treadle_invocation_set_buffer(i, 0, &byte, 0), TREADLE_OK);
    const char *held = NULL;
    CHECK_INT(treadle_invocation_get_argument(i, 0, &held, sizeof held), TREADLE_OK);
    CHECK(held && held != &byte);
    CHECK_INT(treadle_invocation_get_buffer(i, 0, NULL, 0), TREADLE_OK);
    size_t size = (size_t)8 << 20;
    char *large = malloc(size);
    memset(large, 'x', size - 1);
    large[size - 1] = 0;
    CHECK_INT(treadle_invocation_set_buffer(i, 0, large, size), TREADLE_OK);
    free(large);
    CHECK_INT(invoke(i, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(i, uint64_t), size - 1);
    invocation_end(i);
}

/* A function may change what it was passed; the next call gets what was set. */
struct big { uint64_t words[40]; };
static uint64_t spoil(struct big value) {
    volatile struct big *own = &value;
    uint64_t total = 0;
    for (int i = 0; i < 40; i++) {
        total += own->words[i];
        own->words[i] = 99;
    }
    return total;
}
TEST(a_call_leaves_the_arguments_as_they_were_set, "") {
    static struct big value;
    treadle_invocation i = INVOCATION(spoil, "Q{=[40Q]}");
    for (int n = 0; n < 40; n++) value.words[n] = 1;
    CHECK_INT(treadle_invocation_set_argument(i, 0, &value, sizeof value), TREADLE_OK);
    for (int n = 0; n < 3; n++) {
        CHECK_INT(invoke(i, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
        CHECK_INT(INVOCATION_RESULT(i, uint64_t), 40);
    }
    invocation_end(i);
}

/* --- Bad input ------------------------------------------------------------------------------------- */

TEST(bad_values_are_refused_and_change_nothing, "OBJ-2") {
    int64_t value = 1;
    char bytes[8] = "";
    treadle_invocation i = INVOCATION(sum, "icSq"), m = INVOCATION(mix, "QO^CN^Io^IQ"), n = INVOCATION(measure, "QN*");
    CHECK_ERROR(treadle_invocation_set_argument(i, 3, &value, 8), TREADLE_E_RANGE, "index");
    CHECK_ERROR(treadle_invocation_set_argument(i, SIZE_MAX, &value, 8), TREADLE_E_RANGE, "index");
    CHECK_ERROR(treadle_invocation_set_argument(i, 2, &value, 4), TREADLE_E_RANGE, "size");
    CHECK_ERROR(treadle_invocation_set_argument(i, 2, &value, SIZE_MAX), TREADLE_E_RANGE, "size");
    CHECK_ERROR(treadle_invocation_set_argument(i, 2, NULL, 8), TREADLE_E_ARG, "value");
    CHECK_ERROR(treadle_invocation_set_argument(m, 0, &(void *){bytes}, 8), TREADLE_E_ARG, "index");
    CHECK_ERROR(treadle_invocation_set_argument(m, 1, &(void *){bytes}, 8), TREADLE_E_ARG, "index");
    CHECK_ERROR(treadle_invocation_set_argument(n, 0, &(void *){bytes}, 8), TREADLE_E_ARG, "index");
    CHECK_ERROR(treadle_invocation_set_buffer(m, 4, bytes, 8), TREADLE_E_RANGE, "index");
    CHECK_ERROR(treadle_invocation_set_buffer(m, 3, bytes, 8), TREADLE_E_ARG, "index");
    CHECK_ERROR(treadle_invocation_set_buffer(i, 0, bytes, 8), TREADLE_E_ARG, "index");
    CHECK_ERROR(treadle_invocation_set_buffer(m, 0, NULL, 8), TREADLE_E_ARG, "bytes");
    CHECK_ERROR(treadle_invocation_set_buffer(m, 0, bytes, ((size_t)1 << 30) + 1), TREADLE_E_RANGE, "size");
    CHECK_ERROR(treadle_invocation_set_buffer(m, 0, bytes, SIZE_MAX), TREADLE_E_RANGE, "size");
    CHECK_ERROR(treadle_invocation_get_argument(i, 3, &value, 8), TREADLE_E_RANGE, "index");
    CHECK_ERROR(treadle_invocation_get_argument(i, 2, &value, 7), TREADLE_E_RANGE, "size");
    CHECK_ERROR(treadle_invocation_get_argument(i, 2, NULL, 8), TREADLE_E_ARG, "value");
    CHECK_ERROR(treadle_invocation_get_buffer(m, 4, bytes, 1), TREADLE_E_RANGE, "index");
    CHECK_ERROR(treadle_invocation_get_buffer(m, 3, bytes, 1), TREADLE_E_ARG, "index");
    CHECK_ERROR(treadle_invocation_get_buffer(m, 0, bytes, 1), TREADLE_E_RANGE, "size"); /* none was set */
    CHECK_ERROR(treadle_invocation_get_buffer(m, 0, NULL, 1), TREADLE_E_ARG, "bytes");
    CHECK_ERROR(treadle_invocation_get_result(i, &value, 4), TREADLE_E_STATE, "invocation");
    CHECK_ERROR(treadle_invocation_get_result(i, &value, 8), TREADLE_E_RANGE, "size");
    CHECK_ERROR(treadle_invocation_get_result(i, NULL, 4), TREADLE_E_ARG, "result");
    CHECK_INT(invoke(i, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(i, int32_t), 0);
    invocation_end(i);
    invocation_end(m);
    invocation_end(n);
}

TEST(a_refused_invocation_is_destroyed, "OBJ-3") {
    treadle_invocation_config config = {.struct_size = sizeof config, .code = CODE(whose), .signature = "i",
                                        .info = &invocations_destroyed, .destroy = count_invocation};
    treadle_invocation invocation = (treadle_invocation)&config;
    CHECK_ERROR(treadle_invocation_create(NULL, &invocation), TREADLE_E_ARG, "config");
    CHECK(!invocation);
    config.struct_size = 8;
    CHECK_ERROR(treadle_invocation_create(&config, &invocation), TREADLE_E_ARG, "struct_size");
    config.struct_size = sizeof config;
    CHECK_INT(invocations_destroyed, 0); /* it cannot be read */
    CHECK_ERROR(treadle_invocation_create(&config, NULL), TREADLE_E_ARG, "out_invocation");
    CHECK_INT(invocations_destroyed, 1);
    config.code = NULL;
    CHECK_ERROR(treadle_invocation_create(&config, &invocation), TREADLE_E_ARG, "code");
    CHECK_INT(invocations_destroyed, 2);
    config.code = CODE(whose);
    config.signature = NULL;
    CHECK_ERROR(treadle_invocation_create(&config, &invocation), TREADLE_E_ARG, "signature");
    config.signature = "ii(";
    CHECK_ERROR(treadle_invocation_create(&config, &invocation), TREADLE_E_SIGNATURE, "(at offset 2)");
    CHECK_INT(invocations_destroyed, 4);
    struct { treadle_invocation_config config; int64_t more[2]; } newer = {config, {0, 1}};
    newer.config.struct_size = sizeof newer;
    newer.config.signature = "i";
    CHECK_ERROR(treadle_invocation_create(&newer.config, &invocation), TREADLE_E_TOO_NEW, "config");
    CHECK_INT(invocations_destroyed, 5);
    newer.more[1] = 0;
    CHECK_INT(treadle_invocation_create(&newer.config, &invocation), TREADLE_OK);
    CHECK_INT(treadle_invocation_retain(invocation), TREADLE_OK);
    CHECK_INT(treadle_invocation_release(invocation), TREADLE_OK);
    CHECK_INT(invocations_destroyed, 5);
    CHECK_INT(treadle_invocation_release(invocation), TREADLE_OK);
    CHECK_INT(invocations_destroyed, 6);
    CHECK_ERROR(treadle_invocation_release(invocation), TREADLE_E_STALE, "object");
}

TEST(bad_options_are_refused, "OBJ-2 ABI-7") {
    struct server server;
    treadle_invocation i = INVOCATION(whose, "i");
    struct completion c;
    server_start(&server);
    completion_make(&c, i);
    treadle_request request = completion_request(&c);
    const char *null[] = {NULL}, *modes[] = {"m"};
    CHECK_ERROR(treadle_invocation_perform(i, NULL), TREADLE_E_ARG, "options");
    CHECK_ERROR(treadle_invocation_perform(i, &(treadle_invocation_options){.struct_size = 16}), TREADLE_E_ARG, "options");
    CHECK_ERROR(treadle_invocation_perform(NULL, OPTIONS(.wait = 1)), TREADLE_E_ARG, "invocation");
    int releases = 0;
#define REFUSED(status, word, ...)                                                                                 \
    CHECK_ERROR(treadle_invocation_perform(i, OPTIONS(.completion = &request, __VA_ARGS__)), status, word); \
    CHECK_INT(c.releases, ++releases)
    REFUSED(TREADLE_E_ARG, "thread", .loop = server.loop, .thread = server.thread);
    REFUSED(TREADLE_E_ARG, "modes", .modes = null, .mode_count = 1);
    REFUSED(TREADLE_E_ARG, "mode_count", .modes = modes, .mode_count = 65536);
    REFUSED(TREADLE_E_ARG, "modes", .mode_count = 1);
    REFUSED(TREADLE_E_ARG, "wait", .wait = 3);
    REFUSED(TREADLE_E_ARG, "completion", .wait = TREADLE_WAIT_BLOCK);
    REFUSED(TREADLE_E_ARG, "completion", .wait = TREADLE_WAIT_RUNNING);
    REFUSED(TREADLE_E_ARG, "timeout_ns", .timeout_ns = -1);
    REFUSED(TREADLE_E_ARG, "timeout_ns", .timeout_ns = 1);
    REFUSED(TREADLE_E_ARG, "timeout_ns", .timeout_ns = TREADLE_FOREVER);
    REFUSED(TREADLE_E_ARG, "reserved", .reserved = 1);
    REFUSED(TREADLE_E_STALE, "loop", .loop = (treadle_loop)&c);
    REFUSED(TREADLE_E_STALE, "completion_loop", .completion_loop = (treadle_loop)&c);
    REFUSED(TREADLE_E_KIND, "thread", .thread = (treadle_thread)server.loop);
    CHECK_ERROR(treadle_invocation_perform(i, OPTIONS(.completion_loop = server.loop)), TREADLE_E_ARG, "completion_loop");
    CHECK_ERROR(treadle_invocation_perform(i, OPTIONS(.completion_loop = server.loop, .wait = 1)), TREADLE_E_ARG, "completion_loop");
    struct { treadle_invocation_options options; int64_t more[2]; } newer = {*OPTIONS(.completion = &request), {0, 1}};
    newer.options.struct_size = sizeof newer;
    CHECK_ERROR(treadle_invocation_perform(i, &newer.options), TREADLE_E_TOO_NEW, "options");
    CHECK_INT(c.releases, ++releases);
    request.struct_size = 8;
    CHECK_ERROR(treadle_invocation_perform(i, OPTIONS(.completion = &request)), TREADLE_E_ARG, "completion");
    CHECK_INT(c.releases, releases); /* it cannot be read */
    request.struct_size = sizeof request;
    request.fn = NULL;
    REFUSED(TREADLE_E_ARG, "fn", .wait = 0);
    request.fn = completion_perform;
    CHECK_INT(treadle_invocation_perform(i, OPTIONS(.completion = &request, .modes = modes)), TREADLE_IGNORED);
    completion_check(&c, 0, ++releases);
    CHECK_INT(treadle_invocation_perform(i, OPTIONS(.wait = 1, .modes = modes)), TREADLE_IGNORED);
    CHECK_INT(invocation_state(i), TREADLE_INVOCATION_IDLE); /* nothing of all that was performed */
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
    CHECK_INT(invoke(i, server.loop, TREADLE_WAIT_BLOCK), TREADLE_OK);
    completion_check(&c, 0, releases);
    server_end(&server);
    invocation_end(i);
}

TEST_MAIN()
