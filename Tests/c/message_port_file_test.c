/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_file_test.c: large messages by a file that their sender lends, and writes to again once the receiver has copied it. */
#include "message_port_raw.h"

#include "refuse.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { SIZE_OF = 100000, MOST_LENT = 1 << 20 };

static void fill(unsigned char *bytes, size_t size, unsigned seed) {
    for (size_t i = 0; i < size; i++) bytes[i] = (unsigned char)(i * 31 + i / 251 + seed);
}
static bool is_filled(const unsigned char *bytes, size_t size, unsigned seed) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != (unsigned char)(i * 31 + i / 251 + seed)) return false;
    return true;
}
static int file_of(size_t size, unsigned seed) {
    static unsigned char bytes[2 * MOST_LENT];
    int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(fd >= 0);
    fill(bytes, size, seed);
    CHECK_INT(pwrite(fd, bytes, size, 0), size);
    return fd;
}

/* --- Replies to a sender by hand ------------------------------------------------------------------------------------------ */

static void reply_large(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    static unsigned char bytes[SIZE_OF];
    (void)port, (void)info;
    fill(bytes, sizeof bytes, (unsigned)message->id);
    CHECK(treadle_message_port_reply(message->call, bytes, sizeof bytes) >= 0);
}
struct asker {
    treadle_message_port local;
    struct raw_ring ring;
    int fd;
    unsigned serial;
};
static void start_asker(struct asker *asker, unsigned copied) {
    const char *name = new_name();
    asker->local = serve_here(name, reply_large, NULL);
    asker->fd = connect_here(name, &asker->ring);
    atomic_store(&asker->ring.memory->to_sender.copied, copied);
    atomic_store(&asker->ring.memory->is_ready, 1);
}
static void end_asker(struct asker *asker) {
    drop_ring(&asker->ring), close(asker->fd);
    CHECK_INT(discard(asker->local), TREADLE_OK);
}
/* The file of the reply to one more message, and whether it is lent. */
static int ask(struct asker *asker, bool *out_is_lent) {
    struct head head = head_of(MESSAGE, WANTS_REPLY, 0, ++asker->serial);
    int passed[3];
    static unsigned char bytes[SIZE_OF];
    head.id = (int32_t)asker->serial;
    CHECK_INT(send_frame(asker->fd, head, NULL, 0), sizeof head);
    poll_mode(M);
    CHECK_INT(raw_receive(asker->fd, &head, passed), 1);
    CHECK(head.kind == REPLY && head.serial == asker->serial && head.length == SIZE_OF);
    CHECK_INT(head.flags & ~LENT, IN_FILE);
    *out_is_lent = head.flags & LENT;
    CHECK_INT(pread(passed[0], bytes, SIZE_OF, 0), SIZE_OF);
    CHECK(is_filled(bytes, SIZE_OF, asker->serial));
    CHECK_INT(fcntl(passed[0], F_GET_SEALS), F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | (*out_is_lent ? 0 : F_SEAL_WRITE));
    return passed[0];
}
static bool is_same_file(int one, int other) {
    struct stat first, second;
    CHECK(fstat(one, &first) == 0 && fstat(other, &second) == 0);
    return first.st_ino == second.st_ino;
}

TEST(a_lent_file_is_written_to_again_once_it_is_copied, "MSG-9") {
    struct asker asker;
    bool is_lent;
    start_asker(&asker, 1), end_asker(&asker); /* the loop has its own descriptors now */
    int before = count_descriptors();
    start_asker(&asker, 1);
    int first = ask(&asker, &is_lent);
    CHECK(is_lent);
    /* Not copied yet: each has a file that nobody changes. */
    for (int i = 0; i < 2; i++) {
        int other = ask(&asker, &is_lent);
        CHECK(!is_lent && !is_same_file(first, other));
        close(other);
    }
    for (unsigned copied = 2; copied < 5; copied++) {
        atomic_store(&asker.ring.memory->to_sender.copied, copied);
        int again = ask(&asker, &is_lent);
        CHECK(is_lent && is_same_file(first, again));
        close(again);
    }
    /* What cannot be is not believed. */
    atomic_store(&asker.ring.memory->to_sender.copied, 100);
    int other = ask(&asker, &is_lent);
    CHECK(!is_lent);
    close(other), close(first);
    end_asker(&asker);
    CHECK_INT(count_descriptors(), before);
}

TEST(a_process_with_few_descriptors_keeps_no_files, "MSG-8 MSG-9") {
    struct asker asker;
    struct rlimit limit;
    bool is_lent;
    if (is_way("valgrind")) return; /* its limit of descriptors is one of its own */
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
    start_asker(&asker, 1);
    int next = fcntl(2, F_DUPFD, 3); /* the library's have no lower ones */
    CHECK(next >= 0 && close(next) == 0);
    const struct rlimit few = {(rlim_t)next + 8, limit.rlim_max};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
    int file = ask(&asker, &is_lent);
    CHECK(!is_lent && close(file) == 0);
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
    file = ask(&asker, &is_lent);
    CHECK(is_lent && close(file) == 0);
    end_asker(&asker);
}

