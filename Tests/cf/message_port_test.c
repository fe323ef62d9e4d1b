/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Message ports in CoreFoundation's names: names, sources, requests and their results. */
#include "ports.h"

TEST(a_name_is_served_once, "MSG-1") {
    CFStringRef name = new_name();
    struct counted info = {.references = 1}, other = {.references = 1};
    CFMessagePortRef port = make_local(name, &info);
    CHECK_INT(info.retains, 1);
    CHECK(CFGetTypeID(port) == CFMessagePortGetTypeID() && CFEqual(CFMessagePortGetName(port), name));
    CFMessagePortContext context = {0, &other, counted_retain, counted_release, NULL};
    Boolean should_free = FALSE;
    CHECK(CFMessagePortCreateLocal(NULL, name, answer, &context, &should_free) == port && should_free);
    CHECK_INT(other.retains, 0);
    CFMessagePortContext shown = {0};
    CFMessagePortGetContext(port, &shown);
    CHECK(shown.info == &info && shown.retain == counted_retain && shown.release == counted_release);
    CFRelease(port);
    CHECK(CFMessagePortIsValid(port));
    CFRelease(port);
    CHECK_INT(info.references, 1);
    port = make_local(name, NULL); /* the name is free again */
    CFRelease(port);
    CFRelease(name);
}

TEST(bad_names_are_refused, "MSG-1") {
    Boolean should_free = FALSE;
    static const UniChar inside[] = {'a', 0, 'b'};
    CFStringRef cut = CFStringCreateWithCharacters(NULL, inside, 3);
    CHECK(CFMessagePortCreateLocal(NULL, cut, answer, NULL, &should_free) == NULL && should_free);
    CHECK(CFMessagePortCreateLocal(NULL, CFSTR(""), answer, NULL, NULL) == NULL);
    CHECK(CFMessagePortCreateRemote(NULL, cut) == NULL && CFMessagePortCreateRemote(NULL, NULL) == NULL);
    CFRelease(cut);
    char text[300];
    memset(text, 'n', 299);
    text[299] = 0;
    CFStringRef longer = CFStringCreateWithCString(NULL, text, kCFStringEncodingASCII);
    CFMessagePortRef port = make_local(longer, NULL);
    CHECK_INT(CFStringGetLength(CFMessagePortGetName(port)), 255);
    CFMessagePortRef remote = CFMessagePortCreateRemote(NULL, longer);
    CHECK(remote != NULL);
    CFRelease(remote);
    CFRelease(port);
    CFRelease(longer);
    /* One that was made in Treadle's names is somebody else's. */
    treadle_message_port foreign = NULL;
    treadle_message_port_context context = {.struct_size = sizeof context};
    CFStringRef name = new_name();
    CHECK_INT(treadle_message_port_create_local(CFStringGetCStringPtr(name, kCFStringEncodingUTF8), &context, &foreign), TREADLE_OK);
    CHECK(CFMessagePortCreateLocal(NULL, name, answer, NULL, &should_free) == NULL && should_free);
    treadle_release(foreign);
    CFRelease(name);
}

TEST(a_local_port_can_be_renamed, "MSG-2") {
    CFStringRef first = new_name(), second = new_name(), taken = new_name();
    CFMessagePortRef port = make_local(NULL, NULL), other = make_local(taken, NULL);
    CHECK(CFMessagePortGetName(port) == NULL);
    serve(port, REPLIES);
    CHECK(CFMessagePortSetName(port, first) && CFMessagePortSetName(port, first));
    CHECK(!CFMessagePortSetName(port, taken) && CFEqual(CFMessagePortGetName(port), first));
    CFMessagePortRef remote = CFMessagePortCreateRemote(NULL, first);
    CFDataRef reply = NULL;
    CHECK_INT(request(remote, ECHO, "a", &reply), kCFMessagePortSuccess);
    check_data(reply, "a");
    CFRelease(reply);
    CHECK(CFMessagePortSetName(port, second) && CFEqual(CFMessagePortGetName(port), second));
    CHECK(!CFMessagePortIsValid(remote) && !CFMessagePortSetName(remote, first));
    CHECK(CFMessagePortCreateRemote(NULL, first) == NULL);
    CFRelease(remote);
    remote = CFMessagePortCreateRemote(NULL, second);
    CHECK_INT(request(remote, ECHO, "b", NULL), kCFMessagePortSuccess); /* by the same source */
    CFRelease(remote);
    CFRelease(port);
    CFRelease(other);
    CFRelease(first), CFRelease(second), CFRelease(taken);
}

