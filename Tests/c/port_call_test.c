/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Calls of functions that the other side of a message port has exported by name: what travels, and what is refused. */
#include "message_port_raw.h"

#include <math.h>

struct point {
    double x;
    int8_t marks[3];
    bool is_set;
};
static atomic_int calls;

static int32_t add(int32_t a, int32_t b) {
    calls++;
    return a + b;
}
static struct point moved(struct point p, float by) {
    calls++;
    p.x += (double)by;
    p.marks[1]++;
    return p;
}
static uint64_t count_letters(const char *text, char letter) {
    uint64_t count = 0;
    for (calls++; text && *text; text++) count += *text == letter;
    return text ? count : UINT64_MAX;
}
static void reverse(char *bytes, int64_t size, double *sum) {
    CHECK((uintptr_t)bytes % 16 == 0 && (uintptr_t)sum % 16 == 0 && *sum == 0);
    calls++;
    for (int64_t i = 0; i < size / 2; i++) {
        char kept = bytes[i];
        bytes[i] = bytes[size - 1 - i];
        bytes[size - 1 - i] = kept;
    }
    *sum = 0.5 + (double)size;
}
static int64_t many(int8_t a, uint8_t b, int16_t c, uint16_t d, int32_t e, uint32_t f, int64_t g, uint64_t h, float i, double j, bool k) {
    calls++;
    return a + b + c + d + e + (int64_t)f + g + (int64_t)h + (int64_t)i + (int64_t)j + k;
}
static bool is_odd(int64_t number) {
    calls++;
    return number % 2 != 0;
}
static void stop(void) { treadle_loop_stop(treadle_loop_current()); }
static void leave(void) { pthread_exit(NULL); }
static void fill(char *bytes, uint64_t size) { memset(bytes, calls++ ? 'x' : 'y', size); }
static void mess(uint8_t *place, bool is_true) { *place = is_true; }

#define CODE(function) (void (*)(void))(function)
#define POINT "{point=d[3c]B}"
static const treadle_port_function functions[] = {
    {"add", "iii", CODE(add)},
    {"moved", POINT POINT "f", CODE(moved)},
    {"count letters", "QO*c", CODE(count_letters)},
    {"reverse", "vN^cqo^d", CODE(reverse)},
    {"many", "qcCsSiIqQfdB", CODE(many)},
    {"is odd", "Bq", CODE(is_odd)},
    {"stop", "v", CODE(stop)},
    {"leave", "v", CODE(leave)},
    {"fill", "vo^cQ", CODE(fill)},
    {"mess", "vo^CB", CODE(mess)},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

struct callee {
    const char *name;
    pthread_t thread;
    sem_t is_ready;
};
static void *run_callee(void *argument) {
    struct callee *callee = argument;
    treadle_message_port_context context = {.struct_size = sizeof context, .functions = functions, .function_count = FUNCTIONS};
    treadle_message_port port = NULL;
    CHECK_INT(treadle_message_port_create_local(callee->name, &context, &port), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, M), TREADLE_OK);
    sem_post(&callee->is_ready);
    treadle_loop_run_default(treadle_loop_current());
    treadle_invalidate(port);
    treadle_release(port);
    return NULL;
}
static treadle_message_port start_callee(struct callee *callee) {
    callee->name = new_name();
    sem_init(&callee->is_ready, 0, 0);
    CHECK_INT(pthread_create(&callee->thread, NULL, run_callee, callee), 0);
    await(&callee->is_ready);
    return make_remote(callee->name);
}

#define VALUE(variable) {&(variable), sizeof(variable)}
#define CALL(port, name, signature, values, result) \
    treadle_port_call(port, name, signature, values, sizeof(values) / sizeof *(values), &(result), sizeof(result), LONG, REPLIES)
#define CALL_VOID(port, name, signature, values) \
    treadle_port_call(port, name, signature, values, sizeof(values) / sizeof *(values), NULL, 0, LONG, REPLIES)
