/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Mach ports inside of a process, and the messages that mach_msg sends to them. */
#include "ports.h"

#include <mach/mach.h>

struct message {
    mach_msg_header_t head;
    char text[40];
};
static mach_msg_return_t send_text(mach_port_t to, mach_port_t reply, mach_msg_id_t id, const char *text, mach_msg_option_t option,
                                   mach_msg_timeout_t timeout) {
    struct message message = {.head = {.msgh_bits = MACH_MSGH_BITS(MACH_MSG_TYPE_COPY_SEND, reply ? MACH_MSG_TYPE_MAKE_SEND : 0),
                                       .msgh_remote_port = to, .msgh_local_port = reply, .msgh_id = id}};
    snprintf(message.text, sizeof message.text, "%s", text);
    message.head.msgh_size = (mach_msg_size_t)(sizeof message.head + strlen(text) + 1);
    return mach_msg(&message.head, MACH_SEND_MSG | option, message.head.msgh_size, 0, MACH_PORT_NULL, timeout, MACH_PORT_NULL);
}
static mach_msg_return_t try_text(mach_port_t to, mach_msg_id_t id, const char *text) {
    return send_text(to, MACH_PORT_NULL, id, text, MACH_SEND_TIMEOUT, 0);
}

static struct message last;
static CFIndex last_size;
static void receive(CFMachPortRef port, void *bytes, CFIndex size, void *info) {
    struct counted *counted = info;
    CHECK(size >= (CFIndex)sizeof last.head && size <= (CFIndex)sizeof last);
    memset(&last, 0, sizeof last);
    memcpy(&last, bytes, (size_t)size);
    last_size = size;
    CHECK_INT(last.head.msgh_local_port, CFMachPortGetPort(port));
    CHECK_INT(last.head.msgh_size, size);
    CHECK(counted->references > 1 || counted->retains == 0);
    counted->calls++;
    if (last.head.msgh_remote_port) CHECK_INT(try_text(last.head.msgh_remote_port, last.head.msgh_id + 1, last.text), MACH_MSG_SUCCESS);
    if (last.head.msgh_id == STOP) CFRunLoopStop(CFRunLoopGetCurrent());
    if (last.head.msgh_id == END) CFMachPortInvalidate(port);
}
static void mach_ended(CFMachPortRef port, void *info) {
    struct counted *counted = info;
    CHECK(!CFMachPortIsValid(port));
    if (!counted) return;
    counted->ends++;
    counted->references_at_the_end = counted->references;
}
static CFMachPortRef make_port(struct counted *info) {
    CFMachPortContext context = {0, info, counted_retain, counted_release, NULL};
    Boolean should_free = TRUE;
    CFMachPortRef port = CFMachPortCreate(NULL, receive, info ? &context : NULL, &should_free);
    CHECK(port != NULL && !should_free && CFGetTypeID(port) == CFMachPortGetTypeID());
    return port;
}
static void serve_port(CFMachPortRef port) { add_source(CFMachPortCreateRunLoopSource(NULL, port, 0), kCFRunLoopDefaultMode); }
static SInt32 run_once(void) { return CFRunLoopRunInMode(kCFRunLoopDefaultMode, LONG_TIME, TRUE); }

TEST(a_message_arrives_as_it_was_sent, "MPORT-4 MPORT-2 MPORT-3") {
    struct counted info = {.references = 1};
    CFMachPortRef port = make_port(&info);
    CHECK_INT(info.retains, 1);
    serve_port(port);
    mach_port_t number = CFMachPortGetPort(port);
    CHECK(MACH_PORT_VALID(number));
    CHECK_INT(send_text(number, MACH_PORT_NULL, -7, "words", 0, 0), MACH_MSG_SUCCESS);
    CHECK_INT(info.calls, 0);
    CHECK_INT(run_once(), kCFRunLoopRunHandledSource);
    CHECK(info.calls == 1 && last.head.msgh_id == -7 && last.head.msgh_remote_port == MACH_PORT_NULL);
    CHECK_INT(last_size, sizeof last.head + 6);
    CHECK_TEXT(last.text, "words");
    CHECK_INT(info.references, 2);
    CFMachPortInvalidate(port);
    CFRelease(port);
    CHECK_INT(info.references, 1);
}

