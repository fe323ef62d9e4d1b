/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * scope_kinds.h: one maker for each kind of what a scope takes, so that a test can do the same with all of them. */
#ifndef TREADLE_TEST_SCOPE_KINDS_H
#define TREADLE_TEST_SCOPE_KINDS_H

#include "closures.h"

#include <sys/socket.h>
#include <sys/un.h>

#define COUNT_OF(array) (int)(sizeof(array) / sizeof *(array))

/* What belongs to one of them. */
struct life {
    treadle_loop loop; /* where it is to be called */
    const char *mode;
    treadle_scope scope; /* which its context names; NULL: none */
    void (*in_callback)(struct life *), (*in_release)(struct life *); /* NULL: nothing */
    atomic_int calls, released;
    int released_as; /* how many were before */
    treadle_object object; /* NULL for what has no handle */
    any_code code;         /* a closure's */
    int fd;
};
static void life_called(void *info) {
    struct life *life = info;
    atomic_fetch_add(&life->calls, 1);
    if (life->in_callback) life->in_callback(life);
}
static atomic_int life_releases;
static void life_released(void *info) {
    struct life *life = info;
    life->released_as = atomic_fetch_add(&life_releases, 1);
    atomic_fetch_add(&life->released, 1);
    if (life->in_release) life->in_release(life);
}

/* All of them are called as soon as the loop runs its mode, or, what needs none, as soon as it is asked. */
static void life_perform(treadle_source source, void *info) { (void)source, life_called(info); }
static void life_fire(treadle_timer timer, void *info) { (void)timer, life_called(info); }
static void life_notify(treadle_observer observer, uint32_t activity, void *info) { (void)observer, (void)activity, life_called(info); }
static void life_ready(treadle_descriptor descriptor, uint32_t ready, void *info) {
    uint64_t count;
    (void)descriptor, (void)ready;
    CHECK_INT(read(((struct life *)info)->fd, &count, sizeof count), sizeof count);
    life_called(info);
}
static void life_request(void *target, void *argument) { (void)argument, life_called(target); }
static void *life_thread(void *info) { return life_called(info), NULL; }
static void life_told(uint32_t name, void *object, void *info) { (void)name, (void)object, life_called(info); }
static treadle_status life_handle(treadle_call *call, void *info) { return (void)call, life_called(info), TREADLE_OK; }

/* Unless its scope has been closed since it was made, or is being closed. */
static void must_be_there(treadle_status status) {
    bool may_be_closed = status == TREADLE_IGNORED || status == TREADLE_E_STALE || status == TREADLE_E_CLOSED;
    if (!may_be_closed) CHECK_INT(status, TREADLE_OK);
}

