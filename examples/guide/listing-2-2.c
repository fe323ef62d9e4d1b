/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Listing 2-2: an entry routine with a pool, and a second one around each piece of its work.
 *
 * What is put into a pool is released when the pool is closed, the latest first. The pool of a whole thread
 * keeps everything until the thread ends; one that lives long closes a pool more often. (A run loop does that by
 * itself, in every pass, and threads of Treadle's have a pool around their function in any case.) */
#include <string.h>

#include "require.h"

static void release_text(void *object) {
    printf("  released: %s\n", (char *)object);
    free(object);
}

/* A text that the innermost pool owns: the caller uses it and forgets it. */
static const char *pooled_text(const char *kind, const char *of) {
    size_t size = strlen(kind) + strlen(of) + 5;
    char *text = malloc(size);
    if (!text) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    snprintf(text, size, "%s of %s", kind, of);
    require(treadle_pool_add(text, release_text), "put a text into the pool");
    return text;
}

static void weave(const char *cloth) {
    uint64_t pool;
    require(treadle_pool_push(&pool), "open a pool for one cloth");
    printf("made the %s\n", pooled_text("warp", cloth));
    printf("made the %s\n", pooled_text("weft", cloth));
    require(treadle_pool_pop(pool), "close the pool of the cloth");
}

static void *thread_main(void *info) {
    uint64_t pool;
    require(treadle_pool_push(&pool), "open the thread's pool"); /* the first thing */

    printf("drew the %s\n", pooled_text("pattern", "everything"));
    const char **cloths = info;
    while (*cloths) weave(*cloths++);
    printf("all is woven\n");

    require(treadle_pool_pop(pool), "close the thread's pool"); /* the last thing */
    return NULL;
}

int main(void) {
    const char *cloths[] = {"a scarf", "a blanket", NULL};
    treadle_thread_config config = TREADLE_INIT(treadle_thread_config);
    config.fn = thread_main;
    config.info = cloths;
    treadle_thread thread;
    require(treadle_thread_create(&config, &thread), "make a thread");
    require(treadle_thread_start(thread), "start it");
    require(treadle_thread_join(thread, TREADLE_FOREVER, NULL), "join it");
    require(treadle_thread_release(thread), "release it");
    printf("the thread is gone\n");
    return 0;
}
