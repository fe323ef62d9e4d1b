/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * port.c: the life of a port: creating, holding, ending. */
#include <stdlib.h>
#include <string.h>

#include "nats_port.h"

/* --- References ---------------------------------------------------------------------------------------- */

/* The port of a handle, held. */
treadle_status nats_hold(struct nats *nats, treadle_nats_port handle, struct nats_port **out_port) {
    void *info = NULL;
    if (atomic_load(&nats->is_stopping)) return nats_fail(TREADLE_E_CLOSED, "port: the plugin is being closed");
    treadle_status status = treadle_get_context_info(handle, &info);
    if (status != TREADLE_OK) return nats_fail(status, "port is not a port: %s", treadle_status_message(status));
    pthread_mutex_lock(&nats->lock);
    struct nats_port *port = nats->first;
    /* The memory of a port that has ended meanwhile may be another one's. */
    while (port && (port != info || port->source != (treadle_descriptor)handle)) port = port->next;
    if (port) atomic_fetch_add(&port->references, 1);
    pthread_mutex_unlock(&nats->lock);
    /* Its last reference is being released. */
    if (!port && !treadle_is_valid(handle)) return nats_fail(TREADLE_E_STALE, "port has been released");
    if (!port) return nats_fail(TREADLE_E_KIND, "port is not a port of this plugin");
    *out_port = port;
    return TREADLE_OK;
}
void nats_let_go(struct nats_port *port) {
    if (atomic_fetch_sub(&port->references, 1) > 1) return;
    natsSubscription_Destroy(port->subscription);
    natsConnection_Destroy(port->connection);
    nats_io_close(port);
    pthread_mutex_destroy(&port->reading), pthread_mutex_destroy(&port->sending), pthread_mutex_destroy(&port->ending);
    pthread_mutex_destroy(&port->lock), pthread_mutex_destroy(&port->io_lock);
    free(port);
}

/* Waits until the server has handled what was sent to it before. Of a new port: or has refused anything. */
static treadle_status round_trip(struct nats_port *port, int64_t until, bool is_new) {
    natsInbox *inbox = NULL;
    natsSubscription *subscription = NULL;
    natsMsg *message = NULL;
    natsStatus status = natsInbox_Create(&inbox);
    if (status == NATS_OK) status = natsConnection_SubscribeSync(&subscription, port->connection, inbox);
    if (status == NATS_OK) status = natsConnection_Publish(port->connection, inbox, NULL, 0);
    while (status == NATS_OK) {
        const char *text;
        nats_io_pump(port);
        natsStatus got = natsSubscription_NextMsg(&message, subscription, 0);
        if (got == NATS_OK) break;
        if (is_new) status = natsConnection_GetLastError(port->connection, &text);
        if (status == NATS_OK && got != NATS_TIMEOUT) status = got;
        if (status == NATS_OK && natsConnection_Status(port->connection) != NATS_CONN_STATUS_CONNECTED) status = NATS_CONNECTION_DISCONNECTED;
        if (status == NATS_OK && nats_left(until) == 0) status = NATS_TIMEOUT;
        if (status == NATS_OK) nats_io_wait(port, until);
    }
    treadle_status own = status == NATS_OK ? TREADLE_OK : nats_fail_by(status, "name: the server has refused its subject");
    natsMsg_Destroy(message);
    natsSubscription_Destroy(subscription);
    natsInbox_Destroy(inbox);
    return own;
}

/* A description has a line for each mode that the source is in, below those that it has in none. */
static size_t count_lines(treadle_descriptor source) {
    char text[2048] = "";
    size_t length = 0, lines = 0;
    treadle_describe(source, text, sizeof text, &length);
    for (const char *at = text; (at = strchr(at, '\n')); at++) lines++;
    return lines;
}
bool nats_is_in_loop(struct nats_port *port) { return count_lines(port->source) > port->lines; }

/* --- Ending -------------------------------------------------------------------------------------------- */

static bool is_over(struct nats_port *port) {
    pthread_mutex_lock(&port->lock);
    bool is_over = port->is_over;
    pthread_mutex_unlock(&port->lock);
    return is_over;
}
/* The waits of a port end with it. False if it has ended before. */
static bool begin_end(struct nats_port *port) {
    pthread_mutex_lock(&port->lock);
    bool was_over = port->is_over;
    port->is_over = true;
    pthread_mutex_unlock(&port->lock);
    if (!was_over) nats_end_waits(port, TREADLE_E_CLOSED);
    return !was_over;
}

static bool has_time(struct nats_port *port, int64_t until) {
    return nats_left(until) > 0 && natsConnection_Status(port->connection) == NATS_CONN_STATUS_CONNECTED;
}
/* The server gives a local port no more messages. The senders of those that it has got and not replied to get its end; without time,
 * those of what has been read. */
