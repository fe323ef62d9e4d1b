/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_kept_test.c: a plugin is loaded thousands of times, and in each of its lives gives three function pointers to a library
 * that keeps them for ever. All of them go on working, and memory stays level. TREADLE_TEST_LOADS says how often (3,000). */
#include "plugins.h"

#include <malloc.h>

static int64_t heap(void) {
    struct mallinfo2 heap = mallinfo2();
    return (int64_t)(heap.uordblks + heap.hblkhd);
}

/* The pointers of all lives, as the library keeps them. */
static void (**kept)(void);
static size_t kept_count, kept_most;
static void keep(void (*code)(void)) {
    CHECK(kept_count < kept_most);
    kept[kept_count++] = code;
}
static const struct script keeping = {say, keep};
static const void *keeping_extension(void *info, const char *id) { return (void)info, strcmp(id, SCRIPT) == 0 ? &keeping : NULL; }

static void check_kept(size_t at, int32_t first, int32_t second, int32_t third) {
    CHECK_INT(((int32_t (*)(void))kept[at])(), first);
    CHECK_INT(((int32_t (*)(void *))kept[at + 1])(NULL), second);
    CHECK_INT(((int32_t (*)(void *, int32_t, int32_t, void *, void *))kept[at + 2])(NULL, 1, 2, NULL, NULL), third);
}

TEST(a_plugin_that_keeps_pointers_is_loaded_without_end, "PLUG-5") {
    const char *asked = getenv("TREADLE_TEST_LOADS");
    size_t loads = asked ? (size_t)atol(asked) : (size_t)scaled(3000), warm = loads / 2;
    int64_t heap_before = 0;
    long resident_before = 0;
    CHECK(loads > 0);
    kept_most = 3 * loads;
    kept = calloc(kept_most, sizeof *kept);
    CHECK(kept);
    memset(kept, 1, kept_most * sizeof *kept);
    watch_reports();
    for (size_t i = 0; i < loads; i++) {
        if (i == warm) heap_before = heap(), resident_before = resident_kilobytes();
        treadle_plugin plugin = NULL;
        treadle_plugin_config config = config_of(path_of("keeper"));
        config.get_extension = keeping_extension;
        CHECK_INT(treadle_plugin_load(&config, &plugin), TREADLE_OK);
        CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
        check_kept(3 * i, 1, 1, 1);
        unload(plugin);
        CHECK(!is_mapped("keeper"));
        /* A call brings pages that all pointers share into the sum, so there is none while it is taken. */
        if (i < warm) check_kept(3 * i, -1, -2, -3);
    }
    CHECK_INT(kept_count, kept_most);
    int64_t more_heap = heap() - heap_before;
    long more_resident = resident_kilobytes() - resident_before;
    /* The second half of the lives cost nothing: neither a pointer each, nor what one page too many in the half would be. */
    if (!is_instrumented() && !is_refused("mremap_again") && warm >= 1000) CHECK(more_heap < 4096 && more_resident < 1024);
    for (size_t i = 0; i < loads; i++) check_kept(3 * i, -1, -2, -3);
    free(kept);
}

TEST_MAIN()
