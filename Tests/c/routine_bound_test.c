/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * routine_bound_test.c: routines that are called through a function pointer, with no look-up: what is called, with what,
 * and for how long. calls_random_test.c compares all types with the C compiler. The contract is routine.h; no numbered
 * rule speaks of it. */
#include "helpers.h"

#define CODE(function) ((void (*)(void))(function))
#define BOUND(variable) {TREADLE_ARGUMENT_BOUND, 0, &(variable), sizeof(variable)}
#define SUPPLIED(kind) {TREADLE_ARGUMENT_##kind, 0, NULL, 0}
#define ROUTINE(function, signature, ...)                                                       \
    made(CODE(function), signature, (treadle_argument[]){__VA_ARGS__},                          \
         sizeof(treadle_argument[]){__VA_ARGS__} / sizeof(treadle_argument))
#define CALL(bound, event, result) ((bound).code((bound).context, event, result))

/* The thread sanitizer otherwise ends a child that makes threads. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }

static atomic_int destroyed;
static void destroy(void *info) {
    CHECK(info == &destroyed);
    atomic_fetch_add(&destroyed, 1);
}
static treadle_routine made(void (*code)(void), const char *signature, const treadle_argument *arguments, size_t count) {
    treadle_routine_config config = {sizeof config, code, signature, arguments, count, &destroyed, destroy};
    treadle_routine routine = NULL;
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    return routine;
}
/* Bound, and kept by that alone. */
static treadle_bound_call bound(treadle_routine routine, size_t result_size) {
    treadle_bound_call call = TREADLE_INIT(treadle_bound_call);
    CHECK_INT(treadle_routine_bind(routine, result_size, &call), TREADLE_OK);
    CHECK(call.code != NULL && call.routine == routine);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    return call;
}
static void released(treadle_bound_call *call) {
    int before = destroyed;
    CHECK_INT(treadle_bound_call_release(call), TREADLE_OK);
    CHECK_INT(destroyed, before + 1);
}

/* --- What is called --------------------------------------------------------------------------------- */

static int calls;
static void *seen;
static void take_pointer(void *info) { calls++, seen = info; }
static int64_t take_long(int64_t value) { return calls++, seen = (void *)(intptr_t)value, value; }
static void take_none(void) { calls++; }

/* Nothing stands between the caller and such a function. */
TEST(functions_of_one_word_are_called_as_they_are, "") {
    void *info = &calls;
    int64_t number = -5, result = 0;
    treadle_bound_call pointer = bound(ROUTINE(take_pointer, "v^v", BOUND(info)), 0);
    treadle_bound_call word = bound(ROUTINE(take_long, "qq", BOUND(number)), 0);
    treadle_bound_call none = bound(made(take_none, "v", NULL, 0), 0);
    treadle_bound_call whole = bound(ROUTINE(take_long, "qq", BOUND(number)), sizeof result);
#if defined(__x86_64__) || defined(__aarch64__)
    CHECK((void (*)(void))pointer.code == CODE(take_pointer) && pointer.context == info);
    CHECK((void (*)(void))word.code == CODE(take_long) && word.context == (void *)-5);
    CHECK((void (*)(void))none.code == CODE(take_none));
#endif
    CALL(pointer, NULL, NULL);
    CHECK(calls == 1 && seen == info);
    CALL(word, NULL, NULL);
    CHECK(calls == 2 && seen == (void *)-5);
    CALL(none, NULL, NULL);
    CHECK_INT(calls, 3);
    CALL(whole, NULL, &result);
    CHECK(calls == 4 && result == -5);
    CALL(whole, NULL, NULL); /* dropped for once */
    CHECK_INT(calls, 5);
    released(&pointer), released(&word), released(&none), released(&whole);
}

static double weigh(int64_t a, double b, int8_t c, float d, uint16_t e, bool f) { return (double)a * b + c * (double)d - e + f; }
typedef struct { double x, y; } pair;
static pair turn(pair value, int32_t by) { return (pair){value.y * by, value.x * by}; }
static int32_t sum_ints(int32_t a, int32_t b, int32_t c, int32_t d, int32_t e, int32_t f, int32_t g, int32_t h, int32_t i) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

