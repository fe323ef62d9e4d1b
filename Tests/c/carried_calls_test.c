/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * carried_calls_test.c: each way to have something called by another thread, by what becomes of that thread: requests, invocations and
 * closures, waited for or not. Nothing is lost, nobody waits for ever, and everything is given back once. */
#include "invocations.h"
#include "closures.h"

#define MODE TREADLE_DEFAULT_MODE

/* --- The ways --------------------------------------------------------------------------------------- */

struct call;
static const struct kind {
    const char *name;
    void (*make)(struct call *);
    treadle_status (*call)(struct call *);
    uint32_t wait; /* TREADLE_WAIT_... */
    int releases;
} kinds[];
struct call {
    const struct kind *kind;
    treadle_thread on;
    void (*inside)(void); /* NULL: nothing */
    treadle_invocation invocation;
    treadle_closure closure;
    any_code code;
    struct completion completion; /* of an invocation that nobody waits for */
    atomic_int calls, releases, caller_id;
    int turn; /* among those that are called */
    treadle_status status;
    char message[64]; /* of an error */
    bool is_over; /* the thread, when its caller went on */
    pthread_t caller;
};
static int turns;
static void be_called(struct call *call) {
    call->turn = turns++;
    atomic_fetch_add(&call->calls, 1);
    if (call->inside) call->inside();
}
static void release(void *info) { atomic_fetch_add(&((struct call *)info)->releases, 1); }

static void make_nothing(struct call *call) { (void)call; }
static void perform(void *target, void *argument) {
    CHECK(argument == target);
    be_called(target);
}
static treadle_status request(struct call *call) {
    treadle_request request = {.struct_size = sizeof request, .fn = perform, .target = call, .argument = call, .release_target = release,
                               .release_argument = release};
    return perform_on(call->on, &request, NULL, 0, call->kind->wait ? TREADLE_PERFORM_WAIT : 0);
}
static int32_t be_invoked(struct call *call) { return be_called(call), 7; }
static void make_invocation(struct call *call) {
    treadle_invocation_config config = {.struct_size = sizeof config, .code = CODE(be_invoked), .signature = "i^v", .info = call, .destroy = release};
    CHECK_INT(treadle_invocation_create(&config, &call->invocation), TREADLE_OK);
    INVOCATION_SET(call->invocation, 0, void *, call);
    completion_make(&call->completion, call->invocation);
}
static treadle_status perform_invocation(struct call *call) {
    treadle_request request = completion_request(&call->completion);
    return treadle_invocation_perform(
        call->invocation, OPTIONS(.thread = call->on, .wait = call->kind->wait, .completion = call->kind->wait ? NULL : &request));
}
static treadle_status handle(treadle_call *call, void *info) {
    const int32_t result = 7;
    be_called(info);
    return treadle_call_set_result(call, &result, sizeof result);
}
static void make_closure(struct call *call) {
    call->closure = MADE(.signature = "i", .handler = handle, .info = call, .destroy = release, .thread = call->on,
                         .delivery = call->kind->wait == TREADLE_WAIT_RUNNING ? TREADLE_DELIVERY_RUNNING
                                     : call->kind->wait ? TREADLE_DELIVERY_SYNC : TREADLE_DELIVERY_ASYNC);
    call->code = code_of(call->closure);
}
static treadle_status call_closure(struct call *call) {
    treadle_error_info error = {.struct_size = sizeof error};
    if (((int32_t (*)(void))call->code)() == 7 || !call->kind->wait) return TREADLE_OK;
    treadle_last_error(&error);
    return error.code;
}
static const struct kind kinds[] = {
    {"request", make_nothing, request, TREADLE_WAIT_NONE, 2},
    {"request that is waited for", make_nothing, request, TREADLE_WAIT_BLOCK, 2},
    {"invocation", make_invocation, perform_invocation, TREADLE_WAIT_NONE, 1},
    {"invocation that is waited for", make_invocation, perform_invocation, TREADLE_WAIT_BLOCK, 1},
    {"invocation that is waited for by a run", make_invocation, perform_invocation, TREADLE_WAIT_RUNNING, 1},
    {"closure", make_closure, call_closure, TREADLE_WAIT_NONE, 1},
    {"closure that is waited for", make_closure, call_closure, TREADLE_WAIT_BLOCK, 1},
    {"closure that is waited for by a run", make_closure, call_closure, TREADLE_WAIT_RUNNING, 1},
};
enum { KINDS = COUNT(kinds) };

