/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Every function in CF names among so many items, for scripts/test-cf-scaling, which counts the instructions between
 * the marks under callgrind. CONSTANT: as many whatever the number; LINEAR: in proportion, as the answer or the work is.
 * Usage: program COUNT */
#include <CoreFoundation/CoreFoundation.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

enum { TIMES = 8 };
/* The first time is not counted, which finds and makes what is made once. */
#define MEASURE(kind, names, ...)                        \
    do {                                                 \
        for (int i = -1; i < TIMES; i++) {               \
            if (i == 0) CALLGRIND_ZERO_STATS;            \
            __VA_ARGS__;                                 \
        }                                                \
        CALLGRIND_DUMP_STATS_AT(kind " " names);         \
    } while (0)
#define CONSTANT(names, ...) MEASURE("CONSTANT", names, __VA_ARGS__)
#define LINEAR(names, ...) MEASURE("LINEAR", names, __VA_ARGS__)

#define LOOP CFRunLoopGetCurrent()
#define MODE CFSTR("scaling")
#define UTF8 kCFStringEncodingUTF8
static volatile uintptr_t sink;
#define USE(value) (sink += (uintptr_t)(value))

static void ignore_timer(CFRunLoopTimerRef timer, void *info) { (void)timer, (void)info; }
static void ignore(void *info) { (void)info; }
static void ignore_observer(CFRunLoopObserverRef observer, CFRunLoopActivity activity, void *info) { (void)observer, (void)activity, (void)info; }
static void ignore_value(const void *value, void *context) { (void)value, (void)context; }
static void ignore_pair(const void *key, const void *value, void *context) { (void)key, (void)value, (void)context; }
static CFComparisonResult by_address(const void *one, const void *other, void *context) {
    (void)context;
    return one < other ? kCFCompareLessThan : one > other ? kCFCompareGreaterThan : kCFCompareEqualTo;
}

