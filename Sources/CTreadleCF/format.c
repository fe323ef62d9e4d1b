/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Formats: numbers are left to printf, one at a time; %@ takes an object. Each conversion of C and of CoreFoundation takes
 * its argument, also one that shows nothing; what is no text in UTF-8 shows nothing, and the rest is as it would be. */
#include "CTreadleCF.h"

#include <CoreFoundation/CoreFoundation.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* va_list as a member, so that every function takes from the same list. */
struct arguments {
    va_list list;
};

enum size { PLAIN, CHAR, SHORT, LONG, LONG_LONG, SIZE, MAXIMUM, LONG_DOUBLE };

/* What stands between % and the letter; no precision is -1. */
struct conversion {
    char flags[8];
    int width, precision;
    enum size size;
};

static bool has(const struct conversion *conversion, char flag) { return strchr(conversion->flags, flag) != NULL; }

static void add_ascii(CFMutableStringRef out, const char *text) { CFStringAppendCString(out, text, kCFStringEncodingASCII); }
static void pad(CFMutableStringRef out, const struct conversion *conversion, bool left, size_t used) {
    static const char spaces[] = "                ";
    if (left != has(conversion, '-') || used >= (size_t)conversion->width) return;
    size_t missing = (size_t)conversion->width - used;
    for (; missing >= sizeof spaces; missing -= sizeof spaces - 1) add_ascii(out, spaces);
    add_ascii(out, spaces + sizeof spaces - 1 - missing);
}
/* A field is as wide as its bytes. */
static void add_bytes(CFMutableStringRef out, const struct conversion *conversion, const char *bytes, size_t count) {
    CFStringRef text = CFStringCreateWithBytes(NULL, (const UInt8 *)bytes, (CFIndex)count, kCFStringEncodingUTF8, false);
    pad(out, conversion, false, count);
    if (text) CFStringAppend(out, text);
    pad(out, conversion, true, count);
    if (text) CFRelease(text);
}
static void add_units(CFMutableStringRef out, const struct conversion *conversion, const UniChar *units, size_t count) {
    pad(out, conversion, false, count);
    CFStringAppendCharacters(out, units, (CFIndex)count);
    pad(out, conversion, true, count);
}

/* What printf makes of one number. */
static void add_number(CFMutableStringRef out, const struct conversion *conversion, const char *end, ...) {
    char shape[24], text[128];
    snprintf(shape, sizeof shape, "%%%s*.*%s", conversion->flags, end);
    va_list list, again;
    va_start(list, end);
    va_copy(again, list);
    int count = vsnprintf(text, sizeof text, shape, list);
    if (count >= 0 && (size_t)count < sizeof text) {
        CFStringAppendCString(out, text, kCFStringEncodingUTF8);
    } else if (count >= 0) {
        char *large = malloc((size_t)count + 1);
        if (large && vsnprintf(large, (size_t)count + 1, shape, again) >= 0) CFStringAppendCString(out, large, kCFStringEncodingUTF8);
        free(large);
    }
    va_end(again);
    va_end(list);
}

static void add_integer(CFMutableStringRef out, const struct conversion *conversion, char letter, struct arguments *arguments) {
    enum size size = conversion->size;
    bool is_signed = letter == 'd' || letter == 'i' || letter == 'D';
    long long value = size == LONG ? va_arg(arguments->list, long)
                      : size == LONG_LONG || size == MAXIMUM || size == LONG_DOUBLE ? va_arg(arguments->list, long long)
                      : size == SIZE ? va_arg(arguments->list, ptrdiff_t) : va_arg(arguments->list, int);
    if (size == CHAR) value = is_signed ? (signed char)value : (unsigned char)value;
    if (size == SHORT) value = is_signed ? (short)value : (unsigned short)value;
    if (size == PLAIN && !is_signed) value = (unsigned)value;
    const char end[] = {'l', 'l', letter == 'D' ? 'd' : letter == 'U' ? 'u' : letter == 'O' ? 'o' : letter, 0};
    add_number(out, conversion, end, conversion->width, conversion->precision, value);
}

