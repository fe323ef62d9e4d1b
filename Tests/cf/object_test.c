/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * The objects that run-loop code passes around: strings, data, dates, numbers, containers. */
#include "helpers.h"

TEST(constants_are_objects, "ABI-6 MODE-2") {
    check_string(kCFRunLoopDefaultMode, "kCFRunLoopDefaultMode");
    check_string(kCFRunLoopCommonModes, "kCFRunLoopCommonModes");
    CHECK(CFSTR("kCFRunLoopDefaultMode") == kCFRunLoopDefaultMode);
    CHECK(CFEqual(CFSTR("a"), CFSTR("a")) && CFSTR("a") == CFSTR("a") && !CFEqual(CFSTR("a"), CFSTR("b")));
    CHECK(CFBooleanGetValue(kCFBooleanTrue) && !CFBooleanGetValue(kCFBooleanFalse));
    CHECK(kCFAllocatorDefault == NULL && CFGetTypeID(kCFAllocatorSystemDefault) == CFAllocatorGetTypeID());
    for (int i = 0; i < 100; i++) {
        CFRetain(kCFBooleanTrue);
        CFRelease(kCFNull);
        CFRelease(CFSTR("a"));
    }
    CHECK(CFGetTypeID(kCFNull) == CFNullGetTypeID());
    check_string(CFSTR("a"), "a");
    CHECK(kCFAbsoluteTimeIntervalSince1970 == 978307200.0);
}

TEST(counts_end_an_object, "OBJ-2") {
    CFStringRef string = CFStringCreateWithCString(NULL, "counted", kCFStringEncodingUTF8);
    CHECK_INT(CFGetRetainCount(string), 1);
    CHECK(CFRetain(string) == string);
    CHECK_INT(CFGetRetainCount(string), 2);
    CFRelease(string);
    check_string(string, "counted");
    CFRelease(string);
    CHECK_INT(CFStringGetLength(string), 0);
    CHECK(CFGetTypeID(string) == 0);
    CFRelease(string);
    CFStringRef other = CFStringCreateWithCString(NULL, "other", kCFStringEncodingUTF8);
    CHECK(other != string);
    CFRelease(string);
    check_string(other, "other");
    CFRelease(other);
}