TEST(arguments_of_every_kind_in_registers_and_in_memory, "") {
    const int64_t a = -9;
    const double b = 1.5;
    const int8_t c = -3;
    const float d = 2.25f;
    const uint16_t e = 60000;
    const bool f = true;
    const int32_t i = 7;
    const pair given = {2, -3};
    double weight = 0;
    pair turned = {0, 0};
    int32_t sum = 0;
    treadle_bound_call mixed = bound(ROUTINE(weigh, "dqdcfSB", BOUND(a), BOUND(b), BOUND(c), BOUND(d), BOUND(e), BOUND(f)), sizeof weight);
    treadle_bound_call structs = bound(ROUTINE(turn, "{=dd}{=dd}i", BOUND(given), BOUND(i)), sizeof turned);
    treadle_bound_call many = bound(ROUTINE(sum_ints, "iiiiiiiiii", BOUND(i), BOUND(i), BOUND(i), BOUND(i), BOUND(i), BOUND(i), BOUND(i), BOUND(i), BOUND(i)), sizeof sum);
    for (int turns = 0; turns < 2; turns++) {
        CALL(mixed, NULL, &weight);
        CHECK(weight == weigh(a, b, c, d, e, f));
        CALL(structs, NULL, &turned);
        CHECK(turned.x == -21 && turned.y == 14);
        CALL(many, NULL, &sum);
        CHECK_INT(sum, 7 * 45);
        weight = 0, sum = 0, turned = given;
    }
    CALL(structs, NULL, NULL);
    released(&mixed), released(&structs), released(&many);
}

/* Some compilers take it that whoever calls has widened a narrow argument to an int. */
static int32_t low_half(int32_t value) { return value; }
static void check_widened(const char *signature, const void *value, size_t size, int32_t expected) {
    int32_t result = 0;
    treadle_bound_call call = bound(made(CODE(low_half), signature, &(treadle_argument){TREADLE_ARGUMENT_BOUND, 0, value, size}, 1), sizeof result);
    CALL(call, NULL, &result);
    CHECK_INT(result, expected);
    released(&call);
}
TEST(narrow_arguments_are_widened, "") {
    check_widened("ic", &(int8_t){-128}, 1, -128);
    check_widened("iC", &(uint8_t){128}, 1, 128);
    check_widened("is", &(int16_t){-300}, 2, -300);
    check_widened("iS", &(uint16_t){65000}, 2, 65000);
    check_widened("iB", &(bool){true}, 1, 1);
}

static const treadle_event sample = {.struct_size = sizeof sample, .value = 0x80000005, .subject = (void *)&sample, .late_ns = -5};
static int64_t take_event(void *subject, uint32_t value, int64_t late, void *info) {
    return calls++, seen = subject, late + value + *(int32_t *)info;
}

TEST(an_event_supplies_arguments_at_each_call, "") {
    int32_t seven = 7;
    void *info = &seven;
    int64_t result = 0;
    treadle_event short_event = sample;
    short_event.struct_size = 8;
    treadle_bound_call call = bound(ROUTINE(take_event, "q^vIq^v", SUPPLIED(SUBJECT), SUPPLIED(VALUE), SUPPLIED(LATE), BOUND(info)), sizeof result);
    treadle_bound_call one = bound(ROUTINE(take_pointer, "v^v", SUPPLIED(SUBJECT)), 0);
    CALL(call, &sample, &result);
    CHECK(result == 0x80000005 + INT64_C(2) && seen == &sample);
    CALL(call, NULL, &result);
    CHECK(result == 7 && seen == NULL);
    CALL(call, &sample, &result);
    CHECK(result == 0x80000005 + INT64_C(2) && seen == &sample);
    CALL(call, &short_event, &result); /* as without */
    CHECK(result == 7 && seen == NULL);
    CALL(one, &sample, NULL);
    CHECK(seen == &sample);
    CALL(one, NULL, NULL);
    CHECK(seen == NULL && calls == 6);
    released(&call), released(&one);
}

/* --- For how long ------------------------------------------------------------------------------------- */

TEST(a_bound_call_keeps_the_routine, "") {
    void *info = &calls;
    treadle_routine routine = ROUTINE(take_pointer, "v^v", BOUND(info));
    treadle_bound_call first = TREADLE_INIT(treadle_bound_call), second = first;
    CHECK_INT(treadle_routine_bind(routine, 0, &first), TREADLE_OK);
    CHECK_INT(treadle_routine_bind(routine, 0, &second), TREADLE_OK);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    CHECK_ERROR(treadle_routine_release(routine), TREADLE_E_STALE, "routine");
    CHECK_INT(treadle_routine_call(routine, NULL, NULL, 0), TREADLE_OK); /* there still */
    CHECK_INT(treadle_bound_call_release(&first), TREADLE_OK);
    CHECK_INT(destroyed, 0);
    CALL(second, NULL, NULL);
    CHECK_INT(calls, 2);
    released(&second);
    CHECK_ERROR(treadle_routine_call(routine, NULL, NULL, 0), TREADLE_E_STALE, "routine");
    CHECK_ERROR(treadle_routine_bind(routine, 0, &second), TREADLE_E_STALE, "routine");
}