static void add_object(CFMutableStringRef out, CFTypeRef object) {
    if (!object) return add_ascii(out, "(null)");
    CFStringRef text = CFCopyDescription(object);
    CFStringAppend(out, text);
    CFRelease(text);
}

static void convert(CFMutableStringRef out, const struct conversion *conversion, UniChar letter, struct arguments *arguments) {
    switch (letter) {
    case 'd': case 'i': case 'u': case 'x': case 'X': case 'o': case 'D': case 'U': case 'O':
        add_integer(out, conversion, (char)letter, arguments);
        break;
    case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A': {
        const char end[] = {(char)letter, 0}, large[] = {'L', (char)letter, 0};
        if (conversion->size == LONG_DOUBLE)
            add_number(out, conversion, large, conversion->width, conversion->precision, va_arg(arguments->list, long double));
        else
            add_number(out, conversion, end, conversion->width, conversion->precision, va_arg(arguments->list, double));
        break;
    }
    case 'p':
        add_number(out, conversion, "p", conversion->width, conversion->precision, va_arg(arguments->list, void *));
        break;
    case 'n': (void)va_arg(arguments->list, void *); break; /* A format writes nowhere. */
    case 'c': {
        UniChar unit = (unsigned char)va_arg(arguments->list, int);
        /* A NUL ends the field, without being part of it. */
        pad(out, conversion, false, 1);
        if (unit && (conversion->size != LONG || unit < 0x80)) CFStringAppendCharacters(out, &unit, 1);
        if (unit) pad(out, conversion, true, 1);
        break;
    }
    case 'C': {
        UniChar unit = (UniChar)va_arg(arguments->list, int);
        CFStringAppendCharacters(out, &unit, 1);
        break;
    }
    case 's': {
        const char *text = va_arg(arguments->list, const char *);
        if (!text) text = "(null)";
        add_bytes(out, conversion, text, conversion->precision < 0 ? strlen(text) : strnlen(text, (size_t)conversion->precision));
        break;
    }
    case 'P': { /* Its first byte is its length. */
        const unsigned char *text = va_arg(arguments->list, const unsigned char *);
        if (text) add_bytes(out, conversion, (const char *)text + 1, *text);
        break;
    }
    case 'S': {
        static const UniChar none[] = {'(', 'n', 'u', 'l', 'l', ')', 0};
        const UniChar *text = va_arg(arguments->list, const UniChar *);
        size_t count = 0, most = conversion->precision < 0 ? SIZE_MAX : (size_t)conversion->precision;
        if (!text) text = none;
        while (count < most && text[count]) count++;
        add_units(out, conversion, text, count);
        break;
    }
    case '@': add_object(out, va_arg(arguments->list, CFTypeRef)); break;
    default: CFStringAppendCharacters(out, &letter, 1); /* also %% */
    }
}

