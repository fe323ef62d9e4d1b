/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * CFString.h: text. Kept as UTF-8; lengths and indexes count UTF-16 units. */
#ifndef CF_COMPAT_CFSTRING_H
#define CF_COMPAT_CFSTRING_H

#include "CFArray.h"
#include "CFBase.h"
#include "CFData.h"
#include "CFDictionary.h"

CF_EXTERN_C_BEGIN

/** How bytes stand for text. Those named below are available; the others are refused. */
typedef uint32_t CFStringEncoding;
#define kCFStringEncodingInvalidId (0xFFFFFFFFU)
enum {
    kCFStringEncodingMacRoman = 0,
    kCFStringEncodingWindowsLatin1 = 0x0500, /* refused */
    kCFStringEncodingISOLatin1 = 0x0201,
    kCFStringEncodingASCII = 0x0600,
    kCFStringEncodingUnicode = 0x0100,
    kCFStringEncodingUTF8 = 0x08000100,
    kCFStringEncodingUTF16 = 0x0100,
    kCFStringEncodingUTF16BE = 0x10000100,
    kCFStringEncodingUTF16LE = 0x14000100,
    kCFStringEncodingUTF32 = 0x0c000100,
    kCFStringEncodingUTF32BE = 0x18000100,
    kCFStringEncodingUTF32LE = 0x1c000100
};

/** Options of comparisons. Case is ignored for ASCII letters only; the others are accepted without effect,
 *  but for kCFCompareNumerically, which is refused by comparing literally. */
typedef CFOptionFlags CFStringCompareFlags;
enum {
    kCFCompareCaseInsensitive = 1,
    kCFCompareBackwards = 4,
    kCFCompareAnchored = 8,
    kCFCompareNonliteral = 16,
    kCFCompareLocalized = 32,
    kCFCompareNumerically = 64
};

/** The string of a literal: always the same object for equal text, never freed. The caller does not own it. */
#define CFSTR(literal) __CFStringMakeConstantString("" literal "")
/** Called by CFSTR. */
CF_EXPORT CFStringRef __CFStringMakeConstantString(const char *text);

/** The type of strings, mutable or not. */
CF_EXPORT CFTypeID CFStringGetTypeID(void);
/** A string of a C string. NULL if the bytes are none of the encoding. */
CF_EXPORT CFStringRef CFStringCreateWithCString(CFAllocatorRef alloc, const char *text, CFStringEncoding encoding);
/** A string of bytes. isExternalRepresentation: UTF-16 without an order in its name may begin with a byte order mark, and
 *  has the most significant byte first without one; UTF-32 likewise, always. */
CF_EXPORT CFStringRef CFStringCreateWithBytes(CFAllocatorRef alloc, const uint8_t *bytes, CFIndex length,
                                              CFStringEncoding encoding, unsigned char isExternalRepresentation);
/** As CFStringCreateWithCString. The text is copied and, unless the deallocator is kCFAllocatorNull, freed. */
CF_EXPORT CFStringRef CFStringCreateWithCStringNoCopy(CFAllocatorRef alloc, const char *text, CFStringEncoding encoding,
                                                      CFAllocatorRef contentsDeallocator);
/** As CFStringCreateWithBytes. The bytes are copied and, unless the deallocator is kCFAllocatorNull, freed. */
CF_EXPORT CFStringRef CFStringCreateWithBytesNoCopy(CFAllocatorRef alloc, const uint8_t *bytes, CFIndex length,
                                                    CFStringEncoding encoding, unsigned char isExternalRepresentation,
                                                    CFAllocatorRef contentsDeallocator);
/** A string of UTF-16 units; a surrogate without its partner becomes U+FFFD. */
CF_EXPORT CFStringRef CFStringCreateWithCharacters(CFAllocatorRef alloc, const uint16_t *chars, CFIndex length);
/** A string of printf's format; %@ takes an object. formatOptions: NULL. */
CF_EXPORT CFStringRef CFStringCreateWithFormat(CFAllocatorRef alloc, CFDictionaryRef formatOptions,
                                               CFStringRef format, ...);
/** The same with a list of arguments. */
CF_EXPORT CFStringRef CFStringCreateWithFormatAndArguments(CFAllocatorRef alloc, CFDictionaryRef formatOptions,
                                                           CFStringRef format, va_list arguments);
