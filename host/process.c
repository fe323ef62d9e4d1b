/* SPDX-License-Identifier: Apache-2.0
 * Copyright the Treadle authors
 *
 * process.c: what a process has one of, and a plugin that has ended must have left as it was. */
#include "host.h"

#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <float.h>
#include <limits.h>
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { MOST_SIGNAL = 64, MOST_IMAGES = 1024, MOST_HANDLES = 1000, STREAMS = 3, ATTRIBUTES = 3 };

struct process {
    struct sigaction actions[MOST_SIGNAL + 1];
    sigset_t mask;
    char directory[PATH_MAX];
    mode_t file_mask;
    struct itimerval timers[3]; /* ITIMER_REAL, _VIRTUAL, _PROF */
    int kernel_timers;          /* of timer_create */
    stack_t second_stack;
    struct rlimit limits[RLIM_NLIMITS];
    cpu_set_t processors;
    int niceness;
    char thread_name[16];
    struct stat streams[STREAMS]; /* descriptors 0 to 2 */
    int stream_flags[STREAMS];
    FILE *stream_objects[STREAMS];
    int attributes[ATTRIBUTES]; /* of prctl */
    char locale[512];
    int rounding, traps, cancellation, keys;
    bool has_denormals; /* the constructor of a library that was built with -ffast-math may switch them off */
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

/* Those of timer_create; 0 where the kernel does not list them. */
static int count_timers(void) {
    FILE *file = fopen("/proc/self/timers", "re");
    char line[256];
    int count = 0;
    while (file && fgets(line, sizeof line, file)) count += strncmp(line, "ID:", 3) == 0;
    if (file) fclose(file);
    return count;
}

static const char *const attribute_names[ATTRIBUTES] = {"PR_SET_CHILD_SUBREAPER", "PR_SET_DUMPABLE", "PR_SET_NO_NEW_PRIVS"};
static void copy_attributes(struct process *process) {
    prctl(PR_GET_CHILD_SUBREAPER, &process->attributes[0]);
    process->attributes[1] = prctl(PR_GET_DUMPABLE);
    process->attributes[2] = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

static void copy_streams(struct process *process) {
    FILE *const objects[STREAMS] = {stdin, stdout, stderr};
    memcpy(process->stream_objects, objects, sizeof objects);
    for (int i = 0; i < STREAMS; i++) {
        if (fstat(i, &process->streams[i]) != 0) memset(&process->streams[i], 0, sizeof process->streams[i]);
        process->stream_flags[i] = fcntl(i, F_GETFL);
    }
}

static bool has_denormals(void) {
    volatile double smallest = DBL_MIN;
    return smallest / 2 > 0;
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
    for (int i = 0; i < 3; i++) getitimer(i, &process->timers[i]);
    process->kernel_timers = count_timers();
    sigaltstack(NULL, &process->second_stack);
    for (int i = 0; i < RLIM_NLIMITS; i++) getrlimit(i, &process->limits[i]);
    sched_getaffinity(0, sizeof process->processors, &process->processors);
    process->niceness = getpriority(PRIO_PROCESS, 0);
    prctl(PR_GET_NAME, process->thread_name);
    copy_streams(process);
    copy_attributes(process);
    snprintf(process->locale, sizeof process->locale, "%s", setlocale(LC_ALL, NULL));
    process->rounding = fegetround();
    process->traps = fegetexcept();
    process->has_denormals = has_denormals();
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &process->cancellation);
    pthread_setcancelstate(process->cancellation, NULL);
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

static bool compare_timers(const struct process *old, const struct process *new) {
    static const char *const names[] = {"an alarm", "an alarm of ITIMER_VIRTUAL", "an alarm of ITIMER_PROF"};
    bool is_same = true;
    for (int i = 0; i < 3; i++) {
        if (timerisset(&old->timers[i].it_value) || !timerisset(&new->timers[i].it_value)) continue;
        is_same = breach("%s is set", names[i]);
        setitimer(i, &old->timers[i], NULL);
    }
    if (new->kernel_timers > old->kernel_timers) is_same = breach("a timer of timer_create is left");
    return is_same;
}

/* What the thread has that has called the plugin. */
static bool compare_thread(const struct process *old, const struct process *new) {
    bool is_same = true;
    if (old->second_stack.ss_sp != new->second_stack.ss_sp) {
        is_same = breach("the stack for signal handlers was changed");
        sigaltstack(&old->second_stack, NULL);
    }
    if (!CPU_EQUAL(&old->processors, &new->processors)) {
        is_same = breach("the processors of the main thread were changed");
        sched_setaffinity(0, sizeof old->processors, &old->processors);
    }
    if (old->cancellation != new->cancellation) {
        is_same = breach("the main thread's cancellation was %s", new->cancellation == PTHREAD_CANCEL_ENABLE ? "enabled" : "disabled");
        pthread_setcancelstate(old->cancellation, NULL);
    }
    if (old->rounding != new->rounding || old->traps != new->traps || old->has_denormals != new->has_denormals) {
        is_same = breach("%s was changed", old->rounding != new->rounding ? "the rounding of numbers" : old->traps != new->traps ? "what numbers trap"
                         : "the arithmetic of numbers near 0");
        fesetenv(FE_DFL_ENV);
        fesetround(old->rounding);
    }
    if (old->niceness != new->niceness) is_same = breach("the priority is %d, and was %d", new->niceness, old->niceness);
    if (strcmp(old->thread_name, new->thread_name) != 0) {
        is_same = breach("the name of the main thread is %s, and was %s", new->thread_name, old->thread_name);
        prctl(PR_SET_NAME, old->thread_name);
    }
    return is_same;
}

/* Whether memory belongs to the image that is about to be unmapped. */
static bool is_in_image(const void *memory, const char *own_path) {
    Dl_info image;
    return memory && dladdr(memory, &image) && same_file(image.dli_fname, own_path);
}

static bool compare_streams(const struct process *old, const struct process *new, const char *own_path) {
    FILE *const *streams = old->stream_objects;
    static char buffers[STREAMS][BUFSIZ];
    static const char *const names[STREAMS] = {"standard input", "standard output", "standard error"};
    bool is_same = true;
    for (int i = 0; i < STREAMS; i++) {
        const struct stat *before = &old->streams[i], *after = &new->streams[i];
        if (streams[i] != new->stream_objects[i]) is_same = breach("%s is another stream", names[i]);
        if (before->st_dev != after->st_dev || before->st_ino != after->st_ino || before->st_mode != after->st_mode) {
            is_same = breach("%s is another file, or closed", names[i]);
        } else if (old->stream_flags[i] != new->stream_flags[i]) {
            is_same = breach("the flags of %s were changed", names[i]);
            if (fcntl(i, F_SETFL, old->stream_flags[i]) != 0) breach("they stay so");
        }
#ifdef __GLIBC__
        if (is_in_image(streams[i]->_IO_buf_base, own_path)) {
            is_same = breach("the buffer of %s is the plugin's", names[i]);
            setvbuf(streams[i], buffers[i], i == 2 ? _IONBF : _IOFBF, BUFSIZ);
        }
#endif
    }
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
    if (!compare_timers(old, new)) is_same = false;
    if (!compare_thread(old, new)) is_same = false;
    if (!compare_streams(old, new, own_path)) is_same = false;
    stdin = old->stream_objects[0], stdout = old->stream_objects[1], stderr = old->stream_objects[2];
    for (int i = 0; i < ATTRIBUTES; i++)
        if (old->attributes[i] != new->attributes[i]) is_same = breach("%s of prctl was called", attribute_names[i]);
    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (memcmp(&old->limits[i], &new->limits[i], sizeof old->limits[i]) != 0) is_same = breach("limit %d of setrlimit was changed", i);
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