/* The format's units, and where it is being read; behind its end are zeros. */
struct reader {
    const UniChar *units;
    CFIndex at, count;
    bool is_bad; /* a width or precision is no int */
};
static UniChar look(const struct reader *reader) { return reader->at < reader->count ? reader->units[reader->at] : 0; }
static bool skip(struct reader *reader, UniChar unit) {
    if (reader->at >= reader->count || look(reader) != unit) return false;
    reader->at++;
    return true;
}
static int read_number(struct reader *reader, struct arguments *arguments) {
    if (skip(reader, '*')) return va_arg(arguments->list, int);
    int value = 0;
    for (; look(reader) >= '0' && look(reader) <= '9'; reader->at++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, look(reader) - '0', &value)) reader->is_bad = true;
    return reader->is_bad ? 0 : value;
}
static enum size read_size(struct reader *reader) {
    if (skip(reader, 'h')) return skip(reader, 'h') ? CHAR : SHORT;
    if (skip(reader, 'l')) return skip(reader, 'l') ? LONG_LONG : LONG;
    if (skip(reader, 'q')) return LONG_LONG;
    if (skip(reader, 'z') || skip(reader, 't')) return SIZE;
    return skip(reader, 'j') ? MAXIMUM : skip(reader, 'L') ? LONG_DOUBLE : PLAIN;
}
static void add_flag(struct conversion *conversion, char flag) {
    size_t used = strlen(conversion->flags);
    if (!has(conversion, flag) && used + 1 < sizeof conversion->flags) conversion->flags[used] = flag;
}
static struct conversion read_conversion(struct reader *reader, struct arguments *arguments) {
    static const char flags[] = "-+ #0'";
    struct conversion conversion = {.precision = -1};
    while (look(reader) && look(reader) < 0x80 && strchr(flags, (char)look(reader)))
        add_flag(&conversion, (char)reader->units[reader->at++]);
    conversion.width = read_number(reader, arguments);
    if (conversion.width < 0) {
        add_flag(&conversion, '-');
        conversion.width = conversion.width == INT32_MIN ? INT32_MAX : -conversion.width;
    }
    if (skip(reader, '.')) conversion.precision = read_number(reader, arguments);
    conversion.size = read_size(reader);
    return conversion;
}

static void format_into(CFMutableStringRef out, struct reader *reader, struct arguments *arguments) {
    while (reader->at < reader->count && !reader->is_bad) {
        CFIndex start = reader->at;
        while (reader->at < reader->count && look(reader) != '%') reader->at++;
        CFStringAppendCharacters(out, reader->units + start, reader->at - start);
        if (!skip(reader, '%')) return;
        struct conversion conversion = read_conversion(reader, arguments);
        if (reader->at >= reader->count || reader->is_bad) return;
        UniChar letter = reader->units[reader->at++];
        convert(out, &conversion, letter, arguments);
    }
}

CFStringRef CFStringCreateWithFormatAndArguments(CFAllocatorRef allocator, CFDictionaryRef options, CFStringRef format,
                                                 va_list list) {
    (void)options;
    if (!format || CFGetTypeID(format) != CFStringGetTypeID()) {
        treadle_cf_complain("CFStringCreateWithFormatAndArguments");
        return NULL;
    }
    struct reader reader = {.count = CFStringGetLength(format)};
    UniChar *units = malloc((size_t)reader.count * sizeof *units + 1);
    CFMutableStringRef out = CFStringCreateMutable(NULL, 0);
    CFStringRef string = NULL;
    if (units && out) {
        CFStringGetCharacters(format, CFRangeMake(0, reader.count), units);
        reader.units = units;
        struct arguments arguments;
        va_copy(arguments.list, list);
        format_into(out, &reader, &arguments);
        va_end(arguments.list);
        if (!reader.is_bad) string = CFStringCreateCopy(allocator, out);
    }
    if (out) CFRelease(out);
    free(units);
    return string;
}

CFStringRef CFStringCreateWithFormat(CFAllocatorRef allocator, CFDictionaryRef options, CFStringRef format, ...) {
    va_list list;
    va_start(list, format);
    CFStringRef string = CFStringCreateWithFormatAndArguments(allocator, options, format, list);
    va_end(list);
    return string;
}

void CFStringAppendFormatAndArguments(CFMutableStringRef string, CFDictionaryRef options, CFStringRef format, va_list list) {
    CFStringRef added = CFStringCreateWithFormatAndArguments(NULL, options, format, list);
    if (!added) return;
    CFStringAppend(string, added);
    CFRelease(added);
}

void CFStringAppendFormat(CFMutableStringRef string, CFDictionaryRef options, CFStringRef format, ...) {
    va_list list;
    va_start(list, format);
    CFStringAppendFormatAndArguments(string, options, format, list);
    va_end(list);
}