static void strings(CFIndex count) {
    CFMutableStringRef plain = CFStringCreateMutable(NULL, 0), wide = CFStringCreateMutable(NULL, 0), list = CFStringCreateMutable(NULL, 0);
    CFStringAppend(wide, CFSTR("\xC3\xA9"));
    for (CFIndex i = 1; i < count; i++) {
        UniChar unit = (UniChar)('a' + i % 20), other = (UniChar)(0x100 + i % 100), comma = i % 8 ? unit : ',';
        CFStringAppendCharacters(plain, &unit, 1);
        CFStringAppendCharacters(wide, &other, 1);
        CFStringAppendCharacters(list, &comma, 1);
    }
    CFStringRef both[] = {plain, wide};
    UniChar units[8];
    char *room = malloc((size_t)count * 4 + 16);
    CFIndex used;
    for (int w = 0; w < 2; w++) {
        CFStringRef text = both[w];
        CFIndex middle = CFStringGetLength(text) / 2;
        CONSTANT("CFStringGetLength", USE(CFStringGetLength(text)));
        CONSTANT("CFStringGetCharacterAtIndex", USE(CFStringGetCharacterAtIndex(text, middle + i)));
        CONSTANT("CFStringGetCharacters", CFStringGetCharacters(text, CFRangeMake(middle + i, 8), units));
        CONSTANT("CFStringGetBytes", USE(CFStringGetBytes(text, CFRangeMake(middle + i, 8), UTF8, 0, 0, (UInt8 *)room, 64, &used)));
        CONSTANT("CFStringCreateWithSubstring", CFRelease(CFStringCreateWithSubstring(NULL, text, CFRangeMake(middle, 8))));
        CONSTANT("CFStringHasPrefix", USE(CFStringHasPrefix(text, CFSTR("ab"))));
        CONSTANT("CFStringHasSuffix", USE(CFStringHasSuffix(text, CFSTR("ab"))));
        CONSTANT("CFStringGetIntValue", USE(CFStringGetIntValue(text)));
        CONSTANT("CFStringGetDoubleValue", USE(CFStringGetDoubleValue(text)));
        CONSTANT("CFStringCompare", USE(CFStringCompare(text, CFSTR("zz"), 0)));
        CONSTANT("CFStringAppendCharacters", CFStringAppendCharacters((CFMutableStringRef)text, units, 1));
        CONSTANT("CFStringAppend", CFStringAppend((CFMutableStringRef)text, CFSTR("x")));
        CONSTANT("CFStringAppendCString", CFStringAppendCString((CFMutableStringRef)text, "x", UTF8));
        CONSTANT("CFStringAppendFormat", CFStringAppendFormat((CFMutableStringRef)text, NULL, CFSTR("%d"), 7));
        CONSTANT("CFStringGetMaximumSizeForEncoding", USE(CFStringGetMaximumSizeForEncoding(count, UTF8)));
        CONSTANT("CFStringGetCStringPtr", USE(CFStringGetCStringPtr(text, UTF8)));
        LINEAR("CFStringFind", USE(CFStringFind(text, CFSTR("zzz"), 0).length));
        LINEAR("CFStringGetCString", USE(CFStringGetCString(text, room, count * 4, UTF8)));
        LINEAR("CFStringCreateExternalRepresentation", CFRelease(CFStringCreateExternalRepresentation(NULL, text, UTF8, 0)));
        LINEAR("CFStringCreateMutableCopy", CFRelease(CFStringCreateMutableCopy(NULL, 0, text)));
        LINEAR("CFStringCreateCopy", CFRelease(CFStringCreateCopy(NULL, text)));
        LINEAR("CFHash", USE(CFHash(text)));
        LINEAR("CFStringCreateWithFormat", CFRelease(CFStringCreateWithFormat(NULL, NULL, CFSTR("%@"), text)));
        LINEAR("CFCopyDescription", CFRelease(CFCopyDescription(text)));
    }
    CFStringRef copy = CFStringCreateCopy(NULL, wide), again = CFStringCreateMutableCopy(NULL, 0, wide);
    CONSTANT("CFStringGetCStringPtr", USE(CFStringGetCStringPtr(copy, UTF8)));
    CONSTANT("CFStringCreateCopy", CFRelease(CFStringCreateCopy(NULL, copy)));
    LINEAR("CFEqual", USE(CFEqual(copy, again)));
    CFStringGetCString(plain, room, count * 4, UTF8);
    LINEAR("CFStringCreateWithCString", CFRelease(CFStringCreateWithCString(NULL, room, UTF8)));
    LINEAR("CFStringCreateWithBytes", CFRelease(CFStringCreateWithBytes(NULL, (UInt8 *)room, count, UTF8, 0)));
    LINEAR("CFStringCreateWithCharacters", CFRelease(CFStringCreateWithCharacters(NULL, (UniChar *)(void *)room, count / 2)));
    LINEAR("CFStringCreateArrayBySeparatingStrings", CFRelease(CFStringCreateArrayBySeparatingStrings(NULL, list, CFSTR(","))));
    CFArrayRef parts = CFStringCreateArrayBySeparatingStrings(NULL, list, CFSTR(","));
    LINEAR("CFStringCreateByCombiningStrings", CFRelease(CFStringCreateByCombiningStrings(NULL, parts, CFSTR("+"))));
    char name[32];
    for (CFIndex i = 0; i < count; i++) {
        snprintf(name, sizeof name, "literal %ld", i);
        USE(__CFStringMakeConstantString(name));
    }
    CONSTANT("__CFStringMakeConstantString", USE(__CFStringMakeConstantString("literal 500")));
    free(room);
}

