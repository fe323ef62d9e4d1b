/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * nats_test.c: message ports over a nats-server: requests, queue groups, ends of servers and of the plugin. */
#include "server.h"

TEST(a_request_gets_its_reply, "") {
    start_nats(-1, NULL);
    treadle_plugin plugin = start_plugin(NULL);
    treadle_nats_port local = make_local_in(name_of("an.echo"), echo, MODE), remote = make_remote(name_of("an.echo"));
    struct answer answer;
    CHECK_INT(ask(remote, -7, "hello", LONG, &answer), TREADLE_OK);
    CHECK_TEXT(answer.text, "re -7 hello");
    CHECK_INT(answer.count, 1);
    CHECK_INT(ask(remote, 0, "", LONG, &answer), TREADLE_OK);
    CHECK_TEXT(answer.text, "re 0 ");
    /* One that wants no reply; the port is in the mode of the requests alone. */
    CHECK_INT(nats->send(remote, 5, "one-way", 7, 0), TREADLE_OK);
    CHECK_INT(ask(remote, 1, "after", LONG, &answer), TREADLE_OK);
    CHECK_INT(messages, 4);
    treadle_nats_info info = {.struct_size = sizeof info};
    CHECK_INT(nats->get_info(local, &info), TREADLE_OK);
    CHECK(info.state == TREADLE_NATS_CONNECTED && info.received >= 4 && info.dropped == 0 && !info.is_remote);
    CHECK_INT(nats->check(remote), TREADLE_OK);
    end(local);
    /* No port serves it any more. */
    CHECK_REFUSED(ask(remote, 1, "x", LONG, &answer), TREADLE_E_NOT_FOUND, "no port serves");
    CHECK_INT(answer.count, 0);
    end(remote);
    unload(plugin, PLUGIN);
    stop_nats();
}

static void stay_silent(treadle_nats_port port, const treadle_nats_message *message, void *info) {
    (void)port, (void)info, (void)message;
    atomic_fetch_add(&messages, 1);
}
static void reply_wrongly(treadle_nats_port port, const treadle_nats_message *message, void *info) {
    (void)port, (void)info;
    CHECK_REFUSED(nats->reply(message->call + 1, "x", 1), TREADLE_E_NOT_FOUND, "call");
    CHECK_REFUSED(nats->reply(message->call, NULL, 1), TREADLE_E_ARG, "data");
    CHECK_REFUSED(nats->reply(message->call, "x", 1 << 30), TREADLE_E_RANGE, "size");
    CHECK_INT(nats->reply(message->call, "once", 4), TREADLE_OK);
    CHECK_REFUSED(nats->reply(message->call, "twice", 5), TREADLE_E_STATE, "call");
}
TEST(a_callback_without_a_reply_gives_an_empty_one, "") {
    start_nats(-1, NULL);
    treadle_plugin plugin = start_plugin(NULL);
    struct answer answer;
    treadle_nats_port local = make_local_in(name_of("a"), stay_silent, MODE), remote = make_remote(name_of("a"));
    CHECK_INT(ask(remote, 1, "x", LONG, &answer), TREADLE_OK);
    CHECK(answer.count == 1 && messages == 1 && !*answer.text);
    end(local);
    local = make_local_in(name_of("b"), reply_wrongly, MODE);
    treadle_nats_port other = make_remote(name_of("b"));
    CHECK_INT(ask(other, 1, "x", LONG, &answer), TREADLE_OK);
    CHECK_TEXT(answer.text, "once");
    /* No pass receives it: it is in no mode that runs. */
    treadle_loop_remove(treadle_loop_current(), local, MODE);
    CHECK_REFUSED(ask(other, 1, "x", MILLISECONDS(1), &answer), TREADLE_E_NO_REPLY, "reply_timeout_ns");
    CHECK_REFUSED(ask(other, 1, "x", 0, &answer), TREADLE_E_NO_REPLY, "reply_timeout_ns");
    /* The late reply is dropped. */
    CHECK_INT(treadle_loop_add(treadle_loop_current(), local, MODE), TREADLE_OK);
    CHECK_INT(ask(other, 1, "y", LONG, &answer), TREADLE_OK);
    CHECK(answer.count == 1);
    end(local), end(other), end(remote);
    unload(plugin, PLUGIN);
    stop_nats();
}

