/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * error.c: why the last call of a thread failed. */
#include <stdarg.h>
#include <stdio.h>

#include "nats_port.h"

static __thread char text[184];

treadle_status nats_fail(treadle_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return status;
}

const char *nats_error_text(void) { return text; }

/* What libnats says, as a status of message ports. */
treadle_status nats_fail_by(natsStatus status, const char *what) {
    treadle_status own;
    switch (status) {
    case NATS_NO_MEMORY: own = TREADLE_E_NOMEM; break;
    case NATS_MAX_PAYLOAD: own = TREADLE_E_RANGE; break;
    case NATS_CONNECTION_CLOSED:
    case NATS_CONNECTION_DISCONNECTED:
    case NATS_STALE_CONNECTION:
    case NATS_INSUFFICIENT_BUFFER:
    case NATS_INVALID_SUBSCRIPTION: own = TREADLE_E_CLOSED; break;
    case NATS_NO_SERVER_SUPPORT: own = TREADLE_E_NOT_SUPPORTED; break;
    case NATS_SSL_ERROR:
    case NATS_SYS_ERROR:
    case NATS_SECURE_CONNECTION_WANTED:
    case NATS_SECURE_CONNECTION_REQUIRED: own = TREADLE_E_SYSTEM; break;
    case NATS_INVALID_ARG:
    case NATS_INVALID_SUBJECT:
    case NATS_INVALID_QUEUE_NAME: own = TREADLE_E_ARG; break;
    default: own = TREADLE_E_NOT_FOUND; /* NO_SERVER, TIMEOUT, IO_ERROR, AUTH_FAILED, NOT_PERMITTED */
    }
    const char *reason = nats_GetLastError(NULL);
    return nats_fail(own, "%s: %s", what, reason && *reason ? reason : natsStatus_GetText(status));
}