static void containers(CFIndex count) {
    CFMutableArrayRef array = CFArrayCreateMutable(NULL, 0, NULL);
    CFMutableDictionaryRef dictionary = CFDictionaryCreateMutable(NULL, 0, NULL, NULL);
    CFMutableSetRef set = CFSetCreateMutable(NULL, 0, NULL);
    CFMutableDataRef data = CFDataCreateMutable(NULL, 0);
    for (intptr_t i = 1; i <= count; i++) {
        CFArrayAppendValue(array, (void *)i);
        CFDictionarySetValue(dictionary, (void *)i, (void *)i);
        CFSetAddValue(set, (void *)i);
        CFDataAppendBytes(data, (const UInt8 *)"x", 1);
    }
    const void **values = calloc((size_t)count + 2 * TIMES, sizeof *values), *found;
    void *middle = (void *)(intptr_t)(count / 2), *none = (void *)(intptr_t)(count * 2);
    CFRange all = CFRangeMake(0, count);
    CONSTANT("CFArrayGetCount", USE(CFArrayGetCount(array)));
    CONSTANT("CFArrayGetValueAtIndex", USE(CFArrayGetValueAtIndex(array, count / 2)));
    CONSTANT("CFArrayGetValues", CFArrayGetValues(array, CFRangeMake(count / 2, 8), values));
    CONSTANT("CFArraySetValueAtIndex", CFArraySetValueAtIndex(array, count / 2, middle));
    CONSTANT("CFArrayAppendValue", CFArrayAppendValue(array, middle));
    CONSTANT("CFArrayRemoveValueAtIndex", CFArrayRemoveValueAtIndex(array, CFArrayGetCount(array) - 1));
    CONSTANT("CFArrayRemoveValueAtIndex", CFArrayRemoveValueAtIndex(array, 0), CFArrayAppendValue(array, middle));
    CONSTANT("CFArrayInsertValueAtIndex", CFArrayInsertValueAtIndex(array, 0, middle), CFArrayRemoveValueAtIndex(array, 0));
    LINEAR("CFArrayInsertValueAtIndex", CFArrayInsertValueAtIndex(array, count / 2, middle), CFArrayRemoveValueAtIndex(array, count / 2));
    LINEAR("CFArrayGetFirstIndexOfValue", USE(CFArrayGetFirstIndexOfValue(array, all, none)));
    LINEAR("CFArrayGetLastIndexOfValue", USE(CFArrayGetLastIndexOfValue(array, all, none)));
    LINEAR("CFArrayGetCountOfValue", USE(CFArrayGetCountOfValue(array, all, none)));
    LINEAR("CFArrayContainsValue", USE(CFArrayContainsValue(array, all, none)));
    LINEAR("CFArrayApplyFunction", CFArrayApplyFunction(array, all, ignore_value, NULL));
    LINEAR("CFArrayCreate", CFRelease(CFArrayCreate(NULL, values, count, NULL)));
    LINEAR("CFArrayCreateCopy", CFRelease(CFArrayCreateCopy(NULL, array)));
    LINEAR("CFArrayCreateMutableCopy", CFRelease(CFArrayCreateMutableCopy(NULL, 0, array)));
    CFMutableArrayRef other = CFArrayCreateMutable(NULL, 0, NULL);
    LINEAR("CFArrayAppendArray CFArrayRemoveAllValues", CFArrayAppendArray(other, array, all), CFArrayRemoveAllValues(other));
    LINEAR("CFArraySortValues", CFArraySortValues(array, all, by_address, NULL)); /* and their logarithm */
    CONSTANT("CFArrayCreateMutable", CFRelease(CFArrayCreateMutable(NULL, count, NULL)));

    CONSTANT("CFDictionaryGetCount", USE(CFDictionaryGetCount(dictionary)));
    CONSTANT("CFDictionaryGetValue", USE(CFDictionaryGetValue(dictionary, middle)));
    CONSTANT("CFDictionaryGetValueIfPresent", USE(CFDictionaryGetValueIfPresent(dictionary, none, &found)));
    CONSTANT("CFDictionaryContainsKey", USE(CFDictionaryContainsKey(dictionary, none)));
    CONSTANT("CFDictionaryGetCountOfKey", USE(CFDictionaryGetCountOfKey(dictionary, middle)));
    CONSTANT("CFDictionarySetValue", CFDictionarySetValue(dictionary, middle, none));
    CONSTANT("CFDictionaryReplaceValue", CFDictionaryReplaceValue(dictionary, middle, none));
    CONSTANT("CFDictionaryRemoveValue CFDictionaryAddValue", CFDictionaryRemoveValue(dictionary, middle), CFDictionaryAddValue(dictionary, middle, none));
    LINEAR("CFDictionaryGetCountOfValue", USE(CFDictionaryGetCountOfValue(dictionary, none)));
    LINEAR("CFDictionaryContainsValue", USE(CFDictionaryContainsValue(dictionary, (void *)1)));
    LINEAR("CFDictionaryGetKeysAndValues", CFDictionaryGetKeysAndValues(dictionary, values, NULL));
    LINEAR("CFDictionaryApplyFunction", CFDictionaryApplyFunction(dictionary, ignore_pair, NULL));
    LINEAR("CFDictionaryCreate", CFRelease(CFDictionaryCreate(NULL, values, values, count, NULL, NULL)));
    LINEAR("CFDictionaryCreateCopy", CFRelease(CFDictionaryCreateCopy(NULL, dictionary)));
    LINEAR("CFDictionaryCreateMutableCopy CFDictionaryRemoveAllValues", {
        CFMutableDictionaryRef copy = CFDictionaryCreateMutableCopy(NULL, 0, dictionary);
        CFDictionaryRemoveAllValues(copy);
        CFRelease(copy);
    });
    CONSTANT("CFSetGetCount", USE(CFSetGetCount(set)));
    CONSTANT("CFSetContainsValue", USE(CFSetContainsValue(set, none)));
    CONSTANT("CFSetGetValue", USE(CFSetGetValue(set, middle)));
    CONSTANT("CFSetGetValueIfPresent", USE(CFSetGetValueIfPresent(set, middle, &found)));
    CONSTANT("CFSetGetCountOfValue", USE(CFSetGetCountOfValue(set, middle)));
    CONSTANT("CFSetSetValue", CFSetSetValue(set, middle));
    CONSTANT("CFSetReplaceValue", CFSetReplaceValue(set, middle));
    CONSTANT("CFSetRemoveValue CFSetAddValue", CFSetRemoveValue(set, middle), CFSetAddValue(set, middle));
    LINEAR("CFSetGetValues", CFSetGetValues(set, values));
    LINEAR("CFSetApplyFunction", CFSetApplyFunction(set, ignore_value, NULL));
    LINEAR("CFSetCreate", CFRelease(CFSetCreate(NULL, values, count, NULL)));
    LINEAR("CFSetCreateCopy", CFRelease(CFSetCreateCopy(NULL, set)));
    LINEAR("CFSetCreateMutableCopy CFSetRemoveAllValues", {
        CFMutableSetRef copy = CFSetCreateMutableCopy(NULL, 0, set);
        CFSetRemoveAllValues(copy);
        CFRelease(copy);
    });
    UInt8 *bytes = malloc((size_t)count);
    CONSTANT("CFDataGetLength", USE(CFDataGetLength(data)));
    CONSTANT("CFDataGetBytePtr", USE(CFDataGetBytePtr(data)));
    CONSTANT("CFDataGetMutableBytePtr", USE(CFDataGetMutableBytePtr(data)));
    CONSTANT("CFDataAppendBytes", CFDataAppendBytes(data, bytes, 1));
    CONSTANT("CFDataSetLength", CFDataSetLength(data, count));
    CONSTANT("CFDataIncreaseLength", CFDataIncreaseLength(data, 1));
    CONSTANT("CFHash", USE(CFHash(data)));
    CONSTANT("CFDataGetBytes", CFDataGetBytes(data, CFRangeMake(count / 2, 8), bytes));
    LINEAR("CFDataReplaceBytes", CFDataReplaceBytes(data, CFRangeMake(0, 1), bytes, 2));
    LINEAR("CFDataDeleteBytes", CFDataDeleteBytes(data, CFRangeMake(0, 1)));
    LINEAR("CFDataCreate", CFRelease(CFDataCreate(NULL, bytes, count)));
    LINEAR("CFDataCreateCopy", CFRelease(CFDataCreateCopy(NULL, data)));
    LINEAR("CFDataCreateMutableCopy", CFRelease(CFDataCreateMutableCopy(NULL, 0, data)));
    LINEAR("CFCopyDescription", CFRelease(CFCopyDescription(array)));
    LINEAR("CFEqual", USE(CFEqual(array, array)));
}

