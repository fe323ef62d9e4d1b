/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * thread_attributes_test.c: stack sizes, names, priorities, policies: what they may be,
 * what the kernel makes of them, and when they may be set. */
#include "stack_use.h"
#include "thread_jobs.h"

#include <linux/capability.h>
#include <math.h>
#include <sys/resource.h>

/* --- The stack ------------------------------------------------------------------------------------ */

static size_t stack_size(treadle_thread thread) {
    size_t size = 1;
    CHECK_INT(treadle_thread_get_stack_size(thread, &size), TREADLE_OK);
    return size;
}
TEST(stack_sizes_have_bounds, "THR-13 D-16") {
    static const size_t bad[] = {0, 1, 4096, 16383, 16385, 20479, 20481, 65537, 524287, ((size_t)1 << 30) + 1,
                                 ((size_t)1 << 30) + 4096, (size_t)2 << 30, (size_t)1 << 40, SIZE_MAX - 4095, SIZE_MAX};
    static const size_t good[] = {16384, 20480, 524288, 1 << 20, 8 << 20, (size_t)1 << 30};
    treadle_thread thread = thread_make(nothing, NULL);
    CHECK_INT(stack_size(thread), 524288);
    for (size_t g = 0; g < sizeof good / sizeof *good; g++) {
        CHECK_INT(treadle_thread_set_stack_size(thread, good[g]), TREADLE_OK);
        for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
            CHECK_ERROR(treadle_thread_set_stack_size(thread, bad[b]), TREADLE_E_RANGE, "size");
            CHECK_INT(stack_size(thread), good[g]); /* the old value stays */
        }
    }
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    CHECK_INT(stack_size(treadle_thread_current()), 0); /* foreign */
}

static void *use_stack(void *info) {
    size_t size = stack_size(treadle_thread_current()), whole;
    void *base;
    pthread_attr_t attributes;
    CHECK_INT(size, *(size_t *)info);
    CHECK_INT(pthread_getattr_np(pthread_self(), &attributes), 0);
    CHECK_INT(pthread_attr_getstack(&attributes, &base, &whole), 0);
    CHECK_INT(pthread_attr_destroy(&attributes), 0);
    CHECK(whole >= size);
    touch(size - 1024); /* what is asked for is the client's: the system's needs are added */
    return info;
}
TEST(a_stack_is_as_large_as_was_asked, "THR-13 D-16") {
    static size_t sizes[] = {16384, 20480, 65536, 524288, 4 << 20, 64 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        treadle_thread thread = thread_make(use_stack, &sizes[i]);
        if (sizes[i] != 524288) CHECK_INT(treadle_thread_set_stack_size(thread, sizes[i]), TREADLE_OK);
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        CHECK(thread_end(thread) == &sizes[i]);
    }
}
static void fire_nothing(treadle_timer timer, void *count) { (void)timer, ++*(int *)count; }
static void *loop_on_a_small_stack(void *info) {
    int fired = 0;
    struct job job;
    treadle_timer timer = make_timer(fire_nothing, &fired, 1, 0);
    job_make(&job, NULL, NULL);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(job_perform(&job, treadle_thread_current(), 0), TREADLE_OK);
    CHECK_INT(treadle_loop_run_default(treadle_loop_current()), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);
    CHECK_INT(fired, 1);
    job_check(&job, 1, 1);
    return info;
}
TEST(the_smallest_stack_carries_a_loop, "THR-13") {
    if (SANITIZER) return; /* a sanitizer's frames are several times larger */
    for (int i = 0; i < 20; i++) {
        treadle_thread thread = thread_make(loop_on_a_small_stack, &i);
        CHECK_INT(treadle_thread_set_stack_size(thread, 16384), TREADLE_OK);
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        CHECK(thread_end(thread) == &i);
    }
}

/* --- The name ------------------------------------------------------------------------------------- */

