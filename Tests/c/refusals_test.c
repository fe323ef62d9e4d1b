/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * refusals_test.c: each parameter of each function, and each member of each struct, with a bad value: the last error names it as the
 * header does, and the results are 0. refusals.py writes the cases from the headers. */
#include "all_calls.h"

#include <limits.h>
#include <math.h>

/* What the cases are made with. */
enum { MOST_PARAMETERS = 9 };
static _Alignas(16) unsigned char outs[MOST_PARAMETERS][256];
static uint32_t word;
static char long_label[300];
static treadle_call good_call;
static treadle_event good_event;
static const treadle_argument good_argument = {.kind = TREADLE_ARGUMENT_LOOP}, bad_argument = {.kind = 99};
static const treadle_component bad_component = {.kind = 99};
static const treadle_port_function bad_function = {.name = "f", .signature = "v"};
static const treadle_request good_request = {.struct_size = sizeof good_request, .fn = call_request}, small_request = {.struct_size = 1};
static const char *const no_name[] = {NULL}, *const bad_name[] = {"a\xff"}, *const good_name[] = {"mode of the test"};

static struct handles gone; /* of objects that have ended */

static uint64_t before;
static int wrong;

static uint64_t last_sequence(treadle_error_info *info) {
    *info = TREADLE_INIT(treadle_error_info);
    treadle_last_error(info);
    return info->sequence;
}
static void begin_case(void) {
    treadle_error_info info;
    memset(outs, 0xa5, sizeof outs);
    before = last_sequence(&info);
}

static bool is_of_name(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
/* The text begins with the name, or with that of what it is part of: config.name, names[].kind. */
static bool names(const char *text, const char *name) {
    size_t length = strlen(name);
    if (strncmp(text, name, length) == 0 && !is_of_name(text[length])) return true;
    const char *dot = strstr(text, "."), *space = strchr(text, ' ');
    return dot && space && dot < space && strncmp(dot + 1, name, length) == 0 && !is_of_name(dot[1 + length]);
}
static bool is_utf8(const char *text) {
    for (; *text; text++)
        if (*(const unsigned char *)text == 0xff) return false;
    return true;
}

static void must_be_refused(const char *function, const char *name, const char *shown, const size_t *sizes, size_t count) {
    treadle_error_info info;
    const char *why = NULL;
    if (last_sequence(&info) != before + 1) why = "is not refused";
    else if (strcmp(info.function, function)) why = "is refused in the name of another function";
    else if (!names(info.message, name)) why = "is refused in the name of another parameter";
    else if (!is_utf8(info.message)) why = "is refused with a text that is not UTF-8";
    for (size_t i = 0; !why && i < count; i++)
        for (size_t byte = 0; byte < sizes[i]; byte++)
            if (outs[i][byte]) why = "leaves a result as it was";
    if (!why) return;
    wrong++;
    fprintf(stderr, "%s: %s: %s: \"%s\" (%s)\n", function, shown, why, info.message, info.function);
}

#include "refusals_cases.h"

static void *make_gone(void *unused) {
    handles_make(&gone, treadle_loop_current(), "");
    handles_end(&gone);
    return unused;
}

TEST(a_refusal_names_the_parameter_as_the_header_does, "OBJ-6 ABI-2") {
    struct handles h = {0};
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = call_dispatch};
    memset(long_label, 'a', sizeof long_label - 1);
    handles_make(&h, treadle_loop_current(), "mode of the test");
    CHECK_INT(treadle_host_register(&config, (treadle_host *)&h.of[HOST]), TREADLE_OK);
    CHECK_INT(treadle_invocation_set_buffer(h.of[INVOCATION], 1, h.text, 8), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(h.of[PLUGIN]), TREADLE_OK);
    on_thread(make_gone, NULL);
    good_call = call_of(h.of[SIGNATURE]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) cases[i](&h);
    CHECK_INT(wrong, 0);
    /* Nobody serves the port: it is the time that ends these. */
    begin_case();
    CHECK_INT(treadle_port_call(h.of[MESSAGE_PORT], "f", "v", NULL, 0, NULL, 0, 0, h.mode), TREADLE_E_NO_REPLY);
    must_be_refused("treadle_port_call", "timeout_ns", "no time", NULL, 0);
    begin_case();
    CHECK_INT(treadle_message_port_request(h.of[MESSAGE_PORT], 1, "", 0, 0, 0, h.mode, NULL, NULL), TREADLE_E_NO_REPLY);
    must_be_refused("treadle_message_port_request", "reply_timeout_ns", "no time", NULL, 0);
    CHECK_INT(wrong, 0);
    handles_end(&h);
}