TEST(a_remote_port_is_one_for_its_name, "MSG-3") {
    CFStringRef name = new_name();
    CHECK(CFMessagePortCreateRemote(NULL, name) == NULL);
    CFMessagePortRef local = make_local(name, NULL), remote = CFMessagePortCreateRemote(NULL, name);
    CHECK(remote != NULL && remote != local && CFMessagePortIsRemote(remote) && !CFMessagePortIsRemote(local));
    CHECK(CFEqual(CFMessagePortGetName(remote), name));
    CHECK(CFMessagePortCreateRemote(NULL, name) == remote);
    CHECK_INT(CFGetRetainCount(remote), 2);
    CFRelease(remote);
    CHECK(CFMessagePortIsValid(remote));
    CFMessagePortInvalidate(remote);
    CHECK(!CFMessagePortIsValid(remote));
    CFMessagePortRef second = CFMessagePortCreateRemote(NULL, name);
    CHECK(second != NULL && second != remote && CFMessagePortIsValid(second));
    CFRelease(remote);
    CFRelease(second);
    for (int i = 0; i < 100; i++) CFRelease(CFMessagePortCreateRemote(NULL, name));
    CFMessagePortContext shown = {0, &shown, NULL, NULL, NULL};
    remote = CFMessagePortCreateRemote(NULL, name);
    CFMessagePortGetContext(remote, &shown);
    CHECK(shown.info == NULL);
    CFRelease(remote);
    CFRelease(local);
    CFRelease(name);
}

TEST(a_remote_port_shares_its_name_with_treadles_own, "MSG-3") {
    CFStringRef name = new_name();
    CFMessagePortRef local = make_local(name, NULL);
    serve(local, REPLIES);
    treadle_message_port own = NULL;
    CHECK_INT(treadle_message_port_create_remote(CFStringGetCStringPtr(name, kCFStringEncodingUTF8), NULL, &own), TREADLE_OK);
    CFMessagePortRef remote = CFMessagePortCreateRemote(NULL, name);
    CHECK_INT(request(remote, ECHO, "x", NULL), kCFMessagePortSuccess);
    CFRelease(remote);
    CHECK(treadle_is_valid(own)); /* it is not the object's to end */
    treadle_release(own);
    CFRelease(local);
    CFRelease(name);
}

TEST(a_port_has_one_source_while_it_is_valid, "MSG-4") {
    CFStringRef name = new_name();
    CFMessagePortRef local = make_local(name, NULL), remote = CFMessagePortCreateRemote(NULL, name);
    CFRunLoopSourceRef source = CFMessagePortCreateRunLoopSource(NULL, local, 7), again = CFMessagePortCreateRunLoopSource(NULL, local, 8);
    CHECK(source != NULL && source == again && CFRunLoopSourceGetOrder(source) == 7 && CFRunLoopSourceIsValid(source));
    CHECK(CFMessagePortCreateRunLoopSource(NULL, remote, 0) == NULL);
    CFRelease(again);
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    CFRunLoopAddSource(loop, source, kCFRunLoopCommonModes);
    CFRunLoopAddSource(loop, source, REPLIES);
    CHECK(CFRunLoopContainsSource(loop, source, kCFRunLoopDefaultMode) && CFRunLoopContainsSource(loop, source, REPLIES));
    CFRunLoopRemoveSource(loop, source, kCFRunLoopCommonModes);
    CHECK(!CFRunLoopContainsSource(loop, source, kCFRunLoopDefaultMode) && CFRunLoopContainsSource(loop, source, REPLIES));
    CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode);
    CHECK_INT(CFMessagePortSendRequest(remote, STOP, NULL, 0, 0, NULL, NULL), kCFMessagePortSuccess);
    CFRunLoopSourceInvalidate(source);
    CHECK(!CFRunLoopSourceIsValid(source) && CFMessagePortIsValid(local));
    CHECK(!CFRunLoopContainsSource(loop, source, REPLIES) && !CFRunLoopContainsSource(loop, source, kCFRunLoopDefaultMode));
    CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode); /* has no effect any more */
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE), kCFRunLoopRunFinished);
    CFRunLoopSourceRef next = CFMessagePortCreateRunLoopSource(NULL, local, 0);
    CHECK(next != NULL && next != source && CFRunLoopSourceIsValid(next));
    CFRunLoopAddSource(loop, next, kCFRunLoopDefaultMode);
    CFRunLoopRemoveSource(loop, source, kCFRunLoopDefaultMode); /* the old one is in no mode */
    CHECK(CFRunLoopContainsSource(loop, next, kCFRunLoopDefaultMode));
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, LONG_TIME, FALSE), kCFRunLoopRunStopped); /* the message has waited */
    CFMessagePortInvalidate(local);
    CHECK(!CFRunLoopSourceIsValid(next) && CFMessagePortCreateRunLoopSource(NULL, local, 0) == NULL);
    CFRelease(source);
    CFRelease(next);
    CFRelease(local);
    CFRelease(remote);
    CFRelease(name);
}

