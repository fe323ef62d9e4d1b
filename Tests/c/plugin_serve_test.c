/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * plugin_serve_test.c: a plugin's process whose host sends what no host sends, and keeps its sockets. The process has no other way to its
 * host: it refuses the connection, and with that its service is over (PLUG-9). */
#include "message_port_raw.h"

#include <fcntl.h>

struct service {
    pthread_t thread;
    int serving, asking;       /* the service's ends */
    int to_serving, to_asking; /* the host's */
    treadle_status result;
};
static void *serve(void *info) {
    struct service *service = info;
    service->result = treadle_plugin_serve(service->serving, service->asking, NULL);
    return NULL;
}
static void open_pair(int *own, int *other) {
    int pair[2];
    CHECK_INT(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    CHECK_INT(fcntl(pair[0], F_SETFL, O_NONBLOCK), 0);
    *own = pair[0], *other = pair[1];
}
static void start(struct service *service) {
    open_pair(&service->serving, &service->to_serving);
    open_pair(&service->asking, &service->to_asking);
    service->result = TREADLE_E_STATE;
    CHECK_INT(pthread_create(&service->thread, NULL, serve, service), 0);
}
/* It ends by itself: the host's sockets are open until then. */
static void await_its_end(struct service *service) {
    CHECK_INT(pthread_join(service->thread, NULL), 0);
    CHECK_INT(service->result, TREADLE_OK);
    close(service->to_serving), close(service->to_asking);
}
/* The number of the call, and that of the one that it is made in. */
static const uint64_t numbers[2] = {1, 0};
enum { UNKNOWN = 99 };

TEST(a_service_ends_with_a_host_whose_file_is_refused, "PLUG-9") {
    struct service service;
    struct head head = head_of(MESSAGE, IN_FILE, 100000, 0);
    int file = memfd_create("not sealed", MFD_CLOEXEC);
    start(&service);
    CHECK(file >= 0);
    CHECK_INT(raw_send(service.to_serving, &head, sizeof head, &file, 1, 0), sizeof head);
    await_its_end(&service);
    close(file);
}
TEST(a_service_ends_with_a_host_whose_call_is_none, "PLUG-9") {
    static const char nothing[8];
    struct service service;
    struct head head = head_of(CALL_KIND, WANTS_REPLY, sizeof nothing, 1);
    start(&service);
    CHECK_INT(send_frame(service.to_serving, head, nothing, sizeof nothing), sizeof head + sizeof nothing);
    await_its_end(&service);
}
/* What the host says to have received was never sent. */
TEST(a_service_ends_with_a_host_whose_ring_is_broken, "PLUG-9") {
    struct service service;
    struct raw_ring ring;
    struct head head = head_of(MESSAGE, WANTS_REPLY, sizeof numbers, 1);
    head.id = UNKNOWN;
    start(&service);
    CHECK(raw_ring(service.to_serving, &ring));
    atomic_store(&ring.memory->to_sender.received, 1u << 30);
    atomic_store(&ring.memory->is_ready, 1);
    CHECK_INT(send_frame(service.to_serving, head, numbers, sizeof numbers), sizeof head + sizeof numbers);
    await_its_end(&service);
    drop_ring(&ring);
}
TEST_MAIN()
