/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * messages.c: what a message of 64 bytes costs, beside a post, which carries a pointer: sent and received by one thread, many at
 * a time; and sent without a pause by a thread on another processor. */
#include "calls.h"

#include <pthread.h>
#include <string.h>

enum { SAMPLES = 5, MESSAGES = 100000, FLOOD = 300000, BATCH = 500 };

struct letter {
    uint64_t number, rest[7];
};
_Static_assert(sizeof(struct letter) == 64, "a message has 64 bytes");

static uint64_t received, misplaced, wanted;

static void take(const struct letter *letter) {
    if (letter->number != received) misplaced++;
    __atomic_store_n(&received, received + 1, __ATOMIC_RELEASE);
    if (received == wanted) treadle_loop_stop(treadle_loop_current());
}
static void receive(treadle_port port, treadle_message message, void *info) {
    (void)port, (void)info;
    treadle_message_info content = {.struct_size = sizeof content};
    check(treadle_message_get_info(message, &content));
    demand(content.length == sizeof(struct letter), "a message has 64 bytes");
    take(content.bytes);
}
static void perform(void *info) { take(info); }

static treadle_loop loop;
static treadle_port port;
static struct letter letters[BATCH * 4]; /* more than wait at a time, so that a post's argument stays what it was */

static void send_from(enum way way, uint64_t first, uint64_t count) {
    for (uint64_t number = first; number < first + count; number++) {
        struct letter *letter = &letters[number % (BATCH * 4)];
        letter->number = number;
        if (way == BY_TREADLE) {
            check(treadle_port_send_bytes(port, 0, letter, sizeof *letter, TREADLE_FOREVER));
        } else {
            check(treadle_loop_post(loop, perform, letter));
        }
    }
}

static void begin(enum way way) {
    loop = treadle_loop_current();
    live_in(loop);
    received = misplaced = 0;
    if (way != BY_TREADLE) return;
    treadle_port_context context = TREADLE_INIT(treadle_port_context);
    context.receive = receive;
    check(treadle_port_create(&context, &port));
    check(treadle_loop_add_port(loop, port, TREADLE_DEFAULT_MODE));
}
static void end(const char *name, double ns, enum way way) {
    demand(received == wanted && misplaced == 0, "each message is received once, in its order");
    tell(name, ns, "ns");
    if (way != BY_TREADLE) return;
    check(treadle_port_invalidate(port));
    check(treadle_port_release(port));
}

/* By one thread: as many at a time as are sent between two runs of a busy loop. */
static void message_64(const char *name, enum way way) {
    begin(way);
    size_t count = amount(MESSAGES);
    uint64_t least = UINT64_MAX;
    for (int sample = 0; sample < SAMPLES; sample++) {
        uint64_t begun = clock_ns();
        for (size_t i = 0; i < count; i += BATCH) {
            wanted = received + BATCH;
            send_from(way, received, BATCH);
            check(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY));
        }
        uint64_t took = clock_ns() - begun;
        if (took < least) least = took;
    }
    end(name, (double)least / (double)count, way);
}

/* From another processor. A full port has the sender wait; posts have no such bound, so their sender waits here. */
static enum way flood_way;
static uint64_t volatile flood_count;
static void *flood(void *info) {
    (void)info;
    bind_thread(second_processor);
    for (uint64_t number = 0; number < flood_count; number++) {
        if (flood_way != BY_TREADLE) {
            while (number - __atomic_load_n(&received, __ATOMIC_ACQUIRE) >= 1024) {}
        }
        send_from(flood_way, number, 1);
    }
    return NULL;
}
static void message_64_2(const char *name, enum way way) {
    bind_thread(first_processor);
    begin(way);
    pthread_t sender;
    flood_way = way;
    wanted = flood_count = amount(FLOOD);
    uint64_t begun = clock_ns();
    demand(pthread_create(&sender, NULL, flood, NULL) == 0, "a thread can be made");
    check(treadle_loop_run(loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, TREADLE_RUN_WHEN_EMPTY));
    uint64_t took = clock_ns() - begun;
    pthread_join(sender, NULL);
    end(name, (double)took / (double)wanted, way);
}

const struct workload message_workloads[] = {
    {"message_64", message_64, WAY(BY_TREADLE) | WAY(PLAINLY), false},
    {"message_64_2", message_64_2, WAY(BY_TREADLE) | WAY(PLAINLY), true},
    {NULL, NULL, 0, false},
};