TEST(a_loop_keeps_the_port_whose_source_it_has, "MSG-4 PORT-1") {
    struct counted info = {.references = 1};
    CFStringRef name = new_name();
    CFMessagePortRef port = make_local(name, &info);
    CFRunLoopSourceRef source = CFMessagePortCreateRunLoopSource(NULL, port, 0);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRelease(port);
    CFRelease(source);
    CFMessagePortRef remote = CFMessagePortCreateRemote(NULL, name);
    CHECK(remote != NULL);
    CHECK_INT(CFMessagePortSendRequest(remote, STOP, NULL, 0, 0, NULL, NULL), kCFMessagePortSuccess);
    CFRunLoopRun();
    CHECK_INT(info.calls, 1);
    CFRunLoopRemoveSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CHECK_INT(info.references, 1);
    CHECK(!CFMessagePortIsValid(remote));
    CFRelease(remote);
    CFRelease(name);
}

TEST(a_source_alone_keeps_its_port, "MSG-4") {
    struct counted info = {.references = 1};
    CFMessagePortRef port = make_local(NULL, &info);
    CFMessagePortSetInvalidationCallBack(port, ended);
    CFRunLoopSourceRef source = CFMessagePortCreateRunLoopSource(NULL, port, 0);
    CFRelease(port);
    CHECK(CFRunLoopSourceIsValid(source) && info.ends == 0);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, TRUE), kCFRunLoopRunTimedOut); /* without a name nothing comes */
    CFRunLoopRemoveSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRelease(source);
    CHECK(info.ends == 1 && info.references == 1);
}

TEST(a_request_gets_its_reply, "MSG-5 MSG-6") {
    struct server server;
    start_server(&server);
    CFMessagePortRef remote = CFMessagePortCreateRemote(NULL, server.name);
    CFDataRef reply = (CFDataRef)server.name;
    CHECK_INT(request(remote, ECHO, "hello", &reply), kCFMessagePortSuccess);
    check_data(reply, "hello");
    CFRelease(reply);
    CHECK_INT(request(remote, SILENT, "quiet", &reply), kCFMessagePortSuccess);
    CHECK(reply == NULL);
    reply = (CFDataRef)server.name;
    CHECK_INT(request(remote, EMPTY, NULL, &reply), kCFMessagePortSuccess);
    CHECK(reply == NULL);
    CHECK_INT(request(remote, ECHO, "nobody wants it", NULL), kCFMessagePortSuccess);
    reply = (CFDataRef)server.name;
    CHECK_INT(CFMessagePortSendRequest(remote, -9, NULL, LONG_TIME, 0, NULL, &reply), kCFMessagePortSuccess);
    CHECK(reply == (CFDataRef)server.name); /* untouched */
    CFMutableDataRef large = CFDataCreateMutable(NULL, 0);
    CFDataSetLength(large, 3000000);
    memset(CFDataGetMutableBytePtr(large), 'L', 3000000);
    CHECK_INT(CFMessagePortSendRequest(remote, ECHO, large, LONG_TIME, LONG_TIME, REPLIES, &reply), kCFMessagePortSuccess);
    CHECK(CFEqual(reply, large));
    CFRelease(reply);
    CFRelease(large);
    end_server(&server, remote);
    CHECK_INT(server.info.references, 1);
    CFRelease(remote);
}

