/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * libraries_curl_test.c: libcurl's multi interface driven by a run loop: its callbacks are closures, its sockets descriptor
 * sources, its timeout a timer. The server is a few threads of the test on the loopback.
 * pkg-config: libcurl */
#include "closures.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define CURL(call) CHECK_INT(call, CURLE_OK)
#define TRANSFERS 12
#define LARGEST 400000

/* The server. GET /N answers N bytes of a pattern; /silence never answers. */

static char pattern(size_t index) { return (char)('a' + index % 23); }

static void send_all(int socket, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0) return; /* the client has gone */
        bytes += sent, size -= (size_t)sent;
    }
}
static void *answer(void *info) {
    int socket = (int)(intptr_t)info;
    static __thread char request[4096], body[LARGEST];
    size_t used = 0, size;
    char head[128];
    while (used < sizeof request - 1) {
        ssize_t got = recv(socket, request + used, sizeof request - 1 - used, 0);
        if (got <= 0) break;
        used += (size_t)got;
        request[used] = 0;
        if (!strstr(request, "\r\n\r\n")) continue;
        if (sscanf(request, "GET /%zu ", &size) != 1) {
            while (recv(socket, request, sizeof request, 0) > 0) {} /* silence, until the client goes */
            break;
        }
        CHECK(size <= LARGEST);
        for (size_t i = 0; i < size; i++) body[i] = pattern(i);
        snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", size);
        send_all(socket, head, strlen(head));
        send_all(socket, body, size);
        used = 0;
    }
    close(socket);
    return NULL;
}
struct server {
    int socket, port;
    pthread_t thread;
    pthread_t answers[64];
    int count;
};
static void *serve(void *info) {
    struct server *self = info;
    for (;;) {
        int client = accept(self->socket, NULL, NULL);
        if (client < 0) return NULL; /* it was shut down */
        CHECK(self->count < 64);
        CHECK_INT(pthread_create(&self->answers[self->count++], NULL, answer, (void *)(intptr_t)client), 0);
    }
}
static void server_start(struct server *self) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    self->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(self->socket >= 0);
    CHECK_INT(bind(self->socket, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_INT(listen(self->socket, 64), 0);
    CHECK_INT(getsockname(self->socket, (struct sockaddr *)&address, &size), 0);
    self->port = ntohs(address.sin_port);
    self->count = 0;
    CHECK_INT(pthread_create(&self->thread, NULL, serve, self), 0);
}
static void server_stop(struct server *self) {
    CHECK_INT(shutdown(self->socket, SHUT_RDWR), 0);
    CHECK_INT(pthread_join(self->thread, NULL), 0);
    for (int i = 0; i < self->count; i++) CHECK_INT(pthread_join(self->answers[i], NULL), 0);
    close(self->socket);
}

/* The client: libcurl on the calling thread's loop. */

struct client {
    CURLM *multi;
    treadle_loop loop;
    treadle_timer timer;
    treadle_closure on_socket, on_timer, on_data;
    int32_t thread, data_thread; /* where callbacks belong */
    int sockets, watched, done;
    CURLcode results[TRANSFERS];
};
struct transfer {
    struct client *client;
    CURL *easy;
    size_t wanted, received;
};

static void act(struct client *self, curl_socket_t socket, int events) {
    int running = 0, left = 0;
    CHECK_INT(curl_multi_socket_action(self->multi, socket, events, &running), CURLM_OK);
    for (CURLMsg *message; (message = curl_multi_info_read(self->multi, &left));) {
        struct transfer *transfer = NULL;
        if (message->msg != CURLMSG_DONE) continue;
        CURL(curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer));
        self->results[self->done++] = message->data.result;
        if (message->data.result == CURLE_OK) CHECK_INT(transfer->received, transfer->wanted);
    }
    if (running == 0) CHECK_INT(treadle_loop_stop(self->loop), TREADLE_OK);
}
static void ready(treadle_descriptor descriptor, uint32_t events, void *info) {
    int32_t socket = -1;
    int seen = 0;
    CHECK_INT(treadle_descriptor_get_fd(descriptor, &socket), TREADLE_OK);
    if (events & (TREADLE_READABLE | TREADLE_HANGUP)) seen |= CURL_CSELECT_IN;
    if (events & TREADLE_WRITABLE) seen |= CURL_CSELECT_OUT;
    if (events & TREADLE_FAILED) seen |= CURL_CSELECT_ERR;
    act(info, socket, seen);
}
static void fire(treadle_timer timer, void *info) {
    (void)timer;
    act(info, CURL_SOCKET_TIMEOUT, 0);
}