static void stop_receiving(struct nats_port *port, int64_t until) {
    int64_t left = nats_left(until);
    nats_abandon(port);
    nats_io_hold_back(port, false);
    if (has_time(port, until)) {
        /* libnats has a thread of its own for that. In place of natsSubscription_Unsubscribe, which drops what comes meanwhile. */
        struct nats_signals signals;
        nats_begin_writing(&signals);
        natsStatus status = natsSubscription_DrainTimeout(port->subscription, left == TREADLE_FOREVER ? -1 : left / MS + 1);
        nats_end_writing(&signals);
        if (status == NATS_OK) round_trip(port, until, false);
        else nats_io_pump(port); /* out of memory, or disconnected by now */
    } else {
        nats_io_pump(port);
    }
    nats_abandon(port);
}
/* Disconnects it, until the time in good order: what waits to be sent is sent, and handled by the server. One that finds the connection
 * closed as it writes to it drops what it has not read. */
static void disconnect(struct nats_port *port, int64_t until) {
    if (port->subscription) stop_receiving(port, until);
    if (has_time(port, until)) round_trip(port, until, false);
    nats_io_flush(port, until);
    struct nats_signals signals;
    nats_begin_writing(&signals);
    pthread_mutex_lock(&port->reading);
    natsConnection_Close(port->connection);
    pthread_mutex_unlock(&port->reading);
    nats_end_writing(&signals);
    nats_io_ring(port);
}
/* Ends it, and returns when it has ended, by whichever thread; without time, another thread may go on with that. */
void nats_end(struct nats_port *port, int64_t until) {
    if (!nats_lock_until(&port->ending, until)) return;
    if (begin_end(port) && port->connection) disconnect(port, until);
    pthread_mutex_unlock(&port->ending);
}
/* libnats has given the connection up. */
void nats_lose(struct nats_port *port) {
    if (!begin_end(port)) return;
    treadle_invalidate(port->source);
    if (!port->invalidated) return;
    bool is_outside = treadle_scope_enter(NULL) == TREADLE_OK;
    port->invalidated((treadle_nats_port)port->source, port->info);
    if (is_outside) treadle_scope_leave(NULL);
}

/* The source has been freed. */
static void list(struct nats_port *port) {
    pthread_mutex_lock(&port->nats->lock);
    port->next = port->nats->first;
    port->nats->first = port;
    pthread_mutex_unlock(&port->nats->lock);
}
static void unlist(struct nats_port *port) {
    struct nats_port **at = &port->nats->first;
    pthread_mutex_lock(&port->nats->lock);
    while (*at && *at != port) at = &(*at)->next;
    if (*at) *at = port->next;
    pthread_mutex_unlock(&port->nats->lock);
}
static void call_release(treadle_release_fn release, void *info) {
    if (!release) return;
    bool is_outside = treadle_scope_enter(NULL) == TREADLE_OK;
    release(info);
    if (is_outside) treadle_scope_leave(NULL);
}
static void release(void *info) {
    struct nats_port *port = info;
    unlist(port);
    nats_end(port, 0);
    call_release(port->release, port->info);
    nats_let_go(port);
}

/* --- Creating ------------------------------------------------------------------------------------------ */

static void ready(treadle_descriptor source, uint32_t events, void *info) {
    struct nats_port *port = info;
    (void)source, (void)events;
    atomic_fetch_add(&port->references, 1);
    if (port->is_remote)
        nats_io_pump(port);
    else
        nats_receive(port);
    nats_let_go(port);
}

static treadle_status connect_port(struct nats_port *port, const char *queue) {
    natsOptions *options = NULL;
    int64_t until = nats_after(nats_integer_setting("connect-timeout-ms") * MS);
    treadle_status result = nats_make_options(port, &options);
    if (result != TREADLE_OK) return result;
    struct nats_signals signals;
    nats_begin_writing(&signals);
    natsStatus status = natsConnection_Connect(&port->connection, options);
    nats_end_writing(&signals);
    natsOptions_Destroy(options);
    if (status != NATS_OK) return nats_fail_by(status, "name: its server cannot be reached, or refuses");
    if (!port->is_remote) {
        const char *group = queue ? queue : "treadle";
        status = natsConnection_QueueSubscribeSync(&port->subscription, port->connection, port->name.subject, group);
        if (status == NATS_OK)
            status = natsSubscription_SetPendingLimits(port->subscription, (int)nats_integer_setting("pending-messages"),
                                                       (int)nats_integer_setting("pending-bytes"));
        if (status != NATS_OK) return nats_fail_by(status, "name: its subject");
    }
    return round_trip(port, until, true);
}

static treadle_status create_source(struct nats_port *port, const char *label) {
    treadle_descriptor_context context = TREADLE_INIT(treadle_descriptor_context);
    context.info = port, context.release = release, context.ready = ready, context.label = label;
    context.fd = port->poller, context.events = TREADLE_READABLE;
    treadle_descriptor source = NULL;
    treadle_status status = treadle_descriptor_create(&context, &source);
    pthread_mutex_lock(&port->nats->lock);
    port->source = source;
    pthread_mutex_unlock(&port->nats->lock);
    if (status == TREADLE_OK) port->lines = count_lines(source);
    return status == TREADLE_OK ? status : nats_fail(status, "label, or the source: %s", treadle_status_message(status));
}

