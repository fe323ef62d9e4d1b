/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Scenarios of runs, sources and timers. */
#include "scenario.h"

#include <math.h>

SCENARIO(empty_modes_finish) {
    run(CFSTR("unknown"), 1, true);
    run(DEFAULT, 1, false);
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    run(DEFAULT, 1, false);
}
SCENARIO(a_poll_notifies_without_sleep) {
    keep_busy(DEFAULT);
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    run(DEFAULT, 0, false);
    run(DEFAULT, -5, true);
}
SCENARIO(a_timeout_ends_a_sleep) {
    keep_busy(DEFAULT);
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    run(DEFAULT, 0.01, false);
}
SCENARIO(observers_have_an_order) {
    keep_busy(DEFAULT);
    add_observer(&c, kCFRunLoopEntry | kCFRunLoopExit, 5, DEFAULT);
    add_observer(&a, kCFRunLoopEntry | kCFRunLoopExit, -3, DEFAULT);
    add_observer(&o, kCFRunLoopEntry | kCFRunLoopExit, 5, DEFAULT);
    add_observer(&b, kCFRunLoopEntry, 0, DEFAULT);
    run(DEFAULT, 0, false);
}
SCENARIO(a_source_is_handled_once) {
    add_source(&a, 0, DEFAULT);
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceSignal(a.source);
    run(DEFAULT, 1, true);
    run(DEFAULT, 0, true);
}
SCENARIO(sources_have_an_order) {
    add_source(&a, 2, DEFAULT);
    add_source(&b, 1, DEFAULT);
    add_source(&c, -1, DEFAULT);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceSignal(c.source);
    CFRunLoopSourceSignal(b.source);
    run(DEFAULT, 0, false);
}
SCENARIO(returning_after_a_source_leaves_the_others_signalled) {
    add_source(&a, 1, DEFAULT);
    add_source(&b, 2, DEFAULT);
    CFRunLoopSourceSignal(b.source);
    CFRunLoopSourceSignal(a.source);
    run(DEFAULT, 1, true);
    run(DEFAULT, 1, true);
    run(DEFAULT, 0, true);
}
static void invalidate_source(struct part *part) { CFRunLoopSourceInvalidate(part->source); }
SCENARIO(a_source_that_empties_the_mode_finishes_the_run) {
    a.also = invalidate_source;
    add_source(&a, 0, DEFAULT);
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    CFRunLoopSourceSignal(a.source);
    run(DEFAULT, 5, false);
    say("valid %d", CFRunLoopSourceIsValid(a.source));
}
static void signal_twice(struct part *part) {
    if (part->count < 3) CFRunLoopSourceSignal(part->source);
    else CFRunLoopSourceInvalidate(part->source);
}
SCENARIO(a_signal_in_perform_is_a_new_one) {
    a.also = signal_twice;
    add_source(&a, 0, DEFAULT);
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    CFRunLoopSourceSignal(a.source);
    run(DEFAULT, 5, false);
}
SCENARIO(a_source_stops_the_run) {
    a.also = stop;
    add_source(&a, 0, DEFAULT);
    add_source(&b, 1, DEFAULT);
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceSignal(b.source);
    run(DEFAULT, 5, false);
}
SCENARIO(a_stop_with_a_handled_source) {
    a.also = stop;
    add_source(&a, 0, DEFAULT);
    CFRunLoopSourceSignal(a.source);
    run(DEFAULT, 5, true);
}
SCENARIO(a_stop_in_a_poll) {
    a.also = stop;
    add_source(&a, 0, DEFAULT);
    CFRunLoopSourceSignal(a.source);
    run(DEFAULT, 0, false);
}
SCENARIO(a_stop_at_the_entry) {
    keep_busy(DEFAULT);
    o.also = stop;
    add_observer(&o, kCFRunLoopEntry, 0, DEFAULT);
    add_observer(&p, kCFRunLoopAllActivities, 1, DEFAULT);
    run(DEFAULT, 5, false);
}
SCENARIO(a_stop_without_a_run_is_forgotten) {
    keep_busy(DEFAULT);
    CFRunLoopStop(LOOP);
    CFRunLoopWakeUp(LOOP);
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    run(DEFAULT, 0.01, false);
}
SCENARIO(a_stop_at_the_exit_has_no_effect) {
    keep_busy(DEFAULT);
    o.also = stop;
    add_observer(&o, kCFRunLoopExit, 0, DEFAULT);
    run(DEFAULT, 0, false);
    run(DEFAULT, 0, false);
}
SCENARIO(a_stop_in_a_block) {
    keep_busy(DEFAULT);
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    CFRunLoopPerformBlock(LOOP, DEFAULT, ^{ CFRunLoopStop(CFRunLoopGetCurrent()); });
    run(DEFAULT, 5, false);
}
static void schedule(void *info, CFRunLoopRef loop, CFStringRef mode) {
    char text[100];
    CFStringGetCString(mode, text, sizeof text, kCFStringEncodingUTF8);
    say("+%s:%s:%d", ((struct part *)info)->name, text, loop == LOOP);
}
static void cancel(void *info, CFRunLoopRef loop, CFStringRef mode) {
    char text[100];
    CFStringGetCString(mode, text, sizeof text, kCFStringEncodingUTF8);
    say("-%s:%s:%d", ((struct part *)info)->name, text, loop == LOOP);
}
static void make_scheduled(struct part *part) {
    CFRunLoopSourceContext context = {.info = part, .perform = perform_part, .schedule = schedule, .cancel = cancel};
    part->source = CFRunLoopSourceCreate(NULL, 0, &context);
}
SCENARIO(schedule_and_cancel_follow_the_modes) {
    make_scheduled(&a);
    CFRunLoopAddSource(LOOP, a.source, DEFAULT);
    CFRunLoopAddSource(LOOP, a.source, DEFAULT);
    CFRunLoopAddSource(LOOP, a.source, CFSTR("m"));
    say("%d%d", CFRunLoopContainsSource(LOOP, a.source, DEFAULT), CFRunLoopContainsSource(LOOP, a.source, CFSTR("n")));
    CFRunLoopRemoveSource(LOOP, a.source, DEFAULT);
    CFRunLoopRemoveSource(LOOP, a.source, DEFAULT);
    CFRunLoopSourceInvalidate(a.source);
    CFRunLoopSourceInvalidate(a.source);
    CFRunLoopAddSource(LOOP, a.source, DEFAULT);
    say("%d%d", CFRunLoopContainsSource(LOOP, a.source, DEFAULT), CFRunLoopSourceIsValid(a.source));
}
SCENARIO(common_modes_receive_the_common_items) {
    make_scheduled(&a);
    CFRunLoopAddSource(LOOP, a.source, kCFRunLoopCommonModes);
    CFRunLoopAddCommonMode(LOOP, CFSTR("m"));
    CFRunLoopAddCommonMode(LOOP, CFSTR("m"));
    say("%d%d", CFRunLoopContainsSource(LOOP, a.source, kCFRunLoopCommonModes), CFRunLoopContainsSource(LOOP, a.source, CFSTR("m")));
    CFRunLoopRemoveSource(LOOP, a.source, CFSTR("m"));
    say("%d%d", CFRunLoopContainsSource(LOOP, a.source, kCFRunLoopCommonModes), CFRunLoopContainsSource(LOOP, a.source, CFSTR("m")));
    CFRunLoopRemoveSource(LOOP, a.source, kCFRunLoopCommonModes);
    say("%d%d", CFRunLoopContainsSource(LOOP, a.source, kCFRunLoopCommonModes), CFRunLoopContainsSource(LOOP, a.source, DEFAULT));
}
SCENARIO(modes_come_from_items_alone) {
    add_source(&a, 0, CFSTR("one"));
    run(CFSTR("two"), 0, false);
    CFRunLoopRemoveSource(LOOP, a.source, CFSTR("three"));
    CFArrayRef modes = CFRunLoopCopyAllModes(LOOP);
    CFRange all = CFRangeMake(0, CFArrayGetCount(modes));
    say("%d", (int)all.length);
    say("%d%d%d", CFArrayContainsValue(modes, all, DEFAULT), CFArrayContainsValue(modes, all, CFSTR("one")), CFArrayContainsValue(modes, all, CFSTR("two")));
}
static void show_mode(struct part *part) {
    (void)part;
    CFStringRef mode = CFRunLoopCopyCurrentMode(LOOP);
    char text[100] = "none";
    if (mode) CFStringGetCString(mode, text, sizeof text, kCFStringEncodingUTF8);
    say("(%s)", text);
}
static void run_other(struct part *part) {
    show_mode(part);
    run(CFSTR("other"), 0.5, true);
    show_mode(part);
}
SCENARIO(a_nested_run_has_its_own_mode) {
    a.also = run_other;
    b.also = show_mode;
    add_source(&a, 0, DEFAULT);
    add_source(&b, 0, CFSTR("other"));
    add_observer(&o, kCFRunLoopEntry | kCFRunLoopExit, 0, DEFAULT);
    add_observer(&p, kCFRunLoopEntry | kCFRunLoopExit, 0, CFSTR("other"));
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceSignal(b.source);
    run(DEFAULT, 0, false);
    show_mode(&a);
}
static void run_same(struct part *part) {
    if (part->count == 1) run(DEFAULT, 0, false);
}
SCENARIO(a_nested_run_takes_what_was_collected) {
    a.also = run_same;
    add_source(&a, 0, DEFAULT);
    add_source(&b, 1, DEFAULT);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceSignal(b.source);
    run(DEFAULT, 0, false);
}
SCENARIO(a_nested_stop_leaves_the_outer_run) {
    a.also = run_other;
    b.also = stop;
    add_source(&a, 0, DEFAULT);
    make_timer(&b, NOW, 0);
    CFRunLoopAddTimer(LOOP, b.timer, CFSTR("other"));
    CFRunLoopSourceSignal(a.source);
    run(DEFAULT, 0.01, false);
}
static void show_validity(struct part *part) { say("valid %d next %d", CFRunLoopTimerIsValid(part->timer), CFRunLoopTimerGetNextFireDate(part->timer) > 0); }
SCENARIO(a_one_shot_ends_after_its_callback) {
    a.also = show_validity;
    add_timer(&a, NOW + 0.003, 0, DEFAULT);
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    run(DEFAULT, 5, false);
    show_validity(&a);
    say("%d", CFRunLoopContainsTimer(LOOP, a.timer, DEFAULT));
}
SCENARIO(timers_fire_by_their_dates) {
    CFAbsoluteTime now = NOW;
    add_timer(&b, now + 0.006, 0, DEFAULT);
    add_timer(&c, now + 0.009, 0, DEFAULT);
    add_timer(&a, now + 0.003, 0, DEFAULT);
    run(DEFAULT, 5, false);
}
SCENARIO(timers_with_past_dates) {
    CFAbsoluteTime now = NOW;
    add_timer(&b, now - 1, 0, DEFAULT);
    add_timer(&a, now - 2, 0, DEFAULT);
    run(DEFAULT, 5, false);
}
static void end_after_three(struct part *part) {
    if (part->count == 3) CFRunLoopTimerInvalidate(part->timer);
}
SCENARIO(a_repeating_timer_is_ended) {
    a.also = end_after_three;
    add_timer(&a, NOW, 0.002, DEFAULT);
    run(DEFAULT, 5, false);
    say("%d%d", CFRunLoopTimerDoesRepeat(a.timer), CFRunLoopTimerGetInterval(a.timer) == 0.002);
}
static void move_timer(struct part *part) {
    if (part->count < 3) CFRunLoopTimerSetNextFireDate(part->timer, NOW - 1);
    else CFRunLoopStop(LOOP);
}
SCENARIO(a_timer_moves_itself) {
    a.also = move_timer;
    add_timer(&a, NOW, 1000, DEFAULT);
    run(DEFAULT, 5, false);
}
static void run_and_show(struct part *part) {
    (void)part;
    run(DEFAULT, 0.3, false);
    CFRunLoopStop(LOOP);
}
SCENARIO(a_timer_does_not_enter_itself) {
    a.also = run_and_show;
    add_timer(&a, NOW, 0.001, DEFAULT);
    add_timer(&b, NOW + 0.005, 0, DEFAULT);
    run(DEFAULT, 5, false);
}
static void invalidate_b(struct part *part) {
    (void)part;
    CFRunLoopTimerInvalidate(b.timer);
}
SCENARIO(a_timer_invalidates_one_that_is_due) {
    a.also = invalidate_b;
    CFAbsoluteTime now = NOW;
    add_timer(&a, now + 0.001, 0, DEFAULT);
    add_timer(&b, now + 0.002, 0, DEFAULT);
    usleep(5000);
    run(DEFAULT, 1, false);
}
SCENARIO(a_timer_belongs_to_one_loop) {
    keep_busy(DEFAULT);
    make_timer(&a, NOW + 1000, 0);
    CFRunLoopAddTimer(LOOP, a.timer, CFSTR("m"));
    CFRunLoopAddTimer(CFRunLoopGetMain(), a.timer, CFSTR("m"));
    say("%d%d", CFRunLoopContainsTimer(LOOP, a.timer, CFSTR("m")), CFRunLoopContainsTimer(CFRunLoopGetMain(), a.timer, CFSTR("m")));
    CFRunLoopRemoveTimer(LOOP, a.timer, CFSTR("m"));
    CFRunLoopAddTimer(CFRunLoopGetMain(), a.timer, CFSTR("m"));
    say("%d%d", CFRunLoopContainsTimer(LOOP, a.timer, CFSTR("m")), CFRunLoopContainsTimer(CFRunLoopGetMain(), a.timer, CFSTR("m")));
}
SCENARIO(the_next_date_of_a_mode) {
    CFAbsoluteTime date = NOW + 1000;
    add_timer(&a, date + 5, 0, DEFAULT);
    add_timer(&b, date, 0, DEFAULT);
    say("%d", CFRunLoopGetNextTimerFireDate(LOOP, DEFAULT) == date);
    say("%d", CFRunLoopGetNextTimerFireDate(LOOP, CFSTR("m")) == 0);
    CFRunLoopTimerSetNextFireDate(b.timer, date + 10);
    say("%d", CFRunLoopTimerGetNextFireDate(b.timer) == date + 10);
    say("%d", CFRunLoopGetNextTimerFireDate(LOOP, DEFAULT) == date + 5);
}
SCENARIO(dates_have_a_last_one) {
    static const CFAbsoluteTime dates[] = {4039289856.0, 4039289857.0, 5e9, 1e15, 1e308, HUGE_VAL, -1e15, 0};
    for (unsigned i = 0; i < sizeof dates / sizeof *dates; i++) {
        CFRunLoopTimerRef made = CFRunLoopTimerCreate(NULL, dates[i], 0, 0, 0, fire_part, NULL);
        CFRunLoopTimerRef moved = CFRunLoopTimerCreate(NULL, NOW + 1000, 0, 0, 0, fire_part, NULL);
        CFRunLoopTimerSetNextFireDate(moved, dates[i]);
        say("%g %g", CFRunLoopTimerGetNextFireDate(made) - 4e9, CFRunLoopTimerGetNextFireDate(moved) - 4e9);
        CFRunLoopAddTimer(LOOP, moved, DEFAULT);
        CFRunLoopTimerSetNextFireDate(moved, dates[i]);
        say("%g", CFRunLoopGetNextTimerFireDate(LOOP, DEFAULT) - 4e9);
        CFRunLoopTimerInvalidate(moved);
    }
}
#ifdef PEER
extern Boolean CFRunLoopSourceIsSignalled(CFRunLoopSourceRef source); /* exported, but in no header */
#endif
static void say_signalled(struct part *part) { say("%d", CFRunLoopSourceIsSignalled(part->source)); }
SCENARIO(a_source_is_signalled_until_it_is_performed) {
    a.also = say_signalled;
    make_source(&a, 0);
    say_signalled(&a);
    CFRunLoopSourceSignal(a.source);
    say_signalled(&a);
    CFRunLoopAddSource(LOOP, a.source, DEFAULT);
    say_signalled(&a);
    run(DEFAULT, 0, true);
    say_signalled(&a);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceInvalidate(a.source);
    say_signalled(&a);
}
