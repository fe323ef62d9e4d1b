/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * port_fault_test.c: no memory, no pages, no descriptors left while a port is made, added, sent to, served: each call fails by its
 * status, leaves nothing behind, and works the next time. */
#include "faults.h"
#include "ports.h"

#include <fcntl.h>
#include <sys/resource.h>

#define MODE TREADLE_DEFAULT_MODE

static int calls;
static void count_call(treadle_port port, treadle_message message, void *info) { (void)port, (void)message, (void)info, calls++; }

/* Where none is left to read a directory by. */
static int count_open(void) {
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}
TEST(no_descriptor_is_left_for_a_message, "MPORT-2") {
    int pipes[2];
    treadle_port port = make_port_of(NULL, NULL, 0), carried = make_port_of(NULL, NULL, 0);
    treadle_component components[] = {{.kind = TREADLE_COMPONENT_PORT, .port = carried},
                                      {.kind = TREADLE_COMPONENT_DESCRIPTOR, .descriptor = 2}, {.kind = TREADLE_COMPONENT_DESCRIPTOR, .descriptor = 2}};
    struct rlimit limit;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0); /* only the soft one: valgrind has its own descriptors below the hard one */
    limit.rlim_cur = (rlim_t)count_descriptors() + 16;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (pipe(pipes) == 0) {}
    while (dup(2) >= 0) {}
    int before = count_open();
    CHECK_ERROR(send_parts(port, 1, components, 3, carried), TREADLE_E_SYSTEM, "fcntl");
    treadle_error_info info = {.struct_size = sizeof info};
    treadle_last_error(&info);
    CHECK_INT(info.os_errno, EMFILE);
    CHECK_INT(count_open(), before);
    CHECK_INT(treadle_port_release(carried), TREADLE_OK);
    CHECK_INT(treadle_port_retain(carried), TREADLE_E_STALE);
    CHECK_INT(queued_in(port), 0);
    end_port(port);
}

#ifndef SANITIZED
/* Everything that a port goes through. The first failure, or TREADLE_OK; nothing is left in either case. */
static treadle_status go_through(void) {
    char bytes[1000] = {0};
    treadle_status status;
    treadle_port port = NULL, reply = NULL;
    treadle_loop loop = treadle_loop_current();
    if (!loop) return TREADLE_E_NOMEM;
    treadle_port_context context = {.struct_size = sizeof context, .receive = count_call, .label = "a port", .capacity = 100};
    calls = 0;
    if ((status = treadle_port_create(&context, &port)) != TREADLE_OK) return status;
    if ((status = treadle_port_create(&context, &reply)) != TREADLE_OK) goto end_of_port;
    treadle_component components[] = {{.kind = TREADLE_COMPONENT_BYTES, .bytes = bytes, .length = sizeof bytes},
                                      {.kind = TREADLE_COMPONENT_DESCRIPTOR, .descriptor = 2}, {.kind = TREADLE_COMPONENT_PORT, .port = reply}};
    if ((status = treadle_loop_add_port(loop, port, MODE)) < 0) goto end;
    if ((status = treadle_loop_add_port(loop, port, "second")) < 0) goto end;
    if ((status = treadle_loop_add_port(loop, port, TREADLE_COMMON_MODES)) < 0) goto end;
    for (int i = 0; i < 20; i++) {
        if ((status = treadle_port_send_bytes(port, 1, bytes, 64, 0)) != TREADLE_OK) goto end;
        if ((status = treadle_port_send_bytes(port, 1, bytes, sizeof bytes, 0)) != TREADLE_OK) goto end;
        if ((status = send_parts(port, 1, components, 3, reply)) != TREADLE_OK) goto end;
    }
    /* Nothing of what was sent is lost for want of memory. */
    while (queued_in(port)) {
        status = treadle_loop_run(loop, calls % 2 ? MODE : "second", 0, 0);
        if (status < 0) goto end;
    }
    CHECK_INT(calls, 60);
    status = TREADLE_OK;
end:
    CHECK_INT(treadle_port_invalidate(reply), TREADLE_OK);
    CHECK_INT(treadle_port_release(reply), TREADLE_OK);
end_of_port:
    CHECK_INT(treadle_port_invalidate(port), TREADLE_OK);
    CHECK_INT(treadle_port_release(port), TREADLE_OK);
    CHECK(!reply || treadle_port_retain(reply) == TREADLE_E_STALE);
    return status;
}
static void *fail_at(void *info) {
    int kind = *(int *)info, failures = 0, before = count_descriptors();
    for (int at = 1, hit = 1; hit; at++) {
        arm((unsigned)kind, ENOMEM, at, false);
        treadle_status status = go_through();
        hit = disarm();
        CHECK(status == TREADLE_OK || status == TREADLE_E_NOMEM || status == TREADLE_E_SYSTEM);
        CHECK(hit || status == TREADLE_OK);
        failures += status != TREADLE_OK;
        CHECK_INT(go_through(), TREADLE_OK);
        CHECK_INT(count_descriptors(), before);
    }
    CHECK(failures > 0 || kind != FAULT_MEMORY);
    return NULL;
}
TEST(each_allocation_may_fail, "OBJ-2 MPORT-2 PORT-6") {
    if (!have_memory_faults()) return;
    int kinds[] = {FAULT_MEMORY, FAULT_PAGES, FAULT_MEMORY | FAULT_PAGES};
    for (int i = 0; i < 3; i++) on_thread(fail_at, &kinds[i]);
}
static void *fail_first_pages(void *info) {
    (void)info;
    for (int at = 1, hit = 1; hit; at++) {
        arm(FAULT_PAGES | FAULT_MEMORY, ENOMEM, at, true);
        treadle_status status = go_through();
        hit = disarm();
        CHECK(status == TREADLE_OK || status == TREADLE_E_NOMEM || status == TREADLE_E_SYSTEM);
    }
    return NULL;
}
TEST(all_allocations_from_one_on_may_fail, "OBJ-2 MPORT-2") {
    if (have_memory_faults()) on_thread(fail_first_pages, NULL);
}
#endif

TEST_MAIN()
