/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * fetcher.c: a plugin that GETs over HTTP, with libcurl's multi interface on the loop; extension: fetcher.h.
 * pkg-config: libcurl
 *
 * It shows a library that brings its own descriptors and wants one timer; and what makes it safe to unmap a plugin whose
 * functions such a library knows: libcurl gets the function pointers of closures. Those outlive the plugin. A call that comes
 * when the plugin has ended returns the closure's default result, by which libcurl ends what it was about to do.
 *
 *   timeout-ms    how long a fetch may take, 0 for ever; 30,000 by default
 *   max-bytes     how large a body may be; 16 MiB by default
 *
 * It lives on the loop of the thread that starts it, in the default mode. A name that is being resolved when the plugin ends
 * is waited for: libcurl does that on a thread of its own. */
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "fetcher.h"

struct transfer {
    struct transfer *next;
    struct fetcher *fetcher;
    uint64_t id;
    CURL *easy;
    example_fetched_fn done;
    void *info;
    char *body; /* NULL: nothing has come */
    size_t size, room;
};
struct fetcher {
    struct example_fetcher extension;
    treadle_loop home;
    treadle_timer timer; /* the one that libcurl arms again and again */
    CURLM *multi;
    void (*write_code)(void);
    struct transfer *first; /* those that run */
    uint64_t last_id;
    size_t max_bytes;
    long timeout_ms;
};

/* --- Transfers ------------------------------------------------------------------------------------- */

/* Out of the list and out of libcurl; its memory is the caller's. */
static void end_transfer(struct transfer *transfer) {
    struct transfer **at = &transfer->fetcher->first;
    while (*at != transfer) at = &(*at)->next;
    *at = transfer->next;
    curl_multi_remove_handle(transfer->fetcher->multi, transfer->easy);
    curl_easy_cleanup(transfer->easy);
}
static void free_transfer(struct transfer *transfer) {
    free(transfer->body);
    free(transfer);
}

/* A done may start and cancel fetches, run the loop, and close the plugin, which ends when this has returned. */
static void tell_what_ended(struct fetcher *self) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(self->multi, &left))) {
        struct transfer *transfer;
        if (message->msg != CURLMSG_DONE) continue;
        CURLcode result = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
        struct example_fetch fetch = {.struct_size = sizeof fetch, .id = transfer->id, .size = transfer->size};
        curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &fetch.http_status);
        fetch.error = result == CURLE_OK ? NULL : curl_easy_strerror(result);
        fetch.body = transfer->body ? transfer->body : "";
        end_transfer(transfer);
        transfer->done(transfer->info, &fetch);
        free_transfer(transfer);
    }
}

static void act(struct fetcher *self, curl_socket_t socket, int what) {
    int running;
    CURLMcode result = curl_multi_socket_action(self->multi, socket, what, &running);
    /* A callback refuses only while the plugin is being ended. */
    bool has_failed = result != CURLM_OK && result != CURLM_ABORTED_BY_CALLBACK;
    if (has_failed) treadle_plugin_self->log(treadle_plugin_self, 0, curl_multi_strerror(result));
    tell_what_ended(self);
}
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    int32_t socket;
    if (treadle_descriptor_get_fd(descriptor, &socket) != TREADLE_OK) return;
    act(info, socket, (events & (TREADLE_READABLE | TREADLE_HANGUP) ? CURL_CSELECT_IN : 0) |
                          (events & TREADLE_WRITABLE ? CURL_CSELECT_OUT : 0) | (events & TREADLE_FAILED ? CURL_CSELECT_ERR : 0));
}
static void timed_out(treadle_timer timer, void *info) {
    (void)timer;
    act(info, CURL_SOCKET_TIMEOUT, 0);
}

/* --- What libcurl calls, by closures ----------------------------------------------------------------- */

