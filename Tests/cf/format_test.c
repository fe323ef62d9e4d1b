/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Formats of strings: what each conversion takes, and what it shows, as in CoreFoundation. */
#include "helpers.h"

#include <stdint.h>

static const UniChar units[] = {'h', 'i', 0xE9, 0xD83D, 0xDE42, 0};

static CFStringRef string_of(const UniChar *text, CFIndex length) { return CFStringCreateWithCharacters(NULL, text, length); }

/* The text of a format, compared with the units of another; both are released. */
static void check_units(CFStringRef made, const UniChar *expected, CFIndex length) {
    CFStringRef wanted = string_of(expected, length);
    CHECK(made != NULL && CFEqual(made, wanted));
    if (made) CFRelease(made);
    CFRelease(wanted);
}
#define CHECK_FORMAT(expected, ...)                                                  \
    do {                                                                             \
        CFStringRef made_ = CFStringCreateWithFormat(NULL, NULL, __VA_ARGS__);       \
        CHECK(made_ != NULL);                                                        \
        if (made_) check_string(made_, expected);                                    \
        if (made_) CFRelease(made_);                                                 \
    } while (0)

TEST(every_conversion_takes_its_argument, "RL-12") {
    int written = 5;
    CHECK_FORMAT("hi\xC3\xA9\xF0\x9F\x99\x82|7", CFSTR("%S|%d"), units, 7);
    CHECK_FORMAT("hi|7", CFSTR("%.2S|%d"), units, 7);
    CHECK_FORMAT("hi|7", CFSTR("%.*S|%d"), 2, units, 7);
    CHECK_FORMAT("hi\xC3\xA9\xF0\x9F\x99\x82|7", CFSTR("%lS|%d"), units, 7);
    CHECK_FORMAT("a|7", CFSTR("a%n|%d"), &written, 7);
    CHECK_FORMAT("|7|8", CFSTR("%hhn|%d%lln|%d"), &written, 7, &written, 8);
    CHECK_INT(written, 5); /* a format writes nowhere */
    CHECK_FORMAT("abc|7", CFSTR("%P|%d"), "\003abcd", 7);
    CHECK_FORMAT("ab|cd|7", CFSTR("%ls|%hs|%d"), "ab", "cd", 7);
    CHECK_FORMAT("-5 5 10 7", CFSTR("%D %U %O %d"), -5, 5u, 8u, 7);
    CHECK_FORMAT("1.500000|7", CFSTR("%Lf|%d"), 1.5L, 7);
    CHECK_FORMAT("44 4464 -3 -4 -5 -6 -7|7", CFSTR("%hhd %hd %lld %qd %zd %td %jd|%d"), 300, 70000, -3LL, -4LL, (ptrdiff_t)-5,
                 (ptrdiff_t)-6, (intmax_t)-7, 7);
    CHECK_FORMAT("(null)(null)(nil)(null)7", CFSTR("%@%s%p%S%d"), NULL, NULL, NULL, NULL, 7);
    CHECK_FORMAT("1    |1.500000|abc|7", CFSTR("%*d|%.*f|%.*s|%d"), -5, 1, -1, 1.5, -1, "abc", 7);
}

TEST(what_is_no_text_shows_nothing, "RL-12") {
    CHECK_FORMAT("a||b", CFSTR("a|%s|b"), "caf\xE9");
    CHECK_FORMAT("a||3", CFSTR("a|%.4s|%d"), "caf\xC3\xA9", 3);
    CHECK_FORMAT("a|    |3", CFSTR("a|%8.4s|%d"), "caf\xC3\xA9", 3);
    CHECK_FORMAT("a||b", CFSTR("a|%.1s|b"), "\xC3\xA9");
    CHECK_FORMAT("|3", CFSTR("%lc|%d"), 0xE9, 3);
}

