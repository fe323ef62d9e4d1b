/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * request.c: sending messages, and waiting for their replies. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "nats_port.h"

/* Headers of NATS. The id of a message of a port's, 0 without one; and in the reply of a port that has ended in place of replying. */
#define ID_HEADER "Treadle-Id"
#define END_HEADER "Treadle-End"

/* --- Sending ------------------------------------------------------------------------------------------- */

static treadle_status check_bytes(struct nats_port *port, const void *data, size_t size) {
    int64_t most = natsConnection_GetMaxPayload(port->connection);
    if (size && !data) return nats_fail(TREADLE_E_ARG, "data is NULL, and size is not 0");
    if (size > INT_MAX || (most > 0 && size > (uint64_t)most))
        return nats_fail(TREADLE_E_RANGE, "size is more than the %lld bytes that the server allows", (long long)(most > 0 ? most : INT_MAX));
    return TREADLE_OK;
}

static natsStatus publish(struct nats_port *port, const char *subject, const char *reply, int32_t id, const void *data, size_t size) {
    natsMsg *message = NULL;
    char number[16];
    if (id == 0 && !reply) return natsConnection_Publish(port->connection, subject, data, (int)size);
    if (id == 0) return natsConnection_PublishRequest(port->connection, subject, reply, data, (int)size);
    snprintf(number, sizeof number, "%d", (int)id);
    natsStatus status = natsMsg_Create(&message, subject, reply, data, (int)size);
    if (status == NATS_OK) status = natsMsgHeader_Set(message, ID_HEADER, number);
    if (status == NATS_OK) status = natsConnection_PublishMsg(port->connection, message);
    natsMsg_Destroy(message);
    return status;
}
treadle_status nats_publish(struct nats_port *port, const char *subject, const char *reply, int32_t id, const void *data, size_t size) {
    treadle_status status = check_bytes(port, data, size);
    if (status != TREADLE_OK) return status;
    natsStatus sent = publish(port, subject, reply, id, data, size);
    return sent == NATS_OK ? TREADLE_OK : nats_fail_by(sent, "port");
}
/* Other clients of NATS get an empty reply. */
void nats_publish_end(struct nats_port *port, const char *reply) {
    natsMsg *message = NULL;
    natsStatus status = natsMsg_Create(&message, reply, NULL, NULL, 0);
    if (status == NATS_OK) status = natsMsgHeader_Set(message, END_HEADER, "1");
    if (status == NATS_OK) status = natsConnection_PublishMsg(port->connection, message);
    if (status == NATS_NO_SERVER_SUPPORT) natsConnection_Publish(port->connection, reply, NULL, 0);
    natsMsg_Destroy(message);
}
static bool is_end(natsMsg *reply) {
    const char *value;
    return natsMsgHeader_Get(reply, END_HEADER, &value) == NATS_OK;
}

static treadle_status check_port(struct nats_port *port) {
    pthread_mutex_lock(&port->lock);
    bool is_over = port->is_over;
    pthread_mutex_unlock(&port->lock);
    if (atomic_load(&port->nats->is_stopping)) return nats_fail(TREADLE_E_CLOSED, "port: the plugin is being closed");
    return is_over || !treadle_is_valid(port->source) ? nats_fail(TREADLE_E_STATE, "port is invalid") : TREADLE_OK;
}

/* Publishes it if there is room; TREADLE_E_TIMEOUT if not. */
static treadle_status try_to_send(struct nats_port *port, const char *reply, const struct nats_request *request) {
    treadle_status status = check_port(port);
    if (status != TREADLE_OK) return status;
    int buffered = natsConnection_Buffered(port->connection);
    if (buffered <= 0 || request->size <= port->buffer_bytes - (size_t)(buffered < (int)port->buffer_bytes ? buffered : (int)port->buffer_bytes)) {
        natsStatus sent = publish(port, port->name.subject, reply, request->id, request->data, request->size);
        if (sent == NATS_OK) return TREADLE_OK;
        if (sent != NATS_INSUFFICIENT_BUFFER) return nats_fail_by(sent, "port");
    }
    return nats_fail(TREADLE_E_TIMEOUT, "%s passed, and the port's buffer had no room", reply ? "send_timeout_ns" : "timeout_ns");
}

/* One thread waits for room, and has libnats send meanwhile; others wait for that. */
static treadle_status send_in_time(struct nats_port *port, const char *reply, const struct nats_request *request, int64_t until) {
    treadle_status status = try_to_send(port, reply, request);
    if (status != TREADLE_E_TIMEOUT) return status;
    if (!nats_lock_until(&port->sending, until)) return status;
    while (true) {
        nats_io_pump(port);
        status = try_to_send(port, reply, request);
        if (status != TREADLE_E_TIMEOUT || nats_left(until) == 0) break;
        nats_io_wait(port, until);
    }
    pthread_mutex_unlock(&port->sending);
    return status;
}

