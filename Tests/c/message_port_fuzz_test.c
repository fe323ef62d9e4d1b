/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_fuzz_test.c: frames by chance, made from a corpus, to both sides of message ports. A frame ends its connection, or
 * is taken, as the test itself says of it; and the port serves its owner all the while.
 *
 * TREADLE_FUZZ_INPUTS sets how many frames there are, for a soak: 1000000. */
#include "chance.h"
#include "message_frames.h"

static long inputs(long usual) {
    const char *wanted = getenv("TREADLE_FUZZ_INPUTS"), *scale = getenv("TREADLE_TEST_SCALE");
    if (wanted) return strtol(wanted, NULL, 10);
    long count = (long)((double)usual * (scale ? strtod(scale, NULL) : 1));
    return count > 500 ? count : 500;
}

/* --- A frame by chance ---------------------------------------------------------------------------------- */

struct input {
    size_t size; /* head and data; less than a head is possible */
    unsigned char bytes[sizeof(struct head) + MOST_DATA];
};
static size_t data_of(const struct input *input) { return input->size > sizeof(struct head) ? input->size - sizeof(struct head) : 0; }

static void spoil(struct input *input) {
    static const uint64_t numbers[] = {0, 1, 2, 3, 4, 5, 127, 128, 255, 256, 65535, 65536, 0x60000000, 0x60000001, INT32_MAX, 0x80000000,
                                       UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 31};
    size_t at = input->size ? chance((unsigned)input->size) : 0, width = (size_t)1 << chance(4);
    uint64_t number = numbers[chance(sizeof numbers / sizeof *numbers)];
    switch (chance(8)) {
    case 0: input->bytes[at] ^= (unsigned char)(1u << chance(8)); break;
    case 1: input->bytes[at] = (unsigned char)chance(256); break;
    case 2: /* a number, where one may be */
        at &= ~(width - 1);
        if (at + width <= input->size) memcpy(input->bytes + at, &number, width);
        break;
    case 3: input->size = chance((unsigned)input->size + 1); break;
    case 4: { /* longer */
        size_t more = chance(40);
        if (input->size + more > sizeof input->bytes) break;
        for (size_t i = 0; i < more; i++) input->bytes[input->size + i] = (unsigned char)chance(256);
        input->size += more;
        break;
    }
    case 5: { /* a length that is true again */
        uint64_t length = data_of(input);
        memcpy(input->bytes + offsetof(struct head, length), &length, sizeof length);
        break;
    }
    case 6: { /* a part that is twice there */
        size_t part = chance(16);
        if (at + part > input->size || input->size + part > sizeof input->bytes) break;
        memmove(input->bytes + at + part, input->bytes + at, input->size - at);
        input->size += part;
        break;
    }
    default: break;
    }
}
static void make_input(struct input *input, const struct frame *frames, size_t count) {
    const struct frame *frame = &frames[chance((unsigned)count)];
    memset(input, 0, sizeof *input);
    memcpy(input->bytes, &frame->head, sizeof frame->head);
    memcpy(input->bytes + sizeof frame->head, frame->data, frame->size);
    input->size = sizeof frame->head + frame->size;
    for (unsigned steps = chance(5); steps > 0; steps--) spoil(input);
}
static bool is_good(const struct input *input, bool from_sender) {
    struct head head;
    memcpy(&head, input->bytes, sizeof head);
    return input->size >= sizeof head && is_good_head(&head, data_of(input), from_sender);
}
static void fail_with(const struct input *input, const char *what) {
    for (size_t i = 0; i < input->size; i++) fprintf(stderr, "\\x%02x", input->bytes[i]);
    check_failed(__FILE__, __LINE__, " is %s", what);
}

/* --- The functions that the corpus calls ------------------------------------------------------------------ */

static int32_t add(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
static uint64_t count(const char *text, char letter) {
    uint64_t total = 0;
    for (; text && *text; text++) total += *text == letter;
    return total;
}
static void flip(char *bytes, char *out) { (void)bytes, (void)out; }
static bool truth(bool is_true) {
    unsigned char byte;
    memcpy(&byte, &is_true, 1);
    CHECK(byte <= 1);
    return !is_true;
}
struct pairs {
    struct {
        bool is_true;
        int16_t number;
    } pair[2];
};
static void pairs(struct pairs given) {
    for (int i = 0; i < 2; i++) {
        unsigned char byte;
        memcpy(&byte, &given.pair[i].is_true, 1);
        CHECK(byte <= 1);
    }
}
#define CODE(function) (void (*)(void))(function)
static const treadle_port_function functions[] = {
    {"add", "iii", CODE(add)},   {"count", "QO*c", CODE(count)},      {"flip", "vN^co^c", CODE(flip)},
    {"truth", "BB", CODE(truth)}, {"pairs", "v{=[2{=Bs}]}", CODE(pairs)},
};
static void receive(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    (void)port, (void)info;
    unsigned sum = 0;
    for (size_t i = 0; i < message->size; i++) sum += ((const unsigned char *)message->data)[i];
    treadle_message_port_reply(message->call, &sum, message->size ? sizeof sum : 0);
}
/* The port is served by the thread that sends to it, so that nothing waits for another thread's turn. */
static treadle_message_port serve_functions(const char *name) {
    treadle_message_port_context context = {.struct_size = sizeof context, .receive = receive, .functions = functions,
                                            .function_count = sizeof functions / sizeof *functions};
    treadle_message_port port = NULL;
    CHECK_INT(treadle_message_port_create_local(name, &context, &port), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, M), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, REPLIES), TREADLE_OK);
    return port;
}