TEST(characters_and_objects_are_units, "RL-12") {
    static const UniChar high[] = {0x80, 0xFF}, face[] = {0xD83D, 0xDE42}, half[] = {0xD83D, '|'}, nul[] = {'a', 0, 'b'};
    static const UniChar pattern[] = {'a', 0, '%', 'd', 0xE9}, filled[] = {'a', 0, '5', 0xE9};
    check_units(CFStringCreateWithFormat(NULL, NULL, CFSTR("%c%c"), 0x80, 0xFF), high, 2);
    check_units(CFStringCreateWithFormat(NULL, NULL, CFSTR("%C%C"), 0xD83D, 0xDE42), face, 2);
    CHECK_FORMAT("\xF0\x9F\x99\x82", CFSTR("%C%C"), 0xD83D, 0xDE42);
    check_units(CFStringCreateWithFormat(NULL, NULL, CFSTR("%C|"), 0xD83D), half, 2);
    check_units(CFStringCreateWithFormat(NULL, NULL, CFSTR("%.4S"), units), units, 4); /* the pair is cut */
    CFStringRef object = string_of(nul, 3), format = string_of(pattern, 5);
    check_units(CFStringCreateWithFormat(NULL, NULL, CFSTR("%@"), object), nul, 3);
    check_units(CFStringCreateWithFormat(NULL, NULL, format, 5), filled, 4);
    check_units(CFStringCreateWithFormat(NULL, NULL, CFSTR("a%Cb"), 0), nul, 3);
    CHECK_FORMAT("|  |5", CFSTR("%c|%3c|%d"), 0, 0, 5); /* a NUL ends its field */
    CFRelease(object);
    object = string_of(units, 5);
    check_units(CFStringCreateWithFormat(NULL, NULL, CFSTR("%.1@"), object), units, 5); /* fields are not for objects */
    check_units(CFStringCreateWithFormat(NULL, NULL, CFSTR("%9@"), object), units, 5);
    CFRelease(object);
    CFRelease(format);
}

TEST(fields_are_as_wide_as_what_they_show, "RL-12") {
    CHECK_FORMAT("   \xC3\xA9|\xC3\xA9   |", CFSTR("%5s|%-5s|"), "\xC3\xA9", "\xC3\xA9");
    CHECK_FORMAT(" hi\xC3\xA9\xF0\x9F\x99\x82|hi   |", CFSTR("%6S|%-5.2S|"), units, units);
    CHECK_FORMAT("    x|x    |    x|", CFSTR("%5c|%-5c|%05c|"), 'x', 'x', 'x');
    CHECK_FORMAT("00042|42   |  005|0xff|+5| 5|1.50", CFSTR("%05d|%-5d|%5.3d|%#x|%+d|% d|%.2f"), 42, 42, 5, 255, 5, 5, 1.5);
    CFStringRef wide = CFStringCreateWithFormat(NULL, NULL, CFSTR("%700d|%-600s|%.400f"), 1, "x", 1.0);
    CHECK_INT(CFStringGetLength(wide), 700 + 1 + 600 + 1 + 402);
    CFRelease(wide);
    CHECK(CFStringCreateWithFormat(NULL, NULL, CFSTR("%99999999999d"), 1) == NULL);
    CHECK(CFStringCreateWithFormat(NULL, NULL, CFSTR("%.99999999999d"), 1) == NULL);
}

TEST(numbers_describe_themselves, "RL-12") {
    static const struct { double value; const char *text; } cases[] = {
        {1.1, "1.1000000000000001"}, {100, "100"}, {1e20, "1e+20"}, {-0.0, "0.0"}, {1 / 0.0, "+infinity"}, {-1 / 0.0, "-infinity"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        CFNumberRef number = CFNumberCreate(NULL, kCFNumberDoubleType, &cases[i].value);
        CHECK_FORMAT(cases[i].text, CFSTR("%@"), number);
        CFRelease(number);
    }
    CFMutableStringRef text = CFStringCreateMutable(NULL, 0);
    CFStringAppendFormat(text, NULL, CFSTR("%d"), 1);
    CFStringAppendFormat(text, NULL, CFSTR("%@%@"), text, text);
    check_string(text, "111");
    CFRelease(text);
}

TEST_MAIN()