/* Writes what no loop does, until the time: as much as the kernel takes in any case. A thread that finds another one at it leaves it to
 * that, which looks again when it has opened the lock. */
static void write_in_time(struct nats_port *port, int64_t until) {
    bool goes_on = true;
    while (goes_on && !nats_io_is_written(port) && nats_lock_until(&port->sending, until)) {
        goes_on = nats_io_pump(port);
        if (!goes_on && !nats_io_is_written(port) && nats_left(until) > 0) {
            nats_io_wait(port, until);
            goes_on = true;
        }
        pthread_mutex_unlock(&port->sending);
    }
}

treadle_status nats_send(struct nats_port *port, int32_t id, const void *data, size_t size, int64_t timeout_ns) {
    struct nats_request request = {.id = id, .data = data, .size = size};
    int64_t until = nats_after(timeout_ns);
    if (!port->is_remote) return nats_fail(TREADLE_E_STATE, "port is local");
    treadle_status status = check_bytes(port, data, size);
    if (status != TREADLE_OK) return status;
    bool is_alone = !nats_is_in_loop(port);
    if (is_alone) nats_io_pump(port); /* the server may have ended the connection since the last call */
    status = send_in_time(port, NULL, &request, until);
    if (status == TREADLE_OK && is_alone) write_in_time(port, until);
    return status;
}

/* --- Waiting ------------------------------------------------------------------------------------------- */

static void do_nothing(treadle_source source, void *info) { (void)source, (void)info; }
static bool is_going_on(struct nats_wait *wait) { return atomic_load(&wait->status) == TREADLE_IGNORED; }

/* The source of a wait leaves its mode while the wait goes on only where the plugin is being closed: then nothing else is there to end
 * the run. On the thread that closes. */
static void be_cancelled(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    struct nats_wait *wait = info;
    (void)source, (void)mode;
    treadle_status goes_on = TREADLE_IGNORED;
    if (atomic_compare_exchange_strong(&wait->status, &goes_on, TREADLE_E_CLOSED)) treadle_loop_stop(loop);
}

/* port->lock is held. */
static void end_wait(struct nats_wait *wait, treadle_status status) {
    treadle_status goes_on = TREADLE_IGNORED;
    if (atomic_compare_exchange_strong(&wait->status, &goes_on, status)) treadle_source_signal_and_wake(wait->source);
}
void nats_end_waits(struct nats_port *port, treadle_status status) {
    pthread_mutex_lock(&port->lock);
    for (struct nats_wait *wait = port->waits; wait; wait = wait->next) end_wait(wait, status);
    pthread_mutex_unlock(&port->lock);
}
/* What has been read goes to those who wait for it. */
void nats_take_replies(struct nats_port *port) {
    pthread_mutex_lock(&port->lock);
    for (struct nats_wait *wait = port->waits; wait; wait = wait->next) {
        if (!is_going_on(wait) || wait->reply) continue;
        natsStatus status = natsSubscription_NextMsg(&wait->reply, wait->inbox, 0);
        if (status == NATS_OK) {
            wait->is_abandoned = is_end(wait->reply);
            end_wait(wait, wait->is_abandoned ? TREADLE_E_CLOSED : TREADLE_OK);
        }
        if (status == NATS_NO_RESPONDERS) end_wait(wait, TREADLE_E_NOT_FOUND);
    }
    pthread_mutex_unlock(&port->lock);
}

static void enlist(struct nats_port *port, struct nats_wait *wait) {
    pthread_mutex_lock(&port->lock);
    wait->next = port->waits;
    port->waits = wait;
    pthread_mutex_unlock(&port->lock);
    pthread_mutex_lock(&port->nats->lock);
    port->nats->requests++;
    pthread_mutex_unlock(&port->nats->lock);
}
static void leave(struct nats_port *port, struct nats_wait *wait) {
    pthread_mutex_lock(&port->lock);
    struct nats_wait **at = &port->waits;
    while (*at != wait) at = &(*at)->next;
    *at = wait->next;
    pthread_mutex_unlock(&port->lock);
    pthread_mutex_lock(&port->nats->lock);
    if (--port->nats->requests == 0) pthread_cond_broadcast(&port->nats->is_idle);
    pthread_mutex_unlock(&port->nats->lock);
}

/* Runs the loop until the wait is over, or its time. Stops of the client's are for a run around it, and are made again for that. */
static treadle_status run_until_replied(struct nats_wait *wait, const struct nats_request *request) {
    int64_t until = nats_after(request->reply_timeout);
    bool was_stopped = false;
    treadle_status result = TREADLE_OK;
    do {
        result = treadle_loop_run(wait->loop, request->mode, nats_left(until), TREADLE_RUN_RETURN_AFTER_SOURCE);
        if (result == TREADLE_RUN_STOPPED && is_going_on(wait)) was_stopped = true;
    } while (result >= 0 && result != TREADLE_RUN_FINISHED && is_going_on(wait) && nats_left(until) > 0);
    if (was_stopped) treadle_loop_stop(wait->loop);
    if (result < 0) return nats_fail(result, "mode: its run has failed: %s", treadle_status_message(result));
    return TREADLE_OK;
}

