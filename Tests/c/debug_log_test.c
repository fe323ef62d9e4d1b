/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * debug_log_test.c: the messages for who debugs: which there are, where they go, and that each comes once. */
#include "probe.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#define MODE TREADLE_DEFAULT_MODE

/* In a program that runs with its owner's rights: refuses something, with the environment that its user gave. */
enum { NOT_PRIVILEGED = 3 };
static void run_privileged(void) {
    if (!getauxval(AT_SECURE)) _exit(NOT_PRIVILEGED);
    treadle_loop_current();
    treadle_source_signal(NULL);
    _exit(0);
}
__attribute__((constructor)) static void forget_environment(void) {
    if (getenv("PRIVILEGED")) run_privileged();
    unsetenv("TREADLE_DEBUG"), unsetenv("TREADLE_SLOW_MS");
}

/* What was told, line by line; other threads may tell too. */
static struct {
    pthread_mutex_t lock;
    char text[65536];
    int count;
    atomic_int destroyed; /* by whoever ends the last call, or replaces the function */
} told = {.lock = PTHREAD_MUTEX_INITIALIZER};
static void keep(const char *message, void *info) {
    CHECK(info == &told);
    pthread_mutex_lock(&told.lock);
    size_t length = strlen(told.text);
    snprintf(told.text + length, sizeof told.text - length, "%s\n", message);
    told.count++;
    pthread_mutex_unlock(&told.lock);
}
static void destroyed(void *info) {
    CHECK(info == &told);
    atomic_fetch_add(&told.destroyed, 1);
}
static void start(void) { CHECK_INT(treadle_set_log(keep, &told, destroyed), TREADLE_OK); }
static bool was_told(const char *words) { return strstr(told.text, words) != NULL; }

/* Runs something with standard error in a pipe; what was written there. */
static const char *stderr_of(void (*run)(void)) {
    static char text[8192];
    int ends[2], old = dup(STDERR_FILENO);
    ssize_t length = 0, more;
    CHECK_INT(pipe(ends), 0);
    CHECK(dup2(ends[1], STDERR_FILENO) >= 0);
    run();
    CHECK(dup2(old, STDERR_FILENO) >= 0);
    close(ends[1]), close(old);
    while ((more = read(ends[0], text + length, sizeof text - 1 - (size_t)length)) > 0) length += more;
    text[length] = 0;
    close(ends[0]);
    return text;
}

TEST(the_first_refusal_of_each_function_is_told, "OBJ-6") {
    start();
    treadle_error_info info = TREADLE_INIT(treadle_error_info);
    CHECK_INT(treadle_source_signal(NULL), TREADLE_E_ARG);
    CHECK(was_told("treadle_source_signal gave TREADLE_E_ARG: source is NULL\n"));
    CHECK_INT(treadle_last_error(&info), TREADLE_OK);
    CHECK_TEXT(info.function, "treadle_source_signal");
    CHECK_INT(treadle_source_signal(NULL), TREADLE_E_ARG);
    CHECK_INT(told.count, 1);
    CHECK(!treadle_is_valid(NULL));
    CHECK(was_told("treadle_is_valid gave TREADLE_E_ARG") && told.count == 2);
    treadle_signature signature;
    CHECK_INT(treadle_signature_parse("v?", &signature), TREADLE_E_SIGNATURE);
    CHECK(was_told("at offset 1"));
}

