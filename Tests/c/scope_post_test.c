/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scope_post_test.c: plain posts that belong to scopes lie in a loop's queue beside all other posts: what they cost, their order, and
 * that none of them is called once its scope is closed, wherever it waits by then. */
#include "described.h"

#define MODE TREADLE_DEFAULT_MODE
#define OTHER "a mode that is not common"

/* --- What they cost ------------------------------------------------------------------------------ */

/* The program's own definitions take the place of the C library's, for Treadle too. A sanitizer has its own, and so has valgrind. */
static _Thread_local volatile bool is_counting; /* volatile: a compiler knows that malloc changes none of them */
static _Thread_local volatile long bytes, allocations;
#if !THREAD_SANITIZER && !ADDRESS_SANITIZER
#include <malloc.h>
void *__libc_malloc(size_t size);
void *__libc_realloc(void *memory, size_t size);
void __libc_free(void *memory);
static void *counted(void *memory, long before) {
    if (is_counting && memory) bytes += (long)malloc_usable_size(memory) - before, allocations++;
    return memory;
}
void *malloc(size_t size) { return counted(__libc_malloc(size), 0); }
void *realloc(void *memory, size_t size) {
    long before = is_counting && memory ? (long)malloc_usable_size(memory) : 0;
    return counted(__libc_realloc(memory, size), before);
}
#endif
static bool memory_is_counted(void) {
    const char *preloaded = getenv("LD_PRELOAD");
    return !THREAD_SANITIZER && !ADDRESS_SANITIZER && !(preloaded && strstr(preloaded, "vgpreload"));
}

static treadle_loop loop;
static treadle_scope make_scope(treadle_release_fn destroy) {
    treadle_scope_config config = {.struct_size = sizeof config, .destroy = destroy};
    treadle_scope scope = NULL;
    CHECK_INT(treadle_scope_create(&config, &scope), TREADLE_OK);
    return scope;
}
/* NULL: in none. */
static void post_in(treadle_scope scope, treadle_post_fn fn, void *info) {
    if (scope) CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, fn, info), TREADLE_OK);
    if (scope) CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
}
static void run_in(const char *mode) { treadle_loop_run(treadle_loop_current(), mode, 0, TREADLE_RUN_WHEN_EMPTY); }
static void end(treadle_scope scope) {
    CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_release(scope), TREADLE_OK);
}
static int holders_of(treadle_scope scope, int32_t *out_first_thread) {
    treadle_scope_holder holder = {.kind = TREADLE_HOLDER_POST};
    size_t count = 77;
    CHECK_INT(treadle_scope_copy_holders(scope, &holder, sizeof holder, 1, &count), TREADLE_OK);
    CHECK_INT(holder.kind, TREADLE_HOLDER_POST);
    if (out_first_thread) *out_first_thread = holder.thread_id;
    return (int)count;
}
static uint64_t called_posts(void) {
    treadle_loop_counters counters = {.struct_size = sizeof counters};
    CHECK_INT(treadle_loop_get_counters(loop, &counters), TREADLE_OK);
    return counters.posts;
}

static int calls;
static void count_call(void *info) { (void)info, calls++; }

enum { POSTS = 900, MORE_BYTES = 16 };
static void *post_many(void *scope) {
    loop = treadle_loop_current();
    if (scope) CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    bytes = 0, is_counting = true;
    for (int i = 0; i < POSTS; i++) CHECK_INT(treadle_loop_post(loop, count_call, NULL), TREADLE_OK);
    is_counting = false;
    if (scope) CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    calls = 0;
    run_in(MODE);
    CHECK_INT(calls, POSTS);
    return (void *)bytes;
}
TEST(posts_inside_of_a_scope_take_little_more_memory, "SCOPE-1 BLK-1") {
    if (!memory_is_counted()) return;
    treadle_scope scope = make_scope(NULL);
    pthread_t thread;
    void *outside, *inside;
    /* The counter counts. */
    is_counting = true, allocations = 0;
    void *volatile memory = malloc(100);
    is_counting = false;
    free(memory);
    CHECK_INT(allocations, 1);
    /* Each on a loop of its own, whose queue grows. */
    CHECK_INT(pthread_create(&thread, NULL, post_many, NULL), 0);
    CHECK_INT(pthread_join(thread, &outside), 0);
    CHECK_INT(pthread_create(&thread, NULL, post_many, scope), 0);
    CHECK_INT(pthread_join(thread, &inside), 0);
    CHECK((intptr_t)outside >= POSTS * 16);
    if ((intptr_t)inside > (intptr_t)outside + POSTS * MORE_BYTES)
        check_failed(__FILE__, __LINE__, "%ld bytes outside, and %ld inside", (long)(intptr_t)outside, (long)(intptr_t)inside);
    end(scope);
}