static treadle_status make_a_source(struct life *life) {
    treadle_source_context context = {.struct_size = sizeof context, .scope = life->scope, .perform = life_perform, .info = life, .release = life_released,
                                      .label = "a source"};
    treadle_status status = treadle_source_create(&context, (treadle_source *)&life->object);
    if (status) return status;
    must_be_there(treadle_loop_add(life->loop, life->object, life->mode));
    must_be_there(treadle_source_signal_and_wake(life->object));
    return TREADLE_OK;
}
static treadle_status make_a_timer(struct life *life) {
    treadle_timer_context context = {.struct_size = sizeof context, .scope = life->scope, .fire = life_fire, .info = life, .release = life_released,
                                     .fire_at = 1, .interval_ns = SECONDS(1000), .label = "a timer"};
    treadle_status status = treadle_timer_create(&context, (treadle_timer *)&life->object);
    if (status) return status;
    must_be_there(treadle_loop_add(life->loop, life->object, life->mode));
    return TREADLE_OK;
}
static treadle_status make_an_observer(struct life *life) {
    treadle_observer_context context = {.struct_size = sizeof context, .scope = life->scope, .notify = life_notify, .info = life, .release = life_released,
                                        .activities = TREADLE_BEFORE_TIMERS, .once = true, .label = "an observer"};
    treadle_status status = treadle_observer_create(&context, (treadle_observer *)&life->object);
    if (status) return status;
    must_be_there(treadle_loop_add(life->loop, life->object, life->mode));
    must_be_there(treadle_loop_wake(life->loop));
    return TREADLE_OK;
}
static treadle_status make_a_descriptor(struct life *life) {
    life->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    treadle_descriptor_context context = {.struct_size = sizeof context, .scope = life->scope, .ready = life_ready, .info = life, .release = life_released,
                                          .fd = life->fd, .events = TREADLE_READABLE, .label = "a descriptor"};
    treadle_status status = treadle_descriptor_create(&context, (treadle_descriptor *)&life->object);
    if (status) return status;
    must_be_there(treadle_loop_add(life->loop, life->object, life->mode));
    return TREADLE_OK;
}
static void life_receive(treadle_port port, treadle_message message, void *info) { (void)port, (void)message, life_called(info); }
static treadle_status make_a_scoped_port(struct life *life) {
    treadle_port_context context = {.struct_size = sizeof context, .scope = life->scope, .receive = life_receive, .info = life, .release = life_released,
                                    .label = "a port"};
    treadle_status status = treadle_port_create(&context, (treadle_port *)&life->object);
    if (status) return status;
    must_be_there(treadle_loop_add(life->loop, life->object, life->mode));
    must_be_there(treadle_port_send_bytes(life->object, 1, "text", 4, 0));
    return TREADLE_OK;
}
/* A message for it is there. */
static void life_message(treadle_message_port port, const treadle_message_port_message *message, void *info) { (void)port, (void)message, life_called(info); }
static treadle_status make_a_port(struct life *life) {
    static atomic_uint used;
    char name[64];
    treadle_message_port_context context = {.struct_size = sizeof context, .scope = life->scope, .receive = life_message, .info = life,
                                            .release = life_released, .label = "a port"};
    snprintf(name, sizeof name, "treadle.scopes.%d.%u", (int)getpid(), atomic_fetch_add(&used, 1));
    treadle_status status = treadle_message_port_create_local(name, &context, (treadle_message_port *)&life->object);
    if (status) return status;
    /* Whoever sends is no member. */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "treadle/%u/%s", geteuid(), name);
    struct { uint32_t magic; uint16_t version; uint8_t kind, flags; uint64_t length; uint32_t serial; int32_t id; uint64_t reserved; char name[64]; }
        frame = {.magic = 0x4C445254, .version = 1, .kind = 1, .length = strlen(name)};
    life->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(frame.name, name, strlen(name));
    if (connect(life->fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0) {
        send(life->fd, &frame, 32 + strlen(name), MSG_NOSIGNAL);
        frame.kind = 2, frame.length = 0;
        send(life->fd, &frame, 32, MSG_NOSIGNAL);
    }
    must_be_there(treadle_loop_add(life->loop, life->object, life->mode));
    return TREADLE_OK;
}
static treadle_status make_a_post(struct life *life) {
    const char *modes[] = {life->mode};
    return treadle_loop_post_in(life->loop, &(treadle_post){.struct_size = sizeof(treadle_post), .fn = life_called, .info = life,
                                                            .destroy = life_released, .modes = modes, .mode_count = 1});
}
static treadle_status make_a_request(struct life *life) {
    const char *modes[] = {life->mode};
    treadle_request request = {.struct_size = sizeof request, .fn = life_request, .target = life, .release_target = life_released,
                               .modes = modes, .mode_count = 1};
    return treadle_perform(life->loop, &request);
}
/* On the calling thread's loop. */
static treadle_status make_a_delayed_request(struct life *life) {
    const char *modes[] = {life->mode};
    treadle_request request = {.struct_size = sizeof request, .fn = life_request, .target = life, .release_target = life_released};
    return perform_after(1, &request, modes, 1);
}
static treadle_status make_an_invocation(struct life *life) {
    const char *modes[] = {life->mode};
    treadle_invocation_config config = {.struct_size = sizeof config, .scope = life->scope, .code = (void (*)(void))life_called, .signature = "v^v",
                                        .info = life, .destroy = life_released};
    treadle_status status = treadle_invocation_create(&config, (treadle_invocation *)&life->object);
    if (status) return status;
    must_be_there(treadle_invocation_set_argument(life->object, 0, &(void *){life}, sizeof(void *)));
    treadle_invocation_options options = {.struct_size = sizeof options, .loop = life->loop, .modes = modes, .mode_count = 1};
    must_be_there(treadle_invocation_perform(life->object, &options));
    return TREADLE_OK;
}
/* Carried to the loop, and called once here. */
static treadle_status make_a_closure(struct life *life) {
    const char *modes[] = {life->mode};
    treadle_closure_config config = {.struct_size = sizeof config, .scope = life->scope, .signature = "v", .handler = life_handle, .info = life,
                                     .destroy = life_released, .delivery = TREADLE_DELIVERY_ASYNC, .loop = life->loop,
                                     .modes = modes, .mode_count = 1};
    treadle_status status = treadle_closure_create(&config, (treadle_closure *)&life->object);
    if (status) return status;
    must_be_there(treadle_closure_get_code(life->object, &life->code));
    if (life->code) life->code();
    return TREADLE_OK;
}
/* Called at once, on a thread of its own. */
static treadle_status make_a_thread(struct life *life) {
    treadle_thread_config config = {.struct_size = sizeof config, .scope = life->scope, .fn = life_thread, .info = life, .destroy = life_released};
    treadle_status status = treadle_thread_create(&config, (treadle_thread *)&life->object);
    if (status) return status;
    must_be_there(treadle_thread_start(life->object));
    return TREADLE_OK;
}
/* Told of the end of each thread. */
static treadle_status make_a_notification(struct life *life) {
    treadle_notification_config config = {.struct_size = sizeof config, .scope = life->scope, .name = TREADLE_NOTIFY_THREAD_WILL_EXIT,
                                          .fn = life_told, .info = life, .destroy = life_released};
    return treadle_notification_add(&config, &(uint64_t){0});
}
static void life_pooled(void *info) { life_called(info), life_released(info); }
static treadle_status make_a_pooled(struct life *life) { return treadle_pool_add(life, life_pooled); }
/* In the calling thread's dictionary. */
struct value_key { char text[32]; };
static struct value_key key_of(struct life *life) {
    struct value_key key;
    snprintf(key.text, sizeof key.text, "%p", (void *)life);
    return key;
}
static treadle_status make_a_value(struct life *life) { return treadle_thread_set_value(treadle_thread_current(), key_of(life).text, life, life_released); }
static void life_used(void *value, void *info) { (void)info, life_called(value); }
static void use_the_value(struct life *life) {
    CHECK_INT(treadle_thread_use_value(treadle_thread_current(), key_of(life).text, life_used, NULL), TREADLE_OK);
}
static treadle_status make_a_routine(struct life *life) {
    void *argument = life;
    treadle_routine_config config = {.struct_size = sizeof config, .code = (void (*)(void))life_called, .signature = "v^v", .argument_count = 1,
                                     .arguments = &(treadle_argument){.kind = TREADLE_ARGUMENT_BOUND, .value = &argument, .size = sizeof argument},
                                     .info = life, .destroy = life_released};
    return treadle_routine_create(&config, (treadle_routine *)&life->object);
}
static void call_the_routine(struct life *life) { CHECK_INT(treadle_routine_call(life->object, NULL, NULL, 0), TREADLE_OK); }
static treadle_status make_a_scope(struct life *life) {
    treadle_scope_config config = {.struct_size = sizeof config, .label = "a scope", .info = life, .destroy = life_released};
    return treadle_scope_create(&config, (treadle_scope *)&life->object);
}

