/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * An adapter rebuilt from its published behaviour: Twisted's reactor for CoreFoundation. Each descriptor gets a
 * CFSocket with both kinds and no automatic re-enabling, which are enabled and disabled as readers and writers
 * come and go; all delayed calls share one CFRunLoopTimer, which is moved to the earliest; other threads' calls come
 * by a pair of sockets that wakes the loop. Representative because it keeps sockets, one timer and threads on one
 * run loop for everything. The peers are echo clients on loopback. */
#include "helpers.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* --- The reactor ------------------------------------------------------------------------------------------ */

struct watcher {
    int fd, reads, writes, busy, gone;
    CFSocketRef socket;
    void (*on_read)(struct watcher *watcher);
    void (*on_write)(struct watcher *watcher);
    char pending[4096];
    size_t size;
};
struct delayed {
    CFAbsoluteTime date;
    void (*call)(void *info);
    void *info;
};
enum { MOST_DELAYED = 64 };
static struct delayed delayed[MOST_DELAYED];
static int delayed_count;
static CFRunLoopTimerRef timer;
static struct watcher waker;
static int waker_end;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static int queued;

static void enable(struct watcher *watcher) {
    if (watcher->gone) return;
    if (watcher->reads) CFSocketEnableCallBacks(watcher->socket, kCFSocketReadCallBack);
    else CFSocketDisableCallBacks(watcher->socket, kCFSocketReadCallBack);
    if (watcher->writes) CFSocketEnableCallBacks(watcher->socket, kCFSocketWriteCallBack);
    else CFSocketDisableCallBacks(watcher->socket, kCFSocketWriteCallBack);
}
static void ready(CFSocketRef s, CFSocketCallBackType type, CFDataRef address, const void *data, void *info) {
    struct watcher *watcher = info;
    (void)s, (void)address, (void)data;
    watcher->busy = 1;
    if (type == kCFSocketReadCallBack && watcher->reads) watcher->on_read(watcher);
    if (type == kCFSocketWriteCallBack && watcher->writes) watcher->on_write(watcher);
    watcher->busy = 0;
    if (watcher->gone) free(watcher);
    else enable(watcher); /* each call disabled its kind */
}
static void watch(struct watcher *watcher, int fd, int reads, int writes) {
    CFSocketContext context = {0, watcher, NULL, NULL, NULL};
    watcher->fd = fd;
    watcher->reads = reads;
    watcher->writes = writes;
    watcher->socket = CFSocketCreateWithNative(NULL, fd, kCFSocketReadCallBack | kCFSocketWriteCallBack, ready, &context);
    CHECK(watcher->socket != NULL);
    CFOptionFlags automatic = kCFSocketAutomaticallyReenableReadCallBack | kCFSocketAutomaticallyReenableWriteCallBack;
    CFSocketSetSocketFlags(watcher->socket, CFSocketGetSocketFlags(watcher->socket) & ~automatic);
    CFRunLoopSourceRef source = CFSocketCreateRunLoopSource(NULL, watcher->socket, 0);
    CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopCommonModes);
    CFRelease(source);
    enable(watcher);
}
static void unwatch(struct watcher *watcher) {
    CFSocketInvalidate(watcher->socket); /* closes the descriptor */
    CFRelease(watcher->socket);
    watcher->gone = 1;
    if (!watcher->busy) free(watcher);
}

static void reschedule(void) {
    CFAbsoluteTime first = FAR_AWAY;
    for (int i = 0; i < delayed_count; i++)
        if (delayed[i].date < first) first = delayed[i].date;
    CFRunLoopTimerSetNextFireDate(timer, first);
}
static CFAbsoluteTime call_later(CFTimeInterval seconds, void (*call)(void *), void *info) {
    CFAbsoluteTime date = CFAbsoluteTimeGetCurrent() + seconds;
    CHECK(delayed_count < MOST_DELAYED);
    delayed[delayed_count++] = (struct delayed){date, call, info};
    reschedule();
    return date;
}
static void run_delayed(CFRunLoopTimerRef t, void *info) {
    (void)t, (void)info;
    for (;;) {
        int next = -1;
        for (int i = 0; i < delayed_count; i++)
            if (delayed[i].date <= CFAbsoluteTimeGetCurrent() && (next < 0 || delayed[i].date < delayed[next].date)) next = i;
        if (next < 0) break;
        struct delayed due = delayed[next];
        delayed[next] = delayed[--delayed_count];
        due.call(due.info);
    }
    reschedule();
}
static void call_from_thread(void) {
    pthread_mutex_lock(&queue_lock);
    queued++;
    pthread_mutex_unlock(&queue_lock);
    CHECK(write(waker_end, "x", 1) == 1 || errno == EAGAIN);
}
static int run_from_threads;
static void drain_waker(struct watcher *watcher) {
    char bytes[256];
    while (read(watcher->fd, bytes, sizeof bytes) > 0) {}
    pthread_mutex_lock(&queue_lock);
    run_from_threads += queued;
    queued = 0;
    pthread_mutex_unlock(&queue_lock);
}
static void start_reactor(void) {
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    waker_end = ends[1];
    waker.on_read = drain_waker;
    watch(&waker, ends[0], 1, 0);
    timer = CFRunLoopTimerCreate(NULL, FAR_AWAY, 1e7, 0, 0, run_delayed, NULL);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopCommonModes);
}
static void end_reactor(void) {
    CFSocketInvalidate(waker.socket);
    CFRelease(waker.socket);
    close(waker_end);
    CFRunLoopTimerInvalidate(timer);
    CFRelease(timer);
}

