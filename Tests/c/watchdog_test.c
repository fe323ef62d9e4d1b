/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * watchdog_test.c: TREADLE_WATCHDOG_MS has a callback that runs for too long told of while it runs, with its thread's stack. */
#include "helpers.h"

#define MODE TREADLE_DEFAULT_MODE

static bool is_guarded = true;
static void guard(void) { CHECK_INT(is_guarded ? setenv("TREADLE_WATCHDOG_MS", "5", 1) : unsetenv("TREADLE_WATCHDOG_MS"), 0); }

/* What was told, by whatever thread. A line that has the words that are waited for ends the wait. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t came;
    char text[65536];
} told = {.lock = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER};
static void keep(const char *message, void *info) {
    (void)info;
    CHECK(*message && !strchr(message, '\n'));
    pthread_mutex_lock(&told.lock);
    size_t length = strlen(told.text);
    snprintf(told.text + length, sizeof told.text - length, "%s\n", message);
    pthread_cond_broadcast(&told.came);
    pthread_mutex_unlock(&told.lock);
}
static void await_words(const char *words) {
    pthread_mutex_lock(&told.lock);
    while (!strstr(told.text, words)) pthread_cond_wait(&told.came, &told.lock);
    pthread_mutex_unlock(&told.lock);
}
static bool was_told(const char *words) {
    pthread_mutex_lock(&told.lock);
    bool is_there = strstr(told.text, words) != NULL;
    pthread_mutex_unlock(&told.lock);
    return is_there;
}
static int count(const char *words) {
    int found = 0;
    pthread_mutex_lock(&told.lock);
    for (const char *at = told.text; (at = strstr(at, words)); at++) found++;
    pthread_mutex_unlock(&told.lock);
    return found;
}
/* Whether an address between two was told as one of a stack. */
static bool has_frame_in(uintptr_t from, uintptr_t to) {
    bool is_there = false;
    pthread_mutex_lock(&told.lock);
    for (const char *at = told.text; !is_there && (at = strstr(at, " #")); at++) {
        uintptr_t address = 0;
        if (sscanf(at, " #%*d 0x%" SCNxPTR, &address) == 1) is_there = address >= from && address <= to;
    }
    pthread_mutex_unlock(&told.lock);
    return is_there;
}

/* As a sanitizer has one, which must not be called in a signal's handler: the stacks that the tests see are libc's. */
#if !THREAD_SANITIZER && !ADDRESS_SANITIZER
int backtrace(void **frames, int room);
int backtrace(void **frames, int room) {
    (void)frames, (void)room;
    check_failed(__FILE__, __LINE__, "the program's own backtrace was called");
}
#endif

/* Callbacks wait for what is told of them, or spin. */
static __attribute__((noinline)) void perform_until_told(treadle_source source, void *words) {
    (void)source;
    await_words(words);
}
static __attribute__((noinline)) void post_until_told(void *words) { await_words(words); }
static atomic_bool may_go;
static __attribute__((noinline)) void spin(void *info) {
    (void)info;
    while (!atomic_load(&may_go)) {}
}

static treadle_source stuck_source(const char *label, const char *words) {
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform_until_told, .info = (void *)words, .label = label};
    treadle_source source;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, MODE), TREADLE_OK);
    return source;
}
static void perform(treadle_source source) {
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK(poll_mode(MODE) >= 0);
}

TEST(a_callback_is_told_of_while_it_runs, "RL-14") {
    char words[128];
    guard();
    CHECK_INT(treadle_set_log(keep, NULL, NULL), TREADLE_OK);
    treadle_thread_set_name(treadle_thread_current(), "printer");
    treadle_source source = stuck_source("bell", "\"bell\"");
    perform(source);
    snprintf(words, sizeof words, ": source \"bell\" 0x%016" PRIxPTR " on the loop of thread %d \"printer\"\n",
             (uintptr_t)source, thread_id());
    CHECK(was_told(words) && was_told("a callback has not returned for "));
    CHECK_INT(discard(source), TREADLE_OK);
}

