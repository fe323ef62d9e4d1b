/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * keeping_test.c: libraries that keep a plugin's function pointers beyond its end, and call them then. */
#include "keeping.h"
#include "storing.h"

TEST(sqlite_calls_what_is_left_of_the_store, "") {
    needs("store");
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
TEST(libcurl_calls_what_is_left_of_the_fetcher, "") {
    needs("fetcher");
    size_t size = 5000;
    server_start();
    treadle_plugin plugin = load("fetcher", NULL);
    fetch(start(plugin, EXAMPLE_FETCHER), "5000", &size, NULL);
    wait_for(&fetched, 1);
    unload(plugin, "fetcher");
    CHECK_INT(late_calls, 0);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(fetch_with_kept(), CURLE_WRITE_ERROR);
        CHECK_INT(begin_with_kept(), CURLM_ABORTED_BY_CALLBACK);
        CHECK(!is_mapped("fetcher"));
    }
    CHECK(late_calls >= 2);
    server_stop();
}
/* Each life keeps three pointers for ever, and a process has 1,024 without executable memory. */
TEST(a_plugin_that_keeps_pointers_can_be_loaded_again_and_again, "") {
    needs("fetcher");
    for (int i = 0; i < 400; i++) {
        treadle_plugin plugin = load("fetcher", NULL);
        CHECK(start(plugin, EXAMPLE_FETCHER));
        unload(plugin, "fetcher");
    }
}

TEST_MAIN()
