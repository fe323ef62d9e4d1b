/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * ending.c: a nested run ends when Node ends its worker. Node tells the worker's loop of that by a descriptor, which the loop does not
 * look at during the run, and refuses calls of JavaScript from then on. So the run's sleep is interrupted by each event of that loop,
 * and asks whether calls are still possible. */
#include "treadle_node.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

static treadle_host host;
static treadle_status host_status;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local struct environment *here;

/* Whether Node has ended the worker, and refuses calls. */
bool environment_is_ending(struct environment *environment) {
    napi_handle_scope scope;
    napi_value receiver;
    bool is_there;
    if (!environment->is_open || napi_open_handle_scope(environment->env, &scope) != napi_ok) return true;
    napi_get_reference_value(environment->env, environment->receiver, &receiver);
    napi_status status = napi_has_named_property(environment->env, receiver, "", &is_there);
    napi_close_handle_scope(environment->env, scope);
    return status != napi_ok;
}

/* The events that have come are told of no more; those that come later are. */
static void clear(struct environment *environment) {
    struct epoll_event event;
    while (epoll_wait(environment->watch, &event, 1, 0) > 0) {}
}

/* The host registers nothing, so its only events are interrupts. */
static uint64_t interrupted(uint64_t ticket, const treadle_event *event) {
    clear(here);
    if (environment_is_ending(here)) treadle_loop_stop(event->loop);
    return ~ticket;
}
static void register_host(void) {
    treadle_host_config config = TREADLE_INIT(treadle_host_config);
    config.dispatch = interrupted;
    host_status = treadle_host_register(&config, &host);
}

treadle_status environment_watch(struct environment *environment, uv_loop_t *uv) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    environment->watch = -1;
    if (uv == uv_default_loop()) return TREADLE_OK; /* the main thread ends by calls of its own */
    pthread_once(&once, register_host);
    if (host_status < 0) return host_status;
    environment->watch = epoll_create1(EPOLL_CLOEXEC);
    if (environment->watch < 0 || epoll_ctl(environment->watch, EPOLL_CTL_ADD, uv_backend_fd(uv), &event) < 0) return TREADLE_E_SYSTEM;
    here = environment;
    return treadle_loop_set_interrupt_descriptor(environment->loop, environment->watch);
}
void environment_unwatch(struct environment *environment) {
    if (environment->watch < 0) return;
    treadle_loop_set_interrupt_descriptor(environment->loop, -1);
    close(environment->watch);
    environment->watch = -1;
}

treadle_status environment_run(struct environment *environment, const char *mode, int64_t timeout, uint32_t flags) {
    if (environment->watch < 0) return treadle_loop_run(environment->loop, mode, timeout, flags);
    clear(environment); /* before the look: what comes later interrupts the run */
    if (environment_is_ending(environment)) return TREADLE_RUN_STOPPED;
    return treadle_host_run(host, environment->loop, mode, timeout, flags);
}
