/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * callbacks.c: each kind of callback once, for a debugger that stops in `here`: scripts/check-gdb. */
#include <stdlib.h>
#include <sys/eventfd.h>
#include <treadle.h>

static void check(treadle_status status) {
    if (status < 0) abort();
}

__attribute__((noinline)) void here(void) { __asm__ volatile("" : : : "memory"); }
/* A call of `here` that is not the last thing that the function does. */
#define STOP_HERE()                          \
    do {                                     \
        here();                              \
        __asm__ volatile("" : : : "memory"); \
    } while (0)

static void in_source(treadle_source source, void *info) {
    STOP_HERE();
    (void)source, (void)info;
}
static void in_timer(treadle_timer timer, void *info) {
    STOP_HERE();
    (void)timer, (void)info;
}
static void in_observer(treadle_observer observer, uint32_t activity, void *info) {
    STOP_HERE();
    (void)observer, (void)activity, (void)info;
}
static void in_descriptor(treadle_descriptor descriptor, uint32_t events, void *info) {
    STOP_HERE();
    (void)descriptor, (void)events, (void)info;
}
static void in_post(void *info) {
    STOP_HERE();
    (void)info;
}
static void in_request(void *target, void *argument) {
    STOP_HERE();
    (void)target, (void)argument;
}
static int64_t in_invocation(int64_t number) {
    STOP_HERE();
    return number;
}
struct triple {
    int64_t first, second, third;
};
static int64_t in_invocation_by_libffi(struct triple value) {
    STOP_HERE();
    return value.first;
}
static treadle_status in_closure(treadle_call *call, void *info) {
    STOP_HERE();
    (void)call, (void)info;
    return TREADLE_OK;
}
static treadle_status in_closure_by_libffi(treadle_call *call, void *info) {
    STOP_HERE();
    (void)call, (void)info;
    return TREADLE_OK;
}
static void *in_thread(void *info) {
    STOP_HERE();
    return info;
}

static void run(treadle_loop loop) { check(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, 0, 0)); }

static void visit_items(treadle_loop loop) {
    treadle_source_context plan = TREADLE_INIT(treadle_source_context);
    treadle_source source;
    plan.perform = in_source;
    check(treadle_source_create(&plan, &source));
    check(treadle_loop_add_source(loop, source, TREADLE_DEFAULT_MODE));
    check(treadle_source_signal(source));
    run(loop);

    treadle_timer_context dates = TREADLE_INIT(treadle_timer_context);
    treadle_timer timer;
    dates.fire = in_timer;
    dates.fire_at = treadle_time_now();
    check(treadle_timer_create(&dates, &timer));
    check(treadle_loop_add_timer(loop, timer, TREADLE_DEFAULT_MODE));
    run(loop);

    treadle_descriptor descriptor;
    check(treadle_descriptor_start(eventfd(1, EFD_CLOEXEC), TREADLE_READABLE, in_descriptor, NULL, &descriptor));
    run(loop);
    check(treadle_invalidate(descriptor));
    check(treadle_release(descriptor));

    treadle_observer_context moments = TREADLE_INIT(treadle_observer_context);
    treadle_observer observer;
    moments.notify = in_observer;
    moments.activities = TREADLE_ENTRY;
    check(treadle_observer_create(&moments, &observer));
    check(treadle_loop_add_observer(loop, observer, TREADLE_DEFAULT_MODE));
    run(loop);
    check(treadle_observer_invalidate(observer));

    treadle_request request = TREADLE_INIT(treadle_request);
    request.fn = in_request;
    check(treadle_loop_post(loop, in_post, NULL));
    check(treadle_perform(treadle_thread_current(), &request));
    run(loop);
    check(treadle_source_release(source)), check(treadle_timer_release(timer)), check(treadle_observer_release(observer));
}

static void visit_invocation(void (*code)(void), const char *signature) {
    treadle_invocation_config config = TREADLE_INIT(treadle_invocation_config);
    treadle_invocation_options options = TREADLE_INIT(treadle_invocation_options);
    treadle_invocation invocation;
    config.code = code;
    config.signature = signature;
    options.wait = TREADLE_WAIT_BLOCK;
    check(treadle_invocation_create(&config, &invocation));
    check(treadle_invocation_perform(invocation, &options));
    check(treadle_invocation_release(invocation));
}

static treadle_closure make_closure(const char *signature, treadle_closure_fn handler, void (**code)(void)) {
    treadle_closure_config config = TREADLE_INIT(treadle_closure_config);
    treadle_closure closure;
    config.signature = signature;
    config.handler = handler;
    check(treadle_closure_create(&config, &closure));
    check(treadle_closure_get_code(closure, code));
    return closure;
}

int main(void) {
    treadle_loop loop = treadle_loop_current();
    void (*code)(void);
    visit_items(loop);
    visit_invocation((void (*)(void))in_invocation, "qq");
    visit_invocation((void (*)(void))in_invocation_by_libffi, "q{=qqq}");
    treadle_closure closure = make_closure("vq", in_closure, &code);
    ((void (*)(int64_t))code)(1);
    check(treadle_closure_release(closure));
    closure = make_closure("v{=qqq}", in_closure_by_libffi, &code);
    ((void (*)(struct triple))code)((struct triple){1, 2, 3});
    check(treadle_closure_release(closure));

    treadle_thread_config thread_config = {.struct_size = sizeof thread_config, .fn = in_thread};
    treadle_thread thread;
    check(treadle_thread_create(&thread_config, &thread));
    check(treadle_thread_start(thread));
    check(treadle_thread_join(thread, TREADLE_FOREVER, NULL));
    check(treadle_thread_release(thread));
    return 0;
}
