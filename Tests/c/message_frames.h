/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_frames.h: the corpus that the frames of message_port_fuzz_test.c are made from. A frame that has once been a fault is
 * added here, as the test prints it. */
#ifndef TREADLE_TEST_MESSAGE_FRAMES_H
#define TREADLE_TEST_MESSAGE_FRAMES_H

#include "message_port_raw.h"

enum { MOST_DATA = 256 };

struct frame {
    struct head head;
    size_t size; /* of the data, in a string that may have NULs */
    const char *data;
};
#define FRAME(kind, flags, serial, text) {{0x4C445254, 1, kind, flags, sizeof(text) - 1, serial, 0, 0}, sizeof(text) - 1, text}
#define ODD_LENGTH(kind, flags, serial, length, text) {{0x4C445254, 1, kind, flags, length, serial, 0, 0}, sizeof(text) - 1, text}

/* From a sender, who has said hello. */
static const struct frame sent_frames[] = {
    FRAME(MESSAGE, WANTS_REPLY, 7, "words"),
    FRAME(MESSAGE, 0, 0, "words"),
    FRAME(MESSAGE, 0, 0, ""),
    FRAME(MESSAGE, WANTS_REPLY, 0xFFFFFFFF, ""),
    FRAME(HELLO, 0, 0, "again"),
    FRAME(REPLY, 0, 3, "not mine to send"),
    FRAME(CALL_KIND, WANTS_REPLY, 9, "\3\0\3\0\0\0\0\0addiii\1\0\0\0\2\0\0\0"),
    FRAME(CALL_KIND, WANTS_REPLY, 9, "\5\0\4\0\0\0\0\0countQO*c\4\0\0\0\0\0\0\0aba\0a"),
    FRAME(CALL_KIND, WANTS_REPLY, 9, "\5\0\4\0\0\0\0\0countQO*c\377\377\377\377\377\377\377\377a"),
    FRAME(CALL_KIND, WANTS_REPLY, 9, "\4\0\7\0\0\0\0\0flipvN^vo^v\10\0\0\0\0\0\0\0abcdefgh\20\0\0\0\0\0\0\0"),
    FRAME(CALL_KIND, WANTS_REPLY, 9, "\4\0\2\0\0\0\0\0truthBB\1"),
    FRAME(CALL_KIND, WANTS_REPLY, 9, "\5\0\2\0\0\0\0\0truthBB\1"),
    FRAME(CALL_KIND, WANTS_REPLY, 9, "\5\0\14\0\0\0\0\0pairsv{=[2{=Bs}]}\1\0\377\177\0\0\1\0"),
    FRAME(CALL_KIND, WANTS_REPLY, 9, "\4\0\3\0\0\0\0\0none"
                                     "iii"),
    ODD_LENGTH(MESSAGE, IN_FILE, 0, 100000, ""),
    ODD_LENGTH(MESSAGE, IN_FILE | LENT, 0, 100000, ""),
    FRAME(MESSAGE, LENT, 0, "words"),
    ODD_LENGTH(MESSAGE, WANTS_REPLY, 7, UINT64_MAX, "words"),
    ODD_LENGTH(MESSAGE, WANTS_REPLY, 7, (uint64_t)0 - 27, "words"),
    ODD_LENGTH(MESSAGE, WANTS_REPLY, 7, 0x60000001, "words"),
};
/* From a server, to a message with the serial 1. */
static const struct frame answered_frames[] = {
    FRAME(REPLY, 0, 1, "reply"),
    FRAME(REPLY, 0, 1, ""),
    FRAME(REPLY, ABANDONED, 1, ""),
    FRAME(REPLY, 0, 2, "another's"),
    FRAME(MESSAGE, 0, 0, "not its to send"),
    ODD_LENGTH(REPLY, IN_FILE, 1, 100000, ""),
    ODD_LENGTH(REPLY, IN_FILE | LENT, 1, 100000, ""),
    FRAME(REPLY, LENT, 1, "reply"),
    ODD_LENGTH(REPLY, 0, 1, UINT64_MAX, "reply"),
};

/* --- What the frames are, said again by other means than the library's ----------------------------------- */

/* Whether a port takes the head of a frame with so much data, without a file. */
HELPER bool is_good_head(const struct head *head, size_t data, bool from_sender) {
    if (head->magic != 0x4C445254 || head->version != 1 || head->reserved != 0 || head->length != data) return false;
    bool wants = head->flags == WANTS_REPLY && head->serial != 0, plain = head->flags == 0 && head->serial == 0;
    if (!from_sender)
        return head->kind == REPLY && head->id == 0 && head->serial != 0 && (head->flags == 0 || (head->flags == ABANDONED && data == 0));
    if (head->kind == MESSAGE) return wants || plain;
    return head->kind == CALL_KIND && wants && head->id == 0;
}

#endif