TEST(a_sender_that_knows_of_no_lent_files_gets_sealed_ones, "MSG-9") {
    struct asker asker;
    bool is_lent;
    start_asker(&asker, 0);
    for (int i = 0; i < 3; i++) {
        int file = ask(&asker, &is_lent);
        CHECK(!is_lent);
        close(file);
    }
    end_asker(&asker);
}

/* It has the descriptor, and can do with the file what that lets it. */
TEST(a_receiver_that_spoils_a_lent_file_gets_another_one, "MSG-9") {
    struct asker asker;
    bool is_lent;
    start_asker(&asker, 1);
    int file = ask(&asker, &is_lent);
    CHECK(is_lent);
    CHECK_INT(ftruncate(file, 0), -1);
    CHECK_INT(ftruncate(file, 2 * MOST_LENT), -1);
    CHECK_INT(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE), -1);
    CHECK_INT(lseek(file, 12345, SEEK_SET), 12345);
    CHECK_INT(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, SIZE_OF), 0);
    atomic_store(&asker.ring.memory->to_sender.copied, 2);
    int again = ask(&asker, &is_lent);
    CHECK(is_lent && is_same_file(file, again));
    close(again);
    /* A write would go to its end, which is fixed. */
    CHECK_INT(fcntl(file, F_SETFL, O_APPEND), 0);
    atomic_store(&asker.ring.memory->to_sender.copied, 3);
    again = ask(&asker, &is_lent);
    CHECK(!is_lent && !is_same_file(file, again));
    close(again);
    again = ask(&asker, &is_lent);
    CHECK(is_lent && !is_same_file(file, again));
    close(again), close(file);
    end_asker(&asker);
}

/* --- Messages of a sender by hand ------------------------------------------------------------------------------------------ */

