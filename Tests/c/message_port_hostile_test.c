/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_hostile_test.c: message ports whose other side breaks off, or lies. */
#include "message_port_raw.h"

#include <sys/mman.h>

static int sealed_file(size_t size, size_t written, unsigned seals, unsigned flags) {
    static char block[65536];
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
    if (fd < 0) return fd;
    for (size_t done = 0, part; done < written; done += part) {
        part = written - done < sizeof block ? written - done : sizeof block;
        CHECK_INT(write(fd, block, part), part);
    }
    CHECK_INT(ftruncate(fd, (off_t)size), 0);
    if (seals) CHECK_INT(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
}

TEST(frames_that_no_port_sends_end_their_connection_alone, "MSG-9") {
    struct server server;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    CHECK_SERVED(remote);
    struct head good = head_of(MESSAGE, WANTS_REPLY, 4, 1);
    struct { struct head head; size_t size; bool greets; } frames[] = {
        {good, 4, false}, /* no greeting */
        {.head = good, .size = 3, .greets = true}, /* lengths that lie */
        {.head = good, .size = 5, .greets = true},
        {.head = good, .size = 0, .greets = true},
        {.head = head_of(MESSAGE, 0, UINT64_MAX, 0), .size = 4, .greets = true},
        {.head = head_of(MESSAGE, 0, (uint64_t)1 << 63, 0), .size = 4, .greets = true},
        {.head = head_of(MESSAGE, 0, (uint64_t)UINT32_MAX + 5, 0), .size = 4, .greets = true},
        {.head = head_of(MESSAGE, 0, (uint64_t)0 - 28, 0), .size = 4, .greets = true},
        {.head = head_of(MESSAGE, IN_FILE, 4, 0), .size = 4, .greets = true}, /* a file that is not there */
        {.head = head_of(MESSAGE, IN_FILE, 100000, 0), .size = 0, .greets = true},
        {.head = head_of(MESSAGE, WANTS_REPLY, 4, 0), .size = 4, .greets = true}, /* no serial */
        {.head = head_of(MESSAGE, 0, 4, 9), .size = 4, .greets = true},
        {.head = head_of(MESSAGE, 0x80, 4, 0), .size = 4, .greets = true},
        {.head = head_of(MESSAGE, ABANDONED, 4, 0), .size = 4, .greets = true},
        {.head = head_of(REPLY, 0, 4, 1), .size = 4, .greets = true}, /* another side's */
        {.head = head_of(HELLO, 0, 4, 0), .size = 4, .greets = true}, /* twice, and another name */
        {.head = head_of(HELLO, 0, 4, 0), .size = 4, .greets = false},
        {.head = head_of(HELLO, 0, 0, 0), .size = 0, .greets = false},
        {.head = head_of(0, 0, 4, 0), .size = 4, .greets = true},
        {.head = head_of(4, 0, 4, 0), .size = 4, .greets = true},
        {.head = head_of(4, WANTS_REPLY, 4, 1), .size = 4, .greets = true}, /* no call of a function */
        {.head = head_of(5, WANTS_REPLY, 4, 1), .size = 4, .greets = true},
        {.head = {.magic = 1, .version = 1, .kind = MESSAGE, .length = 4}, .size = 4, .greets = true},
        {.head = {.magic = 0x4C445254, .version = 2, .kind = MESSAGE, .length = 4}, .size = 4, .greets = true},
        {.head = {.magic = 0x4C445254, .version = 1, .kind = MESSAGE, .length = 4, .reserved = 1}, .size = 4, .greets = true},
    };
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        int fd = raw_connect(server.name);
        if (frames[i].greets) greet(fd, server.name);
        send_frame(fd, frames[i].head, "data", frames[i].size);
        if (!is_ended(fd)) check_failed(__FILE__, __LINE__, "frame %zu is taken", i);
        close(fd);
    }
    /* Parts of a head, and nothing at all. */
    for (size_t size = 0; size < sizeof good; size++) {
        int fd = raw_greeted(server.name);
        CHECK_INT(raw_send(fd, &good, size, NULL, 0, 0), size);
        CHECK(is_ended(fd));
        close(fd);
    }
    /* More than any frame has. */
    static char much[100000];
    int fd = raw_greeted(server.name);
    good.length = sizeof much - sizeof good;
    memcpy(much, &good, sizeof good);
    CHECK_INT(raw_send(fd, much, sizeof much, NULL, 0, 0), sizeof much);
    CHECK(is_ended(fd));
    close(fd);
    /* What is right is taken. */
    fd = raw_greeted(server.name);
    CHECK(!is_ended(fd));
    close(fd);
    CHECK_SERVED(remote);
    end_server(&server);
    discard(remote);
}

