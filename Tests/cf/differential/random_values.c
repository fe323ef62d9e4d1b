/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Random strings, formats, numbers, data and containers, from a seed. What the two CoreFoundations decide otherwise
 * (docs/porting.md) is left out where the values are made; see there. Usage: program FIRST-SEED COUNT; one line a seed. */
#include "seeds.h"

#include <math.h>

static const CFStringEncoding encodings[] = {
    kCFStringEncodingUTF8, kCFStringEncodingASCII, kCFStringEncodingISOLatin1, kCFStringEncodingMacRoman, kCFStringEncodingUTF16,
    kCFStringEncodingUTF16BE, kCFStringEncodingUTF16LE, kCFStringEncodingUTF32, kCFStringEncodingUTF32BE, kCFStringEncodingUTF32LE,
};
enum { ENCODINGS = sizeof encodings / sizeof *encodings, LONGEST = 12 };

/* --- Strings ---------------------------------------------------------------------------------------------- */

static UniChar random_unit(void) {
    /* Nothing that combines, which is composed for the encodings of one byte, nor a mark. */
    static const UniChar some[] = {0, 0x80, 0xE9, 0xFF, 0x100, 0x20AC, 0x4E2D, 0xD83D, 0xDE42, 0xDBFF, 0xDC00, 0xFFFD, 0xFFFF, ' ', '%', '0'};
    return any(3) ? (UniChar)('a' + any(4)) : some[any(sizeof some / sizeof *some)];
}
static CFStringRef random_string(void) {
    UniChar units[LONGEST];
    CFIndex count = (CFIndex)any(LONGEST + 1);
    int plain = any(2);
    for (CFIndex i = 0; i < count; i++) units[i] = plain ? (UniChar)('a' + any(3)) : random_unit();
    return CFStringCreateWithCharacters(NULL, units, count);
}
static void show(CFStringRef string) {
    if (!string) return say("NULL");
    CFIndex length = CFStringGetLength(string);
    printf("\"");
    for (CFIndex i = 0; i < length; i++) {
        UniChar unit = CFStringGetCharacterAtIndex(string, i);
        printf(unit > ' ' && unit < 127 && unit != '<' ? "%c" : "<%x>", unit);
    }
    say("\"");
}
static void show_bytes(const UInt8 *bytes, CFIndex count) {
    for (CFIndex i = 0; i < count; i++) printf("%02x", bytes[i]);
    say("");
}
static CFRange random_range(CFIndex length) {
    CFIndex start = (CFIndex)any((unsigned)length + 1);
    return CFRangeMake(start, (CFIndex)any((unsigned)(length - start) + 1));
}
static void decode(void) {
    UInt8 bytes[16];
    CFIndex count = (CFIndex)any(17);
    CFStringEncoding encoding = encodings[any(ENCODINGS)];
    if (any(3)) { /* what is likely to be of the encoding */
        CFStringRef text = random_string();
        CFStringGetBytes(text, CFRangeMake(0, CFStringGetLength(text)), encoding, 0, (Boolean)any(2), bytes, sizeof bytes, &count);
    } else {
        for (CFIndex i = 0; i < count; i++) bytes[i] = (UInt8)(any(2) ? any(3) : any(256));
        /* Alone, this one is text there, U+FFFD. */
        for (CFIndex i = 0; i < count; i++) bytes[i] = bytes[i] == 0xA9 ? 0 : bytes[i];
    }
    Boolean external = any(2) != 0;
    printf("from:%x:%d:", (unsigned)encoding, external);
    show_bytes(bytes, count);
    show(CFStringCreateWithBytes(NULL, bytes, count, encoding, external));
}
static int has_half(CFStringRef text) {
    CFIndex length = CFStringGetLength(text);
    for (CFIndex i = 0; i < length; i++) {
        UniChar unit = CFStringGetCharacterAtIndex(text, i);
        if (unit >> 11 != 0x1B) continue;
        if (unit >> 10 == 0x37 || i + 1 == length || CFStringGetCharacterAtIndex(text, i + 1) >> 10 != 0x37) return 1;
        i++;
    }
    return 0;
}
static void encode(void) {
    CFStringRef text = random_string();
    CFStringEncoding encoding = encodings[any(ENCODINGS)];
    CFRange range = any(2) || encoding == kCFStringEncodingMacRoman ? CFRangeMake(0, CFStringGetLength(text)) : random_range(CFStringGetLength(text));
    UInt8 bytes[64], loss = any(2) ? '?' : 0;
    CFIndex room = any(3) ? 64 : (CFIndex)any(10), used = -1;
    Boolean external = any(2) != 0;
    /* Mac Roman converts less there than there is room for, and never ends with half of a pair. */
    if (encoding == kCFStringEncodingMacRoman) room = 64;
    if (encoding == kCFStringEncodingMacRoman && has_half(text)) return;
    if (external && room < 8) external = false;
    /* Without room UTF-8 is only counted, and found to fit. */
    if (encoding == kCFStringEncodingUTF8 && room < 2) room = 64;
    show(text);
    CFStringRef part = CFStringCreateWithSubstring(NULL, text, range);
    int cut = has_half(part);
    CFIndex done = CFStringGetBytes(text, range, encoding, loss, external, any(4) ? bytes : NULL, room, &used);
    say("to:%x:%d:%ld:%ld", (unsigned)encoding, loss, done, used);
    memset(bytes, 0, sizeof bytes);
    CFStringGetBytes(text, range, encoding, loss, external, bytes, room, &used);
    show_bytes(bytes, used);
    char buffer[64];
    Boolean fits = CFStringGetCString(part, buffer, room, encoding);
    say("%d", fits);
    /* With a loss byte there is no all or nothing, if half of a pair is lost in UTF-8. */
    if (cut && loss) return;
    CFDataRef data = CFStringCreateExternalRepresentation(NULL, part, encoding, loss);
    if (data) show_bytes(CFDataGetBytePtr(data), CFDataGetLength(data));
    else say("NULL");
}
static int has_nul(CFStringRef text) {
    return CFStringFind(text, CFStringCreateWithCharacters(NULL, (const UniChar[]){0}, 1), 0).length > 0;
}
static void compare_strings(void) {
    CFStringRef one = random_string(), other = any(3) ? random_string() : CFStringCreateCopy(NULL, one);
    CFStringRef part = CFStringCreateWithSubstring(NULL, one, random_range(CFStringGetLength(one)));
    if (any(2)) other = part;
    show(one);
    show(other);
    int same = CFEqual(one, other), order = (int)CFStringCompare(one, other, 0);
    say("%d:%d:%d:%d%d", same, order, same && CFHash(one) != CFHash(other), CFStringHasPrefix(one, other), CFStringHasSuffix(one, other));
    for (CFStringCompareFlags flags = 0; flags < 16; flags += 4) {
        CFRange found = CFStringFind(one, other, flags);
        say("%ld,%ld", found.location, found.length);
    }
}
static void join(void) {
    CFMutableStringRef text = CFStringCreateMutable(NULL, 0);
    for (int i = (int)any(8); i > 0; i--) {
        UniChar units[2] = {random_unit(), random_unit()};
        switch (any(5)) {
        case 0: CFStringAppend(text, random_string()); break;
        case 1: CFStringAppendCharacters(text, units, (CFIndex)any(3)); break;
        case 2: CFStringAppendCString(text, "caf\xC3\xA9", kCFStringEncodingUTF8); break;
        case 3: if (CFStringGetLength(text) < 200) CFStringAppend(text, text); break;
        case 4: CFStringAppendFormat(text, NULL, CFSTR("%@%d"), random_string(), 7); break;
        }
    }
    show(text);
    CFStringRef separator = any(4) ? CFStringCreateWithSubstring(NULL, text, CFRangeMake(0, CFStringGetLength(text) ? (CFIndex)any(2) : 0)) : random_string();
    CFArrayRef parts = CFStringCreateArrayBySeparatingStrings(NULL, text, separator);
    say("%ld", CFArrayGetCount(parts));
    for (CFIndex i = 0; i < CFArrayGetCount(parts) && i < 20; i++) show(CFArrayGetValueAtIndex(parts, i));
    /* There a string may end at its NUL when it is joined. */
    CFStringRef between = random_string();
    if (!has_nul(text) && !has_nul(between)) show(CFStringCreateByCombiningStrings(NULL, parts, between));
}
static void read_numbers(void) {
    static const char letters[] = "0123456789..+-eE x naif,\t";
    char text[14];
    int count = (int)any(13);
    for (int i = 0; i < count; i++) text[i] = letters[any(sizeof letters - 1)];
    text[count] = 0;
    CFStringRef string = CFStringCreateWithCString(NULL, text, kCFStringEncodingUTF8);
    say("[%s]", text);
    say("%d:%.17g", (int)CFStringGetIntValue(string), CFStringGetDoubleValue(string));
}

