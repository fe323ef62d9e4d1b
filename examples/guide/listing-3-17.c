/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * The Guide's listings 3-17 to 3-19 in CF names: a thread that checks in with the main thread by message ports.
 *
 * The main thread serves a name, and starts a thread that it hands the name to (3-17). The thread connects to it, serves a name of
 * its own, and sends that as its check-in message (3-19). The main thread connects to the thread's name (3-18), asks it for two
 * squares, and tells it to end. Each port is kept by the loop that has its source. */
#include <CoreFoundation/CoreFoundation.h>
#include <pthread.h>
#include <unistd.h>

enum { kCheckinMessage = 100, kSquare = 101, kEnd = 102 };

static CFStringRef unique_name(const char *part) {
    return CFStringCreateWithFormat(NULL, NULL, CFSTR("com.myapp.%s.%d"), part, (int)getpid());
}

/* The source keeps the port, and the loop keeps the source. */
static int install(CFMessagePortRef port) {
    CFRunLoopSourceRef source = CFMessagePortCreateRunLoopSource(NULL, port, 0);
    if (source) {
        CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
        CFRelease(source);
    }
    CFRelease(port);
    return source != NULL;
}

/* --- The thread -------------------------------------------------------------------------------------- */

static CFDataRef ProcessClientRequest(CFMessagePortRef local, SInt32 msgid, CFDataRef data, void *info) {
    CFMessagePortRef mainThreadPort = info;
    (void)local;
    if (msgid == kSquare && CFDataGetLength(data) == 1) {
        UInt8 number = *CFDataGetBytePtr(data), square = (UInt8)(number * number);
        return CFDataCreate(NULL, &square, 1); /* released when it is sent */
    }
    if (msgid == kEnd) {
        printf("the thread: the main thread's port is %s\n", CFMessagePortIsValid(mainThreadPort) ? "valid" : "invalid");
        CFRunLoopStop(CFRunLoopGetCurrent());
    }
    return NULL;
}

/* Listing 3-19. */
static void *ServerThreadEntryPoint(void *param) {
    CFStringRef portName = param;
    CFMessagePortRef mainThreadPort = CFMessagePortCreateRemote(NULL, portName);
    CFRelease(portName);

    CFStringRef myPortName = unique_name("Thread");
    CFMessagePortContext context = {0, mainThreadPort, CFRetain, CFRelease, NULL};
    Boolean shouldFreeInfo;
    CFMessagePortRef myPort = CFMessagePortCreateLocal(NULL, myPortName, &ProcessClientRequest, &context, &shouldFreeInfo);
    if (!myPort || shouldFreeInfo || !install(myPort)) return NULL;

    CFIndex stringLength = CFStringGetLength(myPortName);
    UInt8 *buffer = CFAllocatorAllocate(NULL, stringLength, 0);
    CFStringGetBytes(myPortName, CFRangeMake(0, stringLength), kCFStringEncodingASCII, 0, FALSE, buffer, stringLength, NULL);
    CFDataRef outData = CFDataCreate(NULL, buffer, stringLength);
    CFMessagePortSendRequest(mainThreadPort, kCheckinMessage, outData, 60, 0, NULL, NULL);
    CFRelease(outData);
    CFAllocatorDeallocate(NULL, buffer);
    CFRelease(mainThreadPort); /* the context has it */
    CFRelease(myPortName);

    CFRunLoopRun();
    return NULL;
}

/* --- The main thread ---------------------------------------------------------------------------------- */

static void PortHasEnded(CFMessagePortRef port, void *info) {
    (void)port;
    CFRunLoopRef mainLoop = CFRunLoopGetMain();
    (void)info; /* NULL, of a remote port */
    CFRunLoopStop(mainLoop);
}

static void use(CFMessagePortRef messagePort) {
    for (UInt8 number = 5; number <= 6; number++) {
        CFDataRef request = CFDataCreate(NULL, &number, 1), reply = NULL;
        SInt32 result = CFMessagePortSendRequest(messagePort, kSquare, request, 60, 60, CFSTR("replies"), &reply);
        if (result == kCFMessagePortSuccess && reply) printf("%d squared: %d\n", number, *CFDataGetBytePtr(reply));
        if (reply) CFRelease(reply);
        CFRelease(request);
    }
    CFMessagePortSetInvalidationCallBack(messagePort, PortHasEnded);
    CFMessagePortSendRequest(messagePort, kEnd, NULL, 60, 0, NULL, NULL);
}

/* Listing 3-18. info: where the thread's port is kept. */
static CFDataRef MainThreadResponseHandler(CFMessagePortRef local, SInt32 msgid, CFDataRef data, void *info) {
    (void)local;
    if (msgid == kCheckinMessage) {
        CFIndex bufferLength = CFDataGetLength(data);
        UInt8 *buffer = CFAllocatorAllocate(NULL, bufferLength, 0);
        CFDataGetBytes(data, CFRangeMake(0, bufferLength), buffer);
        CFStringRef threadPortName = CFStringCreateWithBytes(NULL, buffer, bufferLength, kCFStringEncodingASCII, FALSE);
        CFMessagePortRef messagePort = CFMessagePortCreateRemote(NULL, threadPortName);
        if (messagePort) {
            printf("the thread has checked in\n");
            *(CFMessagePortRef *)info = messagePort;
            use(messagePort);
        }
        CFRelease(threadPortName);
        CFAllocatorDeallocate(NULL, buffer);
    }
    return NULL;
}

/* Listing 3-17. */
static int MySpawnThread(CFMessagePortRef *outThreadPort, pthread_t *outThread) {
    CFStringRef myPortName = unique_name("MainThread");
    CFMessagePortContext context = {0, outThreadPort, NULL, NULL, NULL};
    Boolean shouldFreeInfo;
    CFMessagePortRef myPort = CFMessagePortCreateLocal(NULL, myPortName, &MainThreadResponseHandler, &context, &shouldFreeInfo);
    if (!myPort || !install(myPort)) return 0;
    return pthread_create(outThread, NULL, ServerThreadEntryPoint, (void *)myPortName) == 0; /* which releases the name */
}

int main(void) {
    CFMessagePortRef threadPort = NULL;
    pthread_t thread;
    if (!MySpawnThread(&threadPort, &thread)) return 1;
    CFRunLoopRun(); /* until the thread's port has ended */
    pthread_join(thread, NULL);
    printf("the thread's port is %s\n", CFMessagePortIsValid(threadPort) ? "valid" : "invalid");
    CFRelease(threadPort);
    return 0;
}