TEST(wrong_names_and_arguments_are_refused_by_their_names, "") {
    static const struct {
        const char *name, *word;
    } bad[] = {
        {NULL, "name is NULL"}, {"", "nats://"}, {"http://host/a", "nats://"}, {"nats://", "no host"}, {"nats:///a", "no host"},
        {"nats://host", "no subject"}, {"nats://host/", "no subject"}, {"nats://host:4222", "no subject"},
        {"nats://host:0/a", "port"}, {"nats://host:65536/a", "port"}, {"nats://host:x/a", "port"}, {"nats://host:/a", "port"},
        {"nats://user:secret@host/a", "credentials"}, {"nats://a,b/c", "more than one server"}, {"nats://h/a..b", "empty part"},
        {"nats://h/.a", "empty part"}, {"nats://h/a.", "empty part"}, {"nats://h/a.*", "wildcard"}, {"nats://h/>", "wildcard"},
        {"nats://h/a b", "space"}, {"nats://h/a\r\nPUB b 1", "space"}, {"nats://h h/a", "host"}, {"nats://[::1/a", "]"},
        {"nats://[]:1/a", "host"}, {"nats://[::1]x/a", "behind its host"},
    };
    treadle_plugin plugin = start_plugin(NULL);
    treadle_nats_port port = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_REFUSED(nats->create_remote(bad[i].name, NULL, &port), TREADLE_E_ARG, bad[i].word);
        CHECK(strstr(nats_error(), "name"));
        CHECK_REFUSED(nats->create_local(bad[i].name, NULL, &port), TREADLE_E_ARG, bad[i].word);
    }
    char longer[300] = "nats://h/";
    memset(longer + 9, 'a', 250);
    CHECK_REFUSED(nats->create_remote(longer, NULL, &port), TREADLE_E_RANGE, "name");
    CHECK_REFUSED(nats->create_remote("nats://h/a", NULL, NULL), TREADLE_E_ARG, "out_port");
    treadle_nats_context context = {.struct_size = sizeof context, .receive = echo};
    CHECK_REFUSED(nats->create_remote("nats://h/a", &context, &port), TREADLE_E_ARG, "receive");
    context.queue = "a b";
    CHECK_REFUSED(nats->create_local("nats://h/a", &context, &port), TREADLE_E_ARG, "queue");
    context.struct_size = 1;
    CHECK_REFUSED(nats->create_local("nats://h/a", &context, &port), TREADLE_E_ARG, "struct_size");
    CHECK_REFUSED(nats->send(NULL, 0, NULL, 0, 0), TREADLE_E_ARG, "port");
    CHECK_REFUSED(nats->check((treadle_nats_port)treadle_loop_current()), TREADLE_E_KIND, "port");
    unload(plugin, PLUGIN);
}

TEST(a_server_that_is_not_there_is_a_status, "") {
    start_nats(-1, NULL);
    treadle_plugin plugin = start_plugin(NULL);
    treadle_nats_port port = NULL;
    const char *name = name_of("a");
    stop_nats();
    CHECK_REFUSED(nats->create_remote(name, NULL, &port), TREADLE_E_NOT_FOUND, "name: its server");
    CHECK_REFUSED(nats->create_local(name, NULL, &port), TREADLE_E_NOT_FOUND, "name: its server");
    CHECK(!port);
    unload(plugin, PLUGIN);
}

TEST(credentials_are_settings, "") {
    start_nats(-1, "authorization { user: somebody, password: secret, timeout: 1000 }");
    treadle_plugin plugin = start_plugin(NULL);
    treadle_nats_port port = NULL;
    CHECK_REFUSED(nats->create_remote(name_of("a"), NULL, &port), TREADLE_E_NOT_FOUND, "name: its server");
    CHECK_INT(treadle_plugin_set(plugin, "user", "somebody"), TREADLE_OK);
    CHECK_INT(treadle_plugin_set(plugin, "password", "wrong"), TREADLE_OK);
    CHECK_REFUSED(nats->create_remote(name_of("a"), NULL, &port), TREADLE_E_NOT_FOUND, "name: its server");
    CHECK_INT(treadle_plugin_set(plugin, "password", "secret"), TREADLE_OK);
    end(make_remote(name_of("a")));
    CHECK_INT(treadle_plugin_set(plugin, "tls-ca-file", "/nonexistent"), TREADLE_OK);
    CHECK(nats->create_remote(name_of("a"), NULL, &port) < 0 && strstr(nats_error(), "tls-ca-file"));
    CHECK_ERROR(treadle_plugin_set(plugin, "shares-library", "true"), TREADLE_E_STATE, "it is read as the plugin is loaded");
    unload(plugin, PLUGIN);
    stop_nats();
}

