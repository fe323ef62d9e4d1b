/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * foreign_test.c: libffi is loaded when the first function comes that needs it, and not before; without it everything else
 * works. The contract is that of treadle_signature_parse. */
#include "closures.h"
#include "invocations.h"

#include <dlfcn.h>
#include <link.h>

/* What the loader does when the library asks for libffi: this takes the place of the C library's function. */
static enum { AS_EVER, NOTHING_FOUND, ANOTHER_LIBRARY } loading;
static void (*_Atomic while_loading)(void);
static atomic_int loads;
void *dlopen(const char *name, int flags) {
    static void *(*_Atomic real)(const char *, int);
    if (!real) real = (__typeof__(&dlopen))dlsym(RTLD_NEXT, "dlopen");
    if (!name || !strstr(name, "libffi.so")) return real(name, flags);
    atomic_fetch_add(&loads, 1);
    void (*also)(void) = atomic_exchange(&while_loading, NULL);
    if (also) also();
    if (loading == ANOTHER_LIBRARY) return real("libm.so.6", flags);
    return real(loading == NOTHING_FOUND ? "/nonexistent/libffi.so" : name, flags);
}

static int find_libffi(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    if (strstr(info->dlpi_name, "/libffi.so")) *(bool *)found = true;
    return 0;
}
static bool is_there(void) {
    bool found = false;
    dl_iterate_phdr(find_libffi, &found);
    return found;
}

struct pair {
    int32_t first, second;
};
static int32_t add_pair(struct pair pair) { return pair.first + pair.second; }
static int32_t count_all(void *first, int64_t second, double third, int32_t fourth) {
    return *(int32_t *)first + (int32_t)second + (int32_t)third + fourth;
}
static treadle_status handle_numbers(treadle_call *call, void *info) {
    int32_t result = *(const int32_t *)call->arguments[0] + *(int32_t *)info;
    return treadle_call_set_result(call, &result, sizeof result);
}
static treadle_status handle_pair(treadle_call *call, void *info) {
    int32_t result = add_pair(*(const struct pair *)call->arguments[0]);
    (void)info;
    return treadle_call_set_result(call, &result, sizeof result);
}
static void check_pair_is_called(void) {
    treadle_invocation invocation = INVOCATION(add_pair, "i{=ii}");
    INVOCATION_SET(invocation, 0, struct pair, {40, 2});
    CHECK_INT(invoke(invocation, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(invocation, int32_t), 42);
    invocation_end(invocation);
}

static void stop(treadle_timer timer, void *info) {
    (void)timer;
    ++*(int *)info;
    treadle_loop_stop(treadle_loop_current());
}
static void add_up(treadle_source source, void *info) {
    (void)source;
    ++*(int *)info;
}
/* A loop with a bit of everything, and calls of every kind whose arguments travel in registers. */
static void do_what_needs_no_libffi(void) {
    int32_t number = 1, done = 0;
    treadle_source source = make_source(add_up, &done);
    treadle_timer timer = make_timer(stop, &done, treadle_time_now(), 0);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_timer(treadle_loop_current(), timer, TREADLE_DEFAULT_MODE), TREADLE_OK);
    CHECK_INT(treadle_source_signal(source), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(done, 2);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
    CHECK_INT(treadle_timer_release(timer), TREADLE_OK);

    void *first = &number;
    int64_t second = 20;
    double third = 300;
    int32_t fourth = 4000, result = 0;
    treadle_argument arguments[] = {{.value = &first, .size = sizeof first}, {.value = &second, .size = sizeof second},
                                    {.value = &third, .size = sizeof third}, {.value = &fourth, .size = sizeof fourth}};
    treadle_routine_config config = {.struct_size = sizeof config, .code = CODE(count_all), .signature = "i^vqdi",
                                     .arguments = arguments, .argument_count = COUNT(arguments)};
    treadle_routine routine = NULL;
    CHECK_INT(treadle_routine_create(&config, &routine), TREADLE_OK);
    CHECK_INT(treadle_routine_call(routine, NULL, &result, sizeof result), TREADLE_OK);
    CHECK_INT(result, 4321);
    CHECK_INT(treadle_routine_release(routine), TREADLE_OK);

    treadle_invocation invocation = INVOCATION(count_all, "i^vqdi");
    INVOCATION_SET(invocation, 0, void *, &number);
    INVOCATION_SET(invocation, 3, int32_t, 7);
    CHECK_INT(invoke(invocation, NULL, TREADLE_WAIT_BLOCK), TREADLE_OK);
    CHECK_INT(INVOCATION_RESULT(invocation, int32_t), 8);
    invocation_end(invocation);

    treadle_closure closure = MADE(.signature = "ii", .handler = handle_numbers, .info = &number);
    CHECK_INT(CODE_OF(int32_t (*)(int32_t), closure)(9), 10);
    end_closure(closure);
    CHECK_INT(pool_info().libffi[0], 0);
}

TEST(libffi_comes_with_the_first_function_that_needs_it, "") {
    CHECK(!is_there());
    do_what_needs_no_libffi();
    CHECK(!is_there());
    CHECK_INT(loads, 0);
    check_pair_is_called();
    CHECK(is_there());
    CHECK_INT(loads, 1);
    check_pair_is_called();
    treadle_closure closure = MADE(.signature = "i{=ii}", .handler = handle_pair);
    CHECK_INT(CODE_OF(int32_t (*)(struct pair), closure)((struct pair){1, 2}), 3);
    end_closure(closure);
    CHECK_INT(loads, 1);
}
TEST(signatures_of_every_kind_bring_it, "") {
    static const char *const encodings[] = {"v{=i}", "{=d}", "i*...", "i*...id", "vqqqqqqqqq", "vddddddddd"};
    for (size_t i = 0; i < COUNT(encodings); i++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            treadle_signature signature;
            CHECK_INT(treadle_signature_parse("qqdqdf", &signature), TREADLE_OK);
            CHECK(!is_there());
            CHECK_INT(treadle_signature_parse(encodings[i], &signature), TREADLE_OK);
            CHECK(is_there());
            _exit(0);
        }
        int status;
        CHECK_INT(waitpid(child, &status, 0), child);
        CHECK_INT(status, 0);
    }
}

