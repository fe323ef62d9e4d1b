/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * references_test.c: an object has 32,767 references of clients at most; each function that takes one says so. */
#include "message_ports.h"
#include "ports.h"
#include "probe.h"

enum { MOST = 32767 };
static void fill(treadle_object object, int owned) { CHECK_INT(take_all_references(object), MOST - owned); }

TEST(an_item_has_as_many_references_as_it_can_have, "OBJ-2 ABI-2") {
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        probe_make(&probe, kinds[k]);
        fill(probe.item, 1);
        CHECK_INT(kinds[k]->retain(probe.item), TREADLE_E_RANGE);
        return_references(probe.item, MOST - 1);
        CHECK_INT(probe.held, 1);
        return_references(probe.item, 1);
        CHECK_INT(probe.held, 0);
        probe_end(&probe);
    }
}

TEST(the_port_of_a_name_may_have_all_its_references, "OBJ-2 MSG-1 MSG-3") {
    const char *name = new_name();
    treadle_message_port local = make_local(name, NULL, NULL), remote = make_remote(name), port = (void *)1;
    treadle_message_port_context context = {.struct_size = sizeof context};
    fill(local, 1);
    CHECK_ERROR(treadle_message_port_create_local(name, &context, &port), TREADLE_E_RANGE, "as many references as it can have");
    CHECK(port == NULL);
    fill(remote, 1);
    port = (void *)1;
    CHECK_ERROR(treadle_message_port_create_remote(name, NULL, &port), TREADLE_E_RANGE, "as many references as it can have");
    CHECK(port == NULL);
    /* One that is released is there for the next. */
    return_references(local, 1), return_references(remote, 1);
    CHECK_INT(treadle_message_port_create_local(name, &context, &port), TREADLE_IGNORED);
    CHECK(port == local);
    CHECK_INT(treadle_message_port_create_remote(name, NULL, &port), TREADLE_IGNORED);
    CHECK(port == remote);
    return_references(remote, MOST), return_references(local, MOST);
}

TEST(a_loop_may_have_all_its_references, "OBJ-2 RL-9") {
    treadle_loop loop = treadle_loop_current(), copy = (void *)1;
    fill(loop, 0);
    CHECK_ERROR(treadle_loop_copy_of_thread(thread_id(), &copy), TREADLE_E_RANGE, "thread_id");
    CHECK(copy == NULL);
    copy = (void *)1;
    CHECK_ERROR(treadle_thread_copy_loop(treadle_thread_current(), &copy), TREADLE_E_RANGE, "thread");
    CHECK(copy == NULL);
    return_references(loop, MOST);
    CHECK_INT(treadle_loop_release(loop), TREADLE_E_STALE);
}

/* All references, or none: two of the three are taken before the one that cannot be. */
TEST(items_are_copied_with_all_their_references_or_not_at_all, "OBJ-2 MODE-8") {
    treadle_loop loop = treadle_loop_current();
    treadle_source source = make_source(NULL, NULL), full = make_source(NULL, NULL);
    treadle_timer timer = make_timer(NULL, NULL, FAR_AWAY, 0);
    treadle_object items[3];
    size_t count = 7;
    CHECK_INT(treadle_loop_add(loop, source, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, timer, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add(loop, full, M), TREADLE_OK);
    fill(full, 1);
    CHECK_ERROR(treadle_loop_copy_items(loop, M, items, 3, &count), TREADLE_E_RANGE, "items");
    CHECK_INT(count, 0);
    for (int i = 0; i < 3; i++) CHECK(items[i] == NULL || items[i] != full);
    CHECK_INT(treadle_loop_copy_items(loop, M, NULL, 0, &count), TREADLE_OK);
    CHECK_INT(count, 3);
    return_references(full, MOST - 1);
    CHECK_INT(treadle_loop_copy_items(loop, M, items, 3, &count), TREADLE_OK);
    for (int i = 0; i < 3; i++) return_references(items[i], 1);
    treadle_object all[] = {source, full, timer};
    for (int i = 0; i < 3; i++) {
        CHECK_INT(treadle_invalidate(all[i]), TREADLE_OK);
        return_references(all[i], 1);
        CHECK_INT(treadle_release(all[i]), TREADLE_E_STALE);
    }
}

TEST(a_port_may_have_all_its_references, "OBJ-2 PORT-1") {
    treadle_port port = make_port_of(NULL, NULL, 1), carried = make_port_of(NULL, NULL, 1);
    const treadle_component component = {.kind = TREADLE_COMPONENT_PORT, .port = carried};
    fill(carried, 1);
    CHECK_ERROR(send_parts(port, 1, &component, 1, NULL), TREADLE_E_RANGE, "components");
    CHECK_ERROR(send_parts(port, 1, NULL, 0, carried), TREADLE_E_RANGE, "reply_port");
    return_references(carried, MOST - 1);
    CHECK_INT(send_parts(port, 1, &component, 1, carried), TREADLE_OK);
    end_port(port);
    end_port(carried);
}

TEST_MAIN()
