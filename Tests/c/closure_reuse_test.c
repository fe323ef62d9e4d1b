/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * closure_reuse_test.c: types that libffi calls, and types that the library calls itself, beside each other: a function
 * pointer may serve both, one after the other, and many threads may bring the first types at once. */
#include "closures.h"
#include "invocations.h"

struct pair {
    int32_t first, second;
};
static int32_t add_pair(struct pair pair) { return pair.first + pair.second; }
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

/* Many threads have the process's first types made at the same moment, some the same type. */
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
TEST(threads_may_bring_the_first_types_at_once, "") {
    pthread_t threads[THREADS];
    void *signatures[THREADS];
    CHECK_INT(pthread_barrier_init(&all_ready, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_create(&threads[i], NULL, call_one, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_join(threads[i], &signatures[i]), 0);
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < i; j++) CHECK((signatures[i] == signatures[j]) == (i % 4 == j % 4));
}

/* Pointers that are called while they pass from closures that libffi serves to those that it does not, and back: a late call
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
    for (int left = (int)(200000 * test_scale) + 20; left > 0; left--) {
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