/* --- A call, from its beginning to its end ---------------------------------------------------------- */

/* Each waiter waits on a thread of its own. */
static void *do_call(void *info) {
    struct call *call = info;
    treadle_error_info error = {.struct_size = sizeof error};
    atomic_store(&call->caller_id, thread_id());
    call->status = call->kind->call(call);
    call->is_over = treadle_thread_is_finished(call->on);
    treadle_last_error(&error);
    snprintf(call->message, sizeof call->message, "%s", error.message);
    return NULL;
}
static void make(struct call *call, const struct kind *kind, treadle_thread on) {
    *call = (struct call){.kind = kind, .on = on, .status = 99};
    kind->make(call);
}
/* Until it is queued, or refused. */
static void begin(struct call *call, bool is_refused) {
    if (!call->kind->wait) do_call(call);
    else CHECK_INT(pthread_create(&call->caller, NULL, do_call, call), 0);
    while (call->kind->wait && !is_refused && (!atomic_load(&call->caller_id) || !is_in_kernel_wait(atomic_load(&call->caller_id)))) sched_yield();
}

enum outcome { PERFORMED, DROPPED, REFUSED, LEFT /* its thread ended inside of it */, SHUT_DOWN };
static void end(struct call *call, enum outcome outcome, const char *happening) {
    const struct kind *kind = call->kind;
    bool is_told = kind->wait || (outcome == REFUSED && !call->closure);
    if (kind->wait) CHECK_INT(pthread_join(call->caller, NULL), 0);
    if (call->status != (outcome != PERFORMED && is_told ? TREADLE_E_CLOSED : TREADLE_OK) || call->calls != (outcome == PERFORMED || outcome == LEFT))
        check_failed(__FILE__, __LINE__, "a %s of a thread that %s: %s, %d calls", kind->name, happening, treadle_status_name(call->status), call->calls);
    if (kind->wait && (outcome == DROPPED || outcome == LEFT)) CHECK(call->is_over);
    if (outcome == REFUSED && !call->closure) CHECK(strstr(call->message, "thread"));
    if (call->invocation) {
        uint32_t state = outcome == PERFORMED ? TREADLE_INVOCATION_DONE : outcome == REFUSED ? TREADLE_INVOCATION_IDLE : TREADLE_INVOCATION_DROPPED;
        bool is_completed = !kind->wait && outcome != REFUSED && outcome != SHUT_DOWN;
        CHECK_INT(invocation_state(call->invocation), state);
        while (is_completed && call->completion.releases == 0) poll_mode(MODE);
        completion_check(&call->completion, is_completed, !kind->wait);
        if (is_completed) CHECK_INT(call->completion.state, state);
        if (state == TREADLE_INVOCATION_DONE) CHECK_INT(INVOCATION_RESULT(call->invocation, int32_t), 7);
        CHECK_INT(call->releases, 0);
        invocation_end(call->invocation);
    }
    if (call->closure) {
        treadle_closure_info info = info_of(call->closure);
        CHECK(info.waiting == 0 && info.timed_out == 0 && info.handled == (outcome == PERFORMED));
        CHECK(info.dropped + info.failed == (outcome != PERFORMED) && (outcome == LEFT || info.failed == 0));
        CHECK_INT(call->releases, 0);
        end_closure(call->closure);
    }
    CHECK_INT(call->releases, kind->releases);
}

