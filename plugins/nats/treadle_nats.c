/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * treadle_nats.c: a plugin: message ports over NATS, by libnats; extension: treadle_nats.h.
 * pkg-config: libnats
 *
 * The functions of the extension are the function pointers of closures: a close of the plugin waits for the calls that go on, and
 * calls that come later return TREADLE_E_CLOSED. libnats has threads of its own, which end with the plugin: it closes libnats in
 * its deinit, unless the setting shares-library says that the program uses libnats too. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nats_port.h"

/* --- The functions of the extension -------------------------------------------------------------------- */

#define ARGUMENT(type, index) (*(type const *)call->arguments[index])
#define HANDLER(name) static treadle_status name(treadle_call *call, void *info)

static treadle_status return_status(treadle_call *call, treadle_status status) {
    return treadle_call_set_result(call, &status, sizeof status);
}
/* The ports of a plugin that is being closed end under the calls with them: what fails then has failed by that. */
static treadle_status return_in(treadle_call *call, struct nats *nats, treadle_status status) {
    if (status < 0 && atomic_load(&nats->is_stopping)) status = nats_fail(TREADLE_E_CLOSED, "the plugin is being closed");
    return return_status(call, status);
}
/* The port that is the first argument, held; NULL with the result set if there is none. */
static struct nats_port *port_of(treadle_call *call, void *info) {
    struct nats_port *port = NULL;
    treadle_status status = nats_hold(info, ARGUMENT(treadle_nats_port, 0), &port);
    if (status != TREADLE_OK) return_in(call, info, status);
    return port;
}
static treadle_status return_for(treadle_call *call, struct nats_port *port, treadle_status status) {
    struct nats *nats = port->nats;
    nats_let_go(port);
    return return_in(call, nats, status);
}

static treadle_status create(treadle_call *call, struct nats *nats, bool is_remote) {
    return return_in(call, nats, nats_create(nats, is_remote, ARGUMENT(char *, 0), ARGUMENT(treadle_nats_context *, 1),
                                             ARGUMENT(treadle_nats_port *, 2)));
}
HANDLER(create_local) { return create(call, info, false); }
HANDLER(create_remote) { return create(call, info, true); }
HANDLER(send) {
    struct nats_port *port = port_of(call, info);
    if (!port) return TREADLE_OK;
    return return_for(call, port, nats_send(port, ARGUMENT(int32_t, 1), ARGUMENT(void *, 2), ARGUMENT(size_t, 3), ARGUMENT(int64_t, 4)));
}
HANDLER(request) {
    struct nats_port *port = port_of(call, info);
    if (!port) return TREADLE_OK;
    struct nats_request wanted = {.id = ARGUMENT(int32_t, 1), .data = ARGUMENT(void *, 2), .size = ARGUMENT(size_t, 3),
                                  .send_timeout = ARGUMENT(int64_t, 4), .reply_timeout = ARGUMENT(int64_t, 5),
                                  .mode = ARGUMENT(char *, 6), .reply = ARGUMENT(treadle_message_port_reply_fn, 7),
                                  .info = ARGUMENT(void *, 8)};
    return return_for(call, port, nats_request(port, &wanted));
}
HANDLER(reply) {
    (void)info;
    return return_status(call, nats_reply(ARGUMENT(uint64_t, 0), ARGUMENT(void *, 1), ARGUMENT(size_t, 2)));
}
HANDLER(invalidate) {
    struct nats_port *port = port_of(call, info);
    if (!port) return TREADLE_OK;
    treadle_invalidate(port->source);
    nats_end(port, nats_after(nats_integer_setting("connect-timeout-ms") * MS));
    return return_for(call, port, TREADLE_OK);
}
HANDLER(check) {
    struct nats_port *port = port_of(call, info);
    treadle_nats_info state = {.struct_size = sizeof state};
    if (!port) return TREADLE_OK;
    treadle_status status = nats_get_info(port, &state);
    if (status == TREADLE_OK && (state.state == TREADLE_NATS_CLOSED || !treadle_is_valid(port->source)))
        status = nats_fail(TREADLE_E_STATE, "port is invalid");
    else if (status == TREADLE_OK && state.state == TREADLE_NATS_RECONNECTING)
        status = nats_fail(TREADLE_E_CLOSED, "port is not connected now");
    return return_for(call, port, status);
}
HANDLER(get_info) {
    struct nats_port *port = port_of(call, info);
    if (!port) return TREADLE_OK;
    return return_for(call, port, nats_get_info(port, ARGUMENT(treadle_nats_info *, 1)));
}
HANDLER(last_error) {
    char *buffer = ARGUMENT(char *, 0);
    size_t capacity = ARGUMENT(size_t, 1), *out_length = ARGUMENT(size_t *, 2);
    (void)info;
    if (!out_length || (!buffer && capacity)) return return_status(call, TREADLE_E_ARG);
    *out_length = strlen(nats_error_text());
    if (capacity) snprintf(buffer, capacity, "%s", nats_error_text());
    return return_status(call, TREADLE_OK);
}
/* void (natsConnection *, natsSubscription *, natsStatus, void *), on a thread of libnats's. */
HANDLER(log_error) {
    char text[160];
    (void)info;
    snprintf(text, sizeof text, "libnats: %s", natsStatus_GetText(ARGUMENT(natsStatus, 2)));
    treadle_plugin_self->log(treadle_plugin_self, 1, text);
    return TREADLE_OK;
}