static void check_name(treadle_thread thread, const char *name) {
    static char buffer[70000];
    size_t length = 1;
    CHECK_INT(treadle_thread_get_name(thread, NULL, 0, &length), TREADLE_OK);
    CHECK_INT(length, strlen(name));
    memset(buffer, 'x', sizeof buffer);
    CHECK_INT(treadle_thread_get_name(thread, buffer, sizeof buffer, &length), TREADLE_OK);
    CHECK_TEXT(buffer, name);
    CHECK_INT(length, strlen(name));
}
static void check_kernel_name(int32_t id, const char *name) {
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)id);
    FILE *file = fopen(path, "r");
    CHECK(file && fgets(text, sizeof text, file));
    fclose(file);
    text[strcspn(text, "\n")] = 0;
    CHECK_TEXT(text, name);
}
static char *repeated(const char *unit, int times) {
    char *text = calloc(strlen(unit) * (size_t)times + 1, 1);
    for (int i = 0; i < times; i++) strcat(text, unit);
    return text;
}
static void *be_named(void *name) {
    check_name(treadle_thread_current(), name);
    return name;
}
/* Whole characters, as many as fit into 15 bytes. */
static const struct { const char *unit; int times; const char *kernel; } names[] = {
    {"a", 1, "a"}, {"abcdefghijklmno", 1, "abcdefghijklmno"}, {"abcdefghijklmnop", 1, "abcdefghijklmno"},
    {"abc", 100, "abcabcabcabcabc"}, {"\xc3\xa9", 7, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"},
    {"\xc3\xa9", 8, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"},
    {"\xe6\xa2\xad", 6, "\xe6\xa2\xad\xe6\xa2\xad\xe6\xa2\xad\xe6\xa2\xad\xe6\xa2\xad"},
    {"\xf0\x9f\xa7\xb5", 4, "\xf0\x9f\xa7\xb5\xf0\x9f\xa7\xb5\xf0\x9f\xa7\xb5"},
    {"abcdefghijklmn\xe6\xa2\xad", 1, "abcdefghijklmn"}, {"with spaces", 1, "with spaces"}};
struct named { struct held held; char *name; };
static void *named_main(void *info) {
    struct named *named = info;
    check_kernel_name(thread_id(), names[named - (struct named *)named->held.result].kernel);
    held_main(&named->held);
    return be_named(named->name);
}
TEST(names_are_kept_whole_and_shown_in_part, "THR-13") {
    enum { NAMES = sizeof names / sizeof *names };
    static struct named named[NAMES];
    for (int i = 0; i < NAMES; i++) {
        int32_t id;
        treadle_thread thread = thread_make(named_main, &named[i]);
        gate_make(&named[i].held.there);
        gate_make(&named[i].held.gate);
        named[i].held.result = named;
        named[i].name = repeated(names[i].unit, names[i].times);
        check_name(thread, ""); /* not the name of the thread that asks */
        CHECK_INT(treadle_thread_set_name(thread, named[i].name), TREADLE_OK);
        check_name(thread, named[i].name);
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        gate_pass(&named[i].held.there);
        check_name(thread, named[i].name);
        /* It may change at any time, and the kernel hears of it. */
        CHECK_INT(treadle_thread_get_id(thread, &id), TREADLE_OK);
        CHECK_INT(treadle_thread_set_name(thread, "another name, rather long"), TREADLE_OK);
        check_name(thread, "another name, rather long");
        check_kernel_name(id, "another name, r");
        CHECK_INT(treadle_thread_set_name(thread, named[i].name), TREADLE_OK);
        check_kernel_name(id, names[i].kernel);
        gate_open(&named[i].held.gate);
        CHECK(treadle_thread_join(thread, TREADLE_FOREVER, NULL) == TREADLE_OK);
        check_name(thread, named[i].name); /* also when it is over */
        CHECK_INT(treadle_thread_set_name(thread, "after"), TREADLE_OK);
        check_name(thread, "after");
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
        free(named[i].name);
    }
}
static void *name_oneself(void *info) {
    CHECK_INT(treadle_thread_set_name(treadle_thread_current(), "foreign"), TREADLE_OK);
    check_name(treadle_thread_current(), "foreign");
    check_kernel_name(thread_id(), "foreign");
    return info;
}
TEST(names_that_are_refused, "THR-13") {
    static const char *const malformed[] = {"\xff", "\x80", "a\x80", "\xc0\x80", "\xc1\xbf", "\xe2\x82", "\xe0\x9f\xbf", "\xed\xa0\x80",
                                            "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3(", "valid \xf0\x9f\xa7"};
    treadle_thread thread = thread_make(nothing, NULL);
    char *longest = repeated("x", 65535), *too_long = repeated("x", 65536);
    CHECK_INT(treadle_thread_set_name(thread, longest), TREADLE_OK);
    check_name(thread, longest);
    CHECK_ERROR(treadle_thread_set_name(thread, too_long), TREADLE_E_RANGE, "name");
    check_name(thread, longest);
    CHECK_INT(treadle_thread_set_name(thread, "kept"), TREADLE_OK);
    CHECK_ERROR(treadle_thread_set_name(thread, NULL), TREADLE_E_ARG, "name");
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        CHECK_ERROR(treadle_thread_set_name(thread, malformed[i]), TREADLE_E_ARG, "name");
        check_name(thread, "kept");
    }
    CHECK_INT(treadle_thread_set_name(thread, ""), TREADLE_OK);
    check_name(thread, "");
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    on_thread(name_oneself, NULL);
    free(longest);
    free(too_long);
}
TEST(a_name_is_copied_into_what_room_there_is, "THR-13") {
    char buffer[8];
    size_t length = 0;
    treadle_thread thread = thread_make(nothing, NULL);
    CHECK_INT(treadle_thread_set_name(thread, "123456789"), TREADLE_OK);
    for (size_t capacity = 1; capacity <= sizeof buffer; capacity++) {
        memset(buffer, '#', sizeof buffer);
        CHECK_INT(treadle_thread_get_name(thread, buffer, capacity, &length), TREADLE_OK);
        CHECK_INT(length, 9);
        CHECK_INT(strlen(buffer), capacity - 1);
        CHECK(strncmp(buffer, "123456789", capacity - 1) == 0);
        for (size_t i = capacity; i < sizeof buffer; i++) CHECK_INT(buffer[i], '#');
    }
    CHECK_ERROR(treadle_thread_get_name(thread, NULL, 8, &length), TREADLE_E_ARG, "buffer");
    CHECK_ERROR(treadle_thread_get_name(thread, buffer, sizeof buffer, NULL), TREADLE_E_ARG, "out_length");
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}

/* --- The priority and the policy ------------------------------------------------------------------ */

static double priority_of(treadle_thread thread, int32_t *out_applied) {
    double priority = -1;
    *out_applied = -1;
    CHECK_INT(treadle_thread_get_priority(thread, &priority, out_applied), TREADLE_OK);
    CHECK(*out_applied == 0 || *out_applied == 1);
    return priority;
}
static int nice_value(void) {
    errno = 0;
    int value = getpriority(PRIO_PROCESS, (id_t)thread_id());
    CHECK_INT(errno, 0);
    return value;
}
/* Takes the right to raise priorities from this thread, and from those that it starts. */
static void give_up_priority(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};
    CHECK_INT(syscall(SYS_capget, &header, data), 0);
    data[0].effective &= ~(1u << CAP_SYS_NICE);
    data[0].permitted &= ~(1u << CAP_SYS_NICE);
    data[0].inheritable &= ~(1u << CAP_SYS_NICE);
    CHECK_INT(syscall(SYS_capset, &header, data), 0);
    CHECK_INT(setrlimit(RLIMIT_NICE, &(struct rlimit){0, 0}), 0);
    CHECK_INT(setrlimit(RLIMIT_RTPRIO, &(struct rlimit){0, 0}), 0);
}
TEST(priorities_are_limited_and_kept, "THR-13") {
    static const struct { double set, kept; } cases[] = {{0, 0}, {-1, 0}, {2, 1}, {0.25, 0.25}, {1, 1}, {INFINITY, 1}, {-INFINITY, 0},
                                                         {-0.0, 0}, {5e-324, 5e-324}, {0.5, 0.5}};
    treadle_thread thread = thread_make(nothing, NULL);
    int32_t applied;
    CHECK(priority_of(thread, &applied) == 0.5);
    CHECK_INT(applied, 1); /* one that was never set counts as applied */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_INT(treadle_thread_set_priority(thread, cases[i].set), TREADLE_OK);
        CHECK(priority_of(thread, &applied) == cases[i].kept);
        CHECK_INT(applied, 0); /* the kernel was not asked yet */
        CHECK_ERROR(treadle_thread_set_priority(thread, NAN), TREADLE_E_ARG, "priority");
        CHECK_ERROR(treadle_thread_set_priority(thread, -NAN), TREADLE_E_ARG, "priority");
        CHECK(priority_of(thread, &applied) == cases[i].kept);
    }
    double priority = 0;
    CHECK_INT(treadle_thread_get_priority(thread, &priority, NULL), TREADLE_OK);
    CHECK(priority == 0.5);
    CHECK_ERROR(treadle_thread_get_priority(thread, NULL, &applied), TREADLE_E_ARG, "out_priority");
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
}
static void *have_priority(void *info) {
    double set = *(double *)info;
    int32_t applied;
    int nice = nice_value();
    CHECK(priority_of(treadle_thread_current(), &applied) == set);
    if (set == 0) CHECK(nice == 19 && applied);
    if (set == 0.25) CHECK(applied ? nice >= 9 && nice <= 10 : nice >= 9); /* applied unless we began above it */
    if (set == 1) CHECK(applied ? nice == -20 : nice >= 0);
    return info;
}
TEST(a_priority_is_a_nice_value, "THR-13") {
    static double priorities[] = {0, 0.25, 1};
    for (int i = 0; i < 3; i++) {
        treadle_thread thread = thread_make(have_priority, &priorities[i]);
        CHECK_INT(treadle_thread_set_priority(thread, priorities[i]), TREADLE_OK);
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        CHECK(thread_end(thread) == &priorities[i]);
    }
}
static int nice_before;
static void *have_no_priority(void *info) {
    int32_t applied;
    CHECK(priority_of(treadle_thread_current(), &applied) == 1); /* kept, though the kernel refused it */
    CHECK_INT(applied, 0);
    CHECK_INT(nice_value(), nice_before);
    CHECK_INT(treadle_thread_set_priority(treadle_thread_current(), 0), TREADLE_OK); /* lower is always allowed */
    CHECK(priority_of(treadle_thread_current(), &applied) == 0);
    CHECK_INT(applied, 1);
    CHECK_INT(nice_value(), 19);
    CHECK_INT(treadle_thread_set_priority(treadle_thread_current(), 1), TREADLE_OK);
    CHECK(priority_of(treadle_thread_current(), &applied) == 1);
    CHECK_INT(applied, 0);
    CHECK_INT(nice_value(), 19);
    return info;
}
static void *lower_oneself(void *info) {
    int32_t applied;
    CHECK_INT(treadle_thread_set_priority(treadle_thread_current(), 0), TREADLE_OK);
    CHECK(priority_of(treadle_thread_current(), &applied) == 0);
    CHECK(applied == 1 && nice_value() == 19);
    return info;
}
TEST(a_priority_that_is_refused_is_kept, "THR-13") {
    int before = nice_before = nice_value();
    give_up_priority();
    treadle_thread thread = thread_make(have_no_priority, NULL);
    CHECK_INT(treadle_thread_set_priority(thread, 1), TREADLE_OK);
    CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
    thread_end(thread);
    on_thread(lower_oneself, NULL); /* foreign threads have one too */
    CHECK_INT(nice_value(), before);
}

