/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * copies_odd_test.c: the process has something that says it is a copy of Treadle of another version, or that lies
 * (Tests/copies/odd.c). Each test runs this program again with such a library loaded before. And calls that come before the
 * library's own constructor. */
#include "all_calls.h"
#include "thread_jobs.h"

/* --- A call before any constructor --------------------------------------------------------------- */

static treadle_status early_status;
static int64_t early_time, early_numbers[8];
static treadle_timer early_item;
static int early_order[6];

static void fire_early(treadle_timer timer, void *info) { (void)timer, (void)info; }
/* All arguments must get through: five numbers, which is as many as a function has, or a double. */
static void call_early(int count, char **arguments, char **environment) {
    (void)count, (void)arguments;
    if (SANITIZER) return; /* whose runtime is not ready yet */
    for (; *environment; environment++) {
        if (strcmp(*environment, "TREADLE_TEST_EARLY=double") == 0) early_status = treadle_time_from_seconds(2.5, &early_time);
        if (strcmp(*environment, "TREADLE_TEST_EARLY=five") == 0) {
            early_status = treadle_timer_start(TREADLE_FOREVER, 7000000, fire_early, early_order, &early_item);
            if (early_status == TREADLE_OK) treadle_timer_get_interval(early_item, &early_numbers[0]);
            void *info = NULL;
            treadle_get_context_info(early_item, &info);
            early_numbers[1] = info == early_order;
        }
    }
}
__attribute__((section(".preinit_array"), used)) static void (*const early)(int, char **, char **) = call_early;

static void must_have_been_early_with_a_double(void) {
    CHECK_INT(early_status, TREADLE_OK);
    CHECK_INT(early_time, 2500000000);
    CHECK(treadle_loop_current() == treadle_loop_main());
}
static void must_have_been_early_with_five(void) {
    int64_t interval = 0;
    CHECK_INT(early_status, TREADLE_OK);
    CHECK_INT(early_numbers[0], 7000000);
    CHECK_INT(early_numbers[1], 1);
    CHECK_INT(treadle_timer_get_interval(early_item, &interval), TREADLE_OK); /* the constructor has changed nothing */
    CHECK(treadle_loop_contains(treadle_loop_current(), early_item, TREADLE_DEFAULT_MODE));
}

/* --- Behind the other ---------------------------------------------------------------------------- */

static void must_tell(const char *name, uint64_t sequence, const char *version) {
    treadle_error_info error = TREADLE_INIT(treadle_error_info);
    CHECK_INT(treadle_last_error(&error), TREADLE_OK);
    CHECK_INT(error.code, TREADLE_E_NOT_SUPPORTED);
    CHECK_INT(error.sequence, sequence);
    if (!strstr(error.message, version)) check_failed(__FILE__, __LINE__, "%s: the message is \"%s\"", name, error.message);
    /* A program that is linked statically has no table of its names. */
    if (strcmp(error.function, "treadle") != 0) CHECK_TEXT(error.function, name);
}
static bool needs_no_runtime(const char *name) {
    static const char *const beginnings[] = {"treadle_version", "treadle_status_", "treadle_last_error", "treadle_time_"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0) return true;
    return false;
}

static void must_refuse_all(void) {
    struct handles h = {.mode = TREADLE_DEFAULT_MODE, .fd = 0};
    uint64_t sequence = 0;
    int refused = 0, threads = count_threads();
    for (int kind = 0; kind < HANDLE_KINDS; kind++) h.of[kind] = (void *)(uintptr_t)(0x100000021 + 2 * kind);
    for (int i = 0; i < CALL_COUNT; i++) {
        int64_t result = calls[i].call(&h);
        if (needs_no_runtime(calls[i].name)) continue;
        /* Those that cannot fail elsewhere are statuses or values. */
        if (result != (returns_status(&calls[i]) ? TREADLE_E_NOT_SUPPORTED : 0) && (calls[i].result != '-' || result != TREADLE_E_NOT_SUPPORTED))
            check_failed(__FILE__, __LINE__, "%s gave %" PRId64, calls[i].name, result);
        treadle_error_info error = TREADLE_INIT(treadle_error_info);
        CHECK_INT(treadle_last_error(&error), TREADLE_OK);
        CHECK(error.sequence > sequence); /* some of the calls are several functions */
        sequence = error.sequence;
        must_tell(function_of(&calls[i]), sequence, "99.3.7");
        refused++;
    }
    CHECK(refused > 150);
    CHECK(treadle_loop_current() == NULL && treadle_loop_main() == NULL && treadle_thread_current() == NULL);
    CHECK_INT(count_threads(), threads);
    CHECK_INT(treadle_version(), TREADLE_VERSION);
    CHECK_TEXT(treadle_status_name(TREADLE_E_NOT_SUPPORTED), "TREADLE_E_NOT_SUPPORTED");
    CHECK(treadle_status_message(TREADLE_E_NOT_SUPPORTED) != NULL);
    CHECK(treadle_time_now() > 0 && treadle_time_recent() > 0);
    CHECK(treadle_time_to_absolute(treadle_time_now()) > 1e8);
}