TEST(strings_know_encodings, "RL-12") {
    static const UInt8 latin[] = {'c', 'a', 'f', 0xE9}, mac[] = {'c', 'a', 'f', 0x8E}, wide[] = {'c', 0, 'a', 0, 'f', 0, 0xE9, 0};
    static const UInt8 marked[] = {0xFE, 0xFF, 0, 'c', 0, 'a', 0, 'f', 0, 0xE9};
    CFStringRef text = CFSTR("caf\xC3\xA9");
    CFStringRef made[] = {
        CFStringCreateWithBytes(NULL, latin, 4, kCFStringEncodingISOLatin1, 0),
        CFStringCreateWithBytes(NULL, mac, 4, kCFStringEncodingMacRoman, 0),
        CFStringCreateWithBytes(NULL, wide, 8, kCFStringEncodingUTF16LE, 0),
        CFStringCreateWithBytes(NULL, marked, 10, kCFStringEncodingUTF16, 1),
        CFStringCreateWithBytes(NULL, latin, 4, kCFStringEncodingASCII, 0), /* as CoreFoundation reads it */
    };
    for (int i = 0; i < 5; i++) {
        CHECK(CFEqual(made[i], text) && CFHash(made[i]) == CFHash(text));
        CHECK_INT(CFStringGetLength(made[i]), 4);
        CFRelease(made[i]);
    }
    CHECK_INT(CFStringGetCharacterAtIndex(text, 3), 0xE9);
    CHECK(CFStringGetCStringPtr(text, kCFStringEncodingASCII) == NULL);
    CHECK_TEXT(CFStringGetCStringPtr(text, kCFStringEncodingUTF8), "caf\xC3\xA9");
    char room[5];
    CHECK(!CFStringGetCString(text, room, sizeof room, kCFStringEncodingUTF8) && room[0] == 0);
    CHECK(!CFStringGetCString(text, room, sizeof room, kCFStringEncodingASCII));
    CHECK(CFStringGetCString(text, room, sizeof room, kCFStringEncodingISOLatin1));
    CHECK_TEXT(room, "caf\xE9");
    UInt8 bytes[16];
    CFIndex used = -1;
    CHECK_INT(CFStringGetBytes(text, CFRangeMake(0, 4), kCFStringEncodingASCII, '?', 0, bytes, 16, &used), 4);
    CHECK(used == 4 && memcmp(bytes, "caf?", 4) == 0);
    CHECK_INT(CFStringGetBytes(text, CFRangeMake(0, 4), kCFStringEncodingASCII, 0, 0, bytes, 16, &used), 3);
    CHECK_INT(CFStringGetBytes(text, CFRangeMake(0, 4), kCFStringEncodingUTF8, 0, 0, bytes, 4, &used), 3);
    CHECK_INT(used, 3);
    CHECK_INT(CFStringGetBytes(text, CFRangeMake(1, 2), kCFStringEncodingUTF32LE, 0, 0, NULL, 0, &used), 2);
    CHECK_INT(used, 8);
    CHECK(CFStringCreateWithBytes(NULL, latin, 4, kCFStringEncodingUTF8, 0) == NULL);
    CHECK(CFStringCreateWithCString(NULL, "x", 0x0999) == NULL && !CFStringIsEncodingAvailable(0x0999));
    CHECK_INT(CFStringGetMaximumSizeForEncoding(10, kCFStringEncodingUTF8), 30);
}

TEST(strings_beyond_the_first_plane_have_two_units, "RL-12") {
    CFStringRef text = CFSTR("a\xF0\x9F\x99\x82z");
    UniChar units[4] = {0};
    CHECK_INT(CFStringGetLength(text), 4);
    CFStringGetCharacters(text, CFRangeMake(0, 4), units);
    CHECK(units[0] == 'a' && units[1] == 0xD83D && units[2] == 0xDE42 && units[3] == 'z');
    CHECK_INT(CFStringGetCharacterAtIndex(text, 2), 0xDE42);
    CFStringRef again = CFStringCreateWithCharacters(NULL, units, 4), part = CFStringCreateWithSubstring(NULL, text, CFRangeMake(1, 2));
    CHECK(CFEqual(again, text));
    check_string(part, "\xF0\x9F\x99\x82");
    CHECK(CFStringCreateWithSubstring(NULL, text, CFRangeMake(3, 2)) == NULL);
    CHECK_INT(CFStringCompare(CFSTR("\xEF\xBF\xBD"), text, 0), kCFCompareGreaterThan);
    CFRelease(again);
    CFRelease(part);
}

