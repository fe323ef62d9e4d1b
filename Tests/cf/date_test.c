/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * The dates of timers: those that are asked for, those that come next, and what a mode says while one fires. */
#include "helpers.h"
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOP CFRunLoopGetCurrent()
#define DEFAULT kCFRunLoopDefaultMode

struct seen {
    CFAbsoluteTime before, mode, own, moved; /* moved: where the callback moves its timer, or 0 */
    CFRunLoopTimerRef other;
    int calls;
};
static void look(CFRunLoopTimerRef timer, void *info) {
    struct seen *seen = info;
    seen->calls++;
    seen->before = CFRunLoopGetNextTimerFireDate(LOOP, DEFAULT);
    if (seen->moved) CFRunLoopTimerSetNextFireDate(timer, seen->moved);
    if (seen->other) CFRunLoopRunInMode(DEFAULT, 0, true);
    seen->mode = CFRunLoopGetNextTimerFireDate(LOOP, DEFAULT);
    seen->own = CFRunLoopTimerGetNextFireDate(timer);
}
static CFRunLoopTimerRef add(CFAbsoluteTime date, CFTimeInterval interval, struct seen *seen) {
    CFRunLoopTimerContext context = {.info = seen};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, date, interval, 0, 0, look, &context);
    CFRunLoopAddTimer(LOOP, timer, DEFAULT);
    return timer;
}
static void finish(CFRunLoopTimerRef timer) {
    CFRunLoopTimerInvalidate(timer);
    CFRelease(timer);
}
static void poll_once(void) { CFRunLoopRunInMode(DEFAULT, 0, false); }

TEST(the_date_of_a_timer_that_fires_is_the_modes, "TMR-8") {
    keep_busy(LOOP, CFSTR("other"));
    for (int repeats = 0; repeats < 2; repeats++) {
        struct seen seen = {0};
        CFAbsoluteTime date = CFAbsoluteTimeGetCurrent() - 1;
        CFRunLoopTimerRef timer = add(date, repeats ? 1000 : 0, &seen);
        poll_once();
        CHECK(seen.calls == 1 && seen.before == date && seen.mode == date && seen.own == date);
        CFAbsoluteTime next = CFRunLoopGetNextTimerFireDate(LOOP, DEFAULT);
        CHECK(next == CFRunLoopTimerGetNextFireDate(timer));
        CHECK(repeats ? next > date + 999 && next < date + 1001 : next == 0);
        finish(timer);
    }
}

TEST(a_timer_that_is_moved_while_it_fires_says_where_to, "TMR-8") {
    struct seen seen = {.moved = CFAbsoluteTimeGetCurrent() + 700}, later = {0};
    CFRunLoopTimerRef timer = add(CFAbsoluteTimeGetCurrent() - 1, 1000, &seen);
    poll_once();
    CHECK(seen.calls == 1 && seen.mode == seen.moved && seen.own == seen.moved);
    CFRunLoopTimerRef second = add(seen.moved - 1, 0, &later);
    CHECK(CFRunLoopGetNextTimerFireDate(LOOP, DEFAULT) == seen.moved - 1);
    finish(second);
    finish(timer);
}

TEST(nested_runs_know_the_timers_around_them, "TMR-8") {
    CFAbsoluteTime now = CFAbsoluteTimeGetCurrent();
    struct seen inner = {0}, outer = {0};
    CFRunLoopTimerRef first = add(now - 2, 1000, &outer), second = add(now - 1, 0, &inner);
    outer.other = second;
    poll_once();
    CHECK(outer.calls == 1 && outer.before == now - 2 && outer.mode == now - 2);
    CHECK(inner.calls == 1 && inner.before == now - 2);
    finish(first);
    finish(second);
}

TEST(a_distant_past_has_a_next_date, "TMR-1 TMR-8") {
    static const CFAbsoluteTime dates[] = {-63114076800.0, -1e300, -2e9, -1999999999.5, 0, 1e-9};
    for (unsigned i = 0; i < sizeof dates / sizeof *dates; i++) {
        struct seen seen = {0};
        CFAbsoluteTime now = CFAbsoluteTimeGetCurrent();
        CFRunLoopTimerRef timer = add(dates[i], 100, &seen);
        CHECK(CFRunLoopTimerGetNextFireDate(timer) == dates[i]);
        poll_once();
        CHECK_INT(seen.calls, 1);
        CHECK(seen.own == dates[i]);
        CFAbsoluteTime next = CFRunLoopTimerGetNextFireDate(timer);
        CHECK(next > now && next <= CFAbsoluteTimeGetCurrent() + 101);
        CHECK(CFRunLoopGetNextTimerFireDate(LOOP, DEFAULT) == next);
        finish(timer);
    }
}

/* The library's looks at the clocks come here; the thread is held up for 20 ms before the one that is counted down to. */
static int looks_until_late;
int clock_gettime(clockid_t clock, struct timespec *time) {
    struct timespec pause = {.tv_nsec = 20000000};
    if (looks_until_late > 0 && --looks_until_late == 0) nanosleep(&pause, NULL);
    return (int)syscall(SYS_clock_gettime, clock, time);
}
TEST(a_thread_that_is_held_up_between_the_clocks_gets_the_same_dates, "TMR-1 TMR-8") {
    for (int look = 1; look <= 8; look++) {
        int status = 1;
        pid_t child = fork(); /* whose dates are its first ones */
        if (child == 0) {
            struct seen seen = {0};
            CFAbsoluteTime date = CFAbsoluteTimeGetCurrent() + 1000;
            looks_until_late = look;
            CFRunLoopTimerRef timer = add(date, 0, &seen);
            CHECK(CFRunLoopGetNextTimerFireDate(LOOP, DEFAULT) == date && CFRunLoopTimerGetNextFireDate(timer) == date);
            CHECK(CFRunLoopGetNextTimerFireDate(LOOP, DEFAULT) == date);
            CHECK_INT(looks_until_late, 0);
            _exit(0);
        }
        CHECK_INT(waitpid(child, &status, 0), child);
        CHECK_INT(status, 0);
    }
}

/* Dates have a tenth of a microsecond; a mode says them to the last bit. */
TEST(a_mode_says_the_dates_that_were_asked_for, "TMR-1") {
    for (int i = 0; i < 2000; i++) {
        CFAbsoluteTime date = CFAbsoluteTimeGetCurrent() + 1000 + i * 0.123456789;
        struct seen seen = {0};
        CFRunLoopTimerRef timer = add(date, i % 2 ? 0.1 : 0, &seen);
        CHECK(CFRunLoopGetNextTimerFireDate(LOOP, DEFAULT) == date && CFRunLoopTimerGetNextFireDate(timer) == date);
        CFRunLoopTimerSetNextFireDate(timer, date / 3);
        CHECK(CFRunLoopGetNextTimerFireDate(LOOP, DEFAULT) == date / 3);
        finish(timer);
    }
}

TEST_MAIN()