static void end_callee(struct callee *callee, treadle_message_port port) {
    CHECK_INT(treadle_port_call(port, "stop", "v", NULL, 0, NULL, 0, LONG, REPLIES), TREADLE_OK);
    CHECK_INT(pthread_join(callee->thread, NULL), 0);
    CHECK_INT(treadle_release(port), TREADLE_OK);
}
static int32_t sum_of(treadle_message_port port, int32_t a, int32_t b) {
    int32_t sum = 0;
    treadle_port_value values[] = {VALUE(a), VALUE(b)};
    CHECK_INT(CALL(port, "add", "iii", values, sum), TREADLE_OK);
    return sum;
}

TEST(values_travel_and_results_come_back, "MSG-11") {
    struct callee callee;
    treadle_message_port port = start_callee(&callee);
    CHECK_INT(sum_of(port, 40, 2), 42);

    struct point point = {1.5, {1, 2, 3}, true}, result = {0};
    float by = 0.25f;
    treadle_port_value moving[] = {VALUE(point), VALUE(by)};
    CHECK_INT(CALL(port, "moved", POINT POINT "f", moving, result), TREADLE_OK);
    CHECK(result.x == 1.75 && result.marks[0] == 1 && result.marks[1] == 3 && result.is_set);

    int8_t a = -1;
    uint8_t b = 200;
    int16_t c = -300;
    uint16_t d = 60000;
    int32_t e = -70000;
    uint32_t f = 4000000000;
    int64_t g = -5000000000;
    uint64_t h = 6000000000;
    float i = 7;
    double j = 8;
    bool k = true;
    int64_t total = 0;
    treadle_port_value all[] = {VALUE(a), VALUE(b), VALUE(c), VALUE(d), VALUE(e), VALUE(f), VALUE(g), VALUE(h), VALUE(i), VALUE(j), VALUE(k)};
    CHECK_INT(CALL(port, "many", "qcCsSiIqQfdB", all, total), TREADLE_OK);
    CHECK_INT(total, many(a, b, c, d, e, f, g, h, i, j, k));

    int64_t number = 7;
    bool odd = false;
    treadle_port_value asking[] = {VALUE(number)};
    CHECK_INT(CALL(port, "is odd", "Bq", asking, odd), TREADLE_OK);
    CHECK(odd);
    /* A result that nobody wants. */
    CHECK_INT(CALL_VOID(port, "is odd", "B8q16", asking), TREADLE_OK);
    end_callee(&callee, port);
}

TEST(what_pointers_point_to_travels_with_them, "MSG-11") {
    struct callee callee;
    treadle_message_port port = start_callee(&callee);
    char text[] = "banana", letter = 'a';
    uint64_t count = 0;
    treadle_port_value counting[] = {{text, sizeof text}, VALUE(letter)};
    CHECK_INT(CALL(port, "count letters", "QO*c", counting, count), TREADLE_OK);
    CHECK_INT(count, 3);
    counting[0] = (treadle_port_value){NULL, 0};
    CHECK_INT(CALL(port, "count letters", "QO*c", counting, count), TREADLE_OK);
    CHECK_INT(count, UINT64_MAX);

    char *bytes = malloc(300000);
    for (int i = 0; i < 300000; i++) bytes[i] = (char)i;
    int64_t size = 300000;
    double sum = -1;
    treadle_port_value reversing[] = {{bytes, 300000}, VALUE(size), VALUE(sum)};
    CHECK_INT(CALL_VOID(port, "reverse", "vN^cqo^d", reversing), TREADLE_OK);
    CHECK(sum == 300000.5);
    for (int i = 0; i < 300000; i++) CHECK_INT(bytes[i], (char)(299999 - i));
    /* An empty buffer has an address. */
    size = 0;
    reversing[0].size = 0;
    CHECK_INT(CALL_VOID(port, "reverse", "vN^cqo^d", reversing), TREADLE_OK);
    CHECK(sum == 0.5);
    free(bytes);
    end_callee(&callee, port);
}