/** An immutable string with the same text. */
CF_EXPORT CFStringRef CFStringCreateCopy(CFAllocatorRef alloc, CFStringRef theString);
/** A part of a string. NULL for a range that is not inside of it. */
CF_EXPORT CFStringRef CFStringCreateWithSubstring(CFAllocatorRef alloc, CFStringRef str, CFRange range);
/** An empty string that may be changed. maxLength: without effect. */
CF_EXPORT CFMutableStringRef CFStringCreateMutable(CFAllocatorRef alloc, CFIndex maxLength);
/** A string that may be changed, with this text. */
CF_EXPORT CFMutableStringRef CFStringCreateMutableCopy(CFAllocatorRef alloc, CFIndex maxLength, CFStringRef theString);
/** The array's strings with a separator between them. */
CF_EXPORT CFStringRef CFStringCreateByCombiningStrings(CFAllocatorRef alloc, CFArrayRef theArray, CFStringRef separatorString);
/** The parts of a string between the separators. */
CF_EXPORT CFArrayRef CFStringCreateArrayBySeparatingStrings(CFAllocatorRef alloc, CFStringRef theString,
                                                            CFStringRef separatorString);
/** The bytes of a string in an encoding. NULL if it cannot say the text and lossByte is 0. */
CF_EXPORT CFDataRef CFStringCreateExternalRepresentation(CFAllocatorRef alloc, CFStringRef theString,
                                                         CFStringEncoding encoding, uint8_t lossByte);

/** Adds text at the end of a mutable string; an immutable one is left as it is. */
CF_EXPORT void CFStringAppend(CFMutableStringRef theString, CFStringRef appendedString);
CF_EXPORT void CFStringAppendCharacters(CFMutableStringRef theString, const uint16_t *chars, CFIndex numChars);
CF_EXPORT void CFStringAppendCString(CFMutableStringRef theString, const char *text, CFStringEncoding encoding);
CF_EXPORT void CFStringAppendFormat(CFMutableStringRef theString, CFDictionaryRef formatOptions,
                                    CFStringRef format, ...);
CF_EXPORT void CFStringAppendFormatAndArguments(CFMutableStringRef theString, CFDictionaryRef formatOptions,
                                                CFStringRef format, va_list arguments);

/** The length in UTF-16 units. */
CF_EXPORT CFIndex CFStringGetLength(CFStringRef theString);
/** One UTF-16 unit; 0 for an index that is not inside. */
CF_EXPORT uint16_t CFStringGetCharacterAtIndex(CFStringRef theString, CFIndex idx);
/** The UTF-16 units of a range; nothing for one that is not inside. */
CF_EXPORT void CFStringGetCharacters(CFStringRef theString, CFRange range, uint16_t *buffer);
/** Copies the text with its NUL; false, with an empty buffer, if it has no room or the encoding cannot say it. */
CF_EXPORT unsigned char CFStringGetCString(CFStringRef theString, char *buffer, CFIndex bufferSize, CFStringEncoding encoding);
/** The string's own bytes with a NUL, until it changes or is freed: for UTF-8, and for ASCII text in ASCII, ISO Latin 1
 *  and Mac Roman. NULL otherwise. */
CF_EXPORT const char *CFStringGetCStringPtr(CFStringRef theString, CFStringEncoding encoding);
/** Converts a range; buffer may be NULL to count. Returns how many UTF-16 units were converted: those that
 *  fit; lossByte, if not 0, stands for what the encoding cannot say. */
CF_EXPORT CFIndex CFStringGetBytes(CFStringRef theString, CFRange range, CFStringEncoding encoding, uint8_t lossByte,
                                   unsigned char isExternalRepresentation, uint8_t *buffer, CFIndex maxBufLen,
                                   CFIndex *usedBufLen);
/** The most bytes that so many UTF-16 units may need; kCFNotFound if that is no number. */
CF_EXPORT CFIndex CFStringGetMaximumSizeForEncoding(CFIndex length, CFStringEncoding encoding);
/** Whether the functions here know the encoding. */
CF_EXPORT unsigned char CFStringIsEncodingAvailable(CFStringEncoding encoding);
/** UTF-8. */
CF_EXPORT CFStringEncoding CFStringGetSystemEncoding(void);
/** Compares by the UTF-16 units. */
CF_EXPORT CFComparisonResult CFStringCompare(CFStringRef theString1, CFStringRef theString2, CFStringCompareFlags compareOptions);
/** Whether it begins or ends with a text; false for "". */
CF_EXPORT unsigned char CFStringHasPrefix(CFStringRef theString, CFStringRef prefix);
CF_EXPORT unsigned char CFStringHasSuffix(CFStringRef theString, CFStringRef suffix);
/** The first place of a text: location kCFNotFound if it is not there. */
CF_EXPORT CFRange CFStringFind(CFStringRef theString, CFStringRef stringToFind, CFStringCompareFlags compareOptions);
/** The number in decimal digits at the beginning, behind spaces; 0 if there is none. One that is too large is the largest. */
CF_EXPORT int32_t CFStringGetIntValue(CFStringRef str);
CF_EXPORT double CFStringGetDoubleValue(CFStringRef str);

/** Writes an object's description, and a line end, to standard error. */
CF_EXPORT void CFShow(CFTypeRef obj);

CF_EXTERN_C_END
#endif