static CFRunLoopTimerRef timer(double date) { return CFRunLoopTimerCreate(NULL, date, 1000, 0, 0, ignore_timer, NULL); }
static CFRunLoopSourceRef source(void) {
    CFRunLoopSourceContext context = {.perform = ignore};
    return CFRunLoopSourceCreate(NULL, 0, &context);
}
static CFRunLoopObserverRef observer(void) { return CFRunLoopObserverCreate(NULL, kCFRunLoopEntry, true, 0, ignore_observer, NULL); }

static void loops(CFIndex count) {
    CFAbsoluteTime now = CFAbsoluteTimeGetCurrent();
    CFRunLoopTimerRef one_timer = NULL;
    CFRunLoopSourceRef one_source = NULL;
    for (CFIndex i = 0; i < count; i++) {
        if (one_timer) CFRelease(one_timer), CFRelease(one_source);
        CFRunLoopAddTimer(LOOP, one_timer = timer(now + 10000 + (double)((i * 7919) % count)), MODE);
        CFRunLoopAddSource(LOOP, one_source = source(), MODE);
    }
    CFRunLoopObserverRef one_observer = observer();
    CFRunLoopAddObserver(LOOP, one_observer, MODE);
    CFRunLoopTimerRef fresh = timer(now + 5000);
    CFRunLoopSourceRef fresh_source = source();
    CFRunLoopObserverRef fresh_observer = observer();
    CONSTANT("CFRunLoopGetCurrent", USE(CFRunLoopGetCurrent()));
    CONSTANT("CFRunLoopGetNextTimerFireDate", USE(CFRunLoopGetNextTimerFireDate(LOOP, MODE)));
    CONSTANT("CFRunLoopTimerGetNextFireDate", USE(CFRunLoopTimerGetNextFireDate(one_timer)));
    CONSTANT("CFRunLoopTimerSetNextFireDate", CFRunLoopTimerSetNextFireDate(one_timer, now + 20000 + i));
    CONSTANT("CFRunLoopAddTimer CFRunLoopRemoveTimer", CFRunLoopAddTimer(LOOP, fresh, MODE), CFRunLoopRemoveTimer(LOOP, fresh, MODE));
    CONSTANT("CFRunLoopContainsTimer", USE(CFRunLoopContainsTimer(LOOP, one_timer, MODE)));
    CONSTANT("CFRunLoopTimerCreate CFRunLoopTimerInvalidate", {
        CFRunLoopTimerRef made = timer(now + 6000);
        CFRunLoopAddTimer(LOOP, made, MODE);
        CFRunLoopTimerInvalidate(made);
        CFRelease(made);
    });
    CONSTANT("CFRunLoopAddSource CFRunLoopRemoveSource", CFRunLoopAddSource(LOOP, fresh_source, MODE), CFRunLoopRemoveSource(LOOP, fresh_source, MODE));
    CONSTANT("CFRunLoopContainsSource", USE(CFRunLoopContainsSource(LOOP, one_source, MODE)));
    CONSTANT("CFRunLoopSourceCreate CFRunLoopSourceInvalidate", {
        CFRunLoopSourceRef made = source();
        CFRunLoopAddSource(LOOP, made, MODE);
        CFRunLoopSourceInvalidate(made);
        CFRelease(made);
    });
    CONSTANT("CFRunLoopSourceSignal", CFRunLoopSourceSignal(one_source));
    CONSTANT("CFRunLoopSourceIsSignalled", USE(CFRunLoopSourceIsSignalled(one_source)));
    CONSTANT("CFRunLoopAddObserver CFRunLoopRemoveObserver", CFRunLoopAddObserver(LOOP, fresh_observer, MODE), CFRunLoopRemoveObserver(LOOP, fresh_observer, MODE));
    CONSTANT("CFRunLoopContainsObserver", USE(CFRunLoopContainsObserver(LOOP, one_observer, MODE)));
    CONSTANT("CFRunLoopRunInMode", USE(CFRunLoopRunInMode(MODE, 0, true)));
    CONSTANT("CFRunLoopWakeUp", CFRunLoopWakeUp(LOOP));
    CONSTANT("CFRetain CFRelease", CFRelease(CFRetain(one_timer)));
    CONSTANT("CFGetTypeID", USE(CFGetTypeID(one_timer)));
    CONSTANT("CFNumberCreate", CFRelease(CFNumberCreate(NULL, kCFNumberCFIndexType, &count)));
    CONSTANT("CFDateCreate", CFRelease(CFDateCreate(NULL, now)));
    CONSTANT("CFSocketCreateWithNative CFSocketInvalidate", {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
        CFSocketRef made = CFSocketCreateWithNative(NULL, ends[0], kCFSocketReadCallBack, NULL, NULL);
        CFRunLoopSourceRef reader = CFSocketCreateRunLoopSource(NULL, made, 0);
        CFRunLoopAddSource(LOOP, reader, MODE);
        CFSocketDisableCallBacks(made, kCFSocketReadCallBack);
        CFSocketEnableCallBacks(made, kCFSocketReadCallBack);
        CFRunLoopRemoveSource(LOOP, reader, MODE);
        CFSocketInvalidate(made);
        CFRelease(reader);
        CFRelease(made);
        close(ends[1]);
    });
}

