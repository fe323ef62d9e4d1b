/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * An adapter rebuilt from its published behaviour: the event loop of asyncio that rubicon-objc makes of CoreFoundation.
 * Each descriptor that gets a reader or a writer has a CFSocket with Read, Write and Connect, which are all disabled as
 * soon as its source is in the common modes; readers and writers enable theirs, and enable themselves again by the flags.
 * Connect is never wanted: a writer learns the end of a connect from SO_ERROR. With the last of both the source is removed
 * and the socket invalidated, while the descriptor stays its owner's. Calls are timers that are due. Representative
 * because sockets, listeners and a child's pipes come as native descriptors, in every state. */
#include "sockets.h"

/* --- The event loop ---------------------------------------------------------------------------------------- */

typedef void (*call_fn)(void *info);
struct handle {
    int fd;
    CFSocketRef socket;
    CFRunLoopSourceRef source;
    call_fn reader, writer;
    void *reader_info, *writer_info;
};
enum { MOST = 1024 };
static const CFOptionFlags every_kind = kCFSocketReadCallBack | kCFSocketWriteCallBack | kCFSocketConnectCallBack;
static struct handle *handles[MOST];

static void handle_ready(CFSocketRef s, CFSocketCallBackType type, CFDataRef address, const void *data, void *info) {
    int fd = (int)(intptr_t)info;
    struct handle *handle = handles[fd];
    (void)address, (void)data;
    CHECK(handle && handle->socket == s && type != kCFSocketConnectCallBack);
    if (type == kCFSocketReadCallBack && handle->reader) handle->reader(handle->reader_info);
    else if (type == kCFSocketWriteCallBack && handle->writer) handle->writer(handle->writer_info);
}
static struct handle *handle_of(int fd) {
    CHECK(fd >= 0 && fd < MOST);
    if (handles[fd]) return handles[fd];
    struct handle *handle = handles[fd] = calloc(1, sizeof *handle);
    CFSocketContext context = {.info = (void *)(intptr_t)fd};
    handle->fd = fd;
    handle->socket = CFSocketCreateWithNative(NULL, fd, every_kind, handle_ready, &context);
    CHECK(handle->socket != NULL);
    CFSocketSetSocketFlags(handle->socket, kCFSocketAutomaticallyReenableReadCallBack | kCFSocketAutomaticallyReenableWriteCallBack);
    handle->source = CFSocketCreateRunLoopSource(NULL, handle->socket, 0);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), handle->source, kCFRunLoopCommonModes);
    CFSocketDisableCallBacks(handle->socket, every_kind);
    return handle;
}
static void cancel(struct handle *handle) {
    if (handle->reader || handle->writer) return;
    handles[handle->fd] = NULL;
    CFRunLoopRemoveSource(CFRunLoopGetCurrent(), handle->source, kCFRunLoopCommonModes);
    CFSocketInvalidate(handle->socket);
    CFRelease(handle->source);
    CFRelease(handle->socket);
    free(handle);
}
static void set_reader(int fd, call_fn reader, void *info) {
    if (!reader && !handles[fd]) return;
    struct handle *handle = handle_of(fd);
    if (reader) CFSocketEnableCallBacks(handle->socket, kCFSocketReadCallBack);
    else CFSocketDisableCallBacks(handle->socket, kCFSocketReadCallBack);
    handle->reader = reader;
    handle->reader_info = info;
    cancel(handle);
}
static void set_writer(int fd, call_fn writer, void *info) {
    if (!writer && !handles[fd]) return;
    struct handle *handle = handle_of(fd);
    if (writer) CFSocketEnableCallBacks(handle->socket, kCFSocketWriteCallBack);
    else CFSocketDisableCallBacks(handle->socket, kCFSocketWriteCallBack);
    handle->writer = writer;
    handle->writer_info = info;
    cancel(handle);
}
struct soon {
    call_fn call;
    void *info;
};
static void call_now(CFRunLoopTimerRef timer, void *info) {
    struct soon soon = *(struct soon *)info;
    (void)timer;
    free(info);
    soon.call(soon.info);
}
static void call_soon(call_fn call, void *info) {
    struct soon *soon = malloc(sizeof *soon);
    *soon = (struct soon){call, info};
    CFRunLoopTimerContext context = {.info = soon};
    CFRunLoopTimerRef timer = CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent(), 0, 0, 0, call_now, &context);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopCommonModes);
    CFRelease(timer);
}
static void run_forever(void) {
    keep_busy(CFRunLoopGetCurrent(), kCFRunLoopDefaultMode);
    CFRunLoopRun();
}
static void stop(void) { CFRunLoopStop(CFRunLoopGetCurrent()); }
static void finish_fd(int fd) {
    set_reader(fd, NULL, NULL);
    set_writer(fd, NULL, NULL);
    close(fd);
}
static void check_all_gone(void) {
    for (int fd = 0; fd < MOST; fd++) CHECK(handles[fd] == NULL);
}

/* --- Transports -------------------------------------------------------------------------------------------- */

static CFDataRef address;
static int unfinished;

/* As sock_connect: tried, and if it is in progress, finished when it can be written. */
struct connecting {
    int fd, *error;
    void (*then)(struct connecting *connecting);
    void *info;
};
static void connect_ready(void *info) {
    struct connecting *connecting = info;
    set_writer(connecting->fd, NULL, NULL);
    *connecting->error = pending_error(connecting->fd);
    connecting->then(connecting);
}
static void start_connect(struct connecting *connecting) {
    connecting->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    CHECK_INT(connect_fd(connecting->fd, address), EINPROGRESS);
    set_writer(connecting->fd, connect_ready, connecting);
}

