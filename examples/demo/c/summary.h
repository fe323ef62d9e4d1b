/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * summary.h: what was found in the input, put together from the results for its lines. */
#ifndef DEMO_SUMMARY_H
#define DEMO_SUMMARY_H

#include "messages.h"

enum { FREQUENT_WORDS = 5, FREQUENT_SHORTEST = 4, WORD_SHOWN = 32 };

/* A word as it is printed: cut to WORD_SHOWN bytes, and made printable. */
struct shown_word {
    uint64_t count;
    char text[4 * WORD_SHOWN + 4];
};

/* The summary. */
struct summary {
    uint64_t lines, bytes, words, distinct, longest_number;
    size_t longest_length;
    uint32_t checksum; /* of the lines' checksums, in the order of the lines */
    size_t frequent_count;
    struct shown_word frequent[FREQUENT_WORDS];
};

/* The CRC-32 of bytes that follow others whose CRC-32 is given; 0 to begin. */
uint32_t checksum_of(uint32_t checksum, const unsigned char *bytes, size_t length);

/* Adds what one result says. */
void summary_add(struct summary *summary, const struct result *result);

#endif