TEST(strings_are_cut_joined_and_compared, "RL-12") {
    CFArrayRef parts = CFStringCreateArrayBySeparatingStrings(NULL, CFSTR("a,bc,,d"), CFSTR(","));
    CHECK_INT(CFArrayGetCount(parts), 4);
    check_string(CFArrayGetValueAtIndex(parts, 1), "bc");
    check_string(CFArrayGetValueAtIndex(parts, 2), "");
    CFStringRef joined = CFStringCreateByCombiningStrings(NULL, parts, CFSTR("--"));
    check_string(joined, "a--bc----d");
    CFMutableStringRef text = CFStringCreateMutableCopy(NULL, 0, joined);
    CFStringAppend(text, CFSTR("+"));
    CFStringAppend(text, text);
    CFStringAppendCString(text, "!", kCFStringEncodingASCII);
    CFStringAppendFormat(text, NULL, CFSTR("%d%@"), 5, CFSTR("x"));
    check_string(text, "a--bc----d+a--bc----d+!5x");
    CFStringAppend((CFMutableStringRef)joined, CFSTR("no"));
    check_string(joined, "a--bc----d");
    CHECK(CFStringHasPrefix(text, CFSTR("a--")) && CFStringHasSuffix(text, CFSTR("5x")) && !CFStringHasPrefix(CFSTR("a"), text));
    CHECK_INT(CFStringCompare(CFSTR("abc"), CFSTR("abd"), 0), kCFCompareLessThan);
    CHECK_INT(CFStringCompare(CFSTR("ABC"), CFSTR("abc"), kCFCompareCaseInsensitive), kCFCompareEqualTo);
    CHECK_INT(CFStringFind(text, CFSTR("bc"), 0).location, 3);
    CHECK_INT(CFStringFind(text, CFSTR("bc"), kCFCompareBackwards).location, 14);
    CHECK_INT(CFStringFind(text, CFSTR("none"), 0).location, kCFNotFound);
    CHECK_INT(CFStringGetIntValue(CFSTR(" -42x")), -42);
    CHECK_INT(CFStringGetIntValue(CFSTR("99999999999")), INT32_MAX);
    CHECK(CFStringGetDoubleValue(CFSTR("2.5e3")) == 2500);
    CFRelease(parts);
    CFRelease(joined);
    CFRelease(text);
}

TEST(formats_take_objects, "RL-12") {
    int number = 7;
    CFNumberRef seven = CFNumberCreate(NULL, kCFNumberIntType, &number);
    CFStringRef text = CFStringCreateWithFormat(NULL, NULL, CFSTR("%@|%5d|%-4s|%lld|%.2f|%c|%x|%%|%@|%@|%zu|%*d"), CFSTR("s"), 42, "ab",
                                                1LL << 40, 1.5, 'c', 255, seven, NULL, (size_t)9, 3, 1);
    check_string(text, "s|   42|ab  |1099511627776|1.50|c|ff|%|7|(null)|9|  1");
    CHECK(CFStringCreateWithFormat(NULL, NULL, NULL) == NULL);
    CFRelease(text);
    CFRelease(seven);
}

TEST(data_and_numbers_keep_their_values, "RL-12") {
    CFMutableDataRef data = CFDataCreateMutable(NULL, 0);
    CFDataAppendBytes(data, (const UInt8 *)"hello", 5);
    CFDataReplaceBytes(data, CFRangeMake(1, 3), (const UInt8 *)"E", 1);
    CFDataSetLength(data, 5);
    CHECK(CFDataGetLength(data) == 5 && memcmp(CFDataGetBytePtr(data), "hEo\0\0", 5) == 0);
    CFDataDeleteBytes(data, CFRangeMake(0, 2));
    CFDataDeleteBytes(data, CFRangeMake(2, 2));
    CHECK(CFDataGetLength(data) == 3 && CFDataGetBytePtr(data)[0] == 'o');
    CFDataRef copy = CFDataCreateCopy(NULL, data), borrowed = CFDataCreateWithBytesNoCopy(NULL, (const UInt8 *)"xyz", 3, kCFAllocatorNull);
    CHECK(CFEqual(copy, data) && CFHash(copy) == CFHash(data) && !CFEqual(copy, borrowed));
    CHECK(CFDataGetMutableBytePtr((CFMutableDataRef)borrowed) == NULL);
    UInt8 *owned = malloc(4);
    CFDataRef taken = CFDataCreateWithBytesNoCopy(NULL, owned, 4, kCFAllocatorMalloc);
    CHECK(CFDataGetBytePtr(taken) == owned);
    CHECK(CFDataCreate(NULL, NULL, 3) == NULL && CFDataCreate(NULL, owned, -1) == NULL);
    CFRelease(taken);
    CFRelease(borrowed);
    CFRelease(copy);
    CFRelease(data);

    double half = 2.5;
    int64_t large = INT64_C(1) << 40;
    SInt32 three = 3;
    double same = 3;
    CFNumberRef a = CFNumberCreate(NULL, kCFNumberDoubleType, &half), b = CFNumberCreate(NULL, kCFNumberSInt64Type, &large);
    CFNumberRef c = CFNumberCreate(NULL, kCFNumberSInt32Type, &three), d = CFNumberCreate(NULL, kCFNumberFloat64Type, &same);
    SInt32 out = 0;
    double real = 0;
    CHECK(!CFNumberGetValue(a, kCFNumberSInt32Type, &out) && out == 2);
    CHECK(!CFNumberGetValue(b, kCFNumberIntType, &out) && out == 0);
    CHECK(CFNumberGetValue(c, kCFNumberDoubleType, &real) && real == 3);
    CHECK(CFEqual(c, d) && CFHash(c) == CFHash(d) && CFNumberCompare(a, c, NULL) == kCFCompareLessThan);
    CHECK(CFNumberIsFloatType(a) && !CFNumberIsFloatType(b) && CFNumberGetByteSize(b) == 8);
    CHECK(CFNumberCreate(NULL, 99, &three) == NULL);
    CFDateRef early = CFDateCreate(NULL, 10), late = CFDateCreate(NULL, 12);
    CHECK(CFDateCompare(early, late, NULL) == kCFCompareLessThan && CFDateGetTimeIntervalSinceDate(late, early) == 2);
    CFTypeRef all[] = {a, b, c, d, early, late};
    for (int i = 0; i < 6; i++) CFRelease(all[i]);
}

