/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * nats_port.h: what the files of the plugin treadle-nats share.
 *
 * Each port has a connection of its own. libnats gives its socket to the port (natsOptions_SetEventLoop), which puts it into an
 * epoll set; a descriptor source of Treadle watches the set. So the loops that have the port read and write, libnats needs no
 * thread for that, and the socket may change at a reconnect without the source. Messages lie in subscriptions without a thread
 * (natsConnection_SubscribeSync) until the loop takes them. libnats has one thread for its timers, and one for each connection that it tries
 * to get back.
 *
 * Locks, in the order in which they are taken: a port's ending, its sending, its reading, nats.lock, a port's lock, its io_lock. libnats calls what takes io_lock
 * with its own locks held; libnats is not called under it, nor under nats.lock. */
#ifndef TREADLE_NATS_PORT_H
#define TREADLE_NATS_PORT_H

#include <nats/nats.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "treadle_nats.h"

enum { MS = 1000000, NAME_SIZE = 255 };

/* A name, read. */
struct nats_name {
    char url[NAME_SIZE + 1]; /* nats://host:port */
    char subject[NAME_SIZE + 1];
};

/* A thread that waits for a reply; on its stack. */
struct nats_wait {
    struct nats_wait *next;
    natsSubscription *inbox;
    natsMsg *reply;
    treadle_source source; /* ends the wait's run */
    treadle_loop loop;
    _Atomic treadle_status status; /* TREADLE_IGNORED: it goes on */
    bool is_abandoned; /* before status is TREADLE_E_CLOSED: the reply says that the other port has ended */
};

struct nats {
    treadle_nats extension;
    pthread_mutex_t lock;
    pthread_cond_t is_idle; /* no request waits */
    struct nats_port *first;
    int requests;
    atomic_bool is_stopping;
    void (*error_code)(void);
};

struct nats_port {
    struct nats_port *next; /* nats->lock */
    struct nats *nats;
    atomic_int references; /* the source, and calls */
    treadle_descriptor source; /* borrowed: the port lives as long */
    struct nats_name name;
    bool is_remote;
    size_t lines; /* of the source's description while it is in no mode */
    void *info;
    treadle_release_fn release;
    treadle_nats_receive_fn receive;
    treadle_nats_invalidated_fn invalidated;
    int64_t reconnect_wait, reconnect_wait_most; /* in milliseconds */
    size_t buffer_bytes;

    natsConnection *connection;
    natsSubscription *subscription; /* of a local port */
    pthread_mutex_t reading;        /* one thread calls libnats's parser at a time */
    pthread_mutex_t sending;        /* one thread at a time waits for room */
    pthread_mutex_t ending;         /* one thread disconnects it; others that end it wait for that */

    pthread_mutex_t lock;
    struct nats_wait *waits;
    struct nats_delivery *deliveries; /* of a local port: messages whose callbacks run */
    atomic_bool is_over; /* written with the lock held */

    pthread_mutex_t io_lock;
    int poller, bell; /* the epoll set; an eventfd in it that calls the source */
    int room;         /* an eventfd for the thread that waits for room: something may have been sent */
    natsSock socket;  /* -1: none */
    bool wants_read, wants_write, holds_back;
    atomic_bool is_lost; /* the connection, since it was last looked at */
};

/* error.c: the calling thread's last error. fail returns the status. */
treadle_status nats_fail(treadle_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
treadle_status nats_fail_by(natsStatus status, const char *what);
const char *nats_error_text(void);

/* name.c */
treadle_status nats_read_name(const char *text, struct nats_name *out);
treadle_status nats_check_queue(const char *queue);

/* options.c: the options of a connection, by the settings. */
treadle_status nats_make_options(struct nats_port *port, natsOptions **out);
int64_t nats_integer_setting(const char *key);
bool nats_boolean_setting(const char *key);

/* signals.c: libnats ignores SIGPIPE in the whole process, which is the program's to say. Between these two the calling thread, and those that
 * it creates, hold the signal back instead. */
struct nats_signals {
    sigset_t mask;
    bool was_pending;
};
void nats_begin_writing(struct nats_signals *signals);
void nats_end_writing(const struct nats_signals *signals);

/* io.c: the port's socket. */
treadle_status nats_io_open(struct nats_port *port);
void nats_io_close(struct nats_port *port);
natsStatus nats_io_use(struct nats_port *port, natsOptions *options);
void nats_io_ring(struct nats_port *port);
void nats_io_hold_back(struct nats_port *port, bool holds_back);
bool nats_io_pump(struct nats_port *port); /* true: it has written */
bool nats_io_is_written(struct nats_port *port);
void nats_io_wait(struct nats_port *port, int64_t until);
void nats_io_flush(struct nats_port *port, int64_t until);

/* port.c: life of a port. */
treadle_status nats_create(struct nats *nats, bool is_remote, const char *name, const treadle_nats_context *context,
                           treadle_nats_port *out_port);
treadle_status nats_hold(struct nats *nats, treadle_nats_port handle, struct nats_port **out_port);
void nats_let_go(struct nats_port *port);
void nats_end(struct nats_port *port, int64_t until);
void nats_lose(struct nats_port *port);
bool nats_is_in_loop(struct nats_port *port);
treadle_status nats_get_info(struct nats_port *port, treadle_nats_info *info);

/* request.c: sending, and waiting for replies. */
treadle_status nats_publish(struct nats_port *port, const char *subject, const char *reply, int32_t id, const void *data, size_t size);
void nats_publish_end(struct nats_port *port, const char *reply);
treadle_status nats_send(struct nats_port *port, int32_t id, const void *data, size_t size, int64_t timeout_ns);
struct nats_request {
    int32_t id;
    const void *data;
    size_t size;
    int64_t send_timeout, reply_timeout;
    const char *mode;
    treadle_message_port_reply_fn reply;
    void *info;
};
treadle_status nats_request(struct nats_port *port, const struct nats_request *request);
void nats_take_replies(struct nats_port *port);
void nats_end_waits(struct nats_port *port, treadle_status status);

/* receive.c: serving a name. */
void nats_receive(struct nats_port *port);
void nats_abandon(struct nats_port *port);
treadle_status nats_reply(uint64_t call, const void *data, size_t size);

/* The time after so much; TREADLE_FOREVER stays. */
static inline int64_t nats_after(int64_t timeout) {
    int64_t now = treadle_time_now();
    if (timeout <= 0) return now;
    return timeout > TREADLE_FOREVER - now ? TREADLE_FOREVER : now + timeout;
}
static inline int64_t nats_left(int64_t until) {
    if (until == TREADLE_FOREVER) return until;
    int64_t left = until - treadle_time_now();
    return left > 0 ? left : 0;
}
/* False if the lock is not free in time. */
static inline bool nats_lock_until(pthread_mutex_t *lock, int64_t until) {
    struct timespec limit = {until / 1000000000, until % 1000000000};
    if (until == TREADLE_FOREVER) return pthread_mutex_lock(lock) == 0;
    return pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &limit) == 0;
}

#endif