/* --- Formats ---------------------------------------------------------------------------------------------- */

static const UniChar wide[] = {'w', 0xE9, 0xD83D, 0xDE42, 'x', 0};

/* One conversion with its flags, between two others. */
static void format(void) {
    static const char letters[] = "diuxXofFeEgGaAcCsS@pnP%", sizes[][3] = {"", "", "", "h", "hh", "l", "ll", "q", "z", "t", "j", "L"};
    static const char *const texts[] = {"abc", "", "caf\xC3\xA9", "caf\xE9", "\xF0\x9F\x99\x82"};
    char pattern[64], letter = letters[any(sizeof letters - 1)], flags[8] = "";
    int used = 0, number = any(2) ? (int)any(1000) : -(int)any(70000);
    for (int i = (int)any(3); i > 0; i--) flags[used++] = "-+ #0"[any(5)];
    flags[used] = 0;
    /* A literal % and objects have no fields; CoreFoundation does not know those of C's with +, # or a space. */
    int is_plain = strchr("%n", letter) != NULL;
    if (strchr("@sScCP%n", letter)) flags[strspn(flags, "-0")] = 0;
    if (letter == '@' || is_plain) flags[0] = 0;
    if (letter == 'P') flags[0] = 0;
    used = snprintf(pattern, sizeof pattern, "<%%d%%%s", flags);
    if (!is_plain && any(2)) used += snprintf(pattern + used, sizeof pattern - (size_t)used, "%u", 1 + any(12));
    if (!is_plain && letter != 'c' && letter != 'P' && any(2)) used += snprintf(pattern + used, sizeof pattern - (size_t)used, ".%u", 1 + any(6));
    const char *size = sizes[any(12)];
    int is_whole = strchr("diuxXo", letter) != NULL, is_real = strchr("fFeEgGaA", letter) != NULL;
    if (is_whole ? *size == 'L' : !is_real || *size != 'L') size = "";
    snprintf(pattern + used, sizeof pattern - (size_t)used, "%s%c|%%d", size, letter);
    CFStringRef shape = CFStringCreateWithCString(NULL, pattern, kCFStringEncodingUTF8), made;
    double real = any(4) ? number / 7.0 : any(2) ? 1e300 * number : INFINITY;
    if (is_real) made = *size ? CFStringCreateWithFormat(NULL, NULL, shape, 1, (long double)real, 2) : CFStringCreateWithFormat(NULL, NULL, shape, 1, real, 2);
    else if (is_whole && (*size == 'l' || *size == 'q' || *size == 'z' || *size == 't' || *size == 'j'))
        made = CFStringCreateWithFormat(NULL, NULL, shape, 1, (long long)number * (1LL << any(33)), 2);
    else if (is_whole) made = CFStringCreateWithFormat(NULL, NULL, shape, 1, number, 2);
    else if (letter == 'c') made = CFStringCreateWithFormat(NULL, NULL, shape, 1, (int)any(256), 2);
    else if (letter == 'C') made = CFStringCreateWithFormat(NULL, NULL, shape, 1, (int)random_unit(), 2);
    else if (letter == 's') made = CFStringCreateWithFormat(NULL, NULL, shape, 1, texts[any(5)], 2);
    else if (letter == 'S') made = CFStringCreateWithFormat(NULL, NULL, shape, 1, wide, 2);
    else if (letter == '@') made = CFStringCreateWithFormat(NULL, NULL, shape, 1, random_string(), 2);
    else if (letter == 'P') made = CFStringCreateWithFormat(NULL, NULL, shape, 1, "\003abcd", 2);
    else if (letter == 'p') made = CFStringCreateWithFormat(NULL, NULL, shape, 1, (void *)(uintptr_t)any(100000), 2);
    else if (letter == 'n') made = CFStringCreateWithFormat(NULL, NULL, shape, 1, &used, 2);
    else made = CFStringCreateWithFormat(NULL, NULL, shape, 1, 2);
    printf("[%s]", pattern);
    show(made);
}