/* The library is asked for what it cannot do now, in every way that there is. */
static void check_refusals(void) {
    static const char *const encodings[] = {"i{=ii}", "{=d}", "i*...id", "vqqqqqqqqq"};
    atomic_int destroyed = 0;
    int before = loads;
    for (size_t i = 0; i < COUNT(encodings); i++) {
        treadle_signature signature = (treadle_signature)&destroyed;
        CHECK_ERROR(treadle_signature_parse(encodings[i], &signature), TREADLE_E_NOT_SUPPORTED, "encoding needs libffi");
        CHECK(signature == NULL);
    }
    treadle_routine routine;
    treadle_routine_config config = {.struct_size = sizeof config, .code = CODE(add_pair), .signature = "i{=ii}",
                                     .info = &destroyed, .destroy = count_up};
    CHECK_ERROR(treadle_routine_create(&config, &routine), TREADLE_E_NOT_SUPPORTED, "signature needs libffi");
    treadle_invocation invocation;
    treadle_invocation_config plan = {.struct_size = sizeof plan, .code = CODE(add_pair), .signature = "i{=ii}",
                                      .info = &destroyed, .destroy = count_up};
    CHECK_ERROR(treadle_invocation_create(&plan, &invocation), TREADLE_E_NOT_SUPPORTED, "signature needs libffi");
    treadle_closure closure;
    treadle_closure_config ask =
        CLOSURE_CONFIG(.signature = "i{=ii}", .handler = handle_pair, .info = &destroyed, .destroy = count_up);
    CHECK_ERROR(treadle_closure_create(&ask, &closure), TREADLE_E_NOT_SUPPORTED, "signature needs libffi");
    CHECK_INT(destroyed, 3);
    CHECK_INT(loads - before, COUNT(encodings) + 3);
    CHECK(dlerror() == NULL); /* the client's own errors are not mixed up with it */
    CHECK_INT(pool_info().used, 0);
}
TEST(without_libffi_all_else_works, "") {
    loading = NOTHING_FOUND;
    check_refusals();
    do_what_needs_no_libffi();
    CHECK(!is_there());
    loading = AS_EVER; /* it was only late */
    check_pair_is_called();
}
TEST(a_library_that_is_none_is_refused, "") {
    loading = ANOTHER_LIBRARY;
    check_refusals();
    do_what_needs_no_libffi();
    loading = AS_EVER;
    check_pair_is_called();
}
TEST(a_full_pool_needs_libffi, "") {
    uint32_t capacity = pool_info().capacity;
    int32_t number = 1;
    treadle_closure *all = calloc(capacity, sizeof *all), closure;
    for (uint32_t i = 0; i < capacity; i++) all[i] = MADE(.signature = "ii", .handler = handle_numbers, .info = &number);
    treadle_closure_config config = CLOSURE_CONFIG(.signature = "ii", .handler = handle_numbers, .info = &number,
                                                   .flags = TREADLE_CLOSURE_MAY_ALLOCATE);
    loading = NOTHING_FOUND;
    CHECK_ERROR(treadle_closure_create(&config, &closure), TREADLE_E_NOT_SUPPORTED, "signature needs libffi");
    CHECK_INT(pool_info().used + pool_info().allocated, capacity);
    loading = AS_EVER;
    closure = made_of(config);
    CHECK_INT(CODE_OF(int32_t (*)(int32_t), closure)(9), 10);
    CHECK_INT(pool_info().allocated, 1);
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
    for (uint32_t i = 0; i < capacity; i++) CHECK_INT(treadle_closure_release(all[i]), TREADLE_OK);
    free(all);
}