/* Of several records: libnats must be called until all are read. */
static size_t size_of_reply;
static void keep_size(const void *data, size_t size, void *info) {
    (void)data, (void)info;
    size_of_reply = size;
}
static void send_back(treadle_nats_port port, const treadle_nats_message *message, void *info) {
    (void)port, (void)info;
    CHECK_INT(nats->reply(message->call, message->data, message->size), TREADLE_OK);
}
TEST(connections_are_encrypted_and_servers_checked, "") {
    const char *folder = new_folder(), *key = in_folder(folder, "key"), *certificate = in_folder(folder, "certificate");
    static char name[300], other[300], command[1024], configuration[1024], bytes[300000];
    snprintf(command, sizeof command, "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test -addext subjectAltName=IP:127.0.0.1 "
             "-keyout %s -out %s 2>/dev/null", key, certificate);
    CHECK_INT(system(command), 0);
    snprintf(configuration, sizeof configuration, "tls { cert_file: '%s', key_file: '%s', timeout: 1000 }", certificate, key);
    start_nats(-1, configuration);
    snprintf(name, sizeof name, "tls%s", name_of("a") + 4);
    snprintf(other, sizeof other, "tls%s", name_of("b") + 4);
    treadle_plugin plugin = start_plugin(NULL);
    treadle_nats_port port = NULL;
    /* A certificate that no authority of the system has signed. */
    CHECK(nats->create_remote(name, NULL, &port) < 0 && !port);
    CHECK_INT(treadle_plugin_set(plugin, "tls-ca-file", certificate), TREADLE_OK);
    treadle_nats_port local = make_local_in(name, send_back, MODE), remote = make_remote(name), unserved = make_remote(other);
    CHECK_INT(nats->request(remote, 1, bytes, sizeof bytes, LONG, LONG, MODE, keep_size, NULL), TREADLE_OK);
    CHECK_INT(size_of_reply, sizeof bytes);
    CHECK_INT(nats->request(unserved, 1, "x", 1, LONG, LONG, MODE, NULL, NULL), TREADLE_E_NOT_FOUND);
    CHECK_INT(treadle_plugin_set(plugin, "tls-host", "another.example"), TREADLE_OK);
    CHECK(nats->create_remote(name, NULL, &port) < 0 && !port);
    end(local), end(remote), end(unserved);
    unload(plugin, PLUGIN);
    stop_nats();
    remove_folder(folder);
}

/* No loop writes for it, and no later call: each message is there when send has returned. */
enum { SENDERS = 4, SENDS = 500 };
static void *send_many(void *port) {
    for (int i = 0; i < SENDS; i++) CHECK_INT(nats->send(port, i, "many", 4, i % 2 ? LONG : 0), TREADLE_OK);
    return NULL;
}
static void await_messages(int count) {
    while (atomic_load(&messages) < count) {
        progress();
        treadle_loop_run(treadle_loop_current(), MODE, MILLISECONDS(100), TREADLE_RUN_RETURN_AFTER_SOURCE);
    }
    CHECK_INT(atomic_load(&messages), count);
}
TEST(a_remote_port_in_no_loop_sends, "") {
    start_nats(-1, NULL);
    treadle_plugin plugin = start_plugin(SETTINGS("reconnect-wait-ms", "1", "reconnect-wait-most-ms", "20"));
    /* A label of two lines is none of a loop's. */
    treadle_nats_context context = {.struct_size = sizeof context, .label = "of\ntwo lines"};
    treadle_nats_port local = make_local_in(name_of("a"), echo, MODE), remote = NULL;
    CHECK_INT(nats->create_remote(name_of("a"), &context, &remote), TREADLE_OK);
    struct answer answer;
    atomic_store(&messages, 0);
    for (int i = 1; i <= 3; i++) {
        CHECK_INT(nats->send(remote, i, "one", 3, i == 2 ? LONG : 0), TREADLE_OK);
        await_messages(2 * i - 1);
        /* A request has the port in a loop while it waits. */
        CHECK_INT(ask(remote, i, "asked", LONG, &answer), TREADLE_OK);
    }
    pthread_t senders[SENDERS];
    for (int i = 0; i < SENDERS; i++) CHECK_INT(pthread_create(&senders[i], NULL, send_many, remote), 0);
    await_messages(6 + SENDERS * SENDS);
    for (int i = 0; i < SENDERS; i++) CHECK_INT(pthread_join(senders[i], NULL), 0);
    /* More than the kernel takes, with time for the rest. */
    static char bytes[1 << 20];
    atomic_store(&messages, 0);
    for (int i = 0; i < 20; i++) CHECK_INT(nats->send(remote, i, bytes, sizeof bytes - 100, LONG), TREADLE_OK);
    treadle_nats_info info = {.struct_size = sizeof info};
    CHECK_INT(nats->get_info(remote, &info), TREADLE_OK);
    CHECK(info.buffered == 0);
    await_messages(20);
    /* A server that comes again: what is sent before the local port has come back is nobody's. */
    int number = nats_server.port;
    stop_nats();
    start_nats(number, NULL);
    for (int before = atomic_load(&messages); atomic_load(&messages) == before;) {
        CHECK_INT(nats->send(remote, 1, "again", 5, LONG), TREADLE_OK);
        progress();
        treadle_loop_run(treadle_loop_current(), MODE, MILLISECONDS(10), TREADLE_RUN_RETURN_AFTER_SOURCE);
    }
    CHECK_INT(nats->get_info(remote, &info), TREADLE_OK);
    CHECK(info.buffered == 0 && info.state == TREADLE_NATS_CONNECTED);
    end(local), end(remote);
    unload(plugin, PLUGIN);
    stop_nats();
}