static uint32_t policy_of(treadle_thread thread) {
    uint32_t policy = UINT32_MAX;
    CHECK_INT(treadle_thread_get_policy(thread, &policy), TREADLE_OK);
    return policy;
}
static const int native_policies[] = {SCHED_OTHER, SCHED_FIFO, SCHED_RR};
static void *show_policy(void *info) {
    treadle_thread self = treadle_thread_current();
    uint32_t policy = policy_of(self);
    int native, permitted = *(int *)info;
    int32_t applied;
    struct sched_param parameters;
    CHECK_INT(pthread_getschedparam(pthread_self(), &native, &parameters), 0);
    CHECK(priority_of(self, &applied) == 0.5);
    if (permitted || policy == TREADLE_POLICY_DEFAULT) {
        CHECK_INT(native, native_policies[policy]);
        CHECK(parameters.sched_priority >= sched_get_priority_min(native) && parameters.sched_priority <= sched_get_priority_max(native));
    } else {
        CHECK_INT(native, SCHED_OTHER); /* it runs all the same */
        CHECK_INT(applied, 0);
    }
    return info;
}
static void start_with_policies(int permitted) {
    for (uint32_t policy = TREADLE_POLICY_DEFAULT; policy <= TREADLE_POLICY_ROUND_ROBIN; policy++) {
        treadle_thread thread = thread_make(show_policy, &permitted);
        CHECK_INT(policy_of(thread), TREADLE_POLICY_DEFAULT);
        CHECK_ERROR(treadle_thread_set_policy(thread, 3), TREADLE_E_ARG, "policy");
        CHECK_ERROR(treadle_thread_set_policy(thread, UINT32_MAX), TREADLE_E_ARG, "policy");
        CHECK_INT(treadle_thread_set_policy(thread, policy), TREADLE_OK);
        CHECK_INT(policy_of(thread), policy);
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        CHECK_INT(treadle_thread_retain(thread), TREADLE_OK);
        CHECK(thread_end(thread) == &permitted);
        CHECK_INT(policy_of(thread), policy);
        CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    }
}
static void *try_fifo(void *info) {
    struct sched_param parameters = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    *(int *)info = pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameters) == 0;
    return NULL;
}
TEST(a_policy_is_applied_where_it_is_permitted, "THR-13") {
    int permitted = 0;
    on_thread(try_fifo, &permitted);
    start_with_policies(permitted);
}
TEST(a_policy_that_is_not_permitted_starts_as_the_default, "THR-13 THR-2") {
    give_up_priority();
    start_with_policies(0);
}

