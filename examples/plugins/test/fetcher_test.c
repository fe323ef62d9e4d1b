/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * fetcher_test.c: hosts the fetcher, and unloads it at rest, at work, a hundred times, and while libcurl keeps its function pointers,
 * which it calls then.
 *
 * needs: libcurl4-openssl-dev */
#include "fetching.h"

static void fetch_once(void) {
    size_t size = 5000;
    treadle_plugin plugin = load("fetcher", NULL);
    fetched = 0;
    fetch(start(plugin, EXAMPLE_FETCHER), "5000", &size, NULL);
    wait_for(&fetched, 1);
    unload(plugin, "fetcher");
}

TEST(the_fetcher_fetches_and_is_unloaded_at_work, "") {
    size_t sizes[20];
    char name[16];
    uint64_t id;
    pthread_t thread;
    void *status;
    server_start();
    treadle_plugin plugin = load("fetcher", SETTINGS("max-bytes", "300000"));
    const struct example_fetcher *fetcher = start(plugin, EXAMPLE_FETCHER);
    for (size_t i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "%zu", sizes[i] = i * i * 500);
        fetch(fetcher, name, &sizes[i], NULL);
    }
    CHECK_INT(fetched, 0);
    wait_for(&fetched, 20);
    fetch(fetcher, "nothing", NULL, NULL);
    wait_for(&fetched, 21);
    CHECK(last_fetch.http_status == 404 && !last_fetch.has_failed);
    fetch(fetcher, "300001", NULL, NULL);
    wait_for(&fetched, 22);
    CHECK(last_fetch.has_failed && last_fetch.size <= 300000);
    CHECK_INT(fetcher->start(fetcher->instance, "file:///etc/passwd", take_body, NULL, NULL), TREADLE_OK);
    wait_for(&fetched, 23);
    CHECK(last_fetch.has_failed && last_fetch.size == 0);
    CHECK_INT(pthread_create(&thread, NULL, fetch_from_here, (void *)fetcher), 0);
    CHECK_INT(pthread_join(thread, &status), 0);
    CHECK_INT((intptr_t)status, TREADLE_E_WRONG_THREAD);
    /* One is cancelled; five are in the middle when the plugin ends, and one has not begun. */
    treadle_descriptor source;
    CHECK_INT(treadle_descriptor_start(server.output, TREADLE_READABLE, take_slow, NULL, &source), TREADLE_OK);
    for (int i = 0; i < 5; i++) fetch(fetcher, "slow", NULL, NULL);
    fetch(fetcher, "slow", NULL, &id);
    wait_for(&slow, 6);
    CHECK_INT(fetcher->cancel(fetcher->instance, id), TREADLE_OK);
    CHECK_INT(fetcher->cancel(fetcher->instance, id), TREADLE_E_NOT_FOUND);
    fetch(fetcher, "slow", NULL, NULL);
    unload(plugin, "fetcher");
    CHECK_INT(fetched, 23);
    CHECK(!is_mapped("fetcher"));
    CHECK_INT(late_calls, 0);
    call_kept_pointers();
    CHECK_INT(late_calls, 3);
    CHECK_INT(treadle_invalidate(source), TREADLE_OK);
    CHECK_INT(treadle_release(source), TREADLE_OK);
    server_stop();
}

TEST(the_fetcher_leaves_nothing, "") {
    server_start();
    many_times(fetch_once);
    server_stop();
}
TEST(libcurl_calls_what_is_left_of_the_fetcher, "") {
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
    for (int i = 0; i < 400; i++) {
        treadle_plugin plugin = load("fetcher", NULL);
        CHECK(start(plugin, EXAMPLE_FETCHER));
        unload(plugin, "fetcher");
    }
}

TEST_MAIN()
