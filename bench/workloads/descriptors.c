/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * descriptors.c: events of many descriptors, and descriptors that come and go. All are eventfds. */
#include "../harness/support.h"

#include <sys/eventfd.h>
#include <unistd.h>

enum { MOST_WATCHED = 9000, ACTIVE = 100, CHURNED = 10 };

struct watched {
    struct ring *ring;
    void *descriptor;
    int fd, next;
};
struct ring {
    void *loop;
    size_t written, seen, wanted;
};
static struct watched watched[MOST_WATCHED];

static int make_fd(void) {
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    demand(fd >= 0, "the limit of open descriptors suffices (ulimit -n)");
    return fd;
}
static void raise_fd(int fd) { demand(eventfd_write(fd, 1) == 0, "an eventfd can be written"); }
static bool lower_fd(int fd) {
    eventfd_t value;
    return library.reads_descriptors || eventfd_read(fd, &value) == 0;
}

/* fd_event: 9,000 descriptors, of which 100 are active at a time: each callback reads its own, and writes to the
 * one that follows it. */
CALLBACK(pass_on);
static void pass_on(void *info) {
    struct watched *item = info;
    struct ring *ring = item->ring;
    if (!lower_fd(item->fd)) return;
    ring->seen++;
    if (ring->written < ring->wanted) {
        ring->written++;
        raise_fd(item->next);
    }
    if (ring->seen == ring->wanted) library.loop_stop(ring->loop);
}
static void fd_event(void) {
    /* A quick run must do with the 1,024 descriptors that every process may have. */
    const size_t count = is_quick ? MOST_WATCHED / 10 : MOST_WATCHED;
    struct ring ring = {.loop = new_loop(), .wanted = is_quick ? 5000 : 50000};
    for (size_t i = 0; i < count; i++) watched[i] = (struct watched){.ring = &ring, .fd = make_fd()};
    for (size_t i = 0; i < count; i++) {
        watched[i].next = watched[(i + 1) % count].fd;
        watched[i].descriptor = library.descriptor_make(ring.loop, watched[i].fd, &pass_on_callback, &watched[i]);
    }
    for (size_t i = 0; i < ACTIVE; i++) raise_fd(watched[i * (count / ACTIVE)].fd);
    ring.written = ACTIVE;
    uint64_t begun = clock_ns();
    library.loop_run(ring.loop);
    uint64_t took = clock_ns() - begun;
    library.loop_free(ring.loop);
    demand(ring.seen == ring.wanted && ring.written == ring.wanted, "each write is seen once");
    tell("fd_event", (double)took / (double)ring.wanted, "ns");
}

/* fd_churn: ten at a time are opened, watched, seen ready, given up and closed. */
CALLBACK(seen_ready);
static void seen_ready(void *info) {
    struct watched *item = info;
    if (!lower_fd(item->fd)) return;
    if (++item->ring->seen % CHURNED == 0) library.loop_stop(item->ring->loop);
}
static void fd_churn(void) {
    size_t rounds = amount(1000);
    struct ring ring = {.loop = new_loop()};
    uint64_t begun = clock_ns();
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < CHURNED; i++) {
            watched[i] = (struct watched){.ring = &ring, .fd = make_fd()};
            watched[i].descriptor = library.descriptor_make(ring.loop, watched[i].fd, &seen_ready_callback, &watched[i]);
            raise_fd(watched[i].fd);
        }
        library.loop_run(ring.loop);
        for (size_t i = 0; i < CHURNED; i++) {
            library.descriptor_free(ring.loop, watched[i].descriptor);
            /* A thread of the library's may still be at work on it. */
            if (!library.has_own_threads) close(watched[i].fd);
        }
    }
    uint64_t took = clock_ns() - begun;
    library.loop_free(ring.loop);
    demand(ring.seen == rounds * CHURNED, "each descriptor is seen ready once");
    tell("fd_churn", (double)took / (double)(rounds * CHURNED), "ns");
}

const struct workload descriptor_workloads[] = {
    {"fd_event", fd_event, NEEDS_LOOP | NEEDS_DESCRIPTOR},
    {"fd_churn", fd_churn, NEEDS_LOOP | NEEDS_DESCRIPTOR},
    {NULL, NULL, 0},
};
