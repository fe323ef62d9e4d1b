/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * store_test.c: connections of SQLite that keep the store's function pointers beyond its end, and call them then.
 *
 * needs: libsqlite3-dev */
#include "storing.h"

#include <sqlite3.h>

#define SQLITE(name) ((__typeof__(&(name)))in_library("libsqlite3.so.0", #name))

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

TEST(sqlite_calls_what_is_left_of_the_store, "") {
    const char *folder = new_folder(), *file = in_folder(folder, "rows.db");
    treadle_plugin plugin = load("store", SETTINGS("file", file));
    const struct example_store *store = start(plugin, EXAMPLE_STORE);
    put_rows(store, 0, 1);
    wait_for(&answers, 1);
    struct connections kept = connections_open(file);
    CHECK_INT(execute(kept.keeper, "INSERT OR REPLACE INTO texts VALUES ('a', 'text')"), SQLITE_OK);
    check_count(store, 2, 2); /* the hook of the plugin counts for both */
    unload(plugin, "store");
    CHECK_INT(late_calls, 0);
    for (int i = 1; i < 4; i++) {
        connections_use(&kept, "INSERT OR REPLACE INTO texts VALUES ('b', 'text')");
        CHECK(!is_mapped("store"));
    }
    CHECK_INT(late_calls, 2); /* the first of each is told */
    connections_close(&kept);
    remove_folder(folder);
}

TEST_MAIN()
