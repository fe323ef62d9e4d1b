/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * label_test.c: labels of items: copied when the item is made, shown where it is described, refused where malformed. */
#include "probe.h"

static const char *text_of(treadle_object object) {
    static char text[2048];
    size_t length = 0;
    CHECK_INT(treadle_describe(object, text, sizeof text, &length), TREADLE_OK);
    CHECK_INT(length, strlen(text));
    return text;
}

static const char *last_message(void) {
    static treadle_error_info info;
    info.struct_size = sizeof info;
    CHECK_INT(treadle_last_error(&info), TREADLE_OK);
    return info.message;
}

static void ready(treadle_descriptor descriptor, uint32_t events, void *info) { (void)descriptor, (void)events, (void)info; }

/* An item of each kind with a label, or the first status that is not TREADLE_OK. */
static treadle_status make_all(const char *label, treadle_object items[4]) {
    static int pipe_ends[2] = {-1, -1};
    treadle_source_context source = {.struct_size = sizeof source, .label = label};
    treadle_timer_context timer = {.struct_size = sizeof timer, .fire_at = TREADLE_FOREVER, .label = label};
    treadle_observer_context observer = {.struct_size = sizeof observer, .label = label};
    if (pipe_ends[0] < 0) CHECK_INT(pipe(pipe_ends), 0);
    treadle_descriptor_context descriptor = {
        .struct_size = sizeof descriptor, .fd = pipe_ends[0], .events = TREADLE_READABLE, .ready = ready, .label = label};
    treadle_status status[4] = {
        treadle_source_create(&source, (treadle_source *)&items[0]), treadle_descriptor_create(&descriptor, (treadle_descriptor *)&items[1]),
        treadle_timer_create(&timer, (treadle_timer *)&items[2]), treadle_observer_create(&observer, (treadle_observer *)&items[3])};
    for (int i = 1; i < 4; i++) CHECK_INT(status[i], status[0]);
    return status[0];
}

TEST(a_label_is_copied_and_shown, "SRC0-1 RL-12") {
    char label[] = "the gear \xe2\x9a\x99", *kept = strdup(label);
    treadle_object items[4];
    CHECK_INT(make_all(label, items), TREADLE_OK);
    memset(label, 'x', sizeof label - 1);
    for (int i = 0; i < 4; i++) {
        CHECK(strstr(text_of(items[i]), kept));
        CHECK_INT(treadle_release(items[i]), TREADLE_OK);
    }
    free(kept);
}

TEST(an_item_without_a_label_shows_none, "RL-12") {
    treadle_object items[4];
    CHECK_INT(make_all(NULL, items), TREADLE_OK);
    for (int i = 0; i < 4; i++) {
        CHECK(!strchr(text_of(items[i]), '"'));
        CHECK_INT(treadle_release(items[i]), TREADLE_OK);
    }
}

TEST(a_label_has_up_to_255_bytes_of_utf8, "OBJ-6") {
    char label[258];
    treadle_object items[4];
    memset(label, 'a', sizeof label);
    label[257] = 0;
    CHECK_INT(make_all(label, items), TREADLE_E_RANGE);
    label[256] = 0;
    CHECK_INT(make_all(label, items), TREADLE_E_RANGE);
    CHECK_TEXT(last_message(), "label is longer than 255 bytes");
    label[255] = 0;
    CHECK_INT(make_all(label, items), TREADLE_OK);
    for (int i = 0; i < 4; i++) {
        CHECK(strstr(text_of(items[i]), label));
        CHECK_INT(treadle_release(items[i]), TREADLE_OK);
    }
    static const char *const malformed[] = {"\xff", "a\xc0\x80", "\xed\xa0\x80", "cut \xe2\x9a"};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        CHECK_INT(make_all(malformed[i], items), TREADLE_E_ARG);
        CHECK_TEXT(last_message(), "label is not UTF-8");
        for (int k = 0; k < 4; k++) CHECK(!items[k]);
    }
    CHECK_INT(make_all("", items), TREADLE_OK);
    for (int i = 0; i < 4; i++) CHECK_INT(treadle_release(items[i]), TREADLE_OK);
}

TEST(a_label_does_not_break_the_lines, "RL-12") {
    treadle_object items[4];
    CHECK_INT(make_all("two\nlines\t", items), TREADLE_OK);
    for (int i = 0; i < 4; i++) {
        CHECK(strstr(text_of(items[i]), "\"two lines \"") && !strchr(text_of(items[i]), '\n'));
        CHECK_INT(treadle_release(items[i]), TREADLE_OK);
    }
}

TEST_MAIN()
