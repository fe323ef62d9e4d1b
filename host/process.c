/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * process.c: what a process has one of, and a plugin that has ended must have left as it was. */
#include "host.h"

#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <limits.h>
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_SIGNAL = 64, MOST_IMAGES = 1024, MOST_HANDLES = 1000 };

struct process {
    struct sigaction actions[MOST_SIGNAL + 1];
    sigset_t mask;
    char directory[PATH_MAX];
    mode_t file_mask;
    struct itimerval timer;
    char locale[512];
    int rounding, keys;
    uint64_t environment;
    bool has_children;
    char *images[MOST_IMAGES];
    int image_count;
};

/* How many keys of threads' own values can still be made. */
static int count_free_keys(void) {
    static pthread_key_t keys[PTHREAD_KEYS_MAX];
    int count = 0;
    while (count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[count], NULL) == 0) count++;
    for (int i = 0; i < count; i++) pthread_key_delete(keys[i]);
    return count;
}

static uint64_t hash_environment(void) {
    uint64_t hash = 14695981039346656037u;
    for (char **entry = environ; entry && *entry; entry++)
        for (const char *at = *entry; at == *entry || at[-1]; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    return hash;
}

static int add_image(struct dl_phdr_info *info, size_t size, void *memory) {
    struct process *process = memory;
    (void)size;
    if (*info->dlpi_name && process->image_count < MOST_IMAGES) process->images[process->image_count++] = strdup(info->dlpi_name);
    return 0;
}

struct process *copy_process(void) {
    struct process *process = calloc(1, sizeof *process);
    siginfo_t child;
    if (!process) abort();
    for (int i = 1; i <= MOST_SIGNAL; i++) sigaction(i, NULL, &process->actions[i]);
    pthread_sigmask(SIG_BLOCK, NULL, &process->mask);
    if (!getcwd(process->directory, sizeof process->directory)) *process->directory = 0;
    process->file_mask = umask(077);
    umask(process->file_mask);
    getitimer(ITIMER_REAL, &process->timer);
    snprintf(process->locale, sizeof process->locale, "%s", setlocale(LC_ALL, NULL));
    process->rounding = fegetround();
    process->keys = count_free_keys();
    process->environment = hash_environment();
    process->has_children = waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT) == 0;
    dl_iterate_phdr(add_image, process);
    return process;
}

void free_process(struct process *process) {
    for (int i = 0; process && i < process->image_count; i++) free(process->images[i]);
    free(process);
}

static bool breach(const char *format, ...) PRINTED(1, 2);
static bool breach(const char *format, ...) {
    char text[PATH_MAX + 128];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    return point(false, "process", "the process is as it was: %s", text);
}

/* Whether a handler belongs to a runtime that a plugin has brought, and that stays with it. */
static bool is_of_runtime(const struct sigaction *action, const char *own_path) {
    Dl_info image;
    return action->sa_handler != SIG_IGN && action->sa_handler != SIG_DFL && dladdr((void *)(uintptr_t)action->sa_handler, &image) &&
           !same_file(image.dli_fname, own_path);
}

static bool compare_signals(struct process *old, const struct process *new, const char *own_path, bool may_unmap) {
    bool is_same = true;
    for (int i = 1; i <= MOST_SIGNAL; i++) {
        const struct sigaction *before = &old->actions[i], *after = &new->actions[i];
        bool is_changed = before->sa_handler != after->sa_handler;
        if (is_changed && (may_unmap || !is_of_runtime(after, own_path))) {
            is_same = breach("the handler of signal %d (%s) was changed", i, strsignal(i));
            sigaction(i, before, NULL);
        }
        if (sigismember(&old->mask, i) != sigismember(&new->mask, i))
            is_same = breach("signal %d (%s) was %s", i, strsignal(i), sigismember(&new->mask, i) ? "blocked" : "unblocked");
    }
    pthread_sigmask(SIG_SETMASK, &old->mask, NULL);
    return is_same;
}

bool compare_process(struct process *old, const char *own_path, bool may_unmap) {
    struct process *new = copy_process();
    bool is_same = compare_signals(old, new, own_path, may_unmap);
    if (strcmp(old->directory, new->directory) != 0) {
        is_same = breach("the directory is %s, and was %s", new->directory, old->directory);
        if (chdir(old->directory) != 0) breach("%s cannot be entered any more", old->directory);
    }
    if (old->file_mask != new->file_mask) is_same = breach("the umask is %03o, and was %03o", new->file_mask, old->file_mask);
    umask(old->file_mask);
    if (!timerisset(&old->timer.it_value) && timerisset(&new->timer.it_value)) {
        is_same = breach("an alarm is set");
        setitimer(ITIMER_REAL, &old->timer, NULL);
    }
    if (old->rounding != new->rounding) is_same = breach("the rounding of numbers was changed");
    fesetround(old->rounding);
    if (!old->has_children && new->has_children) is_same = breach("a child process is left");
    /* A runtime that stays may have changed these for good, once. */
    if (may_unmap) {
        if (strcmp(old->locale, new->locale) != 0) is_same = breach("the locale is %s, and was %s", new->locale, old->locale);
        if (old->environment != new->environment) is_same = breach("the environment was changed");
    }
    free_process(new);
    return is_same;
}

bool compare_keys(const struct process *old, int lives) {
    int left = old->keys - count_free_keys();
    return left < lives || breach("%d keys of pthread_key_create are left after %d loads", left, lives);
}

/* --- Libraries ------------------------------------------------------------------------------------ */

static bool is_listed(const struct process *process, const char *name) {
    for (int i = 0; i < process->image_count; i++)
        if (strcmp(process->images[i], name) == 0) return true;
    return false;
}

/* How many handles of an image nobody has closed: they are closed here. An image that is never unmapped has none that count. */
static int close_left(const char *name) {
    void *handle = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
    int count = -1;
    for (bool is_there = handle; is_there && count < MOST_HANDLES && dlclose(handle) == 0; count++) {
        struct process now = {.image_count = 0};
        dl_iterate_phdr(add_image, &now);
        is_there = is_listed(&now, name);
        for (int i = 0; i < now.image_count; i++) free(now.images[i]);
    }
    return count < MOST_HANDLES ? count : 0;
}

/* What the C library opens for itself, it opens once. */
bool compare_libraries(const struct process *old, const char *own_path, int lives) {
    struct process *new = copy_process();
    bool is_same = true;
    for (int i = 0; i < new->image_count; i++) {
        if (is_listed(old, new->images[i]) || same_file(new->images[i], own_path)) continue;
        int count = close_left(new->images[i]);
        if (count >= lives) is_same = breach("%s was opened %d times by dlopen and not closed", new->images[i], count);
    }
    free_process(new);
    return is_same;
}
