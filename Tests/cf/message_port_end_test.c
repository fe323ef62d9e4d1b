/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * The end of message ports in CoreFoundation's names, of both sides, by threads and by processes. */
#include "ports.h"

static atomic_int remote_ends;
static sem_t has_ended;
static void remote_ended(CFMessagePortRef port, void *info) {
    CHECK(info == NULL && CFMessagePortIsRemote(port) && !CFMessagePortIsValid(port));
    remote_ends++;
    sem_post(&has_ended);
}

TEST(the_end_of_a_local_port_is_told_once_before_its_info_goes, "MSG-7") {
    struct counted info = {.references = 1};
    CFStringRef name = new_name();
    CFMessagePortRef port = make_local(name, &info);
    CFMessagePortSetInvalidationCallBack(port, ended);
    CHECK(CFMessagePortGetInvalidationCallBack(port) == ended);
    CHECK_INT(info.references, 2);
    CFMessagePortInvalidate(port);
    CFMessagePortInvalidate(port);
    CHECK(info.ends == 1 && info.references_at_the_end == 2 && info.references == 1);
    CHECK(!CFMessagePortIsValid(port) && CFEqual(CFMessagePortGetName(port), name));
    CHECK(CFMessagePortCreateRemote(NULL, name) == NULL && !CFMessagePortSetName(port, name));
    CFMessagePortContext shown = {0, &info, NULL, NULL, NULL};
    CFMessagePortGetContext(port, &shown);
    CHECK(shown.info == NULL);
    CFRelease(port);
    CHECK_INT(info.ends, 1);
    CFRelease(name);
}

TEST(the_last_release_ends_a_port, "MSG-7") {
    struct counted info = {.references = 1};
    CFMessagePortRef port = make_local(NULL, &info);
    CFMessagePortSetInvalidationCallBack(port, ended);
    CFRetain(port);
    CFRelease(port);
    CHECK_INT(info.ends, 0);
    CFRelease(port);
    CHECK(info.ends == 1 && info.references_at_the_end == 2 && info.references == 1);
}

TEST(a_port_may_end_in_its_own_callback, "MSG-7 MSG-5") {
    struct counted info = {.references = 1};
    CFStringRef name = new_name();
    CFMessagePortRef port = make_local(name, &info), remote = CFMessagePortCreateRemote(NULL, name);
    CFMessagePortSetInvalidationCallBack(port, ended);
    serve(port, REPLIES);
    CFRelease(port); /* the loop's alone */
    CHECK_INT(request(remote, END, NULL, NULL), kCFMessagePortBecameInvalidError);
    CHECK(info.calls == 1 && info.ends == 1 && info.references == 1);
    CFRelease(remote);
    CFRelease(name);
}

/* Whoever finds a port by its name may end it before its maker has retained the info. */
static CFStringRef early_name;
static const void *retain_and_end(const void *info) {
    struct counted *counted = (struct counted *)info;
    if (counted->retains == 0) {
        counted_retain(info);
        CFMessagePortRef found = CFMessagePortCreateLocal(NULL, early_name, answer, NULL, NULL);
        CHECK(found != NULL);
        CFMessagePortInvalidate(found);
        CFRelease(found);
        CHECK_INT(counted->references, 2); /* not released before it is retained */
        return info;
    }
    return counted_retain(info);
}
TEST(a_port_that_is_ended_while_it_is_made_releases_what_it_has_retained, "MSG-1 MSG-7") {
    struct counted info = {.references = 1};
    early_name = new_name();
    CFMessagePortContext context = {0, &info, retain_and_end, counted_release, NULL};
    CFMessagePortRef port = CFMessagePortCreateLocal(NULL, early_name, answer, &context, NULL);
    CHECK(port != NULL && !CFMessagePortIsValid(port));
    CHECK(info.retains == 1 && info.references == 1);
    CFMessagePortContext shown = {0, &info, NULL, NULL, NULL};
    CFMessagePortGetContext(port, &shown);
    CHECK(shown.info == NULL);
    CFRelease(port);
    CHECK_INT(info.references, 1);
    CFRelease(early_name);
}

static void told_late(CFMessagePortRef port, void *info) {
    (void)port;
    CHECK(info == NULL);
    remote_ends++;
}
TEST(whoever_asks_late_is_told_at_once, "MSG-7") {
    CFMessagePortRef port = make_local(NULL, NULL);
    CFMessagePortInvalidate(port);
    CFMessagePortSetInvalidationCallBack(port, told_late);
    CHECK_INT(remote_ends, 1);
    CFMessagePortSetInvalidationCallBack(port, NULL);
    CHECK_INT(remote_ends, 1);
    CFRelease(port);
}

TEST(a_remote_port_is_told_though_no_loop_runs, "MSG-7") {
    sem_init(&has_ended, 0, 0);
    CFStringRef names[2] = {new_name(), new_name()};
    CFMessagePortRef locals[2], remotes[2];
    for (int i = 0; i < 2; i++) {
        locals[i] = make_local(names[i], NULL);
        remotes[i] = CFMessagePortCreateRemote(NULL, names[i]);
        CFMessagePortSetInvalidationCallBack(remotes[i], remote_ended);
    }
    for (int i = 0; i < 2; i++) {
        CFMessagePortInvalidate(locals[i]);
        await(&has_ended);
        CHECK_INT(remote_ends, i + 1);
        CFRelease(remotes[i]);
        CFRelease(locals[i]);
        CFRelease(names[i]);
    }
    /* The client's loop has got nothing more to wait for. */
    CHECK_INT(CFRunLoopRunInMode(kCFRunLoopDefaultMode, LONG_TIME, FALSE), kCFRunLoopRunFinished);
}

