/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * ports.h: ports that write down what they receive, and short ways to send. */
#ifndef TREADLE_TEST_PORTS_H
#define TREADLE_TEST_PORTS_H

#include "helpers.h"

HELPER treadle_port make_port_of(treadle_message_fn receive, void *info, uint32_t capacity) {
    treadle_port_context context = {.struct_size = sizeof context, .receive = receive, .info = info, .capacity = capacity};
    treadle_port port = NULL;
    CHECK_INT(treadle_port_create(&context, &port), TREADLE_OK);
    return port;
}
HELPER treadle_message_info info_of(treadle_message message) {
    treadle_message_info info = {.struct_size = sizeof info};
    CHECK_INT(treadle_message_get_info(message, &info), TREADLE_OK);
    return info;
}
HELPER treadle_component component_of(treadle_message message, size_t index) {
    treadle_component component = {0};
    CHECK_INT(treadle_message_get_component(message, index, &component), TREADLE_OK);
    return component;
}
HELPER void trace_message(treadle_port port, treadle_message message, void *info) {
    CHECK(info_of(message).port == port);
    trace("%s%u", info ? (const char *)info : "", info_of(message).id);
}
HELPER void count_message(treadle_port port, treadle_message message, void *info) {
    (void)port, (void)message;
    atomic_fetch_add((atomic_int *)info, 1);
}
/* Without a wait. */
HELPER treadle_status send_id(treadle_port port, uint32_t id) { return treadle_port_send_bytes(port, id, NULL, 0, 0); }
HELPER treadle_status send_parts(treadle_port port, uint32_t id, const treadle_component *components, size_t count, treadle_port reply) {
    treadle_message_content content = {.struct_size = sizeof content, .id = id, .components = components, .component_count = count, .reply_port = reply};
    return treadle_port_send(port, &content, 0);
}
HELPER int queued_in(treadle_port port) {
    size_t count = 77, capacity = 0;
    CHECK_INT(treadle_port_get_count(port, &count, &capacity), TREADLE_OK);
    CHECK(count <= capacity);
    return (int)count;
}
HELPER void add_port(treadle_port port, const char *mode) { CHECK_INT(treadle_loop_add_port(treadle_loop_current(), port, mode), TREADLE_OK); }
HELPER void end_port(treadle_port port) {
    CHECK_INT(treadle_port_invalidate(port), TREADLE_OK);
    CHECK_INT(treadle_port_release(port), TREADLE_OK);
}
/* Counts what it is told. */
HELPER void count_told(uint32_t name, void *object, void *info) {
    (void)object;
    CHECK_INT(name, TREADLE_NOTIFY_PORT_INVALID);
    atomic_fetch_add((atomic_int *)info, 1);
}
HELPER uint64_t tell_of_ports(treadle_object port, treadle_notification_fn fn, void *info) {
    treadle_notification_config config = {.struct_size = sizeof config, .name = TREADLE_NOTIFY_PORT_INVALID, .object = port, .fn = fn, .info = info};
    uint64_t token = 0;
    CHECK_INT(treadle_notification_add(&config, &token), TREADLE_OK);
    return token;
}

#endif