static treadle_status result_of(const struct nats_wait *wait) {
    treadle_status status = atomic_load(&wait->status);
    if (status == TREADLE_E_CLOSED && wait->is_abandoned)
        return nats_fail(status, "port: the port that received the message has ended, and did not reply");
    switch (status) {
    case TREADLE_OK: return status;
    case TREADLE_IGNORED: return nats_fail(TREADLE_E_NO_REPLY, "reply_timeout_ns passed, and the reply had not come");
    case TREADLE_E_NOT_FOUND: return nats_fail(status, "port: no port serves its name");
    default: return nats_fail(TREADLE_E_CLOSED, "port: its connection was lost, or the plugin is being closed");
    }
}

/* The wait's inbox and source are there. */
static treadle_status exchange(struct nats_port *port, struct nats_wait *wait, const char *inbox, const struct nats_request *request,
                               int64_t until) {
    enlist(port, wait);
    treadle_status status = send_in_time(port, inbox, request, until);
    if (status == TREADLE_OK) status = run_until_replied(wait, request);
    if (status == TREADLE_OK) status = result_of(wait);
    atomic_store(&wait->status, TREADLE_OK); /* what comes now is too late */
    leave(port, wait);
    return status;
}

static treadle_status make_wait(struct nats_port *port, struct nats_wait *wait, const char *inbox, const char *mode) {
    treadle_source_context context = TREADLE_INIT(treadle_source_context);
    context.info = wait, context.perform = do_nothing, context.cancel = be_cancelled, context.label = "a wait for a reply over NATS";
    treadle_status status = treadle_source_create(&context, &wait->source);
    if (status == TREADLE_OK) status = treadle_loop_add(wait->loop, wait->source, mode);
    if (status != TREADLE_OK) return nats_fail(status, "mode, or a source in it: %s", treadle_status_message(status));
    natsStatus made = natsConnection_SubscribeSync(&wait->inbox, port->connection, inbox);
    if (made == NATS_OK) made = natsSubscription_AutoUnsubscribe(wait->inbox, 1);
    return made == NATS_OK ? TREADLE_OK : nats_fail_by(made, "port");
}

treadle_status nats_request(struct nats_port *port, const struct nats_request *request) {
    int64_t until = nats_after(request->send_timeout);
    if (!port->is_remote) return nats_fail(TREADLE_E_STATE, "port is local");
    if (!request->mode) return nats_fail(TREADLE_E_ARG, "mode is NULL");
    if (strcmp(request->mode, TREADLE_COMMON_MODES) == 0) return nats_fail(TREADLE_E_ARG, "mode is the name of the common modes themselves");
    treadle_status status = check_bytes(port, request->data, request->size);
    if (status == TREADLE_OK) status = check_port(port);
    if (status != TREADLE_OK) return status;
    struct nats_wait wait = {.loop = treadle_loop_current(), .status = TREADLE_IGNORED};
    natsInbox *inbox = NULL;
    natsStatus made = natsInbox_Create(&inbox);
    if (made != NATS_OK) return nats_fail_by(made, "port");
    status = make_wait(port, &wait, inbox, request->mode);
    treadle_status added = status == TREADLE_OK ? treadle_loop_add(wait.loop, port->source, request->mode) : TREADLE_IGNORED;
    if (added < 0) status = nats_fail(added, "mode: the port cannot be added: %s", treadle_status_message(added));
    if (status == TREADLE_OK) status = exchange(port, &wait, inbox, request, until);
    if (added == TREADLE_OK) treadle_loop_remove(wait.loop, port->source, request->mode);
    atomic_store(&wait.status, TREADLE_OK);
    /* Waits for be_cancelled, which may run on a thread that closes the plugin. */
    if (wait.source) treadle_close(wait.source, TREADLE_FOREVER), treadle_release(wait.source);
    natsSubscription_Destroy(wait.inbox);
    natsInbox_Destroy(inbox);
    if (status == TREADLE_OK && request->reply) {
        const char *data = natsMsg_GetDataLength(wait.reply) ? natsMsg_GetData(wait.reply) : NULL;
        bool is_outside = treadle_scope_enter(NULL) == TREADLE_OK;
        request->reply(data, (size_t)natsMsg_GetDataLength(wait.reply), request->info);
        if (is_outside) treadle_scope_leave(NULL);
    }
    natsMsg_Destroy(wait.reply);
    return status;
}