/* --- Their order ---------------------------------------------------------------------------------- */

static void say(void *info) { trace("%s", (char *)info); }
static void destroy_nothing(void *info) { (void)info; }

TEST(posts_of_scopes_and_of_none_keep_their_order, "SCOPE-1 BLK-3 BLK-4 BLK-5") {
    loop = treadle_loop_current();
    treadle_scope first = make_scope(NULL), second = make_scope(NULL);
    treadle_post with_destroy = {.struct_size = sizeof with_destroy, .fn = say, .info = "d", .destroy = destroy_nothing};
    trace_clear();
    uint64_t before = called_posts();
    post_in(first, say, "a");
    post_in(first, say, "b");
    post_in(NULL, say, "c");
    CHECK_INT(treadle_loop_post_in(loop, &with_destroy), TREADLE_OK);
    post_in(second, say, "e");
    post_in(first, say, "f");
    post_in(first, say, "g");
    CHECK_INT(holders_of(first, NULL), 4);
    CHECK_INT(holders_of(second, NULL), 1);
    /* Runs of a mode that admits none of them leave them where they are. */
    run_in(OTHER);
    post_in(first, say, "h");
    run_in(OTHER);
    CHECK_TRACE("");
    CHECK_INT(called_posts(), before);
    CHECK_INT(holders_of(first, NULL), 5);
    describe(loop);
    CHECK_INT(count("\n  queued "), 8);
    run_in(MODE);
    CHECK_TRACE("a b c d e f g h");
    CHECK_INT(called_posts(), before + 8);
    CHECK_INT(holders_of(first, NULL), 0);
    end(first), end(second);
}

/* More than one group has room for. */
TEST(tens_of_thousands_of_posts_of_a_scope_are_called_once_each, "SCOPE-1 BLK-5") {
    enum { MANY = 70000 };
    loop = treadle_loop_current();
    treadle_scope scope = make_scope(NULL);
    uint64_t before = called_posts();
    calls = 0;
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    for (int i = 0; i < MANY; i++) CHECK_INT(treadle_loop_post(loop, count_call, NULL), TREADLE_OK);
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
    CHECK_INT(holders_of(scope, NULL), MANY);
    run_in(MODE);
    CHECK_INT(calls, MANY);
    CHECK_INT(called_posts(), before + MANY);
    end(scope);
}

/* --- Closing -------------------------------------------------------------------------------------- */