/* --- What becomes of the thread --------------------------------------------------------------------- */

static void *run_until_empty(void *info) {
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    return info;
}
static void *run_another_mode(void *info) {
    CHECK_INT(poll_mode("another"), TREADLE_RUN_FINISHED);
    return info;
}
static void *exit_thread(void *info) {
    CHECK(treadle_loop_current());
    treadle_thread_exit(info);
    return info;
}
static void *exit_system_thread(void *info) {
    CHECK(treadle_loop_current());
    pthread_exit(info);
}
static const struct happening {
    const char *name;
    void *(*fn)(void *);
    enum { BEFORE_ITS_START, BEFORE_ITS_LOOP, WITH_A_LOOP, BEHIND_ITS_END } when; /* it is called */
    bool is_foreign, is_cancelled;
    enum outcome outcome;
} happenings[] = {
    {"starts later", run_until_empty, BEFORE_ITS_START, false, false, PERFORMED},
    {"was cancelled before its start", run_until_empty, BEFORE_ITS_START, false, true, DROPPED},
    {"has no loop yet", run_until_empty, BEFORE_ITS_LOOP, false, false, PERFORMED},
    {"never has a loop", nothing, BEFORE_ITS_LOOP, false, false, DROPPED},
    {"runs another mode", run_another_mode, WITH_A_LOOP, false, false, DROPPED},
    {"exits", exit_thread, WITH_A_LOOP, false, false, DROPPED},
    {"ends by pthread_exit", exit_system_thread, BEFORE_ITS_LOOP, false, false, DROPPED},
    {"is foreign, and runs", run_until_empty, BEFORE_ITS_LOOP, true, false, PERFORMED},
    {"is foreign, and returns", run_another_mode, WITH_A_LOOP, true, false, DROPPED},
    {"is foreign, and ends by pthread_exit", exit_system_thread, WITH_A_LOOP, true, false, DROPPED},
    {"is over", nothing, BEHIND_ITS_END, false, false, REFUSED},
    {"is foreign, and is over", nothing, BEHIND_ITS_END, true, false, REFUSED},
};
static struct held held;
static treadle_thread target;
static void *live(void *info) {
    const struct happening *happening = info;
    if (happening->is_foreign) CHECK_INT(treadle_thread_retain(target = treadle_thread_current()), TREADLE_OK);
    if (happening->when == WITH_A_LOOP) CHECK(treadle_loop_current());
    held_main(&held);
    return happening->fn(NULL);
}
static pthread_t foreign;
static void join_target(const struct happening *happening) {
    gate_open(&held.gate);
    if (happening->is_foreign) CHECK_INT(pthread_join(foreign, NULL), 0);
    else CHECK_INT(treadle_thread_join(target, TREADLE_FOREVER, NULL), TREADLE_OK);
}
static void meet(const struct happening *happening) {
    static struct call calls[KINDS];
    bool is_started = happening->when != BEFORE_ITS_START, is_over = happening->when == BEHIND_ITS_END;
    turns = 0;
    gate_make(&held.there), gate_make(&held.gate);
    if (happening->is_foreign) CHECK_INT(pthread_create(&foreign, NULL, live, (void *)happening), 0);
    else target = thread_make(live, (void *)happening);
    if (is_started && !happening->is_foreign) CHECK_INT(treadle_thread_start(target), TREADLE_OK);
    if (is_started) gate_pass(&held.there);
    for (int i = 0; i < KINDS; i++) make(&calls[i], &kinds[i], target);
    if (is_over) join_target(happening);
    for (int i = 0; i < KINDS; i++) begin(&calls[i], is_over);
    if (happening->is_cancelled) CHECK_INT(treadle_thread_cancel(target), TREADLE_OK);
    CHECK_INT(turns, 0);
    if (!is_started) CHECK_INT(treadle_thread_start(target), TREADLE_OK);
    if (!is_over) join_target(happening);
    for (int i = 0; i < KINDS; i++) {
        end(&calls[i], happening->outcome, happening->name);
        if (happening->outcome == PERFORMED) CHECK_INT(calls[i].turn, i);
    }
    treadle_closure_config config = CLOSURE_CONFIG(.signature = "i", .handler = handle, .delivery = TREADLE_DELIVERY_SYNC, .thread = target);
    treadle_closure closure;
    CHECK_ERROR(treadle_closure_create(&config, &closure), TREADLE_E_CLOSED, "thread");
    CHECK_INT(treadle_thread_release(target), TREADLE_OK);
}
TEST(each_way_to_call_another_thread_by_what_becomes_of_it,
     "PERF-3 PERF-4 PERF-7 PERF-8 PERF-9 D-22 RL-8 RL-9 THR-1 THR-7 THR-14 OBJ-6") {
    for (size_t i = 0; i < COUNT(happenings); i++) meet(&happenings[i]);
}

