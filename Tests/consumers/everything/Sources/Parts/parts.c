/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors */
#include "parts.h"

#include <CoreFoundation/CFRunLoop.h>
#include <dlfcn.h>
#include <stdio.h>
#include <treadle.h>

/* Each part says its name when its turn comes, and gives the next one its turn: so the order does not depend on how long
 * anything takes. The timers of all are there from the start, and wait for an hour. */
static const double hour = 3600;
static treadle_timer timer_of_c;
static CFRunLoopTimerRef timer_of_cf;
static int (*run_python)(const char *);

static void say(const char *name) {
    printf("%s\n", name);
    fflush(stdout);
}

static void say_c(treadle_timer timer, void *info) {
    (void)info;
    say("C");
    CFRunLoopTimerSetNextFireDate(timer_of_cf, CFAbsoluteTimeGetCurrent());
    treadle_timer_release(timer);
}

int start_c(void) {
    return treadle_timer_start((int64_t)(hour * 1e9), 0, say_c, NULL, &timer_of_c) == TREADLE_OK;
}
int turn_of_c(void) { return treadle_timer_arm(timer_of_c, 0) == TREADLE_OK; }

static void say_cf(CFRunLoopTimerRef timer, void *info) {
    (void)info;
    say("CoreFoundation's names");
    run_python("timer.next_fire = time.monotonic()");
    CFRelease(timer);
}

int start_cf(void) {
    CFAbsoluteTime date = CFAbsoluteTimeGetCurrent() + hour;
    timer_of_cf = CFRunLoopTimerCreate(kCFAllocatorDefault, date, 0, 0, 0, say_cf, NULL);
    if (!timer_of_cf) return 0;
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer_of_cf, kCFRunLoopDefaultMode);
    return 1;
}

int start_python(const char *library) {
    void *python = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    if (!python) return fprintf(stderr, "%s\n", dlerror()), 0;
    void (*initialise)(int) = (void (*)(int))dlsym(python, "Py_InitializeEx");
    run_python = (int (*)(const char *))dlsym(python, "PyRun_SimpleString");
    if (!initialise || !run_python) return 0;
    initialise(0);
    return run_python("import time, treadle\n"
                      "timer = treadle.Timer(lambda timer: print('Python', flush=True), delay=3600)\n"
                      "treadle.RunLoop.current().add(timer)\n") == 0;
}
