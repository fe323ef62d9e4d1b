/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * libraries_sqlite_test.c: SQLite's hooks and functions as closures: an update hook, a progress handler, a function for
 * queries, and a busy handler that is called on the threads that wait for the database and is handled on one loop's.
 * pkg-config: sqlite3 */
#include "closures.h"

#include <sqlite3.h>

#define SQL(call) CHECK_INT(call, SQLITE_OK)
static void execute(sqlite3 *database, const char *text) {
    char *message = NULL;
    if (sqlite3_exec(database, text, NULL, NULL, &message) != SQLITE_OK) check_failed(__FILE__, __LINE__, "%s: %s", text, message);
}
static int64_t number_of(sqlite3 *database, const char *query) {
    sqlite3_stmt *statement = NULL;
    SQL(sqlite3_prepare_v2(database, query, -1, &statement, NULL));
    CHECK_INT(sqlite3_step(statement), SQLITE_ROW);
    int64_t result = sqlite3_column_int64(statement, 0);
    SQL(sqlite3_finalize(statement));
    return result;
}

/* The update hook: what, database, table, row. */
struct update {
    int what;
    char table[16];
    int64_t row;
};
static struct update updates[16];
static int update_count;
static treadle_status note_update(treadle_call *call, void *info) {
    struct update *update = &updates[update_count++];
    CHECK(update_count <= 16);
    update->what = *(const int *)call->arguments[1];
    CHECK_TEXT(*(const char *const *)call->arguments[2], "main");
    snprintf(update->table, sizeof update->table, "%s", *(const char *const *)call->arguments[3]);
    update->row = *(const int64_t *)call->arguments[4];
    CHECK(*(void *const *)call->arguments[0] == NULL && info == NULL);
    return TREADLE_OK;
}
typedef void (*update_fn)(void *, int, const char *, const char *, sqlite3_int64);

static void change(sqlite3 *database) {
    execute(database, "CREATE TABLE warp(a); CREATE TABLE weft(a);"
                      "INSERT INTO warp VALUES (1), (2); INSERT INTO weft VALUES (3);"
                      "UPDATE warp SET a = 5 WHERE a = 2; DELETE FROM weft;");
}
static void check_updates(void) {
    /* DELETE without a condition empties the table in one step, of which the hook is not told. */
    static const struct update expected[] = {
        {SQLITE_INSERT, "warp", 1}, {SQLITE_INSERT, "warp", 2}, {SQLITE_INSERT, "weft", 1}, {SQLITE_UPDATE, "warp", 2}};
    CHECK_INT(update_count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        CHECK_INT(updates[i].what, expected[i].what);
        CHECK_TEXT(updates[i].table, expected[i].table);
        CHECK_INT(updates[i].row, expected[i].row);
    }
}

TEST(an_update_hook, "PERF-2 OBJ-3 OBJ-8") {
    sqlite3 *database = NULL;
    SQL(sqlite3_open(":memory:", &database));
    treadle_closure closure = MADE(.signature = "v^vi**q", .handler = note_update);
    sqlite3_update_hook(database, CODE_OF(update_fn, closure), NULL);
    change(database);
    check_updates();
    watch_reports();
    end_closure(closure);
    execute(database, "INSERT INTO warp VALUES (9)"); /* SQLite still has the pointer */
    check_updates();
    CHECK_INT(atomic_load(&reports), 1);
    SQL(sqlite3_close(database));
}
TEST(an_update_hook_that_tells_a_loop_later, "PERF-4 PERF-8") {
    sqlite3 *database = NULL;
    SQL(sqlite3_open(":memory:", &database));
    treadle_closure closure = MADE(.signature = "v^viO*O*q", .handler = note_update, .loop = treadle_loop_current(),
                                   .delivery = TREADLE_DELIVERY_ASYNC);
    sqlite3_update_hook(database, CODE_OF(update_fn, closure), NULL);
    change(database);
    SQL(sqlite3_close(database)); /* the names that it passed are gone */
    CHECK_INT(update_count, 0);
    while (info_of(closure).waiting) handle_one(TREADLE_DEFAULT_MODE);
    check_updates();
    end_closure(closure);
}

