/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * sizes_test.c: every function that takes a size, with 0, with 1, and with sizes that no memory has, between guard pages.
 * sizes.py writes the cases from the headers. */
#include "all_calls.h"

#include <sys/mman.h>

struct size_case {
    const char *name, *argument, *other; /* what a refusal names: the one or the other */
    treadle_status (*call)(struct handles *h, void *room, size_t size);
    size_t element; /* bytes of one element of the room */
    bool releases;  /* its elements are references */
    bool unlimited; /* every size is a good one */
};
/* Where the functions store their results: room for the largest. */
static _Alignas(16) unsigned char outs[256];
#include "sizes_cases.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A page to write to, between two that nobody may touch. */
static unsigned char *page;
static size_t page_size;
static void make_page(void) {
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *pages = mmap(NULL, 3 * page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    page = pages + page_size;
    CHECK_INT(mprotect(page, page_size, PROT_READ | PROT_WRITE), 0);
}
/* The index of the first byte outside of from..to that was written; the page's size if there is none. */
static size_t first_written(size_t from, size_t to) {
    for (size_t i = 0; i < page_size; i++) {
        if ((i < from || i >= to) && page[i] != 0xA5) return i;
    }
    return page_size;
}

static void call_with(const struct size_case *its, struct handles *h, size_t size) {
    size_t bytes = size > 1 ? page_size / 2 : size * its->element;
    unsigned char *room = page + page_size - bytes;
    memset(page, 0xA5, page_size);
    memset(outs, 0, sizeof outs);
    treadle_error_info before = {.struct_size = sizeof before}, after = before;
    CHECK_INT(treadle_last_error(&before), TREADLE_OK);
    treadle_status status = its->call(h, room, size);
    CHECK_INT(treadle_last_error(&after), TREADLE_OK);
    size_t written = first_written(size > 1 ? page_size : page_size - bytes, page_size);
    if (written != page_size) check_failed(__FILE__, __LINE__, "%s(%zu) writes at %td of its room", its->name, size, page + written - room);
    if (status < 0 && (after.code != status || after.sequence != before.sequence + 1))
        check_failed(__FILE__, __LINE__, "%s(%zu) returns %d, but the last error says %d", its->name, size, status, after.code);
    size_t count;
    memcpy(&count, outs, sizeof count);
    if (its->releases && size == 1 && status == TREADLE_OK && count > 0) {
        treadle_object first;
        memcpy(&first, room, sizeof first);
        CHECK_INT(treadle_release(first), TREADLE_OK);
    }
    if (size <= 1) return;
    if (its->unlimited) {
        CHECK(status >= 0);
        return;
    }
    if (status >= 0) check_failed(__FILE__, __LINE__, "%s(%zu) returns %s", its->name, size, treadle_status_name(status));
    bool is_named = strncmp(after.message, its->argument, strlen(its->argument)) == 0 || strncmp(after.message, its->other, strlen(its->other)) == 0;
    if (!is_named) check_failed(__FILE__, __LINE__, "%s(%zu): \"%s\" does not name %s", its->name, size, after.message, its->argument);
}

static void call_all(void *info) {
    struct handles *h = info;
    static const size_t sizes[] = {0, 1, SIZE_MAX, SIZE_MAX - 15, (size_t)PTRDIFF_MAX + 1};
    for (size_t i = 0; i < COUNT(size_cases); i++) {
        for (size_t k = 0; k < COUNT(sizes); k++) call_with(&size_cases[i], h, sizes[k]);
    }
}

TEST(every_size_is_checked, "ABI-14") {
    struct handles h = {0};
    make_page();
    handles_make(&h, treadle_loop_current(), TREADLE_DEFAULT_MODE);
    CHECK_INT(treadle_host_register(&(treadle_host_config){.struct_size = sizeof(treadle_host_config), .dispatch = call_dispatch},
                                    (treadle_host *)&h.of[HOST]), TREADLE_OK);
    CHECK_INT(treadle_loop_add(h.of[LOOP], h.of[TIMER], h.mode), TREADLE_OK);
    /* While it runs, it has a current mode. */
    CHECK_INT(treadle_loop_post(treadle_loop_current(), call_all, &h), TREADLE_OK);
    CHECK_INT(poll_mode(TREADLE_DEFAULT_MODE), TREADLE_RUN_TIMED_OUT);
    handles_end(&h);
}

/* The function of a plugin's host is no exported one. */
static treadle_status ask_for_settings(const treadle_plugin_host *host, void **out_instance) {
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 15, (size_t)PTRDIFF_MAX + 1};
    size_t length = 1;
    *out_instance = NULL;
    for (size_t i = 0; i < COUNT(sizes); i++) {
        memset(page, 0xA5, page_size);
        CHECK_ERROR(host->copy_setting(host, "key", (char *)page + page_size / 2, sizes[i], &length), TREADLE_E_ARG, "capacity");
        CHECK_INT(first_written(page_size, page_size), page_size);
        CHECK_INT(length, 0);
    }
    CHECK_INT(host->copy_setting(host, "key", (char *)page + page_size, 0, &length), TREADLE_OK);
    return TREADLE_OK;
}
static const treadle_plugin_description *asking_query(uint32_t host_abi) {
    static treadle_plugin_description asking;
    asking = *call_query(host_abi);
    asking.init = ask_for_settings;
    return &asking;
}
TEST(a_plugin_s_sizes_are_checked, "ABI-14") {
    treadle_plugin plugin = NULL;
    make_page();
    CHECK_INT(treadle_plugin_load(PLUGIN_CONFIG(asking_query), &plugin), TREADLE_OK);
    CHECK_INT(treadle_plugin_start(plugin), TREADLE_OK);
    call_unload(plugin);
}

TEST_MAIN()
