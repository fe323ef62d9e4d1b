/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * store.h: the extension of store.c: texts under keys. Its functions are for any thread, and wait for nothing. */
#ifndef EXAMPLE_STORE_H
#define EXAMPLE_STORE_H

#include <treadle.h>

#define EXAMPLE_STORE "example.store/1"

struct example_store_answer {
    size_t struct_size;
    treadle_status status; /* TREADLE_E_NOT_FOUND: get, no such key; TREADLE_E_SYSTEM: SQLite has refused it;
                            * TREADLE_E_CLOSED: the store has ended before it could tell */
    const char *text;      /* of get, until done returns; else NULL */
    uint64_t rows;         /* of count: that are there */
    uint64_t written;      /* of count: that were ever written by this store, and those whose place it took */
};

/* Called once for each request that was taken, from the loop of the thread that has asked, in the common modes; with
 * TREADLE_E_CLOSED on any thread. The store knows nothing of where the function comes from: code that may be unmapped before it
 * is called gives the pointer of a closure. */
typedef void (*example_stored_fn)(void *info, const struct example_store_answer *answer);

struct example_store {
    size_t struct_size;
    void *instance; /* the first argument of its functions */
    /* In place of what the key had. done may be NULL: nobody is told. */
    treadle_status (*put)(void *instance, const char *key, const char *text, example_stored_fn done, void *info);
    treadle_status (*get)(void *instance, const char *key, example_stored_fn done, void *info);
    treadle_status (*count)(void *instance, example_stored_fn done, void *info);
};

#endif