/* --- Numbers ---------------------------------------------------------------------------------------------- */

static double random_real(void) {
    static const double some[] = {0, -0.0, 1, -1, 1.5, 127.9, 300, 2147483647, 2147483648.0, -2147483648.0, -2147483649.0, 0x1p53, 0x1p63,
                                  -0x1p63, 0x1p64, 1e39, 1e300, 5e-324, INFINITY, -INFINITY, NAN, 16777217};
    return any(3) ? some[any(sizeof some / sizeof *some)] * (any(3) ? 1 : -1) : ldexp((double)any(1u << 30), (int)any(80) - 40);
}
static int64_t random_whole(void) {
    /* 128 to 255 and 32768 to 65535 are successes of a smaller type there, with another value. */
    int64_t value = any(2) ? (int64_t)any(40) - 20 : (int64_t)1 << any(64);
    if (any(2)) value = (int64_t)(0 - (uint64_t)value - any(2));
    return (value >= 128 && value < 256) || (value >= 32768 && value < 65536) ? 7 : value;
}
static CFNumberRef random_number(void) {
    int64_t whole = random_whole();
    double real = random_real();
    float small = (float)real;
    CFNumberType type = 1 + (CFNumberType)any(16);
    int is_small = type == kCFNumberFloat32Type || type == kCFNumberFloatType;
    int is_real = type == kCFNumberFloat64Type || type == kCFNumberDoubleType || type == kCFNumberCGFloatType;
    return CFNumberCreate(NULL, type, is_small ? (void *)&small : is_real ? (void *)&real : (void *)&whole);
}
static int is_misjudged(CFNumberRef number) {
    double value = 0;
    CFNumberGetValue(number, kCFNumberDoubleType, &value);
    return (value >= 128 && value < 256) || (value >= 32768 && value < 65536);
}
static void numbers(void) {
    CFNumberRef one = random_number(), other = random_number();
    CFNumberType type = 1 + (CFNumberType)any(16);
    UInt8 bytes[9];
    memset(bytes, 0xAA, sizeof bytes);
    if (!is_misjudged(one)) {
        int same = CFNumberGetValue(one, type, bytes);
        printf("as%d:%d:", (int)type, same);
        show_bytes(bytes, 9);
    }
    say("%d:%d:%d", (int)CFNumberGetType(one), (int)CFNumberGetByteSize(one), CFNumberIsFloatType(one));
    int equal = CFEqual(one, other);
    say("%d:%d:%d", (int)CFNumberCompare(one, other, NULL), equal, equal && CFHash(one) != CFHash(other));
    show(CFStringCreateWithFormat(NULL, NULL, CFSTR("%@"), one));
}

