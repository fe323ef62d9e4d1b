/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * message_port_kill_test.c: either side of an exchange is killed at each step of it. The steps are all system calls that it
 * makes, before and after each: its parent stops it there (ptrace), until one exchange goes through to its end. */
#include "message_port_look.h"

#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>

/* A process that stops at each system call, and its tracer: a thread, which the kernel wants to be the one that made it. */
struct victim {
    void (*role)(const char *);
    const char *name;
    int step; /* the stop at which it is killed; 0: never */
    pthread_t tracer;
    int passed; /* how many stops there were */
    int status;
};
static void *trace_victim(void *info) {
    struct victim *victim = info;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* it lives as long as its tracer */
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        CHECK_INT(treadle_after_fork_child() >= 0, 1);
        victim->role(victim->name);
        _exit(0);
    }
    victim->status = await_process(child);
    ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    while (WIFSTOPPED(victim->status)) {
        int signal = WSTOPSIG(victim->status);
        if (signal == (SIGTRAP | 0x80) && ++victim->passed == victim->step) kill(child, SIGKILL);
        bool is_of_tracing = signal == (SIGTRAP | 0x80) || signal == SIGSTOP || signal == SIGTRAP;
        ptrace(PTRACE_SYSCALL, child, NULL, (void *)(intptr_t)(is_of_tracing ? 0 : signal));
        victim->status = await_process(child);
    }
    return NULL;
}
static void start_victim(struct victim *victim, void (*role)(const char *), const char *name, int step) {
    *victim = (struct victim){.role = role, .name = name, .step = step};
    CHECK_INT(pthread_create(&victim->tracer, NULL, trace_victim, victim), 0);
}
static bool has_been_killed(struct victim *victim) {
    CHECK_INT(pthread_join(victim->tracer, NULL), 0);
    if (WIFSIGNALED(victim->status)) {
        CHECK_INT(WTERMSIG(victim->status), SIGKILL);
        return true;
    }
    CHECK(WIFEXITED(victim->status));
    CHECK_INT(WEXITSTATUS(victim->status), 0);
    return false;
}

/* What a process has: of what it may leak, this is all that ports take. The first rounds, in one of which nobody is killed, make what
 * it has for ever. */
struct held {
    int descriptors, names, files;
    size_t bytes;
};
static int count_lines(const char *path, const char *part) {
    char line[512];
    int count = 0;
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file)) count += strstr(line, part) != NULL;
    fclose(file);
    return count;
}
/* name: that of the port, which the sockets at its end have, too. */
static struct held what_is_held(const char *name) {
    return (struct held){count_descriptors(), count_lines("/proc/net/unix", name), count_lines("/proc/self/maps", "memfd:"), bytes_in_use()};
}
static void check_held(int step, struct held before, struct held now) {
    if (now.descriptors == before.descriptors && now.names == before.names && now.files == before.files && now.bytes <= before.bytes) return;
    check_failed(__FILE__, __LINE__, "step %d left %d descriptors, %d sockets, %d mapped files, %ld bytes", step, now.descriptors - before.descriptors,
                 now.names - before.names, now.files - before.files, (long)(now.bytes - before.bytes));
}

/* Small, and so large that it is a file, each way; and a call of a function. */
enum { LARGE = 100000 };
static char large[LARGE];

static void answer_and_stop(treadle_message_port port, const treadle_message_port_message *message, void *info) {
    (void)port;
    CHECK(treadle_message_port_reply(message->call, message->data, message->size) >= 0);
    if (++*(int *)info == 2) treadle_loop_stop(treadle_loop_current());
}
static int32_t add(int32_t one, int32_t other) { return one + other; }
static const treadle_port_function functions[] = {{"add", "iii", (void (*)(void))add}};
static treadle_status call_add(treadle_message_port remote) {
    int32_t one = 40, other = 2, sum = 0;
    treadle_port_value values[] = {{&one, sizeof one}, {&other, sizeof other}};
    treadle_status status = treadle_port_call(remote, "add", "iii", values, 2, &sum, sizeof sum, LONG, REPLIES);
    CHECK_INT(sum, status == TREADLE_OK ? 42 : 0);
    return status;
}
static void serve_two(const char *name) {
    int count = 0;
    treadle_message_port port = NULL;
    treadle_message_port_context context = {
        .struct_size = sizeof context, .receive = answer_and_stop, .info = &count, .functions = functions, .function_count = 1};
    CHECK_INT(treadle_message_port_create_local(name, &context, &port), TREADLE_OK);
    CHECK_INT(treadle_loop_add(treadle_loop_current(), port, M), TREADLE_OK);
    CHECK_INT(treadle_loop_run(treadle_loop_current(), M, TREADLE_FOREVER, 0), TREADLE_RUN_STOPPED);
    CHECK_INT(discard(port), TREADLE_OK);
}
static void ask_two(const char *name) {
    struct reply reply = {0};
    treadle_message_port remote = make_remote(name);
    CHECK_INT(request_text(remote, ECHO, "small", LONG, &reply), TREADLE_OK);
    CHECK_REPLY(reply, "small");
    CHECK_INT(call_add(remote), TREADLE_E_NOT_FOUND); /* the server of the test exports none */
    CHECK_INT(treadle_message_port_request(remote, ECHO, large, LARGE, LONG, LONG, REPLIES, keep_reply, &reply), TREADLE_OK);
    CHECK_INT(reply.size, LARGE);
    CHECK_INT(treadle_message_port_send(remote, SILENT, "last", 4, LONG), TREADLE_OK);
    CHECK_INT(discard(remote), TREADLE_OK);
}

