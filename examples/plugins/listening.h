/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * listening.h: how a plugin listens to another one (texts.h): by the function pointer of a closure. So Treadle knows when a
 * listener runs, which it does not of a plain function that another plugin calls: who closes the plugin from inside of its
 * listener has it closed when that has returned, and not before. */
#ifndef EXAMPLE_LISTENING_H
#define EXAMPLE_LISTENING_H

#include "texts.h"

/* The handler gets the text by text_of. It belongs to the plugin, and needs no end of its own. */
static inline treadle_status make_listener(treadle_closure_fn handler, void *info, example_text_fn *out_listener) {
    treadle_closure closure;
    void (*code)(void);
    treadle_closure_config config = TREADLE_INIT(treadle_closure_config);
    config.signature = "v^v^v", config.handler = handler, config.info = info;
    treadle_status status = treadle_closure_create(&config, &closure);
    if (status == TREADLE_OK) status = treadle_closure_get_code(closure, &code);
    if (status == TREADLE_OK) *out_listener = (example_text_fn)code;
    return status;
}
static inline const char *text_of(const treadle_call *call) { return *(const char *const *)call->arguments[1]; }

#endif