/* --- An echo server on it, and clients on threads --------------------------------------------------------- */

enum { CLIENTS = 8, ROUNDS = 40 };
static int closed;
static void flush(struct watcher *watcher) {
    ssize_t n = send(watcher->fd, watcher->pending, watcher->size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
        memmove(watcher->pending, watcher->pending + n, watcher->size - (size_t)n);
        watcher->size -= (size_t)n;
    }
    watcher->writes = watcher->size > 0;
    watcher->reads = watcher->size < sizeof watcher->pending;
}
static void echo(struct watcher *watcher) {
    ssize_t n = recv(watcher->fd, watcher->pending + watcher->size, sizeof watcher->pending - watcher->size, MSG_DONTWAIT);
    if (n > 0) {
        watcher->size += (size_t)n;
        watcher->writes = 1;
        watcher->reads = watcher->size < sizeof watcher->pending;
    } else if (n == 0 || errno != EAGAIN) {
        unwatch(watcher);
        if (++closed == CLIENTS) CFRunLoopStop(CFRunLoopGetCurrent());
    }
}
static void take_client(struct watcher *listener) {
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) return;
    struct watcher *client = calloc(1, sizeof *client);
    client->on_read = echo;
    client->on_write = flush;
    watch(client, fd, 1, 0);
}
static int port;
static void *client_main(void *argument) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)(void *)&address, sizeof address) == 0);
    static const size_t sizes[] = {1, 100, 5000, 70000};
    char *sent = malloc(70000), *back = malloc(70000);
    for (int round = 0; round < ROUNDS; round++) {
        size_t size = sizes[round % 4], written = 0, got = 0;
        memset(sent, 'a' + (round + (int)(intptr_t)argument) % 26, size);
        while (got < size) {
            if (written < size) {
                ssize_t n = send(fd, sent + written, size - written > 2000 ? 2000 : size - written, 0);
                CHECK(n > 0);
                written += (size_t)n;
            }
            ssize_t n = recv(fd, back + got, size - got, written < size ? MSG_DONTWAIT : 0);
            CHECK(n > 0 || (n < 0 && errno == EAGAIN));
            if (n > 0) got += (size_t)n;
        }
        CHECK(memcmp(sent, back, size) == 0);
        call_from_thread();
    }
    free(sent);
    free(back);
    close(fd);
    return NULL;
}
static void tick(void *info) {
    if (++*(int *)info < 5) call_later(0.002, tick, info);
}
static void say_name(void *info) { trace("%s", (const char *)info); }

TEST(a_reactor_serves_echo_clients_timers_and_threads, "SOCK-2 SOCK-4 SOCK-6 SOCK-9 TMR-17") {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), ticks = 0;
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)(void *)&address, size) == 0 && listen(fd, 64) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)(void *)&address, &size) == 0);
    port = ntohs(address.sin_port);
    start_reactor();
    struct watcher *listener = calloc(1, sizeof *listener);
    listener->on_read = take_client;
    watch(listener, fd, 1, 0);
    call_later(0.001, tick, &ticks);
    CFAbsoluteTime now = CFAbsoluteTimeGetCurrent();
    CFAbsoluteTime second = call_later(0.003, say_name, (void *)"second");
    CFAbsoluteTime first = call_later(0.001, say_name, (void *)"first"); /* or not, if the thread was held up meanwhile */
    CHECK(CFRunLoopTimerGetNextFireDate(timer) < now + 1);
    pthread_t threads[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) CHECK(pthread_create(&threads[i], NULL, client_main, (void *)(intptr_t)i) == 0);
    CFRunLoopRun();
    for (int i = 0; i < CLIENTS; i++) pthread_join(threads[i], NULL);
    while (ticks < 5 || run_from_threads < CLIENTS * ROUNDS) CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.01, true);
    CHECK_INT(run_from_threads, CLIENTS * ROUNDS);
    CHECK_TRACE(first <= second ? "first second" : "second first");
    unwatch(listener);
    end_reactor();
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, 1e9, false), kCFRunLoopRunFinished);
}

TEST_MAIN()
