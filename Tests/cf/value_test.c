/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Numbers in every type, and containers: what is equal, which object is kept, and in which order things are given back. */
#include "helpers.h"

#include <math.h>

static CFNumberRef whole(int64_t value) { return CFNumberCreate(NULL, kCFNumberSInt64Type, &value); }
static CFNumberRef real(double value) { return CFNumberCreate(NULL, kCFNumberFloat64Type, &value); }

/* Takes a number as a type: the bytes that are stored, and whether it is the same still. */
static void check_value(CFNumberRef number, CFNumberType type, int64_t expected, int same) {
    int64_t out = 0;
    CFIndex size = type == kCFNumberSInt8Type ? 1 : type == kCFNumberSInt16Type ? 2 : type == kCFNumberSInt32Type ? 4 : 8;
    CHECK_INT(CFNumberGetValue(number, type, &out), same);
    CHECK(memcmp(&out, &expected, (size_t)size) == 0);
    CFRelease(number);
}

TEST(a_number_is_cut_to_the_type, "RL-12") {
    check_value(whole(300), kCFNumberSInt8Type, 300, 0);
    check_value(whole(INT64_C(1) << 32 | 5), kCFNumberSInt32Type, 5, 0);
    check_value(whole(-129), kCFNumberSInt8Type, 127, 0);
    check_value(whole(127), kCFNumberSInt8Type, 127, 1);
    check_value(whole(128), kCFNumberSInt8Type, -128, 0);
    check_value(real(70000.7), kCFNumberSInt16Type, 70000, 0);
    check_value(real(3e9), kCFNumberSInt32Type, INT32_MIN, 0);
    check_value(real(3e9), kCFNumberSInt8Type, 0, 0);
    check_value(real(-1.5), kCFNumberSInt64Type, -1, 0);
    check_value(real(NAN), kCFNumberSInt64Type, INT64_MIN, 0);
    check_value(real(INFINITY), kCFNumberSInt32Type, INT32_MIN, 0);
    check_value(real(-0.0), kCFNumberSInt32Type, 0, 1);
}

TEST(no_number_is_another_one, "RL-12") {
    check_value(real(0x1p63), kCFNumberSInt64Type, INT64_MIN, 0);
    check_value(real(-0x1p63), kCFNumberSInt64Type, INT64_MIN, 1);
    CFNumberRef large = whole(INT64_MAX), limit = real(0x1p63), exact = whole((INT64_C(1) << 53) + 1), near = real(0x1p53);
    double out = 0;
    CHECK(!CFNumberGetValue(large, kCFNumberDoubleType, &out) && out == 0x1p63);
    CHECK(!CFNumberGetValue(exact, kCFNumberDoubleType, &out));
    CHECK(!CFEqual(large, limit) && CFNumberCompare(large, limit, NULL) == kCFCompareLessThan);
    CHECK(!CFEqual(exact, near) && CFNumberCompare(near, exact, NULL) == kCFCompareLessThan);
    CFTypeRef all[] = {large, limit, exact, near};
    for (int i = 0; i < 4; i++) CFRelease(all[i]);
}

TEST(what_is_no_number_has_its_place, "RL-12") {
    CFNumberRef none = real(NAN), other = real(-NAN), below = real(-1e300), above = real(1e-300), zero = real(0), minus = real(-0.0), one = whole(-1);
    CHECK(CFNumberCompare(none, below, NULL) == kCFCompareGreaterThan && CFNumberCompare(none, above, NULL) == kCFCompareLessThan);
    CHECK(CFNumberCompare(none, zero, NULL) == kCFCompareLessThan && CFNumberCompare(none, minus, NULL) == kCFCompareGreaterThan);
    CHECK(CFNumberCompare(none, one, NULL) == kCFCompareLessThan && CFNumberCompare(one, none, NULL) == kCFCompareGreaterThan);
    CHECK(CFEqual(none, other) && CFHash(none) == CFHash(other) && !CFEqual(zero, minus));
    CHECK(CFNumberCompare(minus, zero, NULL) == kCFCompareLessThan);
    float out = 0;
    CHECK(!CFNumberGetValue(none, kCFNumberFloat32Type, &out) && isnan(out));
    CFTypeRef all[] = {none, other, below, above, zero, minus, one};
    for (int i = 0; i < 7; i++) CFRelease(all[i]);
}

TEST(small_numbers_have_one_type, "RL-12") {
    for (int i = -3; i <= 14; i++) {
        int64_t value = i;
        SInt8 byte = (SInt8)i;
        CFNumberRef large = CFNumberCreate(NULL, kCFNumberSInt64Type, &value), small = CFNumberCreate(NULL, kCFNumberSInt8Type, &byte);
        int is_small = i >= -1 && i <= 12;
        CHECK_INT(CFNumberGetType(large), is_small ? kCFNumberSInt32Type : kCFNumberSInt64Type);
        CHECK_INT(CFNumberGetType(small), is_small ? kCFNumberSInt32Type : kCFNumberSInt8Type);
        CHECK_INT(CFNumberGetByteSize(small), is_small ? 4 : 1);
        CHECK(CFEqual(large, small) && CFHash(large) == CFHash(small));
        CFRelease(large);
        CFRelease(small);
    }
}

/* --- Containers ------------------------------------------------------------------------------------------- */