TEST(a_wait_that_took_too_long_is_no_refusal, "OBJ-6") {
    treadle_lock lock;
    treadle_condition condition;
    start();
    CHECK_INT(treadle_lock_create(0, &lock), TREADLE_OK);
    CHECK_INT(treadle_condition_create(&condition), TREADLE_OK);
    CHECK_INT(treadle_lock_lock(lock, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_condition_wait(condition, lock, 1), TREADLE_E_TIMEOUT);
    CHECK_INT(told.count, 0);
    CHECK_INT(treadle_lock_unlock(lock), TREADLE_OK);
    CHECK_INT(treadle_lock_release(lock), TREADLE_OK);
    CHECK_INT(treadle_condition_release(condition), TREADLE_OK);
}

TEST(a_run_that_finishes_at_once_is_told, "RUN-1 MODE-9") {
    treadle_loop loop = treadle_loop_current();
    treadle_source keeper = keep_mode("full");
    start();
    CHECK_INT(treadle_loop_run(loop, "fool", TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK(was_told("in mode \"fool\" finished at once: there is no such mode; not empty: \"full\"\n"));
    CHECK_INT(treadle_loop_run(loop, MODE, 0, 0), TREADLE_RUN_FINISHED);
    CHECK(was_told("in mode \"" MODE "\" finished at once: the mode is empty; not empty: \"full\"\n"));
    CHECK_INT(treadle_loop_run(loop, NULL, 0, 0), TREADLE_RUN_FINISHED);
    CHECK(was_told("in mode NULL finished at once"));
    for (int i = 0; i < 3; i++) CHECK_INT(treadle_loop_run(loop, "fool", 0, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(told.count, 3);
    CHECK_INT(treadle_loop_run(loop, "full", 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(discard(keeper), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(loop), TREADLE_RUN_FINISHED);
    CHECK_INT(told.count, 3);
}

static int failures;
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    (void)info;
    if (events & TREADLE_FAILED) failures++, treadle_descriptor_invalidate(descriptor);
}
TEST(a_descriptor_that_was_closed_is_told, "SRC1-8 PASS-10") {
    treadle_loop loop = treadle_loop_current();
    int ends[2];
    char words[64];
    treadle_descriptor descriptor;
    CHECK_INT(pipe(ends), 0);
    treadle_descriptor_context context = {.struct_size = sizeof context, .fd = ends[0], .events = TREADLE_READABLE, .ready = ready, .label = "wire"};
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, descriptor, MODE), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT); /* the mode watches it before anybody debugs */
    start();
    close(ends[0]);
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
    CHECK_INT(failures, 1);
    snprintf(words, sizeof words, ", fd %d, readable", ends[0]);
    CHECK(was_told("a descriptor was closed while it was watched: descriptor \"wire\"") && was_told(words));
    CHECK_INT(told.count, 1);
    CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
    close(ends[1]);
}

static void *leave_loop(void *unused) {
    (void)unused;
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    return loop;
}
TEST(an_addition_to_a_loop_without_its_thread_is_told, "RL-9") {
    treadle_loop loop = on_thread(leave_loop, NULL);
    treadle_source_context context = {.struct_size = sizeof context, .label = "late"};
    treadle_source source;
    start();
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, MODE), TREADLE_IGNORED);
    CHECK_INT(told.count, 0);
    for (int i = 0; i < 2; i++) CHECK_INT(treadle_loop_add(loop, source, MODE), TREADLE_IGNORED);
    CHECK(was_told("has ended, and an added item is never called") && was_told("source \"late\"") && told.count == 1);
    CHECK_INT(discard(source), TREADLE_OK);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
}

static void take_long(void) {
    int64_t end = treadle_time_now() + INT64_C(3000000);
    while (treadle_time_now() < end) {}
}
static void perform_slowly(treadle_source source, void *info) { (void)source, (void)info, take_long(); }
static void post_slowly(void *info) { (void)info, take_long(); }
static void perform_at_once(treadle_source source, void *info) { (void)source, (void)info; }

/* Signals both, runs them twice, and posts a slow block. */
static void run_slow_ones(void) {
    treadle_loop loop = treadle_loop_current();
    treadle_source_context slow = {.struct_size = sizeof slow, .label = "slow one", .perform = perform_slowly};
    treadle_source_context quick = {.struct_size = sizeof quick, .label = "quick one", .perform = perform_at_once};
    treadle_source sources[2];
    CHECK_INT(treadle_source_create(&slow, &sources[0]), TREADLE_OK);
    CHECK_INT(treadle_source_create(&quick, &sources[1]), TREADLE_OK);
    for (int i = 0; i < 2; i++) CHECK_INT(treadle_loop_add(loop, sources[i], MODE), TREADLE_OK);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2; i++) CHECK_INT(treadle_source_signal(sources[i]), TREADLE_OK);
        CHECK_INT(treadle_loop_post(loop, post_slowly, NULL), TREADLE_OK);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    }
    treadle_loop_counters counters = TREADLE_INIT(treadle_loop_counters);
    CHECK_INT(treadle_loop_get_counters(loop, &counters), TREADLE_OK);
    CHECK(counters.longest_ns >= INT64_C(3000000));
    CHECK(counters.longest_kind == TREADLE_EVENT_POST || counters.longest_item == sources[0]);
    char text[4096];
    size_t length;
    CHECK_INT(treadle_describe(sources[0], text, sizeof text, &length), TREADLE_OK);
    CHECK(strstr(text, ", called 2 times for "));
    for (int i = 0; i < 2; i++) CHECK_INT(discard(sources[i]), TREADLE_OK);
}
TEST(slow_callbacks_are_told, "OBJ-8") {
    setenv("TREADLE_SLOW_MS", "2.5", 1);
    start();
    run_slow_ones();
    CHECK(was_told("a callback took 0.0") && was_told("source \"slow one\"") && was_told("the block of function 0x"));
    CHECK_INT(told.count, 2 + was_told("quick one")); /* which may have lost the processor */
}
TEST(a_limit_alone_tells_of_slow_callbacks_alone, "OBJ-8") {
    setenv("TREADLE_SLOW_MS", "2.5", 1);
    const char *text = stderr_of(run_slow_ones);
    CHECK(strncmp(text, "treadle: a callback took ", 25) == 0 && strstr(text, "source \"slow one\""));
    CHECK_INT(treadle_source_signal(NULL), TREADLE_E_ARG);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), "unknown", 0, 0), TREADLE_RUN_FINISHED);
}

