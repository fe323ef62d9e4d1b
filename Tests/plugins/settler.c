/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * settler.c: makes things of every kind in scopes that are not its own. */
#define PROBE_ID "org.example.settler"
#define PROBE_PROVIDED SETTLING,
#define PROBE_IS_NO_PLUGIN
#include "settling.h"
#include "probe.h"

static treadle_status make(int kind, struct life *life, treadle_scope entered) {
    treadle_status status = entered ? treadle_scope_enter(entered) : TREADLE_OK;
    if (status == TREADLE_OK) status = scope_kinds[kind].make(life);
    if (entered) treadle_scope_leave(entered);
    return status;
}
static void routine_called(struct life *life) { life_called(life); }
static treadle_status make_routine(struct life *life) {
    treadle_argument argument = {.kind = TREADLE_ARGUMENT_BOUND, .value = &life, .size = sizeof life};
    treadle_routine_config config = {.struct_size = sizeof config, .code = (void (*)(void))routine_called, .signature = "v^v",
                                     .arguments = &argument, .argument_count = 1, .info = life, .destroy = life_released};
    return treadle_routine_create(&config, (treadle_routine *)&life->object);
}
static void invalidated(treadle_message_port port, void *info) {
    (void)port, (void)info;
    step("invalidated");
}
static treadle_status watch(treadle_message_port port) { return treadle_message_port_set_invalidated(port, invalidated); }
static treadle_status make_host(treadle_dispatch_fn dispatch, treadle_host *out_host) {
    treadle_timer timer;
    treadle_host_config config = {.struct_size = sizeof config, .dispatch = dispatch};
    treadle_status status = treadle_host_register(&config, out_host);
    if (status != TREADLE_OK) return status;
    treadle_timer_context context = {.struct_size = sizeof context, .host = *out_host, .token = 7, .fire_at = 1, .interval_ns = SECONDS(1000)};
    status = treadle_timer_create(&context, &timer);
    return status == TREADLE_OK ? treadle_loop_add(treadle_loop_current(), timer, TREADLE_DEFAULT_MODE) : status;
}
static void call(void (*code)(void)) { code(); }
static const struct settling settling = {make, make_routine, watch, make_host, call};
static const void *get_extension(void *instance, const char *id) {
    (void)instance;
    return strcmp(id, SETTLING) == 0 ? &settling : NULL;
}

static const treadle_plugin_description settler = {
    TREADLE_PLUGIN_COMMON, .id = PROBE_ID, .name = "a settler", .version = "1", .flags = PROBE_FLAGS,
    .required = required, .optional = optional, .provided = provided, .settings = settings, .setting_count = 4,
    .init = probe_init, .start = probe_start, .stop = probe_stop, .deinit = probe_deinit,
    .get_extension = get_extension, .set = probe_set, .save = probe_save, .restore = probe_restore,
};
TREADLE_PLUGIN_EXPORT(settler)
