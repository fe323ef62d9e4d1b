/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Small programs in CF names whose traces are compared; see scripts/test-cf-differential.
 * Usage: program -l | program NAME */
#include "trace.h"

struct scenario {
    const char *name;
    void (*run)(void);
    int on_main;
    struct scenario *next;
};
static struct scenario *scenarios, **last = &scenarios;
#define ADD(name_, main_)                                                        \
    static void run_##name_(void);                                               \
    static struct scenario entry_##name_ = {#name_, run_##name_, main_, NULL};   \
    __attribute__((constructor)) static void add_##name_(void) {                 \
        *last = &entry_##name_;                                                  \
        last = &entry_##name_.next;                                              \
    }                                                                            \
    static void run_##name_(void)
#define SCENARIO(name) ADD(name, 0)
#define MAIN_SCENARIO(name) ADD(name, 1)

static struct part a = {.name = "a"}, b = {.name = "b"}, c = {.name = "c"}, o = {.name = "o"}, p = {.name = "p"};

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
static void stop(struct part *part) {
    (void)part;
    CFRunLoopStop(LOOP);
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
SCENARIO(an_observer_is_called_once) {
    keep_busy(DEFAULT);
    make_observer(&a, kCFRunLoopBeforeTimers, false, 0);
    CFRunLoopAddObserver(LOOP, a.observer, DEFAULT);
    CFRunLoopAddObserver(LOOP, a.observer, CFSTR("m"));
    run(DEFAULT, 0, false);
    run(DEFAULT, 0, false);
    say("%d%d", CFRunLoopObserverIsValid(a.observer), CFRunLoopContainsObserver(LOOP, a.observer, CFSTR("m")));
}
static void invalidate_p(struct part *part) {
    (void)part;
    CFRunLoopObserverInvalidate(p.observer);
}
static void remove_p(struct part *part) {
    (void)part;
    CFRunLoopRemoveObserver(LOOP, p.observer, DEFAULT);
}
SCENARIO(an_observer_invalidates_the_next) {
    keep_busy(DEFAULT);
    o.also = invalidate_p;
    add_observer(&o, kCFRunLoopBeforeTimers, 0, DEFAULT);
    add_observer(&p, kCFRunLoopBeforeTimers, 1, DEFAULT);
    run(DEFAULT, 0, false);
}
SCENARIO(an_observer_removes_the_next) {
    keep_busy(DEFAULT);
    o.also = remove_p;
    add_observer(&o, kCFRunLoopBeforeTimers, 0, DEFAULT);
    add_observer(&p, kCFRunLoopBeforeTimers, 1, DEFAULT);
    run(DEFAULT, 0, false);
}
static void invalidate_source_b(struct part *part) {
    (void)part;
    CFRunLoopSourceInvalidate(b.source);
}
static void remove_source_b(struct part *part) {
    (void)part;
    CFRunLoopRemoveSource(LOOP, b.source, DEFAULT);
}
SCENARIO(a_source_invalidates_the_next) {
    a.also = invalidate_source_b;
    add_source(&a, 0, DEFAULT);
    add_source(&b, 1, DEFAULT);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceSignal(b.source);
    run(DEFAULT, 0, false);
}
SCENARIO(a_source_removes_the_next) {
    a.also = remove_source_b;
    add_source(&a, 0, DEFAULT);
    add_source(&b, 1, DEFAULT);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopSourceSignal(b.source);
    run(DEFAULT, 0, false);
}
SCENARIO(blocks_keep_their_order) {
    keep_busy(DEFAULT);
    keep_busy(CFSTR("m"));
    const void *both[] = {CFSTR("m"), DEFAULT};
    CFArrayRef modes = CFArrayCreate(NULL, both, 2, &kCFTypeArrayCallBacks);
    CFRunLoopPerformBlock(LOOP, CFSTR("m"), ^{ say("m"); });
    CFRunLoopPerformBlock(LOOP, DEFAULT, ^{
        say("1");
        CFRunLoopPerformBlock(LOOP, DEFAULT, ^{ say("later"); });
    });
    CFRunLoopPerformBlock(LOOP, modes, ^{ say("2"); });
    CFRunLoopPerformBlock(LOOP, kCFRunLoopCommonModes, ^{ say("3"); });
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    run(DEFAULT, 0, false);
    run(CFSTR("m"), 0, false);
}
SCENARIO(a_run_of_blocks_alone) {
    CFRunLoopPerformBlock(LOOP, DEFAULT, ^{ say("block"); });
    run(DEFAULT, 0.05, false);
}
static void wake(struct part *part) {
    (void)part;
    CFRunLoopWakeUp(LOOP);
}
static void wake_then_stop(struct part *part) {
    if (part->count == 1) CFRunLoopWakeUp(LOOP);
    else CFRunLoopStop(LOOP);
}
SCENARIO(a_wake_before_the_sleep_ends_it) {
    keep_busy(DEFAULT);
    o.also = wake_then_stop;
    add_observer(&o, kCFRunLoopBeforeWaiting, 0, DEFAULT);
    add_observer(&p, kCFRunLoopAllActivities, 1, DEFAULT);
    run(DEFAULT, 5, false);
}
SCENARIO(a_poll_with_a_wake_and_a_due_timer) {
    a.also = wake;
    add_source(&a, 0, DEFAULT);
    add_timer(&b, NOW - 1, 0, DEFAULT);
    CFRunLoopSourceSignal(a.source);
    run(DEFAULT, 0, false);
}
static struct sleeper sleeper;
static void *signal_and_wake(void *argument) {
    (void)argument;
    await_sleep(&sleeper);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopWakeUp(sleeper.loop);
    return NULL;
}
static void *stop_sleeper(void *argument) {
    (void)argument;
    await_sleep(&sleeper);
    CFRunLoopStop(sleeper.loop);
    return NULL;
}
static void with_thread(void *(*body)(void *), double seconds, Boolean once) {
    pthread_t thread;
    watch_sleep(&sleeper);
    pthread_create(&thread, NULL, body, NULL);
    run(DEFAULT, seconds, once);
    pthread_join(thread, NULL);
}
SCENARIO(another_thread_signals_and_wakes) {
    add_source(&a, 0, DEFAULT);
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    with_thread(signal_and_wake, 60, true);
}
SCENARIO(another_thread_stops_a_sleep) {
    keep_busy(DEFAULT);
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    with_thread(stop_sleeper, 60, false);
}
static void *add_and_wait(void *argument) {
    (void)argument;
    await_sleep(&sleeper);
    make_source(&a, 0);
    CFRunLoopSourceSignal(a.source);
    CFRunLoopAddSource(sleeper.loop, a.source, DEFAULT);
    return NULL;
}
SCENARIO(another_thread_adds_a_signalled_source) {
    keep_busy(DEFAULT);
    with_thread(add_and_wait, 2, true);
}
static void *add_due_timer(void *argument) {
    (void)argument;
    await_sleep(&sleeper);
    CFRunLoopAddTimer(sleeper.loop, a.timer, DEFAULT);
    return NULL;
}
SCENARIO(another_thread_adds_a_due_timer) {
    keep_busy(DEFAULT);
    a.also = stop;
    make_timer(&a, NOW - 1, 0);
    with_thread(add_due_timer, 60, false);
}
SCENARIO(two_sources_alike) {
    CFRunLoopSourceContext context = {.info = &a, .perform = perform_part};
    CFRunLoopSourceRef one = CFRunLoopSourceCreate(NULL, 0, &context), other = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(LOOP, one, DEFAULT);
    CFRunLoopAddSource(LOOP, other, DEFAULT);
    CFRunLoopSourceSignal(one);
    CFRunLoopSourceSignal(other);
    run(DEFAULT, 0, false);
}
static Boolean equal_names(const void *x, const void *y) { return ((struct part *)x)->name[0] == ((struct part *)y)->name[0]; }
static CFHashCode hash_name(const void *x) { return (CFHashCode)((struct part *)x)->name[0]; }
SCENARIO(sources_that_are_equal_by_value) {
    struct part twin = {.name = "a"};
    CFRunLoopSourceContext context = {.info = &a, .perform = perform_part, .equal = equal_names, .hash = hash_name};
    CFRunLoopSourceRef one = CFRunLoopSourceCreate(NULL, 0, &context);
    context.info = &twin;
    CFRunLoopSourceRef other = CFRunLoopSourceCreate(NULL, 0, &context);
    say("%d", CFEqual(one, other));
    CFRunLoopAddSource(LOOP, one, DEFAULT);
    say("%d", CFRunLoopContainsSource(LOOP, other, DEFAULT));
    CFRunLoopAddSource(LOOP, other, DEFAULT);
    CFRunLoopSourceSignal(one);
    CFRunLoopSourceSignal(other);
    run(DEFAULT, 0, false);
}
static const void *say_retain(const void *info) {
    say("retain");
    return info;
}
static void say_release(const void *info) {
    (void)info;
    say("release");
}
SCENARIO(a_source_releases_its_context_when_it_is_freed) {
    CFRunLoopSourceContext context = {.info = &a, .perform = perform_part, .retain = say_retain, .release = say_release};
    a.source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(LOOP, a.source, DEFAULT);
    CFRelease(a.source);
    CFRunLoopSourceSignal(a.source);
    run(DEFAULT, 0, false);
    CFRetain(a.source);
    CFRunLoopSourceInvalidate(a.source);
    say("invalid");
    CFRelease(a.source);
}
SCENARIO(a_timer_holds_its_context_while_it_fires) {
    CFRunLoopTimerContext context = {.info = &a, .retain = say_retain, .release = say_release};
    a.timer = CFRunLoopTimerCreate(NULL, NOW, 0, 0, 0, fire_part, &context);
    CFRunLoopAddTimer(LOOP, a.timer, DEFAULT);
    say("run");
    run(DEFAULT, 5, false);
    CFRunLoopTimerGetContext(a.timer, &context);
    say("%d", context.info == NULL);
}
static void end_self(struct part *part) {
    CFRunLoopObserverInvalidate(part->observer);
    say("ended");
}
SCENARIO(an_observer_ends_itself) {
    keep_busy(DEFAULT);
    o.also = end_self;
    CFRunLoopObserverContext context = {.info = &o, .retain = say_retain, .release = say_release};
    o.observer = CFRunLoopObserverCreate(NULL, kCFRunLoopEntry, true, 0, notify_part, &context);
    CFRunLoopAddObserver(LOOP, o.observer, DEFAULT);
    run(DEFAULT, 0, false);
}
static int event;
static int event_port(void *info) {
    (void)info;
    return event;
}
static void drain(void *info) {
    eventfd_t value;
    eventfd_read(event, &value); /* nothing is left here where the loop has read it */
    perform_part(info);
}
SCENARIO(a_port_that_is_ready_at_once) {
    event = eventfd(0, EFD_NONBLOCK);
    CFRunLoopSourceContext1 context = {.version = 1, .info = &a, .getPort = event_port, .perform = drain};
    a.source = CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context);
    CFRunLoopAddSource(LOOP, a.source, DEFAULT);
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    eventfd_write(event, 1);
    run(DEFAULT, 5, true);
}
static void *post_event(void *argument) {
    (void)argument;
    await_sleep(&sleeper);
    eventfd_write(event, 1);
    return NULL;
}
SCENARIO(a_port_wakes_a_sleep) {
    event = eventfd(0, EFD_NONBLOCK);
    CFRunLoopSourceContext1 context = {.version = 1, .info = &a, .getPort = event_port, .perform = drain};
    a.source = CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context);
    CFRunLoopAddSource(LOOP, a.source, DEFAULT);
    add_observer(&o, kCFRunLoopAllActivities, 0, DEFAULT);
    with_thread(post_event, 60, true);
}
MAIN_SCENARIO(the_main_loop_with_nothing_to_do) {
    run(DEFAULT, 0.05, false);
}
SCENARIO(the_common_name_as_another_string) {
    CFMutableStringRef name = CFStringCreateMutableCopy(NULL, 0, CFSTR("kCFRunLoopCommon"));
    CFStringAppend(name, CFSTR("Modes"));
    make_source(&a, 0);
    CFRunLoopAddSource(LOOP, a.source, name);
    say("%d", CFRunLoopContainsSource(LOOP, a.source, DEFAULT));
}
SCENARIO(a_tolerance) {
    make_timer(&a, NOW + 1000, 10);
    CFRunLoopTimerSetTolerance(a.timer, 2);
    say("%d", (int)CFRunLoopTimerGetTolerance(a.timer));
}
static CFRunLoopRef kept_loop;
static void *keep_loop(void *argument) {
    (void)argument;
    kept_loop = (CFRunLoopRef)CFRetain(CFRunLoopGetCurrent());
    return NULL;
}
SCENARIO(the_loop_of_a_thread_that_ended) {
    pthread_t thread;
    pthread_create(&thread, NULL, keep_loop, NULL);
    pthread_join(thread, NULL);
    make_source(&a, 0);
    CFRunLoopAddSource(kept_loop, a.source, DEFAULT);
    say("%d", CFRunLoopContainsSource(kept_loop, a.source, DEFAULT));
    CFRunLoopWakeUp(kept_loop);
    CFRunLoopStop(kept_loop);
    say("%d", CFRunLoopIsWaiting(kept_loop));
}
SCENARIO(strings_and_containers) {
    CFStringRef text = CFStringCreateWithFormat(NULL, NULL, CFSTR("%@-%03d-%s-%.1f"), CFSTR("x"), 7, "y", 2.5);
    char buffer[100];
    CFStringGetCString(text, buffer, sizeof buffer, kCFStringEncodingUTF8);
    say("%s %d", buffer, (int)CFStringGetLength(text));
    say("%d", (int)CFStringCompare(CFSTR("a"), CFSTR("B"), 0));
    say("%d", (int)CFStringCompare(CFSTR("a"), CFSTR("B"), kCFCompareCaseInsensitive));
    CFArrayRef parts = CFStringCreateArrayBySeparatingStrings(NULL, CFSTR("a,,b"), CFSTR(","));
    say("%d", (int)CFArrayGetCount(parts));
    int number = 300;
    CFNumberRef n = CFNumberCreate(NULL, kCFNumberIntType, &number);
    double real = 0;
    say("%d%d", CFNumberGetValue(n, kCFNumberDoubleType, &real), real == 300);
    CFMutableDictionaryRef dictionary = CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFDictionaryAddValue(dictionary, CFSTR("k"), n);
    CFDictionaryAddValue(dictionary, CFSTR("k"), CFSTR("other"));
    say("%d%d", CFEqual(CFDictionaryGetValue(dictionary, CFSTR("k")), n), (int)CFDictionaryGetCount(dictionary));
    CFIndex used = 0;
    UInt8 bytes[10];
    say("%d", (int)CFStringGetBytes(CFSTR("abc"), CFRangeMake(0, 3), kCFStringEncodingUTF8, 0, false, bytes, 2, &used));
    say("%d", (int)used);
    CFRange found = CFStringFind(CFSTR("hello"), CFSTR("l"), 0);
    say("%d,%d", (int)found.location, (int)found.length);
}

static void *thread_body(void *argument) {
    ((struct scenario *)argument)->run();
    return NULL;
}

int main(int count, char **arguments) {
    alarm(120);
    for (struct scenario *each = scenarios; each; each = each->next) {
        if (count == 2 && strcmp(arguments[1], "-l") == 0) puts(each->name);
        if (count != 2 || strcmp(arguments[1], each->name) != 0) continue;
        pthread_t thread;
        if (each->on_main) {
            each->run();
        } else {
            pthread_create(&thread, NULL, thread_body, each);
            pthread_join(thread, NULL);
        }
        putchar('\n');
        fflush(stdout);
        _exit(0);
    }
    return 0;
}