static void refuse_two(void) {
    CHECK_INT(treadle_source_signal(NULL), TREADLE_E_ARG);
    CHECK_INT(treadle_retain(NULL), TREADLE_E_ARG);
    CHECK_INT(treadle_retain(NULL), TREADLE_E_ARG);
}
TEST(the_environment_has_them_written_to_standard_error, "OBJ-6") {
    setenv("TREADLE_DEBUG", "1", 1);
    treadle_loop_current();
    CHECK_TEXT(stderr_of(refuse_two), "treadle: treadle_source_signal gave TREADLE_E_ARG: source is NULL\n"
                                      "treadle: treadle_retain gave TREADLE_E_ARG: object is NULL\n");
}
static void run_copy(void) {
    char folder[] = "/tmp/treadle-privileged-XXXXXX", text[256];
    CHECK(mkdtemp(folder) && chmod(folder, 0755) == 0);
    snprintf(text, sizeof text, "cp /proc/%d/exe '%s/copy' && chown 12345 '%s/copy' && chmod 4755 '%s/copy'", getpid(), folder, folder, folder);
    CHECK_INT(system(text), 0);
    snprintf(text, sizeof text, "PRIVILEGED=1 TREADLE_DEBUG=1 '%s/copy'", folder);
    int status = system(text);
    /* The file system may not allow it; then there is nothing to be seen. */
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == NOT_PRIVILEGED));
    snprintf(text, sizeof text, "rm -rf '%s'", folder);
    CHECK_INT(system(text), 0);
}
/* Whether the copy's user may read the library, wherever the sources are. */
static bool is_library_open(void) {
    Dl_info library = {0};
    int status = 0;
    CHECK(dladdr((void *)(uintptr_t)treadle_version, &library) && library.dli_fname);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(setgid(12345) || setuid(12345) || access(library.dli_fname, R_OK));
    CHECK_INT(waitpid(child, &status, 0), child);
    return status == 0;
}
TEST(a_program_with_more_rights_than_its_user_does_not_read_the_environment, "OBJ-6") {
    /* Only root can make such a program. */
    if (geteuid() == 0 && is_library_open()) CHECK_TEXT(stderr_of(run_copy), "");
}
TEST(nothing_is_told_unless_asked_for, "OBJ-6") {
    treadle_loop_counters counters = TREADLE_INIT(treadle_loop_counters);
    treadle_loop_current();
    CHECK_TEXT(stderr_of(refuse_two), "");
    treadle_source source = make_source(perform_slowly, NULL);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), source, MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_loop_get_counters(treadle_loop_current(), &counters), TREADLE_OK);
    CHECK(counters.longest_ns == 0 && !counters.longest_item && counters.longest_kind == 0);
    CHECK_INT(discard(source), TREADLE_OK);
}