TEST(a_watched_port_still_gets_its_replies, "MSG-6 MSG-7") {
    sem_init(&has_ended, 0, 0);
    struct server server;
    start_server(&server);
    CFMessagePortRef remote = CFMessagePortCreateRemote(NULL, server.name);
    CFMessagePortSetInvalidationCallBack(remote, remote_ended);
    for (int i = 0; i < 1000; i++) {
        CFDataRef reply = NULL;
        CHECK_INT(request(remote, ECHO, "again", &reply), kCFMessagePortSuccess);
        check_data(reply, "again");
        CFRelease(reply);
    }
    end_server(&server, remote);
    await(&has_ended);
    CHECK_INT(remote_ends, 1);
    CFRelease(remote);
}

TEST(a_watched_port_that_is_released_is_not_kept, "MSG-3 MSG-7") {
    CFStringRef name = new_name();
    CFMessagePortRef local = make_local(name, NULL);
    for (int i = 0; i < 100; i++) {
        CFMessagePortRef remote = CFMessagePortCreateRemote(NULL, name);
        CHECK_INT(CFGetRetainCount(remote), 1);
        CFMessagePortSetInvalidationCallBack(remote, remote_ended);
        CFRelease(remote);
        CHECK(!CFMessagePortIsValid(remote));
    }
    CFRelease(local);
    CHECK_INT(remote_ends, 0); /* an object that is gone tells nobody */
    CFRelease(name);
}

/* The other side is a process, which is forked before this one has anything of Treadle's, and serves when it is told to. */
struct process {
    pid_t id;
    int go, ready;
};
static struct process fork_process(CFStringRef name) {
    int ready[2], go[2];
    char byte;
    CHECK(pipe(ready) == 0 && pipe(go) == 0);
    struct process process = {.id = fork(), .go = go[1], .ready = ready[0]};
    CHECK(process.id >= 0);
    if (process.id == 0) {
        CHECK(read(go[0], &byte, 1) == 1);
        CFMessagePortRef port = make_local(name, NULL);
        serve(port, kCFRunLoopDefaultMode);
        CHECK(write(ready[1], "r", 1) == 1);
        CFRunLoopRun();
        _exit(0);
    }
    return process;
}
static pid_t begin_serving(struct process process) {
    char byte;
    CHECK(write(process.go, "g", 1) == 1 && read(process.ready, &byte, 1) == 1);
    return process.id;
}
static void end_process(pid_t child, int signal) {
    int status;
    if (signal) kill(child, signal);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(signal ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(a_name_that_another_process_serves_is_taken, "MSG-1 MSG-9") {
    CFStringRef name = new_name(), free_name = new_name();
    pid_t child = begin_serving(fork_process(name));
    Boolean should_free = FALSE;
    CHECK(CFMessagePortCreateLocal(NULL, name, answer, NULL, &should_free) == NULL && should_free);
    CFMessagePortRef port = make_local(free_name, NULL);
    CHECK(!CFMessagePortSetName(port, name));
    CFMessagePortRef remote = CFMessagePortCreateRemote(NULL, name);
    CFDataRef reply = NULL;
    CHECK_INT(request(remote, ECHO, "across", &reply), kCFMessagePortSuccess);
    check_data(reply, "across");
    CFRelease(reply);
    CHECK_INT(CFMessagePortSendRequest(remote, STOP, NULL, LONG_TIME, 0, NULL, NULL), kCFMessagePortSuccess);
    end_process(child, 0);
    CHECK(!CFMessagePortIsValid(remote) && CFMessagePortSetName(port, name));
    CFRelease(remote);
    CFRelease(port);
    CFRelease(name), CFRelease(free_name);
}

TEST(a_process_that_is_killed_is_told_of, "MSG-7") {
    sem_init(&has_ended, 0, 0);
    CFStringRef name = new_name();
    struct process first = fork_process(name), second = fork_process(name);
    pid_t child = begin_serving(first);
    CFMessagePortRef remote = CFMessagePortCreateRemote(NULL, name);
    CFMessagePortSetInvalidationCallBack(remote, remote_ended);
    end_process(child, SIGKILL);
    await(&has_ended);
    CHECK_INT(request(remote, ECHO, "nobody", NULL), kCFMessagePortIsInvalid);
    CFRelease(remote);
    child = begin_serving(second); /* nothing of the name was left */
    remote = CFMessagePortCreateRemote(NULL, name);
    CHECK_INT(request(remote, ECHO, "again", NULL), kCFMessagePortSuccess);
    end_process(child, SIGKILL);
    CHECK_INT(request(remote, ECHO, "nobody", NULL), kCFMessagePortIsInvalid); /* found out by the request itself */
    CFRelease(remote);
    CFRelease(name);
}

TEST_MAIN()
