/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * host_items.h: items and other registrations whose callouts are events of a host. Include it after helpers.h. */
#ifndef TREADLE_HOST_ITEMS_H
#define TREADLE_HOST_ITEMS_H

HELPER treadle_status host_source(treadle_host host, uint64_t token, uint32_t wants, int64_t order, treadle_source *out) {
    treadle_source_context context = {
        .struct_size = sizeof context, .order = order, .host = host, .token = token, .host_wants = wants};
    return treadle_source_create(&context, out);
}
HELPER treadle_status host_descriptor(treadle_host host, uint64_t token, int32_t fd, uint32_t events, uint32_t flags,
                                      treadle_descriptor *out) {
    treadle_descriptor_context context = {
        .struct_size = sizeof context, .fd = fd, .events = events, .flags = flags, .host = host, .token = token};
    return treadle_descriptor_create(&context, out);
}
HELPER treadle_status host_timer(treadle_host host, uint64_t token, int64_t fire_at, int64_t interval_ns, treadle_timer *out) {
    treadle_timer_context context = {
        .struct_size = sizeof context, .fire_at = fire_at, .interval_ns = interval_ns, .host = host, .token = token,
        .flags = TREADLE_TIMER_ENDS_AFTER_FIRING};
    return treadle_timer_create(&context, out);
}
HELPER treadle_status host_observer(treadle_host host, uint64_t token, uint32_t activities, uint32_t once,
                                    treadle_observer *out) {
    treadle_observer_context context = {
        .struct_size = sizeof context, .activities = activities, .once = once, .host = host, .token = token};
    return treadle_observer_create(&context, out);
}
HELPER treadle_status host_port(treadle_host host, uint64_t token, treadle_port *out) {
    treadle_port_context context = {.struct_size = sizeof context, .host = host, .token = token};
    return treadle_port_create(&context, out);
}
HELPER treadle_status host_thread(treadle_host host, uint64_t token, treadle_thread *out) {
    treadle_thread_config config = {.struct_size = sizeof config, .host = host, .token = token};
    return treadle_thread_create(&config, out);
}
HELPER treadle_status host_notification(treadle_host host, uint64_t token, uint32_t name, void *object, uint64_t *out_token) {
    treadle_notification_config config = {
        .struct_size = sizeof config, .name = name, .object = object, .host = host, .token = token};
    return treadle_notification_add(&config, out_token);
}
HELPER treadle_status host_closure(treadle_host host, uint64_t token, const treadle_closure_config *plan, treadle_closure *out) {
    treadle_closure_config config = *plan;
    config.host = host;
    config.token = token;
    return treadle_closure_create(&config, out);
}
/* A host that is not called, and a pull of its events with room for some. */
HELPER treadle_host fetching_host(void) {
    treadle_host host = NULL;
    CHECK_INT(treadle_host_register(&(treadle_host_config){.struct_size = sizeof(treadle_host_config)}, &host), TREADLE_OK);
    return host;
}
HELPER treadle_pull pull_of(treadle_host host, const char *mode, int64_t timeout_ns, uint32_t flags, treadle_event *events, size_t capacity) {
    return (treadle_pull){.struct_size = sizeof(treadle_pull), .host = host, .mode = mode, .timeout_ns = timeout_ns, .flags = flags,
                          .events = events, .event_size = sizeof *events, .capacity = capacity};
}

/* For dispatch functions: the events that come next, with what was handed out before ended. */
HELPER size_t host_next(treadle_host host, treadle_event *events, size_t capacity, uint32_t failed) {
    treadle_pull pull = {.struct_size = sizeof pull, .host = host, .flags = TREADLE_NEXT_IN_DISPATCH, .failed = failed,
                         .events = events, .event_size = sizeof *events, .capacity = capacity};
    treadle_loop loop = treadle_loop_current();
    if (!loop) return 0; /* a thread that ends has none any more */
    treadle_status status = treadle_loop_next(loop, &pull);
    CHECK_INT(status, pull.count ? TREADLE_OK : TREADLE_IGNORED);
    CHECK(pull.run == 0 && pull.failed == 0 && pull.count <= capacity);
    return pull.count;
}

#endif
