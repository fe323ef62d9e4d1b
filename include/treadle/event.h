/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * event.h: the event struct of host languages (host.h) and routines (routine.h), which receive all
 * callbacks in this form. Plain C callbacks have signatures of their own. */
#if defined(TREADLE_PLUGIN) && !defined(TREADLE_H)
#include "../treadle.h" /* includes the calls through the table */
#endif
#ifndef TREADLE_EVENT_H
#define TREADLE_EVENT_H

#include "types.h"

/** Kinds of events. Since 1.0. */
enum {
    TREADLE_EVENT_PERFORM = 1,    /* a signalled source is performed */
    TREADLE_EVENT_SCHEDULE = 2,   /* a source was added to (loop, mode) */
    TREADLE_EVENT_CANCEL = 3,     /* a source left (loop, mode) */
    TREADLE_EVENT_TIMER = 4,      /* a timer fires */
    TREADLE_EVENT_OBSERVER = 5,   /* value: the activity, one bit */
    TREADLE_EVENT_DESCRIPTOR = 6, /* value: the readiness, TREADLE_READABLE and its like */
    TREADLE_EVENT_POST = 7,       /* a post is called */
    TREADLE_EVENT_REQUEST = 8,    /* a perform request is performed (perform.h); loop and mode may be NULL */
    TREADLE_EVENT_THREAD = 9,     /* a thread runs its entry function; loop and mode: NULL */
    TREADLE_EVENT_NOTIFICATION = 10, /* value: TREADLE_NOTIFY_...; loop and mode: NULL */
    TREADLE_EVENT_RELEASE = 11,   /* a pool releases what the host added; loop and mode: NULL */
    TREADLE_EVENT_CALL = 12,      /* a closure is called; argument: the treadle_call (closure.h); mode: NULL */
    TREADLE_EVENT_MESSAGE = 14,   /* a port has a message; value: its id, argument: the treadle_message (port.h) */
    TREADLE_EVENT_INTERRUPT = 13, /* a signal has ended a sleep of treadle_host_run, or of treadle_message_port_request for a
                                   * port of the host; token: 0, subject: NULL */
    TREADLE_EVENT_MESSAGE_PORT = 15 /* a message port has received a message; argument: the treadle_message_port_message, or NULL
                                     * if the port has become invalid (message_port.h); loop and mode: NULL */
};

/** One event. Lives until the callback returns. Since 1.0. */
typedef struct treadle_event {
    size_t struct_size;  /* of the library that fills it in; later versions only append */
    uint32_t kind;       /* TREADLE_EVENT_... */
    uint32_t value;      /* an activity, a readiness, a notification's name or a message's id; 0 for the other kinds */
    uint64_t token;      /* the host's token of the registration; 0 for routines */
    treadle_loop loop;   /* borrowed */
    void *subject;       /* borrowed handle of the source, timer, observer, descriptor, port or thread; a request's
                          * target; a notification's object; a closure; or NULL */
    const char *mode;    /* the mode of the run, or the mode that the source was added to or left */
    int64_t late_ns;     /* timers: nanoseconds between the date and this call; else 0 */
    int32_t descriptor;  /* descriptors: the watched number; else -1 */
    uint32_t reserved;   /* 0 */
    void *argument;      /* requests: the argument; calls: the treadle_call; messages: see the event's kind; otherwise NULL */
} treadle_event;

#endif
