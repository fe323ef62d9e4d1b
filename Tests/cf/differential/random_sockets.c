/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * Random programs of sockets, from a seed: pairs, connections, datagrams, pipes, listeners, refused and reset
 * descriptors, each in two modes of its own, which are written to, closed, filled, enabled, disabled, added, removed and
 * invalidated, also from inside their callbacks. What the two CoreFoundations decide otherwise (docs/porting.md) is left
 * out at `may`; every change has reached the other end before the next pass looks. */
#include "seeds.h"
#include "sockets.h"

#include <signal.h>

enum { SLOTS = 4, ACTIONS = 5, STEPS = 30, DEEPEST = 2, CLIENTS = 5 };
enum type { PAIR, TCP, DATAGRAMS, PACKETS, READER, WRITER, LISTENER, DIALLED, REFUSED, RESET, TYPES };

struct slot {
    struct sock sock; /* first: it is the callbacks' info */
    int number;
    enum type type;
    CFSocketCallBackType told; /* what is being told now, 0 for nothing */
    int is_tcp, leaves, left, in_mode[2], clients[CLIENTS], client_count, is_over;
    CFDataRef address;
};
static struct slot *slots[SLOTS];
static int depth;
static const char *const names[SLOTS] = {"0", "1", "2", "3"};
static void act(struct slot *caller);

static CFStringRef mode_of(const struct slot *slot, int which) {
    switch (slot->number * 2 + which) {
    case 0: return CFSTR("m0");
    case 1: return CFSTR("x0");
    case 2: return CFSTR("m1");
    case 3: return CFSTR("x1");
    case 4: return CFSTR("m2");
    case 5: return CFSTR("x2");
    case 6: return CFSTR("m3");
    default: return CFSTR("x3");
    }
}
static int is_valid(const struct slot *slot) { return CFSocketIsValid(slot->sock.ref); }
static int is_scheduled(const struct slot *slot) { return slot->in_mode[0] || slot->in_mode[1]; }
static int has_peer(const struct slot *slot) { return slot->sock.other >= 0; }
static int is_stream(const struct slot *slot) { return slot->type == PAIR || slot->type == TCP || slot->type == DIALLED; }

static void on_told(struct sock *sock, CFSocketCallBackType type) {
    struct slot *slot = (struct slot *)sock;
    if (type == ACCEPT) close(sock->taken);
    if (type == READ && any(4)) drain(sock->fd);
    if (slot->left-- <= 0) return;
    slot->told = type;
    if (any(2)) act(slot);
    slot->told = 0;
}

/* --- What is left out ------------------------------------------------------------------------------------- */

/* SOCK-12: SO_ERROR is CoreFoundation's, to be told by nobody, if it is not left; so only then may one come up. What was
 * there already is Connect's. */
static int may_fail(const struct slot *slot) { return slot->leaves; }
static int may_disable(const struct slot *slot, CFOptionFlags kinds) {
    /* An error that is still to be told has to be Connect's. */
    if (kinds & CONNECT && !slot->leaves && (slot->type == REFUSED || slot->type == RESET)) return 0;
    /* What its thread has taken from the descriptor is lost, or told all the same (SOCK-10). */
    return !slot->told || !(kinds & 3) || (slot->sock.kinds & 3) == READ || ((slot->sock.kinds & 3) == DATA && slot->told == DATA);
}
/* Its thread has taken the data before Connect is told, Treadle takes them after that. */
static int may_put(const struct slot *slot) { return slot->told != CONNECT || (slot->sock.kinds & 3) != DATA; }

/* --- Sockets ---------------------------------------------------------------------------------------------- */