/* int (CURL *, curl_socket_t, int what, void *, void *the socket's), the last one its descriptor source. */
static treadle_status watch(treadle_call *call, void *info) {
    struct fetcher *self = info;
    curl_socket_t socket = *(const curl_socket_t *)call->arguments[1];
    int what = *(const int *)call->arguments[2], result = 0;
    treadle_descriptor source = *(const treadle_descriptor *)call->arguments[4];
    uint32_t events = (what & CURL_POLL_IN ? TREADLE_READABLE : 0) | (what & CURL_POLL_OUT ? TREADLE_WRITABLE : 0);
    if (what == CURL_POLL_REMOVE) {
        curl_multi_assign(self->multi, socket, NULL);
        treadle_descriptor_invalidate(source);
        treadle_descriptor_release(source);
    } else if (source) {
        result = treadle_descriptor_set_events(source, events) == TREADLE_OK ? 0 : -1;
    } else {
        result = treadle_descriptor_start(socket, events, ready, self, &source) == TREADLE_OK ? 0 : -1;
        if (result == 0) curl_multi_assign(self->multi, socket, source);
    }
    return treadle_call_set_result(call, &result, sizeof result);
}
/* int (CURLM *, long ms, void *): -1 for no timeout. */
static treadle_status set_timeout(treadle_call *call, void *info) {
    struct fetcher *self = info;
    long ms = *(const long *)call->arguments[1];
    int result = treadle_timer_arm(self->timer, ms < 0 ? TREADLE_FOREVER : ms * 1000000) == TREADLE_OK ? 0 : -1;
    return treadle_call_set_result(call, &result, sizeof result);
}
/* size_t (char *, size_t, size_t, void *transfer): what differs from the size that came is a failure. */
static treadle_status take_bytes(treadle_call *call, void *info) {
    const char *bytes = *(const char *const *)call->arguments[0];
    size_t size = *(const size_t *)call->arguments[1] * *(const size_t *)call->arguments[2];
    struct transfer *transfer = *(struct transfer *const *)call->arguments[3];
    (void)info;
    if (size > transfer->fetcher->max_bytes - transfer->size) return TREADLE_E_RANGE;
    if (transfer->room < transfer->size + size + 1) {
        size_t room = 2 * transfer->room + size + 1;
        char *body = realloc(transfer->body, room);
        if (!body) return TREADLE_E_NOMEM;
        transfer->body = body, transfer->room = room;
    }
    memcpy(transfer->body + transfer->size, bytes, size);
    transfer->size += size;
    transfer->body[transfer->size] = 0;
    return treadle_call_set_result(call, &size, sizeof size);
}

static treadle_status make_code(struct fetcher *self, const char *signature, treadle_closure_fn handler, const void *failure,
                                size_t size, void (**out_code)(void)) {
    treadle_closure closure;
    treadle_closure_config config = TREADLE_INIT(treadle_closure_config);
    config.signature = signature, config.handler = handler, config.info = self;
    config.default_result = failure, config.default_result_size = size;
    /* libcurl may keep them. However often the plugin is loaded, each life gets new ones. */
    config.flags = TREADLE_CLOSURE_KEEP_CODE | TREADLE_CLOSURE_MAY_ALLOCATE;
    treadle_status status = treadle_closure_create(&config, &closure);
    return status == TREADLE_OK ? treadle_closure_get_code(closure, out_code) : status;
}

/* --- The extension ----------------------------------------------------------------------------------- */

static treadle_status start_fetch(void *instance, const char *url, example_fetched_fn done, void *info, uint64_t *out_id) {
    struct fetcher *self = instance;
    if (!treadle_loop_is_current(self->home)) return TREADLE_E_WRONG_THREAD;
    if (!url || !done) return TREADLE_E_ARG;
    struct transfer *transfer = calloc(1, sizeof *transfer);
    CURL *easy = transfer ? curl_easy_init() : NULL;
    if (!easy || curl_easy_setopt(easy, CURLOPT_URL, url) != CURLE_OK) {
        curl_easy_cleanup(easy);
        free(transfer);
        return TREADLE_E_NOMEM;
    }
    *transfer = (struct transfer){.next = self->first, .fetcher = self, .id = ++self->last_id, .easy = easy,
                                  .done = done, .info = info};
    self->first = transfer;
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, self->timeout_ms);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, (curl_write_callback)self->write_code);
    if (curl_multi_add_handle(self->multi, easy) != CURLM_OK) {
        end_transfer(transfer);
        free_transfer(transfer);
        return TREADLE_E_STATE;
    }
    if (out_id) *out_id = transfer->id;
    return TREADLE_OK;
}

