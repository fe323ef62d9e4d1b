/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * words.h: the extension of words.swift: how often words occur in texts. Its functions are for any thread. */
#ifndef EXAMPLE_WORDS_H
#define EXAMPLE_WORDS_H

#include <treadle.h>

#define EXAMPLE_WORDS "example.words/1"

struct example_words {
    size_t struct_size; /* sizeof(struct example_words), or more */
    void *instance;     /* the first argument of its functions */
    /* Counts the words of a text in UTF-8. */
    void (*add)(void *instance, const char *text);
    /* How often a word has occurred, in capital letters or small ones. */
    uint64_t (*count)(void *instance, const char *word);
};

#endif
