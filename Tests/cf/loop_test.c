/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Run loops, sources, timers and observers under their CF names. */
#include "helpers.h"

static int retained, released;
static const void *count_retain(const void *info) {
    retained++;
    return info;
}
static void count_release(const void *info) {
    (void)info;
    released++;
}
static CFStringRef describe(const void *info) { return CFStringCreateWithFormat(NULL, NULL, CFSTR("<<%s>>"), info); }

static void perform(void *info) { trace("%s", (const char *)info); }
static void schedule(void *info, CFRunLoopRef loop, CFRunLoopMode mode) {
    CHECK(loop == CFRunLoopGetCurrent());
    trace("+%s:%s", (const char *)info, CFStringGetCStringPtr(mode, kCFStringEncodingUTF8));
}
static void cancel(void *info, CFRunLoopRef loop, CFRunLoopMode mode) {
    CHECK(loop == CFRunLoopGetCurrent());
    trace("-%s:%s", (const char *)info, CFStringGetCStringPtr(mode, kCFStringEncodingUTF8));
}

TEST(a_source_is_scheduled_performed_and_freed, "SRC0-1 SRC0-2 SRC0-3 SRC0-4 MODE-8") {
    CFRunLoopSourceContext context = {0, (void *)"s", count_retain, count_release, describe, NULL, NULL, schedule, cancel, perform};
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 3, &context);
    CHECK(retained == 1 && released == 0 && CFRunLoopSourceGetOrder(source) == 3);
    CHECK(CFGetTypeID(source) == CFRunLoopSourceGetTypeID());
    CFRunLoopAddSource(loop, source, kCFRunLoopCommonModes);
    CFRunLoopAddCommonMode(loop, CFSTR("other"));
    CHECK_TRACE("+s:kCFRunLoopDefaultMode +s:other");
    CHECK(CFRunLoopContainsSource(loop, source, kCFRunLoopCommonModes) && CFRunLoopContainsSource(loop, source, CFSTR("other")));
    CFRunLoopSourceSignal(source);
    CHECK_INT(CFRunLoopRunInMode(CFSTR("other"), 10, true), kCFRunLoopRunHandledSource);
    CHECK_TRACE("s");
    CFRunLoopSourceContext read = {0};
    CFRunLoopSourceGetContext(source, &read);
    CHECK(read.info == context.info && read.perform == perform && read.cancel == cancel && read.retain == count_retain);
    CFStringRef text = CFCopyDescription(source);
    CHECK(strstr(CFStringGetCStringPtr(text, kCFStringEncodingUTF8), "<<s>>") != NULL);
    CFRelease(text);
    CFRelease(source);
    CHECK(CFRunLoopSourceIsValid(source)); /* the modes keep it */
    CFRetain(source);
    CFRunLoopSourceInvalidate(source);
    CHECK(!CFRunLoopSourceIsValid(source) && released == 0);
    CHECK(strchr(trace_text, '-') && strstr(trace_text, "-s:other"));
    trace_clear();
    CFRelease(source);
    CHECK(released == 1 && retained == 1);
    CFRelease(source);
    CHECK_INT(released, 1);
    CHECK(!CFRunLoopSourceIsValid(source) && CFGetTypeID(source) == 0);
}

static void fire(CFRunLoopTimerRef timer, void *info) {
    CHECK(CFGetTypeID(timer) == CFRunLoopTimerGetTypeID());
    trace("%s", (const char *)info);
    CHECK(CFRunLoopTimerIsValid(timer));
}