/* Whoever releases once too often takes nothing from anybody. */
TEST(a_second_release_is_stale, "") {
    void *info = &calls;
    treadle_routine routine = ROUTINE(take_pointer, "v^v", BOUND(info));
    treadle_bound_call call = TREADLE_INIT(treadle_bound_call);
    CHECK_INT(treadle_routine_bind(routine, 0, &call), TREADLE_OK);
    treadle_bound_call copy = call, other = TREADLE_INIT(treadle_bound_call);
    CHECK_INT(treadle_routine_bind(routine, 0, &other), TREADLE_OK);
    CHECK_INT(treadle_bound_call_release(&call), TREADLE_OK);
    CHECK_ERROR(treadle_bound_call_release(&call), TREADLE_E_STALE, "call");
    CHECK_INT(treadle_bound_call_release(&other), TREADLE_OK); /* it was there still */
    CHECK_ERROR(treadle_bound_call_release(&copy), TREADLE_E_STALE, "call");
    CALL(call, NULL, &info); /* harmless */
    CHECK(calls == 0 && info == &calls);
    CHECK_INT(treadle_routine_call(routine, NULL, NULL, 0), TREADLE_OK);
    CHECK_INT(calls, 1);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    CHECK_INT(destroyed, 1);
    CHECK_ERROR(treadle_bound_call_release(&copy), TREADLE_E_STALE, "call");
}

TEST(bad_input_is_refused_and_calls_nothing, "") {
    void *info = &calls;
    treadle_routine routine = ROUTINE(take_pointer, "v^v", BOUND(info));
    struct { treadle_bound_call known; uint64_t more; } larger = {{.struct_size = sizeof larger}, 1};
    treadle_bound_call call = TREADLE_INIT(treadle_bound_call), none = {0};
    CHECK_ERROR(treadle_routine_bind(routine, 0, NULL), TREADLE_E_ARG, "out_call");
    CHECK_ERROR(treadle_routine_bind(routine, 0, &none), TREADLE_E_ARG, "out_call");
    CHECK_ERROR(treadle_routine_bind(routine, 0, &larger.known), TREADLE_E_TOO_NEW, "out_call");
    CHECK_ERROR(treadle_routine_bind(NULL, 0, &call), TREADLE_E_ARG, "routine");
    CALL(call, NULL, &info);
    CHECK_ERROR(treadle_routine_bind(routine, 4, &call), TREADLE_E_RANGE, "result_size");
    CALL(call, NULL, &info);
    CHECK(calls == 0 && info == &calls && call.routine == NULL);
    CHECK_ERROR(treadle_bound_call_release(&call), TREADLE_E_STALE, "call");
    CHECK_ERROR(treadle_bound_call_release(NULL), TREADLE_E_ARG, "call");
    CHECK_ERROR(treadle_bound_call_release(&none), TREADLE_E_ARG, "call");
    call = (treadle_bound_call){.struct_size = sizeof call};
    CHECK_ERROR(treadle_bound_call_release(&call), TREADLE_E_ARG, "call.routine");
    call.routine = routine; /* bound by nobody */
    CHECK_ERROR(treadle_bound_call_release(&call), TREADLE_E_STALE, "call");
    call.routine = (treadle_routine)treadle_loop_current();
    CHECK_ERROR(treadle_bound_call_release(&call), TREADLE_E_KIND, "call");
    larger.more = 0;
    CHECK_INT(treadle_routine_bind(routine, 0, &larger.known), TREADLE_OK);
    CALL(larger.known, NULL, NULL);
    CHECK_INT(calls, 1);
    CHECK_INT(treadle_bound_call_release(&larger.known), TREADLE_OK);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);
    CHECK_INT(destroyed, 1);
}