static void add_slot(struct slot *slot, int which) {
    if (!is_valid(slot)) return;
    if (!is_scheduled(slot)) slot->sock.disabled = 0;
    slot->in_mode[which] = 1;
    say("add%d:%d", slot->number, which);
    add_to(&slot->sock, mode_of(slot, which));
}
static CFOptionFlags random_kinds(enum type type) {
    CFOptionFlags kinds = type == LISTENER ? (any(3) ? ACCEPT : READ)
                        : type == PACKETS || type == READER || type == WRITER ? READ : any(6) == 0 ? 0 : any(2) ? READ : DATA;
    if (any(2)) kinds |= CONNECT;
    /* A pipe that hung up cannot be written, but Treadle's pass sees it once. */
    return any(2) && type != READER ? kinds | WRITE : kinds;
}
static int refused(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (connect_to(fd, nobody()) != EINPROGRESS) abort();
    await_report(fd, POLLOUT);
    return fd;
}
static void dial(struct slot *slot, CFOptionFlags kinds) {
    static int count;
    char name[40];
    snprintf(name, sizeof name, "dial-%06d", count++ % 1000000);
    slot->is_tcp = (int)any(2);
    CFDataRef address = slot->is_tcp ? loopback(0) : abstract(name);
    int server = listener(&address, 1);
    create(&slot->sock, slot->is_tcp ? PF_INET : PF_UNIX, SOCK_STREAM, kinds);
    say("dial:%d", (int)CFSocketConnectToAddress(slot->sock.ref, address, (int)any(3) - 1));
    slot->sock.other = accept(server, NULL, NULL);
    if (slot->is_tcp) send_at_once(slot->sock.fd), send_at_once(slot->sock.other);
    close(server);
}
static void make(int number) {
    static const int pairs[] = {[PAIR] = SOCK_STREAM, [DATAGRAMS] = SOCK_DGRAM, [PACKETS] = SOCK_SEQPACKET};
    struct slot *slot = slots[number] = calloc(1, sizeof *slot);
    int ends[2] = {-1, -1};
    slot->sock = (struct sock){.name = names[number], .other = -1, .also = on_told};
    slot->number = number;
    slot->left = ACTIONS;
    slot->leaves = (int)any(2);
    slot->type = any(TYPES);
    CFOptionFlags kinds = random_kinds(slot->type);
    if (!slot->leaves && (slot->type == REFUSED || slot->type == RESET)) kinds |= CONNECT;
    switch (slot->type) {
    case PAIR: case DATAGRAMS: case PACKETS: wrap_pair(&slot->sock, pairs[slot->type], kinds); break;
    case TCP: case RESET:
        connected_pair(ends);
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        slot->is_tcp = 1;
        if (slot->type == RESET) {
            reset(ends[1]);
            await_report(ends[0], POLLIN);
            ends[1] = -1;
        }
        break;
    case READER: case WRITER:
        if (pipe2(ends, O_NONBLOCK) != 0) abort();
        break;
    case LISTENER:
        slot->is_tcp = 1;
        slot->address = loopback(0);
        ends[0] = listener(&slot->address, CLIENTS);
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        break;
    case REFUSED: ends[0] = refused(); break;
    case DIALLED: dial(slot, kinds); break;
    default: break;
    }
    if (!slot->sock.ref) {
        wrap(&slot->sock, ends[slot->type == WRITER], kinds);
        slot->sock.other = ends[slot->type != WRITER];
    }
    change_flags(&slot->sock, (slot->leaves ? LEAVE : 0) | (any(3) ? 0 : WRITE), any(3) ? 0 : DATA);
    if (any(4) == 0) change_flags(&slot->sock, 0, kCFSocketCloseOnInvalidate);
    say("new%d:%d:%lx:%lx", number, slot->type, (long)slot->sock.kinds, (long)CFSocketGetSocketFlags(slot->sock.ref));
    if (any(8)) add_slot(slot, 0);
}
static void end(struct slot *slot) {
    int keeps = is_valid(slot) && !(CFSocketGetSocketFlags(slot->sock.ref) & kCFSocketCloseOnInvalidate);
    CFSocketInvalidate(slot->sock.ref);
    if (keeps) close(slot->sock.fd);
    memset(slot->in_mode, 0, sizeof slot->in_mode);
}
static void discard(int number) {
    struct slot *slot = slots[number];
    end(slot);
    if (has_peer(slot)) close(slot->sock.other);
    while (slot->client_count > 0) close(slot->clients[--slot->client_count]);
}

/* --- Actions ---------------------------------------------------------------------------------------------- */

