/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * messages.h: what the threads tell each other: commands go to the worker, results come back. */
#ifndef DEMO_MESSAGES_H
#define DEMO_MESSAGES_H

#include <stdbool.h>

#include "queue.h"
#include "words.h"

/* Examine this line; or, if last, there are no more lines. */
struct command {
    struct message link;
    bool last;
    uint64_t number; /* of the line, from 1 */
    size_t length;
    unsigned char line[]; /* without the newline */
};

/* What was found in a line; or, if words is set, in all of them. */
struct result {
    struct message link;
    const struct word_table *words; /* the worker's; lives until the worker is gone */
    uint64_t number, word_count;
    size_t length;
    uint32_t checksum;
};

#endif