TEST(a_log_function_is_replaced_and_given_back, "THR-19") {
    start();
    CHECK_INT(treadle_source_signal(NULL), TREADLE_E_ARG);
    start();
    CHECK_INT(told.destroyed, 1);
    CHECK_INT(treadle_retain(NULL), TREADLE_E_ARG);
    CHECK_INT(told.count, 2);
    CHECK_INT(treadle_set_log(NULL, NULL, NULL), TREADLE_OK);
    CHECK_INT(told.destroyed, 2);
    CHECK_INT(treadle_release(NULL), TREADLE_E_ARG);
    CHECK_INT(told.count, 2);
}

/* A log function may do everything; what is told inside of it is dropped. */
static void call_back(const char *message, void *info) {
    treadle_error_info error = TREADLE_INIT(treadle_error_info);
    ++*(int *)info;
    CHECK(*message && strchr(message, '\n') == NULL);
    CHECK_INT(treadle_invalidate(NULL), TREADLE_E_ARG);
    CHECK_INT(treadle_last_error(&error), TREADLE_OK);
    CHECK_TEXT(error.function, "treadle_invalidate");
    CHECK_INT(treadle_set_log(call_back, info, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), "unknown", 0, 0), TREADLE_RUN_FINISHED);
}
TEST(a_log_function_may_do_everything, "OBJ-7") {
    int count = 0;
    treadle_error_info error = TREADLE_INIT(treadle_error_info);
    CHECK_INT(treadle_set_log(call_back, &count, NULL), TREADLE_OK);
    CHECK_INT(treadle_source_signal(NULL), TREADLE_E_ARG);
    CHECK_INT(count, 1);
    CHECK_INT(treadle_last_error(&error), TREADLE_OK);
    CHECK_TEXT(error.function, "treadle_source_signal"); /* and not that of the log function's own failures */
    CHECK_INT(treadle_set_log(NULL, NULL, NULL), TREADLE_OK);
}

TEST(the_child_of_a_fork_has_the_default, "RL-11") {
    start();
    pid_t child = fork();
    if (child == 0) {
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        CHECK_TEXT(stderr_of(refuse_two), "");
        _exit(told.count == 0 ? 0 : 1);
    }
    int status = 0;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK_INT(status, 0);
    CHECK_INT(treadle_source_signal(NULL), TREADLE_E_ARG);
    CHECK_INT(told.count, 1);
}

/* Setting the function while other threads tell, and sleep. */
static atomic_bool is_over;
static void *refuse_all(void *unused) {
    (void)unused;
    while (!atomic_load(&is_over)) {
        CHECK_INT(treadle_timer_fire(NULL), TREADLE_E_ARG);
        CHECK_INT(treadle_retain(NULL), TREADLE_E_ARG);
    }
    return NULL;
}
TEST(the_function_is_set_while_others_tell, "OBJ-7") {
    struct worker worker;
    pthread_t other;
    worker_start(&worker);
    CHECK_INT(pthread_create(&other, NULL, refuse_all, NULL), 0);
    for (int i = 0; i < scaled(300); i++) {
        start();
        CHECK_INT(treadle_loop_wake(worker.loop), TREADLE_OK);
        CHECK_INT(treadle_set_log(NULL, NULL, NULL), TREADLE_OK);
    }
    atomic_store(&is_over, true);
    CHECK_INT(pthread_join(other, NULL), 0);
    CHECK_INT(told.destroyed, scaled(300));
    worker_stop(&worker);
}

static void await_told(const char *words) {
    while (true) {
        pthread_mutex_lock(&told.lock);
        bool is_told = was_told(words);
        pthread_mutex_unlock(&told.lock);
        if (is_told) return;
        sched_yield();
    }
}
static treadle_source labelled(treadle_loop loop, const char *label, treadle_perform_fn perform, void *info, const char *mode) {
    treadle_source_context context = {.struct_size = sizeof context, .perform = perform, .info = info, .label = label};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, source, mode), TREADLE_OK);
    return source;
}