struct lender {
    int file, count;
    struct raw_ring *ring;
};
static void receive_lent(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    struct lender *lender = info;
    (void)port;
    CHECK_INT(message->size, SIZE_OF);
    CHECK(is_filled(message->data, SIZE_OF, 1));
    CHECK_INT(atomic_load(&lender->ring->memory->to_server.copied), 2 + lender->count);
    /* The sender goes on writing. */
    CHECK_INT(pwrite(lender->file, "other", 5, 0), 5);
    CHECK_INT(ftruncate(lender->file, 0), 0);
    CHECK(is_filled(message->data, SIZE_OF, 1));
    lender->count++;
}
TEST(a_lent_file_is_copied_before_its_message_is_received, "MSG-9") {
    struct raw_ring ring;
    struct lender lender = {.ring = &ring};
    struct head head = head_of(MESSAGE, IN_FILE | LENT, SIZE_OF, 0);
    const char *name = new_name();
    treadle_message_port local = serve_here(name, receive_lent, &lender);
    int fd = connect_here(name, &ring);
    CHECK_INT(atomic_load(&ring.memory->to_server.copied), 1);
    for (int i = 0; i < 3; i++) {
        lender.file = file_of(SIZE_OF, 1);
        CHECK_INT(raw_send(fd, &head, sizeof head, &lender.file, 1, 0), sizeof head);
        poll_mode(M);
        CHECK_INT(lender.count, i + 1);
        close(lender.file);
    }
    drop_ring(&ring), close(fd);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(files_that_cannot_be_lent_end_their_connection, "MSG-9") {
    struct server server;
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    CHECK_SERVED(remote);
    int pipes[2], before = count_descriptors();
    CHECK_INT(pipe2(pipes, O_CLOEXEC), 0);
    CHECK_INT(write(pipes[1], "data", 4), 4);
    char path[] = "/proc/self/fd/0123456789";
    int readable = file_of(SIZE_OF, 1);
    snprintf(path, sizeof path, "/proc/self/fd/%d", readable);
    const size_t most = MOST_LENT;
    struct { const char *what; int file; size_t length; bool is_good; } files[] = {
        {"good", dup(readable), SIZE_OF, true},
        {"only to be read", open(path, O_RDONLY | O_CLOEXEC), SIZE_OF, true},
        {"only to be written", open(path, O_WRONLY | O_CLOEXEC), SIZE_OF, false},
        {"longer", file_of(2 * most, 1), SIZE_OF, true},
        {"shorter", file_of(SIZE_OF - 1, 1), SIZE_OF, false},
        {"empty", file_of(0, 1), SIZE_OF, false},
        {"as large as may be", file_of(most, 1), most, true},
        {"too large", file_of(most + 1, 1), most + 1, false},
        {"without data", dup(readable), 0, false},
        {"a pipe", dup(pipes[0]), 4, false},
        {"a device", open("/dev/zero", O_RDONLY | O_CLOEXEC), SIZE_OF, false},
        {"a path", open(path, O_PATH | O_CLOEXEC), SIZE_OF, false},
        {"a directory", open("/", O_RDONLY | O_CLOEXEC), SIZE_OF, false},
        {"a file", open("/proc/self/exe", O_RDONLY | O_CLOEXEC), 4, false},
        {"not there", -1, SIZE_OF, false},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int fd = raw_connect(server.name);
        struct head head = head_of(MESSAGE, IN_FILE | LENT, files[i].length, 0);
        greet(fd, server.name);
        CHECK_INT(raw_send(fd, &head, sizeof head, &files[i].file, files[i].file >= 0, 0), sizeof head);
        if (is_ended(fd) == files[i].is_good) check_failed(__FILE__, __LINE__, "a lent file that is %s", files[i].what);
        close(fd);
        if (files[i].file >= 0) close(files[i].file);
    }
    /* Lent, but no file. */
    int fd = raw_greeted(server.name);
    CHECK(send_frame(fd, head_of(MESSAGE, LENT, 4, 0), "data", 4) > 0);
    CHECK(is_ended(fd));
    close(fd), close(pipes[0]), close(pipes[1]), close(readable);
    CHECK_SERVED(remote);
    CHECK(count_descriptors() <= before);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_server(&server);
}

/* --- Ports on both sides ---------------------------------------------------------------------------------------------------- */

enum { THREADS = 3 };
struct asking {
    treadle_message_port remote;
    unsigned seed;
};
static void *ask_large(void *info) {
    struct asking *asking = info;
    unsigned char *bytes = malloc(2 * MOST_LENT);
    struct reply reply = {0};
    for (unsigned i = 0; i < (unsigned)scaled(60); i++) {
        /* Most of them by a file that is lent, some by one that is mapped, some by none. */
        size_t size = i % 7 == 6 ? MOST_LENT + 1 + i : i % 5 == 4 ? 1000 + i : 65537 + (i * 104729 + asking->seed * 7919) % (MOST_LENT - 65536);
        fill(bytes, size, asking->seed + i);
        if (i % 3 == 2) CHECK_INT(treadle_message_port_send(asking->remote, SILENT, bytes, size, LONG), TREADLE_OK);
        CHECK_INT(treadle_message_port_request(asking->remote, ECHO, bytes, size, LONG, LONG, REPLIES, keep_reply, &reply), TREADLE_OK);
        CHECK_INT(reply.size, size);
        CHECK(is_filled((unsigned char *)reply.data, size, asking->seed + i));
        progress();
    }
    drop_reply(&reply);
    free(bytes);
    return NULL;
}
TEST(large_messages_of_several_threads_arrive_whole, "MSG-5 MSG-6 MSG-9") {
    struct server server;
    pthread_t threads[THREADS];
    struct asking asking[THREADS];
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    CHECK_SERVED(remote);
    for (unsigned i = 0; i < THREADS; i++) {
        asking[i] = (struct asking){.remote = remote, .seed = i * 1000};
        CHECK_INT(pthread_create(&threads[i], NULL, ask_large, &asking[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_server(&server);
}

static void exchange_without(int call) {
    static unsigned char bytes[SIZE_OF];
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        const struct refusable refused = {"", (uint32_t)call, -1, 0, 0};
        struct server server;
        struct reply reply = {0};
        CHECK(treadle_after_fork_child() >= 0);
        CHECK(refuse_call(&refused, EPERM));
        start_server(&server, new_name());
        treadle_message_port remote = make_remote(server.name);
        for (unsigned i = 0; i < 5; i++) {
            CHECK_SERVED(remote);
            fill(bytes, sizeof bytes, i);
            CHECK_INT(treadle_message_port_request(remote, ECHO, bytes, sizeof bytes, LONG, LONG, REPLIES, keep_reply, &reply), TREADLE_OK);
            CHECK(reply.size == SIZE_OF && is_filled((unsigned char *)reply.data, SIZE_OF, i));
        }
        drop_reply(&reply);
        CHECK_INT(discard(remote), TREADLE_OK);
        end_server(&server);
        _exit(0);
    }
    CHECK_INT(await_process(child), 0);
}
TEST(large_messages_go_on_where_no_file_can_be_lent, "MSG-9") {
    exchange_without(SYS_pwrite64);
    exchange_without(SYS_ftruncate);
}

TEST(a_connection_keeps_one_file_each_way, "MSG-9") {
    static unsigned char bytes[SIZE_OF];
    struct server server;
    struct reply reply = {0};
    start_server(&server, new_name());
    treadle_message_port remote = make_remote(server.name);
    for (int i = 0; i < 3; i++) CHECK_SERVED(remote);
    int before = count_descriptors();
    for (unsigned i = 0; i < 10; i++) {
        fill(bytes, sizeof bytes, i);
        CHECK_INT(treadle_message_port_request(remote, ECHO, bytes, sizeof bytes, LONG, LONG, REPLIES, keep_reply, &reply), TREADLE_OK);
        CHECK(reply.size == SIZE_OF && is_filled((unsigned char *)reply.data, SIZE_OF, i));
        CHECK_SERVED(remote); /* the server has dropped the message before */
        CHECK_INT(count_descriptors(), before + 2);
    }
    drop_reply(&reply);
    CHECK_INT(discard(remote), TREADLE_OK);
    end_server(&server);
    CHECK(count_descriptors() < before);
}

TEST_MAIN()
