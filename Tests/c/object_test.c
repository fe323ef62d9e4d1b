/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * object_test.c: ownership, validity, which thread a callback runs on. */
#include "probe.h"

#define MODE TREADLE_DEFAULT_MODE

TEST(every_reference_is_given_back_once, "OBJ-2 ABI-2") {
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->retain(probe.item), TREADLE_OK);
        CHECK_INT(kinds[k]->retain(probe.item), TREADLE_OK);
        for (int i = 0; i < 3; i++) {
            CHECK_INT(probe.held, 1);
            CHECK_INT(kinds[k]->release(probe.item), TREADLE_OK);
        }
        CHECK_INT(probe.held, 0);
        CHECK_ERROR(kinds[k]->release(probe.item), TREADLE_E_STALE, "object");
        CHECK_ERROR(kinds[k]->retain(probe.item), TREADLE_E_STALE, "object");
        probe_end(&probe);
    }
}

TEST(references_of_the_runtime_cannot_be_released, "OBJ-2 OBJ-3") {
    treadle_loop loop = treadle_loop_current();
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->add(loop, probe.item, MODE), TREADLE_OK);
        CHECK_INT(kinds[k]->release(probe.item), TREADLE_OK);
        CHECK_ERROR(kinds[k]->release(probe.item), TREADLE_E_STALE, "object");
        CHECK(kinds[k]->is_valid(probe.item) && kinds[k]->contains(loop, probe.item, MODE));
        CHECK_INT(kinds[k]->remove(loop, probe.item, MODE), TREADLE_OK);
        probe_end(&probe);
    }
    /* Get borrows, copy gives. A scheduled source's reference to the loop is not the client's either. */
    treadle_source source = keep_mode(MODE);
    treadle_loop copy = NULL;
    CHECK_ERROR(treadle_loop_release(loop), TREADLE_E_STALE, "object");
    CHECK_INT(treadle_loop_copy_of_thread(thread_id(), &copy), TREADLE_OK);
    CHECK(copy == loop);
    CHECK_INT(treadle_loop_release(copy), TREADLE_OK);
    CHECK_ERROR(treadle_loop_release(copy), TREADLE_E_STALE, "object");
    CHECK(treadle_loop_current() == loop && treadle_loop_contains_source(loop, source, MODE));
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

static void *retain_and_release(void *info) {
    struct probe *probe = info;
    for (int i = scaled(5000); i > 0; i--) {
        CHECK_INT(probe->kind->retain(probe->item), TREADLE_OK);
        CHECK_INT(probe->kind->release(probe->item), TREADLE_OK);
    }
    return NULL;
}
TEST(reference_counts_are_atomic, "OBJ-2 OBJ-6") {
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        pthread_t threads[4];
        probe_make(&probe, kinds[k]);
        for (int i = 0; i < 4; i++) CHECK_INT(pthread_create(&threads[i], NULL, retain_and_release, &probe), 0);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
        CHECK_INT(probe.held, 1);
        CHECK_INT(kinds[k]->release(probe.item), TREADLE_OK);
        probe_end(&probe);
    }
}

TEST(each_mode_and_the_common_set_hold_a_reference, "OBJ-3") {
    treadle_loop loop = treadle_loop_current();
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->add(loop, probe.item, "one"), TREADLE_OK);
        CHECK_INT(kinds[k]->add(loop, probe.item, TREADLE_COMMON_MODES), TREADLE_OK);
        CHECK_INT(kinds[k]->release(probe.item), TREADLE_OK);
        CHECK_INT(kinds[k]->remove(loop, probe.item, "one"), TREADLE_OK);
        CHECK_INT(probe.held, 1);
        /* It is in no mode now, only recorded. */
        CHECK_INT(kinds[k]->remove(loop, probe.item, MODE), TREADLE_OK);
        CHECK_INT(probe.held, 1);
        CHECK(kinds[k]->is_valid(probe.item) && kinds[k]->contains(loop, probe.item, TREADLE_COMMON_MODES));
        CHECK_INT(kinds[k]->remove(loop, probe.item, TREADLE_COMMON_MODES), TREADLE_OK);
        CHECK_INT(probe.held, 0);
        CHECK_ERROR(kinds[k]->release(probe.item), TREADLE_E_STALE, "object");
        probe_end(&probe);
    }
}