/* The classic mistake, of a source in one mode and of one in several. */
TEST(a_signal_that_wakes_nobody_is_told, "RL-15 SRC0-13") {
    struct worker worker;
    char words[128];
    start();
    worker_start(&worker);
    treadle_source woken = labelled(worker.loop, "woken", NULL, NULL, MODE), quiet = labelled(worker.loop, "quiet", NULL, NULL, MODE),
                   common = labelled(worker.loop, "common", NULL, NULL, TREADLE_COMMON_MODES),
                   elsewhere = labelled(worker.loop, "elsewhere", NULL, NULL, "another mode");
    worker_await_sleep(&worker);
    CHECK_INT(treadle_source_signal(elsewhere), TREADLE_OK);
    CHECK_INT(treadle_source_signal(woken), TREADLE_OK);
    CHECK_INT(treadle_loop_wake(worker.loop), TREADLE_OK);
    while (treadle_source_is_signalled(woken)) sched_yield();
    treadle_source quiet_ones[] = {quiet, common};
    const char *const names[] = {"quiet", "common"};
    for (int i = 0; i < 2; i++) {
        worker_await_sleep(&worker);
        CHECK_INT(treadle_source_signal(quiet_ones[i]), TREADLE_OK);
        snprintf(words, sizeof words, "source \"%s\" 0x%016" PRIxPTR " was signalled by thread %d", names[i], (uintptr_t)quiet_ones[i], thread_id());
        await_told(words);
        CHECK_INT(treadle_source_signal_and_wake(quiet_ones[i]), TREADLE_OK);
        while (treadle_source_is_signalled(quiet_ones[i])) sched_yield();
    }
    snprintf(words, sizeof words, ": the loop of thread %d", worker.thread_id);
    CHECK(was_told(" while its loop sleeps, and nothing has woken it for ") && was_told(words));
    CHECK(!was_told("\"woken\"") && !was_told("\"elsewhere\""));
    treadle_source all[] = {woken, quiet, common, elsewhere};
    for (int i = 0; i < 4; i++) CHECK_INT(treadle_invalidate(all[i]), TREADLE_OK);
    worker_stop(&worker);
    for (int i = 0; i < 4; i++) CHECK_INT(treadle_release(all[i]), TREADLE_OK);
}

/* The same of posts, as CFRunLoopPerformBlock makes them. */
static void do_nothing(void *none) { (void)none; }
TEST(a_post_that_wakes_nobody_is_told, "RL-15 BLK-2") {
    struct worker worker;
    char words[128];
    start();
    worker_start(&worker);
    const char *const modes[] = {"another mode", MODE};
    treadle_post post = {.struct_size = sizeof post, .fn = do_nothing, .mode_count = 1, .flags = TREADLE_POST_WITHOUT_WAKE};
    for (int i = 0; i < 2; i++) {
        worker_await_sleep(&worker);
        post.modes = &modes[i];
        CHECK_INT(treadle_loop_post_in(worker.loop, &post), TREADLE_OK);
    }
    snprintf(words, sizeof words, "a function was posted by thread %d", thread_id());
    await_told(words);
    snprintf(words, sizeof words, "(treadle_loop_wake does): the loop of thread %d", worker.thread_id);
    CHECK(was_told(words));
    worker_stop(&worker);
}

static void post_again(void *words) {
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(was_told(words) ? treadle_loop_stop(loop) : treadle_loop_post(loop, post_again, words), TREADLE_OK);
}
static void signal_again(treadle_source source, void *words) {
    CHECK_INT(was_told(words) ? treadle_loop_stop(treadle_loop_current()) : treadle_source_signal_and_wake(source), TREADLE_OK);
}
static void *spin_by_signals(void *words) {
    treadle_source source = labelled(treadle_loop_current(), "wheel", signal_again, words, MODE);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(discard(source), TREADLE_OK);
    return NULL;
}
TEST(a_loop_that_keeps_itself_awake_is_told, "RL-15 PASS-1") {
    char words[128];
    start();
    snprintf(words, sizeof words, "the loop of thread %d", thread_id());
    treadle_source item = labelled(treadle_loop_current(), "item", NULL, NULL, MODE);
    CHECK_INT(treadle_loop_post(treadle_loop_current(), post_again, (void *)"passes, kept awake by a post of function 0x"), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK(was_told(words) && told.count == 1);
    on_thread(spin_by_signals, (void *)"passes, kept awake by source \"wheel\" 0x");
    CHECK_INT(told.count, 2);
    CHECK_INT(discard(item), TREADLE_OK);
}

TEST_MAIN()