TEST(an_answer_goes_to_the_port_that_the_message_names, "MPORT-3") {
    struct counted one = {.references = 1}, other = {.references = 1};
    CFMachPortRef asked = make_port(&one), asking = make_port(&other);
    serve_port(asked);
    serve_port(asking);
    CHECK_INT(send_text(CFMachPortGetPort(asked), CFMachPortGetPort(asking), 10, "ping", 0, 0), MACH_MSG_SUCCESS);
    run_once();
    CHECK(one.calls == 1 && last.head.msgh_remote_port == CFMachPortGetPort(asking));
    CHECK_INT(last.head.msgh_bits, MACH_MSGH_BITS(MACH_MSG_TYPE_MAKE_SEND, MACH_MSG_TYPE_COPY_SEND));
    run_once();
    CHECK(other.calls == 1 && last.head.msgh_id == 11 && last.head.msgh_remote_port == MACH_PORT_NULL);
    CHECK_TEXT(last.text, "ping");
    CFRelease(asked);
    CFRelease(asking);
}

TEST(one_message_a_pass_in_their_order, "PORT-6 PORT-5 MPORT-4") {
    struct counted info = {.references = 1};
    CFMachPortRef port = make_port(&info);
    serve_port(port);
    for (int i = 0; i < 3; i++) CHECK_INT(try_text(CFMachPortGetPort(port), 100 + i, "x"), MACH_MSG_SUCCESS);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(run_once(), kCFRunLoopRunHandledSource);
        CHECK(info.calls == i + 1 && last.head.msgh_id == 100 + i);
    }
    CFRelease(port);
}

TEST(bad_messages_are_refused, "MPORT-2 ABI-10") {
    CFMachPortRef port = make_port(NULL), gone = make_port(NULL);
    mach_port_t number = CFMachPortGetPort(port), gone_number = CFMachPortGetPort(gone);
    CFRelease(gone);
    CHECK_INT(try_text(MACH_PORT_NULL, 1, "x"), MACH_SEND_INVALID_DEST);
    CHECK_INT(try_text(12345678, 1, "x"), MACH_SEND_INVALID_DEST);
    CHECK_INT(try_text(0xFFFFFFFF, 1, "x"), MACH_SEND_INVALID_DEST);
    CHECK_INT(try_text(gone_number, 1, "x"), MACH_SEND_INVALID_DEST);
    CHECK_INT(send_text(number, gone_number, 1, "x", 0, 0), MACH_SEND_INVALID_REPLY);
    mach_msg_header_t head = {.msgh_remote_port = number};
    CHECK_INT(mach_msg(NULL, MACH_SEND_MSG, sizeof head, 0, 0, 0, 0), MACH_SEND_INVALID_DATA);
    CHECK_INT(mach_msg(&head, MACH_SEND_MSG, sizeof head - 1, 0, 0, 0, 0), MACH_SEND_MSG_TOO_SMALL);
    CHECK_INT(mach_msg(&head, MACH_RCV_MSG, 0, sizeof head, number, 0, 0), MACH_RCV_INVALID_NAME);
    CHECK_INT(mach_msg(&head, MACH_SEND_MSG | MACH_RCV_MSG, sizeof head, sizeof head, number, 0, 0), MACH_RCV_INVALID_NAME);
    head.msgh_bits = MACH_MSGH_BITS_COMPLEX;
    CHECK_INT(mach_msg(&head, MACH_SEND_MSG, sizeof head, 0, 0, 0, 0), MACH_SEND_INVALID_HEADER);
    CFMachPortInvalidate(port);
    CHECK_INT(try_text(number, 1, "x"), MACH_SEND_INVALID_DEST);
    CFRelease(port);
    /* The number of one that is gone is not the next one's. */
    gone = make_port(NULL);
    CHECK(CFMachPortGetPort(gone) != number);
    CFRelease(gone);
}

TEST(a_full_port_has_its_sender_wait, "MPORT-1 MPORT-2") {
    struct counted info = {.references = 1};
    CFMachPortRef port = make_port(&info);
    mach_port_t number = CFMachPortGetPort(port);
    int sent = 0;
    while (try_text(number, 1, "x") == MACH_MSG_SUCCESS) sent++;
    CHECK_INT(sent, 1024);
    CHECK_INT(send_text(number, MACH_PORT_NULL, 1, "x", MACH_SEND_TIMEOUT, 20), MACH_SEND_TIMED_OUT);
    serve_port(port);
    CHECK_INT(send_text(number, MACH_PORT_NULL, 1, "x", 0, 0), MACH_SEND_TIMED_OUT); /* nobody else could make room */
    run_once();
    CHECK_INT(try_text(number, 2, "y"), MACH_MSG_SUCCESS);
    CFRelease(port);
}

