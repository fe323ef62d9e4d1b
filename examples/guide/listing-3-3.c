/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * The Guide's listings 3-3 to 3-9 in CF names: a custom input source with a buffer of commands. The worker adds
 * it to its loop; the main side learns of it by the schedule routine, fills the buffer, signals and wakes, and
 * forgets it by the cancel routine. */
#include <CoreFoundation/CoreFoundation.h>
#include <pthread.h>

/* --- 3-3: the source with its commands ------------------------------------------------------------------ */

enum { MOST_COMMANDS = 16, QUIT = 0 };
struct command_source {
    CFRunLoopSourceRef source;
    pthread_mutex_t lock; /* guards the commands */
    int commands[MOST_COMMANDS];
    int count;
};

/* What the main side knows of a source: where it is. */
struct registration {
    CFRunLoopRef loop;
    struct command_source *source;
};
static struct registration registered; /* the main thread's */
static CFRunLoopRef main_loop;
static CFRunLoopSourceRef registrar; /* tells the main loop of what follows */
static pthread_mutex_t registrar_lock = PTHREAD_MUTEX_INITIALIZER;
static struct registration pending;
static int pending_kind; /* 1: to register, -1: to forget, 0: nothing */

static void send_registration(struct command_source *source, CFRunLoopRef loop, int kind) {
    pthread_mutex_lock(&registrar_lock);
    pending.loop = loop;
    pending.source = source;
    pending_kind = kind;
    pthread_mutex_unlock(&registrar_lock);
    CFRunLoopSourceSignal(registrar);
    CFRunLoopWakeUp(main_loop);
}

/* --- 3-4: the source is scheduled ------------------------------------------------------------------------ */

static void schedule(void *info, CFRunLoopRef loop, CFRunLoopMode mode) {
    (void)mode;
    send_registration(info, loop, 1);
}

/* --- 3-5: the source does its work ----------------------------------------------------------------------- */

static void perform(void *info) {
    struct command_source *source = info;
    int commands[MOST_COMMANDS], count;
    pthread_mutex_lock(&source->lock);
    count = source->count;
    memcpy(commands, source->commands, sizeof commands);
    source->count = 0;
    pthread_mutex_unlock(&source->lock);
    for (int i = 0; i < count; i++) {
        if (commands[i] == QUIT) CFRunLoopSourceInvalidate(source->source);
        else printf("worker: %d squared is %d\n", commands[i], commands[i] * commands[i]);
    }
}

/* --- 3-6: the source was invalidated --------------------------------------------------------------------- */

static void cancel(void *info, CFRunLoopRef loop, CFRunLoopMode mode) {
    (void)mode;
    puts("worker: the source is cancelled");
    send_registration(info, loop, -1);
}

/* --- 3-7: making the source and adding it to the worker's loop ------------------------------------------- */

static void *worker_main(void *argument) {
    struct command_source *source = argument;
    CFRunLoopSourceContext context = {0, source, NULL, NULL, NULL, NULL, NULL, schedule, cancel, perform};
    source->source = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source->source, kCFRunLoopDefaultMode);
    CFRunLoopRun(); /* ends when the source has left the mode */
    CFRelease(source->source);
    return NULL;
}

/* --- 3-9: giving a command, which means signal and wake --------------------------------------------------- */

static void fire_commands(const struct registration *to) {
    CFRunLoopSourceSignal(to->source->source);
    CFRunLoopWakeUp(to->loop);
}

static void add_command(struct command_source *source, int command) {
    pthread_mutex_lock(&source->lock);
    if (source->count < MOST_COMMANDS) source->commands[source->count++] = command;
    pthread_mutex_unlock(&source->lock);
}

/* --- 3-8: the main side registers and forgets the source --------------------------------------------------- */

static void take_registration(void *info) {
    (void)info;
    pthread_mutex_lock(&registrar_lock);
    struct registration told = pending;
    int kind = pending_kind;
    pending_kind = 0;
    pthread_mutex_unlock(&registrar_lock);
    if (kind > 0) {
        registered = told;
        puts("main: a source is registered");
        for (int number = 1; number <= 3; number++) add_command(registered.source, number);
        add_command(registered.source, QUIT);
        fire_commands(&registered);
    } else if (kind < 0) {
        registered.source = NULL;
        puts("main: the source is forgotten");
        CFRunLoopStop(CFRunLoopGetCurrent());
    }
}

int main(void) {
    struct command_source source = {.lock = PTHREAD_MUTEX_INITIALIZER};
    CFRunLoopSourceContext context = {0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, take_registration};
    pthread_t worker;
    setvbuf(stdout, NULL, _IOLBF, 0);
    main_loop = CFRunLoopGetCurrent();
    registrar = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context);
    CFRunLoopAddSource(main_loop, registrar, kCFRunLoopDefaultMode);
    if (pthread_create(&worker, NULL, worker_main, &source) != 0) return 1;
    CFRunLoopRun();
    pthread_join(worker, NULL);
    CFRunLoopSourceInvalidate(registrar);
    CFRelease(registrar);
    printf("main: %s\n", registered.source ? "a source is left" : "no source is left");
    return 0;
}