static struct probe *loop_users[2];
static void *thread_with_items(void *out_loop) {
    treadle_loop loop = treadle_loop_current();
    CHECK_INT(timer_kind.add(loop, loop_users[0]->item, MODE), TREADLE_OK);
    CHECK_INT(observer_kind.add(loop, loop_users[1]->item, MODE), TREADLE_OK);
    *(treadle_loop *)out_loop = loop;
    return NULL;
}
TEST(timers_and_observers_do_not_keep_a_loop, "OBJ-3 RL-8") {
    struct probe timer = {0}, observer = {0};
    treadle_loop loop = NULL;
    loop_users[0] = &timer;
    loop_users[1] = &observer;
    probe_make(&timer, &timer_kind);
    probe_make(&observer, &observer_kind);
    on_thread(thread_with_items, &loop);
    CHECK_INT(treadle_loop_wake(loop), TREADLE_E_STALE);
    CHECK(timer_kind.is_valid(timer.item) && observer_kind.is_valid(observer.item));
    probe_end(&timer);
    probe_end(&observer);
}

static void retain_in_cancel(treadle_source source, treadle_loop loop, const char *mode, void *info) {
    (void)source, (void)mode;
    CHECK_INT(treadle_loop_retain(loop), TREADLE_OK);
    *(treadle_loop *)info = loop;
}
static void *thread_with_a_source(void *info) {
    treadle_source_context context = {.struct_size = sizeof context, .info = info, .cancel = retain_in_cancel};
    treadle_source source = NULL;
    CHECK_INT(treadle_source_create(&context, &source), TREADLE_OK);
    CHECK_INT(treadle_loop_add_source(treadle_loop_current(), source, MODE), TREADLE_OK);
    return source;
}
TEST(a_source_keeps_its_loop_until_it_was_cancelled, "OBJ-3 RL-8 RL-9") {
    treadle_loop loop = NULL;
    treadle_source source = on_thread(thread_with_a_source, &loop);
    CHECK(loop);
    CHECK(treadle_loop_wake(loop) >= 0);
    CHECK_INT(treadle_loop_release(loop), TREADLE_OK);
    CHECK_INT(treadle_loop_wake(loop), TREADLE_E_STALE);
    CHECK_INT(treadle_source_release(source), TREADLE_OK);
}

/* A callback that ends its own object uses its info to its last line. */
static void end_itself(struct probe *probe) {
    CHECK_INT(probe->kind->invalidate(probe->item), TREADLE_OK);
    CHECK_INT(probe->kind->release(probe->item), TREADLE_OK);
    CHECK(!probe->kind->is_valid(probe->item));
    CHECK_INT(probe->ended, 0);
    CHECK(probe->held >= 1);
}
TEST(an_item_lives_until_its_callback_has_returned, "OBJ-3 OBJ-9 ABI-2 SRC0-2 TMR-7 OBS-8") {
    treadle_source keeper = keep_mode(MODE);
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {.on_call = end_itself};
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->add(treadle_loop_current(), probe.item, MODE), TREADLE_OK);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(probe.calls, 1);
        CHECK_INT(probe.ended, 1);
        CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
        CHECK_INT(probe.calls, 1);
        probe_end(&probe);
    }
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