/* --- Data and containers ---------------------------------------------------------------------------------- */

struct thing { int name, value; };
static struct thing things[12];
static int is_quiet; /* while a list is sorted, whose values CoreFoundation retains and releases */
static const void *keep(CFAllocatorRef allocator, const void *thing) {
    (void)allocator;
    if (!is_quiet) say("+%d", ((const struct thing *)thing)->name);
    return thing;
}
static void drop(CFAllocatorRef allocator, const void *thing) {
    (void)allocator;
    if (!is_quiet) say("-%d", ((const struct thing *)thing)->name);
}
static Boolean same(const void *one, const void *other) { return ((const struct thing *)one)->value == ((const struct thing *)other)->value; }
static CFHashCode hash_of(const void *thing) { return (CFHashCode)((const struct thing *)thing)->value; }
static const struct thing *random_thing(void) { return &things[any(12)]; }
static void name(const void *thing) { say("=%d", thing ? ((const struct thing *)thing)->name : -1); }
static CFComparisonResult by_value(const void *one, const void *other, void *context) {
    (void)context;
    int a = ((const struct thing *)one)->value, b = ((const struct thing *)other)->value;
    return a < b ? kCFCompareLessThan : a > b ? kCFCompareGreaterThan : kCFCompareEqualTo;
}

