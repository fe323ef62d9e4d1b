/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * texts.h: an extension that tells texts: what the extensions of watcher.h and lines.h are.
 *
 * Both functions are for any thread. Listeners are called one after the other, on the thread of the plugin that tells. When
 * remove_listener has returned, the listener does not run, and is never called again; from inside of the listener itself it
 * returns at once. So a plugin that listens removes its listener in its stop, and may be unmapped then. A listener does not run
 * its loop. One that is part of a plugin is the function pointer of a closure (listening.h). */
#ifndef EXAMPLE_TEXTS_H
#define EXAMPLE_TEXTS_H

#include <treadle.h>

/* The text lives until the listener returns. */
typedef void (*example_text_fn)(void *info, const char *text);

struct example_texts {
    size_t struct_size; /* sizeof(struct example_texts), or more: later versions add to the end */
    void *instance;     /* the first argument of its functions */
    /* TREADLE_E_EXISTS for what listens already; TREADLE_E_NOMEM. */
    treadle_status (*add_listener)(void *instance, example_text_fn fn, void *info);
    /* TREADLE_E_NOT_FOUND for what does not listen. */
    treadle_status (*remove_listener)(void *instance, example_text_fn fn, void *info);
};

#endif
