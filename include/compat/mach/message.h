/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message.h: messages to the ports of CoreFoundation/CFMachPort.h, inside of a process: simple ones, of bytes. There are no
 * rights, no memory and no descriptors in messages, and no receiving but by a run loop. */
#ifndef CF_COMPAT_MACH_MESSAGE_H
#define CF_COMPAT_MACH_MESSAGE_H

#include "port.h"

typedef unsigned int mach_msg_bits_t;
typedef unsigned int mach_msg_size_t;
typedef int mach_msg_id_t;
typedef int mach_msg_option_t;
typedef unsigned int mach_msg_timeout_t; /* milliseconds */
typedef int kern_return_t;
typedef kern_return_t mach_msg_return_t;

/** How every message begins. */
typedef struct {
    mach_msg_bits_t msgh_bits; /* MACH_MSGH_BITS of the two ports */
    mach_msg_size_t msgh_size; /* received: of the whole message; sent: not looked at, send_size counts */
    mach_port_t msgh_remote_port;
    mach_port_t msgh_local_port;
    mach_port_name_t msgh_voucher_port; /* 0 */
    mach_msg_id_t msgh_id;
} mach_msg_header_t;

/** Dispositions of a sender's right to a port: ignored, since a port is a number here. */
#define MACH_MSG_TYPE_MOVE_SEND 17
#define MACH_MSG_TYPE_MOVE_SEND_ONCE 18
#define MACH_MSG_TYPE_COPY_SEND 19
#define MACH_MSG_TYPE_MAKE_SEND 20
#define MACH_MSG_TYPE_MAKE_SEND_ONCE 21
#define MACH_MSGH_BITS(remote, local) ((mach_msg_bits_t)(remote) | ((mach_msg_bits_t)(local) << 8))
#define MACH_MSGH_BITS_COMPLEX 0x80000000U

#define MACH_SEND_MSG 0x00000001
#define MACH_RCV_MSG 0x00000002
#define MACH_SEND_TIMEOUT 0x00000010
#define MACH_MSG_OPTION_NONE 0x00000000
#define MACH_MSG_TIMEOUT_NONE ((mach_msg_timeout_t)0)

#define KERN_SUCCESS 0
#define MACH_MSG_SUCCESS 0x00000000
#define MACH_SEND_INVALID_DATA 0x10000002   /* the message is NULL */
#define MACH_SEND_INVALID_DEST 0x10000003   /* msgh_remote_port is no valid port */
#define MACH_SEND_TIMED_OUT 0x10000004      /* the port had no room in time, or no thread could ever make room */
#define MACH_SEND_MSG_TOO_SMALL 0x10000008  /* less than a header */
#define MACH_SEND_INVALID_REPLY 0x10000009  /* msgh_local_port is neither 0 nor a valid port */
#define MACH_SEND_NO_BUFFER 0x1000000d      /* no memory */
#define MACH_SEND_INVALID_HEADER 0x10000010 /* a complex message */
#define MACH_RCV_INVALID_NAME 0x10004002    /* MACH_RCV_MSG, or no MACH_SEND_MSG */

#ifdef __cplusplus
extern "C" {
#endif
extern int _CFMachMessageSend(const void *message, int option, unsigned int size, unsigned int milliseconds);
#ifdef __cplusplus
}
#endif

/** Sends a message of send_size bytes to its msgh_remote_port. The bytes are copied; the receiver sees msgh_local_port as
 *  msgh_remote_port, and replies go to it. option: MACH_SEND_MSG; with MACH_SEND_TIMEOUT it waits at most `timeout` milliseconds
 *  for room, else as long as it takes. The other arguments are for receiving, and 0.
 *  [any] Returns MACH_MSG_SUCCESS, or one of the codes above with nothing sent (MPORT-2). */
#if defined(__GNUC__)
__attribute__((__unused__))
#endif
static inline mach_msg_return_t
mach_msg(mach_msg_header_t *msg, mach_msg_option_t option, mach_msg_size_t send_size, mach_msg_size_t rcv_size, mach_port_t rcv_name,
         mach_msg_timeout_t timeout, mach_port_t notify) {
    (void)rcv_size, (void)rcv_name, (void)notify;
    return _CFMachMessageSend(msg, option, send_size, timeout);
}

#endif
