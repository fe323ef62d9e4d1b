/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * keeping.h: libraries that keep a plugin's function pointers beyond its end, and call them then: connections of SQLite and
 * transfers of libcurl which the test makes, with the pointers that the plugins have given to these libraries. */
#ifndef EXAMPLE_KEEPING_H
#define EXAMPLE_KEEPING_H

#include "fetching.h"

#include <sqlite3.h>

/* The test's own copy of a library stays when the plugins are gone. */
HELPER void *in_library(const char *file, const char *name) {
    void *library = dlopen(file, RTLD_NOW);
    CHECK(library);
    void *function = dlsym(library, name);
    CHECK(function);
    return function;
}
#define SQLITE(name) ((__typeof__(&(name)))in_library("libsqlite3.so.0", #name))
#define CURL_OF(name) ((__typeof__(&(name)))in_library("libcurl.so.4", #name))

/* --- SQLite ------------------------------------------------------------------------------------------ */

/* Before SQLite's in the loader's order: what the plugin gives to its own connection is given to the test's as well. */
static int (*kept_busy)(void *, int);
static int (*kept_commit)(void *);
int sqlite3_busy_handler(sqlite3 *database, int (*busy)(void *, int), void *info) {
    if (busy) kept_busy = busy;
    return SQLITE(sqlite3_busy_handler)(database, busy, info);
}
void *sqlite3_commit_hook(sqlite3 *database, int (*commit)(void *), void *info) {
    if (commit) kept_commit = commit;
    return SQLITE(sqlite3_commit_hook)(database, commit, info);
}
/* Two connections to a file, which the test keeps: one has the plugin's pointers. */
struct connections {
    sqlite3 *keeper, *other;
};
HELPER int execute(sqlite3 *database, const char *query) { return SQLITE(sqlite3_exec)(database, query, NULL, NULL, NULL); }
HELPER struct connections connections_open(const char *file) {
    struct connections self = {NULL, NULL};
    CHECK(kept_busy && kept_commit);
    CHECK_INT(SQLITE(sqlite3_open)(file, &self.keeper), SQLITE_OK);
    CHECK_INT(SQLITE(sqlite3_open)(file, &self.other), SQLITE_OK);
    CHECK_INT(SQLITE(sqlite3_busy_handler)(self.keeper, kept_busy, NULL), SQLITE_OK);
    SQLITE(sqlite3_commit_hook)(self.keeper, kept_commit, NULL);
    return self;
}
/* The hook lets a commit pass, and the handler does not wait for another connection. */
HELPER void connections_use(struct connections *self, const char *query) {
    CHECK_INT(execute(self->keeper, query), SQLITE_OK);
    CHECK_INT(execute(self->other, "BEGIN IMMEDIATE"), SQLITE_OK);
    CHECK_INT(execute(self->keeper, query), SQLITE_BUSY);
    CHECK_INT(execute(self->other, "ROLLBACK"), SQLITE_OK);
}
HELPER void connections_close(struct connections *self) {
    CHECK_INT(SQLITE(sqlite3_close)(self->keeper), SQLITE_OK);
    CHECK_INT(SQLITE(sqlite3_close)(self->other), SQLITE_OK);
}

/* --- libcurl ----------------------------------------------------------------------------------------- */

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

#endif
