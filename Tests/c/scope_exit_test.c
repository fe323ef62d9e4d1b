/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scope_exit_test.c: a release or destroy that ends its thread does not keep the scope of its object from being closed. */
#include "scope_kinds.h"

static treadle_scope scope;
static atomic_int calls;
static void exit_here(void *info) {
    atomic_fetch_add((atomic_int *)info, 1);
    treadle_thread_exit(NULL);
}

static void *work_source(void *info) {
    treadle_source_context context = {.struct_size = sizeof context, .scope = scope, .info = &calls, .release = exit_here};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    treadle_source_release(source);
    return info;
}
static void *work_timer(void *info) {
    treadle_timer_context context = {.struct_size = sizeof context, .scope = scope, .info = &calls, .release = exit_here};
    treadle_timer timer = NULL;
    CHECK_INT(treadle_timer_create(&context, &timer), TREADLE_OK);
    treadle_timer_release(timer);
    return info;
}
static void nothing(void) {}
static treadle_status handle_nothing(treadle_call *call, void *info) { return (void)call, (void)info, TREADLE_OK; }
static void *work_invocation(void *info) {
    treadle_invocation_config context = {.struct_size = sizeof context, .scope = scope, .info = &calls, .destroy = exit_here, .code = nothing, .signature = "v"};
    treadle_invocation invocation = NULL;
    CHECK_INT(treadle_invocation_create(&context, &invocation), TREADLE_OK);
    treadle_release(invocation);
    return info;
}
static void *work_thread(void *info) {
    treadle_thread_config context = {.struct_size = sizeof context, .scope = scope, .info = &calls, .destroy = exit_here, .fn = work_source};
    treadle_thread thread = NULL;
    CHECK_INT(treadle_thread_create(&context, &thread), TREADLE_OK);
    treadle_release(thread);
    return info;
}

static void *make_closure(void *info) {
    treadle_closure_config config = {.struct_size = sizeof config, .scope = scope, .signature = "v", .handler = handle_nothing,
                                     .info = &calls, .destroy = exit_here, .delivery = TREADLE_DELIVERY_INLINE};
    treadle_closure closure = NULL;
    (void)info;
    CHECK_INT(treadle_closure_create(&config, &closure), TREADLE_OK);
    return closure;
}
static void *work_closure(void *info) {
    treadle_release(make_closure(info));
    return info;
}
static void *work_retired_closure(void *info) {
    treadle_invalidate(make_closure(info));
    return info;
}
static void *work_closed_closure(void *info) {
    treadle_close(make_closure(info), TREADLE_FOREVER);
    return info;
}
static void *work_scope_of_a_closure(void *info) {
    make_closure(info);
    treadle_scope_close(scope, TREADLE_FOREVER);
    return info;
}
static void *work_scope_of_a_source(void *info) {
    treadle_source_context context = {.struct_size = sizeof context, .scope = scope, .info = &calls, .release = exit_here};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    treadle_scope_close(scope, TREADLE_FOREVER);
    return info;
}

TEST(a_release_that_ends_its_thread_keeps_no_scope, "SCOPE-2 SCOPE-3") {
    void *(*const works[])(void *) = {
        work_source, work_timer, work_invocation, work_thread, work_closure, work_retired_closure, work_closed_closure,
        work_scope_of_a_closure, work_scope_of_a_source};
    for (int i = 0; i < COUNT_OF(works); i++) {
        treadle_thread thread;
        calls = 0;
        scope = make_scope(NULL);
        CHECK_INT(create_thread(works[i], NULL, NULL, &thread), TREADLE_OK);
        CHECK_INT(treadle_thread_start(thread), TREADLE_OK);
        CHECK_INT(treadle_thread_join(thread, TREADLE_FOREVER, NULL), TREADLE_OK);
        CHECK_INT(calls, 1);
        CHECK_INT(treadle_scope_close(scope, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_release(thread), TREADLE_OK);
        CHECK_INT(treadle_release(scope), TREADLE_OK);
    }
}

TEST_MAIN()
