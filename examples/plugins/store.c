/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * store.c: a plugin that keeps texts in SQLite; extension: store.h.
 * pkg-config: sqlite3
 *
 * It shows a worker thread that runs its loop: requests are performed there, in their order, and answers are posted back to
 * the loop of who has asked. SQLite's busy handler and commit hook are closures. Its stop waits for the requests that it has
 * taken. Where it is reloaded it hands over how many rows were written.
 *
 *   file           the database, ":memory:" by default
 *   patience-ms    how long a request waits while another process has locked the file; 2,000 by default */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store.h"

enum { PUT, GET, COUNT, QUERIES };
static const char *const queries[QUERIES] = {
    "INSERT OR REPLACE INTO texts VALUES (?1, ?2)", "SELECT text FROM texts WHERE key = ?1", "SELECT count(*) FROM texts"};

struct store {
    struct example_store extension;
    treadle_thread worker;
    sqlite3 *database; /* after start, until deinit: the worker's alone, as its statements */
    sqlite3_stmt *statements[QUERIES];
    int patience_ms;
    _Atomic uint64_t written;
    pthread_mutex_t lock;
    pthread_cond_t is_idle;
    unsigned waiting; /* lock: requests that were taken, and not performed yet */
};
/* Belongs to the request that brings it to the worker, then also to the post that brings the answer back. */
struct job {
    _Atomic int owners;
    struct store *store;
    int query;
    char *key, *text, *found;
    treadle_loop home;
    example_stored_fn done;
    void *info;
    bool was_performed, was_told;
    struct example_store_answer answer;
};

static void no_longer_waits(struct store *self) {
    pthread_mutex_lock(&self->lock);
    if (--self->waiting == 0) pthread_cond_broadcast(&self->is_idle);
    pthread_mutex_unlock(&self->lock);
}

static void let_go(void *info) {
    struct job *job = info;
    if (atomic_fetch_sub(&job->owners, 1) > 1) return;
    if (!job->was_performed) no_longer_waits(job->store);
    const struct example_store_answer none = {sizeof none, TREADLE_E_CLOSED, NULL, 0, 0};
    if (job->done && !job->was_told) job->done(job->info, &none);
    if (job->home) treadle_loop_release(job->home);
    free(job->key), free(job->text), free(job->found);
    free(job);
}

/* --- On the worker ----------------------------------------------------------------------------------- */