TEST(files_that_could_change_or_fail_are_refused, "MSG-9") {
    enum { SIZE_OF = 100000 };
    struct server server;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    CHECK_SERVED(remote);
    int before = count_descriptors();
    int pipes[2];
    CHECK_INT(pipe2(pipes, O_CLOEXEC), 0);
    struct { const char *what; int file; bool is_good; } files[] = {
        {"good", sealed_file(SIZE_OF, SIZE_OF, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL, 0), true},
        {"larger", sealed_file(SIZE_OF * 2, SIZE_OF * 2, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, 0), true},
        {"not sealed", sealed_file(SIZE_OF, SIZE_OF, 0, 0), false},
        {"may shrink", sealed_file(SIZE_OF, SIZE_OF, F_SEAL_GROW | F_SEAL_WRITE, 0), false},
        {"may grow", sealed_file(SIZE_OF, SIZE_OF, F_SEAL_SHRINK | F_SEAL_WRITE, 0), false},
        {"may be written", sealed_file(SIZE_OF, SIZE_OF, F_SEAL_SHRINK | F_SEAL_GROW, 0), false},
        {"may be written by a mapping", sealed_file(SIZE_OF, SIZE_OF, F_SEAL_SHRINK | F_SEAL_GROW | 0x10 /* F_SEAL_FUTURE_WRITE */, 0), false},
        {"too short", sealed_file(SIZE_OF - 1, SIZE_OF - 1, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, 0), false},
        {"empty", sealed_file(0, 0, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, 0), false},
        {"has a hole", sealed_file(SIZE_OF, 4096, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, 0), true}, /* it is copied */
        {"of huge pages", sealed_file(2 << 20, 0, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, MFD_HUGETLB), false},
        {"a pipe", dup(pipes[0]), false},
        {"a directory", open("/", O_RDONLY | O_CLOEXEC), false},
        {"a device", open("/dev/zero", O_RDONLY | O_CLOEXEC), false},
        {"a path", open("/dev/zero", O_PATH | O_CLOEXEC), false},
        {"a file", open("/proc/self/exe", O_RDONLY | O_CLOEXEC), false},
    };
    struct head head = head_of(MESSAGE, IN_FILE, SIZE_OF, 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (files[i].file < 0 && strcmp(files[i].what, "of huge pages") == 0) continue; /* the system has none */
        CHECK(files[i].file >= 0);
        int fd = raw_greeted(server.name);
        CHECK_INT(raw_send(fd, &head, sizeof head, &files[i].file, 1, 0), sizeof head);
        if (is_ended(fd) == files[i].is_good) check_failed(__FILE__, __LINE__, "a file that is %s", files[i].what);
        close(fd);
        close(files[i].file);
    }
    /* Of those that would be mapped, not one without a page for each byte. */
    for (int i = 0; i < 4; i++) {
        const size_t large = 2 << 20;
        const unsigned seals = F_SEAL_SHRINK | F_SEAL_WRITE | (i == 1 ? 0 : F_SEAL_GROW);
        int file = sealed_file(i == 2 ? large - 1 : large, i == 3 ? 4096 : large - 1, seals, 0), fd = raw_connect(server.name);
        struct head mapped = head_of(MESSAGE, IN_FILE, large, 0);
        greet(fd, server.name);
        CHECK_INT(raw_send(fd, &mapped, sizeof mapped, &file, 1, 0), sizeof mapped);
        if (is_ended(fd) == (i == 0)) check_failed(__FILE__, __LINE__, "a large file, %d", i);
        close(fd), close(file);
    }
    /* A file with data in the frame, several files, more than anybody takes. */
    for (int count = 1; count <= 40; count += 13) {
        int passed[40], fd = raw_connect(server.name);
        struct head other = count == 1 ? head_of(MESSAGE, 0, 0, 0) : head;
        for (int i = 0; i < count; i++) passed[i] = sealed_file(SIZE_OF, SIZE_OF, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE, 0);
        greet(fd, server.name);
        CHECK_INT(raw_send(fd, &other, sizeof other, passed, (size_t)count, 0), sizeof other);
        CHECK(is_ended(fd));
        for (int i = 0; i < count; i++) close(passed[i]);
        close(fd);
    }
    close(pipes[0]), close(pipes[1]);
    CHECK_SERVED(remote);
    end_server(&server);
    /* The server's own were closed with it. */
    CHECK(count_descriptors() <= before);
    discard(remote);
}