TEST(data_that_is_kept_longer_is_empty, "MSG-5") {
    struct counted info = {.references = 1};
    CFStringRef name = new_name();
    CFMessagePortRef local = make_local(name, &info), remote = CFMessagePortCreateRemote(NULL, name);
    serve(local, REPLIES);
    CHECK_INT(request(remote, KEEP, "for a while", NULL), kCFMessagePortSuccess);
    CHECK_INT(info.last_id, KEEP);
    CHECK_TEXT(info.last, "for a while");
    CHECK(CFDataGetLength(info.kept) == 0 && CFDataGetBytePtr(info.kept) == NULL);
    CFRelease(info.kept);
    CFRelease(remote);
    CFRelease(local);
    CFRelease(name);
}

static CFStringRef mode_seen;
static CFDataRef look_at_mode(CFMessagePortRef port, SInt32 id, CFDataRef data, void *info) {
    (void)port, (void)id, (void)data, (void)info;
    if (mode_seen) CFRelease(mode_seen);
    mode_seen = CFRunLoopCopyCurrentMode(CFRunLoopGetCurrent());
    return (CFDataRef)CFRetain(kCFRunLoopDefaultMode); /* no data: nothing is sent of it */
}
static void count_fire(CFRunLoopTimerRef timer, void *info) {
    (void)timer;
    ++*(int *)info;
}
TEST(a_port_of_the_same_thread_answers_in_the_reply_mode, "MSG-6") {
    CFStringRef name = new_name();
    CFMessagePortRef local = CFMessagePortCreateLocal(NULL, name, look_at_mode, NULL, NULL);
    CFMessagePortRef remote = CFMessagePortCreateRemote(NULL, name);
    serve(local, kCFRunLoopDefaultMode);
    CHECK_INT(CFMessagePortSendRequest(remote, 1, NULL, 0, 0.02, REPLIES, NULL), kCFMessagePortReceiveTimeout);
    CHECK_INT(CFMessagePortSendRequest(remote, 1, NULL, 0, 0, REPLIES, NULL), kCFMessagePortReceiveTimeout);
    serve(local, REPLIES);
    int fires = 0;
    CFRunLoopTimerContext context = {0, &fires, NULL, NULL, NULL};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent(), 0, 0, 0, count_fire, &context);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, REPLIES);
    CFDataRef reply = (CFDataRef)name;
    CHECK_INT(CFMessagePortSendRequest(remote, 1, NULL, 0, LONG_TIME, REPLIES, &reply), kCFMessagePortSuccess);
    CHECK(reply == NULL && CFEqual(mode_seen, REPLIES));
    CHECK_INT(fires, 1);
    CFRelease(mode_seen);
    CFRelease(timer);
    CFRelease(remote);
    CFRelease(local);
    CFRelease(name);
}

TEST(every_result_has_its_code, "MSG-8 MSG-6") {
    struct server server;
    start_server(&server);
    CFStringRef name = new_name();
    CFMessagePortRef idle = make_local(name, NULL), unheard = CFMessagePortCreateRemote(NULL, name);
    SInt32 result;
    do result = CFMessagePortSendRequest(unheard, 1, NULL, 0, 0, NULL, NULL);
    while (result == kCFMessagePortSuccess);
    CHECK_INT(result, kCFMessagePortSendTimeout);
    CHECK_INT(CFMessagePortSendRequest(unheard, 1, NULL, 0.02, LONG_TIME, REPLIES, NULL), kCFMessagePortSendTimeout);
    CHECK_INT(CFMessagePortSendRequest(idle, 1, NULL, 0, 0, NULL, NULL), kCFMessagePortIsInvalid);
    UInt8 byte = 0;
    CFDataRef vast = CFDataCreateWithBytesNoCopy(NULL, &byte, 0x60000001, kCFAllocatorNull);
    CHECK_INT(CFMessagePortSendRequest(idle, 1, vast, 0, 0, NULL, NULL), kCFMessagePortTransportError);
    CFRelease(vast);
    CFMessagePortRef remote = CFMessagePortCreateRemote(NULL, server.name);
    CHECK_INT(request(remote, END, NULL, NULL), kCFMessagePortBecameInvalidError);
    CHECK_INT(request(remote, END, NULL, NULL), kCFMessagePortIsInvalid);
    CFMessagePortInvalidate(idle);
    CHECK_INT(CFMessagePortSendRequest(unheard, 1, NULL, 0, 0, NULL, NULL), kCFMessagePortIsInvalid);
    end_server(&server, NULL);
    CFRelease(remote);
    CHECK_INT(CFMessagePortSendRequest(remote, 1, NULL, 0, 0, NULL, NULL), kCFMessagePortIsInvalid); /* released */
    CFRelease(idle);
    CFRelease(unheard);
    CFRelease(name);
}

