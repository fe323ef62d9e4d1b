/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * check.h: what a C test needs and no more. One file of tests is one program:
 *
 *     TEST(stop_wakes_a_sleeping_loop, "STOP-2 STOP-7") { ... CHECK(x == y); ... }
 *     TEST_MAIN()
 *
 * The string names the rules that the test proves; scripts/rules reads it. Each test runs in a
 * process of its own, so that loops, threads and crashes cannot leak into the next, under a
 * watchdog: a test waits for events, and only a broken one ever meets it.
 * Usage: program [-l] [-n TIMES] [NAME-PART]; TREADLE_TEST_SECONDS sets the watchdog (120), the longest time without progress. */
#ifndef TREADLE_CHECK_H
#define TREADLE_CHECK_H

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <treadle.h>

#include "refuse.h"

struct test {
    const char *name, *rules;
    void (*run)(void);
    struct test *next;
};
__attribute__((unused)) static struct test *tests, **tests_end = &tests; /* a plugin of the tests has none */

#define TEST(name, rules)                                                                     \
    static void test_##name(void);                                                            \
    static struct test entry_##name = {#name, rules, test_##name, NULL};                      \
    __attribute__((constructor)) static void add_##name(void) {                               \
        *tests_end = &entry_##name;                                                           \
        tests_end = &entry_##name.next;                                                       \
    }                                                                                         \
    static void test_##name(void)

__attribute__((noreturn, format(printf, 3, 4))) static void check_failed(const char *file, int line, const char *format, ...) {
    treadle_error_info info = {.struct_size = sizeof info};
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    treadle_last_error(&info);
    if (info.code) fprintf(stderr, " (last error: %s: %s in %s)", treadle_status_name(info.code), info.message, info.function);
    fputc('\n', stderr);
    fflush(stderr);
    _exit(1);
}

#define HELPER __attribute__((unused)) static

/* How the process of a test ends. A process whose threads have all ended does so with 0, so that is no sign that a test came to its
 * end: one that means to end its process before exits with PASSED. */
enum { SKIPPED = 77, PASSED = 78 };

/* Ends a test that cannot be here, with the reason: it has neither passed nor failed. */
__attribute__((unused)) static const char *current_test = "";
__attribute__((noreturn, format(printf, 1, 2), unused)) static void skip(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("skipped: %s: ", current_test);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    fflush(stdout);
    _exit(SKIPPED);
}

/* The watchdog bounds the time without progress, and not that of the whole test, which takes longer on a busy machine. Each
 * check that passes renews it, whichever thread it is on, for five times as long in all, lest a test checks in an endless loop.
 * So does progress(), for rounds without checks; await and await_sleep call it. */
static unsigned watchdog_seconds = 120;
static time_t watchdog_end;
HELPER void progress(void) {
    if (time(NULL) < watchdog_end) alarm(watchdog_seconds);
}
HELPER void check_passed(void) {
    static time_t renewed; /* relaxed, lest the thread sanitizer takes each check for an order of the threads */
    time_t now = time(NULL);
    if (now == __atomic_load_n(&renewed, __ATOMIC_RELAXED)) return;
    __atomic_store_n(&renewed, now, __ATOMIC_RELAXED);
    progress();
}
/* Whether rounds that meet each other by chance may go on: for a quarter of the watchdog's time and no longer, since a round
 * of several threads lasts for as long as the turns of all else that the machine does. */
HELPER bool rounds_go_on(void) {
    progress();
    return time(NULL) <= watchdog_end - 5 * (time_t)watchdog_seconds + (time_t)watchdog_seconds / 4;
}

#define CHECK(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) check_failed(__FILE__, __LINE__, "not true: %s", #condition);               \
        check_passed();                                                                               \
    } while (0)