/* What has to do with one object, amid the loop's many. */
static int listening(struct sockaddr_un *name) {
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    *name = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "treadle-scaling-%d", getpid());
    if (fd < 0 || bind(fd, (struct sockaddr *)name, sizeof *name) != 0 || listen(fd, 64) != 0) abort();
    return fd;
}
static void ignore_socket(CFSocketRef socket, CFSocketCallBackType type, CFDataRef address, const void *data, void *info) {
    (void)socket, (void)type, (void)address, (void)data, (void)info;
}
static void sockets(void) {
    struct sockaddr_un name;
    int listener = listening(&name), ends[2];
    CFDataRef address = CFDataCreate(NULL, (const UInt8 *)&name, sizeof name), bytes = CFDataCreate(NULL, (const UInt8 *)"x", 1);
    CFSocketSignature signature = {AF_UNIX, SOCK_STREAM, 0, address};
    CFSocketContext context = {0};
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) abort();
    CFSocketRef one = CFSocketCreateWithNative(NULL, ends[0], kCFSocketWriteCallBack, ignore_socket, &context);
    CFRunLoopSourceRef reader = CFSocketCreateRunLoopSource(NULL, one, 0);
    CFRunLoopAddSource(LOOP, reader, MODE);
    CONSTANT("CFSocketIsValid", USE(CFSocketIsValid(one)));
    CONSTANT("CFSocketGetNative", USE(CFSocketGetNative(one)));
    CONSTANT("CFSocketGetContext", CFSocketGetContext(one, &context));
    CONSTANT("CFSocketGetSocketFlags CFSocketSetSocketFlags", CFSocketSetSocketFlags(one, CFSocketGetSocketFlags(one)));
    CONSTANT("CFSocketDisableCallBacks CFSocketEnableCallBacks", CFSocketDisableCallBacks(one, kCFSocketWriteCallBack), CFSocketEnableCallBacks(one, kCFSocketWriteCallBack));
    CONSTANT("CFSocketCopyAddress", { CFDataRef own = CFSocketCopyAddress(one); if (own) CFRelease(own); });
    CONSTANT("CFSocketCopyPeerAddress", { CFDataRef peer = CFSocketCopyPeerAddress(one); if (peer) CFRelease(peer); });
    CONSTANT("CFSocketSendData", USE(CFSocketSendData(one, NULL, bytes, 0)));
    CONSTANT("CFSocketCreate CFSocketConnectToAddress", {
        CFSocketRef made = CFSocketCreate(NULL, AF_UNIX, SOCK_STREAM, 0, 0, NULL, NULL);
        USE(CFSocketConnectToAddress(made, address, 1));
        CFSocketInvalidate(made);
        CFRelease(made);
    });
    CONSTANT("CFSocketCreateConnectedToSocketSignature", {
        CFSocketRef made = CFSocketCreateConnectedToSocketSignature(NULL, &signature, 0, NULL, NULL, 1);
        if (made) CFSocketInvalidate(made), CFRelease(made);
    });
    name.sun_path[1] = 'T';
    CFDataRef other = CFDataCreate(NULL, (const UInt8 *)&name, sizeof name);
    CFSocketSignature own = {AF_UNIX, SOCK_STREAM, 0, other};
    CONSTANT("CFSocketCreateWithSocketSignature CFSocketSetAddress", {
        CFSocketRef made = CFSocketCreateWithSocketSignature(NULL, &own, 0, NULL, NULL);
        if (made) USE(CFSocketSetAddress(made, other)), CFSocketInvalidate(made), CFRelease(made);
    });
    CFSocketInvalidate(one);
    close(ends[1]);
    close(listener);
}
static void ignore_descriptor(CFFileDescriptorRef descriptor, CFOptionFlags kinds, void *info) { (void)descriptor, (void)kinds, (void)info; }
static void descriptors(void) {
    int ends[2];
    if (pipe(ends) != 0) abort();
    CFFileDescriptorContext context = {0};
    CFFileDescriptorRef one = CFFileDescriptorCreate(NULL, ends[0], false, ignore_descriptor, NULL);
    CFRunLoopSourceRef reader = CFFileDescriptorCreateRunLoopSource(NULL, one, 0);
    CONSTANT("CFRunLoopAddSource CFRunLoopRemoveSource", CFRunLoopAddSource(LOOP, reader, MODE), CFRunLoopRemoveSource(LOOP, reader, MODE));
    CFRunLoopAddSource(LOOP, reader, MODE);
    CONSTANT("CFFileDescriptorEnableCallBacks CFFileDescriptorDisableCallBacks", CFFileDescriptorEnableCallBacks(one, 1), CFFileDescriptorDisableCallBacks(one, 1));
    CONSTANT("CFFileDescriptorIsValid", USE(CFFileDescriptorIsValid(one)));
    CONSTANT("CFFileDescriptorGetNativeDescriptor", USE(CFFileDescriptorGetNativeDescriptor(one)));
    CONSTANT("CFFileDescriptorGetContext", CFFileDescriptorGetContext(one, &context));
    CONSTANT("CFFileDescriptorCreate CFFileDescriptorCreateRunLoopSource CFFileDescriptorInvalidate", {
        CFFileDescriptorRef made = CFFileDescriptorCreate(NULL, ends[1], false, ignore_descriptor, NULL);
        CFRelease(CFFileDescriptorCreateRunLoopSource(NULL, made, 0));
        CFFileDescriptorInvalidate(made);
        CFRelease(made);
    });
    CFFileDescriptorInvalidate(one);
}
static void stop(void *info) { (void)info, CFRunLoopStop(LOOP); }
static void items(CFIndex count) {
    CFRunLoopTimerContext timer_context = {0};
    CFRunLoopSourceContext source_context = {.perform = stop};
    CFRunLoopObserverContext observer_context = {0};
    CFRunLoopTimerRef one_timer = timer(CFAbsoluteTimeGetCurrent() + 5000);
    CFRunLoopSourceRef one_source = source(), stopper = CFRunLoopSourceCreate(NULL, 0, &source_context);
    CFRunLoopObserverRef one_observer = observer();
    CFRunLoopAddTimer(LOOP, one_timer, MODE), CFRunLoopAddSource(LOOP, one_source, MODE), CFRunLoopAddObserver(LOOP, one_observer, MODE);
    CFRunLoopAddSource(LOOP, stopper, kCFRunLoopDefaultMode);
    CONSTANT("CFRunLoopTimerIsValid CFRunLoopTimerDoesRepeat", USE(CFRunLoopTimerIsValid(one_timer) + CFRunLoopTimerDoesRepeat(one_timer)));
    CONSTANT("CFRunLoopTimerGetInterval CFRunLoopTimerGetOrder", USE(CFRunLoopTimerGetInterval(one_timer) + (double)CFRunLoopTimerGetOrder(one_timer)));
    CONSTANT("CFRunLoopTimerGetTolerance CFRunLoopTimerSetTolerance", CFRunLoopTimerSetTolerance(one_timer, CFRunLoopTimerGetTolerance(one_timer) + 1));
    CONSTANT("CFRunLoopTimerGetContext", CFRunLoopTimerGetContext(one_timer, &timer_context));
    CONSTANT("CFRunLoopSourceIsValid CFRunLoopSourceGetOrder", USE(CFRunLoopSourceIsValid(one_source) + CFRunLoopSourceGetOrder(one_source)));
    CONSTANT("CFRunLoopSourceGetContext", CFRunLoopSourceGetContext(one_source, &source_context));
    CONSTANT("CFRunLoopObserverIsValid CFRunLoopObserverDoesRepeat", USE(CFRunLoopObserverIsValid(one_observer) + CFRunLoopObserverDoesRepeat(one_observer)));
    CONSTANT("CFRunLoopObserverGetActivities CFRunLoopObserverGetOrder", USE(CFRunLoopObserverGetActivities(one_observer) + CFRunLoopObserverGetOrder(one_observer)));
    CONSTANT("CFRunLoopObserverGetContext", CFRunLoopObserverGetContext(one_observer, &observer_context));
    CONSTANT("CFRunLoopObserverCreate CFRunLoopObserverInvalidate", {
        CFRunLoopObserverRef made = observer();
        CFRunLoopAddObserver(LOOP, made, MODE);
        CFRunLoopObserverInvalidate(made);
        CFRelease(made);
    });
    CONSTANT("CFRunLoopTimerCreateWithHandler", CFRelease(CFRunLoopTimerCreateWithHandler(NULL, 1e9, 0, 0, 0, ^(CFRunLoopTimerRef made) { (void)made; })));
    CONSTANT("CFRunLoopObserverCreateWithHandler", CFRelease(CFRunLoopObserverCreateWithHandler(NULL, kCFRunLoopEntry, true, 0, ^(CFRunLoopObserverRef made, CFRunLoopActivity now) { (void)made, (void)now; })));
    CONSTANT("CFRunLoopPerformBlock", CFRunLoopPerformBlock(LOOP, MODE, ^{}));
    CONSTANT("CFRunLoopRun CFRunLoopStop", CFRunLoopSourceSignal(stopper), CFRunLoopRun());
    CONSTANT("CFRunLoopIsWaiting CFRunLoopGetMain", USE(CFRunLoopIsWaiting(CFRunLoopGetMain())));
    CONSTANT("CFRunLoopCopyCurrentMode", { CFStringRef mode = CFRunLoopCopyCurrentMode(LOOP); if (mode) CFRelease(mode); });
    CONSTANT("CFRunLoopCopyAllModes", CFRelease(CFRunLoopCopyAllModes(LOOP)));
    CONSTANT("CFRunLoopAddCommonMode", {
        CFStringRef mode = CFStringCreateWithFormat(NULL, NULL, CFSTR("common %d"), i);
        CFRunLoopAddCommonMode(LOOP, mode);
        CFRelease(mode);
    });
    (void)count;
}
static void values(CFIndex count) {
    CFNumberRef number = CFNumberCreate(NULL, kCFNumberCFIndexType, &count);
    CFDateRef date = CFDateCreate(NULL, 1), later = CFDateCreate(NULL, 2);
    CFIndex value;
    CONSTANT("CFNumberGetValue CFNumberGetType", USE(CFNumberGetValue(number, CFNumberGetType(number), &value)));
    CONSTANT("CFNumberGetByteSize CFNumberIsFloatType", USE(CFNumberGetByteSize(number) + CFNumberIsFloatType(number)));
    CONSTANT("CFNumberCompare", USE(CFNumberCompare(number, number, NULL)));
    CONSTANT("CFDateCompare CFDateGetAbsoluteTime CFDateGetTimeIntervalSinceDate", USE(CFDateCompare(date, later, NULL) + CFDateGetAbsoluteTime(date) + CFDateGetTimeIntervalSinceDate(later, date)));
    CONSTANT("CFBooleanGetValue", USE(CFBooleanGetValue(kCFBooleanTrue)));
    CONSTANT("CFGetRetainCount CFGetAllocator", USE(CFGetRetainCount(number)), USE(CFGetAllocator(number)));
    CONSTANT("CFAllocatorGetDefault CFAllocatorAllocate CFAllocatorReallocate CFAllocatorDeallocate",
             CFAllocatorDeallocate(NULL, CFAllocatorReallocate(NULL, CFAllocatorAllocate(CFAllocatorGetDefault(), 8, 0), 16, 0)));
    CONSTANT("CFStringGetSystemEncoding CFStringIsEncodingAvailable", USE(CFStringIsEncodingAvailable(CFStringGetSystemEncoding())));
    CONSTANT("CFCopyTypeIDDescription", CFRelease(CFCopyTypeIDDescription(CFGetTypeID(number))));
    char *text = malloc((size_t)count + 1);
    memset(text, 'x', (size_t)count), text[count] = 0;
    LINEAR("CFStringCreateWithCStringNoCopy", CFRelease(CFStringCreateWithCStringNoCopy(NULL, text, UTF8, kCFAllocatorNull)));
    LINEAR("CFStringCreateWithBytesNoCopy", CFRelease(CFStringCreateWithBytesNoCopy(NULL, (UInt8 *)text, count, UTF8, 0, kCFAllocatorNull)));
    LINEAR("CFDataCreateWithBytesNoCopy", CFRelease(CFDataCreateWithBytesNoCopy(NULL, (UInt8 *)text, count, kCFAllocatorNull)));
    free(text);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    CFIndex size = atol(arguments[1]);
    strings(size);
    containers(size);
    loops(size);
    sockets();
    descriptors();
    items(size);
    values(size);
    return 0;
}
