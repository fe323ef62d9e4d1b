/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * closures.h: what the tests of closures share. Include it first, in place of helpers.h. */
#ifndef TREADLE_TEST_CLOSURES_H
#define TREADLE_TEST_CLOSURES_H

#include "helpers.h"

#include <sys/prctl.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define CLOSURE_CONFIG(...) ((treadle_closure_config){.struct_size = sizeof(treadle_closure_config), __VA_ARGS__})

/* How often an info was destroyed. */
HELPER void count_up(void *info) { atomic_fetch_add((atomic_int *)info, 1); }

HELPER treadle_closure made_of(treadle_closure_config config) {
    treadle_closure closure = NULL;
    CHECK_INT(treadle_closure_create(&config, &closure), TREADLE_OK);
    CHECK(closure != NULL);
    return closure;
}
#define MADE(...) made_of(CLOSURE_CONFIG(__VA_ARGS__))

typedef void (*any_code)(void);
HELPER any_code code_of(treadle_closure closure) {
    any_code code = NULL;
    CHECK_INT(treadle_closure_get_code(closure, &code), TREADLE_OK);
    CHECK(code != NULL);
    return code;
}
#define CODE_OF(type, closure) ((type)code_of(closure))

HELPER treadle_closure_info info_of(treadle_closure closure) {
    treadle_closure_info info = {.struct_size = sizeof info};
    CHECK_INT(treadle_closure_get_info(closure, &info), TREADLE_OK);
    return info;
}
HELPER treadle_closure_pool_info pool_info(void) {
    treadle_closure_pool_info info = {.struct_size = sizeof info};
    CHECK_INT(treadle_closure_pool_get_info(&info), TREADLE_OK);
    return info;
}

/* Retires, lets go, and checks that nothing is left to wait for. */
HELPER void end_closure(treadle_closure closure) {
    CHECK_INT(treadle_closure_close(closure, TREADLE_FOREVER), TREADLE_OK);
    CHECK_INT(info_of(closure).state, TREADLE_CLOSURE_DRAINED);
    CHECK_INT(treadle_closure_release(closure), TREADLE_OK);
}

/* Runs the calling thread's loop until it has performed what is queued. */
HELPER treadle_status handle_one(const char *mode) {
    return treadle_loop_run(treadle_loop_current(), mode, TREADLE_FOREVER, TREADLE_RUN_RETURN_AFTER_SOURCE);
}
HELPER void await_waiting(treadle_closure closure, uint32_t count) {
    while (info_of(closure).waiting != count) sched_yield();
}

/* Whether a tool has executable memory of its own in this process. */
HELPER bool is_instrumented(void) {
    const char *preloaded = getenv("LD_PRELOAD");
    return THREAD_SANITIZER || ADDRESS_SANITIZER || (preloaded && strstr(preloaded, "vgpreload"));
}
/* From now on the kernel refuses it to the process; Linux 6.3 and later. valgrind could not go on. */
HELPER void forbid_executable_memory(void) {
    if (is_instrumented()) return;
    CHECK(prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0 || errno == EINVAL);
}

/* Errors that reach the last resort. */
static atomic_int reports;
static char report_text[512];
HELPER bool count_report(treadle_thread thread, const char *kind, const char *message, void *info) {
    (void)info;
    CHECK(thread != NULL);
    CHECK_TEXT(kind, "closure");
    snprintf(report_text, sizeof report_text, "%s", message);
    atomic_fetch_add(&reports, 1);
    return true;
}
#ifndef TREADLE_PLUGIN
HELPER void watch_reports(void) { CHECK_INT(treadle_set_last_resort(count_report, NULL, NULL), TREADLE_OK); }
#endif

#endif