/* --- The plugin ---------------------------------------------------------------------------------------- */

static treadle_status make_code(struct nats *nats, const char *signature, treadle_closure_fn handler, void *out_code) {
    static const treadle_status closed = TREADLE_E_CLOSED;
    treadle_closure closure;
    treadle_closure_config config = TREADLE_INIT(treadle_closure_config);
    void (*code)(void);
    config.signature = signature, config.handler = handler, config.info = nats;
    if (*signature == 'i') config.default_result = &closed, config.default_result_size = sizeof closed;
    config.flags = TREADLE_CLOSURE_KEEP_CODE | TREADLE_CLOSURE_MAY_ALLOCATE;
    treadle_status status = treadle_closure_create(&config, &closure);
    if (status == TREADLE_OK) status = treadle_closure_get_code(closure, &code);
    if (status == TREADLE_OK) memcpy(out_code, &code, sizeof code);
    return status;
}

static treadle_status make_extension(struct nats *nats) {
    treadle_nats *extension = &nats->extension;
    const struct {
        const char *signature;
        treadle_closure_fn handler;
        void *out_code;
    } all[] = {
        {"i^v^v^v", create_local, &extension->create_local}, {"i^v^v^v", create_remote, &extension->create_remote},
        {"i^vi^vQq", send, &extension->send},
        {"i^vi^vQqq^v^?^v", request, &extension->request},
        {"iQ^vQ", reply, &extension->reply},
        {"i^v", invalidate, &extension->invalidate},
        {"i^v", check, &extension->check},
        {"i^v^v", get_info, &extension->get_info},
        {"i^vQ^v", last_error, &extension->last_error},
        {"v^v^vi^v", log_error, &nats->error_code},
    };
    extension->struct_size = sizeof *extension;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        treadle_status status = make_code(nats, all[i].signature, all[i].handler, all[i].out_code);
        if (status != TREADLE_OK) return status;
    }
    return TREADLE_OK;
}

/* The plugin may be unmapped, but not libnats: its threads, and OpenSSL's destructors for threads, run a little longer than nats_CloseAndWait. */
static void keep_library(void) {
    Dl_info found;
    void *address;
    natsStatus (*function)(int64_t) = nats_Open;
    memcpy(&address, &function, sizeof address);
    if (dladdr(address, &found) && found.dli_fname) dlopen(found.dli_fname, RTLD_NOW | RTLD_NODELETE);
}

/* libnats's threads hold SIGPIPE back, as their creator does here. */
static natsStatus open_library(void) {
    struct nats_signals signals;
    struct sigaction action;
    nats_begin_writing(&signals);
    sigaction(SIGPIPE, NULL, &action);
    natsStatus status = nats_Open(-1);
    sigaction(SIGPIPE, &action, NULL);
    nats_end_writing(&signals);
    return status;
}

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    pthread_condattr_t clock;
    keep_library();
    if (open_library() != NATS_OK) return host->fail(host, "libnats cannot be opened"), TREADLE_E_SYSTEM;
    struct nats *nats = calloc(1, sizeof *nats);
    if (!nats) return host->fail(host, "out of memory"), nats_CloseAndWait(0), TREADLE_E_NOMEM;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&nats->lock, NULL);
    pthread_cond_init(&nats->is_idle, &clock);
    pthread_condattr_destroy(&clock);
    *out_instance = nats;
    return TREADLE_OK;
}
static treadle_status start(void *instance) { return make_extension(instance); }