static CFComparisonResult by_length(const void *one, const void *other, void *context) {
    (*(int *)context)++;
    CFIndex a = CFStringGetLength(one), b = CFStringGetLength(other);
    return a < b ? kCFCompareLessThan : a > b ? kCFCompareGreaterThan : kCFCompareEqualTo;
}
static void join(const void *value, void *context) { CFStringAppend(context, value); }

TEST(arrays_hold_their_values, "OBJ-2") {
    CFStringRef string = CFStringCreateWithCString(NULL, "held", kCFStringEncodingUTF8);
    const void *values[] = {string, CFSTR("b"), CFSTR("cc")};
    CFArrayRef array = CFArrayCreate(NULL, values, 3, &kCFTypeArrayCallBacks);
    CHECK_INT(CFGetRetainCount(string), 2);
    CFMutableArrayRef copy = CFArrayCreateMutableCopy(NULL, 0, array);
    CHECK(CFEqual(array, copy) && CFHash(array) == CFHash(copy));
    CFRelease(array);
    CFArrayAppendValue(copy, CFSTR("d"));
    CFArrayInsertValueAtIndex(copy, 0, CFSTR("e"));
    CFArrayAppendArray(copy, copy, CFRangeMake(0, 2));
    int calls = 0;
    CFArraySortValues(copy, CFRangeMake(0, CFArrayGetCount(copy)), by_length, &calls);
    CFMutableStringRef joined = CFStringCreateMutable(NULL, 0);
    CFArrayApplyFunction(copy, CFRangeMake(0, CFArrayGetCount(copy)), join, joined);
    check_string(joined, "ebdeccheldheld");
    CHECK(calls > 0);
    CHECK_INT(CFArrayGetFirstIndexOfValue(copy, CFRangeMake(0, 7), CFSTR("held")), 5);
    CHECK_INT(CFArrayGetLastIndexOfValue(copy, CFRangeMake(0, 7), CFSTR("e")), 3);
    CHECK_INT(CFArrayGetCountOfValue(copy, CFRangeMake(0, 7), CFSTR("e")), 2);
    CFArraySetValueAtIndex(copy, 5, CFSTR("z"));
    CFArrayRemoveValueAtIndex(copy, 6);
    CHECK_INT(CFGetRetainCount(string), 1);
    CHECK(CFArrayGetValueAtIndex(copy, 6) == NULL && CFArrayGetValueAtIndex(copy, -1) == NULL);
    CFArrayRemoveValueAtIndex(copy, 6);
    CFArrayRemoveAllValues(copy);
    CHECK_INT(CFArrayGetCount(copy), 0);
    int plain[2];
    const void *pointers[] = {&plain[0], &plain[1], NULL};
    CFArrayRef raw = CFArrayCreate(NULL, pointers, 3, NULL);
    CHECK(CFArrayGetValueAtIndex(raw, 1) == &plain[1] && CFArrayContainsValue(raw, CFRangeMake(0, 3), NULL));
    CFArrayAppendValue((CFMutableArrayRef)raw, NULL);
    CHECK_INT(CFArrayGetCount(raw), 3);
    CFRelease(raw);
    CFRelease(copy);
    CFRelease(joined);
    CFRelease(string);
}

