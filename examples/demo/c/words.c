/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * words.c: a hash table with chains that doubles when it is full. */
#include "words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { FIRST_BUCKETS = 1024 };

void words_init(struct word_table *table) {
    table->bucket_count = FIRST_BUCKETS;
    table->buckets = allocate(sizeof *table->buckets * table->bucket_count);
    table->distinct = 0;
}

static void grow(struct word_table *table) {
    size_t count = table->bucket_count * 2;
    struct word **buckets = allocate(sizeof *buckets * count);
    for (size_t i = 0; i < table->bucket_count; i++) {
        for (struct word *word = table->buckets[i], *next; word; word = next) {
            struct word **bucket = &buckets[word->hash & (count - 1)];
            next = word->next;
            word->next = *bucket;
            *bucket = word;
        }
    }
    free(table->buckets);
    table->buckets = buckets;
    table->bucket_count = count;
}

static void count_word(struct word_table *table, const unsigned char *bytes, size_t length) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < length; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
    struct word **bucket = &table->buckets[hash & (table->bucket_count - 1)];
    for (struct word *word = *bucket; word; word = word->next) {
        if (word->hash == hash && word->length == length && memcmp(word->bytes, bytes, length) == 0) {
            word->count++;
            return;
        }
    }
    struct word *word = allocate(sizeof *word + length);
    word->next = *bucket;
    word->hash = hash;
    word->count = 1;
    word->length = length;
    memcpy(word->bytes, bytes, length);
    *bucket = word;
    if (++table->distinct > table->bucket_count) grow(table);
}

static bool is_word_byte(unsigned char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '\'' || byte >= 0x80;
}

uint64_t words_count(struct word_table *table, unsigned char *line, size_t length) {
    uint64_t count = 0;
    size_t start = 0;
    for (size_t i = 0; i <= length; i++) {
        if (i < length) {
            if (line[i] >= 'A' && line[i] <= 'Z') line[i] += 'a' - 'A';
            if (is_word_byte(line[i])) continue;
        }
        if (i > start) {
            count_word(table, line + start, i - start);
            count++;
        }
        start = i + 1;
    }
    return count;
}

static bool comes_first(const struct word *a, const struct word *b) {
    if (a->count != b->count) return a->count > b->count;
    int order = memcmp(a->bytes, b->bytes, a->length < b->length ? a->length : b->length);
    return order ? order < 0 : a->length < b->length;
}

size_t words_most_frequent(const struct word_table *table, size_t shortest, const struct word **top, size_t capacity) {
    size_t found = 0;
    for (size_t i = 0; i < table->bucket_count; i++) {
        for (const struct word *word = table->buckets[i]; word; word = word->next) {
            if (word->length < shortest) continue;
            if (found == capacity && !comes_first(word, top[found - 1])) continue;
            size_t place = found < capacity ? found++ : capacity - 1;
            for (; place > 0 && comes_first(word, top[place - 1]); place--) top[place] = top[place - 1];
            top[place] = word;
        }
    }
    return found;
}

void words_destroy(struct word_table *table) {
    for (size_t i = 0; i < table->bucket_count; i++) {
        for (struct word *word = table->buckets[i], *next; word; word = next) {
            next = word->next;
            free(word);
        }
    }
    free(table->buckets);
}