static treadle_bound_call suicidal;
static pair release_itself(pair value) {
    CHECK_INT(treadle_bound_call_release(&suicidal), TREADLE_OK);
    CHECK_INT(destroyed, 1); /* nothing of it is needed any more */
    return (pair){value.y, value.x};
}
static int32_t release_itself_with(void *subject, int32_t value) {
    CHECK_INT(treadle_bound_call_release(&suicidal), TREADLE_OK);
    CHECK(destroyed == 1 && subject == &sample);
    return value;
}
TEST(a_function_may_release_its_own_call, "") {
    const pair given = {1, 2};
    const int32_t number = 9;
    pair result = given;
    int32_t got = 0;
    treadle_bound_call copy = suicidal = bound(ROUTINE(release_itself, "{=dd}{=dd}", BOUND(given)), sizeof result);
    CALL(copy, NULL, &result);
    CHECK(result.x == 2 && result.y == 1);
    destroyed = 0;
    copy = suicidal = bound(ROUTINE(release_itself_with, "i^vi", SUPPLIED(SUBJECT), BOUND(number)), sizeof got);
    CALL(copy, &sample, &got);
    CHECK_INT(got, 9);
}

/* --- Threads, forks, the end --------------------------------------------------------------------------- */

enum { THREADS = 4, TURNS = 2000 };
static treadle_bound_call shared;
static int64_t add_late(int64_t late, int32_t seven, pair value) { return late + seven + (int64_t)value.x; }
static void *call_shared(void *number) {
    treadle_event event = sample;
    for (int64_t i = 0; i < TURNS; i++) {
        int64_t result = 0;
        event.late_ns = i * 1000 + (int64_t)(intptr_t)number * 100000000;
        CALL(shared, &event, &result);
        CHECK_INT(result, event.late_ns + 9);
    }
    return NULL;
}
static void on_threads(void *(*body)(void *), void *(*info)(intptr_t)) {
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, body, info(i)) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
}
static void *the_number(intptr_t number) { return (void *)number; }
TEST(calls_of_one_bound_call_may_overlap, "") {
    const int32_t seven = 7;
    const pair value = {2, 3};
    shared = bound(ROUTINE(add_late, "qqi{=dd}", SUPPLIED(LATE), BOUND(seven), BOUND(value)), sizeof(int64_t));
    on_threads(call_shared, the_number);
    released(&shared);
}

static treadle_routine contended;
static int32_t same(int32_t value) { return value; }
static void *bind_often(void *info) {
    for (int i = 0; i < TURNS; i++) {
        treadle_bound_call call = TREADLE_INIT(treadle_bound_call);
        int32_t result = 0;
        CHECK_INT(treadle_routine_bind(contended, sizeof result, &call), TREADLE_OK);
        CALL(call, NULL, &result);
        CHECK_INT(result, 5);
        treadle_bound_call copy = call;
        CHECK_INT(treadle_bound_call_release(&call), TREADLE_OK);
        CHECK_INT(treadle_bound_call_release(&call), TREADLE_E_STALE);
        (void)copy;
    }
    return info;
}
TEST(threads_bind_and_release_at_a_time, "") {
    const int32_t five = 5;
    contended = ROUTINE(same, "ii", BOUND(five));
    on_threads(bind_often, the_number);
    CHECK_INT(destroyed, 0);
    CHECK_INT(treadle_routine_release(contended), TREADLE_OK);
    CHECK_INT(destroyed, 1);
}

TEST(the_child_of_a_fork_calls_but_cannot_release, "") {
    const int32_t five = 5;
    int32_t result = 0;
    treadle_bound_call call = bound(ROUTINE(same, "ii", BOUND(five)), sizeof result);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        CALL(call, NULL, &result);
        CHECK_INT(result, 5);
        CHECK_ERROR(treadle_bound_call_release(&call), TREADLE_E_FORKED, "process");
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        result = 0;
        CALL(call, NULL, &result);
        CHECK_INT(result, 5);
        CHECK_ERROR(treadle_bound_call_release(&call), TREADLE_E_STALE, "call");
        CHECK_INT(destroyed, 0);
        treadle_bound_call own = bound(ROUTINE(same, "ii", BOUND(five)), sizeof result);
        CALL(own, NULL, &result);
        released(&own);
        exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    CHECK_INT(status, 0);
    CALL(call, NULL, &result);
    CHECK_INT(result, 5);
    released(&call);
}

TEST(a_shutdown_ends_no_bound_call, "THR-21") {
    const int32_t five = 5;
    int32_t result = 0;
    treadle_bound_call call = bound(ROUTINE(same, "ii", BOUND(five)), sizeof result);
    CHECK_INT(treadle_shutdown(TREADLE_FOREVER), TREADLE_OK);
    CALL(call, NULL, &result);
    CHECK_INT(result, 5);
    released(&call);
}

TEST_MAIN()
