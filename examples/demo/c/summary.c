/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * summary.c: totals, the longest line, a checksum and the frequent words. */
#include "summary.h"

#include <stdio.h>
#include <string.h>

uint32_t checksum_of(uint32_t checksum, const unsigned char *bytes, size_t length) {
    checksum = ~checksum;
    for (size_t i = 0; i < length; i++) {
        checksum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) checksum = checksum >> 1 ^ (0xEDB88320u & -(checksum & 1));
    }
    return ~checksum;
}

/* Whether a terminal can be trusted with these bytes: UTF-8 in its shortest form, no surrogates, and no
 * control characters, which UTF-8 has from U+0080 to U+009F too. */
static bool is_printable(const unsigned char *bytes, size_t length) {
    for (size_t i = 0; i < length;) {
        unsigned char lead = bytes[i++];
        if (lead < 0x80) continue;
        int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
        if (lead < 0xC2 || lead > 0xF4 || length - i < (size_t)more) return false;
        uint32_t code = lead & (0x3Fu >> more);
        while (more-- > 0) {
            if ((bytes[i] & 0xC0) != 0x80) return false;
            code = code << 6 | (bytes[i++] & 0x3F);
        }
        uint32_t smallest = lead >= 0xF0 ? 0x10000 : lead >= 0xE0 ? 0x800 : 0xA0;
        if (code < smallest || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return false;
    }
    return true;
}

static void show(struct shown_word *shown, const struct word *word) {
    size_t length = word->length < WORD_SHOWN ? word->length : WORD_SHOWN;
    bool printable = is_printable(word->bytes, length);
    char *out = shown->text;
    for (size_t i = 0; i < length; i++) {
        if (printable || word->bytes[i] < 0x80) *out++ = (char)word->bytes[i];
        else out += sprintf(out, "\\x%02x", word->bytes[i]);
    }
    strcpy(out, length < word->length ? "..." : "");
    shown->count = word->count;
}

static void add_line(struct summary *summary, const struct result *result) {
    unsigned char bytes[4];
    for (int i = 0; i < 4; i++) bytes[i] = (unsigned char)(result->checksum >> 8 * i);
    summary->lines++;
    summary->words += result->word_count;
    summary->checksum = checksum_of(summary->checksum, bytes, sizeof bytes);
    if (result->length > summary->longest_length) {
        summary->longest_length = result->length;
        summary->longest_number = result->number;
    }
}

static void add_words(struct summary *summary, const struct word_table *words) {
    const struct word *top[FREQUENT_WORDS];
    summary->distinct = words->distinct;
    summary->frequent_count = words_most_frequent(words, FREQUENT_SHORTEST, top, FREQUENT_WORDS);
    for (size_t i = 0; i < summary->frequent_count; i++) show(&summary->frequent[i], top[i]);
}

void summary_add(struct summary *summary, const struct result *result) {
    if (result->words) add_words(summary, result->words);
    else add_line(summary, result);
}
