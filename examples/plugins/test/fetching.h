/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * fetching.h: what the test of the fetcher does with it; and the function pointers that it gives to libcurl, which are called
 * when the plugin is gone, by transfers which the test makes. */
#ifndef EXAMPLE_FETCHING_H
#define EXAMPLE_FETCHING_H

#include <curl/curl.h>

#include "../fetcher.h"
#include "host.h"

/* libcurl's functions that take the plugin's function pointers: these come first in the loader's order, and keep them as a
 * library does that never forgets one. */
static curl_socket_callback kept_socket;
static curl_multi_timer_callback kept_timer;
static curl_write_callback kept_write;
HELPER void *in_libcurl(const char *name) {
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_NOLOAD);
    CHECK(library);
    void *function = dlsym(library, name);
    dlclose(library);
    return function;
}
#undef curl_multi_setopt
#undef curl_easy_setopt
CURLMcode curl_multi_setopt(CURLM *multi, CURLMoption option, ...) {
    va_list arguments;
    va_start(arguments, option);
    void *value = va_arg(arguments, void *);
    va_end(arguments);
    if (option == CURLMOPT_SOCKETFUNCTION && value) kept_socket = (curl_socket_callback)value;
    if (option == CURLMOPT_TIMERFUNCTION && value) kept_timer = (curl_multi_timer_callback)value;
    return ((CURLMcode (*)(CURLM *, CURLMoption, ...))in_libcurl("curl_multi_setopt"))(multi, option, value);
}
CURLcode curl_easy_setopt(CURL *easy, CURLoption option, ...) {
    va_list arguments;
    va_start(arguments, option);
    void *value = va_arg(arguments, void *);
    va_end(arguments);
    if (option == CURLOPT_WRITEFUNCTION && value) kept_write = (curl_write_callback)value;
    return ((CURLcode (*)(CURL *, CURLoption, ...))in_libcurl("curl_easy_setopt"))(easy, option, value);
}

/* The plugin is unmapped: they return what their closures were made with. */
HELPER void call_kept_pointers(void) {
    CHECK(kept_socket && kept_timer && kept_write);
    CHECK_INT(kept_socket(NULL, 0, CURL_POLL_IN, NULL, NULL), -1);
    CHECK_INT(kept_timer(NULL, 0, NULL), -1);
    CHECK_INT(kept_write("bytes", 1, 5, NULL), 0);
}
#define CURL_OF(name) ((__typeof__(&(name)))in_library("libcurl.so.4", #name))
/* A transfer that the test keeps, with the plugin's function for what comes. It ends with a failure then. */
HELPER CURLcode fetch_with_kept(void) {
    CURL *easy = CURL_OF(curl_easy_init)();
    CURLcode (*set)(CURL *, CURLoption, ...) = (CURLcode (*)(CURL *, CURLoption, ...))in_library("libcurl.so.4", "curl_easy_setopt");
    CHECK(easy && kept_write);
    CHECK_INT(set(easy, CURLOPT_URL, url_of("5000")), CURLE_OK);
    CHECK_INT(set(easy, CURLOPT_NOSIGNAL, 1L), CURLE_OK);
    CHECK_INT(set(easy, CURLOPT_WRITEFUNCTION, kept_write), CURLE_OK);
    CURLcode result = CURL_OF(curl_easy_perform)(easy);
    CURL_OF(curl_easy_cleanup)(easy);
    return result;
}
/* The same for the functions of many transfers. */
HELPER CURLMcode begin_with_kept(void) {
    CURL *easy = CURL_OF(curl_easy_init)();
    CURLM *multi = CURL_OF(curl_multi_init)();
    int running = 0;
    CURLMcode (*set)(CURLM *, CURLMoption, ...) = (CURLMcode (*)(CURLM *, CURLMoption, ...))in_library("libcurl.so.4", "curl_multi_setopt");
    CHECK(easy && multi && kept_timer && kept_socket);
    CHECK_INT(((CURLcode (*)(CURL *, CURLoption, ...))in_library("libcurl.so.4", "curl_easy_setopt"))(easy, CURLOPT_URL, url_of("5000")), CURLE_OK);
    CHECK_INT(set(multi, CURLMOPT_SOCKETFUNCTION, kept_socket), CURLM_OK);
    CHECK_INT(set(multi, CURLMOPT_TIMERFUNCTION, kept_timer), CURLM_OK);
    CURLMcode result = CURL_OF(curl_multi_add_handle)(multi, easy);
    if (result == CURLM_OK) result = CURL_OF(curl_multi_socket_action)(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    CURL_OF(curl_multi_remove_handle)(multi, easy);
    CURL_OF(curl_easy_cleanup)(easy);
    CURL_OF(curl_multi_cleanup)(multi);
    return result;
}

/* --- Fetches ----------------------------------------------------------------------------------------- */

static atomic_int fetched;
static struct {
    long http_status;
    size_t size;
    bool has_failed;
} last_fetch;
HELPER void take_body(void *info, const struct example_fetch *fetch) {
    if (info) {
        CHECK(!fetch->error);
        CHECK_INT(fetch->size, *(size_t *)info);
        CHECK_INT(fetch->body[fetch->size], 0);
        for (size_t i = 0; i < fetch->size; i++) CHECK_INT(fetch->body[i], 'a' + i % 23);
    }
    last_fetch.http_status = fetch->http_status, last_fetch.size = fetch->size, last_fetch.has_failed = fetch->error;
    atomic_fetch_add(&fetched, 1);
    has_come();
}
HELPER void fetch(const struct example_fetcher *fetcher, const char *name, size_t *size, uint64_t *out_id) {
    CHECK_INT(fetcher->start(fetcher->instance, url_of(name), take_body, size, out_id), TREADLE_OK);
}
HELPER void *fetch_from_here(void *info) {
    const struct example_fetcher *fetcher = info;
    return (void *)(intptr_t)fetcher->start(fetcher->instance, "http://127.0.0.1/", take_body, NULL, NULL);
}
static atomic_int slow;
HELPER void take_slow(treadle_descriptor descriptor, uint32_t events, void *info) {
    char bytes[64];
    ssize_t count = read(server.output, bytes, sizeof bytes);
    (void)descriptor, (void)events, (void)info;
    for (ssize_t i = 0; i < count; i++) atomic_fetch_add(&slow, bytes[i] == '\n');
    has_come();
}

#endif