TEST(descriptors_that_come_are_closed, "MSG-9") {
    struct server server;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    for (int i = 0, before = 0; i < 20; i++) {
        int passed[16], fd = raw_connect(server.name);
        struct head head = head_of(MESSAGE, 0, 0, 0);
        greet(fd, server.name);
        for (int j = 0; j < 16; j++) passed[j] = dup(2);
        raw_send(fd, &head, sizeof head, passed, (size_t)(i % 16) + 1, 0);
        CHECK(is_ended(fd));
        for (int j = 0; j < 16; j++) close(passed[j]);
        close(fd);
        CHECK_SERVED(remote);
        if (i == 2) before = count_descriptors();
        if (i > 2) CHECK_INT(count_descriptors(), before);
    }
    end_server(&server);
    discard(remote);
}

/* --- A server that is none ---------------------------------------------------------------------------------- */

struct bad_server {
    int listener, fd;
    struct head head;
    size_t size;
    int file;
};
static void *answer_badly(void *info) {
    struct bad_server *bad = info;
    char bytes[512];
    struct head asked;
    bad->fd = accept(bad->listener, NULL, NULL);
    CHECK(recv(bad->fd, bytes, sizeof bytes, 0) > 0); /* the greeting */
    receive_asked(bad->fd, bytes, sizeof bytes);
    memcpy(&asked, bytes, sizeof asked);
    if (bad->head.serial == 1) bad->head.serial = asked.serial;
    memset(bytes, 0, sizeof bytes), memcpy(bytes, &bad->head, sizeof bad->head);
    raw_send(bad->fd, bytes, sizeof bad->head + bad->size, &bad->file, bad->file >= 0, 0);
    return NULL;
}
TEST(a_server_that_answers_badly_is_left, "MSG-7 MSG-9") {
    struct { struct head head; size_t size; treadle_status status; unsigned seals; } answers[] = {
        {head_of(REPLY, 0, 4, 1), 4, TREADLE_OK, 0},
        {head_of(REPLY, ABANDONED, 0, 1), 0, TREADLE_E_CLOSED, 0},
        {head_of(REPLY, 0, 4, 0x12345678), 4, TREADLE_E_NO_REPLY, 0}, /* of nobody */
        {head_of(REPLY, 0, 5, 1), 4, TREADLE_E_CLOSED, 0},
        {head_of(REPLY, 0, 4, 0), 4, TREADLE_E_CLOSED, 0},
        {head_of(REPLY, ABANDONED, 4, 1), 4, TREADLE_E_CLOSED, 0},
        {head_of(MESSAGE, WANTS_REPLY, 4, 1), 4, TREADLE_E_CLOSED, 0},
        {head_of(HELLO, 0, 4, 0), 4, TREADLE_E_CLOSED, 0},
        {{0}, 4, TREADLE_E_CLOSED, 0},
        {head_of(REPLY, IN_FILE, 100000, 1), 0, TREADLE_E_CLOSED, F_SEAL_GROW},
        {head_of(REPLY, IN_FILE, 100000, 1), 0, TREADLE_OK, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_WRITE},
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const char *name = new_name();
        pthread_t thread;
        struct bad_server bad = {.listener = raw_listen(name), .head = answers[i].head, .size = answers[i].size, .file = -1};
        if (answers[i].seals) bad.file = sealed_file(100000, 100000, answers[i].seals, 0);
        CHECK_INT(pthread_create(&thread, NULL, answer_badly, &bad), 0);
        treadle_message_port remote = make_remote(name);
        struct reply reply = {0};
        treadle_status status = request_text(remote, 1, "q", answers[i].status == TREADLE_E_NO_REPLY ? MILLISECONDS(50) : LONG, &reply);
        if (status != answers[i].status) check_failed(__FILE__, __LINE__, "answer %zu: %d", i, status);
        CHECK_INT(reply.count, status == TREADLE_OK);
        CHECK_INT(pthread_join(thread, NULL), 0);
        close(bad.fd), close(bad.listener), close(bad.file);
        treadle_invalidate(remote);
        CHECK_INT(treadle_release(remote), TREADLE_OK);
        drop_reply(&reply);
    }
}

TEST_MAIN()
