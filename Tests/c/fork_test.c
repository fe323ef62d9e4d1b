/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * fork_test.c: the child of a process that uses Treadle. (The harness forks before a test uses it,
 * which makes no such child.) */
#include "all_calls.h"
#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE

/* The thread sanitizer otherwise ends a child that makes threads. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }

/* Runs body(info) in a child and gives its exit code; 0 if it just returned. */
static int in_child(void (*body)(void *), void *info) {
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60); /* the watchdog is not inherited */
        body(info);
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (WIFSIGNALED(status)) check_failed(__FILE__, __LINE__, "the child was ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static void call_everything(void *info) {
    struct handles *h = info;
    treadle_error_info error = TREADLE_INIT(treadle_error_info);
    for (int i = 0; i < CALL_COUNT; i++) {
        if (strcmp(calls[i].name, "treadle_after_fork_child") == 0) continue;
        memset(&h->out, 0xa5, sizeof h->out);
        int64_t result = calls[i].call(h);
        if (calls[i].result == '-') continue;
        treadle_last_error(&error);
        if (result != (returns_status(&calls[i]) ? TREADLE_E_FORKED : 0))
            check_failed(__FILE__, __LINE__, "%s gave %s in the child", calls[i].name, treadle_status_name((treadle_status)result));
        if (calls[i].result == 'b' || calls[i].result == 'q') continue;
        CHECK_INT(error.code, TREADLE_E_FORKED);
        CHECK_TEXT(error.function, function_of(&calls[i]));
        CHECK(strstr(error.message, "fork"));
    }
}
static void begin(struct handles *h) {
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = call_dispatch};
    memset(h, 0, sizeof *h);
    handles_make(h, treadle_loop_current(), MODE);
    CHECK_INT(treadle_host_register(&config, (treadle_host *)&h->of[HOST]), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(h->of[LOOP], h->of[SOURCE], MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(h->of[LOOP], h->of[TIMER], MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_observer(h->of[LOOP], h->of[OBSERVER], MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(h->of[LOOP], h->of[DESCRIPTOR], MODE), TREADLE_OK);
}
TEST(every_function_fails_in_the_child, "RL-11 ABI-5") {
    struct handles h;
    begin(&h);
    CHECK_INT(in_child(call_everything, &h), 0);
    CHECK_INT(treadle_after_fork_child(), TREADLE_IGNORED); /* this is no child */
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    handles_end(&h);
}

/* Blocks and routines that are refused are destroyed, so that a client's memory does not leak. */
static int destroyed;
static void count_destroyed(void *info) { (void)info, destroyed++; }
static void refused_in_child(void *loop) {
    treadle_post block = {.struct_size = sizeof block, .fn = call_nothing, .destroy = count_destroyed};
    treadle_routine_config config = {.struct_size = sizeof config, .code = (void (*)(void))call_nothing, .signature = "v", .destroy = count_destroyed};
    treadle_routine routine = (void *)1;
    CHECK_INT(post_block(loop, &block), TREADLE_E_FORKED);
    CHECK_INT(destroyed, 1);
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_E_FORKED);
    CHECK_INT(destroyed, 2);
    CHECK(routine == NULL);
    treadle_invocation_config invoked = {.struct_size = sizeof invoked, .code = (void (*)(void))call_nothing, .signature = "v", .destroy = count_destroyed};
    treadle_invocation invocation = (void *)1;
    CHECK_INT(treadle_invocation_create(&invoked, &invocation), TREADLE_E_FORKED);
    CHECK_INT(destroyed, 3);
    CHECK(invocation == NULL);
}
TEST(what_the_child_offers_is_destroyed, "RL-11 BLK-1") {
    CHECK_INT(in_child(refused_in_child, treadle_loop_current()), 0);
}

/* A whole small program: threads, timers, descriptors, sources, posts. */
static void signal_source(void *source) { treadle_source_signal(source); }
static void use_everything(void) {
    treadle_loop loop = treadle_loop_current();
    CHECK(loop && treadle_loop_main() == loop);
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        treadle_source keeper = keep_mode(MODE);
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->add(loop, probe.item, MODE), TREADLE_OK);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(probe.calls, 1);
        probe_end(&probe);
        treadle_source_invalidate(keeper);
        treadle_source_release(keeper);
    }
    struct worker worker;
    struct probe probe = {0};
    worker_start(&worker);
    worker_await_sleep(&worker);
    probe_make(&probe, &source_kind);
    CHECK_INT(treadle_loop_add_source(loop, probe.item, MODE), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_loop_post(worker.loop, signal_source, probe.item), TREADLE_OK);
    while (!treadle_source_is_signalled(probe.item)) sched_yield();
    CHECK_INT(treadle_loop_run(loop, MODE, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE), TREADLE_RUN_HANDLED_SOURCE);
    CHECK_INT(probe.calls, 2);
    probe_end(&probe);
    worker_stop(&worker);
}

