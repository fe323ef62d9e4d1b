/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * name.c: names of ports: nats://host:port/subject. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nats_port.h"

/* Neither a space nor a control character, which would end a line or a word of the protocol. */
static bool is_word(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] <= ' ' || text[i] == 127) return false;
    return size > 0;
}

static treadle_status check_subject(const char *subject) {
    size_t size = strlen(subject);
    if (size == 0) return nats_fail(TREADLE_E_ARG, "name has no subject behind its server");
    if (!is_word(subject, size)) return nats_fail(TREADLE_E_ARG, "name contains a space or a control character");
    for (const char *token = subject;; token++) {
        size_t length = strcspn(token, ".");
        if (length == 0) return nats_fail(TREADLE_E_ARG, "name has a subject with an empty part between points");
        if (length == 1 && (*token == '*' || *token == '>')) return nats_fail(TREADLE_E_ARG, "name has a subject with a wildcard");
        token += length;
        if (!*token) return TREADLE_OK;
    }
}

/* host, host:port, [address]:port. */
static treadle_status check_server(const char *server, size_t size, bool *out_has_port) {
    const char *end = server + size, *port = NULL, *host_end = end;
    if (memchr(server, '@', size)) return nats_fail(TREADLE_E_ARG, "name contains a user: credentials are settings of the plugin");
    if (memchr(server, ',', size)) return nats_fail(TREADLE_E_ARG, "name contains more than one server");
    if (size > 0 && *server == '[') {
        const char *close = memchr(server, ']', size);
        if (!close) return nats_fail(TREADLE_E_ARG, "name has a host that begins with [ and has no ]");
        host_end = close + 1;
        if (host_end < end && *host_end != ':') return nats_fail(TREADLE_E_ARG, "name has something behind its host");
        if (host_end < end) port = host_end + 1;
    } else {
        const char *colon = memchr(server, ':', size);
        if (colon) host_end = colon, port = colon + 1;
    }
    if (host_end == server || (*server == '[' && host_end - server < 3)) return nats_fail(TREADLE_E_ARG, "name has no host");
    if (!is_word(server, (size_t)(host_end - server))) return nats_fail(TREADLE_E_ARG, "name has a host with a space or a control character");
    *out_has_port = port != NULL;
    if (!port) return TREADLE_OK;
    size_t digits = (size_t)(end - port);
    if (digits == 0 || digits > 5 || strspn(port, "0123456789") < digits || atoi(port) < 1 || atoi(port) > 65535)
        return nats_fail(TREADLE_E_ARG, "name has a port that is not a number from 1 to 65535");
    return TREADLE_OK;
}

treadle_status nats_read_name(const char *text, struct nats_name *out) {
    bool has_port = false;
    if (!text) return nats_fail(TREADLE_E_ARG, "name is NULL");
    if (strlen(text) > NAME_SIZE) return nats_fail(TREADLE_E_RANGE, "name has more than %d bytes", NAME_SIZE);
    size_t scheme = strncmp(text, "nats://", 7) == 0 ? 7 : strncmp(text, "tls://", 6) == 0 ? 6 : 0;
    if (scheme == 0) return nats_fail(TREADLE_E_ARG, "name does not begin with nats:// or tls://");
    const char *server = text + scheme, *slash = strchr(server, '/');
    size_t size = slash ? (size_t)(slash - server) : strlen(server);
    treadle_status status = check_server(server, size, &has_port);
    if (status != TREADLE_OK) return status;
    if (!slash) return nats_fail(TREADLE_E_ARG, "name has no subject behind its server");
    status = check_subject(slash + 1);
    if (status != TREADLE_OK) return status;
    /* Shorter than the name: the subject is not in it, and a default port is as long as "/" and a part of it, or not much longer. */
    char url[NAME_SIZE + 8];
    snprintf(url, sizeof url, "%.*s%s", (int)(slash - text), text, has_port ? "" : ":4222");
    if (strlen(url) > NAME_SIZE) return nats_fail(TREADLE_E_RANGE, "name has more than %d bytes", NAME_SIZE);
    strcpy(out->url, url);
    strcpy(out->subject, slash + 1);
    return TREADLE_OK;
}

treadle_status nats_check_queue(const char *queue) {
    size_t size = strlen(queue);
    if (size > NAME_SIZE) return nats_fail(TREADLE_E_RANGE, "queue has more than %d bytes", NAME_SIZE);
    if (!is_word(queue, size)) return nats_fail(TREADLE_E_ARG, "queue is empty, or contains a space or a control character");
    return TREADLE_OK;
}
