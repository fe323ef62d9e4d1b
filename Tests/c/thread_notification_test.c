/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_notification_test.c: the first thread of a process, the end of each thread, and in which order a
 * thread's end happens. */
#include "thread_jobs.h"

/* --- Becoming multi-threaded ---------------------------------------------------------------------- */

static atomic_bool told;
static atomic_int ran;
static void *must_be_told(void *info) {
    CHECK(atomic_load(&told)); /* no thread runs before the handler is done */
    CHECK(treadle_is_multithreaded());
    atomic_fetch_add(&ran, 1);
    return info;
}
static void first_start(struct listener *listener) {
    CHECK(!listener->object);
    CHECK(treadle_is_multithreaded());
    CHECK_INT(ran, 0);
    atomic_store(&told, true);
}
static void *use_everything_but_start(void *unused) {
    CHECK(treadle_thread_current() && treadle_loop_current());
    return unused;
}
TEST(the_first_start_is_told_once, "THR-11 NOTE-1 D-06") {
    struct listener first = {.run = first_start};
    listen_to(&first, TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED, NULL);
    CHECK(!treadle_is_multithreaded());
    on_thread(use_everything_but_start, NULL); /* threads of others do not count */
    treadle_thread thread = thread_make(must_be_told, NULL);
    CHECK(!treadle_is_multithreaded());
    CHECK_INT(first.calls, 0);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    CHECK_INT(first.calls, 1);
    CHECK_INT(first.thread_id, thread_id()); /* on the thread that starts it */
    CHECK(treadle_is_multithreaded());
    thread_end(thread);
    CHECK(treadle_is_multithreaded()); /* for ever */
    thread_end(thread_begin(must_be_told, NULL));
    CHECK_INT(treadle_thread_detach_new(must_be_told, NULL, NULL, NULL), TREADLE_OK);
    while (atomic_load(&ran) < 3) sched_yield();
    CHECK_INT(first.calls, 1);
}
TEST(a_detached_thread_may_be_the_first, "THR-11 THR-3") {
    struct listener first = {.run = first_start};
    listen_to(&first, TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED, NULL);
    CHECK_INT(treadle_thread_detach_new(must_be_told, NULL, NULL, NULL), TREADLE_OK);
    CHECK_INT(first.calls, 1);
    while (!atomic_load(&ran)) sched_yield();
}

static pthread_barrier_t together;
static void *start_one(void *info) {
    treadle_thread thread = thread_make(must_be_told, info);
    pthread_barrier_wait(&together);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    thread_end(thread);
    return info;
}
static void first_of_many(struct listener *listener) {
    CHECK(!listener->object && treadle_is_multithreaded());
    for (int i = 0; i < 20; i++) { /* the others have time to come */
        CHECK_INT(ran, 0);
        linger(MICROSECONDS(50));
    }
    atomic_store(&told, true);
}
TEST(concurrent_first_starts_wait_for_the_notification, "THR-11 THR-2") {
    struct listener first = {.run = first_of_many};
    pthread_t starters[8];
    pthread_barrier_init(&together, NULL, 8);
    listen_to(&first, TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED, NULL);
    for (int i = 0; i < 8; i++) CHECK_INT(pthread_create(&starters[i], NULL, start_one, NULL), 0);
    for (int i = 0; i < 8; i++) CHECK_INT(pthread_join(starters[i], NULL), 0);
    CHECK_INT(first.calls, 1);
    CHECK_INT(ran, 8);
}

static void *count_only(void *info) {
    atomic_fetch_add(&ran, 1);
    return info;
}
static void start_in_the_handler(struct listener *listener) {
    CHECK(treadle_is_multithreaded());
    thread_end(thread_begin(count_only, listener)); /* from start to end, inside */
    CHECK_INT(ran, 1);
}
TEST(a_thread_may_be_started_inside_the_notification, "THR-11 OBJ-7") {
    struct listener first = {.run = start_in_the_handler};
    listen_to(&first, TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED, NULL);
    treadle_thread thread = thread_begin(count_only, NULL);
    CHECK_INT(first.calls, 1);
    thread_end(thread);
    CHECK_INT(ran, 2);
    CHECK_INT(first.calls, 1);
}
static treadle_thread outer;
static treadle_status inner_status;
static void start_the_same(struct listener *listener) {
    (void)listener;
    inner_status = treadle_thread_start(outer);
}
TEST(a_thread_is_started_once_also_inside_its_notification, "THR-2 THR-11") {
    struct listener first = {.run = start_the_same};
    listen_to(&first, TREADLE_NOTIFY_WILL_BECOME_MULTITHREADED, NULL);
    outer = thread_make(count_only, &outer);
    treadle_status status = treadle_thread_start(outer);
    CHECK_INT(first.calls, 1);
    CHECK_INT(status == TREADLE_OK ? inner_status : status, TREADLE_E_STATE); /* one of the two has started it */
    CHECK_INT(status == TREADLE_OK ? status : inner_status, TREADLE_OK);
    CHECK(thread_end(outer) == &outer);
    CHECK_INT(ran, 1);
}