static treadle_status perform_query(struct job *job) {
    sqlite3_stmt *statement = job->store->statements[job->query];
    if (job->query != COUNT) sqlite3_bind_text(statement, 1, job->key, -1, SQLITE_STATIC);
    if (job->query == PUT) sqlite3_bind_text(statement, 2, job->text, -1, SQLITE_STATIC);
    int result = sqlite3_step(statement);
    treadle_status status = TREADLE_OK;
    if (result == SQLITE_ROW && job->query == GET) {
        job->found = strdup((const char *)sqlite3_column_text(statement, 0));
        status = job->found ? TREADLE_OK : TREADLE_E_NOMEM;
    } else if (result == SQLITE_ROW) {
        job->answer.rows = (uint64_t)sqlite3_column_int64(statement, 0);
        job->answer.written = atomic_load(&job->store->written);
    } else if (result == SQLITE_DONE) {
        status = job->query == GET ? TREADLE_E_NOT_FOUND : TREADLE_OK;
    } else {
        status = TREADLE_E_SYSTEM;
        treadle_plugin_self->log(treadle_plugin_self, 0, sqlite3_errmsg(job->store->database));
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return status;
}

static void tell(void *info) {
    struct job *job = info;
    job->was_told = true;
    job->done(job->info, &job->answer);
}

static void perform(void *target, void *argument) {
    struct job *job = target;
    (void)argument;
    job->answer = (struct example_store_answer){.struct_size = sizeof job->answer};
    job->answer.status = perform_query(job);
    job->answer.text = job->found;
    job->was_performed = true;
    if (job->done) {
        treadle_post post = TREADLE_INIT(treadle_post);
        post.fn = tell, post.info = job, post.destroy = let_go;
        atomic_fetch_add(&job->owners, 1);
        /* Refused when the plugin is being ended: then destroy tells. */
        treadle_loop_post_in(job->home, &post);
    }
    no_longer_waits(job->store);
}

/* int (void *, int calls before): 0 gives up, which is also what SQLite gets when the plugin has ended. */
static treadle_status decide_to_wait(treadle_call *call, void *info) {
    struct store *self = info;
    int goes_on = *(const int *)call->arguments[1] < self->patience_ms;
    if (goes_on) treadle_thread_sleep_for(1000000);
    return treadle_call_set_result(call, &goes_on, sizeof goes_on);
}
/* int (void *): anything but 0 would turn the commit into a rollback. Each row is a transaction of its own. */
static treadle_status note_commit(treadle_call *call, void *info) {
    struct store *self = info;
    (void)call;
    atomic_fetch_add(&self->written, 1);
    return TREADLE_OK;
}

/* --- The extension ----------------------------------------------------------------------------------- */

static treadle_status ask(struct store *self, int query, const char *key, const char *text, example_stored_fn done, void *info) {
    struct job *job = calloc(1, sizeof *job);
    if (!job) return TREADLE_E_NOMEM;
    *job = (struct job){.owners = 1, .store = self, .query = query, .info = info, .key = key ? strdup(key) : NULL,
                        .text = text ? strdup(text) : NULL};
    /* The loop may be gone when the answer comes; its handle is not. */
    if (done && treadle_loop_retain(treadle_loop_current()) == TREADLE_OK) job->home = treadle_loop_current();
    pthread_mutex_lock(&self->lock);
    self->waiting++;
    pthread_mutex_unlock(&self->lock);
    if ((key && !job->key) || (text && !job->text) || (done && !job->home)) return let_go(job), TREADLE_E_NOMEM;
    /* A request that is refused lets go as well: who asked learns it by the status alone, so done comes last. */
    atomic_fetch_add(&job->owners, 1);
    treadle_request request = TREADLE_INIT(treadle_request);
    request.fn = perform, request.target = job, request.release_target = let_go;
    job->done = done;
    treadle_status status = treadle_perform(self->worker, &request);
    if (status != TREADLE_OK) job->done = NULL;
    let_go(job);
    return status;
}
static treadle_status put(void *instance, const char *key, const char *text, example_stored_fn done, void *info) {
    return key && text ? ask(instance, PUT, key, text, done, info) : TREADLE_E_ARG;
}
static treadle_status get(void *instance, const char *key, example_stored_fn done, void *info) {
    return key && done ? ask(instance, GET, key, NULL, done, info) : TREADLE_E_ARG;
}
static treadle_status count(void *instance, example_stored_fn done, void *info) {
    return done ? ask(instance, COUNT, NULL, NULL, done, info) : TREADLE_E_ARG;
}

/* --- The plugin -------------------------------------------------------------------------------------- */

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    struct store *self = calloc(1, sizeof *self);
    pthread_condattr_t monotonic;
    (void)host;
    if (!self) return TREADLE_E_NOMEM;
    self->extension = (struct example_store){sizeof self->extension, self, put, get, count};
    pthread_mutex_init(&self->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&self->is_idle, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *out_instance = self;
    return TREADLE_OK;
}

static treadle_status make_code(struct store *self, const char *signature, treadle_closure_fn handler, void (**out_code)(void)) {
    treadle_closure closure;
    treadle_closure_config config = TREADLE_INIT(treadle_closure_config);
    config.signature = signature, config.handler = handler, config.info = self;
    treadle_status status = treadle_closure_create(&config, &closure);
    return status == TREADLE_OK ? treadle_closure_get_code(closure, out_code) : status;
}

static treadle_status open_database(struct store *self) {
    char file[PATH_MAX], patience[32];
    size_t length;
    void (*busy_code)(void), (*commit_code)(void);
    const treadle_plugin_host *host = treadle_plugin_self;
    treadle_status status = host->copy_setting(host, "file", file, sizeof file, &length);
    if (status == TREADLE_OK && length >= sizeof file) status = TREADLE_E_RANGE;
    if (status == TREADLE_OK) status = host->copy_setting(host, "patience-ms", patience, sizeof patience, &length);
    if (status == TREADLE_OK) status = make_code(self, "i^vi", decide_to_wait, &busy_code);
    if (status == TREADLE_OK) status = make_code(self, "i^v", note_commit, &commit_code);
    if (status != TREADLE_OK) return status;
    self->patience_ms = atoi(patience);
    int result = sqlite3_open(file, &self->database);
    if (result == SQLITE_OK) result = sqlite3_busy_handler(self->database, (int (*)(void *, int))busy_code, NULL);
    if (result == SQLITE_OK) {
        result = sqlite3_exec(self->database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                              "CREATE TABLE IF NOT EXISTS texts(key TEXT PRIMARY KEY, text TEXT NOT NULL)", NULL, NULL, NULL);
    }
    for (int i = 0; i < QUERIES && result == SQLITE_OK; i++)
        result = sqlite3_prepare_v3(self->database, queries[i], -1, SQLITE_PREPARE_PERSISTENT, &self->statements[i], NULL);
    if (result != SQLITE_OK) {
        treadle_plugin_self->log(treadle_plugin_self, 0, sqlite3_errmsg(self->database));
        return TREADLE_E_SYSTEM;
    }
    sqlite3_commit_hook(self->database, (int (*)(void *))commit_code, NULL);
    return TREADLE_OK;
}

static treadle_status start(void *instance) {
    struct store *self = instance;
    treadle_thread_config worker = TREADLE_INIT(treadle_thread_config);
    treadle_status status = open_database(self);
    if (status == TREADLE_OK) status = treadle_thread_create(&worker, &self->worker);
    return status == TREADLE_OK ? treadle_thread_start_and_wait(self->worker, TREADLE_FOREVER) : status;
}

/* The worker goes on until the plugin's scope is closed, after this. */
static treadle_status stop(void *instance, int64_t timeout_ns) {
    struct store *self = instance;
    int result = 0;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    if (timeout_ns != TREADLE_FOREVER) {
        int64_t ns = until.tv_nsec + timeout_ns % 1000000000;
        until.tv_sec += timeout_ns / 1000000000 + ns / 1000000000;
        until.tv_nsec = ns % 1000000000;
    }
    pthread_mutex_lock(&self->lock);
    while (self->waiting > 0 && result != ETIMEDOUT) {
        result = timeout_ns == TREADLE_FOREVER ? pthread_cond_wait(&self->is_idle, &self->lock)
                                               : pthread_cond_timedwait(&self->is_idle, &self->lock, &until);
    }
    bool is_idle = self->waiting == 0;
    pthread_mutex_unlock(&self->lock);
    return is_idle ? TREADLE_OK : TREADLE_E_TIMEOUT;
}

/* The worker was joined. */
static void deinit(void *instance) {
    struct store *self = instance;
    for (int i = 0; i < QUERIES; i++) sqlite3_finalize(self->statements[i]);
    if (self->database) {
        sqlite3_busy_handler(self->database, NULL, NULL);
        sqlite3_commit_hook(self->database, NULL, NULL);
    }
    sqlite3_close(self->database);
    pthread_cond_destroy(&self->is_idle);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

static treadle_status save(void *instance, treadle_plugin_write_fn write, void *sink) {
    struct store *self = instance;
    char text[32];
    write(sink, text, (size_t)snprintf(text, sizeof text, "%llu", (unsigned long long)atomic_load(&self->written)));
    return TREADLE_OK;
}
static treadle_status restore(void *instance, const void *bytes, size_t size) {
    struct store *self = instance;
    char text[32] = "", *end;
    if (size == 0 || size >= sizeof text) return TREADLE_E_RANGE;
    memcpy(text, bytes, size);
    atomic_store(&self->written, strtoull(text, &end, 10));
    return *end ? TREADLE_E_ARG : TREADLE_OK;
}

static const void *get_extension(void *instance, const char *id) {
    struct store *self = instance;
    return strcmp(id, EXAMPLE_STORE) == 0 ? &self->extension : NULL;
}

/* Both are read at the start. */
static treadle_status set(void *instance, const char *key, const char *value) {
    (void)instance, (void)key, (void)value;
    return TREADLE_E_STATE;
}

static const char *const provided[] = {EXAMPLE_STORE, NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "file", .default_value = ":memory:", .description = "the database"},
    {.struct_size = sizeof(treadle_plugin_setting), .key = "patience-ms", .type = TREADLE_SETTING_INTEGER,
     .default_value = "2000", .maximum = 60000, .description = "how long to wait for others that have locked the file"},
};
static const treadle_plugin_description description = {
    TREADLE_PLUGIN_COMMON, .id = "org.example.store", .name = "Store", .version = "1.0", .flags = TREADLE_PLUGIN_MAY_UNMAP,
    .provided = provided, .settings = settings, .setting_count = sizeof settings / sizeof *settings,
    .init = init, .start = start, .stop = stop, .deinit = deinit,
    .get_extension = get_extension, .set = set, .save = save, .restore = restore,
};
TREADLE_PLUGIN_EXPORT(description)
