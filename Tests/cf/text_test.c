/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Strings: their units and encodings, what is in front and at the end of them, and the numbers that they say. */
#include "helpers.h"

static CFStringRef from(const void *bytes, CFIndex count, CFStringEncoding encoding, int external) {
    return CFStringCreateWithBytes(NULL, bytes, count, encoding, (Boolean)external);
}
static void check_units(CFStringRef made, const UniChar *expected, CFIndex length) {
    CHECK(made != NULL);
    if (!made) return;
    CHECK_INT(CFStringGetLength(made), length);
    for (CFIndex i = 0; i < length; i++) CHECK_INT(CFStringGetCharacterAtIndex(made, i), expected[i]);
    CFRelease(made);
}

TEST(text_without_a_mark_is_big_endian_from_elsewhere, "RL-12") {
    static const UniChar ab[] = {'a', 'b'}, swapped[] = {0x6100, 0x6200}, a[] = {'a'}, marked[] = {0xFEFF, 'a'};
    check_units(from("\0a\0b", 4, kCFStringEncodingUTF16, 1), ab, 2);
    check_units(from("a\0b\0", 4, kCFStringEncodingUTF16, 1), swapped, 2);
    check_units(from("a\0b\0", 4, kCFStringEncodingUTF16, 0), ab, 2);
    check_units(from("\xFF\xFE" "a\0", 4, kCFStringEncodingUTF16, 1), a, 1);
    check_units(from("\xFE\xFF\0a", 4, kCFStringEncodingUTF16, 1), a, 1);
    check_units(from("\xFF\xFE" "a\0", 4, kCFStringEncodingUTF16LE, 1), marked, 2); /* its order is told: this is text */
    check_units(from("\0\0\0a", 4, kCFStringEncodingUTF32, 1), a, 1);
    check_units(from("\0\0\0a", 4, kCFStringEncodingUTF32, 0), a, 1);
    check_units(from("\xFF\xFE\0\0a\0\0\0", 8, kCFStringEncodingUTF32, 0), a, 1);
    CHECK(from("a\0\0\0", 4, kCFStringEncodingUTF32, 1) == NULL);
    check_units(from("\xEF\xBB\xBF" "a", 4, kCFStringEncodingUTF8, 0), a, 1);
    check_units(from("a\0b", 3, kCFStringEncodingUTF16LE, 0), a, 1); /* the odd byte is left out */
}

TEST(half_of_a_pair_is_a_unit, "RL-12") {
    static const UniChar halves[] = {'a', 0xD800, 'b'}, pair[] = {0xD83D, 0xDE42};
    CFStringRef text = CFStringCreateWithCharacters(NULL, halves, 3);
    CHECK_INT(CFStringGetCharacterAtIndex(text, 1), 0xD800);
    UInt8 bytes[16];
    CFIndex used = -1;
    CHECK_INT(CFStringGetBytes(text, CFRangeMake(0, 3), kCFStringEncodingUTF8, '?', 0, bytes, 16, &used), 1);
    CHECK_INT(CFStringGetBytes(text, CFRangeMake(0, 3), kCFStringEncodingUTF16LE, 0, 0, bytes, 16, &used), 3);
    CHECK(used == 6 && memcmp(bytes, "a\0\0\xD8" "b\0", 6) == 0);
    CHECK_INT(CFStringGetBytes(text, CFRangeMake(0, 3), kCFStringEncodingUTF32LE, '?', 0, bytes, 16, &used), 3);
    CHECK(used == 12 && bytes[4] == '?');
    CFMutableStringRef whole = CFStringCreateMutable(NULL, 0);
    CFStringAppendCharacters(whole, pair, 1);
    CFStringAppendCharacters(whole, pair + 1, 1);
    check_string(whole, "\xF0\x9F\x99\x82");
    CHECK_INT(CFStringGetBytes(whole, CFRangeMake(0, 2), kCFStringEncodingASCII, '?', 0, bytes, 16, &used), 2);
    CHECK_INT(used, 2); /* one byte for each unit */
    CHECK_INT(CFStringGetBytes(whole, CFRangeMake(0, 2), kCFStringEncodingMacRoman, '?', 0, bytes, 16, &used), 2);
    CHECK_INT(used, 1);
    CFRelease(whole);
    CFRelease(text);
}