static void must_lead_to_what_is_there(void) {
    treadle_error_info error = TREADLE_INIT(treadle_error_info);
    CHECK(treadle_loop_current() == (treadle_loop)42); /* the other one's */
    CHECK_INT(treadle_last_error(&error), TREADLE_OK);
    CHECK_INT(error.code, 0);
    CHECK_INT(treadle_source_signal((treadle_source)42), TREADLE_E_NOT_SUPPORTED); /* this one's */
    must_tell("treadle_source_signal", 1, "1.0.0");
    must_tell("treadle_source_signal", 1, "1.0.0");
    CHECK(!treadle_source_is_signalled((treadle_source)42));
    must_tell("treadle_source_is_signalled", 2, "1.0.0");
    CHECK_INT(treadle_host_end_wait(NULL), TREADLE_E_CLOSED); /* the other one's */
    CHECK_INT(treadle_last_error(&error), TREADLE_OK);
    CHECK_INT(error.code, TREADLE_E_CLOSED);
    CHECK_INT(error.sequence, 3);
    CHECK_TEXT(error.message, "odd has failed");
    CHECK_INT(treadle_thread_join((treadle_thread)42, 0, NULL), TREADLE_E_NOT_SUPPORTED);
    must_tell("treadle_thread_join", 4, "1.0.0");
    CHECK_INT(treadle_last_error(NULL), TREADLE_E_ARG);
    CHECK_INT(treadle_version(), TREADLE_VERSION); /* the older one has none */
}

static void must_all_lead_there(void) {
    treadle_error_info error = TREADLE_INIT(treadle_error_info);
    CHECK(treadle_loop_current() == (treadle_loop)42);
    CHECK_INT(treadle_source_signal((treadle_source)7), 42);
    CHECK_INT(treadle_version(), 42);
    CHECK_INT(treadle_last_error(&error), TREADLE_OK);
    CHECK_INT(error.sequence, 0);
}

static int performed;
static void perform(treadle_source source, void *info) { (void)source, (void)info, performed++; }
static void must_be_the_runtime(void) {
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform};
    treadle_source source;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, 0, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(performed, 1);
    CHECK_INT(treadle_version(), TREADLE_VERSION);
}

/* --- This program again -------------------------------------------------------------------------- */

static const struct part {
    const char *name;
    void (*run)(void);
} parts[] = {
    {"double", must_have_been_early_with_a_double}, {"five", must_have_been_early_with_five},
    {"refuse", must_refuse_all}, {"older", must_lead_to_what_is_there}, {"newer", must_all_lead_there}, {"runtime", must_be_the_runtime},
};

static void run_again(const char *name, const char *library, const char *early_call) {
    static char options[] = "verify_asan_link_order=0:detect_leaks=0", preload[4096];
    int status = -1;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        const char *folder = getenv("TREADLE_TEST_COPIES");
        CHECK(folder || !library);
        snprintf(preload, sizeof preload, "%s/%s.so", folder, library);
        setenv("TREADLE_TEST_PART", name, 1);
        setenv("TREADLE_TEST_EARLY", early_call, 1);
        setenv("ASAN_OPTIONS", options, 1);
        if (library) setenv("LD_PRELOAD", preload, 1);
        alarm(60);
        execl("/proc/self/exe", "copies_odd_test", (char *)NULL);
        _exit(126);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (status != 0) check_failed(__FILE__, __LINE__, "%s with %s ended with %#x", name, library ? library : "none", status);
}
static int run_part(const char *name) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strcmp(parts[i].name, name) == 0) return parts[i].run(), 0;
    }
    return 125;
}

/* Ordinary Swift, which the other ways have inside, does not work before its own constructors, nor do the sanitizers. */
static bool has_constructors_of_others(void) {
    const char *way = getenv("TREADLE_TEST_WAY");
    return SANITIZER || (way && strcmp(way, "shared") != 0 && strcmp(way, "valgrind") != 0 && strcmp(way, "refused") != 0);
}
TEST(a_call_may_come_before_the_constructor, "ABI-8") {
    if (has_constructors_of_others()) return;
    run_again("double", NULL, "double");
    run_again("five", NULL, "five");
}
TEST(another_major_version_is_there_and_all_is_refused, "ABI-8") { run_again("refuse", "MAJOR", ""); }
TEST(a_call_before_the_constructor_is_refused_too, "ABI-8") {
    if (has_constructors_of_others()) return;
    run_again("refuse", "MAJOR", "five");
}
TEST(an_older_version_is_there_and_what_it_lacks_is_refused, "ABI-8") { run_again("older", "OLDER", ""); }
TEST(a_newer_version_is_there_and_is_called, "ABI-8") { run_again("newer", "NEWER", ""); }
TEST(a_copy_that_leads_to_another_is_no_runtime, "ABI-8") { run_again("runtime", "OTHER", ""); }
TEST(a_record_that_lies_is_none, "ABI-8") { run_again("runtime", "RECORD", ""); }
TEST(notes_that_lie_are_none, "ABI-8") {
    run_again("runtime", "NOTES1", "");
    run_again("runtime", "NOTES2", "");
    run_again("runtime", "NOTES3", "");
    run_again("runtime", "NOTES4", "");
}

int main(int count, char **arguments) {
    const char *part = getenv("TREADLE_TEST_PART");
    return part ? run_part(part) : test_main(count, arguments);
}
