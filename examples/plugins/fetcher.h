/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * fetcher.h: the extension of fetcher.c. It is for the thread that has started the plugin alone: others get
 * TREADLE_E_WRONG_THREAD. */
#ifndef EXAMPLE_FETCHER_H
#define EXAMPLE_FETCHER_H

#include <treadle.h>

#define EXAMPLE_FETCHER "example.fetcher/1"

/* What a fetch has come to. It lives until done returns. */
struct example_fetch {
    size_t struct_size;
    uint64_t id;
    const char *error; /* for people; NULL if all was well: the server has answered, whatever it said */
    long http_status;  /* 0: it has said nothing */
    const char *body;  /* a NUL follows; never NULL */
    size_t size;
};

/* Called once, from the loop, and never from inside of start; not after a cancel, nor after the end of the plugin. */
typedef void (*example_fetched_fn)(void *info, const struct example_fetch *fetch);

struct example_fetcher {
    size_t struct_size;
    void *instance; /* the first argument of its functions */
    /* Begins to GET. out_id, for cancel, may be NULL. */
    treadle_status (*start)(void *instance, const char *url, example_fetched_fn done, void *info, uint64_t *out_id);
    /* TREADLE_E_NOT_FOUND for what is over. */
    treadle_status (*cancel)(void *instance, uint64_t id);
};

#endif