static void release_other(struct probe *probe) {
    struct probe *other = probe->user;
    probe->on_call = NULL;
    CHECK_INT(other->kind->release(other->item), TREADLE_OK);
}
static void remove_and_release_other(struct probe *probe) {
    struct probe *other = probe->user;
    probe->on_call = NULL;
    CHECK_INT(other->kind->remove(treadle_loop_current(), other->item, MODE), TREADLE_OK);
    CHECK_INT(other->kind->release(other->item), TREADLE_OK);
}
TEST(a_collected_item_survives_the_last_release, "OBJ-3") {
    treadle_source keeper = keep_mode(MODE);
    for (int k = 0; k < KINDS; k++) {
        for (int removed = 0; removed < 2; removed++) {
            struct probe first = {.order = 1, .on_call = removed ? remove_and_release_other : release_other};
            struct probe second = {.order = 2};
            first.user = &second;
            probe_make(&first, kinds[k]);
            probe_make(&second, kinds[k]);
            CHECK_INT(kinds[k]->add(treadle_loop_current(), first.item, MODE), TREADLE_OK);
            /* The order of two descriptors is the kernel's: the second is not ready before the first. */
            if (k != 3) CHECK_INT(kinds[k]->add(treadle_loop_current(), second.item, MODE), TREADLE_OK);
            else CHECK_INT(kinds[k]->add(treadle_loop_current(), second.item, removed ? MODE : "later"), TREADLE_OK);
            if (k == 3 && removed) {
                uint64_t value;
                CHECK_INT(read(second.fd, &value, sizeof value), sizeof value);
            }
            CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
            CHECK_INT(first.calls, 1);
            if (k == 3 && !removed) CHECK_INT(poll_mode("later"), TREADLE_RUN_TIMED_OUT);
            CHECK_INT(second.calls, removed ? 0 : 1);
            CHECK_INT(second.ended, removed);
            if (!removed) CHECK_INT(kinds[k]->invalidate(second.item), TREADLE_OK);
            probe_end(&second);
            probe_end(&first);
        }
    }
    CHECK_INT(treadle_source_release(keeper), TREADLE_OK);
}

static void must_be_invalid(struct probe *probe) {
    CHECK(!probe->kind->is_valid(probe->item));
    probe->user = probe;
}
TEST(the_last_release_invalidates_first, "OBJ-4") {
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {.on_release = must_be_invalid};
        probe_make(&probe, kinds[k]);
        CHECK(kinds[k]->is_valid(probe.item));
        CHECK_INT(kinds[k]->release(probe.item), TREADLE_OK);
        CHECK(probe.user == &probe);
        CHECK(!kinds[k]->is_valid(probe.item));
        probe_end(&probe);
    }
}

TEST(validity_ends_once_and_for_ever, "OBJ-5 MODE-6 SRC0-4 TMR-4") {
    treadle_loop loop = treadle_loop_current();
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {0};
        void *info = NULL;
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->get_context_info(probe.item, &info), TREADLE_OK);
        CHECK(info == &probe);
        CHECK_INT(kinds[k]->add(loop, probe.item, MODE), TREADLE_OK);
        for (int i = 0; i < 3; i++) {
            CHECK(kinds[k]->invalidate(probe.item) >= 0);
            CHECK(!kinds[k]->is_valid(probe.item) && !kinds[k]->contains(loop, probe.item, MODE));
            CHECK_INT(kinds[k]->add(loop, probe.item, MODE), TREADLE_IGNORED);
        }
        CHECK_INT(kinds[k]->get_context_info(probe.item, &info), TREADLE_OK);
        CHECK(info == (k == 0 || k == 3 ? &probe : NULL));
        CHECK_INT(probe.ended, k == 1 || k == 2);
        CHECK_INT(probe.cancels, k == 0);
        CHECK(!probe.valid_in_cancel);
        CHECK(kinds[k]->close(probe.item, TREADLE_FOREVER) >= 0);
        CHECK_INT(kinds[k]->release(probe.item), TREADLE_OK);
        probe_end(&probe);
    }
}