static void count_pairs(const void *key, const void *value, void *context) {
    CHECK(CFEqual(key, value));
    ++*(int *)context;
}

TEST(dictionaries_and_sets_find_their_keys, "OBJ-2") {
    CFMutableDictionaryRef dictionary = CFDictionaryCreateMutable(NULL, 0, &kCFTypeDictionaryKeyCallBacks, &kCFTypeDictionaryValueCallBacks);
    CFMutableSetRef set = CFSetCreateMutable(NULL, 0, &kCFTypeSetCallBacks);
    enum { MANY = 2000 };
    for (int i = 0; i < MANY; i++) {
        CFStringRef key = CFStringCreateWithFormat(NULL, NULL, CFSTR("key %d"), i);
        CFDictionarySetValue(dictionary, key, key);
        CFSetAddValue(set, key);
        CFSetAddValue(set, key);
        CFRelease(key);
    }
    CHECK(CFDictionaryGetCount(dictionary) == MANY && CFSetGetCount(set) == MANY);
    for (int i = 0; i < MANY; i += 2) {
        CFNumberRef number = CFNumberCreate(NULL, kCFNumberIntType, &i);
        CFStringRef key = CFStringCreateWithFormat(NULL, NULL, CFSTR("key %@"), number);
        check_string(CFDictionaryGetValue(dictionary, key), CFStringGetCStringPtr(key, kCFStringEncodingUTF8));
        CFDictionaryRemoveValue(dictionary, key);
        CFSetRemoveValue(set, key);
        CHECK(!CFDictionaryContainsKey(dictionary, key) && !CFSetContainsValue(set, key));
        CFRelease(key);
        CFRelease(number);
    }
    int pairs = 0;
    CFDictionaryApplyFunction(dictionary, count_pairs, &pairs);
    CHECK(pairs == MANY / 2 && CFSetGetCount(set) == MANY / 2);
    CFDictionaryAddValue(dictionary, CFSTR("key 1"), CFSTR("other"));
    check_string(CFDictionaryGetValue(dictionary, CFSTR("key 1")), "key 1");
    CFDictionaryReplaceValue(dictionary, CFSTR("key 1"), CFSTR("other"));
    check_string(CFDictionaryGetValue(dictionary, CFSTR("key 1")), "other");
    CFDictionaryReplaceValue(dictionary, CFSTR("none"), CFSTR("other"));
    const void *value = NULL;
    CHECK(!CFDictionaryGetValueIfPresent(dictionary, CFSTR("none"), &value) && value == NULL);
    CFDictionaryRef copy = CFDictionaryCreateCopy(NULL, dictionary);
    CHECK(CFEqual(copy, dictionary));
    CFDictionarySetValue((CFMutableDictionaryRef)copy, CFSTR("none"), CFSTR("x"));
    CFDictionaryRemoveAllValues(dictionary);
    CHECK(CFDictionaryGetCount(copy) == MANY / 2 && CFDictionaryGetCount(dictionary) == 0 && !CFEqual(copy, dictionary));
    CHECK(CFDictionaryContainsValue(copy, CFSTR("other")));
    CFRelease(copy);
    CFRelease(dictionary);
    CFRelease(set);
    const void *keys[] = {&value, &pairs}, *values[] = {&pairs, &value};
    CFDictionaryRef plain = CFDictionaryCreate(NULL, keys, values, 2, NULL, NULL);
    CHECK(CFDictionaryGetValue(plain, &value) == &pairs && CFDictionaryGetCount(plain) == 2);
    CFRelease(plain);
}