/* --- The end of a thread -------------------------------------------------------------------------- */

static atomic_int value_releases;
static void release_value(void *value) {
    (void)value;
    atomic_fetch_add(&value_releases, 1);
}
static int the_value;
/* In the handler the thread is what it was: it executes, is current, and has its dictionary. */
static void will_exit(struct listener *listener) {
    void *value = NULL;
    uintptr_t native;
    int32_t id;
    CHECK(listener->object && treadle_thread_current() == listener->object);
    check_state(listener->object, TREADLE_THREAD_EXECUTING);
    CHECK_INT(treadle_thread_get_value(listener->object, "key", &value), TREADLE_OK);
    CHECK(value == &the_value);
    CHECK_INT(value_releases, 0);
    CHECK_INT(treadle_thread_get_id(listener->object, &id), TREADLE_OK);
    CHECK_INT(id, thread_id());
    CHECK_INT(treadle_thread_get_pthread(listener->object, &native), TREADLE_OK);
    CHECK(treadle_loop_current());
    CHECK_INT(treadle_thread_retain(listener->object), TREADLE_OK); /* for the test to look at it later */
}
static void *set_value(void *info) {
    CHECK_INT(treadle_thread_set_value(treadle_thread_current(), "key", &the_value, release_value), TREADLE_OK);
    return info;
}
static void *end_by_return(void *info) { return set_value(info); }
static void *end_by_exit(void *info) {
    set_value(info);
    treadle_thread_exit(info);
    return NULL;
}
static void *end_by_pthread_exit(void *info) {
    set_value(info);
    pthread_exit(info);
}
TEST(the_end_of_each_thread_is_told_once, "THR-14 THR-7 THR-8 D-06") {
    treadle_thread_fn ends[] = {end_by_return, end_by_exit, end_by_pthread_exit, end_by_return, end_by_pthread_exit};
    for (int i = 0; i < 5; i++) {
        struct listener exits = {.run = will_exit};
        bool foreign = i >= 3;
        listen_to(&exits, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL);
        atomic_store(&value_releases, 0);
        if (foreign) {
            CHECK(on_thread(ends[i], &the_value) == &the_value);
        } else {
            treadle_thread thread = thread_begin(ends[i], &the_value);
            void *result = thread_end(thread);
            if (ends[i] != end_by_pthread_exit) CHECK(result == &the_value);
            CHECK(exits.object == thread);
        }
        CHECK_INT(exits.calls, 1);
        CHECK(exits.thread_id != thread_id());
        check_state(exits.object, TREADLE_THREAD_FINISHED);
        CHECK_INT(value_releases, 1);
        CHECK_INT(treadle_thread_release(exits.object), TREADLE_OK);
        CHECK_INT(treadle_notification_remove(exits.token), TREADLE_OK);
    }
}
TEST(the_end_of_one_thread_is_told_to_those_who_asked_for_it, "THR-14 NOTE-1") {
    struct held held, other;
    treadle_thread thread = held_begin(&held, NULL), another = held_begin(&other, NULL);
    struct listener one = {0}, all = {0};
    listen_to(&one, TREADLE_NOTIFY_THREAD_WILL_EXIT, thread);
    listen_to(&all, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL);
    gate_open(&other.gate);
    thread_end(another);
    CHECK_INT(one.calls, 0);
    CHECK_INT(all.calls, 1);
    gate_open(&held.gate);
    thread_end(thread);
    CHECK_INT(one.calls, 1);
    CHECK_INT(all.calls, 2);
    CHECK(one.object == thread);
}
static void *unknown_thread(void *unused) { return unused; }
TEST(threads_without_an_object_end_untold, "THR-14 THR-9") {
    struct listener exits = {0};
    listen_to(&exits, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL);
    on_thread(unknown_thread, NULL);
    CHECK_INT(exits.calls, 0);
}

/* --- The order of an end -------------------------------------------------------------------------- */

