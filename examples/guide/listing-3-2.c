/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * The Guide's listing 3-2 in CF names: the skeleton of a thread that runs its loop until a source stops it or
 * nothing is left to do, looking at the result each time. */
#include <CoreFoundation/CoreFoundation.h>
#include <pthread.h>

struct job {
    CFRunLoopSourceRef source;
    int left;
};

/* Does one step, and asks for the next; the last one stops the loop. */
static void perform(void *info) {
    struct job *job = info;
    printf("step, %d left\n", --job->left);
    if (job->left > 0) CFRunLoopSourceSignal(job->source);
    else CFRunLoopStop(CFRunLoopGetCurrent());
}

static const char *name_of(CFRunLoopRunResult result) {
    switch (result) {
    case kCFRunLoopRunFinished: return "finished";
    case kCFRunLoopRunStopped: return "stopped";
    case kCFRunLoopRunTimedOut: return "timed out";
    case kCFRunLoopRunHandledSource: return "handled a source";
    default: return "?";
    }
}

static void *skeleton_main(void *argument) {
    struct job *job = argument;
    int done = 0;

    /* The sources and timers of the thread, and everything else that it needs. */
    CFRunLoopSourceContext context = {0, job, NULL, NULL, NULL, NULL, NULL, NULL, NULL, perform};
    job->source = CFRunLoopSourceCreate(kCFAllocatorDefault, 0, &context);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), job->source, kCFRunLoopDefaultMode);
    CFRunLoopSourceSignal(job->source);

    do {
        /* Returns after each source that it handled. */
        CFRunLoopRunResult result = CFRunLoopRunInMode(kCFRunLoopDefaultMode, 60, TRUE);
        printf("the run: %s\n", name_of(result));
        /* A source stopped the loop, or there is no source or timer any more: go. */
        if (result == kCFRunLoopRunStopped || result == kCFRunLoopRunFinished) done = 1;
        /* Other conditions to leave would be looked at here. */
    } while (!done);

    /* Tidy up. */
    CFRunLoopSourceInvalidate(job->source);
    CFRelease(job->source);
    return NULL;
}

int main(void) {
    struct job job = {NULL, 3};
    pthread_t thread;
    if (pthread_create(&thread, NULL, skeleton_main, &job) != 0) return 1;
    pthread_join(thread, NULL);
    puts("the thread is gone");
    return 0;
}