/* The progress handler interrupts the query when it returns anything but 0. */
struct progress {
    struct worker *worker;
    int steps, most;
};
static treadle_status count_steps(treadle_call *call, void *info) {
    struct progress *progress = info;
    int32_t is_over = ++progress->steps >= progress->most;
    if (progress->worker) CHECK_INT(thread_id(), progress->worker->thread_id);
    return treadle_call_set_result(call, &is_over, sizeof is_over);
}
static const char endless[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

TEST(a_progress_handler, "PERF-3 PERF-7") {
    struct worker worker;
    worker_start(&worker);
    for (int hops = 0; hops < 2; hops++) {
        sqlite3 *database = NULL;
        sqlite3_stmt *statement = NULL;
        struct progress progress = {hops ? &worker : NULL, 0, 100};
        treadle_closure closure = MADE(.signature = "i^v", .handler = count_steps, .info = &progress,
                                       .delivery = hops ? TREADLE_DELIVERY_SYNC : TREADLE_DELIVERY_INLINE,
                                       .loop = hops ? worker.loop : NULL);
        SQL(sqlite3_open(":memory:", &database));
        sqlite3_progress_handler(database, 50, CODE_OF(int (*)(void *), closure), NULL);
        SQL(sqlite3_prepare_v2(database, endless, -1, &statement, NULL));
        CHECK_INT(sqlite3_step(statement), SQLITE_INTERRUPT);
        CHECK_INT(progress.steps, 100);
        CHECK_INT(info_of(closure).handled, 100);
        CHECK_INT(sqlite3_finalize(statement), SQLITE_INTERRUPT);
        SQL(sqlite3_close(database));
        end_closure(closure);
    }
    worker_stop(&worker);
}

/* A function for queries gets a context, which it gives its result to. */
typedef void (*function_fn)(sqlite3_context *, int, sqlite3_value **);
static treadle_status weave(treadle_call *call, void *info) {
    sqlite3_context *context = *(sqlite3_context *const *)call->arguments[0];
    int count = *(const int *)call->arguments[1];
    sqlite3_value **values = *(sqlite3_value **const *)call->arguments[2];
    int64_t sum = 0;
    if (info) CHECK_INT(thread_id(), ((struct worker *)info)->thread_id);
    for (int i = 0; i < count; i++) sum += sqlite3_value_int64(values[i]);
    sqlite3_result_int64(context, sum);
    return TREADLE_OK;
}
struct querying {
    treadle_closure closure;
    int number;
};
static void *query(void *info) {
    struct querying *self = info;
    char text[128];
    sqlite3 *database = NULL;
    SQL(sqlite3_open(":memory:", &database));
    SQL(sqlite3_create_function(database, "weave", -1, SQLITE_UTF8, NULL, CODE_OF(function_fn, self->closure), NULL, NULL));
    execute(database, "CREATE TABLE t(a, b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100)"
                      " INSERT INTO t SELECT i, i * 2 FROM n");
    snprintf(text, sizeof text, "SELECT sum(weave(a, b, %d)) FROM t", self->number);
    CHECK_INT(number_of(database, text), 15150 + 100 * self->number);
    SQL(sqlite3_close(database));
    return NULL;
}
TEST(a_function_of_queries, "PERF-3 PERF-7 OBJ-7") {
    struct worker worker;
    pthread_t threads[4];
    struct querying querying[4];
    treadle_closure own = MADE(.signature = "v^vi^^v", .handler = weave);
    query(&(struct querying){own, 1});
    CHECK_INT(info_of(own).handled, 100);
    end_closure(own);
    /* Of queries on four threads, on the thread of one loop. */
    worker_start(&worker);
    treadle_closure closure = MADE(.signature = "v^vi^^v", .handler = weave, .info = &worker, .loop = worker.loop,
                                   .delivery = TREADLE_DELIVERY_SYNC);
    for (int i = 0; i < 4; i++) {
        querying[i] = (struct querying){closure, i};
        CHECK_INT(pthread_create(&threads[i], NULL, query, &querying[i]), 0);
    }
    for (int i = 0; i < 4; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(info_of(closure).handled, 400);
    end_closure(closure);
    worker_stop(&worker);
}

/* The busy handler: writers on threads of their own find the database locked by the loop's thread, and ask there what
 * to do. That knows when to give the lock back, which it does once all of them have asked. */
#define WRITERS 3
static struct locking {
    char path[64];
    int32_t thread;
    sqlite3 *database;
    treadle_closure closure, end;
    int32_t asking[WRITERS];
    int count, refusals, ended;
} locking;
static treadle_status decide(treadle_call *call, void *info) {
    struct locking *self = info;
    int32_t asking = (int32_t)*(const intptr_t *)call->arguments[0], goes_on = 1;
    int i = 0;
    CHECK_INT(thread_id(), self->thread);
    CHECK(asking != self->thread);
    while (i < self->count && self->asking[i] != asking) i++;
    if (i == self->count) self->asking[self->count++] = asking;
    /* One gives up after a while, so that both answers are seen. */
    if (self->count == WRITERS && self->refusals == 0) {
        self->refusals++;
        goes_on = 0;
    } else if (self->count == WRITERS && !sqlite3_get_autocommit(self->database)) {
        execute(self->database, "COMMIT");
    }
    return treadle_call_set_result(call, &goes_on, sizeof goes_on);
}
static treadle_status note_end(treadle_call *call, void *info) {
    struct locking *self = info;
    CHECK_INT(thread_id(), self->thread);
    return (void)call, self->ended++, TREADLE_OK;
}
static void *write_row(void *info) {
    sqlite3 *database = NULL;
    char text[64];
    SQL(sqlite3_open(locking.path, &database));
    SQL(sqlite3_busy_handler(database, CODE_OF(int (*)(void *, int), locking.closure), (void *)(intptr_t)thread_id()));
    snprintf(text, sizeof text, "INSERT INTO t VALUES (%d)", *(int *)info);
    int result = sqlite3_exec(database, text, NULL, NULL, NULL);
    CHECK(result == SQLITE_OK || result == SQLITE_BUSY);
    SQL(sqlite3_close(database));
    CODE_OF(void (*)(void), locking.end)();
    return (void *)(intptr_t)result;
}
TEST(a_busy_handler_on_one_thread_for_all, "PERF-3 PERF-5 PERF-7 OBJ-7") {
    pthread_t threads[WRITERS];
    int numbers[WRITERS] = {1, 2, 3}, refused = 0;
    char folder[] = "/tmp/treadle-sqlite-XXXXXX";
    CHECK(mkdtemp(folder));
    snprintf(locking.path, sizeof locking.path, "%s/database", folder);
    locking.thread = thread_id();
    SQL(sqlite3_open(locking.path, &locking.database));
    execute(locking.database, "CREATE TABLE t(a); BEGIN EXCLUSIVE; INSERT INTO t VALUES (0)");
    locking.closure = MADE(.signature = "i^vi", .handler = decide, .info = &locking, .loop = treadle_loop_current(),
                           .delivery = TREADLE_DELIVERY_SYNC);
    locking.end = MADE(.signature = "v", .handler = note_end, .info = &locking, .loop = treadle_loop_current(),
                       .delivery = TREADLE_DELIVERY_ASYNC);
    for (int i = 0; i < WRITERS; i++) CHECK_INT(pthread_create(&threads[i], NULL, write_row, &numbers[i]), 0);
    /* They may get in each other's way later, too: the loop answers until the last has ended. */
    while (locking.ended < WRITERS) handle_one(TREADLE_DEFAULT_MODE);
    for (int i = 0; i < WRITERS; i++) {
        void *result = NULL;
        CHECK_INT(pthread_join(threads[i], &result), 0);
        refused += (intptr_t)result == SQLITE_BUSY;
    }
    CHECK_INT(refused, 1);
    CHECK_INT(locking.count, WRITERS);
    CHECK(info_of(locking.closure).handled >= WRITERS + 1);
    CHECK_INT(number_of(locking.database, "SELECT count(*) FROM t"), WRITERS);
    end_closure(locking.closure);
    end_closure(locking.end);
    SQL(sqlite3_close(locking.database));
    CHECK_INT(unlink(locking.path), 0);
    CHECK_INT(rmdir(folder), 0);
}

TEST_MAIN()