static void data(void) {
    CFMutableDataRef data = CFDataCreateMutable(NULL, 0);
    for (int i = 0; i < 6; i++) {
        CFIndex length = CFDataGetLength(data);
        switch (any(4)) {
        case 0: CFDataAppendBytes(data, (const UInt8 *)"abcdefgh", (CFIndex)any(9)); break;
        case 1: CFDataReplaceBytes(data, random_range(length), (const UInt8 *)"XYZ", (CFIndex)any(4)); break;
        case 2: CFDataDeleteBytes(data, random_range(length)); break;
        case 3: CFDataSetLength(data, (CFIndex)any(12)); break;
        }
    }
    CFDataRef copy = CFDataCreateCopy(NULL, data);
    say("%d:%d", CFEqual(copy, data), CFHash(copy) == CFHash(data));
    show_bytes(CFDataGetBytePtr(data), CFDataGetLength(data));
}
static void list(void) {
    CFArrayCallBacks callbacks = {0, keep, drop, NULL, same};
    CFMutableArrayRef array = CFArrayCreateMutable(NULL, 0, &callbacks);
    for (int i = 0; i < 25; i++) {
        CFIndex count = CFArrayGetCount(array), at = count ? (CFIndex)any((unsigned)count) : 0;
        CFRange range = random_range(count);
        const struct thing *thing = random_thing();
        unsigned what = any(count ? 11 : 2);
        say("%u", what);
        switch (what) {
        case 0: CFArrayAppendValue(array, thing); break;
        case 1: CFArrayInsertValueAtIndex(array, at, thing); break;
        case 2: CFArraySetValueAtIndex(array, at, thing); break;
        case 3: CFArrayRemoveValueAtIndex(array, any(2) ? 0 : at); break;
        case 4: name(CFArrayGetValueAtIndex(array, at)); break;
        case 5: say("%ld", CFArrayGetFirstIndexOfValue(array, range, thing)); break;
        case 6: say("%ld", CFArrayGetLastIndexOfValue(array, range, thing)); break;
        case 7: say("%ld:%d", CFArrayGetCountOfValue(array, range, thing), CFArrayContainsValue(array, range, thing)); break;
        case 8: if (any(6) == 0) CFArrayRemoveAllValues(array); break;
        case 9: if (count < 20) CFArrayAppendArray(array, array, range); break;
        case 10:
            is_quiet = 1;
            if (any(4) == 0) CFArraySortValues(array, CFRangeMake(0, count), by_value, NULL);
            is_quiet = 0;
            break;
        }
    }
    CFArrayRef copy = CFArrayCreateCopy(NULL, array);
    say("%d", CFEqual(copy, array));
    for (CFIndex i = 0; i < CFArrayGetCount(array); i++) name(CFArrayGetValueAtIndex(array, i));
    CFRelease(copy);
    CFRelease(array);
}
static void table(void) {
    CFDictionaryKeyCallBacks keys = {0, keep, drop, NULL, same, hash_of};
    CFDictionaryValueCallBacks values = {0, keep, drop, NULL, same};
    CFSetCallBacks members = {0, keep, drop, NULL, same, hash_of};
    CFMutableDictionaryRef dictionary = CFDictionaryCreateMutable(NULL, 0, &keys, &values);
    CFMutableSetRef set = CFSetCreateMutable(NULL, 0, &members);
    for (int i = 0; i < 25; i++) {
        const struct thing *key = random_thing(), *value = random_thing();
        const void *found = NULL;
        unsigned what = any(12);
        say("%u", what);
        switch (what) {
        case 0: case 1: CFDictionarySetValue(dictionary, key, value); break;
        case 2: CFDictionaryAddValue(dictionary, key, value); break;
        case 3: CFDictionaryReplaceValue(dictionary, key, value); break;
        case 4: CFDictionaryRemoveValue(dictionary, key); break;
        case 5: name(CFDictionaryGetValue(dictionary, key)); break;
        case 6: say("%d", CFDictionaryGetValueIfPresent(dictionary, key, &found)), name(found); break;
        case 7: say("%ld:%ld:%d", CFDictionaryGetCount(dictionary), CFDictionaryGetCountOfValue(dictionary, value), CFDictionaryContainsKey(dictionary, key)); break;
        case 8: CFSetAddValue(set, key); break;
        case 9: CFSetSetValue(set, key); break;
        case 10: if (any(2)) CFSetReplaceValue(set, key); else CFSetRemoveValue(set, key); break;
        case 11: name(CFSetGetValue(set, key)), say("%ld", CFSetGetCount(set)); break;
        }
    }
    for (int i = 0; i < 12; i++) name(CFDictionaryGetValue(dictionary, &things[i])), name(CFSetGetValue(set, &things[i]));
}

static void *program(void *argument) {
    static void (*const kinds[])(void) = {decode, encode, compare_strings, join, read_numbers, format, format, numbers, numbers, data, list, table};
    (void)argument;
    for (int i = 0; i < 12; i++) things[i] = (struct thing){i, i / 2};
    for (int i = 0; i < 6; i++) kinds[any(sizeof kinds / sizeof *kinds)]();
    return NULL;
}

int main(int count, char **arguments) { return run_seeds(count, arguments, program); }