TEST(signatures_that_do_not_travel_are_refused, "MSG-11") {
    struct callee callee;
    treadle_message_port port = start_callee(&callee), made = NULL;
    static const char *const bad[] = {"v^?", "v^v", "v*", "*", "^v", "^?", "v{s=i^v}", "v{s=^?}", "vi...", "v{s={t=d*}}", "vO^?"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_ERROR(treadle_port_call(port, "add", bad[i], NULL, 0, NULL, 0, LONG, REPLIES), TREADLE_E_SIGNATURE, "signature");
        treadle_port_function function = {"bad", bad[i], CODE(add)};
        treadle_message_port_context context = {.struct_size = sizeof context, .functions = &function, .function_count = 1};
        CHECK_ERROR(treadle_message_port_create_local(new_name(), &context, &made), TREADLE_E_SIGNATURE, "signature");
    }
    CHECK_ERROR(treadle_port_call(port, "add", "vl", NULL, 0, NULL, 0, LONG, REPLIES), TREADLE_E_SIGNATURE, "signature");
    CHECK_ERROR(treadle_port_call(port, "add", NULL, NULL, 0, NULL, 0, LONG, REPLIES), TREADLE_E_ARG, "signature");
    end_callee(&callee, port);
}

TEST(calls_that_do_not_fit_are_refused, "MSG-11") {
    struct callee callee;
    treadle_message_port port = start_callee(&callee);
    int32_t a = 1, b = 2, sum = 77;
    treadle_port_value values[] = {VALUE(a), VALUE(b)};
    CHECK_ERROR(CALL(port, "subtract", "iii", values, sum), TREADLE_E_NOT_FOUND, "name");
    CHECK_ERROR(CALL(port, "add", "iiI", values, sum), TREADLE_E_SIGNATURE, "signature");
    CHECK_ERROR(CALL(port, NULL, "iii", values, sum), TREADLE_E_ARG, "name");
    CHECK_ERROR(CALL(port, "", "iii", values, sum), TREADLE_E_RANGE, "name");
    CHECK_ERROR(CALL(port, "\xFF", "iii", values, sum), TREADLE_E_ARG, "name");
    CHECK_ERROR(treadle_port_call(port, "add", "iii", values, 1, &sum, sizeof sum, LONG, REPLIES), TREADLE_E_RANGE, "argument_count");
    CHECK_ERROR(treadle_port_call(port, "add", "iii", values, SIZE_MAX, &sum, sizeof sum, LONG, REPLIES), TREADLE_E_RANGE, "argument_count");
    CHECK_ERROR(treadle_port_call(port, "add", "iii", NULL, 2, &sum, sizeof sum, LONG, REPLIES), TREADLE_E_ARG, "arguments");
    CHECK_ERROR(treadle_port_call(port, "add", "iii", values, 2, &sum, 8, LONG, REPLIES), TREADLE_E_RANGE, "result_size");
    CHECK_ERROR(treadle_port_call(port, "add", "iii", values, 2, &sum, sizeof sum, LONG, NULL), TREADLE_E_ARG, "mode");
    values[1].size = 8;
    CHECK_ERROR(CALL(port, "add", "iii", values, sum), TREADLE_E_RANGE, "argument 1");
    values[1] = (treadle_port_value){NULL, sizeof b};
    CHECK_ERROR(CALL(port, "add", "iii", values, sum), TREADLE_E_ARG, "argument 1");
    char open_text[] = {'a', 'b'}, letter = 'a';
    uint64_t count;
    treadle_port_value counting[] = {{open_text, 2}, VALUE(letter)};
    CHECK_ERROR(CALL(port, "count letters", "QO*c", counting, count), TREADLE_E_ARG, "argument 0");
    counting[0].size = SIZE_MAX;
    CHECK_ERROR(CALL(port, "count letters", "QO*c", counting, count), TREADLE_E_RANGE, "argument 0");
    uint8_t two = 2, place = 9;
    treadle_port_value messing[] = {VALUE(place), {&two, 1}};
    CHECK_ERROR(CALL_VOID(port, "mess", "vo^CB", messing), TREADLE_E_ARG, "arguments");
    uint64_t vast = 0;
    treadle_port_value filling[] = {{&vast, ((size_t)1 << 24) + 1}, VALUE(vast)};
    CHECK_ERROR(CALL_VOID(port, "fill", "vo^cQ", filling), TREADLE_E_RANGE, "argument 0");
    CHECK(sum == 77 && place == 9);
    CHECK_INT(calls, 0);

    treadle_message_port local = make_local(new_name(), NULL, NULL), made = NULL;
    treadle_port_value good[] = {VALUE(a), VALUE(b)};
    CHECK_ERROR(CALL(local, "add", "iii", good, sum), TREADLE_E_STATE, "port");
    treadle_port_function nameless = {NULL, "v", CODE(stop)}, empty = {"none", "v", NULL};
    treadle_message_port_context context = {.struct_size = sizeof context, .functions = &nameless, .function_count = 1};
    CHECK_ERROR(treadle_message_port_create_local(new_name(), &context, &made), TREADLE_E_ARG, "name");
    context.functions = &empty;
    CHECK_ERROR(treadle_message_port_create_local(new_name(), &context, &made), TREADLE_E_ARG, "functions");
    context.functions = NULL;
    CHECK_ERROR(treadle_message_port_create_local(new_name(), &context, &made), TREADLE_E_ARG, "functions");
    const size_t too_many[] = {1025, SIZE_MAX / 2 + 1, SIZE_MAX - 15, SIZE_MAX};
    for (size_t i = 0; i < sizeof too_many / sizeof *too_many; i++) {
        context.functions = functions, context.function_count = too_many[i];
        CHECK_ERROR(treadle_message_port_create_local(new_name(), &context, &made), TREADLE_E_RANGE, "function_count");
        context.functions = NULL, context.function_count = 0, context.users = (const uint32_t[]){1}, context.user_count = too_many[i];
        CHECK_ERROR(treadle_message_port_create_local(new_name(), &context, &made), TREADLE_E_RANGE, "user_count");
        context.users = NULL, context.user_count = 0;
    }
    context = (treadle_message_port_context){.struct_size = sizeof context, .functions = functions, .function_count = 1};
    CHECK_ERROR(treadle_message_port_create_remote(callee.name, &context, &made), TREADLE_E_ARG, "functions");
    treadle_release(local);
    end_callee(&callee, port);
}

