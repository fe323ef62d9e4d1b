/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * unused_item_test.c: the debug log names items that were created and released, and could never be called. */
#include "helpers.h"

static char told[4096];
static int count;
static void keep(const char *message, void *info) {
    (void)info;
    snprintf(told, sizeof told, "%s", message);
    count++;
}
__attribute__((constructor)) static void forget_environment(void) { unsetenv("TREADLE_DEBUG"), unsetenv("TREADLE_SLOW_MS"); }

static int calls;
static void on_timer(treadle_timer timer, void *info) { (void)timer, (void)info, calls++; }
static void on_ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info; }
static void on_activity(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, (void)info; }
static treadle_object make(int kind, const char *label) {
    treadle_object item = NULL;
    treadle_source_context source = {.struct_size = sizeof source, .label = label};
    treadle_timer_context timer = {.struct_size = sizeof timer, .fire = on_timer, .label = label, .fire_at = 1};
    treadle_descriptor_context descriptor = {.struct_size = sizeof descriptor, .ready = on_ready, .fd = 2, .events = TREADLE_READABLE,
                                             .label = label};
    treadle_observer_context observer = {.struct_size = sizeof observer, .notify = on_activity, .activities = TREADLE_EXIT, .label = label};
    switch (kind) {
    case TREADLE_KIND_SOURCE: CHECK_INT(treadle_source_create(&source, (treadle_source *)&item), TREADLE_OK); break;
    case TREADLE_KIND_TIMER: CHECK_INT(treadle_timer_create(&timer, (treadle_timer *)&item), TREADLE_OK); break;
    case TREADLE_KIND_DESCRIPTOR: CHECK_INT(treadle_descriptor_create(&descriptor, (treadle_descriptor *)&item), TREADLE_OK); break;
    default: CHECK_INT(treadle_observer_create(&observer, (treadle_observer *)&item), TREADLE_OK);
    }
    return item;
}
static const struct { int kind; const char *name; } kinds[] = {
    {TREADLE_KIND_SOURCE, "source"}, {TREADLE_KIND_TIMER, "timer"}, {TREADLE_KIND_DESCRIPTOR, "descriptor"}, {TREADLE_KIND_OBSERVER, "observer"}};
enum { KINDS = sizeof kinds / sizeof *kinds };

TEST(an_item_that_was_never_added_is_told, "OBJ-4 OBJ-6") {
    CHECK_INT(treadle_set_log(keep, NULL, NULL), TREADLE_OK);
    for (int i = 0; i < KINDS; i++) {
        for (int labelled = 0; labelled < 2; labelled++) {
            char words[128];
            int before = count;
            treadle_object item = make(kinds[i].kind, labelled ? "forgotten" : NULL);
            CHECK_INT(treadle_retain(item), TREADLE_OK);
            CHECK_INT(treadle_release(item), TREADLE_OK);
            CHECK_INT(count, before);
            CHECK_INT(treadle_release(item), TREADLE_OK);
            CHECK_INT(count, before + 1);
            snprintf(words, sizeof words, "never added to a loop, so it was never called: %s %s", kinds[i].name, labelled ? "\"forgotten\" 0x" : "0x");
            if (!strstr(told, words)) check_failed(__FILE__, __LINE__, "\"%s\" does not contain \"%s\"", told, words);
        }
    }
}

TEST(an_item_that_was_used_or_ended_is_not, "OBJ-4 OBJ-5 TMR-11") {
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(treadle_set_log(keep, NULL, NULL), TREADLE_OK);
    for (int i = 0; i < KINDS; i++) {
        treadle_object ended = make(kinds[i].kind, NULL), closed = make(kinds[i].kind, NULL);
        CHECK_INT(treadle_invalidate(ended), TREADLE_OK);
        CHECK_INT(treadle_release(ended), TREADLE_OK);
        CHECK_INT(treadle_close(closed, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(treadle_release(closed), TREADLE_OK);
        const char *const modes[] = {TREADLE_DEFAULT_MODE, "another", TREADLE_COMMON_MODES};
        for (int m = 0; m < 3; m++) {
            treadle_object added = make(kinds[i].kind, NULL);
            CHECK_INT(treadle_loop_add(loop, added, modes[m]), TREADLE_OK);
            CHECK_INT(treadle_loop_remove(loop, added, modes[m]), TREADLE_OK);
            CHECK_INT(treadle_release(added), TREADLE_OK);
        }
    }
    treadle_timer fired = make(TREADLE_KIND_TIMER, NULL);
    CHECK_INT(treadle_timer_fire(fired), TREADLE_OK);
    CHECK_INT(treadle_timer_release(fired), TREADLE_OK);
    CHECK_INT(calls, 1);
    if (count) check_failed(__FILE__, __LINE__, "told: %s", told);
}

TEST(what_is_older_than_the_log_is_not, "OBJ-4") {
    treadle_object item = make(TREADLE_KIND_TIMER, NULL), late;
    CHECK_INT(treadle_set_log(keep, NULL, NULL), TREADLE_OK);
    CHECK_INT(treadle_release(item), TREADLE_OK);
    late = make(TREADLE_KIND_TIMER, NULL);
    CHECK_INT(treadle_set_log(NULL, NULL, NULL), TREADLE_OK);
    CHECK_INT(treadle_release(late), TREADLE_OK);
    CHECK_INT(count, 0);
}

TEST_MAIN()