/* Nobody can wait for one that is given up before its start. */
TEST(a_thread_that_never_starts_drops_what_it_was_to_call, "PERF-9 PERF-8 THR-4") {
    for (int i = 0; i < KINDS; i++) {
        struct call call;
        if (kinds[i].wait || kinds[i].call == call_closure) continue; /* a closure keeps its thread */
        target = thread_make(nothing, NULL);
        make(&call, &kinds[i], target);
        begin(&call, false);
        CHECK_INT(treadle_thread_release(target), TREADLE_OK);
        end(&call, DROPPED, "never starts");
    }
}

/* What is called ends its thread, and what waits behind it is dropped. */
static void exit_inside(void) { exit_thread(NULL); }
static void exit_system_thread_inside(void) { exit_system_thread(NULL); }
#ifdef __GLIBC__
enum { UNWINDS = true };
#else
enum { UNWINDS = false }; /* pthread_exit of musl leaves the frames of a closure as they are */
#endif
TEST(what_ends_its_thread_is_over, "PERF-9 PERF-8 D-22 THR-7 RL-8") {
    static void (*const exits[])(void) = {exit_inside, exit_system_thread_inside};
    for (int i = 0; i < KINDS; i++)
        for (int k = 0; k < 2; k++) {
            struct call call, behind;
            if (kinds[i].call == call_closure && !UNWINDS) continue;
            target = thread_make(run_until_empty, NULL);
            make(&call, &kinds[i], target), make(&behind, &kinds[1], target);
            call.inside = exits[k];
            begin(&call, false), begin(&behind, false);
            CHECK_INT(treadle_thread_start(target), TREADLE_OK);
            CHECK_INT(treadle_thread_join(target, TREADLE_FOREVER, NULL), TREADLE_OK);
            end(&call, LEFT, "is ended by it");
            end(&behind, DROPPED, "is ended by what is before it");
            CHECK_INT(treadle_thread_release(target), TREADLE_OK);
        }
}

TEST(a_shutdown_lets_all_go_who_wait, "THR-21") {
    static struct call calls[KINDS];
    treadle_thread thread = held_begin(&held, NULL);
    for (int i = 0; i < KINDS; i++) make(&calls[i], &kinds[i], thread), begin(&calls[i], false);
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
    for (int i = 0; i < KINDS; i++) {
        for (uint32_t wait = 0; calls[i].invocation && !kinds[i].wait && wait < 3; wait++) {
            CHECK_ERROR(invoke(calls[i].invocation, NULL, wait), TREADLE_E_CLOSED, "shut down");
            CHECK_ERROR(treadle_invocation_perform(calls[i].invocation, OPTIONS(.thread = thread, .wait = wait)), TREADLE_E_CLOSED, "shut down");
        }
        end(&calls[i], SHUT_DOWN, "is held up by a shutdown");
    }
    gate_open(&held.gate);
    thread_end(thread);
}

TEST_MAIN()