TEST(the_stack_of_its_thread_is_told, "RL-14") {
    char words[64];
    guard();
    snprintf(words, sizeof words, "thread %d #0 0x", thread_id());
    CHECK_INT(treadle_set_log(keep, NULL, NULL), TREADLE_OK);
    /* It waits until its own frame was told. */
    CHECK_INT(treadle_loop_post(treadle_loop_current(), post_until_told, words), TREADLE_OK);
    CHECK(poll_mode(MODE) >= 0);
    /* The caller's caller is told behind it. */
    treadle_source source = stuck_source("second", "\"second\"");
    perform(source);
    await_words("\"second\"");
    CHECK(has_frame_in((uintptr_t)post_until_told, (uintptr_t)post_until_told + 4096));
    CHECK_INT(discard(source), TREADLE_OK);
}

TEST(a_callback_that_spins_is_told_of_with_its_stack, "RL-14") {
    treadle_thread worker;
    guard();
    /* The sanitizer for threads holds signals back from who makes no call. */
    if (THREAD_SANITIZER) return;
    CHECK_INT(treadle_set_log(keep, NULL, NULL), TREADLE_OK);
    treadle_post post = {.struct_size = sizeof post, .fn = spin, .label = "wheel"};
    treadle_thread_config config = {.struct_size = sizeof config};
    CHECK_INT(treadle_thread_create(&config, &worker), TREADLE_OK);
    CHECK_INT(treadle_thread_start_and_wait(worker, TREADLE_FOREVER), TREADLE_OK);
    treadle_loop loop;
    CHECK_INT(treadle_thread_copy_loop(worker, &loop), TREADLE_OK);
    CHECK_INT(treadle_loop_post_in(loop, &post), TREADLE_OK);
    await_words(": post \"wheel\" on the loop of thread ");
    while (!has_frame_in((uintptr_t)spin, (uintptr_t)spin + 256)) sched_yield();
    atomic_store(&may_go, true);
    CHECK_INT(treadle_thread_stop_and_join(worker, TREADLE_FOREVER, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(treadle_thread_release(worker), TREADLE_OK);
}

/* The second time is seen, since one that began later is told of, and not told. */
static void *run_second(void *info) {
    (void)info;
    treadle_source source = stuck_source("later", "\"later\"");
    perform(source);
    CHECK_INT(discard(source), TREADLE_OK);
    return NULL;
}
static void wait_for_second(treadle_source source, void *info) {
    (void)source;
    if (++*(int *)info == 1) return await_words("\"again\"");
    on_thread(run_second, NULL);
}
TEST(each_callback_is_told_of_once, "RL-14") {
    int times = 0;
    guard();
    CHECK_INT(treadle_set_log(keep, NULL, NULL), TREADLE_OK);
    treadle_source_context context = {.struct_size = sizeof context, .perform = wait_for_second, .info = &times, .label = "again"};
    treadle_source source;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, MODE), TREADLE_OK);
    perform(source);
    perform(source);
    CHECK_INT(times, 2);
    CHECK_INT(count("source \"again\""), 1);
    CHECK_INT(count("source \"later\""), 1);
    CHECK_INT(discard(source), TREADLE_OK);
}

TEST(a_thread_that_takes_no_signal_is_told_of_without_its_stack, "RL-14") {
    guard();
    /* The sanitizer for threads takes signals itself, and hands them on later. */
    if (THREAD_SANITIZER) return;
    CHECK_INT(treadle_set_log(keep, NULL, NULL), TREADLE_OK);
    char words[64];
    snprintf(words, sizeof words, "thread %d does not tell its stack: it takes no signals\n", thread_id());
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform_until_told, .info = words, .label = "deaf"};
    treadle_source source;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, MODE), TREADLE_OK);
    /* Before the callback begins: on a busy machine it may be late before it does anything. */
    sigset_t all, own;
    sigfillset(&all);
    CHECK_INT(pthread_sigmask(SIG_BLOCK, &all, &own), 0);
    perform(source);
    CHECK_INT(pthread_sigmask(SIG_SETMASK, &own, NULL), 0);
    /* The callback comes first: a process that ends meanwhile has said so much. */
    CHECK(was_told("source \"deaf\"") && !was_told(" #0 ") && strstr(told.text, "\"deaf\"") < strstr(told.text, words));
    CHECK_INT(discard(source), TREADLE_OK);
}