/* Statuses that are right when the other side may be gone. */
static bool is_gone(treadle_status status) { return status == TREADLE_E_CLOSED || status == TREADLE_E_STATE; }
/* One part of the exchange: it is answered, or the other side has gone, of which the next part learns as well. */
static bool is_answered(int step, const char *part, treadle_status status) {
    if (status != TREADLE_OK && !is_gone(status)) check_failed(__FILE__, __LINE__, "step %d, %s: %s", step, part, treadle_status_name(status));
    return status == TREADLE_OK;
}

/* What a loop needs for its modes, and to look for messages in memory, is there after that. */
static void exchange_here(void) {
    const char *name = new_name();
    struct received received = {0};
    struct sender sender;
    end_look(look_for(&sender, new_name(), &received), &sender);
    int count = 0;
    treadle_message_port local = serve_here(name, answer_and_stop, &count), remote = make_remote(name);
    CHECK_INT(request_text(remote, ECHO, "first", LONG, NULL), TREADLE_OK);
    for (int i = 0; i < 2; i++) CHECK_INT(call_add(remote), TREADLE_E_NOT_FOUND); /* the second one finds what the first one made */
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(discard(local), TREADLE_OK);
}

TEST(the_server_is_killed_at_each_step, "MSG-7 MSG-8 MSG-9") {
    bool was_killed = true;
    int steps = 0, answered = 0;
    struct held held = {0};
    exchange_here();
    for (int step = 0; was_killed || step == 1; step++) {
        struct victim victim;
        struct reply reply = {0};
        const char *name = new_name();
        treadle_message_port remote = NULL;
        treadle_status status = TREADLE_E_NOT_FOUND;
        start_victim(&victim, serve_two, name, step);
        /* It is there, or has been killed before. */
        while (status == TREADLE_E_NOT_FOUND && pthread_tryjoin_np(victim.tracer, NULL) != 0) {
            status = treadle_message_port_create_remote(name, NULL, &remote);
            sched_yield();
        }
        if (status == TREADLE_OK) {
            bool is_there = is_answered(step, "a small request", request_text(remote, ECHO, "small", LONG, &reply));
            if (is_there) {
                answered++;
                CHECK_REPLY(reply, "small");
                is_there = is_answered(step, "a call", call_add(remote));
            }
            if (is_there) {
                status = treadle_message_port_request(remote, ECHO, large, LARGE, LONG, LONG, REPLIES, keep_reply, &reply);
                is_there = is_answered(step, "a large request", status);
                if (is_there) CHECK_INT(reply.size, LARGE);
            }
            was_killed = has_been_killed(&victim);
            if (!was_killed) CHECK(is_there);
            CHECK_INT(treadle_message_port_check(remote), TREADLE_E_STATE);
            CHECK_INT(treadle_release(remote), TREADLE_OK);
        } else {
            CHECK_INT(status, TREADLE_E_NOT_FOUND);
            was_killed = true;
        }
        drop_reply(&reply);
        /* Nothing is left: the name is free, and no descriptor is open. */
        remote = make_local(name, NULL, NULL);
        CHECK_INT(discard(remote), TREADLE_OK);
        if (step == 1) held = what_is_held(name);
        if (step > 1) check_held(step, held, what_is_held(name));
        steps = step;
    }
    CHECK(steps > 20);
    CHECK(answered > 1 && answered < steps);
}

TEST(the_sender_is_killed_at_each_step, "MSG-7 MSG-9") {
    bool was_killed = true;
    int steps = 0;
    struct held held = {0};
    const char *name = new_name();
    struct server server = {.name = name};
    exchange_here();
    server_open(&server);
    CHECK_INT(treadle_loop_add(server.loop, server.port, REPLIES), TREADLE_OK);
    treadle_message_port remote = make_remote(name);
    CHECK_INT(request_text(remote, ECHO, "first", LONG, NULL), TREADLE_OK);
    for (int step = 0; was_killed || step == 1; step++) {
        struct victim victim;
        struct reply reply = {0};
        start_victim(&victim, ask_two, name, step);
        while (pthread_tryjoin_np(victim.tracer, NULL) != 0) treadle_loop_run(server.loop, M, MILLISECONDS(1), 0);
        was_killed = WIFSIGNALED(victim.status);
        if (!was_killed) CHECK_INT(victim.status, 0);
        /* Others are served, and what was the victim's goes. */
        CHECK_INT(request_text(remote, ECHO, "well", LONG, &reply), TREADLE_OK);
        CHECK_REPLY(reply, "well");
        for (int i = 0; i < 5; i++) poll_mode(M);
        drop_reply(&reply);
        if (step == 1) held = what_is_held(name);
        if (step > 1) check_held(step, held, what_is_held(name));
        steps = step;
    }
    CHECK(steps > 20);
    CHECK(server.messages >= 3 + steps);
    CHECK_INT(discard(remote), TREADLE_OK);
    CHECK_INT(treadle_release(server.loop), TREADLE_OK);
    CHECK_INT(discard(server.port), TREADLE_OK);
}

TEST_MAIN()