TEST(a_timer_keeps_its_date_and_its_context, "TMR-1 TMR-2 TMR-4 TMR-7 TMR-15 TMR-22") {
    CFRunLoopTimerContext context = {0, (void *)"t", count_retain, count_release, NULL};
    CFAbsoluteTime date = CFAbsoluteTimeGetCurrent() + 0.005;
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, date, 0, 0, 7, fire, &context);
    CHECK(retained == 1 && CFRunLoopTimerGetNextFireDate(timer) == date && CFRunLoopTimerGetOrder(timer) == 7);
    CHECK(!CFRunLoopTimerDoesRepeat(timer) && CFRunLoopTimerGetInterval(timer) == 0);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);
    CHECK(CFRunLoopGetNextTimerFireDate(CFRunLoopGetCurrent(), kCFRunLoopDefaultMode) == date);
    CHECK(CFRunLoopGetNextTimerFireDate(CFRunLoopGetCurrent(), CFSTR("none")) == 0);
    CFRunLoopTimerContext read = {0};
    CFRunLoopTimerGetContext(timer, &read);
    CHECK(read.info == context.info);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 60, false), kCFRunLoopRunFinished);
    CHECK(CFAbsoluteTimeGetCurrent() >= date - 0.0005);
    CHECK_TRACE("t");
    CHECK(!CFRunLoopTimerIsValid(timer) && CFRunLoopTimerGetNextFireDate(timer) == 0);
    CFRunLoopTimerGetContext(timer, &read);
    CHECK(read.info == NULL && retained == released);
    CFRelease(timer);

    timer = CFRunLoopTimerCreate(NULL, date, 0.25, 0, 0, fire, &context);
    CHECK(CFRunLoopTimerDoesRepeat(timer) && CFRunLoopTimerGetInterval(timer) == 0.25);
    CFRunLoopTimerSetTolerance(timer, 1);
    CHECK(CFRunLoopTimerGetTolerance(timer) == 0.125);
    CFRunLoopTimerSetTolerance(timer, -1);
    CHECK(CFRunLoopTimerGetTolerance(timer) == 0);
    CFRunLoopTimerSetNextFireDate(timer, 12.5);
    CHECK(CFRunLoopTimerGetNextFireDate(timer) == 12.5);
    CFRunLoopTimerSetNextFireDate(timer, date);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false), kCFRunLoopRunTimedOut);
    CHECK_TRACE("t");
    double steps = (CFRunLoopTimerGetNextFireDate(timer) - date) / 0.25;
    CHECK(steps >= 1 && steps - (double)(long)steps == 0); /* exactly on the grid */
    CFRelease(timer);
    CHECK(CFRunLoopTimerIsValid(timer));
    CFRunLoopRemoveTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);
    CHECK(!CFRunLoopTimerIsValid(timer) && retained == released);
    CHECK(CFRunLoopTimerCreate(NULL, NAN, 0, 0, 0, fire, NULL) == NULL && CFRunLoopTimerCreate(NULL, 0, NAN, 0, 0, fire, NULL) == NULL);
}

TEST(dates_and_intervals_have_a_last_one, "TMR-1") {
    const CFAbsoluteTime last = 4039289856.0, late[] = {last, 4039289857.0, 1e15, 1e308, INFINITY};
    for (int i = 0; i < 5; i++) {
        CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, late[i], 1e15, 0, 0, fire, NULL);
        CHECK(CFRunLoopTimerGetNextFireDate(timer) == last && CFRunLoopTimerGetInterval(timer) == 504911232.0);
        CFRunLoopTimerSetNextFireDate(timer, 12.5);
        CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);
        CFRunLoopTimerSetNextFireDate(timer, late[i]);
        CHECK(CFRunLoopTimerGetNextFireDate(timer) == last);
        CHECK(CFRunLoopGetNextTimerFireDate(CFRunLoopGetCurrent(), kCFRunLoopDefaultMode) == last);
        CFRunLoopTimerInvalidate(timer);
        CFRelease(timer);
    }
}
static CFRunLoopSourceRef signalled;
static void look_at_signal(void *info) {
    (void)info;
    trace("%d", CFRunLoopSourceIsSignalled(signalled));
}
TEST(a_source_says_whether_it_is_signalled, "SRC0-14 SRC1-6") {
    CFRunLoopSourceContext context = {.perform = look_at_signal};
    signalled = CFRunLoopSourceCreate(NULL, 0, &context);
    CHECK(!CFRunLoopSourceIsSignalled(signalled));
    CFRunLoopSourceSignal(signalled);
    CHECK(CFRunLoopSourceIsSignalled(signalled));
    CFRunLoopAddSource(CFRunLoopGetCurrent(), signalled, kCFRunLoopDefaultMode);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true), kCFRunLoopRunHandledSource);
    CHECK_TRACE("0");
    CFRunLoopSourceSignal(signalled);
    CFRunLoopSourceInvalidate(signalled);
    CHECK(!CFRunLoopSourceIsSignalled(signalled));
    CFRelease(signalled);

    CFRunLoopSourceContext1 port = {.version = 1};
    signalled = CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&port);
    CFRunLoopSourceSignal(signalled);
    CHECK(!CFRunLoopSourceIsSignalled(signalled) && !CFRunLoopSourceIsSignalled(NULL));
    CFRelease(signalled);
}