TEST(accessors_answer_for_invalid_objects, "OBJ-5 SRC0-14 TMR-4 OBS-2") {
    treadle_source_context source_context = {.struct_size = sizeof source_context, .order = -7};
    treadle_timer_context timer_context = {.struct_size = sizeof timer_context, .fire_at = FAR_AWAY,
                                           .interval_ns = SECONDS(3), .tolerance_ns = SECONDS(1)};
    treadle_observer_context observer_context = {
        .struct_size = sizeof observer_context, .activities = TREADLE_ENTRY | TREADLE_EXIT, .once = 1, .order = INT64_MIN};
    treadle_source source;
    treadle_timer timer;
    treadle_observer observer;
    int event = eventfd(0, EFD_CLOEXEC);
    treadle_descriptor descriptor = make_descriptor(NULL, NULL, event, TREADLE_READABLE | TREADLE_WRITABLE);
    CHECK_INT(treadle_source_create(&source_context, &source), TREADLE_OK);
    CHECK_INT(treadle_timer_create(&timer_context, &timer), TREADLE_OK);
    CHECK_INT(treadle_observer_create(&observer_context, &observer), TREADLE_OK);
    treadle_source_signal(source);
    for (int valid = 1; valid >= 0; valid--) {
        int64_t number = 0;
        uint32_t mask = 0;
        int32_t fd = -1;
        CHECK(treadle_source_get_order(source, &number) == TREADLE_OK && number == -7);
        CHECK_INT(treadle_source_is_signalled(source), valid);
        CHECK(treadle_timer_get_order(timer, &number) == TREADLE_OK && number == 0);
        CHECK(treadle_timer_get_interval(timer, &number) == TREADLE_OK && number == SECONDS(3));
        CHECK(treadle_timer_repeats(timer));
        CHECK(treadle_timer_get_next_fire(timer, &number) == TREADLE_OK && number == (valid ? timer_context.fire_at : 0));
        CHECK(treadle_observer_get_order(observer, &number) == TREADLE_OK && number == INT64_MIN);
        CHECK(treadle_observer_get_activities(observer, &mask) == TREADLE_OK && mask == (TREADLE_ENTRY | TREADLE_EXIT));
        CHECK(!treadle_observer_repeats(observer));
        CHECK(treadle_descriptor_get_events(descriptor, &mask) == TREADLE_OK && mask == (TREADLE_READABLE | TREADLE_WRITABLE));
        CHECK(treadle_descriptor_get_fd(descriptor, &fd) == TREADLE_OK && fd == event);
        treadle_source_invalidate(source);
        treadle_timer_invalidate(timer);
        treadle_observer_invalidate(observer);
        treadle_descriptor_invalidate(descriptor);
    }
    treadle_source_release(source);
    treadle_timer_release(timer);
    treadle_observer_release(observer);
    treadle_descriptor_release(descriptor);
}

static void drain_and_tell(struct probe *probe) {
    uint64_t value;
    if (probe->fd >= 0) CHECK_INT(read(probe->fd, &value, sizeof value), sizeof value);
    probe->on_call = NULL;
    sem_post(probe->user);
}
TEST(each_callback_has_its_thread, "OBJ-8 SRC0-3 ABI-1") {
    struct worker worker;
    worker_start(&worker);
    for (int k = 0; k < KINDS; k++) {
        sem_t called;
        struct probe probe = {.on_call = drain_and_tell, .user = &called};
        sem_init(&called, 0, 0);
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->add(worker.loop, probe.item, MODE), TREADLE_OK);
        treadle_loop_wake(worker.loop);
        await(&called);
        worker_await_sleep(&worker); /* the pass is over, and with it the runtime's references */
        CHECK_INT(probe.call_thread, worker.thread_id);
        CHECK_INT(kinds[k]->close(probe.item, TREADLE_FOREVER), TREADLE_OK);
        CHECK_INT(kinds[k]->release(probe.item), TREADLE_OK);
        if (k == 0) CHECK_INT(probe.schedule_thread, thread_id());
        if (k == 0) CHECK_INT(probe.cancel_thread, thread_id());
        if (k == 0) CHECK_INT(probe.release_thread, thread_id());
        probe_end(&probe);
        sem_destroy(&called);
    }
    worker_stop(&worker);
}

static void invalidate_and_release(void *info) {
    struct probe *probe = info;
    probe->kind->invalidate(probe->item);
    probe->kind->release(probe->item);
    sem_post(probe->user);
}
TEST(cancel_and_release_run_where_they_are_caused, "OBJ-8 SRC0-3") {
    struct worker worker;
    sem_t done;
    sem_init(&done, 0, 0);
    worker_start(&worker);
    for (int k = 0; k < KINDS; k++) {
        struct probe probe = {.user = &done};
        probe_make(&probe, kinds[k]);
        CHECK_INT(kinds[k]->add(treadle_loop_current(), probe.item, MODE), TREADLE_OK);
        CHECK_INT(treadle_loop_post(worker.loop, invalidate_and_release, &probe), TREADLE_OK);
        await(&done);
        CHECK_INT(probe.release_thread, worker.thread_id);
        if (k == 0) CHECK_INT(probe.cancel_thread, worker.thread_id);
        probe_end(&probe);
    }
    worker_stop(&worker);
}

TEST_MAIN()
