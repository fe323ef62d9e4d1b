/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * last_resort_test.c: errors that nobody caught. */
#include "helpers.h"

/* What body writes to standard error; its length. */
static char written[8192];
static size_t capture(void (*body)(void *), void *info) {
    int ends[2], saved = dup(2);
    fflush(stderr);
    CHECK_INT(pipe(ends), 0);
    CHECK_INT(dup2(ends[1], 2), 2);
    close(ends[1]);
    body(info);
    CHECK_INT(dup2(saved, 2), 2); /* the pipe's last writer */
    close(saved);
    size_t length = 0;
    for (ssize_t size; (size = read(ends[0], written + length, sizeof written - 1 - length)) > 0;) length += (size_t)size;
    written[length] = 0;
    close(ends[0]);
    return length;
}

struct report {
    const char *kind, *message;
};
static void report(void *info) {
    const struct report *this = info;
    CHECK_INT(treadle_report_error(this->kind, this->message), TREADLE_IGNORED);
}
static void must_print(const char *kind, const char *message, const char *before, const char *behind) {
    char expected[8192];
    snprintf(expected, sizeof expected, "treadle: uncaught %s on thread %d%s\n", before, thread_id(), behind);
    capture(report, &(struct report){kind, message});
    CHECK_TEXT(written, expected);
}
TEST(the_default_prints_one_line, "THR-19") {
    errno = 77;
    must_print("C++ exception", "std::bad_alloc", "C++ exception", ": std::bad_alloc");
    CHECK_INT(errno, 77);
    must_print("kind", "", "kind", "");
    must_print("kind", NULL, "kind", "");
    must_print("", "message", "error", ": message");
    must_print(NULL, "message", "error", ": message");
    must_print(NULL, NULL, "error", "");
    must_print("zwölf", "gr\xc3\xbc\xc3\x9f dich", "zwölf", ": gr\xc3\xbc\xc3\x9f dich");
    /* What would end the line, or play with a terminal, does not. */
    must_print("a\nb", "first\r\nsecond\x1b[1m\tthird\x7f", "a b", ": first  second [1m third ");
}

static void *report_elsewhere(void *unused) {
    must_print("kind", "message", "kind", ": message");
    return unused;
}
TEST(the_default_names_the_thread, "THR-19") {
    on_thread(report_elsewhere, NULL);
    must_print("kind", "message", "kind", ": message");
}

TEST(a_long_message_is_cut, "THR-19") {
    static char message[100000];
    memset(message, 'x', sizeof message - 1);
    size_t length = capture(report, &(struct report){"kind", message});
    CHECK(length > 1000 && length <= 4096); /* one piece, also in a pipe */
    CHECK(written[length - 1] == '\n' && strchr(written, '\n') == written + length - 1);
    length = capture(report, &(struct report){message, message});
    CHECK(length > 1000 && length <= 4096 && written[length - 1] == '\n');
}

/* Lines of several threads do not mix. */
static void *report_often(void *letter) {
    char message[100];
    memset(message, *(char *)letter, sizeof message);
    message[99] = 0;
    for (int i = 0; i < 10; i++) CHECK_INT(treadle_report_error("kind", message), TREADLE_IGNORED);
    return NULL;
}
static void report_from_threads(void *letters) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK_INT(pthread_create(&threads[i], NULL, report_often, (char *)letters + i), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}
TEST(lines_of_threads_do_not_mix, "THR-19") {
    capture(report_from_threads, "abcd");
    int lines = 0;
    for (char *line = strtok(written, "\n"); line; line = strtok(NULL, "\n"), lines++) {
        char *message = strrchr(line, ' ') + 1;
        CHECK_INT(strlen(message), 99);
        CHECK_INT(strspn(message, (char[]){message[0], 0}), 99);
        CHECK(strncmp(line, "treadle: uncaught kind on thread ", 33) == 0);
    }
    CHECK_INT(lines, 40);
}

/* --- Handlers ------------------------------------------------------------------------------------- */

static bool answer = true;
static bool handle(treadle_thread thread, const char *kind, const char *message, void *info) {
    CHECK(thread && thread == treadle_thread_current());
    trace("%s/%s/%s", (const char *)info, kind, message);
    return answer;
}
static void destroy(void *info) { trace("-%s", (const char *)info); }
static void must_be_silent(const char *kind, const char *message, treadle_status expected);
struct call {
    struct report report;
    treadle_status expected;
};
static void report_as_expected(void *info) {
    const struct call *call = info;
    CHECK_INT(treadle_report_error(call->report.kind, call->report.message), call->expected);
}
static void must_be_silent(const char *kind, const char *message, treadle_status expected) {
    CHECK_INT(capture(report_as_expected, &(struct call){{kind, message}, expected}), 0);
}

TEST(a_language_may_ask_whether_there_is_a_handler, "THR-19") {
    CHECK(!treadle_has_last_resort());
    CHECK_INT(treadle_set_last_resort(handle, "h", NULL), TREADLE_OK);
    CHECK(treadle_has_last_resort());
    CHECK_INT(treadle_set_last_resort(NULL, NULL, NULL), TREADLE_OK);
    CHECK(!treadle_has_last_resort());
}