struct echo {
    int fd;
    char bytes[4096];
    ssize_t size, sent;
};
static void echo_read(void *info);
static void echo_write(void *info) {
    struct echo *echo = info;
    ssize_t n = send(echo->fd, echo->bytes + echo->sent, (size_t)(echo->size - echo->sent), MSG_NOSIGNAL);
    if (n < 0 && errno == EAGAIN) return;
    echo->sent += n;
    if (echo->sent < echo->size) return;
    set_writer(echo->fd, NULL, NULL); /* which ends its socket, as it has no reader; the number gets another */
    set_reader(echo->fd, echo_read, echo);
}
static void echo_read(void *info) {
    struct echo *echo = info;
    echo->size = recv(echo->fd, echo->bytes, sizeof echo->bytes, 0);
    if (echo->size < 0 && errno == EAGAIN) return;
    if (echo->size == 0) {
        finish_fd(echo->fd);
        free(echo);
        return;
    }
    echo->sent = 0;
    set_reader(echo->fd, NULL, NULL);
    set_writer(echo->fd, echo_write, echo);
}
static void accept_ready(void *info) {
    for (int fd; (fd = accept4(*(int *)info, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        struct echo *echo = calloc(1, sizeof *echo);
        echo->fd = fd;
        set_reader(fd, echo_read, echo);
    }
}

enum { CLIENTS = 100, ROUNDS = 5, SIZE = 1000 };
struct client {
    struct connecting connecting;
    int error, rounds, got;
};
static void client_read(void *info) {
    struct client *client = info;
    char bytes[SIZE];
    ssize_t n = recv(client->connecting.fd, bytes, sizeof bytes, 0);
    if (n < 0 && errno == EAGAIN) return;
    CHECK(n > 0);
    client->got += (int)n;
    if (client->got < SIZE) return;
    client->got = 0;
    if (++client->rounds < ROUNDS) {
        CHECK_INT(send(client->connecting.fd, bytes, SIZE, MSG_NOSIGNAL), SIZE);
        return;
    }
    finish_fd(client->connecting.fd);
    if (--unfinished == 0) stop();
}
static void client_connected(struct connecting *connecting) {
    char bytes[SIZE] = {0};
    CHECK_INT(*connecting->error, 0);
    CHECK_INT(send(connecting->fd, bytes, SIZE, MSG_NOSIGNAL), SIZE);
    set_reader(connecting->fd, client_read, connecting->info);
}
static void start_client(void *info) { start_connect(&((struct client *)info)->connecting); }

TEST(a_hundred_clients_have_their_echo, "SOCK-12 SOCK-1 SOCK-4 SOCK-9 SOCK-10") {
    static struct client clients[CLIENTS];
    int server = listen_at(&address, CLIENTS);
    fcntl(server, F_SETFL, O_NONBLOCK);
    set_reader(server, accept_ready, &server);
    unfinished = CLIENTS;
    for (int i = 0; i < CLIENTS; i++) {
        clients[i].connecting = (struct connecting){.error = &clients[i].error, .then = client_connected, .info = &clients[i]};
        call_soon(start_client, &clients[i]);
    }
    run_forever();
    CHECK(handles[server] != NULL);
    finish_fd(server);
    CFRelease(address);
}

static void note_failure(struct connecting *connecting) {
    trace("%d", *connecting->error);
    finish_fd(connecting->fd);
    if (--unfinished == 0) stop();
}
TEST(a_refused_connect_is_reported_to_its_writer, "SOCK-12 SOCK-7") {
    struct connecting connecting[3];
    int errors[3];
    char expected[40];
    address = nobody();
    unfinished = 3;
    for (int i = 0; i < 3; i++) {
        connecting[i] = (struct connecting){.error = &errors[i], .then = note_failure};
        start_connect(&connecting[i]);
    }
    run_forever();
    snprintf(expected, sizeof expected, "%d %d %d", ECONNREFUSED, ECONNREFUSED, ECONNREFUSED);
    CHECK_TRACE(expected);
    check_all_gone();
    CFRelease(address);
}

static void read_reset(void *info) {
    int fd = *(int *)info;
    char byte;
    CHECK(recv(fd, &byte, 1, 0) < 0);
    trace("%d", errno);
    finish_fd(fd);
    stop();
}
TEST(a_reset_connection_is_reported_to_its_reader, "SOCK-12 SOCK-4") {
    int ends[2];
    char expected[20];
    connected(ends);
    set_reader(ends[0], read_reset, &ends[0]);
    reset_fd(ends[1]);
    run_forever();
    snprintf(expected, sizeof expected, "%d", ECONNRESET);
    CHECK_TRACE(expected);
    check_all_gone();
}

/* --- A child's pipes --------------------------------------------------------------------------------------- */

static int64_t to_send = 1 << 20, received;
static void feed_child(void *info) {
    static const char bytes[10000];
    int fd = *(int *)info;
    ssize_t n = write(fd, bytes, to_send < (int64_t)sizeof bytes ? (size_t)to_send : sizeof bytes);
    if (n < 0 && errno == EAGAIN) return;
    to_send -= n;
    if (to_send == 0) finish_fd(fd);
}
static void read_child(void *info) {
    char bytes[10000];
    int fd = *(int *)info;
    ssize_t n = read(fd, bytes, sizeof bytes);
    if (n < 0 && errno == EAGAIN) return;
    received += n;
    if (n > 0) return;
    finish_fd(fd);
    stop();
}
TEST(a_child_is_fed_and_read_through_pipes, "SOCK-12 SOCK-4") {
    int in[2], out[2], status;
    CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execlp("cat", "cat", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    set_reader(out[0], read_child, &out[0]);
    set_writer(in[1], feed_child, &in[1]);
    run_forever();
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_INT(received, 1 << 20);
    check_all_gone();
}

TEST_MAIN()