static void notify(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) {
    CHECK(CFGetTypeID(observer) == CFRunLoopObserverGetTypeID());
    trace("%s%lx", (const char *)info, activity);
}

TEST(observers_see_a_run, "OBS-1 OBS-2 OBS-6 OBS-8 RUN-8") {
    CFRunLoopObserverContext context = {0, (void *)"o", count_retain, count_release, NULL};
    CFRunLoopObserverContext once = {0, (void *)"once", count_retain, count_release, NULL};
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    CFRunLoopObserverRef a = CFRunLoopObserverCreate(NULL, kCFRunLoopAllActivities, true, 5, notify, &context);
    CFRunLoopObserverRef b = CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeTimers, false, -1, notify, &once);
    CHECK(CFRunLoopObserverGetActivities(a) == kCFRunLoopAllActivities && CFRunLoopObserverGetOrder(b) == -1);
    CHECK(CFRunLoopObserverDoesRepeat(a) && !CFRunLoopObserverDoesRepeat(b));
    CFRunLoopAddObserver(loop, a, kCFRunLoopDefaultMode);
    CFRunLoopAddObserver(loop, b, kCFRunLoopDefaultMode);
    CHECK(CFRunLoopContainsObserver(loop, b, kCFRunLoopDefaultMode));
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false), kCFRunLoopRunFinished);
    keep_busy(loop, kCFRunLoopDefaultMode);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false), kCFRunLoopRunTimedOut);
    CHECK_TRACE("o1 once2 o2 o4 o80");
    CHECK(!CFRunLoopObserverIsValid(b) && released == 1);
    CFRunLoopObserverContext read = {0};
    CFRunLoopObserverGetContext(b, &read);
    CHECK(read.info == NULL);
    CFRelease(b);
    CFRunLoopRemoveObserver(loop, a, kCFRunLoopDefaultMode);
    CFRelease(a);
    CHECK(released == 2 && retained == 2);
}

static int port_of(void *info) { return *(int *)info; }
static void drain(void *info) {
    eventfd_t value = 0;
    CHECK(eventfd_read(*(int *)info, &value) == 0);
    trace("read %d", (int)value);
}

TEST(a_port_source_follows_its_descriptor, "SRC1-1 SRC1-2 SRC1-3 SRC1-6 PASS-8") {
    int fd = eventfd(0, EFD_NONBLOCK);
    CFRunLoopSourceContext1 context = {1, &fd, count_retain, count_release, NULL, NULL, NULL, port_of, drain};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRunLoopSourceSignal(source);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true), kCFRunLoopRunTimedOut);
    CHECK(eventfd_write(fd, 2) == 0 && eventfd_write(fd, 3) == 0);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 60, true), kCFRunLoopRunHandledSource);
    CHECK_TRACE("read 5");
    CFRunLoopSourceContext1 read = {.version = 1};
    CFRunLoopSourceGetContext(source, (CFRunLoopSourceContext *)&read);
    CHECK(read.info == &fd && read.getPort == port_of && read.perform == drain);
    CFRunLoopSourceContext wrong = {.version = 0, .perform = perform};
    CFRunLoopSourceGetContext(source, &wrong);
    CHECK(wrong.perform == perform && wrong.info == NULL);
    CFRunLoopSourceInvalidate(source);
    CFRelease(source);
    CHECK(retained == 1 && released == 1);
    close(fd);
}