TEST(a_port_without_functions_has_none, "MSG-11") {
    struct server server;
    start_server(&server, new_name());
    treadle_message_port port = make_remote(server.name);
    int32_t sum, a = 1;
    treadle_port_value values[] = {VALUE(a), VALUE(a)};
    CHECK_ERROR(CALL(port, "add", "iii", values, sum), TREADLE_E_NOT_FOUND, "name");
    CHECK_SERVED(port);
    CHECK_INT(server.messages, 1);
    end_server(&server);
    treadle_release(port);
}

TEST(a_function_may_end_its_thread, "MSG-11 MSG-7") {
    struct callee callee;
    treadle_message_port port = start_callee(&callee);
    CHECK_ERROR(treadle_port_call(port, "leave", "v", NULL, 0, NULL, 0, LONG, REPLIES), TREADLE_E_CLOSED, "port");
    CHECK_INT(pthread_join(callee.thread, NULL), 0);
    treadle_release(port);
}

/* The data of a call: sizes, name, signature, arguments. */
static size_t call_data(char *out, uint16_t name_size, uint16_t text_size, uint32_t zero, const char *name, const char *text,
                        const void *arguments, size_t size) {
    memcpy(out, &name_size, 2), memcpy(out + 2, &text_size, 2), memcpy(out + 4, &zero, 4);
    memcpy(out + 8, name, strlen(name)), memcpy(out + 8 + strlen(name), text, strlen(text));
    if (size) memcpy(out + 8 + strlen(name) + strlen(text), arguments, size);
    return 8 + strlen(name) + strlen(text) + size;
}