TEST(a_port_that_is_invalid_says_so, "") {
    start_nats(-1, NULL);
    treadle_plugin plugin = start_plugin(NULL);
    treadle_nats_port remote = make_remote(name_of("a"));
    CHECK_INT(treadle_invalidate((treadle_object)remote), TREADLE_OK);
    CHECK_REFUSED(nats->check(remote), TREADLE_E_STATE, "invalid");
    CHECK_REFUSED(nats->send(remote, 1, "x", 1, LONG), TREADLE_E_STATE, "invalid");
    end(remote);
    unload(plugin, PLUGIN);
    stop_nats();
}

/* No credentials and no messages go in the clear to a server that has no TLS, or says so. */
TEST(a_tls_name_wants_tls_of_the_server, "") {
    static char name[300];
    start_nats(-1, NULL);
    snprintf(name, sizeof name, "tls%s", name_of("a") + 4);
    treadle_plugin plugin = start_plugin(NULL);
    treadle_nats_port port = NULL;
    CHECK_REFUSED(nats->create_remote(name, NULL, &port), TREADLE_E_SYSTEM, "name: its server");
    CHECK_REFUSED(nats->create_local(name, NULL, &port), TREADLE_E_SYSTEM, "name: its server");
    CHECK(!port);
    CHECK_INT(treadle_plugin_set(plugin, "tls", "true"), TREADLE_OK);
    CHECK_REFUSED(nats->create_remote(name_of("a"), NULL, &port), TREADLE_E_SYSTEM, "name: its server");
    unload(plugin, PLUGIN);
    stop_nats();
}

/* The connection is lost while a request waits: it gets an error at once, and the next one its reply from the new server. */
static void kill_server(treadle_nats_port port, const treadle_nats_message *message, void *info) {
    (void)port, (void)info, (void)message;
    stop_nats();
    atomic_fetch_add(&messages, 1);
}
TEST(ports_reconnect_when_the_server_is_back, "") {
    start_nats(-1, NULL);
    treadle_plugin plugin = start_plugin(SETTINGS("reconnect-wait-ms", "5", "reconnect-wait-most-ms", "50"));
    struct answer answer;
    treadle_nats_port remote = make_remote(name_of("a")), local = make_local_in(name_of("a"), echo, MODE);
    treadle_nats_port killer = make_local_in(name_of("kill"), kill_server, MODE), to_killer = make_remote(name_of("kill"));
    CHECK_INT(ask(remote, 1, "before", LONG, &answer), TREADLE_OK);
    CHECK_REFUSED(ask(to_killer, 1, "now", TREADLE_FOREVER, &answer), TREADLE_E_CLOSED, "connection was lost");
    CHECK_INT(nats->check(to_killer), TREADLE_E_CLOSED);
    start_nats(nats_server.port, NULL);
    /* Both come back by themselves, the server of the name too. */
    treadle_status status;
    do {
        status = ask(remote, 2, "after", LONG, &answer);
    } while (status == TREADLE_E_NOT_FOUND || status == TREADLE_E_CLOSED);
    CHECK_INT(status, TREADLE_OK);
    CHECK_TEXT(answer.text, "re 2 after");
    treadle_nats_info info = {.struct_size = sizeof info};
    CHECK_INT(nats->get_info(local, &info), TREADLE_OK);
    CHECK(info.reconnects >= 1);
    end(remote), end(local), end(killer), end(to_killer);
    unload(plugin, PLUGIN);
    stop_nats();
}