TEST(a_string_keeps_its_bytes_until_it_changes, "RL-12") {
    CFMutableStringRef text = CFStringCreateMutable(NULL, 0);
    CHECK_TEXT(CFStringGetCStringPtr(text, kCFStringEncodingUTF8), "");
    CFStringAppend(text, CFSTR("caf\xC3\xA9"));
    const char *bytes = CFStringGetCStringPtr(text, kCFStringEncodingUTF8);
    CHECK_TEXT(bytes, "caf\xC3\xA9");
    CHECK(CFStringGetCStringPtr(text, kCFStringEncodingUTF8) == bytes);
    CHECK(CFStringGetCStringPtr(text, kCFStringEncodingASCII) == NULL);
    CFStringAppend(text, text);
    CHECK_TEXT(CFStringGetCStringPtr(text, kCFStringEncodingUTF8), "caf\xC3\xA9" "caf\xC3\xA9");
    CFRelease(text);
    CHECK(CFSTR("\xC3\xA9") == CFSTR("\xC3\xA9") && CFSTR("\xC3\xA9") != CFSTR("e"));
}

TEST(nothing_is_no_prefix, "RL-12") {
    CHECK(!CFStringHasPrefix(CFSTR("a"), CFSTR("")) && !CFStringHasSuffix(CFSTR("a"), CFSTR("")));
    CHECK(!CFStringHasPrefix(CFSTR(""), CFSTR("")) && !CFStringHasSuffix(CFSTR(""), CFSTR("")));
    CHECK(CFStringHasPrefix(CFSTR("ab"), CFSTR("a")) && CFStringHasSuffix(CFSTR("ab"), CFSTR("ab")));
}

TEST(only_digits_are_numbers, "RL-12") {
    static const struct { const char *text; double real; int whole; } cases[] = {
        {"inf", 0, 0}, {"-inf", 0, 0}, {"nan", 0, 0}, {"infinity", 0, 0}, {"0x10", 0, 0}, {"0x1p4", 0, 0}, {" \t\r\n-42.5e1x", -425, -42},
        {".5", 0.5, 0}, {"5.", 5, 5}, {"1.e5", 1e5, 1}, {"1e", 1, 1}, {"1e+", 1, 1}, {"1e400", 1 / 0.0, 1}, {"- 5", 0, -5}, {"+-5", 0, 0},
        {"\xC2\xA0" "5", 5, 5}, {"1,5", 1, 1}, {".", 0, 0}, {"e5", 0, 0}, {"", 0, 0}, {"-2147483649", -2147483649.0, INT32_MIN},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        CFStringRef text = CFStringCreateWithCString(NULL, cases[i].text, kCFStringEncodingUTF8);
        CHECK(CFStringGetDoubleValue(text) == cases[i].real);
        CHECK_INT(CFStringGetIntValue(text), cases[i].whole);
        CFRelease(text);
    }
}

TEST(modes_have_names_of_any_text, "RL-12 MODE-1") {
    CFRunLoopRef loop = CFRunLoopGetCurrent();
    CFStringRef made = CFStringCreateWithFormat(NULL, NULL, CFSTR("m\xC3\xB6" "de %d"), 1), literal = CFSTR("m\xC3\xB6" "de 1");
    keep_busy(loop, made);
    CHECK_INT(CFRunLoopRunInMode(literal, 0, true), kCFRunLoopRunTimedOut);
    CFArrayRef modes = CFRunLoopCopyAllModes(loop);
    CHECK(CFArrayContainsValue(modes, CFRangeMake(0, CFArrayGetCount(modes)), made));
    CFRelease(modes);
    CFRelease(made);
}

TEST_MAIN()
