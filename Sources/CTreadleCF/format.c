/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Formats: C's own conversions are left to printf, one at a time; %@ takes an object. */
#include "CTreadleCF.h"

#include <CoreFoundation/CoreFoundation.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Implemented in Swift: the text that %@ shows, to be freed; NULL if there is no memory. */
char *treadle_cf_text_of_object(uintptr_t object);

/* va_list as a member, so that every function takes from the same list. */
struct arguments {
    va_list list;
};

enum size { PLAIN, CHAR, SHORT, LONG, LONG_LONG, SIZE, MAXIMUM, LONG_DOUBLE };

static const char *read_size(const char *at, enum size *size) {
    *size = PLAIN;
    switch (*at) {
    case 'h': return at[1] == 'h' ? (*size = CHAR, at + 2) : (*size = SHORT, at + 1);
    case 'l': return at[1] == 'l' ? (*size = LONG_LONG, at + 2) : (*size = LONG, at + 1);
    case 'q': return *size = LONG_LONG, at + 1;
    case 'z':
    case 't': return *size = SIZE, at + 1;
    case 'j': return *size = MAXIMUM, at + 1;
    case 'L': return *size = LONG_DOUBLE, at + 1;
    default: return at;
    }
}

/* One conversion: `shape` is its beginning without size and letter, as "%-5.2". */
static void convert(FILE *out, char *shape, size_t room, char letter, enum size size, struct arguments *arguments) {
    size_t used = strlen(shape);
    if (used + 4 > room) return;
    char *end = shape + used;
    switch (letter) {
    case 'd':
    case 'i': {
        long long value = size == LONG ? va_arg(arguments->list, long)
                          : size == LONG_LONG || size == MAXIMUM ? va_arg(arguments->list, long long)
                          : size == SIZE ? va_arg(arguments->list, ptrdiff_t) : va_arg(arguments->list, int);
        if (size == CHAR) value = (signed char)value;
        if (size == SHORT) value = (short)value;
        memcpy(end, "lld", 4);
        fprintf(out, shape, value);
        break;
    }
    case 'u': case 'x': case 'X': case 'o': case 'D': case 'U': case 'O': {
        unsigned long long value = size == LONG ? va_arg(arguments->list, unsigned long)
                                   : size == LONG_LONG || size == MAXIMUM ? va_arg(arguments->list, unsigned long long)
                                   : size == SIZE ? va_arg(arguments->list, size_t) : va_arg(arguments->list, unsigned);
        if (size == CHAR) value = (unsigned char)value;
        if (size == SHORT) value = (unsigned short)value;
        end[0] = end[1] = 'l';
        end[2] = letter == 'D' ? 'd' : letter == 'U' ? 'u' : letter == 'O' ? 'o' : letter;
        end[3] = 0;
        fprintf(out, shape, value);
        break;
    }
    case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A':
        if (size == LONG_DOUBLE) {
            end[0] = 'L', end[1] = letter, end[2] = 0;
            fprintf(out, shape, va_arg(arguments->list, long double));
        } else {
            end[0] = letter, end[1] = 0;
            fprintf(out, shape, va_arg(arguments->list, double));
        }
        break;
    case 'c':
        memcpy(end, "c", 2);
        fprintf(out, shape, va_arg(arguments->list, int));
        break;
    case 's': {
        const char *text = va_arg(arguments->list, const char *);
        memcpy(end, "s", 2);
        fprintf(out, shape, text ? text : "(null)");
        break;
    }
    case 'p':
        memcpy(end, "p", 2);
        fprintf(out, shape, va_arg(arguments->list, void *));
        break;
    case 'C': {
        uint16_t unit = (uint16_t)va_arg(arguments->list, int);
        CFStringRef one = CFStringCreateWithCharacters(NULL, &unit, 1);
        const char *text = CFStringGetCStringPtr(one, kCFStringEncodingUTF8);
        if (text) fputs(text, out);
        CFRelease(one);
        break;
    }
    case '@': {
        char *text = treadle_cf_text_of_object((uintptr_t)va_arg(arguments->list, const void *));
        memcpy(end, "s", 2);
        if (text) fprintf(out, shape, text);
        free(text);
        break;
    }
    default: fputc(letter, out); /* also %% */
    }
}

static char *formatted(const char *format, struct arguments *arguments) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    const char *at = format;
    while (*at) {
        if (*at != '%') {
            fputc(*at++, out);
            continue;
        }
        char shape[64] = "%";
        size_t used = 1;
        at++;
        while (*at && strchr("-+ #0'123456789.*", *at)) {
            if (*at == '*') {
                int n = snprintf(shape + used, sizeof shape - used, "%d", va_arg(arguments->list, int));
                if (n > 0 && used + (size_t)n < sizeof shape - 8) used += (size_t)n;
            } else if (used < sizeof shape - 8) {
                shape[used++] = *at;
            }
            shape[used] = 0;
            at++;
        }
        enum size size;
        at = read_size(at, &size);
        if (!*at) break;
        convert(out, shape, sizeof shape, *at++, size, arguments);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

CFStringRef CFStringCreateWithFormatAndArguments(CFAllocatorRef allocator, CFDictionaryRef options, CFStringRef format,
                                                 va_list list) {
    (void)options;
    CFStringRef kept = format && CFGetTypeID(format) == CFStringGetTypeID() ? CFStringCreateCopy(allocator, format) : NULL;
    const char *pattern = kept ? CFStringGetCStringPtr(kept, kCFStringEncodingUTF8) : NULL;
    if (!pattern) {
        treadle_cf_complain("CFStringCreateWithFormatAndArguments");
        return NULL;
    }
    struct arguments arguments;
    va_copy(arguments.list, list);
    char *text = formatted(pattern, &arguments);
    va_end(arguments.list);
    CFRelease(kept);
    CFStringRef string = text ? CFStringCreateWithCString(allocator, text, kCFStringEncodingUTF8) : NULL;
    free(text);
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
