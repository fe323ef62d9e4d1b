/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * isolated_hostile_test.c: a plugin's process whose frames lie. This program is that process as well: between its host and one that keeps
 * to the protocol it passes on what both send, and changes bytes, lengths and order of what the host gets, by chance. The host refuses
 * such frames, or takes them for what they say; it is never harmed, and each close comes to an end. */
#include "../plugins/store.h"
#include "chance.h"
#include "plugins.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* --- The process ------------------------------------------------------------------------------------------ */

enum { SERVING = 3, ASKING, LIFE, REPORT, MOST = 1 << 18, HEAD = 32, KIND = 6, REPLY = 3, RING = 5 };

/* Mostly behind the head, which is a message port's, and has tests of its own. */
static size_t spoil(unsigned char *bytes, size_t size) {
    uint32_t first = size > HEAD && chance(8) != 0 ? HEAD : 0, count = (uint32_t)size - first;
    switch (chance(8)) {
    case 0: return chance((uint32_t)size + 1);
    case 1: case 2: bytes[first + chance(count)] = (unsigned char)chance(256); break;
    case 3: case 4:
        for (uint32_t i = chance(8); i > 0; i--) bytes[first + chance(count)] ^= (unsigned char)(1u << chance(8));
        break;
    default:
        if (count < 8) break;
        bytes += first + 8 * chance(count / 8);
        memset(bytes, chance(2) ? 0xFF : 0, 8);
        if (chance(2)) bytes[0] = (unsigned char)chance(64);
    }
    return size;
}
/* Without the memory that both sides would share: the answer that there is none. */
static size_t refuse_ring(unsigned char *bytes) {
    static const uint64_t length = 8;
    static const uint32_t serial = UINT32_MAX;
    static const int32_t status[2] = {TREADLE_E_NOT_FOUND, 0};
    bytes[KIND] = REPLY;
    memcpy(bytes + 8, &length, sizeof length);
    memcpy(bytes + 16, &serial, sizeof serial);
    memcpy(bytes + HEAD, status, sizeof status);
    return HEAD + sizeof status;
}
/* One frame. Descriptors are dropped, so that both sides stay with the sockets. False at the end. */
static bool pass(int from, int to, bool spoils, bool *has_spoiled) {
    static unsigned char bytes[MOST];
    ssize_t size = recv(from, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size <= 0) return size < 0 && errno == EAGAIN;
    size_t length = (size_t)size;
    if (length >= HEAD && bytes[KIND] == RING) length = refuse_ring(bytes);
    else if (spoils && chance(12) == 0) {
        length = spoil(bytes, length);
        *has_spoiled = true;
        if (length == 0) return true;
    }
    for (uint32_t i = spoils && chance(40) == 0 ? 2 : 1; i > 0; i--)
        if (send(to, bytes, length, MSG_NOSIGNAL) < 0) return false;
    return true;
}
static int be_hostile(const char *number) {
    int serving[2], asking[2];
    bool has_spoiled = false;
    seed = strtoull(number, NULL, 10);
    begin_chance(0);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, serving) != 0) return 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, asking) != 0) return 1;
    pid_t plugin = fork();
    if (plugin == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        for (int fd = SERVING; fd <= REPORT; fd++) close(fd);
        close(serving[0]), close(asking[0]);
        _exit(treadle_plugin_serve(serving[1], asking[1], NULL) == TREADLE_OK ? 0 : 1);
    }
    close(serving[1]), close(asking[1]);
    struct pollfd all[] = {
        {SERVING, POLLIN, 0}, {serving[0], POLLIN, 0}, {ASKING, POLLIN, 0}, {asking[0], POLLIN, 0}, {LIFE, 0, 0}};
    static const int other[] = {1, 0, 3, 2};
    /* Once a frame was spoiled, one side may wait for ever for the other. */
    while (poll(all, 5, has_spoiled ? 50 : -1) > 0 && all[4].revents == 0) {
        bool goes_on = true;
        for (int i = 0; i < 4; i++)
            if (all[i].revents != 0) goes_on &= pass(all[i].fd, all[other[i]].fd, i % 2 == 1, &has_spoiled);
        if (!goes_on) break;
    }
    kill(plugin, SIGKILL);
    waitpid(plugin, NULL, 0);
    return 0;
}

/* --- The host --------------------------------------------------------------------------------------------- */

static treadle_status store_do(const char *deed) { return (void)deed, TREADLE_OK; }
static const treadle_extension_descriptor host_descriptor = STORE_DESCRIPTOR(HOST_STORE_ID), expected = STORE_DESCRIPTOR(STORE_ID);
static const treadle_extension_descriptor *const host_descriptors[] = {&host_descriptor, &expected, NULL};
static const void *get_host_store(void *info, const char *id) { return (void)info, strcmp(id, HOST_STORE_ID) == 0 ? &the_store : NULL; }
static void drop_line(void *info, treadle_plugin plugin, uint32_t level, const char *text) { (void)info, (void)plugin, (void)level, (void)text; }
static int32_t visit(void *info, const char *key, const void *bytes, size_t size) {
    return *(int32_t *)info + (int32_t)(key ? strlen(key) : 0) + (size && bytes ? ((const char *)bytes)[size - 1] : 0);
}
static int use_what_comes(const char *name) {
    treadle_plugin plugin;
    const void *found;
    treadle_plugin_config config = config_of(path_of(name));
    config.flags = TREADLE_PLUGIN_LOAD_ISOLATED;
    config.log = drop_line;
    config.get_extension = get_host_store;
    config.extensions = host_descriptors;
    store_watcher = NULL;
    if (treadle_plugin_load(&config, &plugin) != TREADLE_OK) return 0;
    int got = 1;
    if (treadle_plugin_start(plugin) == TREADLE_OK && treadle_plugin_get_extension(plugin, STORE_ID, &found) == TREADLE_OK) {
        const struct store *store = found;
        int32_t numbers[] = {3, 1, 2}, seven = 7;
        char bytes[8];
        size_t size;
        double weight;
        struct thing *thing = NULL;
        got = 2;
        store->put("key", "value", 5);
        const char *text = store->name(4);
        if (text) CHECK(strlen(text) < MOST);
        store->get("key", bytes, sizeof bytes, &size);
        store->sort(numbers, 3);
        store->each(visit, &seven);
        store->open("key", &thing);
        store->weigh(thing, &weight);
        if (store->act("use") == TREADLE_OK) got = 3;
    }
    CHECK_INT(treadle_plugin_close(plugin, MILLISECONDS(200)), TREADLE_OK);
    CHECK_INT(treadle_release(plugin), TREADLE_OK);
    return got;
}
TEST(frames_that_lie_do_not_harm_the_host, "PLUG-9 PLUG-5") {
    char self[4096], number[32];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    int got[4] = {0};
    choose_seed();
    CHECK(length > 0);
    self[length] = 0;
    setenv("TREADLE_PLUGIN_PROCESS", self, 1);
    for (int i = 0; i < scaled(400); i++) {
        snprintf(number, sizeof number, "%" PRIu64, seed + (uint64_t)i);
        setenv("TREADLE_TEST_HOSTILE", number, 1);
        got[use_what_comes("store")]++;
        progress();
    }
    printf("%d loads refused, %d starts, %d uses, %d whole\n", got[0], got[1], got[2], got[3]);
    have_no_children();
}

int main(int count, char **arguments) {
    const char *number = getenv("TREADLE_TEST_HOSTILE");
    return number ? be_hostile(number) : test_main(count, arguments);
}
