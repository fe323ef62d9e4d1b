/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * transfers URL...: downloads all of them at the same time, and tells how each has ended. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <treadle.h>

static CURLM *multi;
static treadle_timer timeout;
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

static void ready(treadle_descriptor source, uint32_t events, void *info) {
    (void)info;
    int32_t socket;
    require(treadle_descriptor_get_fd(source, &socket) == TREADLE_OK, "get the descriptor");
    int what = (events & TREADLE_READABLE ? CURL_CSELECT_IN : 0) | (events & TREADLE_WRITABLE ? CURL_CSELECT_OUT : 0);
    act(socket, what | (events & TREADLE_FAILED ? CURL_CSELECT_ERR : 0));
}

static void timed_out(treadle_timer timer, void *info) {
    (void)timer, (void)info;
    act(CURL_SOCKET_TIMEOUT, 0);
}

static int watch(CURL *transfer, curl_socket_t socket, int what, void *info, void *source) {
    (void)transfer, (void)info;
    if (what == CURL_POLL_REMOVE) {
        treadle_descriptor_invalidate(source);
        treadle_descriptor_release(source);
        return 0;
    }
    uint32_t events = (what & CURL_POLL_IN ? TREADLE_READABLE : 0) | (what & CURL_POLL_OUT ? TREADLE_WRITABLE : 0);
    if (source != NULL) return treadle_descriptor_set_events(source, events) == TREADLE_OK ? 0 : -1;
    treadle_descriptor watched;
    if (treadle_descriptor_start(socket, events, ready, NULL, &watched) != TREADLE_OK) return -1;
    return curl_multi_assign(multi, socket, watched) == CURLM_OK ? 0 : -1;
}

static int set_timeout(CURLM *unused, long ms, void *info) {
    (void)unused, (void)info;
    return treadle_timer_arm(timeout, ms < 0 ? TREADLE_FOREVER : ms * 1000 * 1000) == TREADLE_OK ? 0 : -1;
}

int main(int argc, char **argv) {
    require(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK, "begin with curl");
    require((multi = curl_multi_init()) != NULL, "make a multi handle");
    require(treadle_timer_start(TREADLE_FOREVER, 0, timed_out, NULL, &timeout) == TREADLE_OK, "make a timer");
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
    treadle_status result = treadle_loop_run_default(treadle_loop_current());
    require(result == TREADLE_RUN_FINISHED, "run the loop");

    curl_multi_cleanup(multi);
    treadle_timer_release(timeout);
    curl_global_cleanup();
    return failures > 0;
}
