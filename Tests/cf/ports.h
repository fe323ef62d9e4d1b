/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * ports.h: what the tests of ports share. */
#ifndef CF_TEST_PORTS_H
#define CF_TEST_PORTS_H

#include "helpers.h"

/* No test waits so long, in seconds. */
#define LONG_TIME 1000.0
#define REPLIES CFSTR("replies")

/* A name that no other test has; the caller releases it. */
HELPER CFStringRef new_name(void) {
    static atomic_int used;
    return CFStringCreateWithFormat(NULL, NULL, CFSTR("treadle.cf.%d.%d"), (int)getpid(), atomic_fetch_add(&used, 1));
}
HELPER CFDataRef data_of(const char *text) { return CFDataCreate(NULL, (const UInt8 *)text, (CFIndex)strlen(text)); }
HELPER void check_data(CFDataRef data, const char *expected) {
    CHECK(data != NULL);
    CHECK_INT(CFDataGetLength(data), strlen(expected));
    CHECK(memcmp(CFDataGetBytePtr(data), expected, strlen(expected)) == 0);
}
/* The source goes into a mode of this thread's loop, which keeps it. */
HELPER void add_source(CFRunLoopSourceRef source, CFStringRef mode) {
    CHECK(source != NULL);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, mode);
    CFRelease(source);
}
HELPER void serve(CFMessagePortRef port, CFStringRef mode) { add_source(CFMessagePortCreateRunLoopSource(NULL, port, 0), mode); }

/* An info that counts its references and the calls with it. */
struct counted {
    atomic_int references, retains, calls, ends;
    int references_at_the_end; /* in the callback for it */
    int32_t last_id;
    char last[64];
    CFDataRef kept;
};
HELPER const void *counted_retain(const void *info) {
    struct counted *counted = (struct counted *)info;
    counted->references++;
    counted->retains++;
    return info;
}
HELPER void counted_release(const void *info) { ((struct counted *)info)->references--; }

/* What servers do with a message. */
enum {
    ECHO = 1,   /* returns the same bytes */
    SILENT = 2, /* returns NULL */
    STOP = 3,   /* stops the server's run */
    EMPTY = 4,  /* returns data without bytes */
    KEEP = 5,   /* keeps the data object */
    END = 6,    /* invalidates the port */
};
HELPER CFDataRef answer(CFMessagePortRef port, SInt32 id, CFDataRef data, void *info) {
    struct counted *counted = info;
    CHECK(data != NULL);
    if (counted) {
        CHECK(counted->references > 1 || counted->retains == 0); /* kept around the call */
        counted->calls++;
        counted->last_id = id;
        CFIndex size = CFDataGetLength(data) < 63 ? CFDataGetLength(data) : 63;
        CFDataGetBytes(data, CFRangeMake(0, size), (UInt8 *)counted->last);
        counted->last[size] = 0;
    }
    switch (id) {
    case ECHO: return CFDataCreateCopy(NULL, data);
    case STOP: CFRunLoopStop(CFRunLoopGetCurrent()); return NULL;
    case EMPTY: return CFDataCreate(NULL, NULL, 0);
    case KEEP: counted->kept = CFRetain(data); return NULL;
    case END: CFMessagePortInvalidate(port); return NULL;
    default: return NULL;
    }
}
HELPER void ended(CFMessagePortRef port, void *info) {
    struct counted *counted = info;
    CHECK(!CFMessagePortIsValid(port));
    counted->ends++;
    counted->references_at_the_end = counted->references;
}
HELPER CFMessagePortRef make_local(CFStringRef name, struct counted *info) {
    CFMessagePortContext context = {0, info, counted_retain, counted_release, NULL};
    Boolean should_free = TRUE;
    CFMessagePortRef port = CFMessagePortCreateLocal(NULL, name, answer, info ? &context : NULL, &should_free);
    CHECK(port != NULL && !should_free);
    return port;
}
HELPER SInt32 request(CFMessagePortRef port, SInt32 id, const char *text, CFDataRef *reply) {
    CFDataRef data = text ? data_of(text) : NULL;
    SInt32 result = CFMessagePortSendRequest(port, id, data, LONG_TIME, LONG_TIME, REPLIES, reply);
    if (data) CFRelease(data);
    return result;
}

/* A thread, or a process, that serves a name until it is told to stop. */
struct server {
    CFStringRef name;
    struct counted info;
    sem_t is_ready;
    pthread_t thread;
};
HELPER void *run_server(void *argument) {
    struct server *server = argument;
    CFMessagePortRef port = make_local(server->name, &server->info);
    serve(port, kCFRunLoopDefaultMode);
    CFMessagePortSetInvalidationCallBack(port, ended);
    sem_post(&server->is_ready);
    CFRunLoopRun();
    CFMessagePortInvalidate(port);
    CFRelease(port);
    return NULL;
}
HELPER void start_server(struct server *server) {
    memset(server, 0, sizeof *server);
    server->name = new_name();
    server->info.references = 1;
    sem_init(&server->is_ready, 0, 0);
    CHECK(pthread_create(&server->thread, NULL, run_server, server) == 0);
    await(&server->is_ready);
}
HELPER void end_server(struct server *server, CFMessagePortRef remote) {
    if (remote) CHECK_INT(CFMessagePortSendRequest(remote, STOP, NULL, LONG_TIME, 0, NULL, NULL), kCFMessagePortSuccess);
    CHECK(pthread_join(server->thread, NULL) == 0);
    CFRelease(server->name);
}

#endif