/* --- The two sides ---------------------------------------------------------------------------------------- */

/* Sends a frame, and a request behind it: whether that is answered. */
static bool is_taken(int fd, const struct input *input) {
    static char bytes[1 << 17];
    struct head probe = head_of(MESSAGE, WANTS_REPLY, 0, 0x7FFFFFF1), head;
    if (raw_send(fd, input->bytes, input->size, NULL, 0, 0) < 0) return false;
    if (raw_send(fd, &probe, sizeof probe, NULL, 0, 0) < 0) return false;
    for (;;) {
        ssize_t size = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (size < 0 && errno == ECONNRESET) continue; /* what it has sent before is there still */
        if (size < 0 && errno == EAGAIN) {
            treadle_loop_run(treadle_loop_current(), M, 0, TREADLE_RUN_RETURN_AFTER_SOURCE);
            continue;
        }
        if (size <= 0) return false;
        CHECK(size >= (ssize_t)sizeof head);
        memcpy(&head, bytes, sizeof head);
        if (head.serial == probe.serial) return true;
    }
}

TEST(frames_by_chance_end_their_connection_or_are_taken, "MSG-9 MSG-11") {
    const char *name = new_name();
    choose_seed();
    begin_chance(1);
    treadle_message_port port = serve_functions(name), remote = make_remote(name);
    long taken = 0, all = inputs(20000);
    int before = count_descriptors(), fd = -1;
    for (long i = 0; i < all; i++) {
        struct input input;
        make_input(&input, sent_frames, sizeof sent_frames / sizeof *sent_frames);
        if (fd < 0) {
            fd = raw_greeted(name);
        }
        bool is_call = input.size > offsetof(struct head, kind) && input.bytes[offsetof(struct head, kind)] == CALL_KIND;
        bool expected = is_good(&input, true), was_taken = is_taken(fd, &input);
        if (was_taken && !expected) fail_with(&input, "taken");
        if (!was_taken && expected && !is_call) fail_with(&input, "not taken");
        taken += was_taken;
        if (was_taken) continue;
        close(fd);
        fd = -1;
        if (i % 64 == 0) {
            int32_t a = (int32_t)i, b = 5, sum = 0;
            treadle_port_value values[] = {{&a, sizeof a}, {&b, sizeof b}};
            CHECK_INT(treadle_port_call(remote, "add", "iii", values, 2, &sum, sizeof sum, LONG, REPLIES), TREADLE_OK);
            CHECK_INT(sum, a + b);
        }
    }
    if (fd >= 0) close(fd);
    CHECK(taken > all / 20 && taken < all); /* the frames are neither all good nor all bad */
    treadle_release(remote);
    CHECK_INT(discard(port), TREADLE_OK);
    CHECK(count_descriptors() <= before);
}

TEST(answers_by_chance_end_the_port_or_are_taken, "MSG-6 MSG-7 MSG-9") {
    const char *name = new_name();
    char bytes[512];
    choose_seed();
    begin_chance(2);
    int listener = raw_listen(name);
    long good = 0, all = inputs(20000) / 4;
    for (long i = 0; i < all; i++) {
        struct head head;
        struct input answer;
        struct reply reply = {0};
        make_input(&answer, answered_frames, sizeof answered_frames / sizeof *answered_frames);
        memcpy(&head, answer.bytes, sizeof head);
        treadle_message_port port = make_remote(name);
        int fd = accept(listener, NULL, NULL);
        CHECK(recv(fd, bytes, sizeof bytes, 0) > 0);
        /* It is there before the message that it answers, which is the port's first. */
        CHECK_INT(raw_send(fd, answer.bytes, answer.size, NULL, 0, 0), answer.size);
        treadle_status status = request_text(port, 1, "q", 0, &reply);
        bool is_good_one = is_good(&answer, false);
        treadle_status expected = !is_good_one ? TREADLE_E_CLOSED : head.serial != 1 ? TREADLE_E_NO_REPLY
                                  : head.flags == ABANDONED                         ? TREADLE_E_CLOSED
                                                                                    : TREADLE_OK;
        if (status != expected) fail_with(&answer, is_good_one ? "not taken" : "taken");
        CHECK_INT(treadle_is_valid(port), is_good_one);
        CHECK_INT(reply.count, status == TREADLE_OK);
        if (reply.count) CHECK(reply.size == data_of(&answer) && (!reply.size || memcmp(reply.data, answer.bytes + sizeof head, reply.size) == 0));
        good += is_good_one;
        drop_reply(&reply);
        treadle_invalidate(port);
        treadle_release(port);
        close(fd);
    }
    CHECK(good > all / 50 && good < all);
    close(listener);
}

TEST_MAIN()
