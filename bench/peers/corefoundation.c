/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * corefoundation.c: CoreFoundation as Swift's toolchain for Linux has it. There an eventfd is a source of version 1,
 * which the loop reads itself. Its time grows with the number of timers, so it gets fewer. */
#include "../bench.h"

#include <CoreFoundation/CoreFoundation.h>

struct loop {
    CFRunLoopRef loop;
    CFRunLoopSourceRef keeper;
};
struct watcher {
    CFTypeRef item;
    task_fn fn;
    void *info;
    int fd;
};

static void ignore(void *info) { (void)info; }
/* A run ends when its mode has no sources: one that is never signalled keeps it going. */
static void *make_loop(void) {
    struct loop *loop = malloc(sizeof *loop);
    if (!loop) abort();
    CFRunLoopSourceContext context = {.perform = ignore};
    loop->loop = CFRunLoopGetCurrent();
    loop->keeper = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(loop->loop, loop->keeper, kCFRunLoopDefaultMode);
    return loop;
}
static void run(void *loop) {
    (void)loop;
    CFRunLoopRun();
}
static void stop(void *loop) { CFRunLoopStop(((struct loop *)loop)->loop); }
static void free_loop(void *info) {
    struct loop *loop = info;
    CFRunLoopSourceInvalidate(loop->keeper);
    CFRelease(loop->keeper);
    free(loop);
}
static void post(void *info, task_fn fn, void *argument) {
    CFRunLoopRef loop = ((struct loop *)info)->loop;
    CFRunLoopPerformBlock(loop, kCFRunLoopDefaultMode, ^{ fn(argument); });
    CFRunLoopWakeUp(loop);
}

static void *make_source(void *loop, const struct callback *callback, void *info) {
    CFRunLoopSourceContext context = {.info = info, .perform = callback->plain};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, &context);
    CFRunLoopAddSource(((struct loop *)loop)->loop, source, kCFRunLoopDefaultMode);
    return source;
}
static void signal_source(void *loop, void *source) {
    CFRunLoopSourceSignal(source);
    CFRunLoopWakeUp(((struct loop *)loop)->loop);
}

/* A one-shot ends with its callback: one that is to be set again has a long interval. */
static const double ages = 1e6;
static double date_after(uint64_t ns) { return CFAbsoluteTimeGetCurrent() + (double)ns * 1e-9; }
static void *make_timer(void *loop, uint64_t after_ns, uint64_t every_ns, const struct callback *callback, void *info) {
    CFRunLoopTimerContext context = {.info = info};
    double interval = every_ns == TIMER_MOVED ? ages : (double)every_ns * 1e-9;
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, date_after(after_ns), interval, 0, 0,
                                                   (CFRunLoopTimerCallBack)(void *)callback->item, &context);
    CFRunLoopAddTimer(((struct loop *)loop)->loop, timer, kCFRunLoopDefaultMode);
    return timer;
}
static void move_timer(void *loop, void *timer, uint64_t after_ns) {
    (void)loop;
    CFRunLoopTimerSetNextFireDate(timer, date_after(after_ns));
}
static void free_timer(void *loop, void *timer) {
    (void)loop;
    CFRunLoopTimerInvalidate(timer);
    CFRelease(timer);
}

static struct watcher *make_watcher(const struct callback *callback, void *info) {
    struct watcher *watcher = malloc(sizeof *watcher);
    if (!watcher) abort();
    *watcher = (struct watcher){.fn = callback->plain, .info = info};
    return watcher;
}
static void call_back(void *info) {
    struct watcher *watcher = info;
    watcher->fn(watcher->info);
}
static int port_of(void *info) { return ((struct watcher *)info)->fd; }
static void *make_descriptor(void *loop, int fd, const struct callback *callback, void *info) {
    struct watcher *watcher = make_watcher(callback, info);
    CFRunLoopSourceContext1 context = {.version = 1, .info = watcher, .getPort = port_of, .perform = call_back};
    CFRunLoopSourceRef source = CFRunLoopSourceCreate(NULL, 0, (CFRunLoopSourceContext *)&context);
    watcher->fd = fd;
    watcher->item = source;
    CFRunLoopAddSource(((struct loop *)loop)->loop, source, kCFRunLoopDefaultMode);
    return watcher;
}
static void free_descriptor(void *loop, void *info) {
    (void)loop;
    struct watcher *watcher = info;
    CFRunLoopSourceInvalidate((CFRunLoopSourceRef)watcher->item);
    CFRelease(watcher->item);
    free(watcher);
}

static void on_activity(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *watcher) {
    (void)observer, (void)activity;
    call_back(watcher);
}
static void make_hook(void *loop, const struct callback *callback, void *info) {
    CFRunLoopObserverContext context = {.info = make_watcher(callback, info)};
    CFRunLoopObserverRef observer =
        CFRunLoopObserverCreate(NULL, kCFRunLoopBeforeSources, true, 0, on_activity, &context);
    CFRunLoopAddObserver(((struct loop *)loop)->loop, observer, kCFRunLoopDefaultMode);
    CFRelease(observer);
}

const struct operations library = {
    .name = "corefoundation",
    .reads_descriptors = true,
    .most_timers = 5000,
    .loop_make = make_loop,
    .loop_run = run,
    .loop_stop = stop,
    .loop_free = free_loop,
    .post = post,
    .source_make = make_source,
    .source_signal = signal_source,
    .timer_make = make_timer,
    .timer_move = move_timer,
    .timer_free = free_timer,
    .descriptor_make = make_descriptor,
    .descriptor_free = free_descriptor,
    .hook_make = make_hook,
};
