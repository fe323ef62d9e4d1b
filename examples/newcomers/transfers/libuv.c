/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * transfers URL...: downloads all of them at the same time, and tells how each has ended. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

struct watched {
    uv_poll_t poll;
    curl_socket_t socket;
};

static CURLM *multi;
static uv_timer_t timeout;
static int failures;

static void require(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "cannot %s\n", what);
    exit(1);
}

static size_t count_bytes(char *data, size_t size, size_t count, void *bytes) {
    (void)data;
    *(size_t *)bytes += size * count;
    return size * count;
}

static void tell_what_ended(void) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        CURL *transfer = message->easy_handle;
        CURLcode result = message->data.result;
        char *url;
        size_t *bytes;
        curl_easy_getinfo(transfer, CURLINFO_EFFECTIVE_URL, &url);
        curl_easy_getinfo(transfer, CURLINFO_PRIVATE, (char **)&bytes);
        printf("%s: %s, %zu bytes\n", url, result == CURLE_OK ? "done" : curl_easy_strerror(result), *bytes);
        failures += result != CURLE_OK;
        curl_multi_remove_handle(multi, transfer);
        curl_easy_cleanup(transfer);
        free(bytes);
    }
}

static void act(curl_socket_t socket, int what) {
    int running;
    require(curl_multi_socket_action(multi, socket, what, &running) == CURLM_OK, "act on a socket");
    tell_what_ended();
}

static void ready(uv_poll_t *poll, int status, int events) {
    struct watched *watched = (struct watched *)poll;
    int what = (events & UV_READABLE ? CURL_CSELECT_IN : 0) | (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0);
    act(watched->socket, what | (status < 0 ? CURL_CSELECT_ERR : 0));
}

static void timed_out(uv_timer_t *timer) {
    (void)timer;
    act(CURL_SOCKET_TIMEOUT, 0);
}

static void closed(uv_handle_t *handle) { free(handle); }

static int watch(CURL *transfer, curl_socket_t socket, int what, void *info, void *assigned) {
    (void)transfer, (void)info;
    struct watched *watched = assigned;
    if (what == CURL_POLL_REMOVE) {
        uv_poll_stop(&watched->poll);
        uv_close((uv_handle_t *)&watched->poll, closed);
        return 0;
    }
    if (watched == NULL) {
        if ((watched = calloc(1, sizeof *watched)) == NULL) return -1;
        watched->socket = socket;
        if (uv_poll_init_socket(uv_default_loop(), &watched->poll, socket) != 0) {
            free(watched);
            return -1;
        }
        if (curl_multi_assign(multi, socket, watched) != CURLM_OK) {
            uv_close((uv_handle_t *)&watched->poll, closed);
            return -1;
        }
    }
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&watched->poll, events, ready) == 0 ? 0 : -1;
}

static int set_timeout(CURLM *unused, long ms, void *info) {
    (void)unused, (void)info;
    return (ms < 0 ? uv_timer_stop(&timeout) : uv_timer_start(&timeout, timed_out, (uint64_t)ms, 0)) == 0 ? 0 : -1;
}

int main(int argc, char **argv) {
    require(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "begin with curl");
    require((multi = curl_multi_init()) != NULL, "make a multi handle");
    require(uv_timer_init(uv_default_loop(), &timeout) == 0, "make a timer");
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timeout);

    for (int i = 1; i < argc; i++) {
        CURL *transfer = curl_easy_init();
        size_t *bytes = calloc(1, sizeof *bytes);
        require(transfer != NULL && bytes != NULL, "make a transfer");
        curl_easy_setopt(transfer, CURLOPT_URL, argv[i]);
        curl_easy_setopt(transfer, CURLOPT_FAILONERROR, 1L);
        curl_easy_setopt(transfer, CURLOPT_WRITEFUNCTION, count_bytes);
        curl_easy_setopt(transfer, CURLOPT_WRITEDATA, bytes);
        curl_easy_setopt(transfer, CURLOPT_PRIVATE, bytes);
        require(curl_multi_add_handle(multi, transfer) == CURLM_OK, "add a transfer");
    }
    require(uv_run(uv_default_loop(), UV_RUN_DEFAULT) == 0, "run the loop");

    curl_multi_cleanup(multi);
    uv_close((uv_handle_t *)&timeout, NULL);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    require(uv_loop_close(uv_default_loop()) == 0, "close the loop");
    curl_global_cleanup();
    return failures > 0;
}
