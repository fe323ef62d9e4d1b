/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * routines.c: a routine of a scope as the callback of an item outside of it. When the scope is closed, no call of it goes on, none
 * begins, and what came with it has gone back. */
#include "owner.h"

static treadle_scope scope;
static treadle_routine routine;
static void note_call(void) {
    REQUIRE(counted(&freed) == 0);
    count(&called);
    use_released();
    REQUIRE(counted(&freed) == 0);
}
static void signal_one_with_a_routine(void) {
    treadle_scope_config config = {.struct_size = sizeof config};
    REQUIRE_OK(treadle_scope_create(&config, &scope));
    REQUIRE_OK(treadle_scope_enter(scope));
    treadle_routine_config call = {.struct_size = sizeof call, .code = note_call, .signature = "v", .destroy = count_release};
    REQUIRE_OK(treadle_routine_create(&call, &routine));
    REQUIRE_OK(treadle_scope_leave(scope));
    treadle_source_context context = {.struct_size = sizeof context, .perform_routine = routine};
    REQUIRE_OK(treadle_source_create(&context, &source));
    add(source);
    REQUIRE_OK(treadle_source_signal_and_wake(source));
}
static void *close_scope(void *unused) {
    REQUIRE_OK(treadle_scope_close(scope, TREADLE_FOREVER));
    REQUIRE(counted(&freed) == 1);
    use_released();
    return unused;
}
static void end(pthread_t owner, int calls) {
    REQUIRE_OK(treadle_loop_request_stop(loop, 0));
    join_owner(owner);
    REQUIRE(counted(&called) == calls && calls <= 1 && counted(&freed) == 1);
    REQUIRE_OK(treadle_release(source));
    REQUIRE_OK(treadle_release(scope));
}
SCENE(a_scope_is_closed_while_an_item_calls_its_routine, "SCOPE-2, SCOPE-3") {
    pthread_t owner = start_owner(signal_one_with_a_routine);
    close_scope(NULL);
    end(owner, counted(&called));
}
SCENE(a_scope_is_closed_by_two_while_an_item_calls_its_routine, "SCOPE-2, SCOPE-3") {
    pthread_t owner = start_owner(signal_one_with_a_routine), other = start(close_scope, NULL);
    close_scope(NULL);
    int calls = counted(&called);
    join(other);
    end(owner, calls);
}
