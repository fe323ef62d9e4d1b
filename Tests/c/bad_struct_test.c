/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * bad_struct_test.c: bad structs, bad descriptors, no descriptors left, callbacks that misbehave. */
#include "struct_takers.h"

#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define MODE TREADLE_DEFAULT_MODE

TEST(a_bad_struct_size, "ABI-7 SRC0-1 BLK-1") {
    make_takers();
    for (size_t i = 0; i < TAKERS; i++) {
        size_t size = takers[i].size, page = (size_t)sysconf(_SC_PAGESIZE);
        /* The struct ends where readable memory ends: reading past what struct_size covers is fatal. */
        char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(pages != MAP_FAILED && mprotect(pages + 2 * page, page, PROT_NONE) == 0);
        char *exact = pages + 2 * page - size, *longer = pages + page;
        memcpy(exact, takers[i].good, size);
        CHECK_INT(takers[i].take(exact), TREADLE_OK);
        static const size_t small[] = {0, 1, 4, 7, 8};
        for (size_t s = 0; s < sizeof small / sizeof small[0]; s++) {
            *(size_t *)(void *)exact = small[s];
            CHECK_ERROR(takers[i].take(exact), TREADLE_E_ARG, "struct_size");
        }
        *(size_t *)(void *)exact = size - 1;
        CHECK_ERROR(takers[i].take(exact), TREADLE_E_ARG, "struct_size");
        CHECK_ERROR(takers[i].take(NULL), TREADLE_E_ARG, "");
        /* A tail that this library does not know: zero is fine, any other byte is not. */
        memcpy(longer, takers[i].good, size);
        for (size_t tail = 1; tail <= 64; tail *= 4) {
            memset(longer + size, 0, 64);
            *(size_t *)(void *)longer = size + tail;
            CHECK_INT(takers[i].take(longer), TREADLE_OK);
            destroyed = 0;
            longer[size + tail - 1] = 1;
            CHECK_ERROR(takers[i].take(longer), TREADLE_E_TOO_NEW, "");
            CHECK_INT(destroyed, takers[i].destroys);
            longer[size + tail - 1] = 0;
            longer[size + tail] = 1; /* past the end: not looked at */
            CHECK_INT(takers[i].take(longer), TREADLE_OK);
        }
        /* A size that no struct has must not make the library read that far. */
        memset(longer + size, 1, 64);
        *(size_t *)(void *)longer = SIZE_MAX;
        CHECK(takers[i].take(longer) < 0);
        munmap(pages, 3 * page);
    }
    end_takers();
}

TEST(the_error_struct_has_a_size_too, "ABI-7") {
    struct {
        treadle_error_info info;
        char tail[16];
    } newer;
    treadle_loop_stop(NULL);
    for (size_t size = 0; size < sizeof(treadle_error_info); size += 4) {
        memset(&newer, 0, sizeof newer);
        newer.info.struct_size = size;
        CHECK_INT(treadle_last_error(&newer.info), TREADLE_E_ARG);
    }
    memset(&newer, 0, sizeof newer);
    newer.info.struct_size = sizeof newer;
    CHECK_INT(treadle_last_error(&newer.info), TREADLE_OK);
    CHECK_INT(newer.info.code, TREADLE_E_ARG);
    CHECK_INT(newer.info.sequence, 1); /* its own refusals are not recorded */
    CHECK_TEXT(newer.info.function, "treadle_loop_stop");
    newer.info.struct_size = sizeof newer;
    newer.tail[3] = 1;
    CHECK_INT(treadle_last_error(&newer.info), TREADLE_E_TOO_NEW);
}

