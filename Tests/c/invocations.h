/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * invocations.h: what the tests of invocations share: making, setting and performing them in one line, and a
 * completion that counts itself. */
#ifndef TREADLE_TEST_INVOCATIONS_H
#define TREADLE_TEST_INVOCATIONS_H

#include "thread_jobs.h"

#define CODE(function) ((void (*)(void))(function))

/* What all invocations of a test have as info. */
static atomic_int invocations_destroyed;
HELPER void count_invocation(void *info) {
    CHECK(info == &invocations_destroyed);
    atomic_fetch_add(&invocations_destroyed, 1);
}
HELPER treadle_invocation invocation_make(void (*code)(void), const char *signature) {
    treadle_invocation_config config = {.struct_size = sizeof config, .code = code, .signature = signature,
                                        .info = &invocations_destroyed, .destroy = count_invocation};
    treadle_invocation invocation = NULL;
    CHECK_INT(treadle_invocation_create(&config, &invocation), TREADLE_OK);
    CHECK(invocation);
    return invocation;
}
#define INVOCATION(function, signature) invocation_make(CODE(function), signature)
HELPER void invocation_end(treadle_invocation invocation) {
    CHECK_INT(treadle_invocation_release(invocation), TREADLE_OK);
}
/* One argument: INVOCATION_SET(i, 0, int32_t, 5). */
#define INVOCATION_SET(invocation, index, type, ...)                                                        \
    do {                                                                                                    \
        type value__ = __VA_ARGS__;                                                                         \
        CHECK_INT(treadle_invocation_set_argument(invocation, index, &value__, sizeof value__), TREADLE_OK); \
    } while (0)
#define INVOCATION_RESULT(invocation, type)                                                                \
    ({                                                                                                     \
        type value__;                                                                                      \
        CHECK_INT(treadle_invocation_get_result(invocation, &value__, sizeof value__), TREADLE_OK);        \
        value__;                                                                                           \
    })
HELPER uint32_t invocation_state(treadle_invocation invocation) {
    uint32_t state = UINT32_MAX;
    CHECK_INT(treadle_invocation_get_state(invocation, &state), TREADLE_OK);
    return state;
}

#define OPTIONS(...) (&(treadle_invocation_options){.struct_size = sizeof(treadle_invocation_options), __VA_ARGS__})
HELPER treadle_status invoke(treadle_invocation invocation, treadle_loop loop, uint32_t wait) {
    return treadle_invocation_perform(invocation, OPTIONS(.loop = loop, .wait = wait));
}

/* A completion that knows how often, and on which thread, it was performed. */
struct completion {
    treadle_invocation invocation;
    atomic_int calls, releases;
    uint32_t state; /* the invocation's, when it was performed */
    int32_t thread_id;
    sem_t done; /* for each release */
};
HELPER void completion_perform(void *target, void *argument) {
    struct completion *completion = target;
    CHECK(argument == &completion->calls);
    completion->thread_id = thread_id();
    completion->state = invocation_state(completion->invocation);
    atomic_fetch_add(&completion->calls, 1);
}
HELPER void completion_release(void *target) {
    struct completion *completion = target;
    atomic_fetch_add(&completion->releases, 1);
    sem_post(&completion->done);
}
HELPER void completion_make(struct completion *completion, treadle_invocation invocation) {
    memset(completion, 0, sizeof *completion);
    completion->invocation = invocation;
    CHECK_INT(sem_init(&completion->done, 0, 0), 0);
}
HELPER treadle_request completion_request(struct completion *completion) {
    return (treadle_request){.struct_size = sizeof(treadle_request), .fn = completion_perform, .target = completion,
                             .argument = &completion->calls, .release_target = completion_release};
}
HELPER void completion_check(struct completion *completion, int calls, int releases) {
    CHECK_INT(atomic_load(&completion->calls), calls);
    CHECK_INT(atomic_load(&completion->releases), releases);
}
#endif
