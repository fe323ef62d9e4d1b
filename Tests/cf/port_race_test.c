/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Threads that make, use and end the same ports at once. */
#include "ports.h"

#include <mach/mach.h>

enum { THREADS = 4, ROUNDS = 300 };

static CFStringRef shared_name;
static atomic_int ends;
static void note_end(CFMessagePortRef port, void *info) {
    (void)port, (void)info;
    ends++;
}
/* Ports of several threads share an info: what `answer` notes of a message would be written by two at once. */
static CFDataRef count_message(CFMessagePortRef port, SInt32 id, CFDataRef data, void *info) {
    struct counted *counted = info;
    (void)port;
    CHECK(id == SILENT && data != NULL && counted->references > 1); /* kept around the call */
    counted->calls++;
    return NULL;
}
static void *make_and_end(void *argument) {
    struct counted *info = argument;
    CFMessagePortContext context = {0, info, counted_retain, counted_release, NULL};
    for (int i = 0; i < ROUNDS; i++) {
        CFMessagePortRef local = CFMessagePortCreateLocal(NULL, shared_name, count_message, &context, NULL);
        CFMessagePortRef remote = CFMessagePortCreateRemote(NULL, shared_name);
        if (local) CFMessagePortSetInvalidationCallBack(local, note_end);
        if (remote) {
            if (i % 3 == 0) CFMessagePortSetInvalidationCallBack(remote, note_end);
            if (CFMessagePortIsValid(remote)) CFMessagePortSendRequest(remote, SILENT, NULL, 0, 0, NULL, NULL);
            if (i % 7 == 0) CFMessagePortInvalidate(remote);
            CFRelease(remote);
        }
        if (local) {
            CFRunLoopSourceRef source = CFMessagePortCreateRunLoopSource(NULL, local, 0);
            if (source) {
                CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
                if (i % 2) CFRunLoopSourceInvalidate(source);
                CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE);
                CFRunLoopRemoveSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
                CFRelease(source);
            }
            if (i % 5 == 0) CFMessagePortInvalidate(local);
            CFRelease(local);
        }
    }
    return NULL;
}
TEST(threads_make_and_end_ports_of_one_name, "MSG-1 MSG-3 MSG-7 OBJ-1") {
    pthread_t threads[THREADS];
    struct counted info = {.references = 1};
    shared_name = new_name();
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, make_and_end, &info) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_INT(info.references, 1);
    CFMessagePortRef local = CFMessagePortCreateLocal(NULL, shared_name, answer, NULL, NULL); /* the name is free */
    CHECK(local != NULL);
    CFRelease(local);
    CFRelease(shared_name);
}

static atomic_uint number;
static void count(CFMachPortRef port, void *bytes, CFIndex size, void *info) {
    (void)port, (void)bytes, (void)size;
    ((struct counted *)info)->calls++;
}
static void *send_to_whoever(void *argument) {
    mach_msg_header_t head = {0};
    (void)argument;
    for (int i = 0; i < ROUNDS * 10; i++) {
        head.msgh_remote_port = number;
        mach_msg_return_t result = mach_msg(&head, MACH_SEND_MSG | MACH_SEND_TIMEOUT, sizeof head, 0, 0, 0, 0);
        CHECK(result == MACH_MSG_SUCCESS || result == MACH_SEND_INVALID_DEST || result == MACH_SEND_TIMED_OUT);
    }
    return NULL;
}
TEST(a_port_may_end_while_threads_send_to_it, "MPORT-2 MPORT-4 OBJ-1") {
    pthread_t threads[2];
    struct counted info = {.references = 1};
    for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, send_to_whoever, NULL) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        CFMachPortContext context = {0, &info, counted_retain, counted_release, NULL};
        CFMachPortRef port = CFMachPortCreate(NULL, count, &context, NULL);
        number = CFMachPortGetPort(port);
        add_source(CFMachPortCreateRunLoopSource(NULL, port, 0), kCFRunLoopDefaultMode);
        for (int pass = 0; pass < 3; pass++) CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE);
        if (i % 2) CFMachPortInvalidate(port);
        CFRelease(port);
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE);
        if (i % 2 == 0 && CFMachPortIsValid(port)) CFMachPortInvalidate(port);
    }
    for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK_INT(info.references, 1);
}

/* A source that ends while it is added leaves nothing of its port in the loop: no message of the port is received by it. */
static _Atomic(CFRunLoopSourceRef) added;
static CFRunLoopRef added_to;
static void *invalidate_added(void *argument) {
    CFRunLoopSourceRef last = NULL, source;
    while ((source = added) != (CFRunLoopSourceRef)kCFNull) {
        if (!source || source == last) continue;
        CFRunLoopSourceInvalidate(last = source);
        added = NULL;
    }
    return argument;
}
TEST(a_source_may_end_while_it_is_added, "MSG-4 OBJ-5 OBJ-9") {
    CFMachPortContext context = {0};
    struct counted info = {.references = 1};
    pthread_t other;
    added_to = CFRunLoopGetCurrent();
    CHECK(pthread_create(&other, NULL, invalidate_added, NULL) == 0);
    context.info = &info;
    for (int i = 0; i < 10 * ROUNDS; i++) {
        CFMachPortRef port = CFMachPortCreate(NULL, count, &context, NULL);
        CFRunLoopSourceRef source = CFMachPortCreateRunLoopSource(NULL, port, 0);
        CHECK(source != NULL);
        added = source;
        for (volatile int turn = 0; turn < i % 16 * 20; turn++) {}
        CFRunLoopAddSource(added_to, source, kCFRunLoopDefaultMode);
        while (added) sched_yield();
        CHECK(!CFRunLoopContainsSource(added_to, source, kCFRunLoopDefaultMode));
        mach_msg_header_t message = {.msgh_size = sizeof message, .msgh_remote_port = CFMachPortGetPort(port)};
        mach_msg(&message, MACH_SEND_MSG, sizeof message, 0, 0, 0, 0);
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE);
        CHECK_INT(info.calls, 0);
        CFRelease(source);
        CFMachPortInvalidate(port);
        CFRelease(port);
    }
    added = (CFRunLoopSourceRef)kCFNull;
    CHECK(pthread_join(other, NULL) == 0);
}

TEST_MAIN()
