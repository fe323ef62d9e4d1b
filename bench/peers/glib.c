/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * glib.c: a task is an idle source of ordinary priority; a source, and a timer that does not repeat, is a source that
 * is ready at a time. */
#include "../bench.h"

#include <glib-unix.h>
#include <glib.h>

struct loop {
    GMainContext *context;
    GMainLoop *main;
};
struct call {
    task_fn fn;
    void *info;
};
struct timed_source {
    GSource source;
    struct call call;
};

static void *make_loop(void) {
    struct loop *loop = malloc(sizeof *loop);
    if (!loop) abort();
    loop->context = g_main_context_new();
    loop->main = g_main_loop_new(loop->context, FALSE);
    g_main_context_push_thread_default(loop->context);
    return loop;
}
static void run(void *loop) { g_main_loop_run(((struct loop *)loop)->main); }
static void stop(void *loop) { g_main_loop_quit(((struct loop *)loop)->main); }
static void free_loop(void *info) {
    struct loop *loop = info;
    g_main_context_pop_thread_default(loop->context);
    g_main_loop_unref(loop->main);
    g_main_context_unref(loop->context);
    free(loop);
}

static void attach(void *loop, GSource *source, GSourceFunc function, task_fn fn, void *info) {
    struct call *call = malloc(sizeof *call);
    if (!call) abort();
    *call = (struct call){fn, info};
    g_source_set_callback(source, function, call, free);
    g_source_attach(source, ((struct loop *)loop)->context);
}
static gboolean call_once(gpointer info) {
    struct call *call = info;
    call->fn(call->info);
    return G_SOURCE_REMOVE;
}
static gboolean call_each_time(gpointer info) {
    struct call *call = info;
    call->fn(call->info);
    return G_SOURCE_CONTINUE;
}
static void post(void *loop, task_fn fn, void *info) {
    GSource *source = g_idle_source_new();
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    attach(loop, source, call_once, fn, info);
    g_source_unref(source);
}

static gboolean dispatch_timed(GSource *source, GSourceFunc function, gpointer info) {
    (void)function, (void)info;
    struct timed_source *timed = (struct timed_source *)source;
    g_source_set_ready_time(source, -1);
    timed->call.fn(timed->call.info);
    return G_SOURCE_CONTINUE;
}
static GSourceFuncs timed_functions = {.dispatch = dispatch_timed};

static gboolean prepare_hook(GSource *source, gint *timeout) {
    (void)timeout;
    struct timed_source *timed = (struct timed_source *)source;
    timed->call.fn(timed->call.info);
    return FALSE;
}
static gboolean check_hook(GSource *source) {
    (void)source;
    return FALSE;
}
static GSourceFuncs hook_functions = {.prepare = prepare_hook, .check = check_hook, .dispatch = dispatch_timed};

static GSource *new_source(GSourceFuncs *functions, const struct callback *callback, void *info) {
    GSource *source = g_source_new(functions, sizeof(struct timed_source));
    ((struct timed_source *)source)->call = (struct call){callback->plain, info};
    return source;
}
static void *make_source(void *loop, const struct callback *callback, void *info) {
    GSource *source = new_source(&timed_functions, callback, info);
    g_source_attach(source, ((struct loop *)loop)->context);
    return source;
}
static void signal_source(void *loop, void *source) {
    (void)loop;
    g_source_set_ready_time(source, 0);
}
static void make_hook(void *loop, const struct callback *callback, void *info) {
    g_source_attach(new_source(&hook_functions, callback, info), ((struct loop *)loop)->context);
}

/* It counts microseconds, and milliseconds where it repeats by itself. */
static void move_timer(void *loop, void *timer, uint64_t after_ns) {
    (void)loop;
    g_source_set_ready_time(timer, g_get_monotonic_time() + (gint64)((after_ns + 999) / 1000));
}
static void *make_timer(void *loop, uint64_t after_ns, uint64_t every_ns, const struct callback *callback, void *info) {
    if (every_ns != TIMER_ONCE && every_ns != TIMER_MOVED) {
        GSource *repeating = g_timeout_source_new((guint)(every_ns / 1000000));
        attach(loop, repeating, call_each_time, callback->plain, info);
        return repeating;
    }
    GSource *source = new_source(&timed_functions, callback, info);
    move_timer(loop, source, after_ns);
    g_source_attach(source, ((struct loop *)loop)->context);
    return source;
}
static void free_source(void *loop, void *source) {
    (void)loop;
    g_source_destroy(source);
    g_source_unref(source);
}

static gboolean descriptor_ready(gint fd, GIOCondition condition, gpointer info) {
    (void)fd, (void)condition;
    return call_each_time(info);
}
static void *make_descriptor(void *loop, int fd, const struct callback *callback, void *info) {
    GSource *source = g_unix_fd_source_new(fd, G_IO_IN);
    attach(loop, source, (GSourceFunc)(void *)descriptor_ready, callback->plain, info);
    return source;
}

static void *start_thread(void *(*run_thread)(void *), void *info) { return g_thread_new(NULL, run_thread, info); }
static void join_thread(void *thread) { g_thread_join(thread); }

const struct operations library = {
    .name = "glib",
    .loop_make = make_loop,
    .loop_run = run,
    .loop_stop = stop,
    .loop_free = free_loop,
    .post = post,
    .source_make = make_source,
    .source_signal = signal_source,
    .timer_make = make_timer,
    .timer_move = move_timer,
    .timer_free = free_source,
    .descriptor_make = make_descriptor,
    .descriptor_free = free_source,
    .hook_make = make_hook,
    .thread_start = start_thread,
    .thread_join = join_thread,
};