TEST(posts_of_a_closed_scope_are_not_called_and_all_others_are, "SCOPE-2 BLK-5") {
    loop = treadle_loop_current();
    treadle_scope closed = make_scope(NULL), open = make_scope(NULL);
    trace_clear();
    uint64_t before = called_posts();
    post_in(open, say, "a");
    post_in(closed, say, "never");
    post_in(closed, say, "never");
    run_in(OTHER);
    post_in(closed, say, "never");
    post_in(NULL, say, "b");
    post_in(closed, say, "never");
    post_in(open, say, "c");
    CHECK_INT(treadle_scope_enter(closed), TREADLE_OK);
    CHECK_INT(treadle_scope_close(closed, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(treadle_loop_post(loop, say, "never"), TREADLE_E_CLOSED);
    CHECK_INT(treadle_scope_leave(closed), TREADLE_OK);
    /* They wait for nothing any more. */
    describe(loop);
    CHECK_INT(count("\n  queued "), 3);
    CHECK_INT(holders_of(closed, NULL), 0);
    /* Another scope in its place has not got them. */
    CHECK_INT(treadle_release(closed), TREADLE_OK);
    treadle_scope next = make_scope(NULL);
    CHECK_INT(holders_of(next, NULL), 0);
    run_in(MODE);
    CHECK_TRACE("a b c");
    CHECK_INT(called_posts(), before + 3);
    end(open), end(next);
}

static treadle_scope own;
static atomic_int destroyed;
static void note_destroyed(void *info) {
    (void)info;
    atomic_fetch_add(&destroyed, 1);
    trace("destroyed");
}
static void close_own(void *info) {
    say(info);
    CHECK_INT(treadle_scope_close(own, TREADLE_FOREVER), TREADLE_DEFERRED);
    CHECK_INT(destroyed, 0);
    CHECK_INT(holders_of(own, NULL), 1);
}
TEST(a_post_closes_its_scope_and_those_behind_it_are_not_called, "SCOPE-2 SCOPE-4") {
    loop = treadle_loop_current();
    own = make_scope(note_destroyed);
    trace_clear(), destroyed = 0;
    post_in(own, say, "a");
    post_in(own, close_own, "b");
    post_in(own, say, "never");
    post_in(NULL, say, "c");
    post_in(own, say, "never");
    run_in(MODE);
    CHECK_TRACE("a b destroyed c");
    CHECK_INT(treadle_release(own), TREADLE_OK);
}

static void run_inside(void *info) {
    say(info);
    run_in(MODE);
    say("back");
}
/* An inner run calls what was queued since, another scope's too; the outer one goes on with its own. */
static void post_and_run_inside(void *scope) {
    post_in(scope, say, "c");
    post_in(scope, run_inside, "d");
    post_in(own, say, "e");
    run_in(MODE);
    say("f");
}
TEST(runs_inside_of_posts_of_scopes_call_the_posts_of_scopes, "SCOPE-1 RUN-13") {
    loop = treadle_loop_current();
    own = make_scope(NULL);
    treadle_scope inner = make_scope(NULL);
    trace_clear();
    post_in(own, say, "a");
    post_in(own, post_and_run_inside, inner);
    post_in(own, say, "g");
    run_in(MODE);
    CHECK_TRACE("a c d back e f g");
    end(own), end(inner);
}

/* --- Runs that end among them --------------------------------------------------------------------- */

static void stop_at_once(void *info) {
    say(info);
    CHECK_INT(treadle_loop_request_stop(loop, TREADLE_STOP_AT_ONCE), TREADLE_OK);
    /* This one, and what the pass has taken with it. */
    describe(loop);
    if (own) CHECK_INT(holders_of(own, NULL), 3);
    CHECK_INT(count("one of 4 posts that the pass has taken"), 1);
}
TEST(a_stop_at_once_leaves_the_rest_of_a_group_for_later, "STOP-9 SCOPE-1 RL-13") {
    for (int is_closed = 0; is_closed < 2; is_closed++) {
        loop = treadle_loop_current();
        own = make_scope(NULL);
        trace_clear();
        uint64_t before = called_posts();
        post_in(own, say, "a");
        post_in(own, stop_at_once, "b");
        post_in(own, say, "c");
        post_in(own, say, "d");
        CHECK_INT(treadle_loop_run(loop, MODE, 0, TREADLE_RUN_WHEN_EMPTY), TREADLE_RUN_STOPPED);
        CHECK_TRACE("a b");
        CHECK_INT(called_posts(), before + 2);
        CHECK_INT(holders_of(own, NULL), 2);
        describe(loop);
        CHECK_INT(count("\n  queued "), 2);
        post_in(own, say, "e");
        if (is_closed) CHECK_INT(treadle_scope_close(own, TREADLE_FOREVER), TREADLE_OK);
        run_in(MODE);
        CHECK_TRACE(is_closed ? "" : "c d e");
        CHECK_INT(called_posts(), before + (is_closed ? 2 : 5));
        end(own);
    }
}

TEST(slices_of_one_post_do_not_keep_its_scope_between_them, "ABI-13 SCOPE-3") {
    loop = treadle_loop_current();
    int pollable;
    CHECK_INT(treadle_loop_open_pollable(loop, MODE, &pollable), TREADLE_OK);
    own = make_scope(note_destroyed);
    trace_clear(), destroyed = 0;
    post_in(own, say, "a");
    post_in(own, say, "b");
    post_in(own, say, "never");
    post_in(NULL, say, "c");
    CHECK_INT(treadle_loop_dispatch(loop, MODE, TREADLE_FOREVER, 1), TREADLE_OK);
    CHECK_TRACE("a");
    CHECK_INT(treadle_loop_dispatch(loop, MODE, TREADLE_FOREVER, 1), TREADLE_OK);
    CHECK_TRACE("b");
    CHECK_INT(treadle_scope_close(own, 0), TREADLE_OK);
    while (treadle_loop_dispatch(loop, MODE, TREADLE_FOREVER, 1) == TREADLE_OK) {}
    CHECK_TRACE("destroyed c");
    CHECK_INT(treadle_release(own), TREADLE_OK);
}

TEST_MAIN()
