/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * leaver.c: leaves the process in another state than before, or ends it, in the way that its setting says. */
#include "people.h"

#include <dlfcn.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_key_t key;
static char entry[] = "LEFT=1";

static void handle(int number) { (void)number; }
static void *wait_forever(void *info) {
    pause();
    return info;
}
static void block_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}
static void leave_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, wait_forever, NULL) == 0) pthread_detach(thread);
}
static void leave_child(void) {
    if (fork() == 0) _exit(0);
}
/* What a child of the host starts with. */
static void tell_child(void) {
    char line[64];
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        sigset_t mask;
        pthread_sigmask(SIG_BLOCK, NULL, &mask);
        int blocked = sigismember(&mask, SIGTERM) + sigismember(&mask, SIGINT) + sigismember(&mask, SIGHUP) + sigismember(&mask, SIGUSR1);
        _exit(blocked + (prctl(PR_GET_TIMERSLACK) < 1000 ? 100 : 0));
    }
    waitpid(child, &status, 0);
    snprintf(line, sizeof line, "the child has %d", WEXITSTATUS(status));
    people->print(line);
}
static void shut_down(void) {
    void (*function)(void);
    *(void **)&function = dlsym(RTLD_DEFAULT, "treadle_shutdown");
    if (function) function();
}
static treadle_status answer(treadle_call *call, void *info) { return (void)call, (void)info, TREADLE_OK; }
/* Nothing is left of these but what Treadle keeps for their pointers. */
static void make_closures(uint32_t flags) {
    for (int i = 0; i < 3; i++) {
        treadle_closure closure;
        treadle_closure_config config = TREADLE_INIT(treadle_closure_config);
        config.signature = "i^v", config.handler = answer, config.flags = flags;
        if (treadle_closure_create(&config, &closure) == TREADLE_OK && flags == 0) treadle_closure_release(closure);
    }
}

static treadle_status init(const treadle_plugin_host *host, void **out_instance) {
    char what[16];
    size_t length;
    *out_instance = NULL;
    treadle_status status = host->copy_setting(host, "what", what, sizeof what, &length);
    if (strcmp(what, "handler") == 0) signal(SIGUSR2, handle);
    if (strcmp(what, "mask") == 0) block_signal();
    if (strcmp(what, "key") == 0) pthread_key_create(&key, NULL);
    if (strcmp(what, "library") == 0) dlopen(getenv("TREADLE_TEST_LIBRARY"), RTLD_NOW);
    if (strcmp(what, "directory") == 0 && chdir("/") != 0) status = TREADLE_E_SYSTEM;
    if (strcmp(what, "umask") == 0) umask(0123);
    if (strcmp(what, "alarm") == 0) alarm(3600);
    if (strcmp(what, "locale") == 0) setlocale(LC_ALL, "C.UTF-8");
    if (strcmp(what, "environment") == 0) putenv(entry);
    if (strcmp(what, "child") == 0) leave_child();
    if (strcmp(what, "thread") == 0) leave_thread();
    if (strcmp(what, "exit") == 0) exit(0);
    if (strcmp(what, "end") == 0) _exit(0);
    if (strcmp(what, "exec") == 0) execl("/bin/sleep", "sleep", "3600", NULL);
    if (strcmp(what, "shutdown") == 0) shut_down();
    if (strcmp(what, "closures") == 0) make_closures(0);
    if (strcmp(what, "pointers") == 0) make_closures(TREADLE_CLOSURE_KEEP_CODE);
    if (strcmp(what, "wait") == 0) pause();
    if (strcmp(what, "tell") == 0 && meet_people(host) == TREADLE_OK) tell_child();
    return status;
}
static void deinit(void *instance) { (void)instance; }

static const char *const required[] = {TREADLE_HOST_EXTENSION, NULL};
static const treadle_plugin_setting settings[] = {
    {.struct_size = sizeof(treadle_plugin_setting), .key = "what", .default_value = "nothing"}};
DESCRIBED("leaver", .settings = settings, .setting_count = 1)