/* int socket(CURL *, curl_socket_t, int what, void *client, void *socket's) */
static treadle_status watch_socket(treadle_call *call, void *info) {
    struct client *self = info;
    curl_socket_t socket = *(const curl_socket_t *)call->arguments[1];
    int what = *(const int *)call->arguments[2];
    treadle_descriptor descriptor = *(const treadle_descriptor *)call->arguments[4];
    uint32_t events = (what & CURL_POLL_IN ? TREADLE_READABLE : 0) | (what & CURL_POLL_OUT ? TREADLE_WRITABLE : 0);
    int32_t result = 0;
    CHECK_INT(thread_id(), self->thread);
    CHECK(*(void *const *)call->arguments[3] == NULL); /* no pointer of the client's is needed */
    if (what == CURL_POLL_REMOVE) {
        CHECK_INT(curl_multi_assign(self->multi, socket, NULL), CURLM_OK);
        CHECK_INT(treadle_descriptor_invalidate(descriptor), TREADLE_OK);
        CHECK_INT(treadle_descriptor_release(descriptor), TREADLE_OK);
        self->watched--;
    } else if (descriptor) {
        CHECK_INT(treadle_descriptor_set_events(descriptor, events), TREADLE_OK);
    } else {
        descriptor = make_descriptor(ready, self, socket, events);
        CHECK_INT(treadle_loop_add_descriptor(self->loop, descriptor, TREADLE_DEFAULT_MODE), TREADLE_OK);
        CHECK_INT(curl_multi_assign(self->multi, socket, descriptor), CURLM_OK);
        self->sockets++, self->watched++;
    }
    return treadle_call_set_result(call, &result, sizeof result);
}
/* int timer(CURLM *, long milliseconds, void *client) */
static treadle_status set_timer(treadle_call *call, void *info) {
    struct client *self = info;
    int64_t delay = *(const int64_t *)call->arguments[1];
    int32_t result = 0;
    CHECK_INT(thread_id(), self->thread);
    CHECK_INT(treadle_timer_arm(self->timer, delay < 0 ? TREADLE_FOREVER : MILLISECONDS(delay)), TREADLE_OK);
    return treadle_call_set_result(call, &result, sizeof result);
}
/* size_t write(char *, size_t, size_t, void *transfer) */
static treadle_status take_data(treadle_call *call, void *info) {
    const struct client *self = info;
    const char *bytes = *(const char *const *)call->arguments[0];
    size_t size = *(const size_t *)call->arguments[1] * *(const size_t *)call->arguments[2];
    struct transfer *transfer = *(struct transfer *const *)call->arguments[3];
    CHECK_INT(thread_id(), self->data_thread);
    for (size_t i = 0; i < size; i++) CHECK(bytes[i] == pattern(transfer->received + i));
    transfer->received += size;
    return treadle_call_set_result(call, &size, sizeof size);
}