#define CHECK_INT(value, expected)                                                                        \
    do {                                                                                                  \
        int64_t value_ = (int64_t)(value), expected_ = (int64_t)(expected);                               \
        if (value_ != expected_)                                                                          \
            check_failed(__FILE__, __LINE__, "%s is %" PRId64 ", not %" PRId64, #value, value_, expected_); \
        check_passed();                                                                                   \
    } while (0)
#define CHECK_TEXT(value, expected)                                                                            \
    do {                                                                                                       \
        const char *value_ = (value), *expected_ = (expected);                                                 \
        if (strcmp(value_, expected_) != 0)                                                                    \
            check_failed(__FILE__, __LINE__, "%s is\n  \"%s\", not\n  \"%s\"", #value, value_, expected_); \
    } while (0)
/* The call fails with this status, the last error has the same code, and its text contains `word`. */
#define CHECK_ERROR(call, status, word)                                                                             \
    do {                                                                                                            \
        treadle_error_info before_ = {.struct_size = sizeof before_}, after_ = before_;                             \
        treadle_last_error(&before_);                                                                               \
        CHECK_INT(call, status);                                                                                    \
        treadle_last_error(&after_);                                                                                \
        CHECK_INT(after_.code, status);                                                                             \
        CHECK(after_.sequence == before_.sequence + 1);                                                             \
        if (!strstr(after_.message, word))                                                                          \
            check_failed(__FILE__, __LINE__, "message \"%s\" does not contain \"%s\"", after_.message, (const char *)word); \
    } while (0)

/* The size that a struct of the library's states: the known one, or in scripts/check-growth that of another version. */
HELPER bool is_size(size_t stated, size_t known) {
    return stated == known || (getenv("TREADLE_TEST_GROWTH") && (stated == known + 8 || stated == known - 8));
}

/* How much tests repeat: TREADLE_TEST_SCALE, a number with a point whatever the locale; 1 when not set. */
static double test_scale = 1;

#define MICROSECONDS(n) ((int64_t)(n) * 1000)
#define MILLISECONDS(n) ((int64_t)(n) * 1000000)
#define SECONDS(n) ((int64_t)(n) * 1000000000)

/* A line of words that callbacks write and a test compares; not for two threads at a time. */
static char trace_text[65536];
__attribute__((format(printf, 1, 2), unused)) static void trace(const char *format, ...) {
    size_t used = strlen(trace_text);
    va_list arguments;
    va_start(arguments, format);
    if (used && used + 1 < sizeof trace_text) trace_text[used++] = ' ';
    vsnprintf(trace_text + used, sizeof trace_text - used, format, arguments);
    va_end(arguments);
}
__attribute__((unused)) static void trace_clear(void) { trace_text[0] = 0; }
#define CHECK_TRACE(expected)                \
    do {                                     \
        CHECK_TEXT(trace_text, expected);    \
        trace_clear();                       \
    } while (0)

/* A test that blocks SIGALRM on each of its threads is not ended by it, but here, some time later. */
static void await_end(pid_t child, unsigned seconds) {
    struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
    int found;
    if (end.fd < 0) return;
    while ((found = poll(&end, 1, (int)seconds * 1000)) < 0 && errno == EINTR) {}
    close(end.fd);
    if (found == 0) kill(child, SIGKILL);
}

static int test_one(const struct test *test, unsigned seconds) {
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return perror("fork"), 1;
    if (child == 0) {
        current_test = test->name;
        watchdog_seconds = seconds;
        watchdog_end = time(NULL) + 5 * (time_t)seconds;
        progress();
        refuse_as_asked();
        test->run();
        exit(PASSED); /* not _exit: leak checkers report at exit */
    }
    int status = 0;
    await_end(child, 7 * seconds);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (WIFEXITED(status) && (WEXITSTATUS(status) == PASSED || WEXITSTATUS(status) == SKIPPED)) return WEXITSTATUS(status);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        fprintf(stderr, "%s: no progress for %u s, or still running after %u s\n", test->name, seconds, 5 * seconds);
    else if (WIFSIGNALED(status)) fprintf(stderr, "%s: ended by signal %d\n", test->name, WTERMSIG(status));
    else if (WEXITSTATUS(status) == 0) fprintf(stderr, "%s: failed: its process ended before it\n", test->name);
    else fprintf(stderr, "%s: failed\n", test->name);
    return 1;
}

HELPER int test_main(int count, char **arguments) {
    const char *part = "", *limit = getenv("TREADLE_TEST_SECONDS"), *scale = getenv("TREADLE_TEST_SCALE");
    unsigned seconds = limit ? (unsigned)atoi(limit) : 120, passed = 0, failed = 0;
    int times = 1, list = 0;
    if (scale) test_scale = atof(scale);
    setlocale(LC_ALL, ""); /* as programs for people do */
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "-l") == 0) list = 1;
        else if (strcmp(arguments[i], "-n") == 0 && i + 1 < count) times = atoi(arguments[++i]);
        else part = arguments[i];
    }
    for (const struct test *test = tests; test; test = test->next) {
        if (!strstr(test->name, part)) continue;
        if (list) {
            printf("%s: %s\n", test->name, test->rules);
            continue;
        }
        for (int i = 0; i < times; i++) {
            int end = test_one(test, seconds);
            passed += end == PASSED, failed += end != PASSED && end != SKIPPED;
        }
    }
    if (!list) printf("%u passed, %u failed\n", passed, failed);
    return failed != 0;
}
#define TEST_MAIN() \
    int main(int count, char **arguments) { return test_main(count, arguments); }

#endif