TEST(bad_references_have_no_effect, "RL-12 OBJ-6") {
    CFStringRef released = CFStringCreateWithCString(NULL, "x", kCFStringEncodingUTF8);
    CFRelease(released);
    const void *bad[] = {NULL, released, (void *)1, (void *)0x1234560, (void *)(uintptr_t)-1, (void *)((uintptr_t)0xCF << 56), kCFBooleanTrue, (const void *)bad};
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        const void *it = bad[i];
        if (it != kCFBooleanTrue) {
            CHECK(CFGetTypeID(it) == 0);
            CHECK(CFRetain(it) == it);
            CFRelease(it);
            CFStringRef text = CFCopyDescription(it);
            CHECK(text != NULL);
            CFRelease(text);
            CHECK(!CFEqual(it, CFSTR("x")) && !CFEqual(CFSTR("x"), it));
            CHECK_INT(CFHash(it), 0);
            CHECK_INT(CFGetRetainCount(it), 0);
        }
        CHECK_INT(CFStringGetLength(it), 0);
        CHECK(CFStringGetCStringPtr(it, kCFStringEncodingUTF8) == NULL && CFStringCreateCopy(NULL, it) == NULL);
        CHECK_INT(CFArrayGetCount(it), 0);
        CFArrayAppendValue((CFMutableArrayRef)it, it);
        CHECK_INT(CFDictionaryGetCount(it), 0);
        CFDictionarySetValue((CFMutableDictionaryRef)it, it, it);
        CFSetAddValue((CFMutableSetRef)it, it);
        CFDataAppendBytes((CFMutableDataRef)it, (const UInt8 *)"x", 1);
        CHECK(CFDataGetBytePtr(it) == NULL && CFDateGetAbsoluteTime(it) == 0);
        double out = 1;
        CHECK(!CFNumberGetValue(it, kCFNumberDoubleType, &out) && out == 1);
    }
    /* A container of CF objects takes what is none, as it is. */
    CFMutableArrayRef array = CFArrayCreateMutable(NULL, 0, &kCFTypeArrayCallBacks);
    CFArrayAppendValue(array, NULL);
    CFArrayAppendValue(array, released);
    CHECK_INT(CFArrayGetCount(array), 2);
    CFRelease(array);
}

static void *churn(void *argument) {
    CFMutableArrayRef shared = argument;
    for (int i = 0; i < 20000; i++) {
        CFStringRef one = CFStringCreateWithFormat(NULL, NULL, CFSTR("%d"), i);
        CFStringRef other = CFArrayGetValueAtIndex(shared, i & 3);
        CFRetain(other);
        CHECK(!CFEqual(one, other) || i == (i & 3));
        CFRelease(other);
        CFRelease(one);
        CFRelease(__CFStringMakeConstantString(i & 1 ? "odd" : "even"));
    }
    return NULL;
}

TEST(references_are_counted_from_every_thread, "OBJ-2 OBJ-6") {
    CFMutableArrayRef shared = CFArrayCreateMutable(NULL, 0, &kCFTypeArrayCallBacks);
    for (int i = 0; i < 4; i++) {
        CFStringRef one = CFStringCreateWithFormat(NULL, NULL, CFSTR("%d"), i);
        CFArrayAppendValue(shared, one);
        CFRelease(one);
    }
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, churn, shared) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) CHECK_INT(CFGetRetainCount(CFArrayGetValueAtIndex(shared, i)), 1);
    CFRelease(shared);
}

TEST_MAIN()