static treadle_status cancel_fetch(void *instance, uint64_t id) {
    struct fetcher *self = instance;
    if (!treadle_loop_is_current(self->home)) return TREADLE_E_WRONG_THREAD;
    for (struct transfer *transfer = self->first; transfer; transfer = transfer->next) {
        if (transfer->id != id) continue;
        end_transfer(transfer);
        free_transfer(transfer);
        return TREADLE_OK;
    }
    return TREADLE_E_NOT_FOUND;
}

/* --- The plugin -------------------------------------------------------------------------------------- */

static long long integer_setting(const char *key) {
    char text[32] = "";
    size_t length;
    treadle_plugin_self->copy_setting(treadle_plugin_self, key, text, sizeof text, &length);
    return atoll(text);
}

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    struct fetcher *self = calloc(1, sizeof *self);
    (void)host;
    if (!self) return TREADLE_E_NOMEM;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return free(self), TREADLE_E_SYSTEM;
    if (!(self->multi = curl_multi_init())) return curl_global_cleanup(), free(self), TREADLE_E_NOMEM;
    self->extension = (struct example_fetcher){sizeof self->extension, self, start_fetch, cancel_fetch};
    *out_instance = self;
    return TREADLE_OK;
}

static treadle_status start(void *instance) {
    struct fetcher *self = instance;
    void (*socket_code)(void), (*timer_code)(void);
    const int failure = -1;
    const size_t nothing = 0;
    self->home = treadle_loop_current();
    self->timeout_ms = (long)integer_setting("timeout-ms");
    self->max_bytes = (size_t)integer_setting("max-bytes");
    treadle_status status = treadle_timer_start(TREADLE_FOREVER, 0, timed_out, self, &self->timer);
    if (status == TREADLE_OK) status = make_code(self, "i^vii^v^v", watch, &failure, sizeof failure, &socket_code);
    if (status == TREADLE_OK) status = make_code(self, "i^vq^v", set_timeout, &failure, sizeof failure, &timer_code);
    if (status == TREADLE_OK) status = make_code(self, "Q^vQQ^v", take_bytes, &nothing, sizeof nothing, &self->write_code);
    if (status != TREADLE_OK) return status;
    curl_multi_setopt(self->multi, CURLMOPT_SOCKETFUNCTION, (curl_socket_callback)socket_code);
    curl_multi_setopt(self->multi, CURLMOPT_TIMERFUNCTION, (curl_multi_timer_callback)timer_code);
    return TREADLE_OK;
}

/* The sources, the timer and the closures have ended with the scope: no descriptor is watched that libcurl closes here, and
 * nothing of libcurl runs on the loop's thread, whichever thread this is. */
static void deinit(void *instance) {
    struct fetcher *self = instance;
    curl_multi_setopt(self->multi, CURLMOPT_SOCKETFUNCTION, NULL);
    curl_multi_setopt(self->multi, CURLMOPT_TIMERFUNCTION, NULL);
    while (self->first) {
        struct transfer *transfer = self->first;
        end_transfer(transfer);
        free_transfer(transfer);
    }
    curl_multi_cleanup(self->multi);
    curl_global_cleanup();
    free(self);
}

static const void *get_extension(void *instance, const char *id) {
    struct fetcher *self = instance;
    return strcmp(id, EXAMPLE_FETCHER) == 0 ? &self->extension : NULL;
}

/* Both are read at the start. */
static treadle_status set(void *instance, const char *key, const char *value) {
    (void)instance, (void)key, (void)value;
    return TREADLE_E_STATE;
}

static const char *const provided[] = {EXAMPLE_FETCHER, NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "timeout-ms", .type = TREADLE_SETTING_INTEGER,
     .default_value = "30000", .maximum = 86400000, .description = "how long a fetch may take; 0 for ever"},
    {.struct_size = sizeof(treadle_plugin_setting), .key = "max-bytes", .type = TREADLE_SETTING_INTEGER,
     .default_value = "16777216", .maximum = 1 << 30, .description = "how large a body may be"},
};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON,
    .id = "org.example.fetcher",
    .name = "Fetcher",
    .version = "1.0",
    .flags = TREADLE_PLUGIN_MAY_UNMAP,
    .provided = provided,
    .settings = settings,
    .setting_count = sizeof settings / sizeof *settings,
    .init = init,
    .start = start,
    .deinit = deinit,
    .get_extension = get_extension,
    .set = set,
};
TREADLE_PLUGIN_EXPORT(description)