/* How a kind is brought to call its client. */
enum how {
    BY_LOOP,      /* the loop calls it */
    BY_OWN_LOOP,  /* the loop of the thread that makes it */
    BY_ITSELF,    /* without a loop */
    BY_THREADS,   /* as any thread ends */
    BY_USER,      /* who asks for it */
    BY_NOTHING
};
static const struct scope_kind {
    const char *name;
    uint32_t kind;
    enum how how;
    bool is_given_back; /* its info, also when it is refused */
    bool has_context;   /* which may name the scope */
    treadle_status (*make)(struct life *);
    void (*use)(struct life *); /* by its user */
} scope_kinds[] = {
    {"source", TREADLE_KIND_SOURCE, BY_LOOP, false, true, make_a_source, NULL},
    {"timer", TREADLE_KIND_TIMER, BY_LOOP, false, true, make_a_timer, NULL},
    {"observer", TREADLE_KIND_OBSERVER, BY_LOOP, false, true, make_an_observer, NULL},
    {"descriptor", TREADLE_KIND_DESCRIPTOR, BY_LOOP, false, true, make_a_descriptor, NULL},
    {"port", TREADLE_KIND_PORT, BY_LOOP, false, true, make_a_scoped_port, NULL},
    {"message port", TREADLE_KIND_DESCRIPTOR, BY_LOOP, false, true, make_a_port, NULL},
    {"post", TREADLE_HOLDER_POST, BY_LOOP, true, false, make_a_post, NULL},
    {"request", TREADLE_HOLDER_REQUEST, BY_LOOP, true, false, make_a_request, NULL},
    {"delayed request", TREADLE_HOLDER_REQUEST, BY_OWN_LOOP, true, false, make_a_delayed_request, NULL},
    {"invocation", TREADLE_KIND_INVOCATION, BY_LOOP, true, true, make_an_invocation, NULL},
    {"closure", TREADLE_KIND_CLOSURE, BY_LOOP, true, true, make_a_closure, NULL},
    {"thread", TREADLE_KIND_THREAD, BY_ITSELF, true, true, make_a_thread, NULL},
    {"notification", TREADLE_HOLDER_NOTIFICATION, BY_THREADS, true, true, make_a_notification, NULL},
    {"pooled release", TREADLE_HOLDER_POOLED, BY_NOTHING, false, false, make_a_pooled, NULL},
    {"value", TREADLE_HOLDER_VALUE, BY_USER, true, false, make_a_value, use_the_value},
    {"routine", TREADLE_KIND_ROUTINE, BY_USER, true, false, make_a_routine, call_the_routine},
    {"scope", TREADLE_KIND_SCOPE, BY_NOTHING, true, false, make_a_scope, NULL},
};
enum { KINDS = COUNT_OF(scope_kinds) };