TEST(a_known_number_gives_the_same_port, "MPORT-4") {
    struct counted info = {.references = 1}, other = {.references = 1};
    CFMachPortRef port = make_port(&info);
    CFMachPortContext context = {0, &other, counted_retain, counted_release, NULL};
    Boolean should_free = FALSE;
    CHECK(CFMachPortCreateWithPort(NULL, CFMachPortGetPort(port), receive, &context, &should_free) == port && should_free);
    CHECK_INT(other.retains, 0);
    CFRelease(port);
    CHECK(CFMachPortIsValid(port));
    mach_port_t number = CFMachPortGetPort(port);
    CFMachPortInvalidate(port);
    should_free = FALSE;
    CHECK(CFMachPortCreateWithPort(NULL, number, receive, NULL, &should_free) == NULL && should_free);
    CFRelease(port);
    CHECK(CFMachPortCreateWithPort(NULL, number, receive, NULL, NULL) == NULL);
    CHECK(CFMachPortCreateWithPort(NULL, 0, receive, NULL, NULL) == NULL);
}

TEST(the_end_of_a_port_is_told_once_before_its_info_goes, "MPORT-4 PORT-2") {
    struct counted info = {.references = 1};
    CFMachPortRef port = make_port(&info);
    CFMachPortSetInvalidationCallBack(port, mach_ended);
    CHECK(CFMachPortGetInvalidationCallBack(port) == mach_ended);
    serve_port(port);
    CHECK_INT(try_text(CFMachPortGetPort(port), END, "x"), MACH_MSG_SUCCESS);
    CHECK_INT(try_text(CFMachPortGetPort(port), ECHO, "dropped"), MACH_MSG_SUCCESS);
    run_once();
    CHECK(info.calls == 1 && info.ends == 1 && info.references == 1);
    CHECK_INT(run_once(), kCFRunLoopRunFinished);
    CFMachPortInvalidate(port);
    CHECK_INT(info.ends, 1);
    CFMachPortContext shown = {0, &info, NULL, NULL, NULL};
    CFMachPortGetContext(port, &shown);
    CHECK(shown.info == NULL);
    CFRelease(port);
    /* Without an invalidation, the last release is the end. */
    port = make_port(&info);
    CFMachPortSetInvalidationCallBack(port, mach_ended);
    CFRelease(port);
    CHECK(info.ends == 2 && info.references_at_the_end == 2 && info.references == 1);
}

static int late_calls;
static void told_late(CFMachPortRef port, void *info) {
    (void)port, (void)info;
    late_calls++;
}
TEST(whoever_asks_late_is_told_if_nobody_was, "MPORT-4") {
    CFMachPortRef port = make_port(NULL), told = make_port(NULL);
    CFMachPortSetInvalidationCallBack(told, mach_ended);
    CFMachPortInvalidate(port);
    CFMachPortInvalidate(told);
    CFMachPortSetInvalidationCallBack(told, told_late);
    CHECK_INT(late_calls, 0);
    CFMachPortSetInvalidationCallBack(port, told_late);
    CFMachPortSetInvalidationCallBack(port, told_late);
    CHECK_INT(late_calls, 1);
    CFRelease(port);
    CFRelease(told);
}

TEST(the_source_may_be_replaced_and_the_messages_stay, "MPORT-4 PORT-1") {
    struct counted info = {.references = 1};
    CFMachPortRef port = make_port(&info);
    CFRunLoopSourceRef source = CFMachPortCreateRunLoopSource(NULL, port, 3), again = CFMachPortCreateRunLoopSource(NULL, port, 0);
    CHECK(source == again && CFRunLoopSourceGetOrder(source) == 3);
    CFRelease(again);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CHECK(CFRunLoopContainsSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode));
    CHECK_INT(try_text(CFMachPortGetPort(port), 1, "kept"), MACH_MSG_SUCCESS);
    CFRunLoopSourceInvalidate(source);
    CHECK(!CFRunLoopSourceIsValid(source) && CFMachPortIsValid(port));
    CHECK_INT(run_once(), kCFRunLoopRunFinished);
    serve_port(port);
    CHECK_INT(run_once(), kCFRunLoopRunHandledSource);
    CHECK_TEXT(last.text, "kept");
    CFRelease(source);
    CFMachPortInvalidate(port);
    CHECK(CFMachPortCreateRunLoopSource(NULL, port, 0) == NULL);
    CFRelease(port);
}

TEST(a_loop_keeps_the_port_whose_source_it_has, "MPORT-4 PORT-1") {
    struct counted info = {.references = 1};
    CFMachPortRef port = make_port(&info);
    mach_port_t number = CFMachPortGetPort(port);
    CFRunLoopSourceRef source = CFMachPortCreateRunLoopSource(NULL, port, 0);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CFRelease(source);
    CFRelease(port);
    CHECK_INT(try_text(number, STOP, "x"), MACH_MSG_SUCCESS);
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, LONG_TIME, FALSE), kCFRunLoopRunStopped);
    CFRunLoopRemoveSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode);
    CHECK(info.references == 1 && !CFMachPortIsValid(port));
    CHECK_INT(try_text(number, STOP, "x"), MACH_SEND_INVALID_DEST);
}

TEST_MAIN()