static void client_start(struct client *self, struct worker *writer) {
    memset(self, 0, sizeof *self);
    CURL(curl_global_init(CURL_GLOBAL_DEFAULT));
    self->loop = treadle_loop_current();
    self->thread = thread_id();
    self->data_thread = writer ? writer->thread_id : self->thread;
    CHECK_INT(treadle_timer_start(TREADLE_FOREVER, 0, fire, self, &self->timer), TREADLE_OK); /* one timer, armed again and again */
    self->on_socket = MADE(.signature = "i^vii^v^v", .handler = watch_socket, .info = self);
    self->on_timer = MADE(.signature = "i^vq^v", .handler = set_timer, .info = self);
    self->on_data = MADE(.signature = "Q*QQ^v", .handler = take_data, .info = self, .loop = writer ? writer->loop : NULL,
                         .delivery = writer ? TREADLE_DELIVERY_SYNC : TREADLE_DELIVERY_INLINE);
    CHECK((self->multi = curl_multi_init()));
    CHECK_INT(curl_multi_setopt(self->multi, CURLMOPT_SOCKETFUNCTION, code_of(self->on_socket)), CURLM_OK);
    CHECK_INT(curl_multi_setopt(self->multi, CURLMOPT_TIMERFUNCTION, code_of(self->on_timer)), CURLM_OK);
}
static void client_stop(struct client *self) {
    CHECK_INT(curl_multi_cleanup(self->multi), CURLM_OK);
    CHECK_INT(self->watched, 0);
    CHECK(info_of(self->on_timer).handled > 0);
    CHECK_INT(info_of(self->on_socket).failed + info_of(self->on_timer).failed + info_of(self->on_data).failed, 0);
    end_closure(self->on_socket);
    end_closure(self->on_timer);
    end_closure(self->on_data);
    CHECK_INT(treadle_timer_invalidate(self->timer), TREADLE_OK);
    CHECK_INT(treadle_timer_release(self->timer), TREADLE_OK);
    curl_global_cleanup();
}
static void transfer_start(struct transfer *self, struct client *client, int port, const char *path, size_t wanted) {
    char address[64];
    *self = (struct transfer){client, curl_easy_init(), wanted, 0};
    CHECK(self->easy);
    snprintf(address, sizeof address, "http://127.0.0.1:%d/%s", port, path);
    CURL(curl_easy_setopt(self->easy, CURLOPT_URL, address));
    CURL(curl_easy_setopt(self->easy, CURLOPT_PROXY, ""));
    CURL(curl_easy_setopt(self->easy, CURLOPT_NOSIGNAL, 1L));
    CURL(curl_easy_setopt(self->easy, CURLOPT_PRIVATE, self));
    CURL(curl_easy_setopt(self->easy, CURLOPT_WRITEDATA, self));
    CURL(curl_easy_setopt(self->easy, CURLOPT_WRITEFUNCTION, code_of(client->on_data)));
}
static void transfer_end(struct transfer *self) {
    CHECK_INT(curl_multi_remove_handle(self->client->multi, self->easy), CURLM_OK);
    curl_easy_cleanup(self->easy);
}
static void add(struct transfer *self) { CHECK_INT(curl_multi_add_handle(self->client->multi, self->easy), CURLM_OK); }

/* Fetches pages of many sizes at the same time. writer: whose thread takes the data; NULL: the loop's own. */
static void fetch_all(struct worker *writer) {
    static const size_t sizes[TRANSFERS] = {0, 1, 100, 5000, 16384, 16385, 70000, 100000, 1234, 250000, 399999, LARGEST};
    struct server server;
    struct client client;
    struct transfer transfers[TRANSFERS];
    server_start(&server);
    client_start(&client, writer);
    for (int i = 0; i < TRANSFERS; i++) {
        char path[32];
        snprintf(path, sizeof path, "%zu", sizes[i]);
        transfer_start(&transfers[i], &client, server.port, path, sizes[i]);
        add(&transfers[i]);
    }
    CHECK_INT(treadle_loop_run(client.loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(client.done, TRANSFERS);
    for (int i = 0; i < TRANSFERS; i++) {
        CHECK_INT(client.results[i], CURLE_OK);
        CHECK_INT(transfers[i].received, sizes[i]);
        transfer_end(&transfers[i]);
    }
    CHECK(client.sockets > 1);
    client_stop(&client);
    server_stop(&server);
}

TEST(transfers_on_a_run_loop, "PERF-2 SRC1-5 OBJ-8") { fetch_all(NULL); }

TEST(data_is_taken_on_another_thread, "PERF-3 PERF-7 OBJ-8") {
    struct worker writer;
    worker_start(&writer);
    fetch_all(&writer);
    worker_stop(&writer);
}

/* The server is silent, and libcurl's own timeout ends the transfer: by the timer alone. */
TEST(a_timeout_of_libcurl, "TMR-17 PERF-2") {
    struct server server;
    struct client client;
    struct transfer transfer;
    server_start(&server);
    client_start(&client, NULL);
    transfer_start(&transfer, &client, server.port, "silence", 0);
    CURL(curl_easy_setopt(transfer.easy, CURLOPT_TIMEOUT_MS, 50L));
    add(&transfer);
    CHECK_INT(treadle_loop_run(client.loop, TREADLE_DEFAULT_MODE, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(client.done, 1);
    CHECK_INT(client.results[0], CURLE_OPERATION_TIMEDOUT);
    transfer_end(&transfer);
    client_stop(&client);
    server_stop(&server);
}

TEST_MAIN()