TEST(hostile_calls_end_their_connection, "MSG-11 MSG-9") {
    struct callee callee;
    treadle_message_port port = start_callee(&callee);
    static const uint64_t huge[] = {1ull << 32, 1ull << 31, 1000, UINT64_MAX - 1};
    static const int32_t two[] = {1, 2, 3};
    char data[512];
    size_t sizes[24];
    char all[24][512];
    int count = 0;
#define BAD(...) (sizes[count] = call_data(data, __VA_ARGS__), memcpy(all[count++], data, sizeof data))
    BAD(3, 3, 0, "add", "iii", two, 4);                /* too short */
    BAD(3, 3, 0, "add", "iii", two, 12);               /* too long */
    BAD(3, 3, 0, "add", "iii", NULL, 0);
    BAD(3, 3, 1, "add", "iii", two, 8);                /* no zero */
    BAD(0, 3, 0, "add", "iii", two, 8);                /* no name */
    BAD(3, 0, 0, "add", "iii", two, 8);                /* no signature */
    BAD(65535, 3, 0, "add", "iii", two, 8);            /* lengths that lie */
    BAD(3, 65535, 0, "add", "iii", two, 8);
    BAD(255, 255, 0, "add", "iii", two, 8);
    for (int i = 0; i < 4; i++) BAD(13, 4, 0, "count letters", "QO*c", &huge[i], 8);
    for (int i = 0; i < 4; i++)
        if (huge[i] != 1000 && huge[i] != 1ull << 31) BAD(4, 5, 0, "fill", "vo^vQ", &(uint64_t[2]){huge[i], 0}, 16);
    for (int i = 0; i < count; i++) {
        int fd = raw_greeted(callee.name);
        send_frame(fd, head_of(CALL_KIND, WANTS_REPLY, sizes[i], 5), all[i], sizes[i]);
        if (!is_ended(fd)) check_failed(__FILE__, __LINE__, "call %d is taken", i);
        close(fd);
    }
    /* Frames of a call that no caller sends. */
    size_t size = call_data(data, 3, 3, 0, "add", "iii", two, 8);
    struct head heads[] = {head_of(CALL_KIND, 0, size, 0), head_of(CALL_KIND, 0, size, 5), head_of(CALL_KIND, WANTS_REPLY, size, 0),
                           head_of(CALL_KIND, WANTS_REPLY | ABANDONED, size, 5), head_of(CALL_KIND, WANTS_REPLY, size, 5)};
    heads[4].id = 1;
    for (int i = 0; i < 5; i++) {
        int fd = raw_greeted(callee.name);
        send_frame(fd, heads[i], data, size);
        CHECK(is_ended(fd));
        close(fd);
    }
    /* Before the hello. */
    int fd = raw_connect(callee.name);
    send_frame(fd, head_of(CALL_KIND, WANTS_REPLY, size, 5), data, size);
    CHECK(is_ended(fd));
    close(fd);
    CHECK_INT(calls, 0);
    CHECK_INT(sum_of(port, 1, 2), 3);
    end_callee(&callee, port);
}