TEST(modes_are_named_and_listed, "RL-4 RL-6 RL-7 MODE-1 MODE-9") {
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    CHECK(CFGetTypeID(loop) == CFRunLoopGetTypeID() && CFRetain(loop) == loop);
    CFRelease(loop);
    CHECK(CFRunLoopGetMain() == loop && CFRunLoopCopyCurrentMode(loop) == NULL);
    CFStringRef name = CFStringCreateWithFormat(NULL, NULL, CFSTR("mode %d"), 1);
    keep_busy(loop, name);
    CHECK_INT(CFRunLoopRunInMode(CFSTR("mode 1"), 0, false), kCFRunLoopRunTimedOut);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopCommonModes, 0, false), kCFRunLoopRunFinished);
    CFArrayRef modes = CFRunLoopCopyAllModes(loop);
    CHECK(CFArrayGetCount(modes) == 2 && CFArrayContainsValue(modes, CFRangeMake(0, 2), name));
    CHECK(CFArrayContainsValue(modes, CFRangeMake(0, 2), kCFRunLoopDefaultMode));
    CFRelease(modes);
    CFRelease(name);
}

static int is_same(int a, int b) { return a == b; }
static Boolean equal_infos(const void *a, const void *b) { return (Boolean)is_same(*(const char *)a, *(const char *)b); }
static CFHashCode hash_info(const void *info) { return *(const unsigned char *)info; }

TEST(sources_are_themselves_unless_equal_says_otherwise, "SRC0-5 D-09") {
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    CFRunLoopSourceContext plain = {.perform = perform, .info = (void *)"p"};
    CFRunLoopSourceRef one = CFRunLoopSourceCreate(NULL, 0, &plain), two = CFRunLoopSourceCreate(NULL, 0, &plain);
    CHECK(!CFEqual(one, two) && CFEqual(one, one));
    CFRunLoopAddSource(loop, one, kCFRunLoopDefaultMode);
    CHECK(!CFRunLoopContainsSource(loop, two, kCFRunLoopDefaultMode));
    CFRunLoopSourceContext valued = {.perform = perform, .info = (void *)"v", .equal = equal_infos, .hash = hash_info};
    CFRunLoopSourceRef three = CFRunLoopSourceCreate(NULL, 0, &valued), four = CFRunLoopSourceCreate(NULL, 0, &valued);
    CHECK(CFEqual(three, four) && CFHash(three) == CFHash(four) && !CFEqual(one, three));
    CFRunLoopAddSource(loop, three, kCFRunLoopDefaultMode);
    CHECK(CFRunLoopContainsSource(loop, four, kCFRunLoopDefaultMode));
    CFTypeRef all[] = {one, two, three, four};
    for (int i = 0; i < 4; i++) CFRelease(all[i]);
}

static sem_t ready, done;
static CFRunLoopRef worker_loop;
static void stop_here(void *info) {
    (void)info;
    CFRunLoopStop(CFRunLoopGetCurrent());
}
static CFRunLoopSourceRef stopper;
static void *worker(void *argument) {
    (void)argument;
    worker_loop = (CFRunLoopRef)CFRetain(CFRunLoopGetCurrent());
    CFRunLoopSourceContext context = {.perform = stop_here};
    stopper = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(worker_loop, stopper, kCFRunLoopDefaultMode);
    sem_post(&ready);
    CFRunLoopRun();
    sem_post(&done);
    return NULL;
}

TEST(another_thread_signals_wakes_and_keeps_the_loop, "RL-9 WAKE-1 SRC0-6 STOP-2 D-19") {
    pthread_t thread;
    sem_init(&ready, 0, 0);
    sem_init(&done, 0, 0);
    CHECK(pthread_create(&thread, NULL, worker, NULL) == 0);
    await(&ready);
    CFRunLoopSourceSignal(stopper);
    CFRunLoopWakeUp(worker_loop);
    await(&done);
    pthread_join(thread, NULL);
    CHECK(!CFRunLoopIsWaiting(worker_loop));
    CFRunLoopWakeUp(worker_loop);
    CFRunLoopStop(worker_loop);
    CFRunLoopAddSource(worker_loop, stopper, kCFRunLoopDefaultMode);
    CHECK(!CFRunLoopContainsSource(worker_loop, stopper, kCFRunLoopDefaultMode) && CFRunLoopSourceIsValid(stopper));
    CFRelease(stopper);
    CFRelease(worker_loop);
    CFRelease(worker_loop);
}

