/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * invocation_fault_test.c: memory is refused at each place where an invocation asks for it: nothing is called,
 * nothing is lost, and the next attempt succeeds. */
#include "faults.h"

#ifndef SANITIZED
#include "invocations.h"

static atomic_int calls;
static int32_t count_call(const char *text) {
    (void)text;
    return atomic_fetch_add(&calls, 1) + 1;
}

/* Runs `attempt` with the n-th allocation failing, for every n, until none is left to fail. How many there were. */
static int for_each_allocation(treadle_status (*attempt)(int n)) {
    for (int n = 1;; n++) {
        arm(FAULT_MEMORY | FAULT_PAGES, ENOMEM, n, false);
        treadle_status status = attempt(n);
        if (disarm() == 0) {
            CHECK_INT(status, TREADLE_OK);
            return n - 1;
        }
        CHECK_INT(status, TREADLE_E_NOMEM);
    }
}

static treadle_status create(int n) {
    char signature[32];
    treadle_invocation_config config = {.struct_size = sizeof config, .code = CODE(count_call), .signature = signature,
                                        .info = &invocations_destroyed, .destroy = count_invocation};
    treadle_invocation invocation = (treadle_invocation)&calls;
    int before = invocations_destroyed;
    snprintf(signature, sizeof signature, "i{=[%di]}...f", n); /* a new one each time */
    treadle_status status = treadle_invocation_create(&config, &invocation);
    if (status == TREADLE_OK) {
        CHECK_INT(invocations_destroyed, before);
        CHECK_INT(treadle_invocation_release(invocation), TREADLE_OK);
    } else {
        CHECK(invocation == NULL);
    }
    CHECK_INT(invocations_destroyed, before + 1);
    return status;
}
TEST(invocations_without_memory, "OBJ-3") {
    if (!have_memory_faults()) return;
    CHECK(for_each_allocation(create) >= 4); /* the signature's parts, the invocation */
}

static treadle_invocation subject;
static treadle_status set_text(int n) {
    (void)n;
    const char *text = "a longer text", *held = NULL;
    treadle_status status = treadle_invocation_set_argument(subject, 0, &text, sizeof text);
    CHECK_INT(treadle_invocation_get_argument(subject, 0, &held, sizeof held), TREADLE_OK);
    CHECK_TEXT(held, status == TREADLE_OK ? text : "old");
    return status;
}
static treadle_status set_buffer(int n) {
    (void)n;
    char bytes[8] = "123456", seen[8] = "";
    treadle_status status = treadle_invocation_set_buffer(subject, 0, bytes, sizeof bytes);
    CHECK_INT(treadle_invocation_get_buffer(subject, 0, seen, 4), TREADLE_OK);
    CHECK(memcmp(seen, status == TREADLE_OK ? "1234" : "a lo", 4) == 0);
    return status;
}
TEST(values_without_memory, "OBJ-2") {
    if (!have_memory_faults()) return;
    const char *old = "old";
    subject = INVOCATION(count_call, "iO*");
    CHECK_INT(treadle_invocation_set_argument(subject, 0, &old, sizeof old), TREADLE_OK);
    CHECK_INT(for_each_allocation(set_text), 1);
    CHECK_INT(for_each_allocation(set_buffer), 1);
    invocation_end(subject);
}

