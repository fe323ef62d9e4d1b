/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * storing.h: what the tests of the store do with it. */
#ifndef EXAMPLE_STORING_H
#define EXAMPLE_STORING_H

#include "../store.h"
#include "host.h"

static atomic_int answers;
static struct example_store_answer last_answer;
static char answered_text[64];
HELPER void take_answer(void *info, const struct example_store_answer *answer) {
    (void)info;
    last_answer = *answer;
    snprintf(answered_text, sizeof answered_text, "%s", answer->text ? answer->text : "");
    atomic_fetch_add(&answers, 1);
    has_come();
}
HELPER void put_rows(const struct example_store *store, int first, int count) {
    char key[16], text[32];
    for (int i = first; i < first + count; i++) {
        snprintf(key, sizeof key, "%d", i), snprintf(text, sizeof text, "row %d", i);
        CHECK_INT(store->put(store->instance, key, text, take_answer, NULL), TREADLE_OK);
    }
}
static atomic_int counts;
HELPER void take_count(void *info, const struct example_store_answer *answer) {
    *(struct example_store_answer *)info = *answer;
    atomic_fetch_add(&counts, 1);
    has_come();
}
/* After all that was asked before. */
HELPER void check_count(const struct example_store *store, uint64_t rows, uint64_t written) {
    struct example_store_answer answer;
    int before = counts;
    CHECK_INT(store->count(store->instance, take_count, &answer), TREADLE_OK);
    wait_for(&counts, before + 1);
    CHECK_INT(answer.rows, rows);
    CHECK_INT(answer.written, written);
}

#endif