TEST(bad_input_has_no_effect, "MODE-3 RUN-1 SRC0-1 RL-12") {
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    CFRunLoopSourceContext context = {.perform = perform, .info = (void *)"x"};
    CFRunLoopSourceContext future = {.version = 2};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context), gone = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, FAR_AWAY, 0, 0, 0, fire, NULL);
    CFRelease(gone);
    CHECK(CFRunLoopSourceCreate(NULL, 0, NULL) == NULL && CFRunLoopSourceCreate(NULL, 0, &future) == NULL);
    CFRunLoopRef loops[] = {NULL, (CFRunLoopRef)source, (CFRunLoopRef)gone, (CFRunLoopRef)1, loop};
    CFRunLoopSourceRef items[] = {NULL, gone, (CFRunLoopSourceRef)timer, (CFRunLoopSourceRef)loop, (CFRunLoopSourceRef)7, source};
    CFStringRef modes[] = {NULL, (CFStringRef)(const void *)gone, (CFStringRef)(const void *)timer, CFSTR("m")};
    for (int l = 0; l < 5; l++)
        for (int i = 0; i < 6; i++)
            for (int m = 0; m < 4; m++) {
                if (l == 4 && i == 5 && m == 3) continue; /* the only good one */
                CFRunLoopAddSource(loops[l], items[i], modes[m]);
                CHECK(!CFRunLoopContainsSource(loops[l], items[i], modes[m]));
                CFRunLoopRemoveSource(loops[l], items[i], modes[m]);
                if (i != 2) CFRunLoopAddTimer(loops[l], (CFRunLoopTimerRef)items[i], modes[m]);
                CFRunLoopAddObserver(loops[l], (CFRunLoopObserverRef)items[i], modes[m]);
                CFRunLoopRemoveObserver(loops[l], (CFRunLoopObserverRef)items[i], modes[m]);
            }
    for (int l = 0; l < 4; l++) {
        CFRunLoopStop(loops[l]);
        CFRunLoopWakeUp(loops[l]);
        CHECK(!CFRunLoopIsWaiting(loops[l]) && CFRunLoopCopyCurrentMode(loops[l]) == NULL && CFRunLoopCopyAllModes(loops[l]) == NULL);
        CFRunLoopAddCommonMode(loops[l], modes[l & 3]);
        CHECK(CFRunLoopGetNextTimerFireDate(loops[l], CFSTR("m")) == 0);
    }
    for (int i = 0; i < 4; i++) {
        CFRunLoopSourceSignal(items[i]);
        CFRunLoopSourceInvalidate(items[i]);
        CFRunLoopSourceGetContext(items[i], &context);
        CHECK(!CFRunLoopSourceIsValid(items[i]) && !CFRunLoopObserverIsValid((CFRunLoopObserverRef)items[i]));
        if (i != 2) CFRunLoopTimerSetNextFireDate((CFRunLoopTimerRef)items[i], 0);
    }
    CFRunLoopSourceGetContext(source, NULL);
    CFRunLoopTimerGetContext(timer, NULL);
    for (int m = 0; m < 3; m++) CHECK_INT(CFRunLoopRunInMode(modes[m], 0, true), kCFRunLoopRunFinished);
    CHECK_INT(CFRunLoopRunInMode(CFSTR("m"), NAN, true), kCFRunLoopRunFinished);
    CHECK(CFRunLoopTimerIsValid(timer) && CFRunLoopSourceIsValid(source));
    CFArrayRef all = CFRunLoopCopyAllModes(loop);
    CHECK_INT(CFArrayGetCount(all), 1);
    CFRelease(all);
    CFRelease(source);
    CFRelease(timer);
}

TEST(debugging_tells_of_bad_input_once, "RL-12") {
    int ends[2];
    CHECK(pipe(ends) == 0);
    setenv("TREADLE_DEBUG", "1", 1);
    int saved = dup(2);
    dup2(ends[1], 2);
    for (int i = 0; i < 3; i++) {
        CFRelease(NULL);
        CFRunLoopStop(NULL);
    }
    dup2(saved, 2);
    close(ends[1]);
    char text[1000] = {0};
    ssize_t size = read(ends[0], text, sizeof text - 1);
    CHECK(size > 0 && strstr(text, "CFRelease") && strstr(text, "CFRunLoopStop"));
    int lines = 0;
    for (ssize_t i = 0; i < size; i++) lines += text[i] == '\n';
    CHECK_INT(lines, 2);
}

TEST_MAIN()
