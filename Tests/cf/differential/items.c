/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Scenarios of observers, mutations, blocks, threads, contexts and values. */
#include "scenario.h"

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
/* a fires first, and does something to b, which is due as well. */
static void run_two_due_timers(void (*also)(struct part *)) {
    a.also = also;
    add_timer(&a, NOW - 2, 0, DEFAULT);
    add_timer(&b, NOW - 1, 0, DEFAULT);
    keep_busy(DEFAULT);
    settle();
    run(DEFAULT, 0, false);
    run(DEFAULT, 0, false);
}
static void remove_timer_b(struct part *part) {
    (void)part;
    CFRunLoopRemoveTimer(LOOP, b.timer, DEFAULT);
}
static void add_timer_b_again(struct part *part) {
    remove_timer_b(part);
    CFRunLoopAddTimer(LOOP, b.timer, DEFAULT);
}
static void move_timer_b(struct part *part) {
    remove_timer_b(part);
    CFRunLoopAddTimer(LOOP, b.timer, CFSTR("m"));
}
SCENARIO(a_timer_removes_the_next) { run_two_due_timers(remove_timer_b); }
SCENARIO(a_timer_removes_the_next_and_adds_it_again) { run_two_due_timers(add_timer_b_again); }
SCENARIO(a_timer_moves_the_next_to_another_mode) { run_two_due_timers(move_timer_b); }
SCENARIO(a_timer_removes_the_next_from_one_of_two_modes) {
    make_timer(&a, NOW - 2, 0);
    add_timer(&b, NOW - 1, 0, CFSTR("m"));
    run_two_due_timers(remove_timer_b);
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