struct thing { const char *name; int value; };
static char said[512];
static void tell(const char *what, const void *thing) {
    size_t used = strlen(said);
    snprintf(said + used, sizeof said - used, "%s%s ", what, ((const struct thing *)thing)->name);
}
static void check_said(const char *expected) {
    CHECK_TEXT(said, expected);
    said[0] = 0;
}
static const void *keep_key(CFAllocatorRef allocator, const void *thing) { return (void)allocator, tell("+k", thing), thing; }
static void drop_key(CFAllocatorRef allocator, const void *thing) { (void)allocator, tell("-k", thing); }
static const void *keep_value(CFAllocatorRef allocator, const void *thing) { return (void)allocator, tell("+v", thing), thing; }
static void drop_value(CFAllocatorRef allocator, const void *thing) { (void)allocator, tell("-v", thing); }
static Boolean same(const void *one, const void *other) { return ((const struct thing *)one)->value == ((const struct thing *)other)->value; }
static Boolean alike(const void *one, const void *other) { return ((const struct thing *)one)->value == ((const struct thing *)other)->value + 0; }
static CFHashCode hash_of(const void *thing) { return (CFHashCode)((const struct thing *)thing)->value; }

static const struct thing a = {"a", 1}, b = {"b", 1}, x = {"x", 7}, y = {"y", 8};

TEST(a_replaced_value_takes_its_new_key, "OBJ-2") {
    CFDictionaryKeyCallBacks keys = {0, keep_key, drop_key, NULL, same, hash_of};
    CFDictionaryValueCallBacks values = {0, keep_value, drop_value, NULL, same};
    CFMutableDictionaryRef dictionary = CFDictionaryCreateMutable(NULL, 0, &keys, &values);
    CFDictionarySetValue(dictionary, &a, &x);
    check_said("+vx +ka ");
    CFDictionarySetValue(dictionary, &b, &y);
    check_said("+vy +kb -vx -ka ");
    CFDictionaryReplaceValue(dictionary, &a, &x);
    check_said("+vx +ka -vy -kb ");
    CFDictionaryAddValue(dictionary, &b, &y);
    check_said("");
    const void *key = NULL;
    CFDictionaryGetKeysAndValues(dictionary, &key, NULL);
    CHECK(key == &a);
    CFDictionaryRemoveValue(dictionary, &b);
    check_said("-vx -ka ");
    CFRelease(dictionary);
}

TEST(lists_that_compare_otherwise_are_not_equal, "OBJ-2") {
    CFArrayCallBacks kinds[] = {{0, NULL, NULL, NULL, NULL}, {0, NULL, NULL, NULL, same}, {0, NULL, NULL, NULL, alike}};
    const void *one = &a, *other = &b;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            CFArrayRef left = CFArrayCreate(NULL, &one, 1, &kinds[i]), right = CFArrayCreate(NULL, &other, 1, &kinds[j]);
            CFArrayRef empty = CFArrayCreate(NULL, NULL, 0, &kinds[i]), none = CFArrayCreate(NULL, NULL, 0, &kinds[j]);
            CHECK_INT(CFEqual(left, right), i == j && i > 0);
            CHECK_INT(CFEqual(empty, none), i == j);
            CFTypeRef all[] = {left, right, empty, none};
            for (int k = 0; k < 4; k++) CFRelease(all[k]);
        }
    }
}

TEST(values_are_given_back_from_the_front, "OBJ-2") {
    CFArrayCallBacks callbacks = {0, keep_value, drop_value, NULL, same};
    CFMutableArrayRef array = CFArrayCreateMutable(NULL, 0, &callbacks);
    CFArrayAppendValue(array, &a);
    CFArrayAppendValue(array, &b);
    CFArrayAppendValue(array, &x);
    check_said("+va +vb +vx ");
    CFArrayRemoveAllValues(array);
    check_said("-va -vb -vx ");
    CFRelease(array);
}

/* Against a plain list, with the ends preferred. */
TEST(both_ends_of_a_list_move, "OBJ-2") {
    enum { MOST = 300 };
    uintptr_t model[MOST], state = 1;
    CFIndex count = 0;
    CFMutableArrayRef array = CFArrayCreateMutable(NULL, 0, NULL);
    for (uintptr_t step = 1; step < 60000; step++) {
        state = state * 6364136223846793005u + 1442695040888963407;
        unsigned what = (unsigned)(state >> 33) % 8;
        /* It grows and shrinks in turn. */
        int adds = count == 0 || (step / 500 % 2 ? what < 3 : what < 5);
        CFIndex end = adds ? count : count - 1, at = what % 3 == 0 ? 0 : what % 3 == 1 ? end : (CFIndex)(state >> 40) % (end + 1);
        if (adds && count < MOST) {
            memmove(model + at + 1, model + at, (size_t)(count - at) * sizeof *model);
            model[at] = step;
            CFArrayInsertValueAtIndex(array, at, (const void *)step);
            count++;
        } else if (!adds && count > 0) {
            memmove(model + at, model + at + 1, (size_t)(count - at - 1) * sizeof *model);
            CFArrayRemoveValueAtIndex(array, at);
            count--;
        }
        CHECK_INT(CFArrayGetCount(array), count);
        if (step % 16 != 0) continue;
        uintptr_t values[MOST];
        CFArrayGetValues(array, CFRangeMake(0, count), (const void **)values);
        CHECK(memcmp(values, model, (size_t)count * sizeof *values) == 0);
    }
    CFRelease(array);
}

TEST_MAIN()