static void on_perform(treadle_source source, void *info) { (void)source, (void)info; }
static void on_schedule(treadle_source s, treadle_loop l, const char *m, void *info) { (void)s, (void)l, (void)m, (void)info; }
static void on_fire(treadle_timer timer, void *info) { (void)timer, (void)info; }
static void on_notify(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, (void)info; }
TEST(a_callback_and_a_routine_for_the_same, "SRC0-1 OBJ-2") {
    treadle_routine_config config = {.struct_size = sizeof config, .code = (void (*)(void))nothing, .signature = "v", .destroy = count_destroyed};
    treadle_routine r = NULL, bad = (treadle_routine)0x1001;
    int fd = eventfd(0, EFD_CLOEXEC);
    CHECK_INT(treadle_routine_create(&config, &r), TREADLE_OK);
#define SOURCE_WITH(...) take_source(&(treadle_source_context){.struct_size = sizeof(treadle_source_context), __VA_ARGS__})
#define TIMER_WITH(...) take_timer(&(treadle_timer_context){.struct_size = sizeof(treadle_timer_context), __VA_ARGS__})
#define OBSERVER_WITH(...) take_observer(&(treadle_observer_context){.struct_size = sizeof(treadle_observer_context), __VA_ARGS__})
#define DESCRIPTOR_WITH(...) \
    take_descriptor(&(treadle_descriptor_context){.struct_size = sizeof(treadle_descriptor_context), .events = TREADLE_READABLE, __VA_ARGS__})
#define BLOCK_WITH(...) take_block(&(treadle_post){.struct_size = sizeof(treadle_post), __VA_ARGS__})
    CHECK_ERROR(SOURCE_WITH(.perform = on_perform, .perform_routine = r), TREADLE_E_ARG, "perform");
    CHECK_ERROR(SOURCE_WITH(.schedule = on_schedule, .schedule_routine = r), TREADLE_E_ARG, "schedule");
    CHECK_ERROR(SOURCE_WITH(.cancel = on_schedule, .cancel_routine = r), TREADLE_E_ARG, "cancel");
    CHECK_ERROR(TIMER_WITH(.fire = on_fire, .fire_routine = r), TREADLE_E_ARG, "fire");
    CHECK_ERROR(OBSERVER_WITH(.notify = on_notify, .notify_routine = r), TREADLE_E_ARG, "notify");
    CHECK_ERROR(DESCRIPTOR_WITH(.fd = fd, .ready = on_ready, .ready_routine = r), TREADLE_E_ARG, "ready");
    CHECK_ERROR(BLOCK_WITH(.fn = nothing, .routine = r, .destroy = count_destroyed), TREADLE_E_ARG, "routine");
    CHECK_INT(destroyed, 1);
    /* No function at all, where one is needed. */
    CHECK_ERROR(BLOCK_WITH(.destroy = count_destroyed), TREADLE_E_ARG, "fn");
    CHECK_INT(destroyed, 2);
    CHECK_ERROR(treadle_loop_post(treadle_loop_current(), NULL, NULL), TREADLE_E_ARG, "fn");
    config.code = NULL;
    CHECK_ERROR(take_routine(&config), TREADLE_E_ARG, "code");
    CHECK_INT(destroyed, 3);
    /* A routine that is none. */
    CHECK_ERROR(SOURCE_WITH(.perform_routine = bad), TREADLE_E_STALE, "routine");
    CHECK_ERROR(TIMER_WITH(.fire_routine = bad), TREADLE_E_STALE, "routine");
    CHECK_ERROR(OBSERVER_WITH(.notify_routine = bad), TREADLE_E_STALE, "routine");
    CHECK_ERROR(DESCRIPTOR_WITH(.fd = fd, .ready_routine = bad), TREADLE_E_STALE, "routine");
    CHECK_ERROR(BLOCK_WITH(.routine = bad, .destroy = count_destroyed), TREADLE_E_STALE, "routine");
    CHECK_INT(destroyed, 4);
    CHECK_ERROR(SOURCE_WITH(.perform_routine = (treadle_routine)(void *)treadle_loop_current()), TREADLE_E_KIND, "routine");
    /* Nobody kept a reference: the last one destroys. */
    CHECK_INT(treadle_routine_release(r), TREADLE_OK);
    CHECK_INT(destroyed, 5);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED); /* no block was queued */
    close(fd);
}