/* What the parent had is gone here. */
static void must_be_stale(struct handles *h) {
    for (int kind = 0; kind < HANDLE_KINDS; kind++) {
        if (kind == SIGNATURE) continue; /* interned: made again on request */
        for (int i = 0; i < CALL_COUNT; i++)
            if (calls[i].uses == U(kind) && returns_status(&calls[i]) && strstr(calls[i].name, handle_names[kind]))
                CHECK_INT(calls[i].call(h), TREADLE_E_STALE);
    }
}
static void start_again(void *info) {
    struct handles mine, *h = info;
    CHECK_INT(treadle_loop_wake(h->of[LOOP]), TREADLE_E_FORKED);
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    CHECK_INT(treadle_after_fork_child(), TREADLE_IGNORED);
    must_be_stale(h);
    begin(&mine); /* the child's objects do not answer for the parent's */
    for (int kind = 0; kind < HANDLE_KINDS; kind++) CHECK(kind == SIGNATURE || mine.of[kind] != h->of[kind]);
    must_be_stale(h);
    handles_end(&mine);
    use_everything();
    must_be_stale(h);
    treadle_signature signature;
    treadle_host host;
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = call_dispatch};
    CHECK_INT(treadle_signature_parse("v^v", &signature), TREADLE_OK);
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
}
TEST(the_child_can_start_again, "RL-11 ABI-5") {
    struct handles h;
    begin(&h);
    CHECK_INT(in_child(start_again, &h), 0);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    handles_end(&h);
    use_everything();
}

static void fork_again(void *info) {
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    use_everything();
    if (!info) return;
    treadle_loop loop = treadle_loop_current();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        CHECK(treadle_loop_current() == NULL);
        CHECK_INT(treadle_loop_wake(loop), TREADLE_E_FORKED);
        fork_again(NULL);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
    use_everything();
}
TEST(a_child_of_the_child, "RL-11") {
    use_everything();
    CHECK_INT(in_child(fork_again, ""), 0);
}

/* The parent's worker sleeps with a descriptor in its kernel set while the child does what it can. */
static struct worker sleeper;
static struct probe watched;
static void disturb(void *info) {
    struct handles *h = info;
    h->of[LOOP] = sleeper.loop;
    h->of[DESCRIPTOR] = watched.item;
    call_everything(h);
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    treadle_loop_wake(sleeper.loop);
    treadle_loop_post(sleeper.loop, call_nothing, NULL);
    treadle_descriptor_invalidate(watched.item);
    treadle_loop_remove_descriptor(sleeper.loop, watched.item, MODE);
    /* The number is free to be watched by a loop of the child, and closed. */
    treadle_descriptor mine = make_descriptor(NULL, NULL, watched.fd, TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), mine, MODE), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    treadle_descriptor_invalidate(mine);
    treadle_descriptor_release(mine);
    use_everything();
    close(watched.fd);
    exit(0);
}
static void drain_and_tell(struct probe *probe) {
    uint64_t value;
    CHECK_INT(read(probe->fd, &value, sizeof value), sizeof value);
    sem_post(probe->user);
}
static void tell(void *info) { sem_post(info); }
TEST(the_parent_is_not_disturbed, "RL-11") {
    struct handles h;
    sem_t called;
    uint64_t one = 1;
    begin(&h);
    sem_init(&called, 0, 0);
    worker_start(&sleeper);
    watched.on_call = drain_and_tell;
    watched.user = &called;
    probe_make(&watched, &descriptor_kind);
    CHECK_INT(treadle_loop_add_descriptor(sleeper.loop, watched.item, MODE), TREADLE_OK);
    for (int i = 1; i <= 5; i++) {
        await(&called); /* the descriptor's events arrive, before and after */
        CHECK_INT(watched.calls, i);
        worker_await_sleep(&sleeper);
        int sleeps = sleeper.watch.sleeps;
        CHECK_INT(in_child(disturb, &h), 0);
        CHECK(is_asleep(&sleeper.watch)); /* it was not woken */
        CHECK_INT(sleeper.watch.sleeps, sleeps);
        CHECK_INT(treadle_loop_post(sleeper.loop, tell, &called), TREADLE_OK);
        await(&called);
        CHECK_INT(write(watched.fd, &one, sizeof one), sizeof one);
    }
    await(&called);
    worker_stop(&sleeper);
    probe_end(&watched);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    handles_end(&h);
}