static bool lists(const char *function, treadle_status status) {
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
        if (strcmp(listed[i].name, function) == 0) return listed[i].errors >> -status & 1;
    return false;
}
/* Makes every call, and looks whether the header lists what it returns; how many return this. */
static int call_all(struct handles *h, treadle_status wanted) {
    static const char *const without[] = {"treadle_shutdown", "treadle_thread_exit", "wait", "treadle_host_quiesce", "treadle_loop_run"};
    int count = 0;
    for (int i = 0; i < CALL_COUNT; i++) {
        bool is_left_out = calls[i].result != 's';
        for (size_t j = 0; j < sizeof without / sizeof *without; j++) is_left_out |= strstr(calls[i].name, without[j]) != NULL;
        if (is_left_out) continue;
        treadle_status status = (treadle_status)calls[i].call(h);
        count += status == wanted;
        /* What holds for every function is not listed: see treadle.h. */
        if (status >= 0 || status == TREADLE_E_ARG || status == TREADLE_E_STALE || status == TREADLE_E_KIND) continue;
        if (!lists(function_of(&calls[i]), status))
            wrong++, fprintf(stderr, "%s: the header does not list %s\n", function_of(&calls[i]), treadle_status_name(status));
    }
    return count;
}
static void make_all(struct handles *h) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = call_dispatch};
    handles_make(h, treadle_loop_current(), "mode of the test");
    CHECK_INT(treadle_host_register(&config, (treadle_host *)&h->of[HOST]), TREADLE_OK);
}

/* Inside of a scope that is closed nothing can be created. */
TEST(the_header_lists_the_refusal_of_a_closed_scope, "SCOPE-2 OBJ-6") {
    struct handles h = {0};
    treadle_scope scope = NULL;
    make_all(&h);
    CHECK_INT(treadle_scope_create(&TREADLE_INIT(treadle_scope_config), &scope), TREADLE_OK);
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    CHECK_INT(treadle_close(scope, 0), TREADLE_OK);
    CHECK(call_all(&h, TREADLE_E_CLOSED) > 20);
    CHECK_INT(wrong, 0);
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    CHECK_INT(treadle_scope_release(scope), TREADLE_OK);
}

/* Neither in a destructor that comes after the thread's teardown. */
static pthread_key_t last;
static struct handles *at_the_end;
static int turns, refused;
static void call_all_late(void *value) {
    if (++turns < PTHREAD_DESTRUCTOR_ITERATIONS) CHECK_INT(pthread_setspecific(last, value), 0);
    if (turns < PTHREAD_DESTRUCTOR_ITERATIONS) return;
    refused = call_all(at_the_end, TREADLE_E_STATE);
    treadle_request request = {.struct_size = sizeof request, .fn = call_request, .flags = TREADLE_PERFORM_WAIT};
    CHECK_ERROR(treadle_perform(at_the_end->of[LOOP], &request), TREADLE_E_STATE, "ending");
    CHECK_ERROR(treadle_invocation_perform(at_the_end->of[INVOCATION], INVOKE(.loop = at_the_end->of[LOOP], .wait = TREADLE_WAIT_BLOCK)),
                TREADLE_E_STATE, "ending");
    CHECK(lists("treadle_perform", TREADLE_E_STATE) && lists("treadle_invocation_perform", TREADLE_E_STATE));
}
static void *end_late(void *info) {
    CHECK(treadle_loop_current());
    CHECK_INT(pthread_setspecific(last, info), 0);
    return info;
}
TEST(the_header_lists_the_refusal_of_an_ended_thread, "RL-8 OBJ-6") {
    struct handles h = {0};
    make_all(&h);
    at_the_end = &h;
    CHECK_INT(pthread_key_create(&last, call_all_late), 0);
    on_thread(end_late, "");
    CHECK_INT(turns, PTHREAD_DESTRUCTOR_ITERATIONS);
    CHECK(refused > 5);
    CHECK_INT(wrong, 0);
}

/* Neither when the process has been shut down. */
TEST(the_header_lists_the_refusal_after_a_shutdown, "OBJ-6") {
    struct handles h = {0};
    make_all(&h);
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
    CHECK(call_all(&h, TREADLE_E_CLOSED) > 5);
    CHECK_INT(wrong, 0);
}

TEST_MAIN()
