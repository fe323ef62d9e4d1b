/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * words.h: how often each word occurs. A word is a run of ASCII letters, digits and apostrophes, and of
 * bytes from 0x80 on (so that words of UTF-8 text stay whole); ASCII capitals count as small. */
#ifndef DEMO_WORDS_H
#define DEMO_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* One word; its bytes follow. */
struct word {
    struct word *next;
    uint64_t hash, count;
    size_t length;
    unsigned char bytes[];
};

/* All words that occurred. */
struct word_table {
    struct word **buckets;
    size_t bucket_count; /* a power of two */
    uint64_t distinct;
};

/* Makes it empty. */
void words_init(struct word_table *table);
/* Counts the words of a line, and returns how many there are. Changes capitals in place. */
uint64_t words_count(struct word_table *table, unsigned char *line, size_t length);
/* Stores the most frequent words of at least shortest bytes, the most frequent first, equal ones in the
 * order of their bytes. Returns how many there are, at most capacity. */
size_t words_most_frequent(const struct word_table *table, size_t shortest, const struct word **top, size_t capacity);
/* Frees all words. */
void words_destroy(struct word_table *table);

#endif