/* Items and loops have 32,767 references; everything that would add one more returns NULL, or has no effect. */
static int take_all(CFTypeRef object) {
    int count = 0;
    while (CFRetain(object) == object) count++;
    CHECK(CFRetain(object) == NULL);
    return count;
}
static void return_all(CFTypeRef object, int count) {
    while (count-- > 0) CFRelease(object);
}
static void never_ready(CFFileDescriptorRef descriptor, CFOptionFlags kinds, void *info) { (void)descriptor, (void)kinds, (void)info; }
TEST(an_object_with_all_its_references_is_not_retained, "OBJ-2 MSG-1") {
    CFStringRef name = new_name();
    CFMessagePortRef port = CFMessagePortCreateLocal(NULL, name, NULL, NULL, NULL);
    int taken = take_all(port);
    CHECK_INT(taken, 32766);
    CHECK(CFMessagePortCreateLocal(NULL, name, NULL, NULL, NULL) == NULL);
    CHECK(CFMessagePortCreateRunLoopSource(NULL, port, 0) == NULL);
    CFMutableArrayRef array = CFArrayCreateMutable(NULL, 0, &kCFTypeArrayCallBacks);
    CFArrayAppendValue(array, port);
    CHECK_INT(CFArrayGetCount(array), 0);
    CFArrayAppendValue(array, name);
    CFArraySetValueAtIndex(array, 0, port);
    CHECK(CFArrayGetValueAtIndex(array, 0) == name);
    const void *values[] = {port};
    CHECK(CFArrayCreate(NULL, values, 1, &kCFTypeArrayCallBacks) == NULL);
    CFMutableDictionaryRef table = CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFDictionarySetValue(table, name, port);
    CFDictionarySetValue(table, port, name);
    CHECK_INT(CFDictionaryGetCount(table), 0);
    CFDictionarySetValue(table, name, name);
    CFDictionarySetValue(table, name, port);
    CHECK(CFDictionaryGetValue(table, name) == name);
    CFIndex references = CFGetRetainCount(name);
    CFDictionarySetValue(table, port, name);
    CHECK_INT(CFGetRetainCount(name), references);
    CFRelease(table);
    CFRelease(array);
    return_all(port, taken);
    CFRunLoopSourceRef source = CFMessagePortCreateRunLoopSource(NULL, port, 0);
    CHECK(source != NULL);
    taken = take_all(source);
    CHECK(CFMessagePortCreateRunLoopSource(NULL, port, 0) == NULL);
    return_all(source, taken);
    CFRelease(source);
    CHECK(CFMessagePortIsValid(port));
    CFMessagePortInvalidate(port);
    CFRelease(port);
    CFRelease(name);
    taken = take_all(CFRunLoopGetCurrent());
    CHECK_INT(taken, 32767);
    return_all(CFRunLoopGetCurrent(), taken);
    int ends[2];
    CHECK_INT(pipe(ends), 0);
    CFFileDescriptorRef descriptor = CFFileDescriptorCreate(NULL, ends[0], true, never_ready, NULL);
    source = CFFileDescriptorCreateRunLoopSource(NULL, descriptor, 0);
    CHECK(source != NULL);
    taken = take_all(source);
    CHECK(CFFileDescriptorCreateRunLoopSource(NULL, descriptor, 0) == NULL);
    return_all(source, taken);
    CFRelease(source);
    CFFileDescriptorInvalidate(descriptor);
    CFRelease(descriptor);
    close(ends[1]);
}

TEST_MAIN()
