/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_look.h: a sender by hand that a port's loop looks for in the memory that both share. */
#ifndef MESSAGE_PORT_LOOK_H
#define MESSAGE_PORT_LOOK_H

#include "message_port_raw.h"

/* A sender that is on no processor of this machine's, so that the loop expects it on another one than its own. */
enum { ELSEWHERE = 100000 };
struct sender {
    int fd;
    struct raw_ring ring;
    struct way *way;
};
HELPER void open_sender(struct sender *sender, const char *name) {
    sender->fd = raw_greeted(name);
    ask_for_ring(sender->fd);
}
HELPER void take_ring(struct sender *sender) {
    CHECK(take_raw_ring(sender->fd, &sender->ring));
    sender->way = &sender->ring.memory->to_server;
    atomic_store(&sender->way->processor, ELSEWHERE);
}
HELPER void close_sender(struct sender *sender) { drop_ring(&sender->ring), close(sender->fd); }
HELPER void put_text(struct sender *sender, const char *text) {
    put_frame_silently(sender->way, sender->ring.memory->bytes_to_server, head_of(MESSAGE, 0, strlen(text), 0), text, strlen(text));
}
/* As a port sends: it rings only for one that has asked for it. */
HELPER void send_text(struct sender *sender, const char *text) {
    put_text(sender, text);
    if (atomic_exchange(&sender->way->is_asleep, 0)) ring_bell(sender->ring.other_bell);
}
HELPER bool wants_bell(struct sender *sender) { return atomic_load(&sender->way->is_asleep) != 0; }

/* A port in M of this thread's loop, which looks for the sender's next message. */
HELPER treadle_message_port look_for(struct sender *sender, const char *name, struct received *received) {
    treadle_message_port port = make_local(name, receive_and_keep, received);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, M), TREADLE_OK);
    open_sender(sender, name);
    poll_mode(M);
    take_ring(sender);
    CHECK(wants_bell(sender));
    send_text(sender, "first");
    poll_mode(M);
    CHECK_INT(received->count, 1);
    CHECK(!wants_bell(sender));
    return port;
}
HELPER void end_look(treadle_message_port port, struct sender *sender) {
    close_sender(sender);
    CHECK_INT(discard(port), TREADLE_OK);
}

#endif