/* Many threads need it at the same moment, some for the same type. */
enum { THREADS = 8 };
static pthread_barrier_t all_ready;
static void *call_one(void *info) {
    char encoding[32];
    int members = 2 + (int)(intptr_t)info % 4;
    treadle_signature signature, again;
    snprintf(encoding, sizeof encoding, "v{=[%di]}", members);
    pthread_barrier_wait(&all_ready);
    CHECK_INT(treadle_signature_parse(encoding, &signature), TREADLE_OK);
    check_pair_is_called();
    CHECK_INT(treadle_signature_parse(encoding, &again), TREADLE_OK);
    CHECK(signature == again);
    return signature;
}
TEST(threads_may_need_it_at_once, "") {
    pthread_t threads[THREADS];
    void *signatures[THREADS];
    CHECK_INT(pthread_barrier_init(&all_ready, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_create(&threads[i], NULL, call_one, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_join(threads[i], &signatures[i]), 0);
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < i; j++) CHECK((signatures[i] == signatures[j]) == (i % 4 == j % 4));
    CHECK(loads >= 1 && loads <= THREADS);
}

/* The loader may run anybody's code, which may need the library, and even the same. */
static void use_the_library(void) {
    treadle_signature signature;
    do_what_needs_no_libffi();
    CHECK_INT(treadle_signature_parse("v^vq*q", &signature), TREADLE_OK);
    check_pair_is_called();
}
TEST(the_loader_may_call_the_library, "") {
    while_loading = use_the_library;
    check_pair_is_called();
    CHECK_INT(loads, 2);
}

/* A fork while another thread waits in the loader: the child does not wait for it. */
static sem_t is_loading, goes_on;
static void wait_inside(void) {
    sem_post(&is_loading);
    await(&goes_on);
}
static void *need_it(void *info) {
    check_pair_is_called();
    return info;
}
TEST(a_child_does_not_wait_for_the_parents_loader, "RL-11") {
    pthread_t thread;
    int status;
    CHECK(sem_init(&is_loading, 0, 0) == 0 && sem_init(&goes_on, 0, 0) == 0);
    while_loading = wait_inside;
    CHECK_INT(pthread_create(&thread, NULL, need_it, NULL), 0);
    await(&is_loading);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(60);
        CHECK_INT(treadle_after_fork_child(), TREADLE_OK);
        check_pair_is_called();
        raise(SIGKILL); /* no leak checker has its say: what the other thread was making is lost here */
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    sem_post(&goes_on);
    CHECK_INT(pthread_join(thread, NULL), 0);
}

/* Pointers that are called while they pass from closures that need libffi to those that do not, and back: a late call
 * gets one of the two answers, or the default. */
typedef int32_t (*any_fn)(int64_t);
static any_fn reused;
static atomic_bool is_over;
static void *call_late(void *info) {
    while (!is_over) {
        int32_t result = reused(INT64_C(7) << 32 | 5);
        CHECK(result == 0 || result == 6 || result == 12);
    }
    return info;
}
TEST(pointers_pass_from_kind_to_kind, "") {
    enum { CALLERS = 2 };
    uint32_t capacity = pool_info().capacity;
    int32_t number = 1;
    pthread_t callers[CALLERS];
    treadle_closure *others = calloc(capacity, sizeof *others);
    watch_reports();
    for (uint32_t i = 1; i < capacity; i++) others[i] = MADE(.signature = "ii", .handler = handle_numbers, .info = &number);
    treadle_closure closure = MADE(.signature = "ii", .handler = handle_numbers, .info = &number);
    reused = CODE_OF(any_fn, closure);
    for (int i = 0; i < CALLERS; i++) CHECK_INT(pthread_create(&callers[i], NULL, call_late, NULL), 0);
    const char *scale = getenv("TREADLE_TEST_SCALE");
    for (int left = (int)(200000 * (scale ? atof(scale) : 1)) + 20; left > 0; left--) {
        CHECK_INT(treadle_closure_close(closure, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
        treadle_closure_config config = left % 2 ? CLOSURE_CONFIG(.signature = "ii", .handler = handle_numbers, .info = &number)
                                                 : CLOSURE_CONFIG(.signature = "i{=ii}", .handler = handle_pair);
        /* A late call may look at the pointer's last life just now. */
        while (treadle_closure_create(&config, &closure) == TREADLE_E_NOMEM) sched_yield();
        CHECK(code_of(closure) == (any_code)reused);
        if (left > 1000) continue;
        CHECK_INT(reused(INT64_C(7) << 32 | 5), left % 2 ? 6 : 12);
    }
    is_over = true;
    for (int i = 0; i < CALLERS; i++) CHECK_INT(pthread_join(callers[i], NULL), 0);
    end_closure(closure);
    for (uint32_t i = 1; i < capacity; i++) CHECK_INT(treadle_closure_release(others[i]), TREADLE_OK);
    free(others);
}

#if defined(__x86_64__) && !defined(__ILP32__)
/* A call that has come as far as the function that the stub has led to, and reads the stub's slot only now. */
int32_t call_from_stub(int64_t argument, uintptr_t function, uintptr_t slot);
__asm__(".pushsection .text\n"
        ".type call_from_stub, @function\n"
        "call_from_stub:\n"
        "    endbr64\n"
        "    movq %rdx, %r10\n"
        "    jmpq *%rsi\n"
        ".size call_from_stub, . - call_from_stub\n"
        ".popsection\n");
/* The slot is what the stub's only address leads to: endbr64, leaq slot(%rip), %r10. */
static uintptr_t slot_of(any_fn code) {
    static const unsigned char begin[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x4c, 0x8d, 0x15};
    int32_t distance;
    CHECK(memcmp((const void *)(uintptr_t)code, begin, sizeof begin) == 0);
    memcpy(&distance, (const char *)(uintptr_t)code + sizeof begin, sizeof distance);
    return (uintptr_t)code + sizeof begin + sizeof distance + (uintptr_t)(intptr_t)distance;
}
TEST(a_call_may_be_late_inside_of_the_stub, "") {
    enum { KINDS = 2 };
    int32_t number = 1;
    uint32_t capacity = pool_info().capacity;
    const treadle_closure_config configs[KINDS] = {
        CLOSURE_CONFIG(.signature = "ii", .handler = handle_numbers, .info = &number),
        CLOSURE_CONFIG(.signature = "i{=ii}", .handler = handle_pair)};
    treadle_closure *others = calloc(capacity, sizeof *others), closure = made_of(configs[0]);
    any_fn code = CODE_OF(any_fn, closure);
    uintptr_t slot = slot_of(code), functions[KINDS] = {*(uintptr_t *)slot};
    for (uint32_t i = 1; i < capacity; i++) others[i] = made_of(configs[0]);
    watch_reports();
    for (int i = 1; i < 6; i++) {
        end_closure(closure);
        closure = made_of(configs[i % KINDS]);
        CHECK(code_of(closure) == (any_code)code);
        functions[i % KINDS] = *(uintptr_t *)slot;
        CHECK(functions[0] != functions[1]);
        /* From libffi's function into the other closure: its type is known there, and it is called. The other way round
         * the type is none for the registers, and the call gets nothing. */
        CHECK_INT(call_from_stub(INT64_C(7) << 32 | 5, functions[(i + 1) % KINDS], slot), i % KINDS ? 0 : 6);
        CHECK_INT(code(INT64_C(7) << 32 | 5), i % KINDS ? 12 : 6);
    }
    end_closure(closure);
    for (uint32_t i = 1; i < capacity; i++) CHECK_INT(treadle_closure_release(others[i]), TREADLE_OK);
    free(others);
}
#endif

TEST_MAIN()