/* The thread that forked exits in the child: the parent's items are not torn down there. */
static pid_t parent;
static void release_in_parent(void *info) {
    (void)info;
    if (getpid() != parent) _exit(7);
}
static void cancel_in_parent(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)loop, (void)mode;
    release_in_parent(info);
}
static void exit_thread(void *after_fork) {
    if (after_fork) CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    pthread_exit(NULL);
}
static void *fork_with_a_loop(void *unused) {
    treadle_source_context context = {.struct_size = sizeof context, .release = release_in_parent, .cancel = cancel_in_parent};
    treadle_post block = {.struct_size = sizeof block, .fn = release_in_parent, .destroy = release_in_parent};
    treadle_loop loop = treadle_loop_current();
    treadle_source source;
    struct probe probe = {0};
    probe_make(&probe, &descriptor_kind);
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, probe.item, MODE), TREADLE_OK);
    /* The thread sanitizer does not survive that a thread ends in the child. */
    if (!THREAD_SANITIZER) CHECK_INT(in_child(exit_thread, NULL), 0);
    if (!THREAD_SANITIZER) CHECK_INT(in_child(exit_thread, ""), 0);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(probe.calls, 1);
    probe_end(&probe);
    return unused;
}
TEST(the_child_does_not_tear_down_the_parent_s_items, "RL-11 RL-8") {
    parent = getpid();
    on_thread(fork_with_a_loop, NULL);
}

/* Locks that other threads hold at the moment of the fork stay locked in the child for ever. */
static atomic_int over;
static void *keep_locking(void *info) {
    treadle_loop loop = info;
    treadle_source source = make_source(NULL, NULL);
    while (!atomic_load(&over)) {
        CHECK_INT(treadle_loop_post(loop, call_nothing, NULL), TREADLE_OK);
        CHECK_INT(treadle_loop_add_source(loop, source, MODE), TREADLE_OK);
        CHECK_INT(treadle_source_signal_and_wake(source), TREADLE_OK);
        CHECK_INT(treadle_loop_remove_source(loop, source, MODE), TREADLE_OK);
    }
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    return NULL;
}
static void *make_and_release(void *info) {
    treadle_source other = make_source(NULL, NULL);
    while (!atomic_load(&over)) {
        treadle_source source = make_source(NULL, NULL);
        CHECK_INT(treadle_source_release(source), TREADLE_OK);
    }
    CHECK_INT(treadle_source_release(other), TREADLE_OK);
    return info;
}
static void must_not_hang(void *info) {
    CHECK_INT(treadle_loop_wake(info), TREADLE_E_FORKED);
    CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->add(treadle_loop_current(), probe.item, MODE), TREADLE_OK);
        probe_end(&probe);
    }
    CHECK_INT(treadle_loop_post(treadle_loop_current(), call_nothing, NULL), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
}
TEST(a_fork_while_other_threads_hold_locks, "RL-11 OBJ-6") {
    if (skips_fork_among_calls("a_fork_while_other_threads_hold_locks")) return;
    struct worker worker;
    pthread_t threads[2];
    worker_start(&worker);
    for (int i = 0; i < 2; i++) CHECK_INT(pthread_create(&threads[i], NULL, i ? keep_locking : make_and_release, worker.loop), 0);
    for (int i = scaled(200); i > 0; i--) CHECK_INT(in_child(must_not_hang, worker.loop), 0);
    atomic_store(&over, 1);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    worker_stop(&worker);
}

TEST_MAIN()