static int32_t answer_fd(void *info) { return *(int *)info; }
TEST(descriptors_that_are_none, "SRC1-1 SRC1-3 SRC1-8") {
    treadle_loop loop = treadle_loop_current();
    treadle_error_info error = TREADLE_INIT(treadle_error_info);
    int fd = closed_number(), asked = -1;
    const int bad[] = {-1, -2, INT32_MIN, INT32_MAX, fd};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_ERROR(DESCRIPTOR_WITH(.fd = bad[i], .ready = on_ready), TREADLE_E_ARG, "fd");
    /* get_fd is asked when the source is added. */
    treadle_descriptor_context context = {.struct_size = sizeof context, .info = &asked, .ready = on_ready, .get_fd = answer_fd, .events = TREADLE_READABLE};
    treadle_descriptor descriptor;
    CHECK_INT(treadle_descriptor_create(&context, &descriptor), TREADLE_OK);
    CHECK_ERROR(treadle_loop_add_descriptor(loop, descriptor, MODE), TREADLE_E_ARG, "get_fd");
    asked = fd;
    CHECK_ERROR(treadle_loop_add_descriptor(loop, descriptor, MODE), TREADLE_E_SYSTEM, "");
    treadle_last_error(&error);
    CHECK_INT(error.os_errno, EBADF);
    CHECK(!treadle_loop_contains_descriptor(loop, descriptor, MODE) && treadle_descriptor_is_valid(descriptor));
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_FINISHED);
    /* Closed between create and add. */
    int high = open_high();
    treadle_descriptor closed = make_descriptor(NULL, NULL, high, TREADLE_READABLE);
    close(high);
    CHECK_ERROR(treadle_loop_add_descriptor(loop, closed, MODE), TREADLE_E_SYSTEM, "");
    CHECK(!treadle_loop_contains_descriptor(loop, closed, MODE));
    /* An open one mends it. */
    asked = eventfd(0, EFD_CLOEXEC);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, MODE), TREADLE_OK);
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_loop_remove_descriptor(loop, descriptor, MODE), TREADLE_OK);
    treadle_descriptor_release(descriptor);
    treadle_descriptor_release(closed);
}

TEST(one_descriptor_twice_in_a_mode, "SRC1-7 MODE-6") {
    treadle_loop loop = treadle_loop_current();
    struct probe first = {0};
    probe_make(&first, &descriptor_kind);
    treadle_descriptor second = make_descriptor(NULL, NULL, first.fd, TREADLE_READABLE);
    CHECK_INT(treadle_loop_add_descriptor(loop, first.item, MODE), TREADLE_OK);
    CHECK_ERROR(treadle_loop_add_descriptor(loop, second, MODE), TREADLE_E_EXISTS, "");
    CHECK_ERROR(treadle_loop_add_descriptor(loop, second, TREADLE_COMMON_MODES), TREADLE_E_EXISTS, "");
    CHECK(!treadle_loop_contains_descriptor(loop, second, MODE) && !treadle_loop_contains_descriptor(loop, second, TREADLE_COMMON_MODES));
    CHECK_INT(poll_mode(MODE), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(first.calls, 1); /* undisturbed */
    CHECK_INT(treadle_loop_add_descriptor(loop, second, "another"), TREADLE_OK);
    CHECK_INT(treadle_loop_remove_descriptor(loop, first.item, MODE), TREADLE_OK);
    CHECK_INT(treadle_loop_add_descriptor(loop, second, MODE), TREADLE_OK);
    CHECK_ERROR(treadle_loop_add_descriptor(loop, first.item, MODE), TREADLE_E_EXISTS, "");
    treadle_descriptor_invalidate(second);
    CHECK_INT(treadle_loop_add_descriptor(loop, first.item, MODE), TREADLE_OK);
    treadle_descriptor_release(second);
    probe_end(&first);
}

/* On a thread of its own, whose loop has no descriptor yet. */
static void *under_the_limit(void *info) {
    treadle_descriptor descriptor = info;
    treadle_error_info error = TREADLE_INIT(treadle_error_info);
    struct rlimit saved, lowered;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &saved), 0);
    lowered = saved;
    lowered.rlim_cur = 100;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &lowered), 0);
    static int copies[65536];
    int count = 0;
    while (count < 65536 && (copies[count] = dup(2)) >= 0) count++;
    CHECK_INT(errno, EMFILE);
    treadle_loop loop = treadle_loop_current(); /* may need a descriptor itself */
    treadle_status status = loop ? treadle_loop_add_descriptor(loop, descriptor, "limited") : TREADLE_E_SYSTEM;
    treadle_last_error(&error);
    CHECK_INT(status, TREADLE_E_SYSTEM);
    if (loop) CHECK_INT(error.os_errno, EMFILE);
    CHECK(strlen(error.message) > 0);
    while (count > 0) close(copies[--count]);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &saved), 0);
    /* Nothing has stayed, and with room it works. */
    loop = treadle_loop_current();
    CHECK(loop && !treadle_loop_contains_descriptor(loop, descriptor, "limited"));
    CHECK_INT(poll_mode("limited"), TREADLE_RUN_FINISHED);
    CHECK_INT(treadle_loop_add_descriptor(loop, descriptor, "limited"), TREADLE_OK);
    CHECK_INT(poll_mode("limited"), TREADLE_RUN_TIMED_OUT);
    CHECK_INT(treadle_loop_remove_descriptor(loop, descriptor, "limited"), TREADLE_OK);
    return NULL;
}
TEST(no_descriptors_left, "RL-5 OBJ-6") {
    struct probe probe = {0};
    int before = count_descriptors();
    probe_make(&probe, &descriptor_kind);
    on_thread(under_the_limit, probe.item);
    CHECK_INT(probe.calls, 1);
    probe_end(&probe);
    CHECK_INT(count_descriptors(), before);
}