TEST(a_handler_decides, "THR-19") {
    CHECK_INT(treadle_set_last_resort(handle, "h", destroy), TREADLE_OK);
    must_be_silent("kind", "message", TREADLE_OK);
    CHECK_TRACE("h/kind/message");
    must_be_silent(NULL, NULL, TREADLE_OK); /* empty texts */
    CHECK_TRACE("h//");
    answer = false; /* it has not dealt with it, but it has been asked: nothing is printed */
    must_be_silent("kind", "message", TREADLE_IGNORED);
    CHECK_TRACE("h/kind/message");
    CHECK_INT(treadle_set_last_resort(NULL, NULL, NULL), TREADLE_OK);
    CHECK_TRACE("-h");
    must_print("kind", "message", "kind", ": message");
    CHECK_INT(treadle_set_last_resort(NULL, NULL, NULL), TREADLE_OK);
    CHECK_TRACE("");
}

TEST(a_handler_is_replaced, "THR-19") {
    CHECK_INT(treadle_set_last_resort(handle, "a", destroy), TREADLE_OK);
    CHECK_INT(treadle_set_last_resort(handle, "b", NULL), TREADLE_OK);
    CHECK_TRACE("-a");
    must_be_silent("k", "m", TREADLE_OK);
    CHECK_TRACE("b/k/m");
    /* The default too may come with something to give back. */
    CHECK_INT(treadle_set_last_resort(NULL, "default", destroy), TREADLE_OK);
    CHECK_TRACE("");
    must_print("kind", "message", "kind", ": message");
    CHECK_INT(treadle_set_last_resort(handle, "c", destroy), TREADLE_OK);
    CHECK_TRACE("-default");
    must_be_silent("k", "m", TREADLE_OK);
    CHECK_TRACE("c/k/m");
    CHECK_INT(treadle_set_last_resort(NULL, NULL, NULL), TREADLE_OK);
    CHECK_TRACE("-c");
}

/* Replaced by itself, and asked by itself: given back after its last call. */
static int depth;
static bool replace_itself(treadle_thread thread, const char *kind, const char *message, void *info) {
    (void)thread, (void)message;
    trace("%s%d", kind, depth);
    if (depth++ == 0) {
        CHECK_INT(treadle_report_error(kind, message), TREADLE_OK); /* itself again */
        CHECK_INT(treadle_set_last_resort(handle, "new", destroy), TREADLE_OK);
        CHECK_INT(treadle_report_error(kind, message), TREADLE_OK);
        trace("end%d", info == NULL);
    }
    return true;
}
TEST(a_handler_may_replace_itself, "THR-19 OBJ-7") {
    CHECK_INT(treadle_set_last_resort(replace_itself, "old", destroy), TREADLE_OK);
    must_be_silent("k", "m", TREADLE_OK);
    CHECK_TRACE("k0 k1 new/k/m end0 -old");
    CHECK_INT(treadle_set_last_resort(NULL, NULL, NULL), TREADLE_OK);
    CHECK_TRACE("-new");
}

static sem_t entered, leave;
static atomic_int destroyed;
static bool wait_inside(treadle_thread thread, const char *kind, const char *message, void *info) {
    (void)thread, (void)kind, (void)message, (void)info;
    sem_post(&entered);
    await(&leave);
    CHECK_INT(destroyed, 0);
    return true;
}
static void count_destroyed(void *info) { (void)info, atomic_fetch_add(&destroyed, 1); }
static void *report_and_wait(void *unused) {
    CHECK_INT(treadle_report_error("kind", "message"), TREADLE_OK);
    return unused;
}
TEST(a_handler_is_given_back_after_its_last_call, "THR-19 OBJ-3") {
    pthread_t threads[2];
    sem_init(&entered, 0, 0);
    sem_init(&leave, 0, 0);
    CHECK_INT(treadle_set_last_resort(wait_inside, NULL, count_destroyed), TREADLE_OK);
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&threads[i], NULL, report_and_wait, NULL), 0);
    for (int i = 0; i < 2; i++) await(&entered);
    CHECK_INT(treadle_set_last_resort(handle, "next", NULL), TREADLE_OK); /* does not wait */
    CHECK_INT(destroyed, 0);
    must_be_silent("k", "m", TREADLE_OK);
    CHECK_TRACE("next/k/m");
    for (int i = 0; i < 2; i++) sem_post(&leave);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    CHECK_INT(destroyed, 1);
}

/* Handlers come and go while others report: each is given back once, and not called after that. */
struct life {
    atomic_int ended;
};
static atomic_int lives, ends, over;
static bool live(treadle_thread thread, const char *kind, const char *message, void *info) {
    (void)thread, (void)kind, (void)message;
    CHECK_INT(atomic_load(&((struct life *)info)->ended), 0);
    return true;
}
static void end_life(void *info) {
    CHECK_INT(atomic_exchange(&((struct life *)info)->ended, 1), 0);
    atomic_fetch_add(&ends, 1);
    free(info);
}
static void set_life(void) {
    struct life *life = calloc(1, sizeof *life);
    atomic_fetch_add(&lives, 1);
    CHECK_INT(treadle_set_last_resort(live, life, end_life), TREADLE_OK);
}
static void *keep_reporting(void *unused) {
    while (!atomic_load(&over)) CHECK_INT(treadle_report_error("kind", "message"), TREADLE_OK);
    return unused;
}
TEST(handlers_are_replaced_while_errors_are_reported, "THR-19 OBJ-3 OBJ-6") {
    pthread_t threads[2];
    set_life();
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&threads[i], NULL, keep_reporting, NULL), 0);
    for (int i = scaled(10000); i > 0; i--) set_life();
    atomic_store(&over, 1);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    CHECK_INT(treadle_set_last_resort(NULL, NULL, NULL), TREADLE_OK);
    CHECK_INT(ends, lives);
}

TEST_MAIN()