/* All ports are disconnected, and those who wait for replies get an error. */
static treadle_status stop(void *instance, int64_t timeout_ns) {
    struct nats *nats = instance;
    int64_t until = nats_after(timeout_ns), most = nats_after(nats_integer_setting("connect-timeout-ms") * MS);
    struct timespec limit = {until / 1000000000, until % 1000000000};
    atomic_store(&nats->is_stopping, true);
    while (true) {
        pthread_mutex_lock(&nats->lock);
        struct nats_port *port = nats->first;
        if (port) {
            nats->first = port->next;
            atomic_fetch_add(&port->references, 1);
        }
        pthread_mutex_unlock(&nats->lock);
        if (!port) break;
        nats_end(port, until < most ? until : most);
        nats_let_go(port);
    }
    pthread_mutex_lock(&nats->lock);
    int result = 0;
    while (nats->requests > 0 && result == 0)
        result = until == TREADLE_FOREVER ? pthread_cond_wait(&nats->is_idle, &nats->lock)
                                          : pthread_cond_timedwait(&nats->is_idle, &nats->lock, &limit);
    pthread_mutex_unlock(&nats->lock);
    return result == 0 ? TREADLE_OK : TREADLE_E_TIMEOUT;
}

/* The ports have ended with the scope, and no call goes on. */
static void deinit(void *instance) {
    struct nats *nats = instance;
    if (!nats_boolean_setting("shares-library")) nats_CloseAndWait(0);
    pthread_mutex_destroy(&nats->lock);
    pthread_cond_destroy(&nats->is_idle);
    free(nats);
}

static const void *get_extension(void *instance, const char *id) {
    struct nats *nats = instance;
    return strcmp(id, TREADLE_NATS) == 0 ? &nats->extension : NULL;
}

/* For the ports that are created from now on. */
static treadle_status set(void *instance, const char *key, const char *value) {
    (void)instance, (void)value;
    if (strcmp(key, "shares-library") != 0) return TREADLE_OK;
    treadle_plugin_self->fail(treadle_plugin_self, "it is read as the plugin is loaded");
    return TREADLE_E_STATE;
}

#define TEXT(name, text) {.struct_size = sizeof(treadle_plugin_setting), .key = name, .description = text}
#define BOOLEAN(name, value, text) \
    {.struct_size = sizeof(treadle_plugin_setting), .key = name, .type = TREADLE_SETTING_BOOLEAN, .default_value = value, .description = text}
#define INTEGER(name, value, least, most, text) \
    {.struct_size = sizeof(treadle_plugin_setting), .key = name, .type = TREADLE_SETTING_INTEGER, .default_value = value, \
     .minimum = least, .maximum = most, .description = text}
static const treadle_plugin_setting settings[] = {
    INTEGER("connect-timeout-ms", "2000", 1, 3600000, "how long creating a port, and each attempt to reconnect, may take"),
    INTEGER("reconnect-wait-ms", "100", 1, 3600000, "wait before the first attempt to reconnect; each next one waits twice as long"),
    INTEGER("reconnect-wait-most-ms", "10000", 1, 3600000, "the longest wait before an attempt to reconnect"),
    INTEGER("max-reconnects", "2147483647", 0, 2147483647, "attempts to reconnect before a port becomes invalid"),
    INTEGER("ping-interval-ms", "120000", 1000, 86400000, "how often the server is asked whether it is there"),
    INTEGER("buffer-bytes", "8388608", 4096, 1 << 30, "bytes that may wait to be sent, for each port"),
    INTEGER("pending-messages", "65536", 1, 1 << 30, "received messages that may wait, for each local port; more are dropped"),
    INTEGER("pending-bytes", "67108864", 4096, 1 << 30, "their bytes; more are dropped"),
    TEXT("client-name", "the name of the connections, in the server's reports"),
    TEXT("user", "the user"),
    TEXT("password", "its password"),
    TEXT("token", "a token, in place of a user"),
    TEXT("credentials-file", "a file with a JWT, and with its seed unless credentials-seed-file has that"),
    TEXT("credentials-seed-file", "a file with the seed of the JWT"),
    TEXT("nkey", "a public NKey"),
    TEXT("nkey-seed-file", "a file with its seed"),
    BOOLEAN("tls", "false", "require TLS for nats:// as for tls://"),
    BOOLEAN("tls-verify", "true", "check the server's certificate and name"),
    TEXT("tls-ca-file", "a file with the certificates that are trusted; empty: the system's"),
    TEXT("tls-certificate-file", "a file with the client's certificate"),
    TEXT("tls-key-file", "a file with its key"),
    TEXT("tls-host", "the name that the server's certificate must have; empty: the host of the port's name"),
    BOOLEAN("shares-library", "false", "the program uses libnats too: libnats is left open at the end"),
};
static const char *const provided[] = {TREADLE_NATS, NULL};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON,
    .id = "org.treadle.nats",
    .name = "Message ports over NATS",
    .version = "1.0",
    .flags = TREADLE_PLUGIN_MAY_UNMAP,
    .provided = provided,
    .settings = settings,
    .setting_count = sizeof settings / sizeof *settings,
    .init = init,
    .start = start,
    .stop = stop,
    .deinit = deinit,
    .get_extension = get_extension,
    .set = set,
};
TREADLE_PLUGIN_EXPORT(description)