/* A new thread each time, so that its own object, loop, mode and frame are to be made too. */
static struct server server;
static uint32_t wait_of_attempt;
static treadle_host host;
static const char *two_modes[] = {"one mode", TREADLE_DEFAULT_MODE};
static struct completion completion;
static void *perform_once(void *info) {
    int before = atomic_load(&calls), releases = atomic_load(&completion.releases);
    uint32_t state = invocation_state(subject);
    treadle_request request = completion_request(&completion);
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = server.loop, .wait = wait_of_attempt,
                                          .modes = two_modes, .mode_count = 2};
    int n = *(int *)info;
    if (n % 2) options.mode_count = 0, options.modes = NULL;
    if (wait_of_attempt == TREADLE_WAIT_NONE && !host) options.completion = &request, options.completion_loop = server.loop;
    arm(FAULT_MEMORY | FAULT_PAGES, ENOMEM, (n + 1) / 2, false);
    treadle_status status = host ? host_perform_invocation(host, 5, subject, &options) : treadle_invocation_perform(subject, &options);
    int hits = disarm();
    if (hits) {
        CHECK_INT(status, TREADLE_E_NOMEM);
        CHECK_INT(calls, before);
        CHECK_INT(invocation_state(subject), state);
        if (options.completion) completion_check(&completion, completion.calls, releases + 1);
    } else {
        CHECK_INT(status, TREADLE_OK);
        if (options.completion) {
            while (atomic_load(&completion.releases) == releases) sched_yield();
        }
        while (atomic_load(&calls) == before || invocation_state(subject) != TREADLE_INVOCATION_DONE) sched_yield();
        CHECK_INT(calls, before + 1);
    }
    *(int *)info = hits;
    return NULL;
}
static void perform_without_memory(uint32_t wait) {
    wait_of_attempt = wait;
    subject = INVOCATION(count_call, "iO*");
    completion_make(&completion, subject);
    int misses = 0;
    for (int n = 1; misses < 2; n++) { /* in both ways to name the modes */
        int hits = n;
        on_thread(perform_once, &hits);
        misses = hits ? 0 : misses + 1;
        CHECK(n < 200);
    }
    invocation_end(subject);
}
static void do_nothing(void *info) { (void)info; }
static uint64_t complete(uint64_t ticket, const treadle_event *event) { return (void)event, ~ticket; }
TEST(performs_without_memory, "OBJ-2 PERF-8") {
    if (!have_memory_faults()) return;
    server_start(&server);
    for (uint32_t wait = 0; wait < 3; wait++) perform_without_memory(wait);
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = complete};
    CHECK_INT(treadle_host_register(&config, &host), TREADLE_OK);
    perform_without_memory(TREADLE_WAIT_NONE);
    server_end(&server);
}

/* The kernel refuses to wait for the call mode's descriptors: the wait goes on without them. */
static int64_t take_time(void) {
    while (!is_in_kernel_wait(getpid())) sched_yield();
    return 42;
}
static void ignore(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info; }
TEST(a_wait_whose_run_fails_goes_on, "PERF-7") {
    int fd = eventfd(0, EFD_CLOEXEC);
    treadle_invocation i = INVOCATION(take_time, "q");
    treadle_descriptor descriptor = make_descriptor(ignore, NULL, fd, TREADLE_READABLE);
    server_start(&server);
    CHECK_INT(treadle_loop_add_descriptor(treadle_loop_current(), descriptor, TREADLE_CALL_MODE), TREADLE_OK);
    arm(FAULT_EPOLL_WAIT, EBADF, 1, true);
    treadle_status status = invoke(i, server.loop, TREADLE_WAIT_RUNNING);
    CHECK(disarm() > 0);
    CHECK_INT(status, TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(i, int64_t), 42);
    treadle_descriptor_invalidate(descriptor);
    treadle_descriptor_release(descriptor);
    close(fd);
    server_end(&server);
    invocation_end(i);
}

/* What a call needs is had when it is queued: its end cannot fail. */
TEST(the_end_of_a_call_needs_no_memory, "PERF-8") {
    if (!have_memory_faults()) return;
    treadle_invocation i = INVOCATION(count_call, "i*...f");
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(treadle_loop_post(loop, do_nothing, NULL), TREADLE_OK);
    CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0), TREADLE_RUN_TIMED_OUT); /* the run's own memory */
    completion_make(&completion, i);
    treadle_request request = completion_request(&completion);
    CHECK_INT(treadle_invocation_perform(i, &(treadle_invocation_options){.struct_size = sizeof(treadle_invocation_options), .completion = &request}), TREADLE_OK);
    arm(FAULT_MEMORY | FAULT_PAGES, ENOMEM, 1, true);
    CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0), TREADLE_RUN_TIMED_OUT);
    disarm();
    completion_check(&completion, 1, 1);
    CHECK_INT(calls, 1);
    invocation_end(i);
}
#endif

TEST_MAIN()
