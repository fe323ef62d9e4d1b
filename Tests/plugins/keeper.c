/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * keeper.c: a plugin that gives three function pointers to a library that never forgets them, in each of its lives. */
#include "script.h"

static treadle_status answer(treadle_call *call, void *info) {
    int32_t result = 1;
    (void)info;
    return treadle_call_set_result(call, &result, sizeof result);
}

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    const struct script *script = host->get_extension(host, SCRIPT);
    static const char *const signatures[] = {"i", "i^v", "i^vii^v^v"};
    *out_instance = NULL;
    if (!script) return TREADLE_E_NOT_FOUND;
    for (int i = 0; i < 3; i++) {
        const int32_t failure = -1 - i;
        treadle_closure closure;
        void (*code)(void);
        treadle_closure_config config = TREADLE_INIT(treadle_closure_config);
        config.signature = signatures[i], config.handler = answer;
        config.flags = TREADLE_CLOSURE_KEEP_CODE | TREADLE_CLOSURE_MAY_ALLOCATE;
        config.default_result = &failure, config.default_result_size = sizeof failure;
        treadle_status status = treadle_closure_create(&config, &closure);
        if (status == TREADLE_OK) status = treadle_closure_get_code(closure, &code);
        if (status != TREADLE_OK) return status;
        script->code(code);
    }
    return TREADLE_OK;
}
static void deinit(void *instance) { (void)instance; }

static const char *const required[] = {SCRIPT, NULL};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON,
    .id = "org.example.keeper",
    .name = "a keeper",
    .version = "1",
    .flags = TREADLE_PLUGIN_MAY_UNMAP,
    .required = required,
    .init = init,
    .deinit = deinit,
};
TREADLE_PLUGIN_EXPORT(description)