/* The frames of the library, which have no names, are one line: no two lines of them follow each other. */
TEST(nameless_frames_of_the_library_are_one_line, "RL-14") {
    char words[64];
    guard();
    snprintf(words, sizeof words, "thread %d #0 ", thread_id());
    CHECK_INT(treadle_set_log(keep, NULL, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_post(treadle_loop_current(), post_until_told, words), TREADLE_OK);
    CHECK(poll_mode(MODE) >= 0);
    treadle_source source = stuck_source("behind it", "\"behind it\"");
    perform(source);
    await_words("\"behind it\"");
    bool was_nameless = false;
    pthread_mutex_lock(&told.lock);
    for (char *line = strtok(told.text, "\n"); line; line = strtok(NULL, "\n")) {
        bool is_nameless = strstr(line, " in libtreadle.so") || strstr(line, "(libtreadle.so");
        CHECK(!is_nameless || !was_nameless);
        was_nameless = is_nameless;
    }
    pthread_mutex_unlock(&told.lock);
    CHECK_INT(discard(source), TREADLE_OK);
}

/* The thread of the watchdog is there from the first callback that is timed on, while any loop has its thread. It gives itself a
 * name, by which it is told from a sanitizer's threads. */
static int count_watchdogs(void) {
    DIR *tasks = opendir("/proc/self/task");
    int found = 0;
    CHECK(tasks);
    for (struct dirent *entry; (entry = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(name, sizeof name, file)) found += strcmp(name, "treadle-watch\n") == 0;
        if (file) fclose(file);
    }
    closedir(tasks);
    return found;
}
static void run_once(void) {
    treadle_source source = make_source(NULL, NULL);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, MODE), TREADLE_OK);
    perform(source);
    CHECK_INT(discard(source), TREADLE_OK);
}
static void *run_watched(void *info) {
    run_once();
    while (count_watchdogs() != 1) sched_yield();
    return info;
}
static void *run_unwatched(void *threads) {
    run_once();
    *(int *)threads = count_threads();
    return NULL;
}
TEST(its_thread_is_there_while_a_loop_is, "RL-14") {
    guard();
    for (int i = 0; i < 2; i++) {
        on_thread(run_watched, NULL);
        while (count_watchdogs() != 0) sched_yield();
    }
}
TEST(nobody_has_it_who_does_not_ask, "RL-14") {
    int threads = 0, before = count_threads();
    is_guarded = false;
    guard();
    CHECK_INT(treadle_set_log(keep, NULL, NULL), TREADLE_OK);
    on_thread(run_unwatched, &threads);
    CHECK(THREAD_SANITIZER || threads == before + 1);
    CHECK_INT(count_watchdogs(), 0);
    CHECK_TEXT(told.text, "");
}

/* A log function may look at what is stuck: no lock is held. */
static treadle_loop stuck_loop;
static void describe_stuck(const char *message, void *info) {
    static char text[65536];
    size_t length;
    if (strstr(message, "\"bell\"")) {
        CHECK_INT(treadle_describe(stuck_loop, text, sizeof text, &length), TREADLE_OK);
        CHECK(strstr(text, "\n  runs source \"bell\" 0x") && !strstr(text, "at most"));
    }
    keep(message, info);
}
TEST(the_log_function_may_describe_the_loop, "RL-13 RL-14 OBJ-7") {
    guard();
    CHECK_INT(treadle_set_log(describe_stuck, NULL, NULL), TREADLE_OK);
    stuck_loop = treadle_loop_current();
    treadle_source source = stuck_source("bell", "\"bell\"");
    perform(source);
    CHECK_INT(discard(source), TREADLE_OK);
}

TEST(the_child_of_a_fork_has_its_own, "RL-11 RL-14") {
    guard();
    /* The sanitizer for threads starts none in the child of a process with several. */
    if (THREAD_SANITIZER) return;
    CHECK_INT(treadle_set_log(keep, NULL, NULL), TREADLE_OK);
    treadle_source source = stuck_source("parent", "\"parent\"");
    perform(source);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        CHECK_INT(treadle_set_log(keep, NULL, NULL), TREADLE_OK);
        perform(stuck_source("child", "source \"child\""));
        _exit(was_told("a callback has not returned for ") ? 0 : 1);
    }
    int status = 0;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    CHECK_INT(discard(source), TREADLE_OK);
}

TEST_MAIN()