static atomic_int given_up;
static void be_given_up(treadle_nats_port port, void *info) {
    CHECK(!treadle_is_valid(port) && info == &given_up);
    atomic_fetch_add(&given_up, 1);
    has_come();
}
static atomic_int released;
static void count_release(void *info) {
    CHECK(info == &given_up);
    atomic_fetch_add(&released, 1);
}
TEST(a_connection_that_is_given_up_invalidates_its_port, "") {
    start_nats(-1, NULL);
    treadle_plugin plugin = start_plugin(SETTINGS("max-reconnects", "2", "reconnect-wait-ms", "1", "reconnect-wait-most-ms", "2"));
    treadle_nats_port port = NULL;
    treadle_nats_context context = {.struct_size = sizeof context, .invalidated = be_given_up, .release = count_release, .info = &given_up};
    CHECK_INT(nats->create_remote("nats://", &context, &port), TREADLE_E_ARG);
    CHECK_INT(released, 1);
    CHECK_INT(nats->create_remote(name_of("a"), &context, &port), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, TREADLE_DEFAULT_MODE), TREADLE_OK);
    stop_nats();
    wait_for(&given_up, 1);
    CHECK_REFUSED(nats->send(port, 1, "x", 1, 0), TREADLE_E_STATE, "port");
    CHECK_INT(nats->check(port), TREADLE_E_STATE);
    CHECK_INT(treadle_release(port), TREADLE_OK);
    CHECK(given_up == 1 && released == 2);
    unload(plugin, PLUGIN);
}

/* A server that is stopped reads nothing: the buffer fills up, and what has no room is refused. */
TEST(a_full_buffer_refuses_and_then_has_room_again, "") {
    start_nats(-1, NULL);
    treadle_plugin plugin = start_plugin(SETTINGS("buffer-bytes", "100000"));
    treadle_nats_port port = make_remote(name_of("a"));
    static char bytes[50000];
    CHECK_INT(kill(nats_server.process, SIGSTOP), 0);
    treadle_status status;
    int sent = 0;
    while ((status = nats->send(port, 0, bytes, sizeof bytes, 0)) == TREADLE_OK) sent++;
    CHECK_REFUSED(status, TREADLE_E_TIMEOUT, "timeout_ns passed");
    CHECK(strncmp(nats_error(), "timeout_ns", 10) == 0 && sent > 0);
    /* The kernel may take some more for a while. */
    while ((status = nats->send(port, 0, bytes, sizeof bytes, MILLISECONDS(1))) == TREADLE_OK) {}
    CHECK_INT(status, TREADLE_E_TIMEOUT);
    while ((status = nats->request(port, 0, bytes, sizeof bytes, 0, 0, MODE, NULL, NULL)) == TREADLE_E_NO_REPLY) {}
    CHECK_REFUSED(status, TREADLE_E_TIMEOUT, "send_timeout_ns");
    treadle_nats_info info = {.struct_size = sizeof info};
    CHECK_INT(nats->get_info(port, &info), TREADLE_OK);
    CHECK(info.buffered > 0 && info.buffered <= 110000);
    CHECK_INT(kill(nats_server.process, SIGCONT), 0);
    CHECK_INT(nats->send(port, 0, bytes, sizeof bytes, LONG), TREADLE_OK);
    CHECK_REFUSED(nats->send(port, 0, bytes, 1 << 30, 0), TREADLE_E_RANGE, "size");
    CHECK_REFUSED(nats->send(port, 0, NULL, 1, 0), TREADLE_E_ARG, "data");
    CHECK_REFUSED(nats->request(port, 0, NULL, 0, 0, 0, NULL, NULL, NULL), TREADLE_E_ARG, "mode");
    CHECK_REFUSED(nats->request(port, 0, NULL, 0, 0, 0, TREADLE_COMMON_MODES, NULL, NULL), TREADLE_E_ARG, "mode");
    end(port);
    unload(plugin, PLUGIN);
    stop_nats();
}