static struct probe everything[3 * KINDS];
static void end_all_others(struct probe *probe) {
    for (int i = 0; i < 3 * KINDS; i++)
        if (&everything[i] != probe) CHECK_INT(everything[i].kind->invalidate(everything[i].item), TREADLE_OK);
    CHECK_INT(probe->kind->remove(treadle_loop_current(), probe->item, MODE), TREADLE_OK);
}
TEST(a_callback_invalidates_every_other, "OBJ-9 OBJ-3 RUN-8") {
    for (int k = 0; k < KINDS; k++) {
        int calls = 0;
        for (int i = 0; i < 3 * KINDS; i++) {
            /* The kind in question comes first; the others are held back until then. */
            everything[i] = (struct probe){.on_call = i % KINDS == k ? end_all_others : NULL, .order = i};
            probe_make(&everything[i], kinds[i % KINDS]);
            CHECK_INT(kinds[i % KINDS]->add(treadle_loop_current(), everything[i].item, MODE), TREADLE_OK);
        }
        CHECK_INT(treadle_loop_run(treadle_loop_current(), MODE, TREADLE_FOREVER, 0), TREADLE_RUN_FINISHED);
        for (int i = k; i < 3 * KINDS; i += KINDS) calls += everything[i].calls;
        CHECK_INT(calls, 1);
        for (int i = 0; i < 3 * KINDS; i++) probe_end(&everything[i]);
    }
}

/* What the kernel will not watch: the text says what is wrong with the number. */
static void check_unwatchable(int fd, const char *words) {
    treadle_descriptor descriptor = make_descriptor(on_ready, NULL, fd, TREADLE_READABLE);
    CHECK_ERROR(treadle_loop_add(treadle_loop_current(), descriptor, MODE), TREADLE_E_SYSTEM, words);
    CHECK_INT(discard(descriptor), TREADLE_OK);
    close(fd);
}
TEST(a_descriptor_that_cannot_be_watched_says_why, "SRC1-7 SRC1-11") {
    for (int round = 0; round < 2; round++) { /* the first of its mode, and a later one */
        check_unwatchable(open("/", O_PATH | O_CLOEXEC), "fd was opened with O_PATH, which cannot be watched");
        treadle_descriptor closed = make_descriptor(on_ready, NULL, dup(STDERR_FILENO), TREADLE_READABLE);
        int32_t number;
        CHECK_INT(treadle_descriptor_get_fd(closed, &number), TREADLE_OK);
        close(number);
        CHECK_ERROR(treadle_loop_add(treadle_loop_current(), closed, MODE), TREADLE_E_SYSTEM, "fd is not open");
        CHECK_INT(discard(closed), TREADLE_OK);
        treadle_descriptor watched = make_descriptor(on_ready, NULL, eventfd(0, EFD_CLOEXEC), TREADLE_READABLE);
        CHECK_INT(treadle_loop_add(treadle_loop_current(), watched, MODE), TREADLE_OK);
        CHECK_INT(treadle_descriptor_release(watched), TREADLE_OK);
    }
    /* An epoll in an epoll and so on, six of them. */
    int innermost = eventfd(0, EFD_CLOEXEC);
    for (int i = 0; i < 6; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        int around = epoll_create1(EPOLL_CLOEXEC);
        if (epoll_ctl(around, EPOLL_CTL_ADD, innermost, &event) != 0) {
            close(around);
            break;
        }
        innermost = around;
    }
    check_unwatchable(innermost, "fd is an epoll that watches too many others");
}

TEST_MAIN()