static treadle_thread ending;
/* Where the thread is when each thing happens. */
static void note(const char *what) {
    CHECK(treadle_thread_current() == ending);
    trace(treadle_thread_is_executing(ending) ? "%s" : treadle_thread_is_finished(ending) ? "%s(finished)" : "%s(?)", what);
}
static void note_end(struct listener *listener) { (void)listener, note("told"); }
static void note_cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)info, (void)mode;
    CHECK(loop == treadle_loop_current());
    note("cancel");
}
static void note_timer_release(void *info) {
    (void)info;
    note("timer");
}
static void note_block(void *info) { (void)info, note("block"); }
static void note_request(void *info) { (void)info, note("request"); }
static void note_value(void *info) { (void)info, note("value"); }
static void never(void *info) {
    (void)info;
    CHECK(!"called");
}
static void never_perform(void *target, void *argument) { (void)target, never(argument); }
static void fill_the_loop(void) {
    treadle_loop loop = treadle_loop_current();
    treadle_source_context context = {.struct_size = sizeof context, .cancel = note_cancel};
    treadle_timer_context timer_context = {.struct_size = sizeof timer_context, .release = note_timer_release, .fire_at = FAR_AWAY};
    treadle_post block = {.struct_size = sizeof block, .fn = never, .destroy = note_block};
    treadle_request request = {.struct_size = sizeof request, .fn = never_perform, .release_target = note_request};
    treadle_source source;
    treadle_timer timer;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_timer_create(&timer_context, &timer), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(loop, timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK); /* the loop holds the last reference */
    CHECK_INT(post_block(loop, &block), TREADLE_OK);
    CHECK_INT(perform_on(treadle_thread_current(), &request, NULL, 0, 0), TREADLE_OK);
    CHECK_INT(treadle_thread_set_value(treadle_thread_current(), "key", NULL, note_value), TREADLE_OK);
}
static void *fill_and_return(void *info) {
    ending = treadle_thread_current();
    fill_the_loop();
    note("function");
    return info;
}
static void *fill_and_exit(void *info) {
    fill_and_return(info);
    treadle_thread_exit(info);
    return NULL;
}
static void *fill_and_leave(void *info) {
    fill_and_return(info);
    pthread_exit(info);
}
/* Takes a word out of the trace that has no place but after the notification, and what it says of the state. */
static void take_out(const char *word) {
    char *at = strstr(trace_text, word);
    if (!at) check_failed(__FILE__, __LINE__, "\"%s\" is not in \"%s\"", word, trace_text);
    CHECK(at > strstr(trace_text, " told"));
    const char *rest = at + 1 + strcspn(at + 1, " ");
    memmove(at, rest, strlen(rest) + 1);
}
static void check_order(void) {
    CHECK(strstr(trace_text, " request(finished)")); /* a waiter that is released sees it finished */
    take_out(" value");
    take_out(" request");
    CHECK_TRACE("function told cancel(finished) timer(finished) block(finished)");
}
TEST(a_thread_ends_in_order, "RL-8 THR-14 THR-7 PERF-9 THR-12") {
    treadle_thread_fn ends[] = {fill_and_return, fill_and_exit, fill_and_leave};
    struct listener exits = {.run = note_end};
    listen_to(&exits, TREADLE_NOTIFY_THREAD_WILL_EXIT, NULL);
    for (int i = 0; i < 3; i++) {
        thread_end(thread_begin(ends[i], NULL));
        check_order();
        on_thread(ends[i == 1 ? 0 : i], NULL); /* a foreign one may not call treadle_thread_exit */
        check_order();
        CHECK_INT(exits.calls, 2 * (i + 1));
    }
}

static treadle_timer kept_timer;
static treadle_source kept_source;
static void *fill_with_kept(void *info) {
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(treadle_loop_add_timer(loop, kept_timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(loop, kept_source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    return info;
}
TEST(items_survive_their_thread, "RL-8 OBJ-5") {
    kept_timer = make_timer(NULL, NULL, FAR_AWAY, SECONDS(1));
    kept_source = make_source(NULL, NULL);
    int64_t date, later;
    CHECK_INT(treadle_timer_get_next_fire(kept_timer, &date), TREADLE_OK);
    for (int i = 0; i < 2; i++) {
        thread_end(thread_begin(fill_with_kept, NULL));
        CHECK(treadle_timer_is_valid(kept_timer) && treadle_source_is_valid(kept_source));
        CHECK_INT(treadle_timer_get_next_fire(kept_timer, &later), TREADLE_OK);
        CHECK_INT(later, date); /* a repeating timer keeps its schedule */
    }
    fill_with_kept(NULL);
    CHECK_INT(poll_mode(TREADLE_DEFAULT_MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_timer_invalidate(kept_timer), TREADLE_OK);
    CHECK_INT(treadle_source_invalidate(kept_source), TREADLE_OK);
    CHECK_INT(treadle_timer_release(kept_timer), TREADLE_OK);
    CHECK_INT(treadle_source_release(kept_source), TREADLE_OK);
}

static pthread_key_t key;
static void use_in_a_destructor(void *value) {
    CHECK(value == &key);
    CHECK(treadle_loop_current() != NULL);
    CHECK(treadle_thread_current() == ending);
    note("key");
}
static void *set_key(void *info) {
    ending = treadle_thread_current();
    CHECK_INT(pthread_setspecific(key, &key), 0);
    return info;
}
TEST(a_thread_s_own_destructors_still_find_it, "RL-8 THR-9 THR-17") {
    CHECK_INT(pthread_key_create(&key, use_in_a_destructor), 0);
    thread_end(thread_begin(set_key, NULL));
    CHECK(strcmp(trace_text, "key") == 0 || strcmp(trace_text, "key(finished)") == 0);
    trace_clear();
    on_thread(set_key, NULL);
    CHECK(strncmp(trace_text, "key", 3) == 0);
}

TEST_MAIN()
