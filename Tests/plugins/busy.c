/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * busy.c: a plugin that can have each kind of callback under way: it makes what its test names, and ends nothing of it. */
#include "busy_items.h"
#include "busy_work.h"

static const struct maker {
    const char *name;
    void (*make)(void);
} makers[] = {
    {"a source", make_source},
    {"an ended source", end_source},
    {"two sources", make_two_sources},
    {"a timer", make_timer},
    {"an ended timer", end_timer},
    {"a timer of a routine", make_timer_of_routine},
    {"an observer", make_observer},
    {"an ended observer", end_observer},
    {"a run", make_run},
    {"a descriptor", make_descriptor},
    {"an ended descriptor", end_descriptor},
    {"a post", make_post},
    {"a request", make_request},
    {"a request of a thread that waits", make_waiting_request},
    {"a delayed request", make_delayed_request},
    {"a request in the background", make_background_request},
    {"an invocation", make_invocation},
    {"an invocation of a thread that waits", make_waiting_invocation},
    {"an inline closure", make_inline_closure},
    {"a carried closure", make_carried_closure},
    {"a carried closure whose caller waits", make_waiting_closure},
    {"an ended closure", end_closure},
    {"a thread", make_thread},
    {"a thread that has not started", make_waiting_thread},
    {"a worker with a post", make_hop},
    {"a value of a dictionary", make_value},
    {"a value that is left", make_left_value},
    {"a release that is put off", make_pooled},
    {"a notification", make_notification},
    {"an ended notification", end_notification},
    {"a scope", make_scope},
    {"an ended scope", end_scope},
    {"a host", make_host},
};

static void make_wanted(void *info) {
    ((const struct maker *)info)->make();
    script->step(treadle_plugin_self, "made");
}
static treadle_status begin(treadle_loop on, treadle_loop loop, const char *name, const char *reached, const char *where) {
    home = loop, wanted = reached, mode = where;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        if (strcmp(makers[i].name, name)) continue;
        if (on) return treadle_loop_post(on, make_wanted, (void *)&makers[i]);
        make_wanted((void *)&makers[i]);
        return TREADLE_OK;
    }
    return TREADLE_E_NOT_FOUND;
}

static const struct busy extension = {begin};
static const void *get_extension(void *instance, const char *id) {
    (void)instance;
    return strcmp(id, BUSY) == 0 ? &extension : NULL;
}
static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    *out_instance = NULL;
    script = host->get_extension(host, SCRIPT);
    return script ? TREADLE_OK : TREADLE_E_NOT_FOUND;
}
static treadle_status stop(void *instance, int64_t timeout_ns) {
    (void)instance, (void)timeout_ns;
    return script->step(treadle_plugin_self, "stop");
}
static void deinit(void *instance) {
    (void)instance;
    if (descriptor >= 0) close(descriptor);
    script->step(treadle_plugin_self, "deinit");
}

static const char *const required[] = {SCRIPT, NULL}, *const provided[] = {BUSY, NULL};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON, .id = "org.example.busy", .name = "busy", .version = "1", .flags = TREADLE_PLUGIN_MAY_UNMAP,
    .required = required, .provided = provided, .init = init, .stop = stop, .deinit = deinit, .get_extension = get_extension,
};
TREADLE_PLUGIN_EXPORT(description)