/* What a raw caller gets: the status of the answer. */
static int32_t raw_call(int fd, uint32_t serial, const char *data, size_t size) {
    char bytes[1024];
    int32_t status;
    send_frame(fd, head_of(CALL_KIND, WANTS_REPLY, size, serial), data, size);
    ssize_t got = recv(fd, bytes, sizeof bytes, 0);
    struct head head;
    CHECK(got >= (ssize_t)sizeof head + 8);
    memcpy(&head, bytes, sizeof head);
    CHECK(head.kind == REPLY && head.serial == serial);
    memcpy(&status, bytes + sizeof head, sizeof status);
    if (status != TREADLE_OK) CHECK_INT(got, sizeof head + 8);
    return status;
}
TEST(values_that_no_type_has_are_refused, "MSG-11") {
    struct callee callee;
    treadle_message_port port = start_callee(&callee);
    char data[512], text[] = {'a', 'b', 'c'};
    int fd = raw_greeted(callee.name);
    struct {
        uint64_t size;
        uint8_t truth;
    } mess_arguments = {1, 2};
    size_t size = call_data(data, 4, 5, 0, "mess", "vo^vB", &mess_arguments, 9);
    CHECK_INT(raw_call(fd, 1, data, size), TREADLE_E_ARG);
    struct point point = {0};
    memset(&point.is_set, 255, 1);
    char arguments[64] = {0};
    memcpy(arguments, &point, sizeof point);
    size = call_data(data, 5, 19, 0, "moved", "{=d[3c]B}{=d[3c]B}f", arguments, sizeof point + sizeof(float));
    CHECK_INT(raw_call(fd, 2, data, size), TREADLE_E_ARG);
    uint64_t length = 3;
    memcpy(arguments, &length, 8), memcpy(arguments + 8, text, 3), arguments[11] = 'a';
    size = call_data(data, 13, 4, 0, "count letters", "QO*c", arguments, 12);
    CHECK_INT(raw_call(fd, 3, data, size), TREADLE_E_ARG);
    length = (1 << 24) + 1;
    memcpy(arguments, &length, 8), memset(arguments + 8, 0, 8);
    size = call_data(data, 4, 5, 0, "fill", "vo^vQ", arguments, 16);
    CHECK_INT(raw_call(fd, 4, data, size), TREADLE_E_RANGE);
    size = call_data(data, 4, 5, 0, "fill", "vo^vq", arguments, 16);
    CHECK_INT(raw_call(fd, 5, data, size), TREADLE_E_SIGNATURE);
    size = call_data(data, 4, 3, 0, "sill", "v^v", arguments, 16);
    CHECK_INT(raw_call(fd, 6, data, size), TREADLE_E_NOT_FOUND);
    int32_t two[] = {20, 3};
    size = call_data(data, 3, 3, 0, "add", "iii", two, 8);
    CHECK_INT(raw_call(fd, 7, data, size), TREADLE_OK);
    CHECK_INT(calls, 1);
    close(fd);
    end_callee(&callee, port);
}

/* What lies between the members of a struct is whatever was in memory: it stays there. */
struct padded {
    int8_t first;
    int64_t second;
};
static void *keep_call(void *argument) {
    static char bytes[512];
    int fd = accept(*(int *)argument, NULL, NULL);
    CHECK(recv(fd, bytes, sizeof bytes, 0) > 0);
    CHECK_INT(receive_asked(fd, bytes, sizeof bytes), sizeof(struct head) + 8 + 4 + 6 + sizeof(struct padded));
    close(fd);
    return bytes + sizeof(struct head) + 8 + 4 + 6;
}
TEST(what_lies_between_the_members_of_a_struct_does_not_travel, "MSG-11") {
    const char *name = new_name();
    int listener = raw_listen(name);
    pthread_t thread;
    void *sent;
    CHECK_INT(pthread_create(&thread, NULL, keep_call, &listener), 0);
    treadle_message_port port = make_remote(name);
    struct padded value, expected;
    memset(&value, 'S', sizeof value), memset(&expected, 0, sizeof expected);
    value.first = expected.first = 1, value.second = expected.second = 2;
    treadle_port_value values[] = {VALUE(value)};
    CHECK_ERROR(CALL_VOID(port, "take", "v{s=cq}", values), TREADLE_E_CLOSED, "port");
    CHECK_INT(pthread_join(thread, &sent), 0);
    CHECK(memcmp(sent, &expected, sizeof expected) == 0);
    treadle_release(port);
    close(listener);
}