static void arrive(const struct slot *slot) {
    if (slot->is_tcp && is_valid(slot)) await_report(slot->sock.fd, POLLIN);
}
static void read_all(int fd) {
    char bytes[65536];
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {}
}
static void close_other(struct slot *slot) {
    if (!has_peer(slot)) return;
    if (!may_fail(slot)) read_all(slot->sock.other);
    say("close%d", slot->number);
    if (slot->is_tcp && may_fail(slot) && any(2)) reset(slot->sock.other);
    else close(slot->sock.other);
    slot->sock.other = -1;
    slot->is_over = 1;
    arrive(slot);
}
static void fill(struct slot *slot) {
    static const char bytes[4096];
    if (slot->type != PAIR || !is_valid(slot) || !has_peer(slot)) return;
    say("fill%d", slot->number);
    while (write(slot->sock.fd, bytes, sizeof bytes) > 0) {}
}
static void knock(struct slot *slot) {
    if (slot->type != LISTENER || !is_valid(slot) || slot->client_count == CLIENTS) return;
    int fd = slot->clients[slot->client_count++] = socket(AF_INET, SOCK_STREAM, 0);
    say("knock%d:%d", slot->number, connect_to(fd, slot->address));
    arrive(slot);
}
static void change_kinds(struct slot *slot) {
    static const CFOptionFlags some[] = {DATA, CONNECT | WRITE, DATA | CONNECT | WRITE};
    CFOptionFlags kinds = some[any(3)] & (slot->sock.kinds | CONNECT | WRITE);
    int on = (int)any(2);
    if (!is_valid(slot) || !is_scheduled(slot) || (!on && !may_disable(slot, kinds))) return;
    say("%s%d:%lx", on ? "enable" : "disable", slot->number, (long)kinds);
    if (on) enable(&slot->sock, kinds);
    else disable(&slot->sock, kinds);
}
static void pass_of(struct slot *slot) {
    int which = any(4) == 0;
    if (slot->told || depth >= DEEPEST) return;
    depth++;
    say("(%d", slot->number * 2 + which);
    pass_at(mode_of(slot, which), is_valid(slot) && slot->in_mode[which] ? slot->sock.fd : 1 << 20);
    say(")");
    depth--;
}
static void act(struct slot *caller) {
    struct slot *slot = any(2) && caller ? caller : slots[any(SLOTS)];
    int which = (int)any(2);
    switch (any(16)) {
    case 0: case 1: case 2:
        if (has_peer(slot) && is_valid(slot) && slot->type != WRITER && may_put(slot)) {
            say("put%d", slot->number);
            put(slot->sock.other, any(2) ? "a" : "bc");
            if (!(is_stream(slot) && slot->is_over)) arrive(slot);
        }
        break;
    case 3: if (any(2) && may_put(slot)) close_other(slot); break;
    case 4:
        if (has_peer(slot) && may_put(slot) && (is_stream(slot) || slot->type == PACKETS) && !slot->is_over) {
            slot->is_over = 1;
            say("shut%d", slot->number);
            shutdown(slot->sock.other, SHUT_WR);
            arrive(slot);
        }
        break;
    case 5: if (has_peer(slot) && is_valid(slot) && slot->type != READER) put(slot->sock.fd, "z"); break;
    case 6: fill(slot); break;
    case 7: if (has_peer(slot) && slot->type == PAIR) read_all(slot->sock.other); break;
    case 8: if (is_valid(slot) && (slot->sock.kinds & 3) == READ && slot->type != LISTENER) drain(slot->sock.fd); break;
    case 9: case 10: change_kinds(slot); break;
    case 11:
        if (!is_valid(slot)) break;
        CFSocketSetSocketFlags(slot->sock.ref, CFSocketGetSocketFlags(slot->sock.ref) ^ (any(2) ? WRITE : slot->sock.kinds & 3));
        say("flags%d:%lx", slot->number, (long)CFSocketGetSocketFlags(slot->sock.ref));
        break;
    case 12: add_slot(slot, which); break;
    case 13:
        if (!slot->sock.source || !slot->in_mode[which]) break;
        slot->in_mode[which] = 0;
        say("remove%d:%d", slot->number, which);
        CFRunLoopRemoveSource(LOOP, slot->sock.source, mode_of(slot, which));
        break;
    case 14:
        if (any(3)) {
            knock(slot);
        } else if (any(2)) {
            say("end%d", slot->number);
            end(slot);
        } else if (slot->sock.source) {
            memset(slot->in_mode, 0, sizeof slot->in_mode);
            say("unsource%d", slot->number);
            CFRunLoopSourceInvalidate(slot->sock.source);
        } else if (is_valid(slot)) {
            say("%d", CFSocketCreateWithNative(NULL, slot->sock.fd, 0, NULL, NULL) == slot->sock.ref);
        }
        break;
    case 15: pass_of(slot); break;
    }
}

static void *program(void *argument) {
    (void)argument;
    for (int i = 0; i < SLOTS; i++) {
        make(i);
        for (int which = 0; which < 2; which++) keep_busy(mode_of(slots[i], which));
    }
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < 3; i++) act(NULL);
        pass_of(slots[any(SLOTS)]);
        int number = (int)any(SLOTS);
        if (!is_valid(slots[number]) && any(2)) {
            discard(number);
            make(number);
        }
    }
    for (int i = 0; i < SLOTS; i++) {
        for (int times = 0; times < 3; times++) pass_of(slots[i]);
        say("%d", is_valid(slots[i]));
        discard(i);
    }
    return NULL;
}

int main(int count, char **arguments) {
    signal(SIGPIPE, SIG_IGN);
    begin_sockets();
    return run_seeds(count, arguments, program);
}