static treadle_status check_context(bool is_remote, const treadle_nats_context *context) {
    if (!context) return TREADLE_OK;
    if (is_remote && context->receive) return nats_fail(TREADLE_E_ARG, "receive is for local ports");
    if (is_remote && context->queue) return nats_fail(TREADLE_E_ARG, "queue is for local ports");
    return context->queue ? nats_check_queue(context->queue) : TREADLE_OK;
}

static struct nats_port *allocate(struct nats *nats, bool is_remote, const struct nats_name *name) {
    struct nats_port *port = calloc(1, sizeof *port);
    if (!port) return NULL;
    port->nats = nats, port->is_remote = is_remote, port->name = *name;
    atomic_init(&port->references, 1);
    pthread_mutex_init(&port->reading, NULL), pthread_mutex_init(&port->sending, NULL), pthread_mutex_init(&port->ending, NULL);
    pthread_mutex_init(&port->lock, NULL), pthread_mutex_init(&port->io_lock, NULL);
    port->poller = port->bell = port->room = port->socket = -1;
    return port;
}

/* The plugin may be closed meanwhile: then the source ends as soon as it is there, or is refused. */
static treadle_status make_port(struct nats_port *port, const treadle_nats_context *context, treadle_nats_port *out_port) {
    treadle_status status = nats_io_open(port);
    if (status == TREADLE_OK) status = connect_port(port, context ? context->queue : NULL);
    if (status == TREADLE_OK && is_over(port)) status = nats_fail(TREADLE_E_NOT_FOUND, "name: its server was lost again");
    if (status != TREADLE_OK) return status;
    if (context) port->info = context->info, port->receive = context->receive, port->invalidated = context->invalidated;
    list(port);
    atomic_fetch_add(&port->references, 1); /* the source's */
    if (context) port->release = context->release;
    status = create_source(port, context ? context->label : NULL);
    if (status == TREADLE_OK) {
        *out_port = (treadle_nats_port)port->source;
        nats_io_ring(port); /* messages that have come meanwhile */
        return TREADLE_OK;
    }
    port->release = NULL;
    unlist(port);
    nats_let_go(port);
    return status;
}

treadle_status nats_create(struct nats *nats, bool is_remote, const char *name, const treadle_nats_context *context,
                           treadle_nats_port *out_port) {
    struct nats_name read;
    struct nats_port *port = NULL;
    if (context && context->struct_size != sizeof *context)
        return nats_fail(TREADLE_E_ARG, "context has a struct_size that this version does not know");
    treadle_status status = TREADLE_OK;
    if (!out_port) status = nats_fail(TREADLE_E_ARG, "out_port is NULL");
    if (status == TREADLE_OK) status = nats_read_name(name, &read);
    if (status == TREADLE_OK) status = check_context(is_remote, context);
    if (status == TREADLE_OK && !(port = allocate(nats, is_remote, &read))) status = nats_fail(TREADLE_E_NOMEM, "no memory for a port");
    if (status == TREADLE_OK) {
        status = make_port(port, context, out_port);
        if (status != TREADLE_OK) nats_end(port, 0);
        nats_let_go(port);
    }
    if (status != TREADLE_OK && context) call_release(context->release, context->info);
    return status;
}

/* --- What it has done ---------------------------------------------------------------------------------- */

treadle_status nats_get_info(struct nats_port *port, treadle_nats_info *info) {
    natsStatistics *statistics = NULL;
    uint64_t in_bytes = 0, out_bytes = 0;
    int64_t dropped = 0;
    if (!info || info->struct_size != sizeof *info) return nats_fail(TREADLE_E_ARG, "info is NULL, or its struct_size is not one that this version knows");
    *info = (treadle_nats_info){.struct_size = sizeof *info, .is_remote = port->is_remote};
    natsStatus status = natsStatistics_Create(&statistics);
    if (status != NATS_OK) return nats_fail_by(status, "info");
    if (natsConnection_GetStats(port->connection, statistics) == NATS_OK)
        natsStatistics_GetCounts(statistics, &info->received, &in_bytes, &info->sent, &out_bytes, &info->reconnects);
    natsStatistics_Destroy(statistics);
    if (port->subscription && natsSubscription_GetDropped(port->subscription, &dropped) == NATS_OK) info->dropped = (uint64_t)dropped;
    int buffered = natsConnection_Buffered(port->connection);
    info->buffered = buffered > 0 ? (uint64_t)buffered : 0;
    bool is_connected = natsConnection_Status(port->connection) == NATS_CONN_STATUS_CONNECTED;
    pthread_mutex_lock(&port->lock);
    info->state = port->is_over ? TREADLE_NATS_CLOSED : is_connected ? TREADLE_NATS_CONNECTED : TREADLE_NATS_RECONNECTING;
    pthread_mutex_unlock(&port->lock);
    return TREADLE_OK;
}
