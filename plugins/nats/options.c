/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * options.c: the options of a connection, by the plugin's settings as they are when a port is created. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nats_port.h"

enum { TEXT_SIZE = 4096 };

/* False if the value is longer. */
static bool copy_text(const char *key, char *text) {
    size_t length = 0;
    *text = 0;
    treadle_plugin_self->copy_setting(treadle_plugin_self, key, text, TEXT_SIZE, &length);
    return length < TEXT_SIZE;
}
int64_t nats_integer_setting(const char *key) {
    char text[TEXT_SIZE];
    return copy_text(key, text) ? strtoll(text, NULL, 10) : 0;
}
bool nats_boolean_setting(const char *key) {
    char text[TEXT_SIZE];
    return copy_text(key, text) && strcmp(text, "true") == 0;
}

/* Doubles from one attempt to the next. Half of it is by chance, so that the clients of a server that comes back do not come all at
 * once. On a thread of libnats's. */
static int64_t delay_of(natsConnection *connection, int attempts, void *closure) {
    const struct nats_port *port = closure;
    int64_t wait = port->reconnect_wait;
    for (int i = 1; i < attempts && wait < port->reconnect_wait_most; i++) wait *= 2;
    if (wait > port->reconnect_wait_most) wait = port->reconnect_wait_most;
    (void)connection;
    return wait / 2 + (int64_t)((uint64_t)nats_NowInNanoSeconds() / 1000 % (uint64_t)(wait / 2 + 1));
}

/* Two settings of which the second may be empty: NULL. */
static natsStatus set_pair(natsOptions *options, const char *first_key, const char *second_key, const char **out_key,
                           natsStatus (*set)(natsOptions *, const char *, const char *)) {
    char first[TEXT_SIZE], second[TEXT_SIZE];
    *out_key = first_key;
    if (!copy_text(first_key, first) || !copy_text(second_key, second)) return NATS_INVALID_ARG;
    if (!*first) {
        *out_key = second_key;
        return *second ? NATS_INVALID_ARG : NATS_OK;
    }
    return set(options, first, *second ? second : NULL);
}
static natsStatus set_text(natsOptions *options, const char *key, const char **out_key, natsStatus (*set)(natsOptions *, const char *)) {
    char text[TEXT_SIZE];
    *out_key = key;
    if (!copy_text(key, text)) return NATS_INVALID_ARG;
    return *text ? set(options, text) : NATS_OK;
}

static natsStatus set_credentials(natsOptions *options, const char **key) {
    natsStatus status = set_pair(options, "user", "password", key, natsOptions_SetUserInfo);
    if (status == NATS_OK) status = set_text(options, "token", key, natsOptions_SetToken);
    if (status == NATS_OK)
        status = set_pair(options, "credentials-file", "credentials-seed-file", key, natsOptions_SetUserCredentialsFromFiles);
    if (status == NATS_OK) status = set_pair(options, "nkey", "nkey-seed-file", key, natsOptions_SetNKeyFromSeed);
    return status;
}
/* The engine itself takes tls:// for nats://, and a server without TLS for as good as one with it. */
static natsStatus set_tls(const struct nats_port *port, natsOptions *options, const char **key) {
    natsStatus status = set_text(options, "tls-ca-file", key, natsOptions_LoadCATrustedCertificates);
    if (status == NATS_OK)
        status = set_pair(options, "tls-certificate-file", "tls-key-file", key, natsOptions_LoadCertificatesChain);
    if (status == NATS_OK) status = set_text(options, "tls-host", key, natsOptions_SetExpectedHostname);
    if (status != NATS_OK) return status;
    *key = "tls-verify";
    if (!nats_boolean_setting("tls-verify")) status = natsOptions_SkipServerVerification(options, true);
    if (status != NATS_OK) return status;
    *key = "tls";
    bool is_wanted = strncmp(port->name.url, "tls://", 6) == 0 || nats_boolean_setting("tls");
    return is_wanted ? natsOptions_SetSecure(options, true) : NATS_OK;
}
static natsStatus set_limits(struct nats_port *port, natsOptions *options, const char **key) {
    *key = "limits";
    port->reconnect_wait = nats_integer_setting("reconnect-wait-ms");
    port->reconnect_wait_most = nats_integer_setting("reconnect-wait-most-ms");
    port->buffer_bytes = (size_t)nats_integer_setting("buffer-bytes");
    natsStatus status = natsOptions_SetTimeout(options, nats_integer_setting("connect-timeout-ms"));
    if (status == NATS_OK) status = natsOptions_SetMaxReconnect(options, (int)nats_integer_setting("max-reconnects"));
    if (status == NATS_OK) status = natsOptions_SetAllowReconnect(options, nats_integer_setting("max-reconnects") != 0);
    if (status == NATS_OK) status = natsOptions_SetCustomReconnectDelay(options, delay_of, port);
    if (status == NATS_OK) status = natsOptions_SetPingInterval(options, nats_integer_setting("ping-interval-ms"));
    if (status == NATS_OK) status = natsOptions_SetReconnectBufSize(options, (int)port->buffer_bytes);
    if (status == NATS_OK) status = natsOptions_SetMaxPendingMsgs(options, (int)nats_integer_setting("pending-messages"));
    return status;
}

treadle_status nats_make_options(struct nats_port *port, natsOptions **out) {
    natsOptions *options = NULL;
    const char *key = "name";
    natsStatus status = natsOptions_Create(&options);
    if (status != NATS_OK) return nats_fail_by(status, "the options of a connection");
    status = natsOptions_SetURL(options, port->name.url);
    if (status == NATS_OK) status = set_text(options, "client-name", &key, natsOptions_SetName);
    if (status == NATS_OK) status = set_limits(port, options, &key);
    if (status == NATS_OK) status = set_tls(port, options, &key);
    if (status == NATS_OK) status = set_credentials(options, &key);
    if (status == NATS_OK) key = "the connection";
    if (status == NATS_OK) status = nats_io_use(port, options);
    /* Without a thread that flushes. */
    if (status == NATS_OK) status = natsOptions_SetSendAsap(options, true);
    if (status == NATS_OK) status = natsOptions_SetErrorHandler(options, (natsErrHandler)port->nats->error_code, NULL);
    if (status != NATS_OK) {
        natsOptions_Destroy(options);
        treadle_status failure = nats_fail_by(status, key);
        /* What is not there or cannot be read is a wrong setting. */
        return failure == TREADLE_E_NOT_FOUND ? TREADLE_E_ARG : failure;
    }
    *out = options;
    return TREADLE_OK;
}