/* --- When ----------------------------------------------------------------------------------------- */

static void must_be_too_late(treadle_thread thread, size_t size) {
    int32_t applied;
    CHECK_ERROR(treadle_thread_set_stack_size(thread, 65536), TREADLE_E_STATE, "thread");
    CHECK_ERROR(treadle_thread_set_policy(thread, TREADLE_POLICY_FIFO), TREADLE_E_STATE, "thread");
    CHECK_INT(stack_size(thread), size);
    CHECK_INT(policy_of(thread), TREADLE_POLICY_DEFAULT);
    CHECK(priority_of(thread, &applied) == 0.5);
}
static void *be_late(void *info) {
    must_be_too_late(treadle_thread_current(), 524288);
    return held_main(info);
}
TEST(attributes_are_set_before_the_start, "THR-13") {
    struct held held;
    gate_make(&held.there);
    gate_make(&held.gate);
    treadle_thread thread = thread_begin(be_late, &held);
    gate_pass(&held.there);
    must_be_too_late(thread, 524288);
    CHECK_ERROR(treadle_thread_set_priority(thread, 0), TREADLE_E_STATE, "thread");
    gate_open(&held.gate);
    CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
    must_be_too_late(thread, 524288);
    CHECK_ERROR(treadle_thread_set_priority(thread, 0), TREADLE_E_STATE, "thread");
    CHECK_INT(treadle_thread_release(thread), TREADLE_OK);
    must_be_too_late(treadle_thread_main(), 0);
}

TEST_MAIN()