/* --- The end of the plugin ----------------------------------------------------------------------------- */

static atomic_int waiters;
static void *wait_for_ever(void *argument) {
    struct answer answer;
    treadle_nats_port port = make_remote(argument);
    atomic_fetch_add(&waiters, 1);
    CHECK_INT(ask(port, 1, "x", TREADLE_FOREVER, &answer), TREADLE_E_CLOSED);
    CHECK_INT(answer.count, 0);
    return NULL;
}
static void unload_while_requests_wait(int64_t timeout) {
    pthread_t threads[3];
    char name[300];
    start_nats(-1, NULL);
    treadle_plugin plugin = start_plugin(NULL);
    treadle_status (*send)(treadle_nats_port, int32_t, const void *, size_t, int64_t) = nats->send;
    messages = waiters = 0;
    /* Received, and never replied to: in a mode that is not run again. */
    treadle_nats_port local = make_local_in(name_of("a"), stay_silent, "never");
    snprintf(name, sizeof name, "%s", name_of("a"));
    for (int i = 0; i < 3; i++) CHECK_INT(pthread_create(&threads[i], NULL, wait_for_ever, name), 0);
    treadle_nats_info info = {.struct_size = sizeof info};
    while (waiters < 3) sched_yield();
    do {
        treadle_loop_run(treadle_loop_current(), "yield", 0, 0);
        CHECK_INT(nats->get_info(local, &info), TREADLE_OK);
    } while (info.state != TREADLE_NATS_CONNECTED);
    treadle_status status;
    do {
        status = treadle_plugin_close(plugin, timeout);
    } while (status == TREADLE_E_TIMEOUT);
    CHECK_INT(status, TREADLE_OK);
    for (int i = 0; i < 3; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    CHECK(!is_mapped(PLUGIN));
    CHECK_INT(send(local, 0, NULL, 0, 0), TREADLE_E_CLOSED);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    stop_nats();
}
TEST(the_plugin_is_unloaded_while_requests_wait, "") { unload_while_requests_wait(SECONDS(100)); }
TEST(a_close_that_does_not_wait_ends_requests_as_well, "") { unload_while_requests_wait(0); }

/* A close finds each thread anywhere in a request, after some. */
static atomic_int asked;
static void *ask_until_closed(void *argument) {
    struct answer answer;
    treadle_nats_port port = make_remote(argument);
    treadle_status status;
    atomic_fetch_add(&waiters, 1);
    do {
        status = ask(port, 1, "x", TREADLE_FOREVER, &answer);
        atomic_fetch_add(&asked, 1);
    } while (status == TREADLE_E_NOT_FOUND);
    CHECK_INT(status, TREADLE_E_CLOSED);
    return NULL;
}
TEST(a_close_in_the_middle_of_requests_has_one_status, "") {
    char name[300];
    start_nats(-1, NULL);
    snprintf(name, sizeof name, "%s", name_of("unserved"));
    for (int round = 0; round < 12; round++) {
        pthread_t threads[4];
        treadle_plugin plugin = start_plugin(NULL);
        waiters = asked = 0;
        for (int i = 0; i < 4; i++) CHECK_INT(pthread_create(&threads[i], NULL, ask_until_closed, name), 0);
        while (waiters < 4 || asked < 3 * round) sched_yield();
        unload(plugin, PLUGIN);
        for (int i = 0; i < 4; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
    }
    stop_nats();
}

TEST(nothing_is_left_after_many_lives, "") {
    start_nats(-1, NULL);
    struct holdings before = {0};
    for (int i = 0; i < 12; i++) {
        treadle_plugin plugin = start_plugin(NULL);
        struct answer answer;
        treadle_nats_port remote = make_remote(name_of("a"));
        make_local_in(name_of("a"), echo, MODE); /* never ended */
        CHECK_INT(ask(remote, 1, "x", LONG, &answer), TREADLE_OK);
        CHECK_INT(treadle_release(remote), TREADLE_OK);
        unload(plugin, PLUGIN);
        if (i == 2) before = holdings();
    }
    struct holdings after = holdings();
    CHECK_INT(after.descriptors, before.descriptors);
    stop_nats();
}

TEST_MAIN()