HELPER void life_begin(struct life *life, treadle_loop loop, const char *mode) {
    memset(life, 0, sizeof *life);
    life->loop = loop;
    life->mode = mode;
    life->fd = -1;
}
HELPER void life_end(struct life *life) {
    if (life->fd >= 0) close(life->fd);
}

HELPER treadle_scope make_scope(atomic_int *destroyed) {
    treadle_scope_config config = {.struct_size = sizeof config, .label = "the test's", .info = destroyed, .destroy = destroyed ? count_up : NULL};
    treadle_scope scope = NULL;
    CHECK_INT(treadle_scope_create(&config, &scope), TREADLE_OK);
    return scope;
}
/* Makes one of a kind in a scope. */
HELPER void make_in(treadle_scope scope, const struct scope_kind *kind, struct life *life) {
    CHECK_INT(treadle_scope_enter(scope), TREADLE_OK);
    treadle_status status = kind->make(life);
    if (status) check_failed(__FILE__, __LINE__, "a %s: %d", kind->name, status);
    CHECK_INT(treadle_scope_leave(scope), TREADLE_OK);
}
HELPER int holders_of(treadle_scope scope, treadle_scope_holder *holders, size_t capacity) {
    size_t count = 77;
    CHECK_INT(treadle_scope_copy_holders(scope, holders, sizeof *holders, capacity, &count), TREADLE_OK);
    return (int)count;
}

#endif