/* A server whose answers are wrong. */
struct bad_answer {
    int listener;
    uint32_t words[6];
    size_t size;
};
static void *answer_badly(void *argument) {
    struct bad_answer *bad = argument;
    char bytes[512];
    struct head head;
    int fd = accept(bad->listener, NULL, NULL);
    CHECK(recv(fd, bytes, sizeof bytes, 0) > 0);
    CHECK(receive_asked(fd, bytes, sizeof bytes) > 0);
    memcpy(&head, bytes, sizeof head);
    CHECK_INT(head.kind, CALL_KIND);
    send_frame(fd, head_of(REPLY, 0, bad->size, head.serial), bad->words, bad->size);
    while (recv(fd, bytes, sizeof bytes, 0) > 0) {}
    close(fd);
    return NULL;
}
TEST(hostile_answers_end_the_port, "MSG-11 MSG-9") {
    const struct {
        uint32_t words[6];
        size_t size;
        treadle_status status;
    } answers[] = {
        {{0}, 0, TREADLE_E_CLOSED},          /* none */
        {{0, 0, 1}, 8, TREADLE_E_CLOSED},    /* without the result */
        {{0, 0, 1, 2}, 16, TREADLE_E_CLOSED}, /* with more */
        {{0, 1, 1}, 12, TREADLE_E_CLOSED},   /* no zero */
        {{5, 0, 1}, 12, TREADLE_E_CLOSED},   /* no status of an answer */
        {{(uint32_t)TREADLE_E_TIMEOUT, 0}, 8, TREADLE_E_CLOSED},
        {{(uint32_t)TREADLE_E_NOT_FOUND, 0, 1}, 12, TREADLE_E_CLOSED},
        {{(uint32_t)TREADLE_E_NOT_FOUND, 0}, 8, TREADLE_E_NOT_FOUND},
        {{(uint32_t)TREADLE_E_NOMEM, 0}, 8, TREADLE_E_NOMEM},
        {{0, 0, 9}, 12, TREADLE_OK},
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const char *name = new_name();
        pthread_t thread;
        struct bad_answer bad = {.listener = raw_listen(name), .size = answers[i].size};
        memcpy(bad.words, answers[i].words, sizeof bad.words);
        CHECK_INT(pthread_create(&thread, NULL, answer_badly, &bad), 0);
        treadle_message_port port = make_remote(name);
        int32_t a = 4, sum = 77;
        treadle_port_value values[] = {VALUE(a), VALUE(a)};
        treadle_status status = CALL(port, "add", "iii", values, sum);
        if (status != answers[i].status) check_failed(__FILE__, __LINE__, "answer %zu: %d", i, status);
        CHECK_INT(sum, status == TREADLE_OK ? 9 : 77);
        CHECK_INT(treadle_is_valid(port), status != TREADLE_E_CLOSED);
        treadle_invalidate(port);
        treadle_release(port);
        CHECK_INT(pthread_join(thread, NULL), 0);
        close(bad.listener);
    }
}

TEST(a_process_calls_another, "MSG-11") {
    const char *name = new_name();
    int ready[2];
    char byte;
    CHECK_INT(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        struct callee callee = {.name = name};
        sem_init(&callee.is_ready, 0, 0);
        CHECK(write(ready[1], "r", 1) == 1); /* the name is tried until it is served */
        run_callee(&callee);
        _exit(0);
    }
    CHECK(read(ready[0], &byte, 1) == 1);
    treadle_message_port port = NULL;
    while (treadle_message_port_create_remote(name, NULL, &port) == TREADLE_E_NOT_FOUND) sched_yield();
    for (int32_t i = 0; i < 100; i++) CHECK_INT(sum_of(port, i, i), 2 * i);
    CHECK_INT(treadle_port_call(port, "stop", "v", NULL, 0, NULL, 0, LONG, REPLIES), TREADLE_OK);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    treadle_release(port);
}

TEST_MAIN()
